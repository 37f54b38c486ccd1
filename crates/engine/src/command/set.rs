//! SET, RESET, SHOW.

use crate::Session;
use crate::ddl::name::quote;
use crate::session::SessionCore;
use crate::settings::Actor;
use crate::sink::{ResultColumn, Sink};
use base::settings::{self, SettingDef, SettingValue};
use base::{Error, Oid, Result, bail, err};
use parser::ast::{
    Expr, ExprKind, IsolationLevel, Literal, SetKind, SetStmt, TransactionMode, TypeName,
};
use std::sync::Arc;
use types::Datum;

/// A SET argument as text.
fn argument(e: &Expr) -> Result<String> {
    Ok(match &e.kind {
        ExprKind::Literal(Literal::Integer(n)) => n.to_string(),
        ExprKind::Literal(Literal::Float(s) | Literal::String(s)) => s.clone(),
        ExprKind::Literal(Literal::Boolean(b)) => if *b { "on" } else { "off" }.to_string(),
        ExprKind::Column { parts, star: false } => parts.join("."),
        ExprKind::Cast { expr, type_name }
            if type_name.names.last().is_some_and(|n| n == "interval") =>
        {
            zone_interval(&argument(expr)?, type_name)?
        }
        ExprKind::Cast { expr, .. } => argument(expr)?,
        ExprKind::Op { op, left: None, right } if op.name == "-" => {
            format!("-{}", argument(right)?)
        }
        _ => return Err(Error::unsupported("an expression as a setting's value")),
    })
}

/// `INTERVAL '..' HOUR TO MINUTE` as the setting `TimeZone` takes it.
fn zone_interval(text: &str, type_name: &TypeName) -> Result<String> {
    const FULL_PRECISION: i64 = 0xffff;
    let typmod = match type_name.typmods.first().map(|e| &e.kind) {
        Some(ExprKind::Literal(Literal::Integer(fields))) => {
            i64::from(*fields) << 16 | FULL_PRECISION
        }
        _ => -1,
    };
    let style = types::io::IntervalStyle::Postgres;
    let value = types::datetime::decode_interval(text, typmod as i32, style)?;
    let mut shown = Vec::new();
    types::datetime::write_interval(&value, style, &mut shown);
    Ok(format!("INTERVAL '{}'", String::from_utf8_lossy(&shown)))
}

/// Settings whose values are lists of names, each quoted if need be.
fn is_list_of_names(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "search_path" | "temp_tablespaces" | "unix_socket_directories")
        || name.ends_with("preload_libraries")
}

/// The arguments of SET as one text.
pub fn setting_text(name: &str, args: &[Expr]) -> Result<String> {
    let names = is_list_of_names(name);
    let list = names
        || ["datestyle", "listen_addresses", "log_destination", "wal_consistency_checking"]
            .iter()
            .any(|list| name.eq_ignore_ascii_case(list));
    if args.len() > 1 && !list {
        bail!(INVALID_PARAMETER_VALUE, "SET {name} takes only one argument");
    }
    let mut texts = Vec::new();
    for a in args {
        let text = argument(a)?;
        texts.push(if names { quote(&text) } else { text });
    }
    Ok(texts.join(", "))
}

/// A SET clause of a function as `name=value`; only `name` for RESET, none for RESET ALL.
pub(crate) fn config_item(stmt: &SetStmt) -> Result<Option<String>> {
    Ok(match &stmt.kind {
        SetKind::Value(name, args) => Some(format!("{name}={}", setting_text(name, args)?)),
        SetKind::Default(name) | SetKind::Reset(name) => Some(name.clone()),
        SetKind::ResetAll => None,
        _ => return Err(Error::unsupported("this SET clause of a function")),
    })
}

