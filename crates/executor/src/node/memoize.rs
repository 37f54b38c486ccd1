//! Memoize: keeps the inner rows of a nested loop by the values of their params.

use super::{Child, Node, NodeSpec};
use crate::batch::{heap_size, split};
use crate::compile::PlanCompiler;
use crate::expr::{Equality, Prog, RowInput, VarMap};
use crate::hash::RowTable;
use crate::instrument::Detail;
use crate::run::Run;
use base::Result;
use ir::Plan;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch};

struct MemoizeSpec {
    id: u32,
    child: Child,
    params: Vec<Prog>,
    equalities: Vec<Equality>,
    param_ids: Vec<u32>,
    single_row: bool,
}

/// The rows for one key.
#[derive(Default)]
struct Entry {
    rows: Vec<Batch>,
    complete: bool,
}

enum Mode {
    /// The key has not been looked up.
    Start,
    /// From the entry's batch of this number on.
    Hit {
        entry: usize,
        at: usize,
        rest: Option<Batch>,
    },
    /// From the child, into the entry (unless the cache was emptied meanwhile).
    Miss {
        entry: Option<usize>,
    },
    Done,
}

struct MemoizeNode {
    spec: Arc<MemoizeSpec>,
    child: Box<dyn Node>,
    keys: RowTable,
    entries: Vec<Entry>,
    bytes: usize,
    mode: Mode,
    /// Params that changed since the child last ran.
    changed: Vec<u32>,
    child_fresh: bool,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    m: &ir::Memoize,
) -> Result<Arc<dyn NodeSpec>> {
    let child = c.outer(plan)?;
    let params = c.ec.list(&m.params, &VarMap::default())?;
    let mut equalities = Vec::new();
    for (i, op) in m.hash_ops.iter().enumerate() {
        let collation = m.collations.get(i).copied().unwrap_or_default();
        equalities.push(Equality::of_operator(&mut c.ec, *op, collation)?);
    }
    let mut param_ids = Vec::new();
    for e in &m.params {
        ir::walk::each(e, &mut |e| {
            if let ir::Expr::Param(p) = e {
                param_ids.push(p.id);
            }
        });
    }
    let single_row = m.single_row;
    Ok(Arc::new(MemoizeSpec { id: plan.id, child, params, equalities, param_ids, single_row }))
}

impl NodeSpec for MemoizeSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let child = self.child.start(run)?;
        let keys = RowTable::new(run);
        Ok(Box::new(MemoizeNode {
            spec: self,
            child,
            keys,
            entries: Vec::new(),
            bytes: 0,
            mode: Mode::Start,
            changed: Vec::new(),
            child_fresh: true,
        }))
    }
}

impl MemoizeNode {
    fn clear(&mut self, run: &Run) {
        self.keys = RowTable::new(run);
        self.entries.clear();
        self.bytes = 0;
    }

    fn count(&self, run: &mut Run, what: &'static str) {
        let (id, kb) = (self.spec.id, self.bytes.div_ceil(1024) as i64);
        if let Some(all) = &mut run.instrumentation {
            let stats = all.node(id);
            stats.add(what, 1);
            stats.set("Peak Memory Usage", Detail::Int(kb.max(1)));
        }
    }

    fn look_up(&mut self, run: &mut Run) -> Result<()> {
        let spec = Arc::clone(&self.spec);
        let mut key = Vec::with_capacity(spec.params.len());
        for prog in &spec.params {
            key.push(prog.eval(run, RowInput::None)?);
        }
        let hash = self.keys.hash(run, &spec.equalities, &key, true)?;
        let (entry, new) = self.keys.insert(run, &spec.equalities, hash, key)?;
        if new {
            self.entries.push(Entry::default());
            self.bytes += 100;
        }
        if self.entries[entry].complete {
            self.count(run, "Cache Hits");
            self.mode = Mode::Hit { entry, at: 0, rest: None };
            return Ok(());
        }
        self.count(run, "Cache Misses");
        self.entries[entry].rows.clear();
        if !self.child_fresh {
            let mut changed = std::mem::take(&mut self.changed);
            changed.sort_unstable();
            changed.dedup();
            self.child.rescan(run, &changed)?;
        }
        self.changed.clear();
        self.child_fresh = false;
        self.mode = Mode::Miss { entry: Some(entry) };
        Ok(())
    }

    fn miss(
        &mut self,
        run: &mut Run,
        entry: Option<usize>,
        demand: usize,
    ) -> Result<Option<Batch>> {
        let batch = self.child.next(run, demand.min(BATCH_ROWS))?;
        let Some(entry) = entry else {
            if batch.is_none() {
                self.mode = Mode::Done;
            }
            return Ok(batch);
        };
        match &batch {
            None => {
                self.entries[entry].complete = true;
                self.mode = Mode::Done;
            }
            Some(rows) => {
                let rows = rows.compact();
                self.bytes += heap_size(&rows);
                self.entries[entry].rows.push(rows);
                self.entries[entry].complete |= self.spec.single_row;
                if self.bytes > run.cx.settings.hash_mem() {
                    self.count(run, "Cache Evictions");
                    self.clear(run);
                    self.mode = Mode::Miss { entry: None };
                }
            }
        }
        Ok(batch)
    }
}

impl Node for MemoizeNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        if matches!(self.mode, Mode::Start) {
            self.look_up(run)?;
        }
        match &mut self.mode {
            Mode::Start | Mode::Done => Ok(None),
            Mode::Hit { entry, at, rest } => {
                let batch = match rest.take() {
                    Some(b) => b,
                    None => match self.entries[*entry].rows.get(*at) {
                        Some(b) => {
                            *at += 1;
                            b.clone()
                        }
                        None => return Ok(None),
                    },
                };
                let (front, back) = split(batch, demand);
                *rest = back;
                Ok(Some(front))
            }
            Mode::Miss { entry } => {
                let entry = *entry;
                self.miss(run, entry, demand)
            }
        }
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.mode = Mode::Start;
        self.changed.extend(changed);
        // Something else than the key has changed: what is kept may be wrong.
        let other =
            |p: &u32| !self.spec.param_ids.contains(p) && self.spec.child.params.contains(p);
        if changed.iter().any(other) {
            self.clear(run);
        }
        Ok(())
    }
}
