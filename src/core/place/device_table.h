/* device_table.h - the single devices of one node: which are free, which to choose
 *
 * SHAPE  `all` ordered by (resource, gpu, id); one span per resource; one bit per device in `used`. A node without named devices has
 *        none of this: its devices are anonymous and only counted (node_table).
 *        Where devices are given in parts there is a ledger of GPUs beside them: a GPU is given in parts or as devices, never both.
 * LIMIT  LIMIT_DEVICES_PER_NODE devices; further ones are not taken in.
 * ORDER  choice: fewest link groups, then the tightest group, then GPUs already broken into, then lowest position. Shares of units: units
 *        of which the pod has none yet, then those already broken into, then lowest position. Parts: the device with the fewest left that
 *        are enough, then lowest position.
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
};
struct gpu_ledger {
    uint16_t gpu;
    uint16_t parts;   /* of it; 0: it is given as devices only, or ill */
    uint16_t whole_n; /* devices of it that pods have, a device of two pods twice */
    uint32_t taken;   /* parts that pods have: more than there are, where the API has said so */
};
struct device_table {
    struct device *all;
    struct device_span *spans;
    uint16_t n, spans_n;
    struct device_bits *used; /* those that are given whole; NULL: there are no devices */
    struct gpu_ledger *gpus;  /* NULL: none is given in parts */
    uint16_t *gpu_of;         /* by device: its place in gpus */
    uint16_t *left;           /* by place in gpus: parts that a pod can be given of it */
    uint32_t left_all;        /* of all */
    uint16_t gpus_n;
};
void device_table_fini(struct device_table *t);
/* Returns true when the list differs from what was there; then bits of seats must be translated with device_table_find. */
bool device_table_differs(const struct device_table *t, const struct device *all, uint32_t n, const struct intern *names);
void device_table_set(struct device_table *t, const struct device *all, uint32_t n, const struct intern *names);
const struct device_span *device_table_span(const struct device_table *t, name_id resource); /* NULL: anonymous */
int32_t device_table_find(const struct device_table *t, name_id resource, name_id id);       /* -1: none */

/* Set in `ret_bits` the `wanted` best free devices of the span, or the best one that has as many parts left; false when there are none. */
bool device_choose(const struct device_table *t, const struct device_span *span, int64_t wanted, struct device_bits *ret_bits);
/* `parts`: how many of each of those that are given in parts. */
void device_take(struct device_table *t, const struct device_bits *bits, int64_t parts);
void device_give(struct device_table *t, const struct device_bits *bits, int64_t parts);
void device_table_clear(struct device_table *t); /* nobody has any */
bool device_parts_fit(const struct device_table *t, uint32_t device, int64_t parts); /* are so many of it left? */
/* How many pods find so many parts each. */
uint64_t device_parts_room(const struct device_table *t, const struct device_span *span, int64_t parts);

/* "nvidia.com/gpu=0,3;..." in table order; adds nothing when no bit is set. */
void device_text(struct buf *out, const struct device_table *t, const struct device_bits *bits, const struct intern *names);
/* The bits that such a text names on this node; unknown parts are ignored (the device may be gone),
 * and what comes after 2 * LIMIT_DEVICES_PER_NODE names. */
void device_parse(const struct device_table *t, struct bytes text, const struct intern *names, struct device_bits *ret_bits);

/* How many devices a demand of so much takes. */
static inline int64_t device_span_takes(const struct device_span *span, int64_t value)
{
    return span->in_parts ? 1 : value;
}
static inline bool device_bit(const struct device_bits *b, uint32_t at)
{
    return b->words[at / 64] >> (at % 64) & 1;
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
