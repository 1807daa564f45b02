/* claim.h - whose object is this? Controllers take in what their selector matches and nobody controls, and let go of what it no longer
 * matches
 *
 * SOURCE meta/v1 OwnerReference: at most one has controller=true. Kubernetes' controllers adopt and release by it; a controller that is
 *        being deleted takes nothing in.
 */
#ifndef JOBS_BATCH_CLAIM_H
#define JOBS_BATCH_CLAIM_H
#include "kube/cache.h"
#include "kube/workqueue.h"

enum claim {
    CLAIM_NONE,    /* another's, or none of its business */
    CLAIM_OURS,
    CLAIM_ADOPT,   /* nobody's, and the selector matches */
    CLAIM_RELEASE, /* ours, but the selector does not match any more */
};
/* owner: the controller; selector: its meta/v1 LabelSelector (an empty one or NULL matches nothing). */
enum claim claim_of(const struct json *owner, const char *owner_kind, const struct json *selector, const struct json *object);
/* spec.selector of the owner as a LabelSelector: that of a ReplicationController is labels only. */
const struct json *claim_selector(struct arena *a, const struct json *owner);
/* Adds to the queue all of these owners in ns whose selector matches the labels of something that nobody controls. */
void claim_wake(const struct kube_cache *owners, struct workqueue *queue, const char *ns, const struct json *labels);
/* False: the object, as text, is certainly another's. WHY  most are, and need not be parsed to know it. */
bool claim_may_concern(struct bytes raw, const char *owner_uid);
bool claim_selects(const struct json *selector, const struct json *labels);
/* path is the object's. Only it is changed: its uid goes along. */
void claim_adopt(struct work *w, const char *path, const char *api_version, const char *kind, const struct json *owner,
                 const struct json *object);
struct json *claim_release_patch(struct arena *a, const struct json *owner, const struct json *object); /* a strategic merge patch */
void claim_release(struct work *w, const char *path, const struct json *owner, const struct json *object);

#endif
