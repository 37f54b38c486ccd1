"""Clients that are slow, or gone.

Who never finishes a message holds nothing but its own session; who has not said who it is after
authentication_timeout is sent away; and who vanishes after any part of a conversation leaves no
session, transaction, lock, temporary table or memory behind.
"""
import socket
import ssl
import struct
import time

from protocol import Connection, PLACE, SYNC, bind, call, describe, execute, message, parse, session, startup


def value(connection, sql):
    """The one value of a query."""
    for answer in connection.query(sql):
        if answer.startswith("D "):
            row = bytes.fromhex(answer[2:])
            length = struct.unpack("!i", row[2:6])[0]
            return row[6 : 6 + length].decode() if length >= 0 else None
    raise AssertionError(sql)


# Less than what a session needs, in kB.
PER_CLIENT = 7


def server_memory(connection):
    """Resident memory of the server in kB."""
    pid = value(connection, "select split_part(pg_read_file('postmaster.pid'), chr(10), 1)")
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def configure(connection, name, setting):
    change = f"set {name} = '{setting}'" if setting else f"reset {name}"
    connection.query(f"alter system {change}")
    connection.query("select pg_reload_conf()")
    time.sleep(0.5)


def loris(words, seconds=20):
    """Says these words a byte at a time; how long the server listened."""
    sockets = []
    for _ in range(20):
        s = socket.create_connection(PLACE)
        s.setblocking(False)
        sockets.append(s)
    began, said, ended = time.monotonic(), 0, {}
    while len(ended) < len(sockets) and time.monotonic() - began < seconds:
        for s in sockets:
            if s in ended:
                continue
            try:
                if said < len(words):
                    s.send(words[said : said + 1])
                while s.recv(1000):
                    pass
                ended[s] = time.monotonic() - began
            except BlockingIOError:
                pass
            except OSError:
                ended[s] = time.monotonic() - began
        said += 1
        time.sleep(0.15)
    for s in sockets:
        s.close()
    return ended.values()


def slow_starts(control):
    """authentication_timeout ends who dribbles, and others are served meanwhile."""
    configure(control, "authentication_timeout", "2s")
    # It counts from the connection on, however often the client says something.
    long_name = startup(application_name="x" * 2000)
    tls = struct.pack("!II", 8, 80877103) + b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500
    direct = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500
    for name, words in {"a start": long_name, "TLS": tls, "direct TLS": direct, "nothing": b""}.items():
        began = time.monotonic()
        times = loris(words)
        assert len(times) == 20, f"slow {name}: {len(times)} of 20 were ended"
        assert all(1 < t < 6 for t in times), f"slow {name}: {sorted(times)}"
        other = session()
        assert value(other, "select 1") == "1"
        other.close()
        assert time.monotonic() - began < 8
    configure(control, "authentication_timeout", None)


def half_messages(control):
    """Half a message keeps nobody waiting, and no memory for what it says that it brings."""
    before = server_memory(control)
    held = []
    for i in range(80):
        c = session()
        if i % 2:
            c.query(f"begin; select pg_advisory_xact_lock({1000 + i})")
        c.socket.sendall([b"Q\x3f\0\0\0sel", b"P\x3f\0\0\0", b"B\0\x10", b"d\x3f\0\0\0x"][i % 4])
        held.append(c)
    for i in range(20):
        c = session()
        began = time.monotonic()
        assert value(c, f"select pg_try_advisory_lock({5000 + i})") == "t"
        c.query("create table hardness (a int); insert into hardness values (1); drop table hardness")
        assert time.monotonic() - began < 5
        c.close()
    locks = value(control, "select count(*) from pg_locks where locktype = 'advisory'")
    assert locks == "40", locks
    grown = server_memory(control) - before
    assert grown < 200_000, f"{grown} kB for messages that never came"
    for c in held:
        c.close()
    nothing_left(control, "half messages")


LEFT = """select
  (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()),
  (select count(*) from pg_locks where pid is distinct from pg_backend_pid()),
  (select count(*) from pg_prepared_xacts),
  (select count(*) from pg_class where relpersistence = 't'),
  (select count(*) from vanished)"""


def nothing_left(control, name):
    until = time.monotonic() + 15
    while True:
        got = value(control, f"select l::text from ({LEFT}) l")
        if got == "(0,0,0,0,0)":
            return
        if time.monotonic() > until:
            with_query = control.query("select string_agg(query, ' / ') from pg_stat_activity where pid <> pg_backend_pid()")
            raise AssertionError(f"{name}: sessions, locks, prepared, temporary tables, rows left: {got} {with_query}")
        time.sleep(0.05)


def query(sql):
    return message(b"Q", sql.encode() + b"\0")


