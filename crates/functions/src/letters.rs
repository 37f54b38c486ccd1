//! Letters and their cases: Unicode's mappings of one letter to one letter, to several, and to
//! what is the same without regard to case.

use crate::scalar::regex::class::named;

/// What counts as a letter, and how letters change their case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Letters {
    /// There are no letters but ASCII's: the C locale.
    #[default]
    Ascii,
    /// One letter for one, digits are ASCII's: the built-in `C.UTF-8`.
    Simple,
    /// As Unicode has it, `ß` is `SS`: the built-in `PG_UNICODE_FAST`.
    Full,
    /// One letter for one, by the C library.
    Libc,
    /// As Unicode has it, by ICU.
    Icu,
    /// The same with the dotted and dotless i of Turkish.
    Turkish,
}

impl Letters {
    /// Whether a letter's lower case does not depend on its neighbours.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Letters::Ascii | Letters::Simple | Letters::Libc)
    }

    /// The text in upper case.
    pub(crate) fn upper(self, a: &str) -> String {
        match self {
            Letters::Ascii => a.to_ascii_uppercase(),
            Letters::Simple => a.chars().map(older(simple_upper)).collect(),
            Letters::Libc => a.chars().map(simple_upper).collect(),
            Letters::Full => {
                let mut out = String::with_capacity(a.len());
                for c in a.chars() {
                    if is_newer(c) { out.push(c) } else { out.extend(c.to_uppercase()) }
                }
                out
            }
            Letters::Icu => a.to_uppercase(),
            Letters::Turkish => a.replace('i', "İ").to_uppercase(),
        }
    }

    /// The text in lower case.
    pub(crate) fn lower(self, a: &str) -> String {
        match self {
            Letters::Ascii => a.to_ascii_lowercase(),
            Letters::Simple => a.chars().map(older(simple_lower)).collect(),
            Letters::Libc => a.chars().map(simple_lower).collect(),
            Letters::Full => {
                let mut out = String::with_capacity(a.len());
                each_lower(a, |c, low| if is_newer(c) { out.push(c) } else { out.push_str(low) });
                out
            }
            Letters::Icu => a.to_lowercase(),
            Letters::Turkish => a.replace('İ', "i").replace('I', "ı").to_lowercase(),
        }
    }

    /// The text for comparison without regard to case.
    pub(crate) fn fold(self, a: &str) -> String {
        let mut out = String::with_capacity(a.len());
        for c in a.chars() {
            match self {
                Letters::Ascii => out.push(c.to_ascii_lowercase()),
                Letters::Simple => out.push(older(simple_fold)(c)),
                Letters::Libc => out.push(simple_lower(c)),
                Letters::Full if is_newer(c) => out.push(c),
                Letters::Turkish if c == 'I' => out.push('ı'),
                Letters::Turkish if c == 'İ' => out.push('i'),
                _ => full_fold(c, &mut out),
            }
        }
        out
    }

    /// Each word's first letter as a capital, the others in lower case. Words are made of letters
    /// and digits.
    pub(crate) fn initcap(self, a: &str) -> String {
        let word = word_characters(self);
        let mut out = String::with_capacity(a.len());
        let mut inside = false;
        each_lower(a, |c, low| {
            match (inside, self) {
                (_, Letters::Simple | Letters::Full) if is_newer(c) => out.push(c),
                (false, Letters::Ascii) => out.push(c.to_ascii_uppercase()),
                (true, Letters::Ascii) => out.push(c.to_ascii_lowercase()),
                (false, Letters::Simple | Letters::Libc) => out.push(simple_upper(c)),
                (true, Letters::Simple | Letters::Libc) => out.push(simple_lower(c)),
                (false, Letters::Turkish) if c == 'i' => out.push('İ'),
                (true, Letters::Turkish) if c == 'I' => out.push('ı'),
                (true, Letters::Turkish) if c == 'İ' => out.push('i'),
                (false, _) => full_title(c, &mut out),
                (true, _) => out.push_str(low),
            }
            inside = word(c);
        });
        out
    }

    /// The one upper-case letter of a letter.
    pub(crate) fn upper_char(self, c: char) -> char {
        match self {
            Letters::Ascii => c.to_ascii_uppercase(),
            Letters::Simple | Letters::Full => older(simple_upper)(c),
            _ => simple_upper(c),
        }
    }

    /// The one lower-case letter of a letter.
    pub(crate) fn lower_char(self, c: char) -> char {
        match self {
            Letters::Ascii => c.to_ascii_lowercase(),
            Letters::Simple | Letters::Full => older(simple_lower)(c),
            _ => simple_lower(c),
        }
    }
}

