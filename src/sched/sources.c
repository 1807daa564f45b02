/* sources.c - every watch of the scheduler: API objects come in, changes go to the loop
 *
 * Callbacks decode and enqueue, nothing else. Pods and nodes are many and are not kept as text; the rest is kept in
 * caches, since the reports need the objects again.
 */
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "codec/kinds/scale_up_names.h"
#include "sched/checks/held_nodes.h"
#include "sched/checks/queue_checks.h"
#include "sched/checks/scale_up.h"
#include "sched/domains/unadmitted_pods.h"
#include "sched/groups/composites.h"
#include "sched/scheduler.h"
#include "sched/workload_metrics.h"

enum { LIFT_MS = 200, QUEUE_LOOK_MS = 200 };

struct change *sources_push(struct scheduler *s)
{
    MEM_RESERVE(s->incoming, s->incoming_cap, s->incoming_n + 1);
    struct change *c = &s->incoming[s->incoming_n++];
    memset(c, 0, sizeof *c);
    scheduler_ask_turn(s);
    return c;
}

static void push_gone(struct scheduler *s, enum change_type type, name_id name)
{
    struct change *c = sources_push(s);
    c->type = type;
    c->gone = name;
}

const struct change *sources_next(struct scheduler *s)
{
    if (s->alike_n)
        seen_read_alike(s);
    composites_follow(s->composites);
    return s->incoming_at < s->incoming_n ? &s->incoming[s->incoming_at++] : NULL;
}

void sources_drained(struct scheduler *s)
{
    if (s->incoming_at < s->incoming_n)
        return;
    s->incoming_at = s->incoming_n = 0;
    arena_reset(s->incoming_arena);
}

/* ---- pods, nodes, namespaces, priority classes ---- */

static void log_undecodable(const char *what, struct bytes object, const struct err *e)
{
    log_warning("cannot read %s error=\"%s\" object=\"%.*s\"", what, e->text, (int)(object.n < 120 ? object.n : 120),
                object.data);
}

static name_id object_name_id(struct scheduler *s, struct bytes object, bool with_ns)
{
    arena_reset(s->scratch);
    const struct json *o = json_parse(s->scratch, object, NULL, NULL);
    return intern_text_id(s->names, with_ns ? object_key(s->scratch, o) : object_meta(o, "name"));
}

/* WHY  What it says already is not written again, after a restart neither. Only pods that wait are looked into. */
static void note_told(struct scheduler *s, const struct pod_record *pod, struct bytes object)
{
    static const char type[] = "\"PodScheduled\"";
    struct seen_pod *p = seen_pod(s, pod->key);
    bool waits = p && pod->ours && !pod->node && memmem(object.data, object.n, type, sizeof type - 1);
    if (!waits) {
        if (p && p->told)
            seen_pod_told(p, (struct bytes){0}, (struct bytes){0});
        return;
    }
    arena_reset(s->scratch);
    const struct json *o = json_parse(s->scratch, object, NULL, NULL);
    const struct json *said = object_condition(o, "PodScheduled");
    seen_pod_told(p, json_bytes(json_get(said, "message")), json_bytes(json_get(said, "reason")));
}

/* Its owner sees why it waits. The recorder counts repeats. */
static void tell_undecodable(struct scheduler *s, struct bytes object, const struct err *e)
{
    arena_reset(s->scratch);
    const struct json *o = json_parse(s->scratch, object, NULL, NULL);
    const char *scheduler = json_text(json_path(o, "spec", "schedulerName", NULL), "");
    name_id id = intern_find(s->names, bytes_of(scheduler));
    bool ours = false;
    for (uint32_t i = 0; id && i < s->decoder.schedulers_n; i++)
        ours |= s->decoder.schedulers[i] == id;
    struct kube_object_ref about = {"v1", "Pod", object_meta(o, "namespace"), object_meta(o, "name"), object_meta(o, "uid")};
    if (ours && s->leading)
        kube_event(s->events, &about, "Warning", "FailedScheduling", "the pod cannot be scheduled as it is written: %s", e->text);
}

/* All of a gang that waited for machines stand: what was held for it and is not needed is free. */
static void note_stands(struct scheduler *s, const struct pod_record *pod)
{
    const char *gang = pod->gang && pod->node ? intern_name(s->names, pod->gang) : "";
    const struct seen_gang *g = held_nodes_awaited(s->held, gang) ? seen_gang(s, pod->gang) : NULL;
    if (g && g->bound_n == (int32_t)g->pods_n)
        held_nodes_wait_no_more(s->held, gang);
}

