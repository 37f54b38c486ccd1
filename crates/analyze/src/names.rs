//! Range tables and namespaces: which table and which column a name means.

use crate::state::{Analyzer, Kind, NsColumn, NsItem, State, loc};
use base::{Error, Oid, Result, err};
use catalog::{RelationDesc, oids};
use ir::{Alias, Expr, Location, ReturningKind, Rte, RteKind, RtePerms, Var, Written};
use parser::ast;

/// Rights as bits of `pg_class.relacl`.
pub(crate) mod rights {
    pub const INSERT: u32 = 1;
    pub const SELECT: u32 = 2;
    pub const UPDATE: u32 = 4;
    pub const DELETE: u32 = 8;
}

/// System columns: name, attribute number, type.
const SYSTEM_COLUMNS: [(&str, i16, Oid); 6] = [
    ("ctid", -1, oids::TID),
    ("xmin", -2, oids::XID),
    ("cmin", -3, oids::CID),
    ("xmax", -4, oids::XID),
    ("cmax", -5, oids::CID),
    ("tableoid", -6, oids::OID),
];

/// An entry with nothing but a kind and names.
pub(crate) fn new_rte(kind: RteKind, alias: Option<Alias>, eref: Alias) -> Rte {
    Rte {
        kind,
        alias,
        eref,
        lateral: false,
        in_from: true,
        perms: None,
        security_quals: Vec::new(),
    }
}

pub(crate) fn ns_column(varno: u32, attno: i16, ty: Oid, typmod: i32, collation: Oid) -> NsColumn {
    NsColumn {
        varno,
        attno,
        ty,
        typmod,
        collation,
        syn_no: varno,
        syn_attno: attno,
        returning: ReturningKind::Default,
        hidden: false,
    }
}

