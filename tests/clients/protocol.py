"""Conversations byte by byte: what a server answers, compared with what PostgreSQL 18 answered.

`protocol.py record` writes the answers of the server at PGHOST, PGPORT to protocol.json (to be done
against PostgreSQL); without an argument the server's answers are compared with that file.
"""
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


class Connection:
    def __init__(self, first):
        self.socket = socket.create_connection(PLACE)
        self.socket.settimeout(5)
        self.input = b""
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
                self.input = self.input[length + 1 :]
                out += self.shown(kind, body)
                if kind == "Z":
                    return out
            try:
                more = self.socket.recv(65536)
            except socket.timeout:
                return out + ["timeout"]
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
        return [kind + " " + body.hex()]

    def say(self, *messages):
        self.socket.sendall(b"".join(messages))
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


if sys.argv[1:] == ["record"]:
    with open(FILE, "w") as f:
        json.dump(dict(conversations()), f, indent=1)
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
