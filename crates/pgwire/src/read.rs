//! Reading numbers and strings off a message.

use base::{Result, Severity, err};

/// A message's bytes, from the front.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

/// The error for a message that is not laid out as its type says.
#[cold]
pub fn malformed(what: &str) -> base::Error {
    err!(PROTOCOL_VIOLATION, "{what}")
}

/// The same, ending the connection.
#[cold]
pub fn fatal(what: String) -> base::Error {
    err!(PROTOCOL_VIOLATION, "{what}").severity(Severity::Fatal)
}

impl<'a> Reader<'a> {
    /// The next `n` bytes.
    #[inline]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, tail) = self
            .0
            .split_at_checked(n)
            .ok_or_else(|| malformed("insufficient data left in message"))?;
        self.0 = tail;
        Ok(head)
    }

    /// The next byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.bytes(1)?[0])
    }

    /// The next two bytes.
    #[inline]
    pub fn i16(&mut self) -> Result<i16> {
        let b = self.bytes(2)?;
        Ok(i16::from_be_bytes([b[0], b[1]]))
    }

    /// The next two bytes, unsigned.
    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        Ok(self.i16()? as u16)
    }

    /// The next four bytes.
    #[inline]
    pub fn i32(&mut self) -> Result<i32> {
        let b = self.bytes(4)?;
        Ok(i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// The next four bytes, unsigned.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        Ok(self.i32()? as u32)
    }

    /// Bytes up to a NUL, which is skipped.
    pub fn cstr(&mut self) -> Result<&'a [u8]> {
        let n = memchr::memchr(0, self.0).ok_or_else(|| malformed("invalid string in message"))?;
        let s = &self.0[..n];
        self.0 = &self.0[n + 1..];
        Ok(s)
    }

    /// A string up to a NUL; must be UTF-8.
    #[inline]
    pub fn text(&mut self) -> Result<&'a str> {
        // Most names are empty.
        if let [0, rest @ ..] = self.0 {
            self.0 = rest;
            return Ok("");
        }
        utf8(self.cstr()?)
    }

    /// Fails unless everything was read.
    #[inline]
    pub fn end(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(malformed("invalid message format")) }
    }
}

/// The bytes as text.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        // As many bytes as the first one promises.
        let n = match bytes[at] {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        let shown: Vec<String> = bytes[at..].iter().take(n).map(|b| format!("0x{b:02x}")).collect();
        err!(
            CHARACTER_NOT_IN_REPERTOIRE,
            "invalid byte sequence for encoding \"UTF8\": {}",
            shown.join(" ")
        )
    })
}
