/* trainjob_sets.h - a TrainJob and its runtime, resolved: which jobs, how many pods, from which template
 *
 * Pure.
 * SOURCE trainer.kubeflow.org/v1alpha1: runtime template (a JobSet template) <- trainer fields on container "node" <- runtimePatches.
 */
#ifndef JOBS_TRAINJOB_SETS_H
#define JOBS_TRAINJOB_SETS_H
#include "jobs/kubeflow/child_jobs.h"

#define TRAINJOB_STEP_LABEL "trainer.kubeflow.org/trainjob-ancestor-step"

/* job_spec: with the merged pod template, and the number of its pods. Returns how many; 0 with *ret_why when the runtime has no jobs. */
uint32_t trainjob_sets(struct arena *a, const struct json *trainjob, const struct json *runtime, struct replicated_job **ret_sets,
                       const char **ret_why);
/* PET_* of torchrun for the trainer's pods, before the user's own. */
void trainjob_env(struct arena *a, const struct json *trainjob, const struct json *runtime, const struct replicated_job *set,
                  struct json *pod_template);

#endif
