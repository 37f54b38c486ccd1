//! XML syntax, and the way to the JSON one.

use super::expr::mk;
use super::*;

impl Parser<'_> {
    /// A call of special JSON or XML syntax; none if the word has none.
    pub(super) fn json_or_xml_call(&mut self, kw: Kw) -> Result<Option<Expr>> {
        let pos = self.pos();
        let xml = match kw {
            Kw::Xmlconcat => {
                self.bump();
                XmlExpr::Concat(self.paren_list(|p| p.expr())?)
            }
            Kw::Xmlelement => self.xml_element()?,
            Kw::Xmlforest => {
                self.bump();
                XmlExpr::Forest(self.paren_list(|p| p.xml_attr())?)
            }
            Kw::Xmlparse => {
                self.at += 2;
                let document = self.document_or_content()?;
                let arg = self.expr()?;
                let preserve_whitespace = self.accept_kws(&[Kw::Preserve, Kw::Whitespace]);
                if !preserve_whitespace {
                    self.accept_kws(&[Kw::Strip, Kw::Whitespace]);
                }
                self.expect(T::RParen)?;
                XmlExpr::Parse { document, arg, preserve_whitespace }
            }
            Kw::Xmlpi => {
                self.at += 2;
                self.expect_kw(Kw::Name)?;
                let name = self.col_label()?;
                let arg = if self.accept(T::Comma) { Some(self.expr()?) } else { None };
                self.expect(T::RParen)?;
                XmlExpr::Pi { name, arg }
            }
            Kw::Xmlroot => self.xml_root()?,
            Kw::Xmlserialize => {
                self.at += 2;
                let document = self.document_or_content()?;
                let arg = self.expr()?;
                self.expect_kw(Kw::As)?;
                let type_name = self.simple_type(false)?;
                let indent = self.accept_kw(Kw::Indent);
                if !indent && self.accept_kw(Kw::No) {
                    self.expect_kw(Kw::Indent)?;
                }
                self.expect(T::RParen)?;
                XmlExpr::Serialize { document, arg, type_name, indent }
            }
            Kw::Xmlexists => {
                self.at += 2;
                let path = self.primary()?;
                let arg = self.xml_passing()?;
                self.expect(T::RParen)?;
                XmlExpr::Exists { path, arg }
            }
            _ => return self.json_call(kw),
        };
        Ok(Some(mk(ExprKind::Xml(Box::new(xml)), pos)))
    }

    fn document_or_content(&mut self) -> Result<bool> {
        if self.accept_kw(Kw::Document) {
            return Ok(true);
        }
        self.expect_kw(Kw::Content)?;
        Ok(false)
    }

    /// PASSING [BY REF | BY VALUE] c_expr [BY REF | BY VALUE].
    pub(super) fn xml_passing(&mut self) -> Result<Expr> {
        self.expect_kw(Kw::Passing)?;
        self.xml_mechanism()?;
        let doc = self.primary()?;
        self.xml_mechanism()?;
        Ok(doc)
    }

    fn xml_mechanism(&mut self) -> Result<()> {
        if self.accept_kw(Kw::By) && !self.accept_kw(Kw::Ref) {
            self.expect_kw(Kw::Value)?;
        }
        Ok(())
    }

    fn xml_attr(&mut self) -> Result<XmlAttr> {
        let pos = self.pos();
        let expr = self.expr()?;
        let name = if self.accept_kw(Kw::As) { Some(self.col_label()?) } else { None };
        Ok(XmlAttr { expr, name, pos })
    }

    fn xml_element(&mut self) -> Result<XmlExpr> {
        self.at += 2;
        self.expect_kw(Kw::Name)?;
        let name = self.col_label()?;
        let mut attributes = Vec::new();
        let mut content = Vec::new();
        if self.accept(T::Comma) {
            let mut more = true;
            if self.is_kw(Kw::Xmlattributes) {
                self.bump();
                attributes = self.paren_list(|p| p.xml_attr())?;
                more = self.accept(T::Comma);
            }
            if more {
                content = self.expr_list()?;
            }
        }
        self.expect(T::RParen)?;
        Ok(XmlExpr::Element { name, attributes, content })
    }

    fn xml_root(&mut self) -> Result<XmlExpr> {
        self.at += 2;
        let arg = self.expr()?;
        self.expect(T::Comma)?;
        self.expect_kw(Kw::Version)?;
        let version = if self.is_kws(&[Kw::No, Kw::Value]) {
            self.at += 2;
            None
        } else {
            Some(self.expr()?)
        };
        let mut standalone = XmlStandalone::Omitted;
        if self.accept(T::Comma) {
            self.expect_kw(Kw::Standalone)?;
            standalone = if self.accept_kw(Kw::Yes) {
                XmlStandalone::Yes
            } else {
                self.expect_kw(Kw::No)?;
                if self.accept_kw(Kw::Value) { XmlStandalone::NoValue } else { XmlStandalone::No }
            };
        }
        self.expect(T::RParen)?;
        Ok(XmlExpr::Root { arg, version, standalone })
    }
}
