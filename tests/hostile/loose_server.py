"""loose_server.py - an API server that takes every object as it is

A foreign cluster can have definitions that say less than ours, or of other versions: what its API server lets through comes to the
scheduler as somebody wrote it. This one checks nothing but that an object has a name. It lists, watches, creates, updates, patches,
deletes and binds, of any kind and version. Objects stay until their finalizers are gone; nothing is collected.
"""
import copy
import http.server
import json
import re
import threading
import urllib.parse

NATIVE = ("v1alpha1", "v1alpha2", "v1beta1")  # versions of scheduling.k8s.io of which one server has one
PATH = re.compile(r"^/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))(?:/namespaces/(?P<ns>[^/]+)(?=/[^/]+))?"
                  r"/(?P<resource>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>[^/]+))?)?$")


def merged(target, patch):
    """RFC 7396"""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merged(target.get(key), value)
    return target


def merged_by_type(target, patch):
    """A strategic merge of a pod's status: conditions go by type."""
    if isinstance(patch, list) and isinstance(target, list) and all(isinstance(p, dict) and "type" in p for p in patch):
        by_type = {p["type"]: p for p in patch}
        return [merged(t, by_type.pop(t["type"])) if isinstance(t, dict) and isinstance(t.get("type"), str) and t["type"] in by_type else t
                for t in target] + list(by_type.values())
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif not key.startswith("$"):
            target[key] = merged_by_type(target.get(key), value)
    return target


def part(o, path):
    for step in path.split("."):
        o = o.get(step) if isinstance(o, dict) else None
    return "" if o is None else str(o)


def uid_of(resource, ns, name):
    """Known before the object is there: others can say that it is their owner."""
    return f"uid-{resource.rpartition('/')[2]}-{ns or ''}-{name}"[:60]


def selected(o, labels, fields):
    have = (o.get("metadata") or {}).get("labels") if isinstance(o.get("metadata"), dict) else None
    have = have if isinstance(have, dict) else {}
    for term in re.findall(r"[^,(]+(?:\([^)]*\))?", labels or ""):
        term = term.strip()
        if (m := re.match(r"(\S+) (not)?in \(([^)]*)\)", term)):
            if (have.get(m[1]) in m[3].replace(" ", "").split(",")) == bool(m[2]):
                return False
        elif "!=" in term:
            key, value = term.split("!=", 1)
            if have.get(key) == value:
                return False
        elif "=" in term:
            key, value = re.split("==?", term, maxsplit=1)
            if have.get(key) != value:
                return False
        elif term.startswith("!"):
            if term[1:] in have:
                return False
        elif term not in have:
            return False
    for term in filter(None, (fields or "").split(",")):
        key, differs, value = re.match(r"([^!=]+)(!?)==?(.*)", term).groups()
        if (part(o, key) == value) == bool(differs):
            return False
    return True


