//! Texts of messages in the client's encoding.
//!
//! Messages are read and written as if they were UTF-8. For a client that uses another encoding
//! the texts in them are converted on the way: those it sends before the message is read, those it
//! gets after it was written. Values of rows and parameters are converted where they are made,
//! since that depends on their types.

use base::{Error, Result};
use pgwire::backend;
use types::encoding::Encoding;

/// A message that is made from another.
struct Copier<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
}

impl<'a> Copier<'a> {
    /// What comes after kind and length.
    fn new(message: &'a [u8]) -> Copier<'a> {
        let (head, rest) = message.split_at(message.len().min(5));
        Copier { rest, out: head.to_vec() }
    }

    /// So many bytes as they are.
    fn plain(&mut self, n: usize) {
        let (bytes, rest) = self.rest.split_at(n.min(self.rest.len()));
        self.out.extend_from_slice(bytes);
        self.rest = rest;
    }

    /// A text up to its zero; one without a zero is left for the reader to complain about.
    fn text(
        &mut self,
        convert: impl FnOnce(&'a [u8]) -> Result<std::borrow::Cow<'a, [u8]>>,
    ) -> Result<()> {
        let Some(n) = self.rest.iter().position(|b| *b == 0) else { return Ok(()) };
        let (bytes, rest) = self.rest.split_at(n);
        self.out.extend_from_slice(&convert(bytes)?);
        self.rest = rest;
        self.plain(1);
        Ok(())
    }

    /// The message, the rest as it is.
    fn finish(mut self) -> Vec<u8> {
        self.plain(self.rest.len());
        if self.out.len() >= 5 {
            backend::end_message(&mut self.out, 0);
        }
        self.out
    }
}

/// A client's message with its names and statements in UTF-8.
pub fn from_client(message: &[u8], encoding: Encoding) -> Result<Vec<u8>> {
    let mut copy = Copier::new(message);
    let texts = match message.first() {
        Some(b'Q' | b'E' | b'f') => 1,
        Some(b'P' | b'B') => 2,
        Some(b'D' | b'C') => {
            copy.plain(1);
            1
        }
        _ => 0,
    };
    for _ in 0..texts {
        copy.text(|b| encoding.decode(b))?;
    }
    Ok(copy.finish())
}

/// Puts the texts of the message that began at `start` of the output in the client's encoding. An
/// error that cannot be told in it becomes the error about that.
pub fn to_client(out: &mut Vec<u8>, start: usize, encoding: Encoding) -> Result<()> {
    if !encoding.is_converted() || out[start..].is_ascii() {
        return Ok(());
    }
    let message = out.split_off(start);
    match converted(&message, encoding) {
        Ok(message) => out.extend_from_slice(&message),
        Err(e) if matches!(message.first(), Some(b'E' | b'N')) => told(out, &e),
        Err(e) => return Err(e),
    }
    Ok(())
}

fn told(out: &mut Vec<u8>, e: &Error) {
    backend::error_or_notice(out, e);
}

fn converted(message: &[u8], encoding: Encoding) -> Result<Vec<u8>> {
    let mut copy = Copier::new(message);
    match message.first() {
        Some(b'T') => {
            copy.plain(2);
            while !copy.rest.is_empty() {
                copy.text(|b| encoding.encode(b))?;
                copy.plain(18);
            }
        }
        Some(b'E' | b'N') => {
            while copy.rest.len() > 1 {
                copy.plain(1);
                copy.text(|b| encoding.encode(b))?;
            }
        }
        Some(b'A' | b'S') => {
            copy.plain(if message[0] == b'A' { 4 } else { 0 });
            for _ in 0..2 {
                copy.text(|b| encoding.encode(b))?;
            }
        }
        _ => {}
    }
    Ok(copy.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_converted_and_lengths_with_them() {
        let latin = Encoding::LATIN1;
        let sent = b"Q\0\0\0\x09caf\xe9\0";
        assert_eq!(from_client(sent, latin).unwrap(), "Q\0\0\0\u{a}café\0".as_bytes());
        let mut out = b"before".to_vec();
        backend::error_or_notice(&mut out, &base::err!(SYNTAX_ERROR, "no é"));
        to_client(&mut out, 6, latin).unwrap();
        assert!(out.windows(5).any(|w| w == b"no \xe9\0"));
        let length = u32::from_be_bytes(out[7..11].try_into().unwrap()) as usize;
        assert_eq!(out.len(), 6 + 1 + length);
        out.clear();
        backend::error_or_notice(&mut out, &base::err!(SYNTAX_ERROR, "no €"));
        to_client(&mut out, 0, latin).unwrap();
        assert!(String::from_utf8_lossy(&out).contains("has no equivalent in encoding \"LATIN1\""));
    }

    #[test]
    fn messages_that_are_none_are_left_alone() {
        for message in
            [&b""[..], b"Q", b"Q\0\0\0\x08abc\xe9", b"B\0\0\0\x06\xe9\0", b"D\0\0\0\x05S"]
        {
            let _ = from_client(message, Encoding::LATIN1);
            let _ = converted(message, Encoding::LATIN1);
        }
    }
}
