//! COPY TO: rows into bytes.

use super::options::{Columns, CopyFormat, CopyOptions, Header};
use crate::sink::{ResultColumn, ResultFormat, Sink};
use base::progress::{self, Command, copy as figure};
use base::{Error, Oid, Result, bail};
use std::sync::Arc;
use types::encoding::Encoding;
use types::io::IoCtx;
use types::{Batch, Datum};

/// Where rows go.
pub(super) trait Target {
    /// One row's bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<()>;
}

/// COPY TO STDOUT.
pub(super) struct Stdout<'a>(pub &'a mut dyn Sink);

impl Target for Stdout<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.copy_data_out(bytes)
    }
}

/// COPY TO a file.
pub(super) struct ToFile {
    /// The file.
    pub file: os::File,
    /// What was not written yet.
    pub buf: Vec<u8>,
    /// Where it goes.
    pub at: u64,
}

impl ToFile {
    /// Writes what is left.
    pub fn finish(&mut self) -> Result<()> {
        if !self.buf.is_empty() {
            self.file.write_at(&self.buf, self.at).map_err(|e| {
                Error::new(base::SqlState::IO_ERROR, format!("could not write to COPY file: {e}"))
            })?;
            self.at += self.buf.len() as u64;
            self.buf.clear();
        }
        Ok(())
    }
}

impl Target for ToFile {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.buf.extend_from_slice(bytes);
        if self.buf.len() >= 1 << 16 { self.finish() } else { Ok(()) }
    }
}

/// One column of the output.
pub(super) struct OutColumn {
    pub name: Arc<str>,
    pub ty: Oid,
}

/// Writes rows. It is a sink, so that queries can be run into it.
pub(super) struct CopyOut<'a> {
    pub target: &'a mut dyn Target,
    pub options: &'a CopyOptions,
    pub io: IoCtx<'a>,
    pub columns: Vec<OutColumn>,
    pub force_quote: Vec<bool>,
    pub rows: u64,
    /// What rows are converted to.
    encoding: Encoding,
    line: Vec<u8>,
    value: Vec<u8>,
    pub notices: Vec<Error>,
}

