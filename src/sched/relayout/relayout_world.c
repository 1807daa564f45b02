/* relayout_world.c - nodes, GPUs and who waits, from the core's state */
#include <stdlib.h>
#include <string.h>
#include "sched/relayout/relayout_part.h"

enum { WANTS_MOST = 64, NODES_MOST = 64, MODELS_MOST = 16 };

const char *relayout_label(const struct scheduler *s, const struct label *labels, uint32_t n, const char *key)
{
    name_id id = intern_find(s->names, bytes_of(key));
    for (uint32_t i = 0; id && i < n; i++)
        if (labels[i].key == id)
            return intern_name(s->names, labels[i].value);
    return NULL;
}

/* ---- models and kinds ---- */

/* Behind the name of one that is shared stands "-SHARED". */
static bool is_product(const char *label, const char *name)
{
    size_t n = strlen(name);
    return strncmp(label, name, n) == 0 && (!label[n] || text_equal(label + n, "-SHARED"));
}

const struct gpu_model *relayout_model(const struct scheduler *s, const struct node_detail *d, struct arena *a, const char **ret_problem)
{
    const char *product = relayout_label(s, d->labels, d->labels_n, "nvidia.com/gpu.product");
    const char *strategy = relayout_label(s, d->labels, d->labels_n, "nvidia.com/mig.strategy");
    *ret_problem = "it has no label nvidia.com/gpu.product, so its agent has not told of GPUs yet";
    for (uint32_t i = 0; product && i < gpu_models_n; i++) {
        if (!is_product(product, gpu_text_in_label(a, gpu_models[i].name)))
            continue;
        *ret_problem = !gpu_models[i].mig_slices        ? "its GPUs cannot be split by MIG"
                       : !text_equal(strategy, "mixed") ? "it needs the MIG strategy mixed (flags.migStrategy of its agent's config)"
                                                        : NULL;
        return *ret_problem ? NULL : &gpu_models[i];
    }
    *ret_problem = product ? "its GPU model is not known here" : *ret_problem;
    return NULL;
}

uint32_t relayout_kinds(const struct scheduler *s, const struct gpu_model *const *models, uint32_t models_n, struct arena *a,
                        name_id ret_kinds[DEMAND_KINDS])
{
    uint32_t n = 1;
    ret_kinds[0] = intern_find(s->names, BYTES("nvidia.com/gpu"));
    for (uint32_t i = 0; i < models_n; i++)
        for (uint32_t k = 0; k < models[i]->profiles_n && n < DEMAND_KINDS; k++) {
            name_id id = intern_find(s->names, bytes_of(mig_profile_resource(a, models[i]->profiles[k].name)));
            uint32_t at = 0;
            while (at < n && ret_kinds[at] != id)
                at++;
            if (id && at == n)
                ret_kinds[n++] = id;
        }
    return n;
}

void relayout_profiles(const struct scheduler *s, const name_id *kinds, uint32_t kinds_n, struct arena *a, struct demand_node *node)
{
    for (uint32_t k = 0; node->model && k < node->model->profiles_n; k++) {
        name_id id = intern_find(s->names, bytes_of(mig_profile_resource(a, node->model->profiles[k].name)));
        for (uint32_t i = 1; id && i < kinds_n; i++)
            if (kinds[i] == id)
                node->profiles[i] = &node->model->profiles[k];
    }
}

/* ---- GPUs ---- */

static uint32_t find_gpu(const struct demand_gpu *gpus, uint32_t n, uint16_t index)
{
    uint32_t at = 0;
    while (at < n && gpus[at].index < index)
        at++;
    return at;
}

static void add_gpu(struct demand_gpu *gpus, uint32_t *n, uint16_t index)
{
    uint32_t at = find_gpu(gpus, *n, index);
    if (at < *n && gpus[at].index == index)
        return;
    memmove(&gpus[at + 1], &gpus[at], (*n - at) * sizeof *gpus);
    gpus[at] = (struct demand_gpu){.index = index, .idle = true};
    (*n)++;
}

/* By a device that is not one of ours, or a share: the GPU is left as it is. */
static void spoil(struct demand_gpu *g)
{
    g->idle = false;
    g->has = g->free = (struct demand_layout){0};
}

