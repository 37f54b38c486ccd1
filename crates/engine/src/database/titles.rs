//! What `ps -T` and `top -H` show of the threads that run statements: the session's number, as
//! `pg_stat_activity` has it, and the command (`update_process_title`).

use super::Database;
use crate::activity::SessionState;
use crate::log::tag_of;
use std::collections::HashMap;

/// What a thread is called that serves sessions and runs no statement.
pub const BACKEND: &str = "client backend";

/// The threads that have a name of a statement now, by the kernel's numbers.
#[derive(Default)]
pub(super) struct Titles {
    shown: HashMap<u64, String>,
}

impl Titles {
    /// Looks at what is running and renames the threads that have begun or ended something.
    /// Statements are not slowed down: they know nothing of it.
    pub fn refresh(&mut self, database: &Database) {
        let wanted = match database.defaults().get("update_process_title") {
            Some(on) if on.as_bool() => wanted(database),
            _ => HashMap::new(),
        };
        for thread in self.shown.keys().filter(|t| !wanted.contains_key(t)) {
            os::thread::set_name(*thread, BACKEND);
        }
        for (thread, name) in wanted.iter().filter(|(t, name)| self.shown.get(t) != Some(name)) {
            os::thread::set_name(*thread, name);
        }
        self.shown = wanted;
    }
}

fn wanted(database: &Database) -> HashMap<u64, String> {
    let mut out = HashMap::new();
    database.activity.each(|info| {
        if info.state == SessionState::Active
            && !info.background
            && let Some(thread) = os::wait::kernel_id_of(info.thread)
        {
            out.insert(thread, format!("{} {}", info.pid, tag_of(&info.query)));
        }
    });
    out
}
