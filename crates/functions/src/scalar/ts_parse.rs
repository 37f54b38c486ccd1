//! The default text search parser: from text to tokens, and from tokens to lexemes.

use rust_stemmers::{Algorithm, Stemmer};

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Letters only.
    Word,
    /// Letters and digits, numbers, hosts, addresses: looked up as they are.
    Plain,
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub text: &'a str,
    pub kind: Kind,
}

/// How tokens become lexemes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Config {
    Simple,
    English,
}

const STOP_WORDS: &str = " i me my myself we our ours ourselves you your yours yourself \
    yourselves he him his himself she her hers herself it its itself they them their theirs \
    themselves what which who whom this that these those am is are was were be been being have \
    has had having do does did doing a an the and but if or because as until while of at by for \
    with about against between into through during before after above below to from up down in \
    out on off over under again further then once here there when where why how all any both \
    each few more most other some such no nor not only own same so than too very s t can will \
    just don should now ";

impl Config {
    /// The lexeme of a token; None for a stop word.
    pub fn lexeme(self, token: &Token) -> Option<String> {
        let word = token.text.to_lowercase();
        if self == Config::Simple || token.kind == Kind::Plain {
            return Some(word);
        }
        if STOP_WORDS.contains(&format!(" {word} ")) {
            return None;
        }
        Some(Stemmer::create(Algorithm::English).stem(&word).into_owned())
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric()
}

/// Length of the run of characters that `f` holds for.
fn run(text: &str, f: impl Fn(char) -> bool) -> usize {
    text.find(|c| !f(c)).unwrap_or(text.len())
}

/// `name.name.name`, with hyphens inside: its length and whether it has a point.
fn dotted(text: &str) -> (usize, bool) {
    let (mut len, mut points) = (0, false);
    loop {
        let part = run(&text[len..], |c| is_word(c) || c == '-' || c == '_');
        if part == 0 {
            return (len.saturating_sub(1), points);
        }
        len += part;
        let next = text[len..].strip_prefix('.');
        match next.and_then(|n| n.chars().next()) {
            Some(c) if is_word(c) => {
                len += 1;
                points = true;
            }
            _ => return (len, points),
        }
    }
}

fn number(text: &str) -> usize {
    let mut len = run(text, |c| c.is_ascii_digit());
    let digits = |rest: &str| run(rest, |c| c.is_ascii_digit());
    while text[len..].starts_with('.') && digits(&text[len + 1..]) > 0 {
        len += 1 + digits(&text[len + 1..]);
    }
    if text[len..].starts_with(['e', 'E']) {
        let sign = usize::from(text[len + 1..].starts_with(['+', '-']));
        let exponent = digits(&text[len + 1 + sign..]);
        if exponent > 0 {
            len += 1 + sign + exponent;
        }
    }
    len
}

/// The tokens that have lexemes; blanks, tags and entities have none.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let used = token(rest, text[..at].chars().next_back(), &mut out);
        at += if used > 0 { used } else { c.len_utf8() };
    }
    out
}

/// Takes a token off the text; 0 if there is none here.
fn token<'a>(rest: &'a str, before: Option<char>, out: &mut Vec<Token<'a>>) -> usize {
    let c = rest.chars().next().unwrap_or(' ');
    let plain = |text: &'a str| Token { text, kind: Kind::Plain };
    if c == '<' {
        let tag = rest[1..].trim_start_matches('/').starts_with(|c: char| c.is_ascii_alphabetic());
        return match rest.find('>') {
            Some(end) if tag || rest.starts_with("<!--") => end + 1,
            _ => 0,
        };
    }
    if c == '&' {
        let len = run(&rest[1..], |c| c.is_ascii_alphanumeric() || c == '#');
        return if len > 0 && rest[1 + len..].starts_with(';') { len + 2 } else { 0 };
    }
    let signed = (c == '-' || c == '+')
        && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        && !before.is_some_and(is_word);
    if signed || c.is_ascii_digit() {
        let len = signed as usize + number(&rest[signed as usize..]);
        let ends = !rest[len..].starts_with(|c: char| is_word(c) || c == '@');
        if ends {
            let text = if c == '+' { &rest[1..len] } else { &rest[..len] };
            out.push(plain(text));
            return len;
        }
        if signed {
            return 0;
        }
    }
    if !is_word(c) {
        return 0;
    }
    let protocol = run(rest, |c| c.is_ascii_alphabetic());
    if rest[protocol..].starts_with("://") {
        return protocol + 3;
    }
    let (len, points) = dotted(rest);
    if rest[len..].starts_with('@') {
        let (host, host_points) = dotted(&rest[len + 1..]);
        if host_points {
            out.push(plain(&rest[..len + 1 + host]));
            return len + 1 + host;
        }
    }
    if points {
        let last = rest[..len].rsplit('.').next().unwrap_or("");
        if last.len() >= 2 && last.chars().all(|c| c.is_ascii_alphabetic()) {
            if rest[len..].starts_with('/') {
                let path = run(&rest[len..], |c| !c.is_whitespace() && !"<>\"'()".contains(c));
                if path > 1 {
                    out.push(plain(&rest[..len + path]));
                    out.push(plain(&rest[..len]));
                    out.push(plain(&rest[len..len + path]));
                    return len + path;
                }
            }
            out.push(plain(&rest[..len]));
            return len;
        }
    }
    words(rest, out)
}

/// A word, or words joined by hyphens: the whole and then its parts.
fn words<'a>(rest: &'a str, out: &mut Vec<Token<'a>>) -> usize {
    let token = |text: &'a str| Token {
        text,
        kind: if text.chars().all(|c| c.is_alphabetic() || c == '-') {
            Kind::Word
        } else {
            Kind::Plain
        },
    };
    let mut len = run(rest, is_word);
    let mut parts = vec![&rest[..len]];
    while let Some(after) = rest[len..].strip_prefix('-') {
        let part = run(after, is_word);
        if part == 0 {
            break;
        }
        parts.push(&after[..part]);
        len += 1 + part;
    }
    if parts.len() > 1 {
        out.push(token(&rest[..len]));
    }
    out.extend(parts.into_iter().map(token));
    len
}
