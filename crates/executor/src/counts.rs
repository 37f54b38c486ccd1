//! Counters of scans and changed rows, for the statistics views.
//!
//! Each thread counts in a table of its own, which nobody else touches until somebody wants to
//! know ([`drain`]): counting costs an uncontended lock and no shared cache line. What the
//! statement that the thread runs has counted is kept beside it, for `pg_stat_xact_*`.

use base::Oid;
use os::sync::Mutex;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What was done with a relation: a table, an index, or (with OID 0) a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Scans begun; transactions committed.
    pub scans: u64,
    /// Rows or index entries read; transactions rolled back.
    pub returned: u64,
    /// Rows fetched by an index.
    pub fetched: u64,
    /// Rows inserted.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Rows deleted.
    pub deleted: u64,
    /// Rows updated without a new index entry.
    pub hot_updated: u64,
    /// Rows whose new version went to another page.
    pub newpage_updated: u64,
    /// When the last scan began, in microseconds since 1970.
    pub last_scan: i64,
    /// Of the rows inserted, those of transactions that were rolled back.
    #[serde(default)]
    pub inserted_in_vain: u64,
    /// Of the rows deleted, those of transactions that were rolled back.
    #[serde(default)]
    pub deleted_in_vain: u64,
}

impl Counts {
    /// Adds others.
    pub fn add(&mut self, o: &Counts) {
        self.scans += o.scans;
        self.returned += o.returned;
        self.fetched += o.fetched;
        self.inserted += o.inserted;
        self.updated += o.updated;
        self.deleted += o.deleted;
        self.hot_updated += o.hot_updated;
        self.newpage_updated += o.newpage_updated;
        self.last_scan = self.last_scan.max(o.last_scan);
        self.inserted_in_vain += o.inserted_in_vain;
        self.deleted_in_vain += o.deleted_in_vain;
    }
}

/// A relation: its database (0 if it is shared) and itself.
pub type Key = (Oid, Oid);

/// Relations whose counts are at hand.
const RECENT: usize = 16;

#[derive(Default)]
struct Table {
    /// What was counted lately, each at the place its OID gives; most often it is the same again.
    recent: [(Key, Counts); RECENT],
    others: HashMap<Key, Counts, foldhash::fast::RandomState>,
}

impl Table {
    #[inline]
    fn at(&mut self, key: Key) -> &mut Counts {
        let place = key.1.0 as usize % RECENT;
        if self.recent[place].0 != key {
            self.put_away(place, key);
        }
        &mut self.recent[place].1
    }

    #[cold]
    fn put_away(&mut self, place: usize, key: Key) {
        let place = &mut self.recent[place];
        let (before, counts) = std::mem::replace(place, (key, Counts::default()));
        if counts != Counts::default() {
            self.others.entry(before).or_default().add(&counts);
        }
    }
}

static ALL: Mutex<Vec<Arc<Mutex<Table>>>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: RefCell<Own> = const { RefCell::new(Own { table: None, statement: Vec::new() }) };
}

/// A thread's counters.
struct Own {
    table: Option<Arc<Mutex<Table>>>,
    /// What its statement has counted, the relation it used last at the end.
    statement: Vec<(Key, Counts)>,
}

impl Own {
    #[inline]
    fn of_statement(&mut self, key: Key) -> &mut Counts {
        let found = match self.statement.last() {
            Some(last) if last.0 == key => Some(self.statement.len() - 1),
            _ => self.statement.iter().rposition(|s| s.0 == key),
        };
        let at = found.unwrap_or_else(|| {
            self.statement.push((key, Counts::default()));
            self.statement.len() - 1
        });
        &mut self.statement[at].1
    }
}

/// What this thread's statement has counted is its transaction's no longer.
#[inline]
pub fn forget_statement() {
    OWN.with(|own| own.borrow_mut().statement.clear());
}

/// Gives `f` what this thread's statement has counted, which is forgotten.
pub fn take_statement(mut f: impl FnMut(Key, &Counts)) {
    OWN.with(|own| own.borrow_mut().statement.drain(..).for_each(|(key, counts)| f(key, &counts)));
}

