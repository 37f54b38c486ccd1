//! Expressions of a plan's nodes: columns of children are traced to where they come from.

use super::scope::Scope;
use super::{Names, Printer, Style};
use crate::expr::{Expr, INDEX_VAR, INNER_VAR, OUTER_VAR, Param, SubPlan, TargetEntry, Var};
use crate::plan::{Plan, PlanNode, PlannedStmt};
use crate::query::RteKind;
use base::Result;
use std::collections::HashSet;

/// What stands above a node.
#[derive(Clone, Copy, Debug)]
pub enum Ancestor<'a> {
    /// The node's parent.
    Plan(&'a Plan),
    /// The subplan whose top node it is.
    SubPlan(&'a SubPlan),
}

/// A node and what is above it, nearest last.
#[derive(Clone)]
pub(super) struct PlanScope<'a> {
    stmt: &'a PlannedStmt,
    plan: &'a Plan,
    ancestors: Vec<Ancestor<'a>>,
    /// Members of trees that are shown as their parents.
    renamed: Vec<(u32, u32)>,
}

impl<'a> PlanScope<'a> {
    /// What a column of a child or an index stands for, and where that is to be printed.
    pub fn resolve(&self, var: &Var) -> Option<(PlanScope<'a>, &'a Expr)> {
        let column =
            |t: &'a [TargetEntry]| t.iter().find(|t| t.resno == var.attno).map(|t| &t.expr);
        match var.varno {
            OUTER_VAR => {
                let child = self.outer()?;
                Some((self.child(child), column(&child.target)?))
            }
            INNER_VAR => {
                let child = self.inner()?;
                Some((self.child(child), column(&child.target)?))
            }
            INDEX_VAR => match &self.plan.node {
                PlanNode::IndexOnlyScan(s) => Some((self.clone(), column(&s.index_target)?)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a column of a subquery or CTE stands for at the node that scans it.
    pub fn scanned(&self, var: &Var) -> Option<(PlanScope<'a>, &'a Expr)> {
        let node = matches!(self.plan.node, PlanNode::SubqueryScan(_) | PlanNode::CteScan(_));
        let child = self.inner().filter(|_| node)?;
        let target = child.target.iter().find(|t| t.resno == var.attno)?;
        Some((self.child(child), &target.expr))
    }

    /// The columns of an entry, as the statement knows them.
    pub fn entry_columns(&self, varno: u32) -> Option<Vec<String>> {
        let rte = self.stmt.rtable.get((varno as usize).checked_sub(1)?)?;
        Some(rte.eref.columns.clone())
    }

    /// The column of the parent table that an append's column is: its members' columns are not
    /// named one by one.
    pub fn parent_column(&self, var: &Var) -> Option<(u32, i16)> {
        let parents = match &self.plan.node {
            PlanNode::Append(a) => &a.parents,
            PlanNode::MergeAppend(a) => &a.parents,
            _ => return None,
        };
        let named = var.varno == OUTER_VAR
            && parents.contains(&var.syn_no)
            && !matches!(self.stmt.rtable[var.syn_no as usize - 1].kind, RteKind::UnionAll { .. });
        named.then_some((var.syn_no, var.syn_attno))
    }

    fn outer(&self) -> Option<&'a Plan> {
        match &self.plan.node {
            PlanNode::Append(a) => a.children.first(),
            PlanNode::MergeAppend(a) => a.children.first(),
            _ => self.plan.outer.as_deref(),
        }
    }

    fn inner(&self) -> Option<&'a Plan> {
        match &self.plan.node {
            PlanNode::SubqueryScan(s) => Some(&s.subplan),
            PlanNode::CteScan(s) => self.stmt.subplans.get(s.subplan as usize),
            PlanNode::ModifyTable(_) => self.plan.outer.as_deref(),
            _ => self.plan.inner.as_deref(),
        }
    }

    fn child(&self, plan: &'a Plan) -> PlanScope<'a> {
        let mut ancestors = self.ancestors.clone();
        ancestors.push(Ancestor::Plan(self.plan));
        let mut renamed = self.renamed.clone();
        match &self.plan.node {
            PlanNode::Append(a) => renamed.extend(&a.members),
            PlanNode::MergeAppend(a) => renamed.extend(&a.members),
            _ => {}
        }
        PlanScope { stmt: self.stmt, plan, ancestors, renamed }
    }

    /// The entry whose name is shown for a table's.
    pub fn shown_as(&self, mut varno: u32) -> u32 {
        while let Some((_, parent)) = self.renamed.iter().find(|r| r.0 == varno) {
            varno = *parent;
        }
        varno
    }

    /// The expression that gives an exec param its value here, with its place.
    pub fn referent(&self, id: u32) -> Option<(PlanScope<'a>, &'a Expr)> {
        let mut child = self.plan;
        let mut in_same_plan = true;
        for (i, ancestor) in self.ancestors.iter().enumerate().rev() {
            match *ancestor {
                Ancestor::Plan(plan) => {
                    if let PlanNode::NestLoop(n) = &plan.node
                        && in_same_plan
                        && plan.inner.as_deref().is_some_and(|p| std::ptr::eq(p, child))
                        && let Some(p) = n.params.iter().find(|p| p.param == id)
                    {
                        return Some((self.at(i, plan), &p.value));
                    }
                    child = plan;
                    in_same_plan = true;
                }
                Ancestor::SubPlan(sub) => {
                    let found = sub.par_params.iter().position(|p| *p == id);
                    if let Some(arg) = found.and_then(|n| sub.args.get(n)) {
                        let above = self.ancestors[..i].iter().enumerate().rev();
                        let place = above.into_iter().find_map(|(j, a)| match a {
                            Ancestor::Plan(p) => Some(self.at(j, p)),
                            Ancestor::SubPlan(_) => None,
                        });
                        return Some((place?, arg));
                    }
                    in_same_plan = false;
                }
            }
        }
        None
    }

    fn at(&self, index: usize, plan: &'a Plan) -> PlanScope<'a> {
        PlanScope {
            stmt: self.stmt,
            plan,
            ancestors: self.ancestors[..index].to_vec(),
            renamed: self.renamed.clone(),
        }
    }

    /// The subplan that sets an exec param, and which of its columns it is, from 1.
    fn generator(&self, id: u32) -> Option<(&'a SubPlan, usize)> {
        let set_by = |plan: &'a Plan| {
            plan.init_plans
                .iter()
                .find_map(|s| s.set_params.iter().position(|p| *p == id).map(|n| (s, n + 1)))
        };
        if let Some(found) = set_by(self.plan) {
            return Some(found);
        }
        self.ancestors.iter().rev().find_map(|ancestor| match *ancestor {
            Ancestor::Plan(plan) => set_by(plan),
            Ancestor::SubPlan(s) => s.param_ids.iter().position(|p| *p == id).map(|n| (s, n + 1)),
        })
    }

    /// The name of the window that a function of this node is computed over.
    pub fn window_name(&self, window: u32) -> Option<&'a str> {
        match &self.plan.node {
            PlanNode::WindowAgg(w) if w.window == window => Some(&w.name),
            _ => None,
        }
    }
}

impl<'a> Printer<'a> {
    /// Prints what a special column stands for, in its own place.
    pub(super) fn special_var(&mut self, levels: u32, place: PlanScope<'a>, expr: &'a Expr) {
        let simple = matches!(expr, Expr::Var(_));
        self.in_plan(levels, place, |p| {
            if !simple {
                p.put("(");
            }
            p.expr(expr, true);
            if !simple {
                p.put(")");
            }
        });
    }

    pub(super) fn in_plan(
        &mut self,
        levels: u32,
        place: PlanScope<'a>,
        print: impl FnOnce(&mut Self),
    ) {
        let at = self.scopes.len() - 1 - levels as usize;
        let saved = self.scopes[at].plan.replace(place);
        print(self);
        self.scopes[at].plan = saved;
    }

    /// Prints an exec param as what it stands for, if that is known.
    pub(super) fn exec_param(&mut self, param: &Param) {
        let plan = self.scopes.iter().rev().find_map(|s| s.plan.clone());
        let Some(plan) = plan else { return self.put(&format!("${}", param.id)) };
        if let Some((place, value)) = plan.referent(param.id) {
            let simple =
                matches!(value, Expr::Var(_) | Expr::Agg(_) | Expr::Grouping(_) | Expr::Param(_));
            let saved = std::mem::replace(&mut self.prefix, true);
            if !simple {
                self.put("(");
            }
            self.in_plan(0, place, |p| p.expr(value, false));
            if !simple {
                self.put(")");
            }
            self.prefix = saved;
            return;
        }
        match plan.generator(param.id) {
            Some((sub, column)) => {
                let hashed = if sub.use_hash_table { "hashed " } else { "" };
                self.put(&format!("({hashed}{}).col{column}", sub.name));
            }
            None => self.put(&format!("${}", param.id)),
        }
    }

    /// Prints a subplan: its test, or its name.
    pub(super) fn subplan(&mut self, sub: &'a SubPlan) {
        use crate::expr::SubLinkKind as K;
        self.put(match sub.kind {
            K::Exists => "EXISTS(",
            K::All => "(ALL ",
            K::Any => "(ANY ",
            K::RowCompare | K::Expr => "(",
            K::MultiExpr => "(rescan ",
            K::Array => "ARRAY(",
            K::Cte => "CTE(",
        });
        match &sub.test {
            Some(test) => {
                if let Some(plan) = self.scopes.last_mut().and_then(|s| s.plan.as_mut()) {
                    plan.ancestors.push(Ancestor::SubPlan(sub));
                }
                self.expr(test, false);
                if let Some(plan) = self.scopes.last_mut().and_then(|s| s.plan.as_mut()) {
                    plan.ancestors.pop();
                }
            }
            None => {
                let hashed = if sub.use_hash_table { "hashed " } else { "" };
                self.put(&format!("{hashed}{}", sub.name));
            }
        }
        self.put(")");
    }
}

/// Prints expressions of a planned statement's nodes.
pub struct PlanPrinter<'a> {
    stmt: &'a PlannedStmt,
    names: &'a dyn Names,
    scope: Scope<'a>,
}

impl<'a> PlanPrinter<'a> {
    /// A printer for the statement. `used` are the range-table indexes that its scans read: only
    /// they get names.
    pub fn new(stmt: &'a PlannedStmt, used: &HashSet<u32>, names: &'a dyn Names) -> Self {
        let scope = Scope::of_rtable(&stmt.rtable, used, names);
        PlanPrinter { stmt, names, scope }
    }

    /// Names of old and new rows in RETURNING.
    pub fn set_old_new(&mut self, old: Option<&str>, new: Option<&str>) {
        self.scope.old_new = (old.unwrap_or("old").into(), new.unwrap_or("new").into());
    }

    /// The name that a range-table entry has in the text, without quotes.
    pub fn table_name(&self, rtindex: u32) -> Option<&str> {
        self.scope.tables.get((rtindex as usize).checked_sub(1)?)?.as_deref()
    }

    /// Prints an expression of `plan`. `prefix`: columns are qualified; `implicit`: casts at the
    /// top are printed even if the parser put them in.
    pub fn print(
        &self,
        expr: &'a Expr,
        plan: &'a Plan,
        ancestors: &[Ancestor<'a>],
        prefix: bool,
        implicit: bool,
    ) -> Result<String> {
        let mut printer = Printer::new(self.names, Style::PLAIN);
        let mut scope = self.scope.clone();
        scope.plan = Some(PlanScope {
            stmt: self.stmt,
            plan,
            ancestors: ancestors.to_vec(),
            renamed: Vec::new(),
        });
        printer.scopes.push(scope);
        printer.prefix = prefix;
        printer.expr(expr, implicit);
        printer.finish()
    }
}
