#include "apiserver/verbs/write_reply.h"

#include <string.h>

#include "apiserver/request/accept.h"
#include "apiserver/request/status.h"
#include "apiserver/tables/object_reply.h"
#include "apiserver/tables/table.h"
#include "apiserver/verbs/list.h"

bool object_write_answer(struct http_exchange *x, const struct request_info *ri, const struct object_write *w)
{
    for (uint32_t i = 0; i < w->warnings_n; i++)
        status_warn(x, w->warnings[i]);
    const char *name = json_get_text(json_get(w->object, "metadata"), "name", "");
    if (w->fail_http) {
        struct request_info named = *ri;
        named.name = *named.name ? named.name : name;
        status_reply(x, w->fail_http, w->fail_reason, &named, NULL, "%s", w->fail_message);
        return false;
    }
    if (w->errors.n) {
        status_reply_invalid(x, ri, name, &w->errors);
        return false;
    }
    return true;
}

/* The text that was just written is what a JSON client of the stored version asks for: as it is where he is in this process, else as a
 * line, for terminals. */
void object_write_reply(struct http_exchange *x, const struct request_info *ri, int http, struct object_write *w)
{
    if (!w->stored || list_kind_converts(ri) || table_wanted(&x->request) || accept_partial(&x->request)) {
        object_write_join(w);
        object_reply(x, ri, http, w->object, true);
        return;
    }
    struct bytes text = {w->stored->data, w->stored->n};
    struct blob *body = x->request.is_inside ? blob_ref(w->stored) : blob_joined(text, BYTES("\n"));
    reply_durable(ri->server, x, http, "application/json", body);
}

bool object_write_checked(struct http_exchange *x, const struct request_info *ri, struct json *old, struct json *object,
                          struct json **ret_object)
{
    struct object_write w;
    object_write_init(&w, ri, x->request.arena);
    object_write_asked(&w, x);
    w.asked = w.kind;
    w.version = kind_storage(w.kind)->version;
    w.old = old;
    w.object = object;
    if (object_write_decode(&w))
        (void)object_write_run(&w); /* the answer says what failed */
    if (!object_write_answer(x, ri, &w))
        return false;
    *ret_object = w.object;
    return true;
}
