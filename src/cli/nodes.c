/* nodes.c - capstan nodes: GPUs of each node, how many are taken, and what they are */
#include <stdio.h>
#include "base/clock.h"
#include "base/map.h"
#include "base/quantity.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "codec/decode.h"
#include "jobs/vcjob_pods.h"

static const char help[] =
    "Usage: capstan nodes [OPTION]...\n"
    "Nodes with their accelerators: one line a node and resource (nvidia.com/gpu, MIG slices, "
    "MPS shares).\n"
    "With --output wide: how busy its agent found the devices, when, and what was wrong.\n\n" CONNECT_HELP
    "\nExample: capstan nodes --output csv\n";

static const struct output_column columns[] = {
    {"node", "NODE", false, false},        {"status", "STATUS", false, false},
    {"product", "PRODUCT", false, false},  {"resource", "RESOURCE", false, false},
    {"total", "TOTAL", true, false},       {"used", "USED", true, false},
    {"free", "FREE", true, false},         {"pods", "PODS", true, true},
    {"busyPercent", "BUSY %", true, true}, {"measuredSecondsAgo", "MEASURED S AGO", true, true},
    {"warnings", "WARNINGS", false, true},
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };

struct use {
    int64_t devices_n;
};

static bool is_accelerator(const char *resource)
{
    return strstr(resource, "gpu") || strstr(resource, "/mig-") || text_starts(resource, "amd.com/");
}

static int64_t whole(const struct json *v)
{
    struct quantity q;
    return v && quantity_parse(json_bytes(v), &q, NULL) == 0 ? quantity_whole(q) : 0;
}

static void pod_count(struct map *uses, struct map *pods_n, struct arena *a, const struct json *pod)
{
    const char *node = json_text(json_path(pod, "spec", "nodeName", NULL), ""),
               *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    if (!*node || strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
        return;
    ++*(int64_t *)map_put(pods_n, bytes_of(node), NULL);
    struct json *requests = json_new(a, JSON_OBJECT);
    job_requests_add(a, requests, json_get(pod, "spec"), 1);
    JSON_EACH (amount, requests)
        if (is_accelerator(amount->key)) {
            struct use *use = map_put(uses, bytes_of(arena_printf(a, "%s %s", node, amount->key)), NULL);
            use->devices_n += whole(amount);
        }
}

static const char *status_of(struct arena *a, const struct json *node)
{
    const char *ready = "Unknown";
    JSON_EACH (condition, json_path(node, "status", "conditions", NULL))
        if (strcmp(json_get_text(condition, "type", ""), "Ready") == 0)
            ready = strcmp(json_get_text(condition, "status", ""), "True") == 0 ? "Ready" : "NotReady";
    return json_get_bool(json_get(node, "spec"), "unschedulable", false)
               ? arena_printf(a, "%s,SchedulingDisabled", ready)
               : ready;
}

/* What the node's agent measured of its devices, as the scheduler reads it. */
struct measured {
    const char *busy, *age_s, *warnings; /* NULL: nothing, or too old */
};

static const char *warnings_of(struct arena *a, const struct node_record *node)
{
    uint32_t throttled_n = 0, xid = 0;
    int64_t xid_ms = 0;
    for (uint32_t i = 0; i < node->feedback_n; i++) {
        const struct device_feedback *f = &node->feedback[i];
        throttled_n += f->throttled;
        if (f->xid && f->xid_ms >= xid_ms) {
            xid = f->xid;
            xid_ms = f->xid_ms;
        }
    }
    const char *slow = throttled_n ? arena_printf(a, "throttled: %u", throttled_n) : "";
    if (!xid)
        return throttled_n ? slow : NULL;
    return arena_printf(a, "%s%sXID %u", slow, throttled_n ? ", " : "", xid);
}

static struct measured measured_of(struct arena *a, const struct json *node)
{
    struct intern *names = intern_new();
    struct decoder d = {.names = names, .arena = a};
    struct node_record n = {0};
    struct measured m = {0};
    const char *text = json_text(json_path(node, "metadata", "annotations", DECODE_FEEDBACK_ANNOTATION, NULL), "");
    decode_feedback(&d, bytes_of(text), &n);
    int64_t age_ms = clock_wall_us() / 1000 - n.feedback_ms, most_ms = FEEDBACK_PERIODS * n.feedback_period_ms;
    double sum = 0;
    uint32_t known_n = 0;
    for (uint32_t i = 0; i < n.feedback_n; i++) {
        known_n += n.feedback[i].activity_permille >= 0;
        sum += n.feedback[i].activity_permille >= 0 ? n.feedback[i].activity_permille : 0;
    }
    if (n.feedback_n && age_ms <= most_ms && -age_ms <= most_ms) {
        m.busy = known_n ? arena_printf(a, "%.0f", sum / known_n / 10) : NULL;
        m.age_s = arena_printf(a, "%lld", (long long)(age_ms > 0 ? age_ms / 1000 : 0));
        m.warnings = warnings_of(a, &n);
    }
    intern_free(names);
    return m;
}

static void node_row(struct output_table *t, const struct json *node, const char *resource, int64_t total,
                     const struct map *uses, const struct map *pods_n)
{
    struct arena *a = t->arena;
    const char *name = json_text(json_path(node, "metadata", "name", NULL), "");
    const struct use *use = resource ? map_find_text(uses, arena_printf(a, "%s %s", name, resource)) : NULL;
    const int64_t *pods = map_find_text(pods_n, name);
    int64_t used = use ? use->devices_n : 0;
    struct measured m = measured_of(a, node);
    const char *cells[COLUMNS_N] = {
        name,
        status_of(a, node),
        json_text(json_path(node, "metadata", "labels", "nvidia.com/gpu.product", NULL), NULL),
        resource,
        arena_printf(a, "%lld", (long long)total),
        arena_printf(a, "%lld", (long long)used),
        arena_printf(a, "%lld", (long long)(total - used)),
        arena_printf(a, "%lld", (long long)(pods ? *pods : 0)),
        m.busy,
        m.age_s,
        m.warnings};
    output_row(t, cells);
}

static void node_rows(struct output_table *t, const struct json *node, const struct map *uses, const struct map *pods_n)
{
    bool any = false;
    JSON_EACH (amount, json_path(node, "status", "allocatable", NULL))
        if (is_accelerator(amount->key) && whole(amount) > 0) {
            node_row(t, node, amount->key, whole(amount), uses, pods_n);
            any = true;
        }
    if (!any)
        node_row(t, node, NULL, 0, uses, pods_n);
}

static void all_rows(struct connection *c, struct output_table *t, struct err *e)
{
    struct map *uses = map_new(sizeof(struct use)), *pods_n = map_new(sizeof(int64_t));
    const struct json *nodes = connection_get(c, t->arena, "/api/v1/nodes", e);
    const struct json *pods = nodes ? connection_get(c, t->arena, "/api/v1/pods", e) : NULL;
    JSON_EACH (pod, json_get(pods, "items"))
        pod_count(uses, pods_n, t->arena, pod);
    JSON_EACH (node, json_get(nodes, "items"))
        node_rows(t, node, uses, pods_n);
    map_free(uses);
    map_free(pods_n);
}

int nodes_main(int argc, char **argv)
{
    return connection_print_table(argc, argv, help, columns, COLUMNS_N, all_rows);
}
