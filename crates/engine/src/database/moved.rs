//! System tables with new files: what a commit record says of them, and who learns when.

use super::Database;
use base::{Error, Oid, Result, SqlState};
use catalog::SysTables;

/// First byte of a commit record's extra bytes that are about files.
const TAG: u8 = 1;

/// Relations and the numbers of their new files, in a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MovedFiles {
    pub database: Oid,
    pub relations: Vec<(Oid, u32)>,
}

impl MovedFiles {
    /// Bytes for the commit record; none if nothing was moved.
    pub fn encode(&self) -> Vec<u8> {
        if self.relations.is_empty() {
            return Vec::new();
        }
        let pairs = self.relations.iter().flat_map(|(oid, number)| [oid.0, *number]);
        let words = std::iter::once(self.database.0).chain(pairs);
        std::iter::once(TAG).chain(words.flat_map(u32::to_le_bytes)).collect()
    }

    /// What [`MovedFiles::encode`] wrote, if these are such bytes.
    pub fn decode(bytes: &[u8]) -> Result<Option<MovedFiles>> {
        let Some((&TAG, rest)) = bytes.split_first() else { return Ok(None) };
        let (words, left) = rest.as_chunks();
        let mut words = words.iter().map(|w| u32::from_le_bytes(*w));
        let (Some(database), [], true) = (words.next(), left, words.len().is_multiple_of(2)) else {
            let text = "commit record has a broken list of files";
            return Err(Error::new(SqlState::DATA_CORRUPTED, text));
        };
        let mut relations = Vec::new();
        while let (Some(oid), Some(number)) = (words.next(), words.next()) {
            relations.push((Oid(oid), number));
        }
        Ok(Some(MovedFiles { database: Oid(database), relations }))
    }
}

impl Database {
    /// The commit is durable: the system tables are in their new files. Who cannot write that
    /// down must not go on, as all others would go on reading the old ones.
    pub(crate) fn settle_moved(&self, moved: &MovedFiles) -> Result<()> {
        if moved.relations.is_empty() {
            return Ok(());
        }
        let tables = self.database_state(moved.database).tables.clone();
        tables.moved(&moved.relations).inspect_err(|e| os::abort(&e.to_string()))
    }

    /// The same in replay, where nobody has looked at the map yet.
    pub(super) fn replay_moved(&self, moved: &MovedFiles) -> Result<()> {
        let shared = SysTables::shared_map(&self.storage);
        let tables = SysTables::new(self.storage.clone(), moved.database, shared);
        let folder = super::folders::folder(&self.dir, moved.database);
        match self.disk.exists(&folder) {
            true => tables.moved(&moved.relations),
            // The database was dropped later on.
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_files_are_read_as_they_were_written() {
        let moved = MovedFiles { database: Oid(5), relations: vec![(Oid(1259), 20000)] };
        let bytes = moved.encode();
        assert_eq!(MovedFiles::decode(&bytes).unwrap(), Some(moved));
        assert_eq!(MovedFiles::decode(&[]).unwrap(), None);
        assert!(MovedFiles::decode(&bytes[..bytes.len() - 4]).is_err());
        assert!(MovedFiles::decode(&bytes[..bytes.len() - 1]).is_err());
    }
}