static void on_pod(void *arg, enum kube_event event, struct bytes object)
{
    struct scheduler *s = arg;
    if (event == KUBE_DELETED) {
        name_id key = object_name_id(s, object, true);
        unadmitted_pods_gone(s->unadmitted, intern_name(s->names, key));
        seen_pod_gone(s, key);
        push_gone(s, CHANGE_POD_GONE, key);
        return;
    }
    struct pod_record pod;
    struct err e;
    if (decode_pod(&s->decoder, object, &pod, &e) < 0) {
        log_undecodable("pod", object, &e);
        tell_undecodable(s, object, &e);
        return;
    }
    pod.gated |= unadmitted_pods_hold(s->unadmitted, intern_name(s->names, pod.key), &pod, object);
    held_nodes_tolerate(s->incoming_arena, s->names, &pod);
    seen_pod_apply(s, &pod);
    note_stands(s, &pod);
    note_told(s, &pod, object);
    seen_pod_object(s, &pod, object);
    struct change *c = sources_push(s);
    c->type = CHANGE_POD;
    c->pod = pod;
}

void sources_pod_again(void *arg, struct bytes object)
{
    on_pod(arg, KUBE_MODIFIED, object);
}

void sources_hold_changed(void *arg, struct bytes object, const char *holder)
{
    struct scheduler *s = arg;
    struct node_record node;
    struct err e;
    if (decode_node(&s->decoder, object, &node, &e) < 0) {
        log_undecodable("node", object, &e);
        return;
    }
    if (s->on_node)
        s->on_node(s->on_node_arg, intern_name(s->names, node.name), object, &node);
    if (holder)
        held_nodes_taint(s->incoming_arena, s->names, &node, holder);
    struct change *c = sources_push(s);
    c->type = CHANGE_NODE;
    c->node = node;
}

static void on_node(void *arg, enum kube_event event, struct bytes object)
{
    struct scheduler *s = arg;
    if (event != KUBE_DELETED) {
        sources_hold_changed(s, object, held_nodes_of(s->held, object, loop_wall_ms(s->loop)));
        return;
    }
    name_id name = object_name_id(s, object, false);
    if (s->on_node)
        s->on_node(s->on_node_arg, intern_name(s->names, name), (struct bytes){0}, NULL);
    held_nodes_gone(s->held, intern_name(s->names, name));
    push_gone(s, CHANGE_NODE_GONE, name);
}

void sources_node_again(struct scheduler *s, struct bytes object)
{
    on_node(s, KUBE_MODIFIED, object);
}

static void on_namespace(void *arg, enum kube_event event, struct bytes object)
{
    struct scheduler *s = arg;
    struct err e;
    struct namespace_record ns;
    if (event == KUBE_DELETED) {
        push_gone(s, CHANGE_NAMESPACE_GONE, object_name_id(s, object, false));
        return;
    }
    arena_reset(s->scratch);
    const struct json *o = json_parse(s->scratch, object, NULL, &e);
    if (!o || decode_namespace(&s->decoder, o, &ns, &e) < 0) {
        log_undecodable("namespace", object, &e);
        return;
    }
    struct change *c = sources_push(s);
    c->type = CHANGE_NAMESPACE;
    c->ns = ns;
}

static void on_budget(void *arg, enum kube_event event, struct bytes object)
{
    struct scheduler *s = arg;
    struct budget_record budget;
    struct err e;
    if (event == KUBE_DELETED) {
        push_gone(s, CHANGE_BUDGET_GONE, object_name_id(s, object, true));
        return;
    }
    arena_reset(s->scratch);
    const struct json *o = json_parse(s->scratch, object, NULL, &e);
    if (!o || decode_budget(&s->decoder, o, &budget, &e) < 0) {
        log_undecodable("disruption budget", object, &e);
        return;
    }
    struct change *c = sources_push(s);
    c->type = CHANGE_BUDGET;
    c->budget = budget;
}

static void on_budgets_denied(void *arg)
{
    (void)arg;
    log_warning("disruption budgets may not be read: pods that they protect are preempted like others; let the scheduler's ClusterRole get, "
                "list and watch poddisruptionbudgets of group policy");
}

/* ---- kinds that are kept ---- */

