#include "sched/groups/kai_queue_source.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/amount.h"
#include "base/collections/map.h"
#include "base/limits.h"
#include "base/memory.h"
#include "codec/share/share.h"
#include "gpu/model.h"
#include "kube/cache.h"
#include "kube/object.h"
#include "kube/workqueue.h"
#include "sched/telling/amount.h"

enum {
    COLLECT_MS = 500, /* what is allocated changes often */
    ASKED_MS = 250,   /* between two sums of what is asked ... */
    ASKED_PER_MS = 50 /* ... and a millisecond for each so many amounts that there were */
};

struct known {               /* a Queue that the core was told of */
    uint64_t hash;           /* of all of its record, and of who is below it */
    char *parent;            /* "": none */
    char **below;            /* names; ends with NULL */
    bool is_there;           /* in the list that is read */
};
struct slice_kind {
    char *resource;
    int32_t gpus;
};
struct kai_queue_source {
    struct kai_queue_config config;
    struct kube_cache *cache;
    struct workqueue *work;
    struct map *known;       /* name -> struct known */
    struct kai_totals totals;
    struct slice_kind *kinds; /* of MIG instances that there may be */
    uint32_t kinds_n;
    struct kai_slice *slices; /* of totals */
    uint64_t slices_hash;    /* of which there are */
    uint64_t nodes_seq;      /* when the largest GPU was looked for */
    int64_t gpu_memory_bytes;
    bool changed;            /* since they were dealt out */
    struct map *asked;       /* name -> int64_t[KAI_PARTS_N] */
    uint64_t asked_hash;     /* of all of them */
    int64_t asked_ms;        /* when they were added up */
    uint32_t asked_n;        /* amounts */
    bool asked_changed;      /* since then */
    bool asked_in_time;      /* the sum is of a time at which it was decided: the next may come later */
    struct loop_timer *asked_timer;
};

/* ---- what there is ---- */

/* Of all models; several have some of the same name. SOURCE KAI: an instance counts as many GPUs as it has slices. */
static void find_kinds(struct kai_queue_source *x)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct map *seen = map_new(1);
    size_t cap = 0;
    for (uint32_t m = 0; m < gpu_models_n; m++)
        for (uint8_t i = 0; i < gpu_models[m].profiles_n; i++) {
            const char *resource = mig_profile_resource(a, gpu_models[m].profiles[i].name);
            bool is_new;
            (void)map_put(seen, bytes_of(resource), &is_new);
            if (!is_new)
                continue;
            MEM_RESERVE(x->kinds, cap, x->kinds_n + 1);
            x->kinds[x->kinds_n++] = (struct slice_kind){mem_text(resource), gpu_models[m].profiles[i].slices};
        }
    map_free(seen);
    x->slices = mem_zero(x->kinds_n + 1, sizeof *x->slices);
}

/* Of the largest GPU, by the label that GPU Feature Discovery writes; 0: no node has it. */
static int64_t find_largest_gpu(const struct kai_queue_source *x)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct intern *names = x->config.decoder->names;
    name_id key = intern_find(names, BYTES("nvidia.com/gpu.memory"));
    struct node_look *nodes;
    int64_t most = 0, mib;
    uint32_t n = key ? state_nodes(x->config.state, a, &nodes) : 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < nodes[i].labels_n; k++)
            if (nodes[i].labels[k].key == key && bytes_int64(bytes_of(intern_name(names, nodes[i].labels[k].value)), &mib))
                most = mib > most && mib <= SHARE_MEMORY_MOST_MIB ? mib : most;
    return most << 20;
}

static int64_t allocatable(const struct kai_queue_source *x, const char *resource)
{
    name_id id = intern_find(x->config.decoder->names, bytes_of(resource));
    return id ? state_allocatable(x->config.state, id) : 0;
}

