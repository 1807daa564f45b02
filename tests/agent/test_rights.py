"""test_rights.py - what the agent's token may write, on a real kube-apiserver with deploy/agent.yaml: its own node and pods, its own fields.

KUBE_APISERVER and ETCD name the programs (default: on PATH). One TAP line a check; skipped where one is missing, or they do not start.
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import real_server  # noqa: E402

ACCOUNT = "/api/v1/namespaces/capstan-system/serviceaccounts/capstan-agent/token"
MERGE = "application/merge-patch+json"


def token_of(c, node):
    bound = {"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": node}} if node else {}
    status, answer = c.call("POST", ACCOUNT, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                                              "spec": {"audiences": ["https://kubernetes.default.svc"], **bound}})
    assert status == 201, answer
    return answer["status"]["token"]


def make(c):
    for node in ("n1", "n2"):
        c.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": {"zone": "a"}},
                                         "spec": {"taints": [{"key": "keep", "effect": "NoSchedule"},
                                                             {"key": "capstan.dev/starting", "effect": "NoSchedule"}]}})
        c.call("POST", "/api/v1/namespaces/default/pods",
               {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "on-" + node, "annotations": {"a": "b"}},
                "spec": {"nodeName": node, "containers": [{"name": "c", "image": "good"}]}})


def main():
    if not real_server.API or not real_server.ETCD:
        print("1..0 # SKIP no kube-apiserver or etcd: KUBE_APISERVER and ETCD name them")
        return 0
    c, check = real_server.Kubernetes(), real_server.Checks()
    try:
        if not c.ready():
            print("1..0 # SKIP kube-apiserver does not start:", c.said())
            return 0
        for name in ("namespace", "agent"):
            c.apply(os.path.join(HERE, f"../../deploy/{name}.yaml"))
        make(c)
        own, none = token_of(c, "n1"), token_of(c, None)

        def patch(path, body, token=own, kind=MERGE):
            return c.call("PATCH", path, body, token, kind)

        label = {"metadata": {"labels": {"nvidia.com/gpu.count": "8"}, "annotations": {"capstan.dev/devices": "x"}}}
        end = time.monotonic() + 30  # policies come into force a moment after they were made
        while patch("/api/v1/nodes/n2", label)[0] != 422 and time.monotonic() < end:
            time.sleep(0.3)
        n1, n2 = "/api/v1/nodes/n1", "/api/v1/nodes/n2"
        p1, p2 = ("/api/v1/namespaces/default/pods/on-" + n for n in ("n1", "n2"))
        devices = {"metadata": {"annotations": {"capstan.dev/devices": "nvidia.com/gpu=GPU-1"}}}
        condition = {"status": {"conditions": [{"type": "GPUHealthy", "status": "True", "reason": "r", "message": "m"}]}}
        strategic = "application/strategic-merge-patch+json"
        others = [t for t in c.call("GET", n1)[1]["spec"]["taints"] if t["key"] != "capstan.dev/starting"]
        good = [("labels and annotation of its node", n1, label, MERGE), ("a condition of its node", n1 + "/status", condition, strategic),
                ("the start-up taint of its node", n1, {"spec": {"taints": others}}, MERGE),
                ("a label taken away", n1, {"metadata": {"labels": {"nvidia.com/gpu.count": None}}}, MERGE),
                ("devices of a pod on its node", p1, devices, MERGE)]
        for text, path, body, kind in good:
            status, answer = patch(path, body, kind=kind)
            check(status == 200, "it may change " + text, answer.get("message"))
        left = [t["key"] for t in c.call("GET", n1)[1]["spec"].get("taints", [])]
        check("keep" in left and "capstan.dev/starting" not in left, "and the other taints stay", left)
        bad = [("another node", n2, label), ("the status of another node", n2 + "/status", {"status": {"conditions": []}}),
               ("another label", n1, {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}),
               ("a label of others, away", n1, {"metadata": {"labels": {"zone": None}}}),
               ("another annotation", n1, {"metadata": {"annotations": {"x": "y"}}}),
               ("another taint", n1, {"spec": {"taints": []}}), ("that its node is unschedulable", n1, {"spec": {"unschedulable": True}}),
               ("the capacity of its node", n1 + "/status", {"status": {"capacity": {"cpu": "999"}}}),
               ("a condition of the kubelet", n1 + "/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
               ("a pod of another node", p2, devices),
               ("the image of a pod on its node", p1, {"spec": {"containers": [{"name": "c", "image": "evil"}]}}),
               ("a label of a pod", p1, {"metadata": {"labels": {"app": "x"}}}),
               ("another annotation of a pod", p1, {"metadata": {"annotations": {"a": "c"}}}),
               ("a finalizer of a pod", p1, {"metadata": {"finalizers": ["x.y/z"]}})]
        for text, path, body in bad:
            status, answer = patch(path, body)
            check(status in (403, 422), "it may not change " + text, f"{status} {answer.get('message')}")
        for path, body in ((n1, label), (p1, devices)):
            status, answer = patch(path, body, token=none)
            check(status in (403, 422), "a token of no node may not patch " + path, f"{status} {answer.get('message')}")
        for method, path, body in (("POST", "/api/v1/namespaces/default/pods/on-n1/eviction", {"apiVersion": "policy/v1", "kind": "Eviction",
                                                                                              "metadata": {"name": "on-n1"}}),
                                   ("GET", "/api/v1/secrets", None), ("DELETE", p1, None), ("DELETE", n1, None),
                                   ("POST", "/api/v1/namespaces/default/pods", {"apiVersion": "v1", "kind": "Pod"})):
            status, _ = c.call(method, path, body, own)
            check(status == 403, f"it may not {method} {path}", status)
    finally:
        c.close()
    print(f"1..{check.n}")
    return 1 if check.failed else 0


sys.exit(main())
