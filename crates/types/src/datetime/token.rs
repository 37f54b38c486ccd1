//! Words and fields of date and time text.

use super::decode::DtError;
use crate::io::number::is_space;

/// What a run of characters is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FieldKind {
    /// Digits, perhaps with a fraction.
    Number,
    /// Letters, in lower case.
    Word,
    /// Digits or letters with separators, or a zone's name.
    Date,
    /// Digits with colons.
    Time,
    /// A sign and digits.
    Zone,
    /// A sign and letters, in lower case.
    Signed,
}

/// A run of characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Field {
    pub(super) kind: FieldKind,
    pub(super) text: String,
}

/// Splits text into fields.
pub(super) fn tokenize(text: &str) -> Result<Vec<Field>, DtError> {
    let b = text.as_bytes();
    let mut fields = Vec::new();
    let mut at = 0;
    let get = |i: usize| b.get(i).copied().unwrap_or(0);
    while at < b.len() {
        let start = at;
        let c = b[at];
        if is_space(c) {
            at += 1;
            continue;
        }
        let kind = if c.is_ascii_digit() {
            numeric(b, &mut at)
        } else if c == b'.' {
            at += 1;
            while get(at).is_ascii_digit() {
                at += 1;
            }
            FieldKind::Number
        } else if c.is_ascii_alphabetic() {
            word(b, &mut at)
        } else if c == b'+' || c == b'-' {
            at += 1;
            let mut skipped = at;
            while is_space(get(skipped)) {
                skipped += 1;
            }
            if get(skipped).is_ascii_digit() {
                let mut out = String::from(c as char);
                at = skipped;
                while get(at).is_ascii_digit() || matches!(get(at), b':' | b'.' | b'-') {
                    out.push(get(at) as char);
                    at += 1;
                }
                fields.push(Field { kind: FieldKind::Zone, text: out });
                continue;
            } else if get(skipped).is_ascii_alphabetic() {
                let mut out = String::from(c as char);
                at = skipped;
                while get(at).is_ascii_alphabetic() {
                    out.push(get(at).to_ascii_lowercase() as char);
                    at += 1;
                }
                fields.push(Field { kind: FieldKind::Signed, text: out });
                continue;
            }
            return Err(DtError::BadFormat);
        } else if c.is_ascii_punctuation() {
            at += 1;
            continue;
        } else {
            return Err(DtError::BadFormat);
        };
        if fields.len() >= 25 || at - start > 255 {
            return Err(DtError::BadFormat);
        }
        fields.push(Field { kind, text: text[start..at].to_ascii_lowercase() });
    }
    Ok(fields)
}

/// A field that starts with a digit.
fn numeric(b: &[u8], at: &mut usize) -> FieldKind {
    let get = |i: usize| b.get(i).copied().unwrap_or(0);
    while get(*at).is_ascii_digit() {
        *at += 1;
    }
    match get(*at) {
        b':' => {
            while get(*at).is_ascii_digit() || matches!(get(*at), b':' | b'.') {
                *at += 1;
            }
            FieldKind::Time
        }
        delimiter @ (b'-' | b'/' | b'.') => {
            *at += 1;
            if get(*at).is_ascii_digit() {
                let mut kind = if delimiter == b'.' { FieldKind::Number } else { FieldKind::Date };
                while get(*at).is_ascii_digit() {
                    *at += 1;
                }
                if get(*at) == delimiter {
                    kind = FieldKind::Date;
                    *at += 1;
                    while get(*at).is_ascii_digit() || get(*at) == delimiter {
                        *at += 1;
                    }
                }
                kind
            } else if delimiter == b'.' && !get(*at).is_ascii_alphabetic() {
                FieldKind::Number
            } else {
                while get(*at).is_ascii_alphanumeric() || get(*at) == delimiter {
                    *at += 1;
                }
                FieldKind::Date
            }
        }
        _ => FieldKind::Number,
    }
}

/// A field that starts with a letter.
fn word(b: &[u8], at: &mut usize) -> FieldKind {
    let get = |i: usize| b.get(i).copied().unwrap_or(0);
    let start = *at;
    while get(*at).is_ascii_alphabetic() {
        *at += 1;
    }
    let next = get(*at);
    let joined = match next {
        b'-' | b'/' | b'.' => true,
        b'+' | b'0'..=b'9' | b':' => {
            let text = String::from_utf8_lossy(&b[start..*at]).to_ascii_lowercase();
            date_word(&text).is_none_or(|w| w == Word::Utc)
        }
        _ => false,
    };
    if !joined {
        return FieldKind::Word;
    }
    while get(*at).is_ascii_alphanumeric()
        || matches!(get(*at), b'+' | b'-' | b'/' | b'_' | b'.' | b':')
    {
        *at += 1;
    }
    FieldKind::Date
}

/// What a word of a date means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// Month from 1.
    Month(i32),
    /// A day of the week: no meaning beside a date.
    Weekday,
    /// After noon, or before.
    Pm(bool),
    /// Before Christ, or after.
    Bc(bool),
    /// UTC under one of its names.
    Utc,
    /// Summer time: an hour more.
    Dst,
    /// A word without meaning (`at`, `on`).
    Ignore,
    /// The next field is a time.
    IsoTime,
    /// The next number is this field.
    Unit(Part),
    /// A special instant.
    Now,
    Today,
    Tomorrow,
    Yesterday,
    Epoch,
    Infinity,
    NegInfinity,
    AllBalls,
}

/// A part of a date that a word names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Julian,
}

/// The meaning of a word in lower case.
pub(super) fn date_word(word: &str) -> Option<Word> {
    use Word::*;
    Some(match word {
        "jan" | "january" => Month(1),
        "feb" | "february" => Month(2),
        "mar" | "march" => Month(3),
        "apr" | "april" => Month(4),
        "may" => Month(5),
        "jun" | "june" => Month(6),
        "jul" | "july" => Month(7),
        "aug" | "august" => Month(8),
        "sep" | "sept" | "september" => Month(9),
        "oct" | "october" => Month(10),
        "nov" | "november" => Month(11),
        "dec" | "december" => Month(12),
        "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds"
        | "wednesday" | "thu" | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat"
        | "saturday" => Weekday,
        "am" => Pm(false),
        "pm" => Pm(true),
        "ad" => Bc(false),
        "bc" => Bc(true),
        "z" | "zulu" | "utc" | "gmt" | "ut" => Utc,
        "dst" => Dst,
        "at" | "on" => Ignore,
        "t" => IsoTime,
        "y" => Unit(Part::Year),
        "m" => Unit(Part::Month),
        "mm" => Unit(Part::Minute),
        "d" => Unit(Part::Day),
        "h" => Unit(Part::Hour),
        "s" => Unit(Part::Second),
        "j" | "jd" | "julian" => Unit(Part::Julian),
        "now" => Now,
        "today" => Today,
        "tomorrow" => Tomorrow,
        "yesterday" => Yesterday,
        "epoch" => Epoch,
        "infinity" | "+infinity" => Infinity,
        "-infinity" => NegInfinity,
        "allballs" => AllBalls,
        _ => return None,
    })
}
