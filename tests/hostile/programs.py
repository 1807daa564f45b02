"""programs.py - `capstan up`, and `capstan scheduler` on a server that takes everything; what is well there and has to go on

A sanitizer build ends with SANITIZER where it finds something; what it wrote is in the log.
"""
import http.client
import json
import os
import re
import subprocess
import time
import urllib.parse

import loose_server
import seeds

SANITIZER = 86
MEMORY_MOST = 3 << 30  # bytes of a process under AddressSanitizer; 300 MB are usual
SPEAKS = {"ASAN_OPTIONS": f"exitcode={SANITIZER}:detect_leaks=0:handle_abort=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
BAD = re.compile(r"AddressSanitizer|UndefinedBehaviorSanitizer|runtime error:|Assertion .* failed|LeakSanitizer")
TERMINAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")  # what a terminal would obey


PAGES = ("/ui/api/cluster", "/ui/api/node?name=node-0", "/ui/api/node?name=a100-40gb-0", "/ui/api/sessions?name=node-0",
         "/ui/api/why?job=workload/default/work", "/ui/api/why?job=podgroup/default/pg")


class Finding(Exception):
    pass


def page_check(name, path, text):
    """What the page reads is JSON, where there is something to say."""
    try:
        if text[:1] in (b"{", b"["):
            json.loads(text.decode("utf-8"))
        elif path == "/ui/api/cluster":
            raise ValueError("no JSON")
    except ValueError as e:
        raise Finding(f"{name}: GET {path}: {e}: {text[:300]}") from e


def environment():
    return {**os.environ, **SPEAKS, "LC_ALL": "C.UTF-8"}


class Program:
    """self.process, self.url, self.config (a kubeconfig), self.folder"""

    def __init__(self, folder, program):
        self.folder, self.program, self.http, self.slow_s = str(folder), program, None, 0
        self.log_path, self.config = os.path.join(self.folder, "log"), os.path.join(self.folder, "kubeconfig")

    def start(self, *words):
        self.log = open(self.log_path, "w", encoding="utf-8")
        self.process = subprocess.Popen([self.program, *words], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env=environment())

    def log_text(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def look(self):
        """It lives, found nothing, and is of a size."""
        pages = 0
        if self.process.poll() is None:
            with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as f:
                pages = int((f.read().split() or [0, 0])[1])
        if pages * 4096 > MEMORY_MOST:
            raise Finding(f"{self.name} has {pages * 4096 >> 20} MiB")
        if self.process.poll() is not None or BAD.search(self.log_text()):
            time.sleep(1)
            text = self.log_text()
            found = BAD.search(text)
            text = text[max(0, found.start() - 200):][:6000] if found else text[-3000:]
            raise Finding(f"{self.name} ended with {self.process.poll()}\n{text}")

    def call(self, method, path, body=None, kind="application/json", limit_s=60):
        for attempt in range(2):
            try:
                if self.http is None:
                    self.http = http.client.HTTPConnection(urllib.parse.urlsplit(self.url).netloc, timeout=limit_s)
                began = time.monotonic()
                text = None if body is None else json.dumps(body)
                self.http.request(method, urllib.parse.quote(path, safe="/?=&,:%"), text, {"Content-Type": kind})
                answer = self.http.getresponse()
                text = answer.read()
                self.slow_s = max(self.slow_s, time.monotonic() - began)
                return answer.status, text
            except (OSError, http.client.HTTPException) as e:
                self.http = None
                if attempt or self.process.poll() is not None:
                    self.look()
                    raise Finding(f"{self.name}: no answer to {method} {path}: {e!r}") from e
        return None

    def get(self, path):
        status, text = self.call("GET", path)
        return json.loads(text) if status == 200 else {}

    def says(self, *words, text=None, limit_s=150, is_well=False):
        """What a command prints. It may fail, unless is_well; it may not crash, hang, or print what a terminal obeys."""
        try:
            ran = subprocess.run([self.program, *words], input=text, capture_output=True, timeout=limit_s, check=False,
                                 env={**environment(), "KUBECONFIG": self.config})
        except subprocess.TimeoutExpired as e:
            raise Finding(f"capstan {' '.join(words)} hangs") from e
        errors, out = ran.stderr.decode("utf-8", "replace"), ran.stdout.decode("utf-8", "replace")
        if ran.returncode not in ((0,) if is_well else (0, 1, 2, 3, 4)) or BAD.search(errors):
            raise Finding(f"capstan {' '.join(words)} ended with {ran.returncode}\n{errors[-6000:]}")
        if TERMINAL.search(out + errors) or "(null)" in out + errors:
            bad = TERMINAL.search(out + errors) or re.search(r"\(null\)", out + errors)
            raise Finding(f"capstan {' '.join(words)} prints {bad[0]!r}: {(out + errors)[max(0, bad.start() - 200):bad.end() + 100]!r}")
        return out

    def close(self):
        """Ends it in good order, which is a check of its own."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired as e:
                self.process.kill()
                self.process.wait()
                raise Finding(f"{self.name} does not end when asked to") from e
            if self.process.returncode or BAD.search(self.log_text()):
                raise Finding(f"{self.name} ended with {self.process.returncode}\n{self.log_text()[-6000:]}")

    def again(self):
        """Ends, and begins with what is there."""
        Program.close(self)
        self.http = None
        if os.path.exists(self.config) and isinstance(self, Up):
            os.unlink(self.config)
        self.begin()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()


class Up(Program):
    name = "capstan up"
    kinds_of_health = ("pod", "group", "job")

    def __init__(self, folder, program):
        super().__init__(folder, program)
        self.begin()

    def begin(self):
        self.start("up", "--data-dir", self.folder, "--listen", "127.0.0.1:0", "--nodes", "2:a100-40gb", "--nodes", "1:t4,replicas=4",
                   "--nodes", "1:a100-40gb,gpus=2,mig=1g.5gb", "--nodes", "1:cpu", "--speed", "20")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.1)
            self.look()
            try:
                with open(self.config, encoding="utf-8") as f:
                    self.url = re.search(r"server: (\S+)", f.read()).group(1)
                if self.call("GET", "/readyz")[0] == 200:
                    break
            except (OSError, AttributeError):
                pass
        self.http = None
        self.nodes = {o["metadata"]["name"] for o in self.get("/api/v1/nodes")["items"]}
        for ns in ("volcano-system", "gpu", "yunikorn"):
            self.call("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})

    def do(self, verb, path, name, sub, body):
        status, text = self.call(verb, path + (f"/{name}" if name else "") + (f"/{sub}" if sub else ""), body,
                                 "application/merge-patch+json" if verb == "PATCH" else "application/json")
        if status >= 500 and status != 504:
            raise Finding(f"{self.name}: {verb} {path}/{name} is answered {status}: {text[:500]}")
        return status

    def clear(self, touched):
        for path in touched:
            for o in self.get(path).get("items", []):
                name = o["metadata"]["name"]
                is_own = name.startswith(("healthy", "kube")) or (path == "/api/v1/nodes" and name in self.nodes)
                if is_own or ("/rbac" in path and ":" in name):
                    continue
                if o["metadata"].get("finalizers"):
                    self.call("PATCH", f"{path}/{name}", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
                self.call("DELETE", f"{path}/{name}", {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})

    def look_around(self):
        """The web page's data, and lists of every kind, as kubectl asks for them."""
        for path in PAGES:
            page_check(self.name, path, self.call("GET", path)[1])
        for group in ["/api/v1"] + ["/apis/" + g["preferredVersion"]["groupVersion"] for g in self.get("/apis").get("groups", [])]:
            for r in self.get(group).get("resources", []):
                if "/" not in r["name"] and "list" in r["verbs"]:
                    self.http.request("GET", f"{group}/{r['name']}", None, {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
                    answer = self.http.getresponse()
                    text = answer.read()
                    if answer.status >= 500:
                        raise Finding(f"{self.name}: GET {group}/{r['name']} is answered {answer.status}: {text[:300]}")
                    json.loads(text)


class Scheduler(Program):
    name = "capstan scheduler"

    def __init__(self, folder, program, native="v1alpha1"):
        super().__init__(folder, program)
        self.server = loose_server.LooseServer(native)
        self.url = self.server.url
        with open(self.config, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [{"name": "u", "user": {}}],
                       "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                       "clusters": [{"name": "c", "cluster": {"server": self.url}}]}, f)
        for ns in ("default", "kube-system", "volcano-system", "gpu", "yunikorn"):
            self.server.store.create("/namespaces", None, {"metadata": {"name": ns}})
        amounts = {"cpu": "64", "memory": "256Gi", "pods": "110"}
        self.server.store.create("/nodes", None, {
            "metadata": {"name": "healthy-node", "labels": {"kubernetes.io/hostname": "healthy-node"}},
            "spec": {"taints": [{"key": "healthy", "effect": "NoSchedule"}]},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}})
        self.begin()

    def begin(self):
        self.start("scheduler", "--kubeconfig", self.config, "--leader-elect=false", "--run-trainjobs", "--forecast-seconds", "2",
                   "--hung-after", "5", "--address", f"unix:{self.folder}/port", "--log-level", "error")

    def do(self, verb, path, name, sub, body):
        store, m = self.server.store, loose_server.PATH.match(path)
        resource, key = (m["group"] or "") + "/" + m["resource"], (m["ns"] or "", name)
        body = seeds.copy_of(body)
        if verb == "POST":
            return store.create(resource, m["ns"], body)[0]
        if verb == "DELETE":
            return store.delete(resource, key)[0]

        def make(old):
            old["metadata"].pop("resourceVersion")
            if verb == "PUT" and not sub:
                body["metadata"].pop("resourceVersion", None)
                return body
            return {**old, "status": body.get("status")} if verb == "PUT" else loose_server.merged(old, body)

        return store.change(resource, key, make, sub == "status")[0]

    def clear(self, touched):
        store = self.server.store
        with store.lock:
            for resource, objects in list(store.objects.items()):
                if resource == "/namespaces":
                    continue
                for key in list(objects):
                    if not key[1].startswith("healthy"):
                        store.drop(resource, key)
            for resource, events in store.events.items():
                if len(events) > 200000:
                    raise Finding(f"{self.name} writes without end: {resource} {events[-1]}")

    def look_around(self):
        for path in ("/metrics", *PAGES):
            ran = subprocess.run(["curl", "-s", "-m", "60", "--unix-socket", f"{self.folder}/port", "http://localhost" + path], capture_output=True,
                                 check=False)
            if ran.returncode or not ran.stdout:
                self.look()
                raise Finding(f"{self.name}: no answer to GET {path}: curl {ran.returncode}")
            page_check(self.name, path, ran.stdout)

    def close(self):
        try:
            super().close()
        finally:
            self.server.close()

    def kill(self):
        super().kill()
        self.server.close()
