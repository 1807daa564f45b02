/* agent_node.c - the node object: our labels and annotation, two conditions, events
 *
 * The node is watched, so that only differences are written (node_patch.h). One patch at a time. A writer who keeps undoing it is answered
 * ever more slowly, not in a loop. An agent that is fed keeps nothing of the object: when the projection changes, or what it is fed differs
 * from it, the object is read, and patched where it lacks something.
 * A node that was registered with the taint capstan.dev/starting loses it when its devices are offered and written down for the first time.
 */
#include <stdio.h>
#include "agent/agent_parts.h"
#include "base/log.h"
#include "core/device_list.h"
#include "kube/event.h"
#include "kube/watch.h"

#define PATCH_MIN_MS 200
#define PATCH_MAX_MS 60000
#define PATCH_CALM_MS 10000
#define CONDITION_AGAIN_MS 5000
#define TAINT_AGAIN_MS 2000
#define LEAVE_MS 1000 /* an agent that ends waits so long for the API server */
#define CONDITION_BYTES 1024

static const struct { const char *part, *name; } asked[AGENT_ASKED_N] = {
    {"labels", AGENT_CONFIG_LABEL}, {"labels", AGENT_MIG_LABEL}, {"annotations", AGENT_LAYOUTS_ANNOTATION}};

struct condition {
    bool known, good, written;
    const char *reason; /* a constant */
    char *message;
    int64_t since_ms;
};
struct agent_node {
    struct kube_watch *watch;       /* NULL: fed */
    struct kube_recorder *recorder; /* NULL: no events */
    struct loop_timer *timer;
    char *fields;
    bool seen, in_flight, status_in_flight;
    bool again; /* what is wanted, or what stands there, has changed while something was in flight */
    char *asked[AGENT_ASKED_N]; /* values on the node; NULL: not there */
    struct arena *have_arena;
    struct json *have; /* metadata of the node: labels of nvidia.com and the annotation; NULL: fed, or no node */
    struct label_pair *set;
    uint32_t set_n, set_cap;
    struct condition conditions[AGENT_CONDITION_N];
    int64_t last_patch_ms, interval_ms;
    struct err error;
    char *taints, *version; /* while the start-up taint is there: the list without it, as JSON, and the object's version; else NULL */
    bool taint_in_flight;
    void (*left)(void *arg); /* the agent ends: to be called when the last patch is answered; NULL: it does not, or was called */
    void *left_arg;
    bool leaving;
    int64_t taint_again_ms; /* not before */
};

/* part: "status", or NULL. */
static const char *node_path(const struct agent *a, struct arena *m, const char *part)
{
    return kube_path(m, "", "v1", "nodes", NULL, a->o.node_name, part);
}

/* ---- patches ---- */

static void send_later(struct agent *a, int64_t delay_ms)
{
    struct agent_node *n = a->node;
    n->again = n->in_flight;
    if (a->kube && !n->in_flight && !n->leaving && !loop_timer_running(n->timer))
        loop_timer_start(n->timer, delay_ms, 0);
}

static void send_again(struct agent *a, const struct kube_answer *answer)
{
    struct agent_node *n = a->node;
    if (!text_equal(n->error.text, answer->error.text))
        agent_log(a, LOG_WARNING, "node not patched, trying again error=\"%s\"", answer->error.text);
    n->error = answer->error;
    n->error.code = -answer->code;
    n->interval_ms = n->interval_ms * 2 > PATCH_MAX_MS ? PATCH_MAX_MS : n->interval_ms * 2;
    send_later(a, n->interval_ms);
}

static void on_patched(void *arg, const struct kube_answer *answer)
{
    struct agent *a = arg;
    struct agent_node *n = a->node;
    n->in_flight = false;
    if (answer->code == 0) {
        if (n->error.code)
            agent_log(a, LOG_INFO, "node labels written again");
        n->error = (struct err){0};
        if (n->again)
            send_later(a, n->interval_ms);
        return; /* else the watch shows what the node has now, or has shown it already */
    }
    send_again(a, answer);
}

/* What the object lacks; NULL: nothing, or it is not known yet what is wanted. */
static struct json *lacks(const struct agent *a, struct arena *m, const struct json *metadata)
{
    struct node_wish w = {.set = a->node->set, .set_n = a->node->set_n};
    if (!a->projection)
        return NULL;
    a->above->wish(a, m, &w);
    return node_patch_metadata(m, metadata, &w);
}

