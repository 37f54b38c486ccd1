//! The parser: a document or a fragment to a tree, with messages as users of libxml2 know them.

use super::{NodeKind, Tree, is_name_char, is_space, starts_name};
use std::cell::Cell;
use std::collections::HashMap;

/// Something that is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlError {
    /// What and where, with the line and a mark below the place.
    pub text: String,
    /// Only of interest where namespaces count.
    pub namespace: bool,
    /// No error, but a warning.
    pub warning: bool,
}

/// What came of a text.
#[derive(Debug)]
pub struct Parsed {
    /// The tree, of use if there are no errors.
    pub tree: Tree,
    /// Errors in the order of the text.
    pub errors: Vec<XmlError>,
    /// Why reading ended early: the statement is not to go on.
    pub stopped: Option<base::Error>,
}

impl Parsed {
    /// The texts of the errors that count.
    pub fn failure(&self, namespaces: bool) -> Option<String> {
        let counts = |e: &&XmlError| !e.warning && (namespaces || !e.namespace);
        let texts: Vec<&str> = self.errors.iter().filter(counts).map(|e| &*e.text).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }
}

/// How deep elements may nest.
const DEPTH_MAX: usize = 256;

/// So much text entities may expand to in all.
const EXPANSION_MAX: usize = 10_000_000;

