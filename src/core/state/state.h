/* state.h - what the core knows: nodes, devices, queues, gangs, pods; changed only by state_apply and by committed decisions */
#ifndef CORE_STATE_H
#define CORE_STATE_H
#include "base/arena.h"
#include "base/collections/intern.h"
#include "core/flow.h"
#include "core/policy.h"

struct state;
struct state *state_new(void);
void state_free(struct state *s);
void state_set_ready_policy(struct state *s, const struct ready_policy *policy); /* all zero until then */
void state_set_consumption_policy(struct state *s, const struct consumption_policy *policy); /* once, first of all; off until then */
/* Pods that may come, by kind, the most frequent first: placements that ask what is left for (core/score/target.h) look at them. */
struct target {
    struct shape on;         /* what it demands of a node's labels; the rest is not looked at */
    int64_t cpu_milli;
    uint32_t gpus_n, gpu_milli; /* of so many GPUs so much each */
    uint32_t count;
};
/* total: of all pods, also of those of no kind here. */
void state_set_targets(struct state *s, const struct target *all, uint32_t n, uint64_t total);
void state_expect_as_now(struct state *s); /* the kinds of those that are there, run or wait; only between cycles */
/* How much of all GPUs is of no use to them, and how much is left of all, in thousandths of one. */
void state_fragmentation(struct state *s, int64_t *ret_lost, int64_t *ret_left);
struct intern *state_names(struct state *s); /* codecs intern here */
/* Before intern_sweep of that pool: marks every name that the state holds, and drops what it keeps for names that nobody mentions any more.
 * Only between cycles, when no change is on its way in and no plan is still to be acted on; whoever else keeps ids marks those too. */
void state_mark_names(struct state *s);

/* Take a change in. Never fails: contradictions (a pod on an unknown node, a cohort cycle) are kept and shown in reasons. Copies the
 * record. */
void state_apply(struct state *s, const struct change *c);

/* Look (sched writes these to the API; cli and tests print them). */
struct queue_usage {
    name_id flavor, resource;
    int64_t nominal, reserved, borrowed, used; /* reserved: admitted gangs; used: the same minus finished members */
    int64_t used_borrowed;                     /* what of `used` is borrowed, as `borrowed` is of `reserved` */
    int64_t borrowing_limit, lending_limit;    /* NO_LIMIT = none */
    int64_t left_by_bounds;                    /* of a queue: as quota_left_by_bounds */
    int64_t kept;                              /* of a queue that counts it: what gangs that keep their places have of `reserved` */
};
struct queue_counts {
    int32_t pending_n, reserving_n, admitted_n;
};
bool state_queue_counts(const struct state *s, name_id queue, struct queue_counts *ret_counts);
/* Of those pending: how many only wait for their turn. SOURCE Kueue's "active": the next decision tries them; they wait for whom they
 * preempt, or came behind such a one; there is quota for them that is kept for others; or they stand in a StrictFIFO queue. */
int32_t state_queue_active_n(const struct state *s, name_id queue);
/* How many different things those ask for that are pending, but for whom a stopped LocalQueue holds back; active: as above. WHY  of what
 * asks for the same one is tried, whatever waits behind it. */
