//! CREATE RULE: the condition and the actions over the rows OLD (entry 1) and NEW (entry 2).

use crate::state::{Analyzer, Kind, loc};
use crate::{Env, Params, collate};
use base::{Result, bail};
use catalog::RelationDesc;
use ir::{CmdType, Expr, FromItem, Query, RteKind, renumber};
use parser::ast::{self, RuleEvent, Stmt};

/// Range-table index of OLD in a rule's condition and actions.
pub const OLD: u32 = 1;
/// The same of NEW.
pub const NEW: u32 = 2;

/// What a rule consists of.
pub struct AnalysedRule {
    /// WHERE.
    pub qual: Option<Expr>,
    /// What is done; nothing for NOTHING.
    pub actions: Vec<Query>,
}

/// Analyses a rule on `rel`.
pub fn rule(env: &Env, rel: &RelationDesc, stmt: &ast::CreateRuleStmt) -> Result<AnalysedRule> {
    let mut a = analyzer(env, rel, Some(stmt.event))?;
    show_columns(&mut a);
    let mut qual = a.where_clause(stmt.where_clause.as_ref(), Kind::Where)?;
    if let Some(e) = &mut qual {
        collate::assign(&mut a, e)?;
    }
    if qual.as_ref().is_some_and(|e| ir::walk::any(e, &mut |e| matches!(e, Expr::Agg(_)))) {
        bail!(GROUPING_ERROR, "aggregate functions are not allowed in WHERE");
    }
    let mut actions = Vec::with_capacity(stmt.actions.len());
    for action in &stmt.actions {
        actions.push(one_action(env, rel, stmt, action)?);
    }
    Ok(AnalysedRule { qual, actions })
}

/// An analyzer that knows OLD and NEW: for actions both, for the condition those of the event.
fn analyzer<'a>(
    env: &'a Env<'a>,
    rel: &RelationDesc,
    event: Option<RuleEvent>,
) -> Result<Analyzer<'a>> {
    let mut a = Analyzer::new(env, Params::None);
    for name in ["old", "new"] {
        let alias = ast::Alias { name: name.into(), columns: Vec::new() };
        let mut item = a.add_relation(rel, Some(&alias), false, false, 1, 0, None)?;
        item.cols_visible = false;
        let seen = match event {
            Some(RuleEvent::Select | RuleEvent::Delete) => name == "old",
            Some(RuleEvent::Insert) => name == "new",
            Some(RuleEvent::Update) | None => true,
        };
        if seen {
            a.st().namespace.push(item);
        }
    }
    // A user alias is what the rule prints, not what it needs rights for.
    for rte in &mut a.st().rtable {
        rte.perms = None;
    }
    a.st().in_rule = true;
    Ok(a)
}

/// In the condition columns may stand without OLD or NEW, if only one of them is there.
fn show_columns(a: &mut Analyzer) {
    a.st().namespace.iter_mut().for_each(|item| item.cols_visible = true);
}

fn one_action(
    env: &Env,
    rel: &RelationDesc,
    stmt: &ast::CreateRuleStmt,
    action: &ast::RawStmt,
) -> Result<Query> {
    let mut a = analyzer(env, rel, None)?;
    if let Stmt::Notify(n) = &action.stmt {
        if stmt.where_clause.is_some() {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "rules with WHERE conditions can only have SELECT, INSERT, UPDATE, or DELETE \
                 actions"
            );
        }
        let mut query = Query::new(CmdType::Nothing);
        query.rtable = std::mem::take(&mut a.st().rtable);
        query.notify = Some((n.channel.clone(), n.payload.clone()));
        return Ok(query);
    }
    if let Stmt::Select(s) = &action.stmt
        && let Some((into, _)) = crate::select_into(s)
    {
        let e = base::err!(SYNTAX_ERROR, "SELECT ... INTO is not allowed here");
        return Err(e.at(loc(into.rel.pos)));
    }
    let mut query = a.statement(&action.stmt)?;
    let nested = nested_source(&query);
    let sub = match nested {
        Some(at) => match &mut query.rtable[at].kind {
            RteKind::Subquery { query, .. } => &mut **query,
            _ => return Err(base::Error::internal("INSERT from something else than a query")),
        },
        None => &mut query,
    };
    let uses_rows = |n| renumber::used(sub, n);
    let qual_uses = |n| match &stmt.where_clause {
        Some(_) => renumber_mentions(env, rel, stmt, n),
        None => Ok(false),
    };
    let (mut old, mut new) = (uses_rows(OLD), uses_rows(NEW));
    old |= qual_uses(OLD)?;
    new |= qual_uses(NEW)?;
    match stmt.event {
        RuleEvent::Select if old => {
            bail!(INVALID_OBJECT_DEFINITION, "ON SELECT rule cannot use OLD")
        }
        RuleEvent::Select if new => {
            bail!(INVALID_OBJECT_DEFINITION, "ON SELECT rule cannot use NEW")
        }
        RuleEvent::Insert if old => {
            bail!(INVALID_OBJECT_DEFINITION, "ON INSERT rule cannot use OLD")
        }
        RuleEvent::Delete if new => {
            bail!(INVALID_OBJECT_DEFINITION, "ON DELETE rule cannot use NEW")
        }
        _ => {}
    }
    for (index, name) in [(OLD, "OLD"), (NEW, "NEW")] {
        if sub.ctes.iter().any(|c| uses_above(&c.query, index)) {
            bail!(FEATURE_NOT_SUPPORTED, "cannot refer to {name} within WITH query");
        }
    }
    // The rows that the statement changes are what the action ranges over.
    if old || new && stmt.event == RuleEvent::Update {
        if sub.set_operations.is_some() {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "conditional UNION/INTERSECT/EXCEPT statements are not implemented"
            );
        }
        // What is lateral to it comes after it.
        let first = sub.rtable.iter().any(|r| r.lateral);
        let at = if first { 0 } else { sub.jointree.items.len() };
        sub.jointree.items.insert(at, FromItem::Table(OLD));
    }
    Ok(query)
}

/// True if the rule's condition mentions this row.
fn renumber_mentions(
    env: &Env,
    rel: &RelationDesc,
    stmt: &ast::CreateRuleStmt,
    index: u32,
) -> Result<bool> {
    let mut a = analyzer(env, rel, Some(stmt.event))?;
    show_columns(&mut a);
    let qual = a.where_clause(stmt.where_clause.as_ref(), Kind::Where)?;
    Ok(qual.is_some_and(|e| renumber::mentions(&e, index)))
}

/// True if a query one level inwards mentions the entry.
fn uses_above(query: &Query, index: u32) -> bool {
    let mut found = false;
    ir::walk::query_exprs(query, 1, &mut |e, level| {
        let mut is_it = |e: &Expr, level| match e {
            Expr::Var(v) => v.varno == index && v.levels_up == level,
            _ => false,
        };
        found = found || ir::walk::any_levels(e, level, &mut is_it);
    });
    found
}

/// Where the rule's rows are in an INSERT from a query: the query's place in the range table.
pub(crate) fn nested_source(query: &Query) -> Option<usize> {
    if query.command != CmdType::Insert {
        return None;
    }
    query.rtable.iter().position(|rte| match &rte.kind {
        RteKind::Subquery { query: inner, .. } => {
            let entry = |i: usize| inner.rtable.get(i).map_or("", |r| &r.eref.name);
            entry(0) == "old" && entry(1) == "new"
        }
        _ => false,
    })
}
