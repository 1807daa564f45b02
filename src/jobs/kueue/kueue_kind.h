/* kueue_kind.h - how one kind of job is queued the Kueue way: a row in codec/kinds/queued_kinds.c and a handful of callbacks; one file a
 * kind, or a family of kinds that are written alike
 *
 *   job (suspended, label kueue.x-k8s.io/queue-name) -> Workload -> admitted -> start: selectors and tolerations of the flavors,
 *   suspend=false
 *                                                             evicted -> stop: suspend=true, what start put in is taken out again
 *
 * SHAPE  every kind has suspend, and a condition when it is over, where codec/kinds/queued_kinds.h says.
 *
 * Callbacks read the job's JSON and build merge patches; they do no I/O.
 */
#ifndef JOBS_KUEUE_KIND_H
#define JOBS_KUEUE_KIND_H
#include "codec/kinds/in_use_name.h"
#include "codec/kinds/queued_kinds.h"
#include "jobs/controllers.h"

#define KUEUE_QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define KUEUE_PRIORITY_LABEL "kueue.x-k8s.io/priority-class"
#define KUEUE_EXEC_TIME_LABEL "kueue.x-k8s.io/max-exec-time-seconds"
#define KUEUE_PODSET_LABEL "kueue.x-k8s.io/podset"
#define KUEUE_CLUSTER_QUEUE_LABEL "kueue.x-k8s.io/cluster-queue-name"
#define KUEUE_LOCAL_QUEUE_LABEL "kueue.x-k8s.io/local-queue-name"
#define KUEUE_WORKLOAD_ANNOTATION "kueue.x-k8s.io/workload"
#define KUEUE_ROLE_ANNOTATION "kueue.x-k8s.io/role-hash"
#define KUEUE_PREBUILT_ANNOTATION "kueue.x-k8s.io/prebuilt-workload-name" /* or label */
/* Groups of pods: their name is an annotation or a label, the others annotations. */
#define KUEUE_GROUP_NAME "kueue.x-k8s.io/pod-group-name"
#define KUEUE_GROUP_TOTAL "kueue.x-k8s.io/pod-group-total-count"
#define KUEUE_GROUP_FAST "kueue.x-k8s.io/pod-group-fast-admission"
#define KUEUE_GROUP_SERVING "kueue.x-k8s.io/pod-group-serving"
#define KUEUE_GROUP_WORKLOAD_ANNOTATION "kueue.x-k8s.io/is-group-workload" /* of a Workload */

/* What one pod set is started with. */
struct kueue_start {
    const char *pod_set, *workload, *cluster_queue, *local_queue;
    const char *admitted_at; /* when its Workload was admitted, as that says it; "": it says no time */
    int64_t count;
    struct json *node_labels;   /* object; empty = none; of the flavors and of admission checks, as the tolerations */
    struct json *tolerations;   /* array of what the flavors add */
    struct json *labels, *annotations; /* what admission checks add besides; NULL: nothing */
    const char *conflict;       /* two of these contradict each other: the sentence; NULL: no */
};

