//! What workers of a parallel plan may do, and how many of them there are to be.

use crate::prep::volatility;
use crate::rel::{BaseKind, Rel};
use crate::root::{Env, Root};
use base::Result;
use catalog::Persistence;
use ir::{CmdType, Expr, ParamKind, Query, RteKind, walk};

/// What keeps something out of workers, or the whole statement from having any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hazard {
    #[default]
    Safe,
    /// The leader has to do it.
    Restricted,
    /// The statement cannot have workers at all.
    Unsafe,
}

impl Hazard {
    fn of_mark(mark: u8) -> Hazard {
        match mark {
            b's' => Hazard::Safe,
            b'r' => Hazard::Restricted,
            _ => Hazard::Unsafe,
        }
    }
}

/// What one node of an expression brings with it; subplans and params are left out.
fn hazard_of(e: &Expr, env: &Env) -> Result<Hazard> {
    let mut worst = match e {
        Expr::NextValue { .. } => Hazard::Unsafe,
        Expr::CoerceToDomain { .. } | Expr::Window(_) | Expr::Grouping(_) => Hazard::Restricted,
        Expr::CurrentOf { .. } => Hazard::Restricted,
        _ => Hazard::Safe,
    };
    let mut funcs = Vec::new();
    volatility::called(e, env, &mut funcs)?;
    for f in funcs {
        worst = worst.max(Hazard::of_mark(env.catalog.proc(f)?.parallel));
    }
    Ok(worst)
}

/// The worst that a query holds, queries inside it included.
pub fn query_hazard(query: &Query, env: &Env) -> Result<Hazard> {
    if !query.row_marks.is_empty() || query.command != CmdType::Select || query.has_modifying_cte {
        return Ok(Hazard::Unsafe);
    }
    let mut worst = Hazard::Safe;
    let mut failed = None;
    walk::query_exprs(query, 0, &mut |e, _| {
        walk::any_levels(e, 0, &mut |x, _| {
            match hazard_of(x, env) {
                Ok(h) => worst = worst.max(h),
                Err(error) => failed = Some(error),
            }
            if let Expr::SubLink(s) = x
                && !s.query.row_marks.is_empty()
            {
                worst = Hazard::Unsafe;
            }
            worst == Hazard::Unsafe
        });
    });
    for rte in &query.rtable {
        if let RteKind::Subquery { query, .. } = &rte.kind
            && !query.row_marks.is_empty()
        {
            worst = Hazard::Unsafe;
        }
    }
    failed.map_or(Ok(worst), Err)
}

/// By how much the work of a parallel path is divided.
pub fn divisor(workers: u32, leader_helps: bool) -> f64 {
    let n = f64::from(workers);
    // The leader reads what the workers send, and has the less time the more of them there are.
    let leader = if leader_helps { (1.0 - 0.3 * n).max(0.0) } else { 0.0 };
    n + leader
}

