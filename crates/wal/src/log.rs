//! The log as a whole: configuration, life cycle, positions.

use crate::flush::{FlushListener, Writer};
use crate::image::ImageCompression;
use crate::segment::{FileOptions, Segments};
use crate::slots::Slots;
use base::{Error, Lsn, Result, Severity, bail};
use os::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use os::sync::{Arc, Mutex, RwLock, Weak};
use os::thread::JoinHandle;
use os::{AlignedBuf, Disk, SharedBuf};
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

/// What to do when the log cannot be written: tell the world and stop the server. If it
/// returns, the log refuses all further work.
pub type PanicHandler = Arc<dyn Fn(&Error) + Send + Sync>;

/// How the log is made durable: the setting `wal_sync_method`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncMethod {
    /// Writes, then fdatasync.
    Fdatasync,
    /// Writes that return when durable (O_DSYNC).
    OpenDatasync,
}

/// Settings of the log.
#[derive(Clone)]
pub struct WalConfig {
    /// Bytes in a segment file: a power of two.
    pub segment_size: u64,
    /// Bytes of buffers (`wal_buffers`): a power of two, at least 64 KB.
    pub buffers: usize,
    /// The timeline to write.
    pub timeline: u32,
    /// Whether to go past the page cache.
    pub direct: bool,
    /// `wal_sync_method`.
    pub sync_method: SyncMethod,
    /// `fsync`: off means that nothing is ever durable.
    pub fsync: bool,
    /// `full_page_writes`.
    pub full_page_writes: bool,
    /// `wal_compression`: how images are compressed.
    pub compression: Option<ImageCompression>,
    /// `wal_consistency_checking` for all managers: each record carries what its pages look
    /// like after it, and replay compares.
    pub consistency_check: bool,
    /// `wal_writer_delay`: how long an asynchronous commit may stay unflushed.
    pub writer_delay: Duration,
    /// Whether threads of the log's own flush and make segments ahead. Without them flushing
    /// is done by whoever waits for it.
    pub threads: bool,
    /// Called when the log cannot be written.
    pub on_panic: PanicHandler,
}

impl Default for WalConfig {
    fn default() -> WalConfig {
        WalConfig {
            segment_size: 16 << 20,
            buffers: 16 << 20,
            timeline: 1,
            direct: true,
            sync_method: SyncMethod::Fdatasync,
            fsync: true,
            full_page_writes: true,
            compression: None,
            consistency_check: false,
            writer_delay: Duration::from_millis(200),
            threads: true,
            on_panic: Arc::new(|e| os::abort(&e.to_string())),
        }
    }
}

/// Counters since the log was opened, for `pg_stat_wal`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WalStats {
    /// Records inserted.
    pub records: u64,
    /// Page images among them.
    pub images: u64,
    /// Bytes inserted.
    pub bytes: u64,
    /// Times an inserter had to wait for room in the buffers.
    pub buffers_full: u64,
    /// What was written to files, by kind of thread.
    pub by: [WalWrites; USERS],
}

/// Writes of the log to its files.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WalWrites {
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Syncs.
    pub syncs: u64,
    /// Nanoseconds that writes took, if they are timed.
    pub write_nanos: u64,
    /// Nanoseconds that syncs took, if they are timed.
    pub sync_nanos: u64,
}

#[derive(Default)]
pub(crate) struct Counters {
    pub buffers_full: AtomicU64,
    by: [WriteCounters; USERS],
}

#[derive(Default)]
struct WriteCounters {
    writes: AtomicU64,
    bytes: AtomicU64,
    syncs: AtomicU64,
    write_nanos: AtomicU64,
    sync_nanos: AtomicU64,
}

thread_local! {
    /// What kind of thread this is.
    static USER: Cell<u8> = const { Cell::new(0) };
    /// What it has written.
    static WRITTEN: Cell<WalWrites> = const {
        Cell::new(WalWrites { writes: 0, bytes: 0, syncs: 0, write_nanos: 0, sync_nanos: 0 })
    };
}

impl WalWrites {
    /// What this thread has written so far.
    pub fn of_thread() -> WalWrites {
        WRITTEN.get()
    }
}

/// Kinds of threads that write the log to its files: numbers that [`count_as`] was given, and
/// [`WRITER`].
pub const USERS: usize = 8;

