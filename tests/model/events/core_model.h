/* core_model.h - a cluster in plain numbers, the API server that keeps it, and the core that learns of it late
 *
 *   random events ──> api ──streams──> seen ──state_apply──> core ──plan──> writes ──> api
 *                      ^                                                      |
 *                      `── answers: done, refused, lost, late, twice ─────────┘
 *
 * SHAPE  `api` is the truth. One `life` is one run of the scheduler: a core, what has been told to it (`seen`) and what it did that no
 *        record has shown yet (`assumed`). A restart is a new life that is fed with `api` in random order.
 *        Streams keep the order within one kind of object and none between kinds, as watches do.
 * ORDER  everything is drawn from one seed; the core is only asked through its public headers.
 */
#ifndef TESTS_MODEL_CORE_MODEL_H
#define TESTS_MODEL_CORE_MODEL_H
#include <inttypes.h>
#include "../../unit/core/world.h"
#include "base/random.h"

enum { RES_CPU, RES_GPU, RES_NIC, RES_N };
enum {
    NODES = 7,
    FLAVORS = 4,
    COHORTS = 4,
    QUEUES = 6,
    VOLCANO_QUEUE = QUEUES - 1,
    LOCALS = 8,
    GANGS = 14,
    SETS = 4,
    PODS = 72,
    APPS = 2,
    BUDGETS = 3,
    ZONES = 3,
    CHECKS = 2
};
enum { CHOICES = SETS * RES_N, BOOKED_PLACES = SETS * NODES, WRITES = 256, ANSWERS = 512, STREAM = 4096, DEVICES_TEXT = 128 };
enum { GPUS_MAX = 24, GPU_MILLI = 1000, GPU_GIB = 16 }; /* of a node; of a GPU that is given in parts as well */

