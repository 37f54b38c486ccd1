//! A session runs the statements that pgbench sends, across a restart.

mod common;

use common::{Rows, fail, run};
use engine::settings::Defaults;
use engine::{CreateOptions, Database, Session, SessionOptions};
use os::Disk;
use std::sync::Arc;

fn connect(db: &Arc<Database>) -> Session {
    let options = SessionOptions { user: "postgres".into(), ..SessionOptions::default() };
    Session::new(db, &options).unwrap()
}

#[test]
fn pgbench_statements() {
    let dir = std::env::temp_dir().join(format!("olifant-session-{}", std::process::id()));
    let disk = Disk::real();
    let _ = disk.remove_dir_all(&dir);
    Database::create(disk.clone(), &dir, &CreateOptions::default()).unwrap();
    let db = Database::open(disk.clone(), &dir, Defaults::default()).unwrap();
    let mut s = connect(&db);
    let sql = "drop table if exists acc, br; create table br(bid int not null, bbal int, \
        filler char(88)) with (fillfactor=100); \
        create table acc(aid int not null, bid int, abal int, filler char(84))";
    assert_eq!(run(&mut s, sql).tags, ["DROP TABLE", "CREATE TABLE", "CREATE TABLE"]);
    run(&mut s, "begin");
    run(&mut s, "truncate table acc, br");
    let mut sink = Rows::default();
    for i in 1..=2000 {
        sink.input.extend_from_slice(format!("{i}\t1\t0\t\n").as_bytes());
    }
    s.simple_query("copy acc from stdin", &mut sink).unwrap();
    assert_eq!(sink.tags, ["COPY 2000"]);
    run(&mut s, "insert into br values (1, 0)");
    run(&mut s, "commit");
    run(&mut s, "vacuum analyze acc");
    run(&mut s, "alter table br add primary key (bid)");
    run(&mut s, "alter table acc add primary key (aid)");
    run(&mut s, "alter table acc add constraint f foreign key (bid) references br(bid)");
    let r = run(&mut s, "select count(*), sum(aid) from acc");
    assert_eq!(r.rows, [["2000", "2001000"]]);
    let sql = "begin; update acc set abal = abal + 5 where aid = 7; \
        select abal from acc where aid = 7; end";
    let r = run(&mut s, sql);
    assert_eq!(r.rows, [["5"]]);
    assert_eq!(r.tags, ["BEGIN", "UPDATE 1", "SELECT 1", "COMMIT"]);
    run(&mut s, "begin; update acc set abal = 99 where aid = 7; rollback");
    let e = fail(&mut s, "insert into acc values (7, 1, 0)");
    assert_eq!(e.fields().detail.as_deref(), Some("Key (aid)=(7) already exists."));
    let e = fail(&mut s, "select nope from acc");
    assert_eq!(e.fields().position, Some(8));
    drop(s);
    db.shutdown().unwrap();
    drop(db);
    let db = Database::open(disk.clone(), &dir, Defaults::default()).unwrap();
    let mut s = connect(&db);
    let r = run(&mut s, "select abal from acc where aid = 7");
    assert_eq!(r.rows, [["5"]]);
    let r = run(&mut s, "select relname from pg_class where relname = 'acc_pkey'");
    assert_eq!(r.rows, [["acc_pkey"]]);
    drop(s);
    db.shutdown().unwrap();
    disk.remove_dir_all(&dir).unwrap();
}
