//! What a plan was chosen by that can be another the next time: estimates that hang on values of
//! parameters, and sizes of tables.
//!
//! A plan made for some values without putting them in place of their parameters
//! ([`Env::fold_params`] is false) serves all values; whether it is a good one for others is told
//! by looking at their estimates alone. Whatever else a value could have told ([`Watch::lose`]:
//! a condition that it decides, a partial index, a pattern's prefix, partitions) makes the plan
//! one for these values only.

use crate::prep::const_fold::simplify;
use crate::root::Env;
use crate::selectivity::{Comparison, as_number, direction, of_any};
use base::Result;
use catalog::RelationDesc;
use ir::{CoercionForm, Expr, ParamKind};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use types::Datum;

/// Row counts that differ by no more than this share of the greater one ask for the same plan.
const TOLERANCE: f64 = 0.3;
/// So few rows are read in the same way.
const FEW_ROWS: f64 = 3.0;
/// So few pages are as good as none.
const FEW_PAGES: u32 = 8;
/// More questions take longer than planning anew.
const MOST_QUESTIONS: usize = 64;

/// Notes what a plan is chosen by while it is made.
#[derive(Default)]
pub struct Watch {
    grounds: RefCell<Grounds>,
    /// A parameter's value was looked at since this was cleared.
    looked: Cell<bool>,
    /// The values count in ways that are not noted.
    lost: Cell<bool>,
}

/// What a plan was chosen by.
#[derive(Default)]
pub struct Grounds {
    comparisons: Vec<Asked<Comparison>>,
    /// Comparisons for equality with any element of an array.
    any: Vec<Asked<Comparison>>,
    /// LIMIT and OFFSET.
    numbers: Vec<Asked<()>>,
    /// Pages of tables.
    sizes: Vec<(Arc<RelationDesc>, u32)>,
}

/// A question of which a value was a part, and the answer then.
struct Asked<T> {
    of: T,
    /// Where the value is from: parameters and constants.
    value: Expr,
    answer: f64,
}

impl Watch {
    /// The plan may be of no use for other values.
    pub fn lose(&self) {
        self.lost.set(true);
    }

    /// A parameter's value is looked at for an estimate.
    pub fn look(&self) {
        self.looked.set(true);
    }

    /// A comparison with `value` was estimated.
    pub fn compared(&self, of: Comparison, value: &Expr, answer: f64) {
        self.ask(|grounds| &mut grounds.comparisons, of, value, answer);
    }

    /// A comparison for equality with any element of the array `value` was estimated.
    pub fn compared_any(&self, of: Comparison, value: &Expr, answer: f64) {
        self.ask(|grounds| &mut grounds.any, of, value, answer);
    }

    fn ask(
        &self,
        list: impl Fn(&mut Grounds) -> &mut Vec<Asked<Comparison>>,
        of: Comparison,
        value: &Expr,
        answer: f64,
    ) {
        let mut grounds = self.grounds.borrow_mut();
        let list = list(&mut grounds);
        let known = list.iter().any(|c| {
            c.of.op == of.op
                && c.of.var_left == of.var_left
                && c.of.v.expr == of.v.expr
                && c.value == *value
        });
        if known {
            return;
        }
        if list.len() == MOST_QUESTIONS {
            return self.lose();
        }
        list.push(Asked { of, value: value.clone(), answer });
    }

    /// A number of rows was read from `value`.
    pub fn counted(&self, value: &Expr, answer: f64) {
        let asked = Asked { of: (), value: value.clone(), answer };
        self.grounds.borrow_mut().numbers.push(asked);
    }

    /// A table's size was looked at.
    pub fn measured(&self, table: &Arc<RelationDesc>, pages: u32) {
        self.grounds.borrow_mut().sizes.push((table.clone(), pages));
    }

    /// What was noted; None if that is not all that counts.
    pub fn finish(self) -> Option<Grounds> {
        (!self.lost.get() && !self.looked.get()).then(|| self.grounds.into_inner())
    }
}

impl Grounds {
    /// True if the plan would be chosen for the values that `env` has, as far as can be told.
    pub fn hold(&self, env: &Env) -> Result<bool> {
        for (table, pages) in &self.sizes {
            let now = env.sizes.pages(table)?;
            let few = now.max(*pages) <= FEW_PAGES;
            if !few && !similar(now.into(), (*pages).into()) {
                return Ok(false);
            }
        }
        for number in &self.numbers {
            let now = rows_wanted(&value_of(&number.value, env)?);
            if !similar(now, number.answer) {
                return Ok(false);
            }
        }
        for asked in &self.any {
            let of = &asked.of;
            let elements = env.array_elements(&value_of(&asked.value, env)?)?;
            let Some(elements) = elements else { return Ok(false) };
            let shares = elements.iter().map(|e| of.share(env, e)).collect::<Result<Vec<_>>>()?;
            if !similar(of_any(&shares, true, true) * of.v.tuples, asked.answer * of.v.tuples) {
                return Ok(false);
            }
        }
        // The two ends of a range count together.
        let mut ends: Vec<Ends> = Vec::new();
        for asked in &self.comparisons {
            let of = &asked.of;
            let now = of.share(env, &value_of(&asked.value, env)?)?;
            match direction(env, of.op, of.var_left)? {
                Some((_, less, _)) => note_end(&mut ends, asked, less, now),
                None if !similar(now * of.v.tuples, asked.answer * of.v.tuples) => {
                    return Ok(false);
                }
                None => {}
            }
        }
        Ok(ends.iter().all(Ends::are_similar))
    }
}

