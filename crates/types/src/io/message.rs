//! The bytes of a message, read one after another.

use base::{Error, Result, err};

/// What is left of a message.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

#[cold]
fn short() -> Error {
    err!(PROTOCOL_VIOLATION, "insufficient data left in message")
}

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n).ok_or_else(short)?;
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| short())
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        let byte = self.take(1).map(|b| b[0]);
        byte.map_err(|_| err!(PROTOCOL_VIOLATION, "no data left in message"))
    }

    /// A part with its length before it, which may not be negative.
    pub(crate) fn part(&mut self) -> Result<Reader<'a>> {
        let len = usize::try_from(self.i32()?).map_err(|_| short())?;
        self.take(len).map(Reader)
    }

    /// An element of a value, with its length before it; none for NULL.
    pub(crate) fn element(&mut self) -> Result<Option<Reader<'a>>> {
        let len = self.i32()?;
        if len == -1 {
            return Ok(None);
        }
        let found = usize::try_from(len).ok().and_then(|n| self.take(n).ok());
        let found = found.ok_or_else(|| {
            err!(INVALID_BINARY_REPRESENTATION, "insufficient data left in message")
        });
        found.map(|bytes| Some(Reader(bytes)))
    }

    /// Bytes up to a zero, which is left out.
    pub(crate) fn string(&mut self) -> Result<&'a [u8]> {
        let end = self.0.iter().position(|b| *b == 0);
        let end = end.ok_or_else(|| err!(PROTOCOL_VIOLATION, "invalid string in message"))?;
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Fails unless nothing is left.
    pub(crate) fn end(&self) -> Result<()> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(err!(PROTOCOL_VIOLATION, "invalid message format")),
        }
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        self.fixed::<1>().map(|b| b[0])
    }
    pub(crate) fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.fixed()?))
    }
    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.fixed()?))
    }
    pub(crate) fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.fixed()?))
    }
    pub(crate) fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.fixed()?))
    }
    pub(crate) fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_be_bytes(self.fixed()?))
    }
}
