//! Aggregate calls: their arguments, their filter, and the order and distinctness of their input.

use super::batch::Vector;
use super::func::{Callee, as_arg};
use super::{Equality, ExprCompiler, Ordering_, Prog, RowInput, VarMap};
use crate::run::Run;
use crate::sort::{Key, Sorter};
use base::{Error, Oid, Result, err};
use functions::{AggFactory, Arg, CallInfo, CallState, FnCtx, GroupedAgg, Rows};
use ir::{AggSplit, Aggref};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use types::{Batch, Column, ColumnData, Datum, PhysType, oid};

/// An aggregate as one place of a plan calls it.
pub(crate) struct AggCall {
    info: CallInfo,
    state: u32,
    factory: Factory,
    args: Vec<Prog>,
    filter: Option<Prog>,
    ordered: Option<Ordered>,
    /// Arguments of an ordered-set aggregate that are the same for all rows of a group.
    direct: Vec<Prog>,
    /// Rows are ranked against the direct arguments.
    hypothetical: bool,
    split: AggSplit,
}

enum Factory {
    Builtin(AggFactory),
    /// By its transition function, row by row.
    Trans(Arc<TransSpec>),
}

/// The input is sorted, and perhaps made distinct, for each group.
struct Ordered {
    /// Arguments, then what is only sorted by.
    columns: Vec<Prog>,
    arg_count: usize,
    /// Columns counted after the group's number, which is column 0.
    keys: Vec<Key>,
    distinct: Vec<(usize, Equality)>,
    /// Rows come sorted: what repeats is dropped as it comes.
    presorted: bool,
}

/// The states of one call for all groups, with rows that wait to be sorted.
pub(crate) struct AggRun {
    pub states: Box<dyn GroupedAgg>,
    waiting: Vec<Batch>,
    /// The row before, of those that come sorted.
    last: Option<Vec<Datum>>,
    /// Direct arguments of the groups, from the first row of each.
    direct: HashMap<u32, Vec<Datum>>,
}

/// The built-in aggregate that one of a user does the same as, where their functions only work
/// together, on states that are no values.
fn stand_in(c: &ExprCompiler, agg: Oid) -> Result<Option<(Oid, AggFactory)>> {
    let desc = c.catalog.aggregate(agg)?;
    let body = functions::lookup(desc.trans).is_none_or(|e| e.has_body);
    if desc.trans_type != INTERNAL && body {
        return Ok(None);
    }
    let same = |r: &&functions::builtin::AggregateRow| {
        r.aggtransfn == desc.trans && r.aggfinalfn == desc.final_
    };
    let found = functions::builtin::aggregates().iter().find(same);
    Ok(found.and_then(|r| Some((r.aggfnoid, functions::aggregate(r.aggfnoid)?))))
}

impl AggCall {
    pub fn compile(c: &mut ExprCompiler, a: &Aggref, map: &VarMap) -> Result<AggCall> {
        c.call_states += 1;
        let plain: Vec<_> = a.args.iter().filter(|t| !t.junk).collect();
        // What is merged are states; the values in them are of the types that were aggregated.
        let arg_types = match a.split {
            AggSplit::FinalDeserial => a.arg_types.clone(),
            _ => plain.iter().map(|t| t.expr.ty()).collect(),
        };
        let stand_in = match functions::aggregate(a.agg) {
            Some(f) => Some((a.agg, f)),
            None => stand_in(c, a.agg)?,
        };
        let info = CallInfo {
            fn_oid: stand_in.map_or(a.agg, |(oid, _)| oid),
            collation: c.catalog.concrete_collation(a.input_collation),
            arg_types,
            ret_type: a.ty,
            ret_typmod: -1,
            columns: None,
            variadic: a.variadic,
        };
        let mut args = Vec::new();
        for t in &plain {
            args.push(c.expr(&t.expr, map)?);
        }
        let factory = match stand_in {
            Some((_, f)) => Factory::Builtin(f),
            None => Factory::Trans(Arc::new(TransSpec::compile(c, a)?)),
        };
        let filter = a.filter.as_ref().map(|f| c.expr(f, map)).transpose()?;
        // Rows that come sorted have at most to be made distinct.
        let as_they_come = a.presorted && a.distinct.is_empty();
        let ordered = match a.order.is_empty() && a.distinct.is_empty() || as_they_come {
            true => None,
            false => Some(Ordered::compile(c, a, map)?),
        };
        let direct = c.list(&a.direct_args, map)?;
        Ok(AggCall {
            info,
            state: c.call_states - 1,
            factory,
            args,
            filter,
            ordered,
            direct,
            hypothetical: a.kind == 'h',
            split: a.split,
        })
    }

