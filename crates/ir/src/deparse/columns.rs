//! Names of a query's columns, so that its text means the same again.
//!
//! A query was analyzed when its tables had certain columns; since then columns may have been
//! renamed, added and dropped. Where two inputs of a join have columns of one name that was not
//! merged, or USING names columns whose names have come apart, aliases are needed:
//!
//! 1. From the top down, each column merged by USING gets one name, and both inputs take it over.
//! 2. Every other column of a table has its alias or its present name, made different from the
//!    names that the joins above merge by.
//! 3. A join's columns are its inputs', merged ones first; a join with an alias has names of its
//!    own. Columns that came later stand where parsing the text again would put them.

use super::Names;
use super::scope::unique_among;
use crate::expr::Expr;
use crate::query::*;

/// Names of one entry's columns.
#[derive(Clone, Default)]
pub(super) struct EntryColumns {
    /// By attribute number; `None` if dropped, or if none is chosen yet.
    pub names: Vec<Option<String>>,
    /// All columns that the entry has now, and whether they came after the query.
    pub present: Vec<(String, bool)>,
    /// The columns must be listed behind the alias.
    pub listed: bool,
    /// For a join: names that USING is printed with.
    pub using: Vec<String>,
    /// Names that joins above merge by.
    above: Vec<String>,
    /// For a join: its inputs, and each column's position in them (0: not there).
    inputs: Option<Inputs>,
}

#[derive(Clone)]
struct Inputs {
    left: usize,
    right: usize,
    left_cols: Vec<i16>,
    right_cols: Vec<i16>,
}

/// Names of the columns of all entries of a query's range table.
pub(super) fn name_columns(query: &Query, names: &dyn Names) -> Vec<EntryColumns> {
    let mut naming = Naming {
        query,
        entries: vec![EntryColumns::default(); query.rtable.len()],
        everywhere: has_unnamed_merge(query, &query.jointree.items).then(Vec::new),
    };
    for (entry, rte) in naming.entries.iter_mut().zip(&query.rtable) {
        entry.names = vec![None; rte.eref.columns.len()];
    }
    for item in &query.jointree.items {
        naming.merged(item, &[]);
    }
    for (index, rte) in query.rtable.iter().enumerate() {
        match &rte.kind {
            RteKind::Join { .. } => naming.join(index, rte),
            _ => naming.table(index, rte, names),
        }
    }
    naming.entries
}

/// True if a merged column of a join without a name is not just one input's column: then it can
/// only be printed by its bare name, which nothing else may have.
fn has_unnamed_merge(query: &Query, items: &[FromItem]) -> bool {
    items.iter().any(|item| match item {
        FromItem::Table(_) => false,
        FromItem::From(from) => has_unnamed_merge(query, &from.items),
        FromItem::Join(join) => {
            let own = join.rtindex > 0 && !join.using.is_empty() && {
                let rte = query.rte(join.rtindex);
                match &rte.kind {
                    RteKind::Join { alias_vars, merged, .. } if rte.alias.is_none() => {
                        alias_vars.iter().take(*merged as usize).any(|e| !matches!(e, Expr::Var(_)))
                    }
                    _ => false,
                }
            };
            own || has_unnamed_merge(query, std::slice::from_ref(&join.left))
                || has_unnamed_merge(query, std::slice::from_ref(&join.right))
        }
    })
}

struct Naming<'a> {
    query: &'a Query,
    entries: Vec<EntryColumns>,
    /// Merged names so far, if they must differ in the whole query.
    everywhere: Option<Vec<String>>,
}

