/* agent_node.c - the node object: our labels and annotation, two conditions, events
 *
 * The node is watched, so that only differences are written: labels that are wanted and differ, labels of ours (labels_owns) that are no
 * longer wanted, the annotation. One patch at a time. A writer who keeps undoing it is answered ever more slowly, not in a loop.
 * A node that was registered with the taint capstan.dev/starting loses it when its devices are offered and written down for the first time.
 */
#include <stdio.h>
#include "agent/agent_parts.h"
#include "base/log.h"
#include "kube/event.h"
#include "kube/watch.h"

#define DEVICES_ANNOTATION "capstan.dev/devices"
#define TIMESTAMP_LABEL "nvidia.com/gfd.timestamp"
#define PATCH_MIN_MS 200
#define PATCH_MAX_MS 60000
#define PATCH_CALM_MS 10000
#define CONDITION_AGAIN_MS 5000
#define TAINT_AGAIN_MS 2000
#define LEAVE_MS 1000 /* an agent that ends waits so long for the API server */

struct label {
    char *name, *value;
};
struct labels {
    struct label *items;
    uint32_t n, cap;
};
struct condition {
    bool known, good, written;
    char reason[64], message[1024];
    int64_t since_ms;
};
struct agent_node {
    struct kube_watch *watch;
    struct kube_recorder *recorder;
    struct loop_timer *timer;
    char *fields, *path, *status_path;
    bool seen, wanted_known, in_flight, status_in_flight;
    struct labels present, wanted, set; /* present: those of nvidia.com only */
    char *present_devices, *wanted_devices;
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

/* ---- label lists ---- */

static void labels_clear(struct labels *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        free(l->items[i].name);
        free(l->items[i].value);
    }
    l->n = 0;
}

static const char *labels_find(const struct labels *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (text_equal(l->items[i].name, name))
            return l->items[i].value;
    return NULL;
}

static void labels_add(struct labels *l, const char *name, const char *value)
{
    MEM_RESERVE(l->items, l->cap, l->n + 1);
    l->items[l->n++] = (struct label){mem_text(name), mem_text(value)};
}

/* ---- patches ---- */

static void add_member(struct buf *out, bool *any, const char *name, const char *value)
{
    buf_text(out, *any ? "," : "");
    json_write_string(out, bytes_of(name));
    buf_char(out, ':');
    if (value)
        json_write_string(out, bytes_of(value));
    else
        buf_text(out, "null");
    *any = true;
}

/* Members of metadata.labels that have to change. */
static bool add_label_changes(const struct agent_node *n, struct buf *out)
{
    bool any = false;
    for (uint32_t i = 0; i < n->wanted.n; i++) {
        const struct label *w = &n->wanted.items[i];
        const char *is = labels_find(&n->present, w->name);
        if (!text_equal(is, w->value) && !(is && text_equal(w->name, TIMESTAMP_LABEL)))
            add_member(out, &any, w->name, w->value);
    }
    for (uint32_t i = 0; i < n->present.n; i++) {
        const char *name = n->present.items[i].name;
        if (labels_owns(name) && !labels_find(&n->wanted, name) && !labels_find(&n->set, name))
            add_member(out, &any, name, NULL);
    }
    for (uint32_t i = 0; i < n->set.n; i++)
        if (!text_equal(labels_find(&n->present, n->set.items[i].name), n->set.items[i].value))
            add_member(out, &any, n->set.items[i].name, n->set.items[i].value);
    if (any && labels_find(&n->wanted, TIMESTAMP_LABEL)) { /* the time of this change */
        struct buf stamp = {0};
        buf_printf(&stamp, "\"%s\":", TIMESTAMP_LABEL);
        if (!strstr(out->data, stamp.data))
            add_member(out, &any, TIMESTAMP_LABEL, labels_find(&n->wanted, TIMESTAMP_LABEL));
        buf_free(&stamp);
    }
    return any;
}

static void send_later(struct agent *a, int64_t delay_ms)
{
    struct agent_node *n = a->node;
    if (!n->in_flight && !n->leaving && !loop_timer_running(n->timer))
        loop_timer_start(n->timer, delay_ms, 0);
}

static void on_patched(void *arg, const struct kube_answer *answer)
{
    struct agent *a = arg;
    struct agent_node *n = a->node;
    n->in_flight = false;
    if (answer->code == 0) {
        if (n->error.code)
            log_info("node labels written again");
        n->error = (struct err){0};
        return; /* the watch shows what the node has now */
    }
    if (!text_equal(n->error.text, answer->error.text))
        log_warning("node not patched, trying again error=\"%s\"", answer->error.text);
    n->error = answer->error;
    n->error.code = -answer->code;
    n->interval_ms = n->interval_ms * 2 > PATCH_MAX_MS ? PATCH_MAX_MS : n->interval_ms * 2;
    send_later(a, n->interval_ms);
}

