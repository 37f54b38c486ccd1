//! The catalogs as values' input and output functions ask for them.

use super::core::SessionCore;
use super::env::StatementEnv;
use crate::ddl::name::quote;
use base::{Oid, Result, err};
use catalog::{CatalogView, oids};
use functions::CatalogLookup;
use std::sync::{Arc, Weak};
use types::Datum;
use types::io::{TypeInfo, TypeLookup};
use types::tuple::TupleDesc;

/// Lookups through a view.
pub struct ViewLookup {
    /// The view.
    pub view: CatalogView,
    /// Who runs the conditions of domains.
    pub core: Weak<SessionCore>,
    /// When the statement began.
    pub statement_micros: i64,
}

impl ViewLookup {
    fn qualified(&self, namespace: Oid, name: &str, visible: bool) -> String {
        if visible {
            return quote(name);
        }
        match self.view.find_namespace(namespace) {
            Ok(Some(n)) => format!("{}.{}", quote(&n.name), quote(name)),
            _ => quote(name),
        }
    }

    fn support(&self, type_oid: Oid, am: Oid, number: i16) -> Option<Oid> {
        let class = self.view.default_opclass(type_oid, am).ok()??;
        self.view.amproc(class.family, class.input_type, class.input_type, number).ok()?
    }

    fn reg_name(&self, reg_type: Oid, text: &str) -> Result<Option<Oid>> {
        if matches!(reg_type, oids::REGPROCEDURE | oids::REGOPERATOR) {
            return self.reg_signature(reg_type, text);
        }
        let name = reg_parts(reg_type, text)?;
        let (schema, last) = crate::ddl::name::split(&name);
        if matches!(reg_type, oids::REGROLE | oids::REGNAMESPACE) && name.parts.len() > 1 {
            return Err(err!(INVALID_NAME, "invalid name syntax"));
        }
        let view = &self.view;
        Ok(match reg_type {
            oids::REGCLASS => view.relation_oid(schema, last)?,
            oids::REGTYPE => {
                let name = parser::parse_type_name(text)?;
                return Ok(Some(crate::ddl::type_name::resolve(view, &name)?.oid));
            }
            oids::REGPROC => {
                let found = view.procs_named(schema, last)?;
                if found.len() > 1 {
                    return Err(err!(
                        AMBIGUOUS_FUNCTION,
                        "more than one function named \"{text}\""
                    ));
                }
                found.first().map(|p| p.oid)
            }
            oids::REGROLE => view.role_named(last)?.map(|r| r.oid),
            oids::REGNAMESPACE => view.namespace_named(last)?.map(|n| n.oid),
            oids::REGOPER => {
                let found = view.operators_named(schema, last)?;
                if found.len() > 1 {
                    return Err(err!(AMBIGUOUS_FUNCTION, "more than one operator named {text}"));
                }
                found.first().map(|o| o.oid)
            }
            types::oid::REGCOLLATION => view.collation_named(schema, last)?.map(|c| c.oid),
            types::oid::REGCONFIG => self.text_search((Oid(3608), "cfgnamespace"), schema, last)?,
            types::oid::REGDICTIONARY => {
                self.text_search((Oid(3604), "dictnamespace"), schema, last)?
            }
            _ => return self.reg_signature(reg_type, text),
        })
    }

    fn text_search(
        &self,
        place: (Oid, &str),
        schema: Option<&str>,
        name: &str,
    ) -> Result<Option<Oid>> {
        let Some(core) = self.core.upgrade() else { return Ok(None) };
        super::text_search::find_named(&*core.store, &self.view, place, schema, name)
    }

    /// The name of a configuration or dictionary, qualified unless it is the first in the path.
    fn text_search_name(&self, class: Oid, oid: Oid) -> Option<String> {
        let core = self.core.upgrade()?;
        let facts = crate::ddl::text_search::ts_class(class)?;
        let rows = catalog::RowStore::index_scan(&*core.store, facts.by_oid, &[Datum::U32(oid.0)]);
        let row = rows.ok()?.into_iter().next()?;
        let (namespace, name) = (row.oid(facts.schema).ok()?, row.text(facts.name).ok()?);
        let first = self.text_search((facts.by_name, facts.schema), None, &name).ok()?;
        Some(self.qualified(namespace, &name, first == Some(oid)))
    }

