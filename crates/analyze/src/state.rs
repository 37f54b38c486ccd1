//! What analysis keeps while it works: a stack of query levels and their visible names.

use crate::{Env, Params};
use base::{Oid, Result};
use catalog::CatalogView;
use ir::{Expr, FromItem, Location, ReturningKind, Rte};
use parser::ast::{self, NO_POS, Pos};

/// Where an expression stands; rules and messages depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    #[default]
    None,
    JoinOn,
    JoinUsing,
    FromSubselect,
    FromFunction,
    Where,
    Having,
    Filter,
    WindowPartition,
    WindowOrder,
    WindowFrameRange,
    WindowFrameRows,
    WindowFrameGroups,
    SelectTarget,
    InsertTarget,
    UpdateSource,
    UpdateTarget,
    MergeWhen,
    GroupBy,
    OrderBy,
    DistinctOn,
    Limit,
    Offset,
    Returning,
    MergeReturning,
    Values,
    ValuesSingle,
    CheckConstraint,
    DomainCheck,
    ColumnDefault,
    FunctionDefault,
    IndexExpression,
    IndexPredicate,
    StatsExpression,
    AlterColTransform,
    ExecuteParameter,
    TriggerWhen,
    Policy,
    PartitionBound,
    PartitionExpression,
    CallArgument,
    CopyWhere,
    GeneratedColumn,
}

impl Kind {
    /// The words of messages such as "aggregate functions are not allowed in ...".
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::None => "invalid expression context",
            Kind::JoinOn => "JOIN/ON",
            Kind::JoinUsing => "JOIN/USING",
            Kind::FromSubselect => "sub-SELECT in FROM",
            Kind::FromFunction => "function in FROM",
            Kind::Where => "WHERE",
            Kind::Having => "HAVING",
            Kind::Filter => "FILTER",
            Kind::WindowPartition => "window PARTITION BY",
            Kind::WindowOrder => "window ORDER BY",
            Kind::WindowFrameRange => "window RANGE",
            Kind::WindowFrameRows => "window ROWS",
            Kind::WindowFrameGroups => "window GROUPS",
            Kind::SelectTarget => "SELECT",
            Kind::InsertTarget => "INSERT",
            Kind::UpdateSource | Kind::UpdateTarget => "UPDATE",
            Kind::MergeWhen => "MERGE WHEN",
            Kind::GroupBy => "GROUP BY",
            Kind::OrderBy => "ORDER BY",
            Kind::DistinctOn => "DISTINCT ON",
            Kind::Limit => "LIMIT",
            Kind::Offset => "OFFSET",
            Kind::Returning | Kind::MergeReturning => "RETURNING",
            Kind::Values | Kind::ValuesSingle => "VALUES",
            Kind::CheckConstraint | Kind::DomainCheck => "CHECK",
            Kind::ColumnDefault | Kind::FunctionDefault => "DEFAULT",
            Kind::IndexExpression => "index expression",
            Kind::IndexPredicate => "index predicate",
            Kind::StatsExpression => "statistics expression",
            Kind::AlterColTransform => "USING",
            Kind::ExecuteParameter => "EXECUTE",
            Kind::TriggerWhen => "WHEN",
            Kind::Policy => "POLICY",
            Kind::PartitionBound => "partition bound",
            Kind::PartitionExpression => "PARTITION BY",
            Kind::CallArgument => "CALL",
            Kind::CopyWhere => "WHERE",
            Kind::GeneratedColumn => "GENERATED AS",
        }
    }

    /// In these a query, an aggregate, a window function or a set is refused with words of the
    /// kind's own ("... in check constraints").
    pub(crate) fn long_name(self) -> Option<&'static str> {
        Some(match self {
            Kind::CheckConstraint | Kind::DomainCheck => "check constraints",
            Kind::ColumnDefault | Kind::FunctionDefault => "DEFAULT expressions",
            Kind::IndexExpression => "index expressions",
            Kind::IndexPredicate => "index predicates",
            Kind::StatsExpression => "statistics expressions",
            Kind::AlterColTransform => "transform expressions",
            Kind::ExecuteParameter => "EXECUTE parameters",
            Kind::TriggerWhen => "trigger WHEN conditions",
            Kind::PartitionBound => "partition bound",
            Kind::PartitionExpression => "partition key expressions",
            Kind::CallArgument => "CALL arguments",
            Kind::CopyWhere => "COPY FROM WHERE conditions",
            Kind::GeneratedColumn => "column generation expressions",
            _ => return None,
        })
    }
}

/// A column that a namespace item offers.
#[derive(Clone, Debug)]
pub(crate) struct NsColumn {
    /// 0 if the column was dropped.
    pub varno: u32,
    pub attno: i16,
    pub ty: Oid,
    pub typmod: i32,
    pub collation: Oid,
    pub syn_no: u32,
    pub syn_attno: i16,
    pub returning: ReturningKind,
    /// Left out of `*`.
    pub hidden: bool,
}

