//! Foreign keys and COPY, as clients see them.

mod common;

use common::{Rows, Server, fail, run};

#[test]
fn references_are_checked() {
    let server = Server::start("fk");
    let mut s = server.connect();
    run(&mut s, "create table p(id int primary key, t text)");
    run(&mut s, "create table c(id int primary key, p int references p)");
    run(&mut s, "insert into p values (1, 'a'), (2, 'b')");
    run(&mut s, "insert into c values (1, 1), (2, null)");
    let e = fail(&mut s, "insert into c values (3, 9)");
    assert_eq!(
        e.message(),
        "insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\""
    );
    let detail = "Key (p)=(9) is not present in table \"p\".";
    assert_eq!(e.fields().detail.as_deref(), Some(detail));
    let e = fail(&mut s, "update c set p = 7 where id = 1");
    assert_eq!(e.code().as_str(), "23503");
    let e = fail(&mut s, "delete from p where id = 1");
    assert_eq!(
        e.message(),
        "update or delete on table \"p\" violates foreign key constraint \"c_p_fkey\" on table \
         \"c\""
    );
    let detail = "Key (id)=(1) is still referenced from table \"c\".";
    assert_eq!(e.fields().detail.as_deref(), Some(detail));
    run(&mut s, "delete from p where id = 2");
    run(&mut s, "begin; insert into p values (5); insert into c values (5, 5); commit");
    assert_eq!(run(&mut s, "select count(*) from c").rows, [["3"]]);
    server.stop(s);
}

#[test]
fn actions_follow() {
    let server = Server::start("fkact");
    let mut s = server.connect();
    run(&mut s, "create table p(id int primary key)");
    run(&mut s, "create table c(id int, p int references p on delete cascade on update cascade)");
    run(&mut s, "create table n(id int, p int references p on delete set null)");
    run(&mut s, "insert into p values (1), (2), (3)");
    run(&mut s, "insert into c values (10, 1), (20, 2)");
    run(&mut s, "insert into n values (30, 3), (10, 1)");
    run(&mut s, "update p set id = 22 where id = 2");
    assert_eq!(run(&mut s, "select p from c where id = 20").rows, [["22"]]);
    run(&mut s, "delete from p where id = 1");
    assert_eq!(run(&mut s, "select count(*) from c").rows, [["1"]]);
    assert_eq!(run(&mut s, "select p from n where id = 10").rows, [["NULL"]]);
    server.stop(s);
}

#[test]
fn deferred_until_commit() {
    let server = Server::start("fkdef");
    let mut s = server.connect();
    run(&mut s, "create table p(id int primary key)");
    run(&mut s, "create table c(p int references p deferrable initially deferred)");
    run(&mut s, "begin");
    run(&mut s, "insert into c values (1)");
    run(&mut s, "insert into p values (1)");
    run(&mut s, "commit");
    run(&mut s, "begin");
    run(&mut s, "insert into c values (2)");
    let e = fail(&mut s, "commit");
    assert_eq!(e.code().as_str(), "23503");
    assert_eq!(run(&mut s, "select count(*) from c").rows, [["1"]]);
    server.stop(s);
}

fn copy(s: &mut engine::Session, sql: &str, input: &str) -> Result<Rows, base::Error> {
    let mut sink = Rows { input: input.as_bytes().to_vec(), ..Rows::default() };
    s.simple_query(sql, &mut sink)?;
    Ok(sink)
}

