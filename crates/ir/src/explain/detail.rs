//! What is shown below a node's first line: output, conditions, keys, figures of a run.

use super::{Explainer, Place};
use crate::deparse::{Ancestor, quote_ident};
use crate::expr::Expr;
use crate::plan::*;
use crate::query::{FrameBound, FrameMode, WindowFrame};
use base::{Oid, Result};

/// Which count of removed rows.
#[derive(Clone, Copy)]
enum Removed {
    Filter,
    Join,
    Recheck,
    /// By the filter of a join, which has its own condition too.
    JoinFilter,
}

impl<'a> Explainer<'a> {
    pub(super) fn details(&mut self, place: Place<'a, '_>) -> Result<()> {
        if self.options.verbose {
            self.output(place)?;
        }
        let unique = match &place.plan.node {
            PlanNode::NestLoop(j) => Some(j.join.inner_unique),
            PlanNode::MergeJoin(j) => Some(j.join.inner_unique),
            PlanNode::HashJoin(j) => Some(j.join.inner_unique),
            _ => None,
        };
        if let Some(unique) = unique
            && (!self.w.is_text() || (self.options.verbose && unique))
        {
            self.w.boolean("Inner Unique", unique);
        }
        match &place.plan.node {
            PlanNode::IndexScan(_)
            | PlanNode::IndexOnlyScan(_)
            | PlanNode::BitmapIndexScan(_)
            | PlanNode::BitmapHeapScan(_)
            | PlanNode::TidScan(_)
            | PlanNode::TidRangeScan(_)
            | PlanNode::SampleScan(_)
            | PlanNode::FunctionScan(_) => self.scan_details(place),
            PlanNode::SeqScan(_)
            | PlanNode::ValuesScan(_)
            | PlanNode::NamedTuplestoreScan(_)
            | PlanNode::WorkTableScan(_)
            | PlanNode::SubqueryScan(_) => self.filter(place),
            PlanNode::CteScan(_) => {
                self.filter(place)?;
                self.storage(place.plan);
                Ok(())
            }
            PlanNode::NestLoop(_) | PlanNode::MergeJoin(_) | PlanNode::HashJoin(_) => {
                self.join_details(place)
            }
            PlanNode::ModifyTable(m) => self.modify_details(place, m),
            _ => self.shape_details(place),
        }
    }

    fn output(&mut self, place: Place<'a, '_>) -> Result<()> {
        let plan = place.plan;
        let targets = match &plan.node {
            PlanNode::Append(_) | PlanNode::MergeAppend(_) | PlanNode::RecursiveUnion(_) => {
                return Ok(());
            }
            PlanNode::ModifyTable(m) if plan.target.is_empty() => match m.targets.first() {
                Some(t) => &t.returning,
                None => return Ok(()),
            },
            _ => &plan.target,
        };
        if targets.is_empty() {
            return Ok(());
        }
        let prefix = self.many_tables;
        let items: Result<Vec<String>> =
            targets.iter().map(|t| self.print(&t.expr, place, prefix, false)).collect();
        self.w.list("Output", &items?);
        Ok(())
    }

    pub(super) fn print(
        &self,
        expr: &'a Expr,
        place: Place<'a, '_>,
        prefix: bool,
        implicit: bool,
    ) -> Result<String> {
        self.printer.print(expr, place.plan, place.ancestors, prefix, implicit)
    }

    /// Shows conditions that are all (or any of which) to hold; says whether there are any.
    fn conditions(
        &mut self,
        label: &str,
        quals: &'a [Expr],
        place: Place<'a, '_>,
        prefix: bool,
        word: &str,
    ) -> Result<bool> {
        let parts: Result<Vec<String>> =
            quals.iter().map(|q| self.print(q, place, prefix, false)).collect();
        match parts?.as_slice() {
            [] => return Ok(false),
            [one] => self.w.text(label, one),
            many => self.w.text(label, &format!("({})", many.join(word))),
        }
        Ok(true)
    }

    /// A scan's conditions.
    fn scan_quals(&mut self, label: &str, quals: &'a [Expr], place: Place<'a, '_>) -> Result<bool> {
        let subquery = matches!(place.plan.node, PlanNode::SubqueryScan(_));
        self.conditions(label, quals, place, subquery || self.options.verbose, " AND ")
    }

