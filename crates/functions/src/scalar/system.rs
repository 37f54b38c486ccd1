//! Functions about the session, types and names; quoting.

use crate::call::{FnCtx, FnDef};
use crate::growth;
use base::{Error, Oid, Result, SqlState, bail, err};
use types::array::{ElemType, make_vector};
use types::encoding::Encoding;
use types::tuple::{Compression, StoredForm};
use types::{Datum, oid};

/// A type's name with its modifier, as SQL has it.
pub fn format_type(cx: &FnCtx, type_oid: Oid, typmod: Option<i32>) -> String {
    if !type_oid.is_valid() {
        return "-".to_string();
    }
    let catalog = cx.env.catalog();
    let lookup = catalog.types();
    if let Some(info) = lookup.type_info(type_oid)
        && info.elem.is_valid()
        && info.storage != b'p'
    {
        return format!("{}[]", format_type(cx, info.elem, typmod));
    }
    let modifier = typmod.unwrap_or(-1);
    let arguments = |name: &str| format!("{name}{}", types::io::typmod_out(type_oid, modifier));
    match type_oid {
        oid::BIT if modifier > 0 => format!("bit({modifier})"),
        // Without a modifier "bit" and "character" would mean a length of 1.
        oid::BIT if typmod.is_some() => "\"bit\"".into(),
        oid::BIT => "bit".into(),
        oid::BOOL => "boolean".into(),
        oid::BPCHAR if modifier > 0 => arguments("character"),
        oid::BPCHAR if typmod.is_some() => "bpchar".into(),
        oid::BPCHAR => "character".into(),
        oid::FLOAT4 => "real".into(),
        oid::FLOAT8 => "double precision".into(),
        oid::INT2 => "smallint".into(),
        oid::INT4 => "integer".into(),
        oid::INT8 => "bigint".into(),
        oid::NUMERIC => arguments("numeric"),
        oid::INTERVAL => arguments("interval"),
        oid::TIME if modifier >= 0 => format!("time({modifier}) without time zone"),
        oid::TIME => "time without time zone".into(),
        oid::TIMETZ if modifier >= 0 => format!("time({modifier}) with time zone"),
        oid::TIMETZ => "time with time zone".into(),
        oid::TIMESTAMP if modifier >= 0 => format!("timestamp({modifier}) without time zone"),
        oid::TIMESTAMP => "timestamp without time zone".into(),
        oid::TIMESTAMPTZ if modifier >= 0 => format!("timestamp({modifier}) with time zone"),
        oid::TIMESTAMPTZ => "timestamp with time zone".into(),
        oid::JSON => "json".into(),
        oid::VARBIT => arguments("bit varying"),
        oid::VARCHAR => arguments("character varying"),
        oid::CHAR => "\"char\"".into(),
        _ => match catalog.type_name(type_oid) {
            Some(name) if modifier >= 0 => {
                format!("{name}{}", types::io::typmod_out(type_oid, modifier))
            }
            Some(name) => name,
            None => "???".into(),
        },
    }
}

