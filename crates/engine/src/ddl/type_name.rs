//! Type names as written, resolved.

use super::Ddl;
use super::name::quote;
use base::{Error, Oid, Result, bail, err};
use catalog::CatalogView;
use parser::ast::{Expr, ExprKind, Literal, TypeName};

/// A type with its modifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResolvedType {
    /// The type.
    pub oid: Oid,
    /// Its modifier, or -1.
    pub typmod: i32,
    /// Dimensions as written.
    pub ndims: i16,
}

/// A type name as it was written, for messages.
fn shown(name: &TypeName) -> String {
    let mut out = name.names.join(".");
    for _ in &name.array_bounds {
        out.push_str("[]");
    }
    out
}

/// The text of a type modifier: a constant or a plain word.
fn modifier(e: &Expr) -> Option<String> {
    match &e.kind {
        ExprKind::Literal(Literal::Integer(n)) => Some(n.to_string()),
        ExprKind::Literal(Literal::Float(s) | Literal::String(s)) => Some(s.clone()),
        ExprKind::Column { parts, star: false } if parts.len() == 1 => Some(parts[0].clone()),
        ExprKind::Op { op, left: None, right } if op.name == "-" => {
            modifier(right).map(|m| format!("-{m}"))
        }
        _ => None,
    }
}

/// Resolves a type name; 42704 if there is no such type.
pub fn resolve(view: &CatalogView, name: &TypeName) -> Result<ResolvedType> {
    resolve_or_shell(view, name, false)
}

/// As [`resolve`]; a type without a definition may be allowed.
pub fn resolve_or_shell(view: &CatalogView, name: &TypeName, shell: bool) -> Result<ResolvedType> {
    resolve_told(view, name, shell, &mut None)
}

/// As [`resolve_or_shell`], with the warning there may be of a modifier.
fn resolve_told(
    view: &CatalogView,
    name: &TypeName,
    shell: bool,
    warning: &mut Option<Error>,
) -> Result<ResolvedType> {
    if name.pct_type {
        return resolve_percent(view, name);
    }
    let n = name.names.len();
    let schema = if n >= 2 { Some(name.names[n - 2].as_str()) } else { None };
    let base = name.names.last().map_or("", String::as_str);
    if let Some(s) = schema
        && view.namespace_named(s)?.is_none()
    {
        return Err(err!(INVALID_SCHEMA_NAME, "schema \"{s}\" does not exist").at(name.pos));
    }
    let Some(t) = view.type_named(schema, base)? else {
        let e = err!(UNDEFINED_OBJECT, "type \"{}\" does not exist", shown(name));
        return Err(e.at(name.pos));
    };
    if !(t.is_defined || shell && name.array_bounds.is_empty()) {
        return Err(err!(UNDEFINED_OBJECT, "type \"{}\" is only a shell", shown(name)).at(name.pos));
    }
    let mut typmod = -1;
    if !name.typmods.is_empty() {
        if !t.modin.is_valid() {
            let e = err!(SYNTAX_ERROR, "type modifier is not allowed for type \"{}\"", shown(name));
            return Err(e.at(name.pos));
        }
        let args: Option<Vec<String>> = name.typmods.iter().map(modifier).collect();
        let Some(args) = args else {
            let e = err!(SYNTAX_ERROR, "type modifiers must be simple constants or identifiers");
            return Err(e.at(name.pos));
        };
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        (typmod, *warning) = types::io::typmod_in(t.oid, &args).map_err(|e| e.at(name.pos))?;
    }
    if name.array_bounds.is_empty() {
        return Ok(ResolvedType { oid: t.oid, typmod, ndims: 0 });
    }
    if !t.array.is_valid() {
        let e =
            err!(UNDEFINED_OBJECT, "could not find array type for data type {}", quote(&t.name));
        return Err(e.at(name.pos));
    }
    Ok(ResolvedType { oid: t.array, typmod, ndims: name.array_bounds.len() as i16 })
}

/// `table.column%TYPE`.
fn resolve_percent(view: &CatalogView, name: &TypeName) -> Result<ResolvedType> {
    let n = name.names.len();
    if n < 2 {
        bail!(
            SYNTAX_ERROR,
            "improper %TYPE reference (too few dotted names): {}",
            name.names.join(".")
        );
    }
    let schema = if n >= 3 { Some(name.names[n - 3].as_str()) } else { None };
    let (table, column) = (&name.names[n - 2], &name.names[n - 1]);
    let rel = view.require_relation(schema, table).map_err(|e| e.at(name.pos))?;
    match rel.tuple.position(column) {
        Some(i) => {
            let a = &rel.tuple.attrs[i];
            Ok(ResolvedType { oid: a.type_oid, typmod: a.typmod, ndims: 0 })
        }
        None => Err(err!(
            UNDEFINED_COLUMN,
            "column \"{column}\" of relation \"{table}\" does not exist"
        )
        .at(name.pos)),
    }
}

impl Ddl<'_> {
    /// Resolves a type name.
    pub fn resolve_type(&self, name: &TypeName) -> Result<ResolvedType> {
        self.resolve_warned(name).map(|found| found.0)
    }

    /// As [`Ddl::resolve_type`], with the warning that was given.
    pub(super) fn resolve_warned(&self, name: &TypeName) -> Result<(ResolvedType, Option<Error>)> {
        let mut warning = None;
        let found = resolve_told(&self.view, name, false, &mut warning)?;
        self.require_type_usage(found.oid)?;
        if let Some(warning) = &warning {
            self.notice(warning.clone().at(name.pos));
        }
        Ok((found, warning))
    }

    /// Fails unless the user may make things of the type.
    pub fn require_type_usage(&self, type_oid: Oid) -> Result<()> {
        use catalog::privilege::{Grantable, Rights};
        let mut desc = self.view.type_(type_oid)?;
        if desc.is_array() {
            desc = self.view.type_(desc.elem)?;
        }
        let Some(acl) = desc.acl.as_deref() else { return Ok(()) };
        let rights = Rights { kind: Grantable::Type, owner: desc.owner, acl: Some(acl) };
        if rights.of(&self.view, self.user(), catalog::acl::bit(b'U'))? != 0 {
            return Ok(());
        }
        Err(super::grant::permission_denied("type", &self.format_type(desc.oid, -1)))
    }
}
