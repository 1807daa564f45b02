/* run_times.c - see run_times.h */
#include "sched/forecast/run_times.h"
#include <stdlib.h>
#include <string.h>
#include "base/collections/map.h"

struct runs {
    int64_t ms[RUN_TIMES_EACH]; /* a ring */
    uint32_t n, at;
    uint64_t used; /* when last, in calls */
};
struct run_times {
    struct map *runs; /* name -> struct runs */
    uint64_t calls_n;
};

struct run_times *run_times_new(void)
{
    struct run_times *t = mem_zero(1, sizeof *t);
    t->runs = map_new(sizeof(struct runs));
    return t;
}

void run_times_free(struct run_times *t)
{
    if (t)
        map_free(t->runs);
    free(t);
}

static void drop_oldest(struct run_times *t)
{
    struct bytes key, oldest = {0};
    uint64_t used = UINT64_MAX;
    const struct runs *r;
    for (size_t at = 0; (r = map_next(t->runs, &at, &key));)
        if (r->used < used) {
            used = r->used;
            oldest = key;
        }
    map_remove(t->runs, oldest);
}

void run_times_add(struct run_times *t, const char *name, int64_t run_ms)
{
    if (run_ms <= 0)
        return;
    if (!map_find_text(t->runs, name) && map_count(t->runs) >= RUN_TIMES_NAMES)
        drop_oldest(t);
    struct runs *r = map_put(t->runs, bytes_of(name), NULL);
    r->ms[r->at] = run_ms;
    r->at = (r->at + 1) % RUN_TIMES_EACH;
    r->n += r->n < RUN_TIMES_EACH;
    r->used = ++t->calls_n;
}

static int compare_ms(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

int64_t run_times_left_ms(struct run_times *t, const char *name, int64_t elapsed_ms)
{
    struct runs *r = map_find_text(t->runs, name);
    int64_t longer[RUN_TIMES_EACH];
    uint32_t n = 0;
    if (!r)
        return 0;
    r->used = ++t->calls_n;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->ms[i] > elapsed_ms)
            longer[n++] = r->ms[i];
    qsort(longer, n, sizeof *longer, compare_ms);
    return n ? longer[n / 2] - elapsed_ms : elapsed_ms;
}

int64_t run_times_longest_ms(const struct run_times *t, const char *name)
{
    const struct runs *r = map_find_text(t->runs, name);
    int64_t most_ms = 0;
    for (uint32_t i = 0; r && i < r->n; i++)
        most_ms = r->ms[i] > most_ms ? r->ms[i] : most_ms;
    return most_ms;
}

/* ---- names ---- */

/* SOURCE Kubernetes: generateName appends five of these. */
static bool is_made_up(const char *text, size_t n)
{
    return n == 5 && strspn(text, "bcdfghjklmnpqrstvwxz2456789") >= n;
}

static size_t digits_at_end(const char *text, size_t n)
{
    size_t digits = 0;
    while (digits < n && text[n - 1 - digits] >= '0' && text[n - 1 - digits] <= '9')
        digits++;
    return digits;
}

/* Length without one more part at its end that says which run it is; the same: there is none. */
static size_t shortened(const char *name, size_t n, bool *may_be_made_up)
{
    size_t from = n, digits = digits_at_end(name, n);
    while (from && !strchr("-._", name[from - 1]))
        from--;
    if (from > 1 && *may_be_made_up && is_made_up(name + from, n - from)) {
        *may_be_made_up = false;
        return from - 1;
    }
    if (!digits || digits == n)
        return n;
    n -= digits;
    return n > 1 && strchr("-._", name[n - 1]) ? n - 1 : n;
}

char *run_times_name(struct arena *a, const char *key)
{
    const char *slash = strchr(key, '/'), *name = slash ? slash + 1 : key;
    size_t n = strlen(name);
    bool may_be_made_up = true;
    for (size_t shorter; (shorter = shortened(name, n, &may_be_made_up)) != n;)
        n = shorter;
    return arena_text_n(a, key, (size_t)(name - key) + n);
}
