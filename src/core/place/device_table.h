/* device_table.h - the single devices of one node: which are free, which to choose
 *
 * SHAPE  `all` ordered by (resource, gpu, id); one span per resource; one bit per device in `used`. A node without named devices has
 *        none of this: its devices are anonymous and only counted (node_table).
 *        Where devices are given in parts there is a ledger of GPUs beside them: a GPU is given in parts or as devices, never both.
 * LIMIT  LIMIT_DEVICES_PER_NODE devices; further ones are not taken in.
 * ORDER  choice: fewest link groups, then the tightest group, then GPUs already broken into, then lowest position. Shares of units: units
 *        of which the pod has none yet, then those already broken into, then lowest position. Parts: the device with the fewest left that
 *        are enough, then the least memory, then lowest position; of several GPUs those of which most such shares are left.
 * SOURCE docs/design/0020-shares.md
 */
#ifndef CORE_DEVICE_TABLE_H
#define CORE_DEVICE_TABLE_H
#include "base/bytes.h"
#include "base/collections/intern.h"
#include "base/limits.h"
#include "core/flow.h"

#define DEVICE_WORDS (LIMIT_DEVICES_PER_NODE / 64)
struct device_bits {
    uint64_t words[DEVICE_WORDS];
};
struct device_span {
    name_id resource;
    uint16_t first, n;
    uint16_t free_n; /* healthy and unused */
    bool has_units; /* some of them are shares of units */
    bool in_parts;  /* a demand is for parts of one of them; free_n: those with any left */
    bool alike;     /* each is of a GPU of its own, all are of one link group, and none is a share of a unit */
};
/* What a pod asks of each of `n` GPUs; n = 0: it asks for no shares. */
struct gpu_share {
    uint16_t n;
    uint32_t parts;
    uint32_t memory_mib;
    uint32_t memory_milli; /* thousandths of its memory, beside memory_mib */
};
#define SHARE_MOST 1000000 /* thousandths: more are as good as so many, no GPU has them */
struct gpu_ledger {
    uint16_t gpu;
    uint16_t parts;      /* of it; 0: it is given as devices only, or ill */
    uint16_t whole_n;    /* devices of it that pods have without a share of it, a device of two pods twice */
    uint16_t shares_n;   /* shares of it that pods have */
    uint16_t room;       /* thousandths that a share of both its parts and its memory would find */
    uint32_t memory_mib; /* 0 unknown: shares of it in MiB fit nowhere */
    int64_t taken;       /* parts that pods have: more than there are, where the API has said so */
    int64_t taken_mib;   /* as taken; of unknown memory its thousandths */
};
/* What taken_mib is of. */
static inline int64_t gpu_memory(const struct gpu_ledger *g)
{
    return g->memory_mib ? g->memory_mib : 1000;
}
struct device_table {
    struct device_span *spans;
    struct gpu_ledger *gpus;  /* NULL: none is given in parts */
    uint16_t *left;           /* by place in gpus: parts that a pod can be given of it */
    uint32_t left_all;        /* of all */
    uint16_t left_most;       /* of one */
    uint16_t n, spans_n, gpus_n;
    uint16_t parts_at;        /* with a ledger: the span of those that are given in parts ... */
    name_id parts_of;         /* ... their resource; 0: there is no ledger */
    bool parts_alone;         /* no two of them are of one GPU: `left` says all */
    int32_t taken_n;          /* devices that were taken, and not given back: 0 where nobody has any */
    uint32_t room_all;        /* of all */
    struct device *all;
    struct device_bits *used; /* those that are given whole; NULL: there are no devices */
    uint16_t *gpu_of;         /* by device: its place in gpus */
};
void device_table_fini(struct device_table *t);
/* Returns true when the list differs from what was there; then bits of seats must be translated with device_table_find. */
bool device_table_differs(const struct device_table *t, const struct device *all, uint32_t n, const struct intern *names);
void device_table_set(struct device_table *t, const struct device *all, uint32_t n, const struct intern *names);
const struct device_span *device_table_span(const struct device_table *t, name_id resource); /* NULL: anonymous */
int32_t device_table_find(const struct device_table *t, name_id resource, name_id id);       /* -1: none */

/* Set in `ret_bits` the `wanted` best free devices of the span, which are given whole; false when there are too few. */
bool device_choose(const struct device_table *t, const struct device_span *span, int64_t wanted, struct device_bits *ret_bits);
/* `share`: of each GPU of which the bits name the device that is given in parts; the other devices of that GPU go with the share. */
void device_take(struct device_table *t, const struct device_bits *bits, const struct gpu_share *share);
void device_give(struct device_table *t, const struct device_bits *bits, const struct gpu_share *share);
void device_table_clear(struct device_table *t); /* nobody has any */

/* device_share.c: shares of a table with a ledger. `slots`: with each share come so many free devices of that span and of that GPU, which
 * are what a device plugin hands out; NULL: none. */
struct share_slots {
    const struct device_span *span;
    uint32_t n;
};
bool device_share_fits(const struct device_table *t, uint32_t device, const struct gpu_share *share, const struct share_slots *slots);
/* How many pods find such shares. */
uint64_t device_share_room(const struct device_table *t, const struct gpu_share *share, const struct share_slots *slots);
/* `device`: the one to take the share of; -1: the best, or the n best. */
bool device_choose_share(const struct device_table *t, const struct gpu_share *share, const struct share_slots *slots, int32_t device,
                         struct device_bits *ret_bits);
int64_t device_share_mib(const struct gpu_ledger *g, const struct gpu_share *share); /* what it takes of the GPU's memory, as taken_mib */
/* Has the GPU of the bits' device in parts `at`? Devices of it go with a share then. */
bool device_bits_share(const struct device_table *t, const struct device_bits *bits, uint16_t at);

/* "nvidia.com/gpu=0,3;..." in table order; adds nothing when no bit is set. */
void device_text(struct buf *out, const struct device_table *t, const struct device_bits *bits, const struct intern *names);
/* The bits that such a text names on this node; unknown parts are ignored (the device may be gone),
 * and what comes after 2 * LIMIT_DEVICES_PER_NODE names. */
void device_parse(const struct device_table *t, struct bytes text, const struct intern *names, struct device_bits *ret_bits);

static inline bool device_bit(const struct device_bits *b, uint32_t at)
{
    return b->words[at / 64] >> (at % 64) & 1;
}
/* Of one in parts: any are left. */
static inline bool device_is_free(const struct device_table *t, uint32_t at)
{
    if (!t->all[at].healthy)
        return false;
    if (t->all[at].parts)
        return t->left[t->gpu_of[at]] != 0;
    return !device_bit(t->used, at) && !(t->gpus && t->gpus[t->gpu_of[at]].shares_n);
}
static inline void device_bit_set(struct device_bits *b, uint32_t at)
{
    b->words[at / 64] |= (uint64_t)1 << (at % 64);
}
static inline bool device_bits_any(const struct device_bits *b)
{
    uint64_t any = 0;
    for (int i = 0; i < DEVICE_WORDS; i++)
        any |= b->words[i];
    return any != 0;
}

#endif
