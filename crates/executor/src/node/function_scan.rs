//! FunctionScan: the rows that functions return, side by side.

use super::project_set::SetCall;
use super::{Node, NodeSpec};
use crate::batch::{builders, finish, split};
use crate::compile::PlanCompiler;
use crate::expr::{Kind, Prog, RowInput, VarMap, named};
use crate::output::{Output, Pump};
use crate::run::Run;
use base::{Result, err};
use functions::RowSource;
use ir::{Expr, Plan};
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, ColumnBuilder, Datum, PhysType};

enum Source {
    Set(SetCall),
    /// A function that returns one value.
    Scalar(Prog),
    /// A table made by a syntax of its own.
    Table(Prog),
}

struct Item {
    source: Source,
    phys: Vec<PhysType>,
    types: Vec<base::Oid>,
    /// The value is a row whose fields are the columns.
    expand: bool,
}

struct FunctionSpec {
    items: Vec<Item>,
    ordinality: bool,
    phys: Vec<PhysType>,
    output: Output,
}

enum Running {
    Table(std::vec::IntoIter<Vec<Datum>>),
    Set(Option<Box<dyn RowSource>>),
    Scalar(Option<Datum>),
}

struct FunctionNode {
    spec: Arc<FunctionSpec>,
    running: Option<Vec<Running>>,
    ordinal: i64,
    rest: Option<Batch>,
    pump: Pump,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::FunctionScan,
) -> Result<Arc<dyn NodeSpec>> {
    let none = VarMap::default();
    let (mut items, mut all, mut row) = (Vec::new(), Vec::new(), Vec::new());
    for f in &scan.functions {
        let is_set = matches!(&f.expr, Expr::Func(x) if x.ret_set);
        let mut source = match is_set {
            true => Source::Set(SetCall::compile(c, &f.expr, &none)?),
            false => match c.ec.expr(&f.expr, &none)? {
                table if f.is_table() => Source::Table(table),
                scalar => Source::Scalar(scalar),
            },
        };
        if !f.col_names.is_empty() {
            let columns = f.col_names.iter().zip(&f.col_types).zip(&f.col_typmods);
            let columns = columns.map(|((n, t), m)| (n.clone(), *t, *m)).collect();
            let info = match &mut source {
                Source::Set(call) => Some(call.info()),
                Source::Scalar(Prog { kind: Kind::Call(call), .. }) => Some(&mut call.callee.info),
                Source::Scalar(_) | Source::Table(_) => None,
            };
            if let Some(info) = info {
                info.columns = Some(Arc::new(columns));
            }
        }
        let types = column_types(c, f)?;
        let mut phys = Vec::new();
        for ty in &types {
            phys.push(c.ec.phys(*ty)?);
        }
        let expand = f.column_count > 1 || is_row(c, f.expr.ty())?;
        all.extend(&phys);
        row.extend(&types);
        items.push(Item { source, phys, types, expand });
    }
    if scan.ordinality {
        all.push(PhysType::I64);
        row.push(types::oid::INT8);
    }
    let output = c.output(
        plan,
        &VarMap::default()
            .and(scan.scanrel, 0, all.len())
            .with_types(named(row, &c.stmt.rtable[scan.scanrel as usize - 1])),
    )?;
    Ok(Arc::new(FunctionSpec { items, ordinality: scan.ordinality, phys: all, output }))
}

/// The rows of a table made by a syntax of its own.
fn table_rows(prog: &Prog, run: &mut Run) -> Result<Vec<Vec<Datum>>> {
    match &prog.kind {
        Kind::Json(j) => j.rows(run),
        Kind::Xml(x) => x.rows(run),
        _ => Err(base::Error::internal("not a table")),
    }
}

fn is_row(c: &PlanCompiler, ty: base::Oid) -> Result<bool> {
    Ok(ty == types::oid::RECORD || base_type(c, ty)?.kind == b'c')
}

/// A type, or what a domain is over.
fn base_type(c: &PlanCompiler, ty: base::Oid) -> Result<Arc<catalog::TypeDesc>> {
    let mut t = c.ec.catalog.type_(ty)?;
    while t.kind == b'd' {
        t = c.ec.catalog.type_(t.base_type)?;
    }
    Ok(t)
}

/// Types of the columns that a function in FROM gives.
fn column_types(c: &PlanCompiler, f: &ir::RangeFunction) -> Result<Vec<base::Oid>> {
    if !f.col_types.is_empty() {
        return Ok(f.col_types.clone());
    }
    let ty = f.expr.ty();
    let t = base_type(c, ty)?;
    if t.kind == b'c' && t.relation.is_valid() {
        let rel = c.ec.catalog.relation(t.relation)?;
        return Ok(rel.tuple.attrs.iter().map(|a| a.type_oid).collect());
    }
    if ty == types::oid::RECORD
        && let Expr::Func(call) = &f.expr
    {
        let proc = c.ec.catalog.proc(call.func)?;
        if let (Some(types), Some(modes)) = (&proc.all_arg_types, &proc.arg_modes) {
            let actual: Vec<base::Oid> = call.args.iter().map(|a| a.ty()).collect();
            let view = &c.ec.catalog;
            let out = types.iter().zip(modes).filter(|(_, m)| matches!(m, b'o' | b'b' | b't'));
            return out
                .map(|(t, _)| {
                    let found = catalog::generic::resolve(view, &proc.arg_types, &actual, *t)?;
                    Ok(found.unwrap_or(*t))
                })
                .collect();
        }
    }
    Ok(vec![ty])
}

