//! SET CONSTRAINTS.

use crate::Session;
use base::{Error, Oid, Result, bail};
use catalog::{RowStore, oids};
use parser::ast::{RelName, SetConstraintsStmt};

impl Session {
    /// SET CONSTRAINTS; what becomes immediate is checked now.
    pub(crate) fn set_constraints(&mut self, stmt: &SetConstraintsStmt) -> Result<&'static str> {
        if !self.in_block() {
            self.core.notice(Error::with_severity(
                base::Severity::Warning,
                base::SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "SET CONSTRAINTS can only be used in transaction blocks",
            ));
        }
        let mut named = Vec::new();
        for name in &stmt.constraints {
            named.extend(self.deferrable_named(name)?);
        }
        let some = (!stmt.constraints.is_empty()).then_some(&named[..]);
        let due = self.core.foreign_keys.set_modes(some, stmt.deferred);
        self.enforce_all(due)?;
        Ok("SET CONSTRAINTS")
    }

    fn deferrable_named(&self, name: &RelName) -> Result<Vec<Oid>> {
        let view = self.core.view()?;
        let schema = match &name.schema {
            Some(schema) => Some(view.require_namespace(schema)?.oid),
            None => None,
        };
        let mut found = Vec::new();
        let mut fixed = false;
        for row in self.core.store.table_scan(oids::PG_CONSTRAINT)? {
            let namespace = row.oid("connamespace")?;
            let visible = match schema {
                Some(oid) => oid == namespace,
                None => view.search_path().contains(&namespace),
            };
            if !visible || *row.text("conname")? != *name.name {
                continue;
            }
            match row.bool("condeferrable")? {
                true => found.push(row.oid("oid")?),
                false => fixed = true,
            }
        }
        if found.is_empty() && fixed {
            bail!(WRONG_OBJECT_TYPE, "constraint \"{}\" is not deferrable", name.name);
        }
        if found.is_empty() {
            bail!(UNDEFINED_OBJECT, "constraint \"{}\" does not exist", name.name);
        }
        Ok(found)
    }
}
