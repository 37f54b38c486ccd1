//! What the server sends. Each function appends one whole message.

use crate::FormatCode;
use base::{Error, Oid, Severity};

/// Appends a message of this type; `body` writes what follows the length.
#[inline]
pub fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[kind, 0, 0, 0, 0]);
    body(out);
    end_message(out, start);
}

/// Sets the length of the message that began at `start`.
#[inline]
pub fn end_message(out: &mut [u8], start: usize) {
    let len = (out.len() - start - 1) as u32;
    out[start + 1..start + 5].copy_from_slice(&len.to_be_bytes());
}

fn cstr(out: &mut Vec<u8>, s: &str) {
    // A NUL would end the string at the client.
    match memchr::memchr(0, s.as_bytes()) {
        None => out.extend_from_slice(s.as_bytes()),
        Some(_) => out.extend(s.bytes().filter(|b| *b != 0)),
    }
    out.push(0);
}

fn empty(out: &mut Vec<u8>, kind: u8) {
    out.extend_from_slice(&[kind, 0, 0, 0, 4]);
}

/// What the client has to do to prove who it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Authentication<'a> {
    /// Nothing more.
    Ok,
    /// Send the password as it is.
    CleartextPassword,
    /// Send the password hashed with this salt.
    Md5Password([u8; 4]),
    /// Begin a SASL exchange with one of these mechanisms.
    Sasl(&'a [&'a str]),
    /// Go on with it.
    SaslContinue(&'a [u8]),
    /// It is done.
    SaslFinal(&'a [u8]),
}

/// `R`
pub fn authentication(out: &mut Vec<u8>, request: Authentication<'_>) {
    message(out, b'R', |out| {
        let number = |out: &mut Vec<u8>, n: u32| out.extend_from_slice(&n.to_be_bytes());
        match request {
            Authentication::Ok => number(out, 0),
            Authentication::CleartextPassword => number(out, 3),
            Authentication::Md5Password(salt) => {
                number(out, 5);
                out.extend_from_slice(&salt);
            }
            Authentication::Sasl(mechanisms) => {
                number(out, 10);
                mechanisms.iter().for_each(|m| cstr(out, m));
                out.push(0);
            }
            Authentication::SaslContinue(data) => {
                number(out, 11);
                out.extend_from_slice(data);
            }
            Authentication::SaslFinal(data) => {
                number(out, 12);
                out.extend_from_slice(data);
            }
        }
    });
}

/// `S`: a setting's value.
pub fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    message(out, b'S', |out| {
        cstr(out, name);
        cstr(out, value);
    });
}

/// `K`: what a cancel request must name.
pub fn backend_key_data(out: &mut Vec<u8>, pid: i32, key: &[u8]) {
    message(out, b'K', |out| {
        out.extend_from_slice(&pid.to_be_bytes());
        out.extend_from_slice(key);
    });
}

/// `v`: the newest minor version spoken, and the options not known.
pub fn negotiate_protocol_version(out: &mut Vec<u8>, version: u32, options: &[&str]) {
    message(out, b'v', |out| {
        out.extend_from_slice(&version.to_be_bytes());
        out.extend_from_slice(&(options.len() as u32).to_be_bytes());
        options.iter().for_each(|o| cstr(out, o));
    });
}

/// `Z`: ready; `I` idle, `T` in a transaction, `E` in a failed one.
#[inline]
pub fn ready_for_query(out: &mut Vec<u8>, status: u8) {
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

/// A column as RowDescription tells it.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// The table it comes from, or 0.
    pub table: Oid,
    /// Its number there, or 0.
    pub attnum: i16,
    /// Its type.
    pub type_oid: Oid,
    /// Bytes of the type, -1 if varlena.
    pub type_len: i16,
    /// The type's modifier.
    pub typmod: i32,
    /// How values are coded.
    pub format: FormatCode,
}

/// `T`
pub fn row_description<'a>(out: &mut Vec<u8>, fields: impl ExactSizeIterator<Item = Field<'a>>) {
    message(out, b'T', |out| {
        out.extend_from_slice(&(fields.len() as u16).to_be_bytes());
        for f in fields {
            cstr(out, f.name);
            let mut rest = [0; 18];
            rest[..4].copy_from_slice(&f.table.0.to_be_bytes());
            rest[4..6].copy_from_slice(&f.attnum.to_be_bytes());
            rest[6..10].copy_from_slice(&f.type_oid.0.to_be_bytes());
            rest[10..12].copy_from_slice(&f.type_len.to_be_bytes());
            rest[12..16].copy_from_slice(&f.typmod.to_be_bytes());
            rest[16..].copy_from_slice(&f.format.to_be_bytes());
            out.extend_from_slice(&rest);
        }
    });
}

