#!/usr/bin/env python3
"""run.py - pod groups of Kubernetes itself on a real kube-apiserver of 1.35 or later, with `capstan scheduler`; TAP

In the version of scheduling.k8s.io that the release has: one of two waits and is told so, the second makes both start, and the group says it
in its own words; from 1.36 on a group stands on nodes with one value of the label that it names, and who finds none is told so;
from 1.37 on groups below one CompositePodGroup start together, in its domain. KUBE_APISERVER and ETCD name the programs (default: on PATH), BUILD the build folder. Nodes and pods are objects alone.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import real_server  # noqa: E402

CAPSTAN = str(pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve() / "capstan")
SOON_S = 60
# minor release -> version of the group, condition of a PodGroup (none: Workloads have the groups)
RELEASES = {35: ("v1alpha1", None), 36: ("v1alpha2", "PodGroupScheduled"), 37: ("v1beta1", "PodGroupInitiallyScheduled"),
            38: ("v1beta1", "PodGroupInitiallyScheduled")}
COMPOSITES = 37  # with feature gate CompositePodGroup, in v1alpha3
check = real_server.Checks()


def soon(what, ask):
    """ask() becomes true."""
    end = time.monotonic() + SOON_S
    while not (found := ask()) and time.monotonic() < end:
        time.sleep(0.3)
    check(bool(found), what)


class Cluster:
    def __init__(self, versions, gates):
        self.server = real_server.Kubernetes("--runtime-config=" + ",".join(f"scheduling.k8s.io/{v}=true" for v in versions), f"--feature-gates={gates}")
        if not self.server.ready():
            sys.exit(f"kube-apiserver does not start: {self.server.said()}")
        self.config = os.path.join(self.server.dir, "config")
        pathlib.Path(self.config).write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": self.server.url, "insecure-skip-tls-verify": True}}],
            "users": [{"name": "u", "user": {"token": "admin"}}]}))
        self.server.apply(ROOT / "deploy/crds.yaml")
        self.node("n0", 4, {})
        self.create("/api/v1/namespaces/default/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
        self.log = open(os.path.join(self.server.dir, "scheduler.log"), "w", encoding="utf-8")
        self.scheduler = subprocess.Popen([CAPSTAN, "scheduler", "--kubeconfig", self.config, "--leader-elect=false"], stdout=self.log,
                                          stderr=self.log)

    def create(self, path, body):
        status, answer = self.server.call("POST", path, body)
        assert status == 201, answer

    def patch(self, path, body):
        status, answer = self.server.call("PATCH", path, body, kind="application/merge-patch+json")
        assert status == 200, answer

    def node(self, name, gpus, labels):
        self.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
        amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
        self.patch(f"/api/v1/nodes/{name}/status", {"status": {"capacity": amounts, "allocatable": amounts, "conditions": [
            {"type": "Ready", "status": "True", "reason": "Test"}]}})
        self.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})

    def remove(self, path):
        status, answer = self.server.call("DELETE", path, {"gracePeriodSeconds": 0})
        assert status == 200, answer

    def get(self, path):
        return self.server.call("GET", path)[1]

    def pod(self, name, group):
        self.create("/api/v1/namespaces/default/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "schedulerName": "capstan", **group, "containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})

    def condition(self, path, kind):
        found = [c for c in self.get(path).get("status", {}).get("conditions", []) if c["type"] == kind]
        return found[0] if found else {}

    def waits(self, name):
        return self.condition(f"/api/v1/namespaces/default/pods/{name}", "PodScheduled").get("message", "")

    def node_of(self, name):
        return self.get(f"/api/v1/namespaces/default/pods/{name}")["spec"].get("nodeName")

    def says(self, *words):
        return subprocess.run([CAPSTAN, *words, "--kubeconfig", self.config], capture_output=True, text=True, check=False).stdout

    def close(self):
        self.scheduler.terminate()
        self.scheduler.wait()
        self.log.close()
        self.server.close()


def pod_groups(c, version, condition):
    path = f"/apis/scheduling.k8s.io/{version}/namespaces/default/podgroups"
    group = {"schedulingGroup": {"podGroupName": "g"}}
    c.create(path, {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "PodGroup", "metadata": {"name": "g"},
                    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}})
    c.pod("a0", group)
    soon("one of two waits for the other", lambda: "1 of 2 pods exist" in c.waits("a0"))
    soon("the group says so", lambda: (c.condition(path + "/g", condition).get("status"),
                                       c.condition(path + "/g", condition).get("reason")) == ("False", "Unschedulable"))
    check("1 of 2 pods exist" in c.says("why", "podgroup/g", "-n", "default"), "capstan why says so")
    c.pod("a1", group)
    soon("both start", lambda: c.node_of("a0") == c.node_of("a1") == "n0")
    soon("the group says so, too", lambda: c.condition(path + "/g", condition).get("status") == "True")


def domains(c, version):
    """One node in zone a, two in zone b, one GPU each, and n0 in none."""
    for name, zone in (("a1", "a"), ("b1", "b"), ("b2", "b")):
        c.node(name, 1, {"topology.kubernetes.io/zone": zone})
    path = f"/apis/scheduling.k8s.io/{version}/namespaces/default/podgroups"
    for name, count in (("two", 2), ("three", 3)):
        c.create(path, {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "PodGroup", "metadata": {"name": name},
                        "spec": {"schedulingPolicy": {"gang": {"minCount": count}},
                                 "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/zone"}]}}})
    for i in range(3):
        c.pod(f"three-{i}", {"schedulingGroup": {"podGroupName": "three"}})
    soon("three find no zone for all", lambda: "no domain of label topology.kubernetes.io/zone holds 3 pod(s) together" in c.waits("three-0"))
    check(not c.node_of("three-0"), "and wait")
    for i in range(2):
        c.pod(f"two-{i}", {"schedulingGroup": {"podGroupName": "two"}})
    soon("two stand in the zone that has room for both", lambda: {c.node_of("two-0"), c.node_of("two-1")} == {"b1", "b2"})


def composites(c, version):
    """all: one zone, of which b alone has two GPUs left, of a0 and a1, and of b0, which comes last."""
    for name in ("two-0", "two-1"):
        c.remove(f"/api/v1/namespaces/default/pods/{name}")
    path = "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups"
    groups = f"/apis/scheduling.k8s.io/{version}/namespaces/default/podgroups"
    ref = {"workloadRef": {"workloadName": "w", "templateName": "t"}}
    for name, parent, more in (("inner", "outer", {}), ("outer", None, {"schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/zone"}]}})):
        c.create(path, {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup", "metadata": {"name": name}, "spec": {
            **ref, **({"parentCompositePodGroupName": parent} if parent else {}), "schedulingPolicy": {"gang": {"minGroupCount": 2 if parent else 1}}, **more}})
    for name in ("ca", "cb"):
        c.create(groups, {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "PodGroup", "metadata": {"name": name},
                          "spec": {**ref, "parentCompositePodGroupName": "inner", "schedulingPolicy": {"gang": {"minCount": 1}}}})
    c.pod("ca-0", {"schedulingGroup": {"podGroupName": "ca"}})
    scheduled = "CompositePodGroupInitiallyScheduled"
    soon("one of two groups waits for the other", lambda: "0 of 1 subgroups of cb have all their pods" in c.waits("ca-0"))
    soon("the CompositePodGroup on top says so", lambda: "subgroups of cb" in c.condition(path + "/outer", scheduled).get("message", ""))
    soon("and the one below it", lambda: c.condition(path + "/inner", scheduled).get("reason") == "Unschedulable")
    check("subgroups of cb" in c.says("why", "compositepodgroup/outer", "-n", "default"), "capstan why says so, too")
    c.pod("cb-0", {"schedulingGroup": {"podGroupName": "cb"}})
    soon("both start, in one zone", lambda: {c.node_of("ca-0"), c.node_of("cb-0")} == {"b1", "b2"})
    for name in ("inner", "outer"):
        soon(f"{name} says so", lambda: c.condition(f"{path}/{name}", scheduled).get("status") == "True")
    soon("and a PodGroup below it", lambda: c.condition(groups + "/cb", "PodGroupInitiallyScheduled").get("status") == "True")


def workloads(c, version):
    path = f"/apis/scheduling.k8s.io/{version}/namespaces/default/workloads"
    group = {r: {"workloadRef": {"name": "w", "podGroup": "g", "podGroupReplicaKey": r}} for r in "01"}
    c.pod("a0", group["0"])
    c.create(path, {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "Workload", "metadata": {"name": "w"},
                    "spec": {"podGroups": [{"name": "g", "policy": {"gang": {"minCount": 2}}}]}})
    c.pod("b0", group["1"])
    soon("one of two waits for its own replica", lambda: "1 of 2 pods exist" in c.waits("a0"))
    c.pod("a1", group["0"])
    soon("both start", lambda: c.node_of("a0") == c.node_of("a1") == "n0")
    check(not c.node_of("b0"), "the other replica waits")
    check("status" not in c.get(path + "/w") and "annotations" not in c.get(path + "/w")["metadata"], "the Workload is left as it is")


def main():
    if not real_server.API or not real_server.ETCD:
        print("1..0 # SKIP no kube-apiserver or etcd: set KUBE_APISERVER and ETCD")
        return 0
    said = subprocess.run([real_server.API, "--version"], capture_output=True, text=True, check=True).stdout
    minor = int(re.search(r"v1\.(\d+)", said).group(1))
    if minor not in RELEASES:
        print(f"1..0 # SKIP {said.strip()}: pod groups are known of 1.{min(RELEASES)} to 1.{max(RELEASES)}")
        return 0
    version, condition = RELEASES[minor]
    has_composites = minor >= COMPOSITES
    c = Cluster([version] + (["v1alpha3"] if has_composites else []),
                "GenericWorkload=true" + (",TopologyAwareWorkloadScheduling=true" if condition else "") +
                (",CompositePodGroup=true" if has_composites else ""))
    try:
        check(f"scheduling.k8s.io/{version}" in c.says("doctor", "--all"), f"{said.strip()}: doctor finds {version}")
        if condition:
            pod_groups(c, version, condition)
            domains(c, version)
            if has_composites:
                check("scheduling.k8s.io/v1alpha3" in c.says("doctor", "--all"), "doctor finds CompositePodGroups")
                composites(c, version)
        else:
            workloads(c, version)
    finally:
        c.close()
    print(f"1..{check.n}")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
