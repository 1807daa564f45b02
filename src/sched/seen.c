/* seen.c - pods and gangs as the API server last showed them
 *
 * WHY    core answers "where", reports also need "who": the members of a gang, their uids, what each object was last told.
 */
#include <stdio.h>
#include "kube/object_meta.h"
#include "sched/binding/queue_gates.h"
#include "sched/domains/gated_pods.h"
#include "sched/domains/stray_pods.h"
#include "sched/groups/composites.h"
#include "sched/machines/kept_pods.h"
#include "sched/scheduler.h"

struct seen_pod *seen_pod(struct scheduler *s, name_id key)
{
    struct seen_pod **slot = map_find_text(s->pods, intern_name(s->names, key));
    return slot ? *slot : NULL;
}

struct seen_gang *seen_gang(const struct scheduler *s, name_id key)
{
    struct seen_gang **slot = map_find_text(s->gangs, intern_name(s->names, key));
    return slot ? *slot : NULL;
}

static struct seen_gang *gang_made(struct scheduler *s, name_id key, enum gang_source source)
{
    struct seen_gang *g = seen_gang(s, key);
    if (g)
        return g;
    g = mem_zero(1, sizeof *g);
    g->key = key;
    g->source = source;
    *(struct seen_gang **)map_put(s->gangs, bytes_of(intern_name(s->names, key)), NULL) = g;
    return g;
}

const char *seen_gang_object(const struct scheduler *s, const struct seen_gang *g)
{
    return decode_gang_object(g->source, intern_name(s->names, g->key));
}

void seen_pod_told(struct seen_pod *p, struct bytes text, struct bytes reason)
{
    p->told_unschedulable = bytes_is(reason, POD_UNSCHEDULABLE);
    p->told_awaits = bytes_is(reason, POD_AWAITS_MEMBERS);
    p->told_machines = bytes_is(reason, POD_NO_MACHINE) || bytes_is(reason, POD_MACHINES_LIMITED);
    free(p->told);
    p->told = text.n ? mem_text_n(text.data, text.n) : NULL;
}

void seen_pod_remove(struct seen_pod *p, const char *event, const char *why, const char *disruption)
{
    if (p->removal)
        return;
    p->removal = mem_zero(1, sizeof *p->removal);
    *p->removal = (struct seen_removal){event, mem_text(why), disruption ? mem_text(disruption) : NULL};
}

static void removal_drop(struct seen_pod *p)
{
    if (p->removal) {
        free(p->removal->why);
        free(p->removal->disruption);
    }
    free(p->removal);
    p->removal = NULL;
    p->marking = p->marked = false;
}

static void pod_free(struct seen_pod *p)
{
    free(p->told);
    removal_drop(p);
    free(p);
}

static void gang_free(struct seen_gang *g)
{
    free(g->pods);
    free(g->text);
    free(g->code);
    free(g->tree);
    free(g->refused);
    free(g->stop_why);
    free(g);
}

static void gang_forget_if_empty(struct scheduler *s, struct seen_gang *g)
{
    if (g->has_object || g->pods_n > 0 || g->pending_n + g->running_n + g->succeeded_n + g->failed_n > 0)
        return;
    telling_drop(&g->telling, &s->tellings, loop_now_ms(s->loop));
    s->waiting_n -= g->text != NULL;
    map_remove(s->gangs, bytes_of(intern_name(s->names, g->key)));
    gang_free(g);
}

static void gang_count(struct seen_gang *g, const struct seen_pod *p, int32_t by)
{
    if (p->bound)
        g->bound_n += by;
    if (p->phase == POD_RUNNING)
        g->running_n += by;
    else if (p->phase == POD_SUCCEEDED)
        g->succeeded_n += by;
    else if (p->phase == POD_FAILED)
        g->failed_n += by;
    else
        g->pending_n += by;
}

