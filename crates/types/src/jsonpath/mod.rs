//! SQL/JSON paths: their syntax tree, parser and text form.
//!
//! A stored path is its canonical text; who evaluates it parses it again, once a call site.

mod lex;
mod parse;
mod write;

pub use parse::{check_patterns_by, parse};

use crate::numeric::Numeric;

/// How deep expressions may nest, so that no input exhausts the stack.
pub(crate) const DEPTH_MAX: usize = 2000;

/// A path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    /// Structure errors count as no result; arrays are unwrapped.
    pub lax: bool,
    /// The expression.
    pub expr: PathExpr,
}

/// A value or predicate and what is applied to it, one step after another.
#[derive(Clone, Debug, PartialEq)]
pub struct PathExpr {
    /// The start.
    pub head: Head,
    /// The steps.
    pub steps: Vec<Step>,
}

/// What an expression starts with.
#[derive(Clone, Debug, PartialEq)]
pub enum Head {
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    /// `$name`
    Variable(String),
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// a number
    Number(Numeric),
    /// a string
    String(String),
    /// `a + b`
    Arithmetic(Arith, Box<PathExpr>, Box<PathExpr>),
    /// `+a`, `-a`
    Signed(bool, Box<PathExpr>),
    /// `a == b`
    Compare(Cmp, Box<PathExpr>, Box<PathExpr>),
    /// `a && b`
    And(Box<PathExpr>, Box<PathExpr>),
    /// `a || b`
    Or(Box<PathExpr>, Box<PathExpr>),
    /// `!(a)`
    Not(Box<PathExpr>),
    /// `(a) is unknown`
    IsUnknown(Box<PathExpr>),
    /// `exists (a)`
    Exists(Box<PathExpr>),
    /// `a starts with b`
    StartsWith(Box<PathExpr>, Box<PathExpr>),
    /// `a like_regex "pattern" flag "flags"`
    LikeRegex(Box<PathExpr>, String, RegexFlags),
}

/// Flags of `like_regex`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RegexFlags {
    /// `i`
    pub ignore_case: bool,
    /// `s`
    pub dot_all: bool,
    /// `m`
    pub lines: bool,
    /// `x`
    pub expanded: bool,
    /// `q`
    pub quoted: bool,
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arith {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
}

impl Arith {
    /// As written.
    pub fn text(self) -> &'static str {
        match self {
            Arith::Add => "+",
            Arith::Sub => "-",
            Arith::Mul => "*",
            Arith::Div => "/",
            Arith::Mod => "%",
        }
    }
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cmp {
    /// `==`
    Eq,
    /// `!=`, `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Cmp {
    /// As written.
    pub fn text(self) -> &'static str {
        match self {
            Cmp::Eq => "==",
            Cmp::Ne => "!=",
            Cmp::Lt => "<",
            Cmp::Le => "<=",
            Cmp::Gt => ">",
            Cmp::Ge => ">=",
        }
    }
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `.key`
    Key(String),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyElement,
    /// `[a, b to c]`
    Elements(Vec<(PathExpr, Option<PathExpr>)>),
    /// `.**{first to last}`; `u32::MAX` is `last`.
    Any(u32, u32),
    /// `?(predicate)`
    Filter(Box<PathExpr>),
    /// `.name()`
    Method(Method),
    /// `.decimal(precision, scale)`
    Decimal(Option<Numeric>, Option<Numeric>),
    /// `.datetime(template)`
    Datetime(Option<String>),
    /// `.time(precision)` and its kind
    Temporal(Temporal, Option<Numeric>),
}

/// A method without arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Method {
    Type,
    Size,
    Abs,
    Floor,
    Ceiling,
    Double,
    KeyValue,
    BigInt,
    Boolean,
    Date,
    Integer,
    Number,
    String,
}

/// A method that makes a time, with a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Temporal {
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
}

/// Names of the methods.
pub const METHODS: [(&str, Method); 13] = [
    ("type", Method::Type),
    ("size", Method::Size),
    ("abs", Method::Abs),
    ("floor", Method::Floor),
    ("ceiling", Method::Ceiling),
    ("double", Method::Double),
    ("keyvalue", Method::KeyValue),
    ("bigint", Method::BigInt),
    ("boolean", Method::Boolean),
    ("date", Method::Date),
    ("integer", Method::Integer),
    ("number", Method::Number),
    ("string", Method::String),
];

/// Names of the methods that make a time.
pub const TEMPORALS: [(&str, Temporal); 4] = [
    ("time", Temporal::Time),
    ("time_tz", Temporal::TimeTz),
    ("timestamp", Temporal::Timestamp),
    ("timestamp_tz", Temporal::TimestampTz),
];

impl Method {
    /// As written.
    pub fn name(self) -> &'static str {
        METHODS.iter().find(|m| m.1 == self).map_or("", |m| m.0)
    }
}

impl Temporal {
    /// As written.
    pub fn name(self) -> &'static str {
        TEMPORALS.iter().find(|m| m.1 == self).map_or("", |m| m.0)
    }
}

impl PathExpr {
    /// A start without steps.
    pub fn of(head: Head) -> PathExpr {
        PathExpr { head, steps: Vec::new() }
    }

    /// Whether it is a predicate: what gives true, false or unknown.
    pub fn is_predicate(&self) -> bool {
        self.steps.is_empty()
            && matches!(
                self.head,
                Head::Compare(..)
                    | Head::And(..)
                    | Head::Or(..)
                    | Head::Not(_)
                    | Head::IsUnknown(_)
                    | Head::Exists(_)
                    | Head::StartsWith(..)
                    | Head::LikeRegex(..)
            )
    }
}
