"""Everyday work with asyncpg, which speaks binary for every type and prepares every statement."""
import asyncio
import datetime
import decimal
import ipaddress
import os
import ssl
import uuid

import asyncpg

UTC = datetime.timezone.utc


def context():
    if os.environ.get("PGSSLMODE", "disable") == "disable":
        return None
    return ssl.create_default_context(cafile=os.environ["PGSSLROOTCERT"])


async def connect(**options):
    return await asyncpg.connect(
        host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]), user=os.environ["PGUSER"],
        database=os.environ["PGDATABASE"], password=os.environ.get("PGPASSWORD"),
        ssl=context() or False, **options)


VALUES = [
    ("bool", True), ("int2", -7), ("int4", 2**31 - 1), ("int8", -(2**63)), ("float4", 1.5), ("float8", 1e300),
    ("numeric", decimal.Decimal("-12345678901234567890.000123")), ("numeric", decimal.Decimal("0.00")),
    ("text", "grüße 象"), ("varchar", ""), ("bpchar", "x"), ("name", "n"), ("bytea", b"\x00\xff"),
    ("date", datetime.date(1999, 12, 31)), ("time", datetime.time(23, 59, 59, 999999)),
    ("timetz", datetime.time(1, 2, 3, tzinfo=UTC)),
    ("timestamp", datetime.datetime(2024, 2, 29, 12, 0, 0, 5)),
    ("timestamptz", datetime.datetime(1970, 1, 1, tzinfo=UTC)),
    ("interval", datetime.timedelta(days=40, seconds=3, microseconds=4)),
    ("uuid", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    ("inet", ipaddress.ip_interface("10.1.2.3/8")), ("cidr", ipaddress.ip_network("10.0.0.0/8")),
    ("inet", ipaddress.ip_address("::1")), ("macaddr", "08:00:2b:01:02:03"),
    ("json", '{"a": [1, 2]}'), ("jsonb", '{"a": [1, 2]}'), ("xid8", 7), ("oid", 4294967295),
    ("point", asyncpg.Point(1, 2)), ("box", asyncpg.Box((3, 4), (1, 2))),
    ("circle", asyncpg.Circle((0, 0), 2)), ("path", asyncpg.Path((0, 0), (1, 1))),
    ("lseg", asyncpg.LineSegment((0, 0), (1, 1))), ("line", asyncpg.Line(1, -1, 0)),
    ("polygon", asyncpg.Polygon((0, 0), (1, 1), (1, 0))),
    ("bit(3)", asyncpg.BitString("101")), ("varbit", asyncpg.BitString("10101")),
    ("int4range", asyncpg.Range(1, 10)), ("numrange", asyncpg.Range(None, decimal.Decimal("1.5"), upper_inc=True)),
    ("int4range", asyncpg.Range(empty=True)),
    ("int4multirange", [asyncpg.Range(1, 3), asyncpg.Range(5, 7)]),
    ("int4[]", [1, None, 3]), ("int4[]", [[1, 2], [3, 4]]), ("text[]", ["a", "", None, 'q"x']), ("int8[]", []),
    ("timestamptz[]", [datetime.datetime(2000, 1, 1, tzinfo=UTC)]), ("tid", (3, 4)),
    ("pg_lsn", 2**32 + 1), ("money", "$1,234.50"), ("jsonpath", '$."a"[*]'), ("tsvector", "'a':1 'b':2"),
    ("xml", "<a/>"), ("txid_snapshot", (1, 5, (2, 3))),
]


async def types(c):
    for name, value in VALUES:
        got = await c.fetchval(f"SELECT $1::{name}", value)
        assert got == value, (name, value, got)
        assert await c.fetchval(f"SELECT $1::{name}", None) is None, name
    await c.execute("""
        CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
        CREATE TYPE pair AS (a int, b text, m mood);
        CREATE DOMAIN positive AS int CHECK (VALUE > 0)""")
    assert await c.fetchval("SELECT $1::mood", "happy") == "happy"
    assert await c.fetchval("SELECT $1::mood[]", ["sad", "ok"]) == ["sad", "ok"]
    got = await c.fetchval("SELECT $1::pair", (1, "x", "ok"))
    assert tuple(got) == (1, "x", "ok") and got["b"] == "x", got
    got = await c.fetchval("SELECT array_agg(p) FROM (SELECT ROW(i, 'y', 'sad')::pair p FROM generate_series(1, 2) i) s")
    assert [tuple(r) for r in got] == [(1, "y", "sad"), (2, "y", "sad")], got
    assert await c.fetchval("SELECT $1::positive", 5) == 5
    try:
        await c.fetchval("SELECT $1::positive", -5)
        raise SystemExit("no check")
    except asyncpg.CheckViolationError as e:
        assert e.constraint_name == "positive_check", e.constraint_name
    await c.set_type_codec("json", encoder=str, decoder=len, schema="pg_catalog")
    assert await c.fetchval("SELECT '[1]'::json") == 3
    await c.reset_type_codec("json", schema="pg_catalog")


async def statements(c):
    s = await c.prepare("SELECT $1::int + $2 AS sum, 'x' || $3::text AS t")
    assert [p.name for p in s.get_parameters()] == ["int4", "int4", "text"]
    assert [(a.name, a.type.name) for a in s.get_attributes()] == [("sum", "int4"), ("t", "text")]
    assert s.get_statusmsg() is None
    assert tuple(await s.fetchrow(1, 2, "y")) == (3, "xy")
    assert s.get_statusmsg() is None, "the portal of one row is left suspended"
    assert [tuple(r) for r in await s.fetch(1, 2, "y")] == [(3, "xy")]
    assert s.get_statusmsg() == "SELECT 1"
    assert (await s.explain(1, 2, "z"))[0]["Plan"]["Node Type"] == "Result"
    await c.execute("CREATE TABLE t (id serial PRIMARY KEY, v int UNIQUE, w text DEFAULT 'd')")
    assert await c.execute("INSERT INTO t (v) SELECT generate_series(1, 10)") == "INSERT 0 10"
    await c.executemany("INSERT INTO t (v, w) VALUES ($1, $2)", [(i, str(i)) for i in range(11, 500)])
    assert await c.fetchval("SELECT count(*) FROM t") == 499
    rows = await c.fetchmany("INSERT INTO t (v) VALUES ($1) RETURNING id, w", [(500,), (501,)])
    assert [tuple(r) for r in rows] == [(500, "d"), (501, "d")], rows
    async with c.transaction():
        cursor = await c.cursor("SELECT v FROM t ORDER BY v")
        assert [r[0] for r in await cursor.fetch(3)] == [1, 2, 3]
        assert await cursor.forward(10) == 10
        assert (await cursor.fetchrow())[0] == 14
        assert len([1 async for _ in c.cursor("SELECT v FROM t", prefetch=50)]) == 501
    # A prepared statement outlives a change of its table: asyncpg prepares it again by itself.
    assert await c.fetchrow("SELECT * FROM t WHERE v = $1", 3) == (3, 3, "d")
    other = await connect()
    await other.execute("ALTER TABLE t ADD COLUMN z int DEFAULT 9")
    await other.close()
    assert await c.fetchrow("SELECT * FROM t WHERE v = $1", 3) == (3, 3, "d", 9)


async def transactions(c):
    try:
        async with c.transaction():
            await c.execute("INSERT INTO t (v) VALUES (1000)")
            try:
                async with c.transaction():
                    await c.execute("INSERT INTO t (v) VALUES (1001), (1)")
                raise SystemExit("no error")
            except asyncpg.UniqueViolationError as e:
                assert (e.sqlstate, e.constraint_name, e.table_name, e.schema_name) == \
                    ("23505", "t_v_key", "t", "public"), e.as_dict()
                assert e.detail == "Key (v)=(1) already exists.", e.detail
            assert await c.fetchval("SELECT count(*) FROM t WHERE v >= 1000") == 1
            raise KeyError
    except KeyError:
        pass
    assert await c.fetchval("SELECT count(*) FROM t WHERE v >= 1000") == 0
    async with c.transaction(isolation="serializable", readonly=True, deferrable=True):
        try:
            await c.execute("DELETE FROM t")
            raise SystemExit("no error")
        except asyncpg.ReadOnlySQLTransactionError:
            pass
    for sql, error in [
            ("SELEC 1", asyncpg.PostgresSyntaxError), ("SELECT * FROM nope", asyncpg.UndefinedTableError),
            ("SELECT nope FROM t", asyncpg.UndefinedColumnError), ("SELECT 1/0", asyncpg.DivisionByZeroError),
            ("SELECT 'x'::int", asyncpg.InvalidTextRepresentationError),
            ("SELECT nope(1)", asyncpg.UndefinedFunctionError),
            ("INSERT INTO t (id) VALUES (NULL)", asyncpg.NotNullViolationError)]:
        try:
            await c.fetch(sql)
            raise SystemExit(sql)
        except error:
            pass


async def copy(c):
    rows = [(i, decimal.Decimal(i) / 4, f"row {i}", None if i % 3 else [i]) for i in range(2000)]
    await c.execute("CREATE TABLE copied (a int, b numeric, c text, d int[])")
    assert await c.copy_records_to_table("copied", records=rows) == "COPY 2000"
    got = [tuple(r) for r in await c.fetch("SELECT * FROM copied ORDER BY a")]
    assert got == rows
    out = []

    async def sink(data):
        out.append(data)
    assert await c.copy_from_query("SELECT a, c FROM copied WHERE a < $1", 3, output=sink, format="csv") == "COPY 3"
    assert b"".join(out) == b"0,row 0\n1,row 1\n2,row 2\n", out
    out.clear()
    await c.copy_from_table("copied", output=sink, format="binary")

    async def source():
        for piece in out:
            yield piece
    await c.execute("CREATE TABLE again (LIKE copied)")
    assert await c.copy_to_table("again", source=source(), format="binary") == "COPY 2000"
    assert await c.fetchval("SELECT count(*) FROM copied NATURAL JOIN again WHERE d IS NOT NULL") == 667
    try:
        await c.copy_records_to_table("copied", records=[("x", None, None, None)])
        raise SystemExit("no error")
    except (asyncpg.DataError, TypeError):
        pass

    async def bad():
        yield b"not a number\n"
    try:
        await c.copy_to_table("copied", source=bad(), columns=["a"])
        raise SystemExit("no error")
    except asyncpg.InvalidTextRepresentationError as e:
        assert "line 1, column a" in e.context, e.context


async def notifications(c):
    got = asyncio.Queue()
    notices = []
    c.add_log_listener(lambda _, message: notices.append((message.severity, message.message)))
    await c.add_listener("news", lambda conn, pid, channel, payload: got.put_nowait((pid, channel, payload)))
    other = await connect()
    await other.execute("NOTIFY news, 'hello'")
    assert await asyncio.wait_for(got.get(), 5) == (other.get_server_pid(), "news", "hello")
    await c.execute("DROP TABLE IF EXISTS nothing")
    await asyncio.sleep(0)
    assert notices == [("NOTICE", 'table "nothing" does not exist, skipping')], notices
    await other.close()


async def cancel(c):
    try:
        await asyncio.wait_for(c.execute("SELECT pg_sleep(30)"), 0.3)
        raise SystemExit("not cancelled")
    except asyncio.TimeoutError:
        pass
    assert await c.fetchval("SELECT 1") == 1
    try:
        await c.execute("SET statement_timeout = 50; SELECT pg_sleep(30)")
        raise SystemExit("not cancelled")
    except asyncpg.QueryCanceledError:
        pass
    await c.reset()
    assert await c.fetchval("SHOW statement_timeout") == "0"


async def pool():
    async with asyncpg.create_pool(
            host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]), user=os.environ["PGUSER"],
            database=os.environ["PGDATABASE"], password=os.environ.get("PGPASSWORD"), ssl=context() or False,
            min_size=2, max_size=5) as p:
        async def work(i):
            async with p.acquire() as c:
                async with c.transaction():
                    return await c.fetchval("SELECT $1::int * 2", i)
        assert await asyncio.gather(*[work(i) for i in range(50)]) == [2 * i for i in range(50)]


async def main():
    c = await connect(server_settings={"application_name": "asyncpg smoke", "search_path": "public"})
    if context():
        assert await c.fetchval("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    assert c.get_server_version()[0] == 18
    assert await c.fetchval("SHOW application_name") == "asyncpg smoke"
    for step in (types, statements, transactions, copy, notifications, cancel):
        await step(c)
    await c.close()
    await pool()

asyncio.run(main())
print("asyncpg: ok")
