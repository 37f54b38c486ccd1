//! Operators: which one is meant, and the expression for it.

use crate::coerce::{base_type, element_type, is_polymorphic};
use crate::func::{Candidate, Choice};
use crate::state::{Analyzer, loc};
use base::{Oid, Result, SqlState, err};
use catalog::{CastContext, OperatorDesc, oids};
use ir::{CoercionForm, Expr, Location, OpExpr, OpKind, ScalarArrayOpExpr};
use parser::ast;
use std::sync::Arc;

/// How values of a type are sorted and told apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SortOps {
    pub lt: Option<Oid>,
    pub eq: Option<Oid>,
    pub gt: Option<Oid>,
    pub hashable: bool,
}

impl Analyzer<'_> {
    fn op_shown(&self, op: &ast::OpName, left: Option<Oid>, right: Oid) -> String {
        let mut text = String::new();
        if let Some(left) = left {
            text.push_str(&self.type_shown(left));
            text.push(' ');
        }
        for part in &op.schema {
            text.push_str(part);
            text.push('.');
        }
        text.push_str(&op.name);
        text.push(' ');
        text.push_str(&self.type_shown(right));
        text
    }

    fn op_failure(
        &self,
        op: &ast::OpName,
        left: Option<Oid>,
        right: Oid,
        ambiguous: bool,
        at: Location,
    ) -> base::Error {
        let shown = self.op_shown(op, left, right);
        if ambiguous {
            return err!(AMBIGUOUS_FUNCTION, "operator is not unique: {shown}")
                .hint(
                    "Could not choose a best candidate operator. You might need to add explicit \
                     type casts.",
                )
                .at(at);
        }
        let hint = if left.is_some() {
            "No operator matches the given name and argument types. You might need to add \
             explicit type casts."
        } else {
            "No operator matches the given name and argument type. You might need to add an \
             explicit type cast."
        };
        err!(UNDEFINED_FUNCTION, "operator does not exist: {shown}").hint(hint).at(at)
    }

    /// `oper` and `left_oper`: the operator for these operand types.
    pub fn find_operator(
        &self,
        op: &ast::OpName,
        left: Option<Oid>,
        right: Oid,
        at: Location,
    ) -> Result<Arc<OperatorDesc>> {
        let catalog = self.catalog();
        let (schema, _) = self.operator_schema(op)?;
        let name: &str = &op.name;
        let exact = |l: Oid, r: Oid| catalog.operator_exact(schema, name, l, r);
        match left {
            None => {
                if let Some(found) = exact(Oid::INVALID, right)? {
                    return Ok(found);
                }
            }
            Some(left) => {
                let (mut l, mut r) = (left, right);
                let mut was_unknown = false;
                if l == oids::UNKNOWN && r.is_valid() {
                    l = r;
                    was_unknown = true;
                } else if r == oids::UNKNOWN && l.is_valid() {
                    r = l;
                    was_unknown = true;
                }
                if let Some(found) = exact(l, r)? {
                    return Ok(found);
                }
                if was_unknown {
                    let base = base_type(catalog, l)?;
                    if base != l
                        && let Some(found) = exact(base, base)?
                    {
                        return Ok(found);
                    }
                }
            }
        }
        let mut candidates = Vec::new();
        for found in catalog.operators_named(schema, name)? {
            if (found.kind == b'b') != left.is_some() {
                continue;
            }
            let args = match left {
                Some(_) => vec![found.left, found.right],
                None => vec![found.right],
            };
            candidates.push(Candidate::plain(found.oid, args));
        }
        let inputs: Vec<Oid> = match left {
            // One unknown operand is taken to be of the other's type.
            Some(l) => vec![l, right],
            None => vec![right],
        };
        let matching = self.matching_candidates(&inputs, candidates)?;
        let chosen = match matching.len() {
            0 => Choice::None,
            1 => Choice::One(matching[0].oid),
            _ => self.select_candidate(&inputs, matching)?,
        };
        match chosen {
            Choice::One(oid) => catalog.operator(oid),
            Choice::None => Err(self.op_failure(op, left, right, false, at)),
            Choice::Many => Err(self.op_failure(op, left, right, true, at)),
        }
    }

    fn operator_schema<'n>(&self, op: &'n ast::OpName) -> Result<(Option<&'n str>, ())> {
        match op.schema.as_slice() {
            [] => Ok((None, ())),
            [schema] => {
                self.catalog().require_namespace(schema).map_err(|e| e.at(loc(op.pos)))?;
                Ok((Some(schema), ()))
            }
            more => Ok((more.last().map(String::as_str), ())),
        }
    }

    /// `make_op`.
    pub fn make_op(
        &mut self,
        op: &ast::OpName,
        left: Option<Expr>,
        right: Expr,
        at: Location,
    ) -> Result<Expr> {
        let (ltype, rtype) = (left.as_ref().map(Expr::ty), right.ty());
        let found = self.find_operator(op, ltype, rtype, at)?;
        if !found.function.is_valid() {
            let shown = self.op_shown(op, ltype, rtype);
            return Err(err!(UNDEFINED_FUNCTION, "operator is only a shell: {shown}").at(at));
        }
        let mut declared = match ltype {
            Some(_) => vec![found.left, found.right],
            None => vec![found.right],
        };
        let args: Vec<Expr> = left.into_iter().chain([right]).collect();
        let actual: Vec<Oid> = args.iter().map(Expr::ty).collect();
        let result = self
            .enforce_generic(&actual, &mut declared, found.result, false)
            .map_err(|e| e.at(at))?;
        let args = self.coerce_args(args, &declared)?;
        let ret_set = self.catalog().proc(found.function)?.returns_set;
        if ret_set {
            self.check_srf(at)?;
        }
        Ok(Expr::Op(OpExpr {
            kind: OpKind::Plain,
            op: found.oid,
            func: found.function,
            ret_type: result,
            ret_set,
            collation: Oid::INVALID,
            input_collation: Oid::INVALID,
            args,
            location: at,
        }))
    }

    /// `make_fn_arguments`: arguments as the types that the function takes.
    pub fn coerce_args(&mut self, args: Vec<Expr>, declared: &[Oid]) -> Result<Vec<Expr>> {
        let mut made = Vec::with_capacity(args.len());
        for (i, arg) in args.into_iter().enumerate() {
            let Some(&want) = declared.get(i) else {
                made.push(arg);
                continue;
            };
            let form = CoercionForm::ImplicitCast;
            let cx = CastContext::Implicit;
            made.push(match arg {
                Expr::NamedArg { name, arg, number, location } => {
                    let ty = arg.ty();
                    let arg = self.coerce(*arg, ty, want, -1, cx, form, None)?;
                    Expr::NamedArg { name, arg: Box::new(arg), number, location }
                }
                other => {
                    let ty = other.ty();
                    self.coerce(other, ty, want, -1, cx, form, None)?
                }
            });
        }
        Ok(made)
    }

    /// `make_scalar_array_op`.
    pub fn make_scalar_array_op(
        &mut self,
        op: &ast::OpName,
        use_or: bool,
        left: Expr,
        right: Expr,
        at: Location,
    ) -> Result<Expr> {
        let (ltype, atype) = (left.ty(), right.ty());
        let rtype = if atype == oids::UNKNOWN {
            oids::UNKNOWN
        } else {
            let elem = element_type(self.catalog(), atype)?;
            if !elem.is_valid() {
                return Err(err!(
                    WRONG_OBJECT_TYPE,
                    "op ANY/ALL (array) requires array on right side"
                )
                .at(at));
            }
            elem
        };
        let found = self.find_operator(op, Some(ltype), rtype, at)?;
        let mut declared = vec![found.left, found.right];
        let result = self
            .enforce_generic(&[ltype, rtype], &mut declared, found.result, false)
            .map_err(|e| e.at(at))?;
        if result != oids::BOOL {
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "op ANY/ALL (array) requires operator to yield boolean"
            )
            .at(at));
        }
        if self.catalog().proc(found.function)?.returns_set {
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "op ANY/ALL (array) requires operator not to return a set"
            )
            .at(at));
        }
        let generic = rtype != oids::UNKNOWN && is_polymorphic(found.right);
        let array = match declared[1].0 {
            // An operator on any type keeps the array as it is.
            _ if generic => atype,
            2276 | 2283 | 2776 | 5077 | 5079 => atype,
            _ => {
                let array = self.type_desc(declared[1])?.array;
                if !array.is_valid() {
                    return Err(err!(
                        UNDEFINED_OBJECT,
                        "could not find array type for data type {}",
                        self.type_shown(declared[1])
                    )
                    .at(at));
                }
                array
            }
        };
        let args = self.coerce_args(vec![left, right], &[declared[0], array])?;
        Ok(Expr::ScalarArrayOp(ScalarArrayOpExpr {
            op: found.oid,
            func: found.function,
            use_or,
            input_collation: Oid::INVALID,
            args,
            location: at,
        }))
    }

    /// The default operators to sort, group and compare by.
    pub fn sort_ops(&self, ty: Oid) -> Result<SortOps> {
        let catalog = self.catalog();
        let ty = base_type(catalog, ty)?;
        let elem = element_type(catalog, ty)?;
        let mut ops = SortOps::default();
        if elem.is_valid() && ty != oids::OIDVECTOR && ty != oids::INT2VECTOR {
            // An array sorts and compares as far as its elements do.
            let inner = self.sort_ops(elem)?;
            ops.eq = inner.eq.map(|_| Oid(1070));
            ops.lt = inner.lt.map(|_| Oid(1072));
            ops.gt = inner.gt.map(|_| Oid(1073));
            ops.hashable = inner.hashable;
            return Ok(ops);
        }
        if let Some(class) = catalog.default_opclass(ty, oids::BTREE_AM)? {
            let input = class.input_type;
            ops.lt = catalog.amop(class.family, input, input, 1)?;
            ops.eq = catalog.amop(class.family, input, input, 3)?;
            ops.gt = catalog.amop(class.family, input, input, 5)?;
        }
        let hash = catalog.default_opclass(ty, oids::HASH_AM)?;
        if let Some(class) = hash {
            let input = class.input_type;
            let eq = catalog.amop(class.family, input, input, 1)?;
            ops.hashable = ops.eq.is_none() || ops.eq == eq;
            ops.eq = ops.eq.or(eq);
        }
        if self.type_desc(ty)?.kind == b'c' {
            self.row_sort_ops(ty, &mut ops)?;
        }
        Ok(ops)
    }

    /// A row sorts and compares as far as all its columns do.
    fn row_sort_ops(&self, ty: Oid, ops: &mut SortOps) -> Result<()> {
        base::stack::check()?;
        let rel = self.catalog().relation(self.type_desc(ty)?.relation)?;
        for attr in rel.tuple.attrs.iter().filter(|a| !a.dropped) {
            let inner = self.sort_ops(attr.type_oid)?;
            ops.eq = ops.eq.filter(|_| inner.eq.is_some());
            ops.lt = ops.lt.filter(|_| inner.lt.is_some());
            ops.gt = ops.gt.filter(|_| inner.gt.is_some());
            ops.hashable &= inner.hashable;
        }
        Ok(())
    }

    pub fn need_lt(&self, ops: &SortOps, descending: bool, ty: Oid) -> Result<Oid> {
        let found = if descending { ops.gt } else { ops.lt };
        found.ok_or_else(|| {
            err!(
                UNDEFINED_FUNCTION,
                "could not identify an ordering operator for type {}",
                self.type_shown(ty)
            )
            .hint("Use an explicit ordering operator or modify the query.")
        })
    }

    pub fn need_eq(&self, ops: &SortOps, ty: Oid) -> Result<Oid> {
        ops.eq.ok_or_else(|| {
            base::Error::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("could not identify an equality operator for type {}", self.type_shown(ty)),
            )
        })
    }
}

/// An operator of the grammar's own.
pub(crate) fn simple_op(name: &'static str, pos: ast::Pos) -> ast::OpName {
    ast::OpName { schema: Vec::new(), name: name.into(), pos }
}
