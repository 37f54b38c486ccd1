//! `createuser`.

use super::{Outcome, Program, agrees, code, identifier, literal};
use crate::options::{Flag, flag, with_value};

const FLAGS: &[Flag] = &[
    with_value('a', "with-admin"),
    with_value('c', "connection-limit"),
    flag('d', "createdb"),
    flag('D', "no-createdb"),
    with_value('g', "member-of"),
    with_value('\0', "role"),
    flag('i', "inherit"),
    flag('I', "no-inherit"),
    flag('l', "login"),
    flag('L', "no-login"),
    with_value('m', "with-member"),
    flag('P', "pwprompt"),
    flag('r', "createrole"),
    flag('R', "no-createrole"),
    flag('s', "superuser"),
    flag('S', "no-superuser"),
    with_value('v', "valid-until"),
    flag('\0', "interactive"),
    flag('\0', "bypassrls"),
    flag('\0', "no-bypassrls"),
    flag('\0', "replication"),
    flag('\0', "no-replication"),
    flag('E', "encrypted"),
];

/// The program.
pub fn main(args: &[String]) -> i32 {
    code(run(args))
}

/// The last of two opposite flags, if one was given.
fn chosen(program: &Program, yes: &str, no: &str) -> Option<bool> {
    let flags = program.given.flags.iter().rev();
    flags.map(|(n, _)| n.as_str()).find(|n| *n == yes || *n == no).map(|n| n == yes)
}

fn run(args: &[String]) -> Outcome<()> {
    let help = include_str!("../../data/help/createuser.txt");
    let program = Program::begin("createuser", help, args, FLAGS)?;
    let interactive = program.given.has("interactive");
    let name = match program.operands(1)?.first() {
        Some(name) => name.clone(),
        None if interactive => os::process::read_line("Enter name of role to add: "),
        None => program.target().user,
    };
    let password = match program.given.has("pwprompt") {
        false => None,
        true => {
            let first = os::process::read_password("Enter password for new role: ");
            let again = os::process::read_password("Enter it again: ");
            if first != again {
                eprintln!("Passwords didn't match.");
                return Err(1);
            }
            first
        }
    };
    program.check_number("connection-limit", "-c/--connection-limit", -1)?;
    let ask = |question: &str| interactive && agrees(question);
    let pick = |yes: &str, no: &str, question: &str| {
        chosen(&program, yes, no).unwrap_or_else(|| ask(question))
    };
    let superuser = pick("superuser", "no-superuser", "Shall the new role be a superuser?");
    // A superuser may do that anyway.
    let may = |yes: &str, no: &str, question: &str| match superuser {
        true => chosen(&program, yes, no).unwrap_or(true),
        false => pick(yes, no, question),
    };
    let createdb =
        may("createdb", "no-createdb", "Shall the new role be allowed to create databases?");
    let createrole = may(
        "createrole",
        "no-createrole",
        "Shall the new role be allowed to create more new roles?",
    );
    let mut sql = format!("CREATE ROLE {}", identifier(&name));
    if let Some(password) = password {
        sql.push_str(&format!(" PASSWORD {}", literal(&scram_secret(&password))));
    }
    let mut word = |on: bool, text: &str| {
        sql.push_str(if on { " " } else { " NO" });
        sql.push_str(text);
    };
    word(superuser, "SUPERUSER");
    word(createdb, "CREATEDB");
    word(createrole, "CREATEROLE");
    word(chosen(&program, "inherit", "no-inherit").unwrap_or(true), "INHERIT");
    word(chosen(&program, "login", "no-login").unwrap_or(true), "LOGIN");
    word(chosen(&program, "replication", "no-replication").unwrap_or(false), "REPLICATION");
    word(chosen(&program, "bypassrls", "no-bypassrls").unwrap_or(false), "BYPASSRLS");
    if let Some(limit) = program.given.get("connection-limit") {
        sql.push_str(&format!(" CONNECTION LIMIT {limit}"));
    }
    if let Some(until) = program.given.get("valid-until") {
        sql.push_str(&format!(" VALID UNTIL {}", literal(until)));
    }
    let mut groups = program.all("member-of");
    groups.extend(program.all("role"));
    for (word, names) in [
        ("IN ROLE", groups),
        ("ROLE", program.all("with-member")),
        ("ADMIN", program.all("with-admin")),
    ] {
        if !names.is_empty() {
            let list: Vec<String> = names.iter().map(|n| identifier(n)).collect();
            sql.push_str(&format!(" {word} {}", list.join(",")));
        }
    }
    sql.push(';');
    let mut connection = program.connect_maintenance()?;
    connection.command(&sql, "creation of new role failed")
}

/// The password never travels as it is.
fn scram_secret(password: &str) -> String {
    let mut salt = [0; 16];
    os::random::fill(&mut salt);
    pgwire::scram::Secret::new(password, &salt, 4096).to_text()
}
