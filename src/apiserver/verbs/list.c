#include "apiserver/verbs/list.h"

#include <stdio.h>
#include <stdlib.h>

#include "apiserver/request/accept.h"
#include "apiserver/request/fields.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/store/selector.h"
#include "apiserver/tables/object_reply.h"
#include "apiserver/tables/table.h"
#include "apiserver/verbs/list_stream.h"
#include "apiserver/verbs/verbs.h"

/* ---- writing ---- */

/* WHY  not the kind's storage version alone: it may have been another one when the object was written. The server writes apiVersion before
 * all that is nested; where somebody else did not, the object is parsed for nothing. */
static bool is_of(const struct blob *body, const char *group, const char *version)
{
    char wanted[320];
    int n = snprintf(wanted, sizeof wanted, "\"apiVersion\":\"%s%s%s\"", group, *group ? "/" : "", version);
    const char *nested = body->n > 1 ? memchr(body->data + 1, '{', body->n - 1) : NULL;
    size_t head_n = nested ? (size_t)(nested - body->data) : body->n;
    return n > 0 && (size_t)n < sizeof wanted && memmem(body->data, head_n, wanted, (size_t)n);
}

bool list_kind_converts(const struct request_info *ri)
{
    return object_defaults_late(ri->kind, ri->version) || kind_storage(ri->kind) != ri->kind_version;
}

static bool had_other_versions(const struct kind *k)
{
    return k->versions_n > 1 || !kind_is_built_in(k);
}

bool list_converts(const struct request_info *ri, const struct blob *body)
{
    return list_kind_converts(ri) || (had_other_versions(ri->kind) && !is_of(body, ri->group, ri->version));
}

bool list_stored_converts(const struct request_info *ri)
{
    if (list_kind_converts(ri) || !had_other_versions(ri->kind))
        return list_kind_converts(ri);
    const struct store_object *o = store_get(ri->server->store, ri->kind_id, ri->ns, ri->name);
    return o && !is_of(o->body, ri->group, ri->version);
}

void list_object_write(struct buf *out, const struct request_info *ri, const struct blob *body, bool partial)
{
    if (!list_converts(ri, body) && !partial) {
        buf_add(out, body->data, body->n);
        return;
    }
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *object = object_parse(a, body);
    if (partial) {
        accept_partial_write(out, object);
        return;
    }
    object_show(a, ri->kind, object, ri->version);
    json_write(out, object);
}

void list_writer_begin(struct list_writer *w, struct http_exchange *x, const struct request_info *ri,
                       const char *continue_token, int64_t remaining)
{
    *w = (struct list_writer){
        .x = x, .ri = ri, .continue_token = continue_token, .remaining = remaining, .rv = store_rv(ri->server->store)};
}

void list_writer_add(struct list_writer *w, struct blob *body)
{
    MEM_RESERVE(w->items, w->items_cap, w->items_n + 1);
    w->items[w->items_n++] = blob_ref(body);
}

static void table_reply(struct list_writer *w, struct buf *out, const char *rv)
{
    _cleanup_arena_ struct arena *a = arena_new();
    table_begin(out, w->ri, rv, w->continue_token, w->remaining, true);
    for (size_t i = 0; i < w->items_n; i++) {
        arena_reset(a);
        struct json *object = object_parse(a, w->items[i]);
        object_show(a, w->ri->kind, object, w->ri->version);
        table_row(out, w->ri, a, object, http_query(&w->x->request, "includeObject"), i == 0);
    }
    table_end(out);
}

static void plain_head(struct list_writer *w, struct buf *out, const char *rv, bool partial)
{
    const struct request_info *ri = w->ri;
    const char *version = object_api_version(w->x->request.arena, ri->kind, ri->version);
    buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%s\"",
               partial ? "PartialObjectMetadataList" : ri->kind->list_kind, partial ? "meta.k8s.io/v1" : version, rv);
    if (w->continue_token && *w->continue_token)
        buf_printf(out, ",\"continue\":\"%s\"", w->continue_token);
    if (w->remaining >= 0)
        buf_printf(out, ",\"remainingItemCount\":%lld", (long long)w->remaining);
    buf_text(out, "},\"items\":[");
}

