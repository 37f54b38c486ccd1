//! `pg_ctl`: starts, stops and signals a server.

use crate::options::{Flag, Given, flag, with_value};
use os::Disk;
use os::process::{self, signal};
use std::path::PathBuf;
use std::time::Duration;

const NAME: &str = "pg_ctl";

const FLAGS: &[Flag] = &[
    with_value('D', "pgdata"),
    with_value('l', "log"),
    with_value('m', "mode"),
    with_value('o', "options"),
    with_value('p', ""),
    flag('s', "silent"),
    with_value('t', "timeout"),
    flag('w', "wait"),
    flag('W', "no-wait"),
    flag('c', "core-files"),
    flag('V', "version"),
    flag('?', "help"),
];

const HELP: &str = "\
pg_ctl is a utility to initialize, start, stop, or control a PostgreSQL server.

Usage:
  pg_ctl init[db]   [-D DATADIR] [-s] [-o OPTIONS]
  pg_ctl start      [-D DATADIR] [-l FILENAME] [-W] [-t SECS] [-s]
                    [-o OPTIONS] [-p PATH] [-c]
  pg_ctl stop       [-D DATADIR] [-m SHUTDOWN-MODE] [-W] [-t SECS] [-s]
  pg_ctl restart    [-D DATADIR] [-m SHUTDOWN-MODE] [-W] [-t SECS] [-s]
                    [-o OPTIONS] [-c]
  pg_ctl reload     [-D DATADIR] [-s]
  pg_ctl status     [-D DATADIR]
  pg_ctl promote    [-D DATADIR] [-W] [-t SECS] [-s]
  pg_ctl logrotate  [-D DATADIR] [-s]
  pg_ctl kill       SIGNALNAME PID

Common options:
  -D, --pgdata=DATADIR   location of the database storage area
  -s, --silent           only print errors, no informational messages
  -t, --timeout=SECS     seconds to wait when using -w option
  -V, --version          output version information, then exit
  -w, --wait             wait until operation completes (default)
  -W, --no-wait          do not wait until operation completes
  -?, --help             show this help, then exit
If the -D option is omitted, the environment variable PGDATA is used.

Options for start or restart:
  -c, --core-files       allow postgres to produce core files
  -l, --log=FILENAME     write (or append) server log to FILENAME
  -o, --options=OPTIONS  command line options to pass to postgres
                         (PostgreSQL server executable) or initdb
  -p PATH-TO-POSTGRES    normally not necessary

Options for stop or restart:
  -m, --mode=MODE        MODE can be \"smart\", \"fast\", or \"immediate\"

Shutdown modes are:
  smart       quit after all clients have disconnected
  fast        quit directly, with proper shutdown (default)
  immediate   quit without complete shutdown; will lead to recovery on restart

Allowed signal names for kill:
  ABRT HUP INT KILL QUIT TERM USR1 USR2
";

/// What can be asked for.
const ACTIONS: &[&str] = &[
    "start",
    "stop",
    "restart",
    "reload",
    "status",
    "promote",
    "logrotate",
    "init",
    "initdb",
    "kill",
];

/// What was asked for.
struct Job {
    data: PathBuf,
    disk: Disk,
    status: bool,
    silent: bool,
    wait: bool,
    /// The server may leave a file when it crashes.
    core_files: bool,
    timeout: u64,
    stop_signal: i32,
    log: Option<PathBuf>,
    options: Vec<String>,
    program: PathBuf,
}

/// The program.
pub fn main(args: &[String]) -> i32 {
    let given = match Given::begin(NAME, HELP, args, FLAGS, 1) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let Some(action) = given.operands.first() else {
        return misused("no operation specified");
    };
    if !ACTIONS.contains(&action.as_str()) {
        return misused(&format!("unrecognized operation mode \"{action}\""));
    }
    if action == "kill" {
        return kill(&given.operands[1..]);
    }
    if let Some(extra) = given.operands.get(1) {
        return misused(&format!("too many command-line arguments (first is \"{extra}\")"));
    }
    let mut job = match Job::new(&given, action) {
        Ok(job) => job,
        Err(e) => {
            eprintln!("{e}");
            return 1;
        }
    };
    match action.as_str() {
        "start" => job.start(),
        "stop" => job.stop(),
        "restart" => job.restart(),
        "reload" => job.signal(signal::HUP, "server signaled"),
        "status" => job.status(),
        "promote" => job.promote(),
        "logrotate" => job.signal(signal::USR1, "server signaled to rotate log file"),
        _ => job.init(),
    }
}