/* The PodGroup of a pod that is of a larger gang counts it, too. */
static void part_count(struct scheduler *s, const struct seen_pod *p, int32_t by)
{
    struct seen_gang *part = p->part ? gang_made(s, p->part, GANG_NATIVE) : NULL;
    if (!part)
        return;
    gang_count(part, p, by);
    if (by < 0)
        gang_forget_if_empty(s, part);
}

/* Where its priority comes from its pods, it is another one now. */
static void group_follows(struct scheduler *s, const struct seen_gang *g, bool ranks)
{
    if (ranks && g->source == GANG_COSCHEDULING && g->has_object)
        source_read_again(s, SOURCE_COSCHEDULING, seen_gang_object(s, g));
    native_groups_named(s->natives, intern_name(s->names, g->key), ranks);
}

/* The one that has left had this priority. */
static void gang_rank_without(struct scheduler *s, struct seen_gang *g, int32_t priority)
{
    int32_t highest = INT32_MIN;
    for (uint32_t i = 0; i < g->pods_n && highest < priority; i++) {
        const struct seen_pod *p = seen_pod(s, g->pods[i]);
        highest = p->priority > highest ? p->priority : highest;
    }
    if (!g->pods_n || highest >= priority)
        return;
    g->priority = highest;
    group_follows(s, g, true);
}

static void gang_leave(struct scheduler *s, struct seen_pod *p)
{
    struct seen_gang *g = seen_gang(s, p->gang);
    if (!g)
        return;
    gang_count(g, p, -1);
    name_id last = g->pods[--g->pods_n];
    if (last != p->key) {
        g->pods[p->gang_at] = last;
        seen_pod(s, last)->gang_at = p->gang_at;
    }
    status_gang_changed(s, g);
    gang_rank_without(s, g, p->priority);
    const char *left = g->pods_n ? NULL : intern_name(s->names, g->key);
    gang_forget_if_empty(s, g);
    if (left)
        native_groups_left(s->natives, left);
}

/* Returns whether the gang has another priority by that. */
static bool gang_join(struct scheduler *s, struct seen_pod *p, struct seen_gang *g, int32_t priority)
{
    bool ranks = g->pods_n ? priority > g->priority : priority != g->priority;
    if (ranks)
        g->priority = priority;
    MEM_RESERVE(g->pods, g->pods_cap, g->pods_n + 1);
    p->gang_at = g->pods_n;
    g->pods[g->pods_n++] = p->key;
    g->joined_ms = loop_now_ms(s->loop);
    gang_count(g, p, 1);
    return ranks;
}

static name_id gang_of(struct scheduler *s, const struct pod_record *r)
{
    if (r->gang)
        return r->gang;
    char key[600];
    snprintf(key, sizeof key, "%s%s", decode_gang_prefix(GANG_POD), intern_name(s->names, r->key));
    return intern_text_id(s->names, key);
}

void seen_pod_apply(struct scheduler *s, const struct pod_record *r)
{
    struct seen_pod **slot = map_put(s->pods, bytes_of(intern_name(s->names, r->key)), NULL);
    struct seen_pod *p = *slot;
    name_id gang = gang_of(s, r);
    if (p)
        part_count(s, p, -1);
    if (!p) {
        p = *slot = mem_zero(1, sizeof *p);
        p->key = r->key;
    } else if (p->gang == gang) {
        gang_count(seen_gang(s, gang), p, -1);
    } else {
        gang_leave(s, p);
    }
    bool joins = p->gang != gang;
    name_id old_uid = p->uid;
    if (old_uid != r->uid) { /* another pod of the same name */
        seen_pod_told(p, (struct bytes){0}, (struct bytes){0});
        p->telling = (struct telling){0};
        p->nominating_ms = 0;
        removal_drop(p);
    }
    p->uid = r->uid;
    p->node = r->node;
    p->device_asks = r->device_asks;
    p->device_limits = r->device_limits;
    p->scheduler = r->scheduler;
    p->nominated = r->nominated;
    p->admitted = r->admitted;
    p->shares = r->shares;
    p->share_slots = r->share_slots;
    p->limit_s = r->limit_s;
    p->priority = r->priority;
    p->gang = gang;
    p->part = composites_part_of(s->composites, r);
    p->phase = r->phase;
    p->bound = r->node != 0;
    p->ours = r->ours;
    p->gated = r->gated;
    p->deleting = r->deleting;
    part_count(s, p, 1);
    struct seen_gang *g = gang_made(s, gang, r->gang_source);
    bool ranks = joins && gang_join(s, p, g, r->priority);
    if (!joins)
        gang_count(g, p, 1);
    group_follows(s, g, ranks);
    run_note_pods(s, g);
    status_gang_changed(s, g);
    if (joins && g->text)
        status_members_changed(s, g);
    status_pod_awaits_group(s, p, g);
    if (old_uid && old_uid != r->uid)
        bind_pod_gone(s, old_uid);
    bind_pod_seen(s, p);
}