static void send_patch(struct agent *a)
{
    struct agent_node *n = a->node;
    if (n->in_flight || n->leaving || !n->seen || !n->wanted_known)
        return;
    struct buf labels = {0}, body = {0};
    buf_text(&labels, "");
    bool labels_differ = add_label_changes(n, &labels), devices_differ = !text_equal(n->present_devices, n->wanted_devices);
    if (labels_differ || devices_differ) {
        bool any = false;
        buf_printf(&body, "{\"metadata\":{\"labels\":{%s},\"annotations\":{", labels.data);
        if (devices_differ)
            add_member(&body, &any, DEVICES_ANNOTATION, n->wanted_devices);
        buf_text(&body, "}}}");
        int64_t now_ms = loop_now_ms(a->loop);
        bool calm = now_ms - n->last_patch_ms > PATCH_CALM_MS && !n->error.code;
        n->interval_ms = calm ? PATCH_MIN_MS : n->interval_ms * 2 > PATCH_MAX_MS ? PATCH_MAX_MS : n->interval_ms * 2;
        n->last_patch_ms = now_ms;
        n->in_flight = true;
        kube_patch(a->kube, KUBE_PATCH_MERGE, n->path, buf_view(&body), on_patched, a);
    }
    buf_free(&labels);
    buf_free(&body);
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
    log_warning("node condition not written, trying again error=\"%s\"", answer->error.text);
    for (int i = 0; i < AGENT_CONDITION_N; i++)
        a->node->conditions[i].written = false;
    if (!a->node->leaving && !loop_timer_running(a->node->timer))
        loop_timer_start(a->node->timer, CONDITION_AGAIN_MS, 0);
}

static void send_conditions(struct agent *a)
{
    struct agent_node *n = a->node;
    if (!n->seen || n->status_in_flight)
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
    kube_patch(a->kube, KUBE_PATCH_STRATEGIC, n->status_path, buf_view(&body), on_status_patched, a);
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
    if (a->node->leaving) {
        leave_end(a->node);
        return;
    }
    send_patch(arg);
    send_conditions(arg);
}

void agent_node_condition(struct agent *a, enum agent_condition which, const struct node_condition *now)
{
    struct agent_node *n = a->node;
    if (!n)
        return;
    struct condition *c = &n->conditions[which];
    char text[sizeof c->message];
    (void)snprintf(text, sizeof text, "%s", now->message);
    if (c->known && c->good == now->good && text_equal(c->reason, now->reason) && text_equal(c->message, text))
        return;
    if (!c->known || c->good != now->good)
        c->since_ms = loop_wall_ms(a->loop);
    c->known = true;
    c->good = now->good;
    c->written = false;
    (void)snprintf(c->reason, sizeof c->reason, "%s", now->reason);
    memcpy(c->message, text, sizeof text);
    send_conditions(a);
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

/* ---- the agent ends ---- */

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
    if (!n || !n->seen || !n->present_devices || n->leaving) {
        loop_defer(a->loop, fn, arg);
        return;
    }
    _cleanup_buf_ struct buf body = {0}, devices = {0};
    bool any = false;
    close_devices(n->present_devices, &devices);
    buf_text(&body, "{\"metadata\":{\"annotations\":{");
    add_member(&body, &any, DEVICES_ANNOTATION, devices.data);
    buf_text(&body, "}}}");
    n->leaving = true;
    n->left = fn;
    n->left_arg = arg;
    loop_timer_start(n->timer, LEAVE_MS, 0);
    kube_patch(a->kube, KUBE_PATCH_MERGE, n->path, buf_view(&body), on_left, a);
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
    kube_patch(a->kube, KUBE_PATCH_MERGE, n->path, buf_view(&body), on_untainted, a);
}

/* ---- the node ---- */

static void on_node(void *arg, enum kube_event event, struct bytes object)
{
    struct agent *a = arg;
    struct agent_node *n = a->node;
    struct arena *m = arena_new();
    struct json *v = event == KUBE_DELETED ? NULL : json_parse(m, object, NULL, NULL);
    labels_clear(&n->present);
    JSON_EACH(label, json_path(v, "metadata", "labels", NULL))
    if (text_starts(label->key, "nvidia.com/") && json_is(label, JSON_STRING))
        labels_add(&n->present, label->key, label->text);
    free(n->present_devices);
    n->present_devices = mem_text(json_text(json_path(v, "metadata", "annotations", DEVICES_ANNOTATION, NULL), NULL));
    n->seen = v != NULL;
    take_conditions(n, v);
    take_taints(n, v);
    arena_free(m);
    if (!n->seen)
        return;
    send_conditions(a);
    send_later(a, n->interval_ms);
    agent_source_label(a);
    agent_mig_check(a);
}

