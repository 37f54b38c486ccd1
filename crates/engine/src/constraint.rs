//! Foreign keys: rows that are there are checked when one is added.

use crate::Session;
use base::{Error, Result, err};
use catalog::{ConstraintDesc, RelationDesc};
use std::collections::HashSet;
use types::Datum;

/// A key as bytes that are equal if and only if the values are.
fn key_bytes(values: &[Datum]) -> Vec<u8> {
    let mut out = Vec::new();
    for v in values {
        match v {
            Datum::Bytes(b) => {
                out.extend_from_slice(&(b.len() as u32).to_le_bytes());
                out.extend_from_slice(b);
            }
            Datum::F32(n) => out.extend_from_slice(&f64::from(*n).to_bits().to_le_bytes()),
            Datum::F64(n) => out.extend_from_slice(&n.to_bits().to_le_bytes()),
            // Integers of different widths are equal if their values are.
            other => out.extend_from_slice(&other.to_i64().to_le_bytes()),
        }
        out.push(0xff);
    }
    out
}

/// Fails if a row of the table refers to nothing.
pub fn check_existing(session: &Session, table: &RelationDesc, fk: &ConstraintDesc) -> Result<()> {
    let Some(foreign) = &fk.foreign else { return Ok(()) };
    if session.table_is_empty(table)? {
        return Ok(());
    }
    let view = session.core.view()?;
    let target = view.relation(foreign.table)?;
    let positions = |columns: &[i16]| columns.iter().map(|n| *n as usize - 1).collect::<Vec<_>>();
    let exact = |rel: &RelationDesc, columns: &[i16]| {
        columns.iter().all(|n| {
            use types::oid;
            let attr = &rel.tuple.attrs[*n as usize - 1];
            !matches!(attr.type_oid, oid::NUMERIC | oid::BPCHAR)
        })
    };
    let whole = target.kind == catalog::RelKind::Table;
    if !whole || !exact(table, &fk.columns) || !exact(&target, &foreign.columns) {
        return match session.first_orphan(table, fk, foreign)? {
            None => Ok(()),
            Some(values) => Err(violation(session, table, &target, fk, &values)?),
        };
    }
    let (fk_wanted, fk_order) = ascending(&positions(&fk.columns));
    let (pk_wanted, pk_order) = ascending(&positions(&foreign.columns));
    let mut keys: HashSet<Vec<u8>> = HashSet::new();
    session.scan_table(&target, pk_wanted, &mut |batch| {
        for i in batch.positions() {
            let values: Vec<Datum> = pk_order.iter().map(|c| batch.columns[*c].get(i)).collect();
            keys.insert(key_bytes(&values));
        }
        Ok(true)
    })?;
    let mut missing: Option<Vec<Datum>> = None;
    session.scan_table(table, fk_wanted, &mut |batch| {
        for i in batch.positions() {
            let values: Vec<Datum> = fk_order.iter().map(|c| batch.columns[*c].get(i)).collect();
            let nulls = values.iter().filter(|v| v.is_null()).count();
            let ignored = match foreign.match_type {
                b'f' => nulls == values.len(),
                _ => nulls > 0,
            };
            if !ignored && (nulls > 0 || !keys.contains(&key_bytes(&values))) {
                missing = Some(values);
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    match missing {
        None => Ok(()),
        Some(values) => Err(violation(session, table, &target, fk, &values)?),
    }
}

/// Positions in ascending order, and where each wanted one is among them.
fn ascending(columns: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut sorted = columns.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let order = columns.iter().map(|c| sorted.iter().position(|s| s == c).unwrap_or(0)).collect();
    (sorted, order)
}

/// The error of a row that refers to nothing.
fn violation(
    session: &Session,
    table: &RelationDesc,
    target: &RelationDesc,
    fk: &ConstraintDesc,
    values: &[Datum],
) -> Result<Error> {
    use functions::FnEnv;
    let env = session.env()?;
    let io = env.io();
    let (mut names, mut shown) = (Vec::new(), Vec::new());
    for (n, value) in fk.columns.iter().zip(values) {
        let attr = &table.tuple.attrs[*n as usize - 1];
        names.push(attr.name.to_string());
        shown.push(match value {
            Datum::Null => "null".to_string(),
            value => crate::describe::value_text(attr.type_oid, value, &io)?,
        });
    }
    Ok(err!(
        FOREIGN_KEY_VIOLATION,
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        table.name,
        fk.name
    )
    .detail(match values.iter().any(Datum::is_null) {
        true => "MATCH FULL does not allow mixing of null and nonnull key values.".to_string(),
        false => format!(
            "Key ({})=({}) is not present in table \"{}\".",
            names.join(", "),
            shown.join(", "),
            target.name
        ),
    })
    .constraint(fk.name.to_string()))
}
