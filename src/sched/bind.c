/* bind.c - one pod to one node: asked until the answer is certain
 *
 *   sent --201--> done
 *     |--404, 409 elsewhere, 4xx--> failed: the core takes the place back and tries again
 *     `--no answer, 5xx--> unknown: the place stays taken and the same bind is sent again after a while
 *
 * WHY   an answer that was lost may stand for a bind that happened; giving the place to another pod then would use a
 * device twice. The binding carries the pod's uid, so that sending it again can hit nobody else; "already bound" is
 * looked up. OWNER the scheduler's list.
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/log.h"
#include "sched/scheduler.h"

enum { AGAIN_FIRST_MS = 100, AGAIN_MAX_MS = 5000 };

struct binding {
    struct scheduler *scheduler;
    struct binding *next, *previous;
    struct loop_timer *timer;
    name_id gang, pod, uid, node;
    int64_t again_ms;
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

static void binding_done(struct binding *b)
{
    act_bound(b->scheduler, b->gang, b->pod, b->uid, b->node);
    binding_end(b, 0);
}

static void binding_failed(struct binding *b, const struct kube_answer *answer)
{
    act_bind_failed(b->scheduler, b->gang, b->pod, b->node, answer);
    binding_end(b, answer->code < 0 ? -answer->code : answer->code);
}

static bool is_unknown(const struct kube_answer *answer)
{
    return answer->status == 0 || answer->status == 429 || answer->status >= 500;
}

static void send_later(struct binding *b)
{
    loop_timer_start(b->timer, b->again_ms, 0);
    b->again_ms = b->again_ms * 2 < AGAIN_MAX_MS ? b->again_ms * 2 : AGAIN_MAX_MS;
}

/* The server said "conflict": was it our own bind, whose answer was lost? */
static void on_looked_up(void *arg, const struct kube_answer *answer)
{
    struct binding *b = arg;
    if (is_unknown(answer)) {
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

static void on_bound(void *arg, const struct kube_answer *answer)
{
    struct binding *b = arg;
    if (answer->code == 0)
        binding_done(b);
    else if (is_unknown(answer))
        send_later(b);
    else if (answer->status == 409)
        kube_get(b->scheduler->client, b->pod_path, on_looked_up, b);
    else
        binding_failed(b, answer);
}

static void binding_send(void *arg)
{
    struct binding *b = arg;
    kube_create(b->scheduler->client, b->path, bytes_of(b->body), on_bound, b);
}

static char *binding_body(struct scheduler *s, const struct plan_entry *entry, const char *ns, const char *name)
{
    struct arena *a = s->scratch;
    struct json *body = json_new(a, JSON_OBJECT);
    json_set_text(a, body, "apiVersion", "v1");
    json_set_text(a, body, "kind", "Binding");
    struct json *meta = json_ensure_object(a, body, "metadata");
    json_set_text(a, meta, "name", name);
    json_set_text(a, meta, "namespace", ns);
    json_set_text(a, meta, "uid", intern_name(s->names, entry->pod_uid));
    if (entry->devices)
        json_set_text(a, json_ensure_object(a, meta, "annotations"), DECODE_DEVICES_ANNOTATION, entry->devices);
    struct json *target = json_ensure_object(a, body, "target");
    json_set_text(a, target, "apiVersion", "v1");
    json_set_text(a, target, "kind", "Node");
    json_set_text(a, target, "name", intern_name(s->names, entry->node));
    struct buf text = {0};
    json_write(&text, body);
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
    binding_send(b);
}

void binds_abandon(struct scheduler *s)
{
    while (s->binds) {
        kube_client_forget(s->client, on_bound, s->binds);
        kube_client_forget(s->client, on_looked_up, s->binds);
        binding_free(s->binds);
    }
}
