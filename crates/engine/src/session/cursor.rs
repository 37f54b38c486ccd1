//! Cursors: DECLARE, FETCH, MOVE, CLOSE, and WHERE CURRENT OF.
//!
//! A cursor runs its query forwards. To go back it starts again under the same snapshot and skips
//! what lies before, unless it was declared SCROLL: then the rows it has given are kept. WITH HOLD
//! keeps all rows at the end of the transaction.

use super::Session;
use super::env::StatementEnv;
use super::planning::RunParts;
use super::prepared::{Portal, PortalState, Prepared};
use super::query::{kept_columns, main_query, project};
use crate::rows::RowWriter;
use crate::sink::{ResultFormat, Sink};
use crate::sysfn::CursorInfo;
use base::{Error, Oid, Result, bail, err};
use executor::{CompiledStmt, Execution};
use functions::FnEnv;
use ir::{Expr, OpExpr, OpKind, Plan, PlanNode, Query, RteKind, TargetEntry, Var};
use parser::ast::{DeclareCursorStmt, FetchDirection, FetchStmt, RawStmt, Stmt};
use std::sync::Arc;
use txn::Snapshot;
use types::{Batch, Datum};

type Row = Vec<Datum>;

/// `tid = tid`, and the function behind it.
const TID_EQUAL: (Oid, Oid) = (Oid(387), Oid(1292));

/// A query's rows, one after the other.
struct Source {
    plan: Arc<CompiledStmt>,
    params: Arc<[Datum]>,
    snapshot: Arc<Snapshot>,
    run: Execution,
    /// Rows given so far.
    done: u64,
    ended: bool,
}

impl Source {
    fn new(plan: Arc<CompiledStmt>, params: Arc<[Datum]>, snapshot: Arc<Snapshot>) -> Source {
        let run = Execution::new(plan.clone(), params.clone(), snapshot.clone());
        Source { plan, params, snapshot, run, done: 0, ended: false }
    }

    fn restart(&mut self) {
        self.run = Execution::new(self.plan.clone(), self.params.clone(), self.snapshot.clone());
        self.done = 0;
        self.ended = false;
    }

    /// The next rows, at most `max`.
    fn next(&mut self, session: &Session, env: &StatementEnv<'_>, max: u64) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        if self.ended || max == 0 {
            return Ok(rows);
        }
        let parts = RunParts::new(session)?;
        let keep = kept_columns(self.run.stmt().plan());
        while (rows.len() as u64) < max && !self.ended {
            let want = (max - rows.len() as u64).min(types::BATCH_ROWS as u64) as usize;
            match self.run.next_batch(parts.cx(env), want)? {
                None => self.ended = true,
                Some(batch) => {
                    let batch = match &keep {
                        Some(keep) => project(&batch, keep),
                        None => batch,
                    };
                    push_rows(&batch, &mut rows);
                }
            }
            session.check_interrupts()?;
        }
        self.done += rows.len() as u64;
        Ok(rows)
    }

    /// Goes to just before row `n`, counted from 1.
    fn seek(&mut self, session: &Session, env: &StatementEnv<'_>, n: u64) -> Result<()> {
        if n <= self.done {
            self.restart();
        }
        while self.done + 1 < n && !self.ended {
            let gap = n - 1 - self.done;
            self.next(session, env, gap.min(types::BATCH_ROWS as u64))?;
        }
        Ok(())
    }
}

fn push_rows(batch: &Batch, rows: &mut Vec<Row>) {
    for i in batch.positions() {
        rows.push(batch.columns.iter().map(|c| c.get(i)).collect());
    }
}

/// Where a cursor's rows are.
enum Rows {
    /// They come from the query.
    Live(Source),
    /// Those given so far are kept, and the query gives more.
    Kept(Source, Vec<Row>),
    /// All are here: the cursor outlived its transaction. Those before the first one kept were
    /// not wanted any more.
    Held(Vec<Row>, u64),
}

/// The places of a cursor's rows in one table.
struct Places {
    relation: Oid,
    source: Source,
    /// The last one that was asked for, with its row's number.
    last: Option<(u64, Datum)>,
}

