/* table_columns_pod.c - Pod, Node, Event */
#include <stdlib.h>

#include "apiserver/tables/table_columns.h"
#include "base/clock.h"

/* ---- Pod ---- */

struct pod_summary {
    const char *word; /* the STATUS column */
    int64_t restarts, ready_n, total_n;
    const char *last_restart; /* RFC 3339, NULL = never */
};

static const struct json *state_of(const struct json *status, const char *state)
{
    return json_path(status, "state", state, NULL);
}

static const char *later_of(const char *a, const char *b)
{
    int64_t a_ms, b_ms;
    if (!b || !time_parse(bytes_of(b), &b_ms))
        return a;
    return a && time_parse(bytes_of(a), &a_ms) && a_ms >= b_ms ? a : b;
}

static const char *last_restart_of(const struct json *status)
{
    return json_text(json_path(status, "lastState", "terminated", "finishedAt", NULL), NULL);
}

/* Reason of an end, or "Signal:9" / "ExitCode:1" where none is told. */
static const char *end_word(struct table_cells *c, const struct json *terminated, const char *prefix)
{
    const char *reason = json_get_text(terminated, "reason", "");
    int64_t signal = json_get_int64(terminated, "signal", 0);
    if (*reason)
        return arena_printf(c->arena, "%s%s", prefix, reason);
    if (signal)
        return arena_printf(c->arena, "%sSignal:%lld", prefix, (long long)signal);
    return arena_printf(c->arena, "%sExitCode:%lld", prefix, (long long)json_get_int64(terminated, "exitCode", 0));
}

static const struct json *condition_find(const struct json *object, const char *type)
{
    JSON_EACH (condition, json_path(object, "status", "conditions", NULL)) {
        if (strcmp(json_get_text(condition, "type", ""), type) == 0)
            return condition;
    }
    return NULL;
}

static bool condition_true(const struct json *object, const char *type)
{
    return strcmp(json_get_text(condition_find(object, type), "status", ""), "True") == 0;
}

/* An init container that keeps running beside the others. */
static bool is_sidecar(const struct json *pod, const char *name)
{
    JSON_EACH (container, json_path(pod, "spec", "initContainers", NULL)) {
        if (strcmp(json_get_text(container, "name", ""), name) == 0)
            return strcmp(json_get_text(container, "restartPolicy", ""), "Always") == 0;
    }
    return false;
}

/* The init containers' part. Returns the word to show while one of them is not done, else NULL. */
static const char *init_word(struct table_cells *c, const struct json *pod, struct pod_summary *s,
                             struct pod_summary *sidecars)
{
    const struct json *declared = json_path(pod, "spec", "initContainers", NULL);
    JSON_EACH (container, declared) {
        if (strcmp(json_get_text(container, "restartPolicy", ""), "Always") == 0)
            s->total_n++;
    }
    int64_t at = 0;
    JSON_EACH (status, json_path(pod, "status", "initContainerStatuses", NULL)) {
        bool sidecar = is_sidecar(pod, json_get_text(status, "name", ""));
        const struct json *terminated = state_of(status, "terminated"), *waiting = state_of(status, "waiting");
        const char *reason = json_get_text(waiting, "reason", "");
        s->restarts += json_get_int64(status, "restartCount", 0);
        s->last_restart = later_of(s->last_restart, last_restart_of(status));
        if (sidecar) {
            sidecars->restarts += json_get_int64(status, "restartCount", 0);
            sidecars->last_restart = later_of(sidecars->last_restart, last_restart_of(status));
        }
        if (terminated && json_get_int64(terminated, "exitCode", 0) == 0) {
            at++;
            continue;
        }
        if (sidecar && json_get_bool(status, "started", false)) {
            s->ready_n += json_get_bool(status, "ready", false);
            at++;
            continue;
        }
        if (terminated)
            return end_word(c, terminated, "Init:");
        if (*reason && strcmp(reason, "PodInitializing") != 0)
            return arena_printf(c->arena, "Init:%s", reason);
        return arena_printf(c->arena, "Init:%lld/%u", (long long)at, declared ? declared->n : 0);
    }
    return NULL;
}

