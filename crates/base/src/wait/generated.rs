// Generated from data/wait_events.tsv. Do not edit.

/// What a session waits for. `None` while it does not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u16)]
pub enum WaitEvent {
    /// Not waiting.
    #[default]
    None = 0,
    /// Waiting in main loop of archiver process.
    ArchiverMain = 1,
    /// Waiting in main loop of autovacuum launcher process.
    AutovacuumMain = 2,
    /// Waiting in background writer process, hibernating.
    BgwriterHibernate = 3,
    /// Waiting in main loop of background writer process.
    BgwriterMain = 4,
    /// Waiting in main loop of checkpointer process.
    CheckpointerMain = 5,
    /// Waiting for checkpointer process to be terminated.
    CheckpointerShutdown = 6,
    /// Waiting in main loop of IO Worker process.
    IoWorkerMain = 7,
    /// Waiting in main loop of logical replication apply process.
    LogicalApplyMain = 8,
    /// Waiting in main loop of logical replication launcher process.
    LogicalLauncherMain = 9,
    /// Waiting in main loop of logical replication parallel apply process.
    LogicalParallelApplyMain = 10,
    /// Waiting in main loop of startup process for WAL to arrive, during streaming recovery.
    RecoveryWalStream = 11,
    /// Waiting in main loop of slot sync worker.
    ReplicationSlotsyncMain = 12,
    /// Waiting for slot sync worker to shut down.
    ReplicationSlotsyncShutdown = 13,
    /// Waiting in main loop of syslogger process.
    SysloggerMain = 14,
    /// Waiting in main loop of WAL receiver process.
    WalReceiverMain = 15,
    /// Waiting in main loop of WAL sender process.
    WalSenderMain = 16,
    /// Waiting in WAL summarizer for more WAL to be generated.
    WalSummarizerWal = 17,
    /// Waiting in main loop of WAL writer process.
    WalWriterMain = 18,
    /// Waiting to acquire an exclusive pin on a buffer.
    BufferPin = 19,
    /// Waiting to read data from the client.
    ClientRead = 20,
    /// Waiting to write data to the client.
    ClientWrite = 21,
    /// Waiting to read data from the client while establishing a GSSAPI session.
    GssOpenServer = 22,
    /// Waiting in WAL receiver to establish connection to remote server.
    LibpqwalreceiverConnect = 23,
    /// Waiting in WAL receiver to receive data from remote server.
    LibpqwalreceiverReceive = 24,
    /// Waiting for SSL while attempting connection.
    SslOpenServer = 25,
    /// Waiting for WAL to be received and flushed by the physical standby.
    WaitForStandbyConfirmation = 26,
    /// Waiting for WAL to be flushed in WAL sender process.
    WalSenderWaitForWal = 27,
    /// Waiting for any activity when processing replies from WAL receiver in WAL sender process.
    WalSenderWriteData = 28,
    /// Waiting in an extension.
    Extension = 29,
    /// Waiting for another process to complete IO.
    AioIoCompletion = 30,
    /// Waiting for IO execution via io_uring.
    AioIoUringExecution = 31,
    /// Waiting for IO submission via io_uring.
    AioIoUringSubmit = 32,
    /// Waiting for base backup to read from a file.
    BasebackupRead = 33,
    /// Waiting for data written by a base backup to reach durable storage.
    BasebackupSync = 34,
    /// Waiting for base backup to write to a file.
    BasebackupWrite = 35,
    /// Waiting for a read from a buffered file.
    BuffileRead = 36,
    /// Waiting for a buffered file to be truncated.
    BuffileTruncate = 37,
    /// Waiting for a write to a buffered file.
    BuffileWrite = 38,
    /// Waiting for a read from the pg_control file.
    ControlFileRead = 39,
    /// Waiting for the pg_control file to reach durable storage.
    ControlFileSync = 40,
    /// Waiting for an update to the pg_control file to reach durable storage.
    ControlFileSyncUpdate = 41,
    /// Waiting for a write to the pg_control file.
    ControlFileWrite = 42,
    /// Waiting for a write to update the pg_control file.
    ControlFileWriteUpdate = 43,
    /// Waiting for a file copy operation.
    CopyFileCopy = 44,
    /// Waiting for a read during a file copy operation.
    CopyFileRead = 45,
    /// Waiting for a write during a file copy operation.
    CopyFileWrite = 46,
    /// Waiting for a relation data file to be extended.
    DataFileExtend = 47,
    /// Waiting for a relation data file to reach durable storage.
    DataFileFlush = 48,
    /// Waiting for an immediate synchronization of a relation data file to durable storage.
    DataFileImmediateSync = 49,
    /// Waiting for an asynchronous prefetch from a relation data file.
    DataFilePrefetch = 50,
    /// Waiting for a read from a relation data file.
    DataFileRead = 51,
    /// Waiting for changes to a relation data file to reach durable storage.
    DataFileSync = 52,
    /// Waiting for a relation data file to be truncated.
    DataFileTruncate = 53,
    /// Waiting for a write to a relation data file.
    DataFileWrite = 54,
    /// Waiting for a dynamic shared memory segment to be allocated.
    DsmAllocate = 55,
    /// Waiting to fill a dynamic shared memory backing file with zeroes.
    DsmFillZeroWrite = 56,
    /// Waiting for a read while adding a line to the data directory lock file.
    LockFileAddtodatadirRead = 57,
    /// Waiting for data to reach durable storage while adding a line to the data directory lock file.
    LockFileAddtodatadirSync = 58,
    /// Waiting for a write while adding a line to the data directory lock file.
    LockFileAddtodatadirWrite = 59,
    /// Waiting to read while creating the data directory lock file.
    LockFileCreateRead = 60,
    /// Waiting for data to reach durable storage while creating the data directory lock file.
    LockFileCreateSync = 61,
    /// Waiting for a write while creating the data directory lock file.
    LockFileCreateWrite = 62,
    /// Waiting for a read during recheck of the data directory lock file.
    LockFileRecheckdatadirRead = 63,
    /// Waiting for logical rewrite mappings to reach durable storage during a checkpoint.
    LogicalRewriteCheckpointSync = 64,
    /// Waiting for mapping data to reach durable storage during a logical rewrite.
    LogicalRewriteMappingSync = 65,
    /// Waiting for a write of mapping data during a logical rewrite.
    LogicalRewriteMappingWrite = 66,
    /// Waiting for logical rewrite mappings to reach durable storage.
    LogicalRewriteSync = 67,
    /// Waiting for truncate of mapping data during a logical rewrite.
    LogicalRewriteTruncate = 68,
    /// Waiting for a write of logical rewrite mappings.
    LogicalRewriteWrite = 69,
    /// Waiting for a read of the relation map file.
    RelationMapRead = 70,
    /// Waiting for durable replacement of a relation map file.
    RelationMapReplace = 71,
    /// Waiting for a write to the relation map file.
    RelationMapWrite = 72,
    /// Waiting for a read during reorder buffer management.
    ReorderBufferRead = 73,
    /// Waiting for a write during reorder buffer management.
    ReorderBufferWrite = 74,
    /// Waiting for a read of a logical mapping during reorder buffer management.
    ReorderLogicalMappingRead = 75,
    /// Waiting for a read from a replication slot control file.
    ReplicationSlotRead = 76,
    /// Waiting for a replication slot control file to reach durable storage while restoring it to memory.
    ReplicationSlotRestoreSync = 77,
    /// Waiting for a replication slot control file to reach durable storage.
    ReplicationSlotSync = 78,
    /// Waiting for a write to a replication slot control file.
    ReplicationSlotWrite = 79,
    /// Waiting for SLRU data to reach durable storage during a checkpoint or database shutdown.
    SlruFlushSync = 80,
    /// Waiting for a read of an SLRU page.
    SlruRead = 81,
    /// Waiting for SLRU data to reach durable storage following a page write.
    SlruSync = 82,
    /// Waiting for a write of an SLRU page.
    SlruWrite = 83,
    /// Waiting for a read of a serialized historical catalog snapshot.
    SnapbuildRead = 84,
    /// Waiting for a serialized historical catalog snapshot to reach durable storage.
    SnapbuildSync = 85,
    /// Waiting for a write of a serialized historical catalog snapshot.
    SnapbuildWrite = 86,
    /// Waiting for a timeline history file received via streaming replication to reach durable storage.
    TimelineHistoryFileSync = 87,
    /// Waiting for a write of a timeline history file received via streaming replication.
    TimelineHistoryFileWrite = 88,
    /// Waiting for a read of a timeline history file.
    TimelineHistoryRead = 89,
    /// Waiting for a newly created timeline history file to reach durable storage.
    TimelineHistorySync = 90,
    /// Waiting for a write of a newly created timeline history file.
    TimelineHistoryWrite = 91,
    /// Waiting for a read of a two phase state file.
    TwophaseFileRead = 92,
    /// Waiting for a two phase state file to reach durable storage.
    TwophaseFileSync = 93,
    /// Waiting for a write of a two phase state file.
    TwophaseFileWrite = 94,
    /// Waiting for the version file to reach durable storage while creating a database.
    VersionFileSync = 95,
    /// Waiting for the version file to be written while creating a database.
    VersionFileWrite = 96,
    /// Waiting for WAL to reach durable storage during bootstrapping.
    WalBootstrapSync = 97,
    /// Waiting for a write of a WAL page during bootstrapping.
    WalBootstrapWrite = 98,
    /// Waiting for a read when creating a new WAL segment by copying an existing one.
    WalCopyRead = 99,
    /// Waiting for a new WAL segment created by copying an existing one to reach durable storage.
    WalCopySync = 100,
    /// Waiting for a write when creating a new WAL segment by copying an existing one.
    WalCopyWrite = 101,
    /// Waiting for a newly initialized WAL file to reach durable storage.
    WalInitSync = 102,
    /// Waiting for a write while initializing a new WAL file.
    WalInitWrite = 103,
    /// Waiting for a read from a WAL file.
    WalRead = 104,
    /// Waiting for a read from a WAL summary file.
    WalSummaryRead = 105,
    /// Waiting for a write to a WAL summary file.
    WalSummaryWrite = 106,
    /// Waiting for a WAL file to reach durable storage.
    WalSync = 107,
    /// Waiting for data to reach durable storage while assigning a new WAL sync method.
    WalSyncMethodAssign = 108,
    /// Waiting for a write to a WAL file.
    WalWrite = 109,
    /// Waiting for a read from a timeline history file during a walsender timeline command.
    WalsenderTimelineHistoryRead = 110,
    /// Waiting for subplan nodes of an Append plan node to be ready.
    AppendReady = 111,
    /// Waiting for archive_cleanup_command to complete.
    ArchiveCleanupCommand = 112,
    /// Waiting for archive_command to complete.
    ArchiveCommand = 113,
    /// Waiting for the termination of another backend.
    BackendTermination = 114,
    /// Waiting for WAL files required for a backup to be successfully archived.
    BackupWaitWalArchive = 115,
    /// Waiting for background worker to shut down.
    BgworkerShutdown = 116,
    /// Waiting for background worker to start up.
    BgworkerStartup = 117,
    /// Waiting for the page number needed to continue a parallel B-tree scan to become available.
    BtreePage = 118,
    /// Waiting for buffer I/O to complete.
    BufferIo = 119,
    /// Waiting for a backend that blocks a checkpoint from completing.
    CheckpointDelayComplete = 120,
    /// Waiting for a backend that blocks a checkpoint from starting.
    CheckpointDelayStart = 121,
    /// Waiting for a checkpoint to complete.
    CheckpointDone = 122,
    /// Waiting for a checkpoint to start.
    CheckpointStart = 123,
    /// Waiting for activity from a child process while executing a Gather plan node.
    ExecuteGather = 124,
    /// Waiting for an elected Parallel Hash participant to allocate a hash table.
    HashBatchAllocate = 125,
    /// Waiting to elect a Parallel Hash participant to allocate a hash table.
    HashBatchElect = 126,
    /// Waiting for other Parallel Hash participants to finish loading a hash table.
    HashBatchLoad = 127,
    /// Waiting for an elected Parallel Hash participant to allocate the initial hash table.
    HashBuildAllocate = 128,
    /// Waiting to elect a Parallel Hash participant to allocate the initial hash table.
    HashBuildElect = 129,
    /// Waiting for other Parallel Hash participants to finish hashing the inner relation.
    HashBuildHashInner = 130,
    /// Waiting for other Parallel Hash participants to finish partitioning the outer relation.
    HashBuildHashOuter = 131,
    /// Waiting to elect a Parallel Hash participant to decide on future batch growth.
    HashGrowBatchesDecide = 132,
    /// Waiting to elect a Parallel Hash participant to allocate more batches.
    HashGrowBatchesElect = 133,
    /// Waiting for an elected Parallel Hash participant to decide on future batch growth.
    HashGrowBatchesFinish = 134,
    /// Waiting for an elected Parallel Hash participant to allocate more batches.
    HashGrowBatchesReallocate = 135,
    /// Waiting for other Parallel Hash participants to finish repartitioning.
    HashGrowBatchesRepartition = 136,
    /// Waiting to elect a Parallel Hash participant to allocate more buckets.
    HashGrowBucketsElect = 137,
    /// Waiting for an elected Parallel Hash participant to finish allocating more buckets.
    HashGrowBucketsReallocate = 138,
    /// Waiting for other Parallel Hash participants to finish inserting tuples into new buckets.
    HashGrowBucketsReinsert = 139,
    /// Waiting for a logical replication leader apply process to send data to a parallel apply process.
    LogicalApplySendData = 140,
    /// Waiting for a logical replication parallel apply process to change state.
    LogicalParallelApplyStateChange = 141,
    /// Waiting for a logical replication remote server to send data for initial table synchronization.
    LogicalSyncData = 142,
    /// Waiting for a logical replication remote server to change state.
    LogicalSyncStateChange = 143,
    /// Waiting for another process to be attached to a shared message queue.
    MessageQueueInternal = 144,
    /// Waiting to write a protocol message to a shared message queue.
    MessageQueuePutMessage = 145,
    /// Waiting to receive bytes from a shared message queue.
    MessageQueueReceive = 146,
    /// Waiting to send bytes to a shared message queue.
    MessageQueueSend = 147,
    /// Waiting for a multixact creation to complete.
    MultixactCreation = 148,
    /// Waiting for parallel bitmap scan to become initialized.
    ParallelBitmapScan = 149,
    /// Waiting for parallel CREATE INDEX workers to finish heap scan.
    ParallelCreateIndexScan = 150,
    /// Waiting for parallel workers to finish computing.
    ParallelFinish = 151,
    /// Waiting for a barrier event to be processed by all backends.
    ProcSignalBarrier = 152,
    /// Waiting for the group leader to clear the transaction ID at transaction end.
    ProcarrayGroupUpdate = 153,
    /// Waiting for standby promotion.
    Promote = 154,
    /// Waiting for recovery conflict resolution for a vacuum cleanup.
    RecoveryConflictSnapshot = 155,
    /// Waiting for recovery conflict resolution for dropping a tablespace.
    RecoveryConflictTablespace = 156,
    /// Waiting for recovery_end_command to complete.
    RecoveryEndCommand = 157,
    /// Waiting for recovery to be resumed.
    RecoveryPause = 158,
    /// Waiting for a replication origin to become inactive so it can be dropped.
    ReplicationOriginDrop = 159,
    /// Waiting for a replication slot to become inactive so it can be dropped.
    ReplicationSlotDrop = 160,
    /// Waiting for restore_command to complete.
    RestoreCommand = 161,
    /// Waiting to obtain a valid snapshot for a READ ONLY DEFERRABLE transaction.
    SafeSnapshot = 162,
    /// Waiting for confirmation from a remote server during synchronous replication.
    SyncRep = 163,
    /// Waiting for the WAL receiver to exit.
    WalReceiverExit = 164,
    /// Waiting for upstream server WAL flush position to catch up to requested start point.
    WalReceiverUpstreamCatchup = 165,
    /// Waiting for startup process to send initial data for streaming replication.
    WalReceiverWaitStart = 166,
    /// Waiting for a new WAL summary to be generated.
    WalSummaryReady = 167,
    /// Waiting for the group leader to update transaction status at transaction end.
    XactGroupUpdate = 168,
    /// Waiting to manage an extension's space allocation in shared memory.
    LwLockAddinShmemInit = 169,
    /// Waiting for another process to complete IO via io_uring.
    LwLockAioUringCompletion = 170,
    /// Waiting to access AIO worker submission queue.
    LwLockAioWorkerSubmissionQueue = 171,
    /// Waiting to update the postgresql.auto.conf file.
    LwLockAutoFile = 172,
    /// Waiting to read or update the current state of autovacuum workers.
    LwLockAutovacuum = 173,
    /// Waiting to ensure that a table selected for autovacuum still needs vacuuming.
    LwLockAutovacuumSchedule = 174,
    /// Waiting to read or update background worker state.
    LwLockBackgroundWorker = 175,
    /// Waiting to read or update vacuum-related information for a B-tree index.
    LwLockBtreeVacuum = 176,
    /// Waiting to access a data page in memory.
    LwLockBufferContent = 177,
    /// Waiting to associate a data block with a buffer in the buffer pool.
    LwLockBufferMapping = 178,
    /// Waiting to manage fsync requests.
    LwLockCheckpointerComm = 179,
    /// Waiting to read or update the last value set for a transaction commit timestamp.
    LwLockCommitTs = 180,
    /// Waiting for I/O on a commit timestamp SLRU buffer.
    LwLockCommitTsBuffer = 181,
    /// Waiting to access the commit timestamp SLRU cache.
    LwLockCommitTsSLRU = 182,
    /// Waiting to read or update the pg_control file or create a new WAL file.
    LwLockControlFile = 183,
    /// Waiting to read or update the dynamic shared memory registry.
    LwLockDSMRegistry = 184,
    /// Waiting to access dynamic shared memory registry's dynamic shared memory allocator.
    LwLockDSMRegistryDSA = 185,
    /// Waiting to access dynamic shared memory registry's shared hash table.
    LwLockDSMRegistryHash = 186,
    /// Waiting to read or update dynamic shared memory allocation information.
    LwLockDynamicSharedMemoryControl = 187,
    /// Waiting to read or update information related to injection points.
    LwLockInjectionPoint = 188,
    /// Waiting to read or update a process' fast-path lock information.
    LwLockLockFastPath = 189,
    /// Waiting to read or update information about \"heavyweight\" locks.
    LwLockLockManager = 190,
    /// Waiting to access logical replication launcher's dynamic shared memory allocator.
    LwLockLogicalRepLauncherDSA = 191,
    /// Waiting to access logical replication launcher's shared hash table.
    LwLockLogicalRepLauncherHash = 192,
    /// Waiting to read or update the state of logical replication workers.
    LwLockLogicalRepWorker = 193,
    /// Waiting to read or update shared multixact state.
    LwLockMultiXactGen = 194,
    /// Waiting for I/O on a multixact member SLRU buffer.
    LwLockMultiXactMemberBuffer = 195,
    /// Waiting to access the multixact member SLRU cache.
    LwLockMultiXactMemberSLRU = 196,
    /// Waiting for I/O on a multixact offset SLRU buffer.
    LwLockMultiXactOffsetBuffer = 197,
    /// Waiting to access the multixact offset SLRU cache.
    LwLockMultiXactOffsetSLRU = 198,
    /// Waiting to read or truncate multixact information.
    LwLockMultiXactTruncation = 199,
    /// Waiting for I/O on a NOTIFY message SLRU buffer.
    LwLockNotifyBuffer = 200,
    /// Waiting to read or update NOTIFY messages.
    LwLockNotifyQueue = 201,
    /// Waiting to update limit on NOTIFY message storage.
    LwLockNotifyQueueTail = 202,
    /// Waiting to access the NOTIFY message SLRU cache.
    LwLockNotifySLRU = 203,
    /// Waiting to allocate a new OID.
    LwLockOidGen = 204,
    /// Waiting to choose the next subplan during Parallel Append plan execution.
    LwLockParallelAppend = 205,
    /// Waiting to synchronize workers during Parallel B-tree scan plan execution.
    LwLockParallelBtreeScan = 206,
    /// Waiting to synchronize workers during Parallel Hash Join plan execution.
    LwLockParallelHashJoin = 207,
    /// Waiting for parallel query dynamic shared memory allocation.
    LwLockParallelQueryDSA = 208,
    /// Waiting for parallel vacuum dynamic shared memory allocation.
    LwLockParallelVacuumDSA = 209,
    /// Waiting for parallel query dynamic shared memory allocation.
    LwLockPerSessionDSA = 210,
    /// Waiting to access a parallel query's information about composite types.
    LwLockPerSessionRecordType = 211,
    /// Waiting to access a parallel query's information about type modifiers that identify anonymous record types.
    LwLockPerSessionRecordTypmod = 212,
    /// Waiting to access the list of predicate locks held by the current serializable transaction during a parallel query.
    LwLockPerXactPredicateList = 213,
    /// Waiting for stats dynamic shared memory allocator access.
    LwLockPgStatsDSA = 214,
    /// Waiting for shared memory stats data access.
    LwLockPgStatsData = 215,
    /// Waiting for stats shared memory hash table access.
    LwLockPgStatsHash = 216,
    /// Waiting to access predicate lock information used by serializable transactions.
    LwLockPredicateLockManager = 217,
    /// Waiting to access the shared per-process data structures (typically, to get a snapshot or report a session's transaction ID).
    LwLockProcArray = 218,
    /// Waiting to read or update a pg_internal.init relation cache initialization file.
    LwLockRelCacheInit = 219,
    /// Waiting to read or update a pg_filenode.map file (used to track the filenode assignments of certain system catalogs).
    LwLockRelationMapping = 220,
    /// Waiting to create, drop or use a replication origin.
    LwLockReplicationOrigin = 221,
    /// Waiting to read or update the progress of one replication origin.
    LwLockReplicationOriginState = 222,
    /// Waiting to allocate or free a replication slot.
    LwLockReplicationSlotAllocation = 223,
    /// Waiting to read or update replication slot state.
    LwLockReplicationSlotControl = 224,
    /// Waiting for I/O on a replication slot.
    LwLockReplicationSlotIO = 225,
    /// Waiting to retrieve messages from the shared catalog invalidation queue.
    LwLockSInvalRead = 226,
    /// Waiting to add a message to the shared catalog invalidation queue.
    LwLockSInvalWrite = 227,
    /// Waiting for I/O on a serializable transaction conflict SLRU buffer.
    LwLockSerialBuffer = 228,
    /// Waiting to read or update shared pg_serial state.
    LwLockSerialControl = 229,
    /// Waiting to access the serializable transaction conflict SLRU cache.
    LwLockSerialSLRU = 230,
    /// Waiting to access the list of finished serializable transactions.
    LwLockSerializableFinishedList = 231,
    /// Waiting to access the list of predicate locks held by serializable transactions.
    LwLockSerializablePredicateList = 232,
    /// Waiting to read or update information about serializable transactions.
    LwLockSerializableXactHash = 233,
    /// Waiting to access a shared TID bitmap during a parallel bitmap index scan.
    LwLockSharedTidBitmap = 234,
    /// Waiting to access a shared tuple store during parallel query.
    LwLockSharedTupleStore = 235,
    /// Waiting to find or allocate space in shared memory.
    LwLockShmemIndex = 236,
    /// Waiting for I/O on a sub-transaction SLRU buffer.
    LwLockSubtransBuffer = 237,
    /// Waiting to access the sub-transaction SLRU cache.
    LwLockSubtransSLRU = 238,
    /// Waiting to read or update information about the state of synchronous replication.
    LwLockSyncRep = 239,
    /// Waiting to select the starting location of a synchronized table scan.
    LwLockSyncScan = 240,
    /// Waiting to create or drop a tablespace.
    LwLockTablespaceCreate = 241,
    /// Waiting to read or update the state of prepared transactions.
    LwLockTwoPhaseState = 242,
    /// Waiting to replace a page in WAL buffers.
    LwLockWALBufMapping = 243,
    /// Waiting to insert WAL data into a memory buffer.
    LwLockWALInsert = 244,
    /// Waiting to read or update WAL summarization state.
    LwLockWALSummarizer = 245,
    /// Waiting for WAL buffers to be written to disk.
    LwLockWALWrite = 246,
    /// Waiting to read or update custom wait events information.
    LwLockWaitEventCustom = 247,
    /// Waiting to update limits on transaction id and multixact consumption.
    LwLockWrapLimitsVacuum = 248,
    /// Waiting for I/O on a transaction status SLRU buffer.
    LwLockXactBuffer = 249,
    /// Waiting to access the transaction status SLRU cache.
    LwLockXactSLRU = 250,
    /// Waiting to execute pg_xact_status or update the oldest transaction ID available to it.
    LwLockXactTruncation = 251,
    /// Waiting to allocate a new transaction ID.
    LwLockXidGen = 252,
    /// Waiting to acquire an advisory user lock.
    LockAdvisory = 253,
    /// Waiting to acquire a lock on a remote transaction being applied by a logical replication subscriber.
    LockApplytransaction = 254,
    /// Waiting to extend a relation.
    LockExtend = 255,
    /// Waiting to update pg_database.datfrozenxid and pg_database.datminmxid.
    LockFrozenid = 256,
    /// Waiting to acquire a lock on a non-relation database object.
    LockObject = 257,
    /// Waiting to acquire a lock on a page of a relation.
    LockPage = 258,
    /// Waiting to acquire a lock on a relation.
    LockRelation = 259,
    /// Waiting to acquire a speculative insertion lock.
    LockSpectoken = 260,
    /// Waiting for a transaction to finish.
    LockTransactionid = 261,
    /// Waiting to acquire a lock on a tuple.
    LockTuple = 262,
    /// Waiting to acquire a user lock.
    LockUserlock = 263,
    /// Waiting to acquire a virtual transaction ID lock.
    LockVirtualxid = 264,
    /// Waiting during base backup when throttling activity.
    BaseBackupThrottle = 265,
    /// Waiting between writes while performing a checkpoint.
    CheckpointWriteDelay = 266,
    /// Waiting due to a call to pg_sleep or a sibling function.
    PgSleep = 267,
    /// Waiting to apply WAL during recovery because of a delay setting.
    RecoveryApplyDelay = 268,
    /// Waiting during recovery when WAL data is not available from any source (pg_wal, archive or stream).
    RecoveryRetrieveRetryInterval = 269,
    /// Waiting while sending synchronization requests to the checkpointer, because the request queue is full.
    RegisterSyncRequest = 270,
    /// Waiting while acquiring a contended spinlock.
    SpinDelay = 271,
    /// Waiting in a cost-based vacuum delay point.
    VacuumDelay = 272,
    /// Waiting to acquire an exclusive lock to truncate off any empty pages at the end of a table vacuumed.
    VacuumTruncate = 273,
    /// Waiting after a WAL summarizer error.
    WalSummarizerError = 274,
}

