//! Walking and rewriting expressions and queries.
//!
//! [`children`] and [`children_mut`] list the direct operands of an expression; the other
//! functions are built on them. Subqueries of a [`SubLink`](crate::SubLink) are not operands:
//! who wants them walks [`query_exprs`] and counts levels.

use crate::expr::*;
use crate::plan::*;
use crate::query::*;

macro_rules! operands {
    ($expr:expr, $f:ident, $iter:ident, $as_ref:ident, $box:ident) => {
        match $expr {
            Expr::Const(_)
            | Expr::Var(_)
            | Expr::Param(_)
            | Expr::CaseTest { .. }
            | Expr::SqlValue { .. }
            | Expr::DomainValue { .. }
            | Expr::SetToDefault { .. }
            | Expr::CurrentOf { .. }
            | Expr::NextValue { .. }
            | Expr::MergeAction { .. } => {}
            Expr::Func(x) => x.args.$iter().for_each($f),
            Expr::Op(x) => x.args.$iter().for_each($f),
            Expr::ScalarArrayOp(x) => x.args.$iter().for_each($f),
            Expr::Bool { args, .. } | Expr::Coalesce { args, .. } | Expr::MinMax { args, .. } => {
                args.$iter().for_each($f)
            }
            Expr::Agg(x) => {
                let x = x.$box();
                x.direct_args.$iter().for_each(&mut *$f);
                for t in x.args.$iter() {
                    $f($as_ref!(t.expr));
                }
                if let Some(e) = x.filter.$box() {
                    $f(e);
                }
            }
            Expr::Grouping(x) => x.args.$iter().for_each($f),
            Expr::Window(x) => {
                let x = x.$box();
                x.args.$iter().for_each(&mut *$f);
                if let Some(e) = x.filter.$box() {
                    $f(e);
                }
            }
            Expr::Subscript(x) => {
                let x = x.$box();
                for e in x.upper.$iter().chain(x.lower.$iter()).flatten() {
                    $f(e);
                }
                $f(x.container.$box());
                if let Some(e) = x.assign.$box() {
                    $f(e);
                }
            }
            Expr::SubLink(x) => {
                if let Some(e) = x.test.$box() {
                    $f(e);
                }
            }
            Expr::SubPlan(x) => {
                let x = x.$box();
                if let Some(e) = x.test.$box() {
                    $f(e);
                }
                x.args.$iter().for_each($f);
            }
            Expr::FieldStore { arg, values, .. } => {
                $f(arg.$box());
                values.$iter().for_each($f);
            }
            Expr::ArrayCoerce { arg, element, .. } => {
                $f(arg.$box());
                $f(element.$box());
            }
            Expr::FieldSelect { arg, .. }
            | Expr::Relabel { arg, .. }
            | Expr::CoerceViaIo { arg, .. }
            | Expr::ConvertRowtype { arg, .. }
            | Expr::Collate { arg, .. }
            | Expr::NullTest { arg, .. }
            | Expr::BooleanTest { arg, .. }
            | Expr::CoerceToDomain { arg, .. }
            | Expr::NamedArg { arg, .. } => $f(arg.$box()),
            Expr::Case(x) => {
                let x = x.$box();
                if let Some(e) = x.arg.$box() {
                    $f(e);
                }
                for w in x.whens.$iter() {
                    $f($as_ref!(w.when));
                    $f($as_ref!(w.then));
                }
                $f(x.default.$box());
            }
            Expr::Array(x) => x.elements.$iter().for_each($f),
            Expr::Json(x) => {
                let x = x.$box();
                x.args.$iter().for_each(&mut *$f);
                x.inner.$iter().for_each($f);
            }
            Expr::Xml(x) => x.args.$iter().for_each($f),
            Expr::Row(x) => x.args.$iter().for_each($f),
            Expr::RowCompare { left, right, .. } => {
                left.$iter().for_each(&mut *$f);
                right.$iter().for_each($f);
            }
        }
    };
}

macro_rules! shared_ref {
    ($e:expr) => {
        &$e
    };
}
macro_rules! unique_ref {
    ($e:expr) => {
        &mut $e
    };
}

/// `as_ref` and `as_mut` for boxes and options of boxes under one name each.
trait Unbox {
    type Shared<'a>
    where
        Self: 'a;
    type Unique<'a>
    where
        Self: 'a;
    fn shared(&self) -> Self::Shared<'_>;
    fn unique(&mut self) -> Self::Unique<'_>;
}

impl<T> Unbox for Box<T> {
    type Shared<'a>
        = &'a T
    where
        T: 'a;
    type Unique<'a>
        = &'a mut T
    where
        T: 'a;
    fn shared(&self) -> &T {
        self
    }
    fn unique(&mut self) -> &mut T {
        self
    }
}

