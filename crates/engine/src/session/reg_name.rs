//! Names of objects as the `reg*` types' input reads them.

use super::lookup::ViewLookup;
use base::{Oid, Result, SqlState, err};
use catalog::oids;
use parser::ast::Name;
use types::oid;

fn invalid_name() -> base::Error {
    err!(INVALID_NAME, "invalid name syntax")
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

/// A name in parts, as functions that are given one as a text read it: whatever is not quoted is
/// taken as it is, but in small letters.
fn qualified_name(text: &str) -> Result<Name> {
    const LENGTH_MAX: usize = 63;
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    loop {
        let mut part = String::new();
        if let Some(mut quoted) = rest.strip_prefix('"') {
            loop {
                let (piece, after) = quoted.split_once('"').ok_or_else(invalid_name)?;
                part.push_str(piece);
                let Some(more) = after.strip_prefix('"') else {
                    rest = after;
                    break;
                };
                part.push('"');
                quoted = more;
            }
        } else {
            let end = rest.find(|c| c == '.' || is_blank(c)).unwrap_or(rest.len());
            if end == 0 {
                return Err(invalid_name());
            }
            part.push_str(&rest[..end].to_ascii_lowercase());
            rest = &rest[end..];
        }
        let end = crate::ddl::name::clip(&part, LENGTH_MAX).len();
        part.truncate(end);
        parts.push(part);
        rest = rest.trim_start_matches(is_blank);
        match rest.strip_prefix('.') {
            Some(after) => rest = after.trim_start_matches(is_blank),
            None if rest.is_empty() => return Ok(Name { parts, pos: 0 }),
            None => return Err(invalid_name()),
        }
    }
}

impl ViewLookup {
    /// Schema and name; a database may be named if it is this one.
    fn schema_and_name<'n>(
        &self,
        name: &'n Name,
        what: &str,
    ) -> Result<(Option<&'n str>, &'n str)> {
        let shown = || name.parts.join(".");
        match name.parts.as_slice() {
            [database, _, _] if **database != *self.view.context().database_name => {
                let quotes = if what == "relation" { "\"" } else { "" };
                let shown = format!("{quotes}{}{quotes}", shown());
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "cross-database references are not implemented: {shown}"
                ));
            }
            parts if parts.len() > 3 => {
                return Err(err!(
                    SYNTAX_ERROR,
                    "improper {what} name (too many dotted names): {}",
                    shown()
                ));
            }
            _ => {}
        }
        Ok(crate::ddl::name::split(name))
    }

    /// The object that a text names.
    pub(super) fn reg_oid(&self, reg_type: Oid, text: &str) -> Result<Oid> {
        match reg_type {
            oids::REGTYPE => Ok(self.reg_type(text)?.0),
            oids::REGPROCEDURE | oids::REGOPERATOR => self.reg_signature(reg_type, text),
            _ => self.reg_plain(reg_type, text),
        }
    }

    /// As [`ViewLookup::reg_oid`] of relations, where a schema that is missing is told of.
    pub(super) fn reg_relation(&self, text: &str) -> Result<Oid> {
        let name = qualified_name(text)?;
        let (schema, last) = self.schema_and_name(&name, "relation")?;
        if let Some(schema) = schema
            && self.view.namespace_named(schema)?.is_none()
        {
            return Err(err!(INVALID_SCHEMA_NAME, "schema \"{schema}\" does not exist"));
        }
        let missing = || {
            let shown = name.parts.join(".");
            err!(UNDEFINED_TABLE, "relation \"{shown}\" does not exist")
        };
        self.view.relation_oid(schema, last)?.ok_or_else(missing)
    }

    fn reg_plain(&self, reg_type: Oid, text: &str) -> Result<Oid> {
        let name = qualified_name(text)?;
        let view = &self.view;
        if matches!(reg_type, oids::REGROLE | oids::REGNAMESPACE) {
            let [name] = name.parts.as_slice() else { return Err(invalid_name()) };
            return match reg_type {
                oids::REGROLE => view
                    .role_named(name)?
                    .map(|r| r.oid)
                    .ok_or_else(|| err!(UNDEFINED_OBJECT, "role \"{name}\" does not exist")),
                _ => view
                    .namespace_named(name)?
                    .map(|n| n.oid)
                    .ok_or_else(|| err!(INVALID_SCHEMA_NAME, "schema \"{name}\" does not exist")),
            };
        }
        let what = if reg_type == oids::REGCLASS { "relation" } else { "qualified" };
        let (schema, last) = self.schema_and_name(&name, what)?;
        let shown = name.parts.join(".");
        let missing = |code: SqlState, message: String| Err(base::Error::new(code, message));
        let (found, code, message) = match reg_type {
            oids::REGCLASS => (
                view.relation_oid(schema, last)?,
                SqlState::UNDEFINED_TABLE,
                format!("relation \"{shown}\" does not exist"),
            ),
            oids::REGPROC => {
                let found = view.procs_named(schema, last)?;
                if found.len() > 1 {
                    return Err(err!(
                        AMBIGUOUS_FUNCTION,
                        "more than one function named \"{text}\""
                    ));
                }
                let message = format!("function \"{text}\" does not exist");
                (found.first().map(|p| p.oid), SqlState::UNDEFINED_FUNCTION, message)
            }
            oids::REGOPER => {
                let found = view.operators_named(schema, last)?;
                if found.len() > 1 {
                    return Err(err!(AMBIGUOUS_FUNCTION, "more than one operator named {text}"));
                }
                let message = format!("operator does not exist: {text}");
                (found.first().map(|o| o.oid), SqlState::UNDEFINED_FUNCTION, message)
            }
            oid::REGCOLLATION => (
                view.collation_named(schema, last)?.map(|c| c.oid),
                SqlState::UNDEFINED_OBJECT,
                format!("collation \"{shown}\" for encoding \"UTF8\" does not exist"),
            ),
            oid::REGCONFIG => (
                self.text_search((Oid(3608), "cfgnamespace"), schema, last)?,
                SqlState::UNDEFINED_OBJECT,
                format!("text search configuration \"{shown}\" does not exist"),
            ),
            _ => (
                self.text_search((Oid(3604), "dictnamespace"), schema, last)?,
                SqlState::UNDEFINED_OBJECT,
                format!("text search dictionary \"{shown}\" does not exist"),
            ),
        };
        found.map_or_else(|| missing(code, message), Ok)
    }

    /// A type's name with its modifier, in the grammar of types.
    pub(super) fn reg_type(&self, text: &str) -> Result<(Oid, i32)> {
        let invalid = || err!(SYNTAX_ERROR, "invalid type name \"{text}\"");
        if text.trim_matches(is_blank).is_empty() {
            return Err(invalid());
        }
        // Where in the text the fault is says nothing about the place in the statement.
        let unplaced = |e: base::Error| e.placed(None);
        let parsed = parser::parse_type_name(text)
            .map_err(|e| unplaced(e).context(format!("invalid type name \"{text}\"")))?;
        if parsed.setof {
            return Err(invalid());
        }
        if parsed.pct_type {
            return Err(err!(SYNTAX_ERROR, "syntax error at or near \"%\"")
                .context(format!("invalid type name \"{text}\"")));
        }
        let name = Name { parts: parsed.names.clone(), pos: 0 };
        self.schema_and_name(&name, "qualified")?;
        let found = crate::ddl::type_name::resolve(&self.view, &parsed).map_err(unplaced)?;
        Ok((found.oid, found.typmod))
    }

    /// `f(int)` and the like.
    fn reg_signature(&self, reg_type: Oid, text: &str) -> Result<Oid> {
        let (name, types) = self.signature(text, reg_type == oids::REGOPERATOR)?;
        if reg_type == oids::REGOPERATOR {
            let [left, right] = types.as_slice() else {
                if types.len() == 1 {
                    return Err(err!(UNDEFINED_PARAMETER, "missing argument")
                        .hint("Use NONE to denote the missing argument of a unary operator."));
                }
                return Err(err!(TOO_MANY_ARGUMENTS, "too many arguments")
                    .hint("Provide two argument types for operator."));
            };
            let (schema, last) = self.schema_and_name(&name, "qualified")?;
            let all = self.view.operators_named(schema, last)?;
            let found = all.iter().find(|o| o.left == *left && o.right == *right);
            return found
                .map(|o| o.oid)
                .ok_or_else(|| err!(UNDEFINED_FUNCTION, "operator does not exist: {text}"));
        }
        let (schema, last) = self.schema_and_name(&name, "qualified")?;
        let all = self.view.procs_named(schema, last)?;
        let found = all.iter().find(|p| p.arg_types == types).map(|p| p.oid);
        found.ok_or_else(|| err!(UNDEFINED_FUNCTION, "function \"{text}\" does not exist"))
    }

    /// A name with the types behind it.
    fn signature(&self, text: &str, allow_none: bool) -> Result<(Name, Vec<Oid>)> {
        let malformed = |what: &str| err!(INVALID_TEXT_REPRESENTATION, "{what}");
        let open = outside_quotes(text, |c| c == '(')
            .ok_or_else(|| malformed("expected a left parenthesis"))?;
        let name = qualified_name(&text[..open])?;
        let args = text[open + 1..].trim_end_matches(is_blank);
        let mut rest = args
            .strip_suffix(')')
            .ok_or_else(|| malformed("expected a right parenthesis"))?
            .trim_matches(is_blank);
        let mut types = Vec::new();
        let mut depth = 0i32;
        while !rest.is_empty() {
            let end = outside_quotes(rest, |c| {
                depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
                c == ',' && depth == 0
            });
            let arg = rest[..end.unwrap_or(rest.len())].trim_matches(is_blank);
            if depth != 0 {
                return Err(malformed("improper type name"));
            }
            if allow_none && arg.eq_ignore_ascii_case("none") {
                types.push(Oid::INVALID);
            } else {
                types.push(self.reg_type(arg)?.0);
            }
            let Some(end) = end else { break };
            rest = rest[end + 1..].trim_start_matches(is_blank);
            if rest.is_empty() {
                return Err(malformed("expected a type name"));
            }
        }
        Ok((name, types))
    }
}

/// Where the first such character is that is not within double quotes.
fn outside_quotes(text: &str, mut wanted: impl FnMut(char) -> bool) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(i, c)| {
        quoted ^= c == '"';
        (!quoted && wanted(c)).then_some(i)
    })
}