/// A cursor and where it is.
pub struct Cursor {
    rows: Rows,
    /// Before the first row.
    at_start: bool,
    /// After the last row.
    at_end: bool,
    /// The number of the current row; the last one's when at the end.
    pos: u64,
    scroll: bool,
    binary: bool,
    statement: Arc<str>,
    /// Where its rows are, for WHERE CURRENT OF.
    places: Option<Places>,
}

impl Cursor {
    /// True if it has its rows by itself.
    pub fn is_held(&self) -> bool {
        matches!(self.rows, Rows::Held(..))
    }

    /// True if its rows come from a query that reads this table or index.
    pub fn uses(&self, relation: Oid) -> bool {
        match &self.rows {
            Rows::Live(source) | Rows::Kept(source, _) => source.plan.plan().uses(relation),
            Rows::Held(..) => false,
        }
    }

    /// Rows from number `from` on, at most `max`.
    fn rows(
        &mut self,
        session: &Session,
        env: &StatementEnv<'_>,
        from: u64,
        max: u64,
    ) -> Result<Vec<Row>> {
        match &mut self.rows {
            Rows::Live(source) => {
                source.seek(session, env, from)?;
                source.next(session, env, max)
            }
            Rows::Kept(source, kept) => {
                let last = from.saturating_add(max).saturating_sub(1);
                while (kept.len() as u64) < last && !source.ended {
                    let want = (last - kept.len() as u64).min(types::BATCH_ROWS as u64);
                    kept.extend(source.next(session, env, want)?);
                }
                Ok(part(kept, from - 1, max))
            }
            Rows::Held(kept, skipped) => Ok(part(kept, from - 1 - (*skipped).min(from - 1), max)),
        }
    }

    /// Goes forward over `count` rows and gives them.
    fn forward(
        &mut self,
        session: &Session,
        env: &StatementEnv<'_>,
        count: u64,
    ) -> Result<Vec<Row>> {
        if self.at_end || count == 0 {
            return Ok(Vec::new());
        }
        let rows = self.rows(session, env, self.pos + 1, count)?;
        let n = rows.len() as u64;
        if n > 0 {
            self.at_start = false;
        }
        self.at_end = n < count;
        self.pos += n;
        Ok(rows)
    }

    /// Goes back over `count` rows and gives them, the nearest first.
    fn backward(
        &mut self,
        session: &Session,
        env: &StatementEnv<'_>,
        count: u64,
    ) -> Result<Vec<Row>> {
        self.require_scroll()?;
        if self.at_start || count == 0 {
            return Ok(Vec::new());
        }
        let last = if self.at_end { self.pos } else { self.pos.saturating_sub(1) };
        let n = count.min(last);
        let mut rows = match n {
            0 => Vec::new(),
            n => self.rows(session, env, last - n + 1, n)?,
        };
        rows.reverse();
        if n > 0 && self.at_end {
            self.at_end = false;
        }
        if n < count {
            self.at_start = true;
            self.at_end = false;
            self.pos = 0;
        } else {
            self.pos = last - n + 1;
        }
        Ok(rows)
    }

