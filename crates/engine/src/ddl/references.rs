//! What stored expressions and queries refer to, recorded as dependencies.

use super::Ddl;
use base::{Oid, Result};
use catalog::CatalogView;
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::oids;
use ir::{Expr, Query, Rte, RteKind};
use types::Datum;

/// Gathers the objects that expressions name.
struct References<'q> {
    view: &'q CatalogView,
    /// Range tables, outermost first.
    scopes: Vec<&'q [Rte]>,
    /// The relation that entry 1 means where there is no range table.
    table: Oid,
    found: Vec<ObjectAddress>,
}

impl<'q> References<'q> {
    fn add(&mut self, class: Oid, object: Oid) {
        self.add_address(ObjectAddress::new(class, object));
    }

    fn add_address(&mut self, a: ObjectAddress) {
        if a.object.is_valid() && !self.found.contains(&a) {
            self.found.push(a);
        }
    }

    fn add_type(&mut self, ty: Oid) {
        self.add(oids::PG_TYPE, ty);
    }

    fn add_collation(&mut self, collation: Oid) {
        if collation != oids::DEFAULT_COLLATION {
            self.add(oids::PG_COLLATION, collation);
        }
    }

    fn query(&mut self, q: &'q Query) {
        self.scopes.push(&q.rtable);
        for rte in &q.rtable {
            self.rte(rte);
        }
        for cte in &q.ctes {
            self.query(&cte.query);
        }
        for key in &q.constraint_deps {
            self.add(oids::PG_CONSTRAINT, *key);
        }
        let sorts = q.sort_clause.iter().chain(&q.group_clause).chain(&q.distinct_clause);
        for clause in sorts.chain(q.windows.iter().flat_map(|w| w.partition.iter().chain(&w.order)))
        {
            self.add(oids::PG_OPERATOR, clause.eq_op);
            self.add(oids::PG_OPERATOR, clause.sort_op.unwrap_or_default());
        }
        if q.command != ir::CmdType::Select && q.result_relation > 0 {
            self.modified_columns(q);
        }
        let skipped = join_exprs(q);
        ir::walk::own_exprs(q, &mut |e| {
            if !skipped.contains(&(e as *const Expr)) {
                self.expr(e);
            }
        });
        self.scopes.pop();
    }

    /// Columns that a statement in a rule writes.
    fn modified_columns(&mut self, q: &Query) {
        let RteKind::Relation { relid, .. } = q.rte(q.result_relation).kind else { return };
        if matches!(q.command, ir::CmdType::Insert | ir::CmdType::Update) {
            for t in q.target_list.iter().filter(|t| !t.junk) {
                self.add_address(ObjectAddress::column(relid, t.resno));
            }
        }
    }

    fn rte(&mut self, rte: &'q Rte) {
        match &rte.kind {
            RteKind::Relation { relid, .. } => self.add(oids::PG_CLASS, *relid),
            RteKind::Subquery { query, .. } => self.query(query),
            RteKind::Function { functions, .. } => {
                for f in functions {
                    f.col_types.iter().for_each(|t| self.add_type(*t));
                    f.col_collations.iter().for_each(|c| self.add_collation(*c));
                }
            }
            _ => {}
        }
    }

    /// A column: of a relation, or through a join of what it stands for.
    fn column(&mut self, varno: u32, attno: i16, levels_up: u32) {
        let Some(scope) = self.scopes.len().checked_sub(1 + levels_up as usize) else {
            if self.table.is_valid() && attno > 0 {
                self.add_address(ObjectAddress::column(self.table, attno));
            }
            return;
        };
        let rtable = self.scopes[scope];
        let Some(rte) = rtable.get(varno as usize - 1) else { return };
        match &rte.kind {
            RteKind::Relation { relid, .. } if attno > 0 => {
                self.add_address(ObjectAddress::column(*relid, attno));
            }
            RteKind::Function { functions, .. } => self.function_column(functions, attno),
            RteKind::Join { alias_vars: exprs, .. } | RteKind::Group { exprs } if attno > 0 => {
                let Some(e) = exprs.get(attno as usize - 1) else { return };
                // The alias is meant at the level of the join.
                let inner: Vec<&'q [Rte]> = self.scopes.drain(scope + 1..).collect();
                self.expr(e);
                self.scopes.extend(inner);
            }
            _ => {}
        }
    }

