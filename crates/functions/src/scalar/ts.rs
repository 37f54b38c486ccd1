//! Full-text search: documents, queries, matching, ranking.

use super::ts_parse::parse;
use super::ts_rewrite::Rewriter;
use crate::call::{FnCtx, FnDef};
use crate::srf::{RowSource, Rows};
use crate::ts::Lexer;
use base::{Error, Oid, Result, bail, err};
use types::array::{ElemType, make_vector};
use types::json::Json;
use types::ts::{
    Lexeme, POSITION_MAX, Piece, TsQuery, TsVector, WEIGHTS, parse_query, parse_query_with,
};
use types::{Datum, oid};

pub(super) fn vector(d: &Datum) -> TsVector {
    TsVector::decode(d.as_bytes())
}

fn stored(v: &TsVector) -> Result<Datum> {
    let bytes = v.encode();
    if bytes.len() > 1 << 20 {
        bail!(
            PROGRAM_LIMIT_EXCEEDED,
            "string is too long for tsvector ({} bytes, max {} bytes)",
            bytes.len(),
            (1 << 20) - 1
        );
    }
    Ok(Datum::bytes(bytes))
}

pub(super) fn query(d: &Datum) -> Result<Option<TsQuery>> {
    parse_query(d.as_str())
}

pub(super) fn shown(q: Option<TsQuery>) -> Datum {
    Datum::string(q.map_or(String::new(), |q| q.to_string()))
}

/// The configuration given, or that of the session.
fn config(cx: &FnCtx, given: Option<&Datum>) -> Result<Oid> {
    match given {
        Some(d) => Ok(d.as_oid()),
        None => {
            let name = cx.env.setting("default_text_search_config");
            let name = name.unwrap_or_else(|| "pg_catalog.simple".to_string());
            cx.env.catalog().types().reg_in(oid::REGCONFIG, &name)
        }
    }
}

/// What makes lexemes by the configuration given, or that of the session.
pub(super) fn lexer<'e>(cx: &FnCtx<'e>, given: Option<&Datum>) -> Result<Lexer<'e>> {
    Lexer::new(cx.env, config(cx, given)?)
}

/// Adds the lexemes of a text after what is there, counting places on from `place`.
fn add_text(lexer: &mut Lexer, text: &str, place: &mut u32, out: &mut Vec<Lexeme>) -> Result<()> {
    for found in lexer.lexemes(text, place)? {
        let at = found.place.min(POSITION_MAX as u32) as u16;
        out.push(Lexeme { word: found.norm.word, positions: vec![(at, 0)] });
    }
    Ok(())
}

fn to_vector(mut lexer: Lexer, text: &str) -> Result<Datum> {
    let (mut place, mut out) = (0, Vec::new());
    add_text(&mut lexer, text, &mut place, &mut out)?;
    made(out)
}

/// A vector that is made of a text: it remembers a place less of a word than one that is read.
fn made(lexemes: Vec<Lexeme>) -> Result<Datum> {
    let mut vector = TsVector::new(lexemes);
    vector.lexemes.iter_mut().for_each(|l| l.positions.truncate(255));
    stored(&vector)
}

/// The parts of a qualified name, in small letters where they are not quoted; none if it is not
/// one.
fn identifiers(text: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    let mut rest = text.trim_ascii();
    loop {
        let part;
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut end = quoted.find('"')?;
            while quoted[end + 1..].starts_with('"') {
                end += 2 + quoted[end + 2..].find('"')?;
            }
            part = quoted[..end].replace("\"\"", "\"");
            rest = &quoted[end + 1..];
        } else {
            let end = rest.find(|c: char| c == '.' || c.is_ascii_whitespace());
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            part = word.to_ascii_lowercase();
            if part.is_empty() {
                return None;
            }
            rest = after;
        }
        out.push(types::io::bytes::name(&part).to_string());
        rest = rest.trim_ascii_start();
        match rest.strip_prefix('.') {
            Some(after) => rest = after.trim_ascii_start(),
            None if rest.is_empty() => return Some(out),
            None => return None,
        }
    }
}

