/* decode.h - API objects become the records of core/flow.h; here every dialect ends
 *
 * Pods and nodes come by the hundred thousand, so they are read as text by the pull reader, without a tree. Everything else is rare and is
 * read from a tree. What is malformed decodes to what can be understood; where that would be wrong (no name, an amount that is no
 * number) the result is -E_INVALID with the field path, and the record is not to be used.
 *
 * OWNER  names are interned in d->names; arrays stand in d->arena. Nothing points into the input.
 * UNIT   amounts: cpu in milli-cores, all else in whole units, rounded up. Amounts of 0 are left out of requests.
 * ORDER  requests, allocatable: by resource id. Labels, taints, tolerations, terms: as in the object.
 */
#ifndef CODEC_DECODE_H
#define CODEC_DECODE_H
#include "base/arena.h"
#include "base/collections/intern.h"
#include "codec/charge/charge.h"
#include "core/device_list.h"
#include "core/flow.h"
#include "wire/json.h"

/* On pods: the client's share of an MPS device. KETI_LIMITS is the name that KETI's scheduler uses for pinned memory. */
#define DECODE_PERCENTAGE_ANNOTATION "capstan.dev/mps-active-thread-percentage"
#define DECODE_PINNED_MEMORY_ANNOTATION "capstan.dev/mps-pinned-memory"
#define DECODE_KETI_LIMITS_ANNOTATION "GPUlimits"
#define DECODE_FEEDBACK_ANNOTATION "capstan.dev/gpu-feedback" /* on nodes: what the agent measured, exporter/push/feedback.h */
#define DECODE_FEEDBACK_MAX_BYTES (16u << 10) /* agents write no more; longer ones are not read */
/* On a job that is queued the Kueue way, or its Workload: who of equals is preempted (core/preempt/stakes.h). */
#define DECODE_MINIMUM_RUN_ANNOTATION "capstan.dev/minimum-run-seconds"
#define DECODE_HOLD_ANNOTATION "capstan.dev/hold" /* on pod groups: any value but "false" keeps them from starting */
/* On Workloads and pod groups. When it was found that its GPUs do nothing (sched/hung/hung.h), which the scheduler writes; whether it is to
 * be started again for that; after how many seconds of that it counts as hung. */
#define DECODE_HUNG_ANNOTATION "capstan.dev/hung"
#define DECODE_HUNG_RESTART_ANNOTATION "capstan.dev/restart-when-hung"
#define DECODE_HUNG_AFTER_ANNOTATION "capstan.dev/hung-after-seconds"
#define DECODE_HUNG_AFTER_LEAST_S 10
#define DECODE_HUNG_AFTER_MOST_S 604800
/* On pod groups: so many seconds after one has fallen below its minimum it is evicted whole (core/heal/refill.h). */
#define DECODE_REFILL_ANNOTATION "capstan.dev/refill-seconds"
#define DECODE_REFILL_MOST_S 86400
/* On Volcano's PodGroups, and on its jobs, whose PodGroups have it: how long they may wait: of equal priority who is due comes first. */
#define DECODE_SLA_ANNOTATION "sla-waiting-time"
#define DECODE_CHECKPOINT_ANNOTATION "capstan.dev/checkpoint-time"
/* On Workloads and pod groups. Before it is stopped for others it is asked to save, and has so many seconds; when it was asked, which the
 * scheduler writes (sched/stop.c). */
