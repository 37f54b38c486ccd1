//! What every crate shares: identifiers, the one error type, limits.
//!
//! Entry points: [`Error`] and [`Result`], the `err!` and `bail!` macros, the ids.
//! Invariants: ids never convert silently; an error carries PostgreSQL's words and code.
//! It must never know about files, threads, SQL or the wire.

pub mod build;
pub mod damage;
mod error;
mod ids;
pub mod interrupt;
pub mod memory;
pub mod pglz;
pub mod progress;
pub mod quoting;
pub mod settings;
pub mod sqlstate;
pub mod stack;
pub mod wait;

pub use error::{Error, Fields, Result, Severity};
pub use ids::{BlockNo, CommandId, Fork, Lsn, Oid, PAGE_SIZE, RelFile, Tid, Xid};
pub use sqlstate::SqlState;
pub use wait::WaitEvent;
