//! Subqueries of FROM that are simple enough become part of the query around them.

use crate::prep::volatility;
use crate::root::Env;
use base::Result;
use ir::walk;
use ir::{CmdType, Expr, FromExpr, FromItem, JoinKind, Query, Rte, RteKind, TargetEntry};

/// Pulls up all simple subqueries of the join tree. The tree stays in the query meanwhile:
/// conditions all over it name the subqueries' columns.
pub fn pull_up_subqueries(query: &mut Query, env: &Env) -> Result<()> {
    // Of a row that is looked at anew it must be known which member it is of.
    let unions =
        matches!(query.command, CmdType::Select | CmdType::Insert) && query.row_marks.is_empty();
    pull_up_from(query, env, unions)
}

fn pull_up_from(query: &mut Query, env: &Env, unions: bool) -> Result<()> {
    let mut found = Vec::new();
    query.jointree.items.iter().for_each(|item| tables_of(item, (false, None), &mut found));
    let sets_nulls = !query.grouping_sets.is_empty();
    let whole_rows = whole_rows_of(query);
    for (index, nullable, within) in found {
        let rte = &mut query.rtable[index as usize - 1];
        let RteKind::Subquery { query: sub, barrier, .. } = &mut rte.kind else { continue };
        if *barrier {
            continue;
        }
        if unions && super::union_all::is_simple(sub) {
            super::union_all::pull_up(query, index, env)?;
            continue;
        }
        if !is_simple(sub, env)? {
            continue;
        }
        if sub.jointree.items.is_empty() {
            // A row of its own, which the join with other tables needs no more.
            if within.is_some() || sub.target_list.iter().any(|t| has_sublink(&t.expr)) {
                continue;
            }
            with_a_table(sub);
        }
        // Inner parts first: what they make of its columns decides.
        pull_up_from(sub, env, unions)?;
        let stays = nullable && (whole_rows.contains(&index) || !goes_null(sub, env)?)
            || sets_nulls && !has_columns_of_its_own(sub)
            || rte.lateral && within.is_some_and(|w| !refers_within(sub, &w))
            || rte.lateral && sub.jointree.items.iter().any(|i| outer_join_refers_up(i, false));
        if stays {
            continue;
        }
        let mut with = Some(pull_up_one(query, index));
        query.jointree.items.iter_mut().for_each(|item| replace_table(item, index, &mut with));
    }
    Ok(())
}

/// Gives a query without FROM a row to read.
pub fn with_a_table(sub: &mut Query) {
    if !sub.jointree.items.is_empty() {
        return;
    }
    sub.rtable.push(Rte {
        kind: RteKind::Result,
        alias: None,
        eref: ir::Alias { name: "*RESULT*".into(), columns: Vec::new() },
        lateral: false,
        in_from: true,
        perms: None,
        security_quals: Vec::new(),
    });
    sub.jointree.items.push(FromItem::Table(sub.rtable.len() as u32));
}

/// Entries whose rows are named as a whole: where an outer join makes NULL of such a row, a row
/// made of its columns would be a row of NULLs.
fn whole_rows_of(query: &Query) -> Vec<u32> {
    let mut found = Vec::new();
    walk::query_exprs(query, 0, &mut |e, level| {
        walk::any_levels(e, level, &mut |x, l| {
            if let Expr::Var(v) = x
                && v.attno == 0
                && v.levels_up == l
            {
                found.push(v.varno);
            }
            false
        });
    });
    found
}

/// Whether a condition of an outer join, or below one, names tables of the query around. Pulled
/// up, the condition would have to wait for them, but it decides which rows have no partner.
fn outer_join_refers_up(item: &FromItem, within: bool) -> bool {
    let refers = |q: &Option<Expr>| {
        q.as_ref().is_some_and(|q| {
            walk::any_levels(q, 0, &mut |x, l| matches!(x, Expr::Var(v) if v.levels_up == l + 1))
        })
    };
    match item {
        FromItem::Table(_) => false,
        FromItem::Join(j) => {
            let within = within || j.kind != JoinKind::Inner;
            within && refers(&j.quals)
                || outer_join_refers_up(&j.left, within)
                || outer_join_refers_up(&j.right, within)
        }
        FromItem::From(f) => {
            within && refers(&f.quals) || f.items.iter().any(|i| outer_join_refers_up(i, within))
        }
    }
}

