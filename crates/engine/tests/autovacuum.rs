//! A table that changes is vacuumed and analysed without being asked.

mod common;

use common::{Server, run};
use std::time::Duration;

#[test]
fn changed_tables_are_taken_care_of() {
    let mut defaults = engine::settings::Defaults::default();
    let source = engine::settings::Source::File;
    defaults.set("autovacuum_naptime", "1", source).unwrap();
    let server = Server::start_with("autovacuum", defaults);
    let mut s = server.connect();
    run(&mut s, "create table t(a int primary key, b int)");
    run(&mut s, "insert into t select g, g % 7 from generate_series(1, 2000) g");
    run(&mut s, "update t set b = b + 1");
    drop(s);
    let mut s = server.connect();
    for _ in 0..100 {
        os::thread::sleep(Duration::from_millis(200));
        if run(&mut s, "select reltuples::int from pg_class where relname = 't'").rows == [["2000"]]
        {
            break;
        }
    }
    let r = run(&mut s, "select reltuples::int from pg_class where relname = 't'");
    assert_eq!(r.rows, [["2000"]]);
    server.stop(s);
}

#[test]
fn several_workers_share_the_tables() {
    let mut defaults = engine::settings::Defaults::default();
    let source = engine::settings::Source::File;
    for (name, value) in [
        ("autovacuum_naptime", "1"),
        ("autovacuum_max_workers", "3"),
        ("autovacuum_vacuum_cost_limit", "200"),
        // Slow, so that they are to be seen at the same time.
        ("autovacuum_vacuum_cost_delay", "100"),
    ] {
        defaults.set(name, value, source).unwrap();
    }
    let server = Server::start_with("autovacuum-workers", defaults);
    let mut s = server.connect();
    for i in 0..5 {
        run(&mut s, &format!("create table t{i}(a int, b text)"));
        run(
            &mut s,
            &format!("insert into t{i} select g, repeat('x', 500) from generate_series(1, 5000) g"),
        );
        run(&mut s, &format!("delete from t{i} where a % 2 = 0"));
    }
    drop(s);
    let mut s = server.connect();
    let (mut most, mut done) = (0, 0);
    for _ in 0..300 {
        os::thread::sleep(Duration::from_millis(100));
        let of = |r: common::Rows| r.rows[0][0].parse::<i32>().unwrap();
        let workers = "select count(*) from pg_stat_activity where backend_type = \
                       'autovacuum worker'";
        most = most.max(of(run(&mut s, workers)));
        let tables =
            "select count(*) from pg_class where relname ~ '^t[0-4]$' and reltuples = 2500";
        done = of(run(&mut s, tables));
        if done == 5 {
            break;
        }
    }
    assert_eq!(done, 5);
    assert!((2..=3).contains(&most), "{most} workers were seen");
    server.stop(s);
}