impl Analyzer<'_> {
    /// Adds an entry to the current level's range table.
    pub fn add_rte(&mut self, rte: Rte) -> u32 {
        let st = self.st();
        st.rtable.push(rte);
        st.nulling.push(Vec::new());
        st.rtable.len() as u32
    }

    /// A namespace item for an entry whose columns have these types; a type of 0 is dropped.
    pub fn ns_item(&self, rtindex: u32, eref: &Alias, cols: Vec<NsColumn>) -> NsItem {
        NsItem {
            name: eref.name.clone(),
            columns: eref.columns.clone(),
            rtindex,
            cols,
            rel_visible: true,
            cols_visible: true,
            lateral_only: false,
            lateral_ok: true,
            returning: ReturningKind::Default,
        }
    }

    /// The user's column aliases over the true names; too many are an error.
    pub fn alias_columns(
        &self,
        alias: Option<&ast::Alias>,
        own_name: &str,
        names: Vec<String>,
        dropped: &[bool],
        at: Location,
    ) -> Result<Alias> {
        let Some(alias) = alias else {
            return Ok(Alias { name: own_name.to_owned(), columns: names });
        };
        let mut given = alias.columns.iter();
        let mut columns = Vec::with_capacity(names.len());
        let mut available = 0;
        for (i, name) in names.into_iter().enumerate() {
            if dropped.get(i).copied().unwrap_or(false) {
                columns.push(String::new());
                continue;
            }
            available += 1;
            columns.push(given.next().cloned().unwrap_or(name));
        }
        if given.next().is_some() {
            let (name, count) = (&alias.name, alias.columns.len());
            let what = if own_name == "unnamed_join" { "join expression" } else { "table" };
            let _ = at;
            return Err(err!(
                INVALID_COLUMN_REFERENCE,
                "{what} \"{name}\" has {available} columns available but {count} columns specified"
            ));
        }
        Ok(Alias { name: alias.name.clone(), columns })
    }

    /// Adds a relation; the caller puts the item into the namespace.
    pub fn add_relation(
        &mut self,
        rel: &RelationDesc,
        alias: Option<&ast::Alias>,
        inherit: bool,
        in_from: bool,
        lock_mode: u8,
        required: u32,
        at: Location,
    ) -> Result<NsItem> {
        let names = rel
            .tuple
            .attrs
            .iter()
            .map(|a| if a.dropped { String::new() } else { a.name.to_string() })
            .collect();
        let dropped: Vec<bool> = rel.tuple.attrs.iter().map(|a| a.dropped).collect();
        let eref = self.alias_columns(alias, &rel.name, names, &dropped, at)?;
        let kind = RteKind::Relation {
            relid: rel.oid,
            relkind: rel.kind.as_u8() as char,
            lock_mode,
            inherit,
            sample: None,
            written: Written(at),
        };
        let mut rte = new_rte(kind, alias.map(user_alias), eref.clone());
        rte.in_from = in_from;
        rte.perms = Some(RtePerms { required, ..RtePerms::default() });
        let index = self.add_rte(rte);
        let cols = relation_columns(rel, index);
        Ok(self.ns_item(index, &eref, cols))
    }

    /// The relation a name means; 42P01 with the place if there is none.
    pub fn open_relation(&self, rel: &ast::RelName) -> Result<std::sync::Arc<RelationDesc>> {
        let at = loc(rel.pos);
        if let Some(database) = &rel.catalog
            && **database != *self.catalog().context().database_name
        {
            let schema = rel.schema.as_deref().unwrap_or_default();
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "cross-database references are not implemented: \"{database}.{schema}.{}\"",
                rel.name
            )
            .at(at));
        }
        // A schema that is missing is as good as one that lacks the relation.
        let missing = || match &rel.schema {
            Some(s) => err!(UNDEFINED_TABLE, "relation \"{s}.{}\" does not exist", rel.name).at(at),
            None => err!(UNDEFINED_TABLE, "relation \"{}\" does not exist", rel.name).at(at),
        };
        let found = self.catalog().relation_named(rel.schema.as_deref(), &rel.name);
        let found = found.map_err(|e| e.at(at)).and_then(|r| r.ok_or_else(missing));
        match found {
            Ok(found) => Ok(found),
            Err(error) if rel.schema.is_none() && self.is_future_cte(&rel.name) => {
                let name = &rel.name;
                Err(error
                    .detail(format!(
                        "There is a WITH item named \"{name}\", but it cannot be referenced from \
                         this part of the query."
                    ))
                    .hint(
                        "Use WITH RECURSIVE, or re-order the WITH items to remove forward \
                         references.",
                    ))
            }
            Err(error) => Err(error),
        }
    }

    fn is_future_cte(&self, name: &str) -> bool {
        self.states.iter().any(|s| s.future_ctes.iter().any(|f| f == name))
    }

    // Looking up tables.

    /// The item that a (qualified) table name means, and how many levels out it is.
    pub fn find_table(
        &mut self,
        schema: Option<&str>,
        name: &str,
        at: Location,
    ) -> Result<Option<(NsItem, u32)>> {
        let mut relid = Oid::INVALID;
        if let Some(schema) = schema {
            let Some(found) = self.catalog().relation_oid(Some(schema), name)? else {
                return Ok(None);
            };
            relid = found;
        }
        for up in 0..self.states.len() as u32 {
            let st = &self.states[self.states.len() - 1 - up as usize];
            let mut found: Option<&NsItem> = None;
            for item in &st.namespace {
                if !item.rel_visible || (item.lateral_only && !st.lateral_active) {
                    continue;
                }
                let hit = if relid.is_valid() {
                    let rte = &st.rtable[item.rtindex as usize - 1];
                    rte.alias.is_none()
                        && item.returning == ReturningKind::Default
                        && matches!(rte.kind, RteKind::Relation { relid: r, .. } if r == relid)
                } else {
                    item.name == name
                };
                if !hit {
                    continue;
                }
                if found.is_some() {
                    let shown =
                        if relid.is_valid() { relid.to_string() } else { format!("\"{name}\"") };
                    return Err(
                        err!(AMBIGUOUS_ALIAS, "table reference {shown} is ambiguous").at(at)
                    );
                }
                self.check_lateral(st, item, at)?;
                found = Some(item);
            }
            if let Some(item) = found {
                return Ok(Some((item.clone(), up)));
            }
        }
        Ok(None)
    }

    fn check_lateral(&self, st: &State, item: &NsItem, at: Location) -> Result<()> {
        if !item.lateral_only || item.lateral_ok {
            return Ok(());
        }
        let name = &item.name;
        let error = err!(
            INVALID_COLUMN_REFERENCE,
            "invalid reference to FROM-clause entry for table \"{name}\""
        );
        let is_target = st.target.as_ref().is_some_and(|t| t.rtindex == item.rtindex);
        let error = if is_target {
            error.hint(format!(
                "There is an entry for table \"{name}\", but it cannot be referenced from this \
                 part of the query."
            ))
        } else {
            error.detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
        };
        Err(error.at(at))
    }

    // Looking up columns.

    /// A column by its name alone.
    pub fn find_column(&mut self, name: &str, at: Location) -> Result<Option<Expr>> {
        for up in 0..self.states.len() as u32 {
            if let Some(found) = self.find_column_at(up, name, at)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// A column of the current level by its name alone.
    pub fn find_local_column(&mut self, name: &str, at: Location) -> Result<Option<Expr>> {
        self.find_column_at(0, name, at)
    }

    fn find_column_at(&mut self, up: u32, name: &str, at: Location) -> Result<Option<Expr>> {
        let level = self.states.len() - 1 - up as usize;
        let lateral_active = self.states[level].lateral_active;
        let mut found = None;
        for i in 0..self.states[level].namespace.len() {
            let item = &self.states[level].namespace[i];
            if !item.cols_visible || (item.lateral_only && !lateral_active) {
                continue;
            }
            let Some(column) = self.column_in(item, up, name, at)? else { continue };
            if found.is_some() {
                return Err(
                    err!(AMBIGUOUS_COLUMN, "column reference \"{name}\" is ambiguous").at(at)
                );
            }
            self.check_lateral(&self.states[level], item, at)?;
            found = Some((i, column));
        }
        let Some((i, column)) = found else { return Ok(None) };
        let item = self.states[level].namespace[i].clone();
        self.column_var(&item, up, column, at).map(Some)
    }

    /// The number of a column of an item: an index from 1, or that of a system column.
    fn column_in(&self, item: &NsItem, up: u32, name: &str, at: Location) -> Result<Option<i16>> {
        let mut found = None;
        for (i, column) in item.columns.iter().enumerate() {
            if column == name && !name.is_empty() {
                if found.is_some() {
                    let message = "column reference";
                    return Err(err!(AMBIGUOUS_COLUMN, "{message} \"{name}\" is ambiguous").at(at));
                }
                found = Some(i as i16 + 1);
            }
        }
        if found.is_some() {
            return Ok(found);
        }
        let st = &self.states[self.states.len() - 1 - up as usize];
        let rte = &st.rtable[item.rtindex as usize - 1];
        let RteKind::Relation { relkind, .. } = &rte.kind else { return Ok(None) };
        if *relkind == 'c' {
            return Ok(None);
        }
        let system = SYSTEM_COLUMNS.iter().find(|c| c.0 == name);
        // A view has none but tableoid, which is refused when it is run.
        Ok(system.filter(|_| *relkind != 'v').map(|c| c.1))
    }

    /// A column of one item by name.
    pub fn item_column(
        &mut self,
        item: &NsItem,
        up: u32,
        name: &str,
        at: Location,
    ) -> Result<Option<Expr>> {
        match self.column_in(item, up, name, at)? {
            Some(number) => self.column_var(item, up, number, at).map(Some),
            None => Ok(None),
        }
    }

    /// The Var for a column of an item; it is noted as read.
    pub fn column_var(
        &mut self,
        item: &NsItem,
        up: u32,
        number: i16,
        at: Location,
    ) -> Result<Expr> {
        let mut var;
        if number < 0 {
            let &(name, attno, ty) =
                SYSTEM_COLUMNS.iter().find(|c| c.1 == number).unwrap_or(&SYSTEM_COLUMNS[0]);
            let kind = self.cur().kind;
            if kind == Kind::CheckConstraint && attno != -6 {
                return Err(err!(
                    INVALID_COLUMN_REFERENCE,
                    "system column \"{name}\" reference in check constraint is invalid"
                )
                .at(at));
            }
            if kind == Kind::GeneratedColumn && attno != -6 {
                return Err(err!(
                    INVALID_COLUMN_REFERENCE,
                    "cannot use system column \"{name}\" in column generation expression"
                )
                .at(at));
            }
            if kind == Kind::MergeWhen && attno != -6 {
                return Err(err!(
                    INVALID_COLUMN_REFERENCE,
                    "cannot use system column \"{name}\" in MERGE WHEN condition"
                )
                .at(at));
            }
            var = Var::new(item.rtindex, attno, ty, -1, Oid::INVALID);
            var.returning = item.returning;
        } else {
            let column = &item.cols[number as usize - 1];
            if column.varno == 0 {
                return Err(Error::internal("a dropped column was found by name"));
            }
            var = Var::new(column.varno, column.attno, column.ty, column.typmod, column.collation);
            var.syn_no = column.syn_no;
            var.syn_attno = column.syn_attno;
            var.returning = column.returning;
        }
        var.levels_up = up;
        var.location = at;
        self.note_nulling(&mut var);
        self.note_read(&var);
        Ok(Expr::Var(var))
    }

    /// The outer joins that may null a column go with it.
    pub fn note_nulling(&mut self, var: &mut Var) {
        let st = self.level(var.levels_up);
        if let Some(rels) = st.nulling.get(var.varno as usize - 1) {
            var.nulling_rels = rels.clone();
        }
    }

    /// Rights to read a column are needed where it comes from.
    pub fn note_read(&mut self, var: &Var) {
        let st = self.level(var.levels_up);
        let Some(rte) = st.rtable.get_mut(var.varno as usize - 1) else { return };
        match &mut rte.kind {
            RteKind::Relation { .. } => {
                if let Some(perms) = &mut rte.perms {
                    perms.required |= rights::SELECT;
                    if let Err(at) = perms.selected.binary_search(&var.attno) {
                        perms.selected.insert(at, var.attno);
                    }
                }
            }
            RteKind::Join { alias_vars, .. } => {
                let mut inner = Vec::new();
                let wanted = match var.attno {
                    0 => alias_vars.iter().collect::<Vec<_>>(),
                    n => alias_vars.get(n as usize - 1).into_iter().collect(),
                };
                for e in wanted {
                    ir::walk::each(e, &mut |e| {
                        if let Expr::Var(v) = e {
                            inner.push(Var { levels_up: var.levels_up, ..v.clone() });
                        }
                    });
                }
                for v in inner {
                    self.note_read(&v);
                }
            }
            _ => {}
        }
    }

    /// The whole row of an item.
    pub fn whole_row(&mut self, item: &NsItem, up: u32, at: Location) -> Result<Expr> {
        let st = &self.states[self.states.len() - 1 - up as usize];
        let rte = &st.rtable[item.rtindex as usize - 1];
        // An alias of USING names only the merged columns: a row made of them.
        if item.cols.len() != rte.eref.columns.len() && matches!(rte.kind, RteKind::Join { .. }) {
            let names = item.columns.clone();
            let mut args = Vec::with_capacity(item.cols.len());
            for n in 1..=item.cols.len() as i16 {
                args.push(self.column_var(item, up, n, at)?);
            }
            return Ok(Expr::Row(Box::new(ir::RowExpr {
                ty: oids::RECORD,
                args,
                form: ir::CoercionForm::ImplicitCast,
                names,
                location: at,
            })));
        }
        let ty = match &rte.kind {
            RteKind::Relation { relid, .. } => {
                let row = self.catalog().relation(*relid)?.row_type;
                if row.is_valid() { row } else { oids::RECORD }
            }
            RteKind::Function { functions, ordinality: false } if functions.len() == 1 => {
                let ty = functions[0].expr.ty();
                let composite = self.is_composite(ty)?;
                // A function of one plain column is that column.
                if composite {
                    ty
                } else if functions[0].col_names.is_empty() && ty != oids::RECORD {
                    return self.column_var(item, up, 1, at);
                } else {
                    oids::RECORD
                }
            }
            _ => oids::RECORD,
        };
        let mut var = Var::new(item.rtindex, 0, ty, -1, Oid::INVALID);
        var.levels_up = up;
        var.location = at;
        var.returning = item.returning;
        self.note_nulling(&mut var);
        self.note_read(&var);
        Ok(Expr::Var(var))
    }

    // Expanding `*`.

    /// All columns of an item with their names.
    pub fn expand_item(
        &mut self,
        item: &NsItem,
        up: u32,
        at: Location,
    ) -> Result<Vec<(String, Expr)>> {
        let mut list = Vec::with_capacity(item.cols.len());
        for i in 0..item.cols.len() {
            if item.cols[i].varno != 0 && !item.cols[i].hidden {
                let var = self.column_var(item, up, i as i16 + 1, at)?;
                list.push((item.columns[i].clone(), var));
            }
        }
        let index = item.rtindex as usize - 1;
        if let Some(perms) = &mut self.level(up).rtable[index].perms {
            perms.required |= rights::SELECT;
        }
        Ok(list)
    }

    /// The fields of a whole-row Var, for ROW(t.*) and coercions of rows.
    pub fn expand_row_var(&mut self, var: &Var) -> Result<Vec<Expr>> {
        let st = self.level(var.levels_up);
        let item = st.namespace.iter().find(|i| i.rtindex == var.varno).cloned();
        match item {
            Some(item) => {
                let list = self.expand_item(&item, var.levels_up, var.location)?;
                Ok(list.into_iter().map(|(_, e)| e).collect())
            }
            None => Err(Error::internal("a row of a table that is not visible")),
        }
    }

    // Errors.

    /// The error for a column that is not there.
    pub fn missing_column(&self, table: Option<&str>, name: &str, at: Location) -> Error {
        let error = match table {
            Some(t) => err!(UNDEFINED_COLUMN, "column {t}.{name} does not exist"),
            None => err!(UNDEFINED_COLUMN, "column \"{name}\" does not exist"),
        };
        self.column_hint(error, table, name).at(at)
    }

    fn column_hint(&self, error: Error, table: Option<&str>, name: &str) -> Error {
        let mut exact: Vec<(&Rte, bool)> = Vec::new();
        let mut best = 3 + 1;
        let mut near: Vec<(&str, &str)> = Vec::new();
        for st in self.states.iter().rev() {
            for (i, rte) in st.rtable.iter().enumerate() {
                if matches!(rte.kind, RteKind::Join { .. }) && rte.alias.is_none() {
                    continue;
                }
                let penalty = match table {
                    Some(t) => distance(t, &rte.eref.name, 3),
                    None => 0,
                };
                let system = SYSTEM_COLUMNS.iter().any(|c| c.0 == name);
                if system && penalty == 0 && matches!(rte.kind, RteKind::Relation { .. }) {
                    exact.push((rte, false));
                }
                for column in rte.eref.columns.iter().filter(|c| !c.is_empty()) {
                    if column == name && penalty == 0 {
                        let lateral = !st.lateral_active
                            && st.namespace.iter().any(|n| {
                                n.rtindex as usize == i + 1 && n.lateral_only && n.lateral_ok
                            });
                        exact.push((rte, lateral));
                    }
                    let d = distance(name, column, 3) + penalty;
                    if d > 3 || d > name.chars().count() / 2 {
                        continue;
                    }
                    if d < best {
                        best = d;
                        near.clear();
                    }
                    if d == best {
                        near.push((&rte.eref.name, column));
                    }
                }
            }
        }
        match exact.as_slice() {
            [] => {}
            [(rte, lateral)] => {
                let t = &rte.eref.name;
                let error = error.detail(format!(
                    "There is a column named \"{name}\" in table \"{t}\", but it cannot be \
                     referenced from this part of the query."
                ));
                return if *lateral {
                    error
                        .hint("To reference that column, you must mark this subquery with LATERAL.")
                } else if table.is_none() && self.table_is_visible(t) {
                    error.hint("To reference that column, you must use a table-qualified name.")
                } else {
                    error
                };
            }
            _ => {
                return error
                    .detail(format!(
                        "There are columns named \"{name}\", but they are in tables that cannot \
                         be referenced from this part of the query."
                    ))
                    .hint("Try using a table-qualified name.");
            }
        }
        match near.as_slice() {
            [(t, c)] => {
                error.hint(format!("Perhaps you meant to reference the column \"{t}.{c}\"."))
            }
            [(t, c), (t2, c2)] => error.hint(format!(
                "Perhaps you meant to reference the column \"{t}.{c}\" or the column \"{t2}.{c2}\"."
            )),
            _ => error,
        }
    }

    fn table_is_visible(&self, name: &str) -> bool {
        self.states.iter().any(|s| s.namespace.iter().any(|i| i.rel_visible && i.name == name))
    }

    /// The error for a table name that FROM does not have.
    pub fn missing_table(&self, schema: Option<&str>, name: &str, at: Location) -> Error {
        let shown = match schema {
            Some(s) => format!("{s}.{name}"),
            None => name.to_owned(),
        };
        let relid = self.catalog().relation_oid(schema, name).ok().flatten();
        let mut by_name = None;
        let mut by_relation = None;
        for (depth, st) in self.states.iter().rev().enumerate() {
            for (i, rte) in st.rtable.iter().enumerate() {
                if schema.is_none() && rte.eref.name == name && by_name.is_none() {
                    by_name = Some((depth, i, rte));
                }
                if let RteKind::Relation { relid: r, .. } = rte.kind
                    && Some(r) == relid
                    && by_relation.is_none()
                {
                    by_relation = Some((depth, i, rte));
                }
            }
        }
        let invalid = || {
            err!(UNDEFINED_TABLE, "invalid reference to FROM-clause entry for table \"{shown}\"")
        };
        if let Some((_, _, rte)) = by_relation
            && rte.alias.is_some()
            && rte.eref.name != name
            && self.table_is_visible(&rte.eref.name)
        {
            let alias = &rte.eref.name;
            return invalid()
                .hint(format!("Perhaps you meant to reference the table alias \"{alias}\"."))
                .at(at);
        }
        if let Some((depth, i, rte)) = by_name.or(by_relation) {
            let st = &self.states[self.states.len() - 1 - depth];
            let lateral = st
                .namespace
                .iter()
                .any(|n| n.rtindex as usize == i + 1 && n.lateral_only && n.lateral_ok);
            let error = invalid().detail(format!(
                "There is an entry for table \"{}\", but it cannot be referenced from this part \
                 of the query.",
                rte.eref.name
            ));
            return if lateral {
                error.hint("To reference that table, you must mark this subquery with LATERAL.")
            } else {
                error
            }
            .at(at);
        }
        err!(UNDEFINED_TABLE, "missing FROM-clause entry for table \"{shown}\"").at(at)
    }
}

/// An alias as the user wrote it.
pub(crate) fn user_alias(alias: &ast::Alias) -> Alias {
    Alias { name: alias.name.clone(), columns: alias.columns.clone() }
}

/// What a relation's columns are as namespace columns.
pub(crate) fn relation_columns(rel: &RelationDesc, index: u32) -> Vec<NsColumn> {
    rel.tuple
        .attrs
        .iter()
        .enumerate()
        .map(|(i, a)| {
            let varno = if a.dropped { 0 } else { index };
            ns_column(varno, i as i16 + 1, a.type_oid, a.typmod, a.collation)
        })
        .collect()
}

/// Levenshtein distance, at most `max + 1`.
fn distance(a: &str, b: &str, max: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > max {
        return max + 1;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let cost = diagonal + (ca != cb) as usize;
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()].min(max + 1)
}
