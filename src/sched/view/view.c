/* view.c - the paths of the page, and when there is a new pass
 *
 * WHEN   somebody looks: when something has changed, at most twice a second. Nobody does: every ten seconds, for the history. Either way
 *        not before a hundred times what the last one took.
 */
#include "sched/view/view.h"
#include <stdlib.h>
#include "sched/view/view_part.h"

enum { TICK_MS = 250, BUSY_MS = 500, IDLE_MS = VIEW_RECENT_MS, SHARE = 100 };

/* WHY  names come from whoever may create objects: nothing that they say is run, nothing is loaded from elsewhere, nobody frames it. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

static uint64_t changes_of(const struct view *v)
{
    const struct scheduler_counts *c = &v->s->counts;
    return c->changes_n + c->cycles_n + c->binds_n + c->admits_n + c->synced + v->s->leading;
}

static void pass(struct view *v, bool is_read)
{
    v->is_read = is_read;
    int64_t began_us = loop_clock_us(v->loop);
    v->seen_changes = changes_of(v);
    bool differs = view_pass(v);
    if (differs && view_stream_count(v->viewers)) {
        _cleanup_buf_ struct buf out = {0};
        buf_printf(&out, "{\"v\":%llu,\"t\":%lld,\"set\":[", (unsigned long long)v->version, (long long)v->now_ms);
        buf_add(&out, v->set.data + 1, v->set.n - 1); /* the whole is always among them */
        buf_text(&out, "],\"del\":[");
        if (v->del.n)
            buf_add(&out, v->del.data + 1, v->del.n - 1);
        buf_text(&out, "]}");
        view_stream_tell(v->viewers, blob_new(out.data, out.n));
    }
    int64_t rest_ms = (loop_clock_us(v->loop) - began_us) * SHARE / 1000;
    v->last_ms = loop_now_ms(v->loop);
    v->rest_ms = rest_ms > BUSY_MS ? rest_ms : BUSY_MS;
}

static void tick(void *arg)
{
    struct view *v = arg;
    view_stream_look(v->viewers);
    int64_t waited_ms = loop_now_ms(v->loop) - v->last_ms;
    bool is_due = v->s->synced && waited_ms >= v->rest_ms && (waited_ms >= IDLE_MS || view_stream_count(v->viewers));
    bool is_usage_due = loop_wall_ms(v->loop) - v->recent_ms >= VIEW_RECENT_MS;
    if (!is_due || (v->seen_changes == changes_of(v) && !is_usage_due))
        return;
    pass(v, view_stream_count(v->viewers) > 0);
    if (!view_stream_count(v->viewers))
        view_pass_forget(v);
}

struct view *view_new(struct loop *l, struct scheduler *s)
{
    struct view *v = mem_zero(1, sizeof *v);
    v->loop = l;
    v->s = s;
    v->arena = arena_new();
    v->scratch = arena_new();
    v->nodes = map_new(sizeof(struct view_node));
    v->queues = map_new(sizeof(struct view_queue));
    v->jobs = map_new(sizeof(struct view_job));
    v->viewers = view_stream_new(l);
    view_history_init(v);
    v->tick = loop_timer_new(l, tick, v);
    loop_timer_start(v->tick, TICK_MS, TICK_MS);
    return v;
}

void view_free(struct view *v)
{
    if (!v)
        return;
    struct bytes key;
    struct view_queue *q;
    struct view_job *j;
    for (size_t at = 0; (q = map_next(v->queues, &at, &key));)
        view_queues_drop(q);
    for (size_t at = 0; (j = map_next(v->jobs, &at, &key));)
        view_jobs_drop(j);
    loop_timer_free(v->tick);
    view_sessions_free(v);
    view_stream_free(v->viewers);
    view_history_fini(v);
    map_free(v->nodes);
    map_free(v->queues);
    map_free(v->jobs);
    arena_free(v->arena);
    arena_free(v->scratch);
    blob_unref(v->snapshot);
    buf_free(&v->all);
    buf_free(&v->set);
    buf_free(&v->del);
    free(v);
}

uint32_t view_viewers(const struct view *v)
{
    return view_stream_count(v->viewers);
}

/* ---- answers ---- */

