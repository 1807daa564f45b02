"""test_agent.py [NAME...] - capstan agent as a user runs it; one TAP line a check."""
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../kubelet"))
from kubelet import AdmissionError, Kubelet, is_sanitized, until  # noqa: E402
from proto import Proto  # noqa: E402

BUILD = os.environ.get("BUILD", os.path.join(HERE, "../../build"))
CAPSTAN = os.path.join(BUILD, "capstan")
LIBRARY = os.path.join(BUILD, "libnvsim/libnvidia-ml.so.1")
SANITIZED = os.path.exists(CAPSTAN) and is_sanitized(CAPSTAN)
PROTO = os.path.join(HERE, "../../data/proto")
API = Proto(os.path.join(PROTO, "deviceplugin.proto"))
PODS_API = Proto(os.path.join(PROTO, "podresources.proto"))
SHARED = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n"


class World:
    """A simulated node with a kubelet; agents and a cluster are started by the test."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="agent-")
        self.plugins, self.state = self.path("plugins"), self.path("state")
        os.mkdir(self.plugins)
        self.log = open(self.path("log"), "w+", encoding="utf-8")
        self.kubelet = Kubelet(self.plugins, API, self.path("pods.sock"), PODS_API)
        self.children, self.url = [], None

    def path(self, name):
        return os.path.join(self.root, name)

    def file(self, name, text):
        temporary = self.path(name) + ".new"
        with open(temporary, "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(temporary, self.path(name))
        return self.path(name)

    def read(self, name):
        """Nothing while it is not there."""
        try:
            with open(self.path(name), encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def environment(self):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("NVIDIA", "MIG_", "CONFIG_", "KUBE"))}
        return dict(keep, NVSIM_STATE=self.path("node/state"))

    def nvsim(self, *words):
        subprocess.run([CAPSTAN, "nvsim", *words], env=self.environment(), check=True, stdout=self.log, stderr=self.log)

    def create(self, model="a100-40gb", gpus=2):
        self.nvsim("create", self.path("node"), "--model", model, "--gpus", str(gpus), "--node", "n1")

    def options(self):
        return ["--node-name", "n1", "--library", LIBRARY, "--plugin-dir", self.plugins, "--state-dir", self.state,
                "--pod-resources-socket", self.path("pods.sock"), "--cdi-dir", self.path("cdi"), "--root", self.path("node/root"),
                "--output-file", self.path("features"), "--reset-command", f"{CAPSTAN} nvsim reset --gpu {{index}}",
                "--validations-dir", self.path("validations")]

    def start(self, *more, variables=None):
        environment = {**self.environment(), **(variables or {})}
        child = subprocess.Popen([CAPSTAN, *more], env=environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.children.append(child)
        return child

    def agent(self, *more, cluster=False):
        where = ["--kubeconfig", self.path("up/kubeconfig")] if cluster else ["--no-cluster"]
        return self.start("agent", *self.options(), *where, *more)

    def status(self):
        try:
            with open(os.path.join(self.state, "status.json"), encoding="utf-8") as f:
                return json.load(f)
        except (FileNotFoundError, json.JSONDecodeError):
            return {}

    def said(self, text):
        return text in self.read("log")

    def up(self):
        self.start("up", "--nodes", "1:t4", "--data-dir", self.path("up"), "--listen", "127.0.0.1:0")
        until(lambda: os.path.exists(self.path("up/kubeconfig")), "kubeconfig")
        with open(self.path("up/kubeconfig"), encoding="utf-8") as f:
            self.url = next(line.split()[1] for line in f if line.strip().startswith("server:"))
        until(lambda: self.answers("/readyz"), "API server")
        self.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})

    def answers(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=30) as answer:
                return answer.status == 200
        except OSError:
            return False

    def call(self, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        request = urllib.request.Request(self.url + path, method=method, data=json.dumps(body).encode() if body else None,
                                         headers={"Content-Type": kind})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def node(self):
        return self.call("GET", "/api/v1/nodes/n1")

    def label(self, name, value):
        self.call("PATCH", "/api/v1/nodes/n1", {"metadata": {"labels": {name: value}}})

    def wait_label(self, name, value):
        def check():
            return self.node()["metadata"].get("labels", {}).get(name) == value
        until(check, f"label {name}={value}")

    def close(self):
        """Ends all and says what the sanitizers have said, leaks at the end included."""
        for child in self.children:
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            try:
                child.wait(timeout=30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.kubelet.stop()
        self.log.seek(0)
        lines = self.log.read().splitlines()
        self.log.close()
        shutil.rmtree(self.root)
        return [line for line in lines if "Sanitizer" in line or "runtime error" in line]


def test_serves_the_kubelet(w):
    w.create(gpus=4)
    w.kubelet.start()
    agent = w.agent()
    w.kubelet.wait_for("nvidia.com/gpu", 4)
    chosen, answer = w.kubelet.admit("default", "p1", "main", "nvidia.com/gpu", 2)
    assert answer.envs["NVIDIA_VISIBLE_DEVICES"] == ",".join(chosen), answer
    until(lambda: w.status().get("ready"), "ready")
    until(lambda: {o["pod"] for o in w.status().get("owners", [])} == {"p1"}, "the pod is known from podresources")
    assert subprocess.run([CAPSTAN, "agent", "--status", "--state-dir", w.state], stdout=subprocess.DEVNULL, check=False).returncode == 0
    until(lambda: "nvidia.com/gpu.count=4\n" in w.read("features"), "the features file")
    w.kubelet.restart()
    w.kubelet.wait_for("nvidia.com/gpu", 4)
    w.kubelet.end("default", "p1")
    until(lambda: not w.status().get("owners"), "slots are free again")
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(timeout=60) == 0
    assert not [n for n in os.listdir(w.plugins) if n.startswith("nvidia")], "sockets are left"


def test_config_is_followed(w):
    w.create()
    w.kubelet.start()
    path = w.file("config.yaml", "version: v1\n")
    agent = w.agent("--config-file", path)
    w.kubelet.wait_for("nvidia.com/gpu", 2)
    w.file("config.yaml", SHARED)
    w.kubelet.wait_for("nvidia.com/gpu", 8)
    w.file("config.yaml", "version: v1\nsharing: nonsense\n" + "x" * 900000)
    until(lambda: w.status().get("configError"), "the error is told")
    w.file("config.yaml", "\0\1\2" * 100000)
    until(lambda: "NUL" in w.status().get("configError", ""), "junk is told")
    assert len(w.kubelet.healthy("nvidia.com/gpu")) == 8
    os.unlink(path)
    until(lambda: "No such file" in w.status().get("configError", ""), "a missing file is told")
    w.file("config.yaml", "version: v1\n")
    w.kubelet.wait_for("nvidia.com/gpu", 2)
    agent.send_signal(signal.SIGHUP)
    until(lambda: w.said("reading config and driver again"), "SIGHUP")
    assert agent.poll() is None


def test_driver_comes_late_and_goes(w):
    w.kubelet.start()
    agent = w.agent()
    until(lambda: w.status().get("driverError"), "the missing driver is told")
    assert not w.status()["ready"] and agent.poll() is None
    w.create()
    w.kubelet.wait_for("nvidia.com/gpu", 2)
    w.nvsim("fault", "--gpu", "1", "lost")
    w.kubelet.wait_for("nvidia.com/gpu", 1)
    w.nvsim("fault", "--gpu", "0", "xid", "48")
    w.kubelet.wait_for("nvidia.com/gpu", 0)
    try:
        w.kubelet.admit("default", "p", "main", "nvidia.com/gpu", 1)
        raise AssertionError("a device was handed out that is not healthy")
    except AdmissionError:
        pass
    until(lambda: w.said("xid=48"), "the event is logged")


def test_validation_files(w):
    """What pods of the GPU operator wait for; the files of its validator are its own."""
    names = ["driver-ready", "plugin-ready", "toolkit-ready"]

    def there():
        return [n for n in names if os.path.exists(w.path("validations/" + n))]

    os.mkdir(w.path("validations"))
    w.kubelet.start()
    agent = w.agent()
    until(lambda: w.status().get("driverError"), "the missing driver is told")
    assert not there()
    w.create()
    until(lambda: there() == ["driver-ready", "plugin-ready"], "the files")
    assert w.read("validations/driver-ready").splitlines()[0] == "# capstan agent", w.read("validations/driver-ready")
    said = subprocess.run(["sh", "-c", '. "$0" && echo "$IS_HOST_DRIVER $NVIDIA_DRIVER_ROOT $DRIVER_ROOT_CTR_PATH $NVIDIA_DEV_ROOT $DEV_ROOT_CTR_PATH"',
                           w.path("validations/driver-ready")], check=True, capture_output=True, text=True).stdout
    assert said == "true / /host / /host\n", said
    os.unlink(w.path("validations/plugin-ready"))  # a validator that ends takes away all
    until(lambda: len(there()) == 2, "the file is there again")
    w.file("validations/driver-ready", "IS_HOST_DRIVER=true\nNVIDIA_DRIVER_ROOT=/\nNVIDIA_DEV_ROOT=/\n")  # the validator's
    w.nvsim("fault", "driver", "not-loaded")
    until(lambda: there() == ["driver-ready"], "only the validator's is left")
    w.nvsim("fault", "driver", "ok")
    until(lambda: len(there()) == 2, "the plugin is ready again")
    agent.terminate()
    assert agent.wait(timeout=60) == 0
    assert there() == ["driver-ready"], there()
    os.unlink(w.path("validations/driver-ready"))
    agent = w.agent("--device-list-strategy", "cdi-cri")
    until(lambda: there() == names, "CDI needs no toolkit")
    agent.terminate()
    assert agent.wait(timeout=60) == 0 and not there()


def may_mount():
    """A mount namespace and device nodes of our own: root in most containers, nobody else."""
    command = "mount -t tmpfs none /mnt && mknod /mnt/null c 1 3"
    return shutil.which("unshare") and subprocess.run(["unshare", "-m", "sh", "-c", command], stderr=subprocess.DEVNULL, check=False).returncode == 0


def test_container_with_its_own_dev(w):
    """As in a DaemonSet: the host's / at /mnt, device nodes at another place, a /dev that has none, and no driver at the start."""
    if not may_mount():
        return "SKIP no mount namespace here"
    w.kubelet.start()
    os.makedirs(w.path("nodes/dev"))
    own = "mount --make-rprivate / && mount --bind {0} /mnt && mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9 && exec \"$@\""
    config = w.file("config", "version: v1\nflags:\n  migStrategy: mixed\n  plugin:\n    deviceListStrategy: [envvar, cdi-cri]\n    passDeviceSpecs: true\n")
    pairs = zip(w.options()[::2], w.options()[1::2])
    options = [word for pair in pairs if pair[0] not in ("--library", "--root") for word in pair]
    w.children.append(subprocess.Popen(
        ["unshare", "-m", "sh", "-c", own.format(w.root), "sh", CAPSTAN, "agent", *options, "--no-cluster", "--config-file", config,
         "--root", "/mnt/node/root", "--nvidia-dev-root", "/run/nodes", "--dev-root-ctr-path", "/mnt/nodes"],
        env=w.environment(), stdin=subprocess.DEVNULL, stdout=w.log, stderr=w.log))
    until(lambda: w.status().get("driverError"), "the missing driver is told")
    w.create("h100-80gb")
    w.kubelet.wait_for("nvidia.com/gpu", 2)
    assert not os.path.exists("/mnt/node"), "the mount is the agent's own"
    _, answer = w.kubelet.admit("default", "p", "main", "nvidia.com/gpu", 1)
    assert all(d.host_path == "/run/nodes" + d.container_path for d in answer.devices), answer.devices
    assert {d.container_path for d in answer.devices} >= {"/dev/nvidiactl", "/dev/nvidia-uvm"}, answer.devices
    assert stat.S_ISCHR(os.stat(w.path("nodes/dev/nvidia1")).st_mode), "made where the host has its nodes"
    layout = w.file("mig", "version: v1\nmig-configs:\n  one:\n  - {devices: [1], mig-enabled: true, mig-devices: {1g.10gb: 1}}\n")
    subprocess.run([CAPSTAN, "mig", "apply", "-f", layout, "-c", "one", "--library", LIBRARY], env=w.environment(), check=True, stdout=w.log, stderr=w.log)
    w.kubelet.wait_for("nvidia.com/mig-1g.10gb", 1)
    _, answer = w.kubelet.admit("default", "q", "main", "nvidia.com/mig-1g.10gb", 1)
    nodes = [d.host_path for d in answer.devices if "nvidia-cap" in d.host_path]
    assert len(nodes) == 2 and all(n.startswith("/run/nodes/dev/nvidia-caps/nvidia-cap") for n in nodes), nodes
    for node in nodes:
        made = os.stat(w.path(node[len("/run/"):]))
        assert stat.S_ISCHR(made.st_mode) and made.st_mode & 0o777 == 0o444, node
    with open(w.path("cdi/k8s.device-plugin.nvidia.com-gpu.json"), encoding="utf-8") as f:
        text = f.read()
    assert '"hostPath": "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05"' in text.replace("aarch64", "x86_64"), text
    assert "/mnt" not in text and '"/run/nodes/dev/nvidiactl"' in text, text
    return None


