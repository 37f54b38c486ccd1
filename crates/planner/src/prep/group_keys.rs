//! GROUP BY of a table's whole key and other columns of the table: the others are the same
//! throughout a group, and need not be compared.

use crate::prep::loose::is_loose_collation;
use crate::prep::self_join::is_never_null;
use crate::root::Env;
use base::Result;
use catalog::{IndexDesc, RelationDesc};
use ir::{Expr, Query, RteKind, SortGroupClause};

/// Drops what the rest of GROUP BY decides. Of several keys of a table the one with the fewest
/// columns stays.
pub fn drop_dependent_groups(query: &mut Query, env: &Env) -> Result<()> {
    if query.group_clause.len() < 2 || !query.grouping_sets.is_empty() {
        return Ok(());
    }
    let grouped: Vec<Option<(u32, i16)>> =
        query.group_clause.iter().map(|g| column_of(query, g)).collect();
    let mut surplus = vec![false; grouped.len()];
    for (at, rte) in query.rtable.iter().enumerate() {
        let rti = at as u32 + 1;
        let columns: Vec<i16> =
            grouped.iter().flatten().filter(|(t, _)| *t == rti).map(|(_, c)| *c).collect();
        if columns.len() < 2 {
            continue;
        }
        let RteKind::Relation { relid, relkind, inherit, .. } = &rte.kind else { continue };
        let rel = env.catalog.relation(*relid)?;
        // A key is one of each table of a tree by itself.
        if *inherit && *relkind != 'p' && rel.has_subclass {
            continue;
        }
        if let Some(key) = key_among(env, &rel, &columns)? {
            for (drop, column) in surplus.iter_mut().zip(&grouped) {
                *drop |= column.is_some_and(|(t, c)| t == rti && !key.contains(&c));
            }
        }
    }
    let mut drop = surplus.into_iter();
    query.group_clause.retain(|_| !drop.next().unwrap_or(false));
    Ok(())
}

/// The column of a table that an item of GROUP BY is.
fn column_of(query: &Query, g: &SortGroupClause) -> Option<(u32, i16)> {
    let entry = query.target_list.iter().find(|t| t.sort_group_ref == g.target_ref)?;
    match &entry.expr {
        Expr::Var(v) if v.levels_up == 0 && v.attno > 0 => Some((v.varno, v.attno)),
        _ => None,
    }
}

/// The shortest key of a table that is part of these columns, and not all of them; of several the
/// one made last.
fn key_among<'r>(env: &Env, rel: &'r RelationDesc, columns: &[i16]) -> Result<Option<&'r [i16]>> {
    let mut best: Option<&[i16]> = None;
    for index in rel.indexes.iter().rev() {
        let Some(key) = key_of(rel, index) else { continue };
        let part = key.len() < columns.len() && key.iter().all(|c| columns.contains(c));
        let shorter = best.is_none_or(|b| key.len() < b.len());
        if part && shorter && equal_as_grouped(env, rel, index, key)? {
            best = Some(key);
        }
    }
    Ok(best)
}

/// Whether rows that GROUP BY takes for equal are equal by the index too, which may have another
/// collation than the columns.
fn equal_as_grouped(env: &Env, rel: &RelationDesc, index: &IndexDesc, key: &[i16]) -> Result<bool> {
    for (column, collation) in key.iter().zip(&index.collations) {
        let own = rel.tuple.attrs[*column as usize - 1].collation;
        if own != *collation && is_loose_collation(env, own)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The columns of an index by which no two rows are the same.
fn key_of<'r>(rel: &RelationDesc, index: &'r IndexDesc) -> Option<&'r [i16]> {
    let key = &index.columns[..index.n_keys as usize];
    let told_apart = |c: &i16| *c > 0 && (index.nulls_not_distinct || is_never_null(rel, *c));
    let whole = index.is_unique && index.is_immediate && index.is_valid;
    (whole && index.predicate.is_none() && key.iter().all(told_apart)).then_some(key)
}
