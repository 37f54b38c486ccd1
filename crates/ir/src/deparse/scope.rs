//! What names a query's range table has while it is printed.

use super::columns::{EntryColumns, name_columns};
use super::plan::PlanScope;
use super::{Names, Printer, Relation, quote_ident};
use crate::expr::{Expr, ReturningKind, Var};
use crate::query::{Query, Rte, RteKind};
use std::collections::HashSet;
use std::rc::Rc;

/// Names of one level of range table.
#[derive(Clone)]
pub(super) struct Scope<'a> {
    pub rtable: &'a [Rte],
    /// The query whose range table it is.
    pub query: Option<&'a Query>,
    /// What columns of an entry are qualified with.
    pub tables: Rc<Vec<Option<String>>>,
    /// Names of an entry's columns.
    pub columns: Rc<Vec<Vec<String>>>,
    /// The entry's columns must be named in FROM.
    pub list_columns: Rc<Vec<bool>>,
    /// What FROM calls an entry's columns, those that came after the query included.
    pub listed_names: Rc<Vec<Vec<String>>>,
    /// Names that USING of an entry that is a join is printed with.
    pub using: Rc<Vec<Vec<String>>>,
    /// What a plan's special columns mean.
    pub plan: Option<PlanScope<'a>>,
    /// Names of old and new rows in RETURNING.
    pub old_new: (String, String),
}

impl<'a> Scope<'a> {
    fn with(tables: Vec<Option<String>>, columns: Vec<Vec<String>>) -> Scope<'a> {
        let list_columns = vec![false; columns.len()];
        Scope {
            rtable: &[],
            query: None,
            tables: Rc::new(tables),
            columns: Rc::new(columns),
            list_columns: Rc::new(list_columns),
            listed_names: Rc::default(),
            using: Rc::default(),
            plan: None,
            old_new: ("old".into(), "new".into()),
        }
    }

    /// A scope of nothing but these relations.
    pub fn of_relations(of: &[Relation]) -> Scope<'a> {
        Scope::with(
            of.iter().map(|r| Some(r.name.clone())).collect(),
            of.iter().map(|r| r.columns.clone()).collect(),
        )
    }

    /// The scope of a plan's range table. Only entries in `used` get a name; a name that an
    /// earlier entry has is made unique by a number.
    pub fn of_rtable(rtable: &'a [Rte], used: &HashSet<u32>, names: &dyn Names) -> Scope<'a> {
        let tables = table_names(rtable, |i| used.contains(&i), HashSet::new(), names);
        let columns = rtable.iter().map(|rte| column_names(rte, names)).collect();
        let mut scope = Scope::with(tables, columns);
        scope.rtable = rtable;
        scope
    }

    /// The scope of a query within outer ones, whose tables' names are taken.
    pub fn of_query(query: &'a Query, outer: &[Scope], names: &dyn Names) -> Scope<'a> {
        let taken = outer.iter().flat_map(|s| s.tables.iter().flatten().cloned()).collect();
        let tables = table_names(&query.rtable, |_| true, taken, names);
        let entries = name_columns(query, names);
        let columns = entries
            .iter()
            .map(|e| e.names.iter().map(|n| n.clone().unwrap_or_default()).collect())
            .collect();
        let mut scope = Scope::with(tables, columns);
        scope.rtable = &query.rtable;
        scope.query = Some(query);
        scope.list_columns = Rc::new(entries.iter().map(|e| e.listed).collect());
        let listed = |e: &EntryColumns| e.present.iter().map(|(n, _)| n.clone()).collect();
        scope.listed_names = Rc::new(entries.iter().map(listed).collect());
        scope.using = Rc::new(entries.into_iter().map(|e| e.using).collect());
        scope
    }
}

/// The name, or the first of it with a number behind that is not taken. A name stays within its
/// greatest length.
pub(super) fn unique_among(name: &str, taken: impl Fn(&str) -> bool) -> String {
    const LENGTH_MAX: usize = 63;
    let mut candidate = name.to_string();
    let mut n = 0;
    while taken(&candidate) {
        n += 1;
        let number = format!("_{n}");
        let keep = name.floor_char_boundary(LENGTH_MAX - number.len());
        candidate = format!("{}{number}", &name[..keep]);
    }
    candidate
}

fn unique(name: String, taken: &mut HashSet<String>) -> String {
    let name = unique_among(&name, |n| taken.contains(n));
    taken.insert(name.clone());
    name
}

/// Different names for the entries that `wanted` takes.
fn table_names(
    rtable: &[Rte],
    wanted: impl Fn(u32) -> bool,
    mut taken: HashSet<String>,
    names: &dyn Names,
) -> Vec<Option<String>> {
    let named = rtable.iter().enumerate().map(|(i, rte)| {
        let name = table_name(rte, names).filter(|_| wanted(i as u32 + 1));
        name.map(|n| unique(n, &mut taken))
    });
    named.collect()
}

fn table_name(rte: &Rte, names: &dyn Names) -> Option<String> {
    if let Some(alias) = &rte.alias {
        return Some(alias.name.clone());
    }
    match &rte.kind {
        RteKind::Relation { relid, .. } => {
            Some(names.relation(*relid).map_or_else(|| rte.eref.name.clone(), |n| n.name))
        }
        RteKind::Join { .. } | RteKind::Group { .. } => None,
        _ => Some(rte.eref.name.clone()),
    }
}

/// Names of an entry's columns in a plan.
fn column_names(rte: &Rte, names: &dyn Names) -> Vec<String> {
    let given = rte.alias.as_ref().map_or(&[][..], |a| &a.columns);
    let real = match &rte.kind {
        RteKind::Relation { relid, .. } => names.columns(*relid),
        _ => rte.eref.columns.clone(),
    };
    let real = if real.is_empty() { rte.eref.columns.clone() } else { real };
    let mut taken = HashSet::new();
    let mut own = Vec::new();
    // Aliases were given to the columns that were there then, dropped ones included.
    for (i, name) in real.iter().enumerate() {
        let name = match given.get(i) {
            Some(alias) if !name.is_empty() && !alias.is_empty() => alias,
            _ => name,
        };
        own.push(if name.is_empty() { String::new() } else { unique(name.clone(), &mut taken) });
    }
    own
}

/// Name of a system column.
fn system_column(attno: i16) -> &'static str {
    match attno {
        -1 => "ctid",
        -2 => "xmin",
        -3 => "cmin",
        -4 => "xmax",
        -5 => "cmax",
        _ => "tableoid",
    }
}

