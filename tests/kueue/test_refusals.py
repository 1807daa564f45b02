"""test_refusals.py - Kueue's kinds: what is refused, and for which fields; the same by our server and by a real kube-apiserver

refusals.yaml is the table. The real server (KUBE_APISERVER and ETCD name the programs) gets deploy/crds.yaml and deploy/kueue-rules.yaml.
BUILD: the build folder. One TAP line a case and server.
"""
import json
import os
import re
import sys
import time

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
DEPLOY = os.path.join(HERE, "../../deploy")
sys.path.insert(0, os.path.dirname(HERE))
import real_server  # noqa: E402

GROUP = "/apis/kueue.x-k8s.io/"
PLURALS = {"ClusterQueue": "clusterqueues", "Cohort": "cohorts", "LocalQueue": "namespaces/default/localqueues", "Topology": "topologies",
           "ResourceFlavor": "resourceflavors", "AdmissionCheck": "admissionchecks", "Workload": "namespaces/default/workloads",
           "ProvisioningRequestConfig": "provisioningrequestconfigs", "WorkloadPriorityClass": "workloadpriorityclasses"}
LEAST = {"AdmissionCheck": {"controllerName": "a"}, "ProvisioningRequestConfig": {"provisioningClassName": "c"},
         "Workload": {"podSets": [{"name": "main", "count": 2, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}]}}
KINDS = "Invalid value|Required value|Duplicate value|Unsupported value|Forbidden|Not found|Too many|Too long"
FIELD = re.compile(rf"(?:^|, |\[)([a-z][^\s,:]*): (?:{KINDS})")


def many(case):
    """Groups of equal size."""
    flavors, resources = case.get("flavors", 1), case.get("resources", 1)
    return [{"coveredResources": [f"r{g}-{r}" for r in range(resources)],
             "flavors": [{"name": f"f{g}-{f}", "resources": [{"name": f"r{g}-{r}", "nominalQuota": 1} for r in range(resources)]}
                         for f in range(flavors)]} for g in range(case["groups"])]


def fields(status, answer):
    """Those that a refusal names. A real server adds, of no field, that it left out rules where the types were wrong."""
    if status == 422:
        causes = answer.get("details", {}).get("causes", [])
        return sorted({c.get("field", "") for c in causes if "some validation rules were not checked" not in c.get("message", "")})
    message = answer.get("message", "")
    said = message.split("denied the request: ")[-1].split("denied request: ")[-1]
    return sorted(set(FIELD.findall(said.removeprefix("[")))) or [message]


def run(server, case, name):
    """(status, fields) of the last step; the steps before it have to be taken."""
    path = GROUP + case.get("version", "v1beta2") + "/" + PLURALS[case["kind"]]
    spec = dict(LEAST.get(case["kind"], {}), **case.get("spec", {}))
    if "groups" in case:
        spec["resourceGroups"] = many(case)
    o = {"apiVersion": "kueue.x-k8s.io/" + case.get("version", "v1beta2"), "kind": case["kind"], "metadata": {"name": name, "annotations": case.get("annotations", {})},
         **({"spec": {k: v for k, v in spec.items() if v is not None}} if "top" not in case else case["top"])}
    steps = case.get("then", [])
    status, answer = server.call("POST", path, o)
    for i, step in enumerate(steps):
        if status not in (200, 201):
            return status, [f"step {i}: " + answer.get("message", "")]
        sub = "/status" if "status" in step else ""
        status, answer = server.call("PATCH", f"{path}/{name}{sub}", step, kind="application/merge-patch+json")
    return status, [] if status in (200, 201) else fields(status, answer)


def table(check, of, server, cases):
    for number, case in enumerate(cases):
        wanted = case.get("refused", [])
        wanted = sorted([wanted] if isinstance(wanted, str) else wanted)
        said = {"webhook": 403, "type": 422}[case.get("by", "type")] if wanted else 201 if not case.get("then") else 200
        status, got = run(server, case, f"t{number}")
        if "version" in case and wanted:  # a field of that version, under the name that it has in the newer one, or under its own
            good = status == said and got and set(got) <= set(wanted)
        else:
            good = status == said and got == wanted
        check(good, f"{of}: {case['kind']}: {case['what']}" + (f" is refused: {', '.join(wanted)}" if wanted else " is taken"),
              f"{status} {got}, wanted {said} {wanted}")


