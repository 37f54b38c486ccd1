//! The programs around the server, each with PostgreSQL's name, flags, output and exit codes.
//!
//! Entry points: one `main` per program, given its arguments without the program's name; it returns
//! the exit code. [`client`] is the client library they share.
//! They must never know the engine: what they do to a server they do from outside.

pub mod client;
pub mod oid2name;
pub mod options;
pub mod pg_config;
pub mod pg_controldata;
pub mod pg_ctl;
pub mod pg_isready;
pub mod pg_resetwal;
pub mod pg_test_fsync;
pub mod pg_test_timing;
pub mod scripts;

/// What `--version` prints after a program's name.
pub fn version() -> String {
    format!("(PostgreSQL) {}", base::build::release_of_whom())
}
