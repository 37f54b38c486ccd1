//! Parallel plans under load: many sessions at once, with too few workers for all of them, with
//! cancellation, timeouts and errors in workers. No worker outlives its statement.

mod common;

use common::{Server, fail, run};
use engine::Session;
use std::sync::Arc;
use std::time::Duration;

const FORCED: &str = "set parallel_setup_cost = 0; set parallel_tuple_cost = 0; \
    set min_parallel_table_scan_size = 0; set max_parallel_workers_per_gather = 3";

fn filled(server: &Server) -> Session {
    let mut s = server.connect();
    run(&mut s, "create table t (a int, b int, c text)");
    run(
        &mut s,
        "insert into t select i, i % 10, 'text ' || i from generate_series(1, 20000) i; analyze t",
    );
    run(&mut s, FORCED);
    s
}

/// Workers that are there now.
fn workers(s: &mut Session) -> String {
    let sql = "select count(*) from pg_stat_activity where backend_type = 'parallel worker'";
    // The question itself is not to have any.
    run(s, "set max_parallel_workers_per_gather = 0");
    let answer = run(s, sql).rows[0][0].clone();
    run(s, FORCED);
    answer
}

#[test]
fn workers_are_started_and_end() {
    let server = Server::start("parallel-start");
    let mut s = filled(&server);
    let plan = run(&mut s, "explain (analyze, costs off, timing off) select sum(a) from t").rows;
    let text: Vec<&str> = plan.iter().map(|r| r[0].trim()).collect();
    assert!(text.contains(&"Workers Planned: 3"), "{text:?}");
    assert!(text.contains(&"Workers Launched: 3"), "{text:?}");
    assert_eq!(run(&mut s, "select count(*), sum(a) from t").rows, [["20000", "200010000"]]);
    assert_eq!(workers(&mut s), "0");
    run(&mut s, "set max_parallel_workers = 0");
    assert_eq!(run(&mut s, "select count(*), sum(a) from t").rows, [["20000", "200010000"]]);
    run(&mut s, "set max_parallel_workers = 8; set parallel_leader_participation = off");
    assert_eq!(run(&mut s, "select count(*), sum(a) from t").rows, [["20000", "200010000"]]);
    server.stop(s);
}

#[test]
fn an_error_of_a_worker_is_the_statements() {
    let server = Server::start("parallel-error");
    let mut s = filled(&server);
    run(&mut s, "set parallel_leader_participation = off");
    for n in [1, 9_999, 20_000] {
        let e = fail(&mut s, &format!("select sum(1 / (a - {n})) from t"));
        assert_eq!(e.message(), "division by zero");
        assert_eq!(e.fields().context.as_deref(), Some("parallel worker"));
        assert_eq!(workers(&mut s), "0");
    }
    // A limit ends workers that have more to give.
    let r = run(&mut s, "select c from t where b = 3 limit 2").rows;
    assert_eq!(r.len(), 2);
    assert_eq!(workers(&mut s), "0");
    server.stop(s);
}

#[test]
fn cancellation_and_timeouts_reach_workers() {
    let server = Server::start("parallel-cancel");
    let mut s = filled(&server);
    let endless = "select count(*) from t x, t y where x.a + y.a <> x.b - y.b";
    run(&mut s, "set statement_timeout = '200ms'");
    let e = fail(&mut s, endless);
    assert_eq!(e.message(), "canceling statement due to statement timeout");
    run(&mut s, "set statement_timeout = 0");
    assert_eq!(workers(&mut s), "0");
    let interrupts = Arc::clone(s.interrupts());
    let killer = os::thread::spawn("killer", move || {
        os::thread::sleep(Duration::from_millis(300));
        interrupts.cancel();
    });
    let e = fail(&mut s, endless);
    assert_eq!(e.message(), "canceling statement due to user request");
    killer.unwrap().join().unwrap();
    assert_eq!(workers(&mut s), "0");
    server.stop(s);
}

/// What one session does, again and again.
fn one(s: &mut Session, round: usize) {
    match round % 5 {
        0 => {
            let r = run(s, "select b, count(*), sum(a) from t group by b order by b limit 1").rows;
            assert_eq!(r, [["0", "2000", "20010000"]]);
        }
        1 => {
            let r = run(s, "select count(*) from t x join t y using (a) where x.b < 5").rows;
            assert_eq!(r, [["10000"]]);
        }
        2 => {
            let r = run(s, "select a from t where b = 7 order by a limit 3").rows;
            assert_eq!(r, [["7"], ["17"], ["27"]]);
        }
        3 => {
            let e = fail(s, "select max(1 / (a - 19999)) from t");
            assert_eq!(e.message(), "division by zero");
        }
        _ => {
            let r = run(s, "select count(*) from (select distinct b from t) x").rows;
            assert_eq!(r, [["10"]]);
        }
    }
}

#[test]
fn many_sessions_share_the_workers() {
    let server = Server::start("parallel-many");
    let mut s = filled(&server);
    let mut threads = Vec::new();
    for n in 0..6 {
        let mut session = server.connect();
        let handle = os::thread::spawn_with_stack("session", 8 << 20, move || {
            run(&mut session, FORCED);
            for round in 0..15 {
                one(&mut session, n + round);
            }
        });
        threads.push(handle.unwrap());
    }
    // Meanwhile somebody changes the table.
    while threads.iter().any(|t| !t.is_finished()) {
        run(&mut s, "update t set c = c || '.' where a = 5");
        os::thread::sleep(Duration::from_millis(5));
    }
    for t in threads {
        t.join().unwrap();
    }
    assert_eq!(workers(&mut s), "0");
    server.stop(s);
}
