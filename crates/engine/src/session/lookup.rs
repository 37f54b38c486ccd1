//! The catalogs as values' input and output functions ask for them.

use super::core::SessionCore;
use super::env::StatementEnv;
use crate::ddl::name::quote;
use base::{Oid, Result};
use catalog::{CastMethod, CatalogView, oids};
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

    pub(super) fn text_search(
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

    fn check_enum_use(&self, value: Oid) -> Result<()> {
        let Some(core) = self.core.upgrade() else { return Ok(()) };
        if !core.new_enums.lock().labels.contains(&value) {
            return Ok(());
        }
        let Some(label) = self.view.source().enum_label(value)? else { return Ok(()) };
        let name = functions::CatalogLookup::type_name(self, label.type_oid).unwrap_or_default();
        Err(base::err!(
            UNSAFE_NEW_ENUM_VALUE_USAGE,
            "unsafe use of new value \"{}\" of enum type {name}",
            label.label
        )
        .hint("New enum values must be committed before they can be used."))
    }

    fn enum_rank(&self, type_oid: Oid, value: Oid) -> Option<usize> {
        if type_oid < Oid::FIRST_NORMAL {
            return None;
        }
        let mut found = self.view.find_type(type_oid).ok()??;
        while found.kind == b'd' {
            found = self.view.find_type(found.base_type).ok()??;
        }
        let labels = self.view.enum_labels(found.oid).ok()?;
        labels.iter().position(|l| l.oid == value)
    }

    fn reg_in(&self, reg_type: Oid, text: &str) -> Result<Oid> {
        self.reg_oid(reg_type, text)
    }

    fn relation_in(&self, text: &str) -> Result<Oid> {
        self.reg_relation(text)
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
                crate::describe::format_type_bare(view, oid)
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
                    .map(|t| crate::describe::format_type_bare(view, *t))
                    .collect();
                format!("{}({})", self.qualified(p.namespace, &p.name, visible), args.join(","))
            }
            oids::REGROLE => quote(&view.find_role(oid).ok()??.name),
            oids::REGNAMESPACE => quote(&view.find_namespace(oid).ok()??.name),
            oids::REGOPER => {
                let o = view.find_operator(oid).ok()??;
                // Qualified where the name alone would not find it back.
                match view.operators_named(None, &o.name).ok()?.len() == 1 {
                    true => o.name.to_string(),
                    false => match view.find_namespace(o.namespace) {
                        Ok(Some(n)) => format!("{}.{}", quote(&n.name), o.name),
                        _ => o.name.to_string(),
                    },
                }
            }
            oids::REGOPERATOR => {
                let o = view.find_operator(oid).ok()??;
                let side = |t: Oid| match t.is_valid() {
                    true => crate::describe::format_type_bare(view, t),
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
        self.reg_type(name)
    }

    fn type_name(&self, oid: Oid) -> Option<String> {
        self.view.find_type(oid).ok()??;
        Some(crate::describe::format_type(&self.view, oid, -1))
    }

    fn proc_name(&self, oid: Oid) -> Option<String> {
        Some(self.view.find_proc(oid).ok()??.name.to_string())
    }

    fn cast_proc(&self, source: Oid, target: Oid) -> Option<Oid> {
        let cast = self.view.cast(source, target).ok()??;
        (cast.method == CastMethod::Function).then_some(cast.function)
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