static const struct {
    const char *path; /* NULL: native_paths */
    enum change_type type, gone;
    const char *prefix; /* of the core's name for it; NULL: of a gang */
    bool namespaced;
    enum gang_source source;
} kinds[SOURCES_N] = {
    [SOURCE_TOPOLOGIES] = {"/apis/kueue.x-k8s.io/v1beta2/topologies", CHANGE_TOPOLOGY, CHANGE_TOPOLOGY_GONE, "", false},
    [SOURCE_FLAVORS] = {"/apis/kueue.x-k8s.io/v1beta2/resourceflavors", CHANGE_FLAVOR, CHANGE_FLAVOR_GONE, "", false},
    [SOURCE_COHORTS] = {"/apis/kueue.x-k8s.io/v1beta2/cohorts", CHANGE_COHORT, CHANGE_COHORT_GONE, "", false},
    [SOURCE_QUEUES] = {"/apis/kueue.x-k8s.io/v1beta2/clusterqueues", CHANGE_QUEUE, CHANGE_QUEUE_GONE, "", false},
    [SOURCE_LOCAL_QUEUES] = {"/apis/kueue.x-k8s.io/v1beta2/localqueues", CHANGE_LOCAL_QUEUE, CHANGE_LOCAL_QUEUE_GONE,
                             "", true},
    [SOURCE_CHECKS] = {"/apis/kueue.x-k8s.io/v1beta2/admissionchecks", .prefix = "", .namespaced = false},
    [SOURCE_HYPERNODES] = {"/apis/topology.volcano.sh/v1alpha1/hypernodes", .prefix = "", .namespaced = false},
    [SOURCE_COMPOSITES] = {COMPOSITES_PATH, .namespaced = true},
    [SOURCE_WORKLOADS] = {"/apis/kueue.x-k8s.io/v1beta2/workloads", CHANGE_GANG, CHANGE_GANG_GONE, NULL, true, GANG_WORKLOAD},
    [SOURCE_VOLCANO_QUEUES] = {"/apis/scheduling.volcano.sh/v1beta1/queues", CHANGE_QUEUE, CHANGE_QUEUE_GONE,
                               DECODE_VOLCANO_QUEUE_PREFIX, false},
    [SOURCE_VOLCANO_GROUPS] = {"/apis/scheduling.volcano.sh/v1beta1/podgroups", CHANGE_GANG, CHANGE_GANG_GONE, NULL, true, GANG_VOLCANO},
    [SOURCE_COSCHEDULING] = {"/apis/scheduling.x-k8s.io/v1alpha1/podgroups", CHANGE_GANG, CHANGE_GANG_GONE, NULL, true, GANG_COSCHEDULING},
    [SOURCE_NATIVE] = {NULL, CHANGE_GANG, CHANGE_GANG_GONE, NULL, true, GANG_NATIVE},
    [SOURCE_KAI] = {"/apis/scheduling.run.ai/v2alpha2/podgroups", CHANGE_GANG, CHANGE_GANG_GONE, NULL, true, GANG_KAI},
};

/* No Queue says whether who waits in it may end who has a lower priority there: in Volcano all are told so, or none. */
static int take_volcano_queue(const struct scheduler *s, const struct json *o, struct queue_record *ret_queue, struct err *e)
{
    int r = decode_volcano_queue(&s->decoder, o, ret_queue, e);
    if (r == 0)
        ret_queue->within_queue = s->config.policy.volcano_preempt ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER;
    return r;
}

static int take_workload(struct scheduler *s, const struct json *o, struct gang_record *ret_gang, struct err *e)
{
    int r = decode_workload(&s->decoder, o, ret_gang, e);
    if (r == 0)
        run_notes_expect(s, o, ret_gang);
    return r;
}

static int decode_kind(struct scheduler *s, enum source_id id, const struct json *o, struct change *c, struct err *e)
{
    const struct decoder *d = &s->decoder;
    switch (id) {
    case SOURCE_TOPOLOGIES:
        return decode_topology(d, o, &c->topology, e);
    case SOURCE_FLAVORS:
        return decode_flavor(d, o, &c->flavor, e);
    case SOURCE_COHORTS:
        return decode_cohort(d, o, &c->cohort, e);
    case SOURCE_QUEUES:
        return decode_cluster_queue(d, o, &c->queue, e);
    case SOURCE_LOCAL_QUEUES:
        return decode_local_queue(d, o, &c->local_queue, e);
    case SOURCE_CHECKS:
    case SOURCE_HYPERNODES:
    case SOURCE_COMPOSITES:
        break; /* the core knows them by what they make of queues; by the topology that all of them make; by their trees */
    case SOURCE_WORKLOADS:
        return take_workload(s, o, &c->gang, e);
    case SOURCE_VOLCANO_QUEUES:
        return take_volcano_queue(s, o, &c->queue, e);
    case SOURCE_VOLCANO_GROUPS:
        return decode_volcano_pod_group(d, o, &c->gang, e);
    case SOURCE_COSCHEDULING:
        if (decode_coscheduling_pod_group(d, o, &c->gang, e) < 0)
            return -E_INVALID;
        seen_gang_rank(s, &c->gang);
        return 0;
    case SOURCE_NATIVE:
        return decode_native_pod_group(d, o, &c->gang, e);
    case SOURCE_KAI:
        return decode_kai_pod_group(d, o, &c->gang, e);
    case SOURCES_N:
        break;
    }
    return -E_INVALID;
}