/* Into x->slices. */
static struct kai_totals totals_of(struct kai_queue_source *x, uint64_t *ret_slices_hash)
{
    if (x->nodes_seq != state_nodes_seq(x->config.state)) { /* labels, too */
        x->nodes_seq = state_nodes_seq(x->config.state);
        x->gpu_memory_bytes = find_largest_gpu(x);
    }
    struct kai_totals t = {.gpus = allocatable(x, "nvidia.com/gpu"), .cpu_milli = allocatable(x, "cpu"),
                           .memory_bytes = allocatable(x, "memory"), .gpu_memory_bytes = x->gpu_memory_bytes, .slices = x->slices};
    *ret_slices_hash = 0;
    for (uint32_t i = 0; i < x->kinds_n; i++) {
        int64_t n = allocatable(x, x->kinds[i].resource);
        if (n <= 0)
            continue;
        name_id resource = intern_find(x->config.decoder->names, bytes_of(x->kinds[i].resource));
        x->slices[t.slices_n++] = (struct kai_slice){resource, x->kinds[i].gpus};
        *ret_slices_hash = hash_bytes(&i, sizeof i, *ret_slices_hash);
        t.gpus = amount_plus(t.gpus, n < NO_END / x->kinds[i].gpus ? n * x->kinds[i].gpus : NO_END);
    }
    t.gpus = t.gpus < NO_END / 1000 ? t.gpus : NO_END / 1000;
    return t;
}

/* ---- status ---- */

static void work_on(struct kai_queue_source *x, struct bytes name, int64_t delay_ms)
{
    char key[LIMIT_NAME + 2];
    if (!x->config.writes || !*x->config.leading || name.n > LIMIT_NAME)
        return;
    snprintf(key, sizeof key, "/%.*s", (int)name.n, name.data);
    workqueue_add_after(x->work, key, delay_ms);
}

/* Of a resource: what a queue and all below it have, and of that groups that are non-preemptible. */
struct allocated {
    name_id resource;
    int64_t all, kept;
};

static struct allocated *allocated_of(struct arena *a, struct allocated **all, uint32_t *n, uint32_t *cap, name_id resource)
{
    for (uint32_t i = 0; i < *n; i++)
        if ((*all)[i].resource == resource)
            return &(*all)[i];
    *all = arena_grow(a, *all, *n, 1, cap, sizeof **all);
    (*all)[*n] = (struct allocated){.resource = resource};
    return &(*all)[(*n)++];
}

static void allocated_add(const struct kai_queue_source *x, struct arena *a, const char *name, struct allocated **all, uint32_t *n,
                          uint32_t *cap, int depth)
{
    const struct known *k = map_find_text(x->known, name);
    name_id id = intern_find(x->config.decoder->names, bytes_of(arena_printf(a, DECODE_KAI_QUEUE_PREFIX "%s", name)));
    struct queue_usage *rows = NULL;
    uint32_t rows_n = id ? state_queue_usage(x->config.state, id, a, &rows) : 0;
    for (uint32_t i = 0; i < rows_n; i++) {
        struct allocated *one = allocated_of(a, all, n, cap, rows[i].resource);
        one->all += rows[i].reserved;
        one->kept += rows[i].kept;
    }
    for (char **below = k ? k->below : NULL; below && *below && depth < LIMIT_COHORT_DEPTH; below++)
        allocated_add(x, a, *below, all, n, cap, depth + 1);
}

static void set_allocated(const struct kai_queue_source *x, struct arena *a, const char *name, struct json *status)
{
    struct json *allocated = json_new(a, JSON_OBJECT), *kept = json_new(a, JSON_OBJECT);
    struct allocated *all = NULL;
    uint32_t n = 0, cap = 0;
    allocated_add(x, a, name, &all, &n, &cap, 0);
    for (uint32_t i = 0; i < n; i++) {
        const char *resource = intern_name(x->config.decoder->names, all[i].resource);
        const char *told = strcmp(resource, GPU_COUNTED) == 0 ? "nvidia.com/gpu" : resource;
        if (all[i].all > 0)
            json_set_text(a, allocated, told, status_amount(a, resource, all[i].all));
        if (all[i].kept > 0)
            json_set_text(a, kept, told, status_amount(a, resource, all[i].kept));
    }
    json_set(a, status, "allocated", allocated);
    if (kept->n || json_get(status, "allocatedNonPreemptible"))
        json_set(a, status, "allocatedNonPreemptible", kept);
}

