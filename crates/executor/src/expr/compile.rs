//! From [`ir::Expr`] to [`Prog`].

use super::coerce::{ArrayCoerceProg, DomainProg, ViaIo};
use super::compare::{EqKind, Equality, HashKind, Ordering_};
use super::composite::{self, Element};
use super::func::{Call, Callee};
use super::qual::{CmpClass, CmpOp, Qual};
use super::{AnyAllProg, CaseProg, Kind, MinMaxProg, Prog, ValueSet};
use crate::subplan::SubPlanProg;
use base::{Error, Oid, Result, err};
use catalog::CatalogView;
use functions::CallInfo;
use ir::{BoolOp, Expr, FuncExpr, OpExpr, OpKind, ParamKind, Var};
use types::{Datum, PhysType, oid};

/// Where the columns of one range-table entry (or child) lie in a program's input.
#[derive(Clone, Debug)]
pub(crate) struct VarSpace {
    pub varno: u32,
    pub returning: ir::ReturningKind,
    pub columns: SpaceColumns,
    /// Types of the columns that a whole row has, where no composite type says them.
    pub types: Option<Vec<(String, Oid)>>,
}

#[derive(Clone, Debug)]
pub(crate) enum SpaceColumns {
    /// Attribute n is column `first + n - 1`.
    Dense { first: usize, count: usize },
    /// Attribute number and column.
    Map(Vec<(i16, usize)>),
}

/// Where `Var`s lie in a program's input.
#[derive(Clone, Debug, Default)]
pub(crate) struct VarMap {
    pub spaces: Vec<VarSpace>,
}

impl VarMap {
    /// The input is the outer child's columns.
    pub fn outer(count: usize) -> VarMap {
        VarMap::default().and(ir::OUTER_VAR, 0, count)
    }

    /// The input is the outer child's columns, then the inner one's.
    pub fn join(outer: usize, inner: usize) -> VarMap {
        VarMap::outer(outer).and(ir::INNER_VAR, outer, inner)
    }

    /// With an entry that is the output of a plan, of which junk is no part of a whole row.
    pub fn output_of(varno: u32, target: &[ir::TargetEntry], rte: &ir::Rte) -> VarMap {
        let types = target.iter().filter(|t| !t.junk).map(|t| t.expr.ty()).collect();
        let types = named(types, rte);
        VarMap::default().and(varno, 0, target.len()).with_types(types)
    }

    /// The types of the entry added last.
    pub fn with_types(mut self, types: Vec<(String, Oid)>) -> VarMap {
        if let Some(last) = self.spaces.last_mut() {
            last.types = Some(types);
        }
        self
    }

    /// Types of a whole row of an entry.
    fn row_types(&self, varno: u32) -> Option<&[(String, Oid)]> {
        self.spaces.iter().find(|s| s.varno == varno)?.types.as_deref()
    }

    /// With a further entry whose columns lie one after another.
    pub fn and(mut self, varno: u32, first: usize, count: usize) -> VarMap {
        let columns = SpaceColumns::Dense { first, count };
        let returning = ir::ReturningKind::Default;
        self.spaces.push(VarSpace { varno, returning, columns, types: None });
        self
    }

    /// The column of a variable.
    pub fn find(&self, varno: u32, attno: i16, returning: ir::ReturningKind) -> Option<usize> {
        let mut spaces = self.spaces.iter().filter(|s| s.varno == varno);
        let space = spaces.clone().find(|s| s.returning == returning).or_else(|| spaces.next())?;
        match &space.columns {
            SpaceColumns::Dense { first, count } => {
                (attno >= 1 && attno as usize <= *count).then(|| first + attno as usize - 1)
            }
            SpaceColumns::Map(map) => map.iter().find(|(a, _)| *a == attno).map(|(_, c)| *c),
        }
    }

    /// The columns of all user attributes of an entry, for whole-row variables.
    fn whole_row(&self, varno: u32, returning: ir::ReturningKind) -> Option<Vec<(i16, usize)>> {
        let mut spaces = self.spaces.iter().filter(|s| s.varno == varno);
        let space = spaces.clone().find(|s| s.returning == returning).or_else(|| spaces.next())?;
        Some(match &space.columns {
            SpaceColumns::Dense { first, count } => {
                (0..*count).map(|i| (i as i16 + 1, first + i)).collect()
            }
            SpaceColumns::Map(map) => {
                let mut all: Vec<_> = map.iter().copied().filter(|(a, _)| *a > 0).collect();
                all.sort_unstable();
                all
            }
        })
    }
}