static void send_patch(struct agent *a, const struct json *metadata)
{
    struct agent_node *n = a->node;
    _cleanup_arena_ struct arena *m = arena_new();
    const struct json *patch = lacks(a, m, metadata);
    if (!patch)
        return;
    _cleanup_buf_ struct buf body = {0};
    int64_t now_ms = loop_now_ms(a->loop);
    bool calm = now_ms - n->last_patch_ms > PATCH_CALM_MS && !n->error.code;
    n->interval_ms = calm ? PATCH_MIN_MS : n->interval_ms * 2 > PATCH_MAX_MS ? PATCH_MAX_MS : n->interval_ms * 2;
    n->last_patch_ms = now_ms;
    n->in_flight = true;
    json_write(&body, patch);
    kube_patch(a->kube, KUBE_PATCH_MERGE, node_path(a, m, NULL), buf_view(&body), on_patched, a);
}

/* ---- conditions ---- */

static struct node_condition condition_now(const struct condition *c)
{
    return (struct node_condition){c->good, c->reason, c->message};
}

static void send_conditions(struct agent *a);

static void on_status_patched(void *arg, const struct kube_answer *answer)
{
    struct agent *a = arg;
    a->node->status_in_flight = false;
    if (answer->code == 0) {
        send_conditions(a); /* what has changed meanwhile */
        return;
    }
    agent_log(a, LOG_WARNING, "node condition not written, trying again error=\"%s\"", answer->error.text);
    for (int i = 0; i < AGENT_CONDITION_N; i++)
        a->node->conditions[i].written = false;
    if (!a->node->leaving && !loop_timer_running(a->node->timer))
        loop_timer_start(a->node->timer, CONDITION_AGAIN_MS, 0);
}

static void send_conditions(struct agent *a)
{
    struct agent_node *n = a->node;
    if (!n->seen || n->status_in_flight || !a->kube)
        return;
    _cleanup_arena_ struct arena *m = arena_new();
    struct json *patch = json_new(m, JSON_OBJECT);
    struct json *list = json_ensure_array(m, json_ensure_object(m, patch, "status"), "conditions");
    for (int i = 0; i < AGENT_CONDITION_N; i++) {
        struct condition *c = &n->conditions[i];
        const struct node_condition is = condition_now(c);
        if (!c->known || c->written)
            continue;
        json_append(list, node_condition_json(m, (enum agent_condition)i, &is, loop_wall_ms(a->loop), c->since_ms));
        c->written = true;
    }
    if (list->n == 0)
        return;
    _cleanup_buf_ struct buf body = {0};
    json_write(&body, patch);
    n->status_in_flight = true;
    kube_patch(a->kube, KUBE_PATCH_STRATEGIC, node_path(a, m, "status"), buf_view(&body), on_status_patched, a);
}

/* What stands there already need not be written after a restart. */
static void take_conditions(struct agent_node *n, const struct json *object)
{
    const struct json *list = json_path(object, "status", "conditions", NULL);
    for (int i = 0; i < AGENT_CONDITION_N; i++) {
        struct condition *c = &n->conditions[i];
        const struct node_condition is = condition_now(c);
        if (c->known && !c->written)
            c->written = node_condition_stands(list, (enum agent_condition)i, &is, &c->since_ms);
    }
}

void agent_node_condition(struct agent *a, enum agent_condition which, const struct node_condition *now)
{
    struct agent_node *n = a->node;
    if (!n)
        return;
    struct condition *c = &n->conditions[which];
    char text[CONDITION_BYTES];
    (void)snprintf(text, sizeof text, "%s", now->message);
    if (c->known && c->good == now->good && text_equal(c->reason, now->reason) && text_equal(c->message, text))
        return;
    if (!c->known || c->good != now->good)
        c->since_ms = loop_wall_ms(a->loop);
    c->known = true;
    c->good = now->good;
    c->written = false;
    c->reason = now->reason;
    free(c->message);
    c->message = mem_text(text);
    if (a->o.feed)
        send_later(a, 0);
    else
        send_conditions(a);
}

/* ---- reading before writing: an agent that is fed ---- */

static void on_read(void *arg, const struct kube_answer *answer)
{
    struct agent *a = arg;
    struct agent_node *n = a->node;
    n->in_flight = n->again = false;
    if (answer->code < 0) {
        if (answer->code != -E_NOTFOUND)
            send_again(a, answer);
        return;
    }
    _cleanup_arena_ struct arena *m = arena_new();
    const struct json *node = json_parse(m, answer->body, NULL, NULL);
    take_conditions(n, node);
    send_patch(a, json_get(node, "metadata"));
    send_conditions(a);
}

