//! Window functions: one step for each window.

use super::Targets;
use crate::path::{Path, PathKind};
use crate::pathkeys::contained_in;
use crate::rel::{BaseKind, Target};
use crate::relids::Relids;
use crate::root::Root;
use base::Result;
use ir::{Expr, WindowClause, walk};
use std::rc::Rc;

impl Root<'_> {
    /// Adds the windows above the input's paths.
    pub fn window_rel(&mut self, input: usize, targets: &Targets) -> Result<usize> {
        let rel = self.add_rel(BaseKind::Upper, Relids::empty(), 0);
        self.rels[rel].target = targets.sort_input.clone();
        let windows = self.windows_in_order(targets);
        let Some(cheapest) = self.rels[input].cheapest_total.clone() else { return Ok(rel) };
        let mut first_keys = Vec::new();
        if let Some(w) = windows.first() {
            let clauses = [w.partition.clone(), w.order.clone()].concat();
            let list = self.processed.clone();
            first_keys = self.pathkeys_for_clauses(&clauses, &list)?.unwrap_or_default();
        }
        for p in self.rels[input].paths.clone() {
            if !Rc::ptr_eq(&p, &cheapest) && !contained_in(&first_keys, &p.pathkeys) {
                continue;
            }
            let path = self.window_path(p, &windows, targets)?;
            self.adopt(rel, &path);
        }
        self.rels[rel].rows = self.rels[input].rows;
        self.rels[rel].set_cheapest();
        Ok(rel)
    }

    /// The windows in use, those with longer orders first so that later ones need no sort.
    fn windows_in_order(&self, targets: &Targets) -> Vec<WindowClause> {
        let mut used: Vec<u32> = Vec::new();
        for e in &targets.final_.exprs {
            walk::each(e, &mut |x| {
                if let Expr::Window(w) = x
                    && !used.contains(&w.window)
                {
                    used.push(w.window);
                }
            });
        }
        let mut list: Vec<WindowClause> =
            self.query.windows.iter().filter(|w| used.contains(&w.ref_)).cloned().collect();
        let key = |w: &WindowClause| -> Vec<u32> {
            w.partition.iter().chain(&w.order).map(|c| c.target_ref).collect()
        };
        list.sort_by(|a, b| {
            let (ka, kb) = (key(a), key(b));
            // Ones that share a beginning stand together, the longest first.
            let n = ka.len().min(kb.len());
            ka[..n].cmp(&kb[..n]).then(kb.len().cmp(&ka.len()))
        });
        list
    }

    fn window_path(
        &mut self,
        mut path: Rc<Path>,
        windows: &[WindowClause],
        targets: &Targets,
    ) -> Result<Rc<Path>> {
        let s = self.env.settings;
        let mut current: Target = (*path.target).clone();
        for (i, w) in windows.iter().enumerate() {
            let clauses = [w.partition.clone(), w.order.clone()].concat();
            let list = self.processed.clone();
            let keys = self.pathkeys_for_clauses(&clauses, &list)?.unwrap_or_default();
            if !contained_in(&keys, &path.pathkeys) {
                path = Rc::new(self.sorted_path(&path, &keys, -1.0));
            }
            let last = i + 1 == windows.len();
            let target = if last {
                targets.sort_input.clone()
            } else {
                for e in &targets.sort_input.exprs {
                    walk::each(e, &mut |x| {
                        if let Expr::Window(f) = x
                            && f.window == w.ref_
                        {
                            current.add(x.clone(), 0);
                        }
                    });
                }
                self.finish_target(&mut current);
                Rc::new(current.clone())
            };
            let mut functions = 0.0;
            for e in &targets.final_.exprs {
                walk::each(e, &mut |x| {
                    if let Expr::Window(f) = x
                        && f.window == w.ref_
                    {
                        let cost = self.env.catalog.proc(f.func).map_or(1.0, |p| f64::from(p.cost));
                        let args = self.eval_costs(&f.args);
                        functions += cost * s.cpu_operator_cost + args.per_row;
                    }
                });
            }
            let columns = (w.partition.len() + w.order.len()) as f64;
            let mut p = (*path).clone();
            p.total += path.rows * (functions + s.cpu_operator_cost * columns + s.cpu_tuple_cost);
            p.startup += target.cost.0;
            p.total += target.cost.0 + target.cost.1 * path.rows;
            p.target = target;
            p.kind = PathKind::Window {
                sub: path.clone(),
                clause: Box::new(w.clone()),
                top: last,
                qual: Vec::new(),
            };
            path = Rc::new(p);
        }
        Ok(path)
    }
}
