/* revision.h - the states that a StatefulSet or DaemonSet has had, as ControllerRevisions: what `kubectl rollout history` and `undo` read
 *
 * SHAPE  data {"spec":{"template":{..., "$patch":"replace"}}}: a strategic merge patch that brings the state back. `revision` counts up; a
 *        template that comes back takes its old object with a new number.
 * SOURCE apps/v1 ControllerRevision; its name is <owner>-<hash of the template>, its labels are those of the template.
 */
#ifndef JOBS_APPS_REVISION_H
#define JOBS_APPS_REVISION_H
#include "kube/cache.h"
#include "kube/workqueue.h"

struct revisions;
struct revisions_config {
    const char *kind;       /* of the owners: "StatefulSet" */
    const char *hash_label; /* label of the ControllerRevision that has the hash */
    void (*on_change)(void *arg, const char *owner_key); /* one of this owner was changed by somebody */
    void (*on_synced)(void *arg);
    void *arg;
};
struct revisions *revisions_new(struct kube_client *c, const struct revisions_config *config);
void revisions_free(struct revisions *r); /* NULL-safe */
bool revisions_synced(const struct revisions *r);

struct revision_list {
    const struct json **all; /* of this owner, any order */
    uint32_t n;
    const char *update;      /* name of the one with the template as it is now */
    const char *hash;        /* of that template: the last part of its name */
};
/* Reads the revisions of w's object; makes or renumbers the one of its template; takes in those that nobody owns. */
void revisions_find(struct revisions *r, struct work *w, const struct json *owner, struct revision_list *ret_list);
/* The template of the revision of this name; NULL = not there. */
const struct json *revision_template(const struct revision_list *list, const char *name);
/* Removes the oldest that is_used does not hold for, beyond spec.revisionHistoryLimit. */
void revisions_trim(struct work *w, const struct json *owner, const struct revision_list *list,
                    bool (*is_used)(void *arg, const char *name), void *arg);

#endif
