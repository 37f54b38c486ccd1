//! Lines of the server's log, as PostgreSQL writes them to standard error.

use base::{Error, Severity};
use os::sync::RwLock;
use std::io::Write;
use std::net::SocketAddr;

/// Whose line it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Who<'a> {
    /// The session's number; 0 is the server itself.
    pub pid: i32,
    /// The user.
    pub user: &'a str,
    /// The database.
    pub database: &'a str,
    /// The client's address.
    pub address: Option<SocketAddr>,
}

/// What is logged, and how lines begin.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// `log_line_prefix`
    pub prefix: String,
    /// `log_min_messages`
    pub min_messages: Severity,
    /// `log_min_error_statement`
    pub min_error_statement: Severity,
    /// `log_connections`
    pub connections: bool,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            prefix: "%m [%p] ".to_string(),
            min_messages: Severity::Warning,
            min_error_statement: Severity::Error,
            connections: false,
        }
    }
}

/// The log.
#[derive(Default)]
pub struct Log {
    config: RwLock<LogConfig>,
}

/// Rank in `log_min_messages`, where LOG comes before FATAL.
fn rank(severity: Severity) -> u32 {
    match severity {
        Severity::Debug => 0,
        Severity::Info => 1,
        Severity::Notice => 2,
        Severity::Warning => 3,
        Severity::Error => 4,
        Severity::Log => 5,
        Severity::Fatal => 6,
        Severity::Panic => 7,
    }
}

/// A severity from its name in a setting.
pub fn severity_of(name: &str) -> Severity {
    match name.to_ascii_lowercase().as_str() {
        "info" => Severity::Info,
        "notice" => Severity::Notice,
        "warning" => Severity::Warning,
        "error" => Severity::Error,
        "log" => Severity::Log,
        "fatal" => Severity::Fatal,
        "panic" => Severity::Panic,
        _ => Severity::Debug,
    }
}

/// A time as `2026-01-31 12:00:00.123 UTC`; without milliseconds if `seconds`.
pub fn timestamp(micros: i64, seconds: bool) -> String {
    let days = micros.div_euclid(86_400_000_000);
    let rest = micros.rem_euclid(86_400_000_000);
    let (y, m, d) = civil(days);
    let (h, min, s) = (rest / 3_600_000_000, rest / 60_000_000 % 60, rest / 1_000_000 % 60);
    let date = format!("{y:04}-{m:02}-{d:02} {h:02}:{min:02}:{s:02}");
    if seconds { format!("{date} UTC") } else { format!("{date}.{:03} UTC", rest / 1000 % 1000) }
}

/// Year, month and day of a day counted from 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let m = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + (m <= 2) as i64, m, doy - (153 * mp + 2) / 5 + 1)
}

impl Log {
    /// Changes what is logged.
    pub fn configure(&self, config: LogConfig) {
        *self.config.write() = config;
    }

    /// Whether connections are logged.
    pub fn connections(&self) -> bool {
        self.config.read().connections
    }

    fn prefix(&self, who: &Who<'_>, out: &mut String) {
        let config = self.config.read();
        let own = os::process::id();
        let mut chars = config.prefix.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let now = os::clock::now_micros();
            match chars.next() {
                Some('m') => out.push_str(&timestamp(now, false)),
                Some('t' | 's') => out.push_str(&timestamp(now, true)),
                Some('n') => out.push_str(&format!("{:.3}", now as f64 / 1e6)),
                Some('p') => {
                    out.push_str(&if who.pid != 0 { who.pid } else { own }.to_string());
                }
                Some('P') => {}
                Some('u') if who.pid != 0 => out.push_str(or_unknown(who.user)),
                Some('d') if who.pid != 0 => out.push_str(or_unknown(who.database)),
                Some('a') if who.pid != 0 => out.push_str("[unknown]"),
                Some('r') if who.pid != 0 => {
                    out.push_str(
                        &who.address
                            .map_or("[local]".into(), |a| format!("{}({})", a.ip(), a.port())),
                    );
                }
                Some('h') if who.pid != 0 => {
                    out.push_str(&who.address.map_or("[local]".into(), |a| a.ip().to_string()));
                }
                Some('q') if who.pid == 0 => return,
                Some('%') => out.push('%'),
                _ => {}
            }
        }
    }

    /// Writes one line of this kind.
    pub fn line(&self, who: &Who<'_>, kind: &str, text: &str) {
        let mut out = String::new();
        self.prefix(who, &mut out);
        out.push_str(kind);
        out.push_str(":  ");
        // Lines that go on are indented, so that they are not taken for new ones.
        out.push_str(&text.replace('\n', "\n\t"));
        out.push('\n');
        // There is nowhere to report that the log cannot be written.
        let _ = std::io::stderr().lock().write_all(out.as_bytes());
    }

    /// A line of the server itself.
    pub fn server(&self, text: &str) {
        self.line(&Who::default(), "LOG", text);
    }

    /// An error or notice with all its parts, and the statement that raised it.
    pub fn error(&self, who: &Who<'_>, error: &Error, statement: Option<&str>) {
        let f = error.fields();
        let (wanted, with_statement) = {
            let config = self.config.read();
            (
                rank(f.severity) >= rank(config.min_messages),
                rank(f.severity) >= rank(config.min_error_statement),
            )
        };
        if !wanted {
            return;
        }
        let mut message = f.message.clone();
        if let Some(position) = f.position {
            message.push_str(&format!(" at character {position}"));
        }
        self.line(who, f.severity.as_str(), &message);
        let parts = [("DETAIL", &f.detail), ("HINT", &f.hint), ("CONTEXT", &f.context)];
        for (kind, text) in parts {
            if let Some(text) = text {
                self.line(who, kind, text);
            }
        }
        if let (Some(statement), true) = (statement, with_statement) {
            self.line(who, "STATEMENT", statement);
        }
    }
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "[unknown]" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(timestamp(0, true), "1970-01-01 00:00:00 UTC");
        assert_eq!(timestamp(1_709_210_096_789_000, false), "2024-02-29 12:34:56.789 UTC");
    }
}
