//! Configuration files: lines, and `name = value` with includes.

use base::{Result, err};
use engine::settings::FileEntry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Deepest nesting of includes.
const DEEPEST: u32 = 10;

fn disk() -> os::Disk {
    os::Disk::real_in(std::env::current_dir().unwrap_or_default())
}

fn read(path: &Path) -> Result<String> {
    let bytes = disk().read(path).map_err(|e| {
        err!(CONFIG_FILE_ERROR, "could not open configuration file \"{}\": {e}", path.display())
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What the files say, in order; a line that cannot be used has an error.
pub fn read_settings(path: &Path) -> Result<Vec<FileEntry>> {
    let mut out = Vec::new();
    collect(path, 0, &mut out)?;
    Ok(out)
}

fn collect(path: &Path, depth: u32, out: &mut Vec<FileEntry>) -> Result<()> {
    if depth > DEEPEST {
        return Err(err!(
            CONFIG_FILE_ERROR,
            "could not open configuration file \"{}\": maximum nesting depth exceeded",
            path.display()
        ));
    }
    let file: Arc<str> = path.display().to_string().into();
    for (i, line) in read(path)?.lines().enumerate() {
        let mut entry = FileEntry { file: file.clone(), line: i as u32 + 1, ..Default::default() };
        let (name, value) = match setting(line) {
            Ok(None) => continue,
            Ok(Some(pair)) => pair,
            Err(()) => {
                entry.error = Some("syntax error".into());
                entry.near = Some(line.trim().to_string());
                out.push(entry);
                continue;
            }
        };
        let target = || -> PathBuf { path.parent().unwrap_or(Path::new("")).join(&value) };
        match name.as_str() {
            "include" => collect(&target(), depth + 1, out)?,
            "include_if_exists" if !disk().exists(&target()) => {}
            "include_if_exists" => collect(&target(), depth + 1, out)?,
            "include_dir" => {
                let mut names: Vec<String> =
                    disk().list(&target())?.into_iter().map(|e| e.name).collect();
                names.sort();
                for n in names.iter().filter(|n| n.ends_with(".conf") && !n.starts_with('.')) {
                    collect(&target().join(n), depth + 1, out)?;
                }
            }
            _ => {
                (entry.name, entry.value) = (name, value);
                out.push(entry);
            }
        }
    }
    Ok(())
}

/// Name and value of a line; None if it says nothing.
fn setting(line: &str) -> std::result::Result<Option<(String, String)>, ()> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.' || c == '$'))
        .unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if name.is_empty() {
        return Err(());
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let (value, rest) = match rest.strip_prefix('\'') {
        Some(quoted) => quoted_value(quoted).ok_or(())?,
        None => {
            let end = rest.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(rest.len());
            if end == 0 {
                return Err(());
            }
            (rest[..end].to_string(), &rest[end..])
        }
    };
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        Ok(Some((name.to_string(), value)))
    } else {
        Err(())
    }
}

/// A value after its opening quote, and what follows.
fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        match c {
            '\'' => match chars.peek() {
                Some((_, '\'')) => {
                    value.push('\'');
                    chars.next();
                }
                _ => return Some((value, &text[i + 1..])),
            },
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                'b' => value.push('\u{8}'),
                'f' => value.push('\u{c}'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let get = |l: &str| setting(l).unwrap().map(|(n, v)| format!("{n}|{v}"));
        assert_eq!(get("  port = 5432  # c"), Some("port|5432".into()));
        assert_eq!(get("work_mem 4MB"), Some("work_mem|4MB".into()));
        assert_eq!(get("x.y='it''s \\'a\\' # b' # c"), Some("x.y|it's 'a' # b".into()));
        assert_eq!(get("# nothing"), None);
        assert_eq!(get(""), None);
        assert!(setting("a = b c").is_err());
        assert!(setting("a =").is_err());
        assert!(setting("a = 'b").is_err());
    }
}
