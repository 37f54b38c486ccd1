//! Regular expressions: operators and functions.

use super::chars::{char_index, char_len};
use super::regex::compile;
pub(crate) use super::regex::{Flags, Pattern, Spans};
use crate::call::{FnCtx, FnDef};
use crate::srf::{RowSource, Rows};
use base::{Result, bail, err};
use std::sync::Arc;
use types::array::{ElemType, make_vector};
use types::{Datum, oid};

/// Patterns compiled at this place.
#[derive(Default)]
struct Cached {
    entries: Vec<(String, Flags, Arc<Pattern>)>,
}

/// The compiled form of a pattern, kept at the calling place.
pub(crate) fn pattern(cx: &mut FnCtx, text: &str, flags: Flags) -> Result<Arc<Pattern>> {
    let flags = Flags { letters: super::text::letters(cx), ..flags };
    let cached = cx.state.get_or_try(|| Ok(Cached::default()))?;
    if let Some(found) = cached.entries.iter().find(|e| e.0 == text && e.1 == flags) {
        return Ok(Arc::clone(&found.2));
    }
    let fixed = matches!(cx.call.collation.0, 0 | 100 | 950 | 951);
    if !fixed && !crate::collation::collator(cx.call.collation)?.deterministic {
        bail!(
            FEATURE_NOT_SUPPORTED,
            "nondeterministic collations are not supported for regular expressions"
        );
    }
    let made = Arc::new(compile(text, flags)?);
    if cached.entries.len() >= 32 {
        cached.entries.remove(0);
    }
    cached.entries.push((text.to_string(), flags, Arc::clone(&made)));
    Ok(made)
}

/// The compiled form of a pattern, not kept.
pub(crate) fn compiled(text: &str, flags: Flags) -> Result<Pattern> {
    compile(text, flags)
}

fn matches(cx: &mut FnCtx, text: &str, p: &str, ignore_case: bool) -> Result<bool> {
    let flags = Flags { ignore_case, ..Flags::default() };
    pattern(cx, p, flags)?.is_match(text)
}

/// Reads option letters; `global` says whether `g` is allowed.
pub(crate) fn flags(text: &str, function: Option<&str>) -> Result<Flags> {
    let mut out = Flags::default();
    for c in text.chars() {
        match c {
            'g' => out.global = true,
            'b' => out.basic = true,
            'c' => out.ignore_case = false,
            'e' => out.extended = true,
            'i' => out.ignore_case = true,
            'm' | 'n' => (out.newline_stop, out.newline_anchor) = (true, true),
            'p' => (out.newline_stop, out.newline_anchor) = (true, false),
            'q' => out.quote = true,
            's' => (out.newline_stop, out.newline_anchor) = (false, false),
            't' => out.expanded = false,
            'w' => (out.newline_stop, out.newline_anchor) = (false, true),
            'x' => out.expanded = true,
            _ => bail!(INVALID_PARAMETER_VALUE, "invalid regular expression option: \"{c}\""),
        }
    }
    if let Some(name) = function
        && out.global
    {
        let e = err!(INVALID_PARAMETER_VALUE, "{name}() does not support the \"global\" option");
        return Err(if name == "regexp_match" {
            e.hint("Use the regexp_matches function instead.")
        } else {
            e
        });
    }
    Ok(out)
}

/// All matches from a byte offset: spans of the whole and of the groups.
pub(crate) fn find_all(p: &Pattern, text: &str, from: usize, global: bool) -> Result<Vec<Spans>> {
    let mut out = Vec::new();
    let mut at = from;
    let mut characters = None;
    while at <= text.len() {
        base::interrupt::step()?;
        let Some(spans) = p.captures_in(text, &mut characters, at)? else { break };
        let (start, end) = spans[0].unwrap_or((at, at));
        out.push(spans);
        if !global {
            break;
        }
        // After an empty match the search goes on at the next character.
        at = if end == start {
            end + text[end..].chars().next().map_or(1, char::len_utf8)
        } else {
            end
        };
    }
    Ok(out)
}

fn group_array(text: &str, spans: &Spans) -> Result<Datum> {
    let piece = |s: &Option<(usize, usize)>| match s {
        Some((a, b)) => Datum::text(&text[*a..*b]),
        None => Datum::Null,
    };
    let values: Vec<Datum> = if spans.len() == 1 {
        spans.iter().map(piece).collect()
    } else {
        spans[1..].iter().map(piece).collect()
    };
    make_vector(&ElemType::builtin(oid::TEXT), &values)
}

fn regexp_match(cx: &mut FnCtx, args: &[Datum]) -> Result<Datum> {
    let f = flags(args.get(2).map_or("", Datum::as_str), Some("regexp_match"))?;
    let p = pattern(cx, args[1].as_str(), f)?;
    let text = args[0].as_str();
    match find_all(&p, text, 0, false)?.first() {
        Some(spans) => group_array(text, spans),
        None => Ok(Datum::Null),
    }
}

