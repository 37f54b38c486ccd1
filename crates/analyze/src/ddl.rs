//! What definitions hold: defaults, checks, index expressions, partition bounds.

use crate::state::{Analyzer, Kind};
use crate::{Env, Params, collate};
use base::{Error, Oid, Result, err};
use catalog::{CastContext, RelationDesc, oids};
use ir::{CoercionForm, Expr};
use parser::ast;

/// What an expression over one relation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprUse {
    /// A CHECK constraint.
    Check,
    /// A column of an index.
    Index,
    /// The predicate of an index.
    IndexPredicate,
    /// A stored or virtual generated column.
    Generated,
    /// A partition key.
    PartitionKey,
    /// A column of extended statistics.
    Statistics,
    /// USING of ALTER COLUMN TYPE.
    AlterType,
    /// USING or WITH CHECK of a policy.
    Policy,
    /// WHERE of COPY FROM.
    CopyWhere,
    /// WHERE of a table of a publication.
    PublicationWhere,
}

/// Analyses an expression over one relation, whose columns are Vars of entry 1. Predicates and
/// checks are coerced to boolean.
pub fn relation_expr(
    env: &Env,
    rel: &RelationDesc,
    expr: &ast::Expr,
    used: ExprUse,
) -> Result<Expr> {
    let mut a = Analyzer::new(env, Params::None);
    let item = a.add_relation(rel, None, false, true, 1, 0, None)?;
    a.st().namespace.push(item);
    let (kind, boolean) = match used {
        ExprUse::Check => (Kind::CheckConstraint, Some("CHECK")),
        ExprUse::Index => (Kind::IndexExpression, None),
        ExprUse::IndexPredicate => (Kind::IndexPredicate, Some("WHERE")),
        ExprUse::Generated => (Kind::GeneratedColumn, None),
        ExprUse::PartitionKey => (Kind::PartitionExpression, None),
        ExprUse::Statistics => (Kind::StatsExpression, None),
        ExprUse::AlterType => (Kind::AlterColTransform, None),
        ExprUse::Policy => (Kind::Policy, Some("POLICY")),
        ExprUse::CopyWhere => (Kind::CopyWhere, Some("WHERE")),
        ExprUse::PublicationWhere => (Kind::Where, Some("PUBLICATION WHERE")),
    };
    let mut made = a.expr(expr, kind)?;
    if let Some(construct) = boolean {
        made = a.coerce_to_boolean(made, construct)?;
    } else if made.ty() == oids::UNKNOWN
        && !matches!(used, ExprUse::Generated | ExprUse::PartitionKey | ExprUse::AlterType)
    {
        made = a.to_common(made, oids::TEXT, "")?;
    }
    collate::assign(&mut a, &mut made)?;
    check_volatility(&a, &made, used)?;
    Ok(made)
}

/// Whether the value depends on the session: a path on its time zone, a constructor on the form
/// of dates.
fn json_is_mutable(j: &ir::JsonExpr) -> bool {
    match &j.op {
        ir::JsonOp::Query(q) => {
            let Some(Expr::Const(path)) = j.args.get(1) else { return true };
            let Ok(path) = types::jsonpath::parse(path.value.as_str()) else { return true };
            let types: Vec<Oid> = j.args[2..].iter().take(q.names.len()).map(Expr::ty).collect();
            functions::sqljson::is_mutable(&path, &q.names, &types)
        }
        ir::JsonOp::Object { .. } | ir::JsonOp::Array { .. } | ir::JsonOp::Scalar => {
            j.args.iter().any(|a| matches!(a.ty().0, 1082 | 1083 | 1114 | 1184 | 1266))
        }
        _ => false,
    }
}

/// Index and generation expressions must not depend on anything but the row.
fn check_volatility(a: &Analyzer, expr: &Expr, used: ExprUse) -> Result<()> {
    let message = match used {
        ExprUse::Index => "functions in index expression must be marked IMMUTABLE",
        ExprUse::IndexPredicate => "functions in index predicate must be marked IMMUTABLE",
        ExprUse::Generated => "generation expression is not immutable",
        ExprUse::PartitionKey => "functions in partition key expression must be marked IMMUTABLE",
        _ => return Ok(()),
    };
    let mut worst = b'i';
    let mut note = |oid: Oid| {
        if let Ok(p) = a.catalog().proc(oid)
            && p.volatility != b'i'
        {
            worst = p.volatility;
        }
    };
    // `||` of text and anything else is what the output of that is.
    const CONCATENATIONS: [Oid; 2] = [Oid(2003), Oid(2004)];
    let output = |e: &Expr| {
        let ty = crate::coerce::base_type(a.catalog(), e.ty()).unwrap_or(e.ty());
        a.type_desc(ty).map_or(Oid::INVALID, |t| t.output)
    };
    ir::walk::each(expr, &mut |e| match e {
        Expr::Func(f) => note(f.func),
        Expr::Op(o) if CONCATENATIONS.contains(&o.func) => {
            o.args.iter().for_each(|e| note(output(e)));
        }
        Expr::Op(o) => note(o.func),
        Expr::ScalarArrayOp(s) => note(s.func),
        Expr::CoerceViaIo { arg, ty, .. } => {
            note(a.type_desc(*ty).map_or(Oid::INVALID, |t| t.input));
            note(output(arg));
        }
        // The time and the user are stable, not immutable.
        Expr::SqlValue { .. } => note(Oid(1299)),
        Expr::Json(j) if json_is_mutable(j) => note(Oid(1299)),
        _ => {}
    });
    if worst != b'i' {
        return Err(err!(INVALID_OBJECT_DEFINITION, "{message}"));
    }
    Ok(())
}

