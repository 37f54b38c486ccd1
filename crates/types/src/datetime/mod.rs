//! Dates, times, time zones and intervals.

mod zone;

pub use zone::TimeZone;
