//! Text, varchar, char(n) and name: comparison, length, pieces, case, padding.

use super::chars::{char_index, char_len, slice_chars};
use crate::call::{FnCtx, FnDef};
use crate::growth::{self, by_pieces};
use crate::letters::Letters;
use base::{Result, bail, err, interrupt};
use std::collections::HashMap;
use types::compare::{byte_difference, compare_bpchar, name_difference, trim_blanks};
use types::io::bytes as forms;
use types::{Blob, Datum};

macro_rules! compare {
    ($t:ty, $a:ident, $b:ident => $cmp:expr, $difference:expr;
     $eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident $cmpname:ident) => {
        &[
            total!($eq($a: $t, $b: $t) -> bool { $cmp.is_eq() }),
            total!($ne($a: $t, $b: $t) -> bool { $cmp.is_ne() }),
            total!($lt($a: $t, $b: $t) -> bool { $cmp.is_lt() }),
            total!($le($a: $t, $b: $t) -> bool { $cmp.is_le() }),
            total!($gt($a: $t, $b: $t) -> bool { $cmp.is_gt() }),
            total!($ge($a: $t, $b: $t) -> bool { $cmp.is_ge() }),
            total!($cmpname($a: $t, $b: $t) -> i32 { $difference }),
        ]
    };
}

fn bpchar_difference(a: &[u8], b: &[u8]) -> i32 {
    byte_difference(trim_blanks(a), trim_blanks(b))
}

const TEXT: &[FnDef] = &[
    total!(texteq(a: &[u8], b: &[u8]) -> bool { a == b }),
    total!(textne(a: &[u8], b: &[u8]) -> bool { a != b }),
    total!(text_lt(a: &[u8], b: &[u8]) -> bool { a < b }),
    total!(text_le(a: &[u8], b: &[u8]) -> bool { a <= b }),
    total!(text_gt(a: &[u8], b: &[u8]) -> bool { a > b }),
    total!(text_ge(a: &[u8], b: &[u8]) -> bool { a >= b }),
    total!(bttextcmp(a: &[u8], b: &[u8]) -> i32 { byte_difference(a, b) }),
    total!(text_pattern_lt(a: &[u8], b: &[u8]) -> bool { a < b }),
    total!(text_pattern_le(a: &[u8], b: &[u8]) -> bool { a <= b }),
    total!(text_pattern_gt(a: &[u8], b: &[u8]) -> bool { a > b }),
    total!(text_pattern_ge(a: &[u8], b: &[u8]) -> bool { a >= b }),
    total!(bttext_pattern_cmp(a: &[u8], b: &[u8]) -> i32 { byte_difference(a, b) }),
    row!(text_larger(a: &Datum, b: &Datum) { if a.as_bytes() > b.as_bytes() { a } else { b } }),
    row!(text_smaller(a: &Datum, b: &Datum) { if a.as_bytes() < b.as_bytes() { a } else { b } }),
    row!(btequalimage(_type_oid: u32) { true }),
    raw!(btvarstrequalimage(cx, _args) {
        if !cx.call.collation.is_valid() {
            return Err(err!(
                INDETERMINATE_COLLATION,
                "could not determine which collation to use for string comparison"
            )
            .hint("Use the COLLATE clause to set the collation explicitly."));
        }
        Ok(Datum::Bool(true))
    }),
];

const NAME: &[FnDef] = compare!(&[u8], a, b => a.cmp(b), name_difference(a, b);
    nameeq namene namelt namele namegt namege btnamecmp);
const NAMETEXT: &[FnDef] = compare!(&[u8], a, b => a.cmp(b), byte_difference(a, b);
    nameeqtext namenetext namelttext nameletext namegttext namegetext btnametextcmp);
const TEXTNAME: &[FnDef] = compare!(&[u8], a, b => a.cmp(b), byte_difference(a, b);
    texteqname textnename textltname textlename textgtname textgename bttextnamecmp);
const BPCHAR: &[FnDef] = compare!(&[u8], a, b => compare_bpchar(a, b), bpchar_difference(a, b);
    bpchareq bpcharne bpcharlt bpcharle bpchargt bpcharge bpcharcmp);
const BYTEA: &[FnDef] = compare!(&[u8], a, b => a.cmp(b), byte_difference(a, b);
    byteaeq byteane bytealt byteale byteagt byteage byteacmp);
const UUID: &[FnDef] = compare!(&[u8], a, b => a.cmp(b), byte_difference(a, b);
    uuid_eq uuid_ne uuid_lt uuid_le uuid_gt uuid_ge uuid_cmp);

