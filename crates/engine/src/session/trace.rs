//! What developers ask for: trees of statements (`debug_print_*`), what the stages of a statement
//! took (`log_*_stats`), and numbers of queries that are alike (`compute_query_id`).

use super::core::SessionCore;
use crate::log::message;
use crate::settings::SessionSettings;
use ir::Query;
use os::process::Usage;
use std::fmt::Debug;

/// The settings, looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Some of what follows is on.
    pub any: bool,
    parse_tree: bool,
    rewritten: bool,
    plan_tree: bool,
    pretty: bool,
    /// `log_parser_stats`
    pub parser: bool,
    /// `log_planner_stats`
    pub planner: bool,
    /// `log_executor_stats`
    pub executor: bool,
    /// `log_statement_stats`
    pub statement: bool,
    /// Numbers of queries are computed.
    pub query_ids: bool,
    /// EXPLAIN does not tell them.
    pub hides_query_ids: bool,
}

impl Trace {
    /// Looks them up.
    pub fn new(s: &SessionSettings) -> Trace {
        let ids = s.str("compute_query_id");
        let mut all = Trace {
            any: false,
            parse_tree: s.bool("debug_print_parse"),
            rewritten: s.bool("debug_print_rewritten"),
            plan_tree: s.bool("debug_print_plan"),
            pretty: s.bool("debug_pretty_print"),
            parser: s.bool("log_parser_stats"),
            planner: s.bool("log_planner_stats"),
            executor: s.bool("log_executor_stats"),
            statement: s.bool("log_statement_stats"),
            // Nothing here asks for them by itself, so that "auto" is as good as off.
            query_ids: matches!(ids, "on" | "regress"),
            hides_query_ids: ids == "regress",
        };
        let trees = all.parse_tree || all.rewritten || all.plan_tree;
        let stats = all.parser || all.planner || all.executor || all.statement;
        all.any = trees || stats || all.query_ids;
        all
    }
}

/// What was used when a stage began.
pub struct Meter(Usage);

impl Meter {
    /// Begins to measure, if it is wanted.
    pub fn begin(wanted: bool) -> Option<Meter> {
        wanted.then(|| Meter(os::process::thread_usage()))
    }

    /// As lines about long work end.
    pub fn cpu(&self) -> String {
        let (a, b) = (&self.0, &os::process::thread_usage());
        let seconds = |micros: i64| micros as f64 / 1e6;
        format!(
            "CPU: user: {:.2} s, system: {:.2} s, elapsed: {:.2} s",
            seconds(b.user - a.user),
            seconds(b.system - a.system),
            seconds(b.at - a.at)
        )
    }

    fn text(&self) -> String {
        let (a, b) = (&self.0, &os::process::thread_usage());
        let seconds = |micros: i64| micros as f64 / 1e6;
        let counts = |get: fn(&Usage) -> i64| (get(b) - get(a), get(b));
        let (input, output) = (counts(|u| u.blocks_in), counts(|u| u.blocks_out));
        let (faults, reclaims) = (counts(|u| u.faults), counts(|u| u.reclaims));
        let (waits, turns) = (counts(|u| u.waits), counts(|u| u.turns));
        format!(
            "! system usage stats:\n\
             !\t{:.6} s user, {:.6} s system, {:.6} s elapsed\n\
             !\t[{:.6} s user, {:.6} s system total]\n\
             !\t{} kB max resident size\n\
             !\t{}/{} [{}/{}] filesystem blocks in/out\n\
             !\t{}/{} [{}/{}] page faults/reclaims, 0 [0] swaps\n\
             !\t0 [0] signals rcvd, 0/0 [0/0] messages rcvd/sent\n\
             !\t{}/{} [{}/{}] voluntary/involuntary context switches",
            seconds(b.user - a.user),
            seconds(b.system - a.system),
            seconds(b.at - a.at),
            seconds(b.user),
            seconds(b.system),
            b.resident_kb,
            input.0,
            output.0,
            input.1,
            output.1,
            faults.0,
            reclaims.0,
            faults.1,
            reclaims.1,
            waits.0,
            turns.0,
            waits.1,
            turns.1,
        )
    }
}

impl SessionCore {
    /// Tells what a stage took since `meter` began.
    pub(crate) fn measured(&self, meter: Option<Meter>, title: &str) {
        if let Some(meter) = meter {
            self.notice(message(title).detail(meter.text()));
        }
    }

    fn show_tree(&self, title: &str, tree: &dyn Debug) {
        let text = match self.resolved().trace.pretty {
            true => format!("{tree:#?}"),
            false => format!("{tree:?}"),
        };
        self.notice(message(format!("{title}:")).detail(text));
    }

    /// A statement was analysed.
    pub(crate) fn show_parsed(&self, query: &Query) {
        if self.resolved().trace.parse_tree {
            self.show_tree("parse tree", query);
        }
    }

    /// And rewritten.
    pub(crate) fn show_rewritten(&self, queries: &[Query]) {
        if self.resolved().trace.rewritten {
            self.show_tree("rewritten parse tree", &queries);
        }
    }

    /// And planned.
    pub(crate) fn show_plan(&self, plan: &ir::PlannedStmt) {
        if self.resolved().trace.plan_tree {
            self.show_tree("plan", plan);
        }
    }
}

/// A number for a query: the same for queries that differ in nothing but constants, and never 0.
pub fn query_id(query: &Query) -> i64 {
    let tree = serde_json::to_value(query).unwrap_or_default();
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    hash.value(&tree);
    hash.finish()
}

/// A number for a statement that is no query.
pub fn text_id(text: &str) -> i64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    hash.bytes(text.trim().trim_end_matches(';').as_bytes());
    hash.finish()
}

/// FNV-1a over a tree, with what does not make a query another one left out.
struct Hash(u64);

impl Hash {
    fn bytes(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        }
        self.0 = (self.0 ^ 0xff).wrapping_mul(0x0100_0000_01b3);
    }

    fn value(&mut self, value: &serde_json::Value) {
        use serde_json::Value;
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    match (key.as_str(), value) {
                        ("location" | "length", _) => {}
                        ("Const", Value::Object(constant)) => {
                            // Of a constant only its type counts.
                            self.bytes(b"Const");
                            constant.get("ty").into_iter().for_each(|ty| self.value(ty));
                        }
                        _ => {
                            self.bytes(key.as_bytes());
                            self.value(value);
                        }
                    }
                }
            }
            Value::Array(all) => {
                self.bytes(&all.len().to_le_bytes());
                all.iter().for_each(|v| self.value(v));
            }
            Value::String(text) => self.bytes(text.as_bytes()),
            other => self.bytes(other.to_string().as_bytes()),
        }
    }

    fn finish(mut self) -> i64 {
        // The last bytes of what was hashed reach the upper bits.
        self.0 ^= self.0 >> 32;
        self.0 = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
        if self.0 == 0 { 1 } else { self.0 as i64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_told_in_seven_lines() {
        let meter = Meter::begin(true).unwrap();
        assert!(Meter::begin(false).is_none());
        let text = meter.text();
        assert_eq!(text.lines().count(), 8);
        assert!(text.ends_with("voluntary/involuntary context switches"));
    }

    #[test]
    fn statements_that_are_alike() {
        assert_eq!(text_id("vacuum t;"), text_id(" vacuum t"));
        assert_ne!(text_id("vacuum t"), text_id("vacuum u"));
    }
}
