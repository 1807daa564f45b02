"""seeds.py - every manifest of this repository: files, blocks of documents, what test scripts pipe into kubectl"""
import copy
import json
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CLUSTER_KINDS = {"Node", "Namespace", "PersistentVolume", "PriorityClass", "ClusterQueue", "Cohort", "ResourceFlavor", "Topology",
                 "AdmissionCheck", "WorkloadPriorityClass", "MultiKueueConfig", "MultiKueueCluster", "ProvisioningRequestConfig",
                 "HyperNode", "NodePool", "NodeClaim", "StorageClass", "RuntimeClass", "ClusterTrainingRuntime", "ClusterRole",
                 "ClusterRoleBinding", "IngressClass",
                 "CustomResourceDefinition", "APIService", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
                 "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "FlowSchema", "PriorityLevelConfiguration", "CSIDriver"}
CLUSTER_QUEUES = {"scheduling.volcano.sh", "scheduling.run.ai"}  # groups whose Queues have no namespace
# They would end the cluster that is tried rather than try it.
LEFT_OUT = {"CustomResourceDefinition", "APIService", "Namespace", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
            "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}


def group_of(o):
    return o["apiVersion"].rpartition("/")[0]


def plural_of(kind):
    small = kind.lower()
    if small.endswith("endpoints"):
        return small
    if small.endswith("y") and small[-2] not in "aeiou":
        return small[:-1] + "ies"
    return small + ("es" if small.endswith(("s", "ch")) else "s")


def has_namespace(o):
    return o["kind"] not in CLUSTER_KINDS and not (o["kind"] == "Queue" and group_of(o) in CLUSTER_QUEUES)


def is_object(o):
    return (isinstance(o, dict) and isinstance(o.get("apiVersion"), str) and isinstance(o.get("kind"), str)
            and re.match(r"^[A-Z]\w+$", o["kind"]) and isinstance(o.get("metadata", {}), dict)
            and re.match(r"^([a-z0-9.-]+/)?v\d\w*$", o["apiVersion"]))


def documents(text):
    for document in re.split(r"(?m)^---.*$", text):
        if "kind" not in document:
            continue
        try:
            o = yaml.load(document, Loader=Loader)  # noqa: S506, a safe loader
        except (yaml.YAMLError, ValueError):
            continue
        for one in o if isinstance(o, list) else o["items"] if isinstance(o, dict) and isinstance(o.get("items"), list) else [o]:
            if is_object(one):
                yield one


def texts():
    for folder, pattern in (("examples", "*.yaml"), ("deploy", "*.yaml"), ("tests", "*.yaml"), ("bench", "*.yaml")):
        for path in sorted((ROOT / folder).rglob(pattern)):
            if path.name != "crds.yaml":
                yield path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").rglob("*.md")):
        yield from re.findall(r"(?ms)^```\w*\n(.*?)^```", path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "tests").rglob("*.sh")):
        for _, text in re.findall(r"(?ms)<<-?['\"]?(\w+)['\"]?[^\n]*\n(.*?)^\s*\1$", path.read_text(encoding="utf-8")):
            yield re.sub(r"\$\(\w[^()]*\)|\$\{\w[^}]*\}|\$\w+", "x1", text.replace("WORK", "work"))


def load():
    """All of them, each once, with names as the server wants them; in a set order."""
    found, seen = [], set()
    for text in texts():
        for o in documents(text):
            o = json.loads(json.dumps(o, default=str))
            meta = o.setdefault("metadata", {})
            if o["kind"] in LEFT_OUT or o["kind"].endswith("List"):
                continue
            for name in ("namespace", "generateName", "managedFields", "resourceVersion", "uid"):
                meta.pop(name, None)
            if not isinstance(meta.get("name"), str):
                meta["name"] = "x1"
            shape = json.dumps(o, sort_keys=True)
            if shape not in seen:
                seen.add(shape)
                found.append(o)
    return found


def paths_of(o, at=()):
    """Of all that is in it, itself first."""
    yield at
    for key, value in o.items() if isinstance(o, dict) else enumerate(o) if isinstance(o, list) else ():
        yield from paths_of(value, (*at, key))


def get(o, path):
    for step in path:
        o = o[step]
    return o


def put(o, path, value):
    get(o, path[:-1])[path[-1]] = value


def copy_of(o):
    return copy.deepcopy(o)
