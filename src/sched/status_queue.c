/* status_queue.c - status of ClusterQueues, Cohorts, LocalQueues and Volcano Queues
 *
 * LIMIT  changes are collected for 200 ms; figures alone are written at the pace of figures (pace.h), anything else at once.
 */
#include <stdio.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/limits.h"
#include "base/quantity.h"
#include "codec/kinds/placement_names.h"
#include "sched/scheduler.h"

enum { COLLECT_MS = 200, AFTER_TURN_MS = 20, KEPT_OUT_LOOK_MS = 5000, SAID_MOST = 64 };

/* RACE changes have come in that the core gets at the end of this turn only: its figures are stale until then. */
static bool comes_too_early(const struct scheduler *s, struct work *w)
{
    if (s->turn_asked)
        work_again(w, AFTER_TURN_MS);
    return s->turn_asked;
}

/* NULL: the list has as many as it may. */
static struct json *flavor_entry(struct arena *a, struct json *list, const char *flavor)
{
    JSON_EACH (entry, list)
        if (strcmp(json_get_text(entry, "name", ""), flavor) == 0)
            return entry;
    if (list->n == LIMIT_STATUS_FLAVORS)
        return NULL;
    struct json *entry = json_new(a, JSON_OBJECT);
    json_set_text(a, entry, "name", flavor);
    json_append(list, entry);
    return entry;
}

/* [{name: flavor, resources: [{name, total, borrowed?}]}] of what is reserved, or of what is in use. */
static struct json *usage_list(struct scheduler *s, struct arena *a, const struct queue_usage *rows, uint32_t n,
                               bool used, bool with_borrowed)
{
    struct json *list = json_new(a, JSON_ARRAY);
    for (uint32_t i = 0; i < n; i++) {
        const char *resource = intern_name(s->names, rows[i].resource);
        struct json *entry = flavor_entry(a, list, intern_name(s->names, rows[i].flavor)),
                    *item = json_new(a, JSON_OBJECT);
        if (!entry)
            continue;
        json_set_text(a, item, "name", resource);
        json_set_text(a, item, "total", status_amount(a, resource, used ? rows[i].used : rows[i].reserved));
        if (with_borrowed)
            json_set_text(a, item, "borrowed", status_amount(a, resource, used ? rows[i].used_borrowed : rows[i].borrowed));
        json_append(json_ensure_array(a, entry, "resources"), item);
    }
    return list;
}

/* WHY  a list of nothing is left out, as Kueue does: an empty one would be written again and again by who compares. */
static void usage_set(struct json *status, const char *key, struct json *list, struct arena *a)
{
    if (list->n)
        json_set(a, status, key, list);
    else
        (void)json_remove(status, key);
}

static void counts_set(struct arena *a, struct json *status, const struct queue_counts *counts)
{
    json_set_int64(a, status, "pendingWorkloads", counts->pending_n);
    json_set_int64(a, status, "reservingWorkloads", counts->reserving_n);
    json_set_int64(a, status, "admittedWorkloads", counts->admitted_n);
}

static struct json *conditions_of(struct arena *a, struct json *status)
{
    return json_ensure_array(a, status, "conditions");
}

static uint64_t hash_of(const struct json *v)
{
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, v);
    return hash_bytes(text.data, text.n, 0);
}

/* Only what differs, and not too often. moved: more than figures. */
static void queue_status_send(struct scheduler *s, struct work *w, const struct json *object, struct json *status, const char *plural,
                              bool moved)
{
    struct json *diff = object_diff(w->arena, json_get(object, "status"), status);
    if (!diff)
        return;
    const char *key = arena_printf(w->arena, "%s/%s", plural, w->key);
    int64_t now_ms = loop_now_ms(s->loop),
            wait_ms = moved || json_get(diff, "conditions") ? 0 : pace_rest_ms(s->pace, key, hash_of(diff), now_ms);
    if (wait_ms > 0) {
        work_again(w, wait_ms);
        return;
    }
    bool is_volcano = strcmp(plural, "queues") == 0;
    pace_written(s->pace, key, now_ms);
    work_patch_status(w,
                      kube_path(w->arena, is_volcano ? "scheduling.volcano.sh" : "kueue.x-k8s.io", is_volcano ? "v1beta1" : "v1beta2",
                                plural, w->ns, w->name, "status"),
                      object, diff);
}

/* ---- fair sharing ---- */