/// Types of the columns of an entry with their names there.
pub(crate) fn named(types: Vec<Oid>, rte: &ir::Rte) -> Vec<(String, Oid)> {
    let names = rte.eref.columns.iter().cloned().chain(std::iter::repeat(String::new()));
    names.zip(types).collect()
}

/// Compiles the expressions of one statement.
pub(crate) struct ExprCompiler<'a> {
    pub catalog: &'a CatalogView,
    /// Call sites that keep something between calls, so far; site 0 is shared by the others.
    pub call_states: u32,
    /// Where aggregates and window functions lie in the input: what each is and its column.
    pub slots: Vec<(Expr, usize)>,
    /// A volatile function is called somewhere.
    pub calls_volatile: bool,
}

impl<'a> ExprCompiler<'a> {
    pub fn new(catalog: &'a CatalogView) -> ExprCompiler<'a> {
        ExprCompiler { catalog, call_states: 1, slots: Vec::new(), calls_volatile: false }
    }

    /// How values of a type are held.
    pub fn phys(&self, ty: Oid) -> Result<PhysType> {
        Ok(match ty {
            oid::INT4 => PhysType::I32,
            oid::INT8 => PhysType::I64,
            oid::TEXT | oid::BPCHAR | oid::VARCHAR | oid::NUMERIC | oid::RECORD => PhysType::Bytes,
            oid::BOOL => PhysType::Bool,
            _ => {
                let Some(t) = self.catalog.find_type(ty)? else { return Ok(PhysType::Bytes) };
                if t.kind == b'd' {
                    return self.phys(t.base_type);
                }
                let like = catalog::held_like(self.catalog, &t);
                types::phys_type(if like.is_valid() { like } else { ty }, t.len, t.by_val)
            }
        })
    }

    /// A function as one place calls it.
    pub fn callee(
        &mut self,
        func: Oid,
        collation: Oid,
        arg_types: Vec<Oid>,
        ret_type: Oid,
    ) -> Result<Callee> {
        let mut entry = functions::lookup(func);
        // What tells a collation's name is asked for the one that was written.
        let collation = match entry {
            Some(e) if e.oid.0 == PG_COLLATION_FOR => collation,
            _ => self.catalog.concrete_collation(collation),
        };
        if !super::compare::collation_is_c(self.catalog, collation)? || is_cased(collation) {
            entry = functions::lookup_collated(func).or(entry);
        }
        let strict = match entry {
            Some(e) => e.strict,
            None => self.catalog.proc(func)?.strict,
        };
        // Kernels with a batch loop of their own are pure arithmetic and keep nothing.
        let state = match entry {
            Some(e) if e.batch.is_some() => 0,
            _ => {
                self.call_states += 1;
                self.call_states - 1
            }
        };
        let info = CallInfo {
            fn_oid: func,
            collation,
            arg_types,
            ret_type,
            ret_typmod: -1,
            columns: None,
            variadic: false,
        };
        let phys = self.phys(ret_type)?;
        Ok(Callee { entry, strict, info, phys, state })
    }

    fn call(
        &mut self,
        func: Oid,
        collation: Oid,
        ret: Oid,
        args: &[Expr],
        map: &VarMap,
    ) -> Result<Prog> {
        let types = args.iter().map(Expr::ty).collect();
        let callee = self.callee(func, collation, types, ret)?;
        let args = self.list(args, map)?;
        let (volatile, leakproof, comparison) = match functions::builtin::proc(func) {
            Some(row) => (row.provolatile == b'v', row.proleakproof, comparison(row.prosrc)),
            None => {
                let p = self.catalog.proc(func)?;
                (p.volatility == b'v', p.leakproof, None)
            }
        };
        self.calls_volatile |= volatile;
        let volatile = volatile || args.iter().any(|a| a.volatile);
        let fallible = !leakproof || args.iter().any(|a| a.fallible);
        let comparison = comparison.filter(|_| args.len() == 2);
        let phys = self.phys(ret)?;
        let kind = Kind::Call(Box::new(Call { callee, args, comparison }));
        Ok(Prog { kind, phys, ty: ret, volatile, fallible })
    }

    /// Programs for a list of expressions.
    pub fn list(&mut self, exprs: &[Expr], map: &VarMap) -> Result<Vec<Prog>> {
        exprs.iter().map(|e| self.expr(e, map)).collect()
    }

    /// Programs for a target list.
    pub fn targets(&mut self, target: &[ir::TargetEntry], map: &VarMap) -> Result<Vec<Prog>> {
        target.iter().map(|t| self.expr(&t.expr, map)).collect()
    }

    /// A list of conditions.
    pub fn qual(&mut self, exprs: &[Expr], map: &VarMap) -> Result<Qual> {
        Ok(Qual::new(self.list(exprs, map)?))
    }

    /// The program for an expression.
    pub fn expr(&mut self, e: &Expr, map: &VarMap) -> Result<Prog> {
        if !self.slots.is_empty()
            && matches!(e, Expr::Agg(_) | Expr::Window(_) | Expr::Grouping(_))
            && let Some((_, column)) = self.slots.iter().find(|(s, _)| s == e)
        {
            return Ok(Prog::column(*column, e.ty(), self.phys(e.ty())?));
        }
        match e {
            Expr::Const(c) => Ok(Prog::constant(c.value.clone(), c.ty, self.phys(c.ty)?)),
            Expr::Var(v) => self.var(v, map),
            Expr::Param(p) => {
                let kind = match p.kind {
                    ParamKind::Extern => Kind::ExternParam(p.id),
                    ParamKind::Exec => Kind::ExecParam(p.id),
                };
                self.leaf(kind, p.ty)
            }
            Expr::Func(f) => self.func(f, map),
            Expr::Op(o) => self.op(o, map),
            Expr::ScalarArrayOp(s) => self.any_all(s, map),
            Expr::Bool { op, args, .. } => self.boolean(*op, args, map),
            Expr::Relabel { arg, ty, .. } => {
                let mut p = self.expr(arg, map)?;
                let phys = self.phys(*ty)?;
                if phys != p.phys {
                    let flags = (p.volatile, p.fallible);
                    return self.node(Kind::Reinterpret(Box::new(p)), *ty, flags);
                }
                p.ty = *ty;
                Ok(p)
            }
            Expr::Collate { arg, .. } => self.expr(arg, map),
            Expr::Case(c) => self.case(c, map),
            Expr::CaseTest { ty, .. } => self.leaf(Kind::CaseTest, *ty),
            Expr::Coalesce { args, ty, .. } => {
                let args = self.list(args, map)?;
                let flags = flags(&args);
                self.node(Kind::Coalesce(args), *ty, flags)
            }
            Expr::NullTest { kind, arg, is_row, .. } => {
                let arg = Box::new(self.expr(arg, map)?);
                let flags = (arg.volatile, arg.fallible);
                let is_null = *kind == ir::NullTestKind::IsNull;
                let kind = match is_row {
                    true => Kind::RowNullTest { is_null, arg },
                    false => Kind::NullTest { is_null, arg },
                };
                self.node(kind, oid::BOOL, flags)
            }
            Expr::BooleanTest { kind, arg, .. } => {
                let arg = Box::new(self.expr(arg, map)?);
                let flags = (arg.volatile, arg.fallible);
                self.node(Kind::BoolTest { kind: *kind, arg }, oid::BOOL, flags)
            }
            _ => self.rare(e, map),
        }
    }

    /// Kinds that are rarer.
    fn rare(&mut self, e: &Expr, map: &VarMap) -> Result<Prog> {
        match e {
            Expr::MinMax { op, ty, input_collation, args, .. } => {
                let order = self.type_order(*ty, *input_collation)?;
                let args = self.list(args, map)?;
                let greatest = *op == ir::MinMaxOp::Greatest;
                let (volatile, _) = flags(&args);
                let kind = Kind::MinMax(Box::new(MinMaxProg { greatest, order, args }));
                self.node(kind, *ty, (volatile, true))
            }
            Expr::SqlValue { op, ty, typmod, .. } => self.leaf(Kind::SqlValue(*op, *typmod), *ty),
            Expr::NextValue { sequence, ty } => {
                self.node(Kind::NextValue(*sequence), *ty, (true, true))
            }
            Expr::MergeAction { .. } => self.node(Kind::MergeAction, oid::TEXT, (true, false)),
            Expr::SubPlan(s) => {
                let prog = SubPlanProg::compile(self, s, map)?;
                self.node(Kind::SubPlan(Box::new(prog)), s.result_type(), (true, true))
            }
            Expr::CoerceViaIo { arg, ty, .. } => {
                let arg = self.expr(arg, map)?;
                let volatile = arg.volatile;
                let typmod = -1;
                let kind = Kind::ViaIo(Box::new(ViaIo { arg, to: *ty, typmod }));
                self.node(kind, *ty, (volatile, true))
            }
            Expr::ArrayCoerce { arg, element, ty, .. } => {
                let from = Element::of_array(self, arg.ty())?;
                let arg = self.expr(arg, map)?;
                let element = self.expr(element, map)?;
                let to = Element::of_array(self, *ty)?;
                let volatile = arg.volatile || element.volatile;
                let prog = ArrayCoerceProg { arg, element, from, to };
                self.node(Kind::ArrayCoerce(Box::new(prog)), *ty, (volatile, true))
            }
            Expr::CoerceToDomain { arg, ty, typmod, .. } => {
                let arg = self.expr(arg, map)?;
                let volatile = arg.volatile;
                let prog = DomainProg::compile(self, arg, *ty, *typmod)?;
                self.node(Kind::Domain(Box::new(prog)), *ty, (volatile, true))
            }
            Expr::DomainValue { ty, .. } => self.leaf(Kind::DomainValue, *ty),
            Expr::Json(j) => {
                let prog = super::json::JsonProg::compile(self, j, map)?;
                let volatile = prog.is_volatile();
                self.node(Kind::Json(Box::new(prog)), j.ty, (volatile, true))
            }
            Expr::Xml(x) => {
                let prog = super::xml::XmlProg::compile(self, x, map)?;
                let volatile = prog.is_volatile();
                self.node(Kind::Xml(Box::new(prog)), x.ty, (volatile, true))
            }
            Expr::Array(_)
            | Expr::Row(_)
            | Expr::RowCompare { .. }
            | Expr::FieldSelect { .. }
            | Expr::FieldStore { .. }
            | Expr::Subscript(_)
            | Expr::ConvertRowtype { .. } => composite::compile(self, e, map),
            Expr::CurrentOf { .. } => Err(Error::unsupported("WHERE CURRENT OF")),
            Expr::SetToDefault { .. } | Expr::NamedArg { .. } | Expr::SubLink(_) => {
                Err(err!(INTERNAL_ERROR, "unplanned expression in a plan"))
            }
            _ => Err(err!(INTERNAL_ERROR, "aggregate or window function in a plain expression")),
        }
    }

    fn leaf(&self, kind: Kind, ty: Oid) -> Result<Prog> {
        self.node(kind, ty, (false, false))
    }

    /// A program of this kind and type, with its flags volatile and fallible.
    pub fn node(&self, kind: Kind, ty: Oid, flags: (bool, bool)) -> Result<Prog> {
        Ok(Prog { kind, phys: self.phys(ty)?, ty, volatile: flags.0, fallible: flags.1 })
    }

    fn var(&mut self, v: &Var, map: &VarMap) -> Result<Prog> {
        if v.attno == 0
            && let Some(columns) = map.whole_row(v.varno, v.returning)
            && map.find(v.varno, 0, v.returning).is_none()
        {
            return composite::whole_row(self, v.ty, &columns, map.row_types(v.varno));
        }
        match map.find(v.varno, v.attno, v.returning) {
            Some(column) => Ok(Prog::column(column, v.ty, self.phys(v.ty)?)),
            None => Err(err!(
                INTERNAL_ERROR,
                "variable {}.{} is not in the input of its node",
                v.varno,
                v.attno
            )),
        }
    }

    fn func(&mut self, f: &FuncExpr, map: &VarMap) -> Result<Prog> {
        if f.ret_set {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "set-valued function called in context that cannot accept a set"
            )
            .at(f.location));
        }
        let mut prog = self.call(f.func, f.input_collation, f.ret_type, &f.args, map)?;
        if let Kind::Call(c) = &mut prog.kind {
            c.callee.info.variadic = f.variadic;
        }
        Ok(prog)
    }

    fn op(&mut self, o: &OpExpr, map: &VarMap) -> Result<Prog> {
        let func = if o.func.is_valid() { o.func } else { self.catalog.operator(o.op)?.function };
        // NULLIF has the type of its argument, but what it calls is an equality.
        let ret = if o.kind == OpKind::NullIf { oid::BOOL } else { o.ret_type };
        let mut prog = self.call(func, o.input_collation, ret, &o.args, map)?;
        let Kind::Call(call) = prog.kind else {
            return Err(Error::internal("an operator did not become a call"));
        };
        prog.kind = match o.kind {
            OpKind::Plain => Kind::Call(call),
            OpKind::Distinct => Kind::Distinct(call),
            OpKind::NullIf => {
                prog.phys = call.args[0].phys;
                prog.ty = call.args[0].ty;
                Kind::NullIf(call)
            }
        };
        Ok(prog)
    }

    fn boolean(&mut self, op: BoolOp, args: &[Expr], map: &VarMap) -> Result<Prog> {
        let mut args = self.list(args, map)?;
        let flags = flags(&args);
        let kind = match op {
            BoolOp::And => Kind::And(args),
            BoolOp::Or => Kind::Or(args),
            BoolOp::Not => match args.pop() {
                Some(arg) => Kind::Not(Box::new(arg)),
                None => return Err(Error::internal("NOT of nothing")),
            },
        };
        self.node(kind, oid::BOOL, flags)
    }

    fn case(&mut self, c: &ir::CaseExpr, map: &VarMap) -> Result<Prog> {
        let arg = c.arg.as_ref().map(|a| self.expr(a, map)).transpose()?;
        let mut whens = Vec::with_capacity(c.whens.len());
        for w in &c.whens {
            whens.push((self.expr(&w.when, map)?, self.expr(&w.then, map)?));
        }
        let default = self.expr(&c.default, map)?;
        let all = || whens.iter().flat_map(|(a, b)| [a, b]).chain(&arg).chain([&default]);
        let flags = (all().any(|p| p.volatile), all().any(|p| p.fallible));
        self.node(Kind::Case(Box::new(CaseProg { arg, whens, default })), c.ty, flags)
    }

    fn any_all(&mut self, s: &ir::ScalarArrayOpExpr, map: &VarMap) -> Result<Prog> {
        let func = if s.func.is_valid() { s.func } else { self.catalog.operator(s.op)?.function };
        let prog = self.call(func, s.input_collation, oid::BOOL, &s.args, map)?;
        let (volatile, fallible) = (prog.volatile, prog.fallible);
        let Kind::Call(mut call) = prog.kind else {
            return Err(Error::internal("an operator did not become a call"));
        };
        let element = Element::of_array(self, s.args[1].ty())?;
        call.callee.info.arg_types = vec![s.args[0].ty(), element.ty];
        let mut set = None;
        if let (Kind::Const(array), true) = (&call.args[1].kind, s.use_or)
            && !array.is_null()
        {
            let equality = Equality::of_operator(self, s.op, s.input_collation);
            set = match equality {
                Ok(eq) => value_set(&eq, element.elements(array)?),
                Err(_) => None,
            };
        }
        let kind =
            Kind::AnyAll(Box::new(AnyAllProg { call: *call, use_or: s.use_or, set, element }));
        self.node(kind, oid::BOOL, (volatile, fallible))
    }

    /// The default order of a type.
    pub fn type_order(&mut self, ty: Oid, collation: Oid) -> Result<Ordering_> {
        let class = self.catalog.default_opclass(ty, Oid(403))?.ok_or_else(|| {
            err!(UNDEFINED_FUNCTION, "could not identify a comparison function for type {ty}")
        })?;
        Ordering_::of_family(self, class.family, [class.input_type, class.input_type], collation)
    }
}