    /// An aggregate that is called as a window function.
    pub fn of_window(c: &mut ExprCompiler, f: &ir::WindowFunc, map: &VarMap) -> Result<AggCall> {
        let entry =
            |(i, e): (usize, &ir::Expr)| ir::TargetEntry::new(e.clone(), i as i16 + 1, None, false);
        let call = Aggref {
            agg: f.func,
            ty: f.ty,
            collation: f.collation,
            input_collation: f.input_collation,
            trans_type: base::Oid::INVALID,
            arg_types: f.args.iter().map(ir::Expr::ty).collect(),
            direct_args: Vec::new(),
            args: f.args.iter().enumerate().map(entry).collect(),
            order: Vec::new(),
            distinct: Vec::new(),
            filter: f.filter.clone(),
            star: f.star,
            variadic: false,
            kind: 'n',
            levels_up: 0,
            presorted: false,
            split: AggSplit::Simple,
            location: f.location,
        };
        AggCall::compile(c, &call, map)
    }

    /// States of no groups.
    pub fn start(&self) -> Result<AggRun> {
        let states = match &self.factory {
            Factory::Builtin(f) => f(&self.info)?,
            Factory::Trans(spec) => TransAgg::make(spec),
        };
        Ok(AggRun { states, waiting: Vec::new(), last: None, direct: HashMap::new() })
    }

    /// Takes in the rows of a batch; `groups` by position, None if there is one group.
    pub fn update(
        &self,
        run: &mut Run,
        agg: &mut AggRun,
        groups: Option<&[u32]>,
        batch: &Batch,
    ) -> Result<()> {
        let narrowed;
        let mut sel = batch.sel.as_deref();
        if let Some(filter) = &self.filter {
            let v = filter.eval_batch(run, batch, sel)?;
            let mut kept = Vec::new();
            super::batch::each(sel, batch.len, |i| {
                if v.get(i).as_bool() {
                    kept.push(i as u16);
                }
            });
            narrowed = kept;
            sel = Some(&narrowed);
        }
        if !self.direct.is_empty() {
            self.note_direct(run, agg, groups, batch, sel)?;
        }
        if let Some(ordered) = &self.ordered {
            let Some(mut rows) = ordered.collect(run, groups, batch, sel)? else { return Ok(()) };
            if ordered.presorted {
                ordered.drop_repeated(run, &mut agg.last, &mut rows)?;
                return ordered.pass_on(run, self, agg, &rows);
            }
            agg.waiting.push(rows);
            return Ok(());
        }
        let mut values: Vec<Vector> = Vec::with_capacity(self.args.len());
        for arg in &self.args {
            values.push(arg.eval_batch(run, batch, sel)?);
        }
        if self.split == AggSplit::FinalDeserial {
            let mut result = Ok(());
            let mut cx = self.cx(run);
            super::batch::each(sel, batch.len, |i| {
                let group = groups.map_or(0, |g| g[i] as usize);
                if result.is_ok() {
                    result = agg.states.merge(&mut cx, group, &values[0].get(i));
                }
            });
            return result;
        }
        let args: Vec<Arg> = values.iter().map(as_arg).collect();
        agg.states.update(&mut self.cx(run), groups, &args, Rows { len: batch.len, sel })
    }

    /// Whether it has arguments that are computed once for a group.
    pub fn has_direct(&self) -> bool {
        !self.direct.is_empty()
    }

    /// Keeps the direct arguments of groups that are new.
    pub fn note_direct(
        &self,
        run: &mut Run,
        agg: &mut AggRun,
        groups: Option<&[u32]>,
        batch: &Batch,
        sel: Option<&[u16]>,
    ) -> Result<()> {
        super::batch::try_each(sel, batch.len, |i| {
            let group = groups.map_or(0, |g| g[i]);
            if let Entry::Vacant(place) = agg.direct.entry(group) {
                place.insert(self.direct_values(run, RowInput::Batch(batch, i))?);
            }
            Ok(())
        })
    }

    fn direct_values(&self, run: &mut Run, input: RowInput<'_>) -> Result<Vec<Datum>> {
        self.direct.iter().map(|d| d.eval(run, input)).collect()
    }

    fn cx<'r>(&'r self, run: &'r mut Run) -> FnCtx<'r> {
        let env = run.env;
        FnCtx { env, call: &self.info, state: run.call_state(self.state) }
    }

