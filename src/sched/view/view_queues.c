/* view_queues.c - queues of Kueue, of Volcano and of KAI: what is theirs, what they have, and who waits in which place
 *
 * SHAPE  {"n":name,"kd":"ClusterQueue"|"Queue"|"KAI Queue","co":cohort or queue above,"st":strategy,"act":1,"why":why it admits nothing,"pend","adm","res",
 *         "pol":its own policy by which nodes are chosen,"polx":1 its annotation names none,"share":thousandths,
 *         "rows":[[flavor,resource,nominal,reserved,borrowed,most,lends]...],   -1: no limit; most: as far as it may go now, with what
 *                                                                               others use of the bounds of queues above; of "gpu",
 *                                                                               which KAI's count, thousandths
 *         "lq":[[key,pending,reserving]...],"wait":[gang...],"waitn":how many}
 */
#include <stdlib.h>
#include "codec/kinds/placement_names.h"
#include "sched/groups/kai_queue_source.h"
#include "sched/view/view_part.h"
#include "wire/json.h"

enum { WAITING_SHOWN = 100 };

void view_queues_drop(struct view_queue *q)
{
    free(q->cohort);
    free(q->strategy);
    q->cohort = q->strategy = NULL;
}

/* A queue with shares has bounds, its own and those of the queues above it. */
static int64_t most_of(const struct queue_usage *r, int64_t nominal)
{
    if (r->left_by_bounds < NO_END)
        return r->reserved + r->left_by_bounds;
    return r->borrowing_limit == NO_LIMIT || nominal < 0 ? -1 : nominal + r->borrowing_limit;
}

static void rows_write(const struct view *v, struct buf *out, name_id id)
{
    struct queue_usage *rows;
    uint32_t n = state_queue_usage(v->s->state, id, v->scratch, &rows);
    buf_text(out, ",\"rows\":[");
    for (uint32_t i = 0; i < n; i++) {
        const struct queue_usage *r = &rows[i];
        int64_t nominal = r->nominal >= NO_END ? -1 : r->nominal, most = most_of(r, nominal);
        buf_text(out, i ? ",[" : "[");
        json_write_string(out, bytes_of(intern_name(v->s->names, r->flavor)));
        buf_char(out, ',');
        json_write_string(out, bytes_of(intern_name(v->s->names, r->resource)));
        buf_printf(out, ",%lld,%lld,%lld,%lld,%lld]", (long long)nominal, (long long)r->reserved,
                   (long long)(nominal < 0 ? 0 : r->borrowed), (long long)most,
                   (long long)(r->lending_limit == NO_LIMIT ? -1 : r->lending_limit));
    }
    buf_char(out, ']');
}

static void waiting_write(const struct view *v, struct buf *out, name_id id, int32_t pending_n)
{
    struct pending_gang *all = NULL;
    uint32_t n = pending_n > 0 ? state_queue_pending(v->s->state, id, v->scratch, &all) : 0;
    buf_text(out, ",\"wait\":[");
    for (uint32_t i = 0; i < n && i < WAITING_SHOWN; i++) {
        buf_text(out, i ? "," : "");
        json_write_string(out, bytes_of(intern_name(v->s->names, all[i].gang)));
    }
    buf_printf(out, "],\"waitn\":%u", n);
}

static void locals_write(const struct view *v, struct buf *out, const char *queue)
{
    const struct kube_cache *cache = v->s->sources[SOURCE_LOCAL_QUEUES].cache;
    struct bytes key, raw;
    const char *before = "";
    buf_text(out, ",\"lq\":[");
    for (size_t at = 0; kube_cache_next_of(cache, queue, &at, &key, &raw);) {
        struct queue_counts counts = {0};
        (void)state_local_queue_counts(v->s->state, intern_find(v->s->names, key), &counts);
        buf_printf(out, "%s[", before);
        json_write_string(out, key);
        buf_printf(out, ",%d,%d]", (int)counts.pending_n, (int)counts.reserving_n);
        before = ",";
    }
    buf_char(out, ']');
}

static void queue_tell(struct view *v, struct view_queue *q, const char *name, bool active, const char *why)
{
    if (q->row.pass && q->active != active)
        view_history_event(v, "q", name, active ? EVENT_GOOD : EVENT_WARNS,
                           active ? "queue %s admits again" : "queue %s admits nothing: %s", name, why);
    q->active = active;
}

