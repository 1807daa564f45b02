/* queues.c - capstan queues: what is each queue's own, what it uses and has borrowed, what it may have at most, and how many wait
 *
 *              ClusterQueue                     Queue of Volcano, where it names it    Queue of KAI
 *   nominal    nominalQuota                     deserved                               quota
 *   limit      nominalQuota + borrowingLimit    capability                             limit
 *   guaranteed nominalQuota - lendingLimit      guarantee
 *
 * WHY  what a queue deserves by weight is a dash: it moves with all that is asked for, of all queues at once, so nobody writes it down;
 *      the scheduler's metrics have it.
 */
#include <stdio.h>
#include "base/quantity.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/live/lists.h"
#include "codec/decode/decode.h"
#include "codec/kinds/placement_names.h"
#include "kube/object.h"

static const struct output_column columns[] = {
    {"queue", "QUEUE", .is_key = true},     {"kind", "KIND", .wide = true, .is_key = true},
    {"cohort", "COHORT", false, true},      {"strategy", "STRATEGY", false, true},
    {"placement", "PLACEMENT", false, true},
    {"flavor", "FLAVOR", .is_key = true},   {"resource", "RESOURCE", .is_key = true},
    {"nominal", "NOMINAL", .is_quantity = true},   {"used", "USED", .is_quantity = true},
    {"borrowed", "BORROWED", .is_quantity = true}, {"limit", "LIMIT", .is_quantity = true},
    {"guaranteed", "GUARANTEED", .wide = true, .is_quantity = true}, {"weight", "WEIGHT", false, true},
    {"pending", "PENDING", true, false},    {"admitted", "ADMITTED", true, false},
    {"active", "ACTIVE", false, false},
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };

static const char *text_of(struct arena *a, const struct json *v)
{
    struct bytes text = json_bytes(v);
    return text.n ? arena_text_n(a, text.data, text.n) : NULL;
}

static const char *count_of(struct arena *a, const struct json *of, const char *key, int64_t otherwise)
{
    return arena_printf(a, "%lld", (long long)json_get_int64(of, key, otherwise));
}

/* a + sign * b, 0 where that is less. NULL: one of them is missing, or no quantity. */
static const char *sum_of(struct arena *a, const struct json *one, int sign, const struct json *other)
{
    struct quantity x, y;
    char text[QUANTITY_TEXT_MAX];
    if (quantity_parse(json_bytes(one), &x, NULL) < 0 || quantity_parse(json_bytes(other), &y, NULL) < 0)
        return NULL;
    x.nano += sign * y.nano;
    if (x.nano < 0)
        x.nano = 0;
    return arena_text(a, quantity_format(text, x));
}

static const struct json *named(const struct json *list, const char *name)
{
    JSON_EACH (item, list)
        if (text_equal(json_get_text(item, "name", ""), name))
            return item;
    return NULL;
}

/* The policy of its own by which nodes are chosen for it, as it keeps it; NULL: none. */
static const char *placement_of(struct arena *a, const struct json *queue)
{
    struct queue_placement own = decode_queue_placement(queue, a);
    return own.own ? placement_name(own.by) : NULL;
}