/* When it says that it has saved (stop.c): hardly any does, and only its text has that. */
static void note_saved(struct scheduler *s, const struct pod_record *r, struct bytes object, struct bytes head)
{
    struct seen_pod *p = seen_pod(s, r->key);
    bool says = memmem(head.data, head.n, DECODE_CHECKPOINT_ANNOTATION, strlen(DECODE_CHECKPOINT_ANNOTATION)) != NULL;
    if (!p || (!says && !p->saved_ms))
        return;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *pod = says ? json_parse(a, object, NULL, NULL) : NULL;
    if (!decode_checkpoint(bytes_of(object_annotation(pod, DECODE_CHECKPOINT_ANNOTATION)), &p->saved_ms))
        p->saved_ms = 0;
}

name_id seen_volcano_queue_of(void *scheduler, name_id pod)
{
    struct scheduler *s = scheduler;
    const struct seen_pod *p = seen_pod(s, pod);
    const struct seen_gang *g = p ? seen_gang(s, p->gang) : NULL;
    if (!g || !g->queue_title || g->queue_kind != QUEUE_VOLCANO)
        return 0;
    _cleanup_buf_ struct buf name = {0};
    buf_printf(&name, DECODE_VOLCANO_QUEUE_PREFIX "%s", intern_name(s->names, g->queue_title));
    return intern_find(s->names, buf_view(&name));
}

void seen_pod_object(struct scheduler *s, const struct pod_record *p, struct bytes object)
{
    struct bytes head = object_text_head(object, kube_watch_body(s->pods_watch, object));
    gated_pods_seen(s->gated, p, object);
    queue_gates_seen(s->queue_gates, p, object);
    stray_pods_seen(s->strays, p, object);
    kept_pods_seen(s->kept, p, object, head);
    note_saved(s, p, object, head);
    composites_pod_seen(s->composites, p, object);
}

void seen_pod_gone(struct scheduler *s, name_id key)
{
    struct seen_pod *p = seen_pod(s, key);
    gated_pods_gone(s->gated, intern_name(s->names, key));
    queue_gates_gone(s->queue_gates, key);
    stray_pods_gone(s->strays, intern_name(s->names, key));
    kept_pods_gone(s->kept, intern_name(s->names, key));
    composites_pod_gone(s->composites, intern_name(s->names, key));
    if (!p)
        return;
    name_id uid = p->uid;
    part_count(s, p, -1);
    gang_leave(s, p);
    map_remove(s->pods, bytes_of(intern_name(s->names, key)));
    pod_free(p);
    bind_pod_gone(s, uid);
}

static void look_at_kept(struct scheduler *s, const struct seen_gang *g)
{
    for (uint32_t i = 0; i < g->pods_n; i++)
        kept_pods_look(s->kept, intern_name(s->names, g->pods[i]));
}

