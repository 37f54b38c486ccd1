//! Keeping only paths that are best in some respect.

use super::Path;
use crate::pathkeys::contained_in;
use crate::rel::{PathKey, Rel};
use crate::relids::Relids;
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

fn compare_costs(a: &Merits<'_>, b: &Merits<'_>, fuzz: f64) -> Costs {
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

/// What paths are compared by.
#[derive(Clone, Copy)]
pub struct Merits<'a> {
    pub startup: f64,
    pub total: f64,
    pub disabled: u32,
    pub rows: f64,
    pub param: &'a Relids,
    pub pathkeys: &'a [PathKey],
    pub parallel_safe: bool,
}

impl Path {
    fn merits(&self) -> Merits<'_> {
        Merits {
            startup: self.startup,
            total: self.total,
            disabled: self.disabled,
            rows: self.rows,
            param: &self.param,
            pathkeys: &self.pathkeys,
            parallel_safe: self.parallel_safe,
        }
    }
}

impl Merits<'_> {
    /// A parameterised path's order is not looked at.
    fn keys(&self) -> &[PathKey] {
        if self.param.is_empty() { self.pathkeys } else { &[] }
    }

    /// True if it is at least as good as `b` in order, needs and rows (costs being settled).
    fn covers(&self, b: &Merits<'_>) -> bool {
        contained_in(b.keys(), self.keys())
            && self.param.is_subset(b.param)
            && self.rows <= b.rows
            && (self.parallel_safe || !b.parallel_safe)
    }
}

/// What becomes of an old path and a new one beside each other.
#[derive(PartialEq, Clone, Copy)]
enum Verdict {
    Both,
    OnlyOld,
    OnlyNew,
}

fn judge(new: &Merits<'_>, old: &Merits<'_>) -> Verdict {
    match compare_costs(new, old, FUZZ) {
        Costs::First if new.covers(old) => Verdict::OnlyNew,
        Costs::Second if old.covers(new) => Verdict::OnlyOld,
        Costs::Same => match (new.covers(old), old.covers(new)) {
            (true, false) => Verdict::OnlyNew,
            (false, true) => Verdict::OnlyOld,
            // As good in every respect: the smaller cost, else the old one.
            (true, true) => match compare_costs(new, old, 1.000_000_000_1) {
                Costs::First => Verdict::OnlyNew,
                _ => Verdict::OnlyOld,
            },
            (false, false) => Verdict::Both,
        },
        _ => Verdict::Both,
    }
}

impl Rel {
    /// Takes the path in unless another is as good in every respect; drops those it beats.
    pub fn add_path(&mut self, new: Path) {
        if let Some(at) = self.make_room(&new.merits()) {
            self.paths.insert(at, Rc::new(new));
        }
    }

    /// Where a path of these merits belongs, once those that it beats are dropped. None if it need
    /// not be made, as another is as good in every respect.
    pub fn make_room(&mut self, new: &Merits<'_>) -> Option<usize> {
        let mut insert_at = 0;
        let mut i = 0;
        while let Some(old) = self.paths.get(i) {
            match judge(new, &old.merits()) {
                Verdict::OnlyOld => return None,
                Verdict::OnlyNew => {
                    self.paths.remove(i);
                    continue;
                }
                Verdict::Both => {}
            }
            if (old.disabled, old.total) <= (new.disabled, new.total) {
                insert_at = i + 1;
            }
            i += 1;
        }
        Some(insert_at)
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
