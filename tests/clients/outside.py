"""Small servers of LDAP and RADIUS that know one user: eve, with the password "right".

`outside.py LDAP_PORT RADIUS_PORT` serves until it is killed. RADIUS's secret is "shared".
"""
import hashlib
import socket
import socketserver
import sys
import threading

NAME = b"uid=eve,dc=x"


def ber(tag, body):
    return bytes([tag, 0x81, len(body)]) + body


def values(data):
    """Tag and contents of each value of a sequence."""
    while data:
        tag, length, head = data[0], data[1], 2
        if length & 0x80:
            head += length & 0x7F
            length = int.from_bytes(data[2:head], "big")
        yield tag, data[head : head + length]
        data = data[head + length :]


class Ldap(socketserver.BaseRequestHandler):
    def handle(self):
        while message := self.request.recv(65536):
            (_, number), (tag, body), *_ = values(next(values(message))[1])
            parts = [v for _, v in values(body)]
            reply = lambda kind, contents: self.request.sendall(ber(0x30, ber(2, number) + ber(kind, contents)))
            result = lambda code: bytes([10, 1, code, 4, 0, 4, 0])
            if tag == 0x60:
                known = parts[1] == b"" or (parts[1], parts[2]) == (NAME, b"right")
                reply(0x61, result(0 if known else 49))
            elif tag == 0x63:
                if b"eve" in parts[6]:
                    reply(0x64, ber(4, NAME) + ber(0x30, b""))
                reply(0x65, result(0))
            else:
                return


def radius(port):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", port))
    while True:
        packet, client = server.recvfrom(4096)
        vector, attributes, rest = packet[4:20], {}, packet[20:]
        while rest:
            attributes[rest[0]] = rest[2 : rest[1]]
            rest = rest[rest[1] :]
        key = hashlib.md5(b"shared" + vector).digest()
        password = bytes(a ^ b for a, b in zip(attributes[2], key)).rstrip(b"\0")
        code = 2 if (attributes[1], password) == (b"eve", b"right") else 3
        head = bytes([code, packet[1], 0, 20])
        server.sendto(head + hashlib.md5(head + vector + b"shared").digest(), client)


threading.Thread(target=radius, args=(int(sys.argv[2]),), daemon=True).start()
socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Ldap).serve_forever()
