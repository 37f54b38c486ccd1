//! Inner joins of a table with itself by a unique key: a row meets itself and no other, so that
//! one of the two is enough.

use super::volatility;
use crate::path::index::strip;
use crate::root::Root;
use base::{Oid, Result};
use catalog::{ConstraintDesc, IndexDesc, RelationDesc};
use ir::{Expr, FromExpr, FromItem, JoinKind, NullTestKind, Query, Rte, RteKind, walk};

/// Tables that are joined with no outer join between, and the conditions on them.
#[derive(Default)]
struct Group {
    tables: Vec<u32>,
    quals: Vec<Expr>,
}

/// Expressions that conditions of a group make equal.
struct Class {
    families: Vec<Oid>,
    collation: Oid,
    members: Vec<Expr>,
}

/// The table of an entry that may be one of such a pair.
fn plain_table(rte: &Rte) -> Option<Oid> {
    match rte.kind {
        RteKind::Relation { relid, relkind: 'r', sample: None, .. } => Some(relid),
        _ => None,
    }
}

fn names_a_table_twice(query: &Query) -> bool {
    let list = &query.rtable;
    list.iter().enumerate().any(|(i, r)| {
        let table = plain_table(r);
        table.is_some() && list[..i].iter().any(|other| plain_table(other) == table)
    })
}

