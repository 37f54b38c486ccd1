//! The server's log: what is written, in which forms (`shape`: text, CSV, JSON), and where to
//! (`target`: standard error, files that rotate, syslog).
//!
//! Lines have PostgreSQL's shapes, so that what reads its logs reads ours.

mod shape;
mod target;

pub use target::Files;

use base::{Error, Severity, SqlState};
use engine::log::{LogLine, LogWho, Verbosity};
use engine::settings::Defaults;
use os::sync::{Mutex, RwLock};
use shape::Line;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use target::{Kind, Syslog};
use types::datetime::TimeZone;

/// What is logged, and in which form.
#[derive(Clone)]
pub struct LogConfig {
    /// `log_line_prefix`
    prefix: String,
    /// `log_min_messages`, as a rank.
    min_messages: u32,
    verbosity: Verbosity,
    zone: Arc<TimeZone>,
    /// `log_destination`
    stderr: bool,
    csv: bool,
    json: bool,
    syslog: Option<Syslog>,
    /// `log_connections`
    connections: Connections,
    disconnections: bool,
}

/// `log_connections`: the aspects that are logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Connections {
    /// A connection came.
    pub receipt: bool,
    /// The client proved who it is.
    pub authentication: bool,
    /// It may use the database.
    pub authorization: bool,
    /// How long all that took.
    pub setup_durations: bool,
}

impl Connections {
    /// From the setting's value; what a Boolean means is as before there were aspects.
    pub fn named(value: &str) -> Connections {
        let three = Connections {
            receipt: true,
            authentication: true,
            authorization: true,
            ..Connections::default()
        };
        let mut out = Connections::default();
        for word in value.split(',').map(|w| w.trim().to_ascii_lowercase()) {
            match word.as_str() {
                "receipt" => out.receipt = true,
                "authentication" => out.authentication = true,
                "authorization" => out.authorization = true,
                "setup_durations" => out.setup_durations = true,
                "all" => return Connections { setup_durations: true, ..three },
                "on" | "true" | "yes" | "1" => return three,
                _ => {}
            }
        }
        out
    }
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            prefix: "%m [%p] ".to_string(),
            min_messages: engine::rank(Severity::Warning),
            verbosity: Verbosity::Default,
            zone: TimeZone::utc(),
            stderr: true,
            csv: false,
            json: false,
            syslog: None,
            connections: Connections::default(),
            disconnections: false,
        }
    }
}

impl LogConfig {
    /// As the settings have it.
    pub fn of(d: &Defaults) -> LogConfig {
        let destinations = d.show("log_destination").to_ascii_lowercase();
        let to = |name: &str| destinations.split(',').any(|w| w.trim() == name);
        LogConfig {
            prefix: d.show("log_line_prefix"),
            min_messages: engine::rank_named(&d.show("log_min_messages")),
            verbosity: Verbosity::named(&d.show("log_error_verbosity")),
            zone: TimeZone::by_name(&d.show("log_timezone")).unwrap_or_else(TimeZone::utc),
            stderr: to("stderr"),
            csv: to("csvlog"),
            json: to("jsonlog"),
            syslog: to("syslog").then(|| Syslog::of(d)),
            connections: Connections::named(&d.show("log_connections")),
            disconnections: d.show("log_disconnections") == "on",
        }
    }
}

/// The log.
pub struct Log {
    config: RwLock<Arc<LogConfig>>,
    /// The server itself.
    own: Arc<LogWho>,
    /// The logging collector's files, once it works.
    files: Mutex<Option<Files>>,
}

impl Default for Log {
    fn default() -> Log {
        Log {
            config: RwLock::default(),
            own: LogWho::server(os::process::id(), "postmaster"),
            files: Mutex::new(None),
        }
    }
}

impl Log {
    /// Changes what is logged.
    pub fn configure(&self, config: LogConfig) {
        *self.config.write() = Arc::new(config);
    }

    /// What of connections is logged.
    pub fn connections(&self) -> Connections {
        self.config.read().connections
    }

    /// `log_disconnections`
    pub fn disconnections(&self) -> bool {
        self.config.read().disconnections
    }

