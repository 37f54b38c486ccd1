//! Trees as text.

use super::{NodeKind, Tree};

/// A text with the characters that mean something replaced by entities.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#x0d;"),
            c => out.push(c),
        }
    }
    out
}

fn content(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#13;"),
            c => out.push(c),
        }
    }
}

fn attribute(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\r' => out.push_str("&#13;"),
            c => out.push(c),
        }
    }
}

fn declare(prefix: Option<&str>, uri: &str, out: &mut String) {
    match prefix {
        Some(p) => out.push_str(&format!(" xmlns:{p}=\"")),
        None => out.push_str(" xmlns=\""),
    }
    attribute(uri, out);
    out.push('"');
}

/// Writes a node as it stands.
pub fn write_node(tree: &Tree, id: u32, out: &mut String) {
    write(tree, id, &[], None, out);
}

/// Writes a node so that it can stand alone: with the namespaces that are declared around it and
/// used in it.
pub fn write_copy(tree: &Tree, id: u32, out: &mut String) {
    let mut needed = Vec::new();
    if tree.node(id).kind == NodeKind::Element {
        needs(tree, id, &mut Vec::new(), &mut needed);
    }
    write(tree, id, &needed, None, out);
}

type Namespace = (Option<String>, String);

/// The namespaces that a node uses and does not declare.
fn needs(tree: &Tree, id: u32, declared: &mut Vec<Namespace>, out: &mut Vec<Namespace>) {
    let node = tree.node(id);
    let depth = declared.len();
    declared.extend(node.declares.iter().cloned());
    let with_attributes = std::iter::once(id).chain(node.attributes.iter().copied());
    for user in with_attributes {
        let user = tree.node(user);
        let Some(uri) = &user.uri else { continue };
        if user.prefix.as_deref() == Some("xml") {
            continue;
        }
        let namespace = (user.prefix.clone(), uri.clone());
        let known = declared.iter().rev().find(|d| d.0 == user.prefix);
        if known.is_none_or(|k| k.1 != *uri) && !out.contains(&namespace) {
            out.push(namespace);
        }
    }
    for child in &node.children {
        if tree.node(*child).kind == NodeKind::Element {
            needs(tree, *child, declared, out);
        }
    }
    declared.truncate(depth);
}

/// Writes a node; `level` is how far it is to be moved in, if it is.
fn write(tree: &Tree, id: u32, extra: &[Namespace], level: Option<usize>, out: &mut String) {
    let node = tree.node(id);
    match node.kind {
        NodeKind::Root => {
            for child in &node.children {
                write(tree, *child, &[], None, out);
            }
        }
        NodeKind::Text => content(&node.text, out),
        NodeKind::Attribute => {
            out.push(' ');
            out.push_str(&node.full_name());
            out.push_str("=\"");
            attribute(&node.text, out);
            out.push('"');
        }
        NodeKind::CData => {
            out.push_str("<![CDATA[");
            out.push_str(&node.text);
            out.push_str("]]>");
        }
        NodeKind::Comment => {
            out.push_str("<!--");
            out.push_str(&node.text);
            out.push_str("-->");
        }
        NodeKind::Instruction => {
            out.push_str("<?");
            out.push_str(&node.name);
            if !node.text.is_empty() {
                out.push(' ');
                out.push_str(&node.text);
            }
            out.push_str("?>");
        }
        NodeKind::Doctype => out.push_str(&node.text),
        NodeKind::Element => {
            let name = node.full_name();
            out.push('<');
            out.push_str(&name);
            for (prefix, uri) in node.declares.iter().chain(extra) {
                declare(prefix.as_deref(), uri, out);
            }
            for a in &node.attributes {
                write(tree, *a, &[], None, out);
            }
            if node.children.is_empty() {
                out.push_str("/>");
                return;
            }
            out.push('>');
            // Where there is text, white space means something.
            let mixed = node
                .children
                .iter()
                .any(|c| matches!(tree.node(*c).kind, NodeKind::Text | NodeKind::CData));
            let inner = level.filter(|_| !mixed).map(|l| l + 1);
            for child in &node.children {
                if let Some(inner) = inner {
                    out.push('\n');
                    out.push_str(&"  ".repeat(inner));
                }
                write(tree, *child, &[], inner, out);
            }
            if let (Some(level), Some(_)) = (level, inner) {
                out.push('\n');
                out.push_str(&"  ".repeat(level));
            }
            out.push_str("</");
            out.push_str(&name);
            out.push('>');
        }
    }
}

/// Takes out texts of nothing but white space that stand between other nodes.
fn without_blanks(tree: &mut Tree, id: u32) {
    let children = tree.node(id).children.clone();
    let blank = |tree: &Tree, c: u32| {
        let node = tree.node(c);
        node.kind == NodeKind::Text && node.text.chars().all(super::is_space)
    };
    let text = children.iter().any(|c| {
        let node = tree.node(*c);
        matches!(node.kind, NodeKind::Text | NodeKind::CData) && !blank(tree, *c)
    });
    if !text {
        let kept = children.iter().copied().filter(|c| !blank(tree, *c)).collect();
        tree.nodes[id as usize].children = kept;
    }
    for child in children {
        if tree.node(child).kind == NodeKind::Element {
            without_blanks(tree, child);
        }
    }
}

/// A document or fragment with its elements moved in, each node of the top on a line of its own
/// unless there is text among them.
pub fn indented(mut tree: Tree, document: bool) -> String {
    without_blanks(&mut tree, 0);
    let mut out = String::new();
    let children = &tree.node(0).children;
    for (i, child) in children.iter().enumerate() {
        let kind = tree.node(*child).kind;
        if i > 0 && (document || !matches!(kind, NodeKind::Text | NodeKind::CData)) {
            out.push('\n');
        }
        let element = kind == NodeKind::Element;
        write(&tree, *child, &[], element.then_some(0), &mut out);
    }
    out
}