const BPCHAR_MORE: &[FnDef] = &[
    total!(bpchar_pattern_lt(a: &[u8], b: &[u8]) -> bool { compare_bpchar(a, b).is_lt() }),
    total!(bpchar_pattern_le(a: &[u8], b: &[u8]) -> bool { compare_bpchar(a, b).is_le() }),
    total!(bpchar_pattern_gt(a: &[u8], b: &[u8]) -> bool { compare_bpchar(a, b).is_gt() }),
    total!(bpchar_pattern_ge(a: &[u8], b: &[u8]) -> bool { compare_bpchar(a, b).is_ge() }),
    total!(btbpchar_pattern_cmp(a: &[u8], b: &[u8]) -> i32 { bpchar_difference(a, b) }),
    row!(bpchar_larger(a: &Datum, b: &Datum) {
        if compare_bpchar(a.as_bytes(), b.as_bytes()).is_ge() { a } else { b }
    }),
    row!(bpchar_smaller(a: &Datum, b: &Datum) {
        if compare_bpchar(a.as_bytes(), b.as_bytes()).is_le() { a } else { b }
    }),
    row!(bytea_larger(a: &Datum, b: &Datum) { if a.as_bytes() > b.as_bytes() { a } else { b } }),
    row!(bytea_smaller(a: &Datum, b: &Datum) { if a.as_bytes() < b.as_bytes() { a } else { b } }),
];

const CASTS: &[FnDef] = &[
    row!(bpchar(a: &str, typmod: i32, explicit: bool) {
        if typmod < 4 {
            return Ok(Datum::text(a));
        }
        forms::bpchar(a, typmod as usize - 4, explicit)
    }),
    row!(varchar(a: &str, typmod: i32, explicit: bool) {
        if typmod < 4 {
            return Ok(Datum::text(a));
        }
        forms::varchar(a, typmod as usize - 4, explicit)
    }),
    row!(char_bpchar(a: u8) { if a == 0 { Vec::new() } else { vec![a] } }),
    row!(char_text(a: u8) {
        let mut out = Vec::new();
        forms::char_out(a, &mut out);
        out
    }),
    row!(text_char(a: &str) { Datum::Char(forms::char_in(a)) }),
    row!(text_name(a: &str) { forms::name(a) }),
    row!(name_text(a: &[u8]) { a }),
    row!(name_bpchar(a: &[u8]) { a }),
    row!(bpchar_name(a: &str) { forms::name(a.trim_end_matches(' ')) }),
    // rtrim1 also serves the cast from char(n) to text.
    row!(nameconcatoid(a: &str, oid: u32) {
        let suffix = format!("_{oid}");
        let mut end = a.len().min(63 - suffix.len());
        while !a.is_char_boundary(end) {
            end -= 1;
        }
        format!("{}{suffix}", &a[..end])
    }),
];

const LENGTH: &[FnDef] = &[
    total!(textlen(a: &[u8]) -> i32 { char_len(a) as i32 }),
    total!(bpcharlen(a: &[u8]) -> i32 { char_len(trim_blanks(a)) as i32 }),
    total!(textoctetlen(a: &[u8]) -> i32 { a.len() as i32 }),
    total!(bpcharoctetlen(a: &[u8]) -> i32 { a.len() as i32 }),
    total!(byteaoctetlen(a: &[u8]) -> i32 { a.len() as i32 }),
    row!("1810"(a: &[u8]) { a.len() as i32 * 8 }),
    row!("1811"(a: &[u8]) { a.len() as i32 * 8 }),
    row!("1812"(a: &[u8]) { types::bits::bit_len(a) as i32 }),
];

