//! Keeping only paths that are best in some respect.

use super::Path;
use crate::pathkeys::contained_in;
use crate::rel::Rel;
use std::rc::Rc;

/// Costs that differ by less than this factor count as the same.
const FUZZ: f64 = 1.01;

#[derive(PartialEq, Clone, Copy)]
enum Costs {
    Same,
    First,
    Second,
    Different,
}

fn compare_costs(a: &Path, b: &Path, fuzz: f64) -> Costs {
    if a.disabled != b.disabled {
        return if a.disabled < b.disabled { Costs::First } else { Costs::Second };
    }
    if a.total > b.total * fuzz {
        return if b.startup > a.startup * fuzz { Costs::Different } else { Costs::Second };
    }
    if b.total > a.total * fuzz {
        return if a.startup > b.startup * fuzz { Costs::Different } else { Costs::First };
    }
    if a.startup > b.startup * fuzz {
        return Costs::Second;
    }
    if b.startup > a.startup * fuzz {
        return Costs::First;
    }
    Costs::Same
}

/// True if `a` is at least as good as `b` in order, needs and rows (costs being settled).
fn covers(a: &Path, b: &Path) -> bool {
    contained_in(&keys_of(b), &keys_of(a))
        && a.param.is_subset(&b.param)
        && a.rows <= b.rows
        && (a.parallel_safe || !b.parallel_safe)
}

/// A parameterised path's order is not looked at.
fn keys_of(p: &Path) -> Vec<crate::rel::PathKey> {
    if p.param.is_empty() { p.pathkeys.clone() } else { Vec::new() }
}

impl Rel {
    /// Takes the path in unless another is as good in every respect; drops those it beats.
    pub fn add_path(&mut self, new: Path) {
        let mut insert_at = 0;
        let mut i = 0;
        while i < self.paths.len() {
            let old = &self.paths[i];
            let (mut drop_old, mut reject) = (false, false);
            match compare_costs(&new, old, FUZZ) {
                Costs::Different => {}
                Costs::First => drop_old = covers(&new, old),
                Costs::Second => reject = covers(old, &new),
                Costs::Same => {
                    let (n, o) = (covers(&new, old), covers(old, &new));
                    match (n, o) {
                        (true, false) => drop_old = true,
                        (false, true) => reject = true,
                        (true, true) => {
                            // As good in every respect: the smaller cost, else the old one.
                            if compare_costs(&new, old, 1.000_000_000_1) == Costs::First {
                                drop_old = true;
                            } else {
                                reject = true;
                            }
                        }
                        (false, false) => {}
                    }
                }
            }
            if reject {
                return;
            }
            if drop_old {
                self.paths.remove(i);
                continue;
            }
            let old = &self.paths[i];
            if (old.disabled, old.total) <= (new.disabled, new.total) {
                insert_at = i + 1;
            }
            i += 1;
        }
        self.paths.insert(insert_at.min(self.paths.len()), Rc::new(new));
    }

    /// Notes the cheapest paths.
    pub fn set_cheapest(&mut self) {
        let less = |a: &Path, b: &Path, startup: bool| {
            let key = |p: &Path| {
                let (x, y) = if startup { (p.startup, p.total) } else { (p.total, p.startup) };
                (p.disabled, x, y)
            };
            key(a).partial_cmp(&key(b)) == Some(std::cmp::Ordering::Less)
        };
        let free: Vec<&Rc<Path>> = self.paths.iter().filter(|p| p.param.is_empty()).collect();
        let pick = |startup: bool| {
            let mut best: Option<&Rc<Path>> = None;
            for p in &free {
                let better = match best {
                    None => true,
                    Some(b) => {
                        less(p, b, startup)
                            || !less(b, p, startup)
                                && p.pathkeys.len() > b.pathkeys.len()
                                && contained_in(&b.pathkeys, &p.pathkeys)
                    }
                };
                if better {
                    best = Some(p);
                }
            }
            best.cloned()
        };
        self.cheapest_startup = pick(true);
        self.cheapest_total = pick(false);
        self.cheapest_params = Vec::new();
        if let Some(t) = &self.cheapest_total {
            self.cheapest_params.push(t.clone());
        }
        for p in self.paths.iter().filter(|p| !p.param.is_empty()) {
            self.cheapest_params.push(p.clone());
        }
        if self.cheapest_total.is_none() {
            // Only parameterised paths (a lateral relation): the least needy one.
            let mut all: Vec<&Rc<Path>> = self.paths.iter().collect();
            all.sort_by(|a, b| {
                (a.param.len(), a.total)
                    .partial_cmp(&(b.param.len(), b.total))
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
            self.cheapest_total = all.first().map(|p| (*p).clone());
            self.cheapest_startup = None;
        }
    }
}
