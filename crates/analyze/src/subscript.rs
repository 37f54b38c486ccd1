//! Subscripts of arrays and of jsonb.

use crate::coerce::{base_type_mod, plain_const};
use crate::state::Analyzer;
use base::{Oid, Result, err};
use catalog::{CastContext, oids};
use ir::{CoercionForm, Expr, SubscriptRef};
use parser::ast;
use types::Datum;

impl Analyzer<'_> {
    /// `transformContainerSubscripts` for arrays; with `assign`, an assignment to the element.
    pub fn subscript(
        &mut self,
        container: Expr,
        steps: &[&ast::Indirection],
        assign: Option<Expr>,
    ) -> Result<Expr> {
        let at = container.location();
        let declared = container.ty();
        let (base, typmod) = base_type_mod(self.catalog(), declared, container.typmod())?;
        let desc = self.type_desc(base)?;
        if !desc.subscript.is_valid() {
            return Err(err!(
                DATATYPE_MISMATCH,
                "cannot subscript type {} because it does not support subscripting",
                self.type_shown(declared)
            )
            .at(at));
        }
        if base == oids::JSONB {
            return self.subscript_jsonb(container, steps, assign);
        }
        let container = if base != declared {
            crate::coerce::relabel(container, base, typmod, CoercionForm::ImplicitCast, None)
        } else {
            container
        };
        if steps.len() > 6 {
            return Err(err!(
                PROGRAM_LIMIT_EXCEEDED,
                "number of array dimensions ({}) exceeds the maximum allowed ({})",
                steps.len(),
                6
            ));
        }
        let slice = steps.iter().any(|s| matches!(s, ast::Indirection::Slice(..)));
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                ast::Indirection::Slice(l, u) => {
                    lower.push(self.bound(l.as_ref())?);
                    upper.push(self.bound(u.as_ref())?);
                }
                ast::Indirection::Index(i) => {
                    if slice {
                        // A lone subscript among slices means 1 to it.
                        lower.push(Some(plain_const(oids::INT4, Datum::I32(1))));
                    }
                    upper.push(self.bound(Some(i))?);
                }
                _ => {}
            }
        }
        let result_type = if slice { base } else { desc.elem };
        let collation = Oid::INVALID;
        Ok(Expr::Subscript(Box::new(SubscriptRef {
            container_type: base,
            element_type: desc.elem,
            result_type: if assign.is_some() { base } else { result_type },
            typmod,
            collation,
            upper,
            lower,
            container: Box::new(container),
            assign: assign.map(Box::new),
        })))
    }

    /// Subscripts of jsonb are integers or texts.
    fn subscript_jsonb(
        &mut self,
        container: Expr,
        steps: &[&ast::Indirection],
        assign: Option<Expr>,
    ) -> Result<Expr> {
        let mut upper = Vec::new();
        for step in steps {
            match step {
                ast::Indirection::Slice(l, u) => {
                    let at = [l.as_ref(), u.as_ref()].into_iter().flatten().next();
                    let at = match at {
                        Some(e) => self.transform(e)?.location(),
                        None => None,
                    };
                    return Err(
                        err!(DATATYPE_MISMATCH, "jsonb subscript does not support slices").at(at)
                    );
                }
                ast::Indirection::Index(i) => upper.push(Some(self.jsonb_key(i)?)),
                _ => {}
            }
        }
        Ok(Expr::Subscript(Box::new(SubscriptRef {
            container_type: oids::JSONB,
            element_type: oids::JSONB,
            result_type: oids::JSONB,
            typmod: -1,
            collation: Oid::INVALID,
            upper,
            lower: Vec::new(),
            container: Box::new(container),
            assign: assign.map(Box::new),
        })))
    }

    fn jsonb_key(&mut self, e: &ast::Expr) -> Result<Expr> {
        let made = self.transform(e)?;
        let (at, ty) = (made.location(), made.ty());
        let (form, cx) = (CoercionForm::ImplicitCast, CastContext::Implicit);
        let mut target = oids::TEXT;
        if ty != oids::UNKNOWN {
            let int = self.can_coerce(&[ty], &[oids::INT4], cx)?;
            let text = self.can_coerce(&[ty], &[oids::TEXT], cx)?;
            if int && text {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "subscript type {} is not supported",
                    self.type_shown(ty)
                )
                .hint("jsonb subscript must be coercible to only one type, integer or text.")
                .at(at));
            }
            if !int && !text {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "subscript type {} is not supported",
                    self.type_shown(ty)
                )
                .hint("jsonb subscript must be coercible to either integer or text.")
                .at(at));
            }
            if int {
                target = oids::INT4;
            }
        }
        match self.coerce_to_target(made, target, -1, cx, form, None)? {
            Some(made) => Ok(made),
            None => Err(err!(DATATYPE_MISMATCH, "jsonb subscript must have text type").at(at)),
        }
    }

    fn bound(&mut self, e: Option<&ast::Expr>) -> Result<Option<Expr>> {
        let Some(e) = e else { return Ok(None) };
        let made = self.transform(e)?;
        let at = made.location();
        let form = CoercionForm::ImplicitCast;
        let cx = CastContext::Assignment;
        match self.coerce_to_target(made, oids::INT4, -1, cx, form, None)? {
            Some(made) => Ok(Some(made)),
            None => Err(err!(DATATYPE_MISMATCH, "array subscript must have type integer").at(at)),
        }
    }
}
