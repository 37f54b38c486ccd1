//! What the catalogs and the transaction say: ages, files and relations, versions of collations.

use super::SysSession;
use super::args::Args;
use base::{Error, Oid, Result, bail, err};
use catalog::{RelKind, oids};
use types::Datum;
use types::record::{Record, RecordColumn};

/// The least id of a transaction that is not one of the special ones.
const FIRST_NORMAL_XID: u32 = 3;
/// `pg_default`
const DEFAULT_TABLESPACE: Oid = Oid(1663);

pub(super) fn call(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    Some(match name {
        "age" => return xid_age(s, args),
        "mxid_age" => args.oid(0).map(|id| match id.0 {
            0 => Datum::I32(i32::MAX),
            // None was ever made: the next one is the first.
            n => Datum::I32(1i32.wrapping_sub(n as i32)),
        }),
        "pg_filenode_relation" => relation_of_file(s, args),
        "pg_get_replica_identity_index" => replica_identity(s, args),
        "pg_collation_actual_version" => collation_version(s, args),
        "pg_database_collation_actual_version" => database_version(s, args),
        "pg_isolation_test_session_is_blocked" => is_blocked(s, args),
        "pg_get_wal_summarizer_state" => Ok(summarizer_state()),
        "pg_import_system_collations" => import_collations(s, args),
        "pg_nextoid" => next_oid(s, args),
        "fmgr_internal_validator" => internal_validator(s, args),
        "fmgr_c_validator" => {
            checked_function(s, args, 2247).and_then(|_| Err(Error::unsupported("functions in C")))
        }
        "gist_translate_cmptype_common" => args.int(0).map(|n| Datum::I16(strategy_of(n))),
        _ => return None,
    })
}

fn xid_age(s: &dyn SysSession, args: &Args) -> Option<Result<Datum>> {
    // The functions of this name for times are elsewhere.
    if args.types.first() != Some(&types::oid::XID) {
        return None;
    }
    Some((|| {
        let xid = args.oid(0)?.0;
        if xid < FIRST_NORMAL_XID {
            return Ok(Datum::I32(i32::MAX));
        }
        let now = match s.xid(false)? {
            Some(own) => own,
            None => s.running_xids()?.1,
        };
        Ok(Datum::I32((now as u32).wrapping_sub(xid) as i32))
    })())
}

fn relation_of_file(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let (mut tablespace, file) = (args.oid(0)?, args.oid(1)?);
    if tablespace == DEFAULT_TABLESPACE {
        tablespace = Oid::INVALID;
    }
    for row in s.table_rows(oids::PG_CLASS)? {
        let Some(rel) = s.view().find_relation(row.oid("oid")?)? else { continue };
        let same_place = row.oid("reltablespace")? == tablespace;
        if rel.kind.has_storage() && rel.relfile.number == file.0 && same_place {
            return Ok(Datum::U32(rel.oid.0));
        }
    }
    Ok(Datum::Null)
}

fn replica_identity(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let oid = args.oid(0)?;
    let Some(rel) = s.view().find_relation(oid)? else {
        bail!(INTERNAL_ERROR, "could not open relation with OID {oid}");
    };
    let closed = match rel.kind {
        RelKind::Index | RelKind::PartitionedIndex => "indexes",
        RelKind::Composite => "composite types",
        _ => "",
    };
    if !closed.is_empty() {
        return Err(err!(WRONG_OBJECT_TYPE, "cannot open relation \"{}\"", rel.name)
            .detail(format!("This operation is not supported for {closed}.")));
    }
    if rel.oid < Oid::FIRST_NORMAL {
        return Ok(Datum::Null);
    }
    let found = rel.indexes.iter().find(|i| match rel.replica_identity {
        b'd' => i.is_primary && i.is_immediate,
        b'i' => i.is_replica_identity,
        _ => false,
    });
    Ok(found.map_or(Datum::Null, |i| Datum::U32(i.oid.0)))
}

/// The version of what a locale provider has for a locale now.
fn version_of(s: &dyn SysSession, provider: u8, locale: Option<&str>) -> Result<Datum> {
    Ok(match provider {
        b'b' => Datum::text("1"),
        b'i' => {
            // Collations that came with the cluster have the versions of today.
            let mut version = None;
            for row in s.table_rows(oids::PG_COLLATION)? {
                if row.oid("oid")? < Oid::FIRST_NORMAL && row.char("collprovider")? == b'i' {
                    let same = row.opt_text("colllocale")?.as_deref() == locale;
                    if same || version.is_none() {
                        version = row.opt_text("collversion")?;
                    }
                    if same {
                        break;
                    }
                }
            }
            super::args::opt_text(version.map(|v| v.to_string()))
        }
        _ => Datum::Null,
    })
}

/// No summaries of the log are made.
fn summarizer_state() -> Datum {
    let types = [types::oid::INT8, types::oid::PG_LSN, types::oid::PG_LSN, types::oid::INT4];
    let values = [Datum::I64(0), Datum::I64(0), Datum::I64(0), Datum::Null];
    let columns = types.into_iter().zip(values);
    let columns = columns.map(|(type_oid, value)| RecordColumn { type_oid, value });
    Record::anonymous(columns.collect()).encode()
}