void state_queue_shapes_n(struct state *s, name_id queue, int32_t *ret_active_n, int32_t *ret_inadmissible_n);
/* Of those pending: how many a stopped LocalQueue holds back. SOURCE Kueue, which counts them nowhere. */
int32_t state_queue_held_n(const struct state *s, name_id queue);
bool state_local_queue_counts(const struct state *s, name_id local_queue, struct queue_counts *ret_counts);
/* Rows in resource-group order; in the arena. */
uint32_t state_queue_usage(const struct state *s, name_id queue, struct arena *a, struct queue_usage **ret_rows);
uint32_t state_local_queue_usage(const struct state *s, name_id local_queue, struct arena *a, struct queue_usage **ret_rows);
/* The same of all LocalQueues whose ClusterQueue is known, by one walk over what is charged. Returns how many. */
struct local_usage {
    name_id local_queue;
    struct queue_usage *rows;
    uint32_t rows_n;
};
uint32_t state_local_queues_usage(const struct state *s, struct arena *a, struct local_usage **ret_all);
/* What a LocalQueue has used of late (core/queue/consumption.h). False: nobody counts that, or it is not known. */
struct consumption_look {
    struct fine_amount *consumed; /* first what its ClusterQueue covers, 0 too; in the arena */
    uint32_t consumed_n;
    struct fine_amount *entries; /* of gangs that have quota and are not admitted yet: what is not consumed, and counts already */
    uint32_t entries_n;
    int64_t at_ms;           /* as of then; 0 = it was not looked at yet */
    int64_t share;           /* with what has quota and is not admitted yet; by the weights, in thousandths; INT64_MAX: its weight is 0 */
};
bool state_local_queue_consumption(const struct state *s, name_id local_queue, struct arena *a, struct consumption_look *ret_look);
uint64_t state_consumption_ticks(const struct state *s); /* so often all have been looked at */
/* The dominant share of a queue, or of a cohort, as status.fairSharing.weightedShare has it (quota/share.h). False: it is not known. */
bool state_share(struct state *s, name_id name, bool is_cohort, int64_t *ret_share);
/* The cohorts above a queue, the nearest first. Returns how many, at most `most`. */
uint32_t state_cohorts_above(const struct state *s, name_id queue, name_id *ret_cohorts, uint32_t most);
/* state_figures.c. Cohorts with an object of their own or a queue below them, but for broken trees; in the arena. */
struct cohort_look {
    name_id name, parent, root; /* parent 0: it is a root */
    struct queue_usage *rows;   /* nominal: what all below have of their own; reserved: what queues below have reserved */
    uint32_t rows_n;
    int32_t admitted_n;         /* below it */
    bool left;                  /* its object is gone, and no queue or cohort below it has changed since */
};
uint32_t state_cohorts(struct state *s, struct arena *a, struct cohort_look **ret_all);
/* The share is borrowed / lendable / weight (quota/share.h). False: it is not known. */
struct share_parts {
    int64_t borrowed, lendable, weight_nano;
};
bool state_share_parts(struct state *s, name_id name, bool is_cohort, struct share_parts *ret_parts);
/* As state_queue_active_n counts. */
bool state_gang_is_active(const struct state *s, name_id gang);
/* What all members that are not over ask of quota together (of a pod group, those that exist); in the arena. */
uint32_t state_gang_asks(const struct state *s, name_id gang, struct arena *a, struct amount **ret_rows);
/* The same of a pod group (0 rows: it is none), as a queue with these `counts` counts it. */
uint32_t state_group_asks(const struct state *s, name_id gang, const struct queue_shares *by, struct arena *a, struct amount **ret_rows);
/* By which policy nodes are chosen for its gangs, as it is kept: never `unread`. False: it is not known. */
bool state_queue_placement(const struct state *s, name_id queue, struct queue_placement *ret_placement);
bool state_placed_by_kinds(const struct state *s); /* some queue's own policy looks at the pods that may come */
/* Is the queue able to admit? 0, or a reason (QUEUE_INACTIVE / QUEUE_STOPPED ...) in the arena. */
const struct reason *state_queue_problem(const struct state *s, name_id queue, struct arena *a);

/* The one phase of a gang. What its object shows follows from it, and a write that failed is tried again as long as they differ.
 *
 *                 quota and places          the object            all members are there,
 *                 found and taken           says so               bound in one burst
 *    WAITING ─────────────────▶ RESERVED ─────────▶ ADMITTED ─────────────────────▶ BOUND ───▶ OVER
 *     │ ▲ ▲ quota found          ▲ │ refused           │                              │
 *     │ │ └──────────────────────┼─┘                   │                              │
 *     │ │                        │ checks are ready,   │          must end            │
 *     └─┼────────▶ CHECKING ─────┘ places found        ▼                              │
 *       │             └─────────────────────────────▶ LEAVING ◀───────────────────────┘
 *       └───────────────────────────────────────────────┘
 *                everything was given back
 *
 *  UNKNOWN   only pods name it; its object has not been seen, or is gone
 *  WAITING   in line, or held back for a reason of its own; holds nothing
 *  CHECKING  its queue demands admission checks: holds quota and no places; the plan has told so (EFFECT_RESERVE), and the object says it
 *            for as long as checks are not ready, or no places are found when they are
 *  RESERVED  holds quota and places; the plan has told so (EFFECT_ADMIT), nobody has answered yet. Pod groups need no answer
 *  ADMITTED  the API knows; places are held until every member exists
 *  BOUND     the first burst is out: members that come later are bound one by one
 *  LEAVING   told to give everything back (EFFECT_EVICT); holds it until that was answered
 *  OVER      finished, or all its pods have ended
 */
enum gang_phase { GANG_UNKNOWN, GANG_WAITING, GANG_CHECKING, GANG_RESERVED, GANG_ADMITTED, GANG_BOUND, GANG_LEAVING, GANG_OVER };
enum gang_phase state_gang_phase(const struct state *s, name_id gang);
/* What a gang was given, from CHECKING to LEAVING: its queue (0 = none) and flavors (the state's own until the gang changes). */
uint32_t state_gang_choices(const struct state *s, name_id gang, name_id *ret_queue, const struct flavor_choice **ret_choices);
/* Members that a pod set of it was given, in the same phases; -1: it holds nothing, or has no such set. */
int32_t state_gang_granted(const struct state *s, name_id gang, name_id pod_set);
/* The index of its pod set of that name, or of its only one for ""; -1: it has none. */
int32_t state_gang_set(const struct state *s, name_id gang, const char *pod_set);
/* Domains that its sets were given, by set, then by path. The labels whose values they are; 0: its flavor has no topology. */
uint32_t state_gang_domains(const struct state *s, name_id gang, const struct domain_choice **ret_domains);
uint32_t state_gang_levels(const struct state *s, name_id gang, uint32_t pod_set, const name_id **ret_levels);
/* A node among its domains that has failed, where none of its pods is left (queue/lost.h); 0: none. */
name_id state_gang_lost(const struct state *s, name_id gang);
/* Does the gang's object, as it was last taken in, say that it is admitted? */
bool state_gang_is_told(const struct state *s, name_id gang);
/* And that it is evicted? */
bool state_gang_is_told_evicted(const struct state *s, name_id gang);
bool state_gang_is_awaited(const struct state *s, name_id gang); /* somebody waits for its end, who is promised what it leaves */
/* Why a gang waits (in line, or with quota for its checks and places), or (LEAVING) must go: the state's own until the next call or change.
 * NULL: it does not, or has not been tried yet. */
