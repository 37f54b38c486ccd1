//! ModifyTable: INSERT, UPDATE, DELETE and MERGE.
//!
//! Each row of the child is one row to change. RETURNING reads an input of the new row, the old
//! row, the child's columns, and then the places of both and the table's OID.

mod conflict;
mod delete;
mod insert;
mod merge;
pub(crate) mod recheck;
pub(crate) mod rel;
mod returning;
pub(crate) mod route;
mod update;

pub(crate) use rel::ResultRel;

use super::{Child, FoundRow, Node, NodeSpec, OnlyRow};
use crate::batch::Collector;
use crate::compile::PlanCompiler;
use crate::expr::{Prog, RowInput, VarMap};
use crate::run::Run;
use access::ExecTxn;
use access::heap::AttrSet;
use base::{Error, Result, Tid, err};
use catalog::RelationDesc;
use conflict::ConflictProg;
use ir::{CheckOptionKind, CmdType, Plan};
use merge::MergeProg;
use recheck::{MarkProg, junk};
use returning::Returning;
use route::Router;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Datum, PhysType};

/// A condition that rows written through a view, or under row security, must satisfy.
struct CheckOption {
    kind: CheckOptionKind,
    relation: String,
    policy: Option<String>,
    prog: Prog,
}

/// One table of the statement.
struct TargetProg {
    rel: ResultRel,
    /// Positions of the assigned columns, in the order of the child's columns.
    assigned: Vec<usize>,
    /// The same as attribute numbers.
    assigned_numbers: Vec<i16>,
    /// Columns that keep their values.
    unchanged: AttrSet,
    /// An update assigns all columns: the old row is not needed.
    assigns_all: bool,
    returning: Option<Returning>,
    options: Vec<CheckOption>,
    /// Where the columns that the options are over are in rows of this table; none if they lie
    /// the same.
    options_map: Option<Vec<Option<usize>>>,
}

pub(crate) struct ModifySpec {
    operation: CmdType,
    /// The table that the statement names, if it has triggers.
    named: Option<Arc<RelationDesc>>,
    can_set_tag: bool,
    child: Child,
    targets: Vec<TargetProg>,
    /// Junk columns of the child's rows.
    ctid: Option<usize>,
    table_oid: Option<usize>,
    marks: Vec<MarkProg>,
    conflict: Option<ConflictProg>,
    /// ON CONFLICT of each leaf that rows are routed to.
    leaf_conflicts: Vec<ConflictProg>,
    /// MERGE: what it does with each target.
    merge: Vec<MergeProg>,
    /// MERGE: the target, by number, that new rows are returned as rows of. Without a router they
    /// are inserted there.
    insert_target: usize,
    /// INSERT into a partitioned table, or UPDATE or MERGE of one: where rows go.
    router: Option<Router>,
    /// The partitions that rows are routed to, by the router's numbers.
    leaves: Vec<TargetProg>,
    phys: Vec<PhysType>,
}

struct ModifyNode {
    spec: Arc<ModifySpec>,
    /// Not started if its only row was to be had without.
    child: Option<Box<dyn Node>>,
    /// The child's spec has been asked for its only row.
    asked: bool,
    rest: Option<(Batch, usize)>,
    begun: bool,
    done: bool,
}

