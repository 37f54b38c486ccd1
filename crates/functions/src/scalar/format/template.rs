//! Templates of dates and times: a list of fields and of text between them.

use base::{Result, bail};
use std::cell::RefCell;
use std::rc::Rc;

/// A field of a date template. Case only matters where it changes what is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    Era { dots: bool },
    Meridiem { dots: bool },
    Century,
    DayName(Case),
    DayAbbrev(Case),
    DayOfYear,
    IsoDayOfYear,
    DayOfMonth,
    DayOfWeek,
    IsoDayOfWeek,
    Fraction(u32),
    Exact,
    Hour24,
    Hour12,
    IsoWeek,
    Year(u32),
    YearComma,
    IsoYear(u32),
    Julian,
    Minute,
    Month,
    MonthName(Case),
    MonthAbbrev(Case),
    Millis,
    Micros,
    ZoneOffset,
    ZoneHour,
    ZoneMinute,
    Zone,
    Quarter,
    RomanMonth,
    SecondOfDay,
    Second,
    WeekOfYear,
    WeekOfMonth,
}

/// How a word is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Case {
    Upper,
    Title,
    Lower,
}

/// A part of a template.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Node {
    Field(FieldNode),
    /// Text that is printed, and that takes up a place when reading.
    Char(char),
    Separator(char),
    Space(char),
}

/// A field with what is around it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct FieldNode {
    pub field: Field,
    /// The field as PostgreSQL names it, for messages.
    pub name: &'static str,
    pub upper: bool,
    pub fill: bool,
    pub localized: bool,
    /// `th`, and whether in capitals.
    pub th: Option<bool>,
}

impl Field {
    /// Whether it is read as a number.
    pub fn is_digits(self) -> bool {
        use Field::*;
        !matches!(
            self,
            Era { .. }
                | Meridiem { .. }
                | DayName(_)
                | DayAbbrev(_)
                | Exact
                | MonthName(_)
                | MonthAbbrev(_)
                | ZoneOffset
                | Zone
                | RomanMonth
        )
    }
}

macro_rules! words {
    ($($name:literal => $field:expr),* $(,)?) => { &[$(($name, $field)),*] };
}

use Field as F;

/// Fields whose case is free, longest first where one begins another.
const PLAIN: &[(&str, Field)] = words!(
    "A.D." => F::Era { dots: true }, "A.M." => F::Meridiem { dots: true },
    "AD" => F::Era { dots: false }, "AM" => F::Meridiem { dots: false },
    "B.C." => F::Era { dots: true }, "BC" => F::Era { dots: false },
    "CC" => F::Century, "DDD" => F::DayOfYear, "DD" => F::DayOfMonth,
    "FF1" => F::Fraction(1), "FF2" => F::Fraction(2), "FF3" => F::Fraction(3),
    "FF4" => F::Fraction(4), "FF5" => F::Fraction(5), "FF6" => F::Fraction(6),
    "FX" => F::Exact, "HH24" => F::Hour24, "HH12" => F::Hour12, "HH" => F::Hour12,
    "IDDD" => F::IsoDayOfYear, "ID" => F::IsoDayOfWeek, "IW" => F::IsoWeek,
    "IYYY" => F::IsoYear(4), "IYY" => F::IsoYear(3), "IY" => F::IsoYear(2), "I" => F::IsoYear(1),
    "J" => F::Julian, "MI" => F::Minute, "MM" => F::Month, "MS" => F::Millis,
    "OF" => F::ZoneOffset, "P.M." => F::Meridiem { dots: true },
    "PM" => F::Meridiem { dots: false }, "Q" => F::Quarter, "RM" => F::RomanMonth,
    "SSSSS" => F::SecondOfDay, "SSSS" => F::SecondOfDay, "SS" => F::Second,
    "TZH" => F::ZoneHour, "TZM" => F::ZoneMinute, "TZ" => F::Zone, "US" => F::Micros,
    "WW" => F::WeekOfYear, "W" => F::WeekOfMonth, "Y,YYY" => F::YearComma,
    "YYYY" => F::Year(4), "YYY" => F::Year(3), "YY" => F::Year(2), "Y" => F::Year(1),
);

