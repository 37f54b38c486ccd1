//! What a session's statements share with the functions they call.

use super::SessionOptions;
use crate::Database;
use crate::database::{DatabaseState, OidGenerator, PendingFiles};
use crate::settings::{Defaults, Resolved, SessionSettings, Source, split_list};
use base::{Error, Oid, Result, bail, err};
use catalog::privilege::{Grantable, Rights};
use catalog::{CachedSource, CatalogView, HeapStore, Overlay, RowStore, ViewContext, oids};
use os::sync::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use txn::{Backend, Interrupts, Isolation, Txn};

/// Whose rights count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Users {
    /// Who connected.
    pub authenticated: Oid,
    /// SET SESSION AUTHORIZATION
    pub session: Oid,
    /// SET ROLE
    pub current: Oid,
}

/// Functions in SQL, ready to run.
pub type SqlFunctions = HashMap<(Oid, Vec<Oid>, Oid), Arc<crate::sql_function::Prepared>>;

/// Values of a sequence that the session has taken and not yet given out.
#[derive(Clone, Copy, Debug)]
pub struct SequenceCache {
    /// The last value given out: `currval`.
    pub last: i64,
    /// The last of those taken.
    pub cached: i64,
    /// Their distance.
    pub increment: i64,
    /// The files they were taken from: after a restart of the sequence they do not count.
    pub file: u32,
}

/// What names mean, and when that was found out.
struct Context {
    path: Arc<str>,
    generation: u64,
    users: Users,
    temp: Option<Oid>,
    view: CatalogView,
}

/// Enum types and labels that a transaction has made.
#[derive(Debug, Default)]
pub struct NewEnums {
    /// Types: all their labels go if the transaction does.
    pub types: HashSet<Oid>,
    /// Labels of other types. An index may hold such a value after the transaction has failed,
    /// when nothing says any more how it compares: it must not be used until then.
    pub labels: HashSet<Oid>,
}

/// What a session's statements share with the functions they call.
pub struct SessionCore {
    /// The server.
    pub database: Arc<Database>,
    /// The database.
    pub state: Arc<DatabaseState>,
    /// The statements it shares with others.
    pub(super) statements: Arc<super::statement_cache::StatementCache>,
    /// Its name.
    pub database_name: Arc<str>,
    /// The session's place among transactions.
    pub backend: Arc<Backend>,
    /// Rows of system tables.
    pub store: Arc<HeapStore>,
    /// Its own uncommitted changes of them.
    pub overlay: Arc<Overlay>,
    /// Descriptors.
    pub source: Arc<CachedSource>,
    /// Settings.
    pub settings: Mutex<SessionSettings>,
    /// Whose lines in the log are the session's.
    pub who: Option<Arc<crate::log::LogWho>>,
    /// How the client proved who it is, and as whom: `method:name`.
    pub system_user: Option<String>,
    /// What its statements hold in memory.
    pub memory: Arc<base::memory::Account>,
    /// Files that come and go with the transaction.
    pub files: Mutex<PendingFiles>,
    /// Sequences used, by OID, and the last one.
    pub sequences: Mutex<(HashMap<Oid, SequenceCache>, Option<Oid>)>,
    /// Rows changed, for autovacuum.
    pub changes: crate::autovacuum::PendingChanges,
    /// Counters that the transaction has looked at.
    pub(crate) kept_stats: crate::stats::Kept,
    /// Prepared statements, by name.
    pub prepared: Mutex<HashMap<String, Arc<super::Prepared>, foldhash::fast::RandomState>>,
    /// Cursors, as `pg_cursors` shows them.
    pub cursors: Mutex<Vec<crate::sysfn::CursorInfo>>,
    /// Names of snapshots that the transaction has exported.
    pub exports: Mutex<Vec<String>>,
    /// What ALTER DATABASE and ALTER ROLE had set when the session began.
    stored: Vec<(Source, Vec<String>)>,
    /// The configuration that the settings are based on, by its number.
    configuration: std::sync::atomic::AtomicU64,
    /// Channels listened to and messages to be sent.
    pub listening: Mutex<crate::notify::Listening>,
    /// Large objects that are open.
    pub large_objects: crate::large_object::Descriptors,
    /// Foreign keys to be looked at.
    pub foreign_keys: crate::ri::ForeignKeys,
    /// Temporary tables that are emptied (`false`) or dropped (`true`) at commit.
    pub on_commit: Mutex<Vec<(Oid, bool)>>,
    /// Enum types and labels that the transaction has made.
    pub new_enums: Mutex<NewEnums>,
    /// Functions in SQL that were run, by function, argument types and result type.
    pub sql_functions: Mutex<SqlFunctions>,
    /// How many of them are running.
    pub function_depth: std::sync::atomic::AtomicUsize,
    /// Users before SECURITY DEFINER functions.
    pub definers: Mutex<Vec<Users>>,
    txn: Mutex<Option<Arc<Txn>>>,
    users: Mutex<Users>,
    /// Whose rights count with each pair of settings (session authorization and role) so far.
    named_users: Mutex<HashMap<(String, String), Users>>,
    notices: Mutex<Vec<Error>>,
    temp_namespace: Mutex<Option<Oid>>,
    context: Mutex<Option<Context>>,
}

