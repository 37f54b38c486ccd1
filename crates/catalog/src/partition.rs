//! Partitioned tables: the bounds of their partitions, and which partition a key belongs to.

use crate::oids;
use crate::open::key_cmp;
use crate::{CatalogView, RelationDesc};
use access::index::KeyCmp;
use base::{Error, Oid, Result};
use functions::{CallInfo, CallState, FnCtx, StaticEnv};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use types::Datum;

/// One value of a range's bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RangeDatum {
    /// MINVALUE
    Min,
    /// A value.
    Value(Datum),
    /// MAXVALUE
    Max,
}

/// What keys a partition takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BoundKind {
    /// Those that no other takes.
    Default,
    /// These values; NULL may be one.
    List(Vec<Datum>),
    /// From one row of values, to before another.
    Range(Vec<RangeDatum>, Vec<RangeDatum>),
    /// Those whose hash leaves this remainder: modulus, remainder.
    Hash(u64, u64),
}

/// `pg_class.relpartbound`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionBound {
    /// As `pg_get_expr` prints it.
    pub text: String,
    /// What it means.
    pub kind: BoundKind,
}

impl PartitionBound {
    /// What was stored.
    pub fn parse(text: &str) -> Result<PartitionBound> {
        serde_json::from_str(text).map_err(|e| Error::internal(format!("partition bound: {e}")))
    }

    /// As it is stored.
    pub fn store(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|e| Error::internal(format!("partition bound: {e}")))
    }
}

/// How the keys of a partitioned table are compared or hashed.
pub struct KeyColumn {
    /// For range and list.
    pub cmp: KeyCmp,
    /// For hash: the extended hash function.
    pub hash: Oid,
    /// Collation.
    pub collation: Oid,
    /// What it stands for in this database.
    pub hash_collation: Oid,
    /// The operator family, for conditions that name its operators.
    pub family: Oid,
    /// The type the operator class is for.
    pub input_type: Oid,
}

/// A partitioned table's partitions.
pub struct Partitioning {
    /// `h`, `l` or `r`.
    pub strategy: u8,
    /// The key's columns.
    pub keys: Vec<KeyColumn>,
    /// The partitions and their bounds, without the default one.
    pub parts: Vec<(Oid, BoundKind)>,
    /// The default partition.
    pub default: Option<Oid>,
}

const SEED: u64 = 0x7A5B_2236_7996_DCFD;

impl Partitioning {
    /// Those of a partitioned table.
    pub fn load(view: &CatalogView, rel: &RelationDesc) -> Result<Partitioning> {
        let Some(key) = &rel.partition_key else {
            return Err(Error::internal(format!("\"{}\" is not partitioned", rel.name)));
        };
        let mut keys = Vec::new();
        for (i, class) in key.opclasses.iter().enumerate() {
            let class = view.opclass(*class)?;
            let ty = class.input_type;
            let collation = key.collations.get(i).copied().unwrap_or_default();
            let number = if key.strategy == b'h' { 2 } else { 1 };
            let proc = view.amproc(class.family, ty, ty, number)?.unwrap_or_default();
            // The class of an enum's column is for any enum; the column says for which.
            let stored = match key.columns.get(i) {
                Some(n) if *n > 0 => rel.tuple.attrs[*n as usize - 1].type_oid,
                _ => ty,
            };
            let cmp = match key.strategy {
                b'h' => KeyCmp::Int,
                _ => key_cmp(view, proc, collation, stored),
            };
            keys.push(KeyColumn {
                cmp,
                hash: proc,
                collation,
                hash_collation: view.concrete_collation(collation),
                family: class.family,
                input_type: ty,
            });
        }
        let mut parts = Vec::new();
        let mut default = None;
        for child in view.children(rel.oid)? {
            let child = view.relation(child)?;
            let Some(text) = &child.partition_bound else { continue };
            match PartitionBound::parse(text)?.kind {
                BoundKind::Default => default = Some(child.oid),
                kind => parts.push((child.oid, kind)),
            }
        }
        Ok(Partitioning { strategy: key.strategy, keys, parts, default })
    }

