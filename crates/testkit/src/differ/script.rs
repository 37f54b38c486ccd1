//! Scripts of random statements on two servers: each statement sees what those before it did.
//!
//! Of each statement rows (as a bag), command tags, notices and every field of an error that a
//! client sees are compared. A script that differs is cut as long as its last statement differs.

use super::Servers;
use super::choices::Choices;
use super::statement::Writer;
use crate::{Client, QueryResult};
use base::Result;
use std::collections::HashSet;

/// Random statements after the first definitions.
const LENGTH: usize = 40;

/// How many shorter scripts are tried for one that differs.
const TRIALS: usize = 60;

/// Where both servers' scripts work, made anew for each.
const SETUP: [&str; 7] = [
    "ROLLBACK",
    "DISCARD ALL",
    "SET client_min_messages = warning",
    "DROP SCHEMA IF EXISTS differ CASCADE",
    "SET statement_timeout = '5s'",
    "CREATE SCHEMA differ",
    "SET search_path TO differ",
];

/// The statements of a seed.
pub fn statements(seed: u64) -> Vec<String> {
    let mut choices = Choices::seeded(seed.wrapping_mul(1_000_003));
    let mut writer = Writer { c: &mut choices };
    let mut all = writer.prelude();
    all.extend((0..LENGTH).map(|_| writer.statement()));
    all
}

/// The two servers' sessions.
struct Pair {
    ours: Client,
    reference: Client,
    servers: Servers,
}

/// A difference: which statement, and both answers.
struct Found {
    at: usize,
    want: String,
    got: String,
}

/// Runs the seeds; gives the differences as text.
pub fn run(
    seeds: std::ops::Range<u64>,
    servers: Servers,
    show: &mut dyn FnMut(&str),
) -> Result<usize> {
    let mut pair = Pair {
        ours: super::open(servers.ours)?,
        reference: super::open(servers.reference)?,
        servers,
    };
    let mut seen = HashSet::new();
    let mut count = 0;
    for seed in seeds {
        let mut left = statements(seed);
        // What follows a difference is tried without the statement that differs.
        while let Some(found) = pair.compare(&left)? {
            count += 1;
            let at = found.at;
            let kind = (found.want.clone(), found.got.clone());
            if seen.insert(kind) {
                let script = pair.smaller(&left[..=at])?;
                let text = script.join(";\n");
                let Found { want, got, .. } = pair.compare(&script)?.unwrap_or(found);
                show(&format!("-- seed {seed}\n{text};\n-- expected\n{want}\n-- got\n{got}\n"));
            }
            left.remove(at);
        }
    }
    Ok(count)
}

impl Pair {
    /// The first statement that is answered in two ways.
    fn compare(&mut self, script: &[String]) -> Result<Option<Found>> {
        for sql in SETUP {
            self.reference.query(sql)?;
            if self.ours.query(sql).is_err() {
                self.ours = super::open(self.servers.ours)?;
                self.ours.query(sql)?;
            }
        }
        self.reference.query("SET client_min_messages = notice")?;
        self.ours.query("SET client_min_messages = notice")?;
        for (at, sql) in script.iter().enumerate() {
            let want = answer(self.reference.query_with_data(sql)?);
            let got = match self.ours.query_with_data(sql) {
                Ok(result) => answer(result),
                Err(e) => {
                    self.ours = super::open(self.servers.ours)?;
                    format!("connection lost: {e}")
                }
            };
            if want != got && !want.contains("57014") {
                return Ok(Some(Found { at, want, got }));
            }
        }
        Ok(None)
    }

    /// A shorter script whose last statement still differs.
    fn smaller(&mut self, script: &[String]) -> Result<Vec<String>> {
        let mut best = script.to_vec();
        let (mut at, mut left, mut width) = (0, TRIALS, (script.len() / 4).max(1));
        while left > 0 {
            if at + 1 >= best.len() {
                if width == 1 {
                    break;
                }
                (at, width) = (0, width / 2);
                continue;
            }
            left -= 1;
            let mut trial = best.clone();
            trial.drain(at..(at + width).min(best.len() - 1));
            match self.compare(&trial)? {
                Some(found) if found.at + 1 == trial.len() => best = trial,
                _ => at += width,
            }
        }
        Ok(best)
    }
}

/// What a server said, as text.
fn answer(result: QueryResult) -> String {
    let mut lines = Vec::new();
    for e in result.notices.iter().chain(&result.error) {
        let f = e.fields();
        lines.push(format!("{:?} {}: {}", f.severity, f.code.as_str(), f.message));
        let place = f.position.map(|p| p.to_string());
        let parts = [
            ("position", &place),
            ("detail", &f.detail),
            ("hint", &f.hint),
            ("context", &f.context),
            ("schema", &f.schema),
            ("table", &f.table),
            ("column", &f.column),
            ("type", &f.data_type),
            ("constraint", &f.constraint),
        ];
        for (name, value) in parts {
            if let Some(value) = value {
                lines.push(format!("  {name}: {value}"));
            }
        }
    }
    let mut rows: Vec<String> = result
        .rows
        .iter()
        .map(|row| {
            let values: Vec<&str> = row.iter().map(|v| v.as_deref().unwrap_or("NULL")).collect();
            values.join("|")
        })
        .collect();
    rows.sort();
    lines.extend(rows);
    lines.extend(result.tags);
    lines.join("\n")
}
