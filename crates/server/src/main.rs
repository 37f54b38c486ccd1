//! Olifant: the server and the programs around it, in one binary called by many names.
//!
//! Entry point: `main` looks at the name it was called by, then at its first argument, and runs
//! that
//! program. The server: [`postmaster`] (its life), [`reactor`] (who runs when), [`conn`] (a
//! connection), [`backend`] (what it needs of the engine).
//! It must never know how statements are executed.

mod backend;
mod ciphers;
mod clients;
mod config;
mod conn;
mod database;
mod hba;
mod initdb;
mod ldap;
mod listen;
mod log;
mod offline;
mod passphrase;
mod pidfile;
mod postmaster;
mod reactor;
mod shared;
#[cfg(test)]
mod tests;
mod tls;

use std::path::Path;

/// Statements allocate much, on threads that come and go between sessions.
#[global_allocator]
static ALLOCATOR: os::memory::Allocator = os::memory::Allocator;

const PROGRAMS: &str = "postgres, initdb, pg_ctl, pg_isready, pg_controldata, createdb, dropdb, \
                        createuser, dropuser, vacuumdb, reindexdb, clusterdb, oid2name, \
                        pg_config, pg_test_fsync, pg_test_timing, pg_checksums, pg_resetwal, \
                        pg_waldump";

/// Runs the program of this name; None if there is none.
fn run(name: &str, args: &[String]) -> Option<i32> {
    if !matches!(name, "postgres" | "postmaster") {
        os::process::end_on_broken_pipes();
    }
    Some(match name {
        "postgres" | "postmaster" => postgres(args),
        "initdb" => initdb::main(args),
        "pg_ctl" => tools::pg_ctl::main(args),
        "pg_isready" => tools::pg_isready::main(args),
        "pg_controldata" => tools::pg_controldata::main(args),
        "createdb" => tools::scripts::database::createdb(args),
        "dropdb" => tools::scripts::database::dropdb(args),
        "createuser" => tools::scripts::createuser::main(args),
        "dropuser" => tools::scripts::dropuser::main(args),
        "vacuumdb" => tools::scripts::vacuumdb::main(args),
        "reindexdb" => tools::scripts::reindexdb::main(args),
        "clusterdb" => tools::scripts::clusterdb::main(args),
        "oid2name" => tools::oid2name::main(args),
        "pg_checksums" => offline::pg_checksums::main(args),
        "pg_resetwal" => tools::pg_resetwal::main(args),
        "pg_waldump" => offline::pg_waldump::main(args),
        "pg_config" => tools::pg_config::main(args),
        "pg_test_fsync" => tools::pg_test_fsync::main(args),
        "pg_test_timing" => tools::pg_test_timing::main(args),
        _ => return None,
    })
}

fn postgres(args: &[String]) -> i32 {
    match args.first().map(String::as_str) {
        Some("--version" | "-V") => {
            println!("postgres {}", tools::version());
            0
        }
        Some("--help" | "-?") => {
            println!("postgres is the PostgreSQL server.\n\nUsage:\n  postgres [OPTION]...");
            0
        }
        _ => postmaster::main(args, &database::open),
    }
}

fn main() {
    let args: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    let own = args.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    let code = match run(&own.to_string_lossy(), args.get(1..).unwrap_or_default()) {
        Some(code) => code,
        None => match args.get(1) {
            Some(name) => run(name, &args[2..]).unwrap_or_else(|| {
                eprintln!("olifant: there is no program \"{name}\"; there are {PROGRAMS}");
                1
            }),
            None => {
                eprintln!("usage: olifant PROGRAM [ARGUMENT]...\nprograms: {PROGRAMS}");
                1
            }
        },
    };
    std::process::exit(code);
}
