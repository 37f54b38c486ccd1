//! Two servers asked the same about every built-in function, operator, cast, aggregate and input
//! function: `testkit functions PORT REFERENCE_PORT`.
//!
//! The list of what to call comes from the reference's catalogs; arguments are all
//! combinations of the edge values of `data/edge_values.txt`, or an even choice of them where
//! there are too many. Each call is made twice over: with the values as columns of a join, where
//! kernels over batches work, and with constants, which are folded when the query is planned.
//! An error ends a query, so where a column has a bad combination the constants tell what each
//! of them gives. Condition, message, detail and hint must be the same, and so must values, as
//! text and (by the types' send functions, which are functions like others) as bytes.
//!
//! The order is the catalogs' and the choice of combinations is arithmetic, so that two runs ask
//! the same. What is left alone, and why, is in `data/functions_skipped.txt`.

mod calls;
mod values;

use crate::{Client, QueryResult};
use base::{Error, Result};
use calls::{Call, Kind};
use std::collections::HashMap;
use values::Values;

/// How much to try, and of what.
#[derive(Clone, Debug)]
pub struct Options {
    /// At most this many combinations of arguments for each function.
    pub combinations: usize,
    /// Only calls whose text contains this.
    pub only: String,
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Functions, operators, casts and the like that were called.
    pub calls: usize,
    /// Evaluations that were compared.
    pub values: usize,
    /// Calls with at least one difference.
    pub different: usize,
}

const DATABASE: &str = "functions";

/// One of the two servers, reconnected when it drops the connection.
struct Side {
    port: u16,
    client: Client,
}

impl Side {
    fn open(port: u16, values: &Values) -> Result<Side> {
        let mut control = Client::connect(port, "postgres", "postgres")?;
        control.query(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        control.execute(&format!("CREATE DATABASE {DATABASE} TEMPLATE template0"))?;
        let mut side = Side { port, client: Side::connect(port)? };
        for (name, list) in &values.by_type {
            side.client.execute(&values::table(name))?;
            for (i, v) in list.iter().enumerate() {
                let insert = values::insert(name, i + 1, v);
                let r = side.client.query(&insert)?;
                if let Some(e) = r.error {
                    return Err(e.context(format!("port {port}: {insert}")));
                }
            }
        }
        Ok(side)
    }

    fn connect(port: u16) -> Result<Client> {
        let mut client = Client::connect(port, "postgres", DATABASE)?;
        client.execute("SET TimeZone = 'America/New_York'; SET statement_timeout = '20s'")?;
        Ok(client)
    }

    /// The answers to statements that are sent ahead.
    fn answers(&mut self, statements: &[String]) -> Result<Vec<Answer>> {
        let mut out = Vec::with_capacity(statements.len());
        while out.len() < statements.len() {
            match self.some_answers(&statements[out.len()..], &mut out) {
                Ok(()) => {}
                // The statement whose answer did not come is the one that broke the connection.
                Err(e) => {
                    out.push(Answer::Lost(e.message().to_string()));
                    self.client = Side::connect(self.port)?;
                }
            }
        }
        Ok(out)
    }

    /// Sends as much as fits into a socket's buffer, so that neither side waits for the other.
    fn some_answers(&mut self, statements: &[String], out: &mut Vec<Answer>) -> Result<()> {
        let mut bytes = 0;
        let mut n = 0;
        while n < statements.len() && (n == 0 || bytes + statements[n].len() < 1 << 15) && n < 64 {
            bytes += statements[n].len();
            self.client.send(&statements[n])?;
            n += 1;
        }
        for _ in 0..n {
            let r = self.client.receive(None, &mut QueryResult::default())?;
            let r = r.ok_or_else(|| Error::internal("no answer"))?;
            out.push(Answer::from(r));
        }
        Ok(())
    }
}

/// What a server said.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Rows(Vec<Vec<Option<String>>>),
    /// Condition, message, detail, hint.
    Error([String; 4]),
    Lost(String),
}

impl Answer {
    fn from(r: QueryResult) -> Answer {
        let Some(e) = r.error else {
            let mut rows = r.rows;
            rows.sort();
            return Answer::Rows(rows);
        };
        let text = |t: &Option<String>| t.clone().unwrap_or_default();
        let f = e.fields();
        Answer::Error([
            e.code().to_string(),
            e.message().to_string(),
            text(&f.detail),
            text(&f.hint),
        ])
    }

