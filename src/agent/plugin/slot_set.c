#include "agent/plugin/slot_set.h"
#include <stdlib.h>
#include "base/bytes.h"
#include "base/memory.h"

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void slot_set_free(struct slot_set *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        free(s->ids[i]);
    free(s->ids);
    *s = (struct slot_set){NULL, 0};
}

struct slot_set slot_set_make(const char *const *ids, uint32_t n)
{
    struct slot_set s = {NULL, 0};
    if (!ids || !n)
        return s;
    s.ids = mem_zero(n, sizeof *s.ids);
    for (uint32_t i = 0; i < n; i++)
        s.ids[s.n++] = mem_text(ids[i]);
    qsort(s.ids, s.n, sizeof *s.ids, by_text);
    return s;
}

struct slot_set slot_set_copy(const struct slot_set *s)
{
    return slot_set_make((const char *const *)s->ids, s->n);
}

void slot_set_swap(struct slot_set *a, struct slot_set *b)
{
    struct slot_set was = *a;
    *a = *b;
    *b = was;
}

bool slot_set_equal(const struct slot_set *a, const struct slot_set *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = text_equal(a->ids[i], b->ids[i]);
    return same;
}

bool slot_set_has(const struct slot_set *s, const char *id)
{
    return s->n && bsearch(&id, s->ids, s->n, sizeof *s->ids, by_text);
}

bool slot_sets_meet(const struct slot_set *a, const struct slot_set *b)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (slot_set_has(b, a->ids[i]))
            return true;
    return false;
}