/* WHY  removed where it is off: it would stay there for ever, and be wrong. */
static void share_set(struct scheduler *s, struct arena *a, struct json *status, name_id name, bool is_cohort)
{
    int64_t share;
    if (s->config.policy.fair.on && state_share(s->state, name, is_cohort, &share))
        json_set_int64(a, json_ensure_object(a, status, "fairSharing"), "weightedShare", share);
    else
        (void)json_remove(status, "fairSharing");
}

/* Who is above a queue whose usage may be another one. */
static void cohorts_changed(struct scheduler *s, name_id queue)
{
    name_id above[LIMIT_COHORT_DEPTH];
    char key[300];
    uint32_t n = s->config.policy.fair.on ? state_cohorts_above(s->state, queue, above, LIMIT_COHORT_DEPTH) : 0;
    for (uint32_t i = 0; i < n; i++) {
        snprintf(key, sizeof key, "/%s", intern_name(s->names, above[i]));
        workqueue_add_after(s->cohort_work, key, COLLECT_MS);
    }
}

void status_cohort(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    if (comes_too_early(s, w))
        return;
    const struct json *cohort = s->leading ? source_get(s, SOURCE_COHORTS, w->key, w->arena) : NULL;
    if (!cohort)
        return; /* one that only queues name has no object */
    struct json *status = object_status_copy(w->arena, cohort);
    share_set(s, w->arena, status, intern_find(s->names, bytes_of(w->name)), true);
    queue_status_send(s, w, cohort, status, "cohorts", false);
}

/* ---- ClusterQueue ---- */

static void queue_condition(struct scheduler *s, struct arena *a, const struct json *queue,
                            const struct reason *problem, struct json *status)
{
    const char *reason, *message;
    status_queue_ready(s, a, queue, problem, &reason, &message);
    (void)object_condition_set(a, conditions_of(a, status), "Active", !problem && !object_deleting(queue), reason,
                               message, loop_wall_ms(s->loop), object_generation_of(queue));
}

static void drop_condition(struct json *conditions, const char *type)
{
    JSON_EACH (condition, conditions)
        if (strcmp(json_get_text(condition, "type", ""), type) == 0) {
            (void)json_remove_item(conditions, condition);
            return;
        }
}

/* Its annotation, where it does nothing. */
static void backfill_condition(struct scheduler *s, struct arena *a, const struct json *queue, struct json *status)
{
    const char *said = object_annotation(queue, DECODE_BACKFILL_ANNOTATION), *message;
    bool strict = strcmp(json_text(json_path(queue, "spec", "queueingStrategy", NULL), ""), "StrictFIFO") == 0;
    enum queue_backfill backfill;
    bool read = !*said || decode_backfill(bytes_of(said), &backfill), in_vain = *said && (!read || (backfill != BACKFILL_NONE && strict));
    struct json *conditions = conditions_of(a, status);
    message = read ? "In a StrictFIFO queue nobody passes who waits"
                   : arena_printf(a, "metadata.annotations[" DECODE_BACKFILL_ANNOTATION "]: \"%s\" is none of easy, conservative and none", said);
    if (in_vain)
        (void)object_condition_set(a, conditions, QUEUE_BACKFILL, false, read ? "StrictFIFO" : "InvalidValue", message,
                                   loop_wall_ms(s->loop), object_generation_of(queue));
    else
        drop_condition(conditions, QUEUE_BACKFILL);
}

/* What its annotation names that is no policy, and what holds instead; NULL: nothing is wrong. */
static const char *placement_wrong(struct arena *a, const struct json *queue, const struct queue_placement *kept)
{
    const char *said = object_annotation(queue, DECODE_PLACEMENT_ANNOTATION);
    return decode_queue_placement(queue, a).unread
               ? arena_printf(a, "metadata.annotations[" DECODE_PLACEMENT_ANNOTATION "]: \"%.*s\": write " PLACEMENT_WORDS "; the policy stays %s",
                              SAID_MOST, said, kept->own ? placement_name(kept->by) : "that of all")
               : NULL;
}

static void placement_condition(struct scheduler *s, struct arena *a, const struct json *queue, name_id name, struct json *status)
{
    struct queue_placement kept = {0};
    (void)state_queue_placement(s->state, name, &kept);
    const char *wrong = placement_wrong(a, queue, &kept);
    policy_source_tell(s, &(struct kube_object_ref){"kueue.x-k8s.io/v1beta2", "ClusterQueue", "", object_meta(queue, "name"),
                                                    object_meta(queue, "uid")}, wrong);
    if (wrong || kept.own)
        (void)object_condition_set(a, conditions_of(a, status), QUEUE_PLACEMENT, !wrong, wrong ? "InvalidValue" : "Taken",
                                   wrong ? wrong : arena_printf(a, "Nodes are chosen by %s", placement_name(kept.by)),
                                   loop_wall_ms(s->loop), object_generation_of(queue));
    else
        drop_condition(conditions_of(a, status), QUEUE_PLACEMENT);
}

