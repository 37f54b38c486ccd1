//! Rows that come to a table by the thousand, not from a plan: COPY FROM.
//!
//! The caller makes rows, [`BulkInsert::accept`] fills in what is computed and checks one,
//! [`BulkInsert::store`] writes many at once. Rows lie one after another in one vector, so that a
//! row costs no allocation.

use crate::bulk_writer::{BulkWriter, Work};
use crate::compile::{CompiledStmt, PlanCompiler};
use crate::expr::{Prog, RowInput, VarMap};
use crate::hooks::RowChange;
use crate::node::modify::ResultRel;
use crate::node::modify::route::{Router, leaf_rels, mapped};
use crate::run::{ExecCtx, Run, State};
use access::heap::InsertOptions;
use access::{ExecTxn, Storage};
use base::{Oid, Result, Tid};
use catalog::{CatalogView, RelationDesc};
use ir::{CmdType, Plan, PlanNode, PlannedStmt, Rte, RteKind, Written};
use std::sync::Arc;
use txn::Snapshot;
use types::Datum;

/// What becomes of columns that the rows do not bring, and which rows are wanted.
#[derive(Default)]
pub struct BulkOptions<'a> {
    /// Expressions for columns, by position.
    pub defaults: Vec<(usize, ir::Expr)>,
    /// Only rows of which this is true; columns are those of entry 1.
    pub filter: Option<&'a ir::Expr>,
    /// COPY FREEZE.
    pub frozen: bool,
    /// Many rows may be written by another thread while the caller makes the next: it does nothing
    /// else in the transaction meanwhile.
    pub ahead: bool,
}

/// A table that rows are brought to.
pub struct BulkInsert {
    state: State,
    target: ResultRel,
    /// Of a partitioned table: where rows go, and the partitions.
    router: Option<(Router, Vec<ResultRel>)>,
    defaults: Vec<(usize, Prog)>,
    filter: Option<Prog>,
    frozen: bool,
    tids: Vec<Tid>,
    /// The expressions may not be computed before earlier rows are stored.
    volatile: bool,
    /// Rows may be written by another thread.
    ahead: bool,
    /// Batches that were stored.
    batches: usize,
    writer: Option<BulkWriter>,
}

/// Batches that come before another thread is worth its start.
const FEW: usize = 8;

/// A plan that does nothing with the table, to compile expressions over it in.
pub(crate) fn no_plan(rel: Oid, kind: char) -> PlannedStmt {
    let mut plan = Plan::new(PlanNode::Result(Default::default()));
    plan.rows = 1.0;
    let kind = RteKind::Relation {
        relid: rel,
        relkind: kind,
        lock_mode: 3,
        inherit: false,
        sample: None,
        written: Written::default(),
    };
    let rte = Rte {
        kind,
        alias: None,
        eref: Default::default(),
        lateral: false,
        in_from: false,
        perms: None,
        security_quals: Vec::new(),
    };
    PlannedStmt {
        command: CmdType::Insert,
        rtable: vec![rte],
        result_relations: vec![1],
        relation_oids: vec![rel],
        ..PlannedStmt::select(plan)
    }
}

impl BulkInsert {
    /// For this table.
    pub fn new(
        catalog: &CatalogView,
        storage: &Arc<Storage>,
        rel: &RelationDesc,
        snapshot: Arc<Snapshot>,
        options: BulkOptions<'_>,
    ) -> Result<BulkInsert> {
        let plan = Arc::new(no_plan(rel.oid, rel.kind.as_u8() as char));
        let mut c = PlanCompiler::new(&plan, catalog, Some(storage));
        let target = ResultRel::compile(&mut c, 1)?;
        let router = match target.rel.partition_key.is_some() {
            true => {
                let root = Arc::clone(&target.rel);
                let router = Router::compile(&mut c, &root)?;
                let leaves = leaf_rels(&mut c, &router, 1)?;
                Some((router, leaves))
            }
            false => None,
        };
        let map = VarMap::default().and(1, 0, rel.tuple.natts());
        let mut defaults = Vec::with_capacity(options.defaults.len());
        for (i, expr) in &options.defaults {
            defaults.push((*i, c.ec.expr(expr, &map)?));
        }
        let filter = match options.filter {
            Some(expr) => Some(c.ec.expr(expr, &map)?),
            None => None,
        };
        let call_states = c.ec.call_states as usize;
        let root = c.node(&plan.plan)?;
        let volatile = filter.as_ref().is_some_and(|f| f.volatile);
        // Who looks at each row, or at what was written, cannot be ahead; nor can a function that
        // might do something in the transaction.
        let ahead = options.ahead
            && router.is_none()
            && target.indexes.is_empty()
            && !target.hooked
            && !c.ec.calls_volatile;
        let stmt = CompiledStmt::of_parts(Arc::clone(&plan), root, call_states);
        Ok(BulkInsert {
            state: State::new(Arc::new(stmt), Arc::new([]), snapshot),
            target,
            router,
            defaults,
            filter,
            frozen: options.frozen,
            tids: Vec::new(),
            volatile,
            ahead,
            batches: 0,
            writer: None,
        })
    }

