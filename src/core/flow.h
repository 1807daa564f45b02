/* flow.h - every record that flows through Capstan: change -> state -> decide -> plan -> outcome (which is a change again)
 *
 *      codec              core/state/state.h       core/decide.h             sched/act.c
 *   JSON ----> change ----> state_apply ----> state ----> decide ----> plan ----> HTTP writes
 *                 ^                                                                  |
 *                 `------------------------- outcome (CHANGE_OUTCOME) <--------------'
 *
 * The core never sees a dialect: a Kueue Workload, a Volcano PodGroup, a coscheduling PodGroup and a lone Pod all arrive as `gang` + `pod`.
 *
 * NAMES  all names are ids of the state's one intern pool (base/collections/intern.h); 0 = none. Codecs intern while decoding.
 * UNIT   amounts are int64 in the smallest unit: cpu in milli-cores, everything else in whole units (bytes, devices).
 *        Times are wall milliseconds; they are data here, never read from a clock.
 * OWNER  records point into memory of whoever made them (a request arena) and are copied by state_apply.
 * ORDER  whatever is ordered is ordered totally: (key, then creation, then name text).
 */
#ifndef CORE_FLOW_H
#define CORE_FLOW_H
#include <stdbool.h>
#include <stdint.h>
#include "core/policy.h"

typedef uint32_t name_id; /* interned text; 0 = none */

/* ---------------------------------------------------------------- small parts ---------------------------------------------------- */

struct label {
    name_id key, value;
};

struct amount {
    name_id resource;
    int64_t value;
};
/* What a pod that asks for shares of GPUs requests, whatever its dialect calls it: of all its shares together. Nodes have devices of the
 * first, which are given in parts (docs/design/0020-shares.md). */
#define GPU_SHARE_PREFIX "capstan.dev/gpu-"
#define GPU_SHARE_MILLI "capstan.dev/gpu-milli"               /* thousandths of a GPU */
#define GPU_COUNTED "gpu" /* what KAI's Queues count of GPUs in whatever form, in thousandths; no resource that pods can ask for */
#define GPU_SHARE_MEMORY "capstan.dev/gpu-memory"             /* bytes */
#define GPU_SHARE_MEMORY_MILLI "capstan.dev/gpu-memory-milli" /* thousandths of its memory, whatever that is */
#define GPU_SHARE_COUNT "capstan.dev/gpu-shares"              /* equal shares, each of another GPU of one node; not requested: one */

/* One expression of a label selector or node selector. SOURCE core/v1 NodeSelectorRequirement, meta/v1 LabelSelectorRequirement. */
enum requirement_op { REQUIRE_IN, REQUIRE_NOT_IN, REQUIRE_EXISTS, REQUIRE_NOT_EXISTS, REQUIRE_GREATER, REQUIRE_LESS };
struct requirement {
    name_id key;
    enum requirement_op op;
    bool is_field;             /* matchFields: only metadata.name */
    const name_id *values;
    uint32_t values_n;
    int64_t number;            /* REQUIRE_GREATER, REQUIRE_LESS */
};
struct selector {              /* all must hold; none = everything */
    const struct requirement *all;
    uint32_t all_n;
    bool matches_nothing;      /* a null selector where null means "nothing" */
};

enum taint_effect { TAINT_NO_SCHEDULE = 1, TAINT_PREFER_NO_SCHEDULE = 2, TAINT_NO_EXECUTE = 4 };
struct taint {
    name_id key, value;
    enum taint_effect effect;
};
struct toleration {
    name_id key;               /* 0 with exists: every key */
    name_id value;
    bool exists;               /* operator Exists */
    uint8_t effects;           /* bits of enum taint_effect; all bits = any */
};

struct host_port {
    name_id address;           /* 0 = every address */
    uint16_t port;
    uint8_t protocol;          /* 0 TCP, 1 UDP, 2 SCTP */
};

/* Pod (anti-)affinity: pods that `pods` selects in these namespaces, one domain = one value of node label `topology_key`. */
struct pod_affinity {
    struct selector pods;
    const name_id *namespaces;
    uint32_t namespaces_n;
    bool all_namespaces;
    name_id topology_key;
    bool anti;
    int32_t weight;            /* 1 .. 100 of one that is preferred; 0: it is required */
};
struct topology_spread {
    struct selector pods;
    name_id topology_key;
    int32_t max_skew, min_domains;
};