/// An identifier, in double quotes if it needs them.
pub fn quote_identifier(name: &str) -> String {
    let safe = !base::quoting::all()
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
        && !super::keywords::is_reserved(name);
    if safe { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// A string constant with quotes.
pub fn quote_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if text.contains('\\') {
        return format!("E'{}'", quoted.replace('\\', "\\\\"));
    }
    format!("'{quoted}'")
}

/// A value as a cast to text gives it: truth in words.
fn cast_to_text(cx: &FnCtx, ty: Oid, value: &Datum) -> Result<String> {
    match value {
        Datum::Bool(b) => Ok(b.to_string()),
        other => super::json_build::text_of(cx, ty, other),
    }
}

fn type_of(cx: &FnCtx, i: usize) -> Oid {
    cx.call.arg_type(i)
}

fn user_name(cx: &FnCtx, role: Oid) -> String {
    cx.env.catalog().types().role_name(role).unwrap_or_else(|| role.to_string())
}

fn schemas(cx: &FnCtx, implicit: bool) -> Vec<String> {
    cx.env
        .search_path(implicit)
        .into_iter()
        .filter_map(|s| cx.env.catalog().schema_name(s))
        .collect()
}

fn nulls(cx: &FnCtx, args: &[Datum]) -> Result<Option<(usize, usize)>> {
    let Some(values) = super::json_build::variadic_args(cx, args, 0)? else { return Ok(None) };
    let n = values.iter().filter(|v| v.1.is_null()).count();
    Ok(Some((n, values.len())))
}

const SESSION: &[FnDef] = &[
    row!(pgsql_version() { base::build::version() }),
    row!(cx; current_database() {
        cx.env.catalog().database_name(cx.env.database()).unwrap_or_default()
    }),
    row!(cx; current_user() { user_name(cx, cx.env.current_user()) }),
    row!(cx; session_user() { user_name(cx, cx.env.session_user()) }),
    row!(cx; current_schema() { schemas(cx, false).into_iter().next() }),
    row!(cx; current_schemas(implicit: bool) {
        let names: Vec<Datum> = schemas(cx, implicit).iter().map(|s| Datum::text(s)).collect();
        make_vector(&ElemType::builtin(oid::NAME), &names)
    }),
    row!(cx; show_config_by_name(name: &str) { setting(cx, name, false) }),
    row!(cx; show_config_by_name_missing_ok(name: &str, missing_ok: bool) {
        setting(cx, name, missing_ok)
    }),
    row!(getdatabaseencoding() { "UTF8" }),
    row!(cx; pg_client_encoding() {
        cx.env.setting("client_encoding").unwrap_or_else(|| "UTF8".to_string())
    }),
    row!(pg_encoding_max_length_sql(n: i32) {
        Encoding::from_number(i64::from(n)).map(Encoding::max_length)
    }),
    row!(cx; pg_get_userbyid(role: u32) {
        match cx.env.catalog().types().role_name(Oid(role)) {
            Some(name) => name,
            None => format!("unknown (OID={role})"),
        }
    }),
];

fn setting(cx: &FnCtx, name: &str, missing_ok: bool) -> Result<Option<String>> {
    cx.env.check_may_read_setting(name)?;
    match cx.env.setting(name) {
        Some(value) => Ok(Some(value)),
        None if missing_ok => Ok(None),
        None => Err(err!(UNDEFINED_OBJECT, "unrecognized configuration parameter \"{name}\"")),
    }
}

const TYPES: &[FnDef] = &[
    raw!(pg_typeof(cx, args) { Datum::oid(type_of(cx, 0)) }),
    raw!(format_type(cx, args) {
        if args[0].is_null() {
            return Ok(Datum::Null);
        }
        let typmod = args.get(1).filter(|t| !t.is_null()).map(Datum::as_i32);
        Datum::string(format_type(cx, args[0].as_oid(), typmod))
    }),
    row!(cx; oidvectortypes(a: &Datum) {
        let names: Vec<String> =
            types::array::oids_of(a).into_iter().map(|o| format_type(cx, o, None)).collect();
        names.join(", ")
    }),
    row!(cx; pg_basetype(t: u32) {
        let mut at = Oid(t);
        let lookup = cx.env.catalog().types();
        while let Some(info) = lookup.type_info(at) {
            if info.typtype != b'd' {
                return Ok(Datum::oid(at));
            }
            at = info.base;
        }
        Datum::Null
    }),
    raw!(pg_column_size(cx, args) {
        if args[0].is_null() {
            return Ok(Datum::Null);
        }
        match stored_form(cx, args) {
            Some(form) => form.size as i32,
            None => column_size(cx, type_of(cx, 0), &args[0]),
        }
    }),
    raw!(pg_column_compression(cx, args) {
        match stored_form(cx, args).and_then(|form| form.compression) {
            Some(Compression::Pglz) => Datum::text("pglz"),
            Some(Compression::Lz4) => Datum::text("lz4"),
            None => Datum::Null,
        }
    }),
    raw!(pg_column_toast_chunk_id(cx, args) {
        match stored_form(cx, args) {
            Some(form) if form.chunk.is_valid() => Datum::oid(form.chunk),
            _ => Datum::Null,
        }
    }),
    raw!(pg_num_nulls(cx, args) { nulls(cx, args)?.map(|(n, _)| n as i32) }),
    raw!(pg_num_nonnulls(cx, args) { nulls(cx, args)?.map(|(n, all)| (all - n) as i32) }),
    row!(cx; text_regclass(name: &str) {
        cx.env.catalog().types().relation_in(name).map(Datum::oid)
    }),
    row!(cx; to_regclass(name: &str) { reg(cx, oid::REGCLASS, name) }),
    row!(cx; to_regtype(name: &str) { reg(cx, oid::REGTYPE, name) }),
    row!(cx; to_regtypemod(name: &str) {
        match cx.env.catalog().type_and_modifier(name) {
            Ok((_, modifier)) => Ok(Datum::I32(modifier)),
            Err(e) if is_soft(&e) => Ok(Datum::Null),
            Err(e) => Err(e),
        }
    }),
    row!(cx; to_regproc(name: &str) { reg(cx, oid::REGPROC, name) }),
    row!(cx; to_regprocedure(name: &str) { reg(cx, oid::REGPROCEDURE, name) }),
    row!(cx; to_regoper(name: &str) { reg(cx, oid::REGOPER, name) }),
    row!(cx; to_regoperator(name: &str) { reg(cx, oid::REGOPERATOR, name) }),
    row!(cx; to_regrole(name: &str) { reg(cx, oid::REGROLE, name) }),
    row!(cx; to_regnamespace(name: &str) { reg(cx, oid::REGNAMESPACE, name) }),
    row!(cx; to_regcollation(name: &str) { reg(cx, oid::REGCOLLATION, name) }),
    raw!(enum_in(cx, args) { enum_value(cx, args[1].as_oid(), args[0].as_str()) }),
    raw!(pg_input_error_info(cx, args) {
        let error = input_error(cx, args)?;
        let text = |t: Option<String>| types::record::RecordColumn {
            type_oid: oid::TEXT,
            value: t.map_or(Datum::Null, Datum::string),
        };
        let columns = match error {
            None => vec![text(None), text(None), text(None), text(None)],
            Some(e) => vec![
                text(Some(e.message().to_string())),
                text(e.fields().detail.clone()),
                text(e.fields().hint.clone()),
                text(Some(e.code().to_string())),
            ],
        };
        types::record::Record::anonymous(columns).encode()
    }),
    raw!(pg_input_is_valid(cx, args) { input_error(cx, args).map(|e| e.is_none()) }),
];

fn reg(cx: &FnCtx, reg_type: Oid, name: &str) -> Result<Datum> {
    if name == "-" && !matches!(reg_type, oid::REGOPER | oid::REGOPERATOR) {
        return Ok(Datum::U32(0));
    }
    if !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(name.parse().map_or(Datum::Null, Datum::U32));
    }
    match cx.env.catalog().types().reg_in(reg_type, name) {
        Ok(oid) => Ok(Datum::oid(oid)),
        Err(e) if is_soft(&e) => Ok(Datum::Null),
        Err(e) => Err(e),
    }
}

