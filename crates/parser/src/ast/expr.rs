//! Expressions, names and type names.

use super::{Pos, SelectStmt, SortBy, WindowDef};
use std::borrow::Cow;

/// A possibly qualified name of anything but a relation: `schema.name`, outermost part first.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The parts; never empty.
    pub parts: Vec<String>,
    /// Where its first part starts.
    pub pos: Pos,
}

impl Name {
    /// The last part.
    pub fn last(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }

    /// `pg_catalog.name`, as the grammar makes for built-in syntax.
    pub fn system(name: &str, pos: Pos) -> Name {
        Name { parts: vec!["pg_catalog".into(), name.into()], pos }
    }
}

/// A name with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    /// The name.
    pub name: String,
    /// Where it starts.
    pub pos: Pos,
}

/// The name of an operator; `schema` is empty unless `OPERATOR(schema.op)` was written.
#[derive(Clone, Debug, PartialEq)]
pub struct OpName {
    /// Qualification.
    pub schema: Vec<String>,
    /// The operator; `<>` also for `!=`.
    pub name: Cow<'static, str>,
    /// Where it stands.
    pub pos: Pos,
}

/// The name of a relation.
#[derive(Clone, Debug, PartialEq)]
pub struct RelName {
    /// The database, if written.
    pub catalog: Option<String>,
    /// The schema, if written.
    pub schema: Option<String>,
    /// The relation.
    pub name: String,
    /// Where it starts.
    pub pos: Pos,
}

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// The name; built-in syntax gives `pg_catalog.int4` and the like.
    pub names: Vec<String>,
    /// `SETOF`.
    pub setof: bool,
    /// `name%TYPE`: the type of that column.
    pub pct_type: bool,
    /// The modifiers in parentheses. For interval: the field mask, then the precision.
    pub typmods: Vec<Expr>,
    /// One entry a `[]`; -1 without a bound.
    pub array_bounds: Vec<i32>,
    /// Where it starts.
    pub pos: Pos,
}

