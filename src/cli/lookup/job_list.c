/* job_list.c - see job_list.h
 *
 * What runs is counted in the pods themselves: a status says "active" of pods that wait for a node, too. Pods that are of no job are told
 * last, by who made them, where they ask for accelerators.
 */
#include "cli/lookup/job_list.h"
#include "base/amount.h"
#include "base/clock.h"
#include "base/collections/map.h"
#include "cli/lookup/accelerators.h"
#include "cli/lookup/pod_counts.h"
#include "cli/lookup/reserved.h"
#include "codec/decode/decode.h"
#include "codec/kinds/queued_kinds.h"
#include "codec/kinds/queued_sets.h"
#include "exporter/collect/pod_owner.h"
#include "jobs/volcano/vcjob_pods.h"
#include "kube/object.h"
#include "sched/figures/workload_wait.h"

struct finder {
    struct map *hung_of; /* of Volcano Jobs, by uid: the pod group that hangs */
    struct arena *arena;
    struct pod_counts *pods;
    struct loose_pod *loose, **loose_last; /* pods that ask for accelerators, in the order of the list */
    const struct json *workloads;          /* items */
    struct map *workload_of;               /* uid of the controller: const struct json * */
    const struct json *jobs;
    struct map *jobs_of; /* uid of the controller, "NS/NAME" of a JobSet: struct child *, the first one */
    void (*show)(void *context, const struct job_line *line);
    void *context;
    const char *unread; /* kinds that may not be listed; NULL none */
};

static int64_t time_of(const struct json *v)
{
    int64_t ms;
    return v && time_parse(json_bytes(v), &ms) ? ms : 0;
}

static int64_t time_of_text(const char *text)
{
    int64_t ms;
    return time_parse(bytes_of(text), &ms) ? ms : 0;
}

static int64_t transition_of(const struct json *object, const char *type)
{
    return object_condition_true(object, type) ? time_of(json_get(object_condition(object, type), "lastTransitionTime")) : 0;
}

/* What its pods say of a job of every kind. */
static void counted_show(const struct finder *f, struct job_line *line, const struct pod_count *pods)
{
    line->running_n = pods->running_n;
    if (!line->asked.devices_n && !line->asked.shares_n)
        line->asked = pods->asked;
    line->nodes = pods->nodes;
    if (!line->user || !*line->user)
        line->user = pods->user;
    if (!line->priority_known && pods->all_n) {
        line->priority = pods->priority;
        line->priority_known = true;
    }
    f->show(f->context, line);
}

/* And what the object says. */
static void line_show(const struct finder *f, const struct json *object, struct job_line *line, const struct pod_count *pods)
{
    line->ns = object_meta(object, "namespace");
    line->name = line->name ? line->name : object_meta(object, "name");
    line->created_ms = time_of_text(object_meta(object, "creationTimestamp"));
    line->user = pod_owner_user(json_get(object, "metadata"));
    counted_show(f, line, pods);
}

static void workloads_index(struct finder *f)
{
    JSON_EACH (workload, f->workloads) {
        const struct json **first = map_put(f->workload_of, bytes_of(object_controller(workload, "uid")), NULL);
        *first = *first ? *first : workload;
    }
}

static const struct json *workload_of(const struct finder *f, const struct json *job)
{
    const struct json *const *found = map_find_text(f->workload_of, object_meta(job, "uid"));
    return found ? *found : NULL;
}

struct child {
    const struct json *job;
    struct child *next;
};

static void child_add(struct finder *f, const char *key, const struct json *job)
{
    struct child **first = map_put(f->jobs_of, bytes_of(key), NULL), *child = arena_zero(f->arena, 1, sizeof *child);
    *child = (struct child){job, *first};
    *first = child;
}

