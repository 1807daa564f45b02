/* view_jobs.c - gangs as people know them: the job that each is of, what state it is in and since when, and why it waits
 *
 * SHAPE  {"kd":kind,"ns","n":name,"q":queue,"s":state,"p":priority,"m":members,"r":that run,"g":devices,"c":created,"y":waits again since,
 *         "b":started,"e":ended,"u":until when at the latest,"f":about when it starts, as it was told (ahead/starts.h),
 *         "l":how long it may run,"hg":found to hang,"x":why it waits, or what is wrong with it while it runs,
 *         "w":hash of the tree that says so}
 * WHY    pods of no group that have never asked for a device and stand somewhere are left out: they hold nothing that is shown here.
 */
#include <stdlib.h>
#include "base/clock.h"
#include "gpu/model.h"
#include "sched/forecast/run_limit.h"
#include "sched/view/view_part.h"
#include "wire/json.h"

static const char *const state_words[] = {"waiting", "held", "reserved", "starting", "running", "leaving", "done", "failed"};

#define HANGS "it hangs: none of its GPUs does anything"

void view_jobs_drop(struct view_job *j)
{
    free(j->kind);
    free(j->name);
    free(j->queue);
    j->kind = j->name = j->queue = NULL;
}

/* What was counted in an earlier pass. */
static void held_clear(const struct view *v, struct view_job *j)
{
    if (j->held_pass == v->pass)
        return;
    j->held_n = 0;
    j->held_micro = 0;
}

void view_jobs_hold(struct view *v, name_id gang, int64_t devices_n, int64_t micro)
{
    struct view_job *j = map_put(v->jobs, bytes_of(intern_name(v->s->names, gang)), NULL);
    held_clear(v, j);
    j->held_pass = v->pass;
    j->held_micro += micro;
    j->held_n = (int32_t)(devices_n < INT32_MAX - j->held_n ? j->held_n + devices_n : INT32_MAX);
}

/* ---- what the object says ---- */

static struct bytes object_of(const struct view *v, const struct seen_gang *g)
{
    static const enum source_id sources[] = {[GANG_WORKLOAD] = SOURCE_WORKLOADS,
                                             [GANG_VOLCANO] = SOURCE_VOLCANO_GROUPS,
                                             [GANG_COSCHEDULING] = SOURCE_COSCHEDULING,
                                             [GANG_NATIVE] = SOURCE_NATIVE,
                                             [GANG_KAI] = SOURCE_KAI,
                                             [GANG_COMPOSITE] = SOURCE_COMPOSITES};
    if (g->source == GANG_POD)
        return (struct bytes){0};
    char ns[256];
    const char *name;
    pod_key_split(seen_gang_object(v->s, g), ns, &name);
    return kube_cache_raw(v->s->sources[sources[g->source]].cache, ns, name);
}

static int64_t transition_of(const struct json *object, const char *type)
{
    int64_t ms;
    const struct json *c = object_condition_true(object, type) ? object_condition(object, type) : NULL;
    return c && time_parse(bytes_of(json_get_text(c, "lastTransitionTime", "")), &ms) ? ms : 0;
}

static void hung_take(struct view_job *j, const struct json *object)
{
    const char *found = object_annotation(object, DECODE_HUNG_ANNOTATION);
    if (!time_parse(bytes_of(found), &j->hung_ms))
        j->hung_ms = 0;
    j->starts_again = decode_restart_ms(object) != 0;
}

static void workload_take(struct view_job *j, const struct json *object)
{
    j->limit_ms = run_limit_ms(object);
    int64_t started_ms = transition_of(object, "Admitted");
    j->started_ms = started_ms ? started_ms : j->started_ms;
    j->ended_ms = transition_of(object, "Finished");
    j->object_failed = j->ended_ms && strstr(json_get_text(object_condition(object, "Finished"), "reason", ""), "Failed");
}

