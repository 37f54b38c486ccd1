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