/// The log's own writer.
pub const WRITER: u8 = 7;

/// `track_wal_io_timing`
static TIMED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// What this thread writes counts as this kind's from now on.
pub fn count_as(user: u8) {
    USER.set(user.min(WRITER));
}

/// Has writes and syncs of the log timed from now on, or not.
pub fn set_timed(timed: bool) {
    TIMED.store(timed, std::sync::atomic::Ordering::Relaxed);
}

/// When something that is timed began.
pub(crate) fn begin() -> Option<u64> {
    TIMED.load(std::sync::atomic::Ordering::Relaxed).then(os::clock::monotonic_nanos)
}

fn since(began: Option<u64>) -> u64 {
    began.map_or(0, |b| os::clock::monotonic_nanos().saturating_sub(b))
}

impl Counters {
    fn own(&self) -> &WriteCounters {
        &self.by[USER.get() as usize % USERS]
    }

    /// So many bytes were written at once.
    pub fn count_write(&self, bytes: u64, began: Option<u64>) {
        let (own, nanos) = (self.own(), since(began));
        let mut written = WRITTEN.get();
        written.writes += 1;
        written.bytes += bytes;
        written.write_nanos += nanos;
        WRITTEN.set(written);
        own.write_nanos.fetch_add(nanos, Ordering::Relaxed);
        own.writes.fetch_add(1, Ordering::Relaxed);
        own.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What was written was synced.
    pub fn count_sync(&self, began: Option<u64>) {
        let (own, nanos) = (self.own(), since(began));
        let mut written = WRITTEN.get();
        written.syncs += 1;
        written.sync_nanos += nanos;
        WRITTEN.set(written);
        own.syncs.fetch_add(1, Ordering::Relaxed);
        own.sync_nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl WriteCounters {
    fn now(&self) -> WalWrites {
        WalWrites {
            writes: self.writes.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            syncs: self.syncs.load(Ordering::Relaxed),
            write_nanos: self.write_nanos.load(Ordering::Relaxed),
            sync_nanos: self.sync_nanos.load(Ordering::Relaxed),
        }
    }
}

/// How the log's threads are told to work or to stop. Apart from the log, so that a thread
/// that sleeps does not keep it alive.
#[derive(Default)]
pub(crate) struct Signals {
    pub flusher_sleeps: AtomicU32,
    /// The walwriter found nothing to do and sleeps long.
    pub hibernates: AtomicBool,
    pub allocator_sleeps: AtomicU32,
    pub stopping: AtomicBool,
}

impl Signals {
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        wake(&self.flusher_sleeps);
        wake(&self.allocator_sleeps);
    }
}

/// Wakes the thread that says it sleeps.
#[inline]
pub(crate) fn wake(sleeps: &AtomicU32) {
    if sleeps.load(Ordering::SeqCst) != 0 && sleeps.swap(0, Ordering::SeqCst) != 0 {
        os::sync::futex_wake(sleeps, 1);
    }
}

/// What to do when so many bytes have been inserted.
pub(crate) struct Trigger {
    pub bytes: u64,
    pub action: Arc<dyn Fn() + Send + Sync>,
    /// The redo pointer for which it was done already.
    pub done_for: u64,
}

/// The write-ahead log.
pub struct Wal {
    pub(crate) config: WalConfig,
    pub(crate) segments: Segments,
    pub(crate) slots: Slots,
    pub(crate) ring: SharedBuf,
    /// Crossing a multiple of this wakes the log's threads: a power of two.
    pub(crate) stride: u64,
    /// Inserters may fill the ring up to this position.
    pub(crate) room: AtomicU64,
    pub(crate) room_sequence: AtomicU32,
    pub(crate) room_waiters: AtomicU32,
    pub(crate) full_page_writes: AtomicBool,
    compression: AtomicU32,
    /// While it replays, the log is not written; this is how far it has come.
    pub(crate) replaying: AtomicBool,
    pub(crate) replayed: AtomicU64,
    /// Replay found a clean shutdown: nothing can be behind the end of the log.
    pub(crate) ended_clean: AtomicBool,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) flushed: AtomicU64,
    pub(crate) requested: AtomicU64,
    /// When the walwriter first saw unflushed log that nobody waits for; 0: it does not.
    pub(crate) unflushed_since: AtomicU64,
    /// What syncs took lately, in nanoseconds.
    pub(crate) sync_nanos: AtomicU64,
    pub(crate) flush_sequence: AtomicU32,
    pub(crate) flush_waiters: AtomicU32,
    pub(crate) signals: Arc<Signals>,
    pub(crate) failed: AtomicBool,
    /// Whether the panic handler was called.
    told: AtomicBool,
    pub(crate) listeners: RwLock<Vec<Arc<dyn FlushListener>>>,
    pub(crate) trigger: Mutex<Option<Trigger>>,
    pub(crate) checkpointing: Mutex<()>,
    pub(crate) counters: Counters,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// `commit_delay`, in microseconds.
    pub(crate) delay_micros: AtomicU64,
    pub(crate) enough_siblings: RwLock<Option<Arc<dyn Fn() -> bool + Send + Sync>>>,
}

/// Slots for inserters: more than threads that insert at the same moment.
const SLOTS: usize = 64;
/// The ring and the disk meet in blocks of this.
pub(crate) const BLOCK: u64 = 4096;
/// Where a new log begins within its first segment: no record is at the very start of a file,
/// so that a position at a segment's start always means the end of the one before.
const FIRST_OFFSET: u64 = 40;

impl Wal {
    /// A new log in the folder `dir`, empty, ready to insert.
    pub fn create(disk: Disk, dir: &Path, config: WalConfig) -> Result<Arc<Wal>> {
        Wal::create_at(disk, dir, config, 1)
    }

