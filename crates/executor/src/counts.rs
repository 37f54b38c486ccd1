//! Counters of scans and changed rows, for the statistics views.
//!
//! Each thread counts in a table of its own, with plain loads and stores; who wants to know
//! ([`drain`]) notes what it was told already. A relation's place in the table is found by its OID;
//! when another relation wants the place, what was counted moves to a map. Places change owners
//! under the table's lock only, which [`drain`] takes. A table outlives its thread and is used
//! again by the next.
//!
//! What the statement that the thread runs has counted is known too, for `pg_stat_xact_*`: a
//! place's figures as they were when the statement first came there are noted.

use base::Oid;
use os::sync::{Lease, Leases, Mutex};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

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
const PLACES: usize = 32;

/// What is counted here: the fields of [`Counts`] but for the time, in their order.
#[derive(Clone, Copy)]
enum Figure {
    Scans,
    Returned,
    Fetched,
    Inserted,
    Updated,
    Deleted,
    HotUpdated,
    NewpageUpdated,
    InsertedInVain,
    DeletedInVain,
}

const FIGURES: usize = 10;

type Figures = [AtomicU64; FIGURES];

fn no_figures() -> Figures {
    [const { AtomicU64::new(0) }; FIGURES]
}

fn counts_of(figures: impl Fn(usize) -> u64) -> Counts {
    let at = |f: Figure| figures(f as usize);
    Counts {
        scans: at(Figure::Scans),
        returned: at(Figure::Returned),
        fetched: at(Figure::Fetched),
        inserted: at(Figure::Inserted),
        updated: at(Figure::Updated),
        deleted: at(Figure::Deleted),
        hot_updated: at(Figure::HotUpdated),
        newpage_updated: at(Figure::NewpageUpdated),
        last_scan: 0,
        inserted_in_vain: at(Figure::InsertedInVain),
        deleted_in_vain: at(Figure::DeletedInVain),
    }
}

struct Place {
    key: AtomicU64,
    /// The statement that has come here last.
    statement: AtomicU64,
    now: Figures,
    /// As they were when the statement came.
    before: Figures,
    /// What [`drain`] has told of them; written under the table's lock.
    told: Figures,
}

impl Place {
    fn since(&self, then: &Figures) -> Counts {
        counts_of(|i| self.now[i].load(Relaxed).wrapping_sub(then[i].load(Relaxed)))
    }

    /// What was counted and not told, which is told now.
    fn tell(&self) -> Counts {
        let news = self.now.each_ref().map(|figure| figure.load(Relaxed));
        let told = |i: usize| news[i].wrapping_sub(self.told[i].swap(news[i], Relaxed));
        counts_of(told)
    }
}

struct Table {
    places: [Place; PLACES],
    /// The number of the thread's statement, and which places it has come to, a bit each.
    number: AtomicU64,
    visited: AtomicU64,
    /// What was counted of relations that have no place now; the lock also guards the keys.
    others: Mutex<HashMap<Key, Counts, foldhash::fast::RandomState>>,
}

const _: () = assert!(PLACES <= 64);

static TABLES: Leases<Table> = Leases::new();

thread_local! {
    static OWN: Cell<Option<&'static Table>> = const { Cell::new(None) };
    /// Gives the table back when the thread ends.
    static LEASE: Cell<Option<Lease<Table>>> = const { Cell::new(None) };
    /// What the thread's statement has counted at places that other relations have now.
    static LEFT: RefCell<Vec<(Key, Counts)>> = const { RefCell::new(Vec::new()) };
}

#[inline]
fn own() -> &'static Table {
    match OWN.get() {
        Some(table) => table,
        None => TABLES.lease(&OWN, &LEASE, Table::new),
    }
}

impl Table {
    fn new() -> Table {
        let place = |_| Place {
            key: AtomicU64::new(0),
            statement: AtomicU64::new(0),
            now: no_figures(),
            before: no_figures(),
            told: no_figures(),
        };
        Table {
            places: std::array::from_fn(place),
            number: AtomicU64::new(1),
            visited: AtomicU64::new(0),
            others: Mutex::default(),
        }
    }
}

#[inline]
fn number_of(key: Key) -> u64 {
    u64::from(key.0.0) << 32 | u64::from(key.1.0)
}

fn key_of(number: u64) -> Key {
    (Oid((number >> 32) as u32), Oid(number as u32))
}

/// Only the thread that owns the table adds.
#[inline]
fn bump(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
}

