//! SQL/JSON: constructors, IS JSON and query functions.

use crate::coerce::{base_type, returns_set};
use crate::state::{Analyzer, loc};
use base::{Error, Oid, Result, err};
use catalog::{CastContext, oids};
use ir::{
    CoercionForm, Expr, JsonBehavior, JsonBehaviorKind, JsonExpr, JsonFormat, JsonKind, JsonOp,
    JsonQuery, JsonQueryKind, JsonWrapper, Location,
};
use parser::ast::{self, ExprKind};
use types::oid;

/// RETURNING: the type and its FORMAT.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    pub ty: Oid,
    pub typmod: i32,
    pub format: JsonFormat,
}

/// What a value is wanted as.
#[derive(Clone, Copy, PartialEq)]
enum Want {
    /// An item of a constructor: any type, unless FORMAT JSON says that it is JSON already.
    Item,
    /// The document of a query function: jsonb.
    Document,
    /// A value of PASSING: jsonb, or what paths know as it is.
    Passing,
}

/// The parts of a query function, or of a column of JSON_TABLE.
pub(crate) struct QueryParts<'a> {
    pub kind: JsonQueryKind,
    pub document: Expr,
    pub path: Expr,
    pub names: Vec<String>,
    pub values: Vec<Expr>,
    pub output: Output,
    pub wrapper: ast::JsonWrapper,
    pub quotes: ast::JsonQuotes,
    pub on_empty: Option<&'a ast::JsonBehavior>,
    pub on_error: Option<&'a ast::JsonBehavior>,
    pub column: Option<String>,
    pub at: Location,
}

fn is_json(ty: Oid) -> bool {
    matches!(ty, oid::JSON | oid::JSONB)
}

fn case_test(e: &Expr) -> Expr {
    Expr::CaseTest { ty: e.ty(), typmod: e.typmod(), collation: e.collation() }
}

fn behavior_parts(b: &ast::JsonBehavior) -> (JsonBehaviorKind, Location) {
    use ast::JsonBehavior as B;
    match b {
        B::Default(e) => (JsonBehaviorKind::Default, loc(e.location())),
        B::Error(p) => (JsonBehaviorKind::Error, loc(*p)),
        B::Null(p) => (JsonBehaviorKind::Null, loc(*p)),
        B::True(p) => (JsonBehaviorKind::True, loc(*p)),
        B::False(p) => (JsonBehaviorKind::False, loc(*p)),
        B::Unknown(p) => (JsonBehaviorKind::Unknown, loc(*p)),
        B::Empty(p) | B::EmptyArray(p) => (JsonBehaviorKind::EmptyArray, loc(*p)),
        B::EmptyObject(p) => (JsonBehaviorKind::EmptyObject, loc(*p)),
    }
}

/// The name of the encoding, as the conversion functions take it.
fn utf8() -> Expr {
    Expr::Const(ir::Const {
        ty: oids::NAME,
        typmod: -1,
        collation: Oid(950),
        value: types::Datum::text("UTF8"),
        location: None,
    })
}