/// Fields that are words, whose case shows.
const NAMES: &[(&str, Field)] = words!(
    "DAY" => F::DayName(Case::Upper), "Day" => F::DayName(Case::Title),
    "day" => F::DayName(Case::Lower), "DY" => F::DayAbbrev(Case::Upper),
    "Dy" => F::DayAbbrev(Case::Title), "dy" => F::DayAbbrev(Case::Lower),
    "MONTH" => F::MonthName(Case::Upper), "Month" => F::MonthName(Case::Title),
    "month" => F::MonthName(Case::Lower), "MON" => F::MonthAbbrev(Case::Upper),
    "Mon" => F::MonthAbbrev(Case::Title), "mon" => F::MonthAbbrev(Case::Lower),
);

/// `D` and `d` come last: much begins with them.
const LAST: &[(&str, Field)] = words!("D" => F::DayOfWeek);

fn field_at(text: &str) -> Option<(&'static str, Field, bool)> {
    for (name, field) in NAMES {
        if text.starts_with(name) {
            return Some((name, *field, true));
        }
    }
    let starts = |name: &str| {
        let head = text.as_bytes().get(..name.len())?;
        // A field is in capitals or in small letters throughout.
        if head == name.as_bytes() {
            Some(true)
        } else if head == name.to_ascii_lowercase().as_bytes() {
            Some(false)
        } else {
            None
        }
    };

    PLAIN.iter().chain(LAST).find_map(|(n, f)| Some((*n, *f, starts(n)?)))
}

/// The name as messages show it: small letters show the small form.
fn lower_name(name: &'static str) -> &'static str {
    const LOWER: &[(&str, &str)] = &[
        ("CC", "cc"),
        ("DDD", "ddd"),
        ("DD", "dd"),
        ("D", "d"),
        ("HH24", "hh24"),
        ("HH12", "hh12"),
        ("HH", "hh"),
        ("IDDD", "iddd"),
        ("ID", "id"),
        ("IW", "iw"),
        ("IYYY", "iyyy"),
        ("IYY", "iyy"),
        ("IY", "iy"),
        ("I", "i"),
        ("J", "j"),
        ("MI", "mi"),
        ("MM", "mm"),
        ("MS", "ms"),
        ("Q", "q"),
        ("RM", "rm"),
        ("SSSSS", "sssss"),
        ("SSSS", "ssss"),
        ("SS", "ss"),
        ("US", "us"),
        ("WW", "ww"),
        ("W", "w"),
        ("Y,YYY", "y,yyy"),
        ("YYYY", "yyyy"),
        ("YYY", "yyy"),
        ("YY", "yy"),
        ("Y", "y"),
        ("AM", "am"),
        ("PM", "pm"),
        ("A.M.", "a.m."),
        ("P.M.", "p.m."),
        ("AD", "ad"),
        ("BC", "bc"),
        ("A.D.", "a.d."),
        ("B.C.", "b.c."),
        ("TZ", "tz"),
        ("TZH", "tzh"),
        ("TZM", "tzm"),
        ("OF", "of"),
    ];
    LOWER.iter().find(|l| l.0 == name).map_or(name, |l| l.1)
}

fn is_separator(c: char) -> bool {
    c.is_ascii_graphic() && !c.is_ascii_alphanumeric()
}

thread_local! {
    /// The template that was read last: a query has the same one for all of its rows.
    static KEPT: RefCell<Option<(bool, String, Rc<Vec<Node>>)>> = const { RefCell::new(None) };
}

fn kept(text: &str, standard: bool) -> Result<Rc<Vec<Node>>> {
    let found = KEPT.with_borrow(|last| match last {
        Some((s, t, nodes)) if *s == standard && t == text => Some(Rc::clone(nodes)),
        _ => None,
    });
    if let Some(nodes) = found {
        return Ok(nodes);
    }
    let nodes = Rc::new(parse_as(text, standard)?);
    KEPT.set(Some((standard, text.to_string(), Rc::clone(&nodes))));
    Ok(nodes)
}

/// Reads a template.
pub(super) fn parse(text: &str) -> Result<Rc<Vec<Node>>> {
    kept(text, false)
}

/// Reads a template by the SQL standard's rules, which know few separators.
pub(super) fn parse_standard(text: &str) -> Result<Rc<Vec<Node>>> {
    kept(text, true)
}

fn parse_as(text: &str, standard: bool) -> Result<Vec<Node>> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (mut fill, mut localized) = (false, false);
        let start = rest;
        loop {
            if rest.starts_with("FM") || rest.starts_with("fm") {
                fill = true;
            } else if rest.starts_with("TM") || rest.starts_with("tm") {
                localized = true;
            } else {
                break;
            }
            rest = &rest[2..];
        }
        if let Some((name, field, upper)) = field_at(rest) {
            rest = &rest[name.len()..];
            let mut th = None;
            loop {
                if rest.starts_with("TH") || rest.starts_with("th") {
                    th = Some(rest.starts_with("TH"));
                } else if !rest.starts_with("SP") {
                    break;
                }
                rest = &rest[2..];
            }
            let name = if upper { name } else { lower_name(name) };
            out.push(Node::Field(FieldNode { field, name, upper, fill, localized, th }));
            continue;
        }
        if start.len() != rest.len() {
            continue;
        }
        let next = rest.chars().next().filter(|c| *c != '"' && *c != '\\');
        if let Some(c) = next.filter(|c| standard && !"-./,':; ".contains(*c)) {
            return Err(base::err!(
                INVALID_DATETIME_FORMAT,
                "invalid datetime format separator: \"{c}\""
            ));
        }
        rest = literal(rest, &mut out);
    }
    Ok(out)
}