static void owner_take(struct view_job *j, const struct json *object, const char *kind, const char *name)
{
    const char *owner = object_controller(object, "kind");
    const struct json *first = json_first(json_path(object, "metadata", "ownerReferences", NULL));
    const char *owner_kind = *owner ? owner : json_get_text(first, "kind", kind),
               *owner_name = *owner ? object_controller(object, "name") : json_get_text(first, "name", name);
    bool is_volcano = text_starts(json_get_text(first, "apiVersion", ""), "batch.volcano.sh/");
    j->kind = mem_text(is_volcano ? "vcjob" : owner_kind);
    j->name = mem_text(owner_name);
}

static void object_take(struct view *v, struct view_job *j, const struct seen_gang *g)
{
    struct bytes raw = object_of(v, g);
    char ns[256];
    const char *name;
    pod_key_split(seen_gang_object(v->s, g), ns, &name);
    if (j->kind && !raw.n) /* what is gone was of the same job */
        return;
    if (j->kind && !view_row_object_is_new(&j->object, raw))
        return;
    (void)view_row_object_is_new(&j->object, raw);
    view_jobs_drop(j);
    const struct json *object = raw.n ? json_parse(v->scratch, raw, NULL, NULL) : NULL;
    owner_take(j, object, explain_kind_of(g->source), name);
    hung_take(j, object);
    if (g->source == GANG_WORKLOAD)
        workload_take(j, object);
}

/* ---- state ---- */

static enum view_state state_of(const struct seen_gang *g, const struct view_job *j, enum gang_phase phase, const struct gang_look *look)
{
    switch (phase) {
    case GANG_UNKNOWN: /* its object is gone; its pods may have done all that they were to do */
        if (g->pods_n && g->succeeded_n + g->failed_n == (int32_t)g->pods_n)
            break;
        return VIEW_WAITING;
    case GANG_WAITING:
        return look->on_hold || !look->active ? VIEW_HELD : VIEW_WAITING;
    case GANG_CHECKING:
        return VIEW_RESERVED;
    case GANG_RESERVED:
    case GANG_ADMITTED:
        return VIEW_STARTING;
    case GANG_BOUND:
        return g->running_n > 0 ? VIEW_RUNNING : VIEW_STARTING;
    case GANG_LEAVING:
        return VIEW_LEAVING;
    case GANG_OVER:
        break;
    }
    return j->object_failed || g->failed_n > 0 ? VIEW_FAILED : VIEW_DONE;
}

static bool is_over(enum view_state s)
{
    return s == VIEW_DONE || s == VIEW_FAILED;
}

static void tell(struct view *v, const struct view_job *j, const char *key, const char *ns, enum view_state now, const char *why)
{
    const char *kind = j->kind, *name = j->name;
    if (now == VIEW_RUNNING)
        view_history_event(v, "j", key, EVENT_GOOD, "%s %s/%s runs", kind, ns, name);
    else if (now == VIEW_DONE)
        view_history_event(v, "j", key, EVENT_PLAIN, "%s %s/%s is done", kind, ns, name);
    else if (now == VIEW_FAILED)
        view_history_event(v, "j", key, EVENT_BAD, "%s %s/%s has failed", kind, ns, name);
    else if (now == VIEW_LEAVING)
        view_history_event(v, "j", key, EVENT_WARNS, "%s %s/%s has to go%s%s", kind, ns, name, *why ? ": " : "", why);
    else if (now == VIEW_WAITING)
        view_history_event(v, "j", key, EVENT_PLAIN, "%s %s/%s waits%s%s", kind, ns, name, *why ? ": " : "", why);
}

