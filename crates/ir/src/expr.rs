//! Bound expressions: every function, operator and type is an OID, every column a [`Var`].

use crate::query::{Query, SortGroupClause};
use base::Oid;
use serde::{Deserialize, Serialize};
use types::Datum;

/// Byte offset into the statement's text, for error positions; `None` where unknown.
pub type Location = Option<u32>;

/// Where something is written, which makes no two things different.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written(pub Location);

impl PartialEq for Written {
    fn eq(&self, _: &Written) -> bool {
        true
    }
}

/// `varno` of a plan's column that comes from the outer (left) child.
pub const OUTER_VAR: u32 = u32::MAX;
/// `varno` of a plan's column that comes from the inner (right) child.
pub const INNER_VAR: u32 = u32::MAX - 1;
/// `varno` of a plan's column that comes from the index that the node scans.
pub const INDEX_VAR: u32 = u32::MAX - 2;

/// A value known while planning.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Const {
    pub ty: Oid,
    pub typmod: i32,
    pub collation: Oid,
    pub value: Datum,
    pub location: Location,
}

/// The same constant: NaN is the same as NaN here.
impl PartialEq for Const {
    fn eq(&self, other: &Const) -> bool {
        let same = match (&self.value, &other.value) {
            (Datum::F64(a), Datum::F64(b)) => a.to_bits() == b.to_bits(),
            (Datum::F32(a), Datum::F32(b)) => a.to_bits() == b.to_bits(),
            (a, b) => a == b,
        };
        let about = |c: &Const| (c.ty, c.typmod, c.collation, c.location);
        same && about(self) == about(other)
    }
}

/// Which row of a modified table a column of it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReturningKind {
    /// The usual: the new row of INSERT and UPDATE, the old one of DELETE.
    Default,
    Old,
    New,
}

/// A column of a range-table entry, or (in a finished plan) of a child's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Var {
    /// Range-table index from 1, or [`OUTER_VAR`], [`INNER_VAR`], [`INDEX_VAR`].
    pub varno: u32,
    /// Attribute number from 1; 0 is the whole row; negative ones are system columns or, see
    /// [`Var::stored`], how a column is stored.
    pub attno: i16,
    pub ty: Oid,
    pub typmod: i32,
    pub collation: Oid,
    /// How many queries outwards the range table is.
    pub levels_up: u32,
    /// Range-table indexes of the outer joins that can set it to null, ascending.
    pub nulling_rels: Vec<u32>,
    /// What `varno` and `attno` were before planning; used for printing.
    pub syn_no: u32,
    pub syn_attno: i16,
    pub returning: ReturningKind,
    pub location: Location,
}

/// Attribute numbers below this stand for how a column is stored.
const STORED: i16 = -100;

impl Var {
    /// Instead of the value of this column, how it is stored: a packed `StoredForm`, which travels
    /// through a plan as a system column does.
    pub fn stored(&self) -> Var {
        let number = STORED - self.attno;
        Var {
            attno: number,
            syn_attno: number,
            ty: Oid(2281),
            typmod: -1,
            collation: Oid::INVALID,
            ..self.clone()
        }
    }

    /// The number of the column of which this attribute number tells how it is stored.
    pub fn column_of_stored(attno: i16) -> Option<i16> {
        (attno < STORED).then(|| STORED - attno)
    }

