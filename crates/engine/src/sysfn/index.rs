//! `pg_get_indexdef`.

use super::args::Args;
use super::definition::relation_text;
use super::text::{over, stored, style};
use super::{SysSession, ViewNames};
use crate::ddl::name::quote;
use base::{Error, Oid, Result};
use catalog::{IndexDesc, RelKind, RelationDesc};
use ir::Expr;
use ir::deparse::{Names, Style, quote_literal};
use types::Datum;

/// `pg_get_indexdef(index [, column, pretty])`.
pub(super) fn call(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let Some(rel) = s.view().find_relation(args.oid(0)?)? else { return Ok(Datum::Null) };
    let Some(index) = &rel.index else { return Ok(Datum::Null) };
    let Some(table) = s.view().find_relation(index.table)? else { return Ok(Datum::Null) };
    let (column, pretty) = if args.len() > 1 { (args.int(1)?, args.bool(2)) } else { (0, false) };
    let style = style(pretty);
    let text = match column {
        0 => statement(s, &rel, index, &table, style, pretty)?,
        n => {
            let exprs = index_exprs(index)?;
            match usize::try_from(n).ok().filter(|n| *n <= index.columns.len()) {
                Some(n) => bare_column(s, index, &table, &exprs, n - 1, style)?.0,
                None => String::new(),
            }
        }
    };
    Ok(Datum::string(text))
}

/// The text of an index's column, counted from 1.
pub(crate) fn index_column(s: &dyn SysSession, index: Oid, column: i64) -> Result<String> {
    let rel = s.view().relation(index)?;
    let Some(desc) = &rel.index else { return Ok(String::new()) };
    let table = s.view().relation(desc.table)?;
    let exprs = index_exprs(desc)?;
    let at = column as usize - 1;
    Ok(bare_column(s, desc, &table, &exprs, at, style(false))?.0)
}

/// The key columns of an index, expressions with few parentheses.
pub(super) fn key_columns(
    s: &dyn SysSession,
    index: &IndexDesc,
    table: &RelationDesc,
) -> Result<String> {
    let exprs = index_exprs(index)?;
    let mut parts = Vec::new();
    for i in 0..usize::from(index.n_keys) {
        parts.push(bare_column(s, index, table, &exprs, i, style(true))?.0);
    }
    Ok(parts.join(", "))
}

/// The name of an access method.
pub(super) fn am_name(s: &dyn SysSession, am: Oid) -> Result<String> {
    let builtin = match am.0 {
        403 => "btree",
        405 => "hash",
        783 => "gist",
        2742 => "gin",
        3580 => "brin",
        4000 => "spgist",
        _ => "",
    };
    if !builtin.is_empty() {
        return Ok(builtin.into());
    }
    for row in s.table_rows(catalog::oids::PG_AM)? {
        if row.oid("oid")? == am {
            return Ok(row.text("amname")?.to_string());
        }
    }
    Ok(String::new())
}

fn index_exprs(index: &IndexDesc) -> Result<Vec<Expr>> {
    match &index.exprs {
        Some(text) => crate::cook::from_text(text),
        None => Ok(Vec::new()),
    }
}

/// A column of an index without its options, its type and collation.
fn bare_column(
    s: &dyn SysSession,
    index: &IndexDesc,
    table: &RelationDesc,
    exprs: &[Expr],
    i: usize,
    style: Style,
) -> Result<(String, Oid, Oid)> {
    match index.columns[i] {
        0 => {
            let nth = index.columns[..i].iter().filter(|c| **c == 0).count();
            let expr = exprs.get(nth).ok_or_else(|| Error::internal("too few expressions"))?;
            let text = over(s, expr, Some(table), style)?;
            let text = if ir::deparse::looks_like_call(expr) { text } else { format!("({text})") };
            Ok((text, expr.ty(), expr.collation()))
        }
        n => match table.tuple.attrs.get(n as usize - 1) {
            Some(a) => Ok((quote(&a.name), a.type_oid, a.collation)),
            None => Err(Error::internal("an index has a column its table has not")),
        },
    }
}

pub(super) fn collate_text(names: &ViewNames<'_>, collation: Oid) -> String {
    let name = names.collation(collation).map_or_else(|| collation.to_string(), |n| n.text());
    format!(" COLLATE {name}")
}