/// Text: in double quotes, or one character. Gives the rest.
fn literal<'a>(text: &'a str, out: &mut Vec<Node>) -> &'a str {
    let mut chars = text.chars();
    match chars.next() {
        Some('"') => {
            while let Some(c) = chars.next() {
                match c {
                    '"' => break,
                    '\\' => out.extend(chars.next().map(Node::Char)),
                    c => out.push(Node::Char(c)),
                }
            }
        }
        Some('\\') if chars.as_str().starts_with('"') => {
            out.extend(chars.next().map(Node::Char));
        }
        Some(c) if is_separator(c) => out.push(Node::Separator(c)),
        Some(c) if c.is_ascii_whitespace() => out.push(Node::Space(c)),
        Some(c) => out.push(Node::Char(c)),
        None => {}
    }
    chars.as_str()
}

/// The calendar that the fields of a template belong to, which must not be mixed when reading.
#[derive(Default)]
pub(super) struct Calendar {
    iso: Option<bool>,
}

impl Calendar {
    /// Fails on a field of the other calendar than those before it.
    pub(super) fn admit(&mut self, f: &FieldNode) -> Result<()> {
        use Field::*;
        let iso = match f.field {
            IsoDayOfYear | IsoDayOfWeek | IsoWeek | IsoYear(_) => true,
            Century | DayOfYear | DayOfMonth | DayOfWeek | Year(_) | YearComma | Month
            | MonthName(_) | MonthAbbrev(_) | RomanMonth | WeekOfYear | WeekOfMonth => false,
            _ => return Ok(()),
        };
        if *self.iso.get_or_insert(iso) == iso {
            return Ok(());
        }
        Err(base::err!(INVALID_DATETIME_FORMAT, "invalid combination of date conventions")
            .hint("Do not mix Gregorian and ISO week date conventions in a formatting template."))
    }
}

/// A template that is longer than any that makes sense.
pub(super) fn check_length(text: &str) -> Result<()> {
    if text.len() > (1 << 26) {
        bail!(PROGRAM_LIMIT_EXCEEDED, "requested length too large");
    }
    Ok(())
}
