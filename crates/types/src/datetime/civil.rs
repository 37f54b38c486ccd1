//! The calendar: days to year, month and day, and back.

use super::{EPOCH_JULIAN, USECS_PER_DAY, USECS_PER_HOUR, USECS_PER_MINUTE, USECS_PER_SEC};

/// A date and time of day in parts. Year 0 is 1 BC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Civil {
    /// Year, 0 for 1 BC, negative before.
    pub year: i32,
    /// Month from 1.
    pub month: i32,
    /// Day of the month from 1.
    pub day: i32,
    /// Hour.
    pub hour: i32,
    /// Minute.
    pub minute: i32,
    /// Second.
    pub second: i32,
    /// Microseconds of the second.
    pub micros: i32,
}

/// Julian day number of a date; years down to -4713.
pub const fn julian_day(year: i32, month: i32, day: i32) -> i32 {
    let (mut y, mut m) = (year, month);
    // What is given may be an interval's parts, which can be any numbers.
    if m > 2 {
        m = m.wrapping_add(1);
        y = y.wrapping_add(4800);
    } else {
        m = m.wrapping_add(13);
        y = y.wrapping_add(4799);
    }
    let century = y / 100;
    let julian = y.wrapping_mul(365).wrapping_sub(32167);
    julian
        .wrapping_add(y / 4 - century + century / 4)
        .wrapping_add((m.wrapping_mul(7834) / 256).wrapping_add(day))
}

/// Year, month and day of a Julian day number.
pub const fn date_from_julian(julian: i32) -> (i32, i32, i32) {
    let mut j = (julian as u32).wrapping_add(32044);
    let mut quad = j / 146_097;
    let extra = (j - quad * 146_097) * 4 + 3;
    j = j.wrapping_add(60 + quad * 3 + extra / 146_097);
    quad = j / 1461;
    j -= quad * 1461;
    let mut y = (j * 4 / 1461) as i32;
    j = (if y != 0 { (j + 305) % 365 } else { (j + 306) % 366 }) + 123;
    y += (quad * 4) as i32;
    let year = y - 4800;
    let q = j * 2141 / 65536;
    let day = j - 7834 * q / 256;
    let month = (q + 10) % 12 + 1;
    (year, month as i32, day as i32)
}

/// Whether a year has 366 days.
pub const fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days in a month (1 to 12).
pub const fn days_in_month(year: i32, month: i32) -> i32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Hour, minute, second and microseconds of a time of day.
pub const fn time_parts(time: i64) -> (i32, i32, i32, i32) {
    (
        (time / USECS_PER_HOUR) as i32,
        (time / USECS_PER_MINUTE % 60) as i32,
        (time / USECS_PER_SEC % 60) as i32,
        (time % USECS_PER_SEC) as i32,
    )
}

/// A time of day from its parts.
pub const fn time_from_parts(hour: i32, minute: i32, second: i32, micros: i32) -> i64 {
    (hour as i64 * 3600 + minute as i64 * 60 + second as i64) * USECS_PER_SEC + micros as i64
}

impl Civil {
    /// The parts of a local timestamp that is not infinite.
    pub const fn from_timestamp(t: i64) -> Civil {
        let date = t.div_euclid(USECS_PER_DAY);
        let mut civil = Civil::from_date(date as i32);
        (civil.hour, civil.minute, civil.second, civil.micros) =
            time_parts(t.rem_euclid(USECS_PER_DAY));
        civil
    }

    /// The parts of a date that is not infinite.
    pub const fn from_date(date: i32) -> Civil {
        let (year, month, day) = date_from_julian(date.wrapping_add(EPOCH_JULIAN));
        Civil { year, month, day, hour: 0, minute: 0, second: 0, micros: 0 }
    }

    /// Days from 2000-01-01.
    pub const fn date(&self) -> i32 {
        julian_day(self.year, self.month, self.day).wrapping_sub(EPOCH_JULIAN)
    }

    /// Time of day in microseconds.
    pub const fn time(&self) -> i64 {
        time_from_parts(self.hour, self.minute, self.second, self.micros)
    }

    /// The local timestamp; None if it overflows.
    pub const fn timestamp(&self) -> Option<i64> {
        match (self.date() as i64).checked_mul(USECS_PER_DAY) {
            Some(days) => days.checked_add(self.time()),
            None => None,
        }
    }

    /// Whether the year is one that a date can have (4714-11-24 BC to 5874898-06-03).
    pub const fn is_julian_valid(&self) -> bool {
        (self.year > -4713 || (self.year == -4713 && self.month >= 11))
            && (self.year < 5_874_898 || (self.year == 5_874_898 && self.month < 6))
    }

    /// Day of the week from 0 = Sunday.
    pub const fn weekday(&self) -> i32 {
        (julian_day(self.year, self.month, self.day).wrapping_add(1)).rem_euclid(7)
    }

    /// Day of the year from 1.
    pub const fn day_of_year(&self) -> i32 {
        julian_day(self.year, self.month, self.day) - julian_day(self.year, 1, 1) + 1
    }

    /// Year and week of ISO 8601; the year counts 0 as 1 BC.
    pub const fn iso_week(&self) -> (i32, i32) {
        let day = julian_day(self.year, self.month, self.day);
        let mut year = self.year;
        let mut start = iso_year_start(year);
        if day < start {
            year -= 1;
            start = iso_year_start(year);
        } else {
            let next = iso_year_start(year + 1);
            if day >= next {
                year += 1;
                start = next;
            }
        }
        (year, (day - start) / 7 + 1)
    }
}

/// Julian day of the Monday that starts an ISO year.
pub(super) const fn iso_year_start(year: i32) -> i32 {
    let fourth = julian_day(year, 1, 4);
    fourth - fourth.rem_euclid(7)
}

/// English names of the days of the week, Sunday first.
pub const DAY_NAMES: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/// English names of the months.
pub const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
