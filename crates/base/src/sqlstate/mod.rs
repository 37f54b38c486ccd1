//! SQLSTATEs: the five characters that name a condition. The list is `data/sqlstates.tsv`.

use std::fmt;

#[rustfmt::skip]
mod generated;
pub use generated::CONDITIONS;

/// A condition's five characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlState(pub [u8; 5]);

impl SqlState {
    /// The five characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }

    /// The condition of these five characters.
    pub fn from_code(code: &str) -> Option<SqlState> {
        code.as_bytes().try_into().ok().map(SqlState)
    }

    /// The condition's name as PL/pgSQL and psql know it, if it has one.
    pub fn condition_name(self) -> Option<&'static str> {
        CONDITIONS.iter().find(|(c, _)| *c == self).map(|(_, name)| *name)
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
