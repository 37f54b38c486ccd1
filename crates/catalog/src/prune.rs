//! Partitions that conditions rule out.
//!
//! What the conditions say of a level's key is gathered first: values that its columns must have,
//! lie between or not have, and whether they are null. Then each partition's bound is held
//! against that; the default partition is needed where the others leave a gap.

use crate::CatalogView;
use crate::partition::{BoundKind, Partitioning, RangeDatum};
use base::Result;
use ir::{BoolOp, BoolTestKind, Expr, NullTestKind, OpKind};
use std::cmp::Ordering;
use std::sync::Arc;
use types::Datum;

const EQUAL: i16 = 3;

/// One level of the tree above a partition.
#[derive(Clone)]
pub struct Level {
    /// The level's partitions.
    pub partitioning: Arc<Partitioning>,
    /// The one that is asked about.
    pub child: base::Oid,
    /// Its bound.
    pub bound: BoundKind,
    /// The key's columns in the terms that the conditions are in.
    pub keys: Arc<Vec<Expr>>,
}

/// Whether rows for which all conditions are true may be in the partition of the first level, by
/// the bounds of all levels.
pub fn possible(catalog: &CatalogView, levels: &[Level], clauses: &[Expr]) -> Result<bool> {
    Pruner { catalog }.possible(levels, clauses)
}

struct Pruner<'a> {
    catalog: &'a CatalogView,
}

fn strip(e: &Expr) -> &Expr {
    match e {
        Expr::Relabel { arg, .. } => strip(arg),
        other => other,
    }
}

/// What conditions say of a key: all of it holds.
#[derive(Clone, Default)]
struct Known {
    /// Column, btree strategy, value.
    compared: Vec<(usize, i16, Datum)>,
    /// Column and the values, one of which it has such a relation to.
    any_of: Vec<(usize, i16, Vec<Datum>)>,
    /// Values that the first column does not have.
    not: Vec<Datum>,
    /// Column, and whether it is null.
    null: Vec<(usize, bool)>,
    never: bool,
}

impl Known {
    fn is_null(&self) -> bool {
        self.null.iter().any(|n| n.1)
    }

    fn says_nothing(&self) -> bool {
        self.compared.is_empty() && self.any_of.is_empty() && self.null.is_empty()
    }

    fn equal(&self, column: usize) -> Option<&Datum> {
        self.compared.iter().find(|c| c.0 == column && c.1 == EQUAL).map(|c| &c.2)
    }
}

fn holds(strategy: i16, order: Ordering) -> bool {
    match strategy {
        1 => order == Ordering::Less,
        2 => order != Ordering::Greater,
        EQUAL => order == Ordering::Equal,
        4 => order != Ordering::Less,
        _ => order == Ordering::Greater,
    }
}

