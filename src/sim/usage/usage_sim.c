/* usage_sim.c - running pods with devices, their totals, and when those are written */
#include "sim/usage/usage_sim.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "core/device_list.h"
#include "exporter/account/account.h"
#include "exporter/account/usage.h"
#include "exporter/collect/pod_owner.h"
#include "kube/object.h"
#include "kube/object_meta.h"
#include "kube/watch.h"
#include "sched/figures/workload_wait.h"
#include "sim/node/node_object.h"
#include "sim/usage/usage_capacity.h"
#include "sim/usage/usage_sim_part.h"

#define FLUSH_MS 2000
#define MOMENT_MS 2000
#define CAPACITY_MS 10000    /* while no pod is written; else with these */
#define ALL_MS_PER_NODE 10
#define ALL_MS_PER_POD 5 /* running pods are written again the more rarely, the more there are */
#define KEEP_S (400 * 86400.0)
#define FIRST_PID 1000u
#define PIDS_N 4000000u /* as large as pids get */
#define ACTIVITY_ANNOTATION "capstan.dev/gpu-activity"
#define MEMORY_ANNOTATION "capstan.dev/gpu-memory"
#define WORKLOAD_ANNOTATION "kueue.x-k8s.io/workload"
#define VOLCANO_GROUP_ANNOTATION "scheduling.k8s.io/group-name"

enum { NODES, WORKLOADS, GROUPS, WATCHES };

/* A Kueue workload or a Volcano pod group. */
struct gang_seen {
    char *queue;
    char since[TIME_TEXT_MAX];      /* as its object says when it began to wait */
    int64_t queued_ms, admitted_ms; /* wall: of this wait, not of the one before an eviction; admitted 0: not yet, or not said */
    int64_t whole_ms;               /* wall: when a pod group was whole for the first time: pods that come later wait by themselves */
};
struct node_seen {
    struct map *devices; /* usage_devices_read; NULL none */
};
struct pod_seen {
    struct arena *arena;       /* texts of the record */
    struct usage_record record;
    const char *devices;       /* "container:nvidia.com/gpu=GPU-a,GPU-b;..." */
    const char *gang;          /* key in `gangs`; "" none */
    int64_t created_ms, bound_ms; /* wall */
    int64_t begin_ms, end_ms;  /* the loop's time; end 0: runs */
    double activity, memory;   /* told */
    double share, idle_w, busy_w;
    uint32_t pid;
    bool unwritten;
};
struct usage_sim {
    struct loop *loop;
    struct usage_store *store;
    double speed;
    struct map *pods;  /* by uid */
    struct map *running; /* by node: struct map * of the uids of its running pods, by the order of their coming */
    struct map *nodes; /* by name */
    struct map *gangs; /* "workload/ns/name", "group/ns/name" */
    struct kube_watch *watches[WATCHES];
    struct loop_timer *timer;
    struct arena *scratch;
    void (*changed)(void *arg, const char *node); /* NULL: nobody asks */
    void *changed_arg;
    struct usage_capacity_book *capacity;
    int64_t all_ms, capacity_ms; /* when all were written last */
    uint32_t pid_last;
    bool failed;    /* said already */
};

/* ---- reading objects ---- */

/* A time of the API, which has no fractions: of what has just happened the time of looking is nearer. */
static int64_t moment(const char *text, int64_t wall_ms)
{
    int64_t ms;
    if (!time_parse(bytes_of(text), &ms))
        return wall_ms;
    return ms <= wall_ms && wall_ms - ms >= MOMENT_MS ? ms : wall_ms;
}

static double told(const struct json *annotations, const char *name, double fallback)
{
    const char *text = json_get_text(annotations, name, "");
    char *end;
    double v = strtod(text, &end);
    return end == text || *end || !(v >= 0 && v <= 1) ? fallback : v;
}

static const char *gang_of(struct arena *a, const struct json *metadata)
{
    const struct json *annotations = json_get(metadata, "annotations");
    const char *ns = json_get_text(metadata, "namespace", ""), *name = json_get_text(annotations, WORKLOAD_ANNOTATION, "");
    if (*name)
        return arena_printf(a, "workload/%s/%s", ns, name);
    name = json_get_text(annotations, VOLCANO_GROUP_ANNOTATION, "");
    return *name ? arena_printf(a, "group/%s/%s", ns, name) : "";
}

