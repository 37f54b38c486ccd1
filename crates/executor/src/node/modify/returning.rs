//! RETURNING.

use super::{Done, ResultRel};
use crate::compile::PlanCompiler;
use crate::expr::compile::{SpaceColumns, VarSpace};
use crate::expr::{Prog, RowInput, VarMap};
use crate::node::Child;
use crate::node::scan::{CTID, TABLE_OID, tid_datum};
use crate::run::Run;
use base::Result;
use ir::{CmdType, ModifyTarget, OUTER_VAR, ReturningKind};
use types::Datum;

pub(super) struct Returning {
    natts: usize,
    progs: Vec<Prog>,
    child_columns: usize,
    /// MERGE: plain columns are of the new row, or of the old one where it was deleted.
    merge: bool,
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
        let system = 2 * natts + child_columns;
        // The input: new row, old row, child's row, new ctid, old ctid, table; for MERGE the row
        // that is left or was deleted, and its ctid.
        let space = |first: usize, ctid: usize, returning| {
            let mut map: Vec<(i16, usize)> =
                (0..natts).map(|i| (i as i16 + 1, first + i)).collect();
            map.push((CTID, ctid));
            map.push((TABLE_OID, system + 2));
            VarSpace { varno: t.rtindex, returning, columns: SpaceColumns::Map(map), types: None }
        };
        let new = |kind| space(0, system, kind);
        let old = |kind| space(natts, system + 1, kind);
        let mut map = VarMap::default().and(OUTER_VAR, 2 * natts, child_columns);
        map.spaces.push(match operation {
            CmdType::Delete => old(ReturningKind::Default),
            CmdType::Merge => space(system + 3, system + 3 + natts, ReturningKind::Default),
            _ => new(ReturningKind::Default),
        });
        map.spaces.push(new(ReturningKind::New));
        map.spaces.push(old(ReturningKind::Old));
        let progs = c.ec.targets(&t.returning, &map)?;
        Ok(Returning { natts, progs, child_columns, merge: operation == CmdType::Merge })
    }

    /// The returned columns for a change.
    pub fn row(
        &self,
        run: &mut Run,
        rel: &ResultRel,
        done: &Done,
        child: &[Datum],
    ) -> Result<Vec<Datum>> {
        let natts = self.natts;
        let mut input = Vec::with_capacity(2 * natts + self.child_columns + 3);
        for version in [&done.new, &done.old] {
            match version {
                Some((_, values)) => input.extend_from_slice(values),
                None => input.resize(input.len() + natts, Datum::Null),
            }
        }
        input.extend_from_slice(child);
        input.resize(2 * natts + self.child_columns, Datum::Null);
        for version in [&done.new, &done.old] {
            input.push(version.as_ref().map_or(Datum::Null, |(tid, _)| tid_datum(*tid)));
        }
        input.push(Datum::U32(done.table.unwrap_or(rel.rel.oid).0));
        if self.merge {
            let row = done.new.as_ref().or(done.old.as_ref());
            input.extend(row.into_iter().flat_map(|(_, values)| values.iter().cloned()));
            input.resize(3 * natts + self.child_columns + 3, Datum::Null);
            input.push(row.map_or(Datum::Null, |(tid, _)| tid_datum(*tid)));
        }
        let mut out = Vec::with_capacity(self.progs.len());
        for prog in &self.progs {
            out.push(prog.eval(run, RowInput::Row(&input))?);
        }
        Ok(out)
    }
}
