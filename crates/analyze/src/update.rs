//! UPDATE and DELETE.

use crate::names::rights;
use crate::state::{Analyzer, Kind};
use base::Result;
use ir::{CmdType, Expr, Query};
use parser::ast::{self, ExprKind};

impl Analyzer<'_> {
    /// `transformUpdateStmt`.
    pub fn update(&mut self, stmt: &ast::UpdateStmt) -> Result<Query> {
        let mut query = Query::new(CmdType::Update);
        if let Some(with) = &stmt.with {
            self.with_clause(with)?;
        }
        let inherit = !stmt.target.only;
        let rel = self.set_target_table(&stmt.target, inherit, true, rights::UPDATE)?;
        query.result_relation = self.cur().target.as_ref().map_or(1, |t| t.rtindex);
        self.target_lateral(true);
        self.from_clause(&stmt.from)?;
        let quals = self.modifying_where(stmt.where_clause.as_ref())?;
        if let Some(returning) = &stmt.returning {
            query.returning = self.returning(returning, Kind::Returning)?;
        }
        query.target_list = self.set_list(&rel, &stmt.set, Kind::UpdateSource)?;
        self.finish_query(&mut query, quals);
        crate::collate::assign_query(self, &mut query)?;
        Ok(query)
    }

    /// `transformDeleteStmt`.
    pub fn delete(&mut self, stmt: &ast::DeleteStmt) -> Result<Query> {
        let mut query = Query::new(CmdType::Delete);
        if let Some(with) = &stmt.with {
            self.with_clause(with)?;
        }
        let inherit = !stmt.target.only;
        self.set_target_table(&stmt.target, inherit, true, rights::DELETE)?;
        query.result_relation = self.cur().target.as_ref().map_or(1, |t| t.rtindex);
        self.target_lateral(true);
        self.from_clause(&stmt.using)?;
        let quals = self.modifying_where(stmt.where_clause.as_ref())?;
        if let Some(returning) = &stmt.returning {
            query.returning = self.returning(returning, Kind::Returning)?;
        }
        self.finish_query(&mut query, quals);
        crate::collate::assign_query(self, &mut query)?;
        Ok(query)
    }

    /// While FROM is analysed the target is there for error messages only.
    pub fn target_lateral(&mut self, only: bool) {
        if let Some(first) = self.st().namespace.last_mut() {
            first.lateral_only = only;
            first.lateral_ok = false;
        }
    }

    pub fn modifying_where(&mut self, clause: Option<&ast::Expr>) -> Result<Option<Expr>> {
        if let Some(e) = clause
            && let ExprKind::CurrentOf(_) = e.kind
        {
            return self.expr(e, Kind::Where).map(Some);
        }
        self.where_clause(clause, Kind::Where)
    }
}
