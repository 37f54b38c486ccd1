//! Paths of which each worker computes a part, and the nodes that bring their rows together.

use super::add::Merits;
use super::{Path, PathKind};
use crate::cost::clamp_rows;
use crate::cost::scan::Cost;
use crate::pathkeys::{common_prefix, contained_in};
use crate::rel::{PathKey, Rel};
use crate::root::Root;
use base::Result;
use std::rc::Rc;

const FUZZ: f64 = 1.01;

/// Of two partial paths: whether the first, or the second, has all the order of the other.
fn order_covers(a: &Path, b: &Path) -> (bool, bool) {
    (contained_in(&b.pathkeys, &a.pathkeys), contained_in(&a.pathkeys, &b.pathkeys))
}

impl Rel {
    /// Takes a partial path in unless another is as cheap and as well ordered. All of it will be
    /// run, so that its cost before the first row does not matter.
    pub fn add_partial(&mut self, new: Path) {
        let mut insert_at = 0;
        let mut i = 0;
        while i < self.partial.len() {
            let old = &self.partial[i];
            let (new_covers, old_covers) = order_covers(&new, old);
            let (mut drop_old, mut reject) = (false, false);
            if new_covers || old_covers {
                if new.disabled != old.disabled {
                    reject = new.disabled > old.disabled && old_covers;
                    drop_old = new.disabled < old.disabled && new_covers;
                } else if new.total > old.total * FUZZ {
                    reject = old_covers;
                } else if old.total > new.total * FUZZ {
                    drop_old = new_covers;
                } else if new_covers != old_covers {
                    (drop_old, reject) = (new_covers, old_covers);
                } else if old.total > new.total * 1.000_000_000_1 {
                    drop_old = true;
                } else {
                    reject = true;
                }
            }
            if reject {
                return;
            }
            if drop_old {
                self.partial.remove(i);
                continue;
            }
            let old = &self.partial[i];
            if (old.disabled, old.total) <= (new.disabled, new.total) {
                insert_at = i + 1;
            }
            i += 1;
        }
        self.partial.insert(insert_at.min(self.partial.len()), Rc::new(new));
    }

    /// True if a partial path of these merits need not be made: [`Rel::add_partial`] would not
    /// take it, and would drop none for it.
    pub fn is_partial_beaten(&self, new: &Merits<'_>) -> bool {
        for old in &self.partial {
            let old_covers = contained_in(new.pathkeys, &old.pathkeys);
            let new_covers = contained_in(&old.pathkeys, new.pathkeys);
            if new.disabled != old.disabled {
                if new.disabled > old.disabled && old_covers {
                    return true;
                }
            } else if new.total > old.total * FUZZ && old_covers {
                return true;
            }
            if new_covers || old_covers && new.total <= old.total * FUZZ {
                return false;
            }
        }
        false
    }

    /// The cheapest path that workers may run as a whole, each for itself.
    pub fn cheapest_safe(&self) -> Option<Rc<Path>> {
        let all = self.paths.iter().filter(|p| p.parallel_safe && p.param.is_empty());
        let key = |p: &Path| (p.disabled, p.total);
        all.min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)).cloned()
    }
}