static void jobs_index(struct finder *f)
{
    JSON_EACH (job, f->jobs) {
        if (*object_controller(job, "uid"))
            child_add(f, object_controller(job, "uid"), job);
        if (text_equal(object_controller(job, "kind"), "JobSet"))
            child_add(f, arena_printf(f->arena, "%s/%s", object_meta(job, "namespace"), object_controller(job, "name")), job);
    }
}

/* Of all pod sets, in the number that was granted, or else asked for. */
static struct accelerators devices_of(struct arena *a, const struct json *workload)
{
    const struct json *given = json_first(json_path(workload, "status", "admission", "podSetAssignments", NULL));
    struct accelerators sum = {0};
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL)) {
        int64_t count = json_get_int64(given, "count", json_get_int64(set, "count", 1));
        accelerators_add(&sum, count, accelerators_of(a, json_get(set, "template")));
        given = given ? given->next : NULL;
    }
    return sum;
}

/* State, wait, priority and message of what Kueue's queues admit; `suspended`: the job itself says so. */
static void queued_state(const struct finder *f, struct job_line *line, const struct json *job, const struct json *workload,
                         bool suspended, const struct pod_count *pods)
{
    const char *awaited = workload ? reserved_text(f->arena, workload) : NULL,
               *reserved = awaited ? awaited : json_get_text(object_condition(workload, "QuotaReserved"), "message", "");
    line->queued_ms = workload ? time_of_text(workload_queued_since(workload)) : 0;
    line->started_ms = workload ? transition_of(workload, "Admitted") : pods->bound_ms;
    line->message = *reserved ? reserved : pods->message;
    line->asked = devices_of(f->arena, workload);
    line->priority_known = workload != NULL;
    line->priority = json_int64(json_path(workload, "spec", "priority", NULL), 0);
    const struct queued_kind *kind = queued_kind_named(line->kind);
    const char *succeeded = kind ? kind->succeeded : "Complete";
    if (object_condition_true(job, succeeded) || object_condition_true(job, "Failed")) {
        const char *type = object_condition_true(job, succeeded) ? succeeded : "Failed";
        line->state = type;
        line->message = json_get_text(object_condition(job, type), "message", "");
    } else if (suspended) {
        line->state = !json_get_bool(json_get(workload, "spec"), "active", true) ? "Deactivated" : workload ? "Queued" : "Suspended";
    } else {
        const char *hung = pods->running_n > 0 ? hung_text(f->arena, workload) : NULL;
        line->state = pods->running_n > 0 ? "Running" : "Pending";
        line->message = hung ? hung : pods->message ? pods->message : line->message;
    }
    line->idle = !text_equal(line->state, "Queued") && !text_equal(line->state, "Pending");
    line->reason = workload && text_equal(line->state, "Queued") ? object_waiting(workload) : NULL;
}

/* Shown as the job that an operator has made it of. */
static bool is_part(const struct json *object)
{
    const struct queued_kind *k = queued_kind_named(object_controller(object, "kind"));
    return k && k != &queued_kinds[QUEUED_JOB];
}

static void batch_job(const struct finder *f, const struct json *job)
{
    const struct json *spec = json_get(job, "spec"), *status = json_get(job, "status");
    if (is_part(job))
        return;
    struct job_line line = {.kind = "Job", .queue = object_label(job, "kueue.x-k8s.io/queue-name")};
    int64_t parallelism = json_get_int64(spec, "parallelism", 1),
            completions = json_get_int64(spec, "completions", parallelism);
    struct pod_count pods = pod_counts_of(f->pods, object_meta(job, "uid"));
    const struct json *workload = workload_of(f, job);
    line.gang_n = completions < parallelism ? completions : parallelism;
    line.size = gang_size_of(workload);
    queued_state(f, &line, job, workload, json_get_bool(spec, "suspend", false), &pods);
    if (!workload) { /* its controller took it up then, at the latest when it was resumed */
        line.queued_ms = time_of(json_get(status, "startTime"));
        line.started_ms = line.started_ms ? line.started_ms : line.idle ? line.queued_ms : 0;
        accelerators_add(&line.asked, line.gang_n, accelerators_of(f->arena, json_get(spec, "template")));
    }
    line_show(f, job, &line, &pods);
}