impl Session {
    /// SET and RESET; gives the command tag.
    pub(crate) fn set_stmt(&mut self, stmt: &SetStmt) -> Result<&'static str> {
        match &stmt.kind {
            SetKind::Value(name, args) => {
                if stmt.local {
                    self.warn_outside_block("SET LOCAL");
                }
                let text = setting_text(name, args)?;
                self.change_setting(name, &text, stmt.local)?;
                Ok("SET")
            }
            SetKind::Default(name) | SetKind::Reset(name) => {
                match name.as_str() {
                    "role" => self.core.set_role("none", stmt.local)?,
                    "session_authorization" => self.core.reset_authorization(stmt.local)?,
                    _ => {
                        let actor = self.core.actor_of(name, false)?;
                        self.core.settings.lock().reset(name, stmt.local, actor)?;
                    }
                }
                Ok(if matches!(stmt.kind, SetKind::Reset(_)) { "RESET" } else { "SET" })
            }
            SetKind::ResetAll => {
                self.core.settings.lock().reset_all();
                Ok("RESET")
            }
            SetKind::Transaction(modes) => {
                self.warn_outside_block("SET TRANSACTION");
                self.set_modes(modes)?;
                Ok("SET")
            }
            SetKind::Characteristics(modes) => {
                self.set_characteristics(modes)?;
                Ok("SET")
            }
            SetKind::FromCurrent(name) => {
                let shown = self.core.settings.lock().show(name);
                let value = shown.ok_or_else(|| {
                    err!(UNDEFINED_OBJECT, "unrecognized configuration parameter \"{name}\"")
                })?;
                self.change_setting(name, &value, stmt.local)?;
                Ok("SET")
            }
            SetKind::Snapshot(name) => {
                self.warn_outside_block("SET TRANSACTION");
                self.set_snapshot(name)?;
                Ok("SET")
            }
        }
    }

    fn set_characteristics(&mut self, modes: &[TransactionMode]) -> Result<()> {
        let actor = Actor { superuser: self.core.is_superuser(), at_start: false };
        let on = |b: bool| if b { "on" } else { "off" };
        let mut s = self.core.settings.lock();
        for mode in modes {
            let (name, value) = match mode {
                TransactionMode::Isolation(l) => ("default_transaction_isolation", l.as_str()),
                TransactionMode::ReadOnly(b) => ("default_transaction_read_only", on(*b)),
                TransactionMode::Deferrable(b) => ("default_transaction_deferrable", on(*b)),
            };
            s.set(name, value, false, actor)?;
        }
        Ok(())
    }

    fn warn_outside_block(&self, what: &str) {
        if !self.in_block() {
            self.core.notice(Error::with_severity(
                base::Severity::Warning,
                base::SqlState::NO_ACTIVE_SQL_TRANSACTION,
                format!("{what} can only be used in transaction blocks"),
            ));
        }
    }

    /// Changes one setting, with what hangs on it.
    pub(crate) fn change_setting(&mut self, name: &str, value: &str, local: bool) -> Result<()> {
        match name.to_ascii_lowercase().as_str() {
            "transaction_read_only" => {
                let off = settings::require(name)?.parse(value)?;
                self.check_read_only(off.as_bool())?;
            }
            "transaction_isolation" => {
                let level = match value.to_ascii_lowercase().as_str() {
                    "read uncommitted" => IsolationLevel::ReadUncommitted,
                    "read committed" => IsolationLevel::ReadCommitted,
                    "repeatable read" => IsolationLevel::RepeatableRead,
                    "serializable" => IsolationLevel::Serializable,
                    _ => return settings::require(name)?.parse(value).map(|_| ()),
                };
                return self.set_modes(&[TransactionMode::Isolation(level)]);
            }
            _ => {}
        }
        self.core.change_setting(name, value, local)
    }
}

impl SessionCore {
    /// Changes a setting that has nothing to do with the transaction's modes, with what hangs on
    /// it.
    pub(crate) fn change_setting(&self, name: &str, value: &str, local: bool) -> Result<()> {
        let value = match crate::settings::shortened_name(name, value) {
            Some((short, notice)) => {
                self.notice(notice);
                short
            }
            None => value,
        };
        match name.to_ascii_lowercase().as_str() {
            "role" => return self.set_role(value, local),
            "session_authorization" => return self.set_authorization(value, local),
            _ => {}
        }
        let named = self.check_named(name, value)?;
        let value = named.as_deref().unwrap_or(value);
        let actor = self.actor_of(name, false)?;
        self.settings.lock().set(name, value, local, actor)
    }