fn collation_version(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let oid = args.oid(0)?;
    for row in s.table_rows(oids::PG_COLLATION)? {
        if row.oid("oid")? != oid {
            continue;
        }
        return match row.char("collprovider")? {
            b'd' => database_row_version(s, s.env().database()),
            provider => version_of(s, provider, row.opt_text("colllocale")?.as_deref()),
        };
    }
    bail!(UNDEFINED_OBJECT, "collation with OID {oid} does not exist")
}

fn database_version(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    database_row_version(s, args.oid(0)?)
}

fn database_row_version(s: &dyn SysSession, oid: Oid) -> Result<Datum> {
    for row in s.table_rows(oids::PG_DATABASE)? {
        if row.oid("oid")? == oid {
            let locale = row.opt_text("datlocale")?;
            return version_of(s, row.char("datlocprovider")?, locale.as_deref());
        }
    }
    bail!(UNDEFINED_OBJECT, "database with OID {oid} does not exist")
}

fn is_blocked(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let blockers = s.blocking(args.int(0)? as i32);
    let array = types::array::ArrayRef::parse(args.values[1].as_bytes())?;
    let elem = types::array::ElemType::builtin(types::oid::INT4);
    let by = array.values(&elem)?;
    let found = by.iter().any(|pid| blockers.iter().any(|b| *pid == Datum::I32(*b)));
    Ok(Datum::Bool(found))
}

/// No locales of the operating system are used, so that there are none to import.
fn import_collations(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    require_superuser(s, "must be superuser to import system collations")?;
    let schema = args.oid(0)?;
    let exists =
        s.table_rows(oids::PG_NAMESPACE)?.iter().any(|r| r.oid("oid").ok() == Some(schema));
    if !exists {
        bail!(UNDEFINED_SCHEMA, "schema with OID {schema} does not exist");
    }
    Ok(Datum::I32(0))
}

fn require_superuser(s: &dyn SysSession, text: &str) -> Result<()> {
    let user = s.env().current_user();
    match user == oids::SUPERUSER || s.view().find_role(user)?.is_some_and(|r| r.superuser) {
        true => Ok(()),
        false => Err(err!(INSUFFICIENT_PRIVILEGE, "{text}")),
    }
}

fn next_oid(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    require_superuser(s, "must be superuser to call pg_nextoid()")?;
    let table = s.view().relation(args.oid(0)?)?;
    let column = args.text(1)?;
    let index = s.view().relation(args.oid(2)?)?;
    if table.oid >= Oid::FIRST_NORMAL || !matches!(table.kind, catalog::RelKind::Table) {
        bail!(INVALID_PARAMETER_VALUE, "pg_nextoid() can only be used on system catalogs");
    }
    let about = index.index.as_ref().filter(|i| i.table == table.oid);
    let Some(about) = about else {
        bail!(
            INVALID_PARAMETER_VALUE,
            "index \"{}\" does not belong to table \"{}\"",
            index.name,
            table.name
        );
    };
    let Some(number) = table.column_number(column) else {
        bail!(
            UNDEFINED_COLUMN,
            "column \"{column}\" of relation \"{}\" does not exist",
            table.name
        );
    };
    if table.tuple.attrs[number as usize - 1].type_oid != types::oid::OID {
        bail!(INVALID_PARAMETER_VALUE, "column \"{column}\" is not of type oid");
    }
    if about.n_keys != 1 || about.columns.first() != Some(&number) {
        bail!(
            INVALID_PARAMETER_VALUE,
            "index \"{}\" is not the index for column \"{column}\"",
            index.name
        );
    }
    s.new_oid(table.oid).map(|oid| Datum::U32(oid.0))
}

/// The function that a language's validator is called for.
fn checked_function(
    s: &dyn SysSession,
    args: &Args,
    validator: u32,
) -> Result<std::sync::Arc<catalog::ProcDesc>> {
    let oid = args.oid(0)?;
    let Some(f) = s.view().find_proc(oid)? else {
        bail!(UNDEFINED_FUNCTION, "function with OID {oid} does not exist");
    };
    for row in s.table_rows(oids::PG_LANGUAGE)? {
        if row.oid("oid")? == f.language && row.oid("lanvalidator")?.0 != validator {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "language validation function {validator} called for language {} instead of {}",
                f.language,
                row.oid("lanvalidator")?
            );
        }
    }
    Ok(f)
}

fn internal_validator(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let f = checked_function(s, args, 2246)?;
    let known = functions::builtin::procs().iter().any(|p| p.prosrc == &*f.source);
    if !known {
        bail!(UNDEFINED_FUNCTION, "there is no built-in function named \"{}\"", f.source);
    }
    Ok(Datum::text(""))
}

/// The strategy that GiST's operator classes give a comparison, 0 if none.
fn strategy_of(comparison: i64) -> i16 {
    match comparison {
        1 => 20,
        2 => 21,
        3 => 18,
        4 => 23,
        5 => 22,
        7 => 3,
        8 => 8,
        _ => 0,
    }
}