void status_cluster_queue(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    if (comes_too_early(s, w))
        return;
    struct arena *a = w->arena;
    const struct json *queue = s->leading ? source_get(s, SOURCE_QUEUES, w->key, a) : NULL;
    struct queue_counts counts;
    name_id name = intern_find(s->names, bytes_of(w->name));
    if (!queue) /* gone, or another one leads: who does says it again */
        policy_source_tell(s, &(struct kube_object_ref){.kind = "ClusterQueue", .name = w->name}, NULL);
    if (!queue || !name || !state_queue_counts(s->state, name, &counts))
        return;
    struct json *status = object_status_copy(a, queue);
    struct queue_usage *rows;
    uint32_t n = state_queue_usage(s->state, name, a, &rows);
    counts_set(a, status, &counts);
    usage_set(status, "flavorsReservation", usage_list(s, a, rows, n, false, true), a);
    usage_set(status, "flavorsUsage", usage_list(s, a, rows, n, true, true), a);
    share_set(s, a, status, name, false);
    cohorts_changed(s, name);
    queue_condition(s, a, queue, state_queue_problem(s->state, name, a), status);
    backfill_condition(s, a, queue, status);
    placement_condition(s, a, queue, name, status);
    queue_status_send(s, w, queue, status, "clusterqueues", false);
}

/* ---- LocalQueue ---- */

static void local_queue_condition(struct scheduler *s, struct arena *a, const struct json *queue, struct json *status)
{
    const char *cluster_queue = json_text(json_path(queue, "spec", "clusterQueue", NULL), ""), *reason = "Ready";
    const char *message = "Can submit new workloads to localQueue";
    const char *stop = json_text(json_path(queue, "spec", "stopPolicy", NULL), "None");
    name_id id = intern_find(s->names, bytes_of(cluster_queue));
    const struct json *object = source_get(s, SOURCE_QUEUES, arena_printf(a, "/%s", cluster_queue), a);
    if (strcmp(stop, "None") != 0) {
        reason = "Stopped";
        message = "LocalQueue is stopped";
    } else if (!object) {
        reason = "ClusterQueueDoesNotExist";
        message = "Can't submit new workloads to clusterQueue";
    } else if (id && state_queue_problem(s->state, id, a)) {
        reason = "ClusterQueueIsInactive";
        message = "Can't submit new workloads to clusterQueue";
    }
    (void)object_condition_set(a, conditions_of(a, status), "Active", strcmp(reason, "Ready") == 0, reason, message,
                               loop_wall_ms(s->loop), object_generation_of(queue));
}

/* WHY six digits  a half-life later half of it is left, whatever stands behind them; and each digit more is a write more at rest. */
static __int128 six_digits(__int128 value)
{
    __int128 unit = 1;
    while (value / unit >= 1000000)
        unit *= 10;
    return value - value % unit;
}

static struct json *consumed_list(struct scheduler *s, struct arena *a, const struct consumption_look *look)
{
    struct json *all = json_new(a, JSON_OBJECT);
    for (uint32_t i = 0; i < look->consumed_n; i++) {
        const struct fine_amount *one = &look->consumed[i];
        char text[QUANTITY_TEXT_MAX];
        struct quantity q = {six_digits((__int128)one->units * FINE_PER_UNIT + one->nano), QUANTITY_DECIMAL_SI};
        json_set_text(a, all, intern_name(s->names, one->resource), quantity_format(text, q));
    }
    return all;
}

/* What it has used of late: the core's only memory of that (core/queue/consumption.h). WHY  lastUpdate goes with another amount only: what
 * stays the same from one sampling to the next will do so from there, too. */
static void consumption_set(struct scheduler *s, struct arena *a, struct json *status, name_id key)
{
    struct consumption_look look;
    char text[TIME_TEXT_MAX];
    if (!state_local_queue_consumption(s->state, key, a, &look)) {
        (void)json_remove(status, "fairSharing");
        return;
    }
    struct json *fair = json_ensure_object(a, status, "fairSharing"), *told = json_ensure_object(a, fair, "admissionFairSharingStatus"),
                *consumed = consumed_list(s, a, &look);
    const struct json *before = json_get(told, "consumedResources");
    json_set_int64(a, fair, "weightedShare", look.share == INT64_MAX ? look.share : (int64_t)six_digits(look.share));
    if (before && json_equal(before, consumed))
        return;
    json_set(a, told, "consumedResources", consumed);
    json_set_text(a, told, "lastUpdate", time_format(text, look.at_ms ? look.at_ms : loop_wall_ms(s->loop)));
}

