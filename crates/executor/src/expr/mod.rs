//! Expression programs: an [`ir::Expr`] with everything that does not depend on the row found
//! beforehand. One program has two ways to run: over a batch of columns ([`batch`]) and over one
//! row ([`row`]). Both give the same values and the same errors; the batch way calls a function
//! only for rows that count, and the branches of CASE, AND, OR and COALESCE only for rows that
//! reach them.
//!
//! A program reads *one* input: the columns of its node's input, where a join's input is the
//! outer columns followed by the inner ones. [`VarMap`] says where a `Var` lies there.

pub(crate) mod agg;
pub(crate) mod batch;
pub(crate) mod coerce;
pub(crate) mod compare;
pub(crate) mod compile;
pub(crate) mod composite;
pub(crate) mod func;
pub(crate) mod json;
pub(crate) mod jsonb_path;
pub(crate) mod qual;
pub(crate) mod row;
pub(crate) mod subscript;
pub(crate) mod xml;

pub(crate) use compare::{Equality, Ordering_};
pub(crate) use compile::{ExprCompiler, VarMap, named};
pub(crate) use func::Call;
pub(crate) use qual::Qual;

use crate::subplan::SubPlanProg;
use base::Oid;
use ir::{BoolTestKind, SqlValueOp};
use types::{Batch, Datum, PhysType};

/// A compiled expression.
pub(crate) struct Prog {
    pub kind: Kind,
    /// How its values are held.
    pub phys: PhysType,
    pub ty: Oid,
    /// Some call in it is volatile, or runs a subplan: rows must be done one after another.
    pub volatile: bool,
    /// Some call in it may raise an error, or is costly: not to be done for rows that nobody
    /// asked for.
    pub fallible: bool,
}

/// What a program does.
pub(crate) enum Kind {
    Const(Datum),
    /// Column of the input.
    Col(u32),
    /// The whole row: these columns of the input as a record of this type.
    WholeRow(Box<composite::RowProg>),
    ExternParam(u32),
    ExecParam(u32),
    Call(Box<Call>),
    /// IS DISTINCT FROM, by an equality.
    Distinct(Box<Call>),
    NullIf(Box<Call>),
    And(Vec<Prog>),
    Or(Vec<Prog>),
    Not(Box<Prog>),
    Case(Box<CaseProg>),
    /// The operand of the CASE or the element of the array coercion around it.
    CaseTest,
    Coalesce(Vec<Prog>),
    /// The same bytes held as another type's.
    Reinterpret(Box<Prog>),
    MinMax(Box<MinMaxProg>),
    NullTest {
        is_null: bool,
        arg: Box<Prog>,
    },
    /// IS [NOT] NULL of a row: every field is asked.
    RowNullTest {
        is_null: bool,
        arg: Box<Prog>,
    },
    BoolTest {
        kind: BoolTestKind,
        arg: Box<Prog>,
    },
    AnyAll(Box<AnyAllProg>),
    RowCompare(Box<composite::RowCompareProg>),
    Array(Box<composite::ArrayProg>),
    Row(Box<composite::RowProg>),
    FieldSelect(Box<composite::FieldSelectProg>),
    FieldStore(Box<composite::FieldStoreProg>),
    Subscript(Box<subscript::SubscriptProg>),
    ConvertRow(Box<composite::ConvertRowProg>),
    ViaIo(Box<coerce::ViaIo>),
    ArrayCoerce(Box<coerce::ArrayCoerceProg>),
    Domain(Box<coerce::DomainProg>),
    DomainValue,
    SubPlan(Box<SubPlanProg>),
    SqlValue(SqlValueOp, i32),
    NextValue(Oid),
    /// `MERGE_ACTION()`
    MergeAction,
    Json(Box<json::JsonProg>),
    Xml(Box<xml::XmlProg>),
}

/// CASE. With an operand it is evaluated once and the conditions read it as `CaseTest`.
pub(crate) struct CaseProg {
    pub arg: Option<Prog>,
    pub whens: Vec<(Prog, Prog)>,
    pub default: Prog,
}

/// GREATEST and LEAST.
pub(crate) struct MinMaxProg {
    pub greatest: bool,
    pub order: Ordering_,
    pub args: Vec<Prog>,
}

/// `scalar op ANY (array)`.
pub(crate) struct AnyAllProg {
    pub call: Call,
    pub use_or: bool,
    /// With a constant array and `=`: its elements, and whether one is null.
    pub set: Option<ValueSet>,
    /// How elements are held in the array.
    pub element: composite::Element,
}

/// A constant list as a hash set.
pub(crate) struct ValueSet {
    pub ints: Option<hashbrown::HashSet<i64, foldhash::fast::FixedState>>,
    pub values: Vec<Datum>,
    pub has_null: bool,
}

/// Where the input of a program is, for one row.
#[derive(Clone, Copy)]
pub(crate) enum RowInput<'a> {
    None,
    Row(&'a [Datum]),
    Batch(&'a Batch, usize),
    /// Columns of the first, then those of the second.
    Pair(&'a Batch, usize, &'a Batch, usize),
}

impl RowInput<'_> {
    #[inline]
    pub fn get(&self, column: usize) -> Datum {
        match self {
            RowInput::None => Datum::Null,
            RowInput::Row(r) => r[column].clone(),
            RowInput::Batch(b, i) => b.columns[column].get(*i),
            RowInput::Pair(a, i, b, j) => {
                let n = a.columns.len();
                if column < n { a.columns[column].get(*i) } else { b.columns[column - n].get(*j) }
            }
        }
    }
}

impl Prog {
    /// A program that gives a column of the input.
    pub fn column(index: usize, ty: Oid, phys: PhysType) -> Prog {
        Prog { kind: Kind::Col(index as u32), phys, ty, volatile: false, fallible: false }
    }

    /// A program that gives a constant.
    pub fn constant(value: Datum, ty: Oid, phys: PhysType) -> Prog {
        Prog { kind: Kind::Const(value), phys, ty, volatile: false, fallible: false }
    }

    /// The column it gives, if that is all it does.
    pub fn as_column(&self) -> Option<usize> {
        match self.kind {
            Kind::Col(c) => Some(c as usize),
            _ => None,
        }
    }

    /// True if its value is the same for all rows of a run (though not known before it).
    pub fn is_run_constant(&self) -> bool {
        matches!(self.kind, Kind::Const(_) | Kind::ExternParam(_) | Kind::ExecParam(_))
    }
}