/// Whether an error of a name is one of those that can be asked about; others end the statement.
pub fn is_soft(e: &Error) -> bool {
    match e.code() {
        SqlState::SYNTAX_ERROR => e.message().starts_with("invalid type name"),
        SqlState::FEATURE_NOT_SUPPORTED | SqlState::INVALID_PARAMETER_VALUE => false,
        _ => true,
    }
}

/// What is wrong with a text as input of a type, if anything.
fn input_error(cx: &FnCtx, args: &[Datum]) -> Result<Option<Error>> {
    let (type_oid, typmod) = cx.env.catalog().type_and_modifier(args[1].as_str())?;
    let read = types::io::input(type_oid, args[0].as_str(), typmod, &cx.env.io());
    let named = matches!(
        type_oid,
        oid::REGCLASS
            | oid::REGTYPE
            | oid::REGPROC
            | oid::REGPROCEDURE
            | oid::REGOPER
            | oid::REGOPERATOR
            | oid::REGCOLLATION
            | oid::REGCONFIG
            | oid::REGDICTIONARY
    );
    match read.err() {
        Some(e) if named && !is_soft(&e) => Err(e),
        Some(e) if e.code() == SqlState::UNSAFE_NEW_ENUM_VALUE_USAGE => Err(e),
        e => Ok(e),
    }
}