    /// The same, with the segment of this number as its first.
    pub fn create_at(disk: Disk, dir: &Path, config: WalConfig, segment: u64) -> Result<Arc<Wal>> {
        disk.create_dir_all(dir)?;
        let start = Lsn(segment * config.segment_size + FIRST_OFFSET);
        let wal = Wal::open(disk, dir, config, start)?;
        wal.start_writing(start)?;
        Ok(wal)
    }

    /// An existing log, ready for [`Wal::recover`] from `redo`. It can be written after
    /// [`Wal::start_writing`]; until then flushing does nothing, as all that is replayed is
    /// durable.
    pub fn open(disk: Disk, dir: &Path, config: WalConfig, redo: Lsn) -> Result<Arc<Wal>> {
        check_config(&config)?;
        Ok(Arc::new(Wal {
            segments: Segments::new(disk, dir, &config),
            slots: Slots::new(SLOTS, redo, redo),
            ring: SharedBuf::zeroed(config.buffers),
            stride: config.segment_size.min(config.buffers as u64 / 4),
            room: AtomicU64::new(0),
            room_sequence: AtomicU32::new(0),
            room_waiters: AtomicU32::new(0),
            full_page_writes: AtomicBool::new(config.full_page_writes),
            compression: AtomicU32::new(config.compression.map_or(0, |c| c as u32)),
            replaying: AtomicBool::new(true),
            replayed: AtomicU64::new(redo.0),
            ended_clean: AtomicBool::new(false),
            writer: Mutex::new(Writer::default()),
            flushed: AtomicU64::new(redo.0),
            requested: AtomicU64::new(0),
            unflushed_since: AtomicU64::new(0),
            sync_nanos: AtomicU64::new(0),
            flush_sequence: AtomicU32::new(0),
            flush_waiters: AtomicU32::new(0),
            signals: Arc::default(),
            failed: AtomicBool::new(false),
            told: AtomicBool::new(false),
            listeners: RwLock::new(vec![]),
            trigger: Mutex::new(None),
            checkpointing: Mutex::new(()),
            counters: Counters::default(),
            threads: Mutex::new(vec![]),
            delay_micros: AtomicU64::new(0),
            enough_siblings: RwLock::new(None),
            config,
        }))
    }

    /// Ends recovery: the log ends at `end` (a record's end), and insertion goes on there.
    pub fn start_writing(self: &Arc<Wal>, end: Lsn) -> Result<()> {
        self.begin_at(end, self.segments.timeline())
    }

    /// As [`Wal::start_writing`], on a new timeline.
    pub fn start_timeline(self: &Arc<Wal>, end: Lsn, timeline: u32) -> Result<()> {
        self.begin_at(end, timeline)
    }