static void status_queue(void *arg, struct work *w)
{
    struct kai_queue_source *x = arg;
    struct arena *a = w->arena;
    struct json *queue = *x->config.leading ? kube_cache_get(x->cache, "", w->name, a) : NULL;
    const struct known *k = map_find_text(x->known, w->name);
    if (!queue || !k || object_deleting(queue))
        return;
    struct json *status = object_status_copy(a, queue), *below = json_new(a, JSON_ARRAY);
    for (char **name = k->below; *name; name++)
        json_append(below, json_new_text(a, *name));
    if (below->n || json_get(status, "childQueues"))
        json_set(a, status, "childQueues", below);
    set_allocated(x, a, w->name, status);
    struct json *diff = object_diff(a, json_get(queue, "status"), status);
    if (diff)
        work_patch_status(w, kube_path(a, "scheduling.run.ai", "v2", "queues", NULL, w->name, "status"), queue, diff);
}

void kai_queue_source_used(struct kai_queue_source *x, const char *name)
{
    const struct known *k;
    for (int depth = 0; depth < LIMIT_COHORT_DEPTH && *name && (k = map_find_text(x->known, name)); depth++) {
        work_on(x, bytes_of(name), COLLECT_MS);
        name = k->parent;
    }
}

void kai_queue_source_led(struct kai_queue_source *x)
{
    struct bytes name;
    for (size_t at = 0; map_next(x->known, &at, &name);)
        work_on(x, name, 0);
}

/* ---- the core ---- */

static void known_clear(struct known *k)
{
    for (char **below = k->below; below && *below; below++)
        free(*below);
    free(k->below);
    free(k->parent);
    *k = (struct known){0};
}

static void hash_amounts(struct buf *out, const struct kai_queue_source *x, const struct amount *all, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        buf_printf(out, " %s=%lld", intern_name(x->config.decoder->names, all[i].resource), (long long)all[i].value);
    buf_char(out, ';');
}

/* WHY  of texts: ids of names that nobody marks are given to others. */
static uint64_t hash_of(const struct kai_queue_source *x, const struct kai_queue *q)
{
    const struct intern *names = x->config.decoder->names;
    _cleanup_buf_ struct buf text = {0};
    buf_printf(&text, "%s %d %s %lld %lld;", intern_name(names, q->record.shares->parent), q->record.closed,
               q->record.closed_text ? intern_name(names, q->record.closed_text) : "", (long long)q->record.shares->preempt_after_ms,
               (long long)q->record.shares->reclaim_after_ms);
    hash_amounts(&text, x, q->record.shares->deserved, q->record.shares->deserved_n);
    hash_amounts(&text, x, q->record.shares->capability, q->record.shares->capability_n);
    for (uint32_t i = 0; i < q->record.shares->counts_n; i++) {
        const struct counting *c = &q->record.shares->counts[i];
        buf_printf(&text, " %s=%s*%lld/%lld", intern_name(names, c->as), intern_name(names, c->resource), (long long)c->times,
                   (long long)c->per);
    }
    for (uint32_t i = 0; i < q->below_n; i++)
        buf_printf(&text, " %s", q->below[i]->name);
    return hash_bytes(text.data, text.n, 0) | 1;
}

/* Returns whether it is a new one. */
static bool tell(struct kai_queue_source *x, const struct kai_queue *q)
{
    bool is_new;
    struct known *k = map_put(x->known, bytes_of(q->name), &is_new);
    uint64_t hash = hash_of(x, q);
    k->is_there = true;
    if (k->hash == hash)
        return is_new;
    known_clear(k);
    *k = (struct known){.hash = hash, .is_there = true, .parent = mem_text(json_get_text(q->spec, "parentQueue", "")),
                        .below = mem_zero(q->below_n + 1, sizeof *k->below)};
    for (uint32_t i = 0; i < q->below_n; i++)
        k->below[i] = mem_text(q->below[i]->name);
    x->config.apply(x->config.arg, &(struct change){.type = CHANGE_QUEUE, .queue = q->record});
    work_on(x, bytes_of(q->name), 0);
    return is_new;
}

