//! Dates and times as items.

use super::exec::{Exec, Fail, Item, Outcome, soft};
use crate::env::FnEnv;
use base::{Error, err};
use std::cmp::Ordering;
use types::Datum;
use types::datetime::{self, Civil, USECS_PER_DAY, USECS_PER_SEC};
use types::json::Json;
use types::numeric::Numeric;

/// What a time is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
}

impl Kind {
    fn short(self) -> &'static str {
        match self {
            Kind::Date => "date",
            Kind::Time => "time",
            Kind::TimeTz => "timetz",
            Kind::Timestamp => "timestamp",
            Kind::TimestampTz => "timestamptz",
        }
    }

    fn method(self) -> &'static str {
        match self {
            Kind::Date => "date",
            Kind::Time => "time",
            Kind::TimeTz => "time_tz",
            Kind::Timestamp => "timestamp",
            Kind::TimestampTz => "timestamp_tz",
        }
    }

    fn zoned(self) -> bool {
        matches!(self, Kind::TimeTz | Kind::TimestampTz)
    }
}

impl Kind {
    /// What values of a type are.
    pub(crate) fn of_type(ty: base::Oid) -> Option<Kind> {
        Some(match ty {
            types::oid::DATE => Kind::Date,
            types::oid::TIME => Kind::Time,
            types::oid::TIMETZ => Kind::TimeTz,
            types::oid::TIMESTAMP => Kind::Timestamp,
            types::oid::TIMESTAMPTZ => Kind::TimestampTz,
            _ => return None,
        })
    }
}

/// A value as an item; a moment is taken as Greenwich has it.
pub(crate) fn of_datum(kind: Kind, value: &Datum) -> Time {
    match (kind, value) {
        (Kind::Date, _) => {
            Time { kind, local: value.to_i64().saturating_mul(USECS_PER_DAY), offset: 0 }
        }
        (Kind::TimeTz, Datum::Bytes(b)) if b.len() == 12 => {
            let (time, west) = b.split_at(8);
            let time = time.try_into().map(i64::from_le_bytes).unwrap_or_default();
            let west = west.try_into().map(i32::from_le_bytes).unwrap_or_default();
            Time { kind, local: time, offset: -west }
        }
        _ => Time { kind, local: value.to_i64(), offset: 0 },
    }
}

/// As the output function of its type has it.
pub(crate) fn text_of(cx: &crate::call::FnCtx, t: &Time) -> base::Result<String> {
    let (ty, value) = match t.kind {
        Kind::Date => (types::oid::DATE, Datum::I32((t.local.div_euclid(USECS_PER_DAY)) as i32)),
        Kind::Time => (types::oid::TIME, Datum::I64(t.local)),
        Kind::TimeTz => {
            let bytes = types::io::timetz_bytes(t.local, -t.offset);
            (types::oid::TIMETZ, Datum::bytes(bytes))
        }
        Kind::Timestamp => (types::oid::TIMESTAMP, Datum::I64(t.local)),
        Kind::TimestampTz => {
            let utc = t.local - t.offset as i64 * USECS_PER_SEC;
            (types::oid::TIMESTAMPTZ, Datum::I64(utc))
        }
    };
    let mut out = Vec::new();
    types::io::output(ty, &value, &cx.env.io(), &mut out)?;
    Ok(String::from_utf8(out).unwrap_or_default())
}

/// A date or time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Time {
    pub kind: Kind,
    /// Microseconds: of the day for times, else local ones from 2000-01-01.
    pub local: i64,
    /// Seconds east of Greenwich.
    pub offset: i32,
}

