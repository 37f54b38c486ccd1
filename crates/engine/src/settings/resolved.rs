//! The settings that every statement reads, looked up once after a change instead of by name.

use super::SessionSettings;
use base::settings::SettingValue;
use executor::ExecSettings;
use os::sync::Mutex;
use parser::ParseOptions;
use planner::PlannerSettings;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use txn::Isolation;
use types::datetime::TimeZone;
use types::encoding::Encoding;
use types::io::{ByteaOutput, DateOrder, DateStyle, Format, IntervalStyle};

/// `plan_cache_mode`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlanCacheMode {
    /// By cost.
    Auto,
    /// Always for the parameters given.
    ForceCustom,
    /// Always for any parameters.
    ForceGeneric,
}

/// The modes a transaction begins with, or has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionModes {
    /// Its isolation level.
    pub isolation: Isolation,
    /// It may not write.
    pub read_only: bool,
    /// It may wait for a snapshot that cannot fail.
    pub deferrable: bool,
}

/// Settings in force, resolved.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Of the settings they were taken from.
    pub version: u64,
    /// The same in all sessions whose settings agree as far as plans depend on them.
    pub plan_version: u64,
    /// The same for all that a statement's text can depend on: how it is parsed and what its
    /// literals mean.
    pub text_version: u64,
    /// How texts of statements are read.
    pub parse: ParseOptions,
    /// How values are read and written.
    pub format: Format,
    /// `search_path`
    pub search_path: Arc<str>,
    /// What the planner looks at.
    pub planner: PlannerSettings,
    /// What operators look at.
    pub exec: ExecSettings,
    /// `row_security`
    pub row_security: bool,
    /// `restrict_nonsystem_relation_kind` has views.
    pub restrict_views: bool,
    /// `quote_all_identifiers`
    pub quote_all: bool,
    /// `max_stack_depth`, in kB.
    pub stack_depth: u32,
    /// `exit_on_error`: an error ends the session.
    pub exit_on_error: bool,
    /// `track_activities`: others may see what the session does.
    pub track_activities: bool,
    /// `plan_cache_mode`
    pub plan_cache_mode: PlanCacheMode,
    /// `default_transaction_*`
    pub default_modes: TransactionModes,
    /// `transaction_*`
    pub modes: TransactionModes,
    /// `synchronous_commit` is not off.
    pub synchronous: bool,
    /// `statement_timeout`, if there is one.
    pub statement_timeout: Option<Duration>,
    /// `lock_timeout` in milliseconds; 0 is none.
    pub lock_timeout_ms: u32,
    /// `deadlock_timeout` in milliseconds.
    pub deadlock_timeout_ms: u32,
    /// `idle_session_timeout` in milliseconds; 0 is none.
    pub idle_session_timeout_ms: u64,
    /// `idle_in_transaction_session_timeout` in milliseconds; 0 is none.
    pub idle_in_transaction_timeout_ms: u64,
    /// `transaction_timeout`, if there is one.
    pub transaction_timeout: Option<Duration>,
    /// `client_connection_check_interval` in milliseconds; 0 is never.
    pub client_check_ms: u32,
    /// What is logged.
    pub log: crate::session::LogSettings,
    /// What developers want to see.
    pub trace: crate::session::trace::Trace,
    /// `zero_damaged_pages`
    pub zero_damaged_pages: bool,
    /// `ignore_checksum_failure`
    pub ignore_checksums: bool,
    /// `default_toast_compression`
    pub toast_compression: types::tuple::Compression,
    /// `wal_compression`
    pub wal_compression: Option<wal::ImageCompression>,
    /// `track_counts`
    pub track_counts: bool,
    /// `track_functions`
    pub track_functions: TrackFunctions,
    _timing: Timing,
}

/// `track_functions`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrackFunctions {
    /// None of them are counted.
    None,
    /// Those in procedural languages.
    Procedural,
    /// Those in SQL and C too.
    All,
}

/// `track_io_timing` and `track_wal_io_timing`: everybody is timed for as long as somebody wants
/// one of them.
#[derive(Debug, Default)]
pub(crate) struct Timing {
    io: bool,
    wal: bool,
}

/// How many want each.
static TIMING: Mutex<(usize, usize)> = Mutex::new((0, 0));

