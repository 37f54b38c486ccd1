//! The rows of XMLTABLE.

use super::path::{compile, document, failed, node_text};
use crate::call::FnCtx;
use base::{Oid, Result, bail, err};
use std::collections::HashMap;
use types::xml::Tree;
use types::xml::xpath::{Value, XPath, number_text};
use types::{Datum, oid};

/// A column, for one document.
pub struct Column<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub ty: Oid,
    /// Its type modifier.
    pub typmod: i32,
    /// FOR ORDINALITY.
    pub ordinality: bool,
    /// The path; NULL is an error.
    pub path: Datum,
}

/// A call, for one document.
pub struct Table<'a> {
    /// The path of the rows.
    pub row: Datum,
    /// The document.
    pub document: Datum,
    /// Prefixes, of which none is the default, with their URIs.
    pub namespaces: Vec<(Option<&'a str>, Datum)>,
    /// The columns.
    pub columns: Vec<Column<'a>>,
}

/// The rows; what a column does not find is NULL.
pub fn table_rows(cx: &mut FnCtx, table: &Table) -> Result<Vec<Vec<Datum>>> {
    if table.document.is_null() {
        return Ok(Vec::new());
    }
    let mut prefixes = HashMap::new();
    let tree = document(cx, table.document.as_str())?;
    for (prefix, uri) in &table.namespaces {
        if uri.is_null() {
            bail!(NULL_VALUE_NOT_ALLOWED, "namespace URI must not be null");
        }
        let Some(prefix) = prefix else {
            bail!(FEATURE_NOT_SUPPORTED, "DEFAULT namespace is not supported");
        };
        prefixes.insert(prefix.to_string(), uri.as_str().to_string());
    }
    if table.row.is_null() {
        bail!(NULL_VALUE_NOT_ALLOWED, "row filter expression must not be null");
    }
    let path = table.row.as_str();
    if path.is_empty() {
        bail!(DATA_EXCEPTION, "row path filter must not be empty string");
    }
    let rows = compile(path)?;
    let mut columns: Vec<Option<XPath>> = Vec::new();
    for c in &table.columns {
        if c.ordinality {
            columns.push(None);
            continue;
        }
        if c.path.is_null() {
            return Err(err!(NULL_VALUE_NOT_ALLOWED, "column filter expression must not be null")
                .detail(format!("Filter for column \"{}\" is null.", c.name)));
        }
        if c.path.as_str().is_empty() {
            bail!(DATA_EXCEPTION, "column path filter must not be empty string");
        }
        columns.push(Some(compile(c.path.as_str())?));
    }
    let found = rows.evaluate(&tree, 0, &prefixes).map_err(failed)?;
    let Value::Nodes(found) = found else { return Ok(Vec::new()) };
    let mut out = Vec::with_capacity(found.len());
    for (n, node) in found.into_iter().enumerate() {
        cx.env.check_interrupts()?;
        let mut row = Vec::with_capacity(columns.len());
        for (column, path) in table.columns.iter().zip(&columns) {
            row.push(match path {
                None => Datum::I32(n as i32 + 1),
                Some(path) => {
                    let value = path.evaluate(&tree, node.id, &prefixes).map_err(failed)?;
                    column_value(cx, &tree, column, value)?
                }
            });
        }
        out.push(row);
    }
    Ok(out)
}

fn column_value(cx: &mut FnCtx, tree: &Tree, column: &Column, value: Value) -> Result<Datum> {
    let xml = column.ty == oid::XML;
    let text = match value {
        Value::Nodes(list) if list.is_empty() => return Ok(Datum::Null),
        Value::Nodes(list) if xml => list.into_iter().map(|n| node_text(tree, n)).collect(),
        Value::Nodes(list) if list.len() > 1 => {
            bail!(CARDINALITY_VIOLATION, "more than one value returned by column XPath expression")
        }
        Value::Nodes(list) => types::xml::xpath::node_text(tree, list[0]),
        Value::Bool(b) => {
            // Numbers take truth as 1 and 0.
            let info = cx.env.catalog().types().type_info(column.ty);
            match info.is_some_and(|i| i.category == b'N') {
                true => u8::from(b).to_string(),
                false => b.to_string(),
            }
        }
        Value::Number(n) => number_text(n),
        Value::Text(t) if xml => types::xml::escape(&t),
        Value::Text(t) => t,
    };
    types::io::input(column.ty, &text, column.typmod, &cx.env.io())
}
