/* event.h - Kubernetes Events: what happened to an object, for `kubectl describe`
 *
 * SOURCE client-go's correlator: repeats of the same (object, type, reason, message) within ten minutes count up in the first one; from the
 *        eleventh different message of the same (object, type, reason) on they are one Event, "(combined from similar events): ..."; 25
 *        writes an object, then one in five minutes.
 * LIMIT  Besides: a count is written at most every ten seconds; LIMIT_EVENT_BURST Events at once and LIMIT_EVENTS_PER_S for long, Normal
 *        and Warning apart, so that a flood of good news hides no bad. What is beyond is not written. 4096 of each are remembered.
 */
#ifndef KUBE_EVENT_H
#define KUBE_EVENT_H
#include "kube/workqueue.h"

struct kube_recorder;
struct kube_recorder *kube_recorder_new(struct kube_client *c, const char *component);
void kube_recorder_free(struct kube_recorder *r);

struct kube_object_ref {
    const char *api_version, *kind, *ns, *name, *uid;
};
/* type: "Normal" or "Warning". */
void kube_event(struct kube_recorder *r, const struct kube_object_ref *about, const char *type, const char *reason,
                const char *format, ...) PRINTF_LIKE(5, 6);
/* The same of what was done and answered: it leaves also when its writer says farewell (kube_client_halt). */
void kube_event_done(struct kube_recorder *r, const struct kube_object_ref *about, const char *reason, const char *format, ...)
    PRINTF_LIKE(4, 5);
/* The same once the next write of this pass is done (work_then): who reads that a thing was made, changed or taken away finds it so. */
void kube_event_then(struct kube_recorder *r, struct work *w, const struct kube_object_ref *about, const char *type, const char *reason,
                     const char *format, ...) PRINTF_LIKE(6, 7);

#endif
