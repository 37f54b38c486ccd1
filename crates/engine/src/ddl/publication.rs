//! Publications: what is to be published, as it is said. Nothing is sent from here yet.

use super::Ddl;
use super::lookup::bool_of;
use super::table::def_text;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{Persistence, RelKind, RelationDesc, SysRow, oids, vector};
use parser::ast::{DefElem, PublicationAction, PublicationObject, PublicationStmt, TableRef};
use std::sync::Arc;
use types::Datum;

/// What the options say; none is what it was.
#[derive(Default)]
struct Options {
    /// insert, update, delete, truncate
    publish: Option<[bool; 4]>,
    via_root: Option<bool>,
    generated: Option<u8>,
}

/// A table to be published.
struct Published {
    rel: Arc<RelationDesc>,
    columns: Vec<i16>,
    filter: Option<ir::Expr>,
}

fn read_options(options: &[DefElem]) -> Result<Options> {
    let mut o = Options::default();
    for e in options {
        let again = || err!(SYNTAX_ERROR, "conflicting or redundant options").at(e.pos);
        match e.name.as_str() {
            "publish" => {
                if o.publish.is_some() {
                    return Err(again());
                }
                let mut some = [false; 4];
                let text = def_text(e).unwrap_or_default();
                for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
                    let all = ["insert", "update", "delete", "truncate"];
                    match all.iter().position(|a| a.eq_ignore_ascii_case(word)) {
                        Some(i) => some[i] = true,
                        None => bail!(
                            SYNTAX_ERROR,
                            "unrecognized value for publication option \"publish\": \"{word}\""
                        ),
                    }
                }
                o.publish = Some(some);
            }
            "publish_via_partition_root" => {
                if o.via_root.is_some() {
                    return Err(again());
                }
                o.via_root = Some(bool_of(e)?);
            }
            "publish_generated_columns" => {
                if o.generated.is_some() {
                    return Err(again());
                }
                let text = def_text(e).unwrap_or_default();
                o.generated = Some(match text.to_ascii_lowercase().as_str() {
                    "none" => b'n',
                    "stored" => b's',
                    _ => {
                        return Err(err!(
                            SYNTAX_ERROR,
                            "invalid value for publication parameter \"{}\": \"{text}\"",
                            e.name
                        )
                        .detail("Valid values are \"none\" and \"stored\"."));
                    }
                });
            }
            other => {
                bail!(SYNTAX_ERROR, "unrecognized publication parameter: \"{other}\"");
            }
        }
    }
    Ok(o)
}

fn set_options(row: &mut SysRow, o: &Options) -> Result<()> {
    if let Some([insert, update, delete, truncate]) = o.publish {
        row.set_bool("pubinsert", insert)?
            .set_bool("pubupdate", update)?
            .set_bool("pubdelete", delete)?
            .set_bool("pubtruncate", truncate)?;
    }
    if let Some(via_root) = o.via_root {
        row.set_bool("pubviaroot", via_root)?;
    }
    if let Some(generated) = o.generated {
        row.set_char("pubgencols", generated)?;
    }
    Ok(())
}

/// What is dropped is named and nothing else.
fn refuse_details(objects: &[PublicationObject]) -> Result<()> {
    for object in objects {
        let PublicationObject::Table { columns, filter, .. } = object else { continue };
        if !columns.is_empty() {
            bail!(SYNTAX_ERROR, "column list must not be specified in ALTER PUBLICATION ... DROP");
        }
        if filter.is_some() {
            bail!(
                SYNTAX_ERROR,
                "cannot use a WHERE clause when removing a table from a publication"
            );
        }
    }
    Ok(())
}