    /// Feeds the waiting rows of all groups but `open` to the states.
    pub fn settle(&self, run: &mut Run, agg: &mut AggRun, open: Option<u32>) -> Result<()> {
        match &self.ordered {
            Some(ordered) if !agg.waiting.is_empty() => ordered.feed(run, self, agg, open),
            _ => Ok(()),
        }
    }

    /// The result of a group; rows that wait have been settled before.
    pub fn finish(&self, run: &mut Run, agg: &AggRun, group: usize) -> Result<Datum> {
        match self.split {
            AggSplit::InitialSerial => agg.states.partial(&mut self.cx(run), group),
            _ if self.direct.is_empty() => agg.states.finish(&mut self.cx(run), group),
            _ => {
                let direct = match agg.direct.get(&(group as u32)) {
                    Some(values) => values.clone(),
                    None => self.direct_values(run, RowInput::None)?,
                };
                agg.states.finish_direct(&mut self.cx(run), group, &direct)
            }
        }
    }

    /// How the result is held.
    pub fn result_type(&self) -> base::Oid {
        match (self.split, &self.factory) {
            (AggSplit::InitialSerial, Factory::Builtin(_)) => oid::BYTEA,
            (AggSplit::InitialSerial, Factory::Trans(spec)) => spec.state,
            _ => self.info.ret_type,
        }
    }
}

impl Ordered {
    fn compile(c: &mut ExprCompiler, a: &Aggref, map: &VarMap) -> Result<Ordered> {
        let mut columns = Vec::new();
        let mut collations = Vec::new();
        for t in a.args.iter().filter(|t| !t.junk).chain(a.args.iter().filter(|t| t.junk)) {
            columns.push((t.sort_group_ref, c.expr(&t.expr, map)?));
            collations.push(t.expr.collation());
        }
        let place = |target_ref: u32| -> Result<usize> {
            columns
                .iter()
                .position(|(r, _)| *r == target_ref)
                .map(|p| p + 1)
                .ok_or_else(|| Error::internal("an aggregate is sorted by something unknown"))
        };
        let int = super::compare::CmpKind::Int;
        let mut keys = vec![(0, Ordering_ { kind: int, descending: false, nulls_first: false })];
        let mut distinct = Vec::new();
        for clause in &a.distinct {
            let at = place(clause.target_ref)?;
            distinct.push((at, Equality::of_operator(c, clause.eq_op, collations[at - 1])?));
        }
        for clause in a.order.iter().chain(&a.distinct) {
            let at = place(clause.target_ref)?;
            if keys.iter().any(|(k, _)| *k == at) {
                continue;
            }
            let op = clause.sort_op.ok_or_else(|| {
                err!(UNDEFINED_FUNCTION, "could not identify an ordering operator")
            })?;
            let mut order = Ordering_::of_operator(c, op, collations[at - 1])?;
            order.nulls_first = clause.nulls_first;
            keys.push((at, order));
        }
        let arg_count = a.args.iter().filter(|t| !t.junk).count();
        let columns = columns.into_iter().map(|(_, p)| p).collect();
        Ok(Ordered { columns, arg_count, keys, distinct, presorted: a.presorted })
    }

    fn phys(&self) -> Vec<PhysType> {
        [PhysType::I64].into_iter().chain(self.columns.iter().map(|p| p.phys)).collect()
    }

    /// The selected rows: the group's number, then the columns.
    fn collect(
        &self,
        run: &mut Run,
        groups: Option<&[u32]>,
        batch: &Batch,
        sel: Option<&[u16]>,
    ) -> Result<Option<Batch>> {
        let numbers = match groups {
            Some(g) => g.iter().map(|g| *g as i64).collect(),
            None => vec![0; batch.len],
        };
        let mut columns = vec![Arc::new(Column::new(ColumnData::I64(numbers)))];
        for prog in &self.columns {
            let v = prog.eval_batch(run, batch, sel)?;
            columns.push(v.into_column(prog.phys, batch.len));
        }
        let rows = Batch { len: batch.len, columns, sel: sel.map(<[u16]>::to_vec) };
        Ok((rows.rows() > 0).then(|| rows.compact()))
    }