#define WISHES_MOST 32u /* of each kind that a pod has: those after them say nothing. WHY  each is asked of each node */
/* A node of preferred nodeAffinity: those that the term matches are better by its weight. */
struct node_preference {
    struct selector term;
    int32_t weight;
};

/* What a pod needs of a node: everything that decides where it can stand. Pods with equal shapes are interchangeable for placement. */
struct shape {
    /* per pod, containers + init containers + overhead by the Kubernetes rules; sorted by resource; "pods" is implicit */
    const struct amount *requests;
    uint32_t requests_n;
    const struct label *node_labels;         /* nodeSelector */
    uint32_t node_labels_n;
    const struct selector *node_terms;       /* required nodeAffinity: one of the terms must hold; n = 0: no demand */
    uint32_t node_terms_n;
    /* Which of the nodes that do is best (rules/wish.h). Preferred node affinity also in domains of a topology, where the policy says so:
     * part of the shape always, as the policy may change while pods stay. */
    const struct node_preference *node_wishes;
    const struct pod_affinity *pod_wishes;
    const struct topology_spread *spread_wishes;
    uint32_t node_wishes_n, pod_wishes_n, spread_wishes_n;
    const struct toleration *tolerations;
    uint32_t tolerations_n;
    const struct host_port *ports;
    uint32_t ports_n;
    const struct pod_affinity *affinities;   /* required; */
    uint32_t affinities_n;
    const struct topology_spread *spreads;   /* those that hold (whenUnsatisfiable: DoNotSchedule) */
    uint32_t spreads_n;
    const struct label *labels;              /* the pod's own, for other pods' (anti-)affinity and spread */
    uint32_t labels_n;
    name_id ns;
};

/* ---------------------------------------------------------------- change -------------------------------------------------------- */

struct device {
    name_id resource;          /* "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "keti.com/mpsgpu" */
    name_id id;                /* what the node's device plugin calls it */
    uint16_t gpu;              /* physical GPU that it is (part of) */
    uint16_t link_group;       /* GPUs of one NVLink/NUMA group are close */
    bool healthy;
    uint16_t unit;             /* of a share, what it is a share of: several for one pod come from different ones; 0: no such share */
    uint16_t parts;            /* a pod asks for so many parts of one of them, and others may have the rest; 0: it is given whole */
    uint32_t memory_mib;       /* of the GPU, where it is given in parts; 0 unknown */
};

/* What an agent measured of a device, as its node's annotation says (core/score/load.h). */
struct device_feedback {
    name_id id;                /* of the device, or of the GPU where a node has too many of them */
    int16_t activity_permille; /* -1 unknown */
    int16_t margin_c;          /* degrees below the temperature that slows the GPU down; INT16_MIN unknown */
    uint32_t memory_used_mib, memory_total_mib; /* total 0: unknown */
    bool throttled;
    uint16_t xid;              /* last error; 0 none */
    int64_t xid_ms;            /* wall time */
};
/* older than that many periods: not trusted (docs/monitoring.md). WHY agents say again what has not changed every ten */
#define FEEDBACK_PERIODS 12

struct node_record {
    name_id name;
    const struct label *labels;
    uint32_t labels_n;
    const struct taint *taints;
    uint32_t taints_n;
    const struct amount *allocatable;
    uint32_t allocatable_n;
    const struct device *devices; /* empty: devices of a resource are anonymous 0..allocatable-1 */
    uint32_t devices_n;
    const struct device_feedback *feedback; /* NULL: none, or none that can be understood */
    uint32_t feedback_n;
    int64_t feedback_ms, feedback_period_ms; /* wall time of the sample; how often there is one */
    int64_t network_bps;       /* what the node's network carried then: bytes a second, and one more; 0 = not known */
    bool unschedulable, ready;
};

struct namespace_record {
    name_id name;
    const struct label *labels;
    uint32_t labels_n;
};

/* Where a node is in a topology whose domains do not follow from labels: one domain a level, 0 = in none of that level. */
struct topology_row {
    name_id node;
    const name_id *domains;
};
struct topology_record {       /* Kueue Topology: nodes by the values of these labels; or Volcano's HyperNodes, one level a tier */
    name_id name;
    const name_id *levels;     /* from the widest to the narrowest */
    uint32_t levels_n;
    const int64_t *tiers;      /* of each level; NULL: levels are labels. There is one topology with tiers at most */
    const struct topology_row *rows; /* with tiers: of nodes that are in any domain */
    uint32_t rows_n;
};

