//! Functions as the statements that make them: `pg_get_functiondef` and its parts.

use super::args::{Args, opt_text};
use super::{SysSession, ViewNames};
use crate::ddl::name::quote;
use crate::describe::format_type_bare;
use base::{Oid, Result, err};
use catalog::ProcDesc;
use ir::deparse::{BodyPart, Style, body_part, quote_literal};
use types::Datum;

pub(super) fn call(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    let print: fn(&dyn SysSession, &ProcDesc) -> Result<Option<String>> = match name {
        "pg_get_functiondef" => definition,
        "pg_get_function_arguments" => |s, p| arguments(s, p, true, false).map(Some),
        "pg_get_function_identity_arguments" => |s, p| arguments(s, p, false, false).map(Some),
        "pg_get_function_result" => |s, p| Ok(result(s, p)),
        "pg_get_function_sqlbody" => |s, p| body(s, p),
        "pg_get_function_arg_default" => return Some(arg_default(s, args)),
        _ => return None,
    };
    Some((|| match s.view().find_proc(args.oid(0)?)? {
        Some(p) => Ok(opt_text(print(s, &p)?)),
        None => Ok(Datum::Null),
    })())
}

/// One argument: mode, name, type.
struct Argument<'a> {
    mode: u8,
    name: &'a str,
    ty: Oid,
}

fn all_arguments(p: &ProcDesc) -> Vec<Argument<'_>> {
    let types = p.all_arg_types.as_ref().unwrap_or(&p.arg_types);
    let name = |i: usize| p.arg_names.as_ref().and_then(|n| n.get(i)).map_or("", String::as_str);
    let mode = |i: usize| p.arg_modes.as_ref().and_then(|m| m.get(i)).copied().unwrap_or(b'i');
    types
        .iter()
        .enumerate()
        .map(|(i, ty)| Argument { mode: mode(i), name: name(i), ty: *ty })
        .collect()
}

fn is_input(mode: u8) -> bool {
    matches!(mode, b'i' | b'b' | b'v')
}

/// Defaults of the last input arguments, as SQL.
fn defaults(s: &dyn SysSession, p: &ProcDesc) -> Result<Vec<String>> {
    let Some(text) = &p.arg_defaults else { return Ok(Vec::new()) };
    if text.starts_with('[') {
        let exprs: Vec<ir::Expr> = crate::cook::from_text(text)?;
        let names = ViewNames::new(s.view(), s.env().io());
        return exprs
            .iter()
            .map(|e| ir::deparse::expression(e, &[], &names, Style::PLAIN, false))
            .collect();
    }
    Ok(split_list(text))
}

