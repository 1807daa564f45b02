"""pods.py CAPSTAN BUILD - what the kubelet gave against what runs, on the agent's page. Lines "ok NAME", "not ok NAME".

A kubelet of this test's own, the embedded API server, simulated GPUs, real processes in control groups that are made here."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.request

os.environ.setdefault("BUILD", sys.argv[2])
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "agent"))
try:
    import test_agent as agents
except ImportError as error:
    print(f"ok pods of a kubelet # SKIP {error}")
    sys.exit(0)

UID = "01234567-89ab-cdef-0123-456789abcde%d"
CONTAINER = "%064d"


class Node(agents.World):
    """The agent's World with a page."""

    def serve(self):
        """On a port that the agent tells in its log."""
        def told():
            return re.findall(r" metrics port=(\d+) ", self.read("log"))
        before = len(told())
        agent = self.agent("--address", "127.0.0.1:0", "--collect-interval", "300", cluster=True)
        agents.until(lambda: len(told()) > before, "the page is served")
        self.page_address = "127.0.0.1:" + told()[-1]
        return agent

    def page(self):
        try:
            with urllib.request.urlopen(f"http://{self.page_address}/metrics", timeout=30) as answer:
                return answer.read().decode()
        except OSError:
            return ""

    def value(self, name, **labels):
        """Of the series that has these labels; None: there is none."""
        for line in self.page().splitlines():
            found = re.fullmatch(re.escape(name) + r"(?:\{(.*)\})? (\S+)", line)
            if found and all(f'{k}="{v}"' in (found[1] or "") for k, v in labels.items()):
                return float(found[2])
        return None

    def there(self, name, **labels):
        """Its value as soon as there is one: a page lacks the devices while this machine is too busy to collect."""
        found = []
        agents.until(lambda: found.append(self.value(name, **labels)) or found[-1] is not None, f"the page has {name}")
        return found[-1]

    def process(self, number, pod, gpu):
        """A real process that a pod's control group has, with a context on a GPU."""
        child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.children.append(child)
        root = pathlib.Path(self.path("node/root"))
        (root / "var/log/containers").mkdir(parents=True, exist_ok=True)
        (root / f"var/log/containers/{pod}_default_main-{CONTAINER % number}.log").touch()
        proc = root / "proc" / str(child.pid)
        proc.mkdir(parents=True)
        if not (root / "proc/stat").exists():
            (root / "proc/stat").symlink_to("/proc/stat")
        for name in ("stat", "cmdline"):
            (proc / name).symlink_to(f"/proc/{child.pid}/{name}")
        (proc / "cgroup").write_text(f"0::/kubepods/burstable/pod{UID % number}/{CONTAINER % number}\n")
        self.nvsim("start", "--gpu", str(gpu), "--pid", str(child.pid), "--follow", "--memory", "1024", "--sm", "50")
        return child


def ended_pods_hold_nothing(w):
    """Kubelets list an ended pod's devices until it is deleted, also when another one has them already."""
    device = w.kubelet.admit("default", "p1", "main", "nvidia.com/gpu", 1)[0][0]
    agents.make_pod(w, "p1")
    agents.until(lambda: w.value("gpu_allocation_share_ratio", pod="p1", UUID=device) == 1, "p1 has it")
    w.call("PATCH", "/api/v1/namespaces/default/pods/p1/status", {"status": {"phase": "Succeeded"}})
    agents.until(lambda: w.value("gpu_allocated_ratio", UUID=device) == 0, "p1 has nothing any more")
    charged = w.there("gpu_pod_allocated_seconds_total", pod="p1")
    agents.make_pod(w, "a-pod-that-sorts-first")
    w.kubelet.pods[("default", "a-pod-that-sorts-first")] = {"main": [("nvidia.com/gpu", [device])]}
    agents.until(lambda: w.value("gpu_allocation_share_ratio", pod="a-pod-that-sorts-first", UUID=device) == 1, "the next has it")
    ratio, now = w.there("gpu_allocated_ratio", UUID=device), w.there("gpu_pod_allocated_seconds_total", pod="p1")
    assert (ratio, now) == (1, charged), f"{ratio} of the device is given, p1 is charged {now} s, {charged} s when it had ended"
    del w.kubelet.pods[("default", "p1")], w.kubelet.pods[("default", "a-pod-that-sorts-first")]
    w.kubelet.taken["nvidia.com/gpu"].clear()


def use_and_allocation_are_compared(w):
    """A process on a GPU that its pod was not given is counted; one that was given and not opened is waste."""
    for name in ("owner", "thief"):
        agents.make_pod(w, name)
    device = w.kubelet.admit("default", "owner", "main", "nvidia.com/gpu", 1)[0][0]
    agents.until(lambda: w.value("gpu_allocation_share_ratio", pod="owner") == 1, "the owner has it")
    gpu = int(re.search(r'gpu_allocation_info\{gpu="(\d+)",UUID="%s"' % device, w.page())[1])
    agents.until(lambda: (w.value("gpu_pod_wasted_seconds_total", pod="owner", **{"class": "no_process"}) or 0) > 0, "it is wasted")
    assert w.value("gpu_unauthorized_processes") == 0
    thief = w.process(2, "thief", gpu)
    agents.until(lambda: w.value("gpu_process_info", pid=thief.pid, pod="thief", container="main") == 1, "the thief is seen")
    agents.until(lambda: w.value("gpu_unauthorized_processes") == 1, "and counted")
    own = w.process(1, "owner", gpu)
    agents.until(lambda: w.value("gpu_session_count", gpu=gpu) == 2, "both are there")
    assert w.value("gpu_unauthorized_processes") == 1
    agents.until(lambda: (w.value("gpu_pod_active_seconds_total", pod="owner") or 0) > 0, "the owner works")
    assert w.value("gpu_pod_allocated_seconds_total", pod="thief") is None
    for child in (thief, own):
        child.terminate()
    agents.until(lambda: w.value("gpu_total_sessions") == 0 and w.value("gpu_unauthorized_processes") == 0, "both are gone")


def counters_go_on_over_a_restart(w):
    begin, before = time.monotonic(), w.value("gpu_pod_allocated_seconds_total", pod="owner")
    w.running.send_signal(signal.SIGTERM)
    assert w.running.wait(timeout=60) == 0
    w.running = w.serve()
    agents.until(lambda: (w.value("gpu_pod_allocated_seconds_total", pod="owner") or 0) > before > 0, "more than before")
    after = w.value("gpu_pod_allocated_seconds_total", pod="owner")
    assert after < before + time.monotonic() - begin + 1, (before, after)


def main():
    w = Node()
    failed = 0
    try:
        w.create()
        w.up()
        w.kubelet.start()
        w.running = w.serve()
        w.kubelet.wait_for("nvidia.com/gpu", 2)
        for test in (ended_pods_hold_nothing, use_and_allocation_are_compared, counters_go_on_over_a_restart):
            try:
                test(w)
                print(f"ok pods: {test.__name__}", flush=True)
            except Exception as error:  # every check is told
                failed += 1
                print(f"not ok pods: {test.__name__}\n# {type(error).__name__}: {error}", flush=True)
        if failed:
            w.log.flush()
            print("# " + pathlib.Path(w.path("log")).read_text(encoding="utf-8")[-4000:].replace("\n", "\n# "))
    finally:
        for line in w.close():
            failed += 1
            print("not ok pods: sanitizers\n# " + line)
    sys.exit(failed > 0)


main()
