//! Views that are modified: the statement becomes one on the view's own table.

use crate::Env;
use crate::rewrite::{check_as, has_invokers_rights, view_query};
use crate::updatable::{base_entry, column_reason, query_reason};
use base::{Error, Result, bail, err};
use catalog::RelationDesc;
use ir::{CmdType, Expr, FromItem, Query, Rte, RteKind, TargetEntry};
use std::sync::Arc;

/// The words for a command in messages.
fn words(command: CmdType) -> (&'static str, &'static str, &'static str) {
    match command {
        CmdType::Insert => ("insert into", "inserting into", "INSERT"),
        CmdType::Update => ("update", "updating", "UPDATE"),
        CmdType::Delete => ("delete from", "deleting from", "DELETE"),
        _ => ("merge into", "merging into", "MERGE"),
    }
}

fn not_updatable(view: &RelationDesc, command: CmdType, reason: &str) -> Error {
    let (to, ing, event) = words(command);
    let e = err!(OBJECT_NOT_IN_PREREQUISITE_STATE, "cannot {to} view \"{}\"", view.name)
        .detail(reason.to_string());
    match command {
        CmdType::Merge => e,
        _ => e.hint(format!(
            "To enable {ing} the view, provide an INSTEAD OF {event} trigger or an \
             unconditional ON {event} DO INSTEAD rule."
        )),
    }
}

/// The refusal of a view whose rules all have conditions.
pub(crate) fn conditional_rules(view: &RelationDesc, command: CmdType) -> Error {
    let reason = "Views with conditional DO INSTEAD rules are not automatically updatable.";
    not_updatable(view, command, reason)
}

/// A view with an INSTEAD OF trigger for what the statement does is not modified itself.
pub(crate) fn refuse_instead_triggers(env: &Env, query: &Query, view: &RelationDesc) -> Result<()> {
    const INSTEAD: i16 = 64;
    let bit = |command| match command {
        CmdType::Insert => 4,
        CmdType::Delete => 8,
        CmdType::Update => 16,
        _ => 0,
    };
    let mut events = bit(query.command);
    for a in &query.merge_actions {
        events |= bit(a.command);
    }
    let fires = |t: &&catalog::TriggerDesc| t.kind & INSTEAD != 0 && t.kind & events != 0;
    match view.triggers.iter().find(fires) {
        None => Ok(()),
        Some(t) => {
            let name = &env.catalog.proc(t.function)?.name;
            Err(Error::unsupported(format!("calling the trigger function {name}")))
        }
    }
}

/// A view's columns as expressions over an entry of the statement's range table.
struct Columns {
    exprs: Vec<Expr>,
    /// The view's row type, and names of its columns.
    row_type: base::Oid,
    names: Vec<String>,
}

impl Columns {
    fn of(view: &RelationDesc, query: &Query, entry: u32, new: u32) -> Columns {
        let exprs = query
            .target_list
            .iter()
            .filter(|t| !t.junk)
            .map(|t| moved(&t.expr, entry, new))
            .collect();
        let names = view.tuple.attrs.iter().map(|a| a.name.to_string()).collect();
        Columns { exprs, row_type: view.row_type, names }
    }

    /// What a column of the view (or its whole row) is.
    fn value(&self, v: &ir::Var, level: u32) -> Option<Expr> {
        let mut made = match v.attno {
            0 => Expr::Row(Box::new(ir::RowExpr {
                ty: self.row_type,
                args: self.exprs.clone(),
                form: ir::CoercionForm::ImplicitCast,
                names: self.names.clone(),
                location: None,
            })),
            n => self.exprs.get(usize::try_from(n).ok()?.checked_sub(1)?)?.clone(),
        };
        ir::walk::transform(&mut made, &mut |e| {
            if let Expr::Var(inner) = e
                && inner.levels_up == 0
            {
                inner.returning = v.returning;
                inner.nulling_rels.clone_from(&v.nulling_rels);
            }
        });
        if level > 0 {
            ir::walk::shift_levels(&mut made, level as i32, 0);
        }
        Some(made)
    }
}

/// An expression with the columns of one entry as those of another.
pub(crate) fn moved(e: &Expr, from: u32, to: u32) -> Expr {
    let mut made = e.clone();
    ir::walk::rewrite_expr(&mut made, 0, &mut |e, level| {
        let Expr::Var(v) = e else { return None };
        if v.varno != from || v.levels_up != level {
            return None;
        }
        Some(Expr::Var(ir::Var { varno: to, syn_no: to, ..v.clone() }))
    });
    made
}

