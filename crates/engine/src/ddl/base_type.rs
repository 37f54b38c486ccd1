//! CREATE TYPE of base types, and what functions may say of types before those are defined.
//! A base type is one whose values functions read and write. Those of the server can be named by
//! a user's function in the language `internal`: the type is then held as the one they are for.

use super::Ddl;
use super::create_type::NewType;
use super::index::with_code;
use super::lookup::{bool_of, name_of, type_of};
use super::name::split;
use super::table::def_text;
use super::type_name::ResolvedType;
use base::{Error, Oid, Result, Severity, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{ProcDesc, indexes, oids};
use parser::ast::{CreateFunctionStmt, DefElem, DefValue, Name, TypeName};
use std::sync::Arc;

/// Attributes that CREATE TYPE knows.
const ATTRIBUTES: &[&str] = &[
    "like",
    "internallength",
    "input",
    "output",
    "receive",
    "send",
    "typmod_in",
    "typmod_out",
    "analyze",
    "subscript",
    "category",
    "preferred",
    "delimiter",
    "element",
    "default",
    "passedbyvalue",
    "alignment",
    "storage",
    "collatable",
];

/// Functions of a type, with what they take and give.
#[derive(Default)]
struct Functions {
    input: Oid,
    output: Oid,
    receive: Oid,
    send: Oid,
    typmod_in: Oid,
    typmod_out: Oid,
    analyze: Oid,
    subscript: Oid,
}

impl Functions {
    fn all(&self) -> [Oid; 8] {
        [
            self.input,
            self.output,
            self.receive,
            self.send,
            self.typmod_in,
            self.typmod_out,
            self.analyze,
            self.subscript,
        ]
    }
}

/// How a type's values are held.
#[derive(Clone, Copy)]
struct Held {
    len: i16,
    by_val: bool,
    align: u8,
    storage: u8,
}

fn language_of(stmt: &CreateFunctionStmt) -> Option<String> {
    let option = stmt.options.iter().find(|o| o.name == "language")?;
    def_text(option).map(|l| l.to_ascii_lowercase())
}

fn is_in_sql(stmt: &CreateFunctionStmt) -> bool {
    stmt.body.is_some() || language_of(stmt).is_some_and(|l| l == "sql")
}

fn refuse(text: String) -> Error {
    Error::new(SqlState::INVALID_OBJECT_DEFINITION, text)
}

fn storage_of(e: &DefElem) -> Result<u8> {
    let text = def_text(e).unwrap_or_default();
    Ok(match text.to_ascii_lowercase().as_str() {
        "plain" => b'p',
        "external" => b'e',
        "extended" => b'x',
        "main" => b'm',
        _ => bail!(INVALID_PARAMETER_VALUE, "storage \"{text}\" not recognized"),
    })
}

fn align_of(e: &DefElem) -> Result<u8> {
    let text = def_text(e).unwrap_or_default();
    Ok(match text.to_ascii_lowercase().as_str() {
        "double" | "float8" | "pg_catalog.float8" => b'd',
        "int4" | "integer" | "int" | "pg_catalog.int4" => b'i',
        "int2" | "smallint" | "pg_catalog.int2" => b's',
        "char" | "bpchar" | "pg_catalog.bpchar" => b'c',
        _ => bail!(INVALID_PARAMETER_VALUE, "alignment \"{text}\" not recognized"),
    })
}

/// A word, however it was written.
fn word(e: &DefElem) -> String {
    match &e.value {
        Some(DefValue::Type(t)) => t.names.last().cloned().unwrap_or_default(),
        _ => def_text(e).unwrap_or_default(),
    }
}

fn check_held(h: Held) -> Result<()> {
    let invalid = |what: String| Err(refuse(what));
    let align = char::from(h.align);
    if h.by_val {
        let fits = match h.len {
            1 => h.align == b'c',
            2 => h.align == b's',
            4 => h.align == b'i',
            8 => h.align == b'd',
            n => return invalid(format!("internal size {n} is invalid for passed-by-value type")),
        };
        if !fits {
            return invalid(format!(
                "alignment \"{align}\" is invalid for passed-by-value type of size {}",
                h.len
            ));
        }
    } else if h.len == -1 && !matches!(h.align, b'i' | b'd') {
        return invalid(format!("alignment \"{align}\" is invalid for variable-length type"));
    }
    if h.storage != b'p' && h.len != -1 {
        return invalid("fixed-size types must have storage PLAIN".to_string());
    }
    Ok(())
}

impl Ddl<'_> {
    /// An argument's type, which may be a shell unless the function is in SQL.
    pub(super) fn argument_type(
        &self,
        stmt: &CreateFunctionStmt,
        name: &TypeName,
    ) -> Result<ResolvedType> {
        let found = super::type_name::resolve_or_shell(&self.view, name, true);
        let t = found.map_err(|e| match e.code() {
            SqlState::UNDEFINED_OBJECT if !name.pct_type && name.array_bounds.is_empty() => {
                let shown = name.names.join(".");
                err!(UNDEFINED_OBJECT, "type {shown} does not exist").at(name.pos)
            }
            _ => e,
        })?;
        let desc = self.view.type_(t.oid)?;
        if !desc.is_defined {
            let shown = self.format_type(t.oid, -1);
            if is_in_sql(stmt) {
                bail!(INVALID_FUNCTION_DEFINITION, "SQL function cannot accept shell type {shown}");
            }
            let text = format!("argument type {shown} is only a shell");
            self.notice(with_code(Error::notice(text), SqlState::WRONG_OBJECT_TYPE).at(name.pos));
        }
        self.require_type_usage(t.oid)?;
        Ok(t)
    }

    /// A result's type: one that is not there is made a shell, for functions that are no SQL.
    pub(super) fn returned_type(
        &self,
        stmt: &CreateFunctionStmt,
        name: &TypeName,
    ) -> Result<ResolvedType> {
        let native = language_of(stmt).is_some_and(|l| matches!(&*l, "internal" | "c"));
        let simple = name.typmods.is_empty() && name.array_bounds.is_empty() && !name.pct_type;
        let t = match super::type_name::resolve_or_shell(&self.view, name, true) {
            Err(e) if native && simple && e.code() == SqlState::UNDEFINED_OBJECT => {
                let shown = name.names.join(".");
                let text = format!("type \"{shown}\" is not yet defined");
                self.notice(
                    with_code(Error::notice(text), SqlState::UNDEFINED_OBJECT)
                        .detail("Creating a shell type definition."),
                );
                self.create_shell_type(&Name { parts: name.names.clone(), pos: name.pos })?;
                return super::type_name::resolve_or_shell(&self.view, name, true);
            }
            other => other?,
        };
        if !self.view.type_(t.oid)?.is_defined {
            let shown = self.format_type(t.oid, -1);
            if is_in_sql(stmt) {
                bail!(INVALID_FUNCTION_DEFINITION, "SQL function cannot return shell type {shown}");
            }
            let text = format!("return type {shown} is only a shell");
            self.notice(with_code(Error::notice(text), SqlState::WRONG_OBJECT_TYPE));
        }
        self.require_type_usage(t.oid)?;
        Ok(t)
    }

    /// Fails if a function's SET could not be done.
    pub(super) fn check_config(&self, items: &[String]) -> Result<()> {
        let mut trial = self.settings.clone();
        let actor = crate::settings::Actor { superuser: self.is_superuser()?, at_start: false };
        for (name, value) in items.iter().filter_map(|i| i.split_once('=')) {
            if !matches!(name, "role" | "session_authorization") {
                trial.set(name, value, true, actor)?;
            }
        }
        Ok(())
    }

    fn warn_at(&self, text: String, pos: u32) {
        let e = Error::with_severity(Severity::Warning, SqlState::SYNTAX_ERROR, text);
        self.notice(e.at(pos));
    }

    /// A function of a type that gives the right thing.
    fn type_function(
        &self,
        e: &DefElem,
        what: &str,
        choices: &[&[Oid]],
        result: Oid,
    ) -> Result<Oid> {
        let name = name_of(e)?;
        let (schema, last) = split(&name);
        let all = self.view.procs_named(schema, last)?;
        let find = |args: &[Oid]| -> Option<Arc<ProcDesc>> {
            all.iter().find(|p| p.arg_types == args).cloned()
        };
        let Some(f) = choices.iter().find_map(|args| find(args)) else {
            bail!(
                UNDEFINED_FUNCTION,
                "function {} does not exist",
                self.signature_text(&name, choices[0])
            );
        };
        if f.return_type != result {
            return Err(refuse(format!(
                "{what} function {} must return type {}",
                name.parts.join("."),
                self.format_type(result, -1)
            )));
        }
        if f.volatility == b'v' && what != "type analyze" {
            let text = format!("{what} function {} should not be volatile", name.parts.join("."));
            let code = SqlState::INVALID_OBJECT_DEFINITION;
            self.notice(Error::with_severity(Severity::Warning, code, text));
        }
        Ok(f.oid)
    }

    fn type_functions(&self, own: Oid, get: &dyn Fn(&str) -> Option<DefElem>) -> Result<Functions> {
        let mut f = Functions::default();
        let Some(input) = get("input") else {
            return Err(refuse("type input function must be specified".into()));
        };
        let Some(output) = get("output") else {
            return Err(refuse("type output function must be specified".into()));
        };
        if get("typmod_in").is_none() && get("typmod_out").is_some() {
            return Err(refuse(
                "type modifier output function is useless without a type modifier input function"
                    .into(),
            ));
        }
        let three = [oids::CSTRING, oids::OID, oids::INT4];
        f.input = self.type_function(&input, "type input", &[&[oids::CSTRING], &three], own)?;
        f.output = self.type_function(&output, "type output", &[&[own]], oids::CSTRING)?;
        if let Some(e) = get("receive") {
            let three = [oids::INTERNAL, oids::OID, oids::INT4];
            let choices: [&[Oid]; 2] = [&[oids::INTERNAL], &three];
            f.receive = self.type_function(&e, "type receive", &choices, own)?;
        }
        if let Some(e) = get("send") {
            f.send = self.type_function(&e, "type send", &[&[own]], oids::BYTEA)?;
        }
        self.more_functions(&mut f, get)?;
        Ok(f)
    }

    /// Those that ALTER TYPE can change on any base type.
    fn more_functions(
        &self,
        f: &mut Functions,
        get: &dyn Fn(&str) -> Option<DefElem>,
    ) -> Result<()> {
        // cstring[]
        let strings = Oid(1263);
        if let Some(e) = get("typmod_in") {
            f.typmod_in = self.type_function(&e, "typmod_in", &[&[strings]], oids::INT4)?;
        }
        if let Some(e) = get("typmod_out") {
            f.typmod_out = self.type_function(&e, "typmod_out", &[&[oids::INT4]], oids::CSTRING)?;
        }
        let internal: [&[Oid]; 1] = [&[oids::INTERNAL]];
        if let Some(e) = get("analyze") {
            f.analyze = self.type_function(&e, "type analyze", &internal, oids::BOOL)?;
        }
        if let Some(e) = get("subscript") {
            f.subscript = self.type_function(&e, "type subscripting", &internal, oids::INTERNAL)?;
        }
        Ok(())
    }

    /// CREATE TYPE name (INPUT = .., OUTPUT = .., ..).
    pub fn create_base_type(&self, name: &Name, options: &[DefElem]) -> Result<()> {
        if !self.is_superuser()? {
            bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to create a base type");
        }
        let (schema, last) = split(name);
        let namespace = self.creation_namespace(schema)?;
        let found = match self.view.type_oid_in(namespace, last)? {
            Some(oid) if self.view.type_(oid)?.is_array() => {
                self.make_room(oid, namespace, last)?;
                None
            }
            Some(oid) => Some(self.view.type_(oid)?),
            None => None,
        };
        let own = match found {
            Some(t) if t.is_defined => {
                bail!(DUPLICATE_OBJECT, "type \"{last}\" already exists")
            }
            Some(t) => t.oid,
            None => {
                return Err(err!(DUPLICATE_OBJECT, "type \"{last}\" does not exist").hint(
                    "Create the type as a shell type, then create its I/O functions, then do a \
                     full CREATE TYPE.",
                ));
            }
        };
        for (i, e) in options.iter().enumerate() {
            if !ATTRIBUTES.contains(&e.name.as_str()) {
                self.warn_at(format!("type attribute \"{}\" not recognized", e.name), e.pos);
            } else if options[..i].iter().any(|o| o.name == e.name) {
                return Err(err!(SYNTAX_ERROR, "conflicting or redundant options").at(e.pos));
            }
        }
        let get = |name: &str| options.iter().find(|o| o.name == name).cloned();
        let held = self.held_by(&get)?;
        let functions = self.type_functions(own, &get)?;
        check_held(held)?;
        self.fill_base_type(last, namespace, held, &functions, &get)
    }

    fn held_by(&self, get: &dyn Fn(&str) -> Option<DefElem>) -> Result<Held> {
        let mut held = Held { len: -1, by_val: false, align: b'i', storage: b'p' };
        if let Some(e) = get("like") {
            let t = self.resolve_type(&type_of(&e)?)?;
            let t = self.view.type_(t.oid)?;
            held = Held { len: t.len, by_val: t.by_val, align: t.align, storage: t.storage };
        }
        if let Some(e) = get("internallength") {
            held.len = match &e.value {
                Some(DefValue::Integer(n)) => *n as i16,
                _ if word(&e).eq_ignore_ascii_case("variable") => -1,
                _ => bail!(SYNTAX_ERROR, "invalid argument for {}: \"{}\"", e.name, word(&e)),
            };
        }
        if let Some(e) = get("passedbyvalue") {
            held.by_val = bool_of(&e)?;
        }
        if let Some(e) = get("alignment") {
            held.align = align_of(&e)?;
        }
        if let Some(e) = get("storage") {
            held.storage = storage_of(&e)?;
        }
        Ok(held)
    }

    fn fill_base_type(
        &self,
        name: &str,
        namespace: Oid,
        held: Held,
        functions: &Functions,
        get: &dyn Fn(&str) -> Option<DefElem>,
    ) -> Result<()> {
        let category = match get("category") {
            None => b'U',
            Some(e) => {
                let text = def_text(&e).unwrap_or_default();
                match text.as_bytes().first() {
                    Some(b) if (32..=126).contains(b) => *b,
                    _ => bail!(
                        INVALID_PARAMETER_VALUE,
                        "invalid type category \"{text}\": must be simple ASCII"
                    ),
                }
            }
        };
        let flag = |name: &str| get(name).map_or(Ok(false), |e| bool_of(&e));
        let (preferred, collatable) = (flag("preferred")?, flag("collatable")?);
        let delim = get("delimiter").and_then(|e| def_text(&e));
        let delim = delim.and_then(|d| d.bytes().next()).unwrap_or(b',');
        let elem = match get("element") {
            Some(e) => {
                let t = self.resolve_type(&type_of(&e)?)?.oid;
                if self.view.type_(t)?.kind == b'p' {
                    bail!(
                        DATATYPE_MISMATCH,
                        "array element type cannot be {}",
                        self.format_type(t, -1)
                    );
                }
                t
            }
            None => Oid::INVALID,
        };
        let default = get("default").and_then(|e| def_text(&e));
        let f = functions;
        let oid = self.insert_type(
            &NewType {
                name,
                namespace,
                kind: b'b',
                category,
                len: held.len,
                by_val: held.by_val,
                align: held.align,
                storage: held.storage,
                io: [f.input.0, f.output.0, f.receive.0, f.send.0],
                collation: if collatable { oids::DEFAULT_COLLATION } else { Oid::INVALID },
            },
            &|row| {
                row.set_bool("typispreferred", preferred)?
                    .set_char("typdelim", delim)?
                    .set_oid("typelem", elem)?
                    .set_oid("typmodin", f.typmod_in)?
                    .set_oid("typmodout", f.typmod_out)?
                    .set_oid("typanalyze", f.analyze)?
                    .set_oid("typsubscript", f.subscript)?
                    .set_opt_text("typdefault", default.as_deref())?;
                Ok(())
            },
        )?;
        let own = ObjectAddress::new(oids::PG_TYPE, oid);
        for function in f.all() {
            let on = ObjectAddress::new(oids::PG_PROC, function);
            depend::record(self.rows, own, on, DependKind::Normal)?;
        }
        if elem.is_valid() {
            let on = ObjectAddress::new(oids::PG_TYPE, elem);
            depend::record(self.rows, own, on, DependKind::Normal)?;
        }
        self.add_array(oid, name, namespace, held.align)
    }

    /// ALTER TYPE .. SET (..).
    pub fn alter_base_type(&self, name: &Name, options: &[DefElem]) -> Result<()> {
        let (schema, last) = split(name);
        let Some(t) = self.view.type_named(schema, last)? else {
            bail!(UNDEFINED_OBJECT, "type \"{}\" does not exist", name.parts.join("."));
        };
        let may = ["storage", "receive", "send", "typmod_in", "typmod_out", "analyze", "subscript"];
        let superuser = self.is_superuser()?;
        for e in options {
            if !may.contains(&e.name.as_str()) {
                let known = ATTRIBUTES.contains(&e.name.as_str());
                let what = if known { "cannot be changed" } else { "not recognized" };
                bail!(SYNTAX_ERROR, "type attribute \"{}\" {what}", e.name);
            }
            if let (true, b'p') = (e.name == "storage", t.storage)
                && storage_of(e)? != b'p'
                && t.len != -1
            {
                return Err(refuse("fixed-size types must have storage PLAIN".into()));
            }
            if e.name == "storage" && t.storage != b'p' && storage_of(e)? == b'p' {
                return Err(refuse("cannot change type's storage to PLAIN".into()));
            }
        }
        if !superuser {
            bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to alter a type");
        }
        if t.kind != b'b' || t.is_array() {
            bail!(WRONG_OBJECT_TYPE, "{} is not a base type", self.format_type(t.oid, -1));
        }
        let get = |name: &str| {
            let none = |e: &DefElem| word(e).eq_ignore_ascii_case("none");
            options.iter().find(|o| o.name == name && !none(o)).cloned()
        };
        let mut f = Functions::default();
        if let Some(e) = get("receive") {
            let three = [oids::INTERNAL, oids::OID, oids::INT4];
            let choices: [&[Oid]; 2] = [&[oids::INTERNAL], &three];
            f.receive = self.type_function(&e, "type receive", &choices, t.oid)?;
        }
        if let Some(e) = get("send") {
            f.send = self.type_function(&e, "type send", &[&[t.oid]], oids::BYTEA)?;
        }
        self.more_functions(&mut f, &get)?;
        let mut row = self.row_by_oid(indexes::PG_TYPE_OID, t.oid)?;
        let own = ObjectAddress::new(oids::PG_TYPE, t.oid);
        let columns = [
            ("receive", "typreceive", f.receive),
            ("send", "typsend", f.send),
            ("typmod_in", "typmodin", f.typmod_in),
            ("typmod_out", "typmodout", f.typmod_out),
            ("analyze", "typanalyze", f.analyze),
            ("subscript", "typsubscript", f.subscript),
        ];
        for (option, column, function) in columns {
            if options.iter().all(|o| o.name != option) {
                continue;
            }
            let before = ObjectAddress::new(oids::PG_PROC, row.oid(column)?);
            depend::forget_one(self.rows, own, before)?;
            row.set_oid(column, function)?;
            let on = ObjectAddress::new(oids::PG_PROC, function);
            depend::record(self.rows, own, on, DependKind::Normal)?;
            if option.starts_with("typmod") && t.array.is_valid() {
                let mut array = self.row_by_oid(indexes::PG_TYPE_OID, t.array)?;
                array.set_oid(column, function)?;
                self.rows.update(array)?;
            }
        }
        if let Some(e) = options.iter().find(|o| o.name == "storage") {
            row.set_char("typstorage", storage_of(e)?)?;
        }
        self.rows.update(row)?;
        Ok(())
    }
}
