//! How well a document fits a query.

use crate::call::FnDef;
use base::{Result, bail};
use types::Datum;
use types::array::{ArrayRef, ElemType};
use types::ts::{TsQuery, TsVector, parse_query};

/// Weights of D, C, B, A when none are given.
const DEFAULT: [f32; 4] = [0.1, 0.2, 0.4, 1.0];

pub(super) fn weights(array: Option<&Datum>) -> Result<[f32; 4]> {
    let Some(array) = array else { return Ok(DEFAULT) };
    let array = ArrayRef::parse(array.as_bytes())?;
    if array.dims.len() != 1 {
        bail!(ARRAY_SUBSCRIPT_ERROR, "array of weight must be one-dimensional");
    }
    if array.len() < 4 {
        bail!(ARRAY_SUBSCRIPT_ERROR, "array of weight is too short");
    }
    let mut out = DEFAULT;
    for (slot, value) in out.iter_mut().zip(array.values(&ElemType::builtin(types::oid::FLOAT4))?) {
        if value.is_null() {
            bail!(NULL_VALUE_NOT_ALLOWED, "array of weight must not contain nulls");
        }
        // A negative weight asks for the usual one.
        if value.as_f32() >= 0.0 {
            *slot = value.as_f32();
        }
        if *slot > 1.0 {
            bail!(INVALID_PARAMETER_VALUE, "weight out of range");
        }
    }
    Ok(out)
}

/// The words of a query, each once.
fn operands(q: &TsQuery) -> Vec<TsQuery> {
    fn walk(q: &TsQuery, out: &mut Vec<TsQuery>) {
        match q {
            TsQuery::Word { .. } => {
                if !out.contains(q) {
                    out.push(q.clone());
                }
            }
            TsQuery::Not(a) => walk(a, out),
            TsQuery::And(a, b) | TsQuery::Or(a, b) | TsQuery::Phrase(_, a, b) => {
                walk(a, out);
                walk(b, out);
            }
        }
    }
    let mut out = Vec::new();
    walk(q, &mut out);
    out
}

/// Places of a word, as if it stood somewhere if the document does not say.
fn places(word: &TsQuery, v: &TsVector) -> Vec<Vec<(u16, u8)>> {
    let places = |l: &&types::ts::Lexeme| match l.positions.is_empty() {
        true => vec![(types::ts::POSITION_MAX, 0)],
        false => l.positions.clone(),
    };
    word.lexemes(v).iter().map(places).collect()
}

fn rank_any(w: &[f32; 4], v: &TsVector, words: &[TsQuery]) -> f32 {
    let mut sum = 0f32;
    for word in words {
        for list in places(word, v) {
            let (mut all, mut best, mut at) = (0f32, -1f32, 0usize);
            for (i, (_, weight)) in list.iter().enumerate() {
                let value = w[*weight as usize & 3];
                all += value / ((i + 1) * (i + 1)) as f32;
                if value > best {
                    (best, at) = (value, i);
                }
            }
            // The limit of the sum of inverse squares.
            sum += (best + all - best / ((at + 1) * (at + 1)) as f32) / 1.644_934;
        }
    }
    if words.is_empty() { sum } else { sum / words.len() as f32 }
}

fn nearness(distance: u32) -> f32 {
    if distance > 100 {
        return 1e-30;
    }
    (1.0 / (1.005 + 0.05 * (distance as f64 / 1.5 - 2.0).exp())) as f32
}

fn rank_all(w: &[f32; 4], v: &TsVector, words: &[TsQuery]) -> f32 {
    if words.len() < 2 {
        return rank_any(w, v, words);
    }
    let lists: Vec<Vec<(u16, u8)>> =
        words.iter().map(|q| places(q, v).into_iter().flatten().collect()).collect();
    let mut result = -1f32;
    for (i, list) in lists.iter().enumerate() {
        for other in &lists[..i] {
            for (p, pw) in list {
                for (q, qw) in other {
                    let mut distance = p.abs_diff(*q) as u32;
                    let unknown = types::ts::POSITION_MAX;
                    if distance == 0 {
                        if *p != unknown {
                            continue;
                        }
                        distance = 1 << 14;
                    }
                    let pair = w[*pw as usize & 3] * w[*qw as usize & 3] * nearness(distance);
                    let pair = (pair as f64).sqrt() as f32;
                    result = match result < 0.0 {
                        true => pair,
                        false => (1.0 - (1.0 - result as f64) * (1.0 - pair as f64)) as f32,
                    };
                }
            }
        }
    }
    result
}

fn rank(w: [f32; 4], v: &TsVector, q: Option<TsQuery>, method: i32) -> f32 {
    let Some(q) = q.filter(|_| !v.lexemes.is_empty()) else { return 0.0 };
    let words = operands(&q);
    let mut result = match q {
        TsQuery::And(..) | TsQuery::Phrase(..) => rank_all(&w, v, &words),
        _ => rank_any(&w, v, &words),
    };
    if result < 0.0 {
        result = 1e-20;
    }
    let length: usize = v.lexemes.iter().map(|l| l.positions.len().max(1)).sum();
    let unique = v.lexemes.len();
    if method & 1 != 0 {
        result = (result as f64 / (((length + 1) as f64).ln() / 2f64.ln())) as f32;
    }
    if method & 2 != 0 && length > 0 {
        result /= length as f32;
    }
    if method & 8 != 0 {
        result /= unique as f32;
    }
    if method & 16 != 0 {
        result = (result as f64 / (((unique + 1) as f64).ln() / 2f64.ln())) as f32;
    }
    if method & 32 != 0 {
        result /= result + 1.0;
    }
    result
}

fn of(array: Option<&Datum>, v: &Datum, q: &Datum, method: i32) -> Result<f32> {
    Ok(rank(weights(array)?, &TsVector::decode(v.as_bytes()), parse_query(q.as_str())?, method))
}

pub(super) const RANK: &[FnDef] = &[
    row!(ts_rank_wttf(w: &Datum, v: &Datum, q: &Datum, method: i32) { of(Some(w), v, q, method) }),
    row!(ts_rank_wtt(w: &Datum, v: &Datum, q: &Datum) { of(Some(w), v, q, 0) }),
    row!(ts_rank_ttf(v: &Datum, q: &Datum, method: i32) { of(None, v, q, method) }),
    row!(ts_rank_tt(v: &Datum, q: &Datum) { of(None, v, q, 0) }),
];
