//! Expressions: precedence climbing over PostgreSQL's table.

use super::*;
use std::borrow::Cow;

/// Binding strengths, weakest first.
pub(super) mod prec {
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const NOT: u8 = 3;
    pub const IS: u8 = 4;
    pub const COMPARE: u8 = 5;
    pub const LIKE: u8 = 6;
    pub const OP: u8 = 8;
    pub const ADD: u8 = 9;
    pub const MUL: u8 = 10;
    pub const POW: u8 = 11;
    pub const AT: u8 = 12;
    pub const COLLATE: u8 = 13;
    pub const UMINUS: u8 = 14;
    pub const CAST: u8 = 16;
}

/// How long a chain of operators may get; trees are walked recursively later.
const MAX_CHAIN: usize = 5000;

pub(super) fn mk(kind: ExprKind, pos: Pos) -> Expr {
    Expr { kind, pos }
}

pub(super) fn boxed(expr: Expr) -> Box<Expr> {
    Box::new(expr)
}

/// What an infix or postfix token does.
enum Infix {
    Or,
    And,
    Is,
    Postfix(bool),
    Operator,
    Like(LikeKind, bool),
    Between(bool),
    In(bool),
    At,
    Collate,
    Cast,
}

impl Parser<'_> {
    /// a_expr.
    pub fn expr(&mut self) -> Result<Expr> {
        self.expr_prec(0, false)
    }

    /// b_expr: without AND, OR, NOT, IN, LIKE, BETWEEN, IS NULL and their kin.
    pub(super) fn b_expr(&mut self) -> Result<Expr> {
        self.expr_prec(0, true)
    }

    pub(super) fn expr_list(&mut self) -> Result<Vec<Expr>> {
        self.list(|p| p.expr())
    }

    pub(super) fn expr_prec(&mut self, min: u8, b: bool) -> Result<Expr> {
        base::stack::check()?;
        let mut left = self.prefix(b)?;
        // The strength of the non-associative operator whose right operand was just parsed.
        let mut nonassoc = 0;
        let mut chain = 0;
        while let Some((infix, strength)) = self.infix(b) {
            if strength < min {
                break;
            }
            if strength == nonassoc {
                return Err(self.unexpected());
            }
            chain += 1;
            if chain > MAX_CHAIN {
                return Err(base::stack::too_deep());
            }
            nonassoc = 0;
            left = self.apply(left, infix, strength, b, &mut nonassoc)?;
        }
        Ok(left)
    }

    /// What the token we are at does after an operand.
    fn infix(&self, b: bool) -> Option<(Infix, u8)> {
        let token = self.tok();
        Some(match token.kind {
            T::Keyword => return self.infix_word(token.kw, b),
            T::TypeCast => (Infix::Cast, prec::CAST),
            T::Plus | T::Minus => (Infix::Operator, prec::ADD),
            T::Star | T::Slash | T::Percent => (Infix::Operator, prec::MUL),
            T::Caret => (Infix::Operator, prec::POW),
            T::Lt | T::Gt | T::Eq | T::LessEquals | T::GreaterEquals | T::NotEquals => {
                (Infix::Operator, prec::COMPARE)
            }
            T::Op => (Infix::Operator, prec::OP),
            _ => return None,
        })
    }

    fn infix_word(&self, kw: Kw, b: bool) -> Option<(Infix, u8)> {
        let next = || self.kw_ahead(1);
        Some(match kw {
            Kw::Is if b => match (next(), self.kw_ahead(2)) {
                (Kw::Distinct | Kw::Document, _) | (Kw::Not, Kw::Distinct | Kw::Document) => {
                    (Infix::Is, prec::IS)
                }
                _ => return None,
            },
            Kw::Operator if self.ahead(1).kind == T::LParen => (Infix::Operator, prec::OP),
            _ if b => return None,
            Kw::Or => (Infix::Or, prec::OR),
            Kw::And => (Infix::And, prec::AND),
            Kw::Is => (Infix::Is, prec::IS),
            Kw::Isnull => (Infix::Postfix(false), prec::IS),
            Kw::Notnull => (Infix::Postfix(true), prec::IS),
            Kw::Like => (Infix::Like(LikeKind::Like, false), prec::LIKE),
            Kw::Ilike => (Infix::Like(LikeKind::ILike, false), prec::LIKE),
            Kw::Similar if next() == Kw::To => {
                (Infix::Like(LikeKind::SimilarTo, false), prec::LIKE)
            }
            Kw::Between => (Infix::Between(false), prec::LIKE),
            Kw::In => (Infix::In(false), prec::LIKE),
            Kw::Not => match next() {
                Kw::Like => (Infix::Like(LikeKind::Like, true), prec::LIKE),
                Kw::Ilike => (Infix::Like(LikeKind::ILike, true), prec::LIKE),
                Kw::Similar => (Infix::Like(LikeKind::SimilarTo, true), prec::LIKE),
                Kw::Between => (Infix::Between(true), prec::LIKE),
                Kw::In => (Infix::In(true), prec::LIKE),
                _ => return None,
            },
            Kw::At => (Infix::At, prec::AT),
            Kw::Collate => (Infix::Collate, prec::COLLATE),
            _ => return None,
        })
    }

    fn apply(
        &mut self,
        left: Expr,
        infix: Infix,
        strength: u8,
        b: bool,
        nonassoc: &mut u8,
    ) -> Result<Expr> {
        let pos = self.pos();
        match infix {
            Infix::Or | Infix::And => self.boolean_chain(left, strength, pos),
            Infix::Is => self.is_test(left, b, nonassoc),
            Infix::Postfix(negated) => {
                self.bump();
                Ok(mk(ExprKind::IsNull { expr: boxed(left), negated }, pos))
            }
            Infix::Operator => self.binary(left, strength, b, nonassoc),
            Infix::Like(kind, negated) => self.like(left, kind, negated, nonassoc),
            Infix::Between(negated) => {
                self.at += 1 + negated as usize;
                let symmetric = self.accept_kw(Kw::Symmetric);
                if !symmetric {
                    self.accept_kw(Kw::Asymmetric);
                }
                let low = boxed(self.b_expr()?);
                self.expect_kw(Kw::And)?;
                let high = boxed(self.expr_prec(prec::LIKE + 1, false)?);
                *nonassoc = prec::LIKE;
                let expr = boxed(left);
                Ok(mk(ExprKind::Between { negated, symmetric, expr, low, high }, pos))
            }
            Infix::In(negated) => self.in_list(left, negated),
            Infix::At => self.at_time_zone(left),
            Infix::Collate => {
                self.bump();
                let collation = self.any_name()?;
                Ok(mk(ExprKind::Collate { expr: boxed(left), collation }, pos))
            }
            Infix::Cast => {
                self.bump();
                let type_name = Box::new(self.type_name()?);
                Ok(mk(ExprKind::Cast { expr: boxed(left), type_name }, pos))
            }
        }
    }

    /// AND and OR chains become one flat node.
    fn boolean_chain(&mut self, left: Expr, strength: u8, pos: Pos) -> Result<Expr> {
        let word = self.kw();
        let mut list = Vec::with_capacity(4);
        match (left.kind, word) {
            (ExprKind::And(inner), Kw::And) => list = inner,
            (ExprKind::Or(inner), Kw::Or) => list = inner,
            (kind, _) => list.push(mk(kind, left.pos)),
        }
        while self.accept_kw(word) {
            list.push(self.expr_prec(strength + 1, false)?);
        }
        Ok(mk(if word == Kw::And { ExprKind::And(list) } else { ExprKind::Or(list) }, pos))
    }

    /// The operator we are at, as a name.
    pub(super) fn operator_name(&mut self) -> Result<OpName> {
        let pos = self.pos();
        if self.is_kw(Kw::Operator) {
            self.bump();
            self.expect(T::LParen)?;
            let op = self.any_operator()?;
            self.expect(T::RParen)?;
            return Ok(OpName { pos, ..op });
        }
        self.all_op()
    }

    /// any_operator: `{name.} op`.
    pub(super) fn any_operator(&mut self) -> Result<OpName> {
        let mut schema = Vec::new();
        while self.is_col_id() {
            schema.push(self.col_id()?);
            self.expect(T::Dot)?;
        }
        Ok(OpName { schema, ..self.all_op()? })
    }

    pub(super) fn all_op(&mut self) -> Result<OpName> {
        let token = self.tok();
        let name: Cow<'static, str> = match token.kind {
            T::Op => self.text(token).to_owned().into(),
            T::Plus => "+".into(),
            T::Minus => "-".into(),
            T::Star => "*".into(),
            T::Slash => "/".into(),
            T::Percent => "%".into(),
            T::Caret => "^".into(),
            T::Lt => "<".into(),
            T::Gt => ">".into(),
            T::Eq => "=".into(),
            T::LessEquals => "<=".into(),
            T::GreaterEquals => ">=".into(),
            T::NotEquals => "<>".into(),
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(OpName { schema: Vec::new(), name, pos: token.start })
    }

    fn binary(&mut self, left: Expr, strength: u8, b: bool, nonassoc: &mut u8) -> Result<Expr> {
        let op = self.operator_name()?;
        let pos = op.pos;
        if !b && self.is_any(&[Kw::Any, Kw::Some, Kw::All]) {
            return self.any_all(left, op);
        }
        let right = boxed(self.expr_prec(strength + 1, b)?);
        if strength == prec::COMPARE {
            *nonassoc = prec::COMPARE;
        }
        if self.transform_null_equals && op.name == "=" && op.schema.is_empty() {
            let is_null = |e: &Expr| matches!(e.kind, ExprKind::Literal(Literal::Null));
            let compared = match (is_null(&left), is_null(&right)) {
                (_, true) => Some(boxed(left.clone())),
                (true, false) => Some(right.clone()),
                _ => None,
            };
            if let Some(expr) = compared {
                return Ok(mk(ExprKind::IsNull { expr, negated: false }, pos));
            }
        }
        Ok(mk(ExprKind::Op { op, left: Some(boxed(left)), right }, pos))
    }

    /// After the operator, at ANY / SOME / ALL.
    fn any_all(&mut self, left: Expr, op: OpName) -> Result<Expr> {
        let pos = op.pos;
        let all = self.bump().kw == Kw::All;
        if !self.is(T::LParen) {
            return Err(self.unexpected());
        }
        if self.at_select_parens() {
            let query = self.select_parens()?;
            let kind = if all {
                SublinkKind::All { left, op }
            } else {
                SublinkKind::Any { left, op: Some(op) }
            };
            return Ok(mk(ExprKind::Sublink(Box::new(Sublink { kind, query })), pos));
        }
        self.bump();
        let right = boxed(self.expr()?);
        self.expect(T::RParen)?;
        Ok(mk(ExprKind::OpAny { op, left: boxed(left), right, all }, pos))
    }

    fn like(
        &mut self,
        left: Expr,
        kind: LikeKind,
        negated: bool,
        nonassoc: &mut u8,
    ) -> Result<Expr> {
        let pos = self.pos();
        self.at += 1 + negated as usize;
        if kind == LikeKind::SimilarTo {
            self.expect_kw(Kw::To)?;
        } else if self.is_any(&[Kw::Any, Kw::Some, Kw::All]) {
            let name = match (kind, negated) {
                (LikeKind::ILike, false) => "~~*",
                (LikeKind::ILike, true) => "!~~*",
                (_, false) => "~~",
                (_, true) => "!~~",
            };
            return self.any_all(left, OpName { schema: Vec::new(), name: name.into(), pos });
        }
        let pattern = boxed(self.expr_prec(prec::LIKE + 1, false)?);
        let mut escape = None;
        if self.accept_kw(Kw::Escape) {
            escape = Some(boxed(self.expr_prec(prec::LIKE + 1, false)?));
        }
        *nonassoc = prec::LIKE;
        Ok(mk(ExprKind::Like { kind, negated, expr: boxed(left), pattern, escape }, pos))
    }

    fn in_list(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        let pos = self.pos();
        self.at += 1 + negated as usize;
        if self.is(T::LParen) && self.at_select_parens() {
            let query = self.select_parens()?;
            let kind = SublinkKind::Any { left, op: None };
            let link = mk(ExprKind::Sublink(Box::new(Sublink { kind, query })), pos);
            return Ok(if negated { mk(ExprKind::Not(boxed(link)), pos) } else { link });
        }
        let list = self.paren_list(|p| p.expr())?;
        Ok(mk(ExprKind::In { expr: boxed(left), list, negated }, pos))
    }

    fn at_time_zone(&mut self, left: Expr) -> Result<Expr> {
        let pos = self.pos();
        self.bump();
        let args = if self.accept_kw(Kw::Local) {
            vec![left]
        } else {
            self.expect_kws(&[Kw::Time, Kw::Zone])?;
            vec![self.expr_prec(prec::AT + 1, false)?, left]
        };
        Ok(sql_func("timezone", args, pos))
    }

    fn is_test(&mut self, left: Expr, b: bool, nonassoc: &mut u8) -> Result<Expr> {
        let pos = self.pos();
        self.bump();
        let negated = self.accept_kw(Kw::Not);
        let expr = boxed(left);
        let kind = match self.kw() {
            Kw::Distinct => {
                self.bump();
                self.expect_kw(Kw::From)?;
                let right = boxed(self.expr_prec(prec::IS + 1, b)?);
                *nonassoc = prec::IS;
                ExprKind::IsDistinct { left: expr, right, negated }
            }
            Kw::Document => {
                self.bump();
                ExprKind::IsDocument { expr, negated }
            }
            Kw::Null => {
                self.bump();
                ExprKind::IsNull { expr, negated }
            }
            Kw::True | Kw::False | Kw::Unknown => {
                let value = match self.bump().kw {
                    Kw::True => Some(true),
                    Kw::False => Some(false),
                    _ => None,
                };
                ExprKind::IsBool { expr, value, negated }
            }
            Kw::Normalized | Kw::Nfc | Kw::Nfd | Kw::Nfkc | Kw::Nfkd => {
                let mut args = vec![*expr];
                if !self.is_kw(Kw::Normalized) {
                    args.push(self.normal_form());
                }
                self.expect_kw(Kw::Normalized)?;
                let call = sql_func("is_normalized", args, pos);
                return Ok(if negated { mk(ExprKind::Not(boxed(call)), pos) } else { call });
            }
            Kw::Json => self.is_json(expr, negated)?,
            _ => return Err(self.unexpected()),
        };
        Ok(mk(kind, pos))
    }

    /// NFC and its kin, as a string.
    pub(super) fn normal_form(&mut self) -> Expr {
        let token = self.bump();
        string_expr(self.text(token).to_ascii_uppercase(), token.start)
    }

    fn prefix(&mut self, b: bool) -> Result<Expr> {
        let pos = self.pos();
        match self.tok().kind {
            T::Plus | T::Minus => {
                let op = self.all_op()?;
                let right = self.expr_prec(prec::UMINUS, b)?;
                Ok(signed(op, right, pos))
            }
            T::Op => {
                let op = self.operator_name()?;
                let right = boxed(self.expr_prec(prec::OP + 1, b)?);
                Ok(mk(ExprKind::Op { op, left: None, right }, pos))
            }
            T::Keyword => match self.kw() {
                Kw::Not if !b => {
                    self.bump();
                    let inner = self.expr_prec(prec::NOT, b)?;
                    Ok(mk(ExprKind::Not(boxed(inner)), pos))
                }
                Kw::Operator if self.ahead(1).kind == T::LParen => {
                    let op = self.operator_name()?;
                    let right = boxed(self.expr_prec(prec::OP + 1, b)?);
                    Ok(mk(ExprKind::Op { op, left: None, right }, pos))
                }
                Kw::Default if !b => {
                    self.bump();
                    Ok(mk(ExprKind::Default, pos))
                }
                Kw::Unique if !b && self.unique_predicate() => Err(Error::new(
                    base::SqlState::FEATURE_NOT_SUPPORTED,
                    "UNIQUE predicate is not yet implemented",
                )
                .at(pos)),
                _ => self.primary(),
            },
            _ => self.primary(),
        }
    }

    fn unique_predicate(&self) -> bool {
        self.ahead(1).kind == T::LParen
    }

    /// c_expr.
    pub(super) fn primary(&mut self) -> Result<Expr> {
        let token = self.tok();
        let pos = token.start;
        match token.kind {
            T::Ident => self.name_expr(),
            T::Keyword => self.keyword_expr(),
            T::Int => {
                self.bump();
                Ok(mk(ExprKind::Literal(Literal::Integer(token.side as i32)), pos))
            }
            T::Float => {
                self.bump();
                Ok(mk(ExprKind::Literal(Literal::Float(self.text(token).to_owned())), pos))
            }
            T::Str => {
                self.bump();
                Ok(string_expr(self.str_of(token), pos))
            }
            T::Bit => {
                self.bump();
                let text = self.decoded[token.side as usize - 1].clone();
                Ok(mk(ExprKind::Literal(Literal::BitString(text)), pos))
            }
            T::Param => {
                self.bump();
                let base = mk(ExprKind::Param(token.side), pos);
                self.opt_indirection(base)
            }
            T::LParen => self.paren_expr(),
            _ => Err(self.unexpected()),
        }
    }

    /// At `(`: a subquery, a row, or an expression in parentheses.
    fn paren_expr(&mut self) -> Result<Expr> {
        base::stack::check()?;
        let pos = self.pos();
        if self.at_select_parens() {
            let query = self.select_parens()?;
            let link = Sublink { kind: SublinkKind::Scalar, query };
            return self.opt_indirection(mk(ExprKind::Sublink(Box::new(link)), pos));
        }
        self.bump();
        let first = self.expr()?;
        if self.is(T::Comma) {
            let mut fields = vec![first];
            while self.accept(T::Comma) {
                fields.push(self.expr()?);
            }
            self.expect(T::RParen)?;
            return self.opt_overlaps(mk(ExprKind::Row { fields, explicit: false }, pos));
        }
        self.expect(T::RParen)?;
        self.opt_indirection(first)
    }

    /// After a row: OVERLAPS row.
    pub(super) fn opt_overlaps(&mut self, left: Expr) -> Result<Expr> {
        if !self.is_kw(Kw::Overlaps) {
            return Ok(left);
        }
        let pos = left.pos;
        self.bump();
        let right_pos = self.pos();
        let right = self.primary()?;
        let (ExprKind::Row { fields: l, .. }, ExprKind::Row { fields: r, .. }) =
            (left.kind, right.kind)
        else {
            return Err(self.unexpected_at(self.token_at(right_pos)));
        };
        if l.len() != 2 {
            let message = "wrong number of parameters on left side of OVERLAPS expression";
            return Err(self.error_at(pos, message));
        }
        if r.len() != 2 {
            let message = "wrong number of parameters on right side of OVERLAPS expression";
            return Err(self.error_at(right_pos, message));
        }
        Ok(sql_func("overlaps", l.into_iter().chain(r).collect(), pos))
    }

    fn token_at(&self, pos: Pos) -> Token {
        let found = self.tokens.iter().find(|t| t.start == pos);
        found.copied().unwrap_or(self.tok())
    }

    /// Steps after anything but a plain column name.
    pub(super) fn opt_indirection(&mut self, base: Expr) -> Result<Expr> {
        if !self.is(T::Dot) && !self.is(T::LBracket) {
            return Ok(base);
        }
        let pos = base.pos;
        let steps = self.indirection()?;
        Ok(mk(ExprKind::Indirection { expr: boxed(base), steps }, pos))
    }

    /// `.name`, `.*`, `[i]`, `[l:u]`.
    pub(super) fn indirection(&mut self) -> Result<Vec<Indirection>> {
        let mut steps = Vec::new();
        loop {
            let pos = self.pos();
            if self.accept(T::Dot) {
                if self.accept(T::Star) {
                    steps.push(Indirection::Star(pos));
                } else {
                    let at = self.pos();
                    steps.push(Indirection::Field(self.col_label()?, at));
                }
            } else if self.accept(T::LBracket) {
                steps.push(self.subscript()?);
            } else {
                break;
            }
        }
        // A star must be last.
        let star = |s: &Indirection| matches!(s, Indirection::Star(_));
        if let Some(i) = steps.iter().position(star)
            && i + 1 < steps.len()
        {
            return Err(self.error_near("improper use of \"*\""));
        }
        Ok(steps)
    }

    /// After `[`.
    fn subscript(&mut self) -> Result<Indirection> {
        let mut low = None;
        if !self.is(T::Colon) {
            low = Some(self.expr()?);
        }
        if self.accept(T::Colon) {
            let high = if self.is(T::RBracket) { None } else { Some(self.expr()?) };
            self.expect(T::RBracket)?;
            return Ok(Indirection::Slice(low, high));
        }
        self.expect(T::RBracket)?;
        match low {
            Some(index) => Ok(Indirection::Index(index)),
            None => Err(self.unexpected()),
        }
    }

    /// At an identifier or an unreserved word: a column, a call, or a typed literal.
    pub(super) fn name_expr(&mut self) -> Result<Expr> {
        let next = self.ahead(1).kind;
        let pos = self.pos();
        if !matches!(next, T::Dot | T::LParen | T::Str | T::LBracket) {
            let token = self.bump();
            return Ok(column(vec![self.name_of(token)], pos));
        }
        let mut parts = Vec::with_capacity(2);
        let token = self.bump();
        parts.push(self.name_of(token));
        while self.is(T::Dot) {
            self.bump();
            if self.is(T::Star) {
                self.bump();
                if self.is(T::Dot) || self.is(T::LBracket) {
                    return Err(self.error_near("improper use of \"*\""));
                }
                return Ok(mk(ExprKind::Column { parts, star: true }, pos));
            }
            parts.push(self.col_label()?);
        }
        self.after_name(Name { parts, pos })
    }

    /// After a dotted name.
    pub(super) fn after_name(&mut self, name: Name) -> Result<Expr> {
        match self.tok().kind {
            T::LParen => self.call_or_literal(name),
            T::Str => {
                let pos = name.pos;
                let type_name = plain_type(name.parts, pos);
                self.typed_literal(type_name)
            }
            T::LBracket => {
                let base = column(name.parts, name.pos);
                self.opt_indirection(base)
            }
            _ => Ok(column(name.parts, name.pos)),
        }
    }

    /// `type 'literal'` at the string.
    pub(super) fn typed_literal(&mut self, type_name: TypeName) -> Result<Expr> {
        let pos = self.pos();
        let literal = string_expr(self.sconst()?, pos);
        let at = type_name.pos;
        Ok(mk(ExprKind::Cast { expr: boxed(literal), type_name: Box::new(type_name) }, at))
    }
}

