"""test_page.py - the web page in a real Chromium against `capstan up`: what it shows, as it changes; by keyboard; with hostile names; narrow
and wide. PICTURES names a folder for a picture of each page."""
import gzip
import inspect
import json
import os
import socket
import subprocess
import sys
import time
import traceback

import browser
import cluster
from cluster import wait_for

PICTURES = os.environ.get("PICTURES")
HELD = "return document.querySelector('#held').textContent === arguments[0]"


class Page:
    """A cluster of two teams on 2 x 8 A100, and a browser beside it; each test takes them as they are."""

    def __init__(self):
        self.c = cluster.Cluster(
            "--nodes", "2:a100-40gb", "--nodes", "1:a100-40gb,gpus=2,mig=1g.5gb", "--nodes", "1:t4,gpus=2,mps=10", "--nodes", "1:cpu"
        )
        self.b = None
        if not browser.missing():
            self.b = browser.Browser()
            self.b.resize(1280, 860)

    def go(self, where):
        """Another page of the same document, or the first."""
        if self.b.run("return location.pathname") == "/ui/":
            self.b.run("location.hash = arguments[0]", "#/" + where)
        else:
            self.b.open(self.c.url + "/ui/#/" + where)
        self.b.wait("the page is live", "return document.querySelector('#live')?.dataset.state === 'live'")

    def job(self, name):
        return next((row for row in self.c.get("/ui/api/cluster")["set"] if row["k"] == "j" and row["n"] == name), None)


def test_root_sends_browsers_to_the_page(p):
    p.b.open(p.c.url + "/")
    assert p.b.run("return location.pathname") == "/ui/"
    p.b.wait("all nodes are counted", "return document.querySelector('#nodes').textContent === '5'")
    status, headers, text = p.c.ask("/", headers={"Accept": "application/json, */*"})
    assert status == 200 and "/api/v1" in json.loads(text)["paths"], (status, text)


def test_gpus_as_a_map_and_as_a_table(p):
    p.go("gpus")
    assert p.b.run(
        "const c = document.querySelector('canvas'), p = c.getContext('2d'); return [c.width > 600, new Set(p.getImageData(0, 0, c.width, c.height).data).size > 8]"
    ) == [True, True]
    p.b.click(".tools > button")
    p.b.wait_text("a100-40gb-mig-0", "tbody")
    assert "as=table" in p.b.run("return location.hash")
    rows = {row.split("\t")[0]: row for row in p.b.texts("tbody tr")}
    assert "NVIDIA-A100-SXM4-40GB" in rows["a100-40gb-0"] and "ready" in rows["cpu-0"], rows


def test_a_pod_that_starts_is_seen_at_once(p):
    p.go("gpus?as=table")
    p.c.pod("hello", gpus=2)
    p.b.wait("2 of 20 GPUs are held", HELD, "2 / 20")
    p.b.wait_text("default/hello", "tbody")
    p.go("jobs")
    p.b.wait_text("default/hello", "tbody")
    p.c.ask("/api/v1/namespaces/default/pods/hello", "DELETE")
    p.b.wait("it is gone", HELD, "0 / 20")
    p.b.wait("no row is left", "return !document.querySelector('tbody').innerText.includes('hello')")


def test_queues_show_quota_loans_and_who_waits(p):
    p.c.teams()
    p.c.job("sweep", 3, 4, "main", "team-blue")
    p.go("queues")
    p.b.wait_text("12 of 8 used, 4 of it borrowed", "main")
    p.c.job("big", 3, 8, "main", "team-red")
    p.b.wait_text("team-red/big", "main")
    p.b.wait_text("0 admitted · 1 waiting", "main")
    p.go("queue/red")
    p.b.wait_text("Waiting", "main")


def test_queues_of_kai_stand_by_themselves(p):
    queues = "/apis/scheduling.run.ai/v2/queues"
    free = {"quota": -1, "limit": -1}
    for name, spec in (("org", {}), ("research", {"parentQueue": "org"})):
        p.c.create(queues, {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name},
                            "spec": {**spec, "resources": {"gpu": {"quota": 2, "limit": 3}, "cpu": free, "memory": free}}})
    p.go("queues")
    p.b.wait_text("KAI Queue · below org", "main")
    p.b.wait_text("0 of 2 used, at most 3", "main")
    assert "KAI" in p.b.texts("h2"), p.b.texts("h2")
    p.go("queue/kai:research")
    p.b.wait_text("KAI Queue · below org", "main")
    for name in ("research", "org"):
        p.c.ask(f"{queues}/{name}", "DELETE")
    p.b.wait_text("There is no such queue", "main")


