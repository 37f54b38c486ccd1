//! Bytes as types' receive functions read them: what send functions make of the edge values, and
//! that with harm done to it.

use super::values::{Values, quoted_type};
use crate::Client;
use base::{Oid, Result};

/// Bytes to be read as a type.
pub(super) struct Received {
    pub type_oid: Oid,
    pub values: Vec<Vec<u8>>,
}

/// The values of a type as bytes, as this server sends them, and broken ones; none for types that
/// are not sent.
pub(super) fn values(client: &mut Client, all: &Values, type_name: &str) -> Result<Received> {
    let find = format!(
        "SELECT t.oid, p.proname FROM pg_type t JOIN pg_proc p ON p.oid = t.typsend \
         WHERE t.typname = '{type_name}' AND t.typtype <> 'p' AND t.typreceive <> 0"
    );
    let mut out = Received { type_oid: Oid(0), values: Vec::new() };
    let Some(row) = client.execute(&find)?.rows.pop() else { return Ok(out) };
    let text = |i: usize| row[i].clone().unwrap_or_default();
    out.type_oid = Oid(text(0).parse().unwrap_or(0));
    let most = if all.by_type[type_name].len() > 40 { 40 } else { 400 };
    let send = format!(
        "SELECT encode(substr(pg_catalog.\"{}\"(v), 1, 300), 'hex') FROM \"edge_{type_name}\" \
         WHERE i > 0 AND length(v::{}::text) < 200 ORDER BY i LIMIT {most}",
        text(1),
        quoted_type(type_name)
    );
    // Elements of some arrays have no binary form; what was sent before that is known counts.
    for row in client.query(&send)?.rows {
        let hex = row[0].clone().unwrap_or_default();
        let digits = hex.as_bytes().chunks_exact(2);
        let value: Vec<u8> = digits
            .filter_map(|d| u8::from_str_radix(std::str::from_utf8(d).ok()?, 16).ok())
            .collect();
        harm(&value, &mut out.values);
    }
    out.values.sort();
    out.values.dedup();
    Ok(out)
}

/// A value as it is, shorter, longer, and with each of its first bytes changed.
fn harm(value: &[u8], out: &mut Vec<Vec<u8>>) {
    out.push(value.to_vec());
    out.push([value, &[0]].concat());
    for n in (0..value.len()).take(12) {
        out.push(value[..n].to_vec());
        for other in [0, 1, 0x7F, 0x80, 0xFF] {
            let mut changed = value.to_vec();
            changed[n] = other;
            out.push(changed);
        }
    }
    if let Some((_, start)) = value.split_last() {
        out.push(start.to_vec());
    }
}
