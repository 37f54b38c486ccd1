//! CREATE RULE.

use super::Ddl;
use base::{Error, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{RelKind, RelationDesc, SysRow, indexes, oids};
use ir::{CmdType, Query, TargetEntry};
use parser::ast::{CreateRuleStmt, LockMode, RuleEvent};
use types::Datum;

/// The name of the rule that makes a view.
const VIEW_RULE: &str = "_RETURN";

fn letter(event: RuleEvent) -> u8 {
    match event {
        RuleEvent::Select => b'1',
        RuleEvent::Update => b'2',
        RuleEvent::Insert => b'3',
        RuleEvent::Delete => b'4',
    }
}

impl Ddl<'_> {
    /// CREATE RULE.
    pub fn create_rule(&self, stmt: &CreateRuleStmt) -> Result<()> {
        let rel = self.view.require_relation(stmt.rel.schema.as_deref(), &stmt.rel.name)?;
        self.storage.lock(rel.oid, LockMode::AccessExclusive)?;
        let rel = self.view.relation(rel.oid)?;
        if rel.kind == RelKind::MatView {
            bail!(FEATURE_NOT_SUPPORTED, "rules on materialized views are not supported");
        }
        let env = crate::analysis::env(self.env);
        let mut made = analyze::rule(&env, &rel, stmt)?;
        self.check_rule_relation(&rel)?;
        for action in &made.actions {
            check_target(action)?;
        }
        if stmt.event == RuleEvent::Select {
            return Err(self.refuse_select_rule(&rel, stmt, &made));
        }
        self.check_rule_returning(&rel, &made.actions, stmt)?;
        if stmt.name == VIEW_RULE {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "non-view rule for \"{}\" must not be named \"{VIEW_RULE}\"",
                rel.name
            );
        }
        for action in &mut made.actions {
            analyze::clear_places(action);
        }
        if let Some(qual) = &mut made.qual {
            *qual = analyze::without_places(qual);
        }
        self.store_rule(&rel, stmt, &made)
    }

    fn check_rule_relation(&self, rel: &RelationDesc) -> Result<()> {
        if !matches!(rel.kind, RelKind::Table | RelKind::Partitioned | RelKind::View) {
            let plural = match rel.kind {
                RelKind::Index => "indexes",
                RelKind::PartitionedIndex => "partitioned indexes",
                RelKind::Sequence => "sequences",
                RelKind::Composite => "composite types",
                RelKind::Foreign => "foreign tables",
                _ => "TOAST tables",
            };
            return Err(err!(WRONG_OBJECT_TYPE, "relation \"{}\" cannot have rules", rel.name)
                .detail(format!("This operation is not supported for {plural}.")));
        }
        if rel.oid.0 < 16384 {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied: \"{}\" is a system catalog",
                rel.name
            );
        }
        self.require_owner_of_relation(rel)
    }

    /// Why a rule on SELECT is refused; only views have them, by their definition.
    fn refuse_select_rule(
        &self,
        rel: &RelationDesc,
        stmt: &CreateRuleStmt,
        made: &analyze::AnalysedRule,
    ) -> Error {
        let hint = "Use views instead.";
        match made.actions.as_slice() {
            [] => {
                return err!(
                    FEATURE_NOT_SUPPORTED,
                    "INSTEAD NOTHING rules on SELECT are not implemented"
                )
                .hint(hint);
            }
            [one] if !stmt.instead || one.command != CmdType::Select => {
                return err!(
                    FEATURE_NOT_SUPPORTED,
                    "rules on SELECT must have action INSTEAD SELECT"
                )
                .hint(hint);
            }
            [_] => {}
            _ => {
                return err!(
                    FEATURE_NOT_SUPPORTED,
                    "multiple actions for rules on SELECT are not implemented"
                )
                .hint(hint);
            }
        }
        if rel.kind != RelKind::View {
            let plural = match rel.kind {
                RelKind::Partitioned => "partitioned tables",
                _ => "tables",
            };
            return err!(
                WRONG_OBJECT_TYPE,
                "relation \"{}\" cannot have ON SELECT rules",
                rel.name
            )
            .detail(format!("This operation is not supported for {plural}."));
        }
        if stmt.where_clause.is_some() {
            return err!(
                FEATURE_NOT_SUPPORTED,
                "event qualifications are not implemented for rules on SELECT"
            );
        }
        if stmt.name != VIEW_RULE {
            return err!(
                INVALID_OBJECT_DEFINITION,
                "view rule for \"{}\" must be named \"{VIEW_RULE}\"",
                rel.name
            );
        }
        err!(OBJECT_NOT_IN_PREREQUISITE_STATE, "\"{}\" is already a view", rel.name)
    }

    /// RETURNING of actions must give the relation's rows.
    fn check_rule_returning(
        &self,
        rel: &RelationDesc,
        actions: &[Query],
        stmt: &CreateRuleStmt,
    ) -> Result<()> {
        let mut given = false;
        for action in actions.iter().filter(|a| !a.returning.is_empty()) {
            if given {
                bail!(FEATURE_NOT_SUPPORTED, "cannot have multiple RETURNING lists in a rule");
            }
            given = true;
            if stmt.where_clause.is_some() {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "RETURNING lists are not supported in conditional rules"
                );
            }
            if !stmt.instead {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "RETURNING lists are not supported in non-INSTEAD rules"
                );
            }
            self.check_result_list(rel, &action.returning)?;
        }
        Ok(())
    }

    fn check_result_list(&self, rel: &RelationDesc, list: &[TargetEntry]) -> Result<()> {
        let list: Vec<&TargetEntry> = list.iter().filter(|t| !t.junk).collect();
        for (i, t) in list.iter().enumerate() {
            let Some(attr) = rel.tuple.attrs.get(i) else {
                bail!(INVALID_OBJECT_DEFINITION, "RETURNING list has too many entries");
            };
            if attr.dropped {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "cannot create a RETURNING list for a relation containing dropped columns"
                );
            }
            let entry = i + 1;
            if t.expr.ty() != attr.type_oid {
                return Err(err!(
                    INVALID_OBJECT_DEFINITION,
                    "RETURNING list's entry {entry} has different type from column \"{}\"",
                    attr.name
                )
                .detail(format!(
                    "RETURNING list entry has type {}, but column has type {}.",
                    self.format_type(t.expr.ty(), -1),
                    self.format_type(attr.type_oid, -1)
                )));
            }
            let typmod = t.expr.typmod();
            if attr.typmod != typmod && attr.typmod != -1 && typmod != -1 {
                return Err(err!(
                    INVALID_OBJECT_DEFINITION,
                    "RETURNING list's entry {entry} has different size from column \"{}\"",
                    attr.name
                )
                .detail(format!(
                    "RETURNING list entry has type {}, but column has type {}.",
                    self.format_type(t.expr.ty(), typmod),
                    self.format_type(attr.type_oid, attr.typmod)
                )));
            }
        }
        if list.len() < rel.tuple.natts() {
            bail!(INVALID_OBJECT_DEFINITION, "RETURNING list has too few entries");
        }
        Ok(())
    }

    fn store_rule(
        &self,
        rel: &RelationDesc,
        stmt: &CreateRuleStmt,
        made: &analyze::AnalysedRule,
    ) -> Result<()> {
        let key = [Datum::U32(rel.oid.0), Datum::text(&stmt.name)];
        let old = self.rows.index_scan(indexes::PG_REWRITE_REL, &key)?.into_iter().next();
        if old.is_some() && !stmt.replace {
            bail!(
                DUPLICATE_OBJECT,
                "rule \"{}\" for relation \"{}\" already exists",
                stmt.name,
                rel.name
            );
        }
        let qual = match &made.qual {
            Some(qual) => crate::cook::to_text(qual)?,
            None => String::new(),
        };
        let is_new = old.is_none();
        let mut row = match old {
            Some(row) => row,
            None => {
                let mut row = SysRow::new(oids::PG_REWRITE)?;
                row.set_oid("oid", self.rows.new_oid(oids::PG_REWRITE)?)?
                    .set_text("rulename", &stmt.name)?
                    .set_oid("ev_class", rel.oid)?
                    .set_char("ev_enabled", b'O')?;
                row
            }
        };
        row.set_char("ev_type", letter(stmt.event))?
            .set_bool("is_instead", stmt.instead)?
            .set_text("ev_qual", &qual)?
            .set_text("ev_action", &crate::cook::to_text(&made.actions)?)?;
        let own = ObjectAddress::new(oids::PG_REWRITE, row.oid("oid")?);
        if is_new {
            self.rows.insert(row)?;
        } else {
            self.rows.update(row)?;
            depend::forget(self.rows, own)?;
        }
        depend::record(self.rows, own, ObjectAddress::relation(rel.oid), DependKind::Auto)?;
        for action in &made.actions {
            self.depend_query(own, action)?;
        }
        if let Some(qual) = &made.qual {
            // The condition's columns are those of OLD and NEW, both of the same relation.
            let mut qual = qual.clone();
            ir::renumber::expr(&mut qual, &|_| 1);
            self.depend_expr(own, &qual, rel.oid)?;
        }
        let mut class = self.class_row(rel.oid)?;
        class.set_bool("relhasrules", true)?;
        self.rows.update(class)?;
        Ok(())
    }
}

/// Actions cannot change OLD or NEW themselves.
fn check_target(action: &Query) -> Result<()> {
    let (what, hint) = match action.result_relation {
        analyze::OLD => ("OLD", "Use views or triggers instead."),
        analyze::NEW => ("NEW", "Use triggers instead."),
        _ => return Ok(()),
    };
    if action.command == CmdType::Insert || action.command == CmdType::Select {
        return Ok(());
    }
    Err(err!(FEATURE_NOT_SUPPORTED, "rule actions on {what} are not implemented").hint(hint))
}
