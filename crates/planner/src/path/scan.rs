//! Sizes of base relations, and the ways to scan them other than by index.

use super::{Path, PathKind};
use crate::cost::clamp_rows;
use crate::cost::scan::Cost;
use crate::rel::{
    BaseKind, EcMember, EquivalenceClass, ExtendedInfo, IndexInfo, Restriction, Target,
};
use crate::root::Root;
use base::{Oid, Result};
use catalog::RelationDesc;
use ir::{Const, Expr, OpKind, RteKind, TargetEntry};
use std::rc::Rc;
use std::sync::Arc;

/// `pg_proc` row of TABLESAMPLE SYSTEM's handler.
const SYSTEM_SAMPLE: Oid = Oid(3314);

/// The size of a sample whose size is not known yet.
const DEFAULT_SAMPLE_PERCENT: f64 = 10.0;

impl Root<'_> {
    /// Finds out the size of a table and what indexes it has.
    pub fn load_relation(&mut self, rel: usize) -> Result<()> {
        let BaseKind::Table(desc) = self.rels[rel].kind.clone() else { return Ok(()) };
        desc.check_handler()?;
        let (pages, tuples, visible) = self.relation_size(&desc)?;
        let r = &mut self.rels[rel];
        r.pages = pages;
        r.tuples = tuples;
        r.all_visible_fraction = visible;
        self.global.borrow_mut().relation_oids.push(desc.oid);
        let varno = self.rels[rel].rtindex;
        let mut indexes = Vec::new();
        // Of two that cost the same the younger one is taken.
        for index in desc.indexes.iter().rev() {
            if index.relfile.number == 0 {
                // An index of a partitioned table has no entries of its own.
                continue;
            }
            if !index.is_valid || index.am != Oid(403) && !self.is_search_am(index.am) {
                continue;
            }
            let info = self.load_index(index, &desc, varno, tuples)?;
            indexes.push(Rc::new(info));
        }
        self.rels[rel].indexes = indexes;
        self.load_extended(rel, &desc, false)
    }

    /// Finds what is known of several columns together, of the table or of its tree.
    pub fn load_extended(
        &mut self,
        rel: usize,
        desc: &RelationDesc,
        inherited: bool,
    ) -> Result<()> {
        let all = self.env.catalog.extended_statistics(desc.oid)?;
        let mut extended = Vec::new();
        for known in all.iter().filter(|s| s.inherited == inherited) {
            let varno = self.rels[rel].rtindex;
            let exprs = self.stored_exprs(known.exprs.as_ref(), varno)?;
            extended.push(Rc::new(ExtendedInfo { desc: known.clone(), exprs }));
        }
        self.rels[rel].extended = extended;
        Ok(())
    }

    /// Methods other than B-tree whose scans the executor knows.
    fn is_search_am(&self, _am: Oid) -> bool {
        false
    }

    /// Pages, rows and all-visible share of a table, from its present size and the density
    /// that VACUUM or ANALYZE last saw.
    fn relation_size(&self, desc: &Arc<RelationDesc>) -> Result<(f64, f64, f64)> {
        if !desc.kind.has_storage() {
            return Ok((0.0, desc.tuples.max(0.0).into(), 0.0));
        }
        let pages = self.env.sizes.pages(desc)?;
        if let Some(watch) = self.env.watch {
            watch.measured(desc, pages);
        }
        let mut pages = f64::from(pages);
        let (old_pages, old_tuples) = (f64::from(desc.pages), f64::from(desc.tuples));
        if pages < 10.0 && old_tuples < 0.0 && !desc.has_subclass {
            pages = 10.0;
        }
        if pages == 0.0 {
            return Ok((0.0, 0.0, 0.0));
        }
        let tuples = if old_tuples >= 0.0 && old_pages > 0.0 {
            (old_tuples / old_pages * pages).round_ties_even()
        } else {
            let width: i32 = desc
                .tuple
                .attrs
                .iter()
                .filter(|a| !a.dropped)
                .map(|a| self.type_width(a.type_oid, a.typmod))
                .sum();
            let fillfactor =
                desc.option("fillfactor").and_then(|f| f.parse::<f64>().ok()).unwrap_or(100.0);
            let tuple = f64::from(((width + 7) & !7) + 24 + 4);
            let density = ((8192.0 - 24.0) * fillfactor / 100.0 / tuple).floor().max(1.0);
            (density * pages).round_ties_even()
        };
        let visible = f64::from(desc.all_visible);
        let fraction =
            if visible == 0.0 || pages <= 0.0 { 0.0 } else { (visible / pages).min(1.0) };
        Ok((pages, tuples, fraction))
    }

    fn load_index(
        &self,
        index: &Arc<catalog::IndexDesc>,
        desc: &RelationDesc,
        varno: u32,
        table_tuples: f64,
    ) -> Result<IndexInfo> {
        let exprs = self.stored_exprs(index.exprs.as_ref(), varno)?;
        let mut next_expr = exprs.into_iter();
        let mut columns = Vec::new();
        for att in &index.columns {
            let column = if *att == 0 {
                next_expr.next().unwrap_or_else(|| Expr::bool_const(true))
            } else {
                column_of(desc, varno, *att)
            };
            columns.push(column);
        }
        let predicate = match &index.predicate {
            None => Vec::new(),
            Some(text) => {
                let e = self.stored_expr(text, varno)?;
                ir::walk::conjuncts(e)
            }
        };
        if let Some(watch) = self.env.watch
            && (!predicate.is_empty() || index.columns.contains(&0))
        {
            // Conditions are compared with what the index says, which may have values in it.
            watch.lose();
        }
        let pages = f64::from(self.env.sizes.index_pages(index)?);
        let tuples = if predicate.is_empty() {
            table_tuples
        } else if index.tuples >= 0.0 && index.pages > 0 {
            (f64::from(index.tuples) / f64::from(index.pages) * pages).round().min(table_tuples)
        } else {
            table_tuples
        };
        let height =
            self.env.sizes.tree_height(index).map_or_else(|| guess_height(pages), |h| h as i32);
        Ok(IndexInfo {
            columns,
            predicate,
            predicate_ok: false,
            pages,
            tuples,
            height,
            is_btree: index.am == Oid(403),
            desc: index.clone(),
        })
    }

    /// An expression stored in a catalog, over relation `varno`.
    pub fn stored_expr(&self, text: &str, varno: u32) -> Result<Expr> {
        let mut e: Expr = crate::path::scan::node_from_text(text)?;
        crate::prep::normalise_expr(&mut e);
        renumber(&mut e, varno);
        crate::prep::const_fold::simplify(e, self.env, false)
    }

    fn stored_exprs(&self, text: Option<&catalog::NodeText>, varno: u32) -> Result<Vec<Expr>> {
        let Some(text) = text else { return Ok(Vec::new()) };
        let list: Vec<Expr> = crate::path::scan::node_from_text(text)?;
        list.into_iter()
            .map(|mut e| {
                crate::prep::normalise_expr(&mut e);
                renumber(&mut e, varno);
                crate::prep::const_fold::simplify(e, self.env, false)
            })
            .collect()
    }

    /// Estimates the rows of a base relation and the width of its columns.
    pub fn size_base(&mut self, rel: usize) -> Result<()> {
        if matches!(self.rels[rel].kind, BaseKind::AppendRel(_) | BaseKind::UnionAll) {
            let mut target = (*self.rels[rel].target).clone();
            self.finish_target(&mut target);
            self.rels[rel].target = Rc::new(target);
            let list = self.rels[rel].restrictions.clone();
            self.size_append(rel)?;
            if list.iter().any(|x| is_false(&x.clause)) {
                self.rels[rel].dummy = true;
            }
            return Ok(());
        }
        let tuples = match self.rels[rel].kind.clone() {
            BaseKind::Table(_) => self.sampled_tuples(rel),
            BaseKind::Subquery(info) => info.plan.rows,
            BaseKind::Function => self.function_rows(rel)?,
            BaseKind::Values => match &self.query.rte(self.rels[rel].rtindex).kind {
                RteKind::Values { lists, .. } => lists.len() as f64,
                _ => 1.0,
            },
            BaseKind::Cte(info) => info.rows,
            BaseKind::WorkTable(_) => self.rels[rel].tuples,
            BaseKind::Result => 1.0,
            _ => self.rels[rel].tuples,
        };
        self.rels[rel].tuples = tuples;
        let list = self.rels[rel].restrictions.clone();
        let sel = self.list_selectivity(&list, 0, None)?;
        let rows = clamp_rows(tuples * sel);
        let mut target = (*self.rels[rel].target).clone();
        self.finish_target(&mut target);
        let r = &mut self.rels[rel];
        r.rows = rows;
        r.target = Rc::new(target);
        if list.iter().any(|x| is_false(&x.clause)) {
            r.dummy = true;
        }
        Ok(())
    }

    /// The rows of a table that are looked at: TABLESAMPLE chooses among them, and of the pages.
    fn sampled_tuples(&mut self, rel: usize) -> f64 {
        let tuples = self.rels[rel].tuples;
        let Some(sample) = self.sample_of(rel) else { return tuples };
        let percent = match sample.args.first() {
            Some(Expr::Const(Const { value: types::Datum::F32(p), .. })) => f64::from(*p),
            _ => DEFAULT_SAMPLE_PERCENT,
        };
        let share = match (0.0..=100.0).contains(&percent) {
            true => percent / 100.0,
            false => DEFAULT_SAMPLE_PERCENT / 100.0,
        };
        if sample.handler == SYSTEM_SAMPLE {
            self.rels[rel].pages = clamp_rows(self.rels[rel].pages * share);
        }
        clamp_rows(tuples * share)
    }

    fn sample_of(&self, rel: usize) -> Option<&ir::TableSample> {
        match &self.query.rte(self.rels[rel].rtindex).kind {
            RteKind::Relation { sample, .. } => sample.as_deref(),
            _ => None,
        }
    }

    fn function_rows(&self, rel: usize) -> Result<f64> {
        let RteKind::Function { functions, .. } = &self.query.rte(self.rels[rel].rtindex).kind
        else {
            return Ok(1.0);
        };
        let mut rows: f64 = 1.0;
        for f in functions {
            rows = rows.max(self.set_rows(&f.expr)?);
        }
        Ok(clamp_rows(rows))
    }

    /// Expected rows of a set-returning call; 1 if it returns no set.
    pub fn set_rows(&self, e: &Expr) -> Result<f64> {
        let (func, args, ret_set) = match e {
            Expr::Func(f) => (f.func, &f.args, f.ret_set),
            Expr::Op(o) => (o.func, &o.args, o.ret_set),
            Expr::Json(j) if matches!(j.op, ir::JsonOp::Table(_)) => return Ok(100.0),
            Expr::Xml(x) if matches!(x.op, ir::XmlOp::Table(_)) => return Ok(100.0),
            _ => return Ok(1.0),
        };
        if !ret_set {
            return Ok(1.0);
        }
        if let Some(n) = self.series_rows(func, args)? {
            return Ok(n);
        }
        Ok(f64::from(self.env.catalog.proc(func)?.rows).max(1.0))
    }

    /// Rows of generate_series and unnest with known arguments.
    fn series_rows(&self, func: Oid, args: &[Expr]) -> Result<Option<f64>> {
        match func.0 {
            1066..=1069 => {
                let mut n = Vec::new();
                for a in args {
                    let e = crate::prep::const_fold::simplify(a.clone(), self.env, true)?;
                    let Expr::Const(c) = e else { return Ok(None) };
                    match crate::selectivity::as_number(&c.value) {
                        Some(x) => n.push(x),
                        None => return Ok(Some(0.0)),
                    }
                }
                let step = n.get(2).copied().unwrap_or(1.0);
                if step == 0.0 || n.len() < 2 {
                    return Ok(None);
                }
                Ok(Some(((n[1] - n[0] + step) / step).floor().max(0.0)))
            }
            2331 => {
                let (array, watch) = crate::watch::estimated(self.env, &args[0])?;
                if let Some(watch) = watch {
                    watch.lose();
                }
                Ok(Some(self.array_length(&array)))
            }
            _ => Ok(None),
        }
    }

    /// The ways to scan a base relation.
    pub fn scan_paths(&mut self, rel: usize) -> Result<()> {
        let kind = self.rels[rel].kind.clone();
        if self.rels[rel].dummy {
            let path = self.dummy_path(rel);
            self.rels[rel].add_path(path);
            self.rels[rel].set_cheapest();
            return Ok(());
        }
        match kind {
            BaseKind::Table(_) => {
                let sampled = matches!(
                    &self.query.rte(self.rels[rel].rtindex).kind,
                    RteKind::Relation { sample: Some(_), .. }
                );
                self.seq_scan_path(rel, sampled);
                if !sampled {
                    self.tid_paths(rel)?;
                    self.index_paths(rel)?;
                }
            }
            BaseKind::Subquery(info) => {
                let c = (info.plan.startup_cost, info.plan.total_cost, info.plan.disabled_nodes);
                let keys = self.subquery_pathkeys(rel, &info)?;
                let kind = PathKind::Subquery;
                self.source_path(rel, kind, c, info.plan.rows, 0.0, keys);
            }
            BaseKind::Function => {
                let mut cost = crate::cost::EvalCost::default();
                if let RteKind::Function { functions, .. } =
                    &self.query.rte(self.rels[rel].rtindex).kind
                {
                    cost = self.eval_costs(functions.iter().map(|f| &f.expr));
                }
                let startup = cost.startup + cost.per_row;
                let tuples = self.rels[rel].tuples;
                self.source_path(
                    rel,
                    PathKind::Function,
                    (startup, startup, 0),
                    tuples,
                    0.0,
                    vec![],
                );
            }
            BaseKind::Values => {
                let per_row = self.env.settings.cpu_operator_cost;
                let tuples = self.rels[rel].tuples;
                self.source_path(rel, PathKind::Values, (0.0, 0.0, 0), tuples, per_row, vec![]);
            }
            BaseKind::Cte(info) => {
                let kind = PathKind::Cte { subplan: info.subplan, param: info.param };
                let per_row = self.env.settings.cpu_tuple_cost;
                self.source_path(rel, kind, (0.0, 0.0, 0), info.rows, per_row, vec![]);
            }
            BaseKind::WorkTable(param) => {
                let per_row = self.env.settings.cpu_tuple_cost;
                let tuples = self.rels[rel].tuples;
                let kind = PathKind::WorkTable { param };
                self.source_path(rel, kind, (0.0, 0.0, 0), tuples, per_row, vec![]);
            }
            BaseKind::Result => {
                let kind = PathKind::Result { quals: Vec::new() };
                self.source_path(rel, kind, (0.0, 0.0, 0), 1.0, 0.0, vec![]);
            }
            BaseKind::AppendRel(_) | BaseKind::UnionAll => self.append_paths(rel)?,
            BaseKind::Join | BaseKind::Upper => {}
        }
        self.rels[rel].set_cheapest();
        Ok(())
    }

    /// A relation known to give nothing.
    pub fn dummy_path(&self, rel: usize) -> Path {
        let quals = vec![Expr::bool_const(false)];
        let mut p = self.plain_path(rel, PathKind::Result { quals }, Cost::default());
        p.rows = 1.0;
        p
    }

    /// A path of a relation with the relation's own target, rows and needs.
    pub fn plain_path(&self, rel: usize, kind: PathKind, cost: Cost) -> Path {
        let r = &self.rels[rel];
        Path {
            kind,
            rel,
            target: r.target.clone(),
            param: r.lateral.clone(),
            rows: r.rows,
            startup: cost.startup,
            total: cost.total,
            disabled: cost.disabled,
            pathkeys: Vec::new(),
            param_clauses: Vec::new(),
            parallel_safe: r.parallel,
            workers: 0,
        }
    }

    fn seq_scan_path(&mut self, rel: usize, sampled: bool) {
        let quals = self.restriction_cost(&self.rels[rel].restrictions);
        let (target, rows) = (self.rels[rel].target.clone(), self.rels[rel].rows);
        let mut cost = self.cost_seq_scan(rel, &target, rows, quals);
        let kind = if sampled { PathKind::SampleScan } else { PathKind::SeqScan };
        if sampled {
            cost.disabled = 0;
        }
        if self.sample_of(rel).is_some_and(|s| s.handler == SYSTEM_SAMPLE) {
            let s = self.env.settings;
            cost.total += (s.random_page_cost - s.seq_page_cost) * self.rels[rel].pages;
        }
        let path = self.plain_path(rel, kind, cost);
        self.rels[rel].add_path(path);
        if !sampled && self.rels[rel].parallel {
            self.partial_seq_scan(rel);
        }
    }

    fn source_path(
        &mut self,
        rel: usize,
        kind: PathKind,
        input: (f64, f64, u32),
        tuples: f64,
        per_row: f64,
        pathkeys: Vec<crate::rel::PathKey>,
    ) {
        let quals = self.restriction_cost(&self.rels[rel].restrictions);
        let (target, rows) = (self.rels[rel].target.clone(), self.rels[rel].rows);
        let trivial = matches!(kind, PathKind::Subquery) && self.rels[rel].restrictions.is_empty();
        let mut cost =
            self.cost_simple_scan(input.0, input.1, tuples, per_row, &target, rows, quals);
        if trivial && self.subquery_target_is_plain(rel) {
            // The scan will be dropped: the subquery's own node does the work.
            cost = Cost { startup: input.0, total: input.1, disabled: 0 };
        }
        cost.disabled += input.2;
        let mut path = self.plain_path(rel, kind, cost);
        path.pathkeys = pathkeys;
        self.rels[rel].add_path(path);
    }

    fn subquery_target_is_plain(&self, rel: usize) -> bool {
        let BaseKind::Subquery(info) = &self.rels[rel].kind else { return false };
        let columns: Vec<i16> =
            info.plan.target.iter().filter(|t| !t.junk).map(|t| t.resno).collect();
        let wanted: Vec<i16> = self.rels[rel]
            .target
            .exprs
            .iter()
            .filter_map(|e| match e {
                Expr::Var(v) => Some(v.attno),
                _ => None,
            })
            .collect();
        columns == wanted
    }

    /// The order of a subquery's rows in terms of this query.
    fn subquery_pathkeys(
        &mut self,
        rel: usize,
        info: &crate::rel::SubqueryInfo,
    ) -> Result<Vec<crate::rel::PathKey>> {
        let varno = self.rels[rel].rtindex;
        let mut out = Vec::new();
        for (column, sort_op, descending, nulls_first) in &info.order {
            let found = self.rels[rel]
                .target
                .exprs
                .iter()
                .find(|e| matches!(e, Expr::Var(v) if v.varno == varno && v.attno == *column))
                .cloned();
            let Some(expr) = found else { break };
            let key = self.path_key(&expr, *sort_op, (*descending, *nulls_first), 0, false)?;
            let Some(key) = key else { break };
            if !self.redundant(&key, &out) {
                out.push(key);
            }
        }
        Ok(out)
    }

    /// `ctid = ...`, `ctid = ANY (...)`, CURRENT OF, and ranges of ctid.
    fn tid_paths(&mut self, rel: usize) -> Result<()> {
        let varno = self.rels[rel].rtindex;
        let list = self.rels[rel].restrictions.clone();
        let is_ctid = |e: &Expr| matches!(e, Expr::Var(v) if v.varno == varno && v.attno == -1);
        for r in &list {
            let Some((quals, places)) = self.tid_quals(&r.clause, varno) else { continue };
            let current = matches!(r.clause, Expr::CurrentOf { .. });
            let cost_quals = self.restriction_cost(&list);
            let target = self.rels[rel].target.clone();
            let mut cost = self.cost_tid_scan(places, &target, cost_quals, current);
            if current {
                cost.startup -= 1.0e10;
                cost.total -= 1.0e10;
            }
            let path = self.plain_path(rel, PathKind::Tid(quals), cost);
            self.rels[rel].add_path(path);
        }
        self.param_tid_paths(rel, varno)?;
        let ranges: Vec<_> = list
            .iter()
            .filter(|r| match &r.clause {
                Expr::Op(o) => {
                    matches!(o.op.0, 2799..=2802)
                        && is_ctid(&o.args[0])
                        && self.relids_of(&o.args[1]).is_empty()
                }
                _ => false,
            })
            .cloned()
            .collect();
        if !ranges.is_empty() {
            let quals = self.restriction_cost(&list);
            let (target, rows) = (self.rels[rel].target.clone(), self.rels[rel].rows);
            let cost = self.cost_tid_range(rel, &ranges, &target, rows, quals)?;
            let kind = PathKind::TidRange(ranges.iter().map(|r| r.clause.clone()).collect());
            let path = self.plain_path(rel, kind, cost);
            self.rels[rel].add_path(path);
        }
        Ok(())
    }
}

