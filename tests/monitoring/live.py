"""live.py MADE_PAGE [CAPSTAN] - pages of made-up nodes against real servers: Prometheus, node-exporter, InfluxDB. Lines "ok NAME", "not ok NAME".

Needs about 40 s. What is not installed is skipped.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import dashboards
from servers import Influx, NodeExporter, Pages, Prometheus, get, installed, wait_for

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
NODES = ("a100", "shared", "h100")
ENDS_S = 12  # when process 4243 of node a100 ends (made.c)
KUBE = """kube_pod_container_resource_limits{resource="nvidia_com_gpu",node="n1",namespace="ml",pod="runs",container="c"} 2
kube_pod_container_resource_requests{resource="nvidia_com_gpu",node="n1",namespace="ml",pod="runs",container="c"} 2
kube_pod_status_phase{namespace="ml",pod="runs",phase="Running"} 1
kube_node_status_allocatable{resource="nvidia_com_gpu",node="n1"} 8
"""
# What the operator's scrape adds, and what servicemonitor.yaml and podmonitor.yaml take away again.
TARGET = 'pod: agent-x, namespace: capstan-system, container: agent'
JOB = """  - job_name: %(job)s
    metrics_path: /%(node)s/metrics
    honor_labels: %(honor)s
    static_configs: [{targets: ["%(address)s"], labels: {instance: %(instance)s, cluster: c1%(labels)s}}]
%(relabel)s"""
DROP = "    relabel_configs: [{action: labeldrop, regex: pod|namespace|container|endpoint|service}]\n"


def check(name, fn, *args):
    try:
        fn(*args)
        print("ok " + name, flush=True)
    except Exception as e:  # a test that breaks is a test that fails
        text = str(e) if isinstance(e, AssertionError) and str(e) else traceback.format_exc()
        print("not ok %s\n# %s" % (name, text.replace("\n", "\n# ")), flush=True)


def settles(fn, *args, limit_s=60.0):
    """For check(): of a state that is on its way; fn is tried again until it is content."""
    end_s = time.monotonic() + limit_s
    while True:
        try:
            return fn(*args)
        except AssertionError:
            if time.monotonic() > end_s:
                raise
            time.sleep(0.5)


def skip(name, why):
    print("ok %s # SKIP %s" % (name, why), flush=True)


def equal(got, want):
    assert got == want, "%r, not %r" % (got, want)


# ---- Prometheus ----

def agents_config(folder, pages):
    """As deploy/monitoring would have it: the agents, and what kube-state-metrics would say."""
    rules = (ROOT / "deploy/monitoring/gpu.rules.yaml").read_text().replace("interval: 30s", "interval: 1s")
    (folder / "gpu.rules.yaml").write_text(rules)
    text = "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%s/gpu.rules.yaml]\nscrape_configs:\n" % folder
    for node in NODES:
        text += JOB % {"address": pages.address, "labels": ", " + TARGET, "job": "agents-" + node, "node": node, "instance": node,
                       "honor": "true", "relabel": DROP}
    return text + JOB % {"address": pages.address, "labels": "", "job": "kube", "node": "kube", "instance": "kube", "honor": "true", "relabel": ""}


def others_config(pages, exporter):
    """The same page in three ways, names that want to break it, and node-exporter."""
    text = "global: {scrape_interval: 1s}\nscrape_configs:\n"
    common = {"address": pages.address, "labels": ", " + TARGET}
    for instance, node, honor, relabel in (("dropped", "a100", "true", DROP), ("stock", "a100", "false", ""), ("honor", "a100", "true", ""),
                                           ("hostile", "hostile", "true", DROP)):
        text += JOB % {**common, "job": instance, "node": node, "instance": instance, "honor": honor, "relabel": relabel}
    if exporter:
        text += "  - job_name: node\n    static_configs: [{targets: [\"%s\"], labels: {instance: textfile, %s}}]\n" % (exporter.address, TARGET)
    return text


def pod_of(prometheus, instance, gpu, label="pod"):
    rows = prometheus.query('DCGM_FI_DEV_SM_CLOCK{instance="%s",gpu="%s"}' % (instance, gpu))
    equal(len(rows), 1)
    return rows[0][0].get(label)


def labels_three_ways(prometheus):
    """GPU 0 is ml/train-0's, GPU 1 free (empty labels on the page)."""
    equal((pod_of(prometheus, "stock", 0), pod_of(prometheus, "stock", 0, "exported_pod")), ("agent-x", "train-0"))
    equal((pod_of(prometheus, "stock", 1), pod_of(prometheus, "stock", 1, "exported_pod")), ("agent-x", None))
    for instance in ("honor", "dropped"):
        equal((pod_of(prometheus, instance, 0), pod_of(prometheus, instance, 1)), ("train-0", None))
    # Series without the label at all: only dropping the target's own labels keeps the agent's pod away from them.
    equal(prometheus.query('gpu_session_count{instance="honor",gpu="1"}')[0][0].get("pod"), "agent-x")
    equal(prometheus.query('gpu_session_count{instance="dropped",gpu="1"}')[0][0].get("pod"), None)


