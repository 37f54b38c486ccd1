//! Expressions that definitions store: analysed, checked, and as text.

use crate::ddl::Ddl;
use analyze::ExprUse;
use base::{Error, Result};
use catalog::RelationDesc;
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

/// The queries of a function's body in SQL's own syntax: RETURN is stored as one, a block as a
/// list.
pub fn body_from_text(text: &str) -> Result<Vec<ir::Query>> {
    if text.starts_with('{') { Ok(vec![from_text(text)?]) } else { from_text(text) }
}

/// A column's default or generation expression, of the column's type.
pub fn default_expr(
    ddl: &Ddl<'_>,
    rel: &RelationDesc,
    attnum: i16,
    expr: &ast::Expr,
    generated: u8,
) -> Result<Expr> {
    let attr = &rel.tuple.attrs[attnum as usize - 1];
    let over = (generated != 0).then_some(rel);
    let env = crate::analysis::env(ddl.env);
    let made = analyze::column_default(&env, &attr.name, attr.type_oid, attr.typmod, expr, over)?;
    if generated == b'v' {
        crate::ddl::generated::check_virtual_expr(&made)?;
    }
    ddl.require_expr_types(&made)?;
    Ok(made)
}

/// A check of a table's rows.
pub fn check(ddl: &Ddl<'_>, rel: &RelationDesc, expr: &ast::Expr) -> Result<Expr> {
    analyze::relation_expr(&crate::analysis::env(ddl.env), rel, expr, ExprUse::Check)
}

/// An indexed expression.
pub fn index_expr(ddl: &Ddl<'_>, rel: &RelationDesc, expr: &ast::Expr) -> Result<Expr> {
    analyze::relation_expr(&crate::analysis::env(ddl.env), rel, expr, ExprUse::Index)
}

/// The predicate of a partial index, as it is stored.
pub fn index_predicate(ddl: &Ddl<'_>, rel: &RelationDesc, expr: &ast::Expr) -> Result<String> {
    let env = crate::analysis::env(ddl.env);
    to_text(&analyze::relation_expr(&env, rel, expr, ExprUse::IndexPredicate)?)
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
