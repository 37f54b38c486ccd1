//! The settings (GUCs): what each is called, what values it takes, who may change it when.
//!
//! Entry points: [`all`], [`find`], [`SettingDef::parse`], [`SettingDef::show`]. The list is
//! `data/settings.tsv`, facts of PostgreSQL 18. Which value holds where (file, database, role,
//! session, transaction) is the engine's business.

mod unit;
mod value;

pub use unit::Unit;
pub use value::SettingValue;

use crate::{Result, bail};
use std::collections::HashMap;
use std::sync::OnceLock;

/// What kind of value a setting takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingType {
    /// on, off
    Bool,
    /// A whole number, maybe with a unit.
    Integer,
    /// A number, maybe with a unit.
    Real,
    /// Any text.
    String,
    /// One of a list of words.
    Enum,
}

impl SettingType {
    /// As `pg_settings.vartype` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            SettingType::Bool => "bool",
            SettingType::Integer => "integer",
            SettingType::Real => "real",
            SettingType::String => "string",
            SettingType::Enum => "enum",
        }
    }
}

/// When a setting can be changed and by whom, least changeable first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SettingContext {
    /// Never.
    Internal,
    /// At server start.
    Postmaster,
    /// By a reload of the configuration.
    Sighup,
    /// At session start, by superusers.
    SuperuserBackend,
    /// At session start.
    Backend,
    /// By superusers, in a session.
    Superuser,
    /// By anyone.
    User,
}

impl SettingContext {
    /// As `pg_settings.context` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            SettingContext::Internal => "internal",
            SettingContext::Postmaster => "postmaster",
            SettingContext::Sighup => "sighup",
            SettingContext::SuperuserBackend => "superuser-backend",
            SettingContext::Backend => "backend",
            SettingContext::Superuser => "superuser",
            SettingContext::User => "user",
        }
    }
}

/// One setting.
#[derive(Debug)]
pub struct SettingDef {
    /// Its place in [`all`].
    pub index: usize,
    /// Its name, in PostgreSQL's spelling.
    pub name: &'static str,
    /// What values it takes.
    pub kind: SettingType,
    /// The unit of numbers without one.
    pub unit: Unit,
    /// Who may change it when.
    pub context: SettingContext,
    /// `pg_settings.category`
    pub category: &'static str,
    /// Least number.
    pub min: f64,
    /// Greatest number.
    pub max: f64,
    /// As `min` in `pg_settings`.
    pub min_text: &'static str,
    /// As `max` in `pg_settings`.
    pub max_text: &'static str,
    /// Words of an enum.
    pub enum_values: Vec<&'static str>,
    /// The value before anything sets it; `None` shows as empty.
    pub boot: Option<&'static str>,
    /// Shown by EXPLAIN (SETTINGS).
    pub explain: bool,
    /// Told to clients when it changes.
    pub report: bool,
    /// Not shown by SHOW ALL and `pg_settings`.
    pub hidden: bool,
    /// RESET does not apply.
    pub no_reset: bool,
    /// All that is marked of it, as the list has it.
    pub flags: Vec<&'static str>,
    /// What it is for.
    pub description: &'static str,
}

struct Table {
    defs: Vec<SettingDef>,
    by_name: HashMap<String, usize>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let text = include_str!("../../data/settings.tsv");
        let lines = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
        let defs: Vec<SettingDef> = lines.enumerate().map(|(i, l)| parse_line(i, l)).collect();
        let by_name = defs.iter().map(|d| (d.name.to_ascii_lowercase(), d.index)).collect();
        Table { defs, by_name }
    })
}

fn parse_line(index: usize, line: &'static str) -> SettingDef {
    let f: Vec<&'static str> = line.split('\t').collect();
    let kind = match f[1] {
        "bool" => SettingType::Bool,
        "integer" => SettingType::Integer,
        "real" => SettingType::Real,
        "enum" => SettingType::Enum,
        _ => SettingType::String,
    };
    let context = match f[3] {
        "internal" => SettingContext::Internal,
        "postmaster" => SettingContext::Postmaster,
        "sighup" => SettingContext::Sighup,
        "superuser-backend" => SettingContext::SuperuserBackend,
        "backend" => SettingContext::Backend,
        "superuser" => SettingContext::Superuser,
        _ => SettingContext::User,
    };
    let flags: Vec<&str> = f[9].split(',').collect();
    SettingDef {
        index,
        name: f[0],
        kind,
        unit: Unit::from_name(f[2]),
        context,
        category: f[4],
        min: f[5].parse().unwrap_or(f64::MIN),
        max: f[6].parse().unwrap_or(f64::MAX),
        min_text: f[5],
        max_text: f[6],
        enum_values: match kind {
            SettingType::Enum => f[7].split(',').collect(),
            _ => Vec::new(),
        },
        boot: (f[8] != "\\N").then_some(f[8]),
        explain: flags.contains(&"EXPLAIN"),
        report: flags.contains(&"REPORT"),
        hidden: flags.contains(&"HIDDEN"),
        no_reset: flags.contains(&"NO_RESET"),
        flags,
        description: f[10],
    }
}

/// All settings, by name.
pub fn all() -> &'static [SettingDef] {
    &table().defs
}

/// The setting of this name, in any case.
pub fn find(name: &str) -> Option<&'static SettingDef> {
    let t = table();
    if let Some(i) = t.by_name.get(name) {
        return Some(&t.defs[*i]);
    }
    t.by_name.get(&name.to_ascii_lowercase()).map(|i| &t.defs[*i])
}

/// The setting of this name; 42704 if there is none.
pub fn require(name: &str) -> Result<&'static SettingDef> {
    match find(name) {
        Some(def) => Ok(def),
        None => bail!(UNDEFINED_OBJECT, "unrecognized configuration parameter \"{name}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(name: &str, text: &str) -> String {
        let def = find(name).unwrap();
        def.show(&def.parse(text).unwrap())
    }

    fn error(name: &str, text: &str) -> String {
        find(name).unwrap().parse(text).unwrap_err().message().to_string()
    }

    #[test]
    fn every_boot_value_is_valid() {
        for def in all() {
            if let Some(boot) = def.boot {
                def.parse(boot).unwrap_or_else(|e| panic!("{}: {e}", def.name));
            }
        }
        assert!(all().len() > 390);
    }

    #[test]
    fn units_read_and_show_as_postgres_does() {
        assert_eq!(show("work_mem", "64.5MB"), "66048kB");
        assert_eq!(show("work_mem", "4096"), "4MB");
        assert_eq!(show("statement_timeout", "1.5h"), "90min");
        assert_eq!(show("vacuum_cost_delay", "1500us"), "1500us");
        assert_eq!(show("shared_buffers", "16384"), "128MB");
        assert_eq!(show("enable_seqscan", "TRUE"), "on");
        assert_eq!(show("synchronous_commit", "yes"), "on");
        assert_eq!(show("statement_timeout", "0"), "0");
    }

    #[test]
    fn wrong_values_fail_in_postgres_words() {
        assert_eq!(
            error("work_mem", "1"),
            "1 kB is outside the valid range for parameter \"work_mem\" (64 kB .. 2147483647 kB)"
        );
        assert_eq!(error("enable_sort", "x"), "parameter \"enable_sort\" requires a Boolean value");
        let e = find("synchronous_commit").unwrap().parse("foo").unwrap_err();
        assert_eq!(
            e.fields().hint.as_deref(),
            Some("Available values: local, remote_write, remote_apply, on, off.")
        );
    }
}