static void add_given(struct buf *out, const struct json *statuses)
{
    JSON_EACH (container, statuses)
        JSON_EACH (resource, json_get(container, "allocatedResourcesStatus")) {
            const struct json *devices = json_get(resource, "resources");
            buf_printf(out, "%s%s:%s=", out->n ? ";" : "", json_get_text(container, "name", ""),
                       json_get_text(resource, "name", ""));
            JSON_EACH (device, devices)
                buf_printf(out, "%s%s", device == json_first(devices) ? "" : ",",
                           json_get_text(device, "resourceID", ""));
        }
}

/* What the kubelet gave, sidecars last; else what the scheduler chose, all for the first container. */
static const char *devices_of(struct arena *a, const struct json *pod)
{
    _cleanup_buf_ struct buf text = {0};
    add_given(&text, json_path(pod, "status", "containerStatuses", NULL));
    add_given(&text, json_path(pod, "status", "initContainerStatuses", NULL));
    if (text.n)
        return arena_text(a, text.data);
    const char *first = json_get_text(json_item(json_path(pod, "spec", "containers", NULL), 0), "name", "");
    const char *last = NULL;
    struct device_list chosen = {.rest = json_bytes(json_path(pod, "metadata", "annotations", DEVICES_ANNOTATION, NULL))};
    while (device_list_next(&chosen)) {
        const char *resource = arena_printf(a, "%s:%.*s", first, (int)chosen.resource.n, chosen.resource.data);
        device_list_add(&text, last, resource, arena_text_n(a, chosen.id.data, chosen.id.n));
        last = resource;
    }
    return arena_text(a, text.n ? text.data : "");
}

/* Of devices_of: containers one after the other. */
static uint32_t containers_n(const char *devices)
{
    uint32_t n = 0;
    for (const char *last = "", *part = devices; *part; part += strcspn(part, ";"), part += *part == ';') {
        size_t name_n = strcspn(part, ":") + 1;
        n += strncmp(last, part, name_n) != 0;
        last = part;
    }
    return n;
}

/* ---- pods ---- */

static void pod_drop(struct usage_sim *u, struct pod_seen *p, struct bytes uid)
{
    struct arena *a = p->arena; /* uid may stand in it */
    (void)map_remove(u->pods, uid);
    arena_free(a);
}

static void running_add(struct usage_sim *u, const struct usage_record *r)
{
    struct map **uids = map_put(u->running, bytes_of(r->node), NULL);
    if (!*uids)
        *uids = map_new(1);
    (void)map_put(*uids, bytes_of(r->uid), NULL); /* a set */
}

static void running_remove(struct usage_sim *u, const struct usage_record *r)
{
    struct map **uids = map_find_text(u->running, r->node);
    (void)map_remove(*uids, bytes_of(r->uid));
    if (map_count(*uids) > 0)
        return;
    map_free(*uids);
    (void)map_remove(u->running, bytes_of(r->node));
}

static void tell_change(const struct usage_sim *u, const struct pod_seen *p)
{
    if (u->changed && *p->record.node)
        u->changed(u->changed_arg, p->record.node);
}

static void pod_begin(struct usage_sim *u, const struct json *pod, const char *uid)
{
    struct arena *a = arena_new();
    const struct json *metadata = json_get(pod, "metadata"), *annotations = json_get(metadata, "annotations");
    const char *devices = devices_of(a, pod);
    if (!*devices) {
        arena_free(a);
        return;
    }
    int64_t wall_ms = loop_wall_ms(u->loop);
    struct pod_seen *p = map_put(u->pods, bytes_of(uid), NULL);
    *p = (struct pod_seen){.arena = a,
                           .devices = devices,
                           .gang = gang_of(a, metadata),
                           .created_ms = moment(json_get_text(metadata, "creationTimestamp", ""), wall_ms),
                           .bound_ms = wall_ms,
                           .begin_ms = loop_now_ms(u->loop),
                           .activity = told(annotations, ACTIVITY_ANNOTATION, 0.8),
                           .memory = told(annotations, MEMORY_ANNOTATION, 0.6),
                           .pid = FIRST_PID + u->pid_last % PIDS_N,
                           .unwritten = true};
    const struct json *scheduled = object_condition(pod, "PodScheduled");
    if (scheduled)
        p->bound_ms = moment(json_get_text(scheduled, "lastTransitionTime", ""), wall_ms);
    struct pod_owner owner = pod_owner_of(a, metadata);
    p->record = (struct usage_record){.uid = arena_text(a, uid),
                                      .ns = arena_text(a, json_get_text(metadata, "namespace", "")),
                                      .pod = arena_text(a, json_get_text(metadata, "name", "")),
                                      .job = arena_text(a, owner.job),
                                      .queue = arena_text(a, owner.queue),
                                      .user = arena_text(a, owner.user),
                                      .node = arena_text(a, json_text(json_path(pod, "spec", "nodeName", NULL), "")),
                                      .device_kind = "",
                                      .start_s = (double)wall_ms / 1000};
    u->pid_last += containers_n(devices);
    running_add(u, &p->record);
    tell_change(u, p);
}

