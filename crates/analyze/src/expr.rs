//! Expressions.

use crate::coerce::{base_type, base_type_mod, element_type};
use crate::oper::simple_op;
use crate::state::{Analyzer, Kind, loc};
use base::{Error, Oid, Result, err};
use catalog::{CastContext, oids};
use ir::{
    ArrayExpr, BoolOp, BoolTestKind, CaseExpr, CaseWhen, CoercionForm, Const, Expr, Location,
    MinMaxOp, NullTestKind, OpKind, RowExpr, SqlValueOp,
};
use parser::ast::{self, ExprKind, Literal};
use types::Datum;

impl Analyzer<'_> {
    /// Analyses an expression that stands in a place of this kind.
    pub fn expr(&mut self, expr: &ast::Expr, kind: Kind) -> Result<Expr> {
        self.with_kind(kind, |a| a.transform(expr))
    }

    /// Analyses an expression within another one.
    pub fn transform(&mut self, expr: &ast::Expr) -> Result<Expr> {
        base::stack::check()?;
        let at = loc(expr.pos);
        match &expr.kind {
            ExprKind::Literal(literal) => literal_const(literal, at),
            ExprKind::Column { parts, star } => self.column_ref(parts, *star, at),
            ExprKind::Param(n) => self.param(*n, at),
            ExprKind::Cast { expr: arg, type_name } => self.cast(arg, type_name, at),
            ExprKind::Collate { expr: arg, collation } => self.collate_clause(arg, collation, at),
            ExprKind::Op { op, left, right } => self.operator(op, left.as_deref(), right, at),
            ExprKind::OpAny { op, left, right, all } => {
                let l = self.transform(left)?;
                let r = self.transform(right)?;
                self.make_scalar_array_op(op, !*all, l, r, at)
            }
            ExprKind::And(list) => self.bool_list(BoolOp::And, "AND", list, at),
            ExprKind::Or(list) => self.bool_list(BoolOp::Or, "OR", list, at),
            ExprKind::Not(arg) => {
                let arg = self.transform(arg)?;
                let arg = self.coerce_to_boolean(arg, "NOT")?;
                Ok(Expr::Bool { op: BoolOp::Not, args: vec![arg], location: at })
            }
            ExprKind::Sublink(link) => self.sublink(link, at),
            ExprKind::In { expr: arg, list, negated } => self.in_list(arg, list, *negated, at),
            ExprKind::Like { .. } => self.like(expr, at),
            ExprKind::Between { .. } => self.between(expr, at),
            ExprKind::IsNull { expr: arg, negated } => {
                let arg = self.transform(arg)?;
                let is_row = self.is_row_type(arg.ty())?;
                let kind = if *negated { NullTestKind::IsNotNull } else { NullTestKind::IsNull };
                Ok(Expr::NullTest { kind, arg: Box::new(arg), is_row, location: at })
            }
            ExprKind::IsBool { expr: arg, value, negated } => {
                self.boolean_test(arg, *value, *negated, at)
            }
            ExprKind::IsDistinct { left, right, negated } => {
                self.distinct(left, right, *negated, at)
            }
            ExprKind::Case { arg, whens, otherwise } => {
                let before = self.cur().srf_count;
                let made = self.case(arg.as_deref(), whens, otherwise.as_deref(), at)?;
                self.refuse_srf(before, "CASE")?;
                Ok(made)
            }
            ExprKind::Coalesce(args) => {
                let before = self.cur().srf_count;
                let (args, ty) = self.common_args(args, "COALESCE")?;
                self.refuse_srf(before, "COALESCE")?;
                Ok(Expr::Coalesce { ty, collation: Oid::INVALID, args, location: at })
            }
            ExprKind::MinMax { greatest, args } => self.min_max(*greatest, args, at),
            ExprKind::NullIf(a, b) => self.null_if(a, b, at),
            ExprKind::Array(elements) => self.array(elements, None, at),
            ExprKind::Row { fields, explicit } => self.row(fields, *explicit, at),
            ExprKind::Func(call) => self.func_call(call, at),
            ExprKind::SqlValue { kind, precision } => self.sql_value(*kind, *precision, at),
            ExprKind::Indirection { expr: arg, steps } => self.indirection(arg, steps, at),
            ExprKind::Grouping(args) => self.grouping_call(args, at),
            ExprKind::NamedArg { .. } => {
                Err(Error::internal("named argument outside of a call").at(at))
            }
            ExprKind::CurrentOf(cursor) => self.current_of(cursor, at),
            ExprKind::Default => {
                Err(err!(SYNTAX_ERROR, "DEFAULT is not allowed in this context").at(at))
            }
            ExprKind::MergeAction => self.merge_action_call(at),
            ExprKind::IsDocument { expr: arg, negated } => self.is_document(arg, *negated, at),
            ExprKind::Xml(xml) => self.xml_expr(xml, at),
            ExprKind::IsJson { expr: arg, kind, unique_keys, negated } => {
                self.is_json(arg, *kind, *unique_keys, *negated, at)
            }
            ExprKind::Json(json) => self.json_expr(json, at),
        }
    }

    /// A set cannot be made by an operand that may not be evaluated.
    fn refuse_srf(&self, before: u32, construct: &str) -> Result<()> {
        let st = self.cur();
        if st.srf_count == before {
            return Ok(());
        }
        Err(err!(FEATURE_NOT_SUPPORTED, "set-returning functions are not allowed in {construct}")
            .hint("You might be able to move the set-returning function into a LATERAL FROM item.")
            .at(st.last_srf))
    }

    fn is_row_type(&self, ty: Oid) -> Result<bool> {
        let base = base_type(self.catalog(), ty)?;
        Ok(base == oids::RECORD || self.type_desc(base)?.relation.is_valid())
    }

    // Names.

    /// `transformColumnRef`.
    fn column_ref(&mut self, parts: &[String], star: bool, at: Location) -> Result<Expr> {
        let kind = self.cur().kind;
        match kind {
            Kind::ColumnDefault => {
                let message = "cannot use column reference in DEFAULT expression";
                return Err(err!(FEATURE_NOT_SUPPORTED, "{message}").at(at));
            }
            Kind::PartitionBound => {
                let message = "cannot use column reference in partition bound expression";
                return Err(err!(FEATURE_NOT_SUPPORTED, "{message}").at(at));
            }
            Kind::FunctionDefault => {
                let message = "cannot use table references in parameter default value";
                return Err(err!(INVALID_COLUMN_REFERENCE, "{message}").at(at));
            }
            _ => {}
        }
        if let (Some(value), [name], false) = (&self.cur().domain_value, parts, star)
            && name == "value"
        {
            return Ok(value.clone());
        }
        let (schema, table, column) = match (parts, star) {
            ([name], false) => return self.lone_name(name, at),
            ([table], true) => (None, table, None),
            ([table, column], false) => (None, table, Some(column)),
            ([schema, table], true) => (Some(schema), table, None),
            ([schema, table, column], false) => (Some(schema), table, Some(column)),
            ([_, schema, table], true) => (Some(schema), table, None),
            ([database, schema, table, column], false) => {
                if **database != *self.catalog().context().database_name {
                    let shown = parts.join(".");
                    return Err(err!(
                        FEATURE_NOT_SUPPORTED,
                        "cross-database references are not implemented: {shown}"
                    )
                    .at(at));
                }
                (Some(schema), table, Some(column))
            }
            ([], _) => {
                return Err(err!(SYNTAX_ERROR, "improper use of \"*\"").at(at));
            }
            _ => {
                let shown = parts.join(".");
                return Err(err!(
                    SYNTAX_ERROR,
                    "improper qualified name (too many dotted names): {shown}"
                )
                .at(at));
            }
        };
        let schema = schema.map(String::as_str);
        let Some((item, up)) = self.find_table(schema, table, at)? else {
            if let Some(found) = self.param_field(parts, star, at)? {
                return Ok(found);
            }
            return Err(self.missing_table(schema, table, at));
        };
        let Some(column) = column else {
            return self.whole_row(&item, up, at);
        };
        if let Some(found) = self.item_column(&item, up, column, at)? {
            return Ok(found);
        }
        // It may be a function of the whole row.
        let row = self.whole_row(&item, up, at)?;
        if let Some(found) = self.func_of_row(column, row, at)? {
            return Ok(found);
        }
        Err(self.missing_column(Some(table), column, at))
    }

    fn lone_name(&mut self, name: &str, at: Location) -> Result<Expr> {
        if let Some(found) = self.find_column(name, at)? {
            return Ok(found);
        }
        // A table's name alone is its whole row.
        if let Some((item, up)) = self.find_table(None, name, at)? {
            return self.whole_row(&item, up, at);
        }
        if let Some(found) = self.named_param(&[name.to_string()], at)? {
            return Ok(found);
        }
        Err(self.missing_column(None, name, at))
    }

    // Casts and collations.

    fn cast(&mut self, arg: &ast::Expr, name: &ast::TypeName, at: Location) -> Result<Expr> {
        let (target, typmod) = self.type_of_name(name)?;
        // The target's type is pushed into an ARRAY constructor.
        let made = match &arg.kind {
            ExprKind::Array(elements) => {
                let base = base_type_mod(self.catalog(), target, typmod)?;
                let elem = element_type(self.catalog(), base.0)?;
                if elem.is_valid() {
                    self.array(elements, Some((base.0, elem, base.1)), loc(arg.pos))?
                } else {
                    self.transform(arg)?
                }
            }
            _ => self.transform(arg)?,
        };
        let source = made.ty();
        let form = CoercionForm::ExplicitCast;
        let place = if at.is_some() { at } else { loc(name.pos) };
        let result =
            self.coerce_to_target(made, target, typmod, CastContext::Explicit, form, place)?;
        result.ok_or_else(|| {
            err!(
                CANNOT_COERCE,
                "cannot cast type {} to {}",
                self.type_shown(source),
                self.type_shown(target)
            )
            .at(place)
        })
    }

    pub fn collation_named(&self, name: &ast::Name) -> Result<Oid> {
        let at = loc(name.pos);
        let (schema, last) = self.split_name(&name.parts, at)?;
        match self.catalog().collation_named(schema, last)? {
            Some(c) => Ok(c.oid),
            None => Err(err!(
                UNDEFINED_OBJECT,
                "collation \"{}\" for encoding \"UTF8\" does not exist",
                name.parts.join(".")
            )
            .at(at)),
        }
    }

    fn collate_clause(&mut self, arg: &ast::Expr, name: &ast::Name, at: Location) -> Result<Expr> {
        let arg = self.transform(arg)?;
        let ty = arg.ty();
        let collatable = self.collation_of_type(ty)?.is_valid();
        if !collatable && ty != oids::UNKNOWN {
            return Err(err!(
                DATATYPE_MISMATCH,
                "collations are not supported by type {}",
                self.type_shown(ty)
            )
            .at(at));
        }
        let placed = ast::Name { pos: at.unwrap_or(name.pos), ..name.clone() };
        let collation = self.collation_named(&placed)?;
        Ok(Expr::Collate { arg: Box::new(arg), collation, location: at })
    }

    // Operators.

    fn operator(
        &mut self,
        op: &ast::OpName,
        left: Option<&ast::Expr>,
        right: &ast::Expr,
        at: Location,
    ) -> Result<Expr> {
        let is_row = |e: &ast::Expr| matches!(e.kind, ExprKind::Row { .. });
        if let Some(l) = left {
            if is_row(l)
                && let ExprKind::Sublink(link) = &right.kind
                && link.kind == ast::SublinkKind::Scalar
            {
                return self.row_sublink(op, l, link, at);
            }
            if is_row(l) && is_row(right) {
                return self.row_compare(op, l, right, at);
            }
        }
        let l = match left {
            Some(l) => Some(self.transform(l)?),
            None => None,
        };
        let r = self.transform(right)?;
        self.make_op(op, l, r, at)
    }

    fn bool_list(
        &mut self,
        op: BoolOp,
        name: &str,
        list: &[ast::Expr],
        at: Location,
    ) -> Result<Expr> {
        let mut args = Vec::with_capacity(list.len());
        for e in list {
            let made = self.transform(e)?;
            args.push(self.coerce_to_boolean(made, name)?);
        }
        Ok(Expr::Bool { op, args, location: at })
    }

    fn in_list(
        &mut self,
        left: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        at: Location,
    ) -> Result<Expr> {
        let op_name = if negated { "<>" } else { "=" };
        let op = ast::OpName { pos: at.unwrap_or(ast::NO_POS), ..simple_op(op_name, ast::NO_POS) };
        let left_made = self.transform(left)?;
        let row_left = matches!(left.kind, ExprKind::Row { .. });
        let (mut constants, mut others) = (Vec::new(), Vec::new());
        for item in list {
            let made = self.transform(item)?;
            let row = row_left || matches!(item.kind, ExprKind::Row { .. });
            // What holds no column can go into one array.
            if row || contains_vars(&made) {
                others.push((made, item));
            } else {
                constants.push((made, item));
            }
        }
        let mut parts = Vec::new();
        if constants.len() > 1 {
            let mut all: Vec<&Expr> = vec![&left_made];
            all.extend(constants.iter().map(|c| &c.0));
            let scalar = self.common_type(&all, None)?.filter(|t| *t != oids::RECORD);
            let array_type = match scalar {
                Some(t) => self.type_desc(t)?.array,
                None => Oid::INVALID,
            };
            match scalar {
                Some(element_type) if array_type.is_valid() => {
                    let mut elements = Vec::with_capacity(constants.len());
                    for (e, _) in constants.drain(..) {
                        elements.push(self.to_common(e, element_type, "IN")?);
                    }
                    let array = Expr::Array(Box::new(ArrayExpr {
                        array_type,
                        collation: Oid::INVALID,
                        element_type,
                        elements,
                        multidims: false,
                        location: None,
                    }));
                    let made =
                        self.make_scalar_array_op(&op, !negated, left_made.clone(), array, at)?;
                    parts.push(made);
                }
                _ => {}
            }
        }
        // In the list's order, whatever could not be gathered.
        let mut rest: Vec<(Expr, &ast::Expr)> = constants;
        rest.extend(others);
        for (item, source) in rest {
            let made = if row_left && matches!(source.kind, ExprKind::Row { .. }) {
                self.row_compare(&op, left, source, at)?
            } else {
                self.make_op(&op, Some(left_made.clone()), item, at)?
            };
            parts.push(self.coerce_to_boolean(made, "IN")?);
        }
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        let op = if negated { BoolOp::And } else { BoolOp::Or };
        Ok(Expr::Bool { op, args: parts, location: at })
    }

    fn like(&mut self, expr: &ast::Expr, at: Location) -> Result<Expr> {
        let ExprKind::Like { kind, negated, expr: arg, pattern, escape } = &expr.kind else {
            return Err(Error::internal("not LIKE"));
        };
        let name = match (kind, negated) {
            (ast::LikeKind::Like, false) => "~~",
            (ast::LikeKind::Like, true) => "!~~",
            (ast::LikeKind::ILike, false) => "~~*",
            (ast::LikeKind::ILike, true) => "!~~*",
            (ast::LikeKind::SimilarTo, false) => "~",
            (ast::LikeKind::SimilarTo, true) => "!~",
        };
        let arg = self.transform(arg)?;
        let mut right = self.transform(pattern)?;
        let func = if *kind == ast::LikeKind::SimilarTo {
            Some("similar_to_escape")
        } else {
            escape.as_ref().map(|_| "like_escape")
        };
        if let Some(func) = func {
            let mut args = vec![right];
            if let Some(e) = escape {
                args.push(self.transform(e)?);
            }
            right = self.builtin_call(func, args, at)?;
        }
        let op = ast::OpName { pos: expr.pos, ..simple_op(name, expr.pos) };
        self.make_op(&op, Some(arg), right, at)
    }

    fn between(&mut self, expr: &ast::Expr, at: Location) -> Result<Expr> {
        let ExprKind::Between { negated, symmetric, expr: arg, low, high } = &expr.kind else {
            return Err(Error::internal("not BETWEEN"));
        };
        let compare = |op: &'static str, l: &ast::Expr, r: &ast::Expr| ast::Expr {
            kind: ExprKind::Op {
                op: simple_op(op, expr.pos),
                left: Some(Box::new(l.clone())),
                right: Box::new(r.clone()),
            },
            pos: expr.pos,
        };
        let both = |l: &ast::Expr, h: &ast::Expr| {
            let list = if *negated {
                vec![compare("<", arg, l), compare(">", arg, h)]
            } else {
                vec![compare(">=", arg, l), compare("<=", arg, h)]
            };
            let kind = if *negated { ExprKind::Or(list) } else { ExprKind::And(list) };
            ast::Expr { kind, pos: expr.pos }
        };
        let whole = if *symmetric {
            let list = vec![both(low, high), both(high, low)];
            let kind = if *negated { ExprKind::And(list) } else { ExprKind::Or(list) };
            ast::Expr { kind, pos: expr.pos }
        } else {
            both(low, high)
        };
        let _ = at;
        self.transform(&whole)
    }

    fn boolean_test(
        &mut self,
        arg: &ast::Expr,
        value: Option<bool>,
        negated: bool,
        at: Location,
    ) -> Result<Expr> {
        use BoolTestKind::*;
        let (kind, name) = match (value, negated) {
            (Some(true), false) => (IsTrue, "IS TRUE"),
            (Some(true), true) => (IsNotTrue, "IS NOT TRUE"),
            (Some(false), false) => (IsFalse, "IS FALSE"),
            (Some(false), true) => (IsNotFalse, "IS NOT FALSE"),
            (None, false) => (IsUnknown, "IS UNKNOWN"),
            (None, true) => (IsNotUnknown, "IS NOT UNKNOWN"),
        };
        let arg = self.transform(arg)?;
        let arg = self.coerce_to_boolean(arg, name)?;
        Ok(Expr::BooleanTest { kind, arg: Box::new(arg), location: at })
    }

    fn distinct(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        negated: bool,
        at: Location,
    ) -> Result<Expr> {
        let null = |e: &ast::Expr| matches!(e.kind, ExprKind::Literal(Literal::Null));
        if null(right) || null(left) {
            // x IS DISTINCT FROM NULL is x IS NOT NULL.
            let arg = self.transform(if null(right) { left } else { right })?;
            let is_row = false;
            let kind = if negated { NullTestKind::IsNull } else { NullTestKind::IsNotNull };
            return Ok(Expr::NullTest { kind, arg: Box::new(arg), is_row, location: at });
        }
        let is_row = |e: &ast::Expr| matches!(e.kind, ExprKind::Row { .. });
        let made = if is_row(left) && is_row(right) {
            self.row_distinct(left, right, at)?
        } else {
            let l = self.transform(left)?;
            let r = self.transform(right)?;
            self.make_distinct(l, r, at)?
        };
        if !negated {
            return Ok(made);
        }
        Ok(Expr::Bool { op: BoolOp::Not, args: vec![made], location: at })
    }

    pub fn make_distinct(&mut self, l: Expr, r: Expr, at: Location) -> Result<Expr> {
        let made = self.make_op(&simple_op("=", ast::NO_POS), Some(l), r, at)?;
        match made {
            Expr::Op(mut op) if op.ret_type == oids::BOOL && !op.ret_set => {
                op.kind = OpKind::Distinct;
                Ok(Expr::Op(op))
            }
            _ => Err(err!(
                DATATYPE_MISMATCH,
                "IS DISTINCT FROM requires = operator to yield boolean"
            )
            .at(at)),
        }
    }

    fn null_if(&mut self, a: &ast::Expr, b: &ast::Expr, at: Location) -> Result<Expr> {
        let l = self.transform(a)?;
        let r = self.transform(b)?;
        match self.make_op(&simple_op("=", ast::NO_POS), Some(l), r, at)? {
            Expr::Op(mut op) if op.ret_type == oids::BOOL => {
                op.kind = OpKind::NullIf;
                op.ret_type = op.args[0].ty();
                Ok(Expr::Op(op))
            }
            _ => Err(err!(DATATYPE_MISMATCH, "NULLIF requires = operator to yield boolean").at(at)),
        }
    }

    // CASE, COALESCE, ARRAY, ROW.

    fn case(
        &mut self,
        arg: Option<&ast::Expr>,
        whens: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
        at: Location,
    ) -> Result<Expr> {
        let mut made_arg = None;
        if let Some(arg) = arg {
            let mut made = self.transform(arg)?;
            if made.ty() == oids::UNKNOWN {
                made = self.to_common(made, oids::TEXT, "CASE")?;
            }
            // Its collation is needed by the comparisons below.
            crate::collate::assign(self, &mut made)?;
            made_arg = Some(made);
        }
        let mut conditions = Vec::with_capacity(whens.len());
        let mut results = Vec::with_capacity(whens.len() + 1);
        for w in whens {
            let mut condition = self.transform(&w.when)?;
            if let Some(arg) = &made_arg {
                let test = Expr::CaseTest {
                    ty: arg.ty(),
                    typmod: arg.typmod(),
                    collation: arg.collation(),
                };
                let op = simple_op("=", w.pos);
                condition = self.make_op(&op, Some(test), condition, loc(w.pos))?;
            }
            conditions.push(self.coerce_to_boolean(condition, "CASE/WHEN")?);
            results.push(self.transform(&w.then)?);
        }
        let default = match otherwise {
            Some(e) => self.transform(e)?,
            None => Expr::null_const(oids::UNKNOWN, -1, Oid::INVALID),
        };
        // The default counts first, as it does for PostgreSQL.
        let mut all: Vec<&Expr> = vec![&default];
        all.extend(results.iter());
        let ty = self.common_type(&all, Some("CASE"))?.unwrap_or(oids::TEXT);
        let default = Box::new(self.to_common(default, ty, "CASE/ELSE")?);
        let mut list = Vec::with_capacity(results.len());
        for (when, then) in conditions.into_iter().zip(results) {
            list.push(CaseWhen { when, then: self.to_common(then, ty, "CASE/WHEN")? });
        }
        let arg = made_arg.map(Box::new);
        let collation = Oid::INVALID;
        let case = CaseExpr { ty, collation, arg, whens: list, default, location: at };
        Ok(Expr::Case(Box::new(case)))
    }

    fn common_args(&mut self, args: &[ast::Expr], context: &str) -> Result<(Vec<Expr>, Oid)> {
        let mut made = Vec::with_capacity(args.len());
        for a in args {
            made.push(self.transform(a)?);
        }
        let refs: Vec<&Expr> = made.iter().collect();
        let ty = self.common_type(&refs, Some(context))?.unwrap_or(oids::TEXT);
        let mut out = Vec::with_capacity(made.len());
        for e in made {
            out.push(self.to_common(e, ty, context)?);
        }
        Ok((out, ty))
    }

    fn min_max(&mut self, greatest: bool, args: &[ast::Expr], at: Location) -> Result<Expr> {
        let (op, name) =
            if greatest { (MinMaxOp::Greatest, "GREATEST") } else { (MinMaxOp::Least, "LEAST") };
        let (args, ty) = self.common_args(args, name)?;
        let (collation, input_collation) = (Oid::INVALID, Oid::INVALID);
        Ok(Expr::MinMax { op, ty, collation, input_collation, args, location: at })
    }

    /// ARRAY[..]; `wanted` is the array type, element type and modifier of a cast around it.
    fn array(
        &mut self,
        elements: &[ast::Expr],
        wanted: Option<(Oid, Oid, i32)>,
        at: Location,
    ) -> Result<Expr> {
        base::stack::check()?;
        let mut made = Vec::with_capacity(elements.len());
        let mut multidims = false;
        for e in elements {
            made.push(match &e.kind {
                ExprKind::Array(inner) => {
                    multidims = true;
                    self.array(inner, wanted, loc(e.pos))?
                }
                _ => {
                    let item = self.transform(e)?;
                    let ty = item.ty();
                    // An element that is an array makes this one multidimensional; one of a domain
                    // over an array is an element.
                    multidims |= ty != oids::INT2VECTOR
                        && ty != oids::OIDVECTOR
                        && self.type_desc(ty)?.is_array();
                    item
                }
            });
        }
        let (array_type, elem_type, coerce_type);
        match wanted {
            Some((array, elem, _)) => {
                array_type = array;
                elem_type = elem;
                coerce_type = if multidims { array } else { elem };
            }
            None => {
                if made.is_empty() {
                    return Err(err!(
                        INDETERMINATE_DATATYPE,
                        "cannot determine type of empty array"
                    )
                    .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
                    .at(at));
                }
                let refs: Vec<&Expr> = made.iter().collect();
                coerce_type = self.common_type(&refs, Some("ARRAY"))?.unwrap_or(oids::TEXT);
                let undefined = |a: &Self, ty: Oid| {
                    err!(
                        UNDEFINED_OBJECT,
                        "could not find array type for data type {}",
                        a.type_shown(ty)
                    )
                    .at(at)
                };
                if multidims {
                    array_type = coerce_type;
                    elem_type = element_type(self.catalog(), array_type)?;
                    if !elem_type.is_valid() {
                        return Err(undefined(self, coerce_type));
                    }
                } else {
                    elem_type = coerce_type;
                    array_type = self.type_desc(elem_type)?.array;
                    if !array_type.is_valid() {
                        return Err(undefined(self, elem_type));
                    }
                }
            }
        }
        let mut list = Vec::with_capacity(made.len());
        for e in made {
            list.push(match wanted {
                Some((.., typmod)) => {
                    let (source, place) = (e.ty(), e.location());
                    let form = CoercionForm::ExplicitCast;
                    let cx = CastContext::Explicit;
                    let done = self.coerce_to_target(e, coerce_type, typmod, cx, form, None)?;
                    done.ok_or_else(|| {
                        err!(
                            CANNOT_COERCE,
                            "cannot cast type {} to {}",
                            self.type_shown(source),
                            self.type_shown(coerce_type)
                        )
                        .at(place)
                    })?
                }
                None => self.to_common(e, coerce_type, "ARRAY")?,
            });
        }
        Ok(Expr::Array(Box::new(ArrayExpr {
            array_type,
            collation: Oid::INVALID,
            element_type: elem_type,
            elements: list,
            multidims,
            location: at,
        })))
    }

    fn row(&mut self, fields: &[ast::Expr], explicit: bool, at: Location) -> Result<Expr> {
        let args = self.expr_list_expanding(fields)?;
        if args.len() > 1664 {
            return Err(
                err!(TOO_MANY_COLUMNS, "ROW expressions can have at most 1664 entries").at(at)
            );
        }
        let names = (1..=args.len()).map(|i| format!("f{i}")).collect();
        let form = if explicit { CoercionForm::ExplicitCall } else { CoercionForm::ImplicitCast };
        Ok(Expr::Row(Box::new(RowExpr { ty: oids::RECORD, args, form, names, location: at })))
    }

    /// `transformExpressionList`: `t.*` and `(row).*` become their columns.
    pub fn expr_list_expanding(&mut self, list: &[ast::Expr]) -> Result<Vec<Expr>> {
        let mut out = Vec::with_capacity(list.len());
        for e in list {
            match self.expand_star(e)? {
                Some(columns) => out.extend(columns.into_iter().map(|c| c.1)),
                None => out.push(self.transform(e)?),
            }
        }
        Ok(out)
    }

    fn sql_value(
        &mut self,
        kind: ast::SqlValueKind,
        precision: Option<i32>,
        at: Location,
    ) -> Result<Expr> {
        use ast::SqlValueKind as K;
        let (op, ty) = match kind {
            K::CurrentDate => (SqlValueOp::CurrentDate, oids::DATE),
            K::CurrentTime => (SqlValueOp::CurrentTime, oids::TIMETZ),
            K::CurrentTimestamp => (SqlValueOp::CurrentTimestamp, oids::TIMESTAMPTZ),
            K::LocalTime => (SqlValueOp::LocalTime, oids::TIME),
            K::LocalTimestamp => (SqlValueOp::LocalTimestamp, oids::TIMESTAMP),
            K::CurrentRole => (SqlValueOp::CurrentRole, oids::NAME),
            K::CurrentUser => (SqlValueOp::CurrentUser, oids::NAME),
            K::User => (SqlValueOp::User, oids::NAME),
            K::SessionUser => (SqlValueOp::SessionUser, oids::NAME),
            K::CurrentCatalog => (SqlValueOp::CurrentCatalog, oids::NAME),
            K::CurrentSchema => (SqlValueOp::CurrentSchema, oids::NAME),
            K::SystemUser => {
                let call = ast::FuncCall::new(
                    ast::Name::system("system_user", at.unwrap_or(ast::NO_POS)),
                    Vec::new(),
                );
                let mut made = self.func_call(&call, at)?;
                if let Expr::Func(f) = &mut made {
                    f.form = CoercionForm::SqlSyntax;
                }
                return Ok(made);
            }
        };
        let (typmod, warning) = match precision {
            Some(p) => types::io::time_precision(ty, p)?,
            None => (-1, None),
        };
        if let Some(warning) = warning {
            self.env.told.warn(warning);
        }
        Ok(Expr::SqlValue { op, ty, typmod, location: at })
    }

    // Subscripts and fields.

    fn indirection(
        &mut self,
        arg: &ast::Expr,
        steps: &[ast::Indirection],
        at: Location,
    ) -> Result<Expr> {
        let mut result = self.transform(arg)?;
        let mut subscripts: Vec<&ast::Indirection> = Vec::new();
        for step in steps {
            match step {
                ast::Indirection::Index(_) | ast::Indirection::Slice(..) => subscripts.push(step),
                ast::Indirection::Star(pos) => {
                    return Err(err!(
                        FEATURE_NOT_SUPPORTED,
                        "row expansion via \"*\" is not supported here"
                    )
                    .at(loc(*pos)));
                }
                ast::Indirection::Field(name, _) => {
                    if !subscripts.is_empty() {
                        result = self.subscript(result, &std::mem::take(&mut subscripts), None)?;
                    }
                    result = self.field(result, name, at)?;
                }
            }
        }
        if !subscripts.is_empty() {
            result = self.subscript(result, &subscripts, None)?;
        }
        Ok(result)
    }

    /// `.name` of a value: a field of a row, or a function of it.
    pub fn field(&mut self, row: Expr, name: &str, at: Location) -> Result<Expr> {
        let place = row.location().or(at);
        if let Some(found) = self.func_of_row(name, row.clone(), place)? {
            return Ok(found);
        }
        let ty = row.ty();
        if let Expr::Var(v) = &row
            && v.attno == 0
        {
            let table = self.level(v.levels_up).rtable[v.varno as usize - 1].eref.name.clone();
            return Err(self.missing_column(Some(&table), name, place));
        }
        if ty == oids::RECORD {
            return Err(err!(
                UNDEFINED_COLUMN,
                "could not identify column \"{name}\" in record data type"
            )
            .at(place));
        }
        let composite = self.type_desc(base_type(self.catalog(), ty)?)?.relation.is_valid();
        if composite {
            return Err(err!(
                UNDEFINED_COLUMN,
                "column \"{name}\" not found in data type {}",
                self.type_shown(ty)
            )
            .at(place));
        }
        Err(err!(
            WRONG_OBJECT_TYPE,
            "column notation .{name} applied to type {}, which is not a composite type",
            self.type_shown(ty)
        )
        .at(place))
    }

    fn current_of(&mut self, cursor: &ast::CursorRef, at: Location) -> Result<Expr> {
        let Some(target) = &self.cur().target else {
            return Err(err!(SYNTAX_ERROR, "CURRENT OF cannot be used here").at(at));
        };
        let varno = target.rtindex;
        match cursor {
            ast::CursorRef::Name(name) => Ok(Expr::CurrentOf { varno, cursor: name.clone() }),
            ast::CursorRef::Param(_) => Err(Error::unsupported("CURRENT OF a parameter").at(at)),
        }
    }

    fn merge_action_call(&mut self, at: Location) -> Result<Expr> {
        if !self.states.iter().any(|s| s.kind == Kind::MergeReturning) {
            return Err(err!(
                SYNTAX_ERROR,
                "MERGE_ACTION() can only be used in the RETURNING list of a MERGE command"
            )
            .at(at));
        }
        Ok(Expr::MergeAction { location: at })
    }
}

