//! `clusterdb`.

use super::{Outcome, Program, code, shown};
use crate::options::{Flag, flag, with_value};

const FLAGS: &[Flag] = &[
    flag('a', "all"),
    with_value('d', "dbname"),
    flag('q', "quiet"),
    with_value('t', "table"),
    flag('v', "verbose"),
    with_value('\0', "maintenance-db"),
];

/// The program.
pub fn main(args: &[String]) -> i32 {
    code(run(args))
}

fn run(args: &[String]) -> Outcome<()> {
    let help = include_str!("../../data/help/clusterdb.txt");
    let program = Program::begin("clusterdb", help, args, FLAGS)?;
    let named = program.given.has("dbname") || !program.operands(1)?.is_empty();
    if program.given.has("all") {
        if named {
            return program
                .fail("cannot cluster all databases and a specific one at the same time");
        }
        let databases = program.connect_maintenance()?.databases()?;
        for database in databases {
            program.tell(&format!("clustering database \"{database}\""));
            one(&program, &database)?;
        }
        return Ok(());
    }
    one(&program, &program.database()?)
}

fn one(program: &Program, database: &str) -> Outcome<()> {
    let tables = program.all("table");
    let verbose = if program.given.has("verbose") { " VERBOSE" } else { "" };
    let wanted: Vec<Option<&str>> = match tables.is_empty() {
        true => vec![None],
        false => tables.into_iter().map(Some).collect(),
    };
    for table in wanted {
        let mut connection = program.connect(database)?;
        let target = match table {
            Some(name) => format!(" {}", connection.qualified(name)?),
            None => String::new(),
        };
        if let Err(e) = connection.run(&format!("CLUSTER{verbose}{target};")) {
            let what = match table {
                Some(table) => {
                    format!("clustering of table \"{table}\" in database \"{database}\"")
                }
                None => format!("clustering of database \"{database}\""),
            };
            return program.fail(&format!("{what} failed: {}", shown(&e)));
        }
    }
    Ok(())
}