void agent_node_want(struct agent *a, const struct label_pair *labels, uint32_t count, struct bytes devices)
{
    struct agent_node *n = a->node;
    if (!n)
        return;
    labels_clear(&n->wanted);
    for (uint32_t i = 0; i < count; i++)
        labels_add(&n->wanted, labels[i].name, labels[i].value);
    free(n->wanted_devices);
    n->wanted_devices = devices.n > 0 ? mem_text_n(devices.data, devices.n) : NULL;
    n->wanted_known = true;
    send_later(a, n->last_patch_ms ? n->interval_ms : 0);
}

void agent_node_set(struct agent *a, const char *label, const char *value)
{
    struct agent_node *n = a->node;
    if (!n)
        return;
    uint32_t at = 0;
    while (at < n->set.n && !text_equal(n->set.items[at].name, label))
        at++;
    if (at == n->set.n) {
        labels_add(&n->set, label, value);
    } else {
        free(n->set.items[at].value);
        n->set.items[at].value = mem_text(value);
    }
    send_later(a, 0);
}

bool agent_node_written(const struct agent *a)
{
    const struct agent_node *n = a->node;
    if (!n)
        return true;
    struct buf changes = {0};
    buf_text(&changes, "");
    bool written = n->seen && n->wanted_known && !n->in_flight && !add_label_changes(n, &changes) &&
                   text_equal(n->present_devices, n->wanted_devices);
    buf_free(&changes);
    return written;
}

bool agent_node_missing(const struct agent *a)
{
    return a->node && !a->node->seen && kube_watch_synced(a->node->watch);
}

bool agent_node_seen(const struct agent *a)
{
    return a->node && a->node->seen;
}

const char *agent_node_label(const struct agent *a, const char *name)
{
    return agent_node_seen(a) ? labels_find(&a->node->present, name) : NULL;
}

void agent_node_event(struct agent *a, bool warning, const char *reason, const char *message)
{
    if (!a->node)
        return;
    /* The kubelet's own events of a node carry its name as uid: kubectl describe looks for that. */
    struct kube_object_ref about = {"v1", "Node", "", a->o.node_name, a->o.node_name};
    kube_event(a->node->recorder, &about, warning ? "Warning" : "Normal", reason, "%s", message);
}

void agent_pod_event(struct agent *a, const char *ns, const char *pod, const char *uid, bool warning, const char *reason,
                     const char *message)
{
    if (!a->node)
        return;
    struct kube_object_ref about = {"v1", "Pod", ns, pod, uid};
    kube_event(a->node->recorder, &about, warning ? "Warning" : "Normal", reason, "%s", message);
}

void agent_node_new(struct agent *a)
{
    if (!a->kube)
        return;
    struct agent_node *n = a->node = mem_zero(1, sizeof *n);
    struct arena *m = arena_new();
    n->interval_ms = PATCH_MIN_MS;
    n->fields = mem_text(arena_printf(m, "metadata.name=%s", a->o.node_name));
    n->path = mem_text(kube_path(m, "", "v1", "nodes", NULL, a->o.node_name, NULL));
    n->status_path = mem_text(kube_path(m, "", "v1", "nodes", NULL, a->o.node_name, "status"));
    n->recorder = kube_recorder_new(a->kube, "capstan-agent");
    n->timer = loop_timer_new(a->loop, on_timer, a);
    struct kube_watch_config c = {
        .path = "/api/v1/nodes", .field_selector = n->fields, .objects_max = 1, .on_event = on_node, .arg = a};
    n->watch = kube_watch_new(a->kube, &c);
    arena_free(m);
}

void agent_node_free(struct agent *a)
{
    struct agent_node *n = a->node;
    if (!n)
        return;
    kube_client_forget(a->kube, on_patched, a);
    kube_client_forget(a->kube, on_status_patched, a);
    kube_client_forget(a->kube, on_untainted, a);
    kube_client_forget(a->kube, on_left, a);
    kube_watch_free(n->watch);
    kube_recorder_free(n->recorder);
    loop_timer_free(n->timer);
    labels_clear(&n->present);
    labels_clear(&n->wanted);
    labels_clear(&n->set);
    free(n->present.items);
    free(n->wanted.items);
    free(n->set.items);
    free(n->present_devices);
    free(n->wanted_devices);
    free(n->taints);
    free(n->version);
    free(n->fields);
    free(n->path);
    free(n->status_path);
    free(n);
    a->node = NULL;
}
