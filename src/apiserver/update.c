#include "apiserver/object_write.h"
#include "apiserver/route.h"

/* The body may leave name and namespace out; others than the URL's are refused. */
static bool identity_check(struct http_exchange *x, const struct request_info *ri, struct json *object)
{
    struct json *metadata = json_get(object, "metadata");
    const char *name = json_get_text(metadata, "name", "");
    const char *ns = json_get_text(metadata, "namespace", "");
    if (*name && strcmp(name, ri->name) != 0) {
        status_reply(x, 400, "BadRequest", ri, NULL,
                     "the name of the object (%.253s) does not match the name on the URL (%.253s)", name, ri->name);
        return false;
    }
    if (*ns && *ri->ns && strcmp(ns, ri->ns) != 0) {
        status_reply(x, 400, "BadRequest", ri, NULL,
                     "the namespace of the provided object does not match the namespace sent on the request");
        return false;
    }
    json_set_text(x->request.arena, metadata, "name", ri->name);
    return true;
}

void update_handle(struct http_exchange *x, const struct request_info *ri)
{
    struct json *object;
    struct json_parse_info info;
    if (!object_read_body_info(x, ri, ri->kind, &object, &info) || !identity_check(x, ri, object))
        return;
    struct object_write w;
    object_write_init(&w, ri, x->request.arena);
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
        object_reply(x, ri, 200, w.object, true);
}
