//! A table that rows are written to: its constraints, generated columns and indexes, compiled.

use crate::compile::PlanCompiler;
use crate::expr::{Prog, RowInput, VarMap};
use crate::node::scan::relation_of;
use crate::run::Run;
use access::ExecTxn;
use access::heap::HeapRel;
use access::index::{IndexRel, InsertOutcome, UniqueCheck};
use base::{Error, Oid, Result, Tid, err};
use catalog::{IndexDesc, OpenRelation, RelationDesc};
use std::sync::Arc;
use types::{Datum, io};

/// Where a column of an index comes from.
enum Source {
    Column(usize),
    Expr(Prog),
}

/// An index to keep up.
pub(crate) struct IndexProg {
    pub desc: Arc<IndexDesc>,
    pub rel: Arc<IndexRel>,
    columns: Vec<Source>,
    predicate: Option<Prog>,
}

/// A table that rows are written to.
pub(crate) struct ResultRel {
    pub rti: u32,
    pub rel: Arc<RelationDesc>,
    pub open: Arc<OpenRelation>,
    not_null: Vec<usize>,
    /// The same of columns that are computed when they are read.
    computed_not_null: Vec<(usize, Prog)>,
    checks: Vec<(String, Prog)>,
    /// Stored generated columns.
    generated: Vec<(usize, Prog)>,
    /// Of a partition: which rows are its own.
    belonging: Option<super::route::Belonging>,
    pub indexes: Vec<IndexProg>,
    /// It has triggers or takes part in foreign keys.
    pub hooked: bool,
    pub namespace: String,
    /// The table that the statement names, if it is one above, and where its columns are in rows
    /// of this one: messages show rows as its.
    pub root: Option<(Arc<RelationDesc>, Option<Vec<Option<usize>>>)>,
}

/// A stored expression.
pub(crate) fn stored(text: &str) -> Result<ir::Expr> {
    serde_json::from_str(text).map_err(|e| err!(INTERNAL_ERROR, "stored expression: {e}"))
}

/// An expression of a table with `tableoid` as what it is for this one.
pub(crate) fn of_table(mut e: ir::Expr, rel: &RelationDesc) -> ir::Expr {
    const TABLE_OID: i16 = -6;
    ir::walk::transform(&mut e, &mut |e| {
        if matches!(e, ir::Expr::Var(v) if v.attno == TABLE_OID && v.levels_up == 0) {
            *e = ir::Expr::Const(ir::Const {
                ty: types::oid::OID,
                typmod: -1,
                collation: Oid::INVALID,
                value: Datum::U32(rel.oid.0),
                location: None,
            });
        }
    });
    e
}

impl ResultRel {
    pub fn compile(c: &mut PlanCompiler, rti: u32) -> Result<ResultRel> {
        let (rel, _) = relation_of(c, rti)?;
        ResultRel::compile_rel(c, rti, rel)
    }

    /// As [`ResultRel::compile`], of a table that need not be in the range table.
    pub fn compile_rel(
        c: &mut PlanCompiler,
        rti: u32,
        rel: Arc<RelationDesc>,
    ) -> Result<ResultRel> {
        rel.check_handler()?;
        let open = Arc::clone(rel.open(c.storage()?, c.ec.catalog)?);
        let belonging = match rel.is_partition {
            true => super::route::Belonging::compile(c, &rel)?,
            false => None,
        };
        let natts = rel.tuple.natts();
        let map = VarMap::default().and(1, 0, natts);
        let attrs = rel.tuple.attrs.iter().enumerate();
        let computed = catalog::computed::Computed::of(&rel)?;
        let (mut not_null, mut computed_not_null) = (Vec::new(), Vec::new());
        for (i, a) in attrs.clone().filter(|(_, a)| a.not_null && !a.dropped) {
            let n = i as i16 + 1;
            let column = ir::Var::new(1, n, a.type_oid, a.typmod, a.collation);
            match computed.as_ref().and_then(|c| c.value_of(&column)) {
                Some(e) => computed_not_null.push((i, c.ec.expr(&of_table(e, &rel), &map)?)),
                None => not_null.push(i),
            }
        }
        let mut checks = Vec::new();
        for k in rel.constraints.iter().filter(|k| k.kind == b'c' && k.enforced) {
            if let Some(text) = &k.expr {
                let mut check = stored(text)?;
                if let Some(computed) = &computed {
                    computed.expand(&mut check);
                }
                let check = of_table(check, &rel);
                checks.push((k.name.to_string(), c.ec.expr(&check, &map)?));
            }
        }
        let mut generated = Vec::new();
        for (i, _) in attrs.filter(|(_, a)| a.generated == b's' && !a.dropped) {
            if let Some(text) = rel.default_of(i as i16 + 1) {
                let value = of_table(stored(text)?, &rel);
                generated.push((i, c.ec.expr(&value, &map)?));
            }
        }
        let mut indexes = Vec::new();
        for (desc, index) in rel.indexes.iter().zip(&open.indexes) {
            if desc.is_ready {
                indexes.push(IndexProg::compile(c, desc, index, &map)?);
            }
        }
        let hooked = !rel.triggers.is_empty()
            || !rel.referenced_by.is_empty()
            || rel.constraints.iter().any(|k| k.kind == b'f');
        let namespace = c.ec.catalog.namespace(rel.namespace)?.name.to_string();
        Ok(ResultRel {
            rti,
            rel,
            open,
            not_null,
            computed_not_null,
            checks,
            generated,
            belonging,
            indexes,
            hooked,
            namespace,
            root: None,
        })
    }

