//! Checks of the repository itself, run as tests: which crate may use which, how long files,
//! functions and lines may be, and who may open files, threads and sockets.
//!
//! Entry points: [`edges`], [`source`].
//! Invariant: a rule is one table or constant here, with the reason beside it.

pub mod edges;
pub mod settings;
pub mod source;