struct flavor_record {         /* Kueue ResourceFlavor */
    name_id name;
    name_id topology;          /* its pods stand in domains of it; 0 = none */
    const struct label *node_labels;
    uint32_t node_labels_n;
    const struct taint *taints;
    uint32_t taints_n;
    const struct toleration *tolerations;
    uint32_t tolerations_n;
};

#define NO_LIMIT (-1)
#define NO_END (INT64_MAX / 64) /* by shares, of what nobody bounds (quota/deserve.h): sums of it stay far from where amounts saturate */
struct quota_record {
    name_id flavor;            /* 0 = any node: Volcano queues, which have no flavors */
    name_id resource;
    int64_t nominal;
    int64_t borrowing_limit;   /* NO_LIMIT = none */
    int64_t lending_limit;     /* NO_LIMIT = none */
    bool is_bounded;           /* whatever others could lend, usage may not be above `bound` */
    int64_t bound;
};
struct resource_group {        /* flavors are tried in this order; a pod set takes one flavor for all resources of a group */
    const name_id *resources;
    uint32_t resources_n;
    const name_id *flavors;
    uint32_t flavors_n;
};
struct cohort_record {
    name_id name, parent;      /* parent 0 = root */
    const struct quota_record *quotas;
    uint32_t quotas_n;
    bool has_weight;           /* false: 1 */
    int64_t weight_nano;       /* fairSharing.weight, in 1e-9 */
};
/* What users call it: ClusterQueue, LocalQueue, or (Volcano's) queue. Two kinds may have queues of one name: what they are found by
 * differs, and is never shown or read. */
enum queue_kind { QUEUE_CLUSTER, QUEUE_LOCAL, QUEUE_VOLCANO };
enum queue_strategy { QUEUE_BEST_EFFORT_FIFO, QUEUE_STRICT_FIFO }; /* Volcano's words: dequeueStrategy traverse, fifo */
enum stop_policy { STOP_NONE, STOP_HOLD, STOP_HOLD_AND_DRAIN };
enum preemption_policy { PREEMPT_NEVER, PREEMPT_LOWER_PRIORITY, PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY, PREEMPT_ANY };
/* An admission check: somebody outside says when a gang that was given quota may be admitted. */
enum check_state { CHECK_PENDING, CHECK_READY, CHECK_RETRY, CHECK_REJECTED };
struct queue_check {           /* demanded by a queue */
    name_id name;
    const name_id *flavors;    /* of gangs that were given one of these; 0 of them: whatever they were given */
    uint32_t flavors_n;
};
struct gang_check {            /* and what the gang's object says of it */
    name_id name;
    enum check_state state;
};
/* Of all that is counted as one resource: each by itself; the largest of those that are parts (words for the same part of a GPU); a device
 * where the pod asks for no part: with one it is only what hands that out. */
enum counting_how { COUNTS_EACH, COUNTS_PART, COUNTS_WITHOUT_PART };
/* What of a pod's requests is counted as another resource (quota/count.h): value * times / per, rounded down, at least 1. */
struct counting {
    name_id as, resource;      /* those of one `as` stand together; all of them are only_kept, or none */
    int64_t times, per;        /* from 1 */
    enum counting_how how;
    bool only_kept;            /* of gangs that keep their places (keeps_places), and besides: what all gangs have is counted, too */
    name_id of;                /* only_kept: the resource, as all is counted, of which it is the part that those have */
};
/* What quotas are made of where nobody writes them down: a Volcano Queue (quota/deserve.h). */
struct queue_shares {
    name_id parent;            /* the queue above; 0 = it is the root */
    int64_t weight;            /* at least 1 */
    bool keeps;                /* nobody takes anything back from it (reclaimable: false) */
    bool by_turns;             /* its groups start with their minimum beside others, and grow by turns (group/later.h) */
    const struct amount *deserved, *guarantee, *capability; /* of resources that it names */
    uint32_t deserved_n, guarantee_n, capability_n;
    int64_t preempt_after_ms, reclaim_after_ms; /* so long a group runs before it goes whole for its queue, for others (preempt/tenure.h) */
    const struct counting *counts; /* what is not named is counted as it is asked for */
    uint32_t counts_n;
};
/* To whom of its gangs that cannot start a start is promised, on nodes and with quota, so that nobody passes who would make that later
 * (core/time/booking.h): to nobody; the first; the first BOOKINGS_MOST. */
