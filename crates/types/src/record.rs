//! Rows as values.
//!
//! ```text
//! u32 type (2249 for an anonymous record) | i32 typmod | u32 number of columns
//! each column: u32 type | u8 physical type | i32 length (-1 for NULL) | bytes
//! ```

use crate::blob::Blob;
use crate::datum::{Datum, PhysType};
use crate::tuple::{Attr, TupleDesc};
use base::{Oid, Result, err};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

/// A column of a row value.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordColumn {
    /// Its type.
    pub type_oid: Oid,
    /// Its value.
    pub value: Datum,
}

/// A row value.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its type: a composite one, or `record`.
    pub type_oid: Oid,
    /// Which registered anonymous row type, or -1.
    pub typmod: i32,
    /// Its columns, those dropped from a composite type too.
    pub columns: Vec<RecordColumn>,
}

/// Appends the bytes of a value that is not NULL, without alignment.
pub fn put_raw(value: &Datum, out: &mut Vec<u8>) {
    match value {
        Datum::Null => {}
        Datum::Bool(x) => out.push(*x as u8),
        Datum::Char(x) => out.push(*x),
        Datum::I16(x) => out.extend_from_slice(&x.to_le_bytes()),
        Datum::I32(x) => out.extend_from_slice(&x.to_le_bytes()),
        Datum::I64(x) => out.extend_from_slice(&x.to_le_bytes()),
        Datum::U32(x) => out.extend_from_slice(&x.to_le_bytes()),
        Datum::F32(x) => out.extend_from_slice(&x.to_le_bytes()),
        Datum::F64(x) => out.extend_from_slice(&x.to_le_bytes()),
        Datum::Bytes(x) => out.extend_from_slice(x),
    }
}

#[cold]
fn corrupt() -> base::Error {
    err!(DATA_CORRUPTED, "invalid row value")
}

/// The value that [`put_raw`] made these bytes of.
pub fn get_raw(phys: PhysType, bytes: &[u8]) -> Result<Datum> {
    fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
        bytes.try_into().map_err(|_| corrupt())
    }
    Ok(match phys {
        PhysType::Bool => Datum::Bool(fixed::<1>(bytes)?[0] != 0),
        PhysType::Char => Datum::Char(fixed::<1>(bytes)?[0]),
        PhysType::I16 => Datum::I16(i16::from_le_bytes(fixed(bytes)?)),
        PhysType::I32 => Datum::I32(i32::from_le_bytes(fixed(bytes)?)),
        PhysType::I64 => Datum::I64(i64::from_le_bytes(fixed(bytes)?)),
        PhysType::U32 => Datum::U32(u32::from_le_bytes(fixed(bytes)?)),
        PhysType::F32 => Datum::F32(f32::from_le_bytes(fixed(bytes)?)),
        PhysType::F64 => Datum::F64(f64::from_le_bytes(fixed(bytes)?)),
        PhysType::Bytes => Datum::Bytes(Blob::new(bytes)),
    })
}

const PHYS: [PhysType; 9] = [
    PhysType::Bool,
    PhysType::Char,
    PhysType::I16,
    PhysType::I32,
    PhysType::I64,
    PhysType::U32,
    PhysType::F32,
    PhysType::F64,
    PhysType::Bytes,
];

/// Row types that have no name: their columns' names and types, by modifier.
#[derive(Default)]
struct Registered {
    by_shape: HashMap<Vec<(String, Oid)>, i32>,
    descs: Vec<Arc<TupleDesc>>,
}

/// More row types than any program has; what comes after them stays anonymous.
const REGISTERED_MAX: usize = 100_000;

fn registered_types() -> &'static RwLock<Registered> {
    static TYPES: OnceLock<RwLock<Registered>> = OnceLock::new();
    TYPES.get_or_init(RwLock::default)
}

/// The modifier of the anonymous row type of these columns, -1 if there are too many such types.
pub fn register(columns: &[(String, Oid)]) -> i32 {
    let types = registered_types();
    if let Ok(types) = types.read()
        && let Some(typmod) = types.by_shape.get(columns)
    {
        return *typmod;
    }
    let Ok(mut types) = types.write() else { return -1 };
    if let Some(typmod) = types.by_shape.get(columns) {
        return *typmod;
    }
    if types.descs.len() >= REGISTERED_MAX {
        return -1;
    }
    let typmod = types.descs.len() as i32;
    let attr = |c: &(String, Oid)| Attr::new(&c.0, c.1, -1, false, 4);
    types.descs.push(Arc::new(TupleDesc::new(columns.iter().map(attr).collect())));
    types.by_shape.insert(columns.to_vec(), typmod);
    typmod
}

/// The columns of a registered row type. Only their names and types mean something.
pub fn registered(typmod: i32) -> Option<Arc<TupleDesc>> {
    let index = usize::try_from(typmod).ok()?;
    registered_types().read().ok()?.descs.get(index).cloned()
}

impl Record {
    /// An anonymous row of these columns.
    pub fn anonymous(columns: Vec<RecordColumn>) -> Record {
        Record { type_oid: crate::oid::RECORD, typmod: -1, columns }
    }

    /// The stored form.
    pub fn encode(&self) -> Datum {
        let mut out = Vec::with_capacity(12 + self.columns.len() * 16);
        out.extend_from_slice(&self.type_oid.0.to_le_bytes());
        out.extend_from_slice(&self.typmod.to_le_bytes());
        out.extend_from_slice(&(self.columns.len() as u32).to_le_bytes());
        for column in &self.columns {
            out.extend_from_slice(&column.type_oid.0.to_le_bytes());
            let phys = column.value.phys_type().unwrap_or(PhysType::Bytes);
            out.push(phys as u8);
            let at = out.len();
            out.extend_from_slice(&(-1i32).to_le_bytes());
            if !column.value.is_null() {
                put_raw(&column.value, &mut out);
                let len = (out.len() - at - 4) as i32;
                out[at..at + 4].copy_from_slice(&len.to_le_bytes());
            }
        }
        Datum::bytes(out)
    }

    /// Reads the stored form.
    pub fn decode(bytes: &[u8]) -> Result<Record> {
        let mut at = 0;
        let mut word = |n: usize| -> Result<&[u8]> {
            let out = bytes.get(at..at + n).ok_or_else(corrupt)?;
            at += n;
            Ok(out)
        };
        let mut u32_at = || -> Result<u32> {
            let b = word(4)?;
            Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        };
        let type_oid = Oid(u32_at()?);
        let typmod = u32_at()? as i32;
        let n = u32_at()? as usize;
        let mut columns = Vec::with_capacity(n.min(1664));
        for _ in 0..n {
            let head = bytes.get(at..at + 9).ok_or_else(corrupt)?;
            at += 9;
            let type_oid = Oid(u32::from_le_bytes([head[0], head[1], head[2], head[3]]));
            let phys = *PHYS.get(head[4] as usize).ok_or_else(corrupt)?;
            let len = i32::from_le_bytes([head[5], head[6], head[7], head[8]]);
            let value = if len < 0 {
                Datum::Null
            } else {
                let end = at + len as usize;
                let value = get_raw(phys, bytes.get(at..end).ok_or_else(corrupt)?)?;
                at = end;
                value
            };
            columns.push(RecordColumn { type_oid, value });
        }
        Ok(Record { type_oid, typmod, columns })
    }
}
