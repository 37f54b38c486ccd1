//! Tables, indexes, views, sequences and what hangs on them.

use super::NodeText;
use crate::acl::AclItem;
use crate::open::Opened;
use base::{Oid, RelFile};
use std::sync::Arc;
use types::Datum;
use types::ext_stats::{Dependency, McvList, NDistinct};
use types::tuple::TupleDesc;

/// `pg_class.relkind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum RelKind {
    /// `r`
    Table,
    /// `i`
    Index,
    /// `S`
    Sequence,
    /// `t`
    Toast,
    /// `v`
    View,
    /// `m`
    MatView,
    /// `c`
    Composite,
    /// `f`
    Foreign,
    /// `p`
    Partitioned,
    /// `I`
    PartitionedIndex,
}

impl RelKind {
    /// The kind of this letter.
    pub fn from_u8(c: u8) -> Option<RelKind> {
        Some(match c {
            b'r' => RelKind::Table,
            b'i' => RelKind::Index,
            b'S' => RelKind::Sequence,
            b't' => RelKind::Toast,
            b'v' => RelKind::View,
            b'm' => RelKind::MatView,
            b'c' => RelKind::Composite,
            b'f' => RelKind::Foreign,
            b'p' => RelKind::Partitioned,
            b'I' => RelKind::PartitionedIndex,
            _ => return None,
        })
    }

    /// Its letter in `pg_class`.
    pub fn as_u8(self) -> u8 {
        match self {
            RelKind::Table => b'r',
            RelKind::Index => b'i',
            RelKind::Sequence => b'S',
            RelKind::Toast => b't',
            RelKind::View => b'v',
            RelKind::MatView => b'm',
            RelKind::Composite => b'c',
            RelKind::Foreign => b'f',
            RelKind::Partitioned => b'p',
            RelKind::PartitionedIndex => b'I',
        }
    }

    /// True if relations of this kind have files.
    pub fn has_storage(self) -> bool {
        matches!(
            self,
            RelKind::Table | RelKind::Index | RelKind::Sequence | RelKind::Toast | RelKind::MatView
        )
    }

    /// The word messages use for it, such as `table` in `"t" is not a table`.
    pub fn noun(self) -> &'static str {
        match self {
            RelKind::Table | RelKind::Partitioned => "table",
            RelKind::Index | RelKind::PartitionedIndex => "index",
            RelKind::Sequence => "sequence",
            RelKind::Toast => "toast table",
            RelKind::View => "view",
            RelKind::MatView => "materialized view",
            RelKind::Composite => "composite type",
            RelKind::Foreign => "foreign table",
        }
    }
}

/// `pg_class.relpersistence`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Persistence {
    /// `p`: logged.
    Permanent,
    /// `u`: emptied after a crash.
    Unlogged,
    /// `t`: of one session.
    Temp,
}

impl Persistence {
    /// The persistence of this letter.
    pub fn from_u8(c: u8) -> Option<Persistence> {
        match c {
            b'p' => Some(Persistence::Permanent),
            b'u' => Some(Persistence::Unlogged),
            b't' => Some(Persistence::Temp),
            _ => None,
        }
    }

    /// Its letter in `pg_class`.
    pub fn as_u8(self) -> u8 {
        match self {
            Persistence::Permanent => b'p',
            Persistence::Unlogged => b'u',
            Persistence::Temp => b't',
        }
    }
}

