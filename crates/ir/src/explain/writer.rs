//! The four forms of EXPLAIN's output.

use types::json;

/// EXPLAIN's FORMAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Text,
    Json,
    Xml,
    Yaml,
}

/// Output under construction.
pub(super) struct Writer {
    pub format: Format,
    pub out: String,
    pub indent: usize,
    /// For JSON and YAML: whether the open group has an item already, innermost last.
    open: Vec<bool>,
}

impl Writer {
    pub fn new(format: Format) -> Writer {
        let mut writer = Writer { format, out: String::new(), indent: 0, open: Vec::new() };
        match format {
            Format::Text => {}
            Format::Json => {
                writer.out.push('[');
                writer.open.push(false);
                writer.indent += 1;
            }
            Format::Xml => {
                let ns = "http://www.postgresql.org/2009/explain";
                writer.out.push_str(&format!("<explain xmlns=\"{ns}\">\n"));
                writer.indent += 1;
            }
            Format::Yaml => writer.open.push(false),
        }
        writer
    }

    pub fn finish(mut self) -> String {
        match self.format {
            Format::Json => self.out.push_str("\n]"),
            Format::Xml => self.out.push_str("</explain>"),
            _ => {}
        }
        let len = self.out.trim_end_matches('\n').len();
        self.out.truncate(len);
        self.out
    }

    pub fn is_text(&self) -> bool {
        self.format == Format::Text
    }

    pub fn pad(&mut self) {
        for _ in 0..self.indent * 2 {
            self.out.push(' ');
        }
    }

    /// Begins an item of the open group.
    fn item(&mut self) {
        match self.format {
            Format::Text | Format::Xml => self.pad(),
            Format::Json => {
                if let Some(true) = self.open.last().copied() {
                    self.out.push(',');
                }
                if let Some(top) = self.open.last_mut() {
                    *top = true;
                }
                self.out.push('\n');
                self.pad();
            }
            Format::Yaml => match self.open.last_mut() {
                Some(top) if !*top => *top = true,
                _ => {
                    self.out.push('\n');
                    self.pad();
                }
            },
        }
    }

    /// Opens a group of kind `kind`, under `label` unless it is an item of a list. `named`: its
    /// items have labels.
    pub fn open(&mut self, kind: &str, label: Option<&str>, named: bool) {
        match self.format {
            Format::Text => return,
            Format::Json => {
                self.item();
                if let Some(label) = label {
                    self.out.push_str(&format!("{}: ", json::quoted(label)));
                }
                self.out.push(if named { '{' } else { '[' });
                self.open.push(false);
            }
            Format::Xml => {
                self.pad();
                self.out.push_str(&format!("<{}>\n", tag(kind)));
            }
            Format::Yaml => {
                self.item();
                match label {
                    Some(label) => self.out.push_str(&format!("{label}: ")),
                    None => self.out.push_str("- "),
                }
                self.open.push(label.is_some());
            }
        }
        self.indent += 1;
    }

    /// Closes what `open` opened.
    pub fn close(&mut self, kind: &str, named: bool) {
        if self.is_text() {
            return;
        }
        self.indent -= 1;
        match self.format {
            Format::Json => {
                self.out.push('\n');
                self.pad();
                self.out.push(if named { '}' } else { ']' });
                self.open.pop();
            }
            Format::Xml => {
                self.pad();
                self.out.push_str(&format!("</{}>\n", tag(kind)));
            }
            _ => {
                self.open.pop();
            }
        }
    }

    /// A group without anything in it, known by its name.
    pub fn empty(&mut self, name: &str) {
        match self.format {
            Format::Text => {}
            Format::Json => {
                self.item();
                self.out.push_str(&json::quoted(name));
            }
            Format::Xml => {
                self.pad();
                self.out.push_str(&format!("<{} />\n", tag(name)));
            }
            Format::Yaml => {
                self.item();
                self.out.push_str(&format!("- {}", json::quoted(name)));
            }
        }
    }

    fn property(&mut self, label: &str, unit: &str, value: &str, quoted: bool) {
        match self.format {
            Format::Text => {
                self.pad();
                let gap = if unit.is_empty() { "" } else { " " };
                self.out.push_str(&format!("{label}: {value}{gap}{unit}\n"));
            }
            Format::Json => {
                self.item();
                let value = if quoted { json::quoted(value) } else { value.to_string() };
                self.out.push_str(&format!("{}: {value}", json::quoted(label)));
            }
            Format::Xml => {
                self.pad();
                let tag = tag(label);
                self.out.push_str(&format!("<{tag}>{}</{tag}>\n", xml_text(value)));
            }
            Format::Yaml => {
                self.item();
                let value = if quoted { json::quoted(value) } else { value.to_string() };
                self.out.push_str(&format!("{label}: {value}"));
            }
        }
    }

    pub fn text(&mut self, label: &str, value: &str) {
        self.property(label, "", value, true);
    }

    pub fn integer(&mut self, label: &str, unit: &str, value: i64) {
        self.property(label, unit, &value.to_string(), false);
    }

    pub fn float(&mut self, label: &str, unit: &str, value: f64, digits: usize) {
        self.property(label, unit, &format!("{value:.digits$}"), false);
    }

    pub fn boolean(&mut self, label: &str, value: bool) {
        self.property(label, "", if value { "true" } else { "false" }, false);
    }

    pub fn list(&mut self, label: &str, items: &[String]) {
        match self.format {
            Format::Text => {
                self.pad();
                self.out.push_str(&format!("{label}: {}\n", items.join(", ")));
            }
            Format::Json => {
                self.item();
                let items: Vec<String> = items.iter().map(|i| json::quoted(i)).collect();
                self.out.push_str(&format!("{}: [{}]", json::quoted(label), items.join(", ")));
            }
            Format::Xml => {
                self.pad();
                let tag = tag(label);
                self.out.push_str(&format!("<{tag}>\n"));
                self.indent += 1;
                for item in items {
                    self.pad();
                    self.out.push_str(&format!("<Item>{}</Item>\n", xml_text(item)));
                }
                self.indent -= 1;
                self.pad();
                self.out.push_str(&format!("</{tag}>\n"));
            }
            Format::Yaml => {
                self.item();
                self.out.push_str(&format!("{label}: "));
                for item in items {
                    self.out.push('\n');
                    self.pad();
                    self.out.push_str(&format!("  - {}", json::quoted(item)));
                }
            }
        }
    }

    /// A list that is an item of a list.
    pub fn nested_list(&mut self, label: &str, items: &[String]) {
        match self.format {
            Format::Text | Format::Xml => self.list(label, items),
            Format::Json => {
                self.item();
                let items: Vec<String> = items.iter().map(|i| json::quoted(i)).collect();
                self.out.push_str(&format!("[{}]", items.join(", ")));
            }
            Format::Yaml => {
                self.item();
                let items: Vec<String> = items.iter().map(|i| json::quoted(i)).collect();
                self.out.push_str(&format!("- [{}]", items.join(", ")));
            }
        }
    }
}

/// A name of an element: what may not stand in one becomes a hyphen.
fn tag(name: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars().map(|c| if fine(c) { c } else { '-' }).collect()
}

fn xml_text(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('\r', "&#x0d;")
}