impl NodeSpec for FunctionSpec {
    fn start(self: Arc<Self>, _run: &mut Run) -> Result<Box<dyn Node>> {
        let pump = Pump::default();
        Ok(Box::new(FunctionNode { spec: self, running: None, ordinal: 0, rest: None, pump }))
    }
}

impl FunctionSpec {
    fn begin(&self, run: &mut Run) -> Result<Vec<Running>> {
        let mut all = Vec::with_capacity(self.items.len());
        for item in &self.items {
            all.push(match &item.source {
                Source::Set(call) => Running::Set(call.start(run, RowInput::None)?),
                Source::Table(prog) => Running::Table(table_rows(prog, run)?.into_iter()),
                Source::Scalar(prog) => Running::Scalar(Some(prog.eval(run, RowInput::None)?)),
            });
        }
        Ok(all)
    }

    /// The next rows of all functions; shorter ones are filled up with NULLs.
    fn more(
        &self,
        run: &mut Run,
        running: &mut [Running],
        ordinal: &mut i64,
        demand: usize,
    ) -> Result<Option<Batch>> {
        let mut columns: Vec<(Vec<ColumnBuilder>, usize)> = Vec::new();
        for (item, r) in self.items.iter().zip(running.iter_mut()) {
            let mut out = builders(&item.phys, 0);
            let n = item.more(run, r, &mut out, demand)?;
            columns.push((out, n));
        }
        let most = columns.iter().map(|(_, n)| *n).max().unwrap_or(0);
        if most == 0 {
            return Ok(None);
        }
        let mut all = Vec::with_capacity(self.phys.len());
        for ((mut out, n), r) in columns.into_iter().zip(running.iter_mut()) {
            if n < most {
                // A set that gave less than it was asked for has ended.
                *r = Running::Scalar(None);
                for b in &mut out {
                    (n..most).for_each(|_| b.push_null());
                }
            }
            all.extend(out);
        }
        if self.ordinality {
            let mut b = ColumnBuilder::with_capacity(PhysType::I64, most);
            for _ in 0..most {
                *ordinal += 1;
                b.push_i64(*ordinal);
            }
            all.push(b);
        }
        Ok(Some(finish(most, all)))
    }
}

impl Item {
    fn more(
        &self,
        run: &mut Run,
        r: &mut Running,
        out: &mut [ColumnBuilder],
        demand: usize,
    ) -> Result<usize> {
        match (&self.source, r) {
            (Source::Set(call), Running::Set(Some(source))) => {
                // A source may give less than it was asked for without having ended.
                let mut n = 0;
                while n < demand {
                    match call.more(run, source.as_mut(), out, demand - n)? {
                        0 => break,
                        got => n += got,
                    }
                }
                Ok(n)
            }
            (Source::Table(_), Running::Table(rows)) => {
                let mut n = 0;
                for row in rows.take(demand) {
                    for (b, value) in out.iter_mut().zip(row) {
                        b.push(value);
                    }
                    n += 1;
                }
                Ok(n)
            }
            (Source::Scalar(_), Running::Scalar(slot)) => match slot.take() {
                None => Ok(0),
                Some(value) if self.expand => {
                    let fields = match value.is_null() {
                        true => Vec::new(),
                        false => {
                            let fields = crate::expr::composite::row_fields(&value)?;
                            self.check_row(run, &fields)?;
                            fields
                        }
                    };
                    for (i, b) in out.iter_mut().enumerate() {
                        b.push(fields.get(i).map_or(Datum::Null, |f| f.1.clone()));
                    }
                    Ok(1)
                }
                Some(value) => {
                    out[0].push(value);
                    Ok(1)
                }
            },
            _ => Ok(0),
        }
    }
}

impl Item {
    /// A row of a function without a declared row type must be as the query says.
    fn check_row(&self, run: &mut Run, fields: &[(base::Oid, Datum)]) -> Result<()> {
        let differs = |detail: String| {
            err!(
                DATATYPE_MISMATCH,
                "function return row and query-specified return row do not match"
            )
            .detail(detail)
        };
        if fields.len() != self.types.len() {
            let (has, many) = (fields.len(), if fields.len() == 1 { "" } else { "s" });
            let expects = self.types.len();
            return Err(differs(format!(
                "Returned row contains {has} attribute{many}, but query expects {expects}."
            )));
        }
        for (i, (field, ty)) in fields.iter().zip(&self.types).enumerate() {
            if field.0 != *ty {
                let name = |oid| run.env.catalog().type_name(oid).unwrap_or_default();
                let (has, name) = (name(field.0), name(*ty));
                let at = i + 1;
                return Err(differs(format!(
                    "Returned type {has} at ordinal position {at}, but query expects {name}."
                )));
            }
        }
        Ok(())
    }
}

impl Node for FunctionNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let spec = Arc::clone(&self.spec);
        if self.running.is_none() {
            self.running = Some(spec.begin(run)?);
        }
        let (Some(running), ordinal, rest) = (&mut self.running, &mut self.ordinal, &mut self.rest)
        else {
            return Ok(None);
        };
        self.pump.pull(run, demand, &spec.output, |run| {
            let batch = match rest.take() {
                Some(b) => b,
                None => match spec.more(run, running, ordinal, demand.min(BATCH_ROWS))? {
                    Some(b) => b,
                    None => return Ok(None),
                },
            };
            let (front, back) = split(batch, demand);
            *rest = back;
            Ok(Some(front))
        })
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.running = None;
        self.ordinal = 0;
        self.rest = None;
        self.pump.clear();
        Ok(())
    }
}
