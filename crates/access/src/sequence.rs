//! Sequences: a relation of one page with one row (last_value, log_cnt, is_called), changed in
//! place and outside of transactions.
//!
//! The log runs ahead: a record says that the next 32 values are taken, and the page counts them
//! down without further records. After a crash the values that were logged and not given out are
//! skipped; none comes twice.

use crate::Storage;
use crate::heap::log::{Touched, log_change};
use crate::heap::page::{self, MIN_HOFF, TupleMut};
use base::{BlockNo, Fork, Lsn, RelFile, Result, Tid, Xid, bail, err};
use buffer::{BufferPool, PageMut, Persistence};
use std::sync::Arc;
use types::{Attr, TupleDesc};
use wal::{Record, Redo, Rmgr};

/// Values that one log record covers beyond those that are wanted.
const LOG_AHEAD: i64 = 32;
/// The only kind of record: the row as it will be.
const SET: u8 = 0x00;
/// Bytes of the row's data: two bigints and a boolean.
const ROW: usize = 17;

/// What a sequence was told (`pg_sequence`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceOptions {
    /// First value.
    pub start: i64,
    /// Step, not 0.
    pub increment: i64,
    /// Least value.
    pub min: i64,
    /// Greatest value.
    pub max: i64,
    /// Values that a session takes at a time, at least 1.
    pub cache: i64,
    /// Starts over at the end.
    pub cycle: bool,
}

/// The row of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceRow {
    /// The last value given out, or the next if `is_called` is false.
    pub last_value: i64,
    /// Values still covered by the log.
    pub log_cnt: i64,
    /// Whether `last_value` was given out.
    pub is_called: bool,
}

/// Values that a session got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// The first: the result.
    pub first: i64,
    /// The last of those the session may use without asking again, in steps of the increment.
    pub last: i64,
    /// A log record was written that the transaction's commit must wait for.
    pub logged: Option<Lsn>,
}

/// Columns of a sequence as a table.
pub fn columns() -> TupleDesc {
    let mut attrs = vec![
        Attr::new("last_value", types::oid::INT8, 8, true, 8),
        Attr::new("log_cnt", types::oid::INT8, 8, true, 8),
        Attr::new("is_called", types::oid::BOOL, 1, true, 1),
    ];
    attrs.iter_mut().for_each(|a| a.not_null = true);
    TupleDesc::new(attrs)
}

impl SequenceRow {
    fn encode(self) -> [u8; ROW] {
        let mut out = [0; ROW];
        out[..8].copy_from_slice(&self.last_value.to_le_bytes());
        out[8..16].copy_from_slice(&self.log_cnt.to_le_bytes());
        out[16] = self.is_called as u8;
        out
    }

    fn decode(data: &[u8]) -> Result<SequenceRow> {
        let (Some(a), Some(b), Some(c)) = (
            data.first_chunk::<8>(),
            data.get(8..).and_then(|d| d.first_chunk::<8>()),
            data.get(16),
        ) else {
            bail!(DATA_CORRUPTED, "sequence row is too short");
        };
        Ok(SequenceRow {
            last_value: i64::from_le_bytes(*a),
            log_cnt: i64::from_le_bytes(*b),
            is_called: *c != 0,
        })
    }

    /// The row's tuple: frozen, so that every snapshot sees it.
    fn tuple(self) -> Vec<u8> {
        let mut out = vec![0; MIN_HOFF];
        let mut t = TupleMut::new(&mut out);
        t.set_shape(3, page::XMIN_FROZEN | page::XMAX_INVALID, MIN_HOFF as u8);
        t.set_xmin(Xid::FROZEN.0 as u32);
        t.set_ctid(Tid::new(0, 1));
        out.extend_from_slice(&self.encode());
        out
    }
}

/// Makes the page anew with this row.
fn rebuild(page: &mut page::Bytes, row: SequenceRow) {
    let lsn = buffer::page_lsn(page);
    page::init(page, 0);
    page[..8].copy_from_slice(&lsn.0.to_le_bytes());
    page::add_tuple(page, 1, &row.tuple());
}

fn read_row(page: &page::Bytes) -> Result<SequenceRow> {
    match page::tuple(page, 1) {
        Some(t) => SequenceRow::decode(t.data()),
        None => Err(err!(DATA_CORRUPTED, "bad magic number in sequence: it has no row")),
    }
}

/// Changes the row without making the page anew.
fn write_row(page: &mut page::Bytes, row: SequenceRow) {
    if let page::Line::Normal { at, .. } = page::line(page, 1) {
        let from = at as usize + MIN_HOFF;
        page[from..from + ROW].copy_from_slice(&row.encode());
    }
}

/// A sequence's files.
pub struct Sequence {
    storage: Arc<Storage>,
    file: RelFile,
    persistence: Persistence,
}

impl Sequence {
    /// The sequence in these files.
    pub fn open(storage: &Arc<Storage>, file: RelFile, persistence: Persistence) -> Sequence {
        Sequence { storage: Arc::clone(storage), file, persistence }
    }

