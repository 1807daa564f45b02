/* intent_read.c - a file of manifests as workloads: which pods each has, and whether these need each other */
#include <math.h>
#include <sys/stat.h>
#include "base/amount.h"
#include "base/file.h"
#include "cli/advise/intent/intent.h"
#include "cli/history/finished_jobs.h"
#include "cli/lookup/accelerators.h"
#include "codec/share/share.h"
#include "kube/object.h"
#include "sched/forecast/run_times.h"
#include "wire/yaml.h"

enum { FILE_BYTES_MAX = 16 << 20 }; /* manifests are texts that people write */
#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"

const char *intent_ns(const struct intent *p, const struct json *document)
{
    const char *ns = object_meta(document, "namespace");
    return *ns ? ns : p->ns;
}

struct json *intent_document(const struct intent *p, const char *kind, const char *ns, const char *name)
{
    JSON_EACH (document, p->documents)
        if (text_equal(json_get_text(document, "kind", ""), kind) && text_equal(object_meta(document, "name"), name) &&
            (!ns || text_equal(intent_ns(p, document), ns)))
            return document;
    return NULL;
}

const char *intent_queue_of(const struct intent_work *w)
{
    return w->kind == INTENT_VCJOB ? "" : object_label(w->object, QUEUE_LABEL);
}

void intent_label(struct intent *p, struct json *of, const char *key, const char *value)
{
    json_set_text(p->x->a, json_ensure_object(p->x->a, json_ensure_object(p->x->a, of, "metadata"), "labels"), key, value);
}

void intent_changed(struct intent *p, struct intent_work *w, struct advise_finding *f, struct json *added)
{
    if (added) {
        json_insert(p->documents, 0, added);
        json_append(f->manifests, json_clone(p->x->a, added));
    }
    f->changes = w->kind == INTENT_GROUP && w->pods ? w->pods->pod : w->document;
    p->changes_n++;
}

/* ---- its pods ---- */

static void pods_add(struct intent *p, struct intent_work *w, int64_t n, struct json *pod)
{
    struct intent_pods *pods = arena_zero(p->x->a, 1, sizeof *pods);
    if (!json_is(pod, JSON_OBJECT) || n <= 0)
        return;
    *pods = (struct intent_pods){.n = n, .pod = pod};
    *w->last = pods;
    w->last = &pods->next;
    w->pods_n = amount_plus(w->pods_n, n);
}

static int64_t job_pods_n(const struct json *job_spec)
{
    int64_t parallelism = json_get_int64(job_spec, "parallelism", 1), completions = json_get_int64(job_spec, "completions", parallelism);
    return parallelism < completions ? parallelism : completions;
}

static void ray_pods(struct intent *p, struct intent_work *w, struct json *spec)
{
    static const char *const clusters[] = {"rayClusterSpec", "rayClusterConfig"};
    for (int i = 0; i < 2; i++)
        spec = json_get(spec, clusters[i]) ? json_get(spec, clusters[i]) : spec;
    pods_add(p, w, 1, json_path(spec, "headGroupSpec", "template", NULL));
    JSON_EACH (group, json_get(spec, "workerGroupSpecs"))
        pods_add(p, w, json_get_int64(group, "replicas", 1), json_get(group, "template"));
}

/* What a TrainJob says itself; the rest is its runtime's. */
static void trainer_pods(struct intent *p, struct intent_work *w, const struct json *trainer)
{
    struct json *pod = json_new(p->x->a, JSON_OBJECT), *container = json_new(p->x->a, JSON_OBJECT);
    if (json_get(trainer, "resourcesPerNode"))
        json_set(p->x->a, container, "resources", json_clone(p->x->a, json_get(trainer, "resourcesPerNode")));
    json_append(json_ensure_array(p->x->a, json_ensure_object(p->x->a, pod, "spec"), "containers"), container);
    pods_add(p, w, json_get_int64(trainer, "numNodes", 1), pod);
}

