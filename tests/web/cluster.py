"""cluster.py - `capstan up` for a test of its page: started on a free port, fed with manifests over its API, ended with the test."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CAPSTAN = os.environ.get("CAPSTAN", str(ROOT / "build/capstan"))


class Cluster:
    def __init__(self, *options):
        self.dir = tempfile.mkdtemp(prefix="capstan-web-")
        command = [CAPSTAN, "up", "--data-dir", self.dir, "--listen", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = next((line.split()[1] for line in self.process.stdout if line.startswith("cluster:")), "")
        assert self.url, "capstan up did not start"

    def ask(self, path, method="GET", body=None, headers=None):
        """(status, headers, bytes); 4xx is no error."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
        try:
            with urllib.request.build_opener(NoRedirect).open(request, timeout=30) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as e:
            return e.code, dict(e.headers), e.read()
        except OSError as e:
            process = getattr(self, "process", None)
            assert not process or process.poll() is None, "the server has ended by itself: %s" % process.poll()
            raise e

    def get(self, path):
        return json.loads(self.ask(path)[2])

    def create(self, path, body):
        status, _, text = self.ask(path, "POST", body)
        assert status in (200, 201, 409), (path, status, text)

    def patch(self, path, body):
        status, _, text = self.ask(path, "PATCH", body, {"Content-Type": "application/merge-patch+json"})
        assert status == 200, (path, status, text)

    def pod(self, name, gpus=1, ns="default", seconds=600, node=None, annotations=None, group=None):
        spec = {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "train", "resources": {"limits": {"nvidia.com/gpu": gpus} if gpus else {}}}],
        }
        if node:
            spec["nodeSelector"] = {"kubernetes.io/hostname": node}
        self.create(
            "/api/v1/namespaces/%s/pods" % ns,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "spec": spec,
                "metadata": {
                    "name": name,
                    "labels": {"scheduling.x-k8s.io/pod-group": group} if group else {},
                    "annotations": {"capstan.dev/run-seconds": str(seconds), **(annotations or {})},
                },
            },
        )

    def job(self, name, pods, gpus, queue, ns, seconds=600, most_s=None):
        labels = {"kueue.x-k8s.io/queue-name": queue, **({"kueue.x-k8s.io/max-exec-time-seconds": str(most_s)} if most_s else {})}
        container = {
            "name": "main",
            "image": "train",
            "resources": {"requests": {"nvidia.com/gpu": gpus}, "limits": {"nvidia.com/gpu": gpus}},
        }
        template = {
            "metadata": {"annotations": {"capstan.dev/run-seconds": str(seconds)}},
            "spec": {"restartPolicy": "Never", "containers": [container]},
        }
        self.create(
            "/apis/batch/v1/namespaces/%s/jobs" % ns,
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": name, "labels": labels},
                "spec": {"parallelism": pods, "completions": pods, "suspend": True, "template": template},
            },
        )

    def teams(self, flavor_labels=None, quotas=None):
        """Queues that lend to each other, by name how many GPUs are theirs: namespace team-NAME, queue `main` in each."""
        self.create(
            "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "ResourceFlavor",
                "metadata": {"name": "gpus"},
                "spec": {"nodeLabels": flavor_labels or {}},
            },
        )
        for team, quota in (quotas or {"red": 8, "blue": 8}).items():
            ns = "team-" + team
            self.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})
            self.create(
                "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
                {
                    "apiVersion": "kueue.x-k8s.io/v1beta2",
                    "kind": "ClusterQueue",
                    "metadata": {"name": team},
                    "spec": {
                        "cohortName": "research",
                        "namespaceSelector": {},
                        "preemption": {"reclaimWithinCohort": "Any"},
                        "resourceGroups": [
                            {
                                "coveredResources": ["nvidia.com/gpu"],
                                "flavors": [{"name": "gpus", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": quota}]}],
                            }
                        ],
                    },
                },
            )
            self.create(
                "/apis/kueue.x-k8s.io/v1beta2/namespaces/%s/localqueues" % ns,
                {
                    "apiVersion": "kueue.x-k8s.io/v1beta2",
                    "kind": "LocalQueue",
                    "metadata": {"name": "main"},
                    "spec": {"clusterQueue": team},
                },
            )

    def rss_kb(self):
        return int(
            next(
                line for line in pathlib.Path("/proc/%d/status" % self.process.pid).read_text().splitlines() if line.startswith("VmRSS")
            ).split()[1]
        )

    def cpu_s(self):
        fields = pathlib.Path("/proc/%d/stat" % self.process.pid).read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.dir, ignore_errors=True)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def wait_for(what, condition, limit_s=20.0):
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, "not within %g s: %s" % (limit_s, what)
        time.sleep(0.05)