def in_force(server):
    """Policies come into force a moment after they were made: each refuses what it is to refuse."""
    probes = [{"kind": "ClusterQueue", "spec": {"fairSharing": {"weight": -1}}}, {"kind": "ResourceFlavor", "spec": {"nodeLabels": {"a b": "c"}}},
              {"kind": "Workload", "spec": {"podSets": [dict(LEAST["Workload"]["podSets"][0], topologyRequest={"podSetSliceSize": 1})]}}]
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if all(run(server, p, f"probe-{int(time.monotonic() * 1000)}")[0] == 403 for p in probes):
            return True
        time.sleep(0.3)
    return False


# What the policies refuse, stored before they come.
OLD = [{"kind": "ClusterQueue", "spec": {"fairSharing": {"weight": -1}}}, {"kind": "ResourceFlavor", "spec": {"nodeLabels": {"a b": "c"}}},
       {"kind": "Workload", "spec": {"podSets": [dict(LEAST["Workload"]["podSets"][0], topologyRequest={"podSetSliceSize": 1})]}}]


def old_ones_end(check, server):
    """Their status is written, and they go when nobody holds them any more; what is wrong is judged when it changes."""
    for o in OLD:
        path = f"{GROUP}v1beta2/{PLURALS[o['kind']]}/old"
        status, answer = server.call("PATCH", path + "/status", {"status": {"conditions": []}}, kind="application/merge-patch+json")
        check(status == (404 if o["kind"] == "ResourceFlavor" else 200), f"real: {o['kind']} of before the rules: its status, if it has one, is written", answer)
        wrong = json.loads(json.dumps(o["spec"]).replace("-1", "-2").replace("a b", "a c").replace("1}", "2}"))
        status, answer = server.call("PATCH", path, {"spec": wrong}, kind="application/merge-patch+json")
        check(status == 403, f"real: {o['kind']} of before the rules: a change is judged", answer)
        server.call("DELETE", path)
        status, answer = server.call("PATCH", path, {"metadata": {"finalizers": None}}, kind="application/merge-patch+json")
        check(status == 200 and server.call("GET", path)[0] == 404, f"real: {o['kind']} of before the rules: it goes", answer)


