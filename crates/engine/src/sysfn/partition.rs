//! `pg_get_partition_constraintdef`: what holds for every row of a partition.

use super::SysSession;
use super::args::Args;
use super::text::over;
use base::{Error, Oid, Result};
use catalog::partition::{BoundKind, PartitionBound, RangeDatum};
use catalog::{CatalogView, RelationDesc, oids};
use ir::deparse::Style;
use ir::{ArrayExpr, BoolOp, Const, Expr, FuncExpr, NullTestKind, OpExpr, OpKind};
use ir::{ScalarArrayOpExpr, Var};
use types::Datum;

pub(super) fn call(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let Some(rel) = s.view().find_relation(args.oid(0)?)? else { return Ok(Datum::Null) };
    let mut all = Vec::new();
    collect(s.view(), &rel, &rel, &mut all)?;
    match ir::walk::conjoin(all) {
        Some(expr) => Ok(Datum::string(over(s, &expr, Some(&rel), Style::PLAIN)?)),
        None => Ok(Datum::Null),
    }
}

/// What holds for every row of a partition.
pub(crate) fn constraint_of(view: &CatalogView, rel: &RelationDesc) -> Result<Vec<Expr>> {
    let mut all = Vec::new();
    collect(view, rel, rel, &mut all)?;
    Ok(all)
}

/// The conditions of `rel`'s ancestors, then its own, over the columns of `target`.
fn collect(
    view: &CatalogView,
    rel: &RelationDesc,
    target: &RelationDesc,
    out: &mut Vec<Expr>,
) -> Result<()> {
    let (Some(text), Some(parent)) = (&rel.partition_bound, rel.parents.first()) else {
        return Ok(());
    };
    let parent = view.relation(*parent)?;
    collect(view, &parent, target, out)?;
    let keys = Keys::of(view, &parent)?;
    let mut own = match PartitionBound::parse(text)?.kind {
        BoundKind::Default => keys.default_condition(&parent)?,
        kind => keys.condition(&kind)?,
    };
    for e in &mut own {
        ir::walk::transform(e, &mut |e| {
            if let Expr::Var(v) = e
                && let Some(attr) = parent.tuple.attrs.get((v.attno as usize).wrapping_sub(1))
                && let Some(at) = target.tuple.position(&attr.name)
            {
                (v.attno, v.syn_attno) = (at as i16 + 1, at as i16 + 1);
            }
        });
    }
    out.extend(own);
    Ok(())
}

/// One column of a partition key.
struct Key {
    expr: Expr,
    family: Oid,
    input: Oid,
    collation: Oid,
}

struct Keys<'a> {
    view: &'a CatalogView,
    table: Oid,
    strategy: u8,
    keys: Vec<Key>,
}

fn bool_expr(op: BoolOp, args: Vec<Expr>) -> Expr {
    Expr::Bool { op, args, location: None }
}

/// The conditions as one; nothing is added around a single one.
fn joined(op: BoolOp, mut args: Vec<Expr>) -> Expr {
    match args.len() {
        1 => args.remove(0),
        _ => bool_expr(op, args),
    }
}

