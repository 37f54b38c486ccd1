//! The whole engine on the simulated disk: several sessions run transfers, DDL, VACUUM and
//! CHECKPOINT; the machine stops at some write or sync; after recovery what was acknowledged is
//! there, nothing is there by half, and tables, indexes and balances agree.
//!
//! `OLIFANT_SEED=n` replays one seed, `OLIFANT_SEEDS=n` tries so many, `OLIFANT_SEEDS=a..b` those.

mod wide;

use base::Result;
use engine::settings::{Defaults, Source};
use engine::sink::{ResultColumn, ResultFormat, Sink};
use engine::{CreateOptions, Database, Session, SessionOptions};
use os::Disk;
use os::sim::{Faults, Sim, SimDisk, Stop};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use types::Datum;

const SESSIONS: u64 = 3;
const ACCOUNTS: u64 = 60;
const DIR: &str = "data";

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ (self.0 >> 29);
        x.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// What a session's client knows.
#[derive(Default, Clone, Debug)]
struct Client {
    /// Number of its next transfer.
    next: u64,
    /// Transfers that were acknowledged.
    acknowledged: BTreeSet<u64>,
    /// The transfer that was committing when the machine stopped.
    in_doubt: Option<u64>,
    /// Rows of its own table; None if there is no table.
    table: Option<u64>,
    /// What it will be if the statement under way succeeded.
    table_in_doubt: Option<Option<u64>>,
}

type World = Mutex<BTreeMap<u64, Client>>;

fn held(world: &World) -> MutexGuard<'_, BTreeMap<u64, Client>> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps numbers.
#[derive(Default)]
struct Numbers(Vec<Vec<i64>>);

impl Sink for Numbers {
    fn row_description(&mut self, _: &[ResultColumn], _: &[ResultFormat]) -> Result<()> {
        Ok(())
    }
    fn row(&mut self, values: &[Datum]) -> Result<()> {
        let number = |d: &Datum| match d {
            Datum::I32(n) => i64::from(*n),
            Datum::I64(n) => *n,
            Datum::Null => i64::MIN,
            other => panic!("{other:?}"),
        };
        self.0.push(values.iter().map(number).collect());
        Ok(())
    }
    fn command_complete(&mut self, _: &str) -> Result<()> {
        Ok(())
    }
    fn notice(&mut self, _: &base::Error) {}
}

fn connect(db: &Arc<Database>) -> Result<Session> {
    let options = SessionOptions { user: "postgres".into(), ..SessionOptions::default() };
    Session::new(db, &options)
}

/// Runs statements; what they did is durable when this returns.
fn run(s: &mut Session, sql: &str) -> Result<Vec<Vec<i64>>> {
    let mut sink = Numbers::default();
    s.simple_query(sql, &mut sink)?;
    s.wait_gate()?;
    Ok(sink.0)
}

