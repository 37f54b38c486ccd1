//! Order, equality and hash of values: by typed code where the operator is a known one, else by
//! the functions of its operator family.

use super::compile::ExprCompiler;
use super::func::Callee;
use crate::run::Run;
use base::{Oid, Result, err};
use catalog::CatalogView;
use std::cmp::Ordering;
use std::hash::BuildHasher;
use types::batch::ColumnData;
use types::{Column, Datum};

const BTREE: Oid = Oid(403);
const HASH: Oid = Oid(405);

/// How two values that are not NULL compare.
pub(crate) enum CmpKind {
    /// Integers of any width, dates, times, oids, booleans.
    Int,
    Float,
    /// Byte by byte.
    Bytes,
    /// A btree support function.
    Call(Callee),
}

/// The order that a sort operator means.
pub(crate) struct Ordering_ {
    pub kind: CmpKind,
    pub descending: bool,
    pub nulls_first: bool,
}

/// NaN is greater than every number and equals itself.
#[inline]
pub(crate) fn float_order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

#[inline]
pub(crate) fn to_f64(d: &Datum) -> f64 {
    match d {
        Datum::F64(x) => *x,
        Datum::F32(x) => *x as f64,
        other => other.to_i64() as f64,
    }
}

impl CmpKind {
    /// Order of two values, neither of them NULL.
    #[inline]
    pub fn compare(&self, run: &mut Run, a: &Datum, b: &Datum) -> Result<Ordering> {
        Ok(match self {
            CmpKind::Int => a.to_i64().cmp(&b.to_i64()),
            CmpKind::Float => float_order(to_f64(a), to_f64(b)),
            CmpKind::Bytes => a.as_bytes().cmp(b.as_bytes()),
            CmpKind::Call(f) => f.invoke(run, &[a.clone(), b.clone()])?.as_i32().cmp(&0),
        })
    }

    /// The comparison of a btree support function.
    pub fn of_proc(
        c: &mut ExprCompiler,
        proc: Oid,
        collation: Oid,
        types: [Oid; 2],
    ) -> Result<CmpKind> {
        let source = functions::builtin::proc(proc).map_or("", |p| p.prosrc);
        Ok(match source {
            "btint2cmp" | "btint4cmp" | "btint8cmp" | "btint24cmp" | "btint28cmp"
            | "btint42cmp" | "btint48cmp" | "btint82cmp" | "btint84cmp" | "btboolcmp"
            | "btcharcmp" | "btoidcmp" | "date_cmp" | "timestamp_cmp" | "time_cmp" | "cash_cmp" => {
                CmpKind::Int
            }
            "btfloat4cmp" | "btfloat8cmp" | "btfloat48cmp" | "btfloat84cmp" => CmpKind::Float,
            "byteacmp" | "uuid_cmp" => CmpKind::Bytes,
            "bttextcmp" | "btnamecmp" if collation_is_c(c.catalog, collation)? => CmpKind::Bytes,
            _ => CmpKind::Call(c.callee(proc, collation, types.to_vec(), types::oid::INT4)?),
        })
    }
}

/// Whether text of this collation is ordered byte by byte.
pub(crate) fn collation_is_c(catalog: &CatalogView, collation: Oid) -> Result<bool> {
    let collation = catalog.concrete_collation(collation);
    if collation.0 == 950 || collation.0 == 951 || !collation.is_valid() {
        return Ok(true);
    }
    if functions::collation::stands_for_default(collation) {
        return Ok(functions::collation::compares_bytes(collation));
    }
    let plain = |name: Option<&str>| matches!(name, Some("C" | "POSIX" | "C.UTF-8" | "C.utf8"));
    let Some(found) = catalog.find_collation(collation)? else { return Ok(false) };
    Ok(match found.provider {
        b'c' => plain(found.collate.as_deref()),
        b'b' => true,
        _ => false,
    })
}

