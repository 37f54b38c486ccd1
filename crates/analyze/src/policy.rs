//! Row security: which rows of a table a statement may see, and which it may write.

use crate::Env;
use crate::rewrite::stored_expr;
use crate::rewrite_view::moved;
use base::{Oid, Result, err};
use catalog::privilege::{Through, has_rights_of, roles_of};
use catalog::{PolicyDesc, RelKind, RelationDesc};
use ir::{CheckOptionKind, CmdType, Expr, Query, Rte, RteKind, TargetEntry, WithCheckOption};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// Tables whose policies are being applied, to find circles.
    static ACTIVE: RefCell<Vec<Oid>> = const { RefCell::new(Vec::new()) };
}

/// True if the policies of a table bind this user; an error if they do and may not.
fn binds(catalog: &catalog::CatalogView, rel: &RelationDesc, user: Oid) -> Result<bool> {
    if !rel.row_security || !matches!(rel.kind, RelKind::Table | RelKind::Partitioned) {
        return Ok(false);
    }
    let role = catalog.role(user)?;
    if role.superuser || role.bypass_rls {
        return Ok(false);
    }
    let owner = has_rights_of(catalog, user, rel.owner)?;
    if owner && !rel.force_row_security {
        return Ok(false);
    }
    if !catalog.context().row_security {
        let e = err!(
            INSUFFICIENT_PRIVILEGE,
            "query would be affected by row-level security policy for table \"{}\"",
            rel.name
        );
        return Err(match owner {
            true => e.hint(
                "To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL \
                 SECURITY.",
            ),
            false => e,
        });
    }
    Ok(true)
}

/// True if the policies of a table bind the current user.
pub fn row_security_binds(catalog: &catalog::CatalogView, rel: &RelationDesc) -> Result<bool> {
    binds(catalog, rel, catalog.context().user)
}

/// Whose policies apply to an entry of the range table.
#[derive(Clone, Copy)]
struct Whom {
    user: Oid,
    /// Whose rights count, if not the current user's: also for what the policies read.
    check_as: Option<Oid>,
}

impl Whom {
    fn of(env: &Env, rte: &Rte) -> Whom {
        let check_as = rte.perms.as_ref().and_then(|p| p.check_as);
        Whom { user: check_as.unwrap_or(env.catalog.context().user), check_as }
    }
}

/// Conditions of the policies for a command: what the permissive ones allow together, then each
/// restrictive one with its name. `check` takes WITH CHECK.
fn conditions(
    env: &Env,
    rel: &RelationDesc,
    whom: Whom,
    command: u8,
    check: bool,
    entry: u32,
) -> Result<Vec<(Option<String>, Expr)>> {
    let mine = roles_of(env.catalog, whom.user, Through::Inherit)?;
    let applies = |p: &&PolicyDesc| {
        (p.command == command || p.command == b'*')
            && p.roles.iter().any(|r| !r.is_valid() || mine.contains(r))
    };
    let mut any = Vec::new();
    let mut all = Vec::new();
    for p in rel.policies.iter().filter(applies) {
        let text = match check {
            true => p.check.as_ref().or(p.qual.as_ref()),
            false => p.qual.as_ref(),
        };
        let Some(text) = text else { continue };
        let mut e = moved(&stored_expr(text)?, 1, entry);
        if let Some(owner) = whom.check_as {
            ir::walk::transform(&mut e, &mut |e| {
                if let Expr::SubLink(s) = e {
                    crate::rewrite::check_as(&mut s.query, owner);
                }
            });
        }
        match p.permissive {
            true => any.push(e),
            false => all.push((Some(p.name.to_string()), e)),
        }
    }
    let permitted = match any.len() {
        0 => Expr::bool_const(false),
        1 => any.swap_remove(0),
        _ => Expr::Bool { op: ir::BoolOp::Or, args: any, location: None },
    };
    all.insert(0, (None, permitted));
    Ok(all)
}