/// The program was called in a wrong way.
fn misused(message: &str) -> i32 {
    eprintln!("{NAME}: {message}");
    eprintln!("Try \"{NAME} --help\" for more information.");
    1
}

fn kill(operands: &[String]) -> i32 {
    let [name, pid] = operands else {
        return misused("missing arguments for kill mode");
    };
    let number = match name.as_str() {
        "ABRT" => 6,
        "HUP" => signal::HUP,
        "INT" => signal::INT,
        "KILL" => 9,
        "QUIT" => signal::QUIT,
        "TERM" => signal::TERM,
        "USR1" => signal::USR1,
        "USR2" => 12,
        other => return misused(&format!("unrecognized signal name \"{other}\"")),
    };
    let Ok(pid) = pid.parse::<i32>() else {
        eprintln!("{NAME}: invalid PID \"{pid}\"");
        return 1;
    };
    match process::kill(pid, number) {
        Ok(()) => 0,
        Err(e) => {
            let reason = reason(&e);
            eprintln!("{NAME}: could not send signal {number} (PID: {pid}): {reason}");
            1
        }
    }
}

/// The system's words for an error, without its number.
fn reason(e: &dyn std::fmt::Display) -> String {
    e.to_string().split(" (os").next().unwrap_or_default().to_string()
}

/// Words of a shell-like line: quotes keep spaces.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let (mut word, mut quote, mut any) = (String::new(), None, false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('\\', None | Some('"')) => word.extend(chars.next()),
            (c, Some(_)) => word.push(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                any = true;
            }
            (c, None) if c.is_whitespace() => {
                if any || !word.is_empty() {
                    out.push(std::mem::take(&mut word));
                }
                any = false;
            }
            (c, None) => word.push(c),
        }
    }
    if any || !word.is_empty() {
        out.push(word);
    }
    out
}

impl Job {
    fn new(given: &Given, action: &str) -> Result<Job, String> {
        let data = given.get("pgdata").map(PathBuf::from);
        let data = data.or_else(|| std::env::var_os("PGDATA").map(PathBuf::from));
        let Some(data) = data else {
            return Err(format!(
                "{NAME}: no database directory specified and environment variable PGDATA unset\n\
                 Try \"{NAME} --help\" for more information."
            ));
        };
        let stop_signal = match given.get("mode").unwrap_or("fast") {
            "s" | "smart" => signal::TERM,
            "f" | "fast" => signal::INT,
            "i" | "immediate" => signal::QUIT,
            other => {
                return Err(format!(
                    "{NAME}: unrecognized shutdown mode \"{other}\"\nTry \"{NAME} --help\" for \
                     more information."
                ));
            }
        };
        let timeout = given.get("timeout").map(str::to_string);
        let timeout = timeout.or_else(|| std::env::var("PGCTLTIMEOUT").ok());
        let own = std::env::current_exe().map_err(|e| e.to_string())?;
        let disk = Disk::real();
        let data = std::path::absolute(&data).map_err(|e| e.to_string())?;
        Ok(Job {
            data,
            disk,
            status: action == "status",
            core_files: given.has("core-files"),
            silent: given.has("silent"),
            wait: !given.has("no-wait"),
            timeout: timeout.and_then(|t| t.parse().ok()).unwrap_or(60),
            stop_signal,
            log: given.get("log").map(PathBuf::from),
            options: given
                .flags
                .iter()
                .filter(|(n, _)| n == "options")
                .flat_map(|(_, v)| words(v))
                .collect(),
            program: given.get("p").map_or(own, PathBuf::from),
        })
    }

    fn say(&self, text: &str) {
        if !self.silent {
            println!("{text}");
        }
    }

    /// Lines of `postmaster.pid`, if it is there.
    fn pid_file(&self) -> Option<Vec<String>> {
        let bytes = self.disk.read(&self.data.join("postmaster.pid")).ok()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some(text.lines().map(str::to_string).collect())
    }

