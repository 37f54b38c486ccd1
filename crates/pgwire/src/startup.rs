//! The first packet of a connection.

use crate::read::{Reader, fatal, utf8};
use base::{Result, Severity, err};

/// Protocol 3.0.
pub const VERSION_3_0: u32 = 3 << 16;
/// The newest version that is spoken: 3.2, with cancel keys of any length.
pub const VERSION_3_2: u32 = 3 << 16 | 2;
const CANCEL: u32 = 1234 << 16 | 5678;
const SSL: u32 = 1234 << 16 | 5679;
const GSSENC: u32 = 1234 << 16 | 5680;
/// No startup packet is longer.
const MAX_LENGTH: usize = 10_000;

/// What a client begins with.
#[derive(Clone, Debug, PartialEq)]
pub enum Startup {
    /// May we encrypt with TLS? Answered by one byte, `S` or `N`.
    Ssl,
    /// May we encrypt with GSSAPI? Answered by one byte, `G` or `N`.
    GssEnc,
    /// Cancel the statement of this process.
    Cancel {
        /// From BackendKeyData.
        pid: i32,
        /// From BackendKeyData.
        key: Vec<u8>,
    },
    /// A session.
    Session(Parameters),
}

/// What a client wants of its session.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Parameters {
    /// The version asked for.
    pub version: u32,
    /// Names and values, in order.
    pub list: Vec<(String, String)>,
}

impl Parameters {
    /// A parameter's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.list.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Protocol options (`_pq_.name`) that the server does not know.
    pub fn unknown_options(&self) -> Vec<&str> {
        self.list.iter().map(|(n, _)| n.as_str()).filter(|n| n.starts_with("_pq_.")).collect()
    }
}

/// Reads the first packet from what has arrived: it and its length, or None if more must come.
pub fn decode(bytes: &[u8]) -> Result<Option<(Startup, usize)>> {
    if bytes.len() < 4 {
        return Ok(None);
    }
    let len = Reader(bytes).u32()? as usize;
    if !(8..=MAX_LENGTH).contains(&len) {
        return Err(fatal("invalid length of startup packet".into()));
    }
    if bytes.len() < len {
        return Ok(None);
    }
    let mut r = Reader(&bytes[4..len]);
    let version = r.u32()?;
    let message = match version {
        SSL => Startup::Ssl,
        GSSENC => Startup::GssEnc,
        CANCEL => {
            let pid =
                r.i32().map_err(|_| fatal("invalid length of cancel request packet".into()))?;
            Startup::Cancel { pid, key: r.0.to_vec() }
        }
        _ if version >> 16 == 3 => Startup::Session(parameters(version, r)?),
        _ => {
            let (major, minor) = (version >> 16, version & 0xFFFF);
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.2"
            )
            .severity(Severity::Fatal));
        }
    };
    Ok(Some((message, len)))
}

fn parameters(version: u32, mut r: Reader<'_>) -> Result<Parameters> {
    let bad = || fatal("invalid startup packet layout: expected terminator as last byte".into());
    let mut list = Vec::new();
    loop {
        // One byte that is left is taken as the end of the list, whatever it is.
        if r.0.len() == 1 {
            return Ok(Parameters { version, list });
        }
        let name = r.cstr().map_err(|_| bad())?;
        if name.is_empty() {
            break;
        }
        let value = r.cstr().map_err(|_| bad())?;
        list.push((utf8(name)?.to_string(), utf8(value)?.to_string()));
    }
    if !r.0.is_empty() {
        return Err(bad());
    }
    Ok(Parameters { version, list })
}

/// Appends a packet that begins a session.
pub fn encode_session(out: &mut Vec<u8>, version: u32, list: &[(&str, &str)]) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&version.to_be_bytes());
    for (name, value) in list {
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        out.extend_from_slice(value.as_bytes());
        out.push(0);
    }
    out.push(0);
    let len = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&len.to_be_bytes());
}

/// Appends a packet that cancels a statement.
pub fn encode_cancel(out: &mut Vec<u8>, pid: i32, key: &[u8]) {
    out.extend_from_slice(&(12 + key.len() as u32).to_be_bytes());
    out.extend_from_slice(&CANCEL.to_be_bytes());
    out.extend_from_slice(&pid.to_be_bytes());
    out.extend_from_slice(key);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_round_trip() {
        let mut out = Vec::new();
        encode_session(&mut out, VERSION_3_0, &[("user", "me"), ("database", "d")]);
        assert_eq!(decode(&out[..out.len() - 1]).unwrap(), None);
        let (m, n) = decode(&out).unwrap().unwrap();
        assert_eq!(n, out.len());
        let Startup::Session(p) = m else { panic!() };
        assert_eq!((p.get("user"), p.get("database"), p.version), (Some("me"), Some("d"), 196608));
    }

    #[test]
    fn cancel_round_trip_and_nonsense() {
        let mut out = Vec::new();
        encode_cancel(&mut out, 77, &[1, 2, 3, 4]);
        let want = Startup::Cancel { pid: 77, key: vec![1, 2, 3, 4] };
        assert_eq!(decode(&out).unwrap(), Some((want, 16)));
        for n in 0..200u32 {
            let junk: Vec<u8> = (0..n).map(|i| (i * 37 + n) as u8).collect();
            let _ = decode(&junk);
            let mut framed = (n + 4).to_be_bytes().to_vec();
            framed.extend(junk);
            let _ = decode(&framed);
        }
    }
}
