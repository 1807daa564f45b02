/* model.h - the state, laid out (inside core only; others use core/state/state.h)
 *
 *   queue ──heap of lines──> line ──heap──> gang ──sets── what its members are, by kind
 *     │                                      ├──members──> pod ──seat──┐
 *     └── node of the quota tree             ├──seats (held for members to come) ──┤
 *                                            └──charges: what it takes of the quota └──> seat = room on one node, with its devices
 *
 *   line     waiting gangs that are alike: what stops the first of them stops all behind it
 *   parking  why somebody waits, as far as that can be seen without trying again
 *
 * OWNER  the state owns all. Gangs, lines and queues are pointers (heaps need that), the rest are slots in arrays; slot 0 = none.
 * NAMES  state_names.c marks every name_id that is kept here between cycles; one that it does not know of is gone, or another text's, one
 *        day. Hashes that are kept are of texts, never of ids.
 * ORDER  gangs: priority, creation, uid, key; members: creation, key. No list is ever walked in hash order.
 */
#ifndef CORE_MODEL_H
#define CORE_MODEL_H
#include "base/bytes.h"
#include "base/collections/heap.h"
#include "base/collections/map.h"
#include "core/decide.h"
#include "core/explain/explain.h"
#include "core/policy.h"
#include "core/quota/quota.h"
#include "core/quota/wide.h"
#include "core/state/shape_table.h"
#include "core/state/state.h"
#include "core/state/topology.h"

struct seat {
    uint32_t node;           /* 0: the slot is free */
    uint32_t next, prev;     /* on the node; next also links free slots */
    uint32_t shape, labels;
    uint32_t pod;            /* 0: held for a member that does not exist yet */
    uint32_t anti_at;        /* index + 1 in state.anti_seats, 0 = not in it */
    uint32_t pod_set : 31;
    uint32_t lifted : 1;     /* taken off the node by a search that is not over yet (undo.h) */
    struct gang *gang;       /* NULL: a foreign pod */
    uint64_t devices;        /* those among the node's first 64, as bits: seat_devices has all */
    uint64_t *more_devices;  /* the other words of struct device_bits; NULL: none of those */
};

_Static_assert(sizeof(struct seat) <= 56, "there are as many as pods: what only few of them have goes aside");

struct pod {
    name_id key, uid, pod_set, node_name, nominated, devices;
    int32_t priority;
    enum pod_phase phase : 8;
    bool deleting : 1, gated : 1, ours : 1;
    bool assumed : 1;        /* we bound it; the API has not said so yet */
    bool preempts_nobody : 1; /* as in pod_record */
    bool former : 1;         /* of an admission of its gang that was given back: what becomes of it does not count for this one */
    bool surplus : 1;     /* its gang can do without it: told to go for another, and the gang stays (preempt/surplus.h) */
    int64_t created_ms, started_ms;
    uint32_t shape, labels;
    uint32_t seat;           /* 0: takes no room */
    uint32_t member_at;      /* index in gang->members */
    struct gang *gang;       /* NULL: foreign */
};

_Static_assert(sizeof(struct pod) <= 72, "what only few pods have goes aside");

/* One kind of members. A planned gang's record lists them; those of a pod group are found from its pods whenever it gets in line. */
struct gang_set {
    name_id name;
    uint32_t shape, labels;
    struct topology_request *topology; /* NULL: it asks for no domain */
    uint32_t charged;        /* its shape with the requests that quota counts, where those are others; 0 = its shape */
    uint32_t placed_shape;   /* shape with the labels and tolerations of the chosen flavors; 0 before admission */
    int32_t count;           /* what it was given, or asks for */
    int32_t done_n;          /* members that succeeded */
    int32_t reclaimed_n;     /* of count: the dialect says that they are over; at most count */
    int32_t asked_n, min_count,
        over_n; /* what the record says: members wanted, the fewest, and those of asked_n that are over (shrink.h) */
    bool in_turns;           /* as in pod_set */
    bool later;              /* its members come when others have begun: they wait for each other, and nobody for them */
    bool serial;             /* nobody waits for them, nor they for each other */
};
struct charge {
    name_id flavor, resource;
    int64_t amount;
};

