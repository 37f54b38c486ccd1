//! The pool itself: frames, memory, the relations it knows.

use crate::frame::Frame;
use crate::page::Page;
use crate::relation::{Persistence, RelFiles};
use crate::replace::Strategy;
use crate::segment::Segment;
use crate::stream::ReadStream;
use crate::word;
use base::{BlockNo, Error, Fork, Lsn, PAGE_SIZE, RelFile, Result};
use os::sync::{Mutex, RwLock};
use os::{AlignedBuf, Disk, IoMethod};
use std::collections::{HashMap, HashSet};
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// What is called when going on would lose data, as after a failed fsync. It should not return
/// in a real server; in the simulator it notes the failure, and the error travels up.
pub type FatalHandler = Arc<dyn Fn(&Error) + Send + Sync>;

/// What the pool needs of the log: no page goes to disk before its log does.
pub trait Log: Send + Sync {
    /// Makes the log durable up to `lsn`, waiting for it.
    fn flush(&self, lsn: Lsn) -> Result<()>;
    /// The log is durable up to here.
    fn flushed(&self) -> Lsn;
}

/// How a pool is set up.
#[derive(Clone)]
pub struct PoolConfig {
    /// Number of pages held in memory (`shared_buffers`).
    pub buffers: usize,
    /// The data directory, relative to the disk's root; empty for the root itself.
    pub data_dir: PathBuf,
    /// Go past the kernel's page cache where the file system can.
    pub direct_io: bool,
    /// Most pages that one request reads (`io_combine_limit`).
    pub io_combine_limit: usize,
    /// Requests that a stream keeps under way (`effective_io_concurrency`).
    pub io_concurrency: usize,
    /// Goes on with the next checkpoint after a failed sync (`data_sync_retry`). Only for systems
    /// that keep what they could not write.
    pub data_sync_retry: bool,
    /// Files that may be open at a time (`max_files_per_process`).
    pub open_files: usize,
    /// How files grow (`file_extend_method`).
    pub extend_by_zeros: bool,
    /// Pages that the log changes and that cannot be read count as empty in replay
    /// (`ignore_invalid_pages`).
    pub ignore_invalid_pages: bool,
    /// Whether the pages are held in huge pages of memory.
    pub huge_pages: os::HugePages,
    /// How streams read ahead (`io_method`).
    pub io_method: IoMethod,
    /// See [`FatalHandler`].
    pub on_fatal: FatalHandler,
}

impl Default for PoolConfig {
    fn default() -> PoolConfig {
        PoolConfig {
            buffers: 16384,
            data_dir: PathBuf::new(),
            direct_io: true,
            io_combine_limit: 16,
            io_concurrency: 16,
            data_sync_retry: false,
            open_files: 1000,
            extend_by_zeros: false,
            ignore_invalid_pages: false,
            huge_pages: os::HugePages::Try,
            io_method: IoMethod::detect(),
            on_fatal: Arc::new(|error| os::abort(&error.to_string())),
        }
    }
}

/// Counters since start, for `pg_stat_io`, `pg_stat_bgwriter` and `pg_stat_checkpointer`.
#[derive(Default)]
pub struct PoolStats {
    /// Pages that sessions had to write to make room.
    pub backend_writes: AtomicU64,
    /// Pages that the background writer wrote.
    pub background_writes: AtomicU64,
    /// Rounds that it ended because it had written as much as it may.
    pub background_halts: AtomicU64,
    /// Pages that checkpoints wrote.
    pub checkpoint_writes: AtomicU64,
    /// Pages whose checksum was wrong.
    pub checksum_failures: AtomicU64,
}

const SHARDS: usize = 64;

/// What relations and frames point to. It lives until the last of them is gone.
pub(crate) struct PoolInner {
    pub disk: Disk,
    pub log: Arc<dyn Log>,
    pub config: PoolConfig,
    frames: ManuallyDrop<Box<[Frame]>>,
    memory: ManuallyDrop<AlignedBuf>,
    pub never_used: AtomicU32,
    pub free: Mutex<Vec<u32>>,
    pub free_count: AtomicUsize,
    pub hand: AtomicU64,
    pub generation: AtomicU32,
    relations: [RwLock<HashMap<RelFile, Arc<RelFiles>>>; SHARDS],
    pub pending_sync: Mutex<Vec<Arc<Segment>>>,
    pub pending_dirs: Mutex<HashSet<PathBuf>>,
    pub open_files: crate::segment::OpenFiles,
    pub stats: PoolStats,
}

