//! What a session writes to the server's log: its statements and how long they took, errors,
//! notices.

use super::{Portal, Session, TransactionStatus};
use crate::log::{LogLine, StatementLevel, Verbosity, message, tag_of};
use crate::settings::SessionSettings;
use base::{Error, Severity};
use parser::ast::Stmt;

/// Settings about the log, looked up.
#[derive(Clone, Debug)]
pub struct LogSettings {
    /// Some of the settings about statements are on.
    pub statements: bool,
    level: StatementLevel,
    /// Milliseconds; negative is off.
    min_duration: i64,
    sample_duration: i64,
    sample_rate: f64,
    transaction_rate: f64,
    duration: bool,
    parameters: i64,
    parameters_on_error: i64,
    min_messages: u32,
    min_error_statement: u32,
    verbosity: Verbosity,
    /// Kilobytes; negative is off.
    pub temp_files: i64,
    /// `log_lock_waits`
    pub lock_waits: bool,
}

/// Rank in `log_min_messages`, where LOG comes before FATAL.
pub fn rank(severity: Severity) -> u32 {
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

/// The rank of a severity's name in a setting.
pub fn rank_named(name: &str) -> u32 {
    match name {
        "info" => 1,
        "notice" => 2,
        "warning" => 3,
        "error" => 4,
        "log" => 5,
        "fatal" => 6,
        "panic" => 7,
        _ => 0,
    }
}

impl LogSettings {
    /// Looks them up.
    pub fn new(s: &SessionSettings) -> LogSettings {
        let level = StatementLevel::named(s.str("log_statement"));
        let min_duration = s.i64("log_min_duration_statement");
        let sample_duration = s.i64("log_min_duration_sample");
        let duration = s.bool("log_duration");
        let transaction_rate = s.f64("log_transaction_sample_rate");
        LogSettings {
            statements: level != StatementLevel::None
                || min_duration >= 0
                || sample_duration >= 0
                || duration
                || transaction_rate > 0.0,
            level,
            min_duration,
            sample_duration,
            sample_rate: s.f64("log_statement_sample_rate"),
            transaction_rate,
            duration,
            parameters: s.i64("log_parameter_max_length"),
            parameters_on_error: s.i64("log_parameter_max_length_on_error"),
            min_messages: rank_named(s.str("log_min_messages")),
            min_error_statement: rank_named(s.str("log_min_error_statement")),
            verbosity: Verbosity::named(s.str("log_error_verbosity")),
            temp_files: s.i64("log_temp_files"),
            lock_waits: s.bool("log_lock_waits"),
        }
    }
}

impl LogSettings {
    /// True if parameters are told with what goes wrong.
    pub fn tells_parameters(&self) -> bool {
        self.parameters_on_error != 0
    }
}

/// What kind of statement it is, for `log_statement`.
fn level_of(stmt: &Stmt) -> StatementLevel {
    match stmt {
        Stmt::Insert(_) | Stmt::Update(_) | Stmt::Delete(_) | Stmt::Merge(_) => StatementLevel::Mod,
        Stmt::Truncate(_) => StatementLevel::Mod,
        Stmt::Copy(c) if c.is_from => StatementLevel::Mod,
        Stmt::Prepare(p) => level_of(&p.query),
        Stmt::Explain(e) if !e.options.iter().any(|o| o.name == "analyze") => StatementLevel::All,
        Stmt::Explain(e) => level_of(&e.query),
        Stmt::Select(_) if super::is_query(stmt) => StatementLevel::All,
        Stmt::Transaction(_) | Stmt::Copy(_) | Stmt::Execute(_) | Stmt::Deallocate(_) => {
            StatementLevel::All
        }
        Stmt::Set(_) | Stmt::Show(_) | Stmt::Vacuum(_) | Stmt::Checkpoint(_) | Stmt::Reindex(_) => {
            StatementLevel::All
        }
        Stmt::Lock(_) | Stmt::Listen(_) | Stmt::Unlisten(_) | Stmt::Notify(_) => {
            StatementLevel::All
        }
        Stmt::DeclareCursor(_) | Stmt::Fetch(_) | Stmt::Close(_) | Stmt::Discard(_) => {
            StatementLevel::All
        }
        Stmt::Do(_) | Stmt::Call(_) | Stmt::Load(_) | Stmt::SetConstraints(_) => {
            StatementLevel::All
        }
        _ => StatementLevel::Ddl,
    }
}

/// How parameters are shown, at most this many bytes of each; negative is all.
fn shown(values: &[Option<String>], most: i64) -> String {
    let mut out = String::new();
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(&format!("${} = ", i + 1));
        let Some(value) = value else {
            out.push_str("NULL");
            continue;
        };
        let clipped = match usize::try_from(most) {
            Ok(most) if value.len() > most => crate::ddl::name::clip(value, most),
            _ => value.as_str(),
        };
        out.push('\'');
        out.push_str(&clipped.replace('\'', "''"));
        if clipped.len() < value.len() {
            out.push_str("...");
        }
        out.push('\'');
    }
    out
}

