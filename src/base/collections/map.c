/* map.c - see map.h
 *
 * SHAPE  entries: [struct entry, value] side by side, `stride` bytes each, in insertion order. A hole has key NULL.
 *        slots: power of two many, each {hash, index + 1}; linear probing; removal shifts followers back, so there are no
 *        tombstones.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/collections/map.h"
#include "base/memory.h"

struct entry {
    char *key;
    uint32_t key_n;
    uint32_t hash;
};

struct slot {
    uint32_t hash;
    uint32_t at; /* index + 1, 0 = free */
};

struct map {
    size_t value_size, stride;
    char *entries;
    size_t n, cap; /* n counts holes too */
    size_t first;  /* all before it are holes: who drops the oldest again and again does not walk over them */
    size_t live;
    struct slot *slots;
    size_t slots_n;
};

static uint64_t load64(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Of this process's tables; zero until somebody who talks to others sets it. */
static uint64_t table_key[2];

static inline uint64_t hash_with(const void *data, size_t n, uint64_t seed, uint64_t key)
{
    const uint64_t k0 = 0x9e3779b97f4a7c15u ^ key, k1 = 0xd6e8feb86659fd93u;
    const unsigned char *p = data;
    uint64_t h = fold(seed ^ k0, (uint64_t)n ^ k1), last = 0;
    size_t rest = n;
    for (; rest >= 16; rest -= 16, p += 16)
        h = fold(load64(p) ^ h, load64(p + 8) ^ k0) ^ (h >> 29);
    if (rest >= 8) {
        h = fold(load64(p) ^ h, k1) ^ (h >> 29);
        rest -= 8;
        p += 8;
    }
    if (rest && n >= 8)
        last = load64(p + rest - 8) >> (64 - 8 * rest); /* the same from the other side, at once */
    else
        for (size_t i = 0; i < rest; i++)
            last |= (uint64_t)p[i] << (8 * i);
    h = fold(last ^ h, k0 ^ ((uint64_t)rest + 1));
    return fold(h ^ k1, k0) ^ h;
}

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed)
{
    return hash_with(data, n, seed, 0);
}

uint32_t hash_for_table(struct bytes text)
{
    return (uint32_t)hash_with(text.data, text.n, table_key[0], table_key[1]);
}

void hash_key_set(uint64_t first, uint64_t second)
{
    table_key[0] = first;
    table_key[1] = second;
}

static struct entry *entry_at(const struct map *m, size_t i)
{
    return (struct entry *)(void *)(m->entries + i * m->stride);
}

static void *value_of(struct entry *e)
{
    return (char *)e + sizeof *e;
}

struct map *map_new(size_t value_size)
{
    struct map *m = mem_zero(1, sizeof *m);
    m->value_size = value_size;
    size_t align = value_size % 16 == 0 ? 16 : 8;
    m->stride = (sizeof(struct entry) + value_size + align - 1) & ~(align - 1);
    return m;
}

void map_clear(struct map *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(entry_at(m, i)->key);
    m->n = m->live = m->first = 0;
    if (m->slots)
        memset(m->slots, 0, m->slots_n * sizeof *m->slots);
}

void map_free(struct map *m)
{
    if (!m)
        return;
    map_clear(m);
    free(m->entries);
    free(m->slots);
    free(m);
}

size_t map_count(const struct map *m)
{
    return m->live;
}

/* The slot that holds key, or the free one where it belongs. */
static size_t slot_find(const struct map *m, struct bytes key, uint32_t hash)
{
    size_t mask = m->slots_n - 1, i = hash & mask;
    for (; m->slots[i].at; i = (i + 1) & mask) {
        if (m->slots[i].hash != hash)
            continue;
        const struct entry *e = entry_at(m, m->slots[i].at - 1);
        if (e->key_n == key.n && (key.n == 0 || memcmp(e->key, key.data, key.n) == 0))
            break;
    }
    return i;
}

