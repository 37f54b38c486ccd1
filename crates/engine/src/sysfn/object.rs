//! Comments, owned sequences, partitions, updatability, identities of objects.

use super::SysSession;
use super::args::{Args, opt_text};
use super::definition::relation_text;

use base::{Oid, Result, bail};
use catalog::depend::ObjectAddress;
use catalog::{RelKind, RelationDesc, oids};
use types::Datum;
use types::record::{Record, RecordColumn};

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
        "pg_sequence_last_value" => return None,
        "pg_describe_object" => describe(s, args),
        "pg_identify_object" => identify(s, args),
        "pg_identify_object_as_address" => identify_as_address(s, args),
        "pg_get_object_address" => object_address(s, args),
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
    let oid = s.env().catalog().types().relation_in(args.text(0)?)?;
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
        RelKind::View => instead_rules(&rel) | view_events(s, s.view_query(&rel)?.as_ref())?,
        _ => 0,
    })
}

/// What unconditional rules do instead.
fn instead_rules(rel: &RelationDesc) -> i32 {
    let bit = |event: u8| match event {
        b'2' => 4,
        b'3' => 8,
        b'4' => 16,
        _ => 0,
    };
    let rules = rel.rules.iter().filter(|r| r.is_instead && r.qual.is_none());
    rules.fold(0, |all, r| all | bit(r.event))
}

/// The relation that an updatable view is over.
fn below(query: &ir::Query) -> Option<Oid> {
    query.rtable.iter().find_map(|r| match r.kind {
        ir::RteKind::Relation { relid, .. } if r.in_from => Some(relid),
        _ => None,
    })
}

/// What can be done through a view: no more than with what it is over.
fn view_events(s: &dyn SysSession, query: Option<&ir::Query>) -> Result<i32> {
    let Some(query) = query else { return Ok(0) };
    if analyze::query_reason(query, false).is_some() {
        return Ok(0);
    }
    let own = if analyze::query_reason(query, true).is_some() { 16 } else { 28 };
    below(query).map_or(Ok(0), |below| Ok(own & events(s, below)?))
}

fn updatable(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    Ok(Datum::I32(events(s, args.oid(0)?)?))
}

fn column_updatable(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let column = args.int(1)?;
    // Sets of columns count from the first system column.
    if column > i64::from(i16::MAX) - 7 {
        bail!(INTERNAL_ERROR, "negative bitmapset member not allowed");
    }
    Ok(Datum::Bool(column_takes_values(s, args.oid(0)?, column)?))
}

/// True if rows can be updated and deleted, and the column gets new values that way.
fn column_takes_values(s: &dyn SysSession, oid: Oid, column: i64) -> Result<bool> {
    base::stack::check()?;
    if column <= 0 || events(s, oid)? & 20 != 20 {
        return Ok(false);
    }
    let rel = s.view().relation(oid)?;
    if rel.kind != RelKind::View || instead_rules(&rel) & 20 == 20 {
        return Ok(true);
    }
    let Some(query) = s.view_query(&rel)? else { return Ok(false) };
    match (below(&query), analyze::base_column(&query, column as usize)) {
        (Some(below), Some(n)) => column_takes_values(s, below, i64::from(n)),
        _ => Ok(false),
    }
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

fn address(args: &Args) -> Result<ObjectAddress> {
    Ok(ObjectAddress { class: args.oid(0)?, object: args.oid(1)?, sub: args.int(2)? as i32 })
}

fn describe(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let address = address(args)?;
    if !address.class.is_valid() && !address.object.is_valid() {
        return Ok(Datum::Null);
    }
    Ok(opt_text(s.describe_object(address)?))
}

/// One row as a value.
fn record(columns: Vec<(Oid, Datum)>) -> Datum {
    let columns = columns.into_iter();
    let columns = columns.map(|(type_oid, value)| RecordColumn { type_oid, value });
    Record::anonymous(columns.collect()).encode()
}

fn identify(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let (kind, found) = s.identify_object(address(args)?)?;
    let found = match found {
        Some(i) => [i.schema, i.name, Some(i.text)],
        None => [None, None, None],
    };
    let mut columns = vec![(oids::TEXT, Datum::string(kind))];
    columns.extend(found.map(|text| (oids::TEXT, opt_text(text))));
    Ok(record(columns))
}

fn identify_as_address(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let (kind, found) = s.identify_object(address(args)?)?;
    let texts = |list: Vec<String>| catalog::vector::from_texts(oids::TEXT, &list);
    let lists = match found {
        Some(i) => [texts(i.names), texts(i.args)],
        None => [Datum::Null, Datum::Null],
    };
    let mut columns = vec![(oids::TEXT, Datum::string(kind))];
    columns.extend(lists.map(|list| (Oid(1009), list)));
    Ok(record(columns))
}

/// The elements of a `text[]`.
fn elements(value: &Datum) -> Result<Vec<Option<String>>> {
    let text = |v: Datum| match v {
        Datum::Null => None,
        v => Some(v.as_str().to_string()),
    };
    Ok(catalog::vector::to_any(value)?.into_iter().map(text).collect())
}

fn object_address(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let (names, arguments) = (elements(&args.values[1])?, elements(&args.values[2])?);
    let a = s.object_address(args.text(0)?, &names, &arguments)?;
    Ok(record(vec![
        (oids::OID, Datum::U32(a.class.0)),
        (oids::OID, Datum::U32(a.object.0)),
        (oids::INT4, Datum::I32(a.sub)),
    ]))
}