/// How a message of the extended protocol is named: `execute p/c`.
pub(super) fn message_name(what: &str, portal: &Portal) -> String {
    let prepared = match portal.prepared.name.as_str() {
        "" => "<unnamed>",
        name => name,
    };
    match portal.name.as_str() {
        "" => format!("{what} {prepared}"),
        name => format!("{what} {prepared}/{name}"),
    }
}

impl Session {
    fn log_settings(&self) -> LogSettings {
        self.core.resolved().log.clone()
    }

    /// Writes a line of this session, whatever the thresholds.
    fn write_log(&self, settings: &LogSettings, e: &Error, statement: Option<&str>, tag: &str) {
        let application = self.show("application_name").unwrap_or_default();
        let txn = self.core.txn_if_any();
        let (proc, local) = self.core.backend.virtual_xid();
        let vxid = Some((proc, if txn.is_some() { local } else { 0 }));
        let line = LogLine {
            who: self.core.who.as_deref(),
            error: e,
            statement,
            tag,
            application: &application,
            vxid,
            xid: txn.and_then(|t| t.top_xid_if_any()).map_or(0, |x| x.0),
            query_id: self.place.query_id(),
            verbosity: Some(settings.verbosity),
        };
        self.core.database.write_log(&line);
    }

    /// Writes an error or notice, if the session's thresholds let it through.
    pub fn log_error(&self, e: &Error, statement: Option<&str>) {
        let settings = self.log_settings();
        let rank = rank(e.fields().severity);
        if e.code() == base::SqlState::T_R_DEADLOCK_DETECTED {
            let database = self.core.state.oid;
            self.core.database.stats.change_database(database, |d| d.deadlocks += 1);
        }
        if rank < settings.min_messages {
            return;
        }
        let tag = match statement {
            // A message that failed before its statement was run goes by its own name.
            Some(text) => match self.failed_message.take() {
                "" => tag_of(text),
                message => message.to_string(),
            },
            None => self.place.running().map_or(String::new(), |text| tag_of(&text)),
        };
        let tag = if tag.is_empty() { self.idle_tag().to_string() } else { tag };
        let statement = statement.filter(|_| rank >= settings.min_error_statement);
        if e.code() == base::SqlState::T_R_DEADLOCK_DETECTED {
            let e = &self.with_statements(e);
            return self.write_log(&settings, e, statement, &tag);
        }
        self.write_log(&settings, e, statement, &tag);
    }

    /// A deadlock with the statements of those in it, which only the log is told.
    fn with_statements(&self, e: &Error) -> Error {
        let mut detail = e.fields().detail.clone().unwrap_or_default();
        let pids: Vec<i32> = detail
            .lines()
            .filter_map(|l| l.strip_prefix("Process ")?.split(' ').next()?.parse().ok())
            .collect();
        for pid in pids {
            if let Some((info, _)) = self.core.database.activity().session(pid) {
                detail.push_str(&format!("\nProcess {pid}: {}", info.query));
            }
        }
        e.clone().detail(detail)
    }

