/* entry_table.c - see entry_table.h */
#include "apiserver/store/entry_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/store/store_parts.h"
#include "base/memory.h"

static uint32_t key_hash(const char *ns, const char *name)
{
    return hash_for_table(bytes_of(name)) * 31 + hash_for_table(bytes_of(ns));
}

static size_t next_slot(const struct entry_table *t, size_t i)
{
    return (i + 1) & (t->slots_n - 1);
}

struct entry *entry_table_find(const struct entry_table *t, const char *ns, const char *name)
{
    if (!t->n)
        return NULL;
    uint32_t hash = key_hash(ns, name);
    struct entry *x;
    for (size_t i = hash & (t->slots_n - 1); (x = t->slots[i].entry); i = next_slot(t, i))
        if (t->slots[i].hash == hash && strcmp(x->o.name, name) == 0 && strcmp(x->o.ns, ns) == 0)
            return x;
    return NULL;
}

static void put(struct entry_table *t, struct entry *x)
{
    size_t i = x->hash & (t->slots_n - 1);
    while (t->slots[i].entry)
        i = next_slot(t, i);
    t->slots[i] = (struct entry_slot){x, x->hash};
}

void entry_table_add(struct entry_table *t, struct entry *x)
{
    if ((t->n + 1) * 4 > t->slots_n * 3) {
        struct entry_table larger = {.slots_n = t->slots_n ? t->slots_n * 2 : 16, .n = t->n};
        larger.slots = mem_zero(larger.slots_n, sizeof *larger.slots);
        for (size_t i = 0; i < t->slots_n; i++)
            if (t->slots[i].entry)
                put(&larger, t->slots[i].entry);
        free(t->slots);
        *t = larger;
    }
    x->hash = key_hash(x->o.ns, x->o.name);
    put(t, x);
    t->n++;
}

void entry_table_remove(struct entry_table *t, const struct entry *x)
{
    size_t mask = t->slots_n - 1, hole = x->hash & mask;
    while (t->slots[hole].entry != x) {
        assert(t->slots[hole].entry);
        hole = next_slot(t, hole);
    }
    for (size_t i = next_slot(t, hole); t->slots[i].entry; i = next_slot(t, i)) {
        size_t home = t->slots[i].hash & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* its home lies behind the hole */
        t->slots[hole] = t->slots[i];
        hole = i;
    }
    t->slots[hole] = (struct entry_slot){0};
    t->n--;
}

void entry_table_fini(struct entry_table *t)
{
    free(t->slots);
}
