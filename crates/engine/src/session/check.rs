//! Checks of what is stored: pages, and whether indexes agree with their tables.

use super::Session;
use access::heap::BuildScan;
use base::{Result, Tid};
use std::collections::HashSet;

impl Session {
    /// What is wrong with a table and its indexes, a sentence for each; empty if nothing is. To
    /// be called outside of a transaction, while nobody changes the table.
    pub fn check_table(&mut self, name: &str) -> Result<Vec<String>> {
        self.ensure_transaction()?;
        let view = self.core.view()?;
        let table = view.require_relation(None, name)?;
        let storage = self.core.database.storage();
        let open = table.open(storage, &view)?;
        let mut wrong = open.heap.check()?;
        let snapshot = self.core.txn()?.snapshot();
        for index in &open.indexes {
            let mut entries = HashSet::new();
            let checked = index.am().check(
                storage,
                index,
                Some(&mut |tid: Tid| {
                    entries.insert(tid);
                    Ok(true)
                }),
            );
            if let Err(e) = checked {
                wrong.push(format!("index {}: {e}", index.name));
                continue;
            }
            let mut rows = BuildScan::new(&open.heap, &snapshot, 0)?;
            while let Some(row) = rows.next_row()? {
                if row.live && !entries.contains(&row.tid) {
                    let tid = row.tid;
                    wrong.push(format!("index {}: no entry for the row at {tid}", index.name));
                }
            }
        }
        self.end_statement()?;
        Ok(wrong)
    }
}