/// Tells letters and digits from what is between words.
fn word_characters(letters: Letters) -> impl Fn(char) -> bool {
    let set = named("alnum", letters);
    move |c| set.is_some_and(|s| s.contains(c))
}

/// A mapping without the letters of Unicode 17.
fn older(map: fn(char) -> char) -> impl Fn(char) -> char {
    move |c| if is_newer(c) { c } else { map(c) }
}

/// Calls `f` with each letter and its lower case, which for a sigma depends on its neighbours.
fn each_lower(a: &str, mut f: impl FnMut(char, &str)) {
    let low = a.to_lowercase();
    let mut at = 0;
    for c in a.chars() {
        let len: usize = c.to_lowercase().map(char::len_utf8).sum();
        f(c, &low[at..at + len]);
        at += len;
    }
}

/// Letters of Unicode 17, which PostgreSQL's own tables (Unicode 16) do not know as such.
fn is_newer(c: char) -> bool {
    matches!(c, '\u{a7ce}' | '\u{a7cf}' | '\u{a7d2}'..='\u{a7d5}'
        | '\u{16ea0}'..='\u{16eb8}' | '\u{16ebb}'..='\u{16ed3}')
}

/// The one upper-case letter of a letter, itself if there is none.
fn simple_upper(c: char) -> char {
    let mut up = c.to_uppercase();
    match (up.next(), up.next()) {
        (Some(u), None) => u,
        _ => with_iota(c).unwrap_or(c),
    }
}

/// The Greek capital with an iota written beside it, of a letter with one written below.
fn with_iota(c: char) -> Option<char> {
    let shift = match c {
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => 8,
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => 9,
        _ => return None,
    };
    char::from_u32(c as u32 + shift)
}

/// The one lower-case letter of a letter, itself if there is none.
fn simple_lower(c: char) -> char {
    match c {
        'İ' => 'i',
        c => c.to_lowercase().next().unwrap_or(c),
    }
}

/// The letter as it begins a word, one for one.
fn simple_title(c: char) -> char {
    match c {
        'Ǆ'..='ǆ' => 'ǅ',
        'Ǉ'..='ǉ' => 'ǈ',
        'Ǌ'..='ǌ' => 'ǋ',
        'Ǳ'..='ǳ' => 'ǲ',
        // Georgian has capitals for whole texts only.
        'ა'..='ჺ' | 'ჽ'..='ჿ' => c,
        c => simple_upper(c),
    }
}

/// The letter as it begins a word, which may be several: `ß` is `Ss`.
fn full_title(c: char, out: &mut String) {
    let mut up = c.to_uppercase();
    // The Greek ones are capitals already, or have one that is a single letter.
    if up.len() == 1 || with_iota(c).is_some() || c.to_lowercase().any(|l| with_iota(l).is_some()) {
        out.push(simple_title(c));
        return;
    }
    if c == 'ŉ' {
        out.push_str("ʼN");
        return;
    }
    out.extend(up.next());
    for u in up {
        match u {
            'Ι' => out.push('\u{345}'),
            u => out.extend(u.to_lowercase()),
        }
    }
}

/// The letter without regard to case, one for one.
fn simple_fold(c: char) -> char {
    match c {
        // Neither is another form of i.
        'İ' | 'ı' => c,
        // Cherokee had capitals first.
        'Ꭰ'..='Ᏽ' => c,
        'ꭰ'..='ꮿ' | 'ᏸ'..='ᏽ' => simple_upper(c),
        'ẞ' => 'ß',
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        'ﬅ' => 'ﬆ',
        c => simple_lower(simple_upper(c)),
    }
}

/// The letter without regard to case, which may be several: `ß` is `ss`.
fn full_fold(c: char, out: &mut String) {
    match c {
        'İ' => out.push_str("i\u{307}"),
        'ẞ' => out.push_str("ss"),
        'ı' | 'Ꭰ'..='Ᏽ' | 'ꭰ'..='ꮿ' | 'ᏸ'..='ᏽ' => out.push(simple_fold(c)),
        c => {
            let up = c.to_lowercase().flat_map(char::to_uppercase);
            out.extend(up.flat_map(char::to_lowercase));
        }
    }
}