/* True: the list is large, and its objects go out as they are stored. */
static bool streams(const struct list_writer *w, bool partial)
{
    size_t bytes = 0;
    bool converts = false;
    for (size_t i = 0; i < w->items_n && bytes <= LIST_STREAM_BYTES; i++)
        bytes += w->items[i]->n;
    for (size_t i = 0; i < w->items_n && bytes > LIST_STREAM_BYTES && !partial && !converts; i++)
        converts = list_converts(w->ri, w->items[i]);
    return bytes > LIST_STREAM_BYTES && !partial && !converts;
}

static void plain_items(struct list_writer *w, struct buf *out, bool partial)
{
    for (size_t i = 0; i < w->items_n; i++) {
        if (i)
            buf_char(out, ',');
        list_object_write(out, w->ri, w->items[i], partial);
    }
    buf_text(out, "]}");
}

/* Less of each object. What is no JSON in the store is shown whole. */
static void less_items(struct list_writer *w, struct buf *out, const struct fields *fields)
{
    _cleanup_buf_ struct buf whole = {0};
    for (size_t i = 0; i < w->items_n; i++) {
        struct bytes object = {w->items[i]->data, w->items[i]->n};
        if (i)
            buf_char(out, ',');
        if (list_converts(w->ri, w->items[i])) {
            buf_clear(&whole);
            list_object_write(&whole, w->ri, w->items[i], false);
            object = buf_view(&whole);
        }
        if (!fields_write(out, fields, object))
            buf_bytes(out, object);
    }
    buf_text(out, "]}");
}

void list_writer_drop(struct list_writer *w)
{
    for (size_t i = 0; i < w->items_n; i++)
        blob_unref(w->items[i]);
    free(w->items);
    w->items = NULL;
    w->items_n = 0;
}

void list_writer_reply(struct list_writer *w)
{
    char rv[24];
    snprintf(rv, sizeof rv, "%llu", (unsigned long long)w->rv);
    _cleanup_buf_ struct buf out = {0};
    bool table = table_wanted(&w->x->request), partial = accept_partial(&w->x->request);
    const char *less = table || partial ? NULL : http_query(&w->x->request, "fields");
    struct fields fields;
    struct err e = {0};
    if (less && *less && fields_parse(bytes_of(less), &fields, &e) < 0) {
        list_writer_drop(w);
        status_reply(w->x, 400, "BadRequest", w->ri, NULL, "%s", e.text);
        return;
    }
    if (table)
        table_reply(w, &out, rv);
    else
        plain_head(w, &out, rv, partial);
    bool has_less = less && *less;
    if (!table && streams(w, partial)) {
        list_stream_reply(w->ri->server, w->x, buf_view(&out), w->items, w->items_n, has_less ? &fields : NULL);
        w->items = NULL;
        return;
    }
    if (has_less)
        less_items(w, &out, &fields);
    else if (!table)
        plain_items(w, &out, partial);
    buf_char(&out, '\n');
    list_writer_drop(w);
    reply_durable(w->ri->server, w->x, 200, "application/json", blob_new(out.data, out.n));
}

/* ---- reading ---- */

#define TOKEN_SECONDS 300 /* of a continue token; as long as Kubernetes' storage keeps old states */

struct list_query {
    uint64_t rv;       /* asked for; 0 = newest */
    uint64_t at_rv;    /* exact state to show; 0 = newest */
    int64_t limit;     /* 0 = all */
    const char *after; /* "ns/name" or NULL */
    bool expired;      /* the token is older than TOKEN_SECONDS */
    struct selector selector;
};

bool list_rv_parse(struct http_exchange *x, const struct request_info *ri, uint64_t *ret_rv)
{
    const char *text = http_query(&x->request, "resourceVersion");
    int64_t value = 0;
    if (text && *text && (!bytes_int64(bytes_of(text), &value) || value < 0)) {
        status_reply(x, 400, "BadRequest", ri, NULL,
                     "resourceVersion: Invalid value: \"%.40s\": must be a number that the server gave out", text);
        return false;
    }
    *ret_rv = (uint64_t)value;
    return true;
}

