/* run_notes.c - how long what is over ran, remembered by its name */
#include "base/clock.h"
#include "base/memory.h"
#include "sched/forecast/run_limit.h"
#include "sched/forecast/run_times.h"
#include "sched/scheduler.h"

int64_t run_began_ms(const struct json *workload)
{
    int64_t ms;
    const struct json *c = object_condition_true(workload, "Admitted") ? object_condition(workload, "Admitted") : NULL;
    return time_parse(bytes_of(json_get_text(c, "lastTransitionTime", "")), &ms) ? ms : 0;
}

/* SOURCE Kueue: the job's outcome is the reason of that condition. */
static int64_t succeeded_ms(const struct json *workload)
{
    int64_t ms;
    const struct json *c = object_condition_true(workload, "Finished") ? object_condition(workload, "Finished") : NULL;
    bool succeeded = text_equal(json_get_text(c, "reason", ""), "Succeeded");
    return succeeded && time_parse(bytes_of(json_get_text(c, "lastTransitionTime", "")), &ms) ? ms : 0;
}

static const char *name_of(struct arena *a, const struct json *workload)
{
    const char *owner = json_get_text(json_item(json_path(workload, "metadata", "ownerReferences", NULL), 0), "name", NULL);
    return run_times_name(a, arena_printf(a, "%s/%s", object_meta(workload, "namespace"), owner ? owner : object_meta(workload, "name")));
}

const char *run_name(const struct scheduler *s, struct arena *a, const struct seen_gang *g, const struct json *workload)
{
    return workload ? name_of(a, workload) : run_times_name(a, decode_gang_object(g->source, intern_name(s->names, g->key)));
}

static uint64_t hash_of(const char *name)
{
    return hash_bytes(name, strlen(name), 0x72756e73u);
}

/* What the core knows of those that are called so is too short: they are read again before the next decision. */
static void note_alike(struct scheduler *s, const char *name)
{
    if (!state_backfills(s->state))
        return;
    MEM_RESERVE(s->alike, s->alike_cap, s->alike_n + 1);
    s->alike[s->alike_n++] = hash_of(name);
}

static void note(struct scheduler *s, struct seen_gang *g, const struct json *workload, int64_t run_ms)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *name = run_name(s, a, g, workload);
    int64_t longest_ms = run_times_longest_ms(s->run_times, name);
    g->run_noted = true;
    run_times_add(s->run_times, name, run_ms);
    if (workload && run_ms > longest_ms)
        note_alike(s, name);
}

/* WHY the longest, not the usual run as a forecast has it (ahead/starts.c): who passes others by it should not be late every other time. */
void run_notes_expect(struct scheduler *s, const struct json *workload, struct gang_record *g)
{
    _cleanup_arena_ struct arena *a = arena_new();
    int64_t limit_ms = run_limit_ms(workload), longest_ms = run_times_longest_ms(s->run_times, name_of(a, workload));
    g->run_by_limit = limit_ms && (!longest_ms || limit_ms <= longest_ms);
    int64_t run_s = ((g->run_by_limit ? limit_ms : longest_ms) + 999) / 1000;
    g->run_s = run_s < INT32_MAX ? (int32_t)run_s : 0;
}

void run_named(struct seen_gang *g, const struct json *workload)
{
    _cleanup_arena_ struct arena *a = arena_new();
    g->runs_as = hash_of(name_of(a, workload));
}

void run_note_workload(struct scheduler *s, struct seen_gang *g, const struct json *workload)
{
    int64_t end_ms = succeeded_ms(workload), began_ms = run_began_ms(workload);
    if (end_ms && began_ms && !g->run_noted)
        note(s, g, workload, end_ms - began_ms);
}

void run_note_pods(struct scheduler *s, struct seen_gang *g)
{
    struct gang_look look;
    bool is_over = g->succeeded_n > 0 && g->succeeded_n == (int32_t)g->pods_n;
    if (g->source != GANG_WORKLOAD && is_over && !g->run_noted && state_gang_look(s->state, g->key, &look) && look.started_ms)
        note(s, g, NULL, loop_wall_ms(s->loop) - look.started_ms);
}