#[test]
fn copy_both_ways() {
    let server = Server::start("copy");
    let mut s = server.connect();
    run(&mut s, "create table t(a int, b text, c int default 7)");
    let r = copy(&mut s, "copy t(a, b) from stdin", "1\tx\\ty\n2\t\\N\n").unwrap();
    assert_eq!(r.tags, ["COPY 2"]);
    let csv = "a,b,c\n3,\"q\"\"r\n,s\",\n";
    copy(&mut s, "copy t from stdin with (format csv, header)", csv).unwrap();
    let r = copy(&mut s, "copy t to stdout", "").unwrap();
    assert_eq!(r.out, "1\tx\\ty\t7\n2\t\\N\t7\n3\tq\"r\\n,s\t\\N\n");
    let r = copy(&mut s, "copy (select a, b from t where a = 3) to stdout csv", "").unwrap();
    assert_eq!(r.out, "3,\"q\"\"r\n,s\"\n");
    let e = copy(&mut s, "copy t from stdin", "1\tx\t2\nz\ty\t1\n").unwrap_err();
    assert_eq!(e.message(), "invalid input syntax for type integer: \"z\"");
    assert_eq!(e.fields().context.as_slice(), ["COPY t, line 2, column a: \"z\""]);
    let e = copy(&mut s, "copy t from stdin", "1\tx\n").unwrap_err();
    assert_eq!(e.message(), "missing data for column \"c\"");
    assert_eq!(e.fields().context.as_slice(), ["COPY t, line 1: \"1\tx\""]);
    let sql = "copy t from stdin (on_error ignore)";
    let r = copy(&mut s, sql, "9\tx\t1\nq\tx\t1\n").unwrap();
    assert_eq!(r.tags, ["COPY 1"]);
    assert_eq!(r.notices, ["1 row was skipped due to data type incompatibility"]);
    copy(&mut s, "copy t from stdin where a > 100", "99\tx\t1\n101\tx\t1\n").unwrap();
    let r = run(&mut s, "select count(*) from t where a > 50");
    assert_eq!(r.rows, [["1"]]);
    server.stop(s);
}

/// So many rows that another thread writes them.
fn many(rows: usize) -> String {
    (1..=rows).map(|i| format!("{i}\tname {}\n", i % 100)).collect()
}

#[test]
fn copy_of_many_rows() {
    let server = Server::start("copy-many");
    let mut s = server.connect();
    run(&mut s, "create table t(a int, b text); create table u(a int primary key, b text)");
    let all = "select count(*), sum(a), count(distinct b) from";
    for table in ["t", "u"] {
        let r = copy(&mut s, &format!("copy {table} from stdin"), &many(30_000)).unwrap();
        assert_eq!(r.tags, ["COPY 30000"]);
        let r = run(&mut s, &format!("{all} {table}"));
        assert_eq!(r.rows, [["30000", "450015000", "100"]]);
        // What was written before an error is gone with it.
        let input = many(30_000) + "x\ty\n";
        let e = copy(&mut s, &format!("copy {table} from stdin where a < 0 or a > 1"), &input);
        let e = e.unwrap_err();
        assert!(e.code().as_str() == "23505" || e.message().contains("\"x\""), "{e}");
        assert_eq!(run(&mut s, &format!("select count(*) from {table}")).rows, [["30000"]]);
    }
    // Within a savepoint that is rolled back, and one that is not.
    run(&mut s, "begin; savepoint a");
    copy(&mut s, "copy t from stdin", &many(20_000)).unwrap();
    assert_eq!(run(&mut s, "select count(*) from t").rows, [["50000"]]);
    run(&mut s, "rollback to a");
    copy(&mut s, "copy t from stdin", &many(10_000)).unwrap();
    run(&mut s, "commit");
    assert_eq!(run(&mut s, "select count(*) from t").rows, [["40000"]]);
    // An index build of so many pages has a thread that reads them; the index has all rows.
    run(
        &mut s,
        "create table w as select i % 1000 a, repeat('w', 400) b from generate_series(1, 30000) i",
    );
    run(&mut s, "create index w_a on w(a); set enable_seqscan = off");
    assert_eq!(run(&mut s, "select count(*) from w where a between 10 and 19").rows, [["300"]]);
    let e = fail(&mut s, "create unique index w_u on w(a)");
    assert_eq!(e.message(), "could not create unique index \"w_u\"");
    let e = fail(&mut s, "create index w_e on w((1 / (a - 999)))");
    assert_eq!(e.message(), "division by zero");
    server.stop(s);
}
