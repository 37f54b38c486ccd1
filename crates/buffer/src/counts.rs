//! How often pages of each relation were found in memory and read, and what input and output each
//! kind of thread did: `pg_statio_*` and `pg_stat_io`.
//!
//! Each thread counts in a table of its own, with plain loads and stores; whoever wants to know
//! adds up the tables of all threads. A relation's place in the table is found by its number;
//! when another relation wants the place, what was counted moves to a map. Places change owners
//! under the table's lock only, which readers take, so that no count is credited to a wrong
//! relation. A table outlives its thread and is used again by the next.
//!
//! What one statement has used is known too: a place's counters as they were when the statement
//! first came there are noted, and the difference is the statement's ([`take_statement`]).

use base::RelFile;
use os::sync::{Lease, Leases, Mutex};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Who does input and output: the rows of `pg_stat_io`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Backend {
    Client = 0,
    AutovacuumLauncher = 1,
    AutovacuumWorker = 2,
    BackgroundWorker = 3,
    BackgroundWriter = 4,
    Checkpointer = 5,
    Startup = 6,
}

/// Kinds of [`Backend`].
pub const BACKENDS: usize = 7;

/// Why, or on what: the contexts of relations, then temporary relations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Context {
    Normal = 0,
    BulkRead = 1,
    BulkWrite = 2,
    Vacuum = 3,
    Temp = 4,
}

/// Kinds of [`Context`].
pub const CONTEXTS: usize = 5;

/// What is counted; times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Op {
    Hit = 0,
    Read = 1,
    ReadNanos = 2,
    Write = 3,
    WriteNanos = 4,
    Extend = 5,
    ExtendNanos = 6,
    Sync = 7,
    SyncNanos = 8,
    Evict = 9,
    Reuse = 10,
}

/// Kinds of [`Op`].
pub const OPS: usize = 11;

const PLACES: usize = 128;
const CELLS: usize = BACKENDS * CONTEXTS * OPS;

#[derive(Default)]
struct Place {
    key: AtomicU64,
    hits: AtomicU64,
    reads: AtomicU64,
    /// The statement that has come here last, and hits and reads when it came.
    statement: AtomicU64,
    before: [AtomicU64; 2],
}

impl Place {
    /// Hits and reads since the statement came.
    fn made(&self) -> (u64, u64) {
        let since =
            |now: &AtomicU64, then: &AtomicU64| now.load(Relaxed).wrapping_sub(then.load(Relaxed));
        (since(&self.hits, &self.before[0]), since(&self.reads, &self.before[1]))
    }
}

const _: () = assert!(CONTEXTS * OPS <= 64 && PLACES <= 128);

struct Table {
    places: [Place; PLACES],
    cells: [AtomicU64; CELLS],
    /// What the thread has done since it was asked, and which of it is not zero. These and what
    /// follows are the thread's own.
    used: [AtomicU64; CONTEXTS * OPS],
    touched: AtomicU64,
    /// The number of the thread's statement.
    number: AtomicU64,
    /// Which places the statement has come to, a bit each.
    visited: [AtomicU64; 2],
    /// Hits and reads of relations that have no place now; the lock also guards the keys.
    others: Mutex<HashMap<u64, (u64, u64)>>,
}

static TABLES: Leases<Table> = Leases::new();
static TIMED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static OWN: Cell<Option<&'static Table>> = const { Cell::new(None) };
    static BACKEND: Cell<u8> = const { Cell::new(0) };
    /// Gives the table back when the thread ends.
    static LEASE: Cell<Option<Lease<Table>>> = const { Cell::new(None) };
    /// Hits and reads of the thread's statement at places that other relations have now.
    static LEFT: RefCell<Vec<(u64, (u64, u64))>> = const { RefCell::new(Vec::new()) };
}

/// Only the thread that owns the table adds.
#[inline]
fn bump(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
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
        Table {
            places: std::array::from_fn(|_| Place::default()),
            cells: std::array::from_fn(|_| AtomicU64::new(0)),
            used: std::array::from_fn(|_| AtomicU64::new(0)),
            touched: AtomicU64::new(0),
            number: AtomicU64::new(1),
            visited: [const { AtomicU64::new(0) }; 2],
            others: Mutex::new(HashMap::new()),
        }
    }
}

fn key_of(database: u32, number: u32) -> u64 {
    u64::from(database) << 32 | u64::from(number)
}

#[inline]
fn place_of(number: u32) -> usize {
    (number ^ number >> 7) as usize % PLACES
}