    pub fn heap(&self) -> &Arc<HeapRel> {
        &self.open.heap
    }

    pub fn natts(&self) -> usize {
        self.rel.tuple.natts()
    }

    /// Computes the stored generated columns of a new row.
    #[inline]
    pub fn generate(&self, run: &mut Run, row: &mut [Datum]) -> Result<()> {
        for (i, prog) in &self.generated {
            row[*i] = prog.eval(run, RowInput::Row(row))?;
        }
        Ok(())
    }

    /// Fails if a row is not one of this partition.
    pub fn check_belongs(&self, run: &mut Run, row: &[Datum]) -> Result<()> {
        let Some(b) = &self.belonging else { return Ok(()) };
        if b.holds(run, row)? {
            return Ok(());
        }
        let table = &self.rel.name;
        Err(err!(CHECK_VIOLATION, "new row for relation \"{table}\" violates partition constraint")
            .detail(self.failing_row(run, row))
            .table(&*self.namespace, &**table))
    }

    /// True if a row is one of this partition.
    pub fn belongs(&self, run: &mut Run, row: &[Datum]) -> Result<bool> {
        match &self.belonging {
            Some(b) => b.holds(run, row),
            None => Ok(true),
        }
    }

    /// NOT NULL and CHECK constraints.
    #[inline]
    pub fn check(&self, run: &mut Run, row: &[Datum]) -> Result<()> {
        for i in &self.not_null {
            if row[*i].is_null() {
                return Err(self.null_violation(run, row, *i));
            }
        }
        for (i, prog) in &self.computed_not_null {
            if prog.eval(run, RowInput::Row(row))?.is_null() {
                return Err(self.null_violation(run, row, *i));
            }
        }
        for (name, prog) in &self.checks {
            if matches!(prog.eval(run, RowInput::Row(row))?, Datum::Bool(false)) {
                let table = &self.rel.name;
                return Err(err!(
                    CHECK_VIOLATION,
                    "new row for relation \"{table}\" violates check constraint \"{name}\""
                )
                .detail(self.failing_row(run, row))
                .table(&*self.namespace, &*self.rel.name)
                .constraint(name.clone()));
            }
        }
        Ok(())
    }

    #[cold]
    fn null_violation(&self, run: &Run, row: &[Datum], i: usize) -> Error {
        let (table, column) = (&self.rel.name, &self.rel.tuple.attrs[i].name);
        err!(
            NOT_NULL_VIOLATION,
            "null value in column \"{column}\" of relation \"{table}\" violates not-null constraint"
        )
        .detail(self.failing_row(run, row))
        .table(&*self.namespace, &**table)
        .column(&**column)
    }

    /// `Failing row contains (...).`, in the columns of the table that the statement names.
    #[cold]
    pub fn failing_row(&self, run: &Run, row: &[Datum]) -> String {
        match &self.root {
            None => failing_row(run, &self.rel, row),
            Some((root, map)) => failing_row(run, root, &super::route::mapped(map, row)),
        }
    }

    /// Adds a row's entries to all indexes. `arbiters` are indexes whose conflicts are returned
    /// rather than raised; they come first.
    pub fn insert_entries(
        &self,
        run: &mut Run,
        x: &ExecTxn<'_>,
        row: &[Datum],
        tid: Tid,
        arbiters: &[Oid],
    ) -> Result<Option<Tid>> {
        if self.indexes.is_empty() {
            return Ok(None);
        }
        for first in [true, false] {
            for index in &self.indexes {
                let is_arbiter = arbiters.contains(&index.desc.oid);
                if is_arbiter != first {
                    continue;
                }
                if let Some(other) = self.insert_entry(run, x, index, row, tid)? {
                    if is_arbiter {
                        return Ok(Some(other));
                    }
                    let values = index.values(run, row)?;
                    return Err(self.unique_violation(run, index, &values, other));
                }
            }
        }
        Ok(None)
    }

