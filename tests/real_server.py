"""real_server.py - a kube-apiserver with its etcd, for tests that compare with one

KUBE_APISERVER and ETCD name the programs (default: on PATH).
"""
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import yaml

API, ETCD = (shutil.which(os.environ.get(v, d)) for v, d in (("KUBE_APISERVER", "kube-apiserver"), ("ETCD", "etcd")))
GROUPS = {"v1": "/api/v1", "apps/v1": "/apis/apps/v1"}


class Manifest(yaml.SafeLoader):
    """As kubectl reads it: there y and n are booleans, too."""


Manifest.bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}
Manifest.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^[yYnN]$"), list("yYnN"))


def ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    found = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return found


class Server:
    """What answers at self.url."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="server-")
        self.log = open(os.path.join(self.dir, "log"), "w+", encoding="utf-8")
        self.children = []

    def spawn(self, *words):
        self.children.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log))

    def call(self, method, path, body=None, token="admin", kind="application/json"):
        """(status, object)"""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, method=method, data=data,
                                         headers={"Content-Type": kind, "Authorization": "Bearer " + token})
        try:
            with urllib.request.urlopen(request, timeout=30, context=ssl._create_unverified_context()) as answer:  # noqa: SLF001, its own certificate
                text = answer.read()
                self.warnings = answer.headers.get_all("Warning") or []
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

    def said(self):
        """The end of its log."""
        self.log.seek(0)
        return self.log.read()[-300:].replace("\n", " ")

    def apply(self, path):
        """Create what a manifest has. Returns the Warnings."""
        warnings = []
        with open(path, encoding="utf-8") as f:
            for o in yaml.load_all(f, Loader=Manifest):  # noqa: S506, a safe loader
                group, ns = GROUPS.get(o["apiVersion"], "/apis/" + o["apiVersion"]), o["metadata"].get("namespace")
                kind = o["kind"].lower()
                plural = kind[:-1] + "ies" if kind.endswith("y") else kind + "s"
                status, answer = self.call("POST", group + (f"/namespaces/{ns}" if ns else "") + f"/{plural}", o)
                assert status == 201, answer
                warnings += self.warnings
        return warnings

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


class Kubernetes(Server):
    """*options: more of kube-apiserver's."""

    def __init__(self, *options):
        super().__init__()
        client, peer, port = ports(3)
        key, tokens = os.path.join(self.dir, "sa.key"), os.path.join(self.dir, "tokens.csv")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, stderr=subprocess.DEVNULL)
        with open(tokens, "w", encoding="utf-8") as f:
            f.write('admin,admin,admin,"system:masters"\n')
        etcd = f"http://127.0.0.1:{client}"
        self.url = f"https://127.0.0.1:{port}"
        self.spawn(ETCD, f"--data-dir={self.dir}/etcd", f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}",
                   f"--listen-peer-urls=http://127.0.0.1:{peer}", "--log-level=error")
        self.spawn(API, f"--etcd-servers={etcd}", f"--secure-port={port}", "--bind-address=127.0.0.1", f"--cert-dir={self.dir}/certs",
                   f"--token-auth-file={tokens}", "--authorization-mode=RBAC", f"--service-account-key-file={key}",
                   f"--service-account-signing-key-file={key}", "--service-account-issuer=https://kubernetes.default.svc",
                   "--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true", "--disable-admission-plugins=ServiceAccount", *options)


class Embedded(Server):
    """Ours, alone: no scheduler changes what was written."""

    def __init__(self, build, *words):
        super().__init__()
        port = ports(1)[0]
        self.url = f"http://127.0.0.1:{port}"
        self.spawn(os.path.join(build, "tests/unit/apiserver/apiserver_serve"), f"127.0.0.1:{port}", "", *words)


class Checks:
    def __init__(self):
        self.n = self.failed = 0

    def __call__(self, good, text, more=""):
        self.n += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {text}", flush=True)
        if not good:
            print(f"# {more}", flush=True)