/// A name as it is written where case and dots count.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// There is one parser.
pub(crate) fn check_parser(cx: &FnCtx, given: &Datum) -> Result<()> {
    let Datum::Bytes(name) = given else {
        return match given.to_i64() {
            3722 => Ok(()),
            oid => bail!(INTERNAL_ERROR, "cache lookup failed for text search parser {oid}"),
        };
    };
    let text = String::from_utf8_lossy(name);
    let parts = identifiers(&text).ok_or_else(|| err!(INVALID_NAME, "invalid name syntax"))?;
    let shown = parts.join(".");
    let schema = match parts.as_slice() {
        [_] => None,
        [schema, _] => Some(schema),
        [database, schema, _] => match cx.env.catalog().database_name(cx.env.database()) {
            Some(own) if own == *database => Some(schema),
            _ => bail!(
                FEATURE_NOT_SUPPORTED,
                "cross-database references are not implemented: {shown}"
            ),
        },
        _ => bail!(SYNTAX_ERROR, "improper qualified name (too many dotted names): {shown}"),
    };
    if let Some(schema) = schema
        && cx.env.catalog().types().reg_in(oid::REGNAMESPACE, &quoted(schema)).is_err()
    {
        bail!(INVALID_SCHEMA_NAME, "schema \"{schema}\" does not exist");
    }
    match parts.last() {
        Some(name) if name == "default" && schema.is_none_or(|s| s == "pg_catalog") => Ok(()),
        _ => Err(err!(UNDEFINED_OBJECT, "text search parser \"{shown}\" does not exist")),
    }
}

/// The rows of `ts_parse`: number of the token's type, and the token.
pub(crate) fn parse_rows(cx: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    check_parser(cx, &args[0])?;
    let row = |t: super::ts_parse::Token| vec![Datum::I32(t.kind as i32), Datum::text(t.text)];
    Ok(Rows::new(parse(args[1].as_str())?.into_iter().map(row).collect()))
}

/// What a dictionary makes of a word: an array, empty for a stop word; NULL if it knows it not.
fn lexize(cx: &FnCtx, dictionary: u32, word: &str) -> Result<Datum> {
    let Some(norms) = cx.env.ts_dictionary(Oid(dictionary))?.lexize(word) else {
        return Ok(Datum::Null);
    };
    let found: Vec<Datum> = norms.iter().map(|n| Datum::text(&n.word)).collect();
    make_vector(&ElemType::builtin(oid::TEXT), &found)
}

/// Which values of a JSON document count.
#[derive(Default, Clone, Copy)]
struct Parts {
    keys: bool,
    strings: bool,
    numbers: bool,
    booleans: bool,
}

fn json_texts(json: &Json, parts: Parts, out: &mut Vec<String>) {
    match json {
        Json::String(s) if parts.strings => out.push(s.clone()),
        Json::Number(n) if parts.numbers => {
            let mut text = Vec::new();
            n.write(&mut text);
            out.push(String::from_utf8(text).unwrap_or_default());
        }
        Json::Bool(b) if parts.booleans => out.push(b.to_string()),
        Json::Array(items) => items.iter().for_each(|i| json_texts(i, parts, out)),
        Json::Object(members) => {
            for (key, value) in members {
                if parts.keys {
                    out.push(key.clone());
                }
                json_texts(value, parts, out);
            }
        }
        _ => {}
    }
}

fn json_vector(mut lexer: Lexer, json: &Json, parts: Parts) -> Result<Datum> {
    let mut texts = Vec::new();
    json_texts(json, parts, &mut texts);
    let (mut place, mut out) = (0, Vec::new());
    for text in texts {
        let before = out.len();
        add_text(&mut lexer, &text, &mut place, &mut out)?;
        // A gap between values, so that phrases do not reach from one into the next.
        if out.len() > before {
            place += 1;
        }
    }
    made(out)
}

