#include "apiserver/verbs/watch.h"

#include "apiserver/request/accept.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/store/question.h"
#include "apiserver/tables/table.h"
#include "apiserver/verbs/list.h"
#include "apiserver/verbs/verbs.h"

#define CACHE_SLOTS 256
#define BOOKMARK_MS 60000
#define TIMEOUT_MIN_SECONDS                                                                                            \
    1800 /* without timeoutSeconds: random in [min, 2 min), as kube-apiserver's min-request-timeout */
#define TIMEOUT_MAX_SECONDS 86400

static const char *const type_names[] = {
    [STORE_ADDED] = "ADDED", [STORE_MODIFIED] = "MODIFIED", [STORE_DELETED] = "DELETED"};

struct slot {
    const struct kind *kind; /* asked for: two kinds may be stored as one */
    uint32_t form;
    uint64_t rv;
    char version_text[32];
    struct blob *chunk;
};
struct watch_set {
    struct apiserver *server;
    struct watch *first;
    size_t n;
    struct slot slots[CACHE_SLOTS];
};
struct watch {
    struct watch_set *set;
    struct watch *next, **link;
    struct http_exchange *x;
    struct request_info ri;
    struct store_watch *cursor;
    struct selector selector;
    uint32_t question; /* store/question.h */
    const char *include;
    bool table, partial, columns_sent, bookmarks, initial_end_due, bookmark_due, time_up, ended;
    bool opening;   /* when what was written before it is on disk */
    bool synthetic; /* begins with what there is */
    uint64_t rv;    /* or after this */
    bool raw; /* the client takes events: chunks are objects as they are stored, their type stands in `type` */
    struct blob **initial; /* synthetic ADDED events still to send */
    size_t initial_n, initial_at;
    struct blob *chunk;
    const char *type; /* of the chunk */
    const struct store_event *event; /* of which it tells, good until the next one; NULL: of none */
    size_t chunk_at;
    int64_t bookmark_at_ms, end_at_ms;
};

/* ---- encoding ---- */

static void chunk_begin(struct watch *w, struct buf *out, const char *type)
{
    w->type = type;
    if (w->raw)
        return;
    buf_text(out, "{\"type\":\"");
    buf_text(out, type);
    buf_text(out, "\",\"object\":");
}

static struct blob *chunk_of(const struct watch *w, struct buf *out)
{
    if (!w->raw)
        buf_text(out, "}\n");
    return blob_new(out->data, out->n);
}

static struct blob *encode(struct watch *w, enum store_event_type type, struct blob *body)
{
    if (w->raw && !w->partial && !list_converts(&w->ri, body)) {
        w->type = type_names[type];
        return blob_ref(body);
    }
    _cleanup_buf_ struct buf out = {0};
    chunk_begin(w, &out, type_names[type]);
    if (w->table) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct json *object = object_parse(a, body);
        object_show(a, w->ri.kind, object, w->ri.version);
        table_begin(&out, &w->ri, json_get_text(json_get(object, "metadata"), "resourceVersion", ""), NULL, -1,
                    !w->columns_sent);
        table_row(&out, &w->ri, a, object, w->include, true);
        table_end(&out);
    } else {
        list_object_write(&out, &w->ri, body, w->partial);
    }
    return chunk_of(w, &out);
}

/* The form in which a watcher wants events; 0 = cannot be shared. */
static uint32_t form_of(const struct watch *w, enum store_event_type type)
{
    if (w->raw || (w->table && (!w->columns_sent || w->include)))
        return 0;
    return 1u + (uint32_t)type + (w->table ? 8u : 0u) + (w->partial ? 16u : 0u);
}

static struct blob *encode_shared(struct watch *w, enum store_event_type type, const struct store_event *event)
{
    uint32_t form = form_of(w, type);
    if (!form || w->set->n < 2)
        return encode(w, type, event->body);
    struct slot *slot = &w->set->slots[(event->rv * 31 + form) % CACHE_SLOTS];
    bool hit = slot->chunk && slot->rv == event->rv && slot->kind == w->ri.kind && slot->form == form &&
               strcmp(slot->version_text, w->ri.version) == 0;
    if (!hit) {
        struct blob *chunk = encode(w, type, event->body);
        blob_unref(slot->chunk);
        *slot = (struct slot){.kind = w->ri.kind, .form = form, .rv = event->rv, .chunk = chunk};
        text_printf(slot->version_text, sizeof slot->version_text, "%s", w->ri.version);
    }
    return blob_ref(slot->chunk);
}

/* The state before the change with the change's resourceVersion: what a watcher sees whose selector stopped matching.
 */