/// A change that was made.
#[derive(Default)]
struct Done {
    /// The partition that was written, if it is not the target.
    table: Option<base::Oid>,
    old: Option<(Tid, Vec<Datum>)>,
    new: Option<(Tid, Vec<Datum>)>,
    /// The old row was in the target all the same: it moved to `table`.
    moved: bool,
    /// ON CONFLICT locked the old row before it was changed.
    locked: bool,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    m: &ir::ModifyTable,
) -> Result<Arc<dyn NodeSpec>> {
    let child = c.outer(plan)?;
    let target = plan.outer.as_ref().map(|p| p.target.clone()).unwrap_or_default();
    let mut targets = Vec::new();
    let root = root_of(c, m)?;
    let root_width = root.as_ref().map_or(0, |r| r.tuple.natts());
    if m.operation != CmdType::Insert || root.is_none() {
        for t in &m.targets {
            targets.push(TargetProg::compile(c, m, t, &child)?);
        }
    }
    let (router, leaves) = compile_router(c, m, root, &targets, &child)?;
    let leaf_conflicts = match (&router, &m.on_conflict) {
        (Some(router), Some(o)) => compile_conflicts(c, o, router, &leaves, root_width)?,
        _ => Vec::new(),
    };
    let marks =
        m.row_marks.iter().map(|r| MarkProg::compile(c, r, &target)).collect::<Result<_>>()?;
    let conflict = match (&m.on_conflict, targets.first()) {
        (Some(o), Some(t)) => Some(ConflictProg::compile(c, o, &t.rel, None)?),
        _ => None,
    };
    let mut merge = Vec::new();
    if m.operation == CmdType::Merge {
        for (t, target) in m.targets.iter().zip(&targets) {
            merge.push(MergeProg::compile(c, t, &target.rel, root_width, &child)?);
        }
    }
    let is_named = |t: &TargetProg| m.relations.first() == Some(&t.rel.rel.oid);
    let insert_target = targets.iter().position(is_named).unwrap_or(0);
    let mut phys = Vec::new();
    for t in &plan.target {
        phys.push(c.ec.phys(t.expr.ty())?);
    }
    let mut named = None;
    if m.nominal > 0
        && let ir::RteKind::Relation { relid, .. } = &c.stmt.rtable[m.nominal as usize - 1].kind
    {
        let rel = c.ec.catalog.relation(*relid)?;
        named = rel.triggers.iter().any(|t| !t.is_internal).then_some(rel);
    }
    Ok(Arc::new(ModifySpec {
        operation: m.operation,
        named,
        can_set_tag: m.can_set_tag,
        child,
        targets,
        ctid: junk(&target, "ctid"),
        table_oid: junk(&target, "tableoid"),
        marks,
        conflict,
        leaf_conflicts,
        merge,
        insert_target,
        router,
        leaves,
        phys,
    }))
}

/// The partitioned table that rows are routed in, if the statement changes one.
fn root_of(c: &PlanCompiler, m: &ir::ModifyTable) -> Result<Option<Arc<RelationDesc>>> {
    let rti = match m.operation {
        CmdType::Insert => m.nominal,
        CmdType::Update | CmdType::Merge if m.root > 0 => m.root,
        // A table without partitions has none to insert into.
        CmdType::Merge if m.nominal > 0 => m.nominal,
        _ => return Ok(None),
    };
    let ir::RteKind::Relation { relid, .. } = &c.stmt.rtable[rti as usize - 1].kind else {
        return Ok(None);
    };
    let rel = c.ec.catalog.relation(*relid)?;
    Ok(rel.partition_key.is_some().then_some(rel))
}

/// ON CONFLICT for each leaf, with the root's columns in its expressions.
fn compile_conflicts(
    c: &mut PlanCompiler,
    o: &ir::PlanOnConflict,
    router: &Router,
    leaves: &[TargetProg],
    natts: usize,
) -> Result<Vec<ConflictProg>> {
    let mut all = Vec::new();
    for (leaf, target) in router.leaves.iter().zip(leaves) {
        let layout = conflict::Layout { map: leaf.map.clone(), back: leaf.back.clone() };
        let of = conflict::OfLeaf { layout, natts };
        all.push(ConflictProg::compile(c, o, &target.rel, Some(of))?);
    }
    Ok(all)
}

/// The router, and its leaves as targets. UPDATE routes only if it may change a key.
fn compile_router(
    c: &mut PlanCompiler,
    m: &ir::ModifyTable,
    root: Option<Arc<RelationDesc>>,
    targets: &[TargetProg],
    child: &Child,
) -> Result<(Option<Router>, Vec<TargetProg>)> {
    let Some(root) = root else { return Ok((None, Vec::new())) };
    let router = Router::compile(c, &root)?;
    if m.operation == CmdType::Update {
        let assigns = |n: &i16| {
            let name = &root.tuple.attrs[*n as usize - 1].name;
            targets.iter().any(|t| {
                let number = t.rel.rel.column_number(name);
                t.rel.hooked || number.is_some_and(|n| t.assigned_numbers.contains(&n))
            })
        };
        if !router.key_columns.iter().any(assigns) {
            return Ok((None, Vec::new()));
        }
    }
    let Some(first) = m.targets.first() else { return Ok((None, Vec::new())) };
    let rti = match m.operation {
        CmdType::Insert => first.rtindex,
        _ if m.root > 0 => m.root,
        _ => m.nominal,
    };
    let rels = route::leaf_rels(c, &router, rti)?;
    let mut leaves = Vec::new();
    for rel in rels {
        let same = targets.iter().position(|t| t.rel.rel.oid == rel.rel.oid);
        if let (CmdType::Merge, Some(n)) = (m.operation, same) {
            // Its rows may be inserted as well as moved: the conditions of both are the member's.
            let t = ir::ModifyTarget { returning: Vec::new(), ..m.targets[n].clone() };
            leaves.push(TargetProg::compile(c, m, &t, child)?);
            continue;
        }
        let mut t = ir::ModifyTarget { rtindex: rti, ..first.clone() };
        if m.operation != CmdType::Insert {
            t.returning = Vec::new();
        }
        if m.root > 0 {
            t.with_check_options = m.root_options.clone();
        }
        t.update_columns = Vec::new();
        let natts = root.tuple.natts();
        leaves.push(TargetProg::compile_over(c, m, &t, child, rel, natts)?);
    }
    Ok((Some(router), leaves))
}

