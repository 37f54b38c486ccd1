//! The nodes of plans: one file or folder for each kind.
//!
//! A node has two parts: its *spec*, compiled once from the plan and shared by all runs, and its
//! *state*, made by [`NodeSpec::start`]. State is pulled: [`Node::next`] gives at most `demand`
//! rows, at least one, or None at the end. A node asks its child for no more rows than it needs to
//! satisfy the demand wherever evaluating a row could be noticed.

pub(crate) mod agg;
pub(crate) mod append;
pub(crate) mod bitmap;
pub(crate) mod cte_scan;
pub(crate) mod function_scan;
pub(crate) mod gather;
pub(crate) mod group;
pub(crate) mod hash_join;
pub(crate) mod index_keys;
pub(crate) mod index_only_scan;
pub(crate) mod index_scan;
pub(crate) mod join;
pub(crate) mod limit;
pub(crate) mod lock_rows;
pub(crate) mod material;
pub(crate) mod memoize;
pub(crate) mod merge_append;
pub(crate) mod merge_join;
pub(crate) mod modify;
pub(crate) mod nest_loop;
pub(crate) mod project_set;
pub(crate) mod recursive_union;
pub(crate) mod result;
pub(crate) mod sample_scan;
pub(crate) mod scan;
pub(crate) mod seq_scan;
pub(crate) mod set_op;
pub(crate) mod sort;
pub(crate) mod subquery_scan;
pub(crate) mod tid_scan;
pub(crate) mod unique;
pub(crate) mod values_scan;
pub(crate) mod window_agg;

use crate::instrument::Instrumented;
use crate::run::Run;
use base::Result;
use std::sync::Arc;
use types::{Batch, Datum, PhysType};

/// A running node.
pub(crate) trait Node: Send {
    /// At most `demand` (at least 1) rows that count, never none; None at the end.
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>>;

    /// Starts over. `changed` lists the exec params that are not what they were before; a node
    /// whose rows do not depend on them may give the rows that it has kept.
    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()>;

    /// Says that no more than the first `bound` rows will be asked for.
    fn set_bound(&mut self, _bound: u64) {}
}

/// A compiled node.
pub(crate) trait NodeSpec: Send + Sync {
    /// The state of a new run.
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>>;

    /// Itself, if it is an index scan: for the short path of point queries.
    fn as_index_scan(&self) -> Option<&index_scan::IndexScanSpec> {
        None
    }

    /// Its only row, if it is sure to have one at most and can give it without a state: for
    /// statements that change one row. `whole` asks for the table's row, too.
    fn only_row(&self, _run: &mut Run, _whole: bool) -> Result<OnlyRow> {
        Ok(OnlyRow::Unknown)
    }
}

/// What [`NodeSpec::only_row`] finds.
pub(crate) enum OnlyRow {
    /// A state is needed to tell.
    Unknown,
    None,
    Found(FoundRow),
}

/// A row without a batch around it.
pub(crate) struct FoundRow {
    /// The node's columns.
    pub columns: Vec<Datum>,
    /// All columns of the row of the table that it was made of, if that is known.
    pub whole: Option<Vec<Datum>>,
}

/// A compiled node with what its parent needs to know.
pub(crate) struct Planned {
    pub id: u32,
    /// How its columns are held.
    pub phys: Vec<PhysType>,
    /// Exec params that its rows depend on.
    pub params: Vec<u32>,
    pub spec: Arc<dyn NodeSpec>,
}

pub(crate) type Child = Arc<Planned>;

impl Planned {
    /// The state of a new run.
    pub fn start(&self, run: &mut Run) -> Result<Box<dyn Node>> {
        let inner = Arc::clone(&self.spec).start(run)?;
        if run.instrumentation.is_some() {
            return Ok(Box::new(Instrumented { id: self.id, inner }));
        }
        Ok(inner)
    }

    /// Whether its rows depend on one of these params.
    pub fn depends_on(&self, changed: &[u32]) -> bool {
        self.params.iter().any(|p| changed.contains(p))
    }
}

/// All rows of a node.
pub(crate) fn drain(
    node: &mut dyn Node,
    run: &mut Run,
    mut f: impl FnMut(&mut Run, Batch) -> Result<()>,
) -> Result<()> {
    while let Some(batch) = node.next(run, types::BATCH_ROWS)? {
        run.check_interrupts()?;
        f(run, batch)?;
    }
    Ok(())
}
