//! What the tests of the whole system are made with.
//!
//! Entry points: [`Cluster`] (a data directory and a server on a free port), [`Client`] (one
//! connection), [`slt`] (SQL with expected results), [`isolation`] (several sessions, step by
//! step), [`wire`] (messages with expected answers), [`differ`] (random statements on two servers),
//! [`functions`] (every built-in function on two servers). All kinds of text can be recorded from a
//! running PostgreSQL.
//! Invariant: a test that leaves an unexpected error in the server's log fails.
//! It must never know the server's insides: everything goes through programs and the protocol.

mod client;
mod cluster;
pub mod differ;
pub mod functions;
pub mod isolation;
pub mod slt;
pub mod wire;

pub use client::{Client, QueryResult};
pub use cluster::Cluster;

use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().and_then(Path::parent).unwrap_or(here).to_path_buf()
}

/// All files below a folder with this ending, sorted.
pub fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return out };
    for e in entries.flatten() {
        let path = e.path();
        if path.is_dir() {
            out.extend(files_below(&path, ending));
        } else if path.extension().is_some_and(|x| x == ending) {
            out.push(path);
        }
    }
    out.sort();
    out
}
