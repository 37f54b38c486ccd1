//! The syntax of SQL/XML, and the rows of XMLTABLE.

use super::{ExprCompiler, Prog, RowInput, VarMap};
use crate::run::Run;
use base::{Oid, Result, bail};
use functions::xml;
use functions::{CallInfo, FnCtx};
use ir::{XmlExpr, XmlOp, XmlStandalone};
use types::Datum;

/// An expression of SQL/XML, compiled.
pub(crate) struct XmlProg {
    op: XmlOp,
    args: Vec<Prog>,
    info: CallInfo,
    state: u32,
}

impl XmlProg {
    pub fn compile(c: &mut ExprCompiler, x: &XmlExpr, map: &VarMap) -> Result<XmlProg> {
        let args = c.list(&x.args, map)?;
        c.call_states += 1;
        let info = CallInfo {
            arg_types: x.args.iter().map(ir::Expr::ty).collect(),
            ret_type: x.ty,
            ret_typmod: x.typmod,
            ..CallInfo::default()
        };
        Ok(XmlProg { op: x.op.clone(), args, info, state: c.call_states - 1 })
    }

    /// Whether something in it must be computed row by row.
    pub fn is_volatile(&self) -> bool {
        self.args.iter().any(|p| p.volatile)
    }

    fn with_cx<R>(&self, run: &mut Run, f: impl FnOnce(&mut FnCtx) -> R) -> R {
        let env = run.env;
        let state = run.call_state(self.state);
        f(&mut FnCtx { env, call: &self.info, state })
    }

    fn typed(&self, run: &mut Run, input: RowInput<'_>) -> Result<Vec<(Oid, Datum)>> {
        self.args.iter().map(|a| Ok((a.ty, a.eval(run, input)?))).collect()
    }

    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let mut values = self.typed(run, input)?;
        let first = values.first().map_or(Datum::Null, |v| v.1.clone());
        match &self.op {
            XmlOp::Concat => {
                let all: Vec<Datum> = values.into_iter().map(|v| v.1).collect();
                return Ok(xml::concat(&all));
            }
            XmlOp::Element { name, attributes } => {
                let content = values.split_off(attributes.len());
                let attributes: Vec<_> = attributes.iter().cloned().zip(values).collect();
                return self.with_cx(run, |cx| xml::element(cx, name, &attributes, &content));
            }
            XmlOp::Forest { names } => {
                let all: Vec<_> = names.iter().cloned().zip(values).collect();
                return self.with_cx(run, |cx| xml::forest(cx, &all));
            }
            XmlOp::Pi { name } => return xml::instruction(name, values.first().map(|v| &v.1)),
            XmlOp::Table(_) => return Err(base::Error::unsupported("XMLTABLE here")),
            _ if first.is_null() => return Ok(Datum::Null),
            _ => {}
        }
        let text = first.as_str();
        match &self.op {
            XmlOp::Parse { document, .. } => xml::parse(text, *document),
            XmlOp::Root { standalone } => {
                let version = &values[1].1;
                let version = (!version.is_null()).then(|| version.as_str());
                let standalone = match standalone {
                    XmlStandalone::Yes => Some(Some(true)),
                    XmlStandalone::No => Some(Some(false)),
                    XmlStandalone::NoValue => Some(None),
                    XmlStandalone::Omitted => None,
                };
                Ok(xml::root(text, version, standalone))
            }
            XmlOp::Serialize { document, indent, .. } => xml::serialize(text, *document, *indent),
            _ => Ok(Datum::Bool(xml::is_document(text))),
        }
    }

    /// The rows of XMLTABLE.
    pub fn rows(&self, run: &mut Run) -> Result<Vec<Vec<Datum>>> {
        let XmlOp::Table(table) = &self.op else { return Ok(Vec::new()) };
        let input = RowInput::None;
        let value = |run: &mut Run, i: u32| self.args[i as usize].eval(run, input);
        let (row, document) = (value(run, 0)?, value(run, 1)?);
        if document.is_null() {
            return Ok(Vec::new());
        }
        let mut namespaces = Vec::new();
        for (name, uri) in &table.namespaces {
            namespaces.push((name.as_deref(), value(run, *uri)?));
        }
        let mut columns = Vec::new();
        for c in &table.columns {
            let path = match c.path {
                Some(path) => value(run, path)?,
                None => Datum::text(&c.name),
            };
            let (ty, typmod, ordinality) = (c.ty, c.typmod, c.ordinality);
            columns.push(xml::Column { name: &c.name, ty, typmod, ordinality, path });
        }
        let call = xml::Table { row, document, namespaces, columns };
        let mut rows = self.with_cx(run, |cx| xml::table_rows(cx, &call))?;
        for row in &mut rows {
            for (slot, c) in row.iter_mut().zip(&table.columns) {
                if slot.is_null()
                    && let Some(default) = c.default
                {
                    *slot = value(run, default)?;
                }
                if slot.is_null() && c.not_null {
                    bail!(NULL_VALUE_NOT_ALLOWED, "null is not allowed in column \"{}\"", c.name);
                }
            }
        }
        Ok(rows)
    }
}
