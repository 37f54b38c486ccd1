//! Simplification: what can be computed while planning is.

use crate::root::Env;
use base::{Oid, Result};
use ir::walk;
use ir::{
    BoolOp, BoolTestKind, CaseExpr, CaseWhen, Const, Expr, NullTestKind, OpExpr, OpKind, ParamKind,
};
use types::Datum;

/// Simplifies an expression. With `estimate`, stable functions and params whose values are
/// known are computed too: the result is good for estimates only.
pub fn simplify(expr: Expr, env: &Env, estimate: bool) -> Result<Expr> {
    Folder { env, estimate, case_value: None, inlined: Vec::new() }.fold(expr)
}

struct Folder<'a> {
    env: &'a Env<'a>,
    estimate: bool,
    case_value: Option<Const>,
    /// Functions whose bodies are being simplified: none is put in place of its own call.
    inlined: Vec<Oid>,
}

fn is_null(e: &Expr) -> bool {
    matches!(e, Expr::Const(c) if c.value == Datum::Null)
}

fn bool_value(e: &Expr) -> Option<bool> {
    match e {
        Expr::Const(Const { value: Datum::Bool(b), .. }) => Some(*b),
        _ => None,
    }
}

impl Folder<'_> {
    fn fold(&mut self, mut expr: Expr) -> Result<Expr> {
        match expr {
            Expr::Case(case) => return self.case(*case),
            Expr::ArrayCoerce { .. } => {
                // The element expression has a test value of its own.
                if let Expr::ArrayCoerce { arg, .. } = &mut expr {
                    let inner = std::mem::replace(&mut **arg, Expr::bool_const(false));
                    **arg = self.fold(inner)?;
                }
                return self.coerced_array(expr);
            }
            Expr::Json(_) => return self.json(expr),
            _ => {}
        }
        let mut failed = None;
        walk::children_mut(&mut expr, &mut |child| {
            if failed.is_none() {
                let old =
                    std::mem::replace(child, Expr::CurrentOf { varno: 0, cursor: String::new() });
                match self.fold(old) {
                    Ok(new) => *child = new,
                    Err(error) => failed = Some(error),
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let simple = self.node(expr)?;
        if !self.estimate && self.env.watch.is_some() {
            crate::watch::note_unfolded(self.env, &simple);
        }
        Ok(simple)
    }

    /// Simplifies a node whose operands are simplified.
    fn node(&mut self, expr: Expr) -> Result<Expr> {
        match expr {
            Expr::Param(ref p) if p.kind == ParamKind::Extern => {
                match self.env.params.and_then(|all| all.get(p.id as usize - 1)) {
                    Some(value) if self.env.fold_params || self.estimate => {
                        if let Some(watch) = self.env.watch {
                            watch.look();
                        }
                        Ok(Expr::Const(Const {
                            ty: p.ty,
                            typmod: p.typmod,
                            collation: p.collation,
                            value: value.clone(),
                            location: None,
                        }))
                    }
                    _ => Ok(expr),
                }
            }
            Expr::CaseTest { .. } => match &self.case_value {
                Some(c) => Ok(Expr::Const(c.clone())),
                None => Ok(expr),
            },
            Expr::Func(ref f) => {
                if f.ret_set || f.ret_type == Oid(2249) {
                    return Ok(expr);
                }
                self.call(f.func, expr)
            }
            Expr::Op(o) => self.op(o),
            Expr::ScalarArrayOp(ref s) => self.call(s.func, expr),
            Expr::Bool { op, args, .. } => self.boolean(op, args),
            Expr::NullTest { kind, ref arg, is_row: false, .. } => match &**arg {
                Expr::Const(c) => {
                    let null = c.value == Datum::Null;
                    Ok(Expr::bool_const(null == (kind == NullTestKind::IsNull)))
                }
                _ => Ok(expr),
            },
            Expr::BooleanTest { kind, ref arg, .. } => match &**arg {
                Expr::Const(_) => Ok(Expr::bool_const(boolean_test(kind, bool_value(arg)))),
                _ => Ok(expr),
            },
            Expr::Relabel { arg, ty, typmod, collation, form, location } => {
                Ok(relabel(*arg, ty, typmod, collation, form, location))
            }
            Expr::Collate { arg, collation, .. } => {
                let (ty, typmod) = (arg.ty(), arg.typmod());
                Ok(relabel(*arg, ty, typmod, collation, ir::CoercionForm::ImplicitCast, None))
            }
            Expr::Coalesce { ty, collation, args, location } => {
                self.coalesce(ty, collation, args, location)
            }
            Expr::CoerceViaIo { ref arg, ty, .. } => {
                if !matches!(**arg, Expr::Const(_)) {
                    return Ok(expr);
                }
                let input = self.env.catalog.type_(ty)?.input;
                let output = self.env.catalog.type_(arg.ty())?.output;
                if self.may_fold(input)? && self.may_fold(output)? {
                    return self.evaluate(expr);
                }
                Ok(expr)
            }
            Expr::Array(_)
            | Expr::Subscript(_)
            | Expr::FieldSelect { .. }
            | Expr::MinMax { .. } => self.evaluate_if_const(expr),
            Expr::SqlValue { .. } if self.estimate => self.evaluate(expr),
            other => Ok(other),
        }
    }

    /// Operands of SQL/JSON; its inner expressions have a test value of their own.
    fn json(&mut self, mut expr: Expr) -> Result<Expr> {
        let Expr::Json(j) = &mut expr else { return Ok(expr) };
        for arg in &mut j.args {
            let inner = std::mem::replace(arg, Expr::bool_const(false));
            *arg = self.fold(inner)?;
        }
        let constant = j.args.iter().all(|a| matches!(a, Expr::Const(_)));
        let bytes = j.args.iter().any(|a| a.ty() == Oid(17));
        match j.op {
            ir::JsonOp::Formatted if constant && !bytes => self.evaluate(expr),
            // JSON(json '1') is what was read already.
            _ => Ok(expr),
        }
    }

    fn may_fold(&self, func: Oid) -> Result<bool> {
        let v = self.env.catalog.proc(func)?.volatility;
        Ok(v == b'i' || self.estimate && v == b's')
    }

    fn evaluate(&self, expr: Expr) -> Result<Expr> {
        let (ty, typmod, collation) = (expr.ty(), expr.typmod(), expr.collation());
        if ty == Oid(2278) || ty == Oid(2281) {
            return Ok(expr);
        }
        let value = match self.env.evaluator.evaluate(&expr) {
            Ok(value) => value,
            Err(_) if self.estimate => return Ok(expr),
            Err(error) => return Err(error),
        };
        Ok(Expr::Const(Const { ty, typmod, collation, value, location: None }))
    }

    /// An array of constants whose elements are coerced by immutable functions.
    fn coerced_array(&self, expr: Expr) -> Result<Expr> {
        let Expr::ArrayCoerce { arg, element, .. } = &expr else { return Ok(expr) };
        let worst = super::volatility::worst(element, self.env)?;
        let fits = worst == b'i' || self.estimate && worst == b's';
        match matches!(**arg, Expr::Const(_)) && fits {
            true => self.evaluate(expr),
            false => Ok(expr),
        }
    }

    fn evaluate_if_const(&self, expr: Expr) -> Result<Expr> {
        let mut all = true;
        walk::children(&expr, &mut |e| all &= matches!(e, Expr::Const(_)));
        let assigns = matches!(&expr, Expr::Subscript(s) if s.assign.is_some());
        if !all || assigns || matches!(expr, Expr::ArrayCoerce { .. }) {
            return Ok(expr);
        }
        if let Expr::FieldSelect { arg, .. } = &expr
            && let Expr::Row(_) = &**arg
        {
            return Ok(expr);
        }
        self.evaluate(expr)
    }

    /// A call of `func`, all of whose arguments may be constants.
    fn call(&mut self, func: Oid, expr: Expr) -> Result<Expr> {
        let args = match &expr {
            Expr::Func(f) => &f.args,
            Expr::Op(o) => &o.args,
            Expr::ScalarArrayOp(s) => &s.args,
            _ => return Ok(expr),
        };
        let proc = self.env.catalog.proc(func)?;
        if proc.kind != b'f' {
            return Ok(expr);
        }
        let is_array_op = matches!(expr, Expr::ScalarArrayOp(_));
        if proc.strict && args.iter().any(is_null) && !is_array_op {
            return Ok(Expr::null_const(expr.ty(), -1, expr.collation()));
        }
        let foldable = proc.volatility == b'i' || self.estimate && proc.volatility == b's';
        if foldable && args.iter().all(|a| matches!(a, Expr::Const(_))) {
            let value = self.evaluate(expr);
            // A built-in that is SQL there has a body of its own here; users' tell by themselves.
            let in_sql = proc.language == super::inline::SQL_LANGUAGE
                && functions::lookup(func).is_some_and(|f| f.has_body);
            return match in_sql {
                true => value
                    .map_err(|e| e.context(format!("SQL function \"{}\" statement 1", proc.name))),
                false => value,
            };
        }
        if proc.language == super::inline::SQL_LANGUAGE && !self.estimate {
            return self.inline(&proc, expr);
        }
        Ok(expr)
    }

    /// The body of a function in SQL in place of its call.
    fn inline(&mut self, proc: &catalog::ProcDesc, expr: Expr) -> Result<Expr> {
        let call;
        let f = match &expr {
            Expr::Func(f) => f,
            Expr::Op(o) if o.kind == OpKind::Plain => {
                call = ir::FuncExpr {
                    func: o.func,
                    ret_type: o.ret_type,
                    ret_set: false,
                    variadic: false,
                    form: ir::CoercionForm::ExplicitCall,
                    collation: o.collation,
                    input_collation: o.input_collation,
                    args: o.args.clone(),
                    location: None,
                };
                &call
            }
            _ => return Ok(expr),
        };
        if self.inlined.contains(&proc.oid) {
            return Ok(expr);
        }
        let cost = |e: &Expr| crate::cost::rough_cost(e, self.env);
        let Some(body) = super::inline::scalar(f, proc, self.env, &cost)? else {
            return Ok(expr);
        };
        self.inlined.push(proc.oid);
        let simple = self.fold(body);
        self.inlined.pop();
        simple.map_err(|e| e.context(format!("SQL function \"{}\" during inlining", proc.name)))
    }

    fn op(&mut self, o: OpExpr) -> Result<Expr> {
        match o.kind {
            OpKind::Plain if o.ret_set => Ok(Expr::Op(o)),
            OpKind::Plain => {
                if let Some(e) = self.boolean_equality(&o) {
                    return self.maybe_not(e);
                }
                self.call(o.func, Expr::Op(o))
            }
            OpKind::Distinct => {
                let nulls = o.args.iter().filter(|a| is_null(a)).count();
                let consts = o.args.iter().filter(|a| matches!(a, Expr::Const(_))).count();
                if consts == 2 {
                    return match nulls {
                        2 => Ok(Expr::bool_const(false)),
                        1 => Ok(Expr::bool_const(true)),
                        _ => self.call(o.func, Expr::Op(o)),
                    };
                }
                if nulls == 1 {
                    let arg = o.args.into_iter().find(|a| !is_null(a));
                    return Ok(Expr::NullTest {
                        kind: NullTestKind::IsNotNull,
                        arg: Box::new(arg.unwrap_or_else(|| Expr::bool_const(false))),
                        is_row: false,
                        location: None,
                    });
                }
                Ok(Expr::Op(o))
            }
            OpKind::NullIf => {
                if o.args.iter().all(|a| matches!(a, Expr::Const(_))) && self.may_fold(o.func)? {
                    return self.evaluate(Expr::Op(o));
                }
                Ok(Expr::Op(o))
            }
        }
    }

    /// `x = true` is `x`, `x = false` is `NOT x`.
    fn boolean_equality(&self, o: &OpExpr) -> Option<(Expr, bool)> {
        let equal = match o.op {
            Oid(91) => true,
            Oid(85) => false,
            _ => return None,
        };
        let (x, value) = match (bool_value(o.args.first()?), bool_value(o.args.get(1)?)) {
            (None, Some(b)) => (&o.args[0], b),
            (Some(b), None) => (&o.args[1], b),
            _ => return None,
        };
        Some((x.clone(), value != equal))
    }

    fn maybe_not(&mut self, (e, negate): (Expr, bool)) -> Result<Expr> {
        if negate { self.negate(e) } else { Ok(e) }
    }

    fn boolean(&mut self, op: BoolOp, args: Vec<Expr>) -> Result<Expr> {
        if op == BoolOp::Not {
            let arg = args.into_iter().next().unwrap_or_else(|| Expr::bool_const(false));
            return self.negate(arg);
        }
        // AND drops TRUE and ends at FALSE; OR the other way round.
        let neutral = op == BoolOp::And;
        let mut out: Vec<Expr> = Vec::with_capacity(args.len());
        let mut null = false;
        for arg in args {
            let parts = match arg {
                Expr::Bool { op: inner, args, .. } if inner == op => args,
                other => vec![other],
            };
            for part in parts {
                match bool_value(&part) {
                    Some(b) if b == neutral => {}
                    Some(b) => return Ok(Expr::bool_const(b)),
                    None if is_null(&part) => null = true,
                    None => out.push(part),
                }
            }
        }
        if null {
            out.push(Expr::null_const(Oid(16), -1, Oid::INVALID));
        }
        Ok(match out.len() {
            0 => Expr::bool_const(neutral),
            1 => out.remove(0),
            _ => Expr::Bool { op, args: out, location: None },
        })
    }

    /// NOT of an expression, pushed down where that is possible.
    fn negate(&mut self, e: Expr) -> Result<Expr> {
        Ok(match e {
            Expr::Const(ref c) => match c.value {
                Datum::Bool(b) => Expr::bool_const(!b),
                _ => Expr::null_const(Oid(16), -1, Oid::INVALID),
            },
            Expr::Op(ref o) if o.kind == OpKind::Plain => {
                let negator = self.env.catalog.operator(o.op)?.negator;
                if !negator.is_valid() {
                    return Ok(not(e));
                }
                let desc = self.env.catalog.operator(negator)?;
                let mut o = o.clone();
                o.op = negator;
                o.func = desc.function;
                Expr::Op(o)
            }
            Expr::ScalarArrayOp(ref s) => {
                let negator = self.env.catalog.operator(s.op)?.negator;
                if !negator.is_valid() {
                    return Ok(not(e));
                }
                let desc = self.env.catalog.operator(negator)?;
                let mut s = s.clone();
                s.op = negator;
                s.func = desc.function;
                s.use_or = !s.use_or;
                Expr::ScalarArrayOp(s)
            }
            Expr::Bool { op: BoolOp::Not, args, .. } => {
                args.into_iter().next().unwrap_or_else(|| Expr::bool_const(true))
            }
            Expr::Bool { op, args, .. } => {
                let args = args.into_iter().map(|a| self.negate(a)).collect::<Result<Vec<_>>>()?;
                let op = if op == BoolOp::And { BoolOp::Or } else { BoolOp::And };
                self.boolean(op, args)?
            }
            Expr::NullTest { kind, arg, is_row: false, location } => Expr::NullTest {
                kind: match kind {
                    NullTestKind::IsNull => NullTestKind::IsNotNull,
                    NullTestKind::IsNotNull => NullTestKind::IsNull,
                },
                arg,
                is_row: false,
                location,
            },
            Expr::BooleanTest { kind, arg, location } => {
                use BoolTestKind::*;
                let kind = match kind {
                    IsTrue => IsNotTrue,
                    IsNotTrue => IsTrue,
                    IsFalse => IsNotFalse,
                    IsNotFalse => IsFalse,
                    IsUnknown => IsNotUnknown,
                    IsNotUnknown => IsUnknown,
                };
                Expr::BooleanTest { kind, arg, location }
            }
            other => not(other),
        })
    }

    fn coalesce(
        &self,
        ty: Oid,
        collation: Oid,
        args: Vec<Expr>,
        location: ir::Location,
    ) -> Result<Expr> {
        let mut out = Vec::with_capacity(args.len());
        for arg in args {
            match arg {
                Expr::Const(ref c) if c.value == Datum::Null => {}
                Expr::Const(_) => {
                    if out.is_empty() {
                        return Ok(arg);
                    }
                    out.push(arg);
                    break;
                }
                other => out.push(other),
            }
        }
        Ok(match out.len() {
            0 => Expr::null_const(ty, -1, collation),
            1 => out.remove(0),
            _ => Expr::Coalesce { ty, collation, args: out, location },
        })
    }

    fn case(&mut self, case: CaseExpr) -> Result<Expr> {
        let arg = case.arg.map(|a| self.fold(*a)).transpose()?;
        let saved = self.case_value.take();
        let (arg, value) = match arg {
            Some(Expr::Const(c)) => (None, Some(c)),
            other => (other, None),
        };
        self.case_value = value;
        let mut whens = Vec::new();
        let mut default = None;
        for w in case.whens {
            let when = self.fold(w.when)?;
            match bool_value(&when) {
                Some(true) => {
                    default = Some(self.fold(w.then)?);
                    break;
                }
                Some(false) => continue,
                None if is_null(&when) => continue,
                None => whens.push(CaseWhen { when, then: self.fold(w.then)? }),
            }
        }
        let default = match default {
            Some(d) => d,
            None => self.fold(*case.default)?,
        };
        self.case_value = saved;
        if whens.is_empty() {
            return Ok(default);
        }
        Ok(Expr::Case(Box::new(CaseExpr {
            ty: case.ty,
            collation: case.collation,
            arg: arg.map(Box::new),
            whens,
            default: Box::new(default),
            location: case.location,
        })))
    }
}

fn not(e: Expr) -> Expr {
    Expr::Bool { op: BoolOp::Not, args: vec![e], location: None }
}

fn boolean_test(kind: BoolTestKind, value: Option<bool>) -> bool {
    match kind {
        BoolTestKind::IsTrue => value == Some(true),
        BoolTestKind::IsNotTrue => value != Some(true),
        BoolTestKind::IsFalse => value == Some(false),
        BoolTestKind::IsNotFalse => value != Some(false),
        BoolTestKind::IsUnknown => value.is_none(),
        BoolTestKind::IsNotUnknown => value.is_some(),
    }
}

fn relabel(
    arg: Expr,
    ty: Oid,
    typmod: i32,
    collation: Oid,
    form: ir::CoercionForm,
    location: ir::Location,
) -> Expr {
    let arg = match arg {
        Expr::Relabel { arg, .. } => *arg,
        other => other,
    };
    if arg.ty() == ty && arg.typmod() == typmod && arg.collation() == collation {
        return arg;
    }
    match arg {
        Expr::Const(c) => {
            let value = c.value.relabelled(ty);
            Expr::Const(Const { ty, typmod, collation, value, ..c })
        }
        arg => Expr::Relabel { arg: Box::new(arg), ty, typmod, collation, form, location },
    }
}