#[inline]
fn place(table: &'static Table, key: Key) -> &'static Place {
    let at = key.1.0 as usize % PLACES;
    let place = &table.places[at];
    if place.key.load(Relaxed) != number_of(key) {
        replace(table, place, key);
    }
    if place.statement.load(Relaxed) != table.number.load(Relaxed) {
        visit(table, place, at);
    }
    place
}

/// The thread's statement comes to a place.
fn visit(table: &Table, place: &Place, at: usize) {
    set_bit(&table.visited, at);
    place.statement.store(table.number.load(Relaxed), Relaxed);
    for (before, now) in place.before.iter().zip(&place.now) {
        before.store(now.load(Relaxed), Relaxed);
    }
}

fn set_bit(word: &AtomicU64, at: usize) {
    word.store(word.load(Relaxed) | 1 << at, Relaxed);
}

/// The place gets another relation.
#[cold]
fn replace(table: &Table, place: &Place, key: Key) {
    let before = key_of(place.key.load(Relaxed));
    if place.statement.load(Relaxed) == table.number.load(Relaxed) {
        LEFT.with(|all| all.borrow_mut().push((before, place.since(&place.before))));
    }
    let mut others = table.others.lock();
    let untold = place.tell();
    if untold != Counts::default() {
        others.entry(before).or_default().add(&untold);
    }
    place.key.store(number_of(key), Relaxed);
    place.statement.store(0, Relaxed);
}

/// What this thread's statement has counted is its transaction's no longer.
#[inline]
pub fn forget_statement() {
    let table = own();
    if table.visited.load(Relaxed) != 0 {
        table.visited.store(0, Relaxed);
        // The table's next thread goes on counting: no visit is taken for another statement's.
        bump(&table.number, 1);
        LEFT.with(|all| all.borrow_mut().clear());
    }
}

/// What this thread's statement has counted; a relation that has lost its place and got it again
/// is there twice.
fn each_of_statement(mut f: impl FnMut(Key, &Counts)) {
    let table = own();
    let mut visited = table.visited.load(Relaxed);
    while visited != 0 {
        let place = &table.places[visited.trailing_zeros() as usize];
        visited &= visited - 1;
        let key = key_of(place.key.load(Relaxed));
        // Transactions are a database's and no relation's.
        if key.1.is_valid() {
            f(key, &place.since(&place.before));
        }
    }
    LEFT.with(|all| all.borrow().iter().for_each(|(key, counts)| f(*key, counts)));
}

/// Gives `f` what this thread's statement has counted, which is forgotten.
pub fn take_statement(f: impl FnMut(Key, &Counts)) {
    each_of_statement(f);
    forget_statement();
}

/// What this thread's statement has counted of a relation.
pub fn of_statement(key: Key) -> Counts {
    let mut sum = Counts::default();
    each_of_statement(|k, counts| {
        if k == key {
            sum.add(counts);
        }
    });
    sum
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

/// Counts figures of a relation.
#[inline]
fn count<const N: usize>(key: Key, figures: [(Figure, u64); N]) {
    if is_off() {
        return;
    }
    let place = place(own(), key);
    for (figure, n) in figures {
        bump(&place.now[figure as usize], n);
    }
}

/// Counts scans of a relation, what they read and what they fetched.
#[inline]
pub fn scanned(key: Key, scans: u64, returned: u64, fetched: u64) {
    use Figure::{Fetched, Returned, Scans};
    count(key, [(Scans, scans), (Returned, returned), (Fetched, fetched)]);
}

/// Counts rows changed: inserted, updated, deleted.
pub fn changed(key: Key, inserted: u64, updated: u64, deleted: u64) {
    use Figure::{Deleted, Inserted, Updated};
    count(key, [(Inserted, inserted), (Updated, updated), (Deleted, deleted)]);
}

/// Counts rows among those updated: without a new index entry, and to another page.
pub fn updated(key: Key, hot: u64, newpage: u64) {
    count(key, [(Figure::HotUpdated, hot), (Figure::NewpageUpdated, newpage)]);
}

/// What a transaction that was rolled back had changed.
pub fn rolled_back(key: Key, inserted: u64, deleted: u64) {
    count(key, [(Figure::InsertedInVain, inserted), (Figure::DeletedInVain, deleted)]);
}

/// Counts the end of a transaction in a database.
#[inline]
pub fn transaction(database: Oid, committed: bool) {
    let figure = if committed { Figure::Scans } else { Figure::Returned };
    count((database, Oid::INVALID), [(figure, 1)]);
}

/// Takes what all threads have counted since the last time.
pub fn drain(mut take: impl FnMut(Key, &Counts)) {
    TABLES.each(|table| {
        let mut others = table.others.lock();
        for place in &table.places {
            let untold = place.tell();
            if untold != Counts::default() {
                take(key_of(place.key.load(Relaxed)), &untold);
            }
        }
        others.drain().for_each(|(key, counts)| take(key, &counts));
    });
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
