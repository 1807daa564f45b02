"""dashboards.py - are the dashboards what Grafana 10 and 11 import, and do their queries answer what the pages say?

    dashboards.py           structure only
"""
import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).parent.parent.parent / "deploy/monitoring/dashboards"
# Panels that are part of Grafana 10 and 11; graph, singlestat, table-old and text in HTML are gone or going.
KINDS = {"row", "timeseries", "stat", "gauge", "table"}
# Set by Grafana itself.
BUILT_IN = {"__range", "__rate_interval", "__interval", "datasource"}
TOP = {"uid": str, "title": str, "schemaVersion": int, "panels": list, "templating": dict, "time": dict, "tags": list, "version": int}
# All fields that there are. SOURCE grafana/grafana kinds/dashboard/dashboard_kind.cue
SCHEMA = {"id", "uid", "title", "description", "revision", "gnetId", "tags", "style", "timezone", "editable", "graphTooltip", "time", "timepicker",
          "fiscalYearStartMonth", "liveNow", "weekStart", "refresh", "schemaVersion", "version", "panels", "templating", "annotations", "links",
          "snapshot"}
UNITS = {"none", "percent", "percentunit", "bytes", "mbytes", "watt", "joule", "celsius", "hertz", "Bps", "s"}


def load():
    return {path.name: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


def targets(dashboard):
    """(panel title, target) of all queries."""
    return [(p["title"], t) for p in dashboard["panels"] for t in p.get("targets", [])]


def overlap(a, b):
    return a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]


def variable_problems(d):
    known = set()
    for v in d["templating"]["list"]:
        text = json.dumps(v.get("query", "")) + v.get("definition", "")
        for used in re.findall(r"\$\{?(\w+)", text):
            if used not in known | BUILT_IN:
                yield "variable %s uses %s, which is not defined before it" % (v["name"], used)
        known.add(v["name"])
        if v["type"] == "query" and not (v["includeAll"] and v["allValue"] == ".*"):
            yield "variable %s has no All that matches series without the label" % v["name"]
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(d["panels"])))
    for name in sorted(used - known - BUILT_IN):
        yield "$%s is used and not defined" % name
    for name in sorted(known - {"datasource"}):
        if "$" + name not in json.dumps([t["expr"] for _, t in targets(d)]):
            yield "variable %s changes nothing" % name
    if "datasource" not in known:
        yield "no data source can be chosen"