enum queue_backfill { BACKFILL_NONE, BACKFILL_EASY, BACKFILL_CONSERVATIVE };
/* By which policy nodes are chosen for its gangs. */
struct queue_placement {
    bool own;                  /* false: by that of all */
    bool unread;               /* it names one that does not exist: the queue keeps what it had; one that was not known has this */
    enum placement by;
};
struct queue_record {          /* Kueue ClusterQueue, or a Volcano Queue */
    name_id name, cohort;      /* name: found by it; cohort 0 = none */
    name_id title;             /* as users wrote it; 0 = its name */
    enum queue_kind kind;
    enum queue_strategy strategy;
    enum queue_backfill backfill; /* of one that is not StrictFIFO */
    struct queue_placement placement;
    int32_t move_cost_s;       /* its Workloads may be moved for others, at so many GPU-seconds for each GPU at most; 0: never */
    enum stop_policy stop;
    struct selector namespaces;
    const struct resource_group *groups;
    uint32_t groups_n;         /* 0 groups and unlimited: everything fits as far as quota goes */
    const struct quota_record *quotas;
    uint32_t quotas_n;
    bool unlimited;            /* resources without a quota record are not counted (Volcano); else they are refused (Kueue) */
    bool borrow_before_next_flavor;  /* flavorFungibility.whenCanBorrow = MayStopSearch (default true) */
    bool preempt_before_next_flavor; /* whenCanPreempt = MayStopSearch (default false) */
    bool preempt_before_borrowing;   /* preference = PreemptionOverBorrowing (default false) */
    enum preemption_policy within_queue, reclaim_within_cohort, borrow_within_cohort;
    bool has_borrow_threshold; /* who is preempted while the queue borrows has at most this priority */
    int32_t borrow_threshold;
    bool has_weight;           /* as of a cohort */
    int64_t weight_nano;
    int32_t priority;          /* of Volcano's queues those with a higher one are served first */
    const struct queue_check *checks; /* who gets quota here is admitted when these are ready */
    uint32_t checks_n;
    bool by_consumption;       /* of its LocalQueues who has used less of late comes first (core/queue/consumption.h) */
    const struct queue_shares *shares; /* its quotas, cohort and policies but within_queue follow from these; NULL: from the record */
    bool closed;               /* accepts nothing new, e.g. deleted or misconfigured */
    name_id closed_text;       /* why, in words; 0 = it is being deleted */
};
/* So much of a resource as Kubernetes writes it: units (of cpu: cores) and 1e-9 of one. */
#define FINE_PER_UNIT 1000000000
struct fine_amount {
    name_id resource;
    int64_t units;
    int32_t nano;              /* 0 to 999,999,999 */
};
struct local_queue_record {
    name_id key;               /* "namespace/name" */
    name_id title;             /* as users wrote it; 0 = its key */
    name_id ns, queue;         /* the cluster queue's name */
    enum stop_policy stop;
    bool has_weight;           /* as of a cohort */
    int64_t weight_nano;
    const struct fine_amount *consumed; /* what it has used of late, as its status says */
    uint32_t consumed_n;
    int64_t consumed_ms;       /* as of then; 0 = it says nothing */
};

/* In which domains the pods of a set may stand. SOURCE Kueue PodSetTopologyRequest. */
enum topology_mode { TOPOLOGY_UNASKED, TOPOLOGY_REQUIRED, TOPOLOGY_PREFERRED, TOPOLOGY_UNCONSTRAINED };
#define TOPOLOGY_LEVELS 16
#define TOPOLOGY_SLICES 3
struct topology_slice {        /* `size` pods each in one domain of the level */
    name_id level;
    int32_t size;
};
struct topology_request {
    enum topology_mode mode;
    name_id level;             /* REQUIRED, PREFERRED */
    struct topology_slice slices[TOPOLOGY_SLICES]; /* from the widest; each size divides the one before */
    uint32_t slices_n;
    name_id group;             /* the sets of one group stand in one domain; one of them has one pod; 0 = none */
};
/* A whole pod group in one domain of the topology with tiers, of the lowest tier that holds it. SOURCE Volcano networkTopology. */
struct tier_request {
    enum topology_mode mode;   /* UNASKED; REQUIRED: of no tier above `highest`; PREFERRED: else anywhere */
    int64_t highest;           /* below all: there is no such tier */
    name_id title;             /* what it calls that tier */
};
/* Some members of a pod group that start together, and may have to stand in one domain: those that `pods` selects, one subgroup for each
 * combination of values that they have of the labels `keys` (who has no value of one is in none). Who is selected twice is in the first.
 * Policies may be below another one, which selects nobody then. SOURCE Volcano subGroupPolicy, KAI subGroups. */
