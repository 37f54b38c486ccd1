//! The tree: each node's first line and its children.

use super::{Explainer, Place};
use crate::deparse::{Ancestor, quote_ident};
use crate::expr::{AggSplit, Expr, SubPlan};
use crate::plan::*;
use crate::query::{CmdType, JoinKind, RteKind, SetOpKind};
use crate::walk;
use base::Result;

/// Names of a node: of its kind, and in the text form.
struct Title {
    kind: &'static str,
    text: String,
    strategy: Option<&'static str>,
    partial: Option<&'static str>,
    operation: Option<&'static str>,
}

impl Title {
    fn of(plan: &Plan) -> Title {
        let mut title = Title {
            kind: kind(&plan.node),
            text: kind(&plan.node).into(),
            strategy: None,
            partial: None,
            operation: None,
        };
        match &plan.node {
            PlanNode::ModifyTable(m) => {
                let operation = match m.operation {
                    CmdType::Insert => "Insert",
                    CmdType::Update => "Update",
                    CmdType::Delete => "Delete",
                    _ => "Merge",
                };
                title.operation = Some(operation);
                title.text = operation.into();
            }
            PlanNode::MergeJoin(_) => title.text = "Merge".into(),
            PlanNode::HashJoin(_) => title.text = "Hash".into(),
            PlanNode::Agg(a) => {
                let (strategy, text) = match a.strategy {
                    AggStrategy::Plain => ("Plain", "Aggregate"),
                    AggStrategy::Sorted => ("Sorted", "GroupAggregate"),
                    AggStrategy::Hashed => ("Hashed", "HashAggregate"),
                    AggStrategy::Mixed => ("Mixed", "MixedAggregate"),
                };
                let (partial, prefix) = match a.split {
                    AggSplit::Simple => ("Simple", ""),
                    AggSplit::InitialSerial => ("Partial", "Partial "),
                    AggSplit::FinalDeserial => ("Finalize", "Finalize "),
                };
                title.strategy = Some(strategy);
                title.partial = Some(partial);
                title.text = format!("{prefix}{text}");
            }
            PlanNode::SetOp(s) => {
                let hashed = s.strategy == SetOpStrategy::Hashed;
                title.strategy = Some(if hashed { "Hashed" } else { "Sorted" });
                title.text = if hashed { "HashSetOp".into() } else { "SetOp".into() };
            }
            _ => {}
        }
        title
    }
}

fn kind(node: &PlanNode) -> &'static str {
    match node {
        PlanNode::Result(_) => "Result",
        PlanNode::ProjectSet => "ProjectSet",
        PlanNode::ModifyTable(_) => "ModifyTable",
        PlanNode::Append(_) => "Append",
        PlanNode::MergeAppend(_) => "Merge Append",
        PlanNode::RecursiveUnion(_) => "Recursive Union",
        PlanNode::BitmapAnd(_) => "BitmapAnd",
        PlanNode::BitmapOr(_) => "BitmapOr",
        PlanNode::SeqScan(_) => "Seq Scan",
        PlanNode::SampleScan(_) => "Sample Scan",
        PlanNode::IndexScan(_) => "Index Scan",
        PlanNode::IndexOnlyScan(_) => "Index Only Scan",
        PlanNode::BitmapIndexScan(_) => "Bitmap Index Scan",
        PlanNode::BitmapHeapScan(_) => "Bitmap Heap Scan",
        PlanNode::TidScan(_) => "Tid Scan",
        PlanNode::TidRangeScan(_) => "Tid Range Scan",
        PlanNode::SubqueryScan(_) => "Subquery Scan",
        PlanNode::FunctionScan(s) if s.functions.iter().any(|f| f.is_table()) => {
            "Table Function Scan"
        }
        PlanNode::FunctionScan(_) => "Function Scan",
        PlanNode::ValuesScan(_) => "Values Scan",
        PlanNode::CteScan(_) => "CTE Scan",
        PlanNode::WorkTableScan(_) => "WorkTable Scan",
        PlanNode::NamedTuplestoreScan(_) => "Named Tuplestore Scan",
        PlanNode::NestLoop(_) => "Nested Loop",
        PlanNode::MergeJoin(_) => "Merge Join",
        PlanNode::HashJoin(_) => "Hash Join",
        PlanNode::Hash(_) => "Hash",
        PlanNode::Material => "Materialize",
        PlanNode::Memoize(_) => "Memoize",
        PlanNode::Sort(_) => "Sort",
        PlanNode::IncrementalSort(_) => "Incremental Sort",
        PlanNode::Group(_) => "Group",
        PlanNode::Agg(_) => "Aggregate",
        PlanNode::WindowAgg(_) => "WindowAgg",
        PlanNode::Unique(_) => "Unique",
        PlanNode::SetOp(_) => "SetOp",
        PlanNode::LockRows(_) => "LockRows",
        PlanNode::Limit(_) => "Limit",
        PlanNode::Gather(_) => "Gather",
        PlanNode::GatherMerge(_) => "Gather Merge",
    }
}

