//! Figures of nodes that sort, hash and keep rows.

use super::{Explainer, Place};
use crate::plan::{Agg, AggStrategy, Memoize, Plan};
use base::Result;

impl<'a> Explainer<'a> {
    pub(super) fn sort_figures(&mut self, plan: &Plan) {
        let Some(run) = self.run(plan) else { return };
        let Some(method) = run.text("Sort Method").map(str::to_string) else { return };
        let space = run.int("Sort Space Used").unwrap_or(0);
        let kind = run.text("Sort Space Type").unwrap_or("Memory").to_string();
        if self.w.is_text() {
            self.w.text("Sort Method", &format!("{method}  {kind}: {space}kB"));
        } else {
            self.w.text("Sort Method", &method);
            self.w.integer("Sort Space Used", "kB", space);
            self.w.text("Sort Space Type", &kind);
        }
    }

    pub(super) fn hash_figures(&mut self, plan: &Plan) {
        let Some(run) = self.run(plan) else { return };
        let Some(buckets) = run.int("Hash Buckets") else { return };
        let batches = run.int("Hash Batches").unwrap_or(1);
        let buckets0 = run.int("Original Hash Buckets").unwrap_or(buckets);
        let batches0 = run.int("Original Hash Batches").unwrap_or(batches);
        let memory = run.int("Peak Memory Usage").unwrap_or(0);
        if !self.w.is_text() {
            self.w.integer("Hash Buckets", "", buckets);
            self.w.integer("Original Hash Buckets", "", buckets0);
            self.w.integer("Hash Batches", "", batches);
            self.w.integer("Original Hash Batches", "", batches0);
            self.w.integer("Peak Memory Usage", "kB", memory);
            return;
        }
        let text = if buckets != buckets0 || batches != batches0 {
            format!("{buckets} (originally {buckets0})  Batches: {batches} (originally {batches0})")
        } else {
            format!("{buckets}  Batches: {batches}")
        };
        self.w.text("Buckets", &format!("{text}  Memory Usage: {memory}kB"));
    }

    pub(super) fn hash_agg_figures(&mut self, a: &Agg, plan: &Plan) {
        if !matches!(a.strategy, AggStrategy::Hashed | AggStrategy::Mixed) {
            return;
        }
        let text = self.w.is_text();
        if self.options.costs && !text {
            self.w.integer("Planned Partitions", "", 0);
        }
        let Some(run) = self.run(plan) else { return };
        let batches = run.int("HashAgg Batches").unwrap_or(1);
        let memory = run.int("Peak Memory Usage").unwrap_or(0);
        let disk = run.int("Disk Usage").unwrap_or(0);
        if text {
            let disk = if batches > 1 { format!("  Disk Usage: {disk}kB") } else { String::new() };
            self.w.text("Batches", &format!("{batches}  Memory Usage: {memory}kB{disk}"));
            return;
        }
        self.w.integer("HashAgg Batches", "", batches);
        self.w.integer("Peak Memory Usage", "kB", memory);
        self.w.integer("Disk Usage", "kB", disk);
    }

    /// Where rows were kept.
    pub(super) fn storage(&mut self, plan: &Plan) {
        let Some(run) = self.run(plan) else { return };
        let Some(most) = run.int("Maximum Storage") else { return };
        let kind = run.text("Storage").unwrap_or("Memory").to_string();
        if self.w.is_text() {
            self.w.text("Storage", &format!("{kind}  Maximum Storage: {most}kB"));
        } else {
            self.w.text("Storage", &kind);
            self.w.integer("Maximum Storage", "kB", most);
        }
    }

    pub(super) fn memoize(&mut self, m: &'a Memoize, place: Place<'a, '_>) -> Result<()> {
        let prefix = self.many_tables || self.options.verbose;
        let keys: Result<Vec<String>> =
            m.params.iter().map(|e| self.print(e, place, prefix, false)).collect();
        self.w.text("Cache Key", &keys?.join(", "));
        self.w.text("Cache Mode", if m.binary_mode { "binary" } else { "logical" });
        let Some(run) = self.run(place.plan) else { return Ok(()) };
        let count = |name| run.int(name).unwrap_or(0);
        let (hits, misses) = (count("Cache Hits"), count("Cache Misses"));
        let (evictions, overflows) = (count("Cache Evictions"), count("Cache Overflows"));
        let memory = count("Peak Memory Usage");
        if misses == 0 {
            return Ok(());
        }
        if self.w.is_text() {
            let rest = format!("Evictions: {evictions}  Overflows: {overflows}");
            let text = format!("{hits}  Misses: {misses}  {rest}  Memory Usage: {memory}kB");
            self.w.text("Hits", &text);
            return Ok(());
        }
        self.w.integer("Cache Hits", "", hits);
        self.w.integer("Cache Misses", "", misses);
        self.w.integer("Cache Evictions", "", evictions);
        self.w.integer("Cache Overflows", "", overflows);
        self.w.integer("Peak Memory Usage", "kB", memory);
        Ok(())
    }
}
