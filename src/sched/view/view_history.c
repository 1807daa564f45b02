/* view_history.c - what was: events, runs that are over, usage over time; in memory, and bounded
 *
 * WHY    not from the store: this is seen from where the scheduler stands, on any API server, and begins with the process.
 */
#include <stdlib.h>
#include "sched/view/view_part.h"
#include "wire/json.h"

static void ring_init(struct ring *r, uint32_t most)
{
    *r = (struct ring){.all = mem_zero(most, sizeof *r->all), .most = most};
}

static void ring_fini(struct ring *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        blob_unref(r->all[(r->first + i) % r->most]);
    free(r->all);
}

static void ring_add(struct view *v, struct ring *r, const struct buf *text)
{
    if (r->n == r->most) {
        blob_unref(r->all[r->first]);
        r->first = (r->first + 1) % r->most;
        r->n--;
    }
    r->all[(r->first + r->n++) % r->most] = blob_new(text->data, text->n);
    r->added++;
    buf_char(&v->set, ',');
    buf_bytes(&v->set, buf_view(text));
}

static void ring_write(const struct ring *r, struct buf *out)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const struct blob *text = r->all[(r->first + i) % r->most];
        buf_char(out, ',');
        buf_add(out, text->data, text->n);
    }
}

void view_history_init(struct view *v)
{
    ring_init(&v->events, VIEW_EVENTS_MAX);
    ring_init(&v->runs, VIEW_RUNS_MAX);
    ring_init(&v->recent, VIEW_RECENT_MAX);
    ring_init(&v->past, VIEW_PAST_MAX);
}

void view_history_fini(struct view *v)
{
    ring_fini(&v->events);
    ring_fini(&v->runs);
    ring_fini(&v->recent);
    ring_fini(&v->past);
}

void view_history_write(const struct view *v, struct buf *out)
{
    ring_write(&v->events, out);
    ring_write(&v->runs, out);
    ring_write(&v->past, out);
    ring_write(&v->recent, out);
}

void view_history_event(struct view *v, const char *kind, const char *id, enum event_level level, const char *format, ...)
{
    if (v->pass <= 1)
        return;
    _cleanup_buf_ struct buf text = {0}, row = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    buf_printf(&row, "{\"id\":\"e/%llu\",\"k\":\"e\",\"t\":%lld,\"l\":%d,\"of\":\"%s\"", (unsigned long long)v->events.added,
               (long long)v->now_ms, (int)level, kind);
    view_row_text(&row, "to", id);
    json_write_member(&row, "x", text.data, ',');
    buf_char(&row, '}');
    ring_add(v, &v->events, &row);
}

void view_history_run(struct view *v, const char *key, const struct view_job *j, const char *ns, const char *end)
{
    _cleanup_buf_ struct buf row = {0};
    if (!j->started_ms)
        return;
    buf_printf(&row, "{\"id\":\"r/%llu\",\"k\":\"r\"", (unsigned long long)v->runs.added);
    view_row_text(&row, "j", key);
    view_row_text(&row, "kd", j->kind);
    view_row_text(&row, "n", j->name);
    view_row_text(&row, "ns", ns);
    view_row_text(&row, "q", j->queue);
    view_row_number(&row, "g", j->devices_n);
    view_row_number(&row, "b", j->started_ms);
    view_row_number(&row, "e", j->ended_ms ? j->ended_ms : v->now_ms);
    view_row_text(&row, "s", end);
    buf_char(&row, '}');
    ring_add(v, &v->runs, &row);
}

/* ---- usage ---- */

struct team {
    const char *name;
    int64_t held_micro;
};

static const char *team_of(const struct view_job *j, struct bytes key)
{
    if (j->queue)
        return j->queue;
    const char *ns = memchr(key.data, '/', key.n); /* "pod/ns/name" */
    return ns ? ns + 1 : "";
}

/* Teams by what they have, so that beyond the limit the smallest go together. */
static int compare_teams(const void *left, const void *right)
{
    const struct team *a = left, *b = right;
    return a->held_micro != b->held_micro ? (a->held_micro < b->held_micro ? 1 : -1) : strcmp(a->name, b->name);
}

static uint32_t teams_find(const struct view *v, struct team **ret_teams)
{
    struct map *sums = map_new(sizeof(int64_t));
    struct bytes key;
    struct view_job *j;
    for (size_t at = 0; (j = map_next(v->jobs, &at, &key));) {
        if (j->held_pass != v->pass || !j->held_micro)
            continue;
        const char *name = team_of(j, key), *slash = j->queue ? NULL : strchr(name, '/');
        *(int64_t *)map_put(sums, (struct bytes){name, slash ? (size_t)(slash - name) : strlen(name)}, NULL) += j->held_micro;
    }
    struct team *teams = arena_zero(v->arena, map_count(sums) + 1, sizeof *teams);
    uint32_t n = 0;
    int64_t *held;
    for (size_t at = 0; (held = map_next(sums, &at, &key));)
        teams[n++] = (struct team){arena_text_n(v->arena, key.data, key.n), *held};
    map_free(sums);
    if (n > 1)
        qsort(teams, n, sizeof *teams, compare_teams);
    *ret_teams = teams;
    return n;
}

static void usage_row(struct view *v, const char *kind, struct ring *ring)
{
    _cleanup_buf_ struct buf row = {0};
    struct team *teams;
    uint32_t n = teams_find(v, &teams);
    buf_printf(&row, "{\"id\":\"u/%s%llu\",\"k\":\"u\",\"t\":%lld,\"n\":%lld,\"h\":%lld,\"a\":%lld,\"w\":%lld,\"by\":{", kind,
               (unsigned long long)ring->added, (long long)v->now_ms, view_milli(v->gpus_micro), view_milli(v->held_micro),
               v->measured_micro ? view_milli(v->active_micro) : -1, view_milli(v->waiting_micro));
    int64_t rest_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i >= VIEW_TEAMS_MAX) {
            rest_n += teams[i].held_micro;
            continue;
        }
        if (i)
            buf_char(&row, ',');
        json_write_string(&row, bytes_of(teams[i].name));
        buf_printf(&row, ":%lld", view_milli(teams[i].held_micro));
    }
    buf_char(&row, '}');
    view_row_number(&row, "rest", view_milli(rest_n));
    buf_char(&row, '}');
    ring_add(v, ring, &row);
}

void view_history_usage(struct view *v)
{
    if (v->now_ms - v->recent_ms >= VIEW_RECENT_MS) {
        v->recent_ms = v->now_ms;
        usage_row(v, "s", &v->recent);
    }
    if (v->now_ms - v->past_ms >= VIEW_PAST_MS) {
        v->past_ms = v->now_ms;
        usage_row(v, "m", &v->past);
    }
}
