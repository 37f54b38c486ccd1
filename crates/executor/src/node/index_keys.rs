//! Conditions on an index's columns, made into scan keys when a scan begins.

use crate::compile::PlanCompiler;
use crate::expr::composite::Element;
use crate::expr::{Kind, Prog, RowInput, VarMap};
use crate::run::Run;
use access::index::{KeyCmp, ScanKey, ScanValue, Strategy};
use base::{Error, Oid, Result};
use catalog::IndexDesc;
use ir::{Expr, NullTestKind, RowCompareOp};
use smallvec::SmallVec;
use types::Datum;

enum Value {
    One(Prog),
    Any(Prog, Element),
    IsNull,
    IsNotNull,
    Row(Vec<(u16, Prog)>),
}

struct KeyProg {
    attr: u16,
    strategy: Strategy,
    value: Value,
    cmp: Option<KeyCmp>,
}

impl KeyProg {
    /// The value, if it is a constant or a parameter.
    fn simple(&self, params: &[Datum]) -> Datum {
        match &self.value {
            Value::One(Prog { kind: Kind::Const(d), .. }) => d.clone(),
            Value::One(Prog { kind: Kind::ExternParam(n), .. }) => {
                params.get(*n as usize - 1).cloned().unwrap_or_default()
            }
            _ => Datum::Null,
        }
    }
}

/// The conditions of an index scan.
pub(crate) struct IndexKeys {
    keys: Vec<KeyProg>,
    /// Each key column of a unique index is compared for equality: one row at most.
    pub unique: bool,
}

/// Number of the index's column (from 0) that an operand is.
fn index_column(e: &Expr) -> Result<u16> {
    match e {
        Expr::Var(v) if v.varno == ir::INDEX_VAR && v.attno > 0 => Ok(v.attno as u16 - 1),
        Expr::Relabel { arg, .. } => index_column(arg),
        _ => Err(Error::internal("an index condition does not begin with an index column")),
    }
}

impl IndexKeys {
    pub fn compile(c: &mut PlanCompiler, index: &IndexDesc, quals: &[Expr]) -> Result<IndexKeys> {
        let mut keys = Vec::with_capacity(quals.len());
        for qual in quals {
            keys.push(KeyProg::compile(c, index, qual)?);
        }
        let equal = |attr: u16| {
            keys.iter().any(|k: &KeyProg| {
                k.attr == attr && k.strategy == Strategy::Eq && matches!(k.value, Value::One(_))
            })
        };
        let unique = index.is_unique && index.is_immediate && (0..index.n_keys).all(equal);
        Ok(IndexKeys { keys, unique })
    }

    /// Whether all values are constants or the client's parameters.
    pub fn is_simple(&self) -> bool {
        self.keys.iter().all(|k| match &k.value {
            Value::One(p) => matches!(p.kind, Kind::Const(_) | Kind::ExternParam(_)),
            _ => false,
        })
    }

    /// The keys with their values, if [`IndexKeys::is_simple`].
    pub fn eval_simple(&self, params: &[Datum]) -> Vec<ScanKey> {
        let key = |k: &KeyProg| ScanKey {
            attr: k.attr,
            strategy: k.strategy,
            value: ScanValue::One(k.simple(params)),
            cmp: k.cmp.clone(),
        };
        self.keys.iter().map(key).collect()
    }

    /// If the keys are one for each of the index's `nkeys` columns, for equality and of the
    /// column's own type: which, by column.
    pub fn whole_key(&self, nkeys: usize) -> Option<Vec<usize>> {
        if self.keys.len() != nkeys {
            return None;
        }
        let of_column = |column: usize| {
            let plain = |k: &KeyProg| {
                k.attr as usize == column && k.strategy == Strategy::Eq && k.cmp.is_none()
            };
            self.keys.iter().position(plain)
        };
        (0..nkeys).map(of_column).collect()
    }

    /// The values of the keys in the order of [`IndexKeys::whole_key`].
    pub fn whole_values(&self, order: &[usize], params: &[Datum]) -> SmallVec<[Datum; 4]> {
        order.iter().map(|i| self.keys[*i].simple(params)).collect()
    }

    /// As [`IndexKeys::whole_values`], whatever the values are made from.
    pub fn whole_eval(&self, order: &[usize], run: &mut Run) -> Result<SmallVec<[Datum; 4]>> {
        let mut values = SmallVec::new();
        for i in order {
            values.push(match &self.keys[*i].value {
                Value::One(prog) => prog.eval(run, RowInput::None)?,
                _ => return Err(Error::internal("a whole key with a condition of another kind")),
            });
        }
        Ok(values)
    }

