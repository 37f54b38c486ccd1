//! Storage options of relations: `WITH (name = value)`, and SET and RESET of them.

use super::table::{bool_text, def_text};
use base::{Error, Result, bail, err};
use parser::ast::DefElem;

/// What a list of options is given to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// A table or a materialized view.
    Table,
    /// The table of another one's long values.
    Toast,
    /// An index.
    Index,
}

/// The values that an option takes.
#[derive(Clone, Copy)]
enum Takes {
    Bool,
    Integer(i64, i64),
    Real(f64, f64),
    /// A truth value, or AUTO.
    Auto,
}

const TABLE: u8 = 1;
const TOAST: u8 = 2;
const INDEX: u8 = 4;
const ALL: u8 = TABLE | TOAST;

/// Options, what has them, and what they take.
const OPTIONS: &[(&str, u8, Takes)] = &[
    ("fillfactor", TABLE | INDEX, Takes::Integer(10, 100)),
    ("toast_tuple_target", TABLE, Takes::Integer(128, 8160)),
    ("parallel_workers", TABLE, Takes::Integer(0, 1024)),
    ("autovacuum_enabled", ALL, Takes::Bool),
    ("vacuum_index_cleanup", ALL, Takes::Auto),
    ("vacuum_truncate", ALL, Takes::Bool),
    ("vacuum_max_eager_freeze_failure_rate", ALL, Takes::Real(0.0, 1.0)),
    ("autovacuum_vacuum_threshold", ALL, Takes::Integer(0, i32::MAX as i64)),
    ("autovacuum_vacuum_max_threshold", ALL, Takes::Integer(-1, i32::MAX as i64)),
    ("autovacuum_vacuum_insert_threshold", ALL, Takes::Integer(-1, i32::MAX as i64)),
    ("autovacuum_analyze_threshold", TABLE, Takes::Integer(0, i32::MAX as i64)),
    ("autovacuum_vacuum_scale_factor", ALL, Takes::Real(0.0, 100.0)),
    ("autovacuum_vacuum_insert_scale_factor", ALL, Takes::Real(0.0, 100.0)),
    ("autovacuum_analyze_scale_factor", TABLE, Takes::Real(0.0, 100.0)),
    ("autovacuum_vacuum_cost_delay", ALL, Takes::Real(-1.0, 100.0)),
    ("autovacuum_vacuum_cost_limit", ALL, Takes::Integer(1, 10000)),
    ("autovacuum_freeze_min_age", ALL, Takes::Integer(0, 1_000_000_000)),
    ("autovacuum_freeze_max_age", ALL, Takes::Integer(100_000, 2_000_000_000)),
    ("autovacuum_freeze_table_age", ALL, Takes::Integer(0, 2_000_000_000)),
    ("autovacuum_multixact_freeze_min_age", ALL, Takes::Integer(0, 1_000_000_000)),
    ("autovacuum_multixact_freeze_max_age", ALL, Takes::Integer(10_000, 2_000_000_000)),
    ("autovacuum_multixact_freeze_table_age", ALL, Takes::Integer(0, 2_000_000_000)),
    ("log_autovacuum_min_duration", ALL, Takes::Integer(-1, i32::MAX as i64)),
    ("user_catalog_table", TABLE, Takes::Bool),
    ("deduplicate_items", INDEX, Takes::Bool),
];

/// Options as `name=value`; those of a namespace are left out, but it must be one that there is.
pub fn read(options: &[DefElem], holder: Holder) -> Result<Vec<String>> {
    check_namespaces(options, holder)?;
    let own: Vec<&DefElem> = options.iter().filter(|o| o.namespace.is_none()).collect();
    read_each(&own, holder)
}

/// The options that are for a table's TOAST table, as `name=value`.
pub fn of_toast(options: &[DefElem]) -> Result<Vec<String>> {
    let own: Vec<&DefElem> = options.iter().filter(|o| o.namespace.is_some()).collect();
    read_each(&own, Holder::Toast)
}

