//! Partitioned tables and partitions: keys, bounds, ATTACH and DETACH, and indexes of the tree.

use super::Ddl;
use super::index::IndexKey;
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::partition::{BoundKind, PartitionBound as StoredBound, Partitioning, RangeDatum};
use catalog::{IndexDesc, RelKind, RelationDesc, SysRow, indexes, oids, vector};
use parser::ast::{self, LockMode, PartitionBound, PartitionSpec, RelName};
use std::cmp::Ordering;
use std::sync::Arc;
use types::Datum;

/// A column of a partition key, for messages and coercion.
struct KeyColumn {
    name: String,
    type_oid: Oid,
    typmod: i32,
}

impl Ddl<'_> {
    /// Writes a partitioned table's key.
    pub(super) fn store_partition_key(&self, table: Oid, spec: &PartitionSpec) -> Result<()> {
        let rel = self.view.relation(table)?;
        let strategy = match spec.strategy.to_ascii_lowercase().as_str() {
            "list" => b'l',
            "range" => b'r',
            "hash" => b'h',
            _ => bail!(
                INVALID_PARAMETER_VALUE,
                "unrecognized partitioning strategy \"{}\"",
                spec.strategy
            ),
        };
        if strategy == b'l' && spec.elems.len() != 1 {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "cannot use \"list\" partition strategy with more than one column"
            );
        }
        if spec.elems.len() > 32 {
            bail!(TOO_MANY_COLUMNS, "cannot partition using more than 32 columns");
        }
        let (am, am_name) = match strategy {
            b'h' => (oids::HASH_AM, "hash"),
            _ => (oids::BTREE_AM, "btree"),
        };
        let mut columns = Vec::new();
        let mut classes = Vec::new();
        let mut collations = Vec::new();
        let mut exprs: Vec<ir::Expr> = Vec::new();
        for elem in &spec.elems {
            let (number, ty, own) = self.partition_elem(&rel, elem, elem.pos, &mut exprs)?;
            let t = self.view.type_(ty)?;
            if t.kind == b'p' {
                bail!(
                    INVALID_TABLE_DEFINITION,
                    "partition key column {} has pseudo-type {}",
                    columns.len() + 1,
                    self.format_type(ty, -1)
                );
            }
            let collation = match &elem.collation {
                Some(name) => self.collation(name)?,
                None => own,
            };
            self.check_collation(ty, collation, "partition")?;
            let class = match &elem.opclass {
                Some(_) => self.choose_opclass(am, am_name, ty, elem.opclass.as_ref())?,
                None => self.view.default_opclass(ty, am)?.ok_or_else(|| {
                    err!(
                        UNDEFINED_OBJECT,
                        "data type {} has no default operator class for access method \
                         \"{am_name}\"",
                        self.format_type(ty, -1)
                    )
                    .hint(format!(
                        "You must specify a {am_name} operator class or define a default \
                         {am_name} operator class for the data type."
                    ))
                })?,
            };
            columns.push(number);
            classes.push(class.oid);
            collations.push(collation);
        }
        let mut row = SysRow::new(oids::PG_PARTITIONED_TABLE)?;
        row.set_oid("partrelid", table)?
            .set_char("partstrat", strategy)?
            .set_i16("partnatts", columns.len() as i16)?
            .set_oid("partdefid", Oid::INVALID)?
            .set("partattrs", vector::from_i16s(oids::INT2VECTOR, &columns))?
            .set("partclass", vector::from_oids(oids::OIDVECTOR, &classes))?
            .set("partcollation", vector::from_oids(oids::OIDVECTOR, &collations))?;
        if !exprs.is_empty() {
            row.set_text("partexprs", &crate::cook::to_text(&exprs)?)?;
        }
        self.rows.insert(row)?;
        let own = ObjectAddress::relation(table);
        for class in classes {
            let class = ObjectAddress::new(oids::PG_OPCLASS, class);
            depend::record(self.rows, own, class, DependKind::Normal)?;
        }
        // The table cannot be without the columns of its key.
        for n in columns.into_iter().filter(|n| *n > 0) {
            let column = ObjectAddress::column(table, n);
            depend::record(self.rows, column, own, DependKind::Internal)?;
        }
        for e in &exprs {
            self.require_expr_types(e)?;
            for found in super::references::of_expr(&self.view, e, table) {
                match found.class == oids::PG_CLASS && found.object == table {
                    true => depend::record(self.rows, found, own, DependKind::Internal)?,
                    false => depend::record(self.rows, own, found, DependKind::Normal)?,
                }
            }
        }
        Ok(())
    }

    fn partition_elem(
        &self,
        rel: &RelationDesc,
        elem: &ast::IndexElem,
        pos: u32,
        exprs: &mut Vec<ir::Expr>,
    ) -> Result<(i16, Oid, Oid)> {
        if let Some(name) = &elem.name {
            let Some(n) = rel.column_number(name) else {
                if super::column::SYSTEM_COLUMNS.iter().any(|s| s.0 == *name) {
                    let e = err!(
                        INVALID_OBJECT_DEFINITION,
                        "cannot use system column \"{name}\" in partition key"
                    );
                    return Err(e.at(pos));
                }
                let e = err!(
                    UNDEFINED_COLUMN,
                    "column \"{name}\" named in partition key does not exist"
                );
                return Err(e.at(pos));
            };
            let attr = &rel.tuple.attrs[n as usize - 1];
            if attr.generated != 0 {
                let e =
                    err!(INVALID_OBJECT_DEFINITION, "cannot use generated column in partition key");
                return Err(e.detail(format!("Column \"{name}\" is a generated column.")).at(pos));
            }
            return Ok((n, attr.type_oid, attr.collation));
        }
        let Some(e) = &elem.expr else { return Err(Error::internal("an empty partition key")) };
        let env = crate::analysis::env(self.env);
        let made = analyze::relation_expr(&env, rel, e, analyze::ExprUse::PartitionKey);
        let made = made.map_err(|e| e.placed(None))?;
        for n in crate::cook::columns_of(&made) {
            let attrs = &rel.tuple.attrs;
            let generated = match n {
                0 => attrs.iter().find(|a| a.generated != 0 && !a.dropped),
                n if n > 0 => attrs.get(n as usize - 1).filter(|a| a.generated != 0),
                _ => bail!(
                    INVALID_OBJECT_DEFINITION,
                    "partition key expressions cannot contain system column references"
                ),
            };
            if let Some(a) = generated {
                let e =
                    err!(INVALID_OBJECT_DEFINITION, "cannot use generated column in partition key");
                let detail = format!("Column \"{}\" is a generated column.", a.name);
                return Err(e.detail(detail).at(pos));
            }
        }
        let (ty, collation) = (made.ty(), made.collation());
        let made = super::index::without_collate(made);
        if let ir::Expr::Var(v) = &made
            && v.attno > 0
        {
            return Ok((v.attno, ty, collation));
        }
        let constant = crate::cook::columns_of(&made).is_empty()
            && !matches!(made.ty(), oids::UNKNOWN | oids::RECORD);
        if constant {
            bail!(INVALID_OBJECT_DEFINITION, "cannot use constant expression as partition key");
        }
        exprs.push(made);
        Ok((0, ty, collation))
    }

    fn key_columns(&self, parent: &RelationDesc) -> Result<Vec<KeyColumn>> {
        let Some(key) = &parent.partition_key else {
            bail!(WRONG_OBJECT_TYPE, "table \"{}\" is not partitioned", parent.name);
        };
        let exprs: Vec<ir::Expr> = match &key.exprs {
            Some(text) => crate::cook::from_text(text)?,
            None => Vec::new(),
        };
        let mut exprs = exprs.iter();
        let mut all = Vec::new();
        for n in &key.columns {
            all.push(match *n {
                0 => {
                    let e = exprs.next().ok_or_else(|| Error::internal("a key lacks a column"))?;
                    KeyColumn {
                        name: self.expr_text(parent, e)?,
                        type_oid: e.ty(),
                        typmod: e.typmod(),
                    }
                }
                n => {
                    let a = &parent.tuple.attrs[n as usize - 1];
                    KeyColumn { name: a.name.to_string(), type_oid: a.type_oid, typmod: a.typmod }
                }
            });
        }
        Ok(all)
    }

    fn bound_value(&self, e: &ast::Expr, key: &KeyColumn) -> Result<Datum> {
        let env = crate::analysis::env(self.env);
        let made = analyze::partition_bound_value(&env, e, &key.name, key.type_oid, key.typmod)?;
        self.storage.evaluate(&made)
    }

    fn value_text(&self, key: &KeyColumn, value: &Datum) -> Result<String> {
        if value.is_null() {
            return Ok("NULL".into());
        }
        let io = functions::FnEnv::io(self.env);
        let text = crate::describe::value_text(key.type_oid, value, &io)?;
        let base = self.base_type(key.type_oid)?.oid;
        let number = matches!(
            base,
            oids::INT2
                | oids::INT4
                | oids::INT8
                | oids::FLOAT4
                | oids::FLOAT8
                | oids::NUMERIC
                | oids::OID
        );
        let plain = number && text.chars().all(|c| "0123456789+eE.".contains(c));
        Ok(match base {
            _ if plain => text,
            oids::BOOL => if text == "t" { "true" } else { "false" }.to_string(),
            _ => ir::deparse::quote_literal(&text),
        })
    }

    /// A bound as it is written, analysed and checked against the parent's strategy.
    fn cook_bound(&self, parent: &RelationDesc, bound: &PartitionBound) -> Result<StoredBound> {
        let keys = self.key_columns(parent)?;
        let strategy = parent.partition_key.as_ref().map_or(0, |k| k.strategy);
        let wrong = |what: &str, pos: u32| {
            err!(INVALID_TABLE_DEFINITION, "invalid bound specification for a {what} partition")
                .at(pos)
        };
        let word = match strategy {
            b'h' => "hash",
            b'l' => "list",
            _ => "range",
        };
        match bound {
            PartitionBound::Default { .. } => {
                if strategy == b'h' {
                    bail!(
                        INVALID_TABLE_DEFINITION,
                        "a hash-partitioned table may not have a default partition"
                    );
                }
                Ok(StoredBound { text: "DEFAULT".into(), kind: BoundKind::Default })
            }
            PartitionBound::Hash { modulus, remainder, pos } => {
                if strategy != b'h' {
                    return Err(wrong(word, *pos));
                }
                if *modulus <= 0 {
                    bail!(
                        INVALID_TABLE_DEFINITION,
                        "modulus for hash partition must be an integer value greater than zero"
                    );
                }
                if *remainder < 0 {
                    bail!(
                        INVALID_TABLE_DEFINITION,
                        "remainder for hash partition must be an integer value greater than or \
                         equal to zero"
                    );
                }
                if remainder >= modulus {
                    bail!(
                        INVALID_TABLE_DEFINITION,
                        "remainder for hash partition must be less than modulus"
                    );
                }
                Ok(StoredBound {
                    text: format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})"),
                    kind: BoundKind::Hash(*modulus as u64, *remainder as u64),
                })
            }
            PartitionBound::List { values, pos } => {
                if strategy != b'l' {
                    return Err(wrong(word, *pos));
                }
                let p = Partitioning::load(&self.view, parent)?;
                let mut all: Vec<Datum> = Vec::new();
                let mut texts = Vec::new();
                for e in values {
                    let v = self.bound_value(e, &keys[0])?;
                    let twice = all.iter().any(|o| match (o.is_null(), v.is_null()) {
                        (true, true) => true,
                        (false, false) => p.compare(0, o, &v).is_ok_and(Ordering::is_eq),
                        _ => false,
                    });
                    if twice {
                        continue;
                    }
                    texts.push(self.value_text(&keys[0], &v)?);
                    all.push(v);
                }
                Ok(StoredBound {
                    text: format!("FOR VALUES IN ({})", texts.join(", ")),
                    kind: BoundKind::List(all),
                })
            }
            PartitionBound::Range { lower, upper, pos } => {
                if strategy != b'r' {
                    return Err(wrong(word, *pos));
                }
                if lower.len() != keys.len() {
                    let text = "FROM must specify exactly one value per partitioning column";
                    return Err(err!(INVALID_TABLE_DEFINITION, "{text}"));
                }
                if upper.len() != keys.len() {
                    let text = "TO must specify exactly one value per partitioning column";
                    return Err(err!(INVALID_TABLE_DEFINITION, "{text}"));
                }
                let (low, low_text) = self.range_bound(&keys, lower)?;
                let (up, up_text) = self.range_bound(&keys, upper)?;
                Ok(StoredBound {
                    text: format!("FOR VALUES FROM ({low_text}) TO ({up_text})"),
                    kind: BoundKind::Range(low, up),
                })
            }
        }
    }

    fn range_bound(
        &self,
        keys: &[KeyColumn],
        values: &[ast::Expr],
    ) -> Result<(Vec<RangeDatum>, String)> {
        let mut all: Vec<RangeDatum> = Vec::new();
        let mut texts = Vec::new();
        for (e, key) in values.iter().zip(keys) {
            let d = match bound_word(e) {
                Some("minvalue") => RangeDatum::Min,
                Some("maxvalue") => RangeDatum::Max,
                _ => {
                    let v = self.bound_value(e, key)?;
                    if v.is_null() {
                        bail!(INVALID_TABLE_DEFINITION, "cannot specify NULL in range bound");
                    }
                    RangeDatum::Value(v)
                }
            };
            match (all.last(), &d) {
                (Some(RangeDatum::Min), x) if *x != RangeDatum::Min => {
                    let text = "every bound following MINVALUE must also be MINVALUE";
                    return Err(err!(DATATYPE_MISMATCH, "{text}").at(e.pos));
                }
                (Some(RangeDatum::Max), x) if *x != RangeDatum::Max => {
                    let text = "every bound following MAXVALUE must also be MAXVALUE";
                    return Err(err!(DATATYPE_MISMATCH, "{text}").at(e.pos));
                }
                _ => {}
            }
            texts.push(match &d {
                RangeDatum::Min => "MINVALUE".to_string(),
                RangeDatum::Max => "MAXVALUE".to_string(),
                RangeDatum::Value(v) => self.value_text(key, v)?,
            });
            all.push(d);
        }
        Ok((all, texts.join(", ")))
    }

    /// A new bound must not overlap those that are there.
    fn check_overlap(
        &self,
        child: &str,
        parent: &RelationDesc,
        bound: &StoredBound,
        written: &PartitionBound,
    ) -> Result<()> {
        let place = place_of(written);
        let p = Partitioning::load(&self.view, parent)?;
        let overlap_at = |other: Oid, place: Option<u32>| -> Result<Error> {
            let other = self.view.relation(other)?;
            Ok(err!(
                INVALID_OBJECT_DEFINITION,
                "partition \"{child}\" would overlap partition \"{}\"",
                other.name
            )
            .at(place))
        };
        let overlap = |other: Oid| overlap_at(other, place);
        match &bound.kind {
            BoundKind::Default => {
                if let Some(other) = p.default {
                    let other = self.view.relation(other)?;
                    return Err(err!(
                        INVALID_OBJECT_DEFINITION,
                        "partition \"{child}\" conflicts with existing default partition \"{}\"",
                        other.name
                    )
                    .at(place));
                }
            }
            BoundKind::List(values) => {
                for (i, v) in values.iter().enumerate() {
                    for (oid, kind) in &p.parts {
                        if p.takes(kind, std::slice::from_ref(v))? {
                            let at = match written {
                                PartitionBound::List { values: all, .. }
                                    if all.len() == values.len() =>
                                {
                                    Some(all[i].pos)
                                }
                                _ => place,
                            };
                            return Err(overlap_at(*oid, at)?);
                        }
                    }
                }
            }
            BoundKind::Range(low, up) => {
                if p.compare_bounds(low, up)? != Ordering::Less {
                    let text = bound.text.trim_start_matches("FOR VALUES FROM ");
                    let (a, b) = text.split_once(" TO ").unwrap_or((text, ""));
                    return Err(err!(
                        INVALID_OBJECT_DEFINITION,
                        "empty range bound specified for partition \"{child}\""
                    )
                    .detail(format!(
                        "Specified lower bound {a} is greater than or equal to upper bound {b}."
                    ))
                    .at(place));
                }
                if let Some((other, at)) = self.overlapped_range(&p, low, up, written)? {
                    return Err(overlap_at(other, at)?);
                }
            }
            BoundKind::Hash(modulus, remainder) => {
                let mut parts: Vec<(u64, u64, Oid)> = p
                    .parts
                    .iter()
                    .filter_map(|(oid, kind)| match kind {
                        BoundKind::Hash(m, r) => Some((*m, *r, *oid)),
                        _ => None,
                    })
                    .collect();
                parts.sort();
                self.check_modulus(&parts, *modulus, *remainder)?;
                for (m, r, oid) in parts {
                    let small = m.min(*modulus);
                    if r % small == remainder % small {
                        return Err(overlap(oid)?);
                    }
                }
            }
        }
        Ok(())
    }

    /// The first partition that a range overlaps, and the value that is to blame: of the lower
    /// bound if that lies within the partition, else of the upper one.
    fn overlapped_range(
        &self,
        p: &Partitioning,
        low: &[RangeDatum],
        up: &[RangeDatum],
        written: &PartitionBound,
    ) -> Result<Option<(Oid, Option<u32>)>> {
        let mut first: Option<(Oid, &[RangeDatum])> = None;
        for (oid, kind) in &p.parts {
            let BoundKind::Range(l, u) = kind else { continue };
            let overlaps = p.compare_bounds(low, u)? == Ordering::Less
                && p.compare_bounds(l, up)? == Ordering::Less;
            let earlier = match first {
                Some((_, before)) => p.compare_bounds(l, before)? == Ordering::Less,
                None => true,
            };
            if overlaps && earlier {
                first = Some((*oid, l));
            }
        }
        let Some((oid, l)) = first else { return Ok(None) };
        let PartitionBound::Range { lower, upper, .. } = written else {
            return Ok(Some((oid, place_of(written))));
        };
        let within = p.compare_bounds(l, low)? != Ordering::Greater;
        let (own, exprs) = if within { (low, lower) } else { (up, upper) };
        let mut differing = 0;
        for n in 1..=own.len() {
            if p.compare_bounds(&l[..n], &own[..n])? != Ordering::Equal {
                differing = n - 1;
                break;
            }
        }
        Ok(Some((oid, exprs.get(differing).map(|e| e.pos))))
    }

    /// Of moduli in ascending order each must divide the next: told is the neighbour, the lower
    /// one first.
    fn check_modulus(&self, parts: &[(u64, u64, Oid)], modulus: u64, remainder: u64) -> Result<()> {
        let refuse = |detail: String| {
            err!(
                INVALID_OBJECT_DEFINITION,
                "every hash partition modulus must be a factor of the next larger modulus"
            )
            .detail(detail)
        };
        let at = parts.partition_point(|(m, r, _)| (*m, *r) <= (modulus, remainder));
        if let Some((m, _, oid)) = parts[..at].last()
            && !modulus.is_multiple_of(*m)
        {
            return Err(refuse(format!(
                "The new modulus {modulus} is not divisible by {m}, the modulus of existing \
                 partition \"{}\".",
                self.view.relation(*oid)?.name
            )));
        }
        if let Some((m, _, oid)) = parts.get(at)
            && m % modulus != 0
        {
            return Err(refuse(format!(
                "The new modulus {modulus} is not a factor of {m}, the modulus of existing \
                 partition \"{}\".",
                self.view.relation(*oid)?.name
            )));
        }
        Ok(())
    }

    /// Writes a partition's bound.
    pub(super) fn store_bound(
        &self,
        child: Oid,
        parent: &RelationDesc,
        bound: &PartitionBound,
    ) -> Result<()> {
        let cooked = self.cook_bound(parent, bound)?;
        let rel = self.view.relation(child)?;
        self.check_overlap(&rel.name, parent, &cooked, bound)?;
        self.write_bound(child, parent, &cooked, false)
    }

    fn write_bound(
        &self,
        child: Oid,
        parent: &RelationDesc,
        bound: &StoredBound,
        attached: bool,
    ) -> Result<()> {
        let before = Partitioning::load(&self.view, parent)?.default;
        let mut class = self.class_row(child)?;
        class.set_text("relpartbound", &bound.store()?)?.set_bool("relispartition", true)?;
        self.rows.update(class)?;
        // The parent's descriptor is what plans depend on.
        self.rows.update(self.class_row(parent.oid)?)?;
        if bound.kind == BoundKind::Default {
            let key = [Datum::U32(parent.oid.0)];
            let rows = self.rows.index_scan(indexes::PG_PARTITIONED_TABLE_PARTRELID, &key)?;
            if let Some(mut row) = rows.into_iter().next() {
                row.set_oid("partdefid", child)?;
                self.rows.update(row)?;
            }
        } else if let Some(default) = before {
            // Rows of the default partition may now belong to the new one.
            if let Some(leaf) = self.storage.stray(default, parent.oid)? {
                let told = if attached { leaf } else { default };
                let default = self.view.relation(told)?;
                let name = default.name.clone();
                let schema = self.view.namespace(default.namespace)?.name.to_string();
                return Err(err!(
                    CHECK_VIOLATION,
                    "updated partition constraint for default partition \"{name}\" would be \
                     violated by some row"
                )
                .table(schema, name.to_string()));
            }
        }
        Ok(())
    }

    /// A partitioned table's partitions by their bounds, the default one last.
    pub(super) fn partitions_in_order(&self, rel: &RelationDesc) -> Result<Vec<Oid>> {
        Partitioning::load(&self.view, rel)?.in_order()
    }

    /// A partition gets the indexes and foreign keys its parent has.
    pub(super) fn inherit_indexes(&self, child: Oid, parent: &RelationDesc) -> Result<()> {
        let parent = self.view.relation(parent.oid)?;
        for index in &parent.indexes {
            self.inherit_index(child, &parent, index, true)?;
        }
        self.inherit_triggers(child, &parent)?;
        self.inherit_foreign_keys(child, &parent)
    }

    /// Makes an index of a partition for one of its parent, or takes one that is like it.
    fn inherit_index(
        &self,
        child: Oid,
        parent: &RelationDesc,
        index: &Arc<IndexDesc>,
        adopt: bool,
    ) -> Result<()> {
        let rel = self.view.relation(child)?;
        if rel.kind == RelKind::Foreign {
            // A foreign table has no indexes, but its partitioned table may, as long as nothing
            // depends on them.
            if index.is_unique {
                return Err(err!(
                    WRONG_OBJECT_TYPE,
                    "cannot create unique index on partitioned table \"{}\"",
                    parent.name
                )
                .detail(format!(
                    "Table \"{}\" contains partitions that are foreign tables.",
                    parent.name
                )));
            }
            return Ok(());
        }
        let alike = |i: &&Arc<IndexDesc>| self.same_index(&rel, i, parent, index).unwrap_or(false);
        let free = |i: &&Arc<IndexDesc>| -> bool {
            self.view.relation(i.oid).is_ok_and(|r| r.parents.is_empty())
        };
        let found = rel.indexes.iter().filter(|_| adopt).find(|i| alike(i) && free(i));
        let made = match found {
            Some(found) => found.oid,
            None if index.is_primary && rel.indexes.iter().any(|i| i.is_primary) => bail!(
                INVALID_TABLE_DEFINITION,
                "multiple primary keys for table \"{}\" are not allowed",
                rel.name
            ),
            None => self.copy_index(&rel, parent, index, None)?,
        };
        self.link_index(made, index.oid, child, parent)
    }

    /// True if an index of a partition is what the partitioned table's index would be there.
    fn same_index(
        &self,
        rel: &RelationDesc,
        own: &IndexDesc,
        parent: &RelationDesc,
        above: &IndexDesc,
    ) -> Result<bool> {
        let name = |r: &RelationDesc, n: i16| match n {
            0 => None,
            n => r.tuple.attrs.get(n as usize - 1).map(|a| a.name.clone()),
        };
        let columns = own.columns.iter().zip(&above.columns);
        if own.am != above.am
            || own.is_unique != above.is_unique
            || own.nulls_not_distinct != above.nulls_not_distinct
            || own.n_keys != above.n_keys
            || own.opclasses != above.opclasses
            || own.collations != above.collations
            || own.exprs.is_some() != above.exprs.is_some()
            || own.predicate.is_some() != above.predicate.is_some()
            || own.columns.len() != above.columns.len()
            || columns.clone().any(|(a, b)| name(rel, *a) != name(parent, *b))
        {
            return Ok(false);
        }
        let exprs = |i: &IndexDesc| -> Result<Vec<ir::Expr>> {
            let mut all: Vec<ir::Expr> = match &i.exprs {
                Some(text) => crate::cook::from_text(text)?,
                None => Vec::new(),
            };
            if let Some(text) = &i.predicate {
                all.push(crate::cook::from_text(text)?);
            }
            Ok(all)
        };
        let (mine, theirs) = (exprs(own)?, exprs(above)?);
        for (mine, theirs) in mine.iter().zip(&theirs) {
            let mapped = super::inherit::map_columns(theirs, parent, rel)?;
            if !super::inherit::same_expr(mine, &mapped) {
                return Ok(false);
            }
        }
        Ok(mine.len() == theirs.len())
    }

    /// Makes an index the child of another, and its constraint that of the other's.
    fn link_index(&self, own: Oid, above: Oid, child: Oid, parent: &RelationDesc) -> Result<()> {
        let mut row = SysRow::new(oids::PG_INHERITS)?;
        row.set_oid("inhrelid", own)?
            .set_oid("inhparent", above)?
            .set_i32("inhseqno", 1)?
            .set_bool("inhdetachpending", false)?;
        self.rows.insert(row)?;
        let mut class = self.class_row(own)?;
        class.set_bool("relispartition", true)?;
        self.rows.update(class)?;
        let mut class = self.class_row(above)?;
        class.set_bool("relhassubclass", true)?;
        self.rows.update(class)?;
        let address = ObjectAddress::relation(own);
        let kind = DependKind::PartitionPrimary;
        depend::record(self.rows, address, ObjectAddress::relation(above), kind)?;
        let table = ObjectAddress::relation(child);
        depend::record(self.rows, address, table, DependKind::PartitionSecondary)?;
        let rel = self.view.relation(child)?;
        let (Some(mine), Some(theirs)) = (
            rel.constraints.iter().find(|c| c.index == own && c.kind != b'f'),
            parent.constraints.iter().find(|c| c.index == above && c.kind != b'f'),
        ) else {
            return Ok(());
        };
        let mut row = self.constraint_row(mine.oid)?;
        row.set_oid("conparentid", theirs.oid)?
            .set_bool("conislocal", false)?
            .set_i16("coninhcount", 1)?;
        self.rows.update(row)?;
        let own = ObjectAddress::new(oids::PG_CONSTRAINT, mine.oid);
        let above = ObjectAddress::new(oids::PG_CONSTRAINT, theirs.oid);
        depend::record(self.rows, own, above, DependKind::PartitionPrimary)
    }

    /// A new index of a partitioned table is made on all partitions.
    pub fn index_partitions(&self, table: Oid, index: Oid) -> Result<()> {
        let parent = self.view.relation(table)?;
        let Some(desc) = parent.indexes.iter().find(|i| i.oid == index).cloned() else {
            return Ok(());
        };
        for child in self.view.children(table)? {
            self.storage.lock(child, LockMode::Share)?;
            self.inherit_index(child, &parent, &desc, true)?;
        }
        Ok(())
    }

    /// A unique index of a partitioned table has all columns of its key.
    pub fn check_unique_key(
        &self,
        parent: &RelationDesc,
        keys: &[IndexKey],
        what: &str,
    ) -> Result<()> {
        let Some(key) = &parent.partition_key else { return Ok(()) };
        for (n, collation) in key.columns.iter().zip(&key.collations) {
            if *n == 0 {
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "unsupported {what} constraint with partition key definition"
                )
                .detail(format!(
                    "{what} constraints cannot be used when partition keys include expressions."
                )));
            }
            if !keys.iter().any(|k| k.attnum == *n && k.collation == *collation) {
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "unique constraint on partitioned table must include all partitioning columns"
                )
                .detail(format!(
                    "{what} constraint on table \"{}\" lacks column \"{}\" which is part of the \
                     partition key.",
                    parent.name,
                    parent.tuple.attrs[*n as usize - 1].name
                )));
            }
        }
        Ok(())
    }

    /// ATTACH PARTITION.
    pub fn attach_partition(
        &self,
        parent: &RelationDesc,
        name: &RelName,
        bound: Option<&PartitionBound>,
    ) -> Result<()> {
        let child = self.view.require_relation(name.schema.as_deref(), &name.name)?;
        self.storage.lock(child.oid, LockMode::AccessExclusive)?;
        let child = self.view.relation(child.oid)?;
        if matches!(parent.kind, RelKind::PartitionedIndex | RelKind::Index) && bound.is_some() {
            bail!(INVALID_OBJECT_DEFINITION, "\"{}\" is not a partitioned table", parent.name);
        }
        if parent.kind == RelKind::PartitionedIndex {
            return self.attach_index(parent, &child);
        }
        let Some(bound) = bound else { return Err(Error::internal("ATTACH without a bound")) };
        match child.kind {
            RelKind::Table | RelKind::Partitioned | RelKind::Foreign => {}
            RelKind::Index | RelKind::PartitionedIndex | RelKind::Composite => {
                return Err(super::alter::not_opened(&child));
            }
            _ => return Err(super::alter::refused(&child, "ATTACH PARTITION")),
        }
        self.require_owner_of_relation(&child)?;
        if child.is_partition {
            bail!(WRONG_OBJECT_TYPE, "\"{}\" is already a partition", child.name);
        }
        if child.of_type.is_valid() {
            bail!(WRONG_OBJECT_TYPE, "cannot attach a typed table as partition");
        }
        if !child.parents.is_empty() {
            bail!(WRONG_OBJECT_TYPE, "cannot attach inheritance child as partition");
        }
        if child.kind == RelKind::Table && !self.view.children(child.oid)?.is_empty() {
            bail!(WRONG_OBJECT_TYPE, "cannot attach inheritance parent as partition");
        }
        self.refuse_circle(child.oid, parent)?;
        let of = |r: &RelationDesc| r.persistence == catalog::Persistence::Temp;
        if of(parent) && !of(&child) {
            bail!(
                WRONG_OBJECT_TYPE,
                "cannot attach a permanent relation as partition of temporary relation \"{}\"",
                parent.name
            );
        }
        if !of(parent) && of(&child) {
            bail!(
                WRONG_OBJECT_TYPE,
                "cannot attach a temporary relation as partition of permanent relation \"{}\"",
                parent.name
            );
        }
        for a in child.tuple.attrs.iter().filter(|a| !a.dropped) {
            if a.identity != 0 {
                return Err(err!(
                    OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "table \"{}\" being attached contains an identity column \"{}\"",
                    child.name,
                    a.name
                )
                .detail("The new partition may not contain an identity column."));
            }
            if parent.column_number(&a.name).is_none() {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "table \"{}\" contains column \"{}\" not found in parent \"{}\"",
                    child.name,
                    a.name,
                    parent.name
                )
                .detail("The new partition may contain only the columns present in parent."));
            }
        }
        let cooked = self.cook_bound(parent, bound)?;
        self.check_overlap(&child.name, parent, &cooked, bound)?;
        self.match_columns(&child, parent, true)?;
        self.match_constraints(&self.view.relation(child.oid)?.clone(), parent)?;
        self.insert_inherits(child.oid, parent.oid, 1, true)?;
        self.write_bound(child.oid, parent, &cooked, true)?;
        self.inherit_indexes(child.oid, parent)?;
        if let Some(leaf) = self.storage.stray(child.oid, parent.oid)? {
            bail!(
                CHECK_VIOLATION,
                "partition constraint of relation \"{}\" is violated by some row",
                self.view.relation(leaf)?.name
            );
        }
        Ok(())
    }

    fn attach_index(&self, parent: &RelationDesc, child: &RelationDesc) -> Result<()> {
        let (Some(above), Some(own)) = (&parent.index, &child.index) else {
            bail!(WRONG_OBJECT_TYPE, "\"{}\" is not an index", child.name);
        };
        if child.parents.contains(&parent.oid) {
            return Ok(());
        }
        let table = self.view.relation(above.table)?;
        let part = self.view.relation(own.table)?;
        if !part.parents.contains(&table.oid) {
            return Err(err!(
                INVALID_OBJECT_DEFINITION,
                "cannot attach index \"{}\" as a partition of index \"{}\"",
                child.name,
                parent.name
            )
            .detail(format!(
                "Index \"{}\" is not an index on any partition of table \"{}\".",
                child.name, table.name
            )));
        }
        for index in &part.indexes {
            if self.view.relation(index.oid)?.parents.contains(&parent.oid) {
                return Err(err!(
                    OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "cannot attach index \"{}\" as a partition of index \"{}\"",
                    child.name,
                    parent.name
                )
                .detail(format!(
                    "Another index is already attached for partition \"{}\".",
                    part.name
                )));
            }
        }
        let refused = |detail: String| {
            err!(
                INVALID_OBJECT_DEFINITION,
                "cannot attach index \"{}\" as a partition of index \"{}\"",
                child.name,
                parent.name
            )
            .detail(detail)
        };
        if !self.same_index(&part, own, &table, above)? {
            return Err(refused("The index definitions do not match.".into()));
        }
        let has = |r: &RelationDesc, index: Oid| {
            r.constraints.iter().any(|c| c.index == index && matches!(c.kind, b'p' | b'u' | b'x'))
        };
        if has(&table, parent.oid) && !has(&part, child.oid) {
            return Err(refused(format!(
                "The index \"{}\" belongs to a constraint in table \"{}\" but no constraint \
                 exists for index \"{}\".",
                parent.name, table.name, child.name
            )));
        }
        self.link_index(child.oid, parent.oid, part.oid, &table)?;
        self.complete_index(parent.oid, &table)
    }

    /// An index on ONLY a partitioned table is not valid while a partition lacks its own.
    pub fn await_partitions(&self, table: Oid, index: Oid) -> Result<()> {
        match self.view.children(table)?.is_empty() {
            true => Ok(()),
            false => self.set_index_valid(index, false),
        }
    }

    fn set_index_valid(&self, index: Oid, valid: bool) -> Result<()> {
        let key = [Datum::U32(index.0)];
        for mut row in self.rows.index_scan(indexes::PG_INDEX_INDEXRELID, &key)? {
            if row.bool("indisvalid")? != valid {
                row.set_bool("indisvalid", valid)?;
                self.rows.update(row)?;
            }
        }
        Ok(())
    }

    /// Makes an index valid once every partition has its own, and then perhaps the one above.
    fn complete_index(&self, index: Oid, table: &RelationDesc) -> Result<()> {
        for part in self.view.children(table.oid)? {
            let part = self.view.relation(part)?;
            let mut complete = false;
            for i in part.indexes.iter().filter(|i| i.is_valid) {
                complete |= self.view.relation(i.oid)?.parents.contains(&index);
            }
            if !complete {
                return Ok(());
            }
        }
        self.set_index_valid(index, true)?;
        let (own, above) = (self.view.relation(index)?, table.parents.first());
        match (own.parents.first(), above) {
            (Some(parent), Some(above)) if table.is_partition => {
                self.complete_index(*parent, &*self.view.relation(*above)?)
            }
            _ => Ok(()),
        }
    }
}

/// Where messages about a bound point.
fn place_of(bound: &PartitionBound) -> Option<u32> {
    match bound {
        PartitionBound::List { values, .. } => values.first().map(|e| e.pos),
        PartitionBound::Range { lower, .. } => lower.first().map(|e| e.pos),
        PartitionBound::Hash { pos, .. } => Some(*pos),
        PartitionBound::Default { pos } => Some(*pos),
    }
}

/// MINVALUE and MAXVALUE are columns of these names.
fn bound_word(e: &ast::Expr) -> Option<&str> {
    match &e.kind {
        ast::ExprKind::Column { parts, star: false } if parts.len() == 1 => {
            let name = parts[0].as_str();
            matches!(name, "minvalue" | "maxvalue").then_some(name)
        }
        _ => None,
    }
}