    fn begin_at(self: &Arc<Wal>, end: Lsn, timeline: u32) -> Result<()> {
        if !self.replaying.load(Ordering::Acquire) {
            return Err(Error::internal("the log is being written already"));
        }
        let segments = &self.segments;
        let old = segments.timeline();
        if timeline != old {
            segments.set_timeline(timeline);
            segments.branch(old, end.0)?;
        } else if !self.ended_clean.load(Ordering::Relaxed) {
            segments.clear_after(end.0)?;
        }
        segments.find_allocated(end.0)?;
        segments.ensure(end.0 + self.headroom(), true)?;
        // The block in which the log ends is written again, so the ring needs its beginning.
        let block_start = end.0 / BLOCK * BLOCK;
        if end.0 > block_start {
            let mut block = AlignedBuf::zeroed(BLOCK as usize);
            let file = segments.open(block_start)?;
            file.read_exact_at(&mut block, block_start % segments.size)?;
            block[(end.0 - block_start) as usize..].fill(0);
            self.ring.store(self.ring_word(block_start), &block);
        }
        self.slots.set_end(end, self.slots.redo().min(end));
        self.writer.lock().start(end.0);
        self.flushed.store(end.0, Ordering::Release);
        self.room.store(block_start + self.ring.len() as u64, Ordering::Release);
        self.replaying.store(false, Ordering::Release);
        if self.config.threads {
            self.start_threads()?;
        }
        Ok(())
    }

    fn start_threads(self: &Arc<Wal>) -> Result<()> {
        let failed = |e: std::io::Error| Error::internal(format!("could not start thread: {e}"));
        let mut threads = self.threads.lock();
        for (name, step) in
            [("walwriter", Wal::flush_step as Step), ("walallocator", Wal::allocate_step)]
        {
            let (wal, signals) = (Arc::downgrade(self), self.signals.clone());
            let body = move || {
                if name == "walwriter" {
                    count_as(WRITER);
                }
                run_steps(&wal, &signals, step);
            };
            threads.push(os::thread::spawn(name, body).map_err(failed)?);
        }
        Ok(())
    }

    /// Flushes what was inserted and stops the log's threads. Nothing may be inserted after.
    pub fn shutdown(&self) -> Result<()> {
        let result = if self.replaying.load(Ordering::Acquire) || self.is_failed() {
            Ok(())
        } else {
            self.flush(self.inserted())
        };
        self.signals.stop();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            let _ = thread.join();
        }
        result
    }

    /// Where the next record will start; during recovery, how far replay has come.
    #[inline]
    pub fn inserted(&self) -> Lsn {
        if self.replaying.load(Ordering::Relaxed) {
            return Lsn(self.replayed.load(Ordering::Acquire));
        }
        self.slots.reserved()
    }

    /// All before this is durable.
    #[inline]
    pub fn flushed(&self) -> Lsn {
        Lsn(self.flushed.load(Ordering::Acquire))
    }

    /// Where redo would start: pages whose LSN is not above it get an image with their next
    /// change.
    #[inline]
    pub fn redo_pointer(&self) -> Lsn {
        self.slots.redo()
    }

    /// Sets the redo pointer during recovery, when a checkpoint record is replayed.
    pub fn set_redo_pointer(&self, redo: Lsn) {
        if self.replaying.load(Ordering::Acquire) {
            self.slots.set_end(self.slots.reserved(), redo);
        }
    }

    /// Bytes inserted since the redo pointer: what a crash now would replay.
    pub fn bytes_since_redo(&self) -> u64 {
        self.inserted().0.saturating_sub(self.redo_pointer().0)
    }

    /// Takes over settings about the files.
    pub fn set_files(&self, options: FileOptions) {
        self.segments.set_options(&options);
        self.delay_micros.store(options.delay.as_micros() as u64, Ordering::Relaxed);
    }

    /// Sets who says whether enough transactions are open for a flush to wait for them:
    /// `commit_siblings`.
    pub fn on_delay(&self, enough: Arc<dyn Fn() -> bool + Send + Sync>) {
        *self.enough_siblings.write() = Some(enough);
    }