/// Columns of the view that the statement assigns to.
fn assigned(query: &Query) -> Vec<(i16, CmdType)> {
    let mut all: Vec<(i16, CmdType)> = Vec::new();
    if matches!(query.command, CmdType::Insert | CmdType::Update) {
        let list = query.target_list.iter().filter(|t| !t.junk);
        all.extend(list.map(|t| (t.resno, query.command)));
    }
    if let Some(c) = &query.on_conflict {
        all.extend(c.set.iter().filter(|t| !t.junk).map(|t| (t.resno, CmdType::Update)));
    }
    for a in &query.merge_actions {
        all.extend(a.target_list.iter().filter(|t| !t.junk).map(|t| (t.resno, CmdType::Merge)));
    }
    all
}

/// Makes a statement on a view one on the table below; one level of views.
pub(crate) fn rewrite_target_view(
    env: &Env,
    query: &mut Query,
    view: &Arc<RelationDesc>,
) -> Result<()> {
    crate::rewrite::check_restricted(env, view)?;
    let old = query.result_relation;
    let mut names_cursor = false;
    if let Some(quals) = &query.jointree.quals {
        ir::walk::each(quals, &mut |e| names_cursor |= matches!(e, Expr::CurrentOf { .. }));
    }
    if names_cursor {
        bail!(FEATURE_NOT_SUPPORTED, "WHERE CURRENT OF on a view is not implemented");
    }
    let mut inner = view_query(env, view)?;
    if !has_invokers_rights(view) {
        check_as(&mut inner, view.owner);
    }
    let assigns = query.command != CmdType::Delete;
    if let Some(reason) = query_reason(&inner, assigns) {
        return Err(not_updatable(view, query.command, reason));
    }
    let Some(entry) = base_entry(&inner) else {
        return Err(Error::internal("an updatable view without a table"));
    };
    let columns: Vec<&TargetEntry> = inner.target_list.iter().filter(|t| !t.junk).collect();
    for (n, command) in assigned(query) {
        let Some(t) = columns.get(n as usize - 1) else { continue };
        if let Some(reason) = column_reason(entry, t) {
            let name = &view.tuple.attrs[n as usize - 1].name;
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "cannot {} column \"{name}\" of view \"{}\"",
                words(command).0,
                view.name
            )
            .detail(reason));
        }
    }
    let new = add_base(query, view, &inner, entry);
    let numbers: Vec<i16> = columns
        .iter()
        .map(|t| match &t.expr {
            Expr::Var(v) => v.attno,
            _ => 0,
        })
        .collect();
    let base = match &query.rte(new).kind {
        RteKind::Relation { relid, .. } => env.catalog.relation(*relid)?,
        _ => return Err(Error::internal("a view's table is no relation")),
    };
    renumber(query, &numbers, &base);
    let map = Columns::of(view, &inner, entry, new);
    let excluded = new_excluded(query, &base, new);
    let other = excluded.map(|(old, new)| (old, Columns::of(view, &inner, entry, new)));
    ir::walk::rewrite_query(query, 0, &mut |e, level| {
        let Expr::Var(v) = e else { return None };
        if v.levels_up != level {
            return None;
        }
        if v.varno == old {
            return map.value(v, level);
        }
        match &other {
            Some((index, map)) if v.varno == *index => map.value(v, level),
            _ => None,
        }
    });
    for item in &mut query.jointree.items {
        replace_item(item, old, new);
    }
    query.result_relation = new;
    let quals = inner.jointree.quals.as_ref().map(|q| moved(q, entry, new));
    query.has_sublinks |= inner.has_sublinks;
    add_check_option(query, view, &quals);
    if query.command != CmdType::Insert
        && let Some(quals) = quals
    {
        let mut all = vec![quals];
        all.extend(query.jointree.quals.take());
        query.jointree.quals = ir::walk::conjoin(all);
    }
    Ok(())
}