/// Whether equal text of this collation is the same bytes.
fn is_deterministic(catalog: &CatalogView, collation: Oid) -> Result<bool> {
    if !collation.is_valid() || matches!(collation.0, 100 | 950 | 951) {
        return Ok(true);
    }
    Ok(catalog.find_collation(collation)?.is_none_or(|c| c.is_deterministic))
}

impl Ordering_ {
    /// The order of a `<` or `>` operator.
    pub fn of_operator(c: &mut ExprCompiler, op: Oid, collation: Oid) -> Result<Ordering_> {
        let places = c.catalog.amops_of_operator(op)?;
        let place = places
            .iter()
            .find(|a| a.am == BTREE && a.purpose == b's' && matches!(a.strategy, 1 | 5))
            .ok_or_else(|| {
                err!(INTERNAL_ERROR, "operator {op} is not a valid ordering operator")
            })?;
        let proc =
            c.catalog.amproc(place.family, place.left, place.right, 1)?.ok_or_else(|| {
                err!(INTERNAL_ERROR, "missing support function 1 in opfamily {}", place.family)
            })?;
        let kind = CmpKind::of_proc(c, proc, collation, [place.left, place.right])?;
        Ok(Ordering_ { kind, descending: place.strategy == 5, nulls_first: false })
    }

    /// The order of a sort column.
    pub fn of_key(c: &mut ExprCompiler, key: &ir::SortKey) -> Result<Ordering_> {
        let mut order = Ordering_::of_operator(c, key.op, key.collation)?;
        order.nulls_first = key.nulls_first;
        Ok(order)
    }

    /// The order in a btree operator family of values of these types.
    pub fn of_family(
        c: &mut ExprCompiler,
        family: Oid,
        types: [Oid; 2],
        collation: Oid,
    ) -> Result<Ordering_> {
        let proc = c.catalog.amproc(family, types[0], types[1], 1)?.ok_or_else(|| {
            err!(INTERNAL_ERROR, "missing support function 1 in opfamily {family}")
        })?;
        let kind = CmpKind::of_proc(c, proc, collation, types)?;
        Ok(Ordering_ { kind, descending: false, nulls_first: false })
    }

    /// Order of two values, neither of them NULL, by the operator.
    #[inline]
    pub fn compare(&self, run: &mut Run, a: &Datum, b: &Datum) -> Result<Ordering> {
        let order = self.kind.compare(run, a, b)?;
        Ok(if self.descending { order.reverse() } else { order })
    }

    /// Order of two values.
    #[inline]
    pub fn compare_any(&self, run: &mut Run, a: &Datum, b: &Datum) -> Result<Ordering> {
        Ok(match (a.is_null(), b.is_null()) {
            (false, false) => return self.compare(run, a, b),
            (true, true) => Ordering::Equal,
            (true, false) => self.null_order(),
            (false, true) => self.null_order().reverse(),
        })
    }

    /// Where NULL stands against a value.
    #[inline]
    pub fn null_order(&self) -> Ordering {
        if self.nulls_first { Ordering::Less } else { Ordering::Greater }
    }

    /// Order of two values of columns of the same type.
    #[inline]
    pub fn compare_at(
        &self,
        run: &mut Run,
        a: &Column,
        i: usize,
        b: &Column,
        j: usize,
    ) -> Result<Ordering> {
        match (a.is_null(i), b.is_null(j)) {
            (false, false) => {}
            (true, true) => return Ok(Ordering::Equal),
            (true, false) => return Ok(self.null_order()),
            (false, true) => return Ok(self.null_order().reverse()),
        }
        let order = match (&self.kind, &a.data, &b.data) {
            (CmpKind::Call(f), x, y) => f.invoke(run, &[x.get(i), y.get(j)])?.as_i32().cmp(&0),
            (_, ColumnData::I32(x), ColumnData::I32(y)) => x[i].cmp(&y[j]),
            (_, ColumnData::I64(x), ColumnData::I64(y)) => x[i].cmp(&y[j]),
            (_, ColumnData::F64(x), ColumnData::F64(y)) => float_order(x[i], y[j]),
            (_, ColumnData::Bytes(x), ColumnData::Bytes(y)) => x.cmp_at(i, y, j),
            (kind, x, y) => kind.compare(run, &x.get(i), &y.get(j))?,
        };
        Ok(if self.descending { order.reverse() } else { order })
    }
}

