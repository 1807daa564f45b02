#include "sched/binding/queue_gates.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "codec/decode/decode.h"
#include "wire/json.h"

enum { ROOM_MS = 500 };

struct member {
    struct amount *asks;
    uint32_t asks_n;
    name_id pod;
    bool shut, opening;
};
struct total_key {
    name_id queue, resource;
};
struct queue_gates {
    const struct state *state;
    struct intern *names;
    name_id (*queue_of)(void *arg, name_id pod);
    void *arg;
    struct map *members;     /* pod -> struct member */
    struct map *totals;      /* struct total_key -> int64_t: what those that were opened ask for */
    int64_t totals_ms;       /* when they were summed up */
    bool summed;
};

struct queue_gates *queue_gates_new(const struct state *s, struct intern *names, name_id (*queue_of)(void *arg, name_id pod), void *arg)
{
    struct queue_gates *x = mem_zero(1, sizeof *x);
    *x = (struct queue_gates){.state = s, .names = names, .queue_of = queue_of, .arg = arg};
    x->members = map_new(sizeof(struct member));
    x->totals = map_new(sizeof(int64_t));
    return x;
}

void queue_gates_free(struct queue_gates *x)
{
    if (!x)
        return;
    size_t at = 0;
    for (struct member *m; (m = map_next(x->members, &at, NULL));)
        free(m->asks);
    map_free(x->members);
    map_free(x->totals);
    free(x);
}

void queue_gates_mark_names(const struct queue_gates *x)
{
    size_t at = 0;
    for (const struct member *m; (m = map_next(x->members, &at, NULL));) {
        intern_mark(x->names, m->pod);
        for (uint32_t i = 0; i < m->asks_n; i++)
            intern_mark(x->names, m->asks[i].resource);
    }
}

/* ---- who waits ---- */

static struct member *find(const struct queue_gates *x, name_id pod)
{
    return map_find(x->members, (struct bytes){(const char *)&pod, sizeof pod});
}

void queue_gates_gone(struct queue_gates *x, name_id pod)
{
    struct member *m = find(x, pod);
    if (!m)
        return;
    free(m->asks);
    map_remove(x->members, (struct bytes){(const char *)&pod, sizeof pod});
}

static bool has_gate(const struct json *pod)
{
    JSON_EACH (gate, json_path(pod, "spec", "schedulingGates", NULL))
        if (text_equal(json_get_text(gate, "name", ""), DECODE_VOLCANO_GATE))
            return true;
    return false;
}

void queue_gates_seen(struct queue_gates *x, const struct pod_record *pod, struct bytes object)
{
    bool waits = pod->ours && !pod->node && !pod->deleting && pod->phase == POD_PENDING &&
                 memmem(object.data, object.n, DECODE_VOLCANO_GATE, sizeof DECODE_VOLCANO_GATE - 1);
    const struct member *was = find(x, pod->key);
    bool opening = was && was->opening;
    if (!was && !waits)
        return;
    queue_gates_gone(x, pod->key);
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *read = waits ? json_parse(a, object, NULL, NULL) : NULL;
    const char *asks = json_text(json_get(json_path(read, "metadata", "annotations", NULL), DECODE_VOLCANO_GATE), "");
    if (!text_equal(asks, "true"))
        return;
    struct member *m = map_put(x->members, (struct bytes){(const char *)&pod->key, sizeof pod->key}, NULL);
    *m = (struct member){.asks = mem_alloc((pod->shape.requests_n + 1) * sizeof *m->asks), .asks_n = pod->shape.requests_n,
                         .pod = pod->key, .shut = has_gate(read), .opening = opening};
    if (m->asks_n)
        memcpy(m->asks, pod->shape.requests, m->asks_n * sizeof *m->asks);
}

bool queue_gates_is_shut(const struct queue_gates *x, name_id pod)
{
    const struct member *m = find(x, pod);
    return m && m->shut;
}

void queue_gates_opened(struct queue_gates *x, name_id pod)
{
    struct member *m = find(x, pod);
    if (m)
        m->shut = false;
}

/* ---- room ---- */

static int64_t sum(int64_t a, int64_t b) /* neither is negative */
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static void total_add(struct queue_gates *x, name_id queue, const struct member *m)
{
    for (uint32_t i = 0; i < m->asks_n && queue; i++) {
        const struct total_key key = {queue, m->asks[i].resource};
        int64_t *total = map_put(x->totals, (struct bytes){(const char *)&key, sizeof key}, NULL);
        *total = sum(*total, m->asks[i].value);
    }
}

static int64_t total_of(const struct queue_gates *x, name_id queue, name_id resource)
{
    const struct total_key key = {queue, resource};
    const int64_t *total = map_find(x->totals, (struct bytes){(const char *)&key, sizeof key});
    return total ? *total : 0;
}

static void sum_up(struct queue_gates *x, int64_t now_ms)
{
    size_t at = 0;
    if (x->summed && now_ms - x->totals_ms < ROOM_MS)
        return;
    map_clear(x->totals);
    for (const struct member *m; (m = map_next(x->members, &at, NULL));)
        if (!m->shut || m->opening)
            total_add(x, x->queue_of(x->arg, m->pod), m);
    x->totals_ms = now_ms;
    x->summed = true;
}

void queue_gates_opening(struct queue_gates *x, name_id pod)
{
    struct member *m = find(x, pod);
    if (!m || !m->shut || m->opening)
        return;
    m->opening = true;
    total_add(x, x->queue_of(x->arg, pod), m);
}

static int64_t asked(const struct queue_gates *x, const name_id *pods, uint32_t n, name_id resource)
{
    int64_t all = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct member *m = find(x, pods[i]);
        for (uint32_t k = 0; m && m->shut && !m->opening && k < m->asks_n; k++)
            all = m->asks[k].resource == resource ? sum(all, m->asks[k].value) : all;
    }
    return all;
}

bool queue_gates_has_room(struct queue_gates *x, name_id queue, const name_id *pods, uint32_t n, int64_t now_ms)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct queue_usage *rows;
    uint32_t rows_n = state_queue_usage(x->state, queue, a, &rows);
    sum_up(x, now_ms);
    for (uint32_t i = 0; i < rows_n; i++)
        if (rows[i].left_by_bounds != INT64_MAX &&
            sum(total_of(x, queue, rows[i].resource), asked(x, pods, n, rows[i].resource)) > rows[i].left_by_bounds)
            return false;
    return true;
}