impl Root<'_> {
    /// The conditions on ctid, any of which may hold, that a condition means, and how many rows
    /// they name.
    fn tid_quals(&self, clause: &Expr, varno: u32) -> Option<(Vec<Expr>, f64)> {
        let is_ctid = |e: &Expr| matches!(e, Expr::Var(v) if v.varno == varno && v.attno == -1);
        match clause {
            Expr::CurrentOf { .. } => Some((vec![clause.clone()], 1.0)),
            Expr::Op(o) if o.op == TID_EQUAL && o.kind == OpKind::Plain => {
                let [a, b] = &o.args[..] else { return None };
                let found = is_ctid(a) && self.relids_of(b).is_empty()
                    || is_ctid(b) && self.relids_of(a).is_empty();
                found.then(|| (vec![clause.clone()], 1.0))
            }
            Expr::ScalarArrayOp(s)
                if s.op == TID_EQUAL
                    && s.use_or
                    && is_ctid(&s.args[0])
                    && self.relids_of(&s.args[1]).is_empty() =>
            {
                Some((vec![clause.clone()], self.array_length(&s.args[1]).max(1.0)))
            }
            Expr::Bool { op: ir::BoolOp::Or, args, .. } => {
                let (mut quals, mut places) = (Vec::new(), 0.0);
                for arm in args {
                    let (q, n) = match arm {
                        Expr::Bool { op: ir::BoolOp::And, args, .. } => {
                            args.iter().find_map(|a| self.tid_quals(a, varno))?
                        }
                        _ => self.tid_quals(arm, varno)?,
                    };
                    quals.extend(q);
                    places += n;
                }
                let current = quals.iter().any(|q| matches!(q, Expr::CurrentOf { .. }));
                (!current).then_some((quals, places))
            }
            _ => None,
        }
    }

    /// Scans of the row whose place a column of another relation names.
    fn param_tid_paths(&mut self, rel: usize, varno: u32) -> Result<()> {
        let relids = self.rels[rel].relids.clone();
        let is_ctid = |e: &Expr| matches!(e, Expr::Var(v) if v.varno == varno && v.attno == -1);
        let mut candidates: Vec<Rc<Restriction>> = Vec::new();
        for r in &self.rels[rel].join_info {
            if self.may_move_down(r, rel) {
                candidates.push(r.clone());
            }
        }
        if self.rels[rel].has_ec_joins {
            let matches = |_: &EquivalenceClass, m: &EcMember| is_ctid(&m.expr);
            candidates.extend(self.generate_implied_for_column(&relids, &matches)?);
        }
        for r in candidates {
            let Expr::Op(o) = &r.clause else { continue };
            let [a, b] = &o.args[..] else { continue };
            let other = match (is_ctid(a), is_ctid(b)) {
                (true, false) => b,
                (false, true) => a,
                _ => continue,
            };
            let outer = self.relids_of(other);
            if o.op != TID_EQUAL
                || outer.is_empty()
                || outer.overlaps(&relids)
                || crate::prep::volatility::has_volatile(other, self.env)?
            {
                continue;
            }
            let (rows, param_clauses) = self.param_rows(rel, &outer)?;
            let conditions = self.rels[rel].restrictions.iter().chain(&param_clauses);
            let quals = self.restriction_cost(conditions);
            let target = self.rels[rel].target.clone();
            let cost = self.cost_tid_scan(1.0, &target, quals, false);
            let mut path = self.plain_path(rel, PathKind::Tid(vec![r.clause.clone()]), cost);
            path.rows = rows;
            path.param.extend(&outer);
            path.param_clauses = param_clauses;
            self.rels[rel].add_path(path);
        }
        Ok(())
    }
}