    fn require_scroll(&self) -> Result<()> {
        if self.scroll {
            return Ok(());
        }
        Err(err!(OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
            .hint("Declare it with SCROLL option to enable backward scan."))
    }

    fn rewind(&mut self) -> Result<()> {
        if self.at_start && !self.at_end {
            return Ok(());
        }
        self.require_scroll()?;
        self.at_start = true;
        self.at_end = false;
        self.pos = 0;
        Ok(())
    }

    fn absolute(
        &mut self,
        session: &Session,
        env: &StatementEnv<'_>,
        count: i64,
    ) -> Result<Vec<Row>> {
        let n = count.unsigned_abs();
        if count > 0 {
            let here = if self.at_end { self.pos + 1 } else { self.pos };
            if n - 1 <= here / 2 {
                self.rewind()?;
                self.forward(session, env, n - 1)?;
            } else if n <= here {
                self.backward(session, env, here - n + 1)?;
            } else {
                self.forward(session, env, n - here - 1)?;
            }
            return self.forward(session, env, 1);
        }
        if count == 0 {
            self.rewind()?;
            return Ok(Vec::new());
        }
        self.forward(session, env, u64::MAX >> 1)?;
        self.backward(session, env, n - 1)?;
        self.backward(session, env, 1)
    }

    /// Moves as FETCH says; gives the rows passed over that it shows.
    fn fetch(
        &mut self,
        session: &Session,
        env: &StatementEnv<'_>,
        stmt: &FetchStmt,
    ) -> Result<(Vec<Row>, u64)> {
        let all = |n: i64| if n == i64::MAX { u64::MAX >> 1 } else { n.unsigned_abs() };
        let counted = |rows: Vec<Row>| {
            let n = rows.len() as u64;
            (rows, n)
        };
        let (direction, count) = match (stmt.direction, stmt.count) {
            (FetchDirection::Forward, n) if n < 0 => (FetchDirection::Backward, n.wrapping_neg()),
            (FetchDirection::Backward, n) if n < 0 => (FetchDirection::Forward, n.wrapping_neg()),
            (FetchDirection::Relative, 0) => (FetchDirection::Forward, 0),
            other => other,
        };
        match direction {
            FetchDirection::Absolute => Ok(counted(self.absolute(session, env, count)?)),
            FetchDirection::Relative => {
                let n = count.unsigned_abs();
                let forward = count > 0;
                let mut step = |n| match forward {
                    true => self.forward(session, env, n),
                    false => self.backward(session, env, n),
                };
                step(n - 1)?;
                Ok(counted(step(1)?))
            }
            _ if count == 0 => {
                let on_row = !self.at_start && !self.at_end;
                if stmt.is_move || !on_row {
                    return Ok((Vec::new(), u64::from(on_row && stmt.is_move)));
                }
                self.require_scroll()?;
                Ok(counted(self.rows(session, env, self.pos, 1)?))
            }
            FetchDirection::Backward => {
                if count == i64::MAX && stmt.is_move {
                    let passed = match (self.pos, self.at_end) {
                        (n, false) if n > 0 => n - 1,
                        (n, _) => n,
                    };
                    self.rewind()?;
                    return Ok((Vec::new(), passed));
                }
                Ok(counted(self.backward(session, env, all(count))?))
            }
            _ => Ok(counted(self.forward(session, env, all(count))?)),
        }
    }
}

fn part(rows: &[Row], from: u64, max: u64) -> Vec<Row> {
    let from = (from as usize).min(rows.len());
    let to = from.saturating_add(max.min(rows.len() as u64) as usize).min(rows.len());
    rows[from..to].to_vec()
}

/// True if PostgreSQL's executor could run the plan backwards.
fn runs_backwards(plan: &Plan) -> bool {
    let below = |p: &Option<Box<Plan>>| p.as_deref().is_none_or(runs_backwards);
    match &plan.node {
        PlanNode::Result(_) => plan.outer.as_deref().is_some_and(runs_backwards),
        PlanNode::SeqScan(_)
        | PlanNode::IndexScan(_)
        | PlanNode::IndexOnlyScan(_)
        | PlanNode::TidScan(_)
        | PlanNode::FunctionScan(_)
        | PlanNode::ValuesScan(_)
        | PlanNode::CteScan(_)
        | PlanNode::Material
        | PlanNode::Sort(_) => true,
        PlanNode::Limit(_) | PlanNode::LockRows(_) => below(&plan.outer),
        PlanNode::Append(a) => a.children.iter().all(runs_backwards),
        PlanNode::SubqueryScan(s) => runs_backwards(&s.subplan),
        _ => false,
    }
}

/// True if one of the queries changes the row that a cursor is on.
pub(super) fn uses_cursor(queries: &[Query]) -> bool {
    queries.iter().any(|q| cursor_of(q).is_some())
}

fn cursor_of(query: &Query) -> Option<(u32, String)> {
    let mut found = None;
    if let Some(quals) = &query.jointree.quals {
        ir::walk::each(quals, &mut |e| {
            if let Expr::CurrentOf { varno, cursor } = e {
                found = Some((*varno, cursor.clone()));
            }
        });
    }
    found
}

impl Session {
    /// DECLARE CURSOR.
    pub(crate) fn declare_cursor(
        &mut self,
        stmt: &DeclareCursorStmt,
        text: &str,
        params: &[Datum],
    ) -> Result<()> {
        if stmt.name.is_empty() {
            bail!(INVALID_CURSOR_NAME, "invalid cursor name: must not be empty");
        }
        let query = Stmt::Select(Box::new(stmt.query.clone()));
        let inner = RawStmt { stmt: query, location: Default::default(), len: 0 };
        let given = self.param_types.clone();
        let analysed = self.analyse(Some(&inner), &given)?;
        if !stmt.hold {
            self.require_block("DECLARE CURSOR")?;
        }
        let query = main_query(&analysed)?.clone();
        check_declared(stmt, &query)?;
        if self.portals.contains(&stmt.name) {
            bail!(DUPLICATE_CURSOR, "cursor \"{}\" already exists", stmt.name);
        }
        let core = self.core.clone();
        let random = self.random.clone();
        let env = StatementEnv::new(&core, &random, self.statement_micros)?;
        let fraction = core.settings.lock().f64("cursor_tuple_fraction");
        let values = (!params.is_empty()).then_some(params);
        let plan = self.plan(&env, query.clone(), values, fraction)?;
        let backwards = runs_backwards(&plan.plan) && query.row_marks.is_empty();
        let plan = self.compile(&env, plan)?;
        let snapshot = Arc::new(self.core.txn()?.snapshot());
        let params: Arc<[Datum]> = params.into();
        let source = Source::new(plan, params.clone(), snapshot.clone());
        let rows = match stmt.scroll {
            Some(true) => Rows::Kept(source, Vec::new()),
            _ => Rows::Live(source),
        };
        let statement: Arc<str> = Arc::from(text);
        let prepared =
            Prepared::new("", statement.clone(), Some(Arc::new(inner)), Arc::new(analysed), &given);
        let mut portal = Portal::new(&stmt.name, Arc::new(prepared), params, self.statement_micros);
        portal.is_cursor = true;
        portal.hold = stmt.hold;
        portal.scroll = stmt.scroll.unwrap_or(backwards);
        portal.level = self.savepoint_level();
        portal.snapshot = Some(snapshot);
        portal.state = PortalState::Done;
        if stmt.binary {
            portal.formats = smallvec::smallvec![ResultFormat::Binary];
        }
        portal.cursor = Some(Box::new(Cursor {
            rows,
            at_start: true,
            at_end: false,
            pos: 0,
            scroll: portal.scroll,
            binary: stmt.binary,
            statement,
            places: None,
        }));
        self.portals.insert(portal);
        self.show_cursors();
        Ok(())
    }

