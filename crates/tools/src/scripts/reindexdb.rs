//! `reindexdb`.

use super::{Outcome, Program, code, identifier, shown};
use crate::options::{Flag, flag, with_value};

const FLAGS: &[Flag] = &[
    flag('a', "all"),
    flag('\0', "concurrently"),
    with_value('d', "dbname"),
    with_value('i', "index"),
    with_value('j', "jobs"),
    flag('q', "quiet"),
    flag('s', "system"),
    with_value('S', "schema"),
    with_value('t', "table"),
    with_value('\0', "tablespace"),
    flag('v', "verbose"),
    with_value('\0', "maintenance-db"),
];

/// The program.
pub fn main(args: &[String]) -> i32 {
    code(run(args))
}

fn run(args: &[String]) -> Outcome<()> {
    let help = include_str!("../../data/help/reindexdb.txt");
    let program = Program::begin("reindexdb", help, args, FLAGS)?;
    let given = &program.given;
    if let Some(jobs) = given.get("jobs")
        && !jobs.parse::<u32>().is_ok_and(|n| n >= 1)
    {
        return program.fail(&format!("invalid value \"{jobs}\" for option -j/--jobs"));
    }
    let named = given.has("dbname") || !program.operands(1)?.is_empty();
    if given.has("all") {
        if named {
            return program
                .fail("cannot reindex all databases and a specific one at the same time");
        }
        let databases = program.connect_maintenance()?.databases()?;
        for database in databases {
            program.tell(&format!("reindexing database \"{database}\""));
            one(&program, &database)?;
        }
        return Ok(());
    }
    one(&program, &program.database()?)
}

fn one(program: &Program, database: &str) -> Outcome<()> {
    let given = &program.given;
    let mut options = Vec::new();
    if given.has("verbose") {
        options.push("VERBOSE".to_string());
    }
    if let Some(tablespace) = given.get("tablespace") {
        options.push(format!("TABLESPACE {}", identifier(tablespace)));
    }
    let options = match options.is_empty() {
        true => String::new(),
        false => format!("({}) ", options.join(", ")),
    };
    let concurrently = if given.has("concurrently") { "CONCURRENTLY " } else { "" };
    let reindex =
        |kind: &str, target: &str| format!("REINDEX {options}{kind} {concurrently}{target};");
    let whole = identifier(database);
    let parts = ["schema", "index", "table"].iter().map(|k| program.all(k).len()).sum::<usize>();
    if given.has("system") {
        run_one(program, database, &reindex("SYSTEM", &whole), "system catalogs", database)?;
    } else if parts == 0 {
        run_one(program, database, &reindex("DATABASE", &whole), "database", database)?;
    }
    for schema in program.all("schema") {
        run_one(program, database, &reindex("SCHEMA", &identifier(schema)), "schema", schema)?;
    }
    for (kind, word) in [("index", "INDEX"), ("table", "TABLE")] {
        for name in program.all(kind) {
            let mut connection = program.connect(database)?;
            let target = connection.qualified(name)?;
            if let Err(e) = connection.run(&reindex(word, &target)) {
                return failed(program, kind, name, database, &e);
            }
        }
    }
    Ok(())
}

fn run_one(program: &Program, database: &str, sql: &str, kind: &str, name: &str) -> Outcome<()> {
    match program.connect(database)?.run(sql) {
        Ok(_) => Ok(()),
        Err(e) => failed(program, kind, name, database, &e),
    }
}

fn failed(
    program: &Program,
    kind: &str,
    name: &str,
    database: &str,
    e: &base::Error,
) -> Outcome<()> {
    let what = match kind {
        "database" => format!("reindexing of database \"{database}\""),
        "system catalogs" => format!("reindexing of system catalogs in database \"{database}\""),
        _ => format!("reindexing of {kind} \"{name}\" in database \"{database}\""),
    };
    program.fail(&format!("{what} failed: {}", shown(e)))
}