/* What has to change before another try makes sense. */
enum park {
    PARK_SELF = 1,           /* the gang's own record or pods */
    PARK_QUOTA = 2,          /* something is given back in its quota tree */
    PARK_NODES = 4,          /* a node gains room */
    PARK_NEIGHBOURS = 8,     /* a pod comes or goes anywhere, or a place is promised */
    PARK_QUEUE = 16,         /* its queue, or the queue's flavors, cohort or namespaces */
    PARK_TIME = 32,          /* retry_ms */
    PARK_READY = 64,         /* the pods of all that are admitted become ready (queue/ready.h) */
    PARK_BORROWERS = 128,    /* somebody is let in whose queue, or a cohort above it, has more than its own then */
};
#define PARK_SHAPES 8
#define PARK_HOPES 8
#define PARK_STANDS UINT32_MAX /* in another order (queue/standing.h) */
struct hope {                /* quota that was too little: no use to try before so much is available */
    name_id flavor, resource;
    int64_t need;
};
struct parking {
    uint32_t at;             /* index + 1 in state.parked, 0 = not parked, PARK_STANDS */
    uint8_t on;              /* bits of enum park */
    uint8_t shapes_n, hopes_n; /* one more than the array holds: too many, any gain counts */
    bool outdated : 1;       /* what the line's reason counts is another amount by now */
    bool takes : 1;          /* PARK_QUOTA: what others take may help, too (flavor.h, place/try.c) */
    int64_t tried_ms;        /* when the line was refused */
    struct gang *gang;       /* who waits: one of the two */
    struct line *line;
    uint32_t shapes[PARK_SHAPES]; /* PARK_NODES: one more of any of these must fit; references */
    struct hope hopes[PARK_HOPES];
};

/* What a LocalQueue has used of late, all resources together by their weights (queue/consumption.h). */
struct used {
    u128 sum;                /* in 1e-9 */
    int64_t weight_nano;     /* of the LocalQueue; 0: it comes after all that have one */
};
/* The lines of one LocalQueue, where what it has used counts; else those of all. WHY  a LocalQueue's lines move among the others all at
 * once when it has used more, and only the lane is moved. */
struct queue_lane {
    size_t ready_at, blocked_at; /* in queue->ready, queue->blocked: while it has such lines */
    struct queue *queue;
    name_id local;           /* 0: of all */
    struct used used;
    struct heap ready;       /* lines to try */
    struct heap blocked;     /* parked ones of a StrictFIFO queue */
    uint32_t lines_n;
};

struct line {
    size_t heap_at;          /* in lane->ready, or (parked) in lane->blocked */
    struct heap gangs;
    struct queue *queue;
    struct queue_lane *lane;
    uint32_t queue_at;       /* index in queue->lines */
    struct parking park;
    bool recheck;            /* woken alone: look once more whether it may fit before trying it in full */
    struct parking woken;    /* what it was parked on before that; references */
    uint64_t woken_cycle;    /* only in this cycle does recheck mean anything: gains are those of one cycle */
    bool joined;             /* somebody came who has not been told what the others know */
    uint32_t candidate_at;   /* index + 1 in state.candidates */
    struct reason *reason;   /* of the last refusal, one block; NULL: not refused yet */
    uint64_t reason_hash, codes; /* codes: hash without the amounts */
    uint64_t told_codes;     /* what all of its gangs have been told, but for who joined since */
    uint32_t telling_at;     /* index + 1 in state.telling: its gangs may have something to be told */
    int64_t remedied_ms;     /* when remedies were looked for last, 0 = never */
    uint64_t remedied_codes; /* and for which causes */
    struct bytes key;        /* what makes its gangs alike; the map's */
    struct gang *single;     /* a line of its own, whatever others look like */
    struct stand *stand;     /* parked where shares say who is next (queue/standing.h); NULL: it is not */
    size_t stand_at;
    uint32_t standing_at;    /* index among all that stand */
    uint8_t kind;            /* of those of its tree */
};

/* What is remembered of a LocalQueue; of a gang: its part in that. */
struct consumption_row {
    name_id resource;
    uint64_t held;           /* by what is admitted; in units of flow.h, modulo 2^64 */
    u128 consumed;           /* in 1e-9 of what Kubernetes calls one */
    u128 entry;              /* the same: on account of gangs that have quota and are not admitted yet */
};
struct consumption {
    struct consumption_row *rows;
    uint32_t rows_n, rows_cap;
    int64_t at_ms;           /* consumed is as of then; 0 = never yet */
};
struct gang_consumption {
    name_id held_of, entry_of; /* LocalQueues in whose rows it is counted; 0 = none */
    struct consumption own;
};

/* As in gang_record. */
struct gang_stakes {
    int64_t checkpoint_ms;
    int32_t minimum_run_s, grace_s;
    bool stays;
    uint32_t next_hole;      /* of a free slot */
};

/* As in gang_record: of pod groups only. */
struct group_terms {
    struct tier_request tiers;
    const struct subgroup_policy *subgroups; /* one block with all that they point to */
    uint32_t subgroups_n;
    int32_t subgroups_least, refill_s, patience_s;
    bool least_is_free, goes_whole, preempts_nobody;
    uint32_t least_n;
    struct amount least[];
};