static void pod_end(struct usage_sim *u, struct pod_seen *p)
{
    if (p->end_ms)
        return;
    p->end_ms = loop_now_ms(u->loop);
    p->record.end_s = (double)loop_wall_ms(u->loop) / 1000;
    p->unwritten = true;
    running_remove(u, &p->record);
    tell_change(u, p);
}

/* Most pods of a cluster have no GPU: their text is only searched. */
static bool may_have_devices(struct bytes text)
{
    static const char chosen[] = DEVICES_ANNOTATION, given[] = "allocatedResourcesStatus";
    return memmem(text.data, text.n, chosen, sizeof chosen - 1) || memmem(text.data, text.n, given, sizeof given - 1);
}

void usage_sim_pod(void *arg, enum kube_event event, struct bytes object)
{
    struct usage_sim *u = arg;
    if (event != KUBE_DELETED && !may_have_devices(object))
        return;
    arena_reset(u->scratch);
    const struct json *pod = json_parse(u->scratch, object, NULL, NULL);
    const char *uid = json_text(json_path(pod, "metadata", "uid", NULL), ""),
               *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    struct pod_seen *p = *uid ? map_find_text(u->pods, uid) : NULL;
    bool runs = event != KUBE_DELETED && text_equal(phase, "Running");
    if (!p && *uid && runs)
        pod_begin(u, pod, uid);
    else if (p && (event == KUBE_DELETED || text_equal(phase, "Succeeded") || text_equal(phase, "Failed")))
        pod_end(u, p);
}

/* ---- nodes, gangs ---- */

static void on_node(void *arg, enum kube_event event, struct bytes object)
{
    struct usage_sim *u = arg;
    arena_reset(u->scratch);
    const struct json *node = json_parse(u->scratch, object, NULL, NULL);
    const char *name = json_text(json_path(node, "metadata", "name", NULL), "");
    if (!*name)
        return;
    struct node_seen *n = map_put(u->nodes, bytes_of(name), NULL);
    map_free(n->devices);
    n->devices = event == KUBE_DELETED ? NULL : usage_devices_read(node);
    if (event == KUBE_DELETED)
        (void)map_remove(u->nodes, bytes_of(name));
    usage_capacity_book_node(u->capacity, name, event == KUBE_DELETED ? NULL : node, loop_now_ms(u->loop));
}

/* NULL: it is gone. */
static struct gang_seen *gang_seen(struct usage_sim *u, const char *kind, enum kube_event event, const struct json *object,
                      const char *queue, const char *since, int64_t admitted_ms)
{
    const struct json *metadata = json_get(object, "metadata");
    const char *key = arena_printf(u->scratch, "%s/%s/%s", kind, json_get_text(metadata, "namespace", ""),
                                   json_get_text(metadata, "name", ""));
    struct gang_seen *g = map_put(u->gangs, bytes_of(key), NULL);
    if (event == KUBE_DELETED) {
        free(g->queue);
        (void)map_remove(u->gangs, bytes_of(key));
        return NULL;
    }
    if (!text_equal(since, g->since)) {
        (void)snprintf(g->since, sizeof g->since, "%s", since);
        g->queued_ms = moment(since, loop_wall_ms(u->loop));
    }
    if (*queue && !text_equal(queue, g->queue)) {
        free(g->queue);
        g->queue = mem_text(queue);
    }
    if (!admitted_ms || !g->admitted_ms) /* the first time, until it is evicted */
        g->admitted_ms = admitted_ms;
    return g;
}

