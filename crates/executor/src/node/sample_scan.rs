//! SampleScan: TABLESAMPLE SYSTEM and BERNOULLI.
//!
//! Chosen is what hashes, together with a seed, below a limit: the number of a page (SYSTEM), or a
//! row's place (BERNOULLI). With REPEATABLE the seed is given, so that the same rows come again
//! for as long as the table does not change.

use super::scan::{TableScan, start_stand_in};
use super::seq_scan::{PartScan, options};
use super::{Node, NodeSpec};
use crate::compile::PlanCompiler;
use crate::expr::{Prog, RowInput, VarMap};
use crate::run::Run;
use access::heap::{HeapScan, RowFilter, ScanSource};
use base::{BlockNo, Error, Result, Tid, err};
use functions::hash_bytes;
use ir::Plan;
use std::sync::Arc;
use types::{Batch, Datum};

/// `pg_proc` rows of the methods' handlers.
const BERNOULLI: u32 = 3313;
const SYSTEM: u32 = 3314;

struct SampleSpec {
    table: Arc<TableScan>,
    /// Whole pages are chosen, not rows.
    by_page: bool,
    percent: Prog,
    repeatable: Option<Prog>,
}

struct SampleNode {
    spec: Arc<SampleSpec>,
    /// Without REPEATABLE: the same for all scans of one run.
    seed: u32,
    scan: PartScan,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::SampleScan,
) -> Result<Arc<dyn NodeSpec>> {
    let table = Arc::new(TableScan::compile(c, plan, scan.scanrel, &[])?);
    let by_page = match scan.sample.handler.0 {
        SYSTEM => true,
        BERNOULLI => false,
        _ => return Err(Error::unsupported("a tablesample method that is not built in")),
    };
    let Some(percent) = scan.sample.args.first() else {
        return Err(Error::internal("a sample without a size"));
    };
    let none = VarMap::default();
    let percent = c.ec.expr(percent, &none)?;
    let repeatable = scan.sample.repeatable.as_ref().map(|e| c.ec.expr(e, &none)).transpose()?;
    Ok(Arc::new(SampleSpec { table, by_page, percent, repeatable }))
}

impl NodeSpec for SampleSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        start_stand_in(&self.table, run, |_| {
            Ok(Box::new(SampleNode {
                spec: Arc::clone(&self),
                seed: os::random::u64() as u32,
                scan: PartScan::default(),
            }))
        })
    }
}

impl SampleSpec {
    /// What hashes below this is chosen.
    fn limit(&self, run: &mut Run) -> Result<u64> {
        let percent = match self.percent.eval(run, RowInput::None)? {
            Datum::F32(p) => f64::from(p),
            Datum::Null => {
                return Err(err!(
                    INVALID_TABLESAMPLE_ARGUMENT,
                    "TABLESAMPLE parameter cannot be null"
                ));
            }
            _ => return Err(Error::internal("a sample's size is no real")),
        };
        if !(0.0..=100.0).contains(&percent) {
            return Err(err!(
                INVALID_TABLESAMPLE_ARGUMENT,
                "sample percentage must be between 0 and 100"
            ));
        }
        let all = f64::from(u32::MAX) + 1.0;
        Ok((all * percent / 100.0).round_ties_even() as u64)
    }

    fn seed(&self, run: &mut Run, own: u32) -> Result<u32> {
        let Some(repeatable) = &self.repeatable else { return Ok(own) };
        match repeatable.eval(run, RowInput::None)? {
            Datum::F64(seed) => Ok(functions::hash_f64(seed)),
            Datum::Null => Err(err!(
                INVALID_TABLESAMPLE_REPEAT,
                "TABLESAMPLE REPEATABLE parameter cannot be null"
            )),
            _ => Err(Error::internal("a sample's seed is no double precision")),
        }
    }

    fn scan(&self, run: &mut Run, own_seed: u32) -> Result<HeapScan> {
        let limit = self.limit(run)?;
        let seed = self.seed(run, own_seed)?;
        let heap = self.table.heap();
        let mut options = options(&self.table);
        let source = if self.by_page {
            let pages = (0..heap.nblocks()?.0).map(BlockNo);
            ScanSource::Blocks(Box::new(pages.filter(move |b| hash(&[b.0, seed]) < limit)))
        } else {
            let chosen = move |tid: Tid| hash(&[tid.block.0, u32::from(tid.offset), seed]) < limit;
            options.filter = Some(Box::new(chosen) as RowFilter);
            ScanSource::All
        };
        HeapScan::new(heap, &run.snapshot, source, options)
    }
}

fn hash(words: &[u32]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    u64::from(hash_bytes(&bytes))
}

impl Node for SampleNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let (spec, seed) = (&self.spec, self.seed);
        self.scan.next(run, demand, &spec.table, |run| spec.scan(run, seed).map(Some))
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.scan.rescan();
        Ok(())
    }
}
