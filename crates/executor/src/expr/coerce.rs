//! Coercions that are not calls: through text, of arrays, to domains.

use super::composite::Element;
use super::{ExprCompiler, Prog, RowInput, VarMap};
use crate::run::{CaseValue, Run};
use base::{Oid, Result, bail, err};
use types::{Datum, io};

/// Through the text form.
pub(crate) struct ViaIo {
    pub arg: Prog,
    pub to: Oid,
    pub typmod: i32,
}

impl ViaIo {
    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let value = self.arg.eval(run, input)?;
        if value.is_null() {
            return Ok(Datum::Null);
        }
        let cx = run.env.io();
        let mut text = Vec::new();
        io::output(self.arg.ty, &value, &cx, &mut text)?;
        let text = std::str::from_utf8(&text).map_err(|_| {
            err!(CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"")
        })?;
        io::input(self.to, text, self.typmod, &cx)
    }
}

/// Each element of an array through a program.
pub(crate) struct ArrayCoerceProg {
    pub arg: Prog,
    pub element: Prog,
    pub from: Element,
    pub to: Element,
}

impl ArrayCoerceProg {
    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let array = self.arg.eval(run, input)?;
        if array.is_null() {
            return Ok(Datum::Null);
        }
        let mut values = self.from.elements(&array)?;
        for value in &mut values {
            run.case.push(CaseValue::One(std::mem::take(value)));
            let result = self.element.eval(run, input);
            run.case.pop();
            *value = result?;
        }
        self.to.with_shape_of(&array, values)
    }
}

/// To a domain: NOT NULL and CHECK constraints of it and of those below it.
pub(crate) struct DomainProg {
    arg: Prog,
    name: String,
    not_null: bool,
    /// Name of the constraint, the condition.
    checks: Vec<(String, Prog)>,
}

impl DomainProg {
    pub fn compile(c: &mut ExprCompiler, arg: Prog, ty: Oid, _typmod: i32) -> Result<DomainProg> {
        let mut prog = DomainProg { arg, name: String::new(), not_null: false, checks: Vec::new() };
        let mut domain = c.catalog.type_(ty)?;
        prog.name = domain.name.to_string();
        let mut levels = Vec::new();
        while domain.kind == b'd' {
            prog.not_null |= domain.not_null;
            let mut checks = Vec::new();
            for check in c.catalog.domain_constraints(domain.oid)?.iter() {
                let (b'c', Some(text)) = (check.kind, &check.expr) else { continue };
                let expr: ir::Expr = serde_json::from_str(text)
                    .map_err(|e| err!(INTERNAL_ERROR, "stored expression: {e}"))?;
                let expr = c.expr(&expr, &VarMap::default())?;
                checks.push((check.name.to_string(), expr));
            }
            levels.push(checks);
            domain = c.catalog.type_(domain.base_type)?;
        }
        // Constraints of the innermost domain are asked first.
        prog.checks = levels.into_iter().rev().flatten().collect();
        Ok(prog)
    }

    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let value = self.arg.eval(run, input)?;
        if self.not_null && value.is_null() {
            bail!(NOT_NULL_VIOLATION, "domain {} does not allow null values", self.name);
        }
        let domain = &self.name;
        for (name, check) in &self.checks {
            run.domain.push(value.clone());
            let result = check.eval(run, RowInput::None);
            run.domain.pop();
            if matches!(result?, Datum::Bool(false)) {
                return Err(err!(
                    CHECK_VIOLATION,
                    "value for domain {domain} violates check constraint \"{name}\""
                )
                .data_type(domain.clone())
                .constraint(name.clone()));
            }
        }
        Ok(value)
    }
}
