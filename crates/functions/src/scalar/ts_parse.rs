//! The default text search parser: from text to tokens.

use base::Result;

/// What a token is: the numbers of the default parser's token types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    AsciiWord = 1,
    Word,
    NumWord,
    Email,
    Url,
    Host,
    SFloat,
    Version,
    HwordNumPart,
    HwordPart,
    HwordAsciiPart,
    Blank,
    Tag,
    Protocol,
    NumHword,
    AsciiHword,
    Hword,
    UrlPath,
    File,
    Float,
    Int,
    UInt,
    Entity,
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub text: &'a str,
    pub kind: Kind,
}

/// Letters and digits. Databases are of locale C, where all that is not ASCII is a letter.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii()
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || !c.is_ascii()
}

fn is_ascii_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

/// Length of the run of characters that `f` holds for.
fn run(text: &str, f: impl Fn(char) -> bool) -> usize {
    text.find(|c| !f(c)).unwrap_or(text.len())
}

fn begins(text: &str, f: impl Fn(char) -> bool) -> bool {
    text.chars().next().is_some_and(f)
}

/// Length and kind of an unsigned number.
fn number(text: &str) -> (usize, Kind) {
    let digits = |rest: &str| run(rest, |c| c.is_ascii_digit());
    let mut len = digits(text);
    let mut points = 0;
    while text[len..].starts_with('.') && digits(&text[len + 1..]) > 0 {
        len += 1 + digits(&text[len + 1..]);
        points += 1;
    }
    if points < 2 && text[len..].starts_with(['e', 'E']) {
        let sign = usize::from(text[len + 1..].starts_with(['+', '-']));
        let exponent = digits(&text[len + 1 + sign..]);
        if exponent > 0 {
            return (len + 1 + sign + exponent, Kind::SFloat);
        }
    }
    (len, [Kind::UInt, Kind::Float, Kind::Version][points.min(2)])
}

/// All tokens, what is between them included.
pub(crate) fn parse(text: &str) -> Result<Vec<Token<'_>>> {
    let mut out: Vec<Token> = Vec::new();
    let (mut at, mut blank) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        base::interrupt::step()?;
        let mut found = Vec::new();
        // The sign of a number after words with hyphens is another hyphen.
        let compound = blank == at && out.last().is_some_and(|t| is_part(t.kind));
        // Within a blank `~` and `.` are nothing but blank.
        let plain = blank < at && matches!(c, '~' | '.') || compound && matches!(c, '-' | '+');
        let used = if plain { 0 } else { token(&text[at..], &mut found) };
        if used > 0 {
            if blank < at {
                out.push(Token { text: &text[blank..at], kind: Kind::Blank });
            }
            out.append(&mut found);
            at += used;
            blank = at;
            continue;
        }
        // What might have begun something else begins a blank of its own.
        if matches!(c, '<' | '&' | '/' | '+' | '-') && blank < at {
            out.push(Token { text: &text[blank..at], kind: Kind::Blank });
            blank = at;
        }
        at += c.len_utf8();
        if compound && matches!(c, '-' | '+') && begins(&text[at..], |c| c.is_ascii_digit()) {
            out.push(Token { text: &text[blank..at], kind: Kind::Blank });
            blank = at;
        }
    }
    if blank < at {
        out.push(Token { text: &text[blank..at], kind: Kind::Blank });
    }
    Ok(out)
}

fn is_part(kind: Kind) -> bool {
    matches!(kind, Kind::HwordPart | Kind::HwordAsciiPart | Kind::HwordNumPart)
}

/// The length of a tag; quotes in it are skipped, and a `<` outside of them ends the attempt.
fn tag(rest: &str) -> Option<usize> {
    if let Some(comment) = rest.strip_prefix("<!--") {
        return comment.find("-->").map(|end| end + 7);
    }
    let name = rest[1..].strip_prefix('/').unwrap_or(&rest[1..]);
    if !begins(name, |c| c.is_ascii_alphabetic() || c == '?' || c == '_') {
        return None;
    }
    let mut quote = None;
    for (i, c) in rest.char_indices().skip(1) {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(c),
            ('>', None) => return Some(i + 1),
            ('<', None) => return None,
            _ => {}
        }
    }
    None
}

