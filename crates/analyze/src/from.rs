//! FROM: tables, subqueries, functions, VALUES, joins.

use crate::names::{new_rte, ns_column, rights, user_alias};
use crate::state::{Analyzer, Kind, NsColumn, NsItem, State, loc};
use crate::typename::format_type;
use base::{Error, Oid, Result, err};
use catalog::{RelKind, oids};
use ir::{
    Alias, BoolOp, CoercionForm, Expr, FromItem, JoinExpr, JoinKind, Location, Query,
    RangeFunction, RteKind, Var,
};
use parser::ast;

impl Analyzer<'_> {
    /// `transformFromClause`: adds the items to the join list and the namespace.
    pub fn from_clause(&mut self, items: &[ast::FromItem]) -> Result<()> {
        for item in items {
            let (joined, mut namespace) = self.from_item(item)?;
            self.check_name_conflicts(&namespace)?;
            // What comes before is visible to LATERAL items only, for now.
            for n in &mut namespace {
                n.lateral_only = true;
                n.lateral_ok = true;
            }
            let st = self.st();
            st.joinlist.push(joined);
            st.namespace.extend(namespace);
        }
        for n in &mut self.st().namespace {
            n.lateral_only = false;
            n.lateral_ok = true;
        }
        Ok(())
    }

    /// `checkNameSpaceConflicts` against what is in the namespace.
    pub fn check_name_conflicts(&self, new: &[NsItem]) -> Result<()> {
        let st = self.cur();
        conflicts(st, &st.namespace, new)
    }

    fn from_item(&mut self, item: &ast::FromItem) -> Result<(FromItem, Vec<NsItem>)> {
        base::stack::check()?;
        match item {
            ast::FromItem::Table(table) => {
                let item = self.from_table(table)?;
                Ok((FromItem::Table(item.rtindex), vec![item]))
            }
            ast::FromItem::Subquery(sub) => {
                let item = self.from_subquery(sub)?;
                Ok((FromItem::Table(item.rtindex), vec![item]))
            }
            ast::FromItem::Function(function) => {
                let item = self.from_function(function)?;
                Ok((FromItem::Table(item.rtindex), vec![item]))
            }
            ast::FromItem::Join(join) => self.join(join),
            ast::FromItem::XmlTable(table) => {
                let item = self.from_xml_table(table)?;
                Ok((FromItem::Table(item.rtindex), vec![item]))
            }
            ast::FromItem::JsonTable(table) => {
                let item = self.from_json_table(table)?;
                Ok((FromItem::Table(item.rtindex), vec![item]))
            }
        }
    }

    fn from_table(&mut self, table: &ast::TableRef) -> Result<NsItem> {
        let at = loc(table.rel.pos);
        if table.rel.schema.is_none()
            && let Some((up, index)) = self.find_cte(&table.rel.name)
        {
            let item = self.cte_reference(table, up, index)?;
            if table.sample.is_some() {
                return Err(sample_refused(at));
            }
            return Ok(item);
        }
        let rel = self.open_relation(&table.rel)?;
        match rel.kind {
            RelKind::Index | RelKind::PartitionedIndex => {
                return Err(err!(WRONG_OBJECT_TYPE, "cannot open relation \"{}\"", rel.name)
                    .detail("This operation is not supported for indexes.")
                    .at(at));
            }
            RelKind::Composite => {
                return Err(err!(WRONG_OBJECT_TYPE, "cannot open relation \"{}\"", rel.name)
                    .detail("This operation is not supported for composite types.")
                    .at(at));
            }
            _ => {}
        }
        let lock_mode = if self.is_locked(table) { 2 } else { 1 };
        let alias = table.alias.as_ref();
        let item =
            self.add_relation(&rel, alias, !table.only, true, lock_mode, rights::SELECT, at)?;
        if let Some(sample) = &table.sample {
            if !matches!(rel.kind, RelKind::Table | RelKind::MatView | RelKind::Partitioned) {
                return Err(sample_refused(at));
            }
            let made = self.table_sample(sample)?;
            let index = item.rtindex as usize - 1;
            if let RteKind::Relation { sample, .. } = &mut self.st().rtable[index].kind {
                *sample = Some(Box::new(made));
            }
        }
        Ok(item)
    }

    fn table_sample(&mut self, sample: &ast::TableSample) -> Result<ir::TableSample> {
        let at = loc(sample.method.pos);
        let name = sample.method.last();
        let mut handler = None;
        for p in self.catalog().procs_named(None, name)? {
            if p.arg_types == [oids::INTERNAL] && p.return_type == Oid(3310) {
                handler = Some(p.oid);
            }
        }
        let Some(handler) = handler else {
            return Err(err!(UNDEFINED_OBJECT, "tablesample method {name} does not exist").at(at));
        };
        if sample.args.len() != 1 {
            return Err(err!(
                INVALID_TABLESAMPLE_ARGUMENT,
                "tablesample method {name} requires 1 argument, not {}",
                sample.args.len()
            )
            .at(at));
        }
        let mut args = Vec::new();
        for arg in &sample.args {
            let made = self.expr(arg, Kind::FromFunction)?;
            args.push(self.coerce_to_specific(made, oids::FLOAT4, "TABLESAMPLE")?);
        }
        let mut repeatable = None;
        if let Some(seed) = &sample.repeatable {
            let made = self.expr(seed, Kind::FromFunction)?;
            repeatable = Some(self.coerce_to_specific(made, oids::FLOAT8, "REPEATABLE")?);
        }
        Ok(ir::TableSample { handler, args, repeatable })
    }

    fn from_subquery(&mut self, sub: &ast::SubqueryRef) -> Result<NsItem> {
        let at = loc(sub.pos);
        self.st().lateral_active = sub.lateral;
        let locked = self.is_name_locked(sub.alias.as_ref().map(|a| a.name.as_str()));
        let state =
            State { locked_from_parent: locked, resolve_unknowns: true, ..State::default() };
        let stmt = &sub.query;
        let result = self.with_kind(Kind::FromSubselect, |a| a.nested(state, |a| a.select(stmt)));
        self.st().lateral_active = false;
        let query = result?;
        let item = self.add_subquery(query, sub.alias.as_ref(), sub.lateral, at)?;
        Ok(item)
    }

    /// Adds a subquery as an entry.
    pub fn add_subquery(
        &mut self,
        query: Query,
        alias: Option<&ast::Alias>,
        lateral: bool,
        at: Location,
    ) -> Result<NsItem> {
        let columns = output_columns(&query);
        let names = columns.iter().map(|c| c.0.clone()).collect();
        let eref = self.alias_columns(alias, "unnamed_subquery", names, &[], at)?;
        let kind = RteKind::Subquery { query: Box::new(query), view: None, barrier: false };
        let mut rte = new_rte(kind, alias.map(user_alias), eref.clone());
        rte.lateral = lateral;
        let index = self.add_rte(rte);
        let cols = columns
            .iter()
            .enumerate()
            .map(|(i, c)| ns_column(index, i as i16 + 1, c.1, c.2, c.3))
            .collect();
        let mut item = self.ns_item(index, &eref, cols);
        // Without an alias it has no name to be called by.
        item.rel_visible = alias.is_some();
        Ok(item)
    }

    fn from_function(&mut self, function: &ast::FunctionRef) -> Result<NsItem> {
        let at = loc(function.pos);
        self.st().lateral_active = true;
        let result = self.range_functions(function);
        self.st().lateral_active = false;
        let (functions, names) = result?;
        let mut columns: Vec<(String, Oid, i32, Oid)> = Vec::new();
        let mut made = Vec::new();
        let alias = function.alias.as_ref();
        let single = functions.len() == 1;
        for (i, (expr, defs)) in functions.into_iter().enumerate() {
            let own = &names[i];
            let chosen = alias.filter(|_| single).map_or(own.as_str(), |a| &a.name);
            let from = columns.len();
            let info = self.function_columns(&expr, defs, chosen, own, &mut columns)?;
            let count = (columns.len() - from) as u32;
            made.push(RangeFunction { expr, column_count: count, ..info });
        }
        if function.ordinality {
            columns.push(("ordinality".into(), oids::INT8, -1, Oid::INVALID));
        }
        let own_name = names.first().map_or("", String::as_str);
        let col_names = columns.iter().map(|c| c.0.clone()).collect();
        let eref = self.alias_columns(alias, own_name, col_names, &[], at)?;
        let lateral = function.lateral || made.iter().any(|f| has_local_vars(&f.expr));
        let kind = RteKind::Function { functions: made, ordinality: function.ordinality };
        let mut rte = new_rte(kind, alias.map(user_alias), eref.clone());
        rte.lateral = lateral;
        let index = self.add_rte(rte);
        let cols = columns
            .iter()
            .enumerate()
            .map(|(i, c)| ns_column(index, i as i16 + 1, c.1, c.2, c.3))
            .collect();
        Ok(self.ns_item(index, &eref, cols))
    }

    /// The calls and the name each would have as a column.
    #[allow(clippy::type_complexity)]
    fn range_functions<'f>(
        &mut self,
        function: &'f ast::FunctionRef,
    ) -> Result<(Vec<(Expr, &'f [ast::ColumnDef])>, Vec<String>)> {
        let mut calls = Vec::new();
        let mut names = Vec::new();
        for (expr, defs) in &function.functions {
            // unnest of several arguments is several unnests.
            if let ast::ExprKind::Func(call) = &expr.kind
                && call.name.parts == ["unnest"]
                && call.args.len() > 1
                && defs.is_empty()
                && function.columns.is_empty()
            {
                for arg in &call.args {
                    let one = ast::FuncCall::new(
                        ast::Name::system("unnest", call.name.pos),
                        vec![arg.clone()],
                    );
                    let one = ast::Expr { kind: ast::ExprKind::Func(Box::new(one)), pos: expr.pos };
                    let mut made = self.expr(&one, Kind::FromFunction)?;
                    crate::collate::assign(self, &mut made)?;
                    calls.push((made, &defs[..]));
                    names.push("unnest".into());
                }
                continue;
            }
            let before = self.cur().srf_count;
            let mut made = self.expr(expr, Kind::FromFunction)?;
            let own = matches!(&made, Expr::Func(f) if f.ret_set) as u32;
            if self.cur().srf_count > before + own {
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "set-returning functions must appear at top level of FROM"
                )
                .at(nested_srf(&made)));
            }
            crate::collate::assign(self, &mut made)?;
            let defs =
                if defs.is_empty() && !function.rows_from { &function.columns } else { defs };
            calls.push((made, &defs[..]));
            names.push(crate::target::column_name(expr));
        }
        if function.rows_from && !function.columns.is_empty() {
            let at = loc(function.columns[0].pos);
            if calls.len() > 1 {
                return Err(err!(
                    SYNTAX_ERROR,
                    "ROWS FROM() with multiple functions cannot have a column definition list"
                )
                .hint("Put a separate column definition list for each function inside ROWS FROM().")
                .at(at));
            }
            calls[0].1 = &function.columns;
        }
        if function.ordinality && !function.columns.is_empty() {
            return Err(err!(
                SYNTAX_ERROR,
                "WITH ORDINALITY cannot be used with a column definition list"
            )
            .hint("Put the column definition list inside ROWS FROM().")
            .at(loc(function.columns[0].pos)));
        }
        Ok((calls, names))
    }

    /// Appends the columns that a function in FROM gives.
    fn function_columns(
        &mut self,
        expr: &Expr,
        defs: &[ast::ColumnDef],
        chosen: &str,
        own: &str,
        columns: &mut Vec<(String, Oid, i32, Oid)>,
    ) -> Result<RangeFunction> {
        let mut info = RangeFunction {
            expr: Expr::null_const(oids::UNKNOWN, -1, Oid::INVALID),
            column_count: 0,
            col_names: Vec::new(),
            col_types: Vec::new(),
            col_typmods: Vec::new(),
            col_collations: Vec::new(),
        };
        let ty = expr.ty();
        let outs = self.output_params(expr)?;
        if !defs.is_empty() {
            let at = loc(defs[0].pos);
            if outs.is_some() {
                return Err(err!(
                    SYNTAX_ERROR,
                    "a column definition list is redundant for a function with OUT parameters"
                )
                .at(at));
            }
            if ty != oids::RECORD {
                let message = if self.type_desc(ty)?.relation.is_valid() {
                    "a column definition list is redundant for a function returning a named \
                     composite type"
                } else {
                    "a column definition list is only allowed for functions returning \"record\""
                };
                return Err(err!(SYNTAX_ERROR, "{message}").at(at));
            }
            for def in defs {
                let Some(name) = &def.type_name else {
                    return Err(Error::internal("column definition without a type"));
                };
                let (ty, typmod) = self.type_of_name(name)?;
                let collation = self.column_collation(def, ty)?;
                columns.push((def.name.clone(), ty, typmod, collation));
                info.col_names.push(def.name.clone());
                info.col_types.push(ty);
                info.col_typmods.push(typmod);
                info.col_collations.push(collation);
            }
            return Ok(info);
        }
        if let Some(outs) = outs {
            columns.extend(outs);
            return Ok(info);
        }
        let desc = self.type_desc(crate::coerce::base_type(self.catalog(), ty)?)?;
        if desc.relation.is_valid() {
            let rel = self.catalog().relation(desc.relation)?;
            for a in rel.tuple.attrs.iter().filter(|a| !a.dropped) {
                columns.push((a.name.to_string(), a.type_oid, a.typmod, a.collation));
            }
            return Ok(info);
        }
        if ty == oids::RECORD {
            return Err(err!(
                SYNTAX_ERROR,
                "a column definition list is required for functions returning \"record\""
            )
            .at(expr.location()));
        }
        if desc.kind == b'p' && !matches!(ty, oids::CSTRING | oids::VOID) && desc.elem.0 == 0 {
            return Err(err!(
                DATATYPE_MISMATCH,
                "function \"{own}\" in FROM has unsupported return type {}",
                format_type(self.catalog(), ty)
            )
            .at(expr.location()));
        }
        // A single OUT parameter names the column, whatever the alias.
        let out = self.single_output(expr)?;
        let name = out.unwrap_or_else(|| chosen.to_owned());
        columns.push((name, ty, expr.typmod(), expr.collation()));
        Ok(info)
    }

    /// The columns of a function's OUT parameters, if it has several.
    pub fn output_params(&self, expr: &Expr) -> Result<Option<Vec<(String, Oid, i32, Oid)>>> {
        let Expr::Func(f) = expr else { return Ok(None) };
        if f.ret_type != oids::RECORD {
            return Ok(None);
        }
        let p = self.catalog().proc(f.func)?;
        let (Some(types), Some(modes)) = (&p.all_arg_types, &p.arg_modes) else {
            return Ok(None);
        };
        let mut declared: Vec<Oid> = p.arg_types.clone();
        let actual: Vec<Oid> = f.args.iter().map(Expr::ty).collect();
        let mut outs = Vec::new();
        for (i, ty) in types.iter().enumerate() {
            if !matches!(modes[i], b'o' | b'b' | b't') {
                continue;
            }
            let name = p.arg_names.as_ref().and_then(|n| n.get(i)).cloned().unwrap_or_default();
            let name = if name.is_empty() { format!("column{}", outs.len() + 1) } else { name };
            let ty = if crate::coerce::is_polymorphic(*ty) {
                declared.clone_from(&p.arg_types);
                self.enforce_generic(&actual, &mut declared, *ty, false)?
            } else {
                *ty
            };
            outs.push((name, ty, -1, self.collation_of_type(ty)?));
        }
        Ok((outs.len() > 1).then_some(outs))
    }

    /// The name of a function's only OUT parameter.
    fn single_output(&self, expr: &Expr) -> Result<Option<String>> {
        let Expr::Func(f) = expr else { return Ok(None) };
        let p = self.catalog().proc(f.func)?;
        let (Some(modes), Some(names)) = (&p.arg_modes, &p.arg_names) else { return Ok(None) };
        let mut outs = modes.iter().zip(names).filter(|(m, _)| matches!(m, b'o' | b'b' | b't'));
        match (outs.next(), outs.next()) {
            (Some((_, name)), None) if !name.is_empty() => Ok(Some(name.clone())),
            _ => Ok(None),
        }
    }

    fn column_collation(&self, def: &ast::ColumnDef, ty: Oid) -> Result<Oid> {
        match &def.collation {
            Some(name) => self.collation_named(name),
            None => self.collation_of_type(ty),
        }
    }

    // Joins.

    fn join(&mut self, join: &ast::Join) -> Result<(FromItem, Vec<NsItem>)> {
        let kind = match join.kind {
            ast::JoinKind::Cross | ast::JoinKind::Inner => JoinKind::Inner,
            ast::JoinKind::Left => JoinKind::Left,
            ast::JoinKind::Right => JoinKind::Right,
            ast::JoinKind::Full => JoinKind::Full,
        };
        let (left, mut left_ns) = self.from_item(&join.left)?;
        let (right, right_ns) = self.join_right(join, kind, &mut left_ns)?;
        {
            let st = self.cur();
            conflicts(st, &left_ns, &right_ns)?;
        }
        let mut namespace = left_ns;
        let left_len = namespace.len();
        namespace.extend(right_ns);

        let left_cols = visible_columns(&namespace[..left_len]);
        let right_cols = visible_columns(&namespace[left_len..]);
        let using: Vec<ast::Ident> = match (&join.using, join.natural) {
            (Some(u), _) => u.columns.clone(),
            (None, true) => natural_columns(&left_cols, &right_cols),
            _ => Vec::new(),
        };
        let rtindex = self.cur().rtable.len() as u32 + 1;
        let merged = self.merge_columns(join, kind, &using, &left_cols, &right_cols, rtindex)?;
        let mut quals = None;
        if !using.is_empty() {
            quals = Some(self.with_kind(Kind::JoinUsing, |a| a.using_quals(&merged))?);
        } else if let Some(on) = &join.on {
            quals = Some(self.join_on(on, &namespace)?);
        }
        self.finish_join(join, kind, (left, right), namespace, left_len, using, merged, quals)
    }

    /// The right side of a join; LATERAL references in it may see the left one.
    fn join_right(
        &mut self,
        join: &ast::Join,
        kind: JoinKind,
        left_ns: &mut [NsItem],
    ) -> Result<(FromItem, Vec<NsItem>)> {
        let ok = matches!(kind, JoinKind::Inner | JoinKind::Left);
        for n in left_ns.iter_mut() {
            n.lateral_only = true;
            n.lateral_ok = ok;
        }
        let before = self.cur().namespace.len();
        self.st().namespace.extend(left_ns.iter().cloned());
        let result = self.from_item(&join.right);
        self.st().namespace.truncate(before);
        for n in left_ns.iter_mut() {
            n.lateral_only = false;
            n.lateral_ok = true;
        }
        result
    }

    /// ON sees only what is joined (and LATERAL references of an outer FROM item).
    fn join_on(&mut self, on: &ast::Expr, namespace: &[NsItem]) -> Result<Expr> {
        let before = std::mem::replace(&mut self.st().namespace, namespace.to_vec());
        let made = self.expr(on, Kind::JoinOn);
        self.st().namespace = before;
        let made = made?;
        self.coerce_to_boolean(made, "JOIN/ON")
    }

    /// One entry a USING column: its two sides and the merged expression.
    fn merge_columns(
        &mut self,
        join: &ast::Join,
        kind: JoinKind,
        using: &[ast::Ident],
        left: &[(String, NsColumn)],
        right: &[(String, NsColumn)],
        _rtindex: u32,
    ) -> Result<Vec<Merged>> {
        let mut merged: Vec<Merged> = Vec::new();
        for ident in using {
            let name = &ident.name;
            let at = loc(ident.pos);
            if join.using.is_some() && merged.iter().any(|m| m.name == *name) {
                return Err(err!(
                    DUPLICATE_COLUMN,
                    "column name \"{name}\" appears more than once in USING clause"
                )
                .at(at));
            }
            let l = find_one(left, name, "left", at)?;
            let r = find_one(right, name, "right", at)?;
            let (lvar, rvar) = (self.ns_var(&left[l].1), self.ns_var(&right[r].1));
            let (lvar, rvar) = (Expr::Var(lvar), Expr::Var(rvar));
            let mut out = self.merged_var(kind, &lvar, &rvar)?;
            crate::collate::assign(self, &mut out)?;
            merged.push(Merged { name: name.clone(), left: l, right: r, lvar, rvar, out });
        }
        Ok(merged)
    }

    fn ns_var(&mut self, column: &NsColumn) -> Var {
        let mut var =
            Var::new(column.varno, column.attno, column.ty, column.typmod, column.collation);
        var.syn_no = column.syn_no;
        var.syn_attno = column.syn_attno;
        self.note_nulling(&mut var);
        var
    }

    /// `buildMergedJoinVar`.
    fn merged_var(&mut self, kind: JoinKind, l: &Expr, r: &Expr) -> Result<Expr> {
        let ty = self.common_type(&[l, r], Some("JOIN/USING"))?.unwrap_or(oids::TEXT);
        let typmod = crate::coerce::common_typmod([l, r].into_iter(), ty);
        let form = CoercionForm::ImplicitCast;
        let cx = catalog::CastContext::Implicit;
        let mut side = |e: &Expr| -> Result<Expr> {
            if e.ty() != ty {
                let source = e.ty();
                self.coerce(e.clone(), source, ty, typmod, cx, form, None)
            } else if e.typmod() != typmod {
                Ok(crate::coerce::relabel(e.clone(), ty, typmod, form, None))
            } else {
                Ok(e.clone())
            }
        };
        let (lnode, rnode) = (side(l)?, side(r)?);
        Ok(match kind {
            JoinKind::Inner => {
                // Prefer a plain column to a coerced one.
                if matches!(lnode, Expr::Var(_)) || !matches!(rnode, Expr::Var(_)) {
                    lnode
                } else {
                    rnode
                }
            }
            JoinKind::Left => lnode,
            JoinKind::Right => rnode,
            _ => Expr::Coalesce {
                ty,
                collation: Oid::INVALID,
                args: vec![lnode, rnode],
                location: None,
            },
        })
    }

    fn using_quals(&mut self, merged: &[Merged]) -> Result<Expr> {
        let mut quals = Vec::new();
        for m in merged {
            for e in [&m.lvar, &m.rvar] {
                if let Expr::Var(v) = e {
                    let v = v.clone();
                    self.note_read(&v);
                }
            }
            let op = crate::oper::simple_op("=", ast::NO_POS);
            let eq = self.make_op(&op, Some(m.lvar.clone()), m.rvar.clone(), None)?;
            quals.push(self.coerce_to_boolean(eq, "JOIN/USING")?);
        }
        Ok(match quals.len() {
            1 => quals.remove(0),
            _ => Expr::Bool { op: BoolOp::And, args: quals, location: None },
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn finish_join(
        &mut self,
        join: &ast::Join,
        kind: JoinKind,
        (left, right): (FromItem, FromItem),
        mut namespace: Vec<NsItem>,
        left_len: usize,
        using: Vec<ast::Ident>,
        merged: Vec<Merged>,
        quals: Option<Expr>,
    ) -> Result<(FromItem, Vec<NsItem>)> {
        let left_cols = visible_columns(&namespace[..left_len]);
        let right_cols = visible_columns(&namespace[left_len..]);
        let mut names = Vec::new();
        let mut alias_vars = Vec::new();
        let mut cols = Vec::new();
        let (mut lnos, mut rnos) = (Vec::new(), Vec::new());
        let rtindex = self.cur().rtable.len() as u32 + 1;
        for m in &merged {
            names.push(m.name.clone());
            alias_vars.push(m.out.clone());
            lnos.push(m.left as i16 + 1);
            rnos.push(m.right as i16 + 1);
            let number = names.len() as i16;
            // A merged column that is one side's is called by that side, else by the join.
            cols.push(match &m.out {
                Expr::Var(v) => NsColumn {
                    syn_no: rtindex,
                    syn_attno: number,
                    ..ns_column(v.varno, v.attno, v.ty, v.typmod, v.collation)
                },
                e => ns_column(rtindex, number, e.ty(), e.typmod(), e.collation()),
            });
        }
        for (side, list) in [&left_cols, &right_cols].into_iter().enumerate() {
            for (i, (name, column)) in list.iter().enumerate() {
                let used = |m: &Merged| if side == 0 { m.left == i } else { m.right == i };
                if merged.iter().any(used) {
                    continue;
                }
                names.push(name.clone());
                alias_vars.push(Expr::Var(self.ns_var(column)));
                lnos.push(if side == 0 { i as i16 + 1 } else { 0 });
                rnos.push(if side == 1 { i as i16 + 1 } else { 0 });
                let number = names.len() as i16;
                cols.push(NsColumn { syn_no: rtindex, syn_attno: number, ..column.clone() });
            }
        }
        if names.len() > i16::MAX as usize {
            return Err(err!(TOO_MANY_COLUMNS, "joins can have at most {} columns", i16::MAX));
        }
        let eref =
            self.alias_columns(join.alias.as_ref(), "unnamed_join", names, &[], loc(join.pos))?;
        let using_alias = join.using.as_ref().and_then(|u| u.alias.clone());
        let using_names: Vec<String> = using.iter().map(|u| u.name.clone()).collect();
        let rte_kind = RteKind::Join {
            kind,
            alias_vars,
            merged: merged.len() as u32,
            left_cols: lnos,
            right_cols: rnos,
            using_alias: using_alias
                .clone()
                .map(|name| Alias { name, columns: using_names.clone() }),
        };
        let index =
            self.add_rte(new_rte(rte_kind, join.alias.as_ref().map(user_alias), eref.clone()));
        debug_assert_eq!(index, rtindex);
        self.mark_nulled(kind, index, &left, &right);
        if let Some(name) = using_alias {
            let columns = eref.columns[..merged.len()].to_vec();
            let mut item =
                self.ns_item(index, &Alias { name, columns }, cols[..merged.len()].to_vec());
            item.cols_visible = false;
            conflicts(self.cur(), &namespace, std::slice::from_ref(&item))?;
            namespace.push(item);
        }
        // Tables and USING's alias stay visible by name unless the join has an alias, columns not.
        if join.alias.is_some() {
            namespace.clear();
        } else {
            for n in &mut namespace {
                n.cols_visible = false;
            }
        }
        let mut item = self.ns_item(index, &eref, cols);
        item.rel_visible = join.alias.is_some();
        namespace.push(item);
        let joined = FromItem::Join(Box::new(JoinExpr {
            kind,
            natural: join.natural,
            left,
            right,
            using: using_names,
            using_alias: join.using.as_ref().and_then(|u| u.alias.clone()),
            quals,
            rtindex: index,
        }));
        Ok((joined, namespace))
    }

    /// Columns of the side that an outer join fills with nulls know it from now on.
    fn mark_nulled(&mut self, kind: JoinKind, join: u32, left: &FromItem, right: &FromItem) {
        let mut nulled = Vec::new();
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            tables_of(left, &mut nulled);
        }
        if matches!(kind, JoinKind::Left | JoinKind::Full) {
            tables_of(right, &mut nulled);
        }
        for index in nulled {
            self.st().nulling[index as usize - 1].push(join);
        }
    }
}

/// The place of a set-returning function within another call.
fn nested_srf(expr: &Expr) -> Location {
    let mut place = None;
    ir::walk::children(expr, &mut |c| {
        ir::walk::each(c, &mut |e| {
            if let Expr::Func(f) = e
                && f.ret_set
            {
                place = place.or(f.location);
            }
        });
    });
    place
}

/// A USING column.
pub(crate) struct Merged {
    name: String,
    left: usize,
    right: usize,
    lvar: Expr,
    rvar: Expr,
    out: Expr,
}

/// All range-table indexes in a join tree, joins included.
fn tables_of(item: &FromItem, out: &mut Vec<u32>) {
    match item {
        FromItem::Table(index) => out.push(*index),
        FromItem::Join(join) => {
            tables_of(&join.left, out);
            tables_of(&join.right, out);
            out.push(join.rtindex);
        }
        FromItem::From(from) => from.items.iter().for_each(|i| tables_of(i, out)),
    }
}

/// The columns that a join's side offers, in order.
fn visible_columns(items: &[NsItem]) -> Vec<(String, NsColumn)> {
    let mut list = Vec::new();
    for item in items.iter().filter(|i| i.cols_visible) {
        for (name, column) in item.columns.iter().zip(&item.cols) {
            if column.varno != 0 {
                list.push((name.clone(), column.clone()));
            }
        }
    }
    list
}

fn natural_columns(left: &[(String, NsColumn)], right: &[(String, NsColumn)]) -> Vec<ast::Ident> {
    let common = left.iter().filter(|l| right.iter().any(|r| r.0 == l.0));
    common.map(|l| ast::Ident { name: l.0.clone(), pos: ast::NO_POS }).collect()
}

fn find_one(cols: &[(String, NsColumn)], name: &str, side: &str, at: Location) -> Result<usize> {
    let mut hits = cols.iter().enumerate().filter(|(_, c)| c.0 == name);
    let Some((first, _)) = hits.next() else {
        return Err(err!(
            UNDEFINED_COLUMN,
            "column \"{name}\" specified in USING clause does not exist in {side} table"
        )
        .at(at));
    };
    if hits.next().is_some() {
        return Err(err!(
            AMBIGUOUS_COLUMN,
            "common column name \"{name}\" appears more than once in {side} table"
        )
        .at(at));
    }
    Ok(first)
}

fn conflicts(st: &State, old: &[NsItem], new: &[NsItem]) -> Result<()> {
    let relid = |item: &NsItem| match &st.rtable[item.rtindex as usize - 1] {
        ir::Rte { kind: RteKind::Relation { relid, .. }, alias: None, .. } => Some(*relid),
        _ => None,
    };
    for b in new.iter().filter(|b| b.rel_visible) {
        for a in old.iter().filter(|a| a.rel_visible && a.name == b.name) {
            // The same name of two schemas is no conflict.
            if let (Some(x), Some(y)) = (relid(a), relid(b))
                && x != y
            {
                continue;
            }
            return Err(err!(
                DUPLICATE_ALIAS,
                "table name \"{}\" specified more than once",
                a.name
            ));
        }
    }
    Ok(())
}

fn sample_refused(at: Location) -> Error {
    err!(
        FEATURE_NOT_SUPPORTED,
        "TABLESAMPLE clause can only be applied to tables and materialized views"
    )
    .at(at)
}

pub(crate) fn has_local_vars(expr: &Expr) -> bool {
    ir::walk::any_levels(expr, 0, &mut |e, level| matches!(e, Expr::Var(v) if v.levels_up == level))
}

/// Names, types, modifiers and collations of a query's visible output.
pub(crate) fn output_columns(query: &Query) -> Vec<(String, Oid, i32, Oid)> {
    let list =
        if query.command == ir::CmdType::Select { &query.target_list } else { &query.returning };
    list.iter()
        .filter(|t| !t.junk)
        .map(|t| {
            let name = t.name.clone().unwrap_or_else(|| "?column?".into());
            (name, t.expr.ty(), t.expr.typmod(), t.expr.collation())
        })
        .collect()
}
