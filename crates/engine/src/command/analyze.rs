//! ANALYZE: a sample of a table's rows, and what it says about each column, in `pg_statistic`.

use super::analyze_extended::{Object, Sampled, analyze_extended, objects_of};
use super::upkeep_report::{Told, Work};
use crate::Session;
use crate::session::RunParts;
use base::progress::{self, Command, analyze as figure};
use base::{Oid, Result};
use catalog::{RelKind, RelationDesc, RowStore, RowWriter, SysRow, indexes, oids, vector};
use executor::RowExprs;
use std::cmp::Ordering;
use std::sync::Arc;
use types::Datum;
use types::tuple::Attr;

/// What a sample says about a column.
#[derive(Default)]
pub(super) struct Stats {
    null_frac: f32,
    width: i32,
    distinct: f32,
    common: Vec<(Datum, f32)>,
    histogram: Vec<Datum>,
    correlation: Option<f32>,
}

/// Analyses one table: these columns of it, or all.
pub fn analyze_table(session: &mut Session, table: Oid, only: &[String], told: Told) -> Result<()> {
    const SHARE_UPDATE_EXCLUSIVE: u8 = 4;
    session.lock_relation(table, SHARE_UPDATE_EXCLUSIVE)?;
    let began = os::clock::monotonic_nanos();
    let view = session.core.view()?;
    let Some(rel) = view.find_relation(table)? else { return Ok(()) };
    if rel.kind == RelKind::Partitioned {
        let _telling = session.core.progress(Command::Analyze, table);
        return analyze_tree(session, &rel, only, Work::begin(session, told).as_ref());
    }
    if !matches!(rel.kind, RelKind::Table | RelKind::MatView) || rel.oid == oids::PG_STATISTIC {
        return Ok(());
    }
    let _telling = session.core.progress(Command::Analyze, table);
    let tell = |phase| progress::set(Command::Analyze, figure::PHASE, phase);
    let work = Work::begin(session, told);
    let schema = view.namespace(rel.namespace)?.name.clone();
    if let Some(work) = &work {
        work.step(session, format!("analyzing \"{schema}.{}\"", rel.name));
    }
    let storage = session.core.database.storage().clone();
    let open = rel.open(&storage, &view)?.clone();
    let columns = columns_of(session, &rel, only)?;
    let snapshot = session.core.txn()?.latest_snapshot();
    let interrupts = session.interrupts().clone();
    let mut pause = |_: base::BlockNo| interrupts.check();
    let objects = objects_of(session, &rel, &columns)?;
    let want = 300 * sample_target(session, &columns, &objects);
    tell(figure::SAMPLING);
    let sample =
        open.heap.sample(&snapshot, want, os::random::u64(), session.upkeep_ring(), &mut pause)?;
    if let Some(work) = &work {
        work.sampled(session, &rel.name, &sample);
    }
    tell(figure::COMPUTING);
    for (i, target) in &columns {
        let values: Vec<&Datum> = sample.rows.iter().map(|(_, row)| &row[*i]).collect();
        if values.is_empty() {
            continue;
        }
        let attr = &rel.tuple.attrs[*i];
        let order = Order::of(session, attr)?;
        let stats = compute(&values, sample.total_rows, *target, (attr, false), order.as_ref())?;
        store(session, (table, *i as i16 + 1, false), attr, &stats, order.as_ref())?;
    }
    let rows: Vec<&[Datum]> = sample.rows.iter().map(|(_, row)| &row[..]).collect();
    if only.is_empty() {
        analyze_index_exprs(session, &rel, &rows, sample.total_rows)?;
    }
    let own = Sampled { rows: &rows, total: sample.total_rows, inherited: false };
    analyze_extended(session, &rel, &own, &objects)?;
    tell(figure::FINALIZING);
    let class = [
        ("relpages", Datum::I32(sample.pages as i32)),
        ("reltuples", Datum::F32(sample.total_rows as f32)),
    ];
    session.core.set_class(table, &class)?;
    if rel.has_subclass {
        match view.children(table)?.is_empty() {
            true => session.core.set_class(table, &[("relhassubclass", Datum::Bool(false))])?,
            false => analyze_tree(session, &rel, only, work.as_ref())?,
        }
    }
    for (desc, index) in rel.indexes.iter().zip(&open.indexes) {
        let facts = index.am().facts(&storage, index)?;
        let class = [
            ("relpages", Datum::I32(facts.pages as i32)),
            ("reltuples", Datum::F32(sample.total_rows as f32)),
        ];
        session.core.set_class(desc.oid, &class)?;
    }
    if let Some(work) = &work {
        let name = format!("{}.{schema}.{}", session.core.database_name, rel.name);
        work.analysed(session, &name);
    }
    let done = match session.is_background() {
        true => crate::stats::Work::AutoAnalyze,
        false => crate::stats::Work::Analyze,
    };
    let rows = Some((sample.total_rows, sample.dead_rows));
    let db = if rel.shared { Oid::INVALID } else { session.core.state.oid };
    let micros = (os::clock::monotonic_nanos() - began) / 1000;
    session.core.database.stats.worked((db, table), done, rows, micros);
    Ok(())
}

