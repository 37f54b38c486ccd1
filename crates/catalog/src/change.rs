//! What a change of a system table's row makes stale.

use crate::cache::Key;
use crate::oids;
use crate::rows::SysRow;
use base::{Oid, Result};

/// A set of cached descriptors that a change concerns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// A relation: its descriptor, its name, its statistics, its place among children.
    Relation(Oid),
    /// What is known of several columns of some table.
    ExtendedStatistics,
    /// Types, enums, ranges and domains' constraints.
    Types,
    /// The order of an enum's values, which indexes that are open know.
    Enums,
    /// Functions and aggregates.
    Procs,
    /// Operators, their classes and families.
    Operators,
    /// Casts.
    Casts,
    /// Collations.
    Collations,
    /// Schemas.
    Namespaces,
    /// Roles and memberships.
    Roles,
    /// Databases.
    Databases,
}

impl Change {
    /// True if the descriptor under this key may be stale after the change.
    pub fn concerns(self, key: &Key) -> bool {
        match (self, key) {
            (Change::Relation(oid), Key::Relation(k) | Key::Sequence(k)) => oid == *k,
            (Change::Relation(oid), Key::Statistic(k, ..)) => oid == *k,
            (Change::Relation(oid), Key::ExtendedStatistics(k)) => oid == *k,
            (Change::ExtendedStatistics, Key::ExtendedStatistics(_)) => true,
            (Change::Relation(_), Key::RelationName(..) | Key::Children(_)) => true,
            (Change::Relation(_), Key::Constraint(_)) => true,
            (Change::Types, Key::Type(_) | Key::TypeName(..) | Key::Enum(_) | Key::Domain(_)) => {
                true
            }
            (Change::Types, Key::Constraint(_)) => true,
            (Change::Enums, Key::Relation(_)) => true,
            (Change::Procs, Key::ProcAcl(_)) => true,
            (Change::Procs, Key::Proc(_) | Key::ProcName(_) | Key::Aggregate(_)) => true,
            (Change::Operators, key) => key.is_operator(),
            (Change::Casts, Key::Cast(..)) => true,
            (Change::Collations, Key::Collation(_) | Key::CollationName(..)) => true,
            (Change::Namespaces, Key::Namespace(_) | Key::NamespaceName(_)) => true,
            (Change::Roles, Key::Role(_) | Key::RoleName(_)) => true,
            (Change::Databases, Key::Database(_) | Key::DatabaseName(_)) => true,
            _ => false,
        }
    }

    /// True if sessions of all databases are concerned.
    pub fn is_shared(self) -> bool {
        matches!(self, Change::Roles | Change::Databases)
    }
}

/// What an inserted, updated or deleted row makes stale.
pub fn changes_of(row: &SysRow) -> Result<Vec<Change>> {
    let relation = |column: &str| Ok::<Change, base::Error>(Change::Relation(row.oid(column)?));
    Ok(match row.table.oid {
        oids::PG_CLASS => vec![relation("oid")?],
        oids::PG_ATTRIBUTE => vec![relation("attrelid")?],
        oids::PG_ATTRDEF => vec![relation("adrelid")?],
        oids::PG_INDEX => vec![relation("indexrelid")?, relation("indrelid")?],
        oids::PG_CONSTRAINT if row.oid("contypid")?.is_valid() => vec![Change::Types],
        oids::PG_CONSTRAINT => vec![relation("conrelid")?, relation("confrelid")?],
        oids::PG_TRIGGER => vec![relation("tgrelid")?],
        oids::PG_REWRITE => vec![relation("ev_class")?],
        oids::PG_POLICY => vec![relation("polrelid")?],
        oids::PG_INHERITS => vec![relation("inhrelid")?, relation("inhparent")?],
        oids::PG_DEPEND if row.char("deptype")? == b'i' && row.i32("refobjsubid")? > 0 => {
            vec![relation("refobjid")?]
        }
        oids::PG_PARTITIONED_TABLE => vec![relation("partrelid")?],
        oids::PG_SEQUENCE => vec![relation("seqrelid")?],
        oids::PG_STATISTIC => vec![relation("starelid")?],
        oids::PG_STATISTIC_EXT => vec![relation("stxrelid")?],
        oids::PG_STATISTIC_EXT_DATA => vec![Change::ExtendedStatistics],
        oids::PG_TYPE | oids::PG_RANGE => vec![Change::Types],
        oids::PG_ENUM => vec![Change::Types, Change::Enums],
        oids::PG_PROC | oids::PG_AGGREGATE => vec![Change::Procs],
        oids::PG_OPERATOR
        | oids::PG_OPCLASS
        | oids::PG_OPFAMILY
        | oids::PG_AMOP
        | oids::PG_AMPROC => vec![Change::Operators],
        oids::PG_CAST => vec![Change::Casts],
        oids::PG_COLLATION => vec![Change::Collations],
        oids::PG_NAMESPACE => vec![Change::Namespaces],
        oids::PG_AUTHID | oids::PG_AUTH_MEMBERS => vec![Change::Roles],
        oids::PG_DATABASE => vec![Change::Databases],
        _ => Vec::new(),
    })
}
