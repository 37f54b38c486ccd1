//! SET CONSTRAINTS.

use crate::Session;
use base::{Error, Oid, Result, bail};
use catalog::{RowStore, oids};
use parser::ast::{RelName, SetConstraintsStmt};
use std::collections::HashMap;

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
            named.extend(self.constraints_named(name, stmt.deferred)?);
        }
        self.add_partitions_of(&mut named)?;
        let some = (!stmt.constraints.is_empty()).then_some(&named[..]);
        let due = self.core.foreign_keys.set_modes(some, stmt.deferred);
        self.enforce_all(due)?;
        Ok("SET CONSTRAINTS")
    }

    /// The constraints of this name in the first schema that has any. Those that cannot be
    /// deferred are checked at once anyway.
    fn constraints_named(&self, name: &RelName, deferred: bool) -> Result<Vec<Oid>> {
        let view = self.core.view()?;
        let schemas = match &name.schema {
            Some(schema) => vec![view.require_namespace(schema)?.oid],
            None => view.search_path().to_vec(),
        };
        let rows = self.core.store.table_scan(oids::PG_CONSTRAINT)?;
        for schema in schemas {
            let mut found = Vec::new();
            let mut any = false;
            for row in &rows {
                if row.oid("connamespace")? != schema || *row.text("conname")? != *name.name {
                    continue;
                }
                any = true;
                match row.bool("condeferrable")? {
                    true => found.push(row.oid("oid")?),
                    false if deferred => {
                        bail!(WRONG_OBJECT_TYPE, "constraint \"{}\" is not deferrable", name.name)
                    }
                    false => {}
                }
            }
            if any {
                return Ok(found);
            }
        }
        bail!(UNDEFINED_OBJECT, "constraint \"{}\" does not exist", name.name)
    }

    /// The constraints of partitions go with those above them.
    fn add_partitions_of(&self, named: &mut Vec<Oid>) -> Result<()> {
        if named.is_empty() {
            return Ok(());
        }
        let mut below: HashMap<Oid, Vec<Oid>> = HashMap::new();
        for row in self.core.store.table_scan(oids::PG_CONSTRAINT)? {
            let parent = row.oid("conparentid")?;
            if parent.is_valid() {
                below.entry(parent).or_default().push(row.oid("oid")?);
            }
        }
        let mut next = 0;
        while let Some(parent) = named.get(next) {
            named.extend(below.remove(parent).unwrap_or_default());
            next += 1;
        }
        Ok(())
    }
}
