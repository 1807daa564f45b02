#!/usr/bin/env python3
"""run.py [NAME]... - real operators with `capstan scheduler` on a real kube-apiserver; TAP

Each operator runs the manifests of examples/jobs that are of its kinds: they wait for quota, start whole, end, are stopped and resumed.
Pods are made by the operators and by kube-controller-manager; this script plays the kubelets.

LATE=1: the operators are installed while the scheduler runs, which learns of their kinds within half a minute; pods that they make
meanwhile must wait, too. mpi-operator wants port 8080.

OPERATORS is the folder that `build` filled; KUBE_APISERVER, KUBE_CONTROLLER_MANAGER and ETCD name the programs (default: on PATH), BUILD the
build folder.
"""
import base64
import calendar
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import yaml

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import real_server  # noqa: E402

BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
OPERATORS = pathlib.Path(os.environ.get("OPERATORS", "/nowhere"))
MANAGER = shutil.which(os.environ.get("KUBE_CONTROLLER_MANAGER", "kube-controller-manager"))
LATE = os.environ.get("LATE")
SOON_S = 60
NS = "team-a"
QUEUE = "kueue.x-k8s.io/queue-name"
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{NS}/workloads"
CLUSTER_QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/team-a"
QUOTA = {"nvidia.com/gpu": "8", "cpu": "256", "memory": "2Ti"}
CONTROLLERS = ("job-controller", "statefulset-controller", "garbage-collector-controller", "namespace-controller")

# Kind, plural, manifest, pods that it has when it runs, and whether it ends by itself.
SAMPLES = {
    "jobset": [("jobset.x-k8s.io/v1alpha2", "jobsets", "jobs/20-jobset.yaml", 4, True)],
    "mpi-operator": [("kubeflow.org/v2beta1", "mpijobs", "jobs/19-mpijob.yaml", 3, True)],
    "lws": [("leaderworkerset.x-k8s.io/v1", "leaderworkersets", "jobs/27-leaderworkerset.yaml", 4, False)],
    "trainer": [("trainer.kubeflow.org/v1alpha1", "trainjobs", "05-trainjob.yaml", 2, True)],
    "training-operator": [
        ("kubeflow.org/v1", "pytorchjobs", "jobs/18-pytorchjob.yaml", 3, True),
        ("kubeflow.org/v1", "tfjobs", "jobs/21-tfjob.yaml", None, True),
        ("kubeflow.org/v1", "xgboostjobs", "jobs/22-xgboostjob.yaml", None, True),
        ("kubeflow.org/v1", "jaxjobs", "jobs/23-jaxjob.yaml", None, True),
        ("kubeflow.org/v1", "paddlejobs", "jobs/24-paddlejob.yaml", None, True),
    ],
}


# What it makes is made by these.
ALSO = {"trainer": ["jobset"]}
CERTIFICATES = pathlib.Path("/tmp/k8s-webhook-server/serving-certs")  # where some look for theirs, and nowhere else


