//! `reindexdb`.

use super::{Connection, Outcome, Program, code, identifier, literal};
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
    let together = program.jobs() > 1;
    let parts = ["schema", "index", "table"].iter().map(|k| program.all(k).len()).sum::<usize>();
    let mut statements = Vec::new();
    if given.has("system") {
        statements.push(reindex("SYSTEM", &whole));
    } else if parts == 0 && !together {
        statements.push(reindex("DATABASE", &whole));
    }
    for schema in program.all("schema").iter().filter(|_| !together) {
        statements.push(reindex("SCHEMA", &identifier(schema)));
    }
    for sql in statements {
        program.run_all(database, program.connect(database)?, vec![sql])?;
    }
    if together && !given.has("system") && (parts == 0 || !program.all("schema").is_empty()) {
        let mut connection = program.connect(database)?;
        let tables = tables(&mut connection, &program.all("schema"))?;
        let all: Vec<String> = tables.iter().map(|t| reindex("TABLE", t)).collect();
        if !all.is_empty() {
            program.run_all(database, connection, all)?;
        }
    }
    for (kind, word) in [("index", "INDEX"), ("table", "TABLE")] {
        // Indexes of one table would wait for each other: they go one after the other.
        let together = kind == "table" && together;
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

/// The tables of these schemas, or of all but the system's, the largest first: who reindexes
/// several at once had better begin with them.
fn tables(connection: &mut Connection<'_>, schemas: &[&str]) -> Outcome<Vec<String>> {
    let quoted: Vec<String> = schemas.iter().map(|s| literal(s)).collect();
    let wanted = match quoted.is_empty() {
        true => "ns.nspname <> 'pg_catalog'".to_string(),
        false => format!("ns.nspname IN ({})", quoted.join(",")),
    };
    let rows = connection.query(&format!(
        "SELECT c.relname, ns.nspname\n FROM pg_catalog.pg_class c\n JOIN pg_catalog.pg_namespace \
         ns ON c.relnamespace = ns.oid\n WHERE {wanted}\n   AND c.relkind IN ('r', 'm')\n   AND \
         c.relpersistence <> 't'\n ORDER BY c.relpages DESC;"
    ))?;
    let name = |row: &Vec<Option<String>>| {
        let cell = |i: usize| row.get(i).cloned().flatten().unwrap_or_default();
        format!("{}.{}", identifier(&cell(1)), identifier(&cell(0)))
    };
    Ok(rows.iter().map(name).collect())
}
