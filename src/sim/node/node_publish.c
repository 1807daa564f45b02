/* node_publish.c - see node_publish.h */
#include "sim/node/node_publish.h"
#include <stdlib.h>
#include "agent/node/condition.h"
#include "base/collections/map.h"

#define QUIET_MS                                                                                                       \
    1000 /* after a write, before changes of others are written over: events of our own are still on their way */
#define AGAIN_MS 1000

struct extra {
    struct extra *next;
    char *name, *value; /* value NULL: is to be removed */
};
struct node_publish {
    struct kube_client *client;
    struct loop *loop;
    const struct node_devices *devices;
    const struct node_kind *kind;
    char *name;
    struct extra *extras;
    char *config_message;
    struct loop_timer *timer;
    struct json *status_patch; /* in `arena`: to be sent after the first patch */
    struct arena *arena; /* of the exchange under way; NULL: none is. Thousands of nodes are quiet most of the time */
    int64_t written_ms;  /* loop time of the last write; 0 none */
    bool busy, again, off, config_valid;
};

static void start(void *arg);

static void ask_in(struct node_publish *p, int64_t wait_ms)
{
    if (!loop_timer_running(p->timer))
        loop_timer_start(p->timer, wait_ms, 0);
}

void node_publish_ask(struct node_publish *p)
{
    if (p->busy)
        p->again = true;
    else
        ask_in(p, 0);
}

void node_publish_label(struct node_publish *p, const char *name, const char *value)
{
    struct extra *x = p->extras;
    while (x && !text_equal(x->name, name))
        x = x->next;
    if (!x) {
        x = mem_zero(1, sizeof *x);
        x->name = mem_text(name);
        x->next = p->extras;
        p->extras = x;
    }
    free(x->value);
    x->value = mem_text(value);
    node_publish_ask(p);
}

void node_publish_set_off(struct node_publish *p, bool off)
{
    if (p->off != off)
        node_publish_ask(p);
    p->off = off;
}

void node_publish_config(struct node_publish *p, bool valid, const char *message)
{
    if (valid == p->config_valid && text_equal(message, p->config_message))
        return;
    char *copy = mem_text(message);
    free(p->config_message);
    p->config_message = copy;
    p->config_valid = valid;
    node_publish_ask(p);
}

/* ---- what differs ---- */

static struct json *wanted(struct node_publish *p, struct arena *a)
{
    struct json *w = node_object_projection(a, p->devices);
    struct json *labels = json_path(w, "metadata", "labels", NULL);
    for (const struct extra *x = p->extras; x; x = x->next)
        if (x->value)
            json_set_text(a, labels, x->name, x->value);
    for (uint32_t i = 0; i < p->kind->shape.labels_n; i++)
        if (labels_owns(p->kind->shape.labels[i].key))
            json_set_text(a, labels, p->kind->shape.labels[i].key, p->kind->shape.labels[i].value);
    if (p->off) {
        json_set(a, w, "status", json_new(a, JSON_OBJECT));
        json_set_text(a, json_path(w, "metadata", "annotations", NULL), NODE_DEVICES_ANNOTATION, "[]");
    }
    return w;
}

static bool is_extra(const struct node_publish *p, const char *name)
{
    for (const struct extra *x = p->extras; x; x = x->next)
        if (text_equal(x->name, name) && !x->value)
            return true;
    return false;
}

static struct json *labels_patch(const struct node_publish *p, struct arena *a, const struct json *want,
                                 const struct json *have)
{
    struct json *patch = json_new(a, JSON_OBJECT);
    JSON_EACH (label, want)
        if (!text_equal(json_get_text(have, label->key, NULL), label->text))
            json_set_text(a, patch, label->key, label->text);
    JSON_EACH (label, have)
        if (!json_get(want, label->key) && (labels_owns(label->key) || is_extra(p, label->key)))
            json_set(a, patch, label->key, json_new(a, JSON_NULL));
    return patch;
}

/* A resource of ours: a GPU name, or one that the old annotation named. */
static bool was_offered(const char *resource, const char *old_devices)
{
    _cleanup_buf_ struct buf quoted = {0};
    if (text_starts(resource, "nvidia.com/") || text_starts(resource, "keti.com/"))
        return true;
    buf_printf(&quoted, "\"%s\"", resource);
    return strchr(resource, '/') && strstr(old_devices, quoted.data);
}

static struct json *amounts_patch(struct arena *a, const struct json *want, const struct json *have,
                                  const char *old_devices)
{
    struct json *patch = json_new(a, JSON_OBJECT);
    JSON_EACH (amount, want)
        if (!text_equal(json_get_text(have, amount->key, NULL), amount->text))
            json_set_text(a, patch, amount->key, amount->text);
    JSON_EACH (amount, have)
        if (!json_get(want, amount->key) && was_offered(amount->key, old_devices) &&
            !text_equal(json_text(amount, ""), "0"))
            json_set_text(a, patch, amount->key, "0");
    return patch;
}

static void set_if_any(struct arena *a, struct json *object, const char *key, struct json *part)
{
    if (part->n)
        json_set(a, object, key, part);
}

