//! FOR UPDATE and its kin.

use crate::state::{Analyzer, loc};
use base::{Error, Result, err};
use ir::{LockStrength, LockWait, Query, RowMark, RteKind};
use parser::ast;

pub(crate) fn strength_name(strength: ast::LockStrength) -> &'static str {
    match strength {
        ast::LockStrength::KeyShare => "FOR KEY SHARE",
        ast::LockStrength::Share => "FOR SHARE",
        ast::LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
        ast::LockStrength::Update => "FOR UPDATE",
    }
}

fn strength(s: ast::LockStrength) -> LockStrength {
    match s {
        ast::LockStrength::KeyShare => LockStrength::ForKeyShare,
        ast::LockStrength::Share => LockStrength::ForShare,
        ast::LockStrength::NoKeyUpdate => LockStrength::ForNoKeyUpdate,
        ast::LockStrength::Update => LockStrength::ForUpdate,
    }
}

fn wait(w: ast::LockWait) -> LockWait {
    match w {
        ast::LockWait::Block => LockWait::Block,
        ast::LockWait::Skip => LockWait::SkipLocked,
        ast::LockWait::Error => LockWait::NoWait,
    }
}

impl Analyzer<'_> {
    /// Whether a table of FROM will be locked by this or an outer query's FOR UPDATE.
    pub fn is_locked(&self, table: &ast::TableRef) -> bool {
        let name = table.alias.as_ref().map_or(&table.rel.name, |a| &a.name);
        self.is_name_locked(Some(name))
    }

    pub fn is_name_locked(&self, name: Option<&str>) -> bool {
        let st = self.cur();
        st.locked_from_parent
            || st
                .locked
                .iter()
                .any(|l| l.of.is_empty() || l.of.iter().any(|r| Some(r.name.as_str()) == name))
    }

    /// `transformLockingClause`.
    pub fn locking_clause(
        &mut self,
        query: &mut Query,
        clause: &ast::LockingClause,
        pushed: bool,
    ) -> Result<()> {
        check_lockable(query, clause.strength)?;
        if clause.of.is_empty() {
            for index in 1..=query.rtable.len() as u32 {
                let rte = &query.rtable[index as usize - 1];
                if !rte.in_from {
                    continue;
                }
                match &rte.kind {
                    RteKind::Relation { .. } => apply(query, index, clause, pushed),
                    RteKind::Subquery { .. } => {
                        apply(query, index, clause, pushed);
                        self.push_down(query, index, clause)?;
                    }
                    _ => {}
                }
            }
            return Ok(());
        }
        for rel in &clause.of {
            let at = loc(rel.pos);
            let word = strength_name(clause.strength);
            if rel.schema.is_some() || rel.catalog.is_some() {
                return Err(
                    err!(SYNTAX_ERROR, "{word} must specify unqualified relation names").at(at)
                );
            }
            let found = query
                .rtable
                .iter()
                .position(|r| r.in_from && r.eref.name == rel.name && nameable(r));
            let Some(i) = found else {
                return Err(err!(
                    UNDEFINED_TABLE,
                    "relation \"{}\" in {word} clause not found in FROM clause",
                    rel.name
                )
                .at(at));
            };
            let refused = match &query.rtable[i].kind {
                RteKind::Relation { .. } => {
                    apply(query, i as u32 + 1, clause, pushed);
                    continue;
                }
                RteKind::Subquery { .. } => {
                    apply(query, i as u32 + 1, clause, pushed);
                    self.push_down(query, i as u32 + 1, clause)?;
                    continue;
                }
                RteKind::Join { .. } => "a join",
                RteKind::Function { .. } => "a function",
                RteKind::Values { .. } => "VALUES",
                RteKind::Cte { .. } => "a WITH query",
                RteKind::NamedTuplestore { .. } => "a named tuplestore",
                _ => return Err(Error::internal("unrecognized range-table entry")),
            };
            return Err(err!(FEATURE_NOT_SUPPORTED, "{word} cannot be applied to {refused}").at(at));
        }
        Ok(())
    }

    /// A locked subquery locks all its tables.
    fn push_down(
        &mut self,
        query: &mut Query,
        index: u32,
        clause: &ast::LockingClause,
    ) -> Result<()> {
        let all = ast::LockingClause { of: Vec::new(), ..clause.clone() };
        let rte = &mut query.rtable[index as usize - 1];
        if let RteKind::Subquery { query: inner, .. } = &mut rte.kind {
            self.locking_clause(inner, &all, true)?;
        }
        Ok(())
    }
}

fn nameable(rte: &ir::Rte) -> bool {
    rte.alias.is_some() || !matches!(rte.kind, RteKind::Join { .. })
}

/// `applyLockingClause`.
fn apply(query: &mut Query, index: u32, clause: &ast::LockingClause, pushed_down: bool) {
    if !pushed_down {
        query.has_for_update = true;
    }
    if let Some(perms) = &mut query.rtable[index as usize - 1].perms {
        perms.required |= crate::names::rights::UPDATE;
    }
    if let Some(mark) = query.row_marks.iter_mut().find(|m| m.rtindex == index) {
        mark.strength = mark.strength.max(strength(clause.strength));
        let given = wait(clause.wait);
        if given == LockWait::NoWait
            || (given == LockWait::SkipLocked && mark.wait == LockWait::Block)
        {
            mark.wait = given;
        }
        mark.pushed_down &= pushed_down;
        return;
    }
    query.row_marks.push(RowMark {
        rtindex: index,
        strength: strength(clause.strength),
        wait: wait(clause.wait),
        pushed_down,
    });
}

/// `CheckSelectLocking`.
fn check_lockable(query: &Query, s: ast::LockStrength) -> Result<()> {
    let word = strength_name(s);
    let refused = if query.set_operations.is_some() {
        "UNION/INTERSECT/EXCEPT"
    } else if !query.distinct_clause.is_empty() {
        "DISTINCT clause"
    } else if !query.group_clause.is_empty() || !query.grouping_sets.is_empty() {
        "GROUP BY clause"
    } else if query.having.is_some() {
        "HAVING clause"
    } else if query.has_aggs {
        "aggregate functions"
    } else if query.has_window_funcs {
        "window functions"
    } else if query.has_target_srfs {
        "set-returning functions in the target list"
    } else {
        return Ok(());
    };
    Err(err!(FEATURE_NOT_SUPPORTED, "{word} is not allowed with {refused}"))
}
