//! Scan keys made ready: where a scan starts, which entries qualify, when it can stop.

use super::super::key::{SearchKey, Wanted};
use super::super::page::Item;
use crate::index::{Direction, IndexRel, KeyCmp, Probe, ScanKey, ScanValue, Strategy, next_stored};
use base::{Result, bail};
use smallvec::SmallVec;
use std::cmp::Ordering;
use types::Datum;

/// What an entry is worth to the scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// It qualifies.
    Match,
    /// It does not.
    Skip,
    /// It does not, and no later one in this direction does.
    Stop,
}

#[derive(Clone, Debug)]
enum Condition {
    Compare(Strategy, Wanted),
    /// Equal to the current element of this array.
    Slot(usize),
    /// Equal to one of these, ascending by `Wanted`'s order.
    Any(Vec<Wanted>),
    IsNull,
    IsNotNull,
    Row(Strategy, Vec<(usize, Wanted)>),
}

#[derive(Clone, Debug)]
struct Check {
    attr: usize,
    condition: Condition,
    /// All columns before this one have an equality: entries are in this column's order.
    required: bool,
}

/// Values of an `= ANY` that the scan takes one after the other, in index order.
#[derive(Clone, Debug)]
struct Array {
    elements: Vec<Wanted>,
    current: usize,
}

/// The keys of a scan.
#[derive(Clone, Debug)]
pub struct Prepared {
    checks: Vec<Check>,
    arrays: Vec<Array>,
    /// Nothing can qualify.
    pub never: bool,
    /// The only condition is that the only key column equals a value: entries that the search
    /// finds equal need no other check.
    pub plain_equal: bool,
}

/// Which elements of the arrays are current.
pub type ArrayPosition = SmallVec<[usize; 2]>;

fn wanted(index: &IndexRel, key: &ScanKey, value: &Datum) -> Wanted {
    let cmp = key.cmp.clone().unwrap_or_else(|| index.keys[key.attr as usize].cmp.clone());
    let probe = cmp.probe(value);
    Wanted { cmp, probe }
}

impl Prepared {
    /// Makes scan keys ready.
    pub fn new(index: &IndexRel, keys: &[ScanKey]) -> Result<Prepared> {
        let mut out = Prepared::none();
        let mut sorted: Vec<&ScanKey> = keys.iter().collect();
        sorted.sort_by_key(|k| k.attr);
        // Columns below `equal_to` have an equality each.
        let mut equal_to = 0;
        for key in sorted {
            let attr = key.attr as usize;
            if attr >= index.nkeys() {
                bail!(INTERNAL_ERROR, "scan key on column {attr} of index \"{}\"", index.name);
            }
            let required = equal_to >= attr;
            let condition = out.condition(index, key, required)?;
            let equality = match &condition {
                Condition::Compare(s, _) => *s == Strategy::Eq,
                Condition::Slot(_) | Condition::IsNull => true,
                _ => false,
            };
            if equality && equal_to == attr {
                equal_to = attr + 1;
            }
            out.checks.push(Check { attr, condition, required });
        }
        // An equality comes first among the conditions of its column, so that what the others
        // decide about stopping is decided within equal values.
        out.checks.sort_by_key(|c| (c.attr, !c.is_equality()));
        out.plain_equal = index.nkeys() == 1
            && matches!(&out.checks[..], [Check { condition: Condition::Compare(s, _), .. }]
                if *s == Strategy::Eq);
        Ok(out)
    }

    /// No keys: everything qualifies.
    pub fn none() -> Prepared {
        Prepared { checks: Vec::new(), arrays: Vec::new(), never: false, plain_equal: false }
    }

