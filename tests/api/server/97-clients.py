"""97-clients.py - what programs written with the official Python client do; one TAP-like line a check"""
import json
import logging
import sys
import threading
import time
import uuid

from kubernetes import client, config, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

NS = sys.argv[1]
logging.disable(logging.CRITICAL)
config.load_kube_config()
core, batch, apps = client.CoreV1Api(), client.BatchV1Api(), client.AppsV1Api()
custom, extensions = client.CustomObjectsApi(), client.ApiextensionsV1Api()


def check(what, fn):
    try:
        problem = fn()
        print(f"not ok {what}\n#   {problem}" if problem else f"ok {what}", flush=True)
    except Exception as e:  # a test goes on after a failure
        print(f"not ok {what}\n#   {type(e).__name__}: {str(e)[:600]!r}", flush=True)


def soon(fn):
    """What fn returns when that is true, or after a minute."""
    for _ in range(300):
        if got := fn():
            return got
        time.sleep(0.2)
    return fn()


def pod(name, **labels):
    container = client.V1Container(name="main", image="busybox", command=["sleep", "1"],
                                   resources=client.V1ResourceRequirements(requests={"cpu": "10m"}))
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name, labels=labels or None),
                        spec=client.V1PodSpec(containers=[container], restart_policy="Never"))


def refused(status, fn, *args, **kw):
    try:
        fn(*args, **kw)
    except ApiException as e:
        return None if e.status == status else f"{e.status} {e.body}"
    return "was accepted"


def version():
    info = client.VersionApi().get_code()
    return None if int(info.major) >= 1 else info


def apis():
    names = {g.name for g in client.ApisApi().get_api_versions().groups}
    return None if {"apps", "batch", "rbac.authorization.k8s.io"} <= names else names


def pod_lifecycle():
    made = core.create_namespaced_pod(NS, pod("p1", app="py"))
    got = core.read_namespaced_pod("p1", NS)
    if got.metadata.uid != made.metadata.uid or not got.metadata.creation_timestamp.tzinfo:
        return got.metadata
    names = [p.metadata.name for p in core.list_namespaced_pod(NS, label_selector="app in (py)").items]
    return None if names == ["p1"] else names


def patches():
    core.patch_namespaced_pod("p1", NS, {"metadata": {"labels": {"a": "1"}, "annotations": {"x": "y"}}})
    core.patch_namespaced_pod("p1", NS, [{"op": "remove", "path": "/metadata/annotations/x"}])
    got = core.read_namespaced_pod("p1", NS).metadata
    return None if got.labels["a"] == "1" and not (got.annotations or {}).get("x") else got


def replace_conflict():
    core.create_namespaced_config_map(NS, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="c"), data={"a": "1"}))
    old, new = core.read_namespaced_config_map("c", NS), core.read_namespaced_config_map("c", NS)
    new.data["a"] = "2"
    core.replace_namespaced_config_map("c", NS, new)
    old.data["a"] = "3"
    return refused(409, core.replace_namespaced_config_map, "c", NS, old)


def errors():
    return (refused(404, core.read_namespaced_pod, "none", NS) or refused(409, core.create_namespaced_pod, NS, pod("p1"))
            or refused(422, core.create_namespaced_pod, NS, pod("Not_A_Name")))


def paging():
    for i in range(7):
        core.create_namespaced_config_map(NS, client.V1ConfigMap(metadata=client.V1ObjectMeta(name=f"page-{i}", labels={"page": "y"})))
    seen, token = [], None
    while True:
        part = core.list_namespaced_config_map(NS, label_selector="page=y", limit=3, _continue=token)
        seen += [c.metadata.name for c in part.items]
        token = part.metadata._continue
        if not token:
            return None if seen == [f"page-{i}" for i in range(7)] else seen


def watching():
    events = []

    def look():
        w = watch.Watch()
        for e in w.stream(core.list_namespaced_config_map, NS, label_selector="w=y", timeout_seconds=60):
            events.append((e["type"], e["object"].metadata.name))
            if e["type"] == "DELETED":
                w.stop()

    def make(name):
        core.create_namespaced_config_map(NS, client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"w": "y"})))

    make("w0")
    t = threading.Thread(target=look)
    t.start()
    soon(lambda: events) # it watches
    make("w1")
    core.patch_namespaced_config_map("w1", NS, {"data": {"k": "v"}})
    core.delete_namespaced_config_map("w1", NS)
    t.join(90)
    return None if events == [("ADDED", "w0"), ("ADDED", "w1"), ("MODIFIED", "w1"), ("DELETED", "w1")] else events


def watch_list():
    """What newer clients do: a list as the first events of a watch, with a bookmark at its end."""
    answer = core.api_client.call_api(
        f"/api/v1/namespaces/{NS}/configmaps", "GET", auth_settings=["BearerToken"], _preload_content=False,
        query_params=[("watch", "true"), ("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"),
                      ("allowWatchBookmarks", "true"), ("timeoutSeconds", "2"), ("labelSelector", "page=y")])[0]
    events = [json.loads(line) for line in answer.data.decode().splitlines() if line]
    kinds = [e["type"] for e in events]
    end = events[7]["object"]["metadata"].get("annotations", {}).get("k8s.io/initial-events-end") if len(events) > 7 else None
    return None if kinds[:8] == ["ADDED"] * 7 + ["BOOKMARK"] and end == "true" else (kinds, end)


