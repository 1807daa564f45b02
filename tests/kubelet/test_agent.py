"""test_agent.py [NAME...] - `capstan agent` on a simulated driver, as a kubelet sees it: nothing in between is left out. One TAP line a check."""
import json
import os
import signal
import subprocess
import sys
import time

import grpc

from kubelet import until
from test_kubelet import ALLOCATIONS, BUILD, Bench, RESTARTS, SANITIZED, flags, run_all, sharing

CAPSTAN = os.environ.get("CAPSTAN", os.path.join(BUILD, "capstan"))
LIBRARY = os.path.join(BUILD, "libnvsim", "libnvidia-ml.so.1")


class Agent:
    """One `capstan agent --no-cluster`; stands in a Bench's list of plugins."""

    def __init__(self, bench, config="", arguments=()):
        self.bench = bench
        self.config_path = bench.file("agent.yaml", config or "version: v1\n")
        command = [CAPSTAN, "agent", "--no-cluster", "--library", LIBRARY, "--node-name", "n1", "--root", bench.node_root,
                   "--plugin-dir", bench.directory, "--pod-resources-socket", bench.pods_socket, "--cdi-dir", os.path.join(bench.root, "cdi"),
                   "--state-dir", os.path.join(bench.root, "state"), "--config-file", self.config_path, "--read-period", "500ms",
                   "--output-file", os.path.join(bench.root, "features"), *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=bench.log, env=bench.environment)

    def config(self, text):
        self.bench.file("agent.yaml", text)
        self.process.send_signal(signal.SIGHUP)

    def rss_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=60)

    def kill(self):
        self.process.kill()
        self.process.wait()


class AgentBench(Bench):
    def __init__(self):
        super().__init__()
        self.environment = dict(os.environ)
        self.node_root = ""

    def node(self, model="a100-40gb", gpus=8):
        directory = os.path.join(self.root, "node")
        self.run("nvsim", "create", directory, "--model", model, "--gpus", str(gpus), "--node", "n1")
        self.environment["NVSIM_STATE"] = os.path.join(directory, "state")
        self.node_root = os.path.join(directory, "root")

    def run(self, *arguments):
        return subprocess.run([CAPSTAN, *arguments], env=self.environment, check=True, stdout=subprocess.PIPE, stderr=self.log, text=True).stdout

    def agent(self, *arguments, **more):
        self.plugins.append(Agent(self, *arguments, **more))
        return self.plugins[-1]


def start(b, resource="nvidia.com/gpu", devices=8, **agent):
    b.node()
    b.kubelet.start()
    a = b.agent(**agent)
    return a, b.kubelet.wait_for(resource, devices)


def test_strategies(b):
    a, endpoint = start(b)
    assert all(i.startswith("GPU-") for i in endpoint.order)
    assert [endpoint.devices[i].topology.nodes[0].ID for i in endpoint.order] == [0, 0, 0, 0, 1, 1, 1, 1]
    chosen, answer = b.kubelet.admit("ns", "envvar", "c", "nvidia.com/gpu", 2)
    assert answer.envs["NVIDIA_VISIBLE_DEVICES"] == ",".join(chosen)
    b.kubelet.end("ns", "envvar")

    def allocate(condition):
        """Under the new config, as soon as it is in use."""
        def once():
            chosen, answer = b.kubelet.admit("ns", "pod", "c", "nvidia.com/gpu", 2)
            b.kubelet.end("ns", "pod")
            return condition(answer) and (chosen, answer)
        return until(once, "the config is in use")

    a.config(flags(deviceListStrategy="volume-mounts"))
    chosen, answer = allocate(lambda answer: answer.mounts)
    assert [m.container_path for m in answer.mounts] == [f"/var/run/nvidia-container-devices/{i}" for i in chosen]
    a.config(flags(deviceListStrategy="cdi-annotations"))
    chosen, answer = allocate(lambda answer: answer.annotations)
    assert list(answer.annotations.values()) == [",".join(f"k8s.device-plugin.nvidia.com/gpu={i}" for i in chosen)]
    a.config(flags(deviceListStrategy="cdi-cri", passDeviceSpecs="true"))
    chosen, answer = allocate(lambda answer: answer.cdi_devices)
    names = [d.name for d in answer.cdi_devices]
    assert names == [f"k8s.device-plugin.nvidia.com/gpu={i}" for i in chosen], names
    with open(os.path.join(b.root, "cdi", "k8s.device-plugin.nvidia.com-gpu.json"), encoding="utf-8") as f:
        spec = json.load(f)
    assert {n.split("=")[1] for n in names} <= {d["name"] for d in spec["devices"]}
    assert not answer.devices and not answer.envs, "with CDI alone nothing else is said"
    a.config(flags(deviceIDStrategy="index"))
    chosen, answer = allocate(lambda answer: answer.envs["NVIDIA_VISIBLE_DEVICES"].isascii() and len(answer.envs["NVIDIA_VISIBLE_DEVICES"]) == 3)
    assert answer.envs["NVIDIA_VISIBLE_DEVICES"] == ",".join(str(endpoint.order.index(i)) for i in chosen)


