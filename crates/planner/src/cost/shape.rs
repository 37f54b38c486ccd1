//! Costs of sorting, grouping, materialising and limiting.

use super::{bytes_of, clamp_rows, pages_of};
use crate::cost::scan::Cost;
use crate::root::Root;
use base::Result;
use ir::{AggStrategy, Expr, walk};

/// What the aggregates of a query cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct AggCosts {
    /// Transition: once, and per input row.
    pub trans: (f64, f64),
    /// Final functions: once, and per group.
    pub final_: (f64, f64),
    /// Bytes of state beyond the fixed part.
    pub space: f64,
    pub count: usize,
}

fn merge_order(work_mem: f64) -> f64 {
    const TAPE_BUFFER: f64 = 8192.0;
    const MERGE_BUFFER: f64 = 8192.0 * 32.0;
    (work_mem / (2.0 * TAPE_BUFFER + MERGE_BUFFER)).floor().clamp(6.0, 500.0)
}

impl Root<'_> {
    /// Sorting `tuples` rows, of which the first `limit` are wanted (negative: all).
    pub fn cost_sort(&self, input: Cost, tuples: f64, width: i32, limit: f64) -> Cost {
        let s = self.env.settings;
        let (startup, run) = self.sort_only(tuples, width, limit);
        let startup = startup + input.total;
        Cost { startup, total: startup + run, disabled: input.disabled + u32::from(!s.enable_sort) }
    }

    /// The sort's own cost: before the first row, and after.
    pub fn sort_only(&self, tuples: f64, width: i32, limit: f64) -> (f64, f64) {
        let s = self.env.settings;
        let tuples = tuples.max(2.0);
        let comparison = 2.0 * s.cpu_operator_cost;
        let input_bytes = bytes_of(tuples, width);
        let (output, output_bytes) = if limit > 0.0 && limit < tuples {
            (limit, bytes_of(limit, width))
        } else {
            (tuples, input_bytes)
        };
        let startup = if output_bytes > s.work_mem {
            let pages = (input_bytes / 8192.0).ceil();
            let runs = input_bytes / s.work_mem;
            let order = merge_order(s.work_mem);
            let log_runs = if runs > order { (runs.ln() / order.ln()).ceil() } else { 1.0 };
            comparison * tuples * tuples.log2()
                + 2.0 * pages * log_runs * (s.seq_page_cost * 0.75 + s.random_page_cost * 0.25)
        } else if tuples > 2.0 * output || input_bytes > s.work_mem {
            comparison * tuples * (2.0 * output).log2()
        } else {
            comparison * tuples * tuples.log2()
        };
        (startup, s.cpu_operator_cost * tuples)
    }

    /// Sorting rows that come sorted by their first columns, in `groups` groups.
    pub fn cost_incremental_sort(
        &self,
        input: Cost,
        tuples: f64,
        width: i32,
        limit: f64,
        groups: f64,
    ) -> Cost {
        let s = self.env.settings;
        let tuples = tuples.max(2.0);
        let groups = groups.max(1.0);
        let group_tuples = tuples / groups;
        let group_input = (input.total - input.startup) / groups;
        let (g_startup, g_run) = self.sort_only(1.5 * group_tuples, width, limit);
        let startup = g_startup + input.startup + group_input;
        let run = g_run + (g_run + g_startup) * (groups - 1.0) + group_input * (groups - 1.0);
        let run = run
            + (s.cpu_tuple_cost + 2.0 * s.cpu_operator_cost) * tuples
            + 2.0 * s.cpu_tuple_cost * groups;
        let disabled = input.disabled + u32::from(!s.enable_incremental_sort || !s.enable_sort);
        Cost { startup, total: startup + run, disabled }
    }

    /// Keeping rows so that they can be read again.
    pub fn cost_material(&self, input: Cost, tuples: f64, width: i32) -> Cost {
        let s = self.env.settings;
        let bytes = bytes_of(tuples, width);
        let mut run = input.total - input.startup + 2.0 * s.cpu_operator_cost * tuples;
        if bytes > s.work_mem {
            run += s.seq_page_cost * (bytes / 8192.0).ceil();
        }
        let disabled = input.disabled + u32::from(!s.enable_material);
        Cost { startup: input.startup, total: input.startup + run, disabled }
    }

    /// Reading materialised rows again.
    pub fn rescan_material(&self, tuples: f64, width: i32) -> f64 {
        let s = self.env.settings;
        let mut run = s.cpu_operator_cost * tuples;
        let bytes = bytes_of(tuples, width);
        if bytes > s.work_mem {
            run += s.seq_page_cost * (bytes / 8192.0).ceil();
        }
        run
    }

    /// Costs of the aggregates in these expressions.
    pub fn agg_costs(&self, exprs: &[&Expr]) -> Result<AggCosts> {
        let mut seen: Vec<Expr> = Vec::new();
        for e in exprs {
            walk::each(e, &mut |x| {
                if matches!(x, Expr::Agg(a) if a.levels_up == 0) && !seen.contains(x) {
                    seen.push(x.clone());
                }
            });
        }
        let s = self.env.settings;
        let mut costs = AggCosts::default();
        for e in &seen {
            let Expr::Agg(a) = e else { continue };
            costs.count += 1;
            let agg = self.env.catalog.aggregate(a.agg)?;
            let call = |f: base::Oid| -> f64 {
                self.env.catalog.proc(f).map_or(1.0, |p| f64::from(p.cost)) * s.cpu_operator_cost
            };
            costs.trans.1 += call(agg.trans);
            if agg.final_.is_valid() {
                costs.final_.1 += call(agg.final_);
            }
            let args = self.eval_costs(a.args.iter().filter(|t| !t.junk).map(|t| &t.expr));
            costs.trans.0 += args.startup;
            costs.trans.1 += args.per_row;
            if let Some(f) = &a.filter {
                let one = self.eval_cost(f);
                costs.trans.0 += one.startup;
                costs.trans.1 += one.per_row;
            }
            let direct = self.eval_costs(&a.direct_args);
            costs.final_.0 += direct.startup;
            costs.final_.1 += direct.per_row;
            let ty = self.env.catalog.type_(agg.trans_type);
            if !ty.as_ref().is_ok_and(|t| t.by_val) {
                let width = if agg.trans_space > 0 {
                    f64::from(agg.trans_space)
                } else {
                    f64::from(self.type_width(agg.trans_type, -1))
                };
                costs.space += ((width + 7.0) / 8.0).floor() * 8.0 + 16.0;
            }
            if agg.trans_type == base::Oid(2281) {
                costs.space += 8192.0;
            }
        }
        Ok(costs)
    }

    /// Grouping and aggregating.
    #[allow(clippy::too_many_arguments)]
    pub fn cost_agg(
        &self,
        input: Cost,
        tuples: f64,
        width: i32,
        strategy: AggStrategy,
        costs: &AggCosts,
        columns: usize,
        groups: f64,
    ) -> Cost {
        let s = self.env.settings;
        let columns = columns as f64;
        let mut disabled = input.disabled;
        let (startup, mut total) = match strategy {
            AggStrategy::Plain => {
                let startup = input.total
                    + costs.trans.0
                    + costs.trans.1 * tuples
                    + costs.final_.0
                    + costs.final_.1;
                (startup, startup + s.cpu_tuple_cost)
            }
            AggStrategy::Sorted | AggStrategy::Mixed => {
                if strategy == AggStrategy::Mixed {
                    disabled += u32::from(!s.enable_hashagg);
                }
                let total = input.total
                    + costs.trans.0
                    + costs.trans.1 * tuples
                    + s.cpu_operator_cost * columns * tuples
                    + costs.final_.0
                    + costs.final_.1 * groups
                    + s.cpu_tuple_cost * groups;
                (input.startup, total)
            }
            AggStrategy::Hashed => {
                disabled += u32::from(!s.enable_hashagg);
                let startup = input.total
                    + costs.trans.0
                    + costs.trans.1 * tuples
                    + s.cpu_operator_cost * columns * tuples
                    + costs.final_.0;
                (startup, startup + costs.final_.1 * groups + s.cpu_tuple_cost * groups)
            }
        };
        let mut startup = startup;
        if strategy == AggStrategy::Hashed {
            // What does not fit in memory is written out and read again.
            let entry = self.hash_entry_size(costs, width);
            let limit = s.work_mem * s.hash_mem_multiplier;
            let batches = (groups * entry / limit).max((groups / (limit / entry)).ceil());
            if batches > 1.0 {
                let depth = (batches.ln() / 32f64.ln()).ceil().max(1.0);
                let pages = pages_of(tuples, width);
                let io = pages * depth * 2.0;
                startup += io * s.random_page_cost;
                total += io * s.random_page_cost + io * s.seq_page_cost;
                let cpu = depth * tuples * 2.0 * s.cpu_tuple_cost;
                startup += cpu;
                total += cpu;
            }
        }
        Cost { startup, total, disabled }
    }

    /// Bytes of a group in a hash table.
    pub fn hash_entry_size(&self, costs: &AggCosts, width: i32) -> f64 {
        f64::from(((width + 7) & !7) + 24) + costs.space + 8.0 * costs.count as f64 + 16.0 + 24.0
    }

    /// What a LIMIT leaves of a cost.
    pub fn cost_limit(
        &self,
        input: Cost,
        rows: f64,
        offset: Option<f64>,
        count: Option<f64>,
    ) -> (Cost, f64) {
        let (mut startup, mut total, mut left) = (input.startup, input.total, rows);
        let whole = rows;
        if let Some(o) = offset {
            let skipped = (if o > 0.0 { o } else { clamp_rows(whole * 0.10) }).min(left);
            if whole > 0.0 {
                startup += (input.total - input.startup) * skipped / whole;
            }
            left = (left - skipped).max(1.0);
        }
        if let Some(c) = count {
            let wanted = (if c > 0.0 { c } else { clamp_rows(whole * 0.10) }).min(left);
            if whole > 0.0 {
                total = startup + (input.total - input.startup) * wanted / whole;
            }
            left = wanted.max(1.0);
        }
        (Cost { startup, total, disabled: input.disabled }, left)
    }
}
