/* pace.c - see pace.h */
#include "sched/telling/pace.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"

enum { REMEMBERED_MAX = 4096 };

struct row {
    int64_t last_ms;
    uint32_t n;
    uint64_t figures;        /* that wait to be written, since when */
    int64_t figures_ms;
};

struct pace {
    struct map *rows;
};

struct pace *pace_new(void)
{
    struct pace *p = mem_zero(1, sizeof *p);
    p->rows = map_new(sizeof(struct row));
    return p;
}

void pace_free(struct pace *p)
{
    if (!p)
        return;
    map_free(p->rows);
    free(p);
}

int64_t pace_wait_ms(struct pace *p, const char *key, int64_t now_ms)
{
    const struct row *r = map_find_text(p->rows, key);
    int64_t due_ms = r ? r->last_ms + (r->n <= PACE_ROW ? PACE_MS : PACE_SLOW_MS) : 0;
    return due_ms > now_ms ? due_ms - now_ms : 0;
}

int64_t pace_rest_ms(struct pace *p, const char *key, uint64_t figures, int64_t now_ms)
{
    struct row *r = map_find_text(p->rows, key);
    int64_t wait_ms = pace_wait_ms(p, key, now_ms);
    if (!wait_ms || r->n <= PACE_ROW)
        return wait_ms;
    if (r->figures != figures || r->figures_ms < r->last_ms) {
        r->figures = figures;
        r->figures_ms = now_ms;
    }
    int64_t rested_ms = r->figures_ms + PACE_REST_MS, due_ms = r->last_ms + PACE_MS > rested_ms ? r->last_ms + PACE_MS : rested_ms;
    return due_ms <= now_ms ? 0 : due_ms - now_ms < wait_ms ? due_ms - now_ms : wait_ms;
}

void pace_written(struct pace *p, const char *key, int64_t now_ms)
{
    size_t at = 0;
    struct bytes oldest;
    if (map_count(p->rows) >= REMEMBERED_MAX && !map_find_text(p->rows, key) && map_next(p->rows, &at, &oldest))
        (void)map_remove(p->rows, oldest); /* it is there: we stand on it */
    struct row *r = map_put(p->rows, bytes_of(key), NULL);
    r->n = r->last_ms && now_ms - r->last_ms < PACE_QUIET_MS ? r->n + 1 : 1;
    r->last_ms = now_ms;
}
