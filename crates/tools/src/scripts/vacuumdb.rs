//! `vacuumdb`.

use super::{Outcome, Program, code, identifier, literal};
use crate::options::{Flag, flag, with_value};

const FLAGS: &[Flag] = &[
    flag('a', "all"),
    with_value('\0', "buffer-usage-limit"),
    with_value('d', "dbname"),
    flag('\0', "disable-page-skipping"),
    flag('f', "full"),
    flag('F', "freeze"),
    flag('\0', "force-index-cleanup"),
    with_value('j', "jobs"),
    with_value('\0', "min-mxid-age"),
    with_value('\0', "min-xid-age"),
    flag('\0', "missing-stats-only"),
    flag('\0', "no-index-cleanup"),
    flag('\0', "no-process-main"),
    flag('\0', "no-process-toast"),
    flag('\0', "no-truncate"),
    with_value('n', "schema"),
    with_value('N', "exclude-schema"),
    with_value('P', "parallel"),
    flag('q', "quiet"),
    flag('\0', "skip-locked"),
    with_value('t', "table"),
    flag('v', "verbose"),
    flag('z', "analyze"),
    flag('Z', "analyze-only"),
    flag('\0', "analyze-in-stages"),
    with_value('\0', "maintenance-db"),
];

/// Settings and words of the three stages of `--analyze-in-stages`.
const STAGES: [(&str, &str); 3] = [
    (
        "SET default_statistics_target=1; SET vacuum_cost_delay=0;",
        "Generating minimal optimizer statistics (1 target)",
    ),
    (
        "SET default_statistics_target=10; RESET vacuum_cost_delay;",
        "Generating medium optimizer statistics (10 targets)",
    ),
    ("RESET default_statistics_target;", "Generating default (full) optimizer statistics"),
];

/// The program.
pub fn main(args: &[String]) -> i32 {
    code(run(args))
}

fn only_analyzes(program: &Program) -> bool {
    program.given.has("analyze-only") || program.given.has("analyze-in-stages")
}

fn check(program: &Program) -> Outcome<()> {
    let given = &program.given;
    let cannot = |name: &str, why: &str| {
        program.fail(&format!("cannot use the \"{name}\" option when {why}"))
    };
    if only_analyzes(program) {
        let vacuum_only = [
            "full",
            "freeze",
            "disable-page-skipping",
            "no-index-cleanup",
            "force-index-cleanup",
            "no-truncate",
            "no-process-main",
            "no-process-toast",
        ];
        if let Some(name) = vacuum_only.iter().find(|n| given.has(n)) {
            return cannot(name, "performing only analyze");
        }
    }
    if given.get("parallel").is_some() {
        if only_analyzes(program) {
            return cannot("parallel", "performing only analyze");
        }
        if given.has("full") {
            return cannot("parallel", "performing full vacuum");
        }
    }
    if given.get("buffer-usage-limit").is_some() && given.has("full") && !given.has("analyze") {
        return program
            .fail("cannot use the \"buffer-usage-limit\" option with the \"full\" option");
    }
    if given.has("no-index-cleanup") && given.has("force-index-cleanup") {
        return program.fail(
            "cannot use the \"no-index-cleanup\" option with the \"force-index-cleanup\" option",
        );
    }
    if !program.all("table").is_empty() && !program.all("schema").is_empty() {
        return program
            .fail("cannot vacuum all tables in schema(s) and specific table(s) at the same time");
    }
    if !program.all("schema").is_empty() && !program.all("exclude-schema").is_empty() {
        return program
            .fail("cannot vacuum all tables in schema(s) and exclude schema(s) at the same time");
    }
    if given.has("missing-stats-only") && !only_analyzes(program) {
        return program.fail(
            "cannot use the \"missing-stats-only\" option without \"analyze-only\" or \
             \"analyze-in-stages\"",
        );
    }
    Ok(())
}

fn run(args: &[String]) -> Outcome<()> {
    let help = include_str!("../../data/help/vacuumdb.txt");
    let program = Program::begin("vacuumdb", help, args, FLAGS)?;
    for (name, option, least) in [
        ("jobs", "-j/--jobs", 1),
        ("parallel", "-P/--parallel", 0),
        ("min-xid-age", "--min-xid-age", 1),
        ("min-mxid-age", "--min-mxid-age", 1),
    ] {
        program.check_number(name, option, least)?;
    }
    check(&program)?;
    let named = program.given.has("dbname") || !program.operands(1)?.is_empty();
    let databases = match program.given.has("all") {
        true if named => {
            return program.fail("cannot vacuum all databases and a specific one at the same time");
        }
        true => program.connect_maintenance()?.databases()?,
        false => vec![program.database()?],
    };
    if !program.given.has("analyze-in-stages") {
        return databases.iter().try_for_each(|d| one(&program, d, None));
    }
    for stage in &STAGES {
        databases.iter().try_for_each(|d| one(&program, d, Some(stage)))?;
    }
    Ok(())
}

