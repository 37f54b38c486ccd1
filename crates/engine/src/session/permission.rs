//! What a query's user may do: rights on the relations it names, or on the columns it uses, and
//! on the functions it calls. Checked when the query is planned: a kept plan is for one user, and
//! any change of rights makes it outdated.

use super::SessionCore;
use super::env::StatementEnv;
use crate::ddl::grant::permission_denied;
use base::{Oid, Result};
use catalog::acl::bit;
use catalog::privilege::{Grantable, Rights, is_superuser};
use catalog::{CatalogView, RelKind, RelationDesc};
use ir::{Expr, Query, RteKind, RtePerms};
use std::sync::Arc;

/// A relation as a message about rights names it.
pub(crate) fn relation_noun(kind: RelKind) -> &'static str {
    match kind {
        RelKind::Index | RelKind::PartitionedIndex => "index",
        RelKind::Sequence => "sequence",
        RelKind::View => "view",
        RelKind::MatView => "materialized view",
        RelKind::Foreign => "foreign table",
        _ => "table",
    }
}

/// The rights on a whole relation.
pub(crate) fn relation_rights(rel: &RelationDesc) -> Rights<'_> {
    let kind = match rel.kind {
        RelKind::Sequence => Grantable::Sequence,
        _ => Grantable::Table,
    };
    Rights { kind, owner: rel.owner, acl: rel.acl.as_deref() }
}

/// True for what only superusers may change: system tables, and TOAST tables.
fn is_protected(view: &CatalogView, user: Oid, rel: &RelationDesc, rights: u32) -> Result<bool> {
    let system = rel.oid < Oid::FIRST_NORMAL || rel.namespace == catalog::oids::PG_TOAST;
    let changes = rights & catalog::privilege::bits(b"awdDU") != 0;
    Ok(system && changes && rel.kind != RelKind::View && !is_superuser(view, user)?)
}

/// Fails unless the user has all of these rights on the whole relation.
pub(crate) fn require_on_relation(
    view: &CatalogView,
    user: Oid,
    rel: &RelationDesc,
    rights: u32,
) -> Result<()> {
    if !is_protected(view, user, rel, rights)?
        && relation_rights(rel).of(view, user, rights)? == rights
    {
        return Ok(());
    }
    Err(permission_denied(relation_noun(rel.kind), &rel.name))
}

/// What a query needs.
#[derive(Default)]
struct Needs {
    relations: Vec<(Oid, RtePerms)>,
    functions: Vec<Oid>,
}

impl Needs {
    fn add_query(&mut self, query: &Query) {
        for rte in &query.rtable {
            let relation = match &rte.kind {
                RteKind::Relation { relid, .. } => Some(*relid),
                RteKind::Subquery { view, .. } => *view,
                _ => None,
            };
            if let (Some(relation), Some(perms)) = (relation, &rte.perms) {
                self.relations.push((relation, perms.clone()));
            }
        }
        for rte in &query.rtable {
            if let RteKind::Subquery { query, .. } = &rte.kind {
                self.add_query(query);
            }
        }
        for cte in &query.ctes {
            self.add_query(&cte.query);
        }
        ir::walk::own_exprs(query, &mut |e| self.add_expr(e));
    }

    fn add_expr(&mut self, expr: &Expr) {
        ir::walk::each(expr, &mut |e| {
            let function = match e {
                Expr::Func(f) => f.func,
                Expr::Op(o) => o.func,
                Expr::ScalarArrayOp(o) => o.func,
                Expr::Agg(a) => a.agg,
                Expr::Window(w) => w.func,
                Expr::SubLink(s) => {
                    self.add_query(&s.query);
                    return;
                }
                _ => return,
            };
            if !self.functions.contains(&function) {
                self.functions.push(function);
            }
        });
    }
}

impl SessionCore {
    /// Fails unless the query's users may do what it does.
    pub(crate) fn check_permissions(&self, env: &StatementEnv<'_>, query: &Query) -> Result<()> {
        let mut needs = Needs::default();
        needs.add_query(query);
        let user = self.users().current;
        for (relation, perms) in &needs.relations {
            let user = perms.check_as.unwrap_or(user);
            if perms.required == 0 || user == catalog::oids::SUPERUSER {
                continue;
            }
            let rel = env.view.relation(*relation)?;
            if !self.may(&env.view, user, &rel, perms)? {
                return Err(permission_denied(relation_noun(rel.kind), &rel.name));
            }
        }
        if is_superuser(&env.view, user)? {
            return Ok(());
        }
        for function in needs.functions {
            self.check_execute(&env.view, user, function)?;
        }
        Ok(())
    }