/* WHY  not the pod sets that jobs/kueue makes of them: those are copies, and what is advised is written into the document. */
static void queued_pods(struct intent *p, struct intent_work *w)
{
    struct json *spec = json_get(w->object, "spec");
    switch ((enum queued_kind_id)(w->queued - queued_kinds)) {
    case QUEUED_JOB:
        pods_add(p, w, job_pods_n(spec), json_get(spec, "template"));
        return;
    case QUEUED_TRAINJOB:
        trainer_pods(p, w, json_get(spec, "trainer"));
        return;
    case QUEUED_JOBSET:
        JSON_EACH (job, json_get(spec, "replicatedJobs")) {
            struct json *of = json_path(job, "template", "spec", NULL);
            pods_add(p, w, amount_times(json_get_int64(job, "replicas", 1), job_pods_n(of)), json_get(of, "template"));
        }
        return;
    case QUEUED_RAYJOB:
    case QUEUED_RAYCLUSTER:
    case QUEUED_RAYSERVICE:
        ray_pods(p, w, spec);
        return;
    case QUEUED_MPIJOB:
    case QUEUED_PYTORCHJOB:
    case QUEUED_TFJOB:
    case QUEUED_XGBOOSTJOB:
    case QUEUED_JAXJOB:
    case QUEUED_PADDLEJOB:
        JSON_EACH (role, json_get(spec, w->queued->replicas))
            pods_add(p, w, json_get_int64(role, "replicas", 1), json_get(role, "template"));
        return;
    case QUEUED_SPARKAPPLICATION: /* its pods have no templates */
    case QUEUED_KINDS_N:
        return;
    }
}

static void first_accelerator(struct intent *p, struct intent_work *w, const struct json *pod)
{
    static const char *const lists[] = {"limits", "requests"};
    int64_t n = accelerators_of(p->x->a, pod).devices_n;
    w->devices_n = n > w->devices_n ? n : w->devices_n;
    JSON_EACH (container, json_path(pod, "spec", "containers", NULL))
        for (int i = 0; i < 2 && !w->resource; i++)
            JSON_EACH (amount, json_path(container, "resources", lists[i], NULL))
                if (!w->resource && is_accelerator(amount->key) && whole_number(amount) > 0)
                    w->resource = amount->key;
}

bool intent_has_share(const struct intent_work *w)
{
    struct share share;
    for (const struct intent_pods *pods = w->pods; pods; pods = pods->next)
        if (share_of_pod(pods->pod, &share))
            return true;
    return false;
}

bool intent_needs_all(const struct intent_work *w)
{
    const struct json *spec = json_get(w->object, "spec");
    if (w->together_n <= 1 || (w->kind == INTENT_SET && !w->each) || w->kind == INTENT_POD)
        return false;
    if (w->kind == INTENT_SET)
        return true;
    if (w->queued == &queued_kinds[QUEUED_RAYSERVICE] || w->queued == &queued_kinds[QUEUED_RAYCLUSTER])
        return false; /* workers come and go */
    return w->queued != &queued_kinds[QUEUED_JOB] || json_get_int64(spec, "completions", -1) == json_get_int64(spec, "parallelism", 1);
}

/* ---- workloads ---- */

static struct intent_work *work_add(struct intent *p, enum intent_kind kind, struct json *document)
{
    struct intent_work *w = arena_zero(p->x->a, 1, sizeof *w);
    const char *ns = intent_ns(p, document), *name = object_meta(document, "name");
    *w = (struct intent_work){.kind = kind, .document = document, .object = document, .ns = ns, .name = name};
    w->about = arena_printf(p->x->a, "%s %s/%s", json_get_text(document, "kind", ""), ns, name);
    w->last = &w->pods;
    *p->last = w;
    p->last = &w->next;
    return w;
}

/* Its pods are those of the file that name it: they are one workload. */
static struct intent_work *work_of_group(struct intent *p, struct json *group)
{
    for (struct intent_work *w = p->first; w; w = w->next)
        if (w->document == group)
            return w;
    return work_add(p, INTENT_GROUP, group);
}

