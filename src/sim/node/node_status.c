/* node_status.c - see node_status.h */
#include "sim/node/node_status.h"
#include <stdlib.h>
#include "core/device_list.h"
#include "sim/node/mig_memory.h"

/* After a write, before changes of others are written over: events of our own are still on their way. */
#define QUIET_MS 1000
#define AGAIN_MS 1000

struct node_status {
    struct kube_client *client;
    struct loop *loop;
    const struct agent *agent;
    const bool *off;
    char *name;
    char *offered; /* every resource that was ever offered, in quotes */
    struct loop_timer *timer;
    struct json *status_patch; /* in `arena`: to be sent after the first patch */
    struct arena *arena; /* of the exchange under way; NULL: none is. Thousands of nodes are quiet most of the time */
    int64_t written_ms;  /* loop time of the last write; 0 none */
    bool busy, again, split;
};

static void ask_in(struct node_status *p, int64_t wait_ms)
{
    if (!loop_timer_running(p->timer))
        loop_timer_start(p->timer, wait_ms, 0);
}

void node_status_ask(struct node_status *p)
{
    if (p->busy)
        p->again = true;
    else
        ask_in(p, 0);
}

/* ---- what differs ---- */

static void describe_amounts(const struct resource_table *t, struct arena *m, struct json *status)
{
    struct json *capacity = json_ensure_object(m, status, "capacity"), *allocatable = json_ensure_object(m, status, "allocatable");
    for (uint32_t i = 0; t && i < t->resources_n; i++) {
        const struct resource *r = &t->resources[i];
        json_set_text(m, capacity, r->name, arena_printf(m, "%u", r->slots_n));
        json_set_text(m, allocatable, r->name, arena_printf(m, "%u", slots_open(r->slots, r->slots_n)));
    }
}

/* NULL: nothing has to be remembered. */
static const char *mig_text(const struct agent *a, bool split, struct arena *m)
{
    _cleanup_buf_ struct buf text = {0};
    mig_memory_write(agent_table_snapshot(a)->reading, &text);
    if (!text.n && split)
        buf_text(&text, MIG_MEMORY_NONE); /* or the shape would split them again */
    return text.n ? arena_text(m, text.data) : NULL;
}

void node_status_describe(const struct agent *a, bool split, struct arena *m, struct json *node)
{
    const char *mig = mig_text(a, split, m);
    describe_amounts(agent_table(a), m, json_ensure_object(m, node, "status"));
    if (mig)
        json_set_text(m, json_ensure_object(m, json_ensure_object(m, node, "metadata"), "annotations"), NODE_MIG_ANNOTATION, mig);
}

static bool names(const char *list, const char *resource)
{
    _cleanup_buf_ struct buf quoted = {0};
    buf_printf(&quoted, "\"%s\"", resource);
    return list && strstr(list, quoted.data);
}

/* A resource of ours: a GPU name, or one that was offered before; of earlier runs the annotation tells. */
static bool was_offered(const struct node_status *p, const char *resource, const char *devices)
{
    return text_starts(resource, "nvidia.com/") || text_starts(resource, "keti.com/") ||
           (strchr(resource, '/') && (names(devices, resource) || names(p->offered, resource)));
}

static void remember(struct node_status *p, const char *resource)
{
    if (names(p->offered, resource))
        return;
    struct buf list = {0};
    buf_printf(&list, "%s\"%s\"", p->offered ? p->offered : "", resource);
    free(p->offered);
    p->offered = buf_take(&list, NULL);
}

static struct json *amounts_patch(struct node_status *p, struct arena *a, const struct json *want, const struct json *have,
                                  const char *devices)
{
    struct json *patch = json_new(a, JSON_OBJECT);
    JSON_EACH (amount, want) {
        remember(p, amount->key);
        if (!text_equal(json_get_text(have, amount->key, NULL), amount->text))
            json_set_text(a, patch, amount->key, amount->text);
    }
    JSON_EACH (amount, have)
        if (!json_get(want, amount->key) && was_offered(p, amount->key, devices) && !text_equal(json_text(amount, ""), "0"))
            json_set_text(a, patch, amount->key, "0");
    return patch;
}

static void set_if_any(struct arena *a, struct json *object, const char *key, struct json *part)
{
    if (part->n)
        json_set(a, object, key, part);
}