impl Naming<'_> {
    /// A name that no other column of the entry has, and no column merged above it.
    fn unique(&self, name: &str, entry: &EntryColumns) -> String {
        unique_among(name, |n| {
            entry.names.iter().flatten().any(|o| o == n)
                || entry.present.iter().any(|(o, _)| o == n)
                || entry.above.iter().any(|o| o == n)
                || self.everywhere.iter().flatten().any(|o| o == n)
        })
    }

    /// Chooses the names that joins merge by, outer joins' first.
    fn merged(&mut self, item: &FromItem, above: &[String]) {
        let join = match item {
            FromItem::Table(_) => return,
            FromItem::From(from) => return from.items.iter().for_each(|i| self.merged(i, above)),
            FromItem::Join(join) => join,
        };
        let index = (join.rtindex as usize).wrapping_sub(1);
        let Some(rte) = self.query.rtable.get(index) else { return };
        let RteKind::Join { left_cols, right_cols, .. } = &rte.kind else { return };
        let inputs = Inputs {
            left: item_index(&join.left),
            right: item_index(&join.right),
            left_cols: left_cols.clone(),
            right_cols: right_cols.clone(),
        };
        let mut own = std::mem::take(&mut self.entries[index]);
        if rte.alias.is_none() {
            // What a join above wants of this one, it wants of the inputs.
            for (i, name) in own.names.iter().enumerate() {
                if let Some(name) = name {
                    self.hand_down(&inputs, i, name);
                }
            }
        }
        let mut above = above.to_vec();
        for (i, wanted) in join.using.iter().enumerate() {
            let name = match own.names.get(i).cloned().flatten() {
                Some(name) => name,
                None => {
                    let alias = rte.alias.as_ref().and_then(|a| a.columns.get(i));
                    let name = self.unique(alias.unwrap_or(wanted), &own);
                    if let Some(all) = &mut self.everywhere {
                        all.push(name.clone());
                    }
                    own.names[i] = Some(name.clone());
                    name
                }
            };
            self.hand_down(&inputs, i, &name);
            own.using.push(name.clone());
            above.push(name);
        }
        for side in [inputs.left, inputs.right] {
            if let Some(entry) = self.entries.get_mut(side) {
                entry.above = above.clone();
            }
        }
        own.inputs = Some(inputs);
        self.entries[index] = own;
        self.merged(&join.left, &above);
        self.merged(&join.right, &above);
    }

    /// Gives a join's column's name to the columns of the inputs that it is made of.
    fn hand_down(&mut self, inputs: &Inputs, column: usize, name: &str) {
        for (side, cols) in [(inputs.left, &inputs.left_cols), (inputs.right, &inputs.right_cols)] {
            let at = cols.get(column).copied().unwrap_or(0);
            if at > 0
                && let Some(slot) =
                    self.entries.get_mut(side).and_then(|e| e.names.get_mut(at as usize - 1))
            {
                *slot = Some(name.to_string());
            }
        }
    }

    fn table(&mut self, index: usize, rte: &Rte, names: &dyn Names) {
        let mut own = std::mem::take(&mut self.entries[index]);
        let real = match &rte.kind {
            RteKind::Relation { relid, .. } => names.columns(*relid),
            _ => Vec::new(),
        };
        let real = if real.is_empty() { rte.eref.columns.clone() } else { real };
        let old = own.names.len();
        own.names.resize(real.len().max(old), None);
        let given = rte.alias.as_ref().map_or(&[][..], |a| &a.columns);
        let mut changed = false;
        for (i, name) in real.iter().enumerate() {
            if name.is_empty() {
                own.names[i] = None;
                continue;
            }
            let chosen = match own.names[i].take() {
                Some(chosen) => chosen,
                None => {
                    let alias = given.get(i).filter(|a| !a.is_empty());
                    self.unique(alias.unwrap_or(name), &own)
                }
            };
            changed |= chosen != *name;
            own.present.push((chosen.clone(), i >= old));
            own.names[i] = Some(chosen);
        }
        own.listed = match &rte.kind {
            RteKind::Relation { .. } => changed,
            RteKind::Function { functions, .. } if functions.iter().any(|f| f.is_table()) => {
                !given.is_empty()
            }
            RteKind::Function { .. } => true,
            _ => !given.is_empty() || changed || real.iter().any(|n| n == "?column?"),
        };
        self.entries[index] = own;
    }

    fn join(&mut self, index: usize, rte: &Rte) {
        let mut own = std::mem::take(&mut self.entries[index]);
        let Some(inputs) = own.inputs.clone() else {
            own.names = rte.eref.columns.iter().cloned().map(Some).collect();
            self.entries[index] = own;
            return;
        };
        let named = rte.alias.is_some();
        let mut changed = false;
        for i in own.using.len()..own.names.len() {
            let of = |side: usize, cols: &[i16]| {
                let at = cols.get(i).copied().unwrap_or(0);
                (at > 0).then(|| self.entries[side].names.get(at as usize - 1).cloned().flatten())
            };
            let real = of(inputs.left, &inputs.left_cols)
                .or_else(|| of(inputs.right, &inputs.right_cols))
                .unwrap_or_else(|| rte.eref.columns.get(i).cloned());
            let Some(real) = real else {
                own.names[i] = None;
                continue;
            };
            if !named {
                own.names[i] = Some(real);
                continue;
            }
            let chosen = match own.names[i].take() {
                Some(chosen) => chosen,
                None => {
                    let alias = rte.alias.as_ref().and_then(|a| a.columns.get(i));
                    self.unique(alias.filter(|a| !a.is_empty()).unwrap_or(&real), &own)
                }
            };
            changed |= chosen != real;
            own.names[i] = Some(chosen);
        }
        changed |= self.present_of_join(&mut own, &inputs, named);
        own.listed = named && changed;
        self.entries[index] = own;
    }

    /// Lists the columns that a join has now; true if one had to be given another name.
    fn present_of_join(&self, own: &mut EntryColumns, inputs: &Inputs, named: bool) -> bool {
        let merged = own.using.len();
        own.present = own.names[..merged].iter().flatten().map(|n| (n.clone(), false)).collect();
        let mut rest: Vec<String> = own.names[merged..].iter().flatten().cloned().collect();
        rest.reverse();
        let mut changed = false;
        for (side, cols) in [(inputs.left, &inputs.left_cols), (inputs.right, &inputs.right_cols)] {
            let Some(child) = self.entries.get(side) else { continue };
            let old = child.names.iter().enumerate().filter(|(_, n)| n.is_some());
            let mut old = old.map(|(i, _)| i as i16 + 1);
            for (name, is_new) in &child.present {
                if !is_new {
                    let at = old.next();
                    if at.is_some_and(|at| cols[..merged].contains(&at)) {
                        continue;
                    }
                    let Some(name) = rest.pop() else { continue };
                    own.present.push((name, false));
                } else if named {
                    let chosen = self.unique(name, own);
                    changed |= chosen != *name;
                    own.present.push((chosen, true));
                } else {
                    own.present.push((name.clone(), true));
                }
            }
        }
        changed
    }
}

/// The range-table position of an item of FROM.
fn item_index(item: &FromItem) -> usize {
    match item {
        FromItem::Table(index) => *index as usize - 1,
        FromItem::Join(join) => (join.rtindex as usize).wrapping_sub(1),
        FromItem::From(_) => usize::MAX,
    }
}