struct kind {                  /* what one pod asks for */
    int64_t ask[RES_N];
    int milli, gib;            /* a share of one GPU; with ask[RES_GPU] = 1: and its device. 0: none */
    int zone;                  /* -1: any */
    bool tolerates;
    int flavors;               /* bits: labels and tolerations of these were written into the pod */
};
struct m_node {
    bool exists, ready, cordoned, tainted, named, sick; /* named: devices have ids; sick: device 0 is broken */
    bool shared;               /* and are given in parts as well */
    int64_t room[RES_N];
    int kind, zone;
    int64_t measured_ms;       /* when its GPUs were; 0: never. Then with this margin, one degree less for each that comes after it */
    int margin_c;
};
#define MEASURED_EVERY_MS 2000 /* counts for 24 seconds */
struct m_quota {
    bool named;
    int64_t nominal, borrowing, lending;
};
struct m_cohort {
    bool exists;
    int parent;                /* -1: root; always a smaller number, so there is no cycle */
    int weight_milli;          /* 1000: not said */
    struct m_quota quota[FLAVORS][RES_N];
};
struct m_queue {               /* the last one is Volcano's: no flavors, what it does not name is not counted */
    bool exists, strict, borrow_before_next, preempt_before_next, level_first;
    enum preemption_policy within, reclaim, borrow;
    int threshold;             /* of borrow; -1: none */
    int weight_milli;
    enum queue_backfill backfill;
    struct queue_placement placement; /* `unread`: what it kept, as its condition says */
    bool by_consumption;       /* not with strict: who keeps others waiting would be another one for a core that begins anew */
    int cohort, layout;
    enum stop_policy stop;
    bool checks[CHECKS];       /* that it demands: the first of all, the second of who is given one of check_flavors */
    int check_flavors;         /* bits */
    struct m_quota quota[FLAVORS][RES_N];
};
struct m_local {
    bool exists;
    int queue, weight_milli;
    enum stop_policy stop;
    int64_t consumed_ms;       /* as its status says; 0: nothing */
    struct fine_amount consumed[RES_N]; /* without names */
};
struct m_set {
    int name;                  /* "s0", "s1"...: edits move sets, names stay */
    struct kind kind;
    int count, reclaimed;
    int min_count;             /* planned gangs: the fewest, 0 = count */
    int granted;               /* of an admitted gang: members that it was given, 0 = all */
    int task_min;              /* pod groups: minTaskMember, 0 = none */
    bool later;                /* planned gangs: the first burst does not wait for it, and it starts whole itself */
    bool serial;               /* planned gangs: its pods begin one by one */
    bool in_turns;             /* planned gangs: `more` pods come after those that have succeeded, then the others are reclaimed */
    int more;
    bool is_charged;           /* planned gangs: quota counts this, whatever the pods ask for */
    int64_t charged[RES_N];
};
static inline int64_t set_asks(const struct m_set *s, int resource) /* of quota */
{
    return s->is_charged ? s->charged[resource] : s->kind.ask[resource];
}
static inline int set_count(const struct m_set *s)
{
    return s->granted && s->granted < s->count ? s->granted : s->count;
}
/* Of set_count: members that are over. Those that were left out count first. */
static inline int set_over(const struct m_set *s)
{
    int over = s->reclaimed - (s->count - set_count(s));
    return over > 0 ? over : 0;
}
static inline int set_needs(const struct m_set *s)
{
    return set_count(s) - set_over(s);
}
static inline int set_fewest(const struct m_set *s) /* of one that waits */
{
    int needs = s->count - s->reclaimed;
    return s->min_count && s->min_count < needs ? s->min_count : needs;
}
enum gang_type { TYPE_PLANNED, TYPE_VOLCANO, TYPE_GROUP };
struct m_booked {              /* the start that a gang is promised, as its object says it; start_ms 0: none */
    int64_t start_ms;
    uint8_t basis;
    bool borrows;
    uint32_t places_n, quota_n;
    struct m_booked_place {
        uint16_t set;
        int node, count;
    } places[BOOKED_PLACES];
    struct m_booked_quota {
        int8_t flavor, resource;
        int64_t amount;
    } quota[CHOICES];
};
struct m_gang {
    bool exists, active, on_hold, finished, admitted, evicting;
    uint32_t serial, generation; /* generation: counts edits of the spec */
    enum gang_type type;
    int local, sets_n, min_members, priority, admitted_queue;
    int64_t due_ms, created_ms, not_before_ms, reserved_ms, admitted_ms, unready_ms;
    enum gang_pods pods;
    int retries_n;             /* times that it was evicted because its pods were late */
    int64_t checkpoint_ms;     /* these three: as in gang_record */
    int minimum_run_s, grace_s;
    int refill_s;              /* a group: as in gang_record */
    int64_t floor[RES_N];      /* a group: all nodes together must have so much free before it starts; 0: it does not say */
    int64_t restart_ms;        /* as in gang_record */
    int run_s;                 /* it says that it ends within so long of its admission, which is hardly ever so; 0: nothing */
    struct m_set sets[SETS];
    int8_t choices[SETS][RES_N]; /* flavor; -1: none */
    bool reserved_only, foreign; /* admitted means no more than that its quota is reserved; by somebody else */
    int8_t checks[CHECKS];     /* enum check_state; -1: not listed */
    struct m_booked booked;
    int webhook;               /* what is done to its pods: 0 nothing, 1 all grow, 2 some grow, 3 tolerate, 4 flavors left out */
};
struct m_pod {
    bool exists, deleting, gated, foreign;
    bool denied;               /* it was bound, and its scheduler was told that it was not: its devices may have been given to others */
    uint32_t serial;           /* uid */
    uint32_t name;             /* key: a pod made anew may have an old name */
    int gang;                  /* slot; -1: alone */
    uint32_t gang_serial;
    enum gang_type gang_type;
    int set;                   /* name of its set */
    struct kind kind;
    enum pod_phase phase;
    int node;                  /* -1: not bound */
    int64_t created_ms, started_ms; /* started: 0 = not yet */
    int priority;
    bool never;                /* a pod alone: preempts nobody */
    int app;                   /* label that budgets select; 0: none */
    int anti;                  /* stands with none of its app (required anti-affinity): 0 no matter, 1 on one node, 2 in one zone */
    int nominated;             /* node + 1 */
    char devices[DEVICES_TEXT];
};
struct m_budget {
    bool exists;
    int app, allowed;
};
struct cluster {
    struct m_budget budgets[BUDGETS];
    struct m_node nodes[NODES];
    struct m_cohort cohorts[COHORTS];
    struct m_queue queues[QUEUES];
    struct m_local locals[LOCALS];
    struct m_gang gangs[GANGS];
    struct m_pod pods[PODS];
};

