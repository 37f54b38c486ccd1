//! What the scans of tables share: which columns are needed and where they lie in the input of the
//! node's programs, system columns, and the row that stands in for the table while a changed row
//! is checked again.

use super::Node;
use crate::batch::{builders, finish};
use crate::compile::PlanCompiler;
use crate::expr::compile::{SpaceColumns, VarSpace};
use crate::expr::{Qual, RowInput, VarMap};
use crate::output::{Output, Pump};
use crate::run::Run;
use access::heap::{HeapRel, SystemColumns};
use base::{Error, Oid, Result, Tid};
use catalog::{OpenRelation, RelationDesc};
use ir::{Expr, Plan, RteKind};
use std::sync::Arc;
use types::{Batch, Column, ColumnBuilder, Datum, PhysType};

/// `ctid`
pub(crate) const CTID: i16 = -1;
/// `tableoid`
pub(crate) const TABLE_OID: i16 = -6;

/// A table as one scan of it needs it. The programs' input is the needed columns in the order of
/// the table, then the system columns.
pub(crate) struct TableScan {
    pub id: u32,
    pub rti: u32,
    pub rel: Arc<RelationDesc>,
    pub open: Arc<OpenRelation>,
    /// Positions of the needed columns, ascending.
    pub attrs: Vec<usize>,
    /// Numbers of the needed system columns.
    pub system: Vec<i16>,
    pub phys: Vec<PhysType>,
    pub output: Output,
    /// Conditions that the scan itself guarantees, for rows that come another way.
    pub recheck: Qual,
}

/// The bytes of a `tid` value.
pub(crate) fn tid_datum(tid: Tid) -> Datum {
    Datum::Bytes(types::Blob::new(&tid_bytes(tid)))
}

#[inline]
pub(crate) fn tid_bytes(tid: Tid) -> [u8; 6] {
    let b = tid.block.0.to_le_bytes();
    let o = tid.offset.to_le_bytes();
    [b[0], b[1], b[2], b[3], o[0], o[1]]
}

/// The place that a `tid` value names.
#[inline]
pub fn datum_tid(value: &Datum) -> Option<Tid> {
    match value.as_bytes() {
        [a, b, c, d, e, f] => {
            let block = u32::from_le_bytes([*a, *b, *c, *d]);
            Some(Tid::new(block, u16::from_le_bytes([*e, *f])))
        }
        _ => None,
    }
}

/// The relation that a range-table entry is.
pub(crate) fn relation_of(
    c: &PlanCompiler,
    rti: u32,
) -> Result<(Arc<RelationDesc>, Arc<OpenRelation>)> {
    let RteKind::Relation { relid, .. } = &c.stmt.rtable[rti as usize - 1].kind else {
        return Err(Error::internal("a scan of something that is no table"));
    };
    let rel = c.ec.catalog.relation(*relid)?;
    let open = Arc::clone(rel.open(c.storage()?, c.ec.catalog)?);
    Ok((rel, open))
}

/// Attribute numbers of an entry's columns in an expression.
fn collect(e: &Expr, rti: u32, out: &mut Vec<i16>) {
    ir::walk::each(e, &mut |e| {
        if let Expr::Var(v) = e
            && v.varno == rti
        {
            out.push(v.attno);
        }
    });
}

