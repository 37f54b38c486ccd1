//! JSON text: tokens, and PostgreSQL's words for what is wrong.

use super::Json;
use crate::numeric;
use base::{Error, Result, err};

/// A lexical element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    /// A string.
    String,
    /// A number.
    Number,
    /// `true`
    True,
    /// `false`
    False,
    /// `null`
    Null,
    /// `{`
    ObjectStart,
    /// `}`
    ObjectEnd,
    /// `[`
    ArrayStart,
    /// `]`
    ArrayEnd,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// The end.
    End,
}

/// Reads tokens.
pub struct Tokens<'a> {
    text: &'a str,
    /// Start and end of the token.
    pub start: usize,
    /// Where reading goes on.
    pub end: usize,
    /// The token.
    pub token: Token,
    /// Where the line starts.
    line_start: usize,
    line: usize,
    /// The value of a string token.
    pub string: String,
    /// Whether string values are wanted.
    want_strings: bool,
    /// Bytes of escapes are checked even if values are not wanted.
    depth: usize,
}

/// Nesting deeper than this is refused, as the stack is finite.
const DEPTH_MAX: usize = 6000;

impl<'a> Tokens<'a> {
    /// Starts before the first token.
    pub fn new(text: &'a str, want_strings: bool) -> Tokens<'a> {
        Tokens {
            text,
            start: 0,
            end: 0,
            token: Token::End,
            line_start: 0,
            line: 1,
            string: String::new(),
            want_strings,
            depth: 0,
        }
    }

    /// The text of the token.
    pub fn text(&self) -> &'a str {
        &self.text[self.start..self.end]
    }

    /// Reads the next token.
    pub fn next(&mut self) -> Result<Token> {
        base::interrupt::step()?;
        let b = self.text.as_bytes();
        while let Some(c) = b.get(self.end) {
            match c {
                b'\n' => {
                    self.line += 1;
                    self.end += 1;
                    self.line_start = self.end;
                }
                b' ' | b'\t' | b'\r' => self.end += 1,
                _ => break,
            }
        }
        self.start = self.end;
        let Some(&c) = b.get(self.end) else {
            self.token = Token::End;
            return Ok(Token::End);
        };
        self.token = match c {
            b'{' => self.one(Token::ObjectStart),
            b'}' => self.one(Token::ObjectEnd),
            b'[' => self.one(Token::ArrayStart),
            b']' => self.one(Token::ArrayEnd),
            b',' => self.one(Token::Comma),
            b':' => self.one(Token::Colon),
            b'"' => self.read_string()?,
            b'-' | b'0'..=b'9' => self.number()?,
            _ => self.word()?,
        };
        Ok(self.token)
    }

    fn one(&mut self, token: Token) -> Token {
        self.end += 1;
        token
    }

    fn word_end(&self, from: usize) -> usize {
        let b = self.text.as_bytes();
        let more = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_' || *c >= 0x80;
        from + b[from..].iter().take_while(|c| more(c)).count()
    }

    fn word(&mut self) -> Result<Token> {
        let end = self.word_end(self.start);
        if end == self.start {
            // A single character that starts nothing.
            self.end += 1;
            return Err(self.invalid());
        }
        self.end = end;
        match &self.text[self.start..end] {
            "true" => Ok(Token::True),
            "false" => Ok(Token::False),
            "null" => Ok(Token::Null),
            _ => Err(self.invalid()),
        }
    }

    fn number(&mut self) -> Result<Token> {
        let b = self.text.as_bytes();
        let mut at = self.start;
        let digit = |i: usize| b.get(i).is_some_and(u8::is_ascii_digit);
        let mut bad = false;
        if b[at] == b'-' {
            at += 1;
        }
        if b.get(at) == Some(&b'0') {
            at += 1;
        } else if digit(at) {
            while digit(at) {
                at += 1;
            }
        } else {
            bad = true;
        }
        if b.get(at) == Some(&b'.') {
            at += 1;
            if digit(at) {
                while digit(at) {
                    at += 1;
                }
            } else {
                bad = true;
            }
        }
        if matches!(b.get(at), Some(b'e' | b'E')) {
            at += 1;
            if matches!(b.get(at), Some(b'+' | b'-')) {
                at += 1;
            }
            if digit(at) {
                while digit(at) {
                    at += 1;
                }
            } else {
                bad = true;
            }
        }
        let end = self.word_end(at);
        self.end = end;
        if bad || end != at { Err(self.invalid()) } else { Ok(Token::Number) }
    }