def test_a_job_says_why_it_waits_and_what_would_help(p):
    key = wait_for("a reason", lambda: (p.job("big") or {}).get("x") and p.job("big")["id"][2:])
    p.go("job/" + key)
    p.b.wait_text("Why it waits", "main")
    tree = p.b.text(".tree")
    assert "nvidia.com/gpu" in tree and p.b.count(".tree code") > 0, tree
    p.b.wait_text("1 of 1 in red", "main")
    assert "24" in p.b.text(".facts"), p.b.text(".facts")


def test_what_would_help_is_said(p):
    p.c.pod("wide", gpus=8)
    wait_for("it waits", lambda: (p.job("wide") or {}).get("x"))
    p.go("job/pod/default/wide")
    p.b.wait_text("What would help", "main")

    def said():
        done = subprocess.run(
            [cluster.CAPSTAN, "why", "pod/wide", "--kubeconfig", p.c.dir + "/kubeconfig", "-o", "json"],
            capture_output=True,
            text=True,
            check=False,
        )
        return [one["message"] for one in json.loads(done.stdout).get("remedies", [])]

    wait_for("the command says the same", lambda: said() and p.b.texts(".remedies li") == said())


def test_a_job_that_runs_says_where(p):
    key = p.job("sweep")["id"][2:]
    p.go("job/" + key)
    p.b.wait_text("Pods (3)", "main")
    p.b.click("tbody a")
    p.b.wait_text("GPUs and who is on them", "main")
    assert "#/node/a100-40gb-" in p.b.run("return location.hash")
    p.b.wait_text("team-blue/sweep", "main")
    p.b.wait_text("GPU-", "main")


def test_parts_of_a_gpu_stand_together(p):
    p.go("node/a100-40gb-mig-0")
    p.b.wait(
        "14 MIG devices of 2 GPUs",
        "return document.querySelectorAll('.gpus tbody tr').length === 14 && document.querySelectorAll('.gpus tbody th').length === 2",
    )
    p.go("node/t4-mps-0")
    p.b.wait(
        "20 shares of 2 GPUs",
        "return document.querySelectorAll('.gpus tbody tr').length === 20 && document.querySelectorAll('.gpus tbody th').length === 2",
    )


def test_shares_of_a_gpu_are_as_large_as_they_are(p):
    p.c.pod("quarter", gpus=0, node="t4-mps-0", annotations={"gpu-fraction": "0.25"})
    p.c.pod("half", gpus=0, node="t4-mps-0", annotations={"gpu-fraction": "0.5"})
    p.go("node/t4-mps-0")
    p.b.wait("two shares and the rest of one GPU, 10 devices of the other", "return document.querySelectorAll('.gpus tbody tr').length === 13")
    parts = [one for one in p.b.texts(".gpus tbody tr") if "share · " in one]
    assert len(parts) == 3, parts
    for size, who in (("25 %", "default/quarter"), ("50 %", "default/half"), ("25 %", "free")):
        assert any("share · " + size in one and who in one for one in parts), (size, who, parts)
    p.c.ask("/api/v1/namespaces/default/pods/quarter?gracePeriodSeconds=0", "DELETE")
    p.c.ask("/api/v1/namespaces/default/pods/half?gracePeriodSeconds=0", "DELETE")
    p.b.wait("as it was", "return document.querySelectorAll('.gpus tbody tr').length === 20")