/// Equality of places.
const TID_EQUAL: Oid = Oid(387);

/// An `ir` value from the text that a catalog holds.
pub fn node_from_text<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| base::Error::internal(format!("stored expression: {e}")))
}

fn guess_height(pages: f64) -> i32 {
    let mut height = 0;
    let mut p = pages - 1.0;
    while p > 1.0 {
        p /= 300.0;
        height += 1;
    }
    (height - 1).max(0)
}

/// True for a condition that nothing satisfies.
pub fn is_false(e: &Expr) -> bool {
    matches!(e, Expr::Const(c) if c.value != types::Datum::Bool(true))
}

/// Stored expressions are over relation 1.
pub fn renumber(e: &mut Expr, varno: u32) {
    ir::walk::transform(e, &mut |x| {
        if let Expr::Var(v) = x {
            v.varno = varno;
            v.syn_no = varno;
            v.location = None;
            v.nulling_rels.clear();
        }
    });
}

/// Column `att` of a table as an expression.
pub fn column_of(desc: &RelationDesc, varno: u32, att: i16) -> Expr {
    let (ty, typmod, collation) = if att > 0 {
        let a = &desc.tuple.attrs[att as usize - 1];
        (a.type_oid, a.typmod, a.collation)
    } else {
        match att {
            -1 => (Oid(27), -1, Oid::INVALID),
            -6 => (Oid(26), -1, Oid::INVALID),
            -2 | -4 => (Oid(28), -1, Oid::INVALID),
            _ => (Oid(29), -1, Oid::INVALID),
        }
    };
    Expr::Var(ir::Var::new(varno, att, ty, typmod, collation))
}

/// The columns of a target list that a relation's path gives, as entries.
pub fn entries(target: &Target) -> Vec<TargetEntry> {
    target
        .exprs
        .iter()
        .zip(&target.refs)
        .enumerate()
        .map(|(i, (e, r))| {
            let mut t = TargetEntry::new(e.clone(), i as i16 + 1, None, false);
            t.sort_group_ref = *r;
            t
        })
        .collect()
}
