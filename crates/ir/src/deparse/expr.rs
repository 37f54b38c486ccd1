//! Expressions.

use super::constant::Label;
use super::{Printer, VAR_STEP};
use crate::expr::*;
use base::Oid;

impl<'a> Printer<'a> {
    /// Prints an expression. Casts at its top that the parser put in are left out unless
    /// `implicit`.
    pub(super) fn expr(&mut self, expr: &'a Expr, implicit: bool) {
        match expr {
            Expr::Const(c) => self.constant(c, Label::IfNeeded),
            Expr::Var(v) => {
                self.var(v, false);
            }
            Expr::Param(p) if p.kind == ParamKind::Exec => self.exec_param(p),
            Expr::Param(p) => self.parameter(p.id),
            Expr::Func(f) => self.func(f, expr, implicit),
            Expr::Op(o) => self.op(o, expr),
            Expr::ScalarArrayOp(s) => self.scalar_array(s, expr),
            Expr::Bool { op, args, .. } => self.boolean(*op, args, expr),
            Expr::Agg(a) => self.aggregate(a),
            Expr::Grouping(g) => {
                self.put("GROUPING(");
                self.list(&g.args, |p, e| p.expr(e, true));
                self.put(")");
            }
            Expr::Window(w) => self.window_func(w),
            Expr::Subscript(s) => self.subscript(s, expr, implicit),
            Expr::SubLink(s) => self.sublink(s),
            Expr::SubPlan(s) => self.subplan(s),
            Expr::FieldSelect { arg, field, .. } => self.field(arg, *field),
            Expr::FieldStore { values, .. } => {
                let one = values.len() == 1;
                self.put(if one { "" } else { "ROW(" });
                self.list(values, |p, e| p.expr(e, false));
                self.put(if one { "" } else { ")" });
            }
            Expr::Relabel { arg, ty, typmod, form, .. }
            | Expr::ArrayCoerce { arg, ty, typmod, form, .. }
            | Expr::CoerceToDomain { arg, ty, typmod, form, .. } => {
                self.cast(arg, *ty, *typmod, *form, expr, implicit);
            }
            Expr::CoerceViaIo { arg, ty, form, .. }
            | Expr::ConvertRowtype { arg, ty, form, .. } => {
                self.cast(arg, *ty, -1, *form, expr, implicit);
            }
            Expr::Collate { arg, collation, .. } => {
                self.open();
                self.operand(arg, implicit, expr);
                self.collate(*collation);
                self.close();
            }
            Expr::Case(c) => self.case(c),
            Expr::CaseTest { .. } => self.put("CASE_TEST_EXPR"),
            Expr::Array(a) => {
                self.put("ARRAY[");
                self.list(&a.elements, |p, e| p.expr(e, true));
                self.put("]");
                if a.elements.is_empty() {
                    let ty = self.names.type_name(a.array_type, -1);
                    self.put(&format!("::{ty}"));
                }
            }
            Expr::Row(r) => self.row(r),
            _ => self.rarer(expr, implicit),
        }
    }

    fn rarer(&mut self, expr: &'a Expr, implicit: bool) {
        match expr {
            Expr::RowCompare { ops, left, right, .. } => {
                self.put("(ROW(");
                self.list(left, |p, e| p.top_expr(e));
                let op = ops.first().map_or_else(String::new, |o| self.operator_name(*o));
                self.put(&format!(") {op} ROW("));
                self.list(right, |p, e| p.top_expr(e));
                self.put("))");
            }
            Expr::Coalesce { args, .. } => self.like_call("COALESCE", args),
            Expr::MinMax { op: MinMaxOp::Greatest, args, .. } => self.like_call("GREATEST", args),
            Expr::MinMax { op: MinMaxOp::Least, args, .. } => self.like_call("LEAST", args),
            Expr::SqlValue { op, typmod, .. } => self.sql_value(*op, *typmod),
            Expr::NullTest { kind, arg, is_row, .. } => {
                self.open();
                self.operand(arg, true, expr);
                let of_row = !*is_row && self.names.fields(arg.ty()).is_some();
                self.put(match (kind, of_row) {
                    (NullTestKind::IsNull, false) => " IS NULL",
                    (NullTestKind::IsNotNull, false) => " IS NOT NULL",
                    (NullTestKind::IsNull, true) => " IS NOT DISTINCT FROM NULL",
                    (NullTestKind::IsNotNull, true) => " IS DISTINCT FROM NULL",
                });
                self.close();
            }
            Expr::BooleanTest { kind, arg, .. } => {
                self.open();
                self.operand(arg, false, expr);
                self.put(match kind {
                    BoolTestKind::IsTrue => " IS TRUE",
                    BoolTestKind::IsNotTrue => " IS NOT TRUE",
                    BoolTestKind::IsFalse => " IS FALSE",
                    BoolTestKind::IsNotFalse => " IS NOT FALSE",
                    BoolTestKind::IsUnknown => " IS UNKNOWN",
                    BoolTestKind::IsNotUnknown => " IS NOT UNKNOWN",
                });
                self.close();
            }
            Expr::DomainValue { .. } => self.put("VALUE"),
            Expr::SetToDefault { .. } => self.put("DEFAULT"),
            Expr::CurrentOf { cursor, .. } => {
                self.put("CURRENT OF ");
                self.put_ident(cursor);
            }
            Expr::NextValue { sequence, .. } => {
                let name = self.relation_name(*sequence);
                self.put(&format!("nextval({}::regclass)", super::quote_literal(&name)));
            }
            Expr::NamedArg { name, arg, .. } => {
                self.put_ident(name);
                self.put(" => ");
                self.expr(arg, implicit);
            }
            Expr::MergeAction { .. } => self.put("MERGE_ACTION()"),
            Expr::Json(j) => self.json(j, expr),
            Expr::Xml(x) => self.xml(x, expr),
            _ => {}
        }
    }