struct subgroup_policy {
    name_id name;
    uint32_t above;            /* index + 1 of the policy that it is below; 0: of none */
    struct selector pods;      /* an empty one selects all */
    const name_id *keys;
    uint32_t keys_n;
    int32_t size;              /* fewest of a subgroup that start together */
    int32_t least_n;           /* it is satisfied with so many of its subgroups, or of the policies below it; 0 = with none */
    struct tier_request tiers; /* of each of its subgroups, or of all that is below it */
};
/* Pods of a set in a domain of the lowest level: `domain` is its value, where that level is a node, else all values with ',' between. */
struct domain_choice {
    uint16_t pod_set;
    name_id domain;
    int32_t count;
};

struct pod_set {
    name_id name;
    struct topology_request topology;
    struct shape shape;
    const struct amount *charged; /* is_charged: what quota counts of a member instead of the shape's requests; sorted alike */
    uint32_t charged_n;
    bool is_charged;
    int32_t count;             /* members wanted */
    int32_t min_count;         /* fewest that may start; 0 = count */
    int32_t reclaimed;         /* of count: over for good, need neither quota nor place (Kueue reclaimablePods) */
    int32_t granted;           /* of an admitted gang: so many of count it was given; 0 = all */
    bool in_turns;             /* others may come in the place of pods that succeeded; `reclaimed` says when nobody does any more */
    bool later;                /* its pods are made when others have begun or ended: places are kept for them, and nobody waits for them */
    bool serial;               /* each of its pods is made when the one before is ready: it begins alone, and places are kept for all */
};
/* Which flavor each (pod set, resource) of an admitted gang was given. */
struct flavor_choice {
    uint16_t pod_set;
    name_id resource, flavor;
};

/* The start that a gang was promised. */
struct booked_place {          /* so many members of a pod set on a node */
    uint16_t pod_set;
    name_id node;
    int32_t count;
};
struct booked_quota {
    name_id flavor, resource;
    int64_t amount;
};
struct booking_record {
    int64_t start_ms;
    uint8_t basis;             /* bits of enum end_basis (core/time/forecast.h): what the ends before it are known from */
    bool borrows;              /* of other queues' quota */
    const struct booked_place *places;
    const struct booked_quota *quota;
    uint32_t places_n, quota_n;
};

/* What a Workload says of its pods: SOURCE Kueue, condition PodsReady and its reasons. */
enum gang_pods { PODS_START, PODS_READY, PODS_RECOVER, PODS_UNSAID }; /* not ready yet; all are; one is no more; for another reason */

#define POD_GRACE_S 30         /* of pods that say nothing. SOURCE core/v1 PodSpec */

