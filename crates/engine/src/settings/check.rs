//! Settings whose values have a grammar of their own.

use crate::ddl::name::{MAX_NAME, clip};
use base::settings::{SettingDef, SettingValue};
use base::{Error, Result, Severity, SqlState, bail, err};
use std::sync::Arc;
use types::datetime::TimeZone;
use types::encoding::Encoding;
use types::io::IntervalStyle;

/// Settings that are lists of key words, and the words.
const KEY_WORDS: &[(&str, &[&str])] = &[
    ("createrole_self_grant", &["set", "inherit"]),
    ("log_destination", &["stderr", "csvlog", "jsonlog", "syslog"]),
    ("restrict_nonsystem_relation_kind", &["view", "foreign-table"]),
    (
        "wal_consistency_checking",
        &[
            "all", "heap2", "heap", "btree", "hash", "gin", "gist", "sequence", "spgist", "brin",
            "generic",
        ],
    ),
];

/// Caches whose size has to be a multiple of this many pages.
const SLRU_BANK_PAGES: i64 = 16;

fn invalid(def: &SettingDef, text: &str) -> Error {
    err!(INVALID_PARAMETER_VALUE, "invalid value for parameter \"{}\": \"{text}\"", def.name)
}

/// Settings whose values are names, and as long as names at most.
const NAMES: [&str; 6] = [
    "application_name",
    "cluster_name",
    "default_table_access_method",
    "default_tablespace",
    "role",
    "session_authorization",
];

/// A name as long as names are at most.
fn shortened(name: &str) -> &str {
    clip(name, MAX_NAME)
}

/// For a value that is too long for the name that the setting is: what is left of it, and what the
/// client is told.
pub(crate) fn shortened_name<'v>(setting: &str, value: &'v str) -> Option<(&'v str, Error)> {
    if value.len() <= MAX_NAME || !NAMES.iter().any(|n| n.eq_ignore_ascii_case(setting)) {
        return None;
    }
    let short = shortened(value);
    let text = format!("identifier \"{value}\" will be truncated to \"{short}\"");
    let notice = Error::with_severity(Severity::Notice, SqlState::NAME_TOO_LONG, text);
    Some((short, notice))
}

/// Reads a value of a setting and gives it in its canonical form.
pub fn canonical(def: &SettingDef, text: &str) -> Result<SettingValue> {
    let as_text = |t: String| Ok(SettingValue::Text(Arc::from(t)));
    match def.name {
        "DateStyle" => as_text(date_style(def, text, "ISO, MDY")?),
        "client_encoding" => as_text(encoding(def, text)?),
        "search_path" => {
            split_list(text).ok_or_else(|| invalid(def, text).detail("List syntax is invalid."))?;
            as_text(text.to_string())
        }
        "application_name" | "cluster_name" => {
            // Names go into logs and views: other bytes than printable ASCII are escaped.
            let clean = |b: u8| match b {
                0x20..=0x7e => (b as char).to_string(),
                _ => format!("\\x{b:02x}"),
            };
            as_text(shortened(text).bytes().map(clean).collect())
        }
        "TimeZone" | "log_timezone" => as_text(time_zone(def, text)?),
        "lc_messages" | "lc_monetary" | "lc_numeric" | "lc_time" => match text {
            "C" | "POSIX" | "C.UTF-8" | "C.utf8" => as_text(text.to_string()),
            // The system's own, which is one of the above.
            "" if def.name != "lc_messages" => as_text(text.to_string()),
            _ => Err(invalid(def, text)),
        },
        "backtrace_functions" => {
            let fits = |c: char| c.is_ascii_alphanumeric() || "_, \n\t".contains(c);
            match text.chars().all(fits) {
                true => def.parse(text),
                false => Err(invalid(def, text).detail("Invalid character.")),
            }
        }
        "debug_io_direct" => {
            options(def, text, &["data", "wal", "wal_init"])?;
            def.parse(text)
        }
        "log_connections" => {
            log_connections(def, text)?;
            def.parse(text)
        }
        "wal_compression" if matches!(def.parse(text)?.as_str(), "on") => as_text("pglz".into()),
        "bonjour" if def.parse(text)?.as_bool() => {
            bail!(FEATURE_NOT_SUPPORTED, "Bonjour is not supported by this build")
        }
        "default_with_oids" if def.parse(text)?.as_bool() => {
            bail!(FEATURE_NOT_SUPPORTED, "tables declared WITH OIDS are not supported")
        }
        "recovery_target" if !matches!(text, "" | "immediate") => {
            Err(invalid(def, text).detail("The only allowed value is \"immediate\"."))
        }
        name => {
            if let Some((_, words)) = KEY_WORDS.iter().find(|(n, _)| *n == name) {
                key_words(def, text, words)?;
            }
            let value = def.parse(text)?;
            check_number(def, value.as_i64())?;
            Ok(value)
        }
    }
}

