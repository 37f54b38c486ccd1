//! A column of values of one physical type, with a bitmap of nulls.

use super::bitmap::Bitmap;
use super::builder::ColumnBuilder;
use super::bytes::BytesColumn;
use crate::datum::{Datum, PhysType};

/// Values of one physical type. Where the column is NULL the value is arbitrary but valid.
#[derive(Clone, Debug)]
pub enum ColumnData {
    /// boolean
    Bool(Vec<bool>),
    /// "char"
    Char(Vec<u8>),
    /// smallint
    I16(Vec<i16>),
    /// integer, date
    I32(Vec<i32>),
    /// bigint, times, ...
    I64(Vec<i64>),
    /// oid and the like
    U32(Vec<u32>),
    /// real
    F32(Vec<f32>),
    /// double precision
    F64(Vec<f64>),
    /// everything else
    Bytes(BytesColumn),
}

/// Runs `$body` with `$v` bound to the values, whatever their type; a `BytesColumn` too.
macro_rules! each {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            ColumnData::Bool($v) => $body,
            ColumnData::Char($v) => $body,
            ColumnData::I16($v) => $body,
            ColumnData::I32($v) => $body,
            ColumnData::I64($v) => $body,
            ColumnData::U32($v) => $body,
            ColumnData::F32($v) => $body,
            ColumnData::F64($v) => $body,
            ColumnData::Bytes($v) => $body,
        }
    };
}

impl ColumnData {
    /// No values of this type, with room for `capacity`.
    pub fn with_capacity(phys: PhysType, capacity: usize) -> ColumnData {
        match phys {
            PhysType::Bool => ColumnData::Bool(Vec::with_capacity(capacity)),
            PhysType::Char => ColumnData::Char(Vec::with_capacity(capacity)),
            PhysType::I16 => ColumnData::I16(Vec::with_capacity(capacity)),
            PhysType::I32 => ColumnData::I32(Vec::with_capacity(capacity)),
            PhysType::I64 => ColumnData::I64(Vec::with_capacity(capacity)),
            PhysType::U32 => ColumnData::U32(Vec::with_capacity(capacity)),
            PhysType::F32 => ColumnData::F32(Vec::with_capacity(capacity)),
            PhysType::F64 => ColumnData::F64(Vec::with_capacity(capacity)),
            PhysType::Bytes => ColumnData::Bytes(BytesColumn::with_capacity(capacity)),
        }
    }

    /// How the values are held.
    pub fn phys_type(&self) -> PhysType {
        match self {
            ColumnData::Bool(_) => PhysType::Bool,
            ColumnData::Char(_) => PhysType::Char,
            ColumnData::I16(_) => PhysType::I16,
            ColumnData::I32(_) => PhysType::I32,
            ColumnData::I64(_) => PhysType::I64,
            ColumnData::U32(_) => PhysType::U32,
            ColumnData::F32(_) => PhysType::F32,
            ColumnData::F64(_) => PhysType::F64,
            ColumnData::Bytes(_) => PhysType::Bytes,
        }
    }

    /// How many values.
    #[inline]
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value `i`, taken as not null.
    #[inline]
    pub fn get(&self, i: usize) -> Datum {
        match self {
            ColumnData::Bool(v) => Datum::Bool(v[i]),
            ColumnData::Char(v) => Datum::Char(v[i]),
            ColumnData::I16(v) => Datum::I16(v[i]),
            ColumnData::I32(v) => Datum::I32(v[i]),
            ColumnData::I64(v) => Datum::I64(v[i]),
            ColumnData::U32(v) => Datum::U32(v[i]),
            ColumnData::F32(v) => Datum::F32(v[i]),
            ColumnData::F64(v) => Datum::F64(v[i]),
            ColumnData::Bytes(v) => Datum::Bytes(v.blob(i)),
        }
    }

