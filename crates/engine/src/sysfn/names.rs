//! The catalogs' names, for the printer of expressions.

use crate::describe::format_type;
use base::Oid;
use catalog::CatalogView;
use ir::deparse::{Names, ObjectName};
use types::Datum;
use types::io::IoCtx;

/// Names as a view has them; values are written in the session's forms.
pub struct ViewNames<'a> {
    pub view: &'a CatalogView,
    pub io: IoCtx<'a>,
    /// Qualify relations even if they are visible.
    pub qualify: bool,
}

impl<'a> ViewNames<'a> {
    /// Names for a session.
    pub fn new(view: &'a CatalogView, io: IoCtx<'a>) -> ViewNames<'a> {
        ViewNames { view, io, qualify: false }
    }

    fn name(&self, schema: Oid, name: &str, visible: bool) -> Option<ObjectName> {
        let schema = self.view.find_namespace(schema).ok()??;
        let mut schema = schema.name.to_string();
        if schema.starts_with("pg_temp_") {
            schema = "pg_temp".into();
        }
        Some(ObjectName { schema, name: name.to_string(), visible })
    }
}

impl Names for ViewNames<'_> {
    fn relation(&self, oid: Oid) -> Option<ObjectName> {
        let rel = self.view.find_relation(oid).ok()??;
        let visible = !self.qualify && self.view.relation_is_visible(&rel).unwrap_or(false);
        self.name(rel.namespace, &rel.name, visible)
    }

    fn columns(&self, relation: Oid) -> Vec<String> {
        let Ok(Some(rel)) = self.view.find_relation(relation) else { return Vec::new() };
        rel.tuple
            .attrs
            .iter()
            .map(|a| if a.dropped { String::new() } else { a.name.to_string() })
            .collect()
    }

    fn function(&self, oid: Oid) -> Option<ObjectName> {
        let p = self.view.find_proc(oid).ok()??;
        let visible = self.view.proc_is_visible(&p).unwrap_or(false);
        self.name(p.namespace, &p.name, visible)
    }

    fn operator(&self, oid: Oid) -> Option<ObjectName> {
        let o = self.view.find_operator(oid).ok()??;
        let found = self.view.operator_exact(None, &o.name, o.left, o.right).ok().flatten();
        let visible = found.is_some_and(|f| f.oid == oid);
        self.name(o.namespace, &o.name, visible)
    }

    fn collation(&self, oid: Oid) -> Option<ObjectName> {
        let c = self.view.find_collation(oid).ok()??;
        let found = self.view.collation_named(None, &c.name).ok().flatten();
        self.name(c.namespace, &c.name, found.is_some_and(|f| f.oid == oid))
    }

    fn opclass(&self, oid: Oid) -> Option<ObjectName> {
        let c = self.view.find_opclass(oid).ok()??;
        let found = self.view.opclass_named(c.am, None, &c.name).ok().flatten();
        self.name(c.namespace, &c.name, found.is_some_and(|f| f.oid == oid))
    }

    fn constraint(&self, oid: Oid) -> Option<String> {
        Some(self.view.find_constraint(oid).ok()??.name.to_string())
    }

    fn type_name(&self, oid: Oid, typmod: i32) -> String {
        format_type(self.view, oid, typmod)
    }

    fn type_collation(&self, oid: Oid) -> Oid {
        self.view.find_type(oid).ok().flatten().map_or(Oid::INVALID, |t| t.collation)
    }

    fn fields(&self, type_oid: Oid) -> Option<Vec<String>> {
        let mut t = self.view.find_type(type_oid).ok()??;
        while t.kind == b'd' {
            t = self.view.find_type(t.base_type).ok()??;
        }
        (t.kind == b'c').then(|| self.columns(t.relation))
    }

    fn outputs(&self, function: Oid) -> Option<Vec<String>> {
        let p = self.view.find_proc(function).ok()??;
        let modes = p.arg_modes.as_ref()?.iter().enumerate();
        let name = |i: usize| p.arg_names.as_ref().and_then(|n| n.get(i).cloned());
        let outputs: Vec<String> = modes
            .filter(|(_, mode)| matches!(mode, b'o' | b'b' | b't'))
            .map(|(i, _)| name(i).unwrap_or_default())
            .collect();
        (outputs.len() > 1).then_some(outputs)
    }

    fn value_text(&self, type_oid: Oid, value: &Datum) -> String {
        let mut out = Vec::new();
        match types::io::output(type_oid, value, &self.io, &mut out) {
            Ok(()) => String::from_utf8_lossy(&out).into_owned(),
            Err(_) => String::new(),
        }
    }
}
