/* run_notes.c - how long what is over ran, remembered by its name */
#include "base/clock.h"
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

const char *run_name(const struct scheduler *s, struct arena *a, const struct seen_gang *g, const struct json *workload)
{
    const struct json *owner = json_item(json_path(workload, "metadata", "ownerReferences", NULL), 0);
    const char *name = json_get_text(owner, "name", NULL);
    if (name)
        return run_times_name(a, arena_printf(a, "%s/%s", object_meta(workload, "namespace"), name));
    return run_times_name(a, decode_gang_object(g->source, intern_name(s->names, g->key)));
}

static void note(struct scheduler *s, struct seen_gang *g, const struct json *workload, int64_t run_ms)
{
    _cleanup_arena_ struct arena *a = arena_new();
    g->run_noted = true;
    run_times_add(s->run_times, run_name(s, a, g, workload), run_ms);
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
