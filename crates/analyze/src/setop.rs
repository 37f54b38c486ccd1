//! UNION, INTERSECT, EXCEPT.

use crate::names::ns_column;
use crate::state::{Analyzer, Kind, NsItem, State};
use base::{Oid, Result, err};
use catalog::oids;
use ir::{
    Alias, CmdType, Expr, Location, Query, ReturningKind, SetOpKind, SetOperand, SetOperation,
    SortGroupClause, TargetEntry, Var,
};
use parser::ast::{self, SelectBody};

/// What an operand gives: columns, each with the place of its expression.
struct Columns {
    operand: SetOperand,
    /// Type, modifier, place; for a leaf the subquery's target is changed in place.
    cols: Vec<(Oid, i32, Oid, Location)>,
    names: Vec<String>,
    /// Range-table index of the leftmost leaf.
    leftmost: u32,
}

impl Analyzer<'_> {
    /// `transformSetOperationStmt`.
    pub fn set_operation(
        &mut self,
        stmt: &ast::SelectStmt,
        op: &ast::SetOperation,
    ) -> Result<Query> {
        let mut query = Query::new(CmdType::Select);
        if let Some(with) = &stmt.with {
            self.with_clause(with)?;
        }
        if let Some(clause) = stmt.locking.first() {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "{} is not allowed with UNION/INTERSECT/EXCEPT",
                crate::lock::strength_name(clause.strength)
            ));
        }
        let columns = self.set_op(op, true)?;
        let SetOperand::Operation(tree) = columns.operand else {
            return Err(base::Error::internal("a set operation without operands"));
        };
        let mut targets = Vec::new();
        let mut cols = Vec::new();
        for (i, (ty, typmod, collation, place)) in columns.cols.iter().enumerate() {
            let number = i as i16 + 1;
            let mut var = Var::new(columns.leftmost, number, *ty, *typmod, *collation);
            var.location = *place;
            let name = Some(columns.names[i].clone());
            targets.push(TargetEntry::new(Expr::Var(var), number, name, false));
            cols.push(ns_column(columns.leftmost, number, *ty, *typmod, *collation));
        }
        // ORDER BY may use the output's names and nothing else.
        let item = NsItem {
            name: String::new(),
            columns: columns.names.clone(),
            rtindex: columns.leftmost,
            cols,
            rel_visible: false,
            cols_visible: true,
            lateral_only: false,
            lateral_ok: true,
            returning: ReturningKind::Default,
        };
        self.st().namespace = vec![item];
        let visible = targets.len();
        self.st().next_resno = visible as i16;
        let sort = self.sort_clause(&stmt.order_by, &mut targets, Kind::OrderBy, false)?;
        self.st().namespace.clear();
        if targets.len() != visible {
            let place = targets[visible].expr.location();
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "invalid UNION/INTERSECT/EXCEPT ORDER BY clause"
            )
            .detail("Only result column names can be used, not expressions or functions.")
            .hint(
                "Add the expression/function to every SELECT, or move the UNION into a FROM \
                 clause.",
            )
            .at(place));
        }
        query.sort_clause = sort;
        self.limits(stmt, &mut query)?;
        query.target_list = targets;
        self.finish_query(&mut query, None);
        query.set_operations = Some(tree);
        crate::collate::assign_query(self, &mut query)?;
        let _ = Alias::default();
        Ok(query)
    }

    fn operand(&mut self, stmt: &ast::SelectStmt, top: bool) -> Result<Columns> {
        base::stack::check()?;
        // A nested operation without clauses of its own is part of the tree.
        let bare = stmt.with.is_none()
            && stmt.order_by.is_empty()
            && stmt.limit.is_none()
            && stmt.offset.is_none()
            && stmt.locking.is_empty();
        if let SelectBody::SetOp(op) = &stmt.body
            && bare
        {
            return self.set_op(op, top);
        }
        let state = State { resolve_unknowns: false, ..State::default() };
        let query = self.nested(state, |a| a.select(stmt))?;
        // An operand cannot see this level's own (set operation's) tables.
        let mut place = None;
        let mut outer = false;
        ir::walk::query_exprs(&query, 0, &mut |e, level| {
            outer |= ir::walk::any_levels(e, level, &mut |e, level| match e {
                Expr::Var(v) if v.levels_up == level + 1 && self.states.len() > 1 => {
                    let _ = &mut place;
                    false
                }
                _ => false,
            });
        });
        if outer {
            return Err(err!(
                INVALID_COLUMN_REFERENCE,
                "UNION/INTERSECT/EXCEPT member statement cannot refer to other relations of same \
                 query level"
            )
            .at(place));
        }
        let names = crate::from::output_columns(&query).into_iter().map(|c| c.0).collect();
        let cols = query
            .target_list
            .iter()
            .filter(|t| !t.junk)
            .map(|t| (t.expr.ty(), t.expr.typmod(), t.expr.collation(), t.expr.location()))
            .collect();
        let number = self.cur().rtable.len() + 1;
        let item = self.add_subquery(query, None, false, None)?;
        let index = item.rtindex;
        let rte = &mut self.st().rtable[index as usize - 1];
        rte.eref.name = format!("*SELECT* {number}");
        rte.in_from = false;
        rte.alias = Some(Alias { name: rte.eref.name.clone(), columns: Vec::new() });
        Ok(Columns { operand: SetOperand::Table(index), cols, names, leftmost: index })
    }

    fn set_op(&mut self, op: &ast::SetOperation, top: bool) -> Result<Columns> {
        let (kind, word) = match op.op {
            ast::SetOp::Union => (SetOpKind::Union, "UNION"),
            ast::SetOp::Intersect => (SetOpKind::Intersect, "INTERSECT"),
            ast::SetOp::Except => (SetOpKind::Except, "EXCEPT"),
        };
        let left = self.operand(&op.left, false)?;
        // A recursive term refers to the CTE as the non-recursive one made it.
        if top && self.cte_in_progress() {
            self.recursive_columns(&left.names, &left.cols)?;
        }
        let right = self.operand(&op.right, false)?;
        if left.cols.len() != right.cols.len() {
            let place = right.cols.first().and_then(|c| c.3);
            return Err(err!(
                SYNTAX_ERROR,
                "each {word} query must have the same number of columns"
            )
            .at(place));
        }
        let mut made = SetOperation {
            kind,
            all: op.all,
            left: left.operand,
            right: right.operand,
            col_types: Vec::new(),
            col_typmods: Vec::new(),
            col_collations: Vec::new(),
            group_clauses: Vec::new(),
        };
        let mut cols = Vec::new();
        for (i, (l, r)) in left.cols.iter().zip(&right.cols).enumerate() {
            let ty =
                self.common_type_of(&[(l.0, l.3), (r.0, r.3)], Some(word))?.unwrap_or(oids::TEXT);
            // Literals of unknown type take the type at once; other columns are coerced when
            // the plan is made.
            let (mut lc, mut rc) = (*l, *r);
            self.fix_unknown(&made.left, i, ty, word, &mut lc)?;
            self.fix_unknown(&made.right, i, ty, word, &mut rc)?;
            for side in [&lc, &rc] {
                let cx = catalog::CastContext::Implicit;
                if side.0 != ty && !self.can_coerce(&[side.0], &[ty], cx)? {
                    return Err(err!(
                        CANNOT_COERCE,
                        "{word} could not convert type {} to {}",
                        self.type_shown(side.0),
                        self.type_shown(ty)
                    )
                    .at(side.3));
                }
            }
            let typmod = if lc.0 == ty && rc.0 == ty && lc.1 == rc.1 { lc.1 } else { -1 };
            let sides = [(&made.left, &lc), (&made.right, &rc)];
            let collation = self.set_collation(i, ty, sides, op.all && word == "UNION", word)?;
            if !(op.all && kind == SetOpKind::Union) {
                made.group_clauses.push(self.set_group_clause(ty, lc.3)?);
            }
            made.col_types.push(ty);
            made.col_typmods.push(typmod);
            made.col_collations.push(collation);
            cols.push((ty, typmod, collation, lc.3));
        }
        Ok(Columns {
            operand: SetOperand::Operation(Box::new(made)),
            cols,
            names: left.names,
            leftmost: left.leftmost,
        })
    }

    /// A literal in a leaf's select list becomes of the common type.
    fn fix_unknown(
        &mut self,
        operand: &SetOperand,
        i: usize,
        ty: Oid,
        word: &str,
        column: &mut (Oid, i32, Oid, Location),
    ) -> Result<()> {
        let SetOperand::Table(index) = operand else { return Ok(()) };
        let slot = *index as usize - 1;
        let ir::RteKind::Subquery { query, .. } = &mut self.st().rtable[slot].kind else {
            return Ok(());
        };
        let visible = query.target_list.iter_mut().filter(|t| !t.junk);
        let Some(target) = visible.into_iter().nth(i) else { return Ok(()) };
        let literal = target.expr.ty() == oids::UNKNOWN
            && matches!(target.expr, Expr::Const(_) | Expr::Param(_));
        if !literal {
            return Ok(());
        }
        let expr = target.expr.clone();
        let mut made = self.to_common(expr, ty, word)?;
        crate::collate::assign(self, &mut made)?;
        *column = (made.ty(), made.typmod(), made.collation(), column.3);
        if let ir::RteKind::Subquery { query, .. } = &mut self.st().rtable[slot].kind
            && let Some(t) = query.target_list.iter_mut().filter(|t| !t.junk).nth(i)
        {
            t.expr = made;
        }
        Ok(())
    }

    /// The collation of a column of a set operation: that of both sides' expressions together.
    /// Where they differ there is none; what compares rows cannot do without.
    fn set_collation(
        &mut self,
        i: usize,
        ty: Oid,
        sides: [(&SetOperand, &(Oid, i32, Oid, Location)); 2],
        union_all: bool,
        word: &str,
    ) -> Result<Oid> {
        if !self.collation_of_type(ty)?.is_valid() {
            return Ok(Oid::INVALID);
        }
        let mut exprs = Vec::with_capacity(2);
        for (operand, &(own, typmod, collation, location)) in sides {
            let expr = self.leaf_expr(operand, i);
            let expr = expr.unwrap_or(Expr::SetToDefault { ty: own, typmod, collation, location });
            exprs.push(self.to_common(expr, ty, word)?);
        }
        crate::collate::common(self, &mut exprs, union_all)
    }

    /// What a leaf selects for a column.
    fn leaf_expr(&self, operand: &SetOperand, i: usize) -> Option<Expr> {
        let SetOperand::Table(index) = operand else { return None };
        let ir::RteKind::Subquery { query, .. } = &self.cur().rtable[*index as usize - 1].kind
        else {
            return None;
        };
        query.target_list.iter().filter(|t| !t.junk).nth(i).map(|t| t.expr.clone())
    }

    fn set_group_clause(&self, ty: Oid, at: Location) -> Result<SortGroupClause> {
        let ops = self.sort_ops(ty)?;
        let eq_op = self.need_eq(&ops, ty).map_err(|e| e.at(at))?;
        Ok(SortGroupClause {
            target_ref: 0,
            eq_op,
            sort_op: ops.lt,
            descending: false,
            nulls_first: false,
            hashable: ops.hashable,
        })
    }
}