void status_local_queue(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    if (comes_too_early(s, w))
        return;
    struct arena *a = w->arena;
    const struct json *queue = s->leading ? source_get(s, SOURCE_LOCAL_QUEUES, w->key, a) : NULL;
    struct queue_counts counts;
    name_id key = intern_find(s->names, bytes_of(w->key));
    if (!queue || !key || !state_local_queue_counts(s->state, key, &counts))
        return;
    struct json *status = object_status_copy(a, queue);
    struct queue_usage *rows;
    uint32_t n = state_local_queue_usage(s->state, key, a, &rows);
    const char *above = json_text(json_path(queue, "spec", "clusterQueue", NULL), "");
    if (!kube_cache_raw(s->sources[SOURCE_QUEUES].cache, "", above).n) /* SOURCE Kueue: what runs on is nobody's who could tell */
        counts.reserving_n = counts.admitted_n = 0;
    counts_set(a, status, &counts);
    usage_set(status, "flavorsReservation", usage_list(s, a, rows, n, false, false), a);
    usage_set(status, "flavorsUsage", usage_list(s, a, rows, n, true, false), a);
    consumption_set(s, a, status, key);
    local_queue_condition(s, a, queue, status);
    queue_status_send(s, w, queue, status, "localqueues", false);
}

/* ---- Volcano Queue ---- */

#define CLOSED_BY_PARENT "volcano.sh/closed-by-parent"

static bool is_shut(const char *state)
{
    return strcmp(state, "Closed") == 0 || strcmp(state, "Closing") == 0;
}

static const char *queue_state(const struct json *queue)
{
    return json_text(json_path(queue, "status", "state", NULL), "Open");
}

static void mark_closed_by_parent(struct work *w, bool by_parent)
{
    struct arena *a = w->arena;
    struct json *patch = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, patch, "metadata");
    json_set_text(a, json_ensure_object(a, metadata, "annotations"), CLOSED_BY_PARENT, by_parent ? "true" : "false");
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, "scheduling.volcano.sh", "v1beta1", "queues", NULL, w->name, NULL),
               patch);
}

/* A queue is no more open than its parent; what the parent closed opens with it. Returns the state that follows from that. */
static const char *state_under_parent(struct scheduler *s, struct work *w, const struct json *queue, const char *state)
{
    const char *parent = json_text(json_path(queue, "spec", "parent", NULL), "");
    if (!*parent || strcmp(parent, "root") == 0 || strcmp(parent, w->name) == 0)
        return state;
    const struct json *above = source_get(s, SOURCE_VOLCANO_QUEUES, arena_printf(w->arena, "/%s", parent), w->arena);
    bool marked = strcmp(object_annotation(queue, CLOSED_BY_PARENT), "true") == 0;
    if (!above)
        return state;
    if (is_shut(queue_state(above))) {
        if (is_shut(state))
            return state;
        mark_closed_by_parent(w, true);
        return "Closed";
    }
    /* ORDER the mark goes when the queue is open: the state's own write comes first and may be repeated. */
    if (marked && !is_shut(state))
        mark_closed_by_parent(w, false);
    return marked ? "Open" : state;
}

/* Queues under this one that have not followed it yet are looked at. */
static void tell_children(struct scheduler *s, struct work *w, bool shut)
{
    size_t at = 0;
    struct bytes key, raw;
    while (strcmp(w->name, "root") != 0 && kube_cache_next_of(s->sources[SOURCE_VOLCANO_QUEUES].cache, w->name, &at, &key, &raw)) {
        const struct json *child = json_parse(w->arena, raw, NULL, NULL);
        if (is_shut(queue_state(child)) != shut)
            workqueue_add_after(s->volcano_queue_work, arena_text_n(w->arena, key.data, key.n), COLLECT_MS);
    }
}