    /// Begins to write to files, `logging_collector`.
    pub fn collect(&self, data: &Path, defaults: &Defaults) -> base::Result<()> {
        let config = self.config.read().clone();
        let files = Files::new(data, defaults, config.zone.clone());
        let folder = defaults.show("log_directory");
        let hint = format!("Future log output will appear in directory \"{folder}\".");
        let e = engine::log::message("redirecting log output to logging collector process");
        self.write(&LogLine::of_server(&e.hint(hint)));
        let mut files = files?;
        files.open_wanted(&config.kinds())?;
        *self.files.lock() = Some(files);
        Ok(())
    }

    /// The configuration was read again.
    pub fn reconfigure_files(&self, defaults: &Defaults) {
        let config = self.config.read().clone();
        if let Some(files) = &mut *self.files.lock() {
            let _ = files.configure(defaults, config.zone.clone());
            let _ = files.open_wanted(&config.kinds());
        }
    }

    /// `pg_rotate_logfile`: false if there are no files.
    pub fn rotate(&self) -> bool {
        match &mut *self.files.lock() {
            Some(files) => {
                files.rotate();
                true
            }
            None => false,
        }
    }

    /// Writes one line of this kind.
    pub fn line(&self, who: &LogWho, kind: Severity, text: &str) {
        let code = SqlState::SUCCESSFUL_COMPLETION;
        let error = Error::with_severity(kind, code, text);
        let tag = if who.session && !who.names().user.is_empty() { "authentication" } else { "" };
        self.write(&LogLine { who: Some(who), tag, ..LogLine::of_server(&error) });
    }

    /// A line of the server itself.
    pub fn server(&self, text: &str) {
        self.write(&LogLine::of_server(&engine::log::message(text)));
    }

    /// A warning of the server itself.
    pub fn warning(&self, text: &str) {
        self.write(&LogLine::of_server(&Error::warning(text)));
    }

    /// An error of a connection that has no session yet, or of the server.
    pub fn error(&self, who: Option<&LogWho>, error: &Error) {
        self.error_at(who, "", error);
    }

    /// The same of a connection that is in this stage.
    pub fn error_at(&self, who: Option<&LogWho>, tag: &str, error: &Error) {
        let least = self.config.read().min_messages;
        if engine::rank(error.fields().severity) >= least {
            self.write(&LogLine { who, tag, ..LogLine::of_server(error) });
        }
    }

    /// Writes what was found worth it.
    pub fn write(&self, line: &LogLine<'_>) {
        let config = self.config.read().clone();
        let who = line.who.unwrap_or(&self.own);
        let shaped = Line {
            line,
            who,
            names: who.names(),
            micros: os::clock::now_micros(),
            zone: &config.zone,
        };
        let verbosity = line.verbosity.unwrap_or(config.verbosity);
        let mut files = self.files.lock();
        let text = || shaped.text(&config.prefix, verbosity);
        if let Some(syslog) = &config.syslog {
            syslog.send(line.error.fields().severity, &text());
        }
        let Some(files) = files.as_mut() else {
            if config.stderr || config.csv || config.json {
                // There is nowhere to report that the log cannot be written.
                let _ = std::io::stderr().lock().write_all(text().as_bytes());
            }
            return;
        };
        if config.stderr {
            files.write(Kind::Text, text().as_bytes());
        }
        if config.csv {
            files.write(Kind::Csv, shaped.csv(verbosity).as_bytes());
        }
        if config.json {
            files.write(Kind::Json, shaped.json(verbosity).as_bytes());
        }
    }
}

impl LogConfig {
    fn kinds(&self) -> Vec<Kind> {
        let all = [(true, Kind::Text), (self.csv, Kind::Csv), (self.json, Kind::Json)];
        all.into_iter().filter(|(on, _)| *on).map(|(_, kind)| kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aspects_of_connections() {
        assert_eq!(Connections::named(""), Connections::default());
        assert!(Connections::named("all").setup_durations);
        assert!(!Connections::named("on").setup_durations && Connections::named("on").receipt);
        let some = Connections::named("receipt, Authorization");
        assert!(some.receipt && some.authorization && !some.authentication);
    }
}
