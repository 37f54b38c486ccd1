//! Gather and GatherMerge: the rows of workers that run the child together, in any order or
//! merged. The leader runs the child as well, unless told not to.

use super::sort::sort_keys;
use super::{Child, Node, NodeSpec};
use crate::batch::{Collector, split};
use crate::compile::PlanCompiler;
use crate::expr::VarMap;
use crate::output::Output;
use crate::parallel::Team;
use crate::run::Run;
use crate::sort::{Key, compare_rows};
use base::Result;
use ir::Plan;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch};

struct GatherSpec {
    id: u32,
    child: Child,
    workers: u32,
    /// One member runs all of the child.
    single_copy: bool,
    /// For a merge.
    keys: Option<Vec<Key>>,
    /// What the leader computes of the rows, if it is more than handing them on.
    output: Option<Output>,
    /// Numbers of the nodes below.
    below: Vec<u32>,
}

struct GatherNode {
    spec: Arc<GatherSpec>,
    team: Option<Team>,
    /// The leader's own run of the child.
    own: Option<Box<dyn Node>>,
    own_done: bool,
    bound: Option<u64>,
    rest: Option<Batch>,
    done: bool,
    /// For a merge: the current row of each worker, and the leader's own last.
    heads: Vec<Option<(Batch, usize)>>,
    merging: bool,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    gather: &ir::Gather,
) -> Result<Arc<dyn NodeSpec>> {
    let (workers, single_copy) = (gather.workers, gather.single_copy);
    let child = c.outer(plan)?;
    let output = output(c, plan, &child)?;
    Ok(Arc::new(GatherSpec {
        id: plan.id,
        child,
        workers,
        single_copy,
        keys: None,
        output,
        below: below(plan),
    }))
}

pub(crate) fn compile_merge(
    c: &mut PlanCompiler,
    plan: &Plan,
    gather: &ir::GatherMerge,
) -> Result<Arc<dyn NodeSpec>> {
    let child = c.outer(plan)?;
    let keys = Some(sort_keys(c, &gather.keys)?);
    let workers = gather.workers;
    let output = output(c, plan, &child)?;
    Ok(Arc::new(GatherSpec {
        id: plan.id,
        child,
        workers,
        single_copy: false,
        keys,
        output,
        below: below(plan),
    }))
}

fn below(plan: &Plan) -> Vec<u32> {
    let children = plan.children();
    let own = children.iter().map(|c| c.id);
    own.chain(children.iter().flat_map(|c| below(c))).collect()
}

fn output(c: &mut PlanCompiler, plan: &Plan, child: &Child) -> Result<Option<Output>> {
    let inputs = child.phys.len();
    let output = c.output(plan, &VarMap::outer(inputs))?;
    Ok((!output.passes(inputs)).then_some(output))
}

impl NodeSpec for GatherSpec {
    fn start(self: Arc<Self>, _run: &mut Run) -> Result<Box<dyn Node>> {
        Ok(Box::new(GatherNode {
            spec: self,
            team: None,
            own: None,
            own_done: false,
            bound: None,
            rest: None,
            done: false,
            heads: Vec::new(),
            merging: false,
        }))
    }
}

impl GatherNode {
    fn gather(&mut self, run: &mut Run) -> Result<()> {
        let team = Team::start(run, &self.spec.child, self.spec.workers, self.bound)?;
        let alone = team.len() == 0;
        let helps = !self.spec.single_copy && run.cx.settings.leader_participates;
        self.own_done = !(alone || helps);
        self.team = Some(team);
        Ok(())
    }

    /// Rows of the leader's own run.
    fn next_own(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        if self.own_done {
            return Ok(None);
        }
        let shared = self.team.as_ref().filter(|t| t.len() > 0).map(|t| Arc::clone(&t.shared));
        let before = std::mem::replace(&mut run.shared, shared);
        let result = self.run_own(run, demand);
        run.shared = before;
        if let Ok(None) = result {
            self.own_done = true;
        }
        result
    }

