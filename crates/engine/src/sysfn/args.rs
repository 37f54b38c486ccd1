//! Arguments of a call.

use base::{Error, Oid, Result};
use types::Datum;

/// A call's arguments and their declared types.
pub(super) struct Args<'a> {
    pub values: &'a [Datum],
    pub types: &'a [Oid],
}

impl Args<'_> {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if the argument is declared to be an OID of some kind rather than a name.
    pub fn is_oid(&self, i: usize) -> bool {
        self.types.get(i).is_some_and(|t| {
            matches!(t.0, 26 | 24 | 2202..=2206 | 4089 | 4096 | 3734 | 3769 | 4191)
        })
    }

    pub fn oid(&self, i: usize) -> Result<Oid> {
        match self.values.get(i) {
            Some(Datum::U32(n)) => Ok(Oid(*n)),
            _ => Err(Error::internal("an argument is no OID")),
        }
    }

    pub fn text(&self, i: usize) -> Result<&str> {
        match self.values.get(i) {
            Some(value @ Datum::Bytes(_)) => Ok(value.as_str()),
            _ => Err(Error::internal("an argument is no text")),
        }
    }

    /// A whole number of any width.
    pub fn int(&self, i: usize) -> Result<i64> {
        match self.values.get(i) {
            Some(Datum::I16(n)) => Ok(i64::from(*n)),
            Some(Datum::I32(n)) => Ok(i64::from(*n)),
            Some(Datum::I64(n)) => Ok(*n),
            _ => Err(Error::internal("an argument is no number")),
        }
    }

    /// A Boolean; false if the argument is not there.
    pub fn bool(&self, i: usize) -> bool {
        matches!(self.values.get(i), Some(Datum::Bool(true)))
    }

    pub fn is_null(&self, i: usize) -> bool {
        matches!(self.values.get(i), None | Some(Datum::Null))
    }
}

/// Text, or NULL.
pub(super) fn opt_text(text: Option<String>) -> Datum {
    text.map_or(Datum::Null, Datum::string)
}