/// Parts of SQL text between commas that are in no parentheses or quotes.
fn split_list(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0, false);
    for c in text.chars() {
        match c {
            '\'' => quoted = !quoted,
            '(' | '[' if !quoted => depth += 1,
            ')' | ']' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts.into_iter().map(|p| p.trim().to_string()).filter(|p| !p.is_empty()).collect()
}

fn arguments(s: &dyn SysSession, p: &ProcDesc, with_defaults: bool, table: bool) -> Result<String> {
    let all = all_arguments(p);
    let inputs = all.iter().filter(|a| is_input(a.mode)).count();
    let defaults = if with_defaults { defaults(s, p)? } else { Vec::new() };
    let ordered = s.view().find_aggregate(p.oid)?.filter(|a| a.kind != b'n');
    let direct = ordered.as_ref().map(|a| a.n_direct_args as usize);
    let (mut out, mut printed, mut input) = (String::new(), 0, 0);
    for a in &all {
        if is_input(a.mode) {
            input += 1;
        }
        if (a.mode == b't') != table {
            continue;
        }
        if direct == Some(printed) {
            out.push_str(if printed > 0 { " ORDER BY " } else { "ORDER BY " });
        } else if printed > 0 {
            out.push_str(", ");
        }
        printed += 1;
        let one = argument(s, p, a);
        out.push_str(&one);
        if is_input(a.mode) && input + defaults.len() > inputs {
            out.push_str(&format!(" DEFAULT {}", defaults[input + defaults.len() - inputs - 1]));
        }
        // A variadic direct argument is also what is ordered by.
        if direct == Some(printed) && printed == all.len() {
            out.push_str(&format!(" ORDER BY {one}"));
        }
    }
    Ok(out)
}

fn argument(s: &dyn SysSession, p: &ProcDesc, a: &Argument) -> String {
    let word = match a.mode {
        b'o' => "OUT ",
        b'b' => "INOUT ",
        b'v' => "VARIADIC ",
        b'i' if p.kind == b'p' => "IN ",
        _ => "",
    };
    let name = if a.name.is_empty() { String::new() } else { format!("{} ", quote(a.name)) };
    format!("{word}{name}{}", format_type_bare(s.view(), a.ty))
}

fn result(s: &dyn SysSession, p: &ProcDesc) -> Option<String> {
    if p.kind == b'p' {
        return None;
    }
    if all_arguments(p).iter().any(|a| a.mode == b't') {
        return Some(format!("TABLE({})", arguments(s, p, false, true).unwrap_or_default()));
    }
    let set = if p.returns_set { "SETOF " } else { "" };
    Some(format!("{set}{}", format_type_bare(s.view(), p.return_type)))
}

fn arg_default(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let Some(p) = s.view().find_proc(args.oid(0)?)? else { return Ok(Datum::Null) };
    let nth = args.int(1)?;
    let all = all_arguments(&p);
    let at = match usize::try_from(nth - 1) {
        Ok(i) if i < all.len() && is_input(all[i].mode) => i,
        _ => return Ok(Datum::Null),
    };
    let input = all[..=at].iter().filter(|a| is_input(a.mode)).count();
    let inputs = all.iter().filter(|a| is_input(a.mode)).count();
    let defaults = defaults(s, &p)?;
    let index = (input + defaults.len()).checked_sub(inputs + 1);
    Ok(opt_text(index.and_then(|i| defaults.get(i).cloned())))
}

/// How the body names its parameters: by number, empty where there is no name.
fn parameter_names(p: &ProcDesc) -> ir::deparse::Parameters {
    let inputs = all_arguments(p).into_iter().filter(|a| is_input(a.mode));
    ir::deparse::Parameters {
        function: p.name.to_string(),
        names: inputs.map(|a| a.name.to_string()).collect(),
    }
}

/// The body of a function in SQL's own syntax.
fn body(s: &dyn SysSession, p: &ProcDesc) -> Result<Option<String>> {
    let Some(text) = &p.sql_body else { return Ok(None) };
    if !text.starts_with(['[', '{']) {
        return Ok(Some(text.to_string()));
    }
    let names = ViewNames::new(s.view(), s.env().io());
    let params = parameter_names(p);
    if text.starts_with('{') {
        let query: ir::Query = crate::cook::from_text(text)?;
        let value = query.target_list.first().map(|t| &t.expr);
        let Some(value) = value else { return Ok(None) };
        let text = body_part(BodyPart::Value(value), &params, &names, Style::PLAIN)?;
        return Ok(Some(format!("RETURN {text}")));
    }
    let queries: Vec<ir::Query> = crate::cook::from_text(text)?;
    let mut out = String::from("BEGIN ATOMIC\n");
    for query in &queries {
        let text = body_part(BodyPart::Statement(query), &params, &names, Style::LINES)?;
        out.push_str(&format!("{text};\n"));
    }
    out.push_str("END");
    Ok(Some(out))
}

fn definition(s: &dyn SysSession, p: &ProcDesc) -> Result<Option<String>> {
    if p.kind == b'a' {
        return Err(err!(WRONG_OBJECT_TYPE, "\"{}\" is an aggregate function", p.name));
    }
    let procedure = p.kind == b'p';
    let schema = s.view().namespace(p.namespace)?;
    let word = if procedure { "PROCEDURE" } else { "FUNCTION" };
    let mut out = format!(
        "CREATE OR REPLACE {word} {}.{}({})\n",
        quote(&schema.name),
        quote(&p.name),
        arguments(s, p, true, false)?
    );
    if let Some(result) = result(s, p) {
        out.push_str(&format!(" RETURNS {result}\n"));
    }
    let language = language_name(s, p.language)?;
    out.push_str(&format!(" LANGUAGE {}\n", quote(&language)));
    let words = attributes(p);
    if !words.is_empty() {
        out.push_str(&format!(" {}\n", words.join(" ")));
    }
    for item in p.config.iter().flatten() {
        if let Some((name, value)) = item.split_once('=') {
            out.push_str(&format!(" SET {} TO {}\n", quote(name), quote_literal(value)));
        }
    }
    if let Some(body) = body(s, p)? {
        out.push_str(&format!("{body}\n"));
        return Ok(Some(out));
    }
    out.push_str("AS ");
    if let Some(library) = &p.binary {
        out.push_str(&format!("{}, ", quote_literal(library)));
    }
    let mut tag = String::from(if procedure { "$procedure" } else { "$function" });
    while p.source.contains(&format!("{tag}$")) {
        tag.push('x');
    }
    out.push_str(&format!("{tag}${}{tag}$\n", p.source));
    Ok(Some(out))
}

fn language_name(s: &dyn SysSession, oid: Oid) -> Result<String> {
    for row in s.table_rows(catalog::oids::PG_LANGUAGE)? {
        if row.oid("oid")? == oid {
            return Ok(row.text("lanname")?.to_string());
        }
    }
    Ok(oid.to_string())
}

/// What differs from the defaults.
fn attributes(p: &ProcDesc) -> Vec<String> {
    let mut words = Vec::new();
    if p.kind == b'w' {
        words.push("WINDOW".to_string());
    }
    match p.volatility {
        b'i' => words.push("IMMUTABLE".into()),
        b's' => words.push("STABLE".into()),
        _ => {}
    }
    match p.parallel {
        b's' => words.push("PARALLEL SAFE".into()),
        b'r' => words.push("PARALLEL RESTRICTED".into()),
        _ => {}
    }
    if p.strict {
        words.push("STRICT".into());
    }
    if p.security_definer {
        words.push("SECURITY DEFINER".into());
    }
    if p.leakproof {
        words.push("LEAKPROOF".into());
    }
    let cost = if matches!(p.language.0, 12 | 13) { 1.0 } else { 100.0 };
    if p.cost != cost {
        words.push(format!("COST {}", p.cost));
    }
    let rows = if p.returns_set { 1000.0 } else { 0.0 };
    if p.rows > 0.0 && p.rows != rows {
        words.push(format!("ROWS {}", p.rows));
    }
    words
}
