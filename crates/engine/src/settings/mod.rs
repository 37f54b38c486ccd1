//! The settings of a session, with the semantics of transactions: SET is undone by a rollback,
//! SET LOCAL ends with the transaction, and savepoints nest.

mod check;
mod named;
mod preload;
mod resolved;

pub(crate) use check::shortened_name;
pub use check::{canonical, split_list};
pub(crate) use named::is_secret;
pub use preload::check_preloaded;
pub use resolved::timeouts_used;
pub use resolved::{PlanCacheMode, Resolved, isolation_named, isolation_value};
pub(crate) use resolved::{Timing, TrackFunctions};

use crate::log::message;
use base::settings::{self, SettingContext, SettingDef, SettingValue};
use base::{Error, Result, Severity, bail, err};
use std::collections::HashMap;
use std::sync::Arc;

/// Where a value comes from, in `pg_settings.source`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// Built in.
    Default,
    /// Found out by the server itself.
    Override,
    /// Command line or environment.
    CommandLine,
    /// `postgresql.conf`
    File,
    /// ALTER ROLE ALL SET
    Global,
    /// ALTER DATABASE SET
    Database,
    /// ALTER ROLE SET
    User,
    /// ALTER ROLE IN DATABASE SET
    DatabaseUser,
    /// The connection's start-up packet.
    Client,
    /// SET
    Session,
}

impl Source {
    /// As `pg_settings.source` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::Override => "override",
            Source::CommandLine => "command line",
            Source::File => "configuration file",
            Source::Global => "global",
            Source::Database => "database",
            Source::User => "user",
            Source::DatabaseUser => "database user",
            Source::Client => "client",
            Source::Session => "session",
        }
    }
}

/// A line of a configuration file.
#[derive(Clone, Debug, Default)]
pub struct FileEntry {
    /// The file.
    pub file: Arc<str>,
    /// The line.
    pub line: u32,
    /// The setting.
    pub name: String,
    /// Its value there.
    pub value: String,
    /// The value counts.
    pub applied: bool,
    /// Why it cannot be used.
    pub error: Option<String>,
    /// Where the syntax is wrong.
    pub near: Option<String>,
}

/// The values a session starts with: those of the server.
#[derive(Clone, Debug)]
pub struct Defaults {
    values: Vec<SettingValue>,
    sources: Vec<Source>,
    /// Which line of which file, for those that come from one.
    places: Vec<Option<(Arc<str>, u32)>>,
    /// The files have another value, which counts after a restart.
    pending: Vec<bool>,
    entries: Arc<Vec<FileEntry>>,
    /// Settings with a dot in their names.
    custom: HashMap<String, SettingValue>,
}

impl Default for Defaults {
    fn default() -> Defaults {
        let all = settings::all();
        let mut defaults = Defaults {
            values: all.iter().map(SettingDef::boot_value).collect(),
            sources: vec![Source::Default; all.len()],
            places: vec![None; all.len()],
            pending: vec![false; all.len()],
            entries: Arc::default(),
            custom: HashMap::new(),
        };
        // What is not as the list has it for a server that has not been made yet.
        for (name, value) in [
            ("server_encoding", "UTF8"),
            ("client_encoding", "UTF8"),
            ("data_checksums", "on"),
            ("timezone_abbreviations", "Default"),
            ("io_max_concurrency", "64"),
            ("max_stack_depth", "2048"),
            ("huge_pages_status", "off"),
        ] {
            if let Some(def) = settings::find(name)
                && let Ok(value) = def.parse(value)
            {
                defaults.values[def.index] = value;
            }
        }
        for name in ["isolation", "read_only", "deferrable"] {
            if let Some(def) = settings::find(&format!("transaction_{name}")) {
                defaults.sources[def.index] = Source::Override;
            }
        }
        defaults
    }
}