impl PoolInner {
    fn new(disk: Disk, log: Arc<dyn Log>, config: PoolConfig) -> PoolInner {
        let count = config.buffers.clamp(16, (1 << 30) - 1);
        let memory = AlignedBuf::mapped(count * PAGE_SIZE, config.huge_pages);
        let frames: Box<[Frame]> = (0..count)
            .map(|i| {
                let page = memory.as_raw().wrapping_add(i * PAGE_SIZE).cast::<Page>();
                // SAFETY: an address inside an allocation is not null.
                Frame::new(i as u32, unsafe { NonNull::new_unchecked(page) })
            })
            .collect();
        PoolInner {
            disk,
            log,
            config,
            frames: ManuallyDrop::new(frames),
            memory: ManuallyDrop::new(memory),
            never_used: AtomicU32::new(0),
            free: Mutex::new(Vec::new()),
            free_count: AtomicUsize::new(0),
            hand: AtomicU64::new(0),
            generation: AtomicU32::new(0),
            relations: std::array::from_fn(|_| RwLock::new(HashMap::new())),
            pending_sync: Mutex::new(Vec::new()),
            pending_dirs: Mutex::new(HashSet::new()),
            open_files: Default::default(),
            stats: PoolStats::default(),
        }
    }

    #[inline]
    pub fn frame(&self, index: u32) -> &Frame {
        &self.frames[index as usize]
    }

    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Tells the server that it must stop, and gives the error to travel up.
    pub fn fatal(&self, error: Error) -> Error {
        let error = error.severity(base::Severity::Panic);
        (self.config.on_fatal)(&error);
        error
    }

    fn shard(&self, file: RelFile) -> &RwLock<HashMap<RelFile, Arc<RelFiles>>> {
        let mixed = (file.number ^ file.database.0.rotate_left(16)).wrapping_mul(0x9E37_79B1);
        &self.relations[(mixed >> 26) as usize % SHARDS]
    }

    /// All relations that are known now.
    pub fn known_relations(&self) -> Vec<Arc<RelFiles>> {
        self.relations.iter().flat_map(|s| s.read().values().cloned().collect::<Vec<_>>()).collect()
    }
}

impl Drop for PoolInner {
    fn drop(&mut self) {
        // A pin holds no reference on the pool, to be cheap. If one is still out there the
        // memory it points to has to stay.
        if self.frames.iter().any(|f| f.word.load() & word::PINS != 0) {
            return;
        }
        // SAFETY: neither is used again, and nobody points to them.
        unsafe {
            ManuallyDrop::drop(&mut self.frames);
            ManuallyDrop::drop(&mut self.memory);
        }
    }
}

/// The page cache of a server, and the door to its relation files.
pub struct BufferPool {
    pub(crate) inner: Arc<PoolInner>,
}

impl BufferPool {
    /// A pool with nothing in it.
    pub fn new(disk: Disk, log: Arc<dyn Log>, config: PoolConfig) -> Arc<BufferPool> {
        Arc::new(BufferPool { inner: Arc::new(PoolInner::new(disk, log, config)) })
    }

    /// The relation's files. They need not exist yet. Cheap enough once a statement; who needs
    /// it more often keeps the result, until the relation is dropped or gets other files.
    pub fn relation(&self, file: RelFile, persistence: Persistence) -> Arc<RelFiles> {
        let shard = self.inner.shard(file);
        if let Some(found) = shard.read().get(&file) {
            return found.clone();
        }
        shard
            .write()
            .entry(file)
            .or_insert_with(|| Arc::new(RelFiles::new(self.inner.clone(), file, persistence)))
            .clone()
    }

