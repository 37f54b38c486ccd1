//! Rows in the form clients get: each value as text or binary, right into the sink's buffer.

use crate::sink::{ResultColumn, ResultFormat, Sink};
use base::{Oid, Result};
use types::batch::ColumnData;
use types::io::IoCtx;
use types::{Batch, Column, Datum, oid};

/// How a column's values are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// An integer's digits.
    Digits,
    /// An integer's bytes, big-endian.
    BigEndian,
    /// The bytes as they are.
    Plain,
    /// By the type's output function.
    Output,
    /// By the type's send function.
    Send,
}

/// Writes rows of a result.
pub struct RowWriter {
    columns: Vec<(Oid, Way)>,
    /// A format code among them that does not exist.
    unknown: Option<i16>,
}

fn way(type_oid: Oid, format: ResultFormat) -> Way {
    let text = format == ResultFormat::Text;
    match type_oid {
        oid::INT2 | oid::INT4 | oid::INT8 | oid::OID => {
            if text {
                Way::Digits
            } else {
                Way::BigEndian
            }
        }
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::UNKNOWN => Way::Plain,
        _ if text => Way::Output,
        _ => Way::Send,
    }
}

impl RowWriter {
    /// For rows of these columns; formats as in a Bind message: none, one for all, or one each.
    pub fn new(columns: &[ResultColumn], formats: &[ResultFormat]) -> RowWriter {
        let format = |i: usize| match formats {
            [] => ResultFormat::Text,
            [one] => *one,
            each => each.get(i).copied().unwrap_or_default(),
        };
        let unknown = (0..columns.len()).find_map(|i| match format(i) {
            ResultFormat::Unknown(code) => Some(code),
            _ => None,
        });
        let columns = columns.iter().enumerate();
        RowWriter {
            columns: columns.map(|(i, c)| (c.type_oid, way(c.type_oid, format(i)))).collect(),
            unknown,
        }
    }

    /// Fails if a format is not known: the first row finds that out.
    #[inline]
    fn check_formats(&self) -> Result<()> {
        match self.unknown {
            None => Ok(()),
            Some(code) => {
                Err(base::err!(INVALID_PARAMETER_VALUE, "unsupported format code: {code}"))
            }
        }
    }

    /// Hands the rows that a batch's selection names to the sink. The batch may have more columns
    /// than the result; the first ones count.
    pub fn batch(&self, batch: &Batch, io: &IoCtx<'_>, sink: &mut dyn Sink) -> Result<()> {
        for i in batch.positions() {
            self.check_formats()?;
            let Some(out) = sink.row_buffer() else { return sink.batch(batch) };
            out.extend_from_slice(&(self.columns.len() as u16).to_be_bytes());
            for ((type_oid, way), column) in self.columns.iter().zip(&batch.columns) {
                value_of(*type_oid, *way, column, i, io, out)?;
            }
            sink.row_done()?;
        }
        Ok(())
    }

    /// Hands one row to the sink, if its columns are of types that need nothing of the session to
    /// be written; false if they are not, and nothing was done.
    pub fn row_alone(&self, values: &[Datum], sink: &mut dyn Sink) -> Result<bool> {
        self.check_formats()?;
        let alone = |what: (Way, &Datum)| {
            use Datum::{Bytes, I16, I32, I64, Null, U32};
            matches!(
                what,
                (_, Null)
                    | (Way::Plain, Bytes(_))
                    | (Way::Digits, I16(_) | I32(_) | I64(_) | U32(_))
            )
        };
        if !self.columns.iter().zip(values).all(|((_, way), value)| alone((*way, value))) {
            return Ok(false);
        }
        let Some(out) = sink.row_buffer() else { return sink.row(values).map(|()| true) };
        out.extend_from_slice(&(self.columns.len() as u16).to_be_bytes());
        for value in &values[..self.columns.len()] {
            match value {
                Datum::Null => null(out),
                Datum::Bytes(text) => bytes(out, text),
                number => digits(out, number.to_i64()),
            }
        }
        sink.row_done()?;
        Ok(true)
    }

    /// Hands one row to the sink.
    pub fn row(&self, values: &[Datum], io: &IoCtx<'_>, sink: &mut dyn Sink) -> Result<()> {
        self.check_formats()?;
        let Some(out) = sink.row_buffer() else { return sink.row(values) };
        out.extend_from_slice(&(self.columns.len() as u16).to_be_bytes());
        for ((type_oid, way), value) in self.columns.iter().zip(values) {
            datum(*type_oid, *way, value, io, out)?;
        }
        sink.row_done()
    }
}

/// Appends a value's length and bytes; `write` writes the bytes.
#[inline]
fn sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out)?;
    let len = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

fn null(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1i32).to_be_bytes());
}

#[inline]
fn digits(out: &mut Vec<u8>, n: i64) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(n).as_bytes();
    out.extend_from_slice(&(text.len() as u32).to_be_bytes());
    out.extend_from_slice(text);
}

#[inline]
fn bytes(out: &mut Vec<u8>, b: &[u8]) {
    out.extend_from_slice(&(b.len() as u32).to_be_bytes());
    out.extend_from_slice(b);
}

#[inline]
fn value_of(
    type_oid: Oid,
    way: Way,
    column: &Column,
    i: usize,
    io: &IoCtx<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    if column.is_null(i) {
        null(out);
        return Ok(());
    }
    match (way, &column.data) {
        (Way::Digits, ColumnData::I32(v)) => digits(out, v[i] as i64),
        (Way::Digits, ColumnData::I64(v)) => digits(out, v[i]),
        (Way::Digits, ColumnData::I16(v)) => digits(out, v[i] as i64),
        (Way::Digits, ColumnData::U32(v)) => digits(out, v[i] as i64),
        (Way::BigEndian, ColumnData::I32(v)) => bytes(out, &v[i].to_be_bytes()),
        (Way::BigEndian, ColumnData::I64(v)) => bytes(out, &v[i].to_be_bytes()),
        (Way::BigEndian, ColumnData::I16(v)) => bytes(out, &v[i].to_be_bytes()),
        (Way::BigEndian, ColumnData::U32(v)) => bytes(out, &v[i].to_be_bytes()),
        (Way::Plain, ColumnData::Bytes(v)) if !io.format.client_encoding.is_converted() => {
            bytes(out, v.get(i))
        }
        (_, data) => return datum(type_oid, way, &data.get(i), io, out),
    }
    Ok(())
}

fn datum(type_oid: Oid, way: Way, value: &Datum, io: &IoCtx<'_>, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        null(out);
        return Ok(());
    }
    match way {
        Way::BigEndian | Way::Send => sized(out, |out| types::io::send(type_oid, value, io, out)),
        _ => sized(out, |out| {
            let start = out.len();
            types::io::output(type_oid, value, io, out)?;
            types::io::to_client(out, start, io)
        }),
    }
}
