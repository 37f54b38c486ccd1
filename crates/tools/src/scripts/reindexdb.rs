//! `reindexdb`.

use super::{Outcome, Program, code, identifier};
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
    program.check_number("jobs", "-j/--jobs", 1)?;
    if program.jobs() > 1 && given.has("system") {
        return program.fail("cannot use multiple jobs to reindex system catalogs");
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
    let mut statements = Vec::new();
    if given.has("system") {
        statements.push(reindex("SYSTEM", &whole));
    } else if parts == 0 {
        statements.push(reindex("DATABASE", &whole));
    }
    for schema in program.all("schema") {
        statements.push(reindex("SCHEMA", &identifier(schema)));
    }
    for sql in statements {
        program.run_all(database, program.connect(database)?, vec![sql])?;
    }
    for (kind, word) in [("index", "INDEX"), ("table", "TABLE")] {
        // Indexes of one table would wait for each other: they go one after the other.
        let together = kind == "table" && program.jobs() > 1;
        let mut all = Vec::new();
        for name in program.all(kind) {
            let mut connection = program.connect(database)?;
            let sql = reindex(word, &connection.qualified(name)?);
            match together {
                true => all.push(sql),
                false => drop(program.run_all(database, connection, vec![sql])?),
            }
        }
        if !all.is_empty() {
            program.run_all(database, program.connect(database)?, all)?;
        }
    }
    Ok(())
}