impl Root<'_> {
    /// The rows of all workers together.
    pub fn gathered_rows(&self, partial: &Path) -> f64 {
        clamp_rows(partial.rows * self.divisor(partial.workers))
    }

    /// The rows of workers, in any order.
    pub fn gather_path(&self, sub: &Rc<Path>, rows: f64) -> Path {
        let s = self.env.settings;
        let mut p = (**sub).clone();
        p.startup = sub.startup + s.parallel_setup_cost;
        p.total = sub.total + s.parallel_setup_cost + s.parallel_tuple_cost * rows;
        p.rows = rows;
        p.pathkeys = Vec::new();
        p.kind = PathKind::Gather { sub: sub.clone(), workers: sub.workers, single_copy: false };
        (p.parallel_safe, p.workers) = (false, 0);
        p
    }

    /// The rows of workers, of whom each has them sorted, merged.
    pub fn gather_merge_path(&self, sub: &Rc<Path>, rows: f64) -> Path {
        let s = self.env.settings;
        let n = f64::from(sub.workers) + 1.0;
        let comparison = 2.0 * s.cpu_operator_cost;
        let mut startup = comparison * n * n.log2();
        let mut run = rows * comparison * n.log2() + s.cpu_operator_cost * rows;
        startup += s.parallel_setup_cost;
        run += s.parallel_tuple_cost * rows * 1.05;
        let mut p = (**sub).clone();
        p.startup = startup + sub.startup;
        p.total = startup + run + sub.total;
        p.disabled = sub.disabled + u32::from(!s.enable_gathermerge);
        p.rows = rows;
        p.kind = PathKind::GatherMerge { sub: sub.clone(), workers: sub.workers };
        (p.parallel_safe, p.workers) = (false, 0);
        p
    }

    /// Adds paths that gather the relation's partial paths, also in orders that are wanted
    /// further up. Unless `own_rows`, the relation's estimate is that of the result.
    pub fn gather_paths(&mut self, rel: usize, own_rows: bool) -> Result<()> {
        let Some(cheapest) = self.rels[rel].partial.first().cloned() else { return Ok(()) };
        let total = self.rels[rel].rows;
        let rows = |root: &Self, p: &Path| if own_rows { root.gathered_rows(p) } else { total };
        let path = self.gather_path(&cheapest, rows(self, &cheapest));
        self.rels[rel].add_path(path);
        let partial = self.rels[rel].partial.clone();
        for p in partial.iter().filter(|p| !p.pathkeys.is_empty()) {
            let path = self.gather_merge_path(p, rows(self, p));
            self.rels[rel].add_path(path);
        }
        let wanted = self.wanted_order(rel)?;
        if wanted.is_empty() {
            return Ok(());
        }
        for p in &partial {
            let presorted = common_prefix(&wanted, &p.pathkeys);
            if presorted == wanted.len() {
                // It was merged as it is.
                continue;
            }
            if let Some(sorted) = self.partial_sorted(p, &cheapest, &wanted, -1.0)? {
                let path = self.gather_merge_path(&sorted, rows(self, &sorted));
                self.rels[rel].add_path(path);
            }
        }
        Ok(())
    }

    /// A partial path sorted, or sorted further, if that is worth a try.
    pub fn partial_sorted(
        &self,
        p: &Rc<Path>,
        cheapest: &Rc<Path>,
        wanted: &[PathKey],
        limit: f64,
    ) -> Result<Option<Rc<Path>>> {
        let incremental = self.env.settings.enable_incremental_sort;
        let presorted = common_prefix(wanted, &p.pathkeys);
        if !Rc::ptr_eq(p, cheapest) && (presorted == 0 || !incremental) {
            return Ok(None);
        }
        let sorted = if presorted == 0 || !incremental {
            self.sorted_path(p, wanted, limit)
        } else {
            self.incrementally_sorted(p, wanted, presorted, limit)?
        };
        Ok(Some(Rc::new(sorted)))
    }

    /// As much of the order that the query wants as this relation's columns give, if workers
    /// may compute it.
    fn wanted_order(&self, rel: usize) -> Result<Vec<PathKey>> {
        let r = &self.rels[rel];
        let mut keys = Vec::new();
        for k in &self.query_pathkeys {
            let ec = &self.ecs[self.canonical_ec(k.ec)];
            let in_target = |e: &ir::Expr| r.target.exprs.contains(e);
            let found = ec.members.iter().find(|m| {
                !m.is_const
                    && !ec.has_volatile
                    && if r.relids.is_empty() {
                        in_target(&m.expr)
                    } else {
                        !m.relids.is_empty() && m.relids.is_subset(&r.relids)
                    }
            });
            match found {
                Some(m) if self.is_parallel_safe(&m.expr)? => keys.push(*k),
                _ => break,
            }
        }
        Ok(keys)
    }

    /// The part of a scan that a worker does, of a scan of all the table.
    pub fn partial_seq_scan(&mut self, rel: usize) {
        let workers = self.workers_for(rel, Some(self.rels[rel].pages), None);
        if workers == 0 || !self.rels[rel].lateral.is_empty() {
            return;
        }
        let quals = self.restriction_cost(&self.rels[rel].restrictions);
        let (target, rows) = (self.rels[rel].target.clone(), self.rels[rel].rows);
        let s = self.env.settings;
        let whole = self.cost_seq_scan(rel, &target, rows, quals);
        let disk = s.seq_page_cost * self.rels[rel].pages;
        let cpu = whole.total - whole.startup - disk;
        let divisor = self.divisor(workers);
        let total = whole.startup + disk + cpu / divisor;
        let cost = Cost { total, ..whole };
        let mut path = self.plain_path(rel, PathKind::SeqScan, cost);
        path.rows = clamp_rows(rows / divisor);
        path.workers = workers;
        self.rels[rel].add_partial(path);
    }
}
