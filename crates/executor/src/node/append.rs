//! Append: the rows of its children, one child after another.
//!
//! Members of a team share the children of a parallel one: those that are whole are run by one
//! member each, the others by all that find nothing better to do.

use super::{Child, Node, NodeSpec};
use crate::compile::PlanCompiler;
use crate::prune::Prune;
use crate::run::Run;
use base::Result;
use ir::Plan;
use os::sync::Mutex;
use std::sync::Arc;
use types::Batch;

struct AppendSpec {
    id: u32,
    children: Vec<Child>,
    /// Children from this one on may be run by many members at once; None without a team.
    shared_from: Option<usize>,
    prune: Option<Arc<Prune>>,
}

/// What members of a team have agreed on.
struct Choices(Mutex<Vec<Choice>>);

#[derive(Clone, Default)]
struct Choice {
    members: u32,
    finished: bool,
}

struct AppendNode {
    spec: Arc<AppendSpec>,
    children: Vec<Option<Box<dyn Node>>>,
    at: usize,
    choices: Option<Arc<Choices>>,
    /// Which children may have rows, once that is known; all, without a way to tell.
    needed: Option<Vec<bool>>,
    begun: bool,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    append: &ir::Append,
) -> Result<Arc<dyn NodeSpec>> {
    let children = append.children.iter().map(|p| c.node(p)).collect::<Result<_>>()?;
    let shared_from = plan.parallel_aware.then_some(append.first_partial as usize);
    let prune = c.prune(plan.id, append.prune.as_deref())?;
    Ok(Arc::new(AppendSpec { id: plan.id, children, shared_from, prune }))
}

impl NodeSpec for AppendSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let children = self.children.iter().map(|_| None).collect();
        let mut node =
            AppendNode { spec: self, children, at: 0, choices: None, needed: None, begun: false };
        if let (Some(shared), Some(_)) = (&run.shared, node.spec.shared_from) {
            let n = node.spec.children.len();
            let make = || Ok(Choices(Mutex::new(vec![Choice::default(); n])));
            node.choices = Some(shared.of_node(node.spec.id, make)?);
        }
        Ok(Box::new(node))
    }
}

impl AppendNode {
    /// The child to go on with: first those that only one member can run, then the one that the
    /// fewest are at. The number of children if there is nothing left.
    fn choose(&self) -> usize {
        let needed = |i: usize| self.needed.as_ref().is_none_or(|n| n[i]);
        let n = self.spec.children.len();
        let (Some(choices), Some(from)) = (&self.choices, self.spec.shared_from) else {
            let first = if self.begun { self.at + 1 } else { 0 };
            return (first..n).find(|i| needed(*i)).unwrap_or(n);
        };
        let mut all = choices.0.lock();
        let whole = (0..from).find(|i| all[*i].members == 0 && needed(*i));
        let part = || {
            let open = all.iter().enumerate().skip(from).filter(|(i, c)| !c.finished && needed(*i));
            open.min_by_key(|(_, c)| c.members).map(|(i, _)| i)
        };
        let Some(chosen) = whole.or_else(part) else { return all.len() };
        all[chosen].members += 1;
        chosen
    }

    /// Goes on after a child has come to its end.
    fn next_child(&mut self) {
        if let Some(choices) = &self.choices {
            choices.0.lock()[self.at].finished = true;
        }
        self.at = self.choose();
    }
}

impl Node for AppendNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        if !self.begun {
            if let (None, Some(prune)) = (&self.needed, &self.spec.prune) {
                self.needed = Some(prune.needed(run, false)?);
            }
            self.at = self.choose();
            self.begun = true;
        }
        while self.at < self.children.len() {
            let slot = &mut self.children[self.at];
            let child = match slot {
                Some(child) => child,
                none => none.insert(self.spec.children[self.at].start(run)?),
            };
            if let Some(batch) = child.next(run, demand)? {
                return Ok(Some(batch));
            }
            self.next_child();
        }
        Ok(None)
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.begun = false;
        if self.spec.prune.as_ref().is_some_and(|p| p.changes()) {
            self.needed = None;
        }
        self.children.iter_mut().flatten().try_for_each(|c| c.rescan(run, changed))
    }
}
