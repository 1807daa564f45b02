"""restart.py CAPSTAN BUILD - GPU-hours of a pod over restarts of its node's agent: ended, killed, and with books that are older than the store. TAP lines."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "kubelet"))
CAPSTAN, BUILD = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:3])
os.environ.update(CAPSTAN=CAPSTAN, BUILD=BUILD)
from live import check, skip  # from here on: the modules of the kubelet read the environment
from servers import free_port, get, wait_for

try:
    from test_agent import AgentBench
except (ImportError, FileNotFoundError):
    AgentBench = None


class Node(AgentBench or object):
    """A GPU of two is ml/train's, from the first run on. run_agent() says how long it was on the agent's books, in seconds, at least and at most."""

    def __init__(self):
        super().__init__()
        self.environment = dict(os.environ)
        super().node(gpus=2)
        self.kubelet.start()
        self.has_pod = False

    def run_agent(self, seconds, end):
        port = free_port()
        agent = self.agent(arguments=("--address", "127.0.0.1:%d" % port, "--collect-interval", "200"))
        begin = time.monotonic()
        self.kubelet.wait_for("nvidia.com/gpu", 2)
        if not self.has_pod:
            begin = time.monotonic()
            self.kubelet.admit("ml", "train", "c", "nvidia.com/gpu", 1)
            self.has_pod = True
        first_s = wait_for("the pod's counter", lambda: self.counted(port))[0]
        time.sleep(seconds)
        least = wait_for("the pod's counter", lambda: self.counted(port))[0] - first_s
        end(agent)
        agent.process.stdout.close()
        self.plugins.remove(agent)
        return least, time.monotonic() - begin

    def counted(self, port):
        """[seconds] of the pod on the page; [] when they are not there."""
        _, page = get("http://127.0.0.1:%d/metrics" % port)
        return [float(v) for v in re.findall(r'^gpu_pod_allocated_seconds_total\{namespace="ml",pod="train"\} (\S+)$', page, re.M)]

    def books(self):
        return os.path.join(self.root, "state", "account")

    def reported(self):
        done = subprocess.run([CAPSTAN, "report", "--store", os.path.join(self.root, "state", "usage.db"), "--by", "pod", "--since", "1h", "-o", "json"],
                              stdout=subprocess.PIPE, check=True)
        found = json.loads(done.stdout)
        rows = {r["pod"]: r["allocatedHours"] * 3600 for r in found["rows"]}
        assert set(rows) == {"ml/train"}, rows
        # It has one of two GPUs for as long as both are there, but for the moments between the agent's start and the pod's.
        assert found["total"]["capacityHours"] * 3600 >= 2 * rows["ml/train"] - 2, found["total"]
        return rows["ml/train"]


def within(what, got, least, most):
    assert least - 0.5 <= got <= most + 0.5, "%s: %g s, not %g to %g" % (what, got, least, most)


def over_restarts(node):
    first = node.run_agent(3, lambda a: a.stop())
    within("one run", node.reported(), *first)
    shutil.copy(node.books(), node.books() + ".old")
    second = node.run_agent(4, lambda a: a.stop())
    both = [a + b for a, b in zip(first, second)]
    within("two runs", node.reported(), *both)
    node.run_agent(1, lambda a: a.kill())  # had not saved anything yet
    within("killed", node.reported(), *both)
    shutil.move(node.books() + ".old", node.books())  # as a disk that was switched off may have it
    before = node.reported()
    again = node.run_agent(1, lambda a: a.stop())  # shorter than what the books lack, or it counts for what it is longer
    within("older books", node.reported(), max(before, before - second[1] + again[0]), max(before, before - second[0] + again[1]))
    third = node.run_agent(6, lambda a: a.stop())
    within("the run after", node.reported(), before - second[1] + third[0], before + again[1] + third[1])


def main():
    if not AgentBench:
        skip("restart", "no python3-grpcio and python3-protobuf, or the kubelet's tests are not built")
        return
    node = Node()
    try:
        check("restart: GPU-hours are counted once, over ends, kills and old books", over_restarts, node)
    finally:
        for agent in node.plugins:
            agent.kill()
            agent.process.stdout.close()
        node.kubelet.stop()
        node.kubelet.pool.shutdown()
        node.log.close()
        shutil.rmtree(node.root, ignore_errors=True)


main()