/// `pg_collation_for(any)`.
const PG_COLLATION_FOR: u32 = 3162;

/// Collations that order by bytes but have cases beyond ASCII's.
fn is_cased(collation: Oid) -> bool {
    !matches!(collation.0, 0 | 950 | 951)
}

/// Flags of a node over these operands.
pub(crate) fn flags(args: &[Prog]) -> (bool, bool) {
    (args.iter().any(|a| a.volatile), args.iter().any(|a| a.fallible))
}

/// The elements as a set, if the equality is one that a set can decide.
fn value_set(eq: &Equality, elements: Vec<Datum>) -> Option<ValueSet> {
    let has_null = elements.iter().any(Datum::is_null);
    let values = elements.into_iter().filter(|d| !d.is_null());
    match (&eq.kind, &eq.hash_left) {
        (EqKind::Int, HashKind::Int) => {
            let ints = values.map(|d| d.to_i64()).collect();
            Some(ValueSet { ints: Some(ints), values: Vec::new(), has_null })
        }
        (EqKind::Bytes, HashKind::Bytes) => {
            Some(ValueSet { ints: None, values: values.collect(), has_null })
        }
        _ => None,
    }
}

/// What a built-in comparison of fixed-width values is, by its symbol.
fn comparison(source: &str) -> Option<(CmpClass, CmpOp)> {
    let known = |name: &str| match name {
        "int2" | "int4" | "int8" | "int24" | "int28" | "int42" | "int48" | "int82" | "int84"
        | "oid" => Some(CmpClass::Int),
        "date_" | "timestamp_" | "time_" | "cash_" => Some(CmpClass::Int),
        "float8" => Some(CmpClass::Float),
        _ => None,
    };
    let (name, op) = source.split_at_checked(source.len().checked_sub(2)?)?;
    let op = match op {
        "eq" => CmpOp::Eq,
        "ne" => CmpOp::Ne,
        "lt" => CmpOp::Lt,
        "le" => CmpOp::Le,
        "gt" => CmpOp::Gt,
        "ge" => CmpOp::Ge,
        _ => return None,
    };
    known(name).map(|class| (class, op))
}
