/* timeline_watch.c - objects as they change: whose pods stand where, which job is over, which node is well */
#include <stdio.h>
#include "base/limits.h"
#include "codec/kinds/queued_kinds.h"
#include "core/device_list.h"
#include "gpu/model.h"
#include "kube/object.h"
#include "sim/run/timeline.h"

/* The object of an event, until the next one; NULL: it is none. */
static struct json *read_event(struct timeline *t, struct bytes raw)
{
    arena_reset(t->scratch);
    t->now_ms = timeline_now(t);
    return json_parse(t->scratch, raw, NULL, NULL);
}

/* ---- jobs ---- */

/* NULL: there are too many. */
static struct timeline_job *job_put(struct timeline *t, const char *ns, const char *name, const char *kind, const char *queue)
{
    bool is_new;
    const char *key = arena_printf(t->scratch, "%s/%s", ns, name);
    uint32_t *slot = map_put(t->job_of, bytes_of(key), &is_new);
    if (!is_new && *slot != UINT32_MAX && t->jobs[*slot]->gone) /* another one of that name */
        is_new = true;
    if (!is_new)
        return *slot == UINT32_MAX ? NULL : t->jobs[*slot];
    *slot = UINT32_MAX;
    if (t->jobs_n >= LIMIT_SCENARIO_JOBS) {
        t->left_out_n++;
        return NULL;
    }
    struct timeline_job *j = arena_alloc(t->arena, sizeof *j);
    *j = (struct timeline_job){.key = arena_text(t->arena, key),
                               .kind = arena_text(t->arena, kind),
                               .queue = arena_text(t->arena, queue),
                               .why = "",
                               .must_stop = "",
                               .told_why = "",
                               .told_must_stop = "",
                               .came_ms = timeline_now(t),
                               .started_ms = -1,
                               .ended_ms = -1,
                               .index = t->jobs_n};
    MEM_RESERVE(t->jobs, t->jobs_cap, t->jobs_n + 1);
    *slot = t->jobs_n;
    t->jobs[t->jobs_n++] = j;
    return j;
}

static void job_ends(struct timeline *t, struct timeline_job *j, bool failed)
{
    if (j->ended)
        return;
    j->ended = true;
    j->failed = failed;
    timeline_job_changed(t, j);
}

static const char *queue_of_labels(struct arena *a, const struct json *object)
{
    const char *queue = object_label(object, "kueue.x-k8s.io/queue-name");
    const char *ns = object_meta(object, "namespace");
    if (*queue)
        return arena_printf(a, "%s/%s", ns, queue);
    return json_text(json_path(object, "spec", "queue", NULL), "");
}

/* The job whose pod it is: as labels of its maker say, else its owner; *ret_kind "Pod": it is its own. */
static const char *job_name(const struct json *pod, const char **ret_kind)
{
    static const char *const labels[][2] = {{"jobset.sigs.k8s.io/jobset-name", "JobSet"},
                                            {"leaderworkerset.sigs.k8s.io/name", "LeaderWorkerSet"},
                                            {"training.kubeflow.org/job-name", "Job"},
                                            {"batch.kubernetes.io/job-name", "Job"},
                                            {"volcano.sh/job-name", "vcjob"},
                                            {"kueue.x-k8s.io/pod-group-name", "PodGroup"},
                                            {"scheduling.x-k8s.io/pod-group", "PodGroup"}};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const char *name = object_label(pod, labels[i][0]);
        *ret_kind = labels[i][1];
        if (*name)
            return name;
    }
    const char *group = json_text(json_path(pod, "spec", "schedulingGroup", "podGroupName", NULL), "");
    *ret_kind = "PodGroup";
    if (*group)
        return group;
    *ret_kind = object_controller(pod, "kind");
    if (**ret_kind)
        return object_controller(pod, "name");
    *ret_kind = "Pod";
    return object_meta(pod, "name");
}

