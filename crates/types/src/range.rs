//! Ranges and multiranges.
//!
//! ```text
//! range       u32 type | u8 flags | lower: u32 length, bytes | upper: u32 length, bytes
//!             (a bound is there unless the range is empty or the bound infinite)
//! multirange  u32 type | u32 count | each range: u32 length, bytes as above
//! ```

use crate::datum::{Datum, PhysType};
use crate::record::{get_raw, put_raw};
use base::{Oid, Result, err};

/// Flag: no value is in the range.
pub const EMPTY: u8 = 1;
/// Flag: the lower bound is in the range.
pub const LB_INC: u8 = 2;
/// Flag: the upper bound is in the range.
pub const UB_INC: u8 = 4;
/// Flag: there is no lower bound.
pub const LB_INF: u8 = 8;
/// Flag: there is no upper bound.
pub const UB_INF: u8 = 16;

/// A range.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// Its type.
    pub type_oid: Oid,
    /// What is empty, infinite, inclusive.
    pub flags: u8,
    /// The lower bound, NULL if infinite.
    pub lower: Datum,
    /// The upper bound, NULL if infinite.
    pub upper: Datum,
}

#[cold]
fn corrupt() -> base::Error {
    err!(DATA_CORRUPTED, "invalid range value")
}

fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(n).ok_or_else(corrupt)?;
    *bytes = rest;
    Ok(head)
}

fn word(bytes: &mut &[u8]) -> Result<u32> {
    let b = take(bytes, 4)?;
    Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

impl Range {
    /// The empty range.
    pub fn empty(type_oid: Oid) -> Range {
        Range { type_oid, flags: EMPTY, lower: Datum::Null, upper: Datum::Null }
    }

    /// Whether no value is in the range.
    pub fn is_empty(&self) -> bool {
        self.flags & EMPTY != 0
    }

    /// Whether there is no lower bound.
    pub fn lower_infinite(&self) -> bool {
        self.flags & LB_INF != 0
    }

    /// Whether there is no upper bound.
    pub fn upper_infinite(&self) -> bool {
        self.flags & UB_INF != 0
    }

    /// Whether the lower bound is in the range.
    pub fn lower_inclusive(&self) -> bool {
        self.flags & LB_INC != 0
    }

    /// Whether the upper bound is in the range.
    pub fn upper_inclusive(&self) -> bool {
        self.flags & UB_INC != 0
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.type_oid.0.to_le_bytes().to_vec();
        out.push(self.flags);
        for bound in [&self.lower, &self.upper] {
            if !bound.is_null() {
                let at = out.len();
                out.extend_from_slice(&[0; 4]);
                put_raw(bound, &mut out);
                let len = (out.len() - at - 4) as u32;
                out[at..at + 4].copy_from_slice(&len.to_le_bytes());
            }
        }
        out
    }

    /// Reads the stored form; bounds are held as `phys`.
    pub fn decode(mut bytes: &[u8], phys: PhysType) -> Result<Range> {
        let bytes = &mut bytes;
        let type_oid = Oid(word(bytes)?);
        let flags = take(bytes, 1)?[0];
        let mut bound = |there: bool| -> Result<Datum> {
            if !there {
                return Ok(Datum::Null);
            }
            let len = word(bytes)? as usize;
            get_raw(phys, take(bytes, len)?)
        };
        let lower = bound(flags & (EMPTY | LB_INF) == 0)?;
        let upper = bound(flags & (EMPTY | UB_INF) == 0)?;
        Ok(Range { type_oid, flags, lower, upper })
    }
}

/// The stored form of a multirange.
pub fn encode_multirange(type_oid: Oid, ranges: &[Range]) -> Vec<u8> {
    let mut out = type_oid.0.to_le_bytes().to_vec();
    out.extend_from_slice(&(ranges.len() as u32).to_le_bytes());
    for range in ranges {
        let bytes = range.encode();
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(&bytes);
    }
    out
}

/// The ranges of a multirange.
pub fn decode_multirange(mut bytes: &[u8], phys: PhysType) -> Result<Vec<Range>> {
    let bytes = &mut bytes;
    word(bytes)?;
    let n = word(bytes)? as usize;
    let mut out = Vec::with_capacity(n.min(1024));
    for _ in 0..n {
        let len = word(bytes)? as usize;
        out.push(Range::decode(take(bytes, len)?, phys)?);
    }
    Ok(out)
}

/// Type of a stored range or multirange.
pub fn stored_type(mut bytes: &[u8]) -> Oid {
    word(&mut bytes).map(Oid).unwrap_or_default()
}
