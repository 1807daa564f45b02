/* what_if_objects.c - see what_if_objects.h */
#include "cli/sim/what_if_objects.h"
#include <stdio.h>
#include "base/amount.h"
#include "base/file.h"
#include "cli/sim/what_if_pods.h"
#include "codec/admission/admission.h"
#include "codec/decode/decode.h"
#include "codec/kinds/kind.h"
#include "jobs/kueue/kueue_kind.h"
#include "jobs/kueue/sets/kueue_set.h"
#include "kube/object.h"
#include "wire/yaml.h"

#define APPLY "application/apply-patch+yaml"
enum { FILE_BYTES_MAX = 16 << 20 }; /* manifests are texts that people write */

struct reading {
    struct connection *c;
    struct arena *a;
    struct kind_table *kinds;
    const struct json *documents;
    struct json *objects;
};

static const char *group_of(struct arena *a, const char *api_version)
{
    const char *slash = strchr(api_version, '/');
    return slash ? arena_text_n(a, api_version, (size_t)(slash - api_version)) : "";
}

/* Where it is, or will be. NULL: it is of no kind that is known, or has no name. */
static const char *path_of(const struct reading *x, const struct json *document, struct err *e)
{
    const char *version = json_get_text(document, "apiVersion", ""), *kind = json_get_text(document, "kind", ""),
               *slash = strchr(version, '/'), *group = group_of(x->a, version), *generated = admission_generated_name(x->a, document),
               *name = *generated ? generated : object_meta(document, "name"), *ns = object_meta(document, "namespace");
    const struct kind *k = kind_find_kind(x->kinds, group, kind);
    const struct queued_kind *job = queued_kind_of_owner(document); /* also kinds of operators, which the server has from them */
    if (!k && !job)
        (void)err_set(e, E_INVALID, "kind \"%s\" of apiVersion \"%s\" is not known", kind, version);
    else if (!*name)
        (void)err_set(e, E_INVALID, "%s: metadata.name: say how it is called", kind);
    if ((!k && !job) || !*name)
        return NULL;
    const char *where = job || k->flags & KIND_NAMESPACED ? (*ns ? ns : x->c->ns) : NULL;
    return kube_path(x->a, group, slash ? slash + 1 : version, k ? k->plural : job->plural, where, name, NULL);
}

/* As the server would store it. */
static struct json *applied(struct reading *x, const struct json *document, const char *path, struct err *e)
{
    return connection_send(x->c, x->a, "PATCH", arena_printf(x->a, "%s?dryRun=All&fieldManager=capstan-what-if&force=true", path), APPLY,
                           document, e);
}

/* SOURCE Kueue: by its own class, else by that of its pods. False: there is no such class. */
static bool add_priority(struct reading *x, const struct queued_kind *k, const struct json *job, struct json *spec, struct err *e)
{
    const char *own = object_label(job, KUEUE_PRIORITY_LABEL), *name = *own ? own : kueue_priority_class(k, job, json_get(spec, "podSets"));
    const char *path = *own ? kube_path(x->a, "kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", NULL, name, NULL)
                            : kube_path(x->a, "scheduling.k8s.io", "v1", "priorityclasses", NULL, name, NULL);
    const struct json *class = *name ? connection_get(x->c, x->a, path, e) : NULL;
    json_set_int64(x->a, spec, "priority", json_get_int64(class, "value", 0));
    return !*name || class;
}

/* Of a TrainJob; also of one that is in the file itself. NULL: it is nowhere. */
static const struct json *runtime_of(struct reading *x, const struct json *job)
{
    const struct json *ref = json_path(job, "spec", "runtimeRef", NULL);
    const char *name = json_get_text(ref, "name", ""), *kind = json_get_text(ref, "kind", "ClusterTrainingRuntime");
    bool of_namespace = text_equal(kind, "TrainingRuntime");
    struct err e = {0};
    JSON_EACH (document, x->documents)
        if (text_equal(json_get_text(document, "kind", ""), kind) && text_equal(object_meta(document, "name"), name))
            return document;
    return *name ? connection_get(x->c, x->a,
                                  kube_path(x->a, "trainer.kubeflow.org", "v1alpha1",
                                            of_namespace ? "trainingruntimes" : "clustertrainingruntimes",
                                            of_namespace ? object_meta(job, "namespace") : NULL, name, NULL),
                                  &e)
                 : NULL;
}

static struct json *pod_sets_of(struct reading *x, const struct queued_kind *k, const struct json *job, struct err *e)
{
    const char *why = "its pods cannot be said";
    struct json *sets = k == &queued_kinds[QUEUED_TRAINJOB] ? kueue_trainjob_pod_sets(x->a, job, runtime_of(x, job), &why)
                                                            : kueue_kind_of(k)->pod_sets(NULL, x->a, k, job, &why);
    if (!sets)
        (void)err_set(e, E_INVALID, "%s %s: %s", k->kind, object_meta(job, "name"), why);
    return sets;
}

