//! `crates/functions/UNIMPLEMENTED` lists each built-in function that a user can call and that has
//! no body yet, with the reason; this test keeps the list true. `UPDATE=1` writes it anew.

use base::Oid;
use functions::builtin::{ProcRow, procs, type_};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const INTERNAL: Oid = Oid(2281);

/// Types that only the system's own code can give or take.
fn is_internal(ty: Oid) -> bool {
    let Some(t) = type_(ty) else { return false };
    ty == INTERNAL
        || t.typname.ends_with("_handler")
        || matches!(t.typname, "trigger" | "event_trigger")
}

fn sources(dir: &Path, out: &mut String) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push_str(&std::fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

/// What the session and the executor name in their own code: symbols and OIDs.
fn words(root: &Path) -> HashSet<String> {
    let mut text = String::new();
    for part in ["crates/engine/src", "crates/executor/src", "crates/analyze/src"] {
        sources(&root.join(part), &mut text);
    }
    let mut out = HashSet::new();
    // Ranges of OIDs: `1922..=1927`.
    for (before, after) in text.split("..=").zip(text.split("..=").skip(1)) {
        let number = |digits: &str| digits.parse::<u32>().ok().filter(|n| *n > 200);
        let first = before.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(number);
        let last = after.split(|c: char| !c.is_ascii_digit()).next().and_then(number);
        if let (Some(first), Some(last)) = (first, last)
            && last.saturating_sub(first) < 400
        {
            out.extend((first..=last).map(|n| n.to_string()));
        }
    }
    let pieces = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    out.extend(pieces.filter(|w| !w.is_empty()).map(str::to_string));
    out
}

/// Families of which the session's code takes names apart.
fn is_of_family(name: &str) -> bool {
    name.starts_with("pg_stat_")
        || (name.starts_with("has_") && name.ends_with("_privilege"))
        || name.ends_with("_is_visible")
        || name.starts_with("binary_upgrade_")
        || matches!(name, "loread" | "lowrite")
        // Their rows come with the information schema.
        || name.starts_with("_pg_")
}

fn is_done(row: &ProcRow, named: &HashSet<String>) -> bool {
    functions::lookup(row.oid).is_some_and(|e| e.has_body)
        || functions::has_set_body(row.oid)
        || functions::aggregate(row.oid).is_some()
        || (!row.prosrc.is_empty() && named.contains(row.prosrc))
        || (row.proname.contains('_') && named.contains(row.proname))
        || is_of_family(row.proname)
        || row.prosrc.starts_with("window_")
        || named.contains(&row.oid.to_string())
}

/// Which part the function waits for.
fn reason(row: &ProcRow) -> &'static str {
    let name = row.proname;
    let has = |words: &[&str]| words.iter().any(|w| name.contains(w));
    if has(&["xml", "xpath"]) {
        "XML"
    } else if has(&[
        "replication",
        "wal",
        "summaries",
        "logical",
        "slot",
        "standby",
        "subscription",
        "publication",
    ]) {
        "replication"
    } else if has(&["backup", "promote", "recovery"]) {
        "backup and recovery"
    } else if name.starts_with("binary_upgrade") {
        "pg_upgrade"
    } else if has(&["brin", "gin_", "gist", "spg", "hash"]) {
        "index access methods"
    } else if name.starts_with("ts_")
        || name.starts_with("dsnowball")
        || has(&["tsquery", "tsvector"])
    {
        "text search dictionaries"
    } else if name.starts_with("pg_stat") || has(&["statistics", "stats"]) {
        "statistics"
    } else if has(&["snapshot", "txid", "xact", "xid"]) {
        "transaction snapshots as values"
    } else if has(&["_accum", "_sum", "_combine", "float8_", "_avg"]) {
        "steps of aggregates, which are done as a whole here"
    } else if has(&["foreign", "fdw", "server"]) {
        "foreign data"
    } else {
        "not done yet"
    }
}

#[test]
fn the_list_of_what_is_missing_is_true() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = words(&root);
    let mut lines: Vec<String> = Vec::new();
    for row in procs() {
        let system = row.proargtypes.iter().any(|t| is_internal(*t)) || is_internal(row.prorettype);
        if system || is_done(row, &named) {
            continue;
        }
        let args: Vec<&str> =
            row.proargtypes.iter().map(|t| type_(*t).map_or("?", |t| t.typname)).collect();
        lines.push(format!("{} {}({}): {}", row.oid, row.proname, args.join(", "), reason(row)));
    }
    let text = lines.join("\n") + "\n";
    let file = root.join("crates/functions/UNIMPLEMENTED");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &text).expect("the list can be written");
    }
    let listed = std::fs::read_to_string(&file).unwrap_or_default();
    let (listed, found): (HashSet<&str>, HashSet<&str>) =
        (listed.lines().collect(), text.lines().collect());
    let missing: Vec<_> = found.difference(&listed).collect();
    let done: Vec<_> = listed.difference(&found).collect();
    assert!(missing.is_empty(), "without a body and not listed: {missing:?}");
    assert!(done.is_empty(), "listed, but there is a body: {done:?}");
}