/// The same as one condition.
fn condition(
    env: &Env,
    rel: &RelationDesc,
    whom: Whom,
    command: u8,
    check: bool,
    entry: u32,
) -> Result<Expr> {
    let all = conditions(env, rel, whom, command, check, entry)?;
    let all = all.into_iter().map(|c| c.1).collect();
    Ok(ir::walk::conjoin(all).unwrap_or_else(|| Expr::bool_const(true)))
}

/// Applies the policies of a table in FROM: it becomes a subquery of the rows that may be seen.
pub(crate) fn secure_source(env: &Env, query: &mut Query, index: usize) -> Result<Option<Query>> {
    let RteKind::Relation { relid, .. } = query.rtable[index].kind else { return Ok(None) };
    let rel = env.catalog.relation(relid)?;
    let whom = Whom::of(env, &query.rtable[index]);
    if !binds(env.catalog, &rel, whom.user)? {
        return Ok(None);
    }
    let qual = condition(env, &rel, whom, b'r', false, 1)?;
    enter(&rel, has_sublinks(&qual))?;
    let mut inner = Query::new(CmdType::Select);
    let mut rte = query.rtable[index].clone();
    rte.in_from = true;
    rte.lateral = false;
    inner.rtable.push(rte);
    inner.jointree.items.push(ir::FromItem::Table(1));
    inner.has_sublinks = has_sublinks(&qual);
    inner.has_row_security = true;
    inner.jointree.quals = Some(qual);
    for (i, a) in rel.tuple.attrs.iter().enumerate() {
        let n = i as i16 + 1;
        let expr = match a.dropped {
            true => Expr::null_const(Oid(23), -1, Oid::INVALID),
            false => Expr::Var(ir::Var::new(1, n, a.type_oid, a.typmod, a.collation)),
        };
        let mut t = TargetEntry::new(expr, n, Some(a.name.to_string()), false);
        (t.orig_table, t.orig_column) = (rel.oid, n);
        inner.target_list.push(t);
    }
    pass_system_columns(query, index as u32 + 1, &mut inner);
    Ok(Some(inner))
}

/// System columns of a table that a query uses, its own subqueries included, become further
/// columns of the subquery that stands for the table. They are junk to its whole row.
fn pass_system_columns(query: &mut Query, entry: u32, inner: &mut Query) {
    let first = inner.target_list.len();
    let mut passed: Vec<i16> = Vec::new();
    ir::walk::rewrite_query(query, 0, &mut |e, level| {
        let Expr::Var(v) = e else { return None };
        if v.varno != entry || v.levels_up != level || v.attno >= 0 {
            return None;
        }
        let at = passed.iter().position(|n| *n == v.attno).unwrap_or_else(|| {
            passed.push(v.attno);
            let own = Expr::Var(ir::Var::new(1, v.attno, v.ty, v.typmod, v.collation));
            let n = (first + passed.len()) as i16;
            inner.target_list.push(TargetEntry::new(own, n, None, true));
            passed.len() - 1
        });
        Some(Expr::Var(ir::Var { attno: (first + at) as i16 + 1, ..v.clone() }))
    });
}

/// The policies of a table are being applied. Those that read no other table close no circle.
fn enter(rel: &Arc<RelationDesc>, reads: bool) -> Result<()> {
    ACTIVE.with(|a| {
        let mut a = a.borrow_mut();
        if reads && a.contains(&rel.oid) {
            return Err(err!(
                INVALID_OBJECT_DEFINITION,
                "infinite recursion detected in policy for relation \"{}\"",
                rel.name
            ));
        }
        a.push(rel.oid);
        Ok(())
    })
}

/// The policies of the table entered last are applied.
pub(crate) fn leave() {
    ACTIVE.with(|a| a.borrow_mut().pop());
}

/// A statement begins: nothing is being applied.
pub(crate) fn reset() {
    ACTIVE.with(|a| a.borrow_mut().clear());
}

