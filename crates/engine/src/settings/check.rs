//! Settings whose values have a grammar of their own.

use base::settings::{SettingDef, SettingValue};
use base::{Error, Result, err};
use std::sync::Arc;

fn invalid(def: &SettingDef, text: &str) -> Error {
    err!(INVALID_PARAMETER_VALUE, "invalid value for parameter \"{}\": \"{text}\"", def.name)
}

/// Reads a value of a setting and gives it in its canonical form.
pub fn canonical(def: &SettingDef, text: &str) -> Result<SettingValue> {
    let as_text = |t: String| Ok(SettingValue::Text(Arc::from(t)));
    match def.name {
        "DateStyle" => as_text(date_style(def, text)?),
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
            let mut name: String = text.bytes().map(clean).collect();
            name.truncate(63);
            as_text(name)
        }
        _ => def.parse(text),
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

/// `ISO, MDY` and its relatives: one word for the style, one for the order of fields.
fn date_style(def: &SettingDef, text: &str) -> Result<String> {
    let (mut style, mut order) = ("ISO", "MDY");
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

/// Encodings clients may use: UTF8 and what is a subset of it or made of bytes only.
fn encoding(def: &SettingDef, text: &str) -> Result<String> {
    let plain: String =
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    match plain.as_str() {
        "utf8" | "unicode" => Ok("UTF8".to_string()),
        "sqlascii" => Ok("SQL_ASCII".to_string()),
        "latin1" | "iso88591" => Ok("LATIN1".to_string()),
        _ => Err(invalid(def, text)),
    }
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
    }
}
