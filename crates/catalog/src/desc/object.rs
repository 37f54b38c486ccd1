//! Types, functions, operators, casts, operator classes, schemas, roles, databases.

use super::NodeText;
use crate::acl::AclItem;
use base::Oid;
use std::sync::Arc;

/// A row of `pg_type`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeDesc {
    /// `pg_type.oid`
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its schema.
    pub namespace: Oid,
    /// Its owner.
    pub owner: Oid,
    /// Bytes; -1 is varlena, -2 a C string.
    pub len: i16,
    /// Passed by value.
    pub by_val: bool,
    /// `b` base, `c` composite, `d` domain, `e` enum, `m` multirange, `p` pseudo, `r` range.
    pub kind: u8,
    /// `typcategory`
    pub category: u8,
    /// Preferred in its category.
    pub is_preferred: bool,
    /// False for a shell type.
    pub is_defined: bool,
    /// Delimiter in arrays.
    pub delim: u8,
    /// The relation of a composite type.
    pub relation: Oid,
    /// `typsubscript`
    pub subscript: Oid,
    /// The element's type of a subscriptable type.
    pub elem: Oid,
    /// The array type over it.
    pub array: Oid,
    /// `typinput`
    pub input: Oid,
    /// `typoutput`
    pub output: Oid,
    /// `typreceive`
    pub receive: Oid,
    /// `typsend`
    pub send: Oid,
    /// `typmodin`
    pub modin: Oid,
    /// `typmodout`
    pub modout: Oid,
    /// `typanalyze`
    pub analyze: Oid,
    /// `c`, `s`, `i` or `d`.
    pub align: u8,
    /// `p`, `e`, `x` or `m`.
    pub storage: u8,
    /// A domain that is NOT NULL.
    pub not_null: bool,
    /// A domain's base.
    pub base_type: Oid,
    /// A domain's modifier.
    pub typmod: i32,
    /// A domain's array dimensions.
    pub ndims: i32,
    /// Its collation, or 0.
    pub collation: Oid,
    /// A domain's default: JSON of `ir::Expr`.
    pub default_expr: Option<NodeText>,
    /// A default, as text.
    pub default: Option<Arc<str>>,
    /// For a range: its subtype; for a multirange: its range.
    pub range_subtype: Oid,
    /// For a range: its multirange type.
    pub multirange: Oid,
    /// For a range: `rngsubopc`.
    pub range_opclass: Oid,
    /// For a range: `rngcollation`.
    pub range_collation: Oid,
    /// For a range: `rngcanonical`.
    pub range_canonical: Oid,
    /// For a range: `rngsubdiff`.
    pub range_subdiff: Oid,
    /// Its access control list.
    pub acl: Option<Vec<AclItem>>,
}

impl TypeDesc {
    /// True for array types proper: those made over an element type.
    pub fn is_array(&self) -> bool {
        self.elem.is_valid() && self.subscript == Oid(6179)
    }
}

/// A row of `pg_enum`.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumLabel {
    /// `pg_enum.oid`
    pub oid: Oid,
    /// The type.
    pub type_oid: Oid,
    /// Place in the order.
    pub sort_order: f32,
    /// The label.
    pub label: Arc<str>,
}

/// A row of `pg_proc`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcDesc {
    /// `pg_proc.oid`
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its schema.
    pub namespace: Oid,
    /// Its owner.
    pub owner: Oid,
    /// 12 internal, 13 c, 14 sql.
    pub language: Oid,
    /// Estimated cost of a call.
    pub cost: f32,
    /// Estimated rows of a set.
    pub rows: f32,
    /// Element type of the VARIADIC argument.
    pub variadic: Oid,
    /// Planner support function.
    pub support: Oid,
    /// `f`, `p`, `a` or `w`.
    pub kind: u8,
    /// SECURITY DEFINER
    pub security_definer: bool,
    /// LEAKPROOF
    pub leakproof: bool,
    /// STRICT
    pub strict: bool,
    /// Returns a set.
    pub returns_set: bool,
    /// `i`, `s` or `v`.
    pub volatility: u8,
    /// `s`, `r` or `u`.
    pub parallel: u8,
    /// The last so many input arguments have defaults.
    pub n_defaults: u16,
    /// Result type.
    pub return_type: Oid,
    /// Input arguments' types.
    pub arg_types: Vec<Oid>,
    /// All arguments' types, if there are outputs.
    pub all_arg_types: Option<Vec<Oid>>,
    /// `i`, `o`, `b`, `v` or `t` by argument.
    pub arg_modes: Option<Vec<u8>>,
    /// Arguments' names.
    pub arg_names: Option<Vec<String>>,
    /// Default expressions: JSON of `Vec<ir::Expr>`, or SQL text for built-in rows.
    pub arg_defaults: Option<NodeText>,
    /// Source text.
    pub source: Arc<str>,
    /// Library.
    pub binary: Option<Arc<str>>,
    /// Body of a SQL-standard function: JSON.
    pub sql_body: Option<NodeText>,
    /// Settings while it runs, as `name=value`.
    pub config: Option<Vec<String>>,
    /// Its access control list.
    pub acl: Option<Vec<AclItem>>,
}

