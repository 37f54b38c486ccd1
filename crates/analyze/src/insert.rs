//! INSERT.

use crate::names::{new_rte, ns_column, relation_columns, rights};
use crate::state::{Analyzer, Kind, NsItem, State, loc};
use base::{Error, Oid, Result, err};
use catalog::{RelKind, RelationDesc, oids};
use ir::{
    Alias, CmdType, ConflictAction, Expr, FromItem, InferenceElem, OnConflict, Overriding, Query,
    RteKind, TargetEntry, Var,
};
use parser::ast::{self, ExprKind, SelectBody};
use std::sync::Arc;

impl Analyzer<'_> {
    /// `setTargetTable`: the table that is modified becomes entry 1 (or later) and the target.
    pub fn set_target_table(
        &mut self,
        table: &ast::TableRef,
        inherit: bool,
        also_source: bool,
        required: u32,
    ) -> Result<Arc<RelationDesc>> {
        let at = loc(table.rel.pos);
        if table.rel.schema.is_none() && self.find_cte(&table.rel.name).is_some() {
            return Err(err!(
                UNDEFINED_TABLE,
                "relation \"{}\" cannot be the target of a modifying statement",
                table.rel.name
            )
            .at(at));
        }
        let rel = self.open_relation(&table.rel)?;
        check_modifiable(&rel, at)?;
        let alias = table.alias.as_ref();
        let item = self.add_relation(&rel, alias, inherit, false, 3, required, at)?;
        if also_source {
            self.st().joinlist.push(FromItem::Table(item.rtindex));
            self.st().rtable[item.rtindex as usize - 1].in_from = true;
            self.st().namespace.push(item.clone());
        }
        self.st().target = Some(item);
        Ok(rel)
    }

    /// `transformInsertStmt`.
    pub fn insert(&mut self, stmt: &ast::InsertStmt) -> Result<Query> {
        let mut query = Query::new(CmdType::Insert);
        self.st().is_insert = true;
        if let Some(with) = &stmt.with {
            self.with_clause(with)?;
        }
        query.overriding = overriding(stmt.overriding);
        // In a rule, the query that rows are inserted from ranges over OLD and NEW itself.
        let mut rows = State::default();
        if self.cur().in_rule && stmt.source.as_ref().is_some_and(|s| !is_values(s)) {
            let st = self.st();
            rows.rtable = std::mem::take(&mut st.rtable);
            rows.nulling = std::mem::take(&mut st.nulling);
            rows.namespace = std::mem::take(&mut st.namespace);
        }
        let update = stmt.on_conflict.as_ref().is_some_and(|c| c.update.is_some());
        let required = rights::INSERT | if update { rights::UPDATE } else { 0 };
        let rel = self.set_target_table(&stmt.target, false, false, required)?;
        let index = self.cur().target.as_ref().map_or(1, |t| t.rtindex);
        query.result_relation = index;
        let (columns, numbers) = self.insert_columns(&rel, &stmt.columns)?;
        let exprs = self.insert_source(stmt, &rel, &columns, &numbers, rows)?;
        let mut targets = Vec::with_capacity(exprs.len());
        for ((expr, column), number) in exprs.into_iter().zip(&columns).zip(&numbers) {
            targets.push(TargetEntry::new(expr, *number, Some(column.name.clone()), false));
        }
        if let Some(perms) = &mut self.st().rtable[index as usize - 1].perms {
            perms.inserted = numbers.clone();
            perms.inserted.sort_unstable();
            perms.inserted.dedup();
        }
        query.target_list = targets;
        if stmt.on_conflict.is_some() || stmt.returning.is_some() {
            self.st().namespace.clear();
            let item = self.target_item();
            self.st().namespace.push(item);
        }
        if let Some(conflict) = &stmt.on_conflict {
            query.on_conflict = Some(Box::new(self.on_conflict(conflict, &rel)?));
        }
        if let Some(returning) = &stmt.returning {
            query.returning = self.returning(returning, Kind::Returning)?;
        }
        self.finish_query(&mut query, None);
        crate::collate::assign_query(self, &mut query)?;
        Ok(query)
    }

    /// The modified table as something that expressions may name.
    pub fn target_item(&self) -> NsItem {
        let mut item = self.cur().target.clone().unwrap_or(NsItem {
            name: String::new(),
            columns: Vec::new(),
            rtindex: 1,
            cols: Vec::new(),
            rel_visible: false,
            cols_visible: false,
            lateral_only: false,
            lateral_ok: true,
            returning: ir::ReturningKind::Default,
        });
        item.rel_visible = true;
        item.cols_visible = true;
        item
    }

    /// `checkInsertTargets`: the columns, all of the table's if none are named.
    pub fn insert_columns(
        &self,
        rel: &RelationDesc,
        columns: &[ast::AssignTarget],
    ) -> Result<(Vec<ast::AssignTarget>, Vec<i16>)> {
        if columns.is_empty() {
            let live = rel.tuple.attrs.iter().enumerate().filter(|(_, a)| !a.dropped);
            return Ok(live
                .map(|(i, a)| {
                    let target = ast::AssignTarget {
                        name: a.name.to_string(),
                        steps: Vec::new(),
                        pos: ast::NO_POS,
                    };
                    (target, i as i16 + 1)
                })
                .unzip());
        }
        let mut numbers: Vec<i16> = Vec::new();
        let mut whole: Vec<i16> = Vec::new();
        for column in columns {
            let number = self.target_column(rel, column)?;
            // A column may come several times only if each time a part of it is meant.
            let twice = if column.steps.is_empty() {
                numbers.contains(&number)
            } else {
                whole.contains(&number)
            };
            if twice {
                return Err(err!(
                    DUPLICATE_COLUMN,
                    "column \"{}\" specified more than once",
                    column.name
                )
                .at(loc(column.pos)));
            }
            if column.steps.is_empty() {
                whole.push(number);
            }
            numbers.push(number);
        }
        Ok((columns.to_vec(), numbers))
    }

    fn insert_source(
        &mut self,
        stmt: &ast::InsertStmt,
        rel: &RelationDesc,
        columns: &[ast::AssignTarget],
        numbers: &[i16],
        rows: State,
    ) -> Result<Vec<Expr>> {
        let Some(source) = &stmt.source else { return Ok(Vec::new()) };
        if let (SelectBody::Values(lists), true) = (&source.body, is_values(source)) {
            if let Some(with) = &source.with {
                if stmt.with.is_some() {
                    return Err(Error::unsupported("WITH both before INSERT and before VALUES")
                        .at(loc(with.pos)));
                }
                self.with_clause(with)?;
            }
            if let [list] = lists.as_slice() {
                // A single row is the target list itself.
                let row = self.row_values(list, Kind::ValuesSingle)?;
                return self.insert_row(stmt, row, rel, columns, numbers, false);
            }
            return self.insert_values(stmt, lists, rel, columns, numbers);
        }
        self.insert_select(stmt, source, rel, columns, numbers, rows)
    }

    /// Several rows of VALUES become an entry of the range table.
    fn insert_values(
        &mut self,
        stmt: &ast::InsertStmt,
        lists: &[Vec<ast::Expr>],
        rel: &RelationDesc,
        columns: &[ast::AssignTarget],
        numbers: &[i16],
    ) -> Result<Vec<Expr>> {
        let mut rows: Vec<Vec<Expr>> = Vec::with_capacity(lists.len());
        for list in lists {
            let row = self.row_values(list, Kind::Values)?;
            if rows.first().is_some_and(|first| first.len() != row.len()) {
                let at = list.first().and_then(|e| loc(e.location()));
                return Err(err!(SYNTAX_ERROR, "VALUES lists must all be the same length").at(at));
            }
            let row = self.insert_row(stmt, row, rel, columns, numbers, true)?;
            rows.push(row);
        }
        let width = rows.first().map_or(0, Vec::len);
        let (mut types, mut typmods, mut collations) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..width {
            types.push(rows[0][i].ty());
            let ty = types[i];
            typmods.push(crate::coerce::common_typmod(rows.iter().map(|r| &r[i]), ty));
            collations.push(Oid::INVALID);
        }
        let lateral = rows.iter().flatten().any(|e| {
            ir::walk::any_levels(
                e,
                0,
                &mut |e, level| matches!(e, Expr::Var(v) if v.levels_up == level),
            )
        });
        for e in rows.iter_mut().flatten() {
            crate::collate::assign(self, e)?;
        }
        let item = self.add_values(rows, types, typmods, collations);
        let index = item.rtindex;
        self.st().rtable[index as usize - 1].lateral = lateral;
        self.st().joinlist.push(FromItem::Table(index));
        let mut vars = Vec::with_capacity(width);
        for n in 1..=width as i16 {
            let c = &item.cols[n as usize - 1];
            vars.push(Expr::Var(Var::new(index, n, c.ty, c.typmod, c.collation)));
        }
        // The rows have the columns' types already, except where parts are assigned.
        self.insert_parts(vars, rel, columns, numbers)
    }

    fn insert_select(
        &mut self,
        stmt: &ast::InsertStmt,
        source: &ast::SelectStmt,
        rel: &RelationDesc,
        columns: &[ast::AssignTarget],
        numbers: &[i16],
        rows: State,
    ) -> Result<Vec<Expr>> {
        // The query does not see the target table, and its literals take the columns' types.
        let state = State { resolve_unknowns: false, ..rows };
        let query = self.nested(state, |a| a.select(source))?;
        let columns_out: Vec<TargetEntry> =
            query.target_list.iter().filter(|t| !t.junk).cloned().collect();
        let names = crate::from::output_columns(&query).into_iter().map(|c| c.0).collect();
        let eref = Alias { name: "*SELECT*".into(), columns: names };
        let kind = RteKind::Subquery { query: Box::new(query), view: None, barrier: false };
        let mut rte = new_rte(kind, Some(Alias { name: eref.name.clone(), columns: vec![] }), eref);
        rte.in_from = false;
        let index = self.add_rte(rte);
        self.st().joinlist.push(FromItem::Table(index));
        let mut row = Vec::with_capacity(columns_out.len());
        for (i, t) in columns_out.iter().enumerate() {
            let literal = matches!(t.expr, Expr::Const(_) | Expr::Param(_));
            if literal && t.expr.ty() == oids::UNKNOWN {
                row.push(t.expr.clone());
                continue;
            }
            let (ty, typmod) = (t.expr.ty(), t.expr.typmod());
            let mut var = Var::new(index, i as i16 + 1, ty, typmod, t.expr.collation());
            var.location = t.expr.location();
            row.push(Expr::Var(var));
        }
        self.insert_row(stmt, row, rel, columns, numbers, false)
    }

    /// `transformInsertRow`.
    fn insert_row(
        &mut self,
        stmt: &ast::InsertStmt,
        row: Vec<Expr>,
        rel: &RelationDesc,
        columns: &[ast::AssignTarget],
        numbers: &[i16],
        strip: bool,
    ) -> Result<Vec<Expr>> {
        if row.len() > columns.len() {
            let place = row[columns.len()].location();
            return Err(
                err!(SYNTAX_ERROR, "INSERT has more expressions than target columns").at(place)
            );
        }
        if !stmt.columns.is_empty() && row.len() < columns.len() {
            let place = loc(columns[row.len()].pos);
            let mut error = err!(SYNTAX_ERROR, "INSERT has more target columns than expressions");
            // ROW(..) or extra parentheses around the list are a common mistake.
            if let [Expr::Row(inner)] = row.as_slice()
                && inner.args.len() == columns.len()
            {
                error = error.hint(
                    "The insertion source is a row expression containing the same number of \
                     columns expected by the INSERT. Did you accidentally use extra parentheses?",
                );
            }
            return Err(error.at(place));
        }
        let mut result = Vec::with_capacity(row.len());
        for (i, value) in row.into_iter().enumerate() {
            let column = &columns[i];
            let at = loc(column.pos);
            let steps: &[ast::Indirection] = &column.steps;
            if strip && !steps.is_empty() {
                // Parts are put together after the rows are made: here only the part's value.
                result.push(self.part_value(value, rel, numbers[i], column)?);
                continue;
            }
            let kind = Kind::InsertTarget;
            result.push(self.assigned(value, kind, rel, numbers[i], &column.name, steps, at)?);
        }
        Ok(result)
    }

    /// The value of a part in a multi-row VALUES, as the part's type.
    fn part_value(
        &mut self,
        value: Expr,
        rel: &RelationDesc,
        number: i16,
        column: &ast::AssignTarget,
    ) -> Result<Expr> {
        let at = loc(column.pos);
        let kind = Kind::InsertTarget;
        let whole = self.assigned(value, kind, rel, number, &column.name, &column.steps, at)?;
        innermost(whole)
    }

    fn insert_parts(
        &mut self,
        vars: Vec<Expr>,
        rel: &RelationDesc,
        columns: &[ast::AssignTarget],
        numbers: &[i16],
    ) -> Result<Vec<Expr>> {
        let mut result = Vec::with_capacity(vars.len());
        for (i, var) in vars.into_iter().enumerate() {
            let column = &columns[i];
            if column.steps.is_empty() {
                result.push(var);
                continue;
            }
            let (kind, at) = (Kind::InsertTarget, loc(column.pos));
            let steps = &column.steps;
            result.push(self.assigned(var, kind, rel, numbers[i], &column.name, steps, at)?);
        }
        Ok(result)
    }

    // ON CONFLICT.

    fn on_conflict(
        &mut self,
        conflict: &ast::OnConflict,
        rel: &RelationDesc,
    ) -> Result<OnConflict> {
        let at = loc(conflict.pos);
        let mut made = OnConflict {
            action: ConflictAction::Nothing,
            arbiter: Vec::new(),
            arbiter_where: None,
            constraint: None,
            set: Vec::new(),
            where_: None,
            excluded_rtindex: 0,
            excluded_target: Vec::new(),
        };
        if conflict.update.is_some() {
            made.action = ConflictAction::Update;
            made.excluded_rtindex = self.add_excluded(rel)?;
        }
        self.conflict_arbiter(conflict, rel, &mut made, at)?;
        if let Some(update) = &conflict.update {
            // `excluded` is visible in SET and WHERE only.
            let index = made.excluded_rtindex;
            let eref = self.cur().rtable[index as usize - 1].eref.clone();
            let cols = relation_columns(rel, index);
            let excluded = self.ns_item(index, &eref, cols);
            self.st().namespace.push(excluded);
            made.set = self.set_list(rel, &update.set, Kind::UpdateSource)?;
            made.where_ = self.where_clause(update.where_clause.as_ref(), Kind::Where)?;
            self.st().namespace.pop();
            for (i, a) in rel.tuple.attrs.iter().enumerate() {
                let number = i as i16 + 1;
                let (expr, name) = if a.dropped {
                    (Expr::null_const(oids::INT4, -1, Oid::INVALID), None)
                } else {
                    let var = Var::new(index, number, a.type_oid, a.typmod, a.collation);
                    (Expr::Var(var), Some(a.name.to_string()))
                };
                made.excluded_target.push(TargetEntry::new(expr, number, name, false));
            }
            let row = if rel.row_type.is_valid() { rel.row_type } else { oids::RECORD };
            let whole = Expr::Var(Var::new(index, 0, row, -1, Oid::INVALID));
            made.excluded_target.push(TargetEntry::new(whole, 0, None, true));
        }
        Ok(made)
    }

    fn add_excluded(&mut self, rel: &RelationDesc) -> Result<u32> {
        let alias = ast::Alias { name: "excluded".into(), columns: Vec::new() };
        let item = self.add_relation(rel, Some(&alias), false, false, 3, 0, None)?;
        let rte = &mut self.st().rtable[item.rtindex as usize - 1];
        // What is read of it, has to be readable in the table.
        rte.perms = Some(ir::RtePerms::default());
        if let RteKind::Relation { relkind, .. } = &mut rte.kind {
            // It is no table: it has no system columns.
            *relkind = 'c';
        }
        let _ = ns_column;
        Ok(item.rtindex)
    }

    fn conflict_arbiter(
        &mut self,
        conflict: &ast::OnConflict,
        rel: &RelationDesc,
        made: &mut OnConflict,
        at: ir::Location,
    ) -> Result<()> {
        match &conflict.target {
            None if conflict.update.is_some() => Err(err!(
                SYNTAX_ERROR,
                "ON CONFLICT DO UPDATE requires inference specification or constraint name"
            )
            .hint("For example, ON CONFLICT (column_name).")
            .at(at)),
            None => Ok(()),
            Some(ast::ConflictTarget::Constraint(name, _)) => {
                let found = rel.constraints.iter().find(|c| *c.name == **name);
                let Some(found) = found else {
                    return Err(err!(
                        UNDEFINED_OBJECT,
                        "constraint \"{name}\" for table \"{}\" does not exist",
                        rel.name
                    ));
                };
                made.constraint = Some(found.oid);
                let columns = found.columns.clone();
                // The first entry with this table that is inserted into is the target.
                let inserted = self.st().rtable.iter_mut().find_map(|rte| match &rte.kind {
                    RteKind::Relation { relid, .. } if *relid == rel.oid => rte
                        .perms
                        .as_mut()
                        .filter(|p| p.required & crate::names::rights::INSERT != 0),
                    _ => None,
                });
                if let Some(perms) = inserted {
                    perms.required |= crate::names::rights::SELECT;
                    for column in columns {
                        if let Err(at) = perms.selected.binary_search(&column) {
                            perms.selected.insert(at, column);
                        }
                    }
                }
                Ok(())
            }
            Some(ast::ConflictTarget::Index { elems, predicate, pos }) => {
                for e in elems {
                    made.arbiter.push(self.arbiter_elem(e, *pos)?);
                }
                if let Some(p) = predicate {
                    made.arbiter_where = self.where_clause(Some(p), Kind::IndexPredicate)?;
                }
                Ok(())
            }
        }
    }

    /// `resolve_unique_index_expr`.
    fn arbiter_elem(&mut self, elem: &ast::IndexElem, pos: ast::Pos) -> Result<InferenceElem> {
        let at = loc(elem.pos);
        if elem.dir != ast::SortDir::Default {
            let message = "ASC/DESC is not allowed in ON CONFLICT clause";
            return Err(err!(INVALID_COLUMN_REFERENCE, "{message}").at(at));
        }
        if elem.nulls != ast::NullsOrder::Default {
            let message = "NULLS FIRST/LAST is not allowed in ON CONFLICT clause";
            return Err(err!(INVALID_COLUMN_REFERENCE, "{message}").at(at));
        }
        let parsed = match (&elem.expr, &elem.name) {
            (Some(e), _) => e.clone(),
            (None, Some(name)) => {
                ast::Expr { kind: ExprKind::Column { parts: vec![name.clone()], star: false }, pos }
            }
            _ => return Err(Error::internal("an index element of nothing")),
        };
        let expr = self.expr(&parsed, Kind::IndexExpression)?;
        let collation = match &elem.collation {
            Some(name) => Some(self.collation_named(name)?),
            None => None,
        };
        let mut opclass = None;
        if let Some(name) = &elem.opclass {
            let (schema, last) = self.split_name(&name.parts, loc(name.pos))?;
            let found = self.catalog().opclass_named(oids::BTREE_AM, schema, last)?;
            let Some(found) = found else {
                return Err(err!(
                    UNDEFINED_OBJECT,
                    "operator class \"{last}\" does not exist for access method \"btree\""
                ));
            };
            opclass = Some(found.oid);
        }
        Ok(InferenceElem { expr, collation, opclass })
    }

    /// `transformReturningClause`.
    pub fn returning(&mut self, r: &ast::Returning, kind: Kind) -> Result<Vec<TargetEntry>> {
        let target = self.target_item();
        // OLD and NEW, under these or other names.
        let (mut old_name, mut new_name) = ("old".to_owned(), "new".to_owned());
        let mut given: Vec<bool> = Vec::new();
        for (is_new, ident) in &r.options {
            if given.contains(is_new) {
                let word = if *is_new { "NEW" } else { "OLD" };
                return Err(err!(SYNTAX_ERROR, "{word} cannot be specified multiple times")
                    .at(loc(ident.pos)));
            }
            given.push(*is_new);
            if *is_new { new_name = ident.name.clone() } else { old_name = ident.name.clone() }
        }
        let taken = |a: &Self, name: &str| {
            a.cur().namespace.iter().any(|i| i.rel_visible && i.name == name)
        };
        let before = self.cur().namespace.len();
        for (is_new, name) in [(false, old_name), (true, new_name)] {
            if taken(self, &name) {
                if given.contains(&is_new) {
                    return Err(err!(
                        DUPLICATE_ALIAS,
                        "table name \"{name}\" specified more than once"
                    ));
                }
                continue;
            }
            let kind = if is_new { ir::ReturningKind::New } else { ir::ReturningKind::Old };
            let mut item = target.clone();
            item.name = name;
            item.cols_visible = false;
            item.returning = kind;
            for c in &mut item.cols {
                c.returning = kind;
            }
            self.st().namespace.push(item);
        }
        let next = std::mem::replace(&mut self.st().next_resno, 0);
        let made = self.target_list(&r.targets, kind);
        self.st().next_resno = next;
        self.st().namespace.truncate(before);
        let mut made = made?;
        if made.is_empty() {
            let at = r.targets.first().and_then(|t| loc(t.pos));
            return Err(err!(SYNTAX_ERROR, "RETURNING must have at least one column").at(at));
        }
        self.mark_origins(&mut made);
        if self.cur().resolve_unknowns {
            self.resolve_unknowns(&mut made)?;
        }
        Ok(made)
    }
}