CONDITION = {"type": "QuotaReserved", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
PLACES = {"levels": ["a"], "slices": [{"domainCount": 1, "podCounts": {"universal": 2}, "valuesPerLevel": [{"universal": "x"}]}]}
# Written as v1beta2; what of it a client does not know that has learnt v1beta1 alone.
NEWER = [{"kind": "ClusterQueue", "spec": {"cohortName": "team"}, "unknown": ["spec", "cohortName"]},
         {"kind": "Workload", "spec": {"priority": 1, "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "a"}},
          "unknown": ["spec", "priorityClassRef"]},
         {"kind": "Workload", "status": {"accumulatedPastExecutionTimeSeconds": 5}, "unknown": ["status", "accumulatedPastExecutionTimeSeconds"]},
         {"kind": "Workload", "status": {"conditions": [CONDITION], "admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "main", "count": 2, "topologyAssignment": PLACES}]}},
          "unknown": ["status", "admission", "podSetAssignments", 0, "topologyAssignment", "slices"]}]


def at(o, path):
    for step in path:
        o = o.get(step) if isinstance(o, dict) else o[step] if o else None
    return o


def older_clients(check, of, server, converts):
    """Who reads and writes v1beta1 takes nothing away: it is converted, or he is refused; and what he says himself is taken."""
    for number, o in enumerate(NEWER):
        sub, name, unknown = "/status" if "status" in o else "", f"newer-{number}", o["unknown"]
        newer, older = (GROUP + v + "/" + PLURALS[o["kind"]] for v in ("v1beta2", "v1beta1"))
        what = f"{of}: {'.'.join(map(str, unknown))}"
        server.call("POST", newer, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": o["kind"], "metadata": {"name": name},
                                    "spec": {**LEAST.get(o["kind"], {}), **o.get("spec", {})}})
        if sub:
            server.call("PATCH", f"{newer}/{name}/status", {"status": o["status"]}, kind="application/merge-patch+json")
        before = at(server.call("GET", f"{newer}/{name}")[1], unknown)
        read = server.call("GET", f"{older}/{name}")[1]
        at(read, unknown[:-1]).pop(unknown[-1], None)
        status, answer = server.call("PUT", f"{older}/{name}{sub}", read)
        after = at(server.call("GET", f"{newer}/{name}")[1], unknown)
        check(before and after == before, f"{what} is not lost to who writes back v1beta1", f"{before} {after} {answer}")
        field = re.sub(r"\.(\d+)", r"[\1]", ".".join(map(str, unknown)))
        check(status == 200 if converts else status in (403, 422) and fields(status, answer) == [field], f"{what}: he is {'taken' if converts else 'refused'}", answer)
    path = f"{PLURALS['ClusterQueue']}/newer-0"
    status, answer = server.call("PATCH", f"{GROUP}v1beta1/{path}", {"spec": {"cohort": "other"}}, kind="application/merge-patch+json")
    check(status == 200, f"{of}: another cohort is taken from who writes v1beta1", answer)
    status, answer = server.call("PATCH", f"{GROUP}v1beta1/{path}", {"spec": {"cohort": "other", "cohortName": None}}, kind="application/merge-patch+json")
    check(status == 200, f"{of}: the older name in the place of the newer is taken", answer)
    status, answer = server.call("PATCH", f"{GROUP}v1beta2/{path}", {"spec": {"cohort": None, "cohortName": None}}, kind="application/merge-patch+json")
    check(status == 200, f"{of}: a queue leaves its cohort by v1beta2", answer)


def examples(check, server):
    """What this repository shows to newcomers is written as Kueue wants it."""
    folder = os.path.join(HERE, "../../examples")
    for file in sorted(os.path.join(sub, f) for sub in ("", "jobs") for f in os.listdir(os.path.join(folder, sub)) if f.endswith(".yaml")):
        with open(os.path.join(folder, file), encoding="utf-8") as f:
            objects = [o for o in yaml.safe_load_all(f) if o and o["apiVersion"].startswith("kueue.x-k8s.io/")]
        said = []
        for o in objects:
            ns = o["metadata"].get("namespace", "default")
            server.call("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
            path = f"/apis/{o['apiVersion']}/{PLURALS[o['kind']]}?dryRun=All".replace("namespaces/default", "namespaces/" + ns)
            status, answer = server.call("POST", path, o)
            said += [] if status == 201 else [f"{o['kind']}: {answer.get('message')}"]
        if objects:
            check(not said, f"real: examples/{file} is taken", said)


def main():
    with open(os.path.join(HERE, "refusals.yaml"), encoding="utf-8") as f:
        cases = yaml.safe_load(f)
    check = real_server.Checks()
    ours = real_server.Embedded(os.environ.get("BUILD", os.path.join(HERE, "../../build")), "strict-kueue")
    try:
        check(ours.ready(), "our server starts", ours.said())
        table(check, "ours", ours, cases)
        older_clients(check, "ours", ours, True)
        warnings = [w for file in ("crds.yaml", "kueue-rules.yaml") for w in ours.apply(os.path.join(DEPLOY, file))]
        check(not [w for w in warnings if "polic" in w], "ours does not warn of policies whose rules it has itself", warnings)
        check(not warnings, "nor of rules in definitions", warnings)
    finally:
        ours.close()
    if not real_server.API or not real_server.ETCD:
        print(f"ok {check.n + 1} - a real kube-apiserver # SKIP none, or no etcd: KUBE_APISERVER and ETCD name them")
        print(f"1..{check.n + 1}")
        return 1 if check.failed else 0
    real = real_server.Kubernetes()
    try:
        if not real.ready():
            print(f"ok {check.n + 1} - a real kube-apiserver # SKIP does not start: {real.said()}")
            check.n += 1
        else:
            real.apply(os.path.join(DEPLOY, "crds.yaml"))
            for o in OLD:
                status, answer = real.call("POST", GROUP + "v1beta2/" + PLURALS[o["kind"]],
                                           {"apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": {"name": "old", "finalizers": ["a.io/b"]}, **o})
                check(status == 201, f"real: {o['kind']} is stored before the rules", answer)
            real.apply(os.path.join(DEPLOY, "kueue-rules.yaml"))
            check(in_force(real), "the policies come into force on a real kube-apiserver")
            old_ones_end(check, real)
            table(check, "real", real, cases)
            older_clients(check, "real", real, False)
            examples(check, real)
    finally:
        real.close()
    print(f"1..{check.n}")
    return 1 if check.failed else 0


sys.exit(main())
