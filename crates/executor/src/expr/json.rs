//! SQL/JSON: constructors, IS JSON, query functions and the rows of JSON_TABLE.

use super::{ExprCompiler, Kind, Prog, RowInput, VarMap};
use crate::run::{CaseValue, Run};
use base::{Oid, Result, err};
use functions::sqljson::{self, Found, Passed, QueryKind, QuerySpec, Shape, Wrapper};
use functions::{CallInfo, FnCtx};
use ir::{JsonBehavior, JsonBehaviorKind, JsonExpr, JsonOp, JsonQuery, JsonTablePath};
use types::json::Json;
use types::jsonpath::JsonPath;
use types::{Datum, oid};

/// An expression of SQL/JSON, compiled.
pub(crate) struct JsonProg {
    op: JsonOp,
    args: Vec<Prog>,
    inner: Vec<Prog>,
    /// A constructor makes jsonb.
    jsonb: bool,
    spec: QuerySpec,
    paths: Option<TablePath>,
    info: CallInfo,
    state: u32,
}

/// A path of JSON_TABLE with those nested in it.
struct TablePath {
    path: JsonPath,
    columns: (usize, usize),
    nested: Vec<TablePath>,
}

impl TablePath {
    fn compile(p: &JsonTablePath) -> Result<TablePath> {
        Ok(TablePath {
            path: types::jsonpath::parse(&p.path)?,
            columns: (p.columns.0 as usize, p.columns.1 as usize),
            nested: p.nested.iter().map(TablePath::compile).collect::<Result<_>>()?,
        })
    }
}

fn spec(j: &JsonExpr) -> QuerySpec {
    let mut spec = QuerySpec {
        kind: QueryKind::Value,
        wrapper: Wrapper::None,
        omit_quotes: false,
        ty: j.ty,
        typmod: j.typmod,
        column: None,
    };
    if let JsonOp::Query(q) = &j.op {
        spec.kind = match q.kind {
            ir::JsonQueryKind::Exists => QueryKind::Exists,
            ir::JsonQueryKind::Query => QueryKind::Query,
            ir::JsonQueryKind::Value => QueryKind::Value,
        };
        spec.wrapper = match q.wrapper {
            ir::JsonWrapper::None => Wrapper::None,
            ir::JsonWrapper::Conditional => Wrapper::Conditional,
            ir::JsonWrapper::Unconditional => Wrapper::Unconditional,
        };
        spec.omit_quotes = q.omit_quotes;
        spec.column = q.column.clone();
    }
    spec
}

/// The type under domains.
fn base_type(c: &ExprCompiler, ty: Oid) -> Result<Oid> {
    let t = c.catalog.type_(ty)?;
    if t.kind == b'd' { base_type(c, t.base_type) } else { Ok(ty) }
}

impl JsonProg {
    pub fn compile(c: &mut ExprCompiler, j: &JsonExpr, map: &VarMap) -> Result<JsonProg> {
        let args = c.list(&j.args, map)?;
        let inner = c.list(&j.inner, map)?;
        c.call_states += 1;
        let info = CallInfo {
            arg_types: j.args.iter().map(ir::Expr::ty).collect(),
            ret_type: j.ty,
            ret_typmod: j.typmod,
            ..CallInfo::default()
        };
        let paths = match &j.op {
            JsonOp::Table(t) => Some(TablePath::compile(&t.root)?),
            _ => None,
        };
        Ok(JsonProg {
            jsonb: base_type(c, j.ty)? == oid::JSONB,
            spec: spec(j),
            op: j.op.clone(),
            args,
            inner,
            paths,
            info,
            state: c.call_states - 1,
        })
    }

    /// Whether something in it must be computed row by row.
    pub fn is_volatile(&self) -> bool {
        self.args.iter().chain(&self.inner).any(|p| p.volatile)
    }

    fn with_cx<R>(&self, run: &mut Run, f: impl FnOnce(&mut FnCtx) -> R) -> R {
        let env = run.env;
        let state = run.call_state(self.state);
        f(&mut FnCtx { env, call: &self.info, state })
    }

