/* trainjob_sets.h - a TrainJob and its runtime, resolved: which jobs, how many pods, from which template
 *
 * Pure.
 * SOURCE trainer.kubeflow.org/v1alpha1: runtime template (a JobSet template) <- trainer fields on container "node" <- runtimePatches.
 */
#ifndef JOBS_TRAINJOB_SETS_H
#define JOBS_TRAINJOB_SETS_H
#include "wire/json.h"

#define TRAINJOB_STEP_LABEL "trainer.kubeflow.org/trainjob-ancestor-step"

struct trainjob_set {
    const char *name;              /* of the replicatedJob */
    int64_t replicas, count;       /* jobs of it, pods of one */
    bool is_trainer;
    struct json *job_spec;         /* JobSpec with the merged pod template; without parallelism, completions, suspend */
    const struct json *depends_on; /* array or NULL */
};
/* Returns how many; 0 with *ret_why when the runtime has no jobs. */
uint32_t trainjob_sets(struct arena *a, const struct json *trainjob, const struct json *runtime, struct trainjob_set **ret_sets,
                       const char **ret_why);
/* PET_* of torchrun for the trainer's pods, before the user's own. */
void trainjob_env(struct arena *a, const struct json *trainjob, const struct json *runtime, const struct trainjob_set *set,
                  struct json *pod_template);

#endif