impl SessionCore {
    /// Says that a long command runs, until the result is dropped.
    pub(crate) fn progress(
        &self,
        command: base::progress::Command,
        relation: Oid,
    ) -> Option<crate::activity::Telling> {
        self.database.activity().progress(self.backend.pid(), command, relation)
    }

    pub(super) fn connect(
        database: &Arc<Database>,
        options: &SessionOptions,
        pid: i32,
        interrupts: Arc<Interrupts>,
    ) -> Result<SessionCore> {
        let backend = database.storage().txn.register(pid, oids::TEMPLATE1, interrupts)?;
        let (about, role, defaults) =
            with_shared_view(database, &backend, |view, rows| find_start(view, rows, options))?;
        let stored = defaults;
        let configuration = database.configuration();
        let defaults = with_stored(database, &stored)?;
        backend.set_database(about.oid);
        let state = database.database_state(about.oid);
        let (store, overlay, source) = rows_of(&state, database, about.tablespace);
        let users = Users { authenticated: role, session: role, current: role };
        let mut settings = SessionSettings::new(defaults);
        settings.set_temp_space(database.temp_space(pid));
        Ok(SessionCore {
            who: options.who.clone(),
            system_user: options.system_user.clone(),
            memory: base::memory::Account::child(&database.memory),
            database: database.clone(),
            statements: state.statements.of_reactor(options.reactor),
            state,
            database_name: about.name.clone(),
            backend,
            store,
            overlay,
            source,
            settings: Mutex::new(settings),
            files: Mutex::default(),
            sequences: Mutex::default(),
            changes: Default::default(),
            kept_stats: Default::default(),
            prepared: Mutex::default(),
            exports: Mutex::default(),
            stored,
            configuration: configuration.into(),
            listening: Mutex::default(),
            cursors: Mutex::default(),
            large_objects: Default::default(),
            foreign_keys: Default::default(),
            txn: Mutex::new(None),
            users: Mutex::new(users),
            named_users: Mutex::default(),
            notices: Mutex::default(),
            on_commit: Mutex::new(Vec::new()),
            new_enums: Mutex::default(),
            sql_functions: Mutex::default(),
            function_depth: std::sync::atomic::AtomicUsize::new(0),
            definers: Mutex::new(Vec::new()),
            temp_namespace: Mutex::new(None),
            context: Mutex::new(None),
        })
    }

