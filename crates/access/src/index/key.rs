//! Order of key columns, and comparison of a stored value with a wanted one without making a
//! [`Datum`] of the stored one where the type allows.

use base::{Result, err};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use types::tuple::{Attr, NoDetoast, detoast};
use types::{Blob, Datum, PhysType};

/// A comparison of two values, neither of them NULL.
pub type KeyFn = Arc<dyn Fn(&Datum, &Datum) -> Result<Ordering> + Send + Sync>;

/// How the values of a key column compare (btree support function 1).
#[derive(Clone)]
pub enum KeyCmp {
    /// Integers of any width on either side, booleans, "char", oid, date, timestamps.
    Int,
    /// Floating point of any width on either side; NaN is the greatest and equals itself.
    Float,
    /// Byte by byte, then by length: text in C collation, name, bytea, uuid.
    Bytes,
    /// Anything else.
    Custom(KeyFn),
}

impl fmt::Debug for KeyCmp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyCmp::Int => "Int",
            KeyCmp::Float => "Float",
            KeyCmp::Bytes => "Bytes",
            KeyCmp::Custom(_) => "Custom",
        })
    }
}

/// A key column's order.
#[derive(Clone, Debug)]
pub struct KeyColumn {
    /// The operator class's comparison.
    pub cmp: KeyCmp,
    /// DESC
    pub desc: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}

impl KeyColumn {
    /// Ascending, NULLS LAST.
    pub fn ascending(cmp: KeyCmp) -> KeyColumn {
        KeyColumn { cmp, desc: false, nulls_first: false }
    }
}

/// A wanted value, prepared for comparison with many stored ones.
#[derive(Clone, Debug)]
pub enum Probe {
    /// NULL
    Null,
    /// For [`KeyCmp::Int`].
    Int(i64),
    /// For [`KeyCmp::Float`].
    Float(f64),
    /// For [`KeyCmp::Bytes`].
    Bytes(Blob),
    /// For [`KeyCmp::Custom`].
    Any(Datum),
}

fn float_order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn to_f64(d: &Datum) -> f64 {
    match d {
        Datum::F32(x) => *x as f64,
        Datum::F64(x) => *x,
        other => other.to_i64() as f64,
    }
}

impl KeyCmp {
    /// Prepares a wanted value.
    pub fn probe(&self, value: &Datum) -> Probe {
        if value.is_null() {
            return Probe::Null;
        }
        match self {
            KeyCmp::Int => Probe::Int(value.to_i64()),
            KeyCmp::Float => Probe::Float(to_f64(value)),
            KeyCmp::Bytes => Probe::Bytes(match value {
                Datum::Bytes(b) => b.clone(),
                _ => Blob::EMPTY,
            }),
            KeyCmp::Custom(_) => Probe::Any(value.clone()),
        }
    }

    /// Order of two values, neither of them NULL.
    pub fn compare(&self, a: &Datum, b: &Datum) -> Result<Ordering> {
        Ok(match self {
            KeyCmp::Int => a.to_i64().cmp(&b.to_i64()),
            KeyCmp::Float => float_order(to_f64(a), to_f64(b)),
            KeyCmp::Bytes => a.as_bytes().cmp(b.as_bytes()),
            KeyCmp::Custom(f) => return f(a, b),
        })
    }

    /// True if comparing cannot run code that trusts the bytes it is given, so that a page may be
    /// searched while it changes.
    pub fn is_total(&self) -> bool {
        !matches!(self, KeyCmp::Custom(_))
    }

    /// Order of a stored value (its bytes in the row, header included) against a wanted one.
    #[inline]
    pub fn compare_stored(&self, attr: &Attr, stored: &[u8], wanted: &Probe) -> Result<Ordering> {
        match (self, wanted) {
            (KeyCmp::Int, Probe::Int(w)) => Ok(stored_int(attr, stored).cmp(w)),
            (KeyCmp::Float, Probe::Float(w)) => Ok(float_order(stored_float(attr, stored), *w)),
            (KeyCmp::Bytes, Probe::Bytes(w)) => match plain_bytes(attr, stored) {
                Some(bytes) => Ok(bytes.cmp(w.as_slice())),
                None => Ok(detoast(stored, &NoDetoast)?.as_slice().cmp(w.as_slice())),
            },
            (KeyCmp::Custom(f), Probe::Any(w)) => f(&decode(attr, stored)?, w),
            _ => Err(err!(INTERNAL_ERROR, "index key was prepared for another comparison")),
        }
    }
}

