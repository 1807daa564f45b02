/* owners.c - see owners.h */
#include "jobs/batch/owners.h"
#include "jobs/batch/claim.h"

void owners_child_changed(void *owners, const char *ns, const char *owner, const char *owner_uid, const struct job_pod *gone)
{
    struct owners *o = owners;
    (void)owner_uid;
    (void)gone;
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "%s/%s", ns, owner);
    workqueue_add(o->queue, key.data);
}

/* WHY  what the server refuses, it refuses again: not at once. */
void owners_pod_refused(void *owners, const char *key, int code, const char *why)
{
    struct owners *o = owners;
    if (o->on_refused)
        o->on_refused(o->controller, key, code, why);
    workqueue_add_after(o->queue, key, code == -E_AGAIN || code == -E_IO ? 200 : 2000);
}

void owners_orphan_seen(void *owners, const char *ns, const struct json *labels)
{
    struct owners *o = owners;
    claim_wake(o->cache, o->queue, ns, labels);
}

void owners_revision_changed(void *owners, const char *key)
{
    struct owners *o = owners;
    workqueue_add(o->queue, key);
}

void owners_look_at_all(void *owners)
{
    struct owners *o = owners;
    if (!o->cache || !o->is_synced(o->controller))
        return;
    workqueue_add_all(o->queue, o->cache, NULL);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct owners *o = arg;
    (void)object;
    if (o->on_event)
        o->on_event(o->controller, event, key);
    if (event != KUBE_DELETED)
        workqueue_add(o->queue, key);
}

void owners_start(struct owners *o, struct kube_client *c, const char *path, work_fn reconcile)
{
    o->queue = workqueue_new(c, reconcile, o->controller);
    o->cache = kube_cache_new(
        c, &(struct kube_cache_config){.watch = {.path = path}, .on_change = on_change, .on_synced = owners_look_at_all, .arg = o});
}

void owners_stop(struct owners *o)
{
    workqueue_free(o->queue);
    kube_cache_free(o->cache);
}