/// The operator class, unless it is the type's default one.
pub(super) fn opclass_text(
    s: &dyn SysSession,
    names: &ViewNames<'_>,
    class: Oid,
    ty: Oid,
) -> Result<String> {
    let Some(desc) = s.view().find_opclass(class)? else { return Ok(String::new()) };
    let usual = s.view().default_opclass(ty, desc.am)?;
    if usual.is_some_and(|u| u.oid == class) {
        return Ok(String::new());
    }
    Ok(names.opclass(class).map(|n| format!(" {}", n.text())).unwrap_or_default())
}

/// All columns, in parentheses, with what is INCLUDEd.
pub(super) fn column_list(
    s: &dyn SysSession,
    index: &IndexDesc,
    table: &RelationDesc,
    style: Style,
    operators: &[Oid],
) -> Result<String> {
    let exprs = index_exprs(index)?;
    let names = ViewNames::new(s.view(), s.env().io());
    let (mut keys, mut included) = (Vec::new(), Vec::new());
    for i in 0..index.columns.len() {
        let (mut text, ty, own) = bare_column(s, index, table, &exprs, i, style)?;
        if i >= usize::from(index.n_keys) {
            included.push(text);
            continue;
        }
        let collation = index.collations.get(i).copied().unwrap_or_default();
        if collation.is_valid() && collation != own {
            text.push_str(&collate_text(&names, collation));
        }
        let class = index.opclasses.get(i).copied().unwrap_or_default();
        text.push_str(&opclass_text(s, &names, class, ty)?);
        // Only ordered indexes have directions.
        if index.am == catalog::oids::BTREE_AM {
            text.push_str(match index.options.get(i).copied().unwrap_or(0) & 3 {
                1 => " DESC NULLS LAST",
                2 => " NULLS FIRST",
                3 => " DESC",
                _ => "",
            });
        }
        if let Some(op) = operators.get(i).and_then(|o| names.operator(*o)) {
            text.push_str(&format!(" WITH {}", op.operator()));
        }
        keys.push(text);
    }
    let mut out = format!("({})", keys.join(", "));
    if !included.is_empty() {
        out.push_str(&format!(" INCLUDE ({})", included.join(", ")));
    }
    Ok(out)
}

/// ` WITH (...)` of a relation's options.
pub(super) fn options_text(options: &[(String, String)]) -> String {
    if options.is_empty() {
        return String::new();
    }
    let plain = |v: &str| !v.is_empty() && quote(v) == v;
    let all: Vec<String> = options
        .iter()
        .map(|(n, v)| {
            let value = if plain(v) { v.clone() } else { quote_literal(v) };
            format!("{}={value}", quote(n))
        })
        .collect();
    format!(" WITH ({})", all.join(", "))
}

/// ` WHERE ...` of a partial index.
pub(super) fn predicate_text(
    s: &dyn SysSession,
    index: &IndexDesc,
    table: &RelationDesc,
    style: Style,
) -> Result<Option<String>> {
    match &index.predicate {
        Some(text) => Ok(Some(over(s, &stored(text)?, Some(table), style)?)),
        None => Ok(None),
    }
}

fn statement(
    s: &dyn SysSession,
    rel: &RelationDesc,
    index: &IndexDesc,
    table: &RelationDesc,
    style: Style,
    pretty: bool,
) -> Result<String> {
    let unique = if index.is_unique { "UNIQUE " } else { "" };
    let only = if rel.kind == RelKind::PartitionedIndex { "ONLY " } else { "" };
    let mut out = format!(
        "CREATE {unique}INDEX {} ON {only}{} USING {} {}",
        quote(&rel.name),
        relation_text(s, table, !pretty),
        am_name(s, index.am)?,
        column_list(s, index, table, style, &[])?
    );
    if index.nulls_not_distinct {
        out.push_str(" NULLS NOT DISTINCT");
    }
    out.push_str(&options_text(&index.rel_options));
    if let Some(text) = predicate_text(s, index, table, style)? {
        out.push_str(&format!(" WHERE {text}"));
    }
    Ok(out)
}