static void read_node(struct agent *a)
{
    _cleanup_arena_ struct arena *m = arena_new();
    a->node->in_flight = true;
    kube_get(a->kube, node_path(a, m, NULL), on_read, a);
}

static void leave_end(struct agent_node *n)
{
    void (*fn)(void *arg) = n->left;
    n->left = NULL;
    if (fn)
        fn(n->left_arg);
}

static void on_timer(void *arg)
{
    struct agent *a = arg;
    struct agent_node *n = a->node;
    if (n->leaving) {
        leave_end(n);
    } else if (a->o.feed) {
        if (!n->in_flight)
            read_node(a);
    } else {
        if (!n->in_flight && n->have)
            send_patch(a, n->have);
        send_conditions(a);
    }
}

/* ---- the agent ends ---- */

static const char *present_devices(const struct agent_node *n)
{
    return json_get_text(json_get(n->have, "annotations"), DEVICES_ANNOTATION, NULL);
}

static void on_left(void *arg, const struct kube_answer *answer)
{
    struct agent *a = arg;
    if (answer->code < 0)
        log_warning("node not told that the agent ends error=\"%s\"", answer->error.text);
    leave_end(a->node);
}

/* `devices` with every "healthy":true turned to false. */
static void close_devices(const char *devices, struct buf *out)
{
    static const char yes[] = "\"healthy\":true";
    for (const char *at; (at = strstr(devices, yes)); devices = at + strlen(yes)) {
        buf_bytes(out, (struct bytes){devices, (size_t)(at - devices)});
        buf_text(out, "\"healthy\":false");
    }
    buf_text(out, devices);
}

/* WHY  without an agent the kubelet admits no pod with devices: who is placed here meanwhile fails. The next agent writes what is there. */
void agent_node_leave(struct agent *a, void (*fn)(void *arg), void *arg)
{
    struct agent_node *n = a->node;
    if (!n || !n->seen || !present_devices(n) || n->leaving) {
        loop_defer(a->loop, fn, arg);
        return;
    }
    _cleanup_arena_ struct arena *m = arena_new();
    _cleanup_buf_ struct buf body = {0}, devices = {0};
    struct json *patch = json_new(m, JSON_OBJECT);
    close_devices(present_devices(n), &devices);
    json_set_text(m, json_ensure_object(m, json_ensure_object(m, patch, "metadata"), "annotations"), DEVICES_ANNOTATION, devices.data);
    json_write(&body, patch);
    n->leaving = true;
    n->left = fn;
    n->left_arg = arg;
    loop_timer_start(n->timer, LEAVE_MS, 0);
    kube_patch(a->kube, KUBE_PATCH_MERGE, node_path(a, m, NULL), buf_view(&body), on_left, a);
}

/* ---- the start-up taint ---- */

static void take_taints(struct agent_node *n, const struct json *object)
{
    _cleanup_buf_ struct buf rest = {0};
    bool starting = false, any = false;
    buf_char(&rest, '[');
    JSON_EACH(one, json_path(object, "spec", "taints", NULL)) {
        if (text_equal(json_get_text(one, "key", ""), AGENT_TAINT)) {
            starting = true;
            continue;
        }
        buf_text(&rest, any ? "," : "");
        json_write(&rest, one);
        any = true;
    }
    buf_char(&rest, ']');
    free(n->taints);
    free(n->version);
    n->taints = starting ? mem_text(rest.data) : NULL;
    n->version = starting ? mem_text(json_text(json_path(object, "metadata", "resourceVersion", NULL), "")) : NULL;
}

static void on_untainted(void *arg, const struct kube_answer *answer)
{
    struct agent *a = arg;
    a->node->taint_in_flight = false;
    if (answer->code == 0)
        log_info("start-up taint removed node=%s", a->o.node_name);
    else if (answer->code != -E_CONFLICT) /* somebody was faster: the watch shows the new list */
        log_warning("start-up taint not removed, trying again error=\"%s\"", answer->error.text);
}

/* WHY  the version: taints are one list, and another writer's must not be lost. */
void agent_node_started(struct agent *a)
{
    struct agent_node *n = a->node;
    int64_t now_ms = loop_now_ms(a->loop);
    if (!n || !n->taints || n->taint_in_flight || now_ms < n->taint_again_ms || !agent_node_written(a))
        return;
    _cleanup_buf_ struct buf body = {0};
    buf_printf(&body, "{\"metadata\":{\"resourceVersion\":\"%s\"},\"spec\":{\"taints\":%s}}", n->version, n->taints);
    n->taint_in_flight = true;
    n->taint_again_ms = now_ms + TAINT_AGAIN_MS;
    _cleanup_arena_ struct arena *m = arena_new();
    kube_patch(a->kube, KUBE_PATCH_MERGE, node_path(a, m, NULL), buf_view(&body), on_untainted, a);
}