    /// Policies decide which rows of a relation the current user sees.
    pub(crate) fn hides_rows(&self, rel: &RelationDesc) -> bool {
        // What cannot be found out is not shown.
        self.view().and_then(|v| analyze::row_security_binds(&v, rel)).unwrap_or(true)
    }

    /// The columns of a relation that the current user may read, if that is not all of it; none
    /// if policies hide rows of it.
    pub(crate) fn readable_columns(&self, rel: &RelationDesc) -> Option<Vec<i16>> {
        let user = self.users().current;
        if user == catalog::oids::SUPERUSER {
            return None;
        }
        // What cannot be found out is not shown.
        let Ok(view) = self.view() else { return Some(Vec::new()) };
        if self.hides_rows(rel) {
            return Some(Vec::new());
        }
        let select = bit(b'r');
        if relation_rights(rel).of(&view, user, select).is_ok_and(|r| r != 0) {
            return None;
        }
        let readable = |acl: &[catalog::AclItem]| {
            let rights = Rights { kind: Grantable::Column, owner: rel.owner, acl: Some(acl) };
            rights.of(&view, user, select).is_ok_and(|r| r != 0)
        };
        Some(rel.column_acls.iter().filter(|(_, acl)| readable(acl)).map(|(n, _)| *n).collect())
    }

    /// Fails unless the user may do this with these columns of a relation.
    pub(crate) fn check_columns(
        &self,
        rel: &Arc<RelationDesc>,
        right: u32,
        columns: &[i16],
    ) -> Result<()> {
        let view = self.view()?;
        let user = self.users().current;
        let mut perms = RtePerms { required: right, ..RtePerms::default() };
        match right == bit(b'a') {
            true => perms.inserted = columns.to_vec(),
            false => perms.selected = columns.to_vec(),
        }
        match self.may(&view, user, rel, &perms)? {
            true => Ok(()),
            false => Err(permission_denied(relation_noun(rel.kind), &rel.name)),
        }
    }

    fn may(
        &self,
        view: &CatalogView,
        user: Oid,
        rel: &Arc<RelationDesc>,
        perms: &RtePerms,
    ) -> Result<bool> {
        if is_protected(view, user, rel, perms.required)? {
            return Ok(false);
        }
        let missing = perms.required & !relation_rights(rel).of(view, user, perms.required)?;
        if missing == 0 {
            return Ok(true);
        }
        // The rest has to come from columns.
        let (select, insert, update) = (bit(b'r'), bit(b'a'), bit(b'w'));
        if missing & !(select | insert | update) != 0 {
            return Ok(false);
        }
        for (right, columns) in
            [(select, &perms.selected), (insert, &perms.inserted), (update, &perms.updated)]
        {
            if missing & right != 0 && !self.may_columns(view, user, rel, right, columns)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if the user has the right on all these columns; on any column if there are none.
    fn may_columns(
        &self,
        view: &CatalogView,
        user: Oid,
        rel: &RelationDesc,
        right: u32,
        columns: &[i16],
    ) -> Result<bool> {
        let has = |attnum: i16| -> Result<bool> {
            let Some((_, acl)) = rel.column_acls.iter().find(|(n, _)| *n == attnum) else {
                return Ok(false);
            };
            let rights = Rights { kind: Grantable::Column, owner: rel.owner, acl: Some(acl) };
            Ok(rights.of(view, user, right)? != 0)
        };
        let all = || (1..).zip(&rel.tuple.attrs).filter(|(_, a)| !a.dropped).map(|(n, _)| n);
        if columns.is_empty() {
            for attnum in all() {
                if has(attnum)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        for column in columns {
            let enough = match column {
                0 => {
                    let mut every = true;
                    for attnum in all() {
                        every &= has(attnum)?;
                    }
                    every
                }
                attnum => has(*attnum)?,
            };
            if !enough {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Does something with the rights of the system, which are not those of the user.
    pub(crate) fn as_system<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let users = self.users();
        self.set_users(super::core::Users { current: catalog::oids::SUPERUSER, ..users });
        let result = work();
        self.set_users(users);
        result
    }
}

impl SessionCore {
    /// Fails unless the user may call the function.
    pub(crate) fn check_execute(&self, view: &CatalogView, user: Oid, function: Oid) -> Result<()> {
        let Some(acl) = self.source.proc_acl(function)? else { return Ok(()) };
        let (owner, acl) = &*acl;
        let rights = Rights { kind: Grantable::Function, owner: *owner, acl: Some(acl) };
        if rights.of(view, user, bit(b'X'))? != 0 {
            return Ok(());
        }
        let proc = view.proc(function)?;
        let noun = match proc.kind {
            b'p' => "procedure",
            b'a' => "aggregate",
            _ => "function",
        };
        Err(permission_denied(noun, &proc.name))
    }
}
