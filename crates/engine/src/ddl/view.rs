//! CREATE VIEW: a relation without files and its `_RETURN` rule.

use super::Ddl;
use super::column::NewColumn;
use super::relation::NewRelation;
use super::table::def_text;
use super::type_name::ResolvedType;
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{Persistence, RelKind, RelationDesc, SysRow, indexes, oids, vector};
use ir::{Expr, Query, RteKind};
use parser::ast::{self, CheckOption, CreateViewStmt, DefElem, Stmt};
use types::Datum;

impl Ddl<'_> {
    /// CREATE VIEW.
    pub fn create_view(&self, stmt: &CreateViewStmt) -> Result<()> {
        if stmt.persistence == ast::Persistence::Unlogged {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "views cannot be unlogged because they do not have storage"
            );
        }
        let query = self.stored_query(&Stmt::Select(Box::new(stmt.query.clone())), "views")?;
        let columns = self.query_columns(&query, &stmt.columns, "view", false)?;
        let mut options = view_options(&stmt.options)?;
        let check = match stmt.check_option {
            CheckOption::None => None,
            CheckOption::Local => Some("local"),
            CheckOption::Cascaded => Some("cascaded"),
        };
        if let Some(check) = check {
            options.retain(|o| !o.starts_with("check_option="));
            options.push(format!("check_option={check}"));
        }
        if options.iter().any(|o| o.starts_with("check_option="))
            && let Some(reason) = analyze::query_reason(&query, true)
        {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "WITH CHECK OPTION is supported only on automatically updatable views"
            )
            .hint(reason));
        }
        let mut persistence = stmt.persistence;
        if persistence == ast::Persistence::Permanent
            && stmt.rel.schema.as_deref() != Some("pg_temp")
            && self.uses_temp(&query)?
        {
            persistence = ast::Persistence::Temporary;
            let text = format!("view \"{}\" will be a temporary view", stmt.rel.name);
            self.notice(Error::notice(text));
        }
        let (namespace, persistence) = self.relation_place(&stmt.rel, persistence)?;
        if let Some(old) = self.view.relation_oid_in(namespace, &stmt.rel.name)? {
            if !stmt.replace {
                bail!(DUPLICATE_TABLE, "relation \"{}\" already exists", stmt.rel.name);
            }
            return self.replace_view(old, &columns, &options, &query);
        }
        let oid = self.create_relation(NewRelation {
            oid: None,
            name: &stmt.rel.name,
            namespace,
            kind: RelKind::View,
            persistence,
            owner: self.user(),
            am: Oid::INVALID,
            tablespace: Oid::INVALID,
            columns: &columns,
            options,
            of_type: Oid::INVALID,
            is_partition: false,
        })?;
        self.store_view_rule(oid, &query)
    }

    /// Analyses a query that is stored with a relation; `what` names it in messages.
    pub fn stored_query(&self, stmt: &Stmt, what: &str) -> Result<Query> {
        if let Stmt::Select(s) = stmt
            && analyze::select_into(s).is_some()
        {
            bail!(FEATURE_NOT_SUPPORTED, "{what} must not contain SELECT INTO");
        }
        let env = crate::analysis::env(self.env);
        let mut query = analyze::analyze_stmt(&env, stmt, analyze::Params::None)?;
        if query.has_modifying_cte {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "{what} must not contain data-modifying statements in WITH"
            );
        }
        analyze::clear_places(&mut query);
        Ok(query)
    }

    /// The columns of a relation that is made from a query.
    pub fn query_columns(
        &self,
        query: &Query,
        names: &[String],
        what: &str,
        table: bool,
    ) -> Result<Vec<NewColumn>> {
        let mut columns = Vec::new();
        let list = if query.command == ir::CmdType::Select || query.returning.is_empty() {
            &query.target_list
        } else {
            &query.returning
        };
        let mut given = names.iter();
        for t in list.iter().filter(|t| !t.junk) {
            let own = t.name.as_deref().unwrap_or("?column?");
            let name = given.next().map_or(own, String::as_str);
            let ty = t.expr.ty();
            let collation = t.expr.collation();
            let desc = self.view.type_(ty)?;
            self.require_type_usage(ty)?;
            if desc.collation.is_valid() && !collation.is_valid() {
                let text = match table {
                    true => format!(
                        "no collation was derived for column \"{name}\" with collatable type {}",
                        self.format_type(ty, -1)
                    ),
                    false => format!(
                        "could not determine which collation to use for {what} column \"{name}\""
                    ),
                };
                return Err(err!(INDETERMINATE_COLLATION, "{text}")
                    .hint("Use the COLLATE clause to set the collation explicitly."));
            }
            let ty = ResolvedType { oid: ty, typmod: t.expr.typmod(), ndims: 0 };
            columns.push(NewColumn::new(name, ty, collation));
        }
        if given.next().is_some() {
            match table {
                true => bail!(SYNTAX_ERROR, "too many column names were specified"),
                false => {
                    bail!(SYNTAX_ERROR, "CREATE VIEW specifies more column names than columns")
                }
            }
        }
        Ok(columns)
    }

    /// True if the query reads a temporary relation.
    pub fn uses_temp(&self, query: &Query) -> Result<bool> {
        for a in super::references::of_query(&self.view, query) {
            if a.class == oids::PG_CLASS
                && self.view.relation(a.object)?.persistence == Persistence::Temp
            {
                return Ok(true);
            }
        }
        // A relation whose columns are not used is no reference of its own.
        let mut temp = false;
        let mut relations = Vec::new();
        relations_of(query, &mut relations);
        for oid in relations {
            temp |= self.view.relation(oid)?.persistence == Persistence::Temp;
        }
        Ok(temp)
    }

    /// Writes the rule that makes a relation a view of this query.
    pub fn store_view_rule(&self, view: Oid, query: &Query) -> Result<()> {
        let rel = self.view.relation(view)?;
        let kind = match rel.kind {
            RelKind::View | RelKind::MatView => DependKind::Internal,
            _ => DependKind::Auto,
        };
        let oid = self.rows.new_oid(oids::PG_REWRITE)?;
        let mut row = SysRow::new(oids::PG_REWRITE)?;
        row.set_oid("oid", oid)?
            .set_text("rulename", "_RETURN")?
            .set_oid("ev_class", view)?
            .set_char("ev_type", b'1')?
            .set_char("ev_enabled", b'O')?
            .set_bool("is_instead", true)?
            .set_text("ev_qual", "")?
            .set_text("ev_action", &crate::cook::to_text(&vec![query])?)?;
        self.rows.insert(row)?;
        let mut class = self.class_row(view)?;
        class.set_bool("relhasrules", true)?;
        self.rows.update(class)?;
        let own = ObjectAddress::new(oids::PG_REWRITE, oid);
        depend::record(self.rows, own, ObjectAddress::relation(view), kind)?;
        self.depend_query(own, query)
    }

    fn replace_view(
        &self,
        oid: Oid,
        columns: &[NewColumn],
        options: &[String],
        query: &Query,
    ) -> Result<()> {
        self.storage.lock(oid, ast::LockMode::AccessExclusive)?;
        let old = self.view.relation(oid)?;
        if old.kind != RelKind::View {
            bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a view", old.name);
        }
        self.require_owner_of_relation(&old)?;
        self.check_view_columns(&old, columns)?;
        let before = old.tuple.natts();
        self.check_columns(columns)?;
        for (i, column) in columns.iter().enumerate().skip(before) {
            self.insert_column(oid, i as i16 + 1, column)?;
        }
        let mut class = self.class_row(oid)?;
        let value = match options.is_empty() {
            true => Datum::Null,
            false => vector::from_texts(oids::TEXT, options),
        };
        class.set_i16("relnatts", columns.len() as i16)?.set("reloptions", value)?;
        self.rows.update(class)?;
        let key = [Datum::U32(oid.0), Datum::text("_RETURN")];
        let rows = self.rows.index_scan(indexes::PG_REWRITE_REL, &key)?;
        let Some(mut row) = rows.into_iter().next() else {
            return self.store_view_rule(oid, query);
        };
        let own = ObjectAddress::new(oids::PG_REWRITE, row.oid("oid")?);
        row.set_text("ev_action", &crate::cook::to_text(&vec![query])?)?;
        self.rows.update(row)?;
        depend::forget(self.rows, own)?;
        let view = ObjectAddress::relation(oid);
        depend::record(self.rows, own, view, DependKind::Internal)?;
        self.depend_query(own, query)
    }

    /// OR REPLACE keeps the columns as they are and may only add to them.
    fn check_view_columns(&self, old: &RelationDesc, new: &[NewColumn]) -> Result<()> {
        if new.len() < old.tuple.natts() {
            bail!(INVALID_TABLE_DEFINITION, "cannot drop columns from view");
        }
        for (a, b) in old.tuple.attrs.iter().zip(new) {
            if *a.name != *b.name {
                return Err(err!(
                    INVALID_TABLE_DEFINITION,
                    "cannot change name of view column \"{}\" to \"{}\"",
                    a.name,
                    b.name
                )
                .hint(
                    "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.",
                ));
            }
            if a.type_oid != b.type_oid || a.typmod != b.typmod {
                bail!(
                    INVALID_TABLE_DEFINITION,
                    "cannot change data type of view column \"{}\" from {} to {}",
                    a.name,
                    self.format_type(a.type_oid, a.typmod),
                    self.format_type(b.type_oid, b.typmod)
                );
            }
            if a.collation != b.collation {
                let name = |oid: Oid| match self.view.find_collation(oid) {
                    Ok(Some(c)) => c.name.to_string(),
                    _ => String::new(),
                };
                bail!(
                    INVALID_TABLE_DEFINITION,
                    "cannot change collation of view column \"{}\" from \"{}\" to \"{}\"",
                    a.name,
                    name(a.collation),
                    name(b.collation)
                );
            }
        }
        Ok(())
    }
}

