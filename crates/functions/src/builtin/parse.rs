//! Text rows in the format of COPY, and their fields.

use base::Oid;
use std::borrow::Cow;

/// A value as text; None is NULL.
pub type RawValue = Option<Cow<'static, str>>;

/// A catalog's rows as text.
#[derive(Clone, Copy)]
pub struct RawTable {
    header: &'static str,
    body: &'static str,
}

impl RawTable {
    pub(super) fn new(text: &'static str) -> RawTable {
        let (header, body) = text.split_once('\n').unwrap_or((text, ""));
        RawTable { header, body }
    }

    /// Names of the columns, in the order of their attribute numbers.
    pub fn columns(&self) -> Vec<&'static str> {
        self.header.split('\t').collect()
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = Vec<RawValue>> + use<> {
        self.body.lines().map(|line| line.split('\t').map(unescape).collect())
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.body.lines()
    }
}

fn unescape(field: &'static str) -> RawValue {
    if field == "\\N" {
        return None;
    }
    if !field.contains('\\') {
        return Some(Cow::Borrowed(field));
    }
    let mut out = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => break,
            },
            c => c,
        });
    }
    Some(Cow::Owned(out))
}

/// A field of a typed row.
pub trait Field: Sized {
    /// The value of the escaped text. The files are ours: a wrong one is a bug.
    fn parse(text: &'static str) -> Self;
}

impl Field for &'static str {
    fn parse(text: &'static str) -> Self {
        match unescape(text) {
            None => "",
            Some(Cow::Borrowed(s)) => s,
            Some(Cow::Owned(s)) => s.leak(),
        }
    }
}

impl Field for Oid {
    fn parse(text: &'static str) -> Self {
        Oid(text.parse().unwrap_or(0))
    }
}

impl Field for bool {
    fn parse(text: &'static str) -> Self {
        text == "t"
    }
}

impl Field for i16 {
    fn parse(text: &'static str) -> Self {
        text.parse().unwrap_or(0)
    }
}

impl Field for i32 {
    fn parse(text: &'static str) -> Self {
        text.parse().unwrap_or(0)
    }
}

impl Field for f32 {
    fn parse(text: &'static str) -> Self {
        text.parse().unwrap_or(0.0)
    }
}

/// A "char": its byte, 0 if empty.
impl Field for u8 {
    fn parse(text: &'static str) -> Self {
        text.bytes().next().unwrap_or(0)
    }
}

impl<T: Field> Field for Option<T> {
    fn parse(text: &'static str) -> Self {
        (text != "\\N").then(|| T::parse(text))
    }
}

/// An `oidvector`, `int2vector` or one-dimensional array.
impl<T: Field> Field for Vec<T> {
    fn parse(text: &'static str) -> Self {
        if text == "\\N" {
            return Vec::new();
        }
        match text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            Some("") => Vec::new(),
            Some(inner) => inner.split(',').map(|t| T::parse(t.trim_matches('"'))).collect(),
            None => text.split(' ').filter(|t| !t.is_empty()).map(T::parse).collect(),
        }
    }
}