/// A table name that expressions may use.
#[derive(Clone, Debug)]
pub(crate) struct NsItem {
    /// The name and the columns' names by position; dropped ones are empty.
    pub name: String,
    pub columns: Vec<String>,
    pub rtindex: u32,
    pub cols: Vec<NsColumn>,
    pub rel_visible: bool,
    pub cols_visible: bool,
    pub lateral_only: bool,
    pub lateral_ok: bool,
    pub returning: ReturningKind,
}

/// A CTE of a level that references can see.
#[derive(Clone, Debug)]
pub(crate) struct CteSlot {
    pub cte: ir::Cte,
    /// Being analysed: its recursive term may refer to it.
    pub in_progress: bool,
    /// Without RETURNING, so that it cannot be read.
    pub unreadable: bool,
}

/// One query level.
#[derive(Default)]
pub(crate) struct State {
    pub rtable: Vec<Rte>,
    pub joinlist: Vec<FromItem>,
    pub namespace: Vec<NsItem>,
    /// By range-table index - 1: the outer joins that can null it.
    pub nulling: Vec<Vec<u32>>,
    pub ctes: Vec<CteSlot>,
    /// CTEs of the same WITH that come later.
    pub future_ctes: Vec<String>,
    /// A WITH clause is being analysed here, RECURSIVE or not.
    pub kind: Kind,
    pub lateral_active: bool,
    pub is_insert: bool,
    /// An action of a rule, whose range table begins with OLD and NEW.
    pub in_rule: bool,
    pub resolve_unknowns: bool,
    pub target: Option<NsItem>,
    pub windows: Vec<ast::WindowDef>,
    pub next_resno: i16,
    pub has_aggs: bool,
    pub has_windows: bool,
    pub has_srfs: bool,
    pub has_sublinks: bool,
    pub has_modifying_cte: bool,
    /// FOR UPDATE of an outer query applies to every table of this one.
    pub locked_from_parent: bool,
    pub locked: Vec<ast::LockingClause>,
    /// Sources of multiple assignments seen so far.
    pub multi_assign: u32,
    /// The value under test of a domain's check.
    pub domain_value: Option<Expr>,
    /// The place of the call that CALL is about.
    pub called: Location,
    /// Calls of set-returning functions so far, and the place of the last one.
    pub srf_count: u32,
    pub last_srf: Location,
}

/// The work in progress.
pub(crate) struct Analyzer<'a> {
    pub env: &'a Env<'a>,
    pub params: Params<'a>,
    pub states: Vec<State>,
}

/// A syntax tree's place as an expression's.
pub(crate) fn loc(pos: Pos) -> Location {
    (pos != NO_POS).then_some(pos)
}

impl<'a> Analyzer<'a> {
    pub fn new(env: &'a Env<'a>, params: Params<'a>) -> Analyzer<'a> {
        Analyzer { env, params, states: vec![State { resolve_unknowns: true, ..State::default() }] }
    }

    pub fn catalog(&self) -> &'a CatalogView {
        self.env.catalog
    }

    /// The innermost level.
    pub fn st(&mut self) -> &mut State {
        let last = self.states.len() - 1;
        &mut self.states[last]
    }

    pub fn cur(&self) -> &State {
        &self.states[self.states.len() - 1]
    }

    /// The level so many queries out.
    pub fn level(&mut self, up: u32) -> &mut State {
        let i = self.states.len() - 1 - up as usize;
        &mut self.states[i]
    }

    /// Runs `f` on a new level within the current one.
    pub fn nested<R>(&mut self, state: State, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        base::stack::check()?;
        self.states.push(state);
        let result = f(self);
        self.states.pop();
        result
    }

    /// Runs `f` with the current level set back to empty for another statement.
    pub fn with_kind<R>(
        &mut self,
        kind: Kind,
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let before = std::mem::replace(&mut self.st().kind, kind);
        let result = f(self);
        self.st().kind = before;
        result
    }

    /// SELECT, INSERT, UPDATE, DELETE or MERGE at the outermost level.
    pub fn top_statement(&mut self, stmt: &ast::Stmt) -> Result<ir::Query> {
        self.statement(stmt)
    }

    /// A statement at the current level, which must be fresh.
    pub fn statement(&mut self, stmt: &ast::Stmt) -> Result<ir::Query> {
        base::stack::check()?;
        match stmt {
            ast::Stmt::Select(select) => self.select(select),
            ast::Stmt::Insert(insert) => self.insert(insert),
            ast::Stmt::Update(update) => self.update(update),
            ast::Stmt::Delete(delete) => self.delete(delete),
            ast::Stmt::Merge(merge) => self.merge(merge),
            _ => Err(base::Error::internal("not a statement that is analysed")),
        }
    }
}