impl Pruner<'_> {
    /// Whether rows for which all conditions are true may be there by all levels' bounds.
    fn possible(&self, levels: &[Level], clauses: &[Expr]) -> Result<bool> {
        for i in 0..levels.len() {
            if !self.all_may(&levels[i..], clauses)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the partition of the first level may have rows for which all conditions are true.
    fn all_may(&self, levels: &[Level], clauses: &[Expr]) -> Result<bool> {
        let level = &levels[0];
        let mut known = Known::default();
        if matches!(level.bound, BoundKind::Default) {
            // What the bounds of the levels above leave is not a gap here.
            levels[1..].iter().for_each(|above| learn_bound(level, above, &mut known));
        }
        for clause in clauses {
            if !self.learn(levels, clause, &mut known)? {
                return Ok(false);
            }
        }
        if known.never {
            return Ok(false);
        }
        let Some((column, strategy, values)) = known.any_of.pop() else {
            return consistent(level, &known);
        };
        for value in values.into_iter().filter(|v| !v.is_null()) {
            let mut one = known.clone();
            one.any_of.clear();
            one.compared.push((column, strategy, value));
            if consistent(level, &one)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds what a condition says; false if it rules the partition out by itself.
    fn learn(&self, levels: &[Level], clause: &Expr, known: &mut Known) -> Result<bool> {
        let level = &levels[0];
        let key = |e: &Expr| key_column(level, e);
        match clause {
            Expr::Bool { op: BoolOp::And, args, .. } => {
                for a in args {
                    if !self.learn(levels, a, known)? {
                        return Ok(false);
                    }
                }
            }
            Expr::Bool { op: BoolOp::Or, args, .. } => {
                for a in args {
                    let parts: Vec<Expr> = ir::walk::conjuncts(a.clone());
                    if self.possible(levels, &parts)? {
                        return Ok(true);
                    }
                }
                return Ok(false);
            }
            Expr::NullTest { kind, arg, is_row: false, .. } => {
                if let Some(column) = key(arg) {
                    known.null.push((column, *kind == NullTestKind::IsNull));
                }
            }
            Expr::Const(c) => known.never |= c.value != Datum::Bool(true),
            Expr::ScalarArrayOp(s) => {
                let [arg, Expr::Const(c)] = &s.args[..] else { return Ok(true) };
                let Some(column) = key(arg) else { return Ok(true) };
                if c.value.is_null() {
                    known.never = true;
                    return Ok(true);
                }
                let values = crate::vector::to_any(&c.value)?;
                let ty = s.args[1].ty();
                let element = self.catalog.type_(ty)?.elem;
                if !s.use_or {
                    if self.is_unequal(level, column, s.op)? {
                        known.never |= values.iter().any(Datum::is_null);
                        known.not.extend(values.into_iter().filter(|v| !v.is_null()));
                        known.null.push((column, false));
                    } else if let Some(strategy) = self.strategy(level, column, s.op, element)? {
                        known.never |= values.iter().any(Datum::is_null);
                        let all = values.into_iter().filter(|v| !v.is_null());
                        known.compared.extend(all.map(|v| (column, strategy, v)));
                    }
                } else if let Some(strategy) = self.strategy(level, column, s.op, element)? {
                    known.any_of.push((column, strategy, values));
                }
            }
            Expr::Op(o) if o.kind == OpKind::Plain && o.args.len() == 2 => {
                self.learn_comparison(level, o, known)?;
            }
            Expr::BooleanTest { kind, arg, .. }
                if matches!(kind, BoolTestKind::IsNotTrue | BoolTestKind::IsNotFalse)
                    && key(arg).is_some() =>
            {
                // The other value, or none.
                let other = match kind {
                    BoolTestKind::IsNotFalse => (**arg).clone(),
                    _ => {
                        Expr::Bool { op: BoolOp::Not, args: vec![(**arg).clone()], location: None }
                    }
                };
                let null = Expr::NullTest {
                    kind: NullTestKind::IsNull,
                    arg: arg.clone(),
                    is_row: false,
                    location: None,
                };
                return Ok(self.possible(levels, &[other])? || self.possible(levels, &[null])?);
            }
            other => learn_boolean(level, other, known),
        }
        Ok(true)
    }

    fn learn_comparison(&self, level: &Level, o: &ir::OpExpr, known: &mut Known) -> Result<()> {
        let constant = |e: &Expr| match e {
            Expr::Const(c) => Some((c.value.clone(), c.ty)),
            _ => None,
        };
        let (left, right) = (&o.args[0], &o.args[1]);
        let mut op = o.op;
        let (column, (value, ty)) = match (key_column(level, left), constant(right)) {
            (Some(c), Some(v)) => (c, v),
            _ => match (key_column(level, right), constant(left)) {
                (Some(c), Some(v)) => {
                    op = self.catalog.operator(op)?.commutator;
                    (c, v)
                }
                _ => return Ok(()),
            },
        };
        let key = &level.partitioning.keys[column];
        let other_order = key.collation.is_valid()
            && o.input_collation.is_valid()
            && key.collation != o.input_collation;
        if !op.is_valid() || other_order {
            return Ok(());
        }
        if let Some(strategy) = self.strategy(level, column, op, ty)? {
            match value.is_null() {
                true => known.never = true,
                false => known.compared.push((column, strategy, value)),
            }
        } else if self.is_unequal(level, column, op)? {
            match value.is_null() {
                true => known.never = true,
                false => known.not.push(value),
            }
            known.null.push((column, false));
        }
        Ok(())
    }

    /// What an operator means for the order of a key column; values are of the type `ty`.
    fn strategy(
        &self,
        level: &Level,
        column: usize,
        op: base::Oid,
        ty: base::Oid,
    ) -> Result<Option<i16>> {
        let key = &level.partitioning.keys[column];
        let Some(amop) = self.catalog.operator_in_family(op, key.family)? else {
            return Ok(None);
        };
        let hash = level.partitioning.strategy == b'h';
        // Values of other types cannot be held against the bounds, unless all are integers.
        let integers = |t: base::Oid| matches!(t.0, 20 | 21 | 23);
        let same = ty == key.input_type || amop.right == key.input_type;
        if !same && (hash || !(integers(ty) && integers(key.input_type))) {
            return Ok(None);
        }
        Ok(Some(if hash { EQUAL } else { amop.strategy }))
    }

    /// Whether the operator is `<>`, for the first column of a list.
    fn is_unequal(&self, level: &Level, column: usize, op: base::Oid) -> Result<bool> {
        let negator = self.catalog.operator(op)?.negator;
        if level.partitioning.strategy != b'l' || column != 0 || !negator.is_valid() {
            return Ok(false);
        }
        let family = level.partitioning.keys[0].family;
        let found = self.catalog.operator_in_family(negator, family)?;
        Ok(found.is_some_and(|a| a.strategy == EQUAL && a.right == a.left))
    }
}

/// Adds what a bound of a level above says of the keys of this one.
fn learn_bound(level: &Level, above: &Level, known: &mut Known) {
    let Some(column) = above.keys.first().and_then(|k| key_column(level, k)) else { return };
    match &above.bound {
        BoundKind::Range(lower, upper) => {
            if let Some(RangeDatum::Value(v)) = lower.first() {
                known.compared.push((column, 4, v.clone()));
            }
            if let Some(RangeDatum::Value(v)) = upper.first() {
                let strategy = if upper.len() > 1 { 2 } else { 1 };
                known.compared.push((column, strategy, v.clone()));
            }
        }
        BoundKind::List(list) if !list.iter().any(Datum::is_null) => {
            known.any_of.push((column, EQUAL, list.clone()));
        }
        _ => {}
    }
}

fn key_column(level: &Level, e: &Expr) -> Option<usize> {
    let e = strip(e);
    level.keys.iter().position(|k| strip(k) == e)
}

/// `x`, `NOT x` and their kind, of a boolean key.
fn learn_boolean(level: &Level, clause: &Expr, known: &mut Known) {
    let (arg, value) = match clause {
        Expr::Bool { op: BoolOp::Not, args, .. } => (&args[0], false),
        Expr::BooleanTest { kind: BoolTestKind::IsTrue, arg, .. } => (&**arg, true),
        Expr::BooleanTest { kind: BoolTestKind::IsFalse, arg, .. } => (&**arg, false),
        Expr::BooleanTest { kind, arg, .. } => {
            let null = match kind {
                BoolTestKind::IsUnknown => true,
                BoolTestKind::IsNotUnknown => false,
                _ => return,
            };
            known.null.extend(key_column(level, arg).map(|c| (c, null)));
            return;
        }
        other => (other, true),
    };
    if arg.ty() != base::Oid(16) {
        return;
    }
    match (key_column(level, arg), arg) {
        (Some(column), _) => known.compared.push((column, EQUAL, Datum::Bool(value))),
        // The key may be the opposite.
        (None, arg) => {
            let opposite = |k: &Expr| {
                matches!(k, Expr::Bool { op: BoolOp::Not, args, .. }
                if args[0] == *arg)
            };
            if let Some(column) = level.keys.iter().position(opposite) {
                known.compared.push((column, EQUAL, Datum::Bool(!value)));
            }
        }
    }
}

/// Whether a partition may have a key of which all that is known.
fn consistent(level: &Level, known: &Known) -> Result<bool> {
    let p = &level.partitioning;
    match &level.bound {
        BoundKind::Hash(..) => {
            let mut values = Vec::new();
            for column in 0..p.keys.len() {
                match known.equal(column) {
                    Some(v) => values.push(v.clone()),
                    None if known.null.contains(&(column, true)) => values.push(Datum::Null),
                    None => return Ok(true),
                }
            }
            // A value that cannot be hashed here says nothing.
            Ok(p.find(&values).map_or(true, |found| found == Some(level.child)))
        }
        BoundKind::List(list) => in_list(p, list, known),
        BoundKind::Range(lower, upper) => {
            if known.is_null() {
                return Ok(false);
            }
            let Some((from, to)) = span(p, known)? else { return Ok(false) };
            Ok(order(p, lower, &to)?.is_lt() && order(p, &from, upper)?.is_lt())
        }
        BoundKind::Default if p.strategy == b'l' => {
            if known.is_null() {
                return Ok(p.find(&[Datum::Null])? == p.default);
            }
            match known.equal(0) {
                Some(v) => Ok(p.find(std::slice::from_ref(v))? == p.default),
                None => Ok(true),
            }
        }
        BoundKind::Default if known.says_nothing() || known.is_null() => Ok(true),
        BoundKind::Default => {
            // It also has the rows with a null in some column.
            let not_null = |column| {
                known.compared.iter().any(|c| c.0 == column)
                    || known.null.contains(&(column, false))
            };
            if known.compared.is_empty() || !(0..p.keys.len()).all(not_null) {
                return Ok(true);
            }
            match span(p, known)? {
                Some((from, to)) => leaves_gap(p, from, &to),
                None => Ok(false),
            }
        }
    }
}

fn in_list(p: &Partitioning, list: &[Datum], known: &Known) -> Result<bool> {
    for v in list {
        if v.is_null() {
            let excluded = !known.compared.is_empty()
                || !known.not.is_empty()
                || known.null.iter().any(|n| !n.1);
            if !excluded {
                return Ok(true);
            }
            continue;
        }
        let mut ok = !known.is_null();
        for (_, strategy, value) in &known.compared {
            ok = ok && holds(*strategy, p.compare(0, v, value)?);
        }
        for value in &known.not {
            ok = ok && p.compare(0, v, value)?.is_ne();
        }
        if ok {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The keys that are possible, as all from one place to another; None if there is none.
#[allow(clippy::type_complexity)]
fn span(p: &Partitioning, known: &Known) -> Result<Option<(Vec<RangeDatum>, Vec<RangeDatum>)>> {
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for column in 0..p.keys.len() {
        let own = || known.compared.iter().filter(move |c| c.0 == column);
        if let Some(value) = known.equal(column) {
            for (_, strategy, other) in own() {
                if !holds(*strategy, p.compare(column, value, other)?) {
                    return Ok(None);
                }
            }
            from.push(RangeDatum::Value(value.clone()));
            to.push(RangeDatum::Value(value.clone()));
            continue;
        }
        let (mut low, mut high): (Option<(&Datum, bool)>, Option<(&Datum, bool)>) = (None, None);
        for (_, strategy, value) in own() {
            let inclusive = matches!(strategy, 2 | 4);
            if *strategy > EQUAL {
                let tighter = match low {
                    None => true,
                    Some((l, _)) => match p.compare(column, value, l)? {
                        Ordering::Equal => !inclusive,
                        o => o.is_gt(),
                    },
                };
                low = if tighter { Some((value, inclusive)) } else { low };
            } else {
                let tighter = match high {
                    None => true,
                    Some((h, _)) => match p.compare(column, value, h)? {
                        Ordering::Equal => !inclusive,
                        o => o.is_lt(),
                    },
                };
                high = if tighter { Some((value, inclusive)) } else { high };
            }
        }
        push_end(&mut from, low, RangeDatum::Min, RangeDatum::Max);
        push_end(&mut to, high, RangeDatum::Max, RangeDatum::Min);
        return Ok(order(p, &from, &to)?.is_lt().then_some((from, to)));
    }
    to.push(RangeDatum::Max);
    Ok(Some((from, to)))
}

fn push_end(
    place: &mut Vec<RangeDatum>,
    value: Option<(&Datum, bool)>,
    outside: RangeDatum,
    inside: RangeDatum,
) {
    match value {
        None => place.push(outside),
        Some((v, inclusive)) => {
            place.push(RangeDatum::Value(v.clone()));
            place.push(if inclusive { outside } else { inside });
        }
    }
}

/// Compares two places between keys; what is not there is the lowest.
fn order(p: &Partitioning, a: &[RangeDatum], b: &[RangeDatum]) -> Result<Ordering> {
    for i in 0..a.len().max(b.len()) {
        let (x, y) = (a.get(i).unwrap_or(&RangeDatum::Min), b.get(i).unwrap_or(&RangeDatum::Min));
        let found = match (x, y) {
            (RangeDatum::Value(x), RangeDatum::Value(y)) => p.compare(i, x, y)?,
            (RangeDatum::Min, RangeDatum::Min) | (RangeDatum::Max, RangeDatum::Max) => {
                return Ok(Ordering::Equal);
            }
            (RangeDatum::Min, _) | (_, RangeDatum::Max) => Ordering::Less,
            _ => Ordering::Greater,
        };
        if found.is_ne() {
            return Ok(found);
        }
    }
    Ok(Ordering::Equal)
}

/// Whether some of the keys from one place to another are in none of the ranges.
fn leaves_gap(p: &Partitioning, from: Vec<RangeDatum>, to: &[RangeDatum]) -> Result<bool> {
    let ordered = p.in_order()?;
    let mut at = from;
    for oid in ordered {
        let Some((_, BoundKind::Range(lower, upper))) = p.parts.iter().find(|x| x.0 == oid) else {
            continue;
        };
        if order(p, upper, &at)?.is_le() {
            continue;
        }
        if order(p, lower, &at)?.is_gt() {
            return Ok(true);
        }
        at = upper.clone();
        if order(p, &at, to)?.is_ge() {
            return Ok(false);
        }
    }
    Ok(order(p, &at, to)?.is_lt())
}
