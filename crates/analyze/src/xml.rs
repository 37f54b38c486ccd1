//! The syntax of SQL/XML.

use crate::state::{Analyzer, Kind, NsItem, loc};
use base::{Oid, Result, err};
use catalog::{CastContext, oids};
use functions::xml::xml_name;
use ir::{BoolOp, CoercionForm, Expr, Location, XmlExpr, XmlOp, XmlTable, XmlTableColumn};
use parser::ast::{self, ExprKind};

fn node(op: XmlOp, args: Vec<Expr>, ty: Oid, at: Location) -> Expr {
    let collation = Oid::INVALID;
    Expr::Xml(Box::new(XmlExpr { op, args, ty, typmod: -1, collation, location: at }))
}

impl Analyzer<'_> {
    /// `value IS [NOT] DOCUMENT`
    pub fn is_document(&mut self, arg: &ast::Expr, negated: bool, at: Location) -> Result<Expr> {
        let arg = self.xml_operand(arg, oids::XML, "IS DOCUMENT")?;
        let made = node(XmlOp::IsDocument, vec![arg], oids::BOOL, at);
        Ok(match negated {
            true => Expr::Bool { op: BoolOp::Not, args: vec![made], location: at },
            false => made,
        })
    }

    fn xml_operand(&mut self, arg: &ast::Expr, ty: Oid, construct: &str) -> Result<Expr> {
        let arg = self.transform(arg)?;
        self.coerce_to_specific(arg, ty, construct)
    }

    /// Values with their names: XML's form of the name given, or of the column's.
    fn xml_named(&mut self, list: &[ast::XmlAttr], element: bool) -> Result<Named> {
        let (mut names, mut args) = (Vec::new(), Vec::new());
        for attr in list {
            let name = match (&attr.name, &attr.expr.kind) {
                (Some(name), _) => xml_name(name, false, false),
                (None, ExprKind::Column { .. }) => {
                    xml_name(&crate::target::column_name(&attr.expr), true, false)
                }
                (None, _) => {
                    let what = if element { "element" } else { "attribute" };
                    return Err(err!(
                        SYNTAX_ERROR,
                        "unnamed XML {what} value must be a column reference"
                    )
                    .at(loc(attr.pos)));
                }
            };
            if !element && names.contains(&name) {
                return Err(err!(
                    SYNTAX_ERROR,
                    "XML attribute name \"{name}\" appears more than once"
                )
                .at(loc(attr.pos)));
            }
            names.push(name);
            args.push(self.transform(&attr.expr)?);
        }
        Ok((names, args))
    }

    /// XMLELEMENT and the like.
    pub fn xml_expr(&mut self, xml: &ast::XmlExpr, at: Location) -> Result<Expr> {
        let (op, args) = match xml {
            ast::XmlExpr::Concat(list) => {
                let args = list.iter().map(|e| self.xml_operand(e, oids::XML, "XMLCONCAT"));
                (XmlOp::Concat, args.collect::<Result<_>>()?)
            }
            ast::XmlExpr::Element { name, attributes, content } => {
                let (attributes, mut args) = self.xml_named(attributes, false)?;
                for e in content {
                    args.push(self.transform(e)?);
                }
                (XmlOp::Element { name: xml_name(name, false, false), attributes }, args)
            }
            ast::XmlExpr::Forest(list) => {
                let (names, args) = self.xml_named(list, true)?;
                (XmlOp::Forest { names }, args)
            }
            ast::XmlExpr::Parse { document, arg, preserve_whitespace } => {
                let arg = self.xml_operand(arg, oids::TEXT, "XMLPARSE")?;
                let (document, preserve_whitespace) = (*document, *preserve_whitespace);
                (XmlOp::Parse { document, preserve_whitespace }, vec![arg])
            }
            ast::XmlExpr::Pi { name, arg } => {
                let arg = arg.as_ref().map(|a| self.xml_operand(a, oids::TEXT, "XMLPI"));
                let name = xml_name(name, false, false);
                (XmlOp::Pi { name }, arg.transpose()?.into_iter().collect())
            }
            ast::XmlExpr::Root { arg, version, standalone } => {
                let arg = self.xml_operand(arg, oids::XML, "XMLROOT")?;
                let version = match version {
                    Some(v) => self.xml_operand(v, oids::TEXT, "XMLROOT")?,
                    None => Expr::null_const(oids::TEXT, -1, Oid::INVALID),
                };
                let standalone = match standalone {
                    ast::XmlStandalone::Yes => ir::XmlStandalone::Yes,
                    ast::XmlStandalone::No => ir::XmlStandalone::No,
                    ast::XmlStandalone::NoValue => ir::XmlStandalone::NoValue,
                    ast::XmlStandalone::Omitted => ir::XmlStandalone::Omitted,
                };
                (XmlOp::Root { standalone }, vec![arg, version])
            }
            ast::XmlExpr::Serialize { document, arg, type_name, indent } => {
                return self.xml_serialize((*document, *indent), arg, type_name, at);
            }
            ast::XmlExpr::Exists { path, arg } => return self.xml_exists(path, arg, at),
        };
        Ok(node(op, args, oids::XML, at))
    }

    fn xml_serialize(
        &mut self,
        (document, indent): (bool, bool),
        arg: &ast::Expr,
        type_name: &ast::TypeName,
        at: Location,
    ) -> Result<Expr> {
        let arg = self.xml_operand(arg, oids::XML, "XMLSERIALIZE")?;
        let (ty, typmod) = self.type_of_name(type_name)?;
        let op = XmlOp::Serialize { document, indent, target: (ty, typmod) };
        let made = node(op, vec![arg], oids::TEXT, at);
        let (cx, form) = (CastContext::Implicit, CoercionForm::ExplicitCast);
        match self.coerce_to_target(made, ty, typmod, cx, form, None)? {
            Some(made) => Ok(made),
            None => Err(err!(
                CANNOT_COERCE,
                "cannot cast XMLSERIALIZE result to {}",
                self.type_shown(ty)
            )
            .at(at)),
        }
    }

    /// The function `xmlexists`, printed by its syntax.
    fn xml_exists(&mut self, path: &ast::Expr, arg: &ast::Expr, at: Location) -> Result<Expr> {
        let parts = vec!["pg_catalog".to_string(), "xmlexists".to_string()];
        let name = ast::Name { parts, pos: at.unwrap_or_default() };
        let mut call = ast::FuncCall::new(name, vec![path.clone(), arg.clone()]);
        call.sql_syntax = true;
        self.func_call(&call, at)
    }

    /// XMLTABLE
    pub fn from_xml_table(&mut self, table: &ast::XmlTable) -> Result<NsItem> {
        let at = loc(table.pos);
        self.st().lateral_active = true;
        let made = self.with_kind(Kind::FromFunction, |a| a.xml_table_expr(table, at));
        self.st().lateral_active = false;
        let (mut expr, columns) = made?;
        crate::collate::assign(self, &mut expr)?;
        self.add_table_function(expr, columns, table.alias.as_ref(), table.lateral, "xmltable", at)
    }

    fn xml_table_expr(&mut self, table: &ast::XmlTable, at: Location) -> Result<TableExpr> {
        let row = self.xml_operand(&table.row, oids::TEXT, "XMLTABLE")?;
        let document = self.xml_operand(&table.doc, oids::XML, "XMLTABLE")?;
        let mut args = vec![row, document];
        let mut columns: Vec<XmlTableColumn> = Vec::new();
        for c in &table.columns {
            if columns.iter().any(|o| o.name == c.name) {
                return Err(
                    err!(SYNTAX_ERROR, "column name \"{}\" is not unique", c.name).at(loc(c.pos))
                );
            }
            let Some(type_name) = &c.type_name else {
                if columns.iter().any(|o| o.ordinality) {
                    return Err(err!(SYNTAX_ERROR, "only one FOR ORDINALITY column is allowed")
                        .at(loc(c.pos)));
                }
                columns.push(XmlTableColumn {
                    name: c.name.clone(),
                    ty: oids::INT4,
                    typmod: -1,
                    collation: Oid::INVALID,
                    ordinality: true,
                    not_null: c.not_null,
                    path: None,
                    default: None,
                });
                continue;
            };
            let (ty, typmod) = self.type_of_name(type_name)?;
            let mut operand = |a: &mut Self, e: &Option<ast::Expr>, ty: Oid, typmod: i32| {
                let Some(e) = e else { return Ok(None) };
                let e = a.transform(e)?;
                let e = match typmod {
                    -1 => a.coerce_to_specific(e, ty, "XMLTABLE")?,
                    _ => {
                        let (cx, form) = (CastContext::Assignment, CoercionForm::ImplicitCast);
                        let made = a.coerce_to_target(e.clone(), ty, typmod, cx, form, None)?;
                        match made {
                            Some(made) => made,
                            None => a.coerce_to_specific(e, ty, "XMLTABLE")?,
                        }
                    }
                };
                args.push(e);
                Ok::<_, base::Error>(Some(args.len() as u32 - 1))
            };
            let path = operand(self, &c.path, oids::TEXT, -1)?;
            let default = operand(self, &c.default, ty, typmod)?;
            columns.push(XmlTableColumn {
                name: c.name.clone(),
                ty,
                typmod,
                collation: self.collation_of_type(ty)?,
                ordinality: false,
                not_null: c.not_null,
                path,
                default,
            });
        }
        let mut namespaces = Vec::new();
        for (i, (name, uri)) in table.namespaces.iter().enumerate() {
            if table.namespaces[..i].iter().any(|n| n.0 == *name) {
                let text = match name {
                    Some(name) => format!("namespace name \"{name}\" is not unique"),
                    None => "only one default namespace is allowed".to_string(),
                };
                return Err(err!(SYNTAX_ERROR, "{text}").at(at));
            }
            let uri = self.xml_operand(uri, oids::TEXT, "XMLTABLE")?;
            args.push(uri);
            namespaces.push((name.clone(), args.len() as u32 - 1));
        }
        let output =
            columns.iter().map(|c| (c.name.clone(), c.ty, c.typmod, c.collation)).collect();
        let op = XmlOp::Table(Box::new(XmlTable { namespaces, columns }));
        Ok((node(op, args, oids::RECORD, at), output))
    }
}

/// Names and values.
type Named = (Vec<String>, Vec<Expr>);

/// A table by a syntax of its own, with its columns.
type TableExpr = (Expr, Vec<(String, Oid, i32, Oid)>);