impl Defaults {
    /// Sets a value that comes from `source`; checks it.
    pub fn set(&mut self, name: &str, text: &str, source: Source) -> Result<()> {
        if settings::find(name).is_none()
            && let Key::Custom(name) = custom(name)?
        {
            self.custom.insert(name, SettingValue::Text(Arc::from(text)));
            return Ok(());
        }
        let def = settings::require(name)?;
        self.values[def.index] = canonical(def, text)?;
        self.sources[def.index] = source;
        Ok(())
    }

    /// Takes what configuration files say; gives what was wrong with it.
    pub fn set_from_files(&mut self, mut entries: Vec<FileEntry>) -> Vec<Error> {
        let mut errors = Vec::new();
        for i in 0..entries.len() {
            let e = &entries[i];
            let place = (e.file.clone(), e.line);
            let (file, line) = (e.file.clone(), e.line);
            if let Some(near) = &e.near {
                errors.push(err!(
                    CONFIG_FILE_ERROR,
                    "syntax error in file \"{file}\" line {line}, near \"{near}\""
                ));
                continue;
            }
            match self.set(&e.name, &e.value, Source::File) {
                Ok(()) => {
                    let name = e.name.to_ascii_lowercase();
                    if let Some(def) = settings::find(&name) {
                        self.places[def.index] = Some(place);
                    }
                    // An earlier line of the same setting does not count any more.
                    for before in &mut entries[..i] {
                        if before.name.eq_ignore_ascii_case(&name) {
                            before.applied = false;
                        }
                    }
                    entries[i].applied = true;
                }
                Err(error) => {
                    entries[i].error = Some(match settings::find(&entries[i].name) {
                        Some(_) => "setting could not be applied".into(),
                        None => "unrecognized configuration parameter".into(),
                    });
                    let name = &entries[i].name;
                    errors.push(match settings::find(name) {
                        Some(_) => error,
                        None => err!(
                            CONFIG_FILE_ERROR,
                            "unrecognized configuration parameter \"{name}\" in file \"{file}\" \
                             line {line}"
                        ),
                    });
                }
            }
        }
        self.entries = Arc::new(entries);
        errors
    }

    /// After the files were read again: what only a restart can change stays as it was in
    /// `before`. Gives lines for the log.
    pub fn continue_from(&mut self, before: &Defaults) -> Vec<Error> {
        let mut told = Vec::new();
        for def in settings::all() {
            let i = def.index;
            if self.values[i] == before.values[i] {
                continue;
            }
            let name = def.name;
            if def.context <= SettingContext::Postmaster {
                // What only follows from another setting has no line that could be wrong.
                let follows =
                    [self.sources[i], before.sources[i]].iter().all(|s| *s != Source::File);
                self.values[i] = before.values[i].clone();
                self.sources[i] = before.sources[i];
                if follows {
                    continue;
                }
                self.pending[i] = true;
                told.push(
                    err!(
                        CANT_CHANGE_RUNTIME_PARAM,
                        "parameter \"{name}\" cannot be changed without restarting the server"
                    )
                    .severity(Severity::Log),
                );
            } else if self.sources[i] == Source::File {
                let value = def.show(&self.values[i]);
                told.push(message(format!("parameter \"{name}\" changed to \"{value}\"")));
            } else {
                told.push(message(format!(
                    "parameter \"{name}\" removed from configuration file, reset to default"
                )));
            }
        }
        told
    }

    /// The lines of the configuration files.
    pub fn entries(&self) -> &[FileEntry] {
        &self.entries
    }

    /// The file and line that a value comes from.
    pub fn place(&self, index: usize) -> Option<&(Arc<str>, u32)> {
        self.places[index].as_ref().filter(|_| self.sources[index] == Source::File)
    }

    /// True if the value in the files counts after a restart only.
    pub fn is_pending(&self, index: usize) -> bool {
        self.pending[index]
    }

    /// Sets a value the server itself knows, such as `server_encoding`.
    pub fn set_internal(&mut self, name: &str, value: SettingValue) {
        if let Some(def) = settings::find(name) {
            self.values[def.index] = value;
        }
    }

    /// A value.
    pub fn get(&self, name: &str) -> Option<&SettingValue> {
        settings::find(name).map(|def| &self.values[def.index])
    }