fn relations_of(query: &Query, out: &mut Vec<Oid>) {
    for rte in &query.rtable {
        match &rte.kind {
            RteKind::Relation { relid, .. } => out.push(*relid),
            RteKind::Subquery { query, .. } => relations_of(query, out),
            _ => {}
        }
    }
    for cte in &query.ctes {
        relations_of(&cte.query, out);
    }
    ir::walk::own_exprs(query, &mut |e| {
        ir::walk::each(e, &mut |e| {
            if let Expr::SubLink(s) = e {
                relations_of(&s.query, out);
            }
        });
    });
}

/// WITH (..) of a view as `name=value`.
pub fn view_options(options: &[DefElem]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for option in options {
        let value = def_text(option).unwrap_or_else(|| "true".to_string());
        let name = option.name.as_str();
        match name {
            "security_barrier" | "security_invoker" => {
                if super::table::bool_text(&value).is_none() {
                    bail!(
                        INVALID_PARAMETER_VALUE,
                        "invalid value for boolean option \"{name}\": {value}"
                    );
                }
            }
            "check_option" => {
                if !matches!(value.as_str(), "local" | "cascaded") {
                    return Err(err!(
                        INVALID_PARAMETER_VALUE,
                        "invalid value for enum option \"check_option\": {value}"
                    )
                    .detail("Valid values are \"local\" and \"cascaded\"."));
                }
            }
            _ => bail!(INVALID_PARAMETER_VALUE, "unrecognized parameter \"{name}\""),
        }
        all.push(format!("{name}={value}"));
    }
    Ok(all)
}