/// The columns to be analysed, by position, and how much is kept of each.
fn columns_of(
    session: &Session,
    rel: &RelationDesc,
    only: &[String],
) -> Result<Vec<(usize, usize)>> {
    let default = default_target(session);
    let mut out = Vec::new();
    for (i, attr) in rel.tuple.attrs.iter().enumerate() {
        if attr.dropped || !only.is_empty() && !only.iter().any(|c| **c == *attr.name) {
            continue;
        }
        let key = [Datum::U32(rel.oid.0), Datum::I16(i as i16 + 1)];
        let row = session.core.store.index_scan(indexes::PG_ATTRIBUTE_NUM, &key)?;
        let own = match row.first().map(|r| r.get("attstattarget")).transpose()? {
            Some(Datum::I16(n)) => Some(*n),
            _ => None,
        };
        match own {
            Some(0) => {}
            Some(n) if n > 0 => out.push((i, n as usize)),
            _ => out.push((i, default)),
        }
    }
    Ok(out)
}

/// How much is kept of a column that does not say.
pub(super) fn default_target(session: &Session) -> usize {
    session.core.settings.lock().i64("default_statistics_target").max(1) as usize
}

fn most_wanted(session: &Session, columns: &[(usize, usize)]) -> usize {
    columns.iter().map(|c| c.1).max().unwrap_or_else(|| default_target(session))
}

/// What decides how many rows are sampled: the columns, and what is asked of several together.
fn sample_target(session: &Session, columns: &[(usize, usize)], objects: &[Object]) -> usize {
    let together = objects.iter().filter_map(|o| o.target).max().unwrap_or(0);
    most_wanted(session, columns).max(together)
}

/// What indexes compute has statistics of its own, under the index.
fn analyze_index_exprs(
    session: &Session,
    rel: &RelationDesc,
    rows: &[&[Datum]],
    total: f64,
) -> Result<()> {
    if rows.is_empty() || rel.indexes.iter().all(|i| i.exprs.is_none()) {
        return Ok(());
    }
    let target = most_wanted(session, &[]);
    let env = session.env()?;
    let parts = RunParts::new(session)?;
    let storage = session.core.database.storage();
    for index in rel.indexes.iter() {
        let Some(text) = &index.exprs else { continue };
        let exprs: Vec<ir::Expr> = crate::cook::from_text(text)?;
        let snapshot = Arc::new(session.core.txn()?.latest_snapshot());
        let mut progs = RowExprs::new(&env.view, storage, rel, snapshot, &exprs)?;
        let own = env.view.relation(index.oid)?;
        let places = index.columns.iter().enumerate().filter(|(_, n)| **n == 0);
        for (n, (column, _)) in places.enumerate() {
            let mut values = Vec::with_capacity(rows.len());
            for row in rows {
                values.push(progs.value(parts.cx(&env), n, row)?);
            }
            let values: Vec<&Datum> = values.iter().collect();
            let Some(attr) = own.tuple.attrs.get(column) else { continue };
            let order = Order::of(session, attr)?;
            let stats = compute(&values, total, target, (attr, true), order.as_ref())?;
            let place = (index.oid, column as i16 + 1, false);
            store(session, place, attr, &stats, order.as_ref())?;
        }
    }
    Ok(())
}