/// An expression with its place (that of PostgreSQL's error cursor: an operator's for an
/// operator, else where the expression starts).
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it is.
    pub pos: Pos,
}

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// Fits in int4.
    Integer(i32),
    /// Any other number, as written (also 0x.., 1_000).
    Float(String),
    /// A string.
    String(String),
    /// `b0101` or `x1F`: the letter, then the digits.
    BitString(String),
    /// TRUE, FALSE.
    Boolean(bool),
    /// NULL.
    Null,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A literal.
    Literal(Literal),
    /// A column, or a longer dotted name; `star` for a trailing `.*` or a lone `*`.
    Column {
        /// Parts before the star.
        parts: Vec<String>,
        /// Ends in `*`.
        star: bool,
    },
    /// `$n`.
    Param(u32),
    /// `CAST(e AS t)`, `e::t`, `t 'literal'`.
    Cast {
        /// The operand.
        expr: Box<Expr>,
        /// The target.
        type_name: Box<TypeName>,
    },
    /// `e COLLATE name`.
    Collate {
        /// The operand.
        expr: Box<Expr>,
        /// The collation.
        collation: Name,
    },
    /// A prefix (`left` none) or infix operator.
    Op {
        /// Its name.
        op: OpName,
        /// The left operand.
        left: Option<Box<Expr>>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `e op ANY|ALL (array)`.
    OpAny {
        /// The operator.
        op: OpName,
        /// The scalar.
        left: Box<Expr>,
        /// The array.
        right: Box<Expr>,
        /// ALL instead of ANY / SOME.
        all: bool,
    },
    /// Two or more operands.
    And(Vec<Expr>),
    /// Two or more operands.
    Or(Vec<Expr>),
    /// NOT e.
    Not(Box<Expr>),
    /// A subquery within an expression.
    Sublink(Box<Sublink>),
    /// `e [NOT] IN (list)`.
    In {
        /// The operand.
        expr: Box<Expr>,
        /// What to look among.
        list: Vec<Expr>,
        /// NOT IN.
        negated: bool,
    },
    /// `e [NOT] LIKE p [ESCAPE c]` and its kin.
    Like {
        /// Which.
        kind: LikeKind,
        /// NOT.
        negated: bool,
        /// The operand.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// ESCAPE.
        escape: Option<Box<Expr>>,
    },
    /// `e [NOT] BETWEEN [SYMMETRIC] low AND high`.
    Between {
        /// NOT.
        negated: bool,
        /// SYMMETRIC.
        symmetric: bool,
        /// The operand.
        expr: Box<Expr>,
        /// The lower bound.
        low: Box<Expr>,
        /// The upper bound.
        high: Box<Expr>,
    },
    /// `e IS [NOT] NULL`.
    IsNull {
        /// The operand.
        expr: Box<Expr>,
        /// NOT.
        negated: bool,
    },
    /// `e IS [NOT] TRUE | FALSE | UNKNOWN`.
    IsBool {
        /// The operand.
        expr: Box<Expr>,
        /// Which; none is UNKNOWN.
        value: Option<bool>,
        /// NOT.
        negated: bool,
    },
    /// `a IS [NOT] DISTINCT FROM b`.
    IsDistinct {
        /// Left.
        left: Box<Expr>,
        /// Right.
        right: Box<Expr>,
        /// NOT.
        negated: bool,
    },
    /// `e IS [NOT] DOCUMENT`.
    IsDocument {
        /// The operand.
        expr: Box<Expr>,
        /// NOT.
        negated: bool,
    },
    /// `e IS [NOT] JSON ...`.
    IsJson {
        /// The operand.
        expr: Box<Expr>,
        /// VALUE (the default), ARRAY, OBJECT or SCALAR.
        kind: JsonKind,
        /// WITH UNIQUE KEYS.
        unique_keys: bool,
        /// NOT.
        negated: bool,
    },
    /// CASE.
    Case {
        /// `CASE arg WHEN ..`.
        arg: Option<Box<Expr>>,
        /// WHEN, THEN.
        whens: Vec<CaseWhen>,
        /// ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// COALESCE.
    Coalesce(Vec<Expr>),
    /// GREATEST (true) or LEAST.
    MinMax {
        /// GREATEST.
        greatest: bool,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// NULLIF.
    NullIf(Box<Expr>, Box<Expr>),
    /// `ARRAY[..]`; nested lists without the word are of this kind as well.
    Array(Vec<Expr>),
    /// `ROW(..)` or `(a, b)`.
    Row {
        /// The fields.
        fields: Vec<Expr>,
        /// The word ROW was written.
        explicit: bool,
    },
    /// A function call.
    Func(Box<FuncCall>),
    /// CURRENT_DATE and its kin.
    SqlValue {
        /// Which.
        kind: SqlValueKind,
        /// The precision in parentheses.
        precision: Option<i32>,
    },
    /// Subscripts, fields and `.*` after something that is not a plain name.
    Indirection {
        /// The base.
        expr: Box<Expr>,
        /// The steps.
        steps: Vec<Indirection>,
    },
    /// GROUPING(..).
    Grouping(Vec<Expr>),
    /// `name => value` as an argument.
    NamedArg {
        /// The argument's name.
        name: String,
        /// The value.
        value: Box<Expr>,
    },
    /// `CURRENT OF cursor`; the whole of a WHERE clause.
    CurrentOf(CursorRef),
    /// DEFAULT, where a statement allows it.
    Default,
    /// MERGE_ACTION().
    MergeAction,
    /// XML syntax.
    Xml(Box<XmlExpr>),
    /// JSON syntax.
    Json(Box<JsonExpr>),
}

/// A cursor by name or by parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum CursorRef {
    /// By name.
    Name(String),
    /// `$n`.
    Param(u32),
}

/// WHEN .. THEN ..
#[derive(Clone, Debug, PartialEq)]
pub struct CaseWhen {
    /// The condition.
    pub when: Expr,
    /// The result.
    pub then: Expr,
    /// Where WHEN stands.
    pub pos: Pos,
}

/// Pattern matching operators of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LikeKind {
    Like,
    ILike,
    SimilarTo,
}

/// A subquery in an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Sublink {
    /// What is asked of it.
    pub kind: SublinkKind,
    /// The query.
    pub query: SelectStmt,
}

