//! The same with everything else that leaves something on the disk: large values, prepared
//! transactions, sequences, foreign keys with shared row locks, unlogged tables, tables that are
//! written anew, indexes made while others write, databases, partitions that rows move between.
//!
//! A session's tables are its own, so a model says what is in them: what its acknowledged commits
//! made, or that and the commit that was under way when the machine stopped.

use super::{Kind, Rng, SESSIONS, connect, disk_of, each_seed, must, run};
use base::Result;
use engine::{Database, Session, SessionOptions};
use os::sim::SimDisk;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Rows that all sessions refer to.
const PARENTS: u64 = 5;

/// A change of one document: its number, and its version afterwards if it is there.
type Change = (i64, Option<i64>);

/// What is in a session's tables.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Model {
    /// Version by number.
    docs: BTreeMap<i64, i64>,
    /// The same of a table with partitions, where the number decides on the partition.
    parts: BTreeMap<i64, i64>,
    /// What is queued: from, and up to.
    queue: (i64, i64),
    /// Rows whose key comes from a sequence.
    tickets: i64,
    /// Transactions that are prepared.
    prepared: BTreeMap<i64, Vec<Change>>,
    /// Whether its database is there.
    database: bool,
}

impl Model {
    fn change(&mut self, changes: &[Change]) {
        for (id, version) in changes {
            match version {
                Some(version) => drop(self.docs.insert(*id, *version)),
                None => drop(self.docs.remove(id)),
            }
        }
    }

    /// A document that no prepared transaction is at.
    fn free_doc(&self, rng: &mut Rng) -> Option<i64> {
        let taken = |id: &i64| self.prepared.values().flatten().any(|(at, _)| at == id);
        let free: Vec<_> = self.docs.keys().filter(|id| !taken(id)).collect();
        (!free.is_empty()).then(|| *free[rng.below(free.len() as u64) as usize])
    }
}

/// What a session's client knows.
#[derive(Default, Debug)]
struct Client {
    now: Model,
    /// What is there if the commit under way happened.
    doubt: Option<Model>,
    /// Rows of its unlogged table, if no crash empties it.
    scratch: i64,
    /// The next number of everything.
    next: i64,
}

type World = Mutex<BTreeMap<u64, Client>>;

fn held(world: &World) -> MutexGuard<'_, BTreeMap<u64, Client>> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session at work.
struct Worker<'a> {
    s: Session,
    rng: Rng,
    number: u64,
    world: &'a World,
}

/// An expression for text that does not compress, of `lines` times 32 characters.
fn body(version: i64, lines: u64) -> String {
    format!(
        "(SELECT string_agg(md5({version} || ' ' || g), '') FROM generate_series(1, {lines}) g)"
    )
}