    fn read_string(&mut self) -> Result<Token> {
        self.string.clear();
        let b = self.text.as_bytes();
        let mut at = self.start + 1;
        let mut high: Option<u32> = None;
        loop {
            let plain = b[at..]
                .iter()
                .position(|c| *c < 0x20 || *c == b'"' || *c == b'\\')
                .unwrap_or(b.len() - at);
            if plain > 0 {
                if high.is_some() {
                    let first = self.text[at..].chars().next().map_or(1, char::len_utf8);
                    return Err(self.unicode(at + first, LOW_MUST_FOLLOW));
                }
                if self.want_strings {
                    self.string.push_str(&self.text[at..at + plain]);
                }
                at += plain;
            }
            match b.get(at) {
                None => {
                    self.end = b.len();
                    return Err(self.invalid());
                }
                Some(b'"') => {
                    if high.is_some() {
                        return Err(self.unicode(at, LOW_MUST_FOLLOW));
                    }
                    self.end = at + 1;
                    return Ok(Token::String);
                }
                Some(b'\\') => at = self.escape(at, &mut high)?,
                Some(c) => {
                    self.end = at;
                    let detail = format!("Character with value 0x{c:02x} must be escaped.");
                    return Err(self.fail(&detail, at));
                }
            }
        }
    }

