//! What WHERE of a publication's table may be made of: things that never change and that a
//! decoder can compute without looking anything up.

use base::{Error, Oid, Result, err};
use catalog::CatalogView;
use ir::Expr;

const SIMPLE_ONLY: &str = "Only columns, constants, built-in operators, built-in data types, \
                           built-in collations, and immutable built-in functions are allowed.";
const FUNCTIONS: &str = "User-defined or built-in mutable functions are not allowed.";
const OPERATORS: &str = "User-defined operators are not allowed.";

fn users(oid: Oid) -> bool {
    oid >= Oid::FIRST_NORMAL
}

/// What is wrong with one node of an expression.
fn refusal(view: &CatalogView, e: &Expr) -> Option<&'static str> {
    let changes = |f: Oid| users(f) || view.proc(f).is_ok_and(|p| p.volatility != b'i');
    match e {
        Expr::Var(v) if v.attno < 0 => return Some("System columns are not allowed."),
        Expr::Op(o) if users(o.op) => return Some(OPERATORS),
        Expr::ScalarArrayOp(o) if users(o.op) => return Some(OPERATORS),
        Expr::Var(_)
        | Expr::Op(_)
        | Expr::ScalarArrayOp(_)
        | Expr::Const(_)
        | Expr::Func(_)
        | Expr::Bool { .. }
        | Expr::Relabel { .. }
        | Expr::Collate { .. }
        | Expr::Case(_)
        | Expr::CaseTest { .. }
        | Expr::Array(_)
        | Expr::Row(_)
        | Expr::RowCompare { .. }
        | Expr::Coalesce { .. }
        | Expr::MinMax { .. }
        | Expr::NullTest { .. }
        | Expr::BooleanTest { .. } => {}
        _ => return Some(SIMPLE_ONLY),
    }
    if users(e.ty()) {
        return Some("User-defined types are not allowed.");
    }
    let called = match e {
        Expr::Func(f) => Some(f.func),
        Expr::Op(o) => Some(o.func),
        Expr::ScalarArrayOp(o) => Some(o.func),
        _ => None,
    };
    if called.is_some_and(changes) {
        return Some(FUNCTIONS);
    }
    users(e.collation()).then_some("User-defined collations are not allowed.")
}

/// Fails unless a filter can be computed from a row alone.
pub(super) fn check(view: &CatalogView, filter: &Expr) -> Result<()> {
    let mut failed: Option<Error> = None;
    ir::walk::each(filter, &mut |e| {
        if failed.is_none()
            && let Some(why) = refusal(view, e)
        {
            let text = "invalid publication WHERE expression";
            failed = Some(err!(FEATURE_NOT_SUPPORTED, "{text}").detail(why).at(e.location()));
        }
    });
    failed.map_or(Ok(()), Err)
}
