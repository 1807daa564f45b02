/* bind.c - one pod to one node: asked until the answer is certain
 *
 *   waits for its turn (bind_gate.h; hardly any does)
 *     v
 *   its queue's gate is opened (queue_gates.h; hardly any has one): refused is failed, as below
 *     v
 *   sent --201--> done
 *     |--404, 409 elsewhere, 4xx--> failed: the core takes the place back and tries again
 *     |--no answer, 5xx--> unknown: the place stays taken and the same bind is sent again after a while
 *     `--(the lease is lost)--> held: nothing is sent. Once we lead again it is sent, where nobody else has led meanwhile;
 *                               else its place may be another's: what was never sent has failed, what is unknown is looked up
 *
 * WHY    an answer that was lost may stand for a bind that happened; giving the place to another pod then would use a device twice. The
 *        binding carries the pod's uid, so that sending it again can hit nobody else; "already bound" is looked up.
 * OWNER  the scheduler's list.
 *
 * The gate is opened when the first pod with limits is seen; until then a bind costs nothing but the look whether it is there.
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/log.h"
#include "core/device_list.h"
#include "sched/binding/bind_gate.h"
#include "sched/binding/queue_gates.h"
#include "sched/scheduler.h"

enum { AGAIN_FIRST_MS = 100, AGAIN_MAX_MS = 5000, BODY_BYTES = 400 };

struct binding {
    struct scheduler *scheduler;
    struct binding *next, *previous;
    struct loop_timer *timer;
    name_id gang, pod, uid, node;
    int64_t again_ms;
    uint64_t term;           /* of the lease under which it was decided */
    bool at_gate, in_flight; /* neither: its timer runs, or it is held */
    bool is_unknown;         /* it was sent, and may have happened */
    char *path, *pod_path, *body;
    char *node_name;
};

static void binding_free(struct binding *b)
{
    struct scheduler *s = b->scheduler;
    *(b->previous ? &b->previous->next : &s->binds) = b->next;
    if (b->next)
        b->next->previous = b->previous;
    s->binds_in_flight_n--;
    loop_timer_free(b->timer);
    free(b->path);
    free(b->pod_path);
    free(b->body);
    free(b->node_name);
    free(b);
}

/* An answer about a pod that has been replaced by a namesake says nothing of that one's place. */
static void binding_end(struct binding *b, int code)
{
    const struct seen_pod *p = seen_pod(b->scheduler, b->pod);
    if (p && p->uid == b->uid)
        act_outcome(b->scheduler, EFFECT_BIND, b->gang, b->pod, code);
    binding_free(b);
}

static void gate_go_on(struct scheduler *s);

static void binding_done(struct binding *b)
{
    struct scheduler *s = b->scheduler;
    if (s->gate) {
        bind_gate_bound(s->gate, b->uid, loop_now_ms(s->loop));
        gate_go_on(s);
    }
    act_bound(b->scheduler, b->gang, b->pod, b->uid, b->node);
    binding_end(b, 0);
}

static void binding_failed(struct binding *b, const struct kube_answer *answer)
{
    struct scheduler *s = b->scheduler;
    name_id uid = b->uid;
    act_bind_failed(s, b->gang, b->pod, b->node, answer);
    binding_end(b, answer->code < 0 ? -answer->code : answer->code);
    if (s->gate) {
        (void)bind_gate_leave(s->gate, uid, loop_now_ms(s->loop)); /* it was sent: no ticket */
        gate_go_on(s);
    }
}

static bool is_unknown(const struct kube_answer *answer)
{
    return answer->status == 0 || answer->status == 429 || answer->status >= 500;
}

static void send_later(struct binding *b)
{
    if (!b->scheduler->leading)
        return; /* held */
    loop_timer_start(b->timer, b->again_ms, 0);
    b->again_ms = b->again_ms * 2 < AGAIN_MAX_MS ? b->again_ms * 2 : AGAIN_MAX_MS;
}

static void look_up(struct binding *b);

/* The server said "conflict", or others have led: was it bound by us? */
static void on_looked_up(void *arg, const struct kube_answer *answer)
{
    struct binding *b = arg;
    b->in_flight = false;
    if (is_unknown(answer)) {
        b->is_unknown = true;
        send_later(b);
        return;
    }
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *pod = answer->code == 0 ? json_parse(a, answer->body, NULL, NULL) : NULL;
    bool same =
        text_equal(json_text(json_path(pod, "metadata", "uid", NULL), ""), intern_name(b->scheduler->names, b->uid));
    if (same && text_equal(json_text(json_path(pod, "spec", "nodeName", NULL), ""), b->node_name)) {
        binding_done(b);
        return;
    }
    struct kube_answer conflict = {.code = -E_CONFLICT, .status = 409};
    err_set(&conflict.error, E_CONFLICT, "bound elsewhere, replaced or gated meanwhile");
    binding_failed(b, &conflict);
}

