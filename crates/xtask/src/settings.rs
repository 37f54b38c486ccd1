//! `docs/settings.md` lists the settings that no code looks at; the list is as long as it has to
//! be and no longer.

use std::collections::BTreeSet;
use std::path::Path;

const LIST: &str = "docs/settings.md";

/// Where values are checked, which is not yet an effect.
const CHECKS: [&str; 2] =
    ["crates/engine/src/settings/check.rs", "crates/engine/src/settings/named.rs"];

/// Settings whose check is all the effect they can have: one value is possible, or several that
/// mean the same.
const CHECKED_ONLY: [&str; 23] = [
    // Pages go past the kernel's cache, which keeps nothing that it could be told to write.
    "backend_flush_after",
    "bgwriter_flush_after",
    "checkpoint_flush_after",
    "debug_io_direct",
    // Hint bits alone never have a page written (`heap/README.md`): there is nothing to log for
    // them, with checksums or without.
    "wal_log_hints",
    // Of services that no build for this system has.
    "bonjour",
    "bonjour_name",
    "event_source",
    // One process shares its memory with itself.
    "dynamic_shared_memory_type",
    "min_dynamic_shared_memory",
    "shared_memory_type",
    // What these are caches of is in memory as a whole.
    "multixact_member_buffers",
    "multixact_offset_buffers",
    "notify_buffers",
    "serializable_buffers",
    "debug_discard_caches",
    "default_table_access_method",
    "default_with_oids",
    "lc_messages",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "ssl_renegotiation_limit",
];

/// Settings that the list should have and has not, or the other way round.
pub fn violations(root: &Path) -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let facts = read("crates/base/data/settings.tsv");
    let mut unread: BTreeSet<String> = BTreeSet::new();
    for line in facts.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        // Presets only tell.
        if fields.get(3) != Some(&"internal") && !CHECKED_ONLY.contains(&fields[0]) {
            unread.insert(fields[0].to_string());
        }
    }
    let mut folders = vec![root.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                let skipped = ["target", "tests", "data"];
                if !path.file_name().is_some_and(|n| skipped.iter().any(|s| n == *s)) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "rs") {
                if CHECKS.iter().any(|file| path.ends_with(file)) {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                unread.retain(|name| !text.contains(&format!("\"{name}\"")));
            }
        }
    }
    let listed: BTreeSet<String> = read(LIST)
        .lines()
        .filter_map(|l| l.strip_prefix("- `")?.split('`').next())
        .map(str::to_string)
        .collect();
    let missing = unread.difference(&listed).map(|n| format!("{LIST}: {n} is not listed"));
    let stale = listed.difference(&unread).map(|n| format!("{LIST}: {n} is honoured by now"));
    missing.chain(stale).collect()
}
