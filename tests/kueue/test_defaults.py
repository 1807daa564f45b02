"""test_defaults.py - what jobs, sets and pods that name a queue are made with: the same by our server and by a real kube-apiserver

The real server (KUBE_APISERVER and ETCD name the programs) gets deploy/crds.yaml and deploy/kueue-defaults.yaml. Where it has no policies
that change objects (Kubernetes 1.33 has them behind a gate, 1.36 without) it is left out. BUILD: the build folder. One TAP line a case and
server.
"""
import json
import os
import sys
import time

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
DEPLOY = os.path.join(HERE, "../../deploy")
sys.path.insert(0, os.path.dirname(HERE))
import real_server  # noqa: E402

QUEUE, CLASS, BY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class", "kueue.x-k8s.io/pod-suspending-parent"
SERVES = "kueue.x-k8s.io/pod-group-serving"
POLICIES = "/apis/admissionregistration.k8s.io"
# Definitions of others, as far as these cases need them.
OTHERS = [("jobset.x-k8s.io", "v1alpha2", "JobSet"), ("trainer.kubeflow.org", "v1alpha1", "TrainJob"), ("kubeflow.org", "v2beta1", "MPIJob"),
          ("kubeflow.org", "v1", "PyTorchJob"), ("kubeflow.org", "v1", "TFJob"), ("kubeflow.org", "v1", "XGBoostJob"),
          ("kubeflow.org", "v1", "JAXJob"), ("kubeflow.org", "v1", "PaddleJob"), ("ray.io", "v1", "RayJob"), ("ray.io", "v1", "RayCluster"),
          ("ray.io", "v1", "RayService"), ("sparkoperator.k8s.io", "v1beta2", "SparkApplication"),
          ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet")]
POD = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
OWNER = {"apiVersion": "example.com/v1", "name": "o", "uid": "1-2-3", "controller": True}


def template(container="c", **metadata):
    return {**({"metadata": metadata} if metadata else {}), "spec": {"containers": [{"name": container, "image": "i"}]}}


def kubeflow(field, role, **policy):
    container = {"xgbReplicaSpecs": "xgboost", "tfReplicaSpecs": "tensorflow"}.get(field, field.removesuffix("ReplicaSpecs"))
    return {field: {role: {"replicas": 1, "template": template(container)}}, **({"runPolicy": policy} if policy else {})}


JOB = {"template": {"spec": POD}}
SETS = {"selector": {"matchLabels": {"a": "b"}}, "template": template(labels={"a": "b"})}
LWS = {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "leaderTemplate": template(), "workerTemplate": template(labels={"a": "b"}, annotations={"c": "d"})}}
ALONE = {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template()}}
RAY = {"headGroupSpec": {"rayStartParams": {}, "template": template()}}
LABEL = QUEUE.replace(".", "\\.")
RUNTIME = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "r"},
           "spec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": JOB}}]}}}}
ROLES = [("kubeflow.org/v1", "PyTorchJob", "pytorchReplicaSpecs", "Worker"), ("kubeflow.org/v1", "TFJob", "tfReplicaSpecs", "Worker"),
         ("kubeflow.org/v1", "XGBoostJob", "xgbReplicaSpecs", "Master"), ("kubeflow.org/v1", "JAXJob", "jaxReplicaSpecs", "Worker"),
         ("kubeflow.org/v1", "PaddleJob", "paddleReplicaSpecs", "Worker"), ("kubeflow.org/v2beta1", "MPIJob", "mpiReplicaSpecs", "Launcher")]