static void look_up(struct binding *b)
{
    b->in_flight = true;
    kube_get(b->scheduler->client, b->pod_path, on_looked_up, b);
}

static void on_bound(void *arg, const struct kube_answer *answer)
{
    struct binding *b = arg;
    b->in_flight = false;
    b->is_unknown = b->is_unknown || (!answer->is_unsent && is_unknown(answer));
    if (answer->code == 0)
        binding_done(b);
    else if (is_unknown(answer))
        send_later(b);
    else if (answer->status == 409)
        look_up(b);
    else
        binding_failed(b, answer);
}

/* Others have led since it was decided: its place may be taken. */
static void give_up(struct binding *b)
{
    struct scheduler *s = b->scheduler;
    if (b->is_unknown) {
        look_up(b);
        return;
    }
    if (s->gate)
        (void)bind_gate_leave(s->gate, b->uid, loop_now_ms(s->loop)); /* it does not wait there any more: no ticket */
    binding_end(b, E_CONFLICT);
}

static void binding_send(void *arg);

static void on_opened(void *arg, const struct kube_answer *answer)
{
    struct binding *b = arg;
    b->in_flight = false;
    if (answer->code == 0) {
        queue_gates_opened(b->scheduler->queue_gates, b->pod);
        binding_send(b);
    } else if (is_unknown(answer))
        send_later(b);
    else
        binding_failed(b, answer);
}

/* The uid: no successor of that name. */
static void open_gate(struct binding *b)
{
    _cleanup_buf_ struct buf patch = {0};
    buf_text(&patch, "{\"metadata\":");
    json_write_member(&patch, "uid", intern_name(b->scheduler->names, b->uid), '{');
    buf_text(&patch, "},\"spec\":{\"schedulingGates\":null}}");
    b->in_flight = true;
    kube_send(b->scheduler->client, &(struct kube_call){.lane = KUBE_LANE_BIND,
                                                        .method = "PATCH",
                                                        .path = b->pod_path,
                                                        .content_type = kube_patch_type(KUBE_PATCH_MERGE),
                                                        .body = bytes_of(patch.data),
                                                        .on_answer = on_opened,
                                                        .arg = b});
}

static void binding_send(void *arg)
{
    struct binding *b = arg;
    if (!scheduler_may_act(b->scheduler)) {
        send_later(b); /* a moment, or held */
        return;
    }
    if (b->term != b->scheduler->term) {
        give_up(b);
        return;
    }
    if (queue_gates_is_shut(b->scheduler->queue_gates, b->pod)) {
        open_gate(b);
        return;
    }
    b->in_flight = true;
    kube_send(b->scheduler->client, &(struct kube_call){.lane = KUBE_LANE_BIND,
                                                        .method = "POST",
                                                        .path = b->path,
                                                        .content_type = "application/json",
                                                        .body = bytes_of(b->body),
                                                        .on_answer = on_bound,
                                                        .arg = b});
}

/* ---- the gate ---- */

static struct bind_gate_pod gate_pod(const struct seen_pod *p, name_id node)
{
    return (struct bind_gate_pod){.uid = p->uid, .node = node, .asks = p->device_asks, .limits = p->device_limits};
}

/* Whose turn has come. */
static void gate_go_on(struct scheduler *s)
{
    for (struct binding *b; (b = bind_gate_next(s->gate));) {
        b->at_gate = false;
        binding_send(b);
    }
    if (!s->gate_timer_on && bind_gate_pods(s->gate)) {
        loop_timer_start(s->gate_timer, BIND_GATE_MS, 0);
        s->gate_timer_on = true;
    }
}

static void on_gate_timer(void *arg)
{
    struct scheduler *s = arg;
    int64_t now_ms = loop_now_ms(s->loop), due_ms = bind_gate_expire(s->gate, now_ms);
    s->gate_timer_on = due_ms > now_ms;
    if (s->gate_timer_on)
        loop_timer_start(s->gate_timer, due_ms - now_ms, 0);
    gate_go_on(s);
}

/* One that waited and has no reason to any longer: the server says what has become of the pod. */
static void gate_dismiss(struct scheduler *s, struct binding *b)
{
    const struct seen_pod *p = b ? seen_pod(s, b->pod) : NULL;
    if (!b)
        return;
    b->at_gate = false;
    if (p && p->uid == b->uid)
        binding_send(b);
    else
        binding_free(b);
}

static void gate_look_at(struct scheduler *s, const struct seen_pod *p)
{
    struct bind_gate_pod pod = gate_pod(p, p->node);
    if (p->device_asks && p->bound && !p->admitted)
        gate_dismiss(s, bind_gate_seen(s->gate, &pod, loop_now_ms(s->loop)));
    else if (p->device_asks && p->admitted)
        gate_dismiss(s, bind_gate_leave(s->gate, p->uid, loop_now_ms(s->loop)));
}