    /// Looks again at the key of a row that was perhaps not unique when the row was stored.
    pub fn recheck_unique(
        &mut self,
        cx: ExecCtx<'_>,
        snapshot: &Arc<Snapshot>,
        index: Oid,
        tid: Tid,
    ) -> Result<()> {
        let mut run = Run::new(cx, &mut self.state);
        let x = ExecTxn { txn: run.cx.txn()?, snapshot };
        self.target.recheck_unique(&mut run, &x, index, tid)
    }

    /// True if each row has to be stored before the next is computed.
    pub fn is_row_by_row(&self) -> bool {
        self.volatile
    }

    /// Computes the default of one column.
    pub fn default_of(&mut self, cx: ExecCtx<'_>, column: usize) -> Result<Datum> {
        let mut run = Run::new(cx, &mut self.state);
        match self.defaults.iter().find(|d| d.0 == column) {
            Some((_, prog)) => prog.eval(&mut run, RowInput::Row(&[])),
            None => Ok(Datum::Null),
        }
    }

    /// Fills in the defaults of these columns.
    pub fn fill(&mut self, cx: ExecCtx<'_>, columns: &[usize], row: &mut [Datum]) -> Result<()> {
        for c in columns {
            row[*c] = self.default_of(cx, *c)?;
        }
        Ok(())
    }

    /// Computes what is generated, checks the constraints; false if the row is not wanted.
    #[inline]
    pub fn accept(&mut self, cx: ExecCtx<'_>, row: &mut [Datum]) -> Result<bool> {
        let mut run = Run::new(cx, &mut self.state);
        if let Some(filter) = &self.filter
            && !filter.is_true(&mut run, RowInput::Row(row))?
        {
            return Ok(false);
        }
        if self.router.is_some() {
            // The partition looks at the row once it is known which it is.
            return Ok(true);
        }
        if self.target.hooked {
            let change = RowChange {
                rel: &self.target.rel,
                command: CmdType::Insert,
                old: None,
                new: Some((None, row)),
                assigned: &[],
                moving: false,
            };
            match run.cx.hooks.before_row(&change)? {
                Some(changed) => row.clone_from_slice(&changed),
                None => return Ok(false),
            }
        }
        self.target.generate(&mut run, row)?;
        self.target.check(&mut run, row)?;
        self.target.check_belongs(&mut run, row)?;
        Ok(true)
    }

    /// Before the first row, or after the last.
    pub fn statement_hooks(&mut self, cx: ExecCtx<'_>, before: bool) -> Result<()> {
        let rel = &self.target.rel;
        match (self.target.hooked, before) {
            (false, _) => Ok(()),
            (true, true) => cx.hooks.before_statement(rel, CmdType::Insert, &[]),
            (true, false) => cx.hooks.after_statement(rel, CmdType::Insert, &[]),
        }
    }