    /// `f(int)` and the like.
    fn reg_signature(&self, reg_type: Oid, text: &str) -> Result<Option<Oid>> {
        let invalid = || err!(INVALID_TEXT_REPRESENTATION, "expected a left parenthesis");
        let (name, args) = text.split_once('(').ok_or_else(invalid)?;
        let name = reg_parts(reg_type, name.trim())?;
        let (schema, last) = crate::ddl::name::split(&name);
        let mut types = Vec::new();
        if !args.trim_end().ends_with(')') {
            return Err(err!(INVALID_TEXT_REPRESENTATION, "expected a right parenthesis"));
        }
        for arg in args.trim_end().trim_end_matches(')').split(',') {
            if reg_type == oids::REGOPERATOR && arg.trim().eq_ignore_ascii_case("none") {
                types.push(Oid::INVALID);
            } else if !arg.trim().is_empty() {
                let t = parser::parse_type_name(arg.trim())?;
                types.push(crate::ddl::type_name::resolve(&self.view, &t)?.oid);
            }
        }
        if reg_type == oids::REGOPERATOR {
            let [left, right] = types.as_slice() else {
                if types.len() < 2 {
                    return Err(err!(UNDEFINED_PARAMETER, "missing argument")
                        .hint("Use NONE to denote the missing argument of a unary operator."));
                }
                return Err(err!(TOO_MANY_ARGUMENTS, "too many arguments")
                    .hint("Provide two argument types for operator."));
            };
            let all = self.view.operators_named(schema, last)?;
            let found = all.iter().find(|o| o.left == *left && o.right == *right);
            return Ok(found.map(|o| o.oid));
        }
        let all = self.view.procs_named(schema, last)?;
        Ok(all.iter().find(|p| p.arg_types == types).map(|p| p.oid))
    }
}

impl ViewLookup {
    /// Whether a domain, or one below it, refuses some values.
    fn is_constrained(&self, domain: Oid) -> Result<bool> {
        let mut t = self.view.type_(domain)?;
        while t.kind == b'd' {
            if t.not_null || self.view.domain_constraints(t.oid)?.iter().any(|c| c.kind == b'c') {
                return Ok(true);
            }
            t = self.view.type_(t.base_type)?;
        }
        Ok(false)
    }
}

impl TypeLookup for ViewLookup {
    fn check_domain(&self, domain: Oid, value: &Datum) -> Result<()> {
        if !self.is_constrained(domain)? {
            return Ok(());
        }
        let Some(core) = self.core.upgrade() else { return Ok(()) };
        let random = std::cell::Cell::new([1, 2]);
        let env = StatementEnv::new(&core, &random, self.statement_micros)?;
        let base = self.type_info(domain).map_or(domain, |t| t.base);
        let value = ir::Expr::Const(ir::Const {
            ty: base,
            typmod: -1,
            collation: Oid::INVALID,
            value: value.clone(),
            location: None,
        });
        let checked = ir::Expr::CoerceToDomain {
            arg: Box::new(value),
            ty: domain,
            typmod: -1,
            collation: Oid::INVALID,
            form: ir::CoercionForm::ImplicitCast,
            location: None,
        };
        core.evaluate(&env, checked, Arc::new([])).map(|_| ())
    }

    fn type_info(&self, oid: Oid) -> Option<Arc<TypeInfo>> {
        catalog::type_info(&self.view, oid)
    }

    fn row_desc(&self, type_oid: Oid, typmod: i32) -> Option<Arc<TupleDesc>> {
        if type_oid == types::oid::RECORD {
            return types::record::registered(typmod);
        }
        let t = self.view.find_type(type_oid).ok()??;
        let rel = self.view.find_relation(t.relation).ok()??;
        Some(rel.tuple.clone())
    }

    fn enum_label(&self, value: Oid) -> Option<String> {
        let rows = self.view.source();
        rows.enum_label(value).ok()?.map(|l| l.label.to_string())
    }