def hostile_names(prometheus):
    rows = prometheus.query('gpu_process_info{instance="hostile",pid="1"}')
    equal([(r["command"], r["pod"]) for r, _ in rows], [('sh -c "rm"\\', 'a"b\nc\\d')])
    rows = prometheus.query('DCGM_FI_DEV_GPU_UTIL{instance="hostile"}')
    equal([(r["gpu"], r["team"], r["Hostname"]) for r, _ in rows], [("0", "x\ny\\", 'node"d\\')])


def targets_are_up(prometheus):
    down = [t["scrapeUrl"] + ": " + t["lastError"] for t in prometheus.api("/api/v1/targets")["activeTargets"] if t["health"] != "up"]
    assert not down, "\n".join(down)


def openmetrics_is_read(prometheus):
    """Prometheus asks for OpenMetrics first: the type of a counter without _total says which form it got."""
    kinds = prometheus.api("/api/v1/targets/metadata?metric=DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION")
    equal({k["type"] for k in kinds}, {"unknown"})
    equal({k["type"] for k in prometheus.api("/api/v1/targets/metadata?metric=gpu_xid_errors")}, {"counter"})


def rules_work(prometheus, told):
    rules = [r for g in prometheus.api("/api/v1/rules")["groups"] for r in g["rules"]]
    bad = ["%s: %s" % (r["name"], r.get("lastError")) for r in rules if r["health"] != "ok"]
    assert rules and not bad, "\n".join(bad)
    empty = [r["name"] for r in rules if r["type"] == "recording" and not prometheus.query(r["name"])]
    # Increases of a day need two scrapes, and have them.
    assert not empty, "no data: " + ", ".join(empty)
    units = told.values("gpu_session_count")
    for name, want in (("cluster:gpu_allocated:ratio", sum(told.values("gpu_allocation_share_ratio")) / len(told.values("gpu_lost"))),
                       ("cluster:gpu_busy:ratio", sum(v > 0 for v in units) / len(units)),
                       ("cluster:gpu_idle:count", sum(v == 0 for v in units)), ("cluster:gpu_requested:ratio", 0.25),
                       ("sum(gpu:power_watts:max)", sum(told.values("DCGM_FI_DEV_POWER_USAGE"))),
                       ('pod:gpu_memory_bytes:sum{pod="train-1"}', sum(told.values("gpu_process_memory_bytes", pod="train-1")))):
        got = prometheus.query(name)
        assert len(got) == 1 and abs(got[0][1] - want) < 1e-6 * max(1, want), "%s: %s, not %s" % (name, got, want)


