/* queue_missing.c - see queue_missing.h */
#include "cli/drive/queue_missing.h"
#include "kube/object.h"

/* NULL: there is none, or the user may not look there. */
static const char *other_namespace(struct connection *c, struct arena *a, const char *queue)
{
    struct err e = {0};
    const char *path = kube_path(a, "kueue.x-k8s.io", "v1beta2", "localqueues", NULL, NULL, NULL);
    JSON_EACH (one, json_get(connection_get(c, a, path, &e), "items"))
        if (text_equal(object_meta(one, "name"), queue))
            return object_meta(one, "namespace");
    return NULL;
}

const char *queue_missing_text(struct connection *c, struct arena *a, const char *queue, bool anywhere)
{
    struct err e = {0};
    const char *path = kube_path(a, "kueue.x-k8s.io", "v1beta2", "localqueues", c->ns, NULL, NULL), *names = NULL,
               *elsewhere = anywhere ? other_namespace(c, a, queue) : NULL;
    if (elsewhere)
        return arena_printf(a, "there is no LocalQueue %s in namespace %s; there is one in namespace %s: -n %s", queue, c->ns, elsewhere,
                            elsewhere);
    JSON_EACH (one, json_get(connection_get(c, a, path, &e), "items"))
        names = arena_printf(a, "%s%s%s", names ? names : "", names ? ", " : "", object_meta(one, "name"));
    return arena_printf(a, "there is no LocalQueue %s in namespace %s; there are: %s", queue, c->ns, names ? names : "none");
}
