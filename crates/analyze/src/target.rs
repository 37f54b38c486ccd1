//! Select lists.

use crate::coerce::base_type;
use crate::state::{Analyzer, Kind, loc};
use base::{Oid, Result, bail, err};
use catalog::oids;
use ir::{CoercionForm, Expr, RteKind, TargetEntry};
use parser::ast::{self, ExprKind};

impl Analyzer<'_> {
    /// `transformTargetList`.
    pub fn target_list(&mut self, targets: &[ast::Target], kind: Kind) -> Result<Vec<TargetEntry>> {
        let mut list = Vec::with_capacity(targets.len());
        for target in targets {
            if let Some(columns) = self.with_kind(kind, |a| a.expand_star(&target.expr))? {
                for (name, expr) in columns {
                    let resno = self.next_resno()?;
                    list.push(TargetEntry::new(expr, resno, Some(name), false));
                }
                continue;
            }
            let expr = self.expr(&target.expr, kind)?;
            let name = match &target.name {
                Some(name) => name.clone(),
                None => column_name(&target.expr),
            };
            let resno = self.next_resno()?;
            list.push(TargetEntry::new(expr, resno, Some(name), false));
        }
        Ok(list)
    }

    /// The next entry's number; fails if there are as many as a row can have.
    pub fn next_resno(&mut self) -> Result<i16> {
        const MOST: i16 = 1664;
        let st = self.st();
        if st.next_resno >= MOST {
            bail!(TOO_MANY_COLUMNS, "target lists can have at most {MOST} entries");
        }
        st.next_resno += 1;
        Ok(st.next_resno)
    }

    /// The columns that `*`, `t.*` or `(row).*` stands for; none if it is not such a thing.
    pub fn expand_star(&mut self, expr: &ast::Expr) -> Result<Option<Vec<(String, Expr)>>> {
        let at = loc(expr.pos);
        match &expr.kind {
            ExprKind::Column { parts, star: true } => {
                if parts.is_empty() {
                    return self.expand_all(at).map(Some);
                }
                let (schema, table) = match parts.as_slice() {
                    [table] => (None, table),
                    [schema, table] | [_, schema, table] => (Some(schema.as_str()), table),
                    _ => {
                        let shown = parts.join(".");
                        return Err(err!(
                            SYNTAX_ERROR,
                            "improper qualified name (too many dotted names): {shown}.*"
                        )
                        .at(at));
                    }
                };
                let Some((item, up)) = self.find_table(schema, table, at)? else {
                    return Err(self.missing_table(schema, table, at));
                };
                self.expand_item(&item, up, at).map(Some)
            }
            ExprKind::Indirection { expr: arg, steps } => {
                let Some(ast::Indirection::Star(_)) = steps.last() else { return Ok(None) };
                let inner = if steps.len() == 1 {
                    self.transform(arg)?
                } else {
                    let shorter = ast::Expr {
                        kind: ExprKind::Indirection {
                            expr: arg.clone(),
                            steps: steps[..steps.len() - 1].to_vec(),
                        },
                        pos: expr.pos,
                    };
                    self.transform(&shorter)?
                };
                self.expand_row(inner).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `ExpandAllTables`.
    fn expand_all(&mut self, at: ir::Location) -> Result<Vec<(String, Expr)>> {
        let items: Vec<_> =
            self.cur().namespace.iter().filter(|n| n.cols_visible).cloned().collect();
        if items.is_empty() {
            return Err(err!(SYNTAX_ERROR, "SELECT * with no tables specified is not valid").at(at));
        }
        let mut list = Vec::new();
        for item in items {
            if item.returning != ir::ReturningKind::Default {
                continue;
            }
            list.extend(self.expand_item(&item, 0, at)?);
        }
        Ok(list)
    }

    /// `ExpandRowReference`.
    pub fn expand_row(&mut self, row: Expr) -> Result<Vec<(String, Expr)>> {
        if let Expr::Var(v) = &row
            && v.attno == 0
        {
            let level = self.states.len() - 1 - v.levels_up as usize;
            let item = self.states[level].namespace.iter().find(|i| i.rtindex == v.varno).cloned();
            if let Some(item) = item {
                return self.expand_item(&item, v.levels_up, v.location);
            }
        }
        if let Expr::Row(r) = &row
            && r.ty == oids::RECORD
        {
            return Ok(r.names.iter().cloned().zip(r.args.iter().cloned()).collect());
        }
        let mut list = Vec::new();
        let outs = match self.output_params(&row)? {
            Some(outs) => Some(outs),
            None if row.ty() == oids::RECORD => self.record_fields(&row),
            None => None,
        };
        if let Some(outs) = outs {
            for (i, (name, ty, typmod, collation)) in outs.into_iter().enumerate() {
                let arg = Box::new(row.clone());
                let field = i as i16 + 1;
                list.push((name, Expr::FieldSelect { arg, field, ty, typmod, collation }));
            }
            return Ok(list);
        }
        let base = base_type(self.catalog(), row.ty())?;
        let relation = self.type_desc(base)?.relation;
        if !relation.is_valid() {
            let message = if row.ty() == oids::RECORD {
                "record type has not been registered".to_owned()
            } else {
                format!("type {} is not composite", self.type_shown(row.ty()))
            };
            return Err(err!(WRONG_OBJECT_TYPE, "{message}"));
        }
        let row = if base == row.ty() {
            row
        } else {
            crate::coerce::relabel(row, base, -1, CoercionForm::ImplicitCast, None)
        };
        let rel = self.catalog().relation(relation)?;
        for (i, a) in rel.tuple.attrs.iter().enumerate().filter(|(_, a)| !a.dropped) {
            let arg = Box::new(row.clone());
            let field = i as i16 + 1;
            let (ty, typmod, collation) = (a.type_oid, a.typmod, a.collation);
            let select = Expr::FieldSelect { arg, field, ty, typmod, collation };
            list.push((a.name.to_string(), select));
        }
        Ok(list)
    }

    /// `resolveTargetListUnknowns`: literals that nothing gave a type become text.
    pub fn resolve_unknowns(&mut self, targets: &mut [TargetEntry]) -> Result<()> {
        for t in targets {
            if t.expr.ty() == oids::UNKNOWN {
                let expr = std::mem::replace(&mut t.expr, Expr::bool_const(false));
                let form = CoercionForm::ImplicitCast;
                let cx = catalog::CastContext::Implicit;
                t.expr = self.coerce(expr, oids::UNKNOWN, oids::TEXT, -1, cx, form, None)?;
            }
        }
        Ok(())
    }

    /// `markTargetListOrigins`.
    pub fn mark_origins(&mut self, targets: &mut [TargetEntry]) {
        for t in targets {
            if let Expr::Var(v) = &t.expr
                && let Some((table, column)) = self.origin(v.varno, v.attno, v.levels_up)
            {
                t.orig_table = table;
                t.orig_column = column;
            }
        }
    }

    fn origin(&mut self, varno: u32, attno: i16, levels_up: u32) -> Option<(Oid, i16)> {
        let level = self.states.len().checked_sub(1 + levels_up as usize)?;
        let st = &self.states[level];
        let rte = st.rtable.get((varno as usize).checked_sub(1)?)?;
        match &rte.kind {
            RteKind::Relation { relid, .. } => Some((*relid, attno)),
            RteKind::Subquery { query, .. } => {
                let t = query.target_list.iter().find(|t| !t.junk && t.resno == attno)?;
                t.orig_table.is_valid().then_some((t.orig_table, t.orig_column))
            }
            RteKind::Join { alias_vars, .. } => {
                let Expr::Var(v) = alias_vars.get((attno as usize).checked_sub(1)?)? else {
                    return None;
                };
                let (varno, attno) = (v.varno, v.attno);
                self.origin(varno, attno, levels_up)
            }
            RteKind::Cte { name, levels_up: up, self_reference: false, .. } => {
                let at = level.checked_sub(*up as usize)?;
                let slot = self.states[at].ctes.iter().find(|c| c.cte.name == *name)?;
                let list = if slot.cte.query.command == ir::CmdType::Select {
                    &slot.cte.query.target_list
                } else {
                    &slot.cte.query.returning
                };
                let t = list.iter().filter(|t| !t.junk).nth((attno as usize).checked_sub(1)?)?;
                t.orig_table.is_valid().then_some((t.orig_table, t.orig_column))
            }
            _ => None,
        }
    }
}

/// `FigureColname`.
pub(crate) fn column_name(expr: &ast::Expr) -> String {
    match figure(expr) {
        Some((name, _)) => name,
        None => "?column?".into(),
    }
}

/// `FigureIndexColname`: what a column of an index over the expression is called.
pub fn index_column_name(expr: &ast::Expr) -> String {
    figure(expr).map_or_else(|| "expr".into(), |f| f.0)
}

/// A name and how good it is (2 beats the name of a cast's type, which is 1).
fn figure(expr: &ast::Expr) -> Option<(String, u8)> {
    let fixed = |name: &str| Some((name.to_owned(), 2));
    match &expr.kind {
        ExprKind::Column { parts, star: false } => parts.last().map(|p| (p.clone(), 2)),
        ExprKind::Indirection { expr: arg, steps } => {
            let field = steps.iter().rev().find_map(|s| match s {
                ast::Indirection::Field(name, _) => Some(name.clone()),
                _ => None,
            });
            match field {
                Some(name) => Some((name, 2)),
                None => figure(arg),
            }
        }
        ExprKind::Func(call) => Some((call.name.last().to_owned(), 2)),
        ExprKind::NullIf(..) => fixed("nullif"),
        ExprKind::Cast { expr: arg, type_name } => match figure(arg) {
            Some((name, 2)) => Some((name, 2)),
            other => match type_name.names.last() {
                Some(name) => Some((name.clone(), 1)),
                None => other,
            },
        },
        ExprKind::Collate { expr: arg, .. } => figure(arg),
        ExprKind::Grouping(_) => fixed("grouping"),
        ExprKind::MergeAction => fixed("merge_action"),
        ExprKind::Sublink(link) => match link.kind {
            ast::SublinkKind::Exists => fixed("exists"),
            ast::SublinkKind::Array => fixed("array"),
            ast::SublinkKind::Scalar => first_target(&link.query),
            _ => None,
        },
        ExprKind::Case { otherwise, .. } => {
            let inner = otherwise.as_ref().and_then(|e| figure(e));
            match inner {
                Some((name, 2)) => Some((name, 2)),
                _ => Some(("case".into(), 1)),
            }
        }
        ExprKind::Array(_) => fixed("array"),
        ExprKind::Row { .. } => fixed("row"),
        ExprKind::Coalesce(_) => fixed("coalesce"),
        ExprKind::MinMax { greatest, .. } => fixed(if *greatest { "greatest" } else { "least" }),
        ExprKind::SqlValue { kind, .. } => {
            use ast::SqlValueKind::*;
            fixed(match kind {
                CurrentDate => "current_date",
                CurrentTime => "current_time",
                CurrentTimestamp => "current_timestamp",
                LocalTime => "localtime",
                LocalTimestamp => "localtimestamp",
                CurrentRole => "current_role",
                CurrentUser => "current_user",
                User => "user",
                SessionUser => "session_user",
                SystemUser => "system_user",
                CurrentCatalog => "current_catalog",
                CurrentSchema => "current_schema",
            })
        }
        ExprKind::Xml(xml) => fixed(match &**xml {
            ast::XmlExpr::Concat(_) => "xmlconcat",
            ast::XmlExpr::Element { .. } => "xmlelement",
            ast::XmlExpr::Forest(_) => "xmlforest",
            ast::XmlExpr::Parse { .. } => "xmlparse",
            ast::XmlExpr::Pi { .. } => "xmlpi",
            ast::XmlExpr::Root { .. } => "xmlroot",
            ast::XmlExpr::Serialize { .. } => "xmlserialize",
            ast::XmlExpr::Exists { .. } => "xmlexists",
        }),
        ExprKind::Json(json) => fixed(match &**json {
            ast::JsonExpr::Object { .. } => "json_object",
            ast::JsonExpr::Array { .. } | ast::JsonExpr::ArrayQuery { .. } => "json_array",
            ast::JsonExpr::ObjectAgg { .. } => "json_objectagg",
            ast::JsonExpr::ArrayAgg { .. } => "json_arrayagg",
            ast::JsonExpr::Parse { .. } => "json",
            ast::JsonExpr::Scalar(_) => "json_scalar",
            ast::JsonExpr::Serialize { .. } => "json_serialize",
            ast::JsonExpr::Func(f) => match f.kind {
                ast::JsonFuncKind::Exists => "json_exists",
                ast::JsonFuncKind::Query => "json_query",
                ast::JsonFuncKind::Value => "json_value",
                ast::JsonFuncKind::Table => "json_table",
            },
        }),
        _ => None,
    }
}

/// A scalar subquery is called as its column is.
fn first_target(query: &ast::SelectStmt) -> Option<(String, u8)> {
    match &query.body {
        ast::SelectBody::Select(core) => {
            let target = core.targets.first()?;
            match &target.name {
                Some(name) => Some((name.clone(), 2)),
                None => figure(&target.expr),
            }
        }
        ast::SelectBody::Values(_) => Some(("column1".into(), 2)),
        ast::SelectBody::SetOp(op) => first_target(&op.left),
    }
}
