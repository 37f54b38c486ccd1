//! Rows of a partitioned table find their partition.

use super::rel::{ResultRel, stored};
use crate::compile::PlanCompiler;
use crate::expr::{Prog, RowInput, VarMap};
use crate::run::Run;
use base::{Error, Oid, Result, err};
use catalog::RelationDesc;
use catalog::partition::Partitioning;
use std::sync::Arc;
use types::{Datum, io};

/// A column of a partition key.
enum Key {
    Column(usize),
    Expr(Prog),
}

/// A partitioned table of the tree.
struct Level {
    rel: Arc<RelationDesc>,
    /// The name of its schema.
    schema: Arc<str>,
    partitioning: Partitioning,
    keys: Vec<Key>,
    /// Where its columns are in a row of the root; none if they lie the same.
    map: Option<Vec<Option<usize>>>,
    children: Vec<(Oid, Child)>,
}

enum Child {
    Level(Box<Level>),
    Leaf(usize),
}

/// A partition that has rows.
pub(crate) struct Leaf {
    pub oid: Oid,
    /// Where its columns are in a row of the root; none if they lie the same.
    pub map: Option<Vec<Option<usize>>>,
    /// Where the root's columns are in its rows.
    pub back: Option<Vec<Option<usize>>>,
}

/// The tree of a partitioned table.
pub(crate) struct Router {
    root: Level,
    /// What makes a row one of the root, if it is a partition itself.
    belonging: Option<Belonging>,
    pub leaves: Vec<Leaf>,
    /// Columns of the root that a key has.
    pub key_columns: Vec<i16>,
}

/// For each column of `to` its place in rows of `from`; none if they lie the same.
pub(crate) fn column_map(from: &RelationDesc, to: &RelationDesc) -> Option<Vec<Option<usize>>> {
    let map: Vec<Option<usize>> = to
        .tuple
        .attrs
        .iter()
        .map(|a| match a.dropped {
            true => None,
            false => from.column_number(&a.name).map(|n| n as usize - 1),
        })
        .collect();
    let same = from.tuple.natts() == to.tuple.natts()
        && map.iter().enumerate().all(|(i, m)| m.is_none_or(|m| m == i));
    (!same).then_some(map)
}

/// A row in another table's order.
pub(crate) fn mapped(map: &Option<Vec<Option<usize>>>, row: &[Datum]) -> Vec<Datum> {
    match map {
        None => row.to_vec(),
        Some(map) => map.iter().map(|m| m.map_or(Datum::Null, |i| row[i].clone())).collect(),
    }
}

fn keys_of(c: &mut PlanCompiler, rel: &RelationDesc) -> Result<Vec<Key>> {
    let Some(key) = &rel.partition_key else {
        return Err(Error::internal("a table that is not partitioned"));
    };
    let exprs: Vec<ir::Expr> = match &key.exprs {
        Some(text) => serde_json::from_str(text)
            .map_err(|e| err!(INTERNAL_ERROR, "stored expressions: {e}"))?,
        None => Vec::new(),
    };
    let map = VarMap::default().and(1, 0, rel.tuple.natts());
    let mut exprs = exprs.iter();
    let mut keys = Vec::new();
    for n in &key.columns {
        keys.push(match *n {
            0 => {
                let e = exprs.next().ok_or_else(|| Error::internal("a key lacks a column"))?;
                Key::Expr(c.ec.expr(e, &map)?)
            }
            n => Key::Column(n as usize - 1),
        });
    }
    Ok(keys)
}

fn key_of(run: &mut Run, keys: &[Key], row: &[Datum]) -> Result<Vec<Datum>> {
    keys.iter()
        .map(|k| match k {
            Key::Column(i) => Ok(row[*i].clone()),
            Key::Expr(p) => p.eval(run, RowInput::Row(row)),
        })
        .collect()
}

impl Router {
    /// The tree below a partitioned table.
    pub fn compile(c: &mut PlanCompiler, root: &Arc<RelationDesc>) -> Result<Router> {
        let mut leaves = Vec::new();
        let mut key_columns = Vec::new();
        let level = Level::compile(c, root, root, &mut leaves, &mut key_columns)?;
        let belonging = match root.is_partition {
            true => Belonging::compile(c, root)?,
            false => None,
        };
        Ok(Router { root: level, belonging, leaves, key_columns })
    }