    /// Fails if the database or the role has as many sessions as it may have.
    pub(super) fn check_limits(&self, place: &crate::activity::Place) -> Result<()> {
        if self.users().session == oids::SUPERUSER {
            return Ok(());
        }
        let (database, role) = self.database.look_up_rows(|view, _| {
            Ok((view.database(self.state.oid)?, view.role(self.users().session)?))
        })?;
        if role.superuser {
            return Ok(());
        }
        let all = self.database.activity().sessions();
        let others = || all.iter().filter(|s| !s.background && s.pid != place.pid());
        let in_database = others().filter(|s| s.database == database.oid).count();
        if database.connection_limit >= 0 && in_database >= database.connection_limit as usize {
            bail!(TOO_MANY_CONNECTIONS, "too many connections for database \"{}\"", database.name);
        }
        let of_role = others().filter(|s| s.user == role.oid).count();
        if role.connection_limit >= 0 && of_role >= role.connection_limit as usize {
            bail!(TOO_MANY_CONNECTIONS, "too many connections for role \"{}\"", role.name);
        }
        Ok(())
    }

    /// The open transaction.
    pub fn txn(&self) -> Result<Arc<Txn>> {
        self.txn.lock().clone().ok_or_else(|| Error::internal("there is no transaction"))
    }

    /// Asks the open transaction something that does not come back to the session.
    #[inline]
    pub fn with_txn<T>(&self, ask: impl FnOnce(&Txn) -> T) -> Result<T> {
        let txn = self.txn.lock();
        let txn = txn.as_deref().ok_or_else(|| Error::internal("there is no transaction"))?;
        Ok(ask(txn))
    }

    /// The settings that every statement reads.
    pub fn resolved(&self) -> Arc<Resolved> {
        self.settings.lock().resolved().clone()
    }

    /// One of the settings that every statement reads.
    #[inline]
    pub fn setting<T>(&self, of: impl FnOnce(&Resolved) -> T) -> T {
        of(self.settings.lock().resolved())
    }

    /// Parses statements under the session's settings; what is to be told of the text goes to the
    /// client.
    pub(crate) fn parse(&self, text: &str) -> Result<Vec<parser::ast::RawStmt>> {
        let mut notices = Vec::new();
        let parsed = parser::parse_with(text, self.resolved().parse, &mut notices);
        for notice in notices {
            self.notice(super::locate(notice, text));
        }
        parsed
    }

    /// The open transaction, if there is one.
    pub fn txn_if_any(&self) -> Option<Arc<Txn>> {
        self.txn.lock().clone()
    }

    /// True if a transaction is open.
    #[inline]
    pub fn has_txn(&self) -> bool {
        self.txn.lock().is_some()
    }

    pub(super) fn set_txn(&self, txn: Option<Arc<Txn>>) {
        self.store.set_txn(txn.clone());
        *self.txn.lock() = txn;
    }

    /// Whose rights count.
    pub fn users(&self) -> Users {
        *self.users.lock()
    }

    /// Changes whose rights count.
    pub fn set_users(&self, users: Users) {
        *self.users.lock() = users;
    }

    /// Takes the values of a configuration that was read again, if there is one.
    pub(crate) fn follow_configuration(&self) {
        use std::sync::atomic::Ordering::Relaxed;
        let now = self.database.configuration();
        if self.configuration.load(Relaxed) == now {
            return;
        }
        self.configuration.store(now, Relaxed);
        if let Ok(defaults) = with_stored(&self.database, &self.stored) {
            self.settings.lock().reload(defaults);
        }
    }

    fn user_settings(&self) -> (String, String) {
        let s = self.settings.lock();
        (s.str("session_authorization").to_string(), s.str("role").to_string())
    }

    /// Notes whose rights count with the settings as they are now.
    pub(crate) fn note_users(&self) {
        let settings = self.user_settings();
        self.named_users.lock().insert(settings, self.users());
    }

    /// Settings went back to what they were: so does whose rights count.
    pub(crate) fn users_of_settings(&self) {
        let known = self.named_users.lock();
        if !known.is_empty()
            && let Some(users) = known.get(&self.user_settings()).copied()
        {
            self.set_users(users);
        }
    }

    /// Something to tell the client.
    pub fn notice(&self, notice: Error) {
        self.notices.lock().push(notice);
    }

    /// How many notices wait to be told.
    pub(super) fn notices(&self) -> usize {
        self.notices.lock().len()
    }