/* What was sent, and what was bound and is not admitted yet. */
static void gate_open(struct scheduler *s)
{
    size_t at = 0;
    struct bytes key;
    struct seen_pod **p;
    s->gate = bind_gate_new(s->names);
    s->gate_timer = loop_timer_new(s->loop, on_gate_timer, s);
    for (const struct binding *b = s->binds; b; b = b->next) {
        const struct seen_pod *seen = seen_pod(s, b->pod);
        if (!seen || seen->uid != b->uid || !seen->device_asks)
            continue;
        struct bind_gate_pod pod = gate_pod(seen, b->node);
        (void)bind_gate_enter(s->gate, &pod, NULL, loop_now_ms(s->loop));
    }
    while ((p = map_next(s->pods, &at, &key)))
        gate_look_at(s, *p);
}

void bind_pod_seen(struct scheduler *s, const struct seen_pod *p)
{
    if (!s->gate && p->device_limits && p->device_asks)
        gate_open(s);
    if (!s->gate)
        return;
    gate_look_at(s, p);
    gate_go_on(s);
}

void bind_pod_gone(struct scheduler *s, name_id uid)
{
    if (!s->gate)
        return;
    gate_dismiss(s, bind_gate_leave(s->gate, uid, loop_now_ms(s->loop)));
    gate_go_on(s);
}

static bool may_be_sent(struct scheduler *s, struct binding *b)
{
    const struct seen_pod *p = s->gate ? seen_pod(s, b->pod) : NULL;
    if (!p || p->uid != b->uid || !p->device_asks)
        return true;
    struct bind_gate_pod pod = gate_pod(p, b->node);
    if (bind_gate_enter(s->gate, &pod, b, loop_now_ms(s->loop)))
        return true;
    b->at_gate = true;
    s->counts.bind_waits_n++;
    log_debug("bind waits until a pod with other limits is admitted pod=%s node=%s", intern_name(s->names, b->pod),
              b->node_name);
    return false;
}

/* ---- sending ---- */

static char *binding_body(struct scheduler *s, const struct plan_entry *entry, const char *ns, const char *name)
{
    struct buf text = {0};
    buf_reserve(&text, BODY_BYTES);
    buf_text(&text, "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":");
    json_write_member(&text, "name", name, '{');
    json_write_member(&text, "namespace", ns, ',');
    json_write_member(&text, "uid", intern_name(s->names, entry->pod_uid), ',');
    if (entry->devices) {
        buf_text(&text, ",\"annotations\":");
        json_write_member(&text, DEVICES_ANNOTATION, entry->devices, '{');
        buf_char(&text, '}');
    }
    buf_text(&text, "},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\"");
    json_write_member(&text, "name", intern_name(s->names, entry->node), ',');
    buf_text(&text, "}}");
    return buf_take(&text, NULL);
}

void bind_pod(struct scheduler *s, const struct plan_entry *entry)
{
    struct arena *a = s->scratch;
    arena_reset(a);
    char ns[256];
    const char *name;
    pod_key_split(intern_name(s->names, entry->pod), ns, &name);
    struct binding *b = mem_zero(1, sizeof *b);
    *b = (struct binding){.scheduler = s,
                          .next = s->binds,
                          .gang = entry->gang,
                          .pod = entry->pod,
                          .uid = entry->pod_uid,
                          .node = entry->node,
                          .term = s->term,
                          .again_ms = AGAIN_FIRST_MS};
    b->body = binding_body(s, entry, ns, name);
    b->path = mem_text(kube_path(a, "", "v1", "pods", ns, name, "binding"));
    b->pod_path = mem_text(kube_path(a, "", "v1", "pods", ns, name, NULL));
    b->node_name = mem_text(intern_name(s->names, entry->node));
    b->timer = loop_timer_new(s->loop, binding_send, b);
    if (s->binds)
        s->binds->previous = b;
    s->binds = b;
    s->binds_in_flight_n++;
    if (may_be_sent(s, b))
        binding_send(b);
}

void binds_go_on(struct scheduler *s)
{
    for (struct binding *b = s->binds, *next; b; b = next) {
        next = b->next;
        if (!b->at_gate && !b->in_flight && !loop_timer_running(b->timer))
            binding_send(b);
    }
    if (s->gate)
        gate_go_on(s);
}

void binds_mark_names(struct scheduler *s)
{
    for (const struct binding *b = s->binds; b; b = b->next) {
        intern_mark(s->names, b->gang);
        intern_mark(s->names, b->pod);
        intern_mark(s->names, b->uid);
        intern_mark(s->names, b->node);
    }
    if (s->gate)
        bind_gate_mark_names(s->gate);
}

void binds_abandon(struct scheduler *s)
{
    while (s->binds) {
        kube_client_forget(s->client, on_bound, s->binds);
        kube_client_forget(s->client, on_opened, s->binds);
        kube_client_forget(s->client, on_looked_up, s->binds);
        binding_free(s->binds);
    }
    bind_gate_free(s->gate);
    s->gate = NULL;
    loop_timer_free(s->gate_timer);
    s->gate_timer = NULL;
}
