//! Lines of text and CSV input, from pieces of any size.

use super::options::{CopyFormat, CopyOptions};
use base::{Result, bail};

/// Where the bytes come from.
pub trait Bytes {
    /// More bytes; none at the end.
    fn more(&mut self) -> Result<Option<Vec<u8>>>;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Eol {
    Unknown,
    Nl,
    Cr,
    CrNl,
}

/// Cuts input into lines.
pub struct Lines<'a> {
    source: &'a mut dyn Bytes,
    buf: Vec<u8>,
    /// The line that was given last: its bytes, without the line end.
    line: (usize, usize),
    /// Where the next line begins.
    next: usize,
    ended: bool,
    eol: Eol,
    csv: bool,
    quote: u8,
    escape: u8,
    /// The current line's number, from 1.
    pub number: u64,
}

/// What a search for the end of a line found.
enum Found {
    /// Its end, and where the next begins.
    Line(usize, usize),
    /// `\.`
    End,
    More,
}

impl<'a> Lines<'a> {
    /// Over these bytes.
    pub fn new(source: &'a mut dyn Bytes, options: &CopyOptions) -> Lines<'a> {
        Lines {
            source,
            buf: Vec::new(),
            line: (0, 0),
            next: 0,
            ended: false,
            eol: Eol::Unknown,
            csv: options.format == CopyFormat::Csv,
            quote: options.quote,
            escape: options.escape,
            number: 0,
        }
    }

    /// The line read last.
    pub fn current(&self) -> &[u8] {
        &self.buf[self.line.0..self.line.1]
    }

    /// The line read last ends with the input.
    pub fn is_over(&self) -> bool {
        self.ended && self.line.0 < self.line.1
    }

    /// Reads a line; false at the end of the input.
    pub fn advance(&mut self) -> Result<bool> {
        self.number += 1;
        self.line = (self.next, self.next);
        loop {
            match self.find()? {
                Found::Line(end, next) => {
                    self.line = (self.next, end);
                    self.next = next;
                    return Ok(true);
                }
                Found::End => {
                    // Whatever follows is read, so that the client is where it thinks it is.
                    while self.source.more()?.is_some() {}
                    self.ended = true;
                    self.next = self.buf.len();
                    self.line = (self.next, self.next);
                    return Ok(false);
                }
                Found::More => {
                    if self.fill()? {
                        continue;
                    }
                    if self.next == self.buf.len() {
                        self.line = (self.next, self.next);
                        return Ok(false);
                    }
                    return self.last_line();
                }
            }
        }
    }

    /// The input ended without a line end.
    fn last_line(&mut self) -> Result<bool> {
        self.line = (self.next, self.buf.len());
        self.next = self.buf.len();
        if self.csv && self.ends_in_quotes() {
            bail!(BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field");
        }
        if self.current() == b"\\." && !self.csv {
            return Ok(false);
        }
        if self.eol != Eol::Nl && self.current().last() == Some(&b'\r') {
            self.line.1 -= 1;
        }
        Ok(true)
    }

    fn ends_in_quotes(&self) -> bool {
        let mut state = CsvState::default();
        for b in self.current() {
            state.step(*b, self.quote, self.escape);
        }
        state.in_quote
    }

    /// Takes more bytes; false if there are none.
    fn fill(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.next > 0 {
            self.buf.drain(..self.next);
            self.line = (0, 0);
            self.next = 0;
        }
        match self.source.more()? {
            Some(bytes) if self.buf.is_empty() => self.buf = bytes,
            Some(bytes) => self.buf.extend_from_slice(&bytes),
            None => {
                self.ended = true;
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[inline]
    fn find(&mut self) -> Result<Found> {
        let rest = &self.buf[self.next..];
        if self.csv {
            return self.find_csv();
        }
        let Some(n) = memchr::memchr(b'\n', rest) else {
            return self.find_carefully();
        };
        if self.eol == Eol::Cr || memchr::memchr2(b'\\', b'\r', &rest[..n]).is_some() {
            return self.find_carefully();
        }
        if self.eol == Eol::CrNl {
            bail!(BAD_COPY_FILE_FORMAT, "literal newline found in data");
        }
        self.eol = Eol::Nl;
        Ok(Found::Line(self.next + n, self.next + n + 1))
    }

    /// A line that may have backslashes or carriage returns.
    fn find_carefully(&mut self) -> Result<Found> {
        let mut i = self.next;
        while i < self.buf.len() {
            match self.buf[i] {
                b'\\' => {
                    let Some(c) = self.buf.get(i + 1) else { return Ok(Found::More) };
                    if *c == b'.' {
                        return self.end_marker(i);
                    }
                    i += 2;
                }
                b'\r' => match self.carriage_return(i, true)? {
                    Some(found) => return Ok(found),
                    None => i += 1,
                },
                b'\n' => {
                    if matches!(self.eol, Eol::Cr | Eol::CrNl) {
                        return Err(base::err!(
                            BAD_COPY_FILE_FORMAT,
                            "literal newline found in data"
                        )
                        .hint("Use \"\\n\" to represent newline."));
                    }
                    self.eol = Eol::Nl;
                    return Ok(Found::Line(i, i + 1));
                }
                _ => i += 1,
            }
        }
        Ok(Found::More)
    }

    /// `\.` at `i`: the end, if it is alone on its line.
    fn end_marker(&mut self, i: usize) -> Result<Found> {
        let alone = i == self.next;
        match self.buf.get(i + 2) {
            None if !self.ended => return Ok(Found::More),
            None | Some(b'\n' | b'\r') if alone => return Ok(Found::End),
            _ => {}
        }
        bail!(BAD_COPY_FILE_FORMAT, "end-of-copy marker is not alone on its line")
    }

    /// A carriage return outside of quotes.
    fn carriage_return(&mut self, i: usize, text: bool) -> Result<Option<Found>> {
        match self.eol {
            Eol::Nl => {
                let hint = match text {
                    true => "Use \"\\r\" to represent carriage return.",
                    false => "Use quoted CSV field to represent carriage return.",
                };
                let what = match text {
                    true => "literal carriage return found in data",
                    false => "unquoted carriage return found in data",
                };
                Err(base::Error::new(base::SqlState::BAD_COPY_FILE_FORMAT, what).hint(hint))
            }
            Eol::Cr => Ok(Some(Found::Line(i, i + 1))),
            Eol::CrNl | Eol::Unknown => match self.buf.get(i + 1) {
                None if !self.ended => Ok(Some(Found::More)),
                Some(b'\n') => {
                    self.eol = Eol::CrNl;
                    Ok(Some(Found::Line(i, i + 2)))
                }
                _ if self.eol == Eol::Unknown => {
                    self.eol = Eol::Cr;
                    Ok(Some(Found::Line(i, i + 1)))
                }
                _ => Err(base::err!(BAD_COPY_FILE_FORMAT, "literal carriage return found in data")),
            },
        }
    }

    fn find_csv(&mut self) -> Result<Found> {
        let rest = &self.buf[self.next..];
        if let Some(n) = memchr::memchr(b'\n', rest)
            && memchr::memchr2(self.quote, b'\r', &rest[..n]).is_none()
            && memchr::memchr(self.escape, &rest[..n]).is_none()
            && matches!(self.eol, Eol::Nl | Eol::Unknown)
        {
            self.eol = Eol::Nl;
            return Ok(Found::Line(self.next + n, self.next + n + 1));
        }
        let mut state = CsvState::default();
        let mut i = self.next;
        while i < self.buf.len() {
            let b = self.buf[i];
            state.step(b, self.quote, self.escape);
            if !state.in_quote {
                match b {
                    b'\r' => {
                        if let Some(found) = self.carriage_return(i, false)? {
                            return Ok(found);
                        }
                    }
                    b'\n' => {
                        if matches!(self.eol, Eol::Cr | Eol::CrNl) {
                            return Err(base::err!(
                                BAD_COPY_FILE_FORMAT,
                                "unquoted newline found in data"
                            )
                            .hint("Use quoted CSV field to represent newline."));
                        }
                        self.eol = Eol::Nl;
                        return Ok(Found::Line(i, i + 1));
                    }
                    _ => {}
                }
            }
            i += 1;
        }
        Ok(Found::More)
    }
}

/// Whether a byte of CSV is within quotes.
#[derive(Default)]
struct CsvState {
    in_quote: bool,
    last_was_escape: bool,
}

impl CsvState {
    fn step(&mut self, b: u8, quote: u8, escape: u8) {
        if self.in_quote && b == escape && escape != quote {
            self.last_was_escape = !self.last_was_escape;
        } else {
            if b == quote && !self.last_was_escape {
                self.in_quote = !self.in_quote;
            }
            self.last_was_escape = false;
        }
    }
}
