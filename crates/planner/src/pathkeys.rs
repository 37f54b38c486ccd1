//! Sort orders in a canonical form, so that two that mean the same are equal.

use crate::rel::{IndexInfo, PathKey, Restriction};
use crate::relids::Relids;
use crate::root::Root;
use base::{Oid, Result};
use ir::{Expr, ScanDirection, SortGroupClause, TargetEntry};
use std::rc::Rc;

/// True if `keys` is a prefix of `have`.
pub fn contained_in(keys: &[PathKey], have: &[PathKey]) -> bool {
    have.len() >= keys.len() && have[..keys.len()] == *keys
}

/// How many of `keys`, from the first, `have` starts with.
pub fn common_prefix(keys: &[PathKey], have: &[PathKey]) -> usize {
    keys.iter().zip(have).take_while(|(a, b)| a == b).count()
}

/// The same keys as `wanted` in an order that agrees with `have` for as long as possible; None if
/// that is no other order, or not worth it.
pub fn reordered(wanted: &[PathKey], have: &[PathKey], incremental: bool) -> Option<Vec<PathKey>> {
    let mut out: Vec<PathKey> = have.iter().take_while(|k| wanted.contains(k)).copied().collect();
    if out.is_empty() || out.len() < wanted.len() && !incremental {
        return None;
    }
    let rest: Vec<PathKey> = wanted.iter().filter(|k| !out.contains(k)).copied().collect();
    out.extend(rest);
    (out != wanted).then_some(out)
}

impl Root<'_> {
    /// The families that hold a sort operator's equality, with the type they compare.
    fn sort_families(&self, sort_op: Oid) -> Result<Option<(Oid, Oid, Vec<Oid>)>> {
        for a in self.env.catalog.amops_of_operator(sort_op)?.iter() {
            if a.am != Oid(403) || a.strategy != 1 && a.strategy != 5 || a.left != a.right {
                continue;
            }
            let Some(eq) = self.env.catalog.amop(a.family, a.left, a.right, 3)? else { continue };
            let families = self.equality_families(eq)?;
            return Ok(Some((a.family, a.left, families)));
        }
        Ok(None)
    }

    /// The sort key of an expression. Without `create`, only if its class is known.
    pub fn path_key(
        &mut self,
        expr: &Expr,
        sort_op: Oid,
        (descending, nulls_first): (bool, bool),
        sort_ref: u32,
        create: bool,
    ) -> Result<Option<PathKey>> {
        let Some((family, ty, families)) = self.sort_families(sort_op)? else { return Ok(None) };
        let collation = expr.collation();
        let Some(ec) = self.class_for_sort(expr, &families, ty, collation, sort_ref, create)?
        else {
            return Ok(None);
        };
        Ok(Some(PathKey { ec, family, descending, nulls_first }))
    }

    /// True if the key adds nothing: its class is a constant, or it stands in the list.
    pub fn redundant(&self, key: &PathKey, list: &[PathKey]) -> bool {
        let ec = &self.ecs[self.canonical_ec(key.ec)];
        ec.has_const && !ec.has_volatile || list.iter().any(|k| k.ec == key.ec)
    }

    /// The order that sort clauses ask for. `None` if some column cannot be sorted.
    pub fn pathkeys_for_clauses(
        &mut self,
        clauses: &[SortGroupClause],
        target: &[TargetEntry],
    ) -> Result<Option<Vec<PathKey>>> {
        let mut out = Vec::new();
        for c in clauses {
            let Some(sort_op) = c.sort_op else { return Ok(None) };
            let Some(entry) = target.iter().find(|t| t.sort_group_ref == c.target_ref) else {
                continue;
            };
            let expr = entry.expr.clone();
            let key =
                self.path_key(&expr, sort_op, (c.descending, c.nulls_first), c.target_ref, true)?;
            let Some(key) = key else { return Ok(None) };
            if !self.redundant(&key, &out) {
                out.push(key);
            }
        }
        Ok(Some(out))
    }

    /// The order in which an index gives rows, as far as the query knows it.
    pub fn index_pathkeys(
        &mut self,
        index: &IndexInfo,
        direction: ScanDirection,
    ) -> Result<Vec<PathKey>> {
        let mut out = Vec::new();
        if !index.is_btree {
            return Ok(out);
        }
        for key in 0..index.desc.n_keys as usize {
            let option = index.desc.options.get(key).copied().unwrap_or(0);
            let (mut descending, mut nulls_first) = (option & 1 != 0, option & 2 != 0);
            if direction == ScanDirection::Backward {
                descending = !descending;
                nulls_first = !nulls_first;
            }
            let family = index.desc.opfamilies[key];
            let ty = index.desc.opc_types[key];
            let Some(eq) = self.env.catalog.amop(family, ty, ty, 3)? else { break };
            let families = self.equality_families(eq)?;
            let expr = index.columns[key].clone();
            let collation = index.desc.collations[key];
            match self.class_for_sort(&expr, &families, ty, collation, 0, false)? {
                Some(ec) => {
                    let k = PathKey { ec, family, descending, nulls_first };
                    if !self.redundant(&k, &out) {
                        out.push(k);
                    }
                }
                None => {
                    // A boolean column fixed by a condition `col` or `NOT col` is a constant.
                    break;
                }
            }
        }
        Ok(out)
    }

    /// The part of an order that something above could use.
    pub fn useful_pathkeys(&self, rel: &Relids, keys: &[PathKey]) -> usize {
        if keys.is_empty() {
            return 0;
        }
        let mut useful = 0;
        let rel = &self.top_relids(rel);
        for (i, k) in keys.iter().enumerate() {
            let ec = &self.ecs[self.canonical_ec(k.ec)];
            let joins = ec.members.len() > 1 && !ec.relids.is_subset(rel) && !ec.has_const;
            if !joins && !self.merge_clause_uses(rel, k) {
                break;
            }
            useful = i + 1;
        }
        for wanted in [
            &self.query_pathkeys,
            &self.group_pathkeys,
            &self.sort_pathkeys,
            &self.distinct_pathkeys,
        ] {
            useful = useful.max(common_prefix(wanted, keys));
        }
        // The order of what is grouped by, or made distinct, is free.
        for wanted in [&self.group_pathkeys, &self.distinct_pathkeys] {
            useful = useful.max(keys.iter().take_while(|k| wanted.contains(k)).count());
        }
        useful
    }

    fn merge_clause_uses(&self, rel: &Relids, key: &PathKey) -> bool {
        let ec = self.canonical_ec(key.ec);
        rel.iter().filter_map(|i| self.base_rel(i)).any(|r| {
            r.join_info.iter().any(|c| {
                [c.left_ec.get(), c.right_ec.get()]
                    .into_iter()
                    .flatten()
                    .any(|e| self.canonical_ec(e) == ec)
            })
        })
    }

    /// Notes the classes of a merge-joinable condition's sides.
    pub fn note_merge_classes(&mut self, r: &Rc<Restriction>) -> Result<()> {
        if r.left_ec.get().is_some() || r.merge_families.is_empty() {
            return Ok(());
        }
        let Expr::Op(o) = &r.clause else { return Ok(()) };
        let desc = self.env.catalog.operator(o.op)?;
        let (left, right) = (o.args[0].clone(), o.args[1].clone());
        let collation = o.input_collation;
        let families = r.merge_families.clone();
        let l = self.class_for_sort(&left, &families, desc.left, collation, 0, true)?;
        let e = self.class_for_sort(&right, &families, desc.right, collation, 0, true)?;
        r.left_ec.set(l);
        r.right_ec.set(e);
        Ok(())
    }
}
