//! The control file, `global/pg_control`: where recovery starts, and what the cluster is.
//!
//! The file holds two copies of 512 bytes each, at 0 and at 4096. An update writes the copy
//! that is older, then syncs; a write torn at 512 bytes is whole or not there, so that one
//! valid copy is left at any moment.

use base::{Error, Lsn, Oid, Result, SqlState, Xid, err};
use crc_fast::{CrcAlgorithm, checksum};
use os::sync::Mutex;
use os::wait::{self, WaitEvent};
use os::{Disk, File, OpenOptions};
use std::path::Path;

const MAGIC: u64 = 0x4C52_5443_494C_4F31; // "1OLICTRL"
const COPY: usize = 512;
const SECOND: u64 = 4096;
const FILE_SIZE: usize = 8192;

/// Version of this file's format, with PostgreSQL 18's number.
pub const CONTROL_VERSION: u32 = 1800;
/// PostgreSQL 18's catalog version.
pub const CATALOG_VERSION: u32 = 202506291;

/// What the cluster is doing, as of the last update.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum DbState {
    /// Being made.
    #[default]
    StartingUp = 0,
    /// Stopped cleanly.
    ShutDown = 1,
    /// A standby, stopped cleanly.
    ShutDownInRecovery = 2,
    /// Stopping.
    ShuttingDown = 3,
    /// Recovering from a crash.
    InCrashRecovery = 4,
    /// Replaying somebody else's log.
    InArchiveRecovery = 5,
    /// Running.
    InProduction = 6,
}

impl DbState {
    /// The words of pg_controldata.
    pub fn as_str(self) -> &'static str {
        match self {
            DbState::StartingUp => "starting up",
            DbState::ShutDown => "shut down",
            DbState::ShutDownInRecovery => "shut down in recovery",
            DbState::ShuttingDown => "shutting down",
            DbState::InCrashRecovery => "in crash recovery",
            DbState::InArchiveRecovery => "in archive recovery",
            DbState::InProduction => "in production",
        }
    }

    fn from_u8(n: u8) -> Option<DbState> {
        Some(match n {
            0 => DbState::StartingUp,
            1 => DbState::ShutDown,
            2 => DbState::ShutDownInRecovery,
            3 => DbState::ShuttingDown,
            4 => DbState::InCrashRecovery,
            5 => DbState::InArchiveRecovery,
            6 => DbState::InProduction,
            _ => return None,
        })
    }
}

/// Declares a struct of numbers with its little-endian encoding, in the order of its fields.
macro_rules! fixed {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: fixed!(@type $kind),)*
        }

        impl $name {
            /// The bytes.
            pub fn encode(&self) -> Vec<u8> {
                let mut out = vec![];
                $(self.$field.put(&mut out);)*
                out
            }

            fn decode_from(bytes: &mut &[u8]) -> Option<$name> {
                Some($name { $($field: Fixed::take(bytes)?,)* })
            }
        }
    };
    (@type nonce) => { [u8; 32] };
    (@type $t:ident) => { $t };
}

trait Fixed: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($t:ty, $n:literal, $to:expr, $from:expr;)*) => {
        $(impl Fixed for $t {
            fn put(&self, out: &mut Vec<u8>) {
                let to: fn(&$t) -> [u8; $n] = $to;
                out.extend_from_slice(&to(self));
            }
            fn take(bytes: &mut &[u8]) -> Option<$t> {
                let (first, rest) = bytes.split_first_chunk::<$n>()?;
                *bytes = rest;
                let from: fn([u8; $n]) -> Option<$t> = $from;
                from(*first)
            }
        })*
    };
}

numbers! {
    u32, 4, |n| n.to_le_bytes(), |b| Some(u32::from_le_bytes(b));
    u64, 8, |n| n.to_le_bytes(), |b| Some(u64::from_le_bytes(b));
    i64, 8, |n| n.to_le_bytes(), |b| Some(i64::from_le_bytes(b));
    Lsn, 8, |n| n.0.to_le_bytes(), |b| Some(Lsn(u64::from_le_bytes(b)));
    Xid, 8, |n| n.0.to_le_bytes(), |b| Some(Xid(u64::from_le_bytes(b)));
    Oid, 4, |n| n.0.to_le_bytes(), |b| Some(Oid(u32::from_le_bytes(b)));
    bool, 1, |n| [*n as u8], |b| Some(b[0] != 0);
    DbState, 1, |n| [*n as u8], |b| DbState::from_u8(b[0]);
    [u8; 32], 32, |n| *n, Some;
}

impl Fixed for CheckPoint {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encode());
    }
    fn take(bytes: &mut &[u8]) -> Option<CheckPoint> {
        CheckPoint::decode_from(bytes)
    }
}