    /// Tells `pg_cursors` of the cursors there are.
    pub(crate) fn show_cursors(&self) {
        let mut all: Vec<CursorInfo> = Vec::new();
        for portal in self.portals.iter() {
            let Some(cursor) = &portal.cursor else { continue };
            all.push(CursorInfo {
                name: portal.name.clone(),
                statement: cursor.statement.to_string(),
                holdable: portal.hold,
                binary: cursor.binary,
                scrollable: portal.scroll,
                created: portal.created_at - super::env::EPOCH_SHIFT,
            });
        }
        all.sort_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)));
        *self.core.cursors.lock() = all;
    }

    /// FETCH and MOVE; gives the command tag.
    pub(crate) fn fetch_stmt(&mut self, stmt: &FetchStmt, sink: &mut dyn Sink) -> Result<String> {
        let missing = || err!(INVALID_CURSOR_NAME, "cursor \"{}\" does not exist", stmt.cursor);
        let mut portal = match self.portals.get(&stmt.cursor) {
            Some(p) if !stmt.cursor.is_empty() && p.holds_rows() => {
                self.portals.remove(&stmt.cursor).ok_or_else(missing)?
            }
            _ => return Err(missing()),
        };
        if !portal.is_cursor {
            let result = self.fetch_portal(&mut portal, stmt, sink);
            self.portals.insert(portal);
            return result;
        }
        let result = self.fetch_from(&mut portal, stmt, sink);
        // A cursor whose query failed gives nothing more; what is held stays.
        let failed = result.is_err() && !portal.is_held();
        if failed {
            portal.cursor = None;
        }
        self.portals.insert(portal);
        if failed {
            self.show_cursors();
        }
        let count = result?;
        let word = if stmt.is_move { "MOVE" } else { "FETCH" };
        Ok(format!("{word} {count}"))
    }

    fn fetch_from(
        &mut self,
        portal: &mut Portal,
        stmt: &FetchStmt,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        let analysed = portal.prepared.analysed.lock().clone();
        let env = self.env()?;
        let Some(cursor) = portal.cursor.as_mut() else {
            bail!(OBJECT_NOT_IN_PREREQUISITE_STATE, "portal \"{}\" cannot be run", portal.name);
        };
        if !stmt.is_move {
            sink.row_description(&analysed.columns, &portal.formats)?;
        }
        let (rows, count) = cursor.fetch(self, &env, stmt)?;
        if !stmt.is_move {
            let writer = RowWriter::new(&analysed.columns, &portal.formats);
            for row in &rows {
                writer.row(row, &env.io(), sink)?;
            }
        }
        Ok(count)
    }

    /// At the end of the transaction: cursors WITH HOLD take all their rows.
    pub(crate) fn hold_cursors(&mut self) -> Result<()> {
        if !self.portals.iter().any(|p| p.hold && !p.is_held()) {
            return Ok(());
        }
        let mut portals = std::mem::take(&mut self.portals);
        let mut result = Ok(());
        for portal in portals.iter_mut() {
            if portal.hold && !portal.is_held() && result.is_ok() {
                result = self.hold(portal);
            }
        }
        self.portals = portals;
        result
    }

    fn hold(&self, portal: &mut Portal) -> Result<()> {
        let Some(cursor) = portal.cursor.as_mut() else { return Ok(()) };
        let env = self.env()?;
        // Without SCROLL what lies behind is not needed.
        let skipped = if cursor.scroll { 0 } else { cursor.pos };
        let rows = match cursor.at_end && !cursor.scroll {
            true => Vec::new(),
            false => cursor.rows(self, &env, skipped + 1, u64::MAX >> 1)?,
        };
        cursor.rows = Rows::Held(rows, skipped);
        cursor.places = None;
        portal.snapshot = None;
        Ok(())
    }

    /// Replaces WHERE CURRENT OF by the place of the cursor's row.
    pub(super) fn resolve_current_of(&mut self, query: &mut Query) -> Result<()> {
        let Some((varno, name)) = cursor_of(query) else { return Ok(()) };
        let relid = match query.rtable.get(varno as usize - 1).map(|r| &r.kind) {
            Some(RteKind::Relation { relid, .. }) => *relid,
            _ => return Err(Error::unsupported("WHERE CURRENT OF a view")),
        };
        let tid = self.place_of(&name, relid)?;
        let own = Var::new(varno, -1, catalog::oids::TID, -1, Oid::INVALID);
        let at = ir::Const {
            ty: catalog::oids::TID,
            typmod: -1,
            collation: Oid::INVALID,
            value: tid,
            location: None,
        };
        let is_there = Expr::Op(OpExpr {
            kind: OpKind::Plain,
            op: TID_EQUAL.0,
            func: TID_EQUAL.1,
            ret_type: catalog::oids::BOOL,
            ret_set: false,
            collation: Oid::INVALID,
            input_collation: Oid::INVALID,
            args: vec![Expr::Var(own), Expr::Const(at)],
            location: None,
        });
        if let Some(quals) = &mut query.jointree.quals {
            ir::walk::transform(quals, &mut |e| {
                if matches!(e, Expr::CurrentOf { .. }) {
                    *e = is_there.clone();
                }
            });
        }
        Ok(())
    }

    /// A portal's statement that changes a cursor's row is planned for that row.
    pub(super) fn start_at_cursor(&mut self, portal: &mut Portal) -> Result<()> {
        let analysed = portal.prepared.analysed.lock().clone();
        let mut query = main_query(&analysed)?.clone();
        self.resolve_current_of(&mut query)?;
        let env = self.env()?;
        let values = (!portal.params.is_empty()).then_some(&portal.params[..]);
        let plan = self.plan(&env, query, values, 0.0)?;
        self.check_writes(&plan)?;
        let plan = self.compile(&env, plan)?;
        let snapshot = Arc::new(self.core.txn()?.snapshot());
        portal.snapshot = Some(snapshot.clone());
        let run = Execution::new(plan, portal.params.clone(), snapshot);
        portal.state = PortalState::Running(Box::new(run));
        Ok(())
    }

    /// Where in a table the row is that a cursor is on.
    fn place_of(&mut self, name: &str, relid: Oid) -> Result<Datum> {
        let missing = || err!(INVALID_CURSOR_NAME, "cursor \"{name}\" does not exist");
        let found = self.portals.get(name).filter(|p| p.is_cursor);
        if found.is_none() {
            return Err(missing());
        }
        let mut portal = self.portals.remove(name).ok_or_else(missing)?;
        let result = self.find_place(&mut portal, relid);
        self.portals.insert(portal);
        result
    }

    fn find_place(&mut self, portal: &mut Portal, relid: Oid) -> Result<Datum> {
        let name = portal.name.clone();
        let Some(cursor) = portal.cursor.as_mut() else {
            bail!(INVALID_CURSOR_STATE, "cursor \"{name}\" is not a SELECT query");
        };
        if cursor.is_held() {
            bail!(INVALID_CURSOR_STATE, "cursor \"{name}\" is held from a previous transaction");
        }
        let env = self.env()?;
        let table = env.view.relation(relid)?;
        let analysed = portal.prepared.analysed.lock().clone();
        let query = main_query(&analysed)?;
        let Some(varno) = updatable(query, relid, &name, &table.name)? else {
            bail!(
                INVALID_CURSOR_STATE,
                "cursor \"{name}\" is not a simply updatable scan of table \"{}\"",
                table.name
            );
        };
        if cursor.at_start || cursor.at_end {
            bail!(INVALID_CURSOR_STATE, "cursor \"{name}\" is not positioned on a row");
        }
        if cursor.places.as_ref().is_none_or(|p| p.relation != relid) {
            let mut query = query.clone();
            // The rows are locked already, and may have been changed since.
            query.row_marks.clear();
            query.has_for_update = false;
            let tid = place_column(&mut query, varno);
            let number = query.target_list.len() as i16 + 1;
            query.target_list.push(TargetEntry::new(Expr::Var(tid), number, None, false));
            let values = (!portal.params.is_empty()).then_some(&portal.params[..]);
            let fraction = self.core.settings.lock().f64("cursor_tuple_fraction");
            let plan = self.plan(&env, query, values, fraction)?;
            let plan = self.compile(&env, plan)?;
            let snapshot = match &portal.snapshot {
                Some(s) => s.clone(),
                None => Arc::new(self.core.txn()?.snapshot()),
            };
            let source = Source::new(plan, portal.params.clone(), snapshot);
            cursor.places = Some(Places { relation: relid, source, last: None });
        }
        let Some(places) = cursor.places.as_mut() else {
            return Err(Error::internal("a cursor without places"));
        };
        if places.last.as_ref().is_none_or(|(pos, _)| *pos != cursor.pos) {
            places.source.seek(self, &env, cursor.pos)?;
            let row = places.source.next(self, &env, 1)?.pop().and_then(|mut row| row.pop());
            places.last = row.map(|tid| (cursor.pos, tid));
        }
        let Some((_, tid)) = places.last.clone() else {
            bail!(INVALID_CURSOR_STATE, "cursor \"{name}\" is not positioned on a row");
        };
        self.newest_version(&env, &table, tid)
    }

    /// The version of a row that counts now, if the one at the place was changed meanwhile.
    fn newest_version(
        &self,
        env: &StatementEnv<'_>,
        table: &catalog::RelationDesc,
        tid: Datum,
    ) -> Result<Datum> {
        let storage = self.core.database.storage();
        let open = table.open(storage, &env.view)?;
        let snapshot = self.core.txn()?.latest_snapshot();
        let viewer = access::heap::Viewer::mvcc(storage, &snapshot);
        let Datum::Bytes(bytes) = &tid else { return Ok(tid) };
        let [a, b, c, d, e, f] = bytes[..] else { return Ok(tid) };
        let (block, offset) = (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]));
        let at = base::Tid { block: base::BlockNo(block), offset };
        match open.heap.exists(at, &viewer)? {
            access::heap::Found::Row(now) => {
                let bytes = [&now.block.0.to_le_bytes()[..], &now.offset.to_le_bytes()].concat();
                Ok(Datum::bytes(bytes))
            }
            _ => Ok(tid),
        }
    }
}

