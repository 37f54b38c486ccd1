//! Costs of reading tables, indexes and other sources.

use super::{EvalCost, clamp_rows};
use crate::path::{BitmapTree, IndexClause, IndexPath};
use crate::rel::{IndexInfo, Restriction, Target};
use crate::root::Root;
use base::{Oid, Result};
use ir::Expr;
use std::rc::Rc;

/// Startup and total cost, and how many disabled nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub startup: f64,
    pub total: f64,
    pub disabled: u32,
}

/// What an index scan's own part costs.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexCost {
    pub startup: f64,
    pub total: f64,
    pub selectivity: f64,
    pub correlation: f64,
    /// Leaves that it reads.
    pub pages: f64,
}

impl Root<'_> {
    /// Reading all of a table.
    pub fn cost_seq_scan(&self, rel: usize, target: &Target, rows: f64, quals: EvalCost) -> Cost {
        let s = self.env.settings;
        let r = &self.rels[rel];
        let mut startup = quals.startup;
        let mut run = s.seq_page_cost * r.pages + (s.cpu_tuple_cost + quals.per_row) * r.tuples;
        startup += target.cost.0;
        run += target.cost.1 * rows;
        Cost { startup, total: startup + run, disabled: u32::from(!s.enable_seqscan) }
    }

    /// The index's own part: descending, walking leaves, testing conditions.
    pub fn cost_index_access(
        &self,
        rel: usize,
        info: &IndexInfo,
        clauses: &[IndexClause],
        loops: f64,
    ) -> Result<IndexCost> {
        let s = self.env.settings;
        let r = &self.rels[rel];
        let mut boundary: Vec<Rc<Restriction>> = Vec::new();
        let mut all: Vec<Rc<Restriction>> = Vec::new();
        let mut equal_columns = 0;
        let mut array_scans = 1.0f64;
        let mut column = 0;
        let mut has_equal = true;
        let mut found_array = false;
        let mut found_null_test = false;
        for c in clauses {
            all.push(c.origin.clone());
            // Conditions on later columns do not bound the walk unless all before are equalities.
            if c.column != column {
                if !has_equal || c.column != column + 1 {
                    continue;
                }
                column = c.column;
                has_equal = false;
            }
            if c.column == 0 && boundary.is_empty() {
                has_equal = false;
            }
            for q in &c.quals {
                match q {
                    Expr::Op(o) => has_equal |= self.index_strategy(info, c.column, o.op)? == 3,
                    Expr::ScalarArrayOp(a) => {
                        array_scans *= self.array_length(&a.args[1]).max(1.0);
                        found_array = true;
                        has_equal |= self.index_strategy(info, c.column, a.op)? == 3;
                    }
                    Expr::NullTest { kind: ir::NullTestKind::IsNull, .. } => {
                        found_null_test = true;
                        has_equal = true;
                    }
                    _ => {}
                }
            }
            if has_equal && equal_columns == c.column {
                equal_columns = c.column + 1;
            }
            boundary.push(c.origin.clone());
        }
        let index_rel = r.rtindex;
        let unique_hit = info.desc.is_unique
            && equal_columns == info.desc.n_keys as usize
            && !found_array
            && !found_null_test;
        let mut tuples = if unique_hit {
            1.0
        } else {
            let quals = with_predicate(self, info, &boundary)?;
            let sel = self.list_selectivity(&quals, index_rel, None)?;
            let n = sel * r.tuples;
            array_scans = array_scans.min((info.pages * 0.333_333_3).ceil().max(1.0));
            (n / array_scans).round_ties_even()
        };
        let quals = with_predicate(self, info, &all)?;
        let selectivity = self.list_selectivity(&quals, index_rel, None)?;
        tuples = tuples.min(info.tuples).max(1.0);
        let pages = if info.pages > 1.0 && info.tuples > 1.0 {
            (tuples * info.pages / info.tuples).ceil()
        } else {
            1.0
        };
        let scans = array_scans * loops;
        let mut total = if scans > 1.0 {
            let fetched = self.index_pages_fetched(pages * scans, info.pages, info.pages);
            fetched * s.random_page_cost / loops
        } else {
            pages * s.random_page_cost
        };
        let operand_cost = self.other_operands_cost(clauses);
        let n_quals: usize = clauses.iter().map(|c| c.quals.len()).sum();
        let mut startup = operand_cost;
        total += operand_cost;
        let per_tuple = s.cpu_index_tuple_cost + s.cpu_operator_cost * n_quals as f64;
        total += tuples * array_scans * per_tuple;
        if info.tuples > 1.0 {
            let descent = info.tuples.log2().ceil() * s.cpu_operator_cost;
            startup += descent;
            total += array_scans * descent;
        }
        let descent = f64::from(info.height + 1) * 50.0 * s.cpu_operator_cost;
        startup += descent;
        total += array_scans * descent;
        let correlation = self.index_correlation(rel, info)?;
        Ok(IndexCost { startup, total, selectivity, correlation, pages })
    }

    /// The operator's strategy in the index column's family; 0 if it is not in it.
    pub fn index_strategy(&self, info: &IndexInfo, column: usize, op: Oid) -> Result<i16> {
        let family = info.desc.opfamilies[column];
        Ok(self.env.catalog.operator_in_family(op, family)?.map_or(0, |a| a.strategy))
    }

    fn other_operands_cost(&self, clauses: &[IndexClause]) -> f64 {
        let mut cost = 0.0;
        for c in clauses {
            for q in &c.quals {
                let other = match q {
                    Expr::Op(o) => o.args.get(1),
                    Expr::ScalarArrayOp(a) => a.args.get(1),
                    _ => None,
                };
                if let Some(e) = other {
                    let one = self.eval_cost(e);
                    cost += one.startup + one.per_row;
                }
            }
        }
        cost
    }

    fn index_correlation(&self, rel: usize, info: &IndexInfo) -> Result<f64> {
        let r = &self.rels[rel];
        let stats = match info.desc.columns.first() {
            Some(0) | None => self.statistic(info.desc.oid, 1, false)?,
            Some(att) => {
                let table = info.desc.table;
                let _ = r;
                self.statistic(table, *att, false)?
            }
        };
        let Some(stats) = stats else { return Ok(0.0) };
        let Some(slot) = stats.slots.iter().find(|s| s.kind == 3) else { return Ok(0.0) };
        let mut c = f64::from(slot.numbers.first().copied().unwrap_or(0.0));
        if info.desc.options.first().is_some_and(|o| o & 1 != 0) {
            c = -c;
        }
        Ok(if info.desc.n_keys > 1 { c * 0.75 } else { c })
    }

    /// A whole index scan, table pages included.
    #[allow(clippy::too_many_arguments)]
    pub fn cost_index_scan(
        &self,
        rel: usize,
        info: &IndexInfo,
        access: &IndexCost,
        only: bool,
        loops: f64,
        target: &Target,
        rows: f64,
        quals: EvalCost,
    ) -> Cost {
        let s = self.env.settings;
        let r = &self.rels[rel];
        let tuples = clamp_rows(access.selectivity * r.tuples);
        let visible = |pages: f64| {
            if only { (pages * (1.0 - r.all_visible_fraction)).ceil() } else { pages }
        };
        // A row is on one page, however many pages there are for each row.
        let min_pages = (access.selectivity * r.pages).ceil().min(tuples);
        let (max_io, min_io);
        if loops > 1.0 {
            let p = visible(self.index_pages_fetched(tuples * loops, r.pages, info.pages));
            max_io = p * s.random_page_cost / loops;
            let p = visible(self.index_pages_fetched(min_pages * loops, r.pages, info.pages));
            min_io = p * s.random_page_cost / loops;
        } else {
            let p = visible(self.index_pages_fetched(tuples, r.pages, info.pages));
            max_io = p * s.random_page_cost;
            let p = visible(min_pages);
            min_io = match p {
                p if p <= 0.0 => 0.0,
                p => s.random_page_cost + (p - 1.0).max(0.0) * s.seq_page_cost,
            };
        }
        let squared = access.correlation * access.correlation;
        let mut startup = access.startup + quals.startup + target.cost.0;
        let mut run = access.total - access.startup;
        run += max_io + squared * (min_io - max_io);
        run += (s.cpu_tuple_cost + quals.per_row) * tuples;
        run += target.cost.1 * rows;
        let disabled = if only {
            !(s.enable_indexonlyscan && s.enable_indexscan)
        } else {
            !s.enable_indexscan
        };
        if startup < 0.0 {
            startup = 0.0;
        }
        Cost { startup, total: startup + run, disabled: u32::from(disabled) }
    }

    /// Cost and selectivity of computing a bitmap.
    pub fn bitmap_cost(&self, tree: &BitmapTree, tuples: f64) -> (f64, f64) {
        match tree {
            BitmapTree::Index(p) => {
                let rows = clamp_rows(p.selectivity * tuples);
                (p.index_cost + 0.1 * self.env.settings.cpu_operator_cost * rows, p.selectivity)
            }
            BitmapTree::And { cost, selectivity, .. }
            | BitmapTree::Or { cost, selectivity, .. } => (*cost, *selectivity),
        }
    }

    /// AND of bitmaps.
    pub fn bitmap_and(&self, parts: Vec<BitmapTree>, tuples: f64) -> BitmapTree {
        let mut cost = 0.0;
        let mut selectivity = 1.0;
        for (i, p) in parts.iter().enumerate() {
            let (c, s) = self.bitmap_cost(p, tuples);
            cost += c;
            selectivity *= s;
            if i > 0 {
                cost += 100.0 * self.env.settings.cpu_operator_cost;
            }
        }
        BitmapTree::And { parts, cost, selectivity }
    }

    /// OR of bitmaps.
    pub fn bitmap_or(&self, parts: Vec<BitmapTree>, tuples: f64) -> BitmapTree {
        let mut cost = 0.0;
        let mut selectivity: f64 = 0.0;
        for (i, p) in parts.iter().enumerate() {
            let (c, s) = self.bitmap_cost(p, tuples);
            cost += c;
            selectivity += s;
            if i > 0 && !matches!(p, BitmapTree::Index(_)) {
                cost += 100.0 * self.env.settings.cpu_operator_cost;
            }
        }
        BitmapTree::Or { parts, cost, selectivity: selectivity.min(1.0) }
    }

    /// Pages and rows that a bitmap scan reads, and the bitmap's cost.
    pub fn bitmap_pages(&self, rel: usize, tree: &BitmapTree, loops: f64) -> (f64, f64, f64) {
        let r = &self.rels[rel];
        let (index_cost, selectivity) = self.bitmap_cost(tree, r.tuples);
        let mut tuples = clamp_rows(selectivity * r.tuples);
        let t = r.pages.max(1.0);
        let mut pages = 2.0 * t * tuples / (2.0 * t + tuples);
        let heap_pages = pages.min(r.pages);
        if loops > 1.0 {
            pages =
                self.index_pages_fetched(tuples * loops, r.pages, total_index_pages(tree)) / loops;
        }
        pages = if pages >= t { t } else { pages.ceil() };
        let max_entries = (self.env.settings.work_mem / 64.0).floor().max(16.0);
        if max_entries < heap_pages {
            let lossy = (heap_pages - max_entries / 2.0).max(0.0);
            let exact = heap_pages - lossy;
            if lossy > 0.0 {
                tuples = clamp_rows(
                    selectivity * (exact / heap_pages) * r.tuples + lossy / heap_pages * r.tuples,
                );
            }
        }
        (pages, tuples, index_cost)
    }

    /// A bitmap heap scan.
    pub fn cost_bitmap_scan(
        &self,
        rel: usize,
        tree: &BitmapTree,
        loops: f64,
        target: &Target,
        rows: f64,
        quals: EvalCost,
    ) -> Cost {
        self.cost_shared_bitmap(rel, tree, (loops, 1.0), target, rows, quals)
    }

    /// The same, with the rows divided among workers.
    pub fn cost_shared_bitmap(
        &self,
        rel: usize,
        tree: &BitmapTree,
        (loops, divisor): (f64, f64),
        target: &Target,
        rows: f64,
        quals: EvalCost,
    ) -> Cost {
        let s = self.env.settings;
        let (pages, tuples, index_cost) = self.bitmap_pages(rel, tree, loops);
        let t = self.rels[rel].pages.max(1.0);
        let per_page = if pages >= 2.0 {
            s.random_page_cost - (s.random_page_cost - s.seq_page_cost) * (pages / t).sqrt()
        } else {
            s.random_page_cost
        };
        let startup = index_cost + quals.startup + target.cost.0;
        let run = pages * per_page
            + (s.cpu_tuple_cost + quals.per_row) * tuples / divisor
            + target.cost.1 * rows;
        Cost { startup, total: startup + run, disabled: u32::from(!s.enable_bitmapscan) }
    }

    /// Fetching rows by their places.
    pub fn cost_tid_scan(
        &self,
        places: f64,
        target: &Target,
        quals: EvalCost,
        current_of: bool,
    ) -> Cost {
        let s = self.env.settings;
        let per_row = s.cpu_tuple_cost + (quals.per_row - s.cpu_operator_cost).max(0.0);
        let startup = quals.startup + target.cost.0;
        let run = (s.random_page_cost + per_row) * places + target.cost.1 * places;
        Cost {
            startup,
            total: startup + run,
            disabled: u32::from(!s.enable_tidscan && !current_of),
        }
    }

    /// Fetching the rows between two places.
    pub fn cost_tid_range(
        &self,
        rel: usize,
        tid_quals: &[Rc<Restriction>],
        target: &Target,
        rows: f64,
        quals: EvalCost,
    ) -> Result<Cost> {
        let s = self.env.settings;
        let r = &self.rels[rel];
        let sel = self.list_selectivity(tid_quals, r.rtindex, None)?;
        let pages = (sel * r.pages).ceil().max(1.0);
        let tuples = sel * r.tuples;
        let run = (pages - 1.0) * s.seq_page_cost
            + s.random_page_cost
            + (s.cpu_tuple_cost + quals.per_row - s.cpu_operator_cost * tid_quals.len() as f64)
                .max(s.cpu_tuple_cost)
                * tuples
            + target.cost.1 * rows;
        let startup = quals.startup + target.cost.0;
        Ok(Cost { startup, total: startup + run, disabled: u32::from(!s.enable_tidscan) })
    }

    /// Rows that come from a function, a list, a CTE or a work table.
    pub fn cost_simple_scan(
        &self,
        input_startup: f64,
        input_total: f64,
        tuples: f64,
        per_tuple_extra: f64,
        target: &Target,
        rows: f64,
        quals: EvalCost,
    ) -> Cost {
        let s = self.env.settings;
        let startup = input_startup + quals.startup + target.cost.0;
        let run = input_total - input_startup
            + (s.cpu_tuple_cost + per_tuple_extra + quals.per_row) * tuples
            + target.cost.1 * rows;
        Cost { startup, total: startup + run, disabled: 0 }
    }

    /// The conditions of a relation that an index path does not settle by itself.
    pub fn unsettled(
        &self,
        restrictions: &[Rc<Restriction>],
        path: &IndexPath,
    ) -> Vec<Rc<Restriction>> {
        restrictions
            .iter()
            .filter(|r| {
                !path.clauses.iter().any(|c| {
                    !c.lossy
                        && (c.origin.serial == r.serial
                            || r.parent_ec.is_some()
                                && c.origin.parent_ec == r.parent_ec
                                && c.origin.clause == r.clause)
                })
            })
            .cloned()
            .collect()
    }
}

fn total_index_pages(tree: &BitmapTree) -> f64 {
    match tree {
        BitmapTree::Index(p) => p.info.pages,
        BitmapTree::And { parts, .. } | BitmapTree::Or { parts, .. } => {
            parts.iter().map(total_index_pages).sum()
        }
    }
}

/// The conditions with those of a partial index that they do not imply word for word.
fn with_predicate(
    root: &Root,
    info: &IndexInfo,
    quals: &[Rc<Restriction>],
) -> Result<Vec<Rc<Restriction>>> {
    let mut all = quals.to_vec();
    for p in &info.predicate {
        if !quals.iter().any(|q| q.clause == *p) {
            all.push(root.restriction(p.clone(), Default::default())?);
        }
    }
    Ok(all)
}
