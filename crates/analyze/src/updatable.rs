//! Which views may be modified without a rule or a trigger, and why the others may not.

use ir::{Expr, FromItem, Query, RteKind, SetOperand};

/// The entry of the one relation that a view's query reads, if it is simple enough.
pub(crate) fn base_entry(query: &Query) -> Option<u32> {
    match &query.jointree.items[..] {
        [FromItem::Table(n)] => Some(*n),
        _ => None,
    }
}

/// Why the query of a view cannot be modified through; with `columns` one without a single
/// updatable column is refused too.
pub fn query_reason(query: &Query, columns: bool) -> Option<&'static str> {
    if !query.distinct_clause.is_empty() {
        return Some("Views containing DISTINCT are not automatically updatable.");
    }
    if !query.group_clause.is_empty() || !query.grouping_sets.is_empty() {
        return Some("Views containing GROUP BY are not automatically updatable.");
    }
    if query.having.is_some() {
        return Some("Views containing HAVING are not automatically updatable.");
    }
    if let Some(op) = &query.set_operations {
        debug_assert!(matches!(op.left, SetOperand::Table(_) | SetOperand::Operation(_)));
        let reason =
            "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.";
        return Some(reason);
    }
    if !query.ctes.is_empty() {
        return Some("Views containing WITH are not automatically updatable.");
    }
    if query.limit_count.is_some() || query.limit_offset.is_some() {
        return Some("Views containing LIMIT or OFFSET are not automatically updatable.");
    }
    if query.has_aggs {
        return Some("Views that return aggregate functions are not automatically updatable.");
    }
    if query.has_window_funcs {
        return Some("Views that return window functions are not automatically updatable.");
    }
    if query.has_target_srfs {
        return Some("Views that return set-returning functions are not automatically updatable.");
    }
    let single =
        "Views that do not select from a single table or view are not automatically updatable.";
    let Some(entry) = base_entry(query) else { return Some(single) };
    match &query.rte(entry).kind {
        RteKind::Relation { relkind: 'r' | 'f' | 'v' | 'p', sample, .. } => {
            if sample.is_some() {
                return Some("Views containing TABLESAMPLE are not automatically updatable.");
            }
        }
        _ => return Some(single),
    }
    if columns && !query.target_list.iter().any(|t| column_reason(entry, t).is_none()) {
        return Some("Views that have no updatable columns are not automatically updatable.");
    }
    None
}

/// The column of its base relation that a column of an updatable view is, if it is one.
pub fn base_column(query: &Query, number: usize) -> Option<i16> {
    let entry = base_entry(query)?;
    let target = query.target_list.iter().filter(|t| !t.junk).nth(number.checked_sub(1)?)?;
    match &target.expr {
        Expr::Var(v) if column_reason(entry, target).is_none() => Some(v.attno),
        _ => None,
    }
}

/// Why a column of a view cannot be assigned to.
pub(crate) fn column_reason(entry: u32, target: &ir::TargetEntry) -> Option<&'static str> {
    let other = "View columns that are not columns of their base relation are not updatable.";
    if target.junk {
        return Some(other);
    }
    match &target.expr {
        Expr::Var(v) if v.varno == entry && v.levels_up == 0 => match v.attno {
            n if n < 0 => Some("View columns that refer to system columns are not updatable."),
            0 => Some("View columns that return whole-row references are not updatable."),
            _ => None,
        },
        _ => Some(other),
    }
}