def test_sharing_comes_and_goes(b):
    a, _ = start(b)
    a.config(sharing(renameByDefault="true"))
    b.kubelet.wait_for("nvidia.com/gpu.shared", 32)
    chosen, answer = b.kubelet.admit("ns", "pod", "c", "nvidia.com/gpu.shared", 1)
    assert answer.envs["NVIDIA_VISIBLE_DEVICES"] == chosen[0].split("::")[0]
    a.config("version: v1\nsharing:\n  timeSlicing:\n    resources:\n      - name: nvidia.com/gpu\n        replicas: many\n")
    until(lambda: "sharing.timeSlicing.resources[0].replicas" in b.logged(), "the wrong field is named")
    b.kubelet.wait_for("nvidia.com/gpu.shared", 32)  # the old config keeps running
    a.config("version: v1\n")
    b.kubelet.wait_for("nvidia.com/gpu", 7)  # not the one of which a share is in use: it would be handed out twice
    b.kubelet.end("ns", "pod")
    b.kubelet.wait(lambda: len(b.kubelet.healthy("nvidia.com/gpu")) == 8, "the GPU whose share has been given back")


def test_keti_shares(b):
    """Shares are listed at once and healthy when the MPS daemon answers."""
    b.node(gpus=2)
    b.kubelet.start()
    stand_in = os.path.join(BUILD, "tests/unit/agent/mps_stand_in")
    keti = ("--ketimpsgpu", "4", "--mps-keti-directory", os.path.join(b.root, "nvidia-mps"), "--mps-control")
    a = b.agent(arguments=(*keti, "/nonexistent/nvidia-cuda-mps-control"))
    b.kubelet.wait(lambda: "keti.com/mpsgpu" in b.kubelet.endpoints and b.kubelet.capacity()["keti.com/mpsgpu"] == (0, 8), "8 unhealthy shares")
    assert b.kubelet.endpoints["keti.com/mpsgpu"].name == "nvidia-keti-mpsgpu.sock"
    until(lambda: "nvidia-cuda-mps-control" in b.logged(), "the missing program is named")
    assert a.stop() == 0
    if os.path.exists(stand_in):
        b.agent(arguments=(*keti, stand_in))
        b.kubelet.wait_for("keti.com/mpsgpu", 8)
        _, answer = b.kubelet.admit("ns", "pod", "c", "keti.com/mpsgpu", 1)
        assert "CUDA_MPS_PIPE_DIRECTORY" in answer.envs, answer


def test_mig(b):
    a, _ = start(b, config="version: v1\nflags:\n  migStrategy: mixed\n")
    layout = b.file("mig.yaml", "version: v1\nmig-configs:\n  wanted:\n    - devices: [0, 1]\n      mig-enabled: true\n      mig-devices:\n"
                    "        \"1g.5gb\": 7\n    - devices: [2, 3, 4, 5, 6, 7]\n      mig-enabled: false\n")
    journal = os.path.join(b.root, "mig-state")
    os.mkdir(journal)
    b.run("mig", "apply", "--config-file", layout, "--selected-config", "wanted", "--library", LIBRARY, "--state-dir", journal,
          "--reset-command", CAPSTAN + " nvsim reset --gpu {uuid}")
    b.kubelet.wait_for("nvidia.com/mig-1g.5gb", 14)
    b.kubelet.wait_for("nvidia.com/gpu", 6)
    chosen, answer = b.kubelet.admit("ns", "pod", "c", "nvidia.com/mig-1g.5gb", 1)
    assert chosen[0].startswith("MIG-") and answer.envs["NVIDIA_VISIBLE_DEVICES"] == chosen[0]