/* SOURCE Kueue: what it makes of a job. NULL: it cannot be said. */
static struct json *workload_of(struct reading *x, const struct queued_kind *k, const struct json *job, struct err *e)
{
    struct arena *a = x->a;
    struct json *workload = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, workload, "metadata"),
                *spec = json_ensure_object(a, workload, "spec"), *sets = pod_sets_of(x, k, job, e);
    static const char *const same[] = {"name", "namespace", "uid", "creationTimestamp"};
    const struct kueue_kind *kind = kueue_kind_of(k);
    const char *later = k == &queued_kinds[QUEUED_TRAINJOB] ? kueue_trainjob_later(a, job, runtime_of(x, job))
                        : kind->later ? kind->later(NULL, a, k, job) : NULL;
    int64_t most_s;
    json_set_text(a, workload, "apiVersion", "kueue.x-k8s.io/v1beta2");
    json_set_text(a, workload, "kind", "Workload");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        json_set_text(a, metadata, same[i], object_meta(job, same[i]));
    kueue_note_deadline(a, job, metadata);
    if (later)
        json_set_text(a, json_ensure_object(a, metadata, "annotations"), DECODE_LATER_ANNOTATION, later);
    json_set_text(a, spec, "queueName", object_label(job, KUEUE_QUEUE_LABEL));
    if (bytes_int64(bytes_of(object_label(job, KUEUE_EXEC_TIME_LABEL)), &most_s) && most_s > 0)
        json_set_int64(a, spec, "maximumExecutionTimeSeconds", most_s);
    json_set(a, spec, "podSets", sets);
    return sets && add_priority(x, k, job, spec, e) ? workload : NULL;
}

static bool is_vcjob(const struct json *object)
{
    return text_equal(json_get_text(object, "kind", ""), "Job") &&
           text_starts(json_get_text(object, "apiVersion", ""), "batch.volcano.sh/");
}

static bool is_set(const char *kind)
{
    return text_equal(kind, "Deployment") || text_equal(kind, "ReplicaSet") || text_equal(kind, "StatefulSet");
}

/* Pods that are queued themselves, or with their set: that of a set's first group, where it has several. */
static bool workload_of_sets(struct reading *x, const struct json *of, struct json *sets, struct err *e)
{
    struct arena *a = x->a;
    struct json *workload = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, workload, "metadata"),
                *spec = json_ensure_object(a, workload, "spec");
    static const char *const same[] = {"name", "namespace", "uid", "creationTimestamp"};
    json_set_text(a, workload, "apiVersion", "kueue.x-k8s.io/v1beta2");
    json_set_text(a, workload, "kind", "Workload");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        json_set_text(a, metadata, same[i], object_meta(of, same[i]));
    json_set_text(a, spec, "queueName", object_label(of, KUEUE_QUEUE_LABEL));
    json_set(a, spec, "podSets", sets);
    json_append(x->objects, workload);
    return add_priority(x, &queued_kinds[QUEUED_JOB], of, spec, e);
}

static bool workload_of_pods(struct reading *x, const struct json *of, const struct json *pod, int64_t n, struct err *e)
{
    struct json *sets = json_new(x->a, JSON_ARRAY);
    json_append(sets, kueue_pod_set_of(x->a, "main", n, pod));
    return workload_of_sets(x, of, sets, e);
}

/* A LeaderWorkerSet: a group starts by itself. */
static bool pods_of_groups(struct reading *x, const struct json *set, struct err *e)
{
    struct json *sets = kueue_leader_worker_set.pod_sets(x->a, set);
    int64_t groups_n = kueue_leader_worker_set.groups_n(set);
    const char *name = object_meta(set, "name");
    if (*object_label(set, KUEUE_QUEUE_LABEL))
        return groups_n == 0 || workload_of_sets(x, set, sets, e);
    JSON_EACH (part, sets)
        what_if_pods(x->a, x->objects, set, arena_printf(x->a, "%s-%s", name, json_get_text(part, "name", "")), json_get(part, "template"),
                     amount_times(groups_n, json_get_int64(part, "count", 1)));
    return true;
}

/* Its pods as they come: nothing starts them together, but a group that they name. */
static bool pods_of_job(struct reading *x, const struct queued_kind *k, const struct json *job, struct err *e)
{
    const struct json *sets = pod_sets_of(x, k, job, e);
    JSON_EACH (set, sets)
        what_if_pods(x->a, x->objects, job, arena_printf(x->a, "%s-%s", object_meta(job, "name"), json_get_text(set, "name", "main")),
                     json_get(set, "template"), json_get_int64(set, "count", 1));
    return sets;
}

