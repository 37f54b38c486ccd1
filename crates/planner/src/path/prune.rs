//! Partitions that a query's conditions rule out.

use crate::prep::volatility;
use crate::root::Root;
use base::{Oid, Result};
use catalog::RelationDesc;
use catalog::partition::{PartitionBound, Partitioning};
use catalog::prune::{Level, possible};
use ir::{AppendPrune, Expr};
use std::rc::Rc;
use std::sync::Arc;

impl Root<'_> {
    /// True if no row of a partition can pass the conditions, whose columns are those of entry
    /// `varno`, the table at the top.
    pub fn is_pruned(
        &self,
        top: &RelationDesc,
        varno: u32,
        member: &Arc<RelationDesc>,
        clauses: &[Expr],
    ) -> Result<bool> {
        if !self.env.settings.enable_partition_pruning || clauses.is_empty() {
            return Ok(false);
        }
        let mut levels = Vec::new();
        let mut below = member.clone();
        while below.is_partition && (below.oid != top.oid || has_default(top)) {
            let (Some(parent), Some(text)) = (below.parents.first(), &below.partition_bound) else {
                break;
            };
            let parent = self.env.catalog.relation(*parent)?;
            levels.push(Level {
                partitioning: Arc::new(Partitioning::load(self.env.catalog, &parent)?),
                bound: PartitionBound::parse(text)?.kind,
                child: below.oid,
                keys: Arc::new(self.keys_of(&parent, top, varno)?),
            });
            if below.oid == top.oid {
                break;
            }
            below = parent;
        }
        Ok(!possible(self.env.catalog, &levels, clauses)?)
    }

    /// The columns and expressions of a key, over the table at the top.
    pub(super) fn keys_of(
        &self,
        parent: &RelationDesc,
        top: &RelationDesc,
        varno: u32,
    ) -> Result<Vec<Expr>> {
        let Some(key) = &parent.partition_key else { return Ok(Vec::new()) };
        let exprs: Vec<Expr> = match &key.exprs {
            Some(text) => super::scan::node_from_text(text)?,
            None => Vec::new(),
        };
        let mut exprs = exprs.into_iter();
        let mut out = Vec::new();
        for column in &key.columns {
            let mut e = match column {
                0 => exprs.next().unwrap_or_else(|| Expr::bool_const(true)),
                n => super::scan::column_of(parent, 1, *n),
            };
            super::scan::renumber(&mut e, varno);
            crate::prep::normalise_expr(&mut e);
            ir::walk::transform(&mut e, &mut |x| {
                if let Expr::Var(v) = x
                    && v.attno > 0
                    && let Some(a) = parent.tuple.attrs.get(v.attno as usize - 1)
                    && let Some(n) = top.column_number(&a.name)
                {
                    (v.attno, v.syn_attno) = (n, n);
                }
            });
            out.push(crate::prep::const_fold::simplify(e, self.env, false)?);
        }
        Ok(out)
    }
}

fn has_default(rel: &RelationDesc) -> bool {
    rel.partition_key.as_ref().is_some_and(|k| k.default_partition.is_valid())
}

impl Root<'_> {
    /// What rules out parts of an append once values are known that the planner does not know.
    pub fn prune_at_run_time(
        &mut self,
        path: &super::Path,
        parts: &[Rc<super::Path>],
    ) -> Result<Option<Box<AppendPrune>>> {
        let rel = &self.rels[path.rel];
        let (Some(top), varno) = (super::member::table_of(&rel.kind).cloned(), rel.rtindex) else {
            return Ok(None);
        };
        if !self.env.settings.enable_partition_pruning || top.partition_key.is_none() {
            return Ok(None);
        }
        let mut list = rel.restrictions.clone();
        list.extend(path.param_clauses.iter().cloned());
        let mut clauses = Vec::new();
        for r in list.iter().filter(|r| !r.pseudoconstant) {
            let unusable = ir::walk::any(&r.clause, &mut |e| {
                matches!(e, Expr::SubPlan(_) | Expr::Agg(_) | Expr::Window(_))
            });
            if !unusable && !volatility::has_volatile(&r.clause, self.env)? {
                clauses.push(self.with_nest_params(r.clause.clone()));
            }
        }
        let mut prune = AppendPrune { varno, clauses, tables: Vec::new(), children: Vec::new() };
        for part in parts {
            let member = match self.rels[part.rel].ancestors.is_empty() {
                true => None,
                false => super::member::table_of(&self.rels[part.rel].kind).map(|d| d.oid),
            };
            prune.children.push(match member {
                Some(oid) => self.levels_up_to(oid, &top, varno, &mut prune.tables)?,
                None => Vec::new(),
            });
        }
        Ok(self.depends_on_values(&prune).then(|| Box::new(prune)))
    }

    /// The partitioned tables above a partition, up to `top`, each with its partition.
    fn levels_up_to(
        &self,
        member: Oid,
        top: &RelationDesc,
        varno: u32,
        tables: &mut Vec<(Oid, Vec<Expr>)>,
    ) -> Result<Vec<(u32, Oid)>> {
        let mut out = Vec::new();
        let mut below = self.env.catalog.relation(member)?;
        while below.is_partition && below.oid != top.oid {
            let Some(parent) = below.parents.first() else { break };
            let parent = self.env.catalog.relation(*parent)?;
            let at = match tables.iter().position(|t| t.0 == parent.oid) {
                Some(at) => at,
                None => {
                    tables.push((parent.oid, self.keys_of(&parent, top, varno)?));
                    tables.len() - 1
                }
            };
            out.push((at as u32, below.oid));
            below = parent;
        }
        Ok(out)
    }

    /// Whether some condition on a key has a value that will be known later.
    fn depends_on_values(&self, prune: &AppendPrune) -> bool {
        let key_columns: Vec<&Expr> = prune.tables.iter().flat_map(|t| &t.1).collect();
        prune.clauses.iter().any(|c| {
            let later = ir::walk::any(c, &mut |e| match e {
                Expr::Param(_) | Expr::SqlValue { .. } => true,
                Expr::Func(f) => self.is_stable(f.func),
                Expr::Op(o) => self.is_stable(o.func),
                Expr::CoerceViaIo { .. } => true,
                _ => false,
            });
            later
                && ir::walk::any(c, &mut |e| {
                    key_columns.iter().any(|k| super::index::strip(k) == super::index::strip(e))
                })
        })
    }

    fn is_stable(&self, func: Oid) -> bool {
        self.env.catalog.proc(func).is_ok_and(|p| p.volatility == b's')
    }
}