static bool match_parse(struct http_exchange *x, const struct request_info *ri, struct list_query *q)
{
    const char *match = http_query(&x->request, "resourceVersionMatch");
    const char *token = http_query(&x->request, "continue");
    const char *what = NULL;
    if (request_bool(http_query(&x->request, "sendInitialEvents")))
        what = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list";
    else if (!match || !*match)
        return true;
    else if (!http_query(&x->request, "resourceVersion") || !*http_query(&x->request, "resourceVersion"))
        what = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
    else if (token && *token)
        what = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided";
    else if (strcmp(match, "Exact") == 0 && q->rv == 0)
        what = "resourceVersionMatch: Forbidden: resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"";
    else if (strcmp(match, "Exact") != 0 && strcmp(match, "NotOlderThan") != 0)
        what = "resourceVersionMatch: Unsupported value: supported values: \"Exact\", \"NotOlderThan\"";
    if (what) {
        status_reply(x, 422, "Invalid", ri, NULL, "ListOptions.meta.k8s.io \"\" is invalid: %s", what);
        return false;
    }
    if (strcmp(match, "Exact") == 0)
        q->at_rv = q->rv;
    return true;
}

/* Token: base64 of "RV@SECONDS NS/NAME": the state that the first page showed, when the token was made, and the last object shown. RV 0:
 * from there on in the newest state. */
static bool token_parse(struct http_exchange *x, const struct request_info *ri, struct list_query *q)
{
    const char *token = http_query(&x->request, "continue");
    if (!token || !*token)
        return true;
    _cleanup_buf_ struct buf text = {0};
    char *end = NULL;
    if (base64_decode(&text, bytes_of(token)) && text.n && text.n < 1024)
        q->at_rv = strtoull(text.data, &end, 10);
    int64_t made_s = end && *end == '@' ? strtoll(end + 1, &end, 10) : 0;
    q->expired = q->at_rv && made_s < loop_wall_ms(ri->server->loop) / 1000 - TOKEN_SECONDS;
    if (!end || *end != ' ' || !strchr(end, '/') || q->at_rv > store_rv(ri->server->store)) {
        status_reply(x, 400, "BadRequest", ri, NULL,
                     "continue key is not valid: give back what the last page's metadata.continue held");
        return false;
    }
    q->after = arena_text(x->request.arena, end + 1);
    return true;
}

static bool query_parse(struct http_exchange *x, const struct request_info *ri, struct list_query *q)
{
    struct err e = {0};
    const char *limit = http_query(&x->request, "limit");
    if (!list_rv_parse(x, ri, &q->rv))
        return false;
    if (limit && *limit && (!bytes_int64(bytes_of(limit), &q->limit) || q->limit < 0)) {
        status_reply(x, 400, "BadRequest", ri, NULL, "limit: Invalid value: \"%.40s\": must be a number, 0 or more",
                     limit);
        return false;
    }
    if (selector_parse(x->request.arena, http_query(&x->request, "labelSelector"), http_query(&x->request, "fieldSelector"),
                       &(struct selector_kind){ri->group, ri->plural, ri->kind_version->selectable}, &q->selector, &e) < 0) {
        status_reply_err(x, ri, &e);
        return false;
    }
    if (!match_parse(x, ri, q) || !token_parse(x, ri, q))
        return false;
    if (q->rv <= store_rv(ri->server->store))
        return true;
    struct json *status =
        status_json(x->request.arena, 504, "Timeout", ri, NULL,
                    arena_printf(x->request.arena, "Too large resource version: %llu, current: %llu",
                                 (unsigned long long)q->rv, (unsigned long long)store_rv(ri->server->store)));
    struct json *details = json_ensure_object(x->request.arena, status, "details");
    struct json *cause = json_new(x->request.arena, JSON_OBJECT);
    json_set_text(x->request.arena, cause, "reason", "ResourceVersionTooLarge");
    json_set_text(x->request.arena, cause, "message", "Too large resource version");
    json_append(json_ensure_array(x->request.arena, details, "causes"), cause);
    json_set_int64(x->request.arena, details, "retryAfterSeconds", 1);
    status_reply_json(x, 504, status);
    return false;
}

struct page {
    struct list_writer *out;
    const struct list_query *q;
    const char *last_ns, *last_name;
    size_t left_n; /* objects after a full page */
};

/* False: the page is full and nothing more needs to be looked at. */
static bool page_add(struct page *p, const struct store_object *o)
{
    struct arena *a = p->out->x->request.arena;
    bool full = p->q->limit && p->out->items_n >= (size_t)p->q->limit;
    if (full) {
        p->left_n++;
        return selector_empty(&p->q->selector); /* counting is only possible without selectors */
    }
    if (!selector_match(&p->q->selector, (struct bytes){o->body->data, o->body->n}))
        return true;
    list_writer_add(p->out, o->body);
    if (p->q->limit && p->out->items_n == (size_t)p->q->limit) {
        p->last_ns = arena_text(a, o->ns);
        p->last_name = arena_text(a, o->name);
    }
    return true;
}