enum object { OBJ_NODE, OBJ_COHORT, OBJ_QUEUE, OBJ_LOCAL, OBJ_GANG, OBJ_POD, OBJ_BUDGET, OBJ_N };
enum stream_id { STREAM_NODES, STREAM_QUEUES, STREAM_GANGS, STREAM_PODS, STREAM_BUDGETS, STREAM_N };
struct event {
    enum object object;
    int slot;
    union {
        struct m_node node;
        struct m_cohort cohort;
        struct m_queue queue;
        struct m_local local;
        struct m_gang gang;
        struct m_pod pod;
        struct m_budget budget;
    };
};
struct stream {
    struct event *events;      /* a ring */
    uint32_t first, n;
};
struct answer {
    enum effect effect;
    enum outcome outcome;
    char gang[40], pod[40];
    uint64_t due;
    bool twice, again;         /* again: it comes the second time */
};
struct write {                 /* of ours, not yet at the API server */
    enum effect effect;
    char gang[40];
    int gang_slot, pod_slot, node, queue;
    uint32_t gang_serial, pod_serial, generation;
    int retries_n;             /* EVICT of one that is late: so many times by now, 0 = not for that */
    int64_t again_ms;          /* and when it may come back */
    bool deactivates;
    int8_t choices[SETS][RES_N];
    int counts[SETS];
    char devices[DEVICES_TEXT];
    uint64_t due;
};
struct assumed {               /* bound by us, no record shows it yet */
    uint32_t serial;           /* of the pod; 0: nothing */
    int node;
    char devices[DEVICES_TEXT];
};
struct life {
    struct world w;
    struct cluster seen;
    struct assumed assumed[PODS];
    bool started[GANGS];       /* the first burst is over */
    uint32_t went_for[GANGS];  /* serial of the gang for which others have been leaving */
    uint8_t begun[GANGS];      /* bits by name of the set: some of its pods had a place since then */
    int done_gone[GANGS][SETS]; /* by name of the set: members that succeeded and were deleted then */
    uint32_t reserved[GANGS];  /* serial of one that waited for its checks when the last decision began, or was given quota only by it */
    int granted[GANGS][SETS];  /* by name of the set: what the last plan gave it where that is not all, else 0 */
    struct stream streams[STREAM_N];
};
struct model {
    struct life life;
    struct cluster api;
    struct random random;
    struct write writes[WRITES];
    uint32_t writes_n;
    struct answer answers[ANSWERS];
    uint32_t answers_n;
    enum placement placement;
    uint64_t seed, step, trace;
    struct ready_policy ready;
    struct consumption_policy consumption;
    uint32_t serial, pod_names;
    bool sweeps;               /* names that nobody needs go after every step */
    bool checks;               /* queues demand admission checks */
    bool preempts;             /* most queues let their gangs preempt */
    struct fair_policy fair;   /* of all lives */
    bool shares;               /* nodes give their GPUs in parts as well, and many ask for some */
    bool crowds;               /* many pods of no queue, of many priorities */
    bool backfills;            /* queues promise starts */
    bool placements;           /* queues have policies of their own by which nodes are chosen */
    bool one_cohort;           /* quota is scarcer than nodes, all queues borrow from each other, and heads keep quota from others */
    bool faults;               /* writes fail, answers are late; off when the world comes to rest */
    uint32_t admits_n, reserves_n, retries_n, fewer_n, binds_n, shares_n, evicts_n, preempts_n, lone_n, late_n, restarts_n, rests_n;
    char last[8][320];         /* the last events, for people who read a failure */
    uint32_t last_n;
};