/// One relation: its `pg_class` row, its columns and all that the planner and executor ask for.
#[derive(Clone, Debug)]
pub struct RelationDesc {
    /// `pg_class.oid`
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its schema.
    pub namespace: Oid,
    /// The composite type of its rows, or 0.
    pub row_type: Oid,
    /// The type of a typed table, or 0.
    pub of_type: Oid,
    /// Its owner.
    pub owner: Oid,
    /// Its access method, or 0.
    pub am: Oid,
    /// Its files. The number is 0 if it has none.
    pub relfile: RelFile,
    /// `pg_class.reltablespace`: 0 is the database's default.
    pub tablespace: Oid,
    /// What it is.
    pub kind: RelKind,
    /// Whether it survives a crash, or its session.
    pub persistence: Persistence,
    /// True if all databases share it.
    pub shared: bool,
    /// Pages, as last counted by VACUUM or ANALYZE.
    pub pages: i32,
    /// Rows, as last counted; -1 is unknown.
    pub tuples: f32,
    /// Pages marked all-visible, as last counted.
    pub all_visible: i32,
    /// Pages marked all-frozen, as last counted.
    pub all_frozen: i32,
    /// Its TOAST table, or 0.
    pub toast: Oid,
    /// True if it may have children.
    pub has_subclass: bool,
    /// Row security is on.
    pub row_security: bool,
    /// Row security binds the owner too.
    pub force_row_security: bool,
    /// A materialized view that has been filled.
    pub is_populated: bool,
    /// `pg_class.relreplident`.
    pub replica_identity: u8,
    /// True if it is a partition.
    pub is_partition: bool,
    /// Bound of a partition.
    pub partition_bound: Option<NodeText>,
    /// Key of a partitioned table.
    pub partition_key: Option<PartitionKeyDesc>,
    /// Its columns, the dropped ones included: attribute number - 1 is the index.
    pub tuple: Arc<TupleDesc>,
    /// Default or generation expressions by attribute number.
    pub defaults: Vec<(i16, NodeText)>,
    /// Its row security policies, if row security is on.
    pub policies: Vec<PolicyDesc>,
    /// Sequences of identity columns by attribute number.
    pub identities: Vec<(i16, Oid)>,
    /// What it is if it is an index.
    pub index: Option<Arc<IndexDesc>>,
    /// Its indexes, by OID, invalid ones included.
    pub indexes: Vec<Arc<IndexDesc>>,
    /// Its constraints, by name.
    pub constraints: Vec<ConstraintDesc>,
    /// Foreign keys of other tables that refer to it.
    pub referenced_by: Vec<ConstraintDesc>,
    /// Its triggers, by name.
    pub triggers: Vec<TriggerDesc>,
    /// Its rules, by name; a view's `_RETURN` among them.
    pub rules: Vec<RuleDesc>,
    /// Its parents, in order.
    pub parents: Vec<Oid>,
    /// Storage options, such as `fillfactor`.
    pub options: Vec<(String, String)>,
    /// Its access control list; `None` is the default.
    pub acl: Option<Vec<AclItem>>,
    /// Of a foreign table: the name of its wrapper.
    pub wrapper: Option<Arc<str>>,
    /// Columns' access control lists.
    pub column_acls: Vec<(i16, Vec<AclItem>)>,
    /// Its files, opened on first use.
    pub opened: Opened,
}

impl RelationDesc {
    /// Fails for a foreign table: no wrapper has a handler here.
    pub fn check_handler(&self) -> base::Result<()> {
        if self.kind != RelKind::Foreign {
            return Ok(());
        }
        base::bail!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "foreign-data wrapper \"{}\" has no handler",
            self.wrapper.as_deref().unwrap_or_default()
        )
    }

    /// The query of a view: text of its `_RETURN` rule's action.
    pub fn view_query(&self) -> Option<&NodeText> {
        self.rules.iter().find(|r| r.event == b'1').and_then(|r| r.action.as_ref())
    }

    /// The number, from 1, of the column of this name.
    pub fn column_number(&self, name: &str) -> Option<i16> {
        self.tuple.attrs.iter().position(|a| !a.dropped && &*a.name == name).map(|i| i as i16 + 1)
    }

    /// The expression of a column's default, or of its generation.
    pub fn default_of(&self, attnum: i16) -> Option<&NodeText> {
        self.defaults.iter().find(|d| d.0 == attnum).map(|d| &d.1)
    }

    /// The sequence of an identity column.
    pub fn identity_sequence(&self, attnum: i16) -> Option<Oid> {
        self.identities.iter().find(|i| i.0 == attnum).map(|i| i.1)
    }

    /// A storage option's text.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|o| o.0 == name).map(|o| &*o.1)
    }

    /// The primary key's index.
    pub fn primary_key(&self) -> Option<&Arc<IndexDesc>> {
        self.indexes.iter().find(|i| i.is_primary && i.is_valid)
    }
}