    /// The table at the top.
    pub fn root(&self) -> &RelationDesc {
        &self.root.rel
    }

    /// The number of the leaf that a row of the root goes to.
    pub fn find(&self, run: &mut Run, row: &[Datum]) -> Result<usize> {
        if let Some(b) = &self.belonging
            && !b.holds(run, row)?
        {
            return Err(self.stray(run, row));
        }
        let mut level = &self.root;
        loop {
            let own = mapped(&level.map, row);
            let key = key_of(run, &level.keys, &own)?;
            let found = level.partitioning.find(&key)?;
            let child = found.and_then(|f| level.children.iter().find(|c| c.0 == f));
            match child {
                Some((_, Child::Leaf(n))) => return Ok(*n),
                Some((_, Child::Level(next))) => level = next,
                None => return Err(no_partition(run, level, &key)),
            }
        }
    }
}

impl Router {
    #[cold]
    fn stray(&self, run: &Run, row: &[Datum]) -> Error {
        let (rel, schema) = (&self.root.rel, &self.root.schema);
        err!(CHECK_VIOLATION, "new row for relation \"{}\" violates partition constraint", rel.name)
            .detail(super::rel::failing_row(run, rel, row))
            .table(&**schema, &*rel.name)
    }
}

fn no_partition(run: &Run, level: &Level, key: &[Datum]) -> Error {
    let rel = &level.rel;
    let e = err!(CHECK_VIOLATION, "no partition of relation \"{}\" found for row", rel.name)
        .table(&*level.schema, &*rel.name);
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (k, v) in level.keys.iter().zip(key) {
        let type_oid = match k {
            Key::Column(i) => {
                names.push(rel.tuple.attrs[*i].name.to_string());
                rel.tuple.attrs[*i].type_oid
            }
            Key::Expr(p) => p.ty,
        };
        let mut out = Vec::new();
        values.push(match v {
            Datum::Null => "null".to_string(),
            v => match io::output(type_oid, v, &run.env.io(), &mut out) {
                Ok(()) => String::from_utf8_lossy(&out).into_owned(),
                Err(_) => "?".to_string(),
            },
        });
    }
    let mut names = names.join(", ");
    if level.keys.iter().any(|k| matches!(k, Key::Expr(_))) {
        match run.cx.hooks.key_columns(rel.oid) {
            Ok(text) => names = text,
            Err(_) => return e,
        }
    }
    if let Some(readable) = run.cx.hooks.readable_columns(rel) {
        let may = |k: &Key| matches!(k, Key::Column(i) if readable.contains(&(*i as i16 + 1)));
        if !level.keys.iter().all(may) {
            return e;
        }
    }
    let values = values.join(", ");
    e.detail(format!("Partition key of the failing row contains ({names}) = ({values})."))
}

impl Level {
    fn compile(
        c: &mut PlanCompiler,
        root: &Arc<RelationDesc>,
        rel: &Arc<RelationDesc>,
        leaves: &mut Vec<Leaf>,
        key_columns: &mut Vec<i16>,
    ) -> Result<Level> {
        let partitioning = Partitioning::load(c.ec.catalog, rel)?;
        let keys = keys_of(c, rel)?;
        note_columns(root, rel, key_columns)?;
        let mut children = Vec::new();
        for oid in c.ec.catalog.children(rel.oid)? {
            let child = c.ec.catalog.relation(oid)?;
            if child.partition_key.is_some() {
                let level = Level::compile(c, root, &child, leaves, key_columns)?;
                children.push((oid, Child::Level(Box::new(level))));
            } else {
                leaves.push(Leaf {
                    oid,
                    map: column_map(root, &child),
                    back: column_map(&child, root),
                });
                children.push((oid, Child::Leaf(leaves.len() - 1)));
            }
        }
        let map = column_map(root, rel);
        let schema = c.ec.catalog.namespace(rel.namespace)?.name.clone();
        Ok(Level { rel: Arc::clone(rel), schema, partitioning, keys, map, children })
    }
}