    /// What the session does between statements.
    fn idle_tag(&self) -> &'static str {
        match self.status() {
            TransactionStatus::Idle => "idle",
            TransactionStatus::InBlock => "idle in transaction",
            TransactionStatus::Failed => "idle in transaction (aborted)",
        }
    }

    fn wants_statement(&self, level: StatementLevel, stmt: Option<&Stmt>) -> bool {
        match (level, stmt) {
            (StatementLevel::None, _) => false,
            (StatementLevel::All, _) => true,
            (_, Some(stmt)) => {
                if let Stmt::Execute(e) = stmt
                    && let Ok(p) = self.find_prepared(&e.name)
                {
                    return p.stmt.as_ref().is_some_and(|s| level_of(&s.stmt) <= level);
                }
                level_of(stmt) <= level
            }
            _ => false,
        }
    }

    /// Before a string of statements is run: `log_statement`. True if it was logged.
    pub(super) fn log_string(&self, text: &str) -> bool {
        let settings = self.log_settings();
        if settings.level == StatementLevel::None {
            return false;
        }
        // What is not understood is logged as an error; what there is to tell is told later.
        let parsed = parser::parse_with(text, self.core.resolved().parse, &mut Vec::new());
        let Ok(statements) = parsed else { return false };
        if !statements.iter().any(|s| self.wants_statement(settings.level, Some(&s.stmt))) {
            return false;
        }
        let mut e = message(format!("statement: {text}"));
        for s in &statements {
            if let Stmt::Execute(x) = &s.stmt
                && let Ok(p) = self.find_prepared(&x.name)
            {
                e = e.detail(format!("prepare: {}", p.text));
                break;
            }
        }
        self.write_log(&settings, &e, None, self.idle_tag());
        true
    }

    /// After something took `nanos`: `log_duration` and its like. `what` and `text` are told
    /// unless they were `logged` already.
    pub(super) fn log_duration(&self, nanos: u64, logged: bool, told: Told<'_>) {
        let settings = self.log_settings();
        let ms = nanos / 1_000_000;
        let over = |least: i64| least == 0 || least > 0 && ms >= least as u64;
        let exceeded = over(settings.min_duration);
        let sampled = over(settings.sample_duration) && chance(settings.sample_rate);
        let by_transaction = chance(settings.transaction_rate);
        if !(exceeded || sampled || by_transaction || settings.duration) {
            return;
        }
        let mut text = format!("duration: {}.{:03} ms", ms, nanos / 1000 % 1000);
        let whole = (exceeded || sampled || by_transaction) && !logged;
        if whole {
            text.push_str(&format!("  {}: {}", told.what, told.text));
        }
        let mut e = message(text);
        if whole && let Some(portal) = told.portal {
            e = self.with_parameters(e, portal, settings.parameters);
        }
        self.write_log(&settings, &e, None, told.tag);
    }

    /// Before a portal is run for the first time: `log_statement`. True if it was logged.
    pub(super) fn log_execute(&self, portal: &Portal, what: &str) -> bool {
        let settings = self.log_settings();
        let stmt = portal.prepared.stmt.as_ref().map(|s| &s.stmt);
        if !self.wants_statement(settings.level, stmt) {
            return false;
        }
        let text = format!("{}: {}", message_name(what, portal), portal.prepared.text);
        let e = self.with_parameters(message(text), portal, settings.parameters);
        self.write_log(&settings, &e, None, &tag_of(&portal.prepared.text));
        true
    }

    fn with_parameters(&self, e: Error, portal: &Portal, most: i64) -> Error {
        if most == 0 || portal.params.is_empty() {
            return e;
        }
        match self.parameter_texts(portal) {
            Some(values) => e.detail(format!("Parameters: {}", shown(&values, most))),
            None => e,
        }
    }

    fn parameter_texts(&self, portal: &Portal) -> Option<Vec<Option<String>>> {
        use functions::FnEnv;
        let env = self.env().ok()?;
        let types = portal.prepared.analysed.lock().params.clone();
        let io = env.io();
        let text = |(value, oid): (&types::Datum, &base::Oid)| match value.is_null() {
            true => Some(None),
            false => {
                let mut out = Vec::new();
                types::io::output(*oid, value, &io, &mut out).ok()?;
                Some(Some(String::from_utf8_lossy(&out).into_owned()))
            }
        };
        portal.params.iter().zip(&types).map(text).collect()
    }

    /// The context of an error in a portal, if `log_parameter_max_length_on_error` wants it.
    pub(super) fn parameter_context(&self, portal: &Portal) -> Option<String> {
        let most = self.core.resolved().log.parameters_on_error;
        if most == 0 || portal.params.is_empty() {
            return None;
        }
        let name = portal_words(&portal.name);
        let values = self.parameter_texts(portal)?;
        Some(format!("{name} with parameters: {}", shown(&values, most)))
    }

    /// The context of an error in reading parameter `i` of a portal that is being bound; `text` is
    /// what came, unless that was binary.
    #[cold]
    pub(super) fn bind_context(&self, portal: &str, i: usize, text: Option<&str>) -> String {
        let most = self.core.resolved().log.parameters_on_error;
        let name = portal_words(portal);
        match text.map(|t| shown(&[Some(t.to_string())], most)) {
            None => format!("{name} parameter ${}", i + 1),
            Some(shown) => format!("{name} parameter ${}{}", i + 1, &shown[2..]),
        }
    }

    /// The statement that the last extended message's error is about.
    pub fn take_blamed(&mut self) -> Option<String> {
        self.blamed.take().map(|text| text.to_string())
    }
}

fn portal_words(name: &str) -> String {
    match name {
        "" => "unnamed portal".to_string(),
        name => format!("portal \"{name}\""),
    }
}

/// What took its time.
pub(super) struct Told<'a> {
    /// `statement`, or a message and its objects.
    pub what: &'a str,
    /// The statement.
    pub text: &'a str,
    /// The command tag.
    pub tag: &'a str,
    /// Whose parameters are told.
    pub portal: Option<&'a Portal>,
}

fn chance(rate: f64) -> bool {
    rate >= 1.0 || rate > 0.0 && (os::random::u64() >> 11) as f64 / (1u64 << 53) as f64 <= rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_quoted_and_clipped() {
        let values = [Some("it's".to_string()), None, Some("long text".to_string())];
        assert_eq!(shown(&values, -1), "$1 = 'it''s', $2 = NULL, $3 = 'long text'");
        assert_eq!(shown(&values, 4), "$1 = 'it''s', $2 = NULL, $3 = 'long...'");
    }

    #[test]
    fn levels_of_statements() {
        let level = |sql: &str| level_of(&parser::parse(sql).unwrap()[0].stmt);
        assert_eq!(level("select 1"), StatementLevel::All);
        assert_eq!(level("insert into t values (1)"), StatementLevel::Mod);
        assert_eq!(level("copy t from stdin"), StatementLevel::Mod);
        assert_eq!(level("copy t to stdout"), StatementLevel::All);
        assert_eq!(level("create table t (a int)"), StatementLevel::Ddl);
        assert_eq!(level("select 1 into t"), StatementLevel::Ddl);
        assert_eq!(level("vacuum"), StatementLevel::All);
    }
}
