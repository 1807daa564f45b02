/* status_pod.c - a pod that waits says why: condition PodScheduled=False, event FailedScheduling; and for which node, once others of lower
 * priority leave it: nominatedNodeName
 *
 * LIMIT  telling.h, without its budget: whoever makes nodes for pods reads the condition. Ten thousand waiting pods are ten thousand writes
 *        once, but not each time that one node changes. The node is written at once, and the condition with it.
 */
#include "base/clock.h"
#include "base/collections/map.h"
#include "sched/binding/queue_gates.h"
#include "sched/machines/machine_source.h"
#include "sched/scheduler.h"

#define GROUP_WAIT_MS 5000 /* a controller makes it with the first pods, or soon after */
#define OPENED_MS 100      /* by then it has been seen so, and is told why it waits */
#define ROOM_LOOK_MS 2000  /* others that were let through the gate of their queue may stand, or be gone */

static void add_condition(struct scheduler *s, struct arena *a, struct json *patch, const char *reason, const char *text)
{
    char now[TIME_TEXT_MAX];
    struct json *condition = json_new(a, JSON_OBJECT);
    json_set_text(a, condition, "type", "PodScheduled");
    json_set_text(a, condition, "status", "False");
    json_set_text(a, condition, "reason", reason);
    json_set_text(a, condition, "message", text);
    json_set_text(a, condition, "lastTransitionTime", time_format(now, loop_wall_ms(s->loop)));
    json_append(json_ensure_array(a, json_ensure_object(a, patch, "status"), "conditions"), condition);
}

/* text NULL: what the condition says stays. */
static void tell(struct scheduler *s, struct work *w, struct seen_pod *p, const char *reason, const char *text, const char *tree,
                 bool nominates, name_id node)
{
    struct arena *a = w->arena;
    struct json *patch = json_new(a, JSON_OBJECT), *meta = json_ensure_object(a, patch, "metadata");
    if (text)
        add_condition(s, a, patch, reason, text);
    if (nominates) {
        json_set(a, json_ensure_object(a, patch, "status"), "nominatedNodeName",
                 node ? json_new_text(a, intern_name(s->names, node)) : json_new(a, JSON_NULL));
        p->nominating = node;
        p->nominating_ms = loop_now_ms(s->loop);
    }
    /* The precondition: not a successor of the same name. */
    json_set_text(a, meta, "uid", intern_name(s->names, p->uid));
    if (text && tree) /* the status of a pod takes annotations along */
        json_set_text(a, json_ensure_object(a, meta, "annotations"), OBJECT_REASON, tree);
    work_patch(w, KUBE_PATCH_STRATEGIC, kube_path(a, "", "v1", "pods", w->ns, w->name, "status"), patch);
}

/* Is the node that others leave for it another one than its status says? Not again before what was sent has come back. */
static bool nominates(struct scheduler *s, struct work *w, const struct seen_pod *p, const struct seen_gang *g)
{
    if (g->source != GANG_POD || g->nominated == p->nominated)
        return false;
    int64_t wait_ms = p->nominating_ms + TELLING_ECHO_MS - loop_now_ms(s->loop);
    if (!p->nominating_ms || p->nominating != g->nominated || wait_ms <= 0)
        return true;
    work_again(w, wait_ms);
    return false;
}

/* LIMIT  the object itself is not kept: after a restart the tree is taken for said. */
static enum telling_rest rest_of(const struct seen_pod *p, const char *tree)
{
    if (!tree || !p->told_tree || p->told_tree == hash_bytes(tree, strlen(tree), 1))
        return REST_IS_SAID;
    return telling_parts(tree) & ~p->told_parts ? REST_IS_NEWS : REST_DIFFERS;
}

/* Pods of a Workload's first burst that do not exist. */
static int64_t unmade_n(struct scheduler *s, struct seen_gang *g)
{
    if (g->source != GANG_WORKLOAD)
        return 0;
    if (g->unmade.joined_ms == g->joined_ms && g->unmade.pods_n == g->pods_n)
        return g->unmade.n;
    int64_t n = state_gang_unmade(s->state, g->key);
    if (s->incoming_at == s->incoming_n) { /* else the core has not heard of all that came */
        g->unmade.joined_ms = g->joined_ms;
        g->unmade.pods_n = g->pods_n;
        g->unmade.n = n;
    }
    return n;
}

/* WHY  autoscalers look for exactly the first word: who waits for quota, or for members that are not made yet, is none of theirs, and of a
 * gang that they see in part they would buy for that part alone. */
static const char *reason_of(const struct seen_gang *g, bool is_whole)
{
    if (!is_whole)
        return POD_AWAITS_MEMBERS;
    if (g->wants_nodes && g->machines != MACHINE_FITS)
        return g->machines == MACHINE_LIMITED ? POD_MACHINES_LIMITED : POD_NO_MACHINE;
    return g->wants_nodes ? POD_UNSCHEDULABLE : g->code;
}

