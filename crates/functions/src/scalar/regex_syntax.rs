//! PostgreSQL's advanced regular expressions, translated for the `regex` library.
//!
//! What the library cannot do (back references, lookaround) is an error that says so.

use base::{Error, Result, err};

/// How a pattern is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) global: bool,
    pub(crate) ignore_case: bool,
    /// A basic regular expression.
    pub(crate) basic: bool,
    /// An extended one, without escapes.
    pub(crate) extended: bool,
    /// A plain string.
    pub(crate) quote: bool,
    /// White space and comments are skipped.
    pub(crate) expanded: bool,
    /// `.` and negated classes stop at a newline.
    pub(crate) newline_stop: bool,
    /// `^` and `$` match at newlines.
    pub(crate) newline_anchor: bool,
}

/// A compiled pattern.
pub(crate) struct Pattern {
    regex: regex::Regex,
}

impl Pattern {
    /// Whether it matches anywhere.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The first match from a byte offset.
    pub(crate) fn captures_at(&self, text: &str, at: usize) -> Option<Vec<Option<(usize, usize)>>> {
        let captures = self.regex.captures_at(text, at)?;
        Some((0..captures.len()).map(|i| captures.get(i).map(|m| (m.start(), m.end()))).collect())
    }
}

#[cold]
fn invalid(what: &str) -> Error {
    err!(INVALID_REGULAR_EXPRESSION, "invalid regular expression: {what}")
}

/// Compiles a pattern.
pub(crate) fn compile(pattern: &str, flags: Flags) -> Result<Pattern> {
    let (pattern, flags) = directives(pattern, flags);
    let source = if flags.quote {
        regex::escape(pattern)
    } else {
        Translator { chars: pattern.chars().collect(), at: 0, out: String::new(), flags }.run()?
    };
    let regex = regex::RegexBuilder::new(&source)
        .case_insensitive(flags.ignore_case)
        .dot_matches_new_line(!flags.newline_stop)
        .multi_line(flags.newline_anchor)
        .size_limit(64 << 20)
        .build()
        .map_err(|e| match e {
            regex::Error::CompiledTooBig(_) => invalid("regular expression is too complex"),
            _ => invalid(reason(&e.to_string())),
        })?;
    Ok(Pattern { regex })
}

fn reason(text: &str) -> &'static str {
    if text.contains("unclosed group") || text.contains("unopened group") {
        "parentheses () not balanced"
    } else if text.contains("unclosed character class") {
        "brackets [] not balanced"
    } else if text.contains("repetition operator missing") {
        "quantifier operand invalid"
    } else if text.contains("invalid character class range") {
        "invalid character range"
    } else if text.contains("repetition quantifier") || text.contains("counted repetition") {
        "invalid repetition count(s)"
    } else {
        "invalid escape \\ sequence"
    }
}

/// Takes off `***:`, `***=` and `(?letters)` at the front.
fn directives(pattern: &str, mut flags: Flags) -> (&str, Flags) {
    if let Some(rest) = pattern.strip_prefix("***=") {
        flags.quote = true;
        return (rest, flags);
    }
    let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
    if let Some(rest) = pattern.strip_prefix("(?")
        && let Some(end) = rest.find(')')
        && rest[..end].chars().all(|c| c.is_ascii_lowercase())
        && end > 0
    {
        if let Ok(extra) = super::regexp::flags(&rest[..end], None) {
            flags = Flags {
                ignore_case: if rest[..end].contains('c') {
                    false
                } else {
                    flags.ignore_case || extra.ignore_case
                },
                expanded: flags.expanded || extra.expanded,
                newline_stop: flags.newline_stop || extra.newline_stop,
                newline_anchor: flags.newline_anchor || extra.newline_anchor,
                quote: extra.quote,
                ..flags
            };
        }
        return (&rest[end + 1..], flags);
    }
    (pattern, flags)
}

struct Translator {
    chars: Vec<char>,
    at: usize,
    out: String,
    flags: Flags,
}

