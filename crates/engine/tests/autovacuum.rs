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
