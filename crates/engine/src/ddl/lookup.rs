//! Functions and operators that a definition names.

use super::Ddl;
use base::{Error, Oid, Result, bail, err};
use catalog::{CastContext, CastMethod, OperatorDesc, ProcDesc, generic, oids};
use parser::ast::{DefElem, DefValue, NO_POS, Name, OpName, TypeName};
use std::sync::Arc;

/// An option's value as a name that may be qualified.
pub fn name_of(e: &DefElem) -> Result<Name> {
    let parts = match &e.value {
        Some(DefValue::Type(t)) => t.names.clone(),
        Some(DefValue::Names(n)) => n.clone(),
        Some(DefValue::String(s)) => vec![s.clone()],
        None => bail!(SYNTAX_ERROR, "{} requires a parameter", e.name),
        _ => bail!(SYNTAX_ERROR, "argument of {} must be a name", e.name),
    };
    Ok(Name { parts, pos: NO_POS })
}

/// An option's value as a type.
pub fn type_of(e: &DefElem) -> Result<TypeName> {
    match &e.value {
        Some(DefValue::Type(t)) => Ok(t.clone()),
        Some(DefValue::String(s)) => Ok(TypeName {
            names: vec![s.clone()],
            setof: false,
            pct_type: false,
            typmods: Vec::new(),
            array_bounds: Vec::new(),
            pos: NO_POS,
        }),
        None => bail!(SYNTAX_ERROR, "{} requires a parameter", e.name),
        _ => bail!(SYNTAX_ERROR, "argument of {} must be a type name", e.name),
    }
}

/// An option's value as an operator.
pub fn operator_of(e: &DefElem) -> Result<OpName> {
    let (schema, name) = match &e.value {
        Some(DefValue::Operator(op)) => return Ok(op.clone()),
        Some(DefValue::String(s)) => (Vec::new(), s.clone()),
        Some(DefValue::Type(t)) => {
            let (last, schema) = t.names.split_last().ok_or_else(|| Error::internal("no name"))?;
            (schema.to_vec(), last.clone())
        }
        None => bail!(SYNTAX_ERROR, "{} requires a parameter", e.name),
        _ => bail!(SYNTAX_ERROR, "argument of {} must be a name", e.name),
    };
    Ok(OpName { schema, name: name.into(), pos: NO_POS })
}

/// An option's value as true or false; without one it is true.
pub fn bool_of(e: &DefElem) -> Result<bool> {
    let text = match &e.value {
        None => return Ok(true),
        Some(DefValue::Integer(n)) => n.to_string(),
        Some(_) => super::table::def_text(e).unwrap_or_default().to_ascii_lowercase(),
    };
    match text.as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => bail!(SYNTAX_ERROR, "{} requires a Boolean value", e.name),
    }
}

