//! Small programs that say one or a few statements to a server: `createdb`, `dropdb`,
//! `createuser`, `dropuser`, `vacuumdb`, `reindexdb`, `clusterdb`.

pub mod clusterdb;
pub mod createuser;
pub mod database;
pub mod dropuser;
pub mod reindexdb;
pub mod vacuumdb;

use crate::client::{Answer, Client, Target};
use crate::options::{Flag, Given, complain, flag, with_value};
use base::{Error, SqlState};

/// What a program ends with early: its exit code.
pub type Outcome<T> = std::result::Result<T, i32>;

/// Flags about the connection, which all of them have.
pub const CONNECTION: [Flag; 8] = [
    with_value('h', "host"),
    with_value('p', "port"),
    with_value('U', "username"),
    flag('w', "no-password"),
    flag('W', "password"),
    flag('e', "echo"),
    flag('V', "version"),
    flag('?', "help"),
];

/// What a program was given.
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Its arguments.
    pub given: Given,
}

impl Program {
    /// Reads the arguments; does what `--help` and `--version` want.
    pub fn begin(
        name: &'static str,
        help: &str,
        args: &[String],
        flags: &[Flag],
    ) -> Outcome<Program> {
        match args.first().map(String::as_str) {
            Some("--help" | "-?") => {
                print!("{help}");
                return Err(0);
            }
            Some("--version" | "-V") => {
                println!("{name} {}", crate::version());
                return Err(0);
            }
            _ => {}
        }
        let all: Vec<Flag> = CONNECTION.iter().chain(flags).copied().collect();
        match Given::read(args, &all) {
            Ok(given) => Ok(Program { name, given }),
            Err(e) => {
                complain(name, &e);
                Err(1)
            }
        }
    }

    /// Ends with an error.
    pub fn fail<T>(&self, text: &str) -> Outcome<T> {
        eprintln!("{}: error: {text}", self.name);
        Err(1)
    }

    /// Ends with an error about the arguments.
    pub fn misused<T>(&self, text: &str) -> Outcome<T> {
        complain(self.name, &format!("error: {text}"));
        Err(1)
    }

    /// The operands, of which there may be so many.
    pub fn operands(&self, most: usize) -> Outcome<&[String]> {
        match self.given.operands.get(most) {
            Some(extra) => {
                self.misused(&format!("too many command-line arguments (first is \"{extra}\")"))
            }
            None => Ok(&self.given.operands),
        }
    }

    /// Fails if a flag's value is no number, or less than `least`. `option` is the flag in
    /// messages: `-j/--jobs`.
    pub fn check_number(&self, name: &str, option: &str, least: i32) -> Outcome<()> {
        let Some(value) = self.given.get(name) else { return Ok(()) };
        match value.trim().parse::<i64>() {
            Err(_) => self.fail(&format!("invalid value \"{value}\" for option {option}")),
            Ok(n) if n < i64::from(least) || n > i64::from(i32::MAX) => {
                self.fail(&format!("{option} must be in range {least}..{}", i32::MAX))
            }
            Ok(_) => Ok(()),
        }
    }

    /// `--jobs`
    pub fn jobs(&self) -> usize {
        self.given.get("jobs").and_then(|n| n.trim().parse().ok()).unwrap_or(1)
    }