impl TableScan {
    /// The scan of a node; `guaranteed` are conditions that it satisfies by itself.
    pub fn compile(
        c: &mut PlanCompiler,
        plan: &Plan,
        rti: u32,
        guaranteed: &[Expr],
    ) -> Result<TableScan> {
        let (rel, open) = relation_of(c, rti)?;
        let guaranteed = if c.may_recheck() { guaranteed } else { &[] };
        let mut used = Vec::new();
        for e in plan.target.iter().map(|t| &t.expr).chain(&plan.qual).chain(guaranteed) {
            collect(e, rti, &mut used);
        }
        if used.contains(&0) {
            used.extend(1..=rel.tuple.natts() as i16);
        }
        used.sort_unstable();
        used.dedup();
        let attrs: Vec<usize> = used.iter().filter(|a| **a > 0).map(|a| *a as usize - 1).collect();
        let system: Vec<i16> = used.iter().copied().filter(|a| *a < 0).collect();
        let mut places = Vec::new();
        let mut phys = Vec::new();
        for (i, a) in attrs.iter().enumerate() {
            places.push((*a as i16 + 1, i));
            phys.push(rel.tuple.attrs[*a].phys);
        }
        for (i, s) in system.iter().enumerate() {
            places.push((*s, attrs.len() + i));
            phys.push(system_phys(*s));
        }
        let mut map = VarMap::default();
        map.spaces.push(VarSpace {
            varno: rti,
            returning: ir::ReturningKind::Default,
            columns: SpaceColumns::Map(places),
            types: None,
        });
        let output = c.output(plan, &map)?;
        let recheck = c.ec.qual(guaranteed, &map)?;
        Ok(TableScan { id: plan.id, rti, rel, open, attrs, system, phys, output, recheck })
    }

    pub fn heap(&self) -> &Arc<HeapRel> {
        &self.open.heap
    }

    /// Whether more than places and the table's OID is asked for.
    /// What statistics call it.
    pub fn counted(&self) -> crate::counts::Key {
        (self.heap().files.file().database, self.rel.oid)
    }

    pub fn wants_system(&self) -> bool {
        self.system.iter().any(|s| !matches!(*s, CTID | TABLE_OID) && stored_column(*s).is_none())
    }

    pub fn wants_tids(&self) -> bool {
        self.system.iter().any(|s| *s == CTID || stored_column(*s).is_some())
    }

    /// Adds the system columns to a batch of the needed columns.
    pub fn add_system(
        &self,
        batch: &mut Batch,
        tids: &[Tid],
        system: &[SystemColumns],
    ) -> Result<()> {
        let plain = self.system.iter().filter(|s| stored_column(**s).is_none()).count();
        // The numbers ascend, so those that tell how columns are stored come first.
        let stored = self.stored_forms(self.system.len() - plain, batch.len, tids)?;
        batch.columns.extend(stored);
        for number in &self.system[self.system.len() - plain..] {
            let mut b = ColumnBuilder::with_capacity(system_phys(*number), batch.len);
            match *number {
                CTID => tids.iter().take(batch.len).for_each(|tid| b.push_bytes(&tid_bytes(*tid))),
                other => (0..batch.len)
                    .for_each(|i| b.push_u32(system_value(other, self.rel.oid, system.get(i)))),
            }
            batch.columns.push(Arc::new(b.finish()));
        }
        Ok(())
    }

    /// How the columns are stored that the first `count` of the system columns tell of.
    fn stored_forms(&self, count: usize, rows: usize, tids: &[Tid]) -> Result<Vec<Arc<Column>>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let columns: Vec<usize> = self.system.iter().filter_map(|s| stored_column(*s)).collect();
        let mut builders = builders(&vec![PhysType::I64; count], rows);
        for tid in tids.iter().take(rows) {
            let forms = self.heap().stored_forms(*tid, &columns)?;
            for (b, form) in builders.iter_mut().zip(forms) {
                match form {
                    Some(form) => b.push_i64(form.pack()),
                    None => b.push_null(),
                }
            }
        }
        Ok(builders.into_iter().map(|b| Arc::new(b.finish())).collect())
    }

    /// What the target list makes of one row of the table: `values` are its first columns, as many
    /// as are needed, and `at` is its place.
    pub fn project_row(&self, run: &mut Run, values: &[Datum], at: Tid) -> Result<Vec<Datum>> {
        let mut input = Vec::with_capacity(self.attrs.len() + self.system.len());
        input.extend(self.attrs.iter().map(|a| values[*a].clone()));
        let system = match self.wants_system() {
            true => Some(self.heap().system_columns(at)?),
            false => None,
        };
        let stored: Vec<usize> = self.system.iter().filter_map(|s| stored_column(*s)).collect();
        let mut forms = match stored.is_empty() {
            true => Vec::new(),
            false => self.heap().stored_forms(at, &stored)?,
        }
        .into_iter();
        for number in &self.system {
            input.push(match *number {
                CTID => tid_datum(at),
                n if stored_column(n).is_some() => {
                    forms.next().flatten().map_or(Datum::Null, |form| Datum::I64(form.pack()))
                }
                other => Datum::U32(system_value(other, self.rel.oid, system.as_ref())),
            });
        }
        let mut row = Vec::with_capacity(self.output.target.len());
        for prog in &self.output.target {
            row.push(prog.eval(run, RowInput::Row(&input))?);
        }
        Ok(row)
    }

    /// The node that gives the stand-in row, if there is one for this table.
    pub fn stand_in(self: &Arc<Self>, run: &Run) -> Option<Box<dyn Node>> {
        let recheck = run.recheck.as_ref()?;
        recheck.rows.iter().any(|r| r.rti == self.rti).then(|| {
            let pump = Pump::default();
            Box::new(StandIn { spec: Arc::clone(self), done: false, pump }) as Box<dyn Node>
        })
    }
}