fn parts_of(filter: &Datum) -> Result<Parts> {
    let json = types::json::decode(filter.as_bytes());
    let words = match json {
        Json::Array(items) => items,
        word if word.is_scalar() => vec![word],
        _ => bail!(INVALID_PARAMETER_VALUE, "wrong flag type, only arrays and scalars are allowed"),
    };
    let mut out = Parts::default();
    for word in words {
        if !word.is_scalar() {
            bail!(INTERNAL_ERROR, "unexpected end of flag array");
        }
        let Json::String(word) = word else {
            return Err(err!(INVALID_PARAMETER_VALUE, "flag array element is not a string").hint(
                "Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".",
            ));
        };
        match word.to_ascii_lowercase().as_str() {
            "all" => out = Parts { keys: true, strings: true, numbers: true, booleans: true },
            "key" => out.keys = true,
            "string" => out.strings = true,
            "numeric" => out.numbers = true,
            "boolean" => out.booleans = true,
            _ => {
                return Err(err!(INVALID_PARAMETER_VALUE, "wrong flag in flag array: \"{word}\"")
                    .hint(
                        "Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \
                     \"all\".",
                    ));
            }
        }
    }
    Ok(out)
}

const STRINGS: Parts = Parts { keys: false, strings: true, numbers: false, booleans: false };

/// How the words of a text are put together.
type Join = fn(Piece, Piece) -> Piece;

const AND: Join = Piece::and;
const NEXT: Join = |a, b| a.phrase(1, b);

/// The words of a text joined by `join`; stop words between them count as words that were dropped.
fn joined(
    lexer: &mut Lexer,
    text: &str,
    (weights, prefix): (u8, bool),
    join: Join,
) -> Result<Piece> {
    let placed = lexer.lexemes(text, &mut 0)?;
    let mut out: Option<Piece> = None;
    let mut last = 0;
    for group in placed.chunk_by(|a, b| a.place == b.place) {
        let place = group[0].place;
        while last > 0 && last + 1 < place {
            out = out.map(|piece| join(piece, Piece::dropped()));
            last += 1;
        }
        last = place;
        let mut variants: Option<Piece> = None;
        for variant in group.chunk_by(|a, b| a.norm.variant == b.norm.variant) {
            let word = |p: &crate::ts::Placed| {
                let (word, prefix) = (p.norm.word.clone(), prefix || p.norm.prefix);
                Piece::from(TsQuery::Word { word, weights, prefix })
            };
            let Some(all) = variant.iter().map(word).reduce(Piece::and) else { continue };
            variants = Some(match variants {
                Some(before) => before.or(all),
                None => all,
            });
        }
        let Some(variants) = variants else { continue };
        out = Some(match out {
            Some(before) => join(before, variants),
            None => variants,
        });
    }
    Ok(out.unwrap_or_default())
}

/// The query that is left, with a notice if none is.
fn noted(cx: &FnCtx, piece: Piece, text: &str) -> Datum {
    if piece.query.is_none() {
        cx.env.notice(Error::notice(match text.trim().is_empty() {
            true => format!("text-search query doesn't contain lexemes: \"{text}\""),
            false => "text-search query contains only stop words or doesn't contain lexemes, \
                      ignored"
                .to_string(),
        }));
    }
    shown(piece.query)
}

fn to_query(cx: &FnCtx, mut lexer: Lexer, text: &str) -> Result<Datum> {
    let q = parse_query_with(text, &mut |word, weights, prefix| {
        joined(&mut lexer, word, (weights, prefix), NEXT)
    })?;
    Ok(noted(cx, q, text))
}

fn plain(cx: &FnCtx, mut lexer: Lexer, text: &str) -> Result<Datum> {
    Ok(noted(cx, joined(&mut lexer, text, (0, false), AND)?, text))
}

fn phrase(cx: &FnCtx, mut lexer: Lexer, text: &str) -> Result<Datum> {
    Ok(noted(cx, joined(&mut lexer, text, (0, false), NEXT)?, text))
}

