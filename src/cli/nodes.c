/* nodes.c - capstan nodes: GPUs of each node, what they are, how many are taken, and by whom */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/gpus/gpus.h"
#include "cli/live/lists.h"
#include "cli/lookup/accelerators.h"
#include "cli/lookup/node_models.h"
#include "codec/decode/decode.h"
#include "codec/share/share.h"
#include "core/device_list.h"
#include "exporter/collect/pod_owner.h"
#include "jobs/volcano/vcjob_pods.h"
#include "kube/object.h"

static const struct output_column columns[] = {
    {"node", "NODE", .is_key = true},       {"status", "STATUS", false, false},
    {"product", "PRODUCT", false, false},  {"resource", "RESOURCE", .is_key = true},
    {"total", "TOTAL", true, false},       {"used", "USED", true, false},
    {"free", "FREE", true, false},         {"usedBy", "USED BY", .place = OUTPUT_FOR_PEOPLE},
    {"usedBy", "USED BY", .place = OUTPUT_FOR_PROGRAMS}, {"pods", "PODS", true, true},
    {"busyPercent", "BUSY %", true, true, .ticks = true}, {"measuredSecondsAgo", "MEASURED S AGO", true, true, .ticks = true},
    {"warnings", "WARNINGS", false, true},
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };
static const struct output_column summary_columns[] = {
    {"product", "PRODUCT", .is_key = true},           {"resource", "RESOURCE", .is_key = true},
    {"nodes", "NODES", .is_number = true},            {"usableNodes", "USABLE", .is_number = true},
    {"total", "TOTAL", .is_number = true},            {"used", "USED", .is_number = true},
    {"free", "FREE", .is_number = true},              {"emptyNodes", "EMPTY NODES", .is_number = true},
    {"mostFree", "MOST FREE", .is_number = true},     {"queues", "QUEUES", .place = OUTPUT_FOR_PEOPLE},
    {"queues", "QUEUES", .place = OUTPUT_FOR_PROGRAMS},
};
enum { SUMMARY_COLUMNS_N = sizeof summary_columns / sizeof *summary_columns };

/* Who has devices of one resource of one node: pods of one job. */
struct holder {
    struct pod_owner owner;
    const char *ns, *name; /* name: of the job, or of the pod that is of none */
    int64_t devices_n;
    struct json *pods; /* names */
    struct holder *next;
};
struct use {
    int64_t devices_n;
    struct holder *first; /* ORDER most devices first, then by name */
};
/* What all nodes have in common for one listing. */
struct nodes_view {
    struct output_table *t;
    struct map *uses, *pods_n; /* "NODE RESOURCE": struct use; NODE: int64_t */
    struct map *memory_mib, *shared; /* NODE: int64_t, of each GPU; "NODE" and "NODE GPU": struct shared */
    bool all_holders;
    struct node_models *models; /* add to these instead; NULL: a row each */
};
enum { HOLDERS_SHOWN = 3 };
/* GPUs of which pods have shares: who asks for a whole one does not get them, nor what else a plugin hands out of them. */
struct shared {
    int64_t gpus_n, slots_n; /* slots: devices that those pods have of a plugin */
};

static void holder_add(struct arena *a, struct use *use, const struct json *pod, int64_t n)
{
    const struct json *metadata = json_get(pod, "metadata");
    struct pod_owner o = pod_owner_of(a, metadata);
    const char *ns = json_get_text(metadata, "namespace", ""), *pod_name = json_get_text(metadata, "name", ""),
               *name = *o.job ? o.job : pod_name;
    struct holder *h = use->first;
    while (h && !(text_equal(h->ns, ns) && text_equal(h->name, name)))
        h = h->next;
    if (!h) {
        h = arena_zero(a, 1, sizeof *h);
        *h = (struct holder){.owner = {arena_text(a, o.queue), arena_text(a, o.job), arena_text(a, o.user)},
                             .ns = arena_text(a, ns),
                             .name = arena_text(a, name),
                             .pods = json_new(a, JSON_ARRAY),
                             .next = use->first};
        use->first = h;
    }
    h->devices_n += n;
    json_append(h->pods, json_new_text(a, pod_name));
    use->devices_n += n;
}

