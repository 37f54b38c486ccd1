//! The built-ins: catalog rows as data, and the bodies of functions, casts, operators, aggregates.
//!
//! Entry points: [`builtin`] (rows of every system catalog as a fresh cluster has them),
//! [`lookup`] (body of a function by OID), [`aggregate`] and [`set_returning`] (the same for
//! aggregates and set-returning functions), [`FnCtx`] and [`FnEnv`] (what a body may ask for).
//! Invariants: a body binds to its rows by `pg_proc.prosrc`, the symbol that PostgreSQL names a C
//! function by, so that one body serves all rows that share it; strictness is the caller's to
//! handle, from `pg_proc.proisstrict`; a row without a body is listed in `UNIMPLEMENTED`.
//! It must never know: tables, transactions, plans. What needs those goes through [`FnEnv`].

// The macros come before who uses them.
#[macro_use]
mod kernel;

pub mod agg;
pub mod builtin;
mod call;
pub mod collation;
mod env;
mod growth;
mod letters;
mod registry;

mod scalar;
pub mod sqljson;
mod srf;
pub mod ts;
pub mod xml;

pub use agg::{AggFactory, GroupedAgg, aggregate};
pub use call::{Arg, BatchFn, CallInfo, CallState, FnCtx, FnDef, RowFn, Rows};
pub use env::{
    CatalogLookup, FnEnv, KnownTypes, QueryRows, StaticEnv, TypeFacts, builtin_type_info,
};
pub use registry::{FnEntry, call_row, check_held, lookup, lookup_collated, lookup_prosrc};
pub use scalar::hash::{hash_bytes, hash_f64};
pub use scalar::jsonpath::exec::check_patterns;
pub use scalar::regex::Regex;
pub use srf::{RowSource, SrfFn, has_set_body, set_returning, user_set};

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
