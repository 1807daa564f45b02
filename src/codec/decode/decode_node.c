#include <math.h>
#include <stdlib.h>

#include "base/limits.h"
#include "codec/decode/decode_part.h"

struct node_reader {
    const struct decoder *d;
    struct json_reader *r;
    struct buf *scratch;
    struct err *e;
    struct node_record *node;
    struct label_list labels;
    struct bytes devices, feedback; /* texts of the annotations, copied into the arena */
};

static void read_metadata(struct node_reader *n)
{
    struct bytes key, text;
    if (!json_reader_object(n->r))
        return;
    while (json_reader_key(n->r, &key)) {
        if (DECODE_IS(key, "name"))
            n->node->name = decode_read_name(n->d, n->r, n->scratch);
        else if (DECODE_IS(key, "labels"))
            decode_read_labels(n->d, n->r, n->scratch, &n->labels);
        else if (DECODE_IS(key, "annotations") && json_reader_object(n->r)) {
            while (json_reader_key(n->r, &key)) {
                struct bytes *to = DECODE_IS(key, DEVICES_ANNOTATION)    ? &n->devices
                                   : DECODE_IS(key, DECODE_FEEDBACK_ANNOTATION) ? &n->feedback
                                                                                : NULL;
                if (!to)
                    json_reader_skip(n->r);
                else if (json_reader_string(n->r, n->scratch, &text))
                    *to = (struct bytes){arena_text_n(n->d->arena, text.data, text.n), text.n};
            }
        } else if (!DECODE_IS(key, "annotations"))
            json_reader_skip(n->r);
    }
}

static void read_taints(struct node_reader *n)
{
    struct taint *taints = NULL;
    uint32_t taints_n = 0, cap = 0;
    struct bytes key, text;
    while (json_reader_item(n->r)) {
        struct taint t = {0, 0, 0};
        if (!json_reader_object(n->r))
            continue;
        while (json_reader_key(n->r, &key)) {
            if (DECODE_IS(key, "key"))
                t.key = decode_read_name(n->d, n->r, n->scratch);
            else if (DECODE_IS(key, "value"))
                t.value = decode_read_name(n->d, n->r, n->scratch);
            else if (DECODE_IS(key, "effect")) {
                if (json_reader_string(n->r, n->scratch, &text))
                    t.effect = decode_taint_effect(text);
            } else
                json_reader_skip(n->r);
        }
        if (t.key && t.effect)
            *DECODE_PUSH(n->d->arena, taints, taints_n, cap) = t;
    }
    n->node->taints = taints;
    n->node->taints_n = taints_n;
}

static void read_spec(struct node_reader *n)
{
    struct bytes key;
    if (!json_reader_object(n->r))
        return;
    while (json_reader_key(n->r, &key)) {
        if (DECODE_IS(key, "unschedulable"))
            (void)json_reader_bool(n->r, &n->node->unschedulable); /* no boolean: stays false */
        else if (DECODE_IS(key, "taints") && json_reader_array(n->r))
            read_taints(n);
        else if (!DECODE_IS(key, "taints"))
            json_reader_skip(n->r);
    }
}

static int read_allocatable(struct node_reader *n)
{
    struct amount *amounts = NULL;
    uint32_t amounts_n = 0, cap = 0;
    struct bytes key;
    if (!json_reader_object(n->r))
        return 0;
    while (json_reader_key(n->r, &key)) {
        int64_t value;
        if (decode_read_quantity(n->r, n->scratch, decode_is_milli(key), &value, n->e) < 0)
            return err_wrap(n->e, "status.allocatable[%.*s]", (int)(key.n < 80 ? key.n : 80), key.data);
        *DECODE_PUSH(n->d->arena, amounts, amounts_n, cap) = (struct amount){intern_id(n->d->names, key), value};
    }
    decode_sort_amounts(amounts, amounts_n);
    n->node->allocatable = amounts;
    n->node->allocatable_n = amounts_n;
    return 0;
}

