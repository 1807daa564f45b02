"""95-hostile.py ADDRESS:PORT PID NAMESPACE - what no client library sends; one line a check. PID: the server's, 0 = unknown"""
import http.client
import json
import resource
import socket
import sys
import time

host, port = sys.argv[1].rsplit(":", 1)
port, pid, ns = int(port), sys.argv[2], sys.argv[3]
LIMIT_CONNECTIONS = 4096
CONFIG_MAPS = f"/api/v1/namespaces/{ns}/configmaps"
JSON = {"Content-Type": "application/json"}


def check(what, good, *detail):
    print(f"ok {what}" if good else "\n#   ".join([f"not ok {what}"] + [str(d)[:500] for d in detail]), flush=True)


def rss_mib():
    if pid == "0":
        return 0
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) // 1024 for line in f if line.startswith("VmRSS"))


def ask(method, path, body=None, headers=None, timeout=60):
    c = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        c.request(method, path, body, headers or {})
        r = c.getresponse()
        return r.status, r.read().decode()
    finally:
        c.close()


def status(what, code, reason, words, method, path, body=None, headers=None):
    got, text = ask(method, path, body, headers if headers is not None else JSON if body is not None else {})
    try:
        s = json.loads(text)
        good = got == code and s["kind"] == "Status" and s["code"] == code and s["reason"] == reason and words in s["message"]
    except (ValueError, KeyError):
        good = False
    check(what, good, f"wanted {code} {reason} ... {words}", got, text)


def raw(data, seconds=5.0):
    s = socket.create_connection((host, port))
    s.settimeout(seconds)
    out = b""
    try:
        s.sendall(data)
        while len(out) < 65536:
            part = s.recv(65536)
            if not part:
                break
            out += part
    except OSError:
        pass
    s.close()
    return out


def config_map(name, **data):
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def bodies():
    bad = (400, "BadRequest")
    status("an empty body", *bad, "no body", "POST", CONFIG_MAPS, "")
    status("a list for an object", *bad, "must be an object", "POST", CONFIG_MAPS, "[]")
    status("cut JSON", *bad, "line 1", "POST", CONFIG_MAPS, '{"metadata":{"na')
    status("a NUL byte", *bad, "NUL", "POST", CONFIG_MAPS, b'{"metadata":{"name":"a"},"data":{"a":"x\0y"}}')
    status("bytes that are no UTF-8", *bad, "UTF-8", "POST", CONFIG_MAPS, b'{"metadata":{"name":"a"},"data":{"a":"\xff\xfe"}}')
    status("half a surrogate", *bad, "surrogate", "POST", CONFIG_MAPS, r'{"metadata":{"name":"a"},"data":{"a":"\ud800"}}')
    status("nested too deep", 413, "RequestEntityTooLarge", "nested", "POST", CONFIG_MAPS, '{"data":' + "[" * 100000)
    status("10 MB", 413, "RequestEntityTooLarge", "3 MiB", "POST", CONFIG_MAPS, config_map("big", a="x" * 10_000_000))
    status("YAML that unfolds without end", 413, "RequestEntityTooLarge", "too many", "POST", CONFIG_MAPS,
           "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)),
           {"Content-Type": "application/yaml"})
    status("a number of 100,000 digits", *bad, "whole number", "POST", CONFIG_MAPS, '{"metadata":{"name":"a","generation":' + "9" * 100000 + "}}")
    status("another type than said", *bad, "", "POST", CONFIG_MAPS, b"\x1f\x8b\x08\0", JSON)
    status("protobuf of nothing", *bad, "", "POST", CONFIG_MAPS, b"k8s\0\xff\xff\xff\xff\xff", {"Content-Type": "application/vnd.kubernetes.protobuf"})
    status("a type that nobody speaks", 415, "UnsupportedMediaType", "", "POST", CONFIG_MAPS, "a,b", {"Content-Type": "text/csv"})
    status("another name than the path's", *bad, "", "PUT", CONFIG_MAPS + "/b", config_map("a"))
    status("another namespace than the path's", *bad, "namespace", "POST", CONFIG_MAPS, '{"metadata":{"name":"a","namespace":"other"}}')
    status("annotations of 300 KiB", 422, "Invalid", "262144", "POST", CONFIG_MAPS,
           json.dumps({"metadata": {"name": "a", "annotations": {"a": "x" * 300_000}}}))
    status("a name of 300 letters", 422, "Invalid", "253", "POST", CONFIG_MAPS, config_map("x" * 300))
    status("nothing was stored", 404, "NotFound", "", "GET", CONFIG_MAPS + "/a")


