/* kai_grouping.h - the PodGroup of KAI's that its podgrouper would make for a pod
 *
 *   owner                                   group                        pods that start together
 *   PyTorchJob, TFJob, XGBoostJob, JAXJob   one a job                    schedulingPolicy.minAvailable, elasticPolicy.minReplicas, or
 *   MPIJob                                  one a job                    all replicas; without the launcher, where that waits for workers
 *   JobSet, also of a TrainJob              one a replicated job, one    replicas * parallelism
 *                                           in all with AnyOrder
 *   LeaderWorkerSet                         one a replica                its size; of those LeaderReady the leader first
 *   RayCluster, also of a RayJob            one a cluster                the head, and of each worker group minReplicas, else replicas
 *   Job, also of a CronJob                  one a job                    annotation kai.scheduler/batch-min-member, else 1
 *   any other, none                         one a pod                    1
 *
 * SOURCE KAI-Scheduler pkg/podgrouper. Different: pods of a StatefulSet have a group each, which start one by one there, too; segments
 *        of a job that have a topology are not read.
 */
#ifndef CODEC_KAI_GROUPING_H
#define CODEC_KAI_GROUPING_H
#include "wire/json.h"

#define KAI_GROUPING_PARTS 64
#define KAI_GROUPING_LEAST "kai.scheduler/batch-min-member" /* annotation of a Job: so many of its pods start together */
#define KAI_GROUPING_SKIP "kai.scheduler/skip-podgrouper" /* annotation: such a pod gets no group */

/* Kinds whose objects say how many pods start together. */
enum kai_owner_id { KAI_OWNER_PYTORCH, KAI_OWNER_TF, KAI_OWNER_XGBOOST, KAI_OWNER_JAX, KAI_OWNER_MPI, KAI_OWNER_JOBSET, KAI_OWNER_LWS,
                    KAI_OWNER_RAY, KAI_OWNER_JOB, KAI_OWNERS_N };
struct kai_owner_kind {
    const char *path; /* of the list of all */
    const char *group, *api_version, *kind;
    const char *replicas; /* Kubeflow's: member of spec with a template for each role; else NULL */
};
extern const struct kai_owner_kind kai_owner_kinds[KAI_OWNERS_N];
/* Of which kind and name the object is that says it. False: the pod has a group by itself. */
bool kai_owner_of(const struct json *pod, enum kai_owner_id *ret_kind, const char **ret_name);

struct kai_grouping {
    const char *name;       /* of the PodGroup; in the arena, as all of it */
    struct json *owner;     /* its owner reference */
    int32_t min_member;     /* from 1 */
    struct {
        const char *name;
        int32_t min_member;
    } parts[KAI_GROUPING_PARTS]; /* subgroups; none: parts_n = 0 */
    uint32_t parts_n;
    const char *part;       /* the one that the pod is of; "": none */
    const char *queue, *class_name, *preemptibility; /* class_name: KAI's default where none is said; others "": none is said */
    const char *staleness;  /* of spec.stalenessGracePeriod, a duration; "": none is said */
    const char *topology, *required_level, *preferred_level; /* of spec.topologyConstraint; "": none is said */
};
/* owner: the object that kai_owner_of names, of that kind; NULL where it says false. */
void kai_grouping_make(struct arena *a, const struct json *pod, enum kai_owner_id kind, const struct json *owner, struct kai_grouping *ret);

#endif
