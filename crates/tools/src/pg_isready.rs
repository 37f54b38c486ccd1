//! `pg_isready`: is a server there?

use crate::client::{Ping, Target, ping};
use crate::options::{Flag, Given, complain, flag, with_value};
use std::time::Duration;

const NAME: &str = "pg_isready";

const FLAGS: &[Flag] = &[
    with_value('d', "dbname"),
    with_value('h', "host"),
    with_value('p', "port"),
    flag('q', "quiet"),
    with_value('t', "timeout"),
    with_value('U', "username"),
    flag('V', "version"),
    flag('?', "help"),
];

const HELP: &str = "\
pg_isready issues a connection check to a PostgreSQL database.

Usage:
  pg_isready [OPTION]...

Options:
  -d, --dbname=DBNAME      database name
  -q, --quiet              run quietly
  -V, --version            output version information, then exit
  -?, --help               show this help, then exit

Connection options:
  -h, --host=HOSTNAME      database server host or socket directory
  -p, --port=PORT          database server port
  -t, --timeout=SECS       seconds to wait when attempting connection, 0 disables (default: 3)
  -U, --username=USERNAME  user name to connect as
";

/// The program; 0 accepting, 1 rejecting, 2 no response, 3 no attempt.
pub fn main(args: &[String]) -> i32 {
    let given = match Given::begin(NAME, HELP, args, FLAGS, 3) {
        Ok(given) => given,
        Err(code) => return code,
    };
    if let Some(extra) = given.operands.first() {
        complain(NAME, &format!("error: too many command-line arguments (first is \"{extra}\")"));
        return 3;
    }
    let mut target = Target::from_environment();
    let mut set = |name: &str, slot: fn(&mut Target) -> &mut String| {
        if let Some(value) = given.get(name) {
            *slot(&mut target) = value.to_string();
        }
    };
    set("host", |t| &mut t.host);
    set("port", |t| &mut t.port);
    set("username", |t| &mut t.user);
    set("dbname", |t| &mut t.database);
    // Less than a second is no limit. What is not a number nobody answers to.
    let seconds: Option<i32> = given.get("timeout").map_or(Some(3), |t| t.trim().parse().ok());
    let port = target.port.parse::<u16>().ok().filter(|p| *p > 0);
    let state = match (seconds, port) {
        (Some(n), Some(_)) => ping(&target, Some(Duration::from_secs(n.max(0) as u64))),
        _ => Ping::NoResponse,
    };
    let (text, code) = match state {
        Ping::Accepting => ("accepting connections", 0),
        Ping::Rejecting => ("rejecting connections", 1),
        Ping::NoResponse => ("no response", 2),
        Ping::NoAttempt => ("no attempt", 3),
    };
    if !given.has("quiet") {
        println!("{}:{} - {text}", target.host, target.port);
    }
    code
}
