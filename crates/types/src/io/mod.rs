//! Values as text and as the wire's binary form.
//!
//! [`input`], [`output`], [`receive`] and [`send`] work for every type by its OID; what is not
//! built in (enums, rows, domains, arrays and ranges of them) is found through [`TypeLookup`].

mod binary;
pub mod bytes;
mod compound;
mod dispatch;
mod float;
mod message;
mod money;
pub(crate) mod number;
mod receive;
mod settings;
mod special;
mod times;

pub use binary::{checked_text, client_text, send, to_client};
pub use compound::array_of;
pub use dispatch::{input, input_plain, null, output, time_precision, typmod_in, typmod_out};
pub use float::{
    f64_text, f64_text_with, parse_f32, parse_f64, parse_f64_as, write_f32, write_f64,
};
pub(crate) use message::Reader;
pub use money::money_out;
pub use number::{parse_i16, parse_i32, parse_i64, parse_oid};
pub use receive::receive;
pub use settings::{ByteaOutput, DateOrder, DateStyle, Format, IntervalStyle};
pub use times::timetz_bytes;

use crate::datum::{Datum, PhysType};
use crate::tuple::TupleDesc;
use base::{Oid, Result};
use std::sync::Arc;

/// What reading and writing values needs to know of the session.
#[derive(Clone, Copy)]
pub struct IoCtx<'a> {
    /// Settings that change the form of values.
    pub format: &'a Format,
    /// Facts about types and names of objects.
    pub lookup: &'a dyn TypeLookup,
    /// Start of the transaction, in microseconds from 2000-01-01 UTC, for `now` and `today`.
    pub now: i64,
}

/// Facts about a type, from `pg_type`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeInfo {
    /// Its OID.
    pub oid: Oid,
    /// Its name, without schema.
    pub name: Arc<str>,
    /// Bytes on disk; -1 varlena, -2 C string.
    pub len: i16,
    /// Passed by value.
    pub byval: bool,
    /// Alignment in bytes: 1, 2, 4, 8.
    pub align: u8,
    /// TOAST strategy: `p`, `e`, `m`, `x`.
    pub storage: u8,
    /// How values are held (of a domain: its base type).
    pub phys: PhysType,
    /// `b` base, `c` composite, `d` domain, `e` enum, `p` pseudo, `r` range, `m` multirange.
    pub typtype: u8,
    /// `typcategory`.
    pub category: u8,
    /// Delimiter in arrays.
    pub delim: u8,
    /// Element type of a true array type (one with array subscripting); 0 otherwise.
    pub elem: Oid,
    /// The array type over this type, 0 if none.
    pub array: Oid,
    /// A domain's base type (the innermost), a range's subtype, a multirange's range; the built-in
    /// type that a base type made by users is held and written as; else 0.
    pub base: Oid,
    /// A domain's type modifier, else -1.
    pub base_typmod: i32,
    /// The composite type's relation, else 0.
    pub relid: Oid,
    /// Its collation, 0 if none.
    pub collation: Oid,
}

impl TypeInfo {
    /// True for a base type made by users that is held and written as a built-in one.
    pub fn has_like(&self) -> bool {
        self.typtype == b'b' && self.base.is_valid()
    }
}

/// What reading and writing values needs of the catalogs.
pub trait TypeLookup {
    /// Facts about a type.
    fn type_info(&self, oid: Oid) -> Option<Arc<TypeInfo>>;
    /// Columns of a composite type, or of a record whose typmod was registered.
    fn row_desc(&self, type_oid: Oid, typmod: i32) -> Option<Arc<TupleDesc>>;
    /// The label of an enum value.
    fn enum_label(&self, value: Oid) -> Option<String>;
    /// The value of an enum type that has this label.
    fn enum_value(&self, type_oid: Oid, label: &str) -> Option<Oid>;
    /// Fails if a value of an enum type may not be used yet: its label may still be taken back.
    fn check_enum_use(&self, _value: Oid) -> Result<()> {
        Ok(())
    }
    /// Which of the labels of an enum type a value is, in the type's order; None if the type is
    /// no enum.
    fn enum_rank(&self, _type_oid: Oid, _value: Oid) -> Option<usize> {
        None
    }
    /// Reads a value of a `reg*` type; numbers and `-` are handled by the caller.
    fn reg_in(&self, reg_type: Oid, text: &str) -> Result<Oid>;
    /// The relation that a text names, for functions: it may not be a number.
    fn relation_in(&self, text: &str) -> Result<Oid> {
        self.reg_in(crate::oid::REGCLASS, text)
    }
    /// Writes a value of a `reg*` type; None if there is no such object.
    fn reg_out(&self, reg_type: Oid, oid: Oid) -> Option<String>;
    /// The role of this name.
    fn role_oid(&self, name: &str) -> Option<Oid>;
    /// The name of a role.
    fn role_name(&self, oid: Oid) -> Option<String>;
    /// Checks a value against a domain's constraints.
    fn check_domain(&self, _domain: Oid, _value: &Datum) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
