//! LIKE, ILIKE and their kernels.

use super::text::letters;
use crate::call::{FnCtx, FnDef};
use base::{Error, Result, err};
use types::Datum;

#[cold]
fn bad_escape() -> Error {
    err!(INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character")
}

/// A pattern, sorted into the shapes that have a quick search.
enum Pattern {
    Exact(Vec<u8>),
    Prefix(Vec<u8>),
    Suffix(Vec<u8>),
    Contains(memchr::memmem::Finder<'static>),
    General(Vec<u8>),
}

/// The pattern's parts between `%`, unescaped, if it has no `_`.
fn parts(pattern: &[u8]) -> Result<Option<Vec<Vec<u8>>>> {
    let mut out = vec![Vec::new()];
    let mut bytes = pattern.iter();
    while let Some(b) = bytes.next() {
        match b {
            b'%' => out.push(Vec::new()),
            b'_' => return Ok(None),
            b'\\' => match bytes.next() {
                Some(c) => out.last_mut().unwrap_or(&mut Vec::new()).push(*c),
                None => return Ok(None),
            },
            c => {
                if let Some(last) = out.last_mut() {
                    last.push(*c);
                }
            }
        }
    }
    Ok(Some(out))
}

impl Pattern {
    fn new(pattern: &[u8]) -> Result<Pattern> {
        let general = || Pattern::General(pattern.to_vec());
        let Some(mut parts) = parts(pattern)? else { return Ok(general()) };
        let middle_empty = parts[1..parts.len().max(2) - 1].iter().all(Vec::is_empty);
        Ok(match parts.len() {
            1 => Pattern::Exact(parts.remove(0)),
            n if parts[n - 1].is_empty() && middle_empty => Pattern::Prefix(parts.remove(0)),
            n if parts[0].is_empty() && middle_empty => Pattern::Suffix(parts.remove(n - 1)),
            3 if parts[0].is_empty() && parts[2].is_empty() => {
                Pattern::Contains(memchr::memmem::Finder::new(&parts[1]).into_owned())
            }
            _ => general(),
        })
    }

    fn matches(&self, text: &[u8]) -> Result<bool> {
        Ok(match self {
            Pattern::Exact(p) => text == p,
            Pattern::Prefix(p) => text.starts_with(p),
            Pattern::Suffix(p) => text.ends_with(p),
            Pattern::Contains(finder) => finder.find(text).is_some(),
            Pattern::General(p) => like(text, p)?,
        })
    }
}

fn next_char(text: &[u8]) -> usize {
    1 + text[1..].iter().take_while(|b| (**b as i8) < -0x40).count()
}

/// Matches text against a pattern with `%`, `_` and backslash escapes.
pub(crate) fn like(text: &[u8], pattern: &[u8]) -> Result<bool> {
    let (mut t, mut p) = (0, 0);
    // Where to go on after the last `%`: its place in the pattern and the text taken by it.
    let mut back: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            Some(b'%') => {
                p += 1;
                back = Some((p, t));
                continue;
            }
            Some(b'_') if t < text.len() => {
                t += next_char(&text[t..]);
                p += 1;
                true
            }
            Some(b'\\') => match pattern.get(p + 1) {
                None => return Err(bad_escape()),
                Some(c) if text.get(t) == Some(c) => {
                    t += 1;
                    p += 2;
                    true
                }
                Some(_) => false,
            },
            Some(c) if text.get(t) == Some(c) => {
                t += 1;
                p += 1;
                true
            }
            None if t == text.len() => return Ok(true),
            _ => false,
        };
        if !step {
            match &mut back {
                Some((at, from)) if *from < text.len() => {
                    *from += next_char(&text[*from..]);
                    (t, p) = (*from, *at);
                }
                _ => return Ok(false),
            }
        }
    }
}

/// The pattern of this place, made anew if it changed.
struct Cached {
    source: Vec<u8>,
    pattern: Pattern,
}

fn cached_like(cx: &mut FnCtx, text: &[u8], pattern: &[u8]) -> Result<bool> {
    if cx.state.get::<Cached>().is_none_or(|c| c.source != pattern) {
        let made = Cached { source: pattern.to_vec(), pattern: Pattern::new(pattern)? };
        cx.state.set(made);
    }
    match cx.state.get::<Cached>() {
        Some(c) => c.pattern.matches(text),
        None => Ok(false),
    }
}

fn ilike(cx: &mut FnCtx, text: &str, pattern: &str) -> Result<bool> {
    let letters = letters(cx);
    let (text, pattern) = (letters.lower(text), letters.lower(pattern));
    cached_like(cx, text.as_bytes(), pattern.as_bytes())
}