/* What a group in a queue with shares had when it was told to go (quota/deserve.h). */
struct group_had {
    uint32_t n;
    struct amount all[];
};

/* What only a gang with an object of its own has. A lone pod has none of it: there it is gang_no_object, which nobody may write to. */
struct gang_object {
    struct charge *charges;
    uint32_t charges_n, charges_cap;
    name_id local_queue, queue_name, queue_title, hold_text;
    enum queue_kind queue_kind : 8; /* of queue_title */
    enum gang_pods pods : 8; /* as in gang_record */
    bool told_evicted;       /* by whomever: its object says so already */
    bool unready;            /* counted in state.unready_n */
    uint32_t checks_n, min_of_task_n;
    uint32_t run_s : 31, run_by_limit : 1; /* as in gang_record */
    struct gang_check *checks; /* as in gang_record */
    struct amount *min_of_task; /* as in gang_record */
    struct group_terms *terms; /* NULL: none of them is asked for */
    int64_t not_before_ms;
    uint32_t counted_local;  /* local queue slot, 0 = none */
    name_id unknown_queue;   /* admitted in a queue that does not exist (yet) */
    struct queue *counted_queue; /* of those that name a queue directly, or none */
    uint32_t seats_n, seats_cap, choices_n, told_n;
    int32_t retries_n;
    uint32_t sent_away_s;    /* for another, when, in seconds; later than now: until then it is not tried */
    uint8_t sent_away_n;     /* times in a row, within a moment (preempt/promise.c) */
    uint32_t *seats;         /* planned: held for members to come */
    struct flavor_choice *choices;
    struct domain_choice *told; /* domains of its sets, as its object says or will say (place/domain.h) */
    uint32_t stakes;         /* slot in state.stakes; 0: its object says nothing of that */
    name_id lost;            /* one of them, a node that failed and where nobody is left (queue/lost.h); 0: none */
    int64_t lost_ms;         /* since when; of a pod group: since when it is broken (heal/refill.h), 0 = it is not, or nobody asks */
    int64_t deadline_ms;     /* its pods are to be ready by then; 0 = whenever */
    int64_t unready_ms, admitted_ms;
    int64_t preempts_after_ms; /* nobody is preempted for it before */
    struct gang_consumption *consumption; /* NULL until needed first */
    struct group_had *had;   /* NULL: it was not told to go, or has started since */
};
_Static_assert(sizeof(struct gang_object) <= 216, "each waiting Workload has one: what only few of them have goes aside");
extern const struct gang_object gang_no_object; /* queue/gang.c */

struct gang {
    size_t line_at, timer_at;
    size_t deadline_at;      /* queue/ready.h */
    const struct intern *names;
    const struct gang_object *own; /* never NULL; gang_own() to write to it */
    struct gang *preemptor;  /* who waits for its end; NULL: nobody */
    name_id key, ns, uid;
    int32_t priority, min_members;
    enum gang_source source : 8;
    enum gang_phase phase : 8; /* core/state/state.h has the picture */
    enum preemption preempted_as : 8;
    uint8_t vain_n;          /* times in a row that others left for it and it did not start all the same */
    uint8_t unkept_n;        /* its promises in a row that ended before a victim had left */
    uint8_t failures_n;      /* of its writes, in a row */
    uint8_t counted;         /* bits of enum counted */
    bool planned : 1, active : 1, on_hold : 1, hold_is_fault : 1, finished : 1; /* what its object says */
    bool api_admitted : 1;   /* its object says that it is admitted */
    bool reserved_only : 1;  /* as in gang_record: it counts as reserving, not as admitted */
    bool foreign : 1;        /* as in gang_record */
    bool of_one_pod : 1;     /* the same */
    bool keeps_places : 1;   /* the same */
    bool admit_refused : 1;  /* while binds of the same plan were under way: taken back when they fail, too */
    bool answered : 1;       /* GANG_LEAVING: what EVICT asked for has been done */
    bool let_in_again : 1;   /* GANG_LEAVING, not answered yet: since EVICT was told another writer has reserved quota for it */
    bool preempts_nobody : 1; /* of a pod that does not, or of a group in line with such a member */
    bool alone : 1;          /* in a line of its own: another pod keeps it away, which may not be so for others */
    bool in_work : 1;        /* which of the two look_at means */
    bool booked : 1;         /* it has a booking */
    bool restarts : 1;       /* its object asks for that, since it was let in */
    bool wants_moves : 1;    /* others who are moved would let it start (moves/carry.h) */
    bool ended : 1;          /* on trial: it is as if it were gone (explain/remedy.h) */
    bool shrinks : 1;        /* its preemptor waits for those of its members alone that were told to go: it stays */
    uint32_t look_at;        /* index + 1 in state.fresh (waiting) or state.work (admitted), 0 = in neither */
    uint32_t gang_at;        /* index in state.gangs */
    uint32_t charged_at;     /* index + 1 in the list `charged` of its queue, or of state.queues[0]; 0 = in none */
    int64_t due_ms, created_ms, retry_ms;
    int64_t reserved_ms;     /* when it was given its quota, in whole seconds as the API keeps it */
    struct line *line;       /* where it waits; NULL: nowhere, or held back for a reason of its own (park) */
    struct parking *park;    /* held back, or admitted and waiting for a place; NULL until needed first */
    struct queue *queue;     /* that its charges are booked on; NULL = none */
    struct gang_set *sets, only; /* sets points to `only` while there is one */
    uint32_t sets_n;
    uint32_t bound_n;        /* members with a seat */
    uint32_t *members, member; /* pod slots, unordered; members points to `member` until there is a second */
    uint32_t members_n, members_cap;
    struct reason *reason;   /* its own, one block; gangs in a line have the line's */
    uint64_t told_hash, told_codes;
    struct promise *promise; /* waiting for gangs that it preempted: what they leave is its own (preempt/promise.h); NULL: for nobody */
};
_Static_assert(sizeof(struct gang) <= 288, "each lone pod is one: what it does not have goes to gang_object");
enum counted { COUNTED_PENDING = 1, COUNTED_RESERVING = 2, COUNTED_ADMITTED = 4, COUNTED_LEAVING = 8 };

