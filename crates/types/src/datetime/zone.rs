//! Time zones.

use std::sync::{Arc, OnceLock};

/// A time zone: rules for the offset from UTC at any moment.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeZone {
    /// Its canonical name.
    pub name: String,
}

impl TimeZone {
    /// UTC.
    pub fn utc() -> Arc<TimeZone> {
        static UTC: OnceLock<Arc<TimeZone>> = OnceLock::new();
        Arc::clone(UTC.get_or_init(|| Arc::new(TimeZone { name: "UTC".into() })))
    }
}