static void slots_build(struct map *m, size_t slots_n)
{
    if (slots_n != m->slots_n) {
        free(m->slots);
        m->slots = mem_zero(slots_n, sizeof *m->slots);
        m->slots_n = slots_n;
    } else {
        memset(m->slots, 0, slots_n * sizeof *m->slots);
    }
    size_t mask = slots_n - 1;
    for (size_t at = 0; at < m->n; at++) {
        const struct entry *e = entry_at(m, at);
        if (!e->key)
            continue;
        size_t i = e->hash & mask;
        while (m->slots[i].at)
            i = (i + 1) & mask;
        m->slots[i] = (struct slot){e->hash, (uint32_t)at + 1};
    }
}

static void squeeze(struct map *m)
{
    size_t to = 0;
    for (size_t at = 0; at < m->n; at++) {
        if (!entry_at(m, at)->key)
            continue;
        if (to != at)
            memcpy(entry_at(m, to), entry_at(m, at), m->stride);
        to++;
    }
    m->n = to;
    m->first = 0;
    slots_build(m, m->slots_n);
}

static void make_room(struct map *m)
{
    if (m->n >= 16 && m->live <= m->n / 2)
        squeeze(m);
    if (m->n == m->cap) {
        m->cap = m->cap < 8 ? 8 : m->cap * 2;
        assert(m->cap < UINT32_MAX);
        m->entries = mem_grow(m->entries, m->cap, m->stride);
    }
    if ((m->live + 1) * 4 > m->slots_n * 3)
        slots_build(m, m->slots_n ? m->slots_n * 2 : 16);
}

void *map_find(const struct map *m, struct bytes key)
{
    if (m->live == 0)
        return NULL;
    size_t i = slot_find(m, key, hash_for_table(key));
    return m->slots[i].at ? value_of(entry_at(m, m->slots[i].at - 1)) : NULL;
}

void *map_put(struct map *m, struct bytes key, bool *ret_is_new)
{
    assert(key.n < UINT32_MAX);
    uint32_t hash = hash_for_table(key);
    if (m->live > 0) {
        size_t i = slot_find(m, key, hash);
        if (m->slots[i].at) {
            if (ret_is_new)
                *ret_is_new = false;
            return value_of(entry_at(m, m->slots[i].at - 1));
        }
    }
    make_room(m);
    size_t i = slot_find(m, key, hash);
    struct entry *e = entry_at(m, m->n++);
    *e = (struct entry){mem_text_n(key.data, key.n), (uint32_t)key.n, hash};
    memset(value_of(e), 0, m->stride - sizeof *e);
    m->slots[i] = (struct slot){hash, (uint32_t)m->n};
    m->live++;
    if (ret_is_new)
        *ret_is_new = true;
    return value_of(e);
}

struct bytes map_key(const void *value)
{
    const struct entry *e = (const struct entry *)value - 1;
    return (struct bytes){e->key, e->key_n};
}

bool map_remove(struct map *m, struct bytes key)
{
    if (m->live == 0)
        return false;
    size_t mask = m->slots_n - 1, hole = slot_find(m, key, hash_for_table(key));
    if (!m->slots[hole].at)
        return false;
    struct entry *e = entry_at(m, m->slots[hole].at - 1);
    free(e->key);
    e->key = NULL;
    m->live--;
    while (m->first < m->n && !entry_at(m, m->first)->key)
        m->first++;
    for (size_t i = (hole + 1) & mask; m->slots[i].at; i = (i + 1) & mask) {
        size_t home = m->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) { /* its way from home passes the hole */
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct slot){0, 0};
    return true;
}

void *map_next(const struct map *m, size_t *at, struct bytes *ret_key)
{
    if (*at < m->first)
        *at = m->first;
    while (*at < m->n) {
        struct entry *e = entry_at(m, (*at)++);
        if (!e->key)
            continue;
        if (ret_key)
            *ret_key = (struct bytes){e->key, e->key_n};
        return value_of(e);
    }
    return NULL;
}
