/* cancel.c - capstan cancel: a job and its pods, for good */
#include "cli/cli.h"
#include "cli/drive/drive.h"
#include "kube/object.h"

static int delete(struct drive *d, enum job_kind kind, const struct json *object, struct err *e)
{
    const char *path = job_path(d->c, d->a, kind, object, object_meta(object, "name"));
    struct json *body = json_new(d->a, JSON_OBJECT);
    struct err one = {0};
    json_set_text(d->a, body, "propagationPolicy", "Background");
    json_set_text(d->a, json_ensure_object(d->a, body, "preconditions"), "uid", object_meta(object, "uid"));
    (void)connection_send(d->c, d->a, "DELETE", path, NULL, body, &one);
    if (one.code == 0 || one.code == E_NOTFOUND) /* it is gone either way */
        return 0;
    *e = one;
    return -one.code;
}

/* Pods that nobody owns go one by one, and before the group that they name: else some would start by themselves. */
static int cancel(struct drive *d, struct err *e)
{
    const struct json *pods = d->kind >= JOB_KIND_WORKLOAD ? drive_pods(d) : NULL;
    int64_t n = 0;
    for (const struct json *pod = d->kind == JOB_KIND_POD ? NULL : json_first(pods); pod; pod = pod->next, n++)
        if (delete(d, JOB_KIND_POD, pod, e) < 0)
            return -e->code;
    d->said = n > 1 ? arena_printf(d->a, "cancelled, with its %lld pods", (long long)n) : "cancelled";
    return delete(d, d->kind, d->object, e);
}

int cancel_main(const struct options *o)
{
    return drive_each(o, cancel);
}