/* ---- the node ---- */

/* Of the object's metadata what is ours, or may be. */
static void take_metadata(struct agent_node *n, const struct json *metadata)
{
    arena_free(n->have_arena);
    n->have_arena = NULL;
    n->have = NULL;
    if (!metadata)
        return;
    struct arena *m = n->have_arena = arena_new();
    n->have = json_new(m, JSON_OBJECT);
    struct json *labels = json_ensure_object(m, n->have, "labels");
    JSON_EACH(label, json_get(metadata, "labels"))
    if (text_starts(label->key, "nvidia.com/") && json_is(label, JSON_STRING))
        json_set_text(m, labels, label->key, label->text);
    const char *devices = json_get_text(json_get(metadata, "annotations"), DEVICES_ANNOTATION, NULL);
    if (devices)
        json_set_text(m, json_ensure_object(m, n->have, "annotations"), DEVICES_ANNOTATION, devices);
}

const char *agent_asked(const struct json *metadata, size_t i)
{
    return json_get_text(json_get(metadata, asked[i].part), asked[i].name, NULL);
}

void agent_asked_set(struct json *metadata, size_t i, const char *value, struct arena *m)
{
    json_set_text(m, json_ensure_object(m, metadata, asked[i].part), asked[i].name, value);
}

/* True: something else is asked for. */
static bool take_asked(struct agent_node *n, const struct json *metadata)
{
    bool changed = false;
    for (size_t i = 0; i < AGENT_ASKED_N; i++) {
        const char *value = agent_asked(metadata, i);
        if (text_equal(value, n->asked[i]))
            continue;
        free(n->asked[i]);
        n->asked[i] = mem_text(value);
        changed = true;
    }
    return changed;
}

static void on_node(void *arg, enum kube_event event, struct bytes object)
{
    struct agent *a = arg;
    struct agent_node *n = a->node;
    _cleanup_arena_ struct arena *m = arena_new();
    const struct json *v = event == KUBE_DELETED ? NULL : json_parse(m, object, NULL, NULL);
    n->seen = v != NULL;
    take_metadata(n, json_get(v, "metadata"));
    (void)take_asked(n, json_get(v, "metadata"));
    take_conditions(n, v);
    take_taints(n, v);
    if (!n->seen)
        return;
    send_conditions(a);
    send_later(a, n->interval_ms);
    a->above->node_changed(a);
}

void agent_fed_node(struct agent *a, const struct json *node)
{
    struct agent_node *n = a->node;
    const struct json *metadata = json_get(node, "metadata");
    bool first = !n->seen;
    n->seen = true;
    if (take_asked(n, metadata) || first)
        a->above->node_changed(a);
    if (n->in_flight || !a->kube)
        return;
    _cleanup_arena_ struct arena *m = arena_new();
    if (lacks(a, m, metadata)) /* by the hand of another, or an older object than what was written */
        send_later(a, n->interval_ms);
}

void agent_node_want(struct agent *a)
{
    struct agent_node *n = a->node;
    if (n)
        send_later(a, n->last_patch_ms ? n->interval_ms : 0);
}

void agent_node_set(struct agent *a, const char *label, const char *value)
{
    struct agent_node *n = a->node;
    if (!n)
        return;
    uint32_t at = 0;
    while (at < n->set_n && !text_equal(n->set[at].name, label))
        at++;
    if (at == n->set_n) {
        MEM_RESERVE(n->set, n->set_cap, n->set_n + 1);
        n->set[n->set_n++] = (struct label_pair){mem_text(label), mem_text(value)};
    } else {
        free((char *)n->set[at].value);
        n->set[at].value = mem_text(value);
    }
    send_later(a, 0);
}

bool agent_node_written(const struct agent *a)
{
    const struct agent_node *n = a->node;
    _cleanup_arena_ struct arena *m = arena_new();
    if (!n)
        return true;
    bool settled = n->seen && a->projection && !n->in_flight;
    return settled && (a->o.feed ? !loop_timer_running(n->timer) : !lacks(a, m, n->have));
}