    fn constant(&mut self, c: &ir::Const) {
        self.add_type(c.ty);
        self.add_collation(c.collation);
        let Datum::U32(n) = c.value else { return };
        let class = match c.ty {
            oids::REGPROC | oids::REGPROCEDURE => oids::PG_PROC,
            oids::REGOPER | oids::REGOPERATOR => oids::PG_OPERATOR,
            oids::REGCLASS => oids::PG_CLASS,
            oids::REGTYPE => oids::PG_TYPE,
            oids::REGNAMESPACE => oids::PG_NAMESPACE,
            _ => return,
        };
        self.add(class, Oid(n));
    }

    fn expr(&mut self, e: &'q Expr) {
        match e {
            Expr::Var(v) => self.column(v.varno, v.attno, v.levels_up),
            Expr::Const(c) => self.constant(c),
            Expr::Func(f) => self.add(oids::PG_PROC, f.func),
            Expr::Op(o) => self.add(oids::PG_OPERATOR, o.op),
            Expr::ScalarArrayOp(o) => self.add(oids::PG_OPERATOR, o.op),
            Expr::Agg(a) => self.add(oids::PG_PROC, a.agg),
            Expr::Window(w) => self.add(oids::PG_PROC, w.func),
            Expr::Subscript(s) => self.add_type(s.result_type),
            Expr::SubLink(s) => self.query(&s.query),
            Expr::FieldSelect { arg, field, ty, collation, .. } => {
                self.fields(arg.ty(), &[*field], *ty);
                self.add_collation(*collation);
            }
            Expr::FieldStore { fields, ty, .. } => self.fields(*ty, fields, *ty),
            Expr::Relabel { ty, collation, .. }
            | Expr::CoerceViaIo { ty, collation, .. }
            | Expr::ArrayCoerce { ty, collation, .. } => {
                self.add_type(*ty);
                self.add_collation(*collation);
            }
            Expr::CoerceToDomain { ty, .. } | Expr::ConvertRowtype { ty, .. } => {
                self.add_type(*ty);
            }
            Expr::Collate { collation, .. } => self.add_collation(*collation),
            Expr::Row(r) => self.add_type(r.ty),
            Expr::RowCompare { ops, families, .. } => {
                ops.iter().for_each(|o| self.add(oids::PG_OPERATOR, *o));
                families.iter().for_each(|f| self.add(oids::PG_OPFAMILY, *f));
            }
            Expr::NextValue { sequence, .. } => self.add(oids::PG_CLASS, *sequence),
            _ => {}
        }
        ir::walk::children(e, &mut |c| self.expr(c));
    }

    /// The relation whose columns are the fields of a type.
    fn relation_of(&self, ty: Oid) -> Option<Oid> {
        let mut found = self.view.find_type(ty).ok()??;
        while found.kind == b'd' {
            found = self.view.find_type(found.base_type).ok()??;
        }
        found.relation.is_valid().then_some(found.relation)
    }

    /// Fields of a named composite type are columns of its relation. Of others nothing more is
    /// known than a type that they need.
    fn fields(&mut self, of: Oid, fields: &[i16], needed: Oid) {
        match self.relation_of(of) {
            None => self.add_type(needed),
            Some(relation) => {
                for n in fields {
                    self.add_address(ObjectAddress::column(relation, *n));
                }
            }
        }
    }

    /// A column of a function's rows may be one of a composite type.
    fn function_column(&mut self, functions: &'q [ir::RangeFunction], attno: i16) {
        let mut before = 0;
        for f in functions {
            let own = attno - before;
            before += f.column_count as i16;
            if own < 1 || own > f.column_count as i16 {
                continue;
            }
            if f.col_types.is_empty()
                && let Some(relation) = self.relation_of(f.expr.ty())
            {
                // Columns that were dropped are not among the function's.
                let Ok(Some(rel)) = self.view.find_relation(relation) else { return };
                let mut live = rel.tuple.attrs.iter().enumerate().filter(|(_, a)| !a.dropped);
                if let Some((i, _)) = live.nth(own as usize - 1) {
                    self.add_address(ObjectAddress::column(relation, i as i16 + 1));
                }
            }
        }
    }

    /// What to record: a column of a relation makes the whole relation redundant.
    fn finish(self) -> Vec<ObjectAddress> {
        let all = self.found;
        let covered = |a: &ObjectAddress| {
            a.sub == 0
                && all.iter().any(|o| o.class == a.class && o.object == a.object && o.sub > 0)
        };
        let mut kept: Vec<ObjectAddress> = all.iter().filter(|a| !covered(a)).copied().collect();
        kept.sort();
        kept
    }
}

