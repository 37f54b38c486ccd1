//! Evaluation of paths.

use super::parse::{Axis, Expr, Op, Step, Test};
use super::{XPathError, number_text};
use crate::xml::{NodeKind, Tree};
use std::collections::HashMap;

/// A node; a namespace is one too, by its number among those in force at its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeRef {
    /// The node, or the element that the namespace is at.
    pub id: u32,
    /// 0 for a node, else the namespace's number from 1.
    pub namespace: u32,
}

impl NodeRef {
    /// A node that is no namespace.
    pub fn of(id: u32) -> NodeRef {
        NodeRef { id, namespace: 0 }
    }
}

/// The value of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nodes in document order.
    Nodes(Vec<NodeRef>),
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub tree: &'a Tree,
    pub node: NodeRef,
    pub position: usize,
    pub size: usize,
    prefixes: &'a HashMap<String, String>,
}

pub(super) type Eval<T> = Result<T, XPathError>;

/// A text as a number.
pub(super) fn to_number(text: &str) -> f64 {
    let text = text.trim_matches(crate::xml::is_space);
    let body = text.strip_prefix('-').unwrap_or(text);
    let plain = body.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-'));
    if body.is_empty() || !plain || !body.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return f64::NAN;
    }
    text.parse().unwrap_or(f64::NAN)
}

/// The text of a node, or the URI of a namespace.
pub fn node_text(tree: &Tree, node: NodeRef) -> String {
    let none = HashMap::new();
    Context::new(tree, node, &none).text_of(node)
}

