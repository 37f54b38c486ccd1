//! `xpath` and its kin.

use crate::call::{FnCtx, FnDef};
use base::{Error, Result, bail, err};
use std::collections::HashMap;
use types::array::{ArrayRef, ElemType, make_vector};
use types::xml::xpath::{NodeRef, Value, XPath, XPathError, number_text};
use types::xml::{NodeKind, Tree, escape, parse_document, write_copy};
use types::{Datum, oid};

/// A document to evaluate paths in. Warnings about it go to the client.
pub(super) fn document(cx: &FnCtx, text: &str) -> Result<Tree> {
    let (_, body) = types::xml::value::split(text);
    let parsed = parse_document(body);
    if let Some(detail) = parsed.failure(true) {
        return Err(err!(INVALID_XML_DOCUMENT, "could not parse XML document").detail(detail));
    }
    for e in parsed.errors.iter().filter(|e| e.warning) {
        cx.env.notice(Error::warning(e.text.clone()));
    }
    Ok(parsed.tree)
}

/// Compiles a path.
pub(super) fn compile(path: &str) -> Result<XPath> {
    XPath::parse(path).map_err(failed)
}

pub(super) fn failed(e: XPathError) -> Error {
    match e {
        XPathError::Stopped(e) => e,
        XPathError::Syntax(what) => {
            err!(INVALID_ARGUMENT_FOR_XQUERY, "invalid XPath expression").detail(what)
        }
        XPathError::Eval(what) => {
            err!(INVALID_ARGUMENT_FOR_XQUERY, "could not create XPath object").detail(what)
        }
    }
}

/// Prefixes and URIs of an array of pairs.
fn prefixes(array: Option<&Datum>) -> Result<HashMap<String, String>> {
    let mut out = HashMap::new();
    let Some(array) = array.filter(|a| !a.is_null()) else { return Ok(out) };
    let array = ArrayRef::parse(array.as_bytes())?;
    if array.dims.is_empty() {
        return Ok(out);
    }
    if array.dims.len() != 2 || array.dims[1] != 2 {
        return Err(err!(DATA_EXCEPTION, "invalid array for XML namespace mapping").detail(
            "The array must be two-dimensional with length of the second axis equal to 2.",
        ));
    }
    for pair in array.values(&ElemType::builtin(oid::TEXT))?.chunks(2) {
        if pair.iter().any(Datum::is_null) {
            bail!(NULL_VALUE_NOT_ALLOWED, "neither namespace name nor URI may be null");
        }
        out.insert(pair[0].as_str().to_string(), pair[1].as_str().to_string());
    }
    Ok(out)
}

/// A node as a value of type xml.
pub(super) fn node_text(tree: &Tree, node: NodeRef) -> String {
    if node.namespace != 0 {
        return escape(&types::xml::xpath::node_text(tree, node));
    }
    match tree.node(node.id).kind {
        NodeKind::Attribute | NodeKind::Text => escape(&tree.string_value(node.id)),
        _ => {
            let mut out = String::new();
            write_copy(tree, node.id, &mut out);
            if node.id == 0 {
                out.push('\n');
            }
            out
        }
    }
}

/// The value of a path as values of type xml.
fn values(cx: &FnCtx, args: &[Datum]) -> Result<Vec<String>> {
    let (path, data) = (args[0].as_str(), args[1].as_str());
    let prefixes = prefixes(args.get(2))?;
    if path.is_empty() {
        bail!(INVALID_ARGUMENT_FOR_XQUERY, "empty XPath expression");
    }
    let tree = document(cx, data)?;
    let value = compile(path)?.evaluate(&tree, 0, &prefixes).map_err(failed)?;
    Ok(match value {
        Value::Nodes(list) => list.into_iter().map(|n| node_text(&tree, n)).collect(),
        Value::Bool(b) => vec![b.to_string()],
        Value::Number(n) => vec![number_text(n)],
        Value::Text(t) => vec![escape(&t)],
    })
}

fn array(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    let all: Vec<Datum> = values(cx, args)?.into_iter().map(Datum::string).collect();
    make_vector(&ElemType::builtin(oid::XML), &all)
}

pub(super) const PATHS: &[FnDef] = &[
    raw!(xpath(cx, args) { array(cx, args) }),
    raw!("2932"(cx, args) { array(cx, args) }),
    raw!(xpath_exists(cx, args) { Ok(Datum::Bool(!values(cx, args)?.is_empty())) }),
    raw!("3050"(cx, args) {
        Ok(Datum::Bool(!values(cx, args)?.is_empty()))
    }),
    raw!(xmlexists(cx, args) { Ok(Datum::Bool(!values(cx, args)?.is_empty())) }),
];
