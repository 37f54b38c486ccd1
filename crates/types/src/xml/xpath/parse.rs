//! The grammar of paths.

use super::XPathError;
use super::lex::Token;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Following,
    FollowingSibling,
    Namespace,
    Parent,
    Preceding,
    PrecedingSibling,
    Itself,
}

#[derive(Clone, Debug)]
pub(super) enum Test {
    /// `*`
    Any,
    /// `prefix:*`
    Prefix(String),
    /// A name.
    Name(Option<String>, String),
    Node,
    Text,
    Comment,
    /// With a target, if one is given.
    Instruction(Option<String>),
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub axis: Axis,
    pub test: Test,
    pub predicates: Vec<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Union,
}

#[derive(Clone, Debug)]
pub(super) enum Expr {
    Number(f64),
    Literal(String),
    Variable,
    Call(String, Vec<Expr>),
    Negate(Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
    /// A path from the root or from here.
    Path {
        absolute: bool,
        steps: Vec<Step>,
    },
    /// Steps from the nodes of an expression, after predicates.
    From {
        base: Box<Expr>,
        predicates: Vec<Expr>,
        steps: Vec<Step>,
    },
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

type Parse<T> = Result<T, XPathError>;

const INVALID: XPathError = XPathError::Syntax("Invalid expression");

/// Binary operators by how they bind, loosest first.
const LEVELS: [&[(&str, Op)]; 6] = [
    &[("or", Op::Or)],
    &[("and", Op::And)],
    &[("=", Op::Equal), ("!=", Op::NotEqual)],
    &[("<=", Op::LessEqual), (">=", Op::GreaterEqual), ("<", Op::Less), (">", Op::Greater)],
    &[("+", Op::Add), ("-", Op::Subtract)],
    &[("*", Op::Multiply), ("div", Op::Divide), ("mod", Op::Modulo)],
];

impl Parser {
    pub fn new(tokens: Vec<Token>) -> Parser {
        Parser { tokens, at: 0, depth: 0 }
    }

    pub fn whole(mut self) -> Parse<Expr> {
        let expr = self.level(0)?;
        if self.at < self.tokens.len() { Err(INVALID) } else { Ok(expr) }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is(&self, mark: &str) -> bool {
        matches!(self.peek(), Some(Token::Mark(m)) if *m == mark)
    }

    fn accept(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        self.at += usize::from(found);
        found
    }

    fn operator(&mut self, level: usize) -> Option<Op> {
        let word = match self.peek()? {
            Token::Mark(m) => m,
            Token::Name(n) => n.as_str(),
            _ => return None,
        };
        let found = LEVELS[level].iter().find(|(w, _)| *w == word)?.1;
        self.at += 1;
        Some(found)
    }

    fn level(&mut self, level: usize) -> Parse<Expr> {
        if level == LEVELS.len() {
            return self.unary();
        }
        self.depth += 1;
        if self.depth > 1500 {
            return Err(XPathError::Syntax("Too deeply nested expression"));
        }
        let mut left = self.level(level + 1)?;
        while let Some(op) = self.operator(level) {
            let right = self.level(level + 1)?;
            left = Expr::Binary(op, Box::new(left), Box::new(right));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn unary(&mut self) -> Parse<Expr> {
        let mut negative = false;
        let mut any = false;
        while self.accept("-") {
            negative = !negative;
            any = true;
        }
        let mut left = self.path()?;
        while self.accept("|") {
            left = Expr::Binary(Op::Union, Box::new(left), Box::new(self.path()?));
        }
        if any {
            // Two signs still make a number of it.
            left = Expr::Negate(Box::new(left));
            if !negative {
                left = Expr::Negate(Box::new(left));
            }
        }
        Ok(left)
    }

    /// Whether a name here is the beginning of a call.
    fn is_call(&self) -> bool {
        let Some(Token::Name(name)) = self.peek() else { return false };
        let open = matches!(self.tokens.get(self.at + 1), Some(Token::Mark("(")));
        open && !["node", "text", "comment", "processing-instruction"].contains(&name.as_str())
    }

    fn path(&mut self) -> Parse<Expr> {
        let primary = match self.peek() {
            None => return Err(INVALID),
            Some(Token::Number(n)) => Some(Expr::Number(*n)),
            Some(Token::Literal(s)) => Some(Expr::Literal(s.clone())),
            Some(Token::Variable) => Some(Expr::Variable),
            Some(Token::Mark("(")) => {
                self.at += 1;
                let inner = self.level(0)?;
                if !self.is(")") {
                    return Err(INVALID);
                }
                Some(inner)
            }
            Some(Token::Name(name)) if self.is_call() => {
                let name = name.clone();
                self.at += 2;
                let mut args = Vec::new();
                if !self.is(")") {
                    loop {
                        args.push(self.level(0)?);
                        if !self.accept(",") {
                            break;
                        }
                    }
                }
                if !self.is(")") {
                    return Err(INVALID);
                }
                Some(Expr::Call(name, args))
            }
            _ => None,
        };
        if let Some(base) = primary {
            self.at += 1;
            let predicates = self.predicates()?;
            let mut steps = Vec::new();
            if self.accept("//") {
                steps.push(descend());
                self.steps(&mut steps)?;
            } else if self.accept("/") {
                self.steps(&mut steps)?;
            }
            if predicates.is_empty() && steps.is_empty() {
                return Ok(base);
            }
            return Ok(Expr::From { base: Box::new(base), predicates, steps });
        }
        let mut steps = Vec::new();
        let absolute = self.is("/") || self.is("//");
        if self.accept("//") {
            steps.push(descend());
        } else if self.accept("/") && !self.starts_step() {
            return Ok(Expr::Path { absolute, steps });
        }
        self.steps(&mut steps)?;
        Ok(Expr::Path { absolute, steps })
    }

    fn starts_step(&self) -> bool {
        matches!(self.peek(), Some(Token::Name(_) | Token::Mark("." | ".." | "@" | "*")))
    }

    fn steps(&mut self, steps: &mut Vec<Step>) -> Parse<()> {
        loop {
            steps.push(self.step()?);
            if self.accept("//") {
                steps.push(descend());
            } else if !self.accept("/") {
                return Ok(());
            }
        }
    }

    fn step(&mut self) -> Parse<Step> {
        let plain = |axis| Step { axis, test: Test::Node, predicates: Vec::new() };
        if self.accept("..") {
            return Ok(plain(Axis::Parent));
        }
        if self.accept(".") {
            return Ok(plain(Axis::Itself));
        }
        let mut axis = Axis::Child;
        if self.accept("@") {
            axis = Axis::Attribute;
        } else if let Some(Token::Name(name)) = self.peek()
            && matches!(self.tokens.get(self.at + 1), Some(Token::Mark("::")))
        {
            axis = axis_named(name).ok_or(INVALID)?;
            self.at += 2;
        }
        let test = self.test()?;
        Ok(Step { axis, test, predicates: self.predicates()? })
    }

    fn test(&mut self) -> Parse<Test> {
        let token = self.peek().cloned().ok_or(INVALID)?;
        self.at += 1;
        match token {
            Token::Mark("*") => Ok(Test::Any),
            Token::Name(name) => {
                if self.accept("(") {
                    let mut target = None;
                    if let Some(Token::Literal(t)) = self.peek() {
                        target = Some(t.clone());
                        self.at += 1;
                    }
                    if !self.accept(")") {
                        return Err(INVALID);
                    }
                    return match name.as_str() {
                        "node" => Ok(Test::Node),
                        "text" => Ok(Test::Text),
                        "comment" => Ok(Test::Comment),
                        "processing-instruction" => Ok(Test::Instruction(target)),
                        _ => Err(INVALID),
                    };
                }
                Ok(match name.split_once(':') {
                    Some((prefix, "*")) => Test::Prefix(prefix.to_string()),
                    Some((prefix, local)) => {
                        Test::Name(Some(prefix.to_string()), local.to_string())
                    }
                    None => Test::Name(None, name),
                })
            }
            _ => Err(INVALID),
        }
    }

    fn predicates(&mut self) -> Parse<Vec<Expr>> {
        let mut out = Vec::new();
        while self.accept("[") {
            out.push(self.level(0)?);
            if !self.accept("]") {
                return Err(XPathError::Syntax("Invalid predicate"));
            }
        }
        Ok(out)
    }
}

/// `//`
fn descend() -> Step {
    Step { axis: Axis::DescendantOrSelf, test: Test::Node, predicates: Vec::new() }
}

fn axis_named(name: &str) -> Option<Axis> {
    Some(match name {
        "ancestor" => Axis::Ancestor,
        "ancestor-or-self" => Axis::AncestorOrSelf,
        "attribute" => Axis::Attribute,
        "child" => Axis::Child,
        "descendant" => Axis::Descendant,
        "descendant-or-self" => Axis::DescendantOrSelf,
        "following" => Axis::Following,
        "following-sibling" => Axis::FollowingSibling,
        "namespace" => Axis::Namespace,
        "parent" => Axis::Parent,
        "preceding" => Axis::Preceding,
        "preceding-sibling" => Axis::PrecedingSibling,
        "self" => Axis::Itself,
        _ => return None,
    })
}