void status_volcano_queue(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    if (comes_too_early(s, w))
        return;
    struct arena *a = w->arena;
    const struct json *queue = s->leading ? source_get(s, SOURCE_VOLCANO_QUEUES, w->key, a) : NULL;
    name_id name = intern_find(s->names, bytes_of(arena_printf(a, DECODE_VOLCANO_QUEUE_PREFIX "%s", w->name)));
    struct queue_usage *rows = NULL;
    uint32_t n = name ? state_queue_usage(s->state, name, a, &rows) : 0;
    struct group_counts counts = group_tally_of(s->tally, w->name);
    if (s->leading)
        status_groups_kept_out_by(s, a, w->name, name, rows, n);
    if (s->leading && counts.pending_n > 0)
        work_again(w, KEPT_OUT_LOOK_MS); /* RACE room that nothing told of is found all the same */
    if (!queue)
        policy_source_tell(s, &(struct kube_object_ref){.kind = "Queue", .name = w->name}, NULL);
    if (!queue)
        return;
    struct json *status = object_status_copy(a, queue);
    int64_t alive_n = counts.pending_n + counts.inqueue_n + counts.running_n + counts.unknown_n;
    const char *state = json_get_text(status, "state", "");
    if (!*state || strcmp(state, "Unknown") == 0)
        state = "Open";
    state = state_under_parent(s, w, queue, state);
    if (strcmp(state, "Closed") == 0 && alive_n > 0)
        state = "Closing";
    else if (strcmp(state, "Closing") == 0 && alive_n == 0)
        state = "Closed";
    json_set_text(a, status, "state", state);
    json_set_int64(a, status, "pending", counts.pending_n);
    json_set_int64(a, status, "inqueue", counts.inqueue_n);
    json_set_int64(a, status, "running", counts.running_n);
    json_set_int64(a, status, "unknown", counts.unknown_n);
    json_set_int64(a, status, "completed", counts.completed_n);
    struct json *allocated = json_new(a, JSON_OBJECT);
    for (uint32_t i = 0; i < n; i++) {
        const char *resource = intern_name(s->names, rows[i].resource);
        if (rows[i].reserved > 0)
            json_set_text(a, allocated, resource, status_amount(a, resource, rows[i].reserved));
    }
    json_set(a, status, "allocated", allocated);
    struct queue_placement kept = {0};
    if (name && state_queue_placement(s->state, name, &kept)) /* a Queue has no conditions: an Event alone says it */
        policy_source_tell(s, &(struct kube_object_ref){"scheduling.volcano.sh/v1beta1", "Queue", "", w->name, object_meta(queue, "uid")},
                           placement_wrong(a, queue, &kept));
    queue_status_send(s, w, queue, status, "queues", strcmp(state, json_text(json_path(queue, "status", "state", NULL), "")) != 0);
    tell_children(s, w, is_shut(state));
}

/* ---- which of them ---- */

static void all_of(struct scheduler *s, enum source_id id, struct workqueue *q)
{
    size_t at = 0;
    struct bytes key, raw;
    while (kube_cache_next(s->sources[id].cache, &at, &key, &raw)) {
        char text[600];
        snprintf(text, sizeof text, "%.*s", (int)key.n, key.data);
        workqueue_add_after(q, text, COLLECT_MS);
    }
}

void status_queues_changed(struct scheduler *s)
{
    all_of(s, SOURCE_QUEUES, s->queue_work);
    all_of(s, SOURCE_COHORTS, s->cohort_work);
    all_of(s, SOURCE_LOCAL_QUEUES, s->local_queue_work);
    all_of(s, SOURCE_VOLCANO_QUEUES, s->volcano_queue_work);
    all_of(s, SOURCE_CHECKS, s->check_work);
}

void status_local_queues_changed(struct scheduler *s)
{
    all_of(s, SOURCE_LOCAL_QUEUES, s->local_queue_work);
}

void status_local_queues_of(struct scheduler *s, const char *cluster_queue)
{
    struct bytes key, raw;
    for (size_t at = 0; kube_cache_next_of(s->sources[SOURCE_LOCAL_QUEUES].cache, cluster_queue, &at, &key, &raw);)
        workqueue_add_after(s->local_queue_work, key.data, COLLECT_MS);
}

void status_cluster_queue_of(struct scheduler *s, const struct json *local_queue)
{
    const char *name = json_text(json_path(local_queue, "spec", "clusterQueue", NULL), "");
    if (*name)
        workqueue_add_after(s->queue_work, arena_printf(s->scratch, "/%s", name), COLLECT_MS);
}

void status_volcano_queue_changed(struct scheduler *s, const char *queue)
{
    char key[300];
    if (!*queue || !s->leading)
        return;
    text_printf(key, sizeof key, "/%s", queue);
    workqueue_add_after(s->volcano_queue_work, key, COLLECT_MS);
}