    /// The keys with their values.
    pub fn eval(&self, run: &mut Run) -> Result<Vec<ScanKey>> {
        let mut out = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            let value = match &key.value {
                Value::One(prog) => ScanValue::One(prog.eval(run, RowInput::None)?),
                Value::Any(prog, element) => {
                    let array = prog.eval(run, RowInput::None)?;
                    match array.is_null() {
                        true => ScanValue::Any(Vec::new()),
                        false => ScanValue::Any(element.elements(&array)?),
                    }
                }
                Value::IsNull => ScanValue::IsNull,
                Value::IsNotNull => ScanValue::IsNotNull,
                Value::Row(columns) => {
                    let mut row = Vec::with_capacity(columns.len());
                    for (attr, prog) in columns {
                        row.push((*attr, prog.eval(run, RowInput::None)?));
                    }
                    ScanValue::Row(row)
                }
            };
            let (attr, strategy, cmp) = (key.attr, key.strategy, key.cmp.clone());
            out.push(ScanKey { attr, strategy, value, cmp });
        }
        Ok(out)
    }
}

/// The strategy of an operator in the family of an index column, and how its values compare with
/// the index's if their type is another.
fn place(
    c: &PlanCompiler,
    index: &IndexDesc,
    attr: u16,
    op: Oid,
) -> Result<(Strategy, Option<KeyCmp>)> {
    let family = index.opfamilies.get(attr as usize).copied().unwrap_or_default();
    let place =
        c.ec.catalog
            .operator_in_family(op, family)?
            .ok_or_else(|| Error::internal(format!("operator {op} is not in family {family}")))?;
    let strategy = Strategy::from_number(place.strategy as u16)
        .ok_or_else(|| Error::unsupported("an index condition of this strategy"))?;
    if place.left == place.right {
        return Ok((strategy, None));
    }
    let proc =
        c.ec.catalog
            .amproc(family, place.left, place.right, 1)?
            .ok_or_else(|| Error::internal(format!("no comparison across types in {family}")))?;
    let collation = index.collations.get(attr as usize).copied().unwrap_or_default();
    Ok((strategy, Some(catalog::key_cmp(c.ec.catalog, proc, collation, place.left))))
}

impl KeyProg {
    fn compile(c: &mut PlanCompiler, index: &IndexDesc, qual: &Expr) -> Result<KeyProg> {
        let none = VarMap::default();
        match qual {
            Expr::Op(o) => {
                let attr = index_column(&o.args[0])?;
                let (strategy, cmp) = place(c, index, attr, o.op)?;
                let value = Value::One(c.ec.expr(&o.args[1], &none)?);
                Ok(KeyProg { attr, strategy, value, cmp })
            }
            Expr::ScalarArrayOp(s) => {
                let attr = index_column(&s.args[0])?;
                let (strategy, cmp) = place(c, index, attr, s.op)?;
                if strategy != Strategy::Eq || !s.use_or {
                    return Err(Error::unsupported("an array condition of this strategy"));
                }
                let element = Element::of_array(&c.ec, s.args[1].ty())?;
                let value = Value::Any(c.ec.expr(&s.args[1], &none)?, element);
                Ok(KeyProg { attr, strategy, value, cmp })
            }
            Expr::NullTest { kind, arg, .. } => {
                let value = match kind {
                    NullTestKind::IsNull => Value::IsNull,
                    NullTestKind::IsNotNull => Value::IsNotNull,
                };
                Ok(KeyProg { attr: index_column(arg)?, strategy: Strategy::Eq, value, cmp: None })
            }
            Expr::RowCompare { op, left, right, .. } => {
                let strategy = match op {
                    RowCompareOp::Lt => Strategy::Lt,
                    RowCompareOp::Le => Strategy::Le,
                    RowCompareOp::Ge => Strategy::Ge,
                    RowCompareOp::Gt => Strategy::Gt,
                };
                let mut columns = Vec::new();
                for (l, r) in left.iter().zip(right) {
                    columns.push((index_column(l)?, c.ec.expr(r, &none)?));
                }
                let attr = columns.first().map_or(0, |(a, _)| *a);
                Ok(KeyProg { attr, strategy, value: Value::Row(columns), cmp: None })
            }
            _ => Err(Error::unsupported("an index condition of this form")),
        }
    }
}