/// A member of an inheritance tree: rows of it, how many it has, and where the columns are.
struct Member {
    rows: Vec<(base::Tid, Vec<Datum>)>,
    total: f64,
    places: Vec<Option<usize>>,
}

impl Member {
    /// A row with the columns where the parent has them.
    fn as_parent(&self, row: usize) -> Vec<Datum> {
        let value = |p: &Option<usize>| p.map(|p| self.rows[row].1[p].clone());
        self.places.iter().map(|p| value(p).unwrap_or_default()).collect()
    }
}

/// Analyses a table together with its children: of each as many rows as it has a share.
fn analyze_tree(
    session: &mut Session,
    rel: &RelationDesc,
    only: &[String],
    work: Option<&Work>,
) -> Result<()> {
    const ACCESS_SHARE: u8 = 1;
    let tell = |figure, n| progress::set(Command::Analyze, figure, n);
    if let Some(work) = work {
        let schema = session.core.view()?.namespace(rel.namespace)?.name.clone();
        work.step(session, format!("analyzing \"{schema}.{}\" inheritance tree", rel.name));
    }
    tell(figure::PHASE, figure::SAMPLING_CHILDREN);
    let columns = columns_of(session, rel, only)?;
    let objects = objects_of(session, rel, &columns)?;
    let want = 300 * sample_target(session, &columns, &objects);
    let mut tables = vec![rel.oid];
    let mut members: Vec<Member> = Vec::new();
    let mut at = 0;
    while let Some(oid) = tables.get(at).copied() {
        at += 1;
        session.lock_relation(oid, ACCESS_SHARE)?;
        let view = session.core.view()?;
        let member = view.relation(oid)?;
        for child in view.children(oid)? {
            if !tables.contains(&child) {
                tables.push(child);
            }
        }
        tell(figure::CHILDREN, tables.len() as i64);
        tell(figure::CHILDREN_DONE, at as i64 - 1);
        tell(figure::CHILD, i64::from(oid.0));
        if member.kind != RelKind::Table {
            continue;
        }
        let storage = session.core.database.storage().clone();
        let open = member.open(&storage, &view)?.clone();
        let snapshot = session.core.txn()?.latest_snapshot();
        let interrupts = session.interrupts().clone();
        let mut pause = |_: base::BlockNo| interrupts.check();
        let sample = open.heap.sample(
            &snapshot,
            want,
            os::random::u64(),
            session.upkeep_ring(),
            &mut pause,
        )?;
        if let Some(work) = work {
            work.sampled(session, &member.name, &sample);
        }
        let place = |a: &Attr| member.column_number(&a.name).map(|n| n as usize - 1);
        members.push(Member {
            rows: sample.rows,
            total: sample.total_rows,
            places: rel.tuple.attrs.iter().map(place).collect(),
        });
    }
    tell(figure::CHILDREN_DONE, tables.len() as i64);
    tell(figure::PHASE, figure::COMPUTING);
    let total: f64 = members.iter().map(|m| m.total).sum();
    let mut all: Vec<Vec<Datum>> = Vec::new();
    for m in &members {
        let share = (want as f64 * m.total / total.max(1.0)).round() as usize;
        let n = share.clamp(usize::from(!m.rows.is_empty()), m.rows.len());
        all.extend((0..n).map(|k| m.as_parent(k * m.rows.len() / n)));
    }
    let rows: Vec<&[Datum]> = all.iter().map(|row| &row[..]).collect();
    for (i, target) in &columns {
        let values: Vec<&Datum> = rows.iter().map(|row| &row[*i]).collect();
        if values.is_empty() {
            continue;
        }
        let attr = &rel.tuple.attrs[*i];
        let order = Order::of(session, attr)?;
        let stats = compute(&values, total, *target, (attr, false), order.as_ref())?;
        store(session, (rel.oid, *i as i16 + 1, true), attr, &stats, order.as_ref())?;
    }
    let whole = Sampled { rows: &rows, total, inherited: true };
    analyze_extended(session, rel, &whole, &objects)?;
    if rel.kind == RelKind::Partitioned {
        let class = [("relpages", Datum::I32(-1)), ("reltuples", Datum::F32(total as f32))];
        session.core.set_class(rel.oid, &class)?;
    }
    Ok(())
}