/// Rows of `regexp_matches`.
pub(crate) fn matches_rows(cx: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    let f = flags(args.get(2).map_or("", Datum::as_str), None)?;
    let global = f.global;
    let p = pattern(cx, args[1].as_str(), Flags { global: false, ..f })?;
    let text = args[0].as_str();
    let rows = find_all(&p, text, 0, global)?
        .iter()
        .map(|s| group_array(text, s))
        .collect::<Result<Vec<_>>>()?;
    Ok(Rows::single(rows))
}

fn split(cx: &mut FnCtx, args: &[Datum], name: &str) -> Result<Vec<Datum>> {
    let f = flags(args.get(2).map_or("", Datum::as_str), Some(name))?;
    let p = pattern(cx, args[1].as_str(), f)?;
    let text = args[0].as_str();
    let mut out = Vec::new();
    let mut last = 0;
    for spans in find_all(&p, text, 0, true)? {
        base::interrupt::step()?;
        let (start, end) = spans[0].unwrap_or((0, 0));
        // Empty matches at either end or right after the last piece split nothing.
        if start == end && (start == last && start == 0 || start >= text.len() || end == 0) {
            continue;
        }
        if start == end && start == last {
            continue;
        }
        out.push(Datum::text(&text[last..start]));
        last = end;
    }
    out.push(Datum::text(&text[last..]));
    Ok(out)
}

/// Rows of `regexp_split_to_table`.
pub(crate) fn split_rows(cx: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    split(cx, args, "regexp_split_to_table").map(Rows::single)
}

/// Appends the replacement for one match: `\1` to `\9`, `\&`, `\\`.
fn append_replacement(text: &str, spans: &Spans, with: &str, out: &mut String) {
    let mut chars = with.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(d @ '1'..='9') => {
                let group = d as usize - '0' as usize;
                if let Some(Some((a, b))) = spans.get(group) {
                    out.push_str(&text[*a..*b]);
                }
            }
            Some('&') => {
                if let Some(Some((a, b))) = spans.first() {
                    out.push_str(&text[*a..*b]);
                }
            }
            Some('\\') => out.push('\\'),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => out.push('\\'),
        }
    }
}

/// Replaces the `n`th match from a byte offset, or all of them if `n` is 0.
fn replace(p: &Pattern, text: &str, with: &str, from: usize, n: usize) -> Result<String> {
    let all = find_all(p, text, from, n != 1)?;
    let chosen: Vec<&Spans> = match n {
        0 => all.iter().collect(),
        n => all.get(n - 1).into_iter().collect(),
    };
    let mut out = String::with_capacity(text.len());
    let mut last = 0;
    for spans in chosen {
        base::interrupt::step()?;
        let (start, end) = spans[0].unwrap_or((0, 0));
        out.push_str(&text[last..start]);
        append_replacement(text, spans, with, &mut out);
        last = end;
    }
    out.push_str(&text[last..]);
    Ok(out)
}

fn positive(value: &Datum, name: &str, least: i32) -> Result<usize> {
    let n = value.as_i32();
    if n < least {
        bail!(INVALID_PARAMETER_VALUE, "invalid value for parameter \"{name}\": {n}");
    }
    Ok(n as usize)
}

/// Byte offset of a start parameter; None if it is past the end.
fn start_of(text: &str, value: Option<&Datum>) -> Result<Option<usize>> {
    let Some(value) = value else { return Ok(Some(0)) };
    let n = positive(value, "start", 1)?;
    if n > char_len(text.as_bytes()) + 1 {
        return Ok(None);
    }
    Ok(Some(char_index(text, n - 1)))
}

fn replace_simple(cx: &mut FnCtx, args: &[Datum]) -> Result<String> {
    let option = args.get(3).map_or("", Datum::as_str);
    if option.starts_with(|c: char| c.is_ascii_digit()) {
        let word: String = option.chars().take(1).collect();
        return Err(err!(INVALID_PARAMETER_VALUE, "invalid regular expression option: \"{word}\"")
            .hint(
                "If you meant to use regexp_replace() with a start parameter, cast the fourth \
             argument to integer explicitly.",
            ));
    }
    let f = flags(option, None)?;
    let global = f.global;
    let p = pattern(cx, args[1].as_str(), Flags { global: false, ..f })?;
    replace(&p, args[0].as_str(), args[2].as_str(), 0, if global { 0 } else { 1 })
}