    /// Takes in the escape at `at`; answers where reading goes on.
    fn escape(&mut self, at: usize, high: &mut Option<u32>) -> Result<usize> {
        let b = self.text.as_bytes();
        let Some(&c) = b.get(at + 1) else {
            self.end = b.len();
            return Err(self.invalid());
        };
        if c == b'u' {
            let digits = self.text.get(at + 2..at + 6);
            let code = digits
                .filter(|d| d.bytes().all(|c| c.is_ascii_hexdigit()))
                .and_then(|d| u32::from_str_radix(d, 16).ok());
            let Some(code) = code else {
                let n = b[at + 2..].iter().take(4).take_while(|c| c.is_ascii_hexdigit()).count();
                let stop = (at + 2 + n + 1).min(b.len());
                if at + 2 + n >= b.len() {
                    self.end = b.len();
                    return Err(self.invalid());
                }
                return Err(
                    self.unicode(stop, "\"\\u\" must be followed by four hexadecimal digits.")
                );
            };
            let next = at + 6;
            // Pairs are looked at where a string is made of them.
            if !self.want_strings {
                return Ok(next);
            }
            let whole = match (code, *high) {
                (0xD800..=0xDBFF, None) => {
                    *high = Some(code);
                    return Ok(next);
                }
                (0xD800..=0xDBFF, Some(_)) => {
                    return Err(self.unicode(
                        next,
                        "Unicode high surrogate must not follow a high surrogate.",
                    ));
                }
                (0xDC00..=0xDFFF, Some(h)) => {
                    *high = None;
                    0x10000 + ((h - 0xD800) << 10) + (code - 0xDC00)
                }
                (0xDC00..=0xDFFF, None) => return Err(self.unicode(next, LOW_MUST_FOLLOW)),
                (_, Some(_)) => return Err(self.unicode(next, LOW_MUST_FOLLOW)),
                (0, None) if self.want_strings => {
                    let e = err!(UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence")
                        .detail("\\u0000 cannot be converted to text.");
                    return Err(e.context(self.context_line(next)));
                }
                (code, None) => code,
            };
            if self.want_strings {
                self.string.extend(char::from_u32(whole));
            }
            return Ok(next);
        }
        if high.is_some() {
            return Err(self.unicode(at + 1, LOW_MUST_FOLLOW));
        }
        let plain = match c {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            _ => {
                let len = self.text[at + 1..].chars().next().map_or(1, char::len_utf8);
                self.end = at + 1 + len;
                let bad = &self.text[at..at + 1 + len];
                let detail = format!("Escape sequence \"{bad}\" is invalid.");
                return Err(self.fail(&detail, self.end));
            }
        };
        if self.want_strings {
            self.string.push(plain);
        }
        Ok(at + 2)
    }

    #[cold]
    fn unicode(&mut self, end: usize, detail: &str) -> Error {
        self.end = end.min(self.text.len());
        let end = self.end;
        self.fail(detail, end)
    }

    #[cold]
    fn invalid(&self) -> Error {
        self.fail(&format!("Token \"{}\" is invalid.", self.text()), self.end)
    }

    #[cold]
    fn fail(&self, detail: &str, upto: usize) -> Error {
        err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
            .detail(detail)
            .context(self.context_line(upto))
    }

    /// The line with the error, up to it, cut at the front if long.
    fn context_line(&self, upto: usize) -> String {
        let mut upto = upto.min(self.text.len());
        while !self.text.is_char_boundary(upto) {
            upto += 1;
        }
        let mut start = self.line_start;
        let mut prefix = "";
        if upto.saturating_sub(start) >= 50 {
            // Characters are left out from the front until fewer than 50 bytes are left.
            start = upto - 49;
            while !self.text.is_char_boundary(start) {
                start += 1;
            }
            if start - self.line_start <= 3 {
                start = self.line_start;
            } else {
                prefix = "...";
            }
        }
        let rest = &self.text[upto..];
        let suffix = if rest.is_empty() || rest.starts_with(['\n', '\r']) { "" } else { "..." };
        format!("JSON data, line {}: {prefix}{}{suffix}", self.line, &self.text[start..upto])
    }

    #[cold]
    fn expected(&self, what: &str) -> Error {
        if self.token == Token::End {
            return self.fail("The input string ended unexpectedly.", self.end);
        }
        self.fail(&format!("Expected {what}, but found \"{}\".", self.text()), self.end)
    }

    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(base::stack::too_deep());
        }
        Ok(())
    }
}

const LOW_MUST_FOLLOW: &str = "Unicode low surrogate must follow a high surrogate.";

/// Receives a value's parts in order.
trait Sink {
    fn value(&mut self, tokens: &Tokens) -> Result<()>;
    fn start(&mut self, object: bool);
    fn key(&mut self, tokens: &Tokens);
    fn end(&mut self);
}

struct Check;

impl Sink for Check {
    fn value(&mut self, _: &Tokens) -> Result<()> {
        Ok(())
    }
    fn start(&mut self, _: bool) {}
    fn key(&mut self, _: &Tokens) {}
    fn end(&mut self) {}
}

/// Looks for keys that repeat within an object.
#[derive(Default)]
struct Keys {
    open: Vec<Option<std::collections::HashSet<String>>>,
    repeated: bool,
}

impl Sink for Keys {
    fn value(&mut self, _: &Tokens) -> Result<()> {
        Ok(())
    }
    fn start(&mut self, object: bool) {
        self.open.push(object.then(Default::default));
    }
    fn key(&mut self, tokens: &Tokens) {
        if let Some(Some(keys)) = self.open.last_mut() {
            self.repeated |= !keys.insert(tokens.string.clone());
        }
    }
    fn end(&mut self) {
        self.open.pop();
    }
}

/// Whether no object in JSON text has a key twice.
pub fn keys_are_unique(text: &str) -> Result<bool> {
    let mut keys = Keys::default();
    document(&mut Tokens::new(text, true), &mut keys)?;
    Ok(!keys.repeated)
}

enum Open {
    Array(Vec<Json>),
    Object(Vec<(String, Json)>, String),
}

#[derive(Default)]
struct Build {
    open: Vec<Open>,
    done: Option<Json>,
}