/// Expressions that only say what names mean: they count where they are used.
fn join_exprs(q: &Query) -> std::collections::HashSet<*const Expr> {
    let mut all = std::collections::HashSet::new();
    for rte in &q.rtable {
        if let RteKind::Join { alias_vars: exprs, .. } | RteKind::Group { exprs } = &rte.kind {
            all.extend(exprs.iter().map(|e| e as *const Expr));
        }
    }
    all
}

/// The objects a query names.
pub fn of_query(view: &CatalogView, query: &Query) -> Vec<ObjectAddress> {
    let mut r = References { view, scopes: Vec::new(), table: Oid::INVALID, found: Vec::new() };
    r.query(query);
    r.finish()
}

/// The objects an expression over one table (or none) names.
pub fn of_expr(view: &CatalogView, expr: &Expr, table: Oid) -> Vec<ObjectAddress> {
    let mut r = References { view, scopes: Vec::new(), table, found: Vec::new() };
    r.expr(expr);
    r.finish()
}

impl Ddl<'_> {
    /// Records what an expression over one table depends on: the table's columns as `own_kind`,
    /// all else normally.
    pub fn depend_expr_kind(
        &self,
        own: ObjectAddress,
        expr: &Expr,
        table: Oid,
        own_kind: DependKind,
    ) -> Result<()> {
        self.require_types(of_expr(&self.view, expr, table))?;
        self.depend_kept_expr(own, expr, table, own_kind)
    }

    /// As [`Ddl::depend_expr_kind`] of an expression that was there before, whoever may use its
    /// types now.
    pub fn depend_kept_expr(
        &self,
        own: ObjectAddress,
        expr: &Expr,
        table: Oid,
        own_kind: DependKind,
    ) -> Result<()> {
        for found in of_expr(&self.view, expr, table) {
            let same = table.is_valid() && found.class == oids::PG_CLASS && found.object == table;
            let kind = if same { own_kind } else { DependKind::Normal };
            depend::record(self.rows, own, found, kind)?;
        }
        Ok(())
    }

    /// Records what an expression over one table depends on.
    pub fn depend_expr(&self, own: ObjectAddress, expr: &Expr, table: Oid) -> Result<()> {
        self.depend_expr_kind(own, expr, table, DependKind::Normal)
    }

    /// Fails unless the user may use the types that are named in an expression.
    pub fn require_expr_types(&self, expr: &Expr) -> Result<()> {
        self.require_types(of_expr(&self.view, expr, Oid::INVALID))
    }

    /// As [`Ddl::require_expr_types`] of an index, which is made without a search path.
    pub fn require_index_types(&self, expr: &Expr) -> Result<()> {
        for a in of_expr(&self.view, expr, Oid::INVALID).iter().filter(|a| a.class == oids::PG_TYPE)
        {
            self.require_type_usage(a.object).map_err(|e| {
                let named = self.index_type_name(a.object);
                named.map_or(e, |name| super::grant::permission_denied("type", &name))
            })?;
        }
        Ok(())
    }

    fn index_type_name(&self, oid: Oid) -> Result<String> {
        let mut desc = self.view.type_(oid)?;
        if desc.is_array() {
            desc = self.view.type_(desc.elem)?;
        }
        if desc.namespace == oids::PG_CATALOG {
            return Ok(self.format_type(desc.oid, -1));
        }
        let schema = self.view.namespace(desc.namespace)?;
        let (schema, name) = (&schema.name, &desc.name);
        Ok(format!("{}.{}", ir::deparse::quote_ident(schema), ir::deparse::quote_ident(name)))
    }

    fn require_types(&self, found: Vec<ObjectAddress>) -> Result<()> {
        for a in found.iter().filter(|a| a.class == oids::PG_TYPE) {
            self.require_type_usage(a.object)?;
        }
        Ok(())
    }

    /// Records what a stored query depends on.
    pub fn depend_query(&self, own: ObjectAddress, query: &Query) -> Result<()> {
        self.require_types(of_query(&self.view, query))?;
        for found in of_query(&self.view, query) {
            depend::record(self.rows, own, found, DependKind::Normal)?;
        }
        Ok(())
    }
}
