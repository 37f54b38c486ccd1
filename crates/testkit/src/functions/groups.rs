//! Calls that take many rows: aggregates in all their forms, and window functions.

use super::calls::{Call, Kind};
use super::values::{Combination, Values};

/// Frames that window functions and moving aggregates are tried in. The order is a whole one, so
/// that there is one right answer.
const FRAMES: [&str; 5] = [
    "ORDER BY @",
    "ORDER BY @ ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    "PARTITION BY c0 % 3 ORDER BY @ ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ORDER BY @ GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW",
    "ORDER BY @ ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING",
];

/// What makes a plan parallel however few rows there are: states are then written, read and
/// combined.
const PARALLEL: &str = "SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; \
                        SET LOCAL min_parallel_table_scan_size = 0";

/// The statements that try a call that takes many rows.
pub(super) fn statements(call: &Call, values: &Values, all: &[Combination]) -> Vec<String> {
    match call.kind {
        Kind::Ordered(direct) => ordered(call, values, direct),
        Kind::Window => window(call, values, all),
        _ => aggregate(call, all),
    }
}

fn aggregate(call: &Call, all: &[Combination]) -> Vec<String> {
    let columns = call.columns();
    let expression = call.expression(&columns);
    if columns.is_empty() {
        return vec![format!("SELECT {expression} FROM edge_text")];
    }
    let (rows, numbers, list) = (call.rows(all), call.numbers(), columns.join(", "));
    let with = |what: &str| expression.replacen(&format!("({list})"), &format!("({what})"), 1);
    // Sums depend on the order of what is summed.
    let sorted = with(&format!("{list} ORDER BY {numbers}"));
    let mut out = vec![
        format!("SELECT {sorted} FROM {rows}"),
        format!("SELECT {} FROM {rows}", with(&format!("DISTINCT {list}"))),
        format!("SELECT {sorted} FROM {rows} WHERE false"),
        format!("SELECT c0 % 3, {sorted} FROM {rows} GROUP BY 1"),
        format!("SELECT c0, {sorted} FROM {rows} GROUP BY GROUPING SETS ((c0), ())"),
    ];
    if let [one] = call.arguments.as_slice() {
        let from = format!("FROM \"edge_{one}\" a0");
        out.push(format!("{PARALLEL}; SELECT {expression} {from}"));
        out.push(format!("{PARALLEL}; SELECT i % 3, {expression} {from} GROUP BY 1"));
    }
    // Where one value spoils the whole, others do not.
    for part in 0..8 {
        let filter = format!("FILTER (WHERE c0 % 8 = {part})");
        out.push(format!("SELECT {sorted} {filter} FROM {rows}"));
    }
    out.extend(frames(&numbers, &format!("{numbers}, {expression}"), &rows));
    out
}

fn frames(order: &str, what: &str, rows: &str) -> Vec<String> {
    let frame = |f: &&str| {
        let f = f.replace('@', order);
        format!("SELECT {what} OVER ({f}) FROM {rows}")
    };
    FRAMES.iter().map(frame).collect()
}

fn window(call: &Call, values: &Values, all: &[Combination]) -> Vec<String> {
    let series = "generate_series(1, 20) c0";
    if call.arguments.is_empty() {
        let call = call.expression(&[]);
        let mut out = frames("c0", &format!("c0, {call}"), series);
        // Peers, but for what numbers them apart.
        if !call.contains("row_number") {
            out.extend(frames("c0 / 4", &format!("c0, {call}"), series));
        }
        return out;
    }
    let (rows, numbers) = (call.rows(all), call.numbers());
    let mut out =
        frames(&numbers, &format!("{numbers}, {}", call.expression(&call.columns())), &rows);
    for combination in all.iter().take(60) {
        let call = call.expression(&call.constants(values, combination));
        out.extend(frames("c0", &format!("c0, {call}"), series).into_iter().take(2));
    }
    out
}

fn ordered(call: &Call, values: &Values, direct: usize) -> Vec<String> {
    // The arguments of a hypothetical row are of the types that are ordered.
    let sorted = call.arguments.get(direct).or(call.arguments.first());
    let Some(sorted) = sorted else { return Vec::new() };
    let direct = call.arguments[..direct].to_vec();
    let combinations = values.combinations(&direct, 60);
    let mut out = Vec::new();
    for c in combinations {
        let call = call.expression(&call.constants(values, &c));
        let from = format!("FROM \"edge_{sorted}\" a");
        let (even, none) = ("i % 2 = 0", "false");
        for (order, condition) in
            [("a.v", "i > 0"), ("a.v DESC", "true"), ("a.v", even), ("a.v", none)]
        {
            out.push(format!(
                "SELECT {call} WITHIN GROUP (ORDER BY {order}) FILTER (WHERE {condition}) {from}"
            ));
        }
        out.push(format!(
            "SELECT i % 3, {call} WITHIN GROUP (ORDER BY a.v NULLS FIRST) {from} GROUP BY 1"
        ));
    }
    out
}