TAKEN, HELD = {"kueue.x-k8s.io/managed": "true"}, [{"name": "kueue.x-k8s.io/admission"}]
# What, apiVersion, kind, metadata, spec, and what is found where.
CASES = [
    ("a Job that names a queue", "batch/v1", "Job", {"labels": {QUEUE: "q"}}, JOB, {"spec.suspend": True}),
    ("a Job that says that it is not suspended", "batch/v1", "Job", {"labels": {QUEUE: "q"}}, {**JOB, "suspend": False}, {"spec.suspend": True}),
    ("a Job without a queue", "batch/v1", "Job", {}, JOB, {"spec.suspend": False}),
    ("a JobSet", "jobset.x-k8s.io/v1alpha2", "JobSet", {"labels": {QUEUE: "q"}},
     {"replicatedJobs": [{"name": "w", "template": {"spec": JOB}}]}, {"spec.suspend": True}),
    ("a TrainJob", "trainer.kubeflow.org/v1alpha1", "TrainJob", {"labels": {QUEUE: "q"}}, {"runtimeRef": {"name": "r"}}, {"spec.suspend": True}),
    *[(f"a {kind} without a policy", version, kind, {"labels": {QUEUE: "q"}}, kubeflow(field, role), {"spec.runPolicy.suspend": True})
      for version, kind, field, role in ROLES],
    *[(f"a {kind} with one", version, kind, {"labels": {QUEUE: "q"}}, kubeflow(field, role, backoffLimit=3),
       {"spec.runPolicy.suspend": True, "spec.runPolicy.backoffLimit": 3}) for version, kind, field, role in ROLES[:1]],
    ("a RayJob", "ray.io/v1", "RayJob", {"labels": {QUEUE: "q"}}, {"rayClusterSpec": RAY}, {"spec.suspend": True}),
    ("a RayCluster", "ray.io/v1", "RayCluster", {"labels": {QUEUE: "q"}}, RAY, {"spec.suspend": True}),
    ("a RayService", "ray.io/v1", "RayService", {"labels": {QUEUE: "q"}}, {"rayClusterConfig": RAY}, {"spec.rayClusterConfig.suspend": True}),
    ("a RayCluster of a RayJob", "ray.io/v1", "RayCluster", {"labels": {QUEUE: "q"}, "ownerReferences": [{**OWNER, "kind": "RayJob"}]}, RAY,
     {"spec.suspend": None}),
    ("a SparkApplication", "sparkoperator.k8s.io/v1beta2", "SparkApplication", {"labels": {QUEUE: "q"}}, {"type": "Python"}, {"spec.suspend": True}),
    ("a Deployment", "apps/v1", "Deployment", {"labels": {QUEUE: "q", CLASS: "c"}}, SETS,
     {"spec.template.metadata.labels": {"a": "b", QUEUE: "q", CLASS: "c"}, "spec.template.metadata.annotations": {BY: "deployment"}}),
    ("a Deployment without a queue", "apps/v1", "Deployment", {}, SETS, {"spec.template.metadata.labels": {"a": "b"}}),
    ("a StatefulSet", "apps/v1", "StatefulSet", {"labels": {QUEUE: "q"}}, SETS,
     {"spec.template.metadata.labels": {"a": "b"}, "spec.template.metadata.annotations": {BY: "statefulset"}}),
    ("a LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"labels": {QUEUE: "q", CLASS: "c"}}, LWS,
     {"spec.leaderWorkerTemplate.leaderTemplate.metadata.labels": {QUEUE: "q", CLASS: "c"},
      "spec.leaderWorkerTemplate.leaderTemplate.metadata.annotations": {BY: "leaderworkerset.x-k8s.io/leaderworkerset", SERVES: "true"},
      "spec.leaderWorkerTemplate.workerTemplate.metadata.labels": {"a": "b", QUEUE: "q", CLASS: "c"},
      "spec.leaderWorkerTemplate.workerTemplate.metadata.annotations": {"c": "d", BY: "leaderworkerset.x-k8s.io/leaderworkerset", SERVES: "true"}}),
    ("a LeaderWorkerSet without a leader's template", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"labels": {QUEUE: "q"}}, ALONE,
     {"spec.leaderWorkerTemplate.leaderTemplate": None, "spec.leaderWorkerTemplate.workerTemplate.metadata.labels": {QUEUE: "q"}}),
    ("a StatefulSet of a LeaderWorkerSet", "apps/v1", "StatefulSet", {"labels": {QUEUE: "q"}},
     {**SETS, "template": template(labels={"a": "b"}, annotations={BY: "leaderworkerset.x-k8s.io/leaderworkerset"})},
     {"spec.template.metadata.annotations": {BY: "leaderworkerset.x-k8s.io/leaderworkerset"}}),
    ("a pod", "v1", "Pod", {"labels": {QUEUE: "q"}}, POD, {"metadata.labels": {QUEUE: "q", **TAKEN}, "spec.schedulingGates": HELD}),
    ("a pod with a gate of its own", "v1", "Pod", {"labels": {QUEUE: "q"}}, {**POD, "schedulingGates": [{"name": "a"}]},
     {"spec.schedulingGates": [{"name": "a"}, *HELD]}),
    ("a pod that is held already", "v1", "Pod", {"labels": {QUEUE: "q"}}, {**POD, "schedulingGates": HELD}, {"spec.schedulingGates": HELD}),
    ("a pod of a set, without labels", "v1", "Pod", {"annotations": {BY: "statefulset"}, "ownerReferences": [{**OWNER, "kind": "StatefulSet"}]}, POD,
     {"metadata.labels": TAKEN, "spec.schedulingGates": HELD}),
    ("a pod of a job", "v1", "Pod", {"labels": {QUEUE: "q"}, "ownerReferences": [{**OWNER, "kind": "Job"}]}, POD, {"spec.schedulingGates": None}),
    ("a pod without a queue", "v1", "Pod", {"labels": {"a": "b"}}, POD, {"metadata.labels": {"a": "b"}, "spec.schedulingGates": None}),
]
# In a namespace that has a LocalQueue "default".
DEFAULTS = [
    ("a Job without a queue", "batch/v1", "Job", {}, JOB, {"metadata.labels." + LABEL: "default", "spec.suspend": True}),
    ("a Job in another queue", "batch/v1", "Job", {"labels": {QUEUE: "q"}}, JOB, {"metadata.labels." + LABEL: "q", "spec.suspend": True}),
    ("a Job of another object", "batch/v1", "Job", {"ownerReferences": [{**OWNER, "kind": "Other"}]}, JOB, {"spec.suspend": False}),
    ("a Deployment without a queue", "apps/v1", "Deployment", {}, SETS, {"spec.template.metadata.labels": {"a": "b", QUEUE: "default"}}),
]
ONLY_REAL = ("RayJob", "RayCluster", "RayService", "SparkApplication")  # `capstan up` stops them when it sees them


