//! SQL/JSON: constructors, IS JSON, query functions and JSON_TABLE.

use crate::expr::{Expr, Location};
use base::Oid;
use serde::{Deserialize, Serialize};

/// FORMAT JSON of a value or of RETURNING.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsonFormat {
    Default,
    Json,
    /// With ENCODING UTF8.
    JsonUtf8,
}

/// What IS JSON asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsonKind {
    Value,
    Array,
    Object,
    Scalar,
}

/// Which query function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsonQueryKind {
    Exists,
    Query,
    Value,
}

/// WRAPPER of JSON_QUERY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsonWrapper {
    None,
    Conditional,
    Unconditional,
}

/// What ON EMPTY or ON ERROR does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsonBehaviorKind {
    Null,
    Error,
    Empty,
    True,
    False,
    Unknown,
    EmptyArray,
    EmptyObject,
    Default,
}

impl JsonBehaviorKind {
    /// As written.
    pub fn text(self) -> &'static str {
        match self {
            JsonBehaviorKind::Null => "NULL",
            JsonBehaviorKind::Error => "ERROR",
            JsonBehaviorKind::Empty => "EMPTY",
            JsonBehaviorKind::True => "TRUE",
            JsonBehaviorKind::False => "FALSE",
            JsonBehaviorKind::Unknown => "UNKNOWN",
            JsonBehaviorKind::EmptyArray => "EMPTY ARRAY",
            JsonBehaviorKind::EmptyObject => "EMPTY OBJECT",
            JsonBehaviorKind::Default => "DEFAULT",
        }
    }
}

/// ON EMPTY or ON ERROR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonBehavior {
    pub kind: JsonBehaviorKind,
    /// Which operand DEFAULT's expression is.
    pub arg: Option<u32>,
}

/// JSON_EXISTS, JSON_QUERY or JSON_VALUE. Operands: the document (jsonb), the path (jsonpath),
/// the values of PASSING, then the expressions of DEFAULT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JsonQuery {
    pub kind: JsonQueryKind,
    /// Names of the values of PASSING.
    pub names: Vec<String>,
    pub wrapper: JsonWrapper,
    pub omit_quotes: bool,
    pub on_empty: Option<JsonBehavior>,
    pub on_error: JsonBehavior,
    /// The column of JSON_TABLE that it computes.
    pub column: Option<String>,
}

/// A column of JSON_TABLE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JsonTableColumn {
    pub name: String,
    pub ty: Oid,
    pub typmod: i32,
    pub collation: Oid,
    /// Which of the inner expressions computes it; none is FOR ORDINALITY.
    pub value: Option<u32>,
    /// The type is of the category of strings.
    pub string: bool,
}

/// The rows of one path of JSON_TABLE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JsonTablePath {
    pub name: String,
    /// The path in its canonical text.
    pub path: String,
    /// The columns of this level: from this one, up to that one.
    pub columns: (u32, u32),
    pub nested: Vec<JsonTablePath>,
}

/// JSON_TABLE. Operands: the document, then the values of PASSING; the columns' expressions are
/// inner ones, to which the row is the test value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JsonTable {
    pub names: Vec<String>,
    pub columns: Vec<JsonTableColumn>,
    pub root: JsonTablePath,
    pub error_on_error: bool,
}

/// What a [`JsonExpr`] does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum JsonOp {
    /// A value with FORMAT JSON: the operand as it was written; the inner expression reads it.
    Formatted,
    /// Operands: key, value, key, value.
    Object {
        absent_on_null: bool,
        unique: bool,
    },
    Array {
        absent_on_null: bool,
    },
    /// Operand: the aggregate or window function.
    ObjectAgg {
        absent_on_null: bool,
        unique: bool,
    },
    ArrayAgg {
        absent_on_null: bool,
    },
    /// JSON().
    Parse {
        unique: bool,
    },
    Scalar,
    Serialize,
    IsJson {
        kind: JsonKind,
        unique: bool,
    },
    Query(Box<JsonQuery>),
    Table(Box<JsonTable>),
}

/// An expression of SQL/JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JsonExpr {
    pub op: JsonOp,
    pub args: Vec<Expr>,
    /// Expressions over a test value of their own: the coercion of the result to RETURNING's
    /// type, or the columns of JSON_TABLE.
    pub inner: Vec<Expr>,
    pub ty: Oid,
    pub typmod: i32,
    pub collation: Oid,
    /// FORMAT of the value or of RETURNING.
    pub format: JsonFormat,
    pub location: Location,
}