impl<T> Unbox for Option<Box<T>> {
    type Shared<'a>
        = Option<&'a T>
    where
        T: 'a;
    type Unique<'a>
        = Option<&'a mut T>
    where
        T: 'a;
    fn shared(&self) -> Option<&T> {
        self.as_deref()
    }
    fn unique(&mut self) -> Option<&mut T> {
        self.as_deref_mut()
    }
}

/// Calls `f` with each direct operand.
pub fn children<'a>(expr: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    operands!(expr, f, iter, shared_ref, shared)
}

/// Calls `f` with each direct operand, to change.
pub fn children_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    operands!(expr, f, iter_mut, unique_ref, unique)
}

/// True if `test` holds of the expression or anything in it (not inside subqueries).
pub fn any(expr: &Expr, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
    if test(expr) {
        return true;
    }
    let mut found = false;
    children(expr, &mut |e| found = found || any(e, test));
    found
}

/// Calls `f` with the expression and all in it, parents first (not inside subqueries).
pub fn each<'a>(expr: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    f(expr);
    children(expr, &mut |e| each(e, f));
}

/// Rewrites from the top: where `f` gives a replacement it is taken as it is, elsewhere the
/// operands are rewritten. Subqueries are left alone.
pub fn replace(expr: &mut Expr, f: &mut dyn FnMut(&Expr) -> Option<Expr>) {
    match f(expr) {
        Some(new) => *expr = new,
        None => children_mut(expr, &mut |e| replace(e, f)),
    }
}

/// Rewrites from the bottom: operands first, then `f` may change the node itself.
pub fn transform(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    children_mut(expr, &mut |e| transform(e, f));
    f(expr);
}

/// Like [`any`], but also inside subqueries: `test` is told how many queries inwards it is.
pub fn any_levels(expr: &Expr, level: u32, test: &mut dyn FnMut(&Expr, u32) -> bool) -> bool {
    if test(expr, level) {
        return true;
    }
    let mut found = false;
    if let Expr::SubLink(s) = expr {
        query_exprs(&s.query, 0, &mut |e, inner| {
            found = found || any_levels(e, level + 1 + inner, test)
        });
    }
    children(expr, &mut |e| found = found || any_levels(e, level, test));
    found
}

macro_rules! own_exprs {
    ($query:expr, $f:ident, $iter:ident, $as_ref:ident, $item:ident) => {{
        let q = $query;
        for t in q.target_list.$iter().chain(q.returning.$iter()) {
            $f($as_ref!(t.expr));
        }
        for e in q.having.$iter().chain(q.limit_offset.$iter()).chain(q.limit_count.$iter()) {
            $f(e);
        }
        for e in q.jointree.quals.$iter().chain(q.merge_join_condition.$iter()) {
            $f(e);
        }
        for item in q.jointree.items.$iter() {
            $item(item, $f);
        }
        for a in q.merge_actions.$iter() {
            a.qual.$iter().for_each(&mut *$f);
            for t in a.target_list.$iter() {
                $f($as_ref!(t.expr));
            }
        }
        for c in q.on_conflict.$iter() {
            for t in c.set.$iter().chain(c.excluded_target.$iter()) {
                $f($as_ref!(t.expr));
            }
            for i in c.arbiter.$iter() {
                $f($as_ref!(i.expr));
            }
            c.where_.$iter().chain(c.arbiter_where.$iter()).for_each(&mut *$f);
        }
        for w in q.windows.$iter() {
            for b in [$as_ref!(w.frame.start), $as_ref!(w.frame.end)] {
                if let FrameBound::Preceding(e) | FrameBound::Following(e) = b {
                    $f(e);
                }
            }
        }
        for w in q.with_check_options.$iter() {
            $f($as_ref!(w.qual));
        }
    }};
}

macro_rules! rte_exprs {
    ($rte:expr, $f:ident, $iter:ident, $as_ref:ident) => {{
        let rte = $rte;
        rte.security_quals.$iter().for_each(&mut *$f);
        match $as_ref!(rte.kind) {
            RteKind::Relation { sample, .. } => {
                for s in sample.$iter() {
                    s.args.$iter().for_each(&mut *$f);
                    s.repeatable.$iter().for_each(&mut *$f);
                }
            }
            RteKind::Join { alias_vars, .. } => alias_vars.$iter().for_each(&mut *$f),
            RteKind::Function { functions, .. } => {
                for x in functions.$iter() {
                    $f($as_ref!(x.expr));
                }
            }
            RteKind::Values { lists, .. } => lists.$iter().flatten().for_each(&mut *$f),
            RteKind::Group { exprs } => exprs.$iter().for_each(&mut *$f),
            RteKind::UnionAll { members, .. } => {
                for m in members.$iter() {
                    m.columns.$iter().for_each(&mut *$f);
                }
            }
            _ => {}
        }
    }};
}