static struct workqueue *queue_of(struct scheduler *s, enum source_id id)
{
    switch (id) {
    case SOURCE_QUEUES:
        return s->queue_work;
    case SOURCE_COHORTS:
        return s->cohort_work;
    case SOURCE_LOCAL_QUEUES:
        return s->local_queue_work;
    case SOURCE_WORKLOADS:
        return s->workload_work;
    case SOURCE_VOLCANO_QUEUES:
        return s->volcano_queue_work;
    case SOURCE_VOLCANO_GROUPS:
        return s->group_work;
    case SOURCE_COSCHEDULING:
        return s->coscheduling_work;
    case SOURCE_NATIVE:
        return s->native_work;
    case SOURCE_COMPOSITES:
        return s->composite_work;
    case SOURCE_KAI:
        return s->kai_work;
    case SOURCE_TOPOLOGIES:
    case SOURCE_FLAVORS:
    case SOURCE_CHECKS:
    case SOURCE_HYPERNODES:
    case SOURCES_N:
        break;
    }
    return NULL;
}

static void forget_local_queue(struct scheduler *s, const char *key)
{
    char ns[256];
    const char *name;
    pod_key_split(key, ns, &name);
    metrics_forget_local_queue(s->metrics, ns, name);
}

static void kind_gone(struct source *source, const char *key)
{
    struct scheduler *s = source->scheduler;
    const char *name = kinds[source->id].namespaced ? key : key + 1; /* cluster scope: "/name" */
    const char *prefix = kinds[source->id].prefix ? kinds[source->id].prefix : decode_gang_prefix(kinds[source->id].source);
    name_id id = intern_text_id(s->names, arena_printf(s->scratch, "%s%s", prefix, name));
    map_remove(source->specs, bytes_of(key));
    map_remove(source->held, bytes_of(key));
    map_remove(source->demands, bytes_of(key));
    if (source->id == SOURCE_VOLCANO_GROUPS)
        status_volcano_queue_changed(s, group_tally_remove(s->tally, key));
    if (source->id == SOURCE_QUEUES)
        metrics_forget_queue(s->metrics, name);
    if (source->id == SOURCE_COHORTS)
        metrics_forget_cohort(s->metrics, name);
    if (source->id == SOURCE_LOCAL_QUEUES)
        forget_local_queue(s, name);
    if (source->id == SOURCE_WORKLOADS)
        held_nodes_wait_no_more(s->held, intern_name(s->names, id));
    if (kinds[source->id].gone == CHANGE_GANG_GONE)
        seen_gang_gone(s, id);
    push_gone(s, kinds[source->id].gone, id);
}

/* Only its status was written, most likely by ourselves: nothing that the core reads. */
static bool is_status_only(struct source *source, const char *key, const struct json *o)
{
    int64_t generation = json_int64(json_path(o, "metadata", "generation", NULL), 0);
    if (source->id > SOURCE_LOCAL_QUEUES || generation == 0)
        return false;
    const char *backfill = object_annotation(o, DECODE_BACKFILL_ANNOTATION), *placement = object_annotation(o, DECODE_PLACEMENT_ANNOTATION);
    const char *moves = object_annotation(o, DECODE_MOVE_COST_ANNOTATION);
    const char *text = arena_printf(source->scheduler->scratch, "%s %lld %s %s %s %s", object_meta(o, "uid"), (long long)generation,
                                    object_meta(o, "deletionTimestamp"), backfill, placement, moves);
    uint64_t hash = hash_bytes(text, strlen(text), 0), *seen = map_put(source->specs, bytes_of(key), NULL);
    bool same = *seen == hash;
    *seen = hash;
    return same;
}

/* ---- who says something of it ---- */