def test_missing_driver_is_labelled(w):
    w.up()
    lenient = w.agent("--fail-on-init-error=false", cluster=True)
    w.wait_label("nvidia.com/gpu.present", "false")
    until(lambda: w.status().get("driverError"), "the missing driver is told")
    until(lambda: w.status()["ready"], "a node without a driver is ready")
    lenient.terminate()
    assert lenient.wait(timeout=60) == 0
    strict = w.agent(cluster=True)
    until(lambda: w.status().get("pid") == strict.pid and w.said("driver not usable"), "the next agent")
    assert not w.status()["ready"]
    w.create("t4", 1)
    w.wait_label("nvidia.com/gpu.present", "true")
    w.wait_label("nvidia.com/gpu.product", "Tesla-T4")


def test_hanging_gpu_does_not_stop_the_others(w):
    w.create(gpus=2)
    w.kubelet.start()
    w.agent("--read-period", "1s")
    ids = list(w.kubelet.wait_for("nvidia.com/gpu", 2).order)
    w.nvsim("fault", "--gpu", "1", "hang", "3600")
    w.kubelet.wait(lambda: w.kubelet.healthy("nvidia.com/gpu") == ids[:1], "the hanging GPU is not offered")
    assert w.kubelet.admit("default", "p1", "main", "nvidia.com/gpu", 1)[0] == ids[:1]