impl Analyzer<'_> {
    /// JSON syntax in an expression.
    pub fn json_expr(&mut self, json: &ast::JsonExpr, at: Location) -> Result<Expr> {
        match json {
            ast::JsonExpr::Object { pairs, absent_on_null, unique_keys, returning } => {
                let mut args = Vec::with_capacity(2 * pairs.len());
                for (key, value) in pairs {
                    args.push(self.transform(key)?);
                    args.push(self.json_item(value, Want::Item)?);
                }
                let op = JsonOp::Object { absent_on_null: *absent_on_null, unique: *unique_keys };
                self.json_constructor(op, args, returning.as_ref(), at)
            }
            ast::JsonExpr::Array { values, absent_on_null, returning } => {
                let items = values.iter().map(|v| self.json_item(v, Want::Item));
                let args = items.collect::<Result<Vec<_>>>()?;
                let op = JsonOp::Array { absent_on_null: *absent_on_null };
                self.json_constructor(op, args, returning.as_ref(), at)
            }
            ast::JsonExpr::ArrayQuery { query, format, absent_on_null, returning } => {
                self.json_array_query(query, format, *absent_on_null, returning, at)
            }
            ast::JsonExpr::ObjectAgg { .. } | ast::JsonExpr::ArrayAgg { .. } => {
                self.json_aggregate(json, at)
            }
            ast::JsonExpr::Parse { value, unique_keys } => self.json_parse(value, *unique_keys, at),
            ast::JsonExpr::Scalar(arg) => {
                let arg = self.transform(arg)?;
                let arg = self.known_as_text(arg)?;
                let output = Output { ty: oid::JSON, typmod: -1, format: JsonFormat::Default };
                Ok(self.json_node(JsonOp::Scalar, vec![arg], Vec::new(), output, at))
            }
            ast::JsonExpr::Serialize { value, returning } => {
                self.json_serialize(value, returning.as_ref(), at)
            }
            ast::JsonExpr::Func(f) => self.json_func(f, at),
        }
    }

    fn json_node(
        &self,
        op: JsonOp,
        args: Vec<Expr>,
        inner: Vec<Expr>,
        output: Output,
        at: Location,
    ) -> Expr {
        Expr::Json(Box::new(JsonExpr {
            op,
            args,
            inner,
            ty: output.ty,
            typmod: output.typmod,
            collation: self.collation_of_type(output.ty).unwrap_or_default(),
            format: output.format,
            location: at,
        }))
    }

    fn known_as_text(&mut self, e: Expr) -> Result<Expr> {
        if e.ty() != oids::UNKNOWN {
            return Ok(e);
        }
        let at = e.location();
        let (cx, form) = (CastContext::Implicit, CoercionForm::ImplicitCast);
        self.coerce(e, oids::UNKNOWN, oids::TEXT, -1, cx, form, at)
    }

    /// `transformJsonValueExpr`.
    fn json_item(&mut self, value: &ast::JsonValue, want: Want) -> Result<Expr> {
        let made = self.transform(&value.expr)?;
        let made = self.known_as_text(made)?;
        self.json_formatted(made, value.format.as_ref(), want)
    }

    fn json_formatted(
        &mut self,
        made: Expr,
        format: Option<&ast::JsonFormat>,
        want: Want,
    ) -> Result<Expr> {
        let ty = made.ty();
        let category = self.type_desc(ty)?.category;
        let mut own = JsonFormat::Default;
        if let Some(f) = format {
            self.check_encoding(f, ty, false)?;
            if !is_json(ty) {
                own = if f.encoding.is_some() { JsonFormat::JsonUtf8 } else { JsonFormat::Json };
            }
        }
        let passed = matches!(
            ty,
            oid::BOOL
                | oid::NUMERIC
                | oid::INT2
                | oid::INT4
                | oid::INT8
                | oid::FLOAT4
                | oid::FLOAT8
                | oid::TEXT
                | oid::VARCHAR
                | oid::DATE
                | oid::TIME
                | oid::TIMETZ
                | oid::TIMESTAMP
                | oid::TIMESTAMPTZ
        );
        if want == Want::Passing && own == JsonFormat::Default && passed {
            return Ok(made);
        }
        let target = match want {
            Want::Item => oid::JSON,
            _ => oid::JSONB,
        };
        if ty == target || (want == Want::Item && (own == JsonFormat::Default || is_json(ty))) {
            return Ok(made);
        }
        let string = category == b'S' || ty == oid::BYTEA;
        let test = case_test(&made);
        let at = made.location();
        let formatted = if want == Want::Passing && own == JsonFormat::Default && !is_json(ty) {
            let args = vec![test];
            self.builtin_call("to_jsonb", args, None)?
        } else {
            if !string && !is_json(ty) {
                let (word, place) = match format {
                    Some(f) => ("explicit", loc(f.pos)),
                    None => ("implicit", at),
                };
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "cannot use non-string types with {word} FORMAT JSON clause"
                )
                .at(place));
            }
            let text = if ty == oid::BYTEA { self.utf8_text(test)? } else { test };
            let (cx, form) = (CastContext::Explicit, CoercionForm::ImplicitCast);
            match self.coerce_to_target(text, target, -1, cx, form, None)? {
                Some(e) => e,
                None => {
                    return Err(err!(
                        CANNOT_COERCE,
                        "cannot cast type {} to {}",
                        self.type_shown(ty),
                        self.type_shown(target)
                    )
                    .at(at));
                }
            }
        };
        let output = Output { ty: target, typmod: -1, format: own };
        Ok(self.json_node(JsonOp::Formatted, vec![made], vec![formatted], output, at))
    }

    fn utf8_text(&mut self, bytes: Expr) -> Result<Expr> {
        self.builtin_call("convert_from", vec![bytes, utf8()], None)
    }

    /// ENCODING is for bytea, and is UTF8.
    fn check_encoding(&self, f: &ast::JsonFormat, ty: Oid, output: bool) -> Result<()> {
        let Some(encoding) = &f.encoding else { return Ok(()) };
        let at = loc(f.pos);
        if ty != oid::BYTEA {
            return Err(if output {
                err!(FEATURE_NOT_SUPPORTED, "cannot set JSON encoding for non-bytea output types")
            } else {
                err!(DATATYPE_MISMATCH, "JSON ENCODING clause is only allowed for bytea input type")
            }
            .at(at));
        }
        if encoding != "utf8" {
            return Err(err!(FEATURE_NOT_SUPPORTED, "unsupported JSON encoding")
                .hint("Only UTF8 JSON encoding is supported.")
                .at(at));
        }
        Ok(())
    }

    /// `transformJsonOutput`; json or jsonb if there is none.
    pub fn json_output(
        &mut self,
        returning: Option<&ast::JsonReturning>,
        default: Oid,
    ) -> Result<Output> {
        let Some(r) = returning else {
            return Ok(Output { ty: default, typmod: -1, format: JsonFormat::Default });
        };
        let (ty, typmod) = self.type_of_name(&r.type_name)?;
        if r.type_name.setof {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "returning SETOF types is not supported in SQL/JSON functions"
            ));
        }
        if self.type_desc(ty)?.kind == b'p' {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "returning pseudo-types is not supported in SQL/JSON functions"
            ));
        }
        let mut format = JsonFormat::Default;
        if let Some(f) = &r.format {
            self.check_encoding(f, ty, true)?;
            format = match f.encoding {
                Some(_) => JsonFormat::JsonUtf8,
                None => JsonFormat::Json,
            };
        }
        Ok(Output { ty, typmod, format })
    }

    /// The coercion of a constructor's json or jsonb to RETURNING's type.
    fn json_coercion(&mut self, made: Oid, output: Output, at: Location) -> Result<Vec<Expr>> {
        if made == output.ty {
            return Ok(Vec::new());
        }
        let test = Expr::CaseTest { ty: made, typmod: -1, collation: Oid::INVALID };
        let (cx, form) = (CastContext::Assignment, CoercionForm::ImplicitCast);
        if output.ty == oid::BYTEA {
            let text = self.coerce_to_target(test, oids::TEXT, -1, cx, form, None)?;
            let text = text.ok_or_else(|| Error::internal("json cannot be made text"))?;
            return Ok(vec![self.builtin_call("convert_to", vec![text, utf8()], None)?]);
        }
        let done = self.coerce_to_target(test, output.ty, output.typmod, cx, form, None)?;
        match done {
            Some(e) => Ok(vec![e]),
            None => Err(err!(
                CANNOT_COERCE,
                "cannot cast type {} to {}",
                self.type_shown(made),
                self.type_shown(output.ty)
            )
            .at(at)),
        }
    }

    fn json_constructor(
        &mut self,
        op: JsonOp,
        args: Vec<Expr>,
        returning: Option<&ast::JsonReturning>,
        at: Location,
    ) -> Result<Expr> {
        let jsonb = args.iter().any(|a| a.ty() == oid::JSONB);
        let output = self.json_output(returning, if jsonb { oid::JSONB } else { oid::JSON })?;
        let made = self.json_made(output.ty)?;
        let inner = self.json_coercion(made, output, at)?;
        Ok(self.json_node(op, args, inner, output, at))
    }

    /// Whether a constructor makes json or jsonb for this type.
    fn json_made(&self, ty: Oid) -> Result<Oid> {
        let jsonb = base_type(self.catalog(), ty)? == oid::JSONB;
        Ok(if jsonb { oid::JSONB } else { oid::JSON })
    }

    /// `JSON_ARRAY(query)` is an aggregate over the query's rows.
    fn json_array_query(
        &mut self,
        query: &ast::SelectStmt,
        format: &Option<ast::JsonFormat>,
        absent_on_null: bool,
        returning: &Option<ast::JsonReturning>,
        at: Location,
    ) -> Result<Expr> {
        let made = self.sub_query(query, at)?;
        if made.target_list.iter().filter(|t| !t.junk).count() != 1 {
            return Err(err!(SYNTAX_ERROR, "subquery must return only one column").at(at));
        }
        let pos = at.unwrap_or(ast::NO_POS);
        let column =
            ExprKind::Column { parts: vec!["q".to_string(), "a".to_string()], star: false };
        let value = ast::JsonValue {
            expr: ast::Expr { kind: column, pos: ast::NO_POS },
            format: format.clone(),
        };
        let aggregate = ast::JsonExpr::ArrayAgg {
            value,
            order_by: Vec::new(),
            absent_on_null,
            returning: returning.clone(),
            filter: None,
            over: None,
        };
        let expr = ast::Expr { kind: ExprKind::Json(Box::new(aggregate)), pos };
        let alias = ast::Alias { name: "q".to_string(), columns: vec!["a".to_string()] };
        let outer = ast::SelectStmt::over_subquery(expr, query.clone(), alias, pos);
        let link = ast::Sublink { kind: ast::SublinkKind::Scalar, query: outer };
        self.sublink(&link, at)
    }

    fn json_aggregate(&mut self, json: &ast::JsonExpr, at: Location) -> Result<Expr> {
        let mut call = ast::FuncCall::new(ast::Name::system("json_agg", ast::NO_POS), Vec::new());
        let mut args = Vec::new();
        let (op, returning) = match json {
            ast::JsonExpr::ObjectAgg {
                key,
                value,
                absent_on_null,
                unique_keys,
                returning,
                filter,
                over,
            } => {
                args.push(self.transform(key)?);
                args.push(self.json_item(value, Want::Item)?);
                call.filter = filter.clone().map(Box::new);
                call.over = over.clone().map(Box::new);
                let (absent_on_null, unique) = (*absent_on_null, *unique_keys);
                (JsonOp::ObjectAgg { absent_on_null, unique }, returning)
            }
            ast::JsonExpr::ArrayAgg {
                value,
                order_by,
                absent_on_null,
                returning,
                filter,
                over,
            } => {
                args.push(self.json_item(value, Want::Item)?);
                call.order_by = order_by.clone();
                call.filter = filter.clone().map(Box::new);
                call.over = over.clone().map(Box::new);
                (JsonOp::ArrayAgg { absent_on_null: *absent_on_null }, returning)
            }
            _ => return Err(Error::internal("not an aggregate of JSON")),
        };
        let jsonb = args.iter().any(|a| a.ty() == oid::JSONB);
        let default = if jsonb { oid::JSONB } else { oid::JSON };
        let output = self.json_output(returning.as_ref(), default)?;
        let made = self.json_made(output.ty)?;
        let prefix = if made == oid::JSONB { "jsonb" } else { "json" };
        let name = match op {
            JsonOp::ObjectAgg { absent_on_null, unique } => {
                let unique = if unique { "_unique" } else { "" };
                let strict = if absent_on_null { "_strict" } else { "" };
                format!("{prefix}_object_agg{unique}{strict}")
            }
            JsonOp::ArrayAgg { absent_on_null: true } => format!("{prefix}_agg_strict"),
            _ => format!("{prefix}_agg"),
        };
        call.name = ast::Name::system(&name, ast::NO_POS);
        let agg = self.resolve_call(&call, args, Vec::new(), at)?;
        let inner = self.json_coercion(made, output, at)?;
        Ok(self.json_node(op, vec![agg], inner, output, at))
    }

    /// `JSON(value)`.
    fn json_parse(&mut self, value: &ast::JsonValue, unique: bool, at: Location) -> Result<Expr> {
        let arg = self.transform(&value.expr)?;
        let output = Output { ty: oid::JSON, typmod: -1, format: JsonFormat::Default };
        let place = arg.location();
        if unique {
            let arg = self.json_text(arg, value.format.as_ref())?;
            if is_json(arg.ty()) || !matches!(arg.ty(), oids::TEXT) {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "cannot use non-string types with WITH UNIQUE KEYS clause"
                )
                .at(place));
            }
            let op = JsonOp::Parse { unique };
            return Ok(self.json_node(op, vec![arg], Vec::new(), output, at));
        }
        let source = arg.ty();
        let arg = if source == oid::BYTEA || value.format.is_some() {
            let arg = self.known_as_text(arg)?;
            self.json_formatted_always(arg, value.format.as_ref())?
        } else {
            arg
        };
        let (cx, form) = (CastContext::Explicit, CoercionForm::ImplicitCast);
        let Some(arg) = self.coerce_to_target(arg, oid::JSON, -1, cx, form, None)? else {
            return Err(err!(
                CANNOT_COERCE,
                "cannot cast type {} to {}",
                self.type_shown(source),
                "json"
            )
            .at(place));
        };
        Ok(self.json_node(JsonOp::Parse { unique }, vec![arg], Vec::new(), output, at))
    }

    fn json_formatted_always(
        &mut self,
        arg: Expr,
        format: Option<&ast::JsonFormat>,
    ) -> Result<Expr> {
        let plain = ast::JsonFormat { encoding: None, pos: ast::NO_POS };
        self.json_formatted(arg, Some(format.unwrap_or(&plain)), Want::Item)
    }

    /// `transformJsonParseArg`: text for strings and bytea, other types as they are.
    fn json_text(&mut self, arg: Expr, format: Option<&ast::JsonFormat>) -> Result<Expr> {
        let ty = arg.ty();
        if ty == oid::BYTEA {
            if let Some(f) = format {
                self.check_encoding(f, ty, false)?;
            }
            return self.utf8_text(arg);
        }
        if is_json(ty) {
            return Ok(arg);
        }
        let base = base_type(self.catalog(), ty)?;
        let string = ty == oids::UNKNOWN || self.type_desc(base)?.category == b'S';
        if !string {
            return Ok(arg);
        }
        let at = arg.location();
        let (cx, form) = (CastContext::Implicit, CoercionForm::ImplicitCast);
        match self.coerce_to_target(arg, oids::TEXT, -1, cx, form, None)? {
            Some(e) => Ok(e),
            None => {
                Err(err!(CANNOT_COERCE, "cannot cast type {} to text", self.type_shown(ty)).at(at))
            }
        }
    }

    fn json_serialize(
        &mut self,
        value: &ast::JsonValue,
        returning: Option<&ast::JsonReturning>,
        at: Location,
    ) -> Result<Expr> {
        let arg = self.transform(&value.expr)?;
        let arg = self.known_as_text(arg)?;
        let arg = self.json_formatted_always(arg, value.format.as_ref())?;
        let output = self.json_output(returning, oids::TEXT)?;
        let base = base_type(self.catalog(), output.ty)?;
        if base != oid::BYTEA && self.type_desc(base)?.category != b'S' {
            return Err(err!(
                DATATYPE_MISMATCH,
                "cannot use type {} in RETURNING clause of JSON_SERIALIZE()",
                self.type_shown(output.ty)
            )
            .hint("Try returning a string type or bytea."));
        }
        let inner = self.json_coercion(arg.ty(), output, at)?;
        Ok(self.json_node(JsonOp::Serialize, vec![arg], inner, output, at))
    }

    /// `value IS JSON`.
    pub fn is_json(
        &mut self,
        arg: &ast::Expr,
        kind: ast::JsonKind,
        unique: bool,
        negated: bool,
        at: Location,
    ) -> Result<Expr> {
        let arg = self.transform(arg)?;
        let ty = arg.ty();
        let arg = if ty == oid::BYTEA { arg } else { self.json_text(arg, None)? };
        if !matches!(arg.ty(), oids::TEXT | oid::BYTEA | oid::JSON | oid::JSONB) {
            return Err(err!(
                DATATYPE_MISMATCH,
                "cannot use type {} in IS JSON predicate",
                self.type_shown(ty)
            ));
        }
        let kind = match kind {
            ast::JsonKind::Value => JsonKind::Value,
            ast::JsonKind::Array => JsonKind::Array,
            ast::JsonKind::Object => JsonKind::Object,
            ast::JsonKind::Scalar => JsonKind::Scalar,
        };
        let output = Output { ty: oids::BOOL, typmod: -1, format: JsonFormat::Default };
        let op = JsonOp::IsJson { kind, unique };
        let made = self.json_node(op, vec![arg], Vec::new(), output, at);
        Ok(match negated {
            true => Expr::Bool { op: ir::BoolOp::Not, args: vec![made], location: at },
            false => made,
        })
    }

    // Query functions.

    fn json_func(&mut self, f: &ast::JsonFunc, at: Location) -> Result<Expr> {
        let kind = match f.kind {
            ast::JsonFuncKind::Exists => JsonQueryKind::Exists,
            ast::JsonFuncKind::Value => JsonQueryKind::Value,
            _ => JsonQueryKind::Query,
        };
        if kind == JsonQueryKind::Value
            && let Some(format) = f.returning.as_ref().and_then(|r| r.format.as_ref())
        {
            return Err(err!(
                SYNTAX_ERROR,
                "cannot specify FORMAT JSON in RETURNING clause of JSON_VALUE()"
            )
            .at(loc(format.pos)));
        }
        self.check_behaviors(kind, None, f.on_empty.as_ref(), f.on_error.as_ref())?;
        check_quotes(f.wrapper, f.quotes, at)?;
        let document = self.json_item(&f.context, Want::Document)?;
        let path = self.json_path(&f.path)?;
        let (names, values) = self.json_passing(&f.passing)?;
        let default = match kind {
            JsonQueryKind::Exists => oids::BOOL,
            JsonQueryKind::Query => oid::JSONB,
            JsonQueryKind::Value => oids::TEXT,
        };
        let output = self.json_output(f.returning.as_ref(), default)?;
        self.json_query(QueryParts {
            kind,
            document,
            path,
            names,
            values,
            output,
            wrapper: f.wrapper,
            quotes: f.quotes,
            on_empty: f.on_empty.as_ref(),
            on_error: f.on_error.as_ref(),
            column: None,
            at,
        })
    }

    /// The document of JSON_TABLE.
    pub fn json_document(&mut self, value: &ast::JsonValue) -> Result<Expr> {
        self.json_item(value, Want::Document)
    }

    /// PASSING: names and values.
    pub fn json_passing(
        &mut self,
        passing: &[ast::JsonArgument],
    ) -> Result<(Vec<String>, Vec<Expr>)> {
        let mut names = Vec::with_capacity(passing.len());
        let mut values = Vec::with_capacity(passing.len());
        for p in passing {
            values.push(self.json_item(&p.value, Want::Passing)?);
            names.push(p.name.clone());
        }
        Ok((names, values))
    }

    fn json_path(&mut self, path: &ast::Expr) -> Result<Expr> {
        let made = self.transform(path)?;
        let (at, ty) = (made.location(), made.ty());
        let (cx, form) = (CastContext::Explicit, CoercionForm::ImplicitCast);
        let done = self.coerce_to_target(made, oid::JSONPATH, -1, cx, form, at)?;
        done.ok_or_else(|| {
            err!(
                DATATYPE_MISMATCH,
                "JSON path expression must be of type jsonpath, not of type {}",
                self.type_shown(ty)
            )
            .at(at)
        })
    }

    /// What ON EMPTY and ON ERROR may say.
    pub fn check_behaviors(
        &self,
        kind: JsonQueryKind,
        column: Option<&str>,
        on_empty: Option<&ast::JsonBehavior>,
        on_error: Option<&ast::JsonBehavior>,
    ) -> Result<()> {
        use JsonBehaviorKind as K;
        let (allowed, list, what): (&[K], &str, [&str; 2]) = match kind {
            JsonQueryKind::Exists => (
                &[K::Error, K::True, K::False, K::Unknown],
                "ERROR, TRUE, FALSE, or UNKNOWN",
                ["JSON_EXISTS()", "EXISTS columns"],
            ),
            JsonQueryKind::Query => (
                &[K::Error, K::Null, K::EmptyArray, K::EmptyObject, K::Default],
                "ERROR, NULL, EMPTY ARRAY, EMPTY OBJECT, or DEFAULT expression",
                ["JSON_QUERY()", "formatted columns"],
            ),
            JsonQueryKind::Value => (
                &[K::Error, K::Null, K::Default],
                "ERROR, NULL, or DEFAULT expression",
                ["JSON_VALUE()", "scalar columns"],
            ),
        };
        for (word, behavior) in [("EMPTY", on_empty), ("ERROR", on_error)] {
            let Some(b) = behavior else { continue };
            let (kind, _) = behavior_parts(b);
            if allowed.contains(&kind) {
                continue;
            }
            let at = match b {
                ast::JsonBehavior::Default(e) => default_place(e),
                _ => behavior_parts(b).1,
            };
            let whose = column.map_or(String::new(), |c| format!(" for column \"{c}\""));
            return Err(err!(SYNTAX_ERROR, "invalid ON {word} behavior{whose}")
                .detail(format!(
                    "Only {list} is allowed in ON {word} for {}.",
                    what[column.is_some() as usize]
                ))
                .at(at));
        }
        Ok(())
    }

    pub fn json_query(&mut self, parts: QueryParts) -> Result<Expr> {
        use JsonBehaviorKind as K;
        let mut args = vec![parts.document, parts.path];
        args.extend(parts.values);
        let default_error = match parts.kind {
            JsonQueryKind::Exists => K::False,
            _ => K::Null,
        };
        let on_error =
            self.json_behavior(parts.on_error, default_error, parts.output, &mut args)?;
        let on_empty = match parts.kind {
            JsonQueryKind::Exists => None,
            _ => Some(self.json_behavior(parts.on_empty, K::Null, parts.output, &mut args)?),
        };
        let query = JsonQuery {
            kind: parts.kind,
            names: parts.names,
            wrapper: match parts.wrapper {
                ast::JsonWrapper::Conditional => JsonWrapper::Conditional,
                ast::JsonWrapper::Unconditional => JsonWrapper::Unconditional,
                _ => JsonWrapper::None,
            },
            omit_quotes: parts.quotes == ast::JsonQuotes::Omit,
            on_empty,
            on_error,
            column: parts.column,
        };
        let op = JsonOp::Query(Box::new(query));
        Ok(self.json_node(op, args, Vec::new(), parts.output, parts.at))
    }

    fn json_behavior(
        &mut self,
        behavior: Option<&ast::JsonBehavior>,
        default: JsonBehaviorKind,
        output: Output,
        args: &mut Vec<Expr>,
    ) -> Result<JsonBehavior> {
        let Some(b) = behavior else { return Ok(JsonBehavior { kind: default, arg: None }) };
        let ast::JsonBehavior::Default(e) = b else {
            return Ok(JsonBehavior { kind: behavior_parts(b).0, arg: None });
        };
        let made = self.transform(e)?;
        let at = made.location();
        if !may_be_default(&made) {
            return Err(err!(
                DATATYPE_MISMATCH,
                "can only specify a constant, non-aggregate function, or operator expression \
                 for DEFAULT"
            )
            .at(at));
        }
        if ir::walk::any(&made, &mut |e| matches!(e, Expr::Var(_))) {
            return Err(err!(
                DATATYPE_MISMATCH,
                "DEFAULT expression must not contain column references"
            )
            .at(at));
        }
        if returns_set(&made) {
            return Err(err!(DATATYPE_MISMATCH, "DEFAULT expression must not return a set").at(at));
        }
        let source = made.ty();
        let runtime = source == oid::JSONB && source != output.ty;
        let made = if runtime {
            made
        } else {
            let (cx, form) = (CastContext::Assignment, CoercionForm::ImplicitCast);
            let done = self.coerce_to_target(made, output.ty, output.typmod, cx, form, at)?;
            done.ok_or_else(|| {
                let target = self.type_shown(output.ty);
                err!(
                    CANNOT_COERCE,
                    "cannot cast behavior expression of type {} to {target}",
                    self.type_shown(source)
                )
                .hint(format!("You will need to explicitly cast the expression to type {target}."))
                .at(at)
            })?
        };
        args.push(made);
        let arg = Some(args.len() as u32 - 1);
        Ok(JsonBehavior { kind: JsonBehaviorKind::Default, arg })
    }
}

