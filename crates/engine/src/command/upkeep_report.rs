//! What VACUUM and ANALYZE say about their work: to who asked with VERBOSE, and to the log about
//! automatic ones that took long.

use super::freeze::Advance;
use super::vacuum_cost::Cost;
use crate::Session;
use crate::session::trace::Meter;
use access::heap::{Sample, VacuumReport};
use base::{Error, PAGE_SIZE, Severity, SqlState, Xid};
use buffer::BufferUsage;
use std::sync::Arc;
use wal::WalUsage;

/// Who wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Told {
    /// Nobody.
    #[default]
    Nobody,
    /// The client.
    Client,
    /// The log, if it takes so many milliseconds at least.
    Log(i64),
}

/// What kind of vacuum it was, and what came of it for the oldest id of the table.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub aggressive: bool,
    /// Automatic, because of the age of the table's ids.
    pub against_wraparound: bool,
    /// Only freezing mattered.
    pub failsafe: bool,
    pub index_cleanup: bool,
    pub advance: Option<Advance>,
}

impl Kind {
    /// How the report begins.
    fn title(self, told: Told, name: &str) -> String {
        if !matches!(told, Told::Log(_)) {
            return format!("vacuuming \"{name}\": ");
        }
        let word = if self.aggressive { "aggressive " } else { "" };
        let why = if self.against_wraparound { " to prevent wraparound" } else { "" };
        format!("{word}vacuum{why} of table \"{name}\": ")
    }

    /// The line about the oldest id.
    fn advanced(self) -> Option<String> {
        let Advance { now, by } = self.advance?;
        Some(format!(
            "new relfrozenxid: {}, which is {by} XIDs ahead of previous value",
            now.0 as u32
        ))
    }
}

/// What was used since work began.
pub(super) struct Work {
    told: Told,
    meter: Meter,
    began: u64,
    buffers: BufferUsage,
    wal: WalUsage,
    cutoff: Xid,
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 100.0 } else { 100.0 * part as f64 / of as f64 }
}

impl Work {
    /// Work begins; None if nobody wants to know.
    pub fn begin(session: &Session, told: Told) -> Option<Work> {
        let meter = Meter::begin(told != Told::Nobody)?;
        Some(Work {
            told,
            meter,
            began: os::clock::monotonic_nanos(),
            buffers: BufferUsage::current(),
            wal: WalUsage::current(),
            cutoff: session.core.database.storage().txn.oldest_running(),
        })
    }

    /// Tells the client how it goes on.
    pub fn step(&self, session: &Session, text: String) {
        if self.told == Told::Client {
            let code = SqlState::SUCCESSFUL_COMPLETION;
            session.core.notice(Error::with_severity(Severity::Info, code, text));
        }
    }

    fn finish(&self, session: &Session, part: &str, lines: Vec<String>) {
        let text = lines.join("\n");
        match self.told {
            Told::Nobody => {}
            Told::Client => self.step(session, format!("finished {part}{text}")),
            Told::Log(least) => {
                let spent = (os::clock::monotonic_nanos() - self.began) / 1_000_000;
                if least >= 0 && spent >= least as u64 {
                    let text = crate::log::message(format!("automatic {part}{text}"));
                    session.core.database.log_as("autovacuum worker", &text);
                }
            }
        }
    }

