//! `createdb` and `dropdb`.

use super::{Outcome, Program, agrees, code, identifier, literal};
use crate::options::{Flag, flag, with_value};

const CREATE: &[Flag] = &[
    with_value('D', "tablespace"),
    with_value('E', "encoding"),
    with_value('l', "locale"),
    with_value('\0', "lc-collate"),
    with_value('\0', "lc-ctype"),
    with_value('\0', "builtin-locale"),
    with_value('\0', "icu-locale"),
    with_value('\0', "icu-rules"),
    with_value('\0', "locale-provider"),
    with_value('O', "owner"),
    with_value('S', "strategy"),
    with_value('T', "template"),
    with_value('\0', "maintenance-db"),
];

/// The program `createdb`.
pub fn createdb(args: &[String]) -> i32 {
    code(create(args))
}

fn create(args: &[String]) -> Outcome<()> {
    let help = include_str!("../../data/help/createdb.txt");
    let program = Program::begin("createdb", help, args, CREATE)?;
    let operands = program.operands(2)?;
    let comment = operands.get(1).cloned();
    let name = match operands.first() {
        Some(name) => name.clone(),
        None => program.database()?,
    };
    if let Some(encoding) = program.given.get("encoding")
        && types::encoding::Encoding::from_name(encoding).is_none()
    {
        return program.fail(&format!("\"{encoding}\" is not a valid encoding name"));
    }
    let mut sql = format!("CREATE DATABASE {}", identifier(&name));
    let mut add = |flag: &str, word: &str, form: fn(&str) -> String| {
        if let Some(value) = program.given.get(flag) {
            sql.push_str(&format!(" {word} {}", form(value)));
        }
    };
    let plain = |v: &str| v.to_string();
    add("owner", "OWNER", identifier);
    add("tablespace", "TABLESPACE", identifier);
    add("encoding", "ENCODING", literal);
    add("strategy", "STRATEGY", identifier);
    add("template", "TEMPLATE", identifier);
    add("lc-collate", "LC_COLLATE", literal);
    add("lc-ctype", "LC_CTYPE", literal);
    add("locale", "LOCALE", literal);
    add("builtin-locale", "BUILTIN_LOCALE", literal);
    add("locale-provider", "LOCALE_PROVIDER", plain);
    add("icu-locale", "ICU_LOCALE", literal);
    add("icu-rules", "ICU_RULES", literal);
    sql.push(';');
    let mut connection = match name == "postgres" && program.given.get("maintenance-db").is_none() {
        true => program.connect("template1")?,
        false => program.connect_maintenance()?,
    };
    connection.command(&sql, "database creation failed")?;
    if let Some(comment) = comment {
        let sql = format!("COMMENT ON DATABASE {} IS {};", identifier(&name), literal(&comment));
        connection.command(&sql, "comment creation failed (database was created)")?;
    }
    Ok(())
}

const DROP: &[Flag] = &[
    flag('f', "force"),
    flag('i', "interactive"),
    flag('\0', "if-exists"),
    with_value('\0', "maintenance-db"),
];

/// The program `dropdb`.
pub fn dropdb(args: &[String]) -> i32 {
    code(drop_it(args))
}

fn drop_it(args: &[String]) -> Outcome<()> {
    let help = include_str!("../../data/help/dropdb.txt");
    let program = Program::begin("dropdb", help, args, DROP)?;
    let Some(name) = program.operands(1)?.first() else {
        return program.misused("missing required argument database name");
    };
    if program.given.has("interactive") {
        println!("Database \"{name}\" will be permanently deleted.");
        if !agrees("Are you sure?") {
            return Ok(());
        }
    }
    let exists = if program.given.has("if-exists") { "IF EXISTS " } else { "" };
    let force = if program.given.has("force") { " WITH (FORCE)" } else { "" };
    let sql = format!("DROP DATABASE {exists}{}{force};", identifier(name));
    let mut connection = match name == "postgres" && program.given.get("maintenance-db").is_none() {
        true => program.connect("template1")?,
        false => program.connect_maintenance()?,
    };
    connection.command(&sql, "database removal failed")
}
