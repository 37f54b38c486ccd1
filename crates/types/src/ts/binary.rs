//! The binary forms of documents and queries.

use super::{DEPTH_MAX, Lexeme, POSITION_MAX, TsQuery, TsVector};

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

fn take<'a>(b: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (head, rest) = b.split_at_checked(n)?;
    *b = rest;
    Some(head)
}

fn short(b: &mut &[u8]) -> Option<u16> {
    take(b, 2).map(|w| u16::from_be_bytes([w[0], w[1]]))
}

fn word(b: &mut &[u8]) -> Option<String> {
    let len = b.iter().position(|c| *c == 0)?;
    let text = std::str::from_utf8(take(b, len)?).ok()?.to_string();
    take(b, 1)?;
    (text.len() <= 2046).then_some(text)
}

/// A document, None if it is not well formed.
pub(crate) fn receive_vector(mut b: &[u8]) -> Option<TsVector> {
    let b = &mut b;
    let n = i32::from_be_bytes(take(b, 4)?.try_into().ok()?);
    let mut lexemes = Vec::new();
    for _ in 0..usize::try_from(n).ok()? {
        let word = word(b)?;
        let mut positions = Vec::new();
        for _ in 0..short(b)? {
            let p = short(b)?;
            positions.push((p & POSITION_MAX, (p >> 14) as u8));
        }
        lexemes.push(Lexeme { word, positions });
    }
    b.is_empty().then(|| TsVector::new(lexemes))
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

/// A query, None if it is not well formed.
pub(crate) fn receive_query(mut b: &[u8]) -> Option<Option<TsQuery>> {
    let b = &mut b;
    let n = i32::from_be_bytes(take(b, 4)?.try_into().ok()?);
    if n == 0 {
        return b.is_empty().then_some(None);
    }
    let q = receive_node(b, 0)?;
    (b.is_empty() && q.nodes() == n).then_some(Some(q))
}

fn receive_node(b: &mut &[u8], depth: usize) -> Option<TsQuery> {
    if depth > DEPTH_MAX {
        return None;
    }
    if take(b, 1)? == [1] {
        let (weights, prefix) = (take(b, 1)?[0], take(b, 1)?[0] != 0);
        return Some(TsQuery::Word { word: word(b)?, weights: weights & 15, prefix });
    }
    let op = take(b, 1)?[0];
    let distance = if op == 4 { short(b)? } else { 0 };
    let right = Box::new(receive_node(b, depth + 1)?);
    if op == 1 {
        return Some(TsQuery::Not(right));
    }
    let left = Box::new(receive_node(b, depth + 1)?);
    match op {
        2 => Some(TsQuery::And(left, right)),
        3 => Some(TsQuery::Or(left, right)),
        4 => Some(TsQuery::Phrase(distance, left, right)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::{parse_query, parse_vector};

    #[test]
    fn what_is_sent_is_received() {
        let v = parse_vector("a:1A,2 b 'c d':3B").unwrap();
        assert_eq!(receive_vector(&send_vector(&v)), Some(v));
        let q = parse_query("a:*AB & !(b <2> 'c' | d)").unwrap();
        assert_eq!(receive_query(&send_query(q.as_ref())), Some(q));
        assert_eq!(
            send_query(parse_query("a & b").unwrap().as_ref()),
            b"\0\0\0\x03\x02\x02\x01\0\0b\0\x01\0\0a\0"
        );
        for n in 0..20 {
            let _ = (receive_vector(&[n; 9]), receive_query(&[n; 9]));
        }
    }
}
