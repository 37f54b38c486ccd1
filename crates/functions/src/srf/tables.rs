//! Functions whose rows are made at once.

use super::{RowSource, Rows, SrfFn};
use crate::call::FnCtx;
use crate::scalar::array::split_text;
use crate::scalar::{json_populate, json_read, jsonpath, regexp};
use base::{Result, err};
use types::acl::AclItem;
use types::array::ElemType;
use types::datetime::{TimeZone, abbreviations, zone_names};
use types::json::{Json, decode, encode};
use types::{Datum, oid};

pub(super) fn find(symbol: &str) -> Option<SrfFn> {
    Some(match symbol {
        "text_to_table" | "text_to_table_null" => {
            |cx, args| Ok(Rows::single(split_text(cx.call.collation, args)?.unwrap_or_default()))
        }
        "regexp_matches" | "regexp_matches_no_flags" => regexp::matches_rows,
        "regexp_split_to_table" | "regexp_split_to_table_no_flags" => regexp::split_rows,
        "json_array_elements" => |_, a| json_read::elements(a[0].as_str(), false),
        "json_array_elements_text" => |_, a| json_read::elements(a[0].as_str(), true),
        "json_object_keys" => |_, a| json_read::keys(a[0].as_str()),
        "json_each" => |_, a| json_read::each(a[0].as_str(), false),
        "json_each_text" => |_, a| json_read::each(a[0].as_str(), true),
        "jsonb_array_elements" => |_, a| jsonb_elements(a, false),
        "jsonb_array_elements_text" => |_, a| jsonb_elements(a, true),
        "jsonb_object_keys" => jsonb_keys,
        "jsonb_each" => |_, a| jsonb_each(a, false),
        "jsonb_each_text" => |_, a| jsonb_each(a, true),
        "json_populate_recordset" => |cx, a| json_populate::set(cx, a, true, false),
        "jsonb_populate_recordset" => |cx, a| json_populate::set(cx, a, true, true),
        "json_to_recordset" => |cx, a| json_populate::set(cx, a, false, false),
        "jsonb_to_recordset" => |cx, a| json_populate::set(cx, a, false, true),
        "multirange_unnest" => crate::scalar::ranges::unnest,
        "pg_snapshot_xip" => crate::scalar::snapshot::running,
        "tsvector_unnest" => crate::scalar::ts::unnest,
        "jsonb_path_query" => |cx, a| jsonpath::query_rows(cx, a, false),
        "jsonb_path_query_tz" => |cx, a| jsonpath::query_rows(cx, a, true),
        "aclexplode" => aclexplode,
        "pg_stats_ext_mcvlist_items" => mcv_items,
        "pg_options_to_table" => options,
        "pg_timezone_abbrevs_abbrevs" => zone_abbreviations,
        "pg_timezone_abbrevs_zone" => |_, _| Ok(Rows::new(Vec::new())),
        "pg_timezone_names" => zones,
        "ts_token_type_byid" | "ts_token_type_byname" => token_types,
        "ts_parse_byid" | "ts_parse_byname" => crate::scalar::ts::parse_rows,
        "ts_stat1" | "ts_stat2" => crate::scalar::ts_show::stat,
        "6183" | "6184" => crate::scalar::ts_show::debug,
        _ => return None,
    })
}

fn text_or_null(value: &Json) -> Datum {
    match value {
        Json::Null => Datum::Null,
        Json::String(s) => Datum::text(s),
        other => {
            let mut out = Vec::new();
            types::json::write(other, &mut out);
            Datum::bytes(out)
        }
    }
}

fn shown(value: &Json, text: bool) -> Datum {
    if text { text_or_null(value) } else { Datum::bytes(encode(value)) }
}

fn jsonb_elements(args: &[Datum], text: bool) -> Result<Box<dyn RowSource>> {
    match decode(args[0].as_bytes()) {
        Json::Array(items) => Ok(Rows::single(items.iter().map(|i| shown(i, text)).collect())),
        Json::Object(_) => {
            Err(err!(INVALID_PARAMETER_VALUE, "cannot extract elements from an object"))
        }
        _ => Err(err!(INVALID_PARAMETER_VALUE, "cannot extract elements from a scalar")),
    }
}

fn jsonb_keys(_: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    match decode(args[0].as_bytes()) {
        Json::Object(members) => {
            Ok(Rows::single(members.iter().map(|m| Datum::text(&m.0)).collect()))
        }
        Json::Array(_) => {
            Err(err!(INVALID_PARAMETER_VALUE, "cannot call jsonb_object_keys on an array"))
        }
        _ => Err(err!(INVALID_PARAMETER_VALUE, "cannot call jsonb_object_keys on a scalar")),
    }
}

fn jsonb_each(args: &[Datum], text: bool) -> Result<Box<dyn RowSource>> {
    match decode(args[0].as_bytes()) {
        Json::Object(members) => Ok(Rows::new(
            members.iter().map(|(k, v)| vec![Datum::text(k), shown(v, text)]).collect(),
        )),
        _ => {
            let name = if text { "jsonb_each_text" } else { "jsonb_each" };
            Err(err!(INVALID_PARAMETER_VALUE, "cannot call {name} on a non-object"))
        }
    }
}

