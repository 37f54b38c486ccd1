//! Statements that differ in literals only: a text with its numbers and strings taken out, so that
//! what was found out about one of them serves for all.
//!
//! A literal is taken where a parameter means what it meant: not in clauses that read numbers as
//! positions or compare expressions as written (ORDER BY, GROUP BY, PARTITION BY, DISTINCT ON), nor
//! elsewhere if it is in one of those too. Where the parameter means nothing
//! (`date '2001-01-01'`, `varchar(10)`), reading the text without its literals fails, and the
//! statement goes its ordinary way.

use base::Oid;
use types::oid;

/// Longer texts are not worth the memory.
const LONGEST: usize = 4096;
/// More literals than this mean a bulk INSERT, whose next text has another number of them.
const MOST: usize = 64;

/// Words with which a literal cannot be a parameter, or could not be without a change of meaning.
const BANNED: &[&str] = &[
    "current",
    "interval",
    "json_exists",
    "json_query",
    "json_table",
    "json_value",
    "tablesample",
    "xmltable",
];

/// What a statement may begin with.
const VERBS: &[&str] = &["select", "insert", "update", "delete", "with"];

/// Words with which literals may begin to stay, and the one that is allowed in INSERT only.
const CLAUSES: &[&str] = &["group", "into", "on", "order", "partition"];

/// Words that end ORDER BY and GROUP BY.
const ENDS: &[&str] =
    &["except", "fetch", "for", "having", "intersect", "limit", "offset", "union", "window"];

/// A literal that was taken out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Literal<'a> {
    /// `int4`, `int8` or `numeric`; invalid for a string, whose type is found by its use.
    pub type_oid: Oid,
    /// Its text; of a string between its quotes, where those in it are doubled.
    pub text: &'a str,
}

/// A text without its literals.
#[derive(Debug, PartialEq)]
pub(super) struct Normalized<'a> {
    /// Tells apart what is not the same statement: the text, and what was in the literals' places.
    pub key: String,
    /// How much of it is the text.
    length: usize,
    /// The literals.
    pub literals: Vec<Literal<'a>>,
    /// After which byte of the text places are how much further in the original.
    shifts: Vec<(usize, isize)>,
}

impl Normalized<'_> {
    /// The statement with `$1` and so on in place of the literals.
    pub fn text(&self) -> &str {
        &self.key[..self.length]
    }

    /// Types of the literals.
    pub fn types(&self) -> Vec<Oid> {
        self.literals.iter().map(|l| l.type_oid).collect()
    }

    /// Where a byte of the text was in the original.
    pub fn original(&self, at: usize) -> usize {
        let before = self.shifts.iter().take_while(|(from, _)| *from <= at).last();
        at.saturating_add_signed(before.map_or(0, |s| s.1))
    }
}

impl Literal<'_> {
    /// What a string says.
    pub fn value(&self) -> std::borrow::Cow<'_, str> {
        match self.text.contains('\'') {
            true => self.text.replace("''", "'").into(),
            false => self.text.into(),
        }
    }
}

/// What a byte may be part of: bits of [`CLASSES`].
const WORD: u8 = 1;
/// It stands for itself.
const PLAIN: u8 = 2;
/// A word that means something here may begin with it.
const TELLING: u8 = 4;

static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 {
            classes[b] = WORD;
        }
        b += 1;
    }
    let plain = b" \t\n\r,=<>*+-/%.:[]|&~!#@^?";
    let mut i = 0;
    while i < plain.len() {
        classes[plain[i] as usize] = PLAIN;
        i += 1;
    }
    let lists = [BANNED, ENDS, CLAUSES];
    let mut list = 0;
    while list < lists.len() {
        let mut i = 0;
        while i < lists[list].len() {
            let first = lists[list][i].as_bytes()[0];
            classes[first as usize] |= TELLING;
            classes[first.to_ascii_uppercase() as usize] |= TELLING;
            i += 1;
        }
        list += 1;
    }
    classes
};

#[inline(always)]
fn in_class(b: u8, class: u8) -> bool {
    CLASSES[usize::from(b)] & class != 0
}

/// Takes the literals out; None if the statement is not of the kind for that.
pub(super) fn normalize(original: &str) -> Option<Normalized<'_>> {
    if original.len() > LONGEST {
        return None;
    }
    let mut reader = Reader {
        text: original,
        bytes: original.as_bytes(),
        at: 0,
        depth: 0,
        found: Vec::new(),
        stays: false,
    };
    reader.read()?;
    let (end, found, stays) = (reader.at, reader.found, reader.stays);
    let mut n = Normalized {
        key: String::with_capacity(original.len() + 16),
        length: 0,
        literals: Vec::with_capacity(found.len()),
        shifts: Vec::new(),
    };
    let mut copied = 0;
    for one in &found {
        let same = |other: &Found| other.kept && other.literal.text == one.literal.text;
        if one.kept || stays && found.iter().any(same) {
            continue;
        }
        n.key.push_str(&original[copied..one.from]);
        n.take(one.literal, one.to);
        copied = one.to;
    }
    n.key.push_str(&original[copied..end]);
    if n.literals.len() > MOST {
        return None;
    }
    n.length = n.key.len();
    n.key.push('\0');
    n.key.extend(n.literals.iter().map(|l| match l.type_oid {
        oid::INT4 => 'i',
        oid::INT8 => 'l',
        oid::NUMERIC => 'n',
        _ => 's',
    }));
    Some(n)
}