impl Root<'_> {
    /// Leaves out what such joins do not need, one table after the other.
    pub fn remove_self_joins(&mut self) -> Result<()> {
        if !self.env.settings.enable_self_join_elimination || !names_a_table_twice(&self.query) {
            return Ok(());
        }
        while let Some((gone, kept)) = self.find_self_join()? {
            self.replace_table(gone, kept);
            remove_from(&mut self.query.jointree, gone);
            self.tidy_quals(kept)?;
        }
        Ok(())
    }

    fn find_self_join(&self) -> Result<Option<(u32, u32)>> {
        let (mut all, mut top) = (Vec::new(), Group::default());
        collect_from(&self.query.jointree, &mut top, &mut all);
        all.push(top);
        for group in &mut all {
            group.tables.sort_unstable();
            group.tables.retain(|t| self.may_be_one(*t));
            let table = |t: u32| plain_table(self.query.rte(t));
            let mut classes = None;
            for (i, gone) in group.tables.iter().enumerate() {
                for kept in &group.tables[i + 1..] {
                    let Some(oid) = table(*gone).filter(|o| Some(*o) == table(*kept)) else {
                        continue;
                    };
                    if classes.is_none() {
                        classes = Some(self.classes_of(&group.quals)?);
                    }
                    let desc = self.env.catalog.relation(oid)?;
                    let known = classes.as_deref().unwrap_or_default();
                    if !desc.has_subclass && meet_once(&desc, known, *gone, *kept) {
                        return Ok(Some((*gone, *kept)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Neither is it changed, nor are rows of it locked.
    fn may_be_one(&self, table: u32) -> bool {
        let rte = self.query.rte(table);
        plain_table(rte).is_some()
            && rte.security_quals.is_empty()
            && table != self.query.result_relation
            && !self.query.row_marks.iter().any(|m| m.rtindex == table)
    }

    fn classes_of(&self, quals: &[Expr]) -> Result<Vec<Class>> {
        let mut out: Vec<Class> = Vec::new();
        for q in quals {
            let Expr::Op(o) = q else { continue };
            let [a, b] = &o.args[..] else { continue };
            if !self.env.catalog.operator(o.op)?.can_merge || volatility::has_volatile(q, self.env)?
            {
                continue;
            }
            let families = self.equality_families(o.op)?;
            let mut class = Class {
                families,
                collation: o.input_collation,
                members: vec![a.clone(), b.clone()],
            };
            let same = |c: &Class| {
                c.families == class.families
                    && c.collation == class.collation
                    && (c.members.contains(a) || c.members.contains(b))
            };
            let (joined, rest): (Vec<Class>, Vec<Class>) = out.into_iter().partition(same);
            joined.into_iter().for_each(|c| class.members.extend(c.members));
            out = rest;
            out.push(class);
        }
        Ok(out)
    }

    /// Names the one table wherever the other was named.
    fn replace_table(&mut self, gone: u32, kept: u32) {
        let mut renamed = |e: &Expr, level: u32| match e {
            Expr::Var(v) if v.varno == gone && v.levels_up == level => {
                let mut v = v.clone();
                (v.varno, v.syn_no) = (kept, kept);
                Some(Expr::Var(v))
            }
            _ => None,
        };
        walk::rewrite_query(&mut self.query, 0, &mut renamed);
        let values = self.multi_values.iter_mut().flat_map(|(_, list)| list);
        for e in self.having.iter_mut().chain(values) {
            walk::rewrite_expr(e, 0, &mut renamed);
        }
    }

    /// Conditions that became the same are one; what is equal to itself is not null.
    fn tidy_quals(&mut self, kept: u32) -> Result<()> {
        let table = plain_table(self.query.rte(kept));
        let desc = table.map(|oid| self.env.catalog.relation(oid)).transpose()?;
        let mut tree = std::mem::take(&mut self.query.jointree);
        let done = self.tidy_from(&mut tree, kept, desc.as_deref());
        self.query.jointree = tree;
        done
    }

    fn tidy_from(&self, from: &mut FromExpr, kept: u32, desc: Option<&RelationDesc>) -> Result<()> {
        self.tidy(&mut from.quals, kept, desc)?;
        from.items.iter_mut().try_for_each(|i| self.tidy_item(i, kept, desc))
    }

    fn tidy_item(&self, item: &mut FromItem, kept: u32, desc: Option<&RelationDesc>) -> Result<()> {
        match item {
            FromItem::Table(_) => Ok(()),
            FromItem::From(f) => self.tidy_from(f, kept, desc),
            FromItem::Join(j) => {
                if j.kind == JoinKind::Inner {
                    self.tidy(&mut j.quals, kept, desc)?;
                }
                self.tidy_item(&mut j.left, kept, desc)?;
                self.tidy_item(&mut j.right, kept, desc)
            }
        }
    }

    fn tidy(&self, quals: &mut Option<Expr>, kept: u32, desc: Option<&RelationDesc>) -> Result<()> {
        let Some(q) = quals.take() else { return Ok(()) };
        let mut out: Vec<Expr> = Vec::new();
        for q in walk::conjuncts(q) {
            let q = match &q {
                Expr::Op(o)
                    if o.args.len() == 2
                        && o.args[0] == o.args[1]
                        && self.relids_of(&q).contains(kept)
                        && self.env.catalog.operator(o.op)?.can_merge
                        && !volatility::has_volatile(&q, self.env)? =>
                {
                    let arg = o.args[0].clone();
                    if let (Expr::Var(v), Some(d)) = (&arg, desc)
                        && v.varno == kept
                        && is_never_null(d, v.attno)
                    {
                        continue;
                    }
                    Expr::NullTest {
                        kind: NullTestKind::IsNotNull,
                        arg: Box::new(arg),
                        is_row: false,
                        location: None,
                    }
                }
                _ => q,
            };
            if !out.contains(&q) {
                out.push(q);
            }
        }
        *quals = walk::conjoin(out);
        Ok(())
    }
}

/// True of columns that are NOT NULL; while that is not validated, they may hold nulls from before.
pub(super) fn is_never_null(desc: &RelationDesc, column: i16) -> bool {
    let unproven =
        |k: &ConstraintDesc| k.kind == b'n' && !k.validated && k.columns.contains(&column);
    let attr = desc.tuple.attrs.get(column as usize - 1);
    attr.is_some_and(|a| a.not_null) && !desc.constraints.iter().any(unproven)
}

/// Whether the two name the same row wherever the conditions hold.
fn meet_once(desc: &RelationDesc, classes: &[Class], gone: u32, kept: u32) -> bool {
    let of = |e: &Expr, table: u32, column: i16| match strip(e) {
        Expr::Var(v) => v.varno == table && v.attno == column,
        _ => false,
    };
    let settled = |index: &IndexDesc, n: usize| {
        let column = index.columns[n];
        classes.iter().any(|c| {
            c.families.contains(&index.opfamilies[n])
                && (c.collation == index.collations[n] || !index.collations[n].is_valid())
                && c.members.iter().any(|e| of(e, gone, column))
                && c.members.iter().any(|e| of(e, kept, column))
        })
    };
    desc.indexes.iter().any(|i| {
        i.is_unique
            && i.is_immediate
            && i.is_valid
            && i.predicate.is_none()
            && (0..i.n_keys as usize).all(|n| i.columns[n] != 0 && settled(i, n))
    })
}

fn collect_from(from: &FromExpr, group: &mut Group, all: &mut Vec<Group>) {
    from.items.iter().for_each(|i| collect_item(i, group, all));
    group.quals.extend(from.quals.clone().map(walk::conjuncts).unwrap_or_default());
}

fn collect_item(item: &FromItem, group: &mut Group, all: &mut Vec<Group>) {
    match item {
        FromItem::Table(t) => group.tables.push(*t),
        FromItem::From(f) => collect_from(f, group, all),
        FromItem::Join(j) if j.kind == JoinKind::Inner => {
            collect_item(&j.left, group, all);
            collect_item(&j.right, group, all);
            group.quals.extend(j.quals.clone().map(walk::conjuncts).unwrap_or_default());
        }
        FromItem::Join(j) => {
            for side in [&j.left, &j.right] {
                let mut own = Group::default();
                collect_item(side, &mut own, all);
                all.push(own);
            }
        }
    }
}

fn remove_from(from: &mut FromExpr, gone: u32) {
    from.items.retain(|i| !matches!(i, FromItem::Table(t) if *t == gone));
    from.items.iter_mut().for_each(|i| remove_from_item(i, gone));
    // A list of nothing else has its conditions only.
    let mut quals: Vec<Expr> = Vec::new();
    from.items.retain_mut(|i| match i {
        FromItem::From(f) if f.items.is_empty() => {
            quals.extend(f.quals.take());
            false
        }
        _ => true,
    });
    if !quals.is_empty() {
        quals.extend(from.quals.take());
        from.quals = walk::conjoin(quals.into_iter().flat_map(walk::conjuncts).collect());
    }
}

fn remove_from_item(item: &mut FromItem, gone: u32) {
    match item {
        FromItem::Table(_) => {}
        FromItem::From(f) => remove_from(f, gone),
        FromItem::Join(j) => {
            remove_from_item(&mut j.left, gone);
            remove_from_item(&mut j.right, gone);
            if j.kind != JoinKind::Inner {
                return;
            }
            let mut sides = FromExpr {
                items: vec![
                    std::mem::replace(&mut j.left, FromItem::Table(0)),
                    std::mem::replace(&mut j.right, FromItem::Table(0)),
                ],
                quals: j.quals.take(),
            };
            remove_from(&mut sides, gone);
            if let [_, _] = sides.items[..] {
                j.quals = sides.quals;
                let mut items = sides.items.into_iter();
                if let (Some(left), Some(right)) = (items.next(), items.next()) {
                    (j.left, j.right) = (left, right);
                }
                return;
            }
            *item = FromItem::From(Box::new(sides));
        }
    }
}