fn replace_extended(cx: &mut FnCtx, args: &[Datum]) -> Result<String> {
    let text = args[0].as_str();
    let from = start_of(text, args.get(3))?;
    let n = args.get(4).map(|n| positive(n, "n", 0)).transpose()?;
    let f = flags(args.get(5).map_or("", Datum::as_str), None)?;
    let n = n.unwrap_or(if f.global { 0 } else { 1 });
    let p = pattern(cx, args[1].as_str(), Flags { global: false, ..f })?;
    match from {
        Some(from) => replace(&p, text, args[2].as_str(), from, n),
        None => Ok(text.to_string()),
    }
}

fn count(cx: &mut FnCtx, args: &[Datum]) -> Result<i32> {
    let text = args[0].as_str();
    let from = start_of(text, args.get(2))?;
    let f = flags(args.get(3).map_or("", Datum::as_str), Some("regexp_count"))?;
    let p = pattern(cx, args[1].as_str(), f)?;
    match from {
        Some(from) => Ok(find_all(&p, text, from, true)?.len() as i32),
        None => Ok(0),
    }
}

/// The span of a match's group: for `regexp_substr` and `regexp_instr`.
fn nth_span(
    cx: &mut FnCtx,
    args: &[Datum],
    flags_at: usize,
    subexpr_at: usize,
    name: &str,
) -> Result<Option<(usize, usize)>> {
    let text = args[0].as_str();
    let from = start_of(text, args.get(2))?;
    let n = args.get(3).map_or(Ok(1), |n| positive(n, "n", 1))?;
    if name == "regexp_instr" {
        end_option(args)?;
    }
    let group = args.get(subexpr_at).map_or(Ok(0), |g| positive(g, "subexpr", 0))?;
    let f = flags(args.get(flags_at).map_or("", Datum::as_str), Some(name))?;
    let p = pattern(cx, args[1].as_str(), f)?;
    let Some(from) = from else { return Ok(None) };
    let all = find_all(&p, text, from, true)?;
    Ok(all.get(n - 1).and_then(|s| s.get(group).copied().flatten()))
}

fn substr(cx: &mut FnCtx, args: &[Datum]) -> Result<Datum> {
    let span = nth_span(cx, args, 4, 5, "regexp_substr")?;
    Ok(span.map_or(Datum::Null, |(a, b)| Datum::text(&args[0].as_str()[a..b])))
}

/// Whether `regexp_instr` answers the start (0) or the end (1).
fn end_option(args: &[Datum]) -> Result<i32> {
    match args.get(4).map_or(0, Datum::as_i32) {
        n @ (0 | 1) => Ok(n),
        n => Err(err!(INVALID_PARAMETER_VALUE, "invalid value for parameter \"endoption\": {n}")),
    }
}

fn instr(cx: &mut FnCtx, args: &[Datum]) -> Result<i32> {
    let span = nth_span(cx, args, 5, 6, "regexp_instr")?;
    let end = end_option(args)?;
    let text = args[0].as_bytes();
    Ok(span.map_or(0, |(a, b)| char_len(&text[..if end == 1 { b } else { a }]) as i32 + 1))
}

/// `substring(text from pattern)`: the first group, or the whole match.
fn substring(cx: &mut FnCtx, text: &str, p: &str) -> Result<Datum> {
    let p = pattern(cx, p, Flags::default())?;
    Ok(match p.captures_at(text, 0)? {
        Some(spans) => {
            let span = if spans.len() > 1 { spans[1] } else { spans[0] };
            span.map_or(Datum::Null, |(a, b)| Datum::text(&text[a..b]))
        }
        None => Datum::Null,
    })
}