/// Analyses a column's DEFAULT, or with `generated` its generation expression over that
/// relation, coerced to the column's type.
pub fn column_default(
    env: &Env,
    column: &str,
    ty: Oid,
    typmod: i32,
    expr: &ast::Expr,
    generated: Option<&RelationDesc>,
) -> Result<Expr> {
    let mut made = match generated {
        Some(rel) => relation_expr(env, rel, expr, ExprUse::Generated)?,
        None => {
            let mut a = Analyzer::new(env, Params::None);
            a.expr(expr, Kind::ColumnDefault)?
        }
    };
    if let Some(rel) = generated {
        refuse_generated(rel, &made)?;
    }
    let mut a = Analyzer::new(env, Params::None);
    let source = made.ty();
    let form = CoercionForm::ImplicitCast;
    let cx = CastContext::Assignment;
    made = a.coerce_to_target(made, ty, typmod, cx, form, None)?.ok_or_else(|| {
        let what = if generated.is_some() { "generation" } else { "default" };
        err!(
            DATATYPE_MISMATCH,
            "column \"{column}\" is of type {} but {what} expression is of type {}",
            a.type_shown(ty),
            a.type_shown(source)
        )
        .hint("You will need to rewrite or cast the expression.")
    })?;
    collate::assign(&mut a, &mut made)?;
    Ok(made)
}

/// A generated column may not use another one.
fn refuse_generated(rel: &RelationDesc, expr: &Expr) -> Result<()> {
    let (mut problem, mut whole_row) = (None, None);
    ir::walk::each(expr, &mut |e| {
        let Expr::Var(v) = e else { return };
        let attr = rel.tuple.attrs.get((v.attno - 1).max(0) as usize);
        if v.attno == 0 {
            whole_row.get_or_insert(v.location);
        }
        if v.attno > 0
            && let Some(attr) = attr
            && attr.generated != 0
        {
            problem = Some((attr.name.clone(), v.location));
        }
    });
    if let Some(at) = whole_row {
        return Err(err!(
            INVALID_OBJECT_DEFINITION,
            "cannot use whole-row variable in column generation expression"
        )
        .detail("This would cause the generated column to depend on its own value.")
        .at(at));
    }
    match problem {
        Some((name, at)) => Err(err!(
            INVALID_OBJECT_DEFINITION,
            "cannot use generated column \"{name}\" in column generation expression"
        )
        .detail("A generated column cannot reference another generated column.")
        .at(at)),
        None => Ok(()),
    }
}

/// Analyses a value of a partition bound as the key column's type.
pub fn partition_bound_value(
    env: &Env,
    expr: &ast::Expr,
    column: &str,
    ty: Oid,
    typmod: i32,
) -> Result<Expr> {
    let mut a = Analyzer::new(env, Params::None);
    let made = a.expr(expr, Kind::PartitionBound)?;
    let at = made.location();
    let form = CoercionForm::ImplicitCast;
    let cx = CastContext::Assignment;
    let mut made = a.coerce_to_target(made, ty, typmod, cx, form, None)?.ok_or_else(|| {
        err!(
            DATATYPE_MISMATCH,
            "specified value cannot be cast to type {} for column \"{column}\"",
            a.type_shown(ty)
        )
        .at(at)
    })?;
    collate::assign(&mut a, &mut made)?;
    Ok(made)
}

/// Analyses an argument of EXECUTE as the type of the prepared statement's `$number`.
pub fn execute_argument(env: &Env, expr: &ast::Expr, number: usize, ty: Oid) -> Result<Expr> {
    let mut a = Analyzer::new(env, Params::None);
    let made = a.expr(expr, Kind::ExecuteParameter)?;
    let (source, at) = (made.ty(), made.location());
    let form = CoercionForm::ImplicitCast;
    let cx = CastContext::Assignment;
    let mut made = a.coerce_to_target(made, ty, -1, cx, form, None)?.ok_or_else(|| {
        err!(
            DATATYPE_MISMATCH,
            "parameter ${number} of type {} cannot be coerced to the expected type {}",
            a.type_shown(source),
            a.type_shown(ty)
        )
        .hint("You will need to rewrite or cast the expression.")
        .at(at)
    })?;
    collate::assign(&mut a, &mut made)?;
    Ok(made)
}

