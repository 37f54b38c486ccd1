//! The write-ahead log: what happened, in order, durable before anybody is told.
//!
//! Entry points: [`Wal`] (insert, flush, checkpoints), [`RecordBuilder`], [`WalReader`] and
//! [`Record`], [`Redo`] and [`RedoTable`] with [`Wal::recover`], [`ControlFile`].
//!
//! Invariants: a record is valid only at the position it was written for, so no stale byte is
//! ever taken for a record; [`Wal::flushed`] moves only after the disk said yes; a failed sync
//! stops the server; insertion never fails for want of disk space, which
//! [`Wal::check_space`] asks for before a page is touched. Formats and protocols are in
//! `README.md` beside this crate.
//!
//! It must never know what a record means, nor the buffer pool: images are taken from bytes
//! it is shown, and replay goes through [`Redo`].

mod builder;
mod checkpoint;
mod control;
mod flush;
mod image;
mod insert;
mod log;
mod reader;
mod record;
mod recovery;
mod rmgr;
mod segment;
mod slots;
mod usage;

pub use builder::{BlockFlags, RecordBuilder};
pub use control::{CheckPoint, Control, ControlFile, DbState};
pub use flush::FlushListener;
pub use image::{ImageCompression, compress_images};
pub use log::{
    PanicHandler, SyncMethod, USERS, WRITER, Wal, WalConfig, WalStats, WalWrites, count_as,
    set_timed,
};
pub use reader::{ReadOutcome, WalReader};
pub use record::{BlockRef, Record};
pub use recovery::{PageSource, RecoveryEnd, Redo, RedoTable};
pub use rmgr::{Rmgr, xlog_info};
pub use segment::{FileOptions, parse_segment_name, segment_name};
pub use slots::Slots;
pub use usage::WalUsage;