/// The `ctid` of a table in FROM; policies make a subquery of the table, which then gives it.
fn place_column(query: &mut Query, varno: u32) -> Var {
    let own = |varno, attno| Var::new(varno, attno, catalog::oids::TID, -1, Oid::INVALID);
    let RteKind::Subquery { query: inner, .. } = &mut query.rtable[varno as usize - 1].kind else {
        return own(varno, -1);
    };
    let number = inner.target_list.len() as i16 + 1;
    inner.target_list.push(TargetEntry::new(Expr::Var(own(1, -1)), number, None, true));
    own(varno, number)
}

/// The range-table entry whose rows the cursor is on, if that can be said.
fn updatable(query: &Query, relid: Oid, name: &str, table: &str) -> Result<Option<u32>> {
    let is_table =
        |rte: &ir::Rte| matches!(rte.kind, RteKind::Relation { relid: r, .. } if r == relid);
    let is_it = |index: u32| match &query.rte(index).kind {
        RteKind::Subquery { query: inner, .. } => inner.has_row_security && is_table(inner.rte(1)),
        _ => is_table(query.rte(index)),
    };
    if !query.row_marks.is_empty() {
        let marked: Vec<u32> =
            query.row_marks.iter().map(|m| m.rtindex).filter(|i| is_it(*i)).collect();
        return match marked[..] {
            [one] => Ok(Some(one)),
            [] => Err(err!(
                INVALID_CURSOR_STATE,
                "cursor \"{name}\" does not have a FOR UPDATE/SHARE reference to table \
                 \"{table}\""
            )),
            _ => Err(err!(
                INVALID_CURSOR_STATE,
                "cursor \"{name}\" has multiple FOR UPDATE/SHARE references to table \"{table}\""
            )),
        };
    }
    let plain = !query.has_aggs
        && !query.has_window_funcs
        && !query.has_target_srfs
        && query.group_clause.is_empty()
        && query.grouping_sets.is_empty()
        && query.having.is_none()
        && query.distinct_clause.is_empty()
        && query.sort_clause.is_empty()
        && query.set_operations.is_none();
    match &query.jointree.items[..] {
        [ir::FromItem::Table(index)] if plain && is_it(*index) => Ok(Some(*index)),
        _ => Ok(None),
    }
}

