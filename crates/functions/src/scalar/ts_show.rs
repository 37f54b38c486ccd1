//! Text search functions that show something: headlines, statistics, what a configuration does;
//! and rewriting by the rows of a query.

use super::ts::{lexer, query, shown, vector};
use super::ts_parse::parse;
use super::ts_rewrite::Rewriter;
use crate::call::{FnCtx, FnDef};
use crate::srf::tables::TOKEN_TYPES;
use crate::srf::{RowSource, Rows};
use crate::ts::headline::{Wishes, headline};
use base::{Oid, Result, bail};
use std::collections::BTreeMap;
use types::array::{ElemType, make_vector};
use types::json::Json;
use types::ts::WEIGHTS;
use types::{Datum, oid};

/// The arguments of `ts_headline`: configuration or none, document, query, options or none.
fn parts(args: &[Datum], with_config: bool) -> (Option<&Datum>, &Datum, &Datum, &str) {
    let (config, rest) = match with_config {
        true => (Some(&args[0]), &args[1..]),
        false => (None, args),
    };
    (config, &rest[0], &rest[1], rest.get(2).map_or("", |o| o.as_str()))
}

fn of_text(cx: &mut FnCtx, args: &[Datum], with_config: bool) -> Result<Datum> {
    let (config, text, q, options) = parts(args, with_config);
    let mut lexer = lexer(cx, config)?;
    let q = query(q)?;
    headline(&mut lexer, text.as_str(), q.as_ref(), &Wishes::parse(options)?).map(Datum::string)
}

/// A document with all its strings changed.
fn strings(json: Json, f: &mut dyn FnMut(&str) -> Result<String>) -> Result<Json> {
    Ok(match json {
        Json::String(s) => Json::String(f(&s)?),
        Json::Array(items) => {
            Json::Array(items.into_iter().map(|i| strings(i, f)).collect::<Result<_>>()?)
        }
        Json::Object(members) => {
            let member = |(key, value)| Ok((key, strings(value, f)?));
            Json::Object(members.into_iter().map(member).collect::<Result<_>>()?)
        }
        other => other,
    })
}

/// The text of a document with its strings changed and no white space between values; everything
/// else is as it was written, members of the same name too.
fn rewritten(text: &str, f: &mut dyn FnMut(&str) -> Result<String>) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c != '"' {
            if !c.is_ascii_whitespace() {
                out.push(c);
            }
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let mut escaped = false;
        let end = rest[1..].find(|c| match (std::mem::take(&mut escaped), c) {
            (false, '"') => true,
            (false, '\\') => {
                escaped = true;
                false
            }
            _ => false,
        });
        let (string, after) = rest.split_at(end.map_or(rest.len(), |e| e + 2));
        rest = after;
        let Json::String(value) = types::json::parse(string)? else { continue };
        let is_key = after.trim_start().starts_with(':');
        let value = if is_key { value } else { f(&value)? };
        out.push_str(&types::json::quoted(&value));
    }
    Ok(out)
}

fn of_json(cx: &mut FnCtx, args: &[Datum], with_config: bool, binary: bool) -> Result<Datum> {
    let (config, document, q, options) = parts(args, with_config);
    let mut lexer = lexer(cx, config)?;
    let (q, wishes) = (query(q)?, Wishes::parse(options)?);
    let mut change = |text: &str| headline(&mut lexer, text, q.as_ref(), &wishes);
    if !binary {
        return rewritten(document.as_str(), &mut change).map(Datum::string);
    }
    let changed = strings(types::json::decode(document.as_bytes()), &mut change)?;
    Ok(Datum::bytes(types::json::encode(&changed)))
}

pub(super) const HEADLINES: &[FnDef] = &[
    raw!(ts_headline_byid_opt(cx, args) { of_text(cx, args, true) }),
    raw!(ts_headline_byid(cx, args) { of_text(cx, args, true) }),
    raw!(ts_headline_opt(cx, args) { of_text(cx, args, false) }),
    raw!(ts_headline(cx, args) { of_text(cx, args, false) }),
    raw!(ts_headline_jsonb_byid_opt(cx, args) { of_json(cx, args, true, true) }),
    raw!(ts_headline_jsonb_byid(cx, args) { of_json(cx, args, true, true) }),
    raw!(ts_headline_jsonb_opt(cx, args) { of_json(cx, args, false, true) }),
    raw!(ts_headline_jsonb(cx, args) { of_json(cx, args, false, true) }),
    raw!(ts_headline_json_byid_opt(cx, args) { of_json(cx, args, true, false) }),
    raw!(ts_headline_json_byid(cx, args) { of_json(cx, args, true, false) }),
    raw!(ts_headline_json_opt(cx, args) { of_json(cx, args, false, false) }),
    raw!(ts_headline_json(cx, args) { of_json(cx, args, false, false) }),
    raw!(tsquery_rewrite_query(cx, args) { rewrite_by_rows(cx, args) }),
];

