//! Access methods: how rows and index entries lie in pages, and how they are found again.
//!
//! Entry points: `heap::HeapRel` (rows: insert, update, delete, lock, fetch, scan, vacuum),
//! `index` (the traits every index has) and `btree`, `sequence` (one-page counters), `Storage`
//! (pool, log and transaction manager, which everything here needs).
//! Invariants: a page changes only under its exclusive latch, and its log record is inserted
//! before the latch is let go; redo calls the same page functions as forward work.
//! It must never know about catalogs, SQL or sessions: all it needs comes in descriptors.

pub mod heap;
pub mod toast;
