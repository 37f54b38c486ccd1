//! What clients send after the startup packet.

use crate::FormatCode;
use crate::read::{Reader, fatal, malformed, utf8};
use base::{Oid, Result};
use smallvec::SmallVec;

/// No message of a usual kind is longer; PostgreSQL's limit for big ones.
const MAX_LENGTH: usize = 0x3FFF_FFFF;
/// Limit for messages that are never long.
const MAX_SMALL: usize = 30_000;

/// A statement or a portal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A prepared statement.
    Statement,
    /// A portal.
    Portal,
}

/// One message. Text and values borrow the bytes received.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<'a> {
    /// `Q`: run these statements.
    Query(&'a str),
    /// `P`: make a prepared statement.
    Parse {
        /// Its name; empty for the unnamed one.
        name: &'a str,
        /// Its text.
        query: &'a str,
        /// Types of the parameters, 0 to infer.
        types: Vec<Oid>,
    },
    /// `B`: make a portal.
    Bind(Box<Bind<'a>>),
    /// `D`: what would it return?
    Describe(Target, &'a str),
    /// `E`: run a portal.
    Execute {
        /// Its name.
        portal: &'a str,
        /// Rows at most; 0 for all.
        max_rows: i32,
    },
    /// `C`: forget it.
    Close(Target, &'a str),
    /// `S`: end of a group of messages.
    Sync,
    /// `H`: send what you have.
    Flush,
    /// `F`: call a function by its OID.
    FunctionCall(&'a [u8]),
    /// `d`: bytes of a COPY.
    CopyData(&'a [u8]),
    /// `c`: the COPY is complete.
    CopyDone,
    /// `f`: the COPY failed at the client.
    CopyFail(&'a str),
    /// `p`: a password, or the next step of a SASL exchange.
    Password(&'a [u8]),
    /// `X`: goodbye.
    Terminate,
}

/// Format codes of a message; there are seldom many.
pub type Formats = SmallVec<[FormatCode; 4]>;

/// A Bind message.
#[derive(Clone, Debug, PartialEq)]
pub struct Bind<'a> {
    /// Name of the portal to make.
    pub portal: &'a str,
    /// The prepared statement.
    pub statement: &'a str,
    /// How parameters are coded: none (text), one for all, or one each.
    pub formats: Formats,
    /// The parameters; None is NULL.
    pub parameters: SmallVec<[Option<&'a [u8]>; 8]>,
    /// How results shall be coded: none (text), one for all, or one each.
    pub result_formats: Formats,
}

impl Bind<'_> {
    /// How parameter `i` is coded.
    pub fn format(&self, i: usize) -> FormatCode {
        match self.formats[..] {
            [] => crate::TEXT,
            [one] => one,
            ref each => each.get(i).copied().unwrap_or(crate::TEXT),
        }
    }
}

/// Length of the first message in what has arrived, its type and length words included: None if
/// that is not known yet. The message itself may be incomplete.
#[inline]
pub fn length(bytes: &[u8]) -> Result<Option<usize>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let limit = most(bytes[0]);
    if limit == 0 {
        return Err(fatal(format!("invalid frontend message type {}", bytes[0])));
    }
    if bytes.len() < 5 {
        return Ok(None);
    }
    let len = Reader(&bytes[1..5]).u32()? as usize;
    if len < 4 || len > limit {
        return Err(fatal("invalid message length".into()));
    }
    Ok(Some(len + 1))
}

/// The length of a message of this kind at most, without its first byte; 0 if there is no such
/// kind.
#[inline]
fn most(kind: u8) -> usize {
    match kind {
        b'Q' | b'P' | b'B' | b'd' | b'F' => MAX_LENGTH,
        b'D' | b'E' | b'C' | b'S' | b'H' | b'c' | b'X' => MAX_SMALL,
        b'f' | b'p' => MAX_SMALL.max(65_536),
        _ => 0,
    }
}

/// What [`length`] says, if the message is whole and nothing is wrong with that.
#[inline]
pub fn whole(bytes: &[u8]) -> Option<usize> {
    let [kind, length @ ..] = bytes.first_chunk::<5>()?;
    let len = u32::from_be_bytes(*length) as usize;
    (len >= 4 && len <= most(*kind) && len < bytes.len()).then_some(len + 1)
}

/// Reads the message that `bytes` is exactly.
pub fn decode(bytes: &[u8]) -> Result<Message<'_>> {
    let mut r = Reader(bytes);
    let kind = r.u8()?;
    r.u32()?;
    let message = match kind {
        b'Q' => Message::Query(r.text()?),
        b'P' => {
            let (name, query) = (r.text()?, r.text()?);
            let n = r.u16()? as usize;
            let mut types = Vec::with_capacity(n.min(r.0.len() / 4));
            for _ in 0..n {
                types.push(Oid(r.u32()?));
            }
            Message::Parse { name, query, types }
        }
        b'B' => Message::Bind(Box::new(bind(&mut r)?)),
        b'D' => Message::Describe(target(&mut r, "DESCRIBE")?, r.text()?),
        b'E' => Message::Execute { portal: r.text()?, max_rows: r.i32()? },
        b'C' => Message::Close(target(&mut r, "CLOSE")?, r.text()?),
        b'S' => Message::Sync,
        b'H' => Message::Flush,
        b'F' => Message::FunctionCall(r.bytes(r.0.len())?),
        b'd' => Message::CopyData(r.bytes(r.0.len())?),
        b'c' => Message::CopyDone,
        b'f' => Message::CopyFail(r.text()?),
        b'p' => Message::Password(r.bytes(r.0.len())?),
        b'X' => Message::Terminate,
        other => return Err(fatal(format!("invalid frontend message type {other}"))),
    };
    r.end()?;
    Ok(message)
}

/// Reads the Bind message that `bytes` is exactly, as [`decode`] does.
pub fn decode_bind(bytes: &[u8]) -> Result<Bind<'_>> {
    let mut r = Reader(bytes);
    r.u8()?;
    r.u32()?;
    let bind = bind(&mut r)?;
    r.end()?;
    Ok(bind)
}

fn target(r: &mut Reader<'_>, message: &str) -> Result<Target> {
    match r.u8()? {
        b'S' => Ok(Target::Statement),
        b'P' => Ok(Target::Portal),
        other => Err(malformed(&format!("invalid {message} message subtype {other}"))),
    }
}

#[inline]
fn formats(r: &mut Reader<'_>) -> Result<Formats> {
    let n = r.u16()? as usize;
    let mut all = Formats::with_capacity(n.min(r.0.len() / 2));
    for _ in 0..n {
        all.push(r.i16()?);
    }
    Ok(all)
}

#[inline]
fn bind<'a>(r: &mut Reader<'a>) -> Result<Bind<'a>> {
    let (portal, statement) = (r.text()?, r.text()?);
    let formats_in = formats(r)?;
    let n = r.u16()? as usize;
    if formats_in.len() > 1 && formats_in.len() != n {
        let m = formats_in.len();
        let what = format!("bind message has {m} parameter formats but {n} parameters");
        return Err(malformed(&what));
    }
    let mut parameters = SmallVec::with_capacity(n.min(r.0.len() / 4));
    for _ in 0..n {
        let len = r.i32()?;
        parameters.push(if len < 0 { None } else { Some(r.bytes(len as usize)?) });
    }
    let result_formats = formats(r)?;
    Ok(Bind { portal, statement, formats: formats_in, parameters, result_formats })
}

/// A password message's text.
pub fn password_text(body: &[u8]) -> Result<&str> {
    let Some((0, text)) = body.split_last().map(|(l, t)| (*l, t)) else {
        return Err(malformed("invalid password packet size"));
    };
    utf8(text)
}

/// The first message of a SASL exchange: mechanism and initial response.
pub fn sasl_initial(body: &[u8]) -> Result<(&str, Option<&[u8]>)> {
    let mut r = Reader(body);
    let mechanism = r.text()?;
    let len = r.i32()?;
    let data = if len < 0 { None } else { Some(r.bytes(len as usize)?) };
    r.end()?;
    Ok((mechanism, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_read_or_refused() {
        for kind in b"QPBDECSHFdcfpXzZ\0".iter().copied() {
            for n in 0..120u32 {
                let mut m = vec![kind];
                m.extend((n + 4).to_be_bytes());
                m.extend((0..n).map(|i| ((i * 7919 + n * 31) >> 3) as u8 & 0x3F));
                let known = length(&m).ok().flatten();
                assert_eq!(whole(&m), known);
                assert_eq!(whole(&m[..m.len() - 1]), None);
                let _ = decode(&m);
            }
        }
    }

    #[test]
    fn bind_is_read() {
        let mut m = b"B\0\0\0\0p\0s\0".to_vec();
        m.extend([0, 1, 0, 1, 0, 2, 0, 0, 0, 4, 0, 0, 0, 9, 255, 255, 255, 255, 0, 1, 0, 1]);
        let n = m.len() as u32 - 1;
        m[1..5].copy_from_slice(&n.to_be_bytes());
        assert_eq!(length(&m).unwrap(), Some(m.len()));
        let Message::Bind(b) = decode(&m).unwrap() else { panic!() };
        assert_eq!((b.portal, b.statement), ("p", "s"));
        assert_eq!(b.parameters[..], [Some(&[0, 0, 0, 9][..]), None]);
        assert_eq!((b.format(1), &b.result_formats[..]), (1, &[1][..]));
    }
}
