/* what_if.c - see what_if.h */
#include "sched/ahead/what_if.h"
#include <stdlib.h>
#include "sched/ahead/look.h"
#include "sched/ahead/starts.h"
#include "sched/forecast/run_limit.h"
#include "sched/forecast/run_times.h"
#include "sched/scheduler.h"

enum { CPU_S = 60, OUTPUT_MAX = 64 << 20, TURN_MS = 20 };

struct asking {
    struct scheduler *s;
    struct arena *a;
    struct map *rows; /* key -> struct what_if_row */
    int exit_code;    /* of the copy; -1: it thinks still */
};

static struct what_if_row *row_of(struct asking *x, struct bytes key)
{
    bool is_new;
    struct what_if_row *row = map_put(x->rows, key, &is_new);
    if (is_new)
        row->key = arena_text_n(x->a, key.data, key.n);
    return row;
}

/* ---- as things are ---- */

/* A line for each that waits: start, what it follows from, key. */
static void think(void *arg, struct buf *out)
{
    struct asking *x = arg;
    struct forecast_job *jobs;
    for (uint32_t i = 0, n = starts_all(x->s, NULL, 0, x->a, &jobs); i < n; i++)
        if (jobs[i].waits)
            buf_printf(out, "%lld %d %s\n", (long long)jobs[i].start_ms, jobs[i].start_basis, intern_name(x->s->names, jobs[i].gang));
}

static void on_thought(void *arg, int exit_code, const char *output, size_t n)
{
    struct asking *x = arg;
    const char *line = output, *over = output + n;
    x->exit_code = exit_code;
    for (const char *end; (end = memchr(line, '\n', (size_t)(over - line))); line = end + 1) {
        char *at;
        struct what_if_start start = {.ms = strtoll(line, &at, 10), .waits = true};
        start.basis = (uint8_t)strtol(at, &at, 10);
        if (at < end)
            row_of(x, (struct bytes){at + 1, (size_t)(end - at - 1)})->before = start;
    }
}

static int ask_as_it_is(struct asking *x, struct err *e)
{
    struct loop_copy *copy;
    x->exit_code = -1;
    int r = loop_copy_run(x->s->loop, think, CPU_S, OUTPUT_MAX, on_thought, x, &copy, e);
    while (r == 0 && x->exit_code < 0)
        r = loop_run_for(x->s->loop, TURN_MS, e);
    if (r < 0)
        return r;
    return x->exit_code ? err_set(e, E_IO, "the copy that thinks it through ended with %d", x->exit_code) : 0;
}

/* ---- with the change ---- */

/* How long a new Workload will run; of a pod or pod group nothing is known. */
static void know_run(struct scheduler *s, struct arena *a, const struct json *object, struct forecast_job *job)
{
    const char *name = arena_printf(a, "%s/%s", object_meta(object, "namespace"), object_meta(object, "name"));
    if (text_equal(json_get_text(object, "kind", ""), "Workload"))
        starts_expect(job, run_limit_ms(object), run_times_left_ms(s->run_times, run_times_name(a, name), 0));
}

static int take_all(struct asking *x, const struct json *objects, struct forecast_job *more, uint32_t *ret_n, struct err *e)
{
    *ret_n = 0;
    JSON_EACH (object, objects) {
        name_id gang;
        int r = look_take(x->s, object, &gang, e);
        if (r < 0)
            return r;
        if (!gang)
            continue;
        struct what_if_row *row = row_of(x, bytes_of(intern_name(x->s->names, gang)));
        bool is_known = row->is_new;
        row->is_new = !row->before.waits;
        if (is_known || seen_gang(x->s, gang))
            continue;
        more[*ret_n] = (struct forecast_job){.gang = gang};
        know_run(x->s, x->a, object, &more[(*ret_n)++]);
    }
    return 0;
}

static int compare_rows(const void *left, const void *right)
{
    const struct what_if_row *a = left, *b = right;
    int64_t ams = a->after.ms ? a->after.ms : INT64_MAX, bms = b->after.ms ? b->after.ms : INT64_MAX;
    return ams != bms ? (ams < bms ? -1 : 1) : strcmp(a->key, b->key);
}

static void give(struct asking *x, struct what_if *ret)
{
    struct bytes key;
    const struct what_if_row *row;
    ret->rows = arena_alloc(x->a, (map_count(x->rows) + 1) * sizeof *ret->rows);
    ret->rows_n = 0;
    for (size_t at = 0; (row = map_next(x->rows, &at, &key));)
        ret->rows[ret->rows_n++] = *row;
    qsort(ret->rows, ret->rows_n, sizeof *ret->rows, compare_rows);
}

static int ask(struct asking *x, const struct json *objects, struct what_if *ret, struct err *e)
{
    struct forecast_job *more = arena_zero(x->a, objects->n + 1, sizeof *more), *jobs;
    uint32_t more_n = 0;
    int r = ask_as_it_is(x, e);
    if (r == 0)
        r = take_all(x, objects, more, &more_n, e);
    policy_source_expect(x->s); /* a queue may have another policy by now */
    if (r < 0)
        return r;
    for (uint32_t i = 0, n = starts_all(x->s, more, more_n, x->a, &jobs); i < n; i++)
        if (jobs[i].waits)
            row_of(x, bytes_of(intern_name(x->s->names, jobs[i].gang)))->after =
                (struct what_if_start){jobs[i].start_ms, jobs[i].start_basis, true};
    give(x, ret);
    return 0;
}

int what_if_run(struct loop *l, struct kube_client *c, const struct policy *policy, const struct charge_policy *charge,
                const struct json *objects, int64_t timeout_ms, struct arena *a, struct what_if *ret, struct err *e)
{
    struct asking x = {.a = a, .rows = map_new(sizeof(struct what_if_row))};
    *ret = (struct what_if){0};
    int r = look_begin(l, c, policy, charge, timeout_ms, &x.s, e);
    ret->now_ms = loop_wall_ms(l);
    if (r == 0)
        r = ask(&x, objects, ret, e);
    look_end(x.s, c);
    map_free(x.rows);
    return r;
}
