//! What is known of several columns together, as ANALYZE stores it: `pg_ndistinct`,
//! `pg_dependencies` and `pg_mcv_list`.
//!
//! ```text
//! pg_ndistinct      u32 magic | u32 1 | u32 items | each: f64 groups | i32 n | n * i16
//! pg_dependencies   u32 magic | u32 1 | u32 items | each: f64 degree | i16 n | n * i16
//! pg_mcv_list       u32 magic | u32 1 | u32 items | u16 columns | u32 type of each |
//!                   each column: u32 values | u32 bytes | u32 aligned bytes | i32 length |
//!                   u32 by value | the columns' different values |
//!                   each item: bools, f64, f64, u16 places
//! ```
//!
//! An attribute number above zero is a column; -1 is the first expression, -2 the second.

use crate::datum::{Datum, phys_type};
use crate::record::{get_raw, put_raw};
use base::{Oid, Result, err};

const NDISTINCT_MAGIC: u32 = 0xA352_BFA4;
const DEPENDENCIES_MAGIC: u32 = 0xB454_9A2C;
const MCV_MAGIC: u32 = 0xE1A6_51C2;

/// How many groups some columns make.
#[derive(Clone, Debug, PartialEq)]
pub struct NDistinct {
    /// The columns.
    pub attributes: Vec<i16>,
    /// The groups.
    pub groups: f64,
}

/// How much the last of some columns follows from the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependency {
    /// The columns that say it, then the one that follows.
    pub attributes: Vec<i16>,
    /// The share of rows that it holds for.
    pub degree: f64,
}

/// One of the commonest combinations of values.
#[derive(Clone, Debug, PartialEq)]
pub struct McvItem {
    /// A value of each column.
    pub values: Vec<Datum>,
    /// Its share of the rows.
    pub frequency: f64,
    /// What the share would be if the columns had nothing to do with each other.
    pub base_frequency: f64,
}

/// The commonest combinations of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McvList {
    /// The columns' types.
    pub types: Vec<Oid>,
    /// The combinations.
    pub items: Vec<McvItem>,
}

/// A column of a list: its type, and the different values in it, in order.
pub struct McvColumn {
    /// The type.
    pub type_oid: Oid,
    /// `typlen`
    pub len: i16,
    /// `typbyval`
    pub by_value: bool,
    /// The values, without NULL.
    pub values: Vec<Datum>,
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let Some((head, tail)) = self.bytes.split_at_checked(n) else {
            return Err(err!(DATA_CORRUPTED, "invalid extended statistics"));
        };
        self.bytes = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_le_bytes(self.array()?))
    }

    fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    fn i16s(&mut self, n: usize) -> Result<Vec<i16>> {
        (0..n).map(|_| self.i16()).collect()
    }

    /// Checks what it says it is, and gives the number of items.
    fn start(bytes: &'a [u8], magic: u32) -> Result<(Reader<'a>, usize)> {
        let mut r = Reader { bytes };
        if r.u32()? != magic || r.u32()? != 1 {
            return Err(err!(DATA_CORRUPTED, "invalid extended statistics"));
        }
        let n = r.u32()? as usize;
        Ok((r, n))
    }
}

fn header(magic: u32, items: usize) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&magic.to_le_bytes());
    out.extend_from_slice(&1u32.to_le_bytes());
    out.extend_from_slice(&(items as u32).to_le_bytes());
    out
}

/// The stored form of numbers of groups.
pub fn encode_ndistinct(items: &[NDistinct]) -> Vec<u8> {
    let mut out = header(NDISTINCT_MAGIC, items.len());
    for item in items {
        out.extend_from_slice(&item.groups.to_le_bytes());
        out.extend_from_slice(&(item.attributes.len() as i32).to_le_bytes());
        item.attributes.iter().for_each(|a| out.extend_from_slice(&a.to_le_bytes()));
    }
    out
}

/// The numbers of groups that were stored.
pub fn decode_ndistinct(bytes: &[u8]) -> Result<Vec<NDistinct>> {
    let (mut r, n) = Reader::start(bytes, NDISTINCT_MAGIC)?;
    let mut out = Vec::new();
    for _ in 0..n {
        let groups = r.f64()?;
        let columns = r.u32()? as usize;
        out.push(NDistinct { groups, attributes: r.i16s(columns)? });
    }
    Ok(out)
}

/// The stored form of dependencies.
pub fn encode_dependencies(items: &[Dependency]) -> Vec<u8> {
    let mut out = header(DEPENDENCIES_MAGIC, items.len());
    for item in items {
        out.extend_from_slice(&item.degree.to_le_bytes());
        out.extend_from_slice(&(item.attributes.len() as i16).to_le_bytes());
        item.attributes.iter().for_each(|a| out.extend_from_slice(&a.to_le_bytes()));
    }
    out
}

/// The dependencies that were stored.
pub fn decode_dependencies(bytes: &[u8]) -> Result<Vec<Dependency>> {
    let (mut r, n) = Reader::start(bytes, DEPENDENCIES_MAGIC)?;
    let mut out = Vec::new();
    for _ in 0..n {
        let degree = r.f64()?;
        let columns = usize::try_from(r.i16()?).unwrap_or(0);
        out.push(Dependency { degree, attributes: r.i16s(columns)? });
    }
    Ok(out)
}

fn round_up(n: usize) -> usize {
    (n + 7) & !7
}