/* SHAPE  one condition a phase, the newest at the tail. A wait begins with Restarting, or with the Pending after a start or a creation. */
static void volcano_times(struct job_line *line, const struct json *status)
{
    const char *before = "";
    JSON_EACH (condition, json_get(status, "conditions")) {
        const char *phase = json_get_text(condition, "status", "");
        int64_t ms = time_of(json_get(condition, "lastTransitionTime"));
        if (strcmp(phase, "Running") == 0) {
            line->started_ms = ms;
        } else if (strcmp(phase, "Restarting") == 0 || (strcmp(phase, "Pending") == 0 && strcmp(before, "Restarting") != 0)) {
            line->queued_ms = ms;
            line->started_ms = 0;
        }
        before = phase;
    }
}

static struct accelerators task_devices(struct arena *a, const struct json *job)
{
    struct vcjob_task *tasks;
    uint32_t tasks_n = vcjob_tasks(a, job, &tasks);
    struct accelerators sum = {0};
    for (uint32_t i = 0; i < tasks_n; i++)
        accelerators_add(&sum, tasks[i].replicas, accelerators_of(a, json_get(tasks[i].spec, "template")));
    return sum;
}

static void volcano_job(const struct finder *f, const struct json *job)
{
    const struct json *status = json_get(job, "status");
    struct job_line line = {.kind = "vcjob", .queue = json_text(json_path(job, "spec", "queue", NULL), "default")};
    struct pod_count pods = pod_counts_of(f->pods, object_meta(job, "uid"));
    line.gang_n = json_int64(json_path(job, "spec", "minAvailable", NULL), 0);
    line.asked = task_devices(f->arena, job);
    line.state = json_text(json_path(status, "state", "phase", NULL), "Pending");
    line.message = json_text(json_path(status, "state", "message", NULL), "");
    line.idle = !text_equal(line.state, "Pending") && !text_equal(line.state, "Restarting");
    if (!*line.message && !line.idle && pods.message)
        line.message = pods.message;
    const struct json **hung = map_find_text(f->hung_of, object_meta(job, "uid"));
    if (hung && pods.running_n)
        line.message = hung_text(f->arena, *hung);
    volcano_times(&line, status);
    line_show(f, job, &line, &pods);
}

/* Its pods are its own, or those of its jobs, which a JobSet of its name may stand between. */
static struct pod_count train_pods(const struct finder *f, const struct json *train)
{
    const char *uid = object_meta(train, "uid"), *keys[] = {uid, object_key(f->arena, train)};
    struct pod_count all = pod_counts_of(f->pods, uid);
    for (int i = 0; i < 2; i++) {
        struct child *const *first = map_find_text(f->jobs_of, keys[i]);
        for (const struct child *child = first ? *first : NULL; child; child = child->next)
            if (i == 0 || !text_equal(object_controller(child->job, "uid"), uid)) /* once */
                pod_counts_sum(f->arena, &all, pod_counts_of(f->pods, object_meta(child->job, "uid")));
    }
    return all;
}

/* What an operator runs. A JobSet that a TrainJob has made is shown as that. */
static void train_job(const struct finder *f, const struct json *job, const struct queued_kind *kind)
{
    const struct json *workload = workload_of(f, job);
    if (is_part(job))
        return;
    struct job_line line = {.kind = kind->kind, .queue = object_label(job, "kueue.x-k8s.io/queue-name")};
    struct pod_count pods = train_pods(f, job);
    line.gang_n = gang_size_of(workload).asked_n;
    if (line.gang_n == 0)
        line.gang_n = json_int64(json_path(job, "spec", "trainer", "numNodes", NULL), pods.all_n ? pods.all_n : 1);
    queued_state(f, &line, job, workload, queued_kind_is_suspended(kind, job), &pods);
    line_show(f, job, &line, &pods);
}

