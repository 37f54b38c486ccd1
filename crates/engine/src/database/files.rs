//! Files that come and go with a transaction.

use base::{Fork, Oid, RelFile, Result};
use buffer::{BufferPool, Persistence};
use std::sync::Arc;
use txn::{SubId, Txn};
use wal::Wal;

/// The relation of a file record's bytes.
pub(super) fn decode(data: &[u8]) -> Option<RelFile> {
    let word =
        |at: usize| data.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    Some(RelFile { tablespace: Oid(word(0)?), database: Oid(word(4)?), number: word(8)? })
}

struct Pending {
    file: RelFile,
    persistence: Persistence,
    /// Removed at commit, rather than at abort.
    at_commit: bool,
    sub: SubId,
}

/// What a transaction has made and wants removed.
#[derive(Default)]
pub struct PendingFiles {
    all: Vec<Pending>,
    /// A database it makes or drops. Such a transaction has no subtransactions.
    folder: Option<PendingFolder>,
    /// A database shut to new sessions until the transaction is over.
    shut: Option<super::folders::Shut>,
}

struct PendingFolder {
    database: Oid,
    /// Removed at commit, rather than at abort.
    at_commit: bool,
}

impl PendingFolder {
    fn remove(&self, pool: &BufferPool) -> Result<()> {
        pool.drop_database(self.database)?;
        super::folders::remove(pool.disk(), pool.data_dir(), self.database)
    }
}

impl PendingFiles {
    /// Makes a relation's empty files, to be removed if the transaction is rolled back.
    pub fn create(
        &mut self,
        pool: &Arc<BufferPool>,
        wal: &Arc<Wal>,
        txn: &Txn,
        file: RelFile,
        persistence: Persistence,
    ) -> Result<()> {
        self.all.push(Pending { file, persistence, at_commit: false, sub: txn.current_sub() });
        match persistence {
            Persistence::Permanent => {
                pool.create_logged(wal, file, Fork::Main, txn.top_xid()?)?;
            }
            Persistence::Unlogged => {
                // Both forks come back with replay; the relation is noted as unlogged first, so
                // that the pool knows not to write its pages at checkpoints.
                let rel = pool.relation(file, persistence);
                pool.create_logged(wal, file, Fork::Main, txn.top_xid()?)?;
                pool.create_logged(wal, file, Fork::Init, txn.top_xid()?)?;
                rel.sync(Fork::Init)?;
            }
            Persistence::Temp => {
                pool.create_relation(file, persistence)?;
            }
        }
        Ok(())
    }

    /// Has files removed when the transaction commits.
    pub fn drop_at_commit(&mut self, txn: &Txn, file: RelFile, persistence: Persistence) {
        self.all.push(Pending { file, persistence, at_commit: true, sub: txn.current_sub() });
    }

    /// Has a database's folder removed if the transaction is rolled back, or when it commits.
    pub fn remove_folder(&mut self, database: Oid, at_commit: bool) {
        self.folder = Some(PendingFolder { database, at_commit });
    }

    /// Keeps a database shut to new sessions until the transaction is over.
    pub(crate) fn keep_shut(&mut self, shut: super::folders::Shut) {
        self.shut = Some(shut);
    }

    /// The transaction is over for everybody to see.
    pub(crate) fn open_doors(&mut self) {
        self.shut = None;
    }

    /// True if the files were made in this subtransaction.
    pub fn made_in(&self, file: RelFile, sub: SubId) -> bool {
        self.all.iter().any(|p| !p.at_commit && p.file == file && p.sub == sub)
    }

    /// Files made, and files to drop, of a transaction that is to be prepared.
    pub fn permanent(&self) -> Result<(Vec<RelFile>, Vec<RelFile>)> {
        if self.folder.is_some() {
            return Err(base::Error::unsupported(
                "PREPARE TRANSACTION after CREATE or DROP DATABASE",
            ));
        }
        if self.all.iter().any(|p| p.persistence == Persistence::Temp) {
            return Err(base::err!(
                FEATURE_NOT_SUPPORTED,
                "cannot PREPARE a transaction that has operated on temporary objects"
            ));
        }
        let of = |at_commit| {
            self.all.iter().filter(move |p| p.at_commit == at_commit).map(|p| p.file).collect()
        };
        Ok((of(false), of(true)))
    }

    /// The files are somebody else's from now on.
    pub fn forget(&mut self) {
        self.all.clear();
    }

    /// The files whose removal has to be in the commit record.
    pub fn to_drop(&self) -> Vec<RelFile> {
        self.all
            .iter()
            .filter(|p| p.at_commit && p.persistence != Persistence::Temp)
            .map(|p| p.file)
            .collect()
    }

    /// After the commit is durable (or, for temporary files, done): removes what goes.
    pub fn committed(&mut self, pool: &BufferPool) -> Result<()> {
        for p in std::mem::take(&mut self.all) {
            if p.at_commit {
                pool.drop_relation(p.file)?;
            }
        }
        if let Some(folder) = self.folder.take().filter(|f| f.at_commit) {
            folder.remove(pool)?;
        }
        Ok(())
    }

    /// The transaction was rolled back: what it made goes.
    pub fn aborted(&mut self, pool: &BufferPool) -> Result<()> {
        for p in std::mem::take(&mut self.all) {
            if !p.at_commit {
                pool.drop_relation(p.file)?;
            }
        }
        if let Some(folder) = self.folder.take().filter(|f| !f.at_commit) {
            folder.remove(pool)?;
        }
        Ok(())
    }

    /// A subtransaction became part of the one around it.
    pub fn sub_committed(&mut self, from: SubId, to: SubId) {
        for p in self.all.iter_mut().filter(|p| p.sub == from) {
            p.sub = to;
        }
    }

    /// A subtransaction was rolled back.
    pub fn sub_aborted(&mut self, pool: &BufferPool, sub: SubId) -> Result<()> {
        let (gone, kept): (Vec<Pending>, Vec<Pending>) =
            std::mem::take(&mut self.all).into_iter().partition(|p| p.sub == sub);
        self.all = kept;
        for p in gone {
            if !p.at_commit {
                pool.drop_relation(p.file)?;
            }
        }
        Ok(())
    }
}