static struct blob *encode_left(struct watch *w, const struct store_event *event)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *object = object_parse(a, event->old);
    json_set_text(a, json_get(object, "metadata"), "resourceVersion",
                  arena_printf(a, "%llu", (unsigned long long)event->rv));
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, object);
    struct blob *body = blob_new(text.data, text.n);
    struct blob *chunk = encode(w, STORE_DELETED, body);
    blob_unref(body);
    return chunk;
}

static struct blob *encode_bookmark(struct watch *w, bool initial_end)
{
    _cleanup_buf_ struct buf out = {0};
    const char *kind = w->partial ? "PartialObjectMetadata" : w->ri.kind->kind;
    const char *group = w->partial ? "meta.k8s.io" : w->ri.group;
    chunk_begin(w, &out, "BOOKMARK");
    buf_printf(&out, "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\",\"metadata\":{\"resourceVersion\":\"%llu\"", kind, group,
               *group ? "/" : "", w->partial ? "v1" : w->ri.version, (unsigned long long)(w->cursor ? store_watch_rv(w->cursor) : 0));
    buf_text(&out, ",\"creationTimestamp\":null");
    if (initial_end)
        buf_text(&out, ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
    buf_text(&out, "}}");
    return chunk_of(w, &out);
}

static struct blob *encode_error(struct watch *w, int http, const char *reason, const char *message)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0};
    chunk_begin(w, &out, "ERROR");
    json_write(&out, status_json(a, http, reason, NULL, NULL, message));
    return chunk_of(w, &out);
}

/* ---- what comes next ---- */

static bool matches(const struct watch *w, struct blob *body)
{
    if (!body || selector_empty(&w->selector))
        return body != NULL;
    if (w->question >= STORE_NOTE_QUESTIONS)
        return selector_match(&w->selector, (struct bytes){body->data, body->n});
    return question_answer(w->set->server->questions, w->ri.kind_id, w->question, body);
}

/* NULL: this watcher does not see the event. */
static struct blob *event_chunk(struct watch *w, const struct store_event *event)
{
    if ((*w->ri.ns && strcmp(event->ns, w->ri.ns) != 0) || (*w->ri.name && strcmp(event->name, w->ri.name) != 0))
        return NULL;
    struct blob *chunk = NULL;
    bool now = matches(w, event->body);
    bool before = event->type == STORE_ADDED ? false : selector_empty(&w->selector) ? true : matches(w, event->old);
    if (event->type == STORE_DELETED)
        chunk = before ? encode_shared(w, STORE_DELETED, event) : NULL;
    else if (now)
        chunk = encode_shared(w, before ? STORE_MODIFIED : STORE_ADDED, event);
    else if (before)
        chunk = encode_left(w, event);
    w->columns_sent = w->columns_sent || chunk;
    return chunk;
}

static struct blob *initial_chunk(struct watch *w)
{
    struct blob *body = w->initial[w->initial_at++];
    struct blob *chunk = encode(w, STORE_ADDED, body);
    w->columns_sent = true;
    blob_unref(body);
    if (w->initial_at == w->initial_n) {
        free(w->initial);
        w->initial = NULL;
        w->initial_n = w->initial_at = 0;
    }
    return chunk;
}

static struct blob *end_chunk(struct watch *w, struct blob *chunk)
{
    w->ended = true;
    return chunk;
}

/* The next chunk to send, or NULL: nothing now, or ended. */
static struct blob *next_chunk(struct watch *w)
{
    w->event = NULL;
    if (w->ended || !w->cursor)
        return NULL;
    if (w->initial_at < w->initial_n)
        return initial_chunk(w);
    if (w->initial_end_due) {
        w->initial_end_due = false;
        return encode_bookmark(w, true);
    }
    const struct store_event *event;
    int code = 0;
    while ((event = store_watch_next(w->cursor, &code))) {
        struct blob *chunk = event_chunk(w, event);
        w->event = event;
        if (chunk)
            return chunk;
    }
    w->event = NULL;
    if (code == -E_GONE)
        return end_chunk(w,
                         encode_error(w, 410, "Expired", "the watcher is too slow, events were dropped: list again"));
    if (w->time_up)
        return end_chunk(w, w->bookmarks ? encode_bookmark(w, false) : NULL);
    if (w->bookmark_due) {
        w->bookmark_due = false;
        return encode_bookmark(w, false);
    }
    return NULL;
}

