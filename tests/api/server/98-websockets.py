"""98-websockets.py KUBECONFIG NAMESPACE [stays | dashboards] - watches and logs as browsers read them, by WebSocket; one line a check

dashboards: each list of 99-dashboards.tsv that Headlamp shows, read and then followed from there on, as it does.

Frames are made and taken apart here: what a library would not send is sent, too.
"""
import base64
import json
import os
import re
import socket
import ssl
import struct
import sys
import urllib.parse
import urllib.request

import yaml

KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="  # the example of RFC 6455


def check(good, what, more=""):
    print(f"{'ok' if good else 'not ok'} {what}")
    if not good:
        print(f"# {more}")


class Server:
    def __init__(self, config, ns):
        c = yaml.safe_load(open(config, encoding="utf-8"))
        cluster, user = c["clusters"][0]["cluster"], c["users"][0].get("user") or {}
        self.url, self.ns = urllib.parse.urlsplit(cluster["server"]), ns
        self.tls = None
        if self.url.scheme == "https":
            self.tls = ssl._create_unverified_context()  # noqa: SLF001, its own certificate
            if "client-certificate-data" in user:
                with open("client.pem", "wb") as f:
                    f.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
                self.tls.load_cert_chain("client.pem")

    def connect(self):
        s = socket.create_connection((self.url.hostname, self.url.port), timeout=30)
        return self.tls.wrap_socket(s, server_hostname=self.url.hostname) if self.tls else s

    def path(self, rest):
        return f"/api/v1/namespaces/{self.ns}/{rest}"

    def call(self, method, path, body=None):
        s = self.connect()
        data = json.dumps(body).encode() if body else b""
        s.sendall(f"{method} {path} HTTP/1.1\r\nHost: {self.url.netloc}\r\nConnection: close\r\nContent-Type: application/json\r\n"
                  f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        said = b""
        while more := s.recv(65536):
            said += more
        self.body = said.partition(b"\r\n\r\n")[2]
        return int(said.split(b" ", 2)[1])


class Socket:
    def __init__(self, server, path, key=KEY, version="13", **headers):
        self.s, self.rest = server.connect(), b""
        more = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
        self.s.sendall(f"GET {path} HTTP/1.1\r\nHost: {server.url.netloc}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
                       f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: {version}\r\n{more}\r\n".encode())
        while b"\r\n\r\n" not in self.rest:
            got = self.s.recv(65536)
            if not got:
                break
            self.rest += got
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        self.head = head.decode()
        self.status = int(self.head.split(" ")[1])

    def exactly(self, n):
        while len(self.rest) < n:
            got = self.s.recv(65536)
            if not got:
                raise EOFError
            self.rest += got
        out, self.rest = self.rest[:n], self.rest[n:]
        return out

    def frame(self):
        """(opcode, bytes)"""
        first, n = self.exactly(2)
        assert first & 0x80 and not n & 0x80, "whole, not masked"
        if n == 126:
            n = struct.unpack(">H", self.exactly(2))[0]
        elif n == 127:
            n = struct.unpack(">Q", self.exactly(8))[0]
        return first & 0x0f, self.exactly(n)

    def send(self, opcode, data=b"", first=0x80, mask=True):
        n = struct.pack("B", len(data) | mask << 7) if len(data) < 126 else struct.pack(">BH", 126 | mask << 7, len(data))
        key = os.urandom(4) if mask else b""
        self.s.sendall(bytes([first | opcode]) + n + key + (bytes(b ^ key[i % 4] for i, b in enumerate(data)) if mask else data))

    def event(self, name=None):
        """The next, or the next about `name`: a server has ConfigMaps of its own there, too."""
        while True:
            opcode, text = self.frame()
            assert opcode == 1, opcode
            event = json.loads(text)
            if name in (None, event["object"]["metadata"]["name"]):
                return event


def over(ws):
    """The code of its farewell, and nothing behind it."""
    while True:
        opcode, text = ws.frame()
        if opcode == 8:
            break
    try:
        ws.frame()
    except (EOFError, OSError):
        return struct.unpack(">H", text[:2])[0]
    return -1


def watches(server):
    maps = server.path("configmaps")
    server.call("POST", maps, {"metadata": {"name": "first"}, "data": {"text": "é\n" * 40000}})
    ws = Socket(server, maps + "?watch=1")
    check(ws.status == 101 and f"sec-websocket-accept: {ACCEPT}".lower() in ws.head.lower(), "a watch is a WebSocket", ws.head)
    event = ws.event("first")
    check(event["type"] == "ADDED" and len(event["object"]["data"]["text"]) == 80000, "an event is one message, however long", event["type"])
    server.call("POST", maps, {"metadata": {"name": "second"}})
    check(ws.event("second")["type"] == "ADDED", "what comes later comes")
    ws.send(9, b"are you there")
    check(ws.frame() == (10, b"are you there"), "a ping is answered")
    ws.send(1, b"x" * 60000)
    ws.send(9, b"still?")
    check(ws.frame() == (10, b"still?"), "what a client says is passed over")
    server.call("DELETE", maps + "/second")
    check(ws.event("second")["type"] == "DELETED", "and it goes on")
    ws.send(8, struct.pack(">H", 1000))
    check(over(ws) == 1000, "a farewell is answered")
    ws = Socket(server, maps + "?watch=1", Sec_WebSocket_Protocol="v4.channel.k8s.io, base64.binary.k8s.io")
    check("sec-websocket-protocol: base64.binary.k8s.io" in ws.head.lower() and ws.event()["type"] == "ADDED",
          "a watch is text whatever the protocol", ws.head)
    ws.s.close()
    ws = Socket(server, maps + "?watch=1&timeoutSeconds=1")
    check(over(ws) == 1000, "a watch that ends says so")
    many = [Socket(server, maps + "?watch=1") for _ in range(50)]
    server.call("POST", maps, {"metadata": {"name": "third"}})
    for ws in many:
        ws.event("third")
        ws.s.close()
    check(True, "fifty at once")


def logs(server):
    server.call("POST", server.path("pods"), {"metadata": {"name": "talks", "annotations": {"capstan.dev/run-seconds": "600"}}, "spec": {
        "containers": [{"name": "c", "image": "x"}]}})
    path = server.path("pods/talks/log?follow=true&tailLines=3")
    for _ in range(600):
        ws = Socket(server, path, Sec_WebSocket_Protocol="base64.binary.k8s.io")
        if ws.status == 101:
            break
    opcode, text = ws.frame()
    check(opcode == 1 and re.search(rb"\w", base64.b64decode(text, validate=True)), "a log in base64", (opcode, text))
    ws.s.close()
    ws = Socket(server, path)
    opcode, text = ws.frame()
    check(opcode == 2 and b"\n" in text and "sec-websocket-protocol" not in ws.head.lower(), "and in bytes", (opcode, text))
    ws.s.close()
    server.call("DELETE", server.path("pods/talks"))


def hostile(server):
    maps = server.path("configmaps?watch=1")
    check(Socket(server, maps, key="short").status == 400, "a key that is none")
    check(Socket(server, maps, version="8").status == 400, "a version that is none")
    check(Socket(server, maps, Origin="http://evil.example").status == 403, "a page of somebody else")
    check(Socket(server, server.path("configmaps")).status == 200, "a list is an ordinary answer")
    check(Socket(server, server.path("nothings?watch=1")).status == 404, "and so is a refusal")
    for what, words in (("a frame without a mask", {"opcode": 1, "data": b"x", "mask": False}), ("reserved bits", {"opcode": 9, "first": 0xf0}),
                        ("a ping in parts", {"opcode": 9, "first": 0}), ("a long ping", {"opcode": 9, "data": b"x" * 200})):
        ws = Socket(server, maps)
        ws.send(**words)
        check(over(ws) == 1002, f"{what} ends it")
    ws = Socket(server, maps)
    ws.s.sendall(b"\x81\xff" + b"\xff" * 8 + b"mask")
    check(over(ws) == 1009, "a length beyond all")
    for data in (b"\x89", b"\x81\xfe\x00", os.urandom(4096)):
        ws = Socket(server, maps)
        ws.s.sendall(data)
        ws.s.close()
    check(server.call("GET", "/readyz") == 200, "the server is there")


def stays(server):
    many = [Socket(server, server.path("configmaps?watch=1")) for _ in range(10)]
    print("ok it stays", flush=True)
    for ws in many:
        try:
            while True:
                ws.frame()
        except (EOFError, OSError):
            pass
    print("ok the end")


def lists():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "99-dashboards.tsv"), encoding="utf-8") as table:
        rows = [line.rstrip("\n").split("\t") for line in table if line.strip() and line[0] != "#"]
    return [path for status, who, method, path, _ in rows
            if (status, method) == ("200", "GET") and who != "lens" and "?watch" not in path and "/metrics.k8s.io/" not in path]