/// What this thread's statement has counted of a relation.
pub fn of_statement(key: Key) -> Counts {
    OWN.with(|own| {
        let own = own.borrow();
        let found = own.statement.iter().find(|s| s.0 == key);
        found.map_or_else(Counts::default, |s| s.1)
    })
}

/// Some session has `track_counts` off.
static SOME_OFF: AtomicBool = AtomicBool::new(false);

thread_local! {
    static OFF: Cell<bool> = const { Cell::new(false) };
}

/// Some session does not want to be counted: sessions say what they want from now on.
pub fn allow_off() {
    SOME_OFF.store(true, Relaxed);
}

/// True if sessions have to say whether they count.
#[inline]
pub fn may_be_off() -> bool {
    SOME_OFF.load(Relaxed)
}

/// The session that this thread serves does not count, or does.
pub fn set_off(off: bool) {
    OFF.set(off);
}

/// Nothing is counted now.
#[inline]
pub fn is_off() -> bool {
    may_be_off() && OFF.get()
}

#[inline]
fn with(key: Key, change: impl Fn(&mut Counts)) {
    if is_off() {
        return;
    }
    OWN.with(|own| {
        let mut own = own.borrow_mut();
        if key.1.is_valid() {
            change(own.of_statement(key));
        }
        let table = own.table.get_or_insert_with(|| {
            let table = Arc::new(Mutex::new(Table::default()));
            ALL.lock().push(Arc::clone(&table));
            table
        });
        change(table.lock().at(key));
    });
}

/// Counts scans of a relation, what they read and what they fetched. `now` is when the last
/// began, 0 if that is not known.
#[inline]
pub fn scanned(key: Key, scans: u64, returned: u64, fetched: u64) {
    with(key, |c| {
        c.scans += scans;
        c.returned += returned;
        c.fetched += fetched;
    });
}

/// Counts rows changed: inserted, updated, deleted.
pub fn changed(key: Key, inserted: u64, updated: u64, deleted: u64) {
    with(key, |c| {
        c.inserted += inserted;
        c.updated += updated;
        c.deleted += deleted;
    });
}

/// Counts rows among those updated: without a new index entry, and to another page.
pub fn updated(key: Key, hot: u64, newpage: u64) {
    with(key, |c| {
        c.hot_updated += hot;
        c.newpage_updated += newpage;
    });
}

/// What a transaction that was rolled back had changed.
pub fn rolled_back(key: Key, inserted: u64, deleted: u64) {
    with(key, |c| {
        c.inserted_in_vain += inserted;
        c.deleted_in_vain += deleted;
    });
}

/// Counts the end of a transaction in a database.
#[inline]
pub fn transaction(database: Oid, committed: bool) {
    with((database, Oid::INVALID), |c| match committed {
        true => c.scans += 1,
        false => c.returned += 1,
    });
}

/// Takes what all threads have counted since the last time.
pub fn drain(mut take: impl FnMut(Key, &Counts)) {
    let mut all = ALL.lock();
    for table in all.iter() {
        let mut table = table.lock();
        for place in 0..RECENT {
            table.put_away(place, Key::default());
        }
        for (key, counts) in table.others.drain() {
            take(key, &counts);
        }
    }
    // Those of threads that have ended are empty now.
    all.retain(|t| Arc::strong_count(t) > 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_threads_come_together() {
        let key = (Oid(900_001), Oid(7));
        scanned(key, 1, 10, 0);
        changed((Oid(900_001), Oid(8)), 1, 2, 3);
        scanned(key, 1, 5, 2);
        let other = os::thread::spawn("t", move || scanned(key, 1, 1, 0)).unwrap();
        other.join().unwrap();
        assert_eq!(of_statement(key).returned, 15);
        let mut taken = 0;
        take_statement(|_, _| taken += 1);
        assert_eq!(taken, 2);
        assert_eq!(of_statement(key), Counts::default());
        let mut sum = Counts::default();
        drain(|k, c| {
            if k == key {
                sum.add(c);
            }
        });
        assert_eq!((sum.scans, sum.returned, sum.fetched), (3, 16, 2));
    }
}
