//! Bodies for texts of collations that do more than compare bytes. They stand for the plain ones
//! where a call's collation asks for it.

use crate::call::{FnCtx, FnDef};
use crate::collation::{Collator, collator};
use base::{Result, bail, err};
use std::cmp::Ordering;
use std::sync::Arc;
use types::Datum;
use types::compare::trim_blanks;

fn of(cx: &mut FnCtx) -> Result<Arc<Collator>> {
    let collation = cx.call.collation;
    cx.state.get_or_try(|| collator(collation)).cloned()
}

fn compare(cx: &mut FnCtx, a: &str, b: &str) -> Result<Ordering> {
    Ok(of(cx)?.compare(a, b))
}

fn equal(cx: &mut FnCtx, a: &str, b: &str) -> Result<bool> {
    Ok(of(cx)?.equal(a, b))
}

fn blank(a: &str) -> &str {
    std::str::from_utf8(trim_blanks(a.as_bytes())).unwrap_or(a)
}

/// Bytes to hash: those of the key, with its end.
fn hashed(cx: &mut FnCtx, a: &str) -> Result<Vec<u8>> {
    let collator = of(cx)?;
    let mut key = collator.key(a);
    if !collator.deterministic {
        key.push(0);
    }
    Ok(key)
}

const TEXT: &[FnDef] = &[
    row!(cx; texteq(a: &str, b: &str) { equal(cx, a, b) }),
    row!(cx; textne(a: &str, b: &str) { equal(cx, a, b).map(|e| !e) }),
    row!(cx; text_lt(a: &str, b: &str) { compare(cx, a, b).map(Ordering::is_lt) }),
    row!(cx; text_le(a: &str, b: &str) { compare(cx, a, b).map(Ordering::is_le) }),
    row!(cx; text_gt(a: &str, b: &str) { compare(cx, a, b).map(Ordering::is_gt) }),
    row!(cx; text_ge(a: &str, b: &str) { compare(cx, a, b).map(Ordering::is_ge) }),
    row!(cx; bttextcmp(a: &str, b: &str) { compare(cx, a, b).map(|o| o as i32) }),
    row!(cx; text_larger(a: &Datum, b: &Datum) {
        let order = compare(cx, a.as_str(), b.as_str())?;
        if order.is_gt() { a.clone() } else { b.clone() }
    }),
    row!(cx; text_smaller(a: &Datum, b: &Datum) {
        let order = compare(cx, a.as_str(), b.as_str())?;
        if order.is_lt() { a.clone() } else { b.clone() }
    }),
    row!(cx; hashtext(a: &str) {
        let key = hashed(cx, a)?;
        Ok(super::hash::hash_bytes(&key) as i32)
    }),
    row!(cx; hashtextextended(a: &str, seed: i64) {
        let key = hashed(cx, a)?;
        Ok(super::hash::hash_bytes_extended(&key, seed as u64) as i64)
    }),
];

/// A name beside a text, either way round.
macro_rules! of_names {
    ($($eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident $cmp:ident),*) => {&[$(
        row!(cx; $eq(a: &str, b: &str) { equal(cx, a, b) }),
        row!(cx; $ne(a: &str, b: &str) { equal(cx, a, b).map(|e| !e) }),
        row!(cx; $lt(a: &str, b: &str) { compare(cx, a, b).map(Ordering::is_lt) }),
        row!(cx; $le(a: &str, b: &str) { compare(cx, a, b).map(Ordering::is_le) }),
        row!(cx; $gt(a: &str, b: &str) { compare(cx, a, b).map(Ordering::is_gt) }),
        row!(cx; $ge(a: &str, b: &str) { compare(cx, a, b).map(Ordering::is_ge) }),
        row!(cx; $cmp(a: &str, b: &str) { compare(cx, a, b).map(|o| o as i32) }),
    )*]};
}

const NAMES: &[FnDef] = of_names!(
    nameeqtext namenetext namelttext nameletext namegttext namegetext btnametextcmp,
    texteqname textnename textltname textlename textgtname textgename bttextnamecmp
);