static inline const struct topology_request *set_topology(const struct gang_set *set)
{
    static const struct topology_request unasked;
    return set->topology ? set->topology : &unasked;
}
static inline uint32_t set_charged(const struct gang_set *set) /* shape of what quota counts */
{
    return set->charged ? set->charged : set->shape;
}

static inline uint32_t gang_least(const struct gang *g, const struct amount **ret_least) /* what its queue must hold */
{
    *ret_least = g->own->terms ? g->own->terms->least : NULL;
    return g->own->terms && !g->own->terms->least_is_free ? g->own->terms->least_n : 0;
}
static inline uint32_t gang_floor(const struct gang *g, const struct amount **ret_floor) /* what all nodes together must have free */
{
    *ret_floor = g->own->terms ? g->own->terms->least : NULL;
    return g->own->terms && g->own->terms->least_is_free ? g->own->terms->least_n : 0;
}
static inline const struct tier_request *gang_tiers(const struct gang *g) /* NULL: it asks for none */
{
    return g->own->terms && g->own->terms->tiers.mode != TOPOLOGY_UNASKED ? &g->own->terms->tiers : NULL;
}
static inline uint32_t gang_subgroups(const struct gang *g, const struct subgroup_policy **ret_policies)
{
    *ret_policies = g->own->terms ? g->own->terms->subgroups : NULL;
    return g->own->terms ? g->own->terms->subgroups_n : 0;
}
static inline bool gang_has_subgroups(const struct gang *g)
{
    return g->own->terms && g->own->terms->subgroups_n;
}
static inline bool gang_is_lone(const struct gang *g) /* a pod of no group, and so in no queue */
{
    return g->source == GANG_POD;
}
/* It asks for no queue, and so needs no quota: a lone pod, or a pod group. */
static inline bool gang_has_no_queue(const struct gang *g)
{
    return !g->planned && !g->own->local_queue && !g->own->queue_name;
}
static inline bool gang_holds(const struct gang *g) /* quota, and (but for CHECKING) places or pods on them */
{
    return g->phase >= GANG_CHECKING && g->phase <= GANG_LEAVING;
}

/* Kueue's fair sharing, which queues with shares of another kind have no part in, nor those who have no queue. */
#define shares_fairly(s, q) ((s)->fair.on && !(q)->has_shares && !queue_is_none(q))