    fn condition(&mut self, index: &IndexRel, key: &ScanKey, first: bool) -> Result<Condition> {
        let attr = key.attr as usize;
        Ok(match &key.value {
            ScanValue::IsNull => Condition::IsNull,
            ScanValue::IsNotNull => Condition::IsNotNull,
            ScanValue::One(value) => {
                self.never |= value.is_null();
                Condition::Compare(key.strategy, wanted(index, key, value))
            }
            ScanValue::Row(rest) => {
                let mut columns = Vec::with_capacity(rest.len());
                for (i, (a, value)) in rest.iter().enumerate() {
                    if *a as usize >= index.nkeys() {
                        bail!(INTERNAL_ERROR, "row comparison beyond index \"{}\"", index.name);
                    }
                    self.never |= i == 0 && value.is_null();
                    let cmp = index.keys[*a as usize].cmp.clone();
                    let probe = cmp.probe(value);
                    columns.push((*a as usize, Wanted { cmp, probe }));
                }
                if columns.first().is_none_or(|c| c.0 != attr) {
                    bail!(INTERNAL_ERROR, "row comparison does not begin with its column");
                }
                Condition::Row(key.strategy, columns)
            }
            ScanValue::Any(values) => {
                let mut values: Vec<&Datum> = values.iter().filter(|v| !v.is_null()).collect();
                self.never |= values.is_empty();
                let own = match &key.cmp {
                    Some(KeyCmp::Custom(_)) => false,
                    Some(_) => true,
                    None => true,
                };
                let taken = self.checks.iter().any(|c| c.attr == attr && c.is_equality());
                if !own {
                    let all = values.iter().map(|v| wanted(index, key, v)).collect();
                    return Ok(Condition::Any(all));
                }
                let cmp = key.cmp.clone().unwrap_or_else(|| index.keys[attr].cmp.clone());
                sort_values(&cmp, &mut values)?;
                let mut elements: Vec<Wanted> =
                    values.iter().map(|v| wanted(index, key, v)).collect();
                if !first || taken {
                    return Ok(Condition::Any(elements));
                }
                if index.keys[attr].desc {
                    elements.reverse();
                }
                self.arrays.push(Array { elements, current: 0 });
                Condition::Slot(self.arrays.len() - 1)
            }
        })
    }

    /// True if there are arrays to step through.
    pub fn has_arrays(&self) -> bool {
        !self.arrays.is_empty()
    }

    /// Puts the arrays to where a scan in this direction begins.
    pub fn reset_arrays(&mut self, direction: Direction) {
        for a in &mut self.arrays {
            a.current = match direction {
                Direction::Forward => 0,
                Direction::Backward => a.elements.len().saturating_sub(1),
            };
        }
    }

    /// The next combination of elements; false if that was the last.
    pub fn step_arrays(&mut self, direction: Direction) -> bool {
        for i in (0..self.arrays.len()).rev() {
            let a = &mut self.arrays[i];
            let last = a.elements.len().saturating_sub(1);
            match direction {
                Direction::Forward if a.current < last => {
                    a.current += 1;
                    return true;
                }
                Direction::Backward if a.current > 0 => {
                    a.current -= 1;
                    return true;
                }
                Direction::Forward => a.current = 0,
                Direction::Backward => a.current = last,
            }
        }
        false
    }

    /// Which elements are current.
    pub fn array_position(&self) -> ArrayPosition {
        self.arrays.iter().map(|a| a.current).collect()
    }

    /// Makes these elements current.
    pub fn set_array_position(&mut self, position: &ArrayPosition) {
        for (a, p) in self.arrays.iter_mut().zip(position) {
            a.current = *p;
        }
    }

    /// The key where a scan in this direction begins; no columns if at the end of the index.
    pub fn start(&self, index: &IndexRel, direction: Direction) -> SearchKey {
        let backward = direction == Direction::Backward;
        let mut key = SearchKey {
            columns: SmallVec::new(),
            tid: None,
            // Going backward the scan begins at the item before what the search finds.
            after: backward,
            backward,
        };
        for (attr, column) in index.keys.iter().enumerate() {
            let mut here = self.checks.iter().filter(|c| c.attr == attr).peekable();
            if here.peek().is_none() {
                break;
            }
            if let Some(equal) = here.clone().find_map(|c| self.equality(c, column)) {
                key.columns.push(equal);
                continue;
            }
            // Greater in index order is what a forward scan begins with.
            let ascending = (direction == Direction::Forward) != column.desc;
            let bound = here.clone().find_map(|c| start_bound(c, ascending));
            match bound {
                Some((columns, strict)) => {
                    let n = self.contiguous(index, attr, &columns);
                    let whole = n == columns.len();
                    key.columns.extend(columns.into_iter().take(n).map(|c| c.1));
                    key.after = (strict && whole) != backward;
                }
                None if here.any(|c| !matches!(c.condition, Condition::IsNull))
                    // Only NULLs lie before the first that can qualify, if they come first.
                    && column.nulls_first != backward =>
                {
                    key.columns.push(Wanted { cmp: column.cmp.clone(), probe: Probe::Null });
                    key.after = !backward;
                }
                None => {}
            }
            break;
        }
        key
    }

