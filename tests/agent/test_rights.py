"""test_rights.py - what the agent's token may write, on a real kube-apiserver with deploy/agent.yaml: its own node and pods, its own fields.

KUBE_APISERVER and ETCD name the programs (default: on PATH). One TAP line a check; skipped where one is missing, or they do not start.
"""
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
API, ETCD = (shutil.which(os.environ.get(v, d)) for v, d in (("KUBE_APISERVER", "kube-apiserver"), ("ETCD", "etcd")))
ACCOUNT = "/api/v1/namespaces/capstan-system/serviceaccounts/capstan-agent/token"
MERGE = "application/merge-patch+json"
GROUPS = {"v1": "/api/v1", "apps/v1": "/apis/apps/v1"}


def ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    found = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return found


class Cluster:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="rights-")
        client, peer, self.port = ports(3)
        key, tokens = os.path.join(self.dir, "sa.key"), os.path.join(self.dir, "tokens.csv")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, stderr=subprocess.DEVNULL)
        with open(tokens, "w", encoding="utf-8") as f:
            f.write('admin,admin,admin,"system:masters"\n')
        self.log = open(os.path.join(self.dir, "log"), "w+", encoding="utf-8")
        url = f"http://127.0.0.1:{client}"
        self.children = [self.spawn(ETCD, f"--data-dir={self.dir}/etcd", f"--listen-client-urls={url}", f"--advertise-client-urls={url}",
                                    f"--listen-peer-urls=http://127.0.0.1:{peer}", "--log-level=error"),
                         self.spawn(API, f"--etcd-servers={url}", f"--secure-port={self.port}", "--bind-address=127.0.0.1",
                                    f"--cert-dir={self.dir}/certs", f"--token-auth-file={tokens}", "--authorization-mode=RBAC",
                                    f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
                                    "--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.96.0.0/16",
                                    "--allow-privileged=true", "--disable-admission-plugins=ServiceAccount")]

    def spawn(self, *words):
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def call(self, method, path, body=None, token="admin", kind="application/json"):
        """(status, object)"""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", method=method, data=data,
                                         headers={"Content-Type": kind, "Authorization": "Bearer " + token})
        try:
            with urllib.request.urlopen(request, timeout=30, context=ssl._create_unverified_context()) as answer:  # noqa: SLF001, its own certificate
                text = answer.read()
                return answer.status, json.loads(text) if text[:1] == b"{" else {}
        except urllib.error.HTTPError as e:
            text = e.read()
            return e.code, json.loads(text) if text[:1] == b"{" else {}
        except OSError:
            return 0, {}

    def ready(self):
        end = time.monotonic() + 120
        while time.monotonic() < end and all(c.poll() is None for c in self.children):
            if self.call("GET", "/readyz")[0] == 200:
                return True
            time.sleep(0.3)
        return False

    def apply(self, path):
        with open(path, encoding="utf-8") as f:
            for o in yaml.safe_load_all(f):
                group, ns = GROUPS.get(o["apiVersion"], "/apis/" + o["apiVersion"]), o["metadata"].get("namespace")
                kind = o["kind"].lower()
                plural = kind[:-1] + "ies" if kind.endswith("y") else kind + "s"
                status, answer = self.call("POST", group + (f"/namespaces/{ns}" if ns else "") + f"/{plural}", o)
                assert status == 201, answer

    def token(self, node):
        bound = {"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": node}} if node else {}
        status, answer = self.call("POST", ACCOUNT, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                                                     "spec": {"audiences": ["https://kubernetes.default.svc"], **bound}})
        assert status == 201, answer
        return answer["status"]["token"]

    def close(self):
        for c in reversed(self.children):
            c.terminate()
        for c in self.children:
            try:
                c.wait(20)
            except subprocess.TimeoutExpired:
                c.kill()
        self.log.close()
        shutil.rmtree(self.dir)


class Checks:
    def __init__(self):
        self.n = self.failed = 0

    def __call__(self, good, text, more=""):
        self.n += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {text}", flush=True)
        if not good:
            print(f"# {more}", flush=True)


def make(c):
    for node in ("n1", "n2"):
        c.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": {"zone": "a"}},
                                         "spec": {"taints": [{"key": "keep", "effect": "NoSchedule"},
                                                             {"key": "capstan.dev/starting", "effect": "NoSchedule"}]}})
        c.call("POST", "/api/v1/namespaces/default/pods",
               {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "on-" + node, "annotations": {"a": "b"}},
                "spec": {"nodeName": node, "containers": [{"name": "c", "image": "good"}]}})


def main():
    if not API or not ETCD:
        print("1..0 # SKIP no kube-apiserver or etcd: KUBE_APISERVER and ETCD name them")
        return 0
    c, check = Cluster(), Checks()
    try:
        if not c.ready():
            c.log.seek(0)
            print("1..0 # SKIP kube-apiserver does not start:", c.log.read()[-300:].replace("\n", " "))
            return 0
        c.apply(os.path.join(HERE, "../../deploy/agent.yaml"))
        make(c)
        own, none = c.token("n1"), c.token(None)

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
