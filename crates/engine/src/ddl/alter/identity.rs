//! ADD, SET and DROP IDENTITY.

use super::Alter;
use crate::ddl::Ddl;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::RelationDesc;
use catalog::depend::{self, DependKind, ObjectAddress};
use parser::ast::SeqOption;
use std::sync::Arc;

impl Ddl<'_> {
    /// The sequence of an identity column.
    pub fn identity_sequence(&self, table: Oid, number: i16) -> Result<Oid> {
        let rel = self.view.relation(table)?;
        rel.identity_sequence(number).ok_or_else(|| err!(INTERNAL_ERROR, "no owned sequence found"))
    }
}

impl Alter<'_, '_> {
    pub(super) fn add_identity(
        &self,
        rel: &Arc<RelationDesc>,
        column: &str,
        always: bool,
        options: &[SeqOption],
        recurse: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        let n = self.column(rel, column)?;
        if rel.is_partition {
            bail!(INVALID_TABLE_DEFINITION, "cannot add identity to a column of a partition");
        }
        let attr = &rel.tuple.attrs[n as usize - 1];
        crate::ddl::sequence::check_identity_type(attr.type_oid)?;
        self.not_only(
            rel,
            recurse,
            "cannot add identity to a column of only the partitioned table",
        )?;
        let of = format!("column \"{column}\" of relation \"{}\"", rel.name);
        if !attr.not_null {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "{of} must be declared NOT NULL before identity can be added"
            );
        }
        let not_null = rel.constraints.iter().find(|c| c.kind == b'n' && c.columns == [n]);
        if let Some(c) = not_null.filter(|c| !c.validated) {
            return Err(crate::ddl::inherit::incompatible(&c.name, &rel.name));
        }
        if attr.identity != 0 {
            bail!(OBJECT_NOT_IN_PREREQUISITE_STATE, "{of} is already an identity column");
        }
        if rel.default_of(n).is_some() {
            bail!(OBJECT_NOT_IN_PREREQUISITE_STATE, "{of} already has a default value");
        }
        let sequence = ddl.create_owned_sequence(
            &rel.name,
            column,
            attr.type_oid,
            rel.namespace,
            rel.persistence,
            options,
        )?;
        if rel.owner != ddl.user() {
            ddl.set_owner(ObjectAddress::relation(sequence), rel.owner)?;
        }
        for table in self.tree_of_partitions(rel)? {
            let table = ddl.view.relation(table)?;
            let Some(m) = table.column_number(column) else { continue };
            let mut row = ddl.column_row(table.oid, m)?;
            row.set_char("attidentity", if always { b'a' } else { b'd' })?;
            ddl.rows.update(row)?;
        }
        let own = ObjectAddress::relation(sequence);
        depend::record(ddl.rows, own, ObjectAddress::column(rel.oid, n), DependKind::Internal)
    }

    /// Fails with `text` if ONLY keeps a change of an identity from the partitions, which share it.
    fn not_only(&self, rel: &RelationDesc, recurse: bool, text: &str) -> Result<()> {
        if rel.partition_key.is_none() || recurse {
            return Ok(());
        }
        let e = Error::new(SqlState::INVALID_TABLE_DEFINITION, text.to_string());
        Err(e.hint("Do not specify the ONLY keyword."))
    }

    /// The table, and its partitions, which share its identities.
    fn tree_of_partitions(&self, rel: &RelationDesc) -> Result<Vec<Oid>> {
        match rel.partition_key {
            Some(_) => self.ddl.tree(rel.oid),
            None => Ok(vec![rel.oid]),
        }
    }

    pub(super) fn set_identity(
        &self,
        rel: &Arc<RelationDesc>,
        column: &str,
        always: Option<bool>,
        options: &[SeqOption],
        recurse: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        let n = self.column(rel, column)?;
        if rel.is_partition {
            bail!(INVALID_TABLE_DEFINITION, "cannot change identity column of a partition");
        }
        self.not_only(rel, recurse, "cannot change identity column of only the partitioned table")?;
        if rel.tuple.attrs[n as usize - 1].identity == 0 {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "column \"{column}\" of relation \"{}\" is not an identity column",
                rel.name
            );
        }
        if let Some(always) = always {
            for table in self.tree_of_partitions(rel)? {
                let table = ddl.view.relation(table)?;
                let Some(m) = table.column_number(column) else { continue };
                let mut row = ddl.column_row(table.oid, m)?;
                row.set_char("attidentity", if always { b'a' } else { b'd' })?;
                ddl.rows.update(row)?;
            }
        }
        if !options.is_empty() {
            ddl.change_sequence(ddl.identity_sequence(rel.oid, n)?, options)?;
        }
        Ok(())
    }

    pub(super) fn drop_identity(
        &self,
        rel: &Arc<RelationDesc>,
        column: &str,
        missing_ok: bool,
        recurse: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        let n = self.column(rel, column)?;
        if rel.is_partition {
            bail!(INVALID_TABLE_DEFINITION, "cannot drop identity from a column of a partition");
        }
        let only = "cannot drop identity from a column of only the partitioned table";
        self.not_only(rel, recurse, only)?;
        if rel.tuple.attrs[n as usize - 1].identity == 0 {
            let text = format!(
                "column \"{column}\" of relation \"{}\" is not an identity column",
                rel.name
            );
            if missing_ok {
                ddl.skip_notice(format!("{text}, skipping"));
                return Ok(());
            }
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, text));
        }
        let sequence = ddl.identity_sequence(rel.oid, n)?;
        for table in self.tree_of_partitions(rel)? {
            let table = ddl.view.relation(table)?;
            let Some(m) = table.column_number(column) else { continue };
            let mut row = ddl.column_row(table.oid, m)?;
            row.set_char("attidentity", 0)?;
            ddl.rows.update(row)?;
        }
        let own = ObjectAddress::relation(sequence);
        depend::forget_one(ddl.rows, own, ObjectAddress::column(rel.oid, n))?;
        ddl.drop_quietly(&[own])
    }
}
