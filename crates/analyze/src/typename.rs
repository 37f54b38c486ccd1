//! Names of types, both ways.

use crate::state::{Analyzer, loc};
use base::{Error, Oid, Result, err};
use catalog::{CatalogView, TypeDesc, oids};
use ir::Location;
use parser::ast::{self, ExprKind, Literal};
use std::sync::Arc;

impl Analyzer<'_> {
    /// A type's OID and modifier.
    pub fn type_of_name(&self, name: &ast::TypeName) -> Result<(Oid, i32)> {
        let found = self.find_type(name)?;
        let at = loc(name.pos);
        let Some((desc, array)) = found else {
            return Err(
                err!(UNDEFINED_OBJECT, "type \"{}\" does not exist", type_text(name)).at(at)
            );
        };
        if !desc.is_defined {
            return Err(
                err!(UNDEFINED_OBJECT, "type \"{}\" is only a shell", type_text(name)).at(at)
            );
        }
        let typmod = self.typmod_of(name, &desc)?;
        if !array {
            return Ok((desc.oid, typmod));
        }
        if !desc.array.is_valid() {
            let text = format_type(self.catalog(), desc.oid);
            return Err(
                err!(UNDEFINED_OBJECT, "could not find array type for data type {text}").at(at)
            );
        }
        Ok((desc.array, typmod))
    }

    /// The type (an array's element type and true), if there is one.
    pub fn find_type(&self, name: &ast::TypeName) -> Result<Option<(Arc<TypeDesc>, bool)>> {
        let at = loc(name.pos);
        if name.pct_type {
            return self.column_type(name).map(|t| Some((t, !name.array_bounds.is_empty())));
        }
        let (schema, last) = self.split_name(&name.names, at)?;
        if let Some(schema) = schema {
            self.catalog().require_namespace(schema).map_err(|e| e.at(at))?;
        }
        let found = self.catalog().type_named(schema, last)?;
        Ok(found.map(|t| (t, !name.array_bounds.is_empty())))
    }

    /// `table.column%TYPE`.
    fn column_type(&self, name: &ast::TypeName) -> Result<Arc<TypeDesc>> {
        let at = loc(name.pos);
        let Some((column, rel)) = name.names.split_last() else {
            return Err(Error::internal("empty type name"));
        };
        if rel.is_empty() {
            return Err(err!(
                SYNTAX_ERROR,
                "improper %TYPE reference (too few dotted names): {column}"
            )
            .at(at));
        }
        let (schema, table) = self.split_name(rel, at)?;
        let desc = self.catalog().require_relation(schema, table).map_err(|e| e.at(at))?;
        let Some(number) = desc.column_number(column) else {
            return Err(err!(
                UNDEFINED_COLUMN,
                "column \"{column}\" of relation \"{table}\" does not exist"
            )
            .at(at));
        };
        self.catalog().type_(desc.tuple.attrs[number as usize - 1].type_oid)
    }

    /// A possibly qualified name as schema and last part; another database is refused.
    pub fn split_name<'n>(
        &self,
        parts: &'n [String],
        at: Location,
    ) -> Result<(Option<&'n str>, &'n str)> {
        match parts {
            [name] => Ok((None, name)),
            [schema, name] => Ok((Some(schema), name)),
            [database, schema, name] => {
                if **database != *self.catalog().context().database_name {
                    let shown = parts.join(".");
                    return Err(err!(
                        FEATURE_NOT_SUPPORTED,
                        "cross-database references are not implemented: {shown}"
                    )
                    .at(at));
                }
                Ok((Some(schema), name))
            }
            _ => {
                let shown = parts.join(".");
                Err(err!(SYNTAX_ERROR, "improper qualified name (too many dotted names): {shown}")
                    .at(at))
            }
        }
    }

    fn typmod_of(&self, name: &ast::TypeName, desc: &TypeDesc) -> Result<i32> {
        if name.typmods.is_empty() {
            return Ok(-1);
        }
        let at = loc(name.pos);
        if !desc.modin.is_valid() {
            let text = type_text(name);
            return Err(
                err!(SYNTAX_ERROR, "type modifier is not allowed for type \"{text}\"").at(at)
            );
        }
        let mut args = Vec::with_capacity(name.typmods.len());
        for arg in &name.typmods {
            args.push(match &arg.kind {
                ExprKind::Literal(Literal::Integer(n)) => n.to_string(),
                ExprKind::Literal(Literal::Float(s) | Literal::String(s)) => s.clone(),
                ExprKind::Column { parts, star: false } if parts.len() == 1 => parts[0].clone(),
                _ => {
                    return Err(err!(
                        SYNTAX_ERROR,
                        "type modifiers must be simple constants or identifiers"
                    )
                    .at(at));
                }
            });
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (typmod, warning) = types::io::typmod_in(desc.oid, &args).map_err(|e| e.at(at))?;
        if let Some(warning) = warning {
            self.env.told.warn(warning.at(at));
        }
        Ok(typmod)
    }
}