    /// Forgets all but the first ones.
    pub(super) fn forget_notices(&self, left: usize) {
        self.notices.lock().truncate(left);
    }

    /// Gives notices, but for the first ones, their places in the text they are about.
    pub(super) fn locate_notices(&self, from: usize, text: &str) {
        for notice in self.notices.lock().iter_mut().skip(from) {
            *notice = super::locate(notice.clone(), text);
        }
    }

    pub(super) fn take_notices(&self) -> Vec<Error> {
        std::mem::take(&mut *self.notices.lock())
    }

    /// True if the current user has the rights of a role, as superusers do.
    pub(crate) fn has_rights_of(&self, role: Oid) -> Result<bool> {
        let user = self.users().current;
        Ok(self.is_superuser() || catalog::privilege::has_rights_of(&self.view()?, user, role)?)
    }

    /// True if the current user is a superuser.
    pub fn is_superuser(&self) -> bool {
        let user = self.users().current;
        if user == oids::SUPERUSER {
            return true;
        }
        let had = self.txn_if_any();
        let view = CatalogView::new(self.source.clone(), ViewContext::default());
        match had {
            Some(_) => view.role(user).is_ok_and(|r| r.superuser),
            None => self.in_transaction(|| view.role(user)).is_ok_and(|r| r.superuser),
        }
    }

    /// Reads the catalogs when no transaction is open.
    pub fn in_transaction<T>(&self, f: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.has_txn() {
            return f();
        }
        let txn = self.database.storage().txn.begin(&self.backend, Isolation::ReadCommitted);
        self.set_txn(Some(txn.clone()));
        let result = f();
        self.set_txn(None);
        txn.abort()?;
        result
    }

    /// The session's temporary schema, if it has one.
    pub fn temp_namespace(&self) -> Option<Oid> {
        *self.temp_namespace.lock()
    }

    /// Sets the temporary schema.
    pub fn set_temp_namespace(&self, oid: Option<Oid>) {
        *self.temp_namespace.lock() = oid;
    }

    /// The catalog as a statement sees it now.
    pub fn view(&self) -> Result<CatalogView> {
        use catalog::Source as _;
        let (path, row_security, restrict_views) = {
            let mut settings = self.settings.lock();
            let resolved = settings.resolved();
            (resolved.search_path.clone(), resolved.row_security, resolved.restrict_views)
        };
        let (users, temp) = (self.users(), self.temp_namespace());
        let generation = self.source.generation();
        if let Some(c) = &*self.context.lock()
            && Arc::ptr_eq(&c.path, &path)
            && c.generation == generation
            && c.users == users
            && c.temp == temp
            && c.view.context().row_security == row_security
            && c.view.context().restrict_views == restrict_views
        {
            return Ok(c.view.clone());
        }
        let mut context = self.resolve_path(&path, users, temp)?;
        context.row_security = row_security;
        context.restrict_views = restrict_views;
        let view = CatalogView::new(self.source.clone(), context);
        *self.context.lock() = Some(Context { path, generation, users, temp, view: view.clone() });
        Ok(view)
    }