/* 0: the condition is not True. */
static int64_t true_since_ms(const struct usage_sim *u, const struct json *object, const char *type)
{
    const char *since = json_get_text(object_condition(object, type), "lastTransitionTime", "");
    return object_condition_true(object, type) ? moment(since, loop_wall_ms(u->loop)) : 0;
}

static void on_workload(void *arg, enum kube_event event, struct bytes object)
{
    struct usage_sim *u = arg;
    arena_reset(u->scratch);
    const struct json *w = object_parse_lean(u->scratch, object, kube_watch_body(u->watches[WORKLOADS], object), true);
    const char *queue = json_text(json_path(w, "status", "admission", "clusterQueue", NULL), "");
    (void)gang_seen(u, "workload", event, w, queue, workload_queued_since(w), true_since_ms(u, w, "Admitted"));
}

static void on_group(void *arg, enum kube_event event, struct bytes object)
{
    static const char whole[] = "\"Scheduled\"";
    struct usage_sim *u = arg;
    if (event == KUBE_MODIFIED && !memmem(object.data, object.n, whole, sizeof whole - 1))
        return; /* a look before the parse: its queue is read again when it is whole */
    arena_reset(u->scratch);
    const struct json *group = object_parse_lean(u->scratch, object, kube_watch_body(u->watches[GROUPS], object), true);
    struct gang_seen *g = gang_seen(u, "group", event, group, json_text(json_path(group, "spec", "queue", NULL), ""),
                                    json_text(json_path(group, "metadata", "creationTimestamp", NULL), ""), 0);
    if (g && !g->whole_ms)
        g->whole_ms = true_since_ms(u, group, "Scheduled");
}

/* ---- totals ---- */

/* One of a pod's. device: NULL when the node does not have it (any more). */
struct given {
    const struct usage_device *device;
    const char *container, *resource, *id;
};

/* Each device of "c:r=a,b;c:s=d". */
static void devices_each(struct usage_sim *u, struct arena *a, const struct pod_seen *p,
                         void (*fn)(void *arg, const struct given *g), void *arg)
{
    const struct node_seen *n = map_find_text(u->nodes, p->record.node);
    struct device_list l = {.rest = bytes_of(p->devices)};
    while (device_list_next(&l)) {
        char *container = arena_text_n(a, l.resource.data, l.resource.n), *resource = strchr(container, ':');
        const char *id = arena_text_n(a, l.id.data, l.id.n);
        if (!resource)
            continue;
        *resource++ = '\0';
        const struct usage_device *d = n && n->devices ? map_find_text(n->devices, arena_printf(a, "%s=%s", resource, id)) : NULL;
        fn(arg, &(struct given){d, container, resource, id});
    }
}

static void device_add(void *arg, const struct given *g)
{
    struct pod_seen *p = arg;
    const struct usage_device *d = g->device;
    if (!d)
        return;
    p->share += d->share;
    p->record.memory_granted_bytes += d->memory_bytes;
    p->idle_w += d->idle_w * d->share;
    p->busy_w += d->busy_w * d->share;
    p->record.device_kind = arena_text(p->arena, d->kind);
}

/* What its devices are together. False: the node has not said so yet. */
static bool devices_settle(struct usage_sim *u, struct pod_seen *p)
{
    if (p->share <= 0) {
        arena_reset(u->scratch);
        devices_each(u, u->scratch, p, device_add, p);
    }
    return p->share > 0;
}

static void wait_settle(struct usage_sim *u, struct pod_seen *p)
{
    const struct gang_seen *g = *p->gang ? map_find_text(u->gangs, p->gang) : NULL;
    int64_t from_ms = g ? g->queued_ms : p->created_ms, until_ms = g && g->admitted_ms ? g->admitted_ms : p->bound_ms;
    if (g && g->whole_ms && p->created_ms > g->whole_ms + MOMENT_MS)
        from_ms = p->created_ms;
    if (g && g->queue)
        p->record.queue = arena_text(p->arena, g->queue);
    if (g)
        p->gang = ""; /* it may be gone when this pod still runs */
    else if (p->record.queue_wait_s > 0)
        return;
    p->record.queue_wait_s = until_ms > from_ms ? (double)(until_ms - from_ms) / 1000 * u->speed : 0;
}

