#include "core/time/profile.h"
#include <stdlib.h>
#include "base/memory.h"

void profile_init(struct profile *p)
{
    *p = (struct profile){0};
}

void profile_fini(struct profile *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        free(p->rows[i].holds);
    free(p->rows);
    profile_init(p);
}

uint32_t profile_add(struct profile *p, int64_t capacity, bool is_node)
{
    MEM_RESERVE(p->rows, p->cap, p->n + 1);
    p->rows[p->n] = (struct profile_row){.capacity = capacity, .is_node = is_node, .longest_ms = INT64_MAX};
    return p->n++;
}

void profile_hold(struct profile *p, uint32_t row, const struct hold *h)
{
    struct profile_row *r = &p->rows[row];
    MEM_RESERVE(r->holds, r->cap, r->n + 1);
    r->holds[r->n++] = *h;
}

void profile_drop(struct profile *p, uint32_t row, uint32_t owner)
{
    struct profile_row *r = &p->rows[row];
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->holds[i].owner != owner)
            continue;
        r->holds[i] = r->holds[--r->n];
        return;
    }
}

void profile_prolong(struct profile *p, int64_t now_ms)
{
    for (uint32_t k = 0; k < p->n; k++)
        for (uint32_t i = 0; i < p->rows[k].n; i++) {
            struct hold *h = &p->rows[k].holds[i];
            if (h->until_ms <= now_ms)
                h->until_ms = now_ms + (now_ms > h->from_ms ? now_ms - h->from_ms : 1);
        }
}

static bool covers(const struct hold *h, int64_t at_ms)
{
    return h->from_ms <= at_ms && (h->until_ms > at_ms || h->from_ms == at_ms);
}

static int64_t free_at(const struct profile_row *r, int64_t at_ms)
{
    int64_t left = r->capacity;
    for (uint32_t i = 0; i < r->n; i++)
        left -= covers(&r->holds[i], at_ms) ? r->holds[i].amount : 0;
    return left;
}

/* Less is free only where a hold begins. */
int64_t profile_least(const struct profile *p, uint32_t row, int64_t from_ms, int64_t until_ms)
{
    const struct profile_row *r = &p->rows[row];
    int64_t least = free_at(r, from_ms);
    for (uint32_t i = 0; i < r->n; i++) {
        int64_t begin_ms = r->holds[i].from_ms;
        if (begin_ms <= from_ms || begin_ms >= until_ms)
            continue;
        int64_t left = free_at(r, begin_ms);
        least = left < least ? left : least;
    }
    return least;
}
