//! Functions that only a session can run: definitions of objects, names and visibility, rights,
//! sizes, settings, the state of the server.
//!
//! Entry points: [`call`] and [`rows`], by the function's OID; what they need of the session
//! comes through [`SysSession`].

mod access_method;
mod args;
mod catalog_fact;
mod constraint;
mod definition;
pub(crate) use definition::key_columns;
mod function;
mod hash_partition;
mod index;
mod names;
mod object;
mod outside;
pub(crate) mod partition;
mod privilege;
mod session;
mod settings;
mod size;
mod statistics;
mod status;
mod table_rows;
mod text;
mod visible;

pub(crate) use index::index_column;
pub use names::ViewNames;
pub(crate) use status::{encoding_name, encoding_number};

use crate::activity::SessionInfo;
use crate::ddl::Identity;
use crate::settings::SessionSettings;
use args::Args;
use base::{Oid, Result};
use catalog::depend::ObjectAddress;
use catalog::{CatalogView, SysRow};
use functions::{CallInfo, FnEnv};
use txn::{LockInfo, PredicateHolder, PredicateTarget};
use types::Datum;

/// A cursor, as `pg_cursors` shows it.
#[derive(Clone, Debug, Default)]
pub struct CursorInfo {
    pub name: String,
    pub statement: String,
    pub holdable: bool,
    pub binary: bool,
    pub scrollable: bool,
    /// Microseconds since 2000.
    pub created: i64,
}

/// A prepared statement, as `pg_prepared_statements` shows it.
#[derive(Clone, Debug, Default)]
pub struct PreparedInfo {
    pub name: String,
    pub statement: String,
    /// Microseconds since 2000.
    pub prepared: i64,
    pub parameter_types: Vec<Oid>,
    pub result_types: Option<Vec<Oid>>,
    pub from_sql: bool,
    pub generic_plans: i64,
    pub custom_plans: i64,
}