/* The main containers' part: from the last to the first, as the first one's word wins. */
static void container_words(struct table_cells *c, const struct json *pod, struct pod_summary *s)
{
    const struct json *statuses = json_path(pod, "status", "containerStatuses", NULL);
    bool running = false;
    for (size_t i = statuses ? statuses->n : 0; i-- > 0;) {
        const struct json *status = json_item(statuses, i);
        const struct json *waiting = state_of(status, "waiting"), *terminated = state_of(status, "terminated");
        s->restarts += json_get_int64(status, "restartCount", 0);
        s->last_restart = later_of(s->last_restart, last_restart_of(status));
        if (*json_get_text(waiting, "reason", "")) {
            s->word = json_get_text(waiting, "reason", "");
        } else if (terminated) {
            s->word = end_word(c, terminated, "");
        } else if (json_get_bool(status, "ready", false) && state_of(status, "running")) {
            running = true;
            s->ready_n++;
        }
    }
    if (running && strcmp(s->word, "Completed") == 0)
        s->word = condition_true(pod, "Ready") ? "Running" : "NotReady";
}

static struct pod_summary pod_summarize(struct table_cells *c, const struct json *pod)
{
    const struct json *status = json_get(pod, "status"), *containers = json_path(pod, "spec", "containers", NULL);
    const char *phase = json_get_text(status, "phase", "Pending"), *reason = json_get_text(status, "reason", "");
    struct pod_summary s = {.word = *reason ? reason : phase, .total_n = containers ? containers->n : 0};
    struct pod_summary sidecars = {0};
    if (strcmp(json_get_text(condition_find(pod, "PodScheduled"), "reason", ""), "SchedulingGated") == 0)
        s.word = "SchedulingGated";
    const char *initializing = init_word(c, pod, &s, &sidecars);
    if (initializing)
        s.word = initializing;
    if (!initializing || condition_true(pod, "Initialized")) {
        s.restarts = sidecars.restarts;
        s.last_restart = sidecars.last_restart;
        container_words(c, pod, &s);
    }
    bool ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
    if (json_path(pod, "metadata", "deletionTimestamp", NULL))
        s.word = strcmp(reason, "NodeLost") == 0 ? "Unknown" : ended ? s.word : "Terminating";
    return s;
}

static void pod_gates(struct table_cells *c, const struct json *pod)
{
    const struct json *gates = json_path(pod, "spec", "readinessGates", NULL);
    unsigned open = 0;
    if (!gates || gates->n == 0) {
        cell_text(c, "<none>");
        return;
    }
    JSON_EACH (gate, gates) {
        open += condition_true(pod, json_get_text(gate, "conditionType", ""));
    }
    cell_printf(c, "%u/%u", open, gates->n);
}

static void pod_cells(struct table_cells *c, const struct json *pod)
{
    struct pod_summary s = pod_summarize(c, pod);
    const struct json *ips = json_path(pod, "status", "podIPs", NULL);
    const char *ip = json_get_text(json_item(ips, 0), "ip", json_text(json_path(pod, "status", "podIP", NULL), ""));
    cell_name(c, pod);
    cell_printf(c, "%lld/%lld", (long long)s.ready_n, (long long)s.total_n);
    cell_text(c, s.word);
    if (s.restarts && s.last_restart)
        cell_printf(c, "%lld (%s ago)", (long long)s.restarts, cell_age_text(c, s.last_restart));
    else
        cell_printf(c, "%lld", (long long)s.restarts);
    cell_age(c, pod);
    cell_text_or_none(c, ip);
    cell_text_or_none(c, json_text(json_path(pod, "spec", "nodeName", NULL), ""));
    cell_text_or_none(c, json_text(json_path(pod, "status", "nominatedNodeName", NULL), ""));
    pod_gates(c, pod);
}
static const struct table_column pod_columns[] = {
    COLUMN_NAME,
    {"Ready", "string", "", 0, "Containers that are ready, of all."},
    {"Status", "string", "", 0, "What the containers do, in one word."},
    {"Restarts", "string", "", 0, "How often containers were restarted, and when last."},
    COLUMN_AGE,
    {"IP", "string", "", 1, "First address of the pod."},
    {"Node", "string", "", 1, "Node that the pod is bound to."},
    {"Nominated Node", "string", "", 1, "Node where room is being made for the pod."},
    {"Readiness Gates", "string", "", 1, "Additional conditions that hold, of all demanded."},
};