void agent_fed_describe(const struct agent *a, struct arena *m, struct json *node)
{
    const struct agent_node *n = a->node;
    struct json *metadata = json_ensure_object(m, node, "metadata"), *labels = json_ensure_object(m, metadata, "labels");
    struct node_wish w = {0};
    a->above->wish(a, m, &w);
    for (uint32_t i = 0; i < w.labels_n; i++)
        json_set_text(m, labels, w.labels[i].name, w.labels[i].value);
    json_set_text(m, json_ensure_object(m, metadata, "annotations"), DEVICES_ANNOTATION, w.devices);
    struct json *conditions = json_ensure_array(m, json_ensure_object(m, node, "status"), "conditions");
    for (int i = 0; i < AGENT_CONDITION_N; i++) {
        const struct node_condition is = condition_now(&n->conditions[i]);
        json_append(conditions, node_condition_json(m, (enum agent_condition)i, &is, loop_wall_ms(a->loop), n->conditions[i].since_ms));
    }
}

bool agent_node_missing(const struct agent *a)
{
    return a->node && !a->node->seen && a->node->watch && kube_watch_synced(a->node->watch);
}

bool agent_node_seen(const struct agent *a)
{
    return a->node && a->node->seen;
}

const char *agent_node_asks(const struct agent *a, const char *name)
{
    for (size_t i = 0; agent_node_seen(a) && i < AGENT_ASKED_N; i++)
        if (text_equal(asked[i].name, name))
            return a->node->asked[i];
    return NULL;
}

static struct kube_recorder *recorder_of(const struct agent *a)
{
    return a->o.feed ? a->o.feed->recorder : a->node ? a->node->recorder : NULL;
}

void agent_node_event(struct agent *a, bool warning, const char *reason, const char *message)
{
    /* The kubelet's own events of a node carry its name as uid: kubectl describe looks for that. */
    const struct kube_object_ref about = {"v1", "Node", "", a->o.node_name, a->o.node_name};
    if (recorder_of(a))
        kube_event(recorder_of(a), &about, warning ? "Warning" : "Normal", reason, "%s", message);
}

void agent_pod_event(struct agent *a, const char *ns, const char *pod, const char *uid, bool warning, const char *reason,
                     const char *message)
{
    const struct kube_object_ref about = {"v1", "Pod", ns, pod, uid};
    if (recorder_of(a))
        kube_event(recorder_of(a), &about, warning ? "Warning" : "Normal", reason, "%s", message);
}

void agent_node_new(struct agent *a)
{
    if (!a->kube && !a->o.feed)
        return;
    struct agent_node *n = a->node = mem_zero(1, sizeof *n);
    n->interval_ms = PATCH_MIN_MS;
    n->timer = loop_timer_new(a->loop, on_timer, a);
    for (uint32_t i = 0; a->o.feed && i < a->o.feed->labels_n; i++)
        agent_node_set(a, a->o.feed->labels[i].name, a->o.feed->labels[i].value);
    if (a->o.feed)
        return;
    _cleanup_buf_ struct buf fields = {0};
    buf_printf(&fields, "metadata.name=%s", a->o.node_name);
    n->fields = mem_text(fields.data);
    n->recorder = kube_recorder_new(a->kube, "capstan-agent");
    const struct kube_watch_config c = {
        .path = "/api/v1/nodes", .field_selector = n->fields, .objects_max = 1, .on_event = on_node, .arg = a};
    n->watch = kube_watch_new(a->kube, &c);
}

void agent_node_free(struct agent *a)
{
    struct agent_node *n = a->node;
    if (!n)
        return;
    if (a->kube) {
        kube_client_forget(a->kube, on_read, a);
        kube_client_forget(a->kube, on_patched, a);
        kube_client_forget(a->kube, on_status_patched, a);
        kube_client_forget(a->kube, on_untainted, a);
        kube_client_forget(a->kube, on_left, a);
    }
    kube_watch_free(n->watch);
    kube_recorder_free(n->recorder);
    loop_timer_free(n->timer);
    arena_free(n->have_arena);
    for (size_t i = 0; i < AGENT_ASKED_N; i++)
        free(n->asked[i]);
    for (uint32_t i = 0; i < n->set_n; i++) {
        free((char *)n->set[i].name);
        free((char *)n->set[i].value);
    }
    free(n->set);
    for (int i = 0; i < AGENT_CONDITION_N; i++)
        free(n->conditions[i].message);
    free(n->taints);
    free(n->version);
    free(n->fields);
    free(n);
    a->node = NULL;
}
