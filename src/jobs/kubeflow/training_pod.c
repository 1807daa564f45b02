/* training_pod.c - the objects that are made of a job's roles; see training.h */
#include "jobs/batch/pod_template.h"
#include "jobs/controllers.h"
#include "jobs/kubeflow/training.h"

/* The one that the others look for. */
static bool is_leader(const struct training *t, const struct training_role *role)
{
    return strcmp(role->name, "Master") == 0 || strcmp(role->name, "Chief") == 0 ||
           (t->kind->of == &queued_kinds[QUEUED_TFJOB] && !training_role_named(t, "Chief") && !training_role_named(t, "Master") &&
            strcmp(role->name, "Worker") == 0);
}

static void labels_set(struct arena *a, const struct training *t, const struct training_role *role, int64_t i, struct json *labels)
{
    json_set_text(a, labels, TRAINING_JOB_LABEL, t->name);
    json_set_text(a, labels, TRAINING_OPERATOR_LABEL, t->kind->operator_name);
    json_set_text(a, labels, TRAINING_INDEX_LABEL, arena_printf(a, "%lld", (long long)i));
    if (training_is_mpi(t))
        json_set_text(a, labels, TRAINING_PART_LABEL, role->lower);
    else
        json_set_text(a, labels, TRAINING_ROLE_LABEL, role->lower);
}

static int64_t port_of(const struct training *t, const struct training_role *role)
{
    JSON_EACH (container, json_path(role->spec, "template", "spec", "containers", NULL))
        JSON_EACH (port, json_get(container, "ports"))
            if (strcmp(json_get_text(port, "name", ""), t->kind->port_name) == 0)
                return json_get_int64(port, "containerPort", t->kind->port);
    return t->kind->port;
}

static void add_port(struct arena *a, const struct training *t, const struct training_role *role, struct json *pod_spec)
{
    struct json *port = json_new(a, JSON_OBJECT), *to = NULL;
    JSON_EACH (container, json_get(pod_spec, "containers")) {
        to = to && strcmp(json_get_text(container, "name", ""), t->kind->of->container) != 0 ? to : container;
        JSON_EACH (known, json_get(container, "ports"))
            if (strcmp(json_get_text(known, "name", ""), t->kind->port_name) == 0)
                return;
    }
    if (!to)
        return;
    json_set_text(a, port, "name", t->kind->port_name);
    json_set_int64(a, port, "containerPort", port_of(t, role));
    json_append(json_ensure_array(a, to, "ports"), port);
}

struct json *training_pod(struct arena *a, const struct training *t, const struct training_role *role, int64_t i)
{
    struct json *pod = pod_named_from_template(a, json_get(role->spec, "template"), t->job, training_api_version(a, t), t->kind->of->kind,
                                               training_pod_name(a, t, role, i));
    struct json *labels = json_ensure_object(a, json_get(pod, "metadata"), "labels"), *spec = json_get(pod, "spec");
    labels_set(a, t, role, i, labels);
    if (!training_is_mpi(t) && is_leader(t, role) && i == 0)
        json_set_text(a, labels, TRAINING_PART_LABEL, "master");
    if (t->gang)
        json_set_text(a, labels, "scheduling.x-k8s.io/pod-group", t->name);
    json_set_text(a, spec, "restartPolicy", training_restarts(t, role));
    if (training_is_mpi(t)) {
        mpi_worker(a, t, i, pod);
        return pod;
    }
    add_port(a, t, role, spec);
    training_env(a, t, role, i, spec);
    return pod;
}

static struct json *object_new(struct arena *a, const struct training *t, const char *api_version, const char *kind, const char *name)
{
    return job_object(a, t->job, job_owner(a, t->job, training_api_version(a, t), t->kind->of->kind), api_version, kind, name);
}

struct json *training_service(struct arena *a, const struct training *t, const struct training_role *role, int64_t i)
{
    struct json *service = object_new(a, t, "v1", "Service", training_pod_name(a, t, role, i)),
                *spec = json_ensure_object(a, service, "spec"), *port = json_new(a, JSON_OBJECT);
    labels_set(a, t, role, i, json_ensure_object(a, json_get(service, "metadata"), "labels"));
    labels_set(a, t, role, i, json_ensure_object(a, spec, "selector"));
    json_set_text(a, spec, "clusterIP", "None");
    json_set_text(a, port, "name", t->kind->port_name);
    json_set_int64(a, port, "port", port_of(t, role));
    json_append(json_ensure_array(a, spec, "ports"), port);
    return service;
}

/* The launcher that waits for the workers is none of those who start together: they would wait for it. */
struct json *training_gang(struct arena *a, const struct training *t)
{
    struct json *group = object_new(a, t, "scheduling.x-k8s.io/v1alpha1", "PodGroup", t->name),
                *spec = json_ensure_object(a, group, "spec"), *resources = json_new(a, JSON_OBJECT);
    const struct json *policy = json_path(t->job, "spec", "runPolicy", "schedulingPolicy", NULL), *own = json_get(policy, "minResources");
    int64_t members = 0;
    for (uint32_t i = 0; i < t->roles_n; i++) {
        if (training_is_mpi(t) && training_waits_for_workers(t) && strcmp(t->roles[i].name, "Launcher") == 0)
            continue;
        members += t->roles[i].replicas;
        job_requests_add(a, resources, json_path(t->roles[i].spec, "template", "spec", NULL), t->roles[i].replicas);
    }
    int64_t fewest = json_get_int64(policy, "minAvailable", members);
    json_set_int64(a, spec, "minMember", fewest < 1 ? 1 : fewest < members || members < 1 ? fewest : members);
    json_set(a, spec, "minResources", own ? json_clone(a, own) : resources);
    if (json_get(policy, "scheduleTimeoutSeconds"))
        json_set(a, spec, "scheduleTimeoutSeconds", json_clone(a, json_get(policy, "scheduleTimeoutSeconds")));
    return group;
}
