//! `pg_column_size` and its like ask how a column is stored, which its value does not tell. In
//! their calls a column becomes [`Var::stored`], which scans deliver like a system column and
//! which travels up through joins, sorts and subqueries. What is no column of a table is a value
//! that nothing has been done to.

use crate::root::Env;
use base::{Oid, Result};
use foldhash::HashMap;
use foldhash::HashMapExt;
use ir::{CmdType, Expr, Query, RteKind, TargetEntry, Var, walk};
use std::mem::take;

/// `pg_column_size`, `pg_column_compression` and `pg_column_toast_chunk_id`.
const ASKING: [Oid; 3] = [Oid(1269), Oid(2121), Oid(6316)];

/// What the asked columns become, by their number in the range table and their own.
type Forms = HashMap<(u32, i16), Var>;

/// The column that a call asks about.
fn asked(e: &Expr) -> Option<&Var> {
    match e {
        Expr::Func(f) if ASKING.contains(&f.func) => match &f.args[..] {
            [Expr::Var(v)] => Some(v),
            _ => None,
        },
        _ => None,
    }
}

/// Lets the calls of the query's own level, and those of queries within that ask about its
/// columns, ask how the columns are stored.
pub fn ask_stored_forms(query: &mut Query, env: &Env) -> Result<()> {
    if query.command == CmdType::Merge {
        return Ok(());
    }
    // What these see are rows that are being made.
    let (returning, conflict) = (take(&mut query.returning), take(&mut query.on_conflict));
    let checks = take(&mut query.with_check_options);
    let done = ask(query, env);
    query.returning = returning;
    query.on_conflict = conflict;
    query.with_check_options = checks;
    done
}

fn ask(query: &mut Query, env: &Env) -> Result<()> {
    let mut wanted = Vec::new();
    walk::rewrite_query(query, 0, &mut |e, level| {
        if let Some(v) = asked(e)
            && v.levels_up == level
        {
            wanted.push((v.varno, v.attno));
        }
        None
    });
    let mut forms = Forms::new();
    for (varno, attno) in wanted {
        if !forms.contains_key(&(varno, attno))
            && let Some(form) = form_of(query, varno, attno, env)?
        {
            forms.insert((varno, attno), form);
        }
    }
    if forms.is_empty() {
        return Ok(());
    }
    if !is_grouped(query) {
        walk::rewrite_query(query, 0, &mut |e, level| with_form(e, level, &forms));
        return Ok(());
    }
    let mut targets = take(&mut query.target_list);
    let mut having = query.having.take();
    walk::rewrite_query(query, 0, &mut |e, level| with_form(e, level, &forms));
    let is_key = |t: &TargetEntry| {
        t.sort_group_ref != 0 && query.group_clause.iter().any(|g| g.target_ref == t.sort_group_ref)
    };
    let mut keys = Vec::new();
    for t in targets.iter_mut().filter(|t| is_key(t)) {
        walk::rewrite_expr(&mut t.expr, 0, &mut |e, level| with_form(e, level, &forms));
        keys.push(t.expr.clone());
    }
    for e in targets.iter_mut().map(|t| &mut t.expr).chain(&mut having) {
        above_groups(e, &keys, &forms);
    }
    query.target_list = targets;
    query.having = having;
    Ok(())
}

fn is_grouped(query: &Query) -> bool {
    query.has_aggs
        || query.having.is_some()
        || !query.group_clause.is_empty()
        || !query.grouping_sets.is_empty()
}

/// The call with the column's form in place of the column.
fn with_form(e: &Expr, level: u32, forms: &Forms) -> Option<Expr> {
    let v = asked(e).filter(|v| v.levels_up == level)?;
    let form = forms.get(&(v.varno, v.attno))?;
    let (Expr::Func(f), mut form) = (e, form.clone()) else { return None };
    form.levels_up = v.levels_up;
    form.nulling_rels.clone_from(&v.nulling_rels);
    let mut f = f.clone();
    f.args = vec![Expr::Var(form)];
    Some(Expr::Func(f))
}

/// Above the grouping only what is grouped by can be asked for, and what aggregates take in.
fn above_groups(e: &mut Expr, keys: &[Expr], forms: &Forms) {
    let mut below = e.clone();
    walk::rewrite_expr(&mut below, 0, &mut |e, level| with_form(e, level, forms));
    if matches!(e, Expr::Agg(_)) || keys.contains(&below) {
        *e = below;
        return;
    }
    walk::children_mut(e, &mut |child| above_groups(child, keys, forms));
}

/// What tells how a column of the query's range table is stored, if it is a table's. Subqueries
/// that only hand it on get a further column.
fn form_of(query: &mut Query, varno: u32, attno: i16, env: &Env) -> Result<Option<Var>> {
    let Some(rte) = query.rtable.get_mut(varno as usize - 1).filter(|_| attno > 0) else {
        return Ok(None);
    };
    match &mut rte.kind {
        RteKind::Relation { relid, relkind: 'r' | 'p' | 'm' | 't', .. } => {
            let rel = env.catalog.relation(*relid)?;
            let varlena =
                rel.tuple.attrs.get(attno as usize - 1).is_some_and(|a| a.len == -1 && !a.dropped);
            let column = Var::new(varno, attno, Oid::INVALID, -1, Oid::INVALID);
            Ok(varlena.then(|| column.stored()))
        }
        RteKind::Subquery { query: inner, .. } => {
            let Some(number) = handed_on(inner, attno, env)? else { return Ok(None) };
            let names = &mut rte.eref.columns;
            names.resize(number as usize - 1, String::new());
            names.push(String::new());
            Ok(Some(Var::new(varno, number, Oid(2281), -1, Oid::INVALID)))
        }
        _ => Ok(None),
    }
}

/// Adds to a subquery a column that tells how its column `attno` is stored; gives its number.
fn handed_on(query: &mut Query, attno: i16, env: &Env) -> Result<Option<i16>> {
    let simple = query.command == CmdType::Select
        && !is_grouped(query)
        && query.distinct_clause.is_empty()
        && query.set_operations.is_none();
    let target = query.target_list.iter().find(|t| t.resno == attno && !t.junk);
    let Some((true, Expr::Var(v))) = target.map(|t| (simple, &t.expr)) else { return Ok(None) };
    let v = v.clone();
    if v.levels_up != 0 {
        return Ok(None);
    }
    let Some(form) = form_of(query, v.varno, v.attno, env)? else { return Ok(None) };
    let at = query.target_list.iter().filter(|t| !t.junk).count();
    for (i, t) in query.target_list.iter_mut().enumerate().skip(at) {
        t.resno = i as i16 + 2;
    }
    let number = at as i16 + 1;
    query.target_list.insert(at, TargetEntry::new(Expr::Var(form), number, None, false));
    Ok(Some(number))
}
