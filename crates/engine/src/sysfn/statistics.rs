//! `pg_get_statisticsobjdef` and its kin.

use super::SysSession;
use super::args::Args;
use super::definition::relation_text;
use super::text::{over, style};
use crate::ddl::name::quote;
use base::Result;
use catalog::{RelationDesc, SysRow, oids, vector};
use ir::{CoercionForm, Expr};
use std::sync::Arc;
use types::Datum;

pub(super) fn call(s: &dyn SysSession, name: &str, args: &Args) -> Result<Datum> {
    let oid = args.oid(0)?;
    let rows = s.table_rows(oids::PG_STATISTIC_EXT)?;
    let mut found = None;
    for row in rows {
        if row.oid("oid")? == oid {
            found = Some(row);
        }
    }
    let Some(row) = found else { return Ok(Datum::Null) };
    let Some(rel) = s.view().find_relation(row.oid("stxrelid")?)? else { return Ok(Datum::Null) };
    match name {
        "pg_get_statisticsobjdef_columns" => Ok(Datum::string(columns(s, &row, &rel)?)),
        "pg_get_statisticsobjdef_expressions" => {
            let all = exprs(&row)?;
            if all.is_empty() {
                return Ok(Datum::Null);
            }
            let texts: Result<Vec<String>> =
                all.iter().map(|e| over(s, e, Some(&rel), style(false))).collect();
            Ok(vector::from_texts(oids::TEXT, &texts?))
        }
        _ => definition(s, &row, &rel).map(Datum::string),
    }
}

fn exprs(row: &SysRow) -> Result<Vec<Expr>> {
    match row.opt_text("stxexprs")? {
        Some(text) => crate::cook::from_text(&text),
        None => Ok(Vec::new()),
    }
}

fn columns(s: &dyn SysSession, row: &SysRow, rel: &Arc<RelationDesc>) -> Result<String> {
    let mut parts = Vec::new();
    for n in row.i16s("stxkeys")? {
        if let Some(attr) = rel.tuple.attrs.get((n as usize).wrapping_sub(1)) {
            parts.push(quote(&attr.name));
        }
    }
    for e in exprs(row)? {
        let text = over(s, &e, Some(rel), style(true))?;
        let call = matches!(&e, Expr::Func(f) if f.form == CoercionForm::ExplicitCall);
        parts.push(if call { text } else { format!("({text})") });
    }
    Ok(parts.join(", "))
}

fn definition(s: &dyn SysSession, row: &SysRow, rel: &Arc<RelationDesc>) -> Result<String> {
    let kinds: Vec<u8> = vector::to_any(row.get("stxkind")?)?
        .iter()
        .map(|d| if let Datum::Char(c) = d { *c } else { 0 })
        .collect();
    let count = row.i16s("stxkeys")?.len() + exprs(row)?.len();
    let named: Vec<&str> = [(b'd', "ndistinct"), (b'f', "dependencies"), (b'm', "mcv")]
        .into_iter()
        .filter(|(k, _)| kinds.contains(k))
        .map(|(_, name)| name)
        .collect();
    let shown = match named.len() < 3 && count > 1 {
        true => format!(" ({})", named.join(", ")),
        false => String::new(),
    };
    let schema = s.view().namespace(row.oid("stxnamespace")?)?;
    Ok(format!(
        "CREATE STATISTICS {}.{}{shown} ON {} FROM {}",
        quote(&schema.name),
        quote(&row.text("stxname")?),
        columns(s, row, rel)?,
        relation_text(s, rel, false)
    ))
}
