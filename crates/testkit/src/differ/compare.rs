//! A statement, what a server answers to it, and whether two answers are the same.

use super::VARIANTS;
use super::choices::Choices;
use super::query::Generator;
use super::schema::Schema;
use crate::Client;
use base::{Error, Result};

/// Rows of a difference that are shown.
const SHOWN_ROWS: usize = 8;

/// One statement.
pub struct Case {
    pub sql: String,
    /// The same with parameters, and their values.
    with_params: (String, Vec<String>),
    kind: Kind,
    /// Settings to try, by number.
    pub variants: Vec<usize>,
}

impl Case {
    /// Makes one.
    pub fn generate(c: &mut Choices, schema: &Schema) -> Case {
        let mut variants: Vec<usize> = (0..3).map(|_| c.below(VARIANTS.len())).collect();
        variants.sort_unstable();
        variants.dedup();
        let start = c.position();
        let (sql, kind) = statement(&mut Generator::new(c, schema, false));
        c.rewind(start);
        let mut again = Generator::new(c, schema, true);
        let (text, _) = statement(&mut again);
        let with_params = (text, again.params.take().unwrap_or_default());
        Case { sql, with_params, kind, variants }
    }

    /// Runs it under these settings, and undoes what it did.
    pub fn run(&self, client: &mut Client, settings: &[&str]) -> Result<Answer> {
        client.execute("BEGIN")?;
        for s in settings.iter().filter(|s| **s != "params") {
            client.execute(&format!("SET LOCAL {s}"))?;
        }
        let r = match settings.contains(&"params") {
            true => self.run_prepared(client)?,
            false => client.query(&self.sql)?,
        };
        let mut answer = Answer {
            error: r.error.as_ref().map(|e| (e.code().to_string(), e.message().to_string())),
            rows: r.rows,
            tags: r.tags,
            ordered: self.kind == Kind::Ordered,
        };
        if let (None, Kind::Changes(table)) = (&answer.error, &self.kind) {
            let after = client.execute(&format!("SELECT tableoid::regclass, * FROM {table}"))?;
            answer.rows.extend(after.rows);
        }
        client.execute("ROLLBACK")?;
        Ok(answer)
    }

    fn run_prepared(&self, client: &mut Client) -> Result<crate::QueryResult> {
        let (text, values) = &self.with_params;
        client.execute("SET LOCAL plan_cache_mode = force_generic_plan")?;
        client.query("DEALLOCATE ALL")?;
        let prepared = client.query(&format!("PREPARE p AS {text}"))?;
        if prepared.error.is_some() {
            return Ok(prepared);
        }
        let args = match values.is_empty() {
            true => String::new(),
            false => format!("({})", values.join(", ")),
        };
        client.query(&format!("EXECUTE p{args}"))
    }

    /// A difference as text that can be run.
    pub fn report(
        &self,
        schema: &Schema,
        settings: &[&str],
        want: &Answer,
        got: &Answer,
    ) -> String {
        let mut out = String::new();
        for t in schema.sql.iter().filter(|s| s.starts_with("CREATE") && self.uses(s)) {
            out.push_str(&format!("-- {t};\n"));
        }
        for s in settings {
            out.push_str(&format!("SET {s};\n"));
        }
        let sql = if settings.contains(&"params") { &self.with_params.0 } else { &self.sql };
        out.push_str(&format!("{sql};\n"));
        if settings.contains(&"params") {
            out.push_str(&format!("-- with {}\n", self.with_params.1.join(", ")));
        }
        out.push_str(&want.describe("expected", got));
        out.push_str(&got.describe("got", want));
        out
    }

    /// Whether a CREATE statement is about something that the statement names.
    fn uses(&self, create: &str) -> bool {
        let name = create.split_whitespace().nth(2).unwrap_or_default();
        let table = name.split('_').next().unwrap_or(name);
        self.sql.split_whitespace().any(|w| w.trim_matches(['(', ')', ',']) == table)
    }
}

/// What is to be compared.
#[derive(PartialEq)]
enum Kind {
    /// Rows in any order.
    Rows,
    /// Rows in this order.
    Ordered,
    /// Rows that are returned, and those of a table afterwards.
    Changes(String),
}

fn statement(g: &mut Generator) -> (String, Kind) {
    if g.c.once_in(5) {
        let (sql, table) = g.change();
        return (sql, Kind::Changes(table));
    }
    let (sql, ordered) = g.statement();
    (sql, if ordered { Kind::Ordered } else { Kind::Rows })
}

/// What a server said.
pub struct Answer {
    error: Option<(String, String)>,
    rows: Vec<Vec<Option<String>>>,
    tags: Vec<String>,
    ordered: bool,
}

impl Answer {
    /// No answer: the connection broke.
    pub fn lost(e: &Error) -> Answer {
        let error = Some((e.code().to_string(), e.message().to_string()));
        Answer { error, rows: Vec::new(), tags: Vec::new(), ordered: false }
    }

    /// What the server says that it cannot do.
    pub fn unsupported(&self) -> Option<String> {
        self.error.as_ref().filter(|e| e.0 == "0A000").map(|e| e.1.clone())
    }

    /// Whether two answers are the same, but for what nobody promises.
    pub fn agrees(&self, other: &Answer) -> bool {
        let timed_out = |a: &Answer| a.error.as_ref().is_some_and(|e| e.0 == "57014");
        if timed_out(self) || timed_out(other) {
            // A slow plan is a matter for benchmarks.
            return true;
        }
        if self.error.is_some() || other.error.is_some() {
            return self.error == other.error;
        }
        if self.tags.last() != other.tags.last() || self.rows.len() != other.rows.len() {
            return false;
        }
        if self.ordered {
            return self.rows == other.rows;
        }
        self.sorted() == other.sorted()
    }

    fn sorted(&self) -> Vec<&Vec<Option<String>>> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort();
        rows
    }

    /// The rows that the other has not, or the error.
    fn describe(&self, title: &str, other: &Answer) -> String {
        if let Some((code, message)) = &self.error {
            return format!("-- {title}: {code}: {message}\n");
        }
        let theirs = other.sorted();
        let mut theirs = theirs.into_iter().peekable();
        let mut only = Vec::new();
        for row in self.sorted() {
            while theirs.next_if(|t| *t < row).is_some() {}
            if theirs.next_if(|t| *t == row).is_none() {
                only.push(row);
            }
        }
        let mut out =
            format!("-- {title}: {} rows, of these only here {}\n", self.rows.len(), only.len());
        for row in only.iter().take(SHOWN_ROWS) {
            let values: Vec<&str> = row.iter().map(|v| v.as_deref().unwrap_or("NULL")).collect();
            out.push_str(&format!("--   {}\n", values.join("|")));
        }
        out
    }
}