    /// A setting with a dot in its name.
    pub fn custom(&self, name: &str) -> Option<&str> {
        self.custom.get(name).map(SettingValue::as_str)
    }

    /// A value as SHOW gives it.
    pub fn show(&self, name: &str) -> String {
        settings::find(name).map(|d| d.show(&self.values[d.index])).unwrap_or_default()
    }

    /// Where a value comes from.
    pub fn source(&self, index: usize) -> Source {
        self.sources[index]
    }
}

/// A setting of the list, or one with a dot in its name that a user made.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Key {
    Known(usize),
    Custom(String),
}

/// A change to take back.
#[derive(Clone, Debug)]
struct Undo {
    key: Key,
    session: Option<SettingValue>,
    local: Option<SettingValue>,
}

/// Who wants to change a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Actor {
    /// A superuser.
    pub superuser: bool,
    /// At the session's start rather than by SET.
    pub at_start: bool,
}

/// The settings of one session.
#[derive(Clone)]
pub struct SessionSettings {
    defaults: Arc<Defaults>,
    /// What the client asked for when it connected: RESET goes back to it.
    start: HashMap<Key, SettingValue>,
    session: HashMap<Key, SettingValue>,
    local: HashMap<Key, SettingValue>,
    /// One list of changes for each open transaction level.
    levels: Vec<Vec<Undo>>,
    version: u64,
    /// Settings with the report flag that changed since they were last told.
    to_report: Vec<usize>,
    /// What the client knows of them: their places, and hashes of the values it was told.
    told: Vec<(u16, u64)>,
    resolved: Option<Arc<Resolved>>,
    /// Where operators write to that outgrow their memory.
    temp: Option<executor::TempSpace>,
}

impl SessionSettings {
    /// With the server's values.
    pub fn new(defaults: Arc<Defaults>) -> SessionSettings {
        SessionSettings {
            defaults,
            start: HashMap::new(),
            session: HashMap::new(),
            local: HashMap::new(),
            levels: Vec::new(),
            version: 1,
            to_report: Vec::new(),
            told: Vec::new(),
            resolved: None,
            temp: None,
        }
    }

    /// Sets where operators write to that outgrow their memory.
    pub fn set_temp_space(&mut self, temp: executor::TempSpace) {
        self.temp = Some(temp);
        self.version += 1;
    }

    /// Changes with every change of a value.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What every statement reads.
    pub fn resolved(&mut self) -> &Arc<Resolved> {
        if self.resolved.as_ref().is_none_or(|r| r.version != self.version) {
            let fresh = Resolved::new(self, self.resolved.as_deref());
            crate::session::on_thread::changed(&fresh);
            self.resolved = Some(Arc::new(fresh));
        }
        self.resolved.get_or_insert_with(|| unreachable!("they were looked up above"))
    }

    /// Takes the server's new values, after a reload.
    pub fn reload(&mut self, defaults: Arc<Defaults>) {
        self.defaults = defaults;
        self.version += 1;
    }

    /// The value in force.
    pub fn get(&self, name: &str) -> Option<&SettingValue> {
        self.value(&self.key(name)?)
    }

    fn key(&self, name: &str) -> Option<Key> {
        match settings::find(name) {
            Some(def) => Some(Key::Known(def.index)),
            None => {
                let key = Key::Custom(name.to_ascii_lowercase());
                self.value(&key).is_some().then_some(key)
            }
        }
    }

    fn value(&self, key: &Key) -> Option<&SettingValue> {
        if let Some(v) = self.local.get(key) {
            return Some(v);
        }
        if let Some(v) = self.session.get(key) {
            return Some(v);
        }
        if let Some(v) = self.start.get(key) {
            return Some(v);
        }
        match key {
            Key::Known(i) => Some(&self.defaults.values[*i]),
            Key::Custom(name) => self.defaults.custom.get(name),
        }
    }

