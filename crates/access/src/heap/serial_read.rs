//! What reading means to a serializable transaction: rows read are noted, and who is changing
//! them is found. Called with the page latched, so that no writer comes between.

use super::page::{self, Bytes, Tuple};
use super::rel::HeapRel;
use super::visibility::{Chain, PageFacts};
use base::{BlockNo, Result, Tid, Xid};
use std::sync::Arc;
use txn::{Sees, Serial, Snapshot};

/// Who reads where.
pub(super) struct Place<'a> {
    pub rel: &'a HeapRel,
    pub serial: &'a Arc<Serial>,
    pub snapshot: &'a Snapshot,
}

impl Place<'_> {
    /// A page of a scan. `rows`: the line pointers that a bitmap wants, and what was found.
    pub fn page(
        &self,
        bytes: &Bytes,
        block: BlockNo,
        facts: &PageFacts,
        rows: Option<(&[u16], &[u16])>,
    ) -> Result<()> {
        match rows {
            Some((wanted, found)) => {
                for &offset in found {
                    self.note(Tid { block, offset });
                }
                for &root in wanted {
                    self.chain(bytes, Tid { block, offset: root }, facts)?;
                }
            }
            None => {
                for off in 1..=page::max_offset(bytes).min(page::MAX_TUPLES as u16) {
                    if let Some(t) = page::tuple(bytes, off) {
                        self.version(t, facts)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// One row by its place.
    pub fn row(
        &self,
        bytes: &Bytes,
        tid: Tid,
        chain: bool,
        found: Option<u16>,
        facts: &PageFacts,
    ) -> Result<()> {
        if let Some(offset) = found {
            self.note(Tid { block: tid.block, offset });
        }
        if chain {
            return self.chain(bytes, tid, facts);
        }
        page::tuple(bytes, tid.offset).map_or(Ok(()), |t| self.version(t, facts))
    }

    fn note(&self, tid: Tid) {
        self.serial.read_row(self.rel.about.file.database, self.rel.oid(), tid);
    }

    fn chain(&self, bytes: &Bytes, root: Tid, facts: &PageFacts) -> Result<()> {
        let mut walk = Chain::new(root.block, root.offset);
        while let Some((_, t)) = walk.next(bytes) {
            self.version(t, facts)?;
        }
        Ok(())
    }

    /// A version whose inserter or deleter the snapshot does not see is somebody's write.
    fn version(&self, t: Tuple<'_>, facts: &PageFacts) -> Result<()> {
        match t.mask() & page::XMIN_FROZEN {
            page::XMIN_INVALID => return Ok(()),
            page::XMIN_FROZEN => {}
            _ => {
                if self.writer(facts.xid(t.xmin_raw()))? {
                    return Ok(());
                }
            }
        }
        if !t.no_deleter() {
            self.writer(facts.xid(t.xmax_raw()))?;
        }
        Ok(())
    }

    /// True if the transaction is one that the snapshot does not see.
    fn writer(&self, xid: Xid) -> Result<bool> {
        match self.rel.storage.txn.sees(self.snapshot, xid)? {
            Sees::Running | Sees::Later(_) => {
                self.serial.conflict_out(self.rel.oid(), xid)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}