/// A literal and where it was, between its quotes and all.
struct Found<'a> {
    from: usize,
    to: usize,
    literal: Literal<'a>,
    /// It stays where it is.
    kept: bool,
}

/// Goes through a text.
struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Parentheses that are open.
    depth: usize,
    found: Vec<Found<'a>>,
    /// Some of the literals stay.
    stays: bool,
}

impl<'a> Reader<'a> {
    fn read(&mut self) -> Option<()> {
        let mut verb = None;
        // In this many parentheses, or more, literals stay.
        let mut kept = None;
        while let Some(&b) = self.bytes.get(self.at) {
            match b {
                b'0'..=b'9' | b'\'' => {
                    let from = self.at;
                    let literal = if b == b'\'' { self.string()? } else { self.number()? };
                    let kept = kept.is_some();
                    self.stays |= kept;
                    self.found.push(Found { from, to: self.at, literal, kept });
                }
                b'"' => self.quoted()?,
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => {
                    let word = self.word()?;
                    match verb {
                        None => verb = Some(find(word, VERBS)?),
                        Some(_) if !in_class(b, TELLING) => {}
                        Some(verb) if !allowed(word, verb) => return None,
                        Some(_) => self.note_clause(word, &mut kept),
                    }
                }
                b'(' => {
                    self.depth += 1;
                    self.at += 1;
                }
                b')' => {
                    self.depth = self.depth.checked_sub(1)?;
                    self.at += 1;
                    kept = kept.filter(|depth| self.depth >= *depth);
                }
                b';' if self.text[self.at + 1..].trim_ascii().is_empty() => break,
                b'-' | b'/' if self.is_comment() => return None,
                b if in_class(b, PLAIN) => self.at += 1,
                _ => return None,
            }
        }
        verb.map(|_| ())
    }

    /// Where literals stay begins and ends with some words.
    fn note_clause(&self, word: &str, kept: &mut Option<usize>) {
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        match kept {
            None if is("order") || is("group") || is("partition") => *kept = Some(self.depth),
            // DISTINCT ON (...).
            None if is("on") && self.follows_distinct() => *kept = Some(self.depth + 1),
            Some(depth) if *depth == self.depth && find(word, ENDS).is_some() => *kept = None,
            _ => {}
        }
    }

    /// The word that was read is the one after DISTINCT.
    fn follows_distinct(&self) -> bool {
        let before = self.text[..self.at - 2].trim_ascii_end();
        let tail = before.len().checked_sub("distinct".len()).and_then(|from| before.get(from..));
        tail.is_some_and(|t| t.eq_ignore_ascii_case("distinct"))
    }

    /// A comment begins here.
    fn is_comment(&self) -> bool {
        matches!(&self.bytes[self.at..], [b'-', b'-', ..] | [b'/', b'*', ..])
    }

    /// None for one that a string follows with a meaning of its own (`E'\n'`).
    fn word(&mut self) -> Option<&'a str> {
        let from = self.at;
        let rest = &self.bytes[from..];
        self.at += rest.iter().position(|b| !in_class(*b, WORD)).unwrap_or(rest.len());
        match &self.bytes[self.at..] {
            [b'\'', ..] | [b'&', b'\'' | b'"', ..] => None,
            _ => Some(&self.text[from..self.at]),
        }
    }

    /// A name in double quotes.
    fn quoted(&mut self) -> Option<()> {
        self.at += 1;
        let length = self.bytes[self.at..].iter().position(|b| *b == b'"')?;
        self.at += length + 1;
        Some(())
    }

    /// A string; None for one with a backslash, which an old setting gives a meaning.
    fn string(&mut self) -> Option<Literal<'a>> {
        let from = self.at + 1;
        self.at = from;
        loop {
            match self.bytes.get(self.at)? {
                b'\'' if self.bytes.get(self.at + 1) == Some(&b'\'') => self.at += 2,
                b'\'' => break,
                b'\\' => return None,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(Literal { type_oid: Oid::INVALID, text: &self.text[from..self.at - 1] })
    }

    /// A number without an exponent; None for what is written in another way.
    fn number(&mut self) -> Option<Literal<'a>> {
        let from = self.at;
        let digits = self.digits();
        let whole = digits.len();
        let mut type_oid = oid::NUMERIC;
        match &self.bytes[self.at..] {
            [b'.', b'0'..=b'9', ..] => {
                self.at += 1;
                self.digits();
            }
            [b'.', ..] => return None,
            _ if whole > 1 && digits.starts_with('0') || whole > 18 => return None,
            _ => {
                let value: i64 = digits.parse().ok()?;
                let small = i32::try_from(value).is_ok();
                type_oid = if small { oid::INT4 } else { oid::INT8 };
            }
        }
        let follows = self.bytes.get(self.at);
        if follows.is_some_and(|b| in_class(*b, WORD) || *b == b'.') {
            return None;
        }
        Some(Literal { type_oid, text: &self.text[from..self.at] })
    }

    fn digits(&mut self) -> &'a str {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
        self.at += length;
        &self.text[self.at - length..self.at]
    }
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

