//! The words of a path.

use super::XPathError;
use crate::xml::{is_name_char, is_space, starts_name};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Literal(String),
    /// A name, maybe with a prefix; `prefix:*` too.
    Name(String),
    Variable,
    /// An operator or a mark.
    Mark(&'static str),
}

const MARKS: [&str; 22] = [
    "//", "::", "..", "!=", "<=", ">=", "/", "@", "(", ")", "[", "]", ",", "|", "+", "-", "=", "<",
    ">", "*", ".", "$",
];

const INVALID: XPathError = XPathError::Syntax("Invalid expression");

/// A name without colons.
fn ncname(rest: &str) -> usize {
    let mut chars = rest.char_indices();
    match chars.next() {
        Some((_, c)) if starts_name(c) && c != ':' => {}
        _ => return 0,
    }
    chars.find(|(_, c)| !is_name_char(*c) || *c == ':').map_or(rest.len(), |(i, _)| i)
}

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, XPathError> {
    let mut out: Vec<Token> = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while let Some(c) = rest.chars().next() {
        let digit_after = rest[c.len_utf8()..].starts_with(|d: char| d.is_ascii_digit());
        if c.is_ascii_digit() || c == '.' && digit_after {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let mut end = end;
            if let Some(second) = rest[..end].match_indices('.').nth(1) {
                end = second.0;
            }
            let mut shown = rest[..end].to_string();
            // An exponent is read as libxml2 does.
            let after = &rest[end..];
            if after.starts_with(['e', 'E']) {
                let sign = usize::from(after[1..].starts_with(['+', '-']));
                let digits = after[1 + sign..].bytes().take_while(u8::is_ascii_digit).count();
                if digits > 0 {
                    end += 1 + sign + digits;
                    shown = rest[..end].to_string();
                }
            }
            out.push(Token::Number(shown.parse().unwrap_or(f64::NAN)));
            rest = &rest[end..];
        } else if c == '"' || c == '\'' {
            let Some(end) = rest[1..].find(c) else {
                return Err(XPathError::Syntax("Unfinished literal"));
            };
            out.push(Token::Literal(rest[1..1 + end].to_string()));
            rest = &rest[end + 2..];
        } else if c == '$' {
            let name = ncname(&rest[1..]);
            if name == 0 {
                return Err(XPathError::Syntax("Expected $ for variable reference"));
            }
            let mut end = 1 + name;
            if rest[end..].starts_with(':') {
                end += 1 + ncname(&rest[end + 1..]);
            }
            out.push(Token::Variable);
            rest = &rest[end..];
        } else if ncname(rest) > 0 {
            let mut end = ncname(rest);
            let after = &rest[end..];
            if after.starts_with(':') && !after.starts_with("::") {
                match ncname(&after[1..]) {
                    0 if after[1..].starts_with('*') => end += 2,
                    0 => return Err(INVALID),
                    n => end += 1 + n,
                }
            }
            out.push(Token::Name(rest[..end].to_string()));
            rest = &rest[end..];
        } else if let Some(mark) = MARKS.iter().find(|m| rest.starts_with(**m)) {
            out.push(Token::Mark(mark));
            rest = &rest[mark.len()..];
        } else {
            return Err(INVALID);
        }
        rest = rest.trim_start_matches(is_space);
    }
    Ok(out)
}