    /// The value that the column must equal by this check.
    fn equality(&self, c: &Check, column: &crate::index::KeyColumn) -> Option<Wanted> {
        match &c.condition {
            Condition::Compare(Strategy::Eq, w) => Some(w.clone()),
            Condition::Slot(i) => {
                let a = &self.arrays[*i];
                a.elements.get(a.current).cloned()
            }
            Condition::IsNull => Some(Wanted { cmp: column.cmp.clone(), probe: Probe::Null }),
            _ => None,
        }
    }

    /// How many columns of a row comparison can be part of a start key.
    fn contiguous(&self, index: &IndexRel, attr: usize, columns: &[(usize, Wanted)]) -> usize {
        let desc = index.keys[attr].desc;
        columns
            .iter()
            .enumerate()
            .take_while(|(i, (a, w))| {
                *a == attr + i && index.keys[*a].desc == desc && !matches!(w.probe, Probe::Null)
            })
            .count()
            .max(1)
    }

    /// Whether an entry qualifies.
    pub fn fit(&self, index: &IndexRel, item: Item<'_>, direction: Direction) -> Result<Fit> {
        let natts = index.desc.attrs.len();
        let (bitmap, data) = item.bitmap_and_data(natts);
        let is_null = |i: usize| {
            !bitmap.is_empty() && bitmap.get(i / 8).is_some_and(|b| b >> (i % 8) & 1 == 0)
        };
        let mut values: SmallVec<[Option<&[u8]>; 4]> = SmallVec::new();
        let mut at = 0;
        for check in &self.checks {
            while values.len() <= check.needs() {
                let i = values.len();
                let value = (!is_null(i)).then(|| next_stored(data, &mut at, &index.desc.attrs[i]));
                values.push(value);
            }
            let fit = self.fit_one(index, check, &values, direction)?;
            if fit != Fit::Match {
                return Ok(fit);
            }
        }
        Ok(Fit::Match)
    }

    /// True if a high key tells that a forward scan finds nothing to the right of its page.
    pub fn ends_before(&self, index: &IndexRel, high_key: Item<'_>) -> Result<bool> {
        // What was truncated away could be anything, so only the columns that are there count.
        let has = high_key.natts(index.nkeys()).min(index.nkeys());
        if has == 0 || self.checks.iter().any(|c| c.needs() >= has) {
            return Ok(false);
        }
        Ok(self.fit(index, high_key, Direction::Forward)? == Fit::Stop)
    }