    #[inline]
    fn insert_entry(
        &self,
        run: &mut Run,
        x: &ExecTxn<'_>,
        index: &IndexProg,
        row: &[Datum],
        tid: Tid,
    ) -> Result<Option<Tid>> {
        if !index.wants(run, row)? {
            return Ok(None);
        }
        let values = index.values(run, row)?;
        let unique = index.desc.is_unique || index.desc.is_exclusion;
        let check = match (unique, index.desc.is_immediate) {
            (false, _) => UniqueCheck::No,
            (true, true) => UniqueCheck::Yes,
            (true, false) => UniqueCheck::Partial,
        };
        let storage = run.cx.storage()?;
        let mut probe = self.heap().probe(x);
        let am = index.rel.am();
        match am.insert(storage, &index.rel, &values, tid, check, &mut probe)? {
            InsertOutcome::Unique => Ok(None),
            InsertOutcome::Conflict(other) => Ok(Some(other)),
            InsertOutcome::MaybeConflict => {
                run.cx.hooks.defer_unique(&self.rel, index.desc.oid, tid)?;
                Ok(None)
            }
        }
    }

    /// `duplicate key value violates unique constraint`
    #[cold]
    pub fn unique_violation(
        &self,
        run: &mut Run,
        index: &IndexProg,
        values: &[Datum],
        other: Tid,
    ) -> Error {
        let name = &index.desc.name;
        if index.desc.is_exclusion {
            return self.exclusion_violation(run, index, values, other);
        }
        let e = err!(UNIQUE_VIOLATION, "duplicate key value violates unique constraint \"{name}\"");
        let keys = &index.desc.columns[..index.desc.n_keys as usize];
        let shown = match run.cx.hooks.readable_columns(&self.rel) {
            None => true,
            Some(readable) => keys.iter().all(|n| readable.contains(n)),
        };
        let e = match shown {
            true => e.detail(format!("{} already exists.", self.key_text(run, index, values))),
            false => e,
        };
        e.table(&*self.namespace, &*self.rel.name).constraint(&**name)
    }

    /// `conflicting key value violates exclusion constraint`
    fn exclusion_violation(
        &self,
        run: &mut Run,
        index: &IndexProg,
        values: &[Datum],
        other: Tid,
    ) -> Error {
        let name = &index.desc.name;
        let text = format!("conflicting key value violates exclusion constraint \"{name}\"");
        let mut e = Error::new(base::SqlState::EXCLUSION_VIOLATION, text);
        let there = super::recheck::fetch_any(run, self.heap(), other)
            .and_then(|row| index.values(run, &row));
        if let (Ok(there), None) = (there, run.cx.hooks.readable_columns(&self.rel)) {
            let key = self.key_text(run, index, values);
            let there = self.key_text(run, index, &there);
            let there = there.trim_start_matches("Key ");
            e = e.detail(format!("{key} conflicts with existing key {there}."));
        }
        e.table(&*self.namespace, &*self.rel.name).constraint(&**name)
    }

    /// Looks again at the key of a row that was perhaps not unique when the row was stored.
    pub fn recheck_unique(
        &self,
        run: &mut Run,
        x: &ExecTxn<'_>,
        index: Oid,
        tid: Tid,
    ) -> Result<()> {
        let Some(index) = self.indexes.iter().find(|i| i.desc.oid == index) else {
            return Ok(());
        };
        let mut row = vec![Datum::Null; self.natts()];
        let storage = run.cx.storage()?;
        let viewer = access::heap::Viewer::mvcc(storage, x.snapshot);
        let found = self.heap().fetch(tid, &viewer, &mut row)?;
        if !matches!(found, access::heap::Found::Row(_)) || !index.wants(run, &row)? {
            return Ok(());
        }
        let values = index.values(run, &row)?;
        let mut probe = self.heap().probe(x);
        let am = index.rel.am();
        match am.find_conflict(storage, &index.rel, &values, tid, &mut probe)? {
            None => Ok(()),
            Some(other) => Err(self.unique_violation(run, index, &values, other)),
        }
    }

    /// `Key (a, b)=(1, 2)`
    fn key_text(&self, run: &Run, index: &IndexProg, values: &[Datum]) -> String {
        let (mut names, mut texts) = (Vec::new(), Vec::new());
        for (i, value) in values.iter().enumerate().take(index.desc.n_keys as usize) {
            names.push(match index.desc.columns[i] {
                0 => index.desc.tuple.attrs[i].name.to_string(),
                n => quoted(&self.rel.tuple.attrs[n as usize - 1].name),
            });
            texts.push(match value {
                Datum::Null => "null".to_string(),
                v => text_of(run, index.desc.tuple.attrs[i].type_oid, v),
            });
        }
        let mut names = names.join(", ");
        if index.desc.columns[..index.desc.n_keys as usize].contains(&0)
            && let Ok(text) = run.cx.hooks.key_columns(index.desc.oid)
        {
            names = text;
        }
        format!("Key ({names})=({})", texts.join(", "))
    }
}