impl Worker<'_> {
    fn model(&self) -> Model {
        held(self.world).entry(self.number).or_default().now.clone()
    }

    fn next(&self) -> i64 {
        let mut world = held(self.world);
        let client = world.entry(self.number).or_default();
        client.next += 1;
        client.next
    }

    /// Runs statements that lead to `then`. Who waits in a circle with others is told, and then
    /// nothing has happened.
    fn commit(&mut self, sql: &str, then: Model) -> Result<bool> {
        held(self.world).entry(self.number).or_default().doubt = Some(then.clone());
        let done = match run(&mut self.s, sql) {
            Ok(_) => true,
            Err(e) if matches!(e.code().as_str(), "40P01" | "40001") => {
                run(&mut self.s, "ROLLBACK")?;
                false
            }
            Err(e) => return Err(e),
        };
        let mut world = held(self.world);
        let client = world.entry(self.number).or_default();
        client.doubt = None;
        if done {
            client.now = then;
        }
        Ok(done)
    }

    /// Statements that change documents, and what they change.
    fn changes(&mut self, model: &Model) -> (String, Vec<Change>) {
        let c = self.number;
        let (mut sql, mut changes) = (String::new(), Vec::new());
        for _ in 0..1 + self.rng.below(3) {
            let version = self.next();
            let body = body(version, [1, 40, 200, 400][self.rng.below(4) as usize]);
            // No document twice: which versions are seen would be another test's matter.
            let old =
                model.free_doc(&mut self.rng).filter(|d| !changes.iter().any(|(c, _)| c == d));
            let (text, change) = match (old, self.rng.below(4)) {
                (None, _) | (_, 0) => (
                    format!(
                        "INSERT INTO docs{c} (id, version, body, sum) \
                         SELECT {version}, {version}, b, md5(b) FROM {body} AS t (b); "
                    ),
                    (version, Some(version)),
                ),
                (Some(id), 1) => (format!("DELETE FROM docs{c} WHERE id = {id}; "), (id, None)),
                // The large value stays where it is.
                (Some(id), 2) => (
                    format!("UPDATE docs{c} SET version = {version} WHERE id = {id}; "),
                    (id, Some(version)),
                ),
                (Some(id), _) => (
                    format!(
                        "UPDATE docs{c} SET version = {version}, body = b, sum = md5(b) \
                         FROM {body} AS t (b) WHERE id = {id}; "
                    ),
                    (id, Some(version)),
                ),
            };
            sql.push_str(&text);
            changes.push(change);
        }
        if self.rng.below(3) == 0 {
            let undone = self.next();
            sql.push_str(&format!(
                "SAVEPOINT a; INSERT INTO docs{c} (id, version) VALUES ({undone}, 0); \
                 SAVEPOINT b; UPDATE docs{c} SET version = 0 WHERE id = {undone}; RELEASE b; \
                 ROLLBACK TO a; "
            ));
        }
        (sql, changes)
    }

    fn documents(&mut self) -> Result<()> {
        let mut then = self.model();
        let (sql, changes) = self.changes(&then);
        if self.rng.below(6) == 0 {
            run(&mut self.s, &format!("BEGIN; {sql} ROLLBACK"))?;
            return Ok(());
        }
        then.change(&changes);
        self.commit(&format!("BEGIN; {sql} COMMIT"), then).map(drop)
    }

    fn prepare(&mut self) -> Result<()> {
        let mut then = self.model();
        let (sql, changes) = self.changes(&then);
        let gid = self.next();
        then.prepared.insert(gid, changes);
        let c = self.number;
        self.commit(&format!("BEGIN; {sql} PREPARE TRANSACTION 'own{c}_{gid}'"), then).map(drop)
    }

    fn finish_prepared(&mut self) -> Result<()> {
        let mut then = self.model();
        let Some((gid, changes)) = then.prepared.pop_first() else { return self.prepare() };
        let c = self.number;
        if self.rng.below(3) == 0 {
            return self.commit(&format!("ROLLBACK PREPARED 'own{c}_{gid}'"), then).map(drop);
        }
        then.change(&changes);
        self.commit(&format!("COMMIT PREPARED 'own{c}_{gid}'"), then).map(drop)
    }

    /// Rows that move between partitions.
    fn partitions(&mut self) -> Result<()> {
        let mut then = self.model();
        let (c, version) = (self.number, self.next());
        let old = then.parts.keys().nth(self.rng.below(8) as usize).copied();
        let sql = match (old, self.rng.below(3)) {
            (None, _) | (_, 0) => {
                then.parts.insert(version % 200, version);
                format!(
                    "INSERT INTO parts{c} VALUES ({0}, {version}) \
                     ON CONFLICT (id) DO UPDATE SET version = excluded.version",
                    version % 200
                )
            }
            (Some(id), 1) => {
                then.parts.remove(&id);
                format!("DELETE FROM parts{c} WHERE id = {id}")
            }
            (Some(id), _) => {
                let to = (0..200).rev().find(|to| !then.parts.contains_key(to)).unwrap_or(id);
                then.parts.remove(&id);
                then.parts.insert(to, version);
                format!("UPDATE parts{c} SET id = {to}, version = {version} WHERE id = {id}")
            }
        };
        self.commit(&sql, then).map(drop)
    }

    /// Rows at one end and off at the other: pages of the index are split, emptied and used again.
    fn queue(&mut self) -> Result<()> {
        let mut then = self.model();
        let c = self.number;
        let (from, to) = then.queue;
        let sql = if self.rng.below(2) == 0 || from == to {
            then.queue.1 = to + 300;
            format!(
                "INSERT INTO queue{c} SELECT g, repeat('q', 20 + g % 7) \
                 FROM generate_series({to}, {}) g",
                then.queue.1 - 1
            )
        } else {
            then.queue.0 = to - (to - from) / 5;
            format!("DELETE FROM queue{c} WHERE id < {}", then.queue.0)
        };
        self.commit(&sql, then)?;
        if self.rng.below(2) == 0 {
            run(&mut self.s, &format!("VACUUM queue{c}"))?;
        }
        Ok(())
    }

    /// A row of all sessions' table, whose key is a sequence's, beside locks that are shared.
    fn ticket(&mut self) -> Result<()> {
        let mut then = self.model();
        then.tickets += 1;
        let (a, b) = (1 + self.rng.below(PARENTS), 1 + self.rng.below(PARENTS));
        let also = [
            format!("SELECT 1 FROM parents WHERE id = {a} FOR SHARE"),
            format!("SELECT 1 FROM parents WHERE id = {a} FOR NO KEY UPDATE"),
            format!(
                "UPDATE parents SET n = n - 1 WHERE id = {a}; UPDATE parents SET n = n + 1 WHERE id = {a}"
            ),
            format!(
                "SAVEPOINT a; SELECT 1 FROM parents WHERE id = {a} FOR UPDATE; \
                 UPDATE parents SET n = n - 1 WHERE id = {a}; ROLLBACK TO a"
            ),
        ];
        let also = &also[self.rng.below(4) as usize];
        let sql = format!(
            "BEGIN; INSERT INTO tickets (client, parent) VALUES ({}, {b}); {also}; COMMIT",
            self.number
        );
        self.commit(&sql, then).map(drop)
    }

    fn scratch(&mut self) -> Result<()> {
        let c = self.number;
        run(
            &mut self.s,
            &format!(
                "INSERT INTO scratch{c} (t) SELECT repeat('s', 500) FROM generate_series(1, 20)"
            ),
        )?;
        held(self.world).entry(c).or_default().scratch += 20;
        Ok(())
    }

    /// What changes the documents' table but not what is in it.
    fn alter(&mut self) -> Result<()> {
        let c = self.number;
        let waits = !self.model().prepared.is_empty();
        let n = self.next();
        let work = [
            format!("VACUUM docs{c}"),
            format!("VACUUM (FREEZE) docs{c}"),
            "VACUUM (FREEZE, INDEX_CLEANUP on) parents".to_string(),
            format!("ANALYZE docs{c}"),
            "CHECKPOINT".to_string(),
            // These wait for whoever is at the table.
            format!("ALTER TABLE docs{c} ADD COLUMN c{n} int NOT NULL DEFAULT 5"),
            format!("ALTER TABLE docs{c} ADD COLUMN c{n} text DEFAULT random()::text"),
            format!("ALTER TABLE docs{c} ALTER COLUMN id TYPE bigint"),
            format!("ALTER TABLE docs{c} ALTER COLUMN id TYPE numeric"),
            format!("CREATE INDEX CONCURRENTLY ON docs{c} (version)"),
            format!("CREATE INDEX ON docs{c} (sum, id)"),
            format!("REINDEX TABLE CONCURRENTLY docs{c}"),
            format!("REINDEX TABLE docs{c}"),
            format!("VACUUM FULL docs{c}"),
            format!("CLUSTER docs{c} USING docs{c}_pkey"),
            format!("BEGIN; TRUNCATE docs{c}; ROLLBACK"),
            format!("BEGIN; ALTER TABLE docs{c} ALTER COLUMN id TYPE text; ROLLBACK"),
            format!(
                "BEGIN; ALTER TABLE docs{c} SET UNLOGGED; ALTER TABLE docs{c} SET LOGGED; COMMIT"
            ),
        ];
        let choices = if waits { 5 } else { work.len() as u64 };
        match run(&mut self.s, &work[self.rng.below(choices) as usize]) {
            Err(e) if e.code().as_str() == "40P01" => run(&mut self.s, "ROLLBACK").map(drop),
            other => other.map(drop),
        }
    }

    fn database(&mut self) -> Result<()> {
        let mut then = self.model();
        then.database = !then.database;
        let c = self.number;
        let strategy = ["wal_log", "file_copy"][self.rng.below(2) as usize];
        let sql = match then.database {
            true => format!("CREATE DATABASE own{c} TEMPLATE template0 STRATEGY {strategy}"),
            false => format!("DROP DATABASE own{c}"),
        };
        self.commit(&sql, then).map(drop)
    }

    fn work(&mut self) -> Result<()> {
        for _ in 0..10 + self.rng.below(20) {
            match self.rng.below(40) {
                0..12 => self.documents()?,
                12..15 => self.prepare()?,
                15..20 => self.finish_prepared()?,
                20..24 => self.partitions()?,
                24..27 => self.queue()?,
                27..32 => self.ticket()?,
                32..34 => self.scratch()?,
                34 if self.rng.below(3) == 0 => self.database()?,
                _ => self.alter()?,
            }
        }
        Ok(())
    }
}