/* id: what the core finds it by, which is that of its row, too. */
static void queue_write(struct view *v, struct view_queue *q, const char *kind, const char *name, name_id id)
{
    struct queue_counts counts;
    struct queue_placement placement = {0};
    if (!id || !state_queue_counts(v->s->state, id, &counts))
        return;
    bool is_kueue = *kind == 'C';
    bool is_above = *kind == 'K' && kai_queue_source_has_below(v->s->kai_queues, name); /* it takes in nobody, and that is no problem */
    const struct reason *problem = q->deleting || is_above ? NULL : state_queue_problem(v->s->state, id, v->scratch);
    _cleanup_buf_ struct buf why = {0};
    int64_t share = 0;
    if (q->deleting)
        buf_text(&why, "it is being deleted");
    else if (problem)
        explain_sentence(&why, problem, v->s->names);
    struct buf *out = view_row_begin(v, 'q', arena_text(v->scratch, intern_name(v->s->names, id)));
    view_row_text(out, "n", name);
    view_row_text(out, "kd", kind);
    view_row_text(out, "co", q->cohort);
    view_row_text(out, "st", q->strategy);
    if (state_queue_placement(v->s->state, id, &placement) && placement.own)
        view_row_text(out, "pol", placement_name(placement.by));
    view_row_number(out, "polx", q->placement_wrong);
    view_row_number(out, "act", !why.n);
    view_row_text(out, "why", why.n ? why.data : NULL);
    view_row_number(out, "pend", counts.pending_n);
    view_row_number(out, "res", counts.reserving_n);
    view_row_number(out, "adm", counts.admitted_n);
    if (is_kueue && v->s->config.policy.fair.on && state_share(v->s->state, id, false, &share))
        buf_printf(out, ",\"share\":%lld", (long long)share);
    rows_write(v, out, id);
    if (is_kueue)
        locals_write(v, out, name);
    waiting_write(v, out, id, counts.pending_n);
    queue_tell(v, q, name, !why.n, why.n ? why.data : "");
    view_row_end(v, &q->row);
}

/* parent: the field that names the queue above; NULL: it is Kueue's. */
static void object_take(struct view *v, struct view_queue *q, struct bytes raw, const char *parent)
{
    if (!view_row_object_is_new(&q->object, raw))
        return;
    const struct json *object = json_parse(v->scratch, raw, NULL, NULL), *spec = json_get(object, "spec");
    view_queues_drop(q);
    q->cohort = mem_text(parent ? json_get_text(spec, parent, "") : json_text(decode_queue_cohort(spec), ""));
    q->strategy = mem_text(parent ? "" : json_get_text(spec, "queueingStrategy", "BestEffortFIFO"));
    q->placement_wrong = decode_queue_placement(object, v->scratch).unread;
    q->deleting = object_deleting(object);
}

struct queues_of {
    const char *kind, *prefix, *parent;
};

static void one_write(struct view *v, const struct queues_of *k, struct bytes key, struct bytes raw)
{
    const char *name = arena_text_n(v->scratch, key.data + 1, key.n - 1), /* "/name" */
        *id = arena_printf(v->scratch, "%s%s", k->prefix, name);
    struct view_queue *q = map_put(v->queues, bytes_of(id), NULL);
    object_take(v, q, raw, k->parent);
    queue_write(v, q, k->kind, name, intern_find(v->s->names, bytes_of(id)));
}

void view_queues_write(struct view *v)
{
    static const struct queues_of kueue = {"ClusterQueue", "", NULL}, volcano = {"Queue", DECODE_VOLCANO_QUEUE_PREFIX, "parent"},
                                   kai = {"KAI Queue", DECODE_KAI_QUEUE_PREFIX, "parentQueue"};
    const struct source *sources = v->s->sources;
    struct bytes key, raw;
    for (size_t at = 0; kube_cache_next(sources[SOURCE_QUEUES].cache, &at, &key, &raw);)
        one_write(v, &kueue, key, raw);
    for (size_t at = 0; kube_cache_next(sources[SOURCE_VOLCANO_QUEUES].cache, &at, &key, &raw);)
        one_write(v, &volcano, key, raw);
    for (size_t at = 0; kai_queue_source_next(v->s->kai_queues, &at, &key, &raw);)
        one_write(v, &kai, key, raw);
}
