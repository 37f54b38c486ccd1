//! Numbers and strings.

use super::{Lexed, Lexer, T, is_ident_start, is_space, memchr, truncate_name};
use crate::keywords::Kw;
use base::{Error, Severity, SqlState};

impl Lexer<'_> {
    /// Digits with single underscores between them; false if there are none.
    fn digits(&mut self, ok: fn(&u8) -> bool, leading_underscore: bool) -> bool {
        let start = self.at;
        loop {
            let b = self.peek(0);
            if ok(&b) {
                self.at += 1;
            } else if b == b'_'
                && (self.at > start || leading_underscore)
                && self.src.get(self.at + 1).is_some_and(ok)
            {
                self.at += 2;
            } else {
                return self.at > start;
            }
        }
    }

    pub(super) fn number(&mut self) -> Lexed {
        let start = self.at;
        if self.peek(0) == b'0' {
            let radix: Option<(fn(&u8) -> bool, &str)> = match self.peek(1) {
                b'x' | b'X' => Some((u8::is_ascii_hexdigit, "invalid hexadecimal integer")),
                b'o' | b'O' => Some((|b| (b'0'..=b'7').contains(b), "invalid octal integer")),
                b'b' | b'B' => Some((|b| matches!(b, b'0' | b'1'), "invalid binary integer")),
                _ => None,
            };
            if let Some((ok, message)) = radix {
                self.at += 2;
                if !self.digits(ok, true) {
                    if self.peek(0) == b'_' {
                        self.at += 1;
                    }
                    return Err(self.error(start, message));
                }
                return self.number_end(start, true);
            }
        }
        let mut integer = true;
        self.digits(u8::is_ascii_digit, false);
        // `1..10` is an integer, two dots, an integer.
        if self.peek(0) == b'.' && self.peek(1) != b'.' {
            integer = false;
            self.at += 1;
            self.digits(u8::is_ascii_digit, false);
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = matches!(self.peek(1), b'+' | b'-') as usize;
            if self.peek(1 + sign).is_ascii_digit() {
                integer = false;
                self.at += 1 + sign;
                self.digits(u8::is_ascii_digit, false);
            } else if sign == 1 {
                self.at += 2;
                return Err(self.error(start, "trailing junk after numeric literal"));
            }
        }
        self.number_end(start, integer)
    }

    fn number_end(&mut self, start: usize, integer: bool) -> Lexed {
        if self.at < self.src.len() && is_ident_start(self.src[self.at]) {
            self.eat_ident();
            return Err(self.error(start, "trailing junk after numeric literal"));
        }
        if integer && let Some(n) = small_integer(&self.text[start..self.at]) {
            return Ok((T::Int, n as u32));
        }
        Ok((T::Float, 0))
    }

    /// After the opening quote of a plain string: finds its end. Strings that need no decoding
    /// are read from the text later.
    pub(super) fn string(&mut self, start: usize) -> Lexed {
        let body = self.at;
        let mut plain = true;
        let mut text = String::new();
        let mut piece = body;
        loop {
            match memchr(b'\'', &self.src[self.at..]) {
                None => {
                    self.at = self.src.len();
                    return Err(self.error(start, "unterminated quoted string"));
                }
                Some(n) => self.at += n + 1,
            }
            if self.peek(0) == b'\'' {
                plain = false;
                self.at += 1;
                text.push_str(&self.text[piece..self.at - 1]);
                piece = self.at;
            } else if self.continues()? {
                plain = false;
                let end = self.string_end;
                text.push_str(&self.text[piece..end]);
                piece = self.at;
            } else {
                break;
            }
        }
        if plain {
            return Ok((T::Str, 0));
        }
        text.push_str(&self.text[piece..self.at - 1]);
        Ok((T::Str, self.keep(text)))
    }

    /// At a closing quote's successor: whether another literal follows after a newline, in which
    /// case we are moved behind its opening quote and `string_end` is where the first one ended.
    pub(super) fn continues(&mut self) -> Result<bool, Error> {
        let after = self.at;
        let mut at = after;
        let mut newline = false;
        loop {
            match self.src.get(at) {
                Some(b'\n' | b'\r') => {
                    newline = true;
                    at += 1;
                }
                Some(&b) if is_space(b) => at += 1,
                Some(b'-') if self.src.get(at + 1) == Some(&b'-') => {
                    while at < self.src.len() && !matches!(self.src[at], b'\n' | b'\r') {
                        at += 1;
                    }
                }
                Some(b'\'') if newline => {
                    self.string_end = after - 1;
                    self.at = at + 1;
                    return Ok(true);
                }
                _ => return Ok(false),
            }
        }
    }

    /// After the opening quote of a string with escapes; the first one is warned of if `warn`.
    pub(super) fn escape_string(&mut self, start: usize, mut warn: bool) -> Lexed {
        let mut out: Vec<u8> = Vec::new();
        let mut surrogate: Option<u32> = None;
        loop {
            if self.at >= self.src.len() {
                return Err(self.error(start, "unterminated quoted string"));
            }
            let b = self.peek(0);
            self.at += 1;
            if surrogate.is_some() && !(b == b'\\' && matches!(self.peek(0), b'u' | b'U')) {
                return Err(self.surrogate_error(self.at - 1, Some(self.at)));
            }
            match b {
                b'\'' if self.peek(0) == b'\'' => {
                    out.push(b'\'');
                    self.at += 1;
                }
                b'\'' => {
                    if !self.continues()? {
                        break;
                    }
                }
                b'\\' => {
                    if self.peek(0) == b'\'' && !self.options.backslash_quote {
                        return Err(unsafe_quote(start));
                    }
                    if std::mem::take(&mut warn) && self.at < self.src.len() {
                        self.warn_of_escape(start);
                    }
                    self.escape(start, &mut out, &mut surrogate)?
                }
                _ => out.push(b),
            }
        }
        match String::from_utf8(out) {
            Ok(text) if !text.contains('\0') => Ok((T::Str, self.keep(text))),
            Ok(_) => Err(base::err!(
                CHARACTER_NOT_IN_REPERTOIRE,
                "invalid byte sequence for encoding \"UTF8\": 0x00"
            )),
            Err(e) => Err(bad_utf8(e.as_bytes(), e.utf8_error().valid_up_to())),
        }
    }

    /// After a backslash in a string that should have been written with an E.
    #[cold]
    fn warn_of_escape(&mut self, start: usize) {
        let (what, hint) = match self.peek(0) {
            b'\'' => (
                "\\'",
                "Use '' to write quotes in strings, or use the escape string syntax (E'...').",
            ),
            b'\\' => ("\\\\", "Use the escape string syntax for backslashes, e.g., E'\\\\'."),
            _ => ("escape", "Use the escape string syntax for escapes, e.g., E'\\r\\n'."),
        };
        let warning = Error::with_severity(
            Severity::Warning,
            SqlState::NONSTANDARD_USE_OF_ESCAPE_CHARACTER,
            format!("nonstandard use of {what} in a string literal"),
        );
        self.notices.push(warning.hint(hint).at(start as u32));
    }

    /// After a backslash.
    fn escape(
        &mut self,
        start: usize,
        out: &mut Vec<u8>,
        surrogate: &mut Option<u32>,
    ) -> Result<(), Error> {
        if self.at >= self.src.len() {
            return Err(self.error(start, "unterminated quoted string"));
        }
        let slash = self.at - 1;
        let b = self.peek(0);
        self.at += 1;
        match b {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'0'..=b'7' => {
                let mut n = (b - b'0') as u32;
                for _ in 0..2 {
                    if !matches!(self.peek(0), b'0'..=b'7') {
                        break;
                    }
                    n = n * 8 + (self.peek(0) - b'0') as u32;
                    self.at += 1;
                }
                out.push(n as u8);
            }
            b'x' if self.peek(0).is_ascii_hexdigit() => {
                let mut n = 0;
                for _ in 0..2 {
                    match (self.peek(0) as char).to_digit(16) {
                        Some(d) => n = n * 16 + d,
                        None => break,
                    }
                    self.at += 1;
                }
                out.push(n as u8);
            }
            b'u' | b'U' => {
                let want = if b == b'u' { 4 } else { 8 };
                let hex = self.src.get(self.at..self.at + want);
                let value = hex.and_then(hex_value);
                let Some(value) = value else {
                    return Err(base::err!(INVALID_ESCAPE_SEQUENCE, "invalid Unicode escape")
                        .hint("Unicode escapes must be \\uXXXX or \\UXXXXXXXX.")
                        .at(slash as u32));
                };
                self.at += want;
                self.push_unicode(value, slash, Some(self.at), out, surrogate)?;
            }
            other => out.push(other),
        }
        Ok(())
    }

    /// In an E string the text at fault is shown; in a U& string it is not.
    fn surrogate_error(&self, at: usize, end: Option<usize>) -> Error {
        let Some(mut end) = end else {
            return base::err!(SYNTAX_ERROR, "invalid Unicode surrogate pair").at(at as u32);
        };
        while end < self.src.len() && !self.text.is_char_boundary(end) {
            end += 1;
        }
        let near = self.text.get(at..end).unwrap_or("");
        base::err!(SYNTAX_ERROR, "invalid Unicode surrogate pair at or near \"{near}\"")
            .at(at as u32)
    }

    fn push_unicode(
        &self,
        value: u32,
        at: usize,
        end: Option<usize>,
        out: &mut Vec<u8>,
        surrogate: &mut Option<u32>,
    ) -> Result<(), Error> {
        let low = (0xDC00..0xE000).contains(&value);
        let value = match surrogate.take() {
            Some(high) if low => 0x10000 + ((high - 0xD800) << 10) + (value - 0xDC00),
            Some(_) => return Err(self.surrogate_error(at, end)),
            None if low => return Err(self.surrogate_error(at, end)),
            None if (0xD800..0xDC00).contains(&value) => {
                *surrogate = Some(value);
                return Ok(());
            }
            None => value,
        };
        match char::from_u32(value) {
            Some(c) if value != 0 => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                Ok(())
            }
            _ => {
                let Some(end) = end else {
                    let message = "invalid Unicode escape value";
                    return Err(base::err!(SYNTAX_ERROR, "{message}").at(at as u32));
                };
                let near = self.text.get(at..end).unwrap_or("");
                Err(base::err!(SYNTAX_ERROR, "invalid Unicode escape value at or near \"{near}\"")
                    .at(at as u32))
            }
        }
    }

    /// `B'..'` and `X'..'`: the kept text is the letter and the digits, unchecked.
    pub(super) fn bit_string(&mut self, start: usize, letter: char) -> Lexed {
        self.at += 2;
        let mut text = String::from(letter);
        loop {
            let piece = self.at;
            match memchr(b'\'', &self.src[self.at..]) {
                None => {
                    self.at = self.src.len();
                    let what = if letter == 'b' { "bit" } else { "hexadecimal" };
                    return Err(self.error(start, &format!("unterminated {what} string literal")));
                }
                Some(n) => self.at += n + 1,
            }
            text.push_str(&self.text[piece..self.at - 1]);
            if !self.continues()? {
                break;
            }
        }
        Ok((T::Bit, self.keep(text)))
    }

    /// `U&'..'` and `U&".."` with an optional UESCAPE.
    pub(super) fn unicode_literal(&mut self, start: usize) -> Lexed {
        self.at += 2;
        let ident = self.peek(0) == b'"';
        if !ident && !self.options.standard_conforming_strings {
            return Err(base::err!(
                FEATURE_NOT_SUPPORTED,
                "unsafe use of string constant with Unicode escapes"
            )
            .detail(
                "String constants with Unicode escapes cannot be used when \
                 \"standard_conforming_strings\" is off.",
            )
            .at(start as u32));
        }
        let (kind, side) = if ident {
            self.quoted_ident_untruncated(start)?
        } else {
            self.at += 1;
            self.string(start)?
        };
        let end = self.at;
        let raw = match side {
            0 => self.text[start + 3..end - 1].to_owned(),
            n => self.decoded[n as usize - 1].clone(),
        };
        let escape = self.uescape()?;
        let mut text = self.decode_unicode(&raw, escape, start + 3)?;
        if ident {
            truncate_name(&mut text);
        }
        Ok((kind, self.keep(text)))
    }

    fn quoted_ident_untruncated(&mut self, start: usize) -> Lexed {
        let from = self.at;
        let (kind, _) = self.quoted_ident(start)?;
        let text = self.text[from + 1..self.at - 1].replace("\"\"", "\"");
        Ok((kind, self.keep(text)))
    }

    /// The escape character: of a UESCAPE clause if one follows, else the backslash.
    fn uescape(&mut self) -> Result<u8, Error> {
        let end = self.at;
        self.skip_space()?;
        let word_at = self.at;
        if !is_ident_start(self.peek(0)) || self.word() != Kw::Uescape {
            self.at = end;
            return Ok(b'\\');
        }
        self.skip_space()?;
        let start = self.at;
        if self.peek(0) != b'\'' {
            let _ = word_at;
            self.at += 1;
            return Err(self.error(start, "UESCAPE must be followed by a simple string literal"));
        }
        self.at += 1;
        let (_, side) = self.string(start)?;
        let text = match side {
            0 => self.text[start + 1..self.at - 1].to_owned(),
            n => self.decoded[n as usize - 1].clone(),
        };
        let bad = |b: u8| b.is_ascii_hexdigit() || matches!(b, b'+' | b'\'' | b'"') || is_space(b);
        match text.as_bytes() {
            [b] if !bad(*b) => Ok(*b),
            _ => Err(self.error(start, "invalid Unicode escape character")),
        }
    }

    fn decode_unicode(&self, raw: &str, escape: u8, base_at: usize) -> Result<String, Error> {
        let bytes = raw.as_bytes();
        let mut out = Vec::with_capacity(bytes.len());
        let mut surrogate = None;
        let mut i = 0;
        while i < bytes.len() {
            let at = base_at + i;
            if bytes[i] != escape {
                if surrogate.is_some() {
                    return Err(self.surrogate_error(at, None));
                }
                out.push(bytes[i]);
                i += 1;
                continue;
            }
            if bytes.get(i + 1) == Some(&escape) {
                if surrogate.is_some() {
                    return Err(self.surrogate_error(at, None));
                }
                out.push(escape);
                i += 2;
                continue;
            }
            let (from, want) =
                if bytes.get(i + 1) == Some(&b'+') { (i + 2, 6) } else { (i + 1, 4) };
            let Some(value) = bytes.get(from..from + want).and_then(hex_value) else {
                return Err(base::err!(SYNTAX_ERROR, "invalid Unicode escape")
                    .hint("Unicode escapes must be \\XXXX or \\+XXXXXX.")
                    .at(at as u32));
            };
            self.push_unicode(value, at, None, &mut out, &mut surrogate)?;
            i = from + want;
        }
        if surrogate.is_some() {
            return Err(self.surrogate_error(base_at + i, None));
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

fn unsafe_quote(start: usize) -> Error {
    base::err!(NONSTANDARD_USE_OF_ESCAPE_CHARACTER, "unsafe use of \\' in a string literal")
        .hint("Use '' to write quotes in strings. \\' is insecure in client-only encodings.")
        .at(start as u32)
}

fn hex_value(hex: &[u8]) -> Option<u32> {
    hex.iter().try_fold(0u32, |n, &b| Some((n << 4) | (b as char).to_digit(16)?))
}

/// The value of a whole number that fits in int4.
fn small_integer(text: &str) -> Option<i32> {
    let bytes = text.as_bytes();
    let (radix, digits) = match bytes.get(1) {
        Some(b'x' | b'X') => (16, &bytes[2..]),
        Some(b'o' | b'O') => (8, &bytes[2..]),
        Some(b'b' | b'B') => (2, &bytes[2..]),
        _ => (10, bytes),
    };
    let mut n: i32 = 0;
    for &b in digits {
        if b != b'_' {
            n = n.checked_mul(radix)?.checked_add((b as char).to_digit(radix as u32)? as i32)?;
        }
    }
    Some(n)
}

fn bad_utf8(bytes: &[u8], at: usize) -> Error {
    let len = match bytes[at] {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    };
    let shown: Vec<String> = bytes[at..].iter().take(len).map(|b| format!("0x{b:02x}")).collect();
    base::err!(
        CHARACTER_NOT_IN_REPERTOIRE,
        "invalid byte sequence for encoding \"UTF8\": {}",
        shown.join(" ")
    )
}