/// What is asked of a subquery.
#[derive(Clone, Debug, PartialEq)]
pub enum SublinkKind {
    /// EXISTS (..).
    Exists,
    /// `(..)` as a value.
    Scalar,
    /// ARRAY(..).
    Array,
    /// `e op ANY (..)`; `op` is none for IN. NOT IN is a `Not` around it.
    Any {
        /// The left side.
        left: Expr,
        /// The operator.
        op: Option<OpName>,
    },
    /// `e op ALL (..)`.
    All {
        /// The left side.
        left: Expr,
        /// The operator.
        op: OpName,
    },
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Indirection {
    /// `.name`.
    Field(String, Pos),
    /// `.*`.
    Star(Pos),
    /// `[i]`.
    Index(Expr),
    /// `[l:u]`.
    Slice(Option<Expr>, Option<Expr>),
}

/// A function call with everything that may follow it.
#[derive(Clone, Debug, PartialEq)]
pub struct FuncCall {
    /// The function.
    pub name: Name,
    /// The arguments; `NamedArg` among them for named ones.
    pub args: Vec<Expr>,
    /// `f(*)`.
    pub star: bool,
    /// DISTINCT.
    pub distinct: bool,
    /// The last argument is marked VARIADIC.
    pub variadic: bool,
    /// ORDER BY within the parentheses or, with `within_group`, after WITHIN GROUP.
    pub order_by: Vec<SortBy>,
    /// WITHIN GROUP was written.
    pub within_group: bool,
    /// FILTER (WHERE ..).
    pub filter: Option<Box<Expr>>,
    /// OVER.
    pub over: Option<Box<WindowDef>>,
    /// Came from special syntax (EXTRACT, AT TIME ZONE, ...), to be shown as such.
    pub sql_syntax: bool,
}

impl FuncCall {
    /// A plain call.
    pub fn new(name: Name, args: Vec<Expr>) -> FuncCall {
        FuncCall {
            name,
            args,
            star: false,
            distinct: false,
            variadic: false,
            order_by: Vec::new(),
            within_group: false,
            filter: None,
            over: None,
            sql_syntax: false,
        }
    }
}

/// Functions that SQL writes without parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SqlValueKind {
    CurrentDate,
    CurrentTime,
    CurrentTimestamp,
    LocalTime,
    LocalTimestamp,
    CurrentRole,
    CurrentUser,
    User,
    SessionUser,
    SystemUser,
    CurrentCatalog,
    CurrentSchema,
}

/// XML syntax.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum XmlExpr {
    Concat(Vec<Expr>),
    Element { name: String, attributes: Vec<XmlAttr>, content: Vec<Expr> },
    Forest(Vec<XmlAttr>),
    Parse { document: bool, arg: Expr, preserve_whitespace: bool },
    Pi { name: String, arg: Option<Expr> },
    Root { arg: Expr, version: Option<Expr>, standalone: XmlStandalone },
    Serialize { document: bool, arg: Expr, type_name: TypeName, indent: bool },
    Exists { path: Expr, arg: Expr },
}

/// `value [AS name]`.
#[derive(Clone, Debug, PartialEq)]
pub struct XmlAttr {
    /// The value.
    pub expr: Expr,
    /// The name.
    pub name: Option<String>,
    /// Where it starts.
    pub pos: Pos,
}

/// STANDALONE of XMLROOT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum XmlStandalone {
    Yes,
    No,
    NoValue,
    Omitted,
}

/// What IS JSON asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JsonKind {
    Value,
    Array,
    Object,
    Scalar,
}

/// FORMAT JSON [ENCODING x].
#[derive(Clone, Debug, PartialEq)]
pub struct JsonFormat {
    /// ENCODING.
    pub encoding: Option<String>,
    /// Where FORMAT stands.
    pub pos: Pos,
}

/// `expr [FORMAT JSON]`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonValue {
    /// The value.
    pub expr: Expr,
    /// FORMAT.
    pub format: Option<JsonFormat>,
}

/// RETURNING type [FORMAT JSON].
#[derive(Clone, Debug, PartialEq)]
pub struct JsonReturning {
    /// The type.
    pub type_name: TypeName,
    /// FORMAT.
    pub format: Option<JsonFormat>,
}

/// What to do ON EMPTY or ON ERROR.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonBehavior {
    /// DEFAULT expr.
    Default(Expr),
    /// ERROR.
    Error(Pos),
    /// NULL.
    Null(Pos),
    /// TRUE.
    True(Pos),
    /// FALSE.
    False(Pos),
    /// UNKNOWN.
    Unknown(Pos),
    /// EMPTY.
    Empty(Pos),
    /// EMPTY ARRAY.
    EmptyArray(Pos),
    /// EMPTY OBJECT.
    EmptyObject(Pos),
}