/// Whether an outer join may make NULLs of a table, and the tables of the innermost outer join
/// that it is in.
type Surroundings = (bool, Option<Vec<u32>>);

/// The tables of a join tree, and where they stand.
fn tables_of(
    item: &FromItem,
    around: Surroundings,
    found: &mut Vec<(u32, bool, Option<Vec<u32>>)>,
) {
    let (nullable, within) = around;
    match item {
        FromItem::Table(index) => found.push((*index, nullable, within)),
        FromItem::Join(join) => {
            let within = match join.kind {
                JoinKind::Inner => within,
                _ => Some(all_tables(item)),
            };
            let (left, right) = match join.kind {
                JoinKind::Left | JoinKind::Anti => (nullable, true),
                JoinKind::Right => (true, nullable),
                JoinKind::Full => (true, true),
                _ => (nullable, nullable),
            };
            tables_of(&join.left, (left, within.clone()), found);
            tables_of(&join.right, (right, within), found);
        }
        FromItem::From(from) => {
            from.items.iter().for_each(|i| tables_of(i, (nullable, within.clone()), found));
        }
    }
}

fn all_tables(item: &FromItem) -> Vec<u32> {
    match item {
        FromItem::Table(index) => vec![*index],
        FromItem::Join(join) => [all_tables(&join.left), all_tables(&join.right)].concat(),
        FromItem::From(from) => from.items.iter().flat_map(all_tables).collect(),
    }
}

/// Whether a lateral subquery names no tables of the query around it but these.
fn refers_within(sub: &Query, within: &[u32]) -> bool {
    let mut ok = true;
    walk::query_exprs(sub, 0, &mut |e, level| {
        walk::any_levels(e, level, &mut |x, l| {
            if let Expr::Var(v) = x
                && v.levels_up == l + 1
            {
                ok &= within.contains(&v.varno);
            }
            false
        });
    });
    ok
}

fn replace_table(item: &mut FromItem, index: u32, with: &mut Option<FromItem>) {
    match item {
        FromItem::Table(i) if *i == index => {
            if let Some(new) = with.take() {
                *item = new;
            }
        }
        FromItem::Table(_) => {}
        FromItem::Join(join) => {
            replace_table(&mut join.left, index, with);
            replace_table(&mut join.right, index, with);
        }
        FromItem::From(from) => {
            from.items.iter_mut().for_each(|i| replace_table(i, index, with));
        }
    }
}

