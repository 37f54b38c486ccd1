//! Identifiers as newtypes. Each is a plain number with a meaning; none converts silently.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Size of a page in bytes, for every fork of every relation and for the commit log.
pub const PAGE_SIZE: usize = 8192;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        #[derive(Serialize, Deserialize)]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The value that stands for "none".
            pub const INVALID: $name = $name(0);

            /// True unless this is the value that stands for "none".
            #[inline]
            pub const fn is_valid(self) -> bool {
                self.0 != 0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(
    /// Object identifier of a catalog row. 0 is "none"; built-in rows are below 16384.
    Oid,
    u32
);
id!(
    /// Transaction identifier. 64 bits, never reused. 0 is "none", 1 bootstrap, 2 frozen.
    Xid,
    u64
);

impl Oid {
    /// The first OID given to objects that users create.
    pub const FIRST_NORMAL: Oid = Oid(16384);
}

impl Xid {
    /// Writer of the rows that `initdb` makes: always committed, visible to all.
    pub const BOOTSTRAP: Xid = Xid(1);
    /// Writer of rows so old that all see them.
    pub const FROZEN: Xid = Xid(2);
    /// The first id that a transaction can get.
    pub const FIRST_NORMAL: Xid = Xid(3);
}

/// Position in the write-ahead log, in bytes from its beginning. 0 is "none".
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
#[repr(transparent)]
pub struct Lsn(pub u64);

impl Lsn {
    /// The position that stands for "none"; less than every real one.
    pub const INVALID: Lsn = Lsn(0);
    /// Greater than every real position: a snapshot at it sees all that is committed.
    pub const MAX: Lsn = Lsn(u64::MAX >> 2);

    /// True unless this is the position that stands for "none".
    #[inline]
    pub const fn is_valid(self) -> bool {
        self.0 != 0
    }
}

impl fmt::Display for Lsn {
    /// PostgreSQL's form: high and low half in hexadecimal, as in `0/16B3748`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 as u32)
    }
}

/// Number of a page within a fork, from 0.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
#[repr(transparent)]
pub struct BlockNo(pub u32);

impl BlockNo {
    /// No such page.
    pub const INVALID: BlockNo = BlockNo(u32::MAX);
}

impl fmt::Display for BlockNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Place of a tuple: page and line pointer. Line pointers count from 1.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
pub struct Tid {
    /// The page.
    pub block: BlockNo,
    /// The line pointer in it, from 1; 0 is "none".
    pub offset: u16,
}

impl Tid {
    /// No such place.
    pub const INVALID: Tid = Tid { block: BlockNo::INVALID, offset: 0 };

    /// The place `offset` in page `block`.
    #[inline]
    pub const fn new(block: u32, offset: u16) -> Tid {
        Tid { block: BlockNo(block), offset }
    }

    /// True unless this is [`Tid::INVALID`] or has no line pointer.
    #[inline]
    pub const fn is_valid(self) -> bool {
        self.offset != 0
    }

    /// The place as one number that sorts the same: block in the high bits.
    #[inline]
    pub const fn to_u64(self) -> u64 {
        ((self.block.0 as u64) << 16) | self.offset as u64
    }

    /// The place that [`Tid::to_u64`] gave this number for.
    #[inline]
    pub const fn from_u64(n: u64) -> Tid {
        Tid { block: BlockNo((n >> 16) as u32), offset: n as u16 }
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.block.0, self.offset)
    }
}

/// Number of a command within its transaction, from 0.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
#[repr(transparent)]
pub struct CommandId(pub u32);

/// The files of one relation: tablespace, database (0 for shared ones), file number.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
pub struct RelFile {
    /// Tablespace: 1663 `pg_default`, 1664 `pg_global`, or a user's.
    pub tablespace: Oid,
    /// Database; 0 for relations that all databases share.
    pub database: Oid,
    /// Number in the file's name.
    pub number: u32,
}

impl fmt::Display for RelFile {
    /// The path of the main fork below the data directory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tablespace.0 {
            1664 => write!(f, "global/{}", self.number),
            1663 => write!(f, "base/{}/{}", self.database, self.number),
            t => write!(f, "pg_tblspc/{t}/PG_18_202506291/{}/{}", self.database, self.number),
        }
    }
}

/// The forks of a relation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum Fork {
    /// The rows or the index entries.
    Main = 0,
    /// The free space map.
    Fsm = 1,
    /// The visibility map.
    Vm = 2,
    /// What an unlogged relation is reset to.
    Init = 3,
}

impl Fork {
    /// All forks, by number.
    pub const ALL: [Fork; 4] = [Fork::Main, Fork::Fsm, Fork::Vm, Fork::Init];

    /// What is appended to the file's name.
    pub const fn suffix(self) -> &'static str {
        match self {
            Fork::Main => "",
            Fork::Fsm => "_fsm",
            Fork::Vm => "_vm",
            Fork::Init => "_init",
        }
    }

    /// The fork of this number, as log records hold it.
    pub const fn from_u8(n: u8) -> Option<Fork> {
        match n {
            0 => Some(Fork::Main),
            1 => Some(Fork::Fsm),
            2 => Some(Fork::Vm),
            3 => Some(Fork::Init),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lsn_prints_as_postgres_does() {
        assert_eq!(Lsn(0x1_016B_3748).to_string(), "1/16B3748");
    }

    #[test]
    fn tid_number_round_trip() {
        let t = Tid::new(7, 3);
        assert_eq!(Tid::from_u64(t.to_u64()), t);
    }
}