fn one(program: &Program, database: &str, stage: Option<&(&str, &str)>) -> Outcome<()> {
    let mut connection = program.connect(database)?;
    match stage {
        Some((_, words)) => program.tell(&format!("processing database \"{database}\": {words}")),
        None => program.tell(&format!("vacuuming database \"{database}\"")),
    }
    connection.run("RESET search_path;").map_err(|_| 1)?;
    let rows = connection.query(&listing(program))?;
    let clean = "SELECT pg_catalog.set_config('search_path', '', false);";
    connection.run(clean).map_err(|_| 1)?;
    if rows.is_empty() {
        return Ok(());
    }
    if let Some((settings, _)) = stage {
        connection.query(settings)?;
    }
    let options = options(program);
    let statement = |row: &Vec<Option<String>>| {
        let cell = |i: usize| row.get(i).cloned().flatten().unwrap_or_default();
        let table = format!("{}.{}", identifier(&cell(1)), identifier(&cell(0)));
        format!("{options}{table}{};", cell(2))
    };
    let statements = rows.iter().map(statement).collect();
    let mut connection = program.run_all(database, connection, statements)?;
    if stage.is_none() {
        connection.query("VACUUM (ONLY_DATABASE_STATS);")?;
    }
    Ok(())
}

/// The command up to the table.
fn options(program: &Program) -> String {
    let given = &program.given;
    let mut all: Vec<String> = Vec::new();
    let mut when = |name: &str, text: &str| {
        if given.has(name) {
            all.push(text.to_string());
        }
    };
    let analyze = only_analyzes(program);
    if analyze {
        when("skip-locked", "SKIP_LOCKED");
        when("verbose", "VERBOSE");
    } else {
        when("disable-page-skipping", "DISABLE_PAGE_SKIPPING");
        when("no-index-cleanup", "INDEX_CLEANUP FALSE");
        when("force-index-cleanup", "INDEX_CLEANUP TRUE");
        when("no-truncate", "TRUNCATE FALSE");
        when("no-process-main", "PROCESS_MAIN FALSE");
        when("no-process-toast", "PROCESS_TOAST FALSE");
        all.push("SKIP_DATABASE_STATS".to_string());
        let mut when = |name: &str, text: &str| {
            if given.has(name) {
                all.push(text.to_string());
            }
        };
        when("skip-locked", "SKIP_LOCKED");
        when("full", "FULL");
        when("freeze", "FREEZE");
        when("verbose", "VERBOSE");
        when("analyze", "ANALYZE");
        if let Some(n) = given.get("parallel") {
            all.push(format!("PARALLEL {n}"));
        }
    }
    if let Some(limit) = given.get("buffer-usage-limit") {
        all.push(format!("BUFFER_USAGE_LIMIT '{limit}'"));
    }
    let word = if analyze { "ANALYZE" } else { "VACUUM" };
    match all.is_empty() {
        true => format!("{word} "),
        false => format!("{word} ({}) ", all.join(", ")),
    }
}

/// A table and its columns, of `table(columns)`.
fn split(table: &str) -> (&str, Option<&str>) {
    match table.find('(') {
        Some(at) => (&table[..at], Some(&table[at..])),
        None => (table, None),
    }
}

/// The query that lists the tables, the largest first.
fn listing(program: &Program) -> String {
    let (tables, schemas) = (program.all("table"), program.all("schema"));
    let excluded = program.all("exclude-schema");
    let mut objects = Vec::new();
    for table in &tables {
        let (name, columns) = split(table);
        let columns = columns.map_or("NULL".to_string(), literal);
        objects.push(format!("{}::pg_catalog.regclass, {columns}", literal(name)));
    }
    for schema in schemas.iter().chain(&excluded) {
        let name = literal(&identifier(schema));
        objects.push(format!("{name}::pg_catalog.regnamespace, NULL"));
    }
    let mut sql = String::new();
    if !objects.is_empty() {
        let list: Vec<String> = objects.iter().map(|o| format!("({o}::pg_catalog.text)")).collect();
        sql.push_str("WITH listed_objects (object_oid, column_list) AS (\n  VALUES ");
        sql.push_str(&list.join(",\n  "));
        sql.push_str("\n)\n");
    }
    let columns = if objects.is_empty() { "" } else { ", listed_objects.column_list" };
    sql.push_str(&format!(
        "SELECT c.relname, ns.nspname{columns} FROM pg_catalog.pg_class c\n JOIN \
         pg_catalog.pg_namespace ns ON c.relnamespace OPERATOR(pg_catalog.=) ns.oid\n CROSS JOIN \
         LATERAL (SELECT c.relkind IN ('p', 'I')) as p (inherited)\n LEFT JOIN \
         pg_catalog.pg_class t ON c.reltoastrelid OPERATOR(pg_catalog.=) t.oid\n"
    ));
    if !objects.is_empty() {
        let what = if tables.is_empty() { "ns" } else { "c" };
        sql.push_str(&format!(
            " LEFT JOIN listed_objects ON listed_objects.object_oid OPERATOR(pg_catalog.=) \
             {what}.oid\n"
        ));
    }
    sql.push_str(" WHERE c.relpersistence OPERATOR(pg_catalog.!=) 't'\n");
    if !objects.is_empty() {
        let is = if excluded.is_empty() { "IS NOT NULL" } else { "IS NULL" };
        sql.push_str(&format!(" AND listed_objects.object_oid {is}\n"));
    }
    if tables.is_empty() {
        sql.push_str(" AND c.relkind OPERATOR(pg_catalog.=) ANY (array['r', 'm'])\n");
    }
    for (flag, function) in [("min-xid-age", "age"), ("min-mxid-age", "mxid_age")] {
        if let Some(age) = program.given.get(flag) {
            let (column, gap) = match flag {
                "min-xid-age" => ("relfrozenxid", "  "),
                _ => ("relminmxid", " "),
            };
            sql.push_str(&format!(
                " AND GREATEST(pg_catalog.{function}(c.{column}), \
                 pg_catalog.{function}(t.{column})){gap}OPERATOR(pg_catalog.>=) '{age}'\
                 ::pg_catalog.int4\n AND c.{column} OPERATOR(pg_catalog.!=) '0'::pg_catalog.xid\n"
            ));
        }
    }
    if program.given.has("missing-stats-only") {
        sql.push_str(&missing_statistics());
    }
    sql.push_str(" ORDER BY c.relpages DESC;");
    sql
}

