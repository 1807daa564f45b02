/* finished_jobs.h - jobs whose pods have all ended, out of what the usage store keeps of pods. Pure. */
#ifndef CLI_HISTORY_FINISHED_JOBS_H
#define CLI_HISTORY_FINISHED_JOBS_H
#include "exporter/account/usage.h"
#include "wire/json.h"

struct finished_job {
    const char *ns, *name;      /* of the job; of the pod where it is of none */
    const char *queue, *user;   /* "" not known */
    bool is_pod;
    uint32_t pods_n;
    double start_s, end_s;      /* of the first pod, of the last one; wall */
    double wait_s;              /* from creation to admission, of the one that waited longest; -1 not known */
    double allocated_h, active_h;
    struct json *nodes;         /* as keys */
};
/* Those whose last pod ended in [since, until), the one that ended last first. A job of which a pod runs still is not over. */
uint32_t finished_jobs(struct arena *a, const struct usage_record *records, uint32_t n, double since_s, double until_s,
                       struct finished_job **ret_jobs);

#endif