    /// Writes one row to the partition it belongs to.
    fn route(&mut self, cx: ExecCtx<'_>, row: &[Datum]) -> Result<()> {
        let Some((router, leaves)) = &self.router else { return Ok(()) };
        let snapshot = Arc::clone(&self.state.snapshot);
        let x = ExecTxn { txn: cx.txn()?, snapshot: &snapshot };
        let mut run = Run::new(cx, &mut self.state);
        let n = router.find(&mut run, row)?;
        let rel = &leaves[n];
        let mut own = mapped(&router.leaves[n].map, row);
        let change =
            |tid: Option<Tid>, row: &[Datum], f: &mut dyn FnMut(&RowChange<'_>) -> Result<()>| {
                f(&RowChange {
                    rel: &rel.rel,
                    command: CmdType::Insert,
                    old: None,
                    new: Some((tid, row)),
                    assigned: &[],
                    moving: false,
                })
            };
        if rel.hooked {
            let mut replaced = None;
            change(None, &own, &mut |c| {
                replaced = run.cx.hooks.before_row(c)?;
                Ok(())
            })?;
            match replaced {
                Some(row) => own = row,
                None => return Ok(()),
            }
        }
        rel.generate(&mut run, &mut own)?;
        rel.check(&mut run, &own)?;
        let tid = rel.heap().insert(&x, &own)?;
        rel.insert_entries(&mut run, &x, &own, tid, &[])?;
        if rel.hooked {
            change(Some(tid), &own, &mut |c| run.cx.hooks.after_row(c))?;
        }
        Ok(())
    }

    /// Writes rows that were accepted; `rows` holds all their columns, and is left empty. An error
    /// comes with the number of the row that made it.
    pub fn store(
        &mut self,
        cx: ExecCtx<'_>,
        rows: &mut Vec<Datum>,
    ) -> std::result::Result<(), (base::Error, Option<usize>)> {
        if self.ahead && self.writer.is_none() && self.batches >= FEW {
            self.writer = self.start_writer(cx).map_err(|e| (e, None))?;
        }
        self.batches += 1;
        if let Some(writer) = &mut self.writer {
            return writer.store(rows).map_err(|e| (e, None));
        }
        let stored = self.store_now(cx, rows);
        rows.clear();
        stored
    }

    fn start_writer(&self, cx: ExecCtx<'_>) -> Result<Option<BulkWriter>> {
        Ok(BulkWriter::start(Work {
            heap: Arc::clone(self.target.heap()),
            txn: Arc::clone(cx.txn()?),
            snapshot: Arc::clone(&self.state.snapshot),
            options: InsertOptions { frozen: self.frozen },
        }))
    }

    /// Waits until all rows are written.
    pub fn finish(&mut self) -> Result<()> {
        self.writer.take().map_or(Ok(()), BulkWriter::finish)
    }

    fn store_now(
        &mut self,
        cx: ExecCtx<'_>,
        rows: &[Datum],
    ) -> std::result::Result<(), (base::Error, Option<usize>)> {
        let natts = self.target.natts().max(1);
        if self.router.is_some() {
            for (i, row) in rows.chunks_exact(natts).enumerate() {
                self.route(cx, row).map_err(|e| (e, Some(i)))?;
            }
            return Ok(());
        }
        let snapshot = Arc::clone(&self.state.snapshot);
        let txn = cx.txn().map_err(|e| (e, None))?;
        let x = ExecTxn { txn, snapshot: &snapshot };
        let mut tids = std::mem::take(&mut self.tids);
        tids.clear();
        let options = InsertOptions { frozen: self.frozen };
        let heap = self.target.heap();
        heap.multi_insert(&x, &mut rows.chunks_exact(natts), options, &mut tids)
            .map_err(|e| (e, None))?;
        let mut run = Run::new(cx, &mut self.state);
        if !self.target.indexes.is_empty() || self.target.hooked {
            for (i, (row, tid)) in rows.chunks_exact(natts).zip(&tids).enumerate() {
                let entered = self.target.insert_entries(&mut run, &x, row, *tid, &[]);
                entered.map_err(|e| (e, Some(i)))?;
                if self.target.hooked {
                    let change = RowChange {
                        rel: &self.target.rel,
                        command: CmdType::Insert,
                        old: None,
                        new: Some((Some(*tid), row)),
                        assigned: &[],
                        moving: false,
                    };
                    cx.hooks.after_row(&change).map_err(|e| (e, Some(i)))?;
                }
            }
        }
        self.tids = tids;
        Ok(())
    }
}
