//! The grammar: recursive descent over a vector of tokens.
//!
//! Each function eats what it parses or returns the error of the first token that does not fit,
//! which is the token PostgreSQL's parser names. Alternatives are told apart by looking ahead,
//! never by trying one and going back.

mod alter;
mod alter_object;
mod command;
mod constraint;
mod create;
mod define;
mod dml;
mod expr;
mod foreign;
mod from;
mod func;
mod grant;
mod index;
mod json;
mod lists;
mod object;
mod routine;
mod select;
mod set;
mod statement;
mod table;
mod types;
mod xml;

use crate::ParseOptions;
use crate::ast::*;
use crate::keywords::{Category, Kw};
use crate::lexer::{self, T, Token};
use base::{Error, Result};

/// A parser at a place in its tokens.
pub(crate) struct Parser<'a> {
    src: &'a str,
    tokens: Vec<Token>,
    decoded: Vec<String>,
    error: Option<Error>,
    /// What the lexer has to say of the text, besides errors.
    pub notices: Vec<Error>,
    transform_null_equals: bool,
    at: usize,
}

impl<'a> Parser<'a> {
    /// A parser at the start of a text.
    pub fn new(src: &'a str, options: ParseOptions) -> Result<Self> {
        if src.len() >= u32::MAX as usize / 2 {
            return Err(base::err!(PROGRAM_LIMIT_EXCEEDED, "query string is too long"));
        }
        let tokens = lexer::tokenize(src, options);
        Ok(Parser {
            src,
            tokens: tokens.list,
            decoded: tokens.decoded,
            error: tokens.error,
            notices: tokens.notices,
            transform_null_equals: options.transform_null_equals,
            at: 0,
        })
    }

    /// All statements, separated by semicolons; empty ones are dropped.
    pub fn statements(&mut self) -> Result<Vec<RawStmt>> {
        let mut list = Vec::with_capacity(1);
        loop {
            while self.accept(T::Semi) {}
            if self.is(T::Eof) {
                return Ok(list);
            }
            let stmt = self.raw_statement()?;
            list.push(stmt);
            if !self.is(T::Semi) && !self.is(T::Eof) {
                return Err(self.unexpected());
            }
        }
    }

    fn raw_statement(&mut self) -> Result<RawStmt> {
        let location = self.pos();
        let stmt = self.statement()?;
        Ok(RawStmt { stmt, location, len: self.last_end() - location })
    }

    /// Runs one rule and demands the end of the text after it.
    pub fn whole<R>(&mut self, rule: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let found = rule(self)?;
        if !self.is(T::Eof) {
            return Err(self.unexpected());
        }
        Ok(found)
    }

    // Looking.

    #[inline]
    fn tok(&self) -> Token {
        self.tokens[self.at]
    }

    #[inline]
    fn ahead(&self, n: usize) -> Token {
        self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }

    #[inline]
    fn pos(&self) -> Pos {
        self.tok().start
    }

    fn last_end(&self) -> u32 {
        self.at.checked_sub(1).map_or(0, |i| self.tokens[i].end)
    }

    #[inline]
    fn kw(&self) -> Kw {
        self.tok().kw
    }

    #[inline]
    fn kw_ahead(&self, n: usize) -> Kw {
        self.ahead(n).kw
    }

    #[inline]
    fn is(&self, kind: T) -> bool {
        self.tok().kind == kind
    }

    #[inline]
    fn is_kw(&self, kw: Kw) -> bool {
        self.kw() == kw
    }

    fn is_kws(&self, kws: &[Kw]) -> bool {
        kws.iter().enumerate().all(|(i, &kw)| self.kw_ahead(i) == kw)
    }

    fn is_any(&self, kws: &[Kw]) -> bool {
        kws.contains(&self.kw())
    }

    // Eating.