/// Where the word DEFAULT stands: before its expression.
fn default_place(e: &ast::Expr) -> Location {
    loc(e.location()).map(|p| p.saturating_sub("DEFAULT ".len() as u32))
}

/// OMIT QUOTES makes no sense with a wrapper.
pub(crate) fn check_quotes(
    wrapper: ast::JsonWrapper,
    quotes: ast::JsonQuotes,
    at: Location,
) -> Result<()> {
    use ast::JsonWrapper as W;
    if quotes == ast::JsonQuotes::Omit && matches!(wrapper, W::Conditional | W::Unconditional) {
        return Err(err!(
            SYNTAX_ERROR,
            "SQL/JSON QUOTES behavior must not be specified when WITH WRAPPER is used"
        )
        .at(at));
    }
    Ok(())
}

/// What DEFAULT may hold: constants, functions and operators, through casts.
fn may_be_default(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Func(_) | Expr::Op(_) => !ir::walk::any(e, &mut |e| {
            matches!(e, Expr::Agg(_) | Expr::Window(_) | Expr::SubLink(_) | Expr::Grouping(_))
        }),
        Expr::Relabel { arg, .. }
        | Expr::CoerceViaIo { arg, .. }
        | Expr::ArrayCoerce { arg, .. }
        | Expr::ConvertRowtype { arg, .. }
        | Expr::CoerceToDomain { arg, .. }
        | Expr::Collate { arg, .. } => may_be_default(arg),
        _ => false,
    }
}
