//! Memory accounts: every query has one, and all of them draw on the server's.
//!
//! An account counts bytes that its owner says it holds; it allocates nothing itself. Small
//! things are not counted: what counts is what grows with the data (hash tables, sort buffers,
//! materialised rows).

use crate::err;
use crate::error::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes held on behalf of one query, or of the whole server.
#[derive(Debug)]
pub struct Account {
    used: AtomicUsize,
    peak: AtomicUsize,
    /// 0 means no limit.
    limit: AtomicUsize,
    parent: Option<Arc<Account>>,
}

impl Account {
    fn new(limit: usize, parent: Option<Arc<Account>>) -> Arc<Account> {
        Arc::new(Account {
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit),
            parent,
        })
    }

    /// An account without a parent, such as the server's; `limit` 0 means none.
    pub fn root(limit: usize) -> Arc<Account> {
        Account::new(limit, None)
    }

    /// An account whose bytes count in `parent` too.
    pub fn child(parent: &Arc<Account>) -> Arc<Account> {
        Account::new(0, Some(Arc::clone(parent)))
    }

    /// Changes the limit; 0 means none.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Counts `bytes` more; 53200 if an account above has no room for them.
    pub fn grow(&self, bytes: usize) -> Result<()> {
        if let Some(parent) = &self.parent {
            parent.grow(bytes)?;
        }
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(used, Ordering::Relaxed);
        let limit = self.limit.load(Ordering::Relaxed);
        if limit != 0 && used > limit {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            if let Some(parent) = &self.parent {
                parent.shrink(bytes);
            }
            return Err(err!(OUT_OF_MEMORY, "out of memory")
                .detail(format!("Failed on request of size {bytes}.")));
        }
        Ok(())
    }

    /// Counts `bytes` less.
    pub fn shrink(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(parent) = &self.parent {
            parent.shrink(bytes);
        }
    }

    /// Bytes held now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The most bytes ever held at once.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if let Some(parent) = &self.parent {
            parent.shrink(self.used.load(Ordering::Relaxed));
        }
    }
}

/// Bytes of one operator, given back to the account when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    account: Arc<Account>,
    bytes: usize,
    peak: usize,
}

impl Reservation {
    /// Nothing reserved yet.
    pub fn new(account: &Arc<Account>) -> Reservation {
        Reservation { account: Arc::clone(account), bytes: 0, peak: 0 }
    }

    /// Reserves `bytes` more.
    #[inline]
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        self.account.grow(bytes)?;
        self.bytes += bytes;
        self.peak = self.peak.max(self.bytes);
        Ok(())
    }

    /// Makes it `bytes` in all.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.bytes {
            return self.grow(bytes - self.bytes);
        }
        self.account.shrink(self.bytes - bytes);
        self.bytes = bytes;
        Ok(())
    }

    /// Bytes reserved now.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The most bytes ever reserved at once.
    pub fn peak(&self) -> usize {
        self.peak
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_draws_on_its_parent() {
        let server = Account::root(100);
        let query = Account::child(&server);
        query.grow(60).unwrap();
        assert_eq!(server.used(), 60);
        assert_eq!(query.grow(60).unwrap_err().code(), crate::SqlState::OUT_OF_MEMORY);
        assert_eq!((server.used(), query.used()), (60, 60));
        {
            let mut r = Reservation::new(&query);
            r.grow(40).unwrap();
            assert_eq!(server.used(), 100);
        }
        drop(query);
        assert_eq!(server.used(), 0);
    }
}