/* ---- Node ---- */

static int text_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void node_roles(struct table_cells *c, const struct json *node)
{
    const struct json *labels = json_path(node, "metadata", "labels", NULL);
    const char *roles[16];
    size_t n = 0;
    JSON_EACH (label, labels) {
        if (n == sizeof roles / sizeof *roles)
            break;
        const char *role = text_starts(label->key, "node-role.kubernetes.io/") ? label->key + 24 : "";
        if (strcmp(label->key, "kubernetes.io/role") == 0)
            role = json_text(label, "");
        if (*role)
            roles[n++] = role;
    }
    qsort(roles, n, sizeof *roles, text_order);
    struct buf text = {0};
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i ? "," : "", roles[i]);
    cell_text_or_none(c, text.data);
    buf_free(&text);
}

static const char *node_address(const struct json *node, const char *type)
{
    JSON_EACH (address, json_path(node, "status", "addresses", NULL)) {
        if (strcmp(json_get_text(address, "type", ""), type) == 0)
            return json_get_text(address, "address", "");
    }
    return "";
}

static void node_cells(struct table_cells *c, const struct json *node)
{
    const struct json *ready = condition_find(node, "Ready"), *info = json_path(node, "status", "nodeInfo", NULL);
    static const char *const details[] = {"osImage", "kernelVersion", "containerRuntimeVersion"};
    cell_name(c, node);
    cell_printf(c, "%s%s",
                !ready                          ? "Unknown"
                : condition_true(node, "Ready") ? "Ready"
                                                : "NotReady",
                json_bool(json_path(node, "spec", "unschedulable", NULL), false) ? ",SchedulingDisabled" : "");
    node_roles(c, node);
    cell_age(c, node);
    cell_text(c, json_get_text(info, "kubeletVersion", ""));
    cell_text_or_none(c, node_address(node, "InternalIP"));
    cell_text_or_none(c, node_address(node, "ExternalIP"));
    for (size_t i = 0; i < 3; i++) {
        const char *detail = json_get_text(info, details[i], "");
        cell_text(c, *detail ? detail : "<unknown>");
    }
}
static const struct table_column node_columns[] = {
    COLUMN_NAME,
    {"Status", "string", "", 0, "Whether the node takes pods."},
    {"Roles", "string", "", 0, "From labels node-role.kubernetes.io/ROLE."},
    COLUMN_AGE,
    {"Version", "string", "", 0, "Version of the kubelet."},
    {"Internal-IP", "string", "", 1, "Address inside the cluster."},
    {"External-IP", "string", "", 1, "Address outside the cluster."},
    {"OS-Image", "string", "", 1, "Operating system."},
    {"Kernel-Version", "string", "", 1, "Kernel."},
    {"Container-Runtime", "string", "", 1, "Container runtime."},
};

/* ---- Event (core/v1 and events.k8s.io/v1 name some fields differently) ---- */

static const char *event_text(const struct json *event, const char *core_name, const char *new_name)
{
    const char *text = json_get_text(event, core_name, "");
    return *text ? text : json_get_text(event, new_name, "");
}

static void event_source(struct table_cells *c, const struct json *event)
{
    const struct json *source = json_get(event, "source");
    if (!source)
        source = json_get(event, "deprecatedSource");
    const char *component = json_get_text(source, "component", ""), *host = json_get_text(source, "host", "");
    if (!*component)
        component = event_text(event, "reportingComponent", "reportingController");
    cell_printf(c, "%s%s%s", component, *host ? ", " : "", host);
}

