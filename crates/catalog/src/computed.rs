//! Columns that are computed when they are read: their expressions take the place of references
//! to them.

use crate::RelationDesc;
use base::{Error, Oid, Result};
use ir::{Expr, NullTestKind, ReturningKind, Var};
use types::oid;

/// `tableoid`, which every row of a table has.
const TABLE_OID: i16 = -6;

/// The virtual columns of a table.
pub struct Computed<'r> {
    rel: &'r RelationDesc,
    /// The expressions by column, over entry 1.
    exprs: Vec<Option<Expr>>,
}

impl<'r> Computed<'r> {
    /// Those of a table; none if it has no such columns.
    pub fn of(rel: &'r RelationDesc) -> Result<Option<Computed<'r>>> {
        if !rel.tuple.attrs.iter().any(|a| a.generated == b'v' && !a.dropped) {
            return Ok(None);
        }
        let mut exprs = Vec::with_capacity(rel.tuple.natts());
        for (i, a) in rel.tuple.attrs.iter().enumerate() {
            let text = rel.default_of(i as i16 + 1).filter(|_| a.generated == b'v' && !a.dropped);
            exprs.push(match text {
                Some(text) => {
                    let made = serde_json::from_str(text);
                    Some(made.map_err(|e| Error::internal(format!("stored expression: {e}")))?)
                }
                None => None,
            });
        }
        Ok(Some(Computed { rel, exprs }))
    }

    /// What a reference to a virtual column of the table, or to its whole row, means.
    pub fn value_of(&self, v: &Var) -> Option<Expr> {
        if v.attno == 0 {
            return (v.ty == self.rel.row_type).then(|| self.whole_row(v));
        }
        let number = usize::try_from(v.attno).ok()?;
        let mut found = self.exprs.get(number.checked_sub(1)?)?.clone()?;
        ir::walk::transform(&mut found, &mut |e| {
            if let Expr::Var(inner) = e {
                like(inner, v);
            }
        });
        Some(where_there_is_a_row(found, v))
    }

    /// As [`Computed::value_of`], where NULLs are put in for what is grouped by: a constant must
    /// not be taken for the same constant elsewhere.
    pub fn value_to_group(&self, v: &Var) -> Option<Expr> {
        let made = self.value_of(v)?;
        let constant = !ir::walk::any(&made, &mut |e| matches!(e, Expr::Var(_)));
        Some(if constant { guarded(made, v) } else { made })
    }

    fn whole_row(&self, v: &Var) -> Expr {
        let mut args = Vec::with_capacity(self.exprs.len());
        for (i, a) in self.rel.tuple.attrs.iter().enumerate() {
            if a.dropped {
                args.push(Expr::null_const(oid::INT4, -1, Oid::INVALID));
                continue;
            }
            let mut column = Var::new(v.varno, i as i16 + 1, a.type_oid, a.typmod, a.collation);
            like(&mut column, v);
            // The row as a whole says whether there is one.
            let plain = Var {
                nulling_rels: Vec::new(),
                returning: ReturningKind::Default,
                ..column.clone()
            };
            let mut made = self.value_of(&plain);
            if let Some(e) = &mut made {
                ir::walk::transform(e, &mut |e| {
                    if let Expr::Var(inner) = e {
                        like(inner, v);
                    }
                });
            }
            args.push(made.unwrap_or(Expr::Var(column)));
        }
        let row = Expr::Row(Box::new(ir::RowExpr {
            ty: self.rel.row_type,
            args,
            form: ir::CoercionForm::ImplicitCast,
            names: Vec::new(),
            location: v.location,
        }));
        where_there_is_a_row(row, v)
    }

    /// An expression over rows of the table as entry 1, with what is computed put in.
    pub fn expand(&self, e: &mut Expr) {
        ir::walk::replace(e, &mut |e| match e {
            Expr::Var(v) if v.varno == 1 && v.levels_up == 0 => self.value_of(v),
            _ => None,
        });
    }
}

/// A column of the same row as another.
fn like(column: &mut Var, v: &Var) {
    column.varno = v.varno;
    column.syn_no = v.varno;
    column.levels_up = v.levels_up;
    column.nulling_rels = v.nulling_rels.clone();
    column.returning = v.returning;
}

/// NULL for the row that an outer join makes up, or that RETURNING has none of.
fn where_there_is_a_row(e: Expr, v: &Var) -> Expr {
    if v.nulling_rels.is_empty() && v.returning == ReturningKind::Default {
        return e;
    }
    guarded(e, v)
}

/// The expression where the row that the column is of is a table's, otherwise NULL.
fn guarded(e: Expr, v: &Var) -> Expr {
    let mut there = Var::new(v.varno, TABLE_OID, oid::OID, -1, Oid::INVALID);
    like(&mut there, v);
    let there = Expr::NullTest {
        kind: NullTestKind::IsNotNull,
        arg: Box::new(Expr::Var(there)),
        is_row: false,
        location: None,
    };
    let (ty, typmod, collation) = (e.ty(), e.typmod(), e.collation());
    Expr::Case(Box::new(ir::CaseExpr {
        ty,
        collation,
        arg: None,
        whens: vec![ir::CaseWhen { when: there, then: e }],
        default: Box::new(Expr::null_const(ty, typmod, collation)),
        location: None,
    }))
}