    fn feed(
        &self,
        run: &mut Run,
        call: &AggCall,
        agg: &mut AggRun,
        open: Option<u32>,
    ) -> Result<()> {
        let mut sorter = Sorter::new(run, &self.phys(), None);
        let mut kept = Vec::new();
        for mut batch in std::mem::take(&mut agg.waiting) {
            if let Some(open) = open {
                let is_open = |i: usize| batch.get(0, i).as_i64() == open as i64;
                let (still, ready): (Vec<u16>, Vec<u16>) =
                    (0..batch.len as u16).partition(|i| is_open(*i as usize));
                if !still.is_empty() {
                    kept.push(Batch { sel: Some(still), ..batch.clone() }.compact());
                }
                batch.sel = Some(ready);
            }
            if batch.rows() > 0 {
                sorter.push(run, &self.keys, &batch)?;
            }
        }
        agg.waiting = kept;
        let mut sorted = sorter.finish(run, &self.keys)?;
        let mut last: Option<Vec<Datum>> = None;
        while let Some(mut batch) = sorted.next(run, &self.keys, types::BATCH_ROWS)? {
            if !self.distinct.is_empty() {
                self.drop_repeated(run, &mut last, &mut batch)?;
            }
            self.pass_on(run, call, agg, &batch)?;
        }
        Ok(())
    }

    /// Feeds rows in their order to the states.
    fn pass_on(
        &self,
        run: &mut Run,
        call: &AggCall,
        agg: &mut AggRun,
        batch: &Batch,
    ) -> Result<()> {
        let ColumnData::I64(numbers) = &batch.columns[0].data else { return Ok(()) };
        let groups: Vec<u32> = numbers.iter().map(|n| *n as u32).collect();
        let flags = match call.hypothetical {
            true => Some(self.flags(run, agg, batch, &groups)?),
            false => None,
        };
        let columns = batch.columns[1..=self.arg_count].iter().map(|c| &**c);
        let args: Vec<Arg> = columns.chain(flags.as_ref()).map(Arg::Column).collect();
        let rows = Rows { len: batch.len, sel: batch.sel.as_deref() };
        agg.states.update(&mut call.cx(run), Some(&groups), &args, rows)
    }

    /// Where each row stands relative to its group's direct arguments: before (-1), a peer (0),
    /// after (1).
    fn flags(&self, run: &mut Run, agg: &AggRun, batch: &Batch, groups: &[u32]) -> Result<Column> {
        let mut out = vec![0i32; batch.len];
        for (i, flag) in out.iter_mut().enumerate() {
            let Some(direct) = agg.direct.get(&groups[i]) else { continue };
            for ((column, order), value) in self.keys[1..].iter().zip(direct) {
                let ordering = order.compare_any(run, &batch.get(*column, i), value)?;
                if ordering.is_ne() {
                    *flag = ordering as i32;
                    break;
                }
            }
        }
        Ok(Column::new(ColumnData::I32(out)))
    }

    fn drop_repeated(
        &self,
        run: &mut Run,
        last: &mut Option<Vec<Datum>>,
        batch: &mut Batch,
    ) -> Result<()> {
        let mut kept = Vec::new();
        for i in 0..batch.len {
            let row = batch.row(i);
            let mut same = last.as_ref().is_some_and(|l| l[0] == row[0]);
            if let (true, Some(before)) = (same, &*last) {
                for (column, eq) in &self.distinct {
                    same &= eq.same(run, &before[*column], &row[*column])?;
                }
            }
            if !same {
                kept.push(i as u16);
            }
            *last = Some(row);
        }
        batch.sel = Some(kept);
        Ok(())
    }
}

/// An aggregate by its functions.
struct TransSpec {
    trans: Callee,
    final_: Option<Callee>,
    combine: Option<Callee>,
    state: Oid,
    initial: Option<Arc<str>>,
    /// The final function wants so many NULLs after the state.
    extra: usize,
}

struct TransAgg {
    spec: Arc<TransSpec>,
    /// State of each group; None before the first row.
    groups: Vec<Option<Datum>>,
    /// The state before the first row, once it is known.
    initial: Option<Datum>,
    call_state: CallState,
}

impl TransSpec {
    fn compile(c: &mut ExprCompiler, a: &Aggref) -> Result<TransSpec> {
        let desc = c.catalog.aggregate(a.agg)?;
        let proc = c.catalog.proc(a.agg)?;
        if desc.trans_type == INTERNAL {
            return Err(Error::unsupported(format!("aggregate function {}", proc.name)));
        }
        let args: Vec<Oid> = a.args.iter().filter(|t| !t.junk).map(|t| t.expr.ty()).collect();
        let given: Vec<Oid> = a.direct_args.iter().map(ir::Expr::ty).chain(args.clone()).collect();
        let declared = &proc.arg_types;
        let state = catalog::generic::resolve(c.catalog, declared, &given, desc.trans_type)?;
        let state = state.unwrap_or(desc.trans_type);
        let types: Vec<Oid> = [state].into_iter().chain(args).collect();
        let extra = if desc.final_extra { types.len() - 1 } else { 0 };
        let trans = c.callee(desc.trans, a.input_collation, types.clone(), state)?;
        let mut other = |func: Oid, args: Vec<Oid>, ret| {
            func.is_valid().then(|| c.callee(func, a.input_collation, args, ret)).transpose()
        };
        let with_extra = if desc.final_extra { types } else { vec![state] };
        let final_ = other(desc.final_, with_extra, a.ty)?;
        let combine = other(desc.combine, vec![state, state], state)?;
        Ok(TransSpec { trans, final_, combine, state, initial: desc.init_value.clone(), extra })
    }