/* Of a group whose object has no word for it, as those of Kubernetes itself. */
static const char *state_by_pods(const struct pod_count *pods)
{
    if (pods->all_n || !pods->ended_n)
        return pods->running_n ? "Running" : "Pending";
    return pods->failed_n ? "Failed" : "Completed";
}

static void pod_group(const struct finder *f, const struct json *group, enum pod_group_maker maker)
{
    const struct json *spec = json_get(group, "spec");
    if (queued_kind_named(object_controller(group, "kind")))
        return; /* shown as its job */
    struct job_line line = {.kind = "PodGroup", .queue = json_get_text(spec, "queue", "")};
    struct pod_count pods = pod_counts_of_group(f->pods, maker, object_meta(group, "namespace"), object_meta(group, "name"));
    int64_t count = json_int64(json_path(spec, "schedulingPolicy", "gang", "minCount", NULL), 1);
    line.gang_n = json_get_int64(spec, "minMember", count);
    line.state = json_text(json_path(group, "status", "phase", NULL), state_by_pods(&pods));
    line.started_ms = pods.waiting_n && pods.running_n < line.gang_n ? 0 : pods.bound_ms;
    const char *hung = pods.running_n ? hung_text(f->arena, group) : NULL;
    line.message = hung ? hung : pods.message;
    line.idle = text_equal(line.state, "Finished") || text_equal(line.state, "Failed") || text_equal(line.state, "Completed");
    line_show(f, group, &line, &pods);
}

/* The set that the Workload is of, or the group of it, by the name of its leader. */
static const char *set_name(const struct finder *f, const struct json *workload, const struct json *owner)
{
    const char *name = json_get_text(owner, "name", ""), *group = object_annotation(workload, "kueue.x-k8s.io/component-workload-index");
    return *group ? arena_printf(f->arena, "%s-%s", name, group) : name;
}

/* Pods that stand in a queue of Kueue by themselves, one or a group, or with their set: the Workload is what there is of them. */
static void queued_pods(const struct finder *f, const struct json *workload)
{
    const struct json *owner = json_item(json_path(workload, "metadata", "ownerReferences", NULL), 0);
    const struct queued_set *set = queued_set_named(json_get_text(owner, "kind", ""));
    if (!set && strcmp(json_get_text(owner, "kind", ""), "Pod") != 0)
        return;
    struct job_line line = {.queue = json_text(json_path(workload, "spec", "queueName", NULL), "")};
    struct pod_count pods =
        pod_counts_of_group(f->pods, POD_GROUP_KUEUE, object_meta(workload, "namespace"), object_meta(workload, "name"));
    bool single = !set && !pods.all_n;
    if (single)
        pods = pod_counts_of(f->pods, json_get_text(owner, "uid", ""));
    line.kind = set ? set->kind : single ? "Pod" : "PodGroup";
    line.name = set ? set_name(f, workload, owner) : single ? json_get_text(owner, "name", "") : NULL;
    line.size = gang_size_of(workload);
    line.gang_n = line.size.asked_n;
    queued_state(f, &line, NULL, workload, !object_condition_true(workload, "Admitted"), &pods);
    const struct json *finished = object_condition(workload, "Finished");
    if (object_condition_true(workload, "Finished")) {
        line.state = text_equal(json_get_text(finished, "reason", ""), "Failed") ? "Failed" : "Complete";
        line.message = json_get_text(finished, "message", "");
        line.idle = true;
    }
    line_show(f, workload, &line, &pods);
}

/* ---- pods of no job ---- */

struct loose_pod {
    const char *ns, *uid, *created; /* texts in the arena, as all here */
    const char *kind, *name;        /* who made it */
    const char *queue;
    struct loose_pod *next;
};
struct loose {
    struct pod_count pods;
    const struct loose_pod *first; /* that was created first */
    struct loose *next;
};

