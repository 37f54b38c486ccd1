//! The intermediate representations: bound expressions, [`Query`] (what analysis makes) and
//! [`Plan`] (what planning makes), with walkers over each.
//!
//! Entry points: [`Expr`], [`Query`], [`Plan`], [`walk`].
//! Invariants: a `Query` names every object by OID and every column by range-table index and
//! attribute number; a `Plan` is read-only once made, so that many sessions can run one; all
//! of it can be serialised, which is how views and defaults are stored.
//! It must never know the catalogs, storage or the executor: names come through traits.

pub mod deparse;
pub mod explain;
pub mod expr;
pub mod json;
pub mod plan;
pub mod query;
pub mod renumber;
pub mod walk;
pub mod xml;

pub use expr::*;
pub use json::*;
pub use plan::*;
pub use query::*;
pub use xml::*;