    /// Makes the content of a new sequence whose files exist and are empty.
    pub fn create(&self, row: SequenceRow) -> Result<()> {
        let files = self.storage.pool.relation(self.file, self.persistence);
        let mut page = files.extend_one(Fork::Main)?;
        rebuild(&mut page, row);
        self.log(&mut page, row);
        if self.persistence == Persistence::Unlogged {
            // What recovery resets it to.
            files.create_fork(Fork::Init)?;
            let mut init = files.extend_one(Fork::Init)?;
            rebuild(&mut init, row);
            init.mark_dirty();
        }
        Ok(())
    }

    fn page(&self) -> Result<PageMut<'static>> {
        let files = self.storage.pool.relation(self.file, self.persistence);
        files.read_exclusive(Fork::Main, BlockNo(0))
    }

    fn log(&self, page: &mut PageMut<'_>, row: SequenceRow) -> Lsn {
        let main = row.encode();
        let touched = Touched { id: 0, page, init: true, data: &[] };
        log_change(&self.storage, Rmgr::Sequence, SET, Xid::INVALID, &main, &mut [touched])
    }

    /// The row.
    pub fn read(&self) -> Result<SequenceRow> {
        let page = self.page()?;
        read_row(&page)
    }

    /// Takes the next value and `cache - 1` more. `name` is for messages.
    pub fn next(&self, options: &SequenceOptions, name: &str) -> Result<Taken> {
        let mut page = self.page()?;
        let row = read_row(&page)?;
        let cache = options.cache.max(1);
        let (mut next, mut count) = (row.last_value, 0);
        let mut fetch = cache;
        let mut log = row.log_cnt;
        let (mut first, mut last) = (next, next);
        if !row.is_called {
            count = 1;
            fetch -= 1;
        }
        // After a checkpoint the page must be in the log again: redo would begin without it.
        let stale = self.storage.wal.redo_pointer() >= page.lsn();
        let logs = log < fetch || !row.is_called || stale;
        if logs {
            fetch += LOG_AHEAD;
            log = fetch;
        }
        while fetch > 0 {
            match step(next, options) {
                Some(n) => next = n,
                None if count > 0 => break,
                None if !options.cycle => return Err(exhausted(options, name)),
                None if options.increment > 0 => next = options.min,
                None => next = options.max,
            }
            fetch -= 1;
            if count < cache {
                log -= 1;
                count += 1;
                last = next;
                if count == 1 {
                    first = next;
                }
            }
        }
        log -= fetch;
        let mut logged = None;
        if logs {
            let ahead = SequenceRow { last_value: next, log_cnt: 0, is_called: true };
            write_row(&mut page, ahead);
            let lsn = self.log(&mut page, ahead);
            logged = lsn.is_valid().then_some(lsn);
        } else {
            page.mark_dirty();
        }
        write_row(&mut page, SequenceRow { last_value: last, log_cnt: log, is_called: true });
        Ok(Taken { first, last, logged })
    }

    /// Sets the sequence, as `setval` and RESTART do, after the caller has checked the bounds.
    pub fn set(&self, last_value: i64, is_called: bool) -> Result<Lsn> {
        let mut page = self.page()?;
        let row = SequenceRow { last_value, log_cnt: 0, is_called };
        rebuild(&mut page, row);
        Ok(self.log(&mut page, row))
    }
}

/// The value after `value`, unless that is out of bounds.
fn step(value: i64, o: &SequenceOptions) -> Option<i64> {
    let next = value.checked_add(o.increment)?;
    let inside = if o.increment > 0 { next <= o.max } else { next >= o.min };
    inside.then_some(next)
}

#[cold]
fn exhausted(o: &SequenceOptions, name: &str) -> base::Error {
    let (what, bound) = if o.increment > 0 { ("maximum", o.max) } else { ("minimum", o.min) };
    err!(
        SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
        "nextval: reached {what} value of sequence \"{name}\" ({bound})"
    )
}

/// Redo of [`Rmgr::Sequence`].
pub struct SequenceRedo {
    pool: Arc<BufferPool>,
}

impl SequenceRedo {
    /// Over this pool.
    pub fn new(pool: &Arc<BufferPool>) -> SequenceRedo {
        SequenceRedo { pool: Arc::clone(pool) }
    }
}

impl Redo for SequenceRedo {
    fn redo(&self, rec: &Record) -> Result<()> {
        let row = SequenceRow::decode(rec.data())?;
        let Some(b) = rec.block(0) else {
            bail!(DATA_CORRUPTED, "sequence log record lacks its page");
        };
        let mut page = self.pool.read_for_redo(b.rel, b.fork, b.block, true)?;
        rebuild(&mut page, row);
        page.mark_dirty();
        page.set_lsn(rec.lsn_end);
        Ok(())
    }

    fn describe(&self, rec: &Record) -> String {
        match SequenceRow::decode(rec.data()) {
            Ok(row) => format!("LOG last: {}", row.last_value),
            Err(_) => "LOG".into(),
        }
    }
}