class Store:
    """resource: "GROUP/PLURAL" -> (namespace, name) -> object, and the events of each resource"""

    def __init__(self, native):
        self.native = native
        self.lock = threading.Condition()
        self.objects, self.events, self.made, self.rv, self.is_closed = {}, {}, {}, 100, False

    def put(self, resource, key, o, event):
        self.rv += 1
        o["metadata"]["resourceVersion"] = str(self.rv)
        self.objects.setdefault(resource, {})[key] = o
        self.events.setdefault(resource, []).append((self.rv, event, key, o))
        self.lock.notify_all()
        return o

    def drop(self, resource, key):
        o = copy.deepcopy(self.objects[resource].pop(key))
        self.rv += 1
        o["metadata"]["resourceVersion"] = str(self.rv)
        self.events.setdefault(resource, []).append((self.rv, "DELETED", key, o))
        self.lock.notify_all()
        return o

    def create(self, resource, ns, o):
        with self.lock:
            meta = o.get("metadata")
            if not isinstance(meta, dict):
                return 422, {}
            if not isinstance(meta.get("name"), str) or not meta["name"]:
                meta["name"] = f"{meta.get('generateName', 'x-')}{self.rv}"
            if ns:
                meta["namespace"] = ns
            key = (ns or "", meta["name"])
            if key in self.objects.get(resource, {}):
                return 409, {}
            made = self.made[resource, key] = self.made.get((resource, key), -1) + 1
            meta["uid"] = uid_of(resource, ns, meta["name"]) + (f"-{made}" if made else "")
            meta.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
            meta["generation"] = 1
            return 201, self.put(resource, key, o, "ADDED")

    def change(self, resource, key, make, is_status=False):
        """make(the old one) -> the new one, or None"""
        with self.lock:
            old = self.objects.get(resource, {}).get(key)
            if old is None:
                return 404, {}
            new = make(copy.deepcopy(old))
            if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
                return 422, {}
            asked = new["metadata"].get("resourceVersion")
            if asked and asked != old["metadata"]["resourceVersion"]:
                return 409, {}
            if is_status:
                new = {**copy.deepcopy(old), **({"status": new["status"]} if "status" in new else {})}
            for name in ("uid", "name", "namespace", "generation"):
                new["metadata"].pop(name, None)
                if name in old["metadata"]:
                    new["metadata"][name] = old["metadata"][name]
            new["metadata"]["generation"] += new.get("spec") != old.get("spec")
            if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
                self.put(resource, key, new, "MODIFIED")
                return 200, self.drop(resource, key)
            return 200, self.put(resource, key, new, "MODIFIED")

    def delete(self, resource, key):
        with self.lock:
            o = self.objects.get(resource, {}).get(key)
            if o is None:
                return 404, {}
            if o["metadata"].get("finalizers"):
                o = copy.deepcopy(o)
                o["metadata"].setdefault("deletionTimestamp", "2026-01-01T00:00:00Z")
                return 200, self.put(resource, key, o, "MODIFIED")
            return 200, self.drop(resource, key)

    def bind(self, key, body):
        def make(pod):
            pod["spec"]["nodeName"] = body["target"]["name"]
            meta = body.get("metadata") or {}
            for kind in ("annotations", "labels"):
                if meta.get(kind):
                    pod["metadata"][kind] = {**(pod["metadata"].get(kind) or {}), **meta[kind]}
            pod["metadata"].pop("resourceVersion")
            return pod

        pod = self.objects.get("/pods", {}).get(key)
        if pod and isinstance(pod.get("spec"), dict) and not pod["spec"].get("nodeName"):
            status, _ = self.change("/pods", key, make)
            return (201 if status == 200 else status), {}
        return (409 if pod else 404), {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, o):
        if status >= 400:
            o = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status,
                 "reason": {404: "NotFound", 409: "Conflict", 422: "Invalid"}.get(status, ""), "message": f"{self.path}: {status}"}
            if status == 409 and self.command == "POST":
                o["reason"] = "AlreadyExists"
        data = json.dumps(o).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin(self):
        url = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query = dict(urllib.parse.parse_qsl(url.query))
        m = PATH.match(url.path)
        if not m or (m["group"] == "scheduling.k8s.io" and m["version"] in NATIVE and m["version"] != self.server.store.native):
            self.answer(200, {"gitVersion": "v1.33.1", "major": "1", "minor": "33"}) if url.path == "/version" else self.answer(404, {})
            return None
        return m, query, json.loads(body) if body else None, (m["group"] or "") + "/" + m["resource"]

    def do_GET(self):
        if not (asked := self.begin()):
            return
        m, query, _, resource = asked
        store = self.server.store
        if m["name"]:
            with store.lock:
                o = store.objects.get(resource, {}).get((m["ns"] or "", m["name"]))
            self.answer(200 if o else 404, o or {})
        elif query.get("watch"):
            self.watch(store, resource, m["ns"], query)
        else:
            with store.lock:
                items = [o for (ns, _), o in store.objects.get(resource, {}).items()
                         if (not m["ns"] or ns == m["ns"]) and selected(o, query.get("labelSelector"), query.get("fieldSelector"))]
                answer = {"kind": "List", "apiVersion": m["core"] or f"{m['group']}/{m['version']}", "items": items,
                          "metadata": {"resourceVersion": str(store.rv)}}
            self.answer(200, answer)

    def watch(self, store, resource, ns, query):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        seen, at, since = set(), 0, int(query.get("resourceVersion") or 0)
        with store.lock:
            events = store.events.setdefault(resource, [])
            seen = {e[2] for e in events if e[0] <= since}
        while True:
            with store.lock:
                while at >= len(events) and not store.is_closed:
                    store.lock.wait(5)
                if store.is_closed:
                    return
                news, at = events[at:], len(events)
            lines = []
            for rv, event, key, o in news:
                if rv <= since or (ns and key[0] != ns):
                    continue
                is_in = event != "DELETED" and selected(o, query.get("labelSelector"), query.get("fieldSelector"))
                if is_in or key in seen:
                    kind = "DELETED" if not is_in else "MODIFIED" if key in seen else "ADDED"
                    lines.append(json.dumps({"type": kind, "object": o}) + "\n")
                (seen.add if is_in else seen.discard)(key)
            data = "".join(lines).encode()
            try:
                if data:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            except OSError:
                self.close_connection = True
                return

    def do_POST(self):
        if not (asked := self.begin()):
            return
        m, _, body, resource = asked
        key, store = (m["ns"] or "", m["name"]), self.server.store
        if m["sub"] == "binding":
            self.answer(*store.bind(key, body))
        elif m["sub"] == "eviction":
            status, _ = store.delete(resource, key)
            self.answer(201 if status == 200 else status, {})
        else:
            self.answer(*store.create(resource, m["ns"], body))

    def do_PUT(self):
        if not (asked := self.begin()):
            return
        m, _, body, resource = asked
        self.answer(*self.server.store.change(resource, (m["ns"] or "", m["name"]), lambda old: body, m["sub"] == "status"))

    def do_PATCH(self):
        if not (asked := self.begin()):
            return
        m, _, body, resource = asked
        kind, key, store = self.headers.get("Content-Type", ""), (m["ns"] or "", m["name"]), self.server.store
        merge = merged_by_type if "strategic" in kind else merged

        def make(old):
            if not (isinstance(body, dict) and isinstance(body.get("metadata"), dict) and body["metadata"].get("resourceVersion")):
                old["metadata"].pop("resourceVersion")
            return merge(old, body)

        status, o = store.change(resource, key, make, m["sub"] == "status")
        if status == 404 and "apply" in kind and isinstance(body, dict):
            body.setdefault("metadata", {}).setdefault("name", m["name"])
            status, o = store.create(resource, m["ns"], body)
        self.answer(status, o)

    def do_DELETE(self):
        if not (asked := self.begin()):
            return
        m, _, _, resource = asked
        self.answer(*self.server.store.delete(resource, (m["ns"] or "", m["name"])))


class Http(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """Clients go as they like."""


class LooseServer:
    def __init__(self, native="v1alpha1"):
        self.store = Store(native)
        self.http = Http(("127.0.0.1", 0), Handler)
        self.http.store = self.store
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        with self.store.lock:
            self.store.is_closed = True
            self.store.lock.notify_all()
        self.http.shutdown()
        self.http.server_close()