void seen_gang_apply(struct scheduler *s, const struct gang_record *r)
{
    struct seen_gang *g = gang_made(s, r->key, r->source);
    struct bytes unused;
    bool has_object = !decode_native_workload(intern_name(s->names, r->key), &unused);
    bool is_as_it_was = g->has_object == has_object && g->local_queue == r->local_queue && g->queue_title == r->queue_title &&
                        g->queue_kind == r->queue_kind && g->admitted >= r->admitted && g->fewest_n == r->min_members;
    g->has_object = has_object;
    g->local_queue = r->local_queue;
    g->queue_title = r->queue_title;
    g->queue_kind = r->queue_kind;
    if (r->admitted)
        g->admitted = true;
    if (g->fewest_n != r->min_members)
        look_at_kept(s, g);
    g->fewest_n = r->min_members;
    if (!is_as_it_was || g->source != GANG_VOLCANO) /* of those, who wrote what is asked where it was told (on_kind) */
        status_gang_changed(s, g);
}

/* SOURCE coscheduling, and Kubernetes 1.35: only pods have priorities there. */
void seen_gang_rank(const struct scheduler *s, struct gang_record *g)
{
    const struct seen_gang *seen = seen_gang(s, g->key);
    g->priority = seen ? seen->priority : 0;
}

void seen_gang_gone(struct scheduler *s, name_id key)
{
    struct seen_gang *g = seen_gang(s, key);
    hypernodes_gang_gone(s, key);
    if (!g)
        return;
    status_gang_changed(s, g);
    look_at_kept(s, g);
    g->has_object = false;
    g->fewest_n = 0;
    for (uint32_t i = 0; i < g->pods_n; i++)
        status_pod_awaits_group(s, seen_pod(s, g->pods[i]), g);
    gang_forget_if_empty(s, g);
}

void seen_read_alike(struct scheduler *s)
{
    size_t at = 0;
    struct bytes key;
    for (struct seen_gang **slot; (slot = map_next(s->gangs, &at, &key));)
        for (uint32_t i = 0; i < s->alike_n && (*slot)->has_object && !(*slot)->run_noted; i++)
            if ((*slot)->runs_as == s->alike[i]) {
                source_read_again(s, SOURCE_WORKLOADS, seen_gang_object(s, *slot));
                break;
            }
    s->alike_n = 0;
}

void seen_mark_names(struct scheduler *s)
{
    struct bytes key;
    struct seen_pod **pod;
    struct seen_gang **gang;
    for (size_t at = 0; (pod = map_next(s->pods, &at, &key));) {
        const struct seen_pod *p = *pod;
        const name_id all[] = {p->key,           p->uid,       p->gang,      p->part,      p->node, p->device_asks,
                               p->device_limits, p->scheduler, p->nominated, p->nominating};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            intern_mark(s->names, all[i]);
    }
    for (size_t at = 0; (gang = map_next(s->gangs, &at, &key));) { /* its pods are known: they are marked */
        intern_mark(s->names, (*gang)->key);
        intern_mark(s->names, (*gang)->local_queue);
        intern_mark(s->names, (*gang)->queue_title);
        intern_mark(s->names, (*gang)->nominated);
        intern_mark(s->names, (*gang)->charged_queue);
    }
    composites_mark_names(s->composites);
}

void seen_farewell(struct scheduler *s)
{
    struct bytes key;
    struct seen_gang **gang;
    for (size_t at = 0; (gang = map_next(s->gangs, &at, &key));)
        if ((*gang)->admit_sent && (*gang)->source == GANG_WORKLOAD)
            status_workload_farewell(s, *gang);
}

void seen_fini(struct scheduler *s)
{
    size_t at = 0;
    struct bytes key;
    struct seen_pod **pod;
    struct seen_gang **gang;
    while ((pod = map_next(s->pods, &at, &key)))
        pod_free(*pod);
    at = 0;
    while ((gang = map_next(s->gangs, &at, &key)))
        gang_free(*gang);
    map_free(s->pods);
    map_free(s->gangs);
}
