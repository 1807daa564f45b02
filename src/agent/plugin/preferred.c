/* preferred.c - GetPreferredAllocation: which slots a container should get
 *
 * Nearness of two GPUs is a number (link_score); a set is as good as the sum over its pairs. For n <= 16 candidates the sums of all
 * 2^n sets come from one table, each from a smaller set and one row: T[s] = T[s - lowest] + row(lowest, s - lowest), and row sums of 16
 * GPUs are two look-ups of 8 bits. 65,536 additions at most, whatever is asked; no call is exponential in time beyond that.
 */
#include <assert.h>
#include <stdlib.h>
#include "agent/plugin/allocate.h"

#define EXACT_MAX 16

struct chooser {
    struct arena *arena;
    const struct inventory_snapshot *snapshot;
    const struct resource *resource;
    bool packed;
    uint8_t *state; /* of each slot of the resource: enum */
    /* Of shares and MIG devices: */
    uint32_t *unit_picked;         /* by unit: slots that the container has */
    uint32_t *gpu_total, *gpu_free; /* by GPU: slots, those that nobody has */
    int *near;                     /* by GPU: nearness to what the container has */
};
enum { SLOT_GONE, SLOT_FREE, SLOT_TAKEN };

static uint32_t gpu_at(const struct chooser *c, uint32_t slot)
{
    return (uint32_t)(c->snapshot->units[c->resource->slots[slot].unit].gpu - c->snapshot->reading->gpus);
}

/* SOURCE weights of NVIDIA's device plugin: 10 other socket ... 50 one switch, 100 for each NVLink. Links to a common NVSwitch count as
 * links. */
static int link_score(const struct driver_reading *r, uint32_t a, uint32_t b)
{
    const struct driver_link *link = r->links ? &r->links[a * r->gpus_n + b] : NULL;
    if (!link)
        return 0;
    int level = link->ancestor == 0 ? 60 : link->ancestor <= 10 ? 50 : link->ancestor <= 20 ? 40 : link->ancestor <= 30 ? 30
              : link->ancestor <= 40 ? 20 : link->ancestor <= 50 ? 10 : 0;
    return level + 100 * link->nvlinks_n;
}

/* ---- whole GPUs, exact ---- */

struct exact {
    uint32_t n;
    int32_t low[EXACT_MAX][256], high[EXACT_MAX][256]; /* sums of row i over 8 bits of a set */
    int32_t *table;                                    /* [2^n] */
};

static void exact_rows(struct exact *x, const int32_t scores[EXACT_MAX][EXACT_MAX])
{
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t set = 1; set < 256; set++) {
            uint32_t bit = (uint32_t)__builtin_ctz(set), rest = set & (set - 1);
            x->low[i][set] = x->low[i][rest] + scores[i][bit];
            x->high[i][set] = x->high[i][rest] + scores[i][bit + 8];
        }
}

static void exact_fill(struct exact *x)
{
    x->table[0] = 0;
    for (uint32_t set = 1; set < 1u << x->n; set++) {
        uint32_t bit = (uint32_t)__builtin_ctz(set), rest = set & (set - 1);
        x->table[set] = x->table[rest] + x->low[bit][rest & 255] + x->high[bit][rest >> 8];
    }
}

/* The best set of `size` of n that holds `must`: most nearness inside, then in what is left, then lowest slots. */
static uint32_t exact_best(const struct exact *x, uint32_t size, uint32_t must)
{
    uint32_t all = (1u << x->n) - 1, best = 0;
    if (size == 0)
        return 0;
    for (uint32_t set = (1u << size) - 1; set <= all;) {
        if ((set & must) == must) {
            int32_t more = best ? x->table[set] - x->table[best] : 1;
            if (more == 0)
                more = x->table[all & ~set] - x->table[all & ~best];
            uint32_t differs = set ^ best;
            if (more == 0) /* the set whose lowest differing slot is its own */
                more = (set & differs & (~differs + 1)) != 0;
            best = more > 0 ? set : best;
        }
        uint32_t lowest = set & (~set + 1), next = set + lowest; /* next set of the same size */
        set = next | (((set ^ next) / lowest) >> 2);
    }
    return best;
}