/// Bytes match bytes: `_` is any one byte.
fn bytea_like(text: &[u8], pattern: &[u8]) -> Result<bool> {
    // Each byte is taken as a character of its own by mapping to code points up to 255.
    let wide = |b: &[u8]| b.iter().map(|c| *c as char).collect::<String>();
    like(wide(text).as_bytes(), wide(pattern).as_bytes())
}

/// Rewrites a pattern so that backslash is its escape character.
fn like_escape(pattern: &str, escape: &str) -> Result<String> {
    let mut chars = escape.chars();
    let (first, more) = (chars.next(), chars.next());
    if more.is_some() {
        return Err(err!(INVALID_ESCAPE_SEQUENCE, "invalid escape string")
            .hint("Escape string must be empty or one character."));
    }
    let Some(escape) = first else { return Ok(pattern.replace('\\', "\\\\")) };
    if escape == '\\' {
        return Ok(pattern.to_string());
    }
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut after = false;
    for c in pattern.chars() {
        if c == escape && !after {
            out.push('\\');
            after = true;
        } else if c == '\\' {
            out.push('\\');
            if !after {
                out.push('\\');
            }
            after = false;
        } else {
            out.push(c);
            after = false;
        }
    }
    Ok(out)
}

const LIST: &[FnDef] = &[
    row!(cx; textlike(a: &[u8], p: &[u8]) { cached_like(cx, a, p) }),
    row!(cx; textnlike(a: &[u8], p: &[u8]) { cached_like(cx, a, p).map(|m| !m) }),
    row!(cx; namelike(a: &[u8], p: &[u8]) { cached_like(cx, a, p) }),
    row!(cx; namenlike(a: &[u8], p: &[u8]) { cached_like(cx, a, p).map(|m| !m) }),
    row!(bytealike(a: &[u8], p: &[u8]) { bytea_like(a, p) }),
    row!(byteanlike(a: &[u8], p: &[u8]) { bytea_like(a, p).map(|m| !m) }),
    row!(cx; texticlike(a: &str, p: &str) { ilike(cx, a, p) }),
    row!(cx; texticnlike(a: &str, p: &str) { ilike(cx, a, p).map(|m| !m) }),
    row!(cx; nameiclike(a: &str, p: &str) { ilike(cx, a, p) }),
    row!(cx; nameicnlike(a: &str, p: &str) { ilike(cx, a, p).map(|m| !m) }),
    row!(like_escape(p: &str, e: &str) { like_escape(p, e) }),
    row!(like_escape_bytea(p: &Datum, e: &[u8]) {
        match e {
            [b'\\'] => Ok(p.clone()),
            [] => Ok(Datum::bytes(escape_bytes(p.as_bytes(), None))),
            [c] => Ok(Datum::bytes(escape_bytes(p.as_bytes(), Some(*c)))),
            _ => Err(err!(INVALID_ESCAPE_SEQUENCE, "invalid escape string")
                .hint("Escape string must be empty or one character.")),
        }
    }),
];

/// A pattern of bytes with another escape character, as one with backslashes.
fn escape_bytes(pattern: &[u8], escape: Option<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(pattern.len() + 4);
    let mut bytes = pattern.iter();
    while let Some(b) = bytes.next() {
        match b {
            b if Some(*b) == escape => {
                out.push(b'\\');
                out.extend(bytes.next());
            }
            b'\\' => out.extend_from_slice(b"\\\\"),
            b => out.push(*b),
        }
    }
    out
}

/// The batch kernel of LIKE with a pattern that is the same for all rows.
fn like_batch(
    cx: &mut FnCtx,
    args: &[crate::Arg],
    rows: crate::Rows,
    out: &mut types::ColumnBuilder,
    want: bool,
) -> Result<()> {
    if let crate::Arg::Const(Datum::Bytes(p)) = args[1] {
        let pattern = Pattern::new(p)?;
        return crate::kernel::unary(&args[..1], rows, out, |text: &[u8]| -> Result<bool> {
            pattern.matches(text).map(|m| m == want)
        });
    }
    let _ = cx;
    crate::kernel::binary(args, rows, out, |text: &[u8], p: &[u8]| -> Result<bool> {
        like(text, p).map(|m| m == want)
    })
}

const BATCHED: &[FnDef] = &[
    FnDef { batch: Some(|cx, a, r, o| like_batch(cx, a, r, o, true)), ..LIST[0] },
    FnDef { batch: Some(|cx, a, r, o| like_batch(cx, a, r, o, false)), ..LIST[1] },
    FnDef { batch: Some(|cx, a, r, o| like_batch(cx, a, r, o, true)), ..LIST[2] },
    FnDef { batch: Some(|cx, a, r, o| like_batch(cx, a, r, o, false)), ..LIST[3] },
];

pub(super) const FNS: &[&[FnDef]] = &[BATCHED, LIST.split_at(4).1];