    /// A Boolean setting.
    pub fn bool(&self, name: &str) -> bool {
        self.get(name).is_some_and(SettingValue::as_bool)
    }

    /// A whole-number setting, in its unit.
    pub fn i64(&self, name: &str) -> i64 {
        self.get(name).map_or(0, SettingValue::as_i64)
    }

    /// A number setting, in its unit.
    pub fn f64(&self, name: &str) -> f64 {
        self.get(name).map_or(0.0, SettingValue::as_f64)
    }

    /// A text or enum setting.
    pub fn str(&self, name: &str) -> &str {
        self.get(name).map_or("", SettingValue::as_str)
    }

    /// The value as SHOW gives it; `None` if there is no such setting.
    pub fn show(&self, name: &str) -> Option<String> {
        let key = self.key(name)?;
        let value = self.value(&key)?;
        Some(match &key {
            Key::Known(i) => settings::all()[*i].show(value),
            Key::Custom(_) => value.as_str().to_string(),
        })
    }

    /// The server's values, under the session's own.
    pub fn defaults(&self) -> &Arc<Defaults> {
        &self.defaults
    }

    /// Where the value in force comes from.
    pub fn source(&self, def: &SettingDef) -> Source {
        let key = Key::Known(def.index);
        if self.local.contains_key(&key) || self.session.contains_key(&key) {
            return Source::Session;
        }
        if self.start.contains_key(&key) {
            return Source::Client;
        }
        self.defaults.source(def.index)
    }

    /// The value RESET goes back to.
    pub fn reset_value(&self, def: &SettingDef) -> &SettingValue {
        self.start.get(&Key::Known(def.index)).unwrap_or(&self.defaults.values[def.index])
    }

    /// Changes a setting, for the session or for the transaction only.
    pub fn set(&mut self, name: &str, text: &str, local: bool, actor: Actor) -> Result<()> {
        let (key, value) = match settings::find(name) {
            Some(def) => {
                allowed(def, actor)?;
                let key = Key::Known(def.index);
                let value = match self.value(&key) {
                    Some(current) => check::canonical_after(def, text, current)?,
                    None => canonical(def, text)?,
                };
                (key, value)
            }
            None => (custom(name)?, SettingValue::Text(Arc::from(text))),
        };
        if actor.at_start {
            self.note(&key);
            self.start.insert(key, value);
            return Ok(());
        }
        self.put(key, Some(value), local);
        Ok(())
    }

    /// Changes a setting past all checks, as the server itself does.
    pub fn set_internal(&mut self, name: &str, value: SettingValue, local: bool) {
        if let Some(def) = settings::find(name) {
            self.put(Key::Known(def.index), Some(value), local);
        }
    }

    /// Goes back to the value the session began with.
    pub fn reset(&mut self, name: &str, local: bool, actor: Actor) -> Result<()> {
        let key = match settings::find(name) {
            Some(def) => {
                allowed(def, actor)?;
                if def.no_reset {
                    bail!(FEATURE_NOT_SUPPORTED, "parameter \"{}\" cannot be reset", def.name);
                }
                Key::Known(def.index)
            }
            None => custom(name)?,
        };
        let value = match (&key, local) {
            (key, true) if self.start.contains_key(key) => self.start.get(key).cloned(),
            (Key::Known(i), true) => Some(self.defaults.values[*i].clone()),
            // It stays known, without a value of its own.
            (Key::Custom(name), _) if !self.start.contains_key(&key) => {
                Some(match self.defaults.custom.get(name) {
                    Some(value) => value.clone(),
                    None => SettingValue::Text(Arc::from("")),
                })
            }
            _ => None,
        };
        self.put(key, value, local);
        Ok(())
    }

    /// Fails unless the actor may change the setting, whatever to.
    pub fn may_reset(&self, name: &str, actor: Actor) -> Result<()> {
        match settings::find(name) {
            Some(def) => allowed(def, actor),
            None => custom(name).map(|_| ()),
        }
    }