/// Columns of the root that a level's key reads.
fn note_columns(root: &RelationDesc, rel: &RelationDesc, out: &mut Vec<i16>) -> Result<()> {
    let Some(key) = &rel.partition_key else { return Ok(()) };
    let mut own: Vec<i16> = key.columns.iter().copied().filter(|n| *n > 0).collect();
    if let Some(text) = &key.exprs {
        let exprs: Vec<ir::Expr> = serde_json::from_str(text)
            .map_err(|e| err!(INTERNAL_ERROR, "stored expressions: {e}"))?;
        for e in &exprs {
            ir::walk::each(e, &mut |e| {
                if let ir::Expr::Var(v) = e {
                    own.push(v.attno);
                }
            });
        }
    }
    for n in own {
        let Some(attr) = usize::try_from(n - 1).ok().and_then(|i| rel.tuple.attrs.get(i)) else {
            continue;
        };
        if let Some(m) = root.column_number(&attr.name)
            && !out.contains(&m)
        {
            out.push(m);
        }
    }
    Ok(())
}

/// What makes a row one of this partition, for rows that are written to it by its own name.
pub(crate) struct Belonging {
    levels: Vec<(Oid, Partitioning, Vec<Prog>)>,
}

impl Belonging {
    /// The conditions of a partition and of those it is in.
    pub fn compile(c: &mut PlanCompiler, rel: &Arc<RelationDesc>) -> Result<Option<Belonging>> {
        let mut levels = Vec::new();
        let mut below = Arc::clone(rel);
        let map = VarMap::default().and(1, 0, rel.tuple.natts());
        while below.is_partition {
            let Some(parent) = below.parents.first() else { break };
            let parent = c.ec.catalog.relation(*parent)?;
            let Some(key) = &parent.partition_key else { break };
            let exprs: Vec<ir::Expr> = match &key.exprs {
                Some(text) => serde_json::from_str(text)
                    .map_err(|e| err!(INTERNAL_ERROR, "stored expressions: {e}"))?,
                None => Vec::new(),
            };
            let mut exprs = exprs.into_iter();
            let mut progs = Vec::new();
            for n in &key.columns {
                let mut e = match *n {
                    0 => exprs.next().ok_or_else(|| Error::internal("a key lacks a column"))?,
                    n => {
                        let a = &parent.tuple.attrs[n as usize - 1];
                        ir::Expr::Var(ir::Var::new(1, n, a.type_oid, a.typmod, a.collation))
                    }
                };
                ir::walk::transform(&mut e, &mut |e| {
                    if let ir::Expr::Var(v) = e
                        && v.attno > 0
                    {
                        let name = &parent.tuple.attrs[v.attno as usize - 1].name;
                        v.attno = rel.column_number(name).unwrap_or(v.attno);
                    }
                });
                progs.push(c.ec.expr(&e, &map)?);
            }
            levels.push((below.oid, Partitioning::load(c.ec.catalog, &parent)?, progs));
            below = parent;
        }
        Ok((!levels.is_empty()).then_some(Belonging { levels }))
    }

    /// True if the row belongs to the partition.
    pub fn holds(&self, run: &mut Run, row: &[Datum]) -> Result<bool> {
        for (oid, partitioning, progs) in &self.levels {
            let mut key = Vec::with_capacity(progs.len());
            for p in progs {
                key.push(p.eval(run, RowInput::Row(row))?);
            }
            if partitioning.find(&key)? != Some(*oid) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Compiles the leaves of a router as tables that rows are written to.
pub(crate) fn leaf_rels(c: &mut PlanCompiler, router: &Router, rti: u32) -> Result<Vec<ResultRel>> {
    let mut all = Vec::new();
    for leaf in &router.leaves {
        let rel = c.ec.catalog.relation(leaf.oid)?;
        let mut made = ResultRel::compile_rel(c, rti, rel)?;
        made.root = Some((Arc::clone(&router.root.rel), leaf.back.clone()));
        all.push(made);
    }
    let _ = stored;
    Ok(all)
}