fn must(s: &mut Session, sql: &str) -> Vec<Vec<i64>> {
    run(s, sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn defaults(rng: &mut Rng) -> Defaults {
    let mut d = Defaults::default();
    let mut set = |name: &str, value: &str| d.set(name, value, Source::File).unwrap();
    set("shared_buffers", ["2MB", "4MB", "16MB"][rng.below(3) as usize]);
    set("wal_compression", ["off", "pglz", "lz4", "zstd"][rng.below(4) as usize]);
    set("autovacuum", "off");
    set("max_prepared_transactions", "50");
    set("deadlock_timeout", "10ms");
    set("checkpoint_timeout", "30s");
    d
}

/// The disk of a fresh cluster where `prepare` has been.
fn disk_of(prepare: impl FnOnce(&mut Session)) -> SimDisk {
    let disk = SimDisk::new(1, Faults::default());
    let real = Disk::simulated(disk.clone());
    let options = CreateOptions { wal_segment_size: 1 << 20, ..CreateOptions::default() };
    Database::create(real.clone(), Path::new(DIR), &options).unwrap();
    let db = Database::open(real, Path::new(DIR), defaults(&mut Rng(1))).unwrap();
    let mut s = connect(&db).unwrap();
    prepare(&mut s);
    drop(s);
    db.shutdown().unwrap();
    disk
}

/// The disk of a fresh cluster with the tables, made once.
fn template() -> SimDisk {
    static TEMPLATE: OnceLock<SimDisk> = OnceLock::new();
    let made = TEMPLATE.get_or_init(|| {
        disk_of(|s| {
            must(s, "CREATE TABLE branches (bid int PRIMARY KEY, balance int NOT NULL)");
            must(
                s,
                "CREATE TABLE accounts (aid int PRIMARY KEY, balance int NOT NULL, filler text)",
            );
            must(s, "CREATE INDEX ON accounts (balance)");
            must(s, "CREATE TABLE history (client int, n int, delta int, PRIMARY KEY (client, n))");
            must(s, "INSERT INTO branches SELECT g, 0 FROM generate_series(1, 3) g");
            let fill = format!(
                "INSERT INTO accounts \
                 SELECT g, 0, repeat('x', 100) FROM generate_series(1, {ACCOUNTS}) g"
            );
            must(s, &fill);
        })
    });
    made.process_restart()
}

fn transfer(s: &mut Session, rng: &mut Rng, client: u64, world: &World) -> Result<()> {
    let n = held(world).entry(client).or_default().next;
    let (aid, bid) = (1 + rng.below(ACCOUNTS), 1 + rng.below(3));
    let delta = rng.below(2000) as i64 - 1000;
    let work = |s: &mut Session| -> Result<()> {
        run(s, "BEGIN")?;
        run(s, &format!("UPDATE accounts SET balance = balance + {delta} WHERE aid = {aid}"))?;
        if delta % 5 == 0 {
            run(s, "SAVEPOINT a")?;
            run(s, &format!("UPDATE accounts SET balance = 0 WHERE aid = {aid}"))?;
            run(s, "ROLLBACK TO a")?;
        }
        run(s, &format!("UPDATE branches SET balance = balance + {delta} WHERE bid = {bid}"))?;
        run(s, &format!("INSERT INTO history VALUES ({client}, {n}, {delta})"))?;
        Ok(())
    };
    let end = match work(s) {
        Ok(()) if rng.below(8) > 0 => {
            held(world).entry(client).or_default().in_doubt = Some(n);
            run(s, "COMMIT")?;
            let mut world = held(world);
            let c = world.entry(client).or_default();
            c.acknowledged.insert(n);
            c.in_doubt = None;
            c.next = n + 1;
            return Ok(());
        }
        Ok(()) => Ok(()),
        // Waits in a circle are broken, and snapshots overtaken.
        Err(e) if matches!(e.code().as_str(), "40P01" | "40001") => Ok(()),
        Err(e) => Err(e),
    };
    run(s, "ROLLBACK")?;
    end
}

/// Makes, fills, empties and drops the session's own table.
fn ddl(s: &mut Session, rng: &mut Rng, client: u64, world: &World) -> Result<()> {
    let now = held(world).entry(client).or_default().table;
    let (sql, then) = match (now, rng.below(5)) {
        (None, _) => (
            format!(
                "BEGIN; CREATE TABLE own{client} (id int PRIMARY KEY, t text); \
                 INSERT INTO own{client} SELECT g, repeat('y', 300) FROM generate_series(1, 50) g; COMMIT"
            ),
            Some(50),
        ),
        (Some(_), 0) => (format!("DROP TABLE own{client}"), None),
        (Some(_), 1) => (format!("TRUNCATE own{client}"), Some(0)),
        (Some(n), 2) => (format!("BEGIN; DROP TABLE own{client}; ROLLBACK"), Some(n)),
        (Some(n), 3) => (format!("CREATE INDEX ON own{client} (t, id)"), Some(n)),
        (Some(n), _) => (
            format!(
                "INSERT INTO own{client} SELECT coalesce(max(id), 0) + 1, repeat('z', 3000) FROM own{client}"
            ),
            Some(n + 1),
        ),
    };
    held(world).entry(client).or_default().table_in_doubt = Some(then);
    let done = or_deadlock(s, &sql)?;
    let mut world = held(world);
    let c = world.entry(client).or_default();
    (c.table, c.table_in_doubt) = (if done { then } else { c.table }, None);
    Ok(())
}

/// Runs statements that may meet who writes a system table anew: waits in a circle are broken.
/// False if so, and then nothing is done.
fn or_deadlock(s: &mut Session, sql: &str) -> Result<bool> {
    match run(s, sql) {
        Err(e) if e.code().as_str() == "40P01" => run(s, "ROLLBACK").map(|_| false),
        other => other.map(|_| true),
    }
}

fn client(db: &Arc<Database>, seed: u64, number: u64, world: &World) -> Result<()> {
    let mut rng = Rng(seed);
    let mut s = connect(db)?;
    for _ in 0..10 + rng.below(30) {
        match rng.below(12) {
            0 => ddl(&mut s, &mut rng, number, world)?,
            1 => drop(or_deadlock(
                &mut s,
                ["VACUUM accounts", "VACUUM branches", "ANALYZE history"][rng.below(3) as usize],
            )?),
            2 if rng.below(2) == 0 => drop(run(&mut s, "CHECKPOINT")?),
            3 if rng.below(2) == 0 => rewrite(&mut s, &mut rng)?,
            _ => transfer(&mut s, &mut rng, number, world)?,
        }
    }
    Ok(())
}

/// Writes tables anew, system tables among them.
fn rewrite(s: &mut Session, rng: &mut Rng) -> Result<()> {
    const WORK: [&str; 14] = [
        "VACUUM FULL accounts",
        "VACUUM FULL history",
        "CLUSTER accounts USING accounts_pkey",
        "REINDEX TABLE accounts",
        "BEGIN; CLUSTER accounts USING accounts_pkey; ROLLBACK",
        "VACUUM FULL pg_class",
        "VACUUM FULL pg_attribute",
        "VACUUM FULL pg_authid",
        "VACUUM FULL pg_proc",
        "CLUSTER pg_class USING pg_class_oid_index",
        "REINDEX TABLE pg_class",
        "REINDEX INDEX pg_attribute_relid_attnum_index",
        "REINDEX TABLE pg_database",
        "BEGIN; REINDEX TABLE pg_class; ROLLBACK",
    ];
    match run(s, WORK[rng.below(WORK.len() as u64) as usize]) {
        // Waits in a circle are broken, and what moved meanwhile is not found.
        Err(e) if matches!(e.code().as_str(), "40P01" | "XX000") => run(s, "ROLLBACK").map(drop),
        other => other.map(drop),
    }
}

/// Settles what was in doubt, and compares with the world.
fn verify(db: &Arc<Database>, world: &World) -> Result<()> {
    let mut s = connect(db)?;
    let mut world = held(world);
    let found: Vec<Vec<i64>> = run(&mut s, "SELECT client, n FROM history")?;
    let by_index = "SET enable_seqscan = off; SELECT client, n FROM history WHERE client >= 0; \
                    RESET enable_seqscan";
    let mut indexed = run(&mut s, by_index)?;
    let mut scanned = found.clone();
    indexed.sort();
    scanned.sort();
    assert_eq!(scanned, indexed, "history and its index");
    for (number, c) in world.iter_mut() {
        let rows: BTreeSet<u64> =
            found.iter().filter(|r| r[0] as u64 == *number).map(|r| r[1] as u64).collect();
        if let Some(n) = c.in_doubt.take()
            && rows.contains(&n)
        {
            c.acknowledged.insert(n);
            c.next = n + 1;
        }
        assert_eq!(rows, c.acknowledged, "transfers of client {number}");
        let there =
            run(&mut s, &format!("SELECT count(*) FROM pg_class WHERE relname = 'own{number}'"))?
                [0][0];
        let now = match there {
            0 => None,
            _ => Some(run(&mut s, &format!("SELECT count(*) FROM own{number}"))?[0][0] as u64),
        };
        let doubt = c.table_in_doubt.take();
        assert!(now == c.table || Some(now) == doubt, "own{number}: {now:?}, {c:?}, {doubt:?}");
        c.table = now;
        if there > 0 {
            let wrong = s.check_table(&format!("own{number}"))?;
            assert!(wrong.is_empty(), "{wrong:#?}");
        }
    }
    let sums = run(
        &mut s,
        "SELECT (SELECT sum(balance) FROM accounts), (SELECT sum(balance) FROM branches), \
         (SELECT coalesce(sum(delta), 0) FROM history), (SELECT count(*) FROM accounts)",
    )?;
    let sums = &sums[0];
    assert!(sums[0] == sums[1] && sums[1] == sums[2], "balances: {sums:?}");
    assert_eq!(sums[3], ACCOUNTS as i64);
    let system = ["pg_class", "pg_attribute", "pg_proc", "pg_authid", "pg_database"];
    for table in ["accounts", "branches", "history"].into_iter().chain(system) {
        let wrong = s.check_table(table)?;
        assert!(wrong.is_empty(), "{table}: {wrong:#?}");
    }
    Ok(())
}

/// A kind of history: what its sessions do, and what must be there after a stop. `W` is what their
/// clients know.
struct Kind<W> {
    /// A disk to begin with.
    template: fn() -> SimDisk,
    /// The machine stops within so many operations of the disk, by the number of its life.
    stops_within: fn(u32) -> u64,
    max_steps: u64,
    /// The work of one session: the seed, its number.
    client: fn(&Arc<Database>, u64, u64, &W) -> Result<()>,
    /// Settles what was in doubt, and compares with the world.
    verify: fn(&Arc<Database>, &W) -> Result<()>,
}

impl<W> Clone for Kind<W> {
    fn clone(&self) -> Kind<W> {
        *self
    }
}

impl<W> Copy for Kind<W> {}

impl<W: Default + Send + Sync + 'static> Kind<W> {
    fn life(self, disk: SimDisk, seed: u64, world: &Arc<W>) -> Result<()> {
        let mut rng = Rng(seed);
        let db = Database::open(Disk::simulated(disk), Path::new(DIR), defaults(&mut rng))?;
        (self.verify)(&db, world)?;
        let clients: Vec<_> = (0..SESSIONS)
            .map(|number| {
                let (db, world, seed) = (db.clone(), world.clone(), rng.next());
                let work = move || (self.client)(&db, seed, number, &world);
                os::thread::spawn("client", work).unwrap()
            })
            .collect();
        for client in clients {
            client.join().unwrap()?;
        }
        match rng.below(3) {
            0 => db.shutdown(),
            _ => Ok(()),
        }
    }

    /// Three lives of a server, each up to a stop; the server after them, which has been verified,
    /// and the world.
    fn lives(self, mut rng: Rng) -> (Arc<Database>, Arc<W>) {
        let mut disk = (self.template)();
        let world = Arc::new(W::default());
        for round in 0..3 {
            let crash_at = Some(disk.operations() + 1 + rng.below((self.stops_within)(round)));
            disk.set_faults(Faults { crash_at, ..Faults::default() });
            let (machine, seed, held) = (disk.clone(), rng.next(), world.clone());
            let sim = Sim::new(rng.next()).max_steps(self.max_steps);
            match sim.run(move || self.life(machine, seed, &held)) {
                Stop::Finished(Ok(())) | Stop::Crashed => {}
                other => panic!("{other:?}"),
            }
            disk = match rng.below(4) {
                0 => disk.process_restart(),
                _ => disk.power_cycle(rng.next()),
            };
        }
        let db = Database::open(Disk::simulated(disk), Path::new(DIR), defaults(&mut rng)).unwrap();
        (self.verify)(&db, &world).unwrap();
        (db, world)
    }
}

const TRANSFERS: Kind<World> = Kind {
    template,
    stops_within: |round| if round == 0 { 60 } else { 400 },
    max_steps: 5_000_000,
    client,
    verify,
};

fn history(seed: u64) {
    let (db, _) = TRANSFERS.lives(Rng(seed.wrapping_mul(77777) + 1));
    db.shutdown().unwrap();
}

/// Runs `history` with the seeds that the environment asks for, or so many.
fn each_seed(many: u64, history: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let number = |text: &str| text.parse::<u64>().expect("a number of seeds");
    if let Ok(seed) = std::env::var("OLIFANT_SEED") {
        return history(number(&seed));
    }
    let seeds = match std::env::var("OLIFANT_SEEDS") {
        Ok(text) => match text.split_once("..") {
            Some((from, to)) => number(from)..number(to),
            None => 0..number(&text),
        },
        Err(_) => 0..many,
    };
    for seed in seeds {
        let result = std::panic::catch_unwind(|| history(seed));
        if let Err(payload) = result {
            eprintln!("OLIFANT_SEED={seed} fails");
            std::panic::resume_unwind(payload);
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost() {
    each_seed(200, history);
}

/// Runs `work` on a fresh cluster in the simulator; how it ended, and the disk.
fn on_fresh<R: Send + 'static>(
    seed: u64,
    work: impl FnOnce(Arc<Database>, SimDisk) -> R + Send + 'static,
) -> (Stop<R>, SimDisk) {
    let disk = template();
    let machine = disk.clone();
    let stop = Sim::new(seed).max_steps(5_000_000).run(move || {
        let real = Disk::simulated(machine.clone());
        let db = Database::open(real, Path::new(DIR), defaults(&mut Rng(seed))).unwrap();
        work(db, machine)
    });
    (stop, disk)
}

#[test]
fn a_full_disk_is_an_error_and_no_more() {
    let (stop, _) = on_fresh(7, |db, disk| {
        let mut s = connect(&db).unwrap();
        must(&mut s, "CREATE TABLE big (t text)");
        must(&mut s, "CHECKPOINT");
        let room = disk.used() + (3 << 20);
        disk.set_faults(Faults { capacity: Some(room), ..Faults::default() });
        let fill = "INSERT INTO big SELECT repeat('x', 1000) FROM generate_series(1, 500) g";
        let mut inserted = 0;
        let error = loop {
            match run(&mut s, fill) {
                Ok(_) => inserted += 500,
                Err(e) => break e,
            }
            assert!(inserted < 100_000, "the disk never fills");
        };
        assert_eq!(error.code().as_str(), "53100", "{error}");
        let rows = must(&mut s, "SELECT count(*) FROM big");
        assert_eq!(rows, [[inserted]]);
        // Others go on, and so does this one when there is room again.
        disk.set_faults(Faults::default());
        must(&mut s, fill);
        must(&mut s, "CHECKPOINT");
        assert_eq!(must(&mut s, "SELECT count(*) FROM big"), [[inserted + 500]]);
        drop(s);
        db.shutdown().unwrap();
    });
    stop.finished();
}

#[test]
fn a_failed_sync_loses_nothing() {
    let mut crashes = 0;
    for n in 0..20 {
        let world = Arc::new(World::default());
        let (held, mut rng) = (world.clone(), Rng(n));
        let (stop, disk) = on_fresh(100 + n, move |db, disk| {
            let mut s = connect(&db)?;
            let fail_sync_at = Some(disk.operations() + 1 + 3 * n);
            disk.set_faults(Faults { fail_sync_at, ..Faults::default() });
            for i in 0..60 {
                if i % 10 == 9 {
                    // A checkpoint may fail and be tried again, if only names are concerned.
                    let _ = run(&mut s, "CHECKPOINT");
                }
                transfer(&mut s, &mut rng, 0, &held)?;
            }
            Ok::<_, base::Error>(())
        });
        match stop {
            Stop::Finished(Ok(())) => {}
            // The log or the tables were concerned: the server has stopped.
            Stop::Crashed => crashes += 1,
            other => panic!("{other:?}"),
        }
        let disk = Disk::simulated(disk.power_cycle(n));
        let db = Database::open(disk, Path::new(DIR), defaults(&mut Rng(n))).unwrap();
        verify(&db, &world).unwrap();
        db.shutdown().unwrap();
    }
    assert!(crashes > 5, "{crashes}");
}

/// As [`defaults`], with an archiver that nobody has told what to do.
fn archiving() -> Defaults {
    let mut d = defaults(&mut Rng(3));
    d.set("archive_mode", "on", Source::File).unwrap();
    d
}

/// Names of files in a folder of the cluster.
fn names(disk: &Disk, folder: &str) -> Vec<String> {
    let list = disk.list(&Path::new(DIR).join(folder)).unwrap();
    list.into_iter().map(|e| e.name).collect()
}

#[test]
fn what_is_not_archived_stays_through_a_crash() {
    let disk = template();
    let machine = disk.clone();
    let stop = Sim::new(9).max_steps(5_000_000).run(move || {
        let real = Disk::simulated(machine);
        let db = Database::open(real.clone(), Path::new(DIR), archiving()).unwrap();
        let mut s = connect(&db).unwrap();
        let mut current = Vec::new();
        for _ in 0..8 {
            must(&mut s, "UPDATE branches SET balance = balance");
            must(&mut s, "SELECT 1 FROM pg_switch_wal()");
            must(&mut s, "CHECKPOINT");
            let segments = names(&real, "pg_wal").into_iter();
            current = segments.filter(|n| n.len() == 24).collect();
            current.sort();
        }
        current.truncate(8);
        current
    });
    let finished = match stop {
        Stop::Finished(names) => names,
        other => panic!("{other:?}"),
    };
    assert_eq!(finished.len(), 8);

    let real = Disk::simulated(disk.power_cycle(9));
    let db = Database::open(real.clone(), Path::new(DIR), archiving()).unwrap();
    let kept = names(&real, "pg_wal");
    for name in &finished {
        assert!(kept.contains(name), "{name} is gone before anybody has archived it: {kept:?}");
    }
    // Once somebody has, they go, and what was noted of them with them.
    let folder = Path::new(DIR).join("pg_wal/archive_status");
    real.create_dir_all(&folder).unwrap();
    for name in &finished {
        real.write_atomic(&folder.join(format!("{name}.done")), &[]).unwrap();
    }
    let mut s = connect(&db).unwrap();
    must(&mut s, "CHECKPOINT");
    let (kept, noted) = (names(&real, "pg_wal"), names(&real, "pg_wal/archive_status"));
    for name in &finished[..6] {
        assert!(!kept.contains(name), "{name} is still there");
        assert!(!noted.contains(&format!("{name}.done")), "{noted:?}");
    }
    drop(s);
    db.shutdown().unwrap();
}
