//! Stored expressions as text.

use super::{SysSession, ViewNames};
use base::Result;
use catalog::RelationDesc;
use ir::Expr;
use ir::deparse::{Relation, Style, expression};

/// A relation's name and columns, for expressions over it.
pub(super) fn relation_of(rel: &RelationDesc) -> Relation {
    Relation {
        name: rel.name.to_string(),
        columns: rel.tuple.attrs.iter().map(|a| a.name.to_string()).collect(),
    }
}

/// Reads a stored expression, or a list of them that all have to hold.
pub(super) fn stored(text: &str) -> Result<Expr> {
    if text.trim_start().starts_with('[') {
        let all: Vec<Expr> = crate::cook::from_text(text)?;
        return Ok(ir::walk::conjoin(all).unwrap_or_else(|| Expr::bool_const(true)));
    }
    crate::cook::from_text(text)
}

/// An expression over the columns of `rel` as SQL.
pub(super) fn over(
    s: &dyn SysSession,
    expr: &Expr,
    rel: Option<&RelationDesc>,
    style: Style,
) -> Result<String> {
    let names = ViewNames::new(s.view(), s.env().io());
    let of: Vec<Relation> = rel.map(relation_of).into_iter().collect();
    expression(expr, &of, &names, style, false)
}

/// What `pretty` means for an expression that stands in no clause.
pub(super) fn style(pretty: bool) -> Style {
    Style::pretty(pretty)
}
