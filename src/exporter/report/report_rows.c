/* report_rows.c - rows put in order, cut, and compared with those of another span */
#include <stdlib.h>
#include "base/collections/map.h"
#include "exporter/report/report.h"

/* ---- order ---- */

static double value_of(const struct report_row *row, enum report_sort sort)
{
    switch (sort) {
    case REPORT_SORT_USED:
        return row->active_h;
    case REPORT_SORT_WASTED:
        return row->wasted_h;
    case REPORT_SORT_COST:
        return row->cost;
    case REPORT_SORT_WAIT:
        return row->queue_wait_s;
    case REPORT_SORT_GIVEN:
        return row->allocated_h;
    case REPORT_SORT_NAME:
        break;
    }
    return 0;
}

static int order(const struct report_row *x, const struct report_row *y, enum report_sort sort)
{
    double a = value_of(x, sort), b = value_of(y, sort);
    return a != b ? (a > b ? -1 : 1) : strcmp(x->key, y->key);
}

#define X(name, text)                                                                                                  \
    static int compare_##name(const void *a, const void *b)                                                            \
    {                                                                                                                  \
        return order(a, b, REPORT_SORT_##name);                                                                        \
    }
REPORT_SORTS(X)
#undef X

void report_sort(struct report_row *rows, uint32_t n, enum report_sort sort)
{
    static int (*const compares[])(const void *a, const void *b) = {
#define X(name, text) compare_##name,
        REPORT_SORTS(X)
#undef X
    };
    qsort(rows, n, sizeof *rows, compares[sort]);
}

/* ---- cut ---- */

static void mean(double *into, double weight, double more, double more_weight)
{
    if (more < 0 || more_weight <= 0)
        return;
    *into = *into < 0 ? more : (*into * weight + more * more_weight) / (weight + more_weight);
}

static void sum(double *into, double more)
{
    if (more >= 0)
        *into = *into < 0 ? more : *into + more;
}

static void merge(struct report_row *row, const struct report_row *more)
{
    mean(&row->memory_high, row->allocated_h, more->memory_high, more->allocated_h);
    mean(&row->queue_wait_s, row->pods_n, more->queue_wait_s, more->pods_n);
    row->pods_n += more->pods_n;
    row->unpriced_h += more->unpriced_h;
    double *const sums[] = {&row->allocated_h, &row->active_h,   &row->energy_kwh, &row->no_process_h, &row->idle_h,      &row->low_h,
                            &row->throttled_h, &row->wasted_h,   &row->capacity_h, &row->free_h,       &row->cost,        &row->wasted_cost,
                            &row->free_cost};
    const double mores[] = {more->allocated_h, more->active_h, more->energy_kwh, more->no_process_h, more->idle_h, more->low_h,
                            more->throttled_h, more->wasted_h, more->capacity_h, more->free_h,       more->cost,   more->wasted_cost,
                            more->free_cost};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        sum(sums[i], mores[i]);
    row->efficiency = row->allocated_h > 0 ? row->active_h / row->allocated_h : -1;
}

static const struct report_row nothing = {.efficiency = -1,
                                          .memory_high = -1,
                                          .queue_wait_s = -1,
                                          .throttled_h = -1,
                                          .capacity_h = -1,
                                          .free_h = -1,
                                          .cost = -1,
                                          .wasted_cost = -1,
                                          .free_cost = -1};

uint32_t report_cut(struct arena *a, struct report_row *rows, uint32_t n, uint32_t most)
{
    if (n <= most + 1) /* one other is no shorter than itself */
        return n;
    struct report_row others = nothing, before = nothing;
    bool is_compared = false;
    for (uint32_t i = most; i < n; i++) {
        merge(&others, &rows[i]);
        is_compared |= rows[i].before != NULL;
        if (rows[i].before)
            merge(&before, rows[i].before);
    }
    others.key = before.key = arena_printf(a, "%u others", n - most);
    if (is_compared) {
        struct report_row *kept = arena_alloc(a, sizeof *kept);
        *kept = before;
        others.before = kept;
    }
    rows[most] = others;
    return most + 1;
}

/* ---- comparing ---- */

uint32_t report_compare(struct arena *a, struct report_row **rows, uint32_t n, const struct report_row *before, uint32_t before_n)
{
    struct map *at = map_new(sizeof(uint32_t));
    struct report_row *all = arena_alloc(a, (n + before_n + 1) * sizeof *all), *none = arena_alloc(a, sizeof *none);
    *none = nothing;
    none->key = "";
    for (uint32_t i = 0; i < n; i++) {
        all[i] = (*rows)[i];
        all[i].before = none;
        *(uint32_t *)map_put(at, bytes_of(all[i].key), NULL) = i;
    }
    for (uint32_t i = 0; i < before_n; i++) {
        const uint32_t *found = map_find_text(at, before[i].key);
        if (!found) {
            all[n] = nothing;
            all[n].key = before[i].key;
            all[n].cost = all[n].wasted_cost = before[i].cost < 0 ? -1 : 0;
        }
        all[found ? *found : n++].before = &before[i];
    }
    map_free(at);
    *rows = all;
    return n;
}

bool report_change(double now_h, double now_span_s, double before_h, double before_span_s, double *ret_change)
{
    if (now_h < 0 || !(before_h > 0) || !(now_span_s > 0) || !(before_span_s > 0))
        return false;
    *ret_change = now_h / now_span_s / (before_h / before_span_s) - 1;
    return true;
}
