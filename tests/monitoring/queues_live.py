"""queues_live.py CAPSTAN - queues, gangs and waste: dashboards and rules on a real Prometheus that scrapes `capstan up`. Lines "ok NAME".

Two teams in a cohort of eight GPUs: one borrows and is preempted, one waits; short jobs come and go; one holds GPUs and uses nothing.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import dashboards
from live import check, settles, skip
from servers import Process, Prometheus, get, installed, wait_for

ROOT = pathlib.Path(__file__).parent.parent.parent
NODE = "t4-0"
OBJECTS = [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "t4"},
            "spec": {"nodeLabels": {"nvidia.com/gpu.product": "Tesla-T4"}}}]
for queue in ("red", "blue", "stopped"):
    OBJECTS += [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": queue}, "spec": {
        "cohortName": "teams", "namespaceSelector": {}, "preemption": {"reclaimWithinCohort": "Any"},
        **({"stopPolicy": "Hold"} if queue == "stopped" else {}), "resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [
            {"name": "t4", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 0 if queue == "stopped" else 4}]}]}]}},
                {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": queue, "namespace": "default"},
                 "spec": {"clusterQueue": queue}}]


class Cluster:
    def __init__(self, folder, capstan):
        self.folder, self.capstan, self.kubeconfig = folder, capstan, folder / "data/kubeconfig"
        self.up = Process(folder / "up", [capstan, "up", "--data-dir", folder / "data", "--listen", "127.0.0.1:0", "--nodes", "1:t4"])
        wait_for("capstan up answers", self.kubeconfig.exists)
        self.url = re.search(r"server: *(\S+)", self.kubeconfig.read_text())[1].strip('"')
        wait_for("the node is there", lambda: get(self.url + "/api/v1/nodes/" + NODE)[0] == 200)
        self.ending = threading.Event()
        self.coming = threading.Thread(target=self.come_and_go, daemon=True)

    def apply(self, *objects):
        for o in objects:
            group, kind = o["apiVersion"], o["kind"].lower() + "s"
            ns = o["metadata"].get("namespace")
            path = "/%s/%s/%s%s" % ("apis" if "/" in group else "api", group, "namespaces/%s/" % ns if ns else "", kind)
            status, text = get(self.url + path, {"Content-Type": "application/json"}, json.dumps(o).encode())
            assert status in (200, 201), text

    def submit(self, queue, name, gpus, seconds, *words):
        done = subprocess.run([self.capstan, "submit", "--kubeconfig", self.kubeconfig, "--queue", queue, "--name", name, "--gpus", gpus, "--image",
                               "x", "--anyway", "--annotation", "capstan.dev/run-seconds=%g" % seconds, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        assert done.returncode == 0, done.stdout

    def begin(self):
        self.apply(*OBJECTS)
        self.submit("red", "sleeps", "2x1", 600, "--annotation", "capstan.dev/gpu-activity=0")
        self.submit("red", "borrows", "4x1", 600)
        wait_for("red borrows", lambda: 'kueue_reserving_active_workloads{cluster_queue="red",replica_role="standalone"} 2' in self.page())
        self.submit("blue", "owner", "3x1", 600)
        self.submit("red", "waits", "8x1", 600)
        self.coming.start()

    def come_and_go(self):
        """Admissions, starts and ends in every interval of a rate."""
        n = 0
        while not self.ending.wait(1.5):
            n += 1
            self.submit("blue", "short-%d" % n, "1", 0.5)

    def page(self):
        return get(self.url + "/metrics/scheduler")[1]

    def node_page(self):
        return get(self.url + "/api/v1/nodes/%s:9400/proxy/metrics" % NODE)[1]

    def told(self):
        return dashboards.Told({"scheduler": self.page(), NODE: self.node_page()})

    def close(self):
        self.ending.set()
        if self.coming.is_alive():
            self.coming.join()
        self.up.close()


def config(folder, cluster):
    for name in ("gpu", "queues"):
        text = (ROOT / ("deploy/monitoring/%s.rules.yaml" % name)).read_text().replace("interval: 30s", "interval: 1s")
        (folder / (name + ".rules.yaml")).write_text(text)
    jobs = (("scheduler", "/metrics/scheduler", "scheduler"), ("agent", "/api/v1/nodes/%s:9400/proxy/metrics" % NODE, NODE))
    return "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%s/*.rules.yaml]\nscrape_configs:\n" % folder + "".join(
        "  - {job_name: %s, honor_labels: true, metrics_path: '%s', static_configs: [{targets: ['%s'], labels: {instance: %s, cluster: c1}}]}\n"
        % (job, path, cluster.url.split("//")[1], instance) for job, path, instance in jobs)


def rules_work(prometheus):
    groups = [g for g in prometheus.api("/api/v1/rules")["groups"] if g["name"].startswith("queues")]
    rules = [r for g in groups for r in g["rules"]]
    bad = ["%s: %s" % (r["name"], r.get("lastError")) for r in rules if r["health"] != "ok"]
    assert len(groups) == 3 and not bad, "\n".join(bad)
    empty = [r["name"] for r in rules if r["type"] == "recording" and not prometheus.query(r["name"])]
    assert not empty, "no data: " + ", ".join(empty)


def alerts_pend(prometheus):
    on = {a["labels"]["alertname"] for a in prometheus.api("/api/v1/alerts")["alerts"]}
    assert "QueueAdmitsNothing" in on, on
    for name in ("SchedulerNotLeading", "SchedulerBindsFail", "GangsNotReady", "QueueStuck"):
        assert name not in on, name


def steady(cluster, prometheus):
    """Values are compared while they stand: between two jobs that come."""
    cluster.ending.set()
    cluster.coming.join()
    wait_for("the last of them ends", lambda: sum(cluster.told().values("kueue_admitted_active_workloads")) == 2)
    settles(lambda: dashboards.queries(prometheus, cluster.told(), dashboards.SCHEDULER), limit_s=20)


def main():
    capstan = str(pathlib.Path(sys.argv[1]).resolve())
    if not installed("prometheus"):
        skip("queues: dashboards and rules", "prometheus is not installed")
        return
    folder = pathlib.Path(tempfile.mkdtemp())
    cluster = prometheus = None
    try:
        cluster = Cluster(folder, capstan)
        prometheus = Prometheus(folder / "prometheus", config(folder, cluster))
        cluster.begin()
        wait_for("half a minute of scrapes", lambda: prometheus.query('count_over_time(capstan_scheduler_leading[1m]) > 25'))
        check("queues: rules are evaluated without an error, and record", settles, rules_work, prometheus)
        check("queues: alerts see what is wrong, and nothing else", settles, alerts_pend, prometheus)
        check("queues: every query of the dashboards answers, with what the pages say", steady, cluster, prometheus)
    finally:
        for server in (prometheus, cluster):
            if server:
                server.close()
        shutil.rmtree(folder, ignore_errors=True)


sys.dont_write_bytecode = True
if __name__ == "__main__":
    main()