    /// The schemas of `search_path` that exist; `pg_catalog` and the temporary schema come first
    /// unless they are named.
    fn resolve_path(&self, path: &str, users: Users, temp: Option<Oid>) -> Result<ViewContext> {
        let view = CatalogView::new(self.source.clone(), ViewContext::default());
        let mut named = Vec::new();
        for name in split_list(path).unwrap_or_default() {
            let found = match name.as_str() {
                "$user" => match view.find_role(users.current)? {
                    Some(role) => view.namespace_named(&role.name)?,
                    None => None,
                },
                "pg_temp" => match temp {
                    Some(oid) => view.find_namespace(oid)?,
                    None => None,
                },
                name => view.namespace_named(name)?,
            };
            let found = match found {
                Some(n) if Some(n.oid) == temp => Some(n.oid),
                Some(n) if view.has_usage(users.current, &n)? => Some(n.oid),
                _ => None,
            };
            if let Some(oid) = found
                && !named.contains(&oid)
            {
                named.push(oid);
            }
        }
        let creation_namespace = named.first().copied();
        let mut search_path = Vec::new();
        if let Some(temp) = temp
            && !named.contains(&temp)
        {
            search_path.push(temp);
        }
        if !named.contains(&oids::PG_CATALOG) {
            search_path.push(oids::PG_CATALOG);
        }
        search_path.extend(named);
        let database = view.find_database(self.state.oid)?;
        let default_collation = database.map_or(oids::C_COLLATION, |d| d.default_collation());
        Ok(ViewContext {
            database: self.state.oid,
            database_name: self.database_name.clone(),
            user: users.current,
            search_path,
            temp_namespace: temp,
            creation_namespace,
            default_collation,
            row_security: true,
            restrict_views: false,
        })
    }
}

type RowsOf = (Arc<HeapStore>, Arc<Overlay>, Arc<CachedSource>);

fn rows_of(state: &Arc<DatabaseState>, database: &Arc<Database>, tablespace: Oid) -> RowsOf {
    let overlay: Arc<Overlay> = Arc::default();
    let oids: Arc<OidGenerator> = database.oids.clone();
    let store = Arc::new(HeapStore::new(state.tables.clone(), oids, overlay.clone()));
    let source = Arc::new(CachedSource {
        rows: store.clone(),
        shared: state.cache.clone(),
        overlay: overlay.clone(),
        database: state.oid,
        tablespace,
    });
    (store, overlay, source)
}

type Start = (Arc<catalog::DatabaseDesc>, Oid, Vec<(Source, Vec<String>)>);

/// The database, the role, and what ALTER DATABASE and ALTER ROLE have set for them.
/// Looks something up in the tables that all databases share, before a session has one.
fn with_shared_view<R>(
    database: &Arc<Database>,
    backend: &Arc<Backend>,
    look: impl FnOnce(&CatalogView, &HeapStore) -> Result<R>,
) -> Result<R> {
    // Any database's state serves for shared tables.
    let any = database.database_state(oids::TEMPLATE1);
    let (store, overlay, source) = rows_of(&any, database, oids::TEMPLATE1);
    let txn = database.storage().txn.begin(backend, Isolation::ReadCommitted);
    store.set_txn(Some(txn.clone()));
    let view = CatalogView::new(source, ViewContext::default());
    let found = look(&view, &store);
    store.set_txn(None);
    drop((overlay, view));
    txn.abort()?;
    found
}

impl Database {
    fn look_up<R>(self: &Arc<Database>, look: impl FnOnce(&CatalogView) -> Result<R>) -> Result<R> {
        self.look_up_rows(|view, _| look(view))
    }

    /// Reads the tables that all databases share, outside of any session.
    pub(crate) fn look_up_rows<R>(
        self: &Arc<Database>,
        look: impl FnOnce(&CatalogView, &HeapStore) -> Result<R>,
    ) -> Result<R> {
        let interrupts = Arc::new(Interrupts::new());
        let backend = self.storage().txn.register(0, oids::TEMPLATE1, interrupts)?;
        with_shared_view(self, &backend, look)
    }

    /// Fails if the database is gone.
    pub(crate) fn check_database(self: &Arc<Database>, oid: Oid, name: &str) -> Result<()> {
        self.look_up(|view| match view.find_database(oid)? {
            Some(_) => Ok(()),
            None => Err(err!(INVALID_CATALOG_NAME, "database \"{name}\" does not exist")
                .detail("It seems to have just been dropped or renamed.")),
        })
    }

    /// The stored password of a role, if there is such a role and it has one that is valid now.
    pub fn role_secret(self: &Arc<Database>, user: &str) -> Result<Option<String>> {
        self.look_up(|view| {
            let Some(role) = view.role_named(user)? else { return Ok(None) };
            // Times count from 2000-01-01.
            let now = os::clock::now_micros() - super::env::EPOCH_SHIFT;
            let expired = role.valid_until.is_some_and(|until| until < now);
            Ok(if expired { None } else { role.password.as_deref().map(str::to_string) })
        })
    }