impl<'a> Keys<'a> {
    fn of(view: &'a CatalogView, table: &RelationDesc) -> Result<Keys<'a>> {
        let Some(key) = &table.partition_key else {
            return Err(Error::internal(format!("\"{}\" is not partitioned", table.name)));
        };
        let exprs: Vec<Expr> = match &key.exprs {
            Some(text) => crate::cook::from_text(text)?,
            None => Vec::new(),
        };
        let mut exprs = exprs.into_iter();
        let mut keys = Vec::new();
        for (i, column) in key.columns.iter().enumerate() {
            let expr = match *column {
                0 => exprs.next().ok_or_else(|| Error::internal("too few expressions"))?,
                n => {
                    let a = table.tuple.attrs.get(n as usize - 1);
                    let a = a.ok_or_else(|| Error::internal("a key without its column"))?;
                    Expr::Var(Var::new(1, n, a.type_oid, a.typmod, a.collation))
                }
            };
            let class = view.opclass(key.opclasses.get(i).copied().unwrap_or_default())?;
            let collation = key.collations.get(i).copied().unwrap_or_default();
            keys.push(Key { expr, family: class.family, input: class.input_type, collation });
        }
        Ok(Keys { view, table: table.oid, strategy: key.strategy, keys })
    }

    fn null_test(&self, key: &Key, kind: NullTestKind) -> Expr {
        Expr::NullTest { kind, arg: Box::new(key.expr.clone()), is_row: false, location: None }
    }

    fn value(&self, key: &Key, value: &Datum) -> Expr {
        let ty = key.expr.ty();
        let (typmod, collation) = (key.expr.typmod(), key.expr.collation());
        Expr::Const(Const { ty, typmod, collation, value: value.clone(), location: None })
    }

    fn operator(&self, key: &Key, strategy: i16) -> Result<(Oid, Oid)> {
        let found = self.view.amop(key.family, key.input, key.input, strategy)?;
        let op = found.ok_or_else(|| Error::internal("a key without its operator"))?;
        Ok((op, self.view.operator(op)?.function))
    }

    /// The key's column as its operators take it.
    fn operand(&self, key: &Key) -> Expr {
        if key.expr.ty() == key.input || key.input == oids::ANYARRAY || key.input == oids::ANYENUM {
            return key.expr.clone();
        }
        Expr::Relabel {
            arg: Box::new(key.expr.clone()),
            ty: key.input,
            typmod: -1,
            collation: key.collation,
            form: ir::CoercionForm::ImplicitCast,
            location: None,
        }
    }

    fn compare(&self, key: &Key, strategy: i16, value: &Datum) -> Result<Expr> {
        let (op, func) = self.operator(key, strategy)?;
        Ok(Expr::Op(OpExpr {
            kind: OpKind::Plain,
            op,
            func,
            ret_type: oids::BOOL,
            ret_set: false,
            collation: Oid::INVALID,
            input_collation: key.collation,
            args: vec![self.operand(key), self.value(key, value)],
            location: None,
        }))
    }

    fn condition(&self, kind: &BoundKind) -> Result<Vec<Expr>> {
        match kind {
            BoundKind::Default => Ok(Vec::new()),
            BoundKind::List(values) => self.list(values),
            BoundKind::Range(lower, upper) => self.range(lower, upper),
            BoundKind::Hash(modulus, remainder) => Ok(vec![self.hash(*modulus, *remainder)]),
        }
    }

    fn list(&self, values: &[Datum]) -> Result<Vec<Expr>> {
        let key = &self.keys[0];
        let plain: Vec<&Datum> = values.iter().filter(|v| !v.is_null()).collect();
        let test = match plain.as_slice() {
            [] => return Ok(vec![self.null_test(key, NullTestKind::IsNull)]),
            [one] => self.compare(key, 3, one)?,
            many => {
                let (op, func) = self.operator(key, 3)?;
                let element = key.expr.ty();
                let array_type = self.view.type_(element)?.array;
                let array = Expr::Array(Box::new(ArrayExpr {
                    array_type,
                    collation: key.expr.collation(),
                    element_type: element,
                    elements: many.iter().map(|v| self.value(key, v)).collect(),
                    multidims: false,
                    location: None,
                }));
                Expr::ScalarArrayOp(ScalarArrayOpExpr {
                    op,
                    func,
                    use_or: true,
                    input_collation: key.collation,
                    args: vec![self.operand(key), array],
                    location: None,
                })
            }
        };
        if plain.len() < values.len() {
            let null = self.null_test(key, NullTestKind::IsNull);
            return Ok(vec![bool_expr(BoolOp::Or, vec![null, test])]);
        }
        Ok(vec![self.null_test(key, NullTestKind::IsNotNull), test])
    }

    fn range(&self, lower: &[RangeDatum], upper: &[RangeDatum]) -> Result<Vec<Expr>> {
        let not_null = |k| self.null_test(k, NullTestKind::IsNotNull);
        let mut out: Vec<Expr> = self.keys.iter().map(not_null).collect();
        // Leading columns whose bounds are the same value can have no other.
        let mut from = 0;
        while let (Some(RangeDatum::Value(a)), Some(RangeDatum::Value(b))) =
            (lower.get(from), upper.get(from))
        {
            if a != b || from + 1 == self.keys.len() {
                break;
            }
            out.push(self.compare(&self.keys[from], 3, a)?);
            from += 1;
        }
        out.extend(self.one_side(lower, from, true)?);
        out.extend(self.one_side(upper, from, false)?);
        Ok(out)
    }

    /// `(a > 1) OR ((a = 1) AND (b >= 2))`, from column `from` on.
    fn one_side(&self, bound: &[RangeDatum], from: usize, lower: bool) -> Result<Option<Expr>> {
        let mut arms = Vec::new();
        for at in from..bound.len() {
            let mut arm = Vec::new();
            for (key, value) in self.keys[from..at].iter().zip(&bound[from..at]) {
                if let RangeDatum::Value(v) = value {
                    arm.push(self.compare(key, 3, v)?);
                }
            }
            let RangeDatum::Value(value) = &bound[at] else {
                // The rest is unbounded on this side, or empty.
                let open = matches!(bound[at], RangeDatum::Min) == lower;
                if open && !arm.is_empty() {
                    arms.push(joined(BoolOp::And, arm));
                }
                break;
            };
            let last = at + 1 == bound.len();
            // What follows decides nothing where it is unbounded.
            let next_open = match bound.get(at + 1) {
                Some(RangeDatum::Min) => lower,
                Some(RangeDatum::Max) => !lower,
                _ => false,
            };
            let strategy = match (lower, last, next_open) {
                (true, false, false) => 5,
                (true, ..) => 4,
                (false, _, true) => 2,
                (false, ..) => 1,
            };
            arm.push(self.compare(&self.keys[at], strategy, value)?);
            arms.push(joined(BoolOp::And, arm));
            if next_open {
                break;
            }
        }
        Ok((!arms.is_empty()).then(|| joined(BoolOp::Or, arms)))
    }

    fn hash(&self, modulus: u64, remainder: u64) -> Expr {
        let constant = |ty, value| {
            let collation = Oid::INVALID;
            Expr::Const(Const { ty, typmod: -1, collation, value, location: None })
        };
        let mut args = vec![
            constant(oids::OID, Datum::U32(self.table.0)),
            constant(oids::INT4, Datum::I32(modulus as i32)),
            constant(oids::INT4, Datum::I32(remainder as i32)),
        ];
        args.extend(self.keys.iter().map(|k| k.expr.clone()));
        Expr::Func(FuncExpr {
            func: Oid(5028),
            ret_type: oids::BOOL,
            ret_set: false,
            variadic: false,
            form: ir::CoercionForm::ExplicitCall,
            collation: Oid::INVALID,
            input_collation: Oid::INVALID,
            args,
            location: None,
        })
    }

    /// Everything that the other partitions do not take.
    fn default_condition(&self, parent: &RelationDesc) -> Result<Vec<Expr>> {
        let mut kinds = Vec::new();
        for child in self.view.children(parent.oid)? {
            let child = self.view.relation(child)?;
            if let Some(text) = &child.partition_bound {
                kinds.push(PartitionBound::parse(text)?.kind);
            }
        }
        kinds.retain(|k| *k != BoundKind::Default);
        if kinds.is_empty() {
            return Ok(Vec::new());
        }
        let taken = if self.strategy == b'l' {
            let values = kinds.into_iter().flat_map(|k| match k {
                BoundKind::List(values) => values,
                _ => Vec::new(),
            });
            joined(BoolOp::And, self.list(&values.collect::<Vec<_>>())?)
        } else {
            let arms: Result<Vec<Expr>> =
                kinds.iter().map(|k| Ok(joined(BoolOp::And, self.condition(k)?))).collect();
            joined(BoolOp::Or, arms?)
        };
        Ok(vec![bool_expr(BoolOp::Not, vec![taken])])
    }
}
