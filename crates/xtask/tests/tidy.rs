//! The repository keeps its own rules.

#[test]
fn source_files_are_tidy() {
    let found = xtask::source::violations(&xtask::source::workspace_root());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn crates_use_only_what_they_may() {
    let found = xtask::edges::violations(&xtask::source::workspace_root());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn settings_that_do_nothing_are_listed() {
    let found = xtask::settings::violations(&xtask::source::workspace_root());
    assert!(found.is_empty(), "{}", found.join("\n"));
}