def at(o, path):
    for step in path.replace("\\.", "\0").split("."):
        o = o.get(step.replace("\0", ".")) if isinstance(o, dict) else None
    return o


def make(server, case, ns, name, query=""):
    _, version, kind, metadata, spec, _ = case
    path = ("/api/" if "/" not in version else "/apis/") + version + f"/namespaces/{ns}/{kind.lower()}s"
    return server.call("POST", path + query, {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec})


def table(check, of, server, ns, cases):
    for number, case in enumerate(cases):
        what, _, kind, _, _, wanted = case
        if of == "ours" and kind in ONLY_REAL:
            continue
        status, answer = make(server, case, ns, f"t{number}")
        got = {path: at(answer, path) for path in wanted}
        check(status == 201 and got == wanted, f"{of}: {what}" + (", where the namespace has a default queue" if ns != "default" else ""),
              f"{status} {json.dumps(got if status == 201 else answer)}, wanted {wanted}")


def prepare(server):
    server.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "defaults"}})
    for _ in range(100):
        status, _ = server.call("POST", "/apis/kueue.x-k8s.io/v1beta2/namespaces/defaults/localqueues", {
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "default"}, "spec": {"clusterQueue": "c"}})
        if status in (201, 409):
            return
        time.sleep(0.1)


def definition(group, version, kind):
    plural = kind.lower() + "s"
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
                     "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def policies(server):
    """The policies as this server has them: its newest version of them; None: it has none."""
    for version in ("v1", "v1beta1", "v1alpha1"):
        _, answer = server.call("GET", f"{POLICIES}/{version}")
        if any(r["name"] == "mutatingadmissionpolicies" for r in answer.get("resources", [])):
            return version
    return None


def install(server, version):
    server.apply(os.path.join(DEPLOY, "crds.yaml"))
    for group, v, kind in OTHERS:
        status, answer = server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(group, v, kind))
        assert status in (201, 409), answer
    with open(os.path.join(DEPLOY, "kueue-defaults.yaml"), encoding="utf-8") as f:
        for o in yaml.safe_load_all(f):
            o["apiVersion"] = "admissionregistration.k8s.io/" + version
            plural = {"MutatingAdmissionPolicy": "mutatingadmissionpolicies"}.get(o["kind"], "mutatingadmissionpolicybindings")
            status, answer = server.call("POST", f"{POLICIES}/{version}/{plural}", o)
            assert status == 201, answer


def in_force(server):
    """Policies come into force a moment after they were made; definitions, too."""
    probes = [(CASES[0], "default"), (DEFAULTS[0], "defaults"),
              *((c, "default") for c in CASES if c[2] in ("StatefulSet", "JobSet", "Pod", "RayJob"))]
    end = time.monotonic() + 60
    while time.monotonic() < end:
        answers = [make(server, case, ns, "probe", "?dryRun=All") for case, ns in probes]
        if all(status == 201 and all(at(answer, p) == v for p, v in case[5].items() if v) for (status, answer), (case, _) in zip(answers, probes)):
            return True
        time.sleep(0.3)
    return False


def ours(check):
    server = real_server.Embedded(os.environ.get("BUILD", "build"))
    try:
        assert server.ready(), server.said()
        prepare(server)
        server.call("POST", "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes", RUNTIME)
        table(check, "ours", server, "default", CASES)
        table(check, "ours", server, "defaults", DEFAULTS)
    finally:
        server.close()


def real(check):
    """Returns why it is left out."""
    if not real_server.API or not real_server.ETCD:
        return "none, or no etcd: KUBE_APISERVER and ETCD name them"
    server = real_server.Kubernetes("--feature-gates=MutatingAdmissionPolicy=true", "--runtime-config=api/all=true")
    try:
        if not server.ready():
            return "does not start: " + server.said()
        version = policies(server)
        if not version:
            return "has no policies that change objects"
        install(server, version)
        prepare(server)
        check(in_force(server), "the policies come into force on a real kube-apiserver")
        table(check, "real", server, "default", CASES)
        table(check, "real", server, "defaults", DEFAULTS)
    finally:
        server.close()
    return None


def main():
    check = real_server.Checks()
    ours(check)
    why = real(check)
    if why:
        check.n += 1
        print(f"ok {check.n} - a real kube-apiserver # SKIP {why}")
    print(f"1..{check.n}")
    return 1 if check.failed else 0


sys.exit(main())
