//! Results of statements as messages.

use super::text;
use super::wire::{FLUSH_AT, Wire};
use base::{Error, Oid, Result, err};
use engine::sink::{ResultColumn, ResultFormat, Sink};
use pgwire::backend::{self, Field};
use pgwire::frontend::{self, Message};
use smallvec::SmallVec;
use types::Datum;
use types::encoding::Encoding;

/// Appends messages to a connection's output; sends when much has come together.
pub struct WireSink<'a> {
    wire: &'a mut Wire,
    /// Types and formats that were described last.
    columns: SmallVec<[(Oid, ResultFormat); 8]>,
    /// Where the row began that is being written.
    row: Option<usize>,
    /// Where the output was that may be taken back, as long as nothing was sent.
    mark: Option<usize>,
}

impl Drop for WireSink<'_> {
    fn drop(&mut self) {
        self.output();
    }
}

impl<'a> WireSink<'a> {
    /// Results go to this connection.
    pub fn new(wire: &'a mut Wire) -> WireSink<'a> {
        WireSink { wire, columns: SmallVec::new(), row: None, mark: None }
    }

    /// Where the next message goes. A row that was not completed never was.
    fn output(&mut self) -> &mut Vec<u8> {
        if let Some(start) = self.row.take() {
            self.wire.out.truncate(start);
        }
        &mut self.wire.out
    }

    #[inline]
    fn maybe_send(&mut self) -> Result<()> {
        if self.wire.out.len() < FLUSH_AT {
            return Ok(());
        }
        self.mark = None;
        self.wire.send_blocking()
    }
}

fn code(format: ResultFormat) -> i16 {
    match format {
        ResultFormat::Text => pgwire::TEXT,
        ResultFormat::Binary => pgwire::BINARY,
        ResultFormat::Unknown(code) => code,
    }
}

/// The format of column `i`, given none, one for all, or one each.
fn format_of(formats: &[ResultFormat], i: usize) -> ResultFormat {
    match formats {
        [] => ResultFormat::Text,
        [one] => *one,
        each => each.get(i).copied().unwrap_or_default(),
    }
}

/// The longest message, as PostgreSQL's buffers have it.
const LONGEST: usize = 0x3fff_ffff;

/// Takes a row back that is longer than a message may be.
#[inline]
fn check_size(out: &mut Vec<u8>, start: usize) -> Result<()> {
    const HEAD: usize = 5;
    match out.len() - start - HEAD < LONGEST {
        true => Ok(()),
        false => Err(too_long(out, start, start + HEAD, LONGEST)),
    }
}

/// Which value did not fit any more.
#[cold]
fn too_long(out: &mut Vec<u8>, start: usize, body: usize, most: usize) -> Error {
    let (mut held, mut more) = (2, 0);
    while let Some(len) = out.get(body + held..body + held + 4) {
        held += 4;
        // NULL has a length below nothing.
        more = i32::from_be_bytes([len[0], len[1], len[2], len[3]]).max(0) as usize;
        if more >= most.saturating_sub(held) {
            break;
        }
        held += more;
    }
    out.truncate(start);
    out.shrink_to_fit();
    err!(PROGRAM_LIMIT_EXCEEDED, "string buffer exceeds maximum allowed length ({most} bytes)")
        .detail(format!(
            "Cannot enlarge string buffer containing {held} bytes by {more} more bytes."
        ))
}

impl Sink for WireSink<'_> {
    fn row_description(
        &mut self,
        columns: &[ResultColumn],
        formats: &[ResultFormat],
    ) -> Result<()> {
        self.columns.clear();
        self.columns
            .extend(columns.iter().enumerate().map(|(i, c)| (c.type_oid, format_of(formats, i))));
        let fields = columns.iter().enumerate().map(|(i, c)| Field {
            name: &c.name,
            table: c.table,
            attnum: c.attnum,
            type_oid: c.type_oid,
            type_len: c.type_len,
            typmod: c.typmod,
            format: code(format_of(formats, i)),
        });
        let start = self.output().len();
        backend::row_description(&mut self.wire.out, fields);
        text::to_client(&mut self.wire.out, start, self.wire.encoding)
    }