static void hung_tell(struct view *v, struct view_job *j, const char *key, const char *ns)
{
    bool hangs = j->state == VIEW_RUNNING && j->hung_ms;
    if (hangs && !j->hung_told && j->row.pass)
        view_history_event(v, "j", key, EVENT_BAD, "%s %s/%s hangs: none of its GPUs does anything", j->kind, ns, j->name);
    else if (!hangs && j->hung_told && j->state == VIEW_RUNNING)
        view_history_event(v, "j", key, EVENT_GOOD, "%s %s/%s works again", j->kind, ns, j->name);
    j->hung_told = hangs;
}

static void state_take(struct view *v, struct view_job *j, const char *key, const char *ns, enum view_state now,
                       const struct gang_look *look, const char *why)
{
    bool known = j->row.pass != 0, had_begun = j->state == VIEW_RUNNING || j->state == VIEW_LEAVING, waits = now <= VIEW_STARTING;
    if (look->started_ms && !waits)
        j->started_ms = look->started_ms;
    else if (now == VIEW_RUNNING && !j->started_ms)
        j->started_ms = v->now_ms;
    if (known && had_begun && waits) {
        view_history_run(v, key, j, ns, "evicted");
        j->back_ms = v->now_ms;
    }
    if (known && is_over(j->state) && !is_over(now)) /* another one of its name */
        view_history_run(v, key, j, ns, state_words[j->state]);
    if (waits)
        j->started_ms = 0;
    if (is_over(now) && !j->ended_ms)
        j->ended_ms = v->now_ms;
    else if (!is_over(now))
        j->ended_ms = 0;
    if (!known || j->state != now)
        tell(v, j, key, ns, now, why);
    j->state = now;
    j->until_ms = j->limit_ms && j->started_ms && !j->ended_ms ? j->started_ms + j->limit_ms : 0;
}

static int32_t devices_asked(const struct view *v, name_id gang)
{
    struct amount *rows;
    int64_t n = 0;
    uint32_t rows_n = state_gang_asks(v->s->state, gang, v->scratch, &rows);
    for (uint32_t i = 0; i < rows_n; i++)
        if (rows[i].value > 0 && rows[i].value < INT32_MAX / 8 && gpu_is_resource(intern_name(v->s->names, rows[i].resource)))
            n += rows[i].value;
    return n < INT32_MAX ? (int32_t)n : INT32_MAX;
}

/* The sentence of why it waits or must go, or of what is wrong with it while it runs, in the arena; "": none, or nothing is known yet. */
static const char *why_of(const struct view *v, const struct seen_gang *g, const struct view_job *j, enum view_state state)
{
    if (is_over(state))
        return "";
    if (g->text && state != VIEW_LEAVING && state != VIEW_RUNNING)
        return g->text;
    const struct reason *reason = state_gang_reason(v->s->state, g->key);
    struct buf text = {0};
    if (state == VIEW_RUNNING && !(reason && reason_find(reason, REASON_MEMBERS_LOST)))
        return !j->hung_ms ? "" : j->starts_again ? HANGS "; it is started again" : HANGS;
    if (!reason)
        return "";
    explain_sentence(&text, reason, v->s->names);
    const char *kept = arena_text_n(v->scratch, text.data ? text.data : "", text.n);
    buf_free(&text);
    return kept;
}

static void row_write(struct view *v, const struct seen_gang *g, struct view_job *j, const char *id, const char *ns,
                      const struct gang_look *look, const char *why)
{
    struct buf *out = view_row_begin(v, 'j', id);
    view_row_text(out, "kd", j->kind);
    view_row_text(out, "ns", ns);
    view_row_text(out, "n", j->name);
    view_row_text(out, "q", j->queue);
    view_row_text(out, "s", state_words[j->state]);
    view_row_number(out, "p", look->priority);
    view_row_number(out, "m", look->asked_n);
    view_row_number(out, "r", g->running_n);
    view_row_number(out, "g", j->devices_n);
    view_row_number(out, "c", j->created_ms);
    view_row_number(out, "y", j->back_ms);
    view_row_number(out, "b", j->started_ms);
    view_row_number(out, "e", j->ended_ms);
    view_row_number(out, "u", j->until_ms);
    view_row_number(out, "f", j->state <= VIEW_RESERVED ? g->start_ms : 0);
    view_row_number(out, "l", j->state <= VIEW_RESERVED ? j->limit_ms : 0);
    view_row_number(out, "hg", j->state == VIEW_RUNNING ? j->hung_ms : 0);
    view_row_text(out, "x", why);
    if (g->tree && j->state <= VIEW_RESERVED)
        buf_printf(out, ",\"w\":\"%llx\"", (unsigned long long)hash_bytes(g->tree, strlen(g->tree), 3));
    view_row_end(v, &j->row);
}