static void read_condition(struct node_reader *n)
{
    bool is_ready = false, is_true = false;
    struct bytes key, text;
    if (!json_reader_object(n->r))
        return;
    while (json_reader_key(n->r, &key)) {
        if (DECODE_IS(key, "type"))
            is_ready = json_reader_string(n->r, n->scratch, &text) && DECODE_IS(text, "Ready");
        else if (DECODE_IS(key, "status"))
            is_true = json_reader_string(n->r, n->scratch, &text) && DECODE_IS(text, "True");
        else
            json_reader_skip(n->r);
    }
    if (is_ready)
        n->node->ready = is_true;
}

static int read_status(struct node_reader *n)
{
    struct bytes key;
    if (!json_reader_object(n->r))
        return 0;
    while (json_reader_key(n->r, &key)) {
        if (DECODE_IS(key, "allocatable")) {
            int r = read_allocatable(n);
            if (r < 0)
                return r;
        } else if (DECODE_IS(key, "conditions") && json_reader_array(n->r)) {
            while (json_reader_item(n->r))
                read_condition(n);
        } else if (!DECODE_IS(key, "conditions"))
            json_reader_skip(n->r);
    }
    return 0;
}

static uint16_t small_number(const struct json *v, uint16_t fallback)
{
    int64_t n = json_int64(v, -1);
    return n >= 0 && n <= UINT16_MAX ? (uint16_t)n : fallback;
}

/* [{"r":"nvidia.com/gpu","id":"GPU-0","gpu":0,"link":0,"healthy":true,"unit":0},...]. gpu defaults to the position,
 * link to 0, healthy to true, unit to 0. */
static int read_devices(struct node_reader *n)
{
    const struct json *list = json_parse(n->d->arena, n->devices, NULL, n->e);
    if (!list)
        return err_wrap(n->e, "metadata.annotations[%s]", DEVICES_ANNOTATION);
    if (!json_is(list, JSON_ARRAY))
        return err_set(n->e, E_INVALID, "metadata.annotations[%s]: expected a list of {r, id, gpu, link, healthy, unit}",
                       DEVICES_ANNOTATION);
    if (list->n > LIMIT_DEVICES_PER_NODE)
        return err_set(n->e, E_LIMIT, "metadata.annotations[%s]: %u devices, at most %d are counted",
                       DEVICES_ANNOTATION, list->n, LIMIT_DEVICES_PER_NODE);
    struct device *devices = list->n ? arena_zero(n->d->arena, list->n, sizeof *devices) : NULL;
    uint32_t devices_n = 0;
    JSON_EACH (item, list) {
        struct device *dev = &devices[devices_n];
        dev->resource = decode_name(n->d, json_get(item, "r"));
        dev->id = decode_name(n->d, json_get(item, "id"));
        dev->gpu = small_number(json_get(item, "gpu"), (uint16_t)devices_n);
        dev->link_group = small_number(json_get(item, "link"), 0);
        dev->healthy = json_get_bool(item, "healthy", true);
        dev->unit = small_number(json_get(item, "unit"), 0);
        devices_n += dev->resource && dev->id;
    }
    n->node->devices = devices_n ? devices : NULL;
    n->node->devices_n = devices_n;
    return 0;
}

/* "GPU-..." of "GPU-...::2", a whole GPU or a share that a device plugin hands out; 0: it is neither (MIG, or another plugin's). */
static name_id gpu_of(const struct node_reader *n, const struct device *dev)
{
    const char *id = intern_name(n->d->names, dev->id), *end = strstr(id, "::");
    if (!text_starts(id, "GPU-"))
        return 0;
    return intern_id(n->d->names, (struct bytes){id, end ? (size_t)(end - id) : strlen(id)});
}

