//! Queries in a form where order does not matter: their order, and rewriting.

use std::cmp::Ordering;
use types::ts::TsQuery;

/// An operator, by the number that orders them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Op {
    Not = 1,
    And,
    Or,
    Phrase,
}

/// A query whose `&` and `|` have any number of operands, the last one first.
#[derive(Clone, Debug)]
enum Node {
    Word { query: TsQuery, crc: i32 },
    Op { op: Op, distance: u16, children: Vec<Node>, done: bool },
}

/// The checksum by which PostgreSQL orders words of queries: CRC-32's table, used the other way.
fn crc(word: &str) -> i32 {
    let mut crc = u32::MAX;
    for byte in word.bytes() {
        let mut entry = (crc >> 24) ^ u32::from(byte);
        for _ in 0..8 {
            entry = if entry & 1 != 0 { (entry >> 1) ^ 0xedb8_8320 } else { entry >> 1 };
        }
        crc = entry ^ (crc << 8);
    }
    (crc ^ u32::MAX) as i32
}

impl Node {
    fn of(q: &TsQuery) -> Node {
        let op = |op, distance, children| Node::Op { op, distance, children, done: false };
        match q {
            TsQuery::Word { word, .. } => Node::Word { query: q.clone(), crc: crc(word) },
            TsQuery::Not(a) => op(Op::Not, 0, vec![Node::of(a)]),
            TsQuery::And(a, b) => op(Op::And, 0, vec![Node::of(b), Node::of(a)]),
            TsQuery::Or(a, b) => op(Op::Or, 0, vec![Node::of(b), Node::of(a)]),
            TsQuery::Phrase(n, a, b) => op(Op::Phrase, *n, vec![Node::of(b), Node::of(a)]),
        }
    }

    /// Puts chains of one operator together.
    fn flatten(&mut self) {
        let Node::Op { op, children, .. } = self else { return };
        children.iter_mut().for_each(Node::flatten);
        if !matches!(op, Op::And | Op::Or) {
            return;
        }
        let mut all = Vec::new();
        for child in children.drain(..) {
            match child {
                Node::Op { op: inner, children, .. } if inner == *op => all.extend(children),
                other => all.push(other),
            }
        }
        *children = all;
    }

    fn sort(&mut self) {
        if let Node::Op { op, children, .. } = self {
            children.iter_mut().for_each(Node::sort);
            if *op != Op::Phrase {
                children.sort_by(|a, b| a.compare(b));
            }
        }
    }

    fn forget(&mut self) {
        if let Node::Op { children, done, .. } = self {
            *done = false;
            children.iter_mut().for_each(Node::forget);
        }
    }

    fn compare(&self, other: &Node) -> Ordering {
        match (self, other) {
            (Node::Word { .. }, Node::Op { .. }) => Ordering::Greater,
            (Node::Op { .. }, Node::Word { .. }) => Ordering::Less,
            (Node::Word { query: a, crc: x }, Node::Word { query: b, crc: y }) => {
                let word = |q: &TsQuery| match q {
                    TsQuery::Word { word, .. } => word.clone(),
                    _ => String::new(),
                };
                y.cmp(x).then_with(|| word(a).as_bytes().cmp(word(b).as_bytes()))
            }
            (
                Node::Op { op: a, children: x, distance: m, .. },
                Node::Op { op: b, children: y, distance: n, .. },
            ) => {
                let of_children = || {
                    let pairs = x.iter().zip(y).map(|(p, q)| p.compare(q));
                    pairs.fold(Ordering::Equal, Ordering::then)
                };
                b.cmp(a)
                    .then(y.len().cmp(&x.len()))
                    .then_with(of_children)
                    .then_with(|| if *a == Op::Phrase { n.cmp(m) } else { Ordering::Equal })
            }
        }
    }

    /// Replaces what is equal to `from`; nothing is left where `to` is nothing.
    fn replace(self, from: &Node, to: Option<&Node>) -> Option<Node> {
        let fresh = || {
            to.map(|t| {
                let mut t = t.clone();
                if let Node::Op { done, .. } = &mut t {
                    *done = true;
                }
                t
            })
        };
        if matches!(self, Node::Op { done: true, .. }) {
            return Some(self);
        }
        if self.compare(from).is_eq() {
            return fresh();
        }
        let Node::Op { op, distance, mut children, done } = self else { return Some(self) };
        if let Node::Op { op: wanted, children: parts, .. } = from
            && *wanted == op
            && matches!(op, Op::And | Op::Or)
            && children.len() > parts.len()
        {
            let place = |p: &Node| children.iter().position(|c| c.compare(p).is_eq());
            let found: Option<Vec<usize>> = parts.iter().map(place).collect();
            if let Some(found) = found {
                let mut i = 0;
                children.retain(|_| {
                    i += 1;
                    !found.contains(&(i - 1))
                });
                children.extend(fresh());
                // What was put in is put in order too.
                children.iter_mut().for_each(Node::sort);
                children.sort_by(|a, b| a.compare(b));
            }
        }
        // What was put in is not looked at again.
        let mut next = Vec::new();
        for child in children {
            next.extend(child.replace(from, to));
        }
        match (next.len(), op) {
            (0, _) => None,
            (1, Op::And | Op::Or | Op::Phrase) => next.pop(),
            _ => Some(Node::Op { op, distance, children: next, done }),
        }
    }

    fn query(self) -> TsQuery {
        match self {
            Node::Word { query, .. } => query,
            Node::Op { op, distance, children, .. } => {
                let mut parts: Vec<TsQuery> = children.into_iter().map(Node::query).collect();
                let join = |right: TsQuery, left: TsQuery| {
                    let (left, right) = (Box::new(left), Box::new(right));
                    match op {
                        Op::Or => TsQuery::Or(left, right),
                        Op::Phrase => TsQuery::Phrase(distance, left, right),
                        _ => TsQuery::And(left, right),
                    }
                };
                let first = parts.remove(0);
                if op == Op::Not {
                    return TsQuery::Not(Box::new(first));
                }
                if parts.is_empty() {
                    return first;
                }
                // The second joins the first, then from the last on.
                let mut out = join(first, parts.remove(0));
                while let Some(next) = parts.pop() {
                    out = join(out, next);
                }
                out
            }
        }
    }
}

/// A query that is being rewritten.
pub(super) struct Rewriter(Option<Node>);

impl Rewriter {
    pub fn new(q: &TsQuery) -> Rewriter {
        let mut node = Node::of(q);
        node.flatten();
        node.sort();
        Rewriter(Some(node))
    }

    /// Puts `to` where `from` is.
    pub fn replace(self, from: &TsQuery, to: Option<&TsQuery>) -> Rewriter {
        let Some(mut node) = self.0 else { return self };
        node.forget();
        node.flatten();
        node.sort();
        let mut from = Node::of(from);
        from.flatten();
        from.sort();
        let to = to.map(Node::of);
        Rewriter(node.replace(&from, to.as_ref()))
    }

    pub fn finish(self) -> Option<TsQuery> {
        self.0.map(Node::query)
    }
}

/// How many bytes the words of a query take.
fn text_len(q: &TsQuery) -> usize {
    let mut len = 0;
    q.each_word(&mut |w| len += w.len() + 1);
    len
}

/// The order of queries: by size, then by structure.
pub(super) fn compare(a: Option<&TsQuery>, b: Option<&TsQuery>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a
            .nodes()
            .cmp(&b.nodes())
            .then(text_len(a).cmp(&text_len(b)))
            .then_with(|| Node::of(a).compare(&Node::of(b))),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}