/// A row of `pg_operator`.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorDesc {
    /// `pg_operator.oid`
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its schema.
    pub namespace: Oid,
    /// Its owner.
    pub owner: Oid,
    /// `b` binary or `l` prefix.
    pub kind: u8,
    /// MERGES
    pub can_merge: bool,
    /// HASHES
    pub can_hash: bool,
    /// Left operand's type, 0 for prefix operators.
    pub left: Oid,
    /// Right operand's type.
    pub right: Oid,
    /// Result's type.
    pub result: Oid,
    /// Commutator.
    pub commutator: Oid,
    /// Negator.
    pub negator: Oid,
    /// Its function.
    pub function: Oid,
    /// Restriction selectivity estimator.
    pub rest: Oid,
    /// Join selectivity estimator.
    pub join: Oid,
}

/// When a cast may be applied.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum CastContext {
    /// `i`: anywhere.
    Implicit,
    /// `a`: when assigned to a column, too.
    Assignment,
    /// `e`: when asked for only.
    Explicit,
}

/// How a cast works.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CastMethod {
    /// `f`: by its function.
    Function,
    /// `b`: the same bytes.
    Binary,
    /// `i`: through text.
    InOut,
}

/// A row of `pg_cast`.
#[derive(Clone, Debug, PartialEq)]
pub struct CastDesc {
    /// `pg_cast.oid`
    pub oid: Oid,
    /// From.
    pub source: Oid,
    /// To.
    pub target: Oid,
    /// Its function, or 0.
    pub function: Oid,
    /// When.
    pub context: CastContext,
    /// How.
    pub method: CastMethod,
}

/// A row of `pg_aggregate`.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateDesc {
    /// The `pg_proc` row.
    pub function: Oid,
    /// `n` normal, `o` ordered-set, `h` hypothetical-set.
    pub kind: u8,
    /// Direct arguments.
    pub n_direct_args: i16,
    /// Transition function.
    pub trans: Oid,
    /// Final function, or 0.
    pub final_: Oid,
    /// Combine function, or 0.
    pub combine: Oid,
    /// Serialisation, or 0.
    pub serial: Oid,
    /// Deserialisation, or 0.
    pub deserial: Oid,
    /// Moving: forward.
    pub m_trans: Oid,
    /// Moving: inverse.
    pub m_inv_trans: Oid,
    /// Moving: final.
    pub m_final: Oid,
    /// The final function gets the arguments too.
    pub final_extra: bool,
    /// `r`, `s` or `w`.
    pub final_modify: u8,
    /// Sort operator of min and max, or 0.
    pub sort_op: Oid,
    /// State's type.
    pub trans_type: Oid,
    /// State's size, estimated.
    pub trans_space: i32,
    /// Moving state's type.
    pub m_trans_type: Oid,
    /// First state's text.
    pub init_value: Option<Arc<str>>,
    /// Moving: first state's text.
    pub m_init_value: Option<Arc<str>>,
}

/// A row of `pg_opclass`.
#[derive(Clone, Debug, PartialEq)]
pub struct OpclassDesc {
    /// `pg_opclass.oid`
    pub oid: Oid,
    /// Access method.
    pub am: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its schema.
    pub namespace: Oid,
    /// Its owner.
    pub owner: Oid,
    /// Its family.
    pub family: Oid,
    /// Type it is for.
    pub input_type: Oid,
    /// Default for the type.
    pub is_default: bool,
    /// Type stored, 0 if the same.
    pub key_type: Oid,
}

/// A row of `pg_opfamily`.
#[derive(Clone, Debug, PartialEq)]
pub struct OpfamilyDesc {
    /// `pg_opfamily.oid`
    pub oid: Oid,
    /// Access method.
    pub am: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its schema.
    pub namespace: Oid,
}

