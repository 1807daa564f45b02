"""mutants.py - objects that are not as expected, made of seeds by a random number generator, and what is done with them

An operation is (verb, resource path, name, subresource, body): the same generator makes the same operations.
"""
import json
import re

import yaml

import loose_server
import seeds

TEXTS = ["", " ", "x", "X" * 300, "y" * 70000, "-1", "0", "1.5", "true", "null", "NaN", "../..", "a/b/c", "/", "a//b", "%s%n%d",
         "\x1b[31mred\x1b[0m", "a\nb: c\n", "\x00", "é漢字", "\u202e", "{}", "[]", "{", '{"a":', "node-0", "default", "*", "^(a+)+$",
         "[", "(((((", "*****a", "0-99999999999", "5-1", "1,2,,3", "2026-13-45T99:99:99Z", "9999-12-31T23:59:59Z",
         "0001-01-01T00:00:00Z", "1d", "99999999h", "-5s", "50%", "-50%", "99999999999%", "*/0 * * * *", "0 0 30 2 *",
         "kubernetes.io/hostname", "capstan", "volcano"]
NUMBERS = [0, 1, -1, 2, 7, 1000, 2**31 - 1, 2**31, -2**31, 2**32, 2**53, 2**63 - 1, 2**63, -2**63, 2**64, 10**30, 1e308, -1e308, 0.5,
           1.5, -0.1, 1e-320]
AMOUNTS = ["1e3", "1E", "1Ei", "9223372036854775807", "9223372036854775808", "-1", "0.0000000001", "1n", "1u", "5m", "1.5", ".5", "5.",
           "+5", "0x10", "1KI", "1ki", "1e308", "1e-400", "8Ei", "16Ei", "9e18", "100000000000000Ti", "1 Gi", "", "1Gi1", "١",
           "18446744073709551616", "-9223372036854775808m", "0", "1k", "1e99999999999"]
# Beginnings of names of ConfigMaps that are read there alone
SPACES = {"volcano-": "volcano-system", "capstan-policy": "kube-system", "gpu-scheduler-": "gpu", "yunikorn-": "yunikorn"}
GONE, DEEP = object(), 200
HEALTHY = "healthy"  # no mutant has such a name: what is well has to go on being so


AMOUNT_NAMES = {"requests", "limits", "capacity", "allocatable", "nominalQuota", "borrowingLimit", "lendingLimit", "deserved", "capability",
                "guarantee", "minResources", "resourceUsage", "resources", "overhead", "weight", "minResource"}
