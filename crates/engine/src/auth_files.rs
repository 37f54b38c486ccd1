//! `pg_hba_file_rules` and `pg_ident_file_mappings`: the files as they are now, read by the server
//! that knows their form; and who the client is outside of the database.

use crate::StatementEnv;
use base::{Oid, Result};
use functions::CallInfo;
use std::sync::Arc;
use types::Datum;

/// A line of `pg_hba.conf`.
#[derive(Clone, Debug, Default)]
pub struct HbaRule {
    /// Its number among those that can be used.
    pub number: Option<i32>,
    /// The file.
    pub file: String,
    /// The line.
    pub line: i32,
    /// `local`, `host`, ...
    pub kind: Option<String>,
    /// Databases.
    pub databases: Vec<String>,
    /// Roles.
    pub users: Vec<String>,
    /// Addresses.
    pub address: Option<String>,
    /// Their mask.
    pub netmask: Option<String>,
    /// The method.
    pub method: Option<String>,
    /// Its options.
    pub options: Vec<String>,
    /// Why it cannot be used.
    pub error: Option<String>,
}

/// A line of `pg_ident.conf`.
#[derive(Clone, Debug, Default)]
pub struct IdentMapping {
    /// Its number among those that can be used.
    pub number: Option<i32>,
    /// The file.
    pub file: String,
    /// The line.
    pub line: i32,
    /// The map.
    pub map: Option<String>,
    /// The name outside.
    pub system: Option<String>,
    /// The role.
    pub role: Option<String>,
    /// Why it cannot be used.
    pub error: Option<String>,
}

/// Who reads the files.
pub trait AuthFiles: Send + Sync {
    /// `pg_hba.conf`
    fn rules(&self) -> Result<Vec<HbaRule>>;
    /// `postgresql.conf`, what it includes, and `postgresql.auto.conf`.
    fn settings(&self) -> Result<crate::settings::Defaults>;
    /// `pg_ident.conf`
    fn mappings(&self) -> Result<Vec<IdentMapping>>;
}

fn number(n: Option<i32>) -> Datum {
    n.map_or(Datum::Null, Datum::I32)
}

fn text(t: &Option<String>) -> Datum {
    t.as_deref().map_or(Datum::Null, Datum::text)
}

fn list(all: &[String]) -> Datum {
    if all.is_empty() {
        return Datum::Null;
    }
    let elem = types::array::ElemType::builtin(Oid(25));
    let values: Vec<Datum> = all.iter().map(|t| Datum::text(t)).collect();
    types::array::make_vector(&elem, &values).unwrap_or(Datum::Null)
}

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, _: &[Datum]) -> Option<Result<Datum>> {
    let name = functions::builtin::proc(call.fn_oid)?.proname;
    (name == "system_user").then(|| Ok(text(&env.core.system_user)))
}

/// The rows of a set-returning one; `None` if it is not among them.
pub fn rows(
    env: &StatementEnv<'_>,
    call: &CallInfo,
    _: &[Datum],
) -> Option<Result<Vec<Vec<Datum>>>> {
    let files: Option<Arc<dyn AuthFiles>> = env.core.database.auth_files();
    match functions::builtin::proc(call.fn_oid)?.proname {
        "pg_hba_file_rules" => Some(files.map_or(Ok(Vec::new()), |f| Ok(rule_rows(f.rules()?)))),
        "pg_show_all_file_settings" => {
            Some(files.map_or(Ok(Vec::new()), |f| Ok(setting_rows(env, f.settings()?))))
        }
        "pg_ident_file_mappings" => {
            Some(files.map_or(Ok(Vec::new()), |f| Ok(mapping_rows(f.mappings()?))))
        }
        _ => None,
    }
}

fn setting_rows(env: &StatementEnv<'_>, mut new: crate::settings::Defaults) -> Vec<Vec<Datum>> {
    new.continue_from(&env.core.database.defaults());
    let text = |t: &str| if t.is_empty() { Datum::Null } else { Datum::text(t) };
    let row = |(i, e): (usize, &crate::settings::FileEntry)| {
        let pending = base::settings::find(&e.name).is_some_and(|d| new.is_pending(d.index));
        let error = match (&e.error, pending && e.applied) {
            (Some(e), _) => text(e),
            (None, true) => text("setting could not be applied"),
            (None, false) => Datum::Null,
        };
        vec![
            Datum::text(&e.file),
            Datum::I32(e.line as i32),
            Datum::I32(i as i32 + 1),
            text(&e.name),
            if e.near.is_some() { Datum::Null } else { Datum::text(&e.value) },
            Datum::Bool(e.applied && !pending),
            error,
        ]
    };
    new.entries().iter().enumerate().map(row).collect()
}

fn rule_rows(rules: Vec<HbaRule>) -> Vec<Vec<Datum>> {
    let row = |r: &HbaRule| {
        vec![
            number(r.number),
            Datum::text(&r.file),
            Datum::I32(r.line),
            text(&r.kind),
            list(&r.databases),
            list(&r.users),
            text(&r.address),
            text(&r.netmask),
            text(&r.method),
            list(&r.options),
            text(&r.error),
        ]
    };
    rules.iter().map(row).collect()
}

fn mapping_rows(mappings: Vec<IdentMapping>) -> Vec<Vec<Datum>> {
    let row = |m: &IdentMapping| {
        vec![
            number(m.number),
            Datum::text(&m.file),
            Datum::I32(m.line),
            text(&m.map),
            text(&m.system),
            text(&m.role),
            text(&m.error),
        ]
    };
    mappings.iter().map(row).collect()
}