    /// A plain column of the current query.
    pub fn new(varno: u32, attno: i16, ty: Oid, typmod: i32, collation: Oid) -> Var {
        Var {
            varno,
            attno,
            ty,
            typmod,
            collation,
            levels_up: 0,
            nulling_rels: Vec::new(),
            syn_no: varno,
            syn_attno: attno,
            returning: ReturningKind::Default,
            location: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ParamKind {
    /// `$n` of the client, from 1.
    Extern,
    /// Set by another node of the same plan (subplans, nested loops), from 0.
    Exec,
}

/// A value that comes at run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Param {
    pub kind: ParamKind,
    pub id: u32,
    pub ty: Oid,
    pub typmod: i32,
    pub collation: Oid,
    pub location: Location,
}

/// How a call was written, so that it can be printed the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CoercionForm {
    ExplicitCall,
    ExplicitCast,
    ImplicitCast,
    SqlSyntax,
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FuncExpr {
    pub func: Oid,
    pub ret_type: Oid,
    pub ret_set: bool,
    pub variadic: bool,
    pub form: CoercionForm,
    pub collation: Oid,
    pub input_collation: Oid,
    pub args: Vec<Expr>,
    pub location: Location,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpKind {
    /// `a op b` or `op a`.
    Plain,
    /// `a IS DISTINCT FROM b`; `op` is the equality operator.
    Distinct,
    /// `NULLIF(a, b)`; `op` is the equality operator.
    NullIf,
}

/// An operator and its one or two operands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpExpr {
    pub kind: OpKind,
    pub op: Oid,
    /// The function behind the operator.
    pub func: Oid,
    pub ret_type: Oid,
    pub ret_set: bool,
    pub collation: Oid,
    pub input_collation: Oid,
    pub args: Vec<Expr>,
    pub location: Location,
}

/// `scalar op ANY (array)` or `scalar op ALL (array)`, and IN lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalarArrayOpExpr {
    pub op: Oid,
    pub func: Oid,
    /// ANY rather than ALL.
    pub use_or: bool,
    pub input_collation: Oid,
    /// The scalar and the array.
    pub args: Vec<Expr>,
    pub location: Location,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoolOp {
    And,
    Or,
    Not,
}

/// How much of an aggregate a plan node computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AggSplit {
    Simple,
    /// Rows in, serialised state out.
    InitialSerial,
    /// Serialised states in, result out.
    FinalDeserial,
}

/// An aggregate call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aggref {
    pub agg: Oid,
    pub ty: Oid,
    pub collation: Oid,
    pub input_collation: Oid,
    /// Type of the transition state, filled in by the planner.
    pub trans_type: Oid,
    /// Declared types of the arguments, direct ones first.
    pub arg_types: Vec<Oid>,
    /// Arguments of ordered-set aggregates that are evaluated once a group.
    pub direct_args: Vec<Expr>,
    /// Aggregated arguments, and what is only sorted by (as junk).
    pub args: Vec<TargetEntry>,
    pub order: Vec<SortGroupClause>,
    pub distinct: Vec<SortGroupClause>,
    pub filter: Option<Box<Expr>>,
    /// `count(*)`.
    pub star: bool,
    pub variadic: bool,
    /// `n` normal, `o` ordered-set, `h` hypothetical-set.
    pub kind: char,
    pub levels_up: u32,
    /// Its rows come in the order that it asks for (set by the planner).
    #[serde(default)]
    pub presorted: bool,
    pub split: AggSplit,
    pub location: Location,
}

/// `GROUPING(...)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupingFunc {
    pub args: Vec<Expr>,
    /// Sort-group references of the arguments.
    pub refs: Vec<u32>,
    /// Output columns of the grouping node, filled in by the planner.
    pub cols: Vec<u32>,
    pub levels_up: u32,
    pub location: Location,
}

/// A window function call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowFunc {
    pub func: Oid,
    pub ty: Oid,
    pub collation: Oid,
    pub input_collation: Oid,
    pub args: Vec<Expr>,
    pub filter: Option<Box<Expr>>,
    /// Which entry of the query's window clause, by its `ref_`.
    pub window: u32,
    pub star: bool,
    /// A plain aggregate rather than a true window function.
    pub is_agg: bool,
    pub location: Location,
}

/// `container[subscripts]`, fetched, or assigned when `assign` is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubscriptRef {
    pub container_type: Oid,
    pub element_type: Oid,
    pub result_type: Oid,
    pub typmod: i32,
    pub collation: Oid,
    /// Upper (or only) subscripts; `None` for an omitted bound of a slice.
    pub upper: Vec<Option<Expr>>,
    /// Lower bounds; empty unless it is a slice.
    pub lower: Vec<Option<Expr>>,
    pub container: Box<Expr>,
    pub assign: Option<Box<Expr>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SubLinkKind {
    Exists,
    /// `(lefthand) op ALL (subselect)`
    All,
    /// `(lefthand) op ANY (subselect)`
    Any,
    /// `(lefthand) op (subselect)`, rows compared.
    RowCompare,
    /// A scalar subselect.
    Expr,
    /// Several columns for a multiple assignment.
    MultiExpr,
    /// `ARRAY(subselect)`
    Array,
    /// A CTE run as a subplan; only in plans.
    Cte,
}

/// A subselect in an expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubLink {
    pub kind: SubLinkKind,
    /// Number of a `MultiExpr`, from 1.
    pub id: u32,
    /// The combining comparison; the subselect's columns are `Param`s of kind `Exec` there
    /// whose ids are the columns' numbers from 1 (the planner renumbers them).
    pub test: Option<Box<Expr>>,
    /// Name of the operator as written, for printing.
    pub op_name: Vec<String>,
    pub query: Box<Query>,
    /// Type of the value: boolean, the column's, or the array over it.
    pub ty: Oid,
    pub typmod: i32,
    pub collation: Oid,
    pub location: Location,
}

