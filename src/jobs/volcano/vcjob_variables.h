/* vcjob_variables.h - $(VC_...) names in the commands of a Volcano Job: which exist, which we give, which nobody knows */
#ifndef JOBS_VCJOB_VARIABLES_H
#define JOBS_VCJOB_VARIABLES_H
#include "jobs/volcano/vcjob_pods.h"

/* "ps-a" -> "PS_A"; in names of files "ps_a" */
char *vcjob_file_part(struct arena *a, const char *task);
char *vcjob_variable_part(struct arena *a, const char *task);
/* One entry a host of the task: the bare name, or with slot_mark (":", " slots=") and its slots behind it. */
const char *vcjob_host_list(struct arena *a, const char *job, const struct vcjob_task *task, const char *between, const char *slot_mark);
bool vcjob_has_gpus(const struct vcjob_task *task);
/* GPUs of one pod of the task, 1 when it has none. */
int64_t vcjob_slots(const struct vcjob_task *task);
/* Does some command run `horovodrun -H $(VC_..._HOSTS)`? Horovod wants host:slots there. */
bool vcjob_reads_slots(const struct json *job);
/* Do its pods have GPUs, or mention host lists with slots? */
bool vcjob_wants_slots(const struct json *job);
/* Put VC_<T>_<i>_SVC in front of the container's env for each one that it refers to. */
void vcjob_alias_inject(struct arena *a, const char *job, const struct vcjob_task *tasks, uint32_t tasks_n, struct json *container);

#endif
