//! ANALYZE of several columns together: what CREATE STATISTICS asked for, in
//! `pg_statistic_ext_data`.

use super::analyze::{Order, compute, default_target, is_too_wide, statistic_row};
use crate::Session;
use crate::session::RunParts;
use base::{Error, Oid, Result, SqlState};
use catalog::{RelationDesc, RowStore, RowWriter, SysRow, indexes, oids, vector};
use executor::RowExprs;
use std::cmp::Ordering;
use std::sync::Arc;
use types::Datum;
use types::ext_stats::{
    Dependency, McvColumn, McvItem, NDistinct, encode_dependencies, encode_mcv, encode_ndistinct,
};
use types::record::{Record, RecordColumn};
use types::tuple::Attr;

/// A statistics object.
pub(super) struct Object {
    oid: Oid,
    name: String,
    columns: Vec<i16>,
    exprs: Vec<ir::Expr>,
    kinds: Vec<u8>,
    /// How many items are kept, unless one of the columns is not looked at.
    pub target: Option<usize>,
}

/// The rows that were sampled, in the form of the table, and whether children are among them.
pub(super) struct Sampled<'a> {
    pub rows: &'a [&'a [Datum]],
    pub total: f64,
    pub inherited: bool,
}

/// A column or an expression of an object.
struct Dimension {
    number: i16,
    attr: Attr,
    order: Option<Order>,
    values: Vec<Datum>,
    /// For each row the place of its value among all different ones; NULL is the last.
    ranks: Vec<u32>,
}

/// The statistics objects of a table of which these columns, by position, are looked at, and so
/// much is kept of each.
pub(super) fn objects_of(
    session: &Session,
    rel: &RelationDesc,
    looked_at: &[(usize, usize)],
) -> Result<Vec<Object>> {
    let default = default_target(session);
    let key = [Datum::U32(rel.oid.0)];
    let mut out = Vec::new();
    for row in session.core.store.index_scan(indexes::PG_STATISTIC_EXT_RELID, &key)? {
        let kinds = vector::to_any(row.get("stxkind")?)?;
        let exprs = match row.opt_text("stxexprs")? {
            Some(text) => crate::cook::from_text(&text)?,
            None => Vec::new(),
        };
        let schema = session.core.view()?.namespace(row.oid("stxnamespace")?)?.name.clone();
        let columns = row.i16s("stxkeys")?;
        // That of expressions, where columns do not want more.
        let mut most = Some(if exprs.is_empty() { 0 } else { default });
        for n in &columns {
            let own = looked_at.iter().find(|c| c.0 + 1 == *n as usize).map(|c| c.1);
            most = most.zip(own).map(|(most, own)| most.max(own));
        }
        let own = match row.get("stxstattarget")? {
            Datum::I16(n) => usize::try_from(*n).ok(),
            _ => None,
        };
        out.push(Object {
            oid: row.oid("oid")?,
            name: format!("{schema}.{}", row.text("stxname")?),
            columns,
            exprs,
            kinds: kinds.iter().map(|k| if let Datum::Char(c) = k { *c } else { 0 }).collect(),
            target: most.map(|most| own.unwrap_or(most)),
        });
    }
    out.sort_by_key(|o| o.oid);
    Ok(out)
}

/// Computes all objects of a table over a sample.
pub(super) fn analyze_extended(
    session: &Session,
    rel: &RelationDesc,
    sample: &Sampled,
    objects: &[Object],
) -> Result<()> {
    for object in objects {
        let Some(target) = object.target else {
            if !session.is_background() {
                let schema = session.core.view()?.namespace(rel.namespace)?.name.clone();
                let text = format!(
                    "statistics object \"{}\" could not be computed for relation \"{schema}.{}\"",
                    object.name, rel.name
                );
                let code = SqlState::INVALID_OBJECT_DEFINITION;
                session.core.notice(Error::with_severity(base::Severity::Warning, code, text));
            }
            continue;
        };
        if target == 0 || sample.rows.is_empty() {
            continue;
        }
        let dims = dimensions(session, rel, object, sample)?;
        store(session, object, sample, &dims, target)?;
    }
    Ok(())
}

fn dimensions(
    session: &Session,
    rel: &RelationDesc,
    object: &Object,
    sample: &Sampled,
) -> Result<Vec<Dimension>> {
    let mut out = Vec::new();
    for n in &object.columns {
        let at = *n as usize - 1;
        let values = sample.rows.iter().map(|row| row[at].clone()).collect();
        out.push(dimension(session, *n, rel.tuple.attrs[at].clone(), values)?);
    }
    if object.exprs.is_empty() {
        return Ok(out);
    }
    let env = session.env()?;
    let parts = RunParts::new(session)?;
    let snapshot = Arc::new(session.core.txn()?.latest_snapshot());
    let storage = session.core.database.storage();
    let mut progs = RowExprs::new(&env.view, storage, rel, snapshot, &object.exprs)?;
    for (n, e) in object.exprs.iter().enumerate() {
        let mut values = Vec::with_capacity(sample.rows.len());
        for row in sample.rows {
            values.push(progs.value(parts.cx(&env), n, row)?);
        }
        let ty = env.view.type_(e.ty())?;
        let align = catalog::builtin::align_bytes(ty.align);
        let mut attr = Attr::new("", ty.oid, ty.len, ty.by_val, align);
        attr.phys = types::phys_type(ty.oid, ty.len, ty.by_val);
        attr.collation = e.collation();
        out.push(dimension(session, -1 - n as i16, attr, values)?);
    }
    Ok(out)
}

