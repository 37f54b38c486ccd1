//! Finding deadlocks. A session that has waited for `deadlock_timeout` looks whether it waits,
//! through others, for itself. Who is blocked by a holder has a hard edge to it; who is blocked
//! by one before it in the queue has a soft edge, which reordering the queue can remove.

use super::LockTag;
use super::table::{Granted, LockManager, Partition, Waiter};
use crate::backend::{Backend, ProcId};
use crate::manager::TxnManager;
use base::{Error, Result, SqlState};
use os::sync::MutexGuard;
use os::sync::atomic::Ordering;
use std::collections::{HashMap, HashSet};

/// `waiter` waits for `tag` and `blocker` is in its way.
#[derive(Clone, Copy, Debug)]
struct Edge {
    waiter: ProcId,
    wants: Wanted,
    blocker: ProcId,
    soft: bool,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    tag: LockTag,
    mode: super::LockMode,
}

/// Queues in another order than they have.
type Orders = HashMap<LockTag, Vec<Waiter>>;

/// All partitions, locked.
struct View<'a> {
    mgr: &'a TxnManager,
    locks: &'a LockManager,
    partitions: Vec<MutexGuard<'a, Partition>>,
}

/// Reversals of soft edges that are tried on top of each other.
const MOST_REVERSALS: usize = 4;

impl<'a> View<'a> {
    fn lock(&mut self, tag: &LockTag) -> Option<&mut super::table::Lock> {
        let at = self.locks.partition_number(tag);
        self.partitions[at].get_mut(tag)
    }

    fn edges(&self, waiter: ProcId, orders: &Orders) -> Vec<Edge> {
        let Some(info) = *self.mgr.slots.get(waiter).waiting.lock() else { return vec![] };
        let wants = Wanted { tag: info.tag, mode: info.mode };
        let edge = |blocker, soft| Edge { waiter, wants, blocker, soft };
        let mut edges = Vec::new();
        let partition = &self.partitions[self.locks.partition_number(&info.tag)];
        let Some(lock) = partition.get(&info.tag) else { return edges };
        let me = Waiter { proc: waiter, mode: info.mode };
        if !lock.queue.contains(&me) {
            return edges; // granted, or given up, and about to notice
        }
        if let LockTag::Transaction(xid) = info.tag {
            // An error reading old states cannot be of a transaction that runs.
            if let Ok(Some(owner)) = self.mgr.owner(xid) {
                edges.push(edge(owner, false));
            }
            return edges;
        }
        for (holder, modes) in &lock.holders {
            if *holder != waiter && info.mode.conflicts() & modes != 0 {
                edges.push(edge(*holder, false));
            }
        }
        let ahead = |queue: &mut dyn Iterator<Item = &Waiter>| {
            let mut found = Vec::new();
            for other in queue {
                if *other == me {
                    break;
                }
                if info.mode.conflicts_with(other.mode) {
                    found.push(edge(other.proc, true));
                }
            }
            found
        };
        edges.extend(match orders.get(&info.tag) {
            Some(order) => ahead(&mut order.iter()),
            None => ahead(&mut lock.queue.iter()),
        });
        edges
    }

    /// The way from `start` back to it, if there is one.
    fn cycle(&self, start: ProcId, orders: &Orders) -> Option<Vec<Edge>> {
        let mut visited = HashSet::from([start]);
        let mut path: Vec<(Edge, Vec<Edge>)> = Vec::new();
        let mut choices = self.edges(start, orders);
        loop {
            match choices.pop() {
                Some(edge) if edge.blocker == start => {
                    let mut cycle: Vec<Edge> = path.into_iter().map(|(e, _)| e).collect();
                    cycle.push(edge);
                    return Some(cycle);
                }
                Some(edge) => {
                    if visited.insert(edge.blocker) {
                        let next = self.edges(edge.blocker, orders);
                        path.push((edge, std::mem::replace(&mut choices, next)));
                    }
                }
                None => match path.pop() {
                    Some((_, before)) => choices = before,
                    None => return None,
                },
            }
        }
    }

