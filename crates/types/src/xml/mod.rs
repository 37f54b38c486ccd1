//! XML: documents and fragments as trees, their text, and XPath 1.0 over them.
//!
//! Entry points: [`parse_document`], [`parse_content`], [`write_node`], [`xpath::XPath`].
//! A value of type `xml` is its text; trees live as long as one call.

mod declaration;
mod dtd;
mod parse;
mod start_tag;
pub mod value;
mod write;
pub mod xpath;

pub use declaration::{Declaration, has_doctype, parse_declaration};
pub use parse::{Parsed, XmlError, parse_content, parse_document};
pub use write::{escape, indented, write_copy, write_node};

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// The document or fragment.
    Root,
    /// An element.
    Element,
    /// An attribute, with its value as text.
    Attribute,
    /// Text.
    Text,
    /// `<![CDATA[text]]>`
    CData,
    /// `<!--text-->`
    Comment,
    /// `<?name text?>`
    Instruction,
    /// A document type declaration, as it was written.
    Doctype,
}

/// A node. Nodes are numbered in document order; attributes follow their element.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// The node it is in.
    pub parent: u32,
    /// Nodes in it.
    pub children: Vec<u32>,
    /// Its attributes.
    pub attributes: Vec<u32>,
    /// Namespaces declared here: prefix (none for the default one) and URI.
    pub declares: Vec<(Option<String>, String)>,
    /// Prefix of its name.
    pub prefix: Option<String>,
    /// Its name without prefix.
    pub name: String,
    /// URI of its namespace.
    pub uri: Option<String>,
    /// Text of a node that has some itself.
    pub text: String,
}

impl Node {
    fn new(kind: NodeKind, parent: u32) -> Node {
        Node {
            kind,
            parent,
            children: Vec::new(),
            attributes: Vec::new(),
            declares: Vec::new(),
            prefix: None,
            name: String::new(),
            uri: None,
            text: String::new(),
        }
    }

    /// Its name with the prefix.
    pub fn full_name(&self) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}:{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A tree; node 0 is its root.
#[derive(Clone, Debug)]
pub struct Tree {
    /// All nodes by number.
    pub nodes: Vec<Node>,
}

impl Tree {
    fn new() -> Tree {
        Tree { nodes: vec![Node::new(NodeKind::Root, 0)] }
    }

    fn add(&mut self, kind: NodeKind, parent: u32) -> u32 {
        let id = self.nodes.len() as u32;
        self.nodes.push(Node::new(kind, parent));
        let list = match kind {
            NodeKind::Attribute => &mut self.nodes[parent as usize].attributes,
            _ => &mut self.nodes[parent as usize].children,
        };
        list.push(id);
        id
    }

    /// A node.
    pub fn node(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }

    /// The document's element, if there is one.
    pub fn document_element(&self) -> Option<u32> {
        let list = &self.nodes[0].children;
        list.iter().copied().find(|c| self.node(*c).kind == NodeKind::Element)
    }

    /// The text in a node, that of nodes within it together.
    pub fn string_value(&self, id: u32) -> String {
        let node = self.node(id);
        match node.kind {
            NodeKind::Root | NodeKind::Element => {
                let mut out = String::new();
                self.add_text(id, &mut out);
                out
            }
            _ => node.text.clone(),
        }
    }

    fn add_text(&self, id: u32, out: &mut String) {
        for child in &self.node(id).children {
            let node = self.node(*child);
            match node.kind {
                NodeKind::Text | NodeKind::CData => out.push_str(&node.text),
                NodeKind::Element => self.add_text(*child, out),
                _ => {}
            }
        }
    }

    /// Namespaces in force at an element, innermost first, each prefix once.
    pub fn namespaces(&self, mut id: u32) -> Vec<(Option<String>, String)> {
        let mut out: Vec<(Option<String>, String)> = Vec::new();
        loop {
            let node = self.node(id);
            for declared in &node.declares {
                if !out.iter().any(|o| o.0 == declared.0) {
                    out.push(declared.clone());
                }
            }
            if id == 0 {
                return out;
            }
            id = node.parent;
        }
    }

    /// The URI that a prefix stands for at an element.
    fn uri_of(&self, id: u32, prefix: Option<&str>) -> Option<String> {
        if prefix == Some("xml") {
            return Some("http://www.w3.org/XML/1998/namespace".to_string());
        }
        let mut at = id;
        loop {
            let node = self.node(at);
            let found = node.declares.iter().find(|d| d.0.as_deref() == prefix);
            if let Some((_, uri)) = found {
                return (!uri.is_empty()).then(|| uri.clone());
            }
            if at == 0 {
                return None;
            }
            at = node.parent;
        }
    }
}

/// May begin a name.
pub fn starts_name(c: char) -> bool {
    matches!(c, 'A'..='Z' | 'a'..='z' | '_' | ':' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}'
        | '\u{200c}' | '\u{200d}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}'
        | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

/// May be in a name.
pub fn is_name_char(c: char) -> bool {
    starts_name(c)
        || matches!(c, '0'..='9' | '-' | '.' | '\u{b7}' | '\u{300}'..='\u{36f}')
        || matches!(c, '\u{203f}' | '\u{2040}')
}

/// White space of XML.
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}
