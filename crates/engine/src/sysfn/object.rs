//! Comments, owned sequences, partitions, updatability, identities of objects.

use super::SysSession;
use super::args::{Args, opt_text};
use super::definition::relation_text;

use base::{Oid, Result, bail};
use catalog::{RelKind, oids};
use types::Datum;

pub(super) fn call(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    Some(match name {
        "obj_description" => description(s, args),
        "shobj_description" => shared_description(s, args),
        "col_description" => column_description(s, args),
        "pg_get_serial_sequence" => serial_sequence(s, args),
        "pg_relation_is_publishable" => publishable(s, args),
        "pg_relation_is_updatable" => updatable(s, args),
        "pg_column_is_updatable" => column_updatable(s, args),
        "pg_partition_root" => partition_root(s, args),
        "pg_index_column_has_property" => index_property(s, args),
        "pg_index_has_property" | "pg_indexam_has_property" => Ok(Datum::Null),
        "pg_sequence_last_value" => return None,
        "pg_describe_object" => describe(s, args),
        _ => return None,
    })
}

/// Comments on an object: by its OID, class (0 is any) and column.
fn comment(s: &dyn SysSession, oid: Oid, class: Option<Oid>, column: i32) -> Result<Datum> {
    // The index is on objoid, classoid, objsubid.
    const PG_DESCRIPTION_INDEX: Oid = Oid(2675);
    for row in s.index_rows(PG_DESCRIPTION_INDEX, &[Datum::U32(oid.0)])? {
        let right = match class {
            Some(c) => row.oid("classoid")? == c,
            None => true,
        };
        if right && row.i32("objsubid")? == column {
            return Ok(opt_text(row.opt_text("description")?.map(|t| t.to_string())));
        }
    }
    Ok(Datum::Null)
}

fn class_of(s: &dyn SysSession, name: &str) -> Result<Option<Oid>> {
    s.view().relation_oid_in(oids::PG_CATALOG, name)
}

fn description(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    if args.len() < 2 {
        return comment(s, args.oid(0)?, None, 0);
    }
    match class_of(s, args.text(1)?)? {
        Some(class) => comment(s, args.oid(0)?, Some(class), 0),
        None => Ok(Datum::Null),
    }
}

fn column_description(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    comment(s, args.oid(0)?, Some(oids::PG_CLASS), args.int(1)? as i32)
}

fn shared_description(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let Some(class) = class_of(s, args.text(1)?)? else { return Ok(Datum::Null) };
    let oid = args.oid(0)?;
    for row in s.table_rows(oids::PG_SHDESCRIPTION)? {
        if row.oid("objoid")? == oid && row.oid("classoid")? == class {
            return Ok(opt_text(row.opt_text("description")?.map(|t| t.to_string())));
        }
    }
    Ok(Datum::Null)
}

fn serial_sequence(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let oid = s.env().catalog().types().reg_in(oids::REGCLASS, args.text(0)?)?;
    let rel = s.view().relation(oid)?;
    let column = args.text(1)?;
    let Some(number) = rel.column_number(column) else {
        bail!(UNDEFINED_COLUMN, "column \"{column}\" of relation \"{}\" does not exist", rel.name);
    };
    // The index of pg_depend on refclassid, refobjid, refobjsubid.
    const PG_DEPEND_REFERENCE: Oid = Oid(2674);
    let key = [Datum::U32(oids::PG_CLASS.0), Datum::U32(oid.0), Datum::I32(i32::from(number))];
    for row in s.index_rows(PG_DEPEND_REFERENCE, &key)? {
        let owned = matches!(row.char("deptype")?, b'a' | b'i');
        if !owned || row.oid("classid")? != oids::PG_CLASS || row.i32("objsubid")? != 0 {
            continue;
        }
        if let Some(sequence) = s.view().find_relation(row.oid("objid")?)?
            && sequence.kind == RelKind::Sequence
        {
            return Ok(Datum::string(relation_text(s, &sequence, true)));
        }
    }
    Ok(Datum::Null)
}

fn publishable(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let Some(rel) = s.view().find_relation(args.oid(0)?)? else { return Ok(Datum::Null) };
    let right = matches!(rel.kind, RelKind::Table | RelKind::Partitioned)
        && rel.persistence == catalog::Persistence::Permanent
        && rel.oid.0 >= 16384;
    Ok(Datum::Bool(right))
}

/// Bits: 4 update, 8 insert, 16 delete.
fn events(s: &dyn SysSession, oid: Oid) -> Result<i32> {
    let Some(rel) = s.view().find_relation(oid)? else { return Ok(0) };
    Ok(match rel.kind {
        RelKind::Table | RelKind::Partitioned => 4 | 8 | 16,
        RelKind::View => match rel.view_query() {
            Some(text) if text.starts_with('[') => {
                let queries: Vec<ir::Query> = crate::cook::from_text(text)?;
                view_events(s, queries.first())?
            }
            _ => 0,
        },
        _ => 0,
    })
}

/// What can be done through a view: no more than with what it is over.
fn view_events(s: &dyn SysSession, query: Option<&ir::Query>) -> Result<i32> {
    let Some(query) = query else { return Ok(0) };
    if analyze::query_reason(query, false).is_some() {
        return Ok(0);
    }
    let own = if analyze::query_reason(query, true).is_some() { 16 } else { 28 };
    let below = query.rtable.iter().find_map(|r| match r.kind {
        ir::RteKind::Relation { relid, .. } if r.in_from => Some(relid),
        _ => None,
    });
    match below {
        Some(below) => Ok(own & events(s, below)?),
        None => Ok(0),
    }
}

fn updatable(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    Ok(Datum::I32(events(s, args.oid(0)?)?))
}

fn column_updatable(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let column = args.int(1)?;
    Ok(Datum::Bool(column > 0 && events(s, args.oid(0)?)? & 20 == 20))
}

fn partition_root(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let Some(mut rel) = s.view().find_relation(args.oid(0)?)? else { return Ok(Datum::Null) };
    if !rel.is_partition && rel.partition_key.is_none() {
        return Ok(Datum::Null);
    }
    while rel.is_partition {
        let Some(parent) = rel.parents.first() else { break };
        rel = s.view().relation(*parent)?;
    }
    Ok(Datum::U32(rel.oid.0))
}

fn index_property(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let rel = s.view().find_relation(args.oid(0)?)?;
    let Some(index) = rel.and_then(|r| r.index.clone()) else { return Ok(Datum::Null) };
    let column = args.int(1)? as usize;
    if column == 0 || column > index.columns.len() {
        return Ok(Datum::Null);
    }
    let key = column <= usize::from(index.n_keys);
    let options = index.options.get(column - 1).copied().unwrap_or(0);
    let ordered = key && index.am == oids::BTREE_AM;
    Ok(match args.text(2)? {
        "asc" => Datum::Bool(ordered && options & 1 == 0),
        "desc" => Datum::Bool(ordered && options & 1 != 0),
        "nulls_first" => Datum::Bool(ordered && options & 2 != 0),
        "nulls_last" => Datum::Bool(ordered && options & 2 == 0),
        "orderable" | "search_array" | "search_nulls" | "returnable" => Datum::Bool(ordered),
        "distance_orderable" => Datum::Bool(false),
        _ => Datum::Null,
    })
}

fn describe(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let (class, oid, column) = (args.oid(0)?, args.oid(1)?, args.int(2)?);
    let address = catalog::depend::ObjectAddress { class, object: oid, sub: column as i32 };
    Ok(opt_text(s.describe_object(address)?))
}
