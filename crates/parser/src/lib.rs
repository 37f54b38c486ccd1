//! SQL text to syntax tree and back: PostgreSQL 18's lexical rules and grammar, by hand.
//!
//! Entry points: [`parse`] for a query string, [`parse_expr`], [`parse_type_name`] and
//! [`parse_name`] for fragments, [`deparse`] for the way back, [`keywords`] for quoting rules.
//! Invariants: every error has PostgreSQL's message and the byte offset of the token; no input
//! panics or overflows the stack; one statement's tree borrows nothing from the text.
//! It must never know what a name refers to: catalogs, types and settings are above it.

pub mod ast;
pub mod deparse;
mod grammar;
pub mod keywords;
mod lexer;

use base::Result;

/// Parses a query string of any number of statements.
pub fn parse(sql: &str) -> Result<Vec<ast::RawStmt>> {
    grammar::Parser::new(sql, ParseOptions::default())?.statements()
}

/// What changes the meaning of the text: settings of these names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseOptions {
    /// Backslashes in plain strings are ordinary characters.
    pub standard_conforming_strings: bool,
    /// Where they are not, their use is warned of.
    pub escape_string_warning: bool,
    /// `backslash_quote`: `\'` may stand for a quote.
    pub backslash_quote: bool,
    /// `a = NULL` means `a IS NULL`.
    pub transform_null_equals: bool,
}

impl Default for ParseOptions {
    fn default() -> Self {
        ParseOptions {
            standard_conforming_strings: true,
            escape_string_warning: true,
            backslash_quote: true,
            transform_null_equals: false,
        }
    }
}

/// [`parse`] under other settings. What the client is to be told of the text is put into
/// `notices`, even if the text turns out to be wrong.
pub fn parse_with(
    sql: &str,
    options: ParseOptions,
    notices: &mut Vec<base::Error>,
) -> Result<Vec<ast::RawStmt>> {
    let mut parser = grammar::Parser::new(sql, options)?;
    notices.append(&mut parser.notices);
    parser.statements()
}

/// Parses the whole text as one expression.
pub fn parse_expr(sql: &str) -> Result<ast::Expr> {
    grammar::Parser::new(sql, ParseOptions::default())?.whole(|p| p.expr())
}

/// Parses the whole text as a type's name, as `regtypein` does.
pub fn parse_type_name(sql: &str) -> Result<ast::TypeName> {
    grammar::Parser::new(sql, ParseOptions::default())?.whole(|p| p.type_name())
}

/// Parses the whole text as a possibly qualified name.
pub fn parse_name(sql: &str) -> Result<ast::Name> {
    grammar::Parser::new(sql, ParseOptions::default())?.whole(|p| p.any_name())
}