static void leave_out(struct intent *p, const struct json *document)
{
    static const char *const ours[] = {"PodGroup",
                                       "LocalQueue",
                                       "ClusterQueue",
                                       "Cohort",
                                       "ResourceFlavor",
                                       "Topology",
                                       "Queue",
                                       "WorkloadPriorityClass",
                                       "Node",
                                       "PriorityClass",
                                       "Namespace",
                                       "TrainingRuntime",
                                       "ClusterTrainingRuntime",
                                       "Workload",
                                       "ConfigMap",
                                       "Service",
                                       "PersistentVolumeClaim",
                                       "Secret"};
    const char *kind = json_get_text(document, "kind", "");
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (text_equal(kind, ours[i]))
            return;
    p->left_out =
        arena_printf(p->x->a, "%s%s%s %s", p->left_out ? p->left_out : "", p->left_out ? ", " : "", kind, object_meta(document, "name"));
}

/* Its groups come and go by themselves, each whole. */
static void lws_read(struct intent *p, struct json *document)
{
    struct intent_work *w = work_add(p, INTENT_SET, document);
    struct json *spec = json_get(document, "spec"), *of = json_get(spec, "leaderWorkerTemplate"), *leader = json_get(of, "leaderTemplate");
    int64_t groups_n = json_get_int64(spec, "replicas", 1), size = json_get_int64(of, "size", 1), leaders_n = json_is(leader, JSON_OBJECT);
    w->each = "group";
    w->together_n = size;
    pods_add(p, w, leaders_n ? groups_n : 0, leader);
    pods_add(p, w, amount_times(groups_n, size > leaders_n ? size - leaders_n : 0), json_get(of, "workerTemplate"));
}

/* A Job after the other, each of which is queued. False: it says of none what it is. */
static bool cron_read(struct intent *p, struct json *document)
{
    struct json *job = json_path(document, "spec", "jobTemplate", NULL);
    if (!json_is(job, JSON_OBJECT))
        return false;
    struct intent_work *w = work_add(p, INTENT_QUEUED, document);
    w->object = job;
    w->queued = &queued_kinds[QUEUED_JOB];
    w->each = "Job";
    queued_pods(p, w);
    return true;
}

static void work_read(struct intent *p, struct json *document)
{
    static const char *const sets[] = {"Deployment", "StatefulSet", "ReplicaSet"};
    const char *kind = json_get_text(document, "kind", ""), *version = json_get_text(document, "apiVersion", "");
    const struct queued_kind *queued = queued_kind_of_owner(document);
    struct json *spec = json_get(document, "spec");
    if (queued) {
        struct intent_work *w = work_add(p, INTENT_QUEUED, document);
        w->queued = queued;
        queued_pods(p, w);
        return;
    }
    if (text_equal(kind, "Job") && text_starts(version, "batch.volcano.sh/")) {
        struct intent_work *w = work_add(p, INTENT_VCJOB, document);
        JSON_EACH (task, json_get(spec, "tasks"))
            pods_add(p, w, json_get_int64(task, "replicas", 1), json_get(task, "template"));
        return;
    }
    if (text_equal(kind, "Pod")) {
        enum pod_group_maker unused;
        const char *name = pod_group_first(p->x->a, document, &unused);
        struct json *group = *name ? intent_document(p, "PodGroup", intent_ns(p, document), name) : NULL;
        pods_add(p, group ? work_of_group(p, group) : work_add(p, INTENT_POD, document), 1, document);
        return;
    }
    if (text_equal(kind, "LeaderWorkerSet")) {
        lws_read(p, document);
        return;
    }
    if (text_equal(kind, "CronJob") && text_starts(version, "batch/") && cron_read(p, document))
        return;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (text_equal(kind, sets[i])) {
            pods_add(p, work_add(p, INTENT_SET, document), json_get_int64(spec, "replicas", 1), json_get(spec, "template"));
            return;
        }
    leave_out(p, document);
}

/* What it is called here where it has generateName alone: what is added for it (a PodGroup) is called so, too. "": it has a name, or
 * neither. */
static const char *name_here(struct intent *p, const struct json *document)
{
    const char *base = object_meta(document, "generateName");
    size_t n = *object_meta(document, "name") ? 0 : strlen(base);
    while (n && base[n - 1] == '-')
        n--;
    return arena_text_n(p->x->a, base, n);
}