static void add_device(const struct scheduler *s, const struct node_detail *d, const struct device_look *dev, const name_id *kinds,
                       uint32_t kinds_n, const struct demand_node *node, struct demand_gpu *g, bool *spoilt)
{
    uint32_t k = 0;
    const char *id = intern_name(s->names, dev->id);
    while (k < kinds_n && kinds[k] != dev->resource)
        k++;
    bool is_share = strstr(id, "::") || !text_starts(id, k ? "MIG-" : "GPU-");
    *spoilt |= k == kinds_n || is_share || g->has.n[k] == UINT8_MAX || (k && node->model && !node->profiles[k]);
    if (*spoilt)
        return;
    bool taken = dev->gang || dev->pod;
    g->has.n[k]++;
    g->idle &= !taken && dev->healthy;
    if (!taken && dev->healthy && d->ready && !d->unschedulable)
        g->free.n[k]++;
}

static bool is_nvidias(const struct scheduler *s, const struct device_look *dev)
{
    return text_starts(intern_name(s->names, dev->resource), "nvidia.com/");
}

/* `at`: the first of its resource on its GPU. */
static bool is_nameless(const struct scheduler *s, const struct node_detail *d, name_id node, uint32_t at)
{
    int64_t named_n = 0;
    for (uint32_t i = 0; i < d->devices_n; i++)
        named_n += d->devices[i].resource == d->devices[at].resource && (d->devices[i].gang || d->devices[i].pod);
    return wanting_taken(s->state, d->devices[at].resource, node) > named_n;
}

bool relayout_is_taken(const struct scheduler *s, const struct node_detail *d, name_id node, uint16_t gpu)
{
    name_id resource = 0;
    for (uint32_t i = 0; i < d->devices_n; i++) {
        if (d->devices[i].gpu != gpu)
            continue;
        if (d->devices[i].gang || d->devices[i].pod)
            return true;
        if (d->devices[i].resource != resource && is_nvidias(s, &d->devices[i]) && is_nameless(s, d, node, i))
            return true;
        resource = d->devices[i].resource;
    }
    for (uint32_t i = 0; i < d->shares_n; i++)
        if (d->shares[i].gpu == gpu)
            return true;
    return false;
}

void relayout_gpus(const struct scheduler *s, const struct node_detail *d, name_id name, const name_id *kinds, uint32_t kinds_n,
                   struct arena *a, struct demand_node *node)
{
    struct demand_gpu *gpus = arena_zero(a, d->devices_n + 2, sizeof *gpus);
    bool *spoilt = arena_zero(a, d->devices_n + 1, sizeof *spoilt);
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->devices_n; i++)
        if (is_nvidias(s, &d->devices[i]))
            add_gpu(gpus, &n, d->devices[i].gpu);
    for (uint32_t i = 0; i < d->devices_n; i++) {
        uint32_t at = find_gpu(gpus, n, d->devices[i].gpu);
        if (is_nvidias(s, &d->devices[i]))
            add_device(s, d, &d->devices[i], kinds, kinds_n, node, &gpus[at], &spoilt[at]);
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < d->shares_n; k++)
            spoilt[i] |= d->shares[k].gpu == gpus[i].index;
        gpus[i].idle &= !relayout_is_taken(s, d, name, gpus[i].index);
        if (spoilt[i])
            spoil(&gpus[i]);
    }
    node->gpus = gpus;
    node->gpus_n = n;
}

/* ---- nodes ---- */

/* Others go for somebody who was promised the node, or it is promised as a whole. */
static bool is_promised(const struct scheduler *s, const struct node_detail *d, name_id node)
{
    size_t at = 0;
    struct bytes key;
    for (uint32_t i = 0; i < d->devices_n; i++)
        if (d->devices[i].gang && state_gang_phase(s->state, d->devices[i].gang) == GANG_LEAVING)
            return true;
    for (struct seen_gang **g; (g = map_next(s->gangs, &at, &key));) {
        struct booking_record b;
        if ((*g)->nominated == node)
            return true;
        if (!state_backfills(s->state) || !state_gang_booking(s->state, (*g)->key, &b))
            continue;
        for (uint32_t i = 0; i < b.places_n; i++)
            if (b.places[i].node == node)
                return true;
    }
    return false;
}

