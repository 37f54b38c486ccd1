//! The protocol as a client sees it: messages it sends, and the server's messages read.

use crate::backend::message;
use crate::read::{Reader, malformed, utf8};
use base::{Error, Oid, Result, Severity, SqlState};

fn cstr(out: &mut Vec<u8>, s: &str) {
    out.extend_from_slice(s.as_bytes());
    out.push(0);
}

/// `Q`
pub fn query(out: &mut Vec<u8>, text: &str) {
    message(out, b'Q', |out| cstr(out, text));
}

/// `P`
pub fn parse(out: &mut Vec<u8>, name: &str, text: &str, types: &[Oid]) {
    message(out, b'P', |out| {
        cstr(out, name);
        cstr(out, text);
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        types.iter().for_each(|t| out.extend_from_slice(&t.0.to_be_bytes()));
    });
}

/// `B`, with parameters and results as text.
pub fn bind(out: &mut Vec<u8>, portal: &str, statement: &str, parameters: &[Option<&[u8]>]) {
    message(out, b'B', |out| {
        cstr(out, portal);
        cstr(out, statement);
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
        for p in parameters {
            match p {
                None => out.extend_from_slice(&(-1i32).to_be_bytes()),
                Some(p) => {
                    out.extend_from_slice(&(p.len() as u32).to_be_bytes());
                    out.extend_from_slice(p);
                }
            }
        }
        out.extend_from_slice(&[0, 0]);
    });
}

/// `B` with one parameter in its type's binary form.
pub fn bind_binary(out: &mut Vec<u8>, portal: &str, statement: &str, parameter: &[u8]) {
    message(out, b'B', |out| {
        cstr(out, portal);
        cstr(out, statement);
        out.extend_from_slice(&[0, 1, 0, 1, 0, 1]);
        out.extend_from_slice(&(parameter.len() as u32).to_be_bytes());
        out.extend_from_slice(parameter);
        out.extend_from_slice(&[0, 0]);
    });
}

/// `D` of a statement (`S`) or portal (`P`).
pub fn describe(out: &mut Vec<u8>, kind: u8, name: &str) {
    message(out, b'D', |out| {
        out.push(kind);
        cstr(out, name);
    });
}

/// `E`
pub fn execute(out: &mut Vec<u8>, portal: &str, max_rows: i32) {
    message(out, b'E', |out| {
        cstr(out, portal);
        out.extend_from_slice(&max_rows.to_be_bytes());
    });
}

/// `C` of a statement (`S`) or portal (`P`).
pub fn close(out: &mut Vec<u8>, kind: u8, name: &str) {
    message(out, b'C', |out| {
        out.push(kind);
        cstr(out, name);
    });
}

/// `S`
pub fn sync(out: &mut Vec<u8>) {
    message(out, b'S', |_| {});
}

/// `d`
pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'd', |out| out.extend_from_slice(data));
}

/// `c`
pub fn copy_done(out: &mut Vec<u8>) {
    message(out, b'c', |_| {});
}

/// `f`
pub fn copy_fail(out: &mut Vec<u8>, why: &str) {
    message(out, b'f', |out| cstr(out, why));
}

/// `p` with a password.
pub fn password(out: &mut Vec<u8>, password: &str) {
    message(out, b'p', |out| cstr(out, password));
}

/// `p` that begins a SASL exchange.
pub fn sasl_initial(out: &mut Vec<u8>, mechanism: &str, data: &[u8]) {
    message(out, b'p', |out| {
        cstr(out, mechanism);
        out.extend_from_slice(&(data.len() as u32).to_be_bytes());
        out.extend_from_slice(data);
    });
}

/// `p` that goes on with it.
pub fn sasl_response(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'p', |out| out.extend_from_slice(data));
}

/// `X`
pub fn terminate(out: &mut Vec<u8>) {
    message(out, b'X', |_| {});
}

/// A message from the server: its type and body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received<'a> {
    /// The type.
    pub kind: u8,
    /// What follows the length.
    pub body: &'a [u8],
}

/// The first message in what has arrived, and its length; None if more must come.
pub fn decode(bytes: &[u8]) -> Result<Option<(Received<'_>, usize)>> {
    if bytes.len() < 5 {
        return Ok(None);
    }
    let len = Reader(&bytes[1..5]).u32()? as usize;
    if len < 4 {
        return Err(malformed("message contents do not agree with length in message"));
    }
    Ok(bytes.get(5..len + 1).map(|body| (Received { kind: bytes[0], body }, len + 1)))
}

