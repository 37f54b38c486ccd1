//! MERGE.
//!
//! The child joins source and target. A row without the target's ctid is a source row without a
//! match; one for which the join condition does not hold is a target row without a match.

use super::insert::{CHECKS, insert_routed, insert_row};
use super::recheck::fetch_any;
use super::route::mapped;
use super::update::{Attempt, follow, move_row, update_row};
use super::{Done, ModifySpec, ResultRel, TargetProg, delete};
use crate::compile::PlanCompiler;
use crate::expr::compile::{SpaceColumns, VarSpace};
use crate::expr::{Prog, RowInput, VarMap};
use crate::node::Child;
use crate::node::scan::{CTID, TABLE_OID, tid_datum};
use crate::run::Run;
use access::ExecTxn;
use base::{Error, Result, err};
use ir::{CheckOptionKind, CmdType, MergeMatch, ModifyTarget};
use txn::RowStrength;
use types::Datum;

struct Action {
    matched: MergeMatch,
    command: CmdType,
    qual: Option<Prog>,
    /// Assigned columns and their values.
    set: Vec<(usize, Prog)>,
    numbers: Vec<i16>,
}

pub(super) struct MergeProg {
    actions: Vec<Action>,
    condition: Option<Prog>,
    /// Columns of a row that is inserted.
    insert_width: usize,
}

impl MergeProg {
    /// What its actions do, each once.
    pub fn commands(&self) -> Vec<CmdType> {
        let all = [CmdType::Insert, CmdType::Update, CmdType::Delete];
        let used = |c: &CmdType| self.actions.iter().any(|a| a.command == *c);
        all.into_iter().filter(used).collect()
    }

    pub fn compile(
        c: &mut PlanCompiler,
        t: &ModifyTarget,
        rel: &ResultRel,
        root_width: usize,
        child: &Child,
    ) -> Result<MergeProg> {
        let natts = rel.natts();
        let insert_width = if root_width > 0 { root_width } else { natts };
        // The input: the target's row, the child's, then the target's place and table.
        let system = natts + child.phys.len();
        let mut columns: Vec<(i16, usize)> = (0..natts).map(|i| (i as i16 + 1, i)).collect();
        columns.extend([(CTID, system), (TABLE_OID, system + 1)]);
        let mut map = VarMap::default().and(ir::OUTER_VAR, natts, child.phys.len());
        map.spaces.push(VarSpace {
            varno: rel.rti,
            returning: ir::ReturningKind::Default,
            columns: SpaceColumns::Map(columns),
            types: None,
        });
        let condition = t.merge_join_condition.as_ref().map(|e| c.ec.expr(e, &map)).transpose()?;
        let mut actions = Vec::new();
        for a in &t.merge_actions {
            let mut set = Vec::new();
            for t in a.target_list.iter().filter(|t| !t.junk) {
                set.push((t.resno as usize - 1, c.ec.expr(&t.expr, &map)?));
            }
            actions.push(Action {
                matched: a.matched,
                command: a.command,
                qual: a.qual.as_ref().map(|e| c.ec.expr(e, &map)).transpose()?,
                numbers: a.target_list.iter().filter(|t| !t.junk).map(|t| t.resno).collect(),
                set,
            });
        }
        Ok(MergeProg { actions, condition, insert_width })
    }

    /// The first action for this kind of row whose condition holds.
    fn choose(
        &self,
        run: &mut Run,
        matched: MergeMatch,
        input: &[Datum],
    ) -> Result<Option<&Action>> {
        for a in self.actions.iter().filter(|a| a.matched == matched) {
            match &a.qual {
                Some(q) if !q.is_true(run, RowInput::Row(input))? => {}
                _ => return Ok(Some(a)),
            }
        }
        Ok(None)
    }
}

fn input(row: &[Datum], child: &[Datum], ctid: Datum, table: Datum) -> Vec<Datum> {
    row.iter().chain(child).cloned().chain([ctid, table]).collect()
}

/// The table of a child's row, and what is done with it.
fn match_of<'a>(spec: &'a ModifySpec, child: &[Datum]) -> Result<(&'a TargetProg, &'a MergeProg)> {
    let target = spec.target_of(child)?;
    let mut both = spec.targets.iter().zip(&spec.merge);
    both.find(|(t, _)| t.rel.rti == target.rel.rti)
        .ok_or_else(|| Error::internal("MERGE without actions"))
}