/* SOURCE label of NVIDIA's feature discovery and our agent: MiB of each GPU. */
static uint32_t gpu_memory_mib(const struct node_reader *n)
{
    name_id key = intern_find(n->d->names, BYTES("nvidia.com/gpu.memory"));
    int64_t mib = 0;
    for (uint32_t i = 0; key && i < n->labels.n; i++)
        if (n->labels.items[i].key == key && !bytes_int64(bytes_of(intern_name(n->d->names, n->labels.items[i].value)), &mib))
            return 0;
    return mib > 0 && mib <= SHARE_MEMORY_MOST_MIB ? (uint32_t)mib : 0;
}

static void add_share_amounts(struct node_reader *n, int64_t gpus_n, uint32_t mib)
{
    struct amount *all = arena_alloc(n->d->arena, (n->node->allocatable_n + 4) * sizeof *all);
    const char *const names[] = {GPU_SHARE_MILLI, GPU_SHARE_MEMORY, GPU_SHARE_MEMORY_MILLI, GPU_SHARE_COUNT};
    const int64_t values[] = {gpus_n * 1000, gpus_n * mib << 20, gpus_n * 1000, gpus_n * 1000};
    uint32_t all_n = 0;
    for (uint32_t i = 0; i < n->node->allocatable_n; i++) /* nobody else says what there is of them */
        if (!text_starts(intern_name(n->d->names, n->node->allocatable[i].resource), GPU_SHARE_PREFIX))
            all[all_n++] = n->node->allocatable[i];
    for (int i = 0; i < 4; i++)
        all[all_n++] = (struct amount){intern_text_id(n->d->names, names[i]), values[i]};
    decode_sort_amounts(all, all_n);
    n->node->allocatable = all;
    n->node->allocatable_n = all_n;
}

/* Each GPU of which a plugin hands out the whole, or shares, is also a device that is given in parts. First in the list: a table that is
 * full loses the last. */
static void offer_shares(struct node_reader *n)
{
    const struct device *own = n->node->devices;
    struct device *all = arena_zero(n->d->arena, 2 * n->node->devices_n, sizeof *all);
    uint32_t gpus_n = 0, mib = gpu_memory_mib(n);
    name_id milli = intern_text_id(n->d->names, GPU_SHARE_MILLI);
    for (uint32_t i = 0; i < n->node->devices_n; i++) {
        name_id gpu = gpu_of(n, &own[i]);
        uint32_t at = 0;
        while (gpu && at < gpus_n && all[at].id != gpu)
            at++;
        if (gpu && at == gpus_n)
            all[gpus_n++] = (struct device){.resource = milli, .id = gpu, .gpu = own[i].gpu, .link_group = own[i].link_group, .parts = 1000,
                                            .memory_mib = mib};
        if (gpu)
            all[at].healthy |= own[i].healthy;
    }
    if (!gpus_n)
        return;
    memcpy(&all[gpus_n], own, n->node->devices_n * sizeof *own);
    n->node->devices = all;
    n->node->devices_n += gpus_n;
    add_share_amounts(n, gpus_n, mib);
}

int decode_node(const struct decoder *d, struct bytes text, struct node_record *ret_node, struct err *e)
{
    struct json_reader r;
    _cleanup_buf_ struct buf scratch;
    struct node_record node;
    struct bytes key;
    struct node_reader n = {.d = d, .r = &r, .scratch = &scratch, .e = e, .node = &node};
    memset(&node, 0, sizeof node);
    buf_init(&scratch);
    json_reader_init(&r, text);
    bool object = json_reader_object(&r);
    while (object && json_reader_key(&r, &key)) {
        int failed = 0;
        if (DECODE_IS(key, "metadata"))
            read_metadata(&n);
        else if (DECODE_IS(key, "spec"))
            read_spec(&n);
        else if (DECODE_IS(key, "status"))
            failed = read_status(&n);
        else
            json_reader_skip(&r);
        if (failed < 0)
            return failed;
    }
    if (r.failed || !object)
        return err_set(e, E_INVALID, "node: not a JSON object (byte %zu)", (size_t)(r.at - r.start));
    if (!node.name)
        return err_set(e, E_INVALID, "metadata.name: missing");
    node.labels = n.labels.items;
    node.labels_n = n.labels.n;
    if (n.devices.n && read_devices(&n) < 0)
        return -E_INVALID;
    if (node.devices_n)
        offer_shares(&n);
    if (n.feedback.n)
        decode_feedback(d, n.feedback, &node);
    *ret_node = node;
    return 0;
}