impl TargetProg {
    fn compile(
        c: &mut PlanCompiler,
        m: &ir::ModifyTable,
        t: &ir::ModifyTarget,
        child: &Child,
    ) -> Result<TargetProg> {
        let mut rel = ResultRel::compile(c, t.rtindex)?;
        if m.root > 0 && m.root != t.rtindex {
            let (root, _) = crate::node::scan::relation_of(c, m.root)?;
            let map = route::column_map(&rel.rel, &root);
            rel.root = Some((root, map));
        }
        let natts = rel.natts();
        TargetProg::compile_over(c, m, t, child, rel, natts)
    }

    /// As [`TargetProg::compile`]; RETURNING and check options are over rows of `width` columns.
    fn compile_over(
        c: &mut PlanCompiler,
        m: &ir::ModifyTable,
        t: &ir::ModifyTarget,
        child: &Child,
        rel: ResultRel,
        width: usize,
    ) -> Result<TargetProg> {
        let natts = rel.natts();
        let assigned: Vec<usize> = t.update_columns.iter().map(|n| *n as usize - 1).collect();
        let generated = |i: usize| rel.rel.tuple.attrs[i].generated == b's';
        let unchanged: AttrSet =
            (0..natts).filter(|i| !assigned.contains(i) && !generated(*i)).collect();
        let live = |i: &usize| !rel.rel.tuple.attrs[*i].dropped;
        let assigns_all = (0..natts).filter(live).all(|i| assigned.contains(&i));
        let returning = match t.returning.is_empty() {
            true => None,
            false => Some(Returning::compile(c, m.operation, t, width, child)?),
        };
        let (named, _) = crate::node::scan::relation_of(c, t.rtindex)?;
        let options_map = match named.oid == rel.rel.oid {
            true => None,
            false => route::column_map(&rel.rel, &named),
        };
        let map = VarMap::default().and(t.rtindex, 0, named.tuple.natts());
        let mut options = Vec::new();
        for o in &t.with_check_options {
            options.push(CheckOption {
                kind: o.kind,
                relation: o.relation.clone(),
                policy: o.policy.clone(),
                prog: c.ec.expr(&o.qual, &map)?,
            });
        }
        let assigned_numbers = t.update_columns.clone();
        Ok(TargetProg {
            rel,
            assigned,
            assigned_numbers,
            unchanged,
            assigns_all,
            returning,
            options,
            options_map,
        })
    }

    /// An update has to know what the row was.
    fn needs_old(&self) -> bool {
        !self.assigns_all || self.rel.hooked || self.returning.is_some()
    }

    /// Checks the conditions of these kinds for a new row.
    fn check_options(&self, run: &mut Run, row: &[Datum], kinds: &[CheckOptionKind]) -> Result<()> {
        for o in self.options.iter().filter(|o| kinds.contains(&o.kind)) {
            let ok = match &self.options_map {
                None => o.prog.eval(run, RowInput::Row(row))?,
                map => o.prog.eval(run, RowInput::Row(&route::mapped(map, row)))?,
            };
            // Unlike a CHECK constraint it has to be true: the row must be seen afterwards.
            if ok != Datum::Bool(true) {
                return Err(self.option_violation(run, row, o));
            }
        }
        Ok(())
    }