def conversations():
    """Conversations after the start, as lists of messages."""
    check = query("set client_connection_check_interval = '100ms'")
    begin = query("begin; insert into vanished values (1); create temp table t (a int); select pg_advisory_lock(9)")
    rows = "select g, repeat('x', 500) from generate_series(1, 20000) g"
    yield "plain", [
        check, begin, query("lock table vanished in share row exclusive mode"), query("savepoint s"),
        query("insert into vanished select generate_series(1, 1000)"), query("select 1/0"),
        query("rollback to s"), query("select * from vanished for update"), query("declare c cursor with hold for select 1"),
        query(rows), query("select pg_sleep(30)")]
    yield "extended", [
        check, begin, parse("insert into vanished select generate_series(1, $1)", b"i"), bind(b"", b"i", params=[b"500"]),
        describe(b"P"), execute(), parse(rows, b"r"), bind(b"p", b"r"), execute(b"p", 10), execute(b"p", 10),
        message(b"H", b""), message(b"C", b"Pp\0"), SYNC, parse("select pg_sleep(30)"), bind(), execute(), SYNC]
    yield "pipeline", [
        check, begin] + [m for i in range(4) for m in (
            parse(f"update vanished set a = {i}"), bind(), execute(), parse("select 1/0" if i == 2 else rows), bind(), execute(), SYNC)]
    yield "copy in", [
        check, begin, query("copy vanished from stdin")] + [message(b"d", b"2\n" * 5000)] * 5 + [message(b"d", b"3")] + [
        message(b"f", b"no\0"), query("rollback")]
    yield "copy out", [check, begin, query(f"copy ({rows}) to stdout"), query(f"copy (select * from vanished) to stdout")]
    yield "function call", [check, begin, call(177, [], [b"3", b"4"], 0), call(2626, [], [b"30"], 0)]
    yield "prepared transaction", [check, begin, query("discard temp"), query("listen somebody"), query("notify somebody")]


def prefixes(messages):
    """What is sent before the client is gone: up to each message, and into its header and body."""
    sent = b""
    for m in messages:
        yield sent
        yield sent + m[:3]
        if len(m) > 8:
            yield sent + m[: 5 + (len(m) - 5) // 2]
        sent += m
    yield sent


def vanish(s, how):
    if how == "reset":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif how == "read nothing":
        time.sleep(0.02)
    s.close()


def encrypted(first):
    """A connection by TLS, if the server has that."""
    s = socket.create_connection(PLACE)
    s.sendall(struct.pack("!II", 8, 80877103))
    if s.recv(1) != b"S":
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    s = context.wrap_socket(s)
    s.sendall(first)
    s.settimeout(10)
    while b"Z\0\0\0\5" not in s.recv(65536):
        pass
    return s


def vanishing(control):
    """Each prefix of each conversation, gone in one of three ways."""
    count = 0
    for name, messages in conversations():
        for i, sent in enumerate(prefixes(messages)):
            c = session()
            c.socket.sendall(sent)
            vanish(c.socket, ("close", "reset", "read nothing")[i % 3])
            count += 1
        nothing_left(control, f"vanished from {name}")
        for i, sent in enumerate(prefixes(messages)):
            s = encrypted(startup()) if i % 4 == 0 else None
            if s:
                s.sendall(sent)
                vanish(s, ("close", "reset")[i % 8 // 4])
                count += 1
        nothing_left(control, f"vanished from {name} by TLS")
    c = session()
    first = startup()
    cancel = struct.pack("!IIIi", 16, 80877102, 12345, 67890)
    tls = struct.pack("!II", 8, 80877103) + b"\x16\x03\x01\0\x05\x01\0\0\1\0"
    for words in (first, cancel, tls, struct.pack("!II", 8, 80877104) + first):
        for length in range(0, len(words) + 1):
            s = socket.create_connection(PLACE)
            s.sendall(words[:length])
            vanish(s, ("close", "reset")[length % 2])
            count += 1
    c.close()
    nothing_left(control, "vanished from the start")
    return count


def main():
    control = session()
    control.query("drop table if exists vanished")
    control.query("create table vanished (a int) with (autovacuum_enabled = false)")
    slow_starts(control)
    half_messages(control)
    vanishing(control)
    most, grown = server_memory(control), []
    while not grown or grown[-1] > PER_CLIENT * count:
        # What is freed is kept for a while; what is lost would make every round need more.
        assert len(grown) < 10, f"{grown} kB more after {count} clients each time"
        count = vanishing(control)
        now = server_memory(control)
        grown.append(now - most)
        most = max(most, now)
    control.query("drop table vanished")
    print(f"hardness: {count} clients vanished each time, {grown} kB")


if __name__ == "__main__":
    main()