/* ---- pods ---- */

static void span_add(struct timeline *t, uint32_t node, uint32_t gpu, uint32_t job, int64_t from_ms)
{
    if (t->now_ms <= from_ms)
        return;
    if (t->spans_n >= LIMIT_SCENARIO_SPANS) {
        t->left_out_n++;
        return;
    }
    MEM_RESERVE(t->spans, t->spans_cap, t->spans_n + 1);
    t->spans[t->spans_n++] = (struct timeline_span){node, gpu, job, from_ms, t->now_ms};
}

/* How many of the node's GPUs the pod's devices are on; each that a span is wanted of gets one. */
static uint32_t gpus_of(struct timeline *t, const struct timeline_pod *p, bool spans)
{
    uint32_t n = 0;
    uint64_t seen[16] = {0};
    struct device_list l = {.rest = bytes_of(p->devices)};
    while (device_list_next(&l)) {
        const char *key = arena_printf(t->scratch, "%u %.*s", p->node, (int)l.id.n, l.id.data);
        const uint32_t *gpu = map_find_text(t->device_of, key);
        if (!gpu || *gpu >= 1024 || seen[*gpu / 64] >> *gpu % 64 & 1)
            continue;
        seen[*gpu / 64] |= UINT64_C(1) << *gpu % 64;
        n++;
        if (spans)
            span_add(t, p->node, *gpu, p->job, p->since_ms);
    }
    return n;
}

void timeline_pod_free(struct timeline *t, struct timeline_pod *p, bool well)
{
    if (p->over)
        return;
    p->over = true;
    if (!p->bound)
        return;
    struct timeline_job *j = t->jobs[p->job];
    (void)gpus_of(t, p, true);
    j->pods_n--;
    j->gpus_n -= p->gpus_n;
    j->gpu_ms += (int64_t)p->gpus_n * (t->now_ms - p->since_ms);
    t->nodes[p->node].used_n -= p->gpus_n;
    j->lost_n += !well;
    timeline_job_changed(t, j);
}

static void pod_bound(struct timeline *t, struct timeline_pod *p, struct timeline_job *j, const char *node_name)
{
    const uint32_t *node = map_find_text(t->node_of, node_name);
    if (!node)
        return; /* of a node that has gone again */
    p->bound = true;
    p->node = *node;
    p->since_ms = t->now_ms;
    p->gpus_n = gpus_of(t, p, false);
    t->nodes[*node].used_n += p->gpus_n;
    j->gpus_n += p->gpus_n;
    j->pods_n++;
    j->pods_most_n = j->pods_n > j->pods_most_n ? j->pods_n : j->pods_most_n;
    j->gpus_most_n = j->gpus_n > j->gpus_most_n ? j->gpus_n : j->gpus_most_n;
    timeline_job_changed(t, j);
}

/* Jobs that are pods are over when these are. */
static void pods_over(struct timeline *t, struct timeline_job *j)
{
    bool all = !j->is_object && j->over_n + j->failed_n == j->made_n;
    if (all && (text_equal(j->kind, "Pod") || text_equal(j->kind, "PodGroup")))
        job_ends(t, j, j->failed_n > 0);
}

static void pod_changed(struct timeline *t, struct timeline_pod *p, struct timeline_job *j, const struct json *pod)
{
    const char *node = json_text(json_path(pod, "spec", "nodeName", NULL), ""),
               *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    const char *devices = object_annotation(pod, DEVICES_ANNOTATION), *waits = object_waiting(pod);
    bool failed = text_equal(phase, "Failed");
    if (!text_equal(devices, p->devices))
        p->devices = arena_text(t->arena, devices);
    if (*node && !p->bound && !p->over)
        pod_bound(t, p, j, node);
    if (!*node && *waits) { /* of a job that has no object that would say it */
        const struct json *reason = json_parse(t->scratch, bytes_of(waits), NULL, NULL);
        j->why = arena_text(t->arena, json_get_text(reason, "message", ""));
        timeline_job_changed(t, j);
    }
    if ((!failed && !text_equal(phase, "Succeeded")) || p->over)
        return;
    timeline_pod_free(t, p, !failed);
    j->over_n += !failed;
    j->failed_n += failed;
    pods_over(t, j);
    timeline_job_changed(t, j);
}

