//! What an anonymous row is made of, found through the subqueries it came from.

use crate::from::output_columns;
use crate::state::Analyzer;
use base::Oid;
use catalog::oids;
use ir::{CmdType, Expr, Query, Rte, RteKind};

/// Name, type, modifier and collation of a field.
pub(crate) type Field = (String, Oid, i32, Oid);

impl Analyzer<'_> {
    /// The fields of a value of type RECORD, if they can be known.
    pub fn record_fields(&self, expr: &Expr) -> Option<Vec<Field>> {
        let stack: Vec<&[Rte]> = self.states.iter().map(|s| s.rtable.as_slice()).collect();
        self.fields_of(expr, &stack)
    }

    fn fields_of(&self, expr: &Expr, stack: &[&[Rte]]) -> Option<Vec<Field>> {
        base::stack::check().ok()?;
        match expr {
            Expr::Row(row) => {
                let field =
                    |(n, e): (&String, &Expr)| (n.clone(), e.ty(), e.typmod(), e.collation());
                Some(row.names.iter().zip(&row.args).map(field).collect())
            }
            Expr::Var(v) if v.ty == oids::RECORD => {
                let level = stack.len().checked_sub(1 + v.levels_up as usize)?;
                let rte = stack[level].get(v.varno as usize - 1)?;
                let number = usize::try_from(v.attno).ok()?;
                self.entry_fields(rte, number, &stack[..=level])
            }
            Expr::Func(_) => self.output_params(expr).ok()?,
            Expr::SubLink(s) if s.kind == ir::SubLinkKind::Expr => {
                self.output_fields(&s.query, 1, stack)
            }
            _ => None,
        }
    }

    /// The fields of a column of an entry, or with 0 of its whole row.
    fn entry_fields(&self, rte: &Rte, number: usize, stack: &[&[Rte]]) -> Option<Vec<Field>> {
        match &rte.kind {
            RteKind::Subquery { query, .. } if number == 0 => Some(named(rte, query)),
            RteKind::Subquery { query, .. } => self.output_fields(query, number, stack),
            RteKind::Join { alias_vars, .. } => {
                self.fields_of(alias_vars.get(number.checked_sub(1)?)?, stack)
            }
            RteKind::Values { lists, .. } => {
                self.fields_of(lists.first()?.get(number.checked_sub(1)?)?, stack)
            }
            RteKind::Cte { name, levels_up, .. } => {
                let level = stack.len().checked_sub(1 + *levels_up as usize)?;
                let st = self.states.get(level)?;
                let slot = st.ctes.iter().find(|c| c.cte.name == *name)?;
                if slot.in_progress {
                    // Of a recursive query, SEARCH BREADTH FIRST asks for how far it has come.
                    let ty = slot.cte.col_types.get(number.checked_sub(1)?)?;
                    let depth = ("f1".to_string(), oids::INT8, -1, Oid::INVALID);
                    return (*ty == oids::RECORD).then(|| vec![depth]);
                }
                if number == 0 {
                    return Some(named(rte, &slot.cte.query));
                }
                self.output_fields(&slot.cte.query, number, &stack[..=level])
            }
            _ => None,
        }
    }

    fn output_fields(&self, query: &Query, number: usize, stack: &[&[Rte]]) -> Option<Vec<Field>> {
        let list =
            if query.command == CmdType::Select { &query.target_list } else { &query.returning };
        let target = list.iter().filter(|t| !t.junk).nth(number.checked_sub(1)?)?;
        let mut inner = stack.to_vec();
        inner.push(&query.rtable);
        self.fields_of(&target.expr, &inner)
    }
}

/// The whole row of a subquery under its entry's names.
fn named(rte: &Rte, query: &Query) -> Vec<Field> {
    let columns = output_columns(query).into_iter();
    columns.zip(&rte.eref.columns).map(|(c, name)| (name.clone(), c.1, c.2, c.3)).collect()
}