static bool tell_gone(struct kai_queue_source *x, struct arena *a)
{
    struct bytes name;
    bool any = false;
    struct known *k;
    for (size_t at = 0; (k = map_next(x->known, &at, &name));) {
        bool is_there = k->is_there;
        k->is_there = false;
        if (is_there)
            continue;
        name_id id = intern_text_id(x->config.decoder->names, arena_printf(a, DECODE_KAI_QUEUE_PREFIX "%.*s", (int)name.n, name.data));
        known_clear(k);
        (void)map_remove(x->known, name);
        x->config.apply(x->config.arg, &(struct change){.type = CHANGE_QUEUE_GONE, .gone = id});
        any = true;
    }
    return any;
}

static uint32_t read_all(const struct kai_queue_source *x, struct arena *a, struct kai_queue **ret_all)
{
    static const int64_t nothing[KAI_PARTS_N];
    struct bytes key, raw;
    uint32_t n = 0, cap = (uint32_t)kube_cache_count(x->cache);
    *ret_all = arena_zero(a, cap + 1, sizeof **ret_all);
    for (size_t at = 0; n < cap && kube_cache_next(x->cache, &at, &key, &raw);) {
        const struct json *o = json_parse(a, raw, NULL, NULL);
        const int64_t *asked = o ? map_find_text(x->asked, object_meta(o, "name")) : NULL;
        if (o)
            (*ret_all)[n++] = (struct kai_queue){.name = object_meta(o, "name"), .spec = json_get(o, "spec"),
                                                 .is_deleting = object_deleting(o), .asked = asked ? asked : nothing};
    }
    return n;
}

/* ---- what is asked for ---- */

static void asked_add(void *to, const char *queue, name_id resource, int64_t value)
{
    struct kai_queue_source *x = to;
    int64_t *asked = map_put(x->asked, bytes_of(queue), NULL);
    kai_asked_add(asked, intern_name(x->config.decoder->names, resource), value);
    x->asked_n++;
}

/* ORDER  none counts: the sum is of all. */
static uint64_t hash_asked(const struct kai_queue_source *x)
{
    struct bytes name;
    uint64_t hash = 0;
    size_t at = 0;
    for (const int64_t *asked; (asked = map_next(x->asked, &at, &name));)
        hash += hash_bytes(asked, KAI_PARTS_N * sizeof *asked, hash_bytes(name.data, name.n, 0));
    return hash;
}

/* Added up anew, where it is time. True: somebody asks for another amount. */
static bool asks_differently(struct kai_queue_source *x)
{
    int64_t now_ms = loop_now_ms(x->config.loop), wait_ms = x->asked_ms + ASKED_MS + x->asked_n / ASKED_PER_MS - now_ms;
    if (!x->asked_changed)
        return false;
    if (x->asked_in_time && wait_ms > 0) {
        loop_timer_start(x->asked_timer, wait_ms, 0);
        return false;
    }
    _cleanup_arena_ struct arena *a = arena_new();
    struct decoder d = *x->config.decoder;
    d.arena = a;
    const struct queue_shares by = kai_counts(&d, &x->totals);
    x->asked_changed = false;
    x->asked_in_time = *x->config.decides;
    x->asked_ms = now_ms;
    x->asked_n = 0;
    map_free(x->asked);
    x->asked = map_new(KAI_PARTS_N * sizeof(int64_t));
    x->config.sum_asked(x->config.arg, &by, asked_add, x);
    uint64_t hash = hash_asked(x);
    bool differs = hash != x->asked_hash;
    x->asked_hash = hash;
    return differs;
}