/// An integer of any width as stored.
#[inline]
pub fn stored_int(attr: &Attr, b: &[u8]) -> i64 {
    match (attr.phys, b) {
        (PhysType::I32, &[a, b, c, d, ..]) => i32::from_le_bytes([a, b, c, d]) as i64,
        (PhysType::I64, &[a, b, c, d, e, f, g, h, ..]) => {
            i64::from_le_bytes([a, b, c, d, e, f, g, h])
        }
        (PhysType::U32, &[a, b, c, d, ..]) => u32::from_le_bytes([a, b, c, d]) as i64,
        (PhysType::I16, &[a, b, ..]) => i16::from_le_bytes([a, b]) as i64,
        (PhysType::Char, &[a, ..]) => a as i64,
        (PhysType::Bool, &[a, ..]) => (a != 0) as i64,
        _ => 0,
    }
}

fn stored_float(attr: &Attr, b: &[u8]) -> f64 {
    match (attr.phys, b) {
        (PhysType::F64, &[a, b, c, d, e, f, g, h, ..]) => {
            f64::from_le_bytes([a, b, c, d, e, f, g, h])
        }
        (PhysType::F32, &[a, b, c, d, ..]) => f32::from_le_bytes([a, b, c, d]) as f64,
        _ => 0.0,
    }
}

/// Payload of a byte-string value that is stored plain; None if it is compressed.
#[inline]
fn plain_bytes<'a>(attr: &Attr, b: &'a [u8]) -> Option<&'a [u8]> {
    match attr.len {
        -1 => match b.first() {
            Some(&h) if h & 1 == 1 && h != 1 => Some(&b[1..]),
            Some(&h) if h & 3 == 0 => Some(b.get(4..).unwrap_or(&[])),
            _ => None,
        },
        -2 => Some(&b[..b.len().saturating_sub(1)]),
        64 if attr.type_oid == types::oid::NAME => {
            Some(&b[..b.iter().position(|c| *c == 0).unwrap_or(b.len())])
        }
        _ => Some(b),
    }
}

/// The stored value.
pub fn decode(attr: &Attr, b: &[u8]) -> Result<Datum> {
    Ok(match attr.phys {
        PhysType::Bool => Datum::Bool(stored_int(attr, b) != 0),
        PhysType::Char => Datum::Char(stored_int(attr, b) as u8),
        PhysType::I16 => Datum::I16(stored_int(attr, b) as i16),
        PhysType::I32 => Datum::I32(stored_int(attr, b) as i32),
        PhysType::I64 => Datum::I64(stored_int(attr, b)),
        PhysType::U32 => Datum::U32(stored_int(attr, b) as u32),
        PhysType::F32 => Datum::F32(stored_float(attr, b) as f32),
        PhysType::F64 => Datum::F64(stored_float(attr, b)),
        PhysType::Bytes => Datum::Bytes(match plain_bytes(attr, b) {
            Some(bytes) => Blob::new(bytes),
            None => detoast(b, &NoDetoast)?,
        }),
    })
}

/// The bytes of the value of `attr` that may start at `*at`, which moves past it. Total: what lies
/// outside of `data` is missing from the slice.
#[inline]
pub fn next_stored<'a>(data: &'a [u8], at: &mut usize, attr: &Attr) -> &'a [u8] {
    let mask = (attr.align as usize).max(1) - 1;
    let aligned = (*at + mask) & !mask;
    let (start, len) = match attr.len {
        -1 => {
            let first = data.get(*at).copied().unwrap_or(0);
            if first & 1 == 1 {
                (*at, if first == 1 { 18 } else { (first >> 1) as usize })
            } else {
                let word = match data.get(aligned..aligned + 4) {
                    Some(w) => u32::from_le_bytes([w[0], w[1], w[2], w[3]]),
                    None => 0,
                };
                // A short header may also sit on the aligned byte after zero padding.
                if word & 1 == 1 && word as u8 != 1 {
                    (aligned, (word as u8 >> 1) as usize)
                } else {
                    (aligned, (word >> 2) as usize)
                }
            }
        }
        -2 => {
            let rest = data.get(*at..).unwrap_or(&[]);
            (*at, rest.iter().position(|c| *c == 0).map_or(rest.len(), |n| n + 1))
        }
        n => (aligned, n.max(0) as usize),
    };
    let start = start.min(data.len());
    let end = (start + len).min(data.len());
    *at = end.max(start);
    &data[start..end]
}
