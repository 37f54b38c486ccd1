//! UNION and its kind.

use super::{Printer, STEP};
use crate::query::{Query, RteKind, SetOpKind, SetOperand, SetOperation};

impl<'a> Printer<'a> {
    pub(super) fn set_operation(
        &mut self,
        op: &'a SetOperation,
        query: &'a Query,
        show_names: bool,
    ) {
        let paren = match &op.left {
            SetOperand::Operation(left) => left.kind != op.kind || left.all != op.all,
            SetOperand::Table(_) => false,
        };
        let step = if paren { STEP } else { 0 };
        if paren {
            self.put("(");
            self.clause("", step, 0, 0);
        }
        self.set_operand(&op.left, query, show_names);
        if paren {
            self.clause(") ", -step, 0, 0);
        } else if self.style.indent {
            self.clause("", -step, 0, 0);
        } else {
            self.put(" ");
        }
        self.put(match op.kind {
            SetOpKind::Union => "UNION ",
            SetOpKind::Intersect => "INTERSECT ",
            SetOpKind::Except => "EXCEPT ",
        });
        if op.all {
            self.put("ALL ");
        }
        let paren = matches!(op.right, SetOperand::Operation(_));
        let step = if paren { STEP } else { 0 };
        if paren {
            self.put("(");
        }
        self.clause("", step, 0, 0);
        self.set_operand(&op.right, query, false);
        self.indent -= step;
        if paren {
            self.clause(")", 0, 0, 0);
        }
    }

    fn set_operand(&mut self, operand: &'a SetOperand, query: &'a Query, show_names: bool) {
        let index = match operand {
            SetOperand::Operation(op) => return self.set_operation(op, query, show_names),
            SetOperand::Table(index) => *index,
        };
        let RteKind::Subquery { query, .. } = &query.rte(index).kind else { return };
        let paren = !query.ctes.is_empty()
            || !query.sort_clause.is_empty()
            || !query.row_marks.is_empty()
            || query.limit_offset.is_some()
            || query.limit_count.is_some()
            || query.set_operations.is_some();
        self.put(if paren { "(" } else { "" });
        self.query(query, show_names);
        self.put(if paren { ")" } else { "" });
    }
}