    /// The conditions of a node above scans.
    pub(super) fn upper_quals(
        &mut self,
        label: &str,
        quals: &'a [Expr],
        place: Place<'a, '_>,
    ) -> Result<bool> {
        let prefix = self.many_tables || self.options.verbose;
        self.conditions(label, quals, place, prefix, " AND ")
    }

    fn filter(&mut self, place: Place<'a, '_>) -> Result<()> {
        if self.scan_quals("Filter", &place.plan.qual, place)? {
            self.removed("Rows Removed by Filter", Removed::Filter, place.plan);
        }
        Ok(())
    }

    fn upper_filter(&mut self, place: Place<'a, '_>) -> Result<()> {
        if self.upper_quals("Filter", &place.plan.qual, place)? {
            self.removed("Rows Removed by Filter", Removed::Filter, place.plan);
        }
        Ok(())
    }

    fn removed(&mut self, label: &str, which: Removed, plan: &Plan) {
        let Some(run) = self.run(plan) else { return };
        let count = match which {
            Removed::Filter | Removed::JoinFilter => run.removed_by_filter,
            Removed::Join => run.removed_by_join,
            Removed::Recheck => run.removed_by_recheck,
        };
        let loops = run.loops.max(1) as f64;
        if count > 0 || !self.w.is_text() {
            self.w.float(label, "", count as f64 / loops, 0);
        }
    }