def alerts_pend(prometheus):
    """Those that are true of these nodes are on their way; the ones that cannot be are not."""
    on = {a["labels"]["alertname"] for a in prometheus.api("/api/v1/alerts")["alerts"]}
    for name in ("GPUAllocatedButNoProcess", "GPUUnauthorizedUse", "GPUXidError"):
        assert name in on, "%s is not pending: %s" % (name, sorted(on))
    for name in ("GPUSharesDoNotAddUp", "GPULost", "GPUCollectorStalled", "GPUHighTemperature"):
        assert name not in on, name


def guides_queries(prometheus):
    guide = (ROOT / "docs/monitoring.md").read_text()
    wrong = []
    for line in (HERE / "seed-queries.tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        query, answer, replacement = line.split("\t")
        if bool(prometheus.query(query)) != (answer == "data"):
            wrong.append("%s: not %s" % (query, answer))
        if replacement != "-" and not prometheus.query(replacement):
            wrong.append("%s: its replacement has no data: %s" % (query, replacement))
        if query.replace("|", "\\|") not in guide:
            wrong.append("docs/monitoring.md does not name %s" % query)
    assert not wrong, "\n".join(wrong)


def ended_process(prometheus):
    """Its series ended with the first scrape that did not have it; those of its neighbour go on."""
    def pids():
        return {r["pid"] for r, _ in prometheus.query('gpu_process_info{instance="a100",gpu="0"}')}
    wait_for("process 4243 is gone", lambda: pids() == {"4242"})
    assert prometheus.query('last_over_time(gpu_process_info{instance="a100",pid="4243"}[10m])'), "it never was there"


def target_goes(prometheus, pages):
    pages.gone.add("shared")
    wait_for("series of a target that is gone end", lambda: not prometheus.query('gpu_session_count{instance="shared"}'))
    assert prometheus.query('gpu_session_count{instance="a100"}')
    pages.gone.clear()
    wait_for("they come back with it", lambda: prometheus.query('gpu_session_count{instance="shared"}'))


def pushed(prometheus, pusher, then_s):
    """The process ended two seconds after the first push, the pusher four after: both are stale, and were not before. Nothing was there at
    then_s."""
    equal((pusher.wait(120), pusher.stderr.read().decode()), (0, ""))
    was = prometheus.query('count by (pid) (last_over_time(gpu_process_info{instance="pushed",gpu="0"}[10m]))')
    equal({r["pid"] for r, _ in was}, {"4242", "4243"})
    equal([v for _, v in prometheus.query('count(count_over_time(gpu_agent_build_info{instance="pushed"}[10m]))')], [1])
    assert not prometheus.query('gpu_agent_build_info{instance="pushed"}'), "series of a pusher that ended are still there"
    assert not prometheus.query('gpu_process_info{instance="pushed",pid="4243"}')
    equal(prometheus.query('gpu_agent_build_info{instance="pushed"}', then_s), [])


def textfile(prometheus, exporter, page):
    status, text = get("http://%s/metrics" % exporter.address)
    equal(status, 200)
    assert "\nnode_textfile_scrape_error 0\n" in text
    missing = [line for line in page.decode().splitlines() if not line.startswith("#") and "gpu_memory" not in line and
               line.split("{")[0].split(" ")[0] not in text]
    assert not missing, "\n".join(missing)
    wait_for("a scrape of it", lambda: len(prometheus.query('gpu_session_count{job="node"}')) == 4)
    assert prometheus.query('time() - node_textfile_mtime_seconds{file=~".*gpu_sessions\\\\.prom"} < 3600')


def report(prometheus, capstan):
    """By pod: who was given what, and how much of it was used."""
    out = subprocess.run([capstan, "report", "--by", "pod", "--since", "1m", "--prometheus", prometheus.url, "--output", "json"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    equal((out.returncode, out.stderr.decode()), (0, ""))
    rows = {r["pod"]: r for r in json.loads(out.stdout)["rows"]}
    assert {"ml/train-0", "ml/train-1", "web/chat-7f", "ml/forgotten"} <= set(rows), sorted(rows)
    assert abs(rows["ml/train-0"]["efficiencyPercent"] - 75) < 1, rows["ml/train-0"]
    assert rows["ml/forgotten"]["noProcessHours"] > 0 and rows["ml/train-0"]["noProcessHours"] == 0, rows
    # Each physical GPU is there once, cut or not; who had a slice had that model.
    done = subprocess.run([capstan, "report", "--by", "model", "--since", "1m", "--prometheus", prometheus.url, "--output", "json", "--price", "1"],
                          stdout=subprocess.PIPE, check=True)
    models = {r["model"]: r for r in json.loads(done.stdout)["rows"]}
    assert "NVIDIA A100-SXM4-40GB" in models, models
    there = models["NVIDIA A100-SXM4-40GB"]
    assert there["capacityHours"] > 0 and there["allocatedHours"] > 0 and there["cost"] > 0, models
    assert not [m for m in models if m.startswith("1g") or m == "-"], models
    gpus = prometheus.query('count(gpu_device_info{parent_uuid="",product="NVIDIA A100-SXM4-40GB"})')
    assert there["capacityHours"] <= gpus[0][1] / 60 * 1.3, (there, gpus)


def with_prometheus(folder, made_page, capstan):
    pages = Pages(made_page, {"kube/metrics": KUBE})
    started = [pages]
    exporter = pusher = None

    def start(kind, *args):
        started.append(kind(*args))
        return started[-1]
    try:
        textfiles = folder / "textfiles"
        textfiles.mkdir()
        sessions = pages.page("a100", "sessions")
        (textfiles / "gpu_sessions.prom").write_bytes(sessions)
        if installed("prometheus-node-exporter"):
            exporter = start(NodeExporter, folder / "node-exporter", textfiles)
        agents = start(Prometheus, folder / "agents", agents_config(folder, pages))
        others = start(Prometheus, folder / "others", others_config(pages, exporter))
        pages.begin()
        pushes_from_s = time.time()
        pusher = subprocess.Popen([made_page, "remote-write", "a100", others.url + "/api/v1/write", "5"], stderr=subprocess.PIPE)
        wait_for("scrapes", lambda: others.query('count_over_time(gpu_session_count{instance="hostile"}[1m]) > 3'))
        for prometheus in (agents, others):
            check("prometheus: every page is read", settles, targets_are_up, prometheus)
        check("prometheus: OpenMetrics is asked for and understood", settles, openmetrics_is_read, agents)
        check("prometheus: labels of pods with honor_labels off, on, and the target's own dropped", settles, labels_three_ways, others)
        check("prometheus: hostile names arrive as they were", hostile_names, others)
        wait_for("the process ends", lambda: time.time() > pages.start_s + ENDS_S + 1)
        check("prometheus: the series of a process end with it", ended_process, agents)
        told = dashboards.Told({node: pages.page(node).decode() for node in NODES})
        check("dashboards: every query answers, with what the pages say", settles, dashboards.queries, agents, told)
        check("prometheus: rules are evaluated without an error, and record what the pages say", settles, rules_work, agents, told)
        check("prometheus: alerts see these nodes", settles, alerts_pend, agents)
        check("prometheus: the guides' queries, and what replaces them", settles, guides_queries, agents)
        if capstan:
            check("report: GPU-hours from Prometheus", settles, report, agents, capstan)
        check("prometheus: the series of a target end with it", target_goes, agents, pages)
        check("remote-write: what is pushed is there, and stale when it is gone", pushed, others, pusher, pushes_from_s - 1)
        if exporter:
            check("node-exporter: gpu_sessions.prom is accepted", textfile, others, exporter, sessions)
        else:
            skip("node-exporter: gpu_sessions.prom is accepted", "prometheus-node-exporter is not installed")
    finally:
        if pusher and pusher.poll() is None:
            pusher.kill()
        for server in reversed(started):
            server.close()


# ---- InfluxDB ----

def write(made_page, influx, schema):
    done = subprocess.run([made_page, "influx", "a100", influx.url, schema], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    equal((done.returncode, done.stdout.decode()), (0, ""))


def influx_schema(influx, made_page):
    influx.query('CREATE DATABASE "d"')
    write(made_page, influx, "v1")
    rows = influx.query('SELECT * FROM "gpu" GROUP BY "UUID"', "d")
    by_gpu = {r["gpu"]: r for _, _, found in rows for r in found}
    equal(sorted(by_gpu), ["0", "1", "2_7_0", "2_8_0"])
    equal({k: by_gpu["0"][k] for k in ("activity", "memory_used", "sessions", "host", "power")},
          {"activity": 0.75, "memory_used": 9216 << 20, "sessions": 2, "host": "node-a", "power": 313})
    equal(by_gpu["2_7_0"]["mig"], "1g.5gb")
    processes = influx.query('SELECT "pid", "memory", "pod" FROM "gpu_process"', "d")[0][2]
    equal(sorted((p["pid"], p["memory"], p["pod"]) for p in processes),
          [(4242, 8192 << 20, "train-0"), (4243, 1024 << 20, "train-0"), (5001, 4000 << 20, "chat-7f")])


def influx_types(influx, made_page):
    """A second write of the same fields is no conflict of types, and the fields are what they were written as."""
    write(made_page, influx, "v1")
    kinds = {r["fieldKey"]: r["fieldType"] for r in influx.query('SHOW FIELD KEYS FROM "gpu"', "d")[0][2]}
    equal(kinds, {"activity": "float", "memory_total": "integer", "memory_used": "integer", "power": "float", "sessions": "integer",
                  "temperature": "integer"})


def influx_keti(influx, made_page):
    for database in ("metric", "multimetric"):
        influx.query('CREATE DATABASE "%s"' % database)
    write(made_page, influx, "keti")
    gpu = influx.query("SELECT * FROM \"gpumetric\" WHERE UUID='GPU-a100-0' ORDER BY time DESC LIMIT 1", "metric")[0][2][0]
    equal({k: gpu[k] for k in ("Index", "GPUName", "memory(used)", "Power", "temperature", "utilization", "node")},
          {"Index": 0, "GPUName": "NVIDIA A100-SXM4-40GB", "memory(used)": 9216 << 20, "Power": 313000, "temperature": 67, "utilization": 75,
           "node": "node-a"})
    assert abs(gpu["time"] - time.time()) < 60, "the age of a point is in it"
    node = influx.query("SELECT * FROM \"multimetric\" WHERE NodeName='node-a'", "metric")[0][2][0]
    equal((node["Count"], node["uuid"].count("-a100-")), (4, 4))
    pods = influx.query('SELECT * FROM "podmetric"', "multimetric")[0][2]
    equal(sorted((p["gpu_mps_pid"], p["gpu_mps_pod"]) for p in pods), [(4242, "train-0"), (4243, "train-0"), (5001, "chat-7f")])


def with_influx(folder, made_page, _):
    influx = Influx(folder / "influx")
    try:
        check("influxdb: what is written is read back", influx_schema, influx, made_page)
        check("influxdb: field types stay", influx_types, influx, made_page)
        check("influxdb: KETI's measurements by their names", influx_keti, influx, made_page)
    finally:
        influx.close()


def main():
    made_page, capstan = (str(pathlib.Path(a).resolve()) if a else None for a in (sys.argv[1:3] + [None])[:2])
    check("dashboards: structure, ids, grid, variables", dashboards.structure)
    check("dashboards: what is broken on purpose is seen", lambda: equal(dashboards.blind(), []))
    for program, part in (("prometheus", with_prometheus), ("influxd", with_influx)):
        if not installed(program):
            skip(program, "is not installed")
            continue
        folder = pathlib.Path(tempfile.mkdtemp())
        try:
            part(folder, made_page, capstan)
        except Exception:  # a server that does not start
            print("not ok %s\n# %s" % (program, traceback.format_exc().replace("\n", "\n# ")), flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


sys.dont_write_bytecode = True
if __name__ == "__main__":
    main()