impl Time {
    pub(super) fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Date => "date",
            Kind::Time => "time without time zone",
            Kind::TimeTz => "time with time zone",
            Kind::Timestamp => "timestamp without time zone",
            Kind::TimestampTz => "timestamp with time zone",
        }
    }

    /// As ISO 8601 has it.
    pub(super) fn text(&self) -> String {
        let mut out = Vec::new();
        let format = types::Format::default();
        if !matches!(self.kind, Kind::Time | Kind::TimeTz) {
            datetime::write_date(datetime::split(self.local).0, &format, &mut out);
        }
        if matches!(self.kind, Kind::Timestamp | Kind::TimestampTz) {
            out.push(b'T');
        }
        if self.kind != Kind::Date {
            datetime::write_time(self.local.rem_euclid(USECS_PER_DAY), &mut out);
        }
        let mut text = String::from_utf8(out).unwrap_or_default();
        if self.kind.zoned() {
            let sign = if self.offset < 0 { '-' } else { '+' };
            let s = self.offset.abs();
            text.push_str(&format!("{sign}{:02}:{:02}", s / 3600, s / 60 % 60));
        }
        text
    }

    /// The moment, with the session's zone for what has none.
    fn instant(&self, env: &dyn FnEnv) -> i64 {
        match self.kind {
            Kind::TimestampTz | Kind::TimeTz => self.local - self.offset as i64 * USECS_PER_SEC,
            Kind::Time => {
                self.local - zone_offset(env, env.transaction_timestamp()) * USECS_PER_SEC
            }
            _ => datetime::from_local(self.local, &env.format().timezone).unwrap_or(self.local),
        }
    }

    /// The order; None if they cannot be compared.
    pub(super) fn compare(
        &self,
        other: &Time,
        zoned: bool,
        env: &dyn FnEnv,
    ) -> Outcome<Option<Ordering>> {
        let is_time = |t: &Time| matches!(t.kind, Kind::Time | Kind::TimeTz);
        if is_time(self) != is_time(other) {
            return Ok(None);
        }
        if self.kind.zoned() != other.kind.zoned() {
            let (plain, with) = if self.kind.zoned() { (other, self) } else { (self, other) };
            need_zone(plain.kind, with.kind, zoned)?;
            let order = self.instant(env).cmp(&other.instant(env));
            if !is_time(self) {
                return Ok(Some(order));
            }
            // A time without zone is taken as one with the session's.
            let here = zone_offset(env, env.transaction_timestamp()) as i32;
            let offset = |t: &Time| if t.kind == Kind::Time { here } else { t.offset };
            return Ok(Some(order.then(offset(other).cmp(&offset(self)))));
        }
        if self.kind.zoned() {
            let order = self.instant(env).cmp(&other.instant(env));
            // Times with zones at the same moment are ordered by their zones.
            return Ok(Some(match self.kind {
                Kind::TimeTz => order.then(other.offset.cmp(&self.offset)),
                _ => order,
            }));
        }
        Ok(Some(self.local.cmp(&other.local)))
    }
}

fn zone_offset(env: &dyn FnEnv, at: i64) -> i64 {
    env.format().timezone.at(at).offset as i64
}

fn need_zone(from: Kind, to: Kind, zoned: bool) -> Outcome {
    if zoned {
        return Ok(());
    }
    Err(Fail::Hard(
        err!(
            FEATURE_NOT_SUPPORTED,
            "cannot convert value from {} to {} without time zone usage",
            from.short(),
            to.short()
        )
        .hint("Use *_tz() function for time zone support."),
    ))
}

struct Scan<'a>(&'a [u8]);

