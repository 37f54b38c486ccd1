//! Lexical analysis, PostgreSQL's rules: text to a vector of tokens.
//!
//! A lexical error does not stop the lexer's caller: it becomes the last token, so that an
//! earlier syntax error is reported first, as with a lexer called by need.

mod literal;

use crate::ParseOptions;
use crate::keywords::{self, Kw};
use base::{Error, Severity, SqlState};

/// Kinds of token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum T {
    Ident,
    Keyword,
    Int,
    Float,
    Str,
    /// `B'..'`, `X'..'`.
    Bit,
    Param,
    /// An operator without a token of its own.
    Op,
    Comma,
    LParen,
    RParen,
    LBracket,
    RBracket,
    Dot,
    Semi,
    Colon,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Lt,
    Gt,
    Eq,
    TypeCast,
    DotDot,
    ColonEquals,
    Arrow,
    LessEquals,
    GreaterEquals,
    NotEquals,
    Eof,
    Error,
}

/// A token; `side` is an index into the lexer's decoded strings plus one, or the number of an
/// integer or a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: T,
    pub kw: Kw,
    pub start: u32,
    pub end: u32,
    pub side: u32,
}

/// The tokens of a text, ended by `Eof` or `Error`.
pub(crate) struct Tokens {
    pub list: Vec<Token>,
    pub decoded: Vec<String>,
    pub error: Option<Error>,
    pub notices: Vec<Error>,
}

/// Names are cut to this many bytes.
pub(crate) const MAX_NAME: usize = 63;

pub(crate) struct Lexer<'a> {
    src: &'a [u8],
    text: &'a str,
    at: usize,
    decoded: Vec<String>,
    options: ParseOptions,
    notices: Vec<Error>,
    /// Where the literal before a continued one ended; set by `continues`.
    string_end: usize,
}

type Lexed = Result<(T, u32), Error>;

fn is_ident_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b >= 0x80
}