/// True if the subquery only joins, filters and projects.
pub fn is_simple(sub: &Query, env: &Env) -> Result<bool> {
    if sub.command != CmdType::Select
        || sub.set_operations.is_some()
        || sub.has_aggs
        || sub.has_window_funcs
        || sub.has_target_srfs
        || !sub.group_clause.is_empty()
        || !sub.grouping_sets.is_empty()
        || sub.having.is_some()
        || !sub.sort_clause.is_empty()
        || !sub.distinct_clause.is_empty()
        || sub.limit_count.is_some()
        || sub.limit_offset.is_some()
        || sub.has_for_update
        || !sub.ctes.is_empty()
    {
        return Ok(false);
    }
    for t in &sub.target_list {
        if volatility::has_volatile(&t.expr, env)?
            || has_sublink(&t.expr) && sub.target_list.len() > 64
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_sublink(expr: &Expr) -> bool {
    walk::any(expr, &mut |e| matches!(e, Expr::SubLink(_)))
}

/// True if the visible columns are null where the subquery's row is: each is made of a column of
/// its own tables by nothing but strict functions.
fn goes_null(sub: &Query, env: &Env) -> Result<bool> {
    if sub.jointree.items.len() != 1 {
        return Ok(false);
    }
    for t in &sub.target_list {
        if matches!(&t.expr, Expr::Var(v) if v.levels_up == 0) {
            continue;
        }
        let own = walk::any(&t.expr, &mut |e| matches!(e, Expr::Var(v) if v.levels_up == 0));
        if !own || volatility::has_nonstrict(&t.expr, env)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if the output columns are different columns of tables. Grouping sets make NULLs of what is
/// grouped by: a constant, or one column under two names, would not show which of them is meant.
fn has_columns_of_its_own(sub: &Query) -> bool {
    let exprs: Vec<&Expr> = sub.target_list.iter().map(|t| &t.expr).collect();
    exprs
        .iter()
        .enumerate()
        .all(|(i, e)| matches!(e, Expr::Var(v) if v.levels_up == 0) && !exprs[..i].contains(e))
}

/// Takes the subquery of an entry into the query; gives what stands in the entry's place.
pub fn pull_up_one(query: &mut Query, index: u32) -> FromItem {
    let offset = query.rtable.len() as u32;
    let slot = &mut query.rtable[index as usize - 1];
    let RteKind::Subquery { query: sub, view, barrier } =
        std::mem::replace(&mut slot.kind, RteKind::Result)
    else {
        return FromItem::Table(index);
    };
    let mut sub = *sub;
    // The entry stays for permission checks and printing, but is no longer in the join tree.
    slot.kind = RteKind::Subquery { query: Box::new(Query::new(CmdType::Select)), view, barrier };
    slot.in_from = false;
    let lateral = slot.lateral;
    // Its columns are renumbered behind the outer range table.
    shift_varnos(&mut sub, offset);
    walk::shift_query_levels(&mut sub, -1, 1);
    let mut from = std::mem::take(&mut sub.jointree);
    from.items.iter_mut().for_each(|i| shift_item(i, offset));
    if lateral {
        sub.rtable.iter_mut().for_each(|r| {
            if matches!(
                r.kind,
                RteKind::Subquery { .. }
                    | RteKind::Function { .. }
                    | RteKind::Values { .. }
                    | RteKind::Relation { sample: Some(_), .. }
            ) {
                r.lateral = true;
            }
        });
    }
    for rte in &mut sub.rtable {
        if let RteKind::UnionAll { members, .. } = &mut rte.kind {
            members.iter_mut().for_each(|m| m.rtindex += offset);
        }
    }
    query.has_sublinks |= sub.has_sublinks;
    for mark in sub.row_marks {
        let mut mark = mark;
        mark.rtindex += offset;
        query.row_marks.push(mark);
    }
    query.rtable.append(&mut sub.rtable);
    substitute(query, &mut from, index, &sub.target_list);
    if from.quals.is_none() && from.items.len() == 1 {
        return from.items.remove(0);
    }
    FromItem::From(Box::new(from))
}

/// Adds `offset` to every range-table index of the query's own level.
fn shift_varnos(query: &mut Query, offset: u32) {
    walk::rewrite_query(query, 0, &mut |e, level| shifted(e, level, offset));
}

fn shifted(e: &Expr, level: u32, offset: u32) -> Option<Expr> {
    match e {
        Expr::Var(v) if v.levels_up == level => {
            let mut v = v.clone();
            v.varno += offset;
            v.syn_no += offset;
            Some(Expr::Var(v))
        }
        Expr::CurrentOf { varno, cursor } if level == 0 => {
            Some(Expr::CurrentOf { varno: varno + offset, cursor: cursor.clone() })
        }
        _ => None,
    }
}

/// Adds `offset` to the range-table indexes of a join tree.
pub fn shift_item(item: &mut FromItem, offset: u32) {
    match item {
        FromItem::Table(i) => *i += offset,
        FromItem::Join(j) => {
            if j.rtindex != 0 {
                j.rtindex += offset;
            }
            shift_item(&mut j.left, offset);
            shift_item(&mut j.right, offset);
        }
        FromItem::From(f) => f.items.iter_mut().for_each(|i| shift_item(i, offset)),
    }
}

/// Replaces columns of entry `index` by the expressions they stand for.
fn substitute(query: &mut Query, from: &mut FromExpr, index: u32, target: &[TargetEntry]) {
    let names = query.rtable.get(index as usize - 1).map(|r| r.eref.columns.clone());
    let names = names.unwrap_or_default();
    let mut replace = |e: &Expr, level: u32| column_of(e, level, index, target, &names);
    walk::rewrite_query(query, 0, &mut replace);
    if let Some(q) = &mut from.quals {
        walk::rewrite_expr(q, 0, &mut replace);
    }
    // Parts of the join tree that are in hand rather than in the query.
    for item in &mut from.items {
        item_exprs_mut(item, &mut |e| walk::rewrite_expr(e, 0, &mut replace));
    }
}

fn item_exprs_mut(item: &mut FromItem, f: &mut dyn FnMut(&mut Expr)) {
    match item {
        FromItem::Table(_) => {}
        FromItem::Join(j) => {
            j.quals.iter_mut().for_each(&mut *f);
            item_exprs_mut(&mut j.left, f);
            item_exprs_mut(&mut j.right, f);
        }
        FromItem::From(from) => {
            from.quals.iter_mut().for_each(&mut *f);
            from.items.iter_mut().for_each(|i| item_exprs_mut(i, f));
        }
    }
}

fn column_of(
    e: &Expr,
    level: u32,
    index: u32,
    target: &[TargetEntry],
    names: &[String],
) -> Option<Expr> {
    let Expr::Var(v) = e else { return None };
    if v.varno != index || v.levels_up != level {
        return None;
    }
    if v.attno == 0 {
        let args: Vec<Expr> = target.iter().filter(|t| !t.junk).map(|t| t.expr.clone()).collect();
        let visible = target.iter().filter(|t| !t.junk).enumerate();
        let names = visible.map(|(i, t)| match names.get(i) {
            Some(name) => name.clone(),
            None => t.name.clone().unwrap_or_default(),
        });
        let mut row = Expr::Row(Box::new(ir::RowExpr {
            ty: v.ty,
            args,
            form: ir::CoercionForm::ImplicitCast,
            names: names.collect(),
            location: None,
        }));
        walk::shift_levels(&mut row, level as i32, 0);
        return Some(row);
    }
    let entry = target.iter().find(|t| t.resno == v.attno)?;
    let mut expr = entry.expr.clone();
    if level > 0 {
        walk::shift_levels(&mut expr, level as i32, 0);
    }
    Some(expr)
}

/// Replaces columns of join entries by what they stand for, and drops grouping entries.
pub fn flatten_join_columns(query: &mut Query) {
    let rtable = query.rtable.clone();
    walk::rewrite_query(query, 0, &mut |e, level| join_column(e, level, &rtable));
}

fn join_column(e: &Expr, level: u32, rtable: &[Rte]) -> Option<Expr> {
    let Expr::Var(v) = e else { return None };
    if v.levels_up != level {
        return None;
    }
    let exprs = match &rtable.get(v.varno as usize - 1)?.kind {
        RteKind::Join { alias_vars, .. } => alias_vars,
        RteKind::Group { exprs } => exprs,
        _ => return None,
    };
    let mut expr = if v.attno > 0 {
        exprs.get(v.attno as usize - 1)?.clone()
    } else {
        Expr::Row(Box::new(ir::RowExpr {
            ty: v.ty,
            args: exprs.clone(),
            form: ir::CoercionForm::ImplicitCast,
            names: rtable[v.varno as usize - 1].eref.columns.clone(),
            location: None,
        }))
    };
    // What a join column stands for may be a column of another join.
    walk::rewrite_expr(&mut expr, 0, &mut |e, l| join_column(e, l, rtable));
    if level > 0 {
        walk::shift_levels(&mut expr, level as i32, 0);
    }
    Some(expr)
}
