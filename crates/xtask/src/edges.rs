//! Which crate may use which.

use std::path::Path;
use std::process::Command;

/// Each crate, and what it may use besides those: the layers of ARCHITECTURE.md.
const ALLOWED: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("os", &["base"]),
    ("types", &["base"]),
    ("parser", &["base"]),
    ("pgwire", &["base"]),
    ("functions", &["base", "types"]),
    ("ir", &["base", "types", "parser"]),
    ("wal", &["base", "os"]),
    ("buffer", &["base", "os", "wal"]),
    ("txn", &["base", "os", "wal", "buffer"]),
    ("access", &["base", "os", "types", "wal", "buffer", "txn"]),
    ("catalog", &["base", "os", "types", "functions", "ir", "txn", "access", "buffer", "wal"]),
    ("analyze", &["base", "types", "parser", "functions", "ir", "catalog"]),
    ("planner", &["base", "types", "functions", "ir", "catalog"]),
    (
        "executor",
        &["base", "os", "types", "functions", "ir", "catalog", "txn", "access", "buffer", "wal"],
    ),
    (
        "engine",
        &[
            "base",
            "os",
            "types",
            "parser",
            "functions",
            "ir",
            "wal",
            "buffer",
            "txn",
            "access",
            "catalog",
            "analyze",
            "planner",
            "executor",
        ],
    ),
    ("server", &["base", "os", "types", "pgwire", "wal", "engine", "tools"]),
    ("tools", &["base", "os", "types", "parser", "pgwire", "engine", "wal"]),
];

/// Crates for development only, which may use anything.
const DEVELOPMENT: &[&str] = &["xtask", "testkit", "bench"];

/// The edges between the workspace's crates that must not be there.
pub fn violations(root: &Path) -> Vec<String> {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output();
    let Ok(out) = out else { return vec!["cargo metadata does not run".into()] };
    let Ok(json) = serde_json::from_slice::<serde_json::Value>(&out.stdout) else {
        return vec!["cargo metadata gives no JSON".into()];
    };
    let packages = json["packages"].as_array().cloned().unwrap_or_default();
    let names: Vec<String> =
        packages.iter().filter_map(|p| p["name"].as_str().map(str::to_string)).collect();
    let mut found = Vec::new();
    for p in &packages {
        let name = p["name"].as_str().unwrap_or_default();
        if DEVELOPMENT.contains(&name) {
            continue;
        }
        let Some((_, allowed)) = ALLOWED.iter().find(|(n, _)| *n == name) else {
            found.push(format!("crate {name} is not in the list of layers"));
            continue;
        };
        for d in p["dependencies"].as_array().into_iter().flatten() {
            let on = d["name"].as_str().unwrap_or_default();
            let normal = d["kind"].is_null();
            if normal && names.iter().any(|n| n == on) && !allowed.contains(&on) {
                found.push(format!("crate {name} must not use {on}"));
            }
        }
    }
    found
}
