/* timeline.c - what is told of what the watches have seen */
#include "sim/run/timeline.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/limits.h"
#include "kube/object.h"

#define X(name, text) text,
const char *const timeline_kinds[TIMELINE_KINDS_N] = {TIMELINE_KINDS(X)};
#undef X

/* ---- facts ---- */

int64_t timeline_now(const struct timeline *t)
{
    return loop_now_ms(t->loop) - t->zero_ms;
}

static void say_at(struct timeline *t, enum timeline_kind kind, const char *object, const char *text)
{
    if (t->facts_n >= LIMIT_SCENARIO_FACTS) {
        t->left_out_n++;
        return;
    }
    MEM_RESERVE(t->facts, t->facts_cap, t->facts_n + 1);
    struct timeline_fact *f = &t->facts[t->facts_n++];
    *f = (struct timeline_fact){t->now_ms < 0 ? 0 : t->now_ms, kind, object, arena_text(t->arena, text)};
    if (t->told)
        t->told(t->told_arg, f);
}

void timeline_say(struct timeline *t, enum timeline_kind kind, const char *object, const char *format, ...)
{
    _cleanup_buf_ struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    t->now_ms = timeline_now(t);
    say_at(t, kind, arena_text(t->arena, object), text.data);
}

/* ---- jobs ---- */

