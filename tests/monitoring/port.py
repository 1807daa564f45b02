"""port.py CAPSTAN LIBNVIDIA_ML - the metrics port of the agent: what TLS it speaks and with whom, and clients that scrape too much or say too little.
TAP lines."""
import concurrent.futures
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import warnings

from agent_live import Node
from live import check, equal, skip
from servers import Prometheus, get, installed, wait_for

TLS = ssl.TLSVersion
warnings.simplefilter("ignore", DeprecationWarning)  # of TLS 1.1, which is to be refused


def collections(node):
    return int(re.search(r"^gpu_agent_collect_duration_seconds_count (\d+)", get("http://%s/metrics" % node.address)[1], re.M)[1])


# ---- too many, too slow, too long ----

def only_by_the_clock(node, begin, before):
    """As many collections as their period makes, however often was asked. begin: the time before `before` was read."""
    made, elapsed_s = collections(node) - before, time.monotonic() - begin
    assert made <= elapsed_s / node.period_s + 2, "%d collections in %.1f s" % (made, elapsed_s)


def every_100_ms(folder, node):
    """Prometheus' scrapes succeed, and none makes the agent look at the driver."""
    prometheus = Prometheus(folder / "prometheus", "scrape_configs:\n  - {job_name: a, scrape_interval: 100ms, scrape_timeout: 100ms, honor_labels: true, "
                            "static_configs: [{targets: ['%s']}]}\n" % node.address)
    try:
        wait_for("scrapes", lambda: prometheus.query("sum_over_time(up[10m]) > 10")) # 100 ms are their time limit, too: a busy machine misses some
        begin, before = time.monotonic(), collections(node)
        wait_for("50 more", lambda: [v for _, v in prometheus.query("count_over_time(up[10m]) > 60")])
        only_by_the_clock(node, begin, before)
    finally:
        prometheus.close()


def sixteen_at_once(node):
    begin, before = time.monotonic(), collections(node)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        equal({status for status, _ in pool.map(lambda _: get("http://%s/metrics" % node.address), range(160))}, {200})
    only_by_the_clock(node, begin, before)


def connect(node, text=b""):
    host, port = node.address.split(":")
    s = socket.create_connection((host, int(port)), 30)
    s.sendall(text)
    return s


def closed(s):
    """The other side has closed, or says only why it will."""
    s.setblocking(False)
    try:
        return s.recv(4096) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def who_says_little(node):
    """40 that are silent, 40 that trickle: others are served meanwhile; each is cut within a quarter of a minute, however it trickles."""
    silent = [connect(node) for _ in range(40)]
    slow = [connect(node, b"GET /metrics HTTP/1.1\r\nHost: a\r\nX: ") for _ in range(40)]
    begin = time.monotonic()
    try:
        equal(get("http://%s/metrics" % node.address)[0], 200)
        assert time.monotonic() - begin < 10
        while not all(closed(s) for s in silent + slow):
            assert time.monotonic() - begin < 60, "%d are still open" % sum(not closed(s) for s in silent + slow)
            for s in slow:
                try:
                    s.send(b"x")
                except OSError:
                    pass  # cut
            time.sleep(0.5)
    finally:
        for s in silent + slow:
            s.close()


def more_than_there_is_room_for(node):
    """200 connect and say nothing, of which 128 are let in: the longest silent give way to those that ask."""
    crowd = [connect(node) for _ in range(200)]
    try:
        wait_for("an answer", lambda: get("http://%s/metrics" % node.address)[0] == 200)
    finally:
        for s in crowd:
            s.close()


def huge_headers(node):
    with connect(node, b"GET /metrics HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 30000 + b"\r\n\r\n") as s:
        assert s.recv(64).startswith(b"HTTP/1.1 431 "), "30 kB of headers"
    with connect(node, b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\nHost: a\r\n\r\n") as s:
        assert s.recv(64).startswith(b"HTTP/1.1 414 "), "20 kB of path"
    equal(get("http://%s/metrics" % node.address)[0], 200)


# ---- TLS ----

def make_certificates(folder):
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=IP:127.0.0.1")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=ca")
    for name, san in (("good", "DNS:prometheus.example,IP:10.0.0.1"), ("bad", "DNS:other.example"), ("none", None)):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name)
        (folder / "ext").write_text("subjectAltName=%s\n" % san if san else "")
        openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", name + ".pem", "-days", "2",
                "-extfile", "ext")