fn dimension(session: &Session, number: i16, attr: Attr, values: Vec<Datum>) -> Result<Dimension> {
    let order = Order::of(session, &attr)?;
    let mut ranks = vec![u32::MAX; values.len()];
    if let Some(order) = &order {
        let mut sorted: Vec<usize> = (0..values.len()).filter(|i| !values[*i].is_null()).collect();
        let mut failed = None;
        sorted.sort_by(|a, b| {
            order.cmp.compare(&values[*a], &values[*b]).unwrap_or_else(|e| {
                failed = Some(e);
                Ordering::Equal
            })
        });
        if let Some(e) = failed {
            return Err(e);
        }
        let mut rank = 0;
        for (at, i) in sorted.iter().enumerate() {
            if at > 0 && order.cmp.compare(&values[sorted[at - 1]], &values[*i])?.is_ne() {
                rank += 1;
            }
            ranks[*i] = rank;
        }
    }
    Ok(Dimension { number, attr, order, values, ranks })
}

/// All ways to take `k` of `n`, in order.
fn combinations(n: usize, k: usize) -> Vec<Vec<usize>> {
    if k == 0 {
        return vec![Vec::new()];
    }
    let mut out = Vec::new();
    for mut rest in combinations(n, k - 1) {
        let from = rest.last().map_or(0, |l| l + 1);
        for next in from..n {
            rest.push(next);
            out.push(rest.clone());
            rest.pop();
        }
    }
    out
}

/// Rows in the order of some dimensions.
fn sorted_by(dims: &[Dimension], by: &[usize], mut rows: Vec<usize>) -> Vec<usize> {
    let key = |row: usize| by.iter().map(move |d| dims[*d].ranks[row]);
    rows.sort_by(|a, b| key(*a).cmp(key(*b)));
    rows
}

fn same(dims: &[Dimension], by: &[usize], a: usize, b: usize) -> bool {
    by.iter().all(|d| dims[*d].ranks[a] == dims[*d].ranks[b])
}

fn distinct(dims: &[Dimension], total: f64) -> Vec<NDistinct> {
    let rows = dims[0].ranks.len();
    let mut out = Vec::new();
    for k in 2..=dims.len() {
        for by in combinations(dims.len(), k) {
            let sorted = sorted_by(dims, &by, (0..rows).collect());
            let (mut groups, mut once) = (0.0, 0.0);
            for group in sorted.chunk_by(|a, b| same(dims, &by, *a, *b)) {
                groups += 1.0;
                once += f64::from(u8::from(group.len() == 1));
            }
            // The same estimate as for single columns (Haas and Stokes).
            let n = rows as f64;
            let estimate = n * groups / ((n - once) + once * n / total);
            out.push(NDistinct {
                attributes: by.iter().map(|d| dims[*d].number).collect(),
                groups: (estimate.clamp(groups, total.max(groups)) + 0.5).floor(),
            });
        }
    }
    out
}

/// Rows none of whose values is very wide.
fn narrow_rows(dims: &[Dimension], by: &[usize]) -> Vec<usize> {
    let rows = 0..dims[0].ranks.len();
    rows.filter(|row| !by.iter().any(|d| is_too_wide(&dims[*d].values[*row]))).collect()
}

fn dependencies(dims: &[Dimension]) -> Vec<Dependency> {
    let rows = dims[0].ranks.len() as f64;
    let mut out = Vec::new();
    for k in 2..=dims.len() {
        for first in combinations(dims.len(), k - 1) {
            for last in (0..dims.len()).filter(|d| !first.contains(d)) {
                let mut by = first.clone();
                by.push(last);
                let sorted = sorted_by(dims, &by, narrow_rows(dims, &by));
                let holds: usize = sorted
                    .chunk_by(|a, b| same(dims, &first, *a, *b))
                    .filter(|g| same(dims, &[last], g[0], g[g.len() - 1]))
                    .map(<[usize]>::len)
                    .sum();
                if holds > 0 {
                    let attributes = by.iter().map(|d| dims[*d].number).collect();
                    out.push(Dependency { attributes, degree: holds as f64 / rows });
                }
            }
        }
    }
    out
}

/// How often a combination must be in a sample to say something about the whole.
fn least_count(sample: f64, total: f64) -> f64 {
    let below = total - sample + 0.04 * sample * (total - 1.0);
    if below == 0.0 { 0.0 } else { sample * (total - sample) / below }
}