/// Analyses the CHECK of a domain over a type; VALUE is an [`Expr::DomainValue`].
pub fn domain_check(env: &Env, ty: Oid, typmod: i32, expr: &ast::Expr) -> Result<Expr> {
    let mut a = Analyzer::new(env, Params::None);
    let collation = a.collation_of_type(ty)?;
    a.st().domain_value = Some(Expr::DomainValue { ty, typmod, collation, location: None });
    let made = a.expr(expr, Kind::DomainCheck)?;
    let mut made = a.coerce_to_boolean(made, "CHECK")?;
    collate::assign(&mut a, &mut made)?;
    Ok(made)
}

/// Analyses the default of a function's parameter.
pub fn parameter_default(env: &Env, ty: Oid, expr: &ast::Expr) -> Result<Expr> {
    let mut a = Analyzer::new(env, Params::None);
    let made = a.expr(expr, Kind::FunctionDefault)?;
    let mut made = a.coerce_to_specific(made, ty, "DEFAULT")?;
    collate::assign(&mut a, &mut made)?;
    Ok(made)
}

/// Analyses WHEN of a trigger: OLD is entry 1, NEW is entry 2.
pub fn trigger_when(env: &Env, rel: &RelationDesc, expr: &ast::Expr) -> Result<Expr> {
    let mut a = Analyzer::new(env, Params::None);
    for name in ["old", "new"] {
        let alias = ast::Alias { name: name.into(), columns: Vec::new() };
        let mut item = a.add_relation(rel, Some(&alias), false, true, 1, 0, None)?;
        item.cols_visible = false;
        a.st().namespace.push(item);
    }
    let made = a.expr(expr, Kind::TriggerWhen)?;
    let mut made = a.coerce_to_boolean(made, "WHEN")?;
    collate::assign(&mut a, &mut made)?;
    Ok(made)
}

/// Analyses the call of CALL.
pub fn call(env: &Env, call: &ast::FuncCall, params: Params) -> Result<Expr> {
    let mut a = Analyzer::new(env, params);
    let at = (call.name.pos != ast::NO_POS).then_some(call.name.pos);
    a.st().called = at;
    let mut made = a.with_kind(Kind::CallArgument, |a| a.func_call(call, at))?;
    collate::assign(&mut a, &mut made)?;
    let Expr::Func(f) = &made else {
        return Err(Error::internal("CALL of something that is no function"));
    };
    let desc = env.catalog.proc(f.func)?;
    if desc.kind != b'p' {
        let shown = call.name.parts.join(".");
        return Err(err!(WRONG_OBJECT_TYPE, "{shown} is not a procedure")
            .hint("To call a function, use SELECT.")
            .at(at));
    }
    Ok(made)
}

/// SELECT .. INTO: the table to make, and the query without it; none if it has no INTO.
pub fn select_into(stmt: &ast::SelectStmt) -> Option<(ast::IntoClause, ast::SelectStmt)> {
    fn take(stmt: &mut ast::SelectStmt) -> Option<ast::IntoClause> {
        match &mut stmt.body {
            ast::SelectBody::Select(core) => core.into.take().map(|i| *i),
            ast::SelectBody::SetOp(op) => take(&mut op.left),
            ast::SelectBody::Values(_) => None,
        }
    }
    fn has(stmt: &ast::SelectStmt) -> bool {
        match &stmt.body {
            ast::SelectBody::Select(core) => core.into.is_some(),
            ast::SelectBody::SetOp(op) => has(&op.left),
            ast::SelectBody::Values(_) => false,
        }
    }
    if !has(stmt) {
        return None;
    }
    let mut query = stmt.clone();
    let into = take(&mut query)?;
    Some((into, query))
}

/// A copy of an expression that has no places in a text.
pub fn without_places(expr: &Expr) -> Expr {
    crate::clause::unplaced(expr)
}

/// Coerces an analysed expression to a type as an assignment does; none if it cannot be.
pub fn coerce_assignment(env: &Env, expr: Expr, ty: Oid, typmod: i32) -> Result<Option<Expr>> {
    let mut a = Analyzer::new(env, Params::None);
    let form = CoercionForm::ImplicitCast;
    let made = a.coerce_to_target(expr, ty, typmod, CastContext::Assignment, form, None)?;
    match made {
        None => Ok(None),
        Some(mut made) => {
            collate::assign(&mut a, &mut made)?;
            Ok(Some(made))
        }
    }
}

/// Analyses the RETURN of a function's body: a query of one value.
pub fn return_query(env: &Env, expr: &ast::Expr, params: Params) -> Result<ir::Query> {
    let target = ast::Target { name: None, expr: expr.clone(), pos: expr.pos };
    let core = ast::SelectCore { targets: vec![target], ..ast::SelectCore::default() };
    let stmt = ast::SelectStmt {
        with: None,
        body: ast::SelectBody::Select(Box::new(core)),
        order_by: Vec::new(),
        limit: None,
        offset: None,
        with_ties: false,
        locking: Vec::new(),
        pos: expr.pos,
    };
    crate::analyze_stmt(env, &ast::Stmt::Select(Box::new(stmt)), params)
}