/// How a column's values are ordered, and the operators that say so.
pub(super) struct Order {
    pub cmp: access::index::KeyCmp,
    eq: Oid,
    lt: Oid,
}

impl Order {
    pub fn of(session: &Session, attr: &Attr) -> Result<Option<Order>> {
        let view = session.core.view()?;
        let Some(class) = view.default_opclass(attr.type_oid, oids::BTREE_AM)? else {
            return Ok(None);
        };
        let t = class.input_type;
        if !is_ordered(&view, attr.type_oid)? {
            return Ok(None);
        }
        let (Some(proc), Some(eq), Some(lt)) = (
            view.amproc(class.family, t, t, 1)?,
            view.amop(class.family, t, t, 3)?,
            view.amop(class.family, t, t, 1)?,
        ) else {
            return Ok(None);
        };
        let cmp = catalog::key_cmp(&view, proc, attr.collation, attr.type_oid);
        Ok(Some(Order { cmp, eq, lt }))
    }
}

/// True if values of the type, or what they consist of, have an order.
fn is_ordered(view: &catalog::CatalogView, type_oid: Oid) -> Result<bool> {
    let desc = view.type_(type_oid)?;
    match desc.kind {
        b'd' => is_ordered(view, desc.base_type),
        b'c' => {
            let Some(rel) = view.find_relation(desc.relation)? else { return Ok(false) };
            for attr in rel.tuple.attrs.iter().filter(|a| !a.dropped) {
                if !is_ordered(view, attr.type_oid)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ if type_oid == oids::RECORD => Ok(false),
        _ if desc.is_array() => is_ordered(view, desc.elem),
        _ => Ok(view.default_opclass(type_oid, oids::BTREE_AM)?.is_some()),
    }
}

/// Widths as `pg_statistic` counts them: with the varlena header, which is short in rows only.
fn width(value: &Datum, computed: bool) -> usize {
    match value {
        Datum::Bytes(b) => b.len() + if b.len() < 127 && !computed { 1 } else { 4 },
        Datum::Bool(_) | Datum::Char(_) => 1,
        Datum::I16(_) => 2,
        Datum::I32(_) | Datum::U32(_) | Datum::F32(_) => 4,
        _ => 8,
    }
}

/// A run of equal values in the sorted sample.
struct Run {
    value: Datum,
    count: usize,
    first: usize,
}

/// Values of more bytes than this are counted, and not looked at.
const TOO_WIDE: usize = 1024;

pub(super) fn is_too_wide(value: &Datum) -> bool {
    matches!(value, Datum::Bytes(b) if b.len() > TOO_WIDE)
}

pub(super) fn compute(
    values: &[&Datum],
    total_rows: f64,
    target: usize,
    (attr, computed): (&Attr, bool),
    order: Option<&Order>,
) -> Result<Stats> {
    let n = values.len();
    let mut present: Vec<(usize, &Datum)> =
        values.iter().enumerate().filter(|(_, v)| !v.is_null()).map(|(i, v)| (i, *v)).collect();
    let found = present.len();
    let nulls = n - found;
    let mut stats = Stats { null_frac: nulls as f32 / n as f32, ..Stats::default() };
    if present.is_empty() {
        stats.width = if attr.len > 0 { i32::from(attr.len) } else { 0 };
        return Ok(stats);
    }
    let bytes: usize = present.iter().map(|(_, v)| width(v, computed)).sum();
    stats.width = if attr.len > 0 { i32::from(attr.len) } else { (bytes / found) as i32 };
    let Some(order) = order else { return Ok(stats) };
    present.retain(|(_, v)| !is_too_wide(v));
    if present.is_empty() {
        // All of them are too wide to be compared: no two are taken for equal.
        stats.distinct = -(1.0 - stats.null_frac);
        return Ok(stats);
    }
    let mut failed = None;
    present.sort_by(|a, b| {
        order
            .cmp
            .compare(a.1, b.1)
            .unwrap_or_else(|e| {
                failed = Some(e);
                Ordering::Equal
            })
            .then(a.0.cmp(&b.0))
    });
    if let Some(e) = failed {
        return Err(e);
    }
    let mut runs: Vec<Run> = Vec::new();
    for (at, (_, value)) in present.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if order.cmp.compare(&run.value, value)?.is_eq() => run.count += 1,
            _ => runs.push(Run { value: (*value).clone(), count: 1, first: at }),
        }
    }
    let wide = found - present.len();
    stats.distinct = distinct(&runs, (found, wide), nulls, n, total_rows);
    let common = most_common(&runs, (found, wide), n, target, stats.distinct, total_rows);
    stats.histogram = histogram(&present, &runs, &common, target);
    stats.common =
        common.iter().map(|i| (runs[*i].value.clone(), runs[*i].count as f32 / n as f32)).collect();
    stats.correlation = correlation(&present);
    Ok(stats)
}

