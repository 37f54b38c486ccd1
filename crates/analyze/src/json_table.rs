//! JSON_TABLE in FROM.

use crate::coerce::{base_type, element_type};
use crate::json::{QueryParts, check_quotes};
use crate::names::{new_rte, ns_column, user_alias};
use crate::state::{Analyzer, NsItem, loc};
use base::{Oid, Result, err};
use catalog::oids;
use ir::{
    Expr, JsonExpr, JsonFormat, JsonOp, JsonQueryKind, JsonTable, JsonTableColumn, JsonTablePath,
    Location, RangeFunction, RteKind,
};
use parser::ast::{self, ExprKind, Literal};
use types::{Datum, oid};

/// What is gathered while the columns are analysed.
struct Builder<'a> {
    /// Names of columns and paths so far.
    used: Vec<String>,
    /// How many paths were named here.
    generated: u32,
    names: &'a [String],
    values: &'a [Expr],
    columns: Vec<JsonTableColumn>,
    exprs: Vec<Expr>,
}

impl Builder<'_> {
    fn claim(&mut self, name: &str, at: Location) -> Result<()> {
        if self.used.iter().any(|n| n == name) {
            return Err(
                err!(DUPLICATE_ALIAS, "duplicate JSON_TABLE column or path name: {name}").at(at)
            );
        }
        self.used.push(name.to_string());
        Ok(())
    }

    /// Names are checked before anything is analysed, outer ones first.
    fn claim_all(&mut self, columns: &[ast::JsonTableColumn]) -> Result<()> {
        for c in columns {
            match c {
                ast::JsonTableColumn::Ordinality { name, pos } => self.claim(name, loc(*pos))?,
                ast::JsonTableColumn::Column(c) => self.claim(&c.name, loc(c.pos))?,
                ast::JsonTableColumn::Nested { path_name, columns, pos, .. } => {
                    if let Some(name) = path_name {
                        self.claim(name, loc(*pos))?;
                    }
                    self.claim_all(columns)?;
                }
            }
        }
        Ok(())
    }

    fn path_name(&mut self, given: &Option<String>) -> String {
        if let Some(name) = given {
            return name.clone();
        }
        let name = format!("json_table_path_{}", self.generated);
        self.generated += 1;
        name
    }
}

fn string_of(e: &ast::Expr) -> &str {
    match &e.kind {
        ExprKind::Literal(Literal::String(s)) => s,
        _ => "",
    }
}

/// A path in its canonical text.
fn canonical(text: &str) -> Result<String> {
    Ok(types::jsonpath::parse(text)?.to_string())
}

fn path_const(text: &str) -> Result<Expr> {
    Ok(Expr::Const(ir::Const {
        ty: oid::JSONPATH,
        typmod: -1,
        collation: Oid::INVALID,
        value: Datum::text(&canonical(text)?),
        location: None,
    }))
}

