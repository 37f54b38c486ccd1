//! The direct parts of expressions.

use super::*;

/// A part of an expression.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// An operand.
    Expr(&'a Expr),
    /// A subquery.
    Query(&'a SelectStmt),
}

/// Calls `f` with each direct part of an expression.
pub fn parts<'a>(expr: &'a Expr, f: &mut dyn FnMut(Part<'a>)) {
    match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Column { .. }
        | ExprKind::Param(_)
        | ExprKind::SqlValue { .. }
        | ExprKind::CurrentOf(_)
        | ExprKind::Default
        | ExprKind::MergeAction => {}
        ExprKind::Cast { expr, .. }
        | ExprKind::Collate { expr, .. }
        | ExprKind::Not(expr)
        | ExprKind::IsNull { expr, .. }
        | ExprKind::IsBool { expr, .. }
        | ExprKind::IsDocument { expr, .. }
        | ExprKind::IsJson { expr, .. }
        | ExprKind::NamedArg { value: expr, .. } => f(Part::Expr(expr)),
        ExprKind::Op { left, right, .. } => {
            left.iter().for_each(|e| f(Part::Expr(e)));
            f(Part::Expr(right));
        }
        ExprKind::OpAny { left, right, .. }
        | ExprKind::IsDistinct { left, right, .. }
        | ExprKind::NullIf(left, right) => {
            f(Part::Expr(left));
            f(Part::Expr(right));
        }
        ExprKind::And(list)
        | ExprKind::Or(list)
        | ExprKind::Coalesce(list)
        | ExprKind::Array(list)
        | ExprKind::Grouping(list)
        | ExprKind::MinMax { args: list, .. }
        | ExprKind::Row { fields: list, .. } => list.iter().for_each(|e| f(Part::Expr(e))),
        ExprKind::In { expr, list, .. } => {
            f(Part::Expr(expr));
            list.iter().for_each(|e| f(Part::Expr(e)));
        }
        ExprKind::Like { expr, pattern, escape, .. } => {
            f(Part::Expr(expr));
            f(Part::Expr(pattern));
            escape.iter().for_each(|e| f(Part::Expr(e)));
        }
        ExprKind::Between { expr, low, high, .. } => {
            [expr, low, high].into_iter().for_each(|e| f(Part::Expr(e)));
        }
        ExprKind::Case { arg, whens, otherwise } => {
            arg.iter().for_each(|e| f(Part::Expr(e)));
            for w in whens {
                f(Part::Expr(&w.when));
                f(Part::Expr(&w.then));
            }
            otherwise.iter().for_each(|e| f(Part::Expr(e)));
        }
        ExprKind::Sublink(link) => {
            if let SublinkKind::Any { left, .. } | SublinkKind::All { left, .. } = &link.kind {
                f(Part::Expr(left));
            }
            f(Part::Query(&link.query));
        }
        ExprKind::Func(call) => call_parts(call, f),
        ExprKind::Indirection { expr, steps } => {
            f(Part::Expr(expr));
            step_parts(steps, f);
        }
        ExprKind::Xml(xml) => xml_parts(xml, f),
        ExprKind::Json(json) => json_parts(json, f),
    }
}

fn call_parts<'a>(call: &'a FuncCall, f: &mut dyn FnMut(Part<'a>)) {
    call.args.iter().for_each(|e| f(Part::Expr(e)));
    call.order_by.iter().for_each(|s| f(Part::Expr(&s.expr)));
    call.filter.iter().for_each(|e| f(Part::Expr(e)));
    call.over.iter().for_each(|w| window_parts(w, f));
}

/// The expressions of a window.
pub fn window_parts<'a>(window: &'a WindowDef, f: &mut dyn FnMut(Part<'a>)) {
    window.partition_by.iter().for_each(|e| f(Part::Expr(e)));
    window.order_by.iter().for_each(|s| f(Part::Expr(&s.expr)));
    if let Some(frame) = &window.frame {
        for bound in [Some(&frame.start), frame.end.as_ref()].into_iter().flatten() {
            if let FrameBound::Preceding(e) | FrameBound::Following(e) = bound {
                f(Part::Expr(e));
            }
        }
    }
}

fn step_parts<'a>(steps: &'a [Indirection], f: &mut dyn FnMut(Part<'a>)) {
    for step in steps {
        match step {
            Indirection::Index(e) => f(Part::Expr(e)),
            Indirection::Slice(a, b) => a.iter().chain(b).for_each(|e| f(Part::Expr(e))),
            _ => {}
        }
    }
}

fn xml_parts<'a>(xml: &'a XmlExpr, f: &mut dyn FnMut(Part<'a>)) {
    match xml {
        XmlExpr::Concat(list) => list.iter().for_each(|e| f(Part::Expr(e))),
        XmlExpr::Element { attributes, content, .. } => {
            attributes.iter().for_each(|a| f(Part::Expr(&a.expr)));
            content.iter().for_each(|e| f(Part::Expr(e)));
        }
        XmlExpr::Forest(list) => list.iter().for_each(|a| f(Part::Expr(&a.expr))),
        XmlExpr::Parse { arg, .. } | XmlExpr::Serialize { arg, .. } => f(Part::Expr(arg)),
        XmlExpr::Pi { arg, .. } => arg.iter().for_each(|e| f(Part::Expr(e))),
        XmlExpr::Root { arg, version, .. } => {
            f(Part::Expr(arg));
            version.iter().for_each(|e| f(Part::Expr(e)));
        }
        XmlExpr::Exists { path, arg } => {
            f(Part::Expr(path));
            f(Part::Expr(arg));
        }
    }
}

fn json_parts<'a>(json: &'a JsonExpr, f: &mut dyn FnMut(Part<'a>)) {
    match json {
        JsonExpr::Object { pairs, .. } => {
            for (key, value) in pairs {
                f(Part::Expr(key));
                f(Part::Expr(&value.expr));
            }
        }
        JsonExpr::Array { values, .. } => values.iter().for_each(|v| f(Part::Expr(&v.expr))),
        JsonExpr::ArrayQuery { query, .. } => f(Part::Query(query)),
        JsonExpr::ObjectAgg { key, value, filter, over, .. } => {
            f(Part::Expr(key));
            f(Part::Expr(&value.expr));
            filter.iter().for_each(|e| f(Part::Expr(e)));
            over.iter().for_each(|w| window_parts(w, f));
        }
        JsonExpr::ArrayAgg { value, order_by, filter, over, .. } => {
            f(Part::Expr(&value.expr));
            order_by.iter().for_each(|s| f(Part::Expr(&s.expr)));
            filter.iter().for_each(|e| f(Part::Expr(e)));
            over.iter().for_each(|w| window_parts(w, f));
        }
        JsonExpr::Parse { value, .. } | JsonExpr::Serialize { value, .. } => {
            f(Part::Expr(&value.expr));
        }
        JsonExpr::Scalar(e) => f(Part::Expr(e)),
        JsonExpr::Func(call) => {
            f(Part::Expr(&call.context.expr));
            f(Part::Expr(&call.path));
            call.passing.iter().for_each(|p| f(Part::Expr(&p.value.expr)));
        }
    }
}
