//! The last pass: columns of children become `OUTER_VAR` and `INNER_VAR`, subquery scans that
//! do nothing go, and nodes are numbered.

use ir::{Expr, INDEX_VAR, INNER_VAR, JoinKind, OUTER_VAR, Plan, PlanNode, TargetEntry, Var, walk};

/// Finishes one level's plan; subqueries' plans inside are finished already.
pub fn fix(plan: &mut Plan) {
    // Children first need their own targets in query terms, so parents are done first.
    if let PlanNode::Agg(a) = &plan.node
        && a.split == ir::AggSplit::FinalDeserial
    {
        plan.target.iter_mut().for_each(|t| crate::upper::combine_states(&mut t.expr));
        plan.qual.iter_mut().for_each(crate::upper::combine_states);
    }
    match &mut plan.node {
        PlanNode::NestLoop(_) | PlanNode::MergeJoin(_) | PlanNode::HashJoin(_) => fix_join(plan),
        PlanNode::IndexOnlyScan(_) => fix_index_only(plan),
        PlanNode::SubqueryScan(_) => {
            fix_subquery(plan);
            return;
        }
        PlanNode::Append(_) | PlanNode::MergeAppend(_) => fix_append(plan),
        PlanNode::ModifyTable(_) => fix_modify(plan),
        PlanNode::BitmapHeapScan(_) => return,
        _ if plan.outer.is_some() => fix_upper(plan),
        _ => {}
    }
    if matches!(plan.node, PlanNode::Append(_) | PlanNode::MergeAppend(_)) {
        for c in plan.children_mut() {
            fix(c);
        }
        elide(plan);
        return;
    }
    if let Some(c) = plan.outer.as_deref_mut() {
        fix(c);
    }
    if let Some(c) = plan.inner.as_deref_mut() {
        fix(c);
    }
}

/// The expression as a column of a child, if the child gives it.
fn find(e: &Expr, target: &[TargetEntry], varno: u32) -> Option<Expr> {
    if matches!(e, Expr::Const(_) | Expr::Param(_)) {
        return None;
    }
    let position = target.iter().position(|t| t.expr == *e)?;
    let mut var = Var::new(varno, position as i16 + 1, e.ty(), e.typmod(), e.collation());
    match e {
        Expr::Var(v) => (var.syn_no, var.syn_attno) = (v.syn_no, v.syn_attno),
        _ => (var.syn_no, var.syn_attno) = (0, 0),
    }
    Some(Expr::Var(var))
}

fn to_outer(e: &mut Expr, target: &[TargetEntry]) {
    walk::replace(e, &mut |x| find(x, target, OUTER_VAR));
}

fn to_either(e: &mut Expr, outer: &[TargetEntry], inner: &[TargetEntry]) {
    walk::replace(e, &mut |x| find(x, outer, OUTER_VAR).or_else(|| find(x, inner, INNER_VAR)));
}

fn target_of(child: &Option<Box<Plan>>) -> &[TargetEntry] {
    child.as_ref().map_or(&[], |c| &c.target)
}

