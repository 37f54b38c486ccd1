//! Rows as bytes: what the columns are, a row made from values, values got from a row.
//!
//! The layout is PostgreSQL's: an optional null bitmap (bit set = not null), then the values in
//! order, each aligned to its type's alignment relative to the start of the data; varlena values
//! carry a 1-byte header (short) or a 4-byte header, or are compressed, or are toast pointers.
//! See README.md beside this file for the bytes.

mod deform;
mod form;
mod stored;
mod varlena;

pub use base::pglz::{pglz_compress, pglz_decompress};
pub use deform::{attr_ranges, deform, deform_into};
pub(crate) use deform::{decode as decode_attr, locate as locate_attr};
pub(crate) use form::put as put_attr;
pub use form::{FormedTuple, append_values, data_size, form_tuple, form_tuple_with};
pub use stored::StoredForm;
pub use varlena::{
    Compression, Detoast, NoDetoast, TOAST_POINTER_SIZE, ToastPointer, VarlenaKind, compressed,
    deflate, detoast, inflate, varlena_size,
};

use crate::datum::{Datum, PhysType};
use base::Oid;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One column of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attr {
    /// The column's name; empty when none matters.
    pub name: Arc<str>,
    /// Its type.
    pub type_oid: Oid,
    /// The type's modifier, -1 if none.
    pub typmod: i32,
    /// How values are held in memory (of a domain: its base type).
    pub phys: PhysType,
    /// Bytes on disk; -1 varlena, -2 C string.
    pub len: i16,
    /// Whether PostgreSQL passes the type by value.
    pub byval: bool,
    /// Alignment in bytes: 1, 2, 4, 8.
    pub align: u8,
    /// TOAST strategy: `p`, `e`, `m`, `x`.
    pub storage: u8,
    /// Compression method: 0 default, `p` pglz, `l` lz4.
    pub compression: u8,
    /// Collation, 0 if the type has none.
    pub collation: Oid,
    /// NOT NULL.
    pub not_null: bool,
    /// The column was dropped: always NULL.
    pub dropped: bool,
    /// Value for rows that were written before the column was added.
    pub missing: Option<Datum>,
    /// `s` stored, `v` virtual, 0 not generated.
    pub generated: u8,
    /// `a` always, `d` by default, 0 no identity.
    pub identity: u8,
}

impl Attr {
    /// A plain nullable column of a type whose facts are given.
    pub fn new(name: &str, type_oid: Oid, len: i16, byval: bool, align: u8) -> Attr {
        Attr {
            name: name.into(),
            type_oid,
            typmod: -1,
            phys: crate::phys_type(type_oid, len, byval),
            len,
            byval,
            align,
            storage: if len == -1 { b'x' } else { b'p' },
            compression: 0,
            collation: Oid::INVALID,
            not_null: false,
            dropped: false,
            missing: None,
            generated: 0,
            identity: 0,
        }
    }

    /// True if values have no fixed size on disk.
    #[inline]
    pub fn is_varlena(&self) -> bool {
        self.len == -1
    }
}

/// The columns of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TupleDesc {
    /// The columns, dropped ones too, so that attribute number n is `attrs[n - 1]`.
    pub attrs: Vec<Attr>,
}

impl TupleDesc {
    /// A row of these columns.
    pub fn new(attrs: Vec<Attr>) -> TupleDesc {
        TupleDesc { attrs }
    }

    /// How many columns, dropped ones too.
    #[inline]
    pub fn natts(&self) -> usize {
        self.attrs.len()
    }

    /// Position of the live column of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.attrs.iter().position(|a| !a.dropped && &*a.name == name)
    }
}

#[cfg(test)]
mod tests;
