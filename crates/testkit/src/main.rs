//! `testkit record PORT FILE...`: writes into .slt and .spec files what a running server answers.
//! Meant for a real PostgreSQL, so that expected results are its own.

use std::path::Path;
use std::process::ExitCode;
use testkit::{Client, isolation, slt};

fn record(port: u16, file: &str) -> base::Result<()> {
    let text = std::fs::read_to_string(file).map_err(|e| base::Error::internal(e.to_string()))?;
    let connect = || Client::connect(port, "postgres", "slt");
    let mut control = Client::connect(port, "postgres", "postgres")?;
    control.query("DROP DATABASE IF EXISTS slt")?;
    control.execute("CREATE DATABASE slt TEMPLATE template0")?;
    let new = if Path::new(file).extension().is_some_and(|x| x == "spec") {
        let spec = isolation::parse(&text);
        isolation::with_output(&text, &isolation::run(&connect, &spec)?)
    } else {
        slt::record(&mut connect()?, &text)?
    };
    std::fs::write(file, new).map_err(|e| base::Error::internal(e.to_string()))
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some("record"), Some(port)) =
        (args.first().map(String::as_str), args.get(1).and_then(|p| p.parse().ok()))
    else {
        eprintln!("usage: testkit record PORT FILE...");
        return ExitCode::from(2);
    };
    for file in &args[2..] {
        if let Err(e) = record(port, file) {
            eprintln!("{file}: {e}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
