//! One value of any type, and how a type's values are held.

use crate::blob::Blob;
use crate::oid;
use base::Oid;
use serde::{Deserialize, Serialize};

/// One value. Which variant a type uses is its [`PhysType`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum Datum {
    /// SQL NULL of any type.
    #[default]
    Null,
    /// boolean
    Bool(bool),
    /// "char"
    Char(u8),
    /// smallint
    I16(i16),
    /// integer, date
    I32(i32),
    /// bigint, time, timestamp, timestamptz, money, pg_lsn, xid8
    I64(i64),
    /// oid, reg*, xid, cid, enums
    U32(u32),
    /// real
    #[serde(with = "exact")]
    F32(f32),
    /// double precision
    #[serde(with = "exact")]
    F64(f64),
    /// everything else, without length header or padding
    Bytes(Blob),
}

/// Whether two values are the same, bit by bit: NaN is the same as NaN, 0 is not the same as -0.
/// That is for telling expressions apart; what a type takes for equal is its operator's to say.
impl PartialEq for Datum {
    fn eq(&self, other: &Datum) -> bool {
        match (self, other) {
            (Datum::Null, Datum::Null) => true,
            (Datum::Bool(a), Datum::Bool(b)) => a == b,
            (Datum::Char(a), Datum::Char(b)) => a == b,
            (Datum::I16(a), Datum::I16(b)) => a == b,
            (Datum::I32(a), Datum::I32(b)) => a == b,
            (Datum::I64(a), Datum::I64(b)) => a == b,
            (Datum::U32(a), Datum::U32(b)) => a == b,
            (Datum::F32(a), Datum::F32(b)) => a.to_bits() == b.to_bits(),
            (Datum::F64(a), Datum::F64(b)) => a.to_bits() == b.to_bits(),
            (Datum::Bytes(a), Datum::Bytes(b)) => a == b,
            _ => false,
        }
    }
}

/// Floating-point numbers as text: JSON's numbers have no NaN and no infinity.
mod exact {
    use serde::de::{self, Visitor};
    use serde::{Deserializer, Serializer};
    use std::fmt::{self, Debug};
    use std::marker::PhantomData;
    use std::str::FromStr;

    pub fn serialize<T: Debug, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{value:?}"))
    }

    struct Number<T>(PhantomData<T>);

    impl<T: FromStr> Visitor<'_> for Number<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number, as text")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(|_| E::custom(format!("invalid number {text}")))
        }

        fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
            self.visit_str(&format!("{number:?}"))
        }
    }

    pub fn deserialize<'d, T: FromStr, D: Deserializer<'d>>(from: D) -> Result<T, D::Error> {
        from.deserialize_any(Number(PhantomData))
    }
}

const _: () = assert!(size_of::<Datum>() == 24);

/// How a type's values are held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum PhysType {
    /// [`Datum::Bool`]
    Bool,
    /// [`Datum::Char`]
    Char,
    /// [`Datum::I16`]
    I16,
    /// [`Datum::I32`]
    I32,
    /// [`Datum::I64`]
    I64,
    /// [`Datum::U32`]
    U32,
    /// [`Datum::F32`]
    F32,
    /// [`Datum::F64`]
    F64,
    /// [`Datum::Bytes`]
    Bytes,
}

/// How values of a type are held. `type_oid` must be a domain's base type, not the domain.
pub const fn phys_type(type_oid: Oid, typlen: i16, typbyval: bool) -> PhysType {
    match type_oid {
        oid::BOOL => PhysType::Bool,
        oid::CHAR => PhysType::Char,
        oid::INT2 => PhysType::I16,
        oid::INT4 | oid::DATE => PhysType::I32,
        oid::FLOAT4 => PhysType::F32,
        oid::FLOAT8 => PhysType::F64,
        oid::VOID => PhysType::Bytes,
        _ if !typbyval => PhysType::Bytes,
        _ => match typlen {
            1 => PhysType::Char,
            2 => PhysType::I16,
            4 => PhysType::U32,
            8 => PhysType::I64,
            _ => PhysType::Bytes,
        },
    }
}

impl Datum {
    /// A text-like value.
    #[inline]
    pub fn text(text: &str) -> Datum {
        Datum::Bytes(Blob::new(text.as_bytes()))
    }

    /// A text-like value from an owned string.
    #[inline]
    pub fn string(text: String) -> Datum {
        Datum::Bytes(Blob::from(text))
    }

    /// A byte-string value from an owned vector.
    #[inline]
    pub fn bytes(bytes: Vec<u8>) -> Datum {
        Datum::Bytes(Blob::from(bytes))
    }

    /// A value of an oid type.
    #[inline]
    pub const fn oid(oid: Oid) -> Datum {
        Datum::U32(oid.0)
    }

