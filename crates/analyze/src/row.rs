//! Comparison of rows.

use crate::oper::simple_op;
use crate::state::{Analyzer, loc};
use base::{Oid, Result, err};
use catalog::oids;
use ir::{BoolOp, Expr, Location, OpKind, RowCompareOp, SubLink, SubLinkKind};
use parser::ast;

impl Analyzer<'_> {
    fn row_fields(&mut self, row: &ast::Expr) -> Result<Vec<Expr>> {
        match self.transform(row)? {
            Expr::Row(row) => Ok(row.args),
            _ => Err(base::Error::internal("not a row")),
        }
    }

    /// `(a, b) op (c, d)`.
    pub fn row_compare(
        &mut self,
        op: &ast::OpName,
        left: &ast::Expr,
        right: &ast::Expr,
        at: Location,
    ) -> Result<Expr> {
        let l = self.row_fields(left)?;
        let r = self.row_fields(right)?;
        self.compare_fields(op, l, r, at)
    }

    /// `make_row_comparison_op`.
    pub fn compare_fields(
        &mut self,
        op: &ast::OpName,
        left: Vec<Expr>,
        right: Vec<Expr>,
        at: Location,
    ) -> Result<Expr> {
        if left.len() != right.len() {
            return Err(err!(SYNTAX_ERROR, "unequal number of entries in row expressions").at(at));
        }
        if left.is_empty() {
            return Err(err!(FEATURE_NOT_SUPPORTED, "cannot compare rows of zero length").at(at));
        }
        let mut parts = Vec::with_capacity(left.len());
        for (l, r) in left.into_iter().zip(right) {
            let made = self.make_op(op, Some(l), r, at)?;
            let Expr::Op(cmp) = made else {
                return Err(base::Error::internal("a comparison is not an operator"));
            };
            if cmp.ret_type != oids::BOOL {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "row comparison operator must yield type boolean, not type {}",
                    self.type_shown(cmp.ret_type)
                )
                .at(at));
            }
            if cmp.ret_set {
                let message = "row comparison operator must not return a set";
                return Err(err!(DATATYPE_MISMATCH, "{message}").at(at));
            }
            parts.push(cmp);
        }
        if parts.len() == 1 {
            return Ok(Expr::Op(parts.remove(0)));
        }
        // All operators must have one meaning in a btree family.
        let mut common: Option<Vec<(Oid, i16)>> = None;
        let mut families = Vec::new();
        for p in &parts {
            let found: Vec<(Oid, i16)> = self
                .catalog()
                .amops_of_operator(p.op)?
                .iter()
                .filter(|a| a.am == oids::BTREE_AM && a.purpose == b's')
                .map(|a| (a.family, a.strategy))
                .collect();
            // `<>` is the negator of a family's equality.
            let mut found = found;
            if found.is_empty() {
                let negator = self.catalog().operator(p.op)?.negator;
                if negator.is_valid() {
                    for a in self.catalog().amops_of_operator(negator)?.iter() {
                        if a.am == oids::BTREE_AM && a.strategy == 3 {
                            found.push((a.family, 6));
                        }
                    }
                }
            }
            let strategies: Vec<i16> = found.iter().map(|f| f.1).collect();
            common = Some(match common {
                None => found.clone(),
                Some(list) => list.into_iter().filter(|c| strategies.contains(&c.1)).collect(),
            });
            families.push(found);
        }
        let strategy = common.as_ref().and_then(|c| c.iter().map(|f| f.1).min());
        let op_compare = match strategy {
            Some(3 | 6) => {
                let op = if strategy == Some(3) { BoolOp::And } else { BoolOp::Or };
                let args = parts.into_iter().map(Expr::Op).collect();
                return Ok(Expr::Bool { op, args, location: at });
            }
            Some(1) => RowCompareOp::Lt,
            Some(2) => RowCompareOp::Le,
            Some(4) => RowCompareOp::Ge,
            Some(5) => RowCompareOp::Gt,
            _ => {
                let name = &op.name;
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "could not determine interpretation of row comparison operator {name}"
                )
                .hint("Row comparison operators must be associated with btree operator families.")
                .at(at));
            }
        };
        let family_of = |list: &Vec<(Oid, i16)>| {
            list.iter().find(|f| Some(f.1) == strategy).map_or(Oid::INVALID, |f| f.0)
        };
        let families = families.iter().map(family_of).collect();
        let ops = parts.iter().map(|p| p.op).collect();
        let (mut l, mut r) = (Vec::new(), Vec::new());
        for mut p in parts {
            r.push(p.args.pop().unwrap_or(Expr::bool_const(false)));
            l.push(p.args.pop().unwrap_or(Expr::bool_const(false)));
        }
        let collations = vec![Oid::INVALID; l.len()];
        Ok(Expr::RowCompare { op: op_compare, ops, families, collations, left: l, right: r })
    }

    /// `(a, b) IS DISTINCT FROM (c, d)`.
    pub fn row_distinct(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        at: Location,
    ) -> Result<Expr> {
        let l = self.row_fields(left)?;
        let r = self.row_fields(right)?;
        if l.len() != r.len() {
            return Err(err!(SYNTAX_ERROR, "unequal number of entries in row expressions").at(at));
        }
        let mut parts = Vec::new();
        for (a, b) in l.into_iter().zip(r) {
            parts.push(self.make_distinct(a, b, at)?);
        }
        Ok(match parts.len() {
            0 => Expr::bool_const(false),
            1 => parts.remove(0),
            _ => Expr::Bool { op: BoolOp::Or, args: parts, location: at },
        })
    }

    /// `(a, b) op (SELECT ..)`.
    pub fn row_sublink(
        &mut self,
        op: &ast::OpName,
        left: &ast::Expr,
        link: &ast::Sublink,
        at: Location,
    ) -> Result<Expr> {
        let l = self.row_fields(left)?;
        let query = self.sub_query(&link.query, at)?;
        let params = crate::sublink::output_params(&query);
        if l.len() < params.len() {
            return Err(err!(SYNTAX_ERROR, "subquery has too many columns").at(at));
        }
        if l.len() > params.len() {
            return Err(err!(SYNTAX_ERROR, "subquery has too few columns").at(at));
        }
        let test = self.compare_fields(op, l, params, at)?;
        self.st().has_sublinks = true;
        Ok(Expr::SubLink(Box::new(SubLink {
            kind: SubLinkKind::RowCompare,
            id: 0,
            test: Some(Box::new(test)),
            op_name: vec![op.name.to_string()],
            query: Box::new(query),
            ty: oids::BOOL,
            typmod: -1,
            collation: Oid::INVALID,
            location: at,
        })))
    }

    /// `=` as IN uses it.
    pub fn equals(&self, pos: ast::Pos) -> ast::OpName {
        let _ = (loc(pos), OpKind::Plain);
        simple_op("=", pos)
    }
}
