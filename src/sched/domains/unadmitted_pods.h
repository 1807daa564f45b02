/* unadmitted_pods.h - pods that name a queue, or whose job does, and that have not been let in, or not grouped: they are not bound
 *
 * Pods that are queued themselves name their Workload once they are admitted. A job that names a queue is suspended until its Workload is
 * admitted. Where nothing suspends it as it is created (Kueue has a webhook for that), whoever runs it may make pods before it is; those
 * would start outside of any quota, and end a moment later. The same holds for pods that are made while their job is being stopped.
 *
 * Pods of Volcano's scheduler name that name no group are told one where its controllers run beside this scheduler: before that nobody
 * knows their queue, nor how many start together. Being told changes them: they are not asked for again.
 *
 * Of pods of KAI's scheduler name the same is known where Capstan groups them itself: they wait for as long as that takes.
 * Where KAI's podgrouper runs it tells pods of its scheduler's name their group a moment after they were made: those that have an owner,
 * and so may be of a gang, wait that moment.
 *
 * LIMIT  only pods that name no Workload or group. Those of jobs are asked for again after HOLD_MS, then less often; of a job that nobody
 *        has seen UNSEEN_MS after the pod was made nobody will.
 * WHY    asked for again, not told: whoever knows the jobs reads them by watches of his own, before or after that of pods.
 */
#ifndef SCHED_UNADMITTED_PODS_H
#define SCHED_UNADMITTED_PODS_H
#include "codec/kinds/queued_kinds.h"
#include "core/flow.h"
#include "loop/loop.h"

struct unadmitted_pods;
struct unadmitted_pods_config {
    name_id queue_label;    /* of pods that are queued themselves */
    job_waits_fn job_waits; /* NULL: none does */
    bool (*grouping)(void *arg, const struct json *pod); /* somebody here is about to write its group on it; NULL: nobody is */
    name_id grouped_scheduler; /* asked of pods of this name alone */
    void *arg;
    bool (*is_made_group)(void *again_arg, name_id scheduler); /* pods of this name are told their group here, each of them; NULL: none */
    bool (*is_grouped)(void *again_arg, name_id scheduler); /* pods of this scheduler's name are told their group later; NULL: none */
    void (*again)(void *arg, struct bytes pod); /* it is held no longer: as if it had changed */
    void *again_arg;
};
struct unadmitted_pods *unadmitted_pods_new(struct loop *l, const struct unadmitted_pods_config *config);
void unadmitted_pods_free(struct unadmitted_pods *x); /* NULL-safe */
/* Must the pod wait? key: "ns/name"; object: its text, of which a copy is kept while it must. */
bool unadmitted_pods_hold(struct unadmitted_pods *x, const char *key, const struct pod_record *pod, struct bytes object);
void unadmitted_pods_gone(struct unadmitted_pods *x, const char *key);

#endif