    /// Whether a role of this name is a superuser.
    pub fn is_superuser_named(self: &Arc<Database>, user: &str) -> Result<bool> {
        self.look_up(|view| Ok(view.role_named(user)?.is_some_and(|r| r.superuser)))
    }

    /// Whether a role is a member of another, directly or not.
    pub fn is_member(self: &Arc<Database>, user: &str, role: &str) -> Result<bool> {
        self.look_up(|view| {
            let (Some(user), Some(role)) = (view.role_named(user)?, view.role_named(role)?) else {
                return Ok(false);
            };
            let (mut seen, mut next) = (vec![user.oid], vec![user]);
            while let Some(member) = next.pop() {
                for (of, ..) in &member.member_of {
                    if *of == role.oid {
                        return Ok(true);
                    }
                    if !seen.contains(of) {
                        seen.push(*of);
                        next.push(view.role(*of)?);
                    }
                }
            }
            Ok(false)
        })
    }
}

fn find_start(view: &CatalogView, rows: &HeapStore, options: &SessionOptions) -> Result<Start> {
    if let Some(database) = options.background {
        return Ok((view.database(database)?, oids::SUPERUSER, Vec::new()));
    }
    let role = view.role_named(&options.user)?.ok_or_else(|| {
        err!(INVALID_AUTHORIZATION_SPECIFICATION, "role \"{}\" does not exist", options.user)
    })?;
    if !role.can_login {
        bail!(
            INVALID_AUTHORIZATION_SPECIFICATION,
            "role \"{}\" is not permitted to log in",
            options.user
        );
    }
    let name = match options.database.as_str() {
        "" => options.user.as_str(),
        name => name,
    };
    let about = view
        .database_named(name)?
        .ok_or_else(|| err!(INVALID_CATALOG_NAME, "database \"{name}\" does not exist"))?;
    if !about.allow_connections {
        bail!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "database \"{name}\" is not currently accepting connections"
        );
    }
    let rights =
        Rights { kind: Grantable::Database, owner: about.owner, acl: about.acl.as_deref() };
    if rights.of(view, role.oid, catalog::acl::bit(b'c'))? == 0 {
        return Err(err!(INSUFFICIENT_PRIVILEGE, "permission denied for database \"{name}\"")
            .detail("User does not have CONNECT privilege."));
    }
    let stored = stored_settings(rows, about.oid, role.oid)?;
    Ok((about, role.oid, stored))
}

/// What ALTER DATABASE and ALTER ROLE have set, the weakest first.
fn stored_settings(
    rows: &HeapStore,
    database: Oid,
    role: Oid,
) -> Result<Vec<(Source, Vec<String>)>> {
    let none = Oid::INVALID;
    let mut found = Vec::new();
    for (database, role, source) in [
        (none, none, Source::Global),
        (database, none, Source::Database),
        (none, role, Source::User),
        (database, role, Source::DatabaseUser),
    ] {
        let key = [types::Datum::U32(database.0), types::Datum::U32(role.0)];
        for row in rows.index_scan(catalog::indexes::PG_DB_ROLE_SETTING_DATABASE, &key)? {
            found.push((source, row.texts("setconfig")?.unwrap_or_default()));
        }
    }
    Ok(found)
}

fn with_stored(
    database: &Arc<Database>,
    stored: &[(Source, Vec<String>)],
) -> Result<Arc<Defaults>> {
    let defaults = database.defaults();
    if stored.is_empty() {
        return Ok(defaults);
    }
    let mut own = (*defaults).clone();
    for (source, items) in stored {
        for item in items {
            let Some((name, value)) = item.split_once('=') else { continue };
            // A value that is not possible any more must not lock anybody out.
            if let Err(e) = own.set(name, value, *source) {
                database.log(&e);
            }
        }
    }
    Ok(Arc::new(own))
}
