//! Verifies a table's pages, for tests, the simulator and after recovery.

use super::page;
use super::rel::HeapRel;
use super::vm;
use base::{BlockNo, Fork, Result};

impl HeapRel {
    /// What is wrong with the table's pages, a sentence for each; empty if nothing is.
    pub fn check(&self) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        let pages = self.nblocks()?;
        for block in (0..pages.0).map(BlockNo) {
            let latched = self.files.read_shared(Fork::Main, block)?;
            if let Err(e) = page::check(&latched) {
                wrong.push(format!("block {block}: {e}"));
                continue;
            }
            // The page's flag may be set without the map's bits, never the other way round.
            let bits = self.visibility(block)?;
            if bits != 0 && !page::all_visible(&latched) {
                wrong.push(format!("block {block}: the map says all-visible, the page does not"));
            }
            if bits & vm::ALL_FROZEN != 0 {
                let frozen = |off| page::tuple(&latched, off).is_none_or(|t| t.frozen());
                if !(1..=page::max_offset(&latched)).all(frozen) {
                    wrong.push(format!("block {block}: the map says all-frozen, a row is not"));
                }
            }
        }
        let map_pages = self.files.nblocks(Fork::Vm)?;
        for block in pages.0..map_pages.0.saturating_mul(vm::HEAP_BLOCKS) {
            if self.visibility(BlockNo(block))? != 0 {
                wrong.push(format!("the map speaks of block {block} behind the end"));
                break;
            }
        }
        Ok(wrong)
    }
}