#define DECODE_CHECKPOINT_WITHIN_ANNOTATION "capstan.dev/checkpoint-within-seconds"
#define DECODE_CHECKPOINT_WITHIN_MOST_S 3600 /* WHY  whoever is promised what it leaves waits for so long */
#define DECODE_CHECKPOINT_ASKED_ANNOTATION "capstan.dev/checkpoint-requested"
#define DECODE_MINIMUM_RUN_MOST_S 86400 /* WHY a longer one keeps others of its priority in front of it for as long */
/* On a ClusterQueue: to whom of those who wait a start is promised (core/time/booking.h). */
#define DECODE_BACKFILL_ANNOTATION "capstan.dev/backfill"
/* On a ClusterQueue or Volcano's Queue: by which policy nodes are chosen for its gangs (core/policy.h). */
#define DECODE_PLACEMENT_ANNOTATION "capstan.dev/placement"
/* On a ClusterQueue: its jobs may be moved so that others start, at so many GPU-seconds of lost work for each GPU gained at most. On a job
 * or Workload: "false", and it is not (core/moves/moves.h). */
#define DECODE_MOVE_COST_ANNOTATION "capstan.dev/move-cost-seconds"
#define DECODE_MOVE_COST_MOST_S 604800
#define DECODE_MOVABLE_ANNOTATION "capstan.dev/movable"
/* On a Workload: its job's activeDeadlineSeconds, as they were when it was queued. */
#define DECODE_DEADLINE_ANNOTATION "capstan.dev/active-deadline-seconds"
/* On a Workload: names of its pod sets whose pods are made when those of others have begun or ended, with commas between. */
#define DECODE_LATER_ANNOTATION "capstan.dev/later-pod-sets"
/* The same of those whose pods are made one after the other, each when the one before it is ready. */
#define DECODE_SERIAL_ANNOTATION "capstan.dev/serial-pod-sets"
#define DECODE_WORKLOAD_ANNOTATION "kueue.x-k8s.io/workload"
#define DECODE_PODSET_LABEL "kueue.x-k8s.io/podset"
#define DECODE_VOLCANO_GROUP_ANNOTATION "scheduling.k8s.io/group-name"
#define DECODE_VOLCANO_TASK_ANNOTATION "volcano.sh/task-spec"
#define DECODE_VOLCANO_GATE "scheduling.volcano.sh/queue-allocation-gate" /* a scheduling gate; and the annotation that asks for it */
#define DECODE_COSCHEDULING_LABEL "scheduling.x-k8s.io/pod-group"
/* Of pods of KAI's scheduler name alone: its podgrouper writes them. */
#define DECODE_KAI_SCHEDULER "kai-scheduler"
#define DECODE_KAI_GROUP_ANNOTATION "pod-group-name"
#define DECODE_KAI_SUBGROUP_LABEL "kai.scheduler/subgroup-name"
#define DECODE_KAI_ORDER_LABEL "kai.scheduler/task-priority" /* of pods of one group; its value is that of the record's priority */
/* Pods of a part of a gang (native_part) have its name as a label of this key, by which their subgroup is found. WHY  '/': no other is
 * called so. */
#define DECODE_PART_LABEL "/pod-group"
#define DECODE_LABEL_TITLE "label " /* before the label, in the title of a tier_request that is about labels */
#define DECODE_LABELS_UNUSED "its pods stand where there is room: while there are HyperNodes of Volcano's, those alone make domains, and else " \
                             "as many labels as topologies have levels"
#define DECODE_VOLCANO_QUEUE_PREFIX "volcano:" /* before the name that the core finds a Volcano Queue by */
#define DECODE_KAI_QUEUE_PREFIX "kai:" /* the same of KAI's; alone: who is above all of them */

/* Values of spec.schedulerName: of pods that say nothing, which capstan up places, too; those that are served where nobody says which:
 * capstan, volcano, coscheduling, ..., NULL ends; is it one of all these? SOURCE manifests of the peers. */
#define DECODE_DEFAULT_SCHEDULER "default-scheduler"
extern const char *const decode_scheduler_names[];
bool decode_is_scheduler(const char *name);