/// A row of `pg_amop`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmopDesc {
    /// `pg_amop.oid`
    pub oid: Oid,
    /// Family.
    pub family: Oid,
    /// Left type.
    pub left: Oid,
    /// Right type.
    pub right: Oid,
    /// Strategy; for btree 1 <, 2 <=, 3 =, 4 >=, 5 >.
    pub strategy: i16,
    /// `s` search or `o` ordering.
    pub purpose: u8,
    /// Operator.
    pub operator: Oid,
    /// Access method.
    pub am: Oid,
    /// Family of an ordering operator's result.
    pub sort_family: Oid,
}

/// A row of `pg_amproc`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmprocDesc {
    /// `pg_amproc.oid`
    pub oid: Oid,
    /// Family.
    pub family: Oid,
    /// Left type.
    pub left: Oid,
    /// Right type.
    pub right: Oid,
    /// Support number; for btree 1 compare, 2 sortsupport, 3 in_range, 4 equalimage.
    pub number: i16,
    /// Function.
    pub function: Oid,
}

/// A row of `pg_collation`.
#[derive(Clone, Debug, PartialEq)]
pub struct CollationDesc {
    /// `pg_collation.oid`: 100 default, 950 C, 951 POSIX.
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its schema.
    pub namespace: Oid,
    /// Its owner.
    pub owner: Oid,
    /// `d` database's, `c` libc, `i` icu, `b` builtin.
    pub provider: u8,
    /// Equal means the same bytes.
    pub is_deterministic: bool,
    /// Encoding, -1 is any.
    pub encoding: i32,
    /// LC_COLLATE of libc.
    pub collate: Option<Arc<str>>,
    /// LC_CTYPE of libc.
    pub ctype: Option<Arc<str>>,
    /// Locale of icu and builtin.
    pub locale: Option<Arc<str>>,
    /// Rules after those of an ICU locale.
    pub rules: Option<Arc<str>>,
}

/// A row of `pg_namespace`.
#[derive(Clone, Debug, PartialEq)]
pub struct NamespaceDesc {
    /// `pg_namespace.oid`
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its owner.
    pub owner: Oid,
    /// Its access control list.
    pub acl: Option<Vec<AclItem>>,
}

/// A row of `pg_authid` with the roles it is a member of.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleDesc {
    /// `pg_authid.oid`: 10 is the bootstrap superuser.
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// SUPERUSER
    pub superuser: bool,
    /// INHERIT
    pub inherit: bool,
    /// CREATEROLE
    pub create_role: bool,
    /// CREATEDB
    pub create_db: bool,
    /// LOGIN
    pub can_login: bool,
    /// REPLICATION
    pub replication: bool,
    /// BYPASSRLS
    pub bypass_rls: bool,
    /// CONNECTION LIMIT, -1 is none.
    pub connection_limit: i32,
    /// Stored password: `SCRAM-SHA-256$...`.
    pub password: Option<Arc<str>>,
    /// VALID UNTIL, in microseconds from 2000.
    pub valid_until: Option<i64>,
    /// Direct memberships: role, ADMIN, INHERIT, SET.
    pub member_of: Vec<(Oid, bool, bool, bool)>,
}

/// A row of `pg_database`.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseDesc {
    /// `pg_database.oid`: 1 template1, 4 template0, 5 postgres.
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// Its owner.
    pub owner: Oid,
    /// Encoding: 6 is UTF8.
    pub encoding: i32,
    /// `c` libc, `i` icu, `b` builtin.
    pub locale_provider: u8,
    /// Anyone with CREATEDB may copy it.
    pub is_template: bool,
    /// Sessions may connect.
    pub allow_connections: bool,
    /// -1 none, -2 invalid.
    pub connection_limit: i32,
    /// Default tablespace.
    pub tablespace: Oid,
    /// LC_COLLATE
    pub collate: Arc<str>,
    /// LC_CTYPE
    pub ctype: Arc<str>,
    /// Locale of icu and builtin.
    pub locale: Option<Arc<str>>,
    /// Rules after those of an ICU locale.
    pub rules: Option<Arc<str>>,
    /// Its access control list.
    pub acl: Option<Vec<AclItem>>,
}

impl DatabaseDesc {
    /// The collation that the default one stands for in this database.
    pub fn default_collation(&self) -> Oid {
        let locale = self.locale.as_ref().filter(|_| self.locale_provider != b'c');
        functions::collation::default_of_database(&functions::collation::Facts {
            provider: self.locale_provider,
            deterministic: true,
            locale: locale.unwrap_or(&self.ctype).to_string(),
            rules: self.rules.as_deref().map(str::to_string),
        })
    }
}
