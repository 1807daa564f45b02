#include "core/score/score.h"
#include "core/score/load.h"
#include "core/score/published.h"
#include "core/score/stranding.h"
#include "core/score/target.h"

static uint32_t capped(int64_t value, uint32_t most)
{
    return value < 0 ? 0 : value > most ? most : (uint32_t)value;
}

/* What would be left of a column after the pod, in 1/1023 of what the node has. */
static uint32_t left_share(const struct state *s, uint32_t node, int32_t column, int64_t value)
{
    int64_t have = node_allocatable(&s->nodes, node)[column], left = node_free(&s->nodes, node)[column] - value;
    if (have <= 0 || left <= 0)
        return 0;
    if (have > INT64_MAX / 1024) /* absurd amounts must not overflow */
        return capped(left / (have / 1023), 1023);
    return (uint32_t)(left * 1023 / have);
}

/* Does the node have devices while the pod asks for none? Columns after pods, cpu and memory that are extended resources count. */
static bool wastes_devices(const struct state *s, const struct shape_class *c, uint32_t node)
{
    if (c->device_demand >= 0)
        return false;
    const int64_t *have = node_allocatable(&s->nodes, node);
    for (uint32_t i = 0; i < s->device_columns_n; i++)
        if (have[s->device_columns[i]] > 0)
            return true;
    return false;
}

static uint32_t score_packed(const struct state *s, const struct shape_class *c, uint32_t node, enum placement by)
{
    uint32_t devices = 0;
    if ((c->share.memory_mib || c->share.memory_milli) && s->nodes.nodes[node].devices.gpus) {
        devices = capped(s->nodes.nodes[node].devices.room_all, 1023);
    } else if (c->device_demand >= 0) {
        const struct demand *d = &c->demands[c->device_demand];
        devices = capped(node_free(&s->nodes, node)[d->column] - d->value, 1023);
    }
    int64_t cpu_asked = 0, memory_asked = 0;
    for (uint32_t i = 1; i < c->demands_n; i++) {
        cpu_asked = c->demands[i].column == s->column_cpu ? c->demands[i].value : cpu_asked;
        memory_asked = c->demands[i].column == s->column_memory ? c->demands[i].value : memory_asked;
    }
    uint32_t cpu = left_share(s, node, s->column_cpu, cpu_asked);
    uint32_t memory = left_share(s, node, s->column_memory, memory_asked);
    uint32_t left = devices << 20 | cpu << 10 | memory;
    uint32_t best = by == PLACEMENT_SPREAD ? left : (1u << 30) - 1 - left;
    return (wastes_devices(s, c, node) ? 0 : 1u << 30) + best + 1;
}

/* While nothing is known of who may come capstan is binpack. */
static enum placement in_effect(const struct state *s, enum placement by)
{
    enum placement alone = placement_alone(by);
    return alone == PLACEMENT_CAPSTAN && !s->targets ? PLACEMENT_BINPACK : alone;
}

static uint32_t score_by_policy(const struct scorer *x, uint32_t node, enum placement by)
{
    struct state *s = x->s;
    const struct shape_class *c = x->c;
    uint32_t unused;
    switch (by) {
    case PLACEMENT_BINPACK:
    case PLACEMENT_SPREAD:
    case PLACEMENT_RANDOM:
        return 1;
    case PLACEMENT_BESTFIT:
        return (uint32_t)(1 + score_bestfit(s, c, node));
    case PLACEMENT_DOTPRODUCT:
        return (uint32_t)(1 + score_dotproduct(s, c, node));
    case PLACEMENT_PACKING:
        return (uint32_t)(1 + score_packing(s, c, node));
    case PLACEMENT_CLUSTERING:
        return (uint32_t)(1 + score_clustering(s, c, node));
    case PLACEMENT_FGD:
        return (uint32_t)(1 + score_fgd(s, c, &x->ask, node, &unused));
    case PLACEMENT_CAPSTAN:
        return (wastes_devices(s, c, node) ? 0 : 1u << 28) + score_capstan(s, c, &x->ask, node, &unused);
    }
    return 1;
}

void scorer_of_kinds(struct scorer *x)
{
    x->ask = gpu_ask_of(x->s, x->c);
    if (x->s->targets) {
        target_prices_settle(x->s); /* all classes are known then */
        x->classes_n = x->s->targets->classes_n;
    }
}

uint32_t score_alike_of(const struct scorer *x, uint32_t node, uint32_t twins)
{
    struct state *s = x->s;
    if ((x->by & PLACEMENT_BY_LOAD) && s->nodes.nodes[node].load)
        return 0;
    const uint32_t class = x->classes_n > 1 ? target_node_of(s, node)->class : 0;
    return (twins - 1) * x->classes_n + class + 1;
}