struct counts {
    uint32_t pending_n, reserving_n, admitted_n;
    uint32_t leaving_n;      /* of those: told to go, and they will wait again */
};
struct queue {
    name_id name, title;     /* found by, shown as */
    enum queue_kind kind;
    bool known, closed, unlimited, borrow_stops;
    int32_t priority;        /* among Volcano's queues */
    name_id closed_text;     /* as in queue_record */
    bool reclaims_any;       /* may take its nominal quota back from whoever borrowed it */
    bool preempts_to_borrow; /* borrowWithinCohort */
    bool preempts;           /* some policy lets it preempt */
    bool preempt_stops;      /* whenCanPreempt: a flavor in which it may preempt ends the search for a better one */
    bool preempts_over_borrowing; /* preference: a flavor in which it borrows less is better than one in which nobody has to go */
    enum preemption_policy within, reclaim, borrow;
    bool has_threshold;
    int32_t threshold;
    uint32_t promised_n;     /* gangs of it with a promise */
    uint32_t booked_n;       /* gangs of it with a booking */
    bool seeks;              /* those without one are tried in their order, until one has it (time/booking_turn.c) */
    bool seeks_anew;         /* one of them has ended: from the first on */
    enum queue_backfill backfill;
    struct queue_placement placement;
    int32_t move_cost_s;     /* as in queue_record */
    int32_t lowest;          /* priority among `charged`, which `lowest_n` of them have; 0 = to be found anew (ledger.h) */
    uint32_t lowest_n;
    bool changed;            /* since the last cycle: all that wait in it look again */
    bool by_consumption;     /* as in queue_record */
    bool used;               /* scratch (state_unused.c) */
    enum queue_strategy strategy;
    enum stop_policy stop;
    struct selector namespaces;
    const struct resource_group *groups;
    uint32_t groups_n;
    const struct quota_record *quotas;
    uint32_t quotas_n;
    const struct queue_check *checks; /* as in queue_record */
    uint32_t checks_n;
    name_id cohort;
    void *block;
    bool has_shares;         /* quotas, cohort and policies follow from `shares` (quota/deserve.h) */
    struct queue_shares shares;
    uint32_t level;          /* scratch (quota/deserve.c) */
    struct quota_record *dealt; /* what they are now: `quotas` */
    uint32_t quota;          /* node of the tree */
    struct heap ready;       /* lanes with lines to try */
    struct heap blocked;     /* StrictFIFO: lanes with lines that quota or nodes refused; who comes after the first is not tried */
    struct queue_lane *plain; /* of all LocalQueues; NULL: had no lines yet */
    uint64_t claimed;        /* hash of what its blocked head kept from others; 0 = nothing, or CLAIM_NEW (claim.h) */
    struct line *picked;     /* scratch: the first of those that may start */
    uint32_t candidates_n;   /* of its lines */
    struct line **lines;     /* all, unordered */
    uint32_t lines_n, lines_cap;
    uint32_t ready_at;       /* index + 1 in state.ready, 0 = no line is ready */
    struct gang **charged;   /* gangs with charges here; of state.queues[0] those without a queue that hold places (quota/ledger.h) */
    uint32_t charged_n, charged_cap, charged_groups_n; /* the last: without the lone pods */
    struct counts counts;    /* with those of its local queues */
};
static inline bool queue_is_none(const struct queue *q) /* state.queues[0]: of gangs without a queue */
{
    return !q->name;
}
struct local_queue {         /* also made for a name that only gangs mention so far */
    name_id key, title, ns, queue;
    enum stop_policy stop;
    bool known, changed;
    struct queue *counted;   /* whose counts hold ours */
    struct counts counts;
    struct consumption consumption;
    struct used used;        /* as follows from it */
    struct queue_lane *lane; /* its own; NULL: has no lines, or is in the queue's */
};
struct name_space {
    name_id name;
    struct label_list labels;
    bool changed;
};
struct budget {               /* PodDisruptionBudget */
    name_id key, ns;
    struct selector pods;
    int32_t allowed;
    const name_id *disrupted;
    uint32_t disrupted_n;
    void *block;
};
struct flavor {
    name_id name, topology;
    bool known;
    struct label_list labels;
    const struct taint *taints;
    const struct toleration *tolerations;
    uint32_t taints_n, tolerations_n;
    void *block;
    bool changed;
};

/* One try-and-take-back step. */
enum undo_kind { UNDO_SEAT_TAKE, UNDO_SEAT_LIFT, UNDO_CHARGE, UNDO_NOMINAL, UNDO_ROOM, UNDO_DEVICES, UNDO_FLAGS };
struct undo_step {
    enum undo_kind kind;
    uint32_t id;             /* seat, quota node, or node */
    name_id flavor, resource;
    int64_t amount;          /* also: the column, the flags before */
};
struct undo_log {
    struct undo_step *steps;
    uint32_t n, cap;
};

/* What gangs that end will leave to one that waits for them. Room is kept as amounts: devices are chosen when they are there. Of GPUs that
 * are given in parts what the members will find is kept as well (preempt/kept_gpus.h). */