impl Timing {
    /// Wants these until it is dropped.
    pub fn new(io: bool, wal: bool) -> Timing {
        if io || wal {
            Timing::change(|wanted| {
                wanted.0 += usize::from(io);
                wanted.1 += usize::from(wal);
            });
        }
        Timing { io, wal }
    }

    fn change(change: impl FnOnce(&mut (usize, usize))) {
        let mut wanted = TIMING.lock();
        change(&mut wanted);
        buffer::counts::set_timed(wanted.0 > 0);
        wal::set_timed(wanted.1 > 0);
    }
}

impl Clone for Timing {
    fn clone(&self) -> Timing {
        Timing::new(self.io, self.wal)
    }
}

impl Drop for Timing {
    fn drop(&mut self) {
        if self.io || self.wal {
            Timing::change(|wanted| {
                wanted.0 -= usize::from(self.io);
                wanted.1 -= usize::from(self.wal);
            });
        }
    }
}

/// Some session has had a limit on how long it may be idle, or on its transactions.
static TIMEOUTS_USED: AtomicBool = AtomicBool::new(false);

/// True if idle sessions have to be looked at often.
pub fn timeouts_used() -> bool {
    TIMEOUTS_USED.load(Ordering::Relaxed)
}

impl Resolved {
    /// Looks the settings up; `before` is what was in force until now.
    pub(super) fn new(s: &SessionSettings, before: Option<&Resolved>) -> Resolved {
        let timeout = s.i64("statement_timeout");
        if let Some(temp) = &s.temp {
            temp.set_limit_kb(s.i64("temp_file_limit"));
        }
        let mut new = Resolved {
            log: crate::session::LogSettings::new(s),
            trace: crate::session::trace::Trace::new(s),
            version: s.version(),
            plan_version: 0,
            text_version: 0,
            parse: ParseOptions {
                standard_conforming_strings: s.bool("standard_conforming_strings"),
                escape_string_warning: s.bool("escape_string_warning"),
                backslash_quote: match s.str("backslash_quote") {
                    "off" => false,
                    // A quote could be the end of a character in the others.
                    "safe_encoding" => Encoding::from_name(s.str("client_encoding"))
                        .is_none_or(Encoding::is_for_servers),
                    _ => true,
                },
                transform_null_equals: s.bool("transform_null_equals"),
            },
            format: format_of(s),
            search_path: Arc::from(s.str("search_path")),
            planner: planner_settings(s),
            exec: ExecSettings {
                work_mem: (s.i64("work_mem") as usize) << 10,
                hash_mem_multiplier: s.f64("hash_mem_multiplier"),
                temp: s.temp.clone(),
                leader_participates: s.bool("parallel_leader_participation"),
                log_lock_failures: s.bool("log_lock_failures"),
                synchronize_scans: s.bool("synchronize_seqscans"),
            },
            row_security: s.bool("row_security"),
            restrict_views: super::split_list(s.str("restrict_nonsystem_relation_kind"))
                .is_some_and(|kinds| kinds.iter().any(|k| k == "view")),
            quote_all: s.bool("quote_all_identifiers"),
            stack_depth: s.i64("max_stack_depth").clamp(100, u32::MAX.into()) as u32,
            exit_on_error: s.bool("exit_on_error"),
            track_activities: s.bool("track_activities"),
            zero_damaged_pages: s.bool("zero_damaged_pages"),
            ignore_checksums: s.bool("ignore_checksum_failure"),
            toast_compression: match s.str("default_toast_compression") {
                "lz4" => types::tuple::Compression::Lz4,
                _ => types::tuple::Compression::Pglz,
            },
            wal_compression: wal::ImageCompression::from_setting(s.str("wal_compression")),
            track_counts: s.bool("track_counts"),
            track_functions: match s.str("track_functions") {
                "all" => TrackFunctions::All,
                "pl" => TrackFunctions::Procedural,
                _ => TrackFunctions::None,
            },
            _timing: Timing::new(s.bool("track_io_timing"), s.bool("track_wal_io_timing")),
            plan_cache_mode: match s.str("plan_cache_mode") {
                "force_custom_plan" => PlanCacheMode::ForceCustom,
                "force_generic_plan" => PlanCacheMode::ForceGeneric,
                _ => PlanCacheMode::Auto,
            },
            default_modes: modes(s, "default_transaction_"),
            modes: modes(s, "transaction_"),
            synchronous: s.str("synchronous_commit") != "off",
            transaction_timeout: Some(s.i64("transaction_timeout"))
                .filter(|t| *t > 0)
                .map(|t| Duration::from_millis(t as u64)),
            client_check_ms: s.i64("client_connection_check_interval").max(0) as u32,
            statement_timeout: (timeout > 0).then(|| Duration::from_millis(timeout as u64)),
            lock_timeout_ms: s.i64("lock_timeout").max(0) as u32,
            deadlock_timeout_ms: s.i64("deadlock_timeout").max(0) as u32,
            idle_session_timeout_ms: s.i64("idle_session_timeout").max(0) as u64,
            idle_in_transaction_timeout_ms: s.i64("idle_in_transaction_session_timeout").max(0)
                as u64,
        };
        if !s.bool("track_counts") {
            executor::counts::allow_off();
        }
        if new.idle_session_timeout_ms > 0
            || new.idle_in_transaction_timeout_ms > 0
            || new.transaction_timeout.is_some()
        {
            TIMEOUTS_USED.store(true, Ordering::Relaxed);
        }
        new.number_versions(s, before);
        new
    }