/// What these functions need of the session and the server.
pub trait SysSession {
    /// The catalogs, as the statement sees them.
    fn view(&self) -> &CatalogView;
    /// The session as other functions see it.
    fn env(&self) -> &dyn FnEnv;
    /// All rows of a system table.
    fn table_rows(&self, table: Oid) -> Result<Vec<SysRow>>;
    /// Rows of a system table that an index finds.
    fn index_rows(&self, index: Oid, key: &[Datum]) -> Result<Vec<SysRow>>;
    /// The session's number.
    fn pid(&self) -> i32;
    /// The settings in force.
    fn settings(&self) -> SessionSettings;
    /// SET.
    fn set_config(&self, name: &str, value: Option<&str>, local: bool) -> Result<()>;
    /// Bytes of a fork (0 main, 1 free space map, 2 visibility map, 3 init) of a relation.
    fn fork_bytes(&self, relation: &catalog::RelationDesc, fork: u8) -> Result<i64>;
    /// Bytes of a database's or tablespace's files.
    fn directory_bytes(&self, path: &str) -> Result<i64>;
    /// All sessions.
    fn sessions(&self) -> Vec<SessionInfo>;
    /// The number of one of the server's parts.
    fn part_pid(&self, part: &str) -> i32;
    /// All locks.
    fn locks(&self) -> Vec<LockInfo>;
    /// What serializable transactions have noted that they read.
    fn predicate_locks(&self) -> Vec<(PredicateTarget, PredicateHolder)>;
    /// Numbers of the sessions that hold up another.
    fn blocking(&self, pid: i32) -> Vec<i32>;
    /// Writes into the log how much memory a session holds; false if there is none.
    fn log_memory(&self, pid: i32) -> bool;
    /// Cancels (or ends) a session; false if there is none.
    fn signal(&self, pid: i32, terminate: bool) -> Result<bool>;
    /// The transaction's id; given one if `assign`.
    fn xid(&self, assign: bool) -> Result<Option<u64>>;
    /// Which transactions are over now: the least that is not, the next one, those between that
    /// are in progress.
    fn running_xids(&self) -> Result<(u64, u64, Vec<u64>)>;
    /// What became of a transaction: in progress, committed or aborted.
    fn xid_status(&self, xid: u64) -> Result<&'static str>;
    /// When a transaction committed, in microseconds since 1970, if that is known.
    fn commit_time(&self, xid: u32) -> Result<Option<i64>>;
    /// The last transaction that committed, and when.
    fn last_commit_time(&self) -> Result<Option<(u64, i64)>>;
    /// An OID that no row of a system table has.
    fn new_oid(&self, table: Oid) -> Result<Oid>;
    /// The end of the log: written and flushed.
    fn wal_ends(&self) -> (u64, u64);
    /// Microseconds since 2000: server start, configuration read.
    fn start_times(&self) -> (i64, i64);
    /// Open cursors.
    fn cursors(&self) -> Vec<CursorInfo>;
    /// Prepared transactions: id, name, when (microseconds since 2000), owner, database.
    fn prepared_transactions(&self) -> Vec<(u64, String, i64, u32, u32)>;
    /// Prepared statements.
    fn prepared(&self) -> Vec<PreparedInfo>;
    /// Fails if the user may not read this setting.
    fn check_may_read(&self, setting: &str) -> Result<()>;
    /// True if the user may see what a session of this role does; of none: a part of the server.
    fn may_see_session_of(&self, role: Oid) -> bool;
    /// True if the user may read all settings.
    fn reads_all_settings(&self) -> bool;
    /// True if there is a tablespace of this name.
    fn has_tablespace(&self, name: &str) -> Result<bool>;
    /// Where a tablespace's files are.
    fn tablespace_location(&self, oid: Oid) -> Result<String>;
    /// The query of a view, if it has one.
    fn view_query(&self, view: &catalog::RelationDesc) -> Result<Option<ir::Query>>;
    /// An object as messages name it; none if it is not there.
    fn describe_object(&self, object: ObjectAddress) -> Result<Option<String>>;
    /// An object's kind, and what it is called if it is there.
    fn identify_object(&self, object: ObjectAddress) -> Result<(String, Option<Identity>)>;
    /// The object of a kind that names and arguments mean.
    fn object_address(
        &self,
        kind: &str,
        names: &[Option<String>],
        args: &[Option<String>],
    ) -> Result<ObjectAddress>;
    /// The session's temporary schema.
    fn temp_schema(&self) -> Option<Oid> {
        self.view().context().temp_namespace
    }
}

/// Runs a function; `None` if it is not one of these.
pub fn call(s: &dyn SysSession, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    let row = functions::builtin::proc(call.fn_oid)?;
    let args = Args { values: args, types: &row.proargtypes };
    let name = row.proname;
    if name == "satisfies_hash_partition" {
        return Some(hash_partition::call(s, call, args.values));
    }
    definition::call(s, name, &args)
        .or_else(|| function::call(s, name, &args))
        .or_else(|| visible::call(s, name, &args))
        .or_else(|| privilege::call(s, name, &args))
        .or_else(|| size::call(s, name, &args))
        .or_else(|| settings::call(s, name, &args))
        .or_else(|| object::call(s, name, &args))
        .or_else(|| access_method::call(s, name, &args))
        .or_else(|| catalog_fact::call(s, name, &args))
        .or_else(|| outside::call(name))
        .or_else(|| status::call(s, name, &args))
}

/// The rows of a set-returning function; `None` if it is not one of these.
pub fn rows(
    s: &dyn SysSession,
    call: &CallInfo,
    args: &[Datum],
) -> Option<Result<Vec<Vec<Datum>>>> {
    let row = functions::builtin::proc(call.fn_oid)?;
    let args = Args { values: args, types: &row.proargtypes };
    table_rows::rows(s, row.proname, &args)
}