/* core_api.c: the API server, its streams, and lives */
uint32_t pick(struct model *m, uint32_t n);
bool chance(struct model *m, uint32_t permille);
bool model_leaves_out(const char *what);
void die(struct model *m, const char *format, ...) PRINTF_LIKE(2, 3) __attribute__((noreturn));
void note(struct model *m, const char *format, ...) PRINTF_LIKE(2, 3); /* what happened, for the failure's message */
extern const char *const resource_names[RES_N];
extern const char *const flavor_names[FLAVORS];
struct flavor_facts {
    int kind;                  /* node kind that its label selects; -1: no label */
    bool tolerates;            /* adds the toleration of dedicated nodes */
};
extern const struct flavor_facts flavor_facts[FLAVORS];
/* Resource groups: layout -> group -> which resources, which flavors. */
struct layout_group {
    bool covers[RES_N];
    int flavors[2], flavors_n;
};
extern const struct layout_group layouts[3][2];
const char *gang_key(const struct m_gang *g, char out[40]);
const char *pod_key(const struct m_pod *p, char out[40]);
const char *pod_gang_key(const struct m_pod *p, char out[40]); /* also of a pod alone: "pod/ns/..." */
int local_queue_of(const struct cluster *c, const struct m_gang *g); /* queue slot that the gang asks for; -1: none, -2: missing */
void changed(struct model *m, enum object object, int slot); /* api changed: an event goes out */
bool deliver(struct model *m, struct life *l, enum stream_id stream); /* the next event of a stream; false: none */
void deliver_all(struct model *m, struct life *l);
void write_consumed(struct model *m, bool all); /* into the status of LocalQueues, as the scheduler does after a cycle, sooner or later */
void check_consumed(struct model *m, struct life *fresh);
void life_begin(struct model *m, struct life *l);  /* empty core fed with api in random order */
void life_end(struct life *l);
void answer_outcome(struct life *l, const struct answer *a);

/* core_floor.c: groups that start only while all nodes together have so much free */
void floor_draw(const struct model *m, struct m_gang *g); /* WHY from its number: what else is drawn by chance stays as it is */
void floor_tell(struct world *w, const struct m_gang *g, struct gang_record *r);
void floor_check(struct model *m, const struct life *l, int gang); /* it starts now */
void floor_note(struct life *l); /* for whom others leave from now on */

/* core_heal.c: pod groups lose members, and get others */
void random_heal(struct model *m);

/* core_random.c: users, kubelets and controllers */
struct members {
    int live, succeeded, any; /* any: slot of a live one, -1: none */
};
struct members members_of(const struct model *m, int gang, int set); /* set: its name */
void new_member(struct model *m, int gang, int set);

/* core_random_queues.c */
void consumption_policy(struct model *m);
int random_weight(struct model *m);
void random_put_queue(struct model *m, int slot);
void random_put_cohort(struct model *m, int slot);
void random_change_queue(struct model *m);

/* core_random.c: users, kubelets and controllers */
void random_world(struct model *m);
void random_event(struct model *m);
void random_controllers(struct model *m, bool all); /* job controllers and kubelets: some of their work, or all of it */

/* core_checks.c: admission checks, their controllers, and what must hold of gangs that wait for them */
bool check_demanded(const struct cluster *c, int queue, int check, int8_t choices[SETS][RES_N]);
bool checks_answered(const struct cluster *c, const struct m_gang *g); /* admitted, and all that are demanded of it are ready */
bool starts_without_places(const struct m_gang *g); /* admitted when its checks are ready, places or not */
void list_checks(const struct cluster *c, struct m_gang *g); /* Pending, where its queue demands them since */
void reset_checks(struct model *m, struct m_gang *g);        /* it is evicted */
void random_checks(struct model *m);                         /* of queues; reservations by others; answers taken back */
void check_controllers(struct model *m, bool all);
void oracle_reserve(struct model *m, const struct life *l, const struct plan_entry *e, int slot); /* RESERVE, and ADMIT of a planned gang */
void nobody_waits_behind_checks(struct model *m);

/* core_answers.c: our writes at the API server */
void submit(struct model *m, const struct plan *p); /* plan -> writes */
void work_writes(struct model *m, bool all);       /* writes that are due reach the server */
void work_answers(struct model *m, bool all);      /* answers that are due come back */

