/* hypernode_source.c - HyperNodes come in, the core gets the topology that they make, and their status says how many nodes they have
 *
 * SHAPE  whatever changes, a HyperNode or the name or label of some node, all of it is made anew, once a turn; the core keeps it when it is
 *        the same. Groups that call a tier by its name are read again when another tier is called so. Where there is no HyperNode, the
 *        topology is that of the labels that groups ask for (domains/label_levels.h); those groups are read again when that begins or ends.
 * WRITES of each HyperNode its nodeCount as Volcano's controller counts it, so that both may run, and a condition Valid once something is
 *        wrong with it; nothing where that is there already.
 */
#include <stdlib.h>
#include "sched/domains/hypernodes.h"
#include "sched/domains/label_levels.h"
#include "sched/scheduler.h"

#define VALID "Valid"

struct finding {             /* of one HyperNode */
    int64_t count;
    char *reason, *problem;  /* NULL: nothing is wrong with it */
};
struct hypernode_source {
    bool changed, told;      /* since the last turn; the core has a topology */
    bool any;                /* there are HyperNodes */
    struct label_levels *levels;
    struct kube_cache *kai;  /* KAI's Topologies, which name levels */
    uint64_t nodes_seq;
    struct map *findings;    /* name -> struct finding */
    struct map *tiers;       /* tierName -> int64_t */
    uint64_t tiers_hash;
    struct workqueue *work;
};

bool hypernode_tier_of(void *ctx, const char *tier_name, int64_t *ret_tier)
{
    const struct scheduler *s = ctx;
    const int64_t *tier = map_find_text(s->hypernodes->tiers, tier_name);
    *ret_tier = tier ? *tier : 0;
    return tier != NULL;
}

static bool levels_of(void *ctx, name_id gang, const char *const *levels, uint32_t n, int64_t *ret_tiers)
{
    struct scheduler *s = ctx;
    struct hypernode_source *h = s->hypernodes;
    _cleanup_buf_ struct buf all = {0};
    bool any = false, known = !h->any;
    for (uint32_t i = 0; i < n; i++)
        if (levels[i]) {
            buf_printf(&all, "%s%s", any ? " " : "", levels[i]);
            any = true;
        }
    h->changed |= label_levels_ask(h->levels, intern_name(s->names, gang), all.data);
    for (uint32_t i = 0; i < n && known; i++)
        known = !levels[i] || label_levels_tier(h->levels, levels[i], &ret_tiers[i]);
    return any && known;
}

static const struct json *kai_levels(void *ctx, const char *topology, struct arena *a)
{
    const struct scheduler *s = ctx;
    return json_path(kube_cache_get(s->hypernodes->kai, "", topology, a), "spec", "levels", NULL);
}

static void on_kai_topology(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    (void)event;
    (void)key;
    (void)object;
    sources_read_groups(arg, SOURCE_KAI);
}

static void on_kai_topologies(void *arg)
{
    scheduler_synced(arg);
}

bool hypernodes_synced(const struct scheduler *s)
{
    return kube_cache_synced(s->hypernodes->kai);
}

void hypernodes_gang_gone(struct scheduler *s, name_id gang)
{
    (void)levels_of(s, gang, NULL, 0, NULL);
}

/* ---- status ---- */

static void status_hypernode(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    struct arena *a = w->arena;
    const struct finding *f = map_find_text(s->hypernodes->findings, w->name);
    struct json *object = s->leading && f ? source_get(s, SOURCE_HYPERNODES, w->key, a) : NULL;
    if (!object || object_deleting(object))
        return;
    struct json *status = object_status_copy(a, object);
    object_count_set(a, status, "nodeCount", f->count);
    if (f->problem || object_condition(object, VALID))
        (void)object_condition_set(a, json_ensure_array(a, status, "conditions"), VALID, !f->problem, f->problem ? f->reason : "Valid",
                                   f->problem ? f->problem : "its members are as they should be", loop_wall_ms(s->loop),
                                   object_generation_of(object));
    struct json *diff = object_diff(a, json_get(object, "status"), status);
    if (diff)
        work_patch_status(w, kube_path(a, "topology.volcano.sh", "v1alpha1", "hypernodes", NULL, w->name, "status"), object, diff);
}