impl Ddl<'_> {
    fn find_publication(&self, name: &str) -> Result<Option<SysRow>> {
        for row in self.rows.table_scan(oids::PG_PUBLICATION)? {
            if *row.text("pubname")? == *name {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// CREATE PUBLICATION.
    pub fn create_publication(&self, stmt: &PublicationStmt) -> Result<()> {
        self.require_on_database(b'C')?;
        if stmt.all_tables && !self.is_superuser()? {
            bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to create FOR ALL TABLES publication");
        }
        if self.find_publication(&stmt.name)?.is_some() {
            bail!(DUPLICATE_OBJECT, "publication \"{}\" already exists", stmt.name);
        }
        let mut o = read_options(&stmt.options)?;
        o.publish.get_or_insert([true; 4]);
        o.via_root.get_or_insert(false);
        o.generated.get_or_insert(b'n');
        let oid = self.rows.new_oid(oids::PG_PUBLICATION)?;
        let mut row = SysRow::new(oids::PG_PUBLICATION)?;
        row.set_oid("oid", oid)?
            .set_text("pubname", &stmt.name)?
            .set_oid("pubowner", self.user())?
            .set_bool("puballtables", stmt.all_tables)?;
        set_options(&mut row, &o)?;
        self.rows.insert(row)?;
        self.depend_owner(ObjectAddress::new(oids::PG_PUBLICATION, oid), self.user())?;
        let (tables, schemas) = self.published(stmt)?;
        if !schemas.is_empty() && !self.is_superuser()? {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "must be superuser to create FOR TABLES IN SCHEMA publication"
            );
        }
        self.check_mixture(&stmt.name, &tables, !schemas.is_empty())?;
        self.check_partitioned(&stmt.name, o.via_root == Some(true), &tables)?;
        for t in &tables {
            self.publish_table(oid, &stmt.name, t)?;
        }
        for schema in schemas {
            self.publish_schema(oid, &stmt.name, schema)?;
        }
        if self.settings.str("wal_level") != "logical" {
            let text = "\"wal_level\" is insufficient to publish logical changes";
            let code = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
            self.notice(
                Error::with_severity(base::Severity::Warning, code, text.to_string())
                    .hint("Set \"wal_level\" to \"logical\" before creating subscriptions."),
            );
        }
        Ok(())
    }

    /// The tables and schemas that a statement lists.
    fn published(&self, stmt: &PublicationStmt) -> Result<(Vec<Published>, Vec<Oid>)> {
        let mut tables: Vec<Published> = Vec::new();
        let mut schemas: Vec<Oid> = Vec::new();
        for object in &stmt.objects {
            let schema = match object {
                PublicationObject::Table { table, columns, filter } => {
                    let name = &table.rel;
                    let rel = self.view.require_relation(name.schema.as_deref(), &name.name)?;
                    if let Some(before) = tables.iter().find(|b| b.rel.oid == rel.oid) {
                        let name = &rel.name;
                        if before.filter.is_some() || filter.is_some() {
                            bail!(
                                DUPLICATE_OBJECT,
                                "conflicting or redundant WHERE clauses for table \"{name}\""
                            );
                        }
                        if !before.columns.is_empty() || !columns.is_empty() {
                            bail!(
                                DUPLICATE_OBJECT,
                                "conflicting or redundant column lists for table \"{name}\""
                            );
                        }
                        continue;
                    }
                    let t = self.published_table(table, columns, filter.as_ref())?;
                    tables.push(t);
                    continue;
                }
                PublicationObject::Schema(name, _) => self.view.require_namespace(name)?.oid,
                PublicationObject::CurrentSchema(_) => {
                    let own = self.view.context().temp_namespace;
                    let path = self.view.search_path();
                    let first = path.iter().find(|n| **n != oids::PG_CATALOG && Some(**n) != own);
                    match first {
                        Some(schema) => *schema,
                        None => bail!(
                            UNDEFINED_SCHEMA,
                            "no schema has been selected for CURRENT_SCHEMA"
                        ),
                    }
                }
            };
            if !schemas.contains(&schema) {
                schemas.push(schema);
            }
        }
        Ok((tables, schemas))
    }

    fn published_table(
        &self,
        table: &TableRef,
        columns: &[String],
        filter: Option<&parser::ast::Expr>,
    ) -> Result<Published> {
        let name = &table.rel;
        let rel = self.view.require_relation(name.schema.as_deref(), &name.name)?;
        let refuse = |what: String| {
            Err(err!(
                INVALID_PARAMETER_VALUE,
                "cannot add relation \"{}\" to publication",
                rel.name
            )
            .detail(what))
        };
        if !matches!(rel.kind, RelKind::Table | RelKind::Partitioned) {
            return refuse(super::alter::not_supported(rel.kind));
        }
        if rel.oid < Oid::FIRST_NORMAL {
            return refuse("This operation is not supported for system tables.".into());
        }
        match rel.persistence {
            Persistence::Temp => {
                return refuse("This operation is not supported for temporary tables.".into());
            }
            Persistence::Unlogged => {
                return refuse("This operation is not supported for unlogged tables.".into());
            }
            Persistence::Permanent => {}
        }
        self.require_owner_of_relation(&rel)?;
        let mut numbers = Vec::new();
        for column in columns {
            let n = self.published_column(&rel, column)?;
            if numbers.contains(&n) {
                bail!(DUPLICATE_OBJECT, "duplicate column \"{column}\" in publication column list");
            }
            numbers.push(n);
        }
        numbers.sort_unstable();
        let filter = match filter {
            Some(e) => {
                let env = crate::analysis::env(self.env);
                let used = analyze::ExprUse::PublicationWhere;
                let made = analyze::relation_expr(&env, &rel, e, used)?;
                super::publication_filter::check(&self.view, &made)?;
                Some(made)
            }
            None => None,
        };
        Ok(Published { rel, columns: numbers, filter })
    }

    fn published_column(&self, rel: &RelationDesc, column: &str) -> Result<i16> {
        if matches!(column, "ctid" | "xmin" | "cmin" | "xmax" | "cmax" | "tableoid") {
            bail!(
                INVALID_COLUMN_REFERENCE,
                "cannot use system column \"{column}\" in publication column list"
            );
        }
        let n = super::column::named(rel, column)?;
        if rel.tuple.attrs[n as usize - 1].generated == b'v' {
            bail!(
                INVALID_COLUMN_REFERENCE,
                "cannot use virtual generated column \"{column}\" in publication column list"
            );
        }
        Ok(n)
    }

    /// Rows of a partitioned table are published as its partitions' unless its root is: what is
    /// said of the root's rows and columns cannot hold then.
    fn check_partitioned(&self, name: &str, via_root: bool, tables: &[Published]) -> Result<()> {
        for t in tables.iter().filter(|t| !via_root && t.rel.kind == RelKind::Partitioned) {
            if t.filter.is_some() {
                return Err(err!(
                    INVALID_PARAMETER_VALUE,
                    "cannot use publication WHERE clause for relation \"{}\"",
                    t.rel.name
                )
                .detail(
                    "WHERE clause cannot be used for a partitioned table when \
                     publish_via_partition_root is false.",
                ));
            }
            if !t.columns.is_empty() {
                return Err(err!(
                    INVALID_PARAMETER_VALUE,
                    "cannot use column list for relation \"{}.{}\" in publication \"{name}\"",
                    self.view.namespace(t.rel.namespace)?.name,
                    t.rel.name
                )
                .detail(
                    "Column lists cannot be specified for partitioned tables when \
                     publish_via_partition_root is false.",
                ));
            }
        }
        Ok(())
    }

    /// Fails if the root's rows can no more be published as its own.
    fn check_via_root(&self, publication: Oid, name: &str) -> Result<()> {
        for row in self.rows.table_scan(oids::PG_PUBLICATION_REL)? {
            if row.oid("prpubid")? != publication {
                continue;
            }
            let what = match (row.get("prqual")?.is_null(), row.get("prattrs")?.is_null()) {
                (false, _) => "WHERE clause",
                (_, false) => "column list",
                _ => continue,
            };
            let rel = self.view.relation(row.oid("prrelid")?)?;
            if rel.kind == RelKind::Partitioned {
                return Err(err!(
                    INVALID_PARAMETER_VALUE,
                    "cannot set parameter \"publish_via_partition_root\" to false for publication \
                     \"{name}\""
                )
                .detail(format!(
                    "The publication contains a {what} for partitioned table \"{}\", which is not \
                     allowed when \"publish_via_partition_root\" is false.",
                    rel.name
                )));
            }
        }
        Ok(())
    }

    /// An owner who may not publish whatever comes does not get a publication that does.
    pub(super) fn check_publication_owner(&self, a: ObjectAddress, owner: Oid) -> Result<()> {
        if self.is_superuser()? || self.view.role(owner)?.superuser {
            return Ok(());
        }
        let row = self.row_of(a.class, a.object)?;
        let mut schemas = false;
        for member in self.rows.table_scan(oids::PG_PUBLICATION_NAMESPACE)? {
            schemas |= member.oid("pnpubid")? == a.object;
        }
        let what = match (row.bool("puballtables")?, schemas) {
            (true, _) => "ALL TABLES",
            (_, true) => "TABLES IN SCHEMA",
            _ => return Ok(()),
        };
        Err(err!(
            INSUFFICIENT_PRIVILEGE,
            "permission denied to change owner of publication \"{}\"",
            row.text("pubname")?
        )
        .hint(format!("The owner of a FOR {what} publication must be a superuser.")))
    }

    /// Column lists and whole schemas do not go together.
    fn check_mixture(&self, name: &str, tables: &[Published], schemas: bool) -> Result<()> {
        let Some(t) = tables.iter().find(|t| schemas && !t.columns.is_empty()) else {
            return Ok(());
        };
        let schema = self.view.namespace(t.rel.namespace)?;
        Err(err!(
            INVALID_PARAMETER_VALUE,
            "cannot use column list for relation \"{}.{}\" in publication \"{name}\"",
            schema.name,
            t.rel.name
        )
        .detail(
            "Column lists cannot be specified in publications containing FOR TABLES IN SCHEMA \
             elements.",
        ))
    }

    fn member(&self, class: Oid, of: (&str, Oid), object: (&str, Oid)) -> Result<Option<SysRow>> {
        for row in self.rows.table_scan(class)? {
            if row.oid(of.0)? == of.1 && row.oid(object.0)? == object.1 {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn publish_table(&self, publication: Oid, name: &str, t: &Published) -> Result<()> {
        let class = oids::PG_PUBLICATION_REL;
        let table = t.rel.oid;
        if self.member(class, ("prpubid", publication), ("prrelid", table))?.is_some() {
            bail!(
                DUPLICATE_OBJECT,
                "relation \"{}\" is already member of publication \"{name}\"",
                t.rel.name
            );
        }
        let oid = self.rows.new_oid(class)?;
        let mut row = SysRow::new(class)?;
        row.set_oid("oid", oid)?.set_oid("prpubid", publication)?.set_oid("prrelid", table)?;
        match t.columns.is_empty() {
            true => row.set("prattrs", Datum::Null)?,
            false => row.set("prattrs", vector::from_i16s(oids::INT2VECTOR, &t.columns))?,
        };
        let filter = t.filter.as_ref().map(crate::cook::to_text).transpose()?;
        row.set_opt_text("prqual", filter.as_deref())?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(class, oid);
        let of = ObjectAddress::new(oids::PG_PUBLICATION, publication);
        depend::record(self.rows, own, of, DependKind::Auto)?;
        depend::record(self.rows, own, ObjectAddress::relation(table), DependKind::Auto)?;
        for n in &t.columns {
            let column = ObjectAddress::column(table, *n);
            depend::record(self.rows, own, column, DependKind::Normal)?;
        }
        match &t.filter {
            Some(e) => self.depend_expr_kind(own, e, table, DependKind::Normal),
            None => Ok(()),
        }
    }

    fn publish_schema(&self, publication: Oid, name: &str, schema: Oid) -> Result<()> {
        let class = oids::PG_PUBLICATION_NAMESPACE;
        let desc = self.view.namespace(schema)?;
        if schema < Oid(12000) && schema != oids::PUBLIC || desc.name.starts_with("pg_") {
            return Err(err!(
                INVALID_PARAMETER_VALUE,
                "cannot add schema \"{}\" to publication",
                desc.name
            )
            .detail("This operation is not supported for system schemas."));
        }
        if self.member(class, ("pnpubid", publication), ("pnnspid", schema))?.is_some() {
            bail!(
                DUPLICATE_OBJECT,
                "schema \"{}\" is already member of publication \"{name}\"",
                desc.name
            );
        }
        let oid = self.rows.new_oid(class)?;
        let mut row = SysRow::new(class)?;
        row.set_oid("oid", oid)?.set_oid("pnpubid", publication)?.set_oid("pnnspid", schema)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(class, oid);
        let of = ObjectAddress::new(oids::PG_PUBLICATION, publication);
        depend::record(self.rows, own, of, DependKind::Auto)?;
        let on = ObjectAddress::new(oids::PG_NAMESPACE, schema);
        depend::record(self.rows, own, on, DependKind::Auto)
    }

    /// ALTER PUBLICATION.
    pub fn alter_publication(&self, stmt: &PublicationStmt) -> Result<()> {
        let name = stmt.name.as_str();
        let Some(mut row) = self.find_publication(name)? else {
            bail!(UNDEFINED_OBJECT, "publication \"{name}\" does not exist");
        };
        let oid = row.oid("oid")?;
        self.require_owner(ObjectAddress::new(oids::PG_PUBLICATION, oid))?;
        if stmt.action == PublicationAction::Options {
            let o = read_options(&stmt.options)?;
            if o.via_root == Some(false) {
                self.check_via_root(oid, name)?;
            }
            set_options(&mut row, &o)?;
            self.rows.update(row)?;
            return Ok(());
        }
        if stmt.action == PublicationAction::Drop {
            refuse_details(&stmt.objects)?;
        }
        let (tables, schemas) = self.published(stmt)?;
        if !schemas.is_empty() && stmt.action != PublicationAction::Drop && !self.is_superuser()? {
            bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to add or set schemas");
        }
        if row.bool("puballtables")? {
            let what = if tables.is_empty() { "Schemas" } else { "Tables" };
            return Err(err!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "publication \"{name}\" is defined as FOR ALL TABLES"
            )
            .detail(format!(
                "{what} cannot be added to or dropped from FOR ALL TABLES publications."
            )));
        }
        match stmt.action {
            PublicationAction::Drop => self.unpublish(oid, &tables, &schemas),
            PublicationAction::Set => {
                self.check_mixture(name, &tables, !schemas.is_empty())?;
                self.check_partitioned(name, row.bool("pubviaroot")?, &tables)?;
                self.unpublish_all(oid)?;
                self.publish_more(oid, name, &tables, &schemas)
            }
            _ => {
                self.check_mixture(name, &tables, !schemas.is_empty())?;
                self.check_partitioned(name, row.bool("pubviaroot")?, &tables)?;
                if !schemas.is_empty() && self.has_column_lists(oid)? {
                    return Err(err!(
                        INVALID_PARAMETER_VALUE,
                        "cannot add schema to publication \"{name}\""
                    )
                    .detail(
                        "Schemas cannot be added if any tables that specify a column list are \
                         already part of the publication.",
                    ));
                }
                self.publish_more(oid, name, &tables, &schemas)
            }
        }
    }

    fn publish_more(
        &self,
        oid: Oid,
        name: &str,
        tables: &[Published],
        schemas: &[Oid],
    ) -> Result<()> {
        for t in tables {
            self.publish_table(oid, name, t)?;
        }
        for schema in schemas {
            self.publish_schema(oid, name, *schema)?;
        }
        Ok(())
    }

    fn has_column_lists(&self, publication: Oid) -> Result<bool> {
        for row in self.rows.table_scan(oids::PG_PUBLICATION_REL)? {
            if row.oid("prpubid")? == publication && !row.get("prattrs")?.is_null() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn unpublish(&self, publication: Oid, tables: &[Published], schemas: &[Oid]) -> Result<()> {
        for t in tables {
            let class = oids::PG_PUBLICATION_REL;
            let object = ("prrelid", t.rel.oid);
            let Some(row) = self.member(class, ("prpubid", publication), object)? else {
                bail!(
                    UNDEFINED_OBJECT,
                    "relation \"{}\" is not part of the publication",
                    t.rel.name
                );
            };
            self.drop_quietly(&[ObjectAddress::new(class, row.oid("oid")?)])?;
        }
        for schema in schemas {
            let class = oids::PG_PUBLICATION_NAMESPACE;
            let object = ("pnnspid", *schema);
            let Some(row) = self.member(class, ("pnpubid", publication), object)? else {
                bail!(
                    UNDEFINED_OBJECT,
                    "tables from schema \"{}\" are not part of the publication",
                    self.view.namespace(*schema)?.name
                );
            };
            self.drop_quietly(&[ObjectAddress::new(class, row.oid("oid")?)])?;
        }
        Ok(())
    }

    fn unpublish_all(&self, publication: Oid) -> Result<()> {
        for (class, column) in
            [(oids::PG_PUBLICATION_REL, "prpubid"), (oids::PG_PUBLICATION_NAMESPACE, "pnpubid")]
        {
            for row in self.rows.table_scan(class)? {
                if row.oid(column)? == publication {
                    self.drop_quietly(&[ObjectAddress::new(class, row.oid("oid")?)])?;
                }
            }
        }
        Ok(())
    }
}
