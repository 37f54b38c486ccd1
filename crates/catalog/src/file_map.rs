//! Which files the system tables and their indexes have, where these are not the first ones.
//!
//! A system table is found before `pg_class` can be read, so where its rows are is not looked up
//! there: `pg_filenode.map` in a database's folder, and in `global` for the shared ones, lists the
//! relations that were moved. A commit record carries the changes; the file is written when the
//! commit is durable and before anybody else learns of it, and by replay.

use base::{Error, Oid, Result, SqlState};
use os::Disk;
use os::sync::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Name of the file.
pub const FILE: &str = "pg_filenode.map";

/// First bytes of the file.
const MAGIC: u32 = 0x0059_2718;

type Numbers = BTreeMap<Oid, u32>;

/// A database's map, or that of the shared tables.
pub struct FileMap {
    disk: Disk,
    path: PathBuf,
    /// Read on first use: replay may still change the file before.
    numbers: Mutex<Option<Numbers>>,
    generation: AtomicU64,
}

impl FileMap {
    /// The map in this folder.
    pub fn new(disk: Disk, folder: &Path) -> FileMap {
        let (numbers, generation) = Default::default();
        FileMap { disk, path: folder.join(FILE), numbers, generation }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Numbers) -> Result<R>) -> Result<R> {
        let mut held = self.numbers.lock();
        let numbers = match &mut *held {
            Some(numbers) => numbers,
            none => none.insert(read(&self.disk, &self.path)?),
        };
        f(numbers)
    }

    /// The number of a relation's file, if it is not its first.
    pub fn number(&self, relation: Oid) -> Result<Option<u32>> {
        self.with(|numbers| Ok(numbers.get(&relation).copied()))
    }

    /// Grows with each change.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Relations have new files from now on.
    pub fn apply(&self, moved: &[(Oid, u32)]) -> Result<()> {
        self.with(|numbers| {
            let mut new = numbers.clone();
            new.extend(moved.iter().copied());
            self.disk.write_atomic(&self.path, &encode(&new))?;
            *numbers = new;
            Ok(())
        })?;
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

fn encode(numbers: &Numbers) -> Vec<u8> {
    let mut out = Vec::with_capacity(12 + numbers.len() * 8);
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out.extend_from_slice(&(numbers.len() as u32).to_le_bytes());
    for (oid, number) in numbers {
        out.extend_from_slice(&oid.0.to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
    }
    let sum = checksum(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

fn decode(bytes: &[u8]) -> Option<Numbers> {
    let (body, sum) = bytes.split_last_chunk()?;
    let (words, rest) = body.as_chunks();
    let mut words = words.iter().map(|w| u32::from_le_bytes(*w));
    let sound = rest.is_empty() && u32::from_le_bytes(*sum) == checksum(body);
    if !sound || words.next()? != MAGIC {
        return None;
    }
    let n = words.next()?;
    let mut numbers = Numbers::new();
    while let (Some(oid), Some(number)) = (words.next(), words.next()) {
        numbers.insert(Oid(oid), number);
    }
    (numbers.len() == n as usize).then_some(numbers)
}

fn read(disk: &Disk, path: &Path) -> Result<Numbers> {
    if !disk.exists(path) {
        return Ok(Numbers::new());
    }
    decode(&disk.read(path)?).ok_or_else(|| {
        let text = format!("relation mapping file \"{}\" contains invalid data", path.display());
        Error::new(SqlState::DATA_CORRUPTED, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_as_it_was_written() {
        let numbers = Numbers::from([(Oid(1259), 20001), (Oid(2662), 20002)]);
        let bytes = encode(&numbers);
        assert_eq!(decode(&bytes), Some(numbers));
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), None);
        }
        let mut wrong = bytes.clone();
        wrong[9] ^= 1;
        assert_eq!(decode(&wrong), None);
    }
}