/// A subselect that has been planned: index into the plan's list of subplans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubPlan {
    pub kind: SubLinkKind,
    /// The comparison, with `param_ids` for the subselect's columns.
    pub test: Option<Box<Expr>>,
    pub param_ids: Vec<u32>,
    /// Index from 0 into [`crate::PlannedStmt::subplans`].
    pub plan: u32,
    /// `SubPlan 1`, `InitPlan 1`, `CTE x`: for EXPLAIN.
    pub name: String,
    /// Type of the first output column.
    pub ty: Oid,
    pub typmod: i32,
    pub collation: Oid,
    /// ARRAY over a column of arrays: the result has one dimension more.
    pub of_arrays: bool,
    /// Keep the result in a hash table, for `= ANY`.
    pub use_hash_table: bool,
    /// The hash table may say false where null is meant.
    pub unknown_eq_false: bool,
    pub parallel_safe: bool,
    /// Exec params that this (as an init plan) sets.
    pub set_params: Vec<u32>,
    /// Exec params that must be set before each run.
    pub par_params: Vec<u32>,
    /// Values for `par_params`.
    pub args: Vec<Expr>,
    pub startup_cost: f64,
    pub per_call_cost: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NullTestKind {
    IsNull,
    IsNotNull,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoolTestKind {
    IsTrue,
    IsNotTrue,
    IsFalse,
    IsNotFalse,
    IsUnknown,
    IsNotUnknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MinMaxOp {
    Greatest,
    Least,
}

/// Comparison of rows column by column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowCompareOp {
    Lt,
    Le,
    Ge,
    Gt,
}

/// CURRENT_DATE and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SqlValueOp {
    CurrentDate,
    CurrentTime,
    CurrentTimestamp,
    LocalTime,
    LocalTimestamp,
    CurrentRole,
    CurrentUser,
    User,
    SessionUser,
    CurrentCatalog,
    CurrentSchema,
}

/// One WHEN of a CASE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseWhen {
    pub when: Expr,
    pub then: Expr,
}

/// CASE; with an operand, each WHEN compares a [`Expr::CaseTest`] with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseExpr {
    pub ty: Oid,
    pub collation: Oid,
    pub arg: Option<Box<Expr>>,
    pub whens: Vec<CaseWhen>,
    pub default: Box<Expr>,
    pub location: Location,
}

/// `ARRAY[...]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayExpr {
    pub array_type: Oid,
    pub collation: Oid,
    pub element_type: Oid,
    pub elements: Vec<Expr>,
    /// The elements are arrays themselves.
    pub multidims: bool,
    pub location: Location,
}

/// `ROW(...)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowExpr {
    /// RECORD or a named composite type.
    pub ty: Oid,
    pub args: Vec<Expr>,
    pub form: CoercionForm,
    /// Field names, for RECORD.
    pub names: Vec<String>,
    pub location: Location,
}