impl Translator {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn run(mut self) -> Result<String> {
        // Without the multi-line flag `$` is the very end.
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\\' if self.flags.extended => self.out.push_str("\\\\"),
                '\\' => self.escape()?,
                '[' => self.bracket()?,
                '(' if self.peek(0) == Some('?') => self.group()?,
                '$' if !self.flags.newline_anchor => self.out.push_str("\\z"),
                c if self.flags.expanded && c.is_whitespace() => {}
                '#' if self.flags.expanded => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '{' if !self.peek(0).is_some_and(|c| c.is_ascii_digit()) => {
                    self.out.push_str("\\{");
                }
                '*' | '+' | '?' => {
                    if matches!(c, '*' | '+' | '?') && self.out.is_empty() {
                        return Err(invalid("quantifier operand invalid"));
                    }
                    if self.peek(0) == Some('*') || (self.peek(0) == Some('+')) {
                        return Err(invalid("quantifier operand invalid"));
                    }
                    self.out.push(c);
                }
                '#' | '&' | '~' | '-' => {
                    if c != '-' {
                        self.out.push('\\');
                    }
                    self.out.push(c);
                }
                '}' => self.out.push_str("\\}"),
                ']' => self.out.push_str("\\]"),
                c => self.out.push(c),
            }
            if c == '{' && self.out.ends_with('{') {
                self.bounds()?;
            }
        }
        Ok(self.out)
    }

    /// The rest of `{m,n}`.
    fn bounds(&mut self) -> Result<()> {
        let mut text = String::new();
        loop {
            match self.peek(0) {
                Some('}') => break,
                Some(c) if c.is_ascii_digit() || c == ',' => text.push(c),
                _ => return Err(invalid("invalid repetition count(s)")),
            }
            self.at += 1;
        }
        self.at += 1;
        let parse = |s: &str| s.parse::<u32>().ok().filter(|n| *n <= 255);
        let ok = match text.split_once(',') {
            Some((low, "")) => parse(low).is_some(),
            Some((low, high)) => parse(low).zip(parse(high)).is_some_and(|(l, h)| l <= h),
            None => parse(&text).is_some(),
        };
        if !ok {
            return Err(invalid("invalid repetition count(s)"));
        }
        self.out.push_str(&text);
        self.out.push('}');
        Ok(())
    }

    fn group(&mut self) -> Result<()> {
        match (self.peek(1), self.peek(2)) {
            (Some(':'), _) => {
                self.at += 2;
                self.out.push_str("(?:");
                Ok(())
            }
            (Some('#'), _) => {
                while self.peek(0).is_some_and(|c| c != ')') {
                    self.at += 1;
                }
                self.at += 1;
                Ok(())
            }
            (Some('=' | '!'), _) | (Some('<'), Some('=' | '!')) => {
                Err(Error::unsupported("lookaround in a regular expression"))
            }
            _ => Err(invalid("quantifier operand invalid")),
        }
    }

    fn escape(&mut self) -> Result<()> {
        let Some(c) = self.peek(0) else {
            return Err(invalid("invalid escape \\ sequence"));
        };
        self.at += 1;
        match c {
            'A' => self.out.push_str("\\A"),
            'Z' => self.out.push_str("\\z"),
            'm' => self.out.push_str("\\b{start}"),
            'M' => self.out.push_str("\\b{end}"),
            'y' => self.out.push_str("\\b"),
            'Y' => self.out.push_str("\\B"),
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            's' => self.out.push_str("\\s"),
            'S' => self.out.push_str("\\S"),
            'w' => self.out.push_str("[[:word:]]"),
            'W' => self.out.push_str("[^[:word:]]"),
            'a' => self.out.push_str("\\x07"),
            'b' => self.out.push_str("\\x08"),
            'B' => self.out.push_str("\\\\"),
            'e' => self.out.push_str("\\x1b"),
            'f' | 'n' | 'r' | 't' | 'v' => {
                self.out.push('\\');
                self.out.push(c);
            }
            'u' => self.code(4)?,
            'U' => self.code(8)?,
            'x' => {
                let n = self.chars[self.at..].iter().take_while(|c| c.is_ascii_hexdigit()).count();
                self.code(n.clamp(1, 6))?;
            }
            'c' => {
                let Some(x) = self.peek(0) else {
                    return Err(invalid("invalid escape \\ sequence"));
                };
                self.at += 1;
                self.out.push_str(&format!("\\x{:02x}", x as u32 & 31));
            }
            '0' => self.out.push_str("\\x00"),
            '1'..='9' => {
                return Err(Error::unsupported("a back reference in a regular expression"));
            }
            c if c.is_alphanumeric() => return Err(invalid("invalid escape \\ sequence")),
            c => self.out.push_str(&regex::escape(&c.to_string())),
        }
        Ok(())
    }

    fn code(&mut self, n: usize) -> Result<()> {
        let end = (self.at + n).min(self.chars.len());
        let digits: String = self.chars[self.at..end].iter().collect();
        let value = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
        let Some(c) = value.filter(|_| digits.len() == n) else {
            return Err(invalid("invalid escape \\ sequence"));
        };
        self.at = end;
        self.out.push_str(&regex::escape(&c.to_string()));
        Ok(())
    }

    /// A bracket expression.
    fn bracket(&mut self) -> Result<()> {
        let rest: String = self.chars[self.at..].iter().take(6).collect();
        if rest == "[:<:]]" {
            self.at += 6;
            self.out.push_str("\\b{start}");
            return Ok(());
        }
        if rest == "[:>:]]" {
            self.at += 6;
            self.out.push_str("\\b{end}");
            return Ok(());
        }
        self.out.push('[');
        if self.peek(0) == Some('^') {
            self.at += 1;
            self.out.push('^');
            if self.flags.newline_stop {
                self.out.push_str("\\n");
            }
        }
        let mut first = true;
        loop {
            let Some(c) = self.peek(0) else {
                return Err(invalid("brackets [] not balanced"));
            };
            self.at += 1;
            match c {
                ']' if !first => break,
                '[' if matches!(self.peek(0), Some(':' | '.' | '=')) => self.named()?,
                '\\' if !self.flags.extended => self.escape()?,
                '-' if self.peek(0) == Some(']') || first => self.out.push_str("\\-"),
                '-' => self.out.push('-'),
                c => self.out.push_str(&regex::escape(&c.to_string())),
            }
            first = false;
        }
        self.out.push(']');
        Ok(())
    }

    /// `[:class:]`, `[.x.]` or `[=x=]`.
    fn named(&mut self) -> Result<()> {
        let kind = self.chars[self.at];
        let start = self.at + 1;
        let end = (start..self.chars.len().saturating_sub(1))
            .find(|i| self.chars[*i] == kind && self.chars[*i + 1] == ']')
            .ok_or_else(|| invalid("brackets [] not balanced"))?;
        let name: String = self.chars[start..end].iter().collect();
        self.at = end + 2;
        if kind != ':' {
            if name.chars().count() != 1 {
                return Err(invalid("invalid collating element"));
            }
            self.out.push_str(&regex::escape(&name));
            return Ok(());
        }
        let class = match name.as_str() {
            "alpha" => "\\p{Alphabetic}",
            "alnum" => "\\p{Alphabetic}\\p{Nd}",
            "upper" => "\\p{Uppercase}",
            "lower" => "\\p{Lowercase}",
            "digit" => "0-9",
            "space" => "\\s",
            "blank" => " \\t",
            "punct" => "[:punct:]",
            "cntrl" => "[:cntrl:]",
            "graph" => "[:graph:]",
            "print" => "[:print:]",
            "xdigit" => "[:xdigit:]",
            "word" => "\\w",
            "ascii" => "[:ascii:]",
            _ => return Err(invalid("invalid character class")),
        };
        self.out.push_str(class);
        Ok(())
    }
}