    fn row(&mut self, values: &[Datum]) -> Result<()> {
        let start = self.output().len();
        let (columns, encoding) = (&self.columns, self.wire.encoding);
        let mut result = Ok(());
        backend::message(&mut self.wire.out, b'D', |out| {
            out.extend_from_slice(&(values.len() as u16).to_be_bytes());
            for (i, value) in values.iter().enumerate() {
                let start = out.len();
                out.extend_from_slice(&(-1i32).to_be_bytes());
                if value.is_null() {
                    continue;
                }
                let column = columns.get(i).copied();
                if let Err(e) = plain_text(column, value, encoding, out) {
                    result = Err(e);
                }
                let len = (out.len() - start - 4) as u32;
                out[start..start + 4].copy_from_slice(&len.to_be_bytes());
            }
        });
        result?;
        check_size(&mut self.wire.out, start)?;
        self.maybe_send()
    }

    #[inline]
    fn row_buffer(&mut self) -> Option<&mut Vec<u8>> {
        let out = &mut self.wire.out;
        match self.row {
            // What an error left of the row before.
            Some(start) => out.truncate(start + 5),
            None => {
                self.row = Some(out.len());
                out.extend_from_slice(b"D\0\0\0\0");
            }
        }
        Some(out)
    }

    #[inline]
    fn row_done(&mut self) -> Result<()> {
        if let Some(start) = self.row.take() {
            check_size(&mut self.wire.out, start)?;
            backend::end_message(&mut self.wire.out, start);
        }
        self.maybe_send()
    }

    fn mark(&mut self) {
        self.mark = Some(self.output().len());
    }

    fn take_back(&mut self) {
        if let Some(mark) = self.mark.take() {
            self.output().truncate(mark);
        }
    }

    fn command_complete(&mut self, tag: &str) -> Result<()> {
        backend::command_complete(self.output(), tag);
        Ok(())
    }

    fn empty_query(&mut self) -> Result<()> {
        backend::empty_query_response(self.output());
        Ok(())
    }

    fn portal_suspended(&mut self) -> Result<()> {
        backend::portal_suspended(self.output());
        Ok(())
    }

    fn notice(&mut self, notice: &Error) {
        let start = self.output().len();
        backend::error_or_notice(&mut self.wire.out, notice);
        // Notices always have something that can be told.
        let _ = text::to_client(&mut self.wire.out, start, self.wire.encoding);
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        if name == "client_encoding" {
            self.wire.encoding = Encoding::from_name(value).unwrap_or(Encoding::UTF8);
        }
        let start = self.output().len();
        backend::parameter_status(&mut self.wire.out, name, value);
        let _ = text::to_client(&mut self.wire.out, start, self.wire.encoding);
    }

    fn copy_in(&mut self, binary: bool, columns: usize) -> Result<()> {
        backend::copy_in_response(self.output(), binary, columns);
        self.wire.send_blocking()
    }

    fn copy_data_in(&mut self) -> Result<Option<Vec<u8>>> {
        let mut data: Vec<u8> = Vec::new();
        loop {
            let pending = self.wire.pending();
            let len = frontend::length(pending)?;
            let Some(len) = len.filter(|n| *n <= pending.len()) else {
                if !data.is_empty() {
                    return Ok(Some(data));
                }
                self.wire.send_blocking()?;
                self.wire.fill_blocking(len.unwrap_or(0))?;
                continue;
            };
            // What came before the end is given first.
            let first = pending[0];
            if !data.is_empty() && (first != b'd' || data.len() + len > 4 * FLUSH_AT) {
                return Ok(Some(data));
            }
            let mut lost = false;
            let end = match frontend::decode(&pending[..len])? {
                Message::CopyData(bytes) => {
                    data.extend_from_slice(bytes);
                    None
                }
                Message::CopyDone => Some(Ok(None)),
                Message::CopyFail(why) => {
                    Some(Err(err!(QUERY_CANCELED, "COPY from stdin failed: {why}")))
                }
                // Clients may send these without looking at what is going on.
                Message::Flush | Message::Sync => None,
                _ => {
                    lost = true;
                    Some(Err(err!(
                        PROTOCOL_VIOLATION,
                        "unexpected message type 0x{first:02X} during COPY from stdin"
                    )))
                }
            };
            self.wire.consume(len);
            self.wire.out_of_step |= lost;
            if let Some(end) = end {
                return end;
            }
        }
    }