    /// The lines about what was used.
    fn used(&self, session: &Session, delay_micros: Option<u64>) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(micros) = delay_micros {
            lines.push(format!("delay time: {:.3} ms", micros as f64 / 1000.0));
        }
        let b = BufferUsage::current() - self.buffers;
        if session.core.settings.lock().bool("track_io_timing") {
            let ms = |nanos: u64| nanos as f64 / 1e6;
            lines.push(format!(
                "I/O timings: read: {:.3} ms, write: {:.3} ms",
                ms(b.read_nanos[0]),
                ms(b.write_nanos[0])
            ));
        }
        let (hits, reads) = (b.shared_hit + b.local_hit, b.shared_read + b.local_read);
        let dirtied = b.shared_dirtied + b.local_dirtied;
        let seconds = (os::clock::monotonic_nanos() - self.began) as f64 / 1e9;
        let rate = |pages: u64| match seconds > 0.0 {
            true => pages as f64 * PAGE_SIZE as f64 / f64::from(1 << 20) / seconds,
            false => 0.0,
        };
        lines.push(format!(
            "avg read rate: {:.3} MB/s, avg write rate: {:.3} MB/s",
            rate(reads),
            rate(dirtied)
        ));
        lines.push(format!("buffer usage: {hits} hits, {reads} reads, {dirtied} dirtied"));
        let w = WalUsage::current() - self.wal;
        lines.push(format!(
            "WAL usage: {} records, {} full page images, {} bytes, {} buffers full",
            w.records, w.images, w.bytes, w.buffers_full
        ));
        lines.push(format!("system usage: {}", self.meter.cpu()));
        lines
    }

    /// A table was vacuumed. `indexes` are the names of its indexes.
    pub fn vacuumed(
        &self,
        session: &Session,
        (name, kind): (&str, Kind),
        indexes: &[Arc<str>],
        r: &VacuumReport,
        cost: &Cost,
    ) {
        let part = kind.title(self.told, name);
        let pages = u64::from(r.pages);
        let of = |n: u32| share(u64::from(n), pages);
        let next = session.core.database.storage().txn.next_xid();
        let mut lines = vec![
            format!("index scans: {}", r.index_passes),
            format!(
                "pages: {} removed, {} remain, {} scanned ({:.2}% of total), 0 eagerly scanned",
                r.removed_pages,
                r.pages - r.removed_pages,
                r.scanned,
                of(r.scanned)
            ),
            format!(
                "tuples: {} removed, {} remain, {} are dead but not yet removable",
                r.deleted, r.live_tuples as u64, r.recently_dead
            ),
            format!(
                "removable cutoff: {}, which was {} XIDs old when operation ended",
                self.cutoff.0 as u32,
                next.0.saturating_sub(self.cutoff.0)
            ),
        ];
        lines.extend(kind.advanced());
        lines.extend([
            format!(
                "frozen: {} pages from table ({:.2}% of total) had {} tuples frozen",
                r.frozen_pages,
                of(r.frozen_pages),
                r.frozen
            ),
            format!(
                "visibility map: {} pages set all-visible, {} pages set all-frozen ({} were \
                 all-visible)",
                r.new_all_visible, r.new_all_frozen, r.frozen_visible
            ),
        ]);
        let (scan, had, removed) = match (kind.failsafe, kind.index_cleanup, r.index_passes > 0) {
            (true, ..) => ("bypassed by failsafe", "have", ""),
            (_, false, _) => ("bypassed", "have", ""),
            (_, _, true) => ("needed", "had", " removed"),
            (_, _, false) => ("not needed", "had", " removed"),
        };
        lines.push(format!(
            "index scan {scan}: {} pages from table ({:.2}% of total) {had} {} dead item \
             identifiers{removed}",
            r.dead_item_pages,
            of(r.dead_item_pages),
            r.dead_items
        ));
        for (name, stats) in indexes.iter().zip(&r.indexes) {
            if r.index_passes > 0 || stats.deleted > 0 {
                lines.push(format!(
                    "index \"{name}\": pages: {} in total, {} newly deleted, {} currently \
                     deleted, {} reusable",
                    stats.pages, stats.newly_deleted, stats.deleted, stats.free
                ));
            }
        }
        lines.extend(self.used(session, cost.told_micros()));
        self.finish(session, &part, lines);
    }

    /// A sample of a table was taken.
    pub fn sampled(&self, session: &Session, table: &str, s: &Sample) {
        self.step(
            session,
            format!(
                "\"{table}\": scanned {} of {} pages, containing {} live rows and {} dead rows; \
                 {} rows in sample, {} estimated total rows",
                s.scanned,
                s.pages,
                s.live_seen,
                s.dead_seen,
                s.rows.len(),
                s.total_rows as u64
            ),
        );
    }

    /// A table was analysed.
    pub fn analysed(&self, session: &Session, name: &str) {
        let part = match self.told {
            Told::Log(_) => format!("analyze of table \"{name}\"\n"),
            _ => format!("analyzing table \"{name}\"\n"),
        };
        let tracked = session.core.settings.lock().bool("track_cost_delay_timing");
        self.finish(session, &part, self.used(session, tracked.then_some(0)));
    }
}