pub(super) struct Parser<'a> {
    pub text: &'a str,
    pub pos: usize,
    pub tree: Tree,
    pub errors: Vec<XmlError>,
    pub entities: HashMap<String, String>,
    /// Entities that are not known are no error.
    pub open_entities: bool,
    /// Nothing more is read.
    pub halted: bool,
    /// The statement is not to go on.
    stopped: Option<base::Error>,
    /// A place and its line, from which the next one is counted.
    counted: Cell<(usize, usize)>,
    /// A document is read: it ends with its element.
    whole: bool,
    expanded: usize,
    expanding: usize,
    /// The open elements: node, name and line.
    pub open: Vec<(u32, String, usize)>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parser<'a> {
        Parser {
            text,
            pos: 0,
            tree: Tree::new(),
            errors: Vec::new(),
            entities: HashMap::new(),
            open_entities: false,
            halted: false,
            stopped: None,
            counted: Cell::new((0, 1)),
            whole: false,
            expanded: 0,
            expanding: 0,
            open: Vec::new(),
        }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.pos..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn line(&self) -> usize {
        let (from, line) = match self.counted.get() {
            (at, line) if at <= self.pos => (at, line),
            _ => (0, 1),
        };
        let line = line + memchr::memchr_iter(b'\n', &self.text.as_bytes()[from..self.pos]).count();
        self.counted.set((self.pos, line));
        line
    }

    /// The line of the place with a mark below it.
    fn context(&self) -> String {
        let bytes = self.text.as_bytes();
        let mut start = self.pos.min(bytes.len());
        // At the end of a line it is that line which is shown.
        while start > 0 && bytes.get(start).is_none_or(|b| matches!(b, b'\n' | b'\r')) {
            start -= 1;
            if !matches!(bytes[start], b'\n' | b'\r') {
                break;
            }
        }
        let mut n = 0;
        while start > 0 && n < 79 && !matches!(bytes[start - 1], b'\n' | b'\r') {
            start -= 1;
            n += 1;
        }
        while !self.text.is_char_boundary(start) {
            start += 1;
        }
        let shown: String =
            self.text[start..].chars().take_while(|c| !matches!(c, '\n' | '\r')).take(80).collect();
        let blank = |c: char| if c == '\t' { '\t' } else { ' ' };
        let before: String =
            self.text[start..self.pos.max(start)].chars().map(blank).take(78).collect();
        format!("{shown}\n{before}^")
    }

    fn report(&mut self, message: &str, namespace: bool, warning: bool) {
        if self.errors.len() < 100 {
            let text = format!("line {}: {message}\n{}", self.line(), self.context());
            self.errors.push(XmlError { text, namespace, warning });
        }
    }

    pub(super) fn error(&mut self, message: &str) {
        self.report(message, false, false);
    }

    pub(super) fn fatal(&mut self, message: &str) {
        self.error(message);
        self.halted = true;
    }

    pub(super) fn namespace_error(&mut self, message: &str) {
        self.report(message, true, false);
    }

    pub(super) fn warning(&mut self, message: &str) {
        self.report(message, true, true);
    }

    pub(super) fn name(&mut self) -> Option<String> {
        let rest = self.rest();
        if !rest.chars().next().is_some_and(starts_name) {
            return None;
        }
        let end = rest.find(|c| !is_name_char(c)).unwrap_or(rest.len());
        self.pos += end;
        Some(rest[..end].to_string())
    }

    /// Comments, instructions and white space outside of the element.
    fn misc(&mut self) {
        while !self.halted {
            self.skip_space();
            if self.rest().starts_with("<!--") {
                self.comment(0);
            } else if self.rest().starts_with("<?") {
                self.instruction(0);
            } else {
                return;
            }
        }
    }

    fn add_text(&mut self, parent: u32, kind: NodeKind, text: &str) {
        if text.is_empty() && kind == NodeKind::Text {
            return;
        }
        let last = self.tree.node(parent).children.last().copied();
        if let (NodeKind::Text, Some(last)) = (kind, last)
            && self.tree.node(last).kind == NodeKind::Text
        {
            self.tree.nodes[last as usize].text.push_str(text);
            return;
        }
        let id = self.tree.add(kind, parent);
        self.tree.nodes[id as usize].text = text.to_string();
    }

    fn comment(&mut self, parent: u32) {
        self.pos += 4;
        let rest = self.rest();
        match rest.find("--") {
            Some(end) if rest[end..].starts_with("-->") => {
                self.pos += end + 3;
                let text = normalize_lines(&rest[..end]);
                self.add_text(parent, NodeKind::Comment, &text);
            }
            Some(end) => {
                self.pos += end + 2;
                self.error("Double hyphen within comment");
                match self.rest().find("-->") {
                    Some(more) => {
                        self.pos += more + 3;
                    }
                    None => {
                        self.pos = self.text.len();
                        self.fatal("Comment not terminated");
                    }
                }
            }
            None => {
                self.pos = self.text.len();
                let shown: String = rest.chars().take(50).collect();
                self.fatal(&format!("Comment not terminated \n<!--{shown}"));
            }
        }
    }

    fn instruction(&mut self, parent: u32) {
        self.pos += 2;
        let Some(name) = self.name() else {
            self.fatal("xmlParsePI : no target name");
            return;
        };
        if name.eq_ignore_ascii_case("xml") {
            let text = match name.as_str() {
                "xml" => "XML declaration allowed only at the start of the document",
                _ => "xmlParsePITarget: invalid name prefix 'xml'",
            };
            self.error(text);
        }
        let spaced = self.skip_space();
        let rest = self.rest();
        match rest.find("?>") {
            Some(0) => {
                self.pos += 2;
                self.add_instruction(parent, name, "");
            }
            Some(_) if !spaced => {
                self.fatal(&format!("ParsePI: PI {name} space expected"));
            }
            Some(end) => {
                self.pos += end + 2;
                let text = normalize_lines(&rest[..end]);
                self.add_instruction(parent, name, &text);
            }
            None => {
                self.pos = self.text.len();
                self.fatal(&format!("ParsePI: PI {name} never end ..."));
            }
        }
    }

    fn add_instruction(&mut self, parent: u32, name: String, text: &str) {
        let id = self.tree.add(NodeKind::Instruction, parent);
        let node = &mut self.tree.nodes[id as usize];
        node.name = name;
        node.text = text.to_string();
    }

    /// The character of `&#n;`, from its beginning; None with an error reported.
    fn char_reference(&mut self) -> Option<char> {
        let hex = self.rest().starts_with("&#x");
        self.pos += if hex { 3 } else { 2 };
        let rest = self.rest();
        let radix = if hex { 16 } else { 10 };
        let end = rest.find(|c: char| !c.is_digit(radix)).unwrap_or(rest.len());
        if end == 0 || !rest[end..].starts_with(';') {
            self.pos += end;
            let kind = if hex { "hexadecimal" } else { "decimal" };
            self.error(&format!("xmlParseCharRef: invalid {kind} value"));
            return None;
        }
        self.pos += end + 1;
        let number = u32::from_str_radix(&rest[..end], radix).unwrap_or(u32::MAX);
        let fits = |c: &char| *c >= ' ' || is_space(*c);
        match char::from_u32(number).filter(fits) {
            Some(c) => Some(c),
            None => {
                self.error(&format!("xmlParseCharRef: invalid xmlChar value {}", number as i32));
                None
            }
        }
    }

    /// What an entity stands for; the text is to be read on, unless it is a character.
    pub(super) fn reference(&mut self) -> Option<(String, bool)> {
        if self.rest().starts_with("&#") {
            return self.char_reference().map(|c| (c.to_string(), false));
        }
        self.pos += 1;
        let Some(name) = self.name() else {
            self.error("xmlParseEntityRef: no name");
            return None;
        };
        if self.peek() != Some(';') {
            self.error("EntityRef: expecting ';'");
            return None;
        }
        self.pos += 1;
        let known = match name.as_str() {
            "lt" => "<",
            "gt" => ">",
            "amp" => "&",
            "quot" => "\"",
            "apos" => "'",
            _ => {
                if let Some(text) = self.entities.get(&name) {
                    return Some((text.clone(), true));
                }
                if !self.open_entities {
                    self.error(&format!("Entity '{name}' not defined"));
                }
                return None;
            }
        };
        Some((known.to_string(), false))
    }

    /// Reads the text of an entity where it is used.
    fn expand(&mut self, parent: u32, text: &str) {
        self.expanded += text.len();
        if self.expanding > 40 || self.expanded > EXPANSION_MAX {
            self.fatal("Detected an entity reference loop");
            return;
        }
        let mut inner = Parser::new(text);
        inner.entities = std::mem::take(&mut self.entities);
        inner.expanding = self.expanding + 1;
        inner.expanded = self.expanded;
        std::mem::swap(&mut inner.tree, &mut self.tree);
        let depth = self.open.len();
        inner.open = std::mem::take(&mut self.open);
        inner.content(parent, depth);
        self.open = std::mem::take(&mut inner.open);
        self.open.truncate(depth);
        std::mem::swap(&mut inner.tree, &mut self.tree);
        self.entities = std::mem::take(&mut inner.entities);
        self.expanded = inner.expanded;
        self.halted |= inner.halted;
        self.stopped = self.stopped.take().or(inner.stopped.take());
        self.errors.append(&mut inner.errors);
    }

    /// What is in an element, up to its end tag or the end of the text. `floor` is how many
    /// elements were open when this began.
    pub(super) fn content(&mut self, root: u32, floor: usize) {
        let mut parent = root;
        while !self.halted {
            if let Err(e) = base::interrupt::step() {
                (self.halted, self.stopped) = (true, Some(e));
                return;
            }
            let rest = self.rest();
            if rest.is_empty() {
                if self.open.len() > floor
                    && let Some((_, name, line)) = self.open.last().cloned()
                {
                    self.fatal(&format!("Premature end of data in tag {name} line {line}"));
                }
                return;
            }
            if rest.starts_with("</") {
                if self.open.len() == floor {
                    return;
                }
                parent = self.end_tag();
                if self.open.len() == floor && floor == 0 && root == 0 && self.whole {
                    return;
                }
            } else if rest.starts_with("<!--") {
                self.comment(parent);
            } else if rest.starts_with("<![CDATA[") {
                self.cdata(parent);
            } else if rest.starts_with("<?") {
                self.instruction(parent);
            } else if rest.starts_with('<') {
                if self.open.len() >= DEPTH_MAX {
                    self.fatal("Excessive depth in document: 256 use XML_PARSE_HUGE option");
                    return;
                }
                if let Some(id) = self.start_tag(parent) {
                    parent = id;
                } else if self.open.len() == floor && floor == 0 && root == 0 && self.whole {
                    return;
                }
            } else if rest.starts_with('&') {
                if let Some((text, markup)) = self.reference() {
                    match markup {
                        true => self.expand(parent, &text),
                        false => self.add_text(parent, NodeKind::Text, &text),
                    }
                }
            } else {
                self.characters(parent);
            }
        }
    }

    fn cdata(&mut self, parent: u32) {
        self.pos += "<![CDATA[".len();
        let rest = self.rest();
        match rest.find("]]>") {
            Some(end) => {
                self.pos += end + 3;
                let text = normalize_lines(&rest[..end]);
                self.add_text(parent, NodeKind::CData, &text);
            }
            None => {
                self.pos = self.text.len();
                let shown: String = rest.chars().take(50).collect();
                self.fatal(&format!("CData section not finished\n{shown}"));
            }
        }
    }

    fn characters(&mut self, parent: u32) {
        let rest = self.rest();
        let end = rest.find(['<', '&']).unwrap_or(rest.len());
        let bad = |c: char| c < ' ' && !is_space(c) || matches!(c, '\u{fffe}' | '\u{ffff}');
        if let Some(at) = rest[..end].find(bad) {
            let c = rest[at..].chars().next().unwrap_or(' ') as u32;
            self.pos += at;
            self.fatal(&format!("PCDATA invalid Char value {c}"));
            return;
        }
        if let Some(at) = rest[..end].find("]]>") {
            self.pos += at;
            self.error("Sequence ']]>' not allowed in content");
            self.pos += 3;
            return;
        }
        self.pos += end;
        let text = normalize_lines(&rest[..end]);
        self.add_text(parent, NodeKind::Text, &text);
    }

    /// `</name>`, from its beginning; gives the node that goes on.
    fn end_tag(&mut self) -> u32 {
        self.pos += 2;
        let name = self.name().unwrap_or_default();
        self.skip_space();
        if self.peek() == Some('>') {
            self.pos += 1;
        } else {
            self.error("expected '>'");
            self.halted = true;
        }
        let Some((id, expected, line)) = self.open.pop() else { return 0 };
        if name != expected {
            let shown = if name.is_empty() { "unparsable" } else { &name };
            self.fatal(&format!(
                "Opening and ending tag mismatch: {expected} line {line} and {shown}"
            ));
        }
        self.tree.node(id).parent
    }
}