/// One index: `pg_index` and what is needed to use it.
#[derive(Clone, Debug)]
pub struct IndexDesc {
    /// `pg_index.indexrelid`
    pub oid: Oid,
    /// The table.
    pub table: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its schema.
    pub namespace: Oid,
    /// Access method: 403 is btree.
    pub am: Oid,
    /// Its files.
    pub relfile: RelFile,
    /// Whether it survives a crash.
    pub persistence: Persistence,
    /// Pages, as last counted.
    pub pages: i32,
    /// Entries, as last counted.
    pub tuples: f32,
    /// All columns' attribute numbers in the table; 0 is an expression.
    pub columns: Vec<i16>,
    /// The first so many are keys, the others INCLUDEd.
    pub n_keys: u16,
    /// `indisunique`
    pub is_unique: bool,
    /// `indnullsnotdistinct`
    pub nulls_not_distinct: bool,
    /// `indisprimary`
    pub is_primary: bool,
    /// `indisexclusion`
    pub is_exclusion: bool,
    /// `indimmediate`: false is a deferrable constraint.
    pub is_immediate: bool,
    /// `indisclustered`
    pub is_clustered: bool,
    /// `indisvalid`: may be used by queries.
    pub is_valid: bool,
    /// `indisready`: must be maintained.
    pub is_ready: bool,
    /// `indislive`
    pub is_live: bool,
    /// `indisreplident`
    pub is_replica_identity: bool,
    /// Collation by key.
    pub collations: Vec<Oid>,
    /// Operator class by key.
    pub opclasses: Vec<Oid>,
    /// Operator family by key.
    pub opfamilies: Vec<Oid>,
    /// Input type of the operator class by key.
    pub opc_types: Vec<Oid>,
    /// `indoption` by key: bit 0 is DESC, bit 1 NULLS FIRST.
    pub options: Vec<i16>,
    /// Expressions for the columns that are 0, in order: JSON of `Vec<ir::Expr>`.
    pub exprs: Option<NodeText>,
    /// The predicate of a partial index: JSON of `ir::Expr`.
    pub predicate: Option<NodeText>,
    /// The index's own columns.
    pub tuple: Arc<TupleDesc>,
    /// Storage options.
    pub rel_options: Vec<(String, String)>,
}

/// A row of `pg_constraint`.
#[derive(Clone, Debug)]
pub struct ConstraintDesc {
    /// `pg_constraint.oid`
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its schema.
    pub namespace: Oid,
    /// `c` check, `f` foreign key, `n` not null, `p` primary key, `u` unique, `t` trigger, `x`.
    pub kind: u8,
    /// DEFERRABLE
    pub deferrable: bool,
    /// INITIALLY DEFERRED
    pub deferred: bool,
    /// ENFORCED
    pub enforced: bool,
    /// Not `NOT VALID`
    pub validated: bool,
    /// The table, or 0.
    pub relation: Oid,
    /// The domain, or 0.
    pub domain: Oid,
    /// The index that supports it, or 0.
    pub index: Oid,
    /// The parent's constraint it was made from, or 0.
    pub parent: Oid,
    /// Defined here, not only inherited.
    pub is_local: bool,
    /// Parents that have it.
    pub inherit_count: i16,
    /// NO INHERIT
    pub no_inherit: bool,
    /// Columns concerned.
    pub columns: Vec<i16>,
    /// What a foreign key has more.
    pub foreign: Option<ForeignKey>,
    /// Exclusion operators by column.
    pub exclusion_ops: Vec<Oid>,
    /// The expression of a check: JSON of `ir::Expr`.
    pub expr: Option<NodeText>,
}

/// What a foreign key refers to and what it does.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// The table referred to.
    pub table: Oid,
    /// Its columns.
    pub columns: Vec<i16>,
    /// `a` no action, `r` restrict, `c` cascade, `n` set null, `d` set default.
    pub on_update: u8,
    /// As `on_update`.
    pub on_delete: u8,
    /// `f` full, `p` partial, `s` simple.
    pub match_type: u8,
    /// PK = FK operators by column.
    pub pf_eq_ops: Vec<Oid>,
    /// PK = PK operators by column.
    pub pp_eq_ops: Vec<Oid>,
    /// FK = FK operators by column.
    pub ff_eq_ops: Vec<Oid>,
    /// Columns of ON DELETE SET ...; empty is all.
    pub delete_set_columns: Vec<i16>,
}

/// A row of `pg_trigger`.
#[derive(Clone, Debug)]
pub struct TriggerDesc {
    /// `pg_trigger.oid`
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// The function it calls.
    pub function: Oid,
    /// `tgtype`: bit 0 row, 1 before, 2 insert, 3 delete, 4 update, 5 truncate, 6 instead.
    pub kind: i16,
    /// `O`, `D`, `R` or `A`.
    pub enabled: u8,
    /// Made by a constraint.
    pub is_internal: bool,
    /// The other table of a constraint trigger.
    pub constraint_relation: Oid,
    /// Its index.
    pub constraint_index: Oid,
    /// Its constraint.
    pub constraint: Oid,
    /// DEFERRABLE
    pub deferrable: bool,
    /// INITIALLY DEFERRED
    pub initially_deferred: bool,
    /// Columns of UPDATE OF.
    pub columns: Vec<i16>,
    /// Arguments.
    pub args: Vec<String>,
    /// WHEN: JSON of `ir::Expr`.
    pub when: Option<NodeText>,
    /// Name of the transition table of old rows.
    pub old_table: Option<Arc<str>>,
    /// Name of the transition table of new rows.
    pub new_table: Option<Arc<str>>,
}