    /// The same bytes held as another type's: what a binary-coercible cast does where the two
    /// types are held differently (int4 and oid). Types of other widths cannot be such casts.
    pub fn reinterpret(self, phys: PhysType) -> Datum {
        match (self, phys) {
            (Datum::I32(n), PhysType::U32) => Datum::U32(n as u32),
            (Datum::U32(n), PhysType::I32) => Datum::I32(n as i32),
            (Datum::I32(n), PhysType::F32) => Datum::F32(f32::from_bits(n as u32)),
            (Datum::U32(n), PhysType::F32) => Datum::F32(f32::from_bits(n)),
            (Datum::F32(x), PhysType::I32) => Datum::I32(x.to_bits() as i32),
            (Datum::F32(x), PhysType::U32) => Datum::U32(x.to_bits()),
            (Datum::I64(n), PhysType::F64) => Datum::F64(f64::from_bits(n as u64)),
            (Datum::F64(x), PhysType::I64) => Datum::I64(x.to_bits() as i64),
            (Datum::Bool(b), PhysType::Char) => Datum::Char(b as u8),
            (Datum::Char(c), PhysType::Bool) => Datum::Bool(c != 0),
            (value, _) => value,
        }
    }

    /// [`Datum::reinterpret`] for a type that is built in and no domain; others stay as they are.
    pub fn relabelled(self, type_oid: Oid) -> Datum {
        match (&self, type_oid) {
            (Datum::I32(_), t) if oid::is_oid_like(t) => self.reinterpret(PhysType::U32),
            (Datum::U32(_), oid::INT4) => self.reinterpret(PhysType::I32),
            _ => self,
        }
    }

    /// True for SQL NULL.
    #[inline]
    pub const fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// How this value is held; None for NULL.
    pub const fn phys_type(&self) -> Option<PhysType> {
        Some(match self {
            Datum::Null => return None,
            Datum::Bool(_) => PhysType::Bool,
            Datum::Char(_) => PhysType::Char,
            Datum::I16(_) => PhysType::I16,
            Datum::I32(_) => PhysType::I32,
            Datum::I64(_) => PhysType::I64,
            Datum::U32(_) => PhysType::U32,
            Datum::F32(_) => PhysType::F32,
            Datum::F64(_) => PhysType::F64,
            Datum::Bytes(_) => PhysType::Bytes,
        })
    }

    /// The boolean; false for NULL or another type.
    #[inline]
    pub const fn as_bool(&self) -> bool {
        matches!(self, Datum::Bool(true))
    }

    /// The byte of a "char"; 0 for another type.
    #[inline]
    pub const fn as_char(&self) -> u8 {
        if let Datum::Char(c) = self { *c } else { 0 }
    }

    /// The smallint; 0 for another type.
    #[inline]
    pub const fn as_i16(&self) -> i16 {
        if let Datum::I16(n) = self { *n } else { 0 }
    }

    /// The integer or date; 0 for another type.
    #[inline]
    pub const fn as_i32(&self) -> i32 {
        if let Datum::I32(n) = self { *n } else { 0 }
    }

    /// The 64-bit value; 0 for another type.
    #[inline]
    pub const fn as_i64(&self) -> i64 {
        if let Datum::I64(n) = self { *n } else { 0 }
    }

    /// Any integer value widened; 0 for what is not an integer.
    #[inline]
    pub const fn to_i64(&self) -> i64 {
        match self {
            Datum::I16(n) => *n as i64,
            Datum::I32(n) => *n as i64,
            Datum::I64(n) => *n,
            Datum::U32(n) => *n as i64,
            Datum::Char(n) => *n as i64,
            Datum::Bool(b) => *b as i64,
            _ => 0,
        }
    }

    /// The unsigned 32-bit value; 0 for another type.
    #[inline]
    pub const fn as_u32(&self) -> u32 {
        if let Datum::U32(n) = self { *n } else { 0 }
    }

    /// The OID; 0 for another type.
    #[inline]
    pub const fn as_oid(&self) -> Oid {
        Oid(self.as_u32())
    }

    /// The real; 0 for another type.
    #[inline]
    pub const fn as_f32(&self) -> f32 {
        if let Datum::F32(x) = self { *x } else { 0.0 }
    }

    /// The double precision; 0 for another type.
    #[inline]
    pub const fn as_f64(&self) -> f64 {
        if let Datum::F64(x) = self { *x } else { 0.0 }
    }

    /// The bytes; empty for another type.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        if let Datum::Bytes(b) = self { b } else { &[] }
    }

    /// The bytes as text; empty for another type.
    #[inline]
    pub fn as_str(&self) -> &str {
        if let Datum::Bytes(b) = self { b.as_str() } else { "" }
    }

    /// Bytes held outside of this object, for memory accounts.
    pub fn heap_size(&self) -> usize {
        if let Datum::Bytes(b) = self { b.heap_size() } else { 0 }
    }
}

macro_rules! from {
    ($($t:ty => $v:ident),*) => {$(
        impl From<$t> for Datum {
            #[inline]
            fn from(x: $t) -> Datum {
                Datum::$v(x)
            }
        }
    )*};
}
from!(bool => Bool, u8 => Char, i16 => I16, i32 => I32, i64 => I64, u32 => U32, f32 => F32,
      f64 => F64, Blob => Bytes);

impl<T: Into<Datum>> From<Option<T>> for Datum {
    #[inline]
    fn from(x: Option<T>) -> Datum {
        x.map_or(Datum::Null, Into::into)
    }
}