/* Who made it, as people know him: the Deployment of a ReplicaSet, the JobSet of a Job. */
static void maker_of(struct arena *a, const struct json *pod, struct loose_pod *l)
{
    const char *kind = object_controller(pod, "kind"), *known = kind;
    if (!*kind) {
        l->kind = "Pod";
        l->name = arena_text(a, object_meta(pod, "name"));
        return;
    }
    if (text_equal(kind, "ReplicaSet") && *object_label(pod, "pod-template-hash"))
        known = "Deployment";
    else if (*object_label(pod, "jobset.sigs.k8s.io/jobset-name"))
        known = "JobSet";
    l->kind = arena_text(a, known);
    l->name = arena_text(a, known == kind ? object_controller(pod, "name") : pod_owner_of(a, json_get(pod, "metadata")).job);
}

/* Whether it is of a job is known when all jobs have been told. */
static void pod_came(void *arg, const struct json *pod)
{
    struct finder *f = arg;
    struct arena *a = f->arena;
    pod_counts_add(f->pods, pod);
    struct accelerators asked = pod_counts_one(f->pods, object_meta(pod, "uid")).asked;
    if (object_deleting(pod) || !(asked.devices_n || asked.shares_n))
        return;
    struct loose_pod *l = arena_zero(a, 1, sizeof *l);
    *l = (struct loose_pod){.ns = arena_text(a, object_meta(pod, "namespace")),
                            .uid = arena_text(a, object_meta(pod, "uid")),
                            .created = arena_text(a, object_meta(pod, "creationTimestamp")),
                            .queue = arena_text(a, pod_owner_queue(json_get(pod, "metadata")))};
    maker_of(a, pod, l);
    *f->loose_last = l;
    f->loose_last = &l->next;
}

static void loose_add(const struct finder *f, struct map *by_maker, struct loose ***last, const struct loose_pod *pod)
{
    if (pod_counts_told(f->pods, pod->uid))
        return;
    struct loose *l;
    const char *key = arena_printf(f->arena, "%s/%s/%s", pod->ns, pod->kind, pod->name);
    struct loose **known = map_put(by_maker, bytes_of(key), NULL);
    if (*known) {
        l = *known;
    } else {
        l = arena_zero(f->arena, 1, sizeof *l);
        *known = **last = l;
        *last = &l->next;
    }
    pod_counts_sum(f->arena, &l->pods, pod_counts_one(f->pods, pod->uid));
    if (!l->first || strcmp(pod->created, l->first->created) < 0)
        l->first = pod;
}

static void loose_pods(const struct finder *f)
{
    struct map *by_maker = map_new(sizeof(struct loose *));
    struct loose *first = NULL, **last = &first;
    for (const struct loose_pod *pod = f->loose; pod; pod = pod->next)
        loose_add(f, by_maker, &last, pod);
    for (struct loose *l = first; l; l = l->next) {
        struct job_line line = {.kind = l->first->kind, .ns = l->first->ns, .name = l->first->name, .gang_n = 1};
        line.message = l->pods.message;
        line.queue = l->first->queue;
        line.state = l->pods.running_n ? "Running" : "Pending";
        line.started_ms = l->pods.running_n ? l->pods.bound_ms : 0;
        line.created_ms = time_of_text(l->first->created);
        counted_show(f, &line, &l->pods);
    }
    map_free(by_maker);
}

/* ---- all of them ---- */

/* WHY  rights are given kind by kind: whoever may see his Jobs and not somebody else's kind of pod group sees his Jobs. */
static const struct json *items_get(struct finder *f, struct connection *c, const char *group, const char *version, const char *plural,
                                    const char *fields, struct err *e)
{
    struct err one = {0};
    const char *path = kube_path(f->arena, group, version, plural, c->ns, NULL, NULL);
    const struct json *list = connection_get_list(c, f->arena, arena_printf(f->arena, "%s%s", path, fields), &one);
    if (one.code == E_DENIED)
        f->unread = arena_printf(f->arena, "%s%s%s.%s", f->unread ? f->unread : "", f->unread ? ", " : "", plural, group);
    else if (one.code && !e->code)
        *e = one;
    return json_get(list, "items");
}

