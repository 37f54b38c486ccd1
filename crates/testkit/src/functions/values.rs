//! Edge values, and which of their combinations are tried.

use crate::workspace_root;
use base::{Error, Result, err};
use std::collections::BTreeMap;

/// Edge values by the name of their type.
pub struct Values {
    pub by_type: BTreeMap<String, Vec<String>>,
    /// Texts that are bad for most types and odd for some.
    pub bad: Vec<String>,
}

/// A combination of arguments: the place of each value in its type's list, from 1; 0 is a null.
pub type Combination = Vec<usize>;

pub(super) fn data(name: &str) -> Result<String> {
    let path = workspace_root().join("crates/testkit/data").join(name);
    std::fs::read_to_string(&path).map_err(|e| Error::internal(format!("{}: {e}", path.display())))
}

/// A line's value: Rust's escapes, or a text that is repeated.
fn unescape(line: &str) -> Result<String> {
    if let Some(rest) = line.strip_prefix("@repeat ") {
        let (n, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let n = n.parse().map_err(|_| err!(INTERNAL_ERROR, "bad repetition: {line}"))?;
        return Ok(text.repeat(n));
    }
    let mut out = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('u') => {
                let hex: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                u32::from_str_radix(&hex, 16)
                    .ok()
                    .and_then(char::from_u32)
                    .ok_or_else(|| err!(INTERNAL_ERROR, "bad escape: {line}"))?
            }
            Some(other) => other,
            None => '\\',
        });
    }
    Ok(out)
}

impl Values {
    /// Reads the list.
    pub fn load() -> Result<Values> {
        Values::parse(&data("edge_values.txt")?)
    }

    fn parse(text: &str) -> Result<Values> {
        let mut by_type: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut section = String::new();
        for line in text.lines().filter(|l| !l.starts_with("# ")) {
            let head = line.strip_prefix('[').and_then(|l| l.strip_suffix(']'));
            match head
                .filter(|h| h.starts_with(|c: char| c.is_ascii_lowercase() || c == '_' || c == '"'))
            {
                Some(head) => {
                    let (name, base) = head.split_once(' ').unwrap_or((head, ""));
                    section = name.trim_matches('"').to_string();
                    let list = by_type.get(base).cloned().unwrap_or_default();
                    by_type.insert(section.clone(), list);
                }
                None => {
                    let list = by_type.entry(section.clone()).or_default();
                    list.push(unescape(line)?);
                }
            }
        }
        let bad = by_type.remove("bad").unwrap_or_default();
        by_type.retain(|_, list| !list.is_empty());
        Ok(Values { by_type, bad })
    }

    /// All texts of the list once, for input functions.
    pub fn texts(&self) -> Vec<String> {
        let mut out = self.bad.clone();
        out.extend(self.by_type.values().flatten().cloned());
        out.sort();
        out.dedup();
        out
    }

    /// At most about `limit` combinations for arguments of these types: all of them, or those
    /// with every so-manieth number in a fixed walk through all.
    pub fn combinations(&self, arguments: &[String], limit: usize) -> Vec<Combination> {
        let sizes: Vec<usize> =
            arguments.iter().map(|a| self.by_type.get(a).map_or(0, Vec::len) + 1).collect();
        let all: usize = sizes.iter().fold(1, |n, s| n.saturating_mul(*s));
        let nth = |mut n: usize| -> Combination {
            sizes
                .iter()
                .map(|s| {
                    let i = n % s;
                    n /= s;
                    i
                })
                .collect()
        };
        if all <= limit {
            return (0..all).map(nth).collect();
        }
        // A stride that has no factor in common with the sizes meets every value of each.
        let mut stride = (all / limit).max(1) | 1;
        while sizes.iter().any(|s| common_factor(stride, *s) > 1) {
            stride += 2;
        }
        (0..limit).map(|i| nth(i.wrapping_mul(stride) % all)).collect()
    }
}

fn common_factor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_factor(b, a % b) }
}

fn table_name(type_name: &str) -> String {
    format!("\"edge_{type_name}\"")
}

/// The statement that makes a type's table, with a null as its value 0.
pub fn table(type_name: &str) -> String {
    let t = table_name(type_name);
    let column = match type_name {
        "cstring" => "text".to_string(),
        "_cstring" => "text[]".to_string(),
        name => quoted_type(name),
    };
    format!("CREATE TABLE {t} (i int4, v {column}); INSERT INTO {t} VALUES (0, NULL)")
}

/// A column of a type's table as a value of the type: there are no columns of pseudo-types.
pub fn column(type_name: &str, alias: &str) -> String {
    match type_name {
        "cstring" | "_cstring" => format!("({alias}.v::{})", quoted_type(type_name)),
        _ => format!("{alias}.v"),
    }
}

/// The statement that puts a value into its type's table.
pub fn insert(type_name: &str, i: usize, value: &str) -> String {
    format!("INSERT INTO {} VALUES ({i}, '{}')", table_name(type_name), value.replace('\'', "''"))
}

/// The name of a type without any of the grammar's meanings.
pub fn quoted_type(type_name: &str) -> String {
    match type_name.strip_prefix('_') {
        // A column of type bit has a length of its own, an array's element has not.
        Some(element) => format!("pg_catalog.\"{element}\"[]"),
        None => format!("pg_catalog.\"{type_name}\""),
    }
}

/// A value as a constant of its type.
pub fn constant(type_name: &str, value: &str) -> String {
    format!("'{}'::{}", value.replace('\'', "''"), quoted_type(type_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_combined() {
        let v = Values::parse("[a]\n1\n\\n\n[b a]\n@repeat 3 x\n[bad]\n?\n").unwrap();
        assert_eq!(v.by_type["b"], ["1", "\n", "xxx"]);
        assert_eq!(v.bad, ["?"]);
        assert_eq!(v.combinations(&["a".into(), "b".into()], 100).len(), 12);
        let few = v.combinations(&["a".into(), "b".into()], 4);
        assert_eq!(few.len(), 4);
        let mut distinct = few.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 4);
    }
}
