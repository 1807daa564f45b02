"""test_unheld.py - who names a queue in vain is told so, on a real kube-apiserver without deploy/kueue-defaults.yaml

KUBE_APISERVER and ETCD name the programs (default: on PATH), BUILD the build folder. One TAP line a check. No controller manager runs: that a
StatefulSet has no pods is no matter.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import real_server  # noqa: E402

CAPSTAN = str(pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve() / "capstan")
QUEUE, SOON_S = "kueue.x-k8s.io/queue-name", 30
POD = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
LABELS = {"a": "b"}
SET = {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, **POD}}
HELD = {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": {**LABELS, QUEUE: "q"}}, **POD}}
CRON = {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", **POD["spec"]}}}}}
# kind, path of its group, plural, spec, what it is told: None nothing
CASES = [("Deployment", "/apis/apps/v1", "deployments", SET, "spec.template.metadata.labels, too, as kueue.x-k8s.io/queue-name: q"),
         ("ReplicaSet", "/apis/apps/v1", "replicasets", SET, "spec.template.metadata.labels, too, as kueue.x-k8s.io/queue-name: q"),
         ("StatefulSet", "/apis/apps/v1", "statefulsets", {**SET, "serviceName": "s"},
          "spec.template.metadata the annotation kueue.x-k8s.io/pod-suspending-parent: statefulset"),
         ("CronJob", "/apis/batch/v1", "cronjobs", CRON, "spec.jobTemplate.metadata.labels, too"),
         ("Deployment", "/apis/apps/v1", "deployments", HELD, None)]
check = real_server.Checks()


def kubeconfig(server):
    path = os.path.join(server.dir, "config")
    pathlib.Path(path).write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server.url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": "admin"}}]}), encoding="utf-8")
    return path


def told(server, name):
    events = server.call("GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name},reason=PodsNotHeld")[1]
    return " ".join(e["message"] for e in events.get("items", []))


def says(config, *words):
    return subprocess.run([CAPSTAN, *words, "--kubeconfig", config], capture_output=True, text=True, check=False).stdout


def try_one(server, config, i):
    kind, group, plural, spec, wanted = CASES[i]
    path, name = f"{group}/namespaces/default/{plural}", f"x{i}"
    status, answer = server.call("POST", path, {"apiVersion": group.removeprefix("/apis/"), "kind": kind,
                                                "metadata": {"name": name, "labels": {QUEUE: "q"}}, "spec": spec})
    assert status == 201, answer
    end = time.monotonic() + (SOON_S if wanted else 3)
    while not told(server, name) and time.monotonic() < end:
        time.sleep(0.3)
    event, why = told(server, name), "" if kind == "CronJob" else says(config, "why", f"{kind}/{name}", "-n", "default")
    if wanted is None:
        check(not event and "not queued" not in why, f"{kind} whose template names the queue is left in peace", event + why)
        return
    check(wanted in event, f"{kind} is told what to write where", event)
    if kind != "CronJob":
        check("not queued: " in why and wanted in why, f"{kind}: so is who asks why", why)


def main():
    if not real_server.API or not real_server.ETCD:
        print("1..0 # SKIP no kube-apiserver or etcd: set KUBE_APISERVER and ETCD")
        return 0
    server = real_server.Kubernetes()
    scheduler = None
    try:
        if not server.ready():
            sys.exit(f"kube-apiserver does not start: {server.said()}")
        server.apply(ROOT / "deploy/crds.yaml")
        config = kubeconfig(server)
        scheduler = subprocess.Popen([CAPSTAN, "scheduler", "--kubeconfig", config, "--leader-elect=false"], stdout=server.log, stderr=server.log)
        for i in range(len(CASES)):
            try_one(server, config, i)
        found = json.loads(says(config, "advise", "--rule", "not-queued", "-o", "json"))
        check(sorted(f["about"] for f in found) == ["CronJob default/x3", "Deployment default/x0", "ReplicaSet default/x1",
                                                    "StatefulSet default/x2"], "advise finds them", found)
        for manifest in [m for f in found for m in f["manifest"]]:
            path = next(f"{g}/namespaces/default/{p}/{manifest['metadata']['name']}" for k, g, p, _, _ in CASES if k == manifest["kind"])
            status, answer = server.call("PATCH", path, manifest, kind="application/merge-patch+json")
            check(status == 200, f"{manifest['kind']}: what it prints is taken", answer)
        check(json.loads(says(config, "advise", "--rule", "not-queued", "-o", "json")) == [], "and nothing is found any more")
    finally:
        if scheduler:
            scheduler.terminate()
            scheduler.wait()
        server.close()
    print(f"1..{check.n}")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