/// Fails if what the policies of a statement's target read leads back to the target. The
/// conditions are made ready with the rest of the statement, where nothing tells them from others.
fn find_circle<'a>(
    env: &Env,
    rel: &Arc<RelationDesc>,
    conditions: impl Iterator<Item = &'a Expr>,
) -> Result<()> {
    let conditions: Vec<Expr> = conditions.filter(|e| has_sublinks(e)).cloned().collect();
    if conditions.is_empty() {
        return Ok(());
    }
    let mut probe = Query::new(CmdType::Select);
    probe.jointree.quals = ir::walk::conjoin(conditions);
    enter(rel, true)?;
    let result = crate::rewrite::rewrite_conditions(env, &mut probe, 1);
    leave();
    result
}

fn has_sublinks(e: &Expr) -> bool {
    ir::walk::any(e, &mut |e| matches!(e, Expr::SubLink(_)))
}

/// Applies the policies of the table that a statement changes.
pub(crate) fn secure_target(env: &Env, query: &mut Query, rel: &Arc<RelationDesc>) -> Result<()> {
    let target = query.result_relation;
    let whom = Whom::of(env, query.rte(target));
    if !binds(env.catalog, rel, whom.user)? {
        return Ok(());
    }
    query.has_row_security = true;
    let reads = query.rte(target).perms.as_ref().is_some_and(|p| p.required & 2 != 0);
    let using = |command| condition(env, rel, whom, command, false, target);
    let mut quals = Vec::new();
    // Kind, command, and whether WITH CHECK counts.
    let mut checks: Vec<(CheckOptionKind, u8, bool)> = Vec::new();
    match query.command {
        CmdType::Update => {
            quals.push(using(b'w')?);
            checks.push((CheckOptionKind::RlsUpdate, b'w', true));
            if reads {
                quals.push(using(b'r')?);
                checks.push((CheckOptionKind::RlsUpdate, b'r', false));
            }
        }
        CmdType::Delete => {
            quals.push(using(b'd')?);
            if reads {
                quals.push(using(b'r')?);
            }
        }
        CmdType::Insert => {
            checks.push((CheckOptionKind::RlsInsert, b'a', true));
            if reads {
                checks.push((CheckOptionKind::RlsInsert, b'r', false));
            }
            if query.on_conflict.as_ref().is_some_and(|c| c.action == ir::ConflictAction::Update) {
                checks.push((CheckOptionKind::RlsConflict, b'w', false));
                checks.push((CheckOptionKind::RlsConflict, b'r', false));
                checks.push((CheckOptionKind::RlsUpdate, b'w', true));
                if reads {
                    checks.push((CheckOptionKind::RlsUpdate, b'r', false));
                }
            }
        }
        // What becomes of a row is known once it is found: a row that may not be changed is an
        // error then, as in ON CONFLICT.
        CmdType::Merge => {
            if reads {
                quals.push(using(b'r')?);
            }
            checks.push((CheckOptionKind::RlsMergeUpdate, b'w', false));
            checks.push((CheckOptionKind::RlsUpdate, b'w', true));
            if reads {
                checks.push((CheckOptionKind::RlsUpdate, b'r', false));
            }
            checks.push((CheckOptionKind::RlsMergeDelete, b'd', false));
            checks.push((CheckOptionKind::RlsInsert, b'a', true));
            if reads && !query.returning.is_empty() {
                checks.push((CheckOptionKind::RlsInsert, b'r', false));
            }
        }
        _ => {}
    }
    let first = query.with_check_options.len();
    for (kind, command, check) in checks {
        for (policy, qual) in conditions(env, rel, whom, command, check, target)? {
            query.has_sublinks |= has_sublinks(&qual);
            query.with_check_options.push(WithCheckOption {
                kind,
                relation: rel.name.to_string(),
                policy,
                qual,
                cascaded: false,
            });
        }
    }
    let own = quals.iter().chain(query.with_check_options[first..].iter().map(|c| &c.qual));
    find_circle(env, rel, own)?;
    if !quals.is_empty() {
        query.has_sublinks |= quals.iter().any(has_sublinks);
        quals.extend(query.jointree.quals.take());
        query.jointree.quals = ir::walk::conjoin(quals);
    }
    Ok(())
}
