//! Types whose text forms are read and written in modules of their own.

use super::IoCtx;
use crate::datum::Datum;
use crate::geo::{self, Stored};
use crate::{oid, ts};
use base::{Oid, Result};

/// Reads a value; None if the type is not one of these.
pub(super) fn input(type_oid: Oid, text: &str) -> Result<Option<Datum>> {
    let bytes = match type_oid {
        oid::POINT => geo::point_in(text)?.store(),
        oid::LSEG => geo::lseg_in(text)?.store(),
        oid::LINE => geo::line_in(text)?.store(),
        oid::BOX => geo::box_in(text)?.store(),
        oid::PATH => geo::path_in(text)?.store(),
        oid::POLYGON => geo::polygon_in(text)?.store(),
        oid::CIRCLE => geo::circle_in(text)?.store(),
        oid::JSONPATH => crate::jsonpath::parse(text)?.to_string().into_bytes(),
        oid::TSVECTOR => ts::parse_vector(text)?.encode(),
        oid::TSQUERY => {
            ts::parse_query(text)?.map_or(String::new(), |q| q.to_string()).into_bytes()
        }
        _ => return Ok(None),
    };
    Ok(Some(Datum::bytes(bytes)))
}

/// The text of a value; None if the type is not one of these.
pub(super) fn output(type_oid: Oid, b: &[u8], cx: &IoCtx) -> Option<String> {
    let digits = cx.format.extra_float_digits;
    Some(match type_oid {
        oid::POINT => geo::point_text(&Stored::load(b), digits),
        oid::LSEG => geo::lseg_text(&Stored::load(b), digits),
        oid::LINE => geo::line_text(&Stored::load(b), digits),
        oid::BOX => geo::box_text(&Stored::load(b), digits),
        oid::PATH => geo::path_text(&Stored::load(b), digits),
        oid::POLYGON => geo::polygon_text(&Stored::load(b), digits),
        oid::CIRCLE => geo::circle_text(&Stored::load(b), digits),
        oid::JSONPATH | oid::TSQUERY => String::from_utf8_lossy(b).into_owned(),
        oid::TSVECTOR => ts::TsVector::decode(b).to_string(),
        _ => return None,
    })
}

/// Turns the bytes of each number around, after `skip` bytes.
fn swapped(b: &[u8], skip: usize) -> Vec<u8> {
    let (head, tail) = b.split_at_checked(skip).unwrap_or((b, &[]));
    let mut out = head.to_vec();
    for number in tail.chunks_exact(8) {
        out.extend(number.iter().rev());
    }
    out
}

/// The binary form of a geometric value; None if the type is not one of these.
pub(super) fn send(type_oid: Oid, b: &[u8]) -> Option<Vec<u8>> {
    Some(match type_oid {
        oid::POINT | oid::LSEG | oid::LINE | oid::BOX | oid::CIRCLE => swapped(b, 0),
        oid::PATH => {
            let body = swapped(b, 1);
            let (closed, points) = body.split_at_checked(1)?;
            let n = (points.len() / 16) as i32;
            [closed, &n.to_be_bytes(), points].concat()
        }
        oid::JSONPATH => [&[1], b].concat(),
        oid::TSVECTOR => ts::binary::send_vector(&ts::TsVector::decode(b)),
        oid::TSQUERY => {
            let text = String::from_utf8_lossy(b);
            ts::binary::send_query(ts::parse_query(&text).ok().flatten().as_ref())
        }
        oid::POLYGON => {
            let points = swapped(b, 0);
            let n = (points.len() / 16) as i32;
            [n.to_be_bytes().as_slice(), &points].concat()
        }
        _ => return None,
    })
}
