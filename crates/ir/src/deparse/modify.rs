//! INSERT, UPDATE and DELETE: actions of rules, bodies of functions.

use super::{Printer, STEP};
use crate::expr::{CoercionForm, Expr, ParamKind, TargetEntry};
use crate::query::*;

impl<'a> Printer<'a> {
    pub(super) fn insert(&mut self, query: &'a Query) {
        self.with_clause(query);
        let Some(target) = self.modified(query, "INSERT INTO ") else { return };
        if query.rte(query.result_relation).alias.is_some() {
            self.put(&format!(" AS {target}"));
        }
        let columns = self.target_columns(query);
        self.put(" (");
        for (i, entry) in query.target_list.iter().filter(|t| !t.junk).enumerate() {
            self.put(if i > 0 { ", " } else { "" });
            let name = column(&columns, entry);
            self.put_ident(&name);
            self.assignment_path(&entry.expr);
        }
        self.put(") ");
        match query.overriding {
            Overriding::None => {}
            Overriding::UserValue => self.put("OVERRIDING USER VALUE "),
            Overriding::SystemValue => self.put("OVERRIDING SYSTEM VALUE "),
        }
        self.insert_source(query);
        if let Some(conflict) = &query.on_conflict {
            self.on_conflict(conflict, &columns);
        }
        self.returning(query);
    }

    /// A rule's NOTIFY.
    pub(super) fn notify(&mut self, query: &'a Query) {
        let Some((channel, payload)) = &query.notify else { return self.put("NOTHING") };
        self.clause("NOTIFY ", 0, STEP, 1);
        self.put_ident(channel);
        if let Some(payload) = payload {
            self.put(", ");
            self.put(&super::quote_literal(payload));
        }
    }

    fn insert_source(&mut self, query: &'a Query) {
        let mut sources = query.rtable.iter().enumerate().filter(|(i, r)| {
            *i as u32 + 1 != query.result_relation
                && matches!(r.kind, RteKind::Subquery { .. } | RteKind::Values { .. })
                && query.jointree.items.contains(&FromItem::Table(*i as u32 + 1))
        });
        match sources.next().map(|(_, r)| &r.kind) {
            Some(RteKind::Subquery { query: select, .. }) => self.nested_query(select, false),
            Some(RteKind::Values { lists, .. }) => self.values(lists),
            _ if query.target_list.is_empty() => self.put("DEFAULT VALUES"),
            _ => {
                self.clause("VALUES (", -STEP, STEP, 2);
                let mut first = true;
                for entry in query.target_list.iter().filter(|t| !t.junk) {
                    self.put(if first { "" } else { ", " });
                    first = false;
                    self.top_expr(assigned(&entry.expr));
                }
                self.put(")");
            }
        }
    }

    fn on_conflict(&mut self, conflict: &'a OnConflict, columns: &[String]) {
        self.put(" ON CONFLICT");
        if !conflict.arbiter.is_empty() {
            self.put("(");
            self.list(&conflict.arbiter, |p, e| {
                let bare = matches!(e.expr, Expr::Var(_) | Expr::Func(_));
                let prefix = std::mem::replace(&mut p.prefix, false);
                p.put(if bare { "" } else { "(" });
                p.expr(&e.expr, false);
                p.put(if bare { "" } else { ")" });
                p.prefix = prefix;
                if let Some(c) = e.collation {
                    p.collate(c);
                }
                if let Some(class) = e.opclass.and_then(|o| p.names.opclass(o)) {
                    p.put(&format!(" {}", class.text()));
                }
            });
            self.put(")");
            if let Some(condition) = &conflict.arbiter_where {
                let prefix = std::mem::replace(&mut self.prefix, false);
                self.clause(" WHERE ", -STEP, STEP, 1);
                self.expr(condition, false);
                self.prefix = prefix;
            }
        } else if let Some(name) = conflict.constraint.and_then(|c| self.names.constraint(c)) {
            self.put(" ON CONSTRAINT ");
            self.put_ident(&name);
        }
        if conflict.action == ConflictAction::Nothing {
            return self.put(" DO NOTHING");
        }
        self.put(" DO UPDATE SET ");
        self.assignments(&conflict.set, columns);
        if let Some(condition) = &conflict.where_ {
            self.clause(" WHERE ", -STEP, STEP, 1);
            self.expr(condition, false);
        }
    }

    pub(super) fn update(&mut self, query: &'a Query) {
        self.with_clause(query);
        let Some(target) = self.modified(query, "UPDATE ") else { return };
        if query.rte(query.result_relation).alias.is_some() {
            self.put(&format!(" {target}"));
        }
        self.put(" SET ");
        let columns = self.target_columns(query);
        self.assignments(&query.target_list, &columns);
        self.from_clause(query, " FROM ");
        self.condition(query);
        self.returning(query);
    }