/// What is done with a row of the source without a partner in the target.
fn insert_unmatched(
    spec: &ModifySpec,
    run: &mut Run,
    x: &ExecTxn<'_>,
    child: &[Datum],
) -> Result<Option<Done>> {
    let n = spec.insert_target;
    let (Some(target), Some(prog)) = (spec.targets.get(n), spec.merge.get(n)) else {
        return Err(Error::internal("MERGE without actions"));
    };
    let nothing = vec![Datum::Null; target.rel.natts()];
    let input = input(&nothing, child, Datum::Null, Datum::Null);
    let action = prog.choose(run, MergeMatch::NotMatchedByTarget, &input)?;
    let Some(action) = action.filter(|a| a.command == CmdType::Insert) else {
        return Ok(None);
    };
    let mut row = vec![Datum::Null; prog.insert_width];
    for (column, value) in &action.set {
        row[*column] = value.eval(run, RowInput::Row(&input))?;
    }
    run.merge_action = Some("INSERT");
    let Some(router) = &spec.router else { return insert_row(run, x, target, row) };
    let mut done = insert_routed(spec, run, x, &row, CHECKS)?;
    // RETURNING reads a row of the target.
    let own = router.leaves.iter().find(|l| l.oid == target.rel.rel.oid);
    if let (Some(Done { new: Some((_, row)), .. }), Some(leaf)) = (&mut done, own) {
        *row = mapped(&leaf.map, row);
    }
    Ok(done)
}

pub(super) fn merge(
    spec: &ModifySpec,
    run: &mut Run,
    x: &ExecTxn<'_>,
    mut child: Vec<Datum>,
) -> Result<Option<(Done, Vec<Datum>)>> {
    run.merge_action = None;
    loop {
        let Some(tid) = spec.row_place(&child) else {
            return Ok(insert_unmatched(spec, run, x, &child)?.map(|d| (d, child)));
        };
        let (target, prog) = match_of(spec, &child)?;
        let old = fetch_any(run, target.rel.heap(), tid)?;
        let table = Datum::U32(target.rel.rel.oid.0);
        let input = input(&old, &child, tid_datum(tid), table);
        let matched = match &prog.condition {
            Some(c) if !c.is_true(run, RowInput::Row(&input))? => MergeMatch::NotMatchedBySource,
            _ => MergeMatch::Matched,
        };
        let Some(action) = prog.choose(run, matched, &input)? else { return Ok(None) };
        let attempt = match action.command {
            CmdType::Update => {
                target.check_options(run, &old, &[CheckOptionKind::RlsMergeUpdate])?;
                let mut new = old.clone();
                for (column, value) in &action.set {
                    new[*column] = value.eval(run, RowInput::Row(&input))?;
                }
                run.merge_action = Some("UPDATE");
                match move_row(spec, run, x, target, tid, &old, &new)? {
                    Some(moved) => moved,
                    None => update_row(run, x, target, tid, old, new, &action.numbers)?,
                }
            }
            CmdType::Delete => {
                target.check_options(run, &old, &[CheckOptionKind::RlsMergeDelete])?;
                run.merge_action = Some("DELETE");
                match delete::delete_row(run, x, target, tid, false)? {
                    Attempt::Done(_) => {
                        Attempt::Done(Done { old: Some((tid, old)), new: None, ..Done::default() })
                    }
                    other => other,
                }
            }
            _ => return Ok(None),
        };
        match attempt {
            Attempt::Done(done) => return Ok(Some((done, child))),
            Attempt::Skip if !target.rel.hooked => {
                return Err(err!(
                    CARDINALITY_VIOLATION,
                    "MERGE command cannot affect row a second time"
                )
                .hint("Ensure that not more than one source row matches any one target row."));
            }
            Attempt::Skip => return Ok(None),
            Attempt::Changed(outcome) => {
                let strength = RowStrength::Update;
                match follow(spec, run, x, target, tid, outcome, strength, &child)? {
                    Some((_, row)) => child = row,
                    None => return Ok(None),
                }
            }
        }
    }
}