/// All events in the order of their numbers: variant, type, name, description.
pub static EVENTS: &[(WaitEvent, &str, &str, &str)] = &[
    (WaitEvent::ArchiverMain, "Activity", "ArchiverMain", "Waiting in main loop of archiver process"),
    (WaitEvent::AutovacuumMain, "Activity", "AutovacuumMain", "Waiting in main loop of autovacuum launcher process"),
    (WaitEvent::BgwriterHibernate, "Activity", "BgwriterHibernate", "Waiting in background writer process, hibernating"),
    (WaitEvent::BgwriterMain, "Activity", "BgwriterMain", "Waiting in main loop of background writer process"),
    (WaitEvent::CheckpointerMain, "Activity", "CheckpointerMain", "Waiting in main loop of checkpointer process"),
    (WaitEvent::CheckpointerShutdown, "Activity", "CheckpointerShutdown", "Waiting for checkpointer process to be terminated"),
    (WaitEvent::IoWorkerMain, "Activity", "IoWorkerMain", "Waiting in main loop of IO Worker process"),
    (WaitEvent::LogicalApplyMain, "Activity", "LogicalApplyMain", "Waiting in main loop of logical replication apply process"),
    (WaitEvent::LogicalLauncherMain, "Activity", "LogicalLauncherMain", "Waiting in main loop of logical replication launcher process"),
    (WaitEvent::LogicalParallelApplyMain, "Activity", "LogicalParallelApplyMain", "Waiting in main loop of logical replication parallel apply process"),
    (WaitEvent::RecoveryWalStream, "Activity", "RecoveryWalStream", "Waiting in main loop of startup process for WAL to arrive, during streaming recovery"),
    (WaitEvent::ReplicationSlotsyncMain, "Activity", "ReplicationSlotsyncMain", "Waiting in main loop of slot sync worker"),
    (WaitEvent::ReplicationSlotsyncShutdown, "Activity", "ReplicationSlotsyncShutdown", "Waiting for slot sync worker to shut down"),
    (WaitEvent::SysloggerMain, "Activity", "SysloggerMain", "Waiting in main loop of syslogger process"),
    (WaitEvent::WalReceiverMain, "Activity", "WalReceiverMain", "Waiting in main loop of WAL receiver process"),
    (WaitEvent::WalSenderMain, "Activity", "WalSenderMain", "Waiting in main loop of WAL sender process"),
    (WaitEvent::WalSummarizerWal, "Activity", "WalSummarizerWal", "Waiting in WAL summarizer for more WAL to be generated"),
    (WaitEvent::WalWriterMain, "Activity", "WalWriterMain", "Waiting in main loop of WAL writer process"),
    (WaitEvent::BufferPin, "BufferPin", "BufferPin", "Waiting to acquire an exclusive pin on a buffer"),
    (WaitEvent::ClientRead, "Client", "ClientRead", "Waiting to read data from the client"),
    (WaitEvent::ClientWrite, "Client", "ClientWrite", "Waiting to write data to the client"),
    (WaitEvent::GssOpenServer, "Client", "GssOpenServer", "Waiting to read data from the client while establishing a GSSAPI session"),
    (WaitEvent::LibpqwalreceiverConnect, "Client", "LibpqwalreceiverConnect", "Waiting in WAL receiver to establish connection to remote server"),
    (WaitEvent::LibpqwalreceiverReceive, "Client", "LibpqwalreceiverReceive", "Waiting in WAL receiver to receive data from remote server"),
    (WaitEvent::SslOpenServer, "Client", "SslOpenServer", "Waiting for SSL while attempting connection"),
    (WaitEvent::WaitForStandbyConfirmation, "Client", "WaitForStandbyConfirmation", "Waiting for WAL to be received and flushed by the physical standby"),
    (WaitEvent::WalSenderWaitForWal, "Client", "WalSenderWaitForWal", "Waiting for WAL to be flushed in WAL sender process"),
    (WaitEvent::WalSenderWriteData, "Client", "WalSenderWriteData", "Waiting for any activity when processing replies from WAL receiver in WAL sender process"),
    (WaitEvent::Extension, "Extension", "Extension", "Waiting in an extension"),
    (WaitEvent::AioIoCompletion, "IO", "AioIoCompletion", "Waiting for another process to complete IO"),
    (WaitEvent::AioIoUringExecution, "IO", "AioIoUringExecution", "Waiting for IO execution via io_uring"),
    (WaitEvent::AioIoUringSubmit, "IO", "AioIoUringSubmit", "Waiting for IO submission via io_uring"),
    (WaitEvent::BasebackupRead, "IO", "BasebackupRead", "Waiting for base backup to read from a file"),
    (WaitEvent::BasebackupSync, "IO", "BasebackupSync", "Waiting for data written by a base backup to reach durable storage"),
    (WaitEvent::BasebackupWrite, "IO", "BasebackupWrite", "Waiting for base backup to write to a file"),
    (WaitEvent::BuffileRead, "IO", "BuffileRead", "Waiting for a read from a buffered file"),
    (WaitEvent::BuffileTruncate, "IO", "BuffileTruncate", "Waiting for a buffered file to be truncated"),
    (WaitEvent::BuffileWrite, "IO", "BuffileWrite", "Waiting for a write to a buffered file"),
    (WaitEvent::ControlFileRead, "IO", "ControlFileRead", "Waiting for a read from the pg_control file"),
    (WaitEvent::ControlFileSync, "IO", "ControlFileSync", "Waiting for the pg_control file to reach durable storage"),
    (WaitEvent::ControlFileSyncUpdate, "IO", "ControlFileSyncUpdate", "Waiting for an update to the pg_control file to reach durable storage"),
    (WaitEvent::ControlFileWrite, "IO", "ControlFileWrite", "Waiting for a write to the pg_control file"),
    (WaitEvent::ControlFileWriteUpdate, "IO", "ControlFileWriteUpdate", "Waiting for a write to update the pg_control file"),
    (WaitEvent::CopyFileCopy, "IO", "CopyFileCopy", "Waiting for a file copy operation"),
    (WaitEvent::CopyFileRead, "IO", "CopyFileRead", "Waiting for a read during a file copy operation"),
    (WaitEvent::CopyFileWrite, "IO", "CopyFileWrite", "Waiting for a write during a file copy operation"),
    (WaitEvent::DataFileExtend, "IO", "DataFileExtend", "Waiting for a relation data file to be extended"),
    (WaitEvent::DataFileFlush, "IO", "DataFileFlush", "Waiting for a relation data file to reach durable storage"),
    (WaitEvent::DataFileImmediateSync, "IO", "DataFileImmediateSync", "Waiting for an immediate synchronization of a relation data file to durable storage"),
    (WaitEvent::DataFilePrefetch, "IO", "DataFilePrefetch", "Waiting for an asynchronous prefetch from a relation data file"),
    (WaitEvent::DataFileRead, "IO", "DataFileRead", "Waiting for a read from a relation data file"),
    (WaitEvent::DataFileSync, "IO", "DataFileSync", "Waiting for changes to a relation data file to reach durable storage"),
    (WaitEvent::DataFileTruncate, "IO", "DataFileTruncate", "Waiting for a relation data file to be truncated"),
    (WaitEvent::DataFileWrite, "IO", "DataFileWrite", "Waiting for a write to a relation data file"),
    (WaitEvent::DsmAllocate, "IO", "DsmAllocate", "Waiting for a dynamic shared memory segment to be allocated"),
    (WaitEvent::DsmFillZeroWrite, "IO", "DsmFillZeroWrite", "Waiting to fill a dynamic shared memory backing file with zeroes"),
    (WaitEvent::LockFileAddtodatadirRead, "IO", "LockFileAddtodatadirRead", "Waiting for a read while adding a line to the data directory lock file"),
    (WaitEvent::LockFileAddtodatadirSync, "IO", "LockFileAddtodatadirSync", "Waiting for data to reach durable storage while adding a line to the data directory lock file"),
    (WaitEvent::LockFileAddtodatadirWrite, "IO", "LockFileAddtodatadirWrite", "Waiting for a write while adding a line to the data directory lock file"),
    (WaitEvent::LockFileCreateRead, "IO", "LockFileCreateRead", "Waiting to read while creating the data directory lock file"),
    (WaitEvent::LockFileCreateSync, "IO", "LockFileCreateSync", "Waiting for data to reach durable storage while creating the data directory lock file"),
    (WaitEvent::LockFileCreateWrite, "IO", "LockFileCreateWrite", "Waiting for a write while creating the data directory lock file"),
    (WaitEvent::LockFileRecheckdatadirRead, "IO", "LockFileRecheckdatadirRead", "Waiting for a read during recheck of the data directory lock file"),
    (WaitEvent::LogicalRewriteCheckpointSync, "IO", "LogicalRewriteCheckpointSync", "Waiting for logical rewrite mappings to reach durable storage during a checkpoint"),
    (WaitEvent::LogicalRewriteMappingSync, "IO", "LogicalRewriteMappingSync", "Waiting for mapping data to reach durable storage during a logical rewrite"),
    (WaitEvent::LogicalRewriteMappingWrite, "IO", "LogicalRewriteMappingWrite", "Waiting for a write of mapping data during a logical rewrite"),
    (WaitEvent::LogicalRewriteSync, "IO", "LogicalRewriteSync", "Waiting for logical rewrite mappings to reach durable storage"),
    (WaitEvent::LogicalRewriteTruncate, "IO", "LogicalRewriteTruncate", "Waiting for truncate of mapping data during a logical rewrite"),
    (WaitEvent::LogicalRewriteWrite, "IO", "LogicalRewriteWrite", "Waiting for a write of logical rewrite mappings"),
    (WaitEvent::RelationMapRead, "IO", "RelationMapRead", "Waiting for a read of the relation map file"),
    (WaitEvent::RelationMapReplace, "IO", "RelationMapReplace", "Waiting for durable replacement of a relation map file"),
    (WaitEvent::RelationMapWrite, "IO", "RelationMapWrite", "Waiting for a write to the relation map file"),
    (WaitEvent::ReorderBufferRead, "IO", "ReorderBufferRead", "Waiting for a read during reorder buffer management"),
    (WaitEvent::ReorderBufferWrite, "IO", "ReorderBufferWrite", "Waiting for a write during reorder buffer management"),
    (WaitEvent::ReorderLogicalMappingRead, "IO", "ReorderLogicalMappingRead", "Waiting for a read of a logical mapping during reorder buffer management"),
    (WaitEvent::ReplicationSlotRead, "IO", "ReplicationSlotRead", "Waiting for a read from a replication slot control file"),
    (WaitEvent::ReplicationSlotRestoreSync, "IO", "ReplicationSlotRestoreSync", "Waiting for a replication slot control file to reach durable storage while restoring it to memory"),
    (WaitEvent::ReplicationSlotSync, "IO", "ReplicationSlotSync", "Waiting for a replication slot control file to reach durable storage"),
    (WaitEvent::ReplicationSlotWrite, "IO", "ReplicationSlotWrite", "Waiting for a write to a replication slot control file"),
    (WaitEvent::SlruFlushSync, "IO", "SlruFlushSync", "Waiting for SLRU data to reach durable storage during a checkpoint or database shutdown"),
    (WaitEvent::SlruRead, "IO", "SlruRead", "Waiting for a read of an SLRU page"),
    (WaitEvent::SlruSync, "IO", "SlruSync", "Waiting for SLRU data to reach durable storage following a page write"),
    (WaitEvent::SlruWrite, "IO", "SlruWrite", "Waiting for a write of an SLRU page"),
    (WaitEvent::SnapbuildRead, "IO", "SnapbuildRead", "Waiting for a read of a serialized historical catalog snapshot"),
    (WaitEvent::SnapbuildSync, "IO", "SnapbuildSync", "Waiting for a serialized historical catalog snapshot to reach durable storage"),
    (WaitEvent::SnapbuildWrite, "IO", "SnapbuildWrite", "Waiting for a write of a serialized historical catalog snapshot"),
    (WaitEvent::TimelineHistoryFileSync, "IO", "TimelineHistoryFileSync", "Waiting for a timeline history file received via streaming replication to reach durable storage"),
    (WaitEvent::TimelineHistoryFileWrite, "IO", "TimelineHistoryFileWrite", "Waiting for a write of a timeline history file received via streaming replication"),
    (WaitEvent::TimelineHistoryRead, "IO", "TimelineHistoryRead", "Waiting for a read of a timeline history file"),
    (WaitEvent::TimelineHistorySync, "IO", "TimelineHistorySync", "Waiting for a newly created timeline history file to reach durable storage"),
    (WaitEvent::TimelineHistoryWrite, "IO", "TimelineHistoryWrite", "Waiting for a write of a newly created timeline history file"),
    (WaitEvent::TwophaseFileRead, "IO", "TwophaseFileRead", "Waiting for a read of a two phase state file"),
    (WaitEvent::TwophaseFileSync, "IO", "TwophaseFileSync", "Waiting for a two phase state file to reach durable storage"),
    (WaitEvent::TwophaseFileWrite, "IO", "TwophaseFileWrite", "Waiting for a write of a two phase state file"),
    (WaitEvent::VersionFileSync, "IO", "VersionFileSync", "Waiting for the version file to reach durable storage while creating a database"),
    (WaitEvent::VersionFileWrite, "IO", "VersionFileWrite", "Waiting for the version file to be written while creating a database"),
    (WaitEvent::WalBootstrapSync, "IO", "WalBootstrapSync", "Waiting for WAL to reach durable storage during bootstrapping"),
    (WaitEvent::WalBootstrapWrite, "IO", "WalBootstrapWrite", "Waiting for a write of a WAL page during bootstrapping"),
    (WaitEvent::WalCopyRead, "IO", "WalCopyRead", "Waiting for a read when creating a new WAL segment by copying an existing one"),
    (WaitEvent::WalCopySync, "IO", "WalCopySync", "Waiting for a new WAL segment created by copying an existing one to reach durable storage"),
    (WaitEvent::WalCopyWrite, "IO", "WalCopyWrite", "Waiting for a write when creating a new WAL segment by copying an existing one"),
    (WaitEvent::WalInitSync, "IO", "WalInitSync", "Waiting for a newly initialized WAL file to reach durable storage"),
    (WaitEvent::WalInitWrite, "IO", "WalInitWrite", "Waiting for a write while initializing a new WAL file"),
    (WaitEvent::WalRead, "IO", "WalRead", "Waiting for a read from a WAL file"),
    (WaitEvent::WalSummaryRead, "IO", "WalSummaryRead", "Waiting for a read from a WAL summary file"),
    (WaitEvent::WalSummaryWrite, "IO", "WalSummaryWrite", "Waiting for a write to a WAL summary file"),
    (WaitEvent::WalSync, "IO", "WalSync", "Waiting for a WAL file to reach durable storage"),
    (WaitEvent::WalSyncMethodAssign, "IO", "WalSyncMethodAssign", "Waiting for data to reach durable storage while assigning a new WAL sync method"),
    (WaitEvent::WalWrite, "IO", "WalWrite", "Waiting for a write to a WAL file"),
    (WaitEvent::WalsenderTimelineHistoryRead, "IO", "WalsenderTimelineHistoryRead", "Waiting for a read from a timeline history file during a walsender timeline command"),
    (WaitEvent::AppendReady, "IPC", "AppendReady", "Waiting for subplan nodes of an Append plan node to be ready"),
    (WaitEvent::ArchiveCleanupCommand, "IPC", "ArchiveCleanupCommand", "Waiting for archive_cleanup_command to complete"),
    (WaitEvent::ArchiveCommand, "IPC", "ArchiveCommand", "Waiting for archive_command to complete"),
    (WaitEvent::BackendTermination, "IPC", "BackendTermination", "Waiting for the termination of another backend"),
    (WaitEvent::BackupWaitWalArchive, "IPC", "BackupWaitWalArchive", "Waiting for WAL files required for a backup to be successfully archived"),
    (WaitEvent::BgworkerShutdown, "IPC", "BgworkerShutdown", "Waiting for background worker to shut down"),
    (WaitEvent::BgworkerStartup, "IPC", "BgworkerStartup", "Waiting for background worker to start up"),
    (WaitEvent::BtreePage, "IPC", "BtreePage", "Waiting for the page number needed to continue a parallel B-tree scan to become available"),
    (WaitEvent::BufferIo, "IPC", "BufferIo", "Waiting for buffer I/O to complete"),
    (WaitEvent::CheckpointDelayComplete, "IPC", "CheckpointDelayComplete", "Waiting for a backend that blocks a checkpoint from completing"),
    (WaitEvent::CheckpointDelayStart, "IPC", "CheckpointDelayStart", "Waiting for a backend that blocks a checkpoint from starting"),
    (WaitEvent::CheckpointDone, "IPC", "CheckpointDone", "Waiting for a checkpoint to complete"),
    (WaitEvent::CheckpointStart, "IPC", "CheckpointStart", "Waiting for a checkpoint to start"),
    (WaitEvent::ExecuteGather, "IPC", "ExecuteGather", "Waiting for activity from a child process while executing a Gather plan node"),
    (WaitEvent::HashBatchAllocate, "IPC", "HashBatchAllocate", "Waiting for an elected Parallel Hash participant to allocate a hash table"),
    (WaitEvent::HashBatchElect, "IPC", "HashBatchElect", "Waiting to elect a Parallel Hash participant to allocate a hash table"),
    (WaitEvent::HashBatchLoad, "IPC", "HashBatchLoad", "Waiting for other Parallel Hash participants to finish loading a hash table"),
    (WaitEvent::HashBuildAllocate, "IPC", "HashBuildAllocate", "Waiting for an elected Parallel Hash participant to allocate the initial hash table"),
    (WaitEvent::HashBuildElect, "IPC", "HashBuildElect", "Waiting to elect a Parallel Hash participant to allocate the initial hash table"),
    (WaitEvent::HashBuildHashInner, "IPC", "HashBuildHashInner", "Waiting for other Parallel Hash participants to finish hashing the inner relation"),
    (WaitEvent::HashBuildHashOuter, "IPC", "HashBuildHashOuter", "Waiting for other Parallel Hash participants to finish partitioning the outer relation"),
    (WaitEvent::HashGrowBatchesDecide, "IPC", "HashGrowBatchesDecide", "Waiting to elect a Parallel Hash participant to decide on future batch growth"),
    (WaitEvent::HashGrowBatchesElect, "IPC", "HashGrowBatchesElect", "Waiting to elect a Parallel Hash participant to allocate more batches"),
    (WaitEvent::HashGrowBatchesFinish, "IPC", "HashGrowBatchesFinish", "Waiting for an elected Parallel Hash participant to decide on future batch growth"),
    (WaitEvent::HashGrowBatchesReallocate, "IPC", "HashGrowBatchesReallocate", "Waiting for an elected Parallel Hash participant to allocate more batches"),
    (WaitEvent::HashGrowBatchesRepartition, "IPC", "HashGrowBatchesRepartition", "Waiting for other Parallel Hash participants to finish repartitioning"),
    (WaitEvent::HashGrowBucketsElect, "IPC", "HashGrowBucketsElect", "Waiting to elect a Parallel Hash participant to allocate more buckets"),
    (WaitEvent::HashGrowBucketsReallocate, "IPC", "HashGrowBucketsReallocate", "Waiting for an elected Parallel Hash participant to finish allocating more buckets"),
    (WaitEvent::HashGrowBucketsReinsert, "IPC", "HashGrowBucketsReinsert", "Waiting for other Parallel Hash participants to finish inserting tuples into new buckets"),
    (WaitEvent::LogicalApplySendData, "IPC", "LogicalApplySendData", "Waiting for a logical replication leader apply process to send data to a parallel apply process"),
    (WaitEvent::LogicalParallelApplyStateChange, "IPC", "LogicalParallelApplyStateChange", "Waiting for a logical replication parallel apply process to change state"),
    (WaitEvent::LogicalSyncData, "IPC", "LogicalSyncData", "Waiting for a logical replication remote server to send data for initial table synchronization"),
    (WaitEvent::LogicalSyncStateChange, "IPC", "LogicalSyncStateChange", "Waiting for a logical replication remote server to change state"),
    (WaitEvent::MessageQueueInternal, "IPC", "MessageQueueInternal", "Waiting for another process to be attached to a shared message queue"),
    (WaitEvent::MessageQueuePutMessage, "IPC", "MessageQueuePutMessage", "Waiting to write a protocol message to a shared message queue"),
    (WaitEvent::MessageQueueReceive, "IPC", "MessageQueueReceive", "Waiting to receive bytes from a shared message queue"),
    (WaitEvent::MessageQueueSend, "IPC", "MessageQueueSend", "Waiting to send bytes to a shared message queue"),
    (WaitEvent::MultixactCreation, "IPC", "MultixactCreation", "Waiting for a multixact creation to complete"),
    (WaitEvent::ParallelBitmapScan, "IPC", "ParallelBitmapScan", "Waiting for parallel bitmap scan to become initialized"),
    (WaitEvent::ParallelCreateIndexScan, "IPC", "ParallelCreateIndexScan", "Waiting for parallel CREATE INDEX workers to finish heap scan"),
    (WaitEvent::ParallelFinish, "IPC", "ParallelFinish", "Waiting for parallel workers to finish computing"),
    (WaitEvent::ProcSignalBarrier, "IPC", "ProcSignalBarrier", "Waiting for a barrier event to be processed by all backends"),
    (WaitEvent::ProcarrayGroupUpdate, "IPC", "ProcarrayGroupUpdate", "Waiting for the group leader to clear the transaction ID at transaction end"),
    (WaitEvent::Promote, "IPC", "Promote", "Waiting for standby promotion"),
    (WaitEvent::RecoveryConflictSnapshot, "IPC", "RecoveryConflictSnapshot", "Waiting for recovery conflict resolution for a vacuum cleanup"),
    (WaitEvent::RecoveryConflictTablespace, "IPC", "RecoveryConflictTablespace", "Waiting for recovery conflict resolution for dropping a tablespace"),
    (WaitEvent::RecoveryEndCommand, "IPC", "RecoveryEndCommand", "Waiting for recovery_end_command to complete"),
    (WaitEvent::RecoveryPause, "IPC", "RecoveryPause", "Waiting for recovery to be resumed"),
    (WaitEvent::ReplicationOriginDrop, "IPC", "ReplicationOriginDrop", "Waiting for a replication origin to become inactive so it can be dropped"),
    (WaitEvent::ReplicationSlotDrop, "IPC", "ReplicationSlotDrop", "Waiting for a replication slot to become inactive so it can be dropped"),
    (WaitEvent::RestoreCommand, "IPC", "RestoreCommand", "Waiting for restore_command to complete"),
    (WaitEvent::SafeSnapshot, "IPC", "SafeSnapshot", "Waiting to obtain a valid snapshot for a READ ONLY DEFERRABLE transaction"),
    (WaitEvent::SyncRep, "IPC", "SyncRep", "Waiting for confirmation from a remote server during synchronous replication"),
    (WaitEvent::WalReceiverExit, "IPC", "WalReceiverExit", "Waiting for the WAL receiver to exit"),
    (WaitEvent::WalReceiverUpstreamCatchup, "IPC", "WalReceiverUpstreamCatchup", "Waiting for upstream server WAL flush position to catch up to requested start point"),
    (WaitEvent::WalReceiverWaitStart, "IPC", "WalReceiverWaitStart", "Waiting for startup process to send initial data for streaming replication"),
    (WaitEvent::WalSummaryReady, "IPC", "WalSummaryReady", "Waiting for a new WAL summary to be generated"),
    (WaitEvent::XactGroupUpdate, "IPC", "XactGroupUpdate", "Waiting for the group leader to update transaction status at transaction end"),
    (WaitEvent::LwLockAddinShmemInit, "LWLock", "AddinShmemInit", "Waiting to manage an extension's space allocation in shared memory"),
    (WaitEvent::LwLockAioUringCompletion, "LWLock", "AioUringCompletion", "Waiting for another process to complete IO via io_uring"),
    (WaitEvent::LwLockAioWorkerSubmissionQueue, "LWLock", "AioWorkerSubmissionQueue", "Waiting to access AIO worker submission queue"),
    (WaitEvent::LwLockAutoFile, "LWLock", "AutoFile", "Waiting to update the postgresql.auto.conf file"),
    (WaitEvent::LwLockAutovacuum, "LWLock", "Autovacuum", "Waiting to read or update the current state of autovacuum workers"),
    (WaitEvent::LwLockAutovacuumSchedule, "LWLock", "AutovacuumSchedule", "Waiting to ensure that a table selected for autovacuum still needs vacuuming"),
    (WaitEvent::LwLockBackgroundWorker, "LWLock", "BackgroundWorker", "Waiting to read or update background worker state"),
    (WaitEvent::LwLockBtreeVacuum, "LWLock", "BtreeVacuum", "Waiting to read or update vacuum-related information for a B-tree index"),
    (WaitEvent::LwLockBufferContent, "LWLock", "BufferContent", "Waiting to access a data page in memory"),
    (WaitEvent::LwLockBufferMapping, "LWLock", "BufferMapping", "Waiting to associate a data block with a buffer in the buffer pool"),
    (WaitEvent::LwLockCheckpointerComm, "LWLock", "CheckpointerComm", "Waiting to manage fsync requests"),
    (WaitEvent::LwLockCommitTs, "LWLock", "CommitTs", "Waiting to read or update the last value set for a transaction commit timestamp"),
    (WaitEvent::LwLockCommitTsBuffer, "LWLock", "CommitTsBuffer", "Waiting for I/O on a commit timestamp SLRU buffer"),
    (WaitEvent::LwLockCommitTsSLRU, "LWLock", "CommitTsSLRU", "Waiting to access the commit timestamp SLRU cache"),
    (WaitEvent::LwLockControlFile, "LWLock", "ControlFile", "Waiting to read or update the pg_control file or create a new WAL file"),
    (WaitEvent::LwLockDSMRegistry, "LWLock", "DSMRegistry", "Waiting to read or update the dynamic shared memory registry"),
    (WaitEvent::LwLockDSMRegistryDSA, "LWLock", "DSMRegistryDSA", "Waiting to access dynamic shared memory registry's dynamic shared memory allocator"),
    (WaitEvent::LwLockDSMRegistryHash, "LWLock", "DSMRegistryHash", "Waiting to access dynamic shared memory registry's shared hash table"),
    (WaitEvent::LwLockDynamicSharedMemoryControl, "LWLock", "DynamicSharedMemoryControl", "Waiting to read or update dynamic shared memory allocation information"),
    (WaitEvent::LwLockInjectionPoint, "LWLock", "InjectionPoint", "Waiting to read or update information related to injection points"),
    (WaitEvent::LwLockLockFastPath, "LWLock", "LockFastPath", "Waiting to read or update a process' fast-path lock information"),
    (WaitEvent::LwLockLockManager, "LWLock", "LockManager", "Waiting to read or update information about \"heavyweight\" locks"),
    (WaitEvent::LwLockLogicalRepLauncherDSA, "LWLock", "LogicalRepLauncherDSA", "Waiting to access logical replication launcher's dynamic shared memory allocator"),
    (WaitEvent::LwLockLogicalRepLauncherHash, "LWLock", "LogicalRepLauncherHash", "Waiting to access logical replication launcher's shared hash table"),
    (WaitEvent::LwLockLogicalRepWorker, "LWLock", "LogicalRepWorker", "Waiting to read or update the state of logical replication workers"),
    (WaitEvent::LwLockMultiXactGen, "LWLock", "MultiXactGen", "Waiting to read or update shared multixact state"),
    (WaitEvent::LwLockMultiXactMemberBuffer, "LWLock", "MultiXactMemberBuffer", "Waiting for I/O on a multixact member SLRU buffer"),
    (WaitEvent::LwLockMultiXactMemberSLRU, "LWLock", "MultiXactMemberSLRU", "Waiting to access the multixact member SLRU cache"),
    (WaitEvent::LwLockMultiXactOffsetBuffer, "LWLock", "MultiXactOffsetBuffer", "Waiting for I/O on a multixact offset SLRU buffer"),
    (WaitEvent::LwLockMultiXactOffsetSLRU, "LWLock", "MultiXactOffsetSLRU", "Waiting to access the multixact offset SLRU cache"),
    (WaitEvent::LwLockMultiXactTruncation, "LWLock", "MultiXactTruncation", "Waiting to read or truncate multixact information"),
    (WaitEvent::LwLockNotifyBuffer, "LWLock", "NotifyBuffer", "Waiting for I/O on a NOTIFY message SLRU buffer"),
    (WaitEvent::LwLockNotifyQueue, "LWLock", "NotifyQueue", "Waiting to read or update NOTIFY messages"),
    (WaitEvent::LwLockNotifyQueueTail, "LWLock", "NotifyQueueTail", "Waiting to update limit on NOTIFY message storage"),
    (WaitEvent::LwLockNotifySLRU, "LWLock", "NotifySLRU", "Waiting to access the NOTIFY message SLRU cache"),
    (WaitEvent::LwLockOidGen, "LWLock", "OidGen", "Waiting to allocate a new OID"),
    (WaitEvent::LwLockParallelAppend, "LWLock", "ParallelAppend", "Waiting to choose the next subplan during Parallel Append plan execution"),
    (WaitEvent::LwLockParallelBtreeScan, "LWLock", "ParallelBtreeScan", "Waiting to synchronize workers during Parallel B-tree scan plan execution"),
    (WaitEvent::LwLockParallelHashJoin, "LWLock", "ParallelHashJoin", "Waiting to synchronize workers during Parallel Hash Join plan execution"),
    (WaitEvent::LwLockParallelQueryDSA, "LWLock", "ParallelQueryDSA", "Waiting for parallel query dynamic shared memory allocation"),
    (WaitEvent::LwLockParallelVacuumDSA, "LWLock", "ParallelVacuumDSA", "Waiting for parallel vacuum dynamic shared memory allocation"),
    (WaitEvent::LwLockPerSessionDSA, "LWLock", "PerSessionDSA", "Waiting for parallel query dynamic shared memory allocation"),
    (WaitEvent::LwLockPerSessionRecordType, "LWLock", "PerSessionRecordType", "Waiting to access a parallel query's information about composite types"),
    (WaitEvent::LwLockPerSessionRecordTypmod, "LWLock", "PerSessionRecordTypmod", "Waiting to access a parallel query's information about type modifiers that identify anonymous record types"),
    (WaitEvent::LwLockPerXactPredicateList, "LWLock", "PerXactPredicateList", "Waiting to access the list of predicate locks held by the current serializable transaction during a parallel query"),
    (WaitEvent::LwLockPgStatsDSA, "LWLock", "PgStatsDSA", "Waiting for stats dynamic shared memory allocator access"),
    (WaitEvent::LwLockPgStatsData, "LWLock", "PgStatsData", "Waiting for shared memory stats data access"),
    (WaitEvent::LwLockPgStatsHash, "LWLock", "PgStatsHash", "Waiting for stats shared memory hash table access"),
    (WaitEvent::LwLockPredicateLockManager, "LWLock", "PredicateLockManager", "Waiting to access predicate lock information used by serializable transactions"),
    (WaitEvent::LwLockProcArray, "LWLock", "ProcArray", "Waiting to access the shared per-process data structures (typically, to get a snapshot or report a session's transaction ID)"),
    (WaitEvent::LwLockRelCacheInit, "LWLock", "RelCacheInit", "Waiting to read or update a pg_internal.init relation cache initialization file"),
    (WaitEvent::LwLockRelationMapping, "LWLock", "RelationMapping", "Waiting to read or update a pg_filenode.map file (used to track the filenode assignments of certain system catalogs)"),
    (WaitEvent::LwLockReplicationOrigin, "LWLock", "ReplicationOrigin", "Waiting to create, drop or use a replication origin"),
    (WaitEvent::LwLockReplicationOriginState, "LWLock", "ReplicationOriginState", "Waiting to read or update the progress of one replication origin"),
    (WaitEvent::LwLockReplicationSlotAllocation, "LWLock", "ReplicationSlotAllocation", "Waiting to allocate or free a replication slot"),
    (WaitEvent::LwLockReplicationSlotControl, "LWLock", "ReplicationSlotControl", "Waiting to read or update replication slot state"),
    (WaitEvent::LwLockReplicationSlotIO, "LWLock", "ReplicationSlotIO", "Waiting for I/O on a replication slot"),
    (WaitEvent::LwLockSInvalRead, "LWLock", "SInvalRead", "Waiting to retrieve messages from the shared catalog invalidation queue"),
    (WaitEvent::LwLockSInvalWrite, "LWLock", "SInvalWrite", "Waiting to add a message to the shared catalog invalidation queue"),
    (WaitEvent::LwLockSerialBuffer, "LWLock", "SerialBuffer", "Waiting for I/O on a serializable transaction conflict SLRU buffer"),
    (WaitEvent::LwLockSerialControl, "LWLock", "SerialControl", "Waiting to read or update shared pg_serial state"),
    (WaitEvent::LwLockSerialSLRU, "LWLock", "SerialSLRU", "Waiting to access the serializable transaction conflict SLRU cache"),
    (WaitEvent::LwLockSerializableFinishedList, "LWLock", "SerializableFinishedList", "Waiting to access the list of finished serializable transactions"),
    (WaitEvent::LwLockSerializablePredicateList, "LWLock", "SerializablePredicateList", "Waiting to access the list of predicate locks held by serializable transactions"),
    (WaitEvent::LwLockSerializableXactHash, "LWLock", "SerializableXactHash", "Waiting to read or update information about serializable transactions"),
    (WaitEvent::LwLockSharedTidBitmap, "LWLock", "SharedTidBitmap", "Waiting to access a shared TID bitmap during a parallel bitmap index scan"),
    (WaitEvent::LwLockSharedTupleStore, "LWLock", "SharedTupleStore", "Waiting to access a shared tuple store during parallel query"),
    (WaitEvent::LwLockShmemIndex, "LWLock", "ShmemIndex", "Waiting to find or allocate space in shared memory"),
    (WaitEvent::LwLockSubtransBuffer, "LWLock", "SubtransBuffer", "Waiting for I/O on a sub-transaction SLRU buffer"),
    (WaitEvent::LwLockSubtransSLRU, "LWLock", "SubtransSLRU", "Waiting to access the sub-transaction SLRU cache"),
    (WaitEvent::LwLockSyncRep, "LWLock", "SyncRep", "Waiting to read or update information about the state of synchronous replication"),
    (WaitEvent::LwLockSyncScan, "LWLock", "SyncScan", "Waiting to select the starting location of a synchronized table scan"),
    (WaitEvent::LwLockTablespaceCreate, "LWLock", "TablespaceCreate", "Waiting to create or drop a tablespace"),
    (WaitEvent::LwLockTwoPhaseState, "LWLock", "TwoPhaseState", "Waiting to read or update the state of prepared transactions"),
    (WaitEvent::LwLockWALBufMapping, "LWLock", "WALBufMapping", "Waiting to replace a page in WAL buffers"),
    (WaitEvent::LwLockWALInsert, "LWLock", "WALInsert", "Waiting to insert WAL data into a memory buffer"),
    (WaitEvent::LwLockWALSummarizer, "LWLock", "WALSummarizer", "Waiting to read or update WAL summarization state"),
    (WaitEvent::LwLockWALWrite, "LWLock", "WALWrite", "Waiting for WAL buffers to be written to disk"),
    (WaitEvent::LwLockWaitEventCustom, "LWLock", "WaitEventCustom", "Waiting to read or update custom wait events information"),
    (WaitEvent::LwLockWrapLimitsVacuum, "LWLock", "WrapLimitsVacuum", "Waiting to update limits on transaction id and multixact consumption"),
    (WaitEvent::LwLockXactBuffer, "LWLock", "XactBuffer", "Waiting for I/O on a transaction status SLRU buffer"),
    (WaitEvent::LwLockXactSLRU, "LWLock", "XactSLRU", "Waiting to access the transaction status SLRU cache"),
    (WaitEvent::LwLockXactTruncation, "LWLock", "XactTruncation", "Waiting to execute pg_xact_status or update the oldest transaction ID available to it"),
    (WaitEvent::LwLockXidGen, "LWLock", "XidGen", "Waiting to allocate a new transaction ID"),
    (WaitEvent::LockAdvisory, "Lock", "advisory", "Waiting to acquire an advisory user lock"),
    (WaitEvent::LockApplytransaction, "Lock", "applytransaction", "Waiting to acquire a lock on a remote transaction being applied by a logical replication subscriber"),
    (WaitEvent::LockExtend, "Lock", "extend", "Waiting to extend a relation"),
    (WaitEvent::LockFrozenid, "Lock", "frozenid", "Waiting to update pg_database.datfrozenxid and pg_database.datminmxid"),
    (WaitEvent::LockObject, "Lock", "object", "Waiting to acquire a lock on a non-relation database object"),
    (WaitEvent::LockPage, "Lock", "page", "Waiting to acquire a lock on a page of a relation"),
    (WaitEvent::LockRelation, "Lock", "relation", "Waiting to acquire a lock on a relation"),
    (WaitEvent::LockSpectoken, "Lock", "spectoken", "Waiting to acquire a speculative insertion lock"),
    (WaitEvent::LockTransactionid, "Lock", "transactionid", "Waiting for a transaction to finish"),
    (WaitEvent::LockTuple, "Lock", "tuple", "Waiting to acquire a lock on a tuple"),
    (WaitEvent::LockUserlock, "Lock", "userlock", "Waiting to acquire a user lock"),
    (WaitEvent::LockVirtualxid, "Lock", "virtualxid", "Waiting to acquire a virtual transaction ID lock"),
    (WaitEvent::BaseBackupThrottle, "Timeout", "BaseBackupThrottle", "Waiting during base backup when throttling activity"),
    (WaitEvent::CheckpointWriteDelay, "Timeout", "CheckpointWriteDelay", "Waiting between writes while performing a checkpoint"),
    (WaitEvent::PgSleep, "Timeout", "PgSleep", "Waiting due to a call to pg_sleep or a sibling function"),
    (WaitEvent::RecoveryApplyDelay, "Timeout", "RecoveryApplyDelay", "Waiting to apply WAL during recovery because of a delay setting"),
    (WaitEvent::RecoveryRetrieveRetryInterval, "Timeout", "RecoveryRetrieveRetryInterval", "Waiting during recovery when WAL data is not available from any source (pg_wal, archive or stream)"),
    (WaitEvent::RegisterSyncRequest, "Timeout", "RegisterSyncRequest", "Waiting while sending synchronization requests to the checkpointer, because the request queue is full"),
    (WaitEvent::SpinDelay, "Timeout", "SpinDelay", "Waiting while acquiring a contended spinlock"),
    (WaitEvent::VacuumDelay, "Timeout", "VacuumDelay", "Waiting in a cost-based vacuum delay point"),
    (WaitEvent::VacuumTruncate, "Timeout", "VacuumTruncate", "Waiting to acquire an exclusive lock to truncate off any empty pages at the end of a table vacuumed"),
    (WaitEvent::WalSummarizerError, "Timeout", "WalSummarizerError", "Waiting after a WAL summarizer error"),
];