const struct reason *state_gang_reason(const struct state *s, name_id gang);
/* A pod group without pods: NULL: its queue lets it in, so that they are made; else what is in the way, in the arena. */
const struct reason *state_gang_kept_out(const struct state *s, name_id gang, struct arena *a);
/* StrictFIFO: who keeps others of the queue waiting; 0: nobody. */
name_id state_queue_front(const struct state *s, name_id queue, struct arena *a);
/* Position in its queue, 0 = first; -1 when not pending. */
int32_t state_gang_position(const struct state *s, name_id gang);
/* state_figures.c. Those that state_queue_counts counts as pending, in the order in which they are tried; in the arena. Returns how
 * many. */
struct pending_gang {
    name_id gang, local_queue;
    int32_t priority;
};
uint32_t state_queue_pending(const struct state *s, name_id queue, struct arena *a, struct pending_gang **ret_all);

/* Nodes that are there, with their labels, by name; the labels are the state's own until the next change. In the arena. */
struct node_look {
    name_id name;
    const struct label *labels;
    uint32_t labels_n;
};
uint32_t state_nodes(const struct state *s, struct arena *a, struct node_look **ret_nodes);
uint64_t state_nodes_seq(const struct state *s); /* is another one when state_nodes would say something else */
int64_t state_allocatable(const struct state *s, name_id resource); /* of all nodes that are ready; NO_END at most */

/* One node as people look at it: each of its single devices and who has it, and what else of the kind is taken. In the arena, but the
 * labels, which are the state's own until the next change. Both names 0: nobody has it; pod 0: it is kept for a member that does not exist
 * yet; gang 0: the pod is one that others serve. */
struct device_look {
    name_id resource, id, gang, pod;
    uint16_t gpu;
    bool healthy;
};
struct node_detail {
    bool ready, unschedulable;
    const struct label *labels;
    uint32_t labels_n;
    struct device_look *devices; /* by resource, then GPU */
    uint32_t devices_n;
    /* Extended resources without single devices: how much there is, and who has how much of it. */
    struct amount *amounts;
    uint32_t amounts_n;
    struct amount_look {
        name_id resource, gang, pod;
        int64_t value;
    } *taken;
    uint32_t taken_n;
    /* Parts that pods have of GPUs: of which, how much (thousandths of it or of its memory, whichever is more; at most 1000). */
    struct share_look {
        name_id gang, pod;
        uint16_t gpu, milli;
    } *shares;
    uint32_t shares_n;
};
bool state_node_detail(const struct state *s, name_id node, struct arena *a, struct node_detail *ret_detail); /* false: it is not there */

/* The start that a waiting gang is promised (core/time/booking.h); the state's own until the next call or change. False: none. */
bool state_backfills(const struct state *s); /* some queue promises such */
bool state_gang_booking(const struct state *s, name_id gang, struct booking_record *ret);

/* A gang likewise. */
struct gang_look {
    name_id ns, queue_title; /* the queue that it stands in or is charged to, as users wrote it; 0 = none */
    int32_t priority;
    int32_t asked_n, bound_n; /* members: wanted (of a group at least), with a place */
    int32_t fewest_n;        /* of a group: so many have to start together; 0 = it is planned */
    int64_t created_ms, started_ms; /* started: its first pod that stands there was taken in by its kubelet; 0 = not yet */
    bool active, on_hold, finished;
};
bool state_gang_look(const struct state *s, name_id gang, struct gang_look *ret_look); /* false: it is not known */
/* Of a planned gang that has not begun: members of its first burst whose pods do not exist yet. */
int64_t state_gang_unmade(const struct state *s, name_id gang);

/* What an agent last measured of the node's devices, and how old that is; 0: nothing, or older than FEEDBACK_PERIODS. The state's own,
 * until the node changes. Policies with PLACEMENT_BY_LOAD go by it. */
uint32_t state_node_feedback(const struct state *s, name_id node, int64_t now_ms, const struct device_feedback **ret_feedback,
                             int64_t *ret_age_ms);
/* The same of its network: bytes a second; -1: not known. */
int64_t state_node_network(const struct state *s, name_id node, int64_t now_ms);

/* Everything that must always hold, checked the slow, obvious way: node use = sum of pods and reservations, no device twice, queue usage =
 * sum of admitted gangs, usage within what the tree allows, no gang partly placed. Returns false and a sentence. Tests and soak call it
 * each step. */
bool state_check(const struct state *s, struct err *e);
/* 64-bit digest of all that influences decisions: equal states have equal digests on every machine. */
uint64_t state_digest(const struct state *s);

#endif