impl Build {
    fn put(&mut self, value: Json) {
        match self.open.last_mut() {
            Some(Open::Array(items)) => items.push(value),
            Some(Open::Object(members, key)) => members.push((std::mem::take(key), value)),
            None => self.done = Some(value),
        }
    }
}

impl Sink for Build {
    fn value(&mut self, tokens: &Tokens) -> Result<()> {
        let value = match tokens.token {
            Token::String => Json::String(tokens.string.as_str().into()),
            Token::Number => Json::Number(numeric::parse(tokens.text())?),
            Token::True => Json::Bool(true),
            Token::False => Json::Bool(false),
            _ => Json::Null,
        };
        self.put(value);
        Ok(())
    }
    fn start(&mut self, object: bool) {
        self.open.push(if object {
            Open::Object(Vec::new(), String::new())
        } else {
            Open::Array(Vec::new())
        });
    }
    fn key(&mut self, tokens: &Tokens) {
        if let Some(Open::Object(_, key)) = self.open.last_mut() {
            key.clone_from(&tokens.string);
        }
    }
    fn end(&mut self) {
        match self.open.pop() {
            Some(Open::Array(items)) => self.put(Json::Array(items)),
            Some(Open::Object(members, _)) => self.put(Json::object(members)),
            None => {}
        }
    }
}

/// Checks that text is JSON.
pub fn validate(text: &str) -> Result<()> {
    if super::check::is_json(text) { Ok(()) } else { validate_slowly(text) }
}

/// The same, saying what is wrong.
pub(super) fn validate_slowly(text: &str) -> Result<()> {
    document(&mut Tokens::new(text, false), &mut Check)
}

/// The value of JSON text.
pub fn parse(text: &str) -> Result<Json> {
    let mut build = Build::default();
    document(&mut Tokens::new(text, true), &mut build)?;
    Ok(build.done.unwrap_or(Json::Null))
}

fn document(tokens: &mut Tokens, sink: &mut impl Sink) -> Result<()> {
    tokens.next()?;
    let mut stack: Vec<bool> = Vec::new();
    loop {
        // A value is expected here.
        match tokens.token {
            Token::ObjectStart => {
                tokens.enter()?;
                sink.start(true);
                if tokens.next()? == Token::ObjectEnd {
                    sink.end();
                } else {
                    member(tokens, sink, "string or \"}\"")?;
                    stack.push(true);
                    continue;
                }
            }
            Token::ArrayStart => {
                tokens.enter()?;
                sink.start(false);
                if tokens.next()? == Token::ArrayEnd {
                    sink.end();
                } else {
                    stack.push(false);
                    continue;
                }
            }
            Token::String | Token::Number | Token::True | Token::False | Token::Null => {
                sink.value(tokens)?;
            }
            _ => return Err(tokens.expected("JSON value")),
        }
        // A value is complete: what follows it?
        loop {
            let Some(&object) = stack.last() else {
                if tokens.next()? != Token::End {
                    return Err(tokens.expected("end of input"));
                }
                return Ok(());
            };
            match (tokens.next()?, object) {
                (Token::Comma, true) => {
                    tokens.next()?;
                    member(tokens, sink, "string")?;
                    break;
                }
                (Token::Comma, false) => {
                    tokens.next()?;
                    break;
                }
                (Token::ObjectEnd, true) | (Token::ArrayEnd, false) => {
                    stack.pop();
                    tokens.depth -= 1;
                    sink.end();
                }
                (_, true) => return Err(tokens.expected("\",\" or \"}\"")),
                (_, false) => return Err(tokens.expected("\",\" or \"]\"")),
            }
        }
    }
}

/// A key and the colon; leaves the first token of the value.
fn member(tokens: &mut Tokens, sink: &mut impl Sink, what: &str) -> Result<()> {
    if tokens.token != Token::String {
        return Err(tokens.expected(what));
    }
    sink.key(tokens);
    if tokens.next()? != Token::Colon {
        return Err(tokens.expected("\":\""));
    }
    tokens.next()?;
    Ok(())
}
