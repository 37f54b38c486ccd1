//! Values of type `xml`: their text, checked.

use super::{Declaration, Parsed, Tree, has_doctype, parse_content, parse_declaration};
use super::{parse_document, write};
use base::{Error, Result, err};

/// The tree of a value, and whether it is a document. With `document` nothing else will do.
pub fn read(text: &str, document: bool) -> Result<(Tree, bool)> {
    let (parsed, is_document): (Parsed, bool) = if document {
        (parse_document(text), true)
    } else {
        let declaration = parse_declaration(text).map_err(|what| {
            err!(INVALID_XML_CONTENT, "invalid XML content: invalid XML declaration").detail(what)
        })?;
        let body = &text[declaration.len..];
        match has_doctype(body) {
            true => (parse_document(text), true),
            false => (parse_content(body), false),
        }
    };
    let failure = parsed.failure(false);
    if let Some(e) = parsed.stopped {
        return Err(e);
    }
    match failure {
        None => Ok((parsed.tree, is_document)),
        Some(detail) => Err(invalid(document).detail(detail)),
    }
}

fn invalid(document: bool) -> Error {
    match document {
        true => err!(INVALID_XML_DOCUMENT, "invalid XML document"),
        false => err!(INVALID_XML_CONTENT, "invalid XML content"),
    }
}

/// The declaration of a value and what follows it; a broken one is none.
pub fn split(text: &str) -> (Declaration, &str) {
    let declaration = parse_declaration(text).unwrap_or_default();
    let body = &text[declaration.len..];
    (declaration, body)
}

/// A value as clients get it: without the encoding, which is the client's.
pub fn output(text: &str) -> String {
    let (declaration, body) = split(text);
    if declaration.len == 0 {
        return text.to_string();
    }
    match declaration.shown(None) {
        Some(shown) => format!("{shown}{body}"),
        // Without a declaration there is no empty first line either.
        None => body.strip_prefix('\n').unwrap_or(body).to_string(),
    }
}

/// A value with its elements moved in.
pub fn indent(text: &str, document: bool) -> Result<String> {
    let (tree, is_document) = read(text, document)?;
    let (declaration, _) = split(text);
    let mut out = String::new();
    if declaration.len > 0 && is_document {
        let encoding = declaration.encoding.as_deref();
        let plain = || "<?xml version=\"1.0\"?>".to_string();
        out.push_str(&declaration.shown(encoding).unwrap_or_else(plain));
        out.push('\n');
    }
    out.push_str(&write::indented(tree, is_document));
    if is_document && !document {
        out.push('\n');
    }
    Ok(out)
}