impl Root<'_> {
    /// By how much the work of a path with that many workers is divided.
    pub fn divisor(&self, workers: u32) -> f64 {
        divisor(workers, self.env.settings.parallel_leader_participation)
    }

    /// Whether workers may compute the expression.
    pub fn is_parallel_safe(&self, e: &Expr) -> Result<bool> {
        if !self.global.borrow().parallel_ok {
            return Ok(false);
        }
        let init_params = {
            let g = self.global.borrow();
            if g.all_safe && g.exec_param_types.is_empty() {
                return Ok(true);
            }
            g.init_params.clone()
        };
        self.safe_with(e, &init_params)
    }

    fn safe_with(&self, e: &Expr, known: &[u32]) -> Result<bool> {
        match e {
            Expr::Param(p) if p.kind == ParamKind::Exec => return Ok(known.contains(&p.id)),
            Expr::SubPlan(s) => {
                if !s.parallel_safe {
                    return Ok(false);
                }
                let own = [known, &s.param_ids].concat();
                if let Some(t) = &s.test
                    && !self.safe_with(t, &own)?
                {
                    return Ok(false);
                }
                return s.args.iter().try_fold(true, |ok, a| Ok(ok && self.safe_with(a, known)?));
            }
            Expr::SubLink(_) => return Ok(false),
            _ => {}
        }
        if hazard_of(e, self.env)? != Hazard::Safe {
            return Ok(false);
        }
        let mut result = Ok(true);
        walk::children(e, &mut |c| {
            if let Ok(true) = result {
                result = self.safe_with(c, known);
            }
        });
        result
    }

    /// The same of a list.
    pub fn all_parallel_safe<'e>(&self, list: impl IntoIterator<Item = &'e Expr>) -> Result<bool> {
        for e in list {
            if !self.is_parallel_safe(e)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Decides whether a base relation can be read by workers.
    pub fn consider_parallel(&mut self, rel: usize) -> Result<()> {
        if !self.global.borrow().parallel_ok {
            return Ok(());
        }
        let r = &self.rels[rel];
        let possible = match (&r.kind, &self.query.rte(r.rtindex).kind) {
            (BaseKind::Table(d) | BaseKind::AppendRel(d), kind) => {
                // Pages of temporary tables belong to the session.
                let sample = match kind {
                    RteKind::Relation { sample: Some(s), .. } => {
                        self.all_parallel_safe(s.args.iter().chain(s.repeatable.as_ref()))?
                    }
                    _ => true,
                };
                d.persistence != Persistence::Temp && sample
            }
            (BaseKind::Subquery(info), RteKind::Subquery { query, .. }) => {
                let limited = query.limit_count.is_some() || query.limit_offset.is_some();
                info.plan.parallel_safe && !limited
            }
            (BaseKind::Function, RteKind::Function { functions, .. }) => {
                self.all_parallel_safe(functions.iter().map(|f| &f.expr))?
                    && !functions.iter().any(|f| matches!(f.expr, Expr::Json(_) | Expr::Xml(_)))
            }
            (BaseKind::Values, RteKind::Values { lists, .. }) => {
                self.all_parallel_safe(lists.iter().flatten())?
            }
            (BaseKind::Result | BaseKind::UnionAll, _) => true,
            _ => false,
        };
        let safe = possible
            && self.all_parallel_safe(self.rels[rel].restrictions.iter().map(|r| &r.clause))?
            && self.all_parallel_safe(&self.rels[rel].target.exprs)?;
        self.rels[rel].parallel = safe;
        Ok(())
    }

    /// How many workers a scan of that many pages of a table and of an index gets.
    pub fn workers_for(&self, rel: usize, heap: Option<f64>, index: Option<f64>) -> u32 {
        let s = self.env.settings;
        let r = &self.rels[rel];
        let most = s.max_parallel_workers_per_gather;
        if let Some(wanted) = workers_option(r) {
            return wanted.min(most);
        }
        let small = |pages: Option<f64>, limit: f64| pages.is_none_or(|p| p < limit);
        if r.parent.is_none()
            && small(heap, s.min_parallel_table_scan_size)
            && small(index, s.min_parallel_index_scan_size)
        {
            return 0;
        }
        let steps = |pages: f64, smallest: f64| {
            let mut threshold = smallest.max(1.0);
            let mut workers = 1;
            while pages >= threshold * 3.0 {
                workers += 1;
                threshold *= 3.0;
            }
            workers
        };
        let by_heap = heap.map(|p| steps(p, s.min_parallel_table_scan_size));
        let by_index = index.map(|p| steps(p, s.min_parallel_index_scan_size));
        let workers = match (by_heap, by_index) {
            (Some(h), Some(i)) => h.min(i),
            (one, other) => one.or(other).unwrap_or(0),
        };
        workers.min(most)
    }
}

/// The table's own say in how many workers scan it.
fn workers_option(rel: &Rel) -> Option<u32> {
    let BaseKind::Table(desc) = &rel.kind else { return None };
    desc.option("parallel_workers")?.parse().ok()
}