const PIECES: &[FnDef] = &[
    FnDef {
        symbol: "textcat",
        row: |_, args| {
            let (a, b) = (args[0].as_bytes(), args[1].as_bytes());
            growth::made(a.len() + b.len())?;
            Ok(Datum::bytes([a, b].concat()))
        },
        batch: Some(|_, args, rows, out| {
            crate::kernel::joined_bytes(args, rows, out, |a, b, made| {
                growth::made(a.len() + b.len())?;
                made.extend_from_slice(a);
                made.extend_from_slice(b);
                Ok(())
            })
        }),
    },
    row!(text_substr(a: &str, from: i32, len: i32) {
        if len < 0 {
            bail!(SUBSTRING_ERROR, "negative substring length not allowed");
        }
        substring(a, from as i64, Some(len as i64))
    }),
    row!(text_substr_no_len(a: &str, from: i32) { substring(a, from as i64, None) }),
    row!(textoverlay(a: &str, b: &str, from: i32, len: i32) { overlay(a, b, from, len) }),
    row!(textoverlay_no_len(a: &str, b: &str, from: i32) {
        overlay(a, b, from, b.chars().count() as i32)
    }),
    row!(textpos(a: &str, b: &str) {
        if b.is_empty() {
            return Ok(Datum::I32(1));
        }
        match memchr::memmem::find(a.as_bytes(), b.as_bytes()) {
            Some(at) => char_len(&a.as_bytes()[..at]) as i32 + 1,
            None => 0,
        }
    }),
    row!(text_left(a: &str, n: i32) {
        let len = char_len(a.as_bytes()) as i64;
        let take = if n >= 0 { n as i64 } else { (len + n as i64).max(0) };
        &a[..char_index(a, take.min(len) as usize)]
    }),
    row!(text_right(a: &str, n: i32) {
        let len = char_len(a.as_bytes()) as i64;
        // The least number has no counterpart to skip by.
        let skip = if n >= 0 { (len - n as i64).max(0) } else { n.wrapping_neg().max(0) as i64 };
        &a[char_index(a, skip.min(len) as usize)..]
    }),
    row!(text_reverse(a: &str) { reverse(a) }),
    row!(text_starts_with(a: &[u8], b: &[u8]) { a.starts_with(b) }),
    row!(split_part(a: &str, delimiter: &str, n: i32) { split_part(a, delimiter, n) }),
    row!(replace_text(a: &str, from: &str, to: &str) {
        if from.is_empty() || a.is_empty() {
            return Ok(Datum::text(a));
        }
        replace(a.as_bytes(), from.as_bytes(), to.as_bytes())
    }),
    row!(translate(a: &str, from: &str, to: &str) { translate(a, from, to) }),
    row!(repeat(a: &str, n: i32) {
        let len = a.len() as i64 * n.max(0) as i64;
        if len > LENGTH_MAX {
            bail!(PROGRAM_LIMIT_EXCEEDED, "requested length too large");
        }
        interrupt::room(len as usize)?;
        a.repeat(n.max(0) as usize)
    }),
    row!(lpad(a: &str, n: i32, fill: &str) { pad(a, n, fill, true) }),
    row!("879"(a: &str, n: i32) { pad(a, n, " ", true) }),
    row!(rpad(a: &str, n: i32, fill: &str) { pad(a, n, fill, false) }),
    row!("880"(a: &str, n: i32) { pad(a, n, " ", false) }),
    row!(btrim(a: &str, set: &str) { trim(a, set, true, true) }),
    row!(ltrim(a: &str, set: &str) { trim(a, set, true, false) }),
    row!(rtrim(a: &str, set: &str) { trim(a, set, false, true) }),
    row!(btrim1(a: &str) { a.trim_matches(' ') }),
    row!(ltrim1(a: &str) { a.trim_start_matches(' ') }),
    row!(rtrim1(a: &str) { a.trim_end_matches(' ') }),
    row!(ascii(a: &str) { a.chars().next().map_or(0, |c| c as i32) }),
    row!(chr(n: i32) { chr(n) }),
];

const CASE: &[FnDef] = &[
    raw!(pg_collation_for(cx, args) { super::collated::collation_for(cx) }),
    raw!(any_value_transfn(cx, args) { Ok(args[0].clone()) }),
    row!(cx; upper(a: &str) { by_pieces(a, true, |a| letters(cx).upper(a)) }),
    row!(cx; lower(a: &str) { by_pieces(a, letters(cx).is_plain(), |a| letters(cx).lower(a)) }),
    row!(cx; casefold(a: &str) {
        by_pieces(a, letters(cx).is_plain(), |a| letters(cx).lower(a))
    }),
    row!(cx; initcap(a: &str) { by_pieces(a, false, |a| letters(cx).initcap(a)) }),
];

/// Longest text a function may make.
const LENGTH_MAX: i64 = growth::LENGTH_MAX as i64;

/// What letters are to the call's collation.
pub(crate) fn letters(cx: &FnCtx) -> Letters {
    match cx.call.collation.0 {
        0 | 950 | 951 => Letters::Ascii,
        100 => crate::collation::letters(cx.env.default_collation()),
        _ => crate::collation::letters(cx.call.collation),
    }
}

/// Characters from position `from` (counted from 1), `len` of them.
pub(crate) fn substring(a: &str, from: i64, len: Option<i64>) -> Result<&str> {
    let start = from.max(1) - 1;
    let end = match len {
        None => i64::MAX,
        Some(n) => (from + n - 1).max(0),
    };
    if end <= start {
        return Ok("");
    }
    Ok(slice_chars(a, start as usize, (end - start) as usize))
}

