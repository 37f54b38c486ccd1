//! Programs over one row.

use super::{AnyAllProg, CaseProg, Kind, MinMaxProg, Prog, RowInput, func};
use crate::run::{CaseValue, Run};
use base::Result;
use ir::BoolTestKind;
use types::Datum;

impl Prog {
    /// The value for one row.
    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        match &self.kind {
            Kind::Const(value) => Ok(value.clone()),
            Kind::Col(c) => Ok(input.get(*c as usize)),
            Kind::ExternParam(id) => Ok(run.extern_param(*id)),
            Kind::ExecParam(id) => run.exec_param(*id),
            Kind::Call(call) => call.eval(run, input),
            Kind::Distinct(call) => call.eval_distinct(run, input),
            Kind::NullIf(call) => call.eval_null_if(run, input),
            Kind::And(args) => eval_and(args, run, input),
            Kind::Or(args) => eval_or(args, run, input),
            Kind::Not(arg) => Ok(match arg.eval(run, input)? {
                Datum::Bool(b) => Datum::Bool(!b),
                _ => Datum::Null,
            }),
            Kind::Case(case) => case.eval(run, input),
            Kind::CaseTest => Ok(run.case_value(input)),
            Kind::Coalesce(args) => {
                for arg in args {
                    let value = arg.eval(run, input)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Datum::Null)
            }
            Kind::MinMax(m) => m.eval(run, input),
            Kind::NullTest { is_null, arg } => {
                Ok(Datum::Bool(arg.eval(run, input)?.is_null() == *is_null))
            }
            Kind::RowNullTest { is_null, arg } => {
                let value = arg.eval(run, input)?;
                super::composite::row_null_test(&value, *is_null)
            }
            Kind::BoolTest { kind, arg } => {
                Ok(Datum::Bool(bool_test(*kind, &arg.eval(run, input)?)))
            }
            _ => self.eval_rare(run, input),
        }
    }

    /// The kinds that are rarer, kept out of the frequent function so that it stays small.
    fn eval_rare(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        match &self.kind {
            Kind::Reinterpret(arg) => Ok(arg.eval(run, input)?.reinterpret(self.phys)),
            Kind::AnyAll(a) => a.eval(run, input),
            Kind::WholeRow(r) | Kind::Row(r) => r.eval(run, input),
            Kind::RowCompare(r) => r.eval(run, input),
            Kind::Array(a) => a.eval(run, input),
            Kind::FieldSelect(f) => f.eval(run, input),
            Kind::FieldStore(f) => f.eval(run, input),
            Kind::Subscript(s) => s.eval(run, input),
            Kind::ConvertRow(c) => c.eval(run, input),
            Kind::ViaIo(c) => c.eval(run, input),
            Kind::ArrayCoerce(c) => c.eval(run, input),
            Kind::Domain(d) => d.eval(run, input),
            Kind::DomainValue => Ok(run.domain_value()),
            Kind::SubPlan(s) => s.eval(run, input),
            Kind::SqlValue(op, typmod) => func::sql_value(run, *op, *typmod),
            Kind::NextValue(sequence) => func::next_value(run, *sequence, self.ty),
            Kind::MergeAction => Ok(run.merge_action()),
            Kind::Json(j) => j.eval(run, input),
            Kind::Xml(x) => x.eval(run, input),
            _ => Err(base::Error::internal("expression of a kind that rows do not know")),
        }
    }

    /// Whether the value is true.
    #[inline]
    pub fn is_true(&self, run: &mut Run, input: RowInput<'_>) -> Result<bool> {
        Ok(self.eval(run, input)?.as_bool())
    }
}

fn eval_and(args: &[Prog], run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
    let mut result = Datum::Bool(true);
    for arg in args {
        match arg.eval(run, input)? {
            Datum::Bool(false) => return Ok(Datum::Bool(false)),
            Datum::Null => result = Datum::Null,
            _ => {}
        }
    }
    Ok(result)
}

fn eval_or(args: &[Prog], run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
    let mut result = Datum::Bool(false);
    for arg in args {
        match arg.eval(run, input)? {
            Datum::Bool(true) => return Ok(Datum::Bool(true)),
            Datum::Null => result = Datum::Null,
            _ => {}
        }
    }
    Ok(result)
}

/// `value IS TRUE` and its kind.
#[inline]
pub(crate) fn bool_test(kind: BoolTestKind, value: &Datum) -> bool {
    match kind {
        BoolTestKind::IsTrue => value.as_bool(),
        BoolTestKind::IsNotTrue => !value.as_bool(),
        BoolTestKind::IsFalse => matches!(value, Datum::Bool(false)),
        BoolTestKind::IsNotFalse => !matches!(value, Datum::Bool(false)),
        BoolTestKind::IsUnknown => value.is_null(),
        BoolTestKind::IsNotUnknown => !value.is_null(),
    }
}

impl CaseProg {
    fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let Some(arg) = &self.arg else { return self.branches(run, input) };
        let value = arg.eval(run, input)?;
        run.case.push(CaseValue::One(value));
        let result = self.branches(run, input);
        run.case.pop();
        result
    }

    fn branches(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        for (when, then) in &self.whens {
            if when.is_true(run, input)? {
                return then.eval(run, input);
            }
        }
        self.default.eval(run, input)
    }
}

impl MinMaxProg {
    fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let mut best = Datum::Null;
        for arg in &self.args {
            let value = arg.eval(run, input)?;
            if value.is_null() {
                continue;
            }
            if best.is_null() {
                best = value;
                continue;
            }
            let order = self.order.compare(run, &value, &best)?;
            if if self.greatest { order.is_gt() } else { order.is_lt() } {
                best = value;
            }
        }
        Ok(best)
    }
}

impl AnyAllProg {
    fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let scalar = self.call.args[0].eval(run, input)?;
        if let Some(set) = &self.set {
            if scalar.is_null() {
                return Ok(if set.is_empty() { Datum::Bool(!self.use_or) } else { Datum::Null });
            }
            return Ok(match (set.contains(&scalar), self.use_or) {
                (true, true) => Datum::Bool(true),
                (true, false) => Datum::Bool(false),
                (false, _) if set.has_null => Datum::Null,
                (false, or) => Datum::Bool(!or),
            });
        }
        let array = self.call.args[1].eval(run, input)?;
        if array.is_null() || (scalar.is_null() && self.call.strict) {
            let empty = !array.is_null() && self.element.count(&array)? == 0;
            return Ok(if empty { Datum::Bool(!self.use_or) } else { Datum::Null });
        }
        let mut result = Datum::Bool(!self.use_or);
        for element in self.element.elements(&array)? {
            let one = if element.is_null() && self.call.strict {
                Datum::Null
            } else {
                self.call.invoke(run, &[scalar.clone(), element])?
            };
            match one {
                Datum::Bool(b) if b == self.use_or => return Ok(Datum::Bool(b)),
                Datum::Null => result = Datum::Null,
                _ => {}
            }
        }
        Ok(result)
    }
}

impl super::ValueSet {
    fn is_empty(&self) -> bool {
        !self.has_null
            && self.values.is_empty()
            && self.ints.as_ref().is_none_or(hashbrown::HashSet::is_empty)
    }

    /// Whether a value that is not null is in it.
    #[inline]
    pub fn contains(&self, value: &Datum) -> bool {
        match &self.ints {
            Some(ints) => ints.contains(&value.to_i64()),
            None => self.values.iter().any(|v| v == value),
        }
    }
}
