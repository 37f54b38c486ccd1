//! SQL values as XML text.

use crate::call::FnCtx;
use base::{Oid, Result, err};
use types::array::{ArrayRef, ElemType};
use types::io::{DateStyle, IoCtx};
use types::xml::escape;
use types::{Datum, oid};

/// The text of a value in XML. Strings are escaped if `markup`; values of type xml never.
pub(super) fn text(cx: &mut FnCtx, ty: Oid, value: &Datum, markup: bool) -> Result<String> {
    let lookup = cx.env.catalog().types();
    let info = lookup.type_info(ty);
    if let Some(info) = &info
        && info.typtype == b'd'
    {
        return text(cx, info.base, value, markup);
    }
    if let Some(elem) = info.as_ref().map(|i| i.elem).filter(|e| e.is_valid()) {
        let Some(element) = lookup.type_info(elem) else { return Ok(String::new()) };
        let element = ElemType::new(&element);
        let mut out = String::new();
        for v in ArrayRef::parse(value.as_bytes())?.values(&element)? {
            if !v.is_null() {
                let inner = text(cx, elem, &v, true)?;
                out.push_str(&format!("<element>{inner}</element>"));
            }
        }
        return Ok(out);
    }
    let infinite = |what: &str| {
        err!(DATETIME_VALUE_OUT_OF_RANGE, "{what} out of range")
            .detail(format!("XML does not support infinite {what} values."))
    };
    match ty {
        oid::BOOL => return Ok(value.as_bool().to_string()),
        oid::DATE => {
            if matches!(value, Datum::I32(i32::MAX | i32::MIN)) {
                return Err(infinite("date"));
            }
            return Ok(iso(cx, ty, value));
        }
        oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            if matches!(value, Datum::I64(i64::MAX | i64::MIN)) {
                return Err(infinite("timestamp"));
            }
            let shown = iso(cx, ty, value).replacen(' ', "T", 1);
            return Ok(if ty == oid::TIMESTAMPTZ { with_minutes(&shown) } else { shown });
        }
        oid::BYTEA => return Ok(bytes(cx, value.as_bytes())),
        _ => {}
    }
    let shown = text_out(ty, value, &cx.env.io())?;
    Ok(if ty == oid::XML || !markup { shown } else { escape(&shown) })
}

/// As ISO 8601 writes it.
fn iso(cx: &FnCtx, ty: Oid, value: &Datum) -> String {
    let mut format = cx.env.format().clone();
    format.date_style = DateStyle::Iso;
    let io = cx.env.io();
    let io = IoCtx { format: &format, ..io };
    text_out(ty, value, &io).unwrap_or_default()
}

/// A zone of hours alone gets its minutes.
fn with_minutes(text: &str) -> String {
    let (head, era) = match text.strip_suffix(" BC") {
        Some(head) => (head, " BC"),
        None => (text, ""),
    };
    match head.rfind(['+', '-']) {
        Some(at) if head.len() - at == 3 => format!("{head}:00{era}"),
        _ => text.to_string(),
    }
}

fn bytes(cx: &FnCtx, data: &[u8]) -> String {
    if !cx.env.format().xml_base64 {
        return data.iter().map(|b| format!("{b:02X}")).collect();
    }
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in data.chunks(3) {
        let byte = |i: usize| chunk.get(i).copied().unwrap_or(0) as u32;
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            match i <= chunk.len() {
                true => out.push(LETTERS[(word >> (18 - 6 * i) & 63) as usize] as char),
                false => out.push('='),
            }
        }
    }
    out
}

/// The usual text of a value.
fn text_out(ty: Oid, value: &Datum, io: &IoCtx) -> Result<String> {
    let mut out = Vec::new();
    types::io::output(ty, value, io, &mut out)?;
    Ok(String::from_utf8(out).unwrap_or_default())
}