void kai_queue_source_asked(struct kai_queue_source *x)
{
    x->asked_changed = true;
}

static void on_asked_timer(void *arg)
{
    struct kai_queue_source *x = arg;
    x->config.on_change(x->config.arg);
}

void kai_queue_source_follow(struct kai_queue_source *x)
{
    bool any = kube_cache_count(x->cache) > 0 || map_count(x->known) > 0;
    if (!any || !kube_cache_synced(x->cache))
        return;
    uint64_t slices_hash;
    struct kai_totals totals = totals_of(x, &slices_hash);
    bool same = totals.gpus == x->totals.gpus && totals.cpu_milli == x->totals.cpu_milli && totals.memory_bytes == x->totals.memory_bytes &&
                totals.gpu_memory_bytes == x->totals.gpu_memory_bytes && slices_hash == x->slices_hash;
    x->totals = totals;
    x->slices_hash = slices_hash;
    bool asks = asks_differently(x);
    if (same && !x->changed && !asks)
        return;
    _cleanup_arena_ struct arena *a = arena_new();
    struct decoder d = *x->config.decoder;
    struct kai_queue *all;
    bool others = false;
    d.arena = a;
    x->changed = false;
    uint32_t n = read_all(x, a, &all);
    kai_queues_read(&d, all, n, &totals);
    for (uint32_t i = 0; i < n; i++)
        others |= tell(x, &all[i]);
    others |= tell_gone(x, a);
    if (others)
        x->config.on_names(x->config.arg);
}

/* ---- life ---- */

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct kai_queue_source *x = arg;
    (void)object;
    x->changed = true;
    if (event != KUBE_DELETED)
        work_on(x, bytes_of(key + 1), COLLECT_MS); /* "/name"; its status may say less than is known */
    x->config.on_change(x->config.arg);
}

static void on_list(void *arg)
{
    struct kai_queue_source *x = arg;
    x->config.on_synced(x->config.arg);
}

struct kai_queue_source *kai_queue_source_new(struct kube_client *c, const struct kai_queue_config *config)
{
    struct kai_queue_source *x = mem_zero(1, sizeof *x);
    x->config = *config;
    x->known = map_new(sizeof(struct known));
    x->asked = map_new(KAI_PARTS_N * sizeof(int64_t));
    x->asked_timer = loop_timer_new(config->loop, on_asked_timer, x);
    find_kinds(x);
    x->work = workqueue_new(c, status_queue, x);
    x->cache = kube_cache_new(c, &(struct kube_cache_config){.watch = {.path = KAI_QUEUES_PATH, .optional = true},
                                                             .on_change = on_change,
                                                             .on_synced = on_list,
                                                             .arg = x});
    return x;
}

void kai_queue_source_free(struct kai_queue_source *x)
{
    if (!x)
        return;
    workqueue_free(x->work);
    struct known *k;
    struct bytes name;
    for (size_t at = 0; (k = map_next(x->known, &at, &name));)
        known_clear(k);
    map_free(x->known);
    map_free(x->asked);
    loop_timer_free(x->asked_timer);
    for (uint32_t i = 0; i < x->kinds_n; i++)
        free(x->kinds[i].resource);
    free(x->kinds);
    free(x->slices);
    kube_cache_free(x->cache);
    free(x);
}

bool kai_queue_source_synced(const struct kai_queue_source *x)
{
    return kube_cache_synced(x->cache);
}

bool kai_queue_source_has(const struct kai_queue_source *x, const char *name)
{
    return name ? kube_cache_raw(x->cache, "", name).n > 0 : kube_cache_count(x->cache) > 0;
}

bool kai_queue_source_next(const struct kai_queue_source *x, size_t *at, struct bytes *ret_key, struct bytes *ret_object)
{
    return kube_cache_next(x->cache, at, ret_key, ret_object);
}

bool kai_queue_source_has_below(const struct kai_queue_source *x, const char *name)
{
    const struct known *k = map_find_text(x->known, name);
    return k && *k->below;
}