uint32_t score_node(const struct scorer *x, uint32_t node)
{
    const enum placement by = in_effect(x->s, x->by);
    uint32_t score = by <= PLACEMENT_SPREAD ? score_packed(x->s, x->c, node, by) : score_by_policy(x, node, by);
    return x->by & PLACEMENT_BY_LOAD ? load_score(score, by <= PLACEMENT_SPREAD, load_of(x->s, x->c, node, NULL)) : score;
}

uint64_t score_meaning_of_kinds(struct state *s)
{
    target_prices_settle(s);
    return s->targets->prices_changes;
}

uint64_t score_draw(const struct state *s, uint64_t of)
{
    uint64_t x = s->placement_seed * 0x9e3779b97f4a7c15u + s->nodes.seq * 0xbf58476d1ce4e5b9u + of;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* One of those that have enough left. */
static int32_t draw_device(const struct state *s, uint32_t shape, uint32_t node)
{
    const struct device_table *t = &s->nodes.nodes[node].devices;
    const struct device_span *span = &t->spans[t->parts_at];
    uint32_t enough_n = 0;
    for (int32_t i = span->first; i < span->first + span->n; i++)
        enough_n += seat_share_fits(s, shape, node, i);
    uint64_t drawn = enough_n ? score_draw(s, 1) % enough_n : 0;
    for (int32_t i = span->first; i < span->first + span->n; i++)
        if (seat_share_fits(s, shape, node, i) && !drawn--)
            return i;
    return -1;
}

/* The device where a pod of the shape, which asks for one share, is best; -1: the fullest that is enough. */
static int32_t best_device(struct state *s, uint32_t shape, uint32_t node, enum placement by)
{
    const struct shape_class *c = &s->shapes.classes[shape];
    const struct device_table *t = &s->nodes.nodes[node].devices;
    uint32_t gpu = 0;
    if (c->share.n != 1)
        return -1;
    if (by == PLACEMENT_RANDOM)
        return draw_device(s, shape, node);
    if (!placement_looks_at_kinds(in_effect(s, by)))
        return -1;
    const struct gpu_ask ask = gpu_ask_of(s, c);
    if (by == PLACEMENT_FGD)
        (void)score_fgd(s, c, &ask, node, &gpu);
    else
        (void)score_capstan(s, c, &ask, node, &gpu);
    const struct device_span *span = &t->spans[t->parts_at];
    for (int32_t i = span->first; i < span->first + span->n; i++)
        if (t->gpu_of[i] == gpu && seat_share_fits(s, shape, node, i))
            return i;
    return -1;
}

/* The same, and none of those that are worse than it has to take: then the fullest of the others. */
static int32_t best_but(struct state *s, uint32_t shape, uint32_t node, enum placement by, const struct device_bits *worse)
{
    const struct device_table *t = &s->nodes.nodes[node].devices;
    const struct device_span *span = &t->spans[t->parts_at];
    int32_t best = best_device(s, shape, node, by);
    if (s->shapes.classes[shape].share.n != 1 || !device_bits_any(worse) || (best >= 0 && !device_bit(worse, (uint32_t)best)))
        return best;
    best = -1;
    for (int32_t i = span->first; i < span->first + span->n; i++)
        if (!device_bit(worse, (uint32_t)i) && seat_share_fits(s, shape, node, i) &&
            (best < 0 || t->left[t->gpu_of[i]] < t->left[t->gpu_of[best]]))
            best = i;
    return best;
}

/* As if those that are worse than it has to take were taken. */
static void choose_but(const struct device_table *t, const struct device_span *span, int64_t wanted, const struct device_bits *worse,
                       struct device_bits *ret_bits)
{
    struct device_bits used = *t->used;
    struct device_table others = *t;
    struct device_span left = *span;
    others.used = &used;
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n; i++)
        if (device_bit(worse, i) && device_is_free(t, i)) {
            device_bit_set(&used, i);
            left.free_n--;
        }
    if (!device_choose(&others, &left, wanted, ret_bits))
        (void)device_choose(t, span, wanted, ret_bits);
}

struct device_bits score_choose_devices(struct state *s, uint32_t shape, uint32_t node, enum placement by)
{
    const struct device_table *t = &s->nodes.nodes[node].devices;
    const struct shape_class *c = &s->shapes.classes[shape];
    const struct gpu_share *share = shape_share_on(s, shape, node);
    struct device_bits bits = {0}, worse = {0};
    struct share_slots slots;
    if (by & PLACEMENT_BY_LOAD)
        (void)load_of(s, c, node, &worse);
    by = placement_alone(by);
    if (share && shape_slots(c, t, &slots))
        (void)device_choose_share(t, share, slots.n ? &slots : NULL, best_but(s, shape, node, by, &worse), &bits);
    for (uint32_t i = 1; i < c->demands_n && !share; i++) {
        const struct device_span *span = c->demands[i].extended ? device_table_span(t, c->demands[i].resource) : NULL;
        if (span && device_bits_any(&worse))
            choose_but(t, span, c->demands[i].value, &worse, &bits);
        else if (span)
            (void)device_choose(t, span, c->demands[i].value, &bits);
    }
    return bits;
}
