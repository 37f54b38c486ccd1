//! tokio-postgres against a server of its own: what applications in Rust do every day.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, TryStreamExt, future, pin_mut};
use std::time::Duration;
use testkit::Cluster;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

async fn connect(port: u16) -> Client {
    let url = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

async fn everyday(mut c: Client, port: u16) -> Result<(), tokio_postgres::Error> {
    c.batch_execute("CREATE TABLE items (id int PRIMARY KEY, name text NOT NULL, price float8)")
        .await?;
    let insert = c.prepare("INSERT INTO items VALUES ($1, $2, $3)").await?;
    // Sent without waiting for replies.
    let all = (1..=50i32).map(|i| {
        let (c, insert) = (&c, &insert);
        async move { c.execute(insert, &[&i, &format!("item {i}"), &(f64::from(i) / 4.0)]).await }
    });
    assert!(future::try_join_all(all).await?.iter().all(|n| *n == 1));
    let row = c.query_one("SELECT name, price FROM items WHERE id = $1", &[&7i32]).await?;
    assert_eq!((row.get::<_, &str>(0), row.get::<_, f64>(1)), ("item 7", 1.75));
    assert!(c.query_opt("SELECT 1 FROM items WHERE id = $1", &[&99i32]).await?.is_none());

    let e = c.execute(&insert, &[&7i32, &"again", &None::<f64>]).await.expect_err("a duplicate");
    assert_eq!(e.code(), Some(&SqlState::UNIQUE_VIOLATION));
    assert_eq!(e.as_db_error().and_then(|d| d.constraint()), Some("items_pkey"));

    let t = c.transaction().await?;
    t.execute("DELETE FROM items WHERE id > $1", &[&10i32]).await?;
    let portal = t.bind("SELECT id FROM items ORDER BY id", &[]).await?;
    assert_eq!(t.query_portal(&portal, 4).await?.len(), 4);
    assert_eq!(t.query_portal(&portal, 100).await?.len(), 6);
    t.rollback().await?;

    let sink = c.copy_in("COPY items (id, name) FROM STDIN").await?;
    pin_mut!(sink);
    for i in 100..200 {
        sink.send(Bytes::from(format!("{i}\tcopied\n"))).await?;
    }
    assert_eq!(sink.finish().await?, 100);
    let stream = c.copy_out("COPY items TO STDOUT (FORMAT csv)").await?;
    let pieces: Vec<Bytes> = stream.try_collect().await?;
    let lines = pieces.concat().iter().filter(|b| **b == b'\n').count();
    assert_eq!(lines, 150);

    let rows = c.query_raw("SELECT generate_series(1, 5000)", std::iter::empty::<i32>()).await?;
    assert_eq!(rows.count().await, 5000);

    let token = c.cancel_token();
    let (slept, cancelled) = tokio::join!(c.execute("SELECT pg_sleep(30)", &[]), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel_query(NoTls).await
    });
    cancelled?;
    assert_eq!(slept.expect_err("cancelled").code(), Some(&SqlState::QUERY_CANCELED));
    let other = connect(port).await;
    assert_eq!(other.query_one("SELECT count(*) FROM items", &[]).await?.get::<_, i64>(0), 150);
    Ok(())
}

#[test]
fn everyday_work() {
    let mut cluster = Cluster::start(&[]).expect("a cluster");
    let port = cluster.port();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        let client = connect(port).await;
        everyday(client, port).await.expect("everyday work");
    });
    cluster.stop().expect("a clean stop");
}