enum gang_source { GANG_WORKLOAD, GANG_VOLCANO, GANG_COSCHEDULING, GANG_NATIVE, GANG_POD, GANG_KAI, GANG_COMPOSITE };
struct gang_record {
    name_id key;               /* "workload/ns/name", "volcano/ns/name", "coscheduling/ns/name", "native/ns/name", "pod/ns/name", "kai/ns/name",
                                * "composite/ns/name": made by the codec, unique, and taken apart by nobody else */
    enum gang_source source;
    name_id ns;
    name_id local_queue;       /* Workload: "ns/name" */
    name_id queue;             /* direct queue: name of its record; 0 with local_queue 0 = no quota */
    name_id queue_title;       /* the one of the two that it names, as users wrote it; 0 = what it is found by */
    enum queue_kind queue_kind;
    int32_t priority;
    int64_t due_ms;            /* of equal priority those who are due come first, in this order (Volcano's sla-waiting-time); 0 = no time */
    int64_t created_ms;        /* place in the queue */
    name_id uid;               /* last tie-break */
    /* Workload: the pod sets are known before any pod exists, and members are planned ahead (`planned`).
     * Pod groups and pods: pod_sets_n = 0, members are the pods that exist; min_members decides when the gang is whole. */
    bool planned;
    const struct pod_set *pod_sets;
    uint32_t pod_sets_n;
    int32_t min_members;
    const struct amount *min_of_task; /* minTaskMember: resource = task name, value = fewest; none where min_members is below their sum */
    uint32_t min_of_task_n;
    const struct amount *least; /* its pods are made only once its queue could hold so much more (Volcano's minResources) */
    uint32_t least_n;
    bool least_is_free;        /* no: it starts only while all nodes together have so much free (coscheduling's: group/floor.h) */
    struct tier_request tiers; /* not of a planned gang */
    const struct subgroup_policy *subgroups; /* the same */
    uint32_t subgroups_n;
    int32_t subgroups_least;   /* of the policies that are below none so many have to be satisfied; 0 = all */
    int64_t restart_ms;        /* it is to give back what it was given before that, and to start again; 0 = nobody asks for that */
    bool keeps_places;         /* nobody is let in at its cost (Volcano's preemptable: false) */
    bool goes_whole;           /* of a pod group: it gives no members that it could do without (scheduling.k8s.io's disruptionMode: all) */
    bool preempts_nobody;      /* of a pod group: as of one of its pods (preemptionPolicy: Never) */
    int32_t patience_s;        /* of a pod group: nobody goes for it before it has waited so long (preempt/tenure.h); 0 = at once */
    int32_t refill_s;          /* of a pod group: so long broken, it is evicted whole (heal/refill.h); 0 = it does not ask for that */
    bool active;               /* false: deactivated, takes no part */
    bool on_hold;              /* the dialect gates it for a reason of its own; hold_text says why */
    bool hold_is_fault;        /* nobody gates it: it is wrong itself */
    name_id hold_text;
    int64_t not_before_ms;     /* backoff: 0 = none */
    bool finished;
    /* What the API server already says (restart, other writer): reserved with these flavors. */
    bool admitted;
    bool reserved_only;        /* it holds quota, but the API does not call it admitted: its job must not start yet */
    bool evicted;              /* and told to give it back, which it has not done yet */
    int64_t reserved_ms;       /* since when; 0 = not known */
    name_id admitted_queue;
    const struct flavor_choice *choices;
    uint32_t choices_n;
    const struct domain_choice *domains;
    uint32_t domains_n;
    const struct gang_check *checks;
    uint32_t checks_n;
    int64_t checkpoint_ms;     /* what it has done until then is kept, should it have to go; 0 = not told */
    int32_t minimum_run_s;     /* of equals those who have run so long go first; 0 = whenever */
    bool stays;                /* it is not moved, whatever its queue says */
    int32_t grace_s;           /* that its pods have to end, the longest; 0 = not told */
    int32_t run_s;             /* planned: it ends within so long of its admission, as far as is known; 0 = not known */
    bool run_by_limit;         /* it is ended then, should it not have ended before */
    const struct booking_record *booking; /* that an earlier scheduler promised it; NULL: none, or none that can be understood */
    bool of_one_pod;           /* its only pod owns it: that pod does not come back on another node */
    bool foreign;              /* reserved_only, and admitted when its checks are ready, places or not: another writer has reserved it, or
                                * a check has said that its nodes may come later */
    enum gang_pods pods;
    int64_t unready_ms, admitted_ms; /* since when pods has been said so; since when it has been admitted; 0 = not known */
    int32_t retries_n;         /* times that it was evicted because its pods were not ready in time */
};

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED };
struct pod_record {
    name_id key;               /* "ns/name" */
    name_id uid;
    name_id gang;              /* gang key; 0 = is its own gang of one ("pod/ns/name") */
    enum gang_source gang_source; /* of what it names; GANG_POD: of nothing */
    name_id pod_set;           /* name of the gang's pod set (planned gangs) or task; 0 = the only one */
    struct shape shape;
    int32_t priority;
    int64_t created_ms, started_ms; /* started: its kubelet took it in; 0 = not yet */
    enum pod_phase phase;
    name_id node;              /* bound there; 0 = not bound */
    name_id nominated;         /* status.nominatedNodeName: others of lower priority leave that node for it; 0 = none */
    name_id scheduler;         /* spec.schedulerName */
    int32_t limit_s;           /* spec.activeDeadlineSeconds: from when its kubelet took it in; 0 = none */
    name_id devices;           /* what an earlier decision gave it ("nvidia.com/gpu=0,3"); 0 = none or anonymous */
    /* what its containers ask of device plugins, each kind once: "nvidia.com/gpu=1,nvidia.com/gpu=2"; 0 = nothing */
    name_id device_asks;
    name_id device_limits;     /* of the annotations that limit its share of a device; equal ids = equal limits, 0 = none */
    bool shares;               /* it asks for shares of GPUs ... */
    bool share_slots;          /* ... and its containers for devices that go with them */
    bool admitted;             /* its kubelet has taken it in: the devices are handed out */
    bool deleting;
    bool gated;                /* has scheduling gates: exists, but must not be bound */
    bool ours;                 /* schedulerName is one that we serve; foreign pods only use up room */
    bool preempts_nobody;      /* preemptionPolicy: Never */
};

