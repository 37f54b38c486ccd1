//! The forms of a line: text with a prefix, CSV, JSON.

use base::SqlState;
use engine::log::{LogLine, LogNames, LogWho, Verbosity};
use engine::log_time::{full_time, seconds_time};
use std::fmt::Write;
use types::datetime::TimeZone;

/// A line and what all its forms share.
pub struct Line<'a> {
    /// What is told.
    pub line: &'a LogLine<'a>,
    /// Whose it is.
    pub who: &'a LogWho,
    /// The names known now.
    pub names: LogNames,
    /// When it was written, in microseconds since 1970.
    pub micros: i64,
    /// `log_timezone`
    pub zone: &'a TimeZone,
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "[unknown]" } else { text }
}

impl Line<'_> {
    fn session_id(&self) -> String {
        format!("{:x}.{:x}", self.who.start_micros / 1_000_000, self.who.pid)
    }

    fn vxid(&self) -> String {
        self.line.vxid.map_or_else(String::new, |(proc, local)| format!("{proc}/{local}"))
    }

    fn remote(&self, open: &str, close: &str) -> String {
        match &self.who.remote {
            Some((host, port)) if port.is_empty() => host.clone(),
            Some((host, port)) => format!("{host}{open}{port}{close}"),
            None => String::new(),
        }
    }

    /// One escape's text; None ends the prefix.
    fn escape(&self, c: char) -> Option<String> {
        let session = self.who.session;
        let of_session = |text: &str| if session { text.to_string() } else { String::new() };
        Some(match c {
            'a' => of_session(or_unknown(self.line.application)),
            'u' => of_session(or_unknown(&self.names.user)),
            'd' => of_session(or_unknown(&self.names.database)),
            'r' => self.remote("(", ")"),
            'h' => self.who.remote.as_ref().map_or(String::new(), |(host, _)| host.clone()),
            'L' => self.who.local.clone().unwrap_or_else(|| match session {
                true => "[local]".into(),
                false => "[none]".into(),
            }),
            'b' => self.names.backend_type.clone(),
            'p' => self.who.pid.to_string(),
            'P' => String::new(),
            't' => seconds_time(self.micros, self.zone),
            'm' => full_time(self.micros, self.zone),
            'n' => format!("{}.{:03}", self.micros / 1_000_000, self.micros / 1000 % 1000),
            'i' => of_session(self.line.tag),
            'e' => self.line.error.code().as_str().to_string(),
            'c' => self.session_id(),
            'l' => self.who.next_line(0).to_string(),
            's' => seconds_time(self.who.start_micros, self.zone),
            'v' => self.vxid(),
            'x' => self.line.xid.to_string(),
            'q' if session => String::new(),
            'q' => return None,
            'Q' => self.line.query_id.to_string(),
            '%' => "%".into(),
            _ => String::new(),
        })
    }

    fn prefix(&self, prefix: &str, out: &mut String) {
        let mut chars = prefix.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut padding = String::new();
            while let Some(c) = chars.next_if(|c| *c == '-' || c.is_ascii_digit()) {
                padding.push(c);
            }
            let Some(c) = chars.next() else { return };
            let Some(text) = self.escape(c) else { return };
            let width = padding.parse::<i32>().unwrap_or(0).clamp(-1000, 1000);
            let room = width.unsigned_abs() as usize;
            let _ = match width < 0 {
                true => write!(out, "{text:<room$}"),
                false => write!(out, "{text:>room$}"),
            };
        }
    }

    fn message(&self) -> String {
        let f = self.line.error.fields();
        match f.position.or(f.internal_position) {
            Some(position) => format!("{} at character {position}", f.message),
            None => f.message.clone(),
        }
    }

    /// As text: one line for each part, each with the prefix.
    pub fn text(&self, prefix: &str, verbosity: Verbosity) -> String {
        let f = self.line.error.fields();
        let mut out = String::new();
        let mut part = |kind: &str, text: &str| {
            self.prefix(prefix, &mut out);
            out.push_str(kind);
            out.push_str(":  ");
            // Lines that go on are indented, so that they are not taken for new ones.
            out.push_str(&text.replace('\n', "\n\t"));
            out.push('\n');
        };
        let mut message = self.message();
        if verbosity == Verbosity::Verbose {
            message.insert_str(0, &format!("{}: ", f.code.as_str()));
        }
        part(f.severity.as_str(), &message);
        if verbosity != Verbosity::Terse {
            let parts = [
                ("DETAIL", &f.detail),
                ("HINT", &f.hint),
                ("QUERY", &f.internal_query),
                ("CONTEXT", &f.context),
            ];
            for (kind, text) in parts {
                if let Some(text) = text {
                    part(kind, text);
                }
            }
        }
        if let Some(statement) = self.line.statement {
            part("STATEMENT", statement);
        }
        out
    }

    /// As a row of the table that PostgreSQL's documentation shows.
    pub fn csv(&self, verbosity: Verbosity) -> String {
        let f = self.line.error.fields();
        let terse = verbosity == Verbosity::Terse;
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let known = |text: &str| if text.is_empty() { String::new() } else { quoted(text) };
        let part = |text: &Option<String>| match text {
            Some(text) if !terse => quoted(text),
            _ => String::new(),
        };
        let session = self.who.session;
        let position = |at: Option<u32>| at.map_or(String::new(), |n| n.to_string());
        let internal = f.internal_query.as_ref().and(f.internal_position);
        let fields = [
            full_time(self.micros, self.zone),
            known(&self.names.user),
            known(&self.names.database),
            self.who.pid.to_string(),
            known(&self.remote(":", "")),
            self.session_id(),
            self.who.next_line(1).to_string(),
            if session { quoted(self.line.tag) } else { String::new() },
            seconds_time(self.who.start_micros, self.zone),
            self.vxid(),
            self.line.xid.to_string(),
            f.severity.as_str().to_string(),
            f.code.as_str().to_string(),
            quoted(&f.message),
            part(&f.detail),
            part(&f.hint),
            part(&f.internal_query),
            position(internal),
            part(&f.context),
            self.line.statement.map_or(String::new(), quoted),
            position(f.position.filter(|_| self.line.statement.is_some())),
            String::new(),
            quoted(self.line.application),
            quoted(&self.names.backend_type),
            String::new(),
            self.line.query_id.to_string(),
        ];
        let mut out = fields.join(",");
        out.push('\n');
        out
    }

    /// As a JSON object; what is not known is left out.
    pub fn json(&self, verbosity: Verbosity) -> String {
        let f = self.line.error.fields();
        let terse = verbosity == Verbosity::Terse;
        let mut out = String::from("{");
        let mut put = |key: &str, value: Option<Json<'_>>| {
            let Some(value) = value else { return };
            if out.len() > 1 {
                out.push(',');
            }
            let _ = write!(out, "\"{key}\":");
            match value {
                Json::Number(n) => {
                    let _ = write!(out, "{n}");
                }
                Json::Text(text) => out.push_str(&types::json::quoted(text)),
            }
        };
        fn text(t: &str) -> Option<Json<'_>> {
            (!t.is_empty()).then_some(Json::Text(t))
        }
        let optional = |t: &'_ Option<String>| if terse { None } else { t.clone() };
        put("timestamp", text(&full_time(self.micros, self.zone)));
        put("user", text(&self.names.user));
        put("dbname", text(&self.names.database));
        put("pid", Some(Json::Number(self.who.pid.into())));
        if let Some((host, port)) = &self.who.remote {
            put("remote_host", text(host));
            put("remote_port", port.parse().ok().map(Json::Number));
        }
        put("session_id", text(&self.session_id()));
        put("line_num", Some(Json::Number(self.who.next_line(2) as i64)));
        put("ps", self.who.session.then_some(Json::Text(self.line.tag)));
        put("session_start", text(&seconds_time(self.who.start_micros, self.zone)));
        put("vxid", text(&self.vxid()));
        put("txid", Some(Json::Number(self.line.xid as i64)));
        put("error_severity", text(f.severity.as_str()));
        let known = f.code != SqlState::SUCCESSFUL_COMPLETION;
        put("state_code", known.then(|| Json::Text(f.code.as_str())));
        put("message", text(&f.message));
        put("detail", optional(&f.detail).as_deref().map(Json::Text));
        put("hint", optional(&f.hint).as_deref().map(Json::Text));
        put("internal_query", optional(&f.internal_query).as_deref().map(Json::Text));
        let number = |n: Option<u32>| n.map(|n| Json::Number(n.into()));
        put("internal_position", number(f.internal_query.as_ref().and(f.internal_position)));
        put("context", optional(&f.context).as_deref().map(Json::Text));
        put("statement", self.line.statement.map(Json::Text));
        put("cursor_position", number(f.position.filter(|_| self.line.statement.is_some())));
        put("application_name", text(self.line.application));
        put("backend_type", text(&self.names.backend_type));
        put("query_id", Some(Json::Number(self.line.query_id)));
        out.push_str("}\n");
        out
    }
}

