//! `pg_db_role_setting`: settings that sessions of a database or of a role start with.

use super::set::setting_text;
use crate::Session;
use base::{Oid, Result};
use catalog::{RowStore, RowWriter, SysRow, indexes, oids, vector};
use parser::ast::{SetKind, SetStmt};
use types::Datum;

impl Session {
    /// ALTER DATABASE and ALTER ROLE with SET or RESET. Either OID may be 0: for all.
    pub(crate) fn store_setting(&self, database: Oid, role: Oid, set: &SetStmt) -> Result<()> {
        let (name, value) = match &set.kind {
            SetKind::Value(name, args) => (name.clone(), Some(setting_text(name, args)?)),
            SetKind::FromCurrent(name) => {
                let shown = self.core.settings.lock().show(name);
                let unknown = || {
                    base::err!(UNDEFINED_OBJECT, "unrecognized configuration parameter \"{name}\"")
                };
                (name.clone(), Some(shown.ok_or_else(unknown)?))
            }
            SetKind::Default(name) | SetKind::Reset(name) => (name.clone(), None),
            SetKind::ResetAll => {
                let superuser = self.core.is_superuser();
                let actor = crate::settings::Actor { superuser, at_start: false };
                return self.forget_settings(database, role, actor);
            }
            _ => return Err(base::Error::unsupported("this SET of a database or role")),
        };
        // The list's own spelling is what is stored.
        let known = base::settings::find(&name).map(|d| d.name.to_string());
        let name = known.unwrap_or(name);
        let actor = self.core.actor_of(&name, false)?;
        match &value {
            Some(text) => self.settings().set(&name, text, false, actor)?,
            // What is unknown now may have been stored when it was known.
            None if base::settings::find(&name).is_none() && !name.contains('.') => {}
            None => self.settings().may_reset(&name, actor)?,
        }
        self.change_stored(database, role, &mut |items| {
            let prefix = format!("{name}=");
            let at = items.iter().position(|i| i.starts_with(&prefix));
            match (at, &value) {
                (Some(at), Some(text)) => items[at] = format!("{prefix}{text}"),
                (None, Some(text)) => items.push(format!("{prefix}{text}")),
                (Some(at), None) => {
                    items.remove(at);
                }
                (None, None) => {}
            }
        })
    }

    fn forget_settings(
        &self,
        database: Oid,
        role: Oid,
        actor: crate::settings::Actor,
    ) -> Result<()> {
        let settings = self.settings();
        self.change_stored(database, role, &mut |items| {
            items.retain(|item| {
                let name = item.split('=').next().unwrap_or_default();
                settings.may_reset(name, actor).is_err()
            });
        })
    }

    fn change_stored(
        &self,
        database: Oid,
        role: Oid,
        change: &mut dyn FnMut(&mut Vec<String>),
    ) -> Result<()> {
        let store = &self.core.store;
        let key = [Datum::U32(database.0), Datum::U32(role.0)];
        let index = indexes::PG_DB_ROLE_SETTING_DATABASE;
        let found = store.index_scan(index, &key)?.into_iter().next();
        let mut items = match &found {
            Some(row) => row.texts("setconfig")?.unwrap_or_default(),
            None => Vec::new(),
        };
        change(&mut items);
        let stored = vector::from_texts(oids::TEXT, &items);
        match found {
            Some(row) if items.is_empty() => store.delete(&row),
            Some(mut row) => {
                row.set("setconfig", stored)?;
                store.update(row).map(|_| ())
            }
            None if items.is_empty() => Ok(()),
            None => {
                let mut row = SysRow::new(oids::PG_DB_ROLE_SETTING)?;
                row.set_oid("setdatabase", database)?
                    .set_oid("setrole", role)?
                    .set("setconfig", stored)?;
                store.insert(row).map(|_| ())
            }
        }
    }
}
