//! Conditions that are not written as an index wants them, but can be said so: ORs of equalities,
//! comparisons of rows, and patterns that begin with fixed text.

use super::IndexClause;
use super::index::strip;
use crate::prep::loose::is_loose_collation;
use crate::prep::volatility;
use crate::rel::{IndexInfo, Restriction};
use crate::root::Root;
use crate::selectivity::pattern;
use base::{Oid, Result};
use ir::{ArrayExpr, Const, Expr, OpExpr, OpKind, RowCompareOp, ScalarArrayOpExpr};
use std::rc::Rc;
use types::Datum;

/// B-tree strategies.
const LESS: i16 = 1;
const NOT_GREATER: i16 = 2;
const EQUAL: i16 = 3;
const NOT_LESS: i16 = 4;
const GREATER: i16 = 5;

impl Root<'_> {
    /// `x = a OR x = b` as `x = ANY (ARRAY[a, b])`, for any operator of the index.
    pub(super) fn match_or(
        &self,
        info: &IndexInfo,
        column: usize,
        arms: &[Expr],
    ) -> Result<Option<Expr>> {
        let key = &info.columns[column];
        let rel = self.relids_of(key);
        let is_key = |e: &Expr| strip(e) == strip(key);
        let mut first: Option<OpExpr> = None;
        let mut elements = Vec::new();
        for arm in arms {
            let Expr::Op(o) = arm else { return Ok(None) };
            if o.kind != OpKind::Plain || o.args.len() != 2 || o.ret_set {
                return Ok(None);
            }
            let (op, left, right) = if is_key(&o.args[0]) {
                (o.op, &o.args[0], &o.args[1])
            } else if is_key(&o.args[1]) {
                (self.env.catalog.operator(o.op)?.commutator, &o.args[1], &o.args[0])
            } else {
                return Ok(None);
            };
            if !op.is_valid()
                || self.relids_of(right).overlaps(&rel)
                || volatility::has_volatile(right, self.env)?
                || ir::walk::any(right, &mut |e| matches!(e, Expr::SubPlan(_)))
            {
                return Ok(None);
            }
            match &first {
                None => {
                    let desc = self.env.catalog.operator(op)?;
                    let args = vec![left.clone(), right.clone()];
                    first = Some(OpExpr { op, func: desc.function, args, ..o.clone() });
                }
                Some(f) => {
                    if f.op != op
                        || f.input_collation != o.input_collation
                        || f.args[1].ty() != right.ty()
                    {
                        return Ok(None);
                    }
                }
            }
            elements.push(right.clone());
        }
        let Some(first) = first else { return Ok(None) };
        let collation = info.desc.collations[column];
        let family = info.desc.opfamilies[column];
        let element_type = first.args[1].ty();
        let array_type = self.env.catalog.type_(element_type)?.array;
        if collation.is_valid() && collation != first.input_collation
            || self.env.catalog.operator_in_family(first.op, family)?.is_none()
            || !array_type.is_valid()
        {
            return Ok(None);
        }
        let array = Expr::Array(Box::new(ArrayExpr {
            array_type,
            collation: first.args[1].collation(),
            element_type,
            elements,
            multidims: false,
            location: None,
        }));
        let array = crate::prep::const_fold::simplify(array, self.env, false)?;
        Ok(Some(Expr::ScalarArrayOp(ScalarArrayOpExpr {
            op: first.op,
            func: first.func,
            use_or: true,
            input_collation: first.input_collation,
            args: vec![first.args[0].clone(), array],
            location: None,
        })))
    }

    /// A comparison of rows whose first column is the index's: as many columns of it as the index
    /// has, in whatever places.
    pub(super) fn match_row(
        &self,
        info: &IndexInfo,
        column: usize,
        r: &Rc<Restriction>,
    ) -> Result<Option<IndexClause>> {
        let Expr::RowCompare { op, ops, collations, left, right, .. } = &r.clause else {
            return Ok(None);
        };
        let is_key = |e: &Expr, n: usize| strip(e) == strip(&info.columns[n]);
        let (mine, theirs, op, flipped) = if is_key(&left[0], column) {
            (left, right, *op, false)
        } else if is_key(&right[0], column) {
            (right, left, commuted(*op), true)
        } else {
            return Ok(None);
        };
        let rel = self.relids_of(&info.columns[column]);
        let mut found: Vec<RowColumn> = Vec::new();
        for (i, (own, value)) in mine.iter().zip(theirs).enumerate() {
            let mut places = (0..info.desc.n_keys as usize).filter(|n| is_key(own, *n));
            let Some(at) = (if i == 0 { Some(column) } else { places.next() }) else { break };
            let oper = match flipped {
                true => self.env.catalog.operator(ops[i])?.commutator,
                false => ops[i],
            };
            let collation = info.desc.collations[at];
            if !oper.is_valid()
                || collation.is_valid() && collation != collations[i]
                || self.relids_of(value).overlaps(&rel)
                || volatility::has_volatile(value, self.env)?
            {
                break;
            }
            let family = info.desc.opfamilies[at];
            let place = self.env.catalog.operator_in_family(oper, family)?;
            let Some(place) = place.filter(|p| p.purpose == b's') else { break };
            if place.strategy != strategy_of(op) {
                break;
            }
            found.push(RowColumn { family, left: place.left, right: place.right });
        }
        // Rows are compared within the index by the columns' own types.
        let own_types = found.iter().take_while(|c| c.left == c.right).count();
        let count = if own_types > 1 { own_types } else { found.len().min(1) };
        if count == 0 {
            return Ok(None);
        }
        // What the first columns leave open, the rest decides.
        let lossy = count < mine.len();
        let op = if lossy { or_equal(op) } else { op };
        let mut opers = Vec::new();
        for c in &found[..count] {
            let Some(oper) = self.env.catalog.amop(c.family, c.left, c.right, strategy_of(op))?
            else {
                return Ok(None);
            };
            opers.push(oper);
        }
        let qual = match count {
            1 => Expr::Op(OpExpr {
                kind: OpKind::Plain,
                op: opers[0],
                func: self.env.catalog.operator(opers[0])?.function,
                ret_type: Oid(16),
                ret_set: false,
                collation: Oid::INVALID,
                input_collation: collations[0],
                args: vec![mine[0].clone(), theirs[0].clone()],
                location: None,
            }),
            n => Expr::RowCompare {
                op,
                ops: opers,
                families: found[..n].iter().map(|c| c.family).collect(),
                collations: collations[..n].to_vec(),
                left: mine[..n].to_vec(),
                right: theirs[..n].to_vec(),
            },
        };
        Ok(Some(IndexClause { origin: r.clone(), quals: vec![qual], lossy, column }))
    }

    /// LIKE, regular expressions and `^@` whose pattern begins with fixed text: the column lies
    /// between that text and what comes after all that begins with it.
    pub(super) fn match_prefix(
        &self,
        info: &IndexInfo,
        column: usize,
        r: &Rc<Restriction>,
        op: Oid,
        args: &[Expr; 2],
    ) -> Result<Option<IndexClause>> {
        let Expr::Const(Const { value: Datum::Bytes(text), ty, .. }) = &args[1] else {
            return Ok(None);
        };
        let desc = self.env.catalog.operator(op)?;
        let Some((prefix, exact)) = pattern::fixed_prefix(desc.rest.0, text) else {
            return Ok(None);
        };
        if prefix.is_empty() || !info.is_btree {
            return Ok(None);
        }
        let left = args[0].ty();
        let right = if left == Oid(1042) { left } else { *ty };
        let family = info.desc.opfamilies[column];
        let collation = info.desc.collations[column];
        let find = |strategy| self.env.catalog.amop(family, left, right, strategy);
        // The families of text_pattern_ops and its kind compare bytes whatever the collation.
        let by_bytes = matches!(family.0, 2095 | 2097 | 428);
        let condition = |op: Oid, value: &[u8]| -> Result<Expr> {
            let constant = Expr::Const(Const {
                ty: right,
                typmod: -1,
                collation: args[1].collation(),
                value: Datum::Bytes(value.into()),
                location: None,
            });
            Ok(Expr::Op(OpExpr {
                kind: OpKind::Plain,
                op,
                func: self.env.catalog.operator(op)?.function,
                ret_type: Oid(16),
                ret_set: false,
                collation: Oid::INVALID,
                input_collation: collation,
                args: vec![args[0].clone(), constant],
                location: None,
            }))
        };
        let quals = if exact {
            let Some(equal) = find(EQUAL)? else { return Ok(None) };
            if is_loose_collation(self.env, collation)? {
                return Ok(None);
            }
            vec![condition(equal, &prefix)?]
        } else {
            if !by_bytes && !self.compares_bytes(collation)? {
                return Ok(None);
            }
            let Some(from) = find(NOT_LESS)? else { return Ok(None) };
            let mut quals = vec![condition(from, &prefix)?];
            if let (Some(below), Some(next)) = (find(LESS)?, after_all(&prefix)) {
                quals.push(condition(below, &next)?);
            }
            quals
        };
        Ok(Some(IndexClause { origin: r.clone(), quals, lossy: true, column }))
    }

    /// Whether a collation's order is that of bytes.
    fn compares_bytes(&self, collation: Oid) -> Result<bool> {
        let collation = self.env.catalog.concrete_collation(collation);
        match collation.0 {
            0 | 950 | 951 => Ok(true),
            _ if functions::collation::stands_for_default(collation) => {
                Ok(functions::collation::compares_bytes(collation))
            }
            _ => {
                let desc = self.env.catalog.find_collation(collation)?;
                Ok(desc.is_some_and(|d| {
                    let name = d.collate.as_deref().or(d.locale.as_deref());
                    matches!(name, Some("C" | "POSIX"))
                }))
            }
        }
    }
}

