//! The database: opened, recovered, kept running, and the sessions that run statements in it.
//! Usable in-process, without a socket.
//!
//! Entry points: [`settings`] (what SET and SHOW work on), [`sink`] (where results go),
//! [`ddl`] (statements that define things).
//! Invariants: a statement's error never leaves its session; nothing here knows sockets.
//! It must never know the wire protocol.

pub mod activity;
mod advisory_fn;
mod analysis;
mod auth_files;
mod autovacuum;
mod command;
mod constraint;
pub mod cook;
mod database;
pub mod ddl;
mod describe;
mod functions;
mod inner_query;
mod large_object;
pub mod log;
pub mod log_time;
pub mod notify;
mod notify_fn;
pub mod offline;
mod origin_fn;
mod ri;
pub mod rows;
mod sequence_fn;
mod server_file_fn;
mod session;
pub mod settings;
pub mod sink;
mod sql_function;
mod statistics_fn;
mod stats;
pub mod sysfn;
mod trigger;
mod wal_fn;

pub use ::functions::Regex;
pub use ::functions::collation::icu_locale;
pub use activity::SslInfo;
pub use auth_files::{AuthFiles, HbaRule, IdentMapping};
pub use database::{
    BACKEND_TITLE, CheckpointKind, CreateOptions, Database, DatabaseState, PendingFiles,
};
pub use session::{
    Session, SessionCore, SessionEnd, SessionOptions, StatementEnv, TransactionStatus,
};
pub use session::{rank, rank_named};
pub use txn::Interrupts;
pub use wal::FlushListener;
