//! Privileges on tables, views and sequences, and on their columns.

use super::column::ColumnBits;
use super::{Grant, Target, permission_denied, privilege_name};
use crate::ddl::Ddl;
use base::{Error, Oid, Result, Severity, SqlState, bail};
use catalog::acl::{AclItem, from_items};
use catalog::depend::ObjectAddress;
use catalog::privilege::Grantable;
use catalog::{RelKind, RelationDesc};

impl Ddl<'_> {
    pub(super) fn grant_on_relation(&self, grant: &Grant<'_>, relation: Oid) -> Result<()> {
        let rel = self.view.relation(relation)?;
        match rel.kind {
            RelKind::Index | RelKind::PartitionedIndex => {
                bail!(WRONG_OBJECT_TYPE, "\"{}\" is an index", rel.name)
            }
            RelKind::Composite => {
                bail!(WRONG_OBJECT_TYPE, "\"{}\" is a composite type", rel.name)
            }
            _ => {}
        }
        if grant.kind == Grantable::Sequence && rel.kind != RelKind::Sequence {
            bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a sequence", rel.name);
        }
        let kind = match rel.kind {
            RelKind::Sequence => Grantable::Sequence,
            _ => Grantable::Table,
        };
        let privileges = self.relation_privileges(grant, &rel, kind)?;
        let mut columns = ColumnBits::default();
        // What is taken from the whole table is taken from its columns.
        let of_columns = privileges & Grantable::Column.all();
        if !grant.stmt.is_grant && of_columns != 0 && kind == Grantable::Table {
            columns.add_all(&rel, of_columns, true);
        }
        let row = self.class_row(relation)?;
        let old = row.acl("relacl")?.unwrap_or_else(|| kind.default_acl(rel.owner));
        let own = ObjectAddress::relation(relation);
        if privileges != 0 {
            let noun = if kind == Grantable::Sequence { "sequence" } else { "table" };
            let target = Target {
                kind,
                owner: rel.owner,
                acl: &old,
                rights: &old,
                shown: format!("\"{}\"", rel.name),
                denied: permission_denied(noun, &rel.name),
            };
            let new = grant.apply(self, target, privileges)?;
            let mut row = row;
            row.set("relacl", from_items(&new)?)?;
            self.rows.update(row)?;
            self.change_acl_dependency(own, rel.owner, &new)?;
        }
        for p in &grant.columns {
            columns.add(self, &rel, p)?;
        }
        for (attnum, bits) in columns.into_iter() {
            self.grant_on_column(grant, &rel, attnum, bits, &old)?;
        }
        Ok(())
    }

    /// The privileges on the whole relation that are meant.
    fn relation_privileges(
        &self,
        grant: &Grant<'_>,
        rel: &RelationDesc,
        kind: Grantable,
    ) -> Result<u32> {
        let Some(bits) = grant.privileges else { return Ok(kind.all()) };
        if grant.kind != Grantable::Table {
            return Ok(bits);
        }
        let foreign = bits & !kind.all();
        if foreign == 0 {
            return Ok(bits);
        }
        if kind == Grantable::Sequence {
            // GRANT ON TABLE has always worked for sequences.
            let text = format!(
                "sequence \"{}\" only supports USAGE, SELECT, and UPDATE privileges",
                rel.name
            );
            let code = SqlState::INVALID_GRANT_OPERATION;
            self.notice(Error::with_severity(Severity::Warning, code, text));
            return Ok(bits & kind.all());
        }
        bail!(
            INVALID_GRANT_OPERATION,
            "invalid privilege type {} for table",
            privilege_name(foreign)
        )
    }

    fn grant_on_column(
        &self,
        grant: &Grant<'_>,
        rel: &RelationDesc,
        attnum: i16,
        bits: u32,
        of_relation: &[AclItem],
    ) -> Result<()> {
        let mut row = self.column_row(rel.oid, attnum)?;
        let stored = row.acl("attacl")?;
        let old = stored.clone().unwrap_or_default();
        let together = [of_relation, &old].concat();
        let name = row.text("attname")?;
        let shown = format!("column \"{name}\" of relation \"{}\"", rel.name);
        let denied = base::err!(INSUFFICIENT_PRIVILEGE, "permission denied for {shown}");
        let target = Target {
            kind: Grantable::Column,
            owner: rel.owner,
            acl: &old,
            rights: &together,
            shown,
            denied,
        };
        let new = grant.apply(self, target, bits)?;
        if stored.is_none() && new.is_empty() {
            return Ok(());
        }
        let value = match new.is_empty() {
            true => types::Datum::Null,
            false => from_items(&new)?,
        };
        row.set("attacl", value)?;
        self.rows.update(row)?;
        self.change_acl_dependency(ObjectAddress::column(rel.oid, attnum), rel.owner, &new)
    }
}