struct kueue_kind {
    /* Array of spec.podSets for the Workload, original templates. NULL: it cannot be said; *ret_why is a sentence, or untouched: it is not
     * known yet. */
    struct json *(*pod_sets)(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job, const char **ret_why);
    /* Pod sets whose pods are made when those of others have begun or ended, as DECODE_LATER_ANNOTATION has them; NULL: none. */
    const char *(*later)(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job);
    /* NULL: that of the first pod set that has one */
    const char *(*priority_class)(const struct queued_kind *k, const struct json *job);
    /* Merge patches for the job; of its metadata only annotations. start: 0 or -E_CONFLICT with a sentence when a selector contradicts the
     * job's own; suspend is taken off besides. */
    int (*start)(struct arena *a, const struct queued_kind *k, const struct json *job, const struct kueue_start *starts, uint32_t starts_n,
                 struct json *patch, struct err *e);
    /* Undo what start put in; false when there is nothing to undo. `status`: it is status that must be patched first. */
    bool (*restore)(struct arena *a, const struct queued_kind *k, const struct json *job, const struct json *workload, struct json *patch,
                    bool *ret_status);
    bool restores_at_once; /* templates may change while it runs: what is stopped is restored in the same write. SOURCE Kueue */
    /* Patch of status that lets the template of a suspended job change again; false when it may change. NULL: it always may. */
    bool (*rewind)(struct arena *a, const struct json *job, struct json *patch);
    bool (*active)(const struct json *job); /* has pods that are not gone */
    /* Kinds without conditions: is it over, and well, with which message? NULL: the conditions of queued_kinds tell. */
    bool (*over_well)(const struct json *job, bool *ret_well, const char **ret_message);
    /* Its operator does not run it as it is, and nothing of it runs: it is on hold until it is corrected. NULL: none ever is. */
    bool (*is_invalid)(const struct json *job);
    bool (*is_skipped)(const struct json *job); /* nothing is done about such a job, whatever its labels say; NULL: of none */
    int64_t (*ready_n)(const struct json *job); /* members that are ready or done; NULL: the kind cannot tell */
    /* Kinds that count in something else than members; written only where somebody waits for it. NULL: ready_n tells. */
    bool (*all_ready)(struct jobs *j, struct arena *a, const struct json *job);
    /* Members that will not be needed again: pod set -> count. NULL: the kind cannot tell. */
    void (*over)(struct arena *a, const struct json *job, const struct json *workload, struct json *over);
    bool begins_anew; /* it may make members again that were over: all of its own begin anew after a failure */
};
extern const struct kueue_kind kueue_job_kind, kueue_trainjob_kind, kueue_jobset_kind, kueue_kubeflow_kind, kueue_rayjob_kind,
    kueue_raycluster_kind, kueue_rayservice_kind, kueue_sparkapplication_kind;
const struct kueue_kind *kueue_kind_of(const struct queued_kind *k); /* of a row of queued_kinds */
/* Of a TrainJob with its runtime (NULL: it is not there), as pod_sets above has them. Pure. */
struct json *kueue_trainjob_pod_sets(struct arena *a, const struct json *job, const struct json *runtime, const char **ret_why);
const char *kueue_trainjob_later(struct arena *a, const struct json *job, const struct json *runtime); /* as `later` above */
/* The PriorityClass of its pods: what the kind says, where it says one for the job as a whole; else that of the first pod set that has
 * one; "": none. */
const char *kueue_priority_class(const struct queued_kind *k, const struct json *job, const struct json *pod_sets);

/* Of a Workload in the namespace that is looked at; name NULL: of all of them. */
char *kueue_workload_path(const struct work *w, const char *name, const char *sub);
int64_t kueue_indexes_n(const char *list, int64_t below); /* of a batch/v1 Job's completedIndexes, failedIndexes */
char *kueue_lower(struct arena *a, const char *text); /* names of pod sets and Workloads are in lower case */
/* "<kind lower>-<job name>-<5 hex>", at most 253 characters. */
char *kueue_workload_name(struct arena *a, const char *kind, const char *group, const char *job, const char *uid);
/* Pods that ask for the same are one role of their group: the name of its pod set. */
const char *kueue_role(struct arena *a, const struct json *pod);
/* The same of a pod template, by what stands in its spec alone. */
const char *kueue_shape(struct arena *a, const struct json *pod_template);
/* What a pod set has for its template when the pod itself was not made from one. */
struct json *kueue_pod_template(struct arena *a, const struct json *pod);
/* Puts a new pod set where its name belongs. */
void kueue_pod_sets_insert(struct json *sets, struct json *set);
/* One entry of spec.podSets. index_label: of its pods, by which Kueue gives each a place of its own. */
struct json *kueue_pod_set(struct arena *a, const char *name, int64_t count, const struct json *pod_template, const char *index_label);
#define KUEUE_JOB_INDEX_LABEL "batch.kubernetes.io/job-completion-index"
#define KUEUE_GROUP_INDEX_LABEL "kueue.x-k8s.io/pod-group-pod-index"
/* The same of pods like this one, which has its annotations itself. */
struct json *kueue_pod_set_of(struct arena *a, const char *name, int64_t count, const struct json *pod);
/* set.topologyRequest: the domains that the annotations of a pod template ask for, and the label by which its pods are told apart, also
 * where no domain is asked for. SOURCE Kueue */
