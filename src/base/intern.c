/* intern.c - see intern.h */
#include <assert.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/memory.h"

struct name {
    const char *text;
    uint32_t n;
    uint32_t hash;
};

struct intern {
    struct arena *texts;
    struct name *names; /* [id - 1] */
    uint32_t n, cap;
    uint32_t *slots; /* id, 0 = free; power of two many, linear probing */
    uint32_t slots_n;
};

struct intern *intern_new(void)
{
    struct intern *in = mem_zero(1, sizeof *in);
    in->texts = arena_new();
    in->slots_n = 16;
    in->slots = mem_zero(in->slots_n, sizeof *in->slots);
    return in;
}

void intern_free(struct intern *in)
{
    if (!in)
        return;
    arena_free(in->texts);
    free(in->names);
    free(in->slots);
    free(in);
}

static uint32_t slot_find(const struct intern *in, struct bytes text, uint32_t hash)
{
    uint32_t mask = in->slots_n - 1, i = hash & mask;
    for (; in->slots[i]; i = (i + 1) & mask) {
        const struct name *name = &in->names[in->slots[i] - 1];
        if (name->hash == hash && name->n == text.n && memcmp(name->text, text.data, text.n) == 0)
            break;
    }
    return i;
}

static void slots_double(struct intern *in)
{
    free(in->slots);
    in->slots_n *= 2;
    in->slots = mem_zero(in->slots_n, sizeof *in->slots);
    uint32_t mask = in->slots_n - 1;
    for (uint32_t id = 1; id <= in->n; id++) {
        uint32_t i = in->names[id - 1].hash & mask;
        while (in->slots[i])
            i = (i + 1) & mask;
        in->slots[i] = id;
    }
}

uint32_t intern_find(const struct intern *in, struct bytes text)
{
    if (text.n == 0)
        return 0;
    return in->slots[slot_find(in, text, (uint32_t)hash_bytes(text.data, text.n, 0))];
}

uint32_t intern_id(struct intern *in, struct bytes text)
{
    if (text.n == 0)
        return 0;
    uint32_t hash = (uint32_t)hash_bytes(text.data, text.n, 0), i = slot_find(in, text, hash);
    if (in->slots[i])
        return in->slots[i];
    assert(in->n < UINT32_MAX / 4 && text.n < UINT32_MAX);
    if ((in->n + 1) * 2 > in->slots_n) {
        slots_double(in);
        i = slot_find(in, text, hash);
    }
    MEM_RESERVE(in->names, in->cap, in->n + 1);
    in->names[in->n] = (struct name){arena_text_n(in->texts, text.data, text.n), (uint32_t)text.n, hash};
    return in->slots[i] = ++in->n;
}

uint32_t intern_text_id(struct intern *in, const char *text)
{
    return intern_id(in, bytes_of(text));
}

const char *intern_name(const struct intern *in, uint32_t id)
{
    if (id == 0)
        return "";
    assert(id <= in->n);
    return in->names[id - 1].text;
}

uint32_t intern_count(const struct intern *in)
{
    return in->n;
}
