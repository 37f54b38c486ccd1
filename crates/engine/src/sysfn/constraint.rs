//! `pg_get_constraintdef`.

use super::args::Args;
use super::definition::relation_text;
use super::text::{over, stored, style};
use super::{SysSession, index};
use crate::ddl::name::quote;
use base::Result;
use catalog::{ConstraintDesc, ForeignKey, RelationDesc};
use ir::deparse::Style;
use types::Datum;

/// `pg_get_constraintdef(constraint [, pretty])`.
pub(super) fn call(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let Some(c) = s.view().find_constraint(args.oid(0)?)? else { return Ok(Datum::Null) };
    let table = match c.relation.is_valid() {
        true => s.view().find_relation(c.relation)?,
        false => None,
    };
    Ok(Datum::string(text(s, &c, table.as_deref(), args.bool(1))?))
}

fn columns(rel: Option<&RelationDesc>, numbers: &[i16]) -> String {
    let name = |n: &i16| {
        let attr = rel.and_then(|r| r.tuple.attrs.get((*n as usize).wrapping_sub(1)));
        attr.map(|a| quote(&a.name)).unwrap_or_default()
    };
    numbers.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn text(
    s: &dyn SysSession,
    c: &ConstraintDesc,
    table: Option<&RelationDesc>,
    pretty: bool,
) -> Result<String> {
    let style = style(pretty);
    let mut out = match c.kind {
        b'f' => match &c.foreign {
            Some(f) => foreign_key(s, c, f, table, pretty)?,
            None => String::new(),
        },
        b'p' | b'u' => key(s, c, table)?,
        b'c' => check(s, c, table, style)?,
        b'n' if c.domain.is_valid() => "NOT NULL".to_string(),
        b'n' => format!("NOT NULL {}", columns(table, &c.columns)),
        b'x' => exclusion(s, c, table, style)?,
        _ => "TRIGGER".to_string(),
    };
    if c.no_inherit && matches!(c.kind, b'c' | b'n') {
        out.push_str(" NO INHERIT");
    }
    if c.deferrable {
        out.push_str(" DEFERRABLE");
    }
    if c.deferred {
        out.push_str(" INITIALLY DEFERRED");
    }
    if !c.enforced {
        out.push_str(" NOT ENFORCED");
    } else if !c.validated {
        out.push_str(" NOT VALID");
    }
    Ok(out)
}

fn check(
    s: &dyn SysSession,
    c: &ConstraintDesc,
    table: Option<&RelationDesc>,
    style: Style,
) -> Result<String> {
    let Some(expr) = &c.expr else { return Ok("CHECK ()".into()) };
    Ok(format!("CHECK ({})", over(s, &stored(expr)?, table, style)?))
}

fn key(s: &dyn SysSession, c: &ConstraintDesc, table: Option<&RelationDesc>) -> Result<String> {
    let rel = s.view().find_relation(c.index)?;
    let desc = rel.as_ref().and_then(|r| r.index.clone());
    let mut out = if c.kind == b'p' { "PRIMARY KEY " } else { "UNIQUE " }.to_string();
    if desc.as_ref().is_some_and(|i| i.nulls_not_distinct) {
        out.push_str("NULLS NOT DISTINCT ");
    }
    out.push_str(&format!("({})", columns(table, &c.columns)));
    if let Some(i) = &desc {
        let included = &i.columns[usize::from(i.n_keys).min(i.columns.len())..];
        if !included.is_empty() {
            out.push_str(&format!(" INCLUDE ({})", columns(table, included)));
        }
        out.push_str(&index::options_text(&i.rel_options));
    }
    Ok(out)
}

fn exclusion(
    s: &dyn SysSession,
    c: &ConstraintDesc,
    table: Option<&RelationDesc>,
    style: Style,
) -> Result<String> {
    let rel = s.view().relation(c.index)?;
    let (Some(i), Some(table)) = (&rel.index, table) else { return Ok(String::new()) };
    let list = index::column_list(s, i, table, style, &c.exclusion_ops)?;
    let mut out = format!("EXCLUDE USING {} {list}", index::am_name(s, i.am)?);
    out.push_str(&index::options_text(&i.rel_options));
    if let Some(predicate) = index::predicate_text(s, i, table, style)? {
        out.push_str(&format!(" WHERE ({predicate})"));
    }
    Ok(out)
}

fn foreign_key(
    s: &dyn SysSession,
    c: &ConstraintDesc,
    f: &ForeignKey,
    table: Option<&RelationDesc>,
    pretty: bool,
) -> Result<String> {
    let other = s.view().find_relation(f.table)?;
    let name = other.as_ref().map(|r| relation_text(s, r, false)).unwrap_or_default();
    let _ = pretty;
    let mut out = format!(
        "FOREIGN KEY ({}) REFERENCES {name}({})",
        columns(table, &c.columns),
        columns(other.as_deref(), &f.columns)
    );
    if f.match_type == b'f' {
        out.push_str(" MATCH FULL");
    }
    let action = |a: u8| match a {
        b'r' => Some("RESTRICT"),
        b'c' => Some("CASCADE"),
        b'n' => Some("SET NULL"),
        b'd' => Some("SET DEFAULT"),
        _ => None,
    };
    if let Some(word) = action(f.on_update) {
        out.push_str(&format!(" ON UPDATE {word}"));
    }
    if let Some(word) = action(f.on_delete) {
        out.push_str(&format!(" ON DELETE {word}"));
        if !f.delete_set_columns.is_empty() {
            out.push_str(&format!(" ({})", columns(table, &f.delete_set_columns)));
        }
    }
    Ok(out)
}