def panel_problems(p):
    if p["type"] not in KINDS:
        yield "panel type %s" % p["type"]
    if not p["title"]:
        yield "panel %d has no title" % p["id"]
    if p["type"] == "row":
        return
    if not p["targets"]:
        yield "%s asks nothing" % p["title"]
    if len({t["refId"] for t in p["targets"]}) != len(p["targets"]):
        yield "%s: refId twice" % p["title"]
    for where in [p] + p["targets"]:
        if where["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
            yield "%s: not the chosen data source" % p["title"]
    if p["fieldConfig"]["defaults"]["unit"] not in UNITS:
        yield "%s: unit %s" % (p["title"], p["fieldConfig"]["defaults"]["unit"])
    for t in p["targets"]:
        if t["expr"].count("(") != t["expr"].count(")") or not t["expr"].strip():
            yield "%s: %s" % (p["title"], t["expr"])
        if (p["type"] == "table") != (t["format"] == "table" and t["instant"]):
            yield "%s: a table is made of instant queries, and nothing else is" % p["title"]


def problems(d):
    for key, kind in TOP.items():
        if not isinstance(d.get(key), kind):
            yield "%s is missing or no %s" % (key, kind.__name__)
            return
    for key in sorted(set(d) - SCHEMA):
        yield "%s is no field of a dashboard" % key
    if d.get("id") is not None:
        yield "id is of one Grafana: null when it is given away"
    if not re.fullmatch(r"[\w-]{1,40}", d["uid"]):
        yield "uid %s" % d["uid"]
    if not 36 <= d["schemaVersion"] <= 39:
        yield "schemaVersion %d: 36 to 39 are Grafana 9.1 to 11" % d["schemaVersion"]
    ids = [p["id"] for p in d["panels"]]
    if len(set(ids)) != len(ids):
        yield "panel ids are not unique"
    for i, p in enumerate(d["panels"]):
        g = p["gridPos"]
        if g["x"] < 0 or g["w"] < 1 or g["x"] + g["w"] > 24 or g["h"] < 1:
            yield "%s is off the grid" % p["title"]
        for q in d["panels"][:i]:
            if overlap(g, q["gridPos"]):
                yield "%s lies on %s" % (p["title"], q["title"])
        yield from panel_problems(p)
    yield from variable_problems(d)


def structure():
    """Raises with all that is wrong."""
    boards = load()
    found = ["%s: %s" % (name, text) for name, d in boards.items() for text in problems(d)]
    if len({d["uid"] for d in boards.values()}) != len(boards):
        found.append("dashboards without a uid of their own")
    if set(boards) != {*AGENTS, *SCHEDULER}:
        found.append("these dashboards are asked nothing: %s" % (set(boards) ^ {*AGENTS, *SCHEDULER}))
    if found:
        raise AssertionError("\n".join(found))


def blind():
    """What is broken on purpose and not seen."""
    breaks = {"id twice": lambda d: d["panels"][1].update(id=d["panels"][0]["id"]),
              "overlap": lambda d: d["panels"][-1]["gridPos"].update(d["panels"][-2]["gridPos"]),
              "off the grid": lambda d: d["panels"][-1]["gridPos"].update(x=20),
              "removed panel type": lambda d: d["panels"][-1].update(type="graph"),
              "undefined variable": lambda d: d["panels"][-1]["targets"][0].update(expr='up{a=~"$nowhere"}'),
              "useless variable": lambda d: d["templating"]["list"].append(dict(d["templating"]["list"][-1], name="idle")),
              "fixed data source": lambda d: d["panels"][-1]["targets"][0].update(datasource={"type": "prometheus", "uid": "p1"}),
              "unbalanced query": lambda d: d["panels"][-1]["targets"][0].update(expr="sum(up"),
              "of one Grafana": lambda d: d.update(id=7), "made-up field": lambda d: d.update(rows=[]), "no uid": lambda d: d.pop("uid")}
    unseen = []
    for name, mend in breaks.items():
        d = next(iter(load().values()))
        mend(d)
        if not list(problems(d)):
            unseen.append(name)
    return unseen


# ---- queries ----

def substituted(expr, values):
    """As Grafana does it: longest names first, ${x} and $x."""
    for name in sorted(values, key=len, reverse=True):
        expr = re.sub(r"\$(\{%s(:\w+)?\}|%s\b)" % (name, name), lambda _: values[name], expr)
    return expr


def all_values(d):
    v = {x["name"]: x["allValue"] for x in d["templating"]["list"] if x["type"] == "query"}
    return {**v, "__range": "1m", "__rate_interval": "10s", "__interval": "1s"}


def parse_page(text):
    """[(name, labels, value)] of a text page."""
    found = []
    for m in re.finditer(r'^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$', text, re.M):
        labels = {k: v.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\") for k, v in
                  re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m[2] or "")}
        found.append((m[1], labels, float(m[3])))
    return found


class Told:
    """What the pages of all nodes say."""

    def __init__(self, pages):
        self.series = [(name, {**labels, "instance": node}, value) for node, text in pages.items() for name, labels, value in parse_page(text)]

    def values(self, name, **want):
        return [v for n, labels, v in self.series if n == name and all(labels.get(k) == x for k, x in want.items())]

    def sums(self, name, by):
        out = {}
        for n, labels, v in self.series:
            if n == name:
                out[labels.get(by)] = out.get(labels.get(by), 0) + v
        return out