static void job_write(struct view *v, const struct seen_gang *g, struct bytes key)
{
    struct gang_look look;
    enum gang_phase phase = state_gang_phase(v->s->state, g->key);
    if (!state_gang_look(v->s->state, g->key, &look))
        return;
    int32_t asked_n = devices_asked(v, g->key);
    const struct view_job *known = map_find(v->jobs, key);
    if (g->source == GANG_POD && !asked_n && phase != GANG_WAITING && (!known || !known->devices_n))
        return;
    struct view_job *j = map_put(v->jobs, key, NULL);
    const char *ns = intern_name(v->s->names, look.ns), *text = arena_text_n(v->scratch, key.data, key.n);
    object_take(v, j, g);
    held_clear(v, j);
    j->devices_n = j->held_n > asked_n ? j->held_n : asked_n ? asked_n : j->devices_n;
    enum view_state state = state_of(g, j, phase, &look);
    const char *why = why_of(v, g, j, state), *queue = intern_name(v->s->names, look.queue_title);
    if (!text_equal(j->queue, *queue ? queue : NULL)) {
        free(j->queue);
        j->queue = *queue ? mem_text(queue) : NULL;
    }
    j->created_ms = look.created_ms;
    state_take(v, j, text, ns, state, &look, why);
    hung_tell(v, j, text, ns);
    v->states_n[state]++;
    v->waiting_micro += state == VIEW_WAITING || state == VIEW_RESERVED ? j->devices_n * 1000000LL : 0;
    if (v->is_read)
        row_write(v, g, j, text, ns, &look, why);
    else
        view_row_unwritten(v, &j->row);
}

void view_jobs_write(struct view *v)
{
    struct bytes key;
    struct seen_gang **gang;
    for (size_t at = 0; (gang = map_next(v->s->gangs, &at, &key));)
        job_write(v, *gang, key);
}

/* ---- one of them ---- */

/* What the core knows now, where that has what would help; else what the job was told last. */
void view_jobs_why(const struct view *v, const char *key, struct buf *out)
{
    name_id id = intern_find(v->s->names, bytes_of(key));
    const struct seen_gang *g = id ? seen_gang(v->s, id) : NULL;
    if (!g)
        return;
    const struct reason *reason = state_gang_reason(v->s->state, g->key);
    bool is_told = g->tree && !(reason && reason->remedies);
    buf_printf(out, "{\"place\":%d,\"reason\":", (int)state_gang_position(v->s->state, g->key));
    if (is_told)
        buf_text(out, g->tree);
    else if (reason)
        explain_json(out, reason, v->s->names);
    else
        buf_text(out, "null");
    buf_text(out, ",\"pods\":[");
    for (uint32_t i = 0; i < g->pods_n; i++) {
        static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed"};
        const struct seen_pod *p = seen_pod((struct scheduler *)v->s, g->pods[i]);
        buf_text(out, i ? "," : "");
        buf_char(out, '[');
        json_write_string(out, bytes_of(intern_name(v->s->names, p->key)));
        buf_char(out, ',');
        json_write_string(out, bytes_of(intern_name(v->s->names, p->node)));
        buf_printf(out, ",\"%s\"]", p->deleting ? "Leaving" : phases[p->phase]);
    }
    buf_text(out, "]}");
}