struct promised_room {
    uint32_t node;
    name_id node_name;       /* else the slot is another node's by now */
    name_id resource;
    int64_t amount;
    int64_t taken;           /* scratch: so much of it the victims have still */
};
/* Members that will take shares of GPUs there. */
struct promised_share {
    uint32_t node, shape;    /* shape: a reference */
    int32_t n;
};
/* A place, and quota, of one who left for it and begins again elsewhere (preempt/promise.h): names, since it may be gone by then. */
struct moved_place {
    name_id gang, node_name;
    uint32_t node, shape, labels, pod_set; /* shape, labels: references */
};
struct moved_charge {
    name_id gang, queue;
    struct charge charge;
};
struct promise {
    uint32_t at;             /* index in state.promised */
    int64_t since_ms;        /* its gang has waited for somebody since then */
    struct queue *queue;
    uint32_t borrow_level;
    int32_t *granted;        /* members of each set, where those are fewer than it asks for; NULL: all */
    bool by_priority;        /* of a lone pod that waits for lone pods (preempt/lone.h): one node, no quota */
    bool anti;               /* that pod has required anti-affinity */
    bool stands;             /* on the undo log, while another gang is tried */
    uint8_t moved_n;         /* times that it became another one since a victim has left */
    struct gang **victims;
    uint32_t victims_n;
    uint32_t members_n;      /* so many of their members alone were to go when it was made; 0: they go whole */
    struct charge *charges;  /* what the gang will be charged, under these flavors */
    int64_t *kept;           /* of each, while it stands: what the log has been charged */
    struct flavor_choice *choices;
    uint32_t charges_n, choices_n;
    struct promised_room *rooms; /* what it will take of which node */
    uint32_t rooms_n;
    struct promised_share *shares; /* on nodes of its rooms */
    uint32_t shares_n;
    name_id *movers;         /* its victims begin again elsewhere (moves/carry.h): who they were */
    struct moved_place *mover_places;
    struct moved_charge *mover_charges;
    uint32_t movers_n, movers_cap, mover_places_n, mover_places_cap, mover_charges_n, mover_charges_cap;
    enum sparing spares;     /* other victims than by Kueue's order alone: why... */
    name_id spared, spared_ns; /* ...and for one of those who would have gone, its key */
};

/* Places and quota that are a waiting gang's own from a time on (time/booking.h). */
struct booking {
    struct gang *gang;
    struct queue *queue;
    int64_t start_ms;
    bool looks;              /* since the last try: its gang is to look whether it can be kept */
    uint8_t basis;           /* as in booking_record, and so are the next */
    bool borrows;
    struct booked_place *places;
    struct booked_quota *quota;
    uint32_t places_n, quota_n;
    struct promised_room *rooms; /* the places as amounts, by node and resource; `taken`: scratch */
    uint32_t rooms_n;
};
/* Whose try it is that bookings stand against. */
struct booking_view {
    bool stands;
    const struct gang *against;
    bool borrows;            /* it would take other queues' quota */
    int64_t at_ms, until_ms; /* when it would start, and have ended by */
    uint32_t mark;           /* of the undo log, before rooms were withheld */
    bool withheld, refused;  /* room on a node was; its quota was not enough for them */
};