def patches():
    ask("POST", CONFIG_MAPS, config_map("patched", a="1"), JSON)
    path, patch = CONFIG_MAPS + "/patched", {"Content-Type": "application/json-patch+json"}
    operation = {"op": "add", "path": "/data/b", "value": "2"}
    status("10,001 operations", 413, "RequestEntityTooLarge", "10000", "PATCH", path, json.dumps([operation] * 10001), patch)
    got, text = ask("PATCH", path, json.dumps([operation] * 10000), patch)
    check("10,000 operations", got == 200, got, text)
    doubling = [{"op": "copy", "from": "/data", "path": f"/data/x{i}"} for i in range(60)]
    got, text = ask("PATCH", path, json.dumps(doubling), patch)
    check("copies that double each time", got in (413, 422) and '"Status"' in text, got, text)
    status("a test that fails", 422, "Invalid", "", "PATCH", path, json.dumps([operation, {"op": "test", "path": "/data/a", "value": "9"}]), patch)
    status("an operation that is none", 422, "Invalid", "brew", "PATCH", path, '[{"op":"brew","path":"/data"}]', patch)
    status("a patch of the name", 400, "BadRequest", "", "PATCH", path, '{"metadata":{"name":"other"}}', {"Content-Type": "application/merge-patch+json"})
    status("a patch type that is none", 415, "UnsupportedMediaType", "", "PATCH", path, "{}", {"Content-Type": "application/json"})
    got, text = ask("GET", path)
    check("the object is as before", json.loads(text)["data"] == {"a": "1", "b": "2"}, text)


def queries():
    bad = (400, "BadRequest")
    for query, words in (("limit=-1", "limit"), ("limit=x", "limit"), ("continue=x", "continue"), ("resourceVersion=x", "resourceVersion"),
                         ("watch=1&resourceVersion=-1", "resourceVersion"), ("watch=1&timeoutSeconds=x", "timeoutSeconds"),
                         ("labelSelector=a+in+(", "requirement"), ("fieldSelector=no.such%3Dx", "field label"), ("labelSelector=%ff", "UTF-8"),
                         ("labelSelector=" + "," * 5000, "")):
        status(f"?{query[:40]}", *bad, words, "GET", f"{CONFIG_MAPS}?{query}")
    status("a name that is no UTF-8", *bad, "UTF-8", "GET", CONFIG_MAPS + "/%c3%28")
    status("a NUL in the path", *bad, "NUL", "GET", CONFIG_MAPS + "/a%00b")
    status("a URL that is too long", 414, "RequestURITooLong", "16384", "GET", f"{CONFIG_MAPS}?labelSelector={'a' * 17000}")
    terms = ",".join(f"k{i}!=v" for i in range(1000))
    got, text = ask("GET", f"{CONFIG_MAPS}?labelSelector={terms.replace('!=', '%21%3D')}")
    check("a selector of 1,000 terms", got == 200, got, text)
    got, text = ask("POST", CONFIG_MAPS, config_map("agent"), {**JSON, "User-Agent": b"bad\xff\xfe/1"})
    check("an agent's name that is no UTF-8", got == 201 and json.loads(text), got, text)