    #[inline]
    fn bump(&mut self) -> Token {
        let token = self.tok();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    #[inline]
    fn accept(&mut self, kind: T) -> bool {
        let found = self.is(kind);
        if found {
            self.bump();
        }
        found
    }

    #[inline]
    fn accept_kw(&mut self, kw: Kw) -> bool {
        let found = self.is_kw(kw);
        if found {
            self.bump();
        }
        found
    }

    fn accept_kws(&mut self, kws: &[Kw]) -> bool {
        let found = self.is_kws(kws);
        if found {
            self.at += kws.len();
        }
        found
    }

    fn expect(&mut self, kind: T) -> Result<()> {
        if self.accept(kind) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_kw(&mut self, kw: Kw) -> Result<()> {
        if self.accept_kw(kw) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_kws(&mut self, kws: &[Kw]) -> Result<()> {
        kws.iter().try_for_each(|&kw| self.expect_kw(kw))
    }

    // Errors.

    /// The error for the token we are at.
    #[cold]
    fn unexpected(&self) -> Error {
        self.unexpected_at(self.tok())
    }

    #[cold]
    fn unexpected_at(&self, token: Token) -> Error {
        match token.kind {
            T::Error => match &self.error {
                Some(error) => error.clone(),
                None => Error::internal("lexical error without a message"),
            },
            T::Eof => base::err!(SYNTAX_ERROR, "syntax error at end of input").at(token.start),
            _ => base::err!(SYNTAX_ERROR, "syntax error at or near \"{}\"", self.text(token))
                .at(token.start),
        }
    }

    /// A syntax error with a message of its own.
    #[cold]
    fn error_at(&self, pos: Pos, message: &str) -> Error {
        base::err!(SYNTAX_ERROR, "{message}").at(pos)
    }

    /// PostgreSQL's parser_yyerror: the message and the token we are at.
    #[cold]
    fn error_near(&self, message: &str) -> Error {
        let token = self.tok();
        match token.kind {
            T::Eof => base::err!(SYNTAX_ERROR, "{message} at end of input").at(token.start),
            _ => base::err!(SYNTAX_ERROR, "{message} at or near \"{}\"", self.text(token))
                .at(token.start),
        }
    }

    // Names.

    fn text(&self, token: Token) -> &'a str {
        &self.src[token.start as usize..token.end as usize]
    }

    /// An identifier's or key word's value: folded, decoded, cut to length.
    fn name_of(&self, token: Token) -> String {
        if token.side != 0 && token.kind == T::Ident {
            return self.decoded[token.side as usize - 1].clone();
        }
        let mut name = self.text(token).to_owned();
        name.make_ascii_lowercase();
        lexer::truncate_name(&mut name);
        name
    }

    fn token_in(&self, token: Token, classes: &[Category]) -> bool {
        match token.kind {
            T::Ident => true,
            T::Keyword => token.kw.category().is_some_and(|c| classes.contains(&c)),
            _ => false,
        }
    }

    fn name_in(&mut self, classes: &[Category]) -> Result<String> {
        let token = self.tok();
        if !self.token_in(token, classes) {
            return Err(self.unexpected());
        }
        self.bump();
        Ok(self.name_of(token))
    }

    fn is_col_id(&self) -> bool {
        self.token_in(self.tok(), &[Category::Unreserved, Category::ColName])
    }

    /// ColId: names of columns, tables and the like.
    fn col_id(&mut self) -> Result<String> {
        self.name_in(&[Category::Unreserved, Category::ColName])
    }

    /// The same under the name that statements use.
    fn name(&mut self) -> Result<String> {
        self.col_id()
    }

    fn type_function_name(&mut self) -> Result<String> {
        self.name_in(&[Category::Unreserved, Category::TypeFunc])
    }

    fn non_reserved_word(&mut self) -> Result<String> {
        self.name_in(&[Category::Unreserved, Category::ColName, Category::TypeFunc])
    }

    fn is_col_label(&self) -> bool {
        matches!(self.tok().kind, T::Ident | T::Keyword)
    }

    /// ColLabel: any word.
    fn col_label(&mut self) -> Result<String> {
        if !self.is_col_label() {
            return Err(self.unexpected());
        }
        let token = self.bump();
        Ok(self.name_of(token))
    }

    fn is_bare_label(&self) -> bool {
        match self.tok().kind {
            T::Ident => true,
            T::Keyword => self.kw().info().is_some_and(|k| k.bare_label),
            _ => false,
        }
    }

    // Literals.

    /// The value of a string token.
    fn str_of(&self, token: Token) -> String {
        match token.side {
            0 => self.src[token.start as usize + 1..token.end as usize - 1].to_owned(),
            n => self.decoded[n as usize - 1].clone(),
        }
    }

    fn sconst(&mut self) -> Result<String> {
        if !self.is(T::Str) {
            return Err(self.unexpected());
        }
        let token = self.bump();
        Ok(self.str_of(token))
    }

    fn iconst(&mut self) -> Result<i32> {
        if !self.is(T::Int) {
            return Err(self.unexpected());
        }
        Ok(self.bump().side as i32)
    }

    fn signed_iconst(&mut self) -> Result<i32> {
        if self.accept(T::Minus) {
            return Ok(-self.iconst()?);
        }
        self.accept(T::Plus);
        self.iconst()
    }

    /// A number with an optional sign, as text.
    fn numeric_only(&mut self) -> Result<String> {
        let minus = self.accept(T::Minus);
        if !minus {
            self.accept(T::Plus);
        }
        if !self.is(T::Int) && !self.is(T::Float) {
            return Err(self.unexpected());
        }
        let token = self.bump();
        let text = match token.kind {
            T::Int => token.side.to_string(),
            _ => self.text(token).to_owned(),
        };
        Ok(if minus { format!("-{text}") } else { text })
    }

    /// `element {, element}`.
    fn list<R>(&mut self, mut element: impl FnMut(&mut Self) -> Result<R>) -> Result<Vec<R>> {
        let mut list = vec![element(self)?];
        while self.accept(T::Comma) {
            list.push(element(self)?);
        }
        Ok(list)
    }

    /// `( element {, element} )`.
    fn paren_list<R>(&mut self, element: impl FnMut(&mut Self) -> Result<R>) -> Result<Vec<R>> {
        self.expect(T::LParen)?;
        let list = self.list(element)?;
        self.expect(T::RParen)?;
        Ok(list)
    }

    /// `( names )` if a parenthesis is next.
    fn opt_paren_names(&mut self) -> Result<Vec<String>> {
        if self.is(T::LParen) { self.paren_list(|p| p.col_id()) } else { Ok(Vec::new()) }
    }

    fn name_list(&mut self) -> Result<Vec<String>> {
        self.list(|p| p.col_id())
    }

    /// `name {.name}`.
    pub fn any_name(&mut self) -> Result<Name> {
        let pos = self.pos();
        let mut parts = vec![self.col_id()?];
        while self.accept(T::Dot) {
            parts.push(self.col_label()?);
        }
        Ok(Name { parts, pos })
    }

    /// qualified_name: the name of a relation.
    fn rel_name(&mut self) -> Result<RelName> {
        let name = self.any_name()?;
        self.rel_of(name)
    }

    fn rel_of(&self, name: Name) -> Result<RelName> {
        let shown = name.parts.join(".");
        let pos = name.pos;
        let mut parts = name.parts.into_iter().rev();
        let last = parts.next().unwrap_or_default();
        let rel = RelName { schema: parts.next(), catalog: parts.next(), name: last, pos };
        if parts.next().is_some() {
            let message = format!("improper qualified name (too many dotted names): {shown}");
            return Err(self.error_at(pos, &message));
        }
        Ok(rel)
    }

    fn if_exists(&mut self) -> Result<bool> {
        if self.accept_kw(Kw::If) {
            self.expect_kw(Kw::Exists)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn if_not_exists(&mut self) -> Result<bool> {
        if self.is_kws(&[Kw::If, Kw::Not]) {
            self.expect_kws(&[Kw::If, Kw::Not, Kw::Exists])?;
            return Ok(true);
        }
        Ok(false)
    }

    /// CASCADE (true) or RESTRICT or nothing.
    fn opt_cascade(&mut self) -> bool {
        if self.accept_kw(Kw::Cascade) {
            return true;
        }
        self.accept_kw(Kw::Restrict);
        false
    }
}