struct view_table;
struct standing;
struct state {
    struct intern *names;
    name_id name_pods, name_cpu, name_memory;
    int32_t column_cpu, column_memory;
    uint32_t device_columns[LIMIT_RESOURCES]; /* columns of extended resources */
    uint32_t device_columns_n, columns_seen_n;
    struct node_table nodes;
    struct shape_table shapes;
    struct view_table *views;
    struct quota quota;
    struct undo_log undo;
    struct seat *seats;
    uint32_t seats_n, seats_cap, seat_hole, seats_live_n;
    uint32_t *anti_seats;    /* seats whose pods have required anti-affinity, unordered */
    uint32_t anti_seats_n, anti_seats_cap;
    bool neighbours_changed; /* a pod came or went, or a place was promised, since the last cycle */
    enum placement placement; /* of the last cycle, for all but: */
    uint32_t placements_n;   /* queues that have their own */
    uint64_t placement_seed; /* the same */
    bool keeps_whole;        /* the same */
    int64_t load_next_ms;    /* measurements of a node begin to count then, or are too old (core/score/load.h) */
    struct targets *targets; /* core/score/target.h; NULL: none are known */
    struct map *twins;       /* core/score/twins.h: texts */
    uint32_t twins_n;
    bool hold, all_wake, node_wishes; /* as the last cycle was told */
    struct fair_policy fair; /* of the last cycle */
    struct lost_policy lost_policy; /* the same */
    int64_t lost_until_ms;   /* nobody waits for a node that failed to come back after it */
    struct consumption_policy consumption; /* without its weights: they stand below */
    struct amount *consumption_weights; /* by resource, in 1e-9 */
    uint32_t consumption_weights_n;
    int64_t consumption_due_ms;  /* all LocalQueues are looked at again then */
    uint64_t consumption_ticks;
    struct pod *pods;
    uint32_t pods_n, pods_cap, pod_hole, pods_live_n;
    struct id_map pod_by_key, gang_by_key, queue_by_name, local_queue_by_key, namespace_by_name, flavor_by_name, topology_by_name;
    struct gang **gangs;
    uint32_t gangs_n, gangs_cap;
    struct gang_stakes *stakes; /* preempt/stakes.h; [0] is nobody's */
    uint32_t stakes_n, stakes_cap, stakes_hole, stakes_live_n;
    struct queue **queues;   /* [0]: gangs without a queue */
    uint32_t queues_n, queues_cap;
    uint32_t strict_n;       /* StrictFIFO queues */
    struct local_queue *local_queues;
    uint32_t local_queues_n, local_queues_cap;
    struct name_space *namespaces;
    uint32_t namespaces_n, namespaces_cap;
    struct flavor *flavors;
    uint32_t flavors_n, flavors_cap;
    struct topology *topologies;
    uint32_t topologies_n, topologies_cap;
    uint64_t topologies_built, domain_searches; /* trees, searches in them, so far */
    struct budget *budgets;  /* unordered */
    uint32_t budgets_n, budgets_cap;
    struct gang **fresh;     /* waiting gangs that changed: they get in line at the next cycle */
    struct gang **work;      /* admitted gangs with something to settle: late pods, lost places, evictions */
    struct gang **unlinked;  /* admitted in queues that do not exist (yet) */
    struct gang **promised;  /* waiting gangs with a promise */
    uint32_t promised_n, promised_cap, promised_anti_n; /* the last: lone pods with required anti-affinity */
    struct booking **bookings; /* by the order of their gangs */
    uint32_t bookings_n, bookings_cap;
    bool bookings_news;      /* one of them, or a queue, is marked to look again */
    struct booking_view booking_view;
    uint32_t backfills_n;    /* queues that ask for bookings */
    struct queue **ready;    /* with lines to try */
    struct parking **parked;
    struct line **telling;
    uint32_t fresh_n, fresh_cap, work_n, work_cap, unlinked_n, unlinked_cap, ready_n, ready_cap, parked_n, parked_cap, telling_n,
        telling_cap;
    struct standing *standing; /* parked lines that stand in the order of shares; NULL until the first does */
    uint32_t standing_root;  /* this cycle: of the tree in which some of those may start, nobody else being a head; 0 = of none */
    uint32_t *helping_roots; /* this cycle: trees that had gained or risen */
    uint32_t helping_roots_n, helping_roots_cap;
    uint32_t borrowers_awaited_n; /* parkings on PARK_BORROWERS */
    uint32_t takers_awaited_n; /* parkings with `takes` */
    struct map *lines;       /* key of a line -> struct line * */
    struct line *joined_last; /* one of them, or NULL: gangs that come in one burst are mostly alike */
    struct line *spare_line; /* one that has ended, for its memory; or NULL */
    uint32_t *helping;       /* this cycle: nodes that gained room since the last; and lines that this may help, tried one by one */
    struct line **candidates;
    uint32_t helping_n, helping_cap, candidates_n, candidates_cap;
    struct heap timers;      /* gangs by retry_ms */
    struct ready_policy ready_policy;
    struct heap deadlines;   /* gangs by deadline_ms, those that have not passed */
    uint32_t unready_n;      /* Workloads with quota whose pods are not ready */
    bool ready_gained;       /* since the last cycle there is none */
    int32_t helping_lowest;  /* the lowest priority of those without a queue on these nodes; INT32_MAX: there is none */
    bool quota_helping, neighbours_helping; /* as `helping`: some quota tree has more left; pods came or went */
    uint32_t shares_n;       /* queues with shares */
    bool shares_changed;     /* such a queue, its gangs, or nodes are others: what they deserve is found anew (quota/deserve.h) */
    bool queues_changed;     /* some queue, flavor, cohort or namespace has `changed` set */
    uint64_t cycles_n;
    int64_t refresh_ms;      /* an outdated reason is to be found anew then; 0 = none is */
    int64_t explain_by_ms;   /* reasons wait for a cycle that starts nobody, or the first after this (cycle.h); 0 = none do */
    bool others_changed;     /* since the last cycle ended somebody came to wait, started, or left: what is said to others may be untrue */
    int64_t others_ms;       /* when that was last */
    int64_t now_ms;          /* of the last cycle */
    struct buf text;         /* scratch */
};