def test_sessions_of_a_node_as_its_agent_tells_them(p):
    p.go("node/cpu-0")
    p.b.wait_text("No agent has told which processes are on its devices.", "main")
    p.c.pod("works", gpus=2, node="a100-40gb-1")
    p.go("node/a100-40gb-1")
    p.b.wait("a process on each of its GPUs", "return [...document.querySelectorAll('.sessions tbody tr')].filter(r => r.textContent.includes('default/works')).length === 2")
    row = next(one for one in p.b.texts(".sessions tbody tr") if "default/works" in one)
    assert "simulated" in row and "main" in row and "GiB" in row and "80 %" in row, row
    assert p.b.run("return [...document.querySelectorAll('.sessions tbody tr')].every(r => /^[0-7]$/.test(r.cells[0].textContent))")
    p.b.click(".sessions a[href='#/job/pod/default/works']")
    p.b.wait("the pod's page", "return location.hash === '#/job/pod/default/works'")
    p.b.run("history.back()")
    p.c.ask("/api/v1/namespaces/default/pods/works?gracePeriodSeconds=0", "DELETE")
    p.b.wait("who has gone is gone", "return document.querySelector('h1')?.textContent === 'a100-40gb-1' && !document.querySelector('main').textContent.includes('default/works')", limit_s=60)
    p.c.patch("/api/v1/nodes/cpu-0", {"metadata": {"annotations": {"capstan.dev/gpu-sessions": json.dumps({"at": 1, "more": 3, "sessions": [
        {"unit": "<img src=x onerror=pwned=1>", "pid": 7, "command": "<b>x</b>\u202e", "pod": "a/<i>"}, 5, {"pid": "x", "memory": -4}]})}}})
    p.go("gpus")
    p.go("node/cpu-0")
    p.b.wait_text("<b>x</b>\u00b7", "main")
    p.b.wait_text("and 3 more: capstan sessions on the node", "main")
    p.b.wait_text("too long ago to go by", "main")
    assert p.b.run("return window.pwned === undefined && !document.querySelector('main img')")
    assert p.c.ask("/ui/api/sessions?name=none")[0] == 404 and p.c.ask("/ui/api/sessions")[0] == 400
    p.c.patch("/api/v1/nodes/cpu-0", {"metadata": {"annotations": {"capstan.dev/gpu-sessions": None}}})


def test_timeline_has_who_ran_and_who_waits(p):
    p.go("timeline")
    p.b.wait(
        "a bar of who runs, one of who waits",
        "return document.querySelector('.gantt rect.waits') && document.querySelector('.gantt a[aria-label*=\"team-blue/sweep\"]')",
    )


def test_a_known_end_is_told_and_who_may_start_then(p):
    p.c.job("limited", 1, 1, "main", "team-blue", most_s=300)
    p.go("job/" + wait_for("it runs", lambda: (p.job("limited") or {}).get("u") and p.job("limited")["id"][2:]))
    p.b.wait_text("at the latest", ".facts")
    p.c.job("after", 1, 4, "main", "team-blue")
    p.go("job/" + wait_for("it waits", lambda: (p.job("after") or {}).get("x") and p.job("after")["id"][2:]))
    p.b.wait_text("the end of Job team-blue/limited", ".remedies")
    assert p.b.run("return document.querySelector('.remedies a').textContent") == "Job team-blue/limited"
    p.b.wait_text("May start", ".facts")
    p.b.wait_text("Starts", ".facts", limit_s=60)
    p.go("timeline")
    p.b.wait("until when it may run on", "return document.querySelector('.gantt rect.planned:not(.starts)')")
    p.b.wait("when the other one starts", "return document.querySelector('.gantt a[aria-label*=\"team-blue/after\"] rect.starts')")


def test_usage_over_time_by_team(p):
    p.go("usage")
    p.b.wait(
        "two samples",
        "return document.querySelectorAll('.plot path').length > 0 && document.querySelector('tbody').innerText.includes('blue')",
        limit_s=40,
    )


def test_events_tell_what_happens(p):
    p.go("events")
    p.b.wait_text("Job team-blue/sweep runs", "main", limit_s=30)
    p.c.patch("/api/v1/nodes/cpu-0", {"spec": {"unschedulable": True}})
    p.b.wait_text("node cpu-0 is cordoned", "main")
    p.b.click(".events a[href='#/node/cpu-0']")
    p.b.wait_text("cordoned", ".facts")


def test_placement_is_said_where_a_queue_has_its_own(p):
    p.go("queue/red")
    p.b.wait_text("Nodes are chosen by capstan, the policy of all.", "main")
    queue = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/red"
    p.c.patch(queue, {"metadata": {"annotations": {"capstan.dev/placement": "fgd+load"}}})
    p.b.wait_text("Nodes are chosen by fgd+load, the queue's own policy.", "main")
    p.go("queues")
    p.b.wait_text("nodes by fgd+load", "main")
    p.go("job/" + p.job("big")["id"][2:])
    p.b.wait_text("fgd+load, the queue's own policy", ".facts")
    p.c.patch(queue, {"metadata": {"annotations": {"capstan.dev/placement": "fdg"}}})
    p.go("queue/red")
    p.b.wait_text("names no policy", ".problem")
    p.b.wait_text("Nodes are chosen by fgd+load", "main")