/* The two patches; both empty: nothing to do. */
static void compare(struct node_status *p, struct arena *a, const struct json *node, struct json **ret_patch, struct json **ret_status)
{
    static const char *const parts[] = {"capacity", "allocatable"};
    struct json *want = json_new(a, JSON_OBJECT), *status = json_new(a, JSON_OBJECT);
    const struct json *annotations = json_path(node, "metadata", "annotations", NULL);
    const char *devices = json_get_text(annotations, DEVICES_ANNOTATION, NULL), *mig = mig_text(p->agent, p->split, a);
    describe_amounts(*p->off ? NULL : agent_table(p->agent), a, want);
    for (int i = 0; i < 2; i++)
        set_if_any(a, status, parts[i], amounts_patch(p, a, json_get(want, parts[i]), json_path(node, "status", parts[i], NULL), devices));
    *ret_patch = json_new(a, JSON_OBJECT);
    *ret_status = json_new(a, JSON_OBJECT);
    if (!text_equal(mig, json_get_text(annotations, NODE_MIG_ANNOTATION, NULL)))
        json_set(a, json_ensure_object(a, json_ensure_object(a, *ret_patch, "metadata"), "annotations"), NODE_MIG_ANNOTATION,
                 mig ? json_new_text(a, mig) : json_new(a, JSON_NULL));
    set_if_any(a, *ret_status, "status", status);
}

/* ---- the exchange ---- */

static void finish(struct node_status *p, int code)
{
    p->busy = false;
    p->written_ms = loop_now_ms(p->loop);
    arena_free(p->arena);
    p->arena = NULL;
    if (code < 0 && code != -E_NOTFOUND)
        ask_in(p, AGAIN_MS);
    else if (p->again)
        ask_in(p, 0);
    p->again = false;
}

static void on_status_written(void *arg, const struct kube_answer *answer)
{
    finish(arg, answer->code);
}

static void send(struct node_status *p, const struct json *patch, const char *part, kube_answer_fn fn)
{
    _cleanup_buf_ struct buf body = {0};
    json_write(&body, patch);
    kube_patch(p->client, KUBE_PATCH_MERGE, kube_path(p->arena, "", "v1", "nodes", NULL, p->name, part),
               buf_view(&body), fn, p);
}

static void on_written(void *arg, const struct kube_answer *answer)
{
    struct node_status *p = arg;
    if (answer->code < 0 || !p->status_patch->n)
        finish(p, answer->code);
    else
        send(p, p->status_patch, "status", on_status_written);
}

static void on_read(void *arg, const struct kube_answer *answer)
{
    struct node_status *p = arg;
    struct json *patch, *node = answer->code == 0 ? json_parse(p->arena, answer->body, NULL, NULL) : NULL;
    if (!node) {
        finish(p, answer->code);
        return;
    }
    compare(p, p->arena, node, &patch, &p->status_patch);
    if (patch->n)
        send(p, patch, NULL, on_written);
    else if (p->status_patch->n)
        send(p, p->status_patch, "status", on_status_written);
    else
        finish(p, 0);
}

static void start(void *arg)
{
    struct node_status *p = arg;
    if (p->busy)
        return;
    p->busy = true;
    p->again = false;
    p->arena = arena_new();
    kube_get(p->client, kube_path(p->arena, "", "v1", "nodes", NULL, p->name, NULL), on_read, p);
}

void node_status_seen(struct node_status *p, const struct json *node)
{
    struct json *patch, *status;
    if (p->busy || loop_timer_running(p->timer) || (p->written_ms && loop_now_ms(p->loop) - p->written_ms < QUIET_MS))
        return;
    _cleanup_arena_ struct arena *a = arena_new();
    compare(p, a, node, &patch, &status);
    if (patch->n || status->n)
        ask_in(p, 0);
}

struct node_status *node_status_new(struct kube_client *c, const struct agent *a, const char *node, const bool *off, bool split)
{
    struct node_status *p = mem_zero(1, sizeof *p);
    p->client = c;
    p->loop = kube_client_loop(c);
    p->agent = a;
    p->off = off;
    p->split = split;
    p->name = mem_text(node);
    p->timer = loop_timer_new(p->loop, start, p);
    return p;
}

void node_status_free(struct node_status *p)
{
    if (!p)
        return;
    kube_client_forget(p->client, on_read, p);
    kube_client_forget(p->client, on_written, p);
    kube_client_forget(p->client, on_status_written, p);
    loop_timer_free(p->timer);
    arena_free(p->arena);
    free(p->offered);
    free(p->name);
    free(p);
}
