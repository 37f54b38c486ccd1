//! XPath 1.0.

mod eval;
mod function;
mod lex;
mod parse;

pub use eval::{NodeRef, Value, node_text};

use super::Tree;
use std::collections::HashMap;

/// Why a path cannot be used.
#[derive(Clone, Debug)]
pub enum XPathError {
    /// Its text is wrong.
    Syntax(&'static str),
    /// It cannot be evaluated.
    Eval(String),
    /// The statement is not to go on.
    Stopped(base::Error),
}

impl From<base::Error> for XPathError {
    fn from(e: base::Error) -> XPathError {
        XPathError::Stopped(e)
    }
}

/// A path, ready to be evaluated.
#[derive(Clone, Debug)]
pub struct XPath {
    expr: parse::Expr,
}

impl XPath {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<XPath, XPathError> {
        let tokens = lex::tokens(text)?;
        Ok(XPath { expr: parse::Parser::new(tokens).whole()? })
    }

    /// The value of the path at a node, with the prefixes it may use.
    pub fn evaluate(
        &self,
        tree: &Tree,
        node: u32,
        prefixes: &HashMap<String, String>,
    ) -> Result<Value, XPathError> {
        let cx = eval::Context::new(tree, NodeRef::of(node), prefixes);
        cx.eval(&self.expr)
    }
}

/// A number as paths print it.
pub fn number_text(n: f64) -> String {
    if n.is_nan() {
        return "NaN".into();
    }
    if n.is_infinite() {
        return if n > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    if n == 0.0 {
        return "0".into();
    }
    if n == n.trunc() && n.abs() < 2147483648.0 {
        return format!("{}", n as i64);
    }
    // Fifteen digits, without zeros at the end; very large and small ones with an exponent.
    let shown = format!("{:.14e}", n);
    let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-5..9).contains(&exponent) {
        let places = (14 - exponent).max(0) as usize;
        let text = format!("{n:.places$}");
        return match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text,
        };
    }
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
