//! Arrays.
//!
//! ```text
//! i32 ndim | i32 flags (1: null bitmap) | u32 element type | i32 dims[ndim] | i32 lbounds[ndim]
//! null bitmap: bit set = not null, if flags say so | padding to a multiple of 8
//! elements in row-major order, as in a row but without short headers; alignment counts from the
//! start of the elements
//! ```
//!
//! `oidvector` and `int2vector` are arrays of one dimension with lower bound 0.

use crate::datum::{Datum, PhysType};
use crate::io::TypeInfo;
use crate::oid;
use crate::tuple::{Attr, NoDetoast, decode_attr, locate_attr, put_attr};
use base::{Oid, Result, bail, err};

/// Most dimensions.
pub const MAX_DIMENSIONS: usize = 6;
/// Most elements.
pub const MAX_ELEMENTS: usize = 134_217_727;

/// What is needed of an element type to read and make arrays of it.
#[derive(Clone, Debug)]
pub struct ElemType {
    attr: Attr,
}

impl ElemType {
    /// From the type's facts.
    pub fn new(info: &TypeInfo) -> ElemType {
        let mut attr = Attr::new("", info.oid, info.len, info.byval, info.align);
        attr.phys = info.phys;
        attr.storage = b'p';
        ElemType { attr }
    }

    /// Of a built-in type that catalogs have arrays of.
    pub fn builtin(type_oid: Oid) -> ElemType {
        let (len, byval, align) = match type_oid {
            oid::BOOL | oid::CHAR => (1, true, 1),
            oid::INT2 => (2, true, 2),
            oid::INT4 | oid::OID | oid::DATE | oid::FLOAT4 | oid::XID | oid::CID => (4, true, 4),
            oid::REGPROC | oid::REGCLASS | oid::REGTYPE | oid::REGROLE | oid::REGNAMESPACE => {
                (4, true, 4)
            }
            oid::INT8
            | oid::FLOAT8
            | oid::TIMESTAMP
            | oid::TIMESTAMPTZ
            | oid::TIME
            | oid::PG_LSN
            | oid::MONEY
            | oid::XID8 => (8, true, 8),
            oid::NAME => (64, false, 1),
            oid::ACLITEM | oid::INTERVAL | oid::POINT => (16, false, 8),
            oid::UUID => (16, false, 1),
            oid::TID => (6, false, 2),
            oid::CSTRING => (-2, false, 1),
            _ => (-1, false, 4),
        };
        let mut attr = Attr::new("", type_oid, len, byval, align);
        attr.storage = b'p';
        ElemType { attr }
    }

    /// The type.
    pub fn oid(&self) -> Oid {
        self.attr.type_oid
    }

    /// How elements are held.
    pub fn phys(&self) -> PhysType {
        self.attr.phys
    }
}

/// An array's parts.
#[derive(Clone, Debug)]
pub struct ArrayRef<'a> {
    /// Type of the elements.
    pub elem_type: Oid,
    /// Elements in each dimension; none if the array is empty.
    pub dims: Vec<i32>,
    /// First subscript in each dimension.
    pub lbounds: Vec<i32>,
    nulls: Option<&'a [u8]>,
    data: &'a [u8],
}

#[cold]
fn corrupt() -> base::Error {
    err!(DATA_CORRUPTED, "invalid array")
}

/// Elements of an array of these dimensions.
pub fn count_elements(dims: &[i32]) -> Result<usize> {
    if dims.is_empty() {
        return Ok(0);
    }
    let mut n: i64 = 1;
    for d in dims {
        n = n.checked_mul(*d as i64).filter(|n| (0..=MAX_ELEMENTS as i64).contains(n)).ok_or_else(
            || {
                err!(
                    PROGRAM_LIMIT_EXCEEDED,
                    "array size exceeds the maximum allowed ({MAX_ELEMENTS})"
                )
            },
        )?;
    }
    Ok(n as usize)
}

