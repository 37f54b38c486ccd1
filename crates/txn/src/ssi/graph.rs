//! Who has read what another wrote: the graph of read-write dependencies between serializable
//! transactions, and the structures in it that end one of them.

use super::Serial;
use base::{Error, Result, SqlState, Xid};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What is known of a serializable transaction, running or over.
pub(super) struct Node {
    pub serial: Arc<Serial>,
    /// The last commit, by number, that its snapshot sees for sure.
    pub seen: u64,
    /// Its number once it is about to commit.
    pub prepared: Option<u64>,
    /// Its number once it has committed.
    pub committed: Option<u64>,
    /// Declared READ ONLY, or over without having written.
    pub read_only: bool,
    /// It has changed something.
    pub wrote: bool,
    /// Transactions that read what this one overwrote.
    pub inward: BTreeSet<u64>,
    /// Transactions that overwrote what this one read.
    pub outward: BTreeSet<u64>,
    /// When it committed, the smallest number among committed transactions it points to.
    pub earliest_out: Option<u64>,
    /// A read-only transaction's: those that may yet make its snapshot unsafe.
    pub waits_for: BTreeSet<u64>,
    /// Its snapshot may show what no order of transactions gives.
    pub is_unsafe: bool,
    pub xids: Vec<Xid>,
}

/// All serializable transactions that still matter.
#[derive(Default)]
pub(super) struct Graph {
    pub clock: u64,
    pub next_id: u64,
    pub nodes: HashMap<u64, Node>,
    pub by_xid: HashMap<Xid, u64>,
}

/// The error that ends a transaction, with PostgreSQL's reason.
pub(super) fn failure(reason: &str) -> Error {
    Error::new(
        SqlState::T_R_SERIALIZATION_FAILURE,
        "could not serialize access due to read/write dependencies among transactions",
    )
    .detail(format!("Reason code: {reason}."))
    .hint("The transaction might succeed if retried.")
}

impl Node {
    fn is_doomed(&self) -> bool {
        self.serial.doomed.load(Ordering::Relaxed)
    }
}

impl Graph {
    /// True if `b`, which is not running any more, committed before `a` took its snapshot.
    pub fn before(&self, a: u64, b: u64) -> bool {
        match (self.nodes.get(&a), self.nodes.get(&b).and_then(|n| n.committed)) {
            (Some(a), Some(number)) => number <= a.seen,
            _ => false,
        }
    }

    pub fn has_edge(&self, reader: u64, writer: u64) -> bool {
        self.nodes.get(&reader).is_some_and(|n| n.outward.contains(&writer))
    }

    /// Notes that `writer` overwrote what `reader` read. `me` is one of them and runs this.
    pub fn add_edge(&mut self, reader: u64, writer: u64, me: u64) -> Result<()> {
        self.check_edge(reader, writer, me)?;
        if let Some(n) = self.nodes.get_mut(&reader) {
            n.outward.insert(writer);
        }
        if let Some(n) = self.nodes.get_mut(&writer) {
            n.inward.insert(reader);
        }
        Ok(())
    }