/* Objects are found by what their queue's status, or that of those below it, is made of. */
static void mark(struct source *source, const char *key, const struct json *o)
{
    const struct json *spec = json_get(o, "spec");
    if (source->id == SOURCE_LOCAL_QUEUES)
        kube_cache_mark(source->cache, key, json_get_text(spec, "clusterQueue", ""));
    if (source->id == SOURCE_VOLCANO_QUEUES)
        kube_cache_mark(source->cache, key, json_get_text(spec, "parent", ""));
    if (source->id != SOURCE_VOLCANO_GROUPS)
        return;
    const char *queue = json_get_text(spec, "queue", "");
    status_group_count(source, key, *queue ? queue : "default", json_text(json_path(o, "status", "phase", NULL), ""));
}

/* Queues whose status says something of this one, or of all, and has to say it anew. */
static void tell_queues(struct source *source, const char *key, struct bytes object)
{
    struct scheduler *s = source->scheduler;
    bool shares = source->id == SOURCE_QUEUES && s->config.policy.fair.on; /* what one has changes what others could borrow */
    if (source->id == SOURCE_TOPOLOGIES || source->id == SOURCE_FLAVORS || source->id == SOURCE_COHORTS || shares)
        status_queues_changed(s);
    else if (source->id == SOURCE_QUEUES)
        status_local_queues_of(s, key + 1); /* "/name" */
    else if (source->id == SOURCE_LOCAL_QUEUES)
        status_cluster_queue_of(s, json_parse(s->scratch, object, NULL, NULL));
}

/* ---- lifted holds ---- */

struct lift {
    struct lift *next;
    struct source *source;
    struct loop_timer *timer;
    char *key;
};

static bool is_held(const struct change *c)
{
    return (c->type == CHANGE_QUEUE && c->queue.stop != STOP_NONE) || (c->type == CHANGE_LOCAL_QUEUE && c->local_queue.stop != STOP_NONE);
}

static void lift_free(struct lift *l)
{
    loop_timer_free(l->timer);
    free(l->key);
    free(l);
}

static void on_lift(void *arg)
{
    struct lift *l = arg, **at = &l->source->scheduler->lifts;
    struct scheduler *s = l->source->scheduler;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    arena_reset(s->scratch);
    const struct json *o = source_get(s, l->source->id, l->key, s->scratch);
    struct change c = {.type = kinds[l->source->id].type};
    if (o && decode_kind(s, l->source->id, o, &c, NULL) == 0 && !is_held(&c)) { /* else it was gone, or held again, and that was told */
        *sources_push(s) = c;
        workqueue_add_after(queue_of(s, l->source->id), l->key,
                            QUEUE_LOOK_MS); /* what it says was written of a queue that still was held */
        tell_queues(l->source, l->key, kube_cache_raw(l->source->cache, object_meta(o, "namespace"), object_meta(o, "name")));
    }
    lift_free(l);
}

/* A hold was lifted: the core is told a little later. True: it will be.
 * RACE  Workloads come by a watch of their own: some that were made before may still be on their way, and the best must not come last. */
static bool is_lifted(struct source *source, const char *key, const struct change *c)
{
    struct scheduler *s = source->scheduler;
    if (is_held(c))
        (void)map_put(source->held, bytes_of(key), NULL);
    else if (map_remove(source->held, bytes_of(key))) {
        struct lift *l = mem_zero(1, sizeof *l);
        *l = (struct lift){.next = s->lifts, .source = source, .timer = loop_timer_new(s->loop, on_lift, l), .key = mem_text(key)};
        s->lifts = l;
        loop_timer_start(l->timer, LIFT_MS, 0);
        return true;
    }
    return false;
}

/* WHY  whoever led until now has written into their status what they have used, and of such changes the core is not told. */
void sources_tell_local_queues(struct scheduler *s)
{
    struct bytes key, raw;
    for (size_t at = 0; kube_cache_next(s->sources[SOURCE_LOCAL_QUEUES].cache, &at, &key, &raw);) {
        struct change c = {.type = CHANGE_LOCAL_QUEUE};
        arena_reset(s->scratch);
        const struct json *o = json_parse(s->scratch, raw, NULL, NULL);
        if (o && decode_kind(s, SOURCE_LOCAL_QUEUES, o, &c, NULL) == 0)
            *sources_push(s) = c;
    }
}

static void follow_demands(struct source *source, const char *key, const struct json *queue);

