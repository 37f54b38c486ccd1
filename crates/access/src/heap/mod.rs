//! The heap: rows with their versions in slotted pages. README.md draws the bytes and has the
//! rules of concurrency.

mod build;
pub mod change;
mod check;
mod compact;
pub mod decode;
mod fetch;
mod freeze;
mod locks;
pub mod log;
mod modify;
pub mod page;
pub mod prune;
pub mod record;
mod redo;
mod rel;
mod rewrite;
mod sample;
mod scan;
mod serial_read;
mod tally;
mod vacuum;
mod visibility;
pub mod vm;

pub use build::{BuildRow, BuildScan, unsettled};
pub use decode::Decoder;
pub use fetch::{Found, HeapProbe, Offsets};
pub use modify::{IndexUpdates, Outcome, UpdateOptions};
pub use redo::HeapRedo;
pub use rel::{AttrSet, HeapDesc, HeapRel, InsertOptions, PruneClock};
pub use rewrite::{Rewrite, RewriteReport};
pub use sample::Sample;
pub use scan::{
    BitmapPage, HeapScan, ParallelBlocks, RowFilter, ScanOptions, ScanSight, ScanSource,
    SystemColumns,
};
pub use tally::take_update_counts;
pub use vacuum::{Skip, VacuumOptions, VacuumReport};
pub use visibility::{Sight, Viewer};

#[cfg(test)]
mod tests;