/// The value of an enum with this label.
fn enum_value(cx: &FnCtx, given: Oid, label: &str) -> Result<Datum> {
    let lookup = cx.env.catalog();
    if lookup.types().type_info(given).is_none() {
        bail!(INTERNAL_ERROR, "cache lookup failed for type {given}");
    }
    let Some(value) = lookup.types().enum_value(given, label) else {
        let name = lookup.type_name(given).unwrap_or_default();
        bail!(INVALID_TEXT_REPRESENTATION, "invalid input value for enum {name}: \"{label}\"");
    };
    lookup.types().check_enum_use(value)?;
    Ok(Datum::oid(value))
}

/// How the argument is stored, if it is a column that a scan reads: the planner puts that in the
/// column's place, as a value of a type that none in SQL has.
fn stored_form(cx: &FnCtx, args: &[Datum]) -> Option<StoredForm> {
    let stored = type_of(cx, 0) == oid::INTERNAL && !args[0].is_null();
    stored.then(|| StoredForm::unpack(args[0].as_i64()))
}

/// Bytes of a value that is not stored.
fn column_size(cx: &FnCtx, type_oid: Oid, value: &Datum) -> i32 {
    let len = cx.env.catalog().types().type_info(type_oid).map_or(-1, |i| i.len);
    match (len, value) {
        (-1, Datum::Bytes(b)) => b.len() as i32 + 4,
        (-2, Datum::Bytes(b)) => b.len() as i32 + 1,
        (n, _) => n as i32,
    }
}

const QUOTING: &[FnDef] = &[
    row!(quote_ident(a: &str) { quote_identifier(a) }),
    row!(quote_literal(a: &str) { quote_literal(a) }),
    raw!("1285"(cx, args) { quote_any(cx, &args[0]) }),
    raw!(quote_nullable(cx, args) {
        if args[0].is_null() { Datum::text("NULL") } else { Datum::string(quote_literal(args[0].as_str())) }
    }),
    raw!("1290"(cx, args) {
        if args[0].is_null() { Ok(Datum::text("NULL")) } else { quote_any(cx, &args[0]) }
    }),
    raw!(parse_ident(cx, args) {
        let strict = args.get(1).is_none_or(Datum::as_bool);
        parse_ident(args[0].as_str(), strict)
    }),
    row!(cx; "2003"(a: &Datum, b: &Datum) {
        let tail = cast_to_text(cx, type_of(cx, 1), b)?;
        format!("{}{tail}", a.as_str())
    }),
    row!(cx; "2004"(a: &Datum, b: &Datum) {
        let head = cast_to_text(cx, type_of(cx, 0), a)?;
        format!("{head}{}", b.as_str())
    }),
    raw!(text_concat(cx, args) {
        let Some(values) = super::json_build::variadic_args(cx, args, 0)? else {
            return Ok(Datum::Null);
        };
        let mut out = Vec::new();
        for (t, v) in values.iter().filter(|v| !v.1.is_null()) {
            let before = out.len();
            types::io::output(*t, v, &cx.env.io(), &mut out)?;
            growth::grow(before, out.len() - before)?;
        }
        out
    }),
    raw!(text_concat_ws(cx, args) {
        if args[0].is_null() {
            return Ok(Datum::Null);
        }
        let Some(values) = super::json_build::variadic_args(cx, args, 1)? else {
            return Ok(Datum::Null);
        };
        let mut out = Vec::new();
        for (i, (t, v)) in values.iter().filter(|v| !v.1.is_null()).enumerate() {
            if i > 0 {
                growth::append(&mut out, args[0].as_bytes())?;
            }
            let before = out.len();
            types::io::output(*t, v, &cx.env.io(), &mut out)?;
            growth::grow(before, out.len() - before)?;
        }
        out
    }),
    raw!(text_format(cx, args) { format(cx, args) }),
    raw!(text_format_nv(cx, args) { format(cx, args) }),
];