void kueue_topology_request(struct arena *a, struct json *set, const struct json *annotations, const char *index_label);
/* The same of a set whose pods are those of so many Jobs of a JobSet. */
void kueue_topology_of_jobs(struct arena *a, struct json *set, int64_t jobs_n);
/* Has the Workload no topologyRequest where one of these pod sets, which are its own else, asks for domains? */
bool kueue_topology_is_missing(const struct json *workload, const struct json *pod_sets);
/* A pod template with selectors, tolerations, label and annotation of the start: as a merge patch, and back again. */
int kueue_template_start(struct arena *a, const struct json *pod_template, const struct kueue_start *s, struct json *patch, struct err *e);
void kueue_template_restore(struct arena *a, const struct json *now, const struct json *original, struct json *patch);

/* The same of all pod templates of a job, in a copy of them, which merge patches then hold whole. `named` finds one of a pod set in `of`;
 * NULL: it has none. Start: 0, or -E_CONFLICT with a sentence. Restore: false when nothing was put in. */
struct kueue_templates {
    struct json *(*named)(struct arena *a, const void *of, const char *pod_set);
    const void *of;
};
int kueue_templates_start(struct arena *a, const struct kueue_templates *t, const struct kueue_start *starts, uint32_t starts_n,
                          struct err *e);
bool kueue_templates_restore(struct arena *a, const struct kueue_templates *t, const struct json *workload);

/* The Workload for an owner: ready to be created. */
struct kueue_workload_request {
    const char *name, *queue, *priority_class, *later; /* later: as struct kueue_kind has it */
    struct json *owner_references, *pod_sets;
    const struct json *owner;
};
/* The owner's own limit of time, wherever its kind has it, into the metadata of its Workload (DECODE_DEADLINE_ANNOTATION). */
void kueue_note_deadline(struct arena *a, const struct json *owner, struct json *metadata);
/* NULL with a sentence when its WorkloadPriorityClass does not exist. */
struct json *kueue_workload(struct jobs *j, struct arena *a, const struct kueue_workload_request *r, const char **ret_why);
/* Those labels of any pod of a group that the configuration names, onto its Workload. False: pods contradict each other; it was told. */
bool kueue_copy_group_labels(struct jobs *j, struct arena *a, const struct json *const *pods, uint32_t pods_n, struct json *workload);
/* What the owner's annotations say of who of equals is preempted (codec/decode/decode.h), where the Workload does not say the same: into
 * the metadata of `to`, null where the owner says nothing any more. A Workload that somebody else made for the owner keeps what it says
 * itself. True: there was something. */
bool kueue_copy_stakes(struct arena *a, const struct json *owner, const struct json *workload, struct json *to);
/* Condition PodsReady of pods that are queued themselves: `total` of them are ready or have succeeded. */
void kueue_pods_say_ready(struct work *w, const struct json *workload, const struct json *const *pods, uint32_t n, int64_t total,
                          int64_t now_ms);