/// An expression that names its objects by OID. Types, typmods and collations are those of
/// the value it gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    Const(Const),
    Var(Var),
    Param(Param),
    Func(FuncExpr),
    Op(OpExpr),
    ScalarArrayOp(ScalarArrayOpExpr),
    Bool {
        op: BoolOp,
        args: Vec<Expr>,
        location: Location,
    },
    Agg(Box<Aggref>),
    Grouping(Box<GroupingFunc>),
    Window(Box<WindowFunc>),
    Subscript(Box<SubscriptRef>),
    SubLink(Box<SubLink>),
    SubPlan(Box<SubPlan>),
    /// Alternative subplans; the planner picks one before the plan is finished.
    FieldSelect {
        arg: Box<Expr>,
        field: i16,
        ty: Oid,
        typmod: i32,
        collation: Oid,
    },
    /// A copy of the row `arg` with some fields replaced.
    FieldStore {
        arg: Box<Expr>,
        values: Vec<Expr>,
        fields: Vec<i16>,
        ty: Oid,
    },
    /// Same bytes, other type.
    Relabel {
        arg: Box<Expr>,
        ty: Oid,
        typmod: i32,
        collation: Oid,
        form: CoercionForm,
        location: Location,
    },
    /// Through the text form.
    CoerceViaIo {
        arg: Box<Expr>,
        ty: Oid,
        collation: Oid,
        form: CoercionForm,
        location: Location,
    },
    /// Each element of an array through `element`, which has a [`Expr::CaseTest`] for it.
    ArrayCoerce {
        arg: Box<Expr>,
        element: Box<Expr>,
        ty: Oid,
        typmod: i32,
        collation: Oid,
        form: CoercionForm,
        location: Location,
    },
    /// A row of a child table as a row of its parent.
    ConvertRowtype {
        arg: Box<Expr>,
        ty: Oid,
        form: CoercionForm,
        location: Location,
    },
    Collate {
        arg: Box<Expr>,
        collation: Oid,
        location: Location,
    },
    Case(Box<CaseExpr>),
    /// The operand of the CASE, or element of the array coercion, around it.
    CaseTest {
        ty: Oid,
        typmod: i32,
        collation: Oid,
    },
    Array(Box<ArrayExpr>),
    Row(Box<RowExpr>),
    RowCompare {
        op: RowCompareOp,
        ops: Vec<Oid>,
        families: Vec<Oid>,
        collations: Vec<Oid>,
        left: Vec<Expr>,
        right: Vec<Expr>,
    },
    Coalesce {
        ty: Oid,
        collation: Oid,
        args: Vec<Expr>,
        location: Location,
    },
    MinMax {
        op: MinMaxOp,
        ty: Oid,
        collation: Oid,
        input_collation: Oid,
        args: Vec<Expr>,
        location: Location,
    },
    SqlValue {
        op: SqlValueOp,
        ty: Oid,
        typmod: i32,
        location: Location,
    },
    NullTest {
        kind: NullTestKind,
        arg: Box<Expr>,
        is_row: bool,
        location: Location,
    },
    BooleanTest {
        kind: BoolTestKind,
        arg: Box<Expr>,
        location: Location,
    },
    CoerceToDomain {
        arg: Box<Expr>,
        ty: Oid,
        typmod: i32,
        collation: Oid,
        form: CoercionForm,
        location: Location,
    },
    /// The value under test in a domain's CHECK.
    DomainValue {
        ty: Oid,
        typmod: i32,
        collation: Oid,
        location: Location,
    },
    /// DEFAULT in an INSERT or UPDATE; gone after rewriting.
    SetToDefault {
        ty: Oid,
        typmod: i32,
        collation: Oid,
        location: Location,
    },
    /// WHERE CURRENT OF.
    CurrentOf {
        varno: u32,
        cursor: String,
    },
    /// The next value of a sequence, for identity columns.
    NextValue {
        sequence: Oid,
        ty: Oid,
    },
    /// `name => value`; only while a call is being resolved.
    NamedArg {
        name: String,
        arg: Box<Expr>,
        number: i32,
        location: Location,
    },
    /// `MERGE_ACTION()`.
    MergeAction {
        location: Location,
    },
    Json(Box<crate::json::JsonExpr>),
    Xml(Box<crate::xml::XmlExpr>),
}

/// An output column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetEntry {
    pub expr: Expr,
    /// Position from 1. For INSERT and UPDATE, the attribute number assigned to.
    pub resno: i16,
    pub name: Option<String>,
    /// What sort and group clauses refer to it by; 0 if none does.
    pub sort_group_ref: u32,
    /// The table that the column comes from, and its attribute number there.
    pub orig_table: Oid,
    pub orig_column: i16,
    /// Not part of the result.
    pub junk: bool,
}

impl TargetEntry {
    /// A visible column that nothing sorts or groups by.
    pub fn new(expr: Expr, resno: i16, name: Option<String>, junk: bool) -> TargetEntry {
        TargetEntry {
            expr,
            resno,
            name,
            sort_group_ref: 0,
            orig_table: Oid::INVALID,
            orig_column: 0,
            junk,
        }
    }
}

const BOOL: Oid = Oid(16);

