//! Values that are equal and not the same: text under a collation that is not deterministic, rows
//! of such. A group of them gives one, so a condition on what a grouping gave may be tested before
//! it only if it cannot hold for one of them and not for another.

use crate::root::Env;
use base::{Oid, Result};
use catalog::oids;
use ir::{Expr, walk};

/// Whether a condition can tell equal values apart, of what `grouped` says that it is grouped by.
pub fn tells_equals_apart(
    env: &Env,
    condition: &Expr,
    grouped: &dyn Fn(&Expr) -> bool,
) -> Result<bool> {
    if grouped(condition) {
        return is_loose(env, condition);
    }
    let mut safe: Vec<&Expr> = Vec::new();
    match condition {
        Expr::Op(o) => {
            let compares = compares(env, o.op)?;
            safe.extend(o.args.iter().filter(|a| compares && a.collation() == o.input_collation));
        }
        Expr::ScalarArrayOp(s) => {
            let value = s.args.first().filter(|v| v.collation() == s.input_collation);
            if compares(env, s.op)? {
                safe.extend(value);
            }
        }
        _ => {}
    }
    let mut parts = Vec::new();
    walk::children(condition, &mut |e| parts.push(e));
    for part in parts {
        let is_grouped = grouped(part) || grouped(under_other_name(part));
        let is_safe = is_grouped && safe.iter().any(|s| std::ptr::eq(*s, part));
        if (!is_safe || is_row(env, part)?) && tells_equals_apart(env, part, grouped)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A value whose type alone has another name.
fn under_other_name(e: &Expr) -> &Expr {
    match e {
        Expr::Relabel { arg, collation, .. } if arg.collation() == *collation => arg,
        _ => e,
    }
}

fn is_row(env: &Env, e: &Expr) -> Result<bool> {
    Ok(e.ty() == oids::RECORD || env.catalog.type_(e.ty())?.kind == b'c')
}

fn is_loose(env: &Env, e: &Expr) -> Result<bool> {
    if is_row(env, e)? {
        return Ok(true);
    }
    is_loose_collation(env, e.collation())
}

/// Whether text of other bytes may be equal under a collation, if it is one.
pub fn is_loose_collation(env: &Env, collation: Oid) -> Result<bool> {
    let found = match collation.is_valid() {
        true => env.catalog.find_collation(collation)?,
        false => None,
    };
    Ok(found.is_some_and(|c| !c.is_deterministic))
}

/// Whether an operator is one of those that order or hash values: what is equal is the same to it.
fn compares(env: &Env, operator: Oid) -> Result<bool> {
    for place in env.catalog.amops_of_operator(operator)?.iter() {
        if place.purpose == b's' && [oids::BTREE_AM, oids::HASH_AM].contains(&place.am) {
            return Ok(true);
        }
    }
    Ok(false)
}