def dashboards(server):
    followed, wrong = [], []
    for path in lists():
        path = path.replace("NS", server.ns)
        status = server.call("GET", path)
        answer = json.loads(server.body) if status == 200 and b'"items"' in server.body else {}
        version = (answer.get("metadata") or {}).get("resourceVersion")
        if not version:
            continue  # discovery, or one object
        ws = Socket(server, f"{path}{'&' if '?' in path else '?'}watch=1&resourceVersion={version}")
        followed.append(path)
        if ws.status != 101:
            wrong.append((path, ws.head))
            continue
        ws.send(9, b"there")
        while (got := ws.frame()) != (10, b"there"):
            event = json.loads(got[1])
            if got[0] != 1 or event["type"] not in ("ADDED", "MODIFIED", "DELETED"):
                wrong.append((path, got))
                break
        ws.s.close()
    check(not wrong and len(followed) > 40, "each list of Headlamp is followed by WebSocket", (len(followed), wrong[:3]))


def main():
    server = Server(sys.argv[1], sys.argv[2])
    for part in (stays,) if "stays" in sys.argv else (dashboards,) if "dashboards" in sys.argv else (watches, logs, hostile):
        try:
            part(server)
        except (AssertionError, OSError, EOFError, LookupError, ValueError) as e:
            check(False, f"{part.__name__} to the end", repr(e))


main()