    fn first(&self, cx: &FnCtx) -> Result<Datum> {
        match &self.initial {
            Some(text) => types::io::input(self.state, text, -1, &cx.env.io()),
            None => Ok(Datum::Null),
        }
    }
}

/// The pseudo-type of states that are no values.
const INTERNAL: base::Oid = base::Oid(2281);

impl TransAgg {
    fn make(spec: &Arc<TransSpec>) -> Box<dyn GroupedAgg> {
        Box::new(TransAgg {
            spec: Arc::clone(spec),
            groups: Vec::new(),
            initial: None,
            call_state: CallState::default(),
        })
    }

    fn call(callee: &Callee, cx: &FnCtx, state: &mut CallState, args: &[Datum]) -> Result<Datum> {
        match callee.entry {
            Some(e) => (e.row)(&mut FnCtx { env: cx.env, call: &callee.info, state }, args),
            None => match cx.env.call_session_fn(&callee.info, args) {
                Some(value) => value,
                None => cx.env.catalog().call_user_function(callee.info.fn_oid, args),
            },
        }
    }
}

impl GroupedAgg for TransAgg {
    fn resize(&mut self, groups: usize) {
        self.groups.resize(groups, None);
    }

    fn update(
        &mut self,
        cx: &mut FnCtx,
        groups: Option<&[u32]>,
        args: &[Arg],
        rows: Rows,
    ) -> Result<()> {
        let spec = Arc::clone(&self.spec);
        let first = match self.initial.take() {
            Some(first) => first,
            None => spec.first(cx)?,
        };
        self.initial = Some(first.clone());
        let mut values = vec![Datum::Null; args.len() + 1];
        rows.each(|i| {
            let group = &mut self.groups[groups.map_or(0, |g| g[i] as usize)];
            for (value, arg) in values[1..].iter_mut().zip(args) {
                *value = arg.get(i);
            }
            if spec.trans.strict {
                if values[1..].iter().any(Datum::is_null) {
                    return Ok(());
                }
                match group {
                    // The first value becomes the state.
                    None if first.is_null() => {
                        *group = values.get(1).cloned();
                        return Ok(());
                    }
                    Some(Datum::Null) => return Ok(()),
                    _ => {}
                }
            }
            values[0] = group.take().unwrap_or_else(|| first.clone());
            *group = Some(Self::call(&spec.trans, cx, &mut self.call_state, &values)?);
            Ok(())
        })
    }

    fn finish(&self, cx: &mut FnCtx, group: usize) -> Result<Datum> {
        let state = match &self.groups[group] {
            Some(state) => state.clone(),
            None => self.spec.first(cx)?,
        };
        match &self.spec.final_ {
            None => Ok(state),
            Some(f) if f.strict && state.is_null() => Ok(Datum::Null),
            Some(f) => {
                let mut args = vec![state];
                args.resize(1 + self.spec.extra, Datum::Null);
                Self::call(f, cx, &mut CallState::default(), &args)
            }
        }
    }

    fn partial(&self, cx: &mut FnCtx, group: usize) -> Result<Datum> {
        self.groups[group].clone().map_or_else(|| self.spec.first(cx), Ok)
    }

    fn merge(&mut self, cx: &mut FnCtx, group: usize, partial: &Datum) -> Result<()> {
        let Some(combine) = &self.spec.combine else {
            return Err(Error::unsupported("combining the states of this aggregate"));
        };
        if partial.is_null() && combine.strict {
            return Ok(());
        }
        let state = match self.groups[group].take() {
            None | Some(Datum::Null) if combine.strict => partial.clone(),
            old => {
                let args = [old.unwrap_or_default(), partial.clone()];
                Self::call(combine, cx, &mut self.call_state, &args)?
            }
        };
        self.groups[group] = Some(state);
        Ok(())
    }

    fn reset(&mut self, group: usize) {
        self.groups[group] = None;
    }

    fn memory(&self) -> usize {
        self.groups.len() * size_of::<Option<Datum>>()
    }
}
