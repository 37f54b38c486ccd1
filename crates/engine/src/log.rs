//! Lines of the server's log before they have a shape: what happened, to whom, in what words.
//! Who writes them down is set by [`crate::Database::set_logger`].

use base::{Error, Severity, SqlState};
use os::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names that are known once a client has said who it is.
#[derive(Clone, Debug, Default)]
pub struct LogNames {
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
    /// As `pg_stat_activity.backend_type` has it.
    pub backend_type: String,
}

/// Whose lines they are: a connection, or a part of the server.
#[derive(Debug)]
pub struct LogWho {
    /// Its number.
    pub pid: i32,
    /// When it began, in microseconds since 1970.
    pub start_micros: i64,
    /// A client's connection.
    pub session: bool,
    /// The client's address (`[local]` for a unix socket) and port.
    pub remote: Option<(String, String)>,
    /// The server's address, as the client reached it.
    pub local: Option<String>,
    names: Mutex<LogNames>,
    /// Lines so far, of each form on its own.
    lines: [AtomicU64; 3],
}

impl LogWho {
    /// A client's connection.
    pub fn client(pid: i32, remote: (String, String), local: Option<String>) -> Arc<LogWho> {
        let names = LogNames { backend_type: "not initialized".into(), ..LogNames::default() };
        Arc::new(LogWho {
            pid,
            start_micros: os::clock::now_micros(),
            session: true,
            remote: Some(remote),
            local,
            names: Mutex::new(names),
            lines: Default::default(),
        })
    }

    /// A part of the server.
    pub fn server(pid: i32, backend_type: &str) -> Arc<LogWho> {
        let names = LogNames { backend_type: backend_type.into(), ..LogNames::default() };
        Arc::new(LogWho {
            pid,
            start_micros: os::clock::now_micros(),
            session: false,
            remote: None,
            local: None,
            names: Mutex::new(names),
            lines: Default::default(),
        })
    }

    /// The names known now.
    pub fn names(&self) -> LogNames {
        self.names.lock().clone()
    }

    /// More names are known.
    pub fn set_names(&self, change: impl FnOnce(&mut LogNames)) {
        change(&mut self.names.lock());
    }

    /// The number of the next line of a form.
    pub fn next_line(&self, form: usize) -> u64 {
        self.lines[form].fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// `log_error_verbosity`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verbosity {
    /// Only the message.
    Terse,
    /// With detail, hint, context.
    #[default]
    Default,
    /// With the SQLSTATE too.
    Verbose,
}

impl Verbosity {
    /// From the setting's value.
    pub fn named(name: &str) -> Verbosity {
        match name {
            "terse" => Verbosity::Terse,
            "verbose" => Verbosity::Verbose,
            _ => Verbosity::Default,
        }
    }
}

/// One line, or several that belong together. Thresholds have been looked at.
pub struct LogLine<'a> {
    /// Whose it is; None: the server's.
    pub who: Option<&'a LogWho>,
    /// What happened.
    pub error: &'a Error,
    /// The statement to blame.
    pub statement: Option<&'a str>,
    /// What the session is doing: a command tag, or `idle`.
    pub tag: &'a str,
    /// `application_name`
    pub application: &'a str,
    /// The virtual transaction.
    pub vxid: Option<(u32, u32)>,
    /// The transaction; 0 is none.
    pub xid: u64,
    /// The number of queries like the one that is run; 0 is none.
    pub query_id: i64,
    /// `log_error_verbosity`; None: as the server has it.
    pub verbosity: Option<Verbosity>,
}

