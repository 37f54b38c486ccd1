//! Minimum, maximum, any value, and the folds by a function of two values of the same type.

use super::state::{State, TypedState};
use crate::call::FnCtx;
use crate::collation::Collator;
use base::Result;
use std::cmp::Ordering;
use std::sync::Arc;
use types::compare::compare_f64;
use types::{Blob, Datum};

/// A fixed-size type with a total order.
pub(super) trait Extreme: Copy + Send + 'static {
    fn order(self, other: Self) -> Ordering;
    fn datum(self) -> Datum;
    fn of(value: &Datum) -> Option<Self>;
}

macro_rules! extreme {
    ($($t:ty, $variant:ident, $order:expr);*) => {$(
        impl Extreme for $t {
            #[inline(always)]
            fn order(self, other: $t) -> Ordering {
                let f: fn($t, $t) -> Ordering = $order;
                f(self, other)
            }
            fn datum(self) -> Datum {
                Datum::$variant(self)
            }
            fn of(value: &Datum) -> Option<$t> {
                match value {
                    Datum::$variant(x) => Some(*x),
                    _ => None,
                }
            }
        }
    )*};
}
extreme!(
    i16, I16, |a, b| a.cmp(&b);
    i32, I32, |a, b| a.cmp(&b);
    i64, I64, |a, b| a.cmp(&b);
    u32, U32, |a, b| a.cmp(&b);
    f32, F32, |a, b| compare_f64(a as f64, b as f64);
    f64, F64, compare_f64
);

/// The least or greatest value of a fixed-size type.
#[derive(Clone)]
pub(super) struct Best<T> {
    best: Option<T>,
    want: Ordering,
}

impl<T> Best<T> {
    pub(super) fn new(want: Ordering) -> Best<T> {
        Best { best: None, want }
    }
}

impl<T: Extreme> TypedState<'_, T> for Best<T> {
    #[inline(always)]
    fn add(&mut self, value: T) -> Result<()> {
        match self.best {
            // Of equal values the last one counts: they may be shown differently.
            Some(best) if value.order(best) == self.want.reverse() => {}
            _ => self.best = Some(value),
        }
        Ok(())
    }
}

impl<T: Extreme> State for Best<T> {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        match T::of(&args[0]) {
            Some(value) => self.add(value),
            None => Ok(()),
        }
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        Ok(self.best.map_or(Datum::Null, T::datum))
    }
    fn save(&self) -> Vec<Datum> {
        vec![self.best.map_or(Datum::Null, T::datum)]
    }
    fn merge(&mut self, cx: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        self.step(cx, saved)
    }
}

/// The least or greatest byte string by an order.
#[derive(Clone)]
pub(super) struct BestBytes {
    best: Option<Blob>,
    want: Ordering,
    order: fn(&[u8], &[u8]) -> Ordering,
    /// Of equal values the first one counts.
    first: bool,
}

impl BestBytes {
    pub(super) fn new(want: Ordering, order: fn(&[u8], &[u8]) -> Ordering) -> BestBytes {
        BestBytes { best: None, want, order, first: false }
    }

    /// The first one of equal values.
    pub(super) fn first_of(self) -> BestBytes {
        BestBytes { first: true, ..self }
    }
}

impl<'a> TypedState<'a, &'a [u8]> for BestBytes {
    #[inline]
    fn add(&mut self, value: &'a [u8]) -> Result<()> {
        match &self.best {
            Some(best) if !self.is_better((self.order)(value, best)) => {}
            _ => self.best = Some(Blob::new(value)),
        }
        Ok(())
    }
}

impl State for BestBytes {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        if args[0].is_null() { Ok(()) } else { self.add(args[0].as_bytes()) }
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        Ok(self.best.clone().map_or(Datum::Null, Datum::Bytes))
    }
    fn save(&self) -> Vec<Datum> {
        vec![self.best.clone().map_or(Datum::Null, Datum::Bytes)]
    }
    fn merge(&mut self, cx: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        self.step(cx, saved)
    }
    fn memory(&self) -> usize {
        self.best.as_ref().map_or(0, Blob::heap_size)
    }
}

impl BestBytes {
    #[inline]
    fn is_better(&self, order: Ordering) -> bool {
        order == self.want || (order.is_eq() && !self.first)
    }
}

/// The least or greatest text of a collation.
#[derive(Clone)]
pub(super) struct BestText {
    best: Datum,
    want: Ordering,
    collator: Arc<Collator>,
}

impl BestText {
    pub(super) fn new(want: Ordering, collator: Arc<Collator>) -> BestText {
        BestText { best: Datum::Null, want, collator }
    }
}

impl State for BestText {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        if args[0].is_null() {
            return Ok(());
        }
        let better = self.best.is_null()
            || self.collator.compare(args[0].as_str(), self.best.as_str()) != self.want.reverse();
        if better {
            self.best = args[0].clone();
        }
        Ok(())
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        Ok(self.best.clone())
    }
    fn save(&self) -> Vec<Datum> {
        vec![self.best.clone()]
    }
    fn merge(&mut self, cx: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        self.step(cx, saved)
    }
}

/// The least or greatest value of a type whose order needs the catalogs.
#[derive(Clone)]
pub(super) struct BestOf {
    best: Datum,
    want: Ordering,
}

impl BestOf {
    pub(super) fn new(want: Ordering) -> BestOf {
        BestOf { best: Datum::Null, want }
    }
}

impl State for BestOf {
    fn step(&mut self, cx: &mut FnCtx, args: &[Datum]) -> Result<()> {
        if args[0].is_null() {
            return Ok(());
        }
        let type_oid = cx.call.arg_type(0);
        let lookup = cx.env.catalog().types();
        if self.best.is_null()
            || types::compare::compare(type_oid, &args[0], &self.best, lookup)?
                != self.want.reverse()
        {
            self.best = args[0].clone();
        }
        Ok(())
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        Ok(self.best.clone())
    }
    fn save(&self) -> Vec<Datum> {
        vec![self.best.clone()]
    }
    fn merge(&mut self, cx: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        self.step(cx, saved)
    }
    fn memory(&self) -> usize {
        self.best.heap_size()
    }
}

/// A value folded by a function of two.
#[derive(Clone)]
pub(super) struct Fold {
    value: Datum,
    with: fn(&Datum, &Datum) -> Result<Datum>,
}

impl Fold {
    pub(super) fn new(with: fn(&Datum, &Datum) -> Result<Datum>) -> Fold {
        Fold { value: Datum::Null, with }
    }
}

impl State for Fold {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        self.value = match (&self.value, &args[0]) {
            (_, Datum::Null) => return Ok(()),
            (Datum::Null, value) => value.clone(),
            (old, value) => (self.with)(old, value)?,
        };
        Ok(())
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        Ok(self.value.clone())
    }
    fn save(&self) -> Vec<Datum> {
        vec![self.value.clone()]
    }
    fn merge(&mut self, cx: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        self.step(cx, saved)
    }
}
