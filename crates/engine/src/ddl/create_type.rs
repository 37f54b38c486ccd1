//! CREATE TYPE and CREATE DOMAIN, and ALTER of enums and domains.

use super::Ddl;
use super::column::NewColumn;
use super::key::NewConstraint;
use super::name::split;
use super::relation::NewRelation;
use super::table::def_text;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{ConstraintDesc, EnumLabel, RelKind, SysRow, TypeDesc, indexes, oids};
use parser::ast::{
    self, AlterDomainAction, AlterDomainStmt, AlterEnumStmt, Constraint, ConstraintKind,
    CreateDomainStmt, CreateTypeKind, CreateTypeStmt, DefElem, DefValue, Name, Object,
    ObjectDetail, ObjectKind,
};
use std::sync::Arc;
use types::Datum;

/// The columns of `pg_type` that differ between kinds of types.
pub(super) struct NewType<'a> {
    pub name: &'a str,
    pub namespace: Oid,
    pub kind: u8,
    pub category: u8,
    pub len: i16,
    pub by_val: bool,
    pub align: u8,
    pub storage: u8,
    /// Input, output, receive, send.
    pub io: [u32; 4],
    pub collation: Oid,
}

impl Ddl<'_> {
    /// The schema and name of a new type; a name an array type has is freed.
    fn new_type_name<'n>(&self, name: &'n Name) -> Result<(Oid, &'n str)> {
        let (schema, last) = split(name);
        let namespace = self.creation_namespace(schema)?;
        self.free_type_name(namespace, last)?;
        Ok((namespace, last))
    }

    fn free_type_name(&self, namespace: Oid, name: &str) -> Result<()> {
        let Some(found) = self.view.type_oid_in(namespace, name)? else { return Ok(()) };
        let t = self.view.type_(found)?;
        if t.is_array() {
            return self.make_room(found, namespace, name);
        }
        if !t.is_defined {
            return Ok(());
        }
        bail!(DUPLICATE_OBJECT, "type \"{name}\" already exists")
    }

    pub(super) fn insert_type(
        &self,
        new: &NewType<'_>,
        fill: &dyn Fn(&mut SysRow) -> Result<()>,
    ) -> Result<Oid> {
        // A shell is filled in place.
        let shell = self.view.type_oid_in(new.namespace, new.name)?;
        let mut row = match shell {
            Some(oid) => self.row_by_oid(indexes::PG_TYPE_OID, oid)?,
            None => SysRow::new(oids::PG_TYPE)?,
        };
        let oid = match shell {
            Some(oid) => oid,
            None => self.rows.new_oid(oids::PG_TYPE)?,
        };
        row.set_oid("oid", oid)?
            .set_text("typname", new.name)?
            .set_oid("typnamespace", new.namespace)?
            .set_oid("typowner", self.user())?
            .set_i16("typlen", new.len)?
            .set_bool("typbyval", new.by_val)?
            .set_char("typtype", new.kind)?
            .set_char("typcategory", new.category)?
            .set_bool("typisdefined", true)?
            .set_char("typdelim", b',')?
            .set_oid("typinput", Oid(new.io[0]))?
            .set_oid("typoutput", Oid(new.io[1]))?
            .set_oid("typreceive", Oid(new.io[2]))?
            .set_oid("typsend", Oid(new.io[3]))?
            .set_char("typalign", new.align)?
            .set_char("typstorage", new.storage)?
            .set_i32("typtypmod", -1)?
            .set_oid("typcollation", new.collation)?;
        fill(&mut row)?;
        let kind = catalog::privilege::Grantable::Type;
        let acl = self.acl_of_new(kind, self.user(), new.namespace)?;
        self.set_new_acl(&mut row, "typacl", &acl)?;
        if shell.is_some() {
            self.rows.update(row)?;
            return Ok(oid);
        }
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_TYPE, oid);
        let schema = ObjectAddress::new(oids::PG_NAMESPACE, new.namespace);
        depend::record(self.rows, own, schema, DependKind::Normal)?;
        self.depend_owner(own, self.user())?;
        self.depend_new_acl(own, self.user(), &acl)?;
        Ok(oid)
    }

    pub(super) fn add_array(&self, elem: Oid, name: &str, namespace: Oid, align: u8) -> Result<()> {
        let array = self.rows.new_oid(oids::PG_TYPE)?;
        self.create_array_type(array, elem, name, namespace, self.user(), align)?;
        let mut row = self.row_by_oid(indexes::PG_TYPE_OID, elem)?;
        row.set_oid("typarray", array)?;
        self.rows.update(row)?;
        Ok(())
    }

    /// CREATE TYPE.
    pub fn create_type(&self, stmt: &CreateTypeStmt) -> Result<()> {
        match &stmt.kind {
            CreateTypeKind::Composite(columns) => self.create_composite(&stmt.name, columns),
            CreateTypeKind::Enum(labels) => self.create_enum(&stmt.name, labels),
            CreateTypeKind::Range(options) => self.create_range(&stmt.name, options),
        }
    }

    fn create_composite(&self, name: &Name, defs: &[ast::ColumnDef]) -> Result<()> {
        let (namespace, last) = self.new_type_name(name)?;
        let mut columns = Vec::new();
        for def in defs {
            let Some(type_name) = &def.type_name else { continue };
            let t = self.resolve_type(type_name)?;
            let own = self.view.type_(t.oid)?.collation;
            let collation = match &def.collation {
                Some(name) => self.collation(name)?,
                None => own,
            };
            columns.push(NewColumn::new(&def.name, t, collation));
        }
        self.create_relation(NewRelation {
            oid: None,
            name: last,
            namespace,
            kind: RelKind::Composite,
            persistence: catalog::Persistence::Permanent,
            owner: self.user(),
            am: Oid::INVALID,
            tablespace: Oid::INVALID,
            columns: &columns,
            options: Vec::new(),
            of_type: Oid::INVALID,
            is_partition: false,
        })?;
        Ok(())
    }

    fn create_enum(&self, name: &Name, labels: &[String]) -> Result<()> {
        let (namespace, last) = self.new_type_name(name)?;
        let oid = self.insert_type(
            &NewType {
                name: last,
                namespace,
                kind: b'e',
                category: b'E',
                len: 4,
                by_val: true,
                align: b'i',
                storage: b'p',
                io: [3506, 3507, 3532, 3533],
                collation: Oid::INVALID,
            },
            &|_| Ok(()),
        )?;
        self.env.core.new_enums.lock().types.insert(oid);
        for (i, label) in labels.iter().enumerate() {
            check_label(label)?;
            if labels[..i].contains(label) {
                bail!(DUPLICATE_OBJECT, "enum label \"{label}\" used more than once");
            }
            self.insert_label(oid, label, i as f32 + 1.0, &[])?;
        }
        self.add_array(oid, last, namespace, b'i')
    }

    /// Adds a label to those that a type has.
    fn insert_label(
        &self,
        type_oid: Oid,
        label: &str,
        order: f32,
        others: &[EnumLabel],
    ) -> Result<()> {
        // Even numbers say that the labels' order is the order of their numbers; a label for which
        // that is not so gets an odd one.
        let fits = |oid: Oid| {
            let mut even = others.iter().filter(|l| l.oid.0 % 2 == 0);
            even.all(|l| (l.oid < oid) == (l.sort_order < order))
        };
        let mut oid = self.rows.new_oid(oids::PG_ENUM)?;
        while (oid.0 % 2 == 0) != fits(oid) {
            oid = self.rows.new_oid(oids::PG_ENUM)?;
        }
        let mut row = SysRow::new(oids::PG_ENUM)?;
        row.set_oid("oid", oid)?
            .set_oid("enumtypid", type_oid)?
            .set_f32("enumsortorder", order)?
            .set_text("enumlabel", label)?;
        self.rows.insert(row)?;
        let mut new = self.env.core.new_enums.lock();
        if !new.types.contains(&type_oid) {
            new.labels.insert(oid);
        }
        Ok(())
    }

    /// The type a statement names, of one kind.
    fn named_type(&self, name: &Name) -> Result<Arc<TypeDesc>> {
        let (schema, last) = split(name);
        self.view.type_named(schema, last)?.ok_or_else(|| {
            err!(UNDEFINED_OBJECT, "type \"{}\" does not exist", name.parts.join("."))
        })
    }

    /// ALTER TYPE .. ADD VALUE and RENAME VALUE.
    pub fn alter_enum(&self, stmt: &AlterEnumStmt) -> Result<()> {
        let t = self.named_type(&stmt.name)?;
        if t.kind != b'e' {
            bail!(WRONG_OBJECT_TYPE, "{} is not an enum", self.format_type(t.oid, -1));
        }
        self.require_owner(ObjectAddress::new(oids::PG_TYPE, t.oid))?;
        let labels = self.view.enum_labels(t.oid)?;
        let mut sorted: Vec<_> = labels.iter().cloned().collect();
        sorted.sort_by(|a, b| a.sort_order.total_cmp(&b.sort_order));
        let has = |l: &str| sorted.iter().position(|e| &*e.label == l);
        check_label(&stmt.new_value)?;
        if let Some(old) = &stmt.old_value {
            let Some(at) = has(old) else {
                bail!(INVALID_PARAMETER_VALUE, "\"{old}\" is not an existing enum label");
            };
            if has(&stmt.new_value).is_some() {
                bail!(DUPLICATE_OBJECT, "enum label \"{}\" already exists", stmt.new_value);
            }
            let mut row = self.row_by_oid(indexes::PG_ENUM_OID, sorted[at].oid)?;
            row.set_text("enumlabel", &stmt.new_value)?;
            self.rows.update(row)?;
            return Ok(());
        }
        if has(&stmt.new_value).is_some() {
            let text = format!("enum label \"{}\" already exists", stmt.new_value);
            if stmt.if_not_exists {
                self.skip_notice(format!("{text}, skipping"));
                return Ok(());
            }
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, text));
        }
        let order = match &stmt.neighbor {
            None => sorted.last().map_or(1.0, |l| l.sort_order + 1.0),
            Some(n) => {
                let Some(at) = has(n) else {
                    bail!(INVALID_PARAMETER_VALUE, "\"{n}\" is not an existing enum label");
                };
                let own = sorted[at].sort_order;
                match stmt.after {
                    true => match sorted.get(at + 1) {
                        Some(next) => (own + next.sort_order) / 2.0,
                        None => own + 1.0,
                    },
                    false => match at.checked_sub(1).and_then(|i| sorted.get(i)) {
                        Some(before) => (own + before.sort_order) / 2.0,
                        None => own - 1.0,
                    },
                }
            }
        };
        if sorted.iter().any(|l| l.sort_order == order) {
            // No number is left between the two: all labels get new ones.
            for (i, l) in sorted.iter().enumerate().rev() {
                let mut row = self.row_by_oid(indexes::PG_ENUM_OID, l.oid)?;
                row.set_f32("enumsortorder", (sorted.len() + i) as f32 + 1.0)?;
                self.rows.update(row)?;
            }
            for (i, l) in sorted.iter().enumerate() {
                let mut row = self.row_by_oid(indexes::PG_ENUM_OID, l.oid)?;
                row.set_f32("enumsortorder", i as f32 + 1.0)?;
                self.rows.update(row)?;
            }
            return self.alter_enum(stmt);
        }
        self.insert_label(t.oid, &stmt.new_value, order, &labels)
    }

    fn create_range(&self, name: &Name, options: &[DefElem]) -> Result<()> {
        let (namespace, last) = self.new_type_name(name)?;
        let mut subtype = None;
        let mut opclass_name = None;
        let mut collation_name = None;
        let mut multirange_name = None;
        let mut subdiff = None;
        for o in options {
            match o.name.as_str() {
                "subtype" => match &o.value {
                    Some(DefValue::Type(t)) => subtype = Some(self.resolve_type(t)?.oid),
                    _ => bail!(SYNTAX_ERROR, "type attribute \"subtype\" is required"),
                },
                "subtype_opclass" => opclass_name = def_name(o),
                "collation" => collation_name = def_name(o),
                "multirange_type_name" => multirange_name = def_name(o),
                "subtype_diff" => subdiff = def_name(o),
                "canonical" => return Err(Error::unsupported("canonical functions of ranges")),
                other => bail!(SYNTAX_ERROR, "type attribute \"{other}\" not recognized"),
            }
        }
        let Some(subtype) = subtype else {
            bail!(SYNTAX_ERROR, "type attribute \"subtype\" is required");
        };
        let sub = self.view.type_(subtype)?;
        if sub.kind == b'p' {
            bail!(DATATYPE_MISMATCH, "range subtype cannot be {}", self.format_type(subtype, -1));
        }
        let class = self.choose_opclass(oids::BTREE_AM, "btree", subtype, opclass_name.as_ref())?;
        let collation = match (&collation_name, sub.collation.is_valid()) {
            (Some(_), false) => bail!(
                WRONG_OBJECT_TYPE,
                "range collation specified but subtype does not support collation"
            ),
            (Some(name), true) => self.collation(name)?,
            (None, _) => sub.collation,
        };
        let subdiff = match subdiff {
            Some(name) => {
                let (schema, last) = split(&name);
                let found = self.view.procs_named(schema, last)?;
                let fits = |p: &&Arc<catalog::ProcDesc>| p.arg_types == [subtype, subtype];
                match found.iter().find(fits) {
                    Some(p) => p.oid,
                    None => {
                        let shown = self.format_type(subtype, -1);
                        bail!(
                            UNDEFINED_FUNCTION,
                            "function {}({shown}, {shown}) does not exist",
                            name.parts.join(".")
                        )
                    }
                }
            }
            None => Oid::INVALID,
        };
        let align = if sub.align == b'd' { b'd' } else { b'i' };
        let range = |name, kind, io| NewType {
            name,
            namespace,
            kind,
            category: b'R',
            len: -1,
            by_val: false,
            align,
            storage: b'x',
            io,
            collation: Oid::INVALID,
        };
        let new = range(last, b'r', [3834, 3835, 3836, 3837]);
        let oid = self.insert_type(&new, &analyzed_by(3916))?;
        let multi_name = match &multirange_name {
            Some(n) => split(n).1.to_string(),
            None => multirange_of(last),
        };
        self.free_type_name(namespace, &multi_name)?;
        let new = range(&multi_name, b'm', [4231, 4232, 4233, 4234]);
        let multi = self.insert_type(&new, &analyzed_by(4242))?;
        let mut row = SysRow::new(oids::PG_RANGE)?;
        row.set_oid("rngtypid", oid)?
            .set_oid("rngsubtype", subtype)?
            .set_oid("rngmultitypid", multi)?
            .set_oid("rngcollation", collation)?
            .set_oid("rngsubopc", class.oid)?
            .set_oid("rngcanonical", Oid::INVALID)?
            .set_oid("rngsubdiff", subdiff)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_TYPE, oid);
        for (c, o) in
            [(oids::PG_TYPE, subtype), (oids::PG_OPCLASS, class.oid), (oids::PG_PROC, subdiff)]
        {
            depend::record(self.rows, own, ObjectAddress::new(c, o), DependKind::Normal)?;
        }
        let multi_address = ObjectAddress::new(oids::PG_TYPE, multi);
        depend::record(self.rows, multi_address, own, DependKind::Internal)?;
        self.add_array(oid, last, namespace, align)?;
        self.add_array(multi, &multi_name, namespace, align)?;
        self.range_constructors(oid, last, multi, &multi_name, subtype, namespace)
    }

    /// The functions named like a range type that make its values.
    fn range_constructors(
        &self,
        range: Oid,
        name: &str,
        multi: Oid,
        multi_name: &str,
        subtype: Oid,
        namespace: Oid,
    ) -> Result<()> {
        let array = self.view.type_(range)?.array;
        let all: [(Oid, &str, Vec<Oid>, &str, Oid, bool); 5] = [
            (range, name, vec![subtype, subtype], "range_constructor2", Oid::INVALID, false),
            (
                range,
                name,
                vec![subtype, subtype, oids::TEXT],
                "range_constructor3",
                Oid::INVALID,
                false,
            ),
            (multi, multi_name, vec![], "multirange_constructor0", Oid::INVALID, true),
            (multi, multi_name, vec![range], "multirange_constructor1", Oid::INVALID, true),
            (multi, multi_name, vec![array], "multirange_constructor2", range, true),
        ];
        for (result, name, args, source, variadic, strict) in all {
            let oid = self.insert_proc(&super::function::NewProc {
                name,
                namespace,
                language: oids::INTERNAL_LANGUAGE,
                kind: b'f',
                return_type: result,
                args: args.clone(),
                modes: variadic.is_valid().then(|| vec![b'v']),
                variadic,
                source,
                strict,
                volatility: b'i',
                parallel: b's',
                ..super::function::NewProc::default()
            })?;
            let own = ObjectAddress::new(oids::PG_PROC, oid);
            depend::forget(self.rows, own)?;
            let ty = ObjectAddress::new(oids::PG_TYPE, result);
            depend::record(self.rows, own, ty, DependKind::Internal)?;
            if args == [range] {
                // The multirange of one range is what it is cast to.
                let how = (b'e', b'f');
                self.insert_cast((range, multi), oid, how, DependKind::Internal)?;
            }
        }
        Ok(())
    }

    /// CREATE TYPE name, without a definition.
    pub fn create_shell_type(&self, name: &Name) -> Result<()> {
        let (schema, last) = split(name);
        let namespace = self.creation_namespace(schema)?;
        if let Some(found) = self.view.type_oid_in(namespace, last)? {
            let t = self.view.type_(found)?;
            match t.is_array() {
                true => self.make_room(found, namespace, last)?,
                false => bail!(DUPLICATE_OBJECT, "type \"{last}\" already exists"),
            }
        }
        self.insert_type(
            &NewType {
                name: last,
                namespace,
                kind: b'p',
                category: b'P',
                len: 4,
                by_val: true,
                align: b'i',
                storage: b'p',
                io: [2398, 2399, 0, 0],
                collation: Oid::INVALID,
            },
            &|row| row.set_bool("typisdefined", false).map(|_| ()),
        )?;
        Ok(())
    }

    /// CREATE DOMAIN.
    pub fn create_domain(&self, stmt: &CreateDomainStmt) -> Result<()> {
        let (namespace, last) = self.new_type_name(&stmt.name)?;
        let base = self.resolve_type(&stmt.type_name)?;
        let t = self.view.type_(base.oid)?;
        if !matches!(t.kind, b'b' | b'c' | b'd' | b'e' | b'r' | b'm') {
            return Err(err!(
                DATATYPE_MISMATCH,
                "\"{}\" is not a valid base type for a domain",
                self.format_type(base.oid, -1)
            )
            .at(stmt.type_name.pos));
        }
        let collation = match &stmt.collation {
            Some(name) if t.collation.is_valid() => self.collation(name)?,
            Some(name) => {
                let e = err!(
                    DATATYPE_MISMATCH,
                    "collations are not supported by type {}",
                    self.format_type(base.oid, -1)
                );
                return Err(e.at(name.pos));
            }
            None => t.collation,
        };
        let (not_null, default) = domain_options(stmt)?;
        let default = default.map(|e| self.cook_type_default(last, base.oid, base.typmod, e));
        let default = default.transpose()?;
        let texts = match &default {
            Some(e) => Some(self.default_texts(e)?),
            None => None,
        };
        let oid = self.insert_type(
            &NewType {
                name: last,
                namespace,
                kind: b'd',
                category: t.category,
                len: t.len,
                by_val: t.by_val,
                align: t.align,
                storage: t.storage,
                io: [2597, t.output.0, 2598, t.send.0],
                collation,
            },
            &|row| {
                row.set_bool("typnotnull", not_null == Some(true))?
                    .set_oid("typbasetype", base.oid)?
                    .set_i32("typtypmod", base.typmod)?
                    .set_i32("typndims", i32::from(base.ndims))?
                    .set_char("typdelim", t.delim)?
                    .set_oid("typanalyze", t.analyze)?;
                if let Some((tree, text)) = &texts {
                    row.set_text("typdefaultbin", tree)?.set_text("typdefault", text)?;
                }
                Ok(())
            },
        )?;
        let own = ObjectAddress::new(oids::PG_TYPE, oid);
        let base_address = ObjectAddress::new(oids::PG_TYPE, base.oid);
        depend::record(self.rows, own, base_address, DependKind::Normal)?;
        if collation != t.collation {
            let collation = ObjectAddress::new(oids::PG_COLLATION, collation);
            depend::record(self.rows, own, collation, DependKind::Normal)?;
        }
        if let Some(e) = &default {
            self.depend_expr(own, e, Oid::INVALID)?;
        }
        self.add_array(oid, last, namespace, t.align)?;
        for c in &stmt.constraints {
            match &c.kind {
                ConstraintKind::Check(e) => {
                    self.add_domain_check(oid, c, e)?;
                }
                ConstraintKind::NotNull(_) => self.add_domain_not_null(oid, c.name.as_deref())?,
                _ => {}
            }
        }
        Ok(())
    }

    fn cook_type_default(
        &self,
        name: &str,
        ty: Oid,
        typmod: i32,
        e: &ast::Expr,
    ) -> Result<ir::Expr> {
        let env = crate::analysis::env(self.env);
        analyze::column_default(&env, name, ty, typmod, e, None)
    }

    /// A default as it is stored, and as text.
    fn default_texts(&self, e: &ir::Expr) -> Result<(String, String)> {
        let names = crate::sysfn::ViewNames::new(&self.view, functions::FnEnv::io(self.env));
        let text = ir::deparse::expression(e, &[], &names, ir::deparse::Style::PLAIN, false)?;
        Ok((crate::cook::to_text(e)?, text))
    }

    fn domain_constraint_name(
        &self,
        domain: &TypeDesc,
        given: Option<&str>,
        label: &str,
    ) -> Result<String> {
        match given {
            Some(name) => {
                let all = self.view.domain_constraints(domain.oid)?;
                if all.iter().any(|c| &*c.name == name) {
                    bail!(
                        DUPLICATE_OBJECT,
                        "constraint \"{name}\" for domain \"{}\" already exists",
                        domain.name
                    );
                }
                Ok(name.to_string())
            }
            None => self.choose_constraint_name(&domain.name, None, label, domain.namespace, &[]),
        }
    }

    fn add_domain_check(&self, domain: Oid, c: &Constraint, e: &ast::Expr) -> Result<ir::Expr> {
        let t = self.view.type_(domain)?;
        let name = self.domain_constraint_name(&t, c.name.as_deref(), "check")?;
        let env = crate::analysis::env(self.env);
        let cooked = analyze::domain_check(&env, t.base_type, t.typmod, e);
        let cooked = cooked.map_err(|e| e.placed(None))?;
        let oid = self.insert_constraint(NewConstraint {
            domain,
            validated: !c.not_valid,
            expr: Some(crate::cook::to_text(&cooked)?),
            ..NewConstraint::new(&name, t.namespace, b'c', Oid::INVALID)
        })?;
        let own = ObjectAddress::new(oids::PG_CONSTRAINT, oid);
        self.depend_expr(own, &cooked, Oid::INVALID)?;
        Ok(cooked)
    }

    fn add_domain_not_null(&self, domain: Oid, name: Option<&str>) -> Result<()> {
        let t = self.view.type_(domain)?;
        let name = self.domain_constraint_name(&t, name, "not_null")?;
        self.insert_constraint(NewConstraint {
            domain,
            ..NewConstraint::new(&name, t.namespace, b'n', Oid::INVALID)
        })?;
        Ok(())
    }

    /// ALTER DOMAIN.
    pub fn alter_domain(&self, stmt: &AlterDomainStmt) -> Result<()> {
        let object = Object {
            kind: ObjectKind::Domain,
            name: stmt.name.clone(),
            only: false,
            detail: ObjectDetail::None,
        };
        let t = self.named_type(&stmt.name)?;
        if t.kind != b'd' {
            bail!(WRONG_OBJECT_TYPE, "{} is not a domain", self.format_type(t.oid, -1));
        }
        let _ = object;
        let own = ObjectAddress::new(oids::PG_TYPE, t.oid);
        self.require_owner(own)?;
        let row = || self.row_by_oid(indexes::PG_TYPE_OID, t.oid);
        match &stmt.action {
            AlterDomainAction::SetDefault(e) => {
                let cooked = self.cook_type_default(&t.name, t.base_type, t.typmod, e)?;
                let (tree, text) = self.default_texts(&cooked)?;
                let mut row = row()?;
                row.set_text("typdefaultbin", &tree)?.set_text("typdefault", &text)?;
                self.rows.update(row)?;
                self.depend_expr(own, &cooked, Oid::INVALID)
            }
            AlterDomainAction::DropDefault => {
                let mut row = row()?;
                row.set("typdefaultbin", Datum::Null)?.set("typdefault", Datum::Null)?;
                self.rows.update(row)?;
                Ok(())
            }
            AlterDomainAction::SetNotNull => self.set_domain_not_null(&t, None),
            AlterDomainAction::DropNotNull => {
                if !t.not_null {
                    return Ok(());
                }
                let all = self.view.domain_constraints(t.oid)?;
                for c in all.iter().filter(|c| c.kind == b'n') {
                    self.remove_one(ObjectAddress::new(oids::PG_CONSTRAINT, c.oid))?;
                }
                let mut row = row()?;
                row.set_bool("typnotnull", false)?;
                self.rows.update(row)?;
                Ok(())
            }
            AlterDomainAction::AddConstraint(c) => match &c.kind {
                ConstraintKind::Check(e) => {
                    let cooked = self.add_domain_check(t.oid, c, e)?;
                    if c.not_valid {
                        return Ok(());
                    }
                    self.check_domain_users(&t, Some(&cooked))
                }
                ConstraintKind::NotNull(_) => self.set_domain_not_null(&t, c.name.as_deref()),
                other => Err(refused_for_domain(other)),
            },
            AlterDomainAction::DropConstraint { name, missing_ok, cascade } => {
                self.drop_domain_constraint(&t, name, *missing_ok, *cascade)
            }
            AlterDomainAction::ValidateConstraint(name) => {
                let all = self.view.domain_constraints(t.oid)?;
                let Some(c) = all.iter().find(|c| &*c.name == name.as_str()) else {
                    bail!(
                        UNDEFINED_OBJECT,
                        "constraint \"{name}\" of domain \"{}\" does not exist",
                        t.name
                    );
                };
                self.validate_domain(&t, c)
            }
        }
    }

    fn validate_domain(&self, t: &TypeDesc, c: &ConstraintDesc) -> Result<()> {
        let Some(text) = c.expr.as_ref().filter(|_| c.kind == b'c') else {
            bail!(
                WRONG_OBJECT_TYPE,
                "constraint \"{}\" of domain \"{}\" is not a check constraint",
                c.name,
                t.name
            );
        };
        let cooked: ir::Expr = crate::cook::from_text(text)?;
        self.check_domain_users(t, Some(&cooked))?;
        let mut row = self.constraint_row(c.oid)?;
        row.set_bool("convalidated", true)?;
        self.rows.update(row)?;
        Ok(())
    }

    fn drop_domain_constraint(
        &self,
        t: &TypeDesc,
        name: &str,
        missing_ok: bool,
        cascade: bool,
    ) -> Result<()> {
        let all = self.view.domain_constraints(t.oid)?;
        let Some(c) = all.iter().find(|c| &*c.name == name) else {
            let text = format!("constraint \"{name}\" of domain \"{}\" does not exist", t.name);
            if missing_ok {
                self.skip_notice(format!("{text}, skipping"));
                return Ok(());
            }
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, text));
        };
        if c.kind == b'n' {
            let mut row = self.row_by_oid(indexes::PG_TYPE_OID, t.oid)?;
            row.set_bool("typnotnull", false)?;
            self.rows.update(row)?;
        }
        self.drop_objects(&[ObjectAddress::new(oids::PG_CONSTRAINT, c.oid)], cascade)
    }

    fn set_domain_not_null(&self, t: &TypeDesc, name: Option<&str>) -> Result<()> {
        if t.not_null {
            return Ok(());
        }
        self.add_domain_not_null(t.oid, name)?;
        self.check_domain_users(t, None)?;
        let mut row = self.row_by_oid(indexes::PG_TYPE_OID, t.oid)?;
        row.set_bool("typnotnull", true)?;
        self.rows.update(row)?;
        Ok(())
    }

    /// Rows that hold values of a domain must pass a new check (or, without one, not be null).
    fn check_domain_users(&self, t: &TypeDesc, check: Option<&ir::Expr>) -> Result<()> {
        for (table, n) in self.domain_columns(t.oid, t)? {
            self.storage.lock(table, ast::LockMode::Share)?;
            let rel = self.view.relation(table)?;
            let attr = &rel.tuple.attrs[n as usize - 1];
            let var = ir::Expr::Var(ir::Var::new(1, n, attr.type_oid, attr.typmod, attr.collation));
            let condition = match check {
                Some(check) => {
                    let mut e = check.clone();
                    ir::walk::transform(&mut e, &mut |e| {
                        if matches!(e, ir::Expr::DomainValue { .. }) {
                            *e = var.clone();
                        }
                    });
                    e
                }
                None => ir::Expr::NullTest {
                    kind: ir::NullTestKind::IsNotNull,
                    arg: Box::new(var),
                    is_row: false,
                    location: None,
                },
            };
            if self.storage.violates(&rel, &condition)? {
                return Err(match check {
                    Some(_) => err!(
                        CHECK_VIOLATION,
                        "column \"{}\" of table \"{}\" contains values that violate the new \
                         constraint",
                        attr.name,
                        rel.name
                    ),
                    None => err!(
                        NOT_NULL_VIOLATION,
                        "column \"{}\" of table \"{}\" contains null values",
                        attr.name,
                        rel.name
                    ),
                });
            }
        }
        Ok(())
    }

    /// Fails if a column holds values of a type that contains a domain: they are not looked at.
    fn refuse_within(&self, container: Oid, domain: &TypeDesc) -> Result<()> {
        let Some((user, column)) = self.column_of_type(container)? else { return Ok(()) };
        bail!(
            FEATURE_NOT_SUPPORTED,
            "cannot alter type \"{}\" because column \"{}.{column}\" uses it",
            self.format_type(domain.oid, -1),
            user.name
        )
    }

    /// Columns of tables with files whose type is a domain or a domain over it.
    fn domain_columns(&self, domain: Oid, named: &TypeDesc) -> Result<Vec<(Oid, i16)>> {
        let mut all = Vec::new();
        let own = ObjectAddress::new(oids::PG_TYPE, domain);
        for d in depend::dependents_of(self.rows, own)? {
            match d.depender.class {
                oids::PG_CLASS if d.depender.sub > 0 => {
                    let rel = self.view.relation(d.depender.object)?;
                    if rel.relfile.number != 0 && !matches!(rel.kind, RelKind::Index) {
                        all.push((rel.oid, d.depender.sub as i16));
                    } else if rel.kind == RelKind::Composite {
                        self.refuse_within(rel.row_type, named)?;
                    }
                }
                oids::PG_TYPE => {
                    let t = self.view.type_(d.depender.object)?;
                    if t.kind == b'd' && t.base_type == domain {
                        all.extend(self.domain_columns(t.oid, named)?);
                    } else {
                        self.refuse_within(t.oid, named)?;
                    }
                }
                _ => {}
            }
        }
        Ok(all)
    }
}