static void choose_exact(struct chooser *c, const uint32_t *candidates, uint32_t n, uint32_t size)
{
    struct exact *x = arena_zero(c->arena, 1, sizeof *x);
    int32_t scores[EXACT_MAX][EXACT_MAX] = {{0}};
    uint32_t must = 0;
    x->n = n;
    x->table = arena_alloc(c->arena, sizeof *x->table << n);
    for (uint32_t i = 0; i < n; i++) {
        must |= (uint32_t)(c->state[candidates[i]] == SLOT_TAKEN) << i;
        for (uint32_t k = 0; k < n; k++)
            scores[i][k] = i == k ? 0 : link_score(c->snapshot->reading, gpu_at(c, candidates[i]), gpu_at(c, candidates[k]));
    }
    exact_rows(x, (const int32_t(*)[EXACT_MAX])scores);
    exact_fill(x);
    uint32_t best = exact_best(x, size, must);
    for (uint32_t i = 0; i < n; i++)
        if (best & (1u << i))
            c->state[candidates[i]] = SLOT_TAKEN;
}

/* ---- whole GPUs, many: grow from each GPU, then exchange while it helps ---- */

struct growing {
    uint32_t n, size;
    int *scores; /* [n * n] */
    int *sums;   /* of each: nearness to what is in */
    bool *in, *must;
};

static void put(struct growing *g, uint32_t at, bool in)
{
    g->in[at] = in;
    for (uint32_t k = 0; k < g->n; k++)
        g->sums[k] += in ? g->scores[at * g->n + k] : -g->scores[at * g->n + k];
}

static int total(const struct growing *g)
{
    int sum = 0;
    for (uint32_t i = 0; i < g->n; i++)
        sum += g->in[i] ? g->sums[i] : 0;
    return sum / 2;
}

static void grow(struct growing *g, uint32_t have)
{
    for (; have < g->size; have++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < g->n; i++)
            if (!g->in[i] && (best == UINT32_MAX || g->sums[i] > g->sums[best]))
                best = i;
        put(g, best, true);
    }
}

/* One exchange of a taken GPU with a free one that gains; false: none does. */
static bool exchange(struct growing *g)
{
    for (uint32_t out = 0; out < g->n; out++)
        for (uint32_t in = 0; g->in[out] && !g->must[out] && in < g->n; in++)
            if (!g->in[in] && g->sums[in] - g->scores[in * g->n + out] > g->sums[out]) {
                put(g, out, false);
                put(g, in, true);
                return true;
            }
    return false;
}

static void start(struct growing *g, uint32_t seed, bool any_must)
{
    memset(g->in, 0, g->n);
    memset(g->sums, 0, g->n * sizeof *g->sums);
    for (uint32_t i = 0; i < g->n; i++)
        if (any_must ? g->must[i] : i == seed)
            put(g, i, true);
}

static uint32_t growing_init(struct growing *g, struct chooser *c, const uint32_t *candidates)
{
    uint32_t must_n = 0;
    g->scores = arena_zero(c->arena, (size_t)g->n * g->n, sizeof *g->scores);
    g->sums = arena_zero(c->arena, g->n, sizeof *g->sums);
    g->in = arena_zero(c->arena, g->n, 1);
    g->must = arena_zero(c->arena, g->n, 1);
    for (uint32_t i = 0; i < g->n; i++) {
        g->must[i] = c->state[candidates[i]] == SLOT_TAKEN;
        must_n += g->must[i];
        for (uint32_t k = 0; k < g->n; k++)
            g->scores[i * g->n + k] = i == k ? 0 : link_score(c->snapshot->reading, gpu_at(c, candidates[i]), gpu_at(c, candidates[k]));
    }
    return must_n;
}

