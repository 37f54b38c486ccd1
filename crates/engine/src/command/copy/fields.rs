//! Fields of a line of text or CSV.

use super::options::CopyOptions;
use base::{Result, bail};

/// The fields of a line: where each lies in `bytes`, and whether it is NULL or the default.
#[derive(Default)]
pub struct Fields {
    /// Fields whose form in the line is not their value's.
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
    in_line: bool,
    /// What it is.
    pub kind: FieldKind,
}

/// What a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A value.
    Value,
    /// The NULL string.
    Null,
    /// The DEFAULT string.
    Default,
}

/// Lines that are shorter are looked through byte by byte: a vectorised search costs more to begin
/// than that takes.
const SHORT: usize = 64;

#[inline]
fn find_byte(line: &[u8], start: usize, wanted: u8) -> Option<usize> {
    let rest = &line[start..];
    let at = match line.len() < SHORT {
        true => rest.iter().position(|b| *b == wanted),
        false => memchr::memchr(wanted, rest),
    };
    at.map(|n| start + n)
}

#[inline]
fn has_byte(line: &[u8], wanted: u8) -> bool {
    match line.len() < SHORT {
        true => line.iter().fold(false, |found, b| found | (*b == wanted)),
        false => memchr::memchr(wanted, line).is_some(),
    }
}

