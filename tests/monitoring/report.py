"""report.py CAPSTAN - capstan report on a usage store that is made here: spans, formats, names that want to be formulas or markup. TAP lines."""
import csv
import html.parser
import io
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from live import check, equal

# SOURCE src/exporter/account/usage.c, format 1
SUMS = "allocated_s, active_s, energy_j, no_process_s, idle_s, low_s, throttled_s"
SCHEMA = ("CREATE TABLE pod(uid TEXT PRIMARY KEY, ns, pod, job, queue, user, node, device_kind, start_s, end_s, queue_wait_s, memory_high, "
          "memory_granted, idle_tail_s, %s) WITHOUT ROWID; CREATE TABLE slice(uid TEXT, hour INTEGER, %s, PRIMARY KEY(uid, hour)) WITHOUT ROWID;"
          "PRAGMA user_version = 1;" % (SUMS, SUMS))
HOUR = 1772928000 // 3600  # 2026-03-08T00:00:00Z: the day on which New York changes its clocks
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
        equal((found["by"], len(found["rows"])), (by, rows))
        equal(round(sum(r["allocatedHours"] for r in found["rows"]), 6), found["total"]["allocatedHours"])
    waits = {r["user"]: r["queueWaitSeconds"] for r in report.json("--by", "user", *day)["rows"]}
    equal((waits["alice"], waits["+1"]), (None, 60))  # unknown is not 0
    assert "--by" in report.run("--by", "colour", code=2)
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
    equal(sum(v == "img" for k, v in page.attributes if k == "role"), len(NAMES) + 1)  # a bar each, and one for all


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
        for name, fn in (("spans, in any time zone", spans), ("groupings add up, unknown is not 0", groupings),
                         ("CSV: quoting, and no formulas", csv_for_spreadsheets), ("a table leaves the terminal alone", table_for_terminals),
                         ("HTML: nothing from outside, no markup out of names", page_for_managers), ("the store is only read", read_only)):
            check("report: " + name, fn, report)
    finally:
        shutil.rmtree(folder)


main()