/// The length of `&name;` and the like.
fn entity(rest: &str) -> Option<usize> {
    let body = &rest[1..];
    let (skip, len) = match body.strip_prefix('#') {
        Some(hex) if hex.starts_with(['x', 'X']) => (2, run(&hex[1..], |c| c.is_ascii_hexdigit())),
        Some(digits) => (1, run(digits, |c| c.is_ascii_digit())),
        None if begins(body, |c| c.is_ascii_alphabetic()) => (0, run(body, is_ascii_word)),
        None => (0, 0),
    };
    (len > 0 && body[skip + len..].starts_with(';')).then_some(skip + len + 2)
}

/// The length of a host's name: the last part is of two letters at least.
fn host(rest: &str) -> Option<usize> {
    let (mut at, mut best, mut first) = (0, None, true);
    loop {
        if !begins(&rest[at..], is_ascii_word) {
            return best;
        }
        let letters = run(&rest[at..], |c| c.is_ascii_alphabetic());
        let after = &rest[at + letters..];
        let over = after.strip_prefix('_').unwrap_or(after);
        if !first && letters >= 2 && !begins(over, is_ascii_word) {
            best = Some(at + letters);
        }
        loop {
            at += run(&rest[at..], |c| is_ascii_word(c) || c == '_');
            let hyphens = run(&rest[at..], |c| c == '-');
            if hyphens == 0 || !begins(&rest[at + hyphens..], is_ascii_word) {
                break;
            }
            at += hyphens;
        }
        if !rest[at..].starts_with('.') {
            return best;
        }
        (at, first) = (at + 1, false);
    }
}

/// The length of an address of mail.
fn email(rest: &str) -> Option<usize> {
    let len = run(rest, |c| is_ascii_word(c) || matches!(c, '_' | '-' | '.'));
    let name = &rest[..len];
    if len == 0 || !rest[len..].starts_with('@') || name.contains("..") || name.ends_with('.') {
        return None;
    }
    Some(len + 1 + host(&rest[len + 1..])?)
}

/// How much more of a path follows a part of it.
fn path(rest: &str) -> usize {
    let mut len = 0;
    while let Some(c) = rest[len..].chars().next() {
        let after = &rest[len + c.len_utf8()..];
        let goes_on = match c {
            '_' | '-' => true,
            '~' => begins(after, |c| is_ascii_word(c) || c == '/'),
            '.' => begins(after, |c| is_ascii_word(c) || c == '_'),
            '/' => {
                let after = after.strip_prefix('.').unwrap_or(after);
                begins(after, |c| is_ascii_word(c) || matches!(c, '_' | '~'))
            }
            c => is_ascii_word(c),
        };
        if !goes_on {
            break;
        }
        len += 1;
    }
    len
}

/// The length of a file's name that begins with a mark.
fn marked_path(rest: &str) -> Option<usize> {
    let start = match () {
        () if rest.starts_with("../") => 2,
        () if rest.starts_with("./") => 1,
        () if rest.starts_with('~') => 1,
        () => 0,
    };
    if rest.starts_with('.') && start == 0 {
        return None;
    }
    let len = start + path(&rest[start..]);
    (len > start && rest[..len].chars().any(is_ascii_word)).then_some(len)
}

