//! Group: one row a group, of rows that come sorted.

use super::{NodeSpec, unique};
use crate::compile::PlanCompiler;
use base::Result;
use ir::Plan;
use std::sync::Arc;

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    group: &ir::Group,
) -> Result<Arc<dyn NodeSpec>> {
    unique::compile_keys(c, plan, &group.keys)
}