static void note_waits(struct scheduler *s, name_id gang, const struct json *workload)
{
    const struct seen_gang *g = seen_gang(s, gang);
    bool stands = g && g->pods_n && g->bound_n == (int32_t)g->pods_n;
    if (!stands && scale_up_waits(s->scratch, workload))
        held_nodes_wait(s->held, intern_name(s->names, gang), workload);
    else
        held_nodes_wait_no_more(s->held, intern_name(s->names, gang));
}

/* Returns false when it is no news to the core. */
static bool kind_changed(struct source *source, const char *key, struct bytes object)
{
    struct scheduler *s = source->scheduler;
    struct change c = {.type = kinds[source->id].type};
    struct err e;
    const struct json *o = json_parse(s->scratch, object, NULL, &e);
    if (!o || decode_kind(s, source->id, o, &c, &e) < 0) {
        log_undecodable(key, object, &e);
        return false;
    }
    mark(source, key, o);
    if (source->id == SOURCE_LOCAL_QUEUES && !workload_metrics_names(s, o))
        forget_local_queue(s, key);
    if (is_status_only(source, key, o))
        return false;
    if (source->id == SOURCE_QUEUES)
        follow_demands(source, key, o);
    if (c.type == CHANGE_GANG)
        seen_gang_apply(s, &c.gang);
    if (source->id == SOURCE_WORKLOADS) {
        run_named(seen_gang(s, c.gang.key), o);
        workload_metrics_seen(s, seen_gang(s, c.gang.key), o);
        run_note_workload(s, seen_gang(s, c.gang.key), o);
        note_waits(s, c.gang.key, o);
    }
    bool is_told = source->id == SOURCE_NATIVE && composites_take(s->composites, key, o);
    if (!is_told && !is_lifted(source, key, &c))
        *sources_push(s) = c;
    return true;
}

/* ---- admission checks ---- */

struct json *sources_checks_wrong(const struct scheduler *s, const struct json *spec, struct arena *a)
{
    return queue_checks_wrong(a, spec, status_find_check, (void *)s);
}

static const char *checks_problem(void *ctx, const struct json *spec, struct arena *a)
{
    const char *text = NULL;
    JSON_EACH (one, sources_checks_wrong(ctx, spec, a))
        text = text ? arena_printf(a, "%s, %s", text, json_get_text(one, "message", "")) : json_get_text(one, "message", "");
    return text;
}

/* A check came, went or is another: queues that demand it may admit now, or no longer. */
static void look_for_machines(struct scheduler *s)
{
    bool used = false; /* also where only an annotation says so: no harm */
    struct bytes key, raw;
    for (size_t at = 0; !used && kube_cache_next(s->sources[SOURCE_CHECKS].cache, &at, &key, &raw);)
        used = memmem(raw.data, raw.n, SCALE_UP_CONTROLLER, strlen(SCALE_UP_CONTROLLER));
    held_nodes_use(s->held, used);
}

static void on_check(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    const struct source *checks = arg;
    struct scheduler *s = checks->scheduler;
    struct source *queues = &s->sources[SOURCE_QUEUES];
    struct bytes at, raw;
    (void)object;
    look_for_machines(s);
    if (s->leading && event != KUBE_DELETED)
        workqueue_add(s->check_work, key);
    for (size_t i = 0; queues->cache && kube_cache_next(queues->cache, &i, &at, &raw);) {
        if (!memmem(raw.data, raw.n, key + 1, strlen(key + 1)))
            continue;
        arena_reset(s->scratch);
        const char *queue = arena_text_n(s->scratch, at.data, at.n);
        map_remove(queues->specs, at); /* it is news, although its own spec is not */
        (void)kind_changed(queues, queue, raw);
        if (!s->leading)
            continue;
        workqueue_add_after(s->queue_work, queue, QUEUE_LOOK_MS);
        status_local_queues_of(s, queue + 1);
    }
}

/* Of all that check_list_demanded looks at; 0: no checks. */
static uint64_t hash_of_demands(const struct json *spec)
{
    const struct json *demands = json_get(spec, "admissionChecksStrategy");
    _cleanup_buf_ struct buf text = {0};
    if (!demands)
        return 0;
    json_write(&text, demands);
    JSON_EACH (group, json_get(spec, "resourceGroups"))
        JSON_EACH (flavor, json_get(group, "flavors"))
            buf_printf(&text, " %s", json_get_text(flavor, "name", ""));
    return hash_bytes(text.data, text.n, 0) | 1;
}

