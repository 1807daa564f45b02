"""pushes.py CAPSTAN LIBNVIDIA_ML - what the agent pushes while receivers fail: an InfluxDB 2 that is a script, a real Prometheus. TAP lines.

Debian has InfluxDB 1.6, which has no /api/v2/write: here is what that path, its query and its headers have to be, and nothing of storage.
"""
import gzip
import http.server
import pathlib
import re
import shutil
import sys
import tempfile
import threading
import time

from agent_live import Node
from live import check, equal, skip
from servers import Prometheus, get, installed, wait_for

LINE = re.compile(r'(gpu|gpu_process)(,[A-Za-z]+=([^ ,=\\]|\\.)+)+ [a-z_]+=[0-9.e+-]+i?(,[a-z_]+=[0-9.e+-]+i?)* [0-9]{10}')


class Influx2:
    """Answers `status`; while it is None, not at all. Bodies that were answered with 204 are kept."""

    def __init__(self):
        self.status, self.asked, self.taken, self.released = 204, [], [], threading.Event()
        influx = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # the name is http.server's
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = influx.answer(self.path, dict(self.headers), body)
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    self.close_connection = True  # given up meanwhile

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, headers, body):
        status = self.status
        self.asked.append((path, {k.lower(): v for k, v in headers.items()}))
        if status is None:
            self.released.wait(60)
            return 503
        if status == 204:
            self.taken.append(gzip.decompress(body).decode())
        return status

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


def counted(node, outcome=None, target="influx"):
    name = 'gpu_agent_push_total{target="%s",outcome="%s"} ' % (target, outcome) if outcome else 'gpu_agent_push_queue{target="%s"} ' % target
    line = next(l for l in get("http://%s/metrics" % node.address)[1].splitlines() if l.startswith(name))
    return int(line.split()[-1])


def speaks_version_2(influx):
    wait_for("a body", lambda: influx.taken)
    path, headers = influx.asked[0]
    equal(path, "/api/v2/write?precision=s&org=a%20team&bucket=gpu%2F30d")
    equal((headers["authorization"], headers["content-encoding"], headers["content-type"]), ("Token secret==", "gzip", "text/plain; charset=utf-8"))
    lines = influx.taken[-1].splitlines()
    equal([l for l in lines if not LINE.fullmatch(l)], [])
    equal(sum(l.startswith("gpu,") for l in lines), 2)
    equal(sum(l.startswith("gpu_process,") for l in lines), 2)


def loses_nothing(influx, node):
    """Down for a while: bodies wait, and then arrive in their order."""
    influx.status = 500
    wait_for("tries", lambda: counted(node, "retried") >= 2)
    wait_for("bodies that wait", lambda: counted(node) > 1)
    influx.status = 204
    wait_for("an empty queue", lambda: counted(node) == 0)
    times = [int(body.split("\n", 1)[0].split()[-1]) for body in influx.taken]
    equal(times, sorted(times))
    equal((counted(node, "dropped"), counted(node, "refused")), (0, 0))


def hangs(influx, node):
    """The page is served meanwhile, and the body is tried again after ten seconds."""
    before = counted(node, "retried")
    influx.status = None
    wait_for("bodies that wait", lambda: counted(node) > 3)
    begin = time.monotonic()
    equal(get("http://%s/metrics" % node.address)[0], 200)
    assert time.monotonic() - begin < 8
    wait_for("a try that was given up", lambda: counted(node, "retried") > before)
    influx.status = 204
    wait_for("an empty queue", lambda: counted(node) == 0)
    equal((counted(node, "dropped"), counted(node, "refused")), (0, 0))


def refuses(influx, node):
    """400 and 413 cost the body that they are said of."""
    for status in (400, 413):
        before = counted(node, "refused")
        influx.status = status
        wait_for("a refusal", lambda n=before: counted(node, "refused") > n)
        influx.status = 204
        taken = len(influx.taken)
        wait_for("the next one", lambda n=taken: len(influx.taken) > n)
    assert "secret" not in node.agent.log.read_text(), "the token is in the log"


def prometheus_was_away(folder, node):
    """It comes while the agent waits for it; what was collected before it came is there."""
    begin = time.time()
    wait_for("bodies that wait", lambda: counted(node, target="remote_write") >= 3)
    prometheus = Prometheus(folder / "prometheus", "global: {}\n", node.prometheus_port)
    try:
        wait_for("an empty queue", lambda: counted(node, target="remote_write") == 0)
        rows = wait_for("series", lambda: prometheus.query('gpu_process_memory_bytes{instance="pushed"}', begin))
        equal(len(rows), 2)
        equal((counted(node, "dropped", "remote_write"), counted(node, "refused", "remote_write")), (0, 0))
    finally:
        prometheus.close()


def main():
    capstan, library = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:3])
    if not installed("prometheus"):
        skip("pushes", "prometheus is not installed")
        return
    folder = pathlib.Path(tempfile.mkdtemp())
    started = [influx := Influx2()]
    try:
        started.append(node := Node(folder, capstan, library))
        node.start("--influx-url", influx.url, "--influx-version", "2", "--influx-org", "a team", "--influx-bucket", "gpu/30d",
                   "--remote-write-url", "http://127.0.0.1:%d/api/v1/write" % node.prometheus_port, "--remote-write-label", "instance=pushed",
                   environment={"INFLUX_TOKEN": "secret=="})
        check("pushes: InfluxDB 2: path, query, token, gzip, lines", speaks_version_2, influx)
        check("pushes: what was collected before Prometheus came", prometheus_was_away, folder, node)
        check("pushes: InfluxDB 2 answers 500 for a while: nothing is lost", loses_nothing, influx, node)
        check("pushes: InfluxDB 2 hangs: the page does not, nothing is lost", hangs, influx, node)
        check("pushes: InfluxDB 2 refuses a body: the next one is sent", refuses, influx, node)
    except Exception as e:  # an agent that does not start
        print("not ok pushes\n# " + str(e).replace("\n", "\n# "), flush=True)
    finally:
        for one in reversed(started):
            one.close()
        shutil.rmtree(folder, ignore_errors=True)


main()