fn overlay(a: &str, b: &str, from: i32, len: i32) -> Result<String> {
    if from <= 0 {
        bail!(SUBSTRING_ERROR, "negative substring length not allowed");
    }
    let after = (from as i64 + len as i64).min(i32::MAX as i64);
    if from as i64 + len as i64 > i32::MAX as i64 {
        return Err(super::int::int4_range());
    }
    let head = substring(a, 1, Some(from as i64 - 1))?;
    let tail = substring(a, after, None)?;
    growth::made(head.len() + b.len() + tail.len())?;
    Ok([head, b, tail].concat())
}

fn reverse(a: &str) -> Result<String> {
    interrupt::room(a.len())?;
    let mut out = String::with_capacity(a.len());
    for c in a.chars().rev() {
        interrupt::step()?;
        out.push(c);
    }
    Ok(out)
}

fn replace(a: &[u8], from: &[u8], to: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(a.len());
    let mut at = 0;
    for found in memchr::memmem::find_iter(a, from) {
        interrupt::step()?;
        growth::append(&mut out, &a[at..found])?;
        growth::append(&mut out, to)?;
        at = found + from.len();
    }
    growth::append(&mut out, &a[at..])?;
    Ok(out)
}

fn translate(a: &str, from: &str, to: &str) -> Result<String> {
    let to: Vec<char> = to.chars().collect();
    let mut map: HashMap<char, Option<char>> = HashMap::new();
    for (i, c) in from.chars().enumerate() {
        interrupt::step()?;
        map.entry(c).or_insert_with(|| to.get(i).copied());
    }
    let mut out = String::with_capacity(a.len());
    for c in a.chars() {
        interrupt::step()?;
        match map.get(&c) {
            Some(Some(other)) => out.push(*other),
            Some(None) => {}
            None => out.push(c),
        }
    }
    Ok(out)
}

pub(super) fn split_part(a: &str, delimiter: &str, n: i32) -> Result<String> {
    if n == 0 {
        bail!(INVALID_PARAMETER_VALUE, "field position must not be zero");
    }
    if a.is_empty() {
        return Ok(String::new());
    }
    if delimiter.is_empty() {
        return Ok(if n == 1 || n == -1 { a.to_string() } else { String::new() });
    }
    let part = if n > 0 {
        a.split(delimiter).nth(n as usize - 1)
    } else {
        // Delimiters that overlap are told apart from the left here too.
        let parts: Vec<&str> = a.split(delimiter).collect();
        parts.len().checked_sub(n.unsigned_abs() as usize).map(|i| parts[i])
    };
    Ok(part.unwrap_or("").to_string())
}

fn pad(a: &str, n: i32, fill: &str, left: bool) -> Result<String> {
    let n = n.max(0) as usize;
    let have = char_len(a.as_bytes());
    if have >= n {
        return Ok(a[..char_index(a, n)].to_string());
    }
    if fill.is_empty() {
        return Ok(a.to_string());
    }
    if n as i64 * 4 > LENGTH_MAX {
        bail!(PROGRAM_LIMIT_EXCEEDED, "requested length too large");
    }
    // Whole repetitions, then the beginning of one.
    let each = char_len(fill.as_bytes());
    let missing = n - have;
    let rest = &fill[..char_index(fill, missing % each)];
    interrupt::room(a.len() + fill.len() * (missing / each))?;
    let filler = [&fill.repeat(missing / each), rest].concat();
    Ok(if left { format!("{filler}{a}") } else { format!("{a}{filler}") })
}

fn trim(a: &str, set: &str, left: bool, right: bool) -> Blob {
    let in_set = |c: char| set.contains(c);
    let a = if left { a.trim_start_matches(in_set) } else { a };
    let a = if right { a.trim_end_matches(in_set) } else { a };
    Blob::from(a)
}

fn chr(n: i32) -> Result<String> {
    if n == 0 {
        bail!(PROGRAM_LIMIT_EXCEEDED, "null character not permitted");
    }
    if n < 0 {
        bail!(INVALID_PARAMETER_VALUE, "character number must be positive");
    }
    if n > 0x0010_FFFF {
        bail!(PROGRAM_LIMIT_EXCEEDED, "requested character too large for encoding: {n}");
    }
    char::from_u32(n as u32).map(String::from).ok_or_else(|| {
        err!(PROGRAM_LIMIT_EXCEEDED, "requested character not valid for encoding: {n}")
    })
}

pub(super) const FNS: &[&[FnDef]] = &[
    TEXT,
    NAME,
    NAMETEXT,
    TEXTNAME,
    BPCHAR,
    BYTEA,
    UUID,
    BPCHAR_MORE,
    CASTS,
    LENGTH,
    PIECES,
    CASE,
];
