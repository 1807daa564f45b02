#include "apiserver/tables/object_reply.h"

#include "apiserver/request/accept.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/tables/table.h"

void object_reply(struct http_exchange *x, const struct request_info *ri, int http, struct json *object, bool durable)
{
    struct arena *a = x->request.arena;
    object_show(a, ri->kind, object, ri->version);
    _cleanup_buf_ struct buf out = {0};
    if (table_wanted(&x->request)) {
        table_begin(&out, ri, json_text(json_path(object, "metadata", "resourceVersion", NULL), NULL), NULL, -1, true);
        table_row(&out, ri, a, object, http_query(&x->request, "includeObject"), true);
        table_end(&out);
    } else if (accept_partial(&x->request)) {
        accept_partial_write(&out, object);
    } else {
        json_write(&out, object);
    }
    buf_char(&out, '\n');
    struct blob *body = blob_new(out.data, out.n);
    if (durable)
        reply_durable(ri->server, x, http, "application/json", body);
    else
        http_reply(x, http, "application/json", body);
}