    /// Runs statements in a database: on this connection, which comes back, and if there are
    /// several, on as many others as `--jobs` has. Ends with the first that fails, unless just its
    /// table has gone.
    pub fn run_all<'a>(
        &'a self,
        database: &str,
        first: Connection<'a>,
        statements: Vec<String>,
    ) -> Outcome<Connection<'a>> {
        let mut connections = vec![first];
        while connections.len() < self.jobs().min(statements.len()) {
            connections.push(self.connect(database)?);
        }
        let waiting = std::sync::Mutex::new(statements.into_iter());
        let next = || waiting.lock().ok().and_then(|mut all| all.next());
        let work = |mut connection: Connection<'a>| {
            while let Some(sql) = next() {
                let Err(e) = connection.run(&sql) else { continue };
                let text = format!("processing of database \"{database}\" failed: {}", shown(&e));
                eprintln!("{}: error: {text}", self.name);
                if e.code() != SqlState::UNDEFINED_TABLE {
                    return Err(1);
                }
            }
            Ok(connection)
        };
        std::thread::scope(|scope| {
            let work = &work;
            let started: Vec<_> =
                connections.into_iter().map(|c| scope.spawn(move || work(c))).collect();
            let ended: Outcome<Vec<Connection<'a>>> =
                started.into_iter().map(|thread| thread.join().unwrap_or(Err(1))).collect();
            ended?.into_iter().next().ok_or(1)
        })
    }

    /// All values of a flag.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let flags = self.given.flags.iter();
        flags.filter(|(n, _)| n == name).map(|(_, v)| v.as_str()).collect()
    }

    /// A line to the user, unless `--quiet`.
    pub fn tell(&self, text: &str) {
        if !self.given.has("quiet") {
            println!("{}: {text}", self.name);
        }
    }

    /// Where to connect to, apart from the database.
    pub fn target(&self) -> Target {
        let mut target = Target::from_environment();
        let given = |name: &str| self.given.get(name).map(str::to_string);
        if let Some(host) = given("host") {
            target.host = host;
        }
        if let Some(port) = given("port") {
            target.port = port;
        }
        if let Some(user) = given("username") {
            target.user = user;
        }
        target
    }

    /// Connects to a database, asking for a password where one is wanted.
    pub fn try_connect(&self, database: &str) -> std::result::Result<Connection<'_>, Error> {
        let mut target = Target { database: database.to_string(), ..self.target() };
        let ask = || os::process::read_password("Password: ");
        if self.given.has("password") {
            target.password = ask();
        }
        let opened = match Client::connect(&target, None) {
            Err(e) if wants_password(&e) && !self.given.has("no-password") => {
                target.password = ask();
                Client::connect(&target, None)
            }
            other => other,
        };
        let client = opened.map_err(|e| {
            if e.code() == SqlState::UNDEFINED_OBJECT {
                return e;
            }
            let place = match target.host.starts_with('/') {
                true => format!("on socket \"{}/.s.PGSQL.{}\"", target.host, target.port),
                false => format!("at \"{}\", port {}", target.host, target.port),
            };
            // What the system says has a number at its end.
            let text = match e.message().split_once(" (os error") {
                Some((reason, _)) => {
                    let running = match target.host.starts_with('/') {
                        true => "locally and accepting connections on that socket",
                        false => "on that host and accepting TCP/IP connections",
                    };
                    format!("{reason}\n\tIs the server running {running}?")
                }
                None => shown(&e),
            };
            Error::new(e.code(), format!("connection to server {place} failed: {text}"))
        })?;
        let mut connection = Connection { program: self, client };
        // A clean search path, so that names mean what they should.
        let _ = connection.run("SELECT pg_catalog.set_config('search_path', '', false);");
        Ok(connection)
    }

    /// Connects to a database, or ends.
    pub fn connect(&self, database: &str) -> Outcome<Connection<'_>> {
        self.try_connect(database).or_else(|e| self.fail(e.message()))
    }

    /// Connects to where databases are made and dropped.
    pub fn connect_maintenance(&self) -> Outcome<Connection<'_>> {
        if let Some(name) = self.given.get("maintenance-db") {
            return self.connect(name);
        }
        match self.try_connect("postgres") {
            Err(e) if e.message().contains("does not exist") => self.connect("template1"),
            other => other.or_else(|e| self.fail(e.message())),
        }
    }

    /// The database to work in: what was said, or what the environment says.
    pub fn database(&self) -> Outcome<String> {
        let operand = self.operands(1)?.first().cloned();
        let said = self.given.get("dbname").map(str::to_string);
        let of = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let user = || self.given.get("username").map(str::to_string);
        Ok(operand
            .or(said)
            .or_else(|| of("PGDATABASE"))
            .or_else(|| of("PGUSER"))
            .or_else(user)
            .or_else(os::process::user_name)
            .unwrap_or_default())
    }
}

fn wants_password(e: &Error) -> bool {
    e.code() == SqlState::INVALID_PASSWORD && e.message().contains("no password supplied")
}

/// An error as libpq shows it: severity and message, then detail and hint on their own lines.
pub fn shown(e: &Error) -> String {
    let f = e.fields();
    let mut out = format!("{}:  {}", f.severity.as_str(), f.message);
    for (kind, text) in [("DETAIL", &f.detail), ("HINT", &f.hint)] {
        if let Some(text) = text {
            out.push_str(&format!("\n{kind}:  {text}"));
        }
    }
    out
}

/// Where in a statement an error is, as libpq shows it: the line and a mark under it; empty if
/// that is not known.
fn place(e: &Error, sql: &str) -> String {
    /// Characters of a line that are shown, and how many after the mark at least.
    const SHOWN: usize = 60;
    const AFTER: usize = 10;
    let Some(position) = e.fields().position.map(|p| p as usize) else { return String::new() };
    let before: String = sql.chars().take(position.saturating_sub(1)).collect();
    let number = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    let line = sql.lines().nth(number - 1).unwrap_or_default();
    let all: Vec<char> = line.chars().collect();
    let (mut from, mut to) = (0, all.len());
    if to > SHOWN && column + AFTER <= SHOWN {
        to = SHOWN;
    } else if to > SHOWN {
        to = to.min(column + AFTER);
        from = to.saturating_sub(SHOWN);
    }
    let cut = |yes: bool| if yes { "..." } else { "" };
    let head = format!("LINE {number}: {}", cut(from > 0));
    let text: String = all[from..to].iter().collect();
    let mark = " ".repeat(head.len() + column - from);
    format!("\n{head}{text}{}\n{mark}^", cut(to < all.len()))
}