impl<'a> CopyOut<'a> {
    pub fn new(
        target: &'a mut dyn Target,
        options: &'a CopyOptions,
        io: IoCtx<'a>,
        columns: Vec<OutColumn>,
    ) -> Result<CopyOut<'a>> {
        let mut force_quote = vec![options.force_quote == Columns::All; columns.len()];
        if let Columns::Named(names) = &options.force_quote {
            for name in names {
                match columns.iter().position(|c| *c.name == **name) {
                    Some(i) => force_quote[i] = true,
                    None => bail!(
                        INVALID_COLUMN_REFERENCE,
                        "FORCE_QUOTE column \"{name}\" not referenced by COPY"
                    ),
                }
            }
        }
        let encoding = match options.format {
            // Its values are converted each.
            CopyFormat::Binary => Encoding::UTF8,
            _ => options.encoding.unwrap_or(io.format.client_encoding),
        };
        Ok(CopyOut {
            encoding,
            target,
            options,
            io,
            columns,
            force_quote,
            rows: 0,
            line: Vec::new(),
            value: Vec::new(),
            notices: Vec::new(),
        })
    }

    /// What comes before the rows.
    pub fn begin(&mut self) -> Result<()> {
        self.line.clear();
        if self.options.format == CopyFormat::Binary {
            self.line.extend_from_slice(super::binary::SIGNATURE);
            self.line.extend_from_slice(&[0; 8]);
            // It goes out with the first row, or with the end.
            return Ok(());
        }
        if self.options.header == Header::No {
            return Ok(());
        }
        for i in 0..self.columns.len() {
            if i > 0 {
                self.line.push(self.options.delimiter);
            }
            let name = self.columns[i].name.clone();
            match self.options.format {
                CopyFormat::Csv => {
                    put_csv(&mut self.line, name.as_bytes(), false, self.options, false)
                }
                _ => put_text(&mut self.line, name.as_bytes(), self.options.delimiter),
            }
        }
        self.line.push(b'\n');
        let put = self.target.put(&self.encoding.encode(&self.line)?);
        self.line.clear();
        put
    }

    /// What comes after the rows.
    pub fn end(&mut self) -> Result<()> {
        match self.options.format {
            CopyFormat::Binary => {
                self.line.extend_from_slice(&(-1i16).to_be_bytes());
                self.target.put(&self.line)
            }
            _ => Ok(()),
        }
    }

    fn put_row(&mut self, values: &[Datum]) -> Result<()> {
        match self.options.format {
            CopyFormat::Binary => self.binary_row(values)?,
            format => {
                for (i, value) in values.iter().enumerate() {
                    if i > 0 {
                        self.line.push(self.options.delimiter);
                    }
                    if value.is_null() {
                        self.line.extend_from_slice(self.options.null.as_bytes());
                        continue;
                    }
                    self.value.clear();
                    types::io::output(self.columns[i].ty, value, &self.io, &mut self.value)?;
                    if format == CopyFormat::Csv {
                        let alone = values.len() == 1;
                        let force = self.force_quote[i];
                        put_csv(&mut self.line, &self.value, force, self.options, alone);
                    } else {
                        put_text(&mut self.line, &self.value, self.options.delimiter);
                    }
                }
                self.line.push(b'\n');
            }
        }
        self.rows += 1;
        progress::set(Command::Copy, figure::TUPLES, self.rows as i64);
        progress::add(Command::Copy, figure::BYTES, self.line.len() as i64);
        let put = self.target.put(&self.encoding.encode(&self.line)?);
        self.line.clear();
        put
    }

    fn binary_row(&mut self, values: &[Datum]) -> Result<()> {
        self.line.extend_from_slice(&(values.len() as i16).to_be_bytes());
        for (i, value) in values.iter().enumerate() {
            if value.is_null() {
                self.line.extend_from_slice(&(-1i32).to_be_bytes());
                continue;
            }
            let start = self.line.len();
            self.line.extend_from_slice(&[0; 4]);
            types::io::send(self.columns[i].ty, value, &self.io, &mut self.line)?;
            let length = (self.line.len() - start - 4) as i32;
            self.line[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
        Ok(())
    }
}

impl Sink for CopyOut<'_> {
    fn row_description(&mut self, _: &[ResultColumn], _: &[ResultFormat]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Datum]) -> Result<()> {
        self.put_row(values)
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        let mut row = Vec::with_capacity(batch.columns.len());
        for i in batch.positions() {
            row.clear();
            row.extend(batch.columns.iter().map(|c| c.get(i)));
            self.put_row(&row)?;
        }
        Ok(())
    }

    fn command_complete(&mut self, _: &str) -> Result<()> {
        Ok(())
    }

    fn notice(&mut self, notice: &Error) {
        self.notices.push(notice.clone());
    }
}

/// A value with backslashes before what is special.
fn put_text(out: &mut Vec<u8>, value: &[u8], delimiter: u8) {
    let special = |b: u8| b == b'\\' || b == delimiter || (8..=13).contains(&b);
    if !value.iter().any(|b| special(*b)) {
        return out.extend_from_slice(value);
    }
    for b in value {
        let letter = match *b {
            8 => b'b',
            9 => b't',
            10 => b'n',
            11 => b'v',
            12 => b'f',
            13 => b'r',
            b if b == delimiter || b == b'\\' => b,
            b => {
                out.push(b);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

/// A value in quotes if it needs them.
fn put_csv(out: &mut Vec<u8>, value: &[u8], force: bool, o: &CopyOptions, alone: bool) {
    let special = |b: u8| b == o.delimiter || b == o.quote || b == b'\n' || b == b'\r';
    let quoted = force
        || value == o.null.as_bytes()
        || (alone && value == b"\\.")
        || value.iter().any(|b| special(*b));
    if !quoted {
        return out.extend_from_slice(value);
    }
    out.push(o.quote);
    for b in value {
        if *b == o.quote || *b == o.escape {
            out.push(o.escape);
        }
        out.push(*b);
    }
    out.push(o.quote);
}
