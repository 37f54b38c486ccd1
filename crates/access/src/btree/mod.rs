//! The B-tree: Lehman and Yao's, with right links and high keys. README.md has the format by byte
//! and the protocol.
//!
//! Entry points: [`BtreeAm`] (what the executor, vacuum and DDL call), [`BtScan`],
//! [`redo::BtreeRedo`].
//! Files in reading order: `page` (bytes), `key` (search keys, order of items), `edit` (changes as
//! they are logged), `tree` (pages of one index), `opt` and `search` (descents), `insert`,
//! `split`, `scan`, `vacuum`, `build`, `check`, `redo`.
//! Invariants: on a page, lower bound < items <= high key; latches are taken from child to parent
//! and from left to right, never the other way; every change is a log record that leaves a tree in
//! which all searches are right.

mod build;
mod check;
mod edit;
mod insert;
mod key;
mod opt;
mod page;
pub mod redo;
mod scan;
mod search;
mod split;
mod tree;
mod vacuum;

#[cfg(test)]
mod tests;

pub use scan::{BtScan, ParallelScan};

use crate::Storage;
use crate::index::{
    BuildOptions, BuildOutcome, BuildSource, IndexAm, IndexFacts, IndexRel, IndexScan,
    InsertOutcome, RowProbe, ScanKey, ScanOptions, UniqueCheck, VacuumStats,
};
use base::{Fork, Result, Tid};
use buffer::Persistence;
use std::sync::Arc;
use tree::Tree;
use types::Datum;

/// The B-tree as an index method.
#[derive(Clone, Copy, Debug)]
pub struct BtreeAm;

impl IndexAm for BtreeAm {
    fn build_empty(&self, storage: &Arc<Storage>, index: &IndexRel) -> Result<()> {
        let mut tree = Tree::new(storage, index);
        tree.build_empty()?;
        if index.persistence == Persistence::Unlogged {
            tree.fork = Fork::Init;
            tree.rel.create_fork(Fork::Init)?;
            tree.build_empty()?;
        }
        Ok(())
    }

    fn build(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        source: &mut dyn BuildSource,
        options: BuildOptions,
    ) -> Result<BuildOutcome> {
        let mut tree = Tree::new(storage, index);
        let outcome = tree.build(source, options)?;
        if index.persistence == Persistence::Unlogged {
            tree.fork = Fork::Init;
            tree.rel.create_fork(Fork::Init)?;
            tree.build_empty()?;
        }
        Ok(outcome)
    }

    fn insert(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        values: &[Datum],
        tid: Tid,
        check: UniqueCheck,
        probe: &mut dyn RowProbe,
    ) -> Result<InsertOutcome> {
        Tree::new(storage, index).insert(values, tid, check, probe)
    }

    fn find_conflict(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        values: &[Datum],
        except: Tid,
        probe: &mut dyn RowProbe,
    ) -> Result<Option<Tid>> {
        Tree::new(storage, index).find_conflict(values, except, probe)
    }

    fn begin_scan(
        &self,
        storage: &Arc<Storage>,
        index: &Arc<IndexRel>,
        keys: Vec<ScanKey>,
        options: ScanOptions,
    ) -> Result<Box<dyn IndexScan>> {
        Ok(Box::new(BtScan::new(storage, index, &keys, options)?))
    }

    fn lookup(
        &self,
        storage: &Arc<Storage>,
        index: &Arc<IndexRel>,
        key: &[Datum],
        out: &mut Vec<Tid>,
    ) -> Result<()> {
        Tree::new(storage, index).lookup(key, out)
    }

    fn bulk_delete(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        dead: &dyn Fn(Tid) -> bool,
        stats: &mut VacuumStats,
    ) -> Result<()> {
        Tree::new(storage, index).bulk_delete(dead, stats)
    }

    fn cleanup(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        stats: &mut VacuumStats,
    ) -> Result<()> {
        let tree = Tree::new(storage, index);
        stats.pages = tree.rel.nblocks(tree.fork)?.0;
        Ok(())
    }

    fn facts(&self, storage: &Arc<Storage>, index: &IndexRel) -> Result<IndexFacts> {
        let tree = Tree::new(storage, index);
        let pages = tree.rel.nblocks(tree.fork)?.0;
        if pages == 0 {
            return Ok(IndexFacts::default());
        }
        Ok(IndexFacts { pages, height: tree.read_meta()?.level })
    }

    fn check(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        heap: Option<&mut dyn FnMut(Tid) -> Result<bool>>,
    ) -> Result<u64> {
        Tree::new(storage, index).check(heap)
    }
}