static void on_pod(void *arg, enum kube_event event, struct bytes raw)
{
    struct timeline *t = arg;
    const struct json *pod = read_event(t, raw);
    const char *uid = object_meta(pod, "uid"), *kind;
    bool is_new = false;
    struct timeline_pod *p = map_find_text(t->pods, uid);
    if (event == KUBE_DELETED) {
        struct timeline_job *j = p ? t->jobs[p->job] : NULL;
        if (p && !p->over)
            timeline_pod_free(t, p, j->ended);
        if (j && text_equal(j->kind, "Pod") && !j->ended)
            j->gone = true;
        if (j)
            timeline_job_changed(t, j);
        (void)map_remove(t->pods, bytes_of(uid)); /* or it was one too many */
        return;
    }
    if (!pod || map_count(t->pods) >= LIMIT_SCENARIO_SPANS)
        return;
    const char *name = job_name(pod, &kind);
    struct timeline_job *j = p ? t->jobs[p->job] : job_put(t, object_meta(pod, "namespace"), name, kind, queue_of_labels(t->scratch, pod));
    if (!j)
        return;
    p = p ? p : map_put(t->pods, bytes_of(uid), &is_new);
    if (is_new) {
        *p = (struct timeline_pod){.job = j->index, .node = UINT32_MAX, .devices = ""};
        j->made_n++;
        timeline_job_changed(t, j);
    }
    pod_changed(t, p, j, pod);
}

/* ---- objects of jobs, and why they wait ---- */

static void on_job(void *arg, enum kube_event event, struct bytes raw)
{
    struct timeline *t = arg;
    const struct json *job = read_event(t, raw), *status = json_get(job, "status");
    if (!job || *object_controller(job, "kind")) /* one that others make for theirs */
        return;
    const char *kind = json_get_text(job, "kind", "Job"), *phase = json_text(json_path(status, "state", "phase", NULL), "");
    if (text_starts(json_get_text(job, "apiVersion", ""), "batch.volcano.sh/"))
        kind = "vcjob";
    struct timeline_job *j = job_put(t, object_meta(job, "namespace"), object_meta(job, "name"), kind, queue_of_labels(t->scratch, job));
    if (!j)
        return;
    j->is_object = true;
    JSON_EACH (c, json_get(status, "conditions")) {
        const char *type = json_get_text(c, "type", "");
        if (text_equal(json_get_text(c, "status", ""), "True") && (queued_kind_succeeded(type) || text_equal(type, "Failed")))
            job_ends(t, j, text_equal(type, "Failed"));
    }
    if (text_equal(phase, "Completed") || text_equal(phase, "Failed") || text_equal(phase, "Terminated"))
        job_ends(t, j, !text_equal(phase, "Completed"));
    j->gone |= event == KUBE_DELETED;
    timeline_job_changed(t, j);
}

/* Sets of pods that serve, and pod groups: only that they go. */
static void on_set(void *arg, enum kube_event event, struct bytes raw)
{
    struct timeline *t = arg;
    const struct json *set = read_event(t, raw);
    const uint32_t *slot =
        map_find_text(t->job_of, arena_printf(t->scratch, "%s/%s", object_meta(set, "namespace"), object_meta(set, "name")));
    if (!set || event != KUBE_DELETED || !slot || *slot == UINT32_MAX)
        return;
    t->jobs[*slot]->gone = true;
    timeline_job_changed(t, t->jobs[*slot]);
}

