"""servers.py - what live.py starts: pages of made-up nodes over HTTP, Prometheus, node-exporter, InfluxDB; on free ports, ended with the test."""
import http.server
import json
import os
import pathlib
import random
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request


def free_port():
    """For servers that do not tell the port that they get: below the ports that the kernel hands out (32768 on), so that nobody who asks the
    kernel for one gets it until the server has it."""
    for port in random.sample(range(12000, 32000), 1000):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass  # somebody's
    raise AssertionError("no free port from 12000 to 31999")


def get(url, headers=None, data=None):
    """(status, text); status 0 when there is no server."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=data, headers=headers or {}), timeout=30) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()
    except OSError as e:
        return 0, str(e)


def wait_for(what, condition, limit_s=60.0):
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("not within %g s: %s" % (limit_s, what))
        time.sleep(0.1)


class Pages:
    """/NODE/metrics by made_page from begin() on; /FILE of `static` as it stands. A node in `gone` answers 503."""

    def __init__(self, made_page, static):
        self.made_page, self.static, self.gone, self.start_s = made_page, static, set(), None
        self.made, self.making = {}, threading.Lock()
        pages = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # the name is http.server's
                status, kind, body = pages.answer(self.path.strip("/"), self.headers.get("Accept", ""))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except BrokenPipeError:
                    pass  # a Prometheus that was ended meanwhile

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, accept):
        node = path.removesuffix("/metrics")
        if path in self.static:
            return 200, "text/plain; version=0.0.4", self.static[path].encode()
        if node in self.gone or self.start_s is None:
            return 503, "text/plain", b"gone"
        openmetrics = "openmetrics" in accept
        body = self.page_of_now(node, "openmetrics" if openmetrics else "text")
        kind = "application/openmetrics-text; version=1.0.0; charset=utf-8" if openmetrics else "text/plain; version=0.0.4; charset=utf-8"
        return 200, kind, body

    def begin(self):
        self.start_s = time.time()

    def page(self, node, form="text"):
        now_s = time.time()
        return subprocess.run([self.made_page, "print", node, "%.3f" % (self.start_s or now_s), "%.3f" % now_s, form], stdout=subprocess.PIPE,
                              check=True).stdout

    def page_of_now(self, node, form):
        """Made once in half a second, however many ask."""
        with self.making:
            made_s, body = self.made.get((node, form), (0, b""))
            if time.monotonic() - made_s > 0.5:
                made_s, body = self.made[(node, form)] = time.monotonic(), self.page(node, form)
            return body

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Process:
    """A server and its log; it gets TERM, then KILL."""

    def __init__(self, folder, command, env=None):
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
                                            env={**os.environ, **(env or {})})

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Prometheus(Process):
    def __init__(self, folder, config, port=None):
        folder.mkdir(parents=True)
        (folder / "prometheus.yml").write_text(config)
        self.url = "http://127.0.0.1:%d" % (port := port or free_port())
        super().__init__(folder, ["prometheus", "--config.file=%s/prometheus.yml" % folder, "--storage.tsdb.path=%s/data" % folder,
                                  "--web.listen-address=127.0.0.1:%d" % port, "--web.enable-remote-write-receiver", "--log.level=warn"])
        wait_for("Prometheus is ready: %s" % self.log.read_text()[-500:], lambda: get(self.url + "/-/ready")[0] == 200)

    def query(self, expr, at_s=None):
        """Instant vector as [(labels, value)]; an error of PromQL is raised."""
        form = {"query": expr}
        if at_s:
            form["time"] = "%.3f" % at_s
        _, text = get(self.url + "/api/v1/query?" + urllib.parse.urlencode(form))
        answer = json.loads(text)
        if answer["status"] != "success":
            raise AssertionError("%s: %s" % (expr, answer["error"]))
        if answer["data"]["resultType"] == "scalar":
            return [({}, float(answer["data"]["result"][1]))]
        return [(r["metric"], float(r["value"][1])) for r in answer["data"]["result"]]

    def api(self, path):
        return json.loads(get(self.url + path)[1])["data"]


class NodeExporter(Process):
    def __init__(self, folder, textfiles):
        self.address = "127.0.0.1:%d" % (port := free_port())
        super().__init__(folder, ["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                                  "--collector.textfile.directory=%s" % textfiles, "--web.listen-address=127.0.0.1:%d" % port])
        wait_for("node-exporter answers", lambda: get("http://%s/metrics" % self.address)[0] == 200)


class Influx(Process):
    def __init__(self, folder):
        self.url = "http://127.0.0.1:%d" % (port := free_port())
        folder.mkdir(parents=True)
        (folder / "influx.conf").write_text(
            'reporting-disabled = true\nbind-address = "127.0.0.1:%d"\n[meta]\ndir = "%s/meta"\n[data]\ndir = "%s/data"\nwal-dir = "%s/wal"\n'
            '[http]\nbind-address = "127.0.0.1:%d"\nlog-enabled = false\n[monitor]\nstore-enabled = false\n'
            % (free_port(), folder, folder, folder, port))
        super().__init__(folder, ["influxd", "-config", folder / "influx.conf"])
        wait_for("InfluxDB answers", lambda: get(self.url + "/ping")[0] == 204)

    def query(self, text, database=None):
        """The series of one statement: [(name, tags, {column: value} rows)]."""
        form = {"q": text, "epoch": "s", **({"db": database} if database else {})}
        status, answer = get(self.url + "/query", data=urllib.parse.urlencode(form).encode())
        result = json.loads(answer)["results"][0] if status == 200 else {"error": answer}
        if "error" in result:
            raise AssertionError("%s: %s" % (text, result["error"]))
        return [(s["name"], s.get("tags", {}), [dict(zip(s["columns"], v)) for v in s["values"]]) for s in result.get("series", [])]


def installed(program):
    return any(pathlib.Path(d, program).exists() for d in os.environ.get("PATH", "").split(":") + ["/usr/bin", "/usr/sbin"])