static void totals(struct usage_sim *u, struct pod_seen *p)
{
    struct usage_record *r = &p->record;
    wait_settle(u, p);
    if (!devices_settle(u, p))
        return;
    double seconds = (double)((p->end_ms ? p->end_ms : loop_now_ms(u->loop)) - p->begin_ms) / 1000 * u->speed;
    r->allocated_s = p->share * seconds;
    r->active_s = r->allocated_s * p->activity;
    r->energy_j = (p->idle_w + (p->busy_w - p->idle_w) * p->activity) * seconds;
    r->memory_high_bytes = r->memory_granted_bytes * p->memory;
    if (p->activity <= 0) {
        r->idle_tail_s = seconds;
        r->idle_s = seconds > ACCOUNT_IDLE_S ? p->share * (seconds - ACCOUNT_IDLE_S) : 0;
    } else if (p->activity < ACCOUNT_LOW_RATIO) {
        r->low_s = r->allocated_s - r->active_s;
    }
}

/* Of "c:r=a,b;c:s=d". */
static uint32_t devices_n(const char *list)
{
    uint32_t n = 1;
    for (; *(list += strcspn(list, ",;")); list++)
        n++;
    return n;
}

struct each {
    struct usage_pod pod;
    double memory, memory_each; /* part of what it was given; bytes of a device that is no more: the mean of the pod's */
    void (*on_running)(void *arg, const struct usage_pod *pod);
    void (*on_device)(void *arg, const struct usage_pod *pod, const char *resource, const char *slot);
    void *arg;
};

/* Containers are processes of their own. */
static void each_device(void *arg, const struct given *g)
{
    struct each *x = arg;
    if (!x->pod.container || !text_equal(x->pod.container, g->container)) {
        x->pod.pid += x->pod.container != NULL;
        x->pod.container = g->container;
        x->on_running(x->arg, &x->pod);
    }
    x->pod.memory_bytes = (g->device ? g->device->memory_bytes : x->memory_each) * x->memory;
    x->on_device(x->arg, &x->pod, g->resource, g->id);
}

void usage_sim_each(struct usage_sim *u, const char *node, void (*on_running)(void *arg, const struct usage_pod *pod),
                    void (*on_device)(void *arg, const struct usage_pod *pod, const char *resource, const char *slot), void *arg)
{
    struct map **uids = map_find_text(u->running, node);
    size_t at = 0;
    struct bytes uid;
    arena_reset(u->scratch);
    while (uids && map_next(*uids, &at, &uid)) {
        struct pod_seen *p = map_find(u->pods, uid);
        const struct usage_record *r = &p->record;
        wait_settle(u, p); /* its queue */
        struct each x = {{r->ns, r->pod, NULL, r->uid, r->queue, r->job, r->user, p->pid, r->start_s, p->activity, 0},
                         p->memory, r->memory_granted_bytes / devices_n(p->devices), on_running, on_device, arg};
        devices_each(u, u->scratch, p, each_device, &x);
    }
}

/* Capacity beside what was given of it, so that a report adds up; by itself more rarely, as a cluster that does nothing shall do. */
static int write_capacity(struct usage_sim *u, bool pods_written, bool now, struct err *e)
{
    int64_t now_ms = loop_now_ms(u->loop), least_ms = (int64_t)usage_capacity_book_nodes_n(u->capacity) * ALL_MS_PER_NODE;
    if (!pods_written && least_ms < CAPACITY_MS)
        least_ms = CAPACITY_MS;
    if (!now && now_ms - u->capacity_ms < least_ms)
        return 0;
    u->capacity_ms = now_ms;
    return usage_capacity_book_write(u->capacity, u->store, now_ms, (double)loop_wall_ms(u->loop) / 1000, e);
}

