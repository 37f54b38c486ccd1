//! `dropuser`.

use super::{Outcome, Program, agrees, code, identifier, shown};
use crate::options::{Flag, flag};

const FLAGS: &[Flag] = &[flag('i', "interactive"), flag('\0', "if-exists")];

/// The program.
pub fn main(args: &[String]) -> i32 {
    code(run(args))
}

fn run(args: &[String]) -> Outcome<()> {
    let help = include_str!("../../data/help/dropuser.txt");
    let program = Program::begin("dropuser", help, args, FLAGS)?;
    let interactive = program.given.has("interactive");
    let name = match program.operands(1)?.first() {
        Some(name) => name.clone(),
        None if interactive => os::process::read_line("Enter name of role to drop: "),
        None => return program.misused("missing required argument role name"),
    };
    if interactive {
        println!("Role \"{name}\" will be permanently removed.");
        if !agrees("Are you sure?") {
            return Ok(());
        }
    }
    let exists = if program.given.has("if-exists") { "IF EXISTS " } else { "" };
    let sql = format!("DROP ROLE {exists}{};", identifier(&name));
    let mut connection = program.connect_maintenance()?;
    match connection.run(&sql) {
        Ok(_) => Ok(()),
        Err(e) => program.fail(&format!("removal of role \"{name}\" failed: {}", shown(&e))),
    }
}
