//! A state for each group, and the loops that update them.

use super::GroupedAgg;
use crate::call::{Arg, FnCtx, Rows};
use crate::kernel::ArgType;
use base::{Oid, Result, err};
use types::Datum;
use types::record::{Record, RecordColumn};

/// The state of one group.
pub trait State: Clone + Send + 'static {
    /// Takes in a row.
    fn step(&mut self, cx: &mut FnCtx, args: &[Datum]) -> Result<()>;
    /// The result.
    fn finish(&self, cx: &mut FnCtx) -> Result<Datum>;
    /// The result with direct arguments.
    fn finish_direct(&self, cx: &mut FnCtx, _direct: &[Datum]) -> Result<Datum> {
        self.finish(cx)
    }
    /// The state as values.
    fn save(&self) -> Vec<Datum>;
    /// Takes in a saved state.
    fn merge(&mut self, cx: &mut FnCtx, saved: &[Datum]) -> Result<()>;
    /// Takes a row out again; false if that is not possible.
    fn retract(&mut self, _cx: &mut FnCtx, _args: &[Datum]) -> Result<bool> {
        Ok(false)
    }
    /// Bytes held elsewhere.
    fn memory(&self) -> usize {
        0
    }
}

/// A state that takes one fixed-size or byte-string argument in a tight loop.
pub(super) trait TypedState<'a, A>: State {
    /// Takes in a value.
    fn add(&mut self, value: A) -> Result<()>;
}

/// States of groups, updated row by row.
pub struct MadeOf<S> {
    states: Vec<S>,
    empty: S,
    /// Rows with a NULL argument are skipped.
    strict: bool,
}

impl<S: State> MadeOf<S> {
    /// No groups; new ones start as `empty`.
    pub fn new(empty: S, strict: bool) -> MadeOf<S> {
        MadeOf { states: Vec::new(), empty, strict }
    }
}

fn save(values: Vec<Datum>) -> Datum {
    let column = |value| RecordColumn { type_oid: Oid::INVALID, value };
    Record::anonymous(values.into_iter().map(column).collect()).encode()
}

fn saved(partial: &Datum) -> Result<Vec<Datum>> {
    Ok(Record::decode(partial.as_bytes())?.columns.into_iter().map(|c| c.value).collect())
}

/// The parts of [`GroupedAgg`] that do not depend on how rows come in.
macro_rules! common {
    () => {
        fn resize(&mut self, groups: usize) {
            self.states.resize(groups, self.empty.clone());
        }
        fn finish(&self, cx: &mut FnCtx, group: usize) -> Result<Datum> {
            self.states[group].finish(cx)
        }
        fn finish_direct(&self, cx: &mut FnCtx, group: usize, direct: &[Datum]) -> Result<Datum> {
            self.states[group].finish_direct(cx, direct)
        }
        fn partial(&self, _: &mut FnCtx, group: usize) -> Result<Datum> {
            Ok(save(self.states[group].save()))
        }
        fn merge(&mut self, cx: &mut FnCtx, group: usize, partial: &Datum) -> Result<()> {
            let values = saved(partial)?;
            self.states[group].merge(cx, &values)
        }
        fn reset(&mut self, group: usize) {
            self.states[group] = self.empty.clone();
        }
        fn memory(&self) -> usize {
            let own = self.states.len() * size_of::<S>();
            own + self.states.iter().map(S::memory).sum::<usize>()
        }
    };
}

impl<S: State> GroupedAgg for MadeOf<S> {
    fn update(
        &mut self,
        cx: &mut FnCtx,
        groups: Option<&[u32]>,
        args: &[Arg],
        rows: Rows,
    ) -> Result<()> {
        let mut values = vec![Datum::Null; args.len()];
        rows.each(|i| {
            if self.strict && args.iter().any(|a| a.is_null(i)) {
                return Ok(());
            }
            for (value, arg) in values.iter_mut().zip(args) {
                *value = arg.get(i);
                if let Datum::Bytes(bytes) = value {
                    // Most states of long values keep them.
                    base::interrupt::room(bytes.len())?;
                }
            }
            let group = groups.map_or(0, |g| g[i] as usize);
            self.states[group].step(cx, &values)
        })
    }

    fn retract(&mut self, cx: &mut FnCtx, group: usize, args: &[Datum]) -> Result<bool> {
        if self.strict && args.iter().any(Datum::is_null) {
            return Ok(true);
        }
        self.states[group].retract(cx, args)
    }

    common!();
}

/// States of groups, updated by loops over a typed column. `A` is the argument's type.
pub(super) struct Typed<A, S> {
    states: Vec<S>,
    empty: S,
    argument: std::marker::PhantomData<fn(A)>,
}

impl<A, S: State> Typed<A, S> {
    pub(super) fn new(empty: S) -> Typed<A, S> {
        Typed { states: Vec::new(), empty, argument: std::marker::PhantomData }
    }
}