    /// The process number in the file, negative if that is of a session without a server; None if
    /// there is no file. The exit code if the folder or the file is not what it should be.
    fn pid(&self) -> Result<Option<i32>, i32> {
        let (data, code) = (self.data.display(), if self.status { 4 } else { 1 });
        if !self.disk.exists(&self.data) {
            eprintln!("{NAME}: directory \"{data}\" does not exist");
            return Err(code);
        }
        if !self.disk.exists(&self.data.join("PG_VERSION")) {
            eprintln!("{NAME}: directory \"{data}\" is not a database cluster directory");
            return Err(code);
        }
        let Some(lines) = self.pid_file() else { return Ok(None) };
        let file = self.pid_path();
        match lines.first().map(|l| l.trim()) {
            None => eprintln!("{NAME}: the PID file \"{file}\" is empty"),
            Some(first) => match first.parse() {
                Ok(pid) => return Ok(Some(pid)),
                Err(_) => eprintln!("{NAME}: invalid data in PID file \"{file}\""),
            },
        }
        Err(1)
    }

    fn pid_path(&self) -> String {
        self.data.join("postmaster.pid").display().to_string()
    }

    /// Says "waiting...", and asks again and again until `done` has an answer or time is up.
    fn wait_for<R>(&self, what: &str, mut done: impl FnMut() -> Option<R>) -> Option<R> {
        if !self.silent {
            print!("waiting for {what}...");
            flush();
        }
        for i in 0..self.timeout * 50 {
            if let Some(result) = done() {
                return Some(result);
            }
            if i % 50 == 0 && !self.silent {
                print!(".");
                flush();
            }
            os::thread::sleep(Duration::from_millis(20));
        }
        None
    }

    fn start(&self) -> i32 {
        match self.pid() {
            Ok(None) => {}
            Ok(Some(_)) => {
                eprintln!("{NAME}: another server might be running; trying to start server anyway");
            }
            Err(code) => return code,
        }
        self.launch()
    }

    /// Starts a server, whatever the file of process numbers says.
    fn launch(&self) -> i32 {
        if self.core_files && !process::allow_core_files() {
            eprintln!("{NAME}: cannot set core file size limit; disallowed by hard limit");
        }
        let mut args = Vec::new();
        let own = std::env::current_exe().ok();
        if Some(&self.program) == own.as_ref() {
            args.push("postgres".to_string());
        }
        args.push("-D".to_string());
        args.push(self.data.display().to_string());
        args.extend(self.options.iter().cloned());
        let mut child = match process::start_detached(&self.program, &args, self.log.as_deref()) {
            Ok(child) => child,
            Err(e) => {
                let name = self.log.as_deref().unwrap_or(&self.program).display();
                eprintln!("{NAME}: could not open \"{name}\": {}", reason(&e));
                eprintln!("{NAME}: could not start server\nExamine the log output.");
                return 1;
            }
        };
        if !self.wait {
            self.say("server starting");
            return 0;
        }
        let pid = child.id() as i32;
        let ready = self.wait_for("server to start", || {
            if child.try_wait().ok().flatten().is_some() {
                return Some(false);
            }
            let lines = self.pid_file()?;
            let own = lines.first().and_then(|l| l.trim().parse().ok()) == Some(pid);
            let status = lines.get(7).map(|l| l.trim());
            (own && matches!(status, Some("ready" | "standby"))).then_some(true)
        });
        match ready {
            Some(true) => {
                self.say(" done");
                self.say("server started");
                0
            }
            Some(false) => {
                self.say(" stopped waiting");
                eprintln!("{NAME}: could not start server\nExamine the log output.");
                1
            }
            None => {
                self.say(" stopped waiting");
                eprintln!("{NAME}: server did not start in time");
                1
            }
        }
    }

    /// The server that is to be told something, or the message that there is none.
    fn must_run(&self, verb: &str) -> Result<i32, i32> {
        match self.pid()? {
            Some(pid) if pid < 0 => {
                let pid = -pid;
                eprintln!("{NAME}: cannot {verb}; single-user server is running (PID: {pid})");
                Err(1)
            }
            Some(pid) => Ok(pid),
            None => {
                eprintln!("{NAME}: PID file \"{}\" does not exist", self.pid_path());
                eprintln!("Is server running?");
                Err(1)
            }
        }
    }

    fn send(&self, pid: i32, number: i32, what: &str) -> bool {
        match process::kill(pid, number) {
            Ok(()) => true,
            Err(e) => {
                let reason = reason(&e);
                eprintln!("{NAME}: could not send {what} signal (PID: {pid}): {reason}");
                false
            }
        }
    }

    fn stop(&self) -> i32 {
        match self.must_run("stop server") {
            Ok(pid) => self.stop_running(pid),
            Err(code) => code,
        }
    }

