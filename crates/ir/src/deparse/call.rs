//! Calls of functions and aggregates.

use super::Printer;
use crate::expr::{AggSplit, Aggref, CoercionForm, Expr, FuncExpr};
use base::Oid;

impl<'a> Printer<'a> {
    pub(super) fn function_name(&self, func: Oid) -> String {
        self.names.function(func).map_or_else(|| func.to_string(), |n| n.text())
    }

    pub(super) fn func(&mut self, f: &'a FuncExpr, node: &Expr, implicit: bool) {
        match (f.form, f.args.first()) {
            (CoercionForm::ImplicitCast | CoercionForm::ExplicitCast, Some(arg)) => {
                return self.cast(arg, f.ret_type, node.typmod(), f.form, node, implicit);
            }
            (CoercionForm::SqlSyntax, _) if self.special_syntax(f) => return,
            _ => {}
        }
        let name = self.function_name(f.func);
        self.put(&name);
        self.put("(");
        self.arguments(&f.args, f.variadic);
        self.put(")");
    }

    pub(super) fn arguments(&mut self, args: &'a [Expr], variadic: bool) {
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            if variadic && i + 1 == args.len() {
                self.put("VARIADIC ");
            }
            self.expr(arg, true);
        }
    }

    pub(super) fn aggregate(&mut self, a: &'a Aggref) {
        if a.split == AggSplit::FinalDeserial
            && let Some(Expr::Var(var)) = a.args.first().map(|t| &t.expr)
        {
            let plan = self.scopes.last().and_then(|s| s.plan.clone());
            if let Some((place, partial)) = plan.and_then(|p| self.trace(p, var)) {
                // What is combined here was computed below.
                return self.in_plan(0, place, |p| match partial {
                    Expr::Agg(a) => p.aggregate_call(a),
                    other => p.expr(other, true),
                });
            }
        }
        if a.split == AggSplit::InitialSerial {
            self.put("PARTIAL ");
        }
        self.aggregate_call(a);
    }

    /// Follows a column through the nodes below until it is something else.
    fn trace(
        &self,
        mut place: super::plan::PlanScope<'a>,
        var: &'a crate::expr::Var,
    ) -> Option<(super::plan::PlanScope<'a>, &'a Expr)> {
        let mut var = var;
        loop {
            let (below, expr) = place.resolve(var)?;
            match expr {
                Expr::Var(v) => {
                    place = below;
                    var = v;
                }
                _ => return Some((below, expr)),
            }
        }
    }

    fn aggregate_call(&mut self, a: &'a Aggref) {
        let name = self.function_name(a.agg);
        self.put(&name);
        self.put(if a.distinct.is_empty() { "(" } else { "(DISTINCT " });
        let args: Vec<&'a Expr> = a.args.iter().filter(|t| !t.junk).map(|t| &t.expr).collect();
        if a.kind != 'n' {
            self.arguments(&a.direct_args, a.variadic && args.is_empty());
            self.put(") WITHIN GROUP (ORDER BY ");
            self.order_by(&a.order, &a.args, false);
        } else if a.star {
            self.put("*");
        } else {
            for (i, arg) in args.iter().enumerate() {
                if i > 0 {
                    self.put(", ");
                }
                if a.variadic && i + 1 == args.len() {
                    self.put("VARIADIC ");
                }
                self.expr(arg, true);
            }
            if !a.order.is_empty() {
                self.put(" ORDER BY ");
                self.order_by(&a.order, &a.args, false);
            }
        }
        if let Some(filter) = &a.filter {
            self.put(") FILTER (WHERE ");
            self.expr(filter, false);
        }
        self.put(")");
    }
}