/* Write those that are new or have ended, and from time to time all. */
static void flush(struct usage_sim *u, bool all, bool now)
{
    struct usage_record *records = mem_alloc((map_count(u->pods) + 1) * sizeof *records);
    uint32_t n = 0;
    struct err e = {0};
    size_t at = 0;
    struct bytes uid;
    for (struct pod_seen *p; (p = map_next(u->pods, &at, &uid));)
        if (all || p->unwritten) {
            totals(u, p);
            records[n++] = p->record;
        }
    int r = usage_put(u->store, records, n, (double)loop_wall_ms(u->loop) / 1000, &e);
    if (r == 0)
        r = write_capacity(u, n > 0, now, &e);
    free(records);
    if (r < 0 && !u->failed)
        log_warning("usage is not written, kept and tried again error=\"%s\"", e.text);
    u->failed = r < 0;
    if (r < 0)
        return;
    at = 0;
    for (struct pod_seen *p; (p = map_next(u->pods, &at, &uid));) {
        p->unwritten = p->unwritten && !p->end_ms && p->share <= 0; /* the node is not known yet */
        if (p->end_ms)
            pod_drop(u, p, uid);
    }
}

static void on_timer(void *arg)
{
    struct usage_sim *u = arg;
    int64_t now_ms = loop_now_ms(u->loop);
    bool all = now_ms - u->all_ms >= (int64_t)map_count(u->pods) * ALL_MS_PER_POD;
    if (all)
        u->all_ms = now_ms;
    flush(u, all, false);
}

/* ---- life ---- */

int usage_sim_new(struct kube_client *c, const char *path, double speed, struct usage_sim **ret_u, struct err *e)
{
    struct usage_store *store = NULL;
    int r = usage_open(path, &store, e);
    if (r < 0)
        return r;
    struct usage_sim *u = mem_zero(1, sizeof *u);
    *u = (struct usage_sim){.loop = kube_client_loop(c), .store = store, .speed = speed};
    u->pods = map_new(sizeof(struct pod_seen));
    u->running = map_new(sizeof(struct map *));
    u->nodes = map_new(sizeof(struct node_seen));
    u->gangs = map_new(sizeof(struct gang_seen));
    u->scratch = arena_new();
    u->capacity = usage_capacity_book_new(speed);
    if (usage_prune(store, (double)loop_wall_ms(u->loop) / 1000 - KEEP_S, e) < 0)
        log_warning("old usage is kept error=\"%s\"", e->text);
    const struct kube_watch_config watches[] = {
        [NODES] = {.path = "/api/v1/nodes", .on_event = on_node, .arg = u},
        [WORKLOADS] = {.path = "/apis/kueue.x-k8s.io/v1beta2/workloads", .optional = true, .on_event = on_workload, .arg = u},
        [GROUPS] = {.path = "/apis/scheduling.volcano.sh/v1beta1/podgroups", .optional = true, .on_event = on_group, .arg = u},
    };
    for (size_t i = 0; i < WATCHES; i++)
        u->watches[i] = kube_watch_new(c, &watches[i]);
    u->timer = loop_timer_new(u->loop, on_timer, u);
    loop_timer_start(u->timer, FLUSH_MS, FLUSH_MS);
    *ret_u = u;
    return 0;
}

void usage_sim_on_change(struct usage_sim *u, void (*fn)(void *arg, const char *node), void *arg)
{
    u->changed = fn;
    u->changed_arg = arg;
}

void usage_sim_free(struct usage_sim *u)
{
    if (!u)
        return;
    flush(u, true, true);
    for (size_t i = 0; i < sizeof u->watches / sizeof *u->watches; i++)
        kube_watch_free(u->watches[i]);
    loop_timer_free(u->timer);
    size_t at = 0;
    struct bytes key;
    for (struct pod_seen *p; (p = map_next(u->pods, &at, &key));)
        arena_free(p->arena);
    at = 0;
    for (struct map **uids; (uids = map_next(u->running, &at, &key));)
        map_free(*uids);
    at = 0;
    for (struct node_seen *n; (n = map_next(u->nodes, &at, &key));)
        map_free(n->devices);
    at = 0;
    for (struct gang_seen *g; (g = map_next(u->gangs, &at, &key));)
        free(g->queue);
    map_free(u->pods);
    map_free(u->running);
    map_free(u->nodes);
    map_free(u->gangs);
    usage_capacity_book_free(u->capacity);
    arena_free(u->scratch);
    usage_close(u->store);
    free(u);
}