/* ---- annotation capstan.dev/gpu-feedback ---- */

/* {"at":S,"period":S,"network":BYTES_PER_S,"units":[{"id","activity","memory","margin","throttled",...}]} */
#define PERIOD_MAX_S 86400.0
#define NETWORK_MAX 1e15
#define TIME_MAX_S 1e11 /* some thousand years: what is beyond is no time */

static double number_of(const struct json *v, double fallback)
{
    char text[40], *end;
    struct bytes b = json_bytes(v);
    if (!json_is(v, JSON_NUMBER) || b.n >= sizeof text)
        return fallback;
    memcpy(text, b.data, b.n);
    text[b.n] = '\0';
    double n = strtod(text, &end);
    return *end || !isfinite(n) ? fallback : n;
}

static double bounded(const struct json *v, double least, double most, double fallback)
{
    double n = number_of(v, fallback);
    return n >= least && n <= most ? n : fallback;
}

static struct device_feedback unit_of(const struct decoder *d, const struct json *unit)
{
    const struct json *memory = json_get(unit, "memory");
    double activity = bounded(json_get(unit, "activity"), 0, 1, -1);
    struct device_feedback f = {
        .id = decode_name(d, json_get(unit, "id")),
        .activity_permille = (int16_t)(activity < 0 ? -1 : lround(activity * 1000)),
        .margin_c = (int16_t)bounded(json_get(unit, "margin"), -1000, 1000, INT16_MIN),
        .memory_used_mib = (uint32_t)bounded(json_item(memory, 0), 0, UINT32_MAX, 0),
        .memory_total_mib = (uint32_t)bounded(json_item(memory, 1), 0, UINT32_MAX, 0),
        .throttled = json_get_bool(unit, "throttled", false),
        .xid = (uint16_t)bounded(json_get(unit, "xid"), 0, UINT16_MAX, 0),
        .xid_ms = (int64_t)(bounded(json_get(unit, "xidAt"), 0, TIME_MAX_S, 0) * 1000),
    };
    if (f.memory_used_mib > f.memory_total_mib)
        f.memory_used_mib = f.memory_total_mib = 0;
    return f;
}

void decode_feedback(const struct decoder *d, struct bytes text, struct node_record *node)
{
    const struct json *v = text.n <= DECODE_FEEDBACK_MAX_BYTES ? json_parse(d->arena, text, NULL, NULL) : NULL;
    const struct json *units = json_get(v, "units");
    double at_s = bounded(json_get(v, "at"), 0, TIME_MAX_S, 0), period_s = bounded(json_get(v, "period"), 0, PERIOD_MAX_S, 0);
    if (!json_is(units, JSON_ARRAY) || units->n == 0 || units->n > LIMIT_DEVICES_PER_NODE || at_s <= 0 || period_s <= 0)
        return;
    struct device_feedback *all = arena_alloc(d->arena, units->n * sizeof *all);
    uint32_t n = 0;
    JSON_EACH (unit, units) {
        all[n] = unit_of(d, unit);
        n += all[n].id != 0;
    }
    node->feedback = n ? all : NULL;
    node->feedback_n = n;
    node->feedback_ms = (int64_t)(at_s * 1000);
    node->feedback_period_ms = (int64_t)(period_s * 1000);
    node->network_bps = (int64_t)bounded(json_get(v, "network"), 0, NETWORK_MAX, -1) + 1;
}