impl Expr {
    /// Type of the value.
    pub fn ty(&self) -> Oid {
        match self {
            Expr::Const(c) => c.ty,
            Expr::Var(v) => v.ty,
            Expr::Param(p) => p.ty,
            Expr::Func(f) => f.ret_type,
            Expr::Op(o) if o.kind == OpKind::NullIf => o.args.first().map_or(BOOL, Expr::ty),
            Expr::Op(o) => o.ret_type,
            Expr::Agg(a) => a.ty,
            Expr::Grouping(_) => Oid(23),
            Expr::Window(w) => w.ty,
            Expr::Subscript(s) => s.result_type,
            Expr::SubLink(s) => s.ty,
            Expr::SubPlan(s) => s.result_type(),
            Expr::Json(j) => j.ty,
            Expr::Xml(x) => x.ty,
            Expr::Collate { arg, .. } | Expr::NamedArg { arg, .. } => arg.ty(),
            Expr::Case(c) => c.ty,
            Expr::Array(a) => a.array_type,
            Expr::Row(r) => r.ty,
            Expr::FieldSelect { ty, .. }
            | Expr::FieldStore { ty, .. }
            | Expr::Relabel { ty, .. }
            | Expr::CoerceViaIo { ty, .. }
            | Expr::ArrayCoerce { ty, .. }
            | Expr::ConvertRowtype { ty, .. }
            | Expr::CaseTest { ty, .. }
            | Expr::Coalesce { ty, .. }
            | Expr::MinMax { ty, .. }
            | Expr::SqlValue { ty, .. }
            | Expr::CoerceToDomain { ty, .. }
            | Expr::DomainValue { ty, .. }
            | Expr::SetToDefault { ty, .. }
            | Expr::NextValue { ty, .. } => *ty,
            Expr::MergeAction { .. } => Oid(25),
            Expr::ScalarArrayOp(_)
            | Expr::Bool { .. }
            | Expr::RowCompare { .. }
            | Expr::NullTest { .. }
            | Expr::BooleanTest { .. }
            | Expr::CurrentOf { .. } => BOOL,
        }
    }

    /// Type modifier of the value; -1 where there is none.
    pub fn typmod(&self) -> i32 {
        match self {
            Expr::Const(c) => c.typmod,
            Expr::Var(v) => v.typmod,
            Expr::Param(p) => p.typmod,
            Expr::Subscript(s) => s.typmod,
            Expr::SubPlan(s) if s.kind == SubLinkKind::Expr => s.typmod,
            Expr::SubLink(s) => s.typmod,
            Expr::Op(o) if o.kind == OpKind::NullIf => o.args.first().map_or(-1, Expr::typmod),
            Expr::Json(j) => j.typmod,
            Expr::Xml(x) => x.typmod,
            Expr::Collate { arg, .. } | Expr::NamedArg { arg, .. } => arg.typmod(),
            Expr::Case(c) => {
                common_typmod(c.whens.iter().map(|w| &w.then).chain([&*c.default]), c.ty)
            }
            Expr::Coalesce { args, ty, .. } | Expr::MinMax { args, ty, .. } => {
                common_typmod(args.iter(), *ty)
            }
            Expr::Array(a) if !a.multidims => common_typmod(a.elements.iter(), a.element_type),
            Expr::FieldSelect { typmod, .. }
            | Expr::Relabel { typmod, .. }
            | Expr::ArrayCoerce { typmod, .. }
            | Expr::CaseTest { typmod, .. }
            | Expr::SqlValue { typmod, .. }
            | Expr::CoerceToDomain { typmod, .. }
            | Expr::DomainValue { typmod, .. }
            | Expr::SetToDefault { typmod, .. } => *typmod,
            Expr::Func(f)
                if f.form != CoercionForm::ExplicitCall && f.form != CoercionForm::SqlSyntax =>
            {
                length_coercion_typmod(f)
            }
            _ => -1,
        }
    }

    /// Collation of the value; 0 where its type has none.
    pub fn collation(&self) -> Oid {
        match self {
            Expr::Const(c) => c.collation,
            Expr::Var(v) => v.collation,
            Expr::Param(p) => p.collation,
            Expr::Func(f) => f.collation,
            Expr::Op(o) => o.collation,
            Expr::Agg(a) => a.collation,
            Expr::Window(w) => w.collation,
            Expr::Subscript(s) => s.collation,
            Expr::SubPlan(s) => s.collation,
            Expr::SubLink(s) => s.collation,
            Expr::Case(c) => c.collation,
            Expr::Array(a) => a.collation,
            Expr::FieldSelect { collation, .. }
            | Expr::Relabel { collation, .. }
            | Expr::CoerceViaIo { collation, .. }
            | Expr::ArrayCoerce { collation, .. }
            | Expr::Collate { collation, .. }
            | Expr::CaseTest { collation, .. }
            | Expr::Coalesce { collation, .. }
            | Expr::MinMax { collation, .. }
            | Expr::CoerceToDomain { collation, .. }
            | Expr::DomainValue { collation, .. }
            | Expr::SetToDefault { collation, .. } => *collation,
            Expr::Json(j) => j.collation,
            Expr::Xml(x) => x.collation,
            Expr::SqlValue { ty, .. } if ty.0 == 19 => Oid(950),
            Expr::MergeAction { .. } => Oid(100),
            Expr::NamedArg { arg, .. } => arg.collation(),
            _ => Oid::INVALID,
        }
    }

