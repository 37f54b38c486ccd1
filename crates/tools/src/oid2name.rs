//! `oid2name`: which file is whose.

use crate::options::{flag, with_value};
use crate::scripts::{Connection, Outcome, Program, code, literal};

const FLAGS: &[crate::options::Flag] = &[
    with_value('d', "dbname"),
    with_value('f', "filenode"),
    with_value('H', ""),
    flag('i', "indexes"),
    with_value('o', "oid"),
    flag('q', "quiet"),
    flag('s', "tablespaces"),
    flag('S', "system-objects"),
    with_value('t', "table"),
    flag('x', "extended"),
];

/// The program.
pub fn main(args: &[String]) -> i32 {
    code(run(args))
}

fn run(args: &[String]) -> Outcome<()> {
    let help = include_str!("../data/help/oid2name.txt");
    let program = Program::begin("oid2name", help, args, FLAGS)?;
    program.operands(0)?;
    let given = &program.given;
    let chosen = ["filenode", "oid", "table"].iter().any(|n| given.get(n).is_some());
    let database = match given.get("dbname") {
        Some(name) => name.to_string(),
        None => "postgres".to_string(),
    };
    let mut connection = program.connect(&database)?;
    if given.has("tablespaces") {
        println!("All tablespaces:");
        return table(
            &program,
            &mut connection,
            "SELECT oid AS \"Oid\", spcname as \"Tablespace Name\"\nFROM \
             pg_catalog.pg_tablespace",
            &["Oid", "Tablespace Name"],
        );
    }
    if given.get("dbname").is_none() && !chosen {
        println!("All databases:");
        return table(
            &program,
            &mut connection,
            "SELECT d.oid AS \"Oid\", datname AS \"Database Name\", spcname AS \"Tablespace\" \
             FROM pg_catalog.pg_database d JOIN pg_catalog.pg_tablespace t ON (dattablespace = \
             t.oid) ORDER BY 2",
            &["Oid", "Database Name", "Tablespace"],
        );
    }
    if !given.has("quiet") {
        println!("From database \"{database}\":");
    }
    let sql = listing(&program, chosen);
    let mut columns = vec!["Filenode", "Table Name"];
    if given.has("extended") {
        columns.extend(["Oid", "Schema", "Tablespace"]);
    }
    table(&program, &mut connection, &sql, &columns)
}

/// Relations by what was asked for, or all there are.
fn listing(program: &Program, chosen: bool) -> String {
    let given = &program.given;
    let more = match given.has("extended") {
        true => ", c.oid AS \"Oid\", nspname AS \"Schema\", spcname as \"Tablespace\" ",
        false => "",
    };
    let mut kinds = "'r', 'm'".to_string();
    if given.has("indexes") {
        kinds.push_str(", 'i', 'S'");
    }
    if given.has("system-objects") {
        kinds.push_str(", 't'");
    }
    let mut conditions = Vec::new();
    if chosen {
        kinds = "'r', 'm', 'i', 'S', 't'".to_string();
        let numbers = |name: &str| {
            let all: Vec<String> = program
                .all(name)
                .iter()
                .map(|n| n.parse::<u32>().unwrap_or(0).to_string())
                .collect();
            all.join(", ")
        };
        let oids = numbers("oid");
        if !oids.is_empty() {
            conditions.push(format!("c.oid IN ({oids})"));
        }
        let nodes = numbers("filenode");
        if !nodes.is_empty() {
            conditions.push(format!("pg_catalog.pg_relation_filenode(c.oid) IN ({nodes})"));
        }
        for name in program.all("table") {
            conditions.push(format!("c.relname ~~ {}", literal(name)));
        }
    } else if !given.has("system-objects") {
        conditions
            .push("n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')".to_string());
    }
    let condition = match conditions.is_empty() {
        true => "true".to_string(),
        false => conditions.join(" OR "),
    };
    format!(
        "SELECT pg_catalog.pg_relation_filenode(c.oid) as \"Filenode\", relname as \"Table \
         Name\" {more}FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = \
         c.relnamespace LEFT JOIN pg_catalog.pg_database d ON d.datname = \
         pg_catalog.current_database(), pg_catalog.pg_tablespace t WHERE relkind IN ({kinds}) AND \
         ({condition}) AND t.oid = CASE WHEN reltablespace <> 0 THEN reltablespace ELSE \
         dattablespace END ORDER BY relname"
    )
}

/// Prints rows, right-aligned under their names.
fn table(
    program: &Program,
    connection: &mut Connection<'_>,
    sql: &str,
    columns: &[&str],
) -> Outcome<()> {
    let rows = connection.query(sql)?;
    print!("{}", aligned(&rows, columns, !program.given.has("quiet")));
    Ok(())
}

fn aligned(rows: &[Vec<Option<String>>], columns: &[&str], head: bool) -> String {
    let cell =
        |row: &Vec<Option<String>>, i: usize| row.get(i).cloned().flatten().unwrap_or_default();
    let width = |i: usize| {
        let longest = rows.iter().map(|r| cell(r, i).len()).max().unwrap_or(0);
        longest.max(columns[i].len())
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |texts: Vec<String>| {
        let padded = texts.iter().zip(&widths).map(|(t, w)| format!("  {t:>w$}"));
        format!("{}\n", padded.collect::<String>())
    };
    let mut out = String::new();
    if head {
        out.push_str(&line(columns.iter().map(|c| c.to_string()).collect()));
        out.push_str(&"-".repeat(widths.iter().map(|w| w + 2).sum()));
        out.push('\n');
    }
    for row in rows {
        out.push_str(&line((0..columns.len()).map(|i| cell(row, i)).collect()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn columns() {
        let rows = vec![vec![Some("5".to_string()), Some("postgres".to_string())]];
        let text = aligned(&rows, &["Oid", "Name"], true);
        assert_eq!(text, "  Oid      Name\n---------------\n    5  postgres\n");
        assert_eq!(aligned(&rows, &["Oid", "Name"], false), "    5  postgres\n");
    }
}