fn item_exprs<'a>(item: &'a FromItem, f: &mut dyn FnMut(&'a Expr)) {
    match item {
        FromItem::Table(_) => {}
        FromItem::Join(j) => {
            item_exprs(&j.left, f);
            item_exprs(&j.right, f);
            j.quals.iter().for_each(&mut *f);
        }
        FromItem::From(from) => {
            from.items.iter().for_each(|i| item_exprs(i, f));
            from.quals.iter().for_each(&mut *f);
        }
    }
}

fn item_exprs_mut(item: &mut FromItem, f: &mut dyn FnMut(&mut Expr)) {
    match item {
        FromItem::Table(_) => {}
        FromItem::Join(j) => {
            item_exprs_mut(&mut j.left, f);
            item_exprs_mut(&mut j.right, f);
            j.quals.iter_mut().for_each(&mut *f);
        }
        FromItem::From(from) => {
            from.items.iter_mut().for_each(|i| item_exprs_mut(i, f));
            from.quals.iter_mut().for_each(&mut *f);
        }
    }
}

/// Calls `f` with the top expressions of the query itself, its range table included, but not
/// with those of subqueries.
pub fn own_exprs<'a>(query: &'a Query, f: &mut dyn FnMut(&'a Expr)) {
    own_exprs!(query, f, iter, shared_ref, item_exprs);
    for rte in &query.rtable {
        rte_exprs!(rte, f, iter, shared_ref);
    }
}

/// The same, to change.
pub fn own_exprs_mut(query: &mut Query, f: &mut dyn FnMut(&mut Expr)) {
    own_exprs!(&mut *query, f, iter_mut, unique_ref, item_exprs_mut);
    for rte in &mut query.rtable {
        rte_exprs!(rte, f, iter_mut, unique_ref);
    }
}

/// Calls `f` with the top expressions of the query and of the subqueries and CTEs in its range
/// table, and with how many queries inwards from `query` (plus `level`) each is.
pub fn query_exprs(query: &Query, level: u32, f: &mut dyn FnMut(&Expr, u32)) {
    own_exprs(query, &mut |e| f(e, level));
    for rte in &query.rtable {
        if let RteKind::Subquery { query, .. } = &rte.kind {
            query_exprs(query, level + 1, f);
        }
    }
    for cte in &query.ctes {
        query_exprs(&cte.query, level + 1, f);
    }
}

/// The queries directly inside: subqueries of the range table and CTEs (not sublinks).
pub fn nested_queries_mut(query: &mut Query) -> Vec<&mut Query> {
    let mut all = Vec::new();
    for rte in &mut query.rtable {
        if let RteKind::Subquery { query, .. } = &mut rte.kind {
            all.push(&mut **query);
        }
    }
    all.extend(query.ctes.iter_mut().map(|c| &mut *c.query));
    all
}

/// Applies `f` to every node of every expression of the query and of all queries within,
/// sublinks included, from the top; where it gives a replacement that is taken as it is.
/// `level` is 0 in the query itself.
pub fn rewrite_query(query: &mut Query, level: u32, f: &mut dyn FnMut(&Expr, u32) -> Option<Expr>) {
    own_exprs_mut(query, &mut |e| rewrite_expr(e, level, f));
    for inner in nested_queries_mut(query) {
        rewrite_query(inner, level + 1, f);
    }
}

/// The same for one expression that stands `level` queries inwards.
pub fn rewrite_expr(expr: &mut Expr, level: u32, f: &mut dyn FnMut(&Expr, u32) -> Option<Expr>) {
    if let Some(new) = f(expr, level) {
        *expr = new;
        return;
    }
    if let Expr::SubLink(s) = expr {
        rewrite_query(&mut s.query, level + 1, f);
    }
    children_mut(expr, &mut |e| rewrite_expr(e, level, f));
}

/// Adds `by` to the level of each column, aggregate and CTE reference that reaches out of the
/// expression by at least `min` levels.
pub fn shift_levels(expr: &mut Expr, by: i32, min: u32) {
    shift_levels_at(expr, by, min);
}

fn shift_levels_at(expr: &mut Expr, by: i32, min: u32) {
    let shift = |level: &mut u32| {
        if *level >= min {
            *level = level.saturating_add_signed(by);
        }
    };
    match expr {
        Expr::Var(v) => shift(&mut v.levels_up),
        Expr::Agg(a) => shift(&mut a.levels_up),
        Expr::Grouping(g) => shift(&mut g.levels_up),
        Expr::SubLink(s) => shift_query_levels(&mut s.query, by, min + 1),
        _ => {}
    }
    children_mut(expr, &mut |e| shift_levels_at(e, by, min));
}

