//! XML: what the syntax of SQL/XML does, values as XML, paths.

mod name;
mod path;
mod schema;
mod table;
mod value;

pub use name::xml_name;
pub use table::{Column, Table, table_rows};

use crate::call::{FnCtx, FnDef};
use base::{Oid, Result, bail, err};
use types::Datum;
use types::xml::value::{read, split};
use types::xml::{Declaration, escape};

/// A value and its type.
pub type Typed = (Oid, Datum);

/// `XMLCONCAT`: values one after the other, with one declaration for all.
pub fn concat(values: &[Datum]) -> Datum {
    let mut body = String::new();
    let mut any = false;
    let (mut standalone, mut version, mut no_version) = (Some(true), None::<String>, false);
    for value in values.iter().filter(|v| !v.is_null()) {
        any = true;
        let (declaration, rest) = split(value.as_str());
        standalone = match (declaration.standalone, standalone) {
            (Some(false), Some(true)) => Some(false),
            (None, _) => None,
            (_, before) => before,
        };
        match (declaration.version, &version) {
            (None, _) => no_version = true,
            (Some(v), None) => version = Some(v),
            (Some(v), Some(w)) => no_version |= v != *w,
        }
        body.push_str(rest);
    }
    if !any {
        return Datum::Null;
    }
    if !no_version || standalone.is_some() {
        let version = version.filter(|_| !no_version);
        let all = Declaration { standalone, version, ..Declaration::default() };
        if let Some(shown) = all.shown(None) {
            return Datum::string(format!("{shown}{body}"));
        }
    }
    Datum::string(body)
}

/// `XMLELEMENT`: attributes by name, NULL ones left out; then the content.
pub fn element(
    cx: &mut FnCtx,
    name: &str,
    attributes: &[(String, Typed)],
    content: &[Typed],
) -> Result<Datum> {
    let mut out = format!("<{name}");
    for (attribute, (ty, value)) in attributes {
        if value.is_null() {
            continue;
        }
        let text = value::text(cx, *ty, value, false)?;
        let mut quoted = String::new();
        for c in text.chars() {
            match c {
                '&' => quoted.push_str("&amp;"),
                '<' => quoted.push_str("&lt;"),
                '>' => quoted.push_str("&gt;"),
                '"' => quoted.push_str("&quot;"),
                '\n' => quoted.push_str("&#10;"),
                '\t' => quoted.push_str("&#9;"),
                '\r' => quoted.push_str("&#13;"),
                c => quoted.push(c),
            }
        }
        out.push_str(&format!(" {attribute}=\"{quoted}\""));
    }
    let mut inner = String::new();
    let mut any = false;
    for (ty, value) in content.iter().filter(|c| !c.1.is_null()) {
        any = true;
        inner.push_str(&value::text(cx, *ty, value, true)?);
    }
    match any {
        true => out.push_str(&format!(">{inner}</{name}>")),
        false => out.push_str("/>"),
    }
    Ok(Datum::string(out))
}

/// `XMLFOREST`: an element for each value that is not NULL.
pub fn forest(cx: &mut FnCtx, values: &[(String, Typed)]) -> Result<Datum> {
    let mut out = String::new();
    let mut any = false;
    for (name, (ty, value)) in values.iter().filter(|v| !v.1.1.is_null()) {
        any = true;
        let text = value::text(cx, *ty, value, true)?;
        out.push_str(&format!("<{name}>{text}</{name}>"));
    }
    Ok(if any { Datum::string(out) } else { Datum::Null })
}

/// `XMLPARSE`
pub fn parse(text: &str, document: bool) -> Result<Datum> {
    read(text, document)?;
    Ok(Datum::text(text))
}

/// `XMLPI`
pub fn instruction(name: &str, content: Option<&Datum>) -> Result<Datum> {
    if name.eq_ignore_ascii_case("xml") {
        return Err(err!(INVALID_XML_PROCESSING_INSTRUCTION, "invalid XML processing instruction")
            .detail(format!("XML processing instruction target name cannot be \"{name}\".")));
    }
    let Some(content) = content else { return Ok(Datum::string(format!("<?{name}?>"))) };
    if content.is_null() {
        return Ok(Datum::Null);
    }
    let text = content.as_str();
    if text.contains("?>") {
        return Err(err!(INVALID_XML_PROCESSING_INSTRUCTION, "invalid XML processing instruction")
            .detail("XML processing instruction cannot contain \"?>\"."));
    }
    Ok(Datum::string(format!("<?{name} {}?>", text.trim_start_matches(' '))))
}

/// `XMLROOT`: with `standalone` None it stays as it is.
pub fn root(value: &str, version: Option<&str>, standalone: Option<Option<bool>>) -> Datum {
    let (mut declaration, body) = split(value);
    declaration.version = version.map(str::to_string);
    if let Some(standalone) = standalone {
        declaration.standalone = standalone;
    }
    let shown = declaration.shown(None).unwrap_or_default();
    Datum::string(format!("{shown}{body}"))
}

/// `XMLSERIALIZE`
pub fn serialize(value: &str, document: bool, indent: bool) -> Result<Datum> {
    if document && !is_document(value) {
        bail!(NOT_AN_XML_DOCUMENT, "not an XML document");
    }
    match indent {
        true => types::xml::value::indent(value, document).map(Datum::string),
        false => Ok(Datum::text(value)),
    }
}

/// `IS DOCUMENT`
pub fn is_document(value: &str) -> bool {
    read(value, true).is_ok()
}

fn by_option(cx: &FnCtx) -> bool {
    cx.env.format().xml_document
}

fn comment(text: &str) -> Result<Datum> {
    if text.contains("--") || text.ends_with('-') {
        bail!(INVALID_XML_COMMENT, "invalid XML comment");
    }
    Ok(Datum::string(format!("<!--{text}-->")))
}

const PLAIN: &[FnDef] = &[
    raw!(xmlcomment(_cx, args) { comment(args[0].as_str()) }),
    raw!(xmltext(_cx, args) {
        // Here the library's spelling of a carriage return is PostgreSQL's.
        let text = escape(args[0].as_str()).replace('"', "&quot;").replace("&#x0d;", "&#13;");
        Ok(Datum::string(text))
    }),
    raw!(texttoxml(cx, args) { parse(args[0].as_str(), by_option(cx)) }),
    raw!(xmltotext(_cx, args) { Ok(args[0].clone()) }),
    raw!(xmlvalidate(_cx, _args) {
        let e = err!(FEATURE_NOT_SUPPORTED, "xmlvalidate is not implemented");
        Err::<Datum, base::Error>(e)
    }),
    raw!(xmlconcat2(_cx, args) { Ok(concat(args)) }),
    raw!(xml_is_well_formed(cx, args) {
        Ok(Datum::Bool(read(args[0].as_str(), by_option(cx)).is_ok()))
    }),
    raw!(xml_is_well_formed_document(_cx, args) {
        Ok(Datum::Bool(read(args[0].as_str(), true).is_ok()))
    }),
    raw!(xml_is_well_formed_content(_cx, args) {
        Ok(Datum::Bool(read(args[0].as_str(), false).is_ok()))
    }),
];

pub(crate) const FNS: &[&[FnDef]] = &[PLAIN, path::PATHS, schema::TABLES];
