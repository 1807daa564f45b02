/* view_pass.c - one pass over all rows, and what is other since the one before */
#include "codec/kinds/placement_names.h"
#include "sched/view/view_part.h"
#include "wire/json.h"

static void nothing_fini(void *value)
{
    (void)value;
}
static void queue_fini(void *value)
{
    view_queues_drop(value);
}

static void job_fini(void *value)
{
    view_jobs_drop(value);
}

/* What was not written in this pass is gone. */
static void sweep(struct view *v, struct map *rows, char kind, void (*fini)(void *value))
{
    struct bytes key;
    struct row *row;
    for (size_t at = 0; (row = map_next(rows, &at, &key));) {
        if (row->pass == v->pass)
            continue;
        if (row->pass)
            view_row_gone(v, kind, key);
        fini(row);
        (void)map_remove(rows, key);
    }
}

static const char *ns_of(struct view *v, struct bytes key)
{
    const char *at = memchr(key.data, '/', key.n), *end = at ? memchr(at + 1, '/', (size_t)(key.data + key.n - at - 1)) : NULL;
    return end ? arena_text_n(v->arena, at + 1, (size_t)(end - at - 1)) : "";
}

/* Whose objects are gone: that they have run stays. */
static void jobs_gone(struct view *v)
{
    struct bytes key;
    struct view_job *j;
    for (size_t at = 0; (j = map_next(v->jobs, &at, &key));) {
        if (j->row.pass == v->pass || !j->row.pass)
            continue;
        const char *text = arena_text_n(v->arena, key.data, key.n), *ns = ns_of(v, key);
        bool was_over = j->state == VIEW_DONE || j->state == VIEW_FAILED, has_run = j->started_ms != 0;
        if (has_run)
            view_history_run(v, text, j, ns, j->state == VIEW_FAILED ? "failed" : was_over ? "done" : "gone");
        if (!was_over)
            view_history_event(v, "j", text, EVENT_PLAIN, "%s %s/%s is gone", j->kind ? j->kind : "Pod", ns, j->name ? j->name : "");
    }
}

static void node_gone(struct view *v)
{
    struct bytes key;
    struct row *row;
    for (size_t at = 0; (row = map_next(v->nodes, &at, &key));)
        if (row->pass && row->pass != v->pass) {
            const char *name = arena_text_n(v->arena, key.data, key.n);
            view_history_event(v, "n", name, EVENT_WARNS, "node %s is gone", name);
        }
}

/* Sent with whatever else is other: it is short. */
static void whole_write(struct view *v)
{
    const struct scheduler_counts counts = scheduler_counts(v->s);
    struct buf *out = view_row_begin(v, 'm', "");
    view_row_text(out, "version", CAPSTAN_VERSION);
    view_row_text(out, "role", !v->s->config.leader_elect ? "standalone" : counts.leading ? "leader" : "follower");
    view_row_number(out, "synced", counts.synced);
    view_row_number(out, "fair", v->s->config.policy.fair.on);
    view_row_text(out, "pol", placement_name(v->s->placement));
    view_row_number(out, "n", view_milli(v->gpus_micro));
    view_row_number(out, "h", view_milli(v->held_micro));
    view_row_number(out, "sick", v->sick_n);
    buf_printf(out, ",\"a\":%lld", v->measured_micro ? view_milli(v->active_micro) : -1);
    view_row_number(out, "ma", view_milli(v->measured_micro));
    view_row_number(out, "w", view_milli(v->waiting_micro));
    buf_text(out, ",\"s\":[");
    for (int i = 0; i <= VIEW_FAILED; i++)
        buf_printf(out, "%s%u", i ? "," : "", v->states_n[i]);
    buf_printf(out, "],\"max\":[%d,%d,%d,%d]", VIEW_EVENTS_MAX, VIEW_RUNS_MAX, VIEW_RECENT_MAX, VIEW_PAST_MAX);
    buf_char(out, '}');
}

static void counts_clear(struct view *v)
{
    v->gpus_micro = v->held_micro = v->active_micro = v->measured_micro = v->waiting_micro = v->sick_n = 0;
    memset(v->states_n, 0, sizeof v->states_n);
}

bool view_pass(struct view *v)
{
    arena_reset(v->arena);
    buf_clear(&v->all);
    buf_clear(&v->set);
    buf_clear(&v->del);
    counts_clear(v);
    v->pass++;
    v->now_ms = loop_wall_ms(v->loop);
    view_nodes_write(v);
    view_queues_write(v);
    view_jobs_write(v);
    jobs_gone(v);
    node_gone(v);
    sweep(v, v->nodes, 'n', nothing_fini);
    sweep(v, v->queues, 'q', queue_fini);
    sweep(v, v->jobs, 'j', job_fini);
    view_history_usage(v);
    bool differs = v->set.n || v->del.n;
    whole_write(v);
    if (!differs)
        return false;
    buf_bytes(&v->set, (struct bytes){v->all.data + v->row_at - 1, v->all.n - v->row_at + 1});
    v->version++;
    blob_unref(v->snapshot);
    v->snapshot = NULL;
    return true;
}

void view_pass_forget(struct view *v)
{
    buf_free(&v->all);
    buf_free(&v->set);
    buf_free(&v->del);
    blob_unref(v->snapshot);
    v->snapshot = NULL;
}

struct blob *view_pass_snapshot(struct view *v)
{
    if (!v->snapshot) {
        _cleanup_buf_ struct buf out = {0}, rows = {0};
        buf_bytes(&rows, buf_view(&v->all));
        view_history_write(v, &rows);
        buf_printf(&out, "{\"v\":%llu,\"t\":%lld,\"full\":true,\"set\":[", (unsigned long long)v->version, (long long)v->now_ms);
        if (rows.n)
            buf_add(&out, rows.data + 1, rows.n - 1);
        buf_text(&out, "]}");
        v->snapshot = blob_new(out.data, out.n);
    }
    return blob_ref(v->snapshot);
}
