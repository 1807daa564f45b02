"""report.py CAPSTAN - capstan report on a usage store that is made here: spans, formats, names that want to be formulas or markup. TAP lines."""
import csv
import html.parser
import http.server
import io
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import urllib.parse

from live import check, equal

# SOURCE src/exporter/account/usage.c, format 1
SUMS = "allocated_s, active_s, energy_j, no_process_s, idle_s, low_s, throttled_s"
SCHEMA = ("CREATE TABLE pod(uid TEXT PRIMARY KEY, ns, pod, job, queue, user, node, device_kind, start_s, end_s, queue_wait_s, memory_high, "
          "memory_granted, idle_tail_s, %s) WITHOUT ROWID; CREATE TABLE slice(uid TEXT, hour INTEGER, %s, PRIMARY KEY(uid, hour)) WITHOUT ROWID;"
          "PRAGMA user_version = 1;" % (SUMS, SUMS))
HOUR = 1772928000 // 3600  # 2026-03-08T00:00:00Z: the day on which New York changes its clocks
CAPACITY = ("CREATE TABLE capacity(hour INTEGER, node TEXT, model TEXT, gpu_s REAL NOT NULL, PRIMARY KEY(hour, node, model)) WITHOUT ROWID;")
NAMES = ("alice", "=cmd|' /C calc'!A0", "+1", "@SUM(1)", "-2", 'carol, "the" <b>&', "two\nlines", "\x1b[2J", "")


def make_store(path):
    db = sqlite3.connect(path)
    db.executescript(SCHEMA)
    for n, name in enumerate(NAMES):
        uid = "u%d" % n
        db.execute("INSERT INTO pod VALUES(?, 'ml', ?, '', '', ?, 'n1', '', 0, 0, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)",
                   (uid, "p%d" % n, name, -1 if name == "alice" else 60))
        for hour in range(48):
            db.execute("INSERT INTO slice VALUES(?, ?, 3600, 900, 3.6e5, 0, 1800, 0, 0)", (uid, HOUR + hour))
    db.commit()
    db.close()


class Report:
    def __init__(self, capstan, store):
        self.capstan, self.store = capstan, store

    def run(self, *options, code=0, zone="UTC"):
        done = subprocess.run([self.capstan, "report", "--store", self.store, *options], stdin=subprocess.DEVNULL, capture_output=True,
                              env={**os.environ, "TZ": zone}, timeout=60)
        assert done.returncode == code, "%s: %d, not %d: %s" % (options, done.returncode, code, done.stderr.decode())
        return done.stdout.decode() if code == 0 else done.stderr.decode()

    def json(self, *options, **more):
        return json.loads(self.run("--output", "json", *options, **more))


def spans(report):
    day = ("--since", "2026-03-08", "--until", "2026-03-09")
    for zone in ("UTC", "America/New_York", "Asia/Seoul"):  # where this day has 23 hours, too
        found = report.json(*day, zone=zone)
        equal((found["since"], found["until"]), ("2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z"))
        equal(found["total"]["allocatedHours"], 24 * len(NAMES))
    found = report.json("--since", "2026-03-08T09:00:00+09:00", "--until", "2026-03-07T22:30:00-05:00")
    equal((found["since"], found["until"]), ("2026-03-08T00:00:00Z", "2026-03-08T04:00:00Z"))
    equal(found["total"]["allocatedHours"], 4 * len(NAMES))
    for span in ("30m", "24h", "7d", "4w", "1.5h", "0.5d"):
        report.run("--since", span)
    for span in ("tomorrow", "", " 7d", "-1d", "7", "7x", "d", "2026-13-01", "2026-02-30", "2026-03-08T08:00", "99999w", "inf", "nan", "0x1d", "0d"):
        assert "--since" in report.run("--since", span, code=2), span
    assert "before --until" in report.run("--since", "1h", "--until", "2h", code=2)


def groupings(report):
    day = ("--since", "2026-03-08", "--until", "2026-03-09")
    for by, rows in (("namespace", 1), ("queue", 1), ("user", len(NAMES)), ("job", 1), ("pod", len(NAMES)), ("node", 1)):
        found = report.json("--by", by, *day)
        equal((found["by"], len(found["rows"]), found["total"]["capacityHours"]), (by, rows, None))  # a store of before
        equal(round(sum(r["allocatedHours"] for r in found["rows"]), 6), found["total"]["allocatedHours"])
    waits = {r["user"]: r["queueWaitSeconds"] for r in report.json("--by", "user", *day)["rows"]}
    equal((waits["alice"], waits["+1"]), (None, 60))  # unknown is not 0
    assert "--by" in report.run("--by", "colour", code=2)
    done = subprocess.run([report.capstan, "report", "--store", report.store, "--by", "user", *day, "--user", ""], capture_output=True, text=True)
    assert "capstan.dev/user" in done.stderr, done.stderr
    assert "html" in report.run("--output", "xml", code=2)