/// A partitioned table has no options of its own.
pub fn of_partitioned(options: &[DefElem]) -> Result<Vec<String>> {
    check_namespaces(options, Holder::Table)?;
    match options.iter().any(|o| o.namespace.is_none()) {
        true => Err(err!(
            WRONG_OBJECT_TYPE,
            "cannot specify storage parameters for a partitioned table"
        )
        .hint("Specify storage parameters for its leaf partitions instead.")),
        false => Ok(Vec::new()),
    }
}

/// RESET takes names alone.
pub fn refuse_values(options: &[DefElem]) -> Result<()> {
    match options.iter().any(|o| o.value.is_some()) {
        true => Err(err!(SYNTAX_ERROR, "RESET must not include values for parameters")),
        false => Ok(()),
    }
}

/// Only a table knows a namespace, for the table of its long values.
pub fn check_namespaces(options: &[DefElem], holder: Holder) -> Result<()> {
    for namespace in options.iter().filter_map(|o| o.namespace.as_deref()) {
        if holder != Holder::Table || namespace != "toast" {
            bail!(INVALID_PARAMETER_VALUE, "unrecognized parameter namespace \"{namespace}\"");
        }
    }
    Ok(())
}

fn read_each(options: &[&DefElem], holder: Holder) -> Result<Vec<String>> {
    let bit = match holder {
        Holder::Table => TABLE,
        Holder::Toast => TOAST,
        Holder::Index => INDEX,
    };
    let mut all: Vec<String> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for option in options {
        let value = def_text(option).unwrap_or_else(|| "true".to_string());
        let name = option.name.as_str();
        if name == "oids" && holder == Holder::Table {
            if bool_text(&value) == Some(false) {
                continue;
            }
            bail!(FEATURE_NOT_SUPPORTED, "tables declared WITH OIDS are not supported");
        }
        let known = OPTIONS.iter().find(|(n, of, _)| *n == name && of & bit != 0);
        let Some((_, _, takes)) = known else {
            bail!(INVALID_PARAMETER_VALUE, "unrecognized parameter \"{name}\"");
        };
        if names.contains(&name) {
            bail!(INVALID_PARAMETER_VALUE, "parameter \"{name}\" specified more than once");
        }
        check_value(name, &value, *takes)?;
        names.push(name);
        all.push(format!("{name}={value}"));
    }
    Ok(all)
}

fn check_value(name: &str, value: &str, takes: Takes) -> Result<()> {
    let wrong = |kind: &str| {
        err!(INVALID_PARAMETER_VALUE, "invalid value for {kind} option \"{name}\": {value}")
    };
    let bounds = |low: String, high: String| -> Error {
        err!(INVALID_PARAMETER_VALUE, "value {value} out of bounds for option \"{name}\"")
            .detail(format!("Valid values are between \"{low}\" and \"{high}\"."))
    };
    let number = || value.trim().parse::<f64>().ok().filter(|n| !n.is_nan());
    match takes {
        Takes::Bool => match bool_text(value) {
            Some(_) => Ok(()),
            None => Err(wrong("boolean")),
        },
        Takes::Auto => match bool_text(value).is_some() || value.eq_ignore_ascii_case("auto") {
            true => Ok(()),
            false => Err(wrong("enum").detail("Valid values are \"on\", \"off\", and \"auto\".")),
        },
        Takes::Integer(low, high) => {
            let whole = number()
                .map(f64::round_ties_even)
                .filter(|n| (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(n));
            match whole {
                None => Err(wrong("integer")),
                Some(n) if n < low as f64 || n > high as f64 => {
                    Err(bounds(low.to_string(), high.to_string()))
                }
                Some(_) => Ok(()),
            }
        }
        Takes::Real(low, high) => match number() {
            None => Err(wrong("floating point")),
            Some(n) if n < low || n > high => {
                Err(bounds(format!("{low:.6}"), format!("{high:.6}")))
            }
            Some(_) => Ok(()),
        },
    }
}