/// How two values that are not NULL are equal.
pub(crate) enum EqKind {
    Int,
    Float,
    Bytes,
    Call(Callee),
}

/// How a value that is not NULL is hashed.
pub(crate) enum HashKind {
    Int,
    Float,
    Bytes,
    Call(Callee),
    /// The operator cannot be hashed.
    None,
}

/// An equality operator, with hashes of its two sides that agree with it.
pub(crate) struct Equality {
    pub kind: EqKind,
    pub hash_left: HashKind,
    pub hash_right: HashKind,
}

impl Equality {
    /// The equality of an operator.
    pub fn of_operator(c: &mut ExprCompiler, op: Oid, collation: Oid) -> Result<Equality> {
        let desc = c.catalog.operator(op)?;
        let source = functions::builtin::proc(desc.function).map_or("", |p| p.prosrc);
        let typed = match source {
            "int2eq" | "int4eq" | "int8eq" | "int24eq" | "int42eq" | "int28eq" | "int82eq"
            | "int48eq" | "int84eq" | "booleq" | "chareq" | "oideq" | "date_eq"
            | "timestamp_eq" | "time_eq" | "cash_eq" | "xideq" | "cideq" | "enum_eq"
            | "pg_lsn_eq" | "xid8eq" | "xideqint4" => {
                Some((EqKind::Int, HashKind::Int, HashKind::Int))
            }
            "float4eq" | "float8eq" | "float48eq" | "float84eq" => {
                Some((EqKind::Float, HashKind::Float, HashKind::Float))
            }
            "texteq" | "nameeq" | "nameeqtext" | "texteqname"
                if is_deterministic(c.catalog, collation)? =>
            {
                Some((EqKind::Bytes, HashKind::Bytes, HashKind::Bytes))
            }
            "byteaeq" | "uuid_eq" => Some((EqKind::Bytes, HashKind::Bytes, HashKind::Bytes)),
            _ => None,
        };
        if let Some((kind, hash_left, hash_right)) = typed {
            return Ok(Equality { kind, hash_left, hash_right });
        }
        let types = vec![desc.left, desc.right];
        let callee = c.callee(desc.function, collation, types, types::oid::BOOL)?;
        let places = c.catalog.amops_of_operator(op)?;
        let family = places.iter().find(|a| a.am == HASH && a.strategy == 1).map(|a| a.family);
        let mut hash = |ty: Oid| -> Result<HashKind> {
            let Some(family) = family else { return Ok(HashKind::None) };
            Ok(match c.catalog.amproc(family, ty, ty, 1)? {
                Some(proc) => {
                    HashKind::Call(c.callee(proc, collation, vec![ty], types::oid::INT4)?)
                }
                None => HashKind::None,
            })
        };
        let (hash_left, hash_right) = (hash(desc.left)?, hash(desc.right)?);
        Ok(Equality { kind: EqKind::Call(callee), hash_left, hash_right })
    }

    /// Whether two values, neither of them NULL, are equal.
    #[inline]
    pub fn equal(&self, run: &mut Run, a: &Datum, b: &Datum) -> Result<bool> {
        Ok(match &self.kind {
            EqKind::Int => a.to_i64() == b.to_i64(),
            EqKind::Float => float_order(to_f64(a), to_f64(b)).is_eq(),
            EqKind::Bytes => a.as_bytes() == b.as_bytes(),
            EqKind::Call(f) => f.invoke(run, &[a.clone(), b.clone()])?.as_bool(),
        })
    }

    /// Whether two values are the same, NULL being the same as NULL.
    #[inline]
    pub fn same(&self, run: &mut Run, a: &Datum, b: &Datum) -> Result<bool> {
        match (a.is_null(), b.is_null()) {
            (false, false) => self.equal(run, a, b),
            (x, y) => Ok(x && y),
        }
    }

