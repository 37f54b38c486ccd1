//! The default text search parser: from text to tokens.

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

fn is_word(c: char) -> bool {
    c.is_alphanumeric()
}

/// Length of the run of characters that `f` holds for.
fn run(text: &str, f: impl Fn(char) -> bool) -> usize {
    text.find(|c| !f(c)).unwrap_or(text.len())
}

/// `name.name.name`, with hyphens and underscores inside: its length and whether it has a point.
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
pub(crate) fn parse(text: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let (mut at, mut blank) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        let mut found = Vec::new();
        let used = token(&text[at..], text[..at].chars().next_back(), &mut found);
        if used == 0 {
            // What might have been a tag begins a blank of its own.
            if c == '<' && blank < at {
                out.push(Token { text: &text[blank..at], kind: Kind::Blank });
                blank = at;
            }
            at += c.len_utf8();
            continue;
        }
        if blank < at {
            out.push(Token { text: &text[blank..at], kind: Kind::Blank });
        }
        out.append(&mut found);
        at += used;
        blank = at;
    }
    if blank < at {
        out.push(Token { text: &text[blank..at], kind: Kind::Blank });
    }
    out
}

/// The length of a tag; quotes in it are skipped, and a `<` outside of them ends the attempt.
fn tag(rest: &str) -> Option<usize> {
    if let Some(comment) = rest.strip_prefix("<!--") {
        return comment.find("-->").map(|end| end + 7);
    }
    let name = rest[1..].strip_prefix('/').unwrap_or(&rest[1..]);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '?' || c == '!' || c == '_') {
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

/// The length of an address of mail.
fn email(rest: &str) -> Option<usize> {
    let (len, _) = dotted(rest);
    let (host, points) = dotted(rest[len..].strip_prefix('@')?);
    (len > 0 && points && is_host(&rest[len + 1..len + 1 + host])).then_some(len + 1 + host)
}

/// Takes a token off the text; 0 if there is none here.
fn token<'a>(rest: &'a str, before: Option<char>, out: &mut Vec<Token<'a>>) -> usize {
    let c = rest.chars().next().unwrap_or(' ');
    let mut put = |text: &'a str, kind: Kind| {
        out.push(Token { text, kind });
        text.len()
    };
    match c {
        '<' => {
            return match tag(rest) {
                Some(end) => put(&rest[..end], Kind::Tag),
                None => 0,
            };
        }
        '&' => {
            let len = run(&rest[1..], |c| c.is_ascii_alphanumeric() || c == '#');
            return match len > 0 && rest[1 + len..].starts_with(';') {
                true => put(&rest[..len + 2], Kind::Entity),
                false => 0,
            };
        }
        '/' | '~' | '.' => {
            let path = run(rest, |c| is_word(c) || "/._-~".contains(c));
            let path = rest[..path].trim_end_matches(['/', '.']).len();
            let named = rest[..path].contains('/') && rest[..path].chars().any(is_word);
            let starts = c == '/'
                || rest.starts_with("~/")
                || rest.starts_with("./")
                || rest.starts_with("../");
            let fresh = !before.is_some_and(is_word);
            return if named && starts && fresh { put(&rest[..path], Kind::File) } else { 0 };
        }
        _ => {}
    }
    if is_word(c)
        && let Some(len) = email(rest)
    {
        return put(&rest[..len], Kind::Email);
    }
    let signed = (c == '-' || c == '+')
        && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        && !before.is_some_and(is_word);
    if signed || c.is_ascii_digit() {
        let (len, mut kind) = number(&rest[signed as usize..]);
        let len = signed as usize + len;
        if !rest[len..].starts_with(|c: char| is_word(c) || c == '@') {
            if signed && kind == Kind::UInt {
                kind = Kind::Int;
            }
            return put(&rest[..len], kind);
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
        return put(&rest[..protocol + 3], Kind::Protocol);
    }
    let (len, points) = dotted(rest);
    if points {
        if !is_host(&rest[..len]) {
            let numbers = rest[..len].chars().all(|c| c.is_ascii_digit() || c == '.');
            let last = rest[..len].rsplit('.').next().unwrap_or("");
            if !numbers && !last.starts_with(|c: char| c.is_ascii_digit()) {
                let path = run(rest, |c| is_word(c) || "/._-".contains(c));
                let path = rest[..path].trim_end_matches(['/', '.', '-']).len().max(len);
                return put(&rest[..path], Kind::File);
            }
        } else {
            let port = rest[len..].strip_prefix(':');
            let port = port.map_or(0, |p| run(p, |c| c.is_ascii_digit()));
            let host = len + if port > 0 { port + 1 } else { 0 };
            if rest[host..].starts_with('/') {
                let path = run(&rest[host..], |c| !c.is_whitespace() && !"<>\"'()".contains(c));
                if path > 1 {
                    put(&rest[..host + path], Kind::Url);
                    put(&rest[..host], Kind::Host);
                    put(&rest[host..host + path], Kind::UrlPath);
                    return host + path;
                }
            }
            return put(&rest[..host], Kind::Host);
        }
    }
    if rest[len..].starts_with('/') && before.is_none_or(|b| b != '/') {
        let path = run(rest, |c| is_word(c) || "/._-~".contains(c));
        let path = rest[..path].trim_end_matches(['/', '.']).len();
        if rest[..path].contains('/') {
            return put(&rest[..path], Kind::File);
        }
    }
    words(rest, out)
}

/// Names with a point, the last of which is of two letters at least.
fn is_host(text: &str) -> bool {
    let last = text.rsplit('.').next().unwrap_or("");
    last.len() >= 2 && last.chars().all(|c| c.is_ascii_alphabetic()) && !text.contains('_')
}

/// Which of three kinds a word is: of ASCII letters, of letters, with digits.
fn kind_of(text: &str, kinds: [Kind; 3]) -> Kind {
    let letters = |c: char| c == '-' || c.is_alphabetic();
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
    // A word that begins with a digit is not the first of a compound.
    let compound = rest.starts_with(char::is_alphabetic);
    while compound && let Some(after) = rest[len..].strip_prefix('-') {
        let part = run(after, is_word);
        if part == 0 {
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