/// Every word of the list has to be one of these.
fn key_words(def: &SettingDef, text: &str, known: &[&str]) -> Result<()> {
    let words =
        split_list(text).ok_or_else(|| invalid(def, text).detail("List syntax is invalid."))?;
    match words.iter().find(|w| !known.contains(&w.as_str())) {
        Some(w) => Err(invalid(def, text).detail(format!("Unrecognized key word: \"{w}\"."))),
        None => Ok(()),
    }
}

/// The same, of the settings that call them options.
fn options(def: &SettingDef, text: &str, known: &[&str]) -> Result<Vec<String>> {
    let list = split_list(text).ok_or_else(|| {
        let name = def.name;
        invalid(def, text).detail(format!("Invalid list syntax in parameter \"{name}\"."))
    })?;
    match list.iter().find(|w| !known.contains(&w.as_str())) {
        Some(w) => Err(invalid(def, text).detail(format!("Invalid option \"{w}\"."))),
        None => Ok(list),
    }
}

/// A list of stages, or a Boolean as the setting was one once.
fn log_connections(def: &SettingDef, text: &str) -> Result<()> {
    const BOOLEANS: [&str; 8] = ["on", "off", "true", "false", "yes", "no", "1", "0"];
    const STAGES: [&str; 5] =
        ["receipt", "authentication", "authorization", "setup_durations", "all"];
    let words = split_list(text).unwrap_or_default();
    let boolean = words.iter().find(|w| BOOLEANS.contains(&w.as_str()));
    match boolean {
        Some(_) if words.len() == 1 => Ok(()),
        Some(w) => Err(invalid(def, text).detail(format!(
            "Cannot specify log_connections option \"{w}\" in a list with other options."
        ))),
        None => options(def, text, &STAGES).map(|_| ()),
    }
}

/// Numbers with more rules than a range.
fn check_number(def: &SettingDef, n: i64) -> Result<()> {
    let wrong = |detail: String| {
        let name = def.name;
        let e = err!(INVALID_PARAMETER_VALUE, "invalid value for parameter \"{name}\": {n}");
        Err(e.detail(detail))
    };
    let name = def.name;
    match name {
        "vacuum_buffer_usage_limit" if n != 0 && n < 128 => {
            wrong(format!("\"{name}\" must be 0 or between 128 kB and 16777216 kB."))
        }
        "commit_timestamp_buffers"
        | "multixact_member_buffers"
        | "multixact_offset_buffers"
        | "notify_buffers"
        | "serializable_buffers"
        | "subtransaction_buffers"
        | "transaction_buffers"
            if n % SLRU_BANK_PAGES != 0 =>
        {
            wrong(format!("\"{name}\" must be a multiple of {SLRU_BANK_PAGES}."))
        }
        _ => Ok(()),
    }
}

/// A zone by its name in the zone data's spelling; `interval '...'` is a distance from UTC.
fn time_zone(def: &SettingDef, text: &str) -> Result<String> {
    let interval = text.get(..8).filter(|w| w.eq_ignore_ascii_case("interval"));
    let zone = match interval {
        Some(_) => {
            let inner = text[8..].trim().strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
            let inner = inner.ok_or_else(|| invalid(def, text))?;
            let parsed = types::datetime::decode_interval(inner, -1, IntervalStyle::Postgres)
                .map_err(|_| invalid(def, text))?;
            let wrong = |what: &str| {
                let detail = format!("Cannot specify {what} in time zone interval.");
                Err(invalid(def, text).detail(detail))
            };
            if parsed.months != 0 {
                return wrong("months");
            }
            if parsed.days != 0 {
                return wrong("days");
            }
            TimeZone::fixed((parsed.micros / 1_000_000) as i32)
        }
        None => match text.trim().parse::<f64>() {
            Ok(_) => TimeZone::of_hours(text)
                .ok_or_else(|| invalid(def, text).detail("UTC timezone offset is out of range."))?,
            Err(_) => named_zone(def, text)?,
        },
    };
    Ok(zone.name.to_string())
}

/// A zone by its name or as a POSIX specification, which may not have leap seconds.
fn named_zone(def: &SettingDef, text: &str) -> Result<Arc<TimeZone>> {
    let zone = TimeZone::by_name(text).ok_or_else(|| invalid(def, text))?;
    match zone.at(0).offset % 60 {
        0 => Ok(zone),
        _ => Err(err!(INVALID_PARAMETER_VALUE, "time zone \"{text}\" appears to use leap seconds")
            .detail("PostgreSQL does not support leap seconds.")),
    }
}