    /// The timeline being written.
    pub fn timeline(&self) -> u32 {
        self.segments.timeline()
    }

    /// The name of the segment file that holds `lsn`.
    pub fn file_name(&self, lsn: Lsn) -> String {
        crate::segment_name(self.timeline(), lsn, self.segments.size)
    }

    /// Bytes in a segment.
    pub fn segment_size(&self) -> u64 {
        self.segments.size
    }

    /// The folder of the segments.
    pub fn dir(&self) -> &Path {
        &self.segments.dir
    }

    /// The disk it is on.
    pub fn disk(&self) -> &Disk {
        &self.segments.disk
    }

    /// True before [`Wal::start_writing`].
    pub fn is_replaying(&self) -> bool {
        self.replaying.load(Ordering::Acquire)
    }

    /// True after the log could not be written.
    pub fn is_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// `full_page_writes` from now on.
    pub fn set_full_page_writes(&self, on: bool) {
        self.full_page_writes.store(on, Ordering::SeqCst);
    }

    /// `full_page_writes` as it is now.
    pub fn full_page_writes(&self) -> bool {
        self.full_page_writes.load(Ordering::Relaxed)
    }

    /// `wal_compression` from now on, for threads that [`crate::compress_images`] told nothing.
    pub fn set_compression(&self, method: Option<ImageCompression>) {
        self.compression.store(method.map_or(0, |m| m as u32), Ordering::Relaxed);
    }

    pub(crate) fn compression(&self) -> Option<ImageCompression> {
        ImageCompression::from_bits(self.compression.load(Ordering::Relaxed) as u16)
    }

    /// Counters since the log was opened.
    pub fn stats(&self) -> WalStats {
        let (records, images, bytes) = self.slots.counts();
        let counters = &self.counters;
        WalStats {
            records,
            images,
            bytes,
            buffers_full: counters.buffers_full.load(Ordering::Relaxed),
            by: std::array::from_fn(|i| counters.by[i].now()),
        }
    }

    /// Word of the ring where this position is.
    #[inline]
    pub(crate) fn ring_word(&self, position: u64) -> usize {
        (position as usize & (self.ring.len() - 1)) / 8
    }

    /// Space that [`Wal::check_space`] keeps for those who have begun to change pages.
    pub(crate) fn headroom(&self) -> u64 {
        self.segments.size.min(8 << 20)
    }

    /// The log is lost: tells the handler, which stops the server, and refuses all work.
    #[cold]
    pub(crate) fn fail(&self, e: Error) -> Error {
        let e = e.severity(Severity::Panic);
        self.failed.store(true, Ordering::SeqCst);
        if !self.told.swap(true, Ordering::SeqCst) {
            (self.config.on_panic)(&e);
        }
        e
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        self.signals.stop();
    }
}

/// One round of a thread's work.
type Step = fn(&Wal) -> Next;

/// What a thread does after a round.
pub(crate) enum Next {
    /// The next round.
    Again,
    /// Sleeps on this word while it is 1, not longer than this.
    Sleep(fn(&Signals) -> &AtomicU32, Duration),
    /// Ends.
    Stop,
}

fn run_steps(wal: &Weak<Wal>, signals: &Signals, step: Step) {
    while let Some(alive) = wal.upgrade() {
        let next = step(&alive);
        drop(alive);
        match next {
            Next::Again => {}
            Next::Sleep(word, time) => {
                os::sync::futex_wait(word(signals), 1, Some(time));
                word(signals).store(0, Ordering::SeqCst);
            }
            Next::Stop => return,
        }
    }
}

fn check_config(config: &WalConfig) -> Result<()> {
    let power = |n: u64, least: u64| n.is_power_of_two() && n >= least;
    if !power(config.segment_size, 64 << 10) || config.segment_size > 1 << 30 {
        bail!(INVALID_PARAMETER_VALUE, "invalid WAL segment size {}", config.segment_size);
    }
    if !power(config.buffers as u64, 64 << 10) {
        bail!(INVALID_PARAMETER_VALUE, "invalid size of WAL buffers {}", config.buffers);
    }
    Ok(())
}

impl std::fmt::Debug for Wal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Wal(inserted {}, flushed {})", self.inserted(), self.flushed())
    }
}
