//! The binary form of COPY.

use super::from::CopyIn;
use super::lines::Bytes;
use base::{Error, Result, bail, err};
use types::Datum;

/// What a file begins with.
pub const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// Takes bytes from pieces.
struct Reader<'a> {
    source: &'a mut dyn Bytes,
    buf: Vec<u8>,
    at: usize,
}

impl Reader<'_> {
    /// True if `n` more bytes are there.
    fn have(&mut self, n: usize) -> Result<bool> {
        while self.buf.len() - self.at < n {
            if self.at > 0 {
                self.buf.drain(..self.at);
                self.at = 0;
            }
            match self.source.more()? {
                Some(bytes) => self.buf.extend_from_slice(&bytes),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    fn take(&mut self, n: usize) -> Result<Option<&[u8]>> {
        if !self.have(n)? {
            return Ok(None);
        }
        self.at += n;
        Ok(Some(&self.buf[self.at - n..self.at]))
    }

    fn i32(&mut self) -> Result<Option<i32>> {
        Ok(self.take(4)?.and_then(|b| b.try_into().ok()).map(i32::from_be_bytes))
    }

    fn i16(&mut self) -> Result<Option<i16>> {
        Ok(self.take(2)?.and_then(|b| b.try_into().ok()).map(i16::from_be_bytes))
    }
}

fn unexpected_end() -> Error {
    err!(BAD_COPY_FILE_FORMAT, "unexpected EOF in COPY data")
}

/// Reads a whole binary file.
pub(super) fn read(copy: &mut CopyIn<'_>, source: &mut dyn Bytes) -> Result<()> {
    let mut r = Reader { source, buf: Vec::new(), at: 0 };
    header(&mut r)?;
    let mut number = 0;
    loop {
        number += 1;
        let count = match r.i16() {
            Ok(Some(n)) => n,
            // The protocol's own end of the data will do; pgx sends no trailer.
            Ok(None) => return Ok(()),
            Err(e) => return Err(copy.binary_error(e, number, None)),
        };
        if count == -1 {
            if r.take(1)?.is_some() {
                let e = err!(BAD_COPY_FILE_FORMAT, "received copy data after EOF marker");
                return Err(copy.binary_error(e, number, None));
            }
            return Ok(());
        }
        row(copy, &mut r, count, number)?;
        if copy.is_full() {
            copy.flush()?;
        }
    }
}

fn header(r: &mut Reader<'_>) -> Result<()> {
    match r.take(11)? {
        Some(b) if b == SIGNATURE => {}
        _ => bail!(BAD_COPY_FILE_FORMAT, "COPY file signature not recognized"),
    }
    let Some(flags) = r.i32()? else {
        bail!(BAD_COPY_FILE_FORMAT, "invalid COPY file header (missing flags)")
    };
    if flags & (1 << 16) != 0 {
        bail!(BAD_COPY_FILE_FORMAT, "invalid COPY file header (WITH OIDS)");
    }
    if flags >> 16 != 0 {
        bail!(BAD_COPY_FILE_FORMAT, "unrecognized critical flags in COPY file header");
    }
    let length = match r.i32()? {
        Some(n) if n >= 0 => n as usize,
        _ => bail!(BAD_COPY_FILE_FORMAT, "invalid COPY file header (missing length)"),
    };
    match r.take(length)? {
        Some(_) => Ok(()),
        None => Err(err!(BAD_COPY_FILE_FORMAT, "invalid COPY file header (wrong length)")),
    }
}

fn row(copy: &mut CopyIn<'_>, r: &mut Reader<'_>, count: i16, number: u64) -> Result<()> {
    let columns = copy.columns().len();
    if usize::try_from(count) != Ok(columns) {
        let e = err!(BAD_COPY_FILE_FORMAT, "row field count is {count}, expected {columns}");
        return Err(copy.binary_error(e, number, None));
    }
    let start = copy.new_row();
    for n in 0..columns {
        let value = field(copy, r, n).map_err(|e| copy.binary_error(e, number, Some(n)))?;
        copy.set(start, n, value);
    }
    copy.add(start, number).map_err(|e| copy.binary_error(e, number, None))
}

fn field(copy: &mut CopyIn<'_>, r: &mut Reader<'_>, n: usize) -> Result<Datum> {
    let length = r.i32()?.ok_or_else(unexpected_end)?;
    if length == -1 {
        return Ok(Datum::Null);
    }
    if length < 0 {
        bail!(BAD_COPY_FILE_FORMAT, "invalid field size");
    }
    let bytes = r.take(length as usize)?.ok_or_else(unexpected_end)?;
    let (ty, typmod) = {
        let c = &copy.columns()[n];
        (c.ty, c.typmod)
    };
    types::io::receive(ty, bytes, typmod, copy.io())
}
