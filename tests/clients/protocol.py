"""Conversations byte by byte: what a server answers, compared with what PostgreSQL 18 answered.

`protocol.py record` writes the answers of the server at PGHOST, PGPORT to protocol.json (to be done
against PostgreSQL); without an argument the server's answers are compared with that file.
"""
import hashlib
import json
import os
import socket
import struct
import sys
import time

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "protocol.json")
PLACE = (os.environ.get("PGHOST", "127.0.0.1"), int(os.environ.get("PGPORT", "5432")))


def message(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body


def startup(version=196608, **options):
    pairs = {"user": "postgres", "database": "postgres", **options}
    body = struct.pack("!I", version)
    body += b"".join(k.encode() + b"\0" + v.encode() + b"\0" for k, v in pairs.items()) + b"\0"
    return struct.pack("!I", len(body) + 4) + body


def packet(body, version=196608):
    return struct.pack("!II", len(body) + 8, version) + body


class Connection:
    def __init__(self, first):
        self.socket = socket.create_connection(PLACE)
        self.socket.settimeout(30)
        self.input = bytearray()
        self.socket.sendall(first)

    def close(self):
        self.socket.close()

    def answers(self):
        """Messages up to ReadyForQuery or the end, without what differs from run to run."""
        out = []
        while True:
            while len(self.input) >= 5:
                length = struct.unpack("!I", self.input[1:5])[0]
                if len(self.input) < length + 1:
                    break
                kind, body = self.input[:1].decode(), self.input[5 : length + 1]
                del self.input[: length + 1]
                out += self.shown(kind, body)
                if kind == "Z":
                    return out
            try:
                more = self.socket.recv(65536)
            except socket.timeout:
                return out + ["timeout"]
            except ConnectionResetError:
                return out + ["end"]
            if not more:
                return out + ["end"]
            self.input += more

    @staticmethod
    def shown(kind, body):
        if kind == "K":
            return [f"K {len(body)} bytes"]
        if kind == "S":
            return []
        if kind in "EN":
            fields = [f for f in body.split(b"\0") if f and f[:1] not in b"FLRW"]
            return [kind + " " + " | ".join(f.decode() for f in fields)]
        if len(body) > 2000:
            return [f"{kind} {len(body)} bytes {hashlib.md5(body).hexdigest()}"]
        return [kind + " " + body.hex()]

    def say(self, *messages):
        try:
            self.socket.sendall(b"".join(messages))
        except OSError:
            # What it said before it hung up is still to be read.
            pass
        return self.answers()

    def query(self, sql):
        return self.say(message(b"Q", sql.encode() + b"\0"))


def session():
    c = Connection(startup())
    c.answers()
    return c


def call(oid, formats, arguments, result):
    body = struct.pack("!IH", oid, len(formats)) + b"".join(struct.pack("!H", f) for f in formats)
    body += struct.pack("!H", len(arguments))
    for a in arguments:
        body += struct.pack("!i", -1) if a is None else struct.pack("!I", len(a)) + a
    return message(b"F", body + struct.pack("!H", result))


def conversations():
    for version, options in [
        (196608, {}),
        (196610, {}),
        (196611, {}),
        (196608 + 9999, {"_pq_.foo": "1", "_pq_.bar": "2"}),
        (196608, {"_pq_.foo": "1"}),
    ]:
        c = Connection(startup(version, **options))
        yield f"start {version} {options}", c.answers()
        c.close()
    four = struct.pack("!i", 4)
    c = session()
    for name, what in {
        "text": call(177, [], [b"3", b"4"], 0),
        "binary": call(177, [1], [four, four], 1),
        "mixed": call(177, [0, 1], [b"3", four], 0),
        "null": call(177, [], [b"3", None], 0),
        "too few": call(177, [], [b"3"], 0),
        "no such function": call(999999, [], [], 0),
        "error": call(154, [], [b"1", b"0"], 0),
        "aggregate": call(2108, [], [b"1"], 0),
        "formats": call(177, [0, 0, 0], [b"3", b"4"], 0),
    }.items():
        yield f"function call, {name}", c.say(what)
    c.query("begin")
    c.query("select 1/0")
    yield "function call in a failed block", c.say(call(177, [], [b"3", b"4"], 0))
    c.close()
    for name, setting, begin, then in [
        ("transaction, busy", "transaction_timeout", "begin", "select pg_sleep(5)"),
        ("transaction, idle", "transaction_timeout", "begin", None),
        ("idle in transaction", "idle_in_transaction_session_timeout", "begin", None),
        ("idle", "idle_session_timeout", "select 1", None),
        ("statement", "statement_timeout", "select 1", "select pg_sleep(5)"),
    ]:
        c = session()
        c.query(f"set {setting} = '300ms'")
        c.query(begin)
        yield f"timeout, {name}", c.query(then) if then else c.answers()
        c.close()
    c = session()
    c.query("set client_connection_check_interval = '100ms'")
    c.socket.sendall(message(b"Q", b"select pg_sleep(60), 'vanished client'\0"))
    time.sleep(0.3)
    c.close()
    time.sleep(1.5)
    c = session()
    left = "select count(*) from pg_stat_activity where query like '%vanished cl' || 'ient%'"
    yield "statements of a client that is gone", c.query(left + " and pid <> pg_backend_pid()")
    c.close()
    yield from vanishing()
    for junk in [b"\0\0\0\4abcd", b"\xff\xff\xff\xff", struct.pack("!II", 9, 196608) + b"x"]:
        c = Connection(junk)
        c.socket.shutdown(socket.SHUT_WR)
        yield f"startup {junk.hex()}", c.answers()
        c.close()
    for junk in [
        message(b"!", b""),
        b"Q\0\0\0\1",
        b"Q\x7f\xff\xff\xff",
        message(b"Q", b"abc"),
        message(b"B", b"\0"),
        message(b"D", b"X\0"),
        message(b"C", b"X\0"),
        message(b"E", b"nope\0\0\0\0\0"),
        message(b"P", b"\0select $1"),
        message(b"d", b"x"),
    ]:
        c = session()
        yield f"message {junk.hex()}", c.say(junk, message(b"S", b""))
        c.close()
    for name, junk in {
        "protocol 4": startup(262144),
        "no user": struct.pack("!II", 9, 196608) + b"\0",
        "empty user": startup(user=""),
        "no such database": startup(database="nope"),
        "no such user": startup(user="nope"),
        "option": startup(options="-c nope=1"),
        "bad option": startup(options="-c work_mem=x"),
        "too long": struct.pack("!II", 10001, 196608),
        "too short": struct.pack("!I", 4),
    }.items():
        c = Connection(junk)
        if name in ("too long", "too short"):
            c.socket.shutdown(socket.SHUT_WR)
        # When the session is told that it may go on differs.
        yield f"startup, {name}", [a for a in c.answers() if a != "R 00000000"]
        c.close()
    yield from starting()
    yield from cancelling()
    yield from extended()
    yield from formats()
    yield from recovering()
    yield from copying()
    yield from large()
    yield from interrupted()


def parse(sql, name=b"", types=()):
    body = name + b"\0" + sql.encode() + b"\0" + struct.pack("!H", len(types))
    return message(b"P", body + b"".join(struct.pack("!I", t) for t in types))


def bind(portal=b"", statement=b"", formats=(), params=(), results=()):
    body = portal + b"\0" + statement + b"\0" + struct.pack("!H", len(formats))
    body += b"".join(struct.pack("!h", f) for f in formats) + struct.pack("!H", len(params))
    for p in params:
        body += struct.pack("!i", -1) if p is None else struct.pack("!I", len(p)) + p
    return message(b"B", body + struct.pack("!H", len(results)) + b"".join(struct.pack("!h", f) for f in results))


def describe(kind, name=b""):
    return message(b"D", kind + name + b"\0")


def execute(portal=b"", most=0):
    return message(b"E", portal + b"\0" + struct.pack("!I", most))


SYNC = message(b"S", b"")


def vanishing():
    """A client that is gone at any moment leaves no lock, no session and no row."""
    c = session()
    c.query("drop table if exists vanishing")
    c.query("create table vanishing (a int)")
    insert = [message(b"Q", b"set client_connection_check_interval = '100ms'; begin; insert into vanishing values (1)\0")]
    holder = session()
    holder.query("select pg_advisory_lock(7)")
    for name, (messages, rest) in {
        "in a transaction": (insert, b""),
        "in a message": (insert, b"Q\0\0\1\0selec"),
        "in a pipeline": (insert, parse("select * from vanishing for update") + bind()),
        "with a portal half read": (insert, parse("select generate_series(1, 100000)") + bind() + execute(most=1)),
        "in COPY in": (insert, message(b"Q", b"copy vanishing from stdin\0") + message(b"d", b"2\n3\n")),
        "in COPY data": (insert, message(b"Q", b"copy vanishing from stdin\0") + b"d\0\0\1\0004\n"),
        "in COPY out": (insert, message(b"Q", b"copy (select repeat('x', 1000) from generate_series(1, 100000)) to stdout\0")),
        "in a large result": (insert, message(b"Q", b"select repeat('x', 1000) from generate_series(1, 100000)\0")),
        "waiting for a lock": (insert, message(b"Q", b"select pg_advisory_lock(7)\0")),
        "listening": (insert, message(b"Q", b"listen vanished\0")),
    }.items():
        gone = session()
        gone.say(*messages)
        gone.socket.sendall(rest)
        time.sleep(0.1)
        # A reset rather than a farewell.
        gone.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.close()
        c.query("set lock_timeout = '20s'")
        got = c.query("begin; lock table vanishing in access exclusive mode; select count(*) from vanishing; commit")
        yield f"vanished {name}", got
    c.query("drop table vanishing")
    holder.close()
    c.close()


def starting():
    """Startup packets that are unusual."""
    pairs = b"user\0postgres\0database\0postgres\0"
    twice = packet(pairs + b"application_name\0a\0application_name\0b\0\0")
    for name, first in {
        "version 3.1": startup(196609),
        "version 3.2 with an option": startup(196610, **{"_pq_.foo": "1"}),
        "version 3.65535": startup(196608 + 65535),
        "version 2": startup(131072),
        "version 5": startup(327680),
        "an option of the protocol without a value": startup(**{"_pq_.": ""}),
        "twice": twice,
        "no value": packet(pairs + b"application_name\0"),
        "no end": packet(pairs + b"x"),
        "more after the end": packet(pairs + b"\0more"),
        "options with spaces": startup(options="-c application_name=a\\ b  --work-mem=7MB"),
        "options that end early": startup(options="-c"),
        "an option that is none": startup(options="--nix"),
        "a word among the options": startup(options="nix"),
        "an encoding that is none": startup(client_encoding="nix"),
        "an encoding": startup(client_encoding="LATIN1"),
        "a setting of the server": startup(shared_buffers="1MB"),
        "a setting that nobody knows": startup(nix="1"),
        "a setting of an extension": startup(**{"nix.nix": "1"}),
        "replication that is none": startup(replication="nix"),
        "no database": startup(database=""),
        "a database of many letters": startup(database="x" * 100),
    }.items():
        c = Connection(first)
        c.socket.shutdown(socket.SHUT_WR)
        got = [a for a in c.answers() if a != "R 00000000"]
        yield f"starting, {name}", got
        c.close()
    c = Connection(twice)
    c.answers()
    yield "starting, twice, the value", c.query("show application_name")
    c.close()
    c = Connection(startup(options="-c application_name=a\\ b  --work-mem=7MB"))
    c.answers()
    yield "starting, options, the values", c.query("select current_setting('application_name'), current_setting('work_mem')")
    c.close()


def cancelling():
    """Cancel requests with right and wrong keys, short and long."""
    for version, what in [(v, w) for v in (196608, 196610) for w in ("right", "wrong", "first four bytes", "one byte more", "one byte less", "none", "256 bytes", "257 bytes", "pid of nobody")]:
        c = Connection(startup(version))
        key = None
        while key is None:
            c.input += c.socket.recv(65536)
            at = c.input.find(b"K\0\0\0")
            if at >= 0 and len(c.input) >= at + 5:
                length = struct.unpack("!I", c.input[at + 1 : at + 5])[0]
                if len(c.input) > at + length:
                    pid, key = bytes(c.input[at + 5 : at + 9]), bytes(c.input[at + 9 : at + 1 + length])
        c.answers()
        sent = {
            "right": key, "wrong": bytes([key[0] ^ 1]) + key[1:], "first four bytes": key[:4], "one byte more": key + b"x", "one byte less": key[:-1],
            "none": b"", "256 bytes": key.ljust(256, b"x"), "257 bytes": key.ljust(257, b"x"), "pid of nobody": key}[what]
        pid = struct.pack("!i", 2**31 - 1) if what == "pid of nobody" else pid
        c.socket.sendall(message(b"Q", b"select pg_sleep(0.7)\0"))
        time.sleep(0.15)
        s = socket.create_connection(PLACE)
        s.sendall(struct.pack("!II", 12 + len(sent), 80877102) + pid + sent)
        s.settimeout(5)
        said = s.recv(1000)
        s.close()
        yield f"cancel of {version}, {what}", [len(key), len(said), *c.answers()]
        c.close()


def formats():
    """Format codes that are none, for results, parameters and function calls."""
    four = struct.pack("!i", 4)
    c = session()
    for code in (2, -1, 32767, 256):
        for name, messages in {
            "of a result": [parse("select 1"), bind(results=[code]), describe(b"P"), execute(), SYNC],
            "of a result that is not fetched": [parse("select 1"), bind(results=[code]), SYNC],
            "of one result": [parse("select 1, 2"), bind(results=[0, code]), execute(), SYNC],
            "of a command without result": [parse("set geqo = on"), bind(results=[code]), describe(b"P"), execute(), SYNC],
            "of no rows": [parse("select 1 where false"), bind(results=[code]), execute(), SYNC],
            "of a null": [parse("select null::int"), bind(results=[code]), execute(), SYNC],
            "of SHOW": [parse("show geqo"), bind(results=[code]), execute(), SYNC],
            "of a parameter that is null": [parse("select $1::int"), bind(formats=[code], params=[None]), execute(), SYNC],
            "of a parameter": [parse("select $1::int"), bind(formats=[code], params=[b"1"]), execute(), SYNC],
            "of RETURNING": [parse("create temp table if not exists formatted (a int)"), bind(), execute(), parse("insert into formatted values (1) returning a"), bind(results=[code]), execute(), SYNC],
            "of COPY": [parse("copy (select 1) to stdout"), bind(results=[code]), execute(), SYNC],
        }.items():
            yield f"format {code}, {name}", c.say(*messages)
        yield f"format {code}, function's result", c.say(call(177, [], [b"3", b"4"], code & 0xFFFF))
        yield f"format {code}, function's argument", c.say(call(177, [code & 0xFFFF], [four, four], 1))
    yield "format, as many as there are parameters, of none", c.say(parse("select 1"), bind(formats=[1, 1]), execute(), SYNC)
    yield "format, one for no columns", c.say(parse("select"), bind(results=[1]), describe(b"P"), execute(), SYNC)
    yield "format, one for each column and one more", c.say(parse("select 1, 2"), bind(results=[1, 0, 1]), describe(b"P"), execute(), SYNC)
    yield "format, binary parameters", c.say(
        parse("select $1::int + $2::int, $3::text, $4::bool, $5::float8, $6::timestamp"),
        bind(formats=[1], params=[four, four, b"abc", b"\1", struct.pack("!d", 1.5), struct.pack("!q", 86400000000)], results=[0]), execute(), SYNC)
    yield "format, binary parameters and a null", c.say(parse("select $1::int, $2::int"), bind(formats=[1, 0], params=[None, b"5"], results=[1, 0]), execute(), SYNC)
    c.close()


def recovering():
    """An error in a pipeline: what follows is skipped up to Sync, and the session goes on."""
    zero = "select 1/g from generate_series(0, 0) g"
    ok = [parse("select 7"), bind(), execute()]
    failing = {
        "parse": [parse("selec")],
        "bind": [parse("select 1"), bind(params=[b"1"])],
        "describe": [describe(b"S", b"nope")],
        "execute": [parse(zero), bind(), execute()],
        "close": [message(b"C", b"Snope\0")],
        "copy": [parse("copy nope from stdin"), bind(), execute()],
    }
    then = {
        "pipeline": ok + [SYNC],
        "query": [message(b"Q", b"select 8\0"), SYNC],
        "function call": [call(177, [], [b"3", b"4"], 0), SYNC],
        "flush": [message(b"H", b"")] + ok + [SYNC],
        "copy messages": [message(b"d", b"1\n"), message(b"c", b""), message(b"f", b"x\0"), SYNC],
        "two syncs": [SYNC, *ok, SYNC],
        "end": [message(b"X", b"")],
    }
    for what, first in failing.items():
        for after, rest in then.items():
            # Without an error, what was not sent yet may be lost at the end.
            if (what, after) == ("close", "end"):
                continue
            c = session()
            c.query("begin")
            got = c.say(*ok, *first, *rest)
            c.socket.settimeout(0.5)
            while got[-1][0] == "Z":
                more = c.answers()
                got += more
            if got[-1] == "timeout":
                c.socket.settimeout(30)
                got += c.query("commit")
            yield f"recovering, {what}, then {after}", got
            c.close()
    c = session()
    for name, messages in {
        "a transaction of statements": [parse("create temp table done (a int)"), bind(), execute(), parse("insert into done values (1)"), bind(), execute(), *failing["execute"], SYNC],
        "nothing of it is done": [message(b"Q", b"select to_regclass('done')\0")],
        "what was committed in the middle": [parse("create temp table done (a int)"), bind(), execute(), parse("commit"), bind(), execute(), *failing["execute"], SYNC],
        "that is done": [message(b"Q", b"select to_regclass('done')\0")],
        "a portal outlives Sync in a block": [parse("begin"), bind(), execute(), parse("select generate_series(1, 3)"), bind(b"o"), execute(b"o", 1), SYNC],
        "and is read on": [execute(b"o", 1), SYNC],
        "but not a failure": [parse("select 1/0"), SYNC, execute(b"o", 1), SYNC],
        "what a failed block takes": [parse("select 1"), SYNC, parse("rollback"), bind(), execute(), SYNC],
        "savepoints": [parse("begin"), bind(), execute(), parse("savepoint s"), bind(), execute(), *failing["execute"], SYNC, parse("rollback to s"), bind(), execute(), *ok, SYNC, parse("rollback"), bind(), execute(), SYNC],
        "a portal without a block": [parse("select generate_series(1, 3)"), bind(b"n"), execute(b"n", 1), SYNC, execute(b"n", 1), SYNC],
        "a statement closed while its portal lives": [parse("select generate_series(1, 3)", b"q"), bind(b"n", b"q"), execute(b"n", 1), message(b"C", b"Sq\0"), execute(b"n", 1), SYNC],
        "sync alone": [SYNC, SYNC],
        "flush alone": [message(b"H", b""), SYNC],
        "vacuum in a pipeline": [*ok, parse("vacuum done"), bind(), execute(), SYNC],
        "vacuum first in a pipeline": [parse("vacuum done"), bind(), execute(), *ok, SYNC],
    }.items():
        syncs = len([m for m in messages if m == SYNC]) or 1
        got = c.say(*messages)
        for _ in range(syncs - 1):
            got += c.answers()
        yield f"recovering, {name}", got
    c.close()


def extended():
    one = struct.pack("!i", 1)
    rows = "select g, 'x' || g from generate_series(1, 5) g"
    steps = {
        "rows a few at a time": [parse(rows), bind(), execute(most=2), execute(most=2), execute(most=2), SYNC],
        "as many rows as there are": [parse(rows), bind(), execute(most=5), execute(most=5), SYNC],
        "binary": [parse("select 1::int8, 'a'::text, 1.5::float8, true", b""), bind(results=[1]), describe(b"P"), execute(), SYNC],
        "each its format": [parse("select 1::int4, 2::int4"), bind(results=[1, 0]), describe(b"P"), execute(), SYNC],
        "show": [parse("show standard_conforming_strings"), bind(), describe(b"P"), execute(), SYNC],
        "show, described twice": [parse("show geqo", b"g"), describe(b"S", b"g"), bind(b"p", b"g"), describe(b"P", b"p"), execute(b"p"), SYNC],
        "explain a line at a time": [parse("explain (costs off) select 1 where false"), bind(), execute(most=1), execute(most=1), execute(most=1), SYNC],
        "explain with a parameter": [parse("explain (costs off) select $1::int"), describe(b"S"), bind(params=[b"1"]), execute(), SYNC],
        "values of a command that changes rows": [
            parse("create temp table kept (a int, b text)"), bind(), execute(), parse("insert into kept select g, 'k' from generate_series(1, 4) g returning a"),
            bind(), execute(most=1), parse("select count(*) from kept"), bind(b"c"), execute(b"c"), SYNC],
        "changed to the end": [parse("with w as (insert into kept values (9), (10), (11) returning a) select a from w"), bind(), execute(most=2), execute(most=2), SYNC],
        "count": [parse("select count(*) from kept"), bind(), execute(), SYNC],
        "fetch of a bound portal": [parse(rows), bind(b"q"), execute(b"q", 1), parse("move 2 q"), bind(), execute(), parse("fetch 5 q"), bind(), describe(b"P"), execute(), SYNC],
        "fetch backward of one": [parse(rows), bind(b"q"), parse("fetch backward 1 q"), bind(), execute(), SYNC],
        "fetch in binary": [parse("begin"), bind(), execute(), parse("declare d cursor for select 7"), bind(), execute(), parse("fetch all d"), bind(results=[1]), execute(),
                            parse("commit"), bind(), execute(), SYNC],
        "declare with a parameter": [parse("begin"), bind(), execute(), parse("declare e cursor for select $1::int"), bind(params=[b"41"]), execute(), parse("fetch e"), bind(), execute(),
                                     parse("commit"), bind(), execute(), SYNC],
        "no such statement": [bind(b"", b"nope"), execute(), SYNC],
        "no such portal": [execute(b"nope"), SYNC],
        "describe what is not there": [describe(b"S", b"nope"), SYNC, describe(b"P", b"nope"), SYNC],
        "skipping to sync": [parse("select 1 / g from generate_series(0, 0) g"), bind(), execute(), parse("select 1"), bind(), execute(), SYNC, parse("select 2"), bind(), execute(), SYNC],
        "statement twice": [parse("select 1", b"s"), parse("select 2", b"s"), SYNC],
        "portal twice": [parse("select 1"), bind(b"r"), bind(b"r"), SYNC],
        "two commands": [parse("select 1; select 2"), SYNC],
        "nothing": [parse(""), bind(), describe(b"P"), execute(), SYNC],
        "too few parameters": [parse("select $1::int, $2::int"), bind(params=[b"1"]), SYNC],
        "formats that do not fit": [parse("select $1::int"), bind(formats=[0, 0], params=[b"1"]), SYNC],
        "a format that is not": [parse("select $1::int"), bind(formats=[2], params=[b"1"]), SYNC],
        "result formats that do not fit": [parse("select 1"), bind(results=[0, 0, 0]), describe(b"P"), SYNC],
        "a binary value too short": [parse("select $1::int"), bind(formats=[1], params=[b"\0\0"]), SYNC],
        "a binary value too long": [parse("select $1::int"), bind(formats=[1], params=[one + b"\0"]), SYNC],
        "a text that is no number": [parse("select $1::int"), bind(params=[b"seven"]), SYNC],
        "a text that is no text": [parse("select $1::text"), bind(params=[b"\xff\xfe"]), SYNC],
        "no type": [parse("select $1"), describe(b"S"), SYNC],
        "type given": [parse("select $1", types=[23]), describe(b"S"), bind(params=[b"5"]), describe(b"P"), execute(), SYNC],
        "no such type": [parse("select $1", types=[999999]), SYNC],
        "a transaction of its own": [parse("insert into kept values (100)"), bind(), execute(), parse("select 1 / g from generate_series(0, 0) g"), bind(), execute(), SYNC, parse("select count(*) from kept where a = 100"), bind(), execute(), SYNC],
        "begin in the middle": [parse("insert into kept values (200)"), bind(), execute(), parse("begin"), bind(), execute(), SYNC, parse("rollback"), bind(), execute(), SYNC],
        "close": [parse("select 1", b"z"), message(b"C", b"Sz\0"), message(b"C", b"Sz\0"), bind(b"", b"z"), SYNC],
        "flush": [parse("select 1"), message(b"H", b""), bind(), execute(), message(b"H", b""), SYNC],
    }
    c = session()
    for name, messages in steps.items():
        before = len([m for m in messages if m == SYNC])
        got = c.say(*messages)
        for _ in range(before - 1):
            got += c.answers()
        yield f"extended, {name}", got
    c.close()
    for name, junk in {
        "password out of turn": message(b"p", b"secret\0"),
        "trailing bytes in Sync": message(b"S", b"x"),
        "trailing bytes in Execute": message(b"E", b"\0\0\0\0\0\0"),
        "no end of text in Parse": message(b"P", b"s"),
        "types missing in Parse": message(b"P", b"\0select 1\0\0\2\0\0\0\x17"),
        "a length below nothing in Bind": message(b"B", b"\0\0\0\0\0\1\xff\xff\xff\xf0\0\0"),
        "what to describe is not known": message(b"D", b"Q\0"),
        "what to close is not known": message(b"C", b"Q\0"),
        "two texts in Query": message(b"Q", b"select 1\0select 2\0"),
        "text that is no text in Query": message(b"Q", b"select '\xff'\0"),
        "copy done out of turn": message(b"c", b""),
        "copy fail out of turn": message(b"f", b"why\0"),
        "function call cut short": message(b"F", b"\0\0"),
        "a length that is too small": b"Q\0\0\0\3",
        "a message too long for its kind": b"S\0\2\0\0",
    }.items():
        c = session()
        yield f"extended, {name}", c.say(junk, SYNC)
        c.close()


def copying():
    """COPY FROM STDIN with what should not come in the middle of it."""
    start = message(b"Q", b"copy pg_temp.copied from stdin\0")
    data, done = message(b"d", b"1\n"), message(b"c", b"")
    for name, messages in {
        "as usual": [data, data, done],
        "split anywhere": [message(b"d", b"1"), message(b"d", b"2\n3"), message(b"d", b"\n"), done],
        "failed": [data, message(b"f", b"changed my mind\0")],
        "flush and sync in the middle": [message(b"H", b""), data, SYNC, done],
        "a query in the middle": [data, message(b"Q", b"select 1\0")],
        "an error": [message(b"d", b"x\n"), data, done],
        "data after the end mark": [message(b"d", b"1\n\\.\n"), done],
        "no data": [done],
    }.items():
        c = session()
        c.query("create temp table copied (a int)")
        c.socket.sendall(start)
        got = c.say(*messages)
        yield f"copy, {name}", got + c.query("select count(*) from copied")
        c.close()
    c = session()
    c.query("create temp table copied (a int)")
    got = c.say(parse("copy pg_temp.copied from stdin"), bind(), execute(), data, done, SYNC)
    yield "copy, extended", got
    got = c.say(parse("copy pg_temp.copied from stdin"), bind(), execute(), message(b"d", b"x\n"), done, SYNC)
    yield "copy, extended with an error", got
    yield "copy, out", c.query("copy (select 1, null, 'a') to stdout")
    c.close()


def large():
    """As much as the protocol can carry, or more than is allowed."""
    most = 65535
    numbers = [str(i % 10).encode() for i in range(most)]
    values = ", ".join(f"(${i + 1}::int)" for i in range(most))
    for name, messages in {
        "as many parameters as can be": [parse(f"select sum(x), count(*) from (values {values}) v(x)"), bind(params=numbers), execute(), SYNC],
        "as many parameters as can be, binary": [
            parse(f"select sum(x), count(*) from (values {values}) v(x)"), bind(formats=[1], params=[struct.pack("!i", i) for i in range(most)], results=[1]), execute(), SYNC],
        "a format for each of many parameters": [parse(f"select count(*) from (values {values}) v(x)"), bind(formats=[i % 2 for i in range(most)], params=[struct.pack("!i", i) if i % 2 else b"1" for i in range(most)]), execute(), SYNC],
        "many parameters described": [parse(f"select count(*) from (values {values}) v(x)", b"many", [23] * most), describe(b"S", b"many"), SYNC],
        "a parameter too many": [parse("select $65536::int"), SYNC],
        "a long statement, parsed": [parse("select length('" + "x" * 40_000_000 + "')"), bind(), execute(), SYNC],
        "a long comment": [message(b"Q", b"/*" + b"x" * 30_000_000 + b"*/ select 1\0")],
        "a long list": [message(b"Q", b"select count(*) from (values " + b",".join(b"(%d)" % i for i in range(100_000)) + b") v\0")],
        "a long name": [parse("select 1", b"n" * 9000), bind(b"p" * 9000, b"n" * 9000), execute(b"p" * 9000), SYNC],
        "parameters far apart": [parse("select $65535::int"), SYNC],
        "a long statement": [message(b"Q", b"select length('" + b"x" * 8_000_000 + b"')\0")],
        "a long parameter": [parse("select length($1)"), bind(params=[b"x" * 50_000_000]), execute(), SYNC],
        "a long row": [message(b"Q", b"select repeat('x', 100000000)\0")],
        "a row longer than can be": [message(b"Q", b"select repeat('x', 600000000), repeat('y', 600000000)\0")],
        "a value longer than can be": [message(b"Q", b"select repeat('x', g) from generate_series(1100000000, 1100000000) g\0")],
        "many columns": [message(b"Q", b"select " + b",".join([b"1"] * 1664) + b"\0")],
        "a column too many": [message(b"Q", b"select " + b",".join([b"1"] * 1665) + b"\0")],
        "many statements": [message(b"Q", b"select 1;" * 2000 + b"\0")],
    }.items():
        c = session()
        got = c.say(*messages)
        c.close()
        yield f"large, {name}", got if len(got) < 100 else [f"{len(got)} messages", *got[-2:]]


def interrupted():
    """Sessions that others cancel or end, whatever they do."""
    insert = message(b"Q", b"insert into pg_temp.copied values (1)\0")
    copy = message(b"Q", b"copy pg_temp.copied from stdin\0")
    other = session()
    for name, messages in {
        "idle": [],
        "in a statement": [message(b"Q", b"select pg_sleep(60)\0")],
        "in a transaction": [message(b"Q", b"begin\0"), insert],
        "in a failed transaction": [message(b"Q", b"begin\0"), message(b"Q", b"select 1/g from generate_series(0, 0) g\0")],
        "in COPY": [copy, message(b"d", b"1\n")],
        "in a pipeline": [parse("select 1"), bind(), execute(), parse("select pg_sleep(60)"), bind(), execute(), SYNC],
        "in a message": [b"Q\0\0\1\0selec"],
        "waiting for a lock": [message(b"Q", b"select pg_advisory_lock(8)\0")],
    }.items():
        for what, function in [("ended", "pg_terminate_backend"), ("cancelled", "pg_cancel_backend")]:
            if what == "cancelled" and name in ("in COPY", "in a message"):
                continue
            other.query("select pg_advisory_lock(8)")
            c = session()
            c.query("create temp table copied (a int)")
            pid = bytes.fromhex(c.query("select pg_backend_pid()")[1][2:])[6:].decode()
            c.socket.sendall(b"".join(messages))
            time.sleep(0.2)
            other.query(f"select {function}({pid})")
            time.sleep(0.2)
            c.socket.settimeout(1)
            got = c.answers()
            while got and got[-1].startswith("Z"):
                got += c.answers()
            yield f"{what} {name}", got
            c.close()
            other.query("select pg_advisory_unlock_all()")
    other.close()


def main():
    if sys.argv[1:] == ["record"]:
        got = dict(conversations())
        with open(FILE, "w") as f:
            json.dump(got, f, indent=1)
            f.write("\n")
    else:
        with open(FILE) as f:
            expected = json.load(f)
        wrong = 0
        for name, got in conversations():
            if expected.pop(name, None) != got:
                wrong += 1
                print(f"FAILED {name}: {got}")
        wrong += len(expected)
        assert wrong == 0, f"{wrong} conversations differ"


if __name__ == "__main__":
    main()