def csv_for_spreadsheets(report):
    rows = list(csv.reader(io.StringIO(report.run("--by", "user", "--since", "2026-03-08", "--output", "csv"), newline="")))
    equal({len(r) for r in rows}, {len(rows[0])})
    users = {r[0] for r in rows[1:]}
    equal(users, {"alice", "'=cmd|' /C calc'!A0", "'+1", "'@SUM(1)", "'-2", 'carol, "the" <b>&', "two\nlines", "\x1b[2J", "-"})
    wait = rows[0].index("queueWaitSeconds")
    equal({r[wait] for r in rows if r[0] == "alice"}, {""})


def table_for_terminals(report):
    text = report.run("--by", "user", "--since", "2026-03-08")
    assert "\x1b" not in text, "an escape sequence out of a name"
    equal(len(text.splitlines()), len(NAMES) + 2)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


def page_for_managers(report):
    text = report.run("--by", "user", "--since", "2026-03-08", "--until", "2026-03-10", "--output", "html", "--title", 'a "<script>"')
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "b>"} & set(page.tags), page.tags
    outside = [v for k, v in page.attributes if k in ("src", "href", "srcset", "onload") or "url(" in (v or "")]
    equal((outside, "@import" in text, "http" in text), ([], False, False))
    shown = " ".join(page.text)
    for part in ('carol, "the" <b>&', "8 March 2026 00:00", "10 March 2026 00:00", '"<script>"'):
        assert part in shown, part + " is not in " + shown
    equal(sum(v == "img" for k, v in page.attributes if k == "role"), len(NAMES) + 2 + 1)  # a bar each, one for each day, and one for all


# What is asserted below is worked out by hand: WEEKS of 168 hours, in each 4 A100 and 2 T4, of which "train" has 3 A100 for 100 hours (half
# used), "notebook" 1 T4 for 50 hours (nothing had opened it), and in the second week "sweep" 2 A100 for 24 hours (all used).
WEEK = HOUR + 24  # Monday, 9 March 2026
WEEKS = 2
JOBS = (("train", "ml", "ada", "a1", 3, 0, 100, 0.5, 0), ("notebook", "web", "bob", "t1", 1, 10, 50, 0, 1), ("sweep", "ml", "bob", "a1", 2, 168, 24, 1, 0))


def make_cluster(path, jobs=JOBS, weeks=WEEKS):
    db = sqlite3.connect(path)
    db.executescript(SCHEMA + CAPACITY)
    for hour in range(168 * weeks):
        db.execute("INSERT INTO capacity VALUES(?, 'a1', 'NVIDIA A100-SXM4-40GB', ?)", (WEEK + hour, 4 * 3600))
        db.execute("INSERT INTO capacity VALUES(?, 't1', 'Tesla T4', ?)", (WEEK + hour, 2 * 3600))
    for job, ns, user, node, gpus, first, hours, used, unopened in jobs:
        for week in range(weeks if job != "sweep" else 1):
            uid = "%s-%d" % (job, week)
            db.execute("INSERT INTO pod VALUES(?, ?, ?, ?, 'q', ?, ?, ?, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)",
                       (uid, ns, uid, job, user, node, "1g.5gb" if job == "sweep" else ""))
            for hour in range(first, first + hours):
                given = gpus * 3600
                db.execute("INSERT INTO slice VALUES(?, ?, ?, ?, 0, ?, 0, 0, 0)",
                           (uid, WEEK + 168 * week + hour, given, given * used, given * unopened))
    db.commit()
    db.close()


ALL = ("--since", "2026-03-09", "--until", "2026-03-23")
PRICES = ("--price", "a100=2,T4=0.5")