/// NOT NULL (or NULL) and DEFAULT of a new domain; what domains cannot have is refused.
fn domain_options(stmt: &CreateDomainStmt) -> Result<(Option<bool>, Option<&ast::Expr>)> {
    let mut not_null = None;
    let mut default: Option<&ast::Expr> = None;
    for c in &stmt.constraints {
        match &c.kind {
            ConstraintKind::NotNull(_) if not_null == Some(false) => {
                let e = err!(SYNTAX_ERROR, "conflicting NULL/NOT NULL constraints");
                return Err(e.at(c.pos));
            }
            ConstraintKind::Null if not_null == Some(true) => {
                let e = err!(SYNTAX_ERROR, "conflicting NULL/NOT NULL constraints");
                return Err(e.at(c.pos));
            }
            ConstraintKind::NotNull(_) if c.no_inherit => {
                let text = "not-null constraints for domains cannot be marked NO INHERIT";
                return Err(err!(INVALID_OBJECT_DEFINITION, "{text}").at(c.pos));
            }
            ConstraintKind::NotNull(_) if not_null == Some(true) => {
                let e = err!(INVALID_OBJECT_DEFINITION, "redundant NOT NULL constraint definition");
                return Err(e.at(c.pos));
            }
            ConstraintKind::NotNull(_) => not_null = Some(true),
            ConstraintKind::Null => not_null = Some(false),
            ConstraintKind::Default(e) => {
                if default.is_some() {
                    let e = err!(SYNTAX_ERROR, "multiple default expressions");
                    return Err(e.at(c.pos));
                }
                default = Some(e);
            }
            ConstraintKind::Check(_) => {
                if c.no_inherit {
                    let text = "check constraints for domains cannot be marked NO INHERIT";
                    return Err(err!(INVALID_OBJECT_DEFINITION, "{text}").at(c.pos));
                }
            }
            other => return Err(refused_for_domain(other).at(c.pos)),
        }
    }
    Ok((not_null, default))
}