fn check_declared(stmt: &DeclareCursorStmt, query: &Query) -> Result<()> {
    if query.has_modifying_cte {
        bail!(
            FEATURE_NOT_SUPPORTED,
            "DECLARE CURSOR must not contain data-modifying statements in WITH"
        );
    }
    let Some(mark) = query.row_marks.first() else { return Ok(()) };
    let words = match mark.strength {
        ir::LockStrength::ForKeyShare => "FOR KEY SHARE",
        ir::LockStrength::ForShare => "FOR SHARE",
        ir::LockStrength::ForNoKeyUpdate => "FOR NO KEY UPDATE",
        _ => "FOR UPDATE",
    };
    let wrong = |what: &str, verdict: &str, kind: &str| {
        err!(FEATURE_NOT_SUPPORTED, "DECLARE {what} ... {words} is not {verdict}")
            .detail(format!("{kind} cursors must be READ ONLY."))
    };
    if stmt.hold {
        return Err(wrong("CURSOR WITH HOLD", "supported", "Holdable"));
    }
    if stmt.scroll == Some(true) {
        return Err(wrong("SCROLL CURSOR", "supported", "Scrollable"));
    }
    if stmt.insensitive == Some(true) {
        return Err(wrong("INSENSITIVE CURSOR", "valid", "Insensitive"));
    }
    Ok(())
}
