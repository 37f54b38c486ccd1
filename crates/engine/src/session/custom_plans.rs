//! Plans that were made for some values of a statement's parameters and serve for others, as long
//! as the estimates that they were chosen by stay similar.
//!
//! A statement that comes again with other values is planned anew only if one of the values, or
//! the size of a table, asks for it; see [`planner::Watch`].

use super::Session;
use super::env::StatementEnv;
use super::prepared::{Analysed, CachedPlan, Prepared};
use crate::settings::PlanCacheMode;
use base::Result;
use os::sync::Mutex;
use planner::{Grounds, Watch};
use smallvec::SmallVec;
use std::sync::Arc;
use types::Datum;

/// Values that are too different for this many plans are too different.
const MOST: usize = 4;

/// The plans of a statement, the one used last first.
#[derive(Default)]
pub struct CustomPlans {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    plans: SmallVec<[Arc<CustomPlan>; MOST]>,
    /// Values decide too much.
    hopeless: bool,
}

/// A plan, and what it was chosen by.
struct CustomPlan {
    plan: Arc<CachedPlan>,
    grounds: Grounds,
}

impl CustomPlans {
    /// Forgets all: the statement means something else.
    pub fn clear(&self) {
        *self.inner.lock() = Inner::default();
    }

    /// The plans; None if there can be none.
    fn known(&self) -> Option<SmallVec<[Arc<CustomPlan>; MOST]>> {
        let inner = self.inner.lock();
        (!inner.hopeless).then(|| inner.plans.clone())
    }

    /// A plan is the one used last.
    fn used(&self, plan: &Arc<CustomPlan>) {
        let plans = &mut self.inner.lock().plans;
        if let Some(at) = plans.iter().position(|p| Arc::ptr_eq(p, plan)) {
            plans[..=at].rotate_right(1);
        }
    }

    fn keep(&self, plan: CustomPlan) {
        let plans = &mut self.inner.lock().plans;
        plans.truncate(MOST - 1);
        plans.insert(0, Arc::new(plan));
    }
}

impl Session {
    /// A plan for these values: one that was made for similar ones, or a new one.
    pub(super) fn custom_plan(
        &self,
        env: &StatementEnv<'_>,
        prepared: &Prepared,
        analysed: &Arc<Analysed>,
        params: &[Datum],
        fraction: f64,
    ) -> Result<Arc<CachedPlan>> {
        let shared = prepared.shared_as(analysed);
        let again = !prepared.name.is_empty() || prepared.from_literals || shared.is_some();
        let auto = env.settings().plan_cache_mode == PlanCacheMode::Auto;
        let query = super::query::main_query(analysed)?;
        if again && auto && fraction == 0.0 {
            let plans = shared.as_ref().map_or(&prepared.custom, |s| &s.custom);
            if let Some(plan) = self.similar_plan(env, plans, analysed, params)? {
                prepared.count_custom(plan.compiled.plan(), env.settings());
                return Ok(plan);
            }
        }
        let plan = self.plan(env, query.clone(), Some(params), fraction)?;
        prepared.count_custom(&plan, env.settings());
        Ok(Arc::new(self.cached(env, plan, analysed)?))
    }

    /// A plan that was made for similar values, or one that may serve others; None if the values
    /// decide too much.
    fn similar_plan(
        &self,
        env: &StatementEnv<'_>,
        plans: &CustomPlans,
        analysed: &Arc<Analysed>,
        params: &[Datum],
    ) -> Result<Option<Arc<CachedPlan>>> {
        let Some(known) = plans.known() else { return Ok(None) };
        for (i, one) in known.iter().enumerate() {
            if one.plan.is_of(analysed) && self.core.grounds_hold(env, params, &one.grounds)? {
                if i > 0 {
                    plans.used(one);
                }
                return Ok(Some(one.plan.clone()));
            }
        }
        let watch = Watch::default();
        let query = super::query::main_query(analysed)?.clone();
        let plan = self.core.plan_watched(env, query, Some(params), 0.0, Some(&watch))?;
        let Some(grounds) = watch.finish() else {
            plans.inner.lock().hopeless = true;
            return Ok(None);
        };
        let plan = Arc::new(self.cached(env, plan, analysed)?);
        if env.view.generation() == analysed.generation {
            plans.keep(CustomPlan { plan: plan.clone(), grounds });
        }
        Ok(Some(plan))
    }
}
