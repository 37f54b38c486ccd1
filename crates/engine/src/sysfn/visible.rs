//! Names of objects: visibility, `format_type`, `to_reg*`, owners.

use super::SysSession;
use super::args::Args;
use crate::describe::format_type;
use base::{Oid, Result};
use catalog::{CatalogView, oids};
use types::Datum;

pub(super) fn call(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    if let Some(what) = name.strip_suffix("_is_visible") {
        let oid = match args.oid(0) {
            Ok(oid) => oid,
            Err(e) => return Some(Err(e)),
        };
        let found = is_visible(s, what.strip_prefix("pg_")?, oid);
        return Some(found.map(|v| v.map_or(Datum::Null, Datum::Bool)));
    }
    Some(match name {
        "format_type" => type_text(s, args),
        "pg_get_userbyid" => user_name(s, args),
        "pg_my_temp_schema" => Ok(Datum::U32(s.temp_schema().unwrap_or_default().0)),
        "pg_is_other_temp_schema" => other_temp(s, args),
        "pg_basetype" => base_type(s.view(), args),
        _ => return None,
    })
}

/// Whether a name alone means the object; `None` if there is no such object.
fn is_visible(s: &dyn SysSession, what: &str, oid: Oid) -> Result<Option<bool>> {
    let v = s.view();
    Ok(match what {
        "table" => match v.find_relation(oid)? {
            Some(r) => Some(v.relation_is_visible(&r)?),
            None => None,
        },
        "type" => match v.find_type(oid)? {
            Some(t) => Some(v.type_is_visible(&t)?),
            None => None,
        },
        "function" => match v.find_proc(oid)? {
            Some(p) => Some(v.proc_is_visible(&p)?),
            None => None,
        },
        "operator" => match v.find_operator(oid)? {
            Some(o) => {
                let found = v.operator_exact(None, &o.name, o.left, o.right)?;
                Some(found.is_some_and(|f| f.oid == oid))
            }
            None => None,
        },
        "opclass" => match v.find_opclass(oid)? {
            Some(c) => Some(v.opclass_named(c.am, None, &c.name)?.is_some_and(|f| f.oid == oid)),
            None => None,
        },
        "opfamily" => v.find_opfamily(oid)?.map(|f| v.search_path().contains(&f.namespace)),
        "collation" => match v.find_collation(oid)? {
            Some(c) => Some(v.collation_named(None, &c.name)?.is_some_and(|f| f.oid == oid)),
            None => None,
        },
        _ => by_table(s, what, oid)?,
    })
}

/// The same for objects that have no descriptors.
fn by_table(s: &dyn SysSession, what: &str, oid: Oid) -> Result<Option<bool>> {
    let (table, name, schema) = match what {
        "conversion" => (oids::PG_CONVERSION, "conname", "connamespace"),
        "ts_parser" => (Oid(3601), "prsname", "prsnamespace"),
        "ts_dict" => (Oid(3600), "dictname", "dictnamespace"),
        "ts_template" => (Oid(3764), "tmplname", "tmplnamespace"),
        "ts_config" => (Oid(3602), "cfgname", "cfgnamespace"),
        "statistics_obj" => (oids::PG_STATISTIC_EXT, "stxname", "stxnamespace"),
        _ => return Ok(None),
    };
    let rows = s.table_rows(table)?;
    let mut own = None;
    for row in &rows {
        if row.oid("oid")? == oid {
            own = Some((row.text(name)?, row.oid(schema)?));
        }
    }
    let Some((own_name, own_schema)) = own else { return Ok(None) };
    for place in s.view().search_path() {
        if *place == own_schema {
            return Ok(Some(true));
        }
        for row in &rows {
            if row.oid(schema)? == *place && row.text(name)? == own_name {
                return Ok(Some(false));
            }
        }
    }
    Ok(Some(false))
}

fn type_text(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    if args.is_null(0) {
        return Ok(Datum::Null);
    }
    let typmod = if args.is_null(1) { -1 } else { args.int(1)? as i32 };
    let ty = args.oid(0)?;
    // Without any modifier given, a bare character means its default length.
    if args.is_null(1) && ty == oids::BPCHAR {
        return Ok(Datum::text("character"));
    }
    Ok(Datum::string(format_type(s.view(), ty, typmod)))
}

fn user_name(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let oid = args.oid(0)?;
    Ok(Datum::string(match s.view().find_role(oid)? {
        Some(role) => role.name.to_string(),
        None => format!("unknown (OID={oid})"),
    }))
}

fn other_temp(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let oid = args.oid(0)?;
    if s.temp_schema() == Some(oid) {
        return Ok(Datum::Bool(false));
    }
    let name = s.view().find_namespace(oid)?;
    Ok(Datum::Bool(name.is_some_and(|n| n.name.starts_with("pg_temp_"))))
}

fn base_type(v: &CatalogView, args: &Args) -> Result<Datum> {
    let Some(mut t) = v.find_type(args.oid(0)?)? else { return Ok(Datum::Null) };
    while t.kind == b'd' {
        t = v.type_(t.base_type)?;
    }
    Ok(Datum::U32(t.oid.0))
}