    #[cold]
    fn option_violation(&self, run: &Run, row: &[Datum], o: &CheckOption) -> Error {
        let name = &o.relation;
        if o.kind == CheckOptionKind::View {
            return err!(
                WITH_CHECK_OPTION_VIOLATION,
                "new row violates check option for view \"{name}\""
            )
            .detail(self.rel.failing_row(run, row));
        }
        let (row, using) = match o.kind {
            CheckOptionKind::RlsConflict => ("new", " (USING expression)"),
            CheckOptionKind::RlsMergeUpdate | CheckOptionKind::RlsMergeDelete => {
                ("target", " (USING expression)")
            }
            _ => ("new", ""),
        };
        let policy = o.policy.as_ref().map_or(String::new(), |p| format!(" \"{p}\""));
        err!(
            INSUFFICIENT_PRIVILEGE,
            "{row} row violates row-level security policy{policy}{using} for table \"{name}\""
        )
    }
}

impl NodeSpec for ModifySpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        // What is watched, or run again for other rows, is the node.
        let alone = run.instrumentation.is_none() && run.recheck.is_none();
        let child = match alone && self.operation != CmdType::Merge {
            true => None,
            false => Some(self.child.start(run)?),
        };
        let state =
            ModifyNode { child, asked: false, rest: None, begun: false, done: false, spec: self };
        Ok(Box::new(state))
    }
}

impl ModifySpec {
    /// Statement triggers are those of the table that the statement names.
    fn statement_hooks(&self, run: &mut Run, before: bool) -> Result<()> {
        let Some(named) = &self.named else { return Ok(()) };
        // What triggers have done is not to be done again.
        run.parks = false;
        let first = self.targets.first();
        let name = |t: &TargetProg, n: &i16| t.rel.rel.tuple.attrs[*n as usize - 1].name.clone();
        let mut assigned = Vec::new();
        if let Some(t) = first {
            let here = t.assigned_numbers.iter().filter_map(|n| named.column_number(&name(t, n)));
            assigned.extend(here);
        }
        let mut commands = vec![self.operation];
        if let (Some(c), CmdType::Insert) = (&self.conflict, self.operation)
            && c.updates()
        {
            assigned = c.set_numbers().to_vec();
            commands.push(CmdType::Update);
        }
        if let Some(merge) = self.merge.first() {
            commands = merge.commands();
        }
        let hooks = run.cx.hooks;
        for command in commands {
            match before {
                true => hooks.before_statement(named, command, &assigned)?,
                false => hooks.after_statement(named, command, &assigned)?,
            }
        }
        Ok(())
    }

    /// Which table a child's row is of.
    fn target_of(&self, row: &[Datum]) -> Result<&TargetProg> {
        if self.targets.len() == 1 {
            return Ok(&self.targets[0]);
        }
        let oid = self.table_oid.map(|c| row[c].as_oid()).unwrap_or_default();
        self.targets
            .iter()
            .find(|t| t.rel.rel.oid == oid)
            .ok_or_else(|| Error::internal(format!("table {oid} is not among the targets")))
    }

    /// Where the row to change is; none for a row of MERGE's source without a partner.
    fn row_place(&self, row: &[Datum]) -> Option<Tid> {
        self.ctid.and_then(|c| super::scan::datum_tid(&row[c]))
    }

    /// Makes the change that one row of the child asks for; `whole` are all columns of the row to
    /// change if they are known.
    fn change(
        &self,
        run: &mut Run,
        row: Vec<Datum>,
        whole: Option<Vec<Datum>>,
    ) -> Result<Option<(Done, Vec<Datum>)>> {
        let x = exec_txn(run)?;
        let x = x.borrow();
        match self.operation {
            CmdType::Insert if self.router.is_some() => insert::routed(self, run, &x, row),
            CmdType::Insert => insert::insert(self, run, &x, &self.targets[0], row),
            CmdType::Merge => merge::merge(self, run, &x, row),
            CmdType::Update | CmdType::Delete => {
                let target = self.target_of(&row)?;
                let tid = self.row_place(&row).ok_or_else(|| Error::internal("ctid is NULL"))?;
                match self.operation {
                    CmdType::Update => update::update(self, run, &x, target, tid, row, whole),
                    _ => delete::delete(self, run, &x, target, tid, row),
                }
            }
            _ => Err(Error::internal("a statement that changes nothing")),
        }
    }
}

/// The transaction and snapshot of a run, held so that the run can be used meanwhile.
struct HeldTxn<'a> {
    txn: &'a Arc<txn::Txn>,
    snapshot: Arc<txn::Snapshot>,
}

impl HeldTxn<'_> {
    fn borrow(&self) -> ExecTxn<'_> {
        ExecTxn { txn: self.txn, snapshot: &self.snapshot }
    }
}

fn exec_txn<'a>(run: &Run<'a>) -> Result<HeldTxn<'a>> {
    Ok(HeldTxn { txn: run.cx.txn()?, snapshot: Arc::clone(&run.snapshot) })
}

