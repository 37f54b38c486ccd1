//! ValuesScan: the rows of a VALUES list.

use super::{Node, NodeSpec};
use crate::batch::{Collector, split};
use crate::compile::PlanCompiler;
use crate::expr::{Prog, RowInput, VarMap, named};
use crate::output::{Output, Pump};
use crate::run::Run;
use base::Result;
use ir::Plan;
use std::sync::Arc;
use types::{Batch, PhysType};

struct ValuesSpec {
    rows: Vec<Vec<Prog>>,
    phys: Vec<PhysType>,
    output: Output,
}

struct ValuesNode {
    spec: Arc<ValuesSpec>,
    at: usize,
    pump: Pump,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::ValuesScan,
) -> Result<Arc<dyn NodeSpec>> {
    let mut rows = Vec::with_capacity(scan.lists.len());
    for list in &scan.lists {
        rows.push(c.ec.list(list, &VarMap::default())?);
    }
    let types = scan.lists.first().map(|l| l.iter().map(|e| e.ty()).collect()).unwrap_or_default();
    let phys: Vec<PhysType> =
        rows.first().map(|r| r.iter().map(|p| p.phys).collect()).unwrap_or_default();
    let mut map = VarMap::default().and(scan.scanrel, 0, phys.len());
    if let Some(rte) = c.stmt.rtable.get((scan.scanrel as usize).wrapping_sub(1)) {
        map = map.with_types(named(types, rte));
    }
    let output = c.output(plan, &map)?;
    Ok(Arc::new(ValuesSpec { rows, phys, output }))
}

impl NodeSpec for ValuesSpec {
    fn start(self: Arc<Self>, _run: &mut Run) -> Result<Box<dyn Node>> {
        Ok(Box::new(ValuesNode { spec: self, at: 0, pump: Pump::default() }))
    }
}

impl Node for ValuesNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let (spec, at) = (&self.spec, &mut self.at);
        let batch = self.pump.pull(run, demand, &spec.output, |run| {
            let mut rows = Collector::new(&spec.phys);
            while *at < spec.rows.len() && rows.rows() < demand {
                let mut values = Vec::with_capacity(spec.phys.len());
                for prog in &spec.rows[*at] {
                    values.push(prog.eval(run, RowInput::None)?);
                }
                rows.push_values(&values);
                *at += 1;
            }
            Ok(rows.take())
        })?;
        debug_assert!(batch.as_ref().is_none_or(|b| split(b.clone(), demand).1.is_none()));
        Ok(batch)
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.at = 0;
        self.pump.clear();
        Ok(())
    }
}
