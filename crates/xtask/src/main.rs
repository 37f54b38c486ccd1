//! `cargo xtask tidy`: the repository's rules, one violation a line.

use std::process::ExitCode;

fn main() -> ExitCode {
    let what = std::env::args().nth(1).unwrap_or_default();
    if what != "tidy" {
        eprintln!("usage: cargo xtask tidy");
        return ExitCode::from(2);
    }
    let root = xtask::source::workspace_root();
    let mut found = xtask::source::violations(&root);
    found.extend(xtask::edges::violations(&root));
    found.extend(xtask::settings::violations(&root));
    for v in &found {
        println!("{v}");
    }
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
