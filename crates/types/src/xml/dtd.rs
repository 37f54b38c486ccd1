//! Document type declarations: skipped, but for the entities that they define.

use super::parse::Parser;
use super::{NodeKind, is_space};

impl Parser<'_> {
    /// `<!DOCTYPE ...>`, from its beginning.
    pub(super) fn doctype(&mut self) {
        let start = self.pos;
        self.pos += "<!DOCTYPE".len();
        self.skip_space();
        if self.name().is_none() {
            self.error("xmlParseDocTypeDecl : no DOCTYPE name !");
        }
        self.skip_space();
        // What an external subset may define is not known, and so no error if it is not.
        self.open_entities = self.rest().starts_with("SYSTEM") || self.rest().starts_with("PUBLIC");
        let mut inside = false;
        loop {
            let Some(c) = self.peek() else {
                self.fatal("DOCTYPE improperly terminated");
                return;
            };
            match c {
                '[' => inside = true,
                ']' => inside = false,
                '>' if !inside => {
                    self.pos += 1;
                    break;
                }
                '"' | '\'' => {
                    self.pos += 1;
                    if self.until(if c == '"' { "\"" } else { "'" }).is_none() {
                        self.fatal("AttValue: ' expected");
                        return;
                    }
                    continue;
                }
                '<' if inside => {
                    self.markup();
                    if self.halted {
                        return;
                    }
                    continue;
                }
                _ => {}
            }
            self.pos += c.len_utf8();
        }
        let text = self.text[start..self.pos].to_string();
        let id = self.tree.add(NodeKind::Doctype, 0);
        self.tree.nodes[id as usize].text = text;
    }

    /// A declaration within the brackets.
    fn markup(&mut self) {
        if self.rest().starts_with("<!--") {
            self.pos += 4;
            if self.until("-->").is_none() {
                self.fatal("Comment not terminated");
            }
        } else if self.rest().starts_with("<!ENTITY") {
            self.entity();
        } else {
            let mut quote = None;
            while let Some(c) = self.peek() {
                self.pos += c.len_utf8();
                match (c, quote) {
                    ('"' | '\'', None) => quote = Some(c),
                    (c, Some(q)) if c == q => quote = None,
                    ('>', None) => return,
                    _ => {}
                }
            }
            self.fatal(
                "internal error: xmlParseInternalSubset: error detected in Markup declaration",
            );
        }
    }

    /// `<!ENTITY name "value">`; what is elsewhere is never read and stands for nothing.
    fn entity(&mut self) {
        self.pos += "<!ENTITY".len();
        self.skip_space();
        let parameter = self.peek() == Some('%');
        if parameter {
            self.pos += 1;
            self.skip_space();
        }
        let Some(name) = self.name() else {
            self.fatal("xmlParseEntityDecl: no name");
            return;
        };
        self.skip_space();
        let mut value = None;
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            self.pos += 1;
            match self.until(if quote == '"' { "\"" } else { "'" }) {
                Some(text) => value = Some(text.to_string()),
                None => {
                    self.fatal("AttValue: ' expected");
                    return;
                }
            }
        }
        let mut quote = None;
        while let Some(c) = self.peek() {
            self.pos += c.len_utf8();
            match (c, quote) {
                ('"' | '\'', None) => quote = Some(c),
                (c, Some(q)) if c == q => quote = None,
                ('>', None) => break,
                _ => {}
            }
        }
        if !parameter {
            self.entities.entry(name).or_insert(value.unwrap_or_default());
        }
    }

    /// What is up to a mark, which is skipped too.
    pub(super) fn until(&mut self, mark: &str) -> Option<&str> {
        let start = self.pos;
        let len = self.text[start..].find(mark)?;
        self.pos = start + len + mark.len();
        Some(&self.text[start..start + len])
    }

    pub(super) fn skip_space(&mut self) -> bool {
        let start = self.pos;
        while self.peek().is_some_and(is_space) {
            self.pos += 1;
        }
        self.pos > start
    }
}