impl<'a> LogLine<'a> {
    /// A line of the server.
    pub fn of_server(error: &'a Error) -> LogLine<'a> {
        LogLine {
            who: None,
            error,
            statement: None,
            tag: "",
            application: "",
            vxid: None,
            xid: 0,
            query_id: 0,
            verbosity: None,
        }
    }
}

/// Writes the server's log.
pub type Logger = Arc<dyn Fn(&LogLine<'_>) + Send + Sync>;

/// A message of severity LOG.
pub fn message(text: impl Into<String>) -> Error {
    Error::with_severity(Severity::Log, SqlState::SUCCESSFUL_COMPLETION, text)
}

/// What kind of statement is logged from what value of `log_statement` on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StatementLevel {
    /// Nothing.
    None,
    /// Definitions.
    Ddl,
    /// And changes of data.
    Mod,
    /// Everything.
    All,
}

impl StatementLevel {
    /// From the setting's value.
    pub fn named(name: &str) -> StatementLevel {
        match name {
            "ddl" => StatementLevel::Ddl,
            "mod" => StatementLevel::Mod,
            "all" => StatementLevel::All,
            _ => StatementLevel::None,
        }
    }
}

/// First words of commands whose tag is that word.
const COMMANDS: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "COPY",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "PREPARE",
    "EXECUTE",
    "DEALLOCATE",
    "SET",
    "RESET",
    "SHOW",
    "EXPLAIN",
    "VACUUM",
    "ANALYZE",
    "CHECKPOINT",
    "REINDEX",
    "CLUSTER",
    "LISTEN",
    "UNLISTEN",
    "NOTIFY",
    "FETCH",
    "MOVE",
    "DISCARD",
    "DO",
    "CALL",
    "LOAD",
    "GRANT",
    "REVOKE",
    "COMMENT",
    "REASSIGN",
    "SECURITY",
];

/// The words of a statement that name its command, for the log: a command tag without counts.
pub fn tag_of(text: &str) -> String {
    let mut words = words_of(text);
    let Some(first) = words.next() else { return String::new() };
    let rest = match first.as_str() {
        "WITH" | "VALUES" | "TABLE" | "(" => return "SELECT".into(),
        "END" => return "COMMIT".into(),
        "ABORT" => return "ROLLBACK".into(),
        "START" => return "START TRANSACTION".into(),
        "TRUNCATE" | "LOCK" => return format!("{first} TABLE"),
        "DECLARE" | "CLOSE" => return format!("{first} CURSOR"),
        "REFRESH" => return "REFRESH MATERIALIZED VIEW".into(),
        "CREATE" | "ALTER" | "DROP" => words,
        _ if COMMANDS.contains(&first.as_str()) => return first,
        _ => return String::new(),
    };
    const SKIPPED: [&str; 13] = [
        "OR",
        "REPLACE",
        "TEMP",
        "TEMPORARY",
        "UNLOGGED",
        "UNIQUE",
        "GLOBAL",
        "LOCAL",
        "RECURSIVE",
        "TRUSTED",
        "PROCEDURAL",
        "CONSTRAINT",
        "IF",
    ];
    let mut rest = rest.filter(|w| !SKIPPED.contains(&w.as_str()));
    let object = rest.next().unwrap_or_default();
    let second = match object.as_str() {
        "MATERIALIZED" | "FOREIGN" | "EVENT" | "ACCESS" | "DEFAULT" | "TEXT" | "OPERATOR"
        | "USER" => rest.next(),
        _ => None,
    };
    match second {
        Some(second) if matches!(object.as_str(), "OPERATOR" | "USER") => match second.as_str() {
            "CLASS" | "FAMILY" | "MAPPING" => format!("{first} {object} {second}"),
            _ if object == "USER" => format!("{first} ROLE"),
            _ => format!("{first} {object}"),
        },
        Some(second) => format!("{first} {object} {second}"),
        None if object == "USER" => format!("{first} ROLE"),
        None => format!("{first} {object}"),
    }
}

/// Words of a statement in capitals, comments left out.
fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
            if let Some(comment) = rest.strip_prefix("--") {
                rest = comment.split_once('\n').map_or("", |(_, after)| after);
            } else if let Some(comment) = rest.strip_prefix("/*") {
                rest = comment.split_once("*/").map_or("", |(_, after)| after);
            } else {
                break;
            }
        }
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end.max(rest.chars().next().map_or(1, char::len_utf8)));
        rest = after;
        Some(if end == 0 && word != "(" { word.to_string() } else { word.to_uppercase() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags() {
        for (text, tag) in [
            ("select 1", "SELECT"),
            ("  -- x\n/* y */ with a as (select 1) select 2", "SELECT"),
            ("create unique index i on t (a)", "CREATE INDEX"),
            ("create or replace temp view v as select 1", "CREATE VIEW"),
            ("create materialized view v as select 1", "CREATE MATERIALIZED VIEW"),
            ("alter user me password 'x'", "ALTER ROLE"),
            ("drop operator class c using btree", "DROP OPERATOR CLASS"),
            ("end", "COMMIT"),
            ("truncate t", "TRUNCATE TABLE"),
            ("", ""),
            ("selec 1", ""),
            ("é", ""),
        ] {
            assert_eq!(tag_of(text), tag, "{text}");
        }
    }
}
