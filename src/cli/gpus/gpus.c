/* gpus.c - see gpus.h */
#include "cli/gpus/gpus.h"
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/limits.h"
#include "cli/lookup/accelerators.h"
#include "codec/decode/decode.h"
#include "core/device_list.h"
#include "exporter/collect/pod_owner.h"
#include "kube/object.h"

#define GPUS_NODE_FIELDS                                                                                                                   \
    "?fields=metadata(name,labels,annotations(" DECODE_FEEDBACK_ANNOTATION "," DEVICES_ANNOTATION ")),status(allocatable)"
#define GPUS_POD_FIELDS "?fields=" LISTED_META ",spec(nodeName),status(phase,conditions(type,status,lastTransitionTime))"

struct held {
    struct gpu_holder *first;
    uint32_t pods_n;
    int64_t since_ms;
};
struct finder {
    struct arena *arena;
    struct map *held; /* "NODE ID", ID without the number of a share: struct held */
    int64_t now_ms;
    void (*show)(void *context, const struct gpu_line *line);
    void *context;
};

/* "GPU-x" of "GPU-x::2", a share that a device plugin hands out. */
static struct bytes whole_id(struct bytes id)
{
    for (size_t i = 0; i + 1 < id.n; i++)
        if (id.data[i] == ':' && id.data[i + 1] == ':')
            return (struct bytes){id.data, i};
    return id;
}

/* ---- whose they are ---- */

static int compare(const struct gpu_holder *h, const char *ns, const char *name)
{
    int order = strcmp(h->ns, ns);
    return order ? order : strcmp(h->name, name);
}

static void holder_add(struct arena *a, struct held *held, const struct json *pod)
{
    const struct json *metadata = json_get(pod, "metadata");
    struct pod_owner o = pod_owner_of(a, metadata);
    const char *ns = object_meta(pod, "namespace"), *pod_name = object_meta(pod, "name"), *name = *o.job ? o.job : pod_name;
    struct gpu_holder **at = &held->first;
    while (*at && compare(*at, ns, name) < 0)
        at = &(*at)->next;
    if (!*at || compare(*at, ns, name) > 0) {
        struct gpu_holder *h = arena_zero(a, 1, sizeof *h);
        *h = (struct gpu_holder){arena_text(a, ns), arena_text(a, name), arena_text(a, o.queue), json_new(a, JSON_ARRAY), 0, *at};
        *at = h;
    }
    json_append((*at)->pods, json_new_text(a, pod_name));
    (*at)->pods_n++;
    held->pods_n++;
}

static int64_t bound_ms(const struct json *pod)
{
    int64_t ms = 0;
    const struct json *scheduled = object_condition(pod, "PodScheduled");
    (void)time_parse(bytes_of(json_get_text(scheduled, "lastTransitionTime", object_meta(pod, "creationTimestamp"))), &ms);
    return ms;
}

static void pod_came(void *arg, const struct json *pod)
{
    struct finder *f = arg;
    const char *node = json_text(json_path(pod, "spec", "nodeName", NULL), ""),
               *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    struct device_list l = {.rest = bytes_of(object_annotation(pod, DEVICES_ANNOTATION))};
    struct bytes before = {0};
    if (!*node || text_equal(phase, "Succeeded") || text_equal(phase, "Failed"))
        return;
    while (device_list_next(&l)) {
        struct bytes id = whole_id(l.id);
        if (bytes_equal(id, before)) /* two shares of one GPU are one holder */
            continue;
        struct held *held = map_put(f->held, bytes_of(arena_printf(f->arena, "%s %.*s", node, (int)id.n, id.data)), NULL);
        int64_t since_ms = bound_ms(pod);
        holder_add(f->arena, held, pod);
        held->since_ms = since_ms > held->since_ms ? since_ms : held->since_ms;
        before = id;
    }
}

/* ---- what was measured ---- */

static const char *warnings_of(struct arena *a, const struct device_feedback *f)
{
    if (f->xid)
        return arena_printf(a, "%sXID %u", f->throttled ? "throttled, " : "", f->xid);
    return f->throttled ? "throttled" : NULL;
}

/* Of the device, or of the whole GPU. */
static void measured_set(struct arena *a, struct gpu_line *line, const struct node_record *n, const struct intern *names)
{
    for (uint32_t i = 0; i < n->feedback_n; i++) {
        const struct device_feedback *f = &n->feedback[i];
        if (!text_equal(intern_name(names, f->id), line->device))
            continue;
        line->activity_permille = f->activity_permille;
        line->memory_used_mib = f->memory_used_mib;
        line->memory_total_mib = f->memory_total_mib;
        line->measured_ms = n->feedback_ms;
        line->warnings = warnings_of(a, f);
    }
}