    fn copy_out(&mut self, binary: bool, columns: usize) -> Result<()> {
        backend::copy_out_response(self.output(), binary, columns);
        Ok(())
    }

    fn copy_data_out(&mut self, data: &[u8]) -> Result<()> {
        backend::copy_data(self.output(), data);
        self.maybe_send()
    }

    fn copy_out_done(&mut self) -> Result<()> {
        backend::copy_done(self.output());
        Ok(())
    }

    fn notification(&mut self, pid: i32, channel: &str, payload: &str) {
        let start = self.output().len();
        backend::notification_response(&mut self.wire.out, pid, channel, payload);
        let _ = text::to_client(&mut self.wire.out, start, self.wire.encoding);
    }
}

/// Values of the few types that need neither catalog nor settings; the engine writes rows of others
/// itself, see [`Sink::row_buffer`].
fn plain_text(
    column: Option<(Oid, ResultFormat)>,
    value: &Datum,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<()> {
    use std::io::Write;
    let (type_oid, format) = column.unwrap_or_default();
    let binary = format == ResultFormat::Binary;
    // Writing to a Vec cannot fail.
    let _ = match value {
        Datum::Bool(b) if binary => out.write_all(&[*b as u8]),
        Datum::Bool(b) => out.write_all(if *b { b"t" } else { b"f" }),
        Datum::I16(n) if binary => out.write_all(&n.to_be_bytes()),
        Datum::I32(n) if binary => out.write_all(&n.to_be_bytes()),
        Datum::I64(n) if binary => out.write_all(&n.to_be_bytes()),
        Datum::U32(n) if binary => out.write_all(&n.to_be_bytes()),
        Datum::I16(n) => write!(out, "{n}"),
        Datum::I32(n) if type_oid != types::oid::DATE => write!(out, "{n}"),
        Datum::I64(n) if matches!(type_oid, types::oid::INT8 | Oid(0)) => write!(out, "{n}"),
        Datum::U32(n) => write!(out, "{n}"),
        Datum::Bytes(b)
            if matches!(
                type_oid,
                types::oid::TEXT
                    | types::oid::VARCHAR
                    | types::oid::BPCHAR
                    | types::oid::NAME
                    | types::oid::UNKNOWN
                    | types::oid::CSTRING
                    | Oid(0)
            ) =>
        {
            out.write_all(&encoding.encode(b)?)
        }
        _ => return Err(Error::internal(format!("row of type {type_oid} was not formatted"))),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_too_long_is_taken_back_and_told_by_the_value_that_did_not_fit() {
        let mut out = b"beforeD\0\0\0\0".to_vec();
        out.extend_from_slice(&3u16.to_be_bytes());
        for value in [Some(600), None, Some(600)] {
            out.extend_from_slice(&value.unwrap_or(-1i32).to_be_bytes());
            out.extend(std::iter::repeat_n(b'x', value.unwrap_or(0) as usize));
        }
        let e = too_long(&mut out, 6, 11, 1000);
        assert_eq!(e.message(), "string buffer exceeds maximum allowed length (1000 bytes)");
        let detail = "Cannot enlarge string buffer containing 614 bytes by 600 more bytes.";
        assert_eq!(e.fields().detail.as_deref(), Some(detail));
        assert_eq!(out, b"before");
    }
}