impl<A, S> GroupedAgg for Typed<A, S>
where
    A: for<'a> ArgType<'a> + 'static,
    S: for<'a> TypedState<'a, A>,
{
    fn update(
        &mut self,
        _: &mut FnCtx,
        groups: Option<&[u32]>,
        args: &[Arg],
        rows: Rows,
    ) -> Result<()> {
        match args[0] {
            Arg::Const(Datum::Null) => Ok(()),
            Arg::Const(value) => {
                rows.each(|i| self.states[groups.map_or(0, |g| g[i] as usize)].add(A::of(value)))
            }
            Arg::Column(column) => {
                let reader = A::reader(column);
                let nulls = column.nulls.as_ref();
                match (groups, nulls, rows.sel) {
                    (None, None, None) => {
                        let state = &mut self.states[0];
                        (0..rows.len).try_for_each(|i| state.add(A::read(reader, i)))
                    }
                    (Some(groups), None, None) => (0..rows.len)
                        .try_for_each(|i| self.states[groups[i] as usize].add(A::read(reader, i))),
                    _ => rows.each(|i| {
                        if nulls.is_some_and(|n| n.get(i)) {
                            return Ok(());
                        }
                        self.states[groups.map_or(0, |g| g[i] as usize)].add(A::read(reader, i))
                    }),
                }
            }
        }
    }

    fn retract(&mut self, cx: &mut FnCtx, group: usize, args: &[Datum]) -> Result<bool> {
        if args[0].is_null() {
            return Ok(true);
        }
        self.states[group].retract(cx, args)
    }

    common!();
}

/// As [`Typed`], for byte strings.
pub(super) struct TypedBytes<S> {
    states: Vec<S>,
    empty: S,
}

impl<S: State> TypedBytes<S> {
    pub(super) fn new(empty: S) -> TypedBytes<S> {
        TypedBytes { states: Vec::new(), empty }
    }
}

impl<S> GroupedAgg for TypedBytes<S>
where
    S: for<'a> TypedState<'a, &'a [u8]>,
{
    fn update(
        &mut self,
        _: &mut FnCtx,
        groups: Option<&[u32]>,
        args: &[Arg],
        rows: Rows,
    ) -> Result<()> {
        let group = |i: usize| groups.map_or(0, |g| g[i] as usize);
        match args[0] {
            Arg::Const(Datum::Null) => Ok(()),
            Arg::Const(value) => rows.each(|i| self.states[group(i)].add(value.as_bytes())),
            Arg::Column(column) => {
                let reader = <&[u8]>::reader(column);
                rows.each(|i| {
                    if column.is_null(i) {
                        return Ok(());
                    }
                    self.states[group(i)].add(reader.get(i))
                })
            }
        }
    }

    fn retract(&mut self, cx: &mut FnCtx, group: usize, args: &[Datum]) -> Result<bool> {
        if args[0].is_null() {
            return Ok(true);
        }
        self.states[group].retract(cx, args)
    }

    common!();
}

/// How many rows: `count(*)`, or `count(x)` where NULLs do not count.
#[derive(Default)]
pub(super) struct Count {
    counts: Vec<i64>,
}

impl GroupedAgg for Count {
    fn resize(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    fn update(
        &mut self,
        _: &mut FnCtx,
        groups: Option<&[u32]>,
        args: &[Arg],
        rows: Rows,
    ) -> Result<()> {
        let nulls = match args.first() {
            Some(Arg::Const(Datum::Null)) => return Ok(()),
            Some(Arg::Column(c)) => c.nulls.as_ref(),
            _ => None,
        };
        match (groups, nulls) {
            (None, None) => self.counts[0] += rows.count() as i64,
            (None, Some(nulls)) => rows.each(|i| {
                self.counts[0] += !nulls.get(i) as i64;
                Ok(())
            })?,
            (Some(groups), None) => rows.each(|i| {
                self.counts[groups[i] as usize] += 1;
                Ok(())
            })?,
            (Some(groups), Some(nulls)) => rows.each(|i| {
                self.counts[groups[i] as usize] += !nulls.get(i) as i64;
                Ok(())
            })?,
        }
        Ok(())
    }

    fn finish(&self, _: &mut FnCtx, group: usize) -> Result<Datum> {
        Ok(Datum::I64(self.counts[group]))
    }

    fn partial(&self, _: &mut FnCtx, group: usize) -> Result<Datum> {
        Ok(save(vec![Datum::I64(self.counts[group])]))
    }

    fn merge(&mut self, _: &mut FnCtx, group: usize, partial: &Datum) -> Result<()> {
        self.counts[group] = self.counts[group]
            .checked_add(saved(partial)?.first().map_or(0, Datum::as_i64))
            .ok_or_else(|| err!(NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range"))?;
        Ok(())
    }

    fn reset(&mut self, group: usize) {
        self.counts[group] = 0;
    }

    fn retract(&mut self, _: &mut FnCtx, group: usize, args: &[Datum]) -> Result<bool> {
        self.counts[group] -= !args.iter().any(Datum::is_null) as i64;
        Ok(true)
    }

    fn memory(&self) -> usize {
        self.counts.len() * 8
    }
}