static bool is_fresh(const struct finder *f, const struct node_record *n)
{
    int64_t age_ms = f->now_ms - n->feedback_ms, most_ms = FEEDBACK_PERIODS * n->feedback_period_ms;
    return n->feedback_n && age_ms <= most_ms && -age_ms <= most_ms;
}

/* ---- devices ---- */

struct device_row {
    const struct json *device; /* the first of its shares */
    struct bytes id;
    uint32_t slots_n;
    bool healthy;
};

/* Shares of one GPU are one row. Returns how many there are. */
static uint32_t devices_of(struct arena *a, const struct json *list, struct device_row **ret_rows)
{
    struct device_row *rows = arena_zero(a, list->n + 1, sizeof *rows);
    struct map *by_id = map_new(sizeof(uint32_t)); /* place in rows, from 1 */
    uint32_t n = 0;
    JSON_EACH (device, list) {
        struct bytes id = whole_id(json_bytes(json_get(device, "id")));
        if (!id.n)
            continue;
        uint32_t *place = map_put(by_id, id, NULL);
        if (!*place) {
            rows[n] = (struct device_row){.device = device, .id = id};
            *place = ++n;
        }
        rows[*place - 1].slots_n++;
        rows[*place - 1].healthy |= json_get_bool(device, "healthy", true);
    }
    map_free(by_id);
    *ret_rows = rows;
    return n;
}

static void node_show(const struct finder *f, const struct json *node, const struct json *list)
{
    struct arena *a = f->arena;
    struct intern *names = intern_new();
    struct decoder d = {.names = names, .arena = a};
    struct node_record n = {0};
    struct device_row *rows;
    const char *name = object_meta(node, "name"), *product = object_label(node, "nvidia.com/gpu.product");
    decode_feedback(&d, bytes_of(object_annotation(node, DECODE_FEEDBACK_ANNOTATION)), &n);
    bool fresh = is_fresh(f, &n);
    uint32_t rows_n = devices_of(a, list, &rows);
    for (uint32_t i = 0; i < rows_n; i++) {
        struct gpu_line line = {.node = name,
                                .product = *product ? product : NULL,
                                .resource = json_get_text(rows[i].device, "r", "?"),
                                .device = arena_text_n(a, rows[i].id.data, rows[i].id.n),
                                .gpu = json_get_int64(rows[i].device, "gpu", i),
                                .slots_n = rows[i].slots_n,
                                .healthy = rows[i].healthy,
                                .activity_permille = -1};
        const struct held *held = map_find_text(f->held, arena_printf(a, "%s %s", name, line.device));
        if (held) {
            line.holders = held->first;
            line.pods_n = held->pods_n;
            line.since_ms = held->since_ms;
        }
        if (fresh)
            measured_set(a, &line, &n, names);
        f->show(f->context, &line);
    }
    intern_free(names);
}

static bool has_accelerators(const struct json *node)
{
    JSON_EACH (amount, json_path(node, "status", "allocatable", NULL))
        if (is_accelerator(amount->key) && whole_number(amount) > 0)
            return true;
    return false;
}

uint32_t gpus_find(struct connection *c, struct arena *a, void (*show)(void *context, const struct gpu_line *line), void *context,
                   struct err *e)
{
    struct finder f = {.arena = a, .held = map_new(sizeof(struct held)), .show = show, .context = context};
    const struct json *nodes = connection_get(c, a, "/api/v1/nodes" GPUS_NODE_FIELDS, e);
    uint32_t untold_n = 0;
    f.now_ms = clock_wall_us() / 1000;
    if (nodes)
        (void)connection_each(c, "/api/v1/pods" GPUS_POD_FIELDS, pod_came, &f, e);
    for (const struct json *node = e->code ? NULL : json_first(json_get(nodes, "items")); node; node = node->next) {
        const struct json *list = json_parse(a, bytes_of(object_annotation(node, DEVICES_ANNOTATION)), NULL, NULL);
        if (json_is(list, JSON_ARRAY) && list->n && list->n <= LIMIT_DEVICES_PER_NODE)
            node_show(&f, node, list);
        else
            untold_n += has_accelerators(node);
    }
    map_free(f.held);
    return untold_n;
}

/* ---- as a table ---- */