    pub(super) fn delete(&mut self, query: &'a Query) {
        self.with_clause(query);
        let Some(target) = self.modified(query, "DELETE FROM ") else { return };
        if query.rte(query.result_relation).alias.is_some() {
            self.put(&format!(" {target}"));
        }
        self.from_clause(query, " USING ");
        self.condition(query);
        self.returning(query);
    }

    fn condition(&mut self, query: &'a Query) {
        if let Some(quals) = &query.jointree.quals {
            self.clause(" WHERE ", -STEP, STEP, 1);
            self.expr(quals, false);
        }
    }

    fn returning(&mut self, query: &'a Query) {
        if query.returning.is_empty() {
            return;
        }
        self.clause(" RETURNING", -STEP, STEP, 1);
        self.target_list(&query.returning, true);
    }

    /// Prints the statement's first words and the table; gives the table's alias.
    fn modified(&mut self, query: &'a Query, word: &str) -> Option<String> {
        if self.style.indent {
            self.put(" ");
            self.indent += STEP;
        }
        self.put(word);
        let RteKind::Relation { relid, inherit, .. } = query.rte(query.result_relation).kind else {
            return None;
        };
        if !inherit && query.command != CmdType::Insert {
            self.put("ONLY ");
        }
        let name = self.relation_name(relid);
        self.put(&name);
        self.table_name(query.result_relation)
    }

    fn target_columns(&self, query: &Query) -> Vec<String> {
        match &query.rte(query.result_relation).kind {
            RteKind::Relation { relid, .. } => self.names.columns(*relid),
            _ => Vec::new(),
        }
    }

    fn assignments(&mut self, targets: &'a [TargetEntry], columns: &[String]) {
        let mut first = true;
        let mut rest_of_row = 0;
        for (i, entry) in targets.iter().enumerate().filter(|(_, t)| !t.junk) {
            if rest_of_row > 0 {
                rest_of_row -= 1;
                continue;
            }
            self.put(if first { "" } else { ", " });
            first = false;
            if let Some((query, many)) = multiple(targets, i) {
                let names: Vec<String> = targets[i..i + many]
                    .iter()
                    .map(|t| super::quote_ident(&column(columns, t)))
                    .collect();
                self.put(&format!("({}) = (", names.join(", ")));
                self.nested_query(query, false);
                self.put(")");
                rest_of_row = many - 1;
                continue;
            }
            let name = column(columns, entry);
            self.put_ident(&name);
            let value = self.assignment_path(&entry.expr);
            self.put(" = ");
            self.expr(value, false);
        }
    }

    /// Prints the subscripts and fields of a partial assignment; gives its value.
    pub(super) fn assignment_path(&mut self, expr: &'a Expr) -> &'a Expr {
        let mut at = expr;
        while let Some(inner) = inner_assignment(at) {
            match at {
                Expr::Subscript(s) => self.subscripts(s),
                Expr::FieldStore { fields, ty, .. } => {
                    let names = self.names.fields(*ty).unwrap_or_default();
                    let field = fields.first().map_or(0, |f| *f as usize);
                    let name = field.checked_sub(1).and_then(|i| names.get(i));
                    self.put(".");
                    self.put_ident(name.map_or("?", |n| n));
                }
                _ => {}
            }
            at = inner;
        }
        at
    }
}

/// What is assigned to a part of a value, if that is what the expression does.
fn inner_assignment(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Subscript(s) => s.assign.as_deref(),
        Expr::FieldStore { values, .. } => values.first(),
        Expr::CoerceToDomain { arg, form: CoercionForm::ImplicitCast, .. }
        | Expr::Relabel { arg, form: CoercionForm::ImplicitCast, .. } => {
            inner_assignment(arg).map(|_| &**arg)
        }
        _ => None,
    }
}

/// The value of an assignment, whole or partial.
pub(super) fn assigned(expr: &Expr) -> &Expr {
    let mut at = expr;
    while let Some(inner) = inner_assignment(at) {
        at = inner;
    }
    at
}

fn column(columns: &[String], entry: &TargetEntry) -> String {
    let index = (entry.resno as usize).wrapping_sub(1);
    columns.get(index).cloned().or_else(|| entry.name.clone()).unwrap_or_default()
}

/// The subselect of a multiple assignment that begins here, and how many columns it sets.
fn multiple(targets: &[TargetEntry], at: usize) -> Option<(&Query, usize)> {
    let number = |t: &TargetEntry| match &t.expr {
        Expr::Param(p) if p.kind == ParamKind::Exec && p.id > 0xffff => Some(p.id >> 16),
        _ => None,
    };
    let id = number(&targets[at])?;
    let many = targets[at..].iter().take_while(|t| number(t) == Some(id)).count();
    targets.iter().find_map(|t| match &t.expr {
        Expr::SubLink(link) if link.id == id => Some((&*link.query, many)),
        _ => None,
    })
}