/* Name of the Workload that somebody made for the job, or "". */
const char *kueue_prebuilt_name(const struct json *job);
/* Names and counts of its pod sets are these. */
bool kueue_workload_fits(const struct json *workload, const struct json *pod_sets);
/* It has these pod sets, each with as many pods or more. */
bool kueue_workload_covers(const struct json *workload, const struct json *pod_sets);
bool kueue_workload_is_of(const struct json *workload, const struct json *job); /* the job is its controller */
/* The Workload that was made for the job r->owner, and is not its own yet, becomes so, or ends as one that is not made for it. */
void kueue_workload_adopt(struct jobs *j, struct work *w, const struct json *workload, const struct kueue_workload_request *r,
                          int64_t now_ms);
/* Priority and class of a Workload are its owner's: what differs into `spec`, and true. What somebody made beforehand keeps its own. With
 * quota a Workload takes another WorkloadPriorityClass for the one that it has, and nothing else. *ret_missing: there is no such class.
 * SOURCE Kueue */
bool kueue_follow_priority(struct jobs *j, struct arena *a, const struct json *owner, const struct json *workload, const char *pod_class,
                           struct json *spec, const char **ret_missing);
/* spec.priority and spec.priorityClassRef into `spec`; false when the WorkloadPriorityClass does not exist. */
bool kueue_set_priority(struct jobs *j, struct arena *a, const char *workload_class, const char *pod_class, struct json *spec);
/* The starts of an admitted Workload; NULL while a flavor is not known yet. */
struct kueue_start *kueue_starts(struct jobs *j, struct arena *a, const struct json *workload, uint32_t *ret_n);
/* kueue_updates.c: the checks of an admitted Workload add to the start of a pod set. */
void kueue_updates_add(struct arena *a, const struct json *workload, struct kueue_start *s);
/* What in this contradicts the labels and annotations of a pod, or template; NULL: nothing. */
const char *kueue_updates_conflict(struct arena *a, const struct kueue_start *s, const struct json *pod);
/* Tolerations of a pod's spec with those of its start, none of them twice. */
struct json *kueue_with_tolerations(struct arena *a, const struct json *spec, const struct kueue_start *start);
/* A pod that stands by itself is given what its start adds, while it may still be changed. */
void kueue_pod_start(struct arena *a, const struct json *pod, const struct kueue_start *s, struct json *patch);
bool kueue_admitted(const struct json *workload); /* Admitted and neither evicted nor finished */
/* And keeps it, also while it waits for its checks: what they are asked for is what the job was. */
bool kueue_holds_quota(const struct json *workload);
int64_t kueue_executed_ms(const struct json *workload, int64_t now_ms); /* time admitted, over all admissions */
/* Status patches of the job side: finished; given back after an eviction. Nothing is sent when nothing changes. */
/* Takes the finalizer off: the Workload may go. */
void kueue_workload_let_go(struct work *w, const struct json *workload);
void kueue_workload_finish(struct work *w, const struct json *workload, bool succeeded, const char *reason, const char *message,
                           int64_t now_ms);
/* is_last: nobody is left who could start again, so it is not queued again either. SOURCE Kueue: of a pod that was stopped. */
void kueue_workload_release(struct work *w, const struct json *workload, bool is_last, int64_t now_ms);
/* Its owner has nothing to run now: its quota goes, and it stands in no queue until that is taken back. message: as
 * codec/kinds/waiting_names.h has them */
void kueue_workload_hold(struct work *w, const struct json *workload, const char *message, int64_t now_ms);
/* status.reclaimablePods; over: name of a pod set -> its members that will not be needed again. True when a write is on its way. SOURCE
 * Kueue: none of them falls. */
bool kueue_workload_reclaim(struct work *w, const struct json *workload, const struct json *over);
/* One condition of its status; true when a write is on its way. */
bool kueue_workload_say(struct work *w, const struct json *workload, const char *type, bool status, const char *reason, const char *message,
                        int64_t now_ms);
/* Condition PodsReady: of one that runs; of one that is stopped. */
void kueue_workload_waits(struct work *w, const struct json *workload, int64_t now_ms);
void kueue_workload_ready(struct work *w, const struct json *workload, bool ready, int64_t now_ms);

#endif