class TlsPort:
    """An agent with this web config; ask() is the status of /metrics and its headers, 0 where there is no connection."""

    def __init__(self, node, folder, config):
        (folder / "web.yml").write_text(config)
        self.node, self.folder = node, folder
        node.start("--web-config-file", folder / "web.yml", ready=False)
        wait_for("the port", self.listens)

    def listens(self):
        try:
            connect(self.node).close()
            return True
        except OSError:
            return False

    def ask(self, version=None, ciphers=None, curve=None, client=None, key=None, path="/metrics"):
        c = ssl.create_default_context(cafile=self.folder / "cert.pem")
        if version:
            c.minimum_version = c.maximum_version = version
        if ciphers:
            c.set_ciphers(ciphers)
        if curve:
            c.set_ecdh_curve(curve)
        if client:
            c.load_cert_chain(self.folder / (client + ".pem"), self.folder / (key or client + ".key"))
        try:
            with connect(self.node) as plain, c.wrap_socket(plain, server_hostname="127.0.0.1") as s:
                s.sendall(b"GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % path.encode())
                head = s.recv(4096).decode("latin-1").split("\r\n\r\n")[0]
                return int(head.split()[1]) if head else 0, head.lower()
        except (ssl.SSLError, OSError):
            return 0, ""

    def statuses(self, *asked):
        return [self.ask(**a)[0] for a in asked]

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.node.stop()


def versions(node, folder):
    base = "tls_server_config: {cert_file: cert.pem, key_file: key.pem%s}\n"
    with TlsPort(node, folder, base % "") as port:
        equal(port.statuses({"version": TLS.TLSv1_2}, {"version": TLS.TLSv1_3}, {"version": TLS.TLSv1_1, "ciphers": "ALL:@SECLEVEL=0"}), [200, 200, 0])
    with TlsPort(node, folder, base % ", min_version: TLS13") as port:
        equal(port.statuses({"version": TLS.TLSv1_2}, {"version": TLS.TLSv1_3}), [0, 200])
    with TlsPort(node, folder, base % ", max_version: TLS12, cipher_suites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384], curve_preferences: [CurveP384]") as port:
        equal(port.statuses({"version": TLS.TLSv1_3}, {"ciphers": "ECDHE-RSA-AES128-GCM-SHA256"}, {"ciphers": "ECDHE-RSA-AES256-GCM-SHA384"},
                            {"curve": "prime256v1"}, {"curve": "secp384r1"}), [0, 0, 200, 0, 200])
    cbc = ", %s_version: TLS1%d, cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]"  # a list of the versions up to 1.2, as with Go
    with TlsPort(node, folder, base % cbc % ("min", 3)) as port:
        equal(port.statuses({"version": TLS.TLSv1_2}, {"version": TLS.TLSv1_3}), [0, 200])
    with TlsPort(node, folder, base % cbc % ("max", 2)) as port:
        equal(port.statuses({"ciphers": "ECDHE-RSA-AES128-GCM-SHA256"}, {"ciphers": "ECDHE-RSA-AES128-SHA"}), [0, 200])


def names_of_clients(node, folder):
    with TlsPort(node, folder, "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n  client_ca_file: ca.pem\n"
                 "  client_auth_type: RequireAndVerifyClientCert\n  client_allowed_sans: [10.0.0.1]\n") as port:
        equal(port.statuses({"client": "good"}, {"client": "bad"}, {"client": "none"}, {}), [200, 403, 403, 0])
    with TlsPort(node, folder, "tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_auth_type: VerifyClientCertIfGiven}\n") as port:
        equal(port.statuses({}, {"client": "good"}), [200, 0])
    with TlsPort(node, folder, "tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_ca_file: ca.pem, "
                 "client_auth_type: VerifyClientCertIfGiven}\n") as port:
        equal(port.statuses({}, {"client": "good"}, {"client": "cert", "key": "key.pem"}), [200, 200, 0])


def headers_and_rate(node, folder):
    with TlsPort(node, folder, "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\nrate_limit: {interval: 1h, burst: 2}\n"
                 "http_server_config: {headers: {X-Frame-Options: deny, Strict-Transport-Security: max-age=60}}\n") as port:
        status, head = port.ask()
        equal(status, 200)
        assert "x-frame-options: deny" in head and "strict-transport-security: max-age=60" in head, head
        equal(port.statuses({}, {}, {"path": "/healthz"}), [200, 429, 200])


def main():
    capstan, library = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:3])
    folder = pathlib.Path(tempfile.mkdtemp())
    started = []
    try:
        started.append(node := Node(folder, capstan, library))
        node.start()
        if installed("prometheus"):
            check("port: a Prometheus that scrapes every 100 ms", every_100_ms, folder, node)
        else:
            skip("port: a Prometheus that scrapes every 100 ms", "prometheus is not installed")
        check("port: sixteen at once, ten times: no collection more", sixteen_at_once, node)
        check("port: huge headers and paths are refused", huge_headers, node)
        check("port: silent and trickling connections are cut, others served", who_says_little, node)
        check("port: more connections than there is room for", more_than_there_is_room_for, node)
        node.stop()
        if not installed("openssl"):
            skip("port: TLS", "openssl is not installed")
            return
        make_certificates(folder)
        check("port: TLS versions, ciphers and curves of the web config", versions, node, folder)
        check("port: names of client certificates", names_of_clients, node, folder)
        check("port: headers and a rate", headers_and_rate, node, folder)
    except Exception as e:  # an agent that does not start
        print("not ok port\n# " + str(e).replace("\n", "\n# "), flush=True)
    finally:
        for one in reversed(started):
            one.close()
        shutil.rmtree(folder, ignore_errors=True)


main()