impl<'a> ArrayRef<'a> {
    /// Reads the parts of a stored array.
    pub fn parse(bytes: &'a [u8]) -> Result<ArrayRef<'a>> {
        let word = |at: usize| -> Result<i32> {
            let b = bytes.get(at..at + 4).ok_or_else(corrupt)?;
            Ok(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        };
        let (ndim, flags, elem_type) = (word(0)?, word(4)?, Oid(word(8)? as u32));
        if !(0..=MAX_DIMENSIONS as i32).contains(&ndim) {
            return Err(corrupt());
        }
        let ndim = ndim as usize;
        let dims = (0..ndim).map(|i| word(12 + 4 * i)).collect::<Result<Vec<_>>>()?;
        let lbounds = (0..ndim).map(|i| word(12 + 4 * (ndim + i))).collect::<Result<Vec<_>>>()?;
        let n = count_elements(&dims)?;
        let mut at = 12 + 8 * ndim;
        let nulls = if flags & 1 != 0 {
            let map = bytes.get(at..at + n.div_ceil(8)).ok_or_else(corrupt)?;
            at += map.len();
            Some(map)
        } else {
            None
        };
        let data = bytes.get(at.div_ceil(8) * 8..).unwrap_or(&[]);
        Ok(ArrayRef { elem_type, dims, lbounds, nulls, data })
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        count_elements(&self.dims).unwrap_or(0)
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether some element is NULL.
    pub fn has_nulls(&self) -> bool {
        self.nulls.is_some() && (0..self.len()).any(|i| self.is_null(i))
    }

    fn is_null(&self, i: usize) -> bool {
        self.nulls.is_some_and(|n| n[i / 8] >> (i % 8) & 1 == 0)
    }

    /// The elements in order.
    pub fn iter<'b>(&'b self, elem: &'b ElemType) -> impl Iterator<Item = Result<Datum>> + 'b {
        let mut at = 0;
        (0..self.len()).map(move |i| {
            if self.is_null(i) {
                return Ok(Datum::Null);
            }
            let range = locate_attr(self.data, at, &elem.attr)?;
            at = range.end;
            decode_attr(&self.data[range], &elem.attr, &NoDetoast)
        })
    }

    /// The elements in order, all at once.
    pub fn values(&self, elem: &ElemType) -> Result<Vec<Datum>> {
        base::interrupt::room(self.len() * size_of::<Datum>())?;
        let step = |value| base::interrupt::step().and(value);
        self.iter(elem).map(step).collect()
    }
}

/// Most bytes of a value, which an array may not exceed.
pub(crate) const SIZE_MAX: usize = 0x3fff_ffff;

/// One element of a stored array, without taking the others apart: NULL where there is none.
pub fn element_at(bytes: &[u8], elem: &ElemType, at: &[i32]) -> Result<Datum> {
    let word = |at: usize| -> Result<i32> {
        let b = bytes.get(at..at + 4).ok_or_else(corrupt)?;
        Ok(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    };
    let (ndim, flags) = (word(0)? as usize, word(4)?);
    if ndim != at.len() {
        return Ok(Datum::Null);
    }
    let (mut index, mut n) = (0usize, 1usize);
    for (i, subscript) in at.iter().enumerate() {
        let (dim, lower) = (word(12 + 4 * i)?, word(12 + 4 * (ndim + i))?);
        let place = i64::from(*subscript) - i64::from(lower);
        if !(0..i64::from(dim)).contains(&place) {
            return Ok(Datum::Null);
        }
        index = index * dim as usize + place as usize;
        n = n.checked_mul(dim as usize).ok_or_else(corrupt)?;
    }
    let mut start = 12 + 8 * ndim;
    let nulls = match flags & 1 {
        0 => None,
        _ => {
            let map = bytes.get(start..start + n.div_ceil(8)).ok_or_else(corrupt)?;
            start += map.len();
            Some(map)
        }
    };
    let is_null = |i: usize| nulls.is_some_and(|map| map[i / 8] >> (i % 8) & 1 == 0);
    if is_null(index) {
        return Ok(Datum::Null);
    }
    let data = bytes.get(start.div_ceil(8) * 8..).unwrap_or(&[]);
    let mut from = 0;
    if let (Ok(len), None) = (usize::try_from(elem.attr.len), nulls) {
        // Elements of one size stand at known places.
        let align = usize::from(elem.attr.align).max(1);
        from = len.next_multiple_of(align) * index;
    } else {
        for i in (0..index).filter(|i| !is_null(*i)) {
            let _ = i;
            from = locate_attr(data, from, &elem.attr)?.end;
        }
    }
    let range = locate_attr(data, from, &elem.attr)?;
    decode_attr(data.get(range).ok_or_else(corrupt)?, &elem.attr, &NoDetoast)
}

/// Makes the stored form of an array.
pub fn make_array(
    elem: &ElemType,
    values: &[Datum],
    dims: &[i32],
    lbounds: &[i32],
) -> Result<Vec<u8>> {
    if dims.len() > MAX_DIMENSIONS {
        bail!(
            PROGRAM_LIMIT_EXCEEDED,
            "number of array dimensions ({}) exceeds the maximum allowed ({MAX_DIMENSIONS})",
            dims.len()
        );
    }
    debug_assert_eq!(count_elements(dims)?, values.len());
    array_of(elem, values.iter(), dims, lbounds)
}

/// Makes the stored form of an array of the same value everywhere.
pub fn fill_array(
    elem: &ElemType,
    value: &Datum,
    dims: &[i32],
    lbounds: &[i32],
) -> Result<Vec<u8>> {
    array_of(elem, std::iter::repeat_n(value, count_elements(dims)?), dims, lbounds)
}

fn array_of<'a>(
    elem: &ElemType,
    values: impl ExactSizeIterator<Item = &'a Datum> + Clone,
    dims: &[i32],
    lbounds: &[i32],
) -> Result<Vec<u8>> {
    let size = values.len() * usize::try_from(elem.attr.len).unwrap_or(8).max(1);
    base::interrupt::room(size)?;
    let has_nulls = values.clone().any(Datum::is_null);
    let mut out = Vec::with_capacity(32 + size);
    for word in [dims.len() as i32, has_nulls as i32, elem.oid().0 as i32] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    for word in dims.iter().chain(lbounds) {
        out.extend_from_slice(&word.to_le_bytes());
    }
    if has_nulls {
        let mut map = vec![0u8; values.len().div_ceil(8)];
        for (i, _) in values.clone().enumerate().filter(|(_, v)| !v.is_null()) {
            map[i / 8] |= 1 << (i % 8);
        }
        out.extend_from_slice(&map);
    }
    out.resize(out.len().div_ceil(8) * 8, 0);
    // Elements are aligned as the whole is: they begin at a multiple of the largest alignment.
    for value in values.filter(|v| !v.is_null()) {
        base::interrupt::step()?;
        let before = out.len();
        put_attr(&mut out, &elem.attr, value)?;
        if out.len() > SIZE_MAX {
            bail!(PROGRAM_LIMIT_EXCEEDED, "array size exceeds the maximum allowed ({SIZE_MAX})");
        }
        base::interrupt::room(out.len() - before)?;
    }
    Ok(out)
}

/// Makes an array of one dimension, counted from 1; empty if there are no values.
pub fn make_vector(elem: &ElemType, values: &[Datum]) -> Result<Datum> {
    if values.is_empty() {
        return make_array(elem, &[], &[], &[]).map(Datum::bytes);
    }
    make_array(elem, values, &[values.len() as i32], &[1]).map(Datum::bytes)
}

/// Makes an `oidvector`.
pub fn oidvector(oids: &[Oid]) -> Datum {
    let values: Vec<Datum> = oids.iter().map(|o| Datum::U32(o.0)).collect();
    zero_based(oid::OID, &values)
}

/// Makes an `int2vector`.
pub fn int2vector(numbers: &[i16]) -> Datum {
    let values: Vec<Datum> = numbers.iter().map(|n| Datum::I16(*n)).collect();
    zero_based(oid::INT2, &values)
}

fn zero_based(elem: Oid, values: &[Datum]) -> Datum {
    let elem = ElemType::builtin(elem);
    make_array(&elem, values, &[values.len() as i32], &[0]).map(Datum::bytes).unwrap_or_default()
}

/// The OIDs of an `oidvector` or `oid[]`; empty if the value is NULL.
pub fn oids_of(value: &Datum) -> Vec<Oid> {
    elements_of(value, oid::OID).iter().map(|d| Oid(d.as_u32())).collect()
}

/// The numbers of an `int2vector` or `int2[]`; empty if the value is NULL.
pub fn int2s_of(value: &Datum) -> Vec<i16> {
    elements_of(value, oid::INT2).iter().map(Datum::as_i16).collect()
}

/// The texts of a `text[]` or `name[]`; empty if the value is NULL. NULL elements are empty.
pub fn texts_of(value: &Datum) -> Vec<String> {
    let elem = ArrayRef::parse(value.as_bytes()).map_or(oid::TEXT, |a| a.elem_type);
    elements_of(value, elem).iter().map(|d| d.as_str().to_string()).collect()
}

/// The texts in an array value, without its NULLs.
pub fn known_texts_of(value: &Datum) -> Vec<String> {
    let elem = ArrayRef::parse(value.as_bytes()).map_or(oid::TEXT, |a| a.elem_type);
    let all = elements_of(value, elem);
    all.iter().filter(|d| !d.is_null()).map(|d| d.as_str().to_string()).collect()
}

fn elements_of(value: &Datum, elem: Oid) -> Vec<Datum> {
    if value.is_null() {
        return Vec::new();
    }
    ArrayRef::parse(value.as_bytes())
        .and_then(|a| a.values(&ElemType::builtin(elem)))
        .unwrap_or_default()
}
