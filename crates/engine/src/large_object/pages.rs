//! The bytes of large objects.

use access::index::{Direction, ScanKey, Strategy};
use base::{Oid, Result, bail};
use catalog::{HeapStore, RowWriter, SysRow, indexes, oids};
use txn::Snapshot;
use types::{Blob, Datum};

/// Bytes of a page.
const PAGE: i64 = 2048;

/// Bytes that a large object can have.
pub const MAX_SIZE: i64 = i32::MAX as i64 * PAGE;

/// Rows that are read at a time: 2 MB.
const PAGES_AT_ONCE: usize = 1024;

/// The bytes of one large object, as a snapshot sees them.
pub struct Pages<'a> {
    pub store: &'a HeapStore,
    pub object: Oid,
    pub snapshot: Snapshot,
}

fn page_number(row: &SysRow) -> Result<i64> {
    row.i32("pageno").map(i64::from)
}

fn bytes(row: &SysRow) -> Result<&[u8]> {
    Ok(row.get("data")?.as_bytes())
}

impl Pages<'_> {
    fn rows(&self, from: i64, direction: Direction, most: usize) -> Result<Vec<SysRow>> {
        let from = Datum::I32(from.clamp(0, i64::from(i32::MAX)) as i32);
        let keys = vec![
            ScanKey::new(0, Strategy::Eq, Datum::U32(self.object.0)),
            ScanKey::new(1, Strategy::Ge, from),
        ];
        let index = indexes::PG_LARGEOBJECT_PAGE;
        self.store.scan_range(index, keys, &self.snapshot, direction, most)
    }

    /// One past the last byte.
    pub fn size(&self) -> Result<i64> {
        match self.rows(0, Direction::Backward, 1)?.first() {
            Some(row) => Ok(page_number(row)? * PAGE + bytes(row)?.len() as i64),
            None => Ok(0),
        }
    }

    /// At most so many bytes from a position on.
    pub fn read(&self, at: i64, count: i64) -> Result<Vec<u8>> {
        let end = at.saturating_add(count).min(self.size()?);
        let mut out = vec![0; usize::try_from(end - at).unwrap_or(0)];
        let mut page = at / PAGE;
        while page * PAGE < end {
            let rows = self.rows(page, Direction::Forward, PAGES_AT_ONCE)?;
            let Some(last) = rows.last() else { break };
            page = page_number(last)? + 1;
            for row in &rows {
                let start = page_number(row)? * PAGE;
                let data = bytes(row)?;
                let (from, to) = (start.max(at), (start + data.len() as i64).min(end));
                if from < to {
                    let source = &data[(from - start) as usize..(to - start) as usize];
                    out[(from - at) as usize..(to - at) as usize].copy_from_slice(source);
                }
            }
        }
        Ok(out)
    }

    fn insert(&self, page: i64, data: Vec<u8>) -> Result<()> {
        let mut row = SysRow::new(oids::PG_LARGEOBJECT)?;
        row.set_oid("loid", self.object)?
            .set_i32("pageno", page as i32)?
            .set("data", Datum::Bytes(Blob::from(data)))?;
        self.store.insert(row)?;
        Ok(())
    }

    fn replace(&self, mut row: SysRow, data: Vec<u8>) -> Result<()> {
        row.set("data", Datum::Bytes(Blob::from(data)))?;
        self.store.update(row)?;
        Ok(())
    }

    /// The row of a page, if it was written.
    fn page(&self, page: i64) -> Result<Option<SysRow>> {
        let found = self.rows(page, Direction::Forward, 1)?.into_iter().next();
        match found {
            Some(row) if page_number(&row)? == page => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    /// Writes bytes at a position, beyond the end too.
    pub fn write(&self, at: i64, data: &[u8]) -> Result<()> {
        if at + data.len() as i64 > MAX_SIZE {
            bail!(
                INVALID_PARAMETER_VALUE,
                "invalid large object write request size: {}",
                data.len()
            );
        }
        let (mut at, mut rest) = (at, data);
        while !rest.is_empty() {
            let (page, offset) = (at / PAGE, (at % PAGE) as usize);
            let (now, later) = rest.split_at(rest.len().min(PAGE as usize - offset));
            let old = self.page(page)?;
            let mut all = match &old {
                Some(row) => bytes(row)?.to_vec(),
                None => Vec::new(),
            };
            let end = offset + now.len();
            if all.len() < end {
                all.resize(end, 0);
            }
            all[offset..end].copy_from_slice(now);
            match old {
                Some(row) => self.replace(row, all)?,
                None => self.insert(page, all)?,
            }
            at += now.len() as i64;
            rest = later;
        }
        Ok(())
    }

    /// Makes the object so long.
    pub fn truncate(&self, size: i64) -> Result<()> {
        let (page, offset) = (size / PAGE, (size % PAGE) as usize);
        // The page with the new end tells the size, though it has nothing but zeros.
        match self.page(page)? {
            Some(row) if offset > 0 => {
                let mut all = bytes(&row)?.to_vec();
                all.resize(offset, 0);
                self.replace(row, all)?;
            }
            None if offset > 0 => self.insert(page, vec![0; offset])?,
            _ => {}
        }
        self.remove_from(page + i64::from(offset > 0))
    }

    /// Removes all pages from one on.
    pub fn remove_from(&self, mut page: i64) -> Result<()> {
        loop {
            let rows = self.rows(page, Direction::Forward, PAGES_AT_ONCE)?;
            let Some(last) = rows.last() else { return Ok(()) };
            page = page_number(last)? + 1;
            for row in &rows {
                self.store.delete(row)?;
            }
        }
    }
}