    fn fit_one(
        &self,
        index: &IndexRel,
        check: &Check,
        values: &[Option<&[u8]>],
        direction: Direction,
    ) -> Result<Fit> {
        let attr = &index.desc.attrs[check.attr];
        let column = &index.keys[check.attr];
        let forward = direction == Direction::Forward;
        // What NULLs lie beyond in this direction, if the entry is one and must not be.
        let stop_if = |beyond: bool| {
            if beyond && check.required { Fit::Stop } else { Fit::Skip }
        };
        let Some(stored) = values[check.attr] else {
            return Ok(match check.condition {
                Condition::IsNull => Fit::Match,
                _ => stop_if(column.nulls_first != forward),
            });
        };
        // True if a stored value in this order to the wanted one lies beyond it.
        let beyond = |natural: Ordering| {
            let order = if column.desc { natural.reverse() } else { natural };
            order == if forward { Ordering::Greater } else { Ordering::Less }
        };
        let compare = |w: &Wanted| w.cmp.compare_stored(attr, stored, &w.probe);
        Ok(match &check.condition {
            Condition::IsNotNull => Fit::Match,
            Condition::IsNull => stop_if(column.nulls_first == forward),
            Condition::Compare(strategy, w) => {
                let order = compare(w)?;
                match holds(*strategy, order) {
                    true => Fit::Match,
                    false => stop_if(match strategy {
                        Strategy::Eq => beyond(order),
                        Strategy::Lt | Strategy::Le => forward != column.desc,
                        Strategy::Gt | Strategy::Ge => forward == column.desc,
                    }),
                }
            }
            Condition::Slot(i) => {
                let a = &self.arrays[*i];
                let Some(w) = a.elements.get(a.current) else { return Ok(Fit::Stop) };
                let order = compare(w)?;
                if order == Ordering::Equal { Fit::Match } else { stop_if(beyond(order)) }
            }
            Condition::Any(all) => {
                for w in all {
                    if compare(w)? == Ordering::Equal {
                        return Ok(Fit::Match);
                    }
                }
                Fit::Skip
            }
            Condition::Row(strategy, columns) => {
                let first = compare(&columns[0].1)?;
                match row_order(index, columns, values)? {
                    Some(order) if holds(*strategy, order) => Fit::Match,
                    _ => stop_if(
                        first != Ordering::Equal && beyond(first) && {
                            matches!(strategy, Strategy::Lt | Strategy::Le)
                                == (forward != column.desc)
                        },
                    ),
                }
            }
        })
    }
}

impl Check {
    fn is_equality(&self) -> bool {
        match &self.condition {
            Condition::Compare(s, _) => *s == Strategy::Eq,
            Condition::Slot(_) | Condition::IsNull => true,
            _ => false,
        }
    }

    /// The last column that must be known.
    fn needs(&self) -> usize {
        match &self.condition {
            Condition::Row(_, columns) => {
                columns.iter().map(|c| c.0).max().unwrap_or(0).max(self.attr)
            }
            _ => self.attr,
        }
    }
}

fn holds(strategy: Strategy, order: Ordering) -> bool {
    match strategy {
        Strategy::Lt => order == Ordering::Less,
        Strategy::Le => order != Ordering::Greater,
        Strategy::Eq => order == Ordering::Equal,
        Strategy::Ge => order != Ordering::Less,
        Strategy::Gt => order == Ordering::Greater,
    }
}

/// Order of the stored columns to a wanted row; None if a NULL leaves it open.
fn row_order(
    index: &IndexRel,
    columns: &[(usize, Wanted)],
    values: &[Option<&[u8]>],
) -> Result<Option<Ordering>> {
    for (a, w) in columns {
        let (Some(stored), false) = (values[*a], matches!(w.probe, Probe::Null)) else {
            return Ok(None);
        };
        let order = w.cmp.compare_stored(&index.desc.attrs[*a], stored, &w.probe)?;
        if order != Ordering::Equal {
            return Ok(Some(order));
        }
    }
    Ok(Some(Ordering::Equal))
}

/// The columns and strictness of a bound from which a scan can start, if `c` is one on that side.
fn start_bound(c: &Check, ascending: bool) -> Option<(Vec<(usize, Wanted)>, bool)> {
    let (strategy, columns) = match &c.condition {
        Condition::Compare(s, w) => (*s, vec![(c.attr, w.clone())]),
        Condition::Row(s, columns) => (*s, columns.clone()),
        _ => return None,
    };
    match (strategy, ascending) {
        (Strategy::Gt, true) | (Strategy::Lt, false) => Some((columns, true)),
        (Strategy::Ge, true) | (Strategy::Le, false) => Some((columns, false)),
        _ => None,
    }
}

/// Sorts and removes duplicates.
fn sort_values(cmp: &KeyCmp, values: &mut Vec<&Datum>) -> Result<()> {
    let mut failure = None;
    let mut order = |a: &&Datum, b: &&Datum| {
        cmp.compare(a, b).unwrap_or_else(|e| {
            failure.get_or_insert(e);
            Ordering::Equal
        })
    };
    values.sort_by(|a, b| order(a, b));
    values.dedup_by(|a, b| order(a, b) == Ordering::Equal);
    failure.map_or(Ok(()), Err)
}
