/* queues.c - capstan queues: what each queue may use, uses, has borrowed, and how many wait */
#include <stdio.h>
#include "base/quantity.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "kube/object.h"

static const struct output_column columns[] = {
    {"queue", "QUEUE", false, false},       {"kind", "KIND", false, true},
    {"cohort", "COHORT", false, true},      {"strategy", "STRATEGY", false, true},
    {"flavor", "FLAVOR", false, false},     {"resource", "RESOURCE", false, false},
    {"nominal", "NOMINAL", false, false},   {"used", "USED", false, false},
    {"borrowed", "BORROWED", false, false}, {"pending", "PENDING", true, false},
    {"admitted", "ADMITTED", true, false},  {"active", "ACTIVE", false, false},
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };

static const char *text_of(struct arena *a, const struct json *v)
{
    struct bytes text = json_bytes(v);
    return text.n ? arena_text_n(a, text.data, text.n) : NULL;
}

static const char *count_of(struct arena *a, const struct json *status, const char *key)
{
    return arena_printf(a, "%lld", (long long)json_get_int64(status, key, 0));
}

static const struct json *named(const struct json *list, const char *name)
{
    JSON_EACH (item, list)
        if (strcmp(json_get_text(item, "name", ""), name) == 0)
            return item;
    return NULL;
}

/* flavor, resource NULL: a queue without quota of anything is one all the same. */
static void cluster_queue_row(struct output_table *t, const struct json *queue, const struct json *flavor, const struct json *resource)
{
    struct arena *a = t->arena;
    const struct json *spec = json_get(queue, "spec"), *status = json_get(queue, "status");
    const char *flavor_name = json_get_text(flavor, "name", NULL), *name = json_get_text(resource, "name", NULL),
               *none = name ? "0" : NULL;
    const struct json *used =
        name ? named(json_get(named(json_get(status, "flavorsReservation"), flavor_name), "resources"), name) : NULL;
    const char *cells[COLUMNS_N] = {object_meta(queue, "name"),
                                    "ClusterQueue",
                                    json_get_text(spec, "cohortName", NULL),
                                    json_get_text(spec, "queueingStrategy", "BestEffortFIFO"),
                                    flavor_name,
                                    name,
                                    text_of(a, json_get(resource, "nominalQuota")),
                                    used ? text_of(a, json_get(used, "total")) : none,
                                    used ? text_of(a, json_get(used, "borrowed")) : none,
                                    count_of(a, status, "pendingWorkloads"),
                                    count_of(a, status, "admittedWorkloads"),
                                    json_get_text(object_condition(queue, "Active"), "status", "Unknown")};
    output_row(t, cells);
}

static void cluster_queue_rows(struct output_table *t, const struct json *queue)
{
    uint32_t rows_n = t->rows_n;
    JSON_EACH (group, json_path(queue, "spec", "resourceGroups", NULL))
        JSON_EACH (flavor, json_get(group, "flavors"))
            JSON_EACH (resource, json_get(flavor, "resources"))
                cluster_queue_row(t, queue, flavor, resource);
    if (t->rows_n == rows_n)
        cluster_queue_row(t, queue, NULL, NULL);
}

static void volcano_row(struct output_table *t, const struct json *queue, const char *resource,
                        const struct json *capability)
{
    struct arena *a = t->arena;
    const struct json *status = json_get(queue, "status"),
                      *used = resource ? json_get(json_get(status, "allocated"), resource) : NULL;
    const char *cells[COLUMNS_N] = {object_meta(queue, "name"),
                                    "Queue",
                                    NULL,
                                    NULL,
                                    NULL,
                                    resource,
                                    capability ? text_of(a, capability) : NULL,
                                    used       ? text_of(a, used)
                                    : resource ? "0"
                                               : NULL,
                                    NULL,
                                    count_of(a, status, "pending"),
                                    count_of(a, status, "running"),
                                    json_get_text(status, "state", "Open")};
    output_row(t, cells);
}

static void volcano_rows(struct output_table *t, const struct json *queue)
{
    const struct json *capability = json_path(queue, "spec", "capability", NULL);
    bool any = false;
    JSON_EACH (amount, capability) {
        volcano_row(t, queue, amount->key, amount);
        any = true;
    }
    if (!any)
        volcano_row(t, queue, NULL, NULL);
}

static void queue_rows(struct connection *c, struct output_table *t, struct err *e)
{
    const struct json *list = connection_get_list(c, t->arena, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues", e);
    JSON_EACH (queue, json_get(list, "items"))
        cluster_queue_rows(t, queue);
    list = connection_get_list(c, t->arena, "/apis/scheduling.volcano.sh/v1beta1/queues", e);
    JSON_EACH (queue, json_get(list, "items"))
        volcano_rows(t, queue);
}

int queues_main(const struct options *o)
{
    return connection_print_table(o, columns, COLUMNS_N, queue_rows);
}