    /// Where it began in the statement's text.
    pub fn location(&self) -> Location {
        match self {
            Expr::Const(c) => c.location,
            Expr::Var(v) => v.location,
            Expr::Param(p) => p.location,
            Expr::Func(f) => leftmost(f.location, &f.args),
            Expr::Op(o) => leftmost(o.location, &o.args),
            Expr::ScalarArrayOp(s) => leftmost(s.location, &s.args),
            Expr::Bool { args, location, .. } => leftmost(*location, args),
            Expr::Agg(a) => a.location,
            Expr::Grouping(g) => g.location,
            Expr::Window(w) => w.location,
            Expr::Subscript(s) => s.container.location(),
            Expr::SubLink(s) => {
                s.test.as_ref().and_then(|t| t.location()).into_iter().chain(s.location).min()
            }
            Expr::Case(c) => c.location,
            Expr::Array(a) => a.location,
            Expr::Row(r) => r.location,
            Expr::Json(j) => j.location,
            Expr::Xml(x) => x.location,
            Expr::FieldSelect { arg, .. } | Expr::FieldStore { arg, .. } => arg.location(),
            Expr::Relabel { arg, location, .. }
            | Expr::CoerceViaIo { arg, location, .. }
            | Expr::ArrayCoerce { arg, location, .. }
            | Expr::ConvertRowtype { arg, location, .. }
            | Expr::Collate { arg, location, .. }
            | Expr::NullTest { arg, location, .. }
            | Expr::BooleanTest { arg, location, .. }
            | Expr::CoerceToDomain { arg, location, .. }
            | Expr::NamedArg { arg, location, .. } => {
                location.iter().copied().chain(arg.location()).min()
            }
            Expr::RowCompare { left, .. } => left.first().and_then(Expr::location),
            Expr::Coalesce { location, .. }
            | Expr::MinMax { location, .. }
            | Expr::SqlValue { location, .. }
            | Expr::DomainValue { location, .. }
            | Expr::SetToDefault { location, .. }
            | Expr::MergeAction { location } => *location,
            Expr::SubPlan(_)
            | Expr::CaseTest { .. }
            | Expr::CurrentOf { .. }
            | Expr::NextValue { .. } => None,
        }
    }

    /// A boolean constant.
    pub fn bool_const(value: bool) -> Expr {
        Expr::Const(Const {
            ty: BOOL,
            typmod: -1,
            collation: Oid::INVALID,
            value: Datum::Bool(value),
            location: None,
        })
    }

    /// A null of this type.
    pub fn null_const(ty: Oid, typmod: i32, collation: Oid) -> Expr {
        Expr::Const(Const { ty, typmod, collation, value: Datum::Null, location: None })
    }
}

/// The smallest known position of a node and its operands.
fn leftmost(own: Location, args: &[Expr]) -> Location {
    own.into_iter().chain(args.first().and_then(Expr::location)).min()
}

/// The type modifier that all of these share, or -1.
fn common_typmod<'a>(mut args: impl Iterator<Item = &'a Expr>, ty: Oid) -> i32 {
    let Some(first) = args.next() else { return -1 };
    let typmod = first.typmod();
    if typmod < 0 || first.ty() != ty {
        return -1;
    }
    if args.all(|a| a.ty() == ty && a.typmod() == typmod) { typmod } else { -1 }
}

/// The type modifier that a cast such as `varchar(varchar, int4, bool)` applies.
fn length_coercion_typmod(f: &FuncExpr) -> i32 {
    match f.args.as_slice() {
        [_, Expr::Const(Const { ty: Oid(23), value: Datum::I32(n), .. })]
        | [_, Expr::Const(Const { ty: Oid(23), value: Datum::I32(n), .. }), _] => *n,
        _ => -1,
    }
}

impl SubPlan {
    /// Type of the value.
    pub fn result_type(&self) -> Oid {
        match self.kind {
            SubLinkKind::Expr | SubLinkKind::Array => self.ty,
            SubLinkKind::MultiExpr => Oid(2249),
            _ => BOOL,
        }
    }
}