impl Scan<'_> {
    fn digits(&mut self, least: usize, most: usize) -> Option<i32> {
        let n = self.0.iter().take(most).take_while(|c| c.is_ascii_digit()).count();
        if n < least {
            return None;
        }
        let value = self.0[..n]
            .iter()
            .fold(0i32, |v, c| v.saturating_mul(10).saturating_add((c - b'0') as i32));
        self.0 = &self.0[n..];
        Some(value)
    }

    fn eat(&mut self, c: u8) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        (*first == c).then(|| self.0 = rest)
    }

    fn date(&mut self) -> Option<(i32, i32, i32)> {
        let year = self.digits(4, 4)?;
        self.eat(b'-')?;
        let month = self.digits(2, 2)?;
        self.eat(b'-')?;
        let day = self.digits(2, 2)?;
        let valid =
            (1..=12).contains(&month) && (1..=datetime::days_in_month(year, month)).contains(&day);
        valid.then_some((year, month, day))
    }

    fn time(&mut self) -> Option<i64> {
        let hour = self.digits(2, 2)?;
        self.eat(b':')?;
        let minute = self.digits(2, 2)?;
        self.eat(b':')?;
        let second = self.digits(2, 2)?;
        let mut micros = 0;
        if self.eat(b'.').is_some() {
            let before = self.0.len();
            let n = self.digits(1, 6)?;
            micros = n * 10i32.pow(6 - (before - self.0.len()) as u32);
        }
        let valid = hour < 24 && minute < 60 && second < 60;
        valid.then(|| datetime::time_from_parts(hour, minute, second, micros))
    }

    fn zone(&mut self) -> Option<i32> {
        while self.eat(b' ').is_some() {}
        let sign = match self.0.first()? {
            b'+' => 1,
            b'-' => -1,
            b'Z' | b'z' => {
                self.0 = &self.0[1..];
                return Some(0);
            }
            _ => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.digits(1, 2)?;
        let minutes = match self.eat(b':') {
            Some(()) => self.digits(2, 2)?,
            None => 0,
        };
        (hours <= 15 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

fn date_micros((year, month, day): (i32, i32, i32)) -> i64 {
    let civil = Civil { year, month, day, hour: 0, minute: 0, second: 0, micros: 0 };
    civil.date() as i64 * USECS_PER_DAY
}

/// Reads one of the ISO forms.
fn parse(text: &str) -> Option<Time> {
    let mut s = Scan(text.as_bytes());
    let whole = |s: &Scan, t: Time| s.0.is_empty().then_some(t);
    let with_zone = |s: &mut Scan, plain: Kind, zoned: Kind, local: i64| {
        if s.0.is_empty() {
            return Some(Time { kind: plain, local, offset: 0 });
        }
        let offset = s.zone()?;
        whole(s, Time { kind: zoned, local, offset })
    };
    if text.as_bytes().get(2) == Some(&b':') {
        let time = s.time()?;
        return with_zone(&mut s, Kind::Time, Kind::TimeTz, time);
    }
    let day = date_micros(s.date()?);
    if s.0.is_empty() {
        return Some(Time { kind: Kind::Date, local: day, offset: 0 });
    }
    s.eat(b'T').or_else(|| s.eat(b' '))?;
    let time = s.time()?;
    with_zone(&mut s, Kind::Timestamp, Kind::TimestampTz, day + time)
}

fn bad(message: String) -> Error {
    err!(INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION, "{message}")
}

fn string<'a>(item: &'a Item, method: &str) -> Outcome<&'a str> {
    match item {
        Item::Json(Json::String(s)) => Ok(s),
        _ => soft(bad(format!("jsonpath item method .{method}() can only be applied to a string"))),
    }
}

/// `.datetime()`
pub(super) fn datetime(x: &Exec, item: &Item, template: Option<&str>) -> Outcome<Time> {
    let text = string(item, "datetime")?;
    let Some(template) = template else {
        return parse(text).ok_or_else(|| {
            Fail::Soft(
                bad(format!("datetime format is not recognized: \"{text}\""))
                    .hint("Use a datetime template argument to specify the input data format."),
            )
        });
    };
    let _ = x;
    let read = crate::scalar::format::read_by_template(text, template).map_err(Fail::Soft)?;
    let offset = read.offset.unwrap_or(0);
    let (kind, local) = match (read.date, read.time, read.zoned) {
        (Some(d), Some(t), true) => (Kind::TimestampTz, d as i64 * USECS_PER_DAY + t),
        (Some(d), Some(t), false) => (Kind::Timestamp, d as i64 * USECS_PER_DAY + t),
        (Some(d), None, _) => (Kind::Date, d as i64 * USECS_PER_DAY),
        (None, Some(t), true) => (Kind::TimeTz, t),
        (None, Some(t), false) => (Kind::Time, t),
        (None, None, _) => {
            return soft(err!(
                INVALID_DATETIME_FORMAT,
                "datetime format is not dated and not timed"
            ));
        }
    };
    Ok(Time { kind, local, offset })
}

/// `.date()`, `.time()` and the like.
pub(super) fn cast(
    x: &Exec,
    item: &Item,
    kind: Kind,
    precision: Option<&Numeric>,
) -> Outcome<Time> {
    let name = kind.method();
    let (text, value) = match item {
        Item::Time(t) => (t.text(), Some(*t)),
        _ => {
            let text = string(item, name)?;
            (text.to_string(), parse(text))
        }
    };
    let unknown = || Fail::Soft(bad(format!("{name} format is not recognized: \"{text}\"")));
    let value = value.ok_or_else(unknown)?;
    let made = convert(x, value, kind)?.ok_or_else(unknown)?;
    match precision {
        Some(p) => rounded(x, made, p),
        None => Ok(made),
    }
}

fn convert(x: &Exec, t: Time, kind: Kind) -> Outcome<Option<Time>> {
    if t.kind == kind {
        return Ok(Some(t));
    }
    let is_time = |k: Kind| matches!(k, Kind::Time | Kind::TimeTz);
    // A time has no date; a date has no time.
    if (is_time(t.kind) && !is_time(kind)) || (t.kind == Kind::Date && is_time(kind)) {
        return Ok(None);
    }
    match (t.kind, kind) {
        (Kind::Timestamp, Kind::TimeTz) => return Ok(None),
        (Kind::TimestampTz, Kind::TimeTz) => return session_time(x, t).map(Some),
        _ => {}
    }
    if t.kind.zoned() != kind.zoned() {
        need_zone(t.kind, kind, x.zoned)?;
    }
    let env = x.env;
    let (mut local, mut offset) = (t.local, t.offset);
    match (t.kind.zoned(), kind.zoned()) {
        (true, false) => {
            // Shown as the session's zone has it, but for times, which keep their own.
            if t.kind == Kind::TimestampTz {
                let instant = t.instant(env);
                local = datetime::to_local(instant, &env.format().timezone).map_err(Fail::Soft)?;
            }
            offset = 0;
        }
        (false, true) => {
            offset = if t.kind == Kind::Time {
                zone_offset(env, env.transaction_timestamp()) as i32
            } else {
                ((local - t.instant(env)) / USECS_PER_SEC) as i32
            };
        }
        _ => {}
    }
    local = match kind {
        Kind::Date => local.div_euclid(USECS_PER_DAY) * USECS_PER_DAY,
        Kind::Time | Kind::TimeTz => local.rem_euclid(USECS_PER_DAY),
        _ => local,
    };
    Ok(Some(Time { kind, local, offset }))
}

/// The time of day that the session's clocks show at a moment.
fn session_time(x: &Exec, t: Time) -> Outcome<Time> {
    let instant = t.instant(x.env);
    let local = datetime::to_local(instant, &x.env.format().timezone).map_err(Fail::Soft)?;
    let offset = ((local - instant) / USECS_PER_SEC) as i32;
    Ok(Time { kind: Kind::TimeTz, local: local.rem_euclid(USECS_PER_DAY), offset })
}

fn rounded(x: &Exec, mut t: Time, precision: &Numeric) -> Outcome<Time> {
    let name = t.kind.method();
    let n = precision.clone().trunc(0).to_i64().and_then(|n| i32::try_from(n).ok());
    let Some(n) = n.filter(|n| *n >= 0) else {
        return soft(bad(format!(
            "time precision of jsonpath item method .{name}() is out of range for type integer"
        )));
    };
    if n > 6 {
        let (word, zone) = match t.kind {
            Kind::Time => ("TIME", ""),
            Kind::TimeTz => ("TIME", " WITH TIME ZONE"),
            Kind::Timestamp => ("TIMESTAMP", ""),
            _ => ("TIMESTAMP", " WITH TIME ZONE"),
        };
        let text = format!("{word}({n}){zone} precision reduced to maximum allowed, 6");
        let code = base::SqlState::INVALID_PARAMETER_VALUE;
        x.env.notice(Error::with_severity(base::Severity::Warning, code, text));
    }
    t.local = datetime::round_micros(t.local, n.min(6));
    Ok(t)
}
