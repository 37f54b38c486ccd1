//! WITH.

use crate::names::{new_rte, ns_column, user_alias};
use crate::state::{Analyzer, CteSlot, NsItem, State, loc};
use base::{Oid, Result, err};
use ir::{CmdType, CteMaterialize, Location, Query, RteKind};
use parser::ast::{self, Stmt};

impl Analyzer<'_> {
    /// `transformWithClause`: the CTEs become visible at the current level.
    pub fn with_clause(&mut self, with: &ast::WithClause) -> Result<()> {
        for (i, cte) in with.ctes.iter().enumerate() {
            if with.ctes[..i].iter().any(|c| c.name == cte.name) {
                return Err(err!(
                    DUPLICATE_ALIAS,
                    "WITH query name \"{}\" specified more than once",
                    cte.name
                )
                .at(loc(cte.pos)));
            }
            let modifying = !matches!(cte.query, Stmt::Select(_));
            if modifying {
                if self.states.len() > 1 {
                    return Err(err!(
                        FEATURE_NOT_SUPPORTED,
                        "WITH clause containing a data-modifying statement must be at the top level"
                    )
                    .at(loc(cte.pos)));
                }
                self.st().has_modifying_cte = true;
            }
        }
        if with.recursive {
            let order = recursive_order(with)?;
            for i in order {
                self.one_cte(&with.ctes[i], true)?;
            }
            return Ok(());
        }
        self.st().future_ctes = with.ctes.iter().map(|c| c.name.clone()).collect();
        for cte in &with.ctes {
            self.one_cte(cte, false)?;
            self.st().future_ctes.retain(|n| *n != cte.name);
        }
        Ok(())
    }

    fn one_cte(&mut self, cte: &ast::Cte, recursive: bool) -> Result<()> {
        let refers = recursive && crate::recursion::mentions(&cte.query, &cte.name);
        if cte.search.is_some() || cte.cycle.is_some() {
            if refers {
                crate::recursion::check(cte)?;
            }
            self.one_cte(&crate::search::without_clauses(cte, refers)?, recursive)?;
            return crate::search::check_names(cte);
        }
        let materialize = match cte.materialized {
            None => CteMaterialize::Default,
            Some(true) => CteMaterialize::Always,
            Some(false) => CteMaterialize::Never,
        };
        let slot = CteSlot {
            cte: ir::Cte {
                name: cte.name.clone(),
                materialize,
                query: Box::new(Query::new(CmdType::Select)),
                recursive: refers,
                ref_count: 0,
                aliased: !cte.columns.is_empty(),
                col_names: cte.columns.iter().map(|c| c.name.clone()).collect(),
                col_types: Vec::new(),
                col_typmods: Vec::new(),
                col_collations: Vec::new(),
                location: loc(cte.pos),
            },
            in_progress: true,
            unreadable: false,
        };
        if refers {
            crate::recursion::check(cte)?;
        }
        let at = self.cur().ctes.len();
        if refers {
            // Visible to itself while it is analysed.
            self.st().ctes.push(slot.clone());
        }
        let state = State { resolve_unknowns: true, ..State::default() };
        let query = self.nested(state, |a| a.statement(&cte.query))?;
        if query.command != CmdType::Select && query.returning.is_empty() {
            return self.finish_cte(slot, at, refers, query, true, cte);
        }
        self.finish_cte(slot, at, refers, query, false, cte)
    }

    fn finish_cte(
        &mut self,
        slot: CteSlot,
        at: usize,
        refers: bool,
        mut query: Query,
        unreadable: bool,
        source: &ast::Cte,
    ) -> Result<()> {
        query.can_set_tag = query.command == CmdType::Select;
        let columns = if unreadable { Vec::new() } else { crate::from::output_columns(&query) };
        let mut cte = if refers { self.cur().ctes[at].cte.clone() } else { slot.cte.clone() };
        if refers {
            self.check_recursive_types(&cte, &columns, &query)?;
        }
        check_names(source, columns.len())?;
        cte.col_names = columns
            .iter()
            .enumerate()
            .map(|(i, c)| source.columns.get(i).map_or(c.0.clone(), |n| n.name.clone()))
            .collect();
        cte.col_types = columns.iter().map(|c| c.1).collect();
        cte.col_typmods = columns.iter().map(|c| c.2).collect();
        cte.col_collations = columns.iter().map(|c| c.3).collect();
        cte.query = Box::new(query);
        let done = CteSlot { cte, in_progress: false, unreadable };
        let ctes = &mut self.st().ctes;
        if refers {
            ctes[at] = done;
        } else {
            ctes.push(done);
        }
        Ok(())
    }

    /// The recursive term must give what the other one gave.
    fn check_recursive_types(
        &self,
        cte: &ir::Cte,
        columns: &[(String, Oid, i32, Oid)],
        query: &Query,
    ) -> Result<()> {
        for (i, column) in columns.iter().enumerate() {
            let (Some(ty), Some(typmod)) = (cte.col_types.get(i), cte.col_typmods.get(i)) else {
                continue;
            };
            let place = query.target_list.get(i).and_then(|t| t.expr.location());
            if *ty != column.1 || *typmod != column.2 {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "recursive query \"{}\" column {} has type {} in non-recursive term but type \
                     {} overall",
                    cte.name,
                    i + 1,
                    crate::typename::format_type_with(self.catalog(), *ty, *typmod),
                    crate::typename::format_type_with(self.catalog(), column.1, column.2)
                )
                .hint("Cast the output of the non-recursive term to the correct type.")
                .at(place));
            }
            let collation = cte.col_collations.get(i).copied().unwrap_or(column.3);
            if collation != column.3 {
                let shown = |oid: Oid| match self.catalog().find_collation(oid) {
                    Ok(Some(c)) => c.name.to_string(),
                    _ => oid.to_string(),
                };
                return Err(err!(
                    COLLATION_MISMATCH,
                    "recursive query \"{}\" column {} has collation \"{}\" in non-recursive term \
                     but collation \"{}\" overall",
                    cte.name,
                    i + 1,
                    shown(collation),
                    shown(column.3)
                )
                .hint("Use the COLLATE clause to set the collation of the non-recursive term.")
                .at(place));
            }
        }
        Ok(())
    }

    /// Whether the set operation being analysed is the body of a recursive CTE.
    pub fn cte_in_progress(&self) -> bool {
        let Some(outer) = self.states.len().checked_sub(2) else { return false };
        self.states[outer]
            .ctes
            .last()
            .is_some_and(|c| c.in_progress && c.cte.recursive && c.cte.col_types.is_empty())
    }

    /// The non-recursive term's columns are those that the recursive term sees.
    pub fn recursive_columns(
        &mut self,
        names: &[String],
        cols: &[(Oid, i32, Oid, Location)],
    ) -> Result<()> {
        let outer = self.states.len() - 2;
        let Some(slot) = self.states[outer].ctes.last_mut() else { return Ok(()) };
        let given = slot.cte.col_names.clone();
        slot.cte.col_names =
            names.iter().enumerate().map(|(i, n)| given.get(i).unwrap_or(n).clone()).collect();
        let unknown = catalog::oids::UNKNOWN;
        let known = |ty: Oid| if ty == unknown { catalog::oids::TEXT } else { ty };
        slot.cte.col_types = cols.iter().map(|c| known(c.0)).collect();
        slot.cte.col_typmods = cols.iter().map(|c| c.1).collect();
        slot.cte.col_collations = cols
            .iter()
            .map(|c| if c.0 == unknown { catalog::oids::DEFAULT_COLLATION } else { c.2 })
            .collect();
        Ok(())
    }

    /// The CTE of this name: how many levels out, and which.
    pub fn find_cte(&self, name: &str) -> Option<(u32, usize)> {
        for (up, st) in self.states.iter().rev().enumerate() {
            if let Some(i) = st.ctes.iter().position(|c| c.cte.name == name) {
                return Some((up as u32, i));
            }
        }
        None
    }

    /// A CTE in FROM.
    pub fn cte_reference(
        &mut self,
        table: &ast::TableRef,
        up: u32,
        index: usize,
    ) -> Result<NsItem> {
        let at = loc(table.rel.pos);
        let slot = &mut self.level(up).ctes[index];
        let self_reference = slot.in_progress;
        if !self_reference {
            slot.cte.ref_count += 1;
        }
        let cte = slot.cte.clone();
        let unreadable = slot.unreadable;
        if unreadable {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "WITH query \"{}\" does not have a RETURNING clause",
                cte.name
            )
            .at(at));
        }
        let alias = table.alias.as_ref();
        let eref = self.alias_columns(alias, &cte.name, cte.col_names.clone(), &[], at)?;
        let kind = RteKind::Cte {
            name: cte.name.clone(),
            levels_up: up,
            self_reference,
            types: cte.col_types.clone(),
            typmods: cte.col_typmods.clone(),
            collations: cte.col_collations.clone(),
        };
        let rtindex = self.add_rte(new_rte(kind, alias.map(user_alias), eref.clone()));
        let cols = (0..cte.col_types.len())
            .map(|i| {
                let (ty, typmod) = (cte.col_types[i], cte.col_typmods[i]);
                ns_column(rtindex, i as i16 + 1, ty, typmod, cte.col_collations[i])
            })
            .collect();
        Ok(self.ns_item(rtindex, &eref, cols))
    }
}

