//! Runs plans: a tree of nodes that pull batches of columns from one another.
//!
//! Entry points: [`compile`] (a plan into a [`CompiledStmt`], once), [`Execution`] (a run of it,
//! pulled in pieces), [`ExecCtx`] (what the session lends for the time of a call).
//! Invariants: a compiled statement is read-only, all state is in the run; a node never gives more
//! rows than it was asked for, so that limits, cursors, volatile functions and errors behave row
//! by row where that can be seen; memory that grows with the data is counted in an account.
//! It must never know the wire, SQL text or how plans are chosen.

mod batch;
mod bulk;
mod bulk_writer;
mod compile;
pub mod counts;
mod execution;
mod expr;
pub mod function_counts;
mod hash;
mod hooks;
mod instrument;
mod node;
mod output;
mod parallel;
mod point;
mod prune;
mod row_exprs;
mod run;
mod sort;
mod spill;
mod store;
mod subplan;

#[cfg(test)]
mod tests;

pub use bulk::{BulkInsert, BulkOptions};
pub use compile::{CompiledStmt, compile};
pub use execution::Execution;
pub use hooks::{Hooks, NoHooks, RowChange};
pub use instrument::{Detail, Instrumentation, NodeStats};
pub use node::scan::datum_tid;
pub use parallel::{WorkerTask, Workers};
pub use point::{PointQuery, PointSpace};
pub use row_exprs::RowExprs;
pub use run::{ExecCtx, ExecSettings};
pub use spill::{TempSpace, TempTold};