/// The stored form of a list. `places` says for each item which of the columns' values it has.
pub fn encode_mcv(columns: &[McvColumn], items: &[McvItem], places: &[Vec<u16>]) -> Vec<u8> {
    let mut out = header(MCV_MAGIC, items.len());
    out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
    columns.iter().for_each(|c| out.extend_from_slice(&c.type_oid.0.to_le_bytes()));
    let mut values = Vec::new();
    for c in columns {
        let before = values.len();
        let mut aligned = 0;
        for v in &c.values {
            let mut raw = Vec::new();
            put_raw(v, &mut raw);
            if c.len > 0 {
                // Names are kept without their padding.
                raw.resize(c.len as usize, 0);
                aligned += round_up(raw.len());
            } else {
                values.extend_from_slice(&(raw.len() as u32).to_le_bytes());
                aligned += round_up(raw.len() + 4);
            }
            values.extend_from_slice(&raw);
        }
        let aligned = if c.by_value { 0 } else { aligned };
        out.extend_from_slice(&(c.values.len() as u32).to_le_bytes());
        out.extend_from_slice(&((values.len() - before) as u32).to_le_bytes());
        out.extend_from_slice(&(aligned as u32).to_le_bytes());
        out.extend_from_slice(&i32::from(c.len).to_le_bytes());
        out.extend_from_slice(&u32::from(c.by_value).to_le_bytes());
    }
    out.extend_from_slice(&values);
    for (item, places) in items.iter().zip(places) {
        item.values.iter().for_each(|v| out.push(u8::from(v.is_null())));
        out.extend_from_slice(&item.frequency.to_le_bytes());
        out.extend_from_slice(&item.base_frequency.to_le_bytes());
        places.iter().for_each(|p| out.extend_from_slice(&p.to_le_bytes()));
    }
    out
}

/// The list that was stored.
pub fn decode_mcv(bytes: &[u8]) -> Result<McvList> {
    let (mut r, n) = Reader::start(bytes, MCV_MAGIC)?;
    let columns = usize::try_from(r.i16()?).unwrap_or(0);
    let mut types = Vec::new();
    for _ in 0..columns {
        types.push(Oid(r.u32()?));
    }
    let mut shapes = Vec::new();
    for _ in 0..columns {
        let count = r.u32()?;
        r.take(8)?;
        let len = r.u32()? as i32 as i16;
        shapes.push((count, len, r.u32()? != 0));
    }
    let mut dims: Vec<Vec<Datum>> = Vec::new();
    for (ty, (count, len, by_value)) in types.iter().zip(shapes) {
        let phys = phys_type(*ty, len, by_value);
        let mut values = Vec::new();
        for _ in 0..count {
            let size = if len > 0 { len as usize } else { r.u32()? as usize };
            let mut raw = r.take(size)?;
            if *ty == crate::oid::NAME {
                raw = raw.split(|b| *b == 0).next().unwrap_or(raw);
            }
            values.push(get_raw(phys, raw)?);
        }
        dims.push(values);
    }
    let mut items = Vec::new();
    for _ in 0..n {
        let nulls = r.take(columns)?;
        let (frequency, base_frequency) = (r.f64()?, r.f64()?);
        let places = r.i16s(columns)?;
        let values = dims.iter().zip(nulls.iter().zip(places)).map(|(dim, (null, place))| {
            let value = if *null != 0 { None } else { dim.get(place as u16 as usize) };
            value.cloned().unwrap_or(Datum::Null)
        });
        items.push(McvItem { values: values.collect(), frequency, base_frequency });
    }
    Ok(McvList { types, items })
}

fn joined(attributes: &[i16]) -> String {
    attributes.iter().map(i16::to_string).collect::<Vec<_>>().join(", ")
}

/// `{"1, 2": 5}`
pub fn ndistinct_text(bytes: &[u8]) -> Result<String> {
    let items = decode_ndistinct(bytes)?;
    let one = |i: &NDistinct| format!("\"{}\": {}", joined(&i.attributes), i.groups as i64);
    Ok(format!("{{{}}}", items.iter().map(one).collect::<Vec<_>>().join(", ")))
}

/// `{"1 => 2": 1.000000}`
pub fn dependencies_text(bytes: &[u8]) -> Result<String> {
    let items = decode_dependencies(bytes)?;
    let one = |i: &Dependency| {
        let (last, first) = i.attributes.split_last().unwrap_or((&0, &[]));
        format!("\"{} => {last}\": {:.6}", joined(first), i.degree)
    };
    Ok(format!("{{{}}}", items.iter().map(one).collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oid;

    #[test]
    fn lists_come_back() {
        let text = |s: &str| Datum::text(s);
        let columns = [
            McvColumn {
                type_oid: oid::INT4,
                len: 4,
                by_value: true,
                values: vec![Datum::I32(1), Datum::I32(2)],
            },
            McvColumn {
                type_oid: oid::TEXT,
                len: -1,
                by_value: false,
                values: vec![text("a"), text("bcd")],
            },
        ];
        let item = |a, b| McvItem { values: vec![a, b], frequency: 0.5, base_frequency: 0.25 };
        let items = vec![item(Datum::I32(2), text("a")), item(Datum::Null, text("bcd"))];
        let bytes = encode_mcv(&columns, &items, &[vec![1, 0], vec![0, 1]]);
        let list = decode_mcv(&bytes).unwrap();
        assert_eq!(list.types, [oid::INT4, oid::TEXT]);
        assert_eq!(list.items, items);
        for cut in 0..bytes.len() {
            assert!(decode_mcv(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn texts() {
        let d = encode_ndistinct(&[NDistinct { attributes: vec![1, -1], groups: 10.0 }]);
        assert_eq!(ndistinct_text(&d).unwrap(), r#"{"1, -1": 10}"#);
        let f = encode_dependencies(&[Dependency { attributes: vec![1, 2, 3], degree: 0.5 }]);
        assert_eq!(dependencies_text(&f).unwrap(), r#"{"1, 2 => 3": 0.500000}"#);
    }
}
