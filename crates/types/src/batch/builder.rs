//! Makes a column value by value, or by position.

use super::bitmap::Bitmap;
use super::bytes::BytesColumn;
use super::column::{Column, ColumnData};
use crate::datum::{Datum, PhysType};

/// Makes a [`Column`]. Either values are pushed, or the column is sized first with
/// [`ColumnBuilder::resize`] and then set by position (see [`ColumnBuilder::data_mut`]).
#[derive(Clone, Debug)]
pub struct ColumnBuilder {
    data: ColumnData,
    nulls: Option<Bitmap>,
}

macro_rules! typed {
    ($push:ident, $set:ident, $variant:ident, $t:ty) => {
        /// Appends a value of this type. A builder of another type panics: a caller's bug.
        #[inline]
        pub fn $push(&mut self, value: $t) {
            match &mut self.data {
                ColumnData::$variant(v) => v.push(value),
                _ => wrong_type(),
            }
            if let Some(nulls) = &mut self.nulls {
                nulls.push(false);
            }
        }

        /// Sets value `i` of a sized builder of this type.
        #[inline]
        pub fn $set(&mut self, i: usize, value: $t) {
            match &mut self.data {
                ColumnData::$variant(v) => v[i] = value,
                _ => wrong_type(),
            }
        }
    };
}

#[cold]
fn wrong_type() -> ! {
    panic!("value pushed to a column of another physical type")
}

impl ColumnBuilder {
    /// A builder for values held as `phys`.
    pub fn new(phys: PhysType) -> ColumnBuilder {
        ColumnBuilder { data: ColumnData::with_capacity(phys, 0), nulls: None }
    }

    /// A builder with room for `capacity` values.
    pub fn with_capacity(phys: PhysType, capacity: usize) -> ColumnBuilder {
        ColumnBuilder { data: ColumnData::with_capacity(phys, capacity), nulls: None }
    }

    /// How many values so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// True if there are no values so far.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// How the values are held.
    pub fn phys_type(&self) -> PhysType {
        self.data.phys_type()
    }

    typed!(push_bool, set_bool, Bool, bool);
    typed!(push_char, set_char, Char, u8);
    typed!(push_i16, set_i16, I16, i16);
    typed!(push_i32, set_i32, I32, i32);
    typed!(push_i64, set_i64, I64, i64);
    typed!(push_u32, set_u32, U32, u32);
    typed!(push_f32, set_f32, F32, f32);
    typed!(push_f64, set_f64, F64, f64);