impl Ddl<'_> {
    /// `name(integer, text)`, for messages.
    pub fn signature_text(&self, name: &Name, args: &[Oid]) -> String {
        let shown: Vec<String> = args.iter().map(|a| self.format_type(*a, -1)).collect();
        format!("{}({})", name.parts.join("."), shown.join(", "))
    }

    fn undefined_function(&self, name: &Name, args: &[Oid]) -> Error {
        err!(UNDEFINED_FUNCTION, "function {} does not exist", self.signature_text(name, args))
    }

    /// The function of exactly these argument types.
    pub fn function_exact(&self, name: &Name, args: &[Oid]) -> Result<Arc<ProcDesc>> {
        let (schema, last) = super::name::split(name);
        let all = self.view.procs_named(schema, last)?;
        let found = all.iter().find(|p| p.arg_types == args);
        found.cloned().ok_or_else(|| self.undefined_function(name, args))
    }

    /// True if a value of one type may be taken as one of the other as it is.
    pub fn same_bytes(&self, from: Oid, to: Oid) -> Result<bool> {
        if from == to || to == oids::ANY {
            return Ok(true);
        }
        let is_array = |t: Oid| self.view.type_(t).is_ok_and(|t| t.is_array());
        match to.0 {
            2283 | 5077 => return Ok(true),
            2277 | 5078 => return Ok(generic::is_polymorphic(from) || is_array(from)),
            2776 | 5079 => return Ok(!is_array(from)),
            3500 => return Ok(self.view.type_(from)?.kind == b'e'),
            3831 | 5080 => return Ok(self.view.type_(from)?.kind == b'r'),
            4537 | 4538 => return Ok(self.view.type_(from)?.kind == b'm'),
            2249 => return Ok(self.view.type_(from)?.kind == b'c'),
            _ => {}
        }
        let base = self.base_type(from)?.oid;
        if base == to {
            return Ok(true);
        }
        let cast = self.view.cast(base, to)?;
        Ok(cast
            .is_some_and(|c| c.method == CastMethod::Binary && c.context == CastContext::Implicit))
    }

    /// The function that takes arguments of these types as they are, and its result's type.
    pub fn function_for(&self, name: &Name, args: &[Oid]) -> Result<(Arc<ProcDesc>, Oid)> {
        let (schema, last) = super::name::split(name);
        let all = self.view.procs_named(schema, last)?;
        let mut found = all.iter().find(|p| p.arg_types == args).cloned();
        let same = |p: &ProcDesc| -> Result<bool> {
            for (declared, given) in p.arg_types.iter().zip(args) {
                if !self.same_bytes(*given, *declared)? {
                    return Ok(false);
                }
            }
            Ok(p.arg_types.len() == args.len())
        };
        for p in &all {
            if found.is_none() && same(p)? {
                found = Some(p.clone());
            }
        }
        let castable = |p: &ProcDesc| -> Result<bool> {
            for (declared, given) in p.arg_types.iter().zip(args) {
                let cast = self.view.cast(*given, *declared)?;
                let implicit = cast.is_some_and(|c| c.context == CastContext::Implicit);
                if !self.same_bytes(*given, *declared)? && !implicit {
                    return Ok(false);
                }
            }
            Ok(p.arg_types.len() == args.len())
        };
        let Some(p) = found else {
            for p in all.iter() {
                if castable(p)? {
                    return Err(err!(
                        DATATYPE_MISMATCH,
                        "function {} requires run-time type coercion",
                        self.signature_text(name, &p.arg_types)
                    ));
                }
            }
            return Err(self.undefined_function(name, args));
        };
        if p.returns_set {
            bail!(
                DATATYPE_MISMATCH,
                "function {} returns a set",
                self.signature_text(name, &p.arg_types)
            );
        }
        let result = generic::resolve(&self.view, &p.arg_types, args, p.return_type)?;
        Ok((p.clone(), result.unwrap_or(p.return_type)))
    }

    /// The schema of an operator's name, if it is written.
    fn operator_schema<'o>(&self, op: &'o OpName) -> Result<Option<&'o str>> {
        match op.schema.last() {
            None => Ok(None),
            Some(schema) => {
                self.view.require_namespace(schema)?;
                Ok(Some(schema))
            }
        }
    }

    /// The operator of exactly these operand types (`left` 0 for a prefix operator).
    pub fn find_operator(
        &self,
        op: &OpName,
        left: Oid,
        right: Oid,
    ) -> Result<Option<Arc<OperatorDesc>>> {
        let schema = self.operator_schema(op)?;
        self.view.operator_exact(schema, &op.name, left, right)
    }

    /// As [`Ddl::find_operator`], but it has to be there.
    pub fn require_operator(
        &self,
        op: &OpName,
        left: Oid,
        right: Oid,
    ) -> Result<Arc<OperatorDesc>> {
        match self.find_operator(op, left, right)? {
            Some(found) => Ok(found),
            None => Err(self.no_operator(op, left, right)),
        }
    }

    /// `operator does not exist: integer === integer`
    pub fn no_operator(&self, op: &OpName, left: Oid, right: Oid) -> Error {
        let mut text = String::new();
        if left.is_valid() {
            text.push_str(&self.format_type(left, -1));
            text.push(' ');
        }
        for part in &op.schema {
            text.push_str(part);
            text.push('.');
        }
        text.push_str(&op.name);
        if right.is_valid() {
            text.push(' ');
            text.push_str(&self.format_type(right, -1));
        }
        err!(UNDEFINED_FUNCTION, "operator does not exist: {text}")
    }
}
