//! Conditions in a canonical form: ANDs of ORs with common parts taken out.

use ir::{BoolOp, Expr};

/// Flattens nested ANDs and ORs and takes out what all arms of an OR share.
pub fn canonicalise(expr: Expr) -> Expr {
    match expr {
        Expr::Bool { op: BoolOp::And, args, location } => {
            let mut out = Vec::new();
            for a in args.into_iter().map(canonicalise) {
                match a {
                    Expr::Bool { op: BoolOp::And, args, .. } => out.extend(args),
                    other => out.push(other),
                }
            }
            Expr::Bool { op: BoolOp::And, args: out, location }
        }
        Expr::Bool { op: BoolOp::Or, args, .. } => {
            let mut out = Vec::new();
            for a in args.into_iter().map(canonicalise) {
                match a {
                    Expr::Bool { op: BoolOp::Or, args, .. } => out.extend(args),
                    other => out.push(other),
                }
            }
            take_out_common(out)
        }
        other => other,
    }
}

fn parts(e: &Expr) -> Vec<Expr> {
    match e {
        Expr::Bool { op: BoolOp::And, args, .. } => args.clone(),
        other => vec![other.clone()],
    }
}

/// `(a AND b) OR (a AND c)` is `a AND (b OR c)`.
fn take_out_common(arms: Vec<Expr>) -> Expr {
    let or = |args: Vec<Expr>| Expr::Bool { op: BoolOp::Or, args, location: None };
    let Some(shortest) = arms.iter().map(parts).min_by_key(Vec::len) else { return or(arms) };
    let common: Vec<Expr> =
        shortest.into_iter().filter(|p| arms.iter().all(|a| parts(a).contains(p))).collect();
    if common.is_empty() {
        return or(arms);
    }
    let mut rest = Vec::new();
    for arm in &arms {
        let left: Vec<Expr> = parts(arm).into_iter().filter(|p| !common.contains(p)).collect();
        match ir::walk::conjoin(left) {
            Some(e) => rest.push(e),
            None => {
                // One arm is nothing but the common part, which absorbs the others.
                rest.clear();
                break;
            }
        }
    }
    let mut out = common;
    match rest.len() {
        0 => {}
        1 => out.extend(rest),
        _ => out.push(or(rest)),
    }
    match out.len() {
        1 => out.remove(0),
        _ => Expr::Bool { op: BoolOp::And, args: out, location: None },
    }
}
