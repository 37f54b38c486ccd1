"""Everyday work with psycopg 3: transactions, parameters, prepared statements, COPY, pipeline, errors."""
import psycopg

with psycopg.connect(autocommit=True) as c:
    c.execute("DROP TABLE IF EXISTS people")
    c.execute("CREATE TABLE people (id serial PRIMARY KEY, name text NOT NULL, born date, pay numeric(10, 2))")
    with c.transaction():
        row = c.execute("INSERT INTO people (name, born, pay) VALUES (%s, %s, %s) RETURNING id",
                        ("Ada", "1815-12-10", "10.50")).fetchone()
        assert row == (1,), row
    with c.cursor() as cur:
        cur.executemany("INSERT INTO people (name) VALUES (%s)", [("Bob",), ("Cy",), ("Di",)])
        with cur.copy("COPY people (name) FROM STDIN") as copy:
            for i in range(100):
                copy.write_row((f"p{i}",))
        with cur.copy("COPY people (id, name) TO STDOUT") as copy:
            assert sum(1 for _ in copy.rows()) == 104
    assert c.execute("SELECT count(*), min(name) FROM people").fetchone() == (104, "Ada")
    import datetime, decimal
    assert c.execute("SELECT name, born, pay FROM people WHERE id = %s", (1,)).fetchone() == (
        "Ada", datetime.date(1815, 12, 10), decimal.Decimal("10.50"))
    for i in range(10):  # prepared after five runs
        assert c.execute("SELECT %s::int + 1", (i,)).fetchone() == (i + 1,)
    assert c.execute("SELECT %b::int8, %b::text", (7, "x")).fetchone() == (7, "x")
    try:
        c.execute("INSERT INTO people (name) VALUES (NULL)")
        raise SystemExit("no error")
    except psycopg.errors.NotNullViolation as e:
        assert e.diag.column_name == "name", e.diag.column_name
    try:
        with c.transaction():
            c.execute("UPDATE people SET pay = 1")
            raise psycopg.Rollback
    except psycopg.Rollback:
        pass
    assert c.execute("SELECT count(*) FROM people WHERE pay = 1").fetchone() == (0,)
    with c.pipeline():
        results = [c.execute("SELECT %s::int", (i,)) for i in range(20)]
        assert [r.fetchone()[0] for r in results] == list(range(20))
with psycopg.connect() as c:
    with c.cursor(name="scroll") as cur:
        cur.execute("SELECT generate_series(1, 1000)")
        assert len(cur.fetchmany(10)) == 10
        assert sum(1 for _ in cur) == 990
print("psycopg: ok")