/* Its queue demands other checks than before: what its Workloads list follows, whether they wait or run. */
static void follow_demands(struct source *source, const char *key, const struct json *queue)
{
    struct scheduler *s = source->scheduler;
    uint64_t *was = map_find(source->demands, bytes_of(key)), is = hash_of_demands(json_get(queue, "spec"));
    if (is == (was ? *was : 0))
        return;
    if (is)
        *(uint64_t *)map_put(source->demands, bytes_of(key), NULL) = is;
    else
        map_remove(source->demands, bytes_of(key));
    struct bytes at, raw;
    for (size_t i = 0; s->leading && kube_cache_next(s->sources[SOURCE_WORKLOADS].cache, &i, &at, &raw);)
        workqueue_add(s->workload_work, at.data);
}

static void on_kind(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct source *source = arg;
    struct scheduler *s = source->scheduler;
    arena_reset(s->scratch);
    if (event == KUBE_DELETED && source->id == SOURCE_NATIVE)
        composites_gone(s->composites, key, object);
    if (event == KUBE_DELETED)
        kind_gone(source, key);
    bool is_echo = event != KUBE_DELETED && source->id == SOURCE_VOLCANO_GROUPS && status_group_is_echo(source, key, object);
    bool news = event == KUBE_DELETED || (!is_echo && kind_changed(source, key, object));
    if (source->id == SOURCE_FLAVORS && event != KUBE_DELETED)
        held_nodes_look(s->held);
    if (source->id == SOURCE_VOLCANO_QUEUES && event != KUBE_MODIFIED)
        sources_read_groups(s, SOURCE_KAI);
    if (!s->leading)
        return;
    struct workqueue *queue = queue_of(s, source->id);
    if (queue && source->id == SOURCE_VOLCANO_GROUPS && event != KUBE_DELETED)
        workqueue_add_change(queue, key, kube_cache_version(source->cache));
    else if (queue && event != KUBE_DELETED)
        workqueue_add_after(queue, key, source->id == SOURCE_QUEUES || source->id == SOURCE_LOCAL_QUEUES ? QUEUE_LOOK_MS : 0);
    if (news)
        tell_queues(source, key, object);
}

static void on_list(void *arg)
{
    scheduler_synced(arg);
}

/* ORDER  nodes after checks: whether those that come are kept for somebody is known by then. */
static void checks_listed(struct scheduler *s)
{
    struct kube_watch_config nodes = {.path = "/api/v1/nodes", .on_event = on_node, .on_synced = on_list, .arg = s};
    look_for_machines(s);
    if (!s->nodes_watch)
        s->nodes_watch = kube_watch_new(s->client, &nodes);
}

static void on_kind_list(void *arg)
{
    struct source *source = arg;
    if (source->id == SOURCE_CHECKS)
        checks_listed(source->scheduler);
    scheduler_synced(source->scheduler);
}

/* All of it, what lies in a namespace, or what has this word in its text, is read again. */
static void read_all(struct source *source, struct bytes ns, struct bytes word)
{
    struct bytes key, raw;
    for (size_t at = 0; source->cache && kube_cache_next(source->cache, &at, &key, &raw);) {
        if ((ns.n && (key.n <= ns.n || key.data[ns.n] != '/' || memcmp(key.data, ns.data, ns.n) != 0)) ||
            !memmem(raw.data, raw.n, word.data, word.n))
            continue;
        arena_reset(source->scheduler->scratch);
        (void)kind_changed(source, arena_text_n(source->scheduler->scratch, key.data, key.n), raw);
    }
}

/* Groups name priority classes, not numbers: those that came before their class are read again. */
static void read_groups_of(struct scheduler *s, const char *class)
{
    for (int i = SOURCE_VOLCANO_GROUPS; i < SOURCES_N; i++)
        read_all(&s->sources[i], (struct bytes){0}, bytes_of(class));
}

static void on_class(void *arg, enum kube_event event, struct bytes object)
{
    struct scheduler *s = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *o = json_parse(a, object, NULL, NULL);
    const char *name = object_meta(o, "name");
    if (event == KUBE_DELETED)
        map_remove(s->classes, bytes_of(name));
    else
        *(int32_t *)map_put(s->classes, bytes_of(name), NULL) = (int32_t)json_get_int64(o, "value", 0);
    if (event == KUBE_ADDED && kube_watch_synced(s->classes_watch))
        read_groups_of(s, name);
}

static void on_class_list(void *arg)
{
    read_groups_of(arg, "");
    scheduler_synced(arg);
}

void sources_read_workloads(struct scheduler *s, struct bytes ns)
{
    read_all(&s->sources[SOURCE_WORKLOADS], ns, BYTES(""));
}