fn fix_upper(plan: &mut Plan) {
    let Plan { outer, node, target: own, qual, .. } = plan;
    let target = target_of(outer);
    let passes = matches!(
        node,
        PlanNode::Sort(_)
            | PlanNode::IncrementalSort(_)
            | PlanNode::Material
            | PlanNode::Hash(_)
            | PlanNode::Memoize(_)
            | PlanNode::Unique(_)
            | PlanNode::Limit(_)
            | PlanNode::LockRows(_)
            | PlanNode::SetOp(_)
            | PlanNode::RecursiveUnion(_)
    );
    if passes {
        // Position by position: equal expressions must not be mixed up.
        let labels = std::mem::replace(own, super::pass_through(target));
        for (t, l) in own.iter_mut().zip(labels) {
            (t.name, t.junk, t.sort_group_ref) = (l.name, l.junk, l.sort_group_ref);
            (t.orig_table, t.orig_column) = (l.orig_table, l.orig_column);
        }
        if let PlanNode::Hash(h) = node {
            h.hash_keys.iter_mut().for_each(|e| to_outer(e, target));
        }
        return;
    }
    // References by sort group first: a volatile expression must not be computed twice.
    for t in own {
        let same = target.iter().position(|c| {
            t.sort_group_ref != 0 && c.sort_group_ref == t.sort_group_ref && c.expr == t.expr
        });
        match same {
            Some(i) => {
                let e = &t.expr;
                let mut var = Var::new(OUTER_VAR, i as i16 + 1, e.ty(), e.typmod(), e.collation());
                if let Expr::Var(v) = e {
                    (var.syn_no, var.syn_attno) = (v.syn_no, v.syn_attno);
                } else {
                    (var.syn_no, var.syn_attno) = (0, 0);
                }
                t.expr = Expr::Var(var);
            }
            None => to_outer(&mut t.expr, target),
        }
    }
    qual.iter_mut().for_each(|e| to_outer(e, target));
    match node {
        PlanNode::Result(r) => r.constant_qual.iter_mut().for_each(|e| to_outer(e, target)),
        PlanNode::WindowAgg(w) => {
            for b in [&mut w.frame.start, &mut w.frame.end] {
                if let ir::FrameBound::Preceding(e) | ir::FrameBound::Following(e) = b {
                    to_outer(e, target);
                }
            }
            w.run_condition.iter_mut().for_each(|e| to_outer(e, target));
        }
        _ => {}
    }
}

fn fix_join(plan: &mut Plan) {
    let Plan { outer, inner, node, target, qual, .. } = plan;
    let (outer, inner) = (target_of(outer), target_of(inner));
    let kind = match node {
        PlanNode::NestLoop(j) => j.join.kind,
        PlanNode::MergeJoin(j) => j.join.kind,
        PlanNode::HashJoin(j) => j.join.kind,
        _ => return,
    };
    // What was computed of a row before the join may differ from the same computed of the NULLs
    // that the join puts in its place: only plain columns are taken from such a side.
    let nullable = (
        matches!(kind, JoinKind::Right | JoinKind::Full),
        matches!(kind, JoinKind::Left | JoinKind::Full),
    );
    let above = |e: &mut Expr| {
        walk::replace(e, &mut |x| {
            let from = |side, varno, nullable: bool| {
                let usable = !nullable || matches!(x, Expr::Var(_));
                usable.then(|| find(x, side, varno)).flatten()
            };
            from(outer, OUTER_VAR, nullable.0).or_else(|| from(inner, INNER_VAR, nullable.1))
        });
    };
    target.iter_mut().for_each(|t| above(&mut t.expr));
    qual.iter_mut().for_each(above);
    let join = match node {
        PlanNode::NestLoop(j) => {
            debug_assert!(j.join.kind != JoinKind::Full);
            j.params.iter_mut().for_each(|p| to_outer(&mut p.value, outer));
            &mut j.join
        }
        PlanNode::MergeJoin(j) => {
            j.keys.iter_mut().for_each(|k| to_either(&mut k.clause, outer, inner));
            &mut j.join
        }
        PlanNode::HashJoin(j) => {
            j.hash_clauses.iter_mut().for_each(|e| to_either(e, outer, inner));
            j.hash_keys.iter_mut().for_each(|e| to_outer(e, outer));
            &mut j.join
        }
        _ => return,
    };
    join.join_qual.iter_mut().for_each(|e| to_either(e, outer, inner));
}

fn fix_index_only(plan: &mut Plan) {
    let PlanNode::IndexOnlyScan(s) = &mut plan.node else { return };
    let columns = s.index_target.clone();
    let to_index = |e: &mut Expr| {
        walk::replace(e, &mut |x| {
            let stripped = crate::path::index::strip(x);
            let position = columns.iter().position(|t| t.expr == *x || t.expr == *stripped)?;
            let c = &columns[position].expr;
            let mut var =
                Var::new(INDEX_VAR, position as i16 + 1, c.ty(), c.typmod(), c.collation());
            if let Expr::Var(v) = c {
                (var.syn_no, var.syn_attno) = (v.syn_no, v.syn_attno);
            }
            if c == x {
                return Some(Expr::Var(var));
            }
            // The label around the column stays.
            let mut out = x.clone();
            if let Expr::Relabel { arg, .. } = &mut out {
                **arg = Expr::Var(var);
            }
            Some(out)
        });
    };
    for t in &mut plan.target {
        to_index(&mut t.expr);
    }
    plan.qual.iter_mut().for_each(to_index);
}