static struct json *conditions_patch(const struct node_publish *p, struct arena *a, const struct json *have)
{
    const struct node_condition want[AGENT_CONDITION_N] = {
        [AGENT_CONDITION_HEALTHY] = node_condition_health(a, node_devices_snapshot(p->devices)),
        [AGENT_CONDITION_CONFIG] = {p->config_valid, p->config_valid ? "ConfigValid" : "ConfigInvalid",
                                    p->config_message}};
    struct json *patch = json_new(a, JSON_ARRAY);
    int64_t now_ms = loop_wall_ms(p->loop);
    for (int i = 0; i < AGENT_CONDITION_N; i++) {
        const enum agent_condition which = (enum agent_condition)i;
        int64_t since_ms = now_ms;
        if (!node_condition_stands(have, which, &want[i], &since_ms))
            json_append(patch, node_condition_json(a, which, &want[i], now_ms, since_ms));
    }
    return patch;
}

/* The two patches; both empty: nothing to do. */
static void compare(struct node_publish *p, struct arena *a, const struct json *node, struct json **ret_patch,
                    struct json **ret_status)
{
    struct json *want = wanted(p, a), *metadata = json_new(a, JSON_OBJECT), *status = json_new(a, JSON_OBJECT);
    const struct json *have = json_get(node, "metadata"), *have_status = json_get(node, "status");
    const char *old = json_get_text(json_get(have, "annotations"), NODE_DEVICES_ANNOTATION, "");
    const char *now = json_text(json_path(want, "metadata", "annotations", NODE_DEVICES_ANNOTATION, NULL), "");
    set_if_any(a, metadata, "labels",
               labels_patch(p, a, json_path(want, "metadata", "labels", NULL), json_get(have, "labels")));
    const char *mig = json_text(json_path(want, "metadata", "annotations", NODE_MIG_ANNOTATION, NULL), NULL);
    if (!text_equal(old, now))
        json_set_text(a, json_ensure_object(a, metadata, "annotations"), NODE_DEVICES_ANNOTATION, now);
    if (!text_equal(mig, json_get_text(json_get(have, "annotations"), NODE_MIG_ANNOTATION, NULL)))
        json_set(a, json_ensure_object(a, metadata, "annotations"), NODE_MIG_ANNOTATION,
                 mig ? json_new_text(a, mig) : json_new(a, JSON_NULL));
    static const char *const parts[] = {"capacity", "allocatable"};
    for (int i = 0; i < 2; i++)
        set_if_any(a, status, parts[i],
                   amounts_patch(a, json_path(want, "status", parts[i], NULL), json_get(have_status, parts[i]), old));
    set_if_any(a, status, "conditions", conditions_patch(p, a, json_get(have_status, "conditions")));
    *ret_patch = json_new(a, JSON_OBJECT);
    *ret_status = json_new(a, JSON_OBJECT);
    set_if_any(a, *ret_patch, "metadata", metadata);
    set_if_any(a, *ret_status, "status", status);
}

/* ---- the exchange ---- */

static void finish(struct node_publish *p, int code)
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

/* The list of conditions has items of others: only a strategic patch leaves these alone. */
static void send(struct node_publish *p, const struct json *patch, const char *part, kube_answer_fn fn)
{
    _cleanup_buf_ struct buf body = {0};
    json_write(&body, patch);
    kube_patch(p->client, KUBE_PATCH_STRATEGIC, kube_path(p->arena, "", "v1", "nodes", NULL, p->name, part),
               buf_view(&body), fn, p);
}

static void on_written(void *arg, const struct kube_answer *answer)
{
    struct node_publish *p = arg;
    if (answer->code < 0 || !p->status_patch->n)
        finish(p, answer->code);
    else
        send(p, p->status_patch, "status", on_status_written);
}

static void on_read(void *arg, const struct kube_answer *answer)
{
    struct node_publish *p = arg;
    struct json *patch, *node = answer->code == 0 ? json_parse(p->arena, answer->body, NULL, NULL) : NULL;
    if (!node || !node_devices_ready(p->devices)) {
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
    struct node_publish *p = arg;
    if (p->busy)
        return;
    p->busy = true;
    p->again = false;
    p->arena = arena_new();
    kube_get(p->client, kube_path(p->arena, "", "v1", "nodes", NULL, p->name, NULL), on_read, p);
}

void node_publish_seen(struct node_publish *p, const struct json *node)
{
    struct json *patch, *status;
    if (p->busy || loop_timer_running(p->timer) || (p->written_ms && loop_now_ms(p->loop) - p->written_ms < QUIET_MS))
        return;
    _cleanup_arena_ struct arena *a = arena_new();
    compare(p, a, node, &patch, &status);
    if (patch->n || status->n)
        ask_in(p, 0);
}

struct node_publish *node_publish_new(struct kube_client *c, const struct node_devices *d, const struct node_kind *kind,
                                      const char *node)
{
    struct node_publish *p = mem_zero(1, sizeof *p);
    p->client = c;
    p->loop = kube_client_loop(c);
    p->devices = d;
    p->kind = kind;
    p->name = mem_text(node);
    p->config_message = mem_text(NODE_CONDITION_DEFAULTS);
    p->config_valid = true;
    p->timer = loop_timer_new(p->loop, start, p);
    return p;
}

void node_publish_free(struct node_publish *p)
{
    if (!p)
        return;
    kube_client_forget(p->client, on_read, p);
    kube_client_forget(p->client, on_written, p);
    kube_client_forget(p->client, on_status_written, p);
    loop_timer_free(p->timer);
    while (p->extras) {
        struct extra *next = p->extras->next;
        free(p->extras->name);
        free(p->extras->value);
        free(p->extras);
        p->extras = next;
    }
    arena_free(p->arena);
    free(p->config_message);
    free(p->name);
    free(p);
}
