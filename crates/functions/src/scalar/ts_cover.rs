//! `ts_rank_cd`: how densely the words of a query stand together in a document.

use super::ts_rank::weights;
use crate::call::FnDef;
use base::Result;
use types::Datum;
use types::ts::{Lexeme, TsQuery, TsVector, parse_query};

/// A place of a document that has words of the query.
struct Spot<'a> {
    place: u16,
    weight: u8,
    words: Vec<&'a str>,
}

/// The query's words with the weights they may have.
fn operands<'q>(q: &'q TsQuery, out: &mut Vec<&'q TsQuery>) {
    match q {
        TsQuery::Word { .. } => out.push(q),
        TsQuery::Not(a) => operands(a, out),
        TsQuery::And(a, b) | TsQuery::Or(a, b) | TsQuery::Phrase(_, a, b) => {
            operands(a, out);
            operands(b, out);
        }
    }
}

fn spots<'v>(v: &'v TsVector, q: &TsQuery) -> Vec<Spot<'v>> {
    let mut words = Vec::new();
    operands(q, &mut words);
    let mut all: Vec<(u16, u8, &str)> = Vec::new();
    for operand in words {
        let TsQuery::Word { weights, .. } = operand else { continue };
        for l in operand.lexemes(v) {
            for (place, weight) in &l.positions {
                if *weights == 0 || weights >> weight & 1 != 0 {
                    all.push((*place, *weight, &l.word));
                }
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    let mut out: Vec<Spot> = Vec::new();
    for (place, weight, word) in all {
        match out.last_mut() {
            Some(s) if (s.place, s.weight) == (place, weight) => s.words.push(word),
            _ => out.push(Spot { place, weight, words: vec![word] }),
        }
    }
    out
}

/// The query without weights, which were looked at when the spots were found.
fn holds(q: &TsQuery, spots: &[Spot]) -> bool {
    let lexeme =
        |s: &Spot, w: &&str| Lexeme { word: w.to_string(), positions: vec![(s.place, s.weight)] };
    let all = spots.iter().flat_map(|s| s.words.iter().map(move |w| lexeme(s, w))).collect();
    q.matches(&TsVector::new(all))
}

/// The shortest stretch of spots from `from` on that matches.
fn cover(q: &TsQuery, spots: &[Spot], mut from: usize) -> Option<(usize, usize)> {
    while from < spots.len() {
        let end = (from..spots.len()).find(|end| holds(q, &spots[from..=*end]))?;
        if let Some(begin) = (from..=end).rev().find(|begin| holds(q, &spots[*begin..=end])) {
            return Some((begin, end));
        }
        from += 1;
    }
    None
}

fn rank(w: [f32; 4], v: &TsVector, q: Option<TsQuery>, method: i32) -> f32 {
    let Some(q) = q else { return 0.0 };
    let spots = spots(v, &q);
    let inverse = w.map(|w| 1.0 / w as f64);
    let (mut sum, mut distances, mut covers, mut before) = (0f64, 0f64, 0, 0f64);
    let mut from = 0;
    while let Some((begin, end)) = cover(&q, &spots, from) {
        from = begin + 1;
        let count = (end - begin) as i32;
        let weight: f64 = spots[begin..=end].iter().map(|s| inverse[s.weight as usize & 3]).sum();
        let density = (count + 1) as f64 / weight;
        let (p, q) = (spots[begin].place as i32, spots[end].place as i32);
        // Places end at a limit: beyond it half of the words are taken for noise.
        let noise = match (q - p) - count {
            n if n < 0 => count / 2,
            n => n,
        };
        sum += density / (1 + noise) as f64;
        let middle = (p + q) as f64 / 2.0;
        if covers > 0 && middle > before {
            distances += 1.0 / (middle - before);
        }
        before = middle;
        covers += 1;
    }
    let length: usize = v.lexemes.iter().map(|l| l.positions.len().max(1)).sum();
    let unique = v.lexemes.len();
    if method & 1 != 0 && unique > 0 {
        sum /= ((length + 1) as f64).ln();
    }
    if method & 2 != 0 && length > 0 {
        sum /= length as f64;
    }
    if method & 4 != 0 && covers > 0 && distances > 0.0 {
        sum /= covers as f64 / distances;
    }
    if method & 8 != 0 && unique > 0 {
        sum /= unique as f64;
    }
    if method & 16 != 0 && unique > 0 {
        sum /= ((unique + 1) as f64).ln() / 2f64.ln();
    }
    if method & 32 != 0 {
        sum /= sum + 1.0;
    }
    sum as f32
}

fn of(array: Option<&Datum>, v: &Datum, q: &Datum, method: i32) -> Result<f32> {
    Ok(rank(weights(array)?, &TsVector::decode(v.as_bytes()), parse_query(q.as_str())?, method))
}

pub(super) const COVER: &[FnDef] = &[
    row!(ts_rankcd_wttf(w: &Datum, v: &Datum, q: &Datum, n: i32) { of(Some(w), v, q, n) }),
    row!(ts_rankcd_wtt(w: &Datum, v: &Datum, q: &Datum) { of(Some(w), v, q, 0) }),
    row!(ts_rankcd_ttf(v: &Datum, q: &Datum, n: i32) { of(None, v, q, n) }),
    row!(ts_rankcd_tt(v: &Datum, q: &Datum) { of(None, v, q, 0) }),
];
