//! The simulator: a scheduler that runs one thread at a time, and a disk in memory. See
//! `README.md` beside the crate for what they promise.

mod content;
mod disk;
pub mod sched;

pub use disk::{Faults, SimDisk, SimFile};
pub use sched::{Sim, Stop};
