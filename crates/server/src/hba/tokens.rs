//! Words of `pg_hba.conf` and `pg_ident.conf`: quoting, comments, continued lines, included files
//! (`include`, `include_if_exists`, `include_dir`) and lists in files (`@file`).

use base::{Result, err};
use os::Disk;
use std::path::{Path, PathBuf};

/// Deepest nesting of includes.
const DEEPEST: u32 = 10;

/// A word, and whether quotes took its special meaning away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Without its quotes.
    pub text: String,
    /// It was quoted.
    pub quoted: bool,
}

/// A line: fields, each a list of words.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Where it is.
    pub file: PathBuf,
    /// Its number there.
    pub number: usize,
    /// As it was written.
    pub raw: String,
    /// Its fields.
    pub fields: Vec<Vec<Word>>,
    /// Why it cannot be used.
    pub error: Option<String>,
}

fn disk() -> Disk {
    Disk::real_in(std::env::current_dir().unwrap_or_default())
}

/// All lines of a file and those it includes.
pub fn read(path: &Path) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let text = text_of(path).map_err(|reason| {
        err!(CONFIG_FILE_ERROR, "could not open file \"{}\": {reason}", path.display())
    })?;
    collect(path, &text, 0, &mut lines);
    Ok(lines)
}

fn text_of(path: &Path) -> std::result::Result<String, String> {
    match disk().read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(e) => Err(e.reason()),
    }
}

fn collect(path: &Path, text: &str, depth: u32, out: &mut Vec<Line>) {
    for (number, raw) in joined(text) {
        let mut error = None;
        let fields = split(&raw, path, depth, &mut error);
        if fields.is_empty() && error.is_none() {
            continue;
        }
        let word = |i: usize| match fields.get(i).map(Vec::as_slice) {
            Some([one]) => Some(one.text.as_str()),
            _ => None,
        };
        let included = match (word(0), word(1), fields.len()) {
            (Some(kind @ ("include" | "include_if_exists" | "include_dir")), Some(what), 2) => {
                include(kind, &beside(path, what), depth, out)
            }
            _ => None,
        };
        match included {
            Some(Ok(())) => {}
            Some(Err(reason)) => out.push(Line {
                file: path.to_path_buf(),
                number,
                raw,
                fields,
                error: Some(reason),
            }),
            None => out.push(Line { file: path.to_path_buf(), number, raw, fields, error }),
        }
    }
}

fn beside(path: &Path, name: &str) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(name)
}

fn include(
    kind: &str,
    target: &Path,
    depth: u32,
    out: &mut Vec<Line>,
) -> Option<std::result::Result<(), String>> {
    if depth >= DEEPEST {
        let name = target.display();
        return Some(Err(format!(
            "could not open file \"{name}\": maximum nesting depth exceeded"
        )));
    }
    if kind == "include_dir" {
        let Ok(entries) = disk().list(target) else {
            let name = target.display();
            return Some(Err(format!("could not open directory \"{name}\"")));
        };
        let mut names: Vec<String> = entries.into_iter().map(|e| e.name).collect();
        names.sort();
        for name in names.iter().filter(|n| n.ends_with(".conf") && !n.starts_with('.')) {
            let path = target.join(name);
            if let Ok(text) = text_of(&path) {
                collect(&path, &text, depth + 1, out);
            }
        }
        return Some(Ok(()));
    }
    if kind == "include_if_exists" && !disk().exists(target) {
        return Some(Ok(()));
    }
    Some(match text_of(target) {
        Ok(text) => {
            collect(target, &text, depth + 1, out);
            Ok(())
        }
        Err(reason) => Err(format!("could not open file \"{}\": {reason}", target.display())),
    })
}

/// Lines with their numbers; a backslash at the end joins a line with the next.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::new();
    let mut more = false;
    for (i, line) in text.lines().enumerate() {
        let part = line.strip_suffix('\\').unwrap_or(line);
        match out.last_mut() {
            Some(last) if more => last.1.push_str(part),
            _ => out.push((i + 1, part.to_string())),
        }
        more = line.ends_with('\\');
    }
    out
}

/// Fields of a line; each is a list of words.
fn split(line: &str, path: &Path, depth: u32, error: &mut Option<String>) -> Vec<Vec<Word>> {
    let mut fields: Vec<Vec<Word>> = Vec::new();
    let mut chars = line.chars().peekable();
    let mut more = false;
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        match chars.peek() {
            None | Some('#') => return fields,
            Some(',') => {
                chars.next();
                more = true;
                continue;
            }
            _ => {}
        }
        let mut word = Word { text: String::new(), quoted: false };
        let mut inside = false;
        let first_quoted = chars.peek() == Some(&'"');
        while let Some(&c) = chars.peek() {
            if !inside && (c.is_whitespace() || c == ',' || c == '#') {
                break;
            }
            chars.next();
            if c == '"' {
                inside = !inside;
                word.quoted |= first_quoted;
            } else {
                word.text.push(c);
            }
        }
        let words = match word.text.strip_prefix('@') {
            Some(name) if !word.quoted && !name.is_empty() => {
                words_of_file(&beside(path, name), depth + 1, error)
            }
            _ => vec![word],
        };
        match fields.last_mut() {
            Some(last) if more => last.extend(words),
            _ => fields.push(words),
        }
        more = chars.next_if_eq(&',').is_some();
    }
}

/// The words of a list in a file, whatever separates them.
fn words_of_file(path: &Path, depth: u32, error: &mut Option<String>) -> Vec<Word> {
    let name = path.display();
    if depth > DEEPEST {
        *error = Some(format!("could not open file \"{name}\": maximum nesting depth exceeded"));
        return Vec::new();
    }
    match text_of(path) {
        Ok(text) => {
            let lines = joined(&text);
            lines.iter().flat_map(|(_, l)| split(l, path, depth, error)).flatten().collect()
        }
        Err(reason) => {
            *error = Some(format!("could not open file \"{name}\": {reason}"));
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_and_lists() {
        let folder = std::env::temp_dir().join(format!("olifant-hba-{}", os::process::id()));
        let at = |name: &str| folder.join(name);
        std::fs::create_dir_all(at("d")).unwrap();
        let main = "local @users,\"a b\" \\\n  all # c\ninclude other\ninclude_if_exists none\n\
                    include_dir d\ninclude missing\n";
        std::fs::write(at("main"), main).unwrap();
        std::fs::write(at("users"), "ann, bob\n# x\n\"carl\"").unwrap();
        std::fs::write(at("other"), "host x").unwrap();
        std::fs::write(at("d/1.conf"), "one").unwrap();
        std::fs::write(at("d/skip"), "two").unwrap();
        let lines = read(&at("main")).unwrap();
        let shown: Vec<String> = lines
            .iter()
            .map(|l| {
                let field =
                    |f: &Vec<Word>| f.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join("+");
                let fields: Vec<String> = l.fields.iter().map(field).collect();
                format!("{}:{}", l.number, fields.join("|"))
            })
            .collect();
        assert_eq!(
            shown,
            ["1:local|ann+bob+carl+a b|all", "1:host|x", "1:one", "6:include|missing"]
        );
        assert!(lines[3].error.as_ref().is_some_and(|e| e.starts_with("could not open file")));
        assert!(lines[0].fields[1][3].quoted && !lines[0].fields[1][0].quoted);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