/// A name in double quotes if it needs them.
fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The columns that the statement itself sets, by name: who sets them knows them.
fn set_columns(run: &Run) -> Vec<String> {
    let mut names = Vec::new();
    for rte in &run.stmt.plan().rtable {
        let (ir::RteKind::Relation { relid, .. }, Some(perms)) = (&rte.kind, &rte.perms) else {
            continue;
        };
        let Ok(rel) = run.cx.catalog.relation(*relid) else { continue };
        for n in perms.inserted.iter().chain(&perms.updated).filter(|n| **n > 0) {
            if let Some(attr) = rel.tuple.attrs.get(*n as usize - 1) {
                names.push(attr.name.to_string());
            }
        }
    }
    names
}

/// `Failing row contains (...).` Who may not read the whole row is shown what may be read, and
/// what the statement sets; nothing if there is none.
#[cold]
pub(crate) fn failing_row(run: &Run, rel: &RelationDesc, row: &[Datum]) -> String {
    if run.cx.hooks.hides_rows(rel) {
        return String::new();
    }
    let readable = run.cx.hooks.readable_columns(rel);
    let set = match &readable {
        Some(_) => set_columns(run),
        None => Vec::new(),
    };
    let (mut parts, mut names) = (Vec::new(), Vec::new());
    for (i, (attr, value)) in rel.tuple.attrs.iter().zip(row).enumerate() {
        if attr.dropped {
            continue;
        }
        if let Some(readable) = &readable {
            if !readable.contains(&(i as i16 + 1)) && !set.iter().any(|n| **n == *attr.name) {
                continue;
            }
            names.push(attr.name.to_string());
        }
        parts.push(match value {
            _ if attr.generated == b'v' => "virtual".to_string(),
            Datum::Null => "null".to_string(),
            v => shorten(text_of(run, attr.type_oid, v), 64),
        });
    }
    match readable {
        None => format!("Failing row contains ({}).", parts.join(", ")),
        Some(_) if names.is_empty() => String::new(),
        Some(_) => {
            let names = names.join(", ");
            format!("Failing row contains ({names}) = ({}).", parts.join(", "))
        }
    }
}

/// A value's text form; best effort, for messages.
fn text_of(run: &Run, ty: Oid, value: &Datum) -> String {
    let mut out = Vec::new();
    let written = io::output(ty, value, &run.env.io(), &mut out);
    match written {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(_) => "?".to_string(),
    }
}

/// At most `most` bytes, with dots for the rest.
fn shorten(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    format!("{}...", &text[..end])
}

impl IndexProg {
    fn compile(
        c: &mut PlanCompiler,
        desc: &Arc<IndexDesc>,
        rel: &Arc<IndexRel>,
        map: &VarMap,
    ) -> Result<IndexProg> {
        let mut exprs = match &desc.exprs {
            Some(text) => serde_json::from_str::<Vec<ir::Expr>>(text)
                .map_err(|e| err!(INTERNAL_ERROR, "stored expressions: {e}"))?,
            None => Vec::new(),
        }
        .into_iter();
        let mut columns = Vec::with_capacity(desc.columns.len());
        for n in &desc.columns {
            columns.push(match n {
                0 => {
                    let e = exprs.next();
                    let e = e.ok_or_else(|| Error::internal("an index lacks an expression"))?;
                    Source::Expr(c.ec.expr(&e, map)?)
                }
                n => Source::Column(*n as usize - 1),
            });
        }
        let predicate = match &desc.predicate {
            Some(text) => Some(c.ec.expr(&stored(text)?, map)?),
            None => None,
        };
        Ok(IndexProg { desc: Arc::clone(desc), rel: Arc::clone(rel), columns, predicate })
    }

    /// Whether the index has an entry for the row.
    #[inline]
    pub fn wants(&self, run: &mut Run, row: &[Datum]) -> Result<bool> {
        match &self.predicate {
            None => Ok(true),
            Some(p) => p.is_true(run, RowInput::Row(row)),
        }
    }

    /// The index's columns of a row.
    #[inline]
    pub fn values(&self, run: &mut Run, row: &[Datum]) -> Result<Vec<Datum>> {
        let mut out = Vec::with_capacity(self.columns.len());
        for source in &self.columns {
            out.push(match source {
                Source::Column(i) => row[*i].clone(),
                Source::Expr(prog) => prog.eval(run, RowInput::Row(row))?,
            });
        }
        Ok(out)
    }
}
