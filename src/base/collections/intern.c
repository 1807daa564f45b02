/* intern.c - see intern.h
 *
 * WHY  each text is an allocation of its own: it goes alone, and who still uses it is caught by the address sanitizer.
 */
#include <assert.h>
#include <stdlib.h>
#include "base/collections/intern.h"
#include "base/collections/map.h"
#include "base/memory.h"

#define SLOTS_MIN 16u

struct name {
    char *text; /* NULL: the id is free */
    uint32_t n;
    uint32_t hash; /* of a free id: the next free one */
};

enum { STATE_FREE, STATE_USED, STATE_MARKED };

struct intern {
    struct name *names; /* [id - 1] */
    unsigned char *states; /* [id - 1]; WHY apart: marking goes through all that is known, and sees only these */
    uint32_t n, cap, states_cap; /* n: the highest id */
    uint32_t live_n, left_n; /* in use; in use after the last sweep */
    uint32_t hole;      /* the first free id, 0 = none */
    uint32_t *slots; /* id, 0 = free; power of two many, linear probing */
    uint32_t slots_n;
};

struct intern *intern_new(void)
{
    struct intern *in = mem_zero(1, sizeof *in);
    in->slots_n = SLOTS_MIN;
    in->slots = mem_zero(in->slots_n, sizeof *in->slots);
    return in;
}

void intern_free(struct intern *in)
{
    if (!in)
        return;
    for (uint32_t id = 1; id <= in->n; id++)
        free(in->names[id - 1].text);
    free(in->names);
    free(in->states);
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

static void slots_build(struct intern *in, uint32_t slots_n)
{
    free(in->slots);
    in->slots_n = slots_n;
    in->slots = mem_zero(in->slots_n, sizeof *in->slots);
    uint32_t mask = in->slots_n - 1;
    for (uint32_t id = 1; id <= in->n; id++) {
        if (!in->names[id - 1].text)
            continue;
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
    return in->slots[slot_find(in, text, hash_for_table(text))];
}

uint32_t intern_id(struct intern *in, struct bytes text)
{
    if (text.n == 0)
        return 0;
    uint32_t hash = hash_for_table(text), i = slot_find(in, text, hash);
    if (in->slots[i])
        return in->slots[i];
    assert(in->n < UINT32_MAX / 4 && text.n < INT32_MAX);
    if ((in->live_n + 1) * 2 > in->slots_n) {
        slots_build(in, in->slots_n * 2);
        i = slot_find(in, text, hash);
    }
    uint32_t id = in->hole;
    if (id) {
        in->hole = in->names[id - 1].hash;
    } else {
        MEM_RESERVE(in->names, in->cap, in->n + 1);
        MEM_RESERVE(in->states, in->states_cap, in->n + 1);
        id = ++in->n;
    }
    in->names[id - 1] = (struct name){.text = mem_text_n(text.data, text.n), .n = (uint32_t)text.n, .hash = hash};
    in->states[id - 1] = STATE_USED;
    in->live_n++;
    return in->slots[i] = id;
}

uint32_t intern_text_id(struct intern *in, const char *text)
{
    return intern_id(in, bytes_of(text));
}

static const struct name *name_of(const struct intern *in, uint32_t id)
{
    assert(id <= in->n && in->names[id - 1].text);
    return &in->names[id - 1];
}

const char *intern_name(const struct intern *in, uint32_t id)
{
    return id ? name_of(in, id)->text : "";
}

uint32_t intern_hash(const struct intern *in, uint32_t id)
{
    return id ? name_of(in, id)->hash : 0;
}

uint32_t intern_count(const struct intern *in)
{
    return in->n;
}

/* ---- sweeping ---- */

void intern_mark(struct intern *in, uint32_t id)
{
    if (!id)
        return;
    assert(id <= in->n && in->states[id - 1] != STATE_FREE);
    in->states[id - 1] = STATE_MARKED;
}

/* Marks are taken off. Returns how many names went. */
static uint32_t drop_unmarked(struct intern *in)
{
    uint32_t gone_n = 0;
    for (uint32_t i = 0; i < in->n; i++) {
        if (in->states[i] == STATE_USED) {
            free(in->names[i].text);
            in->names[i] = (struct name){0};
            in->states[i] = STATE_FREE;
            gone_n++;
        } else if (in->states[i] == STATE_MARKED) {
            in->states[i] = STATE_USED;
        }
    }
    in->live_n -= gone_n;
    while (in->n && !in->names[in->n - 1].text)
        in->n--;
    return gone_n;
}

void intern_sweep(struct intern *in)
{
    uint32_t gone_n = drop_unmarked(in);
    in->left_n = in->live_n;
    if (!gone_n) /* all is as it was */
        return;
    in->hole = 0;
    for (uint32_t id = in->n; id > 0; id--) /* so that low ids are given first, and the array can become short again */
        if (!in->names[id - 1].text) {
            in->names[id - 1].hash = in->hole;
            in->hole = id;
        }
    if (in->n && in->n < in->cap / 4) {
        in->cap = in->states_cap = in->n * 2;
        in->names = mem_grow(in->names, in->cap, sizeof *in->names);
        in->states = mem_grow(in->states, in->states_cap, sizeof *in->states);
    }
    uint32_t slots_n = SLOTS_MIN;
    while (slots_n < in->live_n * 3)
        slots_n *= 2;
    slots_build(in, slots_n);
}

bool intern_sweep_due(const struct intern *in, uint32_t least)
{
    return in->live_n >= least && in->live_n / 2 >= in->left_n;
}