FIXED = {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace")}
REFERS = re.compile(r"(?i)parent|cohort|queue$|queueName|^name$|targets|clusterQueue|topolog")
POD_LABELS = ["job-name", "batch.kubernetes.io/job-name", "volcano.sh/job-name", "jobset.sigs.k8s.io/jobset-name",
              "training.kubeflow.org/job-name", "kueue.x-k8s.io/podset", "leaderworkerset.sigs.k8s.io/name",
              "batch.kubernetes.io/job-completion-index", "ray.io/cluster"]
FINALIZERS = ["x/y", "kueue.x-k8s.io/resource-in-use", "kueue.x-k8s.io/managed", "foregroundDeletion"]


def is_amount(path):
    return not AMOUNT_NAMES.isdisjoint(path)


SWEPT = [GONE, None, {}, [], "", "x", 2**31 - 1, -1, 2**63 - 1, 1e308, 0.5, True, ["x", {"y": 1}], {"x": ["y"]}, "a\x00b", DEEP, "many"]


class Mutants:
    """rng: random.Random; all_seeds: seeds.load(); is_refused: most of what is wrong will not be taken, so less of it is"""

    def __init__(self, rng, all_seeds, is_refused=False):
        self.rng = rng
        self.changes = [0, 0, 0, 1, 1, 2] if is_refused else [0, 1, 1, 1, 2, 2, 3, 6]
        self.by_kind = {}
        for o in all_seeds:
            self.by_kind.setdefault((o["apiVersion"], o["kind"]), []).append(o)
        self.kinds = sorted(self.by_kind)
        # Names that refer to something more often than not.
        names = {o["metadata"]["name"] for o in all_seeds}
        self.names = ["x1", "default", "root", "missing"] + sorted(n for n in names if n.isascii() and len(n) < 60)
        keys = set()
        for o in all_seeds:
            for holder in ("labels", "annotations"):
                keys |= set(o["metadata"].get(holder) or {})
        self.keys = sorted(k for k in keys if "/" in k) + ["kubernetes.io/hostname"]
        holders = [o["metadata"].get(h) or {} for o in all_seeds for h in ("labels", "annotations")]
        self.values = [v for h in holders for v in h.values() if isinstance(v, str)]

    # ---- one change of one object ----

    def other_value(self, old):
        rng = self.rng
        choice = rng.randrange(9)
        if choice == 0:
            return None
        if choice == 1:
            return rng.choice([{}, [], [None], [[]], [{}], {"": {}}, [""], {"a": None}])
        if choice in (2, 3):
            return rng.choice(NUMBERS)
        if choice in (4, 5):
            return rng.choice(TEXTS)
        if choice == 6:
            return rng.choice([True, False])
        if choice == 7:
            return rng.choice(self.names)
        return [old] if not isinstance(old, list) else (old[0] if old else {})

    def in_text(self, text):
        """A file or JSON in a text, changed inside."""
        try:
            inner = yaml.load(text, Loader=seeds.Loader)  # noqa: S506, a safe loader
        except (yaml.YAMLError, ValueError):
            return self.rng.choice(TEXTS)
        if not isinstance(inner, (dict, list)):
            return self.rng.choice(TEXTS)
        inner = json.loads(json.dumps(inner, default=str))
        self.change({"metadata": {}, "x": inner}, ("x",))
        return json.dumps(inner) if text.lstrip().startswith(("{", "[")) or self.rng.random() < 0.3 else yaml.safe_dump(inner)

    def change(self, o, below=()):
        rng = self.rng
        paths = [p for p in seeds.paths_of(seeds.get(o, below), below) if p not in FIXED and len(p) > len(below)]
        if not paths:
            return
        path = rng.choice(paths)
        if rng.random() < 0.3:  # the upper ones, of which there are few
            path = path[:rng.randint(min(len(below) + 1, len(path)), len(path))]
            if path in FIXED:
                return
        holder, last, old = seeds.get(o, path[:-1]), path[-1], seeds.get(o, path)
        choice = rng.randrange(14)
        if choice < 2:
            del holder[last]
        elif choice == 2:
            holder[last] = None
        elif choice == 3 and isinstance(old, list) and old:
            holder[last] = [seeds.copy_of(old[0]) for _ in range(rng.choice([2, 3, 70, 1100, 5000]))]
            if rng.random() < 0.5:  # of different names
                for i, item in enumerate(holder[last]):
                    if isinstance(item, dict) and isinstance(item.get("name"), str):
                        item["name"] += f"-{i}"
        elif choice == 4 and isinstance(old, dict):
            for i in range(rng.choice([1, 20, 1500])):
                old[f"{rng.choice(self.keys)}{i}"] = rng.choice(["1", "x", 1, "0"])
        elif choice in (5, 6) and (is_amount(path) or isinstance(old, (int, float))) and not isinstance(old, (dict, list)):
            holder[last] = rng.choice(AMOUNTS) if is_amount(path) and rng.random() < 0.7 else rng.choice(NUMBERS)
        elif choice in (5, 6, 7) and isinstance(old, str):
            holder[last] = self.in_text(old) if len(old) > 20 or old[:1] in "[{" else rng.choice(self.names)
        elif choice == 8 and isinstance(old, dict) and isinstance(holder, dict):
            holder["x" + str(last)] = old
            del holder[last]
        elif choice == 9 and isinstance(old, list) and len(old) > 1:
            rng.shuffle(old)
            old.append(seeds.copy_of(old[0]))
        elif choice == 10:
            other = rng.choice(self.by_kind[rng.choice(self.kinds)])
            places = [p for p in seeds.paths_of(other) if p and p[-1] == last]
            holder[last] = seeds.copy_of(seeds.get(other, rng.choice(places))) if places else self.other_value(old)
        else:
            holder[last] = self.other_value(old)

    def change_meta(self, o):
        rng, meta = self.rng, o["metadata"]
        choice = rng.randrange(7)
        if choice < 3:
            where = rng.choice(["labels", "annotations"])
            if isinstance(meta.setdefault(where, {}), dict):
                meta[where][rng.choice(self.keys)] = rng.choice(self.values) if rng.random() < 0.5 else rng.choice(TEXTS[:3] + TEXTS[5:])
        elif choice == 3:
            meta["finalizers"] = [rng.choice(FINALIZERS)]
        elif choice == 4:
            version, kind = rng.choice([(o["apiVersion"], o["kind"]), rng.choice(self.kinds)])
            name = rng.choice([*self.names, meta["name"]])
            meta["ownerReferences"] = [owner(version, kind, name)] * rng.choice([1, 1, 1, 2])
        elif choice == 5:
            meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        else:
            meta["creationTimestamp"] = rng.choice(["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", None])

    def self_reference(self, o):
        """Names in it become its own, or each other's."""
        name = o["metadata"]["name"]
        places = [p for p in seeds.paths_of(o) if p and p[0] != "metadata" and isinstance(p[-1], str) and REFERS.search(p[-1])
                  and isinstance(seeds.get(o, p), str)]
        for path in places:
            if self.rng.random() < 0.5:
                seeds.put(o, path, name)

    def mutant(self, kind=None):
        rng = self.rng
        kind = kind or rng.choice(self.kinds)
        o = seeds.copy_of(rng.choice(self.by_kind[kind]))
        if rng.random() < 0.5:
            o["metadata"]["name"] = rng.choice(self.names) if rng.random() < 0.8 else f"m{rng.randrange(50)}"
        if o["metadata"]["name"].startswith((HEALTHY, "cpu-0")):
            o["metadata"]["name"] = "x1"
        for _ in range(rng.choice(self.changes)):
            if rng.random() < 0.2:
                self.change_meta(o)
            elif rng.random() < 0.08:
                self.self_reference(o)
            else:
                self.change(o)
        if not isinstance(o.get("metadata"), dict):
            o["metadata"] = {"name": "x1"}
        o["metadata"].pop("namespace", None)
        return o

    def pods_of(self, o):
        """Of the templates in it, as its controller would make them; or as another would."""
        rng, out = self.rng, []
        places = [p for p in seeds.paths_of(o) if p and p[-1] == "template" and isinstance(seeds.get(o, p), dict)]
        for path in rng.sample(places, min(2, len(places))):
            template, name = seeds.copy_of(seeds.get(o, path)), o["metadata"]["name"]
            meta = template.get("metadata") if isinstance(template.get("metadata"), dict) else {}
            labels = meta.get("labels") if isinstance(meta.get("labels"), dict) else {}
            labels.update({k: rng.choice([name, name, "0", "1", "x"]) for k in rng.sample(POD_LABELS, 4)})
            spec = template.get("spec")
            if isinstance(spec, dict) and rng.random() < 0.9:
                spec.setdefault("schedulerName", rng.choice(["capstan", "volcano", "kai-scheduler"]))
            for i in range(rng.choice([1, 2, 3])):
                own = {"name": f"{name}-{i}", "labels": labels, "annotations": meta.get("annotations"),
                       "ownerReferences": [owner(o["apiVersion"], o["kind"], name)]}
                out.append({"apiVersion": "v1", "kind": "Pod", "spec": seeds.copy_of(spec), "metadata": own})
        return out

    # ---- every place, one value after the other ----

    def places(self):
        """(kind, path, value) of the largest seed of each kind, all of them, in the order that the seed of the generator gives"""
        out = []
        for kind in self.kinds:
            best = max(self.by_kind[kind], key=lambda o: sum(1 for _ in seeds.paths_of(o)))
            for path in seeds.paths_of(best):
                if path and path[0] not in ("apiVersion", "kind") and path not in (("metadata",), ("metadata", "name")):
                    out += [(kind, best, path, i) for i in range(len(SWEPT))]
        self.rng.shuffle(out)
        return out

    def swept(self, place, n):
        kind, best, path, i = place
        o = seeds.copy_of(best)
        old = seeds.get(o, path)
        if SWEPT[i] is GONE:
            del seeds.get(o, path[:-1])[path[-1]]
        elif SWEPT[i] == DEEP:
            seeds.put(o, path, json.loads("[" * DEEP + "]" * DEEP))
        elif SWEPT[i] == "many":
            seeds.put(o, path, [old if not isinstance(old, list) or not old else old[0]] * 3000)
        else:
            seeds.put(o, path, SWEPT[i])
        if kind[1] != "ConfigMap":
            o["metadata"]["name"] = f"s{n}"
        o["metadata"].pop("namespace", None)
        return o

    # ---- what is done with them ----

    def operations(self, n):
        """n and some more of (verb, path, name, subresource, body)"""
        rng, made, out = self.rng, [], []
        near = [rng.choice(self.kinds) for _ in range(6)]  # a batch has some kinds more often than others: they meet
        for _ in range(n):
            choice = rng.random()
            if choice < 0.6 or not made:
                o = self.mutant(rng.choice(near) if rng.random() < 0.4 else None)
                path = path_of(o)
                out.append(("POST", path, None, None, o))
                made.append((path, o))
                if rng.random() < 0.25:
                    for pod in self.pods_of(o):
                        out.append(("POST", "/api/v1/namespaces/default/pods", None, None, pod))
                        made.append(("/api/v1/namespaces/default/pods", pod))
                if "status" in o:
                    out.append(("PUT", path, o["metadata"]["name"], "status", o))
                if rng.random() < 0.1:
                    out.append(("DELETE", path, o["metadata"]["name"], None, None))
                    out.append(("POST", path, None, None, o))
                continue
            path, o = rng.choice(made)
            name = o["metadata"]["name"]
            if choice < 0.72:
                new = self.mutant((o["apiVersion"], o["kind"]))
                new["metadata"]["name"] = name
                out.append(("PUT", path, name, None, new))
            elif choice < 0.84:
                new = seeds.copy_of(o)
                self.change(new)
                patch = {k: v for k, v in new.items() if k in ("spec", "data") or (k == "metadata" and rng.random() < 0.5)}
                out.append(("PATCH", path, name, None, patch))
            elif choice < 0.93 and o["kind"] == "Pod" and rng.random() < 0.6:
                phase = rng.choice(["Running", "Succeeded", "Failed", "Pending", "Unknown", "x"])
                out.append(("PATCH", path, name, "status", {"status": {"phase": phase}}))
            elif choice < 0.93:
                shapes = [s for s in self.by_kind[(o["apiVersion"], o["kind"])] if "status" in s]
                status = seeds.copy_of(rng.choice(shapes)["status"]) if shapes else {}
                holder = {"metadata": {}, "status": status}
                self.change(holder, ("status",) if status else ())
                out.append(("PATCH", path, name, "status", {"status": holder.get("status")}))
            else:
                out.append(("DELETE", path, name, None, None))
        return out


def owner(version, kind, name):
    uid = loose_server.uid_of(seeds.plural_of(kind), "default", name)
    return {"apiVersion": version, "kind": kind, "name": name, "controller": True, "uid": uid}


def path_of(o):
    prefix = "/api/v1" if o["apiVersion"] == "v1" else "/apis/" + o["apiVersion"]
    where = next((ns for start, ns in SPACES.items() if o["kind"] == "ConfigMap" and o["metadata"]["name"].startswith(start)), "default")
    return prefix + (f"/namespaces/{where}" if seeds.has_namespace(o) else "") + "/" + seeds.plural_of(o["kind"])