/// The language of search engines: words, "phrases", OR and -.
fn web(cx: &FnCtx, mut lexer: Lexer, text: &str) -> Result<Datum> {
    let mut alternatives: Vec<Option<Piece>> = vec![None];
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        // OR is an operator between operands, if it is a word and something follows.
        let is_or = rest.get(..2).is_some_and(|w| w.eq_ignore_ascii_case("or"))
            && !rest[2..].starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_')
            && !rest[2..].trim().is_empty();
        if is_or && alternatives.last().is_some_and(Option::is_some) {
            alternatives.push(None);
            rest = rest[2..].trim_start();
            continue;
        }
        // Each dash negates what follows, wherever it stands before it.
        let mut negations = 0;
        let mut body = rest;
        loop {
            body = body.trim_start_matches(|c: char| c.is_whitespace() || separates(c));
            let Some(after) = body.strip_prefix('-') else { break };
            negations += 1;
            body = after;
        }
        let (piece, after) = match body.strip_prefix('"') {
            Some(inner) => inner.split_once('"').unwrap_or((inner, "")),
            None => {
                let ends = |c: char| c.is_whitespace() || c == '"' || separates(c);
                body.split_at(body.find(ends).unwrap_or(body.len()))
            }
        };
        rest = after.trim_start();
        // What the parser makes of one word follows each other as in the text.
        let mut q = joined(&mut lexer, piece, (0, false), NEXT)?;
        for _ in 0..negations {
            q = q.not();
        }
        if let Some(last) = alternatives.last_mut() {
            *last = Some(match last.take() {
                Some(old) => old.and(q),
                None => q,
            });
        }
    }
    let all = alternatives.into_iter().flatten();
    Ok(noted(cx, all.reduce(Piece::or).unwrap_or_default(), text))
}

/// Operators of other query texts, which only stand between words here.
fn separates(c: char) -> bool {
    matches!(c, '!' | '&' | '|' | '(' | ')' | ':' | '<')
}

fn matches(v: &Datum, q: &Datum) -> Result<bool> {
    Ok(query(q)?.is_some_and(|q| q.matches(&vector(v))))
}

fn weight_of(c: u8) -> Result<u8> {
    match WEIGHTS.iter().position(|w| *w == (c as char).to_ascii_uppercase()) {
        Some(w) => Ok(w as u8),
        None => {
            let shown = match c {
                0x20..=0x7e => char::from(c).to_string(),
                other => format!("\\{other:03o}"),
            };
            bail!(INVALID_PARAMETER_VALUE, "unrecognized weight: \"{shown}\"")
        }
    }
}

/// The words of an array; NULLs are left out.
fn some_texts(array: &Datum) -> Result<Vec<String>> {
    let array = types::array::ArrayRef::parse(array.as_bytes())?;
    let values = array.values(&ElemType::builtin(oid::TEXT))?;
    Ok(values.iter().filter(|v| !v.is_null()).map(|v| v.as_str().to_string()).collect())
}

fn texts(array: &Datum) -> Result<Vec<String>> {
    let array = types::array::ArrayRef::parse(array.as_bytes())?;
    let mut out = Vec::new();
    for value in array.values(&ElemType::builtin(oid::TEXT))? {
        if value.is_null() {
            bail!(NULL_VALUE_NOT_ALLOWED, "lexeme array may not contain nulls");
        }
        out.push(value.as_str().to_string());
    }
    Ok(out)
}

