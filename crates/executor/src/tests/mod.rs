//! Nodes over rows in memory: plans made by hand from VALUES.

mod nodes;
mod storage;

use crate::{ExecCtx, ExecSettings, Execution, NoHooks, TempSpace, compile};
use base::memory::Account;
use base::{Oid, Result};
use catalog::{CatalogView, MemorySource, ViewContext};
use functions::StaticEnv;
use ir::*;
use std::sync::Arc;
use txn::Snapshot;
use types::Datum;

pub const INT4: Oid = Oid(23);
pub const TEXT: Oid = Oid(25);
pub const BOOL: Oid = Oid(16);
/// `=`, `<` and `>` of int4.
pub const EQ: Oid = Oid(96);
pub const LT: Oid = Oid(97);

pub fn int(n: i32) -> Datum {
    Datum::I32(n)
}

pub fn constant(value: Datum, ty: Oid) -> Expr {
    Expr::Const(Const { ty, typmod: -1, collation: Oid::INVALID, value, location: None })
}

pub fn var(varno: u32, attno: i16, ty: Oid) -> Expr {
    Expr::Var(Var::new(varno, attno, ty, -1, if ty == TEXT { Oid(100) } else { Oid(0) }))
}

pub fn op(op: u32, func: u32, a: Expr, b: Expr) -> Expr {
    Expr::Op(OpExpr {
        kind: OpKind::Plain,
        op: Oid(op),
        func: Oid(func),
        ret_type: BOOL,
        ret_set: false,
        collation: Oid(0),
        input_collation: Oid(0),
        args: vec![a, b],
        location: None,
    })
}

pub fn int_eq(a: Expr, b: Expr) -> Expr {
    op(96, 65, a, b)
}

pub fn targets(exprs: Vec<Expr>) -> Vec<TargetEntry> {
    exprs
        .into_iter()
        .enumerate()
        .map(|(i, e)| TargetEntry::new(e, i as i16 + 1, None, false))
        .collect()
}

/// All columns of a child by `OUTER_VAR`.
pub fn pass(child: &Plan) -> Vec<TargetEntry> {
    let columns = child.target.iter().enumerate();
    targets(columns.map(|(i, t)| var(OUTER_VAR, i as i16 + 1, t.expr.ty())).collect())
}

pub fn over(node: PlanNode, child: Plan) -> Plan {
    let target = pass(&child);
    Plan { target, outer: Some(Box::new(child)), ..Plan::new(node) }
}

/// VALUES of int4 columns; None is NULL.
pub fn values(rows: &[Vec<Option<i32>>]) -> Plan {
    let width = rows.first().map_or(1, Vec::len);
    let lists = rows
        .iter()
        .map(|r| r.iter().map(|v| constant(v.map_or(Datum::Null, int), INT4)).collect())
        .collect();
    let node = PlanNode::ValuesScan(ValuesScan { scanrel: 1, lists });
    let target = targets((1..=width).map(|i| var(1, i as i16, INT4)).collect());
    Plan { target, ..Plan::new(node) }
}

pub fn statement(plan: Plan) -> PlannedStmt {
    PlannedStmt::select(plan)
}

pub fn view() -> CatalogView {
    CatalogView::new(Arc::new(MemorySource::new()), ViewContext::default())
}

/// Runs a statement that touches no table, asking for `demand` rows at a time.
pub fn run_with(
    stmt: PlannedStmt,
    demand: usize,
    settings: &ExecSettings,
) -> Result<Vec<Vec<Datum>>> {
    let catalog = view();
    let compiled = compile(Arc::new(stmt), &catalog, None)?;
    let env = StaticEnv::new(0);
    let memory = Account::root(0);
    let cx = ExecCtx {
        workers: None,
        env: &env,
        catalog: &catalog,
        storage: None,
        txn: None,
        hooks: &NoHooks,
        memory: &memory,
        settings,
    };
    let snapshot = Arc::new(Snapshot::everything());
    let mut exec = Execution::new(compiled, Arc::from([]), snapshot);
    let mut rows = Vec::new();
    while let Some(batch) = exec.next_batch(cx, demand)? {
        assert!(batch.rows() > 0 && (demand == 0 || batch.rows() <= demand));
        rows.extend(batch.positions().map(|i| batch.row(i)));
    }
    drop(exec);
    assert_eq!(memory.used(), 0, "all memory is given back");
    Ok(rows)
}

/// Runs a plan with several demands; all must give the same.
pub fn run(plan: Plan) -> Vec<Vec<Option<i32>>> {
    let all = [0, 1, 3].map(|demand| {
        let rows = run_with(statement(plan.clone()), demand, &ExecSettings::default()).unwrap();
        ints(rows)
    });
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
    let [rows, ..] = all;
    rows
}

pub fn ints(rows: Vec<Vec<Datum>>) -> Vec<Vec<Option<i32>>> {
    rows.iter()
        .map(|r| r.iter().map(|d| (!d.is_null()).then(|| d.to_i64() as i32)).collect())
        .collect()
}

/// Settings under which everything spills.
pub fn tiny() -> ExecSettings {
    let disk = os::Disk::simulated(os::sim::SimDisk::new(1, os::sim::Faults::default()));
    let dir = std::path::PathBuf::from("tmp");
    disk.create_dir_all(&dir).unwrap();
    ExecSettings {
        leader_participates: true,
        work_mem: 64 << 10,
        hash_mem_multiplier: 1.0,
        temp: Some(TempSpace::new(disk, dir, 1)),
        log_lock_failures: false,
        synchronize_scans: false,
    }
}
