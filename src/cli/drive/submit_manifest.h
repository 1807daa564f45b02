/* submit_manifest.h - what capstan submit makes of its options: a Job, and a pod group where no queue starts its pods together. Pure.
 *
 *     --gpus 8x4 --queue day    Job of 8 pods, 4 GPUs each, label kueue.x-k8s.io/queue-name: day
 *     --gpus 8x4                Job of 8 pods, their label names a PodGroup of coscheduling with minMember 8
 *     --gpus 4                  Job of one pod
 */
#ifndef CLI_DRIVE_SUBMIT_MANIFEST_H
#define CLI_DRIVE_SUBMIT_MANIFEST_H
#include "cli/options.h"
#include "wire/json.h"

struct submission {
    const char *name, *ns, *queue; /* queue NULL: none */
    const char *priority_class, *image, *resource, *user;
    const char *cpu, *memory;      /* of each pod; NULL not said */
    int64_t pods_n, gpus_n;        /* gpus_n: of each pod */
    int64_t limit_s;               /* 0 none */
    const char *const *command;    /* NULL ends it; none: the image's own */
    const struct options *o;       /* --env and --annotation, in the order in which they were given */
};

/* "8x4", "4": pods and GPUs of each. False: it is something else, or too many. */
bool submission_gpus(const char *text, int64_t *ret_pods_n, int64_t *ret_gpus_n);
/* Of the last part of the image, and five letters that make it another one each time. */
const char *submission_name(struct arena *a, const char *image, uint64_t seed);

bool submission_is_group(const struct submission *s); /* it has a PodGroup besides */
struct json *submission_job(struct arena *a, const struct submission *s);
/* job NULL: it is not made yet, so that nothing owns the group. */
struct json *submission_group(struct arena *a, const struct submission *s, const struct json *job);

/* What the scheduler would see of them before and after their controllers: a Workload, the group and its pods, or a pod. A list. `job`: as
 * the server completes it. */
struct json *submission_objects(struct arena *a, const struct submission *s, const struct json *job, int64_t priority, int64_t now_ms);

#endif
