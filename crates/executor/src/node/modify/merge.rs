//! MERGE.
//!
//! The child joins source and target. A row without the target's ctid is a source row without a
//! match; one for which the join condition does not hold is a target row without a match.

use super::insert::insert_row;
use super::recheck::fetch_any;
use super::update::{Attempt, follow, update_row};
use super::{Done, ModifySpec, ResultRel, delete};
use crate::compile::PlanCompiler;
use crate::expr::compile::{SpaceColumns, VarSpace};
use crate::expr::{Prog, RowInput, VarMap};
use crate::node::Child;
use crate::node::scan::{CTID, TABLE_OID, datum_tid, tid_datum};
use crate::run::Run;
use access::ExecTxn;
use base::{Error, Result, err};
use ir::{CmdType, MergeMatch, ModifyTarget};
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
        child: &Child,
    ) -> Result<MergeProg> {
        let natts = rel.natts();
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
        Ok(MergeProg { actions, condition })
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

pub(super) fn merge(
    spec: &ModifySpec,
    run: &mut Run,
    x: &ExecTxn<'_>,
    mut child: Vec<Datum>,
) -> Result<Option<(Done, Vec<Datum>)>> {
    let Some(prog) = &spec.merge else { return Err(Error::internal("MERGE without actions")) };
    let target = &spec.targets[0];
    let natts = target.rel.natts();
    run.merge_action = None;
    loop {
        let tid = spec.ctid.and_then(|c| datum_tid(&child[c]));
        let Some(tid) = tid else {
            let input = input(&vec![Datum::Null; natts], &child, Datum::Null, Datum::Null);
            let action = prog.choose(run, MergeMatch::NotMatchedByTarget, &input)?;
            let Some(action) = action.filter(|a| a.command == CmdType::Insert) else {
                return Ok(None);
            };
            let mut row = vec![Datum::Null; natts];
            for (column, value) in &action.set {
                row[*column] = value.eval(run, RowInput::Row(&input))?;
            }
            run.merge_action = Some("INSERT");
            return Ok(insert_row(run, x, target, row)?.map(|d| (d, child)));
        };
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
                let mut new = old.clone();
                for (column, value) in &action.set {
                    new[*column] = value.eval(run, RowInput::Row(&input))?;
                }
                run.merge_action = Some("UPDATE");
                update_row(run, x, target, tid, old, new, &action.numbers)?
            }
            CmdType::Delete => {
                run.merge_action = Some("DELETE");
                match delete::delete_row(run, x, target, tid, false)? {
                    Attempt::Done(_) => {
                        Attempt::Done(Done { table: None, old: Some((tid, old)), new: None })
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
