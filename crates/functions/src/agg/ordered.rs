//! Ordered-set and hypothetical-set aggregates: rows come in order.

use super::state::State;
use crate::call::FnCtx;
use base::{Error, Result, bail, err};
use types::array::{ArrayRef, ElemType, make_array};
use types::datetime::Interval;
use types::{Blob, Datum, oid};

/// What is asked of the rows.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ordered {
    Disc,
    DiscMany,
    ContFloat,
    ContFloatMany,
    ContInterval,
    ContIntervalMany,
    Mode,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
}

/// The rows in order; those of one-argument aggregates without NULLs.
#[derive(Clone)]
pub(super) struct Rows {
    rows: Vec<Vec<Datum>>,
    what: Ordered,
}

impl Rows {
    pub(super) fn new(what: Ordered) -> Rows {
        Rows { rows: Vec::new(), what }
    }

    fn hypothetical(&self) -> bool {
        matches!(
            self.what,
            Ordered::Rank | Ordered::DenseRank | Ordered::PercentRank | Ordered::CumeDist
        )
    }

    fn discrete(&self, fraction: f64) -> Datum {
        let n = self.rows.len();
        let at = ((fraction * n as f64).ceil() as usize).max(1);
        self.rows[at.min(n) - 1][0].clone()
    }

    fn continuous(&self, fraction: f64) -> Result<Datum> {
        let n = self.rows.len();
        let position = fraction * (n - 1) as f64;
        let (low, high) = (position.floor() as usize, position.ceil() as usize);
        let (a, b) = (&self.rows[low][0], &self.rows[high][0]);
        if low == high {
            return Ok(a.clone());
        }
        let share = position - low as f64;
        if matches!(self.what, Ordered::ContInterval | Ordered::ContIntervalMany) {
            let (x, y) = (Interval::decode(a.as_bytes()), Interval::decode(b.as_bytes()));
            let out = y.sub(x)?.mul(share)?.add(x)?;
            return Ok(Datum::Bytes(Blob::new(&out.encode())));
        }
        let (x, y) = (a.as_f64(), b.as_f64());
        Ok(Datum::F64(x + share * (y - x)))
    }

    fn one(&self, fraction: f64) -> Result<Datum> {
        match self.what {
            Ordered::Disc | Ordered::DiscMany => Ok(self.discrete(fraction)),
            _ => self.continuous(fraction),
        }
    }

    fn many(&self, cx: &FnCtx, fractions: &Datum) -> Result<Datum> {
        let array = ArrayRef::parse(fractions.as_bytes())?;
        let out = array
            .iter(&ElemType::builtin(oid::FLOAT8))
            .map(|f| match f? {
                Datum::Null => Ok(Datum::Null),
                f => self.one(check(f.as_f64())?),
            })
            .collect::<Result<Vec<_>>>()?;
        let elem = crate::scalar::array::array_elem(cx, cx.call.ret_type)?;
        make_array(&elem, &out, &array.dims, &array.lbounds).map(Datum::bytes)
    }

    /// The first of the values that most others are equal to, though they may look otherwise.
    fn mode(&self, cx: &FnCtx) -> Result<Datum> {
        let lookup = cx.env.catalog().types();
        let type_oid = cx.call.arg_type(0);
        let (mut best, mut most) = (0, 0);
        let (mut first, mut count) = (0, 0);
        for (i, row) in self.rows.iter().enumerate() {
            let start = &self.rows[first][0];
            let same = count > 0
                && (row[0] == *start
                    || types::compare::compare(type_oid, &row[0], start, lookup)?.is_eq());
            if same {
                count += 1;
            } else {
                (first, count) = (i, 1);
            }
            if count > most {
                (best, most) = (first, count);
            }
        }
        Ok(self.rows.get(best).map_or(Datum::Null, |row| row[0].clone()))
    }