/// `D` with a body that is ready: column count, then lengths and values.
#[inline]
pub fn data_row_body(out: &mut Vec<u8>, body: &[u8]) {
    out.push(b'D');
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

/// `D` from values; None is NULL.
pub fn data_row(out: &mut Vec<u8>, values: &[Option<&[u8]>]) {
    message(out, b'D', |out| {
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for v in values {
            match v {
                None => out.extend_from_slice(&(-1i32).to_be_bytes()),
                Some(v) => {
                    out.extend_from_slice(&(v.len() as u32).to_be_bytes());
                    out.extend_from_slice(v);
                }
            }
        }
    });
}

/// `C`
#[inline]
pub fn command_complete(out: &mut Vec<u8>, tag: &str) {
    message(out, b'C', |out| cstr(out, tag));
}

/// `I`: the query string was empty.
pub fn empty_query_response(out: &mut Vec<u8>) {
    empty(out, b'I');
}

/// `1`
#[inline]
pub fn parse_complete(out: &mut Vec<u8>) {
    empty(out, b'1');
}

/// `2`
#[inline]
pub fn bind_complete(out: &mut Vec<u8>) {
    empty(out, b'2');
}

/// `3`
pub fn close_complete(out: &mut Vec<u8>) {
    empty(out, b'3');
}

/// `n`: it returns no rows.
pub fn no_data(out: &mut Vec<u8>) {
    empty(out, b'n');
}

/// `s`
pub fn portal_suspended(out: &mut Vec<u8>) {
    empty(out, b's');
}

/// `t`: types of a prepared statement's parameters.
pub fn parameter_description(out: &mut Vec<u8>, types: &[Oid]) {
    message(out, b't', |out| {
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        types.iter().for_each(|t| out.extend_from_slice(&t.0.to_be_bytes()));
    });
}

fn copy_response(out: &mut Vec<u8>, kind: u8, binary: bool, columns: usize) {
    message(out, kind, |out| {
        out.push(binary as u8);
        out.extend_from_slice(&(columns as u16).to_be_bytes());
        for _ in 0..columns {
            out.extend_from_slice(&(binary as u16).to_be_bytes());
        }
    });
}

/// `G`: send the data.
pub fn copy_in_response(out: &mut Vec<u8>, binary: bool, columns: usize) {
    copy_response(out, b'G', binary, columns);
}

/// `H`: here comes the data.
pub fn copy_out_response(out: &mut Vec<u8>, binary: bool, columns: usize) {
    copy_response(out, b'H', binary, columns);
}

/// `W`: both.
pub fn copy_both_response(out: &mut Vec<u8>, binary: bool, columns: usize) {
    copy_response(out, b'W', binary, columns);
}

/// `d`
pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'd', |out| out.extend_from_slice(data));
}

/// `c`
pub fn copy_done(out: &mut Vec<u8>) {
    empty(out, b'c');
}

/// `V`: what a function call by OID gave.
pub fn function_call_response(out: &mut Vec<u8>, value: Option<&[u8]>) {
    message(out, b'V', |out| match value {
        None => out.extend_from_slice(&(-1i32).to_be_bytes()),
        Some(v) => {
            out.extend_from_slice(&(v.len() as u32).to_be_bytes());
            out.extend_from_slice(v);
        }
    });
}

/// `A`
pub fn notification_response(out: &mut Vec<u8>, pid: i32, channel: &str, payload: &str) {
    message(out, b'A', |out| {
        out.extend_from_slice(&pid.to_be_bytes());
        cstr(out, channel);
        cstr(out, payload);
    });
}

/// `E` or `N`, by the severity. `routine` tells where in the server, or is empty.
pub fn error_or_notice(out: &mut Vec<u8>, error: &Error) {
    let f = error.fields();
    let kind = if f.severity >= Severity::Error { b'E' } else { b'N' };
    message(out, kind, |out| {
        let mut field = |code: u8, value: &str| {
            out.push(code);
            cstr(out, value);
        };
        field(b'S', f.severity.as_str());
        field(b'V', f.severity.as_str());
        field(b'C', f.code.as_str());
        field(b'M', &f.message);
        let mut optional = |code: u8, value: &Option<String>| {
            if let Some(value) = value {
                field(code, value);
            }
        };
        optional(b'D', &f.detail);
        optional(b'H', &f.hint);
        optional(b'P', &f.position.map(|p| p.to_string()));
        optional(b'p', &f.internal_position.map(|p| p.to_string()));
        optional(b'q', &f.internal_query);
        optional(b'W', &f.context);
        optional(b's', &f.schema);
        optional(b't', &f.table);
        optional(b'c', &f.column);
        optional(b'd', &f.data_type);
        optional(b'n', &f.constraint);
        optional(b'R', &f.routine.map(str::to_string));
        out.push(0);
    });
}
