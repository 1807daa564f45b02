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

/* ---- what came in ---- */

/* The only model of a node; NULL while there are several. */
struct node_model {
    const char *model;
    bool several;
};

static bool has_model(const struct report_input *in, const char *node, const char *model)
{
    for (uint32_t i = 0; i < in->capacity_n; i++)
        if (text_equal(in->capacity[i].node, node) && text_equal(in->capacity[i].model, model))
            return true;
    return false;
}

void report_settle_models(struct report_input *in)
{
    struct map *nodes = map_new(sizeof(struct node_model));
    for (uint32_t i = 0; i < in->capacity_n; i++) {
        bool is_new;
        struct node_model *m = map_put(nodes, bytes_of(in->capacity[i].node), &is_new);
        m->several = !is_new;
        m->model = is_new ? in->capacity[i].model : m->model;
    }
    for (uint32_t i = 0; i < in->records_n; i++) {
        struct usage_record *r = &in->records[i];
        const struct node_model *m = map_find_text(nodes, r->node);
        if (m && !m->several && *m->model)
            r->device_kind = m->model;
        else if (m && m->several && !has_model(in, r->node, r->device_kind))
            r->device_kind = ""; /* a slice of one of several models: of which is not known */
    }
    map_free(nodes);
}

void report_filter(struct report_input *in, const char *ns, const char *queue, const char *user)
{
    if (!ns && !queue && !user)
        return;
    uint32_t n = 0;
    for (uint32_t i = 0; i < in->records_n; i++) {
        const struct usage_record *r = &in->records[i];
        if ((!ns || text_equal(r->ns, ns)) && (!queue || text_equal(r->queue, queue)) && (!user || text_equal(r->user, user)))
            in->records[n++] = *r;
    }
    in->records_n = n;
    in->capacity_n = 0;
}

/* ---- sums ---- */

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
    case REPORT_BY_MODEL:
        key = r->device_kind;
        break;
    case REPORT_BY_DAY:
    case REPORT_BY_WEEK:
    case REPORT_BY_MONTH:
        break;
    }
    return *key ? key : "-";
}

/* While summing: memory_high holds the weighted sum, weight_h its weight; queue_wait_s and throttled_h the sums of the pods of which they
 * are known; free_h and free_cost nothing; capacity_cost what all that was there would cost. */
struct summing {
    struct report_row row;
    double weight_h, capacity_cost;
    uint32_t waits_n, throttled_n;
    bool has_capacity;
};

static void add_cost(struct report_row *row, const struct usage_record *r, double hours, double wasted_h,
                     const struct report_prices *prices)
{
    double price = prices ? report_price_of(prices, r->device_kind) : 0;
    if (price < 0) {
        row->unpriced_h += hours;
        return;
    }
    row->cost += hours * price;
    row->wasted_cost += wasted_h * price;
}

static void add(struct summing *s, const struct usage_record *r, const struct report_prices *prices)
{
    struct report_row *row = &s->row;
    double hours = r->allocated_s / HOUR_S, active_h = r->active_s / HOUR_S;
    double wasted_h = (r->no_process_s + r->idle_s + r->low_s) / HOUR_S;
    if (wasted_h > hours - active_h)
        wasted_h = hours > active_h ? hours - active_h : 0;
    row->pods_n++;
    row->allocated_h += hours;
    row->active_h += active_h;
    row->wasted_h += wasted_h;
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
    add_cost(row, r, hours, wasted_h, prices);
}

static void add_capacity(struct summing *s, const struct usage_capacity *c, const struct report_prices *prices)
{
    double price = prices ? report_price_of(prices, c->model) : 0;
    s->has_capacity = true;
    s->row.capacity_h += c->gpu_s / HOUR_S;
    s->capacity_cost += price > 0 ? c->gpu_s / HOUR_S * price : 0;
}

/* WHY  never below 0: what was given and what was there are measured by clocks of their own, a few seconds apart. */
static double rest(double all, double part)
{
    return all > part ? all - part : 0;
}

static void finish(struct summing *s, const struct report_prices *prices)
{
    struct report_row *row = &s->row;
    row->efficiency = row->allocated_h > 0 ? row->active_h / row->allocated_h : -1;
    row->memory_high = s->weight_h > 0 ? row->memory_high / s->weight_h : -1;
    row->queue_wait_s = s->waits_n ? row->queue_wait_s / s->waits_n : -1;
    row->throttled_h = s->throttled_n ? row->throttled_h : -1;
    row->free_h = s->has_capacity ? rest(row->capacity_h, row->allocated_h) : -1;
    row->free_cost = s->has_capacity && prices ? rest(s->capacity_cost, row->cost) : -1;
    if (!s->has_capacity)
        row->capacity_h = -1;
    if (!prices)
        row->cost = row->wasted_cost = -1;
}

static struct summing *summing_of(struct arena *a, struct map *sums, const char *key)
{
    struct summing *s = map_put(sums, bytes_of(key), NULL);
    if (!s->row.key)
        s->row.key = arena_text(a, key);
    return s;
}

uint32_t report_make(struct arena *a, const struct report_input *in, enum report_by by, const struct report_prices *prices,
                     struct report_row **ret_rows)
{
    struct map *sums = map_new(sizeof(struct summing));
    for (uint32_t i = 0; i < in->records_n; i++)
        add(summing_of(a, sums, key_of(a, &in->records[i], by)), &in->records[i], prices);
    for (uint32_t i = 0; i < in->capacity_n && (by == REPORT_BY_NODE || by == REPORT_BY_MODEL); i++) {
        const struct usage_capacity *c = &in->capacity[i];
        const char *key = by == REPORT_BY_NODE ? c->node : c->model;
        add_capacity(summing_of(a, sums, *key ? key : "-"), c, prices);
    }
    uint32_t rows_n = (uint32_t)map_count(sums);
    struct report_row *rows = arena_alloc(a, (rows_n ? rows_n : 1) * sizeof *rows);
    size_t at = 0, out = 0;
    struct bytes key;
    for (struct summing *s; (s = map_next(sums, &at, &key));) {
        finish(s, prices);
        rows[out++] = s->row;
    }
    map_free(sums);
    report_sort(rows, rows_n, REPORT_SORT_GIVEN);
    *ret_rows = rows;
    return rows_n;
}

struct report_row report_total(const struct report_input *in, const struct report_prices *prices)
{
    struct summing s = {.row = {.key = "total"}};
    for (uint32_t i = 0; i < in->records_n; i++)
        add(&s, &in->records[i], prices);
    for (uint32_t i = 0; i < in->capacity_n; i++)
        add_capacity(&s, &in->capacity[i], prices);
    finish(&s, prices);
    return s.row;
}