    /// Numbers what plans and texts depend on; `before` often has the same.
    fn number_versions(&mut self, s: &SessionSettings, before: Option<&Resolved>) {
        let same_plans = before.filter(|old| {
            old.planner == self.planner
                && old.search_path == self.search_path
                && old.row_security == self.row_security
                && old.restrict_views == self.restrict_views
        });
        if let Some(old) = same_plans {
            self.plan_version = old.plan_version;
            self.search_path = old.search_path.clone();
            if old.parse == self.parse && old.format == self.format {
                self.text_version = old.text_version;
                return;
            }
        } else {
            self.plan_version = number_of(format!(
                "{:?} {} {} {}",
                self.planner, self.search_path, self.row_security, self.restrict_views
            ));
        }
        let names = ["DateStyle", "IntervalStyle", "TimeZone", "bytea_output", "xmloption"];
        let names = names.iter().chain(&["xmlbinary", "array_nulls", "extra_float_digits"]);
        let values: Vec<String> = names.map(|name| s.show(name).unwrap_or_default()).collect();
        self.text_version = number_of(format!("{} {:?} {values:?}", self.plan_version, self.parse));
    }
}

/// How many settings have numbers; beyond that they get new ones.
const MOST_NUMBERS: usize = 4096;

/// The number of this description; equal ones have the same, as long as it is remembered.
fn number_of(description: String) -> u64 {
    static NUMBERS: Mutex<Option<(u64, HashMap<String, u64>)>> = Mutex::new(None);
    let mut numbers = NUMBERS.lock();
    let (last, known) = numbers.get_or_insert_default();
    if known.len() >= MOST_NUMBERS {
        known.clear();
    }
    *known.entry(description).or_insert_with(|| {
        *last += 1;
        *last
    })
}

fn modes(s: &SessionSettings, prefix: &str) -> TransactionModes {
    TransactionModes {
        isolation: isolation_named(s.str(&format!("{prefix}isolation"))),
        read_only: s.bool(&format!("{prefix}read_only")),
        deferrable: s.bool(&format!("{prefix}deferrable")),
    }
}

/// The level of this name.
pub fn isolation_named(name: &str) -> Isolation {
    match name {
        "read uncommitted" => Isolation::ReadUncommitted,
        "repeatable read" => Isolation::RepeatableRead,
        "serializable" => Isolation::Serializable,
        _ => Isolation::ReadCommitted,
    }
}

/// The value of `transaction_isolation` for a level.
pub fn isolation_value(level: Isolation) -> SettingValue {
    SettingValue::Text(Arc::from(match level {
        Isolation::ReadUncommitted => "read uncommitted",
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
    }))
}