struct decoder {
    struct intern *names;
    struct arena *arena;
    const name_id *schedulers; /* values of spec.schedulerName that are ours */
    uint32_t schedulers_n;
    /* Value of a PriorityClass by name; NULL = every class counts 0. Volcano pod groups name a class, not a number. */
    int32_t (*priority_of)(void *ctx, const char *class_name);
    /* Array of the LimitRanges of a namespace; a RuntimeClass by name. In the arena, NULL = none. NULL functions: no rules are known. */
    const struct json *(*limit_ranges)(void *ctx, const char *ns, struct arena *a);
    const struct json *(*runtime_class)(void *ctx, const char *name, struct arena *a);
    /* Why a ClusterQueue with this spec must not admit, as its admission checks are now; NULL: they are as they should be. */
    const char *(*checks_problem)(void *ctx, const struct json *spec, struct arena *a);
    /* The tier of HyperNodes that is called so. False, or NULL: none is. */
    bool (*tier_of)(void *ctx, const char *tier_name, int64_t *ret_tier);
    /* The gang asks for these n lists of levels of domains from now on, in each levels with ' ' between, each by the labels whose values
     * the nodes of a domain share: "zone" or "block,rack"; NULL: for none. ret_tiers: that of the first level of each; INT64_MIN: it has
     * none as yet, and the gang is read again. False, or NULL: labels make no domains here. */
    bool (*levels_of)(void *ctx, name_id gang, const char *const *levels, uint32_t n, int64_t *ret_tiers);
    /* spec.levels of KAI's Topology of that name. NULL, or no function: there is none. */
    const struct json *(*kai_levels)(void *ctx, const char *topology, struct arena *a);
    /* Is there a Queue of Volcano's of that name? NULL: there is none. Others' pod groups count in one where there is. */
    bool (*has_queue)(void *ctx, const char *name);
    /* Does this name, in a group of KAI's, mean a Queue of KAI's, be it that there is none of that name? NULL: none does. */
    bool (*names_kai_queue)(void *ctx, const char *name);
    /* The gang that a PodGroup of scheduling.k8s.io is a part of, by the key that its own would have. 0, or NULL: it is none's. */
    name_id (*whole_of)(void *ctx, name_id group);
    void *ctx;
    const struct charge_policy *charge; /* of Workloads; NULL: quota counts what their pods ask for */
    bool requeue_by_creation; /* who was evicted because its pods were not ready in time keeps its place in the queue (core/policy.h) */
};

/* Hot path: `text` is one whole JSON object. */
int decode_node(const struct decoder *d, struct bytes text, struct node_record *ret_node, struct err *e);
/* The annotation with an agent's measurements into the record. A hint that cannot be understood is none, and never costs the node. */
void decode_feedback(const struct decoder *d, struct bytes text, struct node_record *node);
/* The pod's gang: annotation kueue.x-k8s.io/workload -> "workload/ns/NAME"; annotation scheduling.k8s.io/group-name -> "volcano/ns/NAME";
 * label scheduling.x-k8s.io/pod-group -> "coscheduling/ns/NAME"; spec.schedulingGroup.podGroupName -> "native/ns/NAME",
 * or what that is a part of, "composite/ns/TOP" (whole_of);
 * spec.workloadRef{name,podGroup,podGroupReplicaKey} -> "native/ns/NAME/GROUP[/KEY]"; YuniKorn's task group (codec/groups/task_groups.h) ->
 * "volcano/ns/yunikorn-APPLICATION"; KAI's annotation pod-group-name -> "kai/ns/NAME"; first match wins, else 0. */
int decode_pod(const struct decoder *d, struct bytes text, struct pod_record *ret_pod, struct err *e);