/// A column of a row comparison that an index has, and the types its operator compares.
struct RowColumn {
    family: Oid,
    left: Oid,
    right: Oid,
}

/// The comparison with its sides exchanged.
fn commuted(op: RowCompareOp) -> RowCompareOp {
    match op {
        RowCompareOp::Lt => RowCompareOp::Gt,
        RowCompareOp::Le => RowCompareOp::Ge,
        RowCompareOp::Ge => RowCompareOp::Le,
        RowCompareOp::Gt => RowCompareOp::Lt,
    }
}

/// The comparison that equal rows pass too.
fn or_equal(op: RowCompareOp) -> RowCompareOp {
    match op {
        RowCompareOp::Lt | RowCompareOp::Le => RowCompareOp::Le,
        RowCompareOp::Ge | RowCompareOp::Gt => RowCompareOp::Ge,
    }
}

fn strategy_of(op: RowCompareOp) -> i16 {
    match op {
        RowCompareOp::Lt => LESS,
        RowCompareOp::Le => NOT_GREATER,
        RowCompareOp::Ge => NOT_LESS,
        RowCompareOp::Gt => GREATER,
    }
}

/// The least text after all that begin with this, if there is one among ASCII.
fn after_all(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut next = prefix.to_vec();
    while let Some(last) = next.pop() {
        if last < 0x7f {
            next.push(last + 1);
            return Some(next);
        }
    }
    None
}
