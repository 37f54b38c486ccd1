//! `$n`: what type each has.

use crate::Params;
use crate::state::Analyzer;
use base::{Oid, Result, err};
use catalog::oids;
use ir::{Expr, Location, Param, ParamKind, Query};

impl Analyzer<'_> {
    /// A reference to `$number`.
    pub fn param(&mut self, number: u32, at: Location) -> Result<Expr> {
        let missing = || err!(UNDEFINED_PARAMETER, "there is no parameter ${number}").at(at);
        if number == 0 {
            return Err(missing());
        }
        if number > u32::from(u16::MAX) && matches!(self.params, Params::Infer(_)) {
            // No message could bring them all.
            let e = err!(INDETERMINATE_DATATYPE, "could not determine data type of parameter $1");
            return Err(e);
        }
        let i = number as usize - 1;
        let ty = match &mut self.params {
            Params::None => return Err(missing()),
            Params::Fixed(types) => match types.get(i) {
                Some(t) if t.is_valid() => *t,
                _ => return Err(missing()),
            },
            Params::Function(f) => match f.types.get(i) {
                Some(t) if t.is_valid() => *t,
                _ => return Err(missing()),
            },
            Params::Infer(types) => {
                if types.len() <= i {
                    types.resize(i + 1, Oid::INVALID);
                }
                if !types[i].is_valid() {
                    types[i] = oids::UNKNOWN;
                }
                types[i]
            }
        };
        let collation = self.collation_of_type(ty)?;
        Ok(Expr::Param(Param {
            kind: ParamKind::Extern,
            id: number,
            ty,
            typmod: -1,
            collation,
            location: at,
        }))
    }

    /// `function.param`, `param.field` or `function.param.field` in a function's body.
    pub fn param_field(
        &mut self,
        parts: &[String],
        star: bool,
        at: Location,
    ) -> Result<Option<Expr>> {
        if star {
            return self.named_param(parts, at);
        }
        if let Some(found) = self.named_param(parts, at)? {
            return Ok(Some(found));
        }
        let Some((field, row)) = parts.split_last() else { return Ok(None) };
        let Some(row) = self.named_param(row, at)? else { return Ok(None) };
        self.func_of_row(field, row, at)
    }

    /// The parameter that a name means in a function's body: `name` or `function.name`.
    pub fn named_param(&mut self, parts: &[String], at: Location) -> Result<Option<Expr>> {
        let Params::Function(f) = &self.params else { return Ok(None) };
        let name = match parts {
            [name] => name,
            [function, name] if *function == f.function => name,
            _ => return Ok(None),
        };
        let Some(i) = f.names.iter().position(|n| n == name && !n.is_empty()) else {
            return Ok(None);
        };
        self.param(i as u32 + 1, at).map(Some)
    }

    /// After the statement: every parameter must have got one type everywhere.
    pub fn finish_params(&mut self, query: &mut Query) -> Result<()> {
        let Params::Infer(types) = &self.params else {
            return Ok(());
        };
        let types: &[Oid] = types;
        if types.is_empty() {
            return Ok(());
        }
        let mut problem = None;
        ir::walk::query_exprs(query, 0, &mut |e, _| {
            ir::walk::any_levels(e, 0, &mut |e, _| {
                if let Expr::Param(p) = e
                    && p.kind == ParamKind::Extern
                    && problem.is_none()
                    && (p.ty == oids::UNKNOWN || types.get(p.id as usize - 1) != Some(&p.ty))
                {
                    problem = Some((p.id, p.location));
                }
                false
            });
        });
        match problem {
            Some((id, at)) => {
                Err(err!(AMBIGUOUS_PARAMETER, "could not determine data type of parameter ${id}")
                    .at(at))
            }
            None => match types.iter().position(|t| !t.is_valid() || *t == oids::UNKNOWN) {
                Some(i) => Err(err!(
                    INDETERMINATE_DATATYPE,
                    "could not determine data type of parameter ${}",
                    i + 1
                )),
                None => Ok(()),
            },
        }
    }
}

/// A parameter of unknown type gets the type that is asked for.
pub(crate) fn coerce(
    a: &mut Analyzer,
    p: &Param,
    target: Oid,
    collation: Oid,
    at: Location,
) -> Result<Option<Expr>> {
    let Params::Infer(types) = &mut a.params else {
        return Ok(None);
    };
    let slot = &mut types[p.id as usize - 1];
    if *slot == oids::UNKNOWN {
        *slot = target;
    } else if *slot != target {
        let deduced = *slot;
        let detail = format!("{} versus {}", a.type_shown(deduced), a.type_shown(target));
        return Err(err!(
            AMBIGUOUS_PARAMETER,
            "inconsistent types deduced for parameter ${}",
            p.id
        )
        .detail(detail)
        .at(p.location));
    }
    let location = p.location.into_iter().chain(at).min();
    Ok(Some(Expr::Param(Param { ty: target, collation, location, ..p.clone() })))
}