const BPCHAR: &[FnDef] = &[
    row!(cx; bpchareq(a: &str, b: &str) { equal(cx, blank(a), blank(b)) }),
    row!(cx; bpcharne(a: &str, b: &str) { equal(cx, blank(a), blank(b)).map(|e| !e) }),
    row!(cx; bpcharlt(a: &str, b: &str) { compare(cx, blank(a), blank(b)).map(Ordering::is_lt) }),
    row!(cx; bpcharle(a: &str, b: &str) { compare(cx, blank(a), blank(b)).map(Ordering::is_le) }),
    row!(cx; bpchargt(a: &str, b: &str) { compare(cx, blank(a), blank(b)).map(Ordering::is_gt) }),
    row!(cx; bpcharge(a: &str, b: &str) { compare(cx, blank(a), blank(b)).map(Ordering::is_ge) }),
    row!(cx; bpcharcmp(a: &str, b: &str) { compare(cx, blank(a), blank(b)).map(|o| o as i32) }),
    row!(cx; hashbpchar(a: &str) {
        let key = hashed(cx, blank(a))?;
        Ok(super::hash::hash_bytes(&key) as i32)
    }),
];

/// A part of a LIKE pattern.
enum Piece {
    One,
    Any,
    Text(String),
}

fn pieces(pattern: &str) -> Result<Vec<Piece>> {
    let mut out: Vec<Piece> = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let literal = match c {
            '%' => {
                out.push(Piece::Any);
                continue;
            }
            '_' => {
                out.push(Piece::One);
                continue;
            }
            '\\' => chars.next().ok_or_else(|| {
                err!(INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character")
            })?,
            c => c,
        };
        match out.last_mut() {
            Some(Piece::Text(t)) => t.push(literal),
            _ => out.push(Piece::Text(literal.to_string())),
        }
    }
    Ok(out)
}

/// LIKE where other bytes may be equal: literal parts match any piece that is equal to them.
fn like(c: &Collator, text: &str, pattern: &[Piece]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return text.is_empty() };
    let ends = || text.char_indices().map(|(i, _)| i).chain([text.len()]);
    match first {
        Piece::One => {
            let mut chars = text.chars();
            chars.next().is_some() && like(c, chars.as_str(), rest)
        }
        Piece::Any => ends().any(|at| like(c, &text[at..], rest)),
        Piece::Text(t) if rest.is_empty() => c.equal(text, t),
        Piece::Text(t) => ends().any(|at| c.equal(&text[..at], t) && like(c, &text[at..], rest)),
    }
}

fn matches(cx: &mut FnCtx, text: &str, pattern: &str) -> Result<bool> {
    let c = of(cx)?;
    if c.deterministic {
        return super::like::like(text.as_bytes(), pattern.as_bytes());
    }
    Ok(like(&c, text, &pieces(pattern)?))
}

fn refuse(cx: &mut FnCtx, what: &str) -> Result<Arc<Collator>> {
    let c = of(cx)?;
    if !c.deterministic {
        bail!(FEATURE_NOT_SUPPORTED, "nondeterministic collations are not supported for {what}");
    }
    Ok(c)
}

fn ilike(cx: &mut FnCtx, text: &str, pattern: &str) -> Result<bool> {
    let c = refuse(cx, "ILIKE")?;
    let (text, pattern) = (c.letters.lower(text), c.letters.lower(pattern));
    super::like::like(text.as_bytes(), pattern.as_bytes())
}

const LIKE: &[FnDef] = &[
    row!(cx; textlike(a: &str, p: &str) { matches(cx, a, p) }),
    row!(cx; textnlike(a: &str, p: &str) { matches(cx, a, p).map(|m| !m) }),
    row!(cx; bpcharlike(a: &str, p: &str) { matches(cx, a, p) }),
    row!(cx; bpcharnlike(a: &str, p: &str) { matches(cx, a, p).map(|m| !m) }),
    row!(cx; texticlike(a: &str, p: &str) { ilike(cx, a, p) }),
    row!(cx; texticnlike(a: &str, p: &str) { ilike(cx, a, p).map(|m| !m) }),
    row!(cx; bpchariclike(a: &str, p: &str) { ilike(cx, a, p) }),
    row!(cx; bpcharicnlike(a: &str, p: &str) { ilike(cx, a, p).map(|m| !m) }),
];