static void choose_grown(struct chooser *c, const uint32_t *candidates, uint32_t n, uint32_t size)
{
    struct growing g = {.n = n, .size = size};
    uint32_t must_n = growing_init(&g, c, candidates);
    bool *best = arena_zero(c->arena, n, 1);
    int best_total = -1;
    for (uint32_t seed = 0; seed < (must_n ? 1 : n) && size; seed++) {
        start(&g, seed, must_n > 0);
        grow(&g, must_n ? must_n : 1);
        for (uint32_t round = 0; round < n && exchange(&g); round++)
            ;
        int sum = total(&g);
        if (sum > best_total) {
            best_total = sum;
            memcpy(best, g.in, n);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (best[i])
            c->state[candidates[i]] = SLOT_TAKEN;
}

/* ---- shares and MIG devices ---- */

/* Less is better, in this order; packed: `taken` before `picked`, so that one GPU is filled before the next. */
struct rank {
    bool unusable;
    uint32_t picked; /* slots of this unit that the container has already: two shares of one GPU help nobody */
    int64_t taken;   /* slots of the GPU that are not free; packed: negative */
    int nearness;
    uint32_t slot;
};

static struct rank rank_of(const struct chooser *c, uint32_t slot)
{
    const struct slot *s = &c->resource->slots[slot];
    uint32_t gpu = gpu_at(c, slot);
    struct rank r = {.unusable = !slot_is_open(s), .picked = c->unit_picked[s->unit], .slot = slot};
    int64_t taken = (int64_t)c->gpu_total[gpu] - c->gpu_free[gpu];
    r.taken = c->packed ? -taken : taken;
    r.nearness = -c->near[gpu];
    return r;
}

static bool better(const struct chooser *c, const struct rank *a, const struct rank *b)
{
    if (a->unusable != b->unusable)
        return b->unusable;
    if (c->packed && a->taken != b->taken)
        return a->taken < b->taken;
    if (a->picked != b->picked)
        return a->picked < b->picked;
    if (a->taken != b->taken)
        return a->taken < b->taken;
    return a->nearness != b->nearness ? a->nearness < b->nearness : a->slot < b->slot;
}

static void add_near(struct chooser *c, uint32_t gpu)
{
    for (uint32_t i = 0; i < c->snapshot->reading->gpus_n; i++)
        c->near[i] += i == gpu ? 0 : link_score(c->snapshot->reading, gpu, i);
}

static void take(struct chooser *c, uint32_t slot)
{
    add_near(c, gpu_at(c, slot));
    c->state[slot] = SLOT_TAKEN;
    c->unit_picked[c->resource->slots[slot].unit]++;
    c->gpu_free[gpu_at(c, slot)]--;
}

/* Slots of one unit differ only in their number: the first free one stands for all, so that 768 slots are no more work than 64 GPUs. */
static void choose_shared(struct chooser *c, uint32_t have, uint32_t size)
{
    const struct resource *r = c->resource;
    for (; have < size; have++) {
        struct rank best = {.slot = UINT32_MAX};
        uint16_t last = UINT16_MAX;
        for (uint32_t i = 0; i < r->slots_n; i++) {
            if (c->state[i] != SLOT_FREE || r->slots[i].unit == last)
                continue;
            last = r->slots[i].unit;
            struct rank rank = rank_of(c, i);
            if (best.slot == UINT32_MAX || better(c, &rank, &best))
                best = rank;
        }
        assert(best.slot != UINT32_MAX);
        take(c, best.slot);
    }
}

/* ---- the call ---- */

static bool whole_gpus(const struct chooser *c)
{
    for (uint32_t i = 0; i < c->resource->slots_n; i++)
        if (c->resource->slots[i].shared || c->snapshot->units[c->resource->slots[i].unit].mig)
            return false;
    return true;
}

static void choose_gpus(struct chooser *c, uint32_t size, bool usable_only)
{
    uint32_t *candidates = arena_zero(c->arena, c->resource->slots_n + 1, sizeof *candidates), n = 0;
    for (uint32_t i = 0; i < c->resource->slots_n; i++)
        if (c->state[i] == SLOT_TAKEN || (c->state[i] == SLOT_FREE && (slot_is_open(&c->resource->slots[i]) || !usable_only)))
            candidates[n++] = i;
    if (n < size) /* a lost GPU is better than an error, which would fail the pod: the kubelet looks again */
        choose_gpus(c, size, false);
    else if (n <= EXACT_MAX)
        choose_exact(c, candidates, n, size);
    else
        choose_grown(c, candidates, n, size);
}

static int mark(struct chooser *c, const char *const *available, uint32_t available_n, const char *const *must, uint32_t must_n,
                uint32_t size, uint32_t *ret_taken, struct err *e)
{
    uint32_t free_n = 0, taken = 0;
    for (uint32_t i = 0; i < available_n; i++) {
        const struct slot *s = resource_find_slot(c->resource, available[i]);
        if (s && c->state[s - c->resource->slots] == SLOT_GONE) {
            c->state[s - c->resource->slots] = SLOT_FREE;
            free_n++;
        }
    }
    for (uint32_t i = 0; i < must_n; i++) {
        const struct slot *s = resource_find_slot(c->resource, must[i]);
        if (!s)
            return err_set(e, E_NOTFOUND, "%s: required device '%.80s' is unknown", c->resource->name, must[i]);
        uint8_t *state = &c->state[s - c->resource->slots];
        free_n += *state == SLOT_GONE;
        taken += *state != SLOT_TAKEN;
        *state = SLOT_TAKEN;
    }
    if (taken > size || free_n < size)
        return err_set(e, E_INVALID, "%s: %u devices are asked for, %u are available and %u of them required", c->resource->name, size,
                       free_n, taken);
    *ret_taken = taken;
    return 0;
}

static void count(struct chooser *c)
{
    const struct resource *r = c->resource;
    c->unit_picked = arena_zero(c->arena, c->snapshot->units_n + 1, sizeof *c->unit_picked);
    c->gpu_total = arena_zero(c->arena, c->snapshot->reading->gpus_n + 1, sizeof *c->gpu_total);
    c->gpu_free = arena_zero(c->arena, c->snapshot->reading->gpus_n + 1, sizeof *c->gpu_free);
    c->near = arena_zero(c->arena, c->snapshot->reading->gpus_n + 1, sizeof *c->near);
    for (uint32_t i = 0; i < r->slots_n; i++) {
        c->gpu_total[gpu_at(c, i)]++;
        c->gpu_free[gpu_at(c, i)] += c->state[i] == SLOT_FREE;
        if (c->state[i] != SLOT_TAKEN)
            continue;
        c->unit_picked[r->slots[i].unit]++;
        add_near(c, gpu_at(c, i));
    }
}

int preferred_choose(struct arena *a, const struct inventory_snapshot *s, const struct agent_config *c, const struct resource *r,
                     const char *const *available, uint32_t available_n, const char *const *must, uint32_t must_n, uint32_t size,
                     const char ***ret_slots, uint32_t *ret_n, struct err *e)
{
    struct chooser chooser = {
        .arena = a, .snapshot = s, .resource = r, .packed = c->shared_allocation_policy == ALLOCATION_PACKED};
    uint32_t taken = 0, n = 0;
    chooser.state = arena_zero(a, r->slots_n + 1, 1);
    int failed = mark(&chooser, available, available_n, must, must_n, size, &taken, e);
    if (failed < 0)
        return failed;
    if (whole_gpus(&chooser))
        choose_gpus(&chooser, size, true);
    else {
        count(&chooser);
        choose_shared(&chooser, taken, size);
    }
    const char **slots = arena_zero(a, size + 1, sizeof *slots);
    for (uint32_t i = 0; i < r->slots_n; i++)
        if (chooser.state[i] == SLOT_TAKEN)
            slots[n++] = r->slots[i].id;
    *ret_slots = slots;
    *ret_n = n;
    return 0;
}