/* "Preempted to accommodate a workload (UID: ..., JobUID: ...) due to ...", without what nobody wants to read. */
static const char *without_uids(struct arena *a, const char *message)
{
    const char *from = strstr(message, " (UID"), *to = from ? strchr(from, ')') : NULL;
    return to ? arena_printf(a, "%.*s%s", (int)(from - message), message, to + 1) : arena_text(a, message);
}

static void on_reason(void *arg, enum kube_event event, struct bytes raw)
{
    struct timeline *t = arg;
    const struct json *object = read_event(t, raw);
    const struct json *owner = json_item(json_path(object, "metadata", "ownerReferences", NULL), 0);
    bool of_group = text_equal(object_annotation(object, "kueue.x-k8s.io/is-group-workload"), "true");
    const char *name = of_group ? object_meta(object, "name") : json_get_text(owner, "name", object_meta(object, "name"));
    if (!object || event == KUBE_DELETED)
        return;
    const uint32_t *slot = map_find_text(t->job_of, arena_printf(t->scratch, "%s/%s", object_meta(object, "namespace"), name));
    if (!slot || *slot == UINT32_MAX)
        return;
    struct timeline_job *j = t->jobs[*slot];
    const struct json *evicted = object_condition_true(object, "Evicted") ? object_condition(object, "Evicted") : NULL;
    const char *text = object_waiting(object), *must_stop = without_uids(t->scratch, json_get_text(evicted, "message", ""));
    const struct json *reason = *text ? json_parse(t->scratch, bytes_of(text), NULL, NULL) : NULL;
    const char *why = json_get_text(reason, "message", "");
    if (!text_equal(why, j->why))
        j->why = arena_text(t->arena, why);
    if (!text_equal(must_stop, j->must_stop) && j->pods_n)
        j->must_stop = arena_text(t->arena, must_stop);
    timeline_job_changed(t, j);
}

/* ---- nodes ---- */

static void read_devices(struct timeline *t, struct timeline_node *n, uint32_t index, const struct json *node)
{
    const char *text = object_annotation(node, DEVICES_ANNOTATION);
    const struct json *list = *text ? json_parse(t->scratch, bytes_of(text), NULL, NULL) : NULL;
    uint32_t position = 0;
    JSON_EACH (item, list) {
        const char *key = arena_printf(t->scratch, "%u %s", index, json_get_text(item, "id", ""));
        int64_t gpu = json_get_int64(item, "gpu", position++);
        if (gpu < 0 || gpu >= 1024)
            continue;
        *(uint32_t *)map_put(t->device_of, bytes_of(key), NULL) = (uint32_t)gpu;
        n->gpus_n = (uint32_t)gpu + 1 > n->gpus_n ? (uint32_t)gpu + 1 : n->gpus_n;
    }
}

void timeline_node_back(struct timeline *t, uint32_t index)
{
    struct timeline_node *n = &t->nodes[index];
    for (uint32_t gpu = 0; n->down_ms >= 0 && gpu < n->gpus_n; gpu++)
        span_add(t, index, gpu, TIMELINE_DOWN, n->down_ms);
    n->down_ms = -1;
}

static void on_node(void *arg, enum kube_event event, struct bytes raw)
{
    struct timeline *t = arg;
    const struct json *node = read_event(t, raw);
    const char *name = object_meta(node, "name");
    bool is_new, well = object_condition_true(node, "Ready");
    if (!node || !*name || (event == KUBE_DELETED && !map_find_text(t->node_of, name)))
        return;
    uint32_t *slot = map_put(t->node_of, bytes_of(name), &is_new);
    if (is_new) {
        MEM_RESERVE(t->nodes, t->nodes_cap, t->nodes_n + 1);
        *slot = t->nodes_n;
        t->nodes[t->nodes_n++] = (struct timeline_node){
            .name = arena_text(t->arena, name), .came_ms = t->now_ms < 0 ? 0 : t->now_ms, .gone_ms = -1, .down_ms = -1};
    }
    struct timeline_node *n = &t->nodes[*slot];
    n->is_cordoned = json_bool(json_path(node, "spec", "unschedulable", NULL), false);
    if (event == KUBE_DELETED) {
        n->gone_ms = t->now_ms;
        n->down_ms = n->down_ms < 0 ? t->now_ms : n->down_ms;
    } else {
        n->gone_ms = -1;
        read_devices(t, n, *slot, node);
        if (well)
            timeline_node_back(t, *slot);
        else if (n->down_ms < 0)
            n->down_ms = t->now_ms;
    }
    timeline_ask(t);
}