    /// The same of two values in columns of one type.
    #[inline]
    pub fn same_at(
        &self,
        run: &mut Run,
        a: &Column,
        i: usize,
        b: &Column,
        j: usize,
    ) -> Result<bool> {
        match (a.is_null(i), b.is_null(j)) {
            (false, false) => {}
            (x, y) => return Ok(x && y),
        }
        match (&self.kind, &a.data, &b.data) {
            (EqKind::Int, ColumnData::I32(x), ColumnData::I32(y)) => Ok(x[i] == y[j]),
            (EqKind::Int, ColumnData::I64(x), ColumnData::I64(y)) => Ok(x[i] == y[j]),
            (EqKind::Bytes, ColumnData::Bytes(x), ColumnData::Bytes(y)) => Ok(x.eq_at(i, y, j)),
            (_, x, y) => self.equal(run, &x.get(i), &y.get(j)),
        }
    }
}

/// A well-mixed number from an integer key.
#[inline]
pub(crate) fn mix(key: u64) -> u64 {
    let x = (key ^ 0x9E37_79B9_7F4A_7C15) as u128 * 0xD6E8_FEB8_6659_FD93u128;
    (x as u64) ^ ((x >> 64) as u64)
}

/// The hash of a byte string.
#[inline]
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    foldhash::fast::FixedState::with_seed(0x6f6c_6966_616e_7421).hash_one(bytes)
}

/// What NULL hashes to.
pub(crate) const NULL_HASH: u64 = 0x5bd1_e995_7f4a_7c15;

impl HashKind {
    /// The hash of a value that is not NULL.
    #[inline]
    pub fn hash(&self, run: &mut Run, value: &Datum) -> Result<u64> {
        Ok(match self {
            HashKind::Int => mix(value.to_i64() as u64),
            HashKind::Float => {
                let x = to_f64(value);
                // -0 equals 0, and all NaNs are equal.
                mix(if x == 0.0 {
                    0
                } else if x.is_nan() {
                    u64::MAX
                } else {
                    x.to_bits()
                })
            }
            HashKind::Bytes => hash_bytes(value.as_bytes()),
            HashKind::Call(f) => mix(f.invoke(run, std::slice::from_ref(value))?.to_i64() as u64),
            HashKind::None => {
                return Err(base::Error::internal("hash of an operator that cannot be hashed"));
            }
        })
    }

    /// Folds the hashes of a column's values into `hashes`, by position.
    pub fn hash_column(
        &self,
        run: &mut Run,
        column: &Column,
        sel: Option<&[u16]>,
        hashes: &mut [u64],
    ) -> Result<()> {
        let fold = |h: &mut u64, x: u64| *h = mix(h.rotate_left(5) ^ x);
        macro_rules! ints {
            ($v:ident) => {{
                super::batch::each(sel, column.len(), |i| {
                    let x = if column.is_null(i) { NULL_HASH } else { mix($v[i] as i64 as u64) };
                    fold(&mut hashes[i], x)
                });
                return Ok(());
            }};
        }
        match (self, &column.data) {
            (HashKind::Int, ColumnData::I16(v)) => ints!(v),
            (HashKind::Int, ColumnData::I32(v)) => ints!(v),
            (HashKind::Int, ColumnData::I64(v)) => ints!(v),
            (HashKind::Int, ColumnData::U32(v)) => ints!(v),
            (HashKind::Bytes, ColumnData::Bytes(v)) => {
                super::batch::each(sel, column.len(), |i| {
                    let x = if column.is_null(i) { NULL_HASH } else { hash_bytes(v.get(i)) };
                    fold(&mut hashes[i], x)
                });
                Ok(())
            }
            _ => super::batch::try_each(sel, column.len(), |i| {
                let value = column.get(i);
                let x = if value.is_null() { NULL_HASH } else { self.hash(run, &value)? };
                fold(&mut hashes[i], x);
                Ok(())
            }),
        }
    }
}