/// A row of `pg_rewrite`.
#[derive(Clone, Debug)]
pub struct RuleDesc {
    /// `pg_rewrite.oid`
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// `1` select, `2` update, `3` insert, `4` delete.
    pub event: u8,
    /// `O`, `D`, `R` or `A`.
    pub enabled: u8,
    /// INSTEAD
    pub is_instead: bool,
    /// WHERE
    pub qual: Option<NodeText>,
    /// JSON of `Vec<ir::Query>` (user views) or, for built-in views, SQL text that begins with
    /// `SELECT` or `WITH` and is analysed when first used.
    pub action: Option<NodeText>,
}

/// A row of `pg_policy`.
#[derive(Clone, Debug)]
pub struct PolicyDesc {
    /// Its name.
    pub name: Arc<str>,
    /// `r`, `a`, `w`, `d` or `*`.
    pub command: u8,
    /// Not RESTRICTIVE.
    pub permissive: bool,
    /// Roles it is for; 0 is all.
    pub roles: Vec<Oid>,
    /// USING: JSON of `ir::Expr`.
    pub qual: Option<NodeText>,
    /// WITH CHECK.
    pub check: Option<NodeText>,
}

/// A row of `pg_partitioned_table`.
#[derive(Clone, Debug)]
pub struct PartitionKeyDesc {
    /// `h`, `l` or `r`.
    pub strategy: u8,
    /// The default partition, or 0.
    pub default_partition: Oid,
    /// Columns; 0 is an expression.
    pub columns: Vec<i16>,
    /// Operator class by column.
    pub opclasses: Vec<Oid>,
    /// Collation by column.
    pub collations: Vec<Oid>,
    /// Expressions: JSON of `Vec<ir::Expr>`.
    pub exprs: Option<NodeText>,
}

/// A row of `pg_sequence`.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceDesc {
    /// The sequence.
    pub oid: Oid,
    /// int2, int4 or int8.
    pub type_oid: Oid,
    /// START
    pub start: i64,
    /// INCREMENT
    pub increment: i64,
    /// MAXVALUE
    pub max: i64,
    /// MINVALUE
    pub min: i64,
    /// CACHE
    pub cache: i64,
    /// CYCLE
    pub cycle: bool,
}

/// A row of `pg_statistic_ext_data`: what is known of several columns of a table together.
#[derive(Clone, Debug)]
pub struct ExtendedStatisticDesc {
    /// The statistics object.
    pub oid: Oid,
    /// Includes the children.
    pub inherited: bool,
    /// The columns.
    pub columns: Vec<i16>,
    /// A list of expressions besides them.
    pub exprs: Option<NodeText>,
    /// How many groups some of them make.
    pub distinct: Option<Vec<NDistinct>>,
    /// Which follow from others.
    pub dependencies: Option<Vec<Dependency>>,
    /// The commonest combinations.
    pub common: Option<McvList>,
    /// What is known of each expression.
    pub of_exprs: Option<Vec<Option<Arc<StatisticDesc>>>>,
}

/// A row of `pg_statistic`.
#[derive(Clone, Debug)]
pub struct StatisticDesc {
    /// Includes the children.
    pub inherited: bool,
    /// Fraction of nulls.
    pub null_frac: f32,
    /// Average bytes.
    pub width: i32,
    /// Distinct values: positive a number, negative minus a fraction of the rows, 0 unknown.
    pub distinct: f32,
    /// The slots in use.
    pub slots: Vec<StatisticSlot>,
}

/// One slot of `pg_statistic`.
#[derive(Clone, Debug)]
pub struct StatisticSlot {
    /// 1 MCV, 2 histogram, 3 correlation, 4 MCELEM, 5 DECHIST, ...
    pub kind: i16,
    /// Operator it was made with.
    pub op: Oid,
    /// Collation it was made with.
    pub collation: Oid,
    /// `stanumbers`
    pub numbers: Vec<f32>,
    /// `stavalues`, of the column's (or its operator class's) type.
    pub values: Vec<Datum>,
}