fn is_ident_cont(b: u8) -> bool {
    is_ident_start(b) || b.is_ascii_digit() || b == b'$'
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn is_op_char(b: u8) -> bool {
    matches!(
        b,
        b'~' | b'!'
            | b'@'
            | b'#'
            | b'^'
            | b'&'
            | b'|'
            | b'`'
            | b'?'
            | b'+'
            | b'-'
            | b'*'
            | b'/'
            | b'%'
            | b'<'
            | b'>'
            | b'='
    )
}

fn self_char(b: u8) -> Option<T> {
    Some(match b {
        b',' => T::Comma,
        b'(' => T::LParen,
        b')' => T::RParen,
        b'[' => T::LBracket,
        b']' => T::RBracket,
        b';' => T::Semi,
        b'+' => T::Plus,
        b'-' => T::Minus,
        b'*' => T::Star,
        b'/' => T::Slash,
        b'%' => T::Percent,
        b'^' => T::Caret,
        b'<' => T::Lt,
        b'>' => T::Gt,
        b'=' => T::Eq,
        _ => return None,
    })
}

/// Cuts a name to 63 bytes at a character's boundary.
pub(crate) fn truncate_name(name: &mut String) {
    if name.len() > MAX_NAME {
        let mut end = MAX_NAME;
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        name.truncate(end);
    }
}

/// Reads all tokens of a text.
pub(crate) fn tokenize(text: &str, options: ParseOptions) -> Tokens {
    let mut lexer = Lexer {
        src: text.as_bytes(),
        text,
        at: 0,
        decoded: Vec::new(),
        options,
        notices: Vec::new(),
        string_end: 0,
    };
    let mut list = Vec::with_capacity(text.len() / 5 + 8);
    loop {
        match lexer.next() {
            Ok(token) => {
                list.push(token);
                if token.kind == T::Eof {
                    let Lexer { decoded, notices, .. } = lexer;
                    return Tokens { list, decoded, error: None, notices };
                }
            }
            Err(error) => {
                let start = error.fields().location.unwrap_or(text.len() as u32);
                let end = text.len() as u32;
                list.push(Token { kind: T::Error, kw: Kw::NotKw, start, end, side: 0 });
                let Lexer { decoded, notices, .. } = lexer;
                return Tokens { list, decoded, error: Some(error), notices };
            }
        }
    }
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.src.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// PostgreSQL's form of a lexical error for the text from `start` to where we are.
    fn error(&self, start: usize, message: &str) -> Error {
        let mut end = self.at.min(self.src.len());
        while end < self.src.len() && !self.text.is_char_boundary(end) {
            end += 1;
        }
        let message = if start >= self.src.len() {
            format!("{message} at end of input")
        } else {
            format!("{message} at or near \"{}\"", self.text.get(start..end).unwrap_or(""))
        };
        base::err!(SYNTAX_ERROR, "{message}").at(start as u32)
    }

    /// Skips blanks and comments. True if there was a newline (a `--` comment ends in one).
    fn skip_space(&mut self) -> Result<bool, Error> {
        let mut newline = false;
        loop {
            let b = self.peek(0);
            if is_space(b) {
                newline |= b == b'\n' || b == b'\r';
                self.at += 1;
            } else if b == b'-' && self.peek(1) == b'-' {
                while self.at < self.src.len() && !matches!(self.peek(0), b'\n' | b'\r') {
                    self.at += 1;
                }
            } else if b == b'/' && self.peek(1) == b'*' {
                self.skip_comment()?;
            } else {
                return Ok(newline);
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), Error> {
        let start = self.at;
        self.at += 2;
        let mut depth = 1;
        while depth > 0 {
            if self.at >= self.src.len() {
                return Err(self.error(start, "unterminated /* comment"));
            }
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Token, Error> {
        self.skip_space()?;
        let start = self.at;
        let mut kw = Kw::NotKw;
        let (kind, side) = if start >= self.src.len() {
            (T::Eof, 0)
        } else {
            let b = self.src[start];
            if is_ident_start(b) {
                let special = match b {
                    b'e' | b'E' | b'b' | b'B' | b'x' | b'X' | b'n' | b'N' | b'u' | b'U' => {
                        self.prefixed(start)?
                    }
                    _ => None,
                };
                match special {
                    Some(found) => {
                        if found.0 == T::Keyword {
                            kw = Kw::Nchar;
                        }
                        found
                    }
                    None => {
                        kw = self.word();
                        if self.at - start > MAX_NAME {
                            self.note_truncation(&self.text[start..self.at].to_ascii_lowercase());
                        }
                        (if kw == Kw::NotKw { T::Ident } else { T::Keyword }, 0)
                    }
                }
            } else if b.is_ascii_digit() || (b == b'.' && self.peek(1).is_ascii_digit()) {
                self.number()?
            } else if b == b'\'' {
                self.at += 1;
                match self.options.standard_conforming_strings {
                    true => self.string(start)?,
                    false => self.escape_string(start, self.options.escape_string_warning)?,
                }
            } else {
                self.punctuation(start, b)?
            }
        };
        Ok(Token { kind, kw, start: start as u32, end: self.at as u32, side })
    }

    /// Literals that begin with a letter: E'', B'', X'', N'', U&''. N is a key word by itself.
    fn prefixed(&mut self, start: usize) -> Result<Option<(T, u32)>, Error> {
        let quote = self.peek(1) == b'\'';
        let found = match self.src[start] {
            b'e' | b'E' if quote => {
                self.at += 2;
                self.escape_string(start, false)?
            }
            b'b' | b'B' if quote => self.bit_string(start, 'b')?,
            b'x' | b'X' if quote => self.bit_string(start, 'x')?,
            b'n' | b'N' if quote => {
                self.at += 1;
                (T::Keyword, 0)
            }
            b'u' | b'U' if self.peek(1) == b'&' && matches!(self.peek(2), b'\'' | b'"') => {
                self.unicode_literal(start)?
            }
            _ => return Ok(None),
        };
        Ok(Some(found))
    }

    fn word(&mut self) -> Kw {
        let start = self.at;
        let mut lower = [0u8; 18];
        while self.at < self.src.len() && is_ident_cont(self.src[self.at]) {
            let n = self.at - start;
            if n < lower.len() {
                lower[n] = self.src[self.at].to_ascii_lowercase();
            }
            self.at += 1;
        }
        let len = self.at - start;
        if len < lower.len() { keywords::lookup(&lower[..len]) } else { Kw::NotKw }
    }

    fn punctuation(&mut self, start: usize, b: u8) -> Lexed {
        let simple = match b {
            b'"' => return self.quoted_ident(start),
            b'$' => return self.dollar(start),
            b'.' if self.peek(1) == b'.' => Some((T::DotDot, 2)),
            b'.' => Some((T::Dot, 1)),
            b':' if self.peek(1) == b':' => Some((T::TypeCast, 2)),
            b':' if self.peek(1) == b'=' => Some((T::ColonEquals, 2)),
            b':' => Some((T::Colon, 1)),
            _ => None,
        };
        if let Some((kind, len)) = simple {
            self.at += len;
            return Ok((kind, 0));
        }
        if is_op_char(b) {
            return self.operator(start);
        }
        self.at += 1;
        match self_char(b) {
            Some(kind) => Ok((kind, 0)),
            None => {
                let shown = (b as char).to_string();
                let message = format!("syntax error at or near \"{shown}\"");
                Err(base::err!(SYNTAX_ERROR, "{message}").at(start as u32))
            }
        }
    }

    fn operator(&mut self, start: usize) -> Lexed {
        let mut end = start;
        while end < self.src.len() && is_op_char(self.src[end]) {
            if end > start
                && matches!(
                    (self.src[end], self.src.get(end + 1)),
                    (b'/', Some(b'*')) | (b'-', Some(b'-'))
                )
            {
                break;
            }
            end += 1;
        }
        let special = |b: &u8| {
            matches!(b, b'~' | b'!' | b'@' | b'#' | b'^' | b'&' | b'|' | b'`' | b'?' | b'%')
        };
        if !self.src[start..end].iter().any(special) {
            while end - start > 1 && matches!(self.src[end - 1], b'+' | b'-') {
                end -= 1;
            }
        }
        self.at = end;
        let op = &self.src[start..end];
        if op.len() == 1
            && let Some(kind) = self_char(op[0])
        {
            return Ok((kind, 0));
        }
        let kind = match op {
            b"=>" => T::Arrow,
            b">=" => T::GreaterEquals,
            b"<=" => T::LessEquals,
            b"<>" | b"!=" => T::NotEquals,
            _ if op.len() > MAX_NAME => return Err(self.error(start, "operator too long")),
            _ => T::Op,
        };
        Ok((kind, 0))
    }

    fn quoted_ident(&mut self, start: usize) -> Lexed {
        self.at += 1;
        let body = self.at;
        let mut doubled = false;
        loop {
            match memchr(b'"', &self.src[self.at..]) {
                None => {
                    self.at = self.src.len();
                    return Err(self.error(start, "unterminated quoted identifier"));
                }
                Some(n) => self.at += n + 1,
            }
            if self.peek(0) != b'"' {
                break;
            }
            doubled = true;
            self.at += 1;
        }
        let inner = &self.text[body..self.at - 1];
        if inner.is_empty() {
            return Err(self.error(start, "zero-length delimited identifier"));
        }
        let mut name = if doubled { inner.replace("\"\"", "\"") } else { inner.to_owned() };
        if name.len() > MAX_NAME {
            self.note_truncation(&name);
        }
        truncate_name(&mut name);
        Ok((T::Ident, self.keep(name)))
    }

    /// Tells that a name is longer than names can be.
    #[cold]
    fn note_truncation(&mut self, name: &str) {
        let mut short = name.to_owned();
        truncate_name(&mut short);
        self.notices.push(Error::with_severity(
            Severity::Notice,
            SqlState::NAME_TOO_LONG,
            format!("identifier \"{name}\" will be truncated to \"{short}\""),
        ));
    }

    fn keep(&mut self, text: String) -> u32 {
        self.decoded.push(text);
        self.decoded.len() as u32
    }

    /// `$1` or `$tag$ .. $tag$`.
    fn dollar(&mut self, start: usize) -> Lexed {
        if self.peek(1).is_ascii_digit() {
            return self.param(start);
        }
        let mut end = start + 1;
        if end < self.src.len() && is_ident_start(self.src[end]) {
            while end < self.src.len() && is_ident_cont(self.src[end]) && self.src[end] != b'$' {
                end += 1;
            }
        }
        if self.src.get(end) != Some(&b'$') {
            self.at += 1;
            return Err(self.error(start, "syntax error"));
        }
        let tag = &self.text[start..=end];
        let body = end + 1;
        match self.text[body..].find(tag) {
            Some(n) => {
                self.at = body + n + tag.len();
                let inner = self.text[body..body + n].to_owned();
                Ok((T::Str, self.keep(inner)))
            }
            None => {
                self.at = self.src.len();
                Err(self.error(start, "unterminated dollar-quoted string"))
            }
        }
    }

    fn param(&mut self, start: usize) -> Lexed {
        self.at += 1;
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
        let number = self.text[start + 1..self.at].parse::<i32>();
        if is_ident_start(self.peek(0)) {
            self.eat_ident();
            return Err(self.error(start, "trailing junk after parameter"));
        }
        match number {
            Ok(n) => Ok((T::Param, n as u32)),
            Err(_) => Err(self.error(start, "parameter number too large")),
        }
    }

    fn eat_ident(&mut self) {
        while self.at < self.src.len() && is_ident_cont(self.src[self.at]) {
            self.at += 1;
        }
    }
}

/// The first place of a byte.
pub(crate) fn memchr(needle: u8, hay: &[u8]) -> Option<usize> {
    hay.iter().position(|&b| b == needle)
}
