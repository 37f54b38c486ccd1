//! Prepared statements and portals.

use super::custom_plans::CustomPlans;
use super::statement_cache::SharedStatement;
use crate::rows::RowWriter;
use crate::sink::{ResultColumn, ResultFormat};
use base::Oid;
use executor::{CompiledStmt, Execution, PointQuery};
use os::sync::Mutex;
use parser::ast::RawStmt;
use smallvec::SmallVec;
use std::sync::Arc;
use txn::Snapshot;
use types::Datum;

/// A statement made ready, as long as what it names stays as it is.
pub struct CachedPlan {
    /// The programs.
    pub compiled: Arc<CompiledStmt>,
    /// Its short path, if it has one.
    pub point: Option<PointQuery>,
    /// Writes its rows as text.
    pub text_rows: RowWriter,
    /// Children of inheritance trees that it reads, with their locks: the statement names none.
    pub members: Vec<(Oid, u8)>,
    /// No other values of the parameters would have made another plan.
    pub for_all_values: bool,
    /// The catalog's generation it was made in.
    pub generation: u64,
    /// Version of the settings it was made with.
    pub settings: u64,
}

/// What a statement is, once analysed; [`Analysed::new`] makes it.
#[derive(Default)]
pub struct Analysed {
    /// Types of its parameters.
    pub params: Vec<Oid>,
    /// Its result's columns; none if it gives no rows.
    pub columns: Vec<ResultColumn>,
    /// The queries it means, rewritten; empty for utility statements.
    pub queries: Vec<ir::Query>,
    /// It is one query that gives the rows and the tag.
    pub plain: bool,
    /// It says WHERE CURRENT OF a cursor.
    pub names_cursor: bool,
    /// The catalog's generation it was analysed in.
    pub generation: u64,
    /// Version of the settings, and whose rights count.
    pub context: (u64, Oid),
    /// The number of queries like it; 0: it was not computed.
    pub query_id: i64,
}

impl CachedPlan {
    /// True if it is a plan of what a statement means now.
    pub fn is_of(&self, analysed: &Analysed) -> bool {
        self.generation == analysed.generation && self.settings == analysed.context.0
    }
}

impl Analysed {
    /// Of these queries.
    pub fn new(queries: Vec<ir::Query>) -> Analysed {
        let plain = matches!(&queries[..], [one] if one.can_set_tag && one.notify.is_none());
        let names_cursor = super::cursor::uses_cursor(&queries);
        Analysed { queries, plain, names_cursor, ..Analysed::default() }
    }

    /// True if it gives rows: those of a SELECT may have no columns.
    pub fn gives_rows(&self) -> bool {
        let select = |q: &ir::Query| q.can_set_tag && q.command == ir::CmdType::Select;
        !self.columns.is_empty() || self.queries.iter().any(select)
    }
}

/// A prepared statement.
pub struct Prepared {
    /// Its name; empty is the unnamed one.
    pub name: String,
    /// The text it is from.
    pub text: Arc<str>,
    /// What was written; none is an empty query string.
    pub stmt: Option<Arc<RawStmt>>,
    /// What it means.
    pub analysed: Mutex<Arc<Analysed>>,
    /// Parameter types as the client gave them.
    pub given_types: Vec<Oid>,
    /// The plan for any parameters.
    pub generic: Mutex<Option<Arc<CachedPlan>>>,
    /// Plans for given parameters, unless other sessions share them.
    pub custom: CustomPlans,
    /// What other sessions know of it, if they do.
    pub shared: Mutex<Option<Arc<SharedStatement>>>,
    /// Its text is the whole of it, so that other sessions may know it.
    pub whole: bool,
    /// How often it was planned for given parameters.
    pub custom_plans: std::sync::atomic::AtomicU64,
    /// How often the plan for any parameters was run.
    pub generic_plans: std::sync::atomic::AtomicU64,
    /// Sum of their costs.
    pub custom_cost: Mutex<f64>,
    /// By PREPARE rather than the protocol.
    pub from_sql: bool,
    /// Its parameters were literals in the text.
    pub from_literals: bool,
    /// When, in microseconds since 1970.
    pub prepared_at: i64,
}

impl Prepared {
    /// A statement that was analysed just now, for parameters of the types given.
    pub fn new(
        name: &str,
        text: Arc<str>,
        stmt: Option<Arc<RawStmt>>,
        analysed: Arc<Analysed>,
        given_types: &[Oid],
    ) -> Prepared {
        Prepared {
            name: name.to_string(),
            text,
            stmt,
            analysed: Mutex::new(analysed),
            given_types: given_types.to_vec(),
            generic: Mutex::new(None),
            custom: CustomPlans::default(),
            shared: Mutex::new(None),
            whole: false,
            custom_plans: Default::default(),
            generic_plans: Default::default(),
            custom_cost: Mutex::new(0.0),
            from_sql: false,
            from_literals: false,
            prepared_at: os::clock::now_micros(),
        }
    }

