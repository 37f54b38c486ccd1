//! How source files must look.

use std::fs;
use std::path::{Path, PathBuf};

/// Most lines of a file.
const FILE_LINES_MAX: usize = 1000;
/// Most lines of a function.
const FUNCTION_LINES_MAX: usize = 100;
/// Most columns of a line.
const COLUMNS_MAX: usize = 100;
/// Names that say nothing.
const MODULE_NAMES_BANNED: &[&str] = &["utils", "util", "helpers", "helper", "misc", "common"];
/// Doors to the operating system, and the crates that may use each.
const DOORS: &[(&str, &[&str])] = &[
    ("std::fs", &["os", "xtask", "testkit", "bench", "server", "tools"]),
    ("std::thread", &["os", "xtask", "testkit", "bench", "server", "tools"]),
    ("TcpStream", &["server", "tools", "testkit", "bench", "xtask"]),
    ("TcpListener", &["server", "tools", "testkit", "bench", "xtask"]),
    ("std::time::Instant", &["os", "xtask", "testkit", "bench", "server", "tools"]),
    ("std::time::SystemTime", &["os", "xtask", "testkit", "bench", "server", "tools"]),
];
/// Crates that may hold `unsafe`.
const UNSAFE_CRATES: &[&str] =
    &["os", "types", "buffer", "txn", "access", "server", "wal", "tools", "bench", "testkit"];

/// The folder of the workspace.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().and_then(Path::parent).unwrap_or(here).to_path_buf()
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for e in entries.flatten() {
        let path = e.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|n| n != "target") {
                files(&path, out);
            }
        } else if path.extension().is_some_and(|x| x == "rs") {
            out.push(path);
        }
    }
}

/// Everything in the workspace's Rust files that breaks a rule, sorted.
pub fn violations(root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    files(&root.join("crates"), &mut all);
    let mut found = Vec::new();
    for path in all {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        if MODULE_NAMES_BANNED.contains(&stem) {
            found.push(format!("{name}: the name says nothing"));
        }
        let generated = stem == "generated" || text.starts_with("// Generated");
        if !generated {
            check_lengths(&name, &text, &mut found);
        }
        if !name.ends_with("xtask/src/source.rs") {
            check_doors(&name, &text, &mut found);
        }
    }
    found.sort();
    found
}

fn check_lengths(name: &str, text: &str, found: &mut Vec<String>) {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() > FILE_LINES_MAX {
        found.push(format!("{name}: {} lines", lines.len()));
    }
    for (i, l) in lines.iter().enumerate() {
        let columns = l.chars().count();
        // A string that cannot be broken may be longer.
        if columns > COLUMNS_MAX && !l.contains('"') && !l.contains("http") {
            found.push(format!("{name}:{}: {columns} columns", i + 1));
        }
    }
    let mut start: Option<(usize, usize)> = None;
    for (i, l) in lines.iter().enumerate() {
        let indent = l.len() - l.trim_start().len();
        let t = l.trim_start();
        let is_fn =
            ["fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn ", "unsafe fn ", "pub unsafe fn "]
                .iter()
                .any(|p| t.starts_with(p));
        if is_fn && start.is_none() {
            start = Some((i, indent));
        }
        if let Some((from, at)) = start
            && indent == at
            && (t == "}" || (i == from && t.ends_with('}')) || t.ends_with(';') && i == from)
        {
            let length = i + 1 - from;
            if length > FUNCTION_LINES_MAX {
                found.push(format!("{name}:{}: function of {length} lines", from + 1));
            }
            start = None;
        }
    }
}

fn check_doors(name: &str, text: &str, found: &mut Vec<String>) {
    let of = name.strip_prefix("crates/").and_then(|n| n.split('/').next()).unwrap_or_default();
    let body = match text.find("#[cfg(test)]") {
        Some(i) if !name.contains("/tests/") => &text[..i],
        _ => text,
    };
    if !name.contains("/tests/") {
        for (door, may) in DOORS {
            if !may.contains(&of) && body.contains(door) {
                found.push(format!("{name}: uses {door}; only {} may", may.join(", ")));
            }
        }
    }
    let uses_unsafe = body.lines().any(|l| {
        let t = l.trim_start();
        !t.starts_with("//") && (t.contains("unsafe {") || t.contains("unsafe impl"))
    });
    if uses_unsafe && !UNSAFE_CRATES.contains(&of) {
        found.push(format!("{name}: unsafe outside the crates that may hold it"));
    }
}
