//! The functions of paths.

use super::XPathError;
use super::eval::{Context, Eval, NodeRef, Value};
use super::parse::Expr;
use crate::xml::NodeKind;

impl Context<'_> {
    pub(super) fn call(&self, name: &str, args: &[Expr]) -> Eval<Value> {
        let (least, most) = match name {
            "last" | "position" | "true" | "false" => (0, 0),
            "count" | "id" | "boolean" | "not" | "lang" | "sum" | "floor" | "ceiling" | "round" => {
                (1, 1)
            }
            "local-name" | "namespace-uri" | "name" | "string" | "string-length"
            | "normalize-space" | "number" => (0, 1),
            "concat" => (2, usize::MAX),
            "starts-with" | "contains" | "substring-before" | "substring-after" => (2, 2),
            "substring" => (2, 3),
            "translate" => (3, 3),
            _ => return Err(XPathError::Eval("Unregistered function".into())),
        };
        if args.len() < least || args.len() > most {
            return Err(XPathError::Eval("Invalid number of arguments".into()));
        }
        let values: Vec<Value> = args.iter().map(|a| self.eval(a)).collect::<Eval<_>>()?;
        let text = |i: usize| match values.get(i) {
            Some(v) => self.text(v),
            None => self.text_of(self.node),
        };
        let number = |i: usize| match values.get(i) {
            Some(v) => self.number(v),
            None => super::eval::to_number(&self.text_of(self.node)),
        };
        let nodes = |i: usize| match values.get(i) {
            None => Ok(vec![self.node]),
            Some(Value::Nodes(list)) => Ok(list.clone()),
            Some(_) => Err(XPathError::Eval("Invalid type".into())),
        };
        let truth = || values.first().is_some_and(Context::truth);
        Ok(match name {
            "last" => Value::Number(self.size as f64),
            "position" => Value::Number(self.position as f64),
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "count" => Value::Number(nodes(0)?.len() as f64),
            "sum" => {
                let list = nodes(0)?;
                let one = |n: &NodeRef| super::eval::to_number(&self.text_of(*n));
                Value::Number(list.iter().map(one).sum())
            }
            "id" => Value::Nodes(Vec::new()),
            "boolean" => Value::Bool(truth()),
            "not" => Value::Bool(!truth()),
            "lang" => Value::Bool(self.lang(&text(0))),
            "floor" => Value::Number(number(0).floor()),
            "ceiling" => Value::Number(number(0).ceil()),
            "round" => Value::Number((number(0) + 0.5).floor()),
            "number" => Value::Number(number(0)),
            "local-name" | "namespace-uri" | "name" => {
                Value::Text(nodes(0)?.first().map_or(String::new(), |n| self.named(*n, name)))
            }
            "string" => Value::Text(text(0)),
            "string-length" => Value::Number(text(0).chars().count() as f64),
            "normalize-space" => {
                let text = text(0);
                let words = text.split(crate::xml::is_space).filter(|w| !w.is_empty());
                Value::Text(words.collect::<Vec<_>>().join(" "))
            }
            "concat" => Value::Text((0..values.len()).map(text).collect()),
            "starts-with" => Value::Bool(text(0).starts_with(&text(1))),
            "contains" => Value::Bool(text(0).contains(&text(1))),
            "substring-before" => {
                Value::Text(text(0).split_once(&text(1)).map_or("", |s| s.0).to_string())
            }
            "substring-after" => {
                Value::Text(text(0).split_once(&text(1)).map_or("", |s| s.1).to_string())
            }
            "substring" => {
                Value::Text(substring(&text(0), number(1), (values.len() == 3).then(|| number(2))))
            }
            _ => {
                let (from, to): (Vec<char>, Vec<char>) =
                    (text(1).chars().collect(), text(2).chars().collect());
                let change = |c: char| match from.iter().position(|f| *f == c) {
                    Some(i) => to.get(i).copied(),
                    None => Some(c),
                };
                Value::Text(text(0).chars().filter_map(change).collect())
            }
        })
    }

    fn named(&self, node: NodeRef, what: &str) -> String {
        if node.namespace != 0 {
            let (prefix, _) = self.namespaces(node.id).swap_remove(node.namespace as usize - 1);
            return if what == "namespace-uri" {
                String::new()
            } else {
                prefix.unwrap_or_default()
            };
        }
        let n = self.tree.node(node.id);
        if !matches!(n.kind, NodeKind::Element | NodeKind::Attribute | NodeKind::Instruction) {
            return String::new();
        }
        match what {
            "local-name" => n.name.clone(),
            "name" => n.full_name(),
            _ => n.uri.clone().unwrap_or_default(),
        }
    }

    fn lang(&self, wanted: &str) -> bool {
        let mut id = self.node.id;
        loop {
            let node = self.tree.node(id);
            let found = node
                .attributes
                .iter()
                .map(|a| self.tree.node(*a))
                .find(|a| a.prefix.as_deref() == Some("xml") && a.name == "lang");
            if let Some(found) = found {
                let (has, wanted) = (found.text.to_lowercase(), wanted.to_lowercase());
                return has == wanted || has.starts_with(&format!("{wanted}-"));
            }
            if id == 0 {
                return false;
            }
            id = node.parent;
        }
    }
}

/// Characters from a place on, from 1, rounded as XPath does.
fn substring(text: &str, start: f64, len: Option<f64>) -> String {
    let round = |x: f64| (x + 0.5).floor();
    let first = round(start);
    let end = len.map_or(f64::INFINITY, |l| first + round(l));
    let inside = |i: usize| {
        let place = (i + 1) as f64;
        place >= first && place < end
    };
    text.chars().enumerate().filter(|(i, _)| inside(*i)).map(|(_, c)| c).collect()
}