impl<'a> Normalized<'a> {
    fn take(&mut self, literal: Literal<'a>, end: usize) {
        use std::fmt::Write as _;
        self.literals.push(literal);
        // Writing to a string cannot fail.
        let _ = write!(self.key, "${}", self.literals.len());
        self.shifts.push((self.key.len(), end as isize - self.key.len() as isize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(original: &str) -> String {
        normalize(original).map_or_else(|| panic!("{original}"), |n| n.text().to_string())
    }

    #[test]
    fn literals_become_parameters() {
        let n = normalize("UPDATE t SET a = a + -15, b = 'it''s' WHERE id = 3000000000;").unwrap();
        assert_eq!(n.text(), "UPDATE t SET a = a + -$1, b = $2 WHERE id = $3");
        assert_eq!(n.types(), [oid::INT4, Oid::INVALID, oid::INT8]);
        let values: Vec<_> = n.literals.iter().map(Literal::value).collect();
        assert_eq!(values, ["15", "it's", "3000000000"]);
        assert!(n.key.ends_with("\0isl"));
        let n = normalize(r#"SELECT "a""1", x::date FROM "t" WHERE b > 1.50 AND c = ''"#).unwrap();
        assert_eq!(n.text(), r#"SELECT "a""1", x::date FROM "t" WHERE b > $1 AND c = $2"#);
        assert_eq!(n.types(), [oid::NUMERIC, Oid::INVALID]);
    }

    #[test]
    fn positions_stay() {
        assert_eq!(
            text(
                "SELECT a, 5 FROM t WHERE b = 7 GROUP BY 1, b + 2 HAVING c > 3 ORDER BY 1 LIMIT 4"
            ),
            "SELECT a, $1 FROM t WHERE b = $2 GROUP BY 1, b + 2 HAVING c > $3 ORDER BY 1 LIMIT $4"
        );
        assert_eq!(
            text("SELECT DISTINCT ON (1, (2)) 3, f(x ORDER BY 4), 5 FROM t WHERE a = 6"),
            "SELECT DISTINCT ON (1, (2)) $1, f(x ORDER BY 4), $2 FROM t WHERE a = $3"
        );
        assert_eq!(
            text("SELECT DISTINCT a FROM t JOIN u ON (t.a = 1) WHERE b IN (SELECT 2 ORDER BY 3)"),
            "SELECT DISTINCT a FROM t JOIN u ON (t.a = $1) WHERE b IN (SELECT $2 ORDER BY 3)"
        );
    }

    #[test]
    fn places_are_found_again() {
        let text = "SELECT a FROM t WHERE id = 12345 AND b = 'xyz' AND c";
        let n = normalize(text).unwrap();
        assert_eq!(n.original(n.text().find("AND b").unwrap()), text.find("AND b").unwrap());
        assert_eq!(n.original(n.text().find("AND c").unwrap()), text.find("AND c").unwrap());
        assert_eq!(n.original(3), 3);
    }

    #[test]
    fn other_statements_are_left_alone() {
        for text in [
            "SELECT 1e5",
            "SELECT 0x10",
            "SELECT 1_000",
            "SELECT 1..2",
            "SELECT 5.",
            "SELECT E'a'",
            "SELECT U&'a'",
            r"SELECT 'a\b'",
            "SELECT 'a",
            "SELECT \"a",
            "SELECT a1, $1",
            "SELECT 1 -- 2",
            "SELECT 1 /* 2 */",
            "SELECT 1 INTO t",
            "SELECT 1; SELECT 2",
            "SELECT 1)",
            "SELECT interval '1 day'",
            "DELETE FROM t WHERE CURRENT OF c",
            "CREATE TABLE t (a varchar(10))",
            "",
        ] {
            assert_eq!(normalize(text), None, "{text}");
        }
    }
}
