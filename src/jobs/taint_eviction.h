/* taint_eviction.h - taints with effect NoExecute end the pods of a node that do not tolerate them (embedded cluster only)
 *
 *   no toleration for one of them: at once;   tolerationSeconds: when the shortest has passed;   else: never
 *
 * SOURCE Kubernetes, "Taints and tolerations": the seconds count from the taint's timeAdded, or from when it was seen, or (a pod that came
 *        later) from the pod's start. A pod that goes has condition DisruptionTarget, reason DeletionByTaintManager.
 */
#ifndef JOBS_TAINT_EVICTION_H
#define JOBS_TAINT_EVICTION_H
#include "kube/event.h"
#include "wire/json.h"

#define TAINT_EVICTION_NEVER INT64_MAX

struct taint_eviction;
/* speed divides tolerationSeconds. */
struct taint_eviction *taint_eviction_new(struct kube_client *c, struct kube_recorder *events, double speed);
void taint_eviction_free(struct taint_eviction *t); /* NULL-safe */

/* How many milliseconds after the taints came the pod has to go: 0 = at once, TAINT_EVICTION_NEVER. */
int64_t taint_eviction_patience_ms(const struct json *taints, const struct json *tolerations);

#endif
