//! What can be taken out of a page: dead versions, the fronts of HOT chains, and what is left of
//! updates that aborted. Works on a page's bytes and a judge of single tuples.

use super::page::{self, Bytes, Line, MAX_TUPLES, PrunePlan, Tuple};
use base::{BlockNo, Result};
use smallvec::SmallVec;

/// What a tuple is to the snapshots that exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Some may see it, and it has no deleter.
    Live,
    /// Nobody can see it any more, nor ever will.
    Dead,
    /// Deleted, but a snapshot may see it still.
    RecentlyDead,
    /// Its inserter is still at work.
    Inserting,
    /// Its deleter is still at work.
    Deleting,
}

/// Sets of line pointers.
type Marks = [bool; MAX_TUPLES + 1];

/// A page while its chains are gone through.
struct Pruner<'a> {
    page: &'a Bytes,
    block: BlockNo,
    fates: [Option<Fate>; MAX_TUPLES + 1],
    seen: Marks,
    no_indexes: bool,
    /// The chain that is gone through.
    members: SmallVec<[u16; 16]>,
    plan: PrunePlan,
}

/// What to take out of a page, and the hint of the oldest deleter that must still be waited for.
/// With `no_indexes` (only vacuum knows) rows vanish with their line pointers.
pub fn plan(
    page: &Bytes,
    block: BlockNo,
    no_indexes: bool,
    mut judge: impl FnMut(u16, Tuple<'_>) -> Result<Fate>,
) -> Result<(PrunePlan, u32)> {
    let mut p = Pruner {
        page,
        block,
        fates: [None; MAX_TUPLES + 1],
        seen: [false; MAX_TUPLES + 1],
        no_indexes,
        members: SmallVec::new(),
        plan: PrunePlan::default(),
    };
    let n = page::max_offset(page).min(MAX_TUPLES as u16);
    let mut hint = 0;
    // Where chains begin that may lose something, and what no chain may lead to.
    let (mut roots, mut stray) = (SmallVec::<[u16; 64]>::new(), false);
    for off in 1..=n {
        match page::line(page, off) {
            Line::Normal { .. } => {}
            Line::Redirect(_) => {
                roots.push(off);
                continue;
            }
            Line::Dead if no_indexes => {
                p.plan.unused.push(off);
                continue;
            }
            _ => continue,
        }
        let Some(t) = page::tuple(page, off) else { continue };
        let fate = judge(off, t)?;
        p.fates[off as usize] = Some(fate);
        if matches!(fate, Fate::RecentlyDead | Fate::Deleting) {
            let xmax = t.xmax_raw();
            hint = if hint == 0 { xmax } else { hint.min(xmax) };
        }
        match (t.heap_only(), fate) {
            (true, Fate::Dead) => stray = true,
            (true, _) => {}
            (false, Fate::Dead | Fate::RecentlyDead) => roots.push(off),
            // Most rows: nothing can go from a chain that begins with a live version.
            (false, _) => p.seen[off as usize] = true,
        }
    }
    for off in roots {
        p.chain(off);
    }
    if stray {
        for off in 1..=n {
            // A heap-only tuple that no chain leads to comes from an update that aborted.
            if !p.seen[off as usize] && p.fates[off as usize] == Some(Fate::Dead) {
                p.plan.unused.push(off);
            }
        }
    }
    p.plan.unused.sort_unstable();
    p.plan.dead.sort_unstable();
    Ok((p.plan, hint))
}

impl Pruner<'_> {
    /// Goes through the chain that starts at `root` and plans what becomes of it.
    fn chain(&mut self, root: u16) {
        let mut members = std::mem::take(&mut self.members);
        members.clear();
        self.walk(root, &mut members);
        self.members = members;
    }

    fn walk(&mut self, root: u16, members: &mut SmallVec<[u16; 16]>) {
        let mut dead = 0;
        let mut off = root;
        let mut prior_xmax = None;
        let redirected = matches!(page::line(self.page, root), Line::Redirect(_));
        if let Line::Redirect(to) = page::line(self.page, root) {
            off = to;
        }
        while let Some(t) = page::tuple(self.page, off) {
            if off as usize > MAX_TUPLES || self.seen[off as usize] {
                break;
            }
            // The successor's slot may have been reused after its writer aborted.
            if prior_xmax.is_some_and(|x| x != t.xmin_raw()) {
                break;
            }
            if (redirected || off != root) && !t.heap_only() {
                break;
            }
            self.seen[off as usize] = true;
            members.push(off);
            match self.fates[off as usize] {
                Some(Fate::Dead) => dead = members.len(),
                Some(Fate::RecentlyDead) => {}
                _ => break,
            }
            if !t.hot_updated() || t.ctid().block != self.block {
                break;
            }
            prior_xmax = Some(t.xmax_raw());
            off = t.ctid().offset;
        }
        if members.is_empty() {
            // A redirect to nothing: the whole chain went.
            self.gone(root);
            return;
        }
        if dead == 0 {
            return;
        }
        if dead == members.len() {
            self.gone(root);
        } else {
            self.plan.redirect.push((root, members[dead]));
        }
        for &m in members[..dead].iter().filter(|&&m| m != root) {
            self.plan.unused.push(m);
        }
    }

    fn gone(&mut self, root: u16) {
        if self.no_indexes {
            self.plan.unused.push(root);
        } else {
            self.plan.dead.push(root);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::*;
    use super::*;
    use base::{PAGE_SIZE, Tid};

    /// A tuple written by `xmin`, deleted by `xmax` (0 for none), whose successor is `next`.
    fn put(p: &mut Bytes, off: u16, xmin: u32, xmax: u32, next: u16, mask2: u16) {
        let mut b = vec![0; 32];
        let mut t = TupleMut::new(&mut b);
        let mask = XMIN_COMMITTED | if xmax == 0 { XMAX_INVALID } else { 0 };
        t.set_shape(1, mask, 24);
        t.change_mask2(mask2, 0);
        t.set_xmin(xmin);
        t.set_xmax(xmax);
        t.set_ctid(Tid::new(0, next));
        assert!(add_tuple(p, off, &b));
    }

    /// Deleters up to 10 are done for all; up to 20 for some; the rest are at work.
    fn judge(_: u16, t: Tuple<'_>) -> Result<Fate> {
        Ok(match (t.xmin_raw(), t.xmax_raw()) {
            (99, _) => Fate::Dead,
            (_, 0) => Fate::Live,
            (_, 1..=10) => Fate::Dead,
            (_, 11..=20) => Fate::RecentlyDead,
            _ => Fate::Deleting,
        })
    }

    #[test]
    fn chains() {
        let mut p = [0; PAGE_SIZE];
        init(&mut p, 0);
        put(&mut p, 1, 3, 5, 2, HOT_UPDATED); // dead, dead, recent, live
        put(&mut p, 2, 5, 6, 3, HOT_UPDATED | HEAP_ONLY);
        put(&mut p, 3, 6, 12, 4, HOT_UPDATED | HEAP_ONLY);
        put(&mut p, 4, 12, 0, 4, HEAP_ONLY);
        put(&mut p, 5, 3, 7, 5, 0); // deleted
        put(&mut p, 6, 99, 0, 6, HEAP_ONLY); // left by an aborted update
        put(&mut p, 7, 3, 8, 8, HOT_UPDATED); // dead, deleted
        put(&mut p, 8, 8, 9, 8, HEAP_ONLY);
        put(&mut p, 9, 3, 30, 9, 0);
        let (plan, hint) = plan(&p, BlockNo(0), false, judge).unwrap();
        assert_eq!(plan.redirect, [(1, 3)]);
        assert_eq!(plan.dead, [5, 7]);
        assert_eq!(plan.unused, [2, 6, 8]);
        assert_eq!(hint, 12);
        apply_prune(&mut p, &plan, hint);
        check(&p).unwrap();
        let (plan, _) = super::plan(&p, BlockNo(0), false, judge).unwrap();
        assert!(plan.is_empty());
        let (plan, _) = super::plan(&p, BlockNo(0), true, judge).unwrap();
        assert_eq!(plan.unused, [5, 7]);
    }
}