fn quote_any(cx: &FnCtx, value: &Datum) -> Result<Datum> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let text = super::json_build::text_of(cx, type_of(cx, 0), value)?;
    Ok(Datum::string(quote_literal(&text)))
}

fn parse_ident(text: &str, strict: bool) -> Result<Datum> {
    let fail = |detail: &str| {
        let e = err!(INVALID_PARAMETER_VALUE, "string is not a valid identifier: \"{text}\"");
        if detail.is_empty() { e } else { e.detail(detail.to_string()) }
    };
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    let mut after_dot = false;
    loop {
        if let Some(body) = rest.strip_prefix('"') {
            let mut name = String::new();
            let mut chars = body.char_indices().peekable();
            let end = loop {
                match chars.next() {
                    None => return Err(fail("String has unclosed double quotes.")),
                    Some((i, '"')) if chars.peek().is_some_and(|c| c.1 == '"') => {
                        let _ = i;
                        name.push('"');
                        chars.next();
                    }
                    Some((i, '"')) => break i + 1,
                    Some((_, c)) => name.push(c),
                }
            };
            if name.is_empty() {
                return Err(fail("Quoted identifier must not be empty."));
            }
            parts.push(Datum::string(name));
            rest = &body[end..];
        } else if rest.starts_with(|c: char| c.is_alphabetic() || c == '_' || !c.is_ascii()) {
            let end = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()))
                .unwrap_or(rest.len());
            parts.push(Datum::string(rest[..end].to_ascii_lowercase()));
            rest = &rest[end..];
        } else if rest.starts_with('.') {
            return Err(fail("No valid identifier before \".\"."));
        } else if after_dot {
            return Err(fail("No valid identifier after \".\"."));
        } else {
            return Err(fail(""));
        }
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(after) => {
                after_dot = true;
                rest = after.trim_start();
            }
            None if rest.is_empty() || !strict => break,
            None => return Err(fail("")),
        }
    }
    make_vector(&ElemType::builtin(oid::TEXT), &parts)
}