class Kubelets(threading.Thread):
    """What is bound runs, ends after the seconds that it names (60 if none), and goes when it is deleted."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.began = {}
        self.most = {}  # owner's name: pods bound at once
        self.stop = False

    def run(self):
        while not self.stop:
            _, answer = self.server.call("GET", "/api/v1/pods")
            for pod in answer.get("items", []):
                self.look(pod)
            time.sleep(0.2)

    def look(self, pod):
        meta, phase = pod["metadata"], pod.get("status", {}).get("phase", "Pending")
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        if meta.get("deletionTimestamp"):
            self.server.call("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})
        elif pod["spec"].get("nodeName") and phase == "Pending":
            self.began[meta["uid"]] = time.monotonic()
            self.tell(path, pod, "Running")
        elif phase == "Running":
            seconds = float(meta.get("annotations", {}).get("capstan.dev/run-seconds", 60))
            if time.monotonic() - self.began.get(meta["uid"], time.monotonic()) > seconds and pod["spec"]["restartPolicy"] != "Always":
                self.tell(path, pod, "Succeeded")

    def tell(self, path, pod, phase):
        runs = phase == "Running"
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        state = {"running": {"startedAt": now}} if runs else {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": now}}
        statuses = [{"name": c["name"], "image": c["image"], "imageID": c["image"], "ready": runs, "restartCount": 0, "started": runs, "state": state}
                    for c in pod["spec"]["containers"]]
        conditions = [{"type": t, "status": "True" if runs or t in ("Initialized", "PodScheduled") else "False", "lastTransitionTime": now}
                      for t in ("PodScheduled", "Initialized", "ContainersReady", "Ready")]
        self.server.call("PATCH", path + "/status", {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {
            "phase": phase, "startTime": now, "podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}], "conditions": conditions,
            "containerStatuses": statuses}}, kind="application/strategic-merge-patch+json")


class Cluster:
    def __init__(self):
        self.server = real_server.Kubernetes()
        self.check = real_server.Checks()
        self.children = []
        self.kubelets = None

    def spawn(self, name, *words, env=None):
        log = open(os.path.join(self.server.dir, name + ".log"), "w", encoding="utf-8")
        self.children.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **(env or {})}))
        return self.children[-1]

    def kubectl(self, *words, text=None):
        done = subprocess.run(["kubectl", "--kubeconfig", self.config, *words], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False, text=True)
        return done.returncode, done.stdout

    def start(self):
        s = self.server
        if not s.ready():
            return False
        self.config = os.path.join(s.dir, "kubeconfig")
        pathlib.Path(self.config).write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {"token": "admin"}}],
            "clusters": [{"name": "c", "cluster": {"server": s.url, "insecure-skip-tls-verify": True}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}), encoding="utf-8")
        self.spawn("controllers", MANAGER, "--kubeconfig", self.config, "--leader-elect=false", "--controllers=" + ",".join(CONTROLLERS),
                   "--secure-port=0")
        code, text = self.kubectl("apply", "-k", str(ROOT / "deploy"))
        assert code == 0, text
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        resources = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
        for i in range(4):
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{i}"}, "status": {
                "capacity": resources, "allocatable": resources, "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}
            s.call("POST", "/api/v1/nodes", node)
            s.call("PATCH", f"/api/v1/nodes/node-{i}", {"spec": {"taints": None}}, kind="application/merge-patch+json")  # not-ready: the server's
            s.call("PATCH", f"/api/v1/nodes/node-{i}/status", {"status": node["status"]}, kind="application/merge-patch+json")
        code, text = self.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}},
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "any"}},
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "team-a"}, "spec": {
                "namespaceSelector": {}, "resourceGroups": [{"coveredResources": list(QUOTA), "flavors": [
                    {"name": "any", "resources": [{"name": r, "nominalQuota": q} for r, q in QUOTA.items()]}]}]}},
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "team-a-queue", "namespace": NS}, "spec": {
                "clusterQueue": "team-a"}}]}))
        assert code == 0, text
        if LATE:
            self.schedule()
        self.kubelets = Kubelets(s)
        self.kubelets.start()
        return True

    def schedule(self):
        self.spawn("scheduler", str(BUILD / "capstan"), "scheduler", "--kubeconfig", self.config, "--default-scheduler", "--leader-elect=false")

    def close(self):
        if self.kubelets:
            self.kubelets.stop = True
        for child in reversed(self.children):
            child.terminate()
            child.wait(20)
        if self.check.failed and os.environ.get("KEEP"):
            shutil.copytree(self.server.dir, os.environ["KEEP"], dirs_exist_ok=True, ignore=shutil.ignore_patterns("etcd"))
        self.server.close()

    # ---- what is asked of it ----

    def get(self, path):
        return self.server.call("GET", path)[1]

    def pods(self, bound=None):
        """Those of samples that have not ended."""
        pods = [p for p in self.get(f"/api/v1/namespaces/{NS}/pods").get("items", [])
                if not p["metadata"]["name"].startswith("first-") and p.get("status", {}).get("phase") not in ("Succeeded", "Failed")]
        return [p for p in pods if bound is None or bool(p["spec"].get("nodeName")) == bound]

    def ran(self, since):
        """Who got a node, by Events: seconds as they have them."""
        events = self.get(f"/api/v1/namespaces/{NS}/events").get("items", [])
        return [e["message"] for e in events if e["reason"] == "Scheduled" and "/first-" not in e["message"]
                and calendar.timegm(time.strptime(e["lastTimestamp"], "%Y-%m-%dT%H:%M:%SZ")) >= since]

    def workloads(self):
        return [w for w in self.get(WORKLOADS).get("items", []) if "first" not in w["metadata"]["name"]]

    def used(self):
        for flavor in self.get(CLUSTER_QUEUE).get("status", {}).get("flavorsUsage") or []:
            for resource in flavor["resources"]:
                if resource["name"] == "nvidia.com/gpu":
                    return int(resource["total"])
        return 0

    def soon(self, what, ask, wanted, seconds=SOON_S):
        end, got = time.monotonic() + seconds, None
        while time.monotonic() < end:
            got = ask()
            if wanted(got) if callable(wanted) else got == wanted:
                break
            time.sleep(0.2)
        good = wanted(got) if callable(wanted) else got == wanted
        self.check(good, what, str(got)[:600])
        if not good:
            for words in (("get", "jobs,pods,workloads", "-o", "wide"), ("get", "events", "--sort-by=.metadata.creationTimestamp")):
                for line in self.kubectl("-n", NS, *words)[1].splitlines()[-30:]:
                    print("#  ", line[:200])
        return good


def conditions(workload):
    return {c["type"]: c["status"] for c in workload.get("status", {}).get("conditions", [])}


def all_have(workloads, condition, status="True"):
    return bool(workloads) and all(conditions(w).get(condition) == status for w in workloads)


def blocker(name):
    """A Job that has the whole quota until it is deleted."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": NS, "labels": {QUEUE: "team-a-queue"}}, "spec": {
        "template": {"metadata": {"annotations": {"capstan.dev/run-seconds": "9999"}}, "spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": "train", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}}}}


