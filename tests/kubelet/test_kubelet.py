"""test_kubelet.py [NAME...] - what a kubelet on grpc's C core sees of the device plugin; one TAP line a check."""
import contextlib
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

import grpc

from kubelet import AdmissionError, Kubelet, is_sanitized, until
from proto import Proto

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("BUILD", os.path.join(HERE, "../../build"))
PROTO = os.path.join(HERE, "../../data/proto")
API = Proto(os.path.join(PROTO, "deviceplugin.proto"))
PODS_API = Proto(os.path.join(PROTO, "podresources.proto"))
RESTARTS = int(os.environ.get("RESTARTS", "20"))
ALLOCATIONS = int(os.environ.get("ALLOCATIONS", "500"))
SANITIZED = is_sanitized(os.path.join(BUILD, "tests/kubelet/plugin_server"))


def gpu(number):
    return f"GPU-{number:08x}-1111-4222-8333-{number:012x}"


class Plugin:
    """The plugin_server program: words in, lines out."""

    def __init__(self, bench, model="a100-40gb", gpus=8, config=""):
        self.bench = bench
        path = bench.file("config.yaml", config) if config else ""
        self.process = subprocess.Popen(
            [os.path.join(BUILD, "tests/kubelet/plugin_server"), bench.directory, bench.root, model, str(gpus), path, bench.pods_socket],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=bench.log, text=True)
        self.said = self.line()

    def line(self):
        line = self.process.stdout.readline().strip()
        assert line, "plugin_server ended"
        return line

    def ask(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.line()

    def config(self, text):
        return self.ask("config " + self.bench.file("config.yaml", text))

    def counts(self):
        return {k: int(v) for k, v in (w.split("=") for w in self.ask("counts").split()[1:])}

    def rss(self):
        words = self.ask("rss").split()
        return int(words[1]), int(words[3])

    def stop(self):
        self.process.stdin.close()
        return self.process.wait(timeout=60)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Bench:
    """A directory with a kubelet; plugins are started by the test."""

    def __init__(self, **kubelet):
        self.root = tempfile.mkdtemp(prefix="kubelet-")
        self.directory = os.path.join(self.root, "device-plugins")
        self.pods_socket = os.path.join(self.root, "pods.sock")
        os.mkdir(self.directory)
        self.log = open(os.path.join(self.root, "log"), "w+", encoding="utf-8")
        self.kubelet = Kubelet(self.directory, API, self.pods_socket, PODS_API, **kubelet)
        self.plugins = []

    def file(self, name, text):
        path = os.path.join(self.root, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def plugin(self, **arguments):
        self.plugins.append(Plugin(self, **arguments))
        return self.plugins[-1]

    def logged(self):
        self.log.seek(0)
        return self.log.read()

    def close(self):
        for plugin in self.plugins:
            if plugin.process.poll() is None:
                assert plugin.stop() == 0, "plugin_server failed at its end:\n" + self.logged()
            plugin.process.stdout.close()
        self.kubelet.stop()
        self.kubelet.pool.shutdown()
        assert "ERROR: " not in self.logged(), self.logged()
        self.log.close()
        shutil.rmtree(self.root)


def sharing(kind="timeSlicing", **more):
    lines = "".join(f"    {k}: {v}\n" for k, v in more.items())
    return f"version: v1\nsharing:\n  {kind}:\n{lines}    resources:\n      - name: nvidia.com/gpu\n        replicas: 4\n"


def flags(**plugin):
    return "version: v1\nflags:\n  plugin:\n" + "".join(f"    {k}: {v}\n" for k, v in plugin.items())


# ---- registration and lists ----

def test_register_and_list(b):
    b.kubelet.start()
    p = b.plugin()
    endpoint = b.kubelet.wait_for("nvidia.com/gpu", 8)
    request = b.kubelet.registrations[0][1]
    assert (request.version, request.endpoint) == ("v1beta1", "nvidia-gpu.sock"), request
    assert request.options.get_preferred_allocation_available and not request.options.pre_start_required
    assert endpoint.options.get_preferred_allocation_available and not endpoint.options.pre_start_required
    assert endpoint.order == [gpu(i) for i in range(8)], endpoint.order
    assert [endpoint.devices[gpu(i)].topology.nodes[0].ID for i in range(8)] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert all(len(i) <= 63 for i in endpoint.order)
    until(lambda: p.counts()["registered"] == 1, "the answer to its registration came back")


def test_socket_path_as_authority(b):
    b.kubelet.authority = "/var/lib/kubelet/device-plugins/nvidia-gpu.sock"
    b.kubelet.start()
    b.plugin()
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    b.kubelet.admit("ns", "pod", "c", "nvidia.com/gpu", 2)


def test_health_changes(b):
    b.kubelet.start()
    p = b.plugin()
    endpoint = b.kubelet.wait_for("nvidia.com/gpu", 8)
    p.ask("unhealthy 3")
    b.kubelet.wait_for("nvidia.com/gpu", 7)
    assert endpoint.devices[gpu(3)].health == "Unhealthy" and endpoint.order == [gpu(i) for i in range(8)]
    p.ask("healthy 3")
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    assert endpoint.lists == 3, endpoint.lists
    assert len(b.kubelet.registrations) == 1


def test_resources_change(b):
    b.kubelet.start()
    p = b.plugin()
    for _ in range(4): # Python's gRPC may drop a message when the end of the stream is there before it was read; grpc-go does not
        first = b.kubelet.wait_for("nvidia.com/gpu", 8)
        assert p.config(sharing(renameByDefault="true")) == "ok nvidia.com/gpu.shared=32"
        b.kubelet.wait_for("nvidia.com/gpu.shared", 32)
        b.kubelet.wait(first.ended.is_set, "the old resource's stream ends")
        assert not os.path.exists(os.path.join(b.directory, "nvidia-gpu.sock"))
        if first.devices == {}:
            break
        p.config("version: v1\n")
    assert first.devices == {}, "the last list is empty: capacity is 0 at once"
    p.config("version: v1\nflags:\n  migStrategy: mixed\n")
    p.ask("mig 0 1g.5gb 7")
    b.kubelet.wait_for("nvidia.com/mig-1g.5gb", 7)
    b.kubelet.wait_for("nvidia.com/gpu", 7)
    chosen, answer = b.kubelet.admit("ns", "mig", "c", "nvidia.com/mig-1g.5gb", 1)
    assert answer.envs["NVIDIA_VISIBLE_DEVICES"] == chosen[0] and chosen[0].startswith("MIG-")
    assert p.config("version: v7\n").startswith("error ")
    b.kubelet.wait_for("nvidia.com/gpu", 7)


def test_keti_shares(b):
    b.kubelet.start()
    p = b.plugin(gpus=1)
    b.kubelet.wait_for("nvidia.com/gpu", 1)
    said = p.config("version: v1\nketi:\n  mpsgpu: 4\n")
    if said.startswith("error"):
        return  # only a flag sets it, the file has no key
    b.kubelet.wait_for("keti.com/mpsgpu", 4)
    assert b.kubelet.endpoints["keti.com/mpsgpu"].name == "nvidia-keti-mpsgpu.sock"


# ---- allocation ----

def test_allocate_envvar(b):
    b.kubelet.start()
    p = b.plugin()
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    chosen, answer = b.kubelet.admit("ns", "pod", "c", "nvidia.com/gpu", 2)
    assert answer.envs["NVIDIA_VISIBLE_DEVICES"] == ",".join(chosen), answer
    assert not answer.mounts and not answer.devices and not answer.annotations and not answer.cdi_devices
    rest, _ = b.kubelet.admit("ns", "pod2", "c", "nvidia.com/gpu", 6)
    assert sorted(chosen + rest) == [gpu(i) for i in range(8)]
    try:
        b.kubelet.admit("ns", "pod3", "c", "nvidia.com/gpu", 1)
        raise AssertionError("a ninth of eight GPUs was given")
    except AdmissionError:
        pass
    b.kubelet.end("ns", "pod")
    again, _ = b.kubelet.admit("ns", "pod3", "c", "nvidia.com/gpu", 2)
    assert sorted(again) == sorted(chosen)
    assert p.counts()["allocations"] == 3


def test_allocate_prefers_near_gpus(b):
    b.kubelet.start()
    b.plugin(model="t4", gpus=8)
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    for pod in ("a", "b"):
        chosen, _ = b.kubelet.admit("ns", pod, "c", "nvidia.com/gpu", 4)
        assert len({b.kubelet.endpoints["nvidia.com/gpu"].devices[i].topology.nodes[0].ID for i in chosen}) == 1, chosen


def test_allocate_volume_mounts(b):
    b.kubelet.start()
    b.plugin(config=flags(deviceListStrategy="volume-mounts"))
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    chosen, answer = b.kubelet.admit("ns", "pod", "c", "nvidia.com/gpu", 2)
    assert answer.envs["NVIDIA_VISIBLE_DEVICES"] == "/var/run/nvidia-container-devices"
    assert [(m.host_path, m.container_path) for m in answer.mounts] == [
        ("/dev/null", f"/var/run/nvidia-container-devices/{i}") for i in chosen]


def test_allocate_cdi(b):
    b.kubelet.start()
    b.plugin(config=flags(deviceListStrategy="[cdi-annotations, cdi-cri]"))
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    chosen, answer = b.kubelet.admit("ns", "pod", "c", "nvidia.com/gpu", 2)
    names = [f"k8s.device-plugin.nvidia.com/gpu={i}" for i in chosen]
    assert [d.name for d in answer.cdi_devices] == names, answer
    (key, value), = answer.annotations.items()
    assert key.startswith("cdi.k8s.io/nvidia-device-plugin_") and value == ",".join(names), answer
    assert len(key.split("/")[1]) <= 63


def test_allocate_device_specs_and_index(b):
    b.kubelet.start()
    b.plugin(config=flags(passDeviceSpecs="true", deviceIDStrategy="index"))
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    chosen, answer = b.kubelet.admit("ns", "pod", "c", "nvidia.com/gpu", 1)
    assert answer.envs["NVIDIA_VISIBLE_DEVICES"] == str(int(chosen[0][-12:], 16)), answer
    paths = [d.container_path for d in answer.devices]
    assert f"/dev/nvidia{int(chosen[0][-12:], 16)}" in paths and "/dev/nvidiactl" in paths, paths
    assert all(set(d.permissions) <= set("rwm") for d in answer.devices)


def test_allocate_shared(b):
    b.kubelet.start()
    b.plugin(config=sharing())
    b.kubelet.wait_for("nvidia.com/gpu", 32)
    units = set()
    for i in range(8):
        chosen, answer = b.kubelet.admit("ns", f"pod{i}", "c", "nvidia.com/gpu", 1)
        assert answer.envs["NVIDIA_VISIBLE_DEVICES"] == chosen[0].split("::")[0]
        units.add(chosen[0].split("::")[0])
    assert len(units) == 8, "distributed: eight pods, eight GPUs"


def test_allocate_mps(b):
    b.kubelet.start()
    text = "version: v1\nflags:\n  mpsRoot: /run/nvidia/mps\n" + sharing("mps")[len("version: v1\n"):]
    b.plugin(config=text)
    b.kubelet.wait_for("nvidia.com/gpu", 32)
    _, answer = b.kubelet.admit("ns", "pod", "c", "nvidia.com/gpu", 1)
    assert answer.envs["CUDA_MPS_PIPE_DIRECTORY"] == "/mps/nvidia.com/gpu/pipe", answer
    mounts = {m.container_path: m.host_path for m in answer.mounts}
    assert mounts["/mps/nvidia.com/gpu/pipe"] == "/run/nvidia/mps/nvidia.com/gpu/pipe" and mounts["/dev/shm"] == "/run/nvidia/mps/shm"
    try:
        b.kubelet.admit("ns", "pod2", "c", "nvidia.com/gpu", 2)
        raise AssertionError("two MPS shares were given to one container")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.FAILED_PRECONDITION, error


def test_allocate_refusals(b):
    b.kubelet.start()
    p = b.plugin()
    endpoint = b.kubelet.wait_for("nvidia.com/gpu", 8)
    for containers, code in (([[]], "INVALID_ARGUMENT"), ([["GPU-x"]], "NOT_FOUND"), ([[gpu(1)], [gpu(2), gpu(1)]], "INVALID_ARGUMENT"),
                             ([["x" * 100000]], "NOT_FOUND"), ([["a\0b"]], "INVALID_ARGUMENT"), ([["ä % \n"]], "NOT_FOUND")):
        request = API.AllocateRequest()
        for ids in containers:
            request.container_requests.add(devices_ids=ids)
        try:
            endpoint.call("Allocate", request)
            raise AssertionError(f"was allocated: {containers}")
        except grpc.RpcError as error:
            assert error.code().name == code, error
            assert "nvidia.com/gpu" in error.details() or "malformed" in error.details(), error
    assert p.counts()["owners"] == 0 and p.counts()["refusals"] == 6
    assert endpoint.call("PreStartContainer", API.PreStartContainerRequest(devices_ids=[gpu(1)])) == API.PreStartContainerResponse()


def test_owners(b):
    b.kubelet.start()
    p = b.plugin()
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    assert p.ask("owners") == "owners 0 0"
    chosen, _ = b.kubelet.admit("ml", "train", "worker", "nvidia.com/gpu", 1)
    assert p.ask("owners") == f"owners 0 1 nvidia.com/gpu={chosen[0]}:ml/train/worker"


# ---- restarts ----

def registered(p, times):
    """So often and no more. The kubelet may list the devices before the answer to the registration has come back to the plugin."""
    until(lambda: p.counts()["registrations"] >= times, f"{times} registrations")
    assert p.counts()["registrations"] == times, p.counts()


def test_plugin_before_kubelet(b):
    """The socket's appearance is seen at once: half the time within a second, where a look at everything would take up to 30."""
    p = b.plugin()
    time.sleep(0.2)
    b.kubelet.start()
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    registered(p, 1)
    for _ in range(10):
        b.kubelet.restart()
        b.kubelet.wait_for("nvidia.com/gpu", 8)
    took = sorted(seconds for seconds, _ in b.kubelet.registrations)
    assert took[len(took) // 2] < 1, took


def test_kubelet_restarts(b):
    b.kubelet.start()
    p = b.plugin()
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    for i in range(6):
        b.kubelet.restart(clean=i % 2 == 0)
        b.kubelet.wait_for("nvidia.com/gpu", 8)
        b.kubelet.admit("ns", f"pod{i}", "c", "nvidia.com/gpu", 1)
    registered(p, 7)


def test_own_socket_deleted(b):
    b.kubelet.start()
    p = b.plugin()
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    for i in range(3):
        before = len(b.kubelet.registrations)
        os.unlink(os.path.join(b.directory, "nvidia-gpu.sock"))
        b.kubelet.wait(lambda: len(b.kubelet.registrations) > before, "another registration")
        b.kubelet.wait_for("nvidia.com/gpu", 8)
    assert p.counts()["failures"] == 0


def test_kubelet_refuses_for_a_while(b):
    b.kubelet.refuse = "not yet"
    b.kubelet.start()
    p = b.plugin()
    until(lambda: p.counts()["failures"] > 2, "it tries again")
    until(lambda: "not yet" in b.logged(), "why it is refused is told")
    assert p.counts()["registered"] == 0
    b.kubelet.refuse = None
    b.kubelet.wait_for("nvidia.com/gpu", 8)


def test_kubelet_speaks_garbage(b):
    """Junk, silence and hanging up on kubelet.sock, while others put junk into the plugin's socket: then a kubelet that means it."""
    p = b.plugin()
    r = random.Random(5)
    path = os.path.join(b.directory, "kubelet.sock")
    for behaviour in ("junk", "silence", "hang up", "http/1", "junk"):
        if os.path.exists(path):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(8)
            listener.settimeout(60)
            peer, _ = listener.accept()
            with peer:
                peer.settimeout(60)
                assert peer.recv(65536).startswith(b"PRI * HTTP/2.0")
                if behaviour == "junk":
                    with contextlib.suppress(ConnectionError):  # it may have hung up at the first of it
                        peer.sendall(r.randbytes(3000))
                elif behaviour == "http/1":
                    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                elif behaviour == "silence":
                    time.sleep(0.2)
        with socket.socket(socket.AF_UNIX) as guest:
            guest.connect(os.path.join(b.directory, "nvidia-gpu.sock"))
            with contextlib.suppress(ConnectionError):
                guest.sendall(r.randbytes(3000))
    os.unlink(path)
    b.kubelet.start()
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    until(lambda: p.counts()["registered"] == 1, "the answer to its registration came back")


def test_plugin_restarts(b):
    b.kubelet.start()
    p = b.plugin()
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    chosen, _ = b.kubelet.admit("ns", "pod", "c", "nvidia.com/gpu", 2)
    endpoint = b.kubelet.endpoints["nvidia.com/gpu"]
    p.kill()
    b.kubelet.wait(endpoint.ended.is_set, "the stream ends with the plugin")
    q = b.plugin()
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    assert q.counts()["owners"] == 2, "what was handed out is still known"


def test_two_plugins(b):
    b.kubelet.start()
    p = b.plugin()
    b.kubelet.wait_for("nvidia.com/gpu", 8)
    root = b.root
    b.root = os.path.join(root, "other")
    os.mkdir(b.root)
    q = b.plugin()
    b.root = root
    until(lambda: "another capstan agent of this node holds it" in b.logged(), "the second says why it waits")
    assert q.counts()["registered"] == 0 and len(b.kubelet.registrations) == 1
    assert p.stop() == 0
    b.kubelet.wait(lambda: len(b.kubelet.registrations) == 2, "the second takes over")
    b.kubelet.wait_for("nvidia.com/gpu", 8)


def test_soak(b):
    b.kubelet.start()
    p = b.plugin()
    b.kubelet.wait_for("nvidia.com/gpu", 8)

    def allocate(count):
        endpoint = b.kubelet.endpoints["nvidia.com/gpu"]
        request = API.AllocateRequest()
        request.container_requests.add(devices_ids=[gpu(1), gpu(5)])
        for _ in range(count):
            endpoint.call("Allocate", request)

    def restart(count):
        for i in range(count):
            b.kubelet.restart(clean=i % 2 == 0)
            b.kubelet.wait_for("nvidia.com/gpu", 8)

    allocate(min(2000, ALLOCATIONS))
    restart(min(20, RESTARTS))
    kb, fds = p.rss()
    began = time.monotonic()
    allocate(ALLOCATIONS)
    allocated = time.monotonic()
    restart(RESTARTS)
    ended = time.monotonic()
    kb_after, fds_after = p.rss()
    print(f"# {ALLOCATIONS} allocations in {allocated - began:.1f} s, {RESTARTS} restarts in {ended - allocated:.1f} s, "
          f"{kb} kB and {fds} descriptors before, {kb_after} kB and {fds_after} after")
    until(lambda: p.rss()[1] <= fds, f"connections that have ended are closed: {fds} descriptors before, {fds_after} after")
    assert SANITIZED or kb_after - kb <= 256, (kb, kb_after)


# ---- bytes ----

def random_text(r):
    return "".join(r.choice("abcGPU-0123:/ é漢") for _ in range(r.choice((0, 1, 5, 40, 127, 128, 300))))


def fill(r, message, depth=0):
    for field in message.DESCRIPTOR.fields:
        if field.containing_type.full_name.endswith("ContainerResources") and field.number in (3, 5):
            continue  # not read
        if field.containing_type.full_name.endswith("PodResources") and field.number in (4, 5):
            continue
        if field.message_type and field.message_type.GetOptions().map_entry:
            for _ in range(r.randrange(4)):
                getattr(message, field.name)[random_text(r)] = random_text(r)
        elif field.message_type and field.label == field.LABEL_REPEATED:
            for _ in range(r.randrange(4)):
                fill(r, getattr(message, field.name).add(), depth + 1)
        elif field.message_type:
            if r.random() < 0.5:
                fill(r, getattr(message, field.name), depth + 1)
                getattr(message, field.name).SetInParent()
        elif field.label == field.LABEL_REPEATED:
            getattr(message, field.name).extend(random_text(r) for _ in range(r.randrange(4)))
        elif field.cpp_type == field.CPPTYPE_STRING:
            setattr(message, field.name, random_text(r))
        elif field.cpp_type == field.CPPTYPE_BOOL:
            setattr(message, field.name, r.random() < 0.5)
        else:
            bits = r.randrange(63)
            signed = field.cpp_type == field.CPPTYPE_INT64
            setattr(message, field.name, r.getrandbits(bits) * (r.choice((1, -1)) if signed else 1))


def test_protobuf_agrees(b):
    r = random.Random(11)
    echo = subprocess.Popen([os.path.join(BUILD, "tests/kubelet/protobuf_echo")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    kinds = (b"a", API.AllocateResponse), (b"l", API.ListAndWatchResponse), (b"p", PODS_API.ListPodResourcesResponse)
    for _ in range(2000):
        shape, kind = r.choice(kinds)
        message = kind()
        fill(r, message)
        data = message.SerializeToString()
        echo.stdin.write(shape + struct.pack("<I", len(data)) + data)
        echo.stdin.flush()
        length, = struct.unpack("<I", echo.stdout.read(4))
        assert length != 0xFFFFFFFF, f"malformed, it says: {message}"
        assert kind.FromString(echo.stdout.read(length)) == message, message
    echo.stdin.close()
    assert echo.wait() == 0
    echo.stdout.close()


def run_all(names, suite, bench):
    """Every test_NAME of a module, or those named on the command line."""
    tests = [(n, f) for n, f in names.items() if n.startswith("test_") and callable(f) and (not sys.argv[1:] or n[5:] in sys.argv[1:])]
    print(f"1..{len(tests)}")
    failed = 0
    for number, (name, function) in enumerate(tests, 1):
        b = bench()
        try:
            function(b)
            b.close()
            print(f"ok {number} - kubelet/{suite}/{name[5:]}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - kubelet/{suite}/{name[5:]}")
            print("# " + traceback.format_exc().replace("\n", "\n# "))
            print("# " + b.logged()[-2000:].replace("\n", "\n# "), flush=True)
            for plugin in b.plugins:
                plugin.kill()
                plugin.process.stdout.close()
            b.kubelet.stop()
            b.kubelet.pool.shutdown()
            shutil.rmtree(b.root, ignore_errors=True)
    return failed != 0


if __name__ == "__main__":
    sys.exit(run_all(globals(), "plugin", Bench))