/// The first place from `from` on that equals `what`, the longest one.
fn find(c: &Collator, text: &str, what: &str, from: usize) -> Option<(usize, usize)> {
    if c.deterministic {
        return text[from..].find(what).map(|at| (from + at, from + at + what.len()));
    }
    let starts = text[from..].char_indices().map(|(i, _)| from + i);
    for start in starts {
        let rest = &text[start..];
        let mut ends = rest.char_indices().map(|(i, ch)| i + ch.len_utf8());
        let longest = ends.rfind(|end| c.equal(&rest[..*end], what));
        if let Some(end) = longest {
            return Some((start, start + end));
        }
    }
    None
}

/// The pieces of a text between those that equal `by`.
pub(super) fn split<'a>(c: &Collator, text: &'a str, by: &str) -> Vec<&'a str> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some((start, end)) = find(c, text, by, at) {
        out.push(&text[at..start]);
        at = end;
    }
    out.push(&text[at..]);
    out
}

const PIECES: &[FnDef] = &[
    row!(cx; split_part(a: &str, by: &str, n: i32) {
        let c = of(cx)?;
        if c.deterministic || n == 0 || a.is_empty() || by.is_empty() {
            return super::text::split_part(a, by, n).map(Datum::string);
        }
        let parts = split(&c, a, by);
        let at = match n {
            1.. => Some(n as usize - 1),
            _ => parts.len().checked_sub(n.unsigned_abs() as usize),
        };
        Ok(at.and_then(|at| parts.get(at)).map_or(String::new(), ToString::to_string))
    }),
    row!(cx; textpos(a: &str, what: &str) {
        let c = of(cx)?;
        if what.is_empty() {
            return Ok(Datum::I32(1));
        }
        Ok(find(&c, a, what, 0).map_or(0, |(at, _)| a[..at].chars().count() as i32 + 1))
    }),
    row!(cx; replace_text(a: &str, what: &str, with: &str) {
        let c = of(cx)?;
        let mut out = String::with_capacity(a.len());
        let mut at = 0;
        if !what.is_empty() {
            while let Some((start, end)) = find(&c, a, what, at) {
                out.push_str(&a[at..start]);
                out.push_str(with);
                at = end;
            }
        }
        out.push_str(&a[at..]);
        Ok(out)
    }),
    row!(cx; upper(a: &str) { Ok(of(cx)?.letters.upper(a)) }),
    row!(cx; lower(a: &str) { Ok(of(cx)?.letters.lower(a)) }),
    row!(cx; casefold(a: &str) { Ok(of(cx)?.letters.fold(a)) }),
    row!(cx; initcap(a: &str) { Ok(of(cx)?.letters.initcap(a)) }),
    row!(cx; text_starts_with(a: &str, b: &str) {
        refuse(cx, "substring searches")?;
        Ok(a.starts_with(b))
    }),
];

/// The name of a call's collation, for `COLLATION FOR`.
pub(super) fn collation_for(cx: &FnCtx) -> Result<Datum> {
    let ty = cx.call.arg_type(0);
    let info = cx.env.catalog().types().type_info(ty);
    if ty != types::oid::UNKNOWN && info.is_some_and(|t| !t.collation.is_valid()) {
        let name = cx.env.catalog().type_name(ty).unwrap_or_default();
        bail!(DATATYPE_MISMATCH, "collations are not supported by type {name}");
    }
    if !cx.call.collation.is_valid() {
        return Ok(Datum::Null);
    }
    let name = cx.env.catalog().types().reg_out(types::oid::REGCOLLATION, cx.call.collation);
    Ok(name.map_or(Datum::Null, Datum::string))
}

pub(crate) const FNS: &[&[FnDef]] = &[TEXT, NAMES, BPCHAR, LIKE, PIECES];
