//! What clients are told about violations.

use crate::Session;
use base::{Error, Result, err};
use catalog::{ConstraintDesc, IndexDesc, RelationDesc};
use functions::FnEnv;
use types::Datum;

/// `(a, b)=(1, 2)`
fn key_text(
    session: &Session,
    rel: &RelationDesc,
    columns: &[i16],
    values: &[Datum],
) -> Result<String> {
    let env = session.env()?;
    let io = env.io();
    let (mut names, mut shown) = (Vec::new(), Vec::new());
    for (n, value) in columns.iter().zip(values) {
        let attr = &rel.tuple.attrs[*n as usize - 1];
        names.push(attr.name.to_string());
        let mut out = Vec::new();
        match value {
            Datum::Null => out.extend_from_slice(b"null"),
            value => types::io::output(attr.type_oid, value, &io, &mut out)?,
        }
        shown.push(String::from_utf8_lossy(&out).into_owned());
    }
    Ok(format!("({})=({})", names.join(", "), shown.join(", ")))
}

/// A key and a space; nothing if the user may not read these columns.
fn shown_key(
    session: &Session,
    rel: &RelationDesc,
    columns: &[i16],
    values: &[Datum],
) -> Result<String> {
    let readable = session.core.readable_columns(rel);
    if readable.is_some_and(|r| columns.iter().any(|n| !r.contains(n))) {
        return Ok(String::new());
    }
    Ok(key_text(session, rel, columns, values)? + " ")
}

fn named(session: &Session, e: Error, table: &RelationDesc, fk: &ConstraintDesc) -> Result<Error> {
    let schema = session.core.view()?.namespace(table.namespace)?.name.to_string();
    Ok(e.table(schema, &*table.name).constraint(&*fk.name))
}

fn violation(table: &RelationDesc, fk: &ConstraintDesc) -> Error {
    err!(
        FOREIGN_KEY_VIOLATION,
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        table.name,
        fk.name
    )
}

/// A referencing row without the row it refers to.
pub(super) fn missing(
    session: &Session,
    table: &RelationDesc,
    target: &RelationDesc,
    fk: &ConstraintDesc,
    key: &[Datum],
) -> Result<Error> {
    let e = violation(table, fk).detail(format!(
        "Key {}is not present in table \"{}\".",
        shown_key(session, table, &fk.columns, key)?,
        target.name
    ));
    named(session, e, table, fk)
}

/// A key that is NULL in part, with MATCH FULL.
pub(super) fn mixed(session: &Session, table: &RelationDesc, fk: &ConstraintDesc) -> Result<Error> {
    let e = violation(table, fk)
        .detail("MATCH FULL does not allow mixing of null and nonnull key values.");
    named(session, e, table, fk)
}

/// Rows that are there conflict in a new exclusion constraint.
pub(super) fn excluded(
    session: &Session,
    index: &IndexDesc,
    names: &[String],
    key: &[Datum],
) -> Result<Error> {
    let env = session.env()?;
    let io = env.io();
    let mut shown = Vec::new();
    for (attr, value) in index.tuple.attrs.iter().zip(key) {
        shown.push(crate::describe::value_text(attr.type_oid, value, &io)?);
    }
    let key = format!("({})=({})", names.join(", "), shown.join(", "));
    Ok(err!(EXCLUSION_VIOLATION, "could not create exclusion constraint \"{}\"", index.name)
        .detail(format!("Key {key} conflicts with key {key}.")))
}

/// A partition that others refer to is to go.
pub(super) fn removing(
    session: &Session,
    table: &RelationDesc,
    target: &RelationDesc,
    fk: &ConstraintDesc,
    key: &[Datum],
) -> Result<Error> {
    let e = err!(
        FOREIGN_KEY_VIOLATION,
        "removing partition \"{}\" violates foreign key constraint \"{}\"",
        target.name,
        fk.name
    )
    .detail(format!(
        "Key {} is still referenced from table \"{}\".",
        key_text(session, table, &fk.columns, key)?,
        table.name
    ));
    named(session, e, table, fk)
}

/// A row that others refer to is to go.
pub(super) fn referenced(
    session: &Session,
    table: &RelationDesc,
    target: &RelationDesc,
    fk: &ConstraintDesc,
    columns: &[i16],
    key: &[Datum],
    restrict: bool,
) -> Result<Error> {
    let key = shown_key(session, target, columns, key)?;
    let e = match restrict {
        true => err!(
            RESTRICT_VIOLATION,
            "update or delete on table \"{}\" violates RESTRICT setting of foreign key \
             constraint \"{}\" on table \"{}\"",
            target.name,
            fk.name,
            table.name
        )
        .detail(format!("Key {key}is referenced from table \"{}\".", table.name)),
        false => err!(
            FOREIGN_KEY_VIOLATION,
            "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \
             \"{}\"",
            target.name,
            fk.name,
            table.name
        )
        .detail(format!("Key {key}is still referenced from table \"{}\".", table.name)),
    };
    named(session, e, table, fk)
}