/// Takes a token off the text; 0 if there is none here.
fn token<'a>(rest: &'a str, out: &mut Vec<Token<'a>>) -> usize {
    let c = rest.chars().next().unwrap_or(' ');
    let mut put = |len: usize, kind: Kind| {
        out.push(Token { text: &rest[..len], kind });
        len
    };
    match c {
        '<' => return tag(rest).map_or(0, |len| put(len, Kind::Tag)),
        '&' => return entity(rest).map_or(0, |len| put(len, Kind::Entity)),
        '/' | '~' | '.' => return marked_path(rest).map_or(0, |len| put(len, Kind::File)),
        '-' | '+' => {
            if !begins(&rest[1..], |c| c.is_ascii_digit()) {
                return 0;
            }
            return match number(&rest[1..]) {
                (_, Kind::Version) => 0,
                (len, Kind::UInt) => put(len + 1, Kind::Int),
                (len, kind) => put(len + 1, kind),
            };
        }
        c if !is_word(c) => return 0,
        _ => {}
    }
    if c.is_ascii() {
        if let Some(len) = email(rest) {
            return put(len, Kind::Email);
        }
        if let Some(len) = host(rest) {
            return address(rest, len, out);
        }
        let letters = run(rest, |c| c.is_ascii_alphabetic());
        if letters > 0 && rest[letters..].starts_with("://") {
            return put(letters + 3, Kind::Protocol);
        }
        let (digits, kind) = match c.is_ascii_digit() {
            true => number(rest),
            false => (0, Kind::UInt),
        };
        if digits > 0 && kind != Kind::UInt {
            return put(digits, kind);
        }
        let word = run(rest, is_ascii_word);
        if rest[word..].starts_with(['.', '/']) {
            let more = path(&rest[word..]);
            if more > 0 {
                return put(word + more, Kind::File);
            }
        }
        if digits > 0 && !begins(&rest[digits..], is_word) {
            return put(digits, Kind::UInt);
        }
    }
    // A word with digits may begin a file's name, whatever its letters.
    let word = run(rest, is_word);
    if rest[..word].contains(|c: char| c.is_ascii_digit()) && rest[word..].starts_with(['.', '/']) {
        let more = path(&rest[word..]);
        if more > 0 {
            return put(word + more, Kind::File);
        }
    }
    words(rest, out)
}

/// A host, maybe with a port, and the path that follows it.
fn address<'a>(rest: &'a str, mut len: usize, out: &mut Vec<Token<'a>>) -> usize {
    if let Some(port) = rest[len..].strip_prefix(':') {
        let digits = run(port, |c| c.is_ascii_digit());
        len += if digits > 0 { digits + 1 } else { 0 };
    }
    let url = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
    let more = if rest[len..].starts_with('/') { run(&rest[len..], url) } else { 0 };
    if more < 2 {
        out.push(Token { text: &rest[..len], kind: Kind::Host });
        return len;
    }
    out.push(Token { text: &rest[..len + more], kind: Kind::Url });
    out.push(Token { text: &rest[..len], kind: Kind::Host });
    out.push(Token { text: &rest[len..len + more], kind: Kind::UrlPath });
    len + more
}

/// Which of three kinds a word is: of ASCII letters, of letters, with digits.
fn kind_of(text: &str, kinds: [Kind; 3]) -> Kind {
    let letters = |c: char| c == '-' || is_letter(c);
    match text.chars().all(letters) {
        true if text.is_ascii() => kinds[0],
        true => kinds[1],
        false => kinds[2],
    }
}

/// A word, or words joined by hyphens: the whole and then its parts.
fn words<'a>(rest: &'a str, out: &mut Vec<Token<'a>>) -> usize {
    let mut len = run(rest, is_word);
    let mut ends = vec![(0, len)];
    while let Some(after) = rest[len..].strip_prefix('-') {
        let part = run(after, is_word);
        // A number is no part of a compound.
        if !after[..part].contains(is_letter) {
            break;
        }
        ends.push((len + 1, len + 1 + part));
        len += 1 + part;
    }
    if ends.len() == 1 {
        let kind = kind_of(&rest[..len], [Kind::AsciiWord, Kind::Word, Kind::NumWord]);
        out.push(Token { text: &rest[..len], kind });
        return len;
    }
    let kind = kind_of(&rest[..len], [Kind::AsciiHword, Kind::Hword, Kind::NumHword]);
    out.push(Token { text: &rest[..len], kind });
    for (i, (start, end)) in ends.iter().enumerate() {
        if i > 0 {
            out.push(Token { text: "-", kind: Kind::Blank });
        }
        let parts = [Kind::HwordAsciiPart, Kind::HwordPart, Kind::HwordNumPart];
        let text = &rest[*start..*end];
        out.push(Token { text, kind: kind_of(text, parts) });
    }
    len
}