def protocol():
    top = f"Host: {host}:{port}\r\n".encode()
    for what, data in (("an HTTP version that is none", b"GET / HTTP/9.9\r\n" + top + b"\r\n"), ("no path", b"GET\r\n\r\n"),
                       ("headers of 200 kB", b"GET / HTTP/1.1\r\n" + top + b"X: " + b"a" * 200000 + b"\r\n\r\n"),
                       ("1,000 headers", b"GET / HTTP/1.1\r\n" + top + b"X: a\r\n" * 1000 + b"\r\n"),
                       ("two hosts", b"GET /api HTTP/1.1\r\n" + top + b"Host: evil\r\n\r\n"),
                       ("two lengths", b"POST /api HTTP/1.1\r\n" + top + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy"),
                       ("a negative length", b"POST /api HTTP/1.1\r\n" + top + b"Content-Length: -1\r\n\r\n"),
                       ("an absurd length", b"POST /api HTTP/1.1\r\n" + top + b"Content-Length: 99999999999999999999\r\n\r\n"),
                       ("a broken chunk", b"POST /api HTTP/1.1\r\n" + top + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")):
        got = raw(data, 1)
        check(what, b" 4" in got[:13] or b" 505" in got[:13] or got == b"", got)
    for data in (b"\0\1\2\r\n\r\n", b"\x16\x03\x01\2\0\1\0\1\xfc\3\3", b"GET /healthz HTTP/1.1\r\n" + top + b"\r\n\0garbage\r\n\r\n",
                 b"POST " + CONFIG_MAPS.encode() + b" HTTP/1.1\r\n" + top + b"Content-Length: 500\r\n\r\n{\"metadata\":{\"name\":\"cut\"}"):
        raw(data, 0.3)
    check("after garbage", ask("GET", "/healthz")[1] == "ok")
    check("a cut request stored nothing", ask("GET", CONFIG_MAPS + "/cut")[0] == 404)
    one = b"GET /healthz HTTP/1.1\r\n" + top
    many = raw((one + b"\r\n") * 499 + one + b"Connection: close\r\n\r\n", 60)
    check("500 requests in one packet", many.count(b"200 OK") == 500 or len(many) >= 65536, many.count(b"200 OK"))


def flood():
    wanted = LIMIT_CONNECTIONS + 100
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < wanted + 100:
        print("ok thousands of connections # SKIP ulimit -n is too low")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted + 100, hard))
    before, open_ones = rss_mib(), []
    for _ in range(wanted):
        s = socket.create_connection((host, port), timeout=60)
        s.sendall(b"GET /api/v1/pods HTTP/1.1\r\nHost: ")
        open_ones.append(s)
    time.sleep(1)
    check("thousands of connections cost little", rss_mib() - before < 200, before, rss_mib())
    got = ask("GET", "/healthz", timeout=60)  # nobody has left: those that say nothing give way
    check("one more is served", got == (200, "ok"), got)
    for s in open_ones:
        s.close()
    time.sleep(0.5)
    check("when all have left, too", ask("GET", "/healthz") == (200, "ok"))


def readers_that_do_not_read():
    big, sockets = "x" * 100_000, []
    for i in range(100):
        ask("POST", CONFIG_MAPS, config_map(f"l{i}", a=big), JSON)
    before = rss_mib()
    for i in range(500):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect((host, port))
        query = "?watch=true&resourceVersion=0" if i % 10 else ""
        s.sendall(f"GET {CONFIG_MAPS}{query} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        sockets.append(s)
    slowest = 0.0
    for i in range(300):
        t = time.time()
        ask("PUT", CONFIG_MAPS + "/l0", config_map("l0", a=big, i=str(i)), JSON)
        slowest = max(slowest, time.time() - t)
    grown = rss_mib() - before
    check("450 watches and 50 lists that nobody reads stay bounded", grown < 400, f"{grown} MiB more")
    print(f"# the slowest write took {slowest:.2f} s")
    check("and nobody waits long for them", slowest < 30, slowest)
    for s in sockets:
        s.close()
    check("the server is up", ask("GET", "/healthz") == (200, "ok"))


for part in (bodies, patches, queries, protocol, flood, readers_that_do_not_read):
    try:
        part()
    except Exception as e:  # the other parts still say something
        check(part.__name__, False, type(e).__name__, e)
