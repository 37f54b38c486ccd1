//! Words of a path.

use crate::numeric::{self, Numeric};
use base::{Error, Result, err};

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or keyword without quotes.
    Word(String),
    /// A string in quotes.
    String(String),
    /// `$name`
    Variable(String),
    Number(Numeric),
    /// An operator or punctuation.
    Symbol(&'static str),
    End,
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

const SYMBOLS: [&str; 29] = [
    "**", "&&", "||", "==", "!=", "<>", "<=", ">=", "?", "%", "$", ".", "[", "]", "{", "}", "(",
    ")", "!", "=", "<", ">", "@", "#", ",", "*", ":", "+", "-",
];

fn is_special(c: char) -> bool {
    "?%$.[]{}()|&!=<>@#,*:-+/\\\"".contains(c)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

#[cold]
pub(super) fn near(what: &str, text: &str) -> Error {
    match text.is_empty() {
        true => err!(SYNTAX_ERROR, "{what} at end of jsonpath input"),
        false => err!(SYNTAX_ERROR, "{what} at or near \"{text}\" of jsonpath input"),
    }
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches(is_blank).len();
            if !self.rest().starts_with("/*") {
                return Ok(());
            }
            match self.rest().find("*/") {
                Some(end) => self.at += end + 2,
                None => return Err(near("unexpected end of comment", "")),
            }
        }
    }

    /// The next word, and what a message about it shows: of a name what ends it, of a string its
    /// last quote.
    pub fn next(&mut self) -> Result<(Token, &'a str)> {
        self.blanks()?;
        let start = self.at;
        let token = self.token()?;
        let shown = match token {
            Token::Word(_) => {
                let rest = self.rest();
                let blank = rest.len() - rest.trim_start_matches(is_blank).len();
                &rest[..blank]
            }
            Token::String(_) => &self.text[self.at - 1..self.at],
            _ => &self.text[start..self.at],
        };
        Ok((token, shown))
    }

    fn token(&mut self) -> Result<Token> {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return Ok(Token::End) };
        let after = rest[c.len_utf8()..].chars().next();
        if c == '"' {
            self.at += 1;
            return self.string().map(Token::String);
        }
        if c == '$' {
            self.at += 1;
            return match after {
                Some('"') => {
                    self.at += 1;
                    self.string().map(Token::Variable)
                }
                Some(n) if !is_special(n) && !is_blank(n) || n_is_escape(after) => {
                    self.word().map(Token::Variable)
                }
                _ => Ok(Token::Symbol("$")),
            };
        }
        if c.is_ascii_digit() || (c == '.' && after.is_some_and(|n| n.is_ascii_digit())) {
            return self.number();
        }
        for symbol in SYMBOLS {
            if rest.starts_with(symbol) {
                self.at += symbol.len();
                return Ok(Token::Symbol(symbol));
            }
        }
        for symbol in ["/", "|", "&"] {
            if rest.starts_with(symbol) {
                self.at += 1;
                return Ok(Token::Symbol(symbol));
            }
        }
        self.word().map(Token::Word)
    }

    fn word(&mut self) -> Result<String> {
        let mut out = String::new();
        while let Some(c) = self.rest().chars().next() {
            if c == '\\' {
                self.escape(&mut out)?;
            } else if is_special(c) || is_blank(c) {
                break;
            } else {
                out.push(c);
                self.at += c.len_utf8();
            }
        }
        Ok(out)
    }

    fn string(&mut self) -> Result<String> {
        let mut out = String::new();
        loop {
            let Some(c) = self.rest().chars().next() else {
                return Err(near("unterminated quoted string", ""));
            };
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(out);
                }
                '\\' => self.escape(&mut out)?,
                c => {
                    out.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<()> {
        let rest = self.rest();
        let Some(c) = rest[1..].chars().next() else {
            return Err(near("unexpected end after backslash", "\\"));
        };
        let simple = match c {
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => {
                let hex = rest.get(2..4).filter(|h| h.bytes().all(|b| b.is_ascii_hexdigit()));
                let Some(hex) = hex else {
                    let digits = rest.bytes().skip(2).take_while(u8::is_ascii_hexdigit).count();
                    let shown = &rest[..2 + digits];
                    return Err(near("invalid hexadecimal character sequence", shown));
                };
                self.at += 4;
                return push_code(out, u32::from_str_radix(hex, 16).unwrap_or(0));
            }
            'u' => return self.unicode(out),
            c => c,
        };
        out.push(simple);
        self.at += 1 + c.len_utf8();
        Ok(())
    }

    /// One `\uXXXX` or `\u{X}`: its code and length.
    fn unicode_unit(&self, rest: &str) -> Result<(u32, usize)> {
        let invalid = || {
            let digits = rest.bytes().skip(2).take_while(|b| b.is_ascii_hexdigit()).take(4);
            near("invalid Unicode escape sequence", &rest[..2 + digits.count()])
        };
        if rest.as_bytes().get(2) == Some(&b'{') {
            let end = rest.find('}').ok_or_else(invalid)?;
            let hex = &rest[3..end];
            if hex.is_empty() || hex.len() > 6 {
                return Err(invalid());
            }
            let code = u32::from_str_radix(hex, 16).map_err(|_| invalid())?;
            return Ok((code, end + 1));
        }
        let hex = rest.get(2..6).filter(|h| h.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = u32::from_str_radix(hex.ok_or_else(invalid)?, 16).map_err(|_| invalid())?;
        Ok((code, 6))
    }

    fn unicode(&mut self, out: &mut String) -> Result<()> {
        let surrogate = |text: &str| {
            err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type {}", "jsonpath")
                .detail(text.to_string())
        };
        let (code, len) = self.unicode_unit(self.rest())?;
        self.at += len;
        match code {
            0xd800..0xdc00 => {
                let low = match self.rest().starts_with("\\u") {
                    true => self.unicode_unit(self.rest())?,
                    false => (0, 0),
                };
                if (0xd800..0xdc00).contains(&low.0) {
                    return Err(surrogate(
                        "Unicode high surrogate must not follow a high surrogate.",
                    ));
                }
                if !(0xdc00..0xe000).contains(&low.0) {
                    return Err(surrogate("Unicode low surrogate must follow a high surrogate."));
                }
                self.at += low.1;
                push_code(out, 0x10000 + ((code - 0xd800) << 10) + (low.0 - 0xdc00))
            }
            0xdc00..0xe000 => Err(surrogate("Unicode low surrogate must follow a high surrogate.")),
            _ => push_code(out, code),
        }
    }

    fn number(&mut self) -> Result<Token> {
        let rest = self.rest();
        let radix = match rest.get(..2) {
            Some("0x" | "0X") => 16,
            Some("0o" | "0O") => 8,
            Some("0b" | "0B") => 2,
            _ => 10,
        };
        let digits = |text: &str, radix: u32| -> usize {
            let mut len = 0;
            let b = text.as_bytes();
            while b.get(len).is_some_and(|c| {
                (*c as char).is_digit(radix)
                    || (*c == b'_'
                        && len > 0
                        && b[len - 1] != b'_'
                        && b.get(len + 1).is_some_and(|n| (*n as char).is_digit(radix)))
            }) {
                len += 1;
            }
            len
        };
        let mut len;
        if radix != 10 {
            len = 2 + digits(&rest[2..], radix);
        } else {
            len = digits(rest, 10);
            // No number begins with a zero but zero itself.
            if len > 1 && rest.starts_with('0') {
                len = 1;
            }
            if rest[len..].starts_with('.') {
                len += 1;
                len += digits(&rest[len..], 10);
            }
            if rest[len..].starts_with(['e', 'E']) {
                let sign = usize::from(rest[len + 1..].starts_with(['+', '-']));
                let exponent = digits(&rest[len + 1 + sign..], 10);
                if exponent > 0 {
                    len += 1 + sign + exponent;
                }
            }
        }
        let junk = rest[len..]
            .chars()
            .next()
            .filter(|c| c.is_alphanumeric() || *c == '_' || !c.is_ascii());
        if let Some(c) = junk {
            let end = len + c.len_utf8();
            // What is longer as a name is one, that stands where none can.
            let name = rest.find(|c| is_special(c) || is_blank(c)).unwrap_or(rest.len());
            if name > len + 1 || (radix != 10 && name == end && len > 2) {
                return self.word().map(Token::Word);
            }
            return Err(near("trailing junk after numeric literal", &rest[..end]));
        }
        self.at += len;
        let text = &rest[..len];
        let value =
            numeric::parse(text).map_err(|_| near("trailing junk after numeric literal", text))?;
        Ok(Token::Number(value))
    }
}

fn n_is_escape(after: Option<char>) -> bool {
    after == Some('\\')
}

fn push_code(out: &mut String, code: u32) -> Result<()> {
    if code == 0 {
        return Err(err!(UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence")
            .detail("\\u0000 cannot be converted to text."));
    }
    match char::from_u32(code) {
        Some(c) => {
            out.push(c);
            Ok(())
        }
        None => Err(err!(UNTRANSLATABLE_CHARACTER, "could not convert Unicode to server encoding")),
    }
}
