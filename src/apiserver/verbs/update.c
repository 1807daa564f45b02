#include "apiserver/apply/object_write.h"
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/verbs/verbs.h"
#include "apiserver/verbs/write_reply.h"

void update_handle(struct http_exchange *x, const struct request_info *ri)
{
    struct json *object;
    struct json_parse_info info;
    if (!body_read_info(x, ri, ri->kind, &object, &info))
        return;
    struct json *metadata = json_get(object, "metadata");
    if (!body_identity_check(x, ri, metadata))
        return;
    json_set_text(x->request.arena, metadata, "name", ri->name);
    struct object_write w;
    object_write_init(&w, ri, x->request.arena);
    object_write_asked(&w, x);
    w.old = object_read(ri->server, x->request.arena, ri->kind, ri->ns, ri->name);
    if (!w.old) {
        status_reply_not_found(x, ri, ri->name);
        return;
    }
    w.object = object;
    w.info = &info;
    if (object_write_decode(&w))
        (void)object_write_run(&w); /* the answer says what failed */
    if (object_write_answer(x, ri, &w))
        object_write_reply(x, ri, 200, &w);
}