/// Names of the privileges, by bit.
pub(crate) const PRIVILEGES: [&str; 15] = [
    "INSERT",
    "SELECT",
    "UPDATE",
    "DELETE",
    "TRUNCATE",
    "REFERENCES",
    "TRIGGER",
    "EXECUTE",
    "USAGE",
    "CREATE",
    "TEMPORARY",
    "CONNECT",
    "SET",
    "ALTER SYSTEM",
    "MAINTAIN",
];

fn aclexplode(_: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    let array = crate::scalar::identity::acl_list(&args[0])?;
    let mut rows = Vec::new();
    for item in array.values(&ElemType::builtin(oid::ACLITEM))? {
        let item = AclItem::decode(item.as_bytes());
        for (bit, name) in PRIVILEGES.iter().enumerate() {
            if item.privileges >> bit & 1 != 0 {
                rows.push(vec![
                    Datum::oid(item.grantor),
                    Datum::oid(item.grantee),
                    Datum::text(name),
                    Datum::Bool(item.grant_options >> bit & 1 != 0),
                ]);
            }
        }
    }
    Ok(Rows::new(rows))
}

/// The combinations of a list of the commonest, as text.
fn mcv_items(cx: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    let list = types::ext_stats::decode_mcv(args[0].as_bytes())?;
    let mut rows = Vec::new();
    for (i, item) in list.items.iter().enumerate() {
        let mut texts = Vec::new();
        for (value, ty) in item.values.iter().zip(&list.types) {
            texts.push(if value.is_null() {
                Datum::Null
            } else {
                let mut out = Vec::new();
                types::io::output(*ty, value, &cx.env.io(), &mut out)?;
                Datum::bytes(out)
            });
        }
        let nulls: Vec<Datum> = item.values.iter().map(|v| Datum::Bool(v.is_null())).collect();
        rows.push(vec![
            Datum::I32(i as i32),
            types::array::make_vector(&ElemType::builtin(oid::TEXT), &texts)?,
            types::array::make_vector(&ElemType::builtin(oid::BOOL), &nulls)?,
            Datum::F64(item.frequency),
            Datum::F64(item.base_frequency),
        ]);
    }
    Ok(Rows::new(rows))
}

fn options(_: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    if types::array::ArrayRef::parse(args[0].as_bytes())?.has_nulls() {
        base::bail!(NULL_VALUE_NOT_ALLOWED, "null array element not allowed in this context");
    }
    let rows = types::array::texts_of(&args[0])
        .iter()
        .map(|option| match option.split_once('=') {
            Some((name, value)) => vec![Datum::text(name), Datum::text(value)],
            None => vec![Datum::text(option), Datum::Null],
        })
        .collect();
    Ok(Rows::new(rows))
}

fn interval_of(seconds: i32) -> Datum {
    let interval = types::datetime::Interval::new(0, 0, seconds as i64 * 1_000_000);
    Datum::bytes(interval.encode().to_vec())
}

fn zone_abbreviations(_: &mut FnCtx, _: &[Datum]) -> Result<Box<dyn RowSource>> {
    let row = |a: &types::datetime::AbbrevZone| {
        vec![Datum::text(a.abbrev), interval_of(a.offset), Datum::Bool(a.dst)]
    };
    Ok(Rows::new(abbreviations().iter().map(row).collect()))
}

fn zones(cx: &mut FnCtx, _: &[Datum]) -> Result<Box<dyn RowSource>> {
    let now = cx.env.transaction_timestamp();
    let rows = zone_names()
        .filter_map(|name| {
            let zone = TimeZone::by_name(name)?;
            let info = zone.at(now);
            Some(vec![
                Datum::text(name),
                Datum::text(info.abbrev),
                interval_of(info.offset),
                Datum::Bool(info.dst),
            ])
        })
        .collect();
    Ok(Rows::new(rows))
}

/// The kinds of tokens that the default text search parser knows: name, description.
pub(crate) const TOKEN_TYPES: [(&str, &str); 23] = [
    ("asciiword", "Word, all ASCII"),
    ("word", "Word, all letters"),
    ("numword", "Word, letters and digits"),
    ("email", "Email address"),
    ("url", "URL"),
    ("host", "Host"),
    ("sfloat", "Scientific notation"),
    ("version", "Version number"),
    ("hword_numpart", "Hyphenated word part, letters and digits"),
    ("hword_part", "Hyphenated word part, all letters"),
    ("hword_asciipart", "Hyphenated word part, all ASCII"),
    ("blank", "Space symbols"),
    ("tag", "XML tag"),
    ("protocol", "Protocol head"),
    ("numhword", "Hyphenated word, letters and digits"),
    ("asciihword", "Hyphenated word, all ASCII"),
    ("hword", "Hyphenated word, all letters"),
    ("url_path", "URL path"),
    ("file", "File or path name"),
    ("float", "Decimal notation"),
    ("int", "Signed integer"),
    ("uint", "Unsigned integer"),
    ("entity", "XML entity"),
];

fn token_types(cx: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    crate::scalar::ts::check_parser(cx, &args[0])?;
    let row = |(i, (name, what)): (usize, &(&str, &str))| {
        vec![Datum::I32(i as i32 + 1), Datum::text(name), Datum::text(what)]
    };
    Ok(Rows::new(TOKEN_TYPES.iter().enumerate().map(row).collect()))
}
