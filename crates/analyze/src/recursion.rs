//! Where a recursive CTE may refer to itself.

use crate::state::loc;
use base::{Error, Result, err};
use parser::ast::walk::{Part, parts, window_parts};
use parser::ast::{self, FromItem, JoinKind, SelectBody, SelectStmt, SetOp, Stmt};

/// What is around a reference.
#[derive(Clone, Copy, PartialEq)]
enum Around {
    Nothing,
    NonRecursiveTerm,
    Subquery,
    OuterJoin,
    Intersect,
    Except,
}

impl Around {
    fn words(self) -> &'static str {
        match self {
            Around::Nothing => "",
            Around::NonRecursiveTerm => "its non-recursive term",
            Around::Subquery => "a subquery",
            Around::OuterJoin => "an outer join",
            Around::Intersect => "INTERSECT",
            Around::Except => "EXCEPT",
        }
    }
}

/// Looks for references to one CTE.
struct Search<'n> {
    name: &'n str,
    /// References seen so far.
    seen: usize,
    /// The first thing that is wrong; none is looked for if `lenient`.
    problem: Option<Error>,
    lenient: bool,
}

/// Whether the statement refers to a CTE of this name from without.
pub(crate) fn mentions(stmt: &Stmt, name: &str) -> bool {
    match stmt {
        Stmt::Select(query) => {
            let mut search = Search { name, seen: 0, problem: None, lenient: true };
            search.query(query, Around::Nothing);
            search.seen > 0
        }
        // Of other statements the tree's debug form names every relation.
        other => {
            let text = format!("{other:?}");
            text.contains(&format!("RelName {{ catalog: None, schema: None, name: {name:?},"))
        }
    }
}

/// `checkWellFormedRecursion` for a CTE that refers to itself.
pub(crate) fn check(cte: &ast::Cte) -> Result<()> {
    let at = loc(cte.pos);
    let name = cte.name.as_str();
    let Stmt::Select(select) = &cte.query else {
        return Err(err!(
            INVALID_RECURSION,
            "recursive query \"{name}\" must not contain data-modifying statements"
        )
        .at(at));
    };
    let SelectBody::SetOp(op) = &select.body else { return Err(wrong_form(cte)) };
    if op.op != SetOp::Union {
        return Err(wrong_form(cte));
    }
    let mut search = Search { name, seen: 0, problem: None, lenient: false };
    if let Some(with) = &select.with {
        search.with(with, Around::Subquery);
    }
    let refused = |what: &str, at| {
        Err(err!(FEATURE_NOT_SUPPORTED, "{what} in a recursive query is not implemented").at(at))
    };
    search.query(&op.left, Around::NonRecursiveTerm);
    search.finish()?;
    search.query(&op.right, Around::Nothing);
    search.finish()?;
    if let Some(first) = select.order_by.first() {
        return refused("ORDER BY", loc(first.expr.location()));
    }
    if let Some(offset) = &select.offset {
        return refused("OFFSET", loc(offset.location()));
    }
    if let Some(limit) = &select.limit {
        return refused("LIMIT", loc(limit.location()));
    }
    if !select.locking.is_empty() {
        return refused("FOR UPDATE/SHARE", None);
    }
    if search.seen == 0 {
        return Err(wrong_form(cte));
    }
    Ok(())
}

fn wrong_form(cte: &ast::Cte) -> Error {
    let name = &cte.name;
    err!(
        INVALID_RECURSION,
        "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] \
         recursive-term"
    )
    .at(loc(cte.pos))
}

impl Search<'_> {
    fn finish(&mut self) -> Result<()> {
        match self.problem.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn reference(&mut self, rel: &ast::RelName, around: Around) {
        if rel.schema.is_some() || rel.name != self.name {
            return;
        }
        self.seen += 1;
        if self.lenient || self.problem.is_some() {
            return;
        }
        let name = self.name;
        let error = if around != Around::Nothing {
            err!(
                INVALID_RECURSION,
                "recursive reference to query \"{name}\" must not appear within {}",
                around.words()
            )
        } else if self.seen > 1 {
            err!(
                INVALID_RECURSION,
                "recursive reference to query \"{name}\" must not appear more than once"
            )
        } else {
            return;
        };
        self.problem = Some(error.at(loc(rel.pos)));
    }

    /// The CTEs of an inner WITH; true if one of them takes the name over.
    fn with(&mut self, with: &ast::WithClause, around: Around) -> bool {
        let own = with.ctes.iter().position(|c| c.name == self.name);
        for (i, cte) in with.ctes.iter().enumerate() {
            let hidden = own.is_some_and(|o| with.recursive || i > o);
            if let (Stmt::Select(query), false) = (&cte.query, hidden) {
                self.query(query, around);
            }
        }
        own.is_some()
    }

    fn query(&mut self, query: &SelectStmt, around: Around) {
        if base::stack::check().is_err() {
            return;
        }
        if let Some(with) = &query.with
            && self.with(with, Around::Subquery)
        {
            return;
        }
        match &query.body {
            SelectBody::Values(rows) => {
                rows.iter().flatten().for_each(|e| self.expr(e));
            }
            SelectBody::SetOp(op) => {
                let (mut left, mut right) = (around, around);
                if around == Around::Nothing {
                    match op.op {
                        SetOp::Union => {}
                        SetOp::Intersect if op.all => {
                            (left, right) = (Around::Intersect, Around::Intersect);
                        }
                        SetOp::Intersect => {}
                        SetOp::Except => {
                            right = Around::Except;
                            if op.all {
                                left = Around::Except;
                            }
                        }
                    }
                }
                self.query(&op.left, left);
                self.query(&op.right, right);
            }
            SelectBody::Select(core) => self.core(core, around),
        }
        query.order_by.iter().for_each(|s| self.expr(&s.expr));
        query.limit.iter().chain(&query.offset).for_each(|e| self.expr(e));
    }

    fn core(&mut self, core: &ast::SelectCore, around: Around) {
        core.targets.iter().for_each(|t| self.expr(&t.expr));
        core.from.iter().for_each(|f| self.from(f, around));
        core.where_clause.iter().chain(&core.having).for_each(|e| self.expr(e));
        for w in &core.windows {
            window_parts(w, &mut |p| self.part(p));
        }
        for item in &core.group_by {
            if let ast::GroupItem::Expr(e) = item {
                self.expr(e);
            }
        }
    }

    fn from(&mut self, item: &FromItem, around: Around) {
        match item {
            FromItem::Table(table) => self.reference(&table.rel, around),
            FromItem::Subquery(sub) => self.query(&sub.query, around),
            FromItem::Function(function) => {
                function.functions.iter().for_each(|(e, _)| self.expr(e));
            }
            FromItem::Join(join) => {
                let outer = |yes: bool| {
                    if yes && around == Around::Nothing { Around::OuterJoin } else { around }
                };
                let right_outer = matches!(join.kind, JoinKind::Right | JoinKind::Full);
                let left_outer = matches!(join.kind, JoinKind::Left | JoinKind::Full);
                self.from(&join.left, outer(right_outer));
                self.from(&join.right, outer(left_outer));
                join.on.iter().for_each(|e| self.expr(e));
            }
            FromItem::XmlTable(_) | FromItem::JsonTable(_) => {}
        }
    }

    fn part(&mut self, part: Part<'_>) {
        match part {
            Part::Expr(e) => self.expr(e),
            Part::Query(q) => self.query(q, Around::Subquery),
        }
    }

    fn expr(&mut self, e: &ast::Expr) {
        if base::stack::check().is_ok() {
            parts(e, &mut |p| self.part(p));
        }
    }
}
