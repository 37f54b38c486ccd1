//! Assigning expressions to columns: INSERT, UPDATE, and what definitions hold.

use crate::coerce::base_type_mod;
use crate::state::{Analyzer, Kind, loc};
use base::{Error, Oid, Result, err};
use catalog::{CastContext, RelationDesc, oids};
use ir::{CoercionForm, Expr, Location, TargetEntry, Var};
use parser::ast::{self, Indirection};

impl Analyzer<'_> {
    /// The number of a column that is assigned to.
    pub fn target_column(&self, rel: &RelationDesc, target: &ast::AssignTarget) -> Result<i16> {
        let at = loc(target.pos);
        rel.column_number(&target.name).ok_or_else(|| {
            let system = ["ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"];
            if system.contains(&target.name.as_str()) {
                return err!(
                    FEATURE_NOT_SUPPORTED,
                    "cannot assign to system column \"{}\"",
                    target.name
                )
                .at(at);
            }
            err!(
                UNDEFINED_COLUMN,
                "column \"{}\" of relation \"{}\" does not exist",
                target.name,
                rel.name
            )
            .at(at)
        })
    }

    /// `transformAssignedExpr`: the expression as the column's type, into its parts if any.
    #[allow(clippy::too_many_arguments)]
    pub fn assigned(
        &mut self,
        expr: Expr,
        kind: Kind,
        rel: &RelationDesc,
        number: i16,
        name: &str,
        steps: &[Indirection],
        at: Location,
    ) -> Result<Expr> {
        let attr = rel.tuple.attrs[number as usize - 1].clone();
        let (ty, typmod, collation) = (attr.type_oid, attr.typmod, attr.collation);
        if let Expr::SetToDefault { location, .. } = expr {
            if let Some(step) = steps.first() {
                let message = match step {
                    Indirection::Field(..) | Indirection::Star(_) => {
                        "cannot set a subfield to DEFAULT"
                    }
                    _ => "cannot set an array element to DEFAULT",
                };
                return Err(err!(FEATURE_NOT_SUPPORTED, "{message}").at(at));
            }
            return Ok(Expr::SetToDefault { ty, typmod, collation, location });
        }
        let place = expr.location();
        if !steps.is_empty() {
            let base = if kind == Kind::InsertTarget {
                // A part of a new row's column starts from null.
                Expr::null_const(ty, typmod, collation)
            } else {
                let varno = self.cur().target.as_ref().map_or(1, |t| t.rtindex);
                let mut var = Var::new(varno, number, ty, typmod, collation);
                var.location = at;
                self.note_read(&var);
                Expr::Var(var)
            };
            return self.with_kind(kind, |a| {
                a.assign_part(Some(base), name, false, ty, typmod, steps, expr, at)
            });
        }
        let source = expr.ty();
        let form = CoercionForm::ImplicitCast;
        let cx = CastContext::Assignment;
        match self.coerce_to_target(expr, ty, typmod, cx, form, None)? {
            Some(made) => Ok(made),
            None => Err(err!(
                DATATYPE_MISMATCH,
                "column \"{name}\" is of type {} but expression is of type {}",
                self.type_shown(ty),
                self.type_shown(source)
            )
            .hint("You will need to rewrite or cast the expression.")
            .at(place)),
        }
    }

    /// `transformAssignmentIndirection`: `base` with one part replaced by `expr`.
    #[allow(clippy::too_many_arguments)]
    fn assign_part(
        &mut self,
        base: Option<Expr>,
        name: &str,
        subscripting: bool,
        ty: Oid,
        typmod: i32,
        steps: &[Indirection],
        expr: Expr,
        at: Location,
    ) -> Result<Expr> {
        base::stack::check()?;
        let base_expr =
            base.unwrap_or(Expr::CaseTest { ty, typmod, collation: self.collation_of_type(ty)? });
        let Some(first) = steps.first() else {
            return self.assign_leaf(name, subscripting, ty, typmod, expr, at);
        };
        match first {
            Indirection::Index(_) | Indirection::Slice(..) => {
                let count = steps
                    .iter()
                    .take_while(|s| matches!(s, Indirection::Index(_) | Indirection::Slice(..)))
                    .count();
                let subscripts: Vec<&Indirection> = steps[..count].iter().collect();
                self.assign_element(
                    base_expr,
                    name,
                    ty,
                    typmod,
                    &subscripts,
                    &steps[count..],
                    expr,
                    at,
                )
            }
            Indirection::Star(pos) => {
                Err(err!(FEATURE_NOT_SUPPORTED, "row expansion via \"*\" is not supported here")
                    .at(loc(*pos)))
            }
            Indirection::Field(field, _) => {
                let (row_type, row_mod) = base_type_mod(self.catalog(), ty, typmod)?;
                let relation = self.type_desc(row_type)?.relation;
                if !relation.is_valid() {
                    return Err(err!(
                        DATATYPE_MISMATCH,
                        "cannot assign to field \"{field}\" of column \"{name}\" because its type \
                         {} is not a composite type",
                        self.type_shown(ty)
                    )
                    .at(at));
                }
                let rel = self.catalog().relation(relation)?;
                let Some(number) = rel.column_number(field) else {
                    return Err(err!(
                        UNDEFINED_COLUMN,
                        "cannot assign to field \"{field}\" of column \"{name}\" because there is \
                         no such column in data type {}",
                        self.type_shown(ty)
                    )
                    .at(at));
                };
                let attr = rel.tuple.attrs[number as usize - 1].clone();
                let value = self.assign_part(
                    None,
                    field,
                    false,
                    attr.type_oid,
                    attr.typmod,
                    &steps[1..],
                    expr,
                    at,
                )?;
                let store = Expr::FieldStore {
                    arg: Box::new(base_expr),
                    values: vec![value],
                    fields: vec![number],
                    ty: row_type,
                };
                if row_type == ty {
                    return Ok(store);
                }
                let form = CoercionForm::ImplicitCast;
                let _ = row_mod;
                self.coerce(store, row_type, ty, typmod, CastContext::Assignment, form, at)
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn assign_element(
        &mut self,
        base_expr: Expr,
        name: &str,
        ty: Oid,
        typmod: i32,
        subscripts: &[&Indirection],
        rest: &[Indirection],
        expr: Expr,
        at: Location,
    ) -> Result<Expr> {
        let (container, container_mod) = base_type_mod(self.catalog(), ty, typmod)?;
        let desc = self.type_desc(container)?;
        if !desc.subscript.is_valid() {
            return Err(err!(
                DATATYPE_MISMATCH,
                "cannot subscript type {} because it does not support subscripting",
                self.type_shown(ty)
            ));
        }
        let slice = subscripts.iter().any(|s| matches!(s, Indirection::Slice(..)));
        let wanted = if slice || container == oids::JSONB { container } else { desc.elem };
        let value = if rest.is_empty() {
            self.assign_leaf(name, true, wanted, container_mod, expr, at)?
        } else {
            self.assign_part(None, name, true, wanted, container_mod, rest, expr, at)?
        };
        let made = self.subscript(base_expr, subscripts, Some(value))?;
        if container == ty {
            return Ok(made);
        }
        let form = CoercionForm::ImplicitCast;
        self.coerce(made, container, ty, typmod, CastContext::Assignment, form, at)
    }

    fn assign_leaf(
        &mut self,
        name: &str,
        subscripting: bool,
        ty: Oid,
        typmod: i32,
        expr: Expr,
        at: Location,
    ) -> Result<Expr> {
        let source = expr.ty();
        let form = CoercionForm::ImplicitCast;
        let cx = CastContext::Assignment;
        let made = self.coerce_to_target(expr, ty, typmod, cx, form, None)?;
        made.ok_or_else(|| {
            let (want, have) = (self.type_shown(ty), self.type_shown(source));
            let error = if subscripting {
                err!(
                    DATATYPE_MISMATCH,
                    "subscripted assignment to \"{name}\" requires type {want} but expression is of \
                     type {have}"
                )
            } else {
                err!(
                    DATATYPE_MISMATCH,
                    "subfield \"{name}\" is of type {want} but expression is of type {have}"
                )
            };
            error.hint("You will need to rewrite or cast the expression.").at(at)
        })
    }

    /// `transformUpdateTargetList`.
    pub fn set_list(
        &mut self,
        rel: &RelationDesc,
        set: &[ast::SetClause],
        kind: Kind,
    ) -> Result<Vec<TargetEntry>> {
        let mut list: Vec<TargetEntry> = Vec::new();
        let mut junk = Vec::new();
        for clause in set {
            match clause {
                ast::SetClause::Single(target, value) => {
                    let value = self.set_value(value, kind)?;
                    list.push(self.set_target(rel, target, value)?);
                }
                ast::SetClause::Multi(targets, source) => {
                    self.multi_set(rel, targets, source, kind, &mut list, &mut junk)?;
                }
            }
        }
        let columns = list.len() as i16;
        for (i, mut t) in junk.into_iter().enumerate() {
            let t: &mut TargetEntry = &mut t;
            t.resno = columns + 1 + i as i16;
            list.push(t.clone());
        }
        self.note_updated(&list);
        Ok(list)
    }

    /// A value of SET or VALUES: an expression or DEFAULT.
    pub fn set_value(&mut self, value: &ast::Expr, kind: Kind) -> Result<Expr> {
        if value.kind == ast::ExprKind::Default {
            return Ok(Expr::SetToDefault {
                ty: oids::UNKNOWN,
                typmod: -1,
                collation: Oid::INVALID,
                location: loc(value.pos),
            });
        }
        self.expr(value, kind)
    }

    fn set_target(
        &mut self,
        rel: &RelationDesc,
        target: &ast::AssignTarget,
        value: Expr,
    ) -> Result<TargetEntry> {
        let number = rel.column_number(&target.name);
        let Some(number) = number else {
            let error = self.target_column(rel, target).err().unwrap_or_else(missing);
            // `SET t.a = ..` is a common mistake.
            let alias = self.cur().target.as_ref().map(|t| t.name.clone());
            let qualified = alias.as_deref() == Some(&target.name)
                && matches!(target.steps.first(), Some(Indirection::Field(..)));
            return Err(if qualified {
                error.hint("SET target columns cannot be qualified with the relation name.")
            } else {
                error
            });
        };
        let at = loc(target.pos);
        let kind = Kind::UpdateTarget;
        let expr = self.assigned(value, kind, rel, number, &target.name, &target.steps, at)?;
        Ok(TargetEntry::new(expr, number, Some(target.name.clone()), false))
    }

    /// `(a, b) = source`.
    fn multi_set(
        &mut self,
        rel: &RelationDesc,
        targets: &[ast::AssignTarget],
        source: &ast::Expr,
        kind: Kind,
        list: &mut Vec<TargetEntry>,
        junk: &mut Vec<TargetEntry>,
    ) -> Result<()> {
        let at = loc(source.pos);
        let mismatch = |place| {
            Err(err!(SYNTAX_ERROR, "number of columns does not match number of values").at(place))
        };
        match &source.kind {
            ast::ExprKind::Row { fields, .. } => {
                let values = self.row_values(fields, kind)?;
                if values.len() != targets.len() {
                    return mismatch(at);
                }
                for (target, value) in targets.iter().zip(values) {
                    list.push(self.set_target(rel, target, value)?);
                }
                Ok(())
            }
            ast::ExprKind::Sublink(link) if link.kind == ast::SublinkKind::Scalar => {
                let query = self.with_kind(kind, |a| a.sub_query(&link.query, at))?;
                let columns: Vec<TargetEntry> =
                    query.target_list.iter().filter(|t| !t.junk).cloned().collect();
                if columns.len() != targets.len() {
                    return mismatch(at);
                }
                self.st().multi_assign += 1;
                let id = self.cur().multi_assign;
                for (i, (target, column)) in targets.iter().zip(&columns).enumerate() {
                    // The column's value is a param numbered by subselect and column.
                    let value = Expr::Param(ir::Param {
                        kind: ir::ParamKind::Exec,
                        id: (id << 16) | (i as u32 + 1),
                        ty: column.expr.ty(),
                        typmod: column.expr.typmod(),
                        collation: column.expr.collation(),
                        location: at,
                    });
                    list.push(self.set_target(rel, target, value)?);
                }
                let link = ir::SubLink {
                    kind: ir::SubLinkKind::MultiExpr,
                    id,
                    test: None,
                    op_name: Vec::new(),
                    query: Box::new(query),
                    ty: oids::RECORD,
                    typmod: -1,
                    collation: Oid::INVALID,
                    location: at,
                };
                let expr = Expr::SubLink(Box::new(link));
                junk.push(TargetEntry::new(expr, 0, None, true));
                Ok(())
            }
            _ => Err(err!(
                FEATURE_NOT_SUPPORTED,
                "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression"
            )
            .at(loc(source.location()))),
        }
    }

    /// Values that may be DEFAULT; stars are expanded.
    pub fn row_values(&mut self, fields: &[ast::Expr], kind: Kind) -> Result<Vec<Expr>> {
        let mut values = Vec::with_capacity(fields.len());
        for f in fields {
            match self.with_kind(kind, |a| a.expand_star(f))? {
                Some(columns) => values.extend(columns.into_iter().map(|c| c.1)),
                None => values.push(self.set_value(f, kind)?),
            }
        }
        Ok(values)
    }

    fn note_updated(&mut self, list: &[TargetEntry]) {
        let Some(index) = self.cur().target.as_ref().map(|t| t.rtindex) else { return };
        if let Some(perms) = &mut self.st().rtable[index as usize - 1].perms {
            for t in list.iter().filter(|t| !t.junk) {
                if let Err(at) = perms.updated.binary_search(&t.resno) {
                    perms.updated.insert(at, t.resno);
                }
            }
        }
    }
}

fn missing() -> Error {
    Error::internal("a column that is there was not found")
}