impl<'a> Context<'a> {
    pub fn new(
        tree: &'a Tree,
        node: NodeRef,
        prefixes: &'a HashMap<String, String>,
    ) -> Context<'a> {
        Context { tree, node, position: 1, size: 1, prefixes }
    }

    /// The text of a node.
    pub fn text_of(&self, node: NodeRef) -> String {
        match node.namespace {
            0 => self.tree.string_value(node.id),
            n => self.namespaces(node.id).swap_remove(n as usize - 1).1,
        }
    }

    /// The namespaces in force at an element, `xml` last.
    pub fn namespaces(&self, id: u32) -> Vec<(Option<String>, String)> {
        let mut all = self.tree.namespaces(id);
        all.retain(|n| !n.1.is_empty());
        let xml = "http://www.w3.org/XML/1998/namespace".to_string();
        all.push((Some("xml".to_string()), xml));
        all
    }

    pub fn text(&self, value: &Value) -> String {
        match value {
            Value::Nodes(list) => list.first().map_or(String::new(), |n| self.text_of(*n)),
            Value::Bool(b) => b.to_string(),
            Value::Number(n) => number_text(*n),
            Value::Text(t) => t.clone(),
        }
    }

    pub fn number(&self, value: &Value) -> f64 {
        match value {
            Value::Bool(b) => f64::from(*b),
            Value::Number(n) => *n,
            other => to_number(&self.text(other)),
        }
    }

    pub fn truth(value: &Value) -> bool {
        match value {
            Value::Nodes(list) => !list.is_empty(),
            Value::Bool(b) => *b,
            Value::Number(n) => *n != 0.0 && !n.is_nan(),
            Value::Text(t) => !t.is_empty(),
        }
    }

    pub fn eval(&self, expr: &Expr) -> Eval<Value> {
        Ok(match expr {
            Expr::Number(n) => Value::Number(*n),
            Expr::Literal(s) => Value::Text(s.clone()),
            Expr::Variable => return Err(XPathError::Eval("Undefined variable".into())),
            Expr::Call(name, args) => self.call(name, args)?,
            Expr::Negate(e) => Value::Number(-self.number(&self.eval(e)?)),
            Expr::Binary(op, a, b) => self.binary(*op, a, b)?,
            Expr::Path { absolute, steps } => {
                let start = if *absolute { NodeRef::of(0) } else { self.node };
                Value::Nodes(self.steps(vec![start], steps)?)
            }
            Expr::From { base, predicates, steps } => {
                let Value::Nodes(mut list) = self.eval(base)? else {
                    return Err(XPathError::Eval("Invalid type".into()));
                };
                for predicate in predicates {
                    list = self.filter(list, predicate)?;
                }
                Value::Nodes(self.steps(list, steps)?)
            }
        })
    }

    fn binary(&self, op: Op, a: &Expr, b: &Expr) -> Eval<Value> {
        if matches!(op, Op::Or | Op::And) {
            let left = Self::truth(&self.eval(a)?);
            let decided = left == (op == Op::Or);
            return Ok(Value::Bool(if decided { left } else { Self::truth(&self.eval(b)?) }));
        }
        let (x, y) = (self.eval(a)?, self.eval(b)?);
        let numbers = || (self.number(&x), self.number(&y));
        Ok(match op {
            Op::Add => Value::Number(numbers().0 + numbers().1),
            Op::Subtract => Value::Number(numbers().0 - numbers().1),
            Op::Multiply => Value::Number(numbers().0 * numbers().1),
            Op::Divide => Value::Number(numbers().0 / numbers().1),
            Op::Modulo => Value::Number(numbers().0 % numbers().1),
            Op::Union => match (x, y) {
                (Value::Nodes(mut list), Value::Nodes(more)) => {
                    list.extend(more);
                    list.sort();
                    list.dedup();
                    Value::Nodes(list)
                }
                _ => return Err(XPathError::Eval("Invalid type".into())),
            },
            _ => Value::Bool(self.compare(op, &x, &y)),
        })
    }

    fn compare(&self, op: Op, x: &Value, y: &Value) -> bool {
        let equality = matches!(op, Op::Equal | Op::NotEqual);
        match (x, y) {
            (Value::Nodes(a), Value::Nodes(b)) => a.iter().any(|p| {
                let p = Value::Text(self.text_of(*p));
                b.iter().any(|q| self.compare(op, &p, &Value::Text(self.text_of(*q))))
            }),
            (Value::Nodes(_), Value::Bool(_)) | (Value::Bool(_), Value::Nodes(_)) => {
                let (a, b) = (Value::Bool(Self::truth(x)), Value::Bool(Self::truth(y)));
                self.compare(op, &a, &b)
            }
            (Value::Nodes(a), _) => {
                a.iter().any(|p| self.compare(op, &Value::Text(self.text_of(*p)), y))
            }
            (_, Value::Nodes(b)) => {
                b.iter().any(|q| self.compare(op, x, &Value::Text(self.text_of(*q))))
            }
            (Value::Bool(_), _) | (_, Value::Bool(_)) if equality => {
                (Self::truth(x) == Self::truth(y)) == (op == Op::Equal)
            }
            (Value::Text(a), Value::Text(b)) if equality => (a == b) == (op == Op::Equal),
            _ => {
                let (a, b) = (self.number(x), self.number(y));
                match op {
                    Op::Equal => a == b,
                    Op::NotEqual => a != b,
                    Op::Less => a < b,
                    Op::LessEqual => a <= b,
                    Op::Greater => a > b,
                    _ => a >= b,
                }
            }
        }
    }

    fn steps(&self, mut list: Vec<NodeRef>, steps: &[Step]) -> Eval<Vec<NodeRef>> {
        for step in steps {
            let mut next = Vec::new();
            for node in &list {
                let mut found = self.axis(*node, step.axis);
                let mut kept = Vec::with_capacity(found.len());
                for n in found.drain(..) {
                    if self.passes(n, step)? {
                        kept.push(n);
                    }
                }
                for predicate in &step.predicates {
                    kept = self.filter(kept, predicate)?;
                }
                next.extend(kept);
            }
            next.sort();
            next.dedup();
            list = next;
        }
        Ok(list)
    }

    fn filter(&self, list: Vec<NodeRef>, predicate: &Expr) -> Eval<Vec<NodeRef>> {
        let size = list.len();
        let mut out = Vec::new();
        for (i, node) in list.into_iter().enumerate() {
            let cx = Context { node, position: i + 1, size, ..*self };
            let keep = match cx.eval(predicate)? {
                Value::Number(n) => n == (i + 1) as f64,
                other => Self::truth(&other),
            };
            if keep {
                out.push(node);
            }
        }
        Ok(out)
    }

    fn parent(&self, node: NodeRef) -> Option<NodeRef> {
        match (node.namespace, node.id) {
            (0, 0) => None,
            (0, id) => Some(NodeRef::of(self.tree.node(id).parent)),
            (_, id) => Some(NodeRef::of(id)),
        }
    }

    fn descend(&self, id: u32, out: &mut Vec<NodeRef>) {
        for child in self.children(id) {
            out.push(NodeRef::of(child));
            self.descend(child, out);
        }
    }

    fn children(&self, id: u32) -> impl Iterator<Item = u32> + '_ {
        let list = self.tree.node(id).children.iter().copied();
        list.filter(|c| self.tree.node(*c).kind != NodeKind::Doctype)
    }

    /// Nodes of an axis, nearest first.
    fn axis(&self, node: NodeRef, axis: Axis) -> Vec<NodeRef> {
        let plain = node.namespace == 0;
        let kind = self.tree.node(node.id).kind;
        let mut out = Vec::new();
        match axis {
            Axis::Itself => out.push(node),
            Axis::Child if plain => out.extend(self.children(node.id).map(NodeRef::of)),
            Axis::Descendant if plain => self.descend(node.id, &mut out),
            Axis::DescendantOrSelf => {
                out.push(node);
                if plain {
                    self.descend(node.id, &mut out);
                }
            }
            Axis::Parent => out.extend(self.parent(node)),
            Axis::Ancestor | Axis::AncestorOrSelf => {
                if axis == Axis::AncestorOrSelf {
                    out.push(node);
                }
                let mut at = node;
                while let Some(parent) = self.parent(at) {
                    out.push(parent);
                    at = parent;
                }
            }
            Axis::Attribute if plain => {
                out.extend(self.tree.node(node.id).attributes.iter().map(|a| NodeRef::of(*a)));
            }
            Axis::Namespace if plain && kind == NodeKind::Element => {
                let count = self.namespaces(node.id).len() as u32;
                out.extend((1..=count).map(|namespace| NodeRef { id: node.id, namespace }));
            }
            Axis::FollowingSibling | Axis::PrecedingSibling
                if plain && kind != NodeKind::Attribute && node.id != 0 =>
            {
                let siblings: Vec<u32> = self.children(self.tree.node(node.id).parent).collect();
                let at = siblings.iter().position(|s| *s == node.id).unwrap_or(0);
                match axis {
                    Axis::FollowingSibling => {
                        out.extend(siblings[at + 1..].iter().map(|s| NodeRef::of(*s)));
                    }
                    _ => out.extend(siblings[..at].iter().rev().map(|s| NodeRef::of(*s))),
                }
            }
            Axis::Following | Axis::Preceding => self.beyond(node, axis, &mut out),
            _ => {}
        }
        out
    }

    /// What is after or before a node, without what it is in and what is in it.
    fn beyond(&self, node: NodeRef, axis: Axis, out: &mut Vec<NodeRef>) {
        let mut all = Vec::new();
        self.descend(0, &mut all);
        let inside = {
            let mut list = vec![NodeRef::of(node.id)];
            self.descend(node.id, &mut list);
            list
        };
        let around = self.axis(node, Axis::AncestorOrSelf);
        if axis == Axis::Following {
            out.extend(all.into_iter().filter(|n| n.id > node.id && !inside.contains(n)));
        } else {
            all.reverse();
            out.extend(all.into_iter().filter(|n| n.id < node.id && !around.contains(n)));
        }
    }

    fn uri(&self, prefix: &str) -> Eval<String> {
        if prefix == "xml" {
            return Ok("http://www.w3.org/XML/1998/namespace".into());
        }
        match self.prefixes.get(prefix) {
            Some(uri) => Ok(uri.clone()),
            None => Err(XPathError::Eval(format!("Undefined namespace prefix: {prefix}"))),
        }
    }

    fn passes(&self, node: NodeRef, step: &Step) -> Eval<bool> {
        base::interrupt::step()?;
        if node.namespace != 0 {
            return Ok(match &step.test {
                Test::Any | Test::Node => true,
                Test::Name(None, name) => {
                    let (prefix, _) =
                        self.namespaces(node.id).swap_remove(node.namespace as usize - 1);
                    prefix.as_deref() == Some(name.as_str())
                }
                _ => false,
            });
        }
        let n = self.tree.node(node.id);
        let principal = match step.axis {
            Axis::Attribute => n.kind == NodeKind::Attribute,
            Axis::Namespace => false,
            _ => n.kind == NodeKind::Element,
        };
        Ok(match &step.test {
            Test::Node => n.kind != NodeKind::Doctype,
            Test::Any => principal,
            Test::Prefix(prefix) => {
                let uri = self.uri(prefix)?;
                principal && n.uri.as_ref() == Some(&uri)
            }
            Test::Name(None, name) => principal && n.uri.is_none() && n.name == *name,
            Test::Name(Some(prefix), name) => {
                let uri = self.uri(prefix)?;
                principal && n.uri.as_ref() == Some(&uri) && n.name == *name
            }
            Test::Text => matches!(n.kind, NodeKind::Text | NodeKind::CData),
            Test::Comment => n.kind == NodeKind::Comment,
            Test::Instruction(target) => {
                n.kind == NodeKind::Instruction && target.as_ref().is_none_or(|t| n.name == *t)
            }
        })
    }
}
