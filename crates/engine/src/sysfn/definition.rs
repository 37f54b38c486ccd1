//! `pg_get_*def`: objects as the statements that make them.

use super::args::{Args, opt_text};
use super::text::{over, stored, style};
use super::{SysSession, ViewNames, constraint, index, partition};
use crate::ddl::name::quote;
use base::{Error, Oid, Result, err};
use catalog::{RelationDesc, RuleDesc, TriggerDesc};
use ir::Query;
use ir::deparse::Style;
use types::Datum;

pub(super) fn call(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    Some(match name {
        "pg_get_expr" => pg_get_expr(s, args),
        "pg_get_indexdef" => index::call(s, args),
        "pg_get_constraintdef" => constraint::call(s, args),
        "pg_get_viewdef" => view_definition(s, args),
        "pg_get_ruledef" => rule_definition(s, args),
        "pg_get_triggerdef" => trigger_definition(s, args),
        "pg_get_partkeydef" => partition_key(s, args),
        "pg_get_partition_constraintdef" => partition::call(s, args),
        "pg_get_statisticsobjdef"
        | "pg_get_statisticsobjdef_columns"
        | "pg_get_statisticsobjdef_expressions" => super::statistics::call(s, name, args),
        _ => return None,
    })
}

/// Text of a name in SQL, with its schema if it needs one.
pub(super) fn relation_text(s: &dyn SysSession, rel: &RelationDesc, always: bool) -> String {
    let mut names = ViewNames::new(s.view(), s.env().io());
    names.qualify = always;
    use ir::deparse::Names;
    names.relation(rel.oid).map_or_else(|| quote(&rel.name), |n| n.text())
}

fn pg_get_expr(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let text = args.text(0)?;
    let table = args.oid(1)?;
    let rel = if table.is_valid() { s.view().find_relation(table)? } else { None };
    if table.is_valid() && rel.is_none() {
        return Ok(Datum::Null);
    }
    if text.is_empty() {
        return Ok(Datum::text(""));
    }
    if text.starts_with("{\"text\"") {
        return Ok(Datum::string(catalog::partition::PartitionBound::parse(text)?.text));
    }
    // Bounds of partitions and built-in expressions are stored as their text.
    if !text.trim_start().starts_with(['{', '[', '"']) {
        return Ok(Datum::text(text));
    }
    if text.trim_start().starts_with('[') {
        let all: Vec<ir::Expr> = crate::cook::from_text(text)?;
        let parts: Result<Vec<String>> =
            all.iter().map(|e| over(s, e, rel.as_deref(), style(args.bool(2)))).collect();
        return Ok(Datum::string(parts?.join(", ")));
    }
    let expr = stored(text)?;
    Ok(Datum::string(over(s, &expr, rel.as_deref(), style(args.bool(2)))?))
}

/// `pg_get_viewdef(view [, pretty | wrap])`.
fn view_definition(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let view = if args.is_oid(0) {
        s.view().find_relation(args.oid(0)?)?
    } else {
        let oid = s.env().catalog().types().relation_in(args.text(0)?)?;
        s.view().find_relation(oid)?
    };
    let Some(view) = view else { return Ok(Datum::Null) };
    let (style, wrap) = match args.values.get(1) {
        Some(Datum::I32(wrap)) => (Style::PRETTY, *wrap),
        Some(Datum::Bool(true)) => (Style::PRETTY, 0),
        _ => (Style::LINES, 0),
    };
    match view_text(s, &view, style, wrap)? {
        Some(text) => Ok(Datum::string(format!("{text};"))),
        None => Ok(Datum::Null),
    }
}

fn view_text(
    s: &dyn SysSession,
    view: &RelationDesc,
    style: Style,
    wrap: i32,
) -> Result<Option<String>> {
    let Some(action) = view.view_query() else { return Ok(None) };
    let query = match action.starts_with(['{', '[']) {
        true => queries_of(action)?.into_iter().next(),
        // Of the system's own views there is the text only.
        false => s.view_query(view)?,
    };
    let Some(query) = &query else { return Ok(None) };
    let names = ViewNames::new(s.view(), s.env().io());
    Ok(Some(ir::deparse::query(query, Some(&present_columns(view)), &names, style, wrap)?))
}

/// The names of a relation's columns.
fn present_columns(rel: &RelationDesc) -> Vec<String> {
    rel.tuple.attrs.iter().filter(|a| !a.dropped).map(|a| a.name.to_string()).collect()
}

/// A rule's stored queries: a list, or a single one.
fn queries_of(action: &str) -> Result<Vec<Query>> {
    if action.starts_with('[') {
        return crate::cook::from_text(action);
    }
    Ok(vec![crate::cook::from_text(action)?])
}

