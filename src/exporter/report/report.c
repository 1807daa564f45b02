/* report.c - one pass over the records, rows found by key */
#include "exporter/report/report.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"

#define HOUR_S 3600.0
#define JOULES_PER_KWH 3.6e6

static const char *const by_names[] = {
#define X(name, text) text,
    REPORT_BYS(X)
#undef X
};

bool report_by_parse(const char *text, enum report_by *ret_by)
{
    for (size_t i = 0; i < sizeof by_names / sizeof *by_names; i++)
        if (text_equal(text, by_names[i])) {
            *ret_by = (enum report_by)i;
            return true;
        }
    return false;
}

const char *report_by_name(enum report_by by)
{
    return by_names[by];
}

static const char *key_of(struct arena *a, const struct usage_record *r, enum report_by by)
{
    const char *key = "";
    switch (by) {
    case REPORT_BY_NAMESPACE:
        key = r->ns;
        break;
    case REPORT_BY_QUEUE:
        key = r->queue;
        break;
    case REPORT_BY_USER:
        key = r->user;
        break;
    case REPORT_BY_JOB:
        key = *r->job ? arena_printf(a, "%s/%s", r->ns, r->job) : "";
        break;
    case REPORT_BY_POD:
        key = arena_printf(a, "%s/%s", r->ns, r->pod);
        break;
    case REPORT_BY_NODE:
        key = r->node;
        break;
    }
    return *key ? key : "-";
}

/* While summing: memory_high holds the weighted sum, weight_h its weight; queue_wait_s and throttled_h the sums of the pods of which they
 * are known. */
struct summing {
    struct report_row row;
    double weight_h;
    uint32_t waits_n, throttled_n;
};

static void add(struct summing *s, const struct usage_record *r)
{
    struct report_row *row = &s->row;
    double hours = r->allocated_s / HOUR_S;
    row->pods_n++;
    row->allocated_h += hours;
    row->active_h += r->active_s / HOUR_S;
    row->energy_kwh += r->energy_j / JOULES_PER_KWH;
    row->no_process_h += r->no_process_s / HOUR_S;
    row->idle_h += r->idle_s / HOUR_S;
    row->low_h += r->low_s / HOUR_S;
    if (r->memory_granted_bytes > 0) {
        row->memory_high += r->memory_high_bytes / r->memory_granted_bytes * hours;
        s->weight_h += hours;
    }
    if (r->queue_wait_s >= 0) {
        row->queue_wait_s += r->queue_wait_s;
        s->waits_n++;
    }
    if (r->throttled_s >= 0) {
        row->throttled_h += r->throttled_s / HOUR_S;
        s->throttled_n++;
    }
}

static void finish(struct summing *s)
{
    struct report_row *row = &s->row;
    row->efficiency = row->allocated_h > 0 ? row->active_h / row->allocated_h : -1;
    row->memory_high = s->weight_h > 0 ? row->memory_high / s->weight_h : -1;
    row->queue_wait_s = s->waits_n ? row->queue_wait_s / s->waits_n : -1;
    row->throttled_h = s->throttled_n ? row->throttled_h : -1;
}

static int largest_first(const void *a, const void *b)
{
    const struct report_row *x = a, *y = b;
    if (x->allocated_h != y->allocated_h)
        return x->allocated_h > y->allocated_h ? -1 : 1;
    return strcmp(x->key, y->key);
}

uint32_t report_make(struct arena *a, const struct usage_record *records, uint32_t n, enum report_by by,
                     struct report_row **ret_rows)
{
    struct map *sums = map_new(sizeof(struct summing));
    for (uint32_t i = 0; i < n; i++) {
        const char *key = key_of(a, &records[i], by);
        struct summing *s = map_put(sums, bytes_of(key), NULL);
        if (!s->row.key)
            s->row.key = arena_text_n(a, key, strlen(key));
        add(s, &records[i]);
    }
    uint32_t rows_n = (uint32_t)map_count(sums);
    struct report_row *rows = arena_alloc(a, (rows_n ? rows_n : 1) * sizeof *rows);
    size_t at = 0, out = 0;
    struct bytes key;
    for (struct summing *s; (s = map_next(sums, &at, &key));) {
        finish(s);
        rows[out++] = s->row;
    }
    map_free(sums);
    qsort(rows, rows_n, sizeof *rows, largest_first);
    *ret_rows = rows;
    return rows_n;
}

struct report_row report_total(const struct usage_record *records, uint32_t n)
{
    struct summing s = {.row = {.key = "total"}};
    for (uint32_t i = 0; i < n; i++)
        add(&s, &records[i]);
    finish(&s);
    return s.row;
}
