//! Selectivity of LIKE and regular expressions.

use super::variable::Variable;
use super::{DEFAULT_EQ, DEFAULT_MATCH};
use crate::root::Root;
use base::{Oid, Result};
use ir::{Const, Expr};
use types::Datum;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Like,
    ILike,
    Regex,
    IRegex,
    Prefix,
}

/// What a pattern fixes: a literal prefix, whether that is all, and a guess for the rest.
struct Pattern {
    prefix: Vec<u8>,
    exact: bool,
    rest: f64,
}

/// What a matching operator does, by its restriction estimator, and whether it is negated.
fn kind_of(estimator: u32) -> (Kind, bool) {
    match estimator {
        1819 => (Kind::Like, false),
        1822 => (Kind::Like, true),
        1814 => (Kind::ILike, false),
        1815 | 1816 => (Kind::ILike, true),
        1818 => (Kind::Regex, false),
        1821 => (Kind::Regex, true),
        1820 => (Kind::IRegex, false),
        1823 => (Kind::IRegex, true),
        _ => (Kind::Prefix, false),
    }
}

/// The text that a pattern begins with, and whether it is all of it; None for operators that are
/// no matches.
pub fn fixed_prefix(estimator: u32, pattern: &[u8]) -> Option<(Vec<u8>, bool)> {
    if !matches!(estimator, 1819 | 1814 | 1818 | 1820 | 3437) {
        return None;
    }
    let p = match kind_of(estimator).0 {
        kind @ (Kind::Like | Kind::ILike) => like(pattern, kind == Kind::ILike),
        // Of alternatives each may begin with something else.
        Kind::Regex | Kind::IRegex if pattern.contains(&b'|') => return None,
        kind @ (Kind::Regex | Kind::IRegex) => regex(pattern, kind == Kind::IRegex),
        Kind::Prefix => Pattern { prefix: pattern.to_vec(), exact: false, rest: 1.0 },
    };
    Some((p.prefix, p.exact))
}

/// Share of rows that match. `estimator` is the operator's restriction estimator.
pub fn selectivity(
    root: &Root,
    estimator: u32,
    v: &Variable,
    other: &Expr,
    collation: Oid,
) -> Result<f64> {
    let (kind, negate) = kind_of(estimator);
    let Expr::Const(Const { value: Datum::Bytes(pattern), .. }) = other else {
        return Ok(if negate { 1.0 - DEFAULT_MATCH } else { DEFAULT_MATCH });
    };
    let p = match kind {
        Kind::Like | Kind::ILike => like(pattern, kind == Kind::ILike),
        Kind::Regex | Kind::IRegex => regex(pattern, kind == Kind::IRegex),
        Kind::Prefix => Pattern { prefix: pattern.to_vec(), exact: false, rest: 1.0 },
    };
    let nulls = v.null_frac();
    let s = if p.exact {
        equal_share(root, v, &p.prefix, collation)?
    } else {
        let by_prefix =
            if p.prefix.is_empty() { 1.0 } else { prefix_share(root, v, &p.prefix, collation)? };
        (by_prefix * p.rest).clamp(0.0001, 0.9999)
    };
    let s = s * (1.0 - nulls);
    Ok(if negate { (1.0 - s - nulls).max(0.0) } else { s }.clamp(0.0, 1.0))
}

fn text(bytes: &[u8], v: &Variable) -> Const {
    Const {
        ty: if v.ty == Oid(19) { Oid(25) } else { v.ty },
        typmod: -1,
        collation: Oid::INVALID,
        value: Datum::Bytes(bytes.into()),
        location: None,
    }
}

fn equal_share(root: &Root, v: &Variable, prefix: &[u8], collation: Oid) -> Result<f64> {
    let op = match v.ty.0 {
        1042 => Oid(1054),
        19 => Oid(93),
        17 => Oid(1955),
        _ => Oid(98),
    };
    if v.stats.is_none() && !v.unique {
        return Ok(DEFAULT_EQ.min(1.0 / v.num_distinct().0));
    }
    let args = [v.expr.clone(), Expr::Const(text(prefix, v))];
    root.operator_selectivity(op, &args, collation, v.rel)
}

