#include "core/state/id_map.h"
#include "base/memory.h"
#include <assert.h>

static uint32_t spread_bits(uint32_t key)
{
    key *= 0x9E3779B1u;
    return key ^ (key >> 15);
}

void id_map_fini(struct id_map *m)
{
    free(m->slots);
    *m = (struct id_map){0};
}

/* Where the key is, or the free slot where it belongs. */
static uint32_t slot_of(const struct id_map *m, uint32_t key)
{
    uint32_t at = spread_bits(key) & (m->cap - 1);
    while (m->slots[2 * at] && m->slots[2 * at] != key)
        at = (at + 1) & (m->cap - 1);
    return at;
}

uint32_t id_map_get(const struct id_map *m, uint32_t key)
{
    if (!m->cap || !key)
        return 0;
    return m->slots[2 * slot_of(m, key) + 1];
}

static void grow(struct id_map *m)
{
    struct id_map old = *m;
    m->cap = old.cap ? old.cap * 2 : 64;
    m->slots = mem_zero((size_t)m->cap * 2, sizeof *m->slots);
    for (uint32_t i = 0; i < old.cap; i++) {
        if (!old.slots[2 * i])
            continue;
        uint32_t at = slot_of(m, old.slots[2 * i]);
        m->slots[2 * at] = old.slots[2 * i];
        m->slots[2 * at + 1] = old.slots[2 * i + 1];
    }
    free(old.slots);
}

void id_map_put(struct id_map *m, uint32_t key, uint32_t value)
{
    assert(key);
    if ((m->n + 1) * 4 > m->cap * 3)
        grow(m);
    uint32_t at = slot_of(m, key);
    if (!m->slots[2 * at])
        m->n++;
    m->slots[2 * at] = key;
    m->slots[2 * at + 1] = value;
}

void id_map_remove(struct id_map *m, uint32_t key)
{
    if (!m->cap || !key)
        return;
    uint32_t hole = slot_of(m, key);
    if (!m->slots[2 * hole])
        return;
    m->n--;
    /* WHY  entries behind the hole move up if their home is not between hole and them, so no tombstones are needed */
    for (uint32_t at = (hole + 1) & (m->cap - 1); m->slots[2 * at]; at = (at + 1) & (m->cap - 1)) {
        uint32_t home = spread_bits(m->slots[2 * at]) & (m->cap - 1);
        if (((at - home) & (m->cap - 1)) < ((at - hole) & (m->cap - 1)))
            continue;
        m->slots[2 * hole] = m->slots[2 * at];
        m->slots[2 * hole + 1] = m->slots[2 * at + 1];
        hole = at;
    }
    m->slots[2 * hole] = m->slots[2 * hole + 1] = 0;
}
