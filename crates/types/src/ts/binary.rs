//! The binary forms of documents and queries.

use super::{DEPTH_MAX, Lexeme, POSITION_MAX, TsQuery, TsVector};
use crate::io::{IoCtx, Reader, client_text};
use base::{Result, bail};

/// A document: how many lexemes; each with a 0 after it, its number of places, the places.
pub(crate) fn send_vector(v: &TsVector) -> Vec<u8> {
    let mut out = (v.lexemes.len() as i32).to_be_bytes().to_vec();
    for l in &v.lexemes {
        out.extend_from_slice(l.word.as_bytes());
        out.push(0);
        out.extend_from_slice(&(l.positions.len() as u16).to_be_bytes());
        for (place, weight) in &l.positions {
            out.extend_from_slice(&((*weight as u16) << 14 | place).to_be_bytes());
        }
    }
    out
}

/// Bytes that a word may have.
const WORD_MAX: usize = 2047;
/// Bytes that all words of a value may have.
const WORDS_MAX: usize = (1 << 20) - 1;
/// Places that a lexeme may have.
const PLACES_MAX: u16 = 256;

/// A word, which ends with a 0.
fn word(r: &mut Reader, cx: &IoCtx) -> Result<String> {
    let text = client_text(r.string()?, cx)?;
    Ok(text.into_owned())
}

/// A document.
pub(crate) fn receive_vector(r: &mut Reader, cx: &IoCtx) -> Result<TsVector> {
    const LEXEMES_MAX: i32 = 0x3fff_ffff / 4;
    let n = r.i32()?;
    if !(0..=LEXEMES_MAX).contains(&n) {
        bail!(INTERNAL_ERROR, "invalid size of tsvector");
    }
    let (mut lexemes, mut size) = (Vec::new(), 0usize);
    for _ in 0..n {
        let word = word(r, cx)?;
        let places = r.u16()?;
        if word.is_empty() {
            bail!(INTERNAL_ERROR, "invalid tsvector: empty lexeme");
        }
        if word.len() > WORD_MAX {
            bail!(INTERNAL_ERROR, "invalid tsvector: lexeme too long");
        }
        if size > WORDS_MAX {
            bail!(INTERNAL_ERROR, "invalid tsvector: maximum total lexeme length exceeded");
        }
        if places > PLACES_MAX {
            bail!(INTERNAL_ERROR, "unexpected number of tsvector positions");
        }
        size += word.len();
        if places > 0 {
            size = size.next_multiple_of(2) + 2 + 2 * usize::from(places);
        }
        let mut positions: Vec<(u16, u8)> = Vec::new();
        for _ in 0..places {
            let p = r.u16()?;
            let place = p & POSITION_MAX;
            if positions.last().is_some_and(|last| place <= last.0) {
                bail!(INTERNAL_ERROR, "position information is misordered");
            }
            positions.push((place, (p >> 14) as u8));
        }
        lexemes.push(Lexeme { word, positions });
    }
    Ok(TsVector::new(lexemes))
}

/// A query: how many nodes; then each before its operands, of which the right one comes first.
pub(crate) fn send_query(q: Option<&TsQuery>) -> Vec<u8> {
    let mut out = q.map_or(0, TsQuery::nodes).to_be_bytes().to_vec();
    if let Some(q) = q {
        send_node(q, &mut out);
    }
    out
}

fn send_node(q: &TsQuery, out: &mut Vec<u8>) {
    let (op, operands): (u8, [Option<&TsQuery>; 2]) = match q {
        TsQuery::Word { word, weights, prefix } => {
            out.extend_from_slice(&[1, *weights, u8::from(*prefix)]);
            out.extend_from_slice(word.as_bytes());
            out.push(0);
            return;
        }
        TsQuery::Not(a) => (1, [Some(a), None]),
        TsQuery::And(a, b) => (2, [Some(b), Some(a)]),
        TsQuery::Or(a, b) => (3, [Some(b), Some(a)]),
        TsQuery::Phrase(_, a, b) => (4, [Some(b), Some(a)]),
    };
    out.extend_from_slice(&[2, op]);
    if let TsQuery::Phrase(distance, ..) = q {
        out.extend_from_slice(&distance.to_be_bytes());
    }
    operands.into_iter().flatten().for_each(|o| send_node(o, out));
}

/// A node of a query by itself.
enum Node {
    Word {
        word: String,
        weights: u8,
        prefix: bool,
    },
    /// The kind of operator, and the distance of a phrase.
    Operator(u8, u16),
}

/// A query; none without nodes.
pub(crate) fn receive_query(r: &mut Reader, cx: &IoCtx) -> Result<Option<TsQuery>> {
    const NODES_MAX: u32 = 0x3fff_ffff / 12;
    let n = r.i32()? as u32;
    if n > NODES_MAX {
        bail!(INTERNAL_ERROR, "invalid size of tsquery");
    }
    let (mut nodes, mut size) = (Vec::new(), 0);
    for i in 0..n {
        nodes.push(receive_node(r, i + 1 == n, &mut size, cx)?);
    }
    if nodes.is_empty() {
        return Ok(None);
    }
    let mut left = nodes.into_iter();
    let query = assemble(&mut left, 0)?;
    if left.next().is_some() {
        bail!(INTERNAL_ERROR, "malformed tsquery: extra nodes");
    }
    Ok(Some(query))
}

fn receive_node(r: &mut Reader, last: bool, size: &mut usize, cx: &IoCtx) -> Result<Node> {
    match r.u8()? {
        1 => {
            let (weights, prefix) = (r.u8()?, r.u8()? != 0);
            let word = word(r, cx)?;
            if weights > 15 {
                bail!(INTERNAL_ERROR, "invalid tsquery: invalid weight bitmap");
            }
            if word.len() > WORD_MAX {
                bail!(INTERNAL_ERROR, "invalid tsquery: operand too long");
            }
            if *size > WORDS_MAX {
                bail!(INTERNAL_ERROR, "invalid tsquery: total operand length exceeded");
            }
            *size += word.len() + 1;
            Ok(Node::Word { word, weights, prefix })
        }
        2 => {
            let op = r.u8()?;
            if !(1..=4).contains(&op) {
                bail!(INTERNAL_ERROR, "invalid tsquery: unrecognized operator type {op}");
            }
            if last {
                bail!(INTERNAL_ERROR, "invalid pointer to right operand");
            }
            let distance = if op == 4 { r.u16()? } else { 0 };
            Ok(Node::Operator(op, distance))
        }
        kind => bail!(INTERNAL_ERROR, "unrecognized tsquery node type: {kind}"),
    }
}

/// The query that begins with the next node: after an operator come its right and its left side.
fn assemble(nodes: &mut std::vec::IntoIter<Node>, depth: usize) -> Result<TsQuery> {
    if depth > DEPTH_MAX {
        return Err(base::stack::too_deep());
    }
    let (op, distance) = match nodes.next() {
        None => bail!(INTERNAL_ERROR, "malformed tsquery: operand not found"),
        Some(Node::Word { word, weights, prefix }) => {
            return Ok(TsQuery::Word { word, weights, prefix });
        }
        Some(Node::Operator(op, distance)) => (op, distance),
    };
    let right = Box::new(assemble(nodes, depth + 1)?);
    if op == 1 {
        return Ok(TsQuery::Not(right));
    }
    let left = Box::new(assemble(nodes, depth + 1)?);
    Ok(match op {
        2 => TsQuery::And(left, right),
        3 => TsQuery::Or(left, right),
        _ => TsQuery::Phrase(distance, left, right),
    })
}
