#include "apiserver/apply/object_write.h"
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/verbs/verbs.h"
#include "apiserver/verbs/write_reply.h"

void create_handle(struct http_exchange *x, struct request_info *ri)
{
    struct json *object;
    struct json_parse_info info;
    if (!body_read_info(x, ri, ri->kind, &object, &info))
        return;
    if ((ri->kind->flags & KIND_NAMESPACED) && !*ri->ns) {
        /* POST at the cluster path: the body says where, as clients of other servers do. */
        ri->ns = json_get_text(json_get(object, "metadata"), "namespace", "");
        if (!*ri->ns) {
            status_reply(x, 400, "BadRequest", ri, NULL, "%s is namespaced: use the path .../namespaces/NAMESPACE/%s",
                         ri->plural, ri->plural);
            return;
        }
    }
    struct object_write w;
    object_write_init(&w, ri, x->request.arena);
    object_write_asked(&w, x);
    w.object = object;
    w.info = &info;
    if (object_write_decode(&w))
        (void)object_write_run(&w); /* the answer says what failed */
    if (object_write_answer(x, ri, &w))
        object_write_reply(x, ri, 201, &w);
}