enum Json<'a> {
    Text(&'a str),
    Number(i64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::err;

    fn shaped(check: impl Fn(&Line<'_>)) {
        let who = LogWho::client(42, ("10.0.0.1".into(), "5000".into()), None);
        who.set_names(|n| {
            n.user = "ann".into();
            n.database = "d".into();
            n.backend_type = "client backend".into();
        });
        let error = err!(DIVISION_BY_ZERO, "division \"by\" zero").detail("a\nb");
        let line = LogLine {
            who: Some(&who),
            statement: Some("select 1/0"),
            tag: "SELECT",
            application: "psql",
            vxid: Some((3, 7)),
            ..LogLine::of_server(&error)
        };
        let zone = TimeZone::utc();
        check(&Line {
            line: &line,
            who: &who,
            names: who.names(),
            micros: 1_709_210_096_789_000,
            zone: &zone,
        });
    }

    #[test]
    fn text_with_all_escapes() {
        shaped(|line| {
            let text = line.text("%t %p %u@%d %r %e %i %l %v %-6a|%6h%q %% ", Verbosity::Default);
            let first = "2024-02-29 12:34:56 UTC 42 ann@d 10.0.0.1(5000) 22012 SELECT 1 3/7 \
                         psql  |10.0.0.1 % ERROR:  division \"by\" zero";
            assert_eq!(text.lines().next(), Some(first));
            assert_eq!(text.lines().filter(|l| l.starts_with('\t')).count(), 1);
            assert!(line.text("", Verbosity::Terse).ends_with("STATEMENT:  select 1/0\n"));
            assert!(!line.text("", Verbosity::Terse).contains("DETAIL"));
            assert!(line.text("", Verbosity::Verbose).starts_with("ERROR:  22012: division"));
        });
    }

    #[test]
    fn csv_and_json() {
        shaped(|line| {
            let csv = line.csv(Verbosity::Default);
            assert!(
                csv.starts_with("2024-02-29 12:34:56.789 UTC,\"ann\",\"d\",42,\"10.0.0.1:5000\",")
            );
            assert!(csv.contains(",ERROR,22012,\"division \"\"by\"\" zero\",\"a\nb\",,,,,"));
            assert!(csv.ends_with("\"select 1/0\",,,\"psql\",\"client backend\",,0\n"));
            let json = line.json(Verbosity::Default);
            assert!(
                json.contains("\"state_code\":\"22012\",\"message\":\"division \\\"by\\\" zero\"")
            );
            assert!(json.contains("\"remote_port\":5000"));
        });
    }
}