/* A line of text by its own name. */
static int by_name(const void *a, const void *b)
{
    const struct json *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

struct json *timeline_job_nodes(const struct timeline *t, struct arena *a, const struct timeline_job *j)
{
    struct json *unsorted = json_new(a, JSON_OBJECT), *sorted = json_new(a, JSON_OBJECT);
    size_t at = 0, n = 0;
    struct bytes key;
    for (const struct timeline_pod *p; (p = map_next(t->pods, &at, &key));)
        if (p->job == j->index && p->bound && !p->over) {
            const char *name = t->nodes[p->node].name;
            json_set_int64(a, unsorted, name, json_get_int64(unsorted, name, 0) + 1);
        }
    const struct json **items = arena_alloc(a, (unsorted->n + 1) * sizeof *items);
    JSON_EACH (v, unsorted)
        items[n++] = v;
    qsort(items, n, sizeof *items, by_name);
    for (size_t i = 0; i < n; i++)
        json_set_int64(a, sorted, items[i]->key, json_int64(items[i], 0));
    return sorted;
}

static const char *nodes_text(struct timeline *t, const struct timeline_job *j)
{
    _cleanup_buf_ struct buf text = {0};
    const struct json *nodes = timeline_job_nodes(t, t->scratch, j);
    uint32_t n = 0;
    JSON_EACH (node, nodes) {
        if (n++ == 8) {
            buf_printf(&text, " and %u more", nodes->n - 8);
            break;
        }
        buf_printf(&text, "%s%s", n > 1 ? ", " : "", node->key);
        if (j->pods_n > 1)
            buf_printf(&text, " (%s)", node->text);
    }
    return arena_text(t->scratch, text.n ? text.data : "");
}

static const char *count_text(struct timeline *t, uint32_t n, const char *one)
{
    return arena_printf(t->scratch, "%u %s%s", n, one, n == 1 ? "" : "s");
}

static const char *held_text(struct timeline *t, const struct timeline_job *j)
{
    const char *pods = count_text(t, j->pods_n, "pod");
    return j->gpus_n ? arena_printf(t->scratch, "%s, %s", pods, count_text(t, j->gpus_n, "GPU")) : pods;
}

static const char *span_text(struct timeline *t, int64_t ms)
{
    char age[TIME_TEXT_MAX];
    return ms < 10000 ? arena_printf(t->scratch, "%lld.%llds", (long long)ms / 1000, (long long)ms % 1000 / 100)
                      : arena_text(t->scratch, time_age(age, ms));
}

static void tell_places(struct timeline *t, struct timeline_job *j)
{
    if (j->pods_n && !j->told_pods_n) {
        j->starts_n++;
        if (j->started_ms < 0)
            j->started_ms = t->now_ms;
        say_at(
            t, TIMELINE_STARTS, j->key,
            arena_printf(t->scratch, "%s starts%s: %s on %s", j->key, j->starts_n > 1 ? " again" : "", held_text(t, j), nodes_text(t, j)));
        j->must_stop = j->told_must_stop = "";
    } else if (j->pods_n > j->told_pods_n || (j->pods_n && j->lost_n)) {
        say_at(t, TIMELINE_CHANGES, j->key,
               arena_printf(t->scratch, "%s has %s now: on %s%s", j->key, held_text(t, j), nodes_text(t, j),
                            j->lost_n ? arena_printf(t->scratch, "; %s gone", count_text(t, j->lost_n, "pod")) : ""));
    } else if (!j->pods_n && j->told_pods_n && j->lost_n && !j->ended) {
        say_at(t, TIMELINE_STOPS, j->key, arena_printf(t->scratch, "%s stops: %s gone", j->key, count_text(t, j->lost_n, "pod")));
        j->told_why = "";
    }
    j->told_pods_n = j->pods_n;
    j->lost_n = 0;
}

static void tell_end(struct timeline *t, struct timeline_job *j)
{
    if (j->gone_told || j->end_told)
        return;
    if (j->gone && !j->ended) {
        j->gone_told = true;
        say_at(t, TIMELINE_ENDS, j->key, arena_printf(t->scratch, "%s is deleted", j->key));
        j->ended_ms = t->now_ms;
    } else if (j->ended) {
        j->end_told = true;
        j->ended_ms = t->now_ms;
        say_at(t, TIMELINE_ENDS, j->key,
               arena_printf(
                   t->scratch, "%s %s%s", j->key, j->failed ? "has failed" : "is done",
                   j->started_ms < 0 ? "" : arena_printf(t->scratch, ", %s after it started", span_text(t, t->now_ms - j->started_ms))));
    }
}

static void tell_coming(struct timeline *t, struct timeline_job *j)
{
    if (!j->came_told)
        say_at(t, TIMELINE_COMES, j->key,
               arena_printf(t->scratch, "%s %s comes%s%s", j->kind, j->key, *j->queue ? " to queue " : "", j->queue));
    j->came_told = true;
}

static void tell_going(struct timeline *t, struct timeline_job *j)
{
    if (j->gone_told || j->end_told)
        return;
    if (!text_equal(j->must_stop, j->told_must_stop) && *j->must_stop)
        say_at(t, TIMELINE_MUST_STOP, j->key, arena_printf(t->scratch, "%s must stop: %s", j->key, j->must_stop));
    j->told_must_stop = j->must_stop;
    if (j->pods_n < j->told_pods_n)
        tell_places(t, j);
}

/* WHY  "184 nodes are full" after "185 nodes are full" is no news. */
static bool same_words(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    for (;; a++, b++) {
        a += strspn(a, digits);
        b += strspn(b, digits);
        if (*a != *b || !*a)
            return *a == *b;
    }
}

static void tell_standing(struct timeline *t, struct timeline_job *j)
{
    if (j->gone_told || j->end_told)
        return;
    if (j->pods_n != j->told_pods_n || j->lost_n)
        tell_places(t, j);
    if (*j->why && !j->pods_n && !j->ended && !j->gone && !same_words(j->why, j->told_why)) {
        say_at(t, TIMELINE_WAITS, j->key, arena_printf(t->scratch, "%s waits: %s", j->key, j->why));
        j->told_why = j->why;
    }
}

/* ORDER  who comes, then who makes room, then who takes it. */
static void tell_jobs(struct timeline *t)
{
    static void (*const rounds[])(struct timeline * t, struct timeline_job * j) = {tell_coming, tell_going, tell_end, tell_standing,
                                                                                   tell_end};
    enum { ROUNDS_N = sizeof rounds / sizeof *rounds };
    for (int round = 0; round < ROUNDS_N; round++)
        for (size_t i = 0; i < t->changed_n; i++) {
            struct timeline_job *j = t->jobs[t->changed[i]];
            if (rounds[round] == tell_end && round < ROUNDS_N - 1 && j->pods_n > j->told_pods_n)
                continue;
            rounds[round](t, j);
        }
}

static int by_index(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

void timeline_job_changed(struct timeline *t, struct timeline_job *j)
{
    if (!j->changed) {
        MEM_RESERVE(t->changed, t->changed_cap, t->changed_n + 1);
        t->changed[t->changed_n++] = j->index;
    }
    j->changed = true;
    timeline_ask(t);
}

/* ---- lines over time ---- */

static void line_add(struct timeline *t, struct timeline_line *l, uint32_t waiting_n, uint32_t running_n)
{
    int64_t at_ms = t->now_ms < 0 ? 0 : t->now_ms;
    struct timeline_point *last = l->n ? &l->points[l->n - 1] : NULL;
    if (last && last->waiting_n == waiting_n && last->running_n == running_n)
        return;
    if (last && last->at_ms == at_ms) {
        *last = (struct timeline_point){at_ms, waiting_n, running_n};
        return;
    }
    if (t->points_n++ >= LIMIT_SCENARIO_SPANS) {
        t->left_out_n++;
        return;
    }
    MEM_RESERVE(l->points, l->cap, l->n + 1);
    l->points[l->n++] = (struct timeline_point){at_ms, waiting_n, running_n};
}

static uint32_t queue_index(struct timeline *t, const char *name)
{
    bool is_new;
    uint32_t *slot = map_put(t->queue_of, bytes_of(name), &is_new);
    if (is_new) {
        *slot = t->queues_n;
        MEM_RESERVE(t->queues, t->queues_cap, t->queues_n + 1);
        t->queues[t->queues_n++] = (struct timeline_line){.name = name};
    }
    return *slot;
}

static void count_job(struct timeline *t, struct timeline_job *j)
{
    if (j->counted == 0 && !j->end_told && !j->gone_told)
        j->line = queue_index(t, j->queue);
    struct timeline_line *l = &t->queues[j->line];
    l->counts[j->counted] -= j->counted > 0;
    j->counted = j->ended || j->gone ? 0 : j->pods_n ? 2 : 1;
    l->counts[j->counted] += j->counted > 0;
}

/* GPUs of nodes that are there and well. */
static void add_points(struct timeline *t)
{
    uint32_t all_n = 0, used_n = 0;
    for (size_t i = 0; i < t->changed_n; i++) {
        const struct timeline_line *l = &t->queues[t->jobs[t->changed[i]]->line];
        line_add(t, &t->queues[t->jobs[t->changed[i]]->line], l->counts[1], l->counts[2]);
    }
    for (uint32_t i = 0; i < t->nodes_n; i++) {
        const struct timeline_node *n = &t->nodes[i];
        used_n += n->down_ms < 0 ? n->used_n : 0;
        all_n += n->down_ms < 0 ? n->gpus_n : 0;
    }
    line_add(t, &t->gpus, all_n, used_n);
}

void timeline_tell(struct timeline *t)
{
    loop_timer_stop(t->timer);
    if (t->changed_n > 1)
        qsort(t->changed, t->changed_n, sizeof *t->changed, by_index);
    tell_jobs(t);
    for (size_t i = 0; i < t->changed_n; i++) {
        count_job(t, t->jobs[t->changed[i]]);
        t->jobs[t->changed[i]]->changed = false;
    }
    if (t->asked)
        add_points(t);
    t->asked = false;
    t->changed_n = 0;
    arena_reset(t->scratch);
}

void timeline_ask(struct timeline *t)
{
    t->now_ms = timeline_now(t);
    t->asked = true;
    if (!loop_timer_running(t->timer))
        loop_timer_start(t->timer, 1, 0);
}

/* ---- life ---- */

const struct timeline_job *timeline_job_named(const struct timeline *t, const char *key)
{
    const uint32_t *slot = map_find_text(t->job_of, key);
    return slot && *slot != UINT32_MAX ? t->jobs[*slot] : NULL;
}

bool timeline_all_over(const struct timeline *t)
{
    for (uint32_t i = 0; i < t->jobs_n; i++)
        if (!t->jobs[i]->ended && !t->jobs[i]->gone)
            return false;
    return true;
}

void timeline_free(struct timeline *t)
{
    job_watches_end(&t->watches);
    loop_timer_free(t->timer);
    for (uint32_t i = 0; i < t->queues_n; i++)
        free(t->queues[i].points);
    free(t->gpus.points);
    free(t->changed);
    free(t->queues);
    free(t->facts);
    free(t->jobs);
    free(t->nodes);
    free(t->spans);
    struct map *maps[] = {t->job_of, t->node_of, t->device_of, t->queue_of, t->pods, t->borrowed};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        map_free(maps[i]);
    arena_free(t->arena);
    arena_free(t->scratch);
    *t = (struct timeline){0};
}
