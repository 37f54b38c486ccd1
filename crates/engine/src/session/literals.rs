//! Statements that differ in numbers only: a text with its integers taken out, so that what was
//! found out about one of them serves for all.
//!
//! Only texts in which a parameter means what the number meant are taken: no clause that reads
//! numbers as positions (ORDER BY 1), or compares expressions as written (GROUP BY a + 1).

use base::Oid;
use types::{Datum, oid};

/// Longer texts are not worth the memory.
const LONGEST: usize = 4096;
/// More numbers than this mean a bulk INSERT, whose next text has another number of them.
const MOST: usize = 64;

/// Words with which a number cannot be a parameter, or could not be without a change of meaning.
const BANNED: &[&str] = &[
    "cast",
    "conflict",
    "current",
    "distinct",
    "except",
    "fetch",
    "group",
    "having",
    "intersect",
    "interval",
    "order",
    "over",
    "tablesample",
    "union",
    "window",
    "with",
];

/// What a statement may begin with.
const VERBS: &[&str] = &["select", "insert", "update", "delete"];

/// A text without its numbers.
#[derive(Debug, PartialEq)]
pub(super) struct Normalized {
    /// `$1` and so on in place of the numbers.
    pub text: String,
    /// Types of the numbers: `int4` or `int8`.
    pub types: Vec<Oid>,
    /// The numbers.
    pub values: Vec<Datum>,
    /// After which byte of `text` places are how much further in the original.
    shifts: Vec<(usize, isize)>,
}

impl Normalized {
    /// Where a byte of `text` was in the original.
    pub fn original(&self, at: usize) -> usize {
        let before = self.shifts.iter().take_while(|(from, _)| *from <= at).last();
        at.saturating_add_signed(before.map_or(0, |s| s.1))
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// Takes the numbers out; None if the statement is not of the kind for that.
pub(super) fn normalize(original: &str) -> Option<Normalized> {
    let bytes = original.as_bytes();
    if bytes.len() > LONGEST {
        return None;
    }
    let mut n = Normalized {
        text: String::with_capacity(bytes.len() + 8),
        types: Vec::new(),
        values: Vec::new(),
        shifts: Vec::new(),
    };
    let (mut at, mut copied, mut verb) = (0, 0, None);
    while let Some(&b) = bytes.get(at) {
        match b {
            b'0'..=b'9' => {
                let end = word_end(bytes, at);
                let value = number(original, at, end)?;
                n.text.push_str(&original[copied..at]);
                n.take(value, end);
                (at, copied) = (end, end);
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let end = word_end(bytes, at);
                let word = &original[at..end];
                match verb {
                    None => verb = Some(find(word, VERBS)?),
                    Some(verb) if !allowed(word, verb) => return None,
                    Some(_) => {}
                }
                at = end;
            }
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b'(' | b')' | b'=' | b'<' | b'>' | b'*' => {
                at += 1
            }
            b'+' | b'%' => at += 1,
            // A comment could begin here.
            b'-' if bytes.get(at + 1) != Some(&b'-') => at += 1,
            b'/' if bytes.get(at + 1) != Some(&b'*') => at += 1,
            b'.' if !bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => at += 1,
            b';' if original[at + 1..].trim_ascii().is_empty() => break,
            _ => return None,
        }
    }
    n.text.push_str(&original[copied..at]);
    (verb.is_some() && n.values.len() <= MOST).then_some(n)
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|b| !is_word(*b)).map_or(bytes.len(), |n| at + n)
}

/// The number, unless it is of another type than an integer.
fn number(text: &str, at: usize, end: usize) -> Option<(Oid, Datum)> {
    let digits = &text[at..end];
    let next = text.as_bytes().get(end);
    let hexadecimal = digits.len() > 1 && digits.starts_with('0');
    if next == Some(&b'.') || hexadecimal || digits.len() > 18 {
        return None;
    }
    let value: i64 = digits.parse().ok()?;
    Some(match i32::try_from(value) {
        Ok(small) => (oid::INT4, Datum::I32(small)),
        Err(_) => (oid::INT8, Datum::I64(value)),
    })
}

/// Which of the words, all in lower case, this is.
fn find(word: &str, words: &'static [&'static str]) -> Option<&'static str> {
    words.iter().copied().find(|w| w.eq_ignore_ascii_case(word))
}

fn allowed(word: &str, verb: &str) -> bool {
    // SELECT INTO makes a table.
    let into = word.eq_ignore_ascii_case("into") && verb != "insert";
    !into && find(word, BANNED).is_none()
}

impl Normalized {
    fn take(&mut self, (type_oid, value): (Oid, Datum), end: usize) {
        use std::fmt::Write as _;
        self.types.push(type_oid);
        self.values.push(value);
        // Writing to a string cannot fail.
        let _ = write!(self.text, "${}", self.types.len());
        // The types are part of what makes texts equal.
        if type_oid == oid::INT8 {
            self.text.push_str("::int8");
        }
        self.shifts.push((self.text.len(), end as isize - self.text.len() as isize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_parameters() {
        let n = normalize("UPDATE t SET a = a + -15 WHERE id = 3000000000;").unwrap();
        assert_eq!(n.text, "UPDATE t SET a = a + -$1 WHERE id = $2::int8");
        assert_eq!(n.values, [Datum::I32(15), Datum::I64(3_000_000_000)]);
        assert_eq!(n.types, [oid::INT4, oid::INT8]);
    }

    #[test]
    fn places_are_found_again() {
        let text = "SELECT a FROM t WHERE id = 12345 AND b = 7 AND c";
        let n = normalize(text).unwrap();
        assert_eq!(n.original(n.text.find("AND b").unwrap()), text.find("AND b").unwrap());
        assert_eq!(n.original(n.text.find("AND c").unwrap()), text.find("AND c").unwrap());
        assert_eq!(n.original(3), 3);
    }

    #[test]
    fn other_statements_are_left_alone() {
        for text in [
            "SELECT a FROM t ORDER BY 1",
            "SELECT a, 1 FROM t GROUP BY 1",
            "SELECT 1.5",
            "SELECT 1e5",
            "SELECT 0x10",
            "SELECT 'a'",
            "SELECT a1, $1",
            "SELECT 1 -- 2",
            "SELECT 1 /* 2 */",
            "SELECT 1 INTO t",
            "SELECT 1; SELECT 2",
            "CREATE TABLE t (a varchar(10))",
            "SELECT cast(a AS varchar(10)) FROM t",
            "",
        ] {
            assert_eq!(normalize(text), None, "{text}");
        }
    }
}