/// Adds the view's table to the range table; gives its number. The view keeps its entry, for the
/// rights on it.
fn add_base(query: &mut Query, view: &RelationDesc, inner: &Query, entry: u32) -> u32 {
    let old = query.result_relation as usize - 1;
    let mut base: Rte = inner.rte(entry).clone();
    if let RteKind::Relation { lock_mode, .. } = &mut base.kind {
        *lock_mode = 3;
    }
    let mut perms = query.rtable[old].perms.clone().unwrap_or_default();
    let map = |list: &[i16]| -> Vec<i16> {
        let mut out: Vec<i16> = Vec::new();
        for n in list {
            let found = inner.target_list.get((*n as usize).wrapping_sub(1));
            if let Some(TargetEntry { expr: Expr::Var(v), .. }) = found
                && !out.contains(&v.attno)
            {
                out.push(v.attno);
            }
        }
        out.sort_unstable();
        out
    };
    perms.inserted = map(&perms.inserted);
    perms.updated = map(&perms.updated);
    perms.selected = match &base.perms {
        Some(p) => p.selected.clone(),
        None => map(&perms.selected),
    };
    if query.command != CmdType::Insert || !perms.selected.is_empty() {
        perms.required |= base.perms.as_ref().map_or(0, |p| p.required & 2);
    }
    perms.check_as = if has_invokers_rights(view) { None } else { Some(view.owner) };
    base.perms = Some(perms);
    base.in_from = query.rtable[old].in_from;
    query.rtable[old].in_from = false;
    query.rtable.push(base);
    query.rtable.len() as u32
}

/// Assigned columns get the numbers they have in the table.
fn renumber(query: &mut Query, numbers: &[i16], base: &RelationDesc) {
    let change = |list: &mut Vec<TargetEntry>| {
        for t in list.iter_mut().filter(|t| !t.junk) {
            if let Some(n) = numbers.get(t.resno as usize - 1).filter(|n| **n > 0) {
                t.resno = *n;
                t.name = Some(base.tuple.attrs[*n as usize - 1].name.to_string());
            }
        }
    };
    if matches!(query.command, CmdType::Insert | CmdType::Update) {
        change(&mut query.target_list);
    }
    if let Some(c) = &mut query.on_conflict {
        change(&mut c.set);
    }
    for a in &mut query.merge_actions {
        change(&mut a.target_list);
    }
}

/// `excluded` of the table instead of that of the view: the old entry and the new.
fn new_excluded(query: &mut Query, base: &RelationDesc, new: u32) -> Option<(u32, u32)> {
    let old = query.on_conflict.as_ref().map(|c| c.excluded_rtindex).filter(|n| *n > 0)?;
    let mut rte = query.rte(new).clone();
    rte.perms = None;
    rte.in_from = false;
    rte.alias = query.rte(old).alias.clone();
    rte.eref.name = query.rte(old).eref.name.clone();
    query.rtable[old as usize - 1].in_from = false;
    query.rtable.push(rte);
    let index = query.rtable.len() as u32;
    if let Some(c) = &mut query.on_conflict {
        c.excluded_rtindex = index;
        c.excluded_target = base
            .tuple
            .attrs
            .iter()
            .enumerate()
            .map(|(i, a)| {
                let n = i as i16 + 1;
                let expr = match a.dropped {
                    true => Expr::null_const(base::Oid(23), -1, base::Oid::INVALID),
                    false => Expr::Var(ir::Var::new(index, n, a.type_oid, a.typmod, a.collation)),
                };
                TargetEntry::new(expr, n, Some(a.name.to_string()), false)
            })
            .collect();
    }
    Some((old, index))
}

fn replace_item(item: &mut FromItem, old: u32, new: u32) {
    match item {
        FromItem::Table(n) if *n == old => *n = new,
        FromItem::Table(_) => {}
        FromItem::Join(j) => {
            replace_item(&mut j.left, old, new);
            replace_item(&mut j.right, old, new);
        }
        FromItem::From(f) => f.items.iter_mut().for_each(|i| replace_item(i, old, new)),
    }
}

/// WITH CHECK OPTION: of this view, or of one above that says CASCADED.
fn add_check_option(query: &mut Query, view: &RelationDesc, quals: &Option<Expr>) {
    if query.command == CmdType::Delete {
        return;
    }
    let own = view.option("check_option");
    let above = query.with_check_options.first().is_some_and(|o| o.cascaded);
    let cascaded = above || own == Some("cascaded");
    if !above && own.is_none() || !cascaded && quals.is_none() {
        return;
    }
    let option = ir::WithCheckOption {
        kind: ir::CheckOptionKind::View,
        relation: view.name.to_string(),
        policy: None,
        qual: quals.clone().unwrap_or_else(|| Expr::bool_const(true)),
        cascaded,
    };
    query.with_check_options.insert(0, option);
}