impl ModifyNode {
    /// The child's only row if it needs no run of the child; the child is started if it does.
    fn only_row(&mut self, run: &mut Run) -> Result<OnlyRow> {
        if self.child.is_some() {
            return Ok(OnlyRow::Unknown);
        }
        if std::mem::replace(&mut self.asked, true) {
            return Ok(OnlyRow::None);
        }
        let spec = &self.spec;
        let first = spec.targets.first();
        let whole = spec.operation == CmdType::Update && first.is_some_and(TargetProg::needs_old);
        let found = spec.child.spec.only_row(run, whole)?;
        if matches!(found, OnlyRow::Unknown) {
            self.child = Some(spec.child.start(run)?);
        }
        Ok(found)
    }

    /// The next row of the child.
    fn next_row(&mut self, run: &mut Run, demand: usize) -> Result<Option<FoundRow>> {
        match self.only_row(run)? {
            OnlyRow::Unknown => {}
            OnlyRow::None => return Ok(None),
            OnlyRow::Found(row) => return Ok(Some(row)),
        }
        let Some(child) = &mut self.child else { return Ok(None) };
        if self.rest.is_none() {
            self.rest = child.next(run, demand.min(BATCH_ROWS))?.map(|b| (b, 0));
        }
        let Some((batch, n)) = &mut self.rest else { return Ok(None) };
        let columns = batch.row(batch.position(*n));
        *n += 1;
        if *n >= batch.rows() {
            self.rest = None;
        }
        Ok(Some(FoundRow { columns, whole: None }))
    }

    fn begin(&mut self, run: &mut Run) -> Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            self.spec.statement_hooks(run, true)?;
        }
        Ok(())
    }

    /// Makes all changes; nothing is returned.
    fn run_silently(&mut self, run: &mut Run) -> Result<()> {
        let spec = Arc::clone(&self.spec);
        match self.only_row(run)? {
            OnlyRow::Unknown => {}
            OnlyRow::None => return Ok(()),
            OnlyRow::Found(row) => {
                let done = spec.change(run, row.columns, row.whole)?;
                run.processed += u64::from(done.is_some() && spec.can_set_tag);
                return Ok(());
            }
        }
        let Some(child) = &mut self.child else { return Ok(()) };
        let bulk = spec.operation == CmdType::Insert
            && spec.conflict.is_none()
            && spec.router.is_none()
            && !spec.targets[0].rel.hooked;
        while let Some(batch) = child.next(run, BATCH_ROWS)? {
            run.check_interrupts()?;
            if bulk && batch.rows() > 1 {
                let made = insert::insert_many(run, &spec.targets[0], &batch)?;
                run.processed += if spec.can_set_tag { made } else { 0 };
                continue;
            }
            for n in 0..batch.rows() {
                let row = batch.row(batch.position(n));
                if spec.change(run, row, None)?.is_some() && spec.can_set_tag {
                    run.processed += 1;
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, run: &mut Run) -> Result<()> {
        self.done = true;
        let spec = Arc::clone(&self.spec);
        spec.statement_hooks(run, false)
    }
}

impl Node for ModifyNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        self.begin(run)?;
        let spec = Arc::clone(&self.spec);
        let all = || spec.targets.iter().chain(&spec.leaves);
        if all().all(|t| t.returning.is_none()) {
            self.run_silently(run)?;
            self.finish(run)?;
            return Ok(None);
        }
        let mut out = Collector::new(&spec.phys);
        while out.rows() < demand.min(BATCH_ROWS) {
            let Some(FoundRow { columns: row, whole }) = self.next_row(run, demand)? else {
                self.finish(run)?;
                break;
            };
            let target = match spec.operation {
                // All leaves return the same, in the root's columns.
                CmdType::Insert if spec.router.is_some() => &spec.leaves[0],
                CmdType::Insert => &spec.targets[0],
                CmdType::Merge if spec.row_place(&row).is_none() => {
                    &spec.targets[spec.insert_target]
                }
                _ => spec.target_of(&row)?,
            };
            let Some((done, row)) = spec.change(run, row, whole)? else { continue };
            if spec.can_set_tag {
                run.processed += 1;
            }
            if let Some(r) = &target.returning {
                out.push_values(&r.row(run, &spec, &target.rel, &done, &row)?);
            }
        }
        Ok(out.take())
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        Err(Error::internal("a statement that changes rows cannot start over"))
    }
}