def test_a_gang_that_hangs_or_has_lost_somebody_says_so(p):
    group = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
    about = {"name": "pair", "annotations": {"capstan.dev/hung-after-seconds": "10"}}
    p.c.create(group, {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": about, "spec": {"minMember": 2}})
    for i in range(2):
        p.c.pod("pair-%d" % i, group="pair", annotations={"capstan.dev/gpu-activity": "0"})
    p.go("job/" + wait_for("it hangs", lambda: (p.job("pair") or {}).get("hg") and p.job("pair")["id"][2:], 60))
    p.b.wait_text("it hangs: none of its GPUs does anything", ".facts")
    p.b.wait_text("hangs", "h1")
    p.go("events")
    p.b.wait_text("PodGroup default/pair hangs", "main")
    p.c.ask("/api/v1/namespaces/default/pods/pair-1?gracePeriodSeconds=0", "DELETE")
    p.go("jobs?q=pair")
    p.b.wait_text("1 of 2 pods are left", "tbody")


def test_search_by_keyboard(p):
    p.go("gpus")
    p.b.run("document.activeElement.blur()")
    p.b.press("/")
    assert p.b.run("return document.activeElement.id") == "search"
    p.b.press("sweep")
    p.b.wait_text("team-blue/sweep", "#found")
    p.b.press("Down", "Enter")
    p.b.wait("the job's page", "return location.hash.includes('job/workload/team-blue')")
    assert p.b.run("return document.activeElement.tagName") == "MAIN" or p.b.run("return document.activeElement.tagName") == "BODY"


def test_map_by_keyboard(p):
    p.go("gpus")
    p.b.run("document.querySelector('canvas').focus()")
    p.b.press("Right", "Right")
    p.b.wait_text("a100-40gb-0 · GPU 1", ".tip")
    assert "a100-40gb-0 · GPU 1" in p.b.run("return document.querySelector('#map-at').textContent")
    p.b.press("Enter")
    p.b.wait("the node's page", "return location.hash === '#/node/a100-40gb-0'")


def test_everything_has_a_name_for_screen_readers(p):
    for where in ("gpus", "queues", "jobs", "timeline", "usage", "events", "node/a100-40gb-0"):
        p.go(where)
        p.b.wait("a heading", "return document.querySelectorAll('main h1').length === 1")
        nameless = p.b.run(
            """return [...document.querySelectorAll('a, button, input, canvas, svg[role], [role=img]')].filter(e => !e.closest('[hidden]')
            && !(e.getAttribute('aria-label') || e.innerText || e.textContent || '').trim()).map(e => e.outerHTML.slice(0, 120))"""
        )
        assert not nameless, (where, nameless)
        level = p.b.run("return [...document.querySelectorAll('[tabindex]')].filter(e => e.tabIndex > 0).length")
        assert level == 0, where


def test_links_are_shared(p):
    p.go("jobs?s=waiting&q=big")
    p.b.wait(
        "only that one",
        "return document.querySelectorAll('tbody tr').length === 1 && document.querySelector('tbody').innerText.includes('team-red/big')",
    )
    p.b.open("about:blank")
    p.b.open(p.c.url + "/ui/#/jobs?s=waiting&q=big")
    p.b.wait(
        "the same again",
        "return document.querySelectorAll('tbody tr').length === 1 && document.querySelector('.tools input').value === 'big'",
    )


def test_dark_and_light(p):
    p.b.media(prefers_color_scheme="dark")
    p.go("gpus")
    dark = "return getComputedStyle(document.body).backgroundColor + getComputedStyle(document.documentElement).colorScheme"
    p.b.wait("dark, as the system is", "return document.documentElement.dataset.theme === 'dark'")
    before = p.b.run(dark)
    p.b.click("#theme")
    assert p.b.run(dark) != before
    p.b.run("localStorage.clear()")
    p.b.media(prefers_color_scheme="light")


def test_narrow_and_wide(p):
    for width, height in ((320, 640), (768, 1024), (3840, 2160)):
        p.b.resize(width, height)
        for where in ("gpus", "gpus?as=table", "queues", "jobs", "timeline", "usage", "events", "node/a100-40gb-0"):
            p.go(where)
            p.b.wait(
                "nothing stands out at %d px on %s" % (width, where), "return document.documentElement.scrollWidth <= innerWidth", limit_s=5
            )
    p.b.resize(1280, 860)


def test_hostile_names_are_text(p):
    """Markup in whatever a user may write, 253 letters, control characters: shown as they are, nothing runs, nothing stands out."""
    mark = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
    p.c.create(
        "/api/v1/nodes",
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n" + "0123456789" * 6, "labels": {"nvidia.com/gpu.product": "x" * 63}},
            "status": {"allocatable": {"nvidia.com/gpu": "2", "pods": "10"}, "conditions": [{"type": "Ready", "status": "True"}]},
        },
    )
    p.c.pod("a" * 253, gpus=1)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "marked"},
        "spec": {
            "schedulingGates": [],
            "nodeSelector": {"x": "y"},
            "priorityClassName": "",
            "containers": [{"name": "main", "image": mark, "resources": {"limits": {"nvidia.com/gpu": 1}}}],
        },
    }
    p.c.create("/api/v1/namespaces/default/pods", pod)
    cohort = "c" * 253
    p.c.create(
        "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": "q" * 253},
            "spec": {"cohortName": cohort, "namespaceSelector": {}, "resourceGroups": []},
        },
    )
    for where in (
        "gpus",
        "gpus?as=table",
        "queues",
        "jobs",
        "timeline",
        "events",
        "job/pod/default/" + "a" * 253,
        "queue/" + "q" * 253,
        "node/" + "%3Cb%3E",
        "job/" + "%3Cscript%3E",
    ):
        for width in (320, 1280):
            p.b.resize(width, 860)
            p.go(where)
            p.b.wait(
                "nothing stands out at %d px on %s" % (width, where[:30]),
                "return document.documentElement.scrollWidth <= innerWidth",
                limit_s=5,
            )
    # what no server lets in, straight into the store of the page
    p.go("jobs")
    p.b.run_later(
        """const [mark, done] = arguments, store = import('./store.js');
        store.then(s => { const t = Date.now(), evil = mark + String.fromCharCode(0, 7, 27, 0x202e) + 'x';
          s.apply({ t, set: [
            { id: 'n/' + evil, k: 'n', m: evil, ok: 1, g: [[0, 0, 1, 0]], res: [evil], h: [[evil, evil]] },
            { id: 'j/' + evil, k: 'j', kd: evil, ns: evil, n: evil, q: evil, s: evil, x: evil, c: t, b: t, u: t + 60000, g: 1, m: 1 },
            { id: 'q/' + evil, k: 'q', n: evil, kd: evil, co: evil, st: evil, why: evil, rows: [[evil, evil, 1, 1, 0, -1, -1]], lq: [[evil, 1, 1]], wait: [evil], waitn: 1 },
            { id: 'e/9999', k: 'e', t, l: 1, of: 'j', to: evil, x: evil }] });
          setTimeout(done, 300); });""",
        mark,
    )
    for where in ("jobs", "gpus", "gpus?as=table", "queues", "timeline", "events"):
        p.b.run("location.hash = arguments[0]", "#/" + where)
        time.sleep(0.2)
        assert p.b.run("return window.pwned === undefined && !document.querySelector('main img, main script')"), where
    p.b.run("location.hash = '#/events'")
    assert "\u202e" not in p.b.text("main") and "onerror" in p.b.text("main")
    p.b.resize(1280, 860)
    p.b.open("about:blank")


