//! Options of foreign servers that are PostgreSQL servers.

use crate::call::FnDef;
use base::{Oid, Result, bail, err};
use types::array::{ArrayRef, ElemType};
use types::{Datum, oid};

/// `pg_foreign_server`
const SERVER: Oid = Oid(1417);
/// `pg_user_mapping`
const USER_MAPPING: Oid = Oid(1418);

/// The options there are, and what they belong to.
const OPTIONS: &[(&str, Oid)] = &[
    ("authtype", SERVER),
    ("service", SERVER),
    ("user", USER_MAPPING),
    ("password", USER_MAPPING),
    ("connect_timeout", SERVER),
    ("dbname", SERVER),
    ("host", SERVER),
    ("hostaddr", SERVER),
    ("port", SERVER),
    ("tty", SERVER),
    ("options", SERVER),
    ("requiressl", SERVER),
    ("sslmode", SERVER),
    ("gsslib", SERVER),
    ("gssdelegation", SERVER),
];

/// How many letters have to be put in, taken out or changed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, c) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, d) in b.iter().enumerate() {
            let changed = corner + usize::from(c != *d);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

/// The option that was perhaps meant: the first of those that differ least, and not too much.
fn meant<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    const DISTANCE_MAX: usize = 4;
    let most = DISTANCE_MAX.min(given.len() / 2);
    let near = known.iter().map(|k| (distance(given, k), *k)).filter(|(d, _)| *d <= most);
    near.min_by_key(|(d, _)| *d).map(|(_, k)| k)
}

fn check(options: &Datum, catalog: Oid) -> Result<bool> {
    let array = ArrayRef::parse(options.as_bytes())?;
    if array.has_nulls() {
        bail!(NULL_VALUE_NOT_ALLOWED, "null array element not allowed in this context");
    }
    for option in array.iter(&ElemType::builtin(oid::TEXT)) {
        let option = option?;
        let name = option.as_str().split('=').next().unwrap_or_default();
        if OPTIONS.contains(&(name, catalog)) {
            continue;
        }
        let known = OPTIONS.iter().filter(|o| o.1 == catalog).map(|o| o.0);
        let known: Vec<&str> = known.collect();
        let e = err!(SYNTAX_ERROR, "invalid option \"{name}\"");
        return Err(match meant(name, &known) {
            Some(other) => e.hint(format!("Perhaps you meant the option \"{other}\".")),
            None if known.is_empty() => e.hint("There are no valid options in this context."),
            None => e,
        });
    }
    Ok(true)
}

pub(super) const FNS: &[&[FnDef]] = &[&[
    row!(postgresql_fdw_validator(options: &Datum, catalog: u32) { check(options, Oid(catalog)) }),
    raw!(shell_in(cx, _args) {
        Err::<Datum, _>(err!(FEATURE_NOT_SUPPORTED, "cannot accept a value of a shell type"))
    }),
    raw!(shell_out(cx, _args) {
        Err::<Datum, _>(err!(FEATURE_NOT_SUPPORTED, "cannot display a value of a shell type"))
    }),
]];

#[cfg(test)]
mod tests {
    use super::{distance, meant};

    #[test]
    fn what_was_meant() {
        assert_eq!(distance("hosst", "host"), 1);
        assert_eq!(meant("hosst", &["port", "host"]), Some("host"));
        assert_eq!(meant("x", &["port", "host"]), None);
    }
}
