//! The only door to the operating system: files, asynchronous I/O, threads, locks, clock,
//! randomness, and the seam that everything passes before it waits. Each door has a simulated
//! twin, so that the layers above run unchanged under a deterministic scheduler on a disk that
//! loses, tears and refuses writes.
//!
//! Entry points: [`Disk`] and [`File`]; [`io::IoQueue`]; [`sync`]; [`thread`]; [`clock`];
//! [`random`]; [`wait`]; [`sim::Sim`] and [`sim::SimDisk`] for tests.
//!
//! Invariants: a real door costs one thread-local load more than the call it makes; under the
//! simulator exactly one thread runs at a time and the seed alone decides which is next; a
//! failed sync is never retried here.
//!
//! It must never know what is in a file, nor which subsystem a thread belongs to.

mod aligned;
pub mod clock;
mod disk;
mod error;
pub mod io;
pub mod memory;
pub mod poll;
pub mod process;
pub mod random;
mod real;
pub mod restart;
pub mod sim;
pub mod sync;
pub mod thread;
pub mod wait;

pub use aligned::{AlignedBuf, BUF_ALIGN, HugePages, SharedBuf};
pub use disk::{DirEntry, Disk, File, Metadata, OpenOptions};
pub use error::IoError;
pub use io::{Completion, IoMethod, IoQueue};

/// Ends the process at once, without unwinding: the answer to a broken invariant or a lost
/// log. In the simulator, the machine crashes instead.
pub fn abort(message: &str) {
    if sim::Sim::is_inside() {
        sim::Sim::crash();
        return;
    }
    eprintln!("{message}");
    restart::run();
    std::process::abort();
}
