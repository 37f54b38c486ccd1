//! From text to a path.

use super::lex::{Lexer, Token, near};
use super::{
    Arith, Cmp, DEPTH_MAX, Head, JsonPath, METHODS, PathExpr, RegexFlags, Step, TEMPORALS,
};
use crate::numeric::Numeric;
use base::{Result, bail, err};
use std::sync::OnceLock;

type PatternCheck = fn(&str, RegexFlags) -> Result<()>;
static PATTERN_CHECK: OnceLock<PatternCheck> = OnceLock::new();

/// Registers who knows whether a text is a regular expression; without it any text is.
pub fn check_patterns_by(check: fn(&str, RegexFlags) -> Result<()>) {
    let _ = PATTERN_CHECK.set(check);
}

/// Reads a path.
pub fn parse(text: &str) -> Result<JsonPath> {
    let mut p = Parser::new(text)?;
    if p.token == Token::End {
        bail!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type jsonpath: \"{text}\"");
    }
    let mut lax = true;
    if p.is_word("strict") || p.is_word("lax") {
        lax = p.is_word("lax");
        p.advance()?;
    }
    let expr = p.or()?;
    if p.token != Token::End {
        return Err(p.unexpected());
    }
    Ok(JsonPath { lax, expr })
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token,
    shown: &'a str,
    depth: usize,
    /// An expression begins right after a parenthesis, which may be one that a sign is shown with.
    opened: bool,
    filters: usize,
    subscripts: usize,
}