/// Share of values between the prefix and the next greater string.
fn prefix_share(root: &Root, v: &Variable, prefix: &[u8], collation: Oid) -> Result<f64> {
    if v.slot(2).is_none() {
        return Ok(DEFAULT_MATCH);
    }
    let (ge, lt) = match v.ty.0 {
        1042 => (Oid(1061), Oid(1058)),
        19 => (Oid(661), Oid(660)),
        17 => (Oid(1960), Oid(1957)),
        _ => (Oid(667), Oid(664)),
    };
    let low = text(prefix, v);
    let from =
        root.env.histogram_share(ge, (false, true), v, &low, collation).unwrap_or(DEFAULT_MATCH);
    let mut next = prefix.to_vec();
    while let Some(last) = next.pop() {
        if last < 0x7f {
            next.push(last + 1);
            break;
        }
    }
    let mut s = from;
    if !next.is_empty() {
        let high = text(&next, v);
        let to = root.env.histogram_share(lt, (true, false), v, &high, collation).unwrap_or(1.0);
        s = from + to - 1.0;
    }
    let equal = equal_share(root, v, prefix, collation)?;
    Ok(s.max(equal).max(1.0e-10))
}

fn like(pattern: &[u8], fold: bool) -> Pattern {
    let mut prefix = Vec::new();
    let mut i = 0;
    while i < pattern.len() {
        let mut c = pattern[i];
        if c == b'%' || c == b'_' || fold && c.is_ascii_alphabetic() {
            break;
        }
        if c == b'\\' {
            i += 1;
            let Some(next) = pattern.get(i) else { break };
            c = *next;
        }
        prefix.push(c);
        i += 1;
    }
    let exact = i >= pattern.len();
    let mut rest = 1.0f64;
    let mut tail = &pattern[i.min(pattern.len())..];
    // A leading wildcard says nothing.
    while let Some((b'%' | b'_', t)) = tail.split_first() {
        tail = t;
    }
    let mut escaped = false;
    for c in tail {
        rest *= match c {
            _ if escaped => 0.20,
            b'%' => 5.0,
            b'_' => 0.9,
            b'\\' => {
                escaped = true;
                continue;
            }
            _ => 0.20,
        };
        escaped = false;
    }
    Pattern { prefix, exact, rest: rest.min(1.0) }
}

fn regex(pattern: &[u8], fold: bool) -> Pattern {
    let mut prefix = Vec::new();
    let mut exact = false;
    let mut rest_from = 0;
    let mut body = pattern;
    let mut wrapped = false;
    if let Some(p) = body.strip_prefix(b"^") {
        body = p;
        // `^(name)$`, as psql writes it.
        if let Some(inner) = body.strip_prefix(b"(").and_then(|b| b.strip_suffix(b")$")) {
            body = inner;
            wrapped = true;
        }
        let mut i = 0;
        while i < body.len() {
            let c = body[i];
            let next_repeats = matches!(body.get(i + 1), Some(b'*' | b'?' | b'{'));
            if b".[(|*+?{\\^$)".contains(&c) || next_repeats || fold && c.is_ascii_alphabetic() {
                break;
            }
            prefix.push(c);
            i += 1;
        }
        exact = i == body.len() && wrapped || body.get(i..) == Some(b"$");
        rest_from = i;
    }
    let mut rest = 1.0f64;
    let mut chars = body[rest_from.min(body.len())..].iter().peekable();
    while let Some(c) = chars.next() {
        rest *= match c {
            b'*' | b'+' | b'?' => 2.0,
            b'.' => 0.9,
            b'[' => {
                for c in chars.by_ref() {
                    if *c == b']' {
                        break;
                    }
                }
                0.25
            }
            b'\\' => {
                chars.next();
                0.20
            }
            b'(' | b')' | b'|' | b'^' | b'$' => 1.0,
            _ => 0.20,
        };
    }
    if !pattern.ends_with(b"$") {
        rest *= 5.0;
    }
    Pattern { prefix, exact, rest: rest.min(1.0) }
}
