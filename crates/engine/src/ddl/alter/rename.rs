//! ALTER .. RENAME, SET SCHEMA and OWNER TO.

use crate::ddl::Ddl;
use crate::ddl::describe::Found;
use crate::ddl::text_search::ts_class;
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, ObjectAddress};
use catalog::{RelKind, RelationDesc, indexes, oids};
use parser::ast::{
    LockMode, Object, ObjectDetail, ObjectKind, OwnerStmt, RelName, RenameStmt, SetSchemaStmt,
};
use types::Datum;

fn rel_name(object: &Object) -> RelName {
    let (schema, name) = crate::ddl::name::split(&object.name);
    RelName {
        catalog: None,
        schema: schema.map(str::to_string),
        name: name.to_string(),
        pos: object.name.pos,
    }
}

fn is_relation(kind: ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::Table
            | ObjectKind::Index
            | ObjectKind::Sequence
            | ObjectKind::View
            | ObjectKind::MatView
            | ObjectKind::ForeignTable
    )
}

impl Ddl<'_> {
    /// ALTER .. RENAME.
    pub fn rename(&self, stmt: &RenameStmt) -> Result<()> {
        let object = &stmt.object;
        match object.kind {
            kind if is_relation(kind) => {
                let name = rel_name(object);
                let missing_ok = stmt.missing_ok;
                let Some(rel) = self.relation_to_rename(&name, kind, missing_ok)? else {
                    return Ok(());
                };
                let of_index = kind == ObjectKind::Index
                    && matches!(rel.kind, RelKind::Index | RelKind::PartitionedIndex);
                let mode = match of_index {
                    true => LockMode::ShareUpdateExclusive,
                    false => LockMode::AccessExclusive,
                };
                self.storage.lock(rel.oid, mode)?;
                self.require_owner_of_relation(&rel)?;
                self.rename_relation(&*self.view.relation(rel.oid)?, &stmt.new_name)
            }
            ObjectKind::Column | ObjectKind::Attribute => self.rename_column_stmt(stmt),
            ObjectKind::Constraint => self.rename_constraint(stmt),
            ObjectKind::Trigger | ObjectKind::Rule | ObjectKind::Policy => self.rename_member(stmt),
            ObjectKind::Type | ObjectKind::Domain => self.rename_type_stmt(stmt),
            ObjectKind::DomainConstraint => self.rename_domain_constraint(stmt),
            _ => self.rename_other(stmt),
        }
    }

    /// As for ALTER, but an index may be renamed as a table and the like.
    fn relation_to_rename(
        &self,
        name: &RelName,
        kind: ObjectKind,
        missing_ok: bool,
    ) -> Result<Option<std::sync::Arc<RelationDesc>>> {
        let rel = self.relation_to_alter(name, ObjectKind::Table, missing_ok)?;
        let Some(rel) = rel else { return Ok(None) };
        let wrong = |what: &str| err!(WRONG_OBJECT_TYPE, "\"{}\" is not {what}", rel.name);
        match (kind, rel.kind) {
            (ObjectKind::View, k) if k != RelKind::View => return Err(wrong("a view")),
            (ObjectKind::Sequence, k) if k != RelKind::Sequence => return Err(wrong("a sequence")),
            (ObjectKind::MatView, k) if k != RelKind::MatView => {
                return Err(wrong("a materialized view"));
            }
            (ObjectKind::ForeignTable, k) if k != RelKind::Foreign => {
                return Err(wrong("a foreign table"));
            }
            _ => {}
        }
        Ok(Some(rel))
    }

    /// Renames a relation, its row type, and the constraint an index belongs to.
    pub fn rename_relation(&self, rel: &RelationDesc, new: &str) -> Result<()> {
        if self.view.relation_oid_in(rel.namespace, new)?.is_some() {
            bail!(DUPLICATE_TABLE, "relation \"{new}\" already exists");
        }
        let mut class = self.class_row(rel.oid)?;
        class.set_text("relname", new)?;
        self.rows.update(class)?;
        if rel.row_type.is_valid() {
            self.rename_type(rel.row_type, new)?;
        }
        if matches!(rel.kind, RelKind::Index | RelKind::PartitionedIndex)
            && let Some(index) = &rel.index
        {
            let table = self.view.relation(index.table)?;
            if let Some(c) = table
                .constraints
                .iter()
                .find(|c| c.index == rel.oid && matches!(c.kind, b'p' | b'u' | b'x'))
            {
                let mut row = self.constraint_row(c.oid)?;
                row.set_text("conname", new)?;
                self.rows.update(row)?;
            }
            // The table's descriptor holds its indexes' names.
            self.rows.update(self.class_row(table.oid)?)?;
        }
        Ok(())
    }

    /// Renames a type and the array type over it.
    pub fn rename_type(&self, oid: Oid, new: &str) -> Result<()> {
        let t = self.view.type_(oid)?;
        if let Some(other) = self.view.type_oid_in(t.namespace, new)? {
            self.make_room(other, t.namespace, new)?;
        }
        let mut row = self.row_by_oid(indexes::PG_TYPE_OID, oid)?;
        row.set_text("typname", new)?;
        self.rows.update(row)?;
        if t.array.is_valid() {
            let name = self.array_type_name(new, t.namespace)?;
            let mut row = self.row_by_oid(indexes::PG_TYPE_OID, t.array)?;
            row.set_text("typname", &name)?;
            self.rows.update(row)?;
        }
        Ok(())
    }

    /// An array type whose name is wanted for another type gets another one.
    pub fn make_room(&self, other: Oid, namespace: Oid, name: &str) -> Result<()> {
        let t = self.view.type_(other)?;
        if !t.is_array() {
            bail!(DUPLICATE_OBJECT, "type \"{name}\" already exists");
        }
        let element = self.view.type_(t.elem)?;
        let new = self.array_type_name_but(&element.name, namespace, name)?;
        let mut row = self.row_by_oid(indexes::PG_TYPE_OID, other)?;
        row.set_text("typname", &new)?;
        self.rows.update(row)?;
        Ok(())
    }

    fn rename_column_stmt(&self, stmt: &RenameStmt) -> Result<()> {
        let (name, column) = self.member_of(&stmt.object);
        let kind = match stmt.object.kind {
            ObjectKind::Attribute => ObjectKind::Type,
            _ => stmt.relation_kind,
        };
        let kind = if kind == ObjectKind::Column { ObjectKind::Table } else { kind };
        let Some(rel) = self.relation_to_alter(&name, kind, stmt.missing_ok)? else {
            return Ok(());
        };
        if !matches!(
            rel.kind,
            RelKind::Table
                | RelKind::View
                | RelKind::MatView
                | RelKind::Composite
                | RelKind::Index
                | RelKind::PartitionedIndex
                | RelKind::Foreign
                | RelKind::Partitioned
        ) {
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "cannot rename columns of relation \"{}\"",
                rel.name
            )
            .detail(super::kind::not_supported(rel.kind)));
        }
        self.storage.lock(rel.oid, LockMode::AccessExclusive)?;
        self.require_owner_of_relation(&rel)?;
        if rel.of_type.is_valid() {
            bail!(WRONG_OBJECT_TYPE, "cannot rename column of typed table");
        }
        if rel.kind == RelKind::Composite {
            for typed in self.tables_of_type(&rel)? {
                if !stmt.cascade {
                    return Err(super::typed_table_error(&rel.name));
                }
                self.storage.lock(typed, LockMode::AccessExclusive)?;
                let typed = self.view.relation(typed)?;
                self.rename_column(&typed, &column, &stmt.new_name, true, 0)?;
            }
        }
        self.rename_column(&rel, &column, &stmt.new_name, !stmt.object.only, 0)
    }

    fn rename_column(
        &self,
        rel: &RelationDesc,
        column: &str,
        new: &str,
        recurse: bool,
        expected: i16,
    ) -> Result<()> {
        let children = self.view.children(rel.oid)?;
        if !recurse && !children.is_empty() {
            bail!(
                INVALID_TABLE_DEFINITION,
                "inherited column \"{column}\" must be renamed in child tables too"
            );
        }
        let tree = self.tree(rel.oid)?;
        for below in &tree[1..] {
            // All the parents that it has the column from are renamed too.
            let below = self.view.relation(*below)?;
            let parents = below.parents.iter().filter(|p| tree.contains(p)).count();
            self.rename_own_column(&below, column, new, parents as i16)?;
        }
        self.rename_own_column(rel, column, new, expected)
    }

    fn rename_own_column(
        &self,
        rel: &RelationDesc,
        column: &str,
        new: &str,
        expected: i16,
    ) -> Result<()> {
        let Some(n) = rel.column_number(column) else {
            if crate::ddl::column::SYSTEM_COLUMNS.iter().any(|s| s.0 == column) {
                bail!(FEATURE_NOT_SUPPORTED, "cannot rename system column \"{column}\"");
            }
            bail!(UNDEFINED_COLUMN, "column \"{column}\" does not exist");
        };
        let mut row = self.column_row(rel.oid, n)?;
        if row.i16("attinhcount")? > expected {
            bail!(INVALID_TABLE_DEFINITION, "cannot rename inherited column \"{column}\"");
        }
        if crate::ddl::column::SYSTEM_COLUMNS.iter().any(|s| s.0 == new)
            && rel.kind != RelKind::View
            && rel.kind != RelKind::Composite
        {
            bail!(DUPLICATE_COLUMN, "column name \"{new}\" conflicts with a system column name");
        }
        if rel.column_number(new).is_some() {
            bail!(DUPLICATE_COLUMN, "column \"{new}\" of relation \"{}\" already exists", rel.name);
        }
        row.set_text("attname", new)?;
        self.rows.update(row)?;
        // Indexes name their columns after the table's.
        for index in &rel.indexes {
            for (i, _) in index.columns.iter().enumerate().filter(|(_, c)| **c == n) {
                let mut row = self.column_row(index.oid, i as i16 + 1)?;
                if *row.text("attname")? == *column {
                    row.set_text("attname", new)?;
                    self.rows.update(row)?;
                }
            }
        }
        Ok(())
    }

    /// The relation of a column, constraint and the like, and the member's name.
    fn member_of(&self, object: &Object) -> (RelName, String) {
        match &object.detail {
            ObjectDetail::Member(m) => (rel_name(object), m.clone()),
            _ => {
                let mut own = object.clone();
                let member = own.name.parts.pop().unwrap_or_default();
                (rel_name(&own), member)
            }
        }
    }

    fn rename_constraint(&self, stmt: &RenameStmt) -> Result<()> {
        let (name, constraint) = self.member_of(&stmt.object);
        let Some(rel) = self.relation_to_alter(&name, ObjectKind::Table, stmt.missing_ok)? else {
            return Ok(());
        };
        self.storage.lock(rel.oid, LockMode::AccessExclusive)?;
        self.require_owner_of_relation(&rel)?;
        self.rename_constraint_in(&rel, &constraint, &stmt.new_name, !stmt.object.only, 0)
    }

    fn rename_constraint_in(
        &self,
        rel: &RelationDesc,
        name: &str,
        new: &str,
        recurse: bool,
        expected: i16,
    ) -> Result<()> {
        let Some(c) = rel.constraints.iter().find(|c| &*c.name == name) else {
            bail!(
                UNDEFINED_OBJECT,
                "constraint \"{name}\" for table \"{}\" does not exist",
                rel.name
            );
        };
        if matches!(c.kind, b'c' | b'n') && !c.no_inherit {
            let children = self.view.children(rel.oid)?;
            if !recurse && !children.is_empty() {
                bail!(
                    INVALID_TABLE_DEFINITION,
                    "inherited constraint \"{name}\" must be renamed in child tables too"
                );
            }
            for child in children {
                let child = self.view.relation(child)?;
                if child.constraints.iter().any(|o| &*o.name == name) {
                    self.rename_constraint_in(&child, name, new, true, 1)?;
                }
            }
            if c.inherit_count > expected {
                bail!(INVALID_TABLE_DEFINITION, "cannot rename inherited constraint \"{name}\"");
            }
        }
        if rel.constraints.iter().any(|c| &*c.name == new) {
            bail!(
                DUPLICATE_OBJECT,
                "constraint \"{new}\" for relation \"{}\" already exists",
                rel.name
            );
        }
        if c.index.is_valid() && matches!(c.kind, b'p' | b'u' | b'x') {
            return self.rename_relation(&*self.view.relation(c.index)?, new);
        }
        let mut row = self.constraint_row(c.oid)?;
        row.set_text("conname", new)?;
        self.rows.update(row)?;
        Ok(())
    }

    fn rename_member(&self, stmt: &RenameStmt) -> Result<()> {
        let found = match self.find_object(&stmt.object, stmt.missing_ok)? {
            Found::Object(a) => a,
            Found::Missing(text) => {
                self.skip_notice(format!("{text}, skipping"));
                return Ok(());
            }
        };
        let (index, relation, name, key, word) = match found.class {
            oids::PG_TRIGGER => {
                (indexes::PG_TRIGGER_OID, "tgrelid", "tgname", indexes::PG_TRIGGER_RELID, "trigger")
            }
            oids::PG_POLICY => (Oid(3257), "polrelid", "polname", Oid(3258), "policy"),
            _ => (indexes::PG_REWRITE_OID, "ev_class", "rulename", indexes::PG_REWRITE_REL, "rule"),
        };
        let mut row = self.row_by_oid(index, found.object)?;
        let rel = self.view.relation(row.oid(relation)?)?;
        self.require_owner_of_relation(&rel)?;
        if found.class == oids::PG_REWRITE && row.char("ev_type")? == b'1' {
            bail!(INVALID_OBJECT_DEFINITION, "renaming an ON SELECT rule is not allowed");
        }
        if found.class == oids::PG_REWRITE && stmt.new_name == "_RETURN" {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "non-view rule for \"{}\" must not be named \"_RETURN\"",
                rel.name
            );
        }
        let wanted = [Datum::U32(rel.oid.0), Datum::text(&stmt.new_name)];
        if !self.rows.index_scan(key, &wanted)?.is_empty() {
            bail!(
                DUPLICATE_OBJECT,
                "{word} \"{}\" for {} \"{}\" already exists",
                stmt.new_name,
                if word == "trigger" || word == "policy" { "table" } else { "relation" },
                rel.name
            );
        }
        row.set_text(name, &stmt.new_name)?;
        self.rows.update(row)?;
        Ok(())
    }

    fn rename_type_stmt(&self, stmt: &RenameStmt) -> Result<()> {
        let Found::Object(a) = self.find_object(&stmt.object, stmt.missing_ok)? else {
            return Ok(());
        };
        self.require_owner(a)?;
        let t = self.view.type_(a.object)?;
        if t.kind == b'c' {
            let rel = self.view.relation(t.relation)?;
            if rel.kind != RelKind::Composite {
                return Err(err!(
                    WRONG_OBJECT_TYPE,
                    "{} is a table's row type",
                    self.format_type(t.oid, -1)
                )
                .hint("Use ALTER TABLE instead."));
            }
            return self.rename_relation(&rel, &stmt.new_name);
        }
        if t.is_array() {
            let elem = self.format_type(t.elem, -1);
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "cannot alter array type {}",
                self.format_type(t.oid, -1)
            )
            .hint(format!("You can alter type {elem}, which will alter the array type as well.")));
        }
        self.rename_type(t.oid, &stmt.new_name)
    }

    fn rename_domain_constraint(&self, stmt: &RenameStmt) -> Result<()> {
        let mut own = stmt.object.clone();
        let member = match &own.detail {
            ObjectDetail::Member(m) => m.clone(),
            _ => own.name.parts.pop().unwrap_or_default(),
        };
        own.kind = ObjectKind::Domain;
        own.detail = ObjectDetail::None;
        let Found::Object(a) = self.find_object(&own, false)? else { return Ok(()) };
        self.require_owner(a)?;
        let all = self.view.domain_constraints(a.object)?;
        let domain = self.format_type(a.object, -1);
        let Some(c) = all.iter().find(|c| *c.name == *member) else {
            bail!(UNDEFINED_OBJECT, "constraint \"{member}\" for domain {domain} does not exist");
        };
        if all.iter().any(|c| *c.name == *stmt.new_name) {
            bail!(
                DUPLICATE_OBJECT,
                "constraint \"{}\" for domain {domain} already exists",
                stmt.new_name
            );
        }
        let mut row = self.constraint_row(c.oid)?;
        row.set_text("conname", &stmt.new_name)?;
        self.rows.update(row)?;
        Ok(())
    }

    /// Objects whose name is a column of their row and nowhere else.
    /// Renames an object whose system table is small.
    fn rename_by_scan(&self, a: ObjectAddress, new: &str) -> Result<()> {
        let (name, schema, method, noun) = match a.class {
            oids::PG_OPCLASS => {
                ("opcname", Some("opcnamespace"), Some("opcmethod"), "operator class")
            }
            oids::PG_OPFAMILY => {
                ("opfname", Some("opfnamespace"), Some("opfmethod"), "operator family")
            }
            oids::PG_CONVERSION => ("conname", Some("connamespace"), None, "conversion"),
            oids::PG_STATISTIC_EXT => ("stxname", Some("stxnamespace"), None, "statistics object"),
            oids::PG_TABLESPACE => ("spcname", None, None, "tablespace"),
            oids::PG_FOREIGN_DATA_WRAPPER => ("fdwname", None, None, "foreign-data wrapper"),
            oids::PG_FOREIGN_SERVER => ("srvname", None, None, "server"),
            oids::PG_PUBLICATION => ("pubname", None, None, "publication"),
            oids::PG_SUBSCRIPTION => ("subname", None, None, "subscription"),
            oids::PG_LANGUAGE => ("lanname", None, None, "language"),
            _ => ("evtname", None, None, "event trigger"),
        };
        if a.class == oids::PG_TABLESPACE && new.starts_with("pg_") {
            return Err(err!(RESERVED_NAME, "unacceptable tablespace name \"{new}\"")
                .detail("The prefix \"pg_\" is reserved for system tablespaces."));
        }
        let mut row = self.row_of(a.class, a.object)?;
        if a.class == oids::PG_SUBSCRIPTION {
            self.check_subscription_rename(&row)?;
        }
        for other in self.rows.table_scan(a.class)? {
            let mut same = *other.text(name)? == *new;
            if a.class == oids::PG_SUBSCRIPTION {
                same &= other.oid("subdbid")? == row.oid("subdbid")?;
            }
            for column in [schema, method].into_iter().flatten() {
                same &= other.oid(column)? == row.oid(column)?;
            }
            if !same {
                continue;
            }
            let mut text = format!("{noun} \"{new}\"");
            if let Some(column) = method {
                let am = self.row_of(oids::PG_AM, row.oid(column)?)?;
                text.push_str(&format!(" for access method \"{}\"", am.text("amname")?));
            }
            text.push_str(" already exists");
            if let Some(column) = schema {
                let schema = self.view.namespace(row.oid(column)?)?;
                text.push_str(&format!(" in schema \"{}\"", schema.name));
            }
            bail!(DUPLICATE_OBJECT, "{text}");
        }
        row.set_text(name, new)?;
        self.rows.update(row)?;
        Ok(())
    }

    fn rename_other(&self, stmt: &RenameStmt) -> Result<()> {
        let Found::Object(a) = self.find_object(&stmt.object, stmt.missing_ok)? else {
            return Ok(());
        };
        self.require_owner(a)?;
        let new = stmt.new_name.as_str();
        let (index, column) = match a.class {
            oids::PG_NAMESPACE => {
                if self.view.namespace_named(new)?.is_some() {
                    bail!(DUPLICATE_SCHEMA, "schema \"{new}\" already exists");
                }
                if new.starts_with("pg_") {
                    return Err(err!(RESERVED_NAME, "unacceptable schema name \"{new}\"")
                        .detail("The prefix \"pg_\" is reserved for system schemas."));
                }
                (indexes::PG_NAMESPACE_OID, "nspname")
            }
            oids::PG_PROC => {
                let p = self.view.proc(a.object)?;
                let other = self.view.all_procs_named(new)?;
                if other.iter().any(|o| o.namespace == p.namespace && o.arg_types == p.arg_types) {
                    let args: Vec<String> =
                        p.arg_types.iter().map(|t| self.format_type(*t, -1)).collect();
                    let schema = self.view.namespace(p.namespace)?;
                    bail!(
                        DUPLICATE_FUNCTION,
                        "function {new}({}) already exists in schema \"{}\"",
                        args.join(", "),
                        schema.name
                    );
                }
                (indexes::PG_PROC_OID, "proname")
            }
            oids::PG_COLLATION => (indexes::PG_COLLATION_OID, "collname"),
            oids::PG_OPCLASS
            | oids::PG_OPFAMILY
            | oids::PG_CONVERSION
            | oids::PG_STATISTIC_EXT
            | oids::PG_TABLESPACE
            | oids::PG_FOREIGN_DATA_WRAPPER
            | oids::PG_FOREIGN_SERVER
            | oids::PG_PUBLICATION
            | oids::PG_SUBSCRIPTION
            | oids::PG_EVENT_TRIGGER
            | oids::PG_LANGUAGE => return self.rename_by_scan(a, new),
            class => match ts_class(class) {
                Some(facts) => {
                    let row = self.row_by_oid(facts.by_oid, a.object)?;
                    self.check_ts_name(facts, row.oid(facts.schema)?, new, false)?;
                    (facts.by_oid, facts.name)
                }
                None => {
                    return Err(Error::unsupported("ALTER ... RENAME of this kind of object"));
                }
            },
        };
        let mut row = self.row_by_oid(index, a.object)?;
        row.set_text(column, new)?;
        self.rows.update(row)?;
        Ok(())
    }

    /// ALTER .. SET SCHEMA.
    pub fn set_schema(&self, stmt: &SetSchemaStmt) -> Result<()> {
        let object = &stmt.object;
        if is_relation(object.kind) {
            let name = rel_name(object);
            let Some(rel) = self.relation_to_alter(&name, object.kind, stmt.missing_ok)? else {
                return Ok(());
            };
            let namespace = self.view.require_namespace(&stmt.schema)?.oid;
            self.storage.lock(rel.oid, LockMode::AccessExclusive)?;
            self.require_owner_of_relation(&rel)?;
            self.refuse_owned(&rel)?;
            if matches!(rel.kind, RelKind::Index | RelKind::PartitionedIndex) {
                return Err(err!(
                    WRONG_OBJECT_TYPE,
                    "cannot change schema of index \"{}\"",
                    rel.name
                )
                .hint("Change the schema of the table instead."));
            }
            self.check_move(rel.namespace, namespace)?;
            return self.move_relation(&rel, namespace);
        }
        let namespace = self.view.require_namespace(&stmt.schema)?.oid;
        let Found::Object(a) = self.find_object(object, stmt.missing_ok)? else { return Ok(()) };
        self.require_owner(a)?;
        let (index, column, name) = match a.class {
            oids::PG_TYPE => {
                let t = self.view.type_(a.object)?;
                if t.kind == b'c' && self.view.relation(t.relation)?.kind != RelKind::Composite {
                    return Err(err!(
                        WRONG_OBJECT_TYPE,
                        "{} is a table's row type",
                        self.format_type(t.oid, -1)
                    )
                    .hint("Use ALTER TABLE instead."));
                }
                self.check_move(t.namespace, namespace)?;
                if t.kind == b'c' {
                    return self.move_relation(&*self.view.relation(t.relation)?, namespace);
                }
                return self.move_type(t.oid, namespace);
            }
            oids::PG_PROC => (indexes::PG_PROC_OID, "pronamespace", "proname"),
            oids::PG_OPERATOR => (indexes::PG_OPERATOR_OID, "oprnamespace", "oprname"),
            oids::PG_COLLATION => (indexes::PG_COLLATION_OID, "collnamespace", "collname"),
            oids::PG_OPCLASS => (indexes::PG_OPCLASS_OID, "opcnamespace", "opcname"),
            oids::PG_OPFAMILY => (indexes::PG_OPFAMILY_OID, "opfnamespace", "opfname"),
            oids::PG_CONVERSION => (Oid(2670), "connamespace", "conname"),
            oids::PG_STATISTIC_EXT => (Oid(3380), "stxnamespace", "stxname"),
            class => match ts_class(class) {
                Some(facts) => (facts.by_oid, facts.schema, facts.name),
                None => {
                    return Err(Error::unsupported("ALTER ... SET SCHEMA of this kind of object"));
                }
            },
        };
        let mut row = self.row_by_oid(index, a.object)?;
        let old = row.oid(column)?;
        self.check_move(old, namespace)?;
        if let Some(facts) = ts_class(a.class).filter(|_| old != namespace) {
            self.check_ts_name(facts, namespace, &row.text(name)?, false)?;
        }
        if old != namespace {
            self.check_free_in(a, namespace)?;
        }
        row.set_oid(column, namespace)?;
        self.rows.update(row)?;
        self.moved(a, old, namespace)
    }

    /// Fails if a schema has an object of this kind and name.
    fn check_free_in(&self, a: ObjectAddress, namespace: Oid) -> Result<()> {
        let schema = self.view.namespace(namespace)?;
        if a.class == oids::PG_PROC {
            let p = self.view.proc(a.object)?;
            let all = self.view.all_procs_named(&p.name)?;
            if all.iter().any(|o| o.namespace == namespace && o.arg_types == p.arg_types) {
                let args: Vec<String> =
                    p.arg_types.iter().map(|t| self.format_type(*t, -1)).collect();
                bail!(
                    DUPLICATE_FUNCTION,
                    "function {}({}) already exists in schema \"{}\"",
                    p.name,
                    args.join(", "),
                    schema.name
                );
            }
            return Ok(());
        }
        let (name, column, method, noun) = match a.class {
            oids::PG_OPCLASS => ("opcname", "opcnamespace", Some("opcmethod"), "operator class"),
            oids::PG_OPFAMILY => ("opfname", "opfnamespace", Some("opfmethod"), "operator family"),
            oids::PG_CONVERSION => ("conname", "connamespace", None, "conversion"),
            oids::PG_STATISTIC_EXT => ("stxname", "stxnamespace", None, "statistics object"),
            _ => return Ok(()),
        };
        let own = self.row_of(a.class, a.object)?;
        for other in self.rows.table_scan(a.class)? {
            let mut same =
                other.oid(column)? == namespace && other.text(name)? == own.text(name)?;
            let mut of = String::new();
            if let Some(method) = method {
                same &= other.oid(method)? == own.oid(method)?;
                let am = self.row_of(oids::PG_AM, own.oid(method)?)?;
                of = format!(" for access method \"{}\"", am.text("amname")?);
            }
            if same {
                bail!(
                    DUPLICATE_OBJECT,
                    "{noun} \"{}\"{of} already exists in schema \"{}\"",
                    own.text(name)?,
                    schema.name
                );
            }
        }
        Ok(())
    }

    /// A sequence moves with the table that owns it.
    fn refuse_owned(&self, rel: &RelationDesc) -> Result<()> {
        if rel.kind != RelKind::Sequence {
            return Ok(());
        }
        for d in depend::dependencies_of(self.rows, ObjectAddress::relation(rel.oid))? {
            if d.referenced.class == oids::PG_CLASS && d.referenced.sub > 0 {
                let table = self.view.relation(d.referenced.object)?;
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "cannot move an owned sequence into another schema"
                )
                .detail(format!(
                    "Sequence \"{}\" is linked to table \"{}\".",
                    rel.name, table.name
                )));
            }
        }
        Ok(())
    }

    fn check_move(&self, old: Oid, new: Oid) -> Result<()> {
        let is_temp = |oid: Oid| -> Result<bool> {
            Ok(self.view.namespace(oid)?.name.starts_with("pg_temp_"))
        };
        if is_temp(old)? || is_temp(new)? {
            bail!(FEATURE_NOT_SUPPORTED, "cannot move objects into or out of temporary schemas");
        }
        if old == oids::PG_TOAST || new == oids::PG_TOAST {
            bail!(FEATURE_NOT_SUPPORTED, "cannot move objects into or out of TOAST schema");
        }
        Ok(())
    }

    fn moved(&self, a: ObjectAddress, old: Oid, new: Oid) -> Result<()> {
        let schema = |oid| ObjectAddress::new(oids::PG_NAMESPACE, oid);
        depend::forget_one(self.rows, a, schema(old))?;
        depend::record(self.rows, a, schema(new), depend::DependKind::Normal)
    }

    fn move_type(&self, oid: Oid, namespace: Oid) -> Result<()> {
        let t = self.view.type_(oid)?;
        if t.namespace == namespace {
            return Ok(());
        }
        if self.view.type_oid_in(namespace, &t.name)?.is_some() {
            let schema = self.view.namespace(namespace)?;
            bail!(
                DUPLICATE_OBJECT,
                "type \"{}\" already exists in schema \"{}\"",
                t.name,
                schema.name
            );
        }
        for each in [oid, t.array].into_iter().filter(|t| t.is_valid()) {
            let mut row = self.row_by_oid(indexes::PG_TYPE_OID, each)?;
            row.set_oid("typnamespace", namespace)?;
            self.rows.update(row)?;
        }
        for c in self.view.domain_constraints(oid)?.iter() {
            let mut row = self.constraint_row(c.oid)?;
            row.set_oid("connamespace", namespace)?;
            self.rows.update(row)?;
        }
        let own = ObjectAddress::new(oids::PG_TYPE, oid);
        self.moved(own, t.namespace, namespace)
    }

    fn move_relation(&self, rel: &RelationDesc, namespace: Oid) -> Result<()> {
        if rel.namespace == namespace {
            return Ok(());
        }
        if self.view.relation_oid_in(namespace, &rel.name)?.is_some() {
            let schema = self.view.namespace(namespace)?;
            bail!(
                DUPLICATE_TABLE,
                "relation \"{}\" already exists in schema \"{}\"",
                rel.name,
                schema.name
            );
        }
        let mut class = self.class_row(rel.oid)?;
        class.set_oid("relnamespace", namespace)?;
        self.rows.update(class)?;
        if rel.kind != RelKind::Composite {
            self.moved(ObjectAddress::relation(rel.oid), rel.namespace, namespace)?;
        }
        if rel.row_type.is_valid() {
            self.move_type(rel.row_type, namespace)?;
        }
        for index in &rel.indexes {
            let mut class = self.class_row(index.oid)?;
            class.set_oid("relnamespace", namespace)?;
            self.rows.update(class)?;
        }
        for c in &rel.constraints {
            let mut row = self.constraint_row(c.oid)?;
            row.set_oid("connamespace", namespace)?;
            self.rows.update(row)?;
        }
        for d in depend::dependents_of(self.rows, ObjectAddress::relation(rel.oid))? {
            if d.depender.class == oids::PG_CLASS && d.depender.sub == 0 && d.referenced.sub > 0 {
                let other = self.view.relation(d.depender.object)?;
                if other.kind == RelKind::Sequence {
                    self.move_relation(&other, namespace)?;
                }
            }
        }
        Ok(())
    }

    /// ALTER .. OWNER TO, of what is no relation.
    pub fn owner_stmt(&self, stmt: &OwnerStmt) -> Result<()> {
        let owner = self.role_oid(&stmt.owner)?;
        let Found::Object(a) = self.find_object(&stmt.object, false)? else { return Ok(()) };
        self.require_owner(a)?;
        let namespace = match a.class {
            oids::PG_CLASS => return self.change_owner(a.object, owner),
            oids::PG_TYPE => {
                let t = self.view.type_(a.object)?;
                if t.kind == b'c' {
                    return self.change_owner(t.relation, owner);
                }
                Some(t.namespace)
            }
            oids::PG_PROC => Some(self.view.proc(a.object)?.namespace),
            oids::PG_NAMESPACE => None,
            _ => None,
        };
        self.check_new_owner(namespace, owner)?;
        match a.class {
            oids::PG_NAMESPACE | oids::PG_SUBSCRIPTION => self.require_on_database(b'C')?,
            oids::PG_PUBLICATION => {
                self.require_on_database(b'C')?;
                self.check_publication_owner(a, owner)?;
            }
            oids::PG_EVENT_TRIGGER => self.check_event_trigger_owner(a, owner)?,
            _ => {}
        }
        self.set_owner(a, owner)
    }
}
