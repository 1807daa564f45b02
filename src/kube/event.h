/* event.h - Kubernetes Events: what happened to an object, for `kubectl describe`
 *
 * Repeats of the same (object, reason, message) within ten minutes patch the count of the first one instead of a new
 * object. LIMIT  25 events per object and five minutes are written, the rest are counted; 4096 remembered.
 */
#ifndef KUBE_EVENT_H
#define KUBE_EVENT_H
#include "kube/client.h"

struct kube_recorder;
struct kube_recorder *kube_recorder_new(struct kube_client *c, const char *component);
void kube_recorder_free(struct kube_recorder *r);

struct kube_object_ref {
    const char *api_version, *kind, *ns, *name, *uid;
};
/* type: "Normal" or "Warning". */
void kube_event(struct kube_recorder *r, const struct kube_object_ref *about, const char *type, const char *reason,
                const char *format, ...) PRINTF_LIKE(5, 6);

#endif
