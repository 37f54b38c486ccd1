//! XML syntax: what is not a plain function call.

use crate::expr::{Expr, Location};
use base::Oid;
use serde::{Deserialize, Serialize};

/// STANDALONE of XMLROOT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum XmlStandalone {
    Yes,
    No,
    NoValue,
    Omitted,
}

/// A column of XMLTABLE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct XmlTableColumn {
    pub name: String,
    pub ty: Oid,
    pub typmod: i32,
    pub collation: Oid,
    pub ordinality: bool,
    pub not_null: bool,
    /// Which operands PATH and DEFAULT are.
    pub path: Option<u32>,
    pub default: Option<u32>,
}

/// XMLTABLE. Operands: the row path, the document, then those of namespaces and columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct XmlTable {
    /// Names of the namespaces and which operands their URIs are; none is the default one.
    pub namespaces: Vec<(Option<String>, u32)>,
    pub columns: Vec<XmlTableColumn>,
}

/// What an [`XmlExpr`] does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum XmlOp {
    Concat,
    /// Operands: the attributes' values, then the content.
    Element {
        name: String,
        attributes: Vec<String>,
    },
    Forest {
        names: Vec<String>,
    },
    Parse {
        document: bool,
        preserve_whitespace: bool,
    },
    Pi {
        name: String,
    },
    /// Operands: the value, the version.
    Root {
        standalone: XmlStandalone,
    },
    /// The value is text; `target` is the type and modifier it is then cast to.
    Serialize {
        document: bool,
        indent: bool,
        target: (Oid, i32),
    },
    IsDocument,
    Table(Box<XmlTable>),
}

/// An expression of XML syntax.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct XmlExpr {
    pub op: XmlOp,
    pub args: Vec<Expr>,
    pub ty: Oid,
    pub typmod: i32,
    pub collation: Oid,
    pub location: Location,
}