/* What is held under a name; NULL: nothing is. */
static inline struct gang *gang_find(const struct state *s, name_id key)
{
    uint32_t at = id_map_get(&s->gang_by_key, key);
    return at ? s->gangs[at - 1] : NULL;
}

static inline struct queue *queue_find(const struct state *s, name_id name)
{
    uint32_t at = id_map_get(&s->queue_by_name, name);
    return at && s->queues[at]->known ? s->queues[at] : NULL;
}

static inline struct flavor *flavor_find(const struct state *s, name_id name)
{
    uint32_t at = id_map_get(&s->flavor_by_name, name);
    return at && s->flavors[at].known ? &s->flavors[at] : NULL;
}

static inline struct local_queue *local_queue_find(const struct state *s, name_id key)
{
    uint32_t at = id_map_get(&s->local_queue_by_key, key);
    return at && s->local_queues[at].known ? &s->local_queues[at] : NULL;
}

static inline struct label_list namespace_labels(const struct state *s, name_id ns)
{
    return s->namespaces[id_map_get(&s->namespace_by_name, ns)].labels;
}

/* state.c */
/* The queue that a gang asks for; NULL with ret_missing = 0: needs no quota; NULL and a name: it does not exist. */
struct queue *gang_queue_by_name(const struct state *s, const struct gang *g, name_id *ret_missing); /* where it names one */
static inline struct queue *gang_asks_queue(const struct state *s, const struct gang *g, name_id *ret_missing)
{
    *ret_missing = 0;
    return g->own->local_queue || g->own->queue_name ? gang_queue_by_name(s, g, ret_missing) : NULL;
}

/* By which policy nodes are chosen for the gang: its queue's own, or that of all. NULL: it is nobody's. */
enum placement queue_policy(const struct state *s, const struct gang *g);
static inline enum placement gang_policy(const struct state *s, const struct gang *g)
{
    return s->placements_n && g ? queue_policy(s, g) : s->placement;
}

void queue_free(struct queue *q); /* state_unused.c; no list names it any more */

/* seat.c */
uint32_t seat_take(struct state *s, uint32_t node, uint32_t shape, uint32_t labels, struct gang *gang, uint32_t pod_set,
                   bool choose); /* devices from what is free; else none yet */
void seat_free(struct state *s, uint32_t seat);   /* for good: wakes who waits for the room */
void seat_untake(struct state *s, uint32_t seat); /* part of an undone search */
void seat_lift(struct state *s, uint32_t seat);   /* off its node for a while: the slot, its shape and its devices are remembered */
void seat_return(struct state *s, uint32_t seat); /* back to where it was lifted from; nothing else may stand there by now */

/* share_fit.c */
/* False: no node can give such devices beside such shares. ret_slots->n = 0: only shares. */
bool shape_slots(const struct shape_class *c, const struct device_table *t, struct share_slots *ret_slots);
/* NULL: the shape asks for no share, or the node gives none. */
const struct gpu_share *shape_share_on(const struct state *s, uint32_t shape, uint32_t node);
/* For who asks for a share: does the device have as much left? */
bool seat_share_fits(const struct state *s, uint32_t shape, uint32_t node, int32_t device);

/* seat_devices.c */
struct device_bits seat_devices(const struct seat *seat);
void seat_set_devices(struct seat *seat, const struct device_bits *bits);
void seat_choose_devices(struct state *s, struct seat *seat); /* all that it asks for; it has none */
const struct gpu_share *seat_share(const struct state *s, const struct seat *seat); /* of each GPU; NULL: it has none */
/* The seat has a share of this device then, which seat_share_fits allows, and not of the one that was chosen. */
void seat_move_share(struct state *s, uint32_t seat, int32_t device);
void seat_take_told_devices(struct state *s, uint32_t seat);  /* what the API says of its pod, where that is something else */
bool seat_has_told_devices(const struct state *s, uint32_t seat, const struct pod *p); /* ... and exactly those, if it were its seat */
void seats_settle_held(struct state *s, uint32_t node);       /* places that are held give devices up to pods, and are given others */
void seats_count_devices(struct state *s, uint32_t node);     /* those in use, anew */
void seats_new_devices(struct state *s, uint32_t node);       /* the node's table is another one, seats have been translated */
bool seat_lacks_devices(const struct state *s, const struct seat *seat);
void seats_wake_holders(struct state *s, uint32_t node); /* gangs that hold places there, or whose pods go, must look
                                                          * whether they are still good */
void shape_release(struct state *s, uint32_t shape); /* view.c: unref, and drop its cached view with the last reference */

#endif