/// The stored list of the commonest combinations, if there are some.
fn common(dims: &[Dimension], total: f64, target: usize) -> Option<Vec<u8>> {
    let rows = dims[0].ranks.len() as f64;
    let all: Vec<usize> = (0..dims.len()).collect();
    let sorted = sorted_by(dims, &all, narrow_rows(dims, &all));
    let mut groups: Vec<&[usize]> = sorted.chunk_by(|a, b| same(dims, &all, *a, *b)).collect();
    groups.sort_by_key(|g| std::cmp::Reverse(g.len()));
    let least = least_count(rows, total);
    let listed = groups.iter().take(target).take_while(|g| g.len() as f64 >= least).count();
    if listed == 0 {
        return None;
    }
    let mut shares: Vec<Vec<f64>> = Vec::new();
    for d in dims {
        let mut counts: foldhash::HashMap<u32, usize> = foldhash::HashMap::default();
        for g in &groups {
            *counts.entry(d.ranks[g[0]]).or_default() += g.len();
        }
        let share = |g: &&[usize]| counts[&d.ranks[g[0]]] as f64 / rows;
        shares.push(groups[..listed].iter().map(share).collect());
    }
    let items: Vec<McvItem> = (0..listed)
        .map(|i| McvItem {
            values: dims.iter().map(|d| d.values[groups[i][0]].clone()).collect(),
            frequency: groups[i].len() as f64 / rows,
            base_frequency: shares.iter().fold(1.0, |s, of| s * of[i]),
        })
        .collect();
    let mut places = vec![Vec::new(); listed];
    let mut columns = Vec::new();
    for d in dims {
        let rank = |i: usize| d.ranks[groups[i][0]];
        let mut kept: Vec<usize> = (0..listed).filter(|i| rank(*i) != u32::MAX).collect();
        kept.sort_by_key(|i| rank(*i));
        kept.dedup_by_key(|i| rank(*i));
        for (i, places) in places.iter_mut().enumerate() {
            let at = kept.iter().position(|k| rank(*k) == rank(i));
            places.push(at.unwrap_or(0) as u16);
        }
        columns.push(McvColumn {
            type_oid: d.attr.type_oid,
            len: d.attr.len,
            by_value: d.attr.byval,
            values: kept.iter().map(|i| d.values[groups[*i][0]].clone()).collect(),
        });
    }
    Some(encode_mcv(&columns, &items, &places))
}

/// Rows of `pg_statistic` for the expressions, as an array.
fn of_exprs(dims: &[Dimension], total: f64, target: usize) -> Result<Datum> {
    let class = catalog::rows::system_relation(oids::PG_STATISTIC)?;
    let mut records = Vec::new();
    for d in dims.iter().filter(|d| d.number < 0) {
        let values: Vec<&Datum> = d.values.iter().collect();
        let stats = compute(&values, total, target, (&d.attr, true), d.order.as_ref())?;
        let place = (Oid::INVALID, 0, false);
        let row = statistic_row(place, &d.attr, &stats, d.order.as_ref())?;
        let columns = row.values.into_iter().zip(&class.tuple.attrs);
        let columns =
            columns.map(|(value, a)| RecordColumn { type_oid: a.type_oid, value }).collect();
        records.push(Record { type_oid: class.row_type, typmod: -1, columns }.encode());
    }
    let mut attr = Attr::new("", class.row_type, -1, false, 8);
    attr.phys = types::PhysType::Bytes;
    vector::from_values(&attr, &records)
}

fn store(
    session: &Session,
    object: &Object,
    sample: &Sampled,
    dims: &[Dimension],
    target: usize,
) -> Result<()> {
    let rows = &session.core.store;
    let key = [Datum::U32(object.oid.0), Datum::Bool(sample.inherited)];
    let old = rows.index_scan(indexes::PG_STATISTIC_EXT_DATA_OID, &key)?.into_iter().next();
    let mut row = SysRow::new(oids::PG_STATISTIC_EXT_DATA)?;
    row.set_oid("stxoid", object.oid)?.set_bool("stxdinherit", sample.inherited)?;
    for kind in &object.kinds {
        match kind {
            b'd' => {
                let found = distinct(dims, sample.total);
                row.set("stxdndistinct", Datum::bytes(encode_ndistinct(&found)))?;
            }
            b'f' => {
                let found = dependencies(dims);
                if !found.is_empty() {
                    row.set("stxddependencies", Datum::bytes(encode_dependencies(&found)))?;
                }
            }
            b'm' => {
                if let Some(list) = common(dims, sample.total, target) {
                    row.set("stxdmcv", Datum::bytes(list))?;
                }
            }
            b'e' => {
                row.set("stxdexpr", of_exprs(dims, sample.total, target)?)?;
            }
            _ => {}
        }
    }
    rows.put(row, old.as_ref()).map(drop)
}
