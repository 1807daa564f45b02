"""agent_live.py CAPSTAN LIBNVIDIA_ML - the agent itself on simulated GPUs, against real Prometheus and InfluxDB. Lines "ok NAME", "not ok NAME"."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import dashboards
from live import check, equal, settles, skip
from servers import Influx, Process, Prometheus, free_port, get, installed, wait_for

ROOT = pathlib.Path(__file__).parent.parent.parent
CONFIG = """global: {scrape_interval: 500ms, evaluation_interval: 1s}
rule_files: [%(rules)s]
scrape_configs:
  - job_name: agent
    honor_labels: true
    static_configs: [{targets: ["%(address)s"], labels: {instance: n1}}]
"""


class Node:
    """Two H100 that do not exist, an agent, and two processes of this test on GPU 0."""
    period_s = 0.5

    def __init__(self, folder, capstan, library):
        self.folder, self.capstan, self.nvml_path = folder, capstan, library
        self.address, self.prometheus_port = "127.0.0.1:%d" % free_port(), free_port()
        self.env = {**os.environ, "NVSIM_STATE": str(folder / "node/state")}
        self.nvsim("create", str(folder / "node"), "--model", "h100-80gb", "--gpus", "2", "--node", "n1")
        self.works = []
        for mib in ("20000", "1000"):
            self.works.append(subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
            self.nvsim("start", "--gpu", "0", "--pid", str(self.works[-1].pid), "--follow", "--memory", mib, "--sm", "40")
        self.agent = None

    def nvsim(self, *words):
        subprocess.run([self.capstan, "nvsim", *words], env=self.env, check=True, stdout=subprocess.DEVNULL)

    def start(self, *options, environment=None, ready=True):
        f = self.folder
        (f / "plugins").mkdir(exist_ok=True)
        self.agent = Process(f / "agent", [
            self.capstan, "agent", "--no-cluster", "--node-name", "n1", "--library", self.nvml_path, "--plugin-dir", f / "plugins", "--state-dir",
            f / "state", "--pod-resources-socket", f / "pods.sock", "--cdi-dir", f / "cdi", "--output-file", f / "features", "--address",
            self.address, "--collect-interval", "%d" % (self.period_s * 1000), *options], {"NVSIM_STATE": str(f / "node/state"), **(environment or {})})
        if ready:
            wait_for("the agent is ready", lambda: get("http://%s/readyz" % self.address)[0] == 200)

    def stop(self):
        if self.agent:
            self.agent.close()
            self.agent = None

    def close(self):
        self.stop()
        for work in self.works:
            work.kill()
            work.wait()


def by_pid(prometheus, instance):
    return {r["pid"]: v for r, v in prometheus.query('gpu_process_memory_bytes{instance="%s"}' % instance)}


def scraped(prometheus, node):
    wait_for("a scrape", lambda: len(by_pid(prometheus, "n1")) == 2)
    equal(by_pid(prometheus, "n1"), {str(node.works[0].pid): 20000 << 20, str(node.works[1].pid): 1000 << 20})
    target = prometheus.api("/api/v1/targets")["activeTargets"][0]
    equal((target["health"], target["lastError"]), ("up", ""))
    equal({k["type"] for k in prometheus.api("/api/v1/targets/metadata?metric=gpu_xid_errors")}, {"counter"})


def node_dashboard(prometheus):
    d = dashboards.load()["gpu-node.json"]
    empty = [title for title, t in dashboards.targets(d) if not prometheus.query(dashboards.substituted(t["expr"], dashboards.all_values(d)))]
    equal(empty, [])


def influx_points(influx, node):
    wait_for("points", lambda: influx.query('SELECT * FROM "gpu"', "d"))
    pids = influx.query('SELECT "pid", "memory" FROM "gpu_process"', "d")[0][2]
    equal({(p["pid"], p["memory"]) for p in pids}, {(node.works[0].pid, 20000 << 20), (node.works[1].pid, 1000 << 20)})


def pushed(prometheus, node):
    wait_for("pushed series", lambda: by_pid(prometheus, "pushed") == by_pid(prometheus, "n1") != {})
    counted = prometheus.query('gpu_agent_push_total{instance="n1",outcome="sent"} > 0')
    equal({labels["target"] for labels, _ in counted}, {"influx", "remote_write"})


def xid_alerts(prometheus, node):
    """The first XID of its kind is an increase, since the counter was there with 0."""
    node.nvsim("fault", "--gpu", "1", "xid", "79")
    wait_for("GPUXidError", lambda: [a for a in prometheus.api("/api/v1/alerts")["alerts"] if a["labels"]["alertname"] == "GPUXidError"
                                     and (a["labels"]["gpu"], a["labels"]["xid"]) == ("1", "79")])


def process_ends(prometheus, node):
    gone = node.works[1]
    gone.kill()
    gone.wait()
    for instance in ("n1", "pushed"):
        wait_for("the series of pid %d end (%s)" % (gone.pid, instance),
                 lambda name=instance: set(by_pid(prometheus, name)) == {str(node.works[0].pid)})


def driver_hangs(prometheus, node):
    """The values end, the agent's own go on, the alert is on its way; then all is there again."""
    for gpu in ("0", "1"):
        node.nvsim("fault", "--gpu", gpu, "hang", "3600")
    wait_for("gpu_agent_collect_stalled", lambda: prometheus.query('gpu_agent_collect_stalled{instance="n1"} == 1'))
    wait_for("no DCGM family", lambda: not prometheus.query('DCGM_FI_DEV_GPU_TEMP{instance="n1"}'))
    wait_for("GPUCollectorStalled", lambda: "GPUCollectorStalled" in {a["labels"]["alertname"] for a in prometheus.api("/api/v1/alerts")["alerts"]})
    for gpu in ("0", "1"):
        node.nvsim("fault", "--gpu", gpu, "back")
    wait_for("values again", lambda: prometheus.query('DCGM_FI_DEV_GPU_TEMP{instance="n1",gpu="0"}'))