    /// An order of queues in which nobody concerned waits for itself, or the cycle.
    fn resolve(&self, start: ProcId, orders: Orders, left: usize) -> Result<Orders, Vec<Edge>> {
        let concerned =
            orders.values().flatten().map(|w| w.proc).filter(|p| *p != start).collect::<Vec<_>>();
        let found = [start].into_iter().chain(concerned).find_map(|p| self.cycle(p, &orders));
        let Some(cycle) = found else { return Ok(orders) };
        if left > 0 {
            for edge in cycle.iter().filter(|e| e.soft) {
                if let Some(changed) = self.reversed(edge, &orders)
                    && let Ok(good) = self.resolve(start, changed, left - 1)
                {
                    return Ok(good);
                }
            }
        }
        Err(cycle)
    }

    /// The orders with the edge's waiter moved before its blocker.
    fn reversed(&self, edge: &Edge, orders: &Orders) -> Option<Orders> {
        let tag = edge.wants.tag;
        let partition = &self.partitions[self.locks.partition_number(&tag)];
        let mut order = match orders.get(&tag) {
            Some(order) => order.clone(),
            None => partition.get(&tag)?.queue.iter().copied().collect(),
        };
        let from = order.iter().position(|w| w.proc == edge.waiter)?;
        let to = order.iter().position(|w| w.proc == edge.blocker)?;
        if to >= from {
            return None;
        }
        let waiter = order.remove(from);
        order.insert(to, waiter);
        let mut orders = orders.clone();
        orders.insert(tag, order);
        Some(orders)
    }

    fn pid(&self, proc: ProcId) -> i32 {
        self.mgr.slots.get(proc).pid.load(Ordering::Relaxed)
    }

    fn error(&self, cycle: &[Edge]) -> Error {
        let lines: Vec<String> = cycle
            .iter()
            .map(|e| {
                format!(
                    "Process {} waits for {} on {}; blocked by process {}.",
                    self.pid(e.waiter),
                    e.wants.mode.name(),
                    e.wants.tag,
                    self.pid(e.blocker)
                )
            })
            .collect();
        Error::new(SqlState::T_R_DEADLOCK_DETECTED, "deadlock detected")
            .detail(lines.join("\n"))
            .hint("See server log for query details.")
    }
}

impl LockManager {
    /// Looks for a deadlock that the waiting session is in. Reorders queues if that ends it;
    /// otherwise takes the session out of its queue and gives the error.
    pub(super) fn check_deadlock(&self, me: &Backend) -> Result<()> {
        let partitions = self.partitions.iter().map(|p| p.lock()).collect();
        let mut view = View { mgr: me.mgr(), locks: self, partitions };
        let Some(info) = *me.slot().waiting.lock() else { return Ok(()) };
        let mut granted = Vec::new();
        let result = match view.resolve(me.id(), Orders::new(), MOST_REVERSALS) {
            Ok(orders) => {
                for (tag, order) in orders {
                    if let Some(lock) = view.lock(&tag) {
                        lock.queue = order.into();
                        granted.push(lock.grant_queue(me.mgr()));
                    }
                }
                Ok(())
            }
            Err(_) => {
                // The cycle through us, in the order that queues really have.
                let Some(cycle) = view.cycle(me.id(), &Orders::new()) else { return Ok(()) };
                let error = view.error(&cycle);
                self.deadlocks.fetch_add(1, Ordering::Relaxed);
                if let Some(lock) = view.lock(&info.tag) {
                    lock.queue.retain(|w| w.proc != me.id());
                    if !matches!(info.tag, LockTag::Transaction(_)) {
                        granted.push(lock.grant_queue(me.mgr()));
                    }
                }
                Err(error)
            }
        };
        drop(view);
        granted.into_iter().for_each(Granted::wake);
        result
    }

    /// The sessions, by process number, that stand in the way of this one: `pg_blocking_pids`.
    pub fn blocking_pids(&self, mgr: &TxnManager, pid: i32) -> Vec<i32> {
        let waiter = mgr.slots.iter().find(|(_, slot)| {
            slot.used.load(Ordering::SeqCst) && slot.pid.load(Ordering::Relaxed) == pid
        });
        let Some((waiter, _)) = waiter else { return vec![] };
        let partitions = self.partitions.iter().map(|p| p.lock()).collect();
        let view = View { mgr, locks: self, partitions };
        let mut pids: Vec<i32> = Vec::new();
        for edge in view.edges(waiter, &Orders::new()) {
            let pid = view.pid(edge.blocker);
            if !pids.contains(&pid) {
                pids.push(pid);
            }
        }
        pids
    }
}
