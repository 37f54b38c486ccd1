//! The one error type: what a client is told, with PostgreSQL's fields and codes.

use crate::sqlstate::SqlState;
use std::fmt;

/// Result of anything that can fail with a reply to the client.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How bad it is. `Error` ends the statement, `Fatal` the session, `Panic` the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Developers' detail.
    Debug,
    /// For the server's log only.
    Log,
    /// Asked for by the user.
    Info,
    /// Good to know.
    Notice,
    /// Probably not what was wanted.
    Warning,
    /// Ends the statement.
    Error,
    /// Ends the session.
    Fatal,
    /// Stops the server, which then recovers.
    Panic,
}

impl Severity {
    /// The word clients see.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Debug => "DEBUG",
            Severity::Log => "LOG",
            Severity::Info => "INFO",
            Severity::Notice => "NOTICE",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
            Severity::Panic => "PANIC",
        }
    }
}

/// An error, or a notice, as the protocol carries it. Small to return: the fields are boxed.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<Fields>);

/// The fields of an [`Error`]. Positions count characters from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields {
    /// How bad it is.
    pub severity: Severity,
    /// The condition.
    pub code: SqlState,
    /// What happened, in PostgreSQL's words.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in the client's statement, in characters from 1. While an error still travels
    /// below the session the number is a *byte* offset from 0, held in `location`.
    pub position: Option<u32>,
    /// Byte offset into the statement's text; the session turns it into `position`.
    pub location: Option<u32>,
    /// Where in a statement that the server itself made.
    pub internal_position: Option<u32>,
    /// The text of that statement.
    pub internal_query: Option<String>,
    /// What was going on, innermost first, a line each.
    pub context: Option<String>,
    /// The schema concerned.
    pub schema: Option<String>,
    /// The table concerned.
    pub table: Option<String>,
    /// The column concerned.
    pub column: Option<String>,
    /// The data type concerned.
    pub data_type: Option<String>,
    /// The constraint concerned.
    pub constraint: Option<String>,
    /// PostgreSQL's name of the routine that reports it, for the few that drivers look at.
    pub routine: Option<&'static str>,
}

/// A code that no standard and no client knows.
const PARKED: SqlState = SqlState(*b"--001");

impl Error {
    /// An error of severity `Error` with this condition and message.
    #[cold]
    pub fn new(code: SqlState, message: impl Into<String>) -> Error {
        Error::with_severity(Severity::Error, code, message)
    }

    /// An error, warning or notice.
    #[cold]
    pub fn with_severity(severity: Severity, code: SqlState, message: impl Into<String>) -> Error {
        Error(Box::new(Fields {
            severity,
            code,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            location: None,
            internal_position: None,
            internal_query: None,
            context: None,
            schema: None,
            table: None,
            column: None,
            data_type: None,
            constraint: None,
            routine: None,
        }))
    }

    /// A notice (00000) with this message.
    pub fn notice(message: impl Into<String>) -> Error {
        Error::with_severity(Severity::Notice, SqlState::SUCCESSFUL_COMPLETION, message)
    }

    /// A warning (01000) with this message.
    pub fn warning(message: impl Into<String>) -> Error {
        Error::with_severity(Severity::Warning, SqlState::WARNING, message)
    }

    /// A broken invariant of ours (XX000).
    #[cold]
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(SqlState::INTERNAL_ERROR, message)
    }

    /// Not a failure: the statement left the thread to wait for a lock, and is to be run again
    /// from its start when it has it. No client sees it.
    #[cold]
    pub fn parked() -> Error {
        Error::with_severity(Severity::Debug, PARKED, String::new())
    }

    /// True for [`Error::parked`].
    pub fn is_parked(&self) -> bool {
        self.0.code == PARKED
    }

    /// Something that is not built yet (0A000); `what` starts the sentence.
    #[cold]
    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported yet"))
    }

    /// With more about it.
    pub fn detail(mut self, text: impl Into<String>) -> Error {
        let text = text.into();
        self.0.detail = (!text.is_empty()).then_some(text);
        self
    }

    /// With what to do about it.
    pub fn hint(mut self, text: impl Into<String>) -> Error {
        self.0.hint = Some(text.into());
        self
    }

    /// With the byte offset into the statement's text, unless it has one.
    pub fn at(mut self, location: impl Into<Option<u32>>) -> Error {
        if self.0.location.is_none() {
            self.0.location = location.into();
        }
        self
    }

    /// With this byte offset, or none, whatever it had.
    pub fn placed(mut self, location: Option<u32>) -> Error {
        self.0.location = location;
        self.0.position = None;
        self
    }

    /// The byte offset into the statement's text.
    pub fn place(&self) -> Option<u32> {
        self.0.location
    }

    /// With another line of context, outside those it has.
    pub fn context(mut self, line: impl Into<String>) -> Error {
        let line = line.into();
        self.0.context = Some(match self.0.context.take() {
            Some(inner) => format!("{inner}\n{line}"),
            None => line,
        });
        self
    }

    /// With the routine that reports it in PostgreSQL.
    pub fn routine(mut self, name: &'static str) -> Error {
        self.0.routine = Some(name);
        self
    }

    /// With another severity.
    pub fn severity(mut self, severity: Severity) -> Error {
        self.0.severity = severity;
        self
    }

    /// With the table concerned and its schema.
    pub fn table(mut self, schema: impl Into<String>, table: impl Into<String>) -> Error {
        self.0.schema = Some(schema.into());
        self.0.table = Some(table.into());
        self
    }

    /// With the column concerned.
    pub fn column(mut self, column: impl Into<String>) -> Error {
        self.0.column = Some(column.into());
        self
    }

    /// With the data type concerned.
    pub fn data_type(mut self, name: impl Into<String>) -> Error {
        self.0.data_type = Some(name.into());
        self
    }

    /// With the constraint concerned.
    pub fn constraint(mut self, name: impl Into<String>) -> Error {
        self.0.constraint = Some(name.into());
        self
    }

    /// The condition.
    pub fn code(&self) -> SqlState {
        self.0.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// All fields.
    pub fn fields(&self) -> &Fields {
        &self.0
    }

    /// All fields, to change.
    pub fn fields_mut(&mut self) -> &mut Fields {
        &mut self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:  {}", self.0.severity.as_str(), self.0.message)?;
        if let Some(detail) = &self.0.detail {
            write!(f, "\nDETAIL:  {detail}")?;
        }
        if let Some(hint) = &self.0.hint {
            write!(f, "\nHINT:  {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// An [`Error`] from a condition's name in [`SqlState`] and a format string:
/// `err!(DIVISION_BY_ZERO, "division by zero")`.
#[macro_export]
macro_rules! err {
    ($code:ident, $($arg:tt)+) => {
        $crate::Error::new($crate::SqlState::$code, format!($($arg)+))
    };
}

/// Returns `Err(err!(...))`.
#[macro_export]
macro_rules! bail {
    ($code:ident, $($arg:tt)+) => {
        return Err($crate::err!($code, $($arg)+))
    };
}