    fn stop_running(&self, pid: i32) -> i32 {
        if !self.send(pid, self.stop_signal, "stop") {
            return 1;
        }
        if !self.wait {
            self.say("server shutting down");
            return 0;
        }
        let gone = self.wait_for("server to shut down", || {
            (self.pid_file().is_none() || !process::exists(pid)).then_some(())
        });
        if gone.is_none() {
            self.say(" failed");
            eprintln!("{NAME}: server does not shut down");
            if self.stop_signal == signal::TERM {
                eprintln!(
                    "HINT: The \"-m fast\" option immediately disconnects sessions rather than\n\
                     waiting for session-initiated disconnection."
                );
            }
            return 1;
        }
        self.say(" done");
        self.say("server stopped");
        0
    }

    /// Arguments of the last start, but for the data directory.
    fn last_options(&self) -> Vec<String> {
        let bytes = self.disk.read(&self.data.join("postmaster.opts")).unwrap_or_default();
        let mut all = words(&String::from_utf8_lossy(&bytes)).into_iter().skip(1).peekable();
        let mut out = Vec::new();
        while let Some(word) = all.next() {
            match word.as_str() {
                "postgres" if out.is_empty() => {}
                "-D" => drop(all.next()),
                _ => out.push(word),
            }
        }
        out
    }

    fn restart(&mut self) -> i32 {
        if self.options.is_empty() {
            self.options = self.last_options();
        }
        match self.pid() {
            Ok(Some(pid)) if pid < 0 => {
                let pid = -pid;
                eprintln!(
                    "{NAME}: cannot restart server; single-user server is running (PID: {pid})\n\
                     Please terminate the single-user server and try again."
                );
                return 1;
            }
            Ok(Some(pid)) if process::exists(pid) => {
                let code = self.stop_running(pid);
                if code != 0 {
                    return code;
                }
            }
            Ok(Some(pid)) => {
                eprintln!("{NAME}: old server process (PID: {pid}) seems to be gone");
                eprintln!("starting server anyway");
                return self.launch();
            }
            Ok(None) => {
                eprintln!("{NAME}: PID file \"{}\" does not exist", self.pid_path());
                eprintln!("Is server running?");
                eprintln!("trying to start server anyway");
            }
            Err(code) => return code,
        }
        self.start()
    }

    fn signal(&self, number: i32, done: &str) -> i32 {
        let (verb, what) = match number {
            signal::HUP => ("reload server", "reload"),
            _ => ("rotate log file", "log rotation"),
        };
        match self.must_run(verb) {
            Ok(pid) if self.send(pid, number, what) => {
                self.say(done);
                0
            }
            Ok(_) => 1,
            Err(code) => code,
        }
    }

    fn promote(&self) -> i32 {
        if let Err(code) = self.must_run("promote server") {
            return code;
        }
        eprintln!("{NAME}: cannot promote server; server is not in standby mode");
        1
    }

    fn status(&self) -> i32 {
        let pid = match self.pid() {
            Ok(pid) => pid,
            Err(code) => return code,
        };
        match pid.filter(|pid| process::exists(pid.abs())) {
            None => {
                println!("{NAME}: no server running");
                3
            }
            Some(pid) if pid < 0 => {
                println!("{NAME}: single-user server is running (PID: {})", -pid);
                0
            }
            Some(pid) => {
                println!("{NAME}: server is running (PID: {pid})");
                let bytes = self.disk.read(&self.data.join("postmaster.opts")).unwrap_or_default();
                print!("{}", String::from_utf8_lossy(&bytes));
                0
            }
        }
    }

    fn init(&self) -> i32 {
        let mut args = vec!["initdb".to_string(), "-D".to_string()];
        args.push(self.data.display().to_string());
        args.extend(self.options.iter().cloned());
        let mut command = std::process::Command::new(&self.program);
        if self.silent {
            command.stdout(std::process::Stdio::null());
        }
        match command.args(&args).status() {
            Ok(status) if status.success() => 0,
            _ => {
                eprintln!("{NAME}: database system initialization failed");
                1
            }
        }
    }
}

fn flush() {
    use std::io::Write;
    let _ = std::io::stdout().flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_options() {
        assert_eq!(words(r#"-p 5433 -c 'a b'="x y" \-z"#), ["-p", "5433", "-c", "a b=x y", "-z"]);
        assert_eq!(words("  "), Vec::<String>::new());
    }
}