def who_pays(report):
    found = report.json(*ALL, *PRICES, "--by", "user", "--currency", "EUR")
    total, rows = found["total"], {row["user"]: row for row in found["rows"]}
    # Given 2 * 300 + 2 * 50 + 48 = 748; there was 336 * 6 = 2016; used 2 * 150 + 48 = 348; wasted 2 * 50.
    equal([total[k] for k in ("allocatedHours", "capacityHours", "unallocatedHours", "activeHours", "wastedHours")], [748, 2016, 1268, 348, 100])
    # 648 A100 at 2, 100 T4 at 0.5; there was 1344 * 2 + 672 * 0.5 = 3024.
    equal([total[k] for k in ("cost", "wastedCost", "unallocatedCost")], [1346, 50, 3024 - 1346])
    equal([rows[u]["cost"] for u in ("ada", "bob")], [1200, 146])
    equal([rows[u]["capacityHours"] for u in ("ada", "bob")], [None, None])
    equal(found["currency"], "EUR")
    equal([(t["week"], t["allocatedHours"], t["unallocatedHours"], t["cost"], t["whole"]) for t in found["trend"]],
          [("2026-W11", 350, 658, 625, True), ("2026-W12", 398, 610, 721, True)])
    models = {row["model"]: row for row in report.json(*ALL, "--by", "model")["rows"]}
    equal([models["NVIDIA A100-SXM4-40GB"][k] for k in ("allocatedHours", "capacityHours", "unallocatedHours")], [648, 1344, 696])
    said = report.run(*ALL, "--price", "A100=2", "--by", "user")
    assert said.splitlines()[-1].startswith("all there was") and " 2688.00 " in said.splitlines()[-1] + " ", said
    equal([line.split()[:4] for line in said.splitlines()[-2:]], [["given", "to", "nobody", "1268.000"], ["all", "there", "was", "2016.000"]])


def ranked_by_waste(report):
    rows = report.json(*ALL, "--by", "job", "--sort", "wasted")["rows"]
    equal([row["job"] for row in rows], ["web/notebook", "ml/sweep", "ml/train"])
    rows = report.json(*ALL, "--by", "job", "--top", "1")["rows"]
    equal([(row["job"], row["allocatedHours"]) for row in rows], [("ml/train", 600), ("2 others", 148)])
    assert "--price" in report.run(*ALL, "--sort", "cost", code=2)
    assert "--top" in report.run(*ALL, "--top", "0", code=2)


def comparable_spans(report):
    found = report.json("--period", "2026-W12", "--compare", "previous", "--by", "job")
    equal((found["since"], found["comparedWith"]["since"]), ("2026-03-16T00:00:00Z", "2026-03-09T00:00:00Z"))
    rows = {row["job"]: row for row in found["rows"]}
    equal([rows["ml/sweep"][k] for k in ("allocatedHours", "allocatedHoursBefore", "allocatedChangePercent")], [48, 0, None])
    equal(found["total"]["allocatedChangePercent"], 13.7)  # 398 / 350
    # The last three days have nothing of train, which ran for 100 hours of the week: it is a row all the same.
    found = report.json("--since", "2026-03-21", "--until", "2026-03-23", "--compare", "7d", "--by", "job")
    equal((found["comparedWith"]["since"], found["comparedWith"]["short"], found["rows"]), ("2026-03-14T00:00:00Z", False, []))
    found = report.json("--since", "2026-03-20", "--until", "2026-03-21", "--compare", "4d", "--by", "job")
    rows = {row["job"]: (row["allocatedHours"], row["allocatedHoursBefore"]) for row in found["rows"]}
    equal(rows, {"ml/train": (12, 72), "ml/sweep": (0, 48), "web/notebook": (0, 14)})
    equal(report.json("--period", "2026-W11", "--compare", "previous")["comparedWith"]["short"], True)
    assert "--compare" in report.run("--by", "week", "--compare", "previous", code=2)
    assert "--compare" in report.run("--compare", "yesterday", code=2)
    assert "--period" in report.run("--period", "W11", code=2)
    assert "--period" in report.run("--period", "this-week", "--since", "7d", code=2)


def by_time(report):
    rows = report.json("--by", "week", "--since", "2026-01-01", "--until", "2026-06-01")["rows"]  # weeks before and after have nothing
    equal([(row["week"], row["allocatedHours"], row["capacityHours"]) for row in rows], [("2026-W11", 350, 1008), ("2026-W12", 398, 1008)])
    assert "weeks or months" in report.run("--by", "day", "--since", "2024-01-01", "--until", "2026-06-01", code=2)


def one_team(report):
    found = report.json(*ALL, "--namespace", "web", "--by", "job")
    equal((found["total"]["allocatedHours"], found["total"]["capacityHours"], len(found["rows"])), (100, None, 1))
    equal(report.json(*ALL, "--queue", "nothing")["rows"], [])


