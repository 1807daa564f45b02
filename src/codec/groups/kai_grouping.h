/* kai_grouping.h - the PodGroup of KAI's that its podgrouper would make for a pod
 *
 *   owner                                   group                        pods that start together
 *   PyTorchJob, TFJob, XGBoostJob, JAXJob   one a job                    schedulingPolicy.minAvailable, elasticPolicy.minReplicas, or
 *   MPIJob                                  one a job                    all replicas; without the launcher, where that waits for workers
 *   JobSet, also of a TrainJob              one a set: subgroups of its  each job by itself, parallelism pods; with InOrder one
 *                                           replicated jobs, below       replicated job is enough, else all (minSubGroup)
 *                                           these of their jobs
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

/* LIMIT  of a JobSet with more each replicated job is a group, or with AnyOrder all of it one, without subgroups. */
#define KAI_GROUPING_PARTS 256
/* Annotation of a Job, or of a replicated job's template: so many of its pods start together; of a JobSet: so many replicated jobs. */
#define KAI_GROUPING_LEAST "kai.scheduler/batch-min-member"
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
    int32_t min_sub_group;  /* said in its place; 0: it is not */
    struct {
        const char *name, *parent; /* parent NULL: it is below none */
        int32_t min_member, min_sub_group; /* of one that is above others min_sub_group, min_member 0 */
        const struct json *by; /* whose annotations say its topology; NULL: nobody's */
    } parts[KAI_GROUPING_PARTS]; /* subgroups; none: parts_n = 0 */
    uint32_t parts_n;
    const char *part;       /* the one that the pod is of; "": none */
    const char *queue, *class_name, *preemptibility; /* class_name: KAI's default where none is said; others "": none is said */
    const char *staleness, *delay; /* of spec.stalenessGracePeriod and preemptionDelay, durations; "": none is said */
    const char *topology, *required_level, *preferred_level; /* of spec.topologyConstraint; "": none is said */
};
/* Members of a topologyConstraint as annotations of that object say them, "" where they say nothing; false: no topology. */
bool kai_grouping_topology(const struct json *by, const char **ret_topology, const char **ret_required, const char **ret_preferred);
/* owner: the object that kai_owner_of names, of that kind; NULL where it says false. */
void kai_grouping_make(struct arena *a, const struct json *pod, enum kai_owner_id kind, const struct json *owner, struct kai_grouping *ret);

#endif