const DOCUMENTS: &[FnDef] = &[
    row!(tsvector_strip(v: &Datum) {
        let mut v = vector(v);
        v.lexemes.iter_mut().for_each(|l| l.positions.clear());
        stored(&v)
    }),
    row!(tsvector_length(v: &Datum) { vector(v).lexemes.len() as i32 }),
    row!(tsvector_setweight(v: &Datum, weight: u8) {
        let (mut v, weight) = (vector(v), weight_of(weight)?);
        v.lexemes.iter_mut().flat_map(|l| &mut l.positions).for_each(|p| p.1 = weight);
        stored(&v)
    }),
    row!(tsvector_setweight_by_filter(v: &Datum, weight: u8, words: &Datum) {
        let (mut v, weight, words) = (vector(v), weight_of(weight)?, some_texts(words)?);
        for l in v.lexemes.iter_mut().filter(|l| words.contains(&l.word)) {
            l.positions.iter_mut().for_each(|p| p.1 = weight);
        }
        stored(&v)
    }),
    row!(tsvector_concat(a: &Datum, b: &Datum) {
        let (a, b) = (vector(a), vector(b));
        let shift = a.last_place();
        let mut all = a.lexemes;
        for mut l in b.lexemes {
            l.positions.iter_mut().for_each(|p| p.0 = (p.0 + shift).min(POSITION_MAX));
            // What comes behind the last place that can be told is left out.
            if let Some(last) = l.positions.iter().position(|p| p.0 == POSITION_MAX) {
                l.positions.truncate(last + 1);
            }
            all.push(l);
        }
        stored(&TsVector::new(all))
    }),
    row!(tsvector_delete_str(v: &Datum, word: &str) {
        let mut v = vector(v);
        v.lexemes.retain(|l| l.word != word);
        stored(&v)
    }),
    row!(tsvector_delete_arr(v: &Datum, words: &Datum) {
        let (mut v, words) = (vector(v), some_texts(words)?);
        v.lexemes.retain(|l| !words.contains(&l.word));
        stored(&v)
    }),
    row!(tsvector_filter(v: &Datum, weights: &Datum) {
        let array = types::array::ArrayRef::parse(weights.as_bytes())?;
        let mut mask = 0u8;
        for w in array.values(&ElemType::builtin(oid::CHAR))? {
            if w.is_null() {
                bail!(NULL_VALUE_NOT_ALLOWED, "weight array may not contain nulls");
            }
            let c = w.as_char();
            let Ok(weight) = weight_of(c) else {
                bail!(INVALID_PARAMETER_VALUE, "unrecognized weight: \"{}\"", c as char);
            };
            mask |= 1 << weight;
        }
        let mut v = vector(v);
        v.lexemes.iter_mut().for_each(|l| l.positions.retain(|p| mask >> p.1 & 1 != 0));
        v.lexemes.retain(|l| !l.positions.is_empty());
        stored(&v)
    }),
    row!(tsvector_to_array(v: &Datum) {
        let words: Vec<Datum> = vector(v).lexemes.iter().map(|l| Datum::text(&l.word)).collect();
        make_vector(&ElemType::builtin(oid::TEXT), &words)
    }),
    row!(array_to_tsvector(words: &Datum) {
        let words = texts(words)?;
        if words.iter().any(String::is_empty) {
            bail!(ZERO_LENGTH_CHARACTER_STRING, "lexeme array may not contain empty strings");
        }
        let lexeme = |word| Lexeme { word, positions: Vec::new() };
        stored(&TsVector::new(words.into_iter().map(lexeme).collect()))
    }),
    row!(ts_match_vq(v: &Datum, q: &Datum) { matches(v, q) }),
    row!(ts_match_qv(q: &Datum, v: &Datum) { matches(v, q) }),
    row!(cx; ts_match_tt(text: &str, words: &str) {
        matches(&to_vector(lexer(cx, None)?, text)?, &plain(cx, lexer(cx, None)?, words)?)
    }),
    row!(cx; ts_match_tq(text: &str, q: &Datum) {
        matches(&to_vector(lexer(cx, None)?, text)?, q)
    }),
];

macro_rules! order {
    ($of:expr; $eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident $cmp:ident) => {
        &[
            row!($eq(a: &Datum, b: &Datum) { $of(a, b)?.is_eq() }),
            row!($ne(a: &Datum, b: &Datum) { $of(a, b)?.is_ne() }),
            row!($lt(a: &Datum, b: &Datum) { $of(a, b)?.is_lt() }),
            row!($le(a: &Datum, b: &Datum) { $of(a, b)?.is_le() }),
            row!($gt(a: &Datum, b: &Datum) { $of(a, b)?.is_gt() }),
            row!($ge(a: &Datum, b: &Datum) { $of(a, b)?.is_ge() }),
            row!($cmp(a: &Datum, b: &Datum) { $of(a, b)? as i32 }),
        ]
    };
}

fn vector_order(a: &Datum, b: &Datum) -> Result<std::cmp::Ordering> {
    let (x, y) = (vector(a), vector(b));
    Ok(x.order(&y))
}

fn query_order(a: &Datum, b: &Datum) -> Result<std::cmp::Ordering> {
    Ok(super::ts_rewrite::compare(query(a)?.as_ref(), query(b)?.as_ref()))
}

const VECTOR_ORDER: &[FnDef] = order!(vector_order;
    tsvector_eq tsvector_ne tsvector_lt tsvector_le tsvector_gt tsvector_ge tsvector_cmp);