    /// Makes the relation's main fork, empty.
    pub fn create_relation(
        &self,
        file: RelFile,
        persistence: Persistence,
    ) -> Result<Arc<RelFiles>> {
        let rel = self.relation(file, persistence);
        rel.create_fork(Fork::Main)?;
        Ok(rel)
    }

    /// Throws the relation's pages away and removes its files. Nobody may be using them. A
    /// relation without files is fine: redo may drop what is gone already.
    pub fn drop_relation(&self, file: RelFile) -> Result<()> {
        let known = self.inner.shard(file).write().remove(&file);
        let rel = known.unwrap_or_else(|| {
            Arc::new(RelFiles::new(self.inner.clone(), file, Persistence::Permanent))
        });
        rel.destroy()
    }

    /// Drops all relations of a database that are in memory; its folder is removed by the caller.
    pub fn drop_database(&self, database: base::Oid) -> Result<()> {
        for rel in self.inner.known_relations() {
            if rel.file().database == database {
                self.drop_relation(rel.file())?;
            }
        }
        Ok(())
    }

    /// A page for redo, latched; see [`RelFiles::read_for_redo`].
    pub fn read_for_redo(
        &self,
        file: RelFile,
        fork: Fork,
        block: BlockNo,
        init: bool,
    ) -> Result<crate::PageMut<'static>> {
        self.relation(file, Persistence::Permanent).read_for_redo(fork, block, init)
    }

    /// A stream over these blocks of a fork, read ahead of their use. Blocks are asked for when
    /// room for reading ahead allows, in order.
    pub fn read_stream(
        &self,
        rel: &Arc<RelFiles>,
        fork: Fork,
        blocks: Box<dyn Iterator<Item = BlockNo> + Send>,
        strategy: Strategy,
    ) -> ReadStream {
        let ring = strategy.ring(self.inner.frames().len());
        ReadStream::new(rel.clone(), fork, blocks, ring)
    }

    /// How a scan of a relation of so many pages should treat the pool.
    pub fn scan_strategy(&self, blocks: BlockNo) -> Strategy {
        match blocks.0 as usize > self.inner.frames().len() / 4 {
            true => Strategy::BulkRead,
            false => Strategy::Normal,
        }
    }

    /// A ring for reads that do not come from a stream; `None` for [`Strategy::Normal`].
    pub fn ring(&self, strategy: Strategy) -> Option<crate::Ring> {
        strategy.ring(self.inner.frames().len())
    }

    /// The data directory, relative to the disk's root.
    pub fn data_dir(&self) -> &std::path::Path {
        &self.inner.config.data_dir
    }

    /// The disk that the files are on.
    pub fn disk(&self) -> &Disk {
        &self.inner.disk
    }

    /// Number of pages held in memory at most.
    pub fn capacity(&self) -> usize {
        self.inner.frames().len()
    }

    /// Counters since start.
    pub fn stats(&self) -> &PoolStats {
        &self.inner.stats
    }

    /// How often each page in memory was used lately, with its dirtiness, for
    /// `pg_buffercache`-like views: relation, fork, block, dirty, usage count, pins.
    pub fn contents(&self) -> Vec<(RelFile, Fork, BlockNo, bool, u8, u32)> {
        let mut all = Vec::new();
        for frame in self.inner.frames() {
            if let Some(pin) = self.inner.pin_any(frame) {
                let state = frame.word.load();
                all.push((
                    pin.rel().file(),
                    pin.fork(),
                    pin.block(),
                    state & word::DIRTY != 0,
                    frame.usage.load(Ordering::Relaxed),
                    (state & word::PINS) as u32 - 1,
                ));
            }
        }
        all
    }
}

impl Drop for BufferPool {
    fn drop(&mut self) {
        // Frames hold relations and relations hold the pool: cut the circle.
        for frame in self.inner.frames() {
            if let Some(pin) = self.inner.pin_any(frame)
                && frame.word.try_claim_discard()
            {
                std::mem::forget(pin);
                self.inner.vacate(frame);
            }
        }
        for shard in &self.inner.relations {
            shard.write().clear();
        }
    }
}
