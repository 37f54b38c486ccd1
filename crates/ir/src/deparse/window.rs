//! Window functions and their windows.

use super::{Printer, STEP};
use crate::expr::{TargetEntry, WindowFunc};
use crate::query::{FrameBound, FrameExclusion, FrameMode, WindowClause, WindowFrame};

impl<'a> Printer<'a> {
    pub(super) fn window_func(&mut self, w: &'a WindowFunc) {
        let name = self.function_name(w.func);
        self.put(&name);
        self.put("(");
        if w.star {
            self.put("*");
        } else {
            self.arguments(&w.args, false);
        }
        if let Some(filter) = &w.filter {
            self.put(") FILTER (WHERE ");
            self.expr(filter, false);
        }
        self.put(") OVER ");
        self.over(w);
    }

    /// Prints what stands behind OVER.
    pub(super) fn over(&mut self, w: &'a WindowFunc) {
        let plan = self.scopes.last().and_then(|s| s.plan.as_ref());
        if let Some(plan) = plan {
            let name = plan.window_name(w.window).map_or("(?)".into(), super::quote_ident);
            return self.put(&name);
        }
        let targets = self.targets;
        match self.windows.iter().find(|c| c.ref_ == w.window) {
            Some(WindowClause { name: Some(name), .. }) => self.put_ident(name),
            Some(clause) => self.window_spec(clause, targets),
            None => self.put("(?)"),
        }
    }

    /// Prints the WINDOW clause.
    pub(super) fn window_clauses(&mut self, windows: &'a [WindowClause]) {
        let mut first = true;
        let targets = self.targets;
        for clause in windows {
            let Some(name) = &clause.name else { continue };
            if first {
                self.clause(" WINDOW ", -STEP, STEP, 1);
            } else {
                self.put(", ");
            }
            first = false;
            self.put_ident(name);
            self.put(" AS ");
            self.window_spec(clause, targets);
        }
    }

    fn window_spec(&mut self, clause: &'a WindowClause, targets: &'a [TargetEntry]) {
        self.put("(");
        let mut gap = "";
        if let Some(name) = &clause.ref_name {
            self.put_ident(name);
            gap = " ";
        }
        // What the window referred to has already said need not be said again.
        if !clause.partition.is_empty() && clause.ref_name.is_none() {
            self.put(gap);
            self.put("PARTITION BY ");
            for (i, by) in clause.partition.iter().enumerate() {
                if i > 0 {
                    self.put(", ");
                }
                self.sort_group_expr(by.target_ref, targets, false);
            }
            gap = " ";
        }
        if !clause.order.is_empty() && !clause.copied_order {
            self.put(gap);
            self.put("ORDER BY ");
            self.order_by(&clause.order, targets, false);
            gap = " ";
        }
        if clause.frame.given {
            self.put(gap);
            self.frame(&clause.frame);
        }
        self.put(")");
    }

    pub(super) fn frame(&mut self, frame: &'a WindowFrame) {
        self.put(match frame.mode {
            FrameMode::Range => "RANGE BETWEEN ",
            FrameMode::Rows => "ROWS BETWEEN ",
            FrameMode::Groups => "GROUPS BETWEEN ",
        });
        self.bound(&frame.start);
        self.put(" AND ");
        self.bound(&frame.end);
        self.put(match frame.exclusion {
            FrameExclusion::NoOthers => "",
            FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
        });
    }

    fn bound(&mut self, bound: &'a FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.put("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => self.put("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => self.put("CURRENT ROW"),
            FrameBound::Preceding(e) => {
                self.expr(e, false);
                self.put(" PRECEDING");
            }
            FrameBound::Following(e) => {
                self.expr(e, false);
                self.put(" FOLLOWING");
            }
        }
    }
}