/* ---- queues ---- */

static void on_queue(void *arg, enum kube_event event, struct bytes raw)
{
    struct timeline *t = arg;
    const struct json *queue = read_event(t, raw);
    const char *name = object_meta(queue, "name"), *cohort = json_text(json_path(queue, "spec", "cohortName", NULL), "");
    struct json *sums = json_new(t->scratch, JSON_OBJECT);
    JSON_EACH (flavor, event == KUBE_DELETED ? NULL : json_path(queue, "status", "flavorsUsage", NULL))
        JSON_EACH (resource, json_get(flavor, "resources")) {
            const char *which = json_get_text(resource, "name", "");
            int64_t n = 0;
            if (gpu_is_resource(which) && bytes_int64(json_bytes(json_get(resource, "borrowed")), &n))
                n += json_get_int64(sums, which, 0);
            if (gpu_is_resource(which))
                json_set_int64(t->scratch, sums, which, n);
        }
    JSON_EACH (sum, sums) {
        int64_t *told = map_put(t->borrowed, bytes_of(arena_printf(t->scratch, "%s %s", name, sum->key)), NULL), now = json_int64(sum, 0);
        if (now == *told)
            continue;
        *told = now;
        if (now)
            timeline_say(t, TIMELINE_BORROWS, name, "ClusterQueue %s borrows %lld %s of cohort %s", name, (long long)now, sum->key, cohort);
        else
            timeline_say(t, TIMELINE_BORROWS, name, "ClusterQueue %s borrows no %s any more", name, sum->key);
    }
}

/* ---- from when to when ---- */

static void on_timer(void *arg)
{
    timeline_tell(arg);
}

void timeline_begin(struct timeline *t, struct kube_client *client)
{
    t->client = client;
    t->loop = kube_client_loop(client);
    t->arena = arena_new();
    t->scratch = arena_new();
    t->gpus.name = "GPUs";
    t->job_of = map_new(sizeof(uint32_t));
    t->node_of = map_new(sizeof(uint32_t));
    t->device_of = map_new(sizeof(uint32_t));
    t->queue_of = map_new(sizeof(uint32_t));
    t->pods = map_new(sizeof(struct timeline_pod));
    t->borrowed = map_new(sizeof(int64_t));
    t->timer = loop_timer_new(t->loop, on_timer, t);
    job_watches_init(&t->watches, client, t);
    job_watches_add(&t->watches, "/api/v1/nodes", on_node); /* ORDER  they are known before pods stand on them */
    job_watches_add_all(&t->watches, &(struct job_receivers){on_job, on_pod, on_reason, on_queue});
    job_watches_add(&t->watches, "/apis/apps/v1/statefulsets", on_set);
    job_watches_add(&t->watches, "/apis/apps/v1/replicasets", on_set);
}

void timeline_end(struct timeline *t)
{
    size_t at = 0;
    struct bytes key;
    timeline_tell(t);
    t->now_ms = timeline_now(t);
    job_watches_end(&t->watches);
    for (struct timeline_pod *p; (p = map_next(t->pods, &at, &key));)
        timeline_pod_free(t, p, true);
    for (uint32_t i = 0; i < t->nodes_n; i++)
        timeline_node_back(t, i);
    loop_timer_free(t->timer);
    t->timer = NULL;
}