/* Deployments and their like: each pod comes by itself, but those of a StatefulSet in a queue. */
static bool pods_of_set(struct reading *x, const struct json *set, struct err *e)
{
    const struct json *spec = json_get(set, "spec"), *pod_template = json_get(spec, "template");
    int64_t n = json_get_int64(spec, "replicas", 1);
    bool together = text_equal(json_get_text(set, "kind", ""), "StatefulSet");
    if (*object_label(set, KUEUE_QUEUE_LABEL))
        return workload_of_pods(x, set, pod_template, together ? n : 1, e);
    what_if_pods(x->a, x->objects, set, object_meta(set, "name"), pod_template, n);
    return true;
}

/* What the scheduler reads of an object as the server has it. */
static bool add_as_read(struct reading *x, const struct queued_kind *job, struct json *object, struct err *e)
{
    const char *kind = json_get_text(object, "kind", "");
    bool in_queue = *object_label(object, KUEUE_QUEUE_LABEL);
    if (job && !in_queue)
        return pods_of_job(x, job, object, e);
    if (is_vcjob(object)) {
        what_if_vcjob(x->a, x->objects, object);
        return true;
    }
    if (text_equal(kind, "LeaderWorkerSet"))
        return pods_of_groups(x, object, e);
    if (is_set(kind))
        return pods_of_set(x, object, e);
    if (text_equal(kind, "Pod") && in_queue)
        return workload_of_pods(x, object, object, 1, e);
    if (job && !(object = workload_of(x, job, object, e)))
        return false;
    json_append(x->objects, object);
    return true;
}

/* A node that is not there yet comes as it says, and ready. WHY from the document: servers may leave the status of a new one out. */
static bool complete_node(struct reading *x, const struct json *document, struct json *node, struct err *e)
{
    const struct json *said = json_get(document, "status");
    if (!json_path(node, "status", "capacity", NULL) && json_is(said, JSON_OBJECT))
        json_set(x->a, node, "status", json_clone(x->a, said));
    struct json *status = json_ensure_object(x->a, node, "status"), *ready = json_new(x->a, JSON_OBJECT);
    const struct json *capacity = json_get(status, "capacity"), *allocatable = json_get(status, "allocatable");
    if (!capacity && !allocatable)
        return err_set(e, E_INVALID,
                       "Node %s: status.capacity: say what it has, as in {cpu: 96, memory: 1Ti, pods: 110, nvidia.com/gpu: 8}",
                       object_meta(node, "name")) == 0;
    if (!allocatable)
        json_set(x->a, status, "allocatable", json_clone(x->a, capacity));
    if (object_condition(node, "Ready"))
        return true;
    json_set_text(x->a, ready, "type", "Ready");
    json_set_text(x->a, ready, "status", "True");
    json_append(json_ensure_array(x->a, status, "conditions"), ready);
    return true;
}

/* Its Workload waits, or runs, already: it is no change. */
static bool is_there(struct reading *x, const struct json *job, const char *path)
{
    struct err e = {0};
    if (!connection_get(x->c, x->a, path, &e))
        return false;
    fprintf(stderr, "%s %s is there already: left out\n", json_get_text(job, "kind", ""), object_meta(job, "name"));
    return true;
}

static bool add(struct reading *x, const struct json *document, struct err *e)
{
    const char *kind = json_get_text(document, "kind", "");
    if (text_equal(kind, "List")) {
        JSON_EACH (item, json_get(document, "items"))
            if (!add(x, item, e))
                return false;
        return true;
    }
    const char *path = path_of(x, document, e);
    const struct queued_kind *job = queued_kind_of_owner(document);
    bool has_pods = job || is_vcjob(document) || is_set(kind) || text_equal(kind, "LeaderWorkerSet");
    if (!path || (has_pods && is_there(x, document, path)))
        return path != NULL;
    struct json *object = applied(x, document, path, e);
    if (!object || (text_equal(kind, "Node") && !complete_node(x, document, object, e)))
        return false;
    return add_as_read(x, job, object, e);
}

struct json *what_if_objects_of(struct connection *c, struct arena *a, const struct json *documents, struct err *e)
{
    struct reading x = {.c = c, .a = a, .documents = documents, .objects = json_new(a, JSON_ARRAY)};
    bool good = true;
    x.kinds = kind_table_new();
    JSON_EACH (document, documents)
        good = good && add(&x, document, e);
    kind_table_free(x.kinds);
    return good ? x.objects : NULL;
}

struct json *what_if_objects(struct connection *c, struct arena *a, const char *path, struct err *e)
{
    _cleanup_buf_ struct buf text = {0};
    struct json *documents;
    if (file_read_input(path, FILE_BYTES_MAX, &text, e) < 0 || yaml_parse(a, buf_view(&text), &documents, NULL, e) < 0)
        return NULL;
    if (!documents->n && err_set(e, E_INVALID, "%s: there is nothing in it", path))
        return NULL;
    return what_if_objects_of(c, a, documents, e);
}