/// Equality that does not look at the bytes of empty texts: comparing nothing at an address that
/// is not mapped costs a hundred cycles on some machines.
#[inline]
pub fn same_text(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

impl Fields {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// What a field is.
    pub fn kind(&self, i: usize) -> FieldKind {
        self.spans[i].kind
    }

    /// A field's bytes.
    #[inline]
    pub fn get<'a>(&'a self, i: usize, line: &'a [u8]) -> &'a [u8] {
        let s = &self.spans[i];
        let all = if s.in_line { line } else { &self.bytes };
        &all[s.start as usize..s.end as usize]
    }

    /// A field's text; the bytes of one that is none.
    #[inline]
    pub fn text<'a>(&'a self, i: usize, line: &'a str) -> std::result::Result<&'a str, &'a [u8]> {
        let s = &self.spans[i];
        let (start, end) = (s.start as usize, s.end as usize);
        // Fields end where a character of one byte is, so what is in the line is whole.
        if s.in_line
            && let Some(text) = line.get(start..end)
        {
            return Ok(text);
        }
        let raw = self.get(i, line.as_bytes());
        std::str::from_utf8(raw).map_err(|e| &raw[e.valid_up_to()..])
    }

    #[inline]
    fn push(&mut self, start: usize, end: usize, in_line: bool, kind: FieldKind) {
        self.spans.push(Span { start: start as u32, end: end as u32, in_line, kind });
    }

    /// Cuts a line of text.
    pub fn split_text(&mut self, line: &[u8], o: &CopyOptions) {
        self.bytes.clear();
        self.spans.clear();
        let escaped = has_byte(line, b'\\');
        let mut start = 0;
        loop {
            let end = match escaped {
                false => find_byte(line, start, o.delimiter),
                true => find_unescaped(line, start, o.delimiter),
            };
            let stop = end.unwrap_or(line.len());
            let raw = &line[start..stop];
            let kind = self.kind_of(raw, o);
            if kind != FieldKind::Value {
                self.push(start, stop, true, kind);
            } else if escaped && memchr::memchr(b'\\', raw).is_some() {
                let at = self.bytes.len();
                unescape(raw, &mut self.bytes);
                self.push(at, self.bytes.len(), false, FieldKind::Value);
            } else {
                self.push(start, stop, true, FieldKind::Value);
            }
            match end {
                Some(end) => start = end + 1,
                None => return,
            }
        }
    }

    /// Cuts a line of CSV.
    pub fn split_csv(&mut self, line: &[u8], o: &CopyOptions) -> Result<()> {
        self.bytes.clear();
        self.spans.clear();
        let quoted_line = memchr::memchr(o.quote, line).is_some();
        let mut at = 0;
        loop {
            let plain = memchr::memchr(o.delimiter, &line[at..]).map_or(line.len(), |n| at + n);
            let next = if !quoted_line || memchr::memchr(o.quote, &line[at..plain]).is_none() {
                let kind = self.kind_of(&line[at..plain], o);
                self.push(at, plain, true, kind);
                plain
            } else {
                self.csv_field(line, at, o)?
            };
            if next >= line.len() {
                return Ok(());
            }
            at = next + 1;
        }
    }

    #[inline]
    fn kind_of(&self, raw: &[u8], o: &CopyOptions) -> FieldKind {
        if same_text(raw, o.null.as_bytes()) {
            FieldKind::Null
        } else if o.default.as_ref().is_some_and(|d| same_text(raw, d.as_bytes())) {
            FieldKind::Default
        } else {
            FieldKind::Value
        }
    }

    /// A field with quotes, from `at`; where its delimiter is, or the line's end.
    fn csv_field(&mut self, line: &[u8], mut at: usize, o: &CopyOptions) -> Result<usize> {
        let start = self.bytes.len();
        let mut in_quote = false;
        loop {
            let Some(&c) = line.get(at) else {
                if in_quote {
                    bail!(BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field");
                }
                break;
            };
            if !in_quote {
                if c == o.delimiter {
                    break;
                }
                match c == o.quote {
                    true => in_quote = true,
                    false => self.bytes.push(c),
                }
                at += 1;
                continue;
            }
            if c == o.escape
                && let Some(&next) = line.get(at + 1)
                && (next == o.escape || next == o.quote)
            {
                self.bytes.push(next);
                at += 2;
                continue;
            }
            match c == o.quote {
                true => in_quote = false,
                false => self.bytes.push(c),
            }
            at += 1;
        }
        // What was in quotes is never NULL.
        self.push(start, self.bytes.len(), false, FieldKind::Value);
        Ok(at)
    }
}

/// The next delimiter that has no backslash before it.
fn find_unescaped(line: &[u8], mut at: usize, delimiter: u8) -> Option<usize> {
    while at < line.len() {
        match line[at] {
            b'\\' => at += 2,
            c if c == delimiter => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Takes the backslashes of a text field away.
fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    let mut i = 0;
    while i < raw.len() {
        if raw[i] != b'\\' || i + 1 >= raw.len() {
            out.push(raw[i]);
            i += 1;
            continue;
        }
        i += 1;
        let c = raw[i];
        i += 1;
        match c {
            b'0'..=b'7' => {
                let mut value = u32::from(c - b'0');
                for _ in 0..2 {
                    match raw.get(i) {
                        Some(d @ b'0'..=b'7') => value = value << 3 | u32::from(d - b'0'),
                        _ => break,
                    }
                    i += 1;
                }
                out.push(value as u8);
            }
            b'x' if raw.get(i).is_some_and(u8::is_ascii_hexdigit) => {
                let mut value = 0;
                for _ in 0..2 {
                    match raw.get(i).and_then(|d| (*d as char).to_digit(16)) {
                        Some(d) => value = value << 4 | d,
                        None => break,
                    }
                    i += 1;
                }
                out.push(value as u8);
            }
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::copy::options::CopyOptions;

    fn text(line: &str) -> Vec<Option<String>> {
        let o = CopyOptions::read(&[], true).unwrap();
        let mut f = Fields::default();
        f.split_text(line.as_bytes(), &o);
        (0..f.len())
            .map(|i| {
                let value = String::from_utf8_lossy(f.get(i, line.as_bytes())).into_owned();
                (f.kind(i) == FieldKind::Value).then_some(value)
            })
            .collect()
    }

    #[test]
    fn text_fields() {
        let some = |s: &str| Some(s.to_string());
        assert_eq!(text("1\t\\N\t"), vec![some("1"), None, some("")]);
        assert_eq!(text("a\\tb\\\tc\\101\\x41"), vec![some("a\tb\tcAA")]);
        assert_eq!(text("\\\\N"), vec![some("\\N")]);
    }
}
