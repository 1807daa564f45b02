/* trainjob_sets.h - a TrainJob and its runtime, resolved: the JobSet as which it is run, which jobs, how many pods, from which template
 *
 *     runtime template (a JobSet) <- spec.runtimePatches <- spec.trainer, spec.initializer <- what the runtime's mlPolicy gives its pods
 *
 * Pure.
 * SOURCE trainer.kubeflow.org/v1alpha1, trainer 2.3.
 */
#ifndef JOBS_TRAINJOB_SETS_H
#define JOBS_TRAINJOB_SETS_H
#include "jobs/kubeflow/child_jobs.h"

#define TRAINJOB_STEP_LABEL "trainer.kubeflow.org/trainjob-ancestor-step"

/* {"metadata": {name, labels, annotations}, "spec"}: without what mlPolicy gives; NULL with *ret_why, a sentence. */
struct json *trainjob_jobset(struct arena *a, const struct json *trainjob, const struct json *runtime, const char **ret_why);
/* Its jobs, resolved as above. Returns how many; 0 with *ret_why. */
uint32_t trainjob_sets(struct arena *a, const struct json *trainjob, const struct json *runtime, struct replicated_job **ret_sets,
                       const char **ret_why);
/* Does this replicatedJob train; is it one of those that fetch what is trained with? */
bool trainjob_trains(const struct json *jobset, const struct json *replicated);
bool trainjob_initializes(const struct json *replicated);
/* What a container is called by its trainer: "node", or the first one where none is called so. */
struct json *trainjob_container(const struct json *replicated);
int64_t trainjob_pods_n(const struct json *replicated); /* of one of its jobs */

/* trainjob_policy.c: environment, ports, volumes and commands of the runtime's mlPolicy, put into the JobSet. */
void trainjob_equip(struct arena *a, const struct json *trainjob, const struct json *runtime, struct json *jobset);
/* Those pods that start together: not initializers, nor what waits for others to be ready. Marked, where the runtime wants a PodGroup,
 * which is returned, without owner; NULL: it wants none. */
struct json *trainjob_gang(struct arena *a, const struct json *trainjob, const struct json *runtime, struct json *jobset);
/* Of mpi: the hosts, one a line; NULL: the runtime has no mpi. */
const char *trainjob_hostfile(struct arena *a, const struct json *trainjob, const struct json *runtime, const struct json *jobset);

#endif