#[inline]
fn place(table: &'static Table, file: RelFile) -> &'static Place {
    let key = key_of(file.database.0, file.number);
    let place = &table.places[place_of(file.number)];
    if place.key.load(Relaxed) != key {
        replace(table, place, key);
    }
    if place.statement.load(Relaxed) != table.number.load(Relaxed) {
        visit(table, place, place_of(file.number));
    }
    place
}

/// The thread's statement comes to a place.
fn visit(table: &Table, place: &Place, at: usize) {
    let word = &table.visited[at / 64];
    word.store(word.load(Relaxed) | 1 << (at % 64), Relaxed);
    place.statement.store(table.number.load(Relaxed), Relaxed);
    place.before[0].store(place.hits.load(Relaxed), Relaxed);
    place.before[1].store(place.reads.load(Relaxed), Relaxed);
}

/// The place gets another relation: what the statement has made of the one it has is put away.
fn leave(table: &Table, place: &Place) {
    if place.statement.load(Relaxed) == table.number.load(Relaxed) {
        let left = (place.key.load(Relaxed), place.made());
        LEFT.with(|all| all.borrow_mut().push(left));
    }
    place.statement.store(0, Relaxed);
}

/// What this thread's statement has used so far is not told to anybody: another begins.
#[inline]
pub fn forget_statement() {
    let table = own();
    if table.visited.iter().any(|word| word.load(Relaxed) != 0) {
        // The table's next thread goes on counting: no visit is taken for another statement's.
        bump(&table.number, 1);
        table.visited.iter().for_each(|word| word.store(0, Relaxed));
        LEFT.with(|all| all.borrow_mut().clear());
    }
}

/// Hits and reads of relations by this thread's statement: keys, and both counts. A relation that
/// has lost its place and got it again is there twice.
fn each_of_statement(mut f: impl FnMut(u64, (u64, u64))) {
    let table = own();
    for (half, word) in table.visited.iter().enumerate() {
        let mut word = word.load(Relaxed);
        while word != 0 {
            let place = &table.places[half * 64 + word.trailing_zeros() as usize];
            word &= word - 1;
            f(place.key.load(Relaxed), place.made());
        }
    }
    LEFT.with(|all| all.borrow().iter().for_each(|(key, used)| f(*key, *used)));
}

/// Gives `f` hits and reads of relations by this thread's statement: database and file number,
/// both counts. Another statement begins.
pub fn take_statement(mut f: impl FnMut((u32, u32), (u64, u64))) {
    each_of_statement(|key, used| {
        if used != (0, 0) {
            f(((key >> 32) as u32, key as u32), used);
        }
    });
    forget_statement();
}

/// Hits and reads of a relation by this thread's statement so far.
pub fn of_statement(file: RelFile) -> (u64, u64) {
    let wanted = key_of(file.database.0, file.number);
    let mut sum = (0, 0);
    each_of_statement(|key, used| {
        if key == wanted {
            sum = (sum.0 + used.0, sum.1 + used.1);
        }
    });
    sum
}

/// Gives `f` what this thread has done since it was last asked: places by [`Context`], then
/// [`Op`], each with its count.
#[inline]
pub fn take_used(mut f: impl FnMut(usize, u64)) {
    let table = own();
    let mut touched = table.touched.load(Relaxed);
    table.touched.store(0, Relaxed);
    while touched != 0 {
        let at = touched.trailing_zeros() as usize;
        touched &= touched - 1;
        f(at, table.used[at].load(Relaxed));
        table.used[at].store(0, Relaxed);
    }
}

#[cold]
fn replace(table: &Table, place: &Place, key: u64) {
    leave(table, place);
    let mut others = table.others.lock();
    let counted = (place.hits.load(Relaxed), place.reads.load(Relaxed));
    if counted != (0, 0) {
        others.insert(place.key.load(Relaxed), counted);
    }
    let (hits, reads) = others.remove(&key).unwrap_or_default();
    place.hits.store(hits, Relaxed);
    place.reads.store(reads, Relaxed);
    place.key.store(key, Relaxed);
}

#[inline]
fn count(table: &Table, context: Context, op: Op, n: u64) {
    let at = context as usize * OPS + op as usize;
    bump(&table.cells[BACKEND.get() as usize * CONTEXTS * OPS + at], n);
    bump(&table.used[at], n);
    table.touched.store(table.touched.load(Relaxed) | 1 << at, Relaxed);
}

/// A page was found in memory.
#[inline]
pub(crate) fn hit(file: RelFile, context: Context) {
    let table = own();
    bump(&place(table, file).hits, 1);
    count(table, context, Op::Hit, 1);
}

/// A page was read.
pub(crate) fn read(file: RelFile, context: Context) {
    let table = own();
    bump(&place(table, file).reads, 1);
    count(table, context, Op::Read, 1);
}

/// Something else was done `n` times, or took so many nanoseconds.
pub(crate) fn add(context: Context, op: Op, n: u64) {
    count(own(), context, op, n);
}

/// How often this thread has done something, whatever for.
pub fn of_thread(op: Op) -> u64 {
    let cells = &own().cells;
    cells.iter().skip(op as usize).step_by(OPS).fold(0, |sum, c| sum.wrapping_add(c.load(Relaxed)))
}

/// Says what this thread is; until then it works for clients.
pub fn set_backend(backend: Backend) {
    BACKEND.set(backend as u8);
    wal::count_as(backend as u8);
}

/// Runs work that counts as another kind of backend's.
pub fn counted_as<R>(backend: Backend, work: impl FnOnce() -> R) -> R {
    let before = BACKEND.replace(backend as u8);
    let result = work();
    BACKEND.set(before);
    result
}

/// Has input and output timed from now on, or not: `track_io_timing`.
pub fn set_timed(timed: bool) {
    TIMED.store(timed, Relaxed);
}

/// When something that may be timed began; None if it isn't.
pub fn begin() -> Option<u64> {
    TIMED.load(Relaxed).then(os::clock::monotonic_nanos)
}

/// Counts the time since [`begin`].
pub(crate) fn end(began: Option<u64>, context: Context, op: Op) {
    if let Some(began) = began {
        let nanos = os::clock::monotonic_nanos().saturating_sub(began);
        add(context, op, nanos);
        if op != Op::SyncNanos {
            crate::usage::count_time(context == Context::Temp, op == Op::ReadNanos, nanos);
        }
    }
}

/// Hits and reads of all relations, by database and file number, since the start.
pub fn relations() -> HashMap<(u32, u32), (u64, u64)> {
    let mut sums: HashMap<(u32, u32), (u64, u64)> = HashMap::new();
    let mut add = |key: u64, (hits, reads): (u64, u64)| {
        let sum = sums.entry(((key >> 32) as u32, key as u32)).or_default();
        sum.0 += hits;
        sum.1 += reads;
    };
    TABLES.each(|table| {
        let others = table.others.lock();
        for place in &table.places {
            add(place.key.load(Relaxed), (place.hits.load(Relaxed), place.reads.load(Relaxed)));
        }
        others.iter().for_each(|(key, counted)| add(*key, *counted));
    });
    sums
}

/// Hits and reads of one relation since the start.
pub fn relation(file: RelFile) -> (u64, u64) {
    let key = key_of(file.database.0, file.number);
    let mut sum = (0, 0);
    TABLES.each(|table| {
        let others = table.others.lock();
        let place = &table.places[place_of(file.number)];
        let (hits, reads) = match place.key.load(Relaxed) == key {
            true => (place.hits.load(Relaxed), place.reads.load(Relaxed)),
            false => others.get(&key).copied().unwrap_or_default(),
        };
        sum = (sum.0 + hits, sum.1 + reads);
    });
    sum
}

/// What all threads did since the start: by [`Backend`], then [`Context`], then [`Op`].
pub fn operations() -> Vec<u64> {
    let mut sums = vec![0u64; CELLS];
    TABLES.each(|table| {
        for (sum, cell) in sums.iter_mut().zip(&table.cells) {
            *sum = sum.wrapping_add(cell.load(Relaxed));
        }
    });
    sums
}

/// How many pages were put into memory, read or new.
pub fn needed() -> u64 {
    let all = operations();
    let cells = |op: Op| all.iter().skip(op as usize).step_by(OPS);
    let of = |op| cells(op).fold(0u64, |sum, n| sum.wrapping_add(*n));
    of(Op::Read).wrapping_add(of(Op::Extend))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Oid;

    #[test]
    fn threads_and_places_add_up() {
        let file = |n| RelFile { tablespace: Oid(1663), database: Oid(9_999), number: n };
        let clash = 3 + 2 * 16_384;
        let work = move || {
            for _ in 0..5 {
                hit(file(3), Context::Normal);
                hit(file(clash), Context::BulkRead);
            }
            read(file(3), Context::Normal);
        };
        forget_statement();
        work();
        assert_eq!(of_statement(file(3)), (5, 1));
        assert_eq!(of_statement(file(clash)), (5, 0));
        let mut used = Vec::new();
        take_statement(|key, counts| used.push((key, counts)));
        used.sort();
        assert_eq!(used.iter().filter(|u| u.0 == (9_999, 3)).map(|u| u.1.0).sum::<u64>(), 5);
        assert_eq!(of_statement(file(3)), (0, 0));
        os::thread::spawn("t", work).unwrap().join().unwrap();
        let all = relations();
        assert_eq!(all.get(&(9_999, 3)), Some(&(10, 2)));
        assert_eq!(all.get(&(9_999, clash)), Some(&(10, 0)));
    }
}
