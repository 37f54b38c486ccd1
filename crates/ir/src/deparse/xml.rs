//! SQL/XML.

use super::{Printer, quote_ident};
use crate::expr::Expr;
use crate::xml::*;

/// The SQL name that an XML name was made of.
fn sql_name(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some(at) = rest.find("_x") {
        out.push_str(&rest[..at]);
        let code = rest[at + 2..].split_once('_').filter(|(hex, _)| (4..=6).contains(&hex.len()));
        let c = code.and_then(|(hex, after)| {
            Some((char::from_u32(u32::from_str_radix(hex, 16).ok()?)?, after))
        });
        match c {
            Some((c, after)) => {
                out.push(c);
                rest = after;
            }
            None => {
                out.push_str("_x");
                rest = &rest[at + 2..];
            }
        }
    }
    out.push_str(rest);
    quote_ident(&out).to_string()
}

impl<'a> Printer<'a> {
    pub(super) fn xml(&mut self, x: &'a XmlExpr, expr: &'a Expr) {
        match &x.op {
            XmlOp::Concat => {
                self.put("XMLCONCAT(");
                self.xml_list(&x.args);
                self.put(")");
            }
            XmlOp::Element { name, attributes } => {
                self.put(&format!("XMLELEMENT(NAME {}", sql_name(name)));
                let (values, content) = x.args.split_at(attributes.len());
                if !attributes.is_empty() {
                    self.put(", XMLATTRIBUTES(");
                    self.xml_named(attributes, values);
                    self.put(")");
                }
                if !content.is_empty() {
                    self.put(", ");
                    self.xml_list(content);
                }
                self.put(")");
            }
            XmlOp::Forest { names } => {
                self.put("XMLFOREST(");
                self.xml_named(names, &x.args);
                self.put(")");
            }
            XmlOp::Parse { document, preserve_whitespace } => {
                self.put(if *document { "XMLPARSE(DOCUMENT " } else { "XMLPARSE(CONTENT " });
                self.expr(&x.args[0], false);
                self.put(match preserve_whitespace {
                    true => " PRESERVE WHITESPACE)",
                    false => " STRIP WHITESPACE)",
                });
            }
            XmlOp::Pi { name } => {
                self.put(&format!("XMLPI(NAME {}", sql_name(name)));
                if let Some(arg) = x.args.first() {
                    self.put(", ");
                    self.expr(arg, false);
                }
                self.put(")");
            }
            XmlOp::Root { standalone } => {
                self.put("XMLROOT(");
                self.expr(&x.args[0], false);
                self.put(", VERSION ");
                match &x.args[1] {
                    Expr::Const(c) if c.value.is_null() => self.put("NO VALUE"),
                    version => self.expr(version, false),
                }
                self.put(match standalone {
                    XmlStandalone::Yes => ", STANDALONE YES",
                    XmlStandalone::No => ", STANDALONE NO",
                    XmlStandalone::NoValue => ", STANDALONE NO VALUE",
                    XmlStandalone::Omitted => "",
                });
                self.put(")");
            }
            XmlOp::Serialize { document, indent, target } => {
                let word = if *document { "DOCUMENT" } else { "CONTENT" };
                self.put(&format!("XMLSERIALIZE({word} "));
                self.expr(&x.args[0], false);
                let ty = self.names.type_name(target.0, target.1);
                let indent = if *indent { "INDENT" } else { "NO INDENT" };
                self.put(&format!(" AS {ty} {indent})"));
            }
            XmlOp::IsDocument => {
                self.operand(&x.args[0], true, expr);
                self.put(" IS DOCUMENT");
            }
            XmlOp::Table(table) => self.xml_table(x, table),
        }
    }

    fn xml_list(&mut self, list: &'a [Expr]) {
        for (i, arg) in list.iter().enumerate() {
            self.put(if i > 0 { ", " } else { "" });
            self.expr(arg, false);
        }
    }

    fn xml_named(&mut self, names: &[String], list: &'a [Expr]) {
        for (i, (name, arg)) in names.iter().zip(list).enumerate() {
            self.put(if i > 0 { ", " } else { "" });
            self.expr(arg, false);
            self.put(&format!(" AS {}", sql_name(name)));
        }
    }

    fn xml_table(&mut self, x: &'a XmlExpr, table: &'a XmlTable) {
        self.put("XMLTABLE(");
        if !table.namespaces.is_empty() {
            self.put("XMLNAMESPACES (");
            for (i, (name, uri)) in table.namespaces.iter().enumerate() {
                self.put(if i > 0 { ", " } else { "" });
                match name {
                    Some(name) => {
                        self.expr(&x.args[*uri as usize], false);
                        self.put(&format!(" AS {}", quote_ident(name)));
                    }
                    None => {
                        self.put("DEFAULT ");
                        self.expr(&x.args[*uri as usize], false);
                    }
                }
            }
            self.put("), ");
        }
        self.put("(");
        self.expr(&x.args[0], false);
        self.put(") PASSING (");
        self.expr(&x.args[1], false);
        self.put(")");
        for (i, c) in table.columns.iter().enumerate() {
            self.put(if i > 0 { ", " } else { " COLUMNS " });
            self.put(&quote_ident(&c.name));
            if c.ordinality {
                self.put(" FOR ORDINALITY");
                continue;
            }
            let ty = self.names.type_name(c.ty, c.typmod);
            self.put(&format!(" {ty}"));
            for (word, operand) in [("DEFAULT", c.default), ("PATH", c.path)] {
                if let Some(operand) = operand {
                    self.put(&format!(" {word} ("));
                    self.expr(&x.args[operand as usize], false);
                    self.put(")");
                }
            }
            self.put(if c.not_null { " NOT NULL" } else { "" });
        }
        self.put(")");
    }
}