    /// The partition that a key belongs to.
    pub fn find(&self, values: &[Datum]) -> Result<Option<Oid>> {
        for (oid, kind) in &self.parts {
            if self.takes(kind, values)? {
                return Ok(Some(*oid));
            }
        }
        Ok(self.default)
    }

    /// True if a partition with this bound takes the key.
    pub fn takes(&self, kind: &BoundKind, values: &[Datum]) -> Result<bool> {
        match kind {
            BoundKind::Default => Ok(false),
            BoundKind::List(list) => {
                let Some(value) = values.first() else { return Ok(false) };
                for v in list {
                    let same = match (v.is_null(), value.is_null()) {
                        (true, true) => true,
                        (false, false) => self.compare(0, v, value)? == Ordering::Equal,
                        _ => false,
                    };
                    if same {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            BoundKind::Range(lower, upper) => {
                if values.iter().any(Datum::is_null) {
                    return Ok(false);
                }
                Ok(self.compare_bound(lower, values)? != Ordering::Greater
                    && self.compare_bound(upper, values)? == Ordering::Greater)
            }
            BoundKind::Hash(modulus, remainder) => {
                Ok(self.hash(values)? % (*modulus).max(1) == *remainder)
            }
        }
    }

    /// The partitions by their bounds, the default one last.
    pub fn in_order(&self) -> Result<Vec<Oid>> {
        let mut parts: Vec<&(Oid, BoundKind)> = self.parts.iter().collect();
        let mut failed = None;
        parts.sort_by(|a, b| {
            self.compare_kinds(&a.1, &b.1).unwrap_or_else(|e| {
                failed = Some(e);
                Ordering::Equal
            })
        });
        if let Some(e) = failed {
            return Err(e);
        }
        let mut all: Vec<Oid> = parts.into_iter().map(|p| p.0).collect();
        all.extend(self.default);
        Ok(all)
    }

    fn compare_kinds(&self, a: &BoundKind, b: &BoundKind) -> Result<Ordering> {
        Ok(match (a, b) {
            (BoundKind::Range(a, _), BoundKind::Range(b, _)) => self.compare_bounds(a, b)?,
            (BoundKind::Hash(m, r), BoundKind::Hash(n, s)) => (m, r).cmp(&(n, s)),
            (BoundKind::List(a), BoundKind::List(b)) => match (self.least(a)?, self.least(b)?) {
                (Some(a), Some(b)) => self.compare(0, a, b)?,
                // The one for NULL alone comes last.
                (a, b) => b.is_some().cmp(&a.is_some()),
            },
            _ => Ordering::Equal,
        })
    }

    fn least<'v>(&self, values: &'v [Datum]) -> Result<Option<&'v Datum>> {
        let mut least: Option<&Datum> = None;
        for v in values.iter().filter(|v| !v.is_null()) {
            let less = match least {
                Some(l) => self.compare(0, v, l)? == Ordering::Less,
                None => true,
            };
            if less {
                least = Some(v);
            }
        }
        Ok(least)
    }

    /// Compares two values of one key column, neither of them NULL.
    pub fn compare(&self, column: usize, a: &Datum, b: &Datum) -> Result<Ordering> {
        self.keys[column].cmp.compare(a, b)
    }

    /// Compares a bound with a key.
    fn compare_bound(&self, bound: &[RangeDatum], values: &[Datum]) -> Result<Ordering> {
        for (i, (b, v)) in bound.iter().zip(values).enumerate() {
            let order = match b {
                RangeDatum::Min => return Ok(Ordering::Less),
                RangeDatum::Max => return Ok(Ordering::Greater),
                RangeDatum::Value(b) => self.compare(i, b, v)?,
            };
            if order != Ordering::Equal {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }

    /// Compares two bounds.
    pub fn compare_bounds(&self, a: &[RangeDatum], b: &[RangeDatum]) -> Result<Ordering> {
        for (i, (x, y)) in a.iter().zip(b).enumerate() {
            let order = match (x, y) {
                (RangeDatum::Min, RangeDatum::Min) | (RangeDatum::Max, RangeDatum::Max) => {
                    return Ok(Ordering::Equal);
                }
                (RangeDatum::Min, _) | (_, RangeDatum::Max) => return Ok(Ordering::Less),
                (RangeDatum::Max, _) | (_, RangeDatum::Min) => return Ok(Ordering::Greater),
                (RangeDatum::Value(x), RangeDatum::Value(y)) => self.compare(i, x, y)?,
            };
            if order != Ordering::Equal {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }

    /// The hash of a key, as PostgreSQL computes it.
    pub fn hash(&self, values: &[Datum]) -> Result<u64> {
        let mut row: u64 = 0;
        let env = StaticEnv::new(0);
        for (key, value) in self.keys.iter().zip(values) {
            if value.is_null() {
                continue;
            }
            let entry = functions::lookup(key.hash).filter(|e| e.has_body).ok_or_else(|| {
                Error::unsupported(format!("hashing values with function {}", key.hash))
            })?;
            let info = CallInfo { collation: key.hash_collation, ..CallInfo::of(key.hash) };
            let mut state = CallState::default();
            let mut cx = FnCtx { env: &env, call: &info, state: &mut state };
            let hash = match entry.call(&mut cx, &[value.clone(), Datum::I64(SEED as i64)])? {
                Datum::I64(n) => n as u64,
                _ => return Err(Error::internal("a hash function gave no hash")),
            };
            row ^= hash
                .wrapping_add(0x49A0_F4DD_15E5_A8E3)
                .wrapping_add(row << 54)
                .wrapping_add(row >> 7);
        }
        Ok(row)
    }

    /// Whether a partition may hold rows for which `column <op> value`, by btree strategy.
    pub fn may_match(
        &self,
        kind: &BoundKind,
        column: usize,
        strategy: i16,
        value: &Datum,
    ) -> Result<bool> {
        let holds = |order: Ordering| match strategy {
            1 => order == Ordering::Less,
            2 => order != Ordering::Greater,
            3 => order == Ordering::Equal,
            4 => order != Ordering::Less,
            _ => order == Ordering::Greater,
        };
        match kind {
            BoundKind::List(list) if column == 0 => {
                for v in list.iter().filter(|v| !v.is_null()) {
                    if holds(self.compare(0, v, value)?) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            BoundKind::Range(lower, upper) if column == 0 => {
                // The first column alone: lower <= column <= upper.
                let more = lower.len() > 1;
                let low = match &lower[0] {
                    RangeDatum::Min => Ordering::Less,
                    RangeDatum::Max => Ordering::Greater,
                    RangeDatum::Value(l) => self.compare(0, l, value)?,
                };
                let high = match &upper[0] {
                    RangeDatum::Min => Ordering::Less,
                    RangeDatum::Max => Ordering::Greater,
                    RangeDatum::Value(u) => self.compare(0, u, value)?,
                };
                // A single column's upper bound is not in the range.
                let open = !more || matches!(upper.get(1), Some(RangeDatum::Min));
                let reaches = match open {
                    true => high == Ordering::Greater,
                    false => high != Ordering::Less,
                };
                Ok(match strategy {
                    1 => low == Ordering::Less,
                    2 => low != Ordering::Greater,
                    3 => low != Ordering::Greater && reaches,
                    4 => reaches,
                    _ => high == Ordering::Greater,
                })
            }
            _ => Ok(true),
        }
    }
}

/// True for the access methods whose operator classes partition keys have.
pub fn method_of(strategy: u8) -> Oid {
    if strategy == b'h' { oids::HASH_AM } else { oids::BTREE_AM }
}
