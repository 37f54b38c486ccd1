//! MERGE.

use crate::insert::overriding;
use crate::names::rights;
use crate::state::{Analyzer, Kind, loc};
use base::{Error, Result, err};
use catalog::{RelKind, RelationDesc};
use ir::{CmdType, Expr, FromExpr, MergeAction, MergeMatch, Overriding, Query, TargetEntry};
use parser::ast;

impl Analyzer<'_> {
    /// `transformMergeStmt`.
    pub fn merge(&mut self, stmt: &ast::MergeStmt) -> Result<Query> {
        let mut query = Query::new(CmdType::Merge);
        if let Some(with) = &stmt.with {
            if with.recursive {
                let message = "WITH RECURSIVE is not supported for MERGE statement";
                return Err(err!(SYNTAX_ERROR, "{message}"));
            }
            self.with_clause(with)?;
        }
        self.check_reachable(stmt)?;
        let mut required = 0;
        for w in &stmt.whens {
            required |= match w.action {
                ast::MergeAction::Update(_) => rights::UPDATE,
                ast::MergeAction::Delete => rights::DELETE,
                ast::MergeAction::Insert { .. } => rights::INSERT,
                ast::MergeAction::DoNothing => 0,
            };
        }
        let inherit = !stmt.target.only;
        let rel = self.set_target_table(&stmt.target, inherit, false, required)?;
        if matches!(rel.kind, RelKind::Foreign) {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "cannot execute MERGE on relation \"{}\"",
                rel.name
            )
            .detail("This operation is not supported for foreign tables."));
        }
        let target = self.target_item();
        query.result_relation = target.rtindex;
        self.from_clause(std::slice::from_ref(&stmt.source))?;
        let source = self.cur().namespace.clone();
        self.check_name_conflicts(std::slice::from_ref(&target)).map_err(|e| {
            e.detail("The name is used both as MERGE target table and data source.")
        })?;
        self.st().namespace.insert(0, target.clone());
        let on = self.expr(&stmt.on, Kind::JoinOn)?;
        let on = self.coerce_to_boolean(on, "JOIN/ON")?;
        query.merge_join_condition = Some(on);
        let whole = self.cur().namespace.clone();
        for w in &stmt.whens {
            let action = self.merge_when(w, &rel, &target, &source, &whole)?;
            query.merge_actions.push(action);
        }
        self.st().namespace = whole;
        if let Some(returning) = &stmt.returning {
            query.returning = self.returning(returning, Kind::MergeReturning)?;
        }
        self.finish_query(&mut query, None);
        query.jointree = FromExpr { items: query.jointree.items, quals: None };
        crate::collate::assign_query(self, &mut query)?;
        Ok(query)
    }

    /// A WHEN after an unconditional one of the same kind is never reached.
    fn check_reachable(&self, stmt: &ast::MergeStmt) -> Result<()> {
        let mut closed: Vec<ast::MergeMatch> = Vec::new();
        for w in &stmt.whens {
            if closed.contains(&w.matched) {
                return Err(err!(
                    SYNTAX_ERROR,
                    "unreachable WHEN clause specified after unconditional WHEN clause"
                ));
            }
            if w.condition.is_none() {
                closed.push(w.matched);
            }
        }
        Ok(())
    }

    fn merge_when(
        &mut self,
        when: &ast::MergeWhen,
        rel: &RelationDesc,
        target: &crate::state::NsItem,
        source: &[crate::state::NsItem],
        whole: &[crate::state::NsItem],
    ) -> Result<MergeAction> {
        let matched = match when.matched {
            ast::MergeMatch::Matched => MergeMatch::Matched,
            ast::MergeMatch::NotMatchedBySource => MergeMatch::NotMatchedBySource,
            ast::MergeMatch::NotMatchedByTarget => MergeMatch::NotMatchedByTarget,
        };
        // Only the side that has a row is visible.
        self.st().namespace = match matched {
            MergeMatch::Matched => whole.to_vec(),
            MergeMatch::NotMatchedBySource => vec![target.clone()],
            MergeMatch::NotMatchedByTarget => source.to_vec(),
        };
        let mut qual = None;
        if let Some(c) = &when.condition {
            let made = self.expr(c, Kind::MergeWhen)?;
            qual = Some(self.coerce_to_boolean(made, "WHEN")?);
        }
        let mut made = MergeAction {
            matched,
            command: CmdType::Nothing,
            overriding: Overriding::None,
            qual,
            target_list: Vec::new(),
        };
        match &when.action {
            ast::MergeAction::DoNothing => {}
            ast::MergeAction::Delete => made.command = CmdType::Delete,
            ast::MergeAction::Update(set) => {
                made.command = CmdType::Update;
                made.target_list = self.set_list(rel, set, Kind::UpdateSource)?;
            }
            ast::MergeAction::Insert { columns, overriding: o, values } => {
                made.command = CmdType::Insert;
                made.overriding = overriding(*o);
                made.target_list = self.merge_insert(rel, columns, values.as_deref())?;
            }
        }
        Ok(made)
    }

    fn merge_insert(
        &mut self,
        rel: &RelationDesc,
        columns: &[ast::AssignTarget],
        values: Option<&[ast::Expr]>,
    ) -> Result<Vec<TargetEntry>> {
        self.st().is_insert = true;
        let (targets, numbers) = self.insert_columns(rel, columns)?;
        let Some(values) = values else { return Ok(Vec::new()) };
        let row = self.row_values(values, Kind::ValuesSingle)?;
        if row.len() > targets.len() {
            let place = row[targets.len()].location();
            let message = "INSERT has more expressions than target columns";
            return Err(err!(SYNTAX_ERROR, "{message}").at(place));
        }
        if !columns.is_empty() && row.len() < targets.len() {
            let message = "INSERT has more target columns than expressions";
            return Err(err!(SYNTAX_ERROR, "{message}").at(loc(targets[row.len()].pos)));
        }
        let mut list = Vec::with_capacity(row.len());
        for (i, value) in row.into_iter().enumerate() {
            let t = &targets[i];
            let (kind, at) = (Kind::InsertTarget, loc(t.pos));
            let expr: Expr = self.assigned(value, kind, rel, numbers[i], &t.name, &t.steps, at)?;
            list.push(TargetEntry::new(expr, numbers[i], Some(t.name.clone()), false));
        }
        self.st().is_insert = false;
        let index = self.cur().target.as_ref().map_or(1, |t| t.rtindex);
        let Some(rte) = self.st().rtable.get_mut(index as usize - 1) else {
            return Err(Error::internal("MERGE without a target"));
        };
        if let Some(perms) = &mut rte.perms {
            perms.inserted.extend(numbers.iter().copied());
            perms.inserted.sort_unstable();
            perms.inserted.dedup();
        }
        Ok(list)
    }
}
