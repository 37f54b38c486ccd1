//! Bound expressions and queries as SQL text, printed as PostgreSQL prints them.
//!
//! Entry points: [`expression`] (defaults, checks, index expressions), [`query`] (views, rules),
//! [`PlanPrinter`] (conditions in EXPLAIN). Names of objects come through [`Names`].

mod call;
mod columns;
mod constant;
mod expr;
mod fields;
mod from;
mod json;
mod modify;
mod names;
mod paren;
mod plan;
mod query;
mod scope;
mod setop;
mod special;
mod sublink;
mod window;
mod xml;

pub use constant::literal;
pub use names::{Names, ObjectName, quote_ident, quote_literal};
pub use plan::{Ancestor, PlanPrinter};

use crate::expr::{CoercionForm, Expr, OpKind, TargetEntry};
use crate::query::{Query, WindowClause};
use base::{Error, Result};
use scope::Scope;

/// Columns that a clause's contents are indented by.
const STEP: i32 = 8;
/// The same for what follows JOIN, and for columns.
const VAR_STEP: i32 = 4;
/// From here on indentation grows more slowly.
const INDENT_LIMIT: i32 = 40;

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Style {
    /// Leave out parentheses that are not needed.
    pub spare_parens: bool,
    /// Break lines between clauses.
    pub indent: bool,
}

impl Style {
    /// One line, all parentheses.
    pub const PLAIN: Style = Style { spare_parens: false, indent: false };
    /// Lines by clause, all parentheses: `pg_get_viewdef(oid)`.
    pub const LINES: Style = Style { spare_parens: false, indent: true };
    /// Lines by clause, few parentheses: `pg_get_viewdef(oid, true)`.
    pub const PRETTY: Style = Style { spare_parens: true, indent: true };

    /// What the `pretty` argument of the `pg_get_*` functions means.
    pub fn pretty(pretty: bool) -> Style {
        if pretty { Style::PRETTY } else { Style::LINES }
    }
}

/// A relation that an expression's columns belong to.
#[derive(Clone, Debug)]
pub struct Relation {
    /// What columns are qualified with, where they are.
    pub name: String,
    /// Its columns, by attribute number.
    pub columns: Vec<String>,
}

/// Prints an expression over the columns of at most a few relations (`varno` n is `of[n - 1]`).
/// Columns are qualified if there are several. Casts at the top that the parser put in are
/// printed only if `implicit`.
pub fn expression(
    expr: &Expr,
    of: &[Relation],
    names: &dyn Names,
    style: Style,
    implicit: bool,
) -> Result<String> {
    expression_at(0, expr, of, names, style, implicit)
}

/// As [`expression`], within a text that is indented so far.
pub fn expression_at(
    indent: i32,
    expr: &Expr,
    of: &[Relation],
    names: &dyn Names,
    style: Style,
    implicit: bool,
) -> Result<String> {
    let mut printer = Printer::new(names, style);
    printer.indent = indent;
    printer.prefix = of.len() > 1;
    printer.scopes.push(Scope::of_relations(of));
    printer.expr(expr, implicit);
    printer.finish()
}

/// True if an expression is printed as a function's call is.
pub fn looks_like_call(expr: &Expr) -> bool {
    match expr {
        Expr::Func(f) => {
            matches!(f.form, CoercionForm::ExplicitCall | CoercionForm::SqlSyntax)
        }
        Expr::Op(o) => o.kind == OpKind::NullIf,
        Expr::Coalesce { .. } | Expr::MinMax { .. } | Expr::SqlValue { .. } | Expr::Xml(_) => true,
        _ => false,
    }
}

/// Prints a query. `columns` are the names its result is known by (a view's columns); `wrap` is
/// the width from which lists are broken: 0 breaks after each item, -1 never.
pub fn query(
    query: &Query,
    columns: Option<&[String]>,
    names: &dyn Names,
    style: Style,
    wrap: i32,
) -> Result<String> {
    let mut printer = Printer::new(names, style);
    printer.wrap = wrap;
    printer.result_names = columns.map(<[String]>::to_vec);
    printer.query(query, true);
    printer.finish()
}