# Of the panels whose value does not change from second to second: what it must be. One number, or {label value: number}.
EXPECTED = {
    ("gpu-cluster.json", "GPUs"): lambda t: len(t.values("gpu_lost")),
    ("gpu-cluster.json", "Allocated"): lambda t: sum(t.values("gpu_allocation_share_ratio")) / len(t.values("gpu_lost")),
    ("gpu-cluster.json", "Power"): lambda t: sum(t.values("DCGM_FI_DEV_POWER_USAGE")),
    ("gpu-cluster.json", "Hottest GPU"): lambda t: max(t.values("DCGM_FI_DEV_GPU_TEMP")),
    ("gpu-cluster.json", "Lost GPUs"): lambda t: 0,
    ("gpu-cluster.json", "Allocated GPUs by namespace"): lambda t: t.sums("gpu_allocation_share_ratio", "namespace"),
    ("gpu-cluster.json", "Power by node"): lambda t: t.sums("DCGM_FI_DEV_POWER_USAGE", "instance"),
    ("gpu-node.json", "GPU Avg. Temp"): lambda t: sum(t.values("DCGM_FI_DEV_GPU_TEMP")) / len(t.values("DCGM_FI_DEV_GPU_TEMP")),
    ("gpu-node.json", "GPU Power Total"): lambda t: sum(t.values("DCGM_FI_DEV_POWER_USAGE")),
    ("gpu-sessions.json", "Sessions"): lambda t: sum(t.values("gpu_total_sessions")),
    ("gpu-sessions.json", "GPUs in use"): lambda t: sum(v > 0 for v in t.values("gpu_session_count")) / len(t.values("gpu_session_count")),
    ("gpu-sessions.json", "Idle GPUs"): lambda t: len(t.values("gpu_process_info", status="idle")),
    ("gpu-sessions.json", "Sessions per GPU"): lambda t: sum(t.values("gpu_session_count")) / len(t.values("gpu_session_count")),
    ("gpu-sessions.json", "Processes without allocation"): lambda t: sum(t.values("gpu_unauthorized_processes")),
    ("gpu-queues.json", "Waiting"): lambda t: sum(t.values("kueue_pending_workloads")),
    ("gpu-queues.json", "Admitted"): lambda t: sum(t.values("kueue_admitted_active_workloads")),
    ("gpu-queues.json", "GPUs asked for by who waits"): lambda t: sum(t.values("kueue_cluster_queue_resource_pending", resource="nvidia.com/gpu")),
    ("gpu-queues.json", "Queues that admit nothing"): lambda t: sum(t.values("kueue_cluster_queue_status", status="pending")),
    ("gpu-gangs.json", "Schedulers that lead"): lambda t: 1,
    ("gpu-waste.json", "Free GPUs"): lambda t: len(t.values("gpu_lost")) - sum(t.values("gpu_allocation_share_ratio")),
    ("gpu-waste.json", "GPUs asked for by who waits"): lambda t: sum(t.values("kueue_cluster_queue_resource_pending", resource="nvidia.com/gpu")),
    ("gpu-sessions.json", "GPU memory by pod"): lambda t: t.sums("gpu_process_memory_bytes", "pod"),
}


def differs(got, want):
    if not isinstance(want, dict):
        got, want = {None: sum(v for _, v in got)} if len(got) == 1 else {}, {None: want}
    else:
        label = next((k for k in ("namespace", "instance", "pod") if {l.get(k, "") for l, _ in got} == set(want)), "instance")
        got = {l.get(label, ""): v for l, v in got}
    return got.keys() != want.keys() or any(abs(got[k] - want[k]) > 1e-6 * max(1, abs(want[k])) for k in want)


def legend_problems(panels):
    """panels: {(dashboard, title): [(legend format, rows)]} of those with lines. Each line has a name, and one of its own."""
    for (name, title), lines in panels.items():
        named = [re.sub(r"\{\{ *(\w+) *\}\}", lambda m, row=labels: row.get(m[1], ""), form).strip() for form, rows in lines for labels, _ in rows]
        twice = sorted({text for text in named if named.count(text) > 1})
        if "" in named:
            yield "%s, %s: a line without a name" % (name, title)
        if twice:
            yield "%s, %s: several lines are called %s" % (name, title, twice[0])


AGENTS = ("gpu-cluster.json", "gpu-node.json", "gpu-sessions.json")
SCHEDULER = ("gpu-queues.json", "gpu-gangs.json", "gpu-waste.json") # and agents


def queries(prometheus, told, names=AGENTS):
    """Every query of these dashboards: data, and the value of the page where one is known. Raises with all that is wrong."""
    wrong, asked, lines = [], set(), {}
    for name, d in load().items():
        if name not in names:
            continue
        kinds = {p["title"]: p["type"] for p in d["panels"]}
        for title, t in targets(d):
            expr = substituted(t["expr"], all_values(d))
            got = prometheus.query(expr)
            asked.add((name, title))
            if kinds[title] == "timeseries":
                lines.setdefault((name, title), []).append((t["legendFormat"], got))
            want = EXPECTED.get((name, title))
            if not got:
                wrong.append("%s, %s: no data: %s" % (name, title, expr))
            elif any(v != v for _, v in got):
                wrong.append("%s, %s: not a number: %s" % (name, title, expr))
            elif want and differs(got, want(told)):
                wrong.append("%s, %s: %s, not %s" % (name, title, got, want(told)))
        for v in d["templating"]["list"]:
            m = re.fullmatch(r"label_values\((.*), (\w+)\)", v.get("definition", ""))
            if m and not any(labels.get(m[2]) for labels, _ in prometheus.query(substituted(m[1], all_values(d)))):
                wrong.append("%s: variable %s has no values" % (name, v["name"]))
    wrong += list(legend_problems(lines))
    wrong += ["no panel %s, %s" % key for key in EXPECTED.keys() - asked if key[0] in names]
    if wrong:
        raise AssertionError("\n".join(wrong))


if __name__ == "__main__":
    try:
        structure()
    except AssertionError as problem:
        sys.exit(str(problem))