/// The number of distinct values in the whole table (Haas and Stokes), or minus its share of
/// the rows if it grows with them.
fn distinct(
    runs: &[Run],
    (present, wide): (usize, usize),
    nulls: usize,
    n: usize,
    total: f64,
) -> f32 {
    let d = (runs.len() + wide) as f64;
    let once = (runs.iter().filter(|r| r.count == 1).count() + wide) as f64;
    let null_frac = nulls as f64 / n as f64;
    let estimate = if once == 0.0 {
        d
    } else if once == present as f64 {
        return -(1.0 - null_frac) as f32;
    } else {
        let rows = total * (1.0 - null_frac);
        let n1 = present as f64;
        let numerator = n1 * d;
        let denominator = (n1 - once) + once * n1 / rows.max(1.0);
        (numerator / denominator).clamp(d, rows.max(d)).round()
    };
    if estimate > 0.1 * total { -(estimate / total) as f32 } else { estimate as f32 }
}

/// Runs that are common enough to be listed, most common first.
fn most_common(
    runs: &[Run],
    (present, wide): (usize, usize),
    n: usize,
    target: usize,
    distinct: f32,
    total: f64,
) -> Vec<usize> {
    let mut candidates: Vec<usize> = (0..runs.len()).filter(|i| runs[*i].count > 1).collect();
    let repeated = candidates.len();
    candidates.sort_by(|a, b| runs[*b].count.cmp(&runs[*a].count).then(a.cmp(b)));
    candidates.truncate(target);
    // The whole table is in the list: nothing is left out.
    if repeated == runs.len() && wide == 0 && repeated <= target && distinct > 0.0 {
        return candidates;
    }
    if n as f64 == total || total <= 1.0 {
        return candidates;
    }
    // One that is not clearly more common than the average of the rest tells nothing.
    let all = if distinct < 0.0 { f64::from(-distinct) * total } else { f64::from(distinct) };
    let mut listed: usize = candidates.iter().map(|i| runs[*i].count).sum();
    while let Some(last) = candidates.last() {
        let own = runs[*last].count;
        let count = own as f64;
        listed -= own;
        let mut rest = ((present - listed) as f64 / n as f64).clamp(0.0, 1.0);
        let others = all - (candidates.len() as f64 - 1.0);
        if others > 1.0 {
            rest /= others;
        }
        let sample = n as f64;
        let k = total * count / sample;
        let variance =
            sample * k * (total - k) * (total - sample) / (total * total * (total - 1.0));
        if count > rest * sample + 2.0 * variance.max(0.0).sqrt() + 0.5 {
            break;
        }
        candidates.pop();
    }
    candidates
}