    fn set_role(&self, name: &str, local: bool) -> Result<()> {
        let mut users = self.users();
        if name.eq_ignore_ascii_case("none") {
            users.current = users.session;
        } else {
            let role = named_role(&self.view()?, name)?;
            let view = self.view()?;
            if !catalog::privilege::can_set_role(&view, users.session, role.oid)? {
                bail!(INSUFFICIENT_PRIVILEGE, "permission denied to set role \"{name}\"");
            }
            users.current = role.oid;
        }
        self.note_users();
        self.set_users(users);
        let superuser = self.is_superuser();
        let mut s = self.settings.lock();
        s.set_internal("role", SettingValue::Text(Arc::from(name)), local);
        s.set_internal("is_superuser", SettingValue::Bool(superuser), local);
        drop(s);
        self.note_users();
        Ok(())
    }

    fn set_authorization(&self, name: &str, local: bool) -> Result<()> {
        let view = self.view()?;
        let role = named_role(&view, name)?;
        let mut users = self.users();
        let real = view.role(users.authenticated)?;
        if role.oid != real.oid && !real.superuser {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to set session authorization \"{name}\""
            );
        }
        users.session = role.oid;
        users.current = role.oid;
        self.note_users();
        self.set_users(users);
        let mut s = self.settings.lock();
        let text = SettingValue::Text(Arc::from(name));
        s.set_internal("session_authorization", text, local);
        s.set_internal("is_superuser", SettingValue::Bool(role.superuser), local);
        if s.str("role") != "none" {
            s.set_internal("role", SettingValue::Text(Arc::from("none")), local);
        }
        drop(s);
        self.note_users();
        Ok(())
    }

    pub(crate) fn reset_authorization(&self, local: bool) -> Result<()> {
        let name = self.view()?.role(self.users().authenticated)?.name.clone();
        self.set_authorization(&name, local)
    }
}

impl Session {
    /// SHOW.
    pub(crate) fn show_stmt(&mut self, name: &str, sink: &mut dyn Sink) -> Result<()> {
        let columns = show_columns(name);
        self.core.check_may_read(name)?;
        let reads_all = self.core.reads_all_settings()?;
        sink.row_description(&columns, &[])?;
        let s = self.core.settings.lock();
        if !name.eq_ignore_ascii_case("all") {
            let value = s.show(name).ok_or_else(|| {
                err!(UNDEFINED_OBJECT, "unrecognized configuration parameter \"{name}\"")
            })?;
            return sink.row(&[Datum::string(value)]);
        }
        let shown =
            |d: &&SettingDef| !d.hidden && (reads_all || !crate::settings::is_secret(d.name));
        for d in settings::all().iter().filter(shown) {
            let value = s.show(d.name).unwrap_or_default();
            let row = [Datum::text(d.name), Datum::string(value), Datum::text(d.description)];
            sink.row(&row)?;
        }
        for (name, value) in s.custom() {
            sink.row(&[Datum::string(name), Datum::string(value), Datum::Null])?;
        }
        Ok(())
    }
}

/// The role that a setting names: one that is not there is a wrong value.
fn named_role(view: &catalog::CatalogView, name: &str) -> Result<Arc<catalog::RoleDesc>> {
    view.role_named(name)?
        .ok_or_else(|| err!(INVALID_PARAMETER_VALUE, "role \"{name}\" does not exist"))
}

/// A text column of a command's result.
pub fn text_column(name: &str) -> ResultColumn {
    ResultColumn {
        name: name.to_string(),
        table: Oid::INVALID,
        attnum: 0,
        type_oid: types::oid::TEXT,
        type_len: -1,
        typmod: -1,
    }
}

/// The columns of SHOW.
pub fn show_columns(name: &str) -> Vec<ResultColumn> {
    if name.eq_ignore_ascii_case("all") {
        return ["name", "setting", "description"].map(text_column).to_vec();
    }
    vec![text_column(settings::find(name).map_or(name, |d| d.name))]
}