def test_the_page_is_guarded(p):
    _, headers, _ = p.c.ask("/ui/")
    rule = headers["Content-Security-Policy"]
    assert "default-src 'none'" in rule and "unsafe" not in rule and "frame-ancestors 'none'" in rule, rule
    _, headers, text = p.c.ask("/ui/")
    assert b"<script>" not in text and b"style=" not in text and b"onclick" not in text
    assert p.c.ask("/ui/", headers={"Host": "evil.example"})[0] == 403
    assert p.c.ask("/ui/api/cluster", headers={"Origin": "http://evil.example"})[0] == 403
    assert p.c.ask("/ui/api/cluster", "POST", {})[0] == 405
    assert p.c.ask("/ui/../etc/passwd")[0] == 404 and p.c.ask("/ui/api/why?job=x")[0] == 404 and p.c.ask("/ui/api/why")[0] == 400


def test_browsers_find_nothing_wrong_with_it(p):
    said = [line for line in p.b.console() if "favicon" not in line]
    assert not said, said


def test_files_are_compressed_and_kept(p):
    _, headers, packed = p.c.ask("/ui/app.js", headers={"Accept-Encoding": "gzip"})
    _, _, plain = p.c.ask("/ui/app.js", headers={"Accept-Encoding": "identity"})
    assert (
        headers["Content-Encoding"] == "gzip" and gzip.decompress(packed) == plain and headers["Content-Type"].startswith("text/javascript")
    )
    assert p.c.ask("/ui/app.js", headers={"If-None-Match": headers["ETag"]})[0] == 304


