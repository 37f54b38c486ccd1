//! Which operands need no parentheses.

use super::Printer;
use crate::expr::{BoolOp, CoercionForm, Expr, OpExpr, OpKind};

impl Printer<'_> {
    /// True if `node` may stand below `parent` without parentheses of its own.
    pub(super) fn is_simple(&self, node: &Expr, parent: &Expr) -> bool {
        match node {
            Expr::Const(_)
            | Expr::Var(_)
            | Expr::Param(_)
            | Expr::Func(_)
            | Expr::Agg(_)
            | Expr::Grouping(_)
            | Expr::Window(_)
            | Expr::Subscript(_)
            | Expr::Case(_)
            | Expr::CaseTest { .. }
            | Expr::Array(_)
            | Expr::Row(_)
            | Expr::Coalesce { .. }
            | Expr::MinMax { .. }
            | Expr::SqlValue { .. }
            | Expr::DomainValue { .. }
            | Expr::SetToDefault { .. }
            | Expr::CurrentOf { .. }
            | Expr::NextValue { .. }
            | Expr::MergeAction { .. } => true,
            Expr::FieldSelect { .. } => !matches!(parent, Expr::FieldSelect { .. }),
            Expr::FieldStore { .. } => !matches!(parent, Expr::FieldStore { .. }),
            Expr::CoerceToDomain { arg, .. }
            | Expr::Relabel { arg, .. }
            | Expr::CoerceViaIo { arg, .. }
            | Expr::ArrayCoerce { arg, .. }
            | Expr::ConvertRowtype { arg, .. } => self.is_simple(arg, node),
            Expr::Op(o) if o.kind == OpKind::NullIf => true,
            Expr::Op(o) => match parent {
                Expr::Op(p) if p.kind == OpKind::Plain && o.kind == OpKind::Plain => {
                    self.binds_tighter(o, node, p)
                }
                _ => delimits(parent),
            },
            Expr::Xml(x) => match x.op {
                crate::xml::XmlOp::IsDocument => {
                    is_below_tests(parent) || matches!(parent, Expr::Bool { op: BoolOp::Not, .. })
                }
                _ => true,
            },
            Expr::Json(j) => match j.op {
                crate::json::JsonOp::IsJson { .. } => is_below_tests(parent),
                _ => true,
            },
            Expr::NullTest { .. } | Expr::BooleanTest { .. } => is_below_tests(parent),
            Expr::SubLink(_) => delimits(parent),
            Expr::Bool { op, .. } => match parent {
                Expr::Bool { op: outer, .. } => match op {
                    BoolOp::Not | BoolOp::And => matches!(outer, BoolOp::And | BoolOp::Or),
                    BoolOp::Or => *outer == BoolOp::Or,
                },
                _ => delimits(parent),
            },
            _ => false,
        }
    }

    /// For operators of the four arithmetic operations: by precedence, and left to right.
    fn binds_tighter(&self, inner: &OpExpr, node: &Expr, outer: &OpExpr) -> bool {
        let (Some(inner), Some(op)) = (self.arithmetic(inner), self.arithmetic(outer)) else {
            return false;
        };
        if inner != op {
            return inner > op;
        }
        outer.args.first().is_some_and(|first| std::ptr::eq(first, node))
    }

    /// Precedence of a binary arithmetic operator.
    fn arithmetic(&self, o: &OpExpr) -> Option<u8> {
        if o.args.len() != 2 {
            return None;
        }
        match self.names.operator(o.op)?.name.as_str() {
            "+" | "-" => Some(1),
            "*" | "/" | "%" => Some(2),
            _ => None,
        }
    }
}

/// True if a test such as IS NULL below this parent is read as it was meant.
fn is_below_tests(parent: &Expr) -> bool {
    matches!(parent, Expr::Bool { .. }) || delimits(parent)
}

/// True if the parent prints its operands between delimiters of its own.
fn delimits(parent: &Expr) -> bool {
    match parent {
        Expr::Func(f) => f.form == CoercionForm::ExplicitCall,
        Expr::Op(o) => o.kind == OpKind::NullIf,
        // AND, OR and NOT bind less than anything that asks here.
        Expr::Bool { .. }
        | Expr::Subscript(_)
        | Expr::Array(_)
        | Expr::Row(_)
        | Expr::Coalesce { .. }
        | Expr::MinMax { .. }
        | Expr::Agg(_)
        | Expr::Grouping(_)
        | Expr::Window(_)
        | Expr::Case(_) => true,
        _ => false,
    }
}
