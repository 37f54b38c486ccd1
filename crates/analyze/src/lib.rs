//! Semantic analysis: a syntax tree and the catalog make an [`ir::Query`].
//!
//! Entry points: [`analyze`] for SELECT, INSERT, UPDATE, DELETE, MERGE and VALUES, [`rewrite`]
//! for views and stored expressions behind columns, [`resolve_type`] for types,
//! [`relation_expr`] and [`column_default`] for what definitions hold, [`format_type`].
//! Invariants: names, operators and coercions are resolved by PostgreSQL's rules and refused in
//! its words, with the byte offset of the culprit; nothing is evaluated but literals.
//! It must never know how a query is run: plans, storage, sessions.

mod agg;
mod assign;
mod clause;
mod coerce;
mod collate;
mod cte;
mod ddl;
mod expr;
mod from;
mod func;
mod generic;
mod grouping;
mod insert;
mod json;
mod json_table;
mod lock;
mod merge;
mod names;
mod oper;
mod params;
mod policy;
mod record;
mod recursion;
mod rewrite;
mod rewrite_rule;
mod rewrite_view;
mod row;
mod rule;
mod search;
mod select;
mod setop;
mod state;
mod sublink;
mod subscript;
mod target;
mod typename;
mod updatable;
mod update;
mod window;
mod xml;

pub use coerce::CoercionContext;
pub use ddl::{
    ExprUse, call, coerce_assignment, column_default, domain_check, execute_argument,
    parameter_default, partition_bound_value, relation_expr, return_query, select_into,
    trigger_when, without_places,
};
pub use policy::row_security_binds;
pub use rewrite::{clear_places, default_of, rewrite, stored_expr, view_query};
pub use rule::{AnalysedRule, NEW, OLD, rule};
pub use target::index_column_name;
pub use typename::{format_type, format_type_with};
pub use updatable::{base_column, query_reason};

use base::{Error, Oid, Result};
use catalog::CatalogView;
use parser::ast;
use state::Analyzer;
use types::io::IoCtx;

/// What analysis needs of the session.
pub struct Env<'a> {
    /// The catalog, with the search path.
    pub catalog: &'a CatalogView,
    /// For reading literals.
    pub io: IoCtx<'a>,
    /// Where warnings go.
    pub told: &'a dyn Told,
}

/// Who is told of warnings.
pub trait Told {
    /// Sends the client a warning.
    fn warn(&self, warning: Error);
}

/// For who does not want to know.
pub struct Nobody;

impl Told for Nobody {
    fn warn(&self, _: Error) {}
}

/// What `$n` may mean.
pub enum Params<'a> {
    /// There are none.
    None,
    /// Their types are given; one of 0 or `unknown` takes the type its use asks for, and the
    /// list grows as parameters turn up.
    Infer(&'a mut Vec<Oid>),
    /// Their types are fixed.
    Fixed(&'a [Oid]),
    /// They are a function's, and may be called by name.
    Function(&'a FunctionParams),
}

/// The parameters of a function whose body is analysed.
#[derive(Clone, Debug, Default)]
pub struct FunctionParams {
    /// The function's name, which may qualify those of the parameters.
    pub function: String,
    /// Types by number, polymorphic ones resolved.
    pub types: Vec<Oid>,
    /// Names by number; empty where there is none.
    pub names: Vec<String>,
}

/// Analyses a statement that is planned: SELECT, INSERT, UPDATE, DELETE, MERGE.
pub fn analyze(env: &Env, stmt: &ast::RawStmt, params: Params) -> Result<ir::Query> {
    let mut query = analyze_stmt(env, &stmt.stmt, params)?;
    query.location = Some(stmt.location);
    query.length = stmt.len;
    Ok(query)
}

/// [`analyze`] for a statement within another (EXPLAIN, PREPARE, CREATE TABLE AS, COPY).
pub fn analyze_stmt(env: &Env, stmt: &ast::Stmt, params: Params) -> Result<ir::Query> {
    let mut analyzer = Analyzer::new(env, params);
    let mut query = analyzer.top_statement(stmt)?;
    analyzer.finish_params(&mut query)?;
    Ok(query)
}

/// The type a name means, with its modifier; undefined and shell types are errors.
pub fn resolve_type(env: &Env, name: &ast::TypeName) -> Result<(Oid, i32)> {
    Analyzer::new(env, Params::None).type_of_name(name)
}