/* flavor, resource NULL: a queue without quota of anything is one all the same. */
static void cluster_queue_row(struct output_table *t, const struct json *queue, const struct json *flavor, const struct json *resource)
{
    struct arena *a = t->arena;
    const struct json *spec = json_get(queue, "spec"), *status = json_get(queue, "status");
    const char *flavor_name = json_get_text(flavor, "name", NULL), *name = json_get_text(resource, "name", NULL),
               *none = name ? "0" : NULL, *cohort = json_text(decode_queue_cohort(spec), NULL);
    const struct json *nominal = json_get(resource, "nominalQuota");
    const struct json *used =
        name ? named(json_get(named(json_get(status, "flavorsReservation"), flavor_name), "resources"), name) : NULL;
    const char *cells[COLUMNS_N] = {object_meta(queue, "name"),
                                    "ClusterQueue",
                                    cohort,
                                    json_get_text(spec, "queueingStrategy", "BestEffortFIFO"),
                                    placement_of(a, queue),
                                    flavor_name,
                                    name,
                                    text_of(a, nominal),
                                    used ? text_of(a, json_get(used, "total")) : none,
                                    used ? text_of(a, json_get(used, "borrowed")) : none,
                                    cohort ? sum_of(a, nominal, 1, json_get(resource, "borrowingLimit")) : text_of(a, nominal),
                                    sum_of(a, nominal, -1, json_get(resource, "lendingLimit")),
                                    text_of(a, json_path(spec, "fairSharing", "weight", NULL)),
                                    count_of(a, status, "pendingWorkloads", 0),
                                    count_of(a, status, "admittedWorkloads", 0),
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

static void volcano_row(struct output_table *t, const struct json *queue, const char *resource)
{
    struct arena *a = t->arena;
    const struct json *spec = json_get(queue, "spec"), *status = json_get(queue, "status");
    const struct json *used = resource ? json_get(json_get(status, "allocated"), resource) : NULL,
                      *deserved = resource ? json_get(json_get(spec, "deserved"), resource) : NULL,
                      *guarantee = resource ? json_get(json_path(spec, "guarantee", "resource", NULL), resource) : NULL,
                      *capability = resource ? json_get(json_get(spec, "capability"), resource) : NULL;
    const char *none = resource ? "0" : NULL;
    const char *cells[COLUMNS_N] = {object_meta(queue, "name"),
                                    "Queue",
                                    json_get_text(spec, "parent", NULL),
                                    NULL,
                                    placement_of(a, queue),
                                    NULL,
                                    resource,
                                    text_of(a, deserved),
                                    used ? text_of(a, used) : none,
                                    !deserved ? NULL : used ? sum_of(a, used, -1, deserved) : none,
                                    text_of(a, capability),
                                    text_of(a, guarantee),
                                    count_of(a, spec, "weight", 1),
                                    count_of(a, status, "pending", 0),
                                    count_of(a, status, "running", 0),
                                    json_get_text(status, "state", "Open")};
    output_row(t, cells);
}

static void volcano_rows(struct output_table *t, const struct json *queue)
{
    const struct json *spec = json_get(queue, "spec");
    const struct json *const lists[] = {json_get(spec, "deserved"), json_path(spec, "guarantee", "resource", NULL),
                                        json_get(spec, "capability"), json_path(queue, "status", "allocated", NULL)};
    uint32_t rows_n = t->rows_n;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        JSON_EACH (amount, lists[i]) {
            bool known = false;
            for (size_t k = 0; k < i && !known; k++)
                known = json_get(lists[k], amount->key) != NULL;
            if (!known)
                volcano_row(t, queue, amount->key);
        }
    if (t->rows_n == rows_n)
        volcano_row(t, queue, NULL);
}

/* An amount of KAI's in the unit of `used`; NULL: there is no end. */
static const char *kai_amount(struct arena *a, const struct json *amounts, const char *field, const char *key)
{
    struct quantity q;
    char text[QUANTITY_TEXT_MAX];
    const struct json *v = json_get(json_get(amounts, field), key);
    __int128 divisor = strcmp(field, "cpu") == 0 ? 1000 : 1, factor = strcmp(field, "memory") == 0 ? 1000000 : 1;
    if (!json_is(v, JSON_NUMBER) || quantity_parse(json_bytes(v), &q, NULL) < 0)
        return "0";
    if (q.nano < 0)
        return NULL;
    q.nano = q.nano / divisor * factor;
    return arena_printf(a, "%s", quantity_format(text, q));
}

/* SOURCE codec/queues/kai_queues.h */
static void kai_rows(struct output_table *t, const struct json *queue)
{
    static const struct {
        const char *field, *resource;
    } rows[] = {{"gpu", "nvidia.com/gpu"}, {"cpu", "cpu"}, {"memory", "memory"}};
    struct arena *a = t->arena;
    const struct json *spec = json_get(queue, "spec"), *amounts = json_get(spec, "resources");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct json *used = json_get(json_path(queue, "status", "allocated", NULL), rows[i].resource);
        const struct json *weight = json_get(json_get(amounts, rows[i].field), "overQuotaWeight");
        const char *quota = kai_amount(a, amounts, rows[i].field, "quota");
        const char *cells[COLUMNS_N] = {object_meta(queue, "name"), "KAI Queue", json_get_text(spec, "parentQueue", NULL), NULL, NULL, NULL,
                                        rows[i].resource, quota, used ? text_of(a, used) : "0",
                                        quota && used ? sum_of(a, used, -1, json_new_text(a, quota)) : quota ? "0" : NULL,
                                        kai_amount(a, amounts, rows[i].field, "limit"), NULL, weight ? text_of(a, weight) : "0"};
        output_row(t, cells);
    }
}

static void queue_rows(struct connection *c, struct output_table *t, const struct options *o, struct err *e)
{
    (void)o;
    const struct json *list = connection_get_list(c, t->arena, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues", e);
    JSON_EACH (queue, json_get(list, "items"))
        cluster_queue_rows(t, queue);
    list = connection_get_list(c, t->arena, "/apis/scheduling.volcano.sh/v1beta1/queues", e);
    JSON_EACH (queue, json_get(list, "items"))
        volcano_rows(t, queue);
    list = connection_get_list(c, t->arena, "/apis/scheduling.run.ai/v2/queues", e);
    JSON_EACH (queue, json_get(list, "items"))
        kai_rows(t, queue);
}

const struct live_list queues_list = {columns, COLUMNS_N, queue_rows};

int queues_main(const struct options *o)
{
    return live_print_table(o, &queues_list);
}
