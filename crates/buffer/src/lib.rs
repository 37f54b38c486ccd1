//! Relation files and the page cache: every byte of a table or index passes through here.
//!
//! Entry points: [`BufferPool`] (one per server), [`RelFiles`] (one per relation, from
//! [`BufferPool::relation`]): `read`, `extend`, `truncate`; [`Pin`], [`PageRef`], [`PageMut`]
//! and [`OptPage`] for the bytes; [`ReadStream`] for scans; `RelFiles::page_with_space` and
//! `record_free_space` for the free space map; [`BufferPool::checkpoint`] and
//! [`BufferPool::background_write`]; [`BufferPool::read_for_redo`] for recovery.
//!
//! Invariants: a page is in at most one frame; a pinned page stays; bytes change only under the
//! exclusive latch; a page goes to disk only after the log up to its LSN; every page on disk
//! has a checksum or is all zeros; what a checkpoint found dirty is on disk and synced when it
//! returns. The protocol is in README.md.
//!
//! It must never know what is in a page beyond the header, nor which transactions exist.

pub mod counts;
mod frame;
pub mod fsm;
mod map;
mod page;
mod pool;
mod redo;
mod relation;
mod replace;
mod segment;
mod stream;
mod usage;
mod word;
mod write;

pub use counts::{Backend, Context, Op};
pub use frame::{OptPage, PageMut, PageRef, Pin};
pub use page::{
    OFF_FLAGS, OFF_LOWER, OFF_PAGESIZE_VERSION, OFF_SPECIAL, OFF_UPPER, PAGE_HEADER_SIZE,
    PAGESIZE_VERSION, Page, page_checksum, page_is_new, page_lsn, set_page_lsn,
};
pub use pool::{BufferPool, FatalHandler, Log, PoolConfig, PoolStats};
pub use redo::{RedoBlock, STORAGE_CREATE, STORAGE_TRUNCATE, StorageRedo, XlogRedo, log_change};
pub use relation::{MAX_BLOCKS, Persistence, RelFiles};
pub use replace::{Ring, Strategy};
pub use segment::SEGMENT_BLOCKS;
pub use stream::{ReadStream, Upcoming};
pub use usage::{BufferUsage, count_temp};
pub use write::CheckpointCounts;
