//! Many sessions that want the same row: whoever waits for it leaves its thread, and comes back
//! when the row is free, its statement is cancelled, or it has waited for long.

use futures_util::future;
use std::time::{Duration, Instant};
use testkit::Cluster;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

async fn connect(port: u16) -> Client {
    let url = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

const ADD: &str = "UPDATE counters SET n = n + 1 WHERE id = $1";

async fn pid(c: &Client) -> i32 {
    c.query_one("SELECT pg_backend_pid()", &[]).await.expect("a number").get(0)
}

/// Waits until the session waits for a lock, as others see it.
async fn until_it_waits(watcher: &Client, pid: i32) {
    let sql = "SELECT a.wait_event_type, EXISTS (SELECT 1 FROM pg_locks l \
               WHERE l.pid = a.pid AND NOT l.granted), pg_blocking_pids(a.pid) \
               FROM pg_stat_activity a WHERE a.pid = $1";
    let began = Instant::now();
    loop {
        let row = watcher.query_one(sql, &[&pid]).await.expect("the session");
        let waits = row.get::<_, Option<&str>>(0) == Some("Lock");
        if waits && row.get::<_, bool>(1) && !row.get::<_, Vec<i32>>(2).is_empty() {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "it does not wait");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn value(c: &Client, id: i32) -> i32 {
    c.query_one("SELECT n FROM counters WHERE id = $1", &[&id]).await.expect("a row").get(0)
}

/// Everybody adds to one row, each way that statements come, some within transactions that have
/// another row as well.
async fn everybody_adds(port: u16) {
    const CLIENTS: i32 = 24;
    const ROUNDS: i32 = 60;
    let work = (0..CLIENTS).map(|n| async move {
        let mut c = connect(port).await;
        let add = c.prepare(ADD).await.expect("a statement");
        for round in 0..ROUNDS {
            match (n + round) % 4 {
                0 => assert_eq!(c.execute(&add, &[&1i32]).await.expect("an update"), 1),
                1 => {
                    let sql = "UPDATE counters SET n = n + 1 WHERE id = 1";
                    c.batch_execute(sql).await.expect("an update");
                }
                2 => {
                    let t = c.transaction().await.expect("a transaction");
                    t.execute(&add, &[&(10 + n)]).await.expect("an update");
                    let lock = "SELECT n FROM counters WHERE id = $1 FOR UPDATE";
                    let n: i32 = t.query_one(lock, &[&1i32]).await.expect("a row").get(0);
                    let set = "UPDATE counters SET n = $2 WHERE id = $1 RETURNING n";
                    let row = t.query_one(set, &[&1i32, &(n + 1)]).await.expect("an update");
                    assert_eq!(row.get::<_, i32>(0), n + 1);
                    t.commit().await.expect("a commit");
                }
                _ => {
                    let t = c.transaction().await.expect("a transaction");
                    t.execute(&add, &[&1i32]).await.expect("an update");
                    t.execute(&add, &[&(10 + n)]).await.expect("an update");
                    t.commit().await.expect("a commit");
                }
            }
        }
    });
    future::join_all(work).await;
    let c = connect(port).await;
    assert_eq!(value(&c, 1).await, CLIENTS * ROUNDS);
}

/// A waiting statement is cancelled, its session ended, its client gone; the others go on.
async fn waits_end(port: u16) {
    let (mut holder, watcher) = (connect(port).await, connect(port).await);
    for how in ["cancel", "terminate", "leave", "timeout"] {
        let held = holder.transaction().await.expect("a transaction");
        held.execute(ADD, &[&2i32]).await.expect("an update");
        let waiter = connect(port).await;
        if how == "timeout" {
            waiter.batch_execute("SET lock_timeout = '200ms'").await.expect("a setting");
        }
        let id = pid(&waiter).await;
        let add = waiter.prepare(ADD).await.expect("a statement");
        let mut update = Box::pin(waiter.execute(&add, &[&2i32]));
        tokio::select! {
            done = &mut update => panic!("the row was held: {done:?}"),
            () = until_it_waits(&watcher, id) => {}
        }
        let end = |f: &'static str| watcher.query_one(f, &[]);
        let code = match how {
            "cancel" => {
                let sql = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
                           WHERE wait_event_type = 'Lock'";
                end(sql).await.expect("a waiting session");
                Some(SqlState::QUERY_CANCELED)
            }
            "terminate" => {
                let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                           WHERE wait_event_type = 'Lock'";
                end(sql).await.expect("a waiting session");
                Some(SqlState::ADMIN_SHUTDOWN)
            }
            "timeout" => Some(SqlState::LOCK_NOT_AVAILABLE),
            _ => None,
        };
        match code {
            Some(code) => {
                assert_eq!(update.await.expect_err(how).code(), Some(&code), "{how}");
            }
            None => drop(update),
        }
        if how == "cancel" {
            assert_eq!(value(&waiter, 2).await, 0);
        }
        drop(waiter);
        // Nobody stands before the next one in the queue.
        let next = connect(port).await;
        let id = pid(&next).await;
        let add = next.prepare(ADD).await.expect("a statement");
        let mut update = Box::pin(next.execute(&add, &[&3i32]));
        assert_eq!((&mut update).await.expect("a free row"), 1);
        let mut update = Box::pin(next.execute(&add, &[&2i32]));
        tokio::select! {
            done = &mut update => panic!("the row is held: {done:?}"),
            () = until_it_waits(&watcher, id) => {}
        }
        held.rollback().await.expect("a rollback");
        assert_eq!(update.await.expect("a free row"), 1);
        watcher.execute("UPDATE counters SET n = 0 WHERE id = 2", &[]).await.expect("a reset");
    }
}

/// Two that wait for each other without a thread are found out.
async fn deadlocks_are_found(port: u16) {
    let (mut a, mut b) = (connect(port).await, connect(port).await);
    let (a, b) = (a.transaction().await.expect("one"), b.transaction().await.expect("two"));
    a.execute(ADD, &[&4i32]).await.expect("an update");
    b.execute(ADD, &[&5i32]).await.expect("an update");
    let first = async {
        let result = a.execute(ADD, &[&5i32]).await;
        let done = result.is_ok();
        if done { a.commit().await } else { a.rollback().await }.expect("an end");
        result
    };
    let second = async {
        let result = b.execute(ADD, &[&4i32]).await;
        let done = result.is_ok();
        if done { b.commit().await } else { b.rollback().await }.expect("an end");
        result
    };
    let (first, second) = future::join(first, second).await;
    let errors: Vec<_> = [first, second].into_iter().filter_map(Result::err).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].code(), Some(&SqlState::T_R_DEADLOCK_DETECTED));
}

#[test]
fn a_row_that_everybody_wants() {
    let mut cluster = Cluster::start(&[]).expect("a cluster");
    cluster.expected_errors.push("deadlock detected".into());
    let port = cluster.port();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let c = connect(port).await;
        let make = "CREATE TABLE counters (id int PRIMARY KEY, n int NOT NULL); \
                    INSERT INTO counters SELECT g, 0 FROM generate_series(1, 50) g";
        c.batch_execute(make).await.expect("a table");
        everybody_adds(port).await;
        waits_end(port).await;
        deadlocks_are_found(port).await;
    });
    cluster.stop().expect("a clean stop");
}