const QUERY_ORDER: &[FnDef] = order!(query_order;
    tsquery_eq tsquery_ne tsquery_lt tsquery_le tsquery_gt tsquery_ge tsquery_cmp);

fn join(
    a: &Datum,
    b: &Datum,
    f: impl FnOnce(Box<TsQuery>, Box<TsQuery>) -> TsQuery,
) -> Result<Datum> {
    Ok(shown(match (query(a)?, query(b)?) {
        (Some(a), Some(b)) => Some(f(Box::new(a), Box::new(b))),
        (a, b) => a.or(b),
    }))
}

fn rewrite(q: &Datum, from: &Datum, to: &Datum) -> Result<Datum> {
    let (q, from, to) = (query(q)?, query(from)?, query(to)?);
    Ok(shown(match (q, from) {
        (Some(q), Some(from)) => Rewriter::new(&q).replace(&from, to.as_ref()).finish(),
        (q, _) => q,
    }))
}

/// The part of a query that an index can answer; `T` if that is all documents.
fn querytree(q: &Datum) -> Result<Datum> {
    fn part(q: TsQuery) -> Option<TsQuery> {
        match q {
            TsQuery::Not(_) => None,
            TsQuery::And(a, b) => match (part(*a), part(*b)) {
                (Some(a), Some(b)) => Some(TsQuery::And(Box::new(a), Box::new(b))),
                (a, b) => a.or(b),
            },
            TsQuery::Phrase(n, a, b) => match (part(*a), part(*b)) {
                (Some(a), Some(b)) => Some(TsQuery::Phrase(n, Box::new(a), Box::new(b))),
                (a, b) => a.or(b),
            },
            TsQuery::Or(a, b) => Some(TsQuery::Or(Box::new(part(*a)?), Box::new(part(*b)?))),
            word => Some(word),
        }
    }
    let Some(q) = query(q)? else { return Ok(Datum::text("")) };
    Ok(part(q).map_or(Datum::text("T"), |q| Datum::string(q.to_string())))
}

fn words_of(d: &Datum) -> Result<Vec<String>> {
    let mut out = Vec::new();
    if let Some(q) = query(d)? {
        q.each_word(&mut |w| out.push(w.to_string()));
    }
    Ok(out)
}

fn contains(a: &Datum, b: &Datum) -> Result<bool> {
    let (outer, inner) = (words_of(a)?, words_of(b)?);
    Ok(inner.iter().all(|w| outer.contains(w)))
}

const QUERIES: &[FnDef] = &[
    row!(tsquery_and(a: &Datum, b: &Datum) { join(a, b, TsQuery::And) }),
    row!(tsquery_or(a: &Datum, b: &Datum) { join(a, b, TsQuery::Or) }),
    row!(tsquery_not(a: &Datum) { Ok(shown(query(a)?.map(|q| TsQuery::Not(Box::new(q))))) }),
    row!(tsquery_phrase(a: &Datum, b: &Datum) { join(a, b, |a, b| TsQuery::Phrase(1, a, b)) }),
    row!(tsquery_phrase_distance(a: &Datum, b: &Datum, distance: i32) {
        if !(0..=16384).contains(&distance) {
            bail!(
                INVALID_PARAMETER_VALUE,
                "distance in phrase operator must be an integer value between zero and 16384 \
                 inclusive"
            );
        }
        join(a, b, |a, b| TsQuery::Phrase(distance as u16, a, b))
    }),
    row!(tsquery_numnode(a: &Datum) { Ok(query(a)?.map_or(0, |q| q.nodes())) }),
    row!(tsq_mcontains(a: &Datum, b: &Datum) { contains(a, b) }),
    row!(tsq_mcontained(a: &Datum, b: &Datum) { contains(b, a) }),
    row!(cx; ts_lexize(dictionary: u32, word: &str) { lexize(cx, dictionary, word) }),
    row!(tsquery_rewrite(q: &Datum, from: &Datum, to: &Datum) { rewrite(q, from, to) }),
    row!(tsquerytree(q: &Datum) { querytree(q) }),
    row!(cx; to_tsquery(text: &str) { to_query(cx, lexer(cx, None)?, text) }),
    row!(cx; to_tsquery_byid(c: &Datum, text: &str) { to_query(cx, lexer(cx, Some(c))?, text) }),
    row!(cx; plainto_tsquery(text: &str) { plain(cx, lexer(cx, None)?, text) }),
    row!(cx; plainto_tsquery_byid(c: &Datum, text: &str) {
        plain(cx, lexer(cx, Some(c))?, text)
    }),
    row!(cx; phraseto_tsquery(text: &str) { phrase(cx, lexer(cx, None)?, text) }),
    row!(cx; phraseto_tsquery_byid(c: &Datum, text: &str) {
        phrase(cx, lexer(cx, Some(c))?, text)
    }),
    row!(cx; websearch_to_tsquery(text: &str) { web(cx, lexer(cx, None)?, text) }),
    row!(cx; websearch_to_tsquery_byid(c: &Datum, text: &str) {
        web(cx, lexer(cx, Some(c))?, text)
    }),
];

