//! SQL with expected results, in sqllogictest's form.
//!
//! ```text
//! statement ok
//! CREATE TABLE t (a int)
//!
//! statement error 42P01: relation "nope" does not exist
//! SELECT * FROM nope
//!
//! query
//! SELECT a, b FROM t
//! ----
//! 1|x
//! ```
//!
//! Values are separated by `|`, nulls are written `NULL`. `query rowsort` sorts both sides.
//! A record ends at an empty line.

use crate::Client;
use base::Result;

/// What a record expects.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// No error.
    Ok,
    /// This condition and message.
    Error(String),
    /// These rows.
    Rows { sort: bool, rows: Vec<String> },
}

/// A record of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Line of its first line, from 1.
    pub line: usize,
    pub sql: String,
    pub expected: Expected,
}

/// The records of a file. Lines that begin with `#` are comments.
pub fn parse(text: &str) -> Vec<Record> {
    let mut out = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut i = 0;
    while i < lines.len() {
        let head = lines[i];
        if head.trim().is_empty() || head.starts_with('#') {
            i += 1;
            continue;
        }
        let line = i + 1;
        i += 1;
        let mut sql = Vec::new();
        while i < lines.len() && !lines[i].is_empty() && lines[i] != "----" {
            sql.push(lines[i]);
            i += 1;
        }
        let mut rows = Vec::new();
        if i < lines.len() && lines[i] == "----" {
            i += 1;
            while i < lines.len() && !lines[i].is_empty() {
                rows.push(lines[i].to_string());
                i += 1;
            }
        }
        let expected = match head.split_once(' ').unwrap_or((head, "")) {
            ("statement", "ok") => Expected::Ok,
            ("statement", rest) => {
                Expected::Error(rest.strip_prefix("error").unwrap_or(rest).trim().to_string())
            }
            (_, rest) => Expected::Rows { sort: rest.contains("rowsort"), rows },
        };
        out.push(Record { line, sql: sql.join("\n"), expected });
    }
    out
}

fn row_text(row: &[Option<String>]) -> String {
    row.iter()
        .map(|v| match v {
            None => "NULL".to_string(),
            Some(s) if s.is_empty() => "(empty)".to_string(),
            Some(s) => s.replace('\n', "\\n"),
        })
        .collect::<Vec<_>>()
        .join("|")
}

/// What the server says to a record, in the form of a record.
fn answer(client: &mut Client, record: &Record) -> Result<Expected> {
    let r = client.query(&record.sql)?;
    if let Some(e) = r.error {
        return Ok(Expected::Error(format!("{}: {}", e.code(), e.message())));
    }
    Ok(match &record.expected {
        Expected::Rows { sort, .. } => {
            let mut rows: Vec<String> = r.rows.iter().map(|r| row_text(r)).collect();
            if *sort {
                rows.sort();
            }
            Expected::Rows { sort: *sort, rows }
        }
        _ => Expected::Ok,
    })
}

fn show(e: &Expected) -> String {
    match e {
        Expected::Ok => "ok".into(),
        Expected::Error(m) => format!("error {m}"),
        Expected::Rows { rows, .. } => rows.join("\n"),
    }
}

/// Runs the records; gives the differences.
pub fn run(client: &mut Client, name: &str, text: &str) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    for record in parse(text) {
        let mut expected = record.expected.clone();
        if let Expected::Rows { sort: true, rows } = &mut expected {
            rows.sort();
        }
        let got = answer(client, &record)
            .map_err(|e| e.context(format!("{name}:{}: {}", record.line, record.sql)))?;
        if got != expected {
            differences.push(format!(
                "{name}:{}: {}\n--- expected\n{}\n--- got\n{}",
                record.line,
                record.sql,
                show(&expected),
                show(&got)
            ));
        }
    }
    Ok(differences)
}

/// The file with the answers of this server in place of the expected ones.
pub fn record(client: &mut Client, text: &str) -> Result<String> {
    let mut out = String::new();
    let mut comments = text.lines().take_while(|l| l.starts_with('#') || l.is_empty()).peekable();
    while let Some(l) = comments.next() {
        if !l.is_empty() || comments.peek().is_some() {
            out.push_str(l);
            out.push('\n');
        }
    }
    for record in parse(text) {
        if !out.is_empty() && !out.ends_with("\n\n") {
            out.push('\n');
        }
        let got = answer(client, &record)?;
        match &got {
            Expected::Ok => out.push_str(&format!("statement ok\n{}\n", record.sql)),
            Expected::Error(m) => {
                out.push_str(&format!("statement error {m}\n{}\n", record.sql));
            }
            Expected::Rows { sort, rows } => {
                out.push_str(if *sort { "query rowsort\n" } else { "query\n" });
                out.push_str(&record.sql);
                out.push_str("\n----\n");
                for r in rows {
                    out.push_str(r);
                    out.push('\n');
                }
            }
        }
    }
    Ok(out)
}
