//! JSON syntax.

use super::expr::{boxed, mk};
use super::*;

impl Parser<'_> {
    /// A call of special JSON syntax; none if the word has none.
    pub(super) fn json_call(&mut self, kw: Kw) -> Result<Option<Expr>> {
        let pos = self.pos();
        let json = match kw {
            Kw::JsonObject => return self.json_object().map(Some),
            Kw::JsonArray => self.json_array()?,
            Kw::JsonObjectagg => self.json_objectagg()?,
            Kw::JsonArrayagg => self.json_arrayagg()?,
            Kw::Json => {
                self.at += 2;
                let value = self.json_value()?;
                let unique_keys = self.json_unique()?.unwrap_or(false);
                self.expect(T::RParen)?;
                JsonExpr::Parse { value, unique_keys }
            }
            Kw::JsonScalar => {
                self.at += 2;
                let value = self.expr()?;
                self.expect(T::RParen)?;
                JsonExpr::Scalar(value)
            }
            Kw::JsonSerialize => {
                self.at += 2;
                let value = self.json_value()?;
                let returning = self.json_returning()?;
                self.expect(T::RParen)?;
                JsonExpr::Serialize { value, returning }
            }
            Kw::JsonExists => JsonExpr::Func(self.json_func(JsonFuncKind::Exists)?),
            Kw::JsonQuery => JsonExpr::Func(self.json_func(JsonFuncKind::Query)?),
            Kw::JsonValue => JsonExpr::Func(self.json_func(JsonFuncKind::Value)?),
            _ => return Ok(None),
        };
        Ok(Some(mk(ExprKind::Json(Box::new(json)), pos)))
    }

    /// After IS [NOT], at JSON.
    pub(super) fn is_json(&mut self, expr: Box<Expr>, negated: bool) -> Result<ExprKind> {
        self.bump();
        let kind = match self.kw() {
            Kw::Value => JsonKind::Value,
            Kw::Array => JsonKind::Array,
            Kw::Object => JsonKind::Object,
            Kw::Scalar => JsonKind::Scalar,
            _ => JsonKind::Value,
        };
        if self.is_any(&[Kw::Value, Kw::Array, Kw::Object, Kw::Scalar]) {
            self.bump();
        }
        let unique_keys = self.json_unique()?.unwrap_or(false);
        Ok(ExprKind::IsJson { expr, kind, unique_keys, negated })
    }

    /// WITH / WITHOUT UNIQUE [KEYS].
    fn json_unique(&mut self) -> Result<Option<bool>> {
        for (word, value) in [(Kw::With, true), (Kw::Without, false)] {
            if self.accept_kws(&[word, Kw::Unique]) {
                self.accept_kw(Kw::Keys);
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn json_format(&mut self) -> Result<Option<JsonFormat>> {
        if !self.is_kws(&[Kw::Format, Kw::Json]) {
            return Ok(None);
        }
        let pos = self.pos();
        self.at += 2;
        let mut encoding = None;
        let mut at = pos;
        if self.accept_kw(Kw::Encoding) {
            at = self.pos();
            encoding = Some(self.name()?);
        }
        if let Some(name) = &encoding
            && !matches!(name.as_str(), "utf8" | "utf16" | "utf32")
        {
            return Err(
                base::err!(INVALID_PARAMETER_VALUE, "unrecognized JSON encoding: {name}").at(at)
            );
        }
        Ok(Some(JsonFormat { encoding, pos }))
    }

    pub(super) fn json_value(&mut self) -> Result<JsonValue> {
        let expr = self.expr()?;
        Ok(JsonValue { expr, format: self.json_format()? })
    }

    fn json_returning(&mut self) -> Result<Option<JsonReturning>> {
        if !self.accept_kw(Kw::Returning) {
            return Ok(None);
        }
        let type_name = self.type_name()?;
        Ok(Some(JsonReturning { type_name, format: self.json_format()? }))
    }

    /// NULL ON NULL (false) or ABSENT ON NULL (true).
    fn json_null_clause(&mut self) -> Option<bool> {
        if self.accept_kws(&[Kw::Null, Kw::On, Kw::Null]) {
            return Some(false);
        }
        self.accept_kws(&[Kw::Absent, Kw::On, Kw::Null]).then_some(true)
    }

    /// `key VALUE value` or `key : value`.
    fn json_pair(&mut self) -> Result<(Expr, JsonValue)> {
        let key = self.expr()?;
        if !self.accept(T::Colon) {
            self.expect_kw(Kw::Value)?;
        }
        Ok((key, self.json_value()?))
    }

    /// JSON_OBJECT: the standard's syntax, or a call of the old function.
    fn json_object(&mut self) -> Result<Expr> {
        let pos = self.pos();
        self.at += 2;
        let start = self.at;
        if self.is_kw(Kw::Returning) || self.is(T::RParen) {
            let returning = self.json_returning()?;
            self.expect(T::RParen)?;
            let json = JsonExpr::Object {
                pairs: Vec::new(),
                absent_on_null: false,
                unique_keys: false,
                returning,
            };
            return Ok(mk(ExprKind::Json(Box::new(json)), pos));
        }
        if let Some(call) = self.old_json_object(pos, start)? {
            return Ok(call);
        }
        let pairs = self.list(|p| p.json_pair())?;
        let absent_on_null = self.json_null_clause().unwrap_or(false);
        let unique_keys = self.json_unique()?.unwrap_or(false);
        let returning = self.json_returning()?;
        self.expect(T::RParen)?;
        let json = JsonExpr::Object { pairs, absent_on_null, unique_keys, returning };
        Ok(mk(ExprKind::Json(Box::new(json)), pos))
    }

    fn old_json_object(&mut self, pos: Pos, start: usize) -> Result<Option<Expr>> {
        let named = matches!(self.ahead(1).kind, T::ColonEquals | T::Arrow);
        if !named {
            self.expr()?;
            if self.is(T::Colon) || self.is_kw(Kw::Value) {
                self.at = start;
                return Ok(None);
            }
        }
        self.at = start;
        let args = self.list(|p| p.func_arg())?;
        self.expect(T::RParen)?;
        let call = FuncCall::new(Name::system("json_object", pos), args);
        Ok(Some(mk(ExprKind::Func(Box::new(call)), pos)))
    }

    fn json_array(&mut self) -> Result<JsonExpr> {
        self.at += 2;
        if self.at_select_start() {
            let query = self.select_no_parens()?;
            let format = self.json_format()?;
            let returning = self.json_returning()?;
            self.expect(T::RParen)?;
            return Ok(JsonExpr::ArrayQuery { query, format, absent_on_null: true, returning });
        }
        let mut values = Vec::new();
        let mut absent_on_null = true;
        if !self.is(T::RParen) && !self.is_kw(Kw::Returning) {
            values = self.list(|p| p.json_value())?;
            absent_on_null = self.json_null_clause().unwrap_or(true);
        }
        let returning = self.json_returning()?;
        self.expect(T::RParen)?;
        Ok(JsonExpr::Array { values, absent_on_null, returning })
    }

    fn json_objectagg(&mut self) -> Result<JsonExpr> {
        self.at += 2;
        let (key, value) = self.json_pair()?;
        let absent_on_null = self.json_null_clause().unwrap_or(false);
        let unique_keys = self.json_unique()?.unwrap_or(false);
        let returning = self.json_returning()?;
        self.expect(T::RParen)?;
        let filter = self.opt_filter()?;
        let over = self.opt_over()?;
        Ok(JsonExpr::ObjectAgg { key, value, absent_on_null, unique_keys, returning, filter, over })
    }

    fn json_arrayagg(&mut self) -> Result<JsonExpr> {
        self.at += 2;
        let value = self.json_value()?;
        let order_by = self.opt_sort()?;
        let absent_on_null = self.json_null_clause().unwrap_or(true);
        let returning = self.json_returning()?;
        self.expect(T::RParen)?;
        let filter = self.opt_filter()?;
        let over = self.opt_over()?;
        Ok(JsonExpr::ArrayAgg { value, order_by, absent_on_null, returning, filter, over })
    }

    pub(super) fn json_passing(&mut self) -> Result<Vec<JsonArgument>> {
        if !self.accept_kw(Kw::Passing) {
            return Ok(Vec::new());
        }
        self.list(|p| {
            let value = p.json_value()?;
            p.expect_kw(Kw::As)?;
            Ok(JsonArgument { value, name: p.col_label()? })
        })
    }

    pub(super) fn json_wrapper(&mut self) -> Result<JsonWrapper> {
        let with = match self.kw() {
            Kw::With => true,
            Kw::Without => false,
            _ => return Ok(JsonWrapper::Unspecified),
        };
        self.bump();
        if !with {
            self.accept_kw(Kw::Array);
            self.expect_kw(Kw::Wrapper)?;
            return Ok(JsonWrapper::Without);
        }
        let conditional = self.accept_kw(Kw::Conditional);
        if !conditional {
            self.accept_kw(Kw::Unconditional);
        }
        self.accept_kw(Kw::Array);
        self.expect_kw(Kw::Wrapper)?;
        Ok(if conditional { JsonWrapper::Conditional } else { JsonWrapper::Unconditional })
    }

    pub(super) fn json_quotes(&mut self) -> Result<JsonQuotes> {
        let found = match self.kw() {
            Kw::Keep => JsonQuotes::Keep,
            Kw::Omit => JsonQuotes::Omit,
            _ => return Ok(JsonQuotes::Unspecified),
        };
        self.bump();
        self.expect_kw(Kw::Quotes)?;
        if self.accept_kw(Kw::On) {
            self.expect_kws(&[Kw::Scalar, Kw::String])?;
        }
        Ok(found)
    }

    fn json_behavior(&mut self) -> Result<Option<JsonBehavior>> {
        let pos = self.pos();
        let found = match self.kw() {
            Kw::Default => {
                self.bump();
                return Ok(Some(JsonBehavior::Default(self.expr()?)));
            }
            Kw::Error => JsonBehavior::Error(pos),
            Kw::Null => JsonBehavior::Null(pos),
            Kw::True => JsonBehavior::True(pos),
            Kw::False => JsonBehavior::False(pos),
            Kw::Unknown => JsonBehavior::Unknown(pos),
            Kw::Empty => {
                self.bump();
                return Ok(Some(if self.accept_kw(Kw::Object) {
                    JsonBehavior::EmptyObject(pos)
                } else if self.accept_kw(Kw::Array) {
                    JsonBehavior::EmptyArray(pos)
                } else {
                    JsonBehavior::Empty(pos)
                }));
            }
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(found))
    }

    /// [behavior ON EMPTY] [behavior ON ERROR].
    pub(super) fn json_behaviors(
        &mut self,
        allow_empty: bool,
    ) -> Result<(Option<JsonBehavior>, Option<JsonBehavior>)> {
        let (mut on_empty, mut on_error) = (None, None);
        while let Some(behavior) = self.json_behavior()? {
            self.expect_kw(Kw::On)?;
            if allow_empty && on_empty.is_none() && self.accept_kw(Kw::Empty) {
                on_empty = Some(behavior);
            } else {
                self.expect_kw(Kw::Error)?;
                on_error = Some(behavior);
                break;
            }
        }
        Ok((on_empty, on_error))
    }

    fn json_func(&mut self, kind: JsonFuncKind) -> Result<JsonFunc> {
        self.at += 2;
        let context = self.json_value()?;
        self.expect(T::Comma)?;
        let path = self.expr()?;
        let passing = self.json_passing()?;
        let mut returning = None;
        let mut wrapper = JsonWrapper::Unspecified;
        let mut quotes = JsonQuotes::Unspecified;
        if kind != JsonFuncKind::Exists {
            returning = self.json_returning()?;
        }
        if kind == JsonFuncKind::Query {
            wrapper = self.json_wrapper()?;
            quotes = self.json_quotes()?;
        }
        let (on_empty, on_error) = self.json_behaviors(kind != JsonFuncKind::Exists)?;
        self.expect(T::RParen)?;
        Ok(JsonFunc {
            kind,
            context,
            path,
            passing,
            returning,
            on_empty,
            on_error,
            wrapper,
            quotes,
        })
    }

    /// After JSON_TABLE.
    pub(super) fn json_table(&mut self, lateral: bool) -> Result<JsonTable> {
        let pos = self.pos();
        self.bump();
        self.expect(T::LParen)?;
        let context = self.json_value()?;
        self.expect(T::Comma)?;
        let path = self.expr()?;
        if !matches!(path.kind, ExprKind::Literal(Literal::String(_))) {
            let message = "only string constants are supported in JSON_TABLE path specification";
            return Err(base::err!(FEATURE_NOT_SUPPORTED, "{message}").at(path.location()));
        }
        let path_name = if self.accept_kw(Kw::As) { Some(self.name()?) } else { None };
        let passing = self.json_passing()?;
        self.expect_kw(Kw::Columns)?;
        let columns = self.paren_list(|p| p.json_table_column())?;
        let (_, on_error) = self.json_behaviors(false)?;
        self.expect(T::RParen)?;
        let alias = self.opt_alias()?;
        Ok(JsonTable { lateral, context, path, path_name, passing, columns, on_error, alias, pos })
    }

    fn json_table_column(&mut self) -> Result<JsonTableColumn> {
        base::stack::check()?;
        let pos = self.pos();
        if self.is_kw(Kw::Nested) && (self.kw_ahead(1) == Kw::Path || self.ahead(1).kind == T::Str)
        {
            self.bump();
            self.accept_kw(Kw::Path);
            let at = self.pos();
            let path = super::expr::string_expr(self.sconst()?, at);
            let named = self.accept_kw(Kw::As);
            let pos = if named { self.pos() } else { pos };
            let path_name = if named { Some(self.name()?) } else { None };
            self.expect_kw(Kw::Columns)?;
            let columns = self.paren_list(|p| p.json_table_column())?;
            return Ok(JsonTableColumn::Nested { path, path_name, columns, pos });
        }
        let name = self.col_id()?;
        if self.accept_kws(&[Kw::For, Kw::Ordinality]) {
            return Ok(JsonTableColumn::Ordinality { name, pos });
        }
        let type_name = self.type_name()?;
        let exists = self.accept_kw(Kw::Exists);
        let format = if exists { None } else { self.json_format()? };
        let mut path = None;
        if self.accept_kw(Kw::Path) {
            let at = self.pos();
            path = Some(super::expr::string_expr(self.sconst()?, at));
        }
        let mut wrapper = JsonWrapper::Unspecified;
        let mut quotes = JsonQuotes::Unspecified;
        if !exists {
            wrapper = self.json_wrapper()?;
            quotes = self.json_quotes()?;
        }
        let (on_empty, on_error) = self.json_behaviors(!exists)?;
        Ok(JsonTableColumn::Column(Box::new(JsonTableRegular {
            name,
            type_name,
            exists,
            format,
            path,
            wrapper,
            quotes,
            on_empty,
            on_error,
            pos,
        })))
    }

    /// An expression in a box, for callers that need one.
    pub(super) fn boxed_expr(&mut self) -> Result<Box<Expr>> {
        Ok(boxed(self.expr()?))
    }
}
