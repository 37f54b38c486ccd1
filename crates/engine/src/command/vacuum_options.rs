//! The options of VACUUM and ANALYZE.

use super::upkeep_report::Told;
use crate::ddl::option::{bool_of, text_of};
use base::{Error, Result, SqlState, bail, err};
use parser::ast::{DefElem, DefValue, VacuumStmt};

/// The most workers that PARALLEL may ask for.
const MOST_WORKERS: i32 = 1024;

/// What VACUUM or ANALYZE was told.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub vacuum: bool,
    pub full: bool,
    pub freeze: bool,
    pub verbose: bool,
    pub analyze: bool,
    pub skip_locked: bool,
    pub all_pages: bool,
    pub index_cleanup: bool,
    pub process_main: bool,
    pub process_toast: bool,
    pub skip_database_stats: bool,
    pub only_database_stats: bool,
    pub parallel: Option<i32>,
    /// BUFFER_USAGE_LIMIT in kilobytes, if it was given.
    pub buffer_limit_kb: Option<u32>,
    /// TRUNCATE, if it was given.
    pub truncate: Option<bool>,
    /// Who wants to know what was done.
    pub told: Told,
    /// It is an automatic one because of the age of the table's ids.
    pub against_wraparound: bool,
}

impl Options {
    pub(super) fn read(stmt: &VacuumStmt) -> Result<Options> {
        let mut o = Options {
            vacuum: stmt.vacuum,
            full: false,
            freeze: false,
            verbose: false,
            analyze: !stmt.vacuum,
            skip_locked: false,
            all_pages: false,
            index_cleanup: true,
            process_main: true,
            process_toast: true,
            skip_database_stats: false,
            only_database_stats: false,
            parallel: None,
            buffer_limit_kb: None,
            truncate: None,
            told: Told::Nobody,
            against_wraparound: false,
        };
        for option in &stmt.options {
            match (option.name.as_str(), stmt.vacuum) {
                ("verbose", _) => o.verbose = bool_of(option)?,
                ("skip_locked", _) => o.skip_locked = bool_of(option)?,
                ("buffer_usage_limit", _) => {
                    o.buffer_limit_kb = Some(buffer_usage_limit(option)?);
                }
                ("analyze", true) => o.analyze = bool_of(option)?,
                ("freeze", true) => o.freeze = bool_of(option)?,
                ("full", true) => o.full = bool_of(option)?,
                ("disable_page_skipping", true) => o.all_pages = bool_of(option)?,
                ("index_cleanup", true) => o.index_cleanup = index_cleanup(option)?,
                ("process_main", true) => o.process_main = bool_of(option)?,
                ("process_toast", true) => o.process_toast = bool_of(option)?,
                ("truncate", true) => o.truncate = Some(bool_of(option)?),
                ("skip_database_stats", true) => o.skip_database_stats = bool_of(option)?,
                ("only_database_stats", true) => o.only_database_stats = bool_of(option)?,
                ("parallel", true) => o.parallel = Some(parallel(option)?),
                (name, vacuum) => {
                    let word = if vacuum { "VACUUM" } else { "ANALYZE" };
                    let e = err!(SYNTAX_ERROR, "unrecognized {word} option \"{name}\"");
                    return Err(e.at(option.pos));
                }
            }
        }
        o.check(stmt)?;
        if o.verbose {
            o.told = Told::Client;
        }
        Ok(o)
    }

    fn check(&self, stmt: &VacuumStmt) -> Result<()> {
        let wrong = |text: &str| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, text));
        if self.full && self.parallel.is_some_and(|n| n > 0) {
            return wrong("VACUUM FULL cannot be performed in parallel");
        }
        if self.full && self.buffer_limit_kb.is_some() && !self.analyze {
            return wrong("BUFFER_USAGE_LIMIT cannot be specified for VACUUM FULL");
        }
        if !self.analyze && stmt.relations.iter().any(|r| !r.columns.is_empty()) {
            return wrong("ANALYZE option must be specified when a column list is provided");
        }
        if self.full && self.all_pages {
            return wrong("VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL");
        }
        if self.full && !self.process_toast {
            return wrong("PROCESS_TOAST required with VACUUM FULL");
        }
        if self.only_database_stats {
            if !stmt.relations.is_empty() {
                return wrong("ONLY_DATABASE_STATS cannot be specified with a list of tables");
            }
            if stmt.options.iter().any(|o| o.name != "only_database_stats" && o.name != "verbose") {
                return wrong("ONLY_DATABASE_STATS cannot be specified with other VACUUM options");
            }
        }
        Ok(())
    }
}

fn index_cleanup(option: &DefElem) -> Result<bool> {
    match &option.value {
        Some(DefValue::String(s)) if s.eq_ignore_ascii_case("auto") => Ok(true),
        _ => bool_of(option),
    }
}

fn parallel(option: &DefElem) -> Result<i32> {
    match &option.value {
        None => {
            Err(err!(SYNTAX_ERROR, "parallel option requires a value between 0 and {MOST_WORKERS}")
                .at(option.pos))
        }
        Some(DefValue::Integer(n)) if (0..=MOST_WORKERS).contains(n) => Ok(*n),
        Some(DefValue::Integer(_)) => Err(err!(
            SYNTAX_ERROR,
            "parallel workers for vacuum must be between 0 and {MOST_WORKERS}"
        )
        .at(option.pos)),
        Some(_) => Err(err!(SYNTAX_ERROR, "parallel requires an integer value")),
    }
}

/// In kilobytes.
fn buffer_usage_limit(option: &DefElem) -> Result<u32> {
    const RANGE: &str = "BUFFER_USAGE_LIMIT option must be 0 or between 128 kB and 16777216 kB";
    let text = text_of(option)?;
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: Option<f64> = text[..at].parse().ok();
    let factor = match text[at..].trim() {
        "" | "kB" => Some(1.0),
        "B" => Some(1.0 / 1024.0),
        "MB" => Some(1024.0),
        "GB" => Some(1024.0 * 1024.0),
        "TB" => Some(1024.0 * 1024.0 * 1024.0),
        _ => None,
    };
    let (Some(number), Some(factor)) = (number, factor) else {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, RANGE).hint(
            "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
        ));
    };
    let kb = number * factor;
    if kb > f64::from(i32::MAX) {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, RANGE)
            .hint("Value exceeds integer range."));
    }
    if kb != 0.0 && !(128.0..=16_777_216.0).contains(&kb) {
        bail!(INVALID_PARAMETER_VALUE, "{RANGE}");
    }
    Ok(kb as u32)
}