/// A call of a built-in function through special syntax.
pub(super) fn sql_func(name: &str, args: Vec<Expr>, pos: Pos) -> Expr {
    let call = FuncCall { sql_syntax: true, ..FuncCall::new(Name::system(name, pos), args) };
    mk(ExprKind::Func(Box::new(call)), pos)
}

pub(super) fn string_expr(text: String, pos: Pos) -> Expr {
    mk(ExprKind::Literal(Literal::String(text)), pos)
}

pub(super) fn column(parts: Vec<String>, pos: Pos) -> Expr {
    mk(ExprKind::Column { parts, star: false }, pos)
}

pub(super) fn plain_type(names: Vec<String>, pos: Pos) -> TypeName {
    TypeName {
        names,
        setof: false,
        pct_type: false,
        typmods: Vec::new(),
        array_bounds: Vec::new(),
        pos,
    }
}

/// A sign before a number belongs to the literal.
fn signed(op: OpName, right: Expr, pos: Pos) -> Expr {
    if op.name == "-" {
        match right.kind {
            ExprKind::Literal(Literal::Integer(n)) => {
                return mk(ExprKind::Literal(Literal::Integer(-n)), pos);
            }
            ExprKind::Literal(Literal::Float(text)) => {
                let text = match text.strip_prefix('-') {
                    Some(rest) => rest.to_owned(),
                    None => format!("-{text}"),
                };
                // The least int4 is only reached through the sign.
                let literal = match text.parse::<i32>() {
                    Ok(n) => Literal::Integer(n),
                    Err(_) => Literal::Float(text),
                };
                return mk(ExprKind::Literal(literal), pos);
            }
            _ => {}
        }
    }
    mk(ExprKind::Op { op, left: None, right: boxed(right) }, pos)
}