/// What conditions on one column leave, as shares: then and now.
struct Ends<'a> {
    of: &'a Comparison,
    low: Option<(f64, f64)>,
    high: Option<(f64, f64)>,
}

impl Ends<'_> {
    fn are_similar(&self) -> bool {
        let both = |low: f64, high: f64| (low + high - 1.0 + self.of.v.null_frac()).max(0.0);
        let (then, now) = match (self.low, self.high) {
            (Some(low), Some(high)) => (both(low.0, high.0), both(low.1, high.1)),
            (one, other) => one.or(other).unwrap_or_default(),
        };
        similar(then * self.of.v.tuples, now * self.of.v.tuples)
    }
}

fn note_end<'a>(ends: &mut Vec<Ends<'a>>, asked: &'a Asked<Comparison>, less: bool, now: f64) {
    let of = &asked.of;
    let at = ends.iter().position(|e| e.of.v.expr == of.v.expr).unwrap_or_else(|| {
        ends.push(Ends { of, low: None, high: None });
        ends.len() - 1
    });
    let end = if less { &mut ends[at].high } else { &mut ends[at].low };
    let (then, before) = end.unwrap_or((1.0, 1.0));
    *end = Some((asked.answer.min(then), now.min(before)));
}

fn similar(a: f64, b: f64) -> bool {
    let most = a.max(b);
    most <= FEW_ROWS || (a - b).abs() <= TOLERANCE * most
}

/// Rows that LIMIT or OFFSET says; NULL is more than any number.
pub fn rows_wanted(value: &Expr) -> f64 {
    match value {
        Expr::Const(c) => as_number(&c.value).unwrap_or(f64::MAX),
        _ => 0.0,
    }
}

/// An expression whose parameters have their values, for estimates; and the watch, if a value
/// counted: it is to be told what for.
pub fn estimated<'a>(env: &Env<'a>, e: &Expr) -> Result<(Expr, Option<&'a Watch>)> {
    let Some(watch) = env.watch else { return Ok((simplify(e.clone(), env, true)?, None)) };
    let before = watch.looked.replace(false);
    let value = simplify(e.clone(), env, true)?;
    let counted = watch.looked.replace(before);
    Ok((value, counted.then_some(watch)))
}

/// The same; the usual ones are made without evaluation.
fn value_of(e: &Expr, env: &Env) -> Result<Expr> {
    if let Expr::Func(f) = e
        && is_cast(f)
        && let [Expr::Param(_)] = &f.args[..]
        && let Expr::Const(mut c) = value_of(&f.args[0], env)?
        && let Some(value) = widened(&c.value, f.ret_type.0)
    {
        (c.value, c.ty) = (value, f.ret_type);
        return Ok(Expr::Const(c));
    }
    simplify(e.clone(), env, true)
}

/// An integer as one of a type that has all of its values.
fn widened(value: &Datum, ty: u32) -> Option<Datum> {
    Some(match (value, ty) {
        (Datum::I16(n), 23) => Datum::I32((*n).into()),
        (Datum::I16(n), 20) => Datum::I64((*n).into()),
        (Datum::I32(n), 20) => Datum::I64((*n).into()),
        (Datum::I32(n), 701) => Datum::F64((*n).into()),
        _ => return None,
    })
}

/// True for a constant or a parameter, and for a cast or the negative of such.
fn is_known(e: &Expr) -> bool {
    match e {
        Expr::Const(_) => true,
        Expr::Param(p) => p.kind == ParamKind::Extern,
        Expr::Relabel { arg, .. } | Expr::CoerceViaIo { arg, .. } => is_known(arg),
        Expr::Func(f) => is_cast(f) && f.args.iter().all(is_known),
        Expr::Op(o) => o.args.len() == 1 && o.args.iter().all(is_known),
        _ => false,
    }
}

fn has_param(e: &Expr) -> bool {
    let mut found = false;
    ir::walk::each(e, &mut |e| found |= matches!(e, Expr::Param(p) if p.kind == ParamKind::Extern));
    found
}

fn is_cast(f: &ir::FuncExpr) -> bool {
    matches!(f.form, CoercionForm::ImplicitCast | CoercionForm::ExplicitCast)
}

/// Notes an expression that stays as it is as its parameters have no values put in their place,
/// and would be a constant otherwise: more could be told by it than an estimate does.
pub fn note_unfolded(env: &Env, e: &Expr) {
    let Some(watch) = env.watch else { return };
    let decided = match e {
        Expr::Func(f) => !is_cast(f) && f.args.iter().all(is_known),
        Expr::Op(o) => o.args.len() > 1 && o.args.iter().all(is_known),
        Expr::ScalarArrayOp(s) => s.args.iter().all(is_known),
        Expr::NullTest { arg, .. } | Expr::BooleanTest { arg, .. } => is_known(arg),
        Expr::Bool { args, .. } => args.iter().any(is_known),
        Expr::Case(case) => case.arg.as_deref().is_some_and(is_known),
        _ => false,
    };
    if decided && has_param(e) {
        watch.lose();
    }
}
