//! Aggregates: the states of many groups at once.
//!
//! A built-in aggregate is a [`GroupedAgg`]: it keeps a state for each group and updates them from
//! columns. An aggregate that users define runs its transition function row by row in the
//! executor instead. Ordered-set aggregates expect their rows in order; their direct arguments
//! come with [`GroupedAgg::finish_direct`].

mod collect;
mod extreme;
mod list;
mod ordered;
mod state;
mod statistics;
pub(crate) mod steps;
mod sum;

pub use state::{MadeOf, State};

use crate::call::{Arg, CallInfo, FnCtx, Rows};
use base::{Oid, Result};
use types::Datum;

/// The states of one aggregate call for all groups.
pub trait GroupedAgg: Send {
    /// Makes room for `groups` groups; new ones are empty.
    fn resize(&mut self, groups: usize);

    /// Takes in the rows that count: row at position `i` belongs to group `groups[i]`. Aggregates
    /// that skip NULLs do so themselves. With `groups` None all rows belong to group 0.
    fn update(
        &mut self,
        cx: &mut FnCtx,
        groups: Option<&[u32]>,
        args: &[Arg],
        rows: Rows,
    ) -> Result<()>;

    /// The result of a group; may be asked for more than once.
    fn finish(&self, cx: &mut FnCtx, group: usize) -> Result<Datum>;

    /// The result of a group of an ordered-set aggregate with these direct arguments.
    fn finish_direct(&self, cx: &mut FnCtx, group: usize, direct: &[Datum]) -> Result<Datum> {
        let _ = direct;
        self.finish(cx, group)
    }

    /// The state of a group as a value, for spilling and for partial aggregation.
    fn partial(&self, cx: &mut FnCtx, group: usize) -> Result<Datum>;

    /// Takes a state made by [`GroupedAgg::partial`] into a group.
    fn merge(&mut self, cx: &mut FnCtx, group: usize, partial: &Datum) -> Result<()>;

    /// Empties a group.
    fn reset(&mut self, group: usize);

    /// Takes a row out of a group again, for moving frames; false if this aggregate cannot.
    fn retract(&mut self, cx: &mut FnCtx, group: usize, args: &[Datum]) -> Result<bool> {
        let _ = (cx, group, args);
        Ok(false)
    }

    /// Bytes held, for memory accounts.
    fn memory(&self) -> usize;
}

/// Makes the states of a call.
pub type AggFactory = fn(&CallInfo) -> Result<Box<dyn GroupedAgg>>;

/// The built-in aggregate of this function OID.
pub fn aggregate(oid: Oid) -> Option<AggFactory> {
    list::factory(oid)
}

#[cfg(test)]
mod tests;
