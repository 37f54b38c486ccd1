//! `testkit record PORT FILE...`: writes into .slt, .spec and .wire files what a running server
//! answers. Meant for a real PostgreSQL, so that expected results are its own.
//!
//! `testkit wire PORT FILE...`: holds the conversations of .wire files with a running server.
//!
//! `testkit differ FROM..TO PORT REFERENCE_PORT`: random statements on two servers, see
//! `docs/differ.md`. `testkit differ SEED` prints those of a seed. `testkit differ scripts ...`
//! does the same with scripts of statements of all kinds.
//!
//! `testkit functions PORT REFERENCE_PORT [N [ONLY]]`: every built-in function whose text contains
//! ONLY, over N combinations of edge values, on two servers.

use std::path::Path;
use std::process::ExitCode;
use testkit::{Client, differ, functions, isolation, slt, wire};

fn record(port: u16, file: &str) -> base::Result<()> {
    let text = std::fs::read_to_string(file).map_err(|e| base::Error::internal(e.to_string()))?;
    let connect = || Client::connect(port, "postgres", "slt");
    let mut control = Client::connect(port, "postgres", "postgres")?;
    control.query("DROP DATABASE IF EXISTS slt")?;
    control.execute("CREATE DATABASE slt TEMPLATE template0")?;
    let new = if Path::new(file).extension().is_some_and(|x| x == "wire") {
        wire::record(port, "slt", &text)?
    } else if Path::new(file).extension().is_some_and(|x| x == "spec") {
        let spec = isolation::parse(&text);
        isolation::with_output(&text, &isolation::run(&connect, &spec)?)
    } else {
        slt::record(&mut connect()?, &text)?
    };
    std::fs::write(file, new).map_err(|e| base::Error::internal(e.to_string()))
}

/// Compares two servers; fails if something differs.
fn differ(args: &[String]) -> Option<ExitCode> {
    if let [seed] = args {
        print!("{}", differ::script(seed.parse().ok()?));
        return Some(ExitCode::SUCCESS);
    }
    let (scripts, args) = match args {
        [first, rest @ ..] if first == "scripts" => (true, rest),
        all => (false, all),
    };
    if let ([seed], true) = (args, scripts) {
        differ::script::statements(seed.parse().ok()?).iter().for_each(|s| println!("{s};"));
        return Some(ExitCode::SUCCESS);
    }
    let [seeds, ours, reference] = args else { return None };
    let (from, to) = seeds.split_once("..")?;
    let seeds = from.parse().ok()?..to.parse().ok()?;
    let servers = differ::Servers { ours: ours.parse().ok()?, reference: reference.parse().ok()? };
    let show = &mut |difference: &str| println!("{difference}");
    let found = match scripts {
        true => differ::script::run(seeds, servers, show),
        false => differ::run(seeds, servers, show),
    };
    match found {
        Ok(0) => Some(ExitCode::SUCCESS),
        Ok(n) => {
            println!("-- {n} differences");
            Some(ExitCode::FAILURE)
        }
        Err(e) => {
            eprintln!("{e}");
            Some(ExitCode::FAILURE)
        }
    }
}

/// Compares the functions of two servers; fails if it cannot.
fn compare_functions(args: &[String]) -> Option<ExitCode> {
    let (ours, reference) = (args.first()?.parse().ok()?, args.get(1)?.parse().ok()?);
    let options = functions::Options {
        combinations: args.get(2).map_or(Some(300), |n| n.parse().ok())?,
        only: args.get(3).cloned().unwrap_or_default(),
    };
    let ports = [reference, ours];
    match functions::compare(ports, &options, &mut |difference| println!("{difference}")) {
        Ok(r) => {
            println!("{} calls, {} values, {} calls differ", r.calls, r.values, r.different);
            Some(ExitCode::SUCCESS)
        }
        Err(e) => {
            eprintln!("{e}");
            Some(ExitCode::FAILURE)
        }
    }
}

/// Holds the conversations of files with a server; fails if it answers otherwise.
fn compare_wire(args: &[String]) -> Option<ExitCode> {
    let port = args.first()?.parse().ok()?;
    let mut wrong = 0;
    for file in &args[1..] {
        let text = std::fs::read_to_string(file).ok()?;
        let fresh = || -> base::Result<()> {
            let mut control = Client::connect(port, "postgres", "postgres")?;
            control.query("DROP DATABASE IF EXISTS slt")?;
            control.execute("CREATE DATABASE slt TEMPLATE template0").map(|_| ())
        };
        match fresh().and_then(|()| wire::run(port, "slt", file, &text)) {
            Ok(differences) => {
                wrong += differences.len();
                differences.iter().for_each(|d| println!("{d}\n"));
            }
            Err(e) => {
                wrong += 1;
                println!("{file}: {e}");
            }
        }
    }
    Some(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn usage() -> ExitCode {
    eprintln!("usage: testkit record PORT FILE...");
    eprintln!("       testkit wire PORT FILE...");
    eprintln!("       testkit differ FROM..TO PORT REFERENCE_PORT");
    eprintln!("       testkit differ SEED");
    eprintln!("       testkit functions PORT REFERENCE_PORT [N [ONLY]]");
    ExitCode::from(2)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == "differ") {
        return differ(&args[1..]).unwrap_or_else(usage);
    }
    if args.first().is_some_and(|a| a == "wire") {
        return compare_wire(&args[1..]).unwrap_or_else(usage);
    }
    if args.first().is_some_and(|a| a == "functions") {
        return compare_functions(&args[1..]).unwrap_or_else(usage);
    }
    let (Some("record"), Some(port)) =
        (args.first().map(String::as_str), args.get(1).and_then(|p| p.parse().ok()))
    else {
        return usage();
    };
    for file in &args[2..] {
        if let Err(e) = record(port, file) {
            eprintln!("{file}: {e}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
