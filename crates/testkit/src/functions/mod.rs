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
//! Aggregates and window functions are called over the combinations, in groups, distinct, filtered,
//! in frames and by parallel plans; there the condition of an error must be the same. Receive
//! functions are given what send functions make of the edge values, whole and harmed.
//!
//! The order is the catalogs' and the choice of combinations is arithmetic, so that two runs ask
//! the same. What is left alone, and why, is in `data/functions_skipped.txt`.

mod calls;
mod groups;
mod receive;
mod values;

use crate::{Client, QueryResult};
use base::{Error, Result};
use calls::{Call, Kind};
use std::collections::HashSet;
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

    /// What the type's receive function makes of bytes.
    fn received(&mut self, r: &receive::Received) -> Result<Vec<Answer>> {
        let mut out = Vec::with_capacity(r.values.len());
        for value in &r.values {
            let sent = self.client.send_binary("SELECT $1", r.type_oid, value);
            let answer = sent.and_then(|()| self.client.receive(None, &mut QueryResult::default()));
            match answer {
                Ok(Some(r)) => out.push(Answer::from(r)),
                other => {
                    out.push(Answer::Lost(format!("{:?}", other.err())));
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
    let combinations = values.combinations(&call.arguments, options.combinations);
    match call.kind {
        Kind::Aggregate | Kind::Ordered(_) | Kind::Window => {
            let statements = groups::statements(call, values, &combinations);
            compare_groups(sides, &statements)
        }
        Kind::Receive => compare_received(sides, values, &call.name),
        Kind::Input => {
            let statements: Vec<String> = values.texts().iter().map(|t| call.input(t)).collect();
            compare_each(sides, &statements)
        }
        _ => {
            let (mut tried, mut differences) = (0, Vec::new());
            let statement = call.over_columns(&combinations);
            let agree = compare_columns(sides, &statement, &mut tried, &mut differences)?;
            // Constants take another road than columns do; where columns agree, a few of them are
            // enough.
            let step = if agree { combinations.len().div_ceil(8).max(1) } else { 1 };
            let some = combinations.iter().step_by(step);
            let statements: Vec<String> = some.map(|c| call.over_constants(values, c)).collect();
            let (more, others) = compare_each(sides, &statements)?;
            differences.extend(others);
            Ok((tried + more, differences))
        }
    }
}

/// Compares the rows of one statement; whether they are the same.
fn compare_columns(
    sides: &mut [Side; 2],
    statement: &str,
    tried: &mut usize,
    differences: &mut Vec<String>,
) -> Result<bool> {
    let one = [statement.to_string()];
    let a = sides[0].answers(&one)?.remove(0);
    let b = sides[1].answers(&one)?.remove(0);
    match (&a, &b) {
        (Answer::Rows(x), Answer::Rows(_)) => {
            *tried += x.len();
            if a != b {
                differences.push(other_rows(statement, &a, &b));
            }
            Ok(a == b)
        }
        (Answer::Lost(_), _) | (_, Answer::Lost(_)) => {
            differences.push(format!("{statement}\n  A: {}\n  B: {}", a.show(), b.show()));
            Ok(false)
        }
        // Which row's error ends a query is the plan's to say.
        _ => Ok(false),
    }
}

/// A statement and the first row that only one has, for each of two answers.
fn other_rows(statement: &str, a: &Answer, b: &Answer) -> String {
    let first = |x: &Answer, y: &Answer| match (x, y) {
        (Answer::Rows(x), Answer::Rows(y)) => {
            let there: HashSet<&Vec<_>> = y.iter().collect();
            let only = x.iter().find(|r| !there.contains(r));
            Answer::Rows(only.into_iter().cloned().collect()).show()
        }
        (x, _) => x.show(),
    };
    format!("{statement}\n  A: {}\n  B: {}", first(a, b), first(b, a))
}

/// Compares statements over many rows: their rows, or the condition that ended them, which may be
/// of one row or of another.
fn compare_groups(sides: &mut [Side; 2], statements: &[String]) -> Result<(usize, Vec<String>)> {
    let a = sides[0].answers(statements)?;
    let b = sides[1].answers(statements)?;
    let (mut tried, mut differences) = (0, Vec::new());
    for ((statement, a), b) in statements.iter().zip(&a).zip(&b) {
        match (a, b) {
            (Answer::Rows(x), _) => tried += x.len(),
            _ => tried += 1,
        }
        let same = match (a, b) {
            (Answer::Error(x), Answer::Error(y)) => x[0] == y[0],
            _ => a == b,
        };
        if !same {
            differences.push(other_rows(statement, a, b));
        }
    }
    Ok((tried, differences))
}

/// Compares the answers to statements whole.
fn compare_each(sides: &mut [Side; 2], statements: &[String]) -> Result<(usize, Vec<String>)> {
    let a = sides[0].answers(statements)?;
    let b = sides[1].answers(statements)?;
    let mut differences = Vec::new();
    for ((statement, a), b) in statements.iter().zip(&a).zip(&b) {
        if a != b {
            let short: String = statement.chars().take(400).collect();
            differences.push(format!("{short}\n  A: {}\n  B: {}", a.show(), b.show()));
        }
    }
    Ok((statements.len(), differences))
}

/// Compares what receive functions make of bytes.
fn compare_received(
    sides: &mut [Side; 2],
    values: &Values,
    type_name: &str,
) -> Result<(usize, Vec<String>)> {
    let received = receive::values(&mut sides[0].client, values, type_name)?;
    let a = sides[0].received(&received)?;
    let b = sides[1].received(&received)?;
    let mut differences = Vec::new();
    for ((value, a), b) in received.values.iter().zip(&a).zip(&b) {
        if a != b {
            let hex: String = value.iter().map(|b| format!("{b:02x}")).collect();
            let (a, b) = (a.show(), b.show());
            differences.push(format!("{hex}\n  A: {a}\n  B: {b}"));
        }
    }
    Ok((received.values.len(), differences))
}