    /// Rank of the hypothetical row: rows before it, rows up to its peers, distinct rows before.
    fn rank(&self, cx: &FnCtx, direct: &[Datum]) -> Result<(i64, i64, i64)> {
        let lookup = cx.env.catalog().types();
        let same = |i: usize, a: &Datum, b: &Datum| -> Result<bool> {
            if a == b || a.is_null() || b.is_null() {
                return Ok(a == b);
            }
            Ok(types::compare::compare(cx.call.arg_type(i), a, b, lookup)?.is_eq())
        };
        // Where the hypothetical row goes follows from the order that the rows have.
        let (mut before, mut equal, mut distinct) = (0, 0, 0);
        let mut last: Option<&Vec<Datum>> = None;
        for row in &self.rows {
            let flag = row.last().map_or(0, Datum::to_i64);
            let values = &row[..row.len() - 1];
            match flag {
                f if f < 0 => {
                    before += 1;
                    let mut repeated = last.is_some();
                    for (i, (l, v)) in last.into_iter().flatten().zip(values).enumerate() {
                        repeated = repeated && same(i, l, v)?;
                    }
                    distinct += i64::from(!repeated);
                    last = Some(row);
                }
                0 => equal += 1,
                _ => {}
            }
        }
        let _ = direct;
        Ok((before, before + equal, distinct))
    }
}

#[cold]
fn bad_fraction(f: f64) -> Error {
    err!(
        NUMERIC_VALUE_OUT_OF_RANGE,
        "percentile value {} is not between 0 and 1",
        types::io::f64_text(f)
    )
}

fn check(f: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&f) { Ok(f) } else { Err(bad_fraction(f)) }
}

impl State for Rows {
    /// A hypothetical-set aggregate's row ends with an integer: its order relative to the direct
    /// arguments (negative before, 0 a peer, positive after), which the executor adds.
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        if self.hypothetical() || !args[0].is_null() {
            self.rows.push(args.to_vec());
        }
        Ok(())
    }

    fn finish(&self, cx: &mut FnCtx) -> Result<Datum> {
        self.finish_direct(cx, &[])
    }

    fn finish_direct(&self, cx: &mut FnCtx, direct: &[Datum]) -> Result<Datum> {
        let n = self.rows.len() as f64;
        match self.what {
            Ordered::Mode => return self.mode(cx),
            Ordered::Rank => return Ok(Datum::I64(self.rank(cx, direct)?.0 + 1)),
            Ordered::DenseRank => return Ok(Datum::I64(self.rank(cx, direct)?.2 + 1)),
            Ordered::PercentRank => {
                let before = self.rank(cx, direct)?.0 as f64;
                return Ok(Datum::F64(if n == 0.0 { 0.0 } else { before / n }));
            }
            Ordered::CumeDist => {
                let upto = self.rank(cx, direct)?.1 as f64;
                return Ok(Datum::F64((upto + 1.0) / (n + 1.0)));
            }
            _ => {}
        }
        let Some(fraction) = direct.first() else {
            bail!(INTERNAL_ERROR, "ordered-set aggregate without direct argument");
        };
        if fraction.is_null() {
            return Ok(Datum::Null);
        }
        let many = matches!(
            self.what,
            Ordered::DiscMany | Ordered::ContFloatMany | Ordered::ContIntervalMany
        );
        if !many {
            check(fraction.as_f64())?;
        }
        if self.rows.is_empty() {
            return Ok(Datum::Null);
        }
        if many { self.many(cx, fraction) } else { self.one(fraction.as_f64()) }
    }

    fn save(&self) -> Vec<Datum> {
        self.rows.iter().flatten().cloned().collect()
    }

    fn merge(&mut self, _: &mut FnCtx, _: &[Datum]) -> Result<()> {
        Err(Error::internal("ordered-set aggregates have no partial form"))
    }

    fn memory(&self) -> usize {
        self.rows.iter().flatten().map(|d| 48 + d.heap_size()).sum()
    }
}
