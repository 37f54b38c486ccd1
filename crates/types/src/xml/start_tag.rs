//! Start tags: attributes and namespaces.

use super::parse::{Parser, normalize_lines};
use super::{NodeKind, is_space, starts_name};

/// Prefix and local part of a name.
fn split(name: &str) -> (Option<String>, String) {
    match name.split_once(':') {
        Some((prefix, local))
            if !prefix.is_empty() && local.chars().next().is_some_and(starts_name) =>
        {
            (Some(prefix.to_string()), local.to_string())
        }
        _ => (None, name.to_string()),
    }
}

impl Parser<'_> {
    /// `<name a="v">`, from its beginning; None if the element has no content or there is an
    /// error.
    pub(super) fn start_tag(&mut self, parent: u32) -> Option<u32> {
        let line = self.line();
        self.pos += 1;
        let Some(name) = self.name() else {
            self.fatal("StartTag: invalid element name");
            return None;
        };
        let id = self.tree.add(NodeKind::Element, parent);
        let mut attributes: Vec<(String, String)> = Vec::new();
        loop {
            let spaced = self.skip_space();
            let Some(c) = self.peek() else { break };
            if c == '>' || self.rest().starts_with("/>") {
                break;
            }
            if !spaced {
                self.error("attributes construct error");
                break;
            }
            let Some((attribute, value)) = self.attribute() else {
                self.error("attributes construct error");
                break;
            };
            if attributes.iter().any(|a| a.0 == attribute) {
                self.error(&format!("Attribute {attribute} redefined"));
            }
            attributes.push((attribute, value));
        }
        self.finish_element(id, &name, attributes);
        if self.rest().starts_with("/>") {
            self.pos += 2;
            return None;
        }
        if self.peek() == Some('>') {
            self.pos += 1;
            self.open.push((id, name, line));
            return Some(id);
        }
        self.fatal(&format!("Couldn't find end of Start Tag {name} line {line}"));
        None
    }

    fn attribute(&mut self) -> Option<(String, String)> {
        let Some(name) = self.name() else {
            self.error("error parsing attribute name");
            return None;
        };
        self.skip_space();
        if self.peek() != Some('=') {
            self.error(&format!("Specification mandates value for attribute {name}"));
            return None;
        }
        self.pos += 1;
        self.skip_space();
        let Some(quote @ ('"' | '\'')) = self.peek() else {
            self.error("AttValue: \" or ' expected");
            return None;
        };
        self.pos += 1;
        let mut value = String::new();
        loop {
            let rest = self.rest();
            let end = rest.find(['<', '&', quote]).unwrap_or(rest.len());
            let plain = normalize_lines(&rest[..end]);
            value.extend(plain.chars().map(|c| if is_space(c) { ' ' } else { c }));
            self.pos += end;
            match self.peek() {
                None => {
                    self.error("AttValue: ' expected");
                    return None;
                }
                Some('<') => {
                    self.error("Unescaped '<' not allowed in attributes values");
                    return None;
                }
                Some('&') => {
                    if let Some((text, _)) = self.reference() {
                        value.push_str(&text);
                    }
                }
                Some(_) => {
                    self.pos += 1;
                    return Some((name, value));
                }
            }
        }
    }

    /// Gives an element its name and attributes, with their namespaces.
    fn finish_element(&mut self, id: u32, name: &str, attributes: Vec<(String, String)>) {
        let mut rest = Vec::new();
        for (attribute, value) in attributes {
            let prefix = match attribute.as_str() {
                "xmlns" => None,
                _ => match attribute.strip_prefix("xmlns:") {
                    Some(prefix) => Some(prefix.to_string()),
                    None => {
                        rest.push((attribute, value));
                        continue;
                    }
                },
            };
            self.check_uri(prefix.as_deref(), &value);
            self.tree.nodes[id as usize].declares.push((prefix, value));
        }
        let (prefix, local) = split(name);
        let uri = self.tree.uri_of(id, prefix.as_deref());
        if let (Some(prefix), None) = (&prefix, &uri) {
            let text = format!("Namespace prefix {prefix} on {local} is not defined");
            self.namespace_error(&text);
        }
        let element = local.clone();
        let node = &mut self.tree.nodes[id as usize];
        (node.prefix, node.name, node.uri) = (prefix, local, uri);
        for (attribute, value) in rest {
            let (prefix, local) = split(&attribute);
            let uri = prefix.as_ref().and_then(|p| self.tree.uri_of(id, Some(p)));
            if let (Some(prefix), None) = (&prefix, &uri) {
                let text =
                    format!("Namespace prefix {prefix} for {local} on {element} is not defined");
                self.namespace_error(&text);
            }
            let a = self.tree.add(NodeKind::Attribute, id);
            let node = &mut self.tree.nodes[a as usize];
            (node.prefix, node.name, node.uri, node.text) = (prefix, local, uri, value);
        }
    }

    fn check_uri(&mut self, prefix: Option<&str>, uri: &str) {
        let what = prefix.map_or("xmlns".to_string(), |p| format!("xmlns:{p}"));
        if uri.is_empty() {
            if prefix.is_some() {
                self.namespace_error(&format!("{what}: Empty XML namespace is not allowed"));
            }
        } else if uri.chars().any(|c| "<>\"{}|\\^` \t\n".contains(c)) {
            self.namespace_error(&format!("{what}: '{uri}' is not a valid URI"));
        } else if !uri.split_once(':').is_some_and(|(scheme, _)| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        }) {
            self.warning(&format!("{what}: URI {uri} is not absolute"));
        }
    }
}