/// Columns of the current level or outer ones.
fn contains_vars(expr: &Expr) -> bool {
    ir::walk::any(expr, &mut |e| matches!(e, Expr::Var(_) | Expr::SubLink(_)))
        && ir::walk::any_levels(
            expr,
            0,
            &mut |e, level| matches!(e, Expr::Var(v) if v.levels_up >= level),
        )
}

/// `make_const`.
pub(crate) fn literal_const(literal: &Literal, at: Location) -> Result<Expr> {
    let (ty, value) = match literal {
        Literal::Integer(n) => (oids::INT4, Datum::I32(*n)),
        Literal::Float(text) => number(text, at)?,
        Literal::String(text) => (oids::UNKNOWN, Datum::text(text)),
        Literal::BitString(text) => return bit_const(text, at),
        Literal::Boolean(b) => (oids::BOOL, Datum::Bool(*b)),
        Literal::Null => (oids::UNKNOWN, Datum::Null),
    };
    let collation = Oid::INVALID;
    Ok(Expr::Const(Const { ty, typmod: -1, collation, value, location: at }))
}

/// A number that is not a small integer: int4 or int8 if it fits, else numeric.
fn number(text: &str, at: Location) -> Result<(Oid, Datum)> {
    if let Ok(n) = types::io::parse_i64(text) {
        return Ok(match i32::try_from(n) {
            Ok(n) => (oids::INT4, Datum::I32(n)),
            Err(_) => (oids::INT8, Datum::I64(n)),
        });
    }
    let value = types::numeric::parse(text).and_then(|n| n.encode()).map_err(|e| e.at(at))?;
    Ok((oids::NUMERIC, Datum::Bytes(value)))
}

fn bit_const(text: &str, at: Location) -> Result<Expr> {
    let bits = types::bits::parse_bits(text, -1, false).map_err(|e| e.at(at))?;
    Ok(Expr::Const(ir::Const {
        ty: oids::BIT,
        typmod: -1,
        collation: base::Oid::INVALID,
        value: Datum::bytes(bits),
        location: at,
    }))
}