    fn run_own(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let own = match &mut self.own {
            Some(own) => own,
            none => {
                let mut node = self.spec.child.start(run)?;
                if let Some(bound) = self.bound {
                    node.set_bound(bound);
                }
                none.insert(node)
            }
        };
        own.next(run, demand)
    }

    /// Rows of whoever has some.
    fn any(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        loop {
            let Some(team) = &mut self.team else { return Ok(None) };
            let (batch, finished) = team.take_any()?;
            if batch.is_some() {
                return Ok(batch);
            }
            if !self.own_done {
                if let Some(batch) = self.next_own(run, demand)? {
                    return Ok(Some(batch));
                }
                continue;
            }
            if finished {
                return Ok(None);
            }
            team.wait(run, None)?;
        }
    }

    fn advance(&mut self, run: &mut Run, member: usize) -> Result<()> {
        if let Some((batch, n)) = &mut self.heads[member]
            && *n + 1 < batch.rows()
        {
            *n += 1;
            return Ok(());
        }
        let batch = match &self.team {
            Some(team) if member < team.len() => team.take_of(run, member)?,
            _ => self.next_own(run, BATCH_ROWS)?,
        };
        self.heads[member] = batch.map(|b| (b, 0));
        Ok(())
    }

    /// The member whose row comes first.
    fn least(&self, run: &mut Run, keys: &[Key]) -> Result<Option<usize>> {
        let mut least: Option<usize> = None;
        for (i, head) in self.heads.iter().enumerate() {
            let Some((batch, n)) = head else { continue };
            if let Some((other, m)) = least.and_then(|l| self.heads[l].as_ref()) {
                let (a, b) = (batch.position(*n), other.position(*m));
                if !compare_rows(run, keys, batch, a, other, b)?.is_lt() {
                    continue;
                }
            }
            least = Some(i);
        }
        Ok(least)
    }

    fn merged(&mut self, run: &mut Run, demand: usize, keys: &[Key]) -> Result<Option<Batch>> {
        if !self.merging {
            self.merging = true;
            let members = self.team.as_ref().map_or(0, Team::len) + 1;
            self.heads.resize_with(members, || None);
            // The leader's own rows last: meanwhile the workers are at work.
            self.advance(run, members - 1)?;
            for member in 0..members - 1 {
                self.advance(run, member)?;
            }
        }
        let mut rows = Collector::new(&self.spec.child.phys);
        while rows.rows() < demand.min(BATCH_ROWS) {
            let Some(least) = self.least(run, keys)? else { break };
            if let Some((batch, n)) = &self.heads[least] {
                rows.push(batch, batch.position(*n));
            }
            self.advance(run, least)?;
        }
        Ok(rows.take())
    }

    /// Ends the workers; what they counted is added up.
    fn dismiss(&mut self, run: &mut Run) {
        self.own = None;
        if let Some(all) = &mut run.instrumentation {
            self.spec.below.iter().for_each(|id| all.node(*id).end_loop());
        }
        if let Some(mut team) = self.team.take() {
            team.dismiss(run, self.spec.id);
        }
    }
}

impl Node for GatherNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        if self.team.is_none() {
            self.gather(run)?;
        }
        let spec = Arc::clone(&self.spec);
        let batch = match (self.rest.take(), &spec.keys) {
            (Some(rest), _) => Some(rest),
            (None, Some(keys)) => self.merged(run, demand, keys)?,
            (None, None) => self.any(run, demand)?,
        };
        let Some(batch) = batch else {
            self.done = true;
            self.dismiss(run);
            return Ok(None);
        };
        let (front, rest) = split(batch, demand);
        self.rest = rest;
        match &spec.output {
            Some(output) => output.project(run, front).map(Some),
            None => Ok(Some(front)),
        }
    }

    fn rescan(&mut self, run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.dismiss(run);
        self.rest = None;
        self.heads.clear();
        (self.merging, self.done, self.own_done) = (false, false, false);
        Ok(())
    }

    fn set_bound(&mut self, bound: u64) {
        self.bound = Some(bound);
    }
}