static ssize_t pull(void *arg, char *out, size_t max)
{
    struct watch *w = arg;
    size_t n = 0;
    while (n < max) {
        if (!w->chunk)
            w->chunk = next_chunk(w);
        if (!w->chunk)
            return n == 0 && w->ended ? -1 : (ssize_t)n;
        size_t part = w->chunk->n - w->chunk_at < max - n ? w->chunk->n - w->chunk_at : max - n;
        memcpy(out + n, w->chunk->data + w->chunk_at, part);
        n += part;
        w->chunk_at += part;
        if (w->chunk_at == w->chunk->n) {
            blob_unref(w->chunk);
            w->chunk = NULL;
            w->chunk_at = 0;
        }
    }
    return (ssize_t)n;
}

/* chunk_at stands for "handed over" here. */
static int pull_event(void *arg, struct http_event *ret_event)
{
    struct watch *w = arg;
    if (w->chunk_at)
        blob_unref(take_ptr(w->chunk));
    w->chunk_at = 1;
    if (!w->chunk)
        w->chunk = next_chunk(w);
    if (!w->chunk)
        return w->ended ? -1 : 0;
    *ret_event = (struct http_event){.type = w->type, .object = {w->chunk->data, w->chunk->n}, .body = w->chunk};
    if (w->event) {
        ret_event->ns = w->event->ns;
        ret_event->name = w->event->name;
        ret_event->rv = w->event->rv;
    }
    return 1;
}

static void cursor_close(struct watch *w)
{
    store_watch_free(w->cursor);
    w->cursor = NULL;
    for (size_t i = w->initial_at; i < w->initial_n; i++)
        blob_unref(w->initial[i]);
    free(w->initial);
    w->initial = NULL;
    w->initial_at = w->initial_n = 0;
}

static void closed(void *arg)
{
    struct watch *w = arg;
    cursor_close(w);
    blob_unref(w->chunk);
    if (w->set) {
        *w->link = w->next;
        if (w->next)
            w->next->link = w->link;
        w->set->n--;
    }
    free(w);
}

static void wake(void *arg)
{
    struct watch *w = arg;
    if (!w->opening)
        http_stream_wake(w->x);
}

/* ---- beginning ---- */

struct watch_query {
    uint64_t rv;
    bool synthetic, initial_end, bookmarks;
    int64_t timeout_seconds;
    struct selector selector;
};

static bool initial_parse(struct http_exchange *x, const struct request_info *ri, struct watch_query *q)
{
    const char *send = http_query(&x->request, "sendInitialEvents");
    const char *match = http_query(&x->request, "resourceVersionMatch");
    const char *what = NULL;
    if (send && *send) {
        q->initial_end = q->synthetic = request_bool(send);
        if (!match || strcmp(match, "NotOlderThan") != 0)
            what = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to "
                   "NotOlderThan";
    } else if (match && *match) {
        what = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents "
               "is provided";
    }
    if (what)
        status_reply(x, 422, "Invalid", ri, NULL, "ListOptions.meta.k8s.io \"\" is invalid: %s", what);
    return what == NULL;
}

static struct selector_kind selector_kind_of(const struct request_info *ri)
{
    return (struct selector_kind){ri->group, ri->plural, ri->kind_version->selectable};
}

static bool query_parse(struct http_exchange *x, const struct request_info *ri, struct watch_query *q)
{
    struct err e = {0};
    const char *timeout = http_query(&x->request, "timeoutSeconds");
    if (!list_rv_parse(x, ri, &q->rv))
        return false;
    q->synthetic = q->rv == 0;
    q->bookmarks = request_bool(http_query(&x->request, "allowWatchBookmarks"));
    q->timeout_seconds = 0;
    if (timeout && *timeout && (!bytes_int64(bytes_of(timeout), &q->timeout_seconds) || q->timeout_seconds < 0)) {
        status_reply(x, 400, "BadRequest", ri, NULL, "timeoutSeconds: expected a number of seconds, got \"%.40s\"",
                     timeout);
        return false;
    }
    if (q->timeout_seconds == 0)
        q->timeout_seconds = TIMEOUT_MIN_SECONDS + (int64_t)random_below(&ri->server->random, TIMEOUT_MIN_SECONDS);
    if (q->timeout_seconds > TIMEOUT_MAX_SECONDS)
        q->timeout_seconds = TIMEOUT_MAX_SECONDS;
    const struct selector_kind selectable = selector_kind_of(ri);
    if (selector_parse(x->request.arena, http_query(&x->request, "labelSelector"), http_query(&x->request, "fieldSelector"), &selectable,
                       &q->selector, &e) < 0) {
        status_reply_err(x, ri, &e);
        return false;
    }
    return initial_parse(x, ri, q);
}