def test_one_agent_a_node(w):
    w.create()
    w.kubelet.start()
    w.agent()
    w.kubelet.wait_for("nvidia.com/gpu", 2)
    second = w.agent()
    assert second.wait(timeout=60) == 1
    assert w.said("another agent")


def test_killed_agent_remembers(w):
    w.create()
    w.kubelet.start()
    agent = w.agent()
    w.kubelet.wait_for("nvidia.com/gpu", 2)
    w.kubelet.admit("default", "p1", "main", "nvidia.com/gpu", 1)
    agent.kill()
    agent.wait()
    with open(os.path.join(w.state, "journal"), "ab") as f:
        f.write(b"0123 torn")
    w.kubelet.stop()  # nobody tells who has what
    w.agent()
    until(lambda: w.said("torn tail"), "the torn tail is told")
    until(lambda: w.status().get("owners"), "the slot is still taken")


def test_labels_and_mig_in_a_cluster(w):
    w.create()
    w.up()
    w.kubelet.start()
    w.agent("--mig-strategy", "mixed", cluster=True)
    w.wait_label("nvidia.com/gpu.count", "2")
    until(lambda: len(json.loads(w.node()["metadata"].get("annotations", {}).get("capstan.dev/devices", "[]"))) == 2, "the devices are told")
    until(lambda: {c["type"]: c["status"] for c in w.node()["status"].get("conditions", [])}.get("GPUHealthy") == "True", "the condition")
    w.label("nvidia.com/mig.config", "all-1g.5gb")
    w.wait_label("nvidia.com/mig.config.state", "success")
    w.wait_label("nvidia.com/mig-1g.5gb.count", "14")
    w.kubelet.wait_for("nvidia.com/mig-1g.5gb", 14)
    w.call("POST", "/api/v1/namespaces/default/pods",
           {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p1"},
            "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/mig-1g.5gb": "1"}}}]}})
    chosen, answer = w.kubelet.admit("default", "p1", "main", "nvidia.com/mig-1g.5gb", 1)
    w.call("PATCH", "/api/v1/namespaces/default/pods/p1/status", {"status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}})
    assert chosen[0].startswith("MIG-") and answer.envs["NVIDIA_VISIBLE_DEVICES"] == chosen[0]
    until(lambda: any(o.get("pod") for o in w.status().get("owners", [])), "the instance is taken, and by whom is known")
    w.label("nvidia.com/mig.config", "all-disabled")
    w.wait_label("nvidia.com/mig.config.state", "failed")
    until(lambda: any("in use by default/p1" in m for m in events(w, "MIGConfigFailed")), "the event names the pod")
    pods = dict(w.kubelet.pods)
    w.kubelet.pods.clear()  # a kubelet that has just started: its list is short
    until(lambda: w.said("podresources does not name all pods"), "the short list is told")
    w.kubelet.restart()
    w.kubelet.wait_for("nvidia.com/mig-1g.5gb", 7)  # the other GPU could be changed
    time.sleep(6)  # the list is asked for every 5 s
    assert w.node()["metadata"]["labels"]["nvidia.com/mig.config.state"] == "failed" and w.status()["owners"], "the instance of a running pod"
    w.kubelet.pods.update(pods)
    until(lambda: w.said("podresources names all pods again"), "the whole list is told")
    w.call("DELETE", "/api/v1/namespaces/default/pods/p1", {"gracePeriodSeconds": 0})
    w.kubelet.end("default", "p1")
    w.wait_label("nvidia.com/mig.config.state", "success")  # tried again once the instance is free
    w.kubelet.wait_for("nvidia.com/gpu", 2)
    w.label("nvidia.com/mig.config", "all-balanced")
    w.wait_label("nvidia.com/mig.config.state", "success")
    w.wait_label("nvidia.com/mig-3g.20gb.count", "2")


def test_config_map_by_label(w):
    w.create()
    w.up()
    w.kubelet.start()
    w.call("POST", "/api/v1/namespaces/default/configmaps",
           {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plugin"}, "data": {"any": SHARED, "whole": "version: v1\n"}})
    w.agent("--config-map", "default/plugin", "--config-default", "whole", cluster=True)
    w.kubelet.wait_for("nvidia.com/gpu", 2)
    w.label("nvidia.com/device-plugin.config", "any")
    w.kubelet.wait_for("nvidia.com/gpu", 8)
    w.wait_label("nvidia.com/gpu.replicas", "4")
    w.call("PATCH", "/api/v1/namespaces/default/configmaps/plugin", {"data": {"any": SHARED.replace("4", "3")}})
    w.kubelet.wait_for("nvidia.com/gpu", 6)
    w.call("PATCH", "/api/v1/namespaces/default/configmaps/plugin", {"data": {"any": "version: v2\n"}})
    until(lambda: w.status().get("configError"), "the error is told")
    assert len(w.kubelet.healthy("nvidia.com/gpu")) == 6


def rss_kb(child):
    with open(f"/proc/{child.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def test_config_map_of_junk(w):
    """A whole ConfigMap of each kind of junk: refused in a sentence, the config before it stays, memory is given back."""
    w.create()
    w.up()
    w.kubelet.start()
    configs = "/api/v1/namespaces/default/configmaps"
    w.call("POST", configs, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plugin"}, "data": {"any": SHARED}})
    agent = w.agent("--config-map", "default/plugin", cluster=True)
    w.kubelet.wait_for("nvidia.com/gpu", 8)
    size = 1000000
    laughs = "a0: &a0 [x,x,x,x,x,x,x,x]\n" + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 8)}]\n" for i in range(1, 30))
    junk = {"letters": "x" * size, "lists": "[" * size, "maps": "{" * size, "dashes": "- " * (size // 2), "laughs": laughs,
            "lines": "version: v1\n" * (size // 12), "keys": "".join(f"k{i}: {i}\n" for i in range(size // 15)),
            "indented": "".join(" " * i + "a:\n" for i in range(1400)), "bytes": "\x01\x02\ufffd\u2028" * (size // 8),
            "entries": "sharing: {timeSlicing: {resources: [" + "{name: gpu, replicas: 2}," * (size // 25) + "]}}"}
    said = None
    for kind, text in junk.items():
        w.call("PATCH", f"{configs}/plugin", {"data": {"any": text}})
        error = until(lambda: (w.status().get("configError") or said) != said and w.status()["configError"], f"{kind} is refused")
        assert len(error) < 600, (kind, error)
        print(f"# {kind}: {error[:150]}")
        said = error
        assert len(w.kubelet.healthy("nvidia.com/gpu")) == 8
    w.call("PATCH", f"{configs}/plugin", {"data": {"any": SHARED.replace("4", "3")}})
    w.kubelet.wait_for("nvidia.com/gpu", 6)
    until(lambda: not w.status().get("configError"), "the error is taken back")
    assert SANITIZED or rss_kb(agent) < 40000, rss_kb(agent)
    print(f"# {rss_kb(agent)} kB at the end")


def make_pod(w, name, devices=None, amount=1, labels=None, resource="nvidia.com/gpu"):
    """A pod that is bound to the node, as a scheduler leaves it."""
    annotations = {"capstan.dev/devices": devices} if devices else {}
    return w.call("POST", "/api/v1/namespaces/default/pods", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations, "labels": labels or {}},
        "spec": {"nodeName": "n1", "terminationGracePeriodSeconds": 0, "containers": [
            {"name": "main", "image": "busybox", "resources": {"limits": {resource: str(amount)}}}]}})


def events(w, reason):
    return [e["message"] for e in w.call("GET", "/api/v1/namespaces/default/events")["items"] if e["reason"] == reason]


def test_scheduler_choice_is_kept(w):
    w.create(gpus=4)
    w.up()
    w.kubelet.start()
    w.agent(cluster=True)
    ids = list(w.kubelet.wait_for("nvidia.com/gpu", 4).order)
    make_pod(w, "p1", f"nvidia.com/gpu={ids[2]}")
    make_pod(w, "p2", f"nvidia.com/gpu={ids[1]},{ids[3]}", 2)
    until(lambda: set(w.kubelet.choose("nvidia.com/gpu", 2)) == {ids[1], ids[3]}, "the agent knows of p2")
    until(lambda: w.kubelet.choose("nvidia.com/gpu", 1) == [ids[2]], "the agent knows of p1")
    assert set(w.kubelet.admit("default", "p2", "main", "nvidia.com/gpu", 2)[0]) == {ids[1], ids[3]}
    assert w.kubelet.admit("default", "p1", "main", "nvidia.com/gpu", 1)[0] == [ids[2]]
    # A kubelet that takes another one all the same: the truth is written on the pod, and said.
    w.kubelet.end("default", "p1")
    w.call("DELETE", "/api/v1/namespaces/default/pods/p1")
    make_pod(w, "p3", f"nvidia.com/gpu={ids[2]}")
    until(lambda: w.kubelet.choose("nvidia.com/gpu", 1) == [ids[2]], "the agent knows of p3")
    request = API.AllocateRequest()
    request.container_requests.add(devices_ids=[ids[0]])
    w.kubelet.endpoints["nvidia.com/gpu"].call("Allocate", request)
    w.kubelet.pods[("default", "p3")] = {"main": [("nvidia.com/gpu", [ids[0]])]}
    until(lambda: w.call("GET", "/api/v1/namespaces/default/pods/p3")["metadata"]["annotations"]["capstan.dev/devices"]
          == f"nvidia.com/gpu={ids[0]}", "the annotation tells the truth")
    until(lambda: events(w, "DevicesDiffer"), "the event")


def test_correction_leaves_the_other_container(w):
    """Of two containers one is given another share: the share of the other stays in the annotation, though its id begins as the first one's."""
    w.create(gpus=1)
    w.up()
    w.kubelet.start()
    w.agent("--config-file", w.file("config.yaml", SHARED.replace("4", "12")), cluster=True)
    ids = list(w.kubelet.wait_for("nvidia.com/gpu", 12).order)
    one, five, ten = (next(i for i in ids if i.endswith(f"::{n}")) for n in (1, 5, 10))
    container = {"image": "busybox", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    w.call("POST", "/api/v1/namespaces/default/pods", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": {"capstan.dev/devices": f"nvidia.com/gpu={one},{ten}"}},
        "spec": {"nodeName": "n1", "containers": [dict(container, name="a"), dict(container, name="b")]}})
    until(lambda: w.kubelet.choose("nvidia.com/gpu", 1) == [one], "the agent knows of the pod")
    for share in (one, five):
        request = API.AllocateRequest()
        request.container_requests.add(devices_ids=[share])
        w.kubelet.endpoints["nvidia.com/gpu"].call("Allocate", request)
    w.kubelet.pods[("default", "p")] = {"a": [("nvidia.com/gpu", [one])], "b": [("nvidia.com/gpu", [five])]}
    until(lambda: events(w, "DevicesDiffer"), "the event")
    until(lambda: set(w.call("GET", "/api/v1/namespaces/default/pods/p")["metadata"]["annotations"]["capstan.dev/devices"]
                      .removeprefix("nvidia.com/gpu=").split(",")) == {one, five}, "both shares are in the annotation")


def test_mig_evicts_with_budgets(w):
    w.create("h100-80gb", 1)
    w.up()
    w.kubelet.start()
    w.agent("--mig-strategy", "mixed", "--mig-busy", "evict", cluster=True)
    w.kubelet.wait_for("nvidia.com/gpu", 1)
    w.call("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keep"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}})
    make_pod(w, "p1", labels={"app": "a"})
    w.call("PATCH", "/api/v1/namespaces/default/pods/p1/status",
           {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
    w.kubelet.admit("default", "p1", "main", "nvidia.com/gpu", 1)
    until(lambda: any(o.get("pod") for o in w.status().get("owners", [])), "the GPU is taken, and by whom is known")
    w.label("nvidia.com/mig.config", "all-3g.40gb")
    w.wait_label("nvidia.com/mig.config.state", "pending")
    until(lambda: w.said("eviction not possible yet"), "the budget is respected")
    w.kubelet.wait_for("nvidia.com/gpu", 0)  # not handed out meanwhile
    w.call("DELETE", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/keep")

    def gone():
        found = [p for p in w.call("GET", "/api/v1/namespaces/default/pods")["items"] if "deletionTimestamp" in p["metadata"]]
        return found or not w.call("GET", "/api/v1/namespaces/default/pods")["items"]
    until(gone, "the pod is evicted")
    w.kubelet.end("default", "p1")
    w.wait_label("nvidia.com/mig.config.state", "success")
    w.kubelet.wait_for("nvidia.com/mig-3g.40gb", 2)


def test_broken_gpu_is_drained(w):
    w.create("h100-80gb", 2)
    w.up()
    kmsg = w.file("node/root/dev/kmsg", "3,1,1,-;NVRM: Xid (PCI:0000:07:00): 79, of before the start\n")
    w.kubelet.start()
    w.agent("--drain", "evict", cluster=True)
    w.kubelet.wait_for("nvidia.com/gpu", 2)
    for name in ("p1", "p2"):
        make_pod(w, name)
    chosen = {name: w.kubelet.admit("default", name, "main", "nvidia.com/gpu", 1)[0] for name in ("p1", "p2")}
    until(lambda: len(w.status().get("owners", [])) == 2, "both GPUs are taken")
    listed = json.loads(subprocess.run([CAPSTAN, "nvsim", "list", "--output", "json"], env=w.environment(), check=True,
                                       stdout=subprocess.PIPE).stdout)["gpus"]
    bus = next(g["busId"] for g in listed if g["uuid"] == chosen["p1"][0])
    with open(kmsg, "a", encoding="utf-8") as f:
        f.write(f"3,2,2,-;NVRM: Xid (PCI:{bus[4:-2]}): 48, pid='<unknown>', name=<unknown>, DBE\n")
    w.kubelet.wait_for("nvidia.com/gpu", 1)
    until(lambda: [p["metadata"]["name"] for p in w.call("GET", "/api/v1/namespaces/default/pods")["items"]
                   if "deletionTimestamp" not in p["metadata"]] == ["p2"], "the pod of the broken GPU is evicted, the other is not")
    until(lambda: any("XID 48" in m for m in events(w, "GPUEviction")), "the event says why")
    w.kubelet.end("default", "p1")
    until(lambda: w.said(f"GPU reset gpu={chosen['p1'][0]}"), "its GPU is reset")
    until(lambda: {g["uuid"]: g["health"] for g in w.status()["devices"]} ==
          {chosen["p1"][0]: "Probation", chosen["p2"][0]: "Healthy"}, "and proves itself")


def test_mps_daemon_is_run(w):
    stand_in = next((p for p in (os.path.join(BUILD, "tests/unit/agent/mps_stand_in"), os.path.join(BUILD, "tests/mps/stand_in"))
                     if os.path.exists(p)), None)
    assert stand_in, "no stand-in for MPS in the build"
    w.create()
    os.makedirs(w.path("node/root/usr/bin"), exist_ok=True)
    w.kubelet.start()
    path = w.file("config.yaml", "version: v1\nsharing:\n  mps:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 3}\n")
    shutil.copy(stand_in, w.path("node/root/usr/bin/nvidia-cuda-mps-control"))  # the driver's own, not in PATH
    agent = w.agent("--config-file", path, "--mps-root", w.path("mps"))
    w.kubelet.wait_for("nvidia.com/gpu", 6)
    answer = w.kubelet.admit("default", "p1", "main", "nvidia.com/gpu", 1)[1]
    assert answer.envs["CUDA_MPS_PIPE_DIRECTORY"], answer
    w.file("config.yaml", "version: v1\n")
    w.kubelet.wait_for("nvidia.com/gpu", 1)  # the other GPU still has a client of the daemon
    w.kubelet.end("default", "p1")
    w.kubelet.wait_for("nvidia.com/gpu", 2)
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(timeout=60) == 0


LAYOUTS = """version: v1
mig-configs:
  mine: [{devices: [0], mig-enabled: true, mig-devices: {3g.40gb: 2}}]
  other: [{devices: [0], mig-enabled: true, mig-devices: {2g.20gb: 3}}]
"""


def test_flags_and_variables(w):
    """What the other checks do not set, once by flags and once by variables: each is seen to count."""
    w.create("h100-80gb", 3)
    w.up()
    w.kubelet.start()
    both = {"--node-name": "NODE_NAME", "--kubelet-socket": "KUBELET_SOCKET", "--kernel-log": "KERNEL_LOG", "--log-level": "LOG_LEVEL",
            "--pod-resources-kubelet-socket": "DCGM_POD_RESOURCES_KUBELET_SOCKET", "--mig-config-file": "MIG_PARTED_CONFIG_FILE",
            "--mig-strategy": "MIG_STRATEGY", "--validations-dir": "VALIDATIONS_DIR", "--device-id-strategy": "DEVICE_ID_STRATEGY"}
    kmsg = w.file("log-of-the-kernel", "")
    values = ["n1", os.path.join(w.plugins, "kubelet.sock"), kmsg, "warning", w.path("pods.sock"), w.file("layouts.yaml", LAYOUTS), "mixed",
              w.path("files"), "index"]
    os.mkdir(w.path("files"))
    rest = ["--library", LIBRARY, "--root", w.path("node/root"), "--cdi-dir", w.path("cdi"), "--exporter=false",
            "--kubeconfig", w.path("up/kubeconfig"), "--context", "capstan"]
    buses = [gpu["busId"] for gpu in json.loads(subprocess.run([CAPSTAN, "nvsim", "list", "-o", "json"], env=w.environment(), check=True,
                                                               stdout=subprocess.PIPE).stdout)["gpus"]]
    for turn, (layout, resource, broken) in enumerate((("mine", "nvidia.com/mig-3g.40gb", 2), ("other", "nvidia.com/mig-2g.20gb", 1))):
        w.state = w.path(f"state{turn}")
        flags = [word for pair in zip(both, values) for word in pair] if turn == 0 else []
        child = w.start("agent", *flags, *rest, "--state-dir", w.state, variables=dict(zip(both.values(), values)) if turn else None)
        w.kubelet.wait_for("nvidia.com/gpu", 3 - turn)
        until(lambda: os.path.exists(w.path("files/plugin-ready")), "validation files")
        w.label("nvidia.com/mig.config", layout)
        w.wait_label("nvidia.com/mig.config.state", "success")
        w.wait_label(resource + ".count", "2" if turn == 0 else "3")
        w.kubelet.wait_for(resource, 2 + turn)
        answer = w.kubelet.admit("default", f"p{turn}", "main", resource, 1)[1]
        assert answer.envs["NVIDIA_VISIBLE_DEVICES"].startswith("0:"), answer
        until(lambda: any(o.get("pod") == f"p{turn}" for o in w.status().get("owners", [])), "podresources is asked")
        with open(kmsg, "a", encoding="utf-8") as f:
            f.write(f"3,{turn},1,-;NVRM: Xid (PCI:{buses[broken]}): 48, pid=1\n")
        until(lambda: any(d["gpu"] == broken and d.get("xid") == 48 for d in w.status()["devices"]), "the kernel's log is read")
        w.kubelet.end("default", f"p{turn}")
        child.terminate()
        assert child.wait(timeout=60) == 0
        assert not w.said("agent started") and w.said("XID after a look"), "--log-level warning"
    for wrong, word in ((["--context", "elsewhere"], "elsewhere"), (["--log-level", "loud"], "loud"),
                        (["--kubelet-socket", "/run/kubelet"], "/kubelet.sock"), (["--kubeconfig", "/none"], "/none")):
        said = subprocess.run([CAPSTAN, "agent", *rest, "--node-name", "n1", *wrong], env=w.environment(), capture_output=True, check=False)
        assert said.returncode == 2 and word.encode() in said.stderr, said


def test_looks(w):
    w.create("h100-80gb", 8)
    base = [CAPSTAN, "agent", *w.options(), "--no-cluster"]
    looked = subprocess.run([*base, "--print", "-o", "json"], env=w.environment(), check=True, stdout=subprocess.PIPE, stderr=w.log)
    node = json.loads(looked.stdout)
    assert len(node["devices"]) == 8 and node["labels"]["nvidia.com/gpu.count"] == "8" and len(node["resources"][0]["slots"]) == 8
    for option, more in (("--once", {}), ("--oneshot=1", {"GFD_ONESHOT": "false"}), ("--fake-gpus", {"GFD_ONESHOT": "True"})):
        assert subprocess.run([*base, option], env={**w.environment(), **more}, stdout=w.log, stderr=w.log, check=False).returncode == 0
        os.unlink(w.path("features"))
    devices = w.path("node/root/sys/bus/pci/devices")
    space = bytearray(256)  # PCI configuration of a vGPU: the vendor's capability at 0xd0 names the driver of the host
    space[0x06], space[0x34] = 0x10, 0xd0
    space[0xd0:0xeb] = b"\x09\x00\x1bVF\x00\x16" + b"550.54.10\0" + b"r550_00\0\0\0"
    with open(os.path.join(devices, sorted(os.listdir(devices))[0], "config"), "wb") as f:
        f.write(space)
    foreign = ["--nvidia-resource-names", "nvidia.com/a100", "--fake-gpus", "--config-file=", "-k=false"]
    looked = subprocess.run([*base, *foreign, "--print", "-o", "json"], env=w.environment(), check=True, capture_output=True)
    labels = json.loads(looked.stdout)["labels"]
    assert labels["nvidia.com/vgpu.present"] == "true" and labels["nvidia.com/vgpu.host-driver-version"] == "550.54.10", labels
    assert labels["nvidia.com/vgpu.host-driver-branch"] == "r550_00" and looked.stderr.count(b"has no effect") == 2, looked.stderr
    for wrong in (["--mig-strategy", "sometimes"], ["--nonsense"], ["--read-period", "soon"], ["--mig-busy", "shoot"], ["--drain", "shoot"], ["extra"]):
        assert subprocess.run([*base, *wrong], env=w.environment(), stdout=w.log, stderr=w.log, check=False).returncode == 2, wrong


def main():
    tests = {n[5:]: f for n, f in globals().items() if n.startswith("test_")}
    names = sys.argv[1:] or list(tests)
    print(f"1..{len(names)}", flush=True)
    failed = 0
    for number, name in enumerate(names, 1):
        w, good = World(), True
        try:
            skipped = tests[name](w)
        except Exception:  # every check is told, and the next one is tried
            good = False
            w.log.flush()
            with open(w.path("log"), encoding="utf-8") as f:
                print("# " + (traceback.format_exc() + f.read()[-6000:]).replace("\n", "\n# "))
        for line in w.close():
            good = False
            print("# " + line)
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}{' # ' + skipped if good and skipped else ''}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