/// The range-table entry that a scan reads.
fn scan_of(node: &PlanNode) -> Option<u32> {
    Some(match node {
        PlanNode::SeqScan(s) => s.scanrel,
        PlanNode::SampleScan(s) => s.scanrel,
        PlanNode::IndexScan(s) => s.scanrel,
        PlanNode::IndexOnlyScan(s) => s.scanrel,
        PlanNode::BitmapHeapScan(s) => s.scanrel,
        PlanNode::TidScan(s) => s.scanrel,
        PlanNode::TidRangeScan(s) => s.scanrel,
        PlanNode::SubqueryScan(s) => s.scanrel,
        PlanNode::FunctionScan(s) => s.scanrel,
        PlanNode::ValuesScan(s) => s.scanrel,
        PlanNode::CteScan(s) => s.scanrel,
        PlanNode::WorkTableScan(s) => s.scanrel,
        PlanNode::NamedTuplestoreScan(s) => s.scanrel,
        _ => return None,
    })
}

impl<'a> Explainer<'a> {
    /// Shows a node and what is below it. `name` is that of the subplan it is the top of.
    pub(super) fn node(
        &mut self,
        plan: &'a Plan,
        ancestors: &[Ancestor<'a>],
        relationship: Option<&str>,
        name: Option<&str>,
    ) -> Result<()> {
        let saved = self.w.indent;
        let title = Title::of(plan);
        self.w.open("Plan", relationship.is_none().then_some("Plan"), true);
        if self.w.is_text() {
            self.text_title(plan, &title, name);
        } else {
            self.properties_title(plan, &title, relationship, name);
        }
        self.target_of(plan);
        self.costs(plan);
        if self.w.is_text() {
            self.w.out.push('\n');
        }
        let disabled = is_disabled(plan);
        if disabled || !self.w.is_text() {
            self.w.boolean("Disabled", disabled);
        }
        let place = Place { plan, ancestors };
        self.details(place)?;
        if let Some(run) = self.run(plan) {
            let (buffers, wal) = (run.buffers, run.wal);
            if self.options.buffers {
                self.buffer_use(&buffers);
            }
            if self.options.wal {
                self.wal_use(&wal);
            }
        }
        self.worker_runs(plan);
        self.children(place)?;
        self.w.close("Plan", true);
        self.w.indent = saved;
        Ok(())
    }

    fn text_title(&mut self, plan: &Plan, title: &Title, name: Option<&str>) {
        if let Some(name) = name {
            self.w.pad();
            self.w.out.push_str(&format!("{name}\n"));
            self.w.indent += 1;
        }
        if self.w.indent > 0 {
            self.w.pad();
            self.w.out.push_str("->  ");
            self.w.indent += 2;
        }
        if plan.parallel_aware {
            self.w.out.push_str("Parallel ");
        }
        self.w.out.push_str(&title.text);
        self.w.indent += 1;
    }

    fn properties_title(
        &mut self,
        plan: &Plan,
        title: &Title,
        relationship: Option<&str>,
        name: Option<&str>,
    ) {
        self.w.text("Node Type", title.kind);
        let rest = [
            ("Strategy", title.strategy),
            ("Partial Mode", title.partial),
            ("Operation", title.operation),
            ("Parent Relationship", relationship),
            ("Subplan Name", name),
        ];
        for (label, value) in rest {
            if let Some(value) = value {
                self.w.text(label, value);
            }
        }
        self.w.boolean("Parallel Aware", plan.parallel_aware);
        self.w.boolean("Async Capable", false);
    }

    /// Shows what a node works on: table, index, kind of join.
    fn target_of(&mut self, plan: &'a Plan) {
        match &plan.node {
            PlanNode::IndexScan(s) => self.index_of(s.index, s.direction),
            PlanNode::IndexOnlyScan(s) => self.index_of(s.index, s.direction),
            PlanNode::BitmapIndexScan(s) => {
                let name = self.object_name(s.index);
                if self.w.is_text() {
                    self.w.out.push_str(&format!(" on {}", quote_ident(&name)));
                } else {
                    self.w.text("Index Name", &name);
                }
            }
            PlanNode::ModifyTable(m) => self.table(m.nominal, None),
            PlanNode::NestLoop(j) => self.join_kind(j.join.kind, false),
            PlanNode::MergeJoin(j) => self.join_kind(j.join.kind, true),
            PlanNode::HashJoin(j) => self.join_kind(j.join.kind, true),
            PlanNode::SetOp(s) => {
                let word = match (s.kind, s.all) {
                    (SetOpKind::Except, false) => "Except",
                    (SetOpKind::Except, true) => "Except All",
                    (_, false) => "Intersect",
                    (_, true) => "Intersect All",
                };
                if self.w.is_text() {
                    self.w.out.push_str(&format!(" {word}"));
                } else {
                    self.w.text("Command", word);
                }
            }
            _ => {}
        }
        if let Some(rel) = scan_of(&plan.node) {
            self.table(rel, Some(plan));
        }
    }

    fn index_of(&mut self, index: base::Oid, direction: ScanDirection) {
        let name = self.object_name(index);
        let backward = direction == ScanDirection::Backward;
        if self.w.is_text() {
            let word = if backward { " Backward" } else { "" };
            self.w.out.push_str(&format!("{word} using {}", quote_ident(&name)));
        } else {
            self.w.text("Scan Direction", if backward { "Backward" } else { "Forward" });
            self.w.text("Index Name", &name);
        }
    }

    fn join_kind(&mut self, kind: JoinKind, named: bool) {
        let word = match kind {
            JoinKind::Inner => "Inner",
            JoinKind::Left => "Left",
            JoinKind::Full => "Full",
            JoinKind::Right => "Right",
            JoinKind::Semi => "Semi",
            JoinKind::Anti => "Anti",
            JoinKind::RightSemi => "Right Semi",
            JoinKind::RightAnti => "Right Anti",
        };
        if !self.w.is_text() {
            self.w.text("Join Type", word);
        } else if kind != JoinKind::Inner {
            self.w.out.push_str(&format!(" {word} Join"));
        } else if named {
            self.w.out.push_str(" Join");
        }
    }

    /// Shows a range-table entry as what a node reads or writes.
    pub(super) fn table(&mut self, rtindex: u32, plan: Option<&Plan>) {
        let Some(rte) = self.stmt.rtable.get((rtindex as usize).wrapping_sub(1)) else { return };
        let alias = self.printer.table_name(rtindex).unwrap_or(&rte.eref.name).to_string();
        let mut schema = None;
        let (label, name) = match &rte.kind {
            RteKind::Relation { relid, .. } => {
                let name = self.names.relation(*relid);
                schema = name.as_ref().map(|n| n.schema.clone());
                ("Relation Name", Some(name.map_or_else(|| relid.to_string(), |n| n.name)))
            }
            RteKind::Function { functions, .. } => {
                let functions = match plan.map(|p| &p.node) {
                    Some(PlanNode::FunctionScan(s)) => &s.functions,
                    _ => functions,
                };
                let word = functions.first().and_then(|f| f.table_word());
                let call = match functions.as_slice() {
                    [one] => match &one.expr {
                        Expr::Func(f) => self.names.function(f.func),
                        _ => None,
                    },
                    _ => None,
                };
                schema = call.as_ref().map(|n| n.schema.clone());
                match word {
                    Some(word) => ("Table Function Name", Some(word.to_string())),
                    None => ("Function Name", call.map(|n| n.name)),
                }
            }
            RteKind::Cte { name, .. } => ("CTE Name", Some(name.clone())),
            RteKind::NamedTuplestore { name, .. } => ("Tuplestore Name", Some(name.clone())),
            _ => ("", None),
        };
        let schema = schema.filter(|_| self.options.verbose);
        if self.w.is_text() {
            let mut text = String::from(" on");
            if let Some(name) = &name {
                let schema = schema.map(|s| format!("{}.", quote_ident(&s))).unwrap_or_default();
                text.push_str(&format!(" {schema}{}", quote_ident(name)));
            }
            if name.as_ref() != Some(&alias) {
                text.push_str(&format!(" {}", quote_ident(&alias)));
            }
            return self.w.out.push_str(&text);
        }
        if let Some(name) = name {
            self.w.text(label, &name);
        }
        if let Some(schema) = schema {
            self.w.text("Schema", &schema);
        }
        self.w.text("Alias", &alias);
    }

    fn costs(&mut self, plan: &Plan) {
        let text = self.w.is_text();
        if self.options.costs && text {
            self.w.out.push_str(&format!(
                "  (cost={:.2}..{:.2} rows={:.0} width={})",
                plan.startup_cost, plan.total_cost, plan.rows, plan.width
            ));
        } else if self.options.costs {
            self.w.float("Startup Cost", "", plan.startup_cost, 2);
            self.w.float("Total Cost", "", plan.total_cost, 2);
            self.w.float("Plan Rows", "", plan.rows, 0);
            self.w.integer("Plan Width", "", i64::from(plan.width));
        }
        if !self.options.analyze {
            return;
        }
        let run = self.run(plan).cloned().unwrap_or_default();
        let loops = run.loops.max(1) as f64;
        let (first, total) = (run.startup_ms / loops, run.total_ms / loops);
        let rows = run.rows / loops;
        if !text {
            if self.options.timing {
                self.w.float("Actual Startup Time", "ms", first, 3);
                self.w.float("Actual Total Time", "ms", total, 3);
            }
            self.w.float("Actual Rows", "", rows, 2);
            self.w.integer("Actual Loops", "", run.loops as i64);
        } else if run.loops == 0 {
            self.w.out.push_str(" (never executed)");
        } else {
            let time = if self.options.timing {
                format!("time={first:.3}..{total:.3} ")
            } else {
                String::new()
            };
            let actual = format!(" (actual {time}rows={rows:.2} loops={})", run.loops);
            self.w.out.push_str(&actual);
        }
    }

    /// What the node did, if it is to be shown.
    pub(super) fn run(&self, plan: &Plan) -> Option<&super::NodeRun> {
        if !self.options.analyze {
            return None;
        }
        self.measured.nodes.get(plan.id as usize)
    }

    fn children(&mut self, place: Place<'a, '_>) -> Result<()> {
        let plan = place.plan;
        let own = subplans_of(plan);
        let members: &'a [Plan] = match &plan.node {
            PlanNode::Append(a) => &a.children,
            PlanNode::MergeAppend(a) => &a.children,
            PlanNode::BitmapAnd(b) | PlanNode::BitmapOr(b) => &b.children,
            _ => &[],
        };
        let below = match &plan.node {
            PlanNode::SubqueryScan(s) => Some(&*s.subplan),
            _ => None,
        };
        let any = !plan.init_plans.is_empty()
            || plan.outer.is_some()
            || plan.inner.is_some()
            || !members.is_empty()
            || below.is_some()
            || own.iter().any(|s| !self.printed.contains(&s.plan));
        if !any {
            return Ok(());
        }
        let gone = self.measured.gone(plan);
        if matches!(plan.node, PlanNode::Append(_) | PlanNode::MergeAppend(_))
            && (!gone.is_empty() || !self.w.is_text())
        {
            self.w.integer("Subplans Removed", "", gone.len() as i64);
        }
        self.w.open("Plans", Some("Plans"), false);
        let mut ancestors = place.ancestors.to_vec();
        ancestors.push(Ancestor::Plan(plan));
        self.subplans(plan.init_plans.iter().collect(), &ancestors, "InitPlan")?;
        if let Some(outer) = &plan.outer {
            self.node(outer, &ancestors, Some("Outer"), None)?;
        }
        if let Some(inner) = &plan.inner {
            self.node(inner, &ancestors, Some("Inner"), None)?;
        }
        for (i, member) in members.iter().enumerate() {
            if gone.contains(&i) {
                continue;
            }
            self.node(member, &ancestors, Some("Member"), None)?;
        }
        if let Some(below) = below {
            self.node(below, &ancestors, Some("Subquery"), None)?;
        }
        self.subplans(own, &ancestors, "SubPlan")?;
        self.w.close("Plans", false);
        Ok(())
    }