static int compare_holders(const void *left, const void *right)
{
    const struct holder *a = *(struct holder *const *)left, *b = *(struct holder *const *)right;
    if (a->devices_n != b->devices_n)
        return a->devices_n > b->devices_n ? -1 : 1;
    int r = strcmp(a->ns, b->ns);
    return r ? r : strcmp(a->name, b->name);
}

static void holders_sort(struct arena *a, struct use *use)
{
    size_t n = 0, at = 0;
    for (const struct holder *h = use->first; h; h = h->next)
        n++;
    struct holder **all = arena_alloc(a, (n + 1) * sizeof *all);
    for (struct holder *h = use->first; h; h = h->next)
        all[at++] = h;
    qsort(all, n, sizeof *all, compare_holders);
    all[n] = NULL;
    use->first = all[0];
    for (at = 0; at < n; at++)
        all[at]->next = all[at + 1];
}

/* "team-a/train 6, team-b/serve 1, +2 more"; NULL: nobody. */
static const char *holders_text(struct arena *a, const struct use *use, bool all)
{
    const char *text = NULL;
    int shown_n = 0, more_n = 0;
    for (const struct holder *h = use->first; h; h = h->next) {
        if (!all && shown_n == HOLDERS_SHOWN) {
            more_n++;
            continue;
        }
        text = arena_printf(a, "%s%s%s/%s %lld", text ? text : "", text ? ", " : "", h->ns, h->name, (long long)h->devices_n);
        shown_n++;
    }
    return more_n ? arena_printf(a, "%s, +%d more", text, more_n) : text;
}

static const char *holders_json(struct arena *a, const struct use *use)
{
    _cleanup_buf_ struct buf out = {0};
    struct json *list = json_new(a, JSON_ARRAY);
    for (const struct holder *h = use ? use->first : NULL; h; h = h->next) {
        struct json *one = json_new(a, JSON_OBJECT);
        json_set_text(a, one, "namespace", h->ns);
        json_set(a, one, "job", *h->owner.job ? json_new_text(a, h->owner.job) : json_new(a, JSON_NULL));
        json_set(a, one, "queue", *h->owner.queue ? json_new_text(a, h->owner.queue) : json_new(a, JSON_NULL));
        json_set(a, one, "user", *h->owner.user ? json_new_text(a, h->owner.user) : json_new(a, JSON_NULL));
        json_set_int64(a, one, "devices", h->devices_n);
        json_set(a, one, "pods", h->pods);
        json_append(list, one);
    }
    json_write(&out, list);
    return arena_text_n(a, out.data, out.n);
}

/* Thousandths of a GPU: the larger of what it has of one and of its memory. */
static int64_t share_size(const struct share *s, int64_t memory_mib)
{
    int64_t of_memory = s->bytes && memory_mib ? ((s->bytes >> 10) * 1000 / memory_mib + 1023) >> 10 : s->memory_milli;
    return of_memory > s->milli ? of_memory : s->milli;
}