struct budget_record {         /* PodDisruptionBudget */
    name_id key, ns;           /* key: "ns/name" */
    struct selector pods;      /* an empty one selects nothing */
    int32_t allowed;           /* disruptions that it still allows */
    const name_id *disrupted;  /* keys of pods that are counted off already */
    uint32_t disrupted_n;
};

enum outcome { OUTCOME_DONE, OUTCOME_FAILED };
struct outcome_record {        /* how one plan entry ended */
    uint8_t effect;            /* enum effect of the entry */
    enum outcome outcome;
    name_id gang, pod;
    int32_t code;              /* E_* when failed */
};

enum change_type {
    CHANGE_NODE, CHANGE_NODE_GONE, CHANGE_NAMESPACE, CHANGE_NAMESPACE_GONE, CHANGE_TOPOLOGY, CHANGE_TOPOLOGY_GONE,
    CHANGE_FLAVOR, CHANGE_FLAVOR_GONE,
    CHANGE_COHORT, CHANGE_COHORT_GONE, CHANGE_QUEUE, CHANGE_QUEUE_GONE, CHANGE_LOCAL_QUEUE, CHANGE_LOCAL_QUEUE_GONE,
    CHANGE_GANG, CHANGE_GANG_GONE, CHANGE_POD, CHANGE_POD_GONE, CHANGE_BUDGET, CHANGE_BUDGET_GONE, CHANGE_OUTCOME,
};
struct change {
    enum change_type type;
    name_id gone;              /* CHANGE_*_GONE: the name or key */
    union {
        struct node_record node;
        struct namespace_record ns;
        struct topology_record topology;
        struct flavor_record flavor;
        struct cohort_record cohort;
        struct queue_record queue;
        struct local_queue_record local_queue;
        struct gang_record gang;
        struct pod_record pod;
        struct budget_record budget;
        struct outcome_record outcome;
    };
};

/* ---------------------------------------------------------------- plan ---------------------------------------------------------- */

enum effect {
    EFFECT_ADMIT,   /* quota and places are taken: tell the dialect (Workload QuotaReserved+Admitted, PodGroup Inqueue/Running) */
    EFFECT_BIND,    /* this pod to this node with these devices; all binds of a gang stand together in one plan */
    EFFECT_EVICT,   /* give back: delete the gang's pods, suspend its job; or delete one pod alone, and the gang stays. reason says why */
    EFFECT_EXPLAIN, /* the gang waits; the reason tree is new */
    EFFECT_RESERVE, /* only quota is taken, for a gang with admission checks: tell the dialect (Workload QuotaReserved, checks Pending) */
    EFFECT_MOVE,    /* places of an admitted gang are in other domains of a topology now, or a node of it has failed: tell the dialect */
};
struct plan_entry {
    enum effect effect;
    enum gang_source source;
    name_id gang;
    name_id pod, pod_uid;                 /* BIND; EVICT of one member: 0 = the gang goes whole */
    name_id node;                         /* BIND */
    const char *devices;                  /* BIND: "nvidia.com/gpu=0,3;..." or NULL when nothing has devices */
    name_id queue;                        /* ADMIT, RESERVE: cluster queue */
    const struct flavor_choice *choices;  /* the same */
    uint32_t choices_n;
    const int32_t *counts;                /* the same, of a planned gang: members that each pod set was given */
    uint32_t counts_n;
    const struct reason *reason;          /* EVICT, EXPLAIN: core/explain/reason.h */
};
struct plan {
    struct plan_entry *entries;           /* in the order to be acted on; in the arena given to decide */
    uint32_t entries_n;
    int64_t wake_ms;                      /* decide again then even if nothing changes; 0 = no need */
};

#endif