    fn enum_value(&self, type_oid: Oid, label: &str) -> Option<Oid> {
        let labels = self.view.enum_labels(type_oid).ok()?;
        labels.iter().find(|l| &*l.label == label).map(|l| l.oid)
    }

    fn reg_in(&self, reg_type: Oid, text: &str) -> Result<Oid> {
        let what = match reg_type {
            oids::REGCLASS => "relation",
            oids::REGTYPE => "type",
            oids::REGROLE => "role",
            oids::REGNAMESPACE => "schema",
            types::oid::REGCONFIG => "text search configuration",
            types::oid::REGDICTIONARY => "text search dictionary",
            _ => "function",
        };
        let code = match reg_type {
            oids::REGCLASS => base::SqlState::UNDEFINED_TABLE,
            oids::REGNAMESPACE => base::SqlState::INVALID_SCHEMA_NAME,
            oids::REGPROC | oids::REGPROCEDURE => base::SqlState::UNDEFINED_FUNCTION,
            _ => base::SqlState::UNDEFINED_OBJECT,
        };
        let found = self.reg_name(reg_type, text)?;
        if let (None, oids::REGOPER | oids::REGOPERATOR) = (found, reg_type) {
            return Err(err!(UNDEFINED_FUNCTION, "operator does not exist: {text}"));
        }
        if let (None, types::oid::REGCOLLATION) = (found, reg_type) {
            return Err(err!(
                UNDEFINED_OBJECT,
                "collation \"{text}\" for encoding \"UTF8\" does not exist"
            ));
        }
        let shown = match reg_type {
            oids::REGROLE | oids::REGNAMESPACE => reg_parts(reg_type, text)?.parts.join("."),
            _ => text.to_string(),
        };
        found.ok_or_else(|| base::Error::new(code, format!("{what} \"{shown}\" does not exist")))
    }

    fn reg_out(&self, reg_type: Oid, oid: Oid) -> Option<String> {
        let view = &self.view;
        Some(match reg_type {
            oids::REGCLASS => {
                let rel = view.find_relation(oid).ok()??;
                let visible = view.relation_is_visible(&rel).ok()?;
                self.qualified(rel.namespace, &rel.name, visible)
            }
            oids::REGTYPE => {
                view.find_type(oid).ok()??;
                crate::describe::format_type(view, oid, -1)
            }
            oids::REGPROC => {
                let p = view.find_proc(oid).ok()??;
                let alone = view.procs_named(None, &p.name).ok()?.len() == 1;
                self.qualified(p.namespace, &p.name, alone)
            }
            oids::REGPROCEDURE => {
                let p = view.find_proc(oid).ok()??;
                let visible = view.proc_is_visible(&p).ok()?;
                let args: Vec<String> = p
                    .arg_types
                    .iter()
                    .map(|t| crate::describe::format_type(view, *t, -1))
                    .collect();
                format!("{}({})", self.qualified(p.namespace, &p.name, visible), args.join(","))
            }
            oids::REGROLE => quote(&view.find_role(oid).ok()??.name),
            oids::REGNAMESPACE => quote(&view.find_namespace(oid).ok()??.name),
            oids::REGOPER => view.find_operator(oid).ok()??.name.to_string(),
            oids::REGOPERATOR => {
                let o = view.find_operator(oid).ok()??;
                let side = |t: Oid| match t.is_valid() {
                    true => crate::describe::format_type(view, t, -1),
                    false => "NONE".to_string(),
                };
                format!("{}({},{})", o.name, side(o.left), side(o.right))
            }
            types::oid::REGCOLLATION => quote(&view.find_collation(oid).ok()??.name),
            types::oid::REGCONFIG => self.text_search_name(Oid(3602), oid)?,
            types::oid::REGDICTIONARY => self.text_search_name(Oid(3600), oid)?,
            _ => return None,
        })
    }

    fn role_oid(&self, name: &str) -> Option<Oid> {
        self.view.role_named(name).ok()?.map(|r| r.oid)
    }

