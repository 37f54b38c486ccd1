//! Expressions that begin with a key word, and function calls.

use super::expr::{boxed, column, mk, sql_func, string_expr};
use super::types::system_type;
use super::*;

impl Parser<'_> {
    pub(super) fn keyword_expr(&mut self) -> Result<Expr> {
        let token = self.tok();
        let (pos, next) = (token.start, self.ahead(1).kind);
        let literal = |kind| mk(ExprKind::Literal(kind), pos);
        match token.kw {
            Kw::True | Kw::False => {
                self.bump();
                return Ok(literal(Literal::Boolean(token.kw == Kw::True)));
            }
            Kw::Null => {
                self.bump();
                return Ok(literal(Literal::Null));
            }
            Kw::Case => return self.case_expr(),
            Kw::Cast => return self.cast_expr(),
            Kw::Array => return self.array_expr(),
            _ => {}
        }
        if let Some(kind) = sql_value_kind(token.kw)
            && !(kind == SqlValueKind::CurrentSchema && next == T::LParen)
        {
            return self.sql_value(kind);
        }
        if next == T::LParen
            && let Some(found) = self.special_call(token.kw)?
        {
            return Ok(found);
        }
        if token.kw == Kw::Collation && self.kw_ahead(1) == Kw::For {
            self.at += 2;
            let args = self.paren_list(|p| p.expr())?;
            return Ok(sql_func("pg_collation_for", args, pos));
        }
        if self.const_type_ahead() {
            return self.const_type_literal();
        }
        match token.kw.category() {
            Some(Category::Unreserved) => self.name_expr(),
            Some(Category::ColName) => self.col_name_expr(),
            Some(Category::TypeFunc) => {
                self.bump();
                let mut name = Name { parts: vec![self.name_of(token)], pos };
                while self.is(T::Dot) {
                    self.bump();
                    name.parts.push(self.col_label()?);
                }
                match self.tok().kind {
                    T::LParen | T::Str => self.after_name(name),
                    _ => Err(self.unexpected()),
                }
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A word that may be a column but not a function by itself.
    fn col_name_expr(&mut self) -> Result<Expr> {
        if self.ahead(1).kind == T::Dot {
            return self.name_expr();
        }
        let token = self.bump();
        if matches!(self.tok().kind, T::LParen | T::Str) {
            return Err(self.unexpected());
        }
        let base = column(vec![self.name_of(token)], token.start);
        self.opt_indirection(base)
    }

    /// Whether a built-in type's syntax with a literal after it is next.
    fn const_type_ahead(&self) -> bool {
        let next = self.ahead(1);
        match self.kw() {
            Kw::Int
            | Kw::Integer
            | Kw::Smallint
            | Kw::Bigint
            | Kw::Real
            | Kw::Boolean
            | Kw::Json => next.kind == T::Str,
            Kw::Float | Kw::Decimal | Kw::Dec | Kw::Numeric | Kw::Varchar | Kw::Interval => {
                matches!(next.kind, T::Str | T::LParen)
            }
            Kw::Bit | Kw::Character | Kw::Char | Kw::Nchar => {
                matches!(next.kind, T::Str | T::LParen) || next.kw == Kw::Varying
            }
            Kw::Time | Kw::Timestamp => {
                matches!(next.kind, T::Str | T::LParen)
                    || (matches!(next.kw, Kw::With | Kw::Without) && self.kw_ahead(2) == Kw::Time)
            }
            Kw::Double => next.kw == Kw::Precision,
            Kw::National => matches!(next.kw, Kw::Char | Kw::Character),
            _ => false,
        }
    }

    fn const_type_literal(&mut self) -> Result<Expr> {
        if !self.is_kw(Kw::Interval) {
            let type_name = self.simple_type(true)?;
            return self.typed_literal(type_name);
        }
        let mut type_name = self.interval_head()?;
        let at = self.pos();
        let text = self.sconst()?;
        if type_name.typmods.is_empty() {
            type_name.typmods = self.interval_fields()?;
        }
        let pos = type_name.pos;
        let expr = boxed(string_expr(text, at));
        Ok(mk(ExprKind::Cast { expr, type_name: Box::new(type_name) }, pos))
    }

    fn sql_value(&mut self, kind: SqlValueKind) -> Result<Expr> {
        let pos = self.pos();
        self.bump();
        let mut precision = None;
        use SqlValueKind::*;
        if matches!(kind, CurrentTime | CurrentTimestamp | LocalTime | LocalTimestamp)
            && self.accept(T::LParen)
        {
            precision = Some(self.iconst()?);
            self.expect(T::RParen)?;
        }
        Ok(mk(ExprKind::SqlValue { kind, precision }, pos))
    }

    /// Words with a syntax of their own after the parenthesis.
    fn special_call(&mut self, kw: Kw) -> Result<Option<Expr>> {
        let pos = self.pos();
        Ok(Some(match kw {
            Kw::Coalesce => {
                self.bump();
                mk(ExprKind::Coalesce(self.paren_list(|p| p.expr())?), pos)
            }
            Kw::Greatest | Kw::Least => {
                self.bump();
                let args = self.paren_list(|p| p.expr())?;
                mk(ExprKind::MinMax { greatest: kw == Kw::Greatest, args }, pos)
            }
            Kw::Nullif => {
                self.at += 2;
                let a = boxed(self.expr()?);
                self.expect(T::Comma)?;
                let b = boxed(self.expr()?);
                self.expect(T::RParen)?;
                mk(ExprKind::NullIf(a, b), pos)
            }
            Kw::Exists => {
                self.bump();
                if !self.at_select_parens() {
                    self.bump();
                    return Err(self.unexpected());
                }
                let query = self.select_parens()?;
                let link = Sublink { kind: SublinkKind::Exists, query };
                mk(ExprKind::Sublink(Box::new(link)), pos)
            }
            Kw::Row => {
                self.at += 2;
                let fields = if self.is(T::RParen) { Vec::new() } else { self.expr_list()? };
                self.expect(T::RParen)?;
                return self
                    .opt_overlaps(mk(ExprKind::Row { fields, explicit: true }, pos))
                    .map(Some);
            }
            Kw::Grouping => {
                self.bump();
                mk(ExprKind::Grouping(self.paren_list(|p| p.expr())?), pos)
            }
            Kw::Extract => self.extract()?,
            Kw::Overlay => self.overlay()?,
            Kw::Position => {
                self.at += 2;
                let needle = self.b_expr()?;
                self.expect_kw(Kw::In)?;
                let hay = self.b_expr()?;
                self.expect(T::RParen)?;
                sql_func("position", vec![hay, needle], pos)
            }
            Kw::Substring => self.substring()?,
            Kw::Trim => self.trim()?,
            Kw::Treat => self.treat()?,
            Kw::Normalize => {
                self.at += 2;
                let mut args = vec![self.expr()?];
                if self.accept(T::Comma) {
                    if !self.is_any(&[Kw::Nfc, Kw::Nfd, Kw::Nfkc, Kw::Nfkd]) {
                        return Err(self.unexpected());
                    }
                    args.push(self.normal_form());
                }
                self.expect(T::RParen)?;
                sql_func("normalize", args, pos)
            }
            Kw::MergeAction => {
                self.at += 2;
                self.expect(T::RParen)?;
                mk(ExprKind::MergeAction, pos)
            }
            _ => return self.json_or_xml_call(kw),
        }))
    }

    fn case_expr(&mut self) -> Result<Expr> {
        base::stack::check()?;
        let pos = self.pos();
        self.bump();
        let arg = if self.is_kw(Kw::When) { None } else { Some(boxed(self.expr()?)) };
        let mut whens = Vec::new();
        if !self.is_kw(Kw::When) {
            return Err(self.unexpected());
        }
        while self.is_kw(Kw::When) {
            let at = self.pos();
            self.bump();
            let when = self.expr()?;
            self.expect_kw(Kw::Then)?;
            whens.push(CaseWhen { when, then: self.expr()?, pos: at });
        }
        let otherwise = if self.accept_kw(Kw::Else) { Some(boxed(self.expr()?)) } else { None };
        self.expect_kw(Kw::End)?;
        Ok(mk(ExprKind::Case { arg, whens, otherwise }, pos))
    }

    fn cast_expr(&mut self) -> Result<Expr> {
        let pos = self.pos();
        self.bump();
        self.expect(T::LParen)?;
        let expr = boxed(self.expr()?);
        self.expect_kw(Kw::As)?;
        let type_name = Box::new(self.type_name()?);
        self.expect(T::RParen)?;
        Ok(mk(ExprKind::Cast { expr, type_name }, pos))
    }

    fn array_expr(&mut self) -> Result<Expr> {
        let pos = self.pos();
        self.bump();
        if self.is(T::LParen) {
            if !self.at_select_parens() {
                self.bump();
                return Err(self.unexpected());
            }
            let query = self.select_parens()?;
            let link = Sublink { kind: SublinkKind::Array, query };
            return Ok(mk(ExprKind::Sublink(Box::new(link)), pos));
        }
        let found = self.array_list()?;
        Ok(Expr { pos, ..found })
    }

    /// `[ .. ]`, whose elements are all lists or all expressions.
    fn array_list(&mut self) -> Result<Expr> {
        base::stack::check()?;
        let pos = self.pos();
        self.expect(T::LBracket)?;
        let elements = match self.tok().kind {
            T::RBracket => Vec::new(),
            T::LBracket => self.list(|p| p.array_list())?,
            _ => self.expr_list()?,
        };
        self.expect(T::RBracket)?;
        Ok(mk(ExprKind::Array(elements), pos))
    }

    fn extract(&mut self) -> Result<Expr> {
        let pos = self.pos();
        self.at += 2;
        let token = self.tok();
        let field = match token.kind {
            T::Ident => {
                self.bump();
                self.name_of(token)
            }
            T::Str => self.sconst()?,
            _ if self.is_any(&[Kw::Year, Kw::Month, Kw::Day, Kw::Hour, Kw::Minute, Kw::Second]) => {
                self.bump();
                self.name_of(token)
            }
            _ => return Err(self.unexpected()),
        };
        self.expect_kw(Kw::From)?;
        let from = self.expr()?;
        self.expect(T::RParen)?;
        Ok(sql_func("extract", vec![string_expr(field, token.start), from], pos))
    }

    /// func_arg_list_opt where the special syntax was not used: a plain call.
    fn plain_call(&mut self, name: &str, pos: Pos) -> Result<Expr> {
        let mut call = FuncCall::new(Name { parts: vec![name.to_owned()], pos }, Vec::new());
        if !self.is(T::RParen) {
            call.args = self.list(|p| p.func_arg())?;
        }
        self.expect(T::RParen)?;
        Ok(mk(ExprKind::Func(Box::new(call)), pos))
    }

    fn overlay(&mut self) -> Result<Expr> {
        let pos = self.pos();
        self.at += 2;
        let start = self.at;
        if !self.is(T::RParen) {
            let target = self.func_arg()?;
            if self.accept_kw(Kw::Placing) {
                let mut args = vec![target, self.expr()?];
                self.expect_kw(Kw::From)?;
                args.push(self.expr()?);
                if self.accept_kw(Kw::For) {
                    args.push(self.expr()?);
                }
                self.expect(T::RParen)?;
                return Ok(sql_func("overlay", args, pos));
            }
            self.at = start;
        }
        self.plain_call("overlay", pos)
    }

    fn substring(&mut self) -> Result<Expr> {
        let pos = self.pos();
        self.at += 2;
        let start = self.at;
        if !self.is(T::RParen) {
            let target = self.func_arg()?;
            match self.kw() {
                Kw::From => {
                    self.bump();
                    let mut args = vec![target, self.expr()?];
                    if self.accept_kw(Kw::For) {
                        args.push(self.expr()?);
                    }
                    self.expect(T::RParen)?;
                    return Ok(sql_func("substring", args, pos));
                }
                Kw::For => {
                    self.bump();
                    let at = self.pos();
                    let count = self.expr()?;
                    if self.accept_kw(Kw::From) {
                        let args = vec![target, self.expr()?, count];
                        self.expect(T::RParen)?;
                        return Ok(sql_func("substring", args, pos));
                    }
                    self.expect(T::RParen)?;
                    // The cast tells substring(text, text, text) apart from the one meant.
                    let int4 = Box::new(system_type("int4", NO_POS));
                    let cast = ExprKind::Cast { expr: boxed(count), type_name: int4 };
                    let one = super::types::int_expr(1, NO_POS);
                    return Ok(sql_func("substring", vec![target, one, mk(cast, at)], pos));
                }
                Kw::Similar => {
                    self.bump();
                    let pattern = self.expr()?;
                    self.expect_kw(Kw::Escape)?;
                    let args = vec![target, pattern, self.expr()?];
                    self.expect(T::RParen)?;
                    return Ok(sql_func("substring", args, pos));
                }
                _ => self.at = start,
            }
        }
        self.plain_call("substring", pos)
    }

    fn trim(&mut self) -> Result<Expr> {
        let pos = self.pos();
        self.at += 2;
        let name = match self.kw() {
            Kw::Leading => "ltrim",
            Kw::Trailing => "rtrim",
            _ => "btrim",
        };
        if self.is_any(&[Kw::Both, Kw::Leading, Kw::Trailing]) {
            self.bump();
        }
        let args = if self.accept_kw(Kw::From) {
            self.expr_list()?
        } else {
            let first = self.expr()?;
            if self.accept_kw(Kw::From) {
                let mut args = self.expr_list()?;
                args.push(first);
                args
            } else {
                let mut args = vec![first];
                while self.accept(T::Comma) {
                    args.push(self.expr()?);
                }
                args
            }
        };
        self.expect(T::RParen)?;
        Ok(sql_func(name, args, pos))
    }

    /// TREAT(e AS t) calls the function that has the type's name.
    fn treat(&mut self) -> Result<Expr> {
        let pos = self.pos();
        self.at += 2;
        let arg = self.expr()?;
        self.expect_kw(Kw::As)?;
        let target = self.type_name()?;
        self.expect(T::RParen)?;
        let name = target.names.last().cloned().unwrap_or_default();
        let call = FuncCall::new(Name::system(&name, pos), vec![arg]);
        Ok(mk(ExprKind::Func(Box::new(call)), pos))
    }

    /// func_arg_expr.
    pub(super) fn func_arg(&mut self) -> Result<Expr> {
        let classes = [Category::Unreserved, Category::TypeFunc];
        if matches!(self.ahead(1).kind, T::ColonEquals | T::Arrow)
            && self.token_in(self.tok(), &classes)
        {
            let pos = self.pos();
            let name = self.type_function_name()?;
            self.bump();
            let value = boxed(self.expr()?);
            return Ok(mk(ExprKind::NamedArg { name, value }, pos));
        }
        self.expr()
    }

    /// After a function's name, at the parenthesis: a call, or `type(modifiers) 'literal'`.
    pub(super) fn call_or_literal(&mut self, name: Name) -> Result<Expr> {
        let pos = name.pos;
        let call = self.call_args(name)?;
        if self.is(T::Str) && !call.star && !call.distinct && !call.variadic {
            return self.modified_literal(call);
        }
        let call = self.call_tail(call)?;
        Ok(mk(ExprKind::Func(Box::new(call)), pos))
    }

    fn modified_literal(&mut self, call: FuncCall) -> Result<Expr> {
        for arg in &call.args {
            if let ExprKind::NamedArg { .. } = arg.kind {
                return Err(self.error_at(arg.pos, "type modifier cannot have parameter name"));
            }
        }
        if let Some(first) = call.order_by.first() {
            return Err(self.error_at(first.expr.pos, "type modifier cannot have ORDER BY"));
        }
        let pos = call.name.pos;
        let type_name =
            TypeName { typmods: call.args, ..super::expr::plain_type(call.name.parts, pos) };
        self.typed_literal(type_name)
    }

    /// func_application after the name.
    pub(super) fn call_args(&mut self, name: Name) -> Result<FuncCall> {
        base::stack::check()?;
        let mut call = FuncCall::new(name, Vec::new());
        self.expect(T::LParen)?;
        if self.accept(T::RParen) {
            return Ok(call);
        }
        if self.is(T::Star) && self.ahead(1).kind == T::RParen {
            self.at += 2;
            call.star = true;
            return Ok(call);
        }
        let all = self.accept_kw(Kw::All);
        call.distinct = !all && self.accept_kw(Kw::Distinct);
        loop {
            if self.is_kw(Kw::Variadic) && !all && !call.distinct {
                self.bump();
                call.variadic = true;
                call.args.push(self.func_arg()?);
                break;
            }
            call.args.push(self.func_arg()?);
            if !self.accept(T::Comma) {
                break;
            }
        }
        call.order_by = self.opt_sort()?;
        self.expect(T::RParen)?;
        Ok(call)
    }

    /// WITHIN GROUP, FILTER, OVER.
    fn call_tail(&mut self, mut call: FuncCall) -> Result<FuncCall> {
        if self.is_kw(Kw::Within) && self.kw_ahead(1) == Kw::Group {
            let pos = self.pos();
            if !call.order_by.is_empty() {
                let message = "cannot use multiple ORDER BY clauses with WITHIN GROUP";
                return Err(self.error_at(pos, message));
            }
            if call.distinct {
                return Err(self.error_at(pos, "cannot use DISTINCT with WITHIN GROUP"));
            }
            if call.variadic {
                return Err(self.error_at(pos, "cannot use VARIADIC with WITHIN GROUP"));
            }
            self.at += 2;
            self.expect(T::LParen)?;
            call.order_by = self.sort_clause()?;
            self.expect(T::RParen)?;
            call.within_group = true;
        }
        call.filter = self.opt_filter()?.map(boxed);
        call.over = self.opt_over()?.map(Box::new);
        Ok(call)
    }

    pub(super) fn opt_filter(&mut self) -> Result<Option<Expr>> {
        if !(self.is_kw(Kw::Filter) && self.ahead(1).kind == T::LParen) {
            return Ok(None);
        }
        self.at += 2;
        self.expect_kw(Kw::Where)?;
        let condition = self.expr()?;
        self.expect(T::RParen)?;
        Ok(Some(condition))
    }

    pub(super) fn opt_over(&mut self) -> Result<Option<WindowDef>> {
        if !self.is_kw(Kw::Over) {
            return Ok(None);
        }
        let (next, word) = (self.ahead(1), self.ahead(1));
        if next.kind == T::LParen {
            self.bump();
            return self.window_spec().map(Some);
        }
        if !self.token_in(word, &[Category::Unreserved, Category::ColName]) {
            return Ok(None);
        }
        self.bump();
        let pos = self.pos();
        let name = Some(self.col_id()?);
        Ok(Some(WindowDef {
            name,
            refname: None,
            partition_by: Vec::new(),
            order_by: Vec::new(),
            frame: None,
            pos,
        }))
    }

    /// func_expr where only a call is allowed: FROM, index elements, CALL.
    pub(super) fn func_expr_windowless(&mut self) -> Result<Expr> {
        let token = self.tok();
        let func_first = [Category::Unreserved, Category::TypeFunc];
        if token.kind == T::Ident
            || (self.token_in(token, &func_first)
                && sql_value_kind(token.kw).is_none()
                && token.kw != Kw::Collation)
            || (token.kw.category() == Some(Category::ColName) && self.ahead(1).kind == T::Dot)
            || (token.kw == Kw::CurrentSchema && self.ahead(1).kind == T::LParen)
        {
            let name = self.func_name()?;
            let pos = name.pos;
            if !self.is(T::LParen) {
                return Err(self.unexpected());
            }
            let call = self.call_args(name)?;
            return Ok(mk(ExprKind::Func(Box::new(call)), pos));
        }
        self.keyword_expr()
    }

    /// func_name.
    pub(super) fn func_name(&mut self) -> Result<Name> {
        let pos = self.pos();
        let dotted = self.ahead(1).kind == T::Dot;
        let classes: &[Category] = if dotted {
            &[Category::Unreserved, Category::ColName, Category::TypeFunc]
        } else {
            &[Category::Unreserved, Category::TypeFunc]
        };
        let mut parts = vec![self.name_in(classes)?];
        while self.accept(T::Dot) {
            parts.push(self.col_label()?);
        }
        Ok(Name { parts, pos })
    }
}

pub(super) fn sql_value_kind(kw: Kw) -> Option<SqlValueKind> {
    Some(match kw {
        Kw::CurrentDate => SqlValueKind::CurrentDate,
        Kw::CurrentTime => SqlValueKind::CurrentTime,
        Kw::CurrentTimestamp => SqlValueKind::CurrentTimestamp,
        Kw::Localtime => SqlValueKind::LocalTime,
        Kw::Localtimestamp => SqlValueKind::LocalTimestamp,
        Kw::CurrentRole => SqlValueKind::CurrentRole,
        Kw::CurrentUser => SqlValueKind::CurrentUser,
        Kw::User => SqlValueKind::User,
        Kw::SessionUser => SqlValueKind::SessionUser,
        Kw::SystemUser => SqlValueKind::SystemUser,
        Kw::CurrentCatalog => SqlValueKind::CurrentCatalog,
        Kw::CurrentSchema => SqlValueKind::CurrentSchema,
        _ => return None,
    })
}
