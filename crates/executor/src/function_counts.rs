//! Calls of functions, for `pg_stat_user_functions`. Counted as [`crate::counts`] are: by each
//! thread for itself.

use base::Oid;
use os::sync::Mutex;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// Calls of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Calls {
    /// How many.
    pub calls: u64,
    /// Nanoseconds in it and in what it called; a call within another of itself counts once.
    pub total_nanos: u64,
    /// Nanoseconds in it alone.
    pub self_nanos: u64,
}

impl Calls {
    /// Adds others.
    pub fn add(&mut self, o: &Calls) {
        self.calls += o.calls;
        self.total_nanos += o.total_nanos;
        self.self_nanos += o.self_nanos;
    }
}

/// A function: its database and itself.
pub type Key = (Oid, Oid);

type Table = Arc<Mutex<HashMap<Key, Calls>>>;

static ALL: Mutex<Vec<Table>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: RefCell<Option<Table>> = const { RefCell::new(None) };
    /// What the statement has called.
    static STATEMENT: RefCell<Vec<(Key, Calls)>> = const { RefCell::new(Vec::new()) };
    /// Nanoseconds in functions that are over, called by the one that runs.
    static INNER: Cell<u64> = const { Cell::new(0) };
    /// The functions that run, outermost first.
    static RUNNING: RefCell<Vec<Key>> = const { RefCell::new(Vec::new()) };
}

/// A call that is being measured; counted when it is dropped, however it ends.
pub struct Call {
    key: Key,
    began: u64,
    inner_before: u64,
    recursive: bool,
}

/// A call begins.
pub fn begin(database: Oid, function: Oid) -> Call {
    let key = (database, function);
    let recursive = RUNNING.with(|running| {
        let mut running = running.borrow_mut();
        let recursive = running.contains(&key);
        running.push(key);
        recursive
    });
    let inner_before = INNER.replace(0);
    Call { key, began: os::clock::monotonic_nanos(), inner_before, recursive }
}

impl Drop for Call {
    fn drop(&mut self) {
        let took = os::clock::monotonic_nanos().saturating_sub(self.began);
        let inner = INNER.replace(self.inner_before.saturating_add(took));
        RUNNING.with(|running| running.borrow_mut().pop());
        let calls = Calls {
            calls: 1,
            total_nanos: if self.recursive { 0 } else { took },
            self_nanos: took.saturating_sub(inner),
        };
        if RUNNING.with(|running| running.borrow().is_empty()) {
            INNER.set(0);
        }
        count(self.key, &calls);
    }
}

fn count(key: Key, calls: &Calls) {
    STATEMENT.with(|statement| {
        let mut statement = statement.borrow_mut();
        match statement.iter_mut().find(|s| s.0 == key) {
            Some(found) => found.1.add(calls),
            None => statement.push((key, *calls)),
        }
    });
    OWN.with(|own| {
        let mut own = own.borrow_mut();
        let table = own.get_or_insert_with(|| {
            let table = Table::default();
            ALL.lock().push(table.clone());
            table
        });
        table.lock().entry(key).or_default().add(calls);
    });
}

/// What this thread's statement has called is its transaction's no longer.
#[inline]
pub fn forget_statement() {
    STATEMENT.with(|statement| statement.borrow_mut().clear());
}

/// Takes what this thread's statement has called.
pub fn take_statement() -> Vec<(Key, Calls)> {
    STATEMENT.with(|statement| std::mem::take(&mut *statement.borrow_mut()))
}

/// Calls of a function by this thread's statement.
pub fn of_statement(key: Key) -> Calls {
    STATEMENT.with(|statement| {
        let statement = statement.borrow();
        let found = statement.iter().find(|s| s.0 == key);
        found.map_or_else(Calls::default, |s| s.1)
    })
}

/// Takes what all threads have counted since the last time.
pub fn drain(mut take: impl FnMut(Key, &Calls)) {
    let mut all = ALL.lock();
    for table in all.iter() {
        for (key, calls) in table.lock().drain() {
            take(key, &calls);
        }
    }
    all.retain(|t| Arc::strong_count(t) > 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_called_functions_is_theirs() {
        let (db, outer, inner) = (Oid(900_002), Oid(1), Oid(2));
        let sleep = || os::thread::sleep(std::time::Duration::from_millis(5));
        let call = begin(db, outer);
        {
            let _inner = begin(db, inner);
            let _again = begin(db, outer);
            sleep();
        }
        sleep();
        drop(call);
        let all: HashMap<Key, Calls> = take_statement().into_iter().collect();
        let (o, i) = (all[&(db, outer)], all[&(db, inner)]);
        assert_eq!((o.calls, i.calls), (2, 1));
        assert!(o.total_nanos >= 10_000_000 && i.total_nanos >= 5_000_000);
        assert!(o.total_nanos < o.self_nanos + i.total_nanos + 5_000_000);
        assert!(i.self_nanos < i.total_nanos);
        assert_eq!(of_statement((db, outer)), Calls::default());
    }
}