const struct output_column gpus_columns[GPUS_COLUMNS_N] = {
    {"node", "NODE", .is_key = true},
    {"gpu", "GPU", .place = OUTPUT_FOR_SCREENS},
    {"gpu", "GPU", .is_number = true, .wide = true, .is_key = true},
    {"device", "DEVICE", .wide = true, .is_key = true},
    {"product", "PRODUCT", .wide = true},
    {"resource", "RESOURCE", .is_key = true},
    {"slots", "SLOTS", .is_number = true, .wide = true},
    {"pods", "PODS", .is_number = true},
    {"busyPercent", "BUSY %", .is_number = true, .ticks = true},
    {"memoryUsedMiB", "MEMORY(MiB)", .is_number = true, .ticks = true},
    {"memoryTotalMiB", "OF(MiB)", .is_number = true, .wide = true},
    {"measuredSecondsAgo", "MEASURED S AGO", .is_number = true, .wide = true, .ticks = true},
    {"status", "STATUS", .is_number = false},
    {"usedBy", "USED BY", .place = OUTPUT_FOR_PEOPLE},
    {"usedBy", "USED BY", .place = OUTPUT_FOR_PROGRAMS},
};

struct rows {
    struct output_table *t;
    const char *nodes; /* patterns; NULL: all */
    int64_t now_ms;
};

static const char *number(struct arena *a, int64_t n)
{
    return arena_printf(a, "%lld", (long long)n);
}

/* "3", or "3 MIG-b979eb4a": by this much of their UUIDs people tell instances of one GPU apart. */
static const char *gpu_text(struct arena *a, const struct gpu_line *g)
{
    enum { SHORT_N = 12 }; /* of "MIG-" and a UUID */
    bool is_mig = strncmp(g->device, "MIG-", 4) == 0;
    return is_mig ? arena_printf(a, "%lld %.*s", (long long)g->gpu, SHORT_N, g->device) : number(a, g->gpu);
}

static const char *holders_text(struct arena *a, const struct gpu_holder *h)
{
    const char *text = NULL;
    for (; h; h = h->next)
        text = arena_printf(a, "%s%s%s/%s%s", text ? text : "", text ? ", " : "", h->ns, h->name,
                            h->pods_n > 1 ? arena_printf(a, " %u", h->pods_n) : "");
    return text;
}

static const char *holders_json(struct arena *a, const struct gpu_holder *h)
{
    _cleanup_buf_ struct buf out = {0};
    struct json *list = json_new(a, JSON_ARRAY);
    for (; h; h = h->next) {
        struct json *one = json_new(a, JSON_OBJECT);
        json_set_text(a, one, "namespace", h->ns);
        json_set_text(a, one, "name", h->name);
        json_set(a, one, "queue", *h->queue ? json_new_text(a, h->queue) : json_new(a, JSON_NULL));
        json_set(a, one, "pods", h->pods);
        json_append(list, one);
    }
    json_write(&out, list);
    return arena_text_n(a, out.data, out.n);
}

static void row_add(void *context, const struct gpu_line *g)
{
    struct rows *x = context;
    struct arena *a = x->t->arena;
    int64_t age_ms = x->now_ms - g->measured_ms;
    if (!option_picks(x->nodes, g->node))
        return;
    const char *cells[GPUS_COLUMNS_N] = {g->node,
                                         gpu_text(a, g),
                                         number(a, g->gpu),
                                         g->device,
                                         g->product,
                                         g->resource,
                                         number(a, g->slots_n),
                                         number(a, g->pods_n),
                                         g->activity_permille < 0 ? NULL : number(a, (g->activity_permille + 5) / 10),
                                         g->memory_total_mib ? number(a, g->memory_used_mib) : NULL,
                                         g->memory_total_mib ? number(a, g->memory_total_mib) : NULL,
                                         g->measured_ms ? number(a, age_ms > 0 ? age_ms / 1000 : 0) : NULL,
                                         !g->healthy   ? "Unhealthy"
                                         : g->warnings ? g->warnings
                                                       : "Healthy",
                                         holders_text(a, g->holders),
                                         holders_json(a, g->holders)};
    output_row(x->t, cells);
}

void gpus_rows(struct connection *c, struct output_table *t, const struct options *o, struct err *e)
{
    struct rows x = {t, option_shared(o, "node"), clock_wall_us() / 1000};
    uint32_t untold_n = gpus_find(c, t->arena, row_add, &x, e);
    if (x.nodes && !t->rows_n)
        t->empty = "no GPU of such a node is known";
    if (untold_n && !x.nodes)
        t->note = arena_printf(t->arena, "not shown: GPUs of %u nodes without an agent, where only the kubelet knows which GPU a pod has",
                               untold_n);
}