def test_a_viewer_that_stops_reading_costs_nothing_for_long(p):
    host, port = p.c.url.rsplit("/", 1)[1].split(":")
    with socket.create_connection((host, int(port))) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(b"GET /ui/api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for i in range(12):
            p.c.pod("churn-%d" % i, gpus=1, seconds=1)
        wait_for("others go on", lambda: p.job("churn-11"))
    assert p.c.process.poll() is None


def test_scheduler_serves_the_same_to_this_machine(p):
    kubeconfig = p.c.dir + "/kubeconfig"
    port = browser.free_port()
    command = [cluster.CAPSTAN, "scheduler", "--kubeconfig", kubeconfig, "--hold", "--scheduler-name", "nobody", "--address", ":%d" % port]
    one = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    here = cluster.Cluster.__new__(cluster.Cluster)
    here.url = "http://127.0.0.1:%d" % port
    try:

        def ready():
            try:
                return here.ask("/readyz")[0] == 200
            except OSError:
                return False

        wait_for("it has read everything", ready)
        assert (
            here.ask("/ui/", headers={"Host": "10.0.0.1"})[0] == 403
            and here.ask("/ui/", headers={"Origin": "http://evil.example"})[0] == 403
        )
        assert here.ask("/", headers={"Accept": "text/html"})[1]["Location"] == "/ui/" and here.ask("/")[0] == 404
        assert any(row["id"] == "n/a100-40gb-0" for row in here.get("/ui/api/cluster")["set"])
        other = next(
            (a for a in subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split() if ":" not in a),
            None,
        )
        if other:
            here.url = "http://%s:%d" % (other, port)
            assert here.ask("/ui/api/cluster", headers={"Host": "localhost"})[0] == 403 and here.ask("/metrics")[0] == 200
        if p.b:
            page = p.b
            page.open("http://localhost:%d/ui/#/gpus?as=table" % port)
            page.wait_text("a100-40gb-1", "tbody")
    finally:
        one.terminate()
        one.wait(20)


def test_with_tls_it_asks_who_you_are(p):
    c = cluster.Cluster("--nodes", "1:cpu", "--tls")
    try:
        done = subprocess.run(
            ["curl", "-ks", "-o", "/dev/null", "-w", "%{http_code}", c.url + "/ui/"], capture_output=True, text=True, check=False
        )
        assert done.stdout == "401", done.stdout
        if subprocess.run(["sh", "-c", "command -v kubectl"], capture_output=True, check=False).returncode == 0:
            done = subprocess.run(
                ["kubectl", "--kubeconfig", c.dir + "/kubeconfig", "get", "--raw", "/ui/api/cluster"],
                capture_output=True,
                text=True,
                check=False,
            )
            assert '"n/cpu-0"' in done.stdout, done.stderr
    finally:
        c.stop()


def pictures(p):
    """One of each page, of a cluster with a story."""
    for name, where in (
        ("gpus", "gpus"),
        ("activity", "gpus?by=activity"),
        ("queues", "queues"),
        ("jobs", "jobs"),
        ("timeline", "timeline"),
        ("usage", "usage"),
        ("events", "events"),
        ("node", "node/a100-40gb-0"),
        ("job", "job/" + p.job("big")["id"][2:]),
    ):
        p.go(where)
        time.sleep(0.6)
        p.b.picture(os.path.join(PICTURES, name + ".png"))


def main():
    lacks = browser.missing()
    only = sys.argv[1:]
    tests = [
        (name[5:].replace("_", " "), fn)
        for name, fn in globals().items()
        if name.startswith("test_") and (not only or any(o in name for o in only))
    ]
    failed, p = 0, Page()
    try:
        for i, (name, fn) in enumerate(tests, 1):
            if lacks and "p.b." in inspect.getsource(fn):
                print("ok %d - %s # SKIP %s" % (i, name, lacks), flush=True)
                continue
            try:
                fn(p)
                print("ok %d - %s" % (i, name), flush=True)
            except (AssertionError, OSError, KeyError, StopIteration, TypeError) as e:
                failed += 1
                print("not ok %d - %s" % (i, name), flush=True)
                traceback.print_exc(limit=-3, file=sys.stdout)
                if p.c.process.poll() is not None:
                    print("Bail out! the server has ended: %s" % p.c.process.poll())
                    break
            if PICTURES and p.b and fn is test_usage_over_time_by_team:
                pictures(p)
        print("1..%d" % len(tests))
    finally:
        if p.b:
            p.b.close()
        p.c.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