/* From trees. */
int decode_namespace(const struct decoder *d, const struct json *object, struct namespace_record *ret_ns, struct err *e);
int decode_topology(const struct decoder *d, const struct json *object, struct topology_record *ret_topology, struct err *e);
int decode_flavor(const struct decoder *d, const struct json *object, struct flavor_record *ret_flavor, struct err *e);
/* Both shapes: v1beta1 (spec.cohort) and v1beta2 (spec.cohortName). A covered resource that a flavor leaves out gets a quota of 0. */
int decode_cluster_queue(const struct decoder *d, const struct json *object, struct queue_record *ret_queue, struct err *e);
const struct json *decode_queue_cohort(const struct json *spec); /* of a ClusterQueue of either shape; NULL: it is in none */
int decode_cohort(const struct decoder *d, const struct json *object, struct cohort_record *ret_cohort, struct err *e);
int decode_local_queue(const struct decoder *d, const struct json *object, struct local_queue_record *ret_queue, struct err *e);
/* The values of the annotations above: seconds up to the most; RFC 3339. False: they say nothing. */
bool decode_minimum_run(struct bytes text, int32_t *ret_s);
bool decode_checkpoint(struct bytes text, int64_t *ret_ms);
bool decode_refill(struct bytes text, int32_t *ret_s);
bool decode_checkpoint_within(struct bytes text, int32_t *ret_s);
bool decode_hung_after(struct bytes text, int32_t *ret_s);
bool decode_truth(struct bytes text, bool *ret_is); /* "true", "false" */
int64_t decode_restart_ms(const struct json *object); /* it asks for a restart when it hangs, and was found so then; 0: neither */
int decode_workload(const struct decoder *d, const struct json *object, struct gang_record *ret_gang, struct err *e);
int decode_volcano_queue(const struct decoder *d, const struct json *object, struct queue_record *ret_queue, struct err *e);
int decode_volcano_pod_group(const struct decoder *d, const struct json *object, struct gang_record *ret_gang, struct err *e);
bool decode_is_no_floor(struct bytes resource); /* in its minResources: told to have no effect */
int decode_coscheduling_pod_group(const struct decoder *d, const struct json *object, struct gang_record *ret_gang, struct err *e);
int decode_native_pod_group(const struct decoder *d, const struct json *object, struct gang_record *ret_gang, struct err *e);
/* What is written in one and does nothing, in words, in d->arena; NULL: nothing. Not who preempts or is preempted, which controllers write
 * into each group that they make: nobody is. */
const char *decode_native_unused(const struct decoder *d, const struct json *object);
/* `unused`, and annotations of a part of a tree of CompositePodGroups that say something of its top alone. NULL: neither. */
const char *decode_part_unused(const struct decoder *d, const struct json *object, const char *unused);
/* Of a PodGroup or CompositePodGroup: the CompositePodGroup that it is below; "": none. */
const char *decode_native_parent(const struct json *object);
bool decode_native_asks(const struct json *object); /* for a topology */
/* Those right below it start each by itself: basic, and no topology of all. NULL: false. */
bool decode_composite_is_apart(const struct json *composite);
/* A tree of groups, which is one gang: the CompositePodGroup on top first, each after the one that it is below (above: index; right below
 * the top 0). What keeps all of it from starting is told as a fault (LIMIT_SUBGROUP_POLICIES, NATIVE_DEPTH, several Workloads). */
#define NATIVE_DEPTH 4 /* from the top to the PodGroup. SOURCE Kubernetes, WorkloadMaxTreeDepth */
struct native_part {
    const struct json *object;
    uint32_t above;
    bool is_composite;
    bool is_endless;           /* of the first: what is above it comes to no end */
};
int decode_composite_group(const struct decoder *d, const struct native_part *parts, uint32_t n, struct gang_record *ret_gang,
                           struct err *e);
/* The group of a Workload of scheduling.k8s.io/v1alpha1 that the gang's key names (above). -E_NOTFOUND: it has no such group. */
int decode_native_group_of(const struct decoder *d, const struct json *workload, const char *gang_key, struct gang_record *ret_gang,
                           struct err *e);
/* The key, "ns/name", of the Workload of that version which has the group. False: the gang is no such group. */
bool decode_native_workload(const char *gang_key, struct bytes *ret_workload);

/* PodGroups of Kubernetes itself (scheduling.k8s.io), the newest version first; ends with version NULL. Before them, in v1alpha1 of 1.35,
 * Workloads had the groups.
 * SOURCE Kubernetes' API of 1.36 (v1alpha2) and of 1.37 and 1.38 (v1alpha3, v1beta1) */
