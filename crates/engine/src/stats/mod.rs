//! Counters of the server: what the `pg_stat_*` views show.

mod server;

pub(crate) use server::CheckpointerStats;

/// All counters.
#[derive(Default)]
pub(crate) struct Stats {
    /// `pg_stat_checkpointer`
    pub checkpointer: CheckpointerStats,
}