/// Replaces what the first column has with what the second has, for each row of a query.
fn rewrite_by_rows(cx: &mut FnCtx, args: &[Datum]) -> Result<Datum> {
    let Some(q) = query(&args[0])? else { return Ok(args[0].clone()) };
    let found = cx.env.run_query(args[1].as_str(), None)?;
    if found.columns.len() != 2 || found.columns.iter().any(|c| c.1 != oid::TSQUERY) {
        bail!(INVALID_PARAMETER_VALUE, "ts_rewrite query must return two tsquery columns");
    }
    let mut rewriter = Rewriter::new(&q);
    for row in found.rows {
        let [from, to] = row.as_slice() else { continue };
        if from.is_null() || to.is_null() {
            continue;
        }
        let Some(from) = query(from)? else { continue };
        rewriter = rewriter.replace(&from, query(to)?.as_ref());
    }
    Ok(shown(rewriter.finish()))
}

/// The rows of `ts_stat`: words, in how many documents, how often.
pub(crate) fn stat(cx: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    let found = cx.env.run_query(args[0].as_str(), None)?;
    if found.columns.len() != 1 || found.columns[0].1 != oid::TSVECTOR {
        bail!(INVALID_PARAMETER_VALUE, "ts_stat query must return one tsvector column");
    }
    let mut mask = 0u8;
    for c in args.get(1).map_or("", |w| w.as_str()).chars() {
        match WEIGHTS.iter().position(|w| *w == c.to_ascii_uppercase()) {
            Some(w) => mask |= 1 << w,
            None => bail!(INVALID_PARAMETER_VALUE, "unrecognized weight: \"{c}\""),
        }
    }
    let mut words: BTreeMap<String, (i32, i32)> = BTreeMap::new();
    for row in found.rows.iter().filter(|r| !r[0].is_null()) {
        for l in vector(&row[0]).lexemes {
            let count = match mask {
                0 => l.positions.len().max(1),
                _ => l.positions.iter().filter(|p| mask >> p.1 & 1 != 0).count(),
            };
            if count > 0 {
                let entry = words.entry(l.word).or_default();
                entry.0 += 1;
                entry.1 += count as i32;
            }
        }
    }
    let row = |(word, (documents, entries)): (String, (i32, i32))| {
        vec![Datum::string(word), Datum::I32(documents), Datum::I32(entries)]
    };
    Ok(Rows::new(words.into_iter().map(row).collect()))
}

/// The rows of `ts_debug`: each token, the dictionaries of its type, the one that knows it.
pub(crate) fn debug(cx: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    let (config, text) = match args {
        [config, text] => (config.as_oid(), text.as_str()),
        [text, ..] => {
            let name = cx.env.setting("default_text_search_config").unwrap_or_default();
            (cx.env.catalog().types().reg_in(oid::REGCONFIG, &name)?, text.as_str())
        }
        [] => return Ok(Rows::new(Vec::new())),
    };
    let config = cx.env.ts_config(config)?;
    let mut rows = Vec::new();
    for token in parse(text)? {
        let kind = token.kind as usize;
        let (alias, what) = TOKEN_TYPES[kind - 1];
        let dictionaries: &[Oid] = config.dictionaries.get(kind).map_or(&[], Vec::as_slice);
        let mut known = None;
        for dictionary in dictionaries {
            if let Some(norms) = cx.env.ts_dictionary(*dictionary)?.lexize(token.text) {
                known = Some((*dictionary, norms));
                break;
            }
        }
        let list: Vec<Datum> = dictionaries.iter().map(|o| Datum::oid(*o)).collect();
        let (dictionary, lexemes) = match known {
            Some((dictionary, norms)) => {
                let words: Vec<Datum> = norms.iter().map(|n| Datum::text(&n.word)).collect();
                (Datum::oid(dictionary), make_vector(&ElemType::builtin(oid::TEXT), &words)?)
            }
            None => (dictionaries.first().map_or(Datum::Null, |o| Datum::oid(*o)), Datum::Null),
        };
        rows.push(vec![
            Datum::text(alias),
            Datum::text(what),
            Datum::text(token.text),
            make_vector(&ElemType::builtin(oid::REGDICTIONARY), &list)?,
            dictionary,
            lexemes,
        ]);
    }
    Ok(Rows::new(rows))
}
