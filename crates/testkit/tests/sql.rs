//! The text tests under `tests/`, against a server of their own.

use testkit::{Cluster, files_below, isolation, slt, wire, workspace_root};

#[test]
fn sqllogictest_files() {
    let mut cluster = Cluster::start(&[]).expect("a cluster");
    let mut differences = Vec::new();
    let files = files_below(&workspace_root().join("tests/slt"), "slt");
    assert!(!files.is_empty(), "no files");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let name = file.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_string();
        let mut client = cluster.connect().expect("a connection");
        match slt::run(&mut client, &name, &text) {
            Ok(d) => differences.extend(d),
            Err(e) => differences.push(format!("{name}: {e}")),
        }
    }
    differences.extend(cluster.unexpected_errors());
    cluster.stop().expect("a clean stop");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn conversations() {
    let mut cluster = Cluster::start(&[]).expect("a cluster");
    let mut differences = Vec::new();
    let files = files_below(&workspace_root().join("tests/wire"), "wire");
    assert!(!files.is_empty(), "no files");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let name = file.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_string();
        let made = cluster.connect().and_then(|mut c| c.execute("CREATE DATABASE wire"));
        made.expect("a database");
        match wire::run(cluster.port(), "wire", &name, &text) {
            Ok(d) => differences.extend(d),
            Err(e) => differences.push(format!("{name}: {e}")),
        }
        let dropped = cluster.connect().and_then(|mut c| c.execute("DROP DATABASE wire (FORCE)"));
        dropped.expect("no sessions left");
    }
    differences.extend(cluster.unexpected_errors());
    cluster.stop().expect("a clean stop");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn isolation_specs() {
    let mut cluster = Cluster::start(&[]).expect("a cluster");
    let mut differences = Vec::new();
    let files = files_below(&workspace_root().join("tests/isolation"), "spec");
    assert!(!files.is_empty(), "no files");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let name = file.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_string();
        let spec = isolation::parse(&text);
        match isolation::run(&|| cluster.connect(), &spec) {
            Ok(got) if got.trim() == spec.output.trim() => {}
            Ok(got) => {
                differences.push(format!("{name}\n--- expected\n{}\n--- got\n{got}", spec.output));
            }
            Err(e) => differences.push(format!("{name}: {e}")),
        }
    }
    differences.extend(cluster.unexpected_errors());
    cluster.stop().expect("a clean stop");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}
