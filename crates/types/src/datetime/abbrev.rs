//! Abbreviations of time zones that are known without naming a zone.

use super::zone::TimeZone;
use std::sync::{Arc, OnceLock};

/// An abbreviation's meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AbbrevZone {
    /// The abbreviation, in upper case.
    pub abbrev: &'static str,
    /// Seconds east of UTC.
    pub offset: i32,
    /// Summer time.
    pub dst: bool,
    /// The zone whose history tells what it means; the offset is today's then.
    pub zone: Option<&'static str>,
}

/// All abbreviations of the default set, sorted.
pub fn abbreviations() -> &'static [AbbrevZone] {
    static LIST: OnceLock<Vec<AbbrevZone>> = OnceLock::new();
    LIST.get_or_init(|| {
        include_str!("../../data/timezone_abbrevs.tsv")
            .lines()
            .filter_map(|line| {
                let mut fields = line.split('\t');
                Some(AbbrevZone {
                    abbrev: fields.next()?,
                    offset: fields.next()?.parse().ok()?,
                    dst: fields.next()? == "t",
                    zone: fields.next(),
                })
            })
            .collect()
    })
}

impl AbbrevZone {
    /// Its offset, or the zone that it is where the offset changed with time.
    pub fn meaning(&self) -> Result<i32, Arc<TimeZone>> {
        match self.zone.and_then(TimeZone::by_name) {
            Some(zone) => Err(zone.of_abbreviation(self.abbrev)),
            None => Ok(self.offset),
        }
    }
}

/// The meaning of an abbreviation in any case.
pub fn abbreviation(word: &str) -> Option<AbbrevZone> {
    let list = abbreviations();
    let upper = word.to_ascii_uppercase();
    list.binary_search_by(|a| a.abbrev.cmp(&upper)).ok().map(|i| list[i])
}