    fn typed(&self, run: &mut Run, input: RowInput<'_>, from: usize) -> Result<Vec<(Oid, Datum)>> {
        let args = self.args[from..].iter();
        args.map(|a| Ok((a.ty, a.eval(run, input)?))).collect()
    }

    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let made = match &self.op {
            JsonOp::Object { absent_on_null, unique } => {
                let pairs = self.typed(run, input, 0)?;
                let jsonb = self.jsonb;
                self.with_cx(run, |cx| {
                    sqljson::object(cx, &pairs, jsonb, *absent_on_null, *unique)
                })?
            }
            JsonOp::Array { absent_on_null } => {
                let values = self.typed(run, input, 0)?;
                self.with_cx(run, |cx| sqljson::array(cx, &values, self.jsonb, *absent_on_null))?
            }
            JsonOp::Scalar => {
                let value = (self.args[0].ty, self.args[0].eval(run, input)?);
                self.with_cx(run, |cx| sqljson::scalar(cx, &value))?
            }
            JsonOp::Parse { unique: true } => {
                sqljson::parse_unique(&self.args[0].eval(run, input)?)?
            }
            JsonOp::IsJson { kind, unique } => {
                let value = self.args[0].eval(run, input)?;
                if value.is_null() {
                    return Ok(Datum::Null);
                }
                let shape = match kind {
                    ir::JsonKind::Value => Shape::Value,
                    ir::JsonKind::Array => Shape::Array,
                    ir::JsonKind::Object => Shape::Object,
                    ir::JsonKind::Scalar => Shape::Scalar,
                };
                return sqljson::is_json(self.args[0].ty, &value, shape, *unique).map(Datum::Bool);
            }
            JsonOp::Query(q) => {
                let document = self.args[0].eval(run, input)?;
                return self.query(run, input, q, document, None);
            }
            JsonOp::Table(_) => return Err(base::Error::unsupported("JSON_TABLE here")),
            _ => self.args[0].eval(run, input)?,
        };
        match self.inner.first() {
            Some(coercion) => {
                run.case.push(CaseValue::One(made));
                let result = coercion.eval(run, RowInput::None);
                run.case.pop();
                result
            }
            None => Ok(made),
        }
    }

    fn query(
        &self,
        run: &mut Run,
        input: RowInput<'_>,
        q: &JsonQuery,
        document: Datum,
        passed: Option<&Passed>,
    ) -> Result<Datum> {
        let path = self.args[1].eval(run, input)?;
        if document.is_null() || path.is_null() {
            return Ok(Datum::Null);
        }
        let own;
        let passed = match passed {
            Some(p) => p,
            None => {
                let last = 2 + q.names.len();
                let mut values = Vec::with_capacity(q.names.len());
                for arg in &self.args[2..last] {
                    values.push((arg.ty, arg.eval(run, input)?));
                }
                own = self.with_cx(run, |cx| Passed::new(cx, &q.names, &values))?;
                &own
            }
        };
        let spec = &self.spec;
        let found = self.with_cx(run, |cx| {
            let path = sqljson::path(cx, &path)?;
            sqljson::query(cx, spec, &document, &path, passed)
        })?;
        let raised = q.on_error.kind == JsonBehaviorKind::Error;
        match found {
            Found::Empty => match &q.on_empty {
                Some(JsonBehavior { kind: JsonBehaviorKind::Error, .. }) => {
                    Err(sqljson::empty_error(spec))
                }
                Some(b) => self.behavior(run, input, b, "EMPTY", raised),
                None => Ok(Datum::Null),
            },
            Found::Failed(e) if raised => Err(e),
            Found::Failed(_) => self.behavior(run, input, &q.on_error, "ERROR", raised),
            Found::Item(item) => match self.with_cx(run, |cx| sqljson::coerce(cx, spec, item)) {
                Err(e) if !raised && sqljson::is_soft(&e) => {
                    self.behavior(run, input, &q.on_error, "ERROR", raised)
                }
                result => result,
            },
        }
    }

    /// The value of ON EMPTY or ON ERROR.
    fn behavior(
        &self,
        run: &mut Run,
        input: RowInput<'_>,
        b: &JsonBehavior,
        word: &str,
        raised: bool,
    ) -> Result<Datum> {
        let json = match (b.kind, b.arg) {
            (JsonBehaviorKind::True, _) => Some(Json::Bool(true)),
            (JsonBehaviorKind::False, _) => Some(Json::Bool(false)),
            (JsonBehaviorKind::EmptyArray, _) => Some(Json::Array(Vec::new())),
            (JsonBehaviorKind::EmptyObject, _) => Some(Json::Object(Vec::new())),
            (JsonBehaviorKind::Default, Some(arg)) => {
                let arg = &self.args[arg as usize];
                let value = match arg.eval(run, input) {
                    Err(e) if !raised && e.code().as_str().starts_with("23") => {
                        return Err(not_coerced(&e, b.kind, word));
                    }
                    other => other?,
                };
                if arg.ty != oid::JSONB || self.spec.ty == oid::JSONB || value.is_null() {
                    return Ok(value);
                }
                Some(types::json::decode(value.as_bytes()))
            }
            _ => None,
        };
        let spec = &self.spec;
        let made = self.with_cx(run, |cx| match &json {
            Some(json) => sqljson::coerce_behavior(cx, spec, json),
            None => sqljson::check_null(cx, spec.ty),
        });
        made.map_err(|e| if raised { e } else { not_coerced(&e, b.kind, word) })
    }

    /// The rows of JSON_TABLE.
    pub fn rows(&self, run: &mut Run) -> Result<Vec<Vec<Datum>>> {
        let (JsonOp::Table(table), Some(root)) = (&self.op, &self.paths) else {
            return Ok(Vec::new());
        };
        let document = self.args[0].eval(run, RowInput::None)?;
        if document.is_null() {
            return Ok(Vec::new());
        }
        let values = self.typed(run, RowInput::None, 1)?;
        let passed = self.with_cx(run, |cx| Passed::new(cx, &table.names, &values))?;
        self.level(run, table, root, &document, &passed)
    }

    fn level(
        &self,
        run: &mut Run,
        table: &ir::JsonTable,
        at: &TablePath,
        document: &Datum,
        passed: &Passed,
    ) -> Result<Vec<Vec<Datum>>> {
        run.check_interrupts()?;
        let (items, failed) =
            self.with_cx(run, |cx| sqljson::table_rows(cx, document, &at.path, passed))?;
        if let Some(e) = failed {
            return if table.error_on_error { Err(e) } else { Ok(Vec::new()) };
        }
        let mut rows = Vec::new();
        for (n, item) in items.into_iter().enumerate() {
            let mut row = vec![Datum::Null; table.columns.len()];
            let columns = at.columns.0..at.columns.1;
            for (slot, column) in row[columns.clone()].iter_mut().zip(&table.columns[columns]) {
                *slot = match column.value {
                    None => Datum::I32(n as i32 + 1),
                    Some(k) => self.column(run, k as usize, &item, passed)?,
                };
            }
            let mut any = false;
            for nested in &at.nested {
                for below in self.level(run, table, nested, &item, passed)? {
                    let mut joined = row.clone();
                    for (to, from) in joined.iter_mut().zip(below) {
                        if !from.is_null() {
                            *to = from;
                        }
                    }
                    rows.push(joined);
                    any = true;
                }
            }
            if !any {
                rows.push(row);
            }
        }
        Ok(rows)
    }

    fn column(&self, run: &mut Run, k: usize, item: &Datum, passed: &Passed) -> Result<Datum> {
        let Kind::Json(column) = &self.inner[k].kind else { return Ok(Datum::Null) };
        let JsonOp::Query(q) = &column.op else { return Ok(Datum::Null) };
        column.query(run, RowInput::None, q, item.clone(), Some(passed))
    }
}

fn not_coerced(e: &base::Error, kind: JsonBehaviorKind, word: &str) -> base::Error {
    err!(
        DATATYPE_MISMATCH,
        "could not coerce ON {word} expression ({}) to the RETURNING type",
        kind.text()
    )
    .detail(e.message().to_string())
}