/// Column names and types of a RowDescription.
pub fn row_description(body: &[u8]) -> Result<Vec<(String, Oid)>> {
    let mut r = Reader(body);
    let n = r.u16()?;
    let mut out = Vec::new();
    for _ in 0..n {
        let name = r.text()?.to_string();
        r.bytes(6)?;
        let type_oid = Oid(r.u32()?);
        r.bytes(8)?;
        out.push((name, type_oid));
    }
    Ok(out)
}

/// Values of a DataRow.
pub fn data_row(body: &[u8]) -> Result<Vec<Option<&[u8]>>> {
    let mut r = Reader(body);
    let n = r.u16()?;
    let mut out = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let len = r.i32()?;
        out.push(if len < 0 { None } else { Some(r.bytes(len as usize)?) });
    }
    Ok(out)
}

/// The text of a CommandComplete.
pub fn command_tag(body: &[u8]) -> Result<&str> {
    Reader(body).text()
}

/// Name and value of a ParameterStatus.
pub fn parameter_status(body: &[u8]) -> Result<(&str, &str)> {
    let mut r = Reader(body);
    Ok((r.text()?, r.text()?))
}

/// Process number and key of a BackendKeyData.
pub fn backend_key_data(body: &[u8]) -> Result<(i32, Vec<u8>)> {
    let mut r = Reader(body);
    let pid = r.i32()?;
    Ok((pid, r.0.to_vec()))
}

/// What an Authentication message asks: its number and data.
pub fn authentication(body: &[u8]) -> Result<(u32, &[u8])> {
    let mut r = Reader(body);
    let n = r.u32()?;
    Ok((n, r.0))
}

/// The error or notice of an ErrorResponse or NoticeResponse.
pub fn error(body: &[u8]) -> Result<Error> {
    let mut r = Reader(body);
    let mut e = Error::new(SqlState::INTERNAL_ERROR, "");
    loop {
        let code = r.u8()?;
        if code == 0 {
            return Ok(e);
        }
        let text = utf8(r.cstr()?)?.to_string();
        let f = e.fields_mut();
        match code {
            b'V' => f.severity = severity(&text),
            b'C' => f.code = SqlState::from_code(&text).unwrap_or(SqlState::INTERNAL_ERROR),
            b'M' => f.message = text,
            b'D' => f.detail = Some(text),
            b'H' => f.hint = Some(text),
            b'P' => f.position = text.parse().ok(),
            b'p' => f.internal_position = text.parse().ok(),
            b'q' => f.internal_query = Some(text),
            b'W' => f.context = Some(text),
            b's' => f.schema = Some(text),
            b't' => f.table = Some(text),
            b'c' => f.column = Some(text),
            b'd' => f.data_type = Some(text),
            b'n' => f.constraint = Some(text),
            _ => {}
        }
    }
}

fn severity(word: &str) -> Severity {
    match word {
        "DEBUG" => Severity::Debug,
        "LOG" => Severity::Log,
        "INFO" => Severity::Info,
        "NOTICE" => Severity::Notice,
        "WARNING" => Severity::Warning,
        "FATAL" => Severity::Fatal,
        "PANIC" => Severity::Panic,
        _ => Severity::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend;

    #[test]
    fn errors_round_trip() {
        let e = base::err!(UNIQUE_VIOLATION, "no").detail("d").constraint("k").table("s", "t");
        let mut out = Vec::new();
        backend::error_or_notice(&mut out, &e);
        let (m, n) = decode(&out).unwrap().unwrap();
        assert_eq!((m.kind, n), (b'E', out.len()));
        assert_eq!(error(m.body).unwrap(), e);
    }

    #[test]
    fn rows_round_trip() {
        let mut out = Vec::new();
        backend::data_row(&mut out, &[Some(b"x"), None]);
        assert_eq!(decode(&out[..6]).unwrap(), None);
        let (m, _) = decode(&out).unwrap().unwrap();
        assert_eq!(data_row(m.body).unwrap(), [Some(&b"x"[..]), None]);
    }
}