    /// Appends a byte string.
    #[inline]
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        match &mut self.data {
            ColumnData::Bytes(v) => v.push(bytes),
            _ => wrong_type(),
        }
        if let Some(nulls) = &mut self.nulls {
            nulls.push(false);
        }
    }

    /// Appends a NULL.
    #[inline]
    pub fn push_null(&mut self) {
        let len = self.data.len();
        self.data.resize(len + 1);
        self.nulls.get_or_insert_with(|| Bitmap::zeros(len)).push(true);
    }

    /// Appends a value; it must be NULL or of this builder's type.
    #[inline]
    pub fn push(&mut self, value: Datum) {
        self.push_ref(&value);
    }

    /// Appends a copy of a value; it must be NULL or of this builder's type.
    #[inline]
    pub fn push_ref(&mut self, value: &Datum) {
        match value {
            Datum::Null => self.push_null(),
            Datum::Bool(x) => self.push_bool(*x),
            Datum::Char(x) => self.push_char(*x),
            Datum::I16(x) => self.push_i16(*x),
            Datum::I32(x) => self.push_i32(*x),
            Datum::I64(x) => self.push_i64(*x),
            Datum::U32(x) => self.push_u32(*x),
            Datum::F32(x) => self.push_f32(*x),
            Datum::F64(x) => self.push_f64(*x),
            Datum::Bytes(x) => self.push_bytes(x),
        }
    }

    /// Appends value `i` of `column`, which has the same physical type.
    #[inline]
    pub fn push_from(&mut self, column: &Column, i: usize) {
        if column.is_null(i) {
            return self.push_null();
        }
        match (&mut self.data, &column.data) {
            (ColumnData::Bool(v), ColumnData::Bool(c)) => v.push(c[i]),
            (ColumnData::Char(v), ColumnData::Char(c)) => v.push(c[i]),
            (ColumnData::I16(v), ColumnData::I16(c)) => v.push(c[i]),
            (ColumnData::I32(v), ColumnData::I32(c)) => v.push(c[i]),
            (ColumnData::I64(v), ColumnData::I64(c)) => v.push(c[i]),
            (ColumnData::U32(v), ColumnData::U32(c)) => v.push(c[i]),
            (ColumnData::F32(v), ColumnData::F32(c)) => v.push(c[i]),
            (ColumnData::F64(v), ColumnData::F64(c)) => v.push(c[i]),
            (ColumnData::Bytes(v), ColumnData::Bytes(c)) => v.push(c.get(i)),
            _ => wrong_type(),
        }
        if let Some(nulls) = &mut self.nulls {
            nulls.push(false);
        }
    }

    /// Grows with zero values, or shrinks, to `len` values.
    pub fn resize(&mut self, len: usize) {
        self.data.resize(len);
        if let Some(nulls) = &mut self.nulls {
            nulls.resize(len);
        }
    }

    /// Makes value `i` of a sized builder NULL.
    #[inline]
    pub fn set_null(&mut self, i: usize) {
        let len = self.data.len();
        self.nulls.get_or_insert_with(|| Bitmap::zeros(len)).set(i);
    }

    /// Sets byte string `i` of a sized builder.
    #[inline]
    pub fn set_bytes(&mut self, i: usize, bytes: &[u8]) {
        match &mut self.data {
            ColumnData::Bytes(v) => v.set(i, bytes),
            _ => wrong_type(),
        }
    }

    /// Sets value `i` of a sized builder; it must be NULL or of this builder's type.
    #[inline]
    pub fn set(&mut self, i: usize, value: &Datum) {
        match value {
            Datum::Null => self.set_null(i),
            Datum::Bool(x) => self.set_bool(i, *x),
            Datum::Char(x) => self.set_char(i, *x),
            Datum::I16(x) => self.set_i16(i, *x),
            Datum::I32(x) => self.set_i32(i, *x),
            Datum::I64(x) => self.set_i64(i, *x),
            Datum::U32(x) => self.set_u32(i, *x),
            Datum::F32(x) => self.set_f32(i, *x),
            Datum::F64(x) => self.set_f64(i, *x),
            Datum::Bytes(x) => self.set_bytes(i, x),
        }
    }

    /// The values, for kernels that write whole slices.
    pub fn data_mut(&mut self) -> &mut ColumnData {
        &mut self.data
    }

    /// Replaces the bitmap of nulls; its length must be the column's.
    pub fn set_nulls(&mut self, nulls: Option<Bitmap>) {
        debug_assert!(nulls.as_ref().is_none_or(|n| n.len() == self.data.len()));
        self.nulls = nulls;
    }

    /// The bytes column, if this builds one.
    pub fn bytes_mut(&mut self) -> Option<&mut BytesColumn> {
        match &mut self.data {
            ColumnData::Bytes(v) => Some(v),
            _ => None,
        }
    }

    /// The column made so far, leaving the builder empty.
    pub fn take(&mut self) -> Column {
        let phys = self.phys_type();
        std::mem::replace(self, ColumnBuilder::new(phys)).finish()
    }

    /// Drops all values, keeping the room.
    pub fn clear(&mut self) {
        self.data.clear();
        self.nulls = None;
    }

    /// The column.
    pub fn finish(mut self) -> Column {
        if let ColumnData::Bytes(v) = &mut self.data {
            v.seal();
        }
        Column { data: self.data, nulls: self.nulls }
    }
}