def agent_ends(prometheus, node):
    node.stop()
    wait_for("scraped series end", lambda: not prometheus.query('gpu_agent_build_info{instance="n1"}'))
    wait_for("pushed series end", lambda: not prometheus.query('gpu_agent_build_info{instance="pushed"}'))
    equal([v for _, v in prometheus.query('up{instance="n1"}')], [0])


def main():
    capstan, library = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:3])
    if not (installed("prometheus") and installed("influxd")):
        skip("agent: real servers", "prometheus or influxdb is not installed")
        return
    folder = pathlib.Path(tempfile.mkdtemp())
    started = []
    try:
        (folder / "gpu.rules.yaml").write_text(re.sub("interval: 30s", "interval: 1s", (ROOT / "deploy/monitoring/gpu.rules.yaml").read_text()))
        node = Node(folder, capstan, library)
        started.append(node)
        started.append(prometheus := Prometheus(folder / "prometheus", CONFIG % {"rules": folder / "gpu.rules.yaml", "address": node.address}))
        started.append(influx := Influx(folder / "influx"))
        influx.query('CREATE DATABASE "d"')
        node.start("--influx-url", influx.url, "--influx-database", "d", "--remote-write-url", prometheus.url + "/api/v1/write",
                   "--remote-write-label", "instance=pushed", "--remote-write-label", "job=push")
        check("agent: Prometheus scrapes it", settles, scraped, prometheus, node)
        check("agent: InfluxDB has its points", influx_points, influx, node)
        check("agent: remote-write brings the same series", settles, pushed, prometheus, node)
        check("agent: each query of the node dashboard answers", settles, node_dashboard, prometheus)
        check("agent: a fault is an alert", xid_alerts, prometheus, node)
        check("agent: the series of a process end with it, scraped and pushed", process_ends, prometheus, node)
        check("agent: a driver that hangs ends the values, and they come back", driver_hangs, prometheus, node)
        check("agent: its series end with it, scraped and pushed", agent_ends, prometheus, node)
    except Exception as e:  # a server that does not start
        print("not ok agent: real servers\n# " + str(e).replace("\n", "\n# "), flush=True)
    finally:
        for server in reversed(started):
            server.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