def hold(group):
    """Its pods wait for quota, as the event PodsNotHeld has it; Kueue's webhook writes that."""
    for template in ("leaderTemplate", "workerTemplate"):
        meta = group["spec"]["leaderWorkerTemplate"][template].setdefault("metadata", {})
        meta.setdefault("annotations", {})["kueue.x-k8s.io/pod-suspending-parent"] = "leaderworkerset.x-k8s.io/leaderworkerset"
        meta.setdefault("labels", {})[QUEUE] = "team-a-queue"


def sample(c, operator, group, plural, manifest, pods_n, ends):
    """One manifest, from its wait to its end."""
    text = (ROOT / "examples" / manifest).read_text(encoding="utf-8")

    def make(text):
        *others, job = yaml.safe_load_all(text)
        if kind == "LeaderWorkerSet":
            hold(job)
        for other in others:
            code, said = c.kubectl("apply", "-f", "-", text=yaml.safe_dump(other))
            assert code == 0, said
        return c.server.call("POST", path, job)

    *_, job = yaml.safe_load_all(text)
    kind, name, path = job["kind"], job["metadata"]["name"], f"/apis/{group}/namespaces/{NS}/{plural}"
    jobs = f"/apis/batch/v1/namespaces/{NS}/jobs"
    if pods_n is None:
        specs = next(v for k, v in job["spec"].items() if k.endswith("ReplicaSpecs"))
        pods_n = sum(s.get("replicas", 1) for s in specs.values())
    before = c.check.failed

    status, answer = c.server.call("POST", jobs, blocker("first"))
    assert status == 201, answer
    if not c.soon(f"{kind}: the quota is another's", c.used, 8):
        return
    since = time.time() - 1
    status, answer = make(text)
    c.check(status == 201, f"{kind}: the manifest is taken", answer)
    c.soon(f"{kind}: it has a Workload", lambda: len(c.workloads()), lambda n: n > 0)
    time.sleep(2)
    c.check(not c.ran(since) and all_have(c.workloads(), "QuotaReserved", "False"), f"{kind}: it waits, and no pod of it was ever on a node",
            c.ran(since))

    c.server.call("DELETE", jobs + "/first?propagationPolicy=Background")
    if not c.soon(f"{kind}: it is admitted", lambda: [w.get("status") for w in c.workloads()], lambda _: all_have(c.workloads(), "Admitted")):
        return
    first_n = pods_n if plural != "jobsets" else 1  # its others come when these have ended
    c.soon(f"{kind}: all its pods get nodes", lambda: len(c.pods(bound=True)), lambda n: n >= first_n)
    c.check(not c.pods(bound=False), f"{kind}: none is left over", [p["metadata"]["name"] for p in c.pods(bound=False)])

    if ends:
        c.soon(f"{kind}: it ends, and so does its Workload", c.workloads, lambda w: all_have(w, "Finished"), 120)
        c.soon(f"{kind}: what it had is free", c.used, 0)
        c.server.call("DELETE", f"{path}/{name}?propagationPolicy=Background")
        c.soon(f"{kind}: nothing of it is left", lambda: (len(c.pods()), len(c.workloads())), (0, 0))
        make(re.sub('run-seconds: ".*"', 'run-seconds: "9999"', text))
        c.soon(f"{kind}: again, to be stopped", lambda: len(c.pods(bound=True)), lambda n: n >= first_n)
    for w in c.workloads():
        c.server.call("PATCH", f"{WORKLOADS}/{w['metadata']['name']}", {"spec": {"active": False}}, kind="application/merge-patch+json")
    c.soon(f"{kind}: deactivated it has no pod on a node", lambda: len(c.pods(bound=True)), 0)
    c.soon(f"{kind}: and no quota", c.used, 0)
    for w in c.workloads():
        c.server.call("PATCH", f"{WORKLOADS}/{w['metadata']['name']}", {"spec": {"active": True}}, kind="application/merge-patch+json")
    c.soon(f"{kind}: activated it runs again", lambda: len(c.pods(bound=True)), lambda n: n >= first_n)
    c.server.call("DELETE", f"{path}/{name}?propagationPolicy=Background")
    c.soon(f"{kind}: deleted it leaves nothing", lambda: (len(c.pods()), len(c.workloads()), c.used()), (0, 0, 0))

    make(re.sub("nvidia.com/gpu: .*", "nvidia.com/gpu: 7", text))
    c.soon(f"{kind}: one that is too large has a Workload", lambda: len(c.workloads()), lambda n: n > 0)
    time.sleep(2)
    c.check(not c.pods(bound=True), f"{kind}: and starts none of its pods by half",
            [(p["metadata"]["name"], p["spec"].get("nodeName")) for p in c.pods()])
    c.server.call("DELETE", f"{path}/{name}?propagationPolicy=Background")
    c.soon(f"{kind}: and goes", lambda: (len(c.pods()), len(c.workloads())), (0, 0))
    if c.check.failed > before:
        print(f"# {operator}: {c.server.dir}", flush=True)