def test_faults(b):
    _, endpoint = start(b)
    b.run("nvsim", "fault", "--gpu", "3", "xid", "79")
    b.kubelet.wait_for("nvidia.com/gpu", 7)
    assert endpoint.devices[endpoint.order[3]].health == "Unhealthy"
    assert len(endpoint.order) == 8
    b.run("nvsim", "fault", "--gpu", "5", "lost")
    b.kubelet.wait(lambda: len(b.kubelet.healthy("nvidia.com/gpu")) == 6, "a lost GPU is not healthy")
    request = b.kubelet.api.AllocateRequest()
    request.container_requests.add(devices_ids=[endpoint.order[3]])
    try:
        endpoint.call("Allocate", request)
        raise AssertionError("an unhealthy GPU was given")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.FAILED_PRECONDITION, error


def test_driver_comes_later(b):
    b.node()
    state = b.environment["NVSIM_STATE"]
    os.rename(state, state + ".away")
    b.kubelet.start()
    b.agent()
    time.sleep(1)
    assert not b.kubelet.endpoints
    os.rename(state + ".away", state)
    b.kubelet.wait(lambda: b.kubelet.endpoints, "the resource")
    b.kubelet.wait_for("nvidia.com/gpu", 8)


def test_kubelet_restarts(b):
    start(b)
    for i in range(6):
        b.kubelet.restart(clean=i % 2 == 0)
        b.kubelet.wait_for("nvidia.com/gpu", 8)
        b.kubelet.admit("ns", f"pod{i}", "c", "nvidia.com/gpu", 1)


def test_agent_killed(b):
    a, endpoint = start(b)
    for i in range(5):
        b.kubelet.admit("ns", f"pod{i}", "c", "nvidia.com/gpu", 1)
        order = list(endpoint.order)
        a.kill()
        b.kubelet.wait(endpoint.ended.is_set, "the stream ends with the agent")
        a.process.stdout.close()
        a = b.agent()
        endpoint = b.kubelet.wait_for("nvidia.com/gpu", 8)
        assert endpoint.order == order, "the same inventory gives the same list"


def test_two_agents(b):
    a, _ = start(b)
    other = b.agent(arguments=("--state-dir", os.path.join(b.root, "state2")))
    until(lambda: "another" in b.logged(), "the second says why it waits or ends")
    assert len(b.kubelet.registrations) == 1
    assert a.process.poll() is None
    a.stop()
    if other.process.poll() is None:
        b.kubelet.wait(lambda: len(b.kubelet.registrations) == 2, "the second takes over")


def test_leaves_no_socket(b):
    a, _ = start(b)
    assert a.stop() == 0
    assert os.listdir(b.directory) == ["kubelet.sock"], os.listdir(b.directory)


def test_soak(b):
    a, _ = start(b)

    def allocate(count):
        endpoint = b.kubelet.endpoints["nvidia.com/gpu"]
        request = b.kubelet.api.AllocateRequest()
        request.container_requests.add(devices_ids=endpoint.order[1:3])
        for _ in range(count):
            endpoint.call("Allocate", request)

    def restart(count):
        for i in range(count):
            b.kubelet.restart(clean=i % 2 == 0)
            b.kubelet.wait_for("nvidia.com/gpu", 8)

    allocate(min(2000, ALLOCATIONS))
    restart(min(20, RESTARTS))
    kb = a.rss_kb()
    allocate(ALLOCATIONS)
    restart(RESTARTS)
    kb_after = a.rss_kb()
    print(f"# {ALLOCATIONS} allocations, {RESTARTS} restarts: {kb} kB before, {kb_after} kB after")
    assert SANITIZED or kb_after - kb <= 512, (kb, kb_after)


if __name__ == "__main__":
    if not os.path.exists(LIBRARY) or not os.path.exists(CAPSTAN):
        print(f"1..0 # SKIP no {LIBRARY} or no {CAPSTAN}: build first")
        sys.exit(0)
    sys.exit(run_all(globals(), "agent", AgentBench))
