//! The same random statements on two servers, and what differs in their answers.
//!
//! Entry point: [`run`]. A seed gives a schema and a number of statements over it; the first
//! server runs each of them under several settings, the second (a PostgreSQL) once. Rows are
//! compared in order where the statement fixes it and as a bag elsewhere; of errors, SQLSTATE and
//! message count. A statement that differs is made smaller before it is shown.
//!
//! Invariant: a statement's rows, and what it changes, do not depend on its plan.

mod change;
mod choices;
mod compare;
mod expression;
mod objects;
mod query;
mod schema;
pub mod script;
mod statement;

use crate::Client;
use base::Result;
use choices::Choices;
use compare::{Answer, Case};
use schema::Schema;
use std::collections::HashSet;
use std::ops::Range;

/// Statements for each seed.
const STATEMENTS: u64 = 40;

/// How many smaller statements are tried for one that differs.
const SHRINK_TRIALS: usize = 150;

/// Where the two servers listen.
#[derive(Clone, Copy, Debug)]
pub struct Servers {
    pub ours: u16,
    pub reference: u16,
}

/// Settings under which rows must come out the same. `params` stands for parameters in place of
/// literals.
const VARIANTS: [&[&str]; 14] = [
    &["params"],
    &["enable_hashjoin = off"],
    &["enable_nestloop = off"],
    &["enable_mergejoin = off", "enable_hashjoin = off"],
    &["enable_hashjoin = off", "enable_nestloop = off"],
    &["enable_hashagg = off"],
    &["enable_sort = off"],
    &["enable_seqscan = off"],
    &["enable_seqscan = off", "enable_indexscan = off"],
    &["enable_material = off", "enable_memoize = off"],
    &["enable_partitionwise_join = on", "enable_partitionwise_aggregate = on"],
    &["work_mem = '64kB'", "hash_mem_multiplier = 1"],
    &[
        "min_parallel_table_scan_size = 0",
        "min_parallel_index_scan_size = 0",
        "parallel_setup_cost = 0",
        "parallel_tuple_cost = 0",
    ],
    &["from_collapse_limit = 1", "join_collapse_limit = 1", "enable_presorted_aggregate = off"],
];

/// Runs the seeds; gives the differences as text.
pub fn run(seeds: Range<u64>, servers: Servers, show: &mut dyn FnMut(&str)) -> Result<usize> {
    let mut found = 0;
    let mut unsupported = HashSet::new();
    for seed in seeds {
        let schema = Schema::generate(&mut Choices::seeded(seed << 8));
        let mut pair = Pair::connect(servers, &schema)?;
        for n in 0..STATEMENTS {
            let mut choices = Choices::seeded((seed << 8) + n + 1);
            let case = Case::generate(&mut choices, &schema);
            let made = choices.into_made();
            let Some(difference) = pair.compare(&case, &schema)? else { continue };
            found += 1;
            if let Some(what) = difference.unsupported {
                if unsupported.insert(what) {
                    show(&format!("-- seed {seed}, statement {n}\n{}\n", difference.text));
                }
                continue;
            }
            let small = shrink(&mut pair, &schema, made, difference.settings)?;
            let difference = small.unwrap_or(difference);
            show(&format!("-- seed {seed}, statement {n}\n{}\n", difference.text));
        }
    }
    Ok(found)
}

/// The statements of a seed, as a script.
pub fn script(seed: u64) -> String {
    let schema = Schema::generate(&mut Choices::seeded(seed << 8));
    let mut lines = schema.sql.clone();
    for n in 0..STATEMENTS {
        let case = Case::generate(&mut Choices::seeded((seed << 8) + n + 1), &schema);
        lines.push(format!("-- {n}\n{}", case.sql));
    }
    lines.iter().map(|l| format!("{l};\n")).collect()
}

/// The smallest case found that differs under the same settings.
fn shrink(
    pair: &mut Pair,
    schema: &Schema,
    made: Vec<u32>,
    settings: &'static [&'static str],
) -> Result<Option<Difference>> {
    let mut last = None;
    let mut failure = None;
    let mut length = usize::MAX;
    choices::shrink(made, SHRINK_TRIALS, &mut |trial| {
        let mut choices = Choices::replayed(trial.to_vec());
        let case = Case::generate(&mut choices, schema);
        if case.sql.len() > length {
            return false;
        }
        match pair.compare_under(&case, schema, &[settings]) {
            Ok(Some(d)) => {
                length = case.sql.len();
                last = Some(d);
                true
            }
            Ok(None) => false,
            Err(e) => {
                failure = Some(e);
                false
            }
        }
    });
    match failure {
        Some(e) => Err(e),
        None => Ok(last),
    }
}

/// A statement that was answered in two ways.
struct Difference {
    settings: &'static [&'static str],
    text: String,
    /// What the first server says that it cannot do: shown once.
    unsupported: Option<String>,
}

/// The two connections.
struct Pair {
    servers: Servers,
    ours: Client,
    reference: Client,
}

impl Pair {
    fn connect(servers: Servers, schema: &Schema) -> Result<Pair> {
        let reference = open(servers.reference)?;
        let mut pair = Pair { servers, ours: open(servers.ours)?, reference };
        for sql in &schema.sql {
            pair.reference.execute(sql)?;
            pair.ours.execute(sql)?;
        }
        Ok(pair)
    }

    /// Runs a case under all settings that it is to be tried with.
    fn compare(&mut self, case: &Case, schema: &Schema) -> Result<Option<Difference>> {
        let settings = case.variants.iter().map(|i| VARIANTS[*i]);
        let all: Vec<_> = [&[][..]].into_iter().chain(settings).collect();
        self.compare_under(case, schema, &all)
    }

    fn compare_under(
        &mut self,
        case: &Case,
        schema: &Schema,
        all: &[&'static [&'static str]],
    ) -> Result<Option<Difference>> {
        let expected = case.run(&mut self.reference, &[])?;
        for settings in all {
            let got = match case.run(&mut self.ours, settings) {
                Ok(got) => got,
                Err(e) => {
                    // The server may be gone, or only this connection.
                    self.ours = open(self.servers.ours)?;
                    self.ours.execute("SET search_path TO differ")?;
                    Answer::lost(&e)
                }
            };
            if !got.agrees(&expected) {
                let text = case.report(schema, settings, &expected, &got);
                let unsupported = got.unsupported();
                return Ok(Some(Difference { settings, text, unsupported }));
            }
        }
        Ok(None)
    }
}

fn open(port: u16) -> Result<Client> {
    // Several may work with one reference at a time, each with a database of its own.
    let name = std::env::var("DIFFER_DATABASE").unwrap_or_else(|_| "differ".into());
    let mut client = Client::connect(port, "postgres", &name).or_else(|_| {
        let make = format!("CREATE DATABASE {name} TEMPLATE template0");
        Client::connect(port, "postgres", "postgres")?.execute(&make)?;
        Client::connect(port, "postgres", &name)
    })?;
    client.execute("SET statement_timeout = '5s'")?;
    client.execute("SET client_min_messages = error")?;
    Ok(client)
}