/// Line ends as one character.
pub(super) fn normalize_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Reads a document.
pub fn parse_document(text: &str) -> Parsed {
    let mut p = Parser::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    p.whole = true;
    if p.text.is_empty() {
        p.fatal("Document is empty");
        return p.finish();
    }
    match super::parse_declaration(p.text) {
        Ok(d) => p.pos = d.len,
        Err(what) => {
            p.fatal(what);
            return p.finish();
        }
    }
    p.misc();
    if !p.halted && p.rest().starts_with("<!DOCTYPE") {
        p.doctype();
        p.misc();
    }
    if !p.halted {
        if !p.rest().starts_with('<') {
            p.fatal("Start tag expected, '<' not found");
            return p.finish();
        }
        p.content(0, 0);
        if !p.halted {
            p.misc();
        }
        if !p.halted && !p.rest().is_empty() {
            p.fatal("Extra content at the end of the document");
        }
    }
    p.finish()
}

/// Reads a fragment: elements and text, as in an element.
pub fn parse_content(text: &str) -> Parsed {
    let mut p = Parser::new(text);
    p.content(0, 0);
    if !p.halted && !p.rest().is_empty() {
        p.fatal("chunk is not well balanced");
    }
    p.finish()
}

impl Parser<'_> {
    fn finish(self) -> Parsed {
        Parsed { tree: self.tree, errors: self.errors, stopped: self.stopped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::xpath::{Value, XPath};
    use std::collections::HashMap;

    #[test]
    fn errors_show_the_place() {
        let parsed = parse_content("<value>three</wrong>  ");
        let expected = "line 1: Opening and ending tag mismatch: value line 1 and wrong\n\
                        <value>three</wrong>  \n                    ^";
        assert_eq!(parsed.failure(false).as_deref(), Some(expected));
    }

    #[test]
    fn no_text_panics() {
        let whole = "<!DOCTYPE a [<!ENTITY e \"x&f;\"><!ENTITY f \"&e;\">]><a b='&e;'>&e;<é/>\
                     <![CDATA[x]]><?p q?><!-- c --></a>";
        for (end, _) in whole.char_indices() {
            let parsed = parse_document(&whole[..end]);
            assert!(parsed.failure(false).is_some(), "{}", &whole[..end]);
            let _ = parse_content(&whole[..end]);
        }
    }

    #[test]
    fn entities_do_not_explode() {
        let mut text = String::from("<!DOCTYPE a [<!ENTITY e0 \"xxxxxxxxxxxxxxxxxxxx\">");
        for i in 1..20 {
            let inner = format!("&e{};", i - 1).repeat(20);
            text.push_str(&format!("<!ENTITY e{i} \"{inner}\">"));
        }
        text.push_str("]><a>&e19;</a>");
        assert!(parse_document(&text).failure(false).is_some());
    }

    #[test]
    fn paths_of_any_text_are_no_panic() {
        let tree = parse_document("<a><b c='1'>t</b></a>").tree;
        let none = HashMap::new();
        let path = XPath::parse("count(//@*) + string-length(/a/b)").unwrap();
        let count = path.evaluate(&tree, 0, &none);
        assert!(matches!(count, Ok(Value::Number(n)) if n == 2.0));
        for text in ["", "//", "a[", "$", "1e", "'", "::", "a::b", "é", "-", "((((", "..[.]|@*"] {
            if let Ok(path) = XPath::parse(text) {
                let _ = path.evaluate(&tree, 0, &none);
            }
        }
    }
}