static void page_read(struct page *p, const struct request_info *ri)
{
    struct store *store = ri->server->store;
    const char *ns = *ri->ns ? ri->ns : NULL;
    const char *name = selector_name(&p->q->selector);
    if (name && (ns || !(ri->kind->flags & KIND_NAMESPACED)) && !p->q->after) {
        const struct store_object *o = store_get(store, ri->kind_id, ns ? ns : "", name);
        if (o)
            (void)page_add(p, o);
        return;
    }
    struct store_cursor *c = store_list(store, ri->kind_id, ns, p->q->after);
    const struct store_object *o;
    while ((o = store_list_next(c)) && page_add(p, o))
        ;
    store_list_free(c);
}

static bool page_read_at(struct page *p, const struct request_info *ri, struct err *e)
{
    struct store_object *items;
    size_t n;
    struct arena *a = p->out->x->request.arena;
    if (store_snapshot(ri->server->store, ri->kind_id, *ri->ns ? ri->ns : NULL, p->q->after, p->q->at_rv, a, &items, &n,
                       e) < 0)
        return false;
    bool more = true;
    for (size_t i = 0; i < n; i++) {
        more = more && page_add(p, &items[i]);
        blob_unref(items[i].body);
    }
    p->out->rv = p->q->at_rv;
    return true;
}

static void page_end(struct page *p)
{
    struct arena *a = p->out->x->request.arena;
    if (!p->left_n)
        return;
    _cleanup_buf_ struct buf plain = {0}, token = {0};
    buf_printf(&plain, "%llu@%lld %s/%s", (unsigned long long)p->out->rv,
               (long long)(loop_wall_ms(p->out->ri->server->loop) / 1000), p->last_ns, p->last_name);
    base64_encode(&token, buf_view(&plain));
    p->out->continue_token = arena_text(a, token.data);
    if (selector_empty(&p->q->selector))
        p->out->remaining = (int64_t)p->left_n;
}

/* 410 with a token that goes on from the same place in the newest state, for who can live with that. */
static void expired_reply(struct http_exchange *x, const struct request_info *ri, const char *after)
{
    struct arena *a = x->request.arena;
    _cleanup_buf_ struct buf plain = {0}, token = {0};
    struct json *status = status_json(
        a, 410, "Expired", ri, NULL,
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the "
        "continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with "
        "the provided token results in an inconsistent list: objects that were created, modified, or deleted between the time the "
        "first chunk was returned and now may show up in the list.");
    buf_printf(&plain, "0@0 %s", after);
    base64_encode(&token, buf_view(&plain));
    json_set_text(a, json_ensure_object(a, status, "metadata"), "continue", token.data);
    status_reply_json(x, 410, status);
}

void list_handle(struct http_exchange *x, const struct request_info *ri)
{
    struct list_query q = {0};
    struct err e = {0};
    if (!query_parse(x, ri, &q))
        return;
    struct list_writer out;
    list_writer_begin(&out, x, ri, NULL, -1);
    struct page p = {.out = &out, .q = &q};
    if (!q.expired && (!q.at_rv || q.at_rv == store_rv(ri->server->store))) {
        page_read(&p, ri);
    } else if (q.expired || !page_read_at(&p, ri, &e)) {
        if (q.after)
            expired_reply(x, ri, q.after);
        else
            status_reply(x, 410, "Expired", ri, NULL, "%s", e.text);
        return;
    }
    page_end(&p);
    list_writer_reply(&out);
}

void get_handle(struct http_exchange *x, const struct request_info *ri)
{
    const struct store_object *o = store_get(ri->server->store, ri->kind_id, ri->ns, ri->name);
    if (!o) {
        status_reply_not_found(x, ri, ri->name);
        return;
    }
    if (table_wanted(&x->request)) {
        object_reply(x, ri, 200, object_parse(x->request.arena, o->body), true);
        return;
    }
    _cleanup_buf_ struct buf out = {0};
    list_object_write(&out, ri, o->body, accept_partial(&x->request));
    buf_char(&out, '\n');
    reply_durable(ri->server, x, 200, "application/json", blob_new(out.data, out.n));
}