    fn role_name(&self, oid: Oid) -> Option<String> {
        self.view.find_role(oid).ok()?.map(|r| r.name.to_string())
    }
}

impl CatalogLookup for ViewLookup {
    fn types(&self) -> &dyn TypeLookup {
        self
    }

    fn type_and_modifier(&self, name: &str) -> Result<(Oid, i32)> {
        let found = crate::ddl::type_name::resolve(&self.view, &parser::parse_type_name(name)?)?;
        Ok((found.oid, found.typmod))
    }

    fn type_name(&self, oid: Oid) -> Option<String> {
        self.view.find_type(oid).ok()??;
        Some(crate::describe::format_type(&self.view, oid, -1))
    }

    fn proc_name(&self, oid: Oid) -> Option<String> {
        Some(self.view.find_proc(oid).ok()??.name.to_string())
    }

    fn compare_proc(&self, type_oid: Oid) -> Option<Oid> {
        self.support(type_oid, oids::BTREE_AM, 1)
    }

    fn hash_procs(&self, type_oid: Oid) -> Option<(Oid, Oid)> {
        Some((self.support(type_oid, oids::HASH_AM, 1)?, self.support(type_oid, oids::HASH_AM, 2)?))
    }

    fn enum_values(&self, type_oid: Oid) -> Vec<(Oid, String)> {
        let labels = self.view.enum_labels(type_oid);
        let pairs =
            |l: Arc<[catalog::EnumLabel]>| l.iter().map(|l| (l.oid, l.label.to_string())).collect();
        labels.map(pairs).unwrap_or_default()
    }

    fn schema_name(&self, oid: Oid) -> Option<String> {
        self.view.find_namespace(oid).ok()?.map(|n| n.name.to_string())
    }

    fn database_name(&self, oid: Oid) -> Option<String> {
        self.view.find_database(oid).ok()?.map(|d| d.name.to_string())
    }
}

/// A name in parts, as functions that are given one as a text read it: whatever is not quoted is
/// taken as it is, but in small letters.
fn qualified_name(text: &str) -> Result<parser::ast::Name> {
    const LENGTH_MAX: usize = 63;
    let invalid = || err!(INVALID_NAME, "invalid name syntax");
    let blank = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(blank);
    loop {
        let mut part = String::new();
        if let Some(mut quoted) = rest.strip_prefix('"') {
            loop {
                let (piece, after) = quoted.split_once('"').ok_or_else(invalid)?;
                part.push_str(piece);
                let Some(more) = after.strip_prefix('"') else {
                    rest = after;
                    break;
                };
                part.push('"');
                quoted = more;
            }
        } else {
            let end = rest.find(|c| c == '.' || blank(c)).unwrap_or(rest.len());
            if end == 0 {
                return Err(invalid());
            }
            part.push_str(&rest[..end].to_ascii_lowercase());
            rest = &rest[end..];
        }
        let mut end = part.len().min(LENGTH_MAX);
        while !part.is_char_boundary(end) {
            end -= 1;
        }
        part.truncate(end);
        parts.push(part);
        rest = rest.trim_start_matches(blank);
        match rest.strip_prefix('.') {
            Some(after) => rest = after.trim_start_matches(blank),
            None if rest.is_empty() => return Ok(parser::ast::Name { parts, pos: 0 }),
            None => return Err(invalid()),
        }
    }
}

/// The parts of an object's name; operators have no letters.
fn reg_parts(reg_type: Oid, text: &str) -> Result<parser::ast::Name> {
    if reg_type == oids::REGTYPE {
        // A type's name has a grammar of its own.
        return Ok(parser::ast::Name { parts: vec![text.to_string()], pos: 0 });
    }
    if !matches!(reg_type, oids::REGOPER | oids::REGOPERATOR) {
        return qualified_name(text);
    }
    let name = text.trim().split('(').next().unwrap_or("").trim();
    let parts = match name.rsplit_once('.') {
        Some((schema, op)) => vec![schema.to_string(), op.to_string()],
        None => vec![name.to_string()],
    };
    Ok(parser::ast::Name { parts, pos: 0 })
}