const CONVERSIONS: &[FnDef] = &[
    row!(cx; to_tsvector(text: &str) { to_vector(lexer(cx, None)?, text) }),
    row!(cx; to_tsvector_byid(c: &Datum, text: &str) { to_vector(lexer(cx, Some(c))?, text) }),
    row!(cx; jsonb_string_to_tsvector(j: &[u8]) {
        json_vector(lexer(cx, None)?, &types::json::decode(j), STRINGS)
    }),
    row!(cx; jsonb_string_to_tsvector_byid(c: &Datum, j: &[u8]) {
        json_vector(lexer(cx, Some(c))?, &types::json::decode(j), STRINGS)
    }),
    row!(cx; json_string_to_tsvector(j: &str) {
        json_vector(lexer(cx, None)?, &types::json::parse(j)?, STRINGS)
    }),
    row!(cx; json_string_to_tsvector_byid(c: &Datum, j: &str) {
        json_vector(lexer(cx, Some(c))?, &types::json::parse(j)?, STRINGS)
    }),
    row!(cx; jsonb_to_tsvector(j: &[u8], parts: &Datum) {
        json_vector(lexer(cx, None)?, &types::json::decode(j), parts_of(parts)?)
    }),
    row!(cx; jsonb_to_tsvector_byid(c: &Datum, j: &[u8], parts: &Datum) {
        json_vector(lexer(cx, Some(c))?, &types::json::decode(j), parts_of(parts)?)
    }),
    row!(cx; json_to_tsvector(j: &str, parts: &Datum) {
        json_vector(lexer(cx, None)?, &types::json::parse(j)?, parts_of(parts)?)
    }),
    row!(cx; json_to_tsvector_byid(c: &Datum, j: &str, parts: &Datum) {
        json_vector(lexer(cx, Some(c))?, &types::json::parse(j)?, parts_of(parts)?)
    }),
    raw!(get_current_ts_config(cx, args) {
        let name = cx.env.setting("default_text_search_config").unwrap_or_default();
        cx.env.catalog().types().reg_in(oid::REGCONFIG, &name).map(|o: Oid| Datum::oid(o))
    }),
];

/// The rows of `unnest` of a document.
pub(crate) fn unnest(_: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    let (places, letters) = (ElemType::builtin(oid::INT2), ElemType::builtin(oid::TEXT));
    let mut rows = Vec::new();
    for l in vector(&args[0]).lexemes {
        let mut row = vec![Datum::text(&l.word), Datum::Null, Datum::Null];
        if !l.positions.is_empty() {
            let at: Vec<Datum> = l.positions.iter().map(|p| Datum::I16(p.0 as i16)).collect();
            let weight = |p: &(u16, u8)| Datum::string(WEIGHTS[p.1 as usize & 3].to_string());
            let weights: Vec<Datum> = l.positions.iter().map(weight).collect();
            row[1] = make_vector(&places, &at)?;
            row[2] = make_vector(&letters, &weights)?;
        }
        rows.push(row);
    }
    Ok(Rows::new(rows))
}

pub(crate) const FNS: &[&[FnDef]] = &[
    DOCUMENTS,
    VECTOR_ORDER,
    QUERY_ORDER,
    QUERIES,
    CONVERSIONS,
    super::ts_rank::RANK,
    super::ts_show::HEADLINES,
    super::ts_cover::COVER,
];