/// A scan that filters nothing and gives the subquery's columns as they are is left out.
fn fix_subquery(plan: &mut Plan) {
    let PlanNode::SubqueryScan(s) = &mut plan.node else { return };
    let scanrel = s.scanrel;
    let visible: Vec<i16> = s
        .subplan
        .target
        .iter()
        .enumerate()
        .filter(|(_, t)| !t.junk)
        .map(|(i, _)| i as i16 + 1)
        .collect();
    let plain =
        plan.qual.is_empty()
            && plan.init_plans.is_empty()
            && s.subplan.target.len() == visible.len()
            && plan.target.len() == visible.len()
            && plan.target.iter().zip(&visible).all(
                |(t, n)| matches!(&t.expr, Expr::Var(v) if v.varno == scanrel && v.attno == *n),
            );
    if !plain {
        return;
    }
    let labels = std::mem::take(&mut plan.target);
    let (startup, total) = (plan.startup_cost, plan.total_cost);
    let mut sub = std::mem::replace(&mut *s.subplan, Plan::new(PlanNode::Material));
    for (t, l) in sub.target.iter_mut().zip(labels) {
        t.name = l.name.or(t.name.take());
        (t.junk, t.sort_group_ref) = (l.junk, l.sort_group_ref);
    }
    let _ = (startup, total);
    *plan = sub;
}

/// An append of one child is that child.
fn elide(plan: &mut Plan) {
    let children = match &mut plan.node {
        PlanNode::Append(a) => &mut a.children,
        PlanNode::MergeAppend(a) => &mut a.children,
        _ => return,
    };
    if children.len() != 1 || !plan.init_plans.is_empty() || !plan.qual.is_empty() {
        return;
    }
    let Some(mut child) = children.pop() else { return };
    for (own, label) in child.target.iter_mut().zip(&plan.target) {
        own.name = label.name.clone();
        own.resno = label.resno;
        own.junk = label.junk;
        own.sort_group_ref = label.sort_group_ref;
        (own.orig_table, own.orig_column) = (label.orig_table, label.orig_column);
    }
    *plan = child;
}

fn fix_append(plan: &mut Plan) {
    let labels = std::mem::take(&mut plan.target);
    plan.target = super::pass_through(&labels);
}

fn fix_modify(plan: &mut Plan) {
    let child = target_of(&plan.outer);
    let PlanNode::ModifyTable(m) = &mut plan.node else { return };
    for t in &mut m.targets {
        let own = t.rtindex;
        let fix = |e: &mut Expr| {
            walk::replace(e, &mut |x| match x {
                Expr::Var(v) if v.varno == own => None,
                Expr::Var(_) => find(x, child, OUTER_VAR),
                _ => None,
            });
        };
        t.returning.iter_mut().for_each(|r| fix(&mut r.expr));
        t.merge_join_condition.iter_mut().for_each(fix);
        for a in &mut t.merge_actions {
            a.qual.iter_mut().for_each(fix);
            a.target_list.iter_mut().for_each(|r| fix(&mut r.expr));
        }
    }
    plan.target = m.targets.first().map(|t| t.returning.clone()).unwrap_or_default();
    if let Some(c) = &mut m.on_conflict {
        let excluded = c.excluded_rtindex;
        let fix = |e: &mut Expr| {
            walk::replace(e, &mut |x| match x {
                Expr::Var(v) if v.varno == excluded && excluded != 0 => {
                    Some(Expr::Var(Var { varno: INNER_VAR, ..v.clone() }))
                }
                _ => None,
            });
        };
        c.set.iter_mut().for_each(|t| fix(&mut t.expr));
        c.where_.iter_mut().for_each(fix);
    }
}

/// Numbers the nodes, parents first.
pub fn number(plan: &mut Plan, next: &mut u32) {
    plan.id = *next;
    *next += 1;
    for c in plan.children_mut() {
        number(c, next);
    }
}