static int documents_add(struct intent *p, struct json *documents, struct err *e)
{
    JSON_EACH (document, documents) {
        const char *kind = json_get_text(document, "kind", "");
        if (text_ends(kind, "List") && json_is(json_get(document, "items"), JSON_ARRAY)) {
            if (documents_add(p, json_get(document, "items"), e) < 0)
                return -e->code;
            continue;
        }
        if (!*kind || !*json_get_text(document, "apiVersion", ""))
            return err_set(e, E_INVALID, "not a Kubernetes object: it needs apiVersion and kind (capstan lint says more)");
        struct json *own = json_clone(p->x->a, document);
        const char *generated = name_here(p, document);
        if (*generated)
            json_set_text(p->x->a, json_get(own, "metadata"), "name", generated);
        if (!*object_meta(own, "name"))
            return err_set(e, E_INVALID, "%s: metadata.name: say how it is called", kind);
        json_append(p->documents, own);
    }
    return 0;
}

struct json *intent_as_written(struct intent *p, const struct json *document)
{
    struct json *copy = json_clone(p->x->a, document), *metadata = json_get(copy, "metadata");
    if (!*json_get_text(metadata, "generateName", ""))
        return copy;
    (void)json_remove(metadata, "name");
    if (!text_equal(name_here(p, copy), object_meta(document, "name")))
        json_set_text(p->x->a, metadata, "name", object_meta(document, "name"));
    return copy;
}

int intent_read(struct intent *p, const char *path, struct err *e)
{
    _cleanup_buf_ struct buf text = {0};
    struct json *documents;
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(e, E_INVALID, "%s: a folder: name its files, as %s/*.yaml", path, path);
    if (file_read_input(path, FILE_BYTES_MAX, &text, e) < 0)
        return -e->code;
    if (yaml_parse(p->x->a, buf_view(&text), &documents, NULL, e) < 0 || documents_add(p, documents, e) < 0)
        return err_wrap(e, "%s", path);
    return 0;
}

int intent_works(struct intent *p, struct err *e)
{
    JSON_EACH (document, p->documents)
        work_read(p, document);
    for (struct intent_work *w = p->first; w; w = w->next) {
        w->together_n = w->together_n ? w->together_n : w->pods_n;
        for (const struct intent_pods *pods = w->pods; pods; pods = pods->next)
            first_accelerator(p, w, pods->pod);
    }
    return p->first ? 0
                    : err_set(e, E_INVALID, "there is no workload in it%s%s", p->left_out ? ", only " : "", p->left_out ? p->left_out : "");
}

/* ---- what earlier ones did ---- */

void intent_past_find(struct intent *p, struct intent_work *w, const struct usage_record *records, uint32_t n)
{
    struct intent_past *past = &w->past;
    struct usage_record *same = arena_zero(p->x->a, n + 1, sizeof *same);
    struct finished_job *over;
    past->name = run_times_name(p->x->a, arena_printf(p->x->a, "%s/%s", w->ns, w->name));
    for (uint32_t i = 0; i < n; i++) {
        const struct usage_record *r = &records[i];
        const char *job = r->job && *r->job ? r->job : r->pod;
        if (!text_equal(r->ns, w->ns) || !text_equal(run_times_name(p->x->a, arena_printf(p->x->a, "%s/%s", r->ns, job)), past->name))
            continue;
        same[past->pods_n++] = *r;
        past->allocated_s += r->allocated_s;
        past->active_s += r->active_s;
        int64_t mib = (int64_t)(r->memory_high_bytes / (1 << 20));
        if (mib > past->memory_mib) {
            past->memory_mib = mib;
            past->memory_permille = r->memory_granted_bytes > 0 ? (int)(r->memory_high_bytes * 1000 / r->memory_granted_bytes) : 1000;
        }
    }
    past->over_n = finished_jobs(p->x->a, same, past->pods_n, 0, INFINITY, &over);
    for (uint32_t i = 0; i < past->over_n; i++)
        past->longest_s = fmax(past->longest_s, over[i].end_s - over[i].start_s);
}
