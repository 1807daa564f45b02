/* nodes.c - capstan nodes: GPUs of each node, how many are taken, and what they are */
#include <stdio.h>
#include "base/map.h"
#include "base/quantity.h"
#include "cli/cli.h"
#include "cli/connect.h"

static const char help[] = "Usage: capstan nodes [OPTION]...\n"
                           "Nodes with their accelerators: one line a node and resource (nvidia.com/gpu, MIG slices, "
                           "MPS shares).\n\n" CONNECT_HELP "\nExample: capstan nodes --output csv\n";

static const struct output_column columns[] = {
    {"node", "NODE", false, false},         {"status", "STATUS", false, false}, {"product", "PRODUCT", false, false},
    {"resource", "RESOURCE", false, false}, {"total", "TOTAL", true, false},    {"used", "USED", true, false},
    {"free", "FREE", true, false},          {"pods", "PODS", true, true},
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
    JSON_EACH (container, json_path(pod, "spec", "containers", NULL)) {
        const struct json *amounts = json_path(container, "resources", "limits", NULL);
        if (!amounts)
            amounts = json_path(container, "resources", "requests", NULL);
        JSON_EACH (amount, amounts)
            if (is_accelerator(amount->key)) {
                struct use *use = map_put(uses, bytes_of(arena_printf(a, "%s %s", node, amount->key)), NULL);
                use->devices_n += whole(amount);
            }
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

static void node_row(struct output_table *t, const struct json *node, const char *resource, int64_t total,
                     const struct map *uses, const struct map *pods_n)
{
    struct arena *a = t->arena;
    const char *name = json_text(json_path(node, "metadata", "name", NULL), "");
    const struct use *use = resource ? map_find_text(uses, arena_printf(a, "%s %s", name, resource)) : NULL;
    const int64_t *pods = map_find_text(pods_n, name);
    int64_t used = use ? use->devices_n : 0;
    const char *cells[COLUMNS_N] = {
        name,
        status_of(a, node),
        json_text(json_path(node, "metadata", "labels", "nvidia.com/gpu.product", NULL), NULL),
        resource,
        arena_printf(a, "%lld", (long long)total),
        arena_printf(a, "%lld", (long long)used),
        arena_printf(a, "%lld", (long long)(total - used)),
        arena_printf(a, "%lld", (long long)(pods ? *pods : 0))};
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

int nodes_main(int argc, char **argv)
{
    struct connect_options o;
    struct connection c;
    int code = connection_start(&c, &o, argc, argv, help);
    if (code >= 0)
        return code;
    code = EXIT_OK;
    _cleanup_arena_ struct arena *a = arena_new();
    struct map *uses = map_new(sizeof(struct use)), *pods_n = map_new(sizeof(int64_t));
    struct output_table t;
    struct err e = {0};
    output_init(&t, a, columns, COLUMNS_N);
    const struct json *nodes = connection_get(&c, a, "/api/v1/nodes", &e);
    const struct json *pods = nodes ? connection_get(&c, a, "/api/v1/pods", &e) : NULL;
    if (pods) {
        JSON_EACH (pod, json_get(pods, "items"))
            pod_count(uses, pods_n, a, pod);
        JSON_EACH (node, json_get(nodes, "items"))
            node_rows(&t, node, uses, pods_n);
        output_print(&t, o.output);
    } else {
        code = connection_fail("nodes", &e);
    }
    output_fini(&t);
    map_free(uses);
    map_free(pods_n);
    connection_close(&c);
    return code;
}