#define COMPOSITES_VERSION "v1alpha3" /* of CompositePodGroups. SOURCE Kubernetes' API of 1.37: in no other */
#define COMPOSITES_API "scheduling.k8s.io/" COMPOSITES_VERSION
#define COMPOSITES_PATH "/apis/" COMPOSITES_API "/compositepodgroups"
#define COMPOSITE_SCHEDULED "CompositePodGroupInitiallyScheduled"
#define NATIVE_WORKLOADS_PATH "/apis/scheduling.k8s.io/v1alpha1/workloads"
struct native_version {
    const char *version, *api_version;
    const char *scheduled; /* the condition that says that so many as must have got nodes */
};
extern const struct native_version native_versions[];
extern const char *const native_paths[];                              /* of their lists, in the same order; ends with NULL */
const struct native_version *native_version_at(const char *path);     /* path: one of those */
/* SOURCE KAI-Scheduler v2alpha2. Of subgroups those count that have none below them, each with its minMember. */
int decode_kai_pod_group(const struct decoder *d, const struct json *object, struct gang_record *ret_gang, struct err *e);
/* What is written in one and does nothing, in words, in d->arena; NULL: nothing. */
const char *decode_kai_unused(const struct decoder *d, const struct json *object);
/* PodDisruptionBudget: what of it is read when somebody has to go. */
int decode_budget(const struct decoder *d, const struct json *object, struct budget_record *ret_budget, struct err *e);
int decode_priority_class(const struct decoder *d, const struct json *object, name_id *ret_name, int32_t *ret_value, struct err *e);

/* Parts that controllers need too. */
/* Shape of a pod template (metadata.labels + spec). `path` begins error texts: "spec.podSets[0].template". */
int decode_template(const struct decoder *d, const struct json *pod_template, name_id ns, const char *path, struct shape *ret_shape,
                    struct err *e);
/* Of status.conditions; NULL = none. */
const struct json *decode_condition(const struct json *object, const char *type);
bool decode_condition_true(const struct json *object, const char *type);
/* False: none of its words. */
bool decode_move_cost(struct bytes text, int32_t *ret_s); /* false: it cannot be read; *ret_s = 0: never */
bool decode_backfill(struct bytes text, enum queue_backfill *ret_backfill);
/* What the queue's annotation says. Where it names no policy (`unread`): what the queue kept then, as condition QUEUE_PLACEMENT says. */
struct queue_placement decode_queue_placement(const struct json *object, struct arena *a);
bool decode_placement(const struct json *name, enum placement *ret_placement); /* false: there is none such */
void decode_booking(const struct decoder *d, const struct json *object, struct gang_record *g); /* its pod sets are known */
/* meta/v1 LabelSelector; NULL gives matches_nothing. */
void decode_label_selector(const struct decoder *d, const struct json *selector, struct selector *ret_selector);
void decode_sort_amounts(struct amount *all, uint32_t n); /* by resource, as all lists of them are */
/* {"cpu": "2", "memory": "1Gi"} -> amounts sorted by resource; path as above. */
int decode_amounts(const struct decoder *d, const struct json *quantities, const char *path, const struct amount **ret_amounts,
                   uint32_t *ret_n, struct err *e);
/* {"a": "b"} -> labels in document order. */
void decode_labels(const struct decoder *d, const struct json *object, const struct label **ret_labels, uint32_t *ret_n);
/* Key of a gang, interned: "workload/ns/name". */
name_id decode_gang_key(const struct decoder *d, enum gang_source source, struct bytes ns, struct bytes name);
const char *decode_gang_prefix(enum gang_source source); /* "workload/" */
/* The key of its object, "ns/name", which is the rest of the gang's. */
const char *decode_gang_object(enum gang_source source, const char *gang_key);

#endif