fn refused_for_domain(kind: &ConstraintKind) -> Error {
    let text = match kind {
        ConstraintKind::Unique(_) => "unique constraints not possible for domains",
        ConstraintKind::PrimaryKey(_) => "primary key constraints not possible for domains",
        ConstraintKind::Exclude(_) => "exclusion constraints not possible for domains",
        ConstraintKind::ForeignKey(_) => "foreign key constraints not possible for domains",
        ConstraintKind::Generated { .. } | ConstraintKind::Identity { .. } => {
            "specifying GENERATED not supported for domains"
        }
        _ => "specifying constraint deferrability not supported for domains",
    };
    match kind {
        ConstraintKind::Generated { .. } | ConstraintKind::Identity { .. } => {
            err!(FEATURE_NOT_SUPPORTED, "{text}")
        }
        _ => err!(SYNTAX_ERROR, "{text}"),
    }
}

fn check_label(label: &str) -> Result<()> {
    if label.len() > super::name::MAX_NAME {
        return Err(err!(INVALID_NAME, "invalid enum label \"{label}\"")
            .detail("Labels must be 63 bytes or less."));
    }
    Ok(())
}

/// An option's value as a name.
pub(super) fn def_name(o: &DefElem) -> Option<Name> {
    match o.value.as_ref()? {
        DefValue::Type(t) => Some(Name { parts: t.names.clone(), pos: t.pos }),
        DefValue::Names(parts) => Some(Name { parts: parts.clone(), pos: o.pos }),
        _ => def_text(o).map(|t| Name { parts: vec![t], pos: o.pos }),
    }
}

/// Fills in the function that gathers a type's statistics.
fn analyzed_by(oid: u32) -> impl Fn(&mut SysRow) -> Result<()> {
    move |row| row.set_oid("typanalyze", Oid(oid)).map(drop)
}

/// The name of the multirange type of a range type.
fn multirange_of(range: &str) -> String {
    match range.find("range") {
        Some(at) => {
            let name = format!("{}multirange{}", &range[..at], &range[at + 5..]);
            super::name::clip(&name, super::name::MAX_NAME).to_string()
        }
        None => format!("{}_multirange", super::name::clip(range, super::name::MAX_NAME - 11)),
    }
}

#[cfg(test)]
mod tests {
    use super::multirange_of;

    #[test]
    fn multiranges_are_named_after_their_ranges() {
        assert_eq!(multirange_of("floatrange"), "floatmultirange");
        assert_eq!(multirange_of("rangetype"), "multirangetype");
        assert_eq!(multirange_of("fr"), "fr_multirange");
    }
}
