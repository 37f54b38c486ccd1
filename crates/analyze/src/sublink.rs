//! Subqueries in expressions.

use crate::state::{Analyzer, Kind, State};
use base::{Error, Oid, Result, err};
use catalog::oids;
use ir::{Expr, Location, Param, ParamKind, Query, SubLink, SubLinkKind};
use parser::ast::{self, SublinkKind};

/// The subselect's columns as the params that the comparison uses, numbered from 1.
pub(crate) fn output_params(query: &Query) -> Vec<Expr> {
    let visible = query.target_list.iter().filter(|t| !t.junk);
    visible
        .enumerate()
        .map(|(i, t)| {
            Expr::Param(Param {
                kind: ParamKind::Exec,
                id: i as u32 + 1,
                ty: t.expr.ty(),
                typmod: t.expr.typmod(),
                collation: t.expr.collation(),
                location: None,
            })
        })
        .collect()
}

impl Analyzer<'_> {
    /// Analyses a subquery of an expression, if one may stand here.
    pub fn sub_query(&mut self, stmt: &ast::SelectStmt, at: Location) -> Result<Query> {
        let kind = self.cur().kind;
        if let Some(place) = kind.long_name() {
            let refused = match kind {
                Kind::CheckConstraint | Kind::DomainCheck => {
                    "cannot use subquery in check constraint".to_owned()
                }
                Kind::ColumnDefault | Kind::FunctionDefault => {
                    "cannot use subquery in DEFAULT expression".to_owned()
                }
                Kind::IndexExpression => "cannot use subquery in index expression".to_owned(),
                Kind::IndexPredicate => "cannot use subquery in index predicate".to_owned(),
                Kind::StatsExpression => "cannot use subquery in statistics expression".to_owned(),
                Kind::AlterColTransform => "cannot use subquery in transform expression".to_owned(),
                Kind::ExecuteParameter => "cannot use subquery in EXECUTE parameter".to_owned(),
                Kind::TriggerWhen => "cannot use subquery in trigger WHEN condition".to_owned(),
                Kind::PartitionBound => "cannot use subquery in partition bound".to_owned(),
                Kind::PartitionExpression => {
                    "cannot use subquery in partition key expression".to_owned()
                }
                Kind::CallArgument => "cannot use subquery in CALL argument".to_owned(),
                Kind::CopyWhere => "cannot use subquery in COPY FROM WHERE condition".to_owned(),
                Kind::GeneratedColumn => {
                    "cannot use subquery in column generation expression".to_owned()
                }
                _ => format!("cannot use subquery in {place}"),
            };
            return Err(err!(FEATURE_NOT_SUPPORTED, "{refused}").at(at));
        }
        let state = State { resolve_unknowns: true, ..State::default() };
        let query = self.nested(state, |a| a.select(stmt))?;
        self.st().has_sublinks = true;
        Ok(query)
    }

    /// `transformSubLink`.
    pub fn sublink(&mut self, link: &ast::Sublink, at: Location) -> Result<Expr> {
        let query = self.sub_query(&link.query, at)?;
        let mut made = SubLink {
            kind: SubLinkKind::Exists,
            id: 0,
            test: None,
            op_name: Vec::new(),
            query: Box::new(query),
            ty: oids::BOOL,
            typmod: -1,
            collation: Oid::INVALID,
            location: at,
        };
        match &link.kind {
            SublinkKind::Exists => {}
            SublinkKind::Scalar | SublinkKind::Array => {
                let array = link.kind == SublinkKind::Array;
                let mut columns = made.query.target_list.iter().filter(|t| !t.junk);
                let (first, second) = (columns.next(), columns.next());
                let Some(first) = first.filter(|_| second.is_none()) else {
                    return Err(err!(SYNTAX_ERROR, "subquery must return only one column").at(at));
                };
                let ty = first.expr.ty();
                (made.typmod, made.collation) = (first.expr.typmod(), first.expr.collation());
                made.ty = ty;
                made.kind = SubLinkKind::Expr;
                if array {
                    made.kind = SubLinkKind::Array;
                    made.ty = self.array_of(ty, at)?;
                }
            }
            SublinkKind::Any { left, op } => {
                made.kind = SubLinkKind::Any;
                let pos = at.unwrap_or(ast::NO_POS);
                let equals = self.equals(pos);
                let op_used = op.as_ref().unwrap_or(&equals);
                if let Some(op) = op {
                    made.op_name = vec![op.name.to_string()];
                }
                made.test = Some(Box::new(self.sublink_test(left, op_used, &made.query, at)?));
            }
            SublinkKind::All { left, op } => {
                made.kind = SubLinkKind::All;
                made.op_name = vec![op.name.to_string()];
                made.test = Some(Box::new(self.sublink_test(left, op, &made.query, at)?));
            }
        }
        Ok(Expr::SubLink(Box::new(made)))
    }

    /// The array type for an element, which may be an array itself.
    fn array_of(&self, ty: Oid, at: Location) -> Result<Oid> {
        let desc = self.type_desc(ty)?;
        if desc.array.is_valid() {
            return Ok(desc.array);
        }
        if desc.is_array() {
            return Ok(ty);
        }
        Err(err!(
            UNDEFINED_OBJECT,
            "could not find array type for data type {}",
            self.type_shown(ty)
        )
        .at(at))
    }

    fn sublink_test(
        &mut self,
        left: &ast::Expr,
        op: &ast::OpName,
        query: &Query,
        at: Location,
    ) -> Result<Expr> {
        let fields = match self.transform(left)? {
            Expr::Row(row) if matches!(left.kind, ast::ExprKind::Row { .. }) => row.args,
            other => vec![other],
        };
        let params = output_params(query);
        if fields.len() < params.len() {
            return Err(err!(SYNTAX_ERROR, "subquery has too many columns").at(at));
        }
        if fields.len() > params.len() {
            return Err(err!(SYNTAX_ERROR, "subquery has too few columns").at(at));
        }
        if fields.is_empty() {
            return Err(Error::internal("comparison of nothing"));
        }
        self.compare_fields(op, fields, params, at)
    }
}