def job():
    template = client.V1PodTemplateSpec(spec=pod("x").spec)
    made = batch.create_namespaced_job(NS, client.V1Job(metadata=client.V1ObjectMeta(name="j"),
                                                 spec=client.V1JobSpec(template=template, completions=2, parallelism=2)))
    if made.status is None:
        return "a new job has no status to read through"
    if "EMBEDDED" not in sys.argv:
        return None
    def completed():
        status = batch.read_namespaced_job_status("j", NS).status
        return status.succeeded == 2 and status.completion_time

    return None if soon(completed) else batch.read_namespaced_job_status("j", NS).status


def logs():
    return None if isinstance(core.read_namespaced_pod_log("p1", NS), str) else "no text"


def deployment_scale():
    labels = {"app": "d"}
    template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(
        containers=[client.V1Container(name="c", image="nginx")]))
    apps.create_namespaced_deployment(NS, client.V1Deployment(metadata=client.V1ObjectMeta(name="d"), spec=client.V1DeploymentSpec(
        replicas=1, selector=client.V1LabelSelector(match_labels=labels), template=template)))
    apps.patch_namespaced_deployment_scale("d", NS, {"spec": {"replicas": 2}})
    scale = apps.read_namespaced_deployment_scale("d", NS)
    apps.delete_namespaced_deployment("d", NS, propagation_policy="Foreground")
    return None if scale.spec.replicas == 2 else scale


def custom_objects():
    group = f"t{uuid.uuid4().hex[:8]}.example.com"
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer", "minimum": 1}}}, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}
    extensions.create_custom_resource_definition({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}]}})
    soon(lambda: any(c.type == "Established" and c.status == "True" for c in
                     extensions.read_custom_resource_definition(f"widgets.{group}").status.conditions or []))
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    at = (group, "v1", NS, "widgets")
    try:
        custom.create_namespaced_custom_object(*at, body)
        problem = refused(422, custom.create_namespaced_custom_object, *at, {**body, "metadata": {"name": "x"}, "spec": {"size": 0}})
        custom.patch_namespaced_custom_object(*at, "w", {"spec": {"size": 4}})
        custom.patch_namespaced_custom_object_status(*at, "w", {"status": {"ready": True}})
        got = custom.get_namespaced_custom_object(*at, "w")
        listed = custom.list_namespaced_custom_object(*at)["items"]
        custom.delete_namespaced_custom_object(*at, "w")
        if problem:
            return problem
        return None if got["spec"]["size"] == 4 and got["status"]["ready"] and len(listed) == 1 else got
    finally:
        extensions.delete_custom_resource_definition(f"widgets.{group}")


def leader():
    """Two candidates: one leads, the other follows when the first lets go."""
    led = []

    class Enough(BaseException):
        pass

    def lead(name):
        def started():
            led.append(name)
        lock = ConfigMapLock("lock", NS, name)
        try:
            leaderelection.LeaderElection(electionconfig.Config(lock, lease_duration=60, renew_deadline=40, retry_period=1,
                                                                onstarted_leading=started, onstopped_leading=None)).run()
        except Enough:
            pass

    for name in ("one", "two"):
        threading.Thread(target=lead, args=(name,), daemon=True).start()
        soon(lambda: led)
    time.sleep(3) # the other asks each second
    record = core.read_namespaced_config_map("lock", NS).metadata.annotations or {}
    return None if led == ["one"] and '"one"' in "".join(record.values()) else (led, record)


def yaml_file():
    utils.create_from_dict(client.ApiClient(), {"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "from-list"}, "data": {"a": "b"}}]}, namespace=NS)
    return None if core.read_namespaced_config_map("from-list", NS).data == {"a": "b"} else "not there"


def delete_collection():
    core.delete_collection_namespaced_config_map(NS, label_selector="page=y")
    left = core.list_namespaced_config_map(NS, label_selector="page=y").items
    core.delete_namespaced_pod("p1", NS, grace_period_seconds=0)
    return f"{len(left)} left" if left else refused(404, core.read_namespaced_pod, "p1", NS)


def review():
    spec = client.V1SelfSubjectAccessReviewSpec(resource_attributes=client.V1ResourceAttributes(verb="list", resource="pods", namespace=NS))
    answer = client.AuthorizationV1Api().create_self_subject_access_review(client.V1SelfSubjectAccessReview(spec=spec))
    return None if answer.status.allowed else answer.status


for name, fn in (("version", version), ("groups", apis), ("pod: create, read, list", pod_lifecycle), ("merge and JSON patches", patches),
                 ("a conflict", replace_conflict), ("errors by status", errors), ("pages", paging), ("watch", watching),
                 ("a list as a watch", watch_list), ("job", job), ("log", logs), ("scale", deployment_scale),
                 ("custom objects", custom_objects), ("leader election", leader), ("objects of a List", yaml_file),
                 ("access review", review), ("delete a collection", delete_collection)):
    check(name, fn)