fn rule_definition(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let oid = args.oid(0)?;
    let rows = s.index_rows(catalog::indexes::PG_REWRITE_OID, &[Datum::U32(oid.0)])?;
    let Some(row) = rows.first() else { return Ok(Datum::Null) };
    let Some(rel) = s.view().find_relation(row.oid("ev_class")?)? else { return Ok(Datum::Null) };
    let Some(rule) = rel.rules.iter().find(|r| r.oid == oid) else { return Ok(Datum::Null) };
    Ok(Datum::string(rule_text(s, &rel, rule, args.bool(1))?))
}

fn rule_text(
    s: &dyn SysSession,
    rel: &RelationDesc,
    rule: &RuleDesc,
    pretty: bool,
) -> Result<String> {
    let event = match rule.event {
        b'1' => "SELECT",
        b'2' => "UPDATE",
        b'3' => "INSERT",
        _ => "DELETE",
    };
    let mut out = format!(
        "CREATE RULE {} AS\n    ON {event} TO {}",
        quote(&rule.name),
        relation_text(s, rel, !pretty)
    );
    if let Some(qual) = rule.qual.as_ref().filter(|q| q.starts_with('{')) {
        let names = ViewNames::new(s.view(), s.env().io());
        let columns = super::text::relation_of(rel).columns;
        let of = ["old", "new"]
            .map(|n| ir::deparse::Relation { name: n.into(), columns: columns.clone() });
        let expr = stored(qual)?;
        let style = super::text::style(pretty);
        let text = ir::deparse::expression_at(8, &expr, &of, &names, style, false)?;
        out.push_str(&format!("\n   WHERE {text}"));
    }
    out.push_str(if rule.is_instead { " DO INSTEAD " } else { " DO " });
    let names = ViewNames::new(s.view(), s.env().io());
    let queries = match &rule.action {
        Some(action) if action.starts_with(['{', '[']) => queries_of(action)?,
        Some(action) => {
            out.push_str(&format!(" {action};"));
            return Ok(out);
        }
        None => Vec::new(),
    };
    let columns = (rule.event == b'1').then(|| present_columns(rel));
    let texts: Result<Vec<String>> = queries
        .iter()
        .map(|q| ir::deparse::query(q, columns.as_deref(), &names, Style::pretty(pretty), 0))
        .collect();
    match texts?.as_slice() {
        [] => out.push_str("NOTHING;"),
        [one] => {
            if one.starts_with('\n') {
                out.truncate(out.trim_end().len());
            }
            out.push_str(&format!("{one};"));
        }
        many => out.push_str(&format!("({};\n);", many.join(";\n"))),
    }
    Ok(out)
}

fn trigger_definition(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let oid = args.oid(0)?;
    let rows = s.index_rows(catalog::indexes::PG_TRIGGER_OID, &[Datum::U32(oid.0)])?;
    let Some(row) = rows.first() else { return Ok(Datum::Null) };
    let Some(rel) = s.view().find_relation(row.oid("tgrelid")?)? else { return Ok(Datum::Null) };
    let found = rel.triggers.iter().find(|t| t.oid == oid);
    opt(found.map(|t| trigger_text(s, &rel, t, args.bool(1))))
}

fn opt(text: Option<Result<String>>) -> Result<Datum> {
    Ok(opt_text(text.transpose()?))
}