    /// Ends somebody if the new edge completes two in a row whose last transaction was the first
    /// to commit.
    fn check_edge(&self, reader: u64, writer: u64, me: u64) -> Result<()> {
        let (Some(r), Some(w)) = (self.nodes.get(&reader), self.nodes.get(&writer)) else {
            return Ok(());
        };
        let not_after = |a: u64, b: Option<u64>| b.is_none_or(|b| a <= b);
        // The writer is in the middle: it committed after somebody it points to...
        let mut bad = w.committed.is_some() && w.earliest_out.is_some();
        // ... or points to somebody who is first to commit.
        if !bad {
            bad = w.outward.iter().filter_map(|t| self.nodes.get(t)).any(|t| {
                t.prepared.is_some_and(|number| {
                    not_after(number, r.committed)
                        && not_after(number, w.committed)
                        && (!r.read_only || number <= r.seen)
                })
            });
        }
        // The reader is in the middle, and the writer the first to commit.
        if !bad
            && !r.read_only
            && let Some(number) = w.prepared
        {
            bad = r.inward.iter().filter_map(|t| self.nodes.get(t)).any(|t| {
                !t.is_doomed()
                    && t.committed.is_none_or(|c| c >= number)
                    && (!t.read_only || t.seen >= number)
            });
        }
        if !bad {
            return Ok(());
        }
        if writer == me {
            return Err(failure("Canceled on identification as a pivot, during write"));
        }
        if w.prepared.is_some() {
            let xid = w.xids.first().map_or(0, |x| x.0);
            let reason = format!("Canceled on conflict out to pivot {xid}, during read");
            return Err(failure(&reason));
        }
        w.serial.doomed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// What `id` read was written by `xid`, which its snapshot does not see.
    pub fn conflict_out(&mut self, id: u64, xid: Xid) -> Result<()> {
        let Some(&writer) = self.by_xid.get(&xid) else { return Ok(()) };
        if writer == id || self.has_edge(id, writer) {
            return Ok(());
        }
        let (Some(me), Some(w)) = (self.nodes.get(&id), self.nodes.get(&writer)) else {
            return Ok(());
        };
        if w.is_doomed() {
            return Ok(());
        }
        // A reader that never writes minds only those who point to what committed before it.
        if me.read_only && w.committed.is_some() && w.earliest_out.is_none_or(|e| me.seen < e) {
            return Ok(());
        }
        self.add_edge(id, writer, id)
    }

    /// `id` writes what `reader` has read.
    pub fn conflict_in(&mut self, id: u64, reader: u64) -> Result<()> {
        if reader == id || self.has_edge(reader, id) || self.before(id, reader) {
            return Ok(());
        }
        if self.nodes.get(&reader).is_none_or(|r| r.is_doomed()) {
            return Ok(());
        }
        self.add_edge(reader, id, id)
    }

    /// The last look before a commit; the transaction gets its number.
    pub fn prepare(&mut self, id: u64) -> Result<()> {
        let Some(me) = self.nodes.get(&id) else { return Ok(()) };
        for (near, n) in me.inward.iter().filter_map(|i| Some((i, self.nodes.get(i)?))) {
            if n.committed.is_some() || n.is_doomed() {
                continue;
            }
            let dangerous = n.inward.iter().any(|far| {
                *far == id
                    || self.nodes.get(far).is_some_and(|f| {
                        f.committed.is_none() && !f.read_only && !f.is_doomed() && far != near
                    })
            });
            if dangerous {
                if n.prepared.is_some() {
                    let what = "Canceled on commit attempt with conflict in from prepared pivot";
                    return Err(failure(what));
                }
                n.serial.doomed.store(true, Ordering::Relaxed);
            }
        }
        self.clock += 1;
        let number = self.clock;
        if let Some(me) = self.nodes.get_mut(&id) {
            me.prepared = Some(number);
        }
        Ok(())
    }

    /// A transaction is over. Gives those whose locks nobody has to know any more.
    pub fn finish(&mut self, id: u64, committed: bool) -> Vec<Arc<Serial>> {
        let Some(mut me) = self.nodes.remove(&id) else { return Vec::new() };
        let mut gone = Vec::new();
        if committed {
            self.clock += 1;
            me.committed = Some(self.clock);
            me.prepared = me.prepared.or(me.committed);
            me.read_only |= !me.wrote;
            let out = me.outward.iter().filter_map(|t| self.nodes.get(t));
            let numbers = out.filter(|t| t.committed.is_some()).filter_map(|t| t.prepared);
            me.earliest_out = if me.read_only { None } else { numbers.min() };
            self.tell_readers(id, Some(&me));
            self.nodes.insert(id, me);
        } else {
            self.unlink(id, &me);
            self.tell_readers(id, None);
            gone.push(me.serial);
        }
        gone.extend(self.sweep());
        gone
    }

    fn unlink(&mut self, id: u64, node: &Node) {
        for xid in &node.xids {
            self.by_xid.remove(xid);
        }
        for other in node.inward.iter().chain(&node.outward) {
            if let Some(n) = self.nodes.get_mut(other) {
                n.inward.remove(&id);
                n.outward.remove(&id);
            }
        }
    }

    /// Read-only transactions learn that one they waited for is over.
    fn tell_readers(&mut self, id: u64, committed: Option<&Node>) {
        for reader in self.nodes.values_mut().filter(|n| n.waits_for.contains(&id)) {
            reader.waits_for.remove(&id);
            let out = committed.and_then(|n| n.earliest_out);
            reader.is_unsafe |= out.is_some_and(|e| e <= reader.seen);
            if reader.waits_for.is_empty() && !reader.is_unsafe {
                reader.serial.safe.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Forgets who committed before every running transaction's snapshot.
    fn sweep(&mut self) -> Vec<Arc<Serial>> {
        let running = self.nodes.values().filter(|n| n.committed.is_none());
        let oldest = running.map(|n| n.seen).min().unwrap_or(u64::MAX);
        let old = |n: &Node| n.committed.is_some_and(|c| c <= oldest);
        let ids: Vec<u64> = self.nodes.iter().filter(|(_, n)| old(n)).map(|(i, _)| *i).collect();
        let mut gone = Vec::new();
        for id in ids {
            if let Some(node) = self.nodes.remove(&id) {
                self.unlink(id, &node);
                gone.push(node.serial);
            }
        }
        gone
    }
}