/// The condition that something of the table has no statistics: a column, extended statistics, an
/// index's expression, or one of the first two for the table with those that inherit from it.
fn missing_statistics() -> String {
    const IS: &str = "OPERATOR(pg_catalog.=)";
    let wanted = "AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2\n AND NOT \
                  a.attisdropped\n AND a.attstattarget IS DISTINCT FROM 0::pg_catalog.int2\n";
    let column = format!(
        "EXISTS (SELECT NULL FROM pg_catalog.pg_attribute a\n WHERE a.attrelid {IS} c.oid\n \
         {wanted} AND a.attgenerated OPERATOR(pg_catalog.<>) 'v'\n"
    );
    let extended = format!(
        "EXISTS (SELECT NULL FROM pg_catalog.pg_statistic_ext e\n WHERE e.stxrelid {IS} c.oid\n \
         AND e.stxstattarget IS DISTINCT FROM 0::pg_catalog.int2\n"
    );
    let parent = format!(
        " AND c.relhassubclass\n AND NOT p.inherited\n AND EXISTS (SELECT NULL FROM \
         pg_catalog.pg_inherits h\n WHERE h.inhparent {IS} c.oid)\n"
    );
    let none = format!(
        " AND NOT EXISTS (SELECT NULL FROM pg_catalog.pg_statistic s\n WHERE s.starelid {IS} \
         a.attrelid\n AND s.staattnum {IS} a.attnum"
    );
    let none_extended = format!(
        " AND NOT EXISTS (SELECT NULL FROM pg_catalog.pg_statistic_ext_data d\n WHERE d.stxoid \
         {IS} e.oid\n"
    );
    let expression = format!(
        "EXISTS (SELECT NULL FROM pg_catalog.pg_attribute a\n JOIN pg_catalog.pg_index i ON \
         i.indexrelid {IS} a.attrelid\n WHERE i.indrelid {IS} c.oid\n AND i.indkey[a.attnum \
         OPERATOR(pg_catalog.-) 1::pg_catalog.int2] {IS} 0::pg_catalog.int2\n {wanted} AND NOT \
         p.inherited\n"
    );
    format!(
        " AND (\n {column}{none}\n AND s.stainherit {IS} p.inherited))\n OR \
         {extended}{none_extended} AND d.stxdinherit {IS} p.inherited))\n OR \
         {expression}{none}))\n OR {column}{parent}{none}\n AND s.stainherit))\n OR \
         {extended}{parent}{none_extended} AND d.stxdinherit))\n )\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(args: &[&str]) -> Program {
        let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
        Program::begin("vacuumdb", "", &args, FLAGS).ok().unwrap()
    }

    #[test]
    fn commands() {
        assert_eq!(options(&program(&["-e"])), "VACUUM (SKIP_DATABASE_STATS) ");
        assert_eq!(options(&program(&["-Z"])), "ANALYZE ");
        assert_eq!(
            options(&program(&["-F", "-z", "--no-truncate", "-P", "2"])),
            "VACUUM (TRUNCATE FALSE, SKIP_DATABASE_STATS, FREEZE, ANALYZE, PARALLEL 2) "
        );
        assert!(check(&program(&["-Z", "-f"])).is_err() && check(&program(&["-f"])).is_ok());
        let sql = listing(&program(&["-t", "a.b(c)"]));
        assert!(sql.contains("('a.b'::pg_catalog.regclass, '(c)'::pg_catalog.text)"));
    }
}
