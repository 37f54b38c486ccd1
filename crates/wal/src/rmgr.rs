//! Who a record belongs to. One list, with PostgreSQL's numbers and names.

macro_rules! rmgrs {
    ($($number:literal $variant:ident $name:literal $doc:literal;)*) => {
        /// The resource manager of a record: whose redo reads it.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Rmgr {
            $(#[doc = $doc] $variant = $number,)*
        }

        impl Rmgr {
            /// All of them, by number.
            pub const ALL: &[Rmgr] = &[$(Rmgr::$variant),*];

            /// The resource manager of this number.
            pub const fn from_u8(n: u8) -> Option<Rmgr> {
                match n {
                    $($number => Some(Rmgr::$variant),)*
                    _ => None,
                }
            }

            /// The name that pg_waldump prints.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Rmgr::$variant => $name,)*
                }
            }
        }
    };
}

rmgrs! {
    0 Xlog "XLOG" "The log itself: checkpoints, page images, parameters.";
    1 Transaction "Transaction" "Commit, abort, prepare.";
    2 Storage "Storage" "Relation files: create, truncate.";
    3 Clog "CLOG" "The commit log.";
    4 Database "Database" "Databases as folders.";
    5 Tablespace "Tablespace" "Tablespaces.";
    6 MultiXact "MultiXact" "Not used: row locks live in memory.";
    7 Relmap "RelMap" "Files of mapped catalogs.";
    8 Standby "Standby" "What a standby must know: locks, running transactions.";
    9 Heap2 "Heap2" "Heap: prune, freeze, visibility map, multi-insert.";
    10 Heap "Heap" "Heap: insert, delete, update, lock.";
    11 Btree "Btree" "B-tree indexes.";
    12 Hash "Hash" "Hash indexes.";
    13 Gin "Gin" "GIN indexes.";
    14 Gist "Gist" "GiST indexes.";
    15 Sequence "Sequence" "Sequences.";
    16 SpGist "SPGist" "SP-GiST indexes.";
    17 Brin "BRIN" "BRIN indexes.";
    18 CommitTs "CommitTs" "Commit timestamps.";
    19 ReplicationOrigin "ReplicationOrigin" "Replication origins.";
    20 Generic "Generic" "Page differences without a meaning of their own.";
    21 Logical "LogicalMessage" "Messages for logical decoding.";
}

/// Kinds of [`Rmgr::Xlog`] records: the `info` byte.
pub mod xlog_info {
    /// A checkpoint after which the server stopped.
    pub const CHECKPOINT_SHUTDOWN: u8 = 0x00;
    /// A checkpoint of a running server.
    pub const CHECKPOINT_ONLINE: u8 = 0x10;
    /// Nothing.
    pub const NOOP: u8 = 0x20;
    /// OIDs up to this one may have been given out (u32).
    pub const NEXTOID: u8 = 0x30;
    /// The rest of the segment is empty.
    pub const SWITCH: u8 = 0x40;
    /// A base backup ended.
    pub const BACKUP_END: u8 = 0x50;
    /// Settings that a standby must match changed.
    pub const PARAMETER_CHANGE: u8 = 0x60;
    /// A named point to recover to.
    pub const RESTORE_POINT: u8 = 0x70;
    /// `full_page_writes` changed.
    pub const FPW_CHANGE: u8 = 0x80;
    /// Recovery ended here, on a new timeline.
    pub const END_OF_RECOVERY: u8 = 0x90;
    /// Page images for hint bits.
    pub const FPI_FOR_HINT: u8 = 0xA0;
    /// Page images.
    pub const FPI: u8 = 0xB0;
    /// The place where redo of a checkpoint starts.
    pub const CHECKPOINT_REDO: u8 = 0xE0;

    /// The name that pg_waldump prints.
    pub const fn name(info: u8) -> &'static str {
        match info & 0xF0 {
            CHECKPOINT_SHUTDOWN => "CHECKPOINT_SHUTDOWN",
            CHECKPOINT_ONLINE => "CHECKPOINT_ONLINE",
            NOOP => "NOOP",
            NEXTOID => "NEXTOID",
            SWITCH => "SWITCH",
            BACKUP_END => "BACKUP_END",
            PARAMETER_CHANGE => "PARAMETER_CHANGE",
            RESTORE_POINT => "RESTORE_POINT",
            FPW_CHANGE => "FPW_CHANGE",
            END_OF_RECOVERY => "END_OF_RECOVERY",
            FPI_FOR_HINT => "FPI_FOR_HINT",
            FPI => "FPI",
            CHECKPOINT_REDO => "CHECKPOINT_REDO",
            _ => "UNKNOWN",
        }
    }
}
