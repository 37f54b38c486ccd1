//! How functions behave: volatile, strict, set-returning.

use crate::root::Env;
use base::{Oid, Result};
use ir::{Expr, walk};

/// The functions that an expression node itself calls.
pub fn called(e: &Expr, env: &Env, out: &mut Vec<Oid>) -> Result<()> {
    match e {
        Expr::Func(f) => out.push(f.func),
        Expr::Op(o) => out.push(o.func),
        Expr::ScalarArrayOp(s) => out.push(s.func),
        Expr::Agg(a) => out.push(a.agg),
        Expr::Window(w) => out.push(w.func),
        Expr::CoerceViaIo { arg, ty, .. } => {
            out.push(env.catalog.type_(*ty)?.input);
            out.push(env.catalog.type_(arg.ty())?.output);
        }
        Expr::RowCompare { ops, .. } => {
            for op in ops {
                out.push(env.catalog.operator(*op)?.function);
            }
        }
        _ => {}
    }
    Ok(())
}

fn any_call(
    expr: &Expr,
    env: &Env,
    into_sublinks: bool,
    test: &mut dyn FnMut(&Expr, &[u8]) -> bool,
) -> Result<bool> {
    let mut failed = None;
    let mut check = |e: &Expr| {
        let mut funcs = Vec::new();
        let mut marks = Vec::new();
        let found = called(e, env, &mut funcs).and_then(|()| {
            for f in &funcs {
                marks.push(env.catalog.proc(*f)?.volatility);
            }
            Ok(test(e, &marks))
        });
        found.unwrap_or_else(|error| {
            failed = Some(error);
            true
        })
    };
    let found = if into_sublinks {
        walk::any_levels(expr, 0, &mut |e, _| check(e))
    } else {
        walk::any(expr, &mut check)
    };
    match failed {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

/// True if the value may change between two calls in one statement.
pub fn has_volatile(expr: &Expr, env: &Env) -> Result<bool> {
    any_call(expr, env, true, &mut |e, marks| {
        matches!(e, Expr::NextValue { .. }) || marks.contains(&b'v')
    })
}

/// The worst of the expression's functions: `i`, `s` or `v`.
pub fn worst(expr: &Expr, env: &Env) -> Result<u8> {
    let mut worst = b'i';
    any_call(expr, env, true, &mut |e, marks| {
        let own = match e {
            Expr::NextValue { .. } => b'v',
            Expr::SqlValue { .. } => b's',
            _ => b'i',
        };
        // In the order of the alphabet, as it happens.
        worst = marks.iter().copied().fold(worst.max(own), u8::max);
        false
    })?;
    Ok(worst)
}

/// True if some part may be other than null where an argument is null.
pub fn has_nonstrict(expr: &Expr, env: &Env) -> Result<bool> {
    let own = match expr {
        Expr::Func(f) => !env.catalog.proc(f.func)?.strict,
        Expr::Op(o) => o.kind != ir::OpKind::Plain || !env.catalog.proc(o.func)?.strict,
        Expr::ScalarArrayOp(s) => !env.catalog.proc(s.func)?.strict,
        Expr::Var(_)
        | Expr::Const(_)
        | Expr::Param(_)
        | Expr::Relabel { .. }
        | Expr::Collate { .. }
        | Expr::CoerceViaIo { .. }
        | Expr::ConvertRowtype { .. }
        | Expr::FieldSelect { .. } => false,
        Expr::Bool { op, .. } => *op != ir::BoolOp::Not,
        Expr::Subscript(s) => s.assign.is_some(),
        _ => true,
    };
    if own {
        return Ok(true);
    }
    let mut result = Ok(false);
    walk::children(expr, &mut |c| {
        if let Ok(false) = result {
            result = has_nonstrict(c, env);
        }
    });
    result
}

/// True if a null among `strict` inputs makes the value null: those are the columns of the
/// relations of which `of` is true. Conservative: false where in doubt.
pub fn nonnullable_rels(expr: &Expr, env: &Env, top: bool, out: &mut Vec<u32>) -> Result<()> {
    match expr {
        Expr::Var(v) if v.levels_up == 0 && !out.contains(&v.varno) => {
            out.push(v.varno);
        }
        Expr::Func(f) if env.catalog.proc(f.func)?.strict => {
            for a in &f.args {
                nonnullable_rels(a, env, false, out)?;
            }
        }
        Expr::Op(o) if o.kind == ir::OpKind::Plain && env.catalog.proc(o.func)?.strict => {
            for a in &o.args {
                nonnullable_rels(a, env, false, out)?;
            }
        }
        Expr::ScalarArrayOp(s) if s.use_or && env.catalog.proc(s.func)?.strict => {
            nonnullable_rels(&s.args[0], env, false, out)?;
        }
        Expr::Bool { op: ir::BoolOp::And, args, .. } if top => {
            for a in args {
                nonnullable_rels(a, env, top, out)?;
            }
        }
        Expr::Bool { op: ir::BoolOp::Not, args, .. } => {
            nonnullable_rels(&args[0], env, false, out)?;
        }
        Expr::Bool { op, args, .. } if *op == ir::BoolOp::Or || !top => {
            let mut common: Option<Vec<u32>> = None;
            for a in args {
                let mut one = Vec::new();
                nonnullable_rels(a, env, top, &mut one)?;
                common = Some(match common {
                    None => one,
                    Some(c) => c.into_iter().filter(|r| one.contains(r)).collect(),
                });
            }
            for r in common.unwrap_or_default() {
                if !out.contains(&r) {
                    out.push(r);
                }
            }
        }
        Expr::Relabel { arg, .. }
        | Expr::CoerceViaIo { arg, .. }
        | Expr::Collate { arg, .. }
        | Expr::ConvertRowtype { arg, .. }
        | Expr::ArrayCoerce { arg, .. } => nonnullable_rels(arg, env, top, out)?,
        Expr::NullTest { kind: ir::NullTestKind::IsNotNull, arg, is_row: false, .. } if top => {
            nonnullable_rels(arg, env, false, out)?;
        }
        Expr::BooleanTest { kind, arg, .. }
            if top
                && matches!(
                    kind,
                    ir::BoolTestKind::IsTrue
                        | ir::BoolTestKind::IsFalse
                        | ir::BoolTestKind::IsNotUnknown
                ) =>
        {
            nonnullable_rels(arg, env, false, out)?;
        }
        _ => {}
    }
    Ok(())
}

/// True if the expression returns a set at its top.
pub fn returns_set(expr: &Expr) -> bool {
    match expr {
        Expr::Func(f) => f.ret_set,
        Expr::Op(o) => o.ret_set,
        _ => false,
    }
}

/// True if a set is returned anywhere in it.
pub fn has_srf(expr: &Expr) -> bool {
    walk::any(expr, &mut returns_set_mut)
}

fn returns_set_mut(e: &Expr) -> bool {
    returns_set(e)
}