/// The same for all of a query.
pub fn shift_query_levels(query: &mut Query, by: i32, min: u32) {
    own_exprs_mut(query, &mut |e| shift_levels_at(e, by, min));
    for rte in &mut query.rtable {
        if let RteKind::Cte { levels_up, .. } = &mut rte.kind
            && *levels_up >= min
        {
            *levels_up = levels_up.saturating_add_signed(by);
        }
    }
    for inner in nested_queries_mut(query) {
        shift_query_levels(inner, by, min + 1);
    }
}

/// Splits a condition into its AND parts.
pub fn conjuncts(expr: Expr) -> Vec<Expr> {
    match expr {
        Expr::Bool { op: BoolOp::And, args, .. } => args.into_iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

/// Joins conditions by AND; `None` for no condition.
pub fn conjoin(mut parts: Vec<Expr>) -> Option<Expr> {
    match parts.len() {
        0 => None,
        1 => parts.pop(),
        _ => Some(Expr::Bool { op: BoolOp::And, args: parts, location: None }),
    }
}

/// Calls `f` with each top expression of one plan node (not of its children).
pub fn plan_exprs_mut(plan: &mut Plan, f: &mut dyn FnMut(&mut Expr)) {
    plan.target.iter_mut().for_each(|t| f(&mut t.expr));
    plan.qual.iter_mut().for_each(&mut *f);
    let lists: Vec<&mut Vec<Expr>> = match &mut plan.node {
        PlanNode::Result(r) => vec![&mut r.constant_qual],
        PlanNode::IndexScan(s) => {
            vec![&mut s.index_qual, &mut s.index_qual_orig, &mut s.order_by, &mut s.order_by_orig]
        }
        PlanNode::IndexOnlyScan(s) => {
            s.index_target.iter_mut().for_each(|t| f(&mut t.expr));
            vec![&mut s.index_qual, &mut s.recheck_qual, &mut s.order_by]
        }
        PlanNode::BitmapIndexScan(s) => vec![&mut s.index_qual, &mut s.index_qual_orig],
        PlanNode::BitmapHeapScan(s) => vec![&mut s.recheck_qual],
        PlanNode::TidScan(s) => vec![&mut s.tid_quals],
        PlanNode::TidRangeScan(s) => vec![&mut s.tid_quals],
        PlanNode::ValuesScan(s) => s.lists.iter_mut().collect(),
        PlanNode::FunctionScan(s) => {
            s.functions.iter_mut().for_each(|x| f(&mut x.expr));
            vec![]
        }
        PlanNode::SampleScan(s) => {
            s.sample.repeatable.iter_mut().for_each(&mut *f);
            vec![&mut s.sample.args]
        }
        PlanNode::NestLoop(j) => {
            j.params.iter_mut().for_each(|p| f(&mut p.value));
            vec![&mut j.join.join_qual]
        }
        PlanNode::MergeJoin(j) => {
            j.keys.iter_mut().for_each(|k| f(&mut k.clause));
            vec![&mut j.join.join_qual]
        }
        PlanNode::HashJoin(j) => {
            vec![&mut j.join.join_qual, &mut j.hash_clauses, &mut j.hash_keys]
        }
        PlanNode::Hash(h) => vec![&mut h.hash_keys],
        PlanNode::Memoize(m) => vec![&mut m.params],
        PlanNode::Limit(l) => {
            l.offset.iter_mut().chain(l.count.iter_mut()).for_each(&mut *f);
            vec![]
        }
        PlanNode::WindowAgg(w) => {
            for b in [&mut w.frame.start, &mut w.frame.end] {
                if let FrameBound::Preceding(e) | FrameBound::Following(e) = b {
                    f(e);
                }
            }
            vec![&mut w.run_condition, &mut w.run_condition_orig]
        }
        PlanNode::ModifyTable(m) => {
            modify_exprs_mut(m, f);
            vec![]
        }
        _ => vec![],
    };
    lists.into_iter().flatten().for_each(f);
}

fn modify_exprs_mut(m: &mut ModifyTable, f: &mut dyn FnMut(&mut Expr)) {
    for t in &mut m.targets {
        t.returning.iter_mut().for_each(|t| f(&mut t.expr));
        t.with_check_options.iter_mut().for_each(|w| f(&mut w.qual));
        t.merge_join_condition.iter_mut().for_each(&mut *f);
        for a in &mut t.merge_actions {
            a.qual.iter_mut().for_each(&mut *f);
            a.target_list.iter_mut().for_each(|t| f(&mut t.expr));
        }
    }
    m.root_options.iter_mut().for_each(|w| f(&mut w.qual));
    if let Some(c) = &mut m.on_conflict {
        c.set.iter_mut().for_each(|t| f(&mut t.expr));
        c.where_.iter_mut().for_each(f);
    }
}