    /// RESET ALL: everything that SET may change, but for the user and the transaction.
    pub fn reset_all(&mut self) {
        let keys: Vec<Key> = self.session.keys().chain(self.local.keys()).cloned().collect();
        for key in keys {
            let keep = match &key {
                Key::Known(i) => {
                    let def = &settings::all()[*i];
                    def.flags.contains(&"NO_RESET_ALL") || def.context < SettingContext::Superuser
                }
                Key::Custom(_) => false,
            };
            if !keep {
                self.put(key, None, false);
            }
        }
    }

    fn put(&mut self, key: Key, value: Option<SettingValue>, local: bool) {
        if local && self.levels.is_empty() {
            return;
        }
        if let Some(level) = self.levels.last_mut()
            && !level.iter().any(|u| u.key == key)
        {
            level.push(Undo {
                session: self.session.get(&key).cloned(),
                local: self.local.get(&key).cloned(),
                key: key.clone(),
            });
        }
        self.note(&key);
        if local {
            assign(&mut self.local, key, value);
        } else {
            self.local.remove(&key);
            assign(&mut self.session, key, value);
        }
    }

    fn note(&mut self, key: &Key) {
        self.version += 1;
        if let Key::Known(i) = key
            && settings::all()[*i].report
            && !self.to_report.contains(i)
        {
            self.to_report.push(*i);
        }
    }

    /// A transaction or a savepoint begins.
    pub fn begin_level(&mut self) {
        self.levels.push(Vec::new());
    }

    /// The innermost level is rolled back.
    pub fn abort_level(&mut self) {
        for undo in self.levels.pop().unwrap_or_default().into_iter().rev() {
            self.note(&undo.key);
            assign(&mut self.session, undo.key.clone(), undo.session);
            assign(&mut self.local, undo.key, undo.local);
        }
    }

    /// The innermost level is kept: by the level around it or, if it is the last, for good.
    pub fn commit_level(&mut self) {
        let Some(done) = self.levels.pop() else { return };
        match self.levels.last_mut() {
            Some(outer) => {
                for undo in done {
                    if !outer.iter().any(|u| u.key == undo.key) {
                        outer.push(undo);
                    }
                }
            }
            None if self.local.is_empty() => {}
            None => {
                let ended: Vec<Key> = self.local.drain().map(|(key, _)| key).collect();
                for key in ended {
                    self.note(&key);
                }
            }
        }
    }

    /// How many levels are open.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The settings to tell the client of: name and value. Forgets them.
    pub fn take_reports(&mut self) -> Vec<(&'static str, String)> {
        if self.to_report.is_empty() {
            return Vec::new();
        }
        let changed = std::mem::take(&mut self.to_report);
        changed.into_iter().filter_map(|i| self.tell(i)).collect()
    }

    /// A setting's name and value, unless that is what the client was told last.
    fn tell(&mut self, i: usize) -> Option<(&'static str, String)> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let def = &settings::all()[i];
        let value = self.value(&Key::Known(i)).unwrap_or(&self.defaults.values[i]);
        let shown = def.show(value);
        let mut hasher = DefaultHasher::new();
        shown.hash(&mut hasher);
        let told = (i as u16, hasher.finish());
        match self.told.iter_mut().find(|t| t.0 == told.0) {
            Some(known) if *known == told => return None,
            Some(known) => *known = told,
            None => self.told.push(told),
        }
        Some((def.name, shown))
    }

    /// Forgets what was to be told, after the start of the session told everything.
    pub fn forget_reports(&mut self) {
        self.to_report.clear();
        for def in settings::all().iter().filter(|d| d.report) {
            self.tell(def.index);
        }
    }

    /// Names and values of the settings that users made.
    pub fn custom(&self) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = self
            .session
            .iter()
            .chain(&self.local)
            .filter_map(|(key, value)| match key {
                Key::Custom(name) => Some((name.clone(), value.as_str().to_string())),
                Key::Known(_) => None,
            })
            .collect();
        for name in self.defaults.custom.keys() {
            all.push((name.clone(), self.str(name).to_string()));
        }
        all.sort();
        all.dedup_by(|a, b| a.0 == b.0);
        all
    }
}