    /// Like `expr` where a whole row must keep its type.
    pub(super) fn top_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Var(v) => {
                self.var(v, true);
            }
            _ => self.expr(expr, false),
        }
    }

    fn like_call(&mut self, name: &str, args: &'a [Expr]) {
        self.put(name);
        self.put("(");
        self.list(args, |p, e| p.expr(e, true));
        self.put(")");
    }

    /// Opens a parenthesis, unless they are spared.
    pub(super) fn open(&mut self) {
        if !self.style.spare_parens {
            self.put("(");
        }
    }

    /// Closes what `open` opened.
    pub(super) fn close(&mut self) {
        if !self.style.spare_parens {
            self.put(")");
        }
    }

    /// Prints an operand of `parent`, in parentheses if it needs them and does not print its own.
    pub(super) fn operand(&mut self, node: &'a Expr, implicit: bool, parent: &Expr) {
        let paren = self.style.spare_parens && !self.is_simple(node, parent);
        if paren {
            self.put("(");
        }
        self.expr(node, implicit);
        if paren {
            self.put(")");
        }
    }

    pub(super) fn operator_name(&self, op: Oid) -> String {
        self.names.operator(op).map_or_else(|| op.to_string(), |n| n.operator())
    }

    pub(super) fn relation_name(&self, relation: Oid) -> String {
        self.names.relation(relation).map_or_else(|| relation.to_string(), |n| n.text())
    }

    fn op(&mut self, o: &'a OpExpr, node: &Expr) {
        match (o.kind, o.args.as_slice()) {
            (OpKind::NullIf, args) => self.like_call("NULLIF", args),
            (OpKind::Distinct, [left, right]) => {
                self.open();
                self.operand(left, true, node);
                self.put(" IS DISTINCT FROM ");
                self.operand(right, true, node);
                self.close();
            }
            (_, [left, right]) => {
                self.open();
                self.operand(left, true, node);
                let name = self.operator_name(o.op);
                self.put(&format!(" {name} "));
                self.operand(right, true, node);
                self.close();
            }
            (_, [arg]) => {
                self.open();
                let name = self.operator_name(o.op);
                self.put(&format!("{name} "));
                self.operand(arg, true, node);
                self.close();
            }
            _ => {}
        }
    }

    fn scalar_array(&mut self, s: &'a ScalarArrayOpExpr, node: &Expr) {
        let [scalar, array] = s.args.as_slice() else { return };
        self.open();
        self.operand(scalar, true, node);
        let name = self.operator_name(s.op);
        self.put(&format!(" {name} {} (", if s.use_or { "ANY" } else { "ALL" }));
        self.operand(array, true, node);
        // A bare subselect would be read as the other form of ANY.
        if let Expr::SubLink(link) = array
            && link.kind == SubLinkKind::Expr
        {
            let ty = self.names.type_name(link.ty, link.typmod);
            self.put(&format!("::{ty}"));
        }
        self.put(")");
        self.close();
    }

    /// A parameter by its name if it has one; the function's name keeps it apart from columns.
    fn parameter(&mut self, number: u32) {
        let name = self.params.names.get(number as usize - 1).filter(|n| !n.is_empty()).cloned();
        let Some(name) = name else { return self.put(&format!("${number}")) };
        if self.scopes.iter().any(|s| s.tables.iter().flatten().next().is_some()) {
            let function = self.params.function.clone();
            self.put_ident(&function);
            self.put(".");
        }
        self.put_ident(&name);
    }

    fn boolean(&mut self, op: BoolOp, args: &'a [Expr], node: &Expr) {
        self.open();
        if op == BoolOp::Not {
            self.put("NOT ");
        }
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                self.put(if op == BoolOp::And { " AND " } else { " OR " });
            }
            self.operand(arg, false, node);
        }
        self.close();
    }

    fn subscript(&mut self, s: &'a SubscriptRef, whole: &'a Expr, implicit: bool) {
        if let (Expr::CaseTest { .. }, Some(_)) = (&*s.container, &s.assign) {
            // An element of an array within a row that is assigned to: the row is not shown either.
            return self.expr(super::modify::assigned(whole), implicit);
        }
        let container = super::fields::below_relabel(&s.container);
        let bare = matches!(container, Expr::Var(_) | Expr::FieldSelect { .. });
        self.put(if bare { "" } else { "(" });
        self.expr(container, implicit);
        self.put(if bare { "" } else { ")" });
        if s.assign.is_some() {
            let value = self.assignment_path(whole);
            self.put(" := ");
            return self.expr(value, implicit);
        }
        self.subscripts(s);
    }

    pub(super) fn subscripts(&mut self, s: &'a SubscriptRef) {
        for (i, upper) in s.upper.iter().enumerate() {
            self.put("[");
            if let Some(lower) = s.lower.get(i) {
                if let Some(e) = lower {
                    self.expr(e, false);
                }
                self.put(":");
            }
            if let Some(e) = upper {
                self.expr(e, false);
            }
            self.put("]");
        }
    }

    fn row(&mut self, r: &'a RowExpr) {
        self.put("ROW(");
        self.list(&r.args, |p, e| p.top_expr(e));
        self.put(")");
        if r.form == CoercionForm::ExplicitCast {
            let ty = self.names.type_name(r.ty, -1);
            self.put(&format!("::{ty}"));
        }
    }

    fn case(&mut self, c: &'a CaseExpr) {
        self.clause("CASE", 0, VAR_STEP, 0);
        if let Some(arg) = &c.arg {
            self.put(" ");
            self.expr(arg, true);
        }
        for when in &c.whens {
            self.gap();
            self.clause("WHEN ", 0, 0, 0);
            let test = if c.arg.is_some() { compared(&when.when) } else { &when.when };
            self.expr(test, false);
            self.put(" THEN ");
            self.expr(&when.then, true);
        }
        self.gap();
        self.clause("ELSE ", 0, 0, 0);
        self.expr(&c.default, true);
        self.gap();
        self.clause("END", -VAR_STEP, 0, 0);
    }

    /// A blank where no new line follows.
    fn gap(&mut self) {
        if !self.style.indent {
            self.put(" ");
        }
    }

    /// Prints a cast of `arg`; `node` is the cast.
    pub(super) fn cast(
        &mut self,
        arg: &'a Expr,
        ty: Oid,
        typmod: i32,
        form: CoercionForm,
        node: &Expr,
        implicit: bool,
    ) {
        if form == CoercionForm::ImplicitCast && !implicit {
            return self.operand(arg, false, node);
        }
        match arg {
            // The type that follows says it all.
            Expr::Const(c) if c.ty == ty && c.typmod == -1 => self.constant(c, Label::Never),
            _ => {
                self.open();
                self.operand(arg, false, node);
                self.close();
            }
        }
        let ty = self.names.type_name(ty, typmod);
        self.put(&format!("::{ty}"));
    }

    fn sql_value(&mut self, op: SqlValueOp, typmod: i32) {
        self.put(match op {
            SqlValueOp::CurrentDate => "CURRENT_DATE",
            SqlValueOp::CurrentTime => "CURRENT_TIME",
            SqlValueOp::CurrentTimestamp => "CURRENT_TIMESTAMP",
            SqlValueOp::LocalTime => "LOCALTIME",
            SqlValueOp::LocalTimestamp => "LOCALTIMESTAMP",
            SqlValueOp::CurrentRole => "CURRENT_ROLE",
            SqlValueOp::CurrentUser => "CURRENT_USER",
            SqlValueOp::User => "USER",
            SqlValueOp::SessionUser => "SESSION_USER",
            SqlValueOp::CurrentCatalog => "CURRENT_CATALOG",
            SqlValueOp::CurrentSchema => "CURRENT_SCHEMA",
        });
        let timed = matches!(
            op,
            SqlValueOp::CurrentTime
                | SqlValueOp::CurrentTimestamp
                | SqlValueOp::LocalTime
                | SqlValueOp::LocalTimestamp
        );
        if timed && typmod >= 0 {
            self.put(&format!("({typmod})"));
        }
    }
}

/// What a WHEN compares the operand of its CASE with.
fn compared(when: &Expr) -> &Expr {
    let Expr::Op(o) = when else { return when };
    match o.args.as_slice() {
        [left, right] if matches!(strip_implicit(left), Expr::CaseTest { .. }) => right,
        _ => when,
    }
}

/// The expression below casts that the parser put in.
fn strip_implicit(expr: &Expr) -> &Expr {
    match expr {
        Expr::Relabel { arg, form: CoercionForm::ImplicitCast, .. }
        | Expr::CoerceViaIo { arg, form: CoercionForm::ImplicitCast, .. }
        | Expr::ArrayCoerce { arg, form: CoercionForm::ImplicitCast, .. }
        | Expr::ConvertRowtype { arg, form: CoercionForm::ImplicitCast, .. }
        | Expr::CoerceToDomain { arg, form: CoercionForm::ImplicitCast, .. } => strip_implicit(arg),
        Expr::Func(f) if f.form == CoercionForm::ImplicitCast && !f.args.is_empty() => {
            strip_implicit(&f.args[0])
        }
        _ => expr,
    }
}