/* What exists now, matching: sent as ADDED before anything else. */
static void initial_collect(struct watch *w)
{
    struct store *store = w->set->server->store;
    struct store_cursor *c = store_list(store, w->ri.kind_id, *w->ri.ns ? w->ri.ns : NULL, NULL);
    const struct store_object *o;
    size_t cap = 0;
    while ((o = store_list_next(c))) {
        if ((*w->ri.name && strcmp(o->name, w->ri.name) != 0) || !matches(w, o->body))
            continue;
        MEM_RESERVE(w->initial, cap, w->initial_n + 1);
        w->initial[w->initial_n++] = blob_ref(o->body);
    }
    store_list_free(c);
}

static void cursor_open(struct watch *w)
{
    struct store *store = w->set->server->store;
    struct err e = {0};
    uint64_t now = store_rv(store), since = w->synthetic || w->rv == 0 ? now : w->rv;
    if (w->rv > now)
        (void)err_set(&e, E_GONE, "too large resource version: %llu (%llu)", (unsigned long long)w->rv,
                      (unsigned long long)now);
    else if (store_watch_new(store, w->ri.kind_id, since, wake, w, &w->cursor, &e) == 0) {
        if (w->raw)
            store_watch_ahead(w->cursor);
        if (w->synthetic)
            initial_collect(w);
        return;
    }
    w->chunk = end_chunk(w, encode_error(w, 410, "Expired", e.text));
}

/* WHY  not before what it begins with is on disk: a watcher would be shown what is taken back when the disk does not take it. */
static void open_stream(void *arg, bool ok)
{
    struct watch *w = arg;
    w->opening = false;
    if (!ok && w->set && w->cursor) { /* what it was to begin with is no more */
        cursor_close(w);
        cursor_open(w);
    }
    if (w->raw)
        http_stream_events(w->x, 200, "application/json", pull_event, closed, w);
    else
        http_stream(w->x, 200, "application/json", pull, closed, w);
}

void watch_handle(struct http_exchange *x, const struct request_info *ri)
{
    struct watch_query q = {0};
    if (!query_parse(x, ri, &q))
        return;
    struct watch_set *set = ri->server->watches;
    struct watch *w = mem_zero(1, sizeof *w);
    int64_t now_ms = loop_now_ms(set->server->loop);
    const struct selector_kind selectable = selector_kind_of(ri);
    w->set = set;
    w->x = x;
    w->ri = *ri;
    w->selector = q.selector;
    if (!selector_empty(&w->selector))
        w->question = question_of(ri->server->questions, ri->kind_id, &selectable, http_query(&x->request, "labelSelector"),
                                  http_query(&x->request, "fieldSelector"));
    w->table = table_wanted(&x->request);
    w->partial = !w->table && accept_partial(&x->request);
    w->raw = !w->table && x->request.takes_events;
    w->include = http_query(&x->request, "includeObject");
    w->bookmarks = q.bookmarks;
    w->initial_end_due = q.initial_end;
    w->end_at_ms = now_ms + q.timeout_seconds * 1000;
    w->bookmark_at_ms = now_ms + BOOKMARK_MS;
    w->next = set->first;
    w->link = &set->first;
    if (w->next)
        w->next->link = &w->next;
    set->first = w;
    set->n++;
    w->synthetic = q.synthetic;
    w->rv = q.rv;
    w->opening = store_dirty(set->server->store);
    cursor_open(w);
    if (w->opening)
        store_when_durable(set->server->store, open_stream, w);
    else
        open_stream(w, true);
}

/* ---- the set ---- */

struct watch_set *watch_set_new(struct apiserver *s)
{
    struct watch_set *set = mem_zero(1, sizeof *set);
    set->server = s;
    return set;
}

void watch_set_tick(struct watch_set *set)
{
    int64_t now_ms = loop_now_ms(set->server->loop);
    for (struct watch *w = set->first, *next; w; w = next) {
        next = w->next;
        bool due = false;
        if (now_ms >= w->end_at_ms && !w->time_up)
            due = w->time_up = true;
        if (w->bookmarks && now_ms >= w->bookmark_at_ms) {
            w->bookmark_at_ms = now_ms + BOOKMARK_MS;
            due = w->bookmark_due = true;
        }
        if (due && !w->opening)
            http_stream_wake(w->x);
    }
}

void watch_set_free(struct watch_set *set)
{
    if (!set)
        return;
    for (struct watch *w = set->first, *next; w; w = next) {
        next = w->next;
        store_watch_free(w->cursor);
        w->cursor = NULL;
        w->set = NULL;
        w->ended = true;
        if (!w->opening)
            http_stream_wake(w->x);
    }
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        blob_unref(set->slots[i].chunk);
    free(set);
}