/// The order in which CTEs of WITH RECURSIVE can be analysed: what one refers to comes first.
fn recursive_order(with: &ast::WithClause) -> Result<Vec<usize>> {
    let n = with.ctes.len();
    let needs: Vec<Vec<usize>> = (0..n)
        .map(|i| {
            let query = &with.ctes[i].query;
            let other =
                |j: &usize| *j != i && crate::recursion::mentions(query, &with.ctes[*j].name);
            (0..n).filter(other).collect()
        })
        .collect();
    let mut order: Vec<usize> = Vec::new();
    while order.len() < n {
        let ready =
            (0..n).find(|i| !order.contains(i) && needs[*i].iter().all(|j| order.contains(j)));
        match ready {
            Some(i) => order.push(i),
            None => {
                let stuck = (0..n).find(|i| !order.contains(i)).unwrap_or(0);
                let message = "mutual recursion between WITH items is not implemented";
                return Err(err!(FEATURE_NOT_SUPPORTED, "{message}").at(loc(with.ctes[stuck].pos)));
            }
        }
    }
    Ok(order)
}

/// Fails if a WITH query is given more names than it has columns.
pub(crate) fn check_names(cte: &ast::Cte, available: usize) -> Result<()> {
    let given = cte.columns.len();
    if given > available {
        return Err(err!(
            INVALID_COLUMN_REFERENCE,
            "WITH query \"{}\" has {available} columns available but {given} columns specified",
            cte.name
        )
        .at(loc(cte.pos)));
    }
    Ok(())
}