    fn subplans(
        &mut self,
        subplans: Vec<&'a SubPlan>,
        ancestors: &[Ancestor<'a>],
        relationship: &str,
    ) -> Result<()> {
        for sub in subplans {
            let Some(plan) = self.stmt.subplans.get(sub.plan as usize) else { continue };
            // Several expressions may refer to the same one.
            if !self.printed.insert(sub.plan) {
                continue;
            }
            let mut ancestors = ancestors.to_vec();
            ancestors.push(Ancestor::SubPlan(sub));
            self.node(plan, &ancestors, Some(relationship), Some(&sub.name))?;
        }
        Ok(())
    }
}

/// True if the node itself, not one below it, is of a kind that settings disable.
fn is_disabled(plan: &Plan) -> bool {
    plan.disabled_nodes > plan.children().iter().map(|c| c.disabled_nodes).sum()
}

/// The subplans in a node's own expressions, in order.
fn subplans_of(plan: &Plan) -> Vec<&SubPlan> {
    let mut found: Vec<&SubPlan> = Vec::new();
    let mut collect = |e| collect_subplans(e, &mut found);
    plan.target.iter().for_each(|t| collect(&t.expr));
    plan.qual.iter().for_each(&mut collect);
    match &plan.node {
        PlanNode::NestLoop(j) => j.join.join_qual.iter().for_each(&mut collect),
        PlanNode::MergeJoin(j) => {
            j.join.join_qual.iter().for_each(&mut collect);
            j.keys.iter().for_each(|k| collect(&k.clause));
        }
        PlanNode::HashJoin(j) => {
            j.join.join_qual.iter().for_each(&mut collect);
            j.hash_clauses.iter().for_each(&mut collect);
        }
        PlanNode::Result(r) => r.constant_qual.iter().for_each(&mut collect),
        PlanNode::IndexScan(s) => s.index_qual_orig.iter().for_each(&mut collect),
        PlanNode::IndexOnlyScan(s) => s.index_qual.iter().for_each(&mut collect),
        PlanNode::BitmapIndexScan(s) => s.index_qual_orig.iter().for_each(&mut collect),
        PlanNode::ValuesScan(s) => s.lists.iter().flatten().for_each(&mut collect),
        PlanNode::FunctionScan(s) => s.functions.iter().for_each(|f| collect(&f.expr)),
        PlanNode::Limit(l) => l.offset.iter().chain(&l.count).for_each(&mut collect),
        PlanNode::ModifyTable(m) => {
            for t in &m.targets {
                t.returning.iter().for_each(|t| collect(&t.expr));
                t.with_check_options.iter().for_each(|c| collect(&c.qual));
            }
            if let Some(c) = &m.on_conflict {
                c.set.iter().for_each(|t| collect(&t.expr));
                c.where_.iter().for_each(&mut collect);
            }
        }
        _ => {}
    }
    found
}

fn collect_subplans<'a>(expr: &'a Expr, found: &mut Vec<&'a SubPlan>) {
    walk::each(expr, &mut |e| {
        if let Expr::SubPlan(sub) = e {
            found.push(sub);
        }
    });
}