/// The disk of a fresh cluster with the tables, made once.
fn template() -> SimDisk {
    static TEMPLATE: OnceLock<SimDisk> = OnceLock::new();
    let made = TEMPLATE.get_or_init(|| {
        disk_of(|s| {
            must(s, "CREATE TABLE parents (id int PRIMARY KEY, n int NOT NULL)");
            must(s, &format!("INSERT INTO parents SELECT g, 0 FROM generate_series(1, {PARENTS}) g"));
            must(
                s,
                "CREATE TABLE tickets (id serial PRIMARY KEY, client int, \
                 parent int REFERENCES parents)",
            );
            for c in 0..SESSIONS {
                must(
                    s,
                    &format!("CREATE TABLE docs{c} (id int PRIMARY KEY, version int, body text, sum text)"),
                );
                must(s, &format!("ALTER TABLE docs{c} ALTER COLUMN body SET STORAGE external"));
                must(
                    s,
                    &format!("CREATE TABLE parts{c} (id int PRIMARY KEY, version int) PARTITION BY RANGE (id)"),
                );
                for (p, from, to) in [("a", "minvalue", "100"), ("b", "100", "maxvalue")] {
                    must(
                        s,
                        &format!(
                            "CREATE TABLE parts{c}{p} PARTITION OF parts{c} FOR VALUES FROM ({from}) TO ({to})"
                        ),
                    );
                }
                must(s, &format!("CREATE TABLE queue{c} (id int PRIMARY KEY, t text)"));
                must(s, &format!("CREATE UNLOGGED TABLE scratch{c} (id serial PRIMARY KEY, t text)"));
            }
        })
    });
    made.process_restart()
}

