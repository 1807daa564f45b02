/* owners.h - the objects of one kind that a controller keeps, and what brings the next pass over one of them
 *
 *     the object is written ───┐
 *     a child of it changes ───┤
 *     a revision of it changes ┼──▶ queue ──▶ reconcile
 *     an orphan fits it ───────┤
 *     all is known now ────────┘  (over each of them)
 *
 * OWNER  stands inside the controller. The callbacks, whose first argument is a struct owners, go into the configs of caches and indexes.
 */
#ifndef JOBS_OWNERS_H
#define JOBS_OWNERS_H
#include "jobs/batch/job_pods.h"
#include "kube/cache.h"

struct owners {
    struct kube_cache *cache; /* NULL while it is being made */
    struct workqueue *queue;
    bool (*is_synced)(void *controller); /* no pass is worth while before */
    /* Of one of them, before its pass: it was written or deleted; a pod of it was refused. NULL: nothing to do. */
    void (*on_event)(void *controller, enum kube_event event, const char *key);
    void (*on_refused)(void *controller, const char *key, int code, const char *why);
    void *controller;
};
/* Watches path; reconcile gets the controller. */
void owners_start(struct owners *o, struct kube_client *c, const char *path, work_fn reconcile);
void owners_stop(struct owners *o);

void owners_child_changed(void *owners, const char *ns, const char *owner, const char *owner_uid, const struct job_pod *gone);
void owners_pod_refused(void *owners, const char *key, int code, const char *why); /* its create failed */
void owners_orphan_seen(void *owners, const char *ns, const struct json *labels);
void owners_revision_changed(void *owners, const char *key);
void owners_look_at_all(void *owners); /* nothing while not all is known */

#endif
