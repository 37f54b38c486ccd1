//! Expressions that definitions store: analysed, checked, and as text.

use crate::ddl::Ddl;
use base::{Error, Oid, Result};
use catalog::RelationDesc;
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::oids;
use ir::Expr;
use parser::ast;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An expression or query as it is stored.
pub fn to_text<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::internal(format!("storing: {e}")))
}

/// What was stored.
pub fn from_text<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| Error::internal(format!("stored expression: {e}")))
}

/// A column's default, of the column's type.
pub fn default_expr(
    _ddl: &Ddl<'_>,
    _rel: &RelationDesc,
    _attnum: i16,
    _expr: &ast::Expr,
    _generated: u8,
) -> Result<Expr> {
    Err(Error::unsupported("DEFAULT"))
}

/// A check of a table's rows.
pub fn check(_ddl: &Ddl<'_>, _rel: &RelationDesc, _expr: &ast::Expr) -> Result<Expr> {
    Err(Error::unsupported("CHECK"))
}

/// An indexed expression.
pub fn index_expr(_ddl: &Ddl<'_>, _rel: &RelationDesc, _expr: &ast::Expr) -> Result<Expr> {
    Err(Error::unsupported("an index on an expression"))
}

/// The predicate of a partial index, as it is stored.
pub fn index_predicate(_ddl: &Ddl<'_>, _rel: &RelationDesc, _expr: &ast::Expr) -> Result<String> {
    Err(Error::unsupported("a partial index"))
}

/// The columns of the (only) table an expression names, in order.
pub fn columns_of(expr: &Expr) -> Vec<i16> {
    let mut columns = Vec::new();
    ir::walk::each(expr, &mut |e| {
        if let Expr::Var(v) = e
            && !columns.contains(&v.attno)
        {
            columns.push(v.attno);
        }
    });
    columns.sort_unstable();
    columns
}

impl Ddl<'_> {
    /// Records what an expression over one table depends on.
    pub fn depend_expr(&self, own: ObjectAddress, expr: &Expr, table: Oid) -> Result<()> {
        let mut all: Vec<ObjectAddress> = Vec::new();
        ir::walk::each(expr, &mut |e| {
            let found = match e {
                Expr::Var(v) if v.attno > 0 && table.is_valid() => {
                    ObjectAddress::column(table, v.attno)
                }
                Expr::Func(f) => ObjectAddress::new(oids::PG_PROC, f.func),
                Expr::Op(o) => ObjectAddress::new(oids::PG_OPERATOR, o.op),
                Expr::Const(c) if c.ty == oids::REGCLASS => match c.value {
                    types::Datum::U32(oid) => ObjectAddress::relation(Oid(oid)),
                    _ => return,
                },
                Expr::NextValue { sequence, .. } => ObjectAddress::relation(*sequence),
                _ => return,
            };
            if !all.contains(&found) {
                all.push(found);
            }
        });
        for found in all {
            depend::record(self.rows, own, found, DependKind::Normal)?;
        }
        Ok(())
    }
}
