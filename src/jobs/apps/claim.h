/* claim.h - whose object is this? Controllers take in what their selector matches and nobody controls, and let go of what it no longer
 * matches
 *
 * SOURCE meta/v1 OwnerReference: at most one has controller=true. Kubernetes' controllers adopt and release by it; a controller that is
 *        being deleted takes nothing in.
 */
#ifndef JOBS_APPS_CLAIM_H
#define JOBS_APPS_CLAIM_H
#include "kube/workqueue.h"

enum claim {
    CLAIM_NONE,    /* another's, or none of its business */
    CLAIM_OURS,
    CLAIM_ADOPT,   /* nobody's, and the selector matches */
    CLAIM_RELEASE, /* ours, but the selector does not match any more */
};
/* owner: the controller; selector: its meta/v1 LabelSelector (an empty one or NULL matches nothing). */
enum claim claim_of(const struct json *owner, const char *owner_kind, const struct json *selector, const struct json *object);
bool claim_selects(const struct json *selector, const struct json *labels);
/* path is the object's. Only it is changed: its uid goes along. */
void claim_adopt(struct work *w, const char *path, const char *api_version, const char *kind, const struct json *owner,
                 const struct json *object);
void claim_release(struct work *w, const char *path, const struct json *owner, const struct json *object);

#endif