static void shares_count(const struct nodes_view *v, const struct json *pod, const char *node)
{
    struct arena *a = v->t->arena;
    const struct json *annotations = json_path(pod, "metadata", "annotations", NULL);
    struct share share;
    if (!share_of_pod(pod, &share))
        return;
    const int64_t *memory_mib = map_find_text(v->memory_mib, node);
    int64_t size = share_size(&share, memory_mib ? *memory_mib : 0) * share.count;
    holder_add(a, map_put(v->uses, bytes_of(arena_printf(a, "%s " GPU_SHARE_MILLI, node)), NULL), pod, size);
    struct device_list l = {.rest = bytes_of(json_get_text(annotations, DEVICES_ANNOTATION, ""))};
    int64_t new_n = 0;
    while (device_list_next(&l))
        if (bytes_is(l.resource, GPU_SHARE_MILLI)) {
            struct shared *gpu = map_put(v->shared, bytes_of(arena_printf(a, "%s %.*s", node, (int)l.id.n, l.id.data)), NULL);
            new_n += !gpu->gpus_n;
            gpu->gpus_n = 1;
        }
    struct shared *of_node = map_put(v->shared, bytes_of(node), NULL);
    of_node->gpus_n += new_n;
    of_node->slots_n += share.slots;
}

static void pod_count(void *arg, const struct json *pod)
{
    const struct nodes_view *v = arg;
    struct arena *a = v->t->arena;
    const char *node = json_text(json_path(pod, "spec", "nodeName", NULL), ""),
               *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    if (!*node || strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
        return;
    ++*(int64_t *)map_put(v->pods_n, bytes_of(node), NULL);
    shares_count(v, pod, node);
    struct json *requests = json_new(a, JSON_OBJECT);
    job_requests_add_of(a, requests, json_get(pod, "spec"), 1, is_accelerator);
    JSON_EACH (amount, requests)
        if (whole_number(amount) > 0)
            holder_add(a, map_put(v->uses, bytes_of(arena_printf(a, "%s %s", node, amount->key)), NULL), pod, whole_number(amount));
}

/* Devices of the resource that nobody has and that only pods with shares would get. */
static int64_t kept_by_shares(const struct nodes_view *v, const struct json *node, const char *resource)
{
    const struct shared *shared = map_find_text(v->shared, json_text(json_path(node, "metadata", "name", NULL), ""));
    if (!shared || !resource || strstr(resource, "/mig-") || text_equal(resource, GPU_SHARE_MILLI))
        return 0;
    int64_t replicas = whole_number(json_path(node, "metadata", "labels", "nvidia.com/gpu.replicas", NULL));
    int64_t kept = shared->gpus_n * (replicas > 0 ? replicas : 1) - shared->slots_n;
    return kept > 0 ? kept : 0;
}

static const char *status_of(struct arena *a, const struct json *node)
{
    const char *ready = object_condition_true(node, "Ready") ? "Ready" : object_condition(node, "Ready") ? "NotReady" : "Unknown";
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

static void node_row(const struct nodes_view *v, const struct json *node, const char *resource, int64_t total)
{
    struct arena *a = v->t->arena;
    const char *name = json_text(json_path(node, "metadata", "name", NULL), "");
    const struct use *use = resource ? map_find_text(v->uses, arena_printf(a, "%s %s", name, resource)) : NULL;
    const int64_t *pods = map_find_text(v->pods_n, name);
    int64_t used = use ? use->devices_n : 0, free_n = total - used - kept_by_shares(v, node, resource);
    if (v->models) {
        node_models_add(v->models, node, resource, total, total - (free_n > 0 ? free_n : 0));
        return;
    }
    struct measured m = measured_of(a, node);
    const char *cells[COLUMNS_N] = {
        name,
        status_of(a, node),
        json_text(json_path(node, "metadata", "labels", "nvidia.com/gpu.product", NULL), NULL),
        resource,
        arena_printf(a, "%lld", (long long)total),
        arena_printf(a, "%lld", (long long)used),
        arena_printf(a, "%lld", (long long)(free_n > 0 ? free_n : 0)),
        use ? holders_text(a, use, v->all_holders) : NULL,
        holders_json(a, use),
        arena_printf(a, "%lld", (long long)(pods ? *pods : 0)),
        m.busy,
        m.age_s,
        m.warnings};
    output_row(v->t, cells);
}

static void node_rows(const struct nodes_view *v, const struct json *node)
{
    bool any = false;
    JSON_EACH (amount, json_path(node, "status", "allocatable", NULL))
        if (is_accelerator(amount->key) && whole_number(amount) > 0) {
            node_row(v, node, amount->key, whole_number(amount));
            any = true;
        }
    const struct shared *shared = map_find_text(v->shared, json_text(json_path(node, "metadata", "name", NULL), ""));
    if (shared && shared->gpus_n && !v->models)
        node_row(v, node, GPU_SHARE_MILLI, 1000 * shared->gpus_n);
    if (!any && !v->models)
        node_row(v, node, NULL, 0);
}

static void model_row(struct output_table *t, const struct node_model *m)
{
    struct arena *a = t->arena;
    int64_t numbers[] = {m->nodes_n, m->usable_nodes_n, m->total_n, m->used_n, m->free_n, m->empty_nodes_n, m->most_free_n};
    const char *cells[SUMMARY_COLUMNS_N] = {m->product, m->resource};
    for (int i = 0; i < 7; i++)
        cells[2 + i] = arena_printf(a, "%lld", (long long)numbers[i]);
    cells[9] = output_keys_text(a, m->queues);
    cells[10] = output_keys_json(a, m->queues);
    output_row(t, cells);
}

static void all_rows(struct connection *c, struct output_table *t, const struct options *o, struct err *e)
{
    struct nodes_view v = {t, map_new(sizeof(struct use)), map_new(sizeof(int64_t)), map_new(sizeof(int64_t)),
                           map_new(sizeof(struct shared)), t->format != OUTPUT_TABLE, NULL};
    struct node_models models;
    const struct json *nodes = connection_get(c, t->arena, "/api/v1/nodes" NODES_FIELDS, e);
    JSON_EACH (node, json_get(nodes, "items"))
        *(int64_t *)map_put(v.memory_mib, json_bytes(json_path(node, "metadata", "name", NULL)), NULL) =
            whole_number(json_path(node, "metadata", "labels", "nvidia.com/gpu.memory", NULL));
    if (nodes)
        (void)connection_each(c, "/api/v1/pods" NODES_POD_FIELDS, pod_count, &v, e);
    if (option_flag(o, OPT_NODES_SUMMARY)) {
        static const char flavors[] = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors", queues[] = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues";
        v.models = &models;
        node_models_init(&models, t->arena, json_get(connection_get_list(c, t->arena, flavors, e), "items"),
                         json_get(connection_get_list(c, t->arena, queues, e), "items"));
    }
    size_t at = 0;
    struct bytes key;
    for (struct use *use; (use = map_next(v.uses, &at, &key));)
        holders_sort(t->arena, use);
    JSON_EACH (node, json_get(nodes, "items"))
        if (option_picks(option_text(o, OPT_NODES_NODE), object_meta(node, "name")))
            node_rows(&v, node);
    for (const struct node_model *m = v.models ? v.models->first : NULL; m; m = m->next)
        model_row(t, m);
    if (option_text(o, OPT_NODES_NODE) && !t->rows_n)
        t->empty = "there is no such node";
    map_free(v.uses);
    map_free(v.memory_mib);
    map_free(v.shared);
    map_free(v.pods_n);
}

const struct live_list nodes_list = {columns, COLUMNS_N, all_rows}, nodes_gpus_list = {gpus_columns, GPUS_COLUMNS_N, gpus_rows};

int nodes_main(const struct options *o)
{
    static const struct live_list summary_list = {summary_columns, SUMMARY_COLUMNS_N, all_rows};
    if (option_flag(o, OPT_NODES_SUMMARY) && option_flag(o, OPT_NODES_GPUS))
        return options_wrong(o, "either --summary or --gpus");
    if (option_flag(o, OPT_NODES_SUMMARY))
        return live_print_table(o, &summary_list);
    return live_print_table(o, option_flag(o, OPT_NODES_GPUS) ? &nodes_gpus_list : &nodes_list);
}