/// VALUES and nothing else.
fn is_values(source: &ast::SelectStmt) -> bool {
    matches!(source.body, SelectBody::Values(_))
        && source.order_by.is_empty()
        && source.limit.is_none()
        && source.offset.is_none()
        && source.locking.is_empty()
}

/// The value that is put into the innermost part.
fn innermost(expr: Expr) -> Result<Expr> {
    match expr {
        Expr::Subscript(s) => match s.assign {
            Some(inner) => innermost(*inner),
            None => Ok(Expr::Subscript(s)),
        },
        Expr::FieldStore { mut values, .. } => match values.pop() {
            Some(inner) => innermost(inner),
            None => Err(Error::internal("a store of nothing")),
        },
        Expr::CoerceToDomain { arg, .. }
            if matches!(*arg, Expr::FieldStore { .. })
                || matches!(&*arg, Expr::Subscript(s) if s.assign.is_some()) =>
        {
            innermost(*arg)
        }
        other => Ok(other),
    }
}

pub(crate) fn overriding(o: ast::Overriding) -> Overriding {
    match o {
        ast::Overriding::None => Overriding::None,
        ast::Overriding::User => Overriding::UserValue,
        ast::Overriding::System => Overriding::SystemValue,
    }
}

/// Tables and views can be modified, other relations cannot.
fn check_modifiable(rel: &RelationDesc, at: ir::Location) -> Result<()> {
    match rel.kind {
        RelKind::Table | RelKind::Partitioned | RelKind::View | RelKind::Foreign => Ok(()),
        RelKind::Sequence => {
            Err(err!(WRONG_OBJECT_TYPE, "cannot change sequence \"{}\"", rel.name))
        }
        RelKind::Toast => {
            Err(err!(WRONG_OBJECT_TYPE, "cannot change TOAST relation \"{}\"", rel.name))
        }
        RelKind::MatView => {
            Err(err!(WRONG_OBJECT_TYPE, "cannot change materialized view \"{}\"", rel.name))
        }
        RelKind::Index | RelKind::PartitionedIndex => {
            Err(err!(WRONG_OBJECT_TYPE, "cannot open relation \"{}\"", rel.name)
                .detail("This operation is not supported for indexes.")
                .at(at))
        }
        RelKind::Composite => Err(err!(WRONG_OBJECT_TYPE, "cannot open relation \"{}\"", rel.name)
            .detail("This operation is not supported for composite types.")
            .at(at)),
    }
}