fn trigger_text(
    s: &dyn SysSession,
    rel: &RelationDesc,
    t: &TriggerDesc,
    pretty: bool,
) -> Result<String> {
    let kind = t.kind as u16;
    let constraint = t.constraint.is_valid() && !t.is_internal;
    let word = if constraint { "CONSTRAINT TRIGGER" } else { "TRIGGER" };
    let when = match kind {
        k if k & 64 != 0 => "INSTEAD OF",
        k if k & 2 != 0 => "BEFORE",
        _ => "AFTER",
    };
    let mut events = Vec::new();
    if kind & 4 != 0 {
        events.push("INSERT".to_string());
    }
    if kind & 8 != 0 {
        events.push("DELETE".to_string());
    }
    if kind & 16 != 0 {
        let columns: Vec<String> = t
            .columns
            .iter()
            .filter_map(|n| rel.tuple.attrs.get(*n as usize - 1))
            .map(|a| quote(&a.name))
            .collect();
        events.push(match columns.as_slice() {
            [] => "UPDATE".to_string(),
            some => format!("UPDATE OF {}", some.join(", ")),
        });
    }
    if kind & 32 != 0 {
        events.push("TRUNCATE".to_string());
    }
    let mut out = format!(
        "CREATE {word} {} {when} {} ON {} ",
        quote(&t.name),
        events.join(" OR "),
        relation_text(s, rel, !pretty)
    );
    if constraint {
        if let Some(other) = s.view().find_relation(t.constraint_relation)? {
            out.push_str(&format!("FROM {} ", relation_text(s, &other, false)));
        }
        out.push_str(if t.deferrable { "DEFERRABLE INITIALLY " } else { "NOT DEFERRABLE " });
        if t.deferrable {
            out.push_str(if t.initially_deferred { "DEFERRED " } else { "IMMEDIATE " });
        }
    }
    if t.old_table.is_some() || t.new_table.is_some() {
        out.push_str("REFERENCING ");
        if let Some(name) = &t.old_table {
            out.push_str(&format!("OLD TABLE AS {} ", quote(name)));
        }
        if let Some(name) = &t.new_table {
            out.push_str(&format!("NEW TABLE AS {} ", quote(name)));
        }
    }
    out.push_str(if kind & 1 != 0 { "FOR EACH ROW " } else { "FOR EACH STATEMENT " });
    if let Some(condition) = &t.when {
        let names = ViewNames::new(s.view(), s.env().io());
        let columns = super::text::relation_of(rel).columns;
        let of = ["old", "new"]
            .map(|n| ir::deparse::Relation { name: n.into(), columns: columns.clone() });
        let expr = stored(condition)?;
        let style = super::text::style(pretty);
        let text = ir::deparse::expression(&expr, &of, &names, style, false)?;
        out.push_str(&format!("WHEN ({text}) "));
    }
    use ir::deparse::Names;
    let names = ViewNames::new(s.view(), s.env().io());
    let function = names.function(t.function).map(|n| n.text()).unwrap_or_default();
    let args: Vec<String> = t.args.iter().map(|a| ir::deparse::quote_literal(a)).collect();
    out.push_str(&format!("EXECUTE FUNCTION {function}({})", args.join(", ")));
    Ok(out)
}

/// `RANGE (a, b)`.
/// The columns of a partition key, expressions spelled out with few parentheses.
fn partition_columns(s: &dyn SysSession, rel: &RelationDesc) -> Result<String> {
    let Some(key) = &rel.partition_key else { return Ok(String::new()) };
    let exprs: Vec<ir::Expr> = match &key.exprs {
        Some(text) => crate::cook::from_text(text)?,
        None => Vec::new(),
    };
    let mut exprs = exprs.iter();
    let mut parts = Vec::new();
    for column in &key.columns {
        parts.push(match *column {
            0 => {
                let expr = exprs.next().ok_or_else(|| Error::internal("too few expressions"))?;
                let text = over(s, expr, Some(rel), Style::PRETTY)?;
                let call = matches!(expr, ir::Expr::Func(_));
                if call { text } else { format!("({text})") }
            }
            n => quote(&rel.tuple.attrs[n as usize - 1].name),
        });
    }
    Ok(parts.join(", "))
}

/// The key columns of an index or of a partitioned table, as messages show them.
pub(crate) fn key_columns(s: &dyn SysSession, relation: Oid) -> Result<String> {
    let rel = s.view().relation(relation)?;
    let Some(index) = &rel.index else { return partition_columns(s, &rel) };
    let table = s.view().relation(index.table)?;
    index::key_columns(s, index, &table)
}

fn partition_key(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let Some(rel) = s.view().find_relation(args.oid(0)?)? else { return Ok(Datum::Null) };
    let Some(key) = &rel.partition_key else { return Ok(Datum::Null) };
    let exprs: Vec<ir::Expr> = match &key.exprs {
        Some(text) => crate::cook::from_text(text)?,
        None => Vec::new(),
    };
    let mut exprs = exprs.iter();
    let mut parts = Vec::new();
    let names = ViewNames::new(s.view(), s.env().io());
    for (i, column) in key.columns.iter().enumerate() {
        let (mut text, ty, own) = match *column {
            0 => {
                let expr = exprs.next().ok_or_else(|| Error::internal("too few expressions"))?;
                let text = over(s, expr, Some(&rel), Style::PLAIN)?;
                let call = matches!(expr, ir::Expr::Func(_));
                let text = if call { text } else { format!("({text})") };
                (text, expr.ty(), expr.collation())
            }
            n => {
                let attr = rel
                    .tuple
                    .attrs
                    .get(n as usize - 1)
                    .ok_or_else(|| err!(INTERNAL_ERROR, "no column {n}"))?;
                (quote(&attr.name), attr.type_oid, attr.collation)
            }
        };
        let collation = key.collations.get(i).copied().unwrap_or_default();
        if collation.is_valid() && collation != own {
            text.push_str(&index::collate_text(&names, collation));
        }
        let class = key.opclasses.get(i).copied().unwrap_or_default();
        text.push_str(&index::opclass_text(s, &names, class, ty)?);
        parts.push(text);
    }
    let word = match key.strategy {
        b'h' => "HASH",
        b'l' => "LIST",
        _ => "RANGE",
    };
    Ok(Datum::string(format!("{word} ({})", parts.join(", "))))
}