impl Analyzer<'_> {
    pub fn from_json_table(&mut self, table: &ast::JsonTable) -> Result<NsItem> {
        let at = loc(table.pos);
        let bad_behavior = |at| {
            Err(err!(SYNTAX_ERROR, "invalid ON ERROR behavior")
                .detail(
                    "Only EMPTY [ ARRAY ] or ERROR is allowed in the top-level ON ERROR clause.",
                )
                .at(at))
        };
        let error_on_error = match &table.on_error {
            None | Some(ast::JsonBehavior::Empty(_) | ast::JsonBehavior::EmptyArray(_)) => false,
            Some(ast::JsonBehavior::Error(_)) => true,
            Some(ast::JsonBehavior::Default(e)) => {
                return bad_behavior(loc(e.location()).map(|p| p.saturating_sub(8)));
            }
            Some(
                ast::JsonBehavior::Null(p)
                | ast::JsonBehavior::True(p)
                | ast::JsonBehavior::False(p)
                | ast::JsonBehavior::Unknown(p)
                | ast::JsonBehavior::EmptyObject(p),
            ) => return bad_behavior(loc(*p)),
        };
        self.st().lateral_active = true;
        let made = self.json_table_expr(table, error_on_error, at);
        self.st().lateral_active = false;
        let (mut expr, columns) = made?;
        crate::collate::assign(self, &mut expr)?;
        self.add_table_function(
            expr,
            columns,
            table.alias.as_ref(),
            table.lateral,
            "json_table",
            at,
        )
    }

    /// Adds what gives a table by a syntax of its own.
    pub(crate) fn add_table_function(
        &mut self,
        expr: Expr,
        columns: Vec<(String, Oid, i32, Oid)>,
        alias: Option<&ast::Alias>,
        lateral: bool,
        name: &str,
        at: Location,
    ) -> Result<NsItem> {
        let col_names: Vec<String> = columns.iter().map(|c| c.0.clone()).collect();
        if let Some(given) = alias.filter(|a| a.columns.len() > columns.len()) {
            return Err(err!(
                INVALID_COLUMN_REFERENCE,
                "{} function has {} columns available but {} columns specified",
                name.to_uppercase(),
                columns.len(),
                given.columns.len()
            ));
        }
        let eref = self.alias_columns(alias, name, col_names.clone(), &[], at)?;
        let lateral = lateral || crate::from::has_local_vars(&expr);
        let function = RangeFunction {
            expr,
            column_count: columns.len() as u32,
            col_names,
            col_types: columns.iter().map(|c| c.1).collect(),
            col_typmods: columns.iter().map(|c| c.2).collect(),
            col_collations: columns.iter().map(|c| c.3).collect(),
        };
        let kind = RteKind::Function { functions: vec![function], ordinality: false };
        let mut rte = new_rte(kind, alias.map(user_alias), eref.clone());
        rte.lateral = lateral;
        let index = self.add_rte(rte);
        let cols = columns
            .iter()
            .enumerate()
            .map(|(i, c)| ns_column(index, i as i16 + 1, c.1, c.2, c.3))
            .collect();
        Ok(self.ns_item(index, &eref, cols))
    }

    fn json_table_expr(
        &mut self,
        table: &ast::JsonTable,
        error_on_error: bool,
        at: Location,
    ) -> Result<(Expr, Vec<(String, Oid, i32, Oid)>)> {
        let (document, names, values) = self.with_kind(crate::state::Kind::FromFunction, |a| {
            let document = a.json_document(&table.context)?;
            let (names, values) = a.json_passing(&table.passing)?;
            Ok((document, names, values))
        })?;
        let mut b = Builder {
            used: Vec::new(),
            generated: 0,
            names: &names,
            values: &values,
            columns: Vec::new(),
            exprs: Vec::new(),
        };
        if let Some(name) = &table.path_name {
            b.claim(name, None)?;
        }
        b.claim_all(&table.columns)?;
        let name = b.path_name(&table.path_name);
        let path = string_of(&table.path);
        let root = self.with_kind(crate::state::Kind::FromFunction, |a| {
            a.json_table_level(&mut b, path, name, &table.columns)
        })?;
        let (columns, exprs) = (b.columns, b.exprs);
        let output =
            columns.iter().map(|c| (c.name.clone(), c.ty, c.typmod, c.collation)).collect();
        let mut args = vec![document];
        args.extend(values);
        let table = JsonTable { names, columns, root, error_on_error };
        let expr = Expr::Json(Box::new(JsonExpr {
            op: JsonOp::Table(Box::new(table)),
            args,
            inner: exprs,
            ty: oids::RECORD,
            typmod: -1,
            collation: Oid::INVALID,
            format: JsonFormat::Default,
            location: at,
        }));
        Ok((expr, output))
    }

    /// The columns of one path come before those of the paths nested in it.
    fn json_table_level(
        &mut self,
        b: &mut Builder,
        path: &str,
        name: String,
        columns: &[ast::JsonTableColumn],
    ) -> Result<JsonTablePath> {
        base::stack::check()?;
        let first = b.columns.len() as u32;
        let mut ordinality = false;
        for c in columns {
            match c {
                ast::JsonTableColumn::Ordinality { name, pos } => {
                    if std::mem::replace(&mut ordinality, true) {
                        return Err(err!(
                            SYNTAX_ERROR,
                            "only one FOR ORDINALITY column is allowed"
                        )
                        .at(loc(*pos)));
                    }
                    b.columns.push(JsonTableColumn {
                        name: name.clone(),
                        ty: oids::INT4,
                        typmod: -1,
                        collation: Oid::INVALID,
                        value: None,
                        string: false,
                    });
                }
                ast::JsonTableColumn::Column(c) => self.json_table_column(b, c)?,
                ast::JsonTableColumn::Nested { .. } => {}
            }
        }
        let last = b.columns.len() as u32;
        let mut nested = Vec::new();
        for c in columns {
            if let ast::JsonTableColumn::Nested { path, path_name, columns, .. } = c {
                let name = b.path_name(path_name);
                nested.push(self.json_table_level(b, string_of(path), name, columns)?);
            }
        }
        Ok(JsonTablePath { name, path: canonical(path)?, columns: (first, last), nested })
    }

    fn json_table_column(&mut self, b: &mut Builder, c: &ast::JsonTableRegular) -> Result<()> {
        let at = loc(c.pos);
        let (ty, typmod) = self.type_of_name(&c.type_name)?;
        let kind = if c.exists {
            JsonQueryKind::Exists
        } else if c.format.is_some()
            || c.wrapper != ast::JsonWrapper::Unspecified
            || c.quotes != ast::JsonQuotes::Unspecified
            || self.is_nested_type(ty)?
        {
            JsonQueryKind::Query
        } else {
            JsonQueryKind::Value
        };
        self.check_behaviors(kind, Some(&c.name), c.on_empty.as_ref(), c.on_error.as_ref())?;
        check_quotes(c.wrapper, c.quotes, at)?;
        let mut output = self.json_output(None, ty)?;
        output.typmod = typmod;
        if let Some(f) = &c.format {
            let returning =
                ast::JsonReturning { type_name: c.type_name.clone(), format: Some(f.clone()) };
            output = self.json_output(Some(&returning), ty)?;
        }
        let path = match &c.path {
            Some(p) => path_const(string_of(p))?,
            None => {
                let mut quoted = Vec::new();
                types::json::escape(&c.name, &mut quoted);
                path_const(&format!("$.{}", String::from_utf8_lossy(&quoted)))?
            }
        };
        let document = Expr::CaseTest { ty: oid::JSONB, typmod: -1, collation: Oid::INVALID };
        let values = b.values.iter().map(|v| {
            // The values themselves are computed once, for the whole table.
            Expr::null_const(v.ty(), v.typmod(), v.collation())
        });
        let expr = self.json_query(QueryParts {
            kind,
            document,
            path,
            names: b.names.to_vec(),
            values: values.collect(),
            output,
            wrapper: c.wrapper,
            quotes: c.quotes,
            on_empty: c.on_empty.as_ref(),
            on_error: c.on_error.as_ref(),
            column: Some(c.name.clone()),
            at,
        })?;
        b.columns.push(JsonTableColumn {
            name: c.name.clone(),
            ty,
            typmod,
            collation: self.collation_of_type(ty)?,
            value: Some(b.exprs.len() as u32),
            string: self.type_desc(ty)?.category == b'S',
        });
        b.exprs.push(expr);
        Ok(())
    }

    /// Types whose values JSON_QUERY makes: json, arrays, rows, and domains over them.
    fn is_nested_type(&self, ty: Oid) -> Result<bool> {
        let base = base_type(self.catalog(), ty)?;
        Ok(matches!(base, oid::JSON | oid::JSONB | oid::RECORD)
            || element_type(self.catalog(), base)?.is_valid()
            || self.type_desc(base)?.kind == b'c')
    }
}