type FormatChars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// The digits that come next.
fn format_number(chars: &mut FormatChars) -> Result<Option<i64>> {
    let mut n: Option<i64> = None;
    while let Some(d) = chars.peek().and_then(|c| c.to_digit(10)) {
        let value = n.unwrap_or(0) * 10 + d as i64;
        if value > i32::MAX as i64 {
            bail!(NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range");
        }
        n = Some(value);
        chars.next();
    }
    Ok(n)
}

/// Which argument `*` takes the width from: the one it names, or the next.
fn width_position(chars: &mut FormatChars, next: &mut i64) -> Result<i64> {
    match format_number(chars)? {
        Some(n) if chars.peek() == Some(&'$') => {
            chars.next();
            // What is not named comes after it.
            *next = n;
            Ok(n)
        }
        Some(_) => {
            bail!(INVALID_PARAMETER_VALUE, "width argument position must be ended by \"$\"")
        }
        None => {
            *next += 1;
            Ok(*next)
        }
    }
}

/// A value in the form that a specifier's letter asks for.
fn format_value(cx: &FnCtx, kind: char, t: Oid, value: &Datum) -> Result<String> {
    Ok(match (kind, value.is_null()) {
        ('s', true) => String::new(),
        ('I', true) => {
            bail!(NULL_VALUE_NOT_ALLOWED, "null values cannot be formatted as an SQL identifier");
        }
        (_, true) => "NULL".to_string(),
        ('I', _) => quote_identifier(&super::json_build::text_of(cx, t, value)?),
        ('L', _) => quote_literal(&super::json_build::text_of(cx, t, value)?),
        _ => super::json_build::text_of(cx, t, value)?,
    })
}

/// Appends a text with blanks before it, or behind it if it is to be at the left.
fn push_padded(out: &mut String, text: &str, width: usize, left: bool) -> Result<()> {
    let fill = width.saturating_sub(text.chars().count());
    growth::grow(out.len(), text.len())?;
    growth::grow(out.len() + text.len(), fill)?;
    let blanks = std::iter::repeat_n(' ', fill);
    if left {
        out.push_str(text);
        out.extend(blanks);
    } else {
        out.extend(blanks);
        out.push_str(text);
    }
    Ok(())
}

/// `format('%s %I %L', ...)`.
fn format(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let values = super::json_build::variadic_args(cx, args, 1)?.unwrap_or_default();
    let mut out = String::new();
    let mut chars = args[0].as_str().chars().peekable();
    let mut next = 0;
    let too_few = || err!(INVALID_PARAMETER_VALUE, "too few arguments for format()");
    let unterminated = || {
        err!(INVALID_PARAMETER_VALUE, "unterminated format() type specifier")
            .hint("For a single \"%\" use \"%%\".")
    };
    while let Some(c) = chars.next() {
        base::interrupt::step()?;
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push('%');
            continue;
        }
        let mut position = None;
        let mut width: i64 = 0;
        let mut left = false;
        let take = |at: i64| -> Result<(Oid, Datum)> {
            if at == 0 {
                bail!(
                    INVALID_PARAMETER_VALUE,
                    "format specifies argument 0, but arguments are numbered from 1"
                );
            }
            values.get(at as usize - 1).cloned().ok_or_else(too_few)
        };
        let mut first = format_number(&mut chars)?;
        if first.is_some() && chars.peek() == Some(&'$') {
            chars.next();
            position = first.take();
            if position == Some(0) {
                take(0)?;
            }
        }
        if first.is_none() {
            while chars.peek() == Some(&'-') {
                left = true;
                chars.next();
            }
            if chars.peek() == Some(&'*') {
                chars.next();
                let at = width_position(&mut chars, &mut next)?;
                let (t, value) = take(at)?;
                width = if value.is_null() {
                    0
                } else {
                    types::io::parse_i32(&super::json_build::text_of(cx, t, &value)?)? as i64
                };
            } else {
                first = format_number(&mut chars)?;
            }
        }
        if let Some(n) = first {
            width = n;
        }
        if width < 0 {
            left = true;
            width = -width;
        }
        let Some(kind) = chars.next() else { return Err(unterminated()) };
        if !matches!(kind, 's' | 'I' | 'L') {
            return Err(err!(
                INVALID_PARAMETER_VALUE,
                "unrecognized format() type specifier \"{kind}\""
            )
            .hint("For a single \"%\" use \"%%\"."));
        }
        let at = match position {
            Some(n) => {
                next = n;
                n
            }
            None => {
                next += 1;
                next
            }
        };
        let (t, value) = take(at)?;
        let text = format_value(cx, kind, t, &value)?;
        push_padded(&mut out, &text, width as usize, left)?;
    }
    Ok(Datum::string(out))
}

pub(super) const FNS: &[&[FnDef]] = &[SESSION, TYPES, QUOTING];
