//! A statement's surroundings as functions see them.

use super::Session;
use super::core::SessionCore;
use super::lookup::ViewLookup;
use crate::ddl::Ddl;
use crate::ddl::no_files::NoFiles;
use crate::settings::Resolved;
use base::{Error, Oid, Result};
use catalog::CatalogView;
use functions::ts::{Dictionary, TsConfig};
use functions::{CallInfo, CatalogLookup, FnEnv, QueryRows};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use types::Datum;
use types::io::Format;

/// Microseconds from 1970 to 2000.
pub const EPOCH_SHIFT: i64 = types::datetime::UNIX_OFFSET;

/// A statement's surroundings. Lives as long as the call that runs the statement.
pub struct StatementEnv<'a> {
    /// The session.
    pub core: &'a Arc<SessionCore>,
    /// The catalog as the statement sees it.
    pub view: CatalogView,
    lookup: ViewLookup,
    settings: Arc<Resolved>,
    random: &'a Cell<[u64; 2]>,
    statement_micros: i64,
    transaction_micros: i64,
    /// What text search has looked up, by OID.
    ts_configs: RefCell<HashMap<Oid, Arc<TsConfig>>>,
    ts_dictionaries: RefCell<HashMap<Oid, Arc<Dictionary>>>,
    /// Long loops ask whether the statement is to go on.
    _interrupts: base::interrupt::Entered,
}

impl Session {
    /// The surroundings of the statement that runs now.
    pub(crate) fn env(&self) -> Result<StatementEnv<'_>> {
        StatementEnv::new(&self.core, &self.random, self.statement_micros)
    }

    /// The same, made when it is first asked for.
    pub(super) fn once<'s, 'e>(
        &'s self,
        made: &'e mut Option<StatementEnv<'s>>,
    ) -> Result<&'e StatementEnv<'s>> {
        Ok(match made {
            Some(env) => env,
            None => made.insert(self.env()?),
        })
    }
}

impl<'a> StatementEnv<'a> {
    /// The surroundings of a statement that began at this time.
    pub(crate) fn new(
        core: &'a Arc<SessionCore>,
        random: &'a Cell<[u64; 2]>,
        statement_micros: i64,
    ) -> Result<StatementEnv<'a>> {
        let view = core.view()?;
        let settings = core.resolved();
        let transaction = core.txn_if_any().map(|t| t.start_micros());
        base::stack::set_depth(settings.stack_depth);
        Ok(StatementEnv {
            _interrupts: base::interrupt::enter(core.backend.interrupts().clone()),
            core,
            lookup: ViewLookup { view: view.clone(), core: Arc::downgrade(core), statement_micros },
            view,
            settings,
            random,
            statement_micros,
            transaction_micros: transaction.unwrap_or(statement_micros),
            ts_configs: RefCell::default(),
            ts_dictionaries: RefCell::default(),
        })
    }
}

impl StatementEnv<'_> {
    /// Does something with the rows of the system tables, but not with files.
    pub(crate) fn with_ddl<T>(&self, work: impl FnOnce(&Ddl<'_>) -> Result<T>) -> Result<T> {
        let settings = self.core.settings.lock().clone();
        let notices = RefCell::default();
        let ddl = Ddl {
            rows: &*self.core.store,
            view: self.view.clone(),
            env: self,
            storage: &NoFiles,
            settings: &settings,
            notices: &notices,
            text: "",
        };
        work(&ddl)
    }

    /// The settings that every statement reads.
    pub(crate) fn settings(&self) -> &Resolved {
        &self.settings
    }
}

impl<'a> StatementEnv<'a> {
    /// Surroundings for what runs within the statement: the catalog as it is now.
    pub(crate) fn nested(&self) -> Result<StatementEnv<'a>> {
        StatementEnv::new(self.core, self.random, self.statement_micros)
    }
}

impl FnEnv for StatementEnv<'_> {
    fn format(&self) -> &Format {
        &self.settings.format
    }

    fn catalog(&self) -> &dyn CatalogLookup {
        &self.lookup
    }

    fn check_may_read_setting(&self, name: &str) -> Result<()> {
        self.core.check_may_read(name)
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.core.settings.lock().show(name)
    }

    fn transaction_timestamp(&self) -> i64 {
        self.transaction_micros - EPOCH_SHIFT
    }

    fn statement_timestamp(&self) -> i64 {
        self.statement_micros - EPOCH_SHIFT
    }

    fn clock_timestamp(&self) -> i64 {
        os::clock::now_micros() - EPOCH_SHIFT
    }

    fn current_user(&self) -> Oid {
        self.core.users().current
    }

    fn session_user(&self) -> Oid {
        self.core.users().session
    }

    fn database(&self) -> Oid {
        self.core.state.oid
    }

    fn default_collation(&self) -> Oid {
        self.view.context().default_collation
    }

    fn search_path(&self, implicit: bool) -> Vec<Oid> {
        let context = self.view.context();
        if implicit {
            return context.search_path.clone();
        }
        let hidden = |oid: &&Oid| {
            **oid != catalog::oids::PG_CATALOG && Some(**oid) != context.temp_namespace
        };
        context.search_path.iter().filter(hidden).copied().collect()
    }

    fn random_state(&self) -> &Cell<[u64; 2]> {
        self.random
    }

    fn random_bytes(&self, out: &mut [u8]) {
        os::random::fill(out);
    }

    fn check_interrupts(&self) -> Result<()> {
        self.core.backend.interrupts().check_deadline()
    }

    fn notice(&self, notice: Error) {
        self.core.notice(notice);
    }

    fn call_session_fn(&self, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
        crate::functions::call(self, call, args)
    }

    fn ts_config(&self, oid: Oid) -> Result<Arc<TsConfig>> {
        if let Some(found) = self.ts_configs.borrow().get(&oid) {
            return Ok(found.clone());
        }
        let found = super::text_search::config(self, oid)?;
        self.ts_configs.borrow_mut().insert(oid, found.clone());
        Ok(found)
    }

    fn ts_dictionary(&self, oid: Oid) -> Result<Arc<Dictionary>> {
        if let Some(found) = self.ts_dictionaries.borrow().get(&oid) {
            return Ok(found.clone());
        }
        let found = super::text_search::dictionary(self, oid)?;
        self.ts_dictionaries.borrow_mut().insert(oid, found.clone());
        Ok(found)
    }

    fn run_query(&self, sql: &str, most: Option<usize>) -> Result<QueryRows> {
        crate::inner_query::run(self, sql, most)
    }

    fn session_rows(&self, call: &CallInfo, args: &[Datum]) -> Option<Result<Vec<Vec<Datum>>>> {
        crate::functions::rows(self, call, args)
    }
}