/* Another layout is wanted, and not there yet; or one of ours is younger than the pause. */
static bool is_settled(const struct scheduler *s, const struct node_detail *d, int64_t wall_ms)
{
    const char *state = relayout_label(s, d->labels, d->labels_n, RELAYOUT_STATE_LABEL);
    const char *layout = relayout_label(s, d->labels, d->labels_n, RELAYOUT_LAYOUT_LABEL);
    int64_t at_s = 0, ago_s = 0;
    const char *at = layout && text_starts(layout, RELAYOUT_NAME) ? layout + sizeof RELAYOUT_NAME - 1 : "";
    if (bytes_int64(bytes_of(at), &at_s) && at_s > 0 && (ago_s = wall_ms / 1000 - at_s) >= 0 && ago_s < RELAYOUT_PAUSE_MS / 1000)
        return false;
    return !layout || !state || text_equal(state, "success");
}

static bool may_change(const struct scheduler *s, const struct relayout_finder *f, const struct relayout_node *n,
                       const struct node_detail *d, name_id name)
{
    return n && text_equal(n->asked, "true") && n->phase == RELAYOUT_CALM && f->now_ms >= n->not_before_ms && d->ready &&
           !d->unschedulable && is_settled(s, d, f->wall_ms) && !is_promised(s, d, name);
}

static uint32_t add_models(const struct scheduler *s, const struct relayout_finder *f, const struct node_look *looks, uint32_t looks_n,
                           struct arena *a, const struct gpu_model *models[MODELS_MOST])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < looks_n; i++) {
        const char *problem;
        struct node_detail d = {.labels = looks[i].labels, .labels_n = looks[i].labels_n};
        const struct gpu_model *m = f->find(f->arg, intern_name(s->names, looks[i].name)) ? relayout_model(s, &d, a, &problem) : NULL;
        uint32_t at = 0;
        while (at < n && models[at] != m)
            at++;
        if (m && at == n && n < MODELS_MOST)
            models[n++] = m;
    }
    return n;
}

/* First those that may change, NODES_MOST of them at most, then all others with such devices: what is free there is somebody's, too. */
static void add_node(const struct scheduler *s, const struct relayout_finder *f, const struct node_look *look, uint32_t *may_n,
                     struct arena *a, struct relayout_world *w, name_id *names)
{
    struct node_detail d;
    const char *problem;
    struct relayout_node *ours = f->find(f->arg, intern_name(s->names, look->name));
    if (!state_node_detail(s->state, look->name, a, &d) || !d.devices_n)
        return;
    struct demand_node *node = &w->nodes[w->nodes_n];
    *node = (struct demand_node){.model = ours ? relayout_model(s, &d, a, &problem) : NULL};
    relayout_profiles(s, w->kinds, w->kinds_n, a, node);
    relayout_gpus(s, &d, look->name, w->kinds, w->kinds_n, a, node);
    node->may_change = node->model && *may_n < NODES_MOST && may_change(s, f, ours, &d, look->name);
    *may_n += node->may_change;
    w->of[w->nodes_n] = ours;
    names[w->nodes_n++] = look->name;
}

/* ---- who waits ---- */

struct waiter {
    struct wanting what;
    const char *key;
    int32_t priority;
    int64_t created_ms;
    bool is_lone;
};

static int compare_waiters(const void *left, const void *right)
{
    const struct waiter *a = left, *b = right;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms ? -1 : 1;
    return strcmp(a->key, b->key);
}

static bool takes_asks(const int64_t *asks, uint32_t kinds_n, uint8_t ret_asks[DEMAND_KINDS])
{
    for (uint32_t k = 0; k < kinds_n; k++) {
        if (asks[k] > UINT8_MAX)
            return false; /* no node has so many */
        ret_asks[k] = (uint8_t)asks[k];
    }
    return true;
}

static const uint32_t *rooms_of(const struct scheduler *s, const struct relayout_world *w, uint32_t shape, const name_id *names,
                                struct arena *a)
{
    uint32_t *rooms = arena_zero(a, w->nodes_n + 1, sizeof *rooms);
    for (uint32_t i = 0; i < w->nodes_n; i++)
        rooms[i] = wanting_room(s->state, shape, w->kinds, w->kinds_n, names[i]);
    return rooms;
}

