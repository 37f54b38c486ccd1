//! Sizes and files of relations and databases.

use super::SysSession;
use super::args::{Args, opt_text};
use base::{Oid, Result, bail, err};
use catalog::{RelKind, RelationDesc, oids};
use types::Datum;

pub(super) fn call(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    let of: fn(&dyn SysSession, &RelationDesc) -> Result<Option<i64>> = match name {
        "pg_relation_size" => return Some(fork_size(s, args)),
        "pg_table_size" => |s, r| table_size(s, r).map(Some),
        "pg_indexes_size" => |s, r| indexes_size(s, r).map(Some),
        "pg_total_relation_size" => |s, r| Ok(Some(table_size(s, r)? + indexes_size(s, r)?)),
        "pg_relation_filenode" => |_, r| Ok(r.kind.has_storage().then_some(file_number(r))),
        "pg_relation_filepath" => return Some(file_path(s, args)),
        "pg_database_size" => return Some(database_size(s, args)),
        "pg_tablespace_size" => return Some(tablespace_size(s, args)),
        "pg_tablespace_location" => return Some(location(s, args)),
        _ => return None,
    };
    Some((|| match s.view().find_relation(args.oid(0)?)? {
        Some(rel) => Ok(match of(s, &rel)? {
            Some(n) if name == "pg_relation_filenode" => Datum::U32(n as u32),
            Some(n) => Datum::I64(n),
            None => Datum::Null,
        }),
        None => Ok(Datum::Null),
    })())
}

fn file_number(rel: &RelationDesc) -> i64 {
    i64::from(rel.relfile.number)
}

fn fork_size(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let Some(rel) = s.view().find_relation(args.oid(0)?)? else { return Ok(Datum::Null) };
    let fork = match if args.len() > 1 { args.text(1)? } else { "main" } {
        "main" => 0,
        "fsm" => 1,
        "vm" => 2,
        "init" => 3,
        _ => {
            let e = err!(INVALID_PARAMETER_VALUE, "invalid fork name");
            let hint = "Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".";
            return Err(e.hint(hint));
        }
    };
    if !rel.kind.has_storage() {
        return Ok(Datum::I64(0));
    }
    Ok(Datum::I64(s.fork_bytes(&rel, fork)?))
}

fn all_forks(s: &dyn SysSession, rel: &RelationDesc) -> Result<i64> {
    if !rel.kind.has_storage() {
        return Ok(0);
    }
    (0..4).map(|fork| s.fork_bytes(rel, fork)).sum()
}

fn table_size(s: &dyn SysSession, rel: &RelationDesc) -> Result<i64> {
    let mut bytes = all_forks(s, rel)?;
    if rel.toast.is_valid() {
        let toast = s.view().relation(rel.toast)?;
        bytes += all_forks(s, &toast)? + indexes_size(s, &toast)?;
    }
    Ok(bytes)
}

fn indexes_size(s: &dyn SysSession, rel: &RelationDesc) -> Result<i64> {
    let mut bytes = 0;
    for index in &rel.indexes {
        let index = s.view().relation(index.oid)?;
        bytes += all_forks(s, &index)?;
    }
    Ok(bytes)
}

fn file_path(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let rel = s.view().find_relation(args.oid(0)?)?;
    let rel = rel.filter(|r| r.kind.has_storage() && r.kind != RelKind::View);
    Ok(opt_text(rel.map(|r| r.relfile.to_string())))
}

fn database_size(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let oid = if args.is_oid(0) {
        args.oid(0)?
    } else {
        let name = args.text(0)?;
        match s.view().database_named(name)? {
            Some(d) => d.oid,
            None => bail!(INVALID_CATALOG_NAME, "database \"{name}\" does not exist"),
        }
    };
    if s.view().find_database(oid)?.is_none() {
        return Ok(Datum::Null);
    }
    Ok(Datum::I64(s.directory_bytes(&format!("base/{oid}"))?))
}

fn tablespace_size(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let global: Oid = oids::PG_GLOBAL;
    let is_global = match args.is_oid(0) {
        true => args.oid(0)? == global,
        false => {
            let name = args.text(0)?;
            if !s.has_tablespace(name)? {
                bail!(UNDEFINED_OBJECT, "tablespace \"{name}\" does not exist");
            }
            name == "pg_global"
        }
    };
    Ok(Datum::I64(s.directory_bytes(if is_global { "global" } else { "base" })?))
}

/// Where a tablespace's folder is; nothing for those of the data directory.
fn location(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let oid = args.oid(0)?;
    if matches!(oid, oids::PG_DEFAULT | oids::PG_GLOBAL) {
        return Ok(Datum::text(""));
    }
    Ok(Datum::string(s.tablespace_location(oid)?))
}