/// WRAPPER of JSON_QUERY and JSON_TABLE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JsonWrapper {
    Unspecified,
    Without,
    Conditional,
    Unconditional,
}

/// QUOTES of JSON_QUERY and JSON_TABLE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JsonQuotes {
    Unspecified,
    Keep,
    Omit,
}

/// `value [AS name]` of PASSING.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonArgument {
    /// The value.
    pub value: JsonValue,
    /// The variable.
    pub name: String,
}

/// Which SQL/JSON query function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JsonFuncKind {
    Exists,
    Query,
    Value,
    Table,
}

/// JSON_EXISTS, JSON_QUERY, JSON_VALUE.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonFunc {
    /// Which.
    pub kind: JsonFuncKind,
    /// The document.
    pub context: JsonValue,
    /// The path.
    pub path: Expr,
    /// PASSING.
    pub passing: Vec<JsonArgument>,
    /// RETURNING.
    pub returning: Option<JsonReturning>,
    /// ON EMPTY.
    pub on_empty: Option<JsonBehavior>,
    /// ON ERROR.
    pub on_error: Option<JsonBehavior>,
    /// WRAPPER.
    pub wrapper: JsonWrapper,
    /// QUOTES.
    pub quotes: JsonQuotes,
}

/// JSON syntax.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum JsonExpr {
    /// JSON_OBJECT(k: v, ..).
    Object {
        pairs: Vec<(Expr, JsonValue)>,
        absent_on_null: bool,
        unique_keys: bool,
        returning: Option<JsonReturning>,
    },
    /// JSON_ARRAY(v, ..).
    Array { values: Vec<JsonValue>, absent_on_null: bool, returning: Option<JsonReturning> },
    /// JSON_ARRAY(query).
    ArrayQuery {
        query: SelectStmt,
        format: Option<JsonFormat>,
        absent_on_null: bool,
        returning: Option<JsonReturning>,
    },
    /// JSON_OBJECTAGG(k: v).
    ObjectAgg {
        key: Expr,
        value: JsonValue,
        absent_on_null: bool,
        unique_keys: bool,
        returning: Option<JsonReturning>,
        filter: Option<Expr>,
        over: Option<WindowDef>,
    },
    /// JSON_ARRAYAGG(v).
    ArrayAgg {
        value: JsonValue,
        order_by: Vec<SortBy>,
        absent_on_null: bool,
        returning: Option<JsonReturning>,
        filter: Option<Expr>,
        over: Option<WindowDef>,
    },
    /// JSON(v).
    Parse { value: JsonValue, unique_keys: bool },
    /// JSON_SCALAR(v).
    Scalar(Expr),
    /// JSON_SERIALIZE(v).
    Serialize { value: JsonValue, returning: Option<JsonReturning> },
    /// JSON_EXISTS, JSON_QUERY, JSON_VALUE.
    Func(JsonFunc),
}

impl Expr {
    /// Where the expression's text starts: the leftmost place of it and its operands.
    pub fn location(&self) -> Pos {
        let first = match &self.kind {
            ExprKind::Op { left: Some(e), .. }
            | ExprKind::OpAny { left: e, .. }
            | ExprKind::In { expr: e, .. }
            | ExprKind::Like { expr: e, .. }
            | ExprKind::Between { expr: e, .. }
            | ExprKind::IsNull { expr: e, .. }
            | ExprKind::IsBool { expr: e, .. }
            | ExprKind::IsDistinct { left: e, .. }
            | ExprKind::IsDocument { expr: e, .. }
            | ExprKind::IsJson { expr: e, .. }
            | ExprKind::Not(e)
            | ExprKind::Cast { expr: e, .. } => Some(&**e),
            ExprKind::Collate { expr, .. } | ExprKind::Indirection { expr, .. } => {
                return expr.location();
            }
            ExprKind::And(list) | ExprKind::Or(list) => list.first(),
            ExprKind::Func(call) => {
                return call.args.iter().map(Expr::location).fold(self.pos, Pos::min);
            }
            ExprKind::Sublink(link) => match &link.kind {
                SublinkKind::Any { left, .. } | SublinkKind::All { left, .. } => Some(left),
                _ => None,
            },
            _ => None,
        };
        // NO_POS is the greatest, so an operand of the grammar's own never wins.
        first.map_or(self.pos, |e| e.location().min(self.pos))
    }
}