def certificate(where):
    """Makes tls.crt and tls.key there. Returns the certificate in base64."""
    where.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", where / "tls.key", "-out", where / "tls.crt", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
    done = subprocess.run(["base64", "-w0", where / "tls.crt"], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def install(c, name, port):
    """The operator's definitions, with its webhooks on this machine."""
    where = pathlib.Path(c.server.dir) / f"{name}-webhook"
    bundle = certificate(where)
    objects = []
    for file in sorted((OPERATORS / name).glob("*.yaml")):
        objects += [o for o in yaml.safe_load_all(file.read_text(encoding="utf-8")) if o]
    for o in objects:
        if "webhooks" in o:
            o["metadata"]["name"] = f"{name}-{o['metadata']['name']}"  # theirs are the same before kustomize
        for hook in o.get("webhooks", []):
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{hook['clientConfig']['service']['path']}", "caBundle": bundle}
        if o["kind"] == "CustomResourceDefinition":
            o["spec"].pop("conversion", None)
    rules = [o for o in objects if "webhooks" in o]
    code, text = c.kubectl("apply", "--server-side", "-f", "-", text=yaml.safe_dump_all(o for o in objects if "webhooks" not in o))
    assert code == 0, text
    c.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    return where, rules


def mount(c, secret):
    """The operator makes its certificate, and a kubelet would mount it."""
    CERTIFICATES.mkdir(parents=True, exist_ok=True)
    while True:
        for name, value in (c.get(secret).get("data") or {}).items():
            file = CERTIFICATES / name
            text = base64.b64decode(value)
            if not file.exists() or file.read_bytes() != text:
                file.write_bytes(text)
        time.sleep(0.5)


def start(c, name):
    port, probes, metrics = real_server.ports(3)
    where, rules = install(c, name, port)
    env = {"KUBECONFIG": c.config}
    program = str(OPERATORS / name / "operator")
    if name in ("jobset", "lws"):
        config = {"apiVersion": f"config.{'jobset' if name == 'jobset' else 'lws'}.x-k8s.io/v1alpha1", "kind": "Configuration",
                  "internalCertManagement": {"enable": False}, "leaderElection": {"leaderElect": False},
                  "webhook": {"port": port, "certDir": str(where)}, "health": {"healthProbeBindAddress": f":{probes}"},
                  "metrics": {"bindAddress": "0"}}
        file = pathlib.Path(c.server.dir) / f"{name}.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        child = c.spawn(name, program, "--config", str(file), env=env)
    elif name == "mpi-operator":
        c.server.call("POST", "/api/v1/namespaces", {"metadata": {"name": "mpi-operator"}})
        child = c.spawn(name, program, "--kubeConfig", c.config, "--kube-api-qps=100", "--kube-api-burst=100", env=env)
        probes = None
        time.sleep(3)
    elif name == "trainer":
        config = {"apiVersion": "config.trainer.kubeflow.org/v1alpha1", "kind": "Configuration", "certManagement": {"enable": False},
                  "leaderElection": {"leaderElect": False}, "webhook": {"port": port}, "metrics": {"bindAddress": "0"},
                  "health": {"healthProbeBindAddress": f":{probes}"}}
        file = pathlib.Path(c.server.dir) / f"{name}.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        shutil.copytree(where, CERTIFICATES, dirs_exist_ok=True)
        child = c.spawn(name, program, "--config", str(file), env=env)
    else:
        secret = "/api/v1/namespaces/kubeflow/secrets"
        c.server.call("POST", "/api/v1/namespaces", {"metadata": {"name": "kubeflow"}})
        c.server.call("POST", secret, {"metadata": {"name": "training-operator-webhook-cert"}})
        threading.Thread(target=mount, args=(c, secret + "/training-operator-webhook-cert"), daemon=True).start()
        child = c.spawn(name, program, f"--health-probe-bind-address=:{probes}", "--metrics-bind-address=0", f"--webhook-server-port={port}", env=env)
    if probes:
        end = time.monotonic() + SOON_S
        while time.monotonic() < end and child.poll() is None and subprocess.run(
                ["curl", "-fsS", f"http://127.0.0.1:{probes}/readyz"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            time.sleep(0.3)
    if child.poll() is not None:
        c.check(False, f"{name} runs", pathlib.Path(c.server.dir, name + ".log").read_text(encoding="utf-8")[-300:])
    if rules:
        code, text = c.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(rules))
        assert code == 0, text
    return child


def main():
    wanted = sys.argv[1:] or sorted(SAMPLES)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended
    if not real_server.API or not real_server.ETCD or not MANAGER or not shutil.which("kubectl"):
        print("1..0 # SKIP no kube-apiserver, kube-controller-manager, etcd or kubectl: KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, ETCD name them")
        return 0
    missing = [name for name in wanted for name in ALSO.get(name, []) + [name] if not (OPERATORS / name / "operator").exists()]
    if missing:
        print(f"1..0 # SKIP not built: {' '.join(missing)} (tests/operators/build DIR, then OPERATORS=DIR)")
        return 0
    failed = n = 0
    for name in wanted:
        c = Cluster()
        c.check.n = n
        try:
            if not c.start():
                print("1..0 # SKIP kube-apiserver does not start:", c.server.said())
                return 0
            for other in ALSO.get(name, []) + [name]:
                start(c, other)
            if not LATE:
                c.schedule()
            for one in SAMPLES[name]:
                sample(c, name, *one)
        finally:
            c.close()
        failed, n = failed + c.check.failed, c.check.n
    print(f"1..{n}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