/// Rewrites a SIMILAR TO pattern as a regular expression.
fn similar(p: &str, escape: Option<&str>) -> Result<String> {
    let escape = match escape {
        None => Some('\\'),
        Some("") => None,
        Some(e) => {
            let mut chars = e.chars();
            let first = chars.next();
            if chars.next().is_some() {
                return Err(err!(INVALID_ESCAPE_SEQUENCE, "invalid escape string")
                    .hint("Escape string must be empty or one character."));
            }
            first
        }
    };
    let mut out = String::from("^(?:");
    let mut quotes = 0;
    // How many brackets are open: named classes and nested ones count too.
    let mut class = 0;
    let mut chars = p.chars().peekable();
    let mut class_start = 0;
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            match chars.next() {
                Some('"') if class == 0 => {
                    // The part between two marks is what substring() takes out.
                    quotes += 1;
                    match quotes {
                        1 => out.push_str("){1,1}?("),
                        2 => out.push_str("){1,1}(?:"),
                        _ => bail!(
                            INVALID_USE_OF_ESCAPE_CHARACTER,
                            "SQL regular expression may not contain more than two escape-double-quote separators"
                        ),
                    }
                }
                Some(n) => {
                    out.push('\\');
                    out.push(n);
                }
                None => bail!(INVALID_ESCAPE_SEQUENCE, "invalid escape sequence"),
            }
            class_start = 0;
            continue;
        }
        if class > 0 {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
            match c {
                ']' if class_start == 0 => class -= 1,
                '[' => class += 1,
                _ => {}
            }
            // A bracket is a plain one right after the opening, and after its `^`.
            class_start = match (class_start, c) {
                (1, '^') => 2,
                _ => 0,
            };
            continue;
        }
        match c {
            '[' => {
                out.push('[');
                class = 1;
                class_start = 1;
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '\\' | '.' | '^' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push_str(")$");
    Ok(out)
}

const OPERATORS: &[FnDef] = &[
    row!(cx; textregexeq(a: &str, p: &str) { matches(cx, a, p, false) }),
    row!(cx; textregexne(a: &str, p: &str) { matches(cx, a, p, false).map(|m| !m) }),
    row!(cx; texticregexeq(a: &str, p: &str) { matches(cx, a, p, true) }),
    row!(cx; texticregexne(a: &str, p: &str) { matches(cx, a, p, true).map(|m| !m) }),
    row!(cx; nameregexeq(a: &str, p: &str) { matches(cx, a, p, false) }),
    row!(cx; nameregexne(a: &str, p: &str) { matches(cx, a, p, false).map(|m| !m) }),
    row!(cx; nameicregexeq(a: &str, p: &str) { matches(cx, a, p, true) }),
    row!(cx; nameicregexne(a: &str, p: &str) { matches(cx, a, p, true).map(|m| !m) }),
];

const FUNCTIONS: &[FnDef] = &[
    raw!(regexp_match(cx, args) { regexp_match(cx, args) }),
    raw!(regexp_match_no_flags(cx, args) { regexp_match(cx, args) }),
    raw!(regexp_like(cx, args) {
        let f = flags(args.get(2).map_or("", Datum::as_str), Some("regexp_like"))?;
        pattern(cx, args[1].as_str(), f)?.is_match(args[0].as_str())?
    }),
    raw!(regexp_like_no_flags(cx, args) { matches(cx, args[0].as_str(), args[1].as_str(), false) }),
    raw!(regexp_split_to_array(cx, args) {
        let parts = split(cx, args, "regexp_split_to_array")?;
        make_vector(&ElemType::builtin(oid::TEXT), &parts)
    }),
    raw!(regexp_split_to_array_no_flags(cx, args) {
        let parts = split(cx, args, "regexp_split_to_array")?;
        make_vector(&ElemType::builtin(oid::TEXT), &parts)
    }),
    raw!(textregexreplace_noopt(cx, args) { replace_simple(cx, args) }),
    raw!(textregexreplace(cx, args) { replace_simple(cx, args) }),
    raw!(textregexreplace_extended(cx, args) { replace_extended(cx, args) }),
    raw!(textregexreplace_extended_no_flags(cx, args) { replace_extended(cx, args) }),
    raw!(textregexreplace_extended_no_n(cx, args) { replace_extended(cx, args) }),
    raw!(regexp_count(cx, args) { count(cx, args) }),
    raw!(regexp_count_no_start(cx, args) { count(cx, args) }),
    raw!(regexp_count_no_flags(cx, args) { count(cx, args) }),
    raw!(regexp_instr(cx, args) { instr(cx, args) }),
    raw!(regexp_instr_no_start(cx, args) { instr(cx, args) }),
    raw!(regexp_instr_no_n(cx, args) { instr(cx, args) }),
    raw!(regexp_instr_no_endoption(cx, args) { instr(cx, args) }),
    raw!(regexp_instr_no_flags(cx, args) { instr(cx, args) }),
    raw!(regexp_instr_no_subexpr(cx, args) { instr(cx, args) }),
    raw!(regexp_substr(cx, args) { substr(cx, args) }),
    raw!(regexp_substr_no_start(cx, args) { substr(cx, args) }),
    raw!(regexp_substr_no_n(cx, args) { substr(cx, args) }),
    raw!(regexp_substr_no_flags(cx, args) { substr(cx, args) }),
    raw!(regexp_substr_no_subexpr(cx, args) { substr(cx, args) }),
    row!(cx; textregexsubstr(a: &str, p: &str) { substring(cx, a, p) }),
    row!(cx; "2074"(a: &str, p: &str, e: &str) {
        let p = similar(p, Some(e))?;
        substring(cx, a, &p)
    }),
    row!(similar_to_escape_1(p: &str) { similar(p, None) }),
    row!(similar_to_escape_2(p: &str, e: &str) { similar(p, Some(e)) }),
    raw!(similar_escape(cx, args) {
        if args[0].is_null() {
            return Ok(Datum::Null);
        }
        let e = args.get(1).filter(|e| !e.is_null()).map(Datum::as_str);
        similar(args[0].as_str(), e)
    }),
];

pub(super) const FNS: &[&[FnDef]] = &[OPERATORS, FUNCTIONS];