static const char *text_trimmed(struct table_cells *c, const char *text)
{
    while (*text == ' ' || *text == '\n' || *text == '\t' || *text == '\r')
        text++;
    size_t n = strlen(text);
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\n' || text[n - 1] == '\t' || text[n - 1] == '\r'))
        n--;
    return arena_text_n(c->arena, text, n);
}

static void event_cells(struct table_cells *c, const struct json *event)
{
    const struct json *target = json_get(event, "involvedObject"), *series = json_get(event, "series");
    if (!target)
        target = json_get(event, "regarding");
    const char *first = event_text(event, "firstTimestamp", "deprecatedFirstTimestamp");
    const char *last = event_text(event, "lastTimestamp", "deprecatedLastTimestamp");
    const char *name = json_get_text(target, "name", "");
    int64_t count = json_get_int64(event, "count", json_get_int64(event, "deprecatedCount", 0));
    if (!*first)
        first = json_get_text(event, "eventTime", "");
    if (!*last)
        last = first;
    last = json_get_text(series, "lastObservedTime", last);
    count = json_get_int64(series, "count", count);
    cell_since(c, last, "<unknown>");
    cell_text(c, json_get_text(event, "type", ""));
    cell_text(c, json_get_text(event, "reason", ""));
    cell_printf(c, "%s%s%s", arena_text_lower(c->arena, json_get_text(target, "kind", "")), *name ? "/" : "", name);
    cell_text(c, json_get_text(target, "fieldPath", ""));
    event_source(c, event);
    cell_text(c, text_trimmed(c, event_text(event, "message", "note")));
    cell_since(c, first, "<unknown>");
    cell_int(c, count > 0 ? count : 1);
    cell_name(c, event);
}
static const struct table_column event_columns[] = {
    {"Last Seen", "string", "", 0, "When it was last seen."},
    {"Type", "string", "", 0, "Normal or Warning."},
    {"Reason", "string", "", 0, "Why, in one word."},
    {"Object", "string", "", 0, "What it is about."},
    {"Subobject", "string", "", 1, "Part of the object that it is about."},
    {"Source", "string", "", 1, "Who reported it."},
    {"Message", "string", "", 0, "What happened."},
    {"First Seen", "string", "", 1, "When it was first seen."},
    {"Count", "integer", "", 1, "How often it was seen."},
    {"Name", "string", "name", 1, "Name of the event."},
};

/* ---- metrics.k8s.io ---- */

static void usage_cells(struct table_cells *c, const struct json *object)
{
    const struct json *usage = json_get(object, "usage");
    cell_name(c, object);
    cell_text(c, json_get_text(usage, "cpu", ""));
    cell_text(c, json_get_text(usage, "memory", ""));
    cell_text(c, json_get_text(object, "window", ""));
}
static const struct table_column node_usage_columns[] = {
    COLUMN_NAME,
    {"cpu", "string", "", 0, "Used cores."},
    {"memory", "string", "", 0, "Used memory."},
    {"Window", "string", "", 0, "Time that the values are means of."},
};
static void pod_usage_cells(struct table_cells *c, const struct json *object)
{
    const struct json *usage = json_get(json_item(json_get(object, "containers"), 0), "usage");
    cell_name(c, object);
    cell_text(c, json_get_text(usage, "cpu", ""));
    cell_text(c, json_get_text(usage, "memory", ""));
    cell_text(c, json_get_text(object, "window", ""));
}

const struct table_layout table_layouts_pod[] = {
    {"", "Pod", TABLE_COLUMNS(pod_columns), pod_cells},
    {"", "Node", TABLE_COLUMNS(node_columns), node_cells},
    {"", "Event", TABLE_COLUMNS(event_columns), event_cells},
    {"events.k8s.io", "Event", TABLE_COLUMNS(event_columns), event_cells},
    {"metrics.k8s.io", "NodeMetrics", TABLE_COLUMNS(node_usage_columns), usage_cells},
    {"metrics.k8s.io", "PodMetrics", TABLE_COLUMNS(node_usage_columns), pod_usage_cells},
    {0},
};
