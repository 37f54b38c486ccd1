//! A server with little memory: statements whose values outgrow it end, others go on.

use base::SqlState;
use testkit::Cluster;

/// Each would hold more than the limit.
const STATEMENTS: [&str; 9] = [
    "SELECT length(string_agg(repeat('x', 100000), ',')) FROM generate_series(1, 9000)",
    "SELECT array_length(array_agg(repeat('x', 100000) || g), 1) FROM generate_series(1, 9000) g",
    "SELECT length(json_agg(repeat('x', 100000))::text) FROM generate_series(1, 9000)",
    "SELECT length(jsonb_agg(repeat('x', 100000))::text) FROM generate_series(1, 9000)",
    "SELECT length(repeat('x', 900000000))",
    "SELECT length(repeat('x', 400000000) || repeat('y', 400000000))",
    "SELECT length(lpad('x', 268000000, 'ä') || lpad('y', 268000000, 'ö'))",
    "SELECT array_length(array_fill(1::int8, ARRAY[100000000]), 1)",
    "SELECT count(DISTINCT repeat('x', 10000) || g) FROM generate_series(1, 100000) g",
];

#[test]
fn statements_that_outgrow_the_memory_limit_end_and_the_server_lives() {
    let settings = [("olifant.memory_limit", "400MB"), ("shared_buffers", "16MB")];
    let mut cluster = Cluster::start(&settings).expect("a cluster");
    let mut client = cluster.connect().expect("a connection");
    // The limit is known from the watcher's first look.
    std::thread::sleep(std::time::Duration::from_millis(500));
    for statement in STATEMENTS {
        let e = client.query(statement).expect("an answer").error.expect(statement);
        assert_eq!(e.code(), SqlState::OUT_OF_MEMORY, "{statement}: {e}");
        let small = client.query("SELECT length(repeat('x', 1000000))").expect("an answer");
        assert!(small.error.is_none(), "{statement}: {:?}", small.error);
    }
    // A long constant is there once, however many rows have it. Long values of which something
    // short is made are there one at a time if a batch of them does not fit.
    for (statement, expected) in [
        (
            "SELECT count(*) FROM (SELECT repeat('x', 20000000) FROM generate_series(1, 1000) \
             OFFSET 0) s",
            "1000",
        ),
        (
            "SELECT sum(length(repeat('x', 10000000 + g))) FROM generate_series(1, 60) g",
            "600001830",
        ),
    ] {
        let r = client.query(statement).expect("an answer");
        assert_eq!(r.rows, [[Some(expected.to_string())]], "{:?}", r.error);
    }
    cluster.stop().expect("a clean stop");
}