impl<'a> Printer<'a> {
    /// Prints a column and says what name it has. `top`: it is an output column by itself, where
    /// a whole row must not be expanded.
    pub(super) fn var(&mut self, var: &'a Var, top: bool) -> Option<String> {
        let plan = self.scope(var.levels_up).and_then(|s| s.plan.as_ref());
        let parent = plan.and_then(|p| p.parent_column(var));
        if let (Some(plan), None) = (plan, parent)
            && let Some((scope, expr)) = plan.resolve(var)
        {
            self.special_var(var.levels_up, scope, expr);
            return None;
        }
        let scope = self.scope(var.levels_up)?.clone();
        if let Some((varno, attno)) = parent {
            let index = varno as usize - 1;
            return self.plain_var(var, &scope, (index, index), attno, top);
        }
        let in_query = scope.plan.is_none() && !scope.rtable.is_empty();
        let (varno, attno) = if in_query && var.syn_no > 0 {
            (var.syn_no, var.syn_attno)
        } else {
            (var.varno, var.attno)
        };
        let index = (varno as usize).checked_sub(1)?;
        match scope.rtable.get(index).map(|r| &r.kind) {
            Some(RteKind::Group { exprs }) if attno > 0 => {
                let expr = exprs.get(attno as usize - 1)?;
                self.at_level(var.levels_up, |p| p.expr(expr, true));
                return None;
            }
            Some(RteKind::Join { alias_vars, .. }) if attno > 0 => {
                let unnamed = scope.tables[index].is_none();
                if let (true, Some(Expr::Var(v))) = (unnamed, alias_vars.get(attno as usize - 1)) {
                    let mut name = None;
                    self.at_level(var.levels_up, |p| name = p.var(v, top));
                    return name;
                }
            }
            _ => {}
        }
        let shown = scope.plan.as_ref().map_or(varno, |p| p.shown_as(varno));
        self.plain_var(var, &scope, (index, shown as usize - 1), attno, top)
    }

    fn plain_var(
        &mut self,
        var: &'a Var,
        scope: &Scope<'a>,
        (index, shown): (usize, usize),
        attno: i16,
        top: bool,
    ) -> Option<String> {
        let attno = Var::column_of_stored(attno).unwrap_or(attno);
        let name = match attno {
            0 => None,
            n if n < 0 => Some(system_column(n).to_string()),
            n => scope.columns.get(index).and_then(|c| c.get(n as usize - 1)).cloned(),
        };
        let name = name.filter(|n| !n.is_empty());
        let name = name.or_else(|| (attno > 0).then(|| "?dropped?column?".to_string()));
        let table = match var.returning {
            ReturningKind::Default => scope.tables.get(shown).cloned().flatten(),
            ReturningKind::Old => Some(scope.old_new.0.clone()),
            ReturningKind::New => Some(scope.old_new.1.clone()),
        };
        let qualified = self.prefix
            || name.is_none()
            || var.returning != ReturningKind::Default
            || (self.in_order_by && self.hidden_by_output(var, name.as_deref()));
        if let (true, Some(table)) = (qualified, &table) {
            self.put_ident(table);
            self.put(".");
        }
        match &name {
            Some(name) => self.put_ident(name),
            None => {
                self.put("*");
                if top {
                    let ty = self.names.type_name(var.ty, -1);
                    self.put("::");
                    self.put(&ty);
                }
            }
        }
        name
    }

    /// True if an output column of another meaning has this name, so that ORDER BY would take it.
    fn hidden_by_output(&self, var: &Var, name: Option<&str>) -> bool {
        let renamed = |i: usize| self.result_names.as_ref().and_then(|r| r.get(i).cloned());
        self.targets.iter().filter(|t| !t.junk).enumerate().any(|(i, t)| {
            let output = renamed(i).or_else(|| t.name.clone());
            let same = matches!(&t.expr, Expr::Var(v)
                if v.varno == var.varno && v.attno == var.attno && v.levels_up == var.levels_up);
            output.as_deref() == name && !same
        })
    }

    pub(super) fn scope(&self, levels_up: u32) -> Option<&Scope<'a>> {
        self.scopes.len().checked_sub(1 + levels_up as usize).map(|i| &self.scopes[i])
    }

    /// Runs `print` as if the scope so many levels out were the innermost.
    pub(super) fn at_level(&mut self, levels_up: u32, print: impl FnOnce(&mut Self)) {
        let keep = self.scopes.len() - levels_up as usize;
        let inner = self.scopes.split_off(keep);
        print(self);
        self.scopes.extend(inner);
    }

    /// The name that an entry's columns are qualified with, quoted.
    pub(super) fn table_name(&self, rtindex: u32) -> Option<String> {
        let scope = self.scopes.last()?;
        scope.tables.get(rtindex as usize - 1)?.as_deref().map(quote_ident)
    }
}