void source_read_again(struct scheduler *s, enum source_id id, const char *key)
{
    _cleanup_arena_ struct arena *a = arena_new(); /* whoever asks may be about another object */
    const struct json *o = source_get(s, id, key, a);
    struct change c = {.type = kinds[id].type};
    if (o && decode_kind(s, id, o, &c, NULL) == 0)
        *sources_push(s) = c;
}

void sources_read_groups(struct scheduler *s, enum source_id id)
{
    read_all(&s->sources[id], (struct bytes){0}, BYTES(""));
}

void sources_start(struct scheduler *s)
{
    hypernodes_start(s);
    template_sources_start(s);
    s->decoder.checks_problem = checks_problem;
    for (int i = 0; i < SOURCES_N; i++) {
        struct source *source = &s->sources[i];
        source->scheduler = s;
        source->id = (enum source_id)i;
        source->specs = map_new(sizeof(uint64_t));
        source->held = map_new(1);
        source->demands = map_new(sizeof(uint64_t));
        bool native = i == SOURCE_NATIVE;
        struct kube_cache_config config = {.watch = {.path = native ? native_paths[0] : kinds[i].path,
                                                     .older_paths = native ? native_paths + 1 : NULL,
                                                     .optional = true,
                                                     .on_denied = i == SOURCE_COMPOSITES ? composites_on_denied : NULL},
                                           .on_change = i == SOURCE_CHECKS       ? on_check
                                                        : i == SOURCE_HYPERNODES ? hypernodes_on_change
                                                        : i == SOURCE_COMPOSITES ? composites_on_change
                                                                                 : on_kind,
                                           .on_synced = on_kind_list,
                                           .arg = source};
        source->cache = kube_cache_new(s->client, &config);
    }
    composites_begin(s->composites, s->sources[SOURCE_NATIVE].cache, s->sources[SOURCE_COMPOSITES].cache);
    struct kube_watch_config classes = {.path = "/apis/scheduling.k8s.io/v1/priorityclasses", .optional = true,
                                        .on_event = on_class, .on_synced = on_class_list, .arg = s};
    struct kube_watch_config namespaces = {.path = "/api/v1/namespaces", .on_event = on_namespace, .on_synced = on_list, .arg = s};
    struct kube_watch_config pods = {.path = "/api/v1/pods", .on_event = on_pod, .on_synced = on_list, .arg = s};
    s->classes_watch = kube_watch_new(s->client, &classes);
    s->namespaces_watch = kube_watch_new(s->client, &namespaces);
    struct kube_watch_config budgets = {.path = "/apis/policy/v1/poddisruptionbudgets",
                                        .optional = true,
                                        .on_event = on_budget,
                                        .on_denied = on_budgets_denied,
                                        .on_synced = on_list,
                                        .arg = s};
    s->budgets_watch = kube_watch_new(s->client, &budgets);
    s->pods_watch = kube_watch_new(s->client, &pods);
}

void sources_stop(struct scheduler *s)
{
    template_sources_stop(s);
    hypernodes_stop(s);
    kube_watch_free(s->pods_watch);
    kube_watch_free(s->nodes_watch);
    kube_watch_free(s->namespaces_watch);
    kube_watch_free(s->classes_watch);
    kube_watch_free(s->budgets_watch);
    for (int i = 0; i < SOURCES_N; i++) {
        kube_cache_free(s->sources[i].cache);
        map_free(s->sources[i].specs);
        map_free(s->sources[i].held);
        map_free(s->sources[i].demands);
    }
    while (s->lifts) {
        struct lift *next = s->lifts->next;
        lift_free(s->lifts);
        s->lifts = next;
    }
}

bool sources_synced(const struct scheduler *s)
{
    for (int i = 0; i < SOURCES_N; i++)
        if (!kube_cache_synced(s->sources[i].cache))
            return false;
    return s->pods_watch && template_sources_synced(s) && kube_watch_synced(s->classes_watch) && kube_watch_synced(s->namespaces_watch) &&
           hypernodes_synced(s) &&
           kube_watch_synced(s->budgets_watch) && s->nodes_watch && kube_watch_synced(s->nodes_watch) && kube_watch_synced(s->pods_watch);
}

struct json *source_get(const struct scheduler *s, enum source_id id, const char *key, struct arena *a)
{
    const char *slash = strchr(key, '/');
    if (!slash)
        return NULL;
    return kube_cache_get(s->sources[id].cache, arena_text_n(a, key, (size_t)(slash - key)), slash + 1, a);
}