/* core_oracle.c: what must hold after each decision */
struct fit_gpu {               /* a GPU that is given in parts */
    int milli, gib;
    bool device;               /* nobody has its device */
};
struct fit_share {             /* of one node */
    int64_t milli, gib;        /* of all its GPUs together, those that are gone too */
    int untouched, given_n;    /* healthy GPUs of which nobody has anything; those that are given in parts */
    struct fit_gpu given[GPUS_MAX];
};
struct fit_node {              /* room left on the nodes */
    int64_t left[NODES][RES_N];
    struct fit_share share[NODES];
};
void decide_now(struct life *l);
void oracle_check(struct model *m, const struct life *l);
void oracle_plan(struct model *m, struct life *l); /* of life's plan; also takes its binds as assumed */
void oracle_reasons(struct model *m, const struct life *l); /* after a decision: who waits knows why */
bool kind_may_stand(const struct kind *k, int flavors, const struct m_node *n);
bool neighbours_allow(const struct cluster *c, const struct assumed *assumed, const struct m_pod *p, int node); /* and all others' rules */
void room_left(const struct cluster *c, const struct assumed *assumed, struct fit_node *ret_room);
name_id queue_id(const struct life *l, int queue);
int64_t quota_left(const struct life *l, int queue, int flavor, int resource); /* what the tree still gives */
bool gang_before(const struct m_gang *a, const struct m_gang *b); /* in one queue */
bool is_member(const struct m_pod *p, const struct m_gang *g, int slot);
enum gang_phase phase_of(const struct life *l, const struct m_gang *g);
bool gang_ready(const struct cluster *c, const struct m_gang *g, int64_t now_ms);
struct wish {
    struct kind kind;
    int flavors;               /* bits: labels and tolerations that the flavors add */
    int count;
};
/* Exact: can all wishes stand together? 1 yes, 0 no, -1 too many ways to try. */
int brute_place(const struct cluster *c, const struct fit_node *room, const struct wish *wishes, int n);

/* Could its fewest members stand in this room, under some flavors of the queue? */
bool some_flavors_place(const struct cluster *c, const struct m_gang *g, int queue, const struct fit_node *room, struct wish *wishes,
                        int set);

bool has_device_twice(const struct cluster *c, int node); /* two pods there say that they have the same one */

/* core_shares.c: parts of GPUs */
void random_share(struct model *m, struct kind *k); /* instead of GPUs, now and then */
bool asks_quota_for_shares(const struct m_gang *g); /* of which no queue has any */
bool names_device(const char *devices, int device); /* does "nvidia.com/gpu=0,3" name it? */
bool names_share(const char *devices, int device);
void share_left(const struct cluster *c, const struct assumed *assumed, int node, struct fit_share *ret_share);
int64_t share_most(const struct kind *k, const struct fit_share *share, int64_t most); /* of them, one after the other */
bool share_take(const struct kind *k, struct fit_share *share, int at); /* of given[at], or of one that is untouched: at = given_n */
void check_shares(struct model *m, const struct cluster *c, const struct assumed *assumed); /* no GPU has more taken of it than there is */
const char *devices_of(const struct m_pod *p, const struct assumed *a);
int node_of(const struct m_pod *p, const struct assumed *a);
/* core_ready.c: pods that must be ready in time */
void ready_policy(struct model *m);
void ready_say(struct model *m, int slot);         /* a gang's controller says whether its pods are */
void ready_begin(const struct model *m, struct m_gang *g);               /* it is admitted; it has given everything back */
void ready_end(struct m_gang *g);
void ready_count(struct model *m, struct m_gang *g, const struct write *w);
void ready_check_plan(struct model *m, const struct life *l);
bool ready_stands_still(const struct model *m);    /* nobody is admitted, because somebody is not ready */
void ready_check_rest(struct model *m);
/* core_booked.c: starts that are promised, as objects say it */
void booked_write(struct model *m, const struct plan_entry *e, int slot); /* of an EXPLAIN, of the planned gang seen in that slot */
const struct booking_record *booked_record(struct world *w, const struct m_booked *b); /* NULL: none is */
/* core_lone.c: pods of no queue that others of lower priority leave for */
void lone_check_victim(struct model *m, const struct life *l, const struct plan_entry *e);
/* ---- core_priority.c ---- */
bool is_by_priority(const struct plan_entry *e); /* EVICT: a group, for a group, or for one together with others */
void priority_check_victim(struct model *m, const struct life *l, const struct plan_entry *e);
void lone_write_nominated(struct model *m, const struct plan_entry *e); /* of an EXPLAIN: the pod's status says for which node it waits */
void lone_rest_check(struct model *m); /* nobody waits who would fit, alone or once those of lower priority were gone */

/* core_rest.c: a world at rest */
const char *in_words(const struct life *l, const struct reason *r); /* good until the next decision */
void come_to_rest(struct model *m);
void rest_checks(struct model *m);
uint64_t plan_hash(const struct life *l, uint64_t h);

#endif