/// A connection, and whose it is.
pub struct Connection<'a> {
    program: &'a Program,
    client: Client,
}

impl Connection<'_> {
    /// Runs statements.
    pub fn run(&mut self, sql: &str) -> base::Result<Answer> {
        if self.program.given.has("echo") {
            println!("{sql}");
        }
        let answer = self.client.query(sql);
        for notice in self.client.take_notices() {
            eprintln!("{}", shown(&notice));
        }
        answer
    }

    /// Runs a query that has to succeed.
    pub fn query(&mut self, sql: &str) -> Outcome<Vec<Vec<Option<String>>>> {
        match self.run(sql) {
            Ok(answer) => Ok(answer.rows),
            Err(e) => {
                let name = self.program.name;
                eprintln!("{name}: error: query failed: {}{}", shown(&e), place(&e, sql));
                eprintln!("{name}: detail: Query was: {sql}");
                Err(1)
            }
        }
    }

    /// Runs a command; its failure is told after `what`.
    pub fn command(&mut self, sql: &str, what: &str) -> Outcome<()> {
        match self.run(sql) {
            Ok(_) => Ok(()),
            Err(e) => self.program.fail(&format!("{what}: {}", shown(&e))),
        }
    }

    /// Names of the databases that can be connected to.
    pub fn databases(&mut self) -> Outcome<Vec<String>> {
        let rows = self.query(
            "SELECT datname FROM pg_database WHERE datallowconn AND datconnlimit <> -2 ORDER BY 1;",
        )?;
        Ok(rows.into_iter().filter_map(|mut r| r.pop().flatten()).collect())
    }

    /// A table or index given by name, found on the usual search path, as a qualified name.
    pub fn qualified(&mut self, name: &str) -> Outcome<String> {
        self.run("RESET search_path;").map_err(|_| 1)?;
        let rows = self.query(&format!(
            "SELECT c.relname, ns.nspname\n FROM pg_catalog.pg_class c, pg_catalog.pg_namespace \
             ns\n WHERE c.relnamespace OPERATOR(pg_catalog.=) ns.oid\n  AND c.oid \
             OPERATOR(pg_catalog.=) {}::pg_catalog.regclass;",
            literal(name)
        ))?;
        let cell = |i: usize| rows.first().and_then(|r| r.get(i)?.clone()).unwrap_or_default();
        let (relation, schema) = (cell(0), cell(1));
        self.run("SELECT pg_catalog.set_config('search_path', '', false);").map_err(|_| 1)?;
        Ok(format!("{}.{}", identifier(&schema), identifier(&relation)))
    }
}

/// A name, quoted where it has to be.
pub fn identifier(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let first = name.chars().next();
    let safe = first.is_some_and(|c| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(plain)
        && !is_key_word(name);
    if safe { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// True for words of the grammar that cannot be names as they are.
fn is_key_word(name: &str) -> bool {
    use parser::keywords::{Category, KEYWORDS};
    let found = KEYWORDS.iter().find(|k| k.word == name);
    found.is_some_and(|k| k.category != Category::Unreserved)
}

/// A text as a literal.
pub fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match text.contains('\\') {
        true => format!(" E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

/// Asks a question; true if the answer is yes.
pub fn agrees(question: &str) -> bool {
    use std::io::Write;
    loop {
        print!("{question} (y/n) ");
        let _ = std::io::stdout().flush();
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line).is_ok_and(|n| n == 0) {
            return false;
        }
        match line.trim() {
            "y" => return true,
            "n" => return false,
            _ => println!("Please answer \"y\" or \"n\"."),
        }
    }
}

/// The exit code of a program that ends with this.
pub fn code(outcome: Outcome<()>) -> i32 {
    outcome.map_or_else(|code| code, |()| 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_errors() {
        let at = |sql: &str, position: u32| {
            let mut e = base::err!(SYNTAX_ERROR, "x");
            e.fields_mut().position = Some(position);
            place(&e, sql)
        };
        assert_eq!(at("SELECT 1\n FROM nix", 16), "\nLINE 2:  FROM nix\n              ^");
        let long = format!("{} nix {}", "a".repeat(30), "b".repeat(60));
        let shown = format!("{} nix {}...", "a".repeat(30), "b".repeat(25));
        assert_eq!(at(&long, 32), format!("\nLINE 1: {shown}\n{}^", " ".repeat(39)));
    }

    #[test]
    fn names_and_literals() {
        assert_eq!(identifier("abc_1"), "abc_1");
        assert_eq!(identifier("A b\"c"), "\"A b\"\"c\"");
        assert_eq!(identifier("select"), "\"select\"");
        assert_eq!(identifier("1a"), "\"1a\"");
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\b"), " E'a\\\\b'");
    }
}