static void finding_clear(struct finding *f)
{
    free(f->reason);
    free(f->problem);
    *f = (struct finding){0};
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static void note(struct scheduler *s, const struct hypernode *h)
{
    bool is_new;
    struct finding *f = map_put(s->hypernodes->findings, bytes_of(h->name), &is_new);
    if (!is_new && f->count == h->count && same_text(f->problem, h->problem))
        return;
    finding_clear(f);
    *f = (struct finding){h->count, h->problem ? mem_text(h->reason) : NULL, h->problem ? mem_text(h->problem) : NULL};
    if (s->leading)
        workqueue_add(s->hypernodes->work, arena_printf(s->report, "/%s", h->name));
}

/* ---- the tree ---- */

static uint32_t read_all(struct scheduler *s, struct arena *a, struct hypernode **ret_all)
{
    struct bytes key, raw;
    uint32_t n = 0, cap = (uint32_t)kube_cache_count(s->sources[SOURCE_HYPERNODES].cache);
    *ret_all = arena_zero(a, cap + 1, sizeof **ret_all);
    for (size_t at = 0; n < cap && kube_cache_next(s->sources[SOURCE_HYPERNODES].cache, &at, &key, &raw);) {
        const struct json *o = json_parse(a, raw, NULL, NULL), *spec = json_get(o, "spec");
        if (o)
            (*ret_all)[n++] = (struct hypernode){.name = object_meta(o, "name"), .tier_name = json_get_text(spec, "tierName", ""),
                                                 .tier = json_get_int64(spec, "tier", 0), .members = json_get(spec, "members")};
    }
    return n;
}

/* Returns whether groups have to be read again. */
static bool note_tiers(struct hypernode_source *h, const struct hypernode *all, uint32_t n)
{
    uint64_t hash = 0;
    map_clear(h->tiers);
    for (uint32_t i = 0; i < n; i++) { /* of one name the lowest tier */
        bool is_new = false;
        int64_t *tier = *all[i].tier_name ? map_put(h->tiers, bytes_of(all[i].tier_name), &is_new) : NULL;
        if (!is_new)
            continue;
        *tier = all[i].tier;
        hash = hash_bytes(tier, sizeof *tier, hash_bytes(all[i].tier_name, strlen(all[i].tier_name), hash));
    }
    bool differs = hash != h->tiers_hash;
    h->tiers_hash = hash;
    return differs;
}

/* What the core is to have: of HyperNodes, else of labels. Returns whether groups that ask for labels have to be read again. */
static bool build(struct hypernode_source *h, const struct decoder *d, const struct state *state, struct hypernode *all, uint32_t n,
                  struct topology_record *ret_topology)
{
    struct node_look *nodes;
    uint32_t nodes_n = state_nodes(state, d->arena, &nodes);
    bool again = h->any != (n > 0);
    h->any = n > 0;
    if (n)
        hypernodes_build(d, all, n, nodes, nodes_n, ret_topology);
    else
        again |= label_levels_build(h->levels, d, nodes, nodes_n, ret_topology);
    ret_topology->name = intern_text_id(d->names, HYPERNODES_TOPOLOGY);
    return again && label_levels_any(h->levels);
}

static void forget_gone(struct scheduler *s)
{
    struct finding *f;
    struct bytes name;
    for (size_t at = 0; (f = map_next(s->hypernodes->findings, &at, &name));)
        if (!kube_cache_raw(s->sources[SOURCE_HYPERNODES].cache, "", arena_text_n(s->report, name.data, name.n)).n) {
            finding_clear(f);
            map_remove(s->hypernodes->findings, name);
        }
}

void hypernodes_follow(struct scheduler *s)
{
    struct hypernode_source *h = s->hypernodes;
    if ((!h->changed && h->nodes_seq == state_nodes_seq(s->state)) || !kube_cache_synced(s->sources[SOURCE_HYPERNODES].cache))
        return;
    _cleanup_arena_ struct arena *a = arena_new();
    struct decoder d = s->decoder;
    struct hypernode *all;
    struct change c = {.type = CHANGE_TOPOLOGY};
    uint32_t n = read_all(s, a, &all);
    bool read_labels = false, is_there = n || label_levels_any(h->levels);
    d.arena = a;
    h->nodes_seq = state_nodes_seq(s->state);
    h->changed = false;
    arena_reset(s->report);
    if (is_there || h->told) {
        read_labels = build(h, &d, s->state, all, n, &c.topology);
        if (!is_there)
            c = (struct change){.type = CHANGE_TOPOLOGY_GONE, .gone = c.topology.name};
        scheduler_apply(s, &c);
    }
    h->told = is_there;
    for (uint32_t i = 0; i < n; i++)
        note(s, &all[i]);
    forget_gone(s);
    if (note_tiers(h, all, n))
        sources_read_groups(s, SOURCE_VOLCANO_GROUPS);
    if (!read_labels)
        return;
    sources_read_groups(s, SOURCE_NATIVE);
    sources_read_groups(s, SOURCE_KAI);
}

void hypernodes_on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    const struct source *source = arg;
    struct scheduler *s = source->scheduler;
    (void)object;
    s->hypernodes->changed = true;
    if (s->leading && event != KUBE_DELETED)
        workqueue_add_after(s->hypernodes->work, key, 50); /* it may say less than was found */
    scheduler_ask_turn(s);
}

void hypernodes_tell_all(struct scheduler *s)
{
    struct bytes name;
    arena_reset(s->report);
    for (size_t at = 0; map_next(s->hypernodes->findings, &at, &name);)
        workqueue_add(s->hypernodes->work, arena_printf(s->report, "/%.*s", (int)name.n, name.data));
}

/* ---- life ---- */

void hypernodes_start(struct scheduler *s)
{
    s->hypernodes = mem_zero(1, sizeof *s->hypernodes);
    s->hypernodes->findings = map_new(sizeof(struct finding));
    s->hypernodes->tiers = map_new(sizeof(int64_t));
    s->hypernodes->work = workqueue_new(s->client, status_hypernode, s);
    s->hypernodes->levels = label_levels_new();
    s->decoder.tier_of = hypernode_tier_of;
    s->decoder.levels_of = levels_of;
    s->decoder.kai_levels = kai_levels;
    s->hypernodes->kai = kube_cache_new(s->client, &(struct kube_cache_config){
                                                       .watch = {.path = "/apis/kai.scheduler/v1alpha1/topologies", .optional = true},
                                                       .on_change = on_kai_topology,
                                                       .on_synced = on_kai_topologies,
                                                       .arg = s});
}

void hypernodes_stop(struct scheduler *s)
{
    struct finding *f;
    struct bytes name;
    workqueue_free(s->hypernodes->work);
    for (size_t at = 0; (f = map_next(s->hypernodes->findings, &at, &name));)
        finding_clear(f);
    map_free(s->hypernodes->findings);
    map_free(s->hypernodes->tiers);
    label_levels_free(s->hypernodes->levels);
    kube_cache_free(s->hypernodes->kai);
    free(s->hypernodes);
}
