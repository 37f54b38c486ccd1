//! Tables that one thread at a time writes without locks and everybody may read: a thread leases
//! one, and gives it back for the next thread when it ends.

use super::Mutex;

/// All tables of one kind; a `static`.
pub struct Leases<T: 'static> {
    all: Mutex<Vec<&'static T>>,
    free: Mutex<Vec<&'static T>>,
}

/// A thread's table, given back when this is dropped.
pub struct Lease<T: 'static> {
    table: &'static T,
    of: &'static Leases<T>,
    forget: fn(),
}

impl<T> Leases<T> {
    /// No tables.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Leases<T> {
        Leases { all: Mutex::new(Vec::new()), free: Mutex::new(Vec::new()) }
    }

    /// A table whose thread has ended, as that has left it, or a new one. `forget` is called before
    /// the table is given back.
    pub fn lease(&'static self, make: impl FnOnce() -> T, forget: fn()) -> Lease<T> {
        let free = self.free.lock().pop();
        let table = free.unwrap_or_else(|| {
            let table: &'static T = Box::leak(Box::new(make()));
            self.all.lock().push(table);
            table
        });
        Lease { table, of: self, forget }
    }

    /// Gives `f` all tables, also those that no thread has now. None is made meanwhile.
    pub fn each(&self, f: impl FnMut(&'static T)) {
        self.all.lock().iter().copied().for_each(f);
    }
}

impl<T> Lease<T> {
    /// The table.
    pub fn table(&self) -> &'static T {
        self.table
    }
}

impl<T> Drop for Lease<T> {
    fn drop(&mut self) {
        (self.forget)();
        self.of.free.lock().push(self.table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    #[test]
    fn a_table_is_one_threads_and_then_the_next_ones() {
        static TABLES: Leases<AtomicU64> = Leases::new();
        static FORGOTTEN: AtomicU64 = AtomicU64::new(0);
        fn forget() {
            FORGOTTEN.fetch_add(1, Relaxed);
        }
        let lease = || TABLES.lease(AtomicU64::default, forget);
        let (a, b) = (lease(), lease());
        a.table().store(1, Relaxed);
        b.table().store(2, Relaxed);
        drop(a);
        assert_eq!(FORGOTTEN.load(Relaxed), 1);
        let again = lease();
        assert_eq!(again.table().load(Relaxed), 1);
        let mut all = Vec::new();
        TABLES.each(|table| all.push(table.load(Relaxed)));
        assert_eq!(all, [1, 2]);
    }
}