const COMPARISONS: [(&str, Cmp); 7] = [
    ("==", Cmp::Eq),
    ("!=", Cmp::Ne),
    ("<>", Cmp::Ne),
    ("<=", Cmp::Le),
    (">=", Cmp::Ge),
    ("<", Cmp::Lt),
    (">", Cmp::Gt),
];

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Parser<'a>> {
        let mut lexer = Lexer::new(text);
        let (token, shown) = lexer.next()?;
        Ok(Parser { lexer, token, shown, depth: 0, opened: false, filters: 0, subscripts: 0 })
    }

    fn advance(&mut self) -> Result<Token> {
        let (token, shown) = self.lexer.next()?;
        self.shown = shown;
        Ok(std::mem::replace(&mut self.token, token))
    }

    #[cold]
    fn unexpected(&self) -> base::Error {
        near("syntax error", self.shown)
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.token, Token::Symbol(s) if s == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        // Keywords are known in small letters; true, false and null only so.
        matches!(&self.token, Token::Word(w) if match word {
            "true" | "false" | "null" => w == word,
            _ => w.eq_ignore_ascii_case(word),
        })
    }

    fn accept(&mut self, symbol: &str) -> Result<bool> {
        let found = self.is(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.accept(symbol)? { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if !self.is_word(word) {
            return Err(self.unexpected());
        }
        self.advance().map(|_| ())
    }

    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(near("memory exhausted", self.shown));
        }
        base::stack::check()?;
        let result = f(self);
        self.depth -= 1;
        result
    }

    fn or(&mut self) -> Result<PathExpr> {
        self.nested(|p| {
            let left = p.and()?;
            p.or_from(left)
        })
    }

    fn or_from(&mut self, mut left: PathExpr) -> Result<PathExpr> {
        while self.is("||") {
            self.predicate(&left)?;
            self.advance()?;
            let right = self.and()?;
            self.predicate(&right)?;
            left = PathExpr::of(Head::Or(Box::new(left), Box::new(right)));
        }
        Ok(left)
    }

    /// What stands in parentheses. What begins with a sign, as paths are shown, takes less of the
    /// stack.
    fn inner(&mut self) -> Result<PathExpr> {
        self.opened = true;
        if !(self.is("-") || self.is("+")) {
            return self.or();
        }
        let mut left = self.nested(Self::signed)?;
        if !self.is(")") {
            left = self.product_from(left)?;
            left = self.sum_from(left)?;
            left = self.comparison_from(left)?;
            left = self.and_from(left)?;
            left = self.or_from(left)?;
        }
        Ok(left)
    }

    fn predicate(&self, e: &PathExpr) -> Result<()> {
        if e.is_predicate() { Ok(()) } else { Err(self.unexpected()) }
    }

    fn and(&mut self) -> Result<PathExpr> {
        let left = self.not()?;
        self.and_from(left)
    }

    fn and_from(&mut self, mut left: PathExpr) -> Result<PathExpr> {
        while self.is("&&") {
            self.predicate(&left)?;
            self.advance()?;
            let right = self.not()?;
            self.predicate(&right)?;
            left = PathExpr::of(Head::And(Box::new(left), Box::new(right)));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<PathExpr> {
        if !self.accept("!")? {
            return self.comparison();
        }
        self.opened = false;
        // Only a predicate in parentheses and EXISTS may follow.
        let inner = if self.is_word("exists") {
            self.exists()?
        } else {
            self.expect("(")?;
            let inner = self.or()?;
            self.predicate(&inner)?;
            self.expect(")")?;
            inner
        };
        Ok(PathExpr::of(Head::Not(Box::new(inner))))
    }

    fn exists(&mut self) -> Result<PathExpr> {
        self.opened = false;
        self.advance()?;
        self.expect("(")?;
        let inner = self.sum()?;
        self.expect(")")?;
        Ok(PathExpr::of(Head::Exists(Box::new(inner))))
    }

    fn comparison(&mut self) -> Result<PathExpr> {
        if self.is_word("exists") {
            return self.exists();
        }
        let left = self.sum()?;
        self.comparison_from(left)
    }

    fn comparison_from(&mut self, left: PathExpr) -> Result<PathExpr> {
        if let Token::Symbol(s) = self.token
            && let Some((_, op)) = COMPARISONS.iter().find(|c| c.0 == s)
            && !left.is_predicate()
        {
            self.advance()?;
            let right = self.sum()?;
            if right.is_predicate() {
                return Err(self.unexpected());
            }
            return Ok(PathExpr::of(Head::Compare(*op, Box::new(left), Box::new(right))));
        }
        if self.is_word("starts") {
            self.advance()?;
            self.expect_word("with")?;
            let initial = match self.advance()? {
                Token::String(s) => PathExpr::of(Head::String(s)),
                Token::Variable(v) => PathExpr::of(Head::Variable(v)),
                _ => return Err(self.unexpected()),
            };
            return Ok(PathExpr::of(Head::StartsWith(Box::new(left), Box::new(initial))));
        }
        if self.is_word("like_regex") {
            self.advance()?;
            return self.like_regex(left);
        }
        if self.is_word("is") && left.is_predicate() {
            self.advance()?;
            self.expect_word("unknown")?;
            return Ok(PathExpr::of(Head::IsUnknown(Box::new(left))));
        }
        Ok(left)
    }

    fn like_regex(&mut self, left: PathExpr) -> Result<PathExpr> {
        let Token::String(pattern) = self.token.clone() else { return Err(self.unexpected()) };
        self.advance()?;
        let mut flags = RegexFlags::default();
        if self.is_word("flag") {
            self.advance()?;
            let Token::String(text) = self.token.clone() else { return Err(self.unexpected()) };
            self.advance()?;
            for c in text.chars() {
                match c {
                    'i' => flags.ignore_case = true,
                    's' => flags.dot_all = true,
                    'm' => flags.lines = true,
                    'x' => flags.expanded = true,
                    'q' => flags.quoted = true,
                    c => {
                        return Err(err!(
                            SYNTAX_ERROR,
                            "invalid input syntax for type {}",
                            "jsonpath"
                        )
                        .detail(format!(
                            "Unrecognized flag character \"{c}\" in LIKE_REGEX predicate."
                        )));
                    }
                }
            }
        }
        if flags.expanded && !flags.quoted {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "XQuery \"x\" flag (expanded regular expressions) is not implemented"
            );
        }
        if let Some(check) = PATTERN_CHECK.get() {
            check(&pattern, flags)?;
        }
        Ok(PathExpr::of(Head::LikeRegex(Box::new(left), pattern, flags)))
    }

    fn sum(&mut self) -> Result<PathExpr> {
        let left = self.product()?;
        self.sum_from(left)
    }

    fn sum_from(&mut self, mut left: PathExpr) -> Result<PathExpr> {
        loop {
            let op = match self.token {
                Token::Symbol("+") => Arith::Add,
                Token::Symbol("-") => Arith::Sub,
                _ => return Ok(left),
            };
            self.value(&left)?;
            self.advance()?;
            let right = self.product()?;
            self.value(&right)?;
            left = PathExpr::of(Head::Arithmetic(op, Box::new(left), Box::new(right)));
        }
    }

    fn value(&self, e: &PathExpr) -> Result<()> {
        if e.is_predicate() { Err(self.unexpected()) } else { Ok(()) }
    }

    fn product(&mut self) -> Result<PathExpr> {
        let left = self.signed()?;
        self.product_from(left)
    }

    fn product_from(&mut self, mut left: PathExpr) -> Result<PathExpr> {
        loop {
            let op = match self.token {
                Token::Symbol("*") => Arith::Mul,
                Token::Symbol("/") => Arith::Div,
                Token::Symbol("%") => Arith::Mod,
                _ => return Ok(left),
            };
            self.value(&left)?;
            self.advance()?;
            let right = self.signed()?;
            self.value(&right)?;
            left = PathExpr::of(Head::Arithmetic(op, Box::new(left), Box::new(right)));
        }
    }

    fn signed(&mut self) -> Result<PathExpr> {
        let minus = match self.token {
            Token::Symbol("+") => false,
            Token::Symbol("-") => true,
            _ => return self.accessor(),
        };
        self.advance()?;
        // A path is shown with parentheses around each sign; the two are one level, so that what
        // is shown can be read again.
        let shown = usize::from(std::mem::take(&mut self.opened));
        self.depth -= shown;
        let arg = self.nested(|p| p.signed());
        self.depth += shown;
        let arg = arg?;
        self.value(&arg)?;
        // A sign before a plain number is part of it.
        if let (Head::Number(n), true) = (&arg.head, arg.steps.is_empty()) {
            let n = n.clone();
            return Ok(PathExpr::of(Head::Number(if minus { n.neg() } else { n })));
        }
        Ok(PathExpr::of(Head::Signed(minus, Box::new(arg))))
    }

    fn accessor(&mut self) -> Result<PathExpr> {
        let mut expr = self.primary()?;
        loop {
            let step = match self.token {
                Token::Symbol(".") => {
                    self.advance()?;
                    self.member()?
                }
                Token::Symbol("[") => {
                    self.advance()?;
                    self.elements()?
                }
                Token::Symbol("?") => {
                    self.advance()?;
                    self.expect("(")?;
                    self.filters += 1;
                    let inner = self.or()?;
                    self.predicate(&inner)?;
                    self.filters -= 1;
                    self.expect(")")?;
                    Step::Filter(Box::new(inner))
                }
                _ => return Ok(expr),
            };
            expr.steps.push(step);
        }
    }

    fn primary(&mut self) -> Result<PathExpr> {
        self.opened = false;
        let head = match &self.token {
            Token::Symbol("$") => Head::Root,
            Token::Symbol("@") => {
                if self.filters == 0 {
                    bail!(SYNTAX_ERROR, "@ is not allowed in root expressions");
                }
                Head::Current
            }
            Token::Symbol("(") => {
                self.advance()?;
                let inner = self.inner()?;
                self.expect(")")?;
                return Ok(self.wrapped(inner));
            }
            Token::Variable(v) => Head::Variable(v.clone()),
            Token::Number(n) => Head::Number(n.clone()),
            Token::String(s) => Head::String(s.clone()),
            Token::Word(_) if self.is_word("last") => {
                if self.subscripts == 0 {
                    bail!(SYNTAX_ERROR, "LAST is allowed only in array subscripts");
                }
                Head::Last
            }
            Token::Word(_) if self.is_word("null") => Head::Null,
            Token::Word(_) if self.is_word("true") => Head::Bool(true),
            Token::Word(_) if self.is_word("false") => Head::Bool(false),
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(PathExpr::of(head))
    }

    /// What stood in parentheses: steps apply to all of it, which is what a head without steps
    /// and one with steps both allow.
    fn wrapped(&self, inner: PathExpr) -> PathExpr {
        inner
    }

    fn member(&mut self) -> Result<Step> {
        if self.accept("*")? {
            return Ok(Step::AnyKey);
        }
        if self.accept("**")? {
            return self.any();
        }
        let name = match self.advance()? {
            Token::Word(w) => w,
            Token::String(s) => return Ok(Step::Key(s)),
            // Inside numbers, as in `.1`, the lexer has taken the point; there is no such key.
            _ => return Err(self.unexpected()),
        };
        if !self.is("(") {
            return Ok(Step::Key(name));
        }
        self.method(&name.to_ascii_lowercase())
    }

    fn any(&mut self) -> Result<Step> {
        if !self.accept("{")? {
            return Ok(Step::Any(0, u32::MAX));
        }
        let first = self.level()?;
        let last = if self.is_word("to") {
            self.advance()?;
            self.level()?
        } else {
            first
        };
        self.expect("}")?;
        Ok(Step::Any(first, last))
    }

    fn level(&mut self) -> Result<u32> {
        if self.is_word("last") {
            self.advance()?;
            return Ok(u32::MAX);
        }
        match &self.token {
            Token::Number(n) if n.dscale == 0 => {
                let level = n.to_i64().and_then(|n| u32::try_from(n).ok());
                let level = level.ok_or_else(|| self.unexpected())?;
                self.advance()?;
                Ok(level)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn method(&mut self, name: &str) -> Result<Step> {
        self.expect("(")?;
        let step = if let Some((_, m)) = METHODS.iter().find(|m| m.0 == name) {
            Step::Method(*m)
        } else if let Some((_, t)) = TEMPORALS.iter().find(|t| t.0 == name) {
            Step::Temporal(*t, self.integer()?)
        } else if name == "decimal" {
            let precision = self.signed_number()?;
            let scale = match precision.is_some() && self.accept(",")? {
                true => Some(self.signed_number()?.ok_or_else(|| self.unexpected())?),
                false => None,
            };
            if scale.is_some() && self.is(",") {
                return Err(err!(SYNTAX_ERROR, "invalid input syntax for type jsonpath")
                    .detail(".decimal() can only have an optional precision[,scale]."));
            }
            Step::Decimal(precision, scale)
        } else if name == "datetime" {
            match self.token.clone() {
                Token::String(s) => {
                    self.advance()?;
                    Step::Datetime(Some(s))
                }
                _ => Step::Datetime(None),
            }
        } else {
            return Err(near("syntax error", "("));
        };
        self.expect(")")?;
        Ok(step)
    }

    fn integer(&mut self) -> Result<Option<Numeric>> {
        match self.token.clone() {
            Token::Number(n) if n.dscale == 0 => {
                self.advance()?;
                Ok(Some(n))
            }
            _ => Ok(None),
        }
    }

    fn signed_number(&mut self) -> Result<Option<Numeric>> {
        let minus = self.is("-");
        let signed = minus || self.is("+");
        if signed {
            self.advance()?;
        }
        let n = self.integer()?;
        if signed && n.is_none() {
            return Err(self.unexpected());
        }
        Ok(n.map(|n| if minus { n.neg() } else { n }))
    }

    fn elements(&mut self) -> Result<Step> {
        if self.accept("*")? {
            self.expect("]")?;
            return Ok(Step::AnyElement);
        }
        self.subscripts += 1;
        let mut list = Vec::new();
        loop {
            let from = self.sum()?;
            let to = match self.is_word("to") {
                true => {
                    self.advance()?;
                    Some(self.sum()?)
                }
                false => None,
            };
            list.push((from, to));
            if !self.accept(",")? {
                break;
            }
        }
        self.subscripts -= 1;
        self.expect("]")?;
        Ok(Step::Elements(list))
    }
}