static void pod_groups(struct finder *f, struct connection *c, const struct json *volcanos, struct err *e)
{
    const struct json *natives = NULL;
    const char *unread;
    JSON_EACH (group, volcanos)
        pod_group(f, group, POD_GROUP_VOLCANO);
    JSON_EACH (group, items_get(f, c, "scheduling.x-k8s.io", "v1alpha1", "podgroups", JOBS_FIELDS, e))
        pod_group(f, group, POD_GROUP_COSCHEDULING);
    unread = f->unread;
    for (const struct native_version *v = native_versions; v->version && !natives && f->unread == unread; v++)
        natives = items_get(f, c, "scheduling.k8s.io", v->version, "podgroups", JOBS_FIELDS, e);
    JSON_EACH (group, natives)
        pod_group(f, group, POD_GROUP_NATIVE);
    JSON_EACH (group, items_get(f, c, "scheduling.run.ai", "v2alpha2", "podgroups", JOBS_FIELDS, e))
        pod_group(f, group, POD_GROUP_KAI);
}

/* A Volcano Job's own object does not say that it hangs. */
static void hung_index(struct finder *f, const struct json *volcanos)
{
    JSON_EACH (group, volcanos)
        if (hung_text(f->arena, group) && *object_controller(group, "uid"))
            *(const struct json **)map_put(f->hung_of, bytes_of(object_controller(group, "uid")), NULL) = group;
}

const char *job_list_find(struct connection *c, struct arena *a, void (*show)(void *context, const struct job_line *line), void *context,
                          struct err *e)
{
    struct finder f = {.arena = a, .pods = pod_counts_new(), .show = show, .context = context};
    f.loose_last = &f.loose;
    f.workload_of = map_new(sizeof(const struct json *));
    f.hung_of = map_new(sizeof(const struct json *));
    f.jobs_of = map_new(sizeof(struct child *));
    const char *pods = kube_path(a, "", "v1", "pods", c->ns, NULL, NULL);
    (void)connection_each(c, arena_printf(a, "%s" JOBS_POD_FIELDS, pods), pod_came, &f, e);
    f.workloads = items_get(&f, c, "kueue.x-k8s.io", "v1beta2", "workloads", JOBS_WORKLOAD_FIELDS, e);
    workloads_index(&f);
    f.jobs = items_get(&f, c, "batch", "v1", "jobs", JOBS_JOB_FIELDS, e);
    jobs_index(&f);
    JSON_EACH (job, f.jobs)
        batch_job(&f, job);
    const struct json *volcanos = items_get(&f, c, "scheduling.volcano.sh", "v1beta1", "podgroups", JOBS_FIELDS, e);
    hung_index(&f, volcanos);
    JSON_EACH (job, items_get(&f, c, "batch.volcano.sh", "v1alpha1", "jobs", JOBS_FIELDS, e))
        volcano_job(&f, job);
    for (int i = QUEUED_TRAINJOB; i < QUEUED_KINDS_N; i++) {
        const struct queued_kind *k = &queued_kinds[i];
        JSON_EACH (job, items_get(&f, c, k->group, k->version, k->plural, JOBS_FIELDS, e))
            train_job(&f, job, k);
    }
    pod_groups(&f, c, volcanos, e);
    JSON_EACH (workload, f.workloads)
        queued_pods(&f, workload);
    loose_pods(&f);
    pod_counts_free(f.pods);
    map_free(f.workload_of);
    map_free(f.hung_of);
    map_free(f.jobs_of);
    return f.unread;
}
