//! Children of an append that cannot have rows that are wanted, found once the values that they
//! depend on are known.

use crate::compile::PlanCompiler;
use crate::expr::{Prog, RowInput, VarMap};
use crate::run::Run;
use base::{Oid, Result};
use catalog::partition::{PartitionBound, Partitioning};
use catalog::prune::{Level, possible};
use ir::{AppendPrune, Const, Expr, Param, ParamKind, walk};
use std::sync::Arc;

/// Numbers of params from here on stand for values in conditions.
const PLACE: u32 = u32::MAX / 2;

/// A value in the conditions.
struct Value {
    prog: Prog,
    expr: Expr,
    /// It may be another one each time the append is run.
    changes: bool,
}

/// What is needed to prune an append.
pub(crate) struct Prune {
    clauses: Vec<Expr>,
    values: Vec<Value>,
    children: Vec<Vec<Level>>,
}

impl Prune {
    /// Of an append's conditions.
    pub fn compile(
        c: &mut PlanCompiler,
        prune: Option<&AppendPrune>,
    ) -> Result<Option<Arc<Prune>>> {
        let Some(prune) = prune else { return Ok(None) };
        let mut tables = Vec::new();
        for (oid, keys) in &prune.tables {
            let table = c.ec.catalog.relation(*oid)?;
            let partitioning = Arc::new(Partitioning::load(c.ec.catalog, &table)?);
            tables.push((partitioning, Arc::new(keys.clone())));
        }
        let mut children = Vec::new();
        for levels in &prune.children {
            let mut own = Vec::new();
            for (table, child) in levels {
                let (partitioning, keys) = &tables[*table as usize];
                let member = c.ec.catalog.relation(*child)?;
                let Some(text) = &member.partition_bound else { continue };
                own.push(Level {
                    partitioning: partitioning.clone(),
                    child: *child,
                    bound: PartitionBound::parse(text)?.kind,
                    keys: keys.clone(),
                });
            }
            children.push(own);
        }
        let (mut clauses, mut found) = (prune.clauses.clone(), Vec::new());
        for clause in &mut clauses {
            take_values(clause, &mut found);
        }
        let mut values = Vec::new();
        for expr in found {
            let changes =
                walk::any(&expr, &mut |e| matches!(e, Expr::Param(p) if p.kind == ParamKind::Exec));
            values.push(Value { prog: c.ec.expr(&expr, &VarMap::default())?, expr, changes });
        }
        Ok(Some(Arc::new(Prune { clauses, values, children })))
    }

    /// Whether each run may need other children.
    pub fn changes(&self) -> bool {
        self.values.iter().any(|v| v.changes)
    }

    /// For each child, whether it may have rows. At first, only what does not change is looked at.
    pub fn needed(&self, run: &mut Run, at_first: bool) -> Result<Vec<bool>> {
        let mut known = Vec::new();
        for v in &self.values {
            known.push(match at_first && v.changes {
                true => None,
                false => Some(v.prog.eval(run, RowInput::None)?),
            });
        }
        let mut clauses = Vec::new();
        for clause in &self.clauses {
            let mut clause = clause.clone();
            let mut whole = true;
            walk::replace(&mut clause, &mut |e| {
                let Expr::Param(p) = e else { return None };
                let at = p.id.checked_sub(PLACE)? as usize;
                let Some(Some(value)) = known.get(at) else {
                    whole = false;
                    return None;
                };
                let of = &self.values[at].expr;
                Some(Expr::Const(Const {
                    ty: of.ty(),
                    typmod: of.typmod(),
                    collation: of.collation(),
                    value: value.clone(),
                    location: None,
                }))
            });
            if whole {
                clauses.push(clause);
            }
        }
        let catalog = run.cx.catalog;
        self.children
            .iter()
            .map(|levels| Ok(levels.is_empty() || possible(catalog, levels, &clauses)?))
            .collect()
    }
}

/// Puts params in the places of the largest parts without columns that are not constants.
fn take_values(e: &mut Expr, found: &mut Vec<Expr>) {
    let has_columns = walk::any(e, &mut |x| matches!(x, Expr::Var(_)));
    if has_columns {
        walk::children_mut(e, &mut |c| take_values(c, found));
        return;
    }
    if matches!(e, Expr::Const(_)) {
        return;
    }
    let id = PLACE + found.len() as u32;
    let (ty, typmod, collation): (Oid, i32, Oid) = (e.ty(), e.typmod(), e.collation());
    let param = Param { kind: ParamKind::Extern, id, ty, typmod, collation, location: None };
    found.push(std::mem::replace(e, Expr::Param(param)));
}