/* As of now, or of a moment ago: who comes again and again does not cost a pass each time. */
static struct blob *snapshot_now(struct view *v)
{
    if (!v->all.n || (loop_now_ms(v->loop) - v->last_ms >= v->rest_ms && v->seen_changes != changes_of(v)))
        pass(v, true);
    return view_pass_snapshot(v);
}

static void stream(struct view *v, struct http_exchange *x)
{
    if (text_equal(x->request.method, "HEAD")) {
        http_reply(x, 200, "text/event-stream", NULL);
    } else if (view_stream_count(v->viewers) >= VIEW_VIEWERS_MAX) {
        http_set_header(x, "Retry-After", "30");
        http_reply_text(x, 503, VIEW_PLAIN, "as many pages are open as are served: close some, or try again\n");
    } else {
        view_stream_add(v->viewers, x, snapshot_now(v));
    }
}

static void question(struct view *v, struct http_exchange *x, const char *what)
{
    bool of_job = text_equal(what, "why");
    const char *name = http_query(&x->request, of_job ? "job" : "name");
    _cleanup_buf_ struct buf out = {0};
    if (name && text_equal(what, "sessions") && view_sessions_ask(v, x, name))
        return;
    if (name && of_job)
        view_jobs_why(v, name, &out);
    else if (name && text_equal(what, "node"))
        view_nodes_detail(v, x->request.arena, intern_find(v->s->names, bytes_of(name)), &out);
    if (out.n)
        http_reply(x, 200, VIEW_JSON, blob_new(out.data, out.n));
    else if (name)
        http_reply_text(x, 404, VIEW_PLAIN, of_job ? "there is no such job (any more)\n" : "there is no such node (any more)\n");
    else
        http_reply_text(x, 400, VIEW_PLAIN, of_job ? "say which: ?job=workload/NAMESPACE/NAME\n" : "say which: ?name=NODE\n");
}

static void api(struct view *v, struct http_exchange *x, const char *path)
{
    http_set_header(x, "Cache-Control", "no-store");
    if (!v->s->synced)
        http_reply_text(x, 503, VIEW_PLAIN, "not everything has been read yet: try again\n");
    else if (text_equal(path, "cluster"))
        http_reply(x, 200, VIEW_JSON, snapshot_now(v));
    else if (text_equal(path, "stream"))
        stream(v, x);
    else if (text_equal(path, "why") || text_equal(path, "node") || text_equal(path, "sessions"))
        question(v, x, path);
    else
        http_reply_text(x, 404, VIEW_PLAIN, "not found: /ui/api/cluster, stream, why?job=, node?name= and sessions?name= are here\n");
}

static void guard(struct http_exchange *x)
{
    http_set_header(x, "Content-Security-Policy", policy);
    http_set_header(x, "X-Content-Type-Options", "nosniff");
    http_set_header(x, "Referrer-Policy", "no-referrer");
    http_set_header(x, "Cross-Origin-Resource-Policy", "same-origin");
}

static void move(struct http_exchange *x, int status)
{
    http_set_header(x, "Location", "/ui/");
    http_set_header(x, "Vary", "Accept");
    http_reply_text(x, status, VIEW_PLAIN, "the page is at /ui/\n");
}

static bool is_browser(const struct http_request *r)
{
    const char *accepts = http_header(r, "accept");
    return accepts && strstr(accepts, "text/html");
}

bool view_handle(void *view, struct http_exchange *x)
{
    struct view *v = view;
    const char *path = x->request.path;
    bool reads = text_equal(x->request.method, "GET") || text_equal(x->request.method, "HEAD");
    if (!path[1]) {
        if (!reads || !is_browser(&x->request))
            return false;
        move(x, 302);
        return true;
    }
    if (!text_starts(path, "/ui") || (path[3] && path[3] != '/'))
        return false;
    guard(x);
    if (!reads) {
        http_set_header(x, "Allow", "GET, HEAD");
        http_reply_text(x, 405, VIEW_PLAIN, "GET only: this page changes nothing\n");
    } else if (!path[3]) {
        move(x, 301);
    } else if (text_starts(path + 4, "api/")) {
        api(v, x, path + 8);
    } else if (!view_files_answer(x, path + 4)) {
        http_reply_text(x, 404, VIEW_PLAIN, "not found: the page is at /ui/\n");
    }
    return true;
}
