//! RETURNING.

use super::{Done, ModifySpec, ResultRel};
use crate::compile::PlanCompiler;
use crate::expr::compile::{SpaceColumns, VarSpace};
use crate::expr::{Prog, RowInput, VarMap};
use crate::node::Child;
use crate::node::scan::{CTID, TABLE_OID, system_value, tid_datum};
use crate::run::Run;
use base::{Oid, Result};
use ir::{CaseExpr, CaseWhen, CmdType, Const, Expr, ModifyTarget, OUTER_VAR, ReturningKind, Var};
use types::Datum;

/// `xmin`, `cmin`, `xmax` and `cmax`: what a row's header has.
const HEADER: [i16; 4] = [-2, -3, -4, -5];

pub(super) struct Returning {
    natts: usize,
    progs: Vec<Prog>,
    child_columns: usize,
    /// Columns of the rows' headers are asked for.
    headers: bool,
    /// MERGE: plain columns are of the new row, or of the old one where it was deleted.
    merge: bool,
}

/// One version of a row: what RETURNING can ask of it beside its columns.
struct Version<'a> {
    row: &'a (base::Tid, Vec<Datum>),
    rel: &'a ResultRel,
    /// The row that it replaces was locked first.
    locked: bool,
}

impl Returning {
    pub fn compile(
        c: &mut PlanCompiler,
        operation: CmdType,
        t: &ModifyTarget,
        natts: usize,
        child: &Child,
    ) -> Result<Returning> {
        let child_columns = child.phys.len();
        let mut returning = t.returning.clone();
        let mut headers = false;
        for target in &mut returning {
            ir::walk::transform(&mut target.expr, &mut |e| {
                let Expr::Var(v) = e else { return };
                headers |= HEADER.contains(&v.attno);
                if v.attno == 0 && v.returning != ReturningKind::Default {
                    *e = null_without_row(v);
                }
            });
        }
        let about = if headers { 2 + HEADER.len() } else { 2 };
        let system = 2 * natts + child_columns;
        // The input: new row, old row, child's row, then place, table and header of the new row
        // and of the old one; for MERGE the row that is left or was deleted, and the same of it.
        let space = |first: usize, system: usize, returning| {
            let mut map: Vec<(i16, usize)> =
                (0..natts).map(|i| (i as i16 + 1, first + i)).collect();
            let numbers = [CTID, TABLE_OID].into_iter().chain(HEADER).take(about);
            map.extend(numbers.enumerate().map(|(i, n)| (n, system + i)));
            VarSpace { varno: t.rtindex, returning, columns: SpaceColumns::Map(map), types: None }
        };
        let new = |kind| space(0, system, kind);
        let old = |kind| space(natts, system + about, kind);
        let left = system + 2 * about;
        let mut map = VarMap::default().and(OUTER_VAR, 2 * natts, child_columns);
        map.spaces.push(match operation {
            CmdType::Delete => old(ReturningKind::Default),
            CmdType::Merge => space(left, left + natts, ReturningKind::Default),
            _ => new(ReturningKind::Default),
        });
        map.spaces.push(new(ReturningKind::New));
        map.spaces.push(old(ReturningKind::Old));
        let progs = c.ec.targets(&returning, &map)?;
        let merge = operation == CmdType::Merge;
        Ok(Returning { natts, progs, child_columns, headers, merge })
    }

    /// The returned columns for a change.
    pub fn row(
        &self,
        run: &mut Run,
        spec: &ModifySpec,
        rel: &ResultRel,
        done: &Done,
        child: &[Datum],
    ) -> Result<Vec<Datum>> {
        let natts = self.natts;
        let mut input = Vec::with_capacity(2 * natts + self.child_columns + 4);
        for version in [&done.new, &done.old] {
            match version {
                Some((_, values)) => input.extend_from_slice(values),
                None => input.resize(input.len() + natts, Datum::Null),
            }
        }
        input.extend_from_slice(child);
        input.resize(2 * natts + self.child_columns, Datum::Null);
        let written = match done.table {
            Some(oid) => spec.leaves.iter().map(|l| &l.rel).find(|l| l.rel.oid == oid),
            None => None,
        };
        let new = done.new.as_ref().map(|row| Version {
            row,
            rel: written.unwrap_or(rel),
            locked: done.locked,
        });
        let from = if done.moved { rel } else { written.unwrap_or(rel) };
        let old = done.old.as_ref().map(|row| Version { row, rel: from, locked: false });
        self.push_about(new.as_ref(), &mut input)?;
        self.push_about(old.as_ref(), &mut input)?;
        if self.merge {
            let version = new.or(old);
            let first = input.len();
            input.extend(version.iter().flat_map(|v| v.row.1.iter().cloned()));
            input.resize(first + natts, Datum::Null);
            self.push_about(version.as_ref(), &mut input)?;
        }
        let mut out = Vec::with_capacity(self.progs.len());
        for prog in &self.progs {
            out.push(prog.eval(run, RowInput::Row(&input))?);
        }
        Ok(out)
    }

    /// Adds a version's place, table and header.
    fn push_about(&self, version: Option<&Version<'_>>, input: &mut Vec<Datum>) -> Result<()> {
        let count = if self.headers { HEADER.len() } else { 0 };
        let Some(v) = version else {
            input.resize(input.len() + 2 + count, Datum::Null);
            return Ok(());
        };
        input.push(tid_datum(v.row.0));
        input.push(Datum::U32(v.rel.rel.oid.0));
        if self.headers {
            let mut header = v.rel.heap().system_columns(v.row.0)?;
            if v.locked {
                // The lock stays with the version that replaces the locked one.
                header.xmax = header.xmin;
            }
            let value = |n| Datum::U32(system_value(n, v.rel.rel.oid, Some(&header)));
            input.extend(HEADER.into_iter().map(value));
        }
        Ok(())
    }
}

/// OLD or NEW as a whole: NULL where there is no such row.
fn null_without_row(whole: &Var) -> Expr {
    let place =
        Var { attno: CTID, ty: Oid(27), typmod: -1, collation: Oid::INVALID, ..whole.clone() };
    let when = Expr::NullTest {
        kind: ir::NullTestKind::IsNotNull,
        arg: Box::new(Expr::Var(place)),
        is_row: false,
        location: None,
    };
    let null = Const {
        ty: whole.ty,
        typmod: -1,
        collation: Oid::INVALID,
        value: Datum::Null,
        location: None,
    };
    Expr::Case(Box::new(CaseExpr {
        ty: whole.ty,
        collation: Oid::INVALID,
        arg: None,
        whens: vec![CaseWhen { when, then: Expr::Var(whole.clone()) }],
        default: Box::new(Expr::Const(null)),
        location: None,
    }))
}
