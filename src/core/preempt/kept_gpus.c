#include "core/preempt/kept_gpus.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/place/undo.h"
#include "core/preempt/promise.h"

/* Devices of one member, with its share; NULL: whole ones, of all members. */
struct kept {
    struct device_bits bits;
    const struct gpu_share *share;
};
struct keeper {
    struct state *s;
    const struct promise *promise;
    struct device_table *t;
    uint32_t node;
    struct device_bits left; /* GPUs of which those who leave have anything */
    struct kept *all;
    uint32_t n;
};
/* Of each GPU of the ledger: what is taken. */
struct takings {
    int64_t parts[LIMIT_DEVICES_PER_NODE], mib[LIMIT_DEVICES_PER_NODE];
};

/* ---- those who leave ---- */

static bool is_on(const struct keeper *x, const struct seat *seat)
{
    return seat->node == x->node && !seat->lifted;
}

static void give(struct state *s, const struct promise *p, uint32_t id, void *arg)
{
    struct keeper *x = arg;
    const struct seat *seat = &s->seats[id];
    const struct device_bits bits = seat_devices(seat);
    (void)p;
    if (!is_on(x, seat))
        return;
    device_give(x->t, &bits, seat_share(s, seat));
    for (uint32_t i = 0; i < x->t->n; i++)
        if (device_bit(&bits, i))
            device_bit_set(&x->left, x->t->gpu_of[i]);
}

static void take_back(struct state *s, const struct promise *p, uint32_t id, void *arg)
{
    struct keeper *x = arg;
    const struct seat *seat = &s->seats[id];
    const struct device_bits bits = seat_devices(seat);
    (void)p;
    if (is_on(x, seat))
        device_take(x->t, &bits, seat_share(s, seat));
}

/* ---- those for whom they leave ---- */

static void keep(struct keeper *x, const struct device_bits *bits, const struct gpu_share *share)
{
    device_take(x->t, bits, share);
    x->all[x->n++] = (struct kept){*bits, share};
}

/* As many members with shares as find some. */
static void choose_shares(struct keeper *x, const struct promised_share *one)
{
    const struct shape_class *c = &x->s->shapes.classes[one->shape];
    struct share_slots slots;
    for (int32_t n = shape_slots(c, x->t, &slots) ? one->n : 0; n > 0; n--) {
        struct device_bits bits = {0};
        if (!device_choose_share(x->t, &c->share, slots.n ? &slots : NULL, -1, &bits))
            return;
        keep(x, &bits, &c->share);
    }
}

/* Of what is promised of the resource: what does not come with shares. */
static int64_t whole_n(const struct keeper *x, const struct promised_room *room)
{
    const struct promise *p = x->promise;
    int64_t n = room->amount;
    for (uint32_t i = 0; i < p->shares_n; i++) {
        const struct shape_class *c = &x->s->shapes.classes[p->shares[i].shape];
        for (uint32_t k = 0; k < c->demands_n && p->shares[i].node == x->node; k++)
            n -= c->demands[k].resource == room->resource ? p->shares[i].n * c->demands[k].value : 0;
    }
    return n;
}

static int64_t choose_what_is_left(struct keeper *x, const struct device_span *span, int64_t wanted)
{
    struct device_bits bits = {0};
    int64_t n = 0;
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n && n < wanted; i++) {
        if (!device_bit(&x->left, x->t->gpu_of[i]) || !device_is_free(x->t, i))
            continue;
        device_bit_set(&bits, i);
        n++;
    }
    if (n)
        keep(x, &bits, NULL);
    return n;
}

/* WHY  first those that come free: it needs so many, whichever they are, and of the others as few as can be are kept from everybody. */
static void choose_whole(struct keeper *x, const struct promised_room *room)
{
    const struct device_span *span = device_table_span(x->t, room->resource);
    int64_t n = span && !span->in_parts ? whole_n(x, room) : 0;
    struct device_bits bits = {0};
    if (n > 0)
        n -= choose_what_is_left(x, span, n);
    if (n > 0 && device_choose(x->t, span, n < span->free_n ? n : span->free_n, &bits))
        keep(x, &bits, NULL);
}

static void choose(struct keeper *x)
{
    const struct promise *p = x->promise;
    for (uint32_t i = 0; i < p->rooms_n; i++)
        if (p->rooms[i].node == x->node)
            choose_whole(x, &p->rooms[i]);
    for (uint32_t i = 0; i < p->shares_n; i++)
        if (p->shares[i].node == x->node)
            choose_shares(x, &p->shares[i]);
}

static uint32_t most_kept(const struct keeper *x)
{
    uint32_t n = 2 * x->promise->rooms_n;
    for (uint32_t i = 0; i < x->promise->shares_n; i++)
        n += (uint32_t)x->promise->shares[i].n;
    return n;
}

/* ---- what of that is kept ---- */

static void note_taken(const struct device_table *t, struct takings *to)
{
    for (uint16_t i = 0; i < t->gpus_n; i++) {
        to->parts[i] = t->gpus[i].taken;
        to->mib[i] = t->gpus[i].taken_mib;
    }
}

static uint32_t bounded(int64_t n)
{
    return n < 0 ? 0 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Parts of each GPU beyond what is taken of it now; where its memory is not known that is counted in thousandths. */
static void keep_parts(struct device_table *t, const struct takings *then)
{
    const struct device_span *span = &t->spans[t->parts_at];
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n; i++) {
        uint16_t at = t->gpu_of[i];
        const struct gpu_ledger *g = &t->gpus[at];
        int64_t mib = then->mib[at] - g->taken_mib;
        struct gpu_share share = {.n = 1, .parts = bounded(then->parts[at] - g->taken)};
        struct device_bits one = {0};
        if (g->memory_mib)
            share.memory_mib = bounded(mib);
        else
            share.memory_milli = bounded(mib);
        if (!share.parts && mib <= 0)
            continue;
        device_bit_set(&one, i);
        device_take(t, &one, &share);
    }
}

/* Devices that nobody has now: whole ones, and those that come with shares, of which no more is kept here. */
static void keep_devices(struct device_table *t, const struct kept *one)
{
    static const struct gpu_share nothing = {.n = 1};
    struct device_bits bits = one->bits;
    bool any = false;
    for (uint32_t i = 0; i < t->n; i++) {
        bool is_whole = device_bit(&bits, i) && !t->all[i].parts, is_kept = is_whole && !device_bit(t->used, i);
        if (is_whole && !is_kept)
            bits.words[i / 64] &= ~((uint64_t)1 << (i % 64));
        any |= is_kept;
    }
    if (any)
        device_take(t, &bits, one->share ? &nothing : NULL);
}

void kept_gpus_put(struct state *s, const struct promise *p, uint32_t node, const struct gang *but)
{
    struct keeper x = {.s = s, .promise = p, .t = &s->nodes.nodes[node].devices, .node = node};
    struct takings then;
    if (s->nodes.nodes[node].has_devices_twice) /* somebody else may have what those who leave have */
        return;
    x.all = mem_alloc((most_kept(&x) + 1) * sizeof *x.all);
    promise_each_left(s, p, but, give, &x);
    choose(&x);
    note_taken(x.t, &then);
    for (uint32_t i = x.n; i-- > 0;)
        device_give(x.t, &x.all[i].bits, x.all[i].share);
    promise_each_left(s, p, but, take_back, &x);
    keep_parts(x.t, &then);
    for (uint32_t i = 0; i < x.n; i++)
        keep_devices(x.t, &x.all[i]);
    free(x.all);
    undo_devices(s, node);
}