    fn scan_details(&mut self, place: Place<'a, '_>) -> Result<()> {
        let plan = place.plan;
        let recheck = "Rows Removed by Index Recheck";
        match &plan.node {
            PlanNode::IndexScan(s) => {
                if self.scan_quals("Index Cond", &s.index_qual_orig, place)? {
                    self.removed(recheck, Removed::Recheck, plan);
                }
                self.scan_quals("Order By", &s.order_by_orig, place)?;
                self.filter(place)?;
                self.searches(plan);
            }
            PlanNode::IndexOnlyScan(s) => {
                if self.scan_quals("Index Cond", &s.index_qual, place)?
                    && (!s.recheck_qual.is_empty() || !self.w.is_text())
                {
                    self.removed(recheck, Removed::Recheck, plan);
                }
                self.scan_quals("Order By", &s.order_by, place)?;
                self.filter(place)?;
                if let Some(run) = self.run(plan) {
                    let fetches = run.int("Heap Fetches").unwrap_or(0);
                    self.w.integer("Heap Fetches", "", fetches);
                }
                self.searches(plan);
            }
            PlanNode::BitmapIndexScan(s) => {
                self.scan_quals("Index Cond", &s.index_qual_orig, place)?;
                self.searches(plan);
            }
            PlanNode::BitmapHeapScan(s) => {
                if self.scan_quals("Recheck Cond", &s.recheck_qual, place)? {
                    self.removed(recheck, Removed::Recheck, plan);
                }
                self.filter(place)?;
                self.heap_blocks(plan);
            }
            PlanNode::TidScan(s) => {
                self.conditions("TID Cond", &s.tid_quals, place, self.options.verbose, " OR ")?;
                self.filter(place)?;
            }
            PlanNode::TidRangeScan(s) => {
                self.scan_quals("TID Cond", &s.tid_quals, place)?;
                self.filter(place)?;
            }
            PlanNode::SampleScan(s) => {
                self.sampling(&s.sample, place)?;
                self.filter(place)?;
            }
            PlanNode::FunctionScan(s) => {
                if self.options.verbose {
                    let calls: Result<Vec<String>> = s
                        .functions
                        .iter()
                        .map(|f| self.print(&f.expr, place, true, false))
                        .collect();
                    let table = s.functions.iter().any(|f| f.is_table());
                    let label = if table { "Table Function Call" } else { "Function Call" };
                    self.w.text(label, &calls?.join(", "));
                }
                self.filter(place)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn sampling(
        &mut self,
        sample: &'a crate::query::TableSample,
        place: Place<'a, '_>,
    ) -> Result<()> {
        let prefix = self.many_tables || self.options.verbose;
        let name = self.names.function(sample.handler).map(|n| n.text()).unwrap_or_default();
        let args: Result<Vec<String>> =
            sample.args.iter().map(|a| self.print(a, place, prefix, false)).collect();
        let args = args?;
        let repeatable = match &sample.repeatable {
            Some(e) => Some(self.print(e, place, prefix, false)?),
            None => None,
        };
        if self.w.is_text() {
            let repeat = repeatable.map(|r| format!(" REPEATABLE ({r})")).unwrap_or_default();
            self.w.text("Sampling", &format!("{name} ({}){repeat}", args.join(", ")));
        } else {
            self.w.text("Sampling Method", &name);
            self.w.list("Sampling Parameters", &args);
            if let Some(r) = repeatable {
                self.w.text("Repeatable Seed", &r);
            }
        }
        Ok(())
    }

    fn searches(&mut self, plan: &Plan) {
        if let Some(run) = self.run(plan) {
            let n = run.int("Index Searches").unwrap_or(0);
            self.w.integer("Index Searches", "", n);
        }
    }

    fn heap_blocks(&mut self, plan: &Plan) {
        let Some(run) = self.run(plan) else { return };
        let exact = run.int("Exact Heap Blocks").unwrap_or(0);
        let lossy = run.int("Lossy Heap Blocks").unwrap_or(0);
        if !self.w.is_text() {
            self.w.integer("Exact Heap Blocks", "", exact);
            self.w.integer("Lossy Heap Blocks", "", lossy);
            return;
        }
        let mut text = Vec::new();
        if exact > 0 {
            text.push(format!("exact={exact}"));
        }
        if lossy > 0 {
            text.push(format!("lossy={lossy}"));
        }
        if !text.is_empty() {
            self.w.text("Heap Blocks", &text.join(" "));
        }
    }

    fn join_details(&mut self, place: Place<'a, '_>) -> Result<()> {
        let join = match &place.plan.node {
            PlanNode::NestLoop(j) => &j.join,
            PlanNode::MergeJoin(j) => {
                let prefix = self.many_tables || self.options.verbose;
                let parts: Result<Vec<String>> =
                    j.keys.iter().map(|k| self.print(&k.clause, place, prefix, false)).collect();
                match parts?.as_slice() {
                    [] => {}
                    [one] => self.w.text("Merge Cond", one),
                    many => self.w.text("Merge Cond", &format!("({})", many.join(" AND "))),
                }
                &j.join
            }
            PlanNode::HashJoin(j) => {
                self.upper_quals("Hash Cond", &j.hash_clauses, place)?;
                &j.join
            }
            _ => return Ok(()),
        };
        if self.upper_quals("Join Filter", &join.join_qual, place)? {
            self.removed("Rows Removed by Join Filter", Removed::Join, place.plan);
        }
        if self.upper_quals("Filter", &place.plan.qual, place)? {
            self.removed("Rows Removed by Filter", Removed::JoinFilter, place.plan);
        }
        Ok(())
    }

    fn shape_details(&mut self, place: Place<'a, '_>) -> Result<()> {
        let plan = place.plan;
        match &plan.node {
            PlanNode::Result(r) => {
                self.upper_quals("One-Time Filter", &r.constant_qual, place)?;
                self.upper_filter(place)?;
            }
            PlanNode::Gather(g) => {
                self.filter(place)?;
                self.workers(plan, g.workers);
                if g.single_copy || !self.w.is_text() {
                    self.w.boolean("Single Copy", g.single_copy);
                }
            }
            PlanNode::GatherMerge(g) => {
                self.filter(place)?;
                self.workers(plan, g.workers);
            }
            PlanNode::Sort(s) => {
                self.sort_keys("Sort Key", &s.keys, place)?;
                self.sort_figures(plan);
            }
            PlanNode::IncrementalSort(s) => {
                self.sort_keys("Sort Key", &s.keys, place)?;
                let presorted = &s.keys[..(s.presorted as usize).min(s.keys.len())];
                let columns: Vec<i16> = presorted.iter().map(|k| k.column).collect();
                let items = self.columns(&columns, place)?;
                self.w.list("Presorted Key", &items);
                self.sort_figures(plan);
            }
            PlanNode::MergeAppend(a) => self.sort_keys("Sort Key", &a.keys, place)?,
            PlanNode::Agg(a) => {
                self.agg_keys(a, place)?;
                self.upper_quals("Filter", &plan.qual, place)?;
                self.hash_agg_figures(a, plan);
                if !plan.qual.is_empty() {
                    self.removed("Rows Removed by Filter", Removed::Filter, plan);
                }
            }
            PlanNode::Group(g) => {
                let columns: Vec<i16> = g.keys.iter().map(|k| k.column).collect();
                let items = self.child_columns(&columns, place)?;
                self.w.list("Group Key", &items);
                self.upper_filter(place)?;
            }
            PlanNode::WindowAgg(w) => {
                self.window(w, place)?;
                self.upper_quals("Run Condition", &w.run_condition_orig, place)?;
                self.upper_filter(place)?;
                self.storage(plan);
            }
            PlanNode::Hash(_) => self.hash_figures(plan),
            PlanNode::Memoize(m) => self.memoize(m, place)?,
            PlanNode::Material | PlanNode::RecursiveUnion(_) => self.storage(plan),
            _ => {}
        }
        Ok(())
    }

    fn workers(&mut self, plan: &Plan, planned: u32) {
        self.w.integer("Workers Planned", "", i64::from(planned));
        if let Some(run) = self.run(plan) {
            let launched = run.int("Workers Launched").unwrap_or(i64::from(planned));
            self.w.integer("Workers Launched", "", launched);
        }
    }

    /// Columns of the node's own output.
    fn columns(&self, columns: &[i16], place: Place<'a, '_>) -> Result<Vec<String>> {
        let prefix = self.many_tables || self.options.verbose;
        let find = |c: &i16| place.plan.target.iter().find(|t| t.resno == *c);
        columns.iter().filter_map(find).map(|t| self.print(&t.expr, place, prefix, true)).collect()
    }

    /// Columns of what the node's outer child gives.
    fn child_columns(&self, columns: &[i16], place: Place<'a, '_>) -> Result<Vec<String>> {
        let Some(child) = place.plan.outer.as_deref() else { return Ok(Vec::new()) };
        let mut ancestors = place.ancestors.to_vec();
        ancestors.push(Ancestor::Plan(place.plan));
        self.columns(columns, Place { plan: child, ancestors: &ancestors })
    }

    fn sort_keys(&mut self, label: &str, keys: &[SortKey], place: Place<'a, '_>) -> Result<()> {
        let mut items = Vec::new();
        for key in keys {
            let mut item = self.columns(&[key.column], place)?.pop().unwrap_or_default();
            item.push_str(&self.sort_options(key, place.plan));
            items.push(item);
        }
        if !items.is_empty() {
            self.w.list(label, &items);
        }
        Ok(())
    }

    fn sort_options(&self, key: &SortKey, plan: &Plan) -> String {
        let mut text = String::new();
        let ty = plan.target.iter().find(|t| t.resno == key.column).map(|t| t.expr.ty());
        let usual = ty.map_or(Oid::INVALID, |t| self.names.type_collation(t));
        if key.collation.is_valid() && key.collation != usual {
            let name = self.names.collation(key.collation).map(|n| quote_ident(&n.name));
            text.push_str(&format!(" COLLATE {}", name.unwrap_or_default()));
        }
        let op = self.names.operator(key.op);
        let word = op.as_ref().map_or("", |o| o.name.as_str());
        if key.descending && word != "<" {
            text.push_str(" DESC");
        } else if !matches!(word, "<" | "") {
            text.push_str(&format!(" USING {word}"));
        }
        text.push_str(match (key.descending, key.nulls_first) {
            (false, true) => " NULLS FIRST",
            (true, false) => " NULLS LAST",
            _ => "",
        });
        text
    }

    fn agg_keys(&mut self, a: &Agg, place: Place<'a, '_>) -> Result<()> {
        let columns: Vec<i16> = a.keys.iter().map(|k| k.column).collect();
        if a.set_lengths.is_empty() && a.chain.is_empty() {
            if !columns.is_empty() {
                let items = self.child_columns(&columns, place)?;
                self.w.list("Group Key", &items);
            }
            return Ok(());
        }
        self.w.open("Grouping Sets", Some("Grouping Sets"), false);
        let hashed = matches!(a.strategy, AggStrategy::Hashed | AggStrategy::Mixed);
        self.grouping_set(hashed, &columns, &a.set_lengths, &[], place)?;
        for phase in &a.chain {
            let columns: Vec<i16> = phase.keys.iter().map(|k| k.column).collect();
            let hashed = matches!(phase.strategy, AggStrategy::Hashed | AggStrategy::Mixed);
            self.grouping_set(hashed, &columns, &phase.set_lengths, &phase.sort, place)?;
        }
        self.w.close("Grouping Sets", false);
        Ok(())
    }

    fn grouping_set(
        &mut self,
        hashed: bool,
        columns: &[i16],
        lengths: &[u32],
        sort: &[SortKey],
        place: Place<'a, '_>,
    ) -> Result<()> {
        let (one, many) =
            if hashed { ("Hash Key", "Hash Keys") } else { ("Group Key", "Group Keys") };
        self.w.open("Grouping Set", None, true);
        if !sort.is_empty() {
            if let Some(child) = place.plan.outer.as_deref() {
                let mut ancestors = place.ancestors.to_vec();
                ancestors.push(Ancestor::Plan(place.plan));
                self.sort_keys("Sort Key", sort, Place { plan: child, ancestors: &ancestors })?;
            }
            if self.w.is_text() {
                self.w.indent += 1;
            }
        }
        self.w.open(many, Some(many), false);
        for length in lengths {
            let part = &columns[..(*length as usize).min(columns.len())];
            let items = self.child_columns(part, place)?;
            if items.is_empty() && self.w.is_text() {
                self.w.text(one, "()");
            } else {
                self.w.nested_list(one, &items);
            }
        }
        self.w.close(many, false);
        if !sort.is_empty() && self.w.is_text() {
            self.w.indent -= 1;
        }
        self.w.close("Grouping Set", true);
        Ok(())
    }

    fn window(&mut self, w: &'a WindowAgg, place: Place<'a, '_>) -> Result<()> {
        let list = |keys: &[GroupKey]| -> Vec<i16> { keys.iter().map(|k| k.column).collect() };
        let mut parts = Vec::new();
        if !w.partition.is_empty() {
            let items = self.child_columns(&list(&w.partition), place)?;
            parts.push(format!("PARTITION BY {}", items.join(", ")));
        }
        if !w.order.is_empty() {
            let items = self.child_columns(&list(&w.order), place)?;
            parts.push(format!("ORDER BY {}", items.join(", ")));
        }
        parts.extend(self.frame(&w.frame, place)?);
        let text = format!("{} AS ({})", quote_ident(&w.name), parts.join(" "));
        self.w.text("Window", &text);
        Ok(())
    }

    fn frame(&self, frame: &'a WindowFrame, place: Place<'a, '_>) -> Result<Option<String>> {
        let usual = frame.mode == FrameMode::Range
            && frame.start == FrameBound::UnboundedPreceding
            && frame.end == FrameBound::CurrentRow
            && frame.exclusion == crate::query::FrameExclusion::NoOthers;
        if usual || (!frame.given && frame.mode == FrameMode::Range) {
            return Ok(None);
        }
        let mode = match frame.mode {
            FrameMode::Range => "RANGE",
            FrameMode::Rows => "ROWS",
            FrameMode::Groups => "GROUPS",
        };
        let bound = |b: &'a FrameBound| -> Result<String> {
            Ok(match b {
                FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".into(),
                FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".into(),
                FrameBound::CurrentRow => "CURRENT ROW".into(),
                FrameBound::Preceding(e) => {
                    format!("{} PRECEDING", self.print(e, place, self.many_tables, false)?)
                }
                FrameBound::Following(e) => {
                    format!("{} FOLLOWING", self.print(e, place, self.many_tables, false)?)
                }
            })
        };
        let start = bound(&frame.start)?;
        // The planner's own frames are not written with BETWEEN.
        if !frame.given && frame.end == FrameBound::CurrentRow {
            return Ok(Some(format!("{mode} {start}")));
        }
        use crate::query::FrameExclusion as X;
        let exclusion = match frame.exclusion {
            X::NoOthers => "",
            X::CurrentRow => " EXCLUDE CURRENT ROW",
            X::Group => " EXCLUDE GROUP",
            X::Ties => " EXCLUDE TIES",
        };
        Ok(Some(format!("{mode} BETWEEN {start} AND {}{exclusion}", bound(&frame.end)?)))
    }
}