/// The names of a comma-separated list of identifiers, folded and unquoted.
pub fn split_list(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim_start();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let name;
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut out = String::new();
            let mut chars = quoted.char_indices().peekable();
            let mut end = None;
            while let Some((i, c)) = chars.next() {
                if c != '"' {
                    out.push(c);
                } else if chars.peek().is_some_and(|(_, n)| *n == '"') {
                    chars.next();
                    out.push('"');
                } else {
                    end = Some(i + 1);
                    break;
                }
            }
            rest = &quoted[end?..];
            name = out;
        } else {
            let end = rest.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            name = rest[..end].to_lowercase();
            rest = &rest[end..];
        }
        names.push(name);
        rest = rest.trim_start();
        match rest.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None if rest.is_empty() => return Some(names),
            None => return None,
        }
    }
}

/// As [`canonical`], for a setting that keeps what a new value does not say.
pub fn canonical_after(
    def: &SettingDef,
    text: &str,
    current: &SettingValue,
) -> Result<SettingValue> {
    match def.name {
        "DateStyle" => Ok(SettingValue::Text(Arc::from(date_style(def, text, current.as_str())?))),
        _ => canonical(def, text),
    }
}

/// `ISO, MDY` and its relatives: one word for the style, one for the order of fields.
fn date_style(def: &SettingDef, text: &str, current: &str) -> Result<String> {
    let (mut style, mut order) = current.split_once(", ").unwrap_or(("ISO", "MDY"));
    let words = split_list(text).ok_or_else(|| invalid(def, text))?;
    for word in &words {
        match word.as_str() {
            "iso" => style = "ISO",
            "sql" => style = "SQL",
            "german" => {
                style = "German";
                order = "DMY";
            }
            w if w.starts_with("postgres") => style = "Postgres",
            "ymd" => order = "YMD",
            w if w.starts_with("euro") || w == "dmy" => order = "DMY",
            w if w.starts_with("us") || w.starts_with("noneuro") || w == "mdy" => order = "MDY",
            "default" => (style, order) = ("ISO", "MDY"),
            w => {
                return Err(invalid(def, text).detail(format!("Unrecognized key word: \"{w}\".")));
            }
        }
    }
    Ok(format!("{style}, {order}"))
}

/// Encodings clients may use: those that text can be converted to.
fn encoding(def: &SettingDef, text: &str) -> Result<String> {
    let Some(encoding) = Encoding::from_name(text) else { return Err(invalid(def, text)) };
    if !encoding.has_unicode() {
        let detail = format!("Conversion between {} and UTF8 is not supported.", encoding.name());
        let e =
            err!(FEATURE_NOT_SUPPORTED, "invalid value for parameter \"{}\": \"{text}\"", def.name);
        return Err(e.detail(detail));
    }
    Ok(encoding.name().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_fold_and_unquote() {
        assert_eq!(
            split_list("\"$user\", Public,x").unwrap(),
            vec!["$user".to_string(), "public".into(), "x".into()]
        );
        assert_eq!(split_list("a,,b"), None);
        assert_eq!(split_list("").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn date_style_is_canonical() {
        let def = base::settings::find("datestyle").unwrap();
        assert_eq!(canonical(def, "german").unwrap().as_str(), "German, DMY");
        assert_eq!(canonical(def, "dmy, iso").unwrap().as_str(), "ISO, DMY");
        assert!(canonical(def, "foo").is_err());
        let before = canonical(def, "SQL, YMD").unwrap();
        assert_eq!(canonical_after(def, "postgres", &before).unwrap().as_str(), "Postgres, YMD");
    }

    #[test]
    fn lists_of_words_and_zones() {
        let value = |name: &str, text: &str| {
            let def = base::settings::find(name).unwrap();
            let shown = canonical(def, text).map(|v| v.as_str().to_string());
            shown.map_err(|e| e.fields().detail.as_deref().unwrap_or(e.message()).to_string())
        };
        assert_eq!(value("log_destination", "csvlog, Stderr").unwrap(), "csvlog, Stderr");
        assert_eq!(
            value("log_destination", "csvlog, x").unwrap_err(),
            "Unrecognized key word: \"x\"."
        );
        assert_eq!(value("log_connections", "ye").unwrap_err(), "Invalid option \"ye\".");
        assert!(value("log_connections", "on").is_ok());
        assert!(value("log_connections", "receipt, on").is_err());
        assert_eq!(value("TimeZone", "europe/berlin").unwrap(), "Europe/Berlin");
        assert_eq!(value("TimeZone", "-7.5").unwrap(), "<-07:30>+07:30");
        assert_eq!(value("TimeZone", "interval '1:30'").unwrap(), "<+01:30>-01:30");
        assert_eq!(
            value("TimeZone", "INTERVAL '1 mon'").unwrap_err(),
            "Cannot specify months in time zone interval."
        );
        assert_eq!(value("wal_compression", "on").unwrap(), "pglz");
        assert!(value("lc_messages", "xx").is_err());
    }
}
