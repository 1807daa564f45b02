#include "apiserver/apply/object_change.h"
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/store/selector.h"
#include "apiserver/tables/object_reply.h"
#include "apiserver/verbs/list.h"
#include "apiserver/verbs/verbs.h"

/* DeleteOptions from the body and the query; the query is what Python clients use. */
static bool options_read(struct http_exchange *x, const struct request_info *ri, struct delete_options *ret_o)
{
    struct json *body = NULL;
    if (!body_read(x, ri, NULL, &body))
        return false;
    struct delete_options o;
    delete_options_of(body, ri->dry_run, &o);
    const char *query = http_query(&x->request, "propagationPolicy");
    if (query && *query)
        o.propagation = query;
    query = http_query(&x->request, "gracePeriodSeconds");
    if (query && *query && !bytes_int64(bytes_of(query), &o.grace_seconds)) {
        status_reply(x, 400, "BadRequest", ri, NULL, "gracePeriodSeconds: expected a number of seconds, got \"%.40s\"",
                     query);
        return false;
    }
    static const char *const known[] = {"", "Background", "Foreground", "Orphan", NULL};
    for (size_t i = 0; known[i]; i++)
        if (strcmp(o.propagation, known[i]) == 0) {
            *ret_o = o;
            return true;
        }
    status_reply(
        x, 422, "Invalid", ri, NULL,
        "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"%.40s\": supported values: "
        "\"Background\", \"Foreground\", \"Orphan\"",
        o.propagation);
    return false;
}

void delete_handle(struct http_exchange *x, const struct request_info *ri)
{
    struct delete_options o;
    if (!options_read(x, ri, &o))
        return;
    bool gone = false;
    struct json *object = NULL;
    struct err e = {0};
    int r = object_delete(ri->server, ri->kind, ri->ns, ri->name, x->request.arena, &o, &gone, &object, &e);
    if (r < 0)
        status_reply_err(x, ri, &e);
    else if (gone)
        status_success(x, ri, 200, json_get_text(json_get(object, "metadata"), "uid", NULL));
    else
        object_reply(x, ri, 200, object, true);
}

void delete_collection_handle(struct http_exchange *x, const struct request_info *ri)
{
    struct request_info named = *ri;
    struct delete_options o;
    struct selector selector;
    struct err e = {0};
    if (!options_read(x, ri, &o))
        return;
    if (selector_parse(x->request.arena, http_query(&x->request, "labelSelector"), http_query(&x->request, "fieldSelector"),
                       &(struct selector_kind){ri->group, ri->plural, ri->kind_version->selectable}, &selector, &e) < 0) {
        status_reply_err(x, ri, &e);
        return;
    }
    struct apiserver *s = ri->server;
    struct store_cursor *c = store_list(s->store, ri->kind_id, *ri->ns ? ri->ns : NULL, NULL);
    struct list_writer out;
    list_writer_begin(&out, x, ri, NULL, -1);
    struct err refused = {0}; /* the first; as kube-apiserver, the others are deleted nevertheless */
    const struct store_object *at;
    while ((at = store_list_next(c))) {
        if (!selector_match(&selector, (struct bytes){at->body->data, at->body->n}))
            continue;
        struct blob *body = blob_ref(at->body);
        _cleanup_arena_ struct arena *a = arena_new();
        bool gone;
        int r = object_delete(s, ri->kind, arena_text(a, at->ns), arena_text(a, at->name), a, &o, &gone, NULL, &e);
        if (r != -E_DENIED) /* gone meanwhile is as good */
            list_writer_add(&out, body);
        else if (refused.code == 0) {
            refused = e;
            named.name = arena_text(x->request.arena, at->name);
        }
        blob_unref(body);
    }
    store_list_free(c);
    if (refused.code != 0) {
        list_writer_drop(&out);
        status_reply_err(x, &named, &refused);
        return;
    }
    list_writer_reply(&out);
}