/// Pairs of numbers as a map.
fn map_of(rows: Vec<Vec<i64>>) -> BTreeMap<i64, i64> {
    rows.into_iter().map(|r| (r[0], r[1])).collect()
}

/// What is in the tables of session `c`; of prepared transactions, what `known` says of them.
fn found(s: &mut Session, c: u64, known: &BTreeMap<i64, Vec<Change>>) -> Result<Model> {
    let count = |s: &mut Session, sql: &str| Ok::<_, base::Error>(run(s, sql)?[0][0]);
    let bounds =
        format!("SELECT coalesce(min(id), -1), coalesce(max(id) + 1, -1), count(*) FROM queue{c}");
    let bounds = run(s, &bounds)?.remove(0);
    assert!(bounds[0] < 0 || bounds[1] - bounds[0] == bounds[2], "queue{c}: {bounds:?}");
    let gids = format!(
        "SELECT split_part(gid, '_', 2)::int FROM pg_prepared_xacts WHERE gid LIKE 'own{c}\\_%'"
    );
    let prepared = run(s, &gids)?;
    Ok(Model {
        docs: map_of(run(s, &format!("SELECT id::int, version FROM docs{c}"))?),
        parts: map_of(run(s, &format!("SELECT id, version FROM parts{c}"))?),
        queue: (bounds[0], bounds[1]),
        tickets: count(s, &format!("SELECT count(*) FROM tickets WHERE client = {c}"))?,
        prepared: prepared
            .into_iter()
            .map(|r| (r[0], known.get(&r[0]).cloned().unwrap_or_default()))
            .collect(),
        database: count(s, &format!("SELECT count(*) FROM pg_database WHERE datname = 'own{c}'"))?
            > 0,
    })
}

