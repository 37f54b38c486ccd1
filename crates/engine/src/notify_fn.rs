//! `pg_notify`, `pg_listening_channels`, and other functions that speak to the server.

use crate::StatementEnv;
use crate::notify::Note;
use crate::session::SessionCore;
use base::{Result, bail};
use functions::CallInfo;
use std::sync::Arc;
use types::Datum;

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    let text = |i: usize| match args.get(i) {
        Some(d @ Datum::Bytes(_)) => d.as_str().to_string(),
        _ => String::new(),
    };
    match call.fn_oid.0 {
        3036 => Some(notify(env.core, &text(0), &text(1)).map(|()| Datum::text(""))),
        // `pg_notification_queue_usage`
        3296 => {
            let (waiting, room) = env.core.message_room();
            Some(Ok(Datum::F64(waiting as f64 / room as f64)))
        }
        // `pg_export_snapshot` and `pg_reload_conf`
        3809 => Some(env.core.export_snapshot().map(Datum::string)),
        2621 => Some(Ok(Datum::Bool(env.core.database.reload()))),
        // `pg_rotate_logfile` and `pg_current_logfile`
        2622 => Some(Ok(Datum::Bool(rotate_log(env)))),
        3800 => Some(current_log(env, None)),
        3801 => Some(current_log(env, Some(&text(0)))),
        _ => None,
    }
}

fn rotate_log(env: &StatementEnv<'_>) -> bool {
    let rotated = env.core.database.rotate_log();
    if !rotated {
        let text = "rotation not possible because log collection not active";
        env.core.notice(base::Error::warning(text));
    }
    rotated
}

/// The log file of a form, or the first one.
fn current_log(env: &StatementEnv<'_>, form: Option<&str>) -> Result<Datum> {
    if let Some(form) = form
        && !["stderr", "csvlog", "jsonlog"].contains(&form)
    {
        let e = base::err!(INVALID_PARAMETER_VALUE, "log format \"{form}\" is not supported");
        let known = "The supported log formats are \"stderr\", \"csvlog\", and \"jsonlog\".";
        return Err(e.hint(known));
    }
    let database = &env.core.database;
    let path = database.dir().join("current_logfiles");
    // Without a logging collector there is no such file.
    let Ok(bytes) = database.disk().read(&path) else { return Ok(Datum::Null) };
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().filter_map(|l| l.split_once(' '));
    let found = lines.find(|(kind, _)| form.is_none_or(|f| f == *kind));
    Ok(found.map_or(Datum::Null, |(_, name)| Datum::text(name)))
}

/// The rows of a set-returning one; `None` if it is not among them.
pub fn rows(
    env: &StatementEnv<'_>,
    call: &CallInfo,
    _args: &[Datum],
) -> Option<Result<Vec<Vec<Datum>>>> {
    (call.fn_oid.0 == 3035).then(|| {
        let channels = env.core.listening.lock().channels();
        Ok(channels.iter().map(|c| vec![Datum::text(c)]).collect())
    })
}

/// Sends a message at the end of the transaction.
pub fn notify(core: &SessionCore, channel: &str, payload: &str) -> Result<()> {
    if channel.is_empty() {
        bail!(INVALID_PARAMETER_VALUE, "channel name cannot be empty");
    }
    if channel.len() > crate::ddl::name::MAX_NAME {
        bail!(INVALID_PARAMETER_VALUE, "channel name too long");
    }
    if payload.len() >= 8000 {
        bail!(INVALID_PARAMETER_VALUE, "payload string too long");
    }
    let note =
        Note { pid: core.backend.pid(), channel: Arc::from(channel), payload: Arc::from(payload) };
    core.trace_notify(|_| format!("Async_Notify({channel})"));
    let level = core.txn()?.depth();
    core.listening.lock().notify(level, note);
    Ok(())
}

impl SessionCore {
    /// Bytes of messages that wait for who has most to read, and how many may
    /// (`max_notify_queue_pages`).
    pub(crate) fn message_room(&self) -> (u64, u64) {
        let pages =
            self.database.defaults().get("max_notify_queue_pages").map_or(1, |v| v.as_i64());
        let room = pages.max(1) as u64 * base::PAGE_SIZE as u64;
        (self.database.switchboard.most_waiting(), room)
    }

    /// Before a commit: fails if the transaction's messages find no room.
    pub(crate) fn check_messages(&self) -> Result<()> {
        let listening = self.listening.lock();
        if !listening.is_pending() {
            return Ok(());
        }
        self.trace_notify(|_| "PreCommit_Notify".to_string());
        if listening.begins() {
            self.trace_notify(|pid| format!("Exec_ListenPreCommit({pid})"));
        }
        let (_, room) = self.message_room();
        if !listening.has_room(&self.database.switchboard, self.state.oid, room) {
            bail!(PROGRAM_LIMIT_EXCEEDED, "too many notifications in the NOTIFY queue");
        }
        Ok(())
    }

    /// After a commit with messages, for developers.
    pub(crate) fn trace_sent(&self, committed: bool) {
        if committed {
            self.trace_notify(|_| "AtCommit_Notify".to_string());
            for text in self.listening.lock().trace_unlistens(self.backend.pid()) {
                self.trace_notify(|_| text);
            }
        }
    }

    /// `trace_notify`: tells developers what LISTEN and NOTIFY do. `text` gets the session's
    /// number.
    pub(crate) fn trace_notify(&self, text: impl FnOnce(i32) -> String) {
        if self.settings.lock().bool("trace_notify") {
            let code = base::SqlState::SUCCESSFUL_COMPLETION;
            let text = text(self.backend.pid());
            self.notice(base::Error::with_severity(base::Severity::Debug, code, text));
        }
    }
}