fixed! {
    /// The contents of a checkpoint record.
    CheckPoint {
        /// Where redo starts.
        redo: Lsn,
        /// The timeline it is on.
        timeline: u32,
        /// The timeline before, if this begins one.
        prev_timeline: u32,
        /// `full_page_writes` then.
        full_page_writes: bool,
        /// `wal_level` then, as its number.
        wal_level: u32,
        /// The next transaction id to give.
        next_xid: Xid,
        /// The next OID to give.
        next_oid: Oid,
        /// The next number of a relation's file to give.
        next_relfile: u32,
        /// No row needs a transaction older than this.
        oldest_xid: Xid,
        /// The database that holds it back.
        oldest_xid_db: Oid,
        /// The oldest transaction that was running; invalid if none.
        oldest_active_xid: Xid,
        /// The commit LSN horizon that was known.
        horizon: Lsn,
        /// When it was made, in microseconds since 1970.
        time: i64,
    }
}

fixed! {
    /// The contents of the control file.
    Control {
        /// Names the cluster: base backups and standbys carry the same.
        system_identifier: u64,
        /// Version of the file's format.
        control_version: u32,
        /// Version of the catalogs.
        catalog_version: u32,
        /// What the cluster is doing.
        state: DbState,
        /// Time of the last update in microseconds since 1970.
        time: i64,
        /// Start of the last checkpoint record.
        checkpoint: Lsn,
        /// Its contents.
        checkpoint_copy: CheckPoint,
        /// Replay must reach this before the pages are consistent; invalid after a crash of a
        /// primary.
        min_recovery_point: Lsn,
        /// Its timeline.
        min_recovery_timeline: u32,
        /// Where the base backup began that is being recovered.
        backup_start: Lsn,
        /// Where it ended.
        backup_end: Lsn,
        /// Whether its end record must be seen.
        backup_end_required: bool,
        /// Counts LSNs of unlogged relations.
        unlogged_lsn: Lsn,
        /// `wal_level`, as its number.
        wal_level: u32,
        /// `wal_log_hints`.
        wal_log_hints: bool,
        /// `max_connections`.
        max_connections: u32,
        /// `max_worker_processes`.
        max_worker_processes: u32,
        /// `max_wal_senders`.
        max_wal_senders: u32,
        /// `max_prepared_transactions`.
        max_prepared_transactions: u32,
        /// `max_locks_per_transaction`.
        max_locks_per_transaction: u32,
        /// `track_commit_timestamp`.
        track_commit_timestamp: bool,
        /// Bytes in a page.
        block_size: u32,
        /// Bytes in a log segment.
        wal_segment_size: u32,
        /// Whether pages have checksums.
        data_checksums: bool,
        /// Secret for pretending to authenticate users that do not exist.
        mock_nonce: nonce,
    }
}

impl CheckPoint {
    /// The contents of a checkpoint record's data.
    pub fn decode(mut bytes: &[u8]) -> Result<CheckPoint> {
        CheckPoint::decode_from(&mut bytes)
            .ok_or_else(|| err!(DATA_CORRUPTED, "invalid checkpoint record"))
    }
}

impl Control {
    /// The control data of a new cluster.
    pub fn new(system_identifier: u64, wal_segment_size: u32) -> Control {
        Control {
            system_identifier,
            control_version: CONTROL_VERSION,
            catalog_version: CATALOG_VERSION,
            block_size: base::PAGE_SIZE as u32,
            wal_segment_size,
            data_checksums: true,
            ..Control::default()
        }
    }

    fn encode_copy(&self, sequence: u64) -> [u8; COPY] {
        let mut out = Vec::with_capacity(COPY);
        MAGIC.put(&mut out);
        sequence.put(&mut out);
        out.extend_from_slice(&self.encode());
        assert!(out.len() <= COPY - 4, "control data of {} bytes", out.len());
        out.resize(COPY - 4, 0);
        let crc = checksum(CrcAlgorithm::Crc32Iscsi, &out) as u32;
        crc.put(&mut out);
        let mut copy = [0; COPY];
        copy.copy_from_slice(&out);
        copy
    }

    fn decode_copy(copy: &[u8]) -> Option<(u64, Control)> {
        let (body, crc) = copy.get(..COPY)?.split_last_chunk::<4>()?;
        if checksum(CrcAlgorithm::Crc32Iscsi, body) as u32 != u32::from_le_bytes(*crc) {
            return None;
        }
        Control::decode_body(body)
    }

    fn decode_body(mut rest: &[u8]) -> Option<(u64, Control)> {
        if u64::take(&mut rest)? != MAGIC {
            return None;
        }
        let sequence = u64::take(&mut rest)?;
        Some((sequence, Control::decode_from(&mut rest)?))
    }
}