fn check_table(s: &mut Session, table: &str) -> Result<()> {
    let wrong = s.check_table(table)?;
    assert!(wrong.is_empty(), "{table}: {wrong:#?}");
    Ok(())
}

/// Settles what was in doubt, and compares with the world.
fn verify(db: &Arc<Database>, world: &World) -> Result<()> {
    let mut s = connect(db)?;
    let mut world = held(world);
    for (c, client) in world.iter_mut() {
        let doubt = client.doubt.take();
        let mut known = client.now.prepared.clone();
        known.extend(doubt.iter().flat_map(|d| d.prepared.clone()));
        let mut now = found(&mut s, *c, &known)?;
        if now.queue.0 < 0 {
            // Empty: where it stands cannot be seen.
            now.queue = client.now.queue;
        }
        assert!(
            now == client.now || Some(&now) == doubt.as_ref(),
            "session {c} finds {now:#?}\nknows {:#?}\nor perhaps {doubt:#?}",
            client.now
        );
        client.now = now;
        let harmed = format!("SELECT count(*) FROM docs{c} WHERE md5(body) <> sum OR body IS NULL");
        assert_eq!(run(&mut s, &harmed)?[0][0], 0, "bodies of docs{c}");
        let scratch = run(&mut s, &format!("SELECT count(*) FROM scratch{c}"))?[0][0];
        assert!(scratch == 0 || scratch >= client.scratch, "scratch{c}: {scratch}, {client:?}");
        client.scratch = scratch;
        for table in ["docs", "queue", "scratch"] {
            check_table(&mut s, &format!("{table}{c}"))?;
        }
        for part in ["a", "b"] {
            check_table(&mut s, &format!("parts{c}{part}"))?;
        }
        if client.now.database {
            let options = SessionOptions {
                user: "postgres".into(),
                database: format!("own{c}"),
                ..SessionOptions::default()
            };
            let mut other = Session::new(db, &options)?;
            assert!(run(&mut other, "SELECT count(*) FROM pg_class")?[0][0] > 300);
            check_table(&mut other, "pg_class")?;
        }
    }
    for table in ["parents", "tickets", "pg_class", "pg_attribute", "pg_database", "pg_sequence"] {
        check_table(&mut s, table)?;
    }
    // Nobody's lock is left behind but those of prepared transactions, which are elsewhere.
    let sum = run(&mut s, "SELECT sum(n), count(*) FROM parents")?;
    assert_eq!(sum, [[0, PARENTS as i64]]);
    run(&mut s, "BEGIN; SET LOCAL lock_timeout = '5s'; UPDATE parents SET n = n; COMMIT")?;
    Ok(())
}

const WIDE: Kind<World> = Kind {
    template,
    stops_within: |_| 900,
    max_steps: 20_000_000,
    client: |db, seed, number, world| {
        let s = connect(db)?;
        Worker { s, rng: Rng(seed), number, world }.work()
    },
    verify,
};

fn history(seed: u64) {
    let (db, world) = WIDE.lives(Rng(seed.wrapping_mul(99991) + 1));
    // What vacuum leaves is what was there.
    let mut s = connect(&db).unwrap();
    for table in ["docs", "queue", "parts", "scratch"] {
        for c in 0..SESSIONS {
            must(&mut s, &format!("VACUUM {table}{c}"));
        }
    }
    drop(s);
    verify(&db, &world).unwrap();
    db.shutdown().unwrap();
}

#[test]
fn nothing_of_other_kinds_is_lost() {
    each_seed(100, history);
}