/// How the values of a system column are held.
fn system_phys(number: i16) -> PhysType {
    match number {
        CTID => PhysType::Bytes,
        _ if stored_column(number).is_some() => PhysType::I64,
        _ => PhysType::U32,
    }
}

/// The position of the column of which this attribute tells how it is stored.
fn stored_column(number: i16) -> Option<usize> {
    ir::Var::column_of_stored(number).map(|column| column as usize - 1)
}

/// The value of `xmin`, `cmin`, `xmax`, `cmax` or `tableoid`.
pub(crate) fn system_value(number: i16, table: Oid, system: Option<&SystemColumns>) -> u32 {
    let s = system.copied().unwrap_or_default();
    match number {
        -2 => s.xmin.0 as u32,
        -3 | -5 => s.cid.0,
        -4 => s.xmax.0 as u32,
        TABLE_OID => table.0,
        _ => 0,
    }
}

/// A row that stands in for a table while a plan is run again for it.
pub(crate) struct StandInRow {
    pub rti: u32,
    pub tid: Tid,
    /// All columns; None if the table's side of the join was without a row.
    pub values: Option<Vec<Datum>>,
}

/// What is checked again.
pub(crate) struct Recheck {
    pub rows: Vec<StandInRow>,
}

struct StandIn {
    spec: Arc<TableScan>,
    done: bool,
    pump: Pump,
}

impl StandIn {
    fn row(spec: &TableScan, run: &Run) -> Result<Option<Batch>> {
        let rows = run.recheck.as_ref().map_or(&[][..], |r| &r.rows);
        let Some(row) = rows.iter().find(|r| r.rti == spec.rti) else { return Ok(None) };
        let Some(values) = row.values.as_ref() else { return Ok(None) };
        let phys = &spec.phys[..spec.attrs.len()];
        let mut columns = builders(phys, 1);
        for (b, a) in columns.iter_mut().zip(&spec.attrs) {
            b.push_ref(&values[*a]);
        }
        let mut batch = finish(1, columns);
        spec.add_system(&mut batch, &[row.tid], &[])?;
        Ok(Some(batch))
    }
}

impl Node for StandIn {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let (spec, done) = (&self.spec, &mut self.done);
        self.pump.pull(run, demand, &spec.output, |run| {
            if std::mem::replace(done, true) {
                return Ok(None);
            }
            let Some(mut batch) = StandIn::row(spec, run)? else { return Ok(None) };
            spec.recheck.filter(run, &mut batch)?;
            Ok((batch.rows() > 0).then_some(batch))
        })
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.done = false;
        self.pump.clear();
        Ok(())
    }
}

/// Used by specs whose only part is a table scan.
pub(crate) fn start_stand_in(
    spec: &Arc<TableScan>,
    run: &mut Run,
    otherwise: impl FnOnce(&mut Run) -> Result<Box<dyn Node>>,
) -> Result<Box<dyn Node>> {
    match spec.stand_in(run) {
        Some(node) => Ok(node),
        None => otherwise(run),
    }
}
