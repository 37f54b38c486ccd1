//! Casts that the planner puts in itself: columns of set operations.

use base::{Oid, Result};
use catalog::{CastMethod, CatalogView};
use ir::{CoercionForm, Const, Expr, FuncExpr};
use types::{Datum, oid};

/// The expression as a value of another type, by the cast that analysis has found to exist.
pub(crate) fn cast_to(
    catalog: &CatalogView,
    e: Expr,
    ty: Oid,
    typmod: i32,
    collation: Oid,
) -> Result<Expr> {
    let source = base_type(catalog, e.ty())?;
    let target = base_type(catalog, ty)?;
    if source == target || source == oid::UNKNOWN || target == oid::ANY {
        return Ok(relabelled(e, ty, typmod, collation));
    }
    let cast = catalog.cast(source, target)?;
    let made = match &cast {
        Some(c) if c.method == CastMethod::Function => call(catalog, c.function, e, target)?,
        Some(c) if c.method == CastMethod::Binary => relabelled(e, target, -1, collation),
        Some(_) => via_io(e, target, collation),
        None => match (element(catalog, source)?, element(catalog, target)?) {
            (Some(from), Some(to)) => array(catalog, e, from, to, target, collation)?,
            _ if e.ty() == oid::RECORD || target == oid::RECORD => e,
            _ => via_io(e, target, collation),
        },
    };
    Ok(relabelled(made, ty, typmod, collation))
}

fn base_type(catalog: &CatalogView, ty: Oid) -> Result<Oid> {
    let mut at = ty;
    while let Some(t) = catalog.find_type(at)? {
        if t.kind != b'd' {
            break;
        }
        at = t.base_type;
    }
    Ok(at)
}

fn element(catalog: &CatalogView, ty: Oid) -> Result<Option<Oid>> {
    Ok(catalog.find_type(ty)?.filter(|t| t.is_array()).map(|t| t.elem))
}

fn call(catalog: &CatalogView, func: Oid, e: Expr, ret_type: Oid) -> Result<Expr> {
    let plain = |ty, value| {
        Expr::Const(Const { ty, typmod: -1, collation: Oid::INVALID, value, location: None })
    };
    let proc = catalog.proc(func)?;
    let mut args = vec![e];
    if proc.arg_types.len() >= 2 {
        args.push(plain(oid::INT4, Datum::I32(-1)));
    }
    if proc.arg_types.len() == 3 {
        args.push(plain(oid::BOOL, Datum::Bool(false)));
    }
    let collation = catalog.find_type(ret_type)?.map_or(Oid::INVALID, |t| t.collation);
    Ok(Expr::Func(FuncExpr {
        func,
        ret_type,
        ret_set: false,
        variadic: false,
        form: CoercionForm::ImplicitCast,
        collation,
        input_collation: Oid::INVALID,
        args,
        location: None,
    }))
}

fn via_io(e: Expr, ty: Oid, collation: Oid) -> Expr {
    let form = CoercionForm::ImplicitCast;
    Expr::CoerceViaIo { arg: Box::new(e), ty, collation, form, location: None }
}

fn array(
    catalog: &CatalogView,
    e: Expr,
    from: Oid,
    to: Oid,
    ty: Oid,
    collation: Oid,
) -> Result<Expr> {
    let test = Expr::CaseTest { ty: from, typmod: -1, collation };
    let element = Box::new(cast_to(catalog, test, to, -1, collation)?);
    Ok(Expr::ArrayCoerce {
        arg: Box::new(e),
        element,
        ty,
        typmod: -1,
        collation,
        form: CoercionForm::ImplicitCast,
        location: None,
    })
}

fn relabelled(e: Expr, ty: Oid, typmod: i32, collation: Oid) -> Expr {
    if e.ty() == ty && (e.typmod() == typmod || typmod == -1) && e.collation() == collation {
        return e;
    }
    Expr::Relabel {
        arg: Box::new(e),
        ty,
        typmod,
        collation,
        form: CoercionForm::ImplicitCast,
        location: None,
    }
}