    /// Grows with zero values, or shrinks, to `len` values.
    pub fn resize(&mut self, len: usize) {
        match self {
            ColumnData::Bool(v) => v.resize(len, false),
            ColumnData::Char(v) => v.resize(len, 0),
            ColumnData::I16(v) => v.resize(len, 0),
            ColumnData::I32(v) => v.resize(len, 0),
            ColumnData::I64(v) => v.resize(len, 0),
            ColumnData::U32(v) => v.resize(len, 0),
            ColumnData::F32(v) => v.resize(len, 0.0),
            ColumnData::F64(v) => v.resize(len, 0.0),
            ColumnData::Bytes(v) => v.resize(len),
        }
    }

    /// Drops all values, keeping the room.
    pub fn clear(&mut self) {
        each!(self, v => v.clear())
    }

    /// The values at `positions`.
    pub fn gather(&self, positions: &[u16]) -> ColumnData {
        fn pick<T: Copy>(v: &[T], positions: &[u16]) -> Vec<T> {
            positions.iter().map(|&p| v[p as usize]).collect()
        }
        match self {
            ColumnData::Bool(v) => ColumnData::Bool(pick(v, positions)),
            ColumnData::Char(v) => ColumnData::Char(pick(v, positions)),
            ColumnData::I16(v) => ColumnData::I16(pick(v, positions)),
            ColumnData::I32(v) => ColumnData::I32(pick(v, positions)),
            ColumnData::I64(v) => ColumnData::I64(pick(v, positions)),
            ColumnData::U32(v) => ColumnData::U32(pick(v, positions)),
            ColumnData::F32(v) => ColumnData::F32(pick(v, positions)),
            ColumnData::F64(v) => ColumnData::F64(pick(v, positions)),
            ColumnData::Bytes(v) => ColumnData::Bytes(v.gather(positions)),
        }
    }
}

/// A column: values and which of them are NULL.
#[derive(Clone, Debug)]
pub struct Column {
    /// The values.
    pub data: ColumnData,
    /// A set bit means NULL; None means none is.
    pub nulls: Option<Bitmap>,
}

impl Column {
    /// A column without nulls.
    pub fn new(data: ColumnData) -> Column {
        Column { data, nulls: None }
    }

    /// `len` times the same value; `phys` says how to hold it if it is NULL.
    pub fn repeat(value: &Datum, phys: PhysType, len: usize) -> Column {
        if let (Datum::Bytes(bytes), PhysType::Bytes) = (value, phys) {
            let mut column = BytesColumn::with_capacity(len);
            column.push_repeated(bytes, len);
            column.seal();
            return Column::new(ColumnData::Bytes(column));
        }
        let mut builder = ColumnBuilder::with_capacity(phys, len);
        for _ in 0..len {
            builder.push_ref(value);
        }
        builder.finish()
    }

    /// How many values.
    #[inline]
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// How the values are held.
    pub fn phys_type(&self) -> PhysType {
        self.data.phys_type()
    }

    /// Whether value `i` is NULL.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.nulls.as_ref().is_some_and(|n| n.get(i))
    }

    /// Value `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Datum {
        if self.is_null(i) { Datum::Null } else { self.data.get(i) }
    }

    /// The values at `positions`.
    pub fn gather(&self, positions: &[u16]) -> Column {
        let nulls = self.nulls.as_ref().map(|n| {
            let mut out = Bitmap::zeros(positions.len());
            for (i, &p) in positions.iter().enumerate() {
                if n.get(p as usize) {
                    out.set(i);
                }
            }
            out
        });
        Column { data: self.data.gather(positions), nulls }
    }

    /// Bytes held, for memory accounts.
    pub fn heap_size(&self) -> usize {
        let width = match &self.data {
            ColumnData::Bytes(v) => return v.heap_size(),
            ColumnData::Bool(_) | ColumnData::Char(_) => 1,
            ColumnData::I16(_) => 2,
            ColumnData::I32(_) | ColumnData::U32(_) | ColumnData::F32(_) => 4,
            ColumnData::I64(_) | ColumnData::F64(_) => 8,
        };
        width * self.len()
    }
}
