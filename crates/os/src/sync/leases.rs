//! Tables that one thread at a time writes without locks and everybody may read: a thread leases
//! one, and gives it back for the next thread when it ends.

use super::Mutex;
use std::cell::Cell;
use std::thread::LocalKey;

/// All tables of one kind; a `static`.
pub struct Leases<T: 'static> {
    all: Mutex<Vec<&'static T>>,
    free: Mutex<Vec<&'static T>>,
}

/// Where a thread has its table at hand.
pub type Own<T> = LocalKey<Cell<Option<&'static T>>>;

/// A thread's table, given back when this is dropped.
pub struct Lease<T: 'static> {
    table: &'static T,
    of: &'static Leases<T>,
    own: &'static Own<T>,
}

impl<T> Leases<T> {
    /// No tables.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Leases<T> {
        Leases { all: Mutex::new(Vec::new()), free: Mutex::new(Vec::new()) }
    }

    /// Leases a table for this thread, which is at `own` from then on: one whose thread has ended,
    /// as that has left it, or a new one. `until` gives it back when the thread ends.
    #[cold]
    pub fn lease(
        &'static self,
        own: &'static Own<T>,
        until: &'static LocalKey<Cell<Option<Lease<T>>>>,
        make: impl FnOnce() -> T,
    ) -> &'static T {
        let free = self.free.lock().pop();
        let table = free.unwrap_or_else(|| {
            let table: &'static T = Box::leak(Box::new(make()));
            self.all.lock().push(table);
            table
        });
        own.set(Some(table));
        // While the thread ends there is nobody to give it back; then it stays taken.
        let _ = until.try_with(|until| until.set(Some(Lease { table, of: self, own })));
        table
    }

    /// Gives `f` all tables, also those that no thread has now. None is made meanwhile.
    pub fn each(&self, f: impl FnMut(&'static T)) {
        self.all.lock().iter().copied().for_each(f);
    }
}

impl<T> Drop for Lease<T> {
    fn drop(&mut self) {
        self.own.set(None);
        self.of.free.lock().push(self.table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    static TABLES: Leases<AtomicU64> = Leases::new();

    thread_local! {
        static OWN: Cell<Option<&'static AtomicU64>> = const { Cell::new(None) };
        static LEASE: Cell<Option<Lease<AtomicU64>>> = const { Cell::new(None) };
    }

    fn lease() -> &'static AtomicU64 {
        TABLES.lease(&OWN, &LEASE, AtomicU64::default)
    }

    #[test]
    fn a_table_is_one_threads_and_then_the_next_ones() {
        let mine = lease();
        assert!(OWN.get().is_some_and(|own| std::ptr::eq(own, mine)));
        mine.store(1, Relaxed);
        let other = || crate::thread::spawn("t", || lease().fetch_add(2, Relaxed)).unwrap();
        assert_eq!(other().join().unwrap(), 0);
        assert_eq!(other().join().unwrap(), 2);
        LEASE.set(None);
        assert!(OWN.get().is_none());
        let mut all = Vec::new();
        TABLES.each(|table| all.push(table.load(Relaxed)));
        assert_eq!(all, [1, 4]);
    }
}