fn assign(map: &mut HashMap<Key, SettingValue>, key: Key, value: Option<SettingValue>) {
    match value {
        Some(v) => {
            map.insert(key, v);
        }
        None => {
            map.remove(&key);
        }
    }
}

fn custom(name: &str) -> Result<Key> {
    let unknown = || err!(UNDEFINED_OBJECT, "unrecognized configuration parameter \"{name}\"");
    if !name.contains('.') {
        return Err(unknown());
    }
    let valid = name.split('.').all(|part| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
            && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    });
    if !valid {
        return Err(err!(INVALID_NAME, "invalid configuration parameter name \"{name}\"").detail(
            "Custom parameter names must be two or more simple identifiers separated by dots.",
        ));
    }
    Ok(Key::Custom(name.to_ascii_lowercase()))
}

/// Whether the actor may change the setting now.
fn allowed(def: &SettingDef, actor: Actor) -> Result<()> {
    let name = def.name;
    match def.context {
        SettingContext::Internal => {
            bail!(CANT_CHANGE_RUNTIME_PARAM, "parameter \"{name}\" cannot be changed")
        }
        SettingContext::Postmaster => bail!(
            CANT_CHANGE_RUNTIME_PARAM,
            "parameter \"{name}\" cannot be changed without restarting the server"
        ),
        SettingContext::Sighup => {
            bail!(CANT_CHANGE_RUNTIME_PARAM, "parameter \"{name}\" cannot be changed now")
        }
        SettingContext::Backend | SettingContext::SuperuserBackend if !actor.at_start => bail!(
            CANT_CHANGE_RUNTIME_PARAM,
            "parameter \"{name}\" cannot be set after connection start"
        ),
        SettingContext::SuperuserBackend | SettingContext::Superuser if !actor.superuser => {
            Err(permission_denied(name))
        }
        _ => Ok(()),
    }
}

fn permission_denied(name: &str) -> Error {
    err!(INSUFFICIENT_PRIVILEGE, "permission denied to set parameter \"{name}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: Actor = Actor { superuser: true, at_start: false };

    fn session() -> SessionSettings {
        SessionSettings::new(Arc::new(Defaults::default()))
    }

    fn set(s: &mut SessionSettings, value: &str, local: bool) {
        s.set("work_mem", value, local, USER).unwrap();
    }

    #[test]
    fn rollback_takes_set_back_and_commit_ends_local() {
        let mut s = session();
        s.begin_level();
        set(&mut s, "8MB", false);
        s.abort_level();
        assert_eq!(s.show("work_mem").unwrap(), "4MB");
        s.begin_level();
        set(&mut s, "8MB", false);
        set(&mut s, "16MB", true);
        assert_eq!(s.show("work_mem").unwrap(), "16MB");
        s.commit_level();
        assert_eq!(s.show("work_mem").unwrap(), "8MB");
    }

    #[test]
    fn savepoints_nest() {
        let mut s = session();
        s.begin_level();
        set(&mut s, "8MB", true);
        s.begin_level();
        set(&mut s, "16MB", true);
        s.abort_level();
        assert_eq!(s.show("work_mem").unwrap(), "8MB");
        s.begin_level();
        set(&mut s, "32MB", false);
        s.commit_level();
        s.abort_level();
        assert_eq!(s.show("work_mem").unwrap(), "4MB");
    }

    #[test]
    fn what_may_not_be_changed_fails_in_postgres_words() {
        let mut s = session();
        let e = s.set("shared_buffers", "1GB", false, USER).unwrap_err();
        assert_eq!(
            e.message(),
            "parameter \"shared_buffers\" cannot be changed without restarting the server"
        );
        let e = s.set("nope", "1", false, USER).unwrap_err();
        assert_eq!(e.message(), "unrecognized configuration parameter \"nope\"");
        s.set("my.own", "x", false, USER).unwrap();
        assert_eq!(s.show("my.own").as_deref(), Some("x"));
    }
}