    fn show(&self) -> String {
        let text = match self {
            Answer::Rows(rows) => rows
                .iter()
                .map(|r| {
                    let values: Vec<&str> =
                        r.iter().map(|v| v.as_deref().unwrap_or("NULL")).collect();
                    values.join("|")
                })
                .collect::<Vec<_>>()
                .join(" // "),
            Answer::Error([code, message, detail, hint]) => {
                format!("ERROR {code}: {message} [{detail}] [{hint}]")
            }
            Answer::Lost(why) => format!("CONNECTION LOST: {why}"),
        };
        match text.char_indices().nth(500) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        }
    }
}

/// Compares two servers; tells each difference's first case to `tell`.
pub fn compare(ports: [u16; 2], options: &Options, tell: &mut dyn FnMut(&str)) -> Result<Report> {
    let values = Values::load()?;
    let mut sides = [Side::open(ports[0], &values)?, Side::open(ports[1], &values)?];
    let calls = calls::list(&mut sides[0].client, &values)?;
    let mut report = Report::default();
    for call in calls.iter().filter(|c| c.text.contains(options.only.as_str())) {
        report.calls += 1;
        let (tried, differences) = compare_call(&mut sides, &values, call, options)?;
        report.values += tried;
        if !differences.is_empty() {
            report.different += 1;
            tell(&format!("=== {}: {} of {tried}", call.text, differences.len()));
            for d in differences.iter().take(3) {
                tell(d);
            }
        }
    }
    Ok(report)
}

/// How many evaluations a call was compared in, and the cases where the servers differ.
fn compare_call(
    sides: &mut [Side; 2],
    values: &Values,
    call: &Call,
    options: &Options,
) -> Result<(usize, Vec<String>)> {
    let mut tried = 0;
    let mut differences = Vec::new();
    let combinations = values.combinations(&call.arguments, options.combinations);
    let mut columns_agree = false;
    if call.kind != Kind::Input {
        let statement = vec![call.over_columns(&combinations)];
        let a = sides[0].answers(&statement)?.remove(0);
        let b = sides[1].answers(&statement)?.remove(0);
        if let (Answer::Rows(x), Answer::Rows(y)) = (&a, &b) {
            tried += x.len();
            columns_agree = a == b;
            if x != y {
                let there: HashMap<&Vec<_>, ()> = y.iter().map(|r| (r, ())).collect();
                let lost = x.iter().find(|r| !there.contains_key(r));
                let here: HashMap<&Vec<_>, ()> = x.iter().map(|r| (r, ())).collect();
                let new = y.iter().find(|r| !here.contains_key(r));
                let show =
                    |r: Option<&Vec<_>>| Answer::Rows(r.into_iter().cloned().collect()).show();
                differences.push(format!(
                    "{}\n  A: {}\n  B: {}",
                    statement[0],
                    show(lost),
                    show(new)
                ));
            }
        } else if matches!(b, Answer::Lost(_)) || matches!(a, Answer::Lost(_)) {
            differences.push(format!("{}\n  A: {}\n  B: {}", statement[0], a.show(), b.show()));
        }
    }
    if call.kind == Kind::Aggregate {
        return Ok((tried, differences));
    }
    // Constants take another road than columns do; where columns agree, a few of them are enough.
    let step = if columns_agree { combinations.len().div_ceil(8).max(1) } else { 1 };
    let statements: Vec<String> = match call.kind {
        Kind::Input => values.texts().iter().map(|t| call.input(t)).collect(),
        _ => {
            let some = combinations.iter().step_by(step);
            some.map(|c| call.over_constants(values, c)).collect()
        }
    };
    let a = sides[0].answers(&statements)?;
    let b = sides[1].answers(&statements)?;
    tried += statements.len();
    for ((statement, a), b) in statements.iter().zip(&a).zip(&b) {
        if a != b {
            let short: String = statement.chars().take(400).collect();
            differences.push(format!("{short}\n  A: {}\n  B: {}", a.show(), b.show()));
        }
    }
    Ok((tried, differences))
}
