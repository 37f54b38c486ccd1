//! LOCK TABLE: tables with their descendants, and views with what they read.

use super::Session;
use super::permission::{relation_noun, relation_rights};
use base::{Oid, Result, bail};
use catalog::depend::{self, ObjectAddress};
use catalog::{CatalogView, RelKind, RelationDesc, oids};
use parser::ast::LockStmt;

/// What one LOCK TABLE is about.
struct Locking {
    mode: u8,
    nowait: bool,
    done: Vec<Oid>,
}

impl Session {
    pub(super) fn lock_stmt(&mut self, stmt: &LockStmt) -> Result<&'static str> {
        self.require_block("LOCK TABLE")?;
        let view = self.core.view()?;
        let user = self.core.users().current;
        let mut locking = Locking { mode: stmt.mode as u8, nowait: stmt.nowait, done: Vec::new() };
        for item in &stmt.relations {
            let rel = view.require_relation(item.rel.schema.as_deref(), &item.rel.name)?;
            if !matches!(rel.kind, RelKind::Table | RelKind::Partitioned | RelKind::View) {
                return Err(base::err!(WRONG_OBJECT_TYPE, "cannot lock relation \"{}\"", rel.name)
                    .detail(crate::ddl::alter::not_supported(rel.kind)));
            }
            check_may_lock(&view, user, &rel, locking.mode)?;
            self.lock_one(&rel, &mut locking)?;
            if rel.kind == RelKind::View {
                self.lock_below_view(&view, user, &rel, &mut locking)?;
            } else if !item.only {
                self.lock_children(&view, rel.oid, &mut locking)?;
            }
        }
        Ok("LOCK TABLE")
    }

    fn lock_one(&self, rel: &RelationDesc, locking: &mut Locking) -> Result<()> {
        locking.done.push(rel.oid);
        if !locking.nowait {
            return self.lock_relation(rel.oid, locking.mode);
        }
        let db = if rel.shared { Oid::INVALID } else { self.core.state.oid };
        let tag = txn::LockTag::Relation { db, rel: rel.oid };
        let mode = txn::LockMode::ALL.iter().find(|m| **m as u8 == locking.mode);
        let Some(mode) = mode else { return Ok(()) };
        if !self.core.txn()?.try_lock(tag, *mode)?.is_held() {
            bail!(LOCK_NOT_AVAILABLE, "could not obtain lock on relation \"{}\"", rel.name);
        }
        Ok(())
    }

    /// Who may lock a table may lock its descendants.
    fn lock_children(&self, view: &CatalogView, table: Oid, locking: &mut Locking) -> Result<()> {
        for child in view.children(table)? {
            if !locking.done.contains(&child) {
                self.lock_one(&*view.relation(child)?, locking)?;
                self.lock_children(view, child, locking)?;
            }
        }
        Ok(())
    }

    /// The view's owner needs the rights on what the view reads.
    fn lock_below_view(
        &self,
        view: &CatalogView,
        user: Oid,
        rel: &RelationDesc,
        locking: &mut Locking,
    ) -> Result<()> {
        let invoker = rel.option("security_invoker").is_some_and(|v| v == "true" || v == "on");
        let user = if invoker { user } else { rel.owner };
        let mut below = Vec::new();
        for rule in &rel.rules {
            let own = ObjectAddress::new(oids::PG_REWRITE, rule.oid);
            for d in depend::dependencies_of(&*self.core.store, own)? {
                let it = d.referenced;
                if it.class == oids::PG_CLASS && it.object != rel.oid && !below.contains(&it.object)
                {
                    below.push(it.object);
                }
            }
        }
        for oid in below {
            let inner = view.relation(oid)?;
            let lockable =
                matches!(inner.kind, RelKind::Table | RelKind::Partitioned | RelKind::View);
            if !lockable || locking.done.contains(&oid) {
                continue;
            }
            check_may_lock(view, user, &inner, locking.mode)?;
            self.lock_one(&inner, locking)?;
            if inner.kind == RelKind::View {
                self.lock_below_view(view, user, &inner, locking)?;
            } else {
                self.lock_children(view, oid, locking)?;
            }
        }
        Ok(())
    }
}

/// Any right to change rows, or to maintain the table, is one to lock it; one to read or to
/// insert is one to do that without hindrance.
fn check_may_lock(view: &CatalogView, user: Oid, rel: &RelationDesc, mode: u8) -> Result<()> {
    let mut enough = catalog::privilege::bits(b"mwdD");
    if mode == 1 {
        enough |= catalog::acl::bit(b'r');
    }
    if mode <= 3 {
        enough |= catalog::acl::bit(b'a');
    }
    if relation_rights(rel).of(view, user, enough)? != 0 {
        return Ok(());
    }
    Err(crate::ddl::grant::permission_denied(relation_noun(rel.kind), &rel.name))
}