/// A type's name as written, for messages.
pub(crate) fn type_text(name: &ast::TypeName) -> String {
    let mut text = name.names.join(".");
    if name.pct_type {
        text.push_str("%TYPE");
    }
    if !name.array_bounds.is_empty() {
        text.push_str("[]");
    }
    text
}

/// A type's name as messages show it, such as `integer` or `character varying[]`.
pub fn format_type(catalog: &CatalogView, oid: Oid) -> String {
    format_type_with(catalog, oid, -1)
}

/// The same with its modifier: `character varying(10)`.
pub fn format_type_with(catalog: &CatalogView, oid: Oid, typmod: i32) -> String {
    if !oid.is_valid() {
        return "-".into();
    }
    let Ok(Some(desc)) = catalog.find_type(oid) else {
        return "???".into();
    };
    if desc.is_array() {
        return format_type_with(catalog, desc.elem, typmod) + "[]";
    }
    let modifier = || if typmod >= 0 { types::io::typmod_out(oid, typmod) } else { String::new() };
    let known = match oid {
        oids::BIT => "bit",
        oids::BOOL => "boolean",
        oids::BPCHAR => "character",
        oids::FLOAT4 => "real",
        oids::FLOAT8 => "double precision",
        oids::INT2 => "smallint",
        oids::INT4 => "integer",
        oids::INT8 => "bigint",
        oids::NUMERIC => "numeric",
        oids::INTERVAL => "interval",
        oids::TIME => return format!("time{} without time zone", time_modifier(typmod)),
        oids::TIMETZ => return format!("time{} with time zone", time_modifier(typmod)),
        oids::TIMESTAMP => return format!("timestamp{} without time zone", time_modifier(typmod)),
        oids::TIMESTAMPTZ => return format!("timestamp{} with time zone", time_modifier(typmod)),
        oids::VARBIT => "bit varying",
        oids::VARCHAR => "character varying",
        oids::CHAR => "\"char\"",
        oids::JSON => "json",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned() + &modifier();
    }
    let visible = catalog.type_is_visible(&desc).unwrap_or(true);
    let name = quote_ident(&desc.name);
    let shown = match catalog.find_namespace(desc.namespace) {
        Ok(Some(ns)) if !visible => format!("{}.{name}", quote_ident(&ns.name)),
        _ => name,
    };
    shown + &modifier()
}

fn time_modifier(typmod: i32) -> String {
    if typmod >= 0 { format!("({typmod})") } else { String::new() }
}

/// An identifier in quotes if it needs them.
pub(crate) fn quote_ident(name: &str) -> String {
    let plain = name
        .bytes()
        .enumerate()
        .all(|(i, b)| b.is_ascii_lowercase() || b == b'_' || (i > 0 && (b.is_ascii_digit())));
    let reserved = parser::keywords::lookup(name.as_bytes())
        .category()
        .is_some_and(|c| c != parser::keywords::Category::Unreserved);
    if plain && !reserved && !name.is_empty() {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}
