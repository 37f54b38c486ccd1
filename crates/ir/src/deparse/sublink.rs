//! Subselects in expressions.

use super::Printer;
use crate::expr::{Expr, SubLink, SubLinkKind};

impl<'a> Printer<'a> {
    pub(super) fn sublink(&mut self, link: &'a SubLink) {
        self.put(if link.kind == SubLinkKind::Array { "ARRAY(" } else { "(" });
        let op = link.test.as_deref().map(|t| self.left_of(t)).unwrap_or_default();
        let op = if op.is_empty() { link.op_name.last().cloned().unwrap_or_default() } else { op };
        let own_paren = match link.kind {
            SubLinkKind::Exists => {
                self.put("EXISTS ");
                true
            }
            SubLinkKind::Any => {
                let word = if op == "=" { " IN ".into() } else { format!(" {op} ANY ") };
                self.put(&word);
                true
            }
            SubLinkKind::All => {
                self.put(&format!(" {op} ALL "));
                true
            }
            SubLinkKind::RowCompare => {
                self.put(&format!(" {op} "));
                true
            }
            _ => false,
        };
        if own_paren {
            self.put("(");
        }
        self.nested_query(&link.query, false);
        self.put(if own_paren { "))" } else { ")" });
    }

    /// Prints the left side of a comparison with a subselect's columns; gives the operator.
    fn left_of(&mut self, test: &'a Expr) -> String {
        match test {
            Expr::Op(o) => {
                if let Some(left) = o.args.first() {
                    self.expr(left, true);
                }
                self.operator_name(o.op)
            }
            Expr::Bool { args, .. } => {
                let mut op = String::new();
                self.put("(");
                for (i, arg) in args.iter().enumerate() {
                    if i > 0 {
                        self.put(", ");
                    }
                    if let Expr::Op(o) = arg
                        && let Some(left) = o.args.first()
                    {
                        self.expr(left, true);
                        if i == 0 {
                            op = self.operator_name(o.op);
                        }
                    }
                }
                self.put(")");
                op
            }
            Expr::RowCompare { ops, left, .. } => {
                self.put("(");
                self.list(left, |p, e| p.expr(e, true));
                self.put(")");
                ops.first().map(|o| self.operator_name(*o)).unwrap_or_default()
            }
            _ => String::new(),
        }
    }
}