static bool awaits_group(const struct scheduler *s, const struct seen_gang *g)
{
    return g->source != GANG_POD && g->source != GANG_WORKLOAD && !g->has_object && state_gang_phase(s->state, g->key) == GANG_UNKNOWN;
}

void status_pod_awaits_group(struct scheduler *s, const struct seen_pod *p, const struct seen_gang *g)
{
    bool awaits = g->source != GANG_POD && g->source != GANG_WORKLOAD && !g->has_object;
    if (awaits && p->ours && !p->bound && !p->gated && !p->deleting)
        workqueue_add_after(s->pod_work, intern_name(s->names, p->key), GROUP_WAIT_MS);
}

/* WHY  nobody who makes nodes is to see a pod before there is room for it in its queue. NULL: its gate is being opened. Else what there is
 * to say beside why it waits. */
static const char *look_at_gate(struct scheduler *s, struct work *w, const struct seen_pod *p, const struct seen_gang *g, bool is_whole)
{
    struct arena *a = w->arena;
    name_id queue = seen_volcano_queue_of(s, p->key);
    if (!g->wants_nodes || !is_whole)
        return "";
    if (queue && !queue_gates_has_room(s->queue_gates, queue, g->pods, g->pods_n, loop_now_ms(s->loop))) {
        work_again(w, ROOM_LOOK_MS);
        return arena_printf(a, "; it stays at its gate, for what queue %s has left is for pods that were let through before",
                            intern_name(s->names, g->queue_title));
    }
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set_text(a, json_ensure_object(a, patch, "metadata"), "uid", intern_name(s->names, p->uid));
    json_set(a, json_ensure_object(a, patch, "spec"), "schedulingGates", json_new(a, JSON_NULL));
    queue_gates_opening(s->queue_gates, p->key);
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, "", "v1", "pods", w->ns, w->name, NULL), patch);
    work_again(w, OPENED_MS);
    return NULL;
}

void status_pod(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    name_id key = intern_find(s->names, bytes_of(w->key));
    struct seen_pod *p = key ? seen_pod(s, key) : NULL;
    if (!s->leading || !p || p->bound || p->deleting || p->gated || !p->ours)
        return;
    struct seen_gang *g = seen_gang(s, p->gang);
    bool no_group = g && awaits_group(s, g);
    if (!g || !(g->text || no_group))
        return;
    if (work_failed(w)) /* WHY not after the time of an echo: of a gang, an autoscaler would buy for the others meanwhile */
        p->telling.sent_ms = 0;
    if (p->told_machines && g->machines == MACHINE_FITS) /* all of its pods are declared together */
        p->telling.told_ms = 0;
    if (p->told_awaits && !g->members_missing) /* the same: each was told at another time that it waits */
        p->telling.told_ms = 0;
    int64_t lacking_n = unmade_n(s, g);
    bool is_whole = !g->members_missing && !lacking_n, is_shut = queue_gates_is_shut(s->queue_gates, p->key);
    const char *gate = is_shut && !no_group ? look_at_gate(s, w, p, g, is_whole) : "";
    if (!gate)
        return;
    const char *text = no_group    ? arena_printf(w->arena, "%s %s, of which it is, does not exist", explain_kind_of(g->source),
                                            seen_gang_object(s, g))
                       : lacking_n ? arena_printf(w->arena, "%lld more pods of it are to be made", (long long)lacking_n)
                       : *gate     ? arena_printf(w->arena, "%s%s", g->text, gate)
                                   : g->text;
    const char *reason = is_shut ? POD_GATED : no_group ? POD_AWAITS_GROUP : reason_of(g, is_whole);
    const char *told = p->told_unschedulable == text_equal(reason, POD_UNSCHEDULABLE) ? p->told : NULL;
    const char *tree = g->source == GANG_POD ? g->tree : NULL;
    int64_t now_ms = loop_now_ms(s->loop);
    bool is_news = !told || telling_cause(told) != telling_cause(text), nominating = nominates(s, w, p, g);
    int64_t wait_ms = telling_wait_ms(&p->telling, NULL, text, told, rest_of(p, tree), is_whole ? TELLING_SETTLE_MS : TELLING_MEMBERS_MS,
                                      is_whole && g->source != GANG_WORKLOAD ? 0 : g->joined_ms, now_ms);
    if (wait_ms > 0)
        work_again(w, wait_ms);
    bool says = wait_ms == 0 || (wait_ms > 0 && nominating && g->nominated); /* one write for both */
    if (says || nominating)
        tell(s, w, p, reason, says ? text : NULL, tree, nominating, g->nominated);
    if (!says)
        return;
    telling_sent(&p->telling, now_ms);
    p->told_tree = tree ? hash_bytes(tree, strlen(tree), 1) : 0;
    p->told_parts = tree ? telling_parts(tree) : 0;
    struct kube_object_ref about = {"v1", "Pod", w->ns, w->name, intern_name(s->names, p->uid)};
    if (is_news)
        kube_event(s->events, &about, "Warning", "FailedScheduling", "%s", text);
}