static void add_gang(struct relayout_for *f, const char *key, struct arena *a)
{
    f->gangs = arena_grow(a, f->gangs, f->n, 1, &f->cap, sizeof *f->gangs);
    f->gangs[f->n++] = key;
}

/* Lone pods that are alike are one want. */
static bool joins(const struct relayout_world *w, const struct waiter *who, struct arena *a)
{
    for (uint32_t i = 0; i < w->wants_n && who->is_lone; i++) {
        struct demand_want *want = &w->wants[i];
        if (want->gang || w->whose[i].shape != who->what.shape || want->priority != who->priority || want->hungry != who->what.lacks)
            continue;
        want->pods_n += (uint32_t)who->what.pods_n;
        add_gang(&w->whose[i], who->key, a);
        return true;
    }
    return false;
}

static void add_waiter(const struct scheduler *s, struct relayout_world *w, const struct waiter *who, uint32_t gang, const name_id *names,
                       struct arena *a)
{
    struct demand_want want = {
        .priority = who->priority, .pods_n = (uint32_t)who->what.pods_n, .gang = who->is_lone ? 0 : gang, .hungry = who->what.lacks};
    bool known = takes_asks(who->what.asks, w->kinds_n, want.asks);
    if (known && joins(w, who, a))
        return;
    if (!known || w->wants_n == WANTS_MOST) {
        for (uint32_t i = 0; i < w->wants_n; i++) /* a gang of which not all is looked at changes nothing */
            w->wants[i].hungry &= !want.gang || w->wants[i].gang != want.gang;
        return;
    }
    want.room = rooms_of(s, w, who->what.shape, names, a);
    w->whose[w->wants_n].shape = who->what.shape;
    add_gang(&w->whose[w->wants_n], who->key, a);
    w->wants[w->wants_n++] = want;
}

static uint32_t find_waiters(const struct scheduler *s, const struct relayout_world *w, struct arena *a, struct waiter **ret_all)
{
    struct wanting *found;
    uint32_t n = wanting_find(s->state, w->kinds, w->kinds_n, a, &found);
    *ret_all = arena_zero(a, n + 1, sizeof **ret_all);
    for (uint32_t i = 0; i < n; i++) {
        struct gang_look look = {0};
        const struct seen_gang *g = seen_gang(s, found[i].gang);
        (void)state_gang_look(s->state, found[i].gang, &look); /* it was just found */
        (*ret_all)[i] = (struct waiter){found[i], arena_text(a, intern_name(s->names, found[i].gang)), look.priority, look.created_ms,
                                        g && g->source == GANG_POD};
    }
    if (n > 1)
        qsort(*ret_all, n, sizeof **ret_all, compare_waiters);
    return n;
}

bool relayout_world_make(const struct scheduler *s, const struct relayout_finder *f, struct arena *a, struct relayout_world *ret_world)
{
    struct relayout_world w = {0};
    struct node_look *looks;
    struct waiter *waiters;
    const struct gpu_model *models[MODELS_MOST];
    uint32_t looks_n = state_nodes(s->state, a, &looks), may_n = 0, gang = 0;
    w.kinds_n = relayout_kinds(s, models, add_models(s, f, looks, looks_n, a, models), a, w.kinds);
    uint32_t waiters_n = find_waiters(s, &w, a, &waiters);
    for (uint32_t i = 0; i < waiters_n; i++)
        w.hungry |= waiters[i].what.lacks;
    *ret_world = w;
    if (!w.hungry)
        return false;
    w.nodes = arena_zero(a, looks_n + 1, sizeof *w.nodes);
    w.of = arena_zero(a, looks_n + 1, sizeof(struct relayout_node *));
    name_id *names = arena_zero(a, looks_n + 1, sizeof *names);
    for (uint32_t i = 0; i < looks_n; i++)
        add_node(s, f, &looks[i], &may_n, a, &w, names);
    w.wants = arena_zero(a, WANTS_MOST, sizeof *w.wants);
    w.whose = arena_zero(a, WANTS_MOST, sizeof *w.whose);
    for (uint32_t i = 0; i < waiters_n && may_n; i++) {
        gang += i == 0 || strcmp(waiters[i].key, waiters[i - 1].key) != 0;
        add_waiter(s, &w, &waiters[i], gang, names, a);
    }
    *ret_world = w;
    return may_n > 0;
}
