//! Tables, queries, schemas and the database as XML, and XML Schema documents for them.

use super::{name::xml_name, value};
use crate::call::{FnCtx, FnDef};
use crate::env::QueryRows;
use base::{Error, Oid, Result, SqlState, err};
use types::{Datum, oid};

/// How the caller wants it.
struct Form<'a> {
    /// NULLs are shown as such; else left out.
    nulls: bool,
    /// An element for each row rather than one for the table.
    forest: bool,
    /// The namespace of the elements.
    namespace: &'a str,
}

impl<'a> Form<'a> {
    fn of(args: &'a [Datum]) -> Form<'a> {
        let n = args.len() - 3;
        Form {
            nulls: args[n].as_bool(),
            forest: args[n + 1].as_bool(),
            namespace: args[n + 2].as_str(),
        }
    }
}

const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

fn root(name: &str, form: &Form, schema: bool, top: bool) -> String {
    let mut out = format!("<{name}");
    if top {
        out.push_str(&format!(" xmlns:xsi=\"{INSTANCE}\""));
    }
    if !form.namespace.is_empty() {
        out.push_str(&format!(" xmlns=\"{}\"", form.namespace));
    }
    if schema {
        match form.namespace {
            "" => out.push_str(" xsi:noNamespaceSchemaLocation=\"#\""),
            ns => out.push_str(&format!(" xsi:schemaLocation=\"{ns} #\"")),
        }
    }
    out.push_str(">\n");
    out
}

/// The rows of a query; `table` is the table's name.
fn data(
    cx: &mut FnCtx,
    found: &QueryRows,
    table: Option<&str>,
    form: &Form,
    (schema, top): (Option<&str>, bool),
) -> Result<String> {
    let name = match table {
        Some(table) => xml_name(table, true, false),
        None => if form.forest { "row" } else { "table" }.to_string(),
    };
    let mut out = String::new();
    if !form.forest {
        out.push_str(&root(&name, form, schema.is_some(), top));
        out.push('\n');
    }
    if let Some(schema) = schema {
        out.push_str(&format!("{schema}\n\n"));
    }
    for row in &found.rows {
        match form.forest {
            true => out.push_str(&root(&name, form, false, top)),
            false => out.push_str("<row>\n"),
        }
        for ((column, ty, _), v) in found.columns.iter().zip(row) {
            let column = xml_name(column, true, false);
            if !v.is_null() {
                let text = value::text(cx, *ty, v, true)?;
                out.push_str(&format!("  <{column}>{text}</{column}>\n"));
            } else if form.nulls {
                out.push_str(&format!("  <{column} xsi:nil=\"true\"/>\n"));
            }
        }
        match form.forest {
            true => out.push_str(&format!("</{name}>\n\n")),
            false => out.push_str("</row>\n\n"),
        }
    }
    if !form.forest {
        out.push_str(&format!("</{name}>\n"));
    }
    Ok(out)
}

/// A relation's name and its schema's.
fn relation(cx: &FnCtx, oid: Oid) -> Result<(String, String)> {
    let found = cx.env.run_query(
        &format!(
            "SELECT c.relname, n.nspname FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = {oid}"
        ),
        Some(1),
    )?;
    match found.rows.into_iter().next().as_deref() {
        Some([name, schema]) => Ok((name.as_str().to_string(), schema.as_str().to_string())),
        _ => Err(err!(UNDEFINED_TABLE, "relation with OID {oid} does not exist")),
    }
}

fn select_all(cx: &FnCtx, oid: Oid, most: Option<usize>) -> Result<QueryRows> {
    let name = cx.env.catalog().types().reg_out(oid::REGCLASS, oid).unwrap_or_default();
    cx.env.run_query(&format!("SELECT * FROM {name}"), most)
}

fn database(cx: &FnCtx) -> String {
    cx.env.catalog().database_name(cx.env.database()).unwrap_or_default()
}

/// `kind.database.schema.name`, each as an XML name.
fn qualified(kind: &str, parts: &[&str]) -> String {
    let mut out = xml_name(kind, true, true);
    for part in parts {
        out.push('.');
        out.push_str(&xml_name(part, true, true));
    }
    out
}

/// A type's facts: name, schema, kind, base type.
fn type_facts(cx: &FnCtx, ty: Oid) -> Result<(String, String, u8, Oid)> {
    let found = cx.env.run_query(
        &format!(
            "SELECT t.typname, n.nspname, t.typtype, t.typbasetype FROM pg_catalog.pg_type t \
             JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = {ty}"
        ),
        Some(1),
    )?;
    match found.rows.into_iter().next().as_deref() {
        Some([name, schema, kind, base]) => Ok((
            name.as_str().to_string(),
            schema.as_str().to_string(),
            kind.as_char(),
            base.as_oid(),
        )),
        _ => Err(Error::internal(format!("cache lookup failed for type {ty}"))),
    }
}

fn type_name(cx: &FnCtx, ty: Oid) -> Result<String> {
    Ok(match ty {
        oid::BPCHAR => "CHAR".into(),
        oid::VARCHAR => "VARCHAR".into(),
        oid::NUMERIC => "NUMERIC".into(),
        oid::INT4 => "INTEGER".into(),
        oid::INT2 => "SMALLINT".into(),
        oid::INT8 => "BIGINT".into(),
        oid::FLOAT4 => "REAL".into(),
        oid::FLOAT8 => "DOUBLE".into(),
        oid::BOOL => "BOOLEAN".into(),
        oid::TIME => "TIME".into(),
        oid::TIMETZ => "TIME_WTZ".into(),
        oid::TIMESTAMP => "TIMESTAMP".into(),
        oid::TIMESTAMPTZ => "TIMESTAMP_WTZ".into(),
        oid::DATE => "DATE".into(),
        oid::XML => "XML".into(),
        _ => {
            let (name, schema, kind, _) = type_facts(cx, ty)?;
            let word = if kind == b'd' { "Domain" } else { "UDT" };
            qualified(word, &[&database(cx), &schema, &name])
        }
    })
}

fn type_definition(cx: &FnCtx, ty: Oid) -> Result<String> {
    if ty == oid::XML {
        return Ok("<xsd:complexType mixed=\"true\">\n  <xsd:sequence>\n    <xsd:any \
                   name=\"element\" minOccurs=\"0\" maxOccurs=\"unbounded\" \
                   processContents=\"skip\"/>\n  </xsd:sequence>\n</xsd:complexType>\n"
            .to_string());
    }
    let plain =
        |base: &str| format!("  <xsd:restriction base=\"xsd:{base}\">\n  </xsd:restriction>\n");
    let bounds = |base: &str, least: i64, most: i64| {
        format!(
            "  <xsd:restriction base=\"xsd:{base}\">\n    <xsd:maxInclusive value=\"{most}\"/>\n    \
             <xsd:minInclusive value=\"{least}\"/>\n  </xsd:restriction>\n"
        )
    };
    let empty = |base: &str| format!("  <xsd:restriction base=\"xsd:{base}\"></xsd:restriction>\n");
    let pattern = |base: &str, parts: &[&str]| {
        format!(
            "  <xsd:restriction base=\"xsd:{base}\">\n    <xsd:pattern value=\"{}\"/>\n  \
             </xsd:restriction>\n",
            parts.concat()
        )
    };
    const DAY: &str = "\\p{Nd}{4}-\\p{Nd}{2}-\\p{Nd}{2}";
    const TIME: &str = "\\p{Nd}{2}:\\p{Nd}{2}:\\p{Nd}{2}(.\\p{Nd}+)?";
    const ZONE: &str = "(\\+|-)\\p{Nd}{2}:\\p{Nd}{2}";
    let body = match ty {
        oid::BPCHAR | oid::VARCHAR | oid::TEXT => plain("string"),
        oid::BYTEA => plain(if cx.env.format().xml_base64 { "base64Binary" } else { "hexBinary" }),
        oid::NUMERIC => String::new(),
        oid::INT2 => bounds("short", i16::MIN.into(), i16::MAX.into()),
        oid::INT4 => bounds("int", i32::MIN.into(), i32::MAX.into()),
        oid::INT8 => bounds("long", i64::MIN, i64::MAX),
        oid::FLOAT4 => empty("float"),
        oid::FLOAT8 => empty("double"),
        oid::BOOL => empty("boolean"),
        oid::TIME => pattern("time", &[TIME]),
        oid::TIMETZ => pattern("time", &[TIME, ZONE]),
        oid::TIMESTAMP => pattern("dateTime", &[DAY, "T", TIME]),
        oid::TIMESTAMPTZ => pattern("dateTime", &[DAY, "T", TIME, ZONE]),
        oid::DATE => pattern("date", &[DAY]),
        _ => match type_facts(cx, ty)? {
            (_, _, b'd', base) => {
                format!("  <xsd:restriction base=\"{}\"/>\n", type_name(cx, base)?)
            }
            _ => String::new(),
        },
    };
    let name = type_name(cx, ty)?;
    Ok(format!("<xsd:simpleType name=\"{name}\">\n{body}</xsd:simpleType>\n"))
}

/// The definitions of the types of columns, and of the base types of domains among them.
fn type_definitions(cx: &FnCtx, tables: &[QueryRows]) -> Result<String> {
    let mut types: Vec<Oid> = Vec::new();
    for (_, ty, _) in tables.iter().flat_map(|t| &t.columns) {
        if !types.contains(ty) {
            types.push(*ty);
        }
    }
    for i in 0..types.len() {
        if let Some(info) = cx.env.catalog().types().type_info(types[i])
            && info.typtype == b'd'
            && !types.contains(&info.base)
        {
            types.push(info.base);
        }
    }
    let mut out = String::new();
    for ty in types {
        out.push_str(&type_definition(cx, ty)?);
        out.push('\n');
    }
    Ok(out)
}

fn schema_start(form: &Form) -> String {
    let mut out = "<xsd:schema\n    xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\"".to_string();
    if !form.namespace.is_empty() {
        out.push_str(&format!(
            "\n    targetNamespace=\"{}\"\n    elementFormDefault=\"qualified\"",
            form.namespace
        ));
    }
    out.push_str(">\n\n");
    out
}

/// The types of a table and of its rows.
fn row_type(
    cx: &FnCtx,
    found: &QueryRows,
    table: Option<&(String, String)>,
    form: &Form,
    element: bool,
) -> Result<String> {
    let db = database(cx);
    let (name, row, whole) = match table {
        Some((name, schema)) => (
            xml_name(name, true, false),
            qualified("RowType", &[&db, schema, name]),
            qualified("TableType", &[&db, schema, name]),
        ),
        None => (
            if form.forest { "row" } else { "table" }.to_string(),
            "RowType".to_string(),
            "TableType".to_string(),
        ),
    };
    let mut out = format!("<xsd:complexType name=\"{row}\">\n  <xsd:sequence>\n");
    for (column, ty, _) in &found.columns {
        out.push_str(&format!(
            "    <xsd:element name=\"{}\" type=\"{}\"{}></xsd:element>\n",
            xml_name(column, true, false),
            type_name(cx, *ty)?,
            if form.nulls { " nillable=\"true\"" } else { " minOccurs=\"0\"" }
        ));
    }
    out.push_str("  </xsd:sequence>\n</xsd:complexType>\n\n");
    if !form.forest {
        out.push_str(&format!(
            "<xsd:complexType name=\"{whole}\">\n  <xsd:sequence>\n    <xsd:element name=\"row\" \
             type=\"{row}\" minOccurs=\"0\" maxOccurs=\"unbounded\"/>\n  \
             </xsd:sequence>\n</xsd:complexType>\n\n"
        ));
    }
    if element {
        let ty = if form.forest { &row } else { &whole };
        out.push_str(&format!("<xsd:element name=\"{name}\" type=\"{ty}\"/>\n\n"));
    }
    Ok(out)
}

fn table_schema(
    cx: &FnCtx,
    found: &QueryRows,
    table: Option<&(String, String)>,
    form: &Form,
) -> Result<String> {
    let mut out = schema_start(form);
    out.push_str(&type_definitions(cx, std::slice::from_ref(found))?);
    out.push_str(&row_type(cx, found, table, form, true)?);
    out.push_str("</xsd:schema>");
    Ok(out)
}

/// Which of the two documents, or both.
#[derive(Clone, Copy, PartialEq)]
enum Want {
    Data,
    Schema,
    Both,
}

fn finish(
    cx: &mut FnCtx,
    found: &QueryRows,
    table: Option<(String, String)>,
    form: &Form,
    want: Want,
) -> Result<Datum> {
    let schema = match want {
        Want::Data => None,
        _ => Some(table_schema(cx, found, table.as_ref(), form)?),
    };
    if let (Want::Schema, Some(schema)) = (want, &schema) {
        return Ok(Datum::text(schema));
    }
    let name = table.as_ref().map(|t| t.0.as_str());
    data(cx, found, name, form, (schema.as_deref(), true)).map(Datum::string)
}

fn table(cx: &mut FnCtx, args: &[Datum], want: Want) -> Result<Datum> {
    let form = Form::of(args);
    let most = if want == Want::Schema { Some(0) } else { None };
    let found = select_all(cx, args[0].as_oid(), most)?;
    let name = relation(cx, args[0].as_oid())?;
    finish(cx, &found, Some(name), &form, want)
}

fn query(cx: &mut FnCtx, args: &[Datum], want: Want) -> Result<Datum> {
    let form = Form::of(args);
    let most = if want == Want::Schema { Some(0) } else { None };
    let nothing = args[0].as_str().trim().is_empty();
    let found = cx.env.run_query(args[0].as_str(), most);
    let found = found.map_err(|e| match e.code() {
        SqlState::INVALID_CURSOR_DEFINITION if want == Want::Data && nothing => {
            err!(DATA_EXCEPTION, "invalid query")
        }
        _ => e,
    })?;
    finish(cx, &found, None, &form, want)
}

/// The tables of a schema that the user may read.
fn tables_of(cx: &FnCtx, schema: &str) -> Result<Vec<Oid>> {
    let quoted = schema.replace('\'', "''");
    let found = cx.env.run_query(
        &format!(
            "SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
             ON n.oid = c.relnamespace WHERE n.nspname = '{quoted}' AND c.relkind IN ('r', 'm', \
             'v') AND pg_catalog.has_table_privilege(c.oid, 'SELECT') ORDER BY c.relname"
        ),
        None,
    )?;
    Ok(found.rows.iter().map(|r| r[0].as_oid()).collect())
}

/// The schemas that have tables of users.
fn schemas(cx: &FnCtx) -> Result<Vec<String>> {
    let found = cx.env.run_query(
        "SELECT nspname FROM pg_catalog.pg_namespace WHERE pg_catalog.has_schema_privilege(oid, \
         'USAGE') AND nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY nspname",
        None,
    )?;
    Ok(found.rows.iter().map(|r| r[0].as_str().to_string()).collect())
}

fn schema_data(
    cx: &mut FnCtx,
    name: &str,
    form: &Form,
    (schema, top): (Option<&str>, bool),
) -> Result<String> {
    let element = xml_name(name, true, false);
    let mut out = root(&element, form, schema.is_some(), top);
    out.push('\n');
    if let Some(schema) = schema {
        out.push_str(&format!("{schema}\n\n"));
    }
    for table in tables_of(cx, name)? {
        let found = select_all(cx, table, None)?;
        let (table, _) = relation(cx, table)?;
        let inner = Form { namespace: "", ..*form };
        out.push_str(&data(cx, &found, Some(&table), &inner, (None, false))?);
        out.push('\n');
    }
    out.push_str(&format!("</{element}>\n"));
    Ok(out)
}

/// The element of a schema's type for each table.
fn schema_type(cx: &FnCtx, name: &str, form: &Form) -> Result<String> {
    let db = database(cx);
    let mut out = format!("<xsd:complexType name=\"{}\">\n", qualified("SchemaType", &[&db, name]));
    let (open, close) = match form.forest {
        true => ("  <xsd:sequence>\n", "  </xsd:sequence>\n"),
        false => ("  <xsd:all>\n", "  </xsd:all>\n"),
    };
    out.push_str(open);
    for table in tables_of(cx, name)? {
        let (table, schema) = relation(cx, table)?;
        let element = xml_name(&table, true, false);
        let (kind, many) = match form.forest {
            true => ("RowType", " minOccurs=\"0\" maxOccurs=\"unbounded\""),
            false => ("TableType", ""),
        };
        let ty = qualified(kind, &[&db, &schema, &table]);
        out.push_str(&format!("    <xsd:element name=\"{element}\" type=\"{ty}\"{many}/>\n"));
    }
    out.push_str(close);
    out.push_str("</xsd:complexType>\n\n");
    Ok(out)
}

fn schema_schema(cx: &FnCtx, names: &[String], form: &Form, whole: bool) -> Result<String> {
    let mut out = schema_start(form);
    let (mut all, mut tables) = (Vec::new(), Vec::new());
    for name in names {
        for table in tables_of(cx, name)? {
            all.push(select_all(cx, table, Some(0))?);
            tables.push(relation(cx, table)?);
        }
    }
    out.push_str(&type_definitions(cx, &all)?);
    for (found, table) in all.iter().zip(&tables) {
        out.push_str(&row_type(cx, found, Some(table), form, false)?);
    }
    let db = database(cx);
    for name in names {
        out.push_str(&schema_type(cx, name, form)?);
        if !whole {
            let ty = qualified("SchemaType", &[&db, name]);
            let element = xml_name(name, true, false);
            out.push_str(&format!("<xsd:element name=\"{element}\" type=\"{ty}\"/>\n\n"));
        }
    }
    if whole {
        let ty = qualified("CatalogType", &[&db]);
        out.push_str(&format!("<xsd:complexType name=\"{ty}\">\n  <xsd:all>\n"));
        for name in names {
            let of = qualified("SchemaType", &[&db, name]);
            let element = xml_name(name, true, false);
            out.push_str(&format!("    <xsd:element name=\"{element}\" type=\"{of}\"/>\n"));
        }
        out.push_str("  </xsd:all>\n</xsd:complexType>\n\n");
        let element = xml_name(&db, true, false);
        out.push_str(&format!("<xsd:element name=\"{element}\" type=\"{ty}\"/>\n\n"));
    }
    out.push_str("</xsd:schema>");
    Ok(out)
}

fn schema(cx: &mut FnCtx, args: &[Datum], want: Want) -> Result<Datum> {
    let form = Form::of(args);
    let name = args[0].as_str();
    cx.env.catalog().types().reg_in(oid::REGNAMESPACE, &format!("\"{name}\""))?;
    let document = match want {
        Want::Data => None,
        _ => Some(schema_schema(cx, &[name.to_string()], &form, false)?),
    };
    if let (Want::Schema, Some(document)) = (want, &document) {
        return Ok(Datum::text(document));
    }
    schema_data(cx, name, &form, (document.as_deref(), true)).map(Datum::string)
}

fn whole_database(cx: &mut FnCtx, args: &[Datum], want: Want) -> Result<Datum> {
    let form = Form::of(args);
    let names = schemas(cx)?;
    let document = match want {
        Want::Data => None,
        _ => Some(schema_schema(cx, &names, &form, true)?),
    };
    if let (Want::Schema, Some(document)) = (want, &document) {
        return Ok(Datum::text(document));
    }
    let element = xml_name(&database(cx), true, false);
    let mut out = root(&element, &form, document.is_some(), true);
    out.push('\n');
    if let Some(document) = document {
        out.push_str(&format!("{document}\n\n"));
    }
    for name in names {
        let inner = Form { namespace: "", ..form };
        out.push_str(&schema_data(cx, &name, &inner, (None, false))?);
        out.push('\n');
    }
    out.push_str(&format!("</{element}>\n"));
    Ok(Datum::string(out))
}

pub(super) const TABLES: &[FnDef] = &[
    raw!(table_to_xml(cx, args) { table(cx, args, Want::Data) }),
    raw!(table_to_xmlschema(cx, args) { table(cx, args, Want::Schema) }),
    raw!(table_to_xml_and_xmlschema(cx, args) { table(cx, args, Want::Both) }),
    raw!(query_to_xml(cx, args) { query(cx, args, Want::Data) }),
    raw!(query_to_xmlschema(cx, args) { query(cx, args, Want::Schema) }),
    raw!(query_to_xml_and_xmlschema(cx, args) { query(cx, args, Want::Both) }),
    raw!(schema_to_xml(cx, args) { schema(cx, args, Want::Data) }),
    raw!(schema_to_xmlschema(cx, args) { schema(cx, args, Want::Schema) }),
    raw!(schema_to_xml_and_xmlschema(cx, args) { schema(cx, args, Want::Both) }),
    raw!(database_to_xml(cx, args) { whole_database(cx, args, Want::Data) }),
    raw!(database_to_xmlschema(cx, args) { whole_database(cx, args, Want::Schema) }),
    raw!(database_to_xml_and_xmlschema(cx, args) { whole_database(cx, args, Want::Both) }),
];