/// The parameters of the function whose body is printed.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    /// The function, for parameters among columns.
    pub function: String,
    /// Names by number; empty where there is none.
    pub names: Vec<String>,
}

/// A part of a function's body.
#[derive(Clone, Copy, Debug)]
pub enum BodyPart<'a> {
    /// RETURN's expression.
    Value(&'a Expr),
    /// A statement.
    Statement(&'a Query),
}

/// Prints a part of a function's body, where parameters have names.
pub fn body_part(
    part: BodyPart<'_>,
    params: &Parameters,
    names: &dyn Names,
    style: Style,
) -> Result<String> {
    let mut printer = Printer::new(names, style);
    printer.params = params.clone();
    match part {
        BodyPart::Value(expr) => printer.expr(expr, false),
        BodyPart::Statement(query) => {
            printer.indent = 1;
            printer.query(query, false);
        }
    }
    printer.finish()
}

/// Text under construction, and what names mean at this point.
struct Printer<'a> {
    names: &'a dyn Names,
    out: String,
    style: Style,
    wrap: i32,
    indent: i32,
    /// Columns are qualified.
    prefix: bool,
    /// Innermost last.
    scopes: Vec<Scope<'a>>,
    /// The current query's targets, for sort and group clauses.
    targets: &'a [TargetEntry],
    windows: &'a [WindowClause],
    /// Names that the result's columns have.
    result_names: Option<Vec<String>>,
    /// The printed expression is a sort column, where output names come first.
    in_order_by: bool,
    unsupported: Option<String>,
    params: Parameters,
}

impl<'a> Printer<'a> {
    fn new(names: &'a dyn Names, style: Style) -> Printer<'a> {
        Printer {
            names,
            out: String::new(),
            style,
            wrap: 0,
            indent: 0,
            prefix: false,
            scopes: Vec::new(),
            targets: &[],
            windows: &[],
            result_names: None,
            in_order_by: false,
            unsupported: None,
            params: Parameters::default(),
        }
    }

    fn finish(self) -> Result<String> {
        match self.unsupported {
            Some(what) => Err(Error::unsupported(what)),
            None => Ok(self.out),
        }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn put_ident(&mut self, name: &str) {
        let quoted = quote_ident(name);
        self.out.push_str(&quoted);
    }

    /// Starts a new line if lines are wanted, then prints `word`. The level of indentation
    /// changes by `before` for the line and by `after` behind it.
    fn clause(&mut self, word: &str, before: i32, after: i32, plus: i32) {
        if !self.style.indent {
            return self.put(word);
        }
        self.indent += before;
        self.trim();
        self.out.push('\n');
        let level = self.indent.max(0);
        let width = if level < INDENT_LIMIT {
            level
        } else {
            (INDENT_LIMIT + (level - INDENT_LIMIT) / (STEP / 2)) % INDENT_LIMIT
        };
        for _ in 0..width + plus {
            self.out.push(' ');
        }
        self.put(word);
        self.indent = (self.indent + after).max(0);
    }

    /// Takes away blanks at the end.
    fn trim(&mut self) {
        let len = self.out.trim_end_matches(' ').len();
        self.out.truncate(len);
    }

    /// Prints into a text of its own.
    fn aside(&mut self, print: impl FnOnce(&mut Self)) -> String {
        let outer = std::mem::take(&mut self.out);
        print(self);
        std::mem::replace(&mut self.out, outer)
    }

    /// Length of the line that is being written.
    fn line_length(&self) -> usize {
        self.out.len() - self.out.rfind('\n').map_or(0, |at| at + 1)
    }

    /// Appends an item of a list, on a new line if the list is broken here.
    fn wrapped(&mut self, item: &str, may_break: bool, after_multiline: bool) {
        if self.style.indent && self.wrap >= 0 {
            if item.starts_with('\n') {
                self.trim();
            } else if may_break
                && (self.line_length() + item.len() > self.wrap as usize || after_multiline)
            {
                self.clause("", -STEP, STEP, VAR_STEP);
            }
        }
        self.put(item);
    }

    fn list<T>(&mut self, items: &'a [T], mut print: impl FnMut(&mut Self, &'a T)) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            print(self, item);
        }
    }
}