/// The open control file.
pub struct ControlFile {
    file: File,
    state: Mutex<(u64, Control)>,
}

impl ControlFile {
    /// Makes the file, durable when this returns.
    pub fn create(disk: &Disk, path: &Path, control: &Control) -> Result<ControlFile> {
        let mut data = vec![0; FILE_SIZE];
        data[..COPY].copy_from_slice(&control.encode_copy(1));
        disk.write_atomic(path, &data)?;
        ControlFile::open(disk, path)
    }

    /// Opens and reads the file.
    pub fn open(disk: &Disk, path: &Path) -> Result<ControlFile> {
        let file = disk.open(path, &OpenOptions::new())?;
        let mut data = vec![0; FILE_SIZE];
        {
            let _waiting = wait::begin(WaitEvent::ControlFileRead);
            file.read_at(&mut data, 0)?;
        }
        let copies = [Control::decode_copy(&data), Control::decode_copy(&data[SECOND as usize..])];
        let newest = copies.into_iter().flatten().max_by_key(|(sequence, _)| *sequence);
        let Some(state) = newest else {
            let name = path.display();
            let e = err!(DATA_CORRUPTED, "incorrect checksum in control file \"{name}\"");
            return Err(e.severity(base::Severity::Fatal));
        };
        if state.1.control_version != CONTROL_VERSION {
            let e = Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "database files are incompatible with server",
            );
            return Err(e.severity(base::Severity::Fatal));
        }
        Ok(ControlFile { file, state: Mutex::new(state) })
    }

    /// What can be read of a file whose checksums are wrong: the copy that was to be the newest.
    /// It may be wrong in any way.
    pub fn salvage(disk: &Disk, path: &Path) -> Result<Option<Control>> {
        let data = disk.read(path)?;
        let copies = [data.get(..COPY), data.get(SECOND as usize..SECOND as usize + COPY)];
        let read = |copy: &[u8]| Control::decode_body(copy);
        let found = copies.into_iter().flatten().filter_map(read);
        let newest = found.max_by_key(|(sequence, _)| *sequence).map(|(_, control)| control);
        // What everything else is computed from has to make sense.
        Ok(newest.filter(|c| {
            let size = c.wal_segment_size;
            size.is_power_of_two() && (1 << 20..=1 << 30).contains(&size)
        }))
    }

    /// The contents.
    pub fn get(&self) -> Control {
        self.state.lock().1.clone()
    }

    /// Changes the contents, durably when this returns. An error is one of the disk; the file
    /// then holds the contents from before, or these.
    pub fn update(&self, change: impl FnOnce(&mut Control)) -> Result<()> {
        let mut state = self.state.lock();
        let mut control = state.1.clone();
        change(&mut control);
        control.time = os::clock::now_micros();
        let sequence = state.0 + 1;
        let copy = control.encode_copy(sequence);
        {
            let _waiting = wait::begin(WaitEvent::ControlFileWriteUpdate);
            // The first copy has odd sequences.
            let offset = if sequence % 2 == 1 { 0 } else { SECOND };
            self.file.write_at(&copy, offset)?;
        }
        let _waiting = wait::begin(WaitEvent::ControlFileSyncUpdate);
        self.file.sync()?;
        *state = (sequence, control);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::sim::{Faults, SimDisk};

    #[test]
    fn a_crash_leaves_the_old_or_the_new_contents() {
        for seed in 0..300 {
            let sim = SimDisk::new(seed, Faults::default());
            let disk = Disk::simulated(sim.clone());
            let path = Path::new("pg_control");
            let file = ControlFile::create(&disk, path, &Control::new(9, 1 << 24)).unwrap();
            let crash_at = Some(sim.operations() + 1 + seed % 9);
            sim.set_faults(Faults { crash_at, ..Faults::default() });
            let mut done = 0;
            for i in 1..6u32 {
                match file.update(|c| c.checkpoint_copy.next_oid = Oid(i)) {
                    Ok(()) => done = i,
                    Err(_) => break,
                }
            }
            let after = Disk::simulated(sim.power_cycle(seed));
            let found = ControlFile::open(&after, path).unwrap().get();
            let oid = found.checkpoint_copy.next_oid.0;
            assert!(oid == done || oid == done + 1, "{oid} after {done}");
            assert_eq!(found.system_identifier, 9);
        }
    }

    #[test]
    fn damage_is_found() {
        let disk = Disk::simulated(SimDisk::new(1, Faults::default()));
        let path = Path::new("pg_control");
        ControlFile::create(&disk, path, &Control::new(9, 1 << 24)).unwrap();
        let mut data = disk.read(path).unwrap();
        data[100] ^= 1;
        disk.write_atomic(path, &data).unwrap();
        assert!(ControlFile::open(&disk, path).is_err());
    }
}