/// Bounds of equally full buckets of the values that are not listed as common.
fn histogram(
    present: &[(usize, &Datum)],
    runs: &[Run],
    common: &[usize],
    target: usize,
) -> Vec<Datum> {
    let rest: Vec<&Datum> = runs
        .iter()
        .enumerate()
        .filter(|(i, _)| !common.contains(i))
        .flat_map(|(_, r)| present[r.first..r.first + r.count].iter().map(|p| p.1))
        .collect();
    let kinds = runs.len() - common.len();
    if kinds < 2 {
        return Vec::new();
    }
    let bounds = (target + 1).min(kinds);
    (0..bounds).map(|i| rest[i * (rest.len() - 1) / (bounds - 1)].clone()).collect()
}

/// How much the order of values is that of places.
fn correlation(sorted: &[(usize, &Datum)]) -> Option<f32> {
    let n = sorted.len() as f64;
    if sorted.len() < 2 {
        return None;
    }
    let mut places: Vec<usize> = sorted.iter().map(|p| p.0).collect();
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|i| places[*i]);
    for (rank, i) in order.iter().enumerate() {
        places[*i] = rank;
    }
    let products: f64 = places.iter().enumerate().map(|(i, p)| i as f64 * *p as f64).sum();
    let sum = (n - 1.0) * n / 2.0;
    let squares = (n - 1.0) * n * (2.0 * n - 1.0) / 6.0;
    Some(((n * products - sum * sum) / (n * squares - sum * sum)) as f32)
}

/// A row of `pg_statistic`.
pub(super) fn statistic_row(
    (table, attnum, inherited): (Oid, i16, bool),
    attr: &Attr,
    stats: &Stats,
    order: Option<&Order>,
) -> Result<SysRow> {
    let mut row = SysRow::new(oids::PG_STATISTIC)?;
    row.set_oid("starelid", table)?
        .set_i16("staattnum", attnum)?
        .set_bool("stainherit", inherited)?
        .set_f32("stanullfrac", stats.null_frac)?
        .set_i32("stawidth", stats.width)?
        .set_f32("stadistinct", stats.distinct)?;
    for n in 1..=5 {
        row.set_i16(&format!("stakind{n}"), 0)?
            .set_oid(&format!("staop{n}"), Oid::INVALID)?
            .set_oid(&format!("stacoll{n}"), Oid::INVALID)?;
    }
    let mut slots: Vec<(i16, Oid, Option<Vec<f32>>, Option<Vec<Datum>>)> = Vec::new();
    if let Some(order) = order {
        if !stats.common.is_empty() {
            let (values, numbers) = stats.common.iter().cloned().unzip();
            slots.push((1, order.eq, Some(numbers), Some(values)));
        }
        if !stats.histogram.is_empty() {
            slots.push((2, order.lt, None, Some(stats.histogram.clone())));
        }
        if let Some(c) = stats.correlation {
            slots.push((3, order.lt, Some(vec![c]), None));
        }
    }
    for (i, (kind, op, numbers, values)) in slots.into_iter().enumerate() {
        let n = i + 1;
        row.set_i16(&format!("stakind{n}"), kind)?
            .set_oid(&format!("staop{n}"), op)?
            .set_oid(&format!("stacoll{n}"), attr.collation)?;
        if let Some(numbers) = numbers {
            row.set(&format!("stanumbers{n}"), vector::from_f32s(&numbers))?;
        }
        if let Some(values) = values {
            row.set(&format!("stavalues{n}"), vector::from_values(attr, &values)?)?;
        }
    }
    Ok(row)
}

fn store(
    session: &Session,
    place: (Oid, i16, bool),
    attr: &Attr,
    stats: &Stats,
    order: Option<&Order>,
) -> Result<()> {
    let rows = &session.core.store;
    let key = [Datum::U32(place.0.0), Datum::I16(place.1), Datum::Bool(place.2)];
    let old = rows.index_scan(indexes::PG_STATISTIC_RELID, &key)?.into_iter().next();
    let row = statistic_row(place, attr, stats, order)?;
    rows.put(row, old.as_ref()).map(drop)
}