    /// A statement that others share.
    pub fn shared(name: &str, shared: Arc<SharedStatement>) -> Prepared {
        let (stmt, analysed) = (shared.stmt.clone(), shared.analysed.clone());
        let mut made =
            Prepared::new(name, shared.text.clone(), Some(stmt), analysed, &shared.given_types);
        (made.shared, made.whole) = (Mutex::new(Some(shared)), true);
        made
    }

    /// What other sessions know of it, if that is what the session itself knows.
    pub fn shared_as(&self, analysed: &Arc<Analysed>) -> Option<Arc<SharedStatement>> {
        self.shared.lock().as_ref().filter(|s| Arc::ptr_eq(&s.analysed, analysed)).cloned()
    }

    /// As `pg_prepared_statements` shows it.
    pub fn info(&self) -> crate::sysfn::PreparedInfo {
        use std::sync::atomic::Ordering::Relaxed;
        let analysed = self.analysed.lock().clone();
        let types = || analysed.columns.iter().map(|c| c.type_oid).collect::<Vec<_>>();
        crate::sysfn::PreparedInfo {
            name: self.name.clone(),
            statement: self.text.to_string(),
            prepared: self.prepared_at - super::env::EPOCH_SHIFT,
            parameter_types: analysed.params.clone(),
            result_types: analysed.gives_rows().then(types),
            from_sql: self.from_sql,
            generic_plans: self.generic_plans.load(Relaxed) as i64,
            custom_plans: self.custom_plans.load(Relaxed) as i64,
        }
    }
}

/// How far a portal is.
pub enum PortalState {
    /// Nothing was run yet.
    Ready,
    /// A query that can give more rows.
    Running(Box<Execution>),
    /// All was run; rows are left to be sent.
    Kept(Box<super::kept::Kept>),
    /// All is done.
    Done,
}

/// A statement with its parameters, being run.
pub struct Portal {
    /// Its name; empty is the unnamed one.
    pub name: String,
    /// What it runs.
    pub prepared: Arc<Prepared>,
    /// The parameters.
    pub params: Arc<[Datum]>,
    /// How columns are sent.
    pub formats: SmallVec<[ResultFormat; 8]>,
    /// What it sees.
    pub snapshot: Option<Arc<Snapshot>>,
    /// How far it is.
    pub state: PortalState,
    /// Rows given so far.
    pub position: u64,
    /// Its columns are to be told before its rows.
    pub describe: bool,
    /// DECLARE CURSOR rather than the protocol.
    pub is_cursor: bool,
    /// WITH HOLD: outlives its transaction.
    pub hold: bool,
    /// It can go backwards.
    pub scroll: bool,
    /// When it was made, in microseconds since 1970.
    pub created_at: i64,
    /// How many savepoints were open when it was made.
    pub level: usize,
    /// Where it is, if it is a cursor.
    pub cursor: Option<Box<super::cursor::Cursor>>,
    /// What Bind has planned, and for what the statement meant then.
    pub planned: Option<(Arc<Analysed>, Arc<CachedPlan>)>,
}

impl Portal {
    /// A statement about to be run with these parameters, made at this time.
    pub fn new(
        name: &str,
        prepared: Arc<Prepared>,
        params: Arc<[Datum]>,
        created_at: i64,
    ) -> Portal {
        Portal {
            name: name.to_string(),
            prepared,
            params,
            formats: SmallVec::new(),
            snapshot: None,
            state: PortalState::Ready,
            position: 0,
            describe: false,
            is_cursor: false,
            hold: false,
            scroll: false,
            created_at,
            level: 0,
            cursor: None,
            planned: None,
        }
    }

    /// True if FETCH and MOVE can be used on it: it is a cursor, or runs a query.
    pub fn holds_rows(&self) -> bool {
        let stmt = self.prepared.stmt.as_ref();
        self.is_cursor || stmt.is_some_and(|s| super::simple::is_query(&s.stmt))
    }

    /// True if it runs a query that reads or changes this table, or reads this index.
    pub fn uses(&self, relation: Oid) -> bool {
        match &self.state {
            PortalState::Running(run) => run.stmt().plan().uses(relation),
            _ => self.cursor.as_ref().is_some_and(|c| c.uses(relation)),
        }
    }

    /// True if it outlives its transaction and has its rows by itself.
    pub fn is_held(&self) -> bool {
        self.cursor.as_ref().is_some_and(|c| c.is_held())
    }
}

/// What is known of a text of the simple protocol without its literals.
pub enum Normal {
    /// It came once: not worth the work yet.
    Seen,
    /// It goes the ordinary way.
    Ordinary,
    /// It is run like a prepared statement.
    Prepared(Arc<Prepared>),
}