def page_to_sign(report):
    text = report.run(*ALL, *PRICES, "--by", "user", "--currency", "EUR", "--compare", "previous", "--output", "html")
    shown = " ".join(" ".join(Page(text).text).split())
    for part in ("2016.0 GPU-hours there were", "37 % of them were given", "1346.00 EUR for what was given", "1678.00 EUR for what nobody had",
                 "63 % given to nobody (1268.0 h)", "2026-W11", "bob : 100.0 of 148.0 GPU-hours, 50.00 EUR; mostly never opened",
                 "given to nobody 1268.00", "there was 2016.00", "what is known begins later than that"):
        assert part in shown, part + " is not in " + shown
    assert "@page{size:A4" in text


PROXY = "/api/v1/namespaces/mon/services/prometheus-operated:9090/proxy/api/v1/query"


class Cluster(http.server.BaseHTTPRequestHandler):
    """An API server that has Services, and forwards to the Prometheus of one."""
    services = [{"metadata": {"name": "web", "namespace": "a"}, "spec": {"ports": [{"port": 9090, "name": "http"}]}},
                {"metadata": {"name": "p", "namespace": "b", "labels": {"app.kubernetes.io/name": "prometheus"}}, "spec": {"ports": [{"port": 9090}]}},
                {"metadata": {"name": "prometheus-operated", "namespace": "mon"}, "spec": {"ports": [{"port": 9090, "name": "web"}]}}]

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        if url.path == "/api/v1/services":
            answer = {"kind": "ServiceList", "apiVersion": "v1", "metadata": {}, "items": self.services}
        elif url.path == PROXY and self.headers["Authorization"] == "Bearer secret":
            query, result = urllib.parse.parse_qs(url.query)["query"][0], []
            if "gpu_pod_allocated" in query:
                result = [{"metric": {"namespace": "ml", "pod": "p"}, "value": [1, "7200"]}]
            elif "gpu_device_info" in query:
                result = [{"metric": {"node": "n", "product": "T4"}, "value": [1, "36000"]}]
            answer = {"status": "success", "data": {"resultType": "vector", "result": result}}
        else:
            self.send_error(403)
            return
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def finds_its_cluster(report):
    """No store beside the kubeconfig: a Prometheus of the cluster, through the API server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cluster)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folder = pathlib.Path(report.store).parent / "elsewhere"
    folder.mkdir()

    def run(token):
        (folder / "config").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:%d" % server.server_port}}],
            "users": [{"name": "u", "user": {"token": token}}]}))
        return subprocess.run([report.capstan, "report", "--kubeconfig", str(folder / "config"), "--since", "1d", "-o", "table"],
                              capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": str(folder), "KUBECONFIG": ""})
    try:
        done = run("secret")
        equal((done.returncode, "read from Prometheus mon/prometheus-operated of the cluster" in done.stderr), (0, True))
        equal([line.split() for line in done.stdout.splitlines()[1:2]][0][:3], ["ml", "1", "2.000"])
        equal(done.stdout.splitlines()[-1].split(), ["all", "there", "was", "10.000"])
        assert "services/proxy" in run("wrong").stderr
        Cluster.services = Cluster.services[:1]
        done = run("secret")
        equal((done.returncode, "--prometheus" in done.stderr), (3, True))
        (folder / "usage.db").write_bytes(pathlib.Path(report.store).read_bytes())
        assert "elsewhere/usage.db" in run("secret").stderr
    finally:
        server.shutdown()


def read_only(report):
    """As the store of a node that is mounted read-only: nothing is written, not even beside it."""
    folder = pathlib.Path(report.store).parent
    before = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    report.run("--since", "2026-03-08")
    equal({p.name: p.stat().st_mtime_ns for p in folder.iterdir()}, before)


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        make_store(folder / "usage.db")
        report = Report(str(pathlib.Path(sys.argv[1]).resolve()), str(folder / "usage.db"))
        (folder / "cluster").mkdir()
        make_cluster(folder / "cluster/usage.db")
        cluster = Report(report.capstan, str(folder / "cluster/usage.db"))
        for name, fn in (("what there was, was given, used and wasted, and what it costs", who_pays), ("ranked by waste", ranked_by_waste),
                         ("spans that can be compared", comparable_spans), ("by week", by_time), ("one team", one_team),
                         ("a page to sign", page_to_sign), ("finds its cluster", finds_its_cluster)):
            check("report: " + name, fn, cluster)
        for name, fn in (("spans, in any time zone", spans), ("groupings add up, unknown is not 0", groupings),
                         ("CSV: quoting, and no formulas", csv_for_spreadsheets), ("a table leaves the terminal alone", table_for_terminals),
                         ("HTML: nothing from outside, no markup out of names", page_for_managers), ("the store is only read", read_only)):
            check("report: " + name, fn, report)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
