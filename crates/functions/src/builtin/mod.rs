//! Rows of the system catalogs as a fresh cluster has them: facts, one TSV file a catalog.
//!
//! Typed rows of the catalogs that name resolution and planning read all the time have a struct;
//! [`table`] gives any catalog's rows as text, for bootstrap.

mod parse;
mod rows;

pub use parse::{Field, RawTable, RawValue};
pub use rows::*;

use base::Oid;
use std::collections::HashMap;
use std::sync::OnceLock;

macro_rules! tables {
    ($($name:literal),* $(,)?) => {
        /// Names of the catalogs that have built-in rows.
        pub const TABLES: &[&str] = &[$($name),*];

        fn text(name: &str) -> Option<&'static str> {
            Some(match name {
                $($name => include_str!(concat!("../../data/", $name, ".tsv")),)*
                _ => return None,
            })
        }
    };
}

tables!(
    "pg_aggregate",
    "pg_am",
    "pg_amop",
    "pg_amproc",
    "pg_attribute",
    "pg_auth_members",
    "pg_authid",
    "pg_cast",
    "pg_class",
    "pg_collation",
    "pg_constraint",
    "pg_conversion",
    "pg_database",
    "pg_depend",
    "pg_description",
    "pg_extension",
    "pg_index",
    "pg_inherits",
    "pg_init_privs",
    "pg_language",
    "pg_namespace",
    "pg_opclass",
    "pg_operator",
    "pg_opfamily",
    "pg_proc",
    "pg_range",
    "pg_shdescription",
    "pg_tablespace",
    "pg_ts_config",
    "pg_ts_config_map",
    "pg_ts_dict",
    "pg_ts_parser",
    "pg_ts_template",
    "pg_type",
);

/// The rows of a catalog in text form. Columns of `reg*` types hold OIDs; `proargdefaults` and
/// `prosqlbody` hold SQL text, other `pg_node_tree` columns are NULL.
pub fn table(name: &str) -> Option<RawTable> {
    text(name).map(RawTable::new)
}

/// Defines the accessor of a catalog keyed by OID: all rows, and one by OID.
macro_rules! by_oid {
    ($(#[$doc:meta])* $all:ident, $one:ident, $row:ident, $key:ident) => {
        /// All built-in rows, by OID.
        pub fn $all() -> &'static [$row] {
            static ROWS: OnceLock<Vec<$row>> = OnceLock::new();
            ROWS.get_or_init(|| {
                let mut rows: Vec<$row> = $row::load();
                rows.sort_by_key(|r| r.$key);
                rows
            })
        }

        $(#[$doc])*
        pub fn $one(oid: Oid) -> Option<&'static $row> {
            let rows = $all();
            rows.binary_search_by_key(&oid, |r| r.$key).ok().map(|i| &rows[i])
        }
    };
}

by_oid!(/// A function's row.
    procs, proc, ProcRow, oid);
by_oid!(/// A type's row.
    types, type_, TypeRow, oid);
by_oid!(/// An operator's row.
    operators, operator, OperatorRow, oid);
by_oid!(/// A cast's row.
    casts, cast, CastRow, oid);
by_oid!(/// An aggregate's row, by its function's OID.
    aggregates, aggregate, AggregateRow, aggfnoid);
by_oid!(/// An operator class's row.
    opclasses, opclass, OpclassRow, oid);
by_oid!(/// An operator family's row.
    opfamilies, opfamily, OpfamilyRow, oid);
by_oid!(/// The row of an operator in a family.
    amops, amop, AmopRow, oid);
by_oid!(/// The row of a support function in a family.
    amprocs, amproc, AmprocRow, oid);
by_oid!(/// An access method's row.
    ams, am, AmRow, oid);
by_oid!(/// A collation's row.
    collations, collation, CollationRow, oid);
by_oid!(/// A schema's row.
    namespaces, namespace, NamespaceRow, oid);
by_oid!(/// A language's row.
    languages, language, LanguageRow, oid);
by_oid!(/// A relation's row: catalogs, their indexes and toast tables, system views.
    classes, class, ClassRow, oid);
by_oid!(/// A range type's row, by the type's OID.
    ranges, range, RangeRow, rngtypid);
by_oid!(/// An index's row, by the index's OID.
    indexes, index, IndexRow, indexrelid);
by_oid!(/// A constraint's row.
    constraints, constraint, ConstraintRow, oid);

/// All built-in rows of `pg_attribute`, by relation and number.
pub fn attributes() -> &'static [AttributeRow] {
    static ROWS: OnceLock<Vec<AttributeRow>> = OnceLock::new();
    ROWS.get_or_init(AttributeRow::load)
}

/// The columns of a built-in relation, by number; system columns come first.
pub fn attributes_of(relation: Oid) -> &'static [AttributeRow] {
    let rows = attributes();
    let start = rows.partition_point(|r| r.attrelid < relation);
    let end = rows.partition_point(|r| r.attrelid <= relation);
    &rows[start..end]
}

/// Functions of this name, in any schema.
pub fn procs_by_name(name: &str) -> &'static [&'static ProcRow] {
    static MAP: OnceLock<HashMap<&'static str, Vec<&'static ProcRow>>> = OnceLock::new();
    let map = MAP.get_or_init(|| {
        let mut map: HashMap<_, Vec<_>> = HashMap::new();
        for row in procs() {
            map.entry(row.proname).or_default().push(row);
        }
        map
    });
    map.get(name).map_or(&[], Vec::as_slice)
}

/// A function with this symbol.
pub fn proc_by_source(source: &str) -> Option<&'static ProcRow> {
    procs().iter().find(|row| row.prosrc == source)
}

/// Operators of this name, in any schema.
pub fn operators_by_name(name: &str) -> &'static [&'static OperatorRow] {
    static MAP: OnceLock<HashMap<&'static str, Vec<&'static OperatorRow>>> = OnceLock::new();
    let map = MAP.get_or_init(|| {
        let mut map: HashMap<_, Vec<_>> = HashMap::new();
        for row in operators() {
            map.entry(row.oprname).or_default().push(row);
        }
        map
    });
    map.get(name).map_or(&[], Vec::as_slice)
}

/// The type of this name in `pg_catalog`.
pub fn type_by_name(name: &str) -> Option<&'static TypeRow> {
    static MAP: OnceLock<HashMap<&'static str, &'static TypeRow>> = OnceLock::new();
    let map = MAP.get_or_init(|| {
        types().iter().filter(|t| t.typnamespace == Oid(11)).map(|t| (t.typname, t)).collect()
    });
    map.get(name).copied()
}

/// The cast from one type to another.
pub fn cast_between(source: Oid, target: Oid) -> Option<&'static CastRow> {
    static MAP: OnceLock<HashMap<(Oid, Oid), &'static CastRow>> = OnceLock::new();
    let map =
        MAP.get_or_init(|| casts().iter().map(|c| ((c.castsource, c.casttarget), c)).collect());
    map.get(&(source, target)).copied()
}

/// References between the system tables: lines of table, columns, the table and columns they refer
/// to, whether an array's elements are meant, and whether zero means nothing.
pub const CATALOG_FOREIGN_KEYS: &str = include_str!("../../data/catalog_foreign_keys.tsv");

/// The default operator class of an access method for an input type.
pub fn default_opclass(am: Oid, input: Oid) -> Option<&'static OpclassRow> {
    opclasses().iter().find(|c| c.opcmethod == am && c.opcintype == input && c.opcdefault)
}

#[cfg(test)]
mod tests;