fn format_of(s: &SessionSettings) -> Format {
    let (style, order) = s.str("DateStyle").split_once(", ").unwrap_or(("ISO", "MDY"));
    let zone = s.str("TimeZone");
    Format {
        date_style: match style {
            "SQL" => DateStyle::Sql,
            "Postgres" => DateStyle::Postgres,
            "German" => DateStyle::German,
            _ => DateStyle::Iso,
        },
        date_order: match order {
            "DMY" => DateOrder::Dmy,
            "YMD" => DateOrder::Ymd,
            _ => DateOrder::Mdy,
        },
        interval_style: match s.str("IntervalStyle") {
            "postgres_verbose" => IntervalStyle::PostgresVerbose,
            "sql_standard" => IntervalStyle::SqlStandard,
            "iso_8601" => IntervalStyle::Iso8601,
            _ => IntervalStyle::Postgres,
        },
        extra_float_digits: s.i64("extra_float_digits") as i32,
        bytea_output: match s.str("bytea_output") {
            "escape" => ByteaOutput::Escape,
            _ => ByteaOutput::Hex,
        },
        xml_document: s.str("xmloption") == "document",
        xml_base64: s.str("xmlbinary") == "base64",
        array_nulls: s.bool("array_nulls"),
        client_encoding: Encoding::from_name(s.str("client_encoding")).unwrap_or(Encoding::UTF8),
        timezone: TimeZone::by_name(zone).unwrap_or_else(TimeZone::utc),
    }
}

/// The planner's settings in force.
fn planner_settings(s: &SessionSettings) -> PlannerSettings {
    PlannerSettings {
        seq_page_cost: s.f64("seq_page_cost"),
        random_page_cost: s.f64("random_page_cost"),
        cpu_tuple_cost: s.f64("cpu_tuple_cost"),
        cpu_index_tuple_cost: s.f64("cpu_index_tuple_cost"),
        cpu_operator_cost: s.f64("cpu_operator_cost"),
        parallel_tuple_cost: s.f64("parallel_tuple_cost"),
        parallel_setup_cost: s.f64("parallel_setup_cost"),
        effective_cache_size: s.f64("effective_cache_size"),
        work_mem: s.f64("work_mem") * 1024.0,
        hash_mem_multiplier: s.f64("hash_mem_multiplier"),
        cursor_tuple_fraction: s.f64("cursor_tuple_fraction"),
        recursive_worktable_factor: s.f64("recursive_worktable_factor"),
        default_statistics_target: s.i64("default_statistics_target") as u32,
        from_collapse_limit: s.i64("from_collapse_limit") as usize,
        join_collapse_limit: s.i64("join_collapse_limit") as usize,
        geqo: s.bool("geqo"),
        geqo_threshold: s.i64("geqo_threshold") as usize,
        max_parallel_workers_per_gather: s.i64("max_parallel_workers_per_gather") as u32,
        min_parallel_table_scan_size: s.f64("min_parallel_table_scan_size"),
        min_parallel_index_scan_size: s.f64("min_parallel_index_scan_size"),
        parallel_leader_participation: s.bool("parallel_leader_participation"),
        enable_seqscan: s.bool("enable_seqscan"),
        enable_indexscan: s.bool("enable_indexscan"),
        enable_indexonlyscan: s.bool("enable_indexonlyscan"),
        enable_bitmapscan: s.bool("enable_bitmapscan"),
        enable_tidscan: s.bool("enable_tidscan"),
        enable_sort: s.bool("enable_sort"),
        enable_incremental_sort: s.bool("enable_incremental_sort"),
        enable_presorted_aggregate: s.bool("enable_presorted_aggregate"),
        enable_self_join_elimination: s.bool("enable_self_join_elimination"),
        enable_group_by_reordering: s.bool("enable_group_by_reordering"),
        enable_distinct_reordering: s.bool("enable_distinct_reordering"),
        enable_hashagg: s.bool("enable_hashagg"),
        enable_nestloop: s.bool("enable_nestloop"),
        enable_mergejoin: s.bool("enable_mergejoin"),
        enable_hashjoin: s.bool("enable_hashjoin"),
        enable_material: s.bool("enable_material"),
        enable_memoize: s.bool("enable_memoize"),
        enable_gathermerge: s.bool("enable_gathermerge"),
        enable_parallel_append: s.bool("enable_parallel_append"),
        enable_parallel_hash: s.bool("enable_parallel_hash"),
        debug_parallel_query: s.str("debug_parallel_query").to_string(),
        enable_partition_pruning: s.bool("enable_partition_pruning"),
        enable_partitionwise_join: s.bool("enable_partitionwise_join"),
        enable_partitionwise_aggregate: s.bool("enable_partitionwise_aggregate"),
        constraint_exclusion: s.str("constraint_exclusion").to_string(),
    }
}
