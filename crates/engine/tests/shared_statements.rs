//! Statements that sessions share mean in each session what they would mean alone.

mod common;

use common::{Rows, Server, run};
use engine::Session;

/// Sends a statement through the extended protocol, unnamed, and gives the first column of its
/// rows.
fn ask(s: &mut Session, sql: &str, param: Option<&str>) -> Result<Vec<String>, String> {
    let mut sink = Rows::default();
    let given: Vec<Option<&[u8]>> = param.iter().map(|p| Some(p.as_bytes())).collect();
    let done = s
        .parse("", sql, &[])
        .and_then(|()| s.bind("", "", &[], &given, &[]))
        .and_then(|()| s.execute("", 0, &mut sink));
    s.sync(&mut sink).unwrap();
    s.wait_gate().unwrap();
    done.map_err(|e| e.message().to_string())?;
    Ok(sink.rows.into_iter().map(|r| r.into_iter().next().unwrap_or_default()).collect())
}

/// Makes it one that sessions share: such are those that came before.
fn share(s: &mut Session, sql: &str, param: Option<&str>) -> Vec<String> {
    let first = ask(s, sql, param).unwrap();
    for _ in 0..3 {
        assert_eq!(ask(s, sql, param).unwrap(), first);
    }
    first
}

#[test]
fn each_session_sees_its_own_tables_and_settings() {
    let server = Server::start("shared-own");
    let (mut a, mut b) = (server.connect(), server.connect());
    run(&mut a, "CREATE TABLE t (id int PRIMARY KEY, s text)");
    run(&mut a, "INSERT INTO t VALUES (1, 'common'), (2, 'two')");
    let query = "SELECT s FROM t WHERE id = $1";
    assert_eq!(share(&mut a, query, Some("1")), ["common"]);
    assert_eq!(share(&mut b, query, Some("2")), ["two"]);

    // A temporary table, and one in a schema that comes first.
    run(&mut b, "CREATE TEMP TABLE t (id int, s text)");
    run(&mut b, "INSERT INTO t VALUES (1, 'own')");
    assert_eq!(share(&mut b, query, Some("1")), ["own"]);
    assert_eq!(share(&mut a, query, Some("1")), ["common"]);
    run(&mut b, "DROP TABLE t");
    assert_eq!(share(&mut b, query, Some("1")), ["common"]);
    let mut c = server.connect();
    run(&mut c, "CREATE SCHEMA first");
    run(&mut c, "CREATE TABLE first.t AS SELECT 1 AS id, 'first' AS s");
    run(&mut c, "SET search_path = first, public");
    assert_eq!(share(&mut c, query, Some("1")), ["first"]);
    assert_eq!(share(&mut a, query, Some("1")), ["common"]);

    // What literals mean depends on settings.
    let day = "SELECT extract(month FROM date '01/02/2003')::int";
    assert_eq!(share(&mut a, day, None), ["1"]);
    run(&mut c, "SET DateStyle = 'ISO, DMY'");
    assert_eq!(share(&mut c, day, None), ["2"]);
    assert_eq!(share(&mut a, day, None), ["1"]);
    drop((b, c));
    server.stop(a);
}

#[test]
fn changes_of_the_catalog_count_at_once() {
    let server = Server::start("shared-changes");
    let (mut a, mut b) = (server.connect(), server.connect());
    run(&mut a, "CREATE TABLE t (id int PRIMARY KEY, s text)");
    run(&mut a, "INSERT INTO t VALUES (1, 'one')");
    let query = "SELECT t::text FROM t WHERE id = 1";
    assert_eq!(share(&mut a, query, None), ["(1,one)"]);
    assert_eq!(share(&mut b, query, None), ["(1,one)"]);

    // In the transaction that makes it, and after it, but nowhere if it is undone.
    run(&mut a, "BEGIN");
    run(&mut a, "ALTER TABLE t ADD COLUMN n int DEFAULT 7");
    assert_eq!(share(&mut a, query, None), ["(1,one,7)"]);
    run(&mut a, "ROLLBACK");
    assert_eq!(share(&mut a, query, None), ["(1,one)"]);
    run(&mut a, "BEGIN");
    run(&mut a, "ALTER TABLE t ADD COLUMN n int DEFAULT 8");
    assert_eq!(share(&mut a, query, None), ["(1,one,8)"]);
    run(&mut a, "COMMIT");
    assert_eq!(share(&mut b, query, None), ["(1,one,8)"]);
    assert_eq!(share(&mut a, query, None), ["(1,one,8)"]);
    run(&mut b, "DROP TABLE t");
    assert_eq!(ask(&mut a, query, None).unwrap_err(), "relation \"t\" does not exist");
    drop(b);
    server.stop(a);
}

#[test]
fn rights_and_policies_are_the_users() {
    let server = Server::start("shared-rights");
    let (mut a, mut b) = (server.connect(), server.connect());
    run(&mut a, "CREATE ROLE reader; CREATE ROLE nobody");
    run(&mut a, "CREATE TABLE t (id int PRIMARY KEY, owner text)");
    run(&mut a, "INSERT INTO t VALUES (1, 'reader'), (2, 'postgres')");
    run(&mut a, "ALTER TABLE t ENABLE ROW LEVEL SECURITY");
    run(&mut a, "CREATE POLICY p ON t USING (owner = current_user); GRANT SELECT ON t TO reader");
    let query = "SELECT owner FROM t WHERE id = $1";
    assert_eq!(share(&mut a, query, Some("2")), ["postgres"]);
    run(&mut b, "SET ROLE reader");
    assert!(share(&mut b, query, Some("2")).is_empty());
    assert_eq!(share(&mut b, query, Some("1")), ["reader"]);
    run(&mut b, "SET ROLE nobody");
    assert_eq!(ask(&mut b, query, Some("1")).unwrap_err(), "permission denied for table t");
    run(&mut b, "SET ROLE reader");
    run(&mut a, "REVOKE SELECT ON t FROM reader");
    assert_eq!(ask(&mut b, query, Some("1")).unwrap_err(), "permission denied for table t");
    assert_eq!(share(&mut a, query, Some("1")), ["reader"]);
    drop(b);
    server.stop(a);
}

#[test]
fn now_is_read_anew() {
    let server = Server::start("shared-now");
    let mut a = server.connect();
    for literal in ["timestamptz 'now'", "'now'::timestamp", "time E'\\156ow'", "'{now}'::time[]"] {
        let query = format!("SELECT {literal}::text");
        let times: Vec<_> = (0..4).map(|_| ask(&mut a, &query, None).unwrap()).collect();
        for pair in times.windows(2) {
            assert_ne!(pair[0], pair[1], "{query}");
        }
    }
    // What a text in a parameter means is not kept anyway.
    let query = "SELECT $1::timestamptz::text";
    let first = ask(&mut a, query, Some("now")).unwrap();
    for _ in 0..3 {
        assert_ne!(ask(&mut a, query, Some("now")).unwrap(), first);
    }
    server.stop(a);
}

#[test]
fn commands_in_prepare_are_not_taken_for_their_text() {
    let server = Server::start("shared-prepare");
    let mut a = server.connect();
    run(&mut a, "PREPARE p AS SELECT 5");
    for _ in 0..3 {
        run(&mut a, "EXECUTE p");
        run(&mut a, "CREATE TABLE x (a int); DROP TABLE x");
    }
    let e = ask(&mut a, "PREPARE p AS SELECT 5", None).unwrap_err();
    assert_eq!(e, "prepared statement \"p\" already exists");
    server.stop(a);
}
