/* core_order.h - random cohort trees in plain numbers, and what Kueue's cycle does with them, written out plainly
 *
 * SHAPE  core_order_tree.c: quotas and shares; core_order_flavors.c: which flavors a gang is given, and who would go for it;
 *        core_order_victims.c: who goes for whom; core_order_fair.c: the same by shares, and the order of heads by shares;
 *        core_order_promise.c: what stands between others and those for whom somebody goes; core_order_equals.c: who of equals;
 *        core_order_consumption.c: what LocalQueues have used; core_order_checks.c: admission checks; core_order_cycle.c: the cycle;
 *        core_order_nodes.c: domains of a topology; core_order_lost.c: nodes that fail under those who hold places there;
 *        core_order_random.c: what happens between two cycles; core_order_tell.c: what is told of it; core_order.c: the core beside it.
 */
#ifndef TESTS_MODEL_CORE_ORDER_H
#define TESTS_MODEL_CORE_ORDER_H
#include <inttypes.h>
#include "../../unit/core/world.h"
#include "base/random.h"
#include "core_order_places.h"

enum { COHORTS = 4, QUEUES = 6, NODES = COHORTS + QUEUES, FLAVORS = 4, RES_N = 3, GROUPS = 2, SETS = 3, GANGS = 40, LOCALS = 3, APPS = 2 };
/* Of each flavor and resource. */
#define FOR_EACH_CELL(f, r)           \
    for (int f = 0; f < FLAVORS; f++) \
        for (int r = 0; r < RES_N; r++)

enum { CHECKS_NOBODY, CHECKS_ALL, CHECKS_FLAVOR };

struct amounts {
    int64_t of[FLAVORS][RES_N];
};
struct group {                 /* of a queue: its resources come from one of its flavors, which are tried in this order */
    bool covers[RES_N];
    int flavors[FLAVORS], flavors_n;
};

struct plain_quota {
    bool named;
    int64_t nominal, borrowing, lending;
};
struct tree_node {             /* cohorts, then queues */
    int parent;                /* -1: root */
    bool strict, borrow_stops, preempt_stops;
    bool level_first;          /* preference: PreemptionOverBorrowing */
    bool by_consumption;       /* of its LocalQueues who has used less comes first */
    bool volcano;              /* of two such queues the one with the higher priority has its heads tried first */
    int priority;
    enum preemption_policy within, reclaim, borrow;
    int threshold;             /* -1: none */
    int weight_milli;
    int check;                 /* it demands one: CHECKS_NOBODY, CHECKS_ALL, or CHECKS_FLAVOR + flavor */
    struct group groups[GROUPS]; /* of a queue */
    int groups_n;
    struct plain_quota quota[FLAVORS][RES_N];
    int64_t own[FLAVORS][RES_N];
};
struct sums {                  /* of the whole tree, as far as they were asked for */
    int64_t of[NODES][FLAVORS][RES_N];
    bool known[NODES][FLAVORS][RES_N];
};
struct pod_group {             /* a pod set of a gang */
    int count, asked_n, fewest; /* count: of those asked for; fewest: it may start with so many */
    int64_t ask[RES_N];        /* of each pod */
    int mode, level, slices_n, slice_level[2], slice_size[2]; /* in a world with a topology (core_order_places.h) */
    int milli;                 /* its pods take so many thousandths of one GPU, where quota counts whole ones; 0: as it counts */
    bool in_group;             /* with the other set of the gang of which that is said: they take flavors, and stand, together */
};
struct given {                 /* to a gang: of each pod set how many pods, and which flavor of each resource; -1: it asks for none */
    int count[SETS], flavor[SETS][RES_N];
};
struct seats {                 /* of each pod set how many pods stand on each node, in a world with a topology */
    int n[SETS][PLACES];
    int16_t gpus[SETS][PLACES][PLACE_GPUS]; /* thousandths that these take of each GPU, where GPUs are given in parts */
};
struct plain_gang {
    bool exists, admitted, tried, patient; /* admitted: it has quota */
    int unkept_n;              /* promises in a row that ended before a victim had left */
    bool checking;             /* it has, and waits for its check */
    bool counts;               /* its LocalQueue holds what it was given: it is really admitted, and has not left */
    enum check_state check;
    bool active;
    int64_t not_before_ms;     /* it waits until then; 0: for nothing */
    bool leaving;              /* it was told to leave, and has not yet */
    int leaves_for;            /* gang that waits for it; -1: nobody does any more */
    int serial, queue, local, priority;
    int sets_n;
    struct pod_group sets[SETS];
    struct given given;        /* while it is admitted */
    int64_t due_ms, created_ms, reserved_ms;
    __int128 entry[RES_N];     /* of its LocalQueue's */
    int64_t checkpoint_ms;     /* 0: none */
    int minimum_run_s, grace_s; /* 0: not told */
    bool charged_only;         /* quota counts what its pods do not ask for */
    bool alone;                /* others had to go for it: it is like nobody else until it, or its queue, is told anew */
    int app, pods_n;           /* app 0: it has no pods; pods_n: that are there */
    bool breaks;               /* a budget, as a candidate (weigh_budgets) */
    struct seats on;           /* that it was given */
    struct seats off;          /* and was given on nodes that failed before it had pods there */
    int lost_at;               /* such a node, + 1; 0: none */
    int64_t lost_ms;           /* since when */
    bool moved;                /* in this cycle another node took its place */
    bool lifted;               /* while others look for places: as if it had gone */
};
struct plain_local {           /* consumed, entry: in 1e-9 of a core, of a GPU */
    int weight_milli;
    int64_t held[RES_N], at_ms;
    __int128 consumed[RES_N], entry[RES_N];
};
struct victim {
    int behind;                /* of its queue who goes last of all by priority, of it and those before it */
    int gang, class;           /* class: 0 whatever its priority, 1 by priority, 2 own queue, 3 by shares */
    bool while_borrowing;
    int shared;                /* lowest cohort that both are below; -1: own queue */
};
struct victims {
    struct victim all[GANGS];
    int n;
    bool coming;               /* nobody has to go: others leave already, and that is enough */
    struct seats on;           /* where the gang stands then */
};
/* What is asked of each flavor, and of what of it there is too little. */
struct need {
    struct amounts amount;
    bool is_short[FLAVORS][RES_N];
    bool places;               /* it needs those, too: of each pod set so many, on nodes of all flavors that it has */
    int pods_n[SETS];
    unsigned flavors[SETS];
    bool for_nodes;            /* quota is enough */
    bool alone;                /* one flavor and resource, asked for itself */
};
struct answer {                /* what can be done for a gang */
    enum { NOTHING, STARTS, OTHERS_GO, OTHERS_LEAVE } what; /* the last: somebody leaves already, and it has only to wait */
    struct given given;
    struct need need;          /* all zero: it will use nothing */
    struct victims victims;
    int level;
    struct seats on;
};
struct plain_promise {         /* somebody leaves for a gang of this queue */
    int gang, queue, level;
    bool stands;               /* somebody else is tried */
    struct given given;
    struct need need;
    struct victims victims;
    struct amounts kept;       /* from the head that is tried */
};
struct tally {                /* what was compared */
    uint64_t spared_n[4];      /* by budgets, minimum run, what is lost, grace */
    uint64_t several_sets_n, several_groups_n, several_flavors_n, fewer_n; /* admissions */
    uint64_t fewer_by_others_n; /* preemptions for fewer pods */
    uint64_t domains_n[4], several_domains_n, sets_in_domains_n, sliced_n, groups_in_domains_n; /* by mode */
    uint64_t parts_n, led_n, nested_n, changed_places_n, failed_under_n, lost_n, back_n, replaced_n, lost_evicts_n;
    uint64_t freed_places_n, ready_waits_n; /* where quota was enough, and nodes were not; ready, and there were none */
    uint64_t reserved_n, ready_n, retried_n, rejected_n, checking_victims_n;
    uint64_t admits_n, preemptions_n, evicts_n[4], further_n, coming_n, held_n, kept_n, vain_n, by_use_n, alike_n, taken_back_n;
};
struct decision {
    int gang, victim_of;       /* victim_of: enum preemption, or one of those below */
};
/* Let in; given quota, and to wait for its check; let in once that was ready; the last three are told to leave. */
enum { ADMITTED = -1, RESERVED = -2, READY = -3, RETRIED = -4, DEACTIVATED = -5, LOST = -6 };
struct model {
    struct world w;
    struct random random;
    struct tree_node nodes[NODES];
    struct sums *quotas, *usages, *potentials; /* OWNER core_order_tree.c: forgotten with what they are made of */
    struct plain_gang gangs[GANGS];
    struct decision decided[2 * GANGS]; /* by the reference, in this order */
    int decided_n;
    struct plain_promise promises[GANGS];
    int promises_n;
    struct places places;      /* n 0: no topology, and room for all on one node */
    int64_t withheld[PLACES][PLACE_RES]; /* by promises that stand */
    bool blind;                /* to nodes: heads are put in order by quota */
    bool only_grace;           /* of what is lost by their end nothing else tells gangs apart */
    bool plain;                /* one resource group and one pod set everywhere */
    int flavors_n, resources_n; /* of those that there are, so many are used */
    bool told;                 /* queues were, before this cycle */
    bool quiet;                /* all queues preempt: some cycles are of those alone who wait for others */
    bool spares;               /* equals are ordered by what is lost by their end */
    int budgets[APPS];         /* pods of each app that may go */
    bool in_vain;              /* somebody did not start though all victims had left: he waits before others have to go for him */
    struct consumption_policy consumption;
    int resource_weights[RES_N];
    struct plain_local locals[QUEUES][LOCALS];
    int64_t cycle_ms, due_ms;
    struct tally counts;
    uint64_t seed, step;
    int serial;
};

/* core_order.c */
bool is_forced(const struct model *m); /* after this cycle all who wait are tried, though nothing woke them */

/* core_order_tell.c */
extern const char *const resources[RES_N], *const flavors[FLAVORS];
struct gang_record record_of(struct model *m, const struct plain_gang *g);
void tell_cohort(struct model *m, int i);
void tell_queue(struct model *m, int i);

/* core_order_tree.c */
int64_t asked_of(const struct plain_gang *g, int r);
struct amounts charged(const struct plain_gang *g, const struct given *given);
struct amounts charged_now(const struct plain_gang *g); /* admitted */
void forget_sums(struct model *m); /* quotas, or parents, are others now */
void add_amounts(struct model *m, int queue, const struct amounts *a, int sign); /* to what is used */
int64_t max0(int64_t a);
int64_t kept(const struct model *m, int i, int f, int r);
int64_t subtree(const struct model *m, int i, int f, int r);
int64_t usage(const struct model *m, int i, int f, int r);
int64_t available(const struct model *m, int i, int f, int r);
int64_t potential(struct model *m, int i, int f, int r);
int root_of(const struct model *m, int i);
int height(const struct model *m, int i);
/* The height of the smallest subtree that holds the amount on top of what is used. */
int borrow_level(const struct model *m, int i, int f, int r, int64_t amount);
struct plain_share {           /* borrowed / whole, infinite: and nobody with a weight has as much */
    __int128 borrowed, whole;
    bool infinite, borrows;
};
struct plain_share plain_share(struct model *m, int i);
int compare_shares(struct plain_share a, struct plain_share b);

/* core_order_victims.c */
bool gang_allows(enum preemption_policy p, const struct plain_gang *g, const struct plain_gang *v);
bool goes_before(const struct model *m, const struct victim *a, const struct victim *b); /* of two queues, once they are sorted */
void sort_victims(struct model *m, struct victims *v); /* where equals are spared: with what budgets say of those that are given */
/* Of another queue: it uses something of which its queue has more than its own; where nodes are short, that this one asks for. */
bool may_go(const struct model *m, const struct plain_gang *v, const struct need *x);
bool uses_what_is_short(const struct plain_gang *v, const struct need *x);
void take_off(struct model *m, const struct victim *v, int sign);
bool is_held(const struct model *m, const struct plain_gang *g, const struct need *x, bool borrows);
bool is_above(const struct model *m, int i, const struct need *x);
/* They have gone for the gang, which borrows: would they take back at once what is their queues' own? */
bool is_taken_back(struct model *m, const struct plain_gang *g, const struct need *x, struct victims *gone);
/* From the last but one to the first: who was not needed is put back. The others stay taken off. */
void put_back(struct model *m, const struct plain_gang *g, const struct need *x, bool borrows, struct victims *v);
/* They go, until it is enough; enough: also for places. */
void lift(struct model *m, const struct victim *v, bool gone);
bool is_enough(struct model *m, const struct plain_gang *g, const struct need *x, bool borrows, struct victims *v);
/* Once those have gone, who are lifted; of one thing asked for itself also without those who leave for the gang because of another. */
int level_without(struct model *m, const struct plain_gang *g, const struct need *x);
int level_with(const struct model *m, const struct plain_gang *g, const struct need *x);
/* It leaves for this one, which asks for no more of anything than others were told to leave for: it goes,
 * whatever policies and shares say now. */
bool is_mine(struct model *m, const struct plain_gang *v, const struct plain_gang *g, const struct need *x);
void add_mine(struct model *m, const struct plain_gang *g, const struct need *x, struct victims *to);
struct victims find_plainly(struct model *m, const struct plain_gang *g, const struct need *x, int *ret_level);
/* Of those who leave for it already, as many as it takes; nobody where they are too few. */
struct victims keep_leaving(struct model *m, const struct plain_gang *g, const struct need *x, bool borrows, int *ret_level);

/* core_order_promise.c */
/* The same, beside those who leave for others, where promises stand. */
struct victims find_victims(struct model *m, const struct plain_gang *g, const struct need *x, int *ret_level);
/* Others leave for it, and what it was promised is still coming. Nothing: it is not, or it asks for another number of pods now. */
struct answer goes_on_waiting(struct model *m, const struct plain_gang *g);
struct plain_promise *promise_of(struct model *m, const struct plain_gang *g); /* NULL: nobody leaves for it */
void make_promise(struct model *m, const struct plain_gang *g, const struct answer *a);
void drop_promise(struct model *m, struct plain_promise *p);
void forget_victim(struct model *m, const struct plain_gang *v); /* it has left, or ended */
bool is_held_for_others(const struct model *m, const struct plain_gang *v, const struct plain_gang *g); /* what it leaves */
void put_promises_beside(struct model *m, const struct plain_gang *g); /* against this one */
void take_promises_off(struct model *m);
void put_whole_promises(struct model *m, int sign);   /* as if who was promised something had started beside his victims */

/* core_order_consumption.c */
int compare_used(const struct model *m, const struct plain_gang *a, const struct plain_gang *b); /* of one queue; 0: it does not count */
void consumption_cycle(struct model *m);                              /* all that are due are sampled */
void consumption_enters(struct model *m, struct plain_gang *g);       /* given quota */
void consumption_lands(struct model *m, struct plain_gang *g);        /* and admitted */
void consumption_leaves(struct model *m, struct plain_gang *g); /* no more */
void consumption_forgets(struct model *m, struct plain_gang *g); /* it will not be given quota any more */
const char *local_key(struct model *m, int queue, int local);
void tell_local(struct model *m, int queue, int local, int told_gpus, int64_t ago_ms);

/* core_order_equals.c */
void weigh_budgets(struct model *m, const struct victims *v); /* candidates in Kueue's order */
int compare_stakes(const struct model *m, const struct plain_gang *a, const struct plain_gang *b);
void spare_equals(struct model *m, const struct plain_gang *g, const struct need *x, struct victims *v, int *level);
void put_stakes(struct model *m, struct plain_gang *g);
void put_budgets(struct model *m);
int pods_of(const struct plain_gang *g); /* that it was given */
void tell_pods(struct model *m, struct plain_gang *g, const struct gang_record *r, bool are_there);

/* core_order_nodes.c */
/* The first of its pod sets that finds no places; sets_n: all do. */
int refused_set(const struct model *m, const struct plain_gang *g, const struct need *x, struct seats *ret_on);
bool has_several_topologies(const struct need *x, int set); /* whoever else stands anywhere */
bool nodes_hold(const struct model *m, const struct plain_gang *g, const struct need *x, struct seats *ret_on);
bool is_on_one_of(const struct plain_gang *g, const struct seats *on);
void put_places_needed(const struct plain_gang *g, const struct given *given, struct need *x);
bool is_on(const struct seats *on, int node);
struct place_ask ask_of_set(const struct plain_gang *g, const struct need *x, int set);
/* `kept`: and what is kept from the head that is tried. */
void add_up_places(const struct model *m, bool kept, int64_t ret_used[PLACES][PLACE_RES]);
void add_pods(int64_t to[PLACES][PLACE_RES], const struct seats *on, const struct plain_gang *g, int sign);
/* The node is back for so many pods of the set. */
void choose_gpus_again(const struct model *m, struct plain_gang *g, int set, int node, int pods);
/* Those of the set that stand somewhere after, and did not before, take GPUs there. */
void choose_gpus_instead(const struct model *m, const struct plain_gang *g, int set, const struct seats *before,
                         int64_t used[PLACES][PLACE_RES], struct seats *after);
void withhold(struct model *m, const struct plain_promise *p);
void put_places(struct model *m);
void put_domains(struct model *m, struct pod_group *set);
void put_group(struct model *m, struct plain_gang *g); /* of two of its sets, once they ask for domains */
int first_together(const struct plain_gang *g, int set); /* of its group; itself, where it is in none */
void tell_places(struct model *m);
void change_places(struct model *m); /* one fails, is drained, goes, has other GPUs, or is back */
struct topology_request request_of(struct model *m, const struct pod_group *set);
void put_domains_told(struct model *m, const struct plain_gang *g, struct gang_record *r);
const char *domains_words(struct model *m, const struct plain_gang *g);
const char *node_of(struct model *m, const struct plain_gang *g, int set, int pod); /* of those that it was given */
const char *devices_of(struct model *m, const struct plain_gang *g, int set, int pod); /* its GPUs there, as its annotation names them */
void print_places(struct model *m);
void print_domains(struct model *m, const struct plain_gang *g); /* asked for, and given */

/* core_order_lost.c */
void settle_lost(struct model *m, int gang);      /* it has its places, on nodes that may have failed */
void forget_lost(struct plain_gang *g);           /* it leaves, or has left */
bool may_change_under(const struct model *m, int node, bool *ret_only_state); /* those who hold places there */
void tell_moved(struct model *m);

/* core_order_fair.c */
struct victims find_fairly(struct model *m, const struct plain_gang *g, const struct need *x, int *ret_level);
struct plain_head {
    struct plain_gang *gang;   /* NULL: none, or it had its turn */
    struct amounts uses;       /* it will use so much */
    int level;
};
int next_fairly(struct model *m, const struct plain_head heads[QUEUES]); /* -1: nobody is left */
bool is_in_front(const struct plain_gang *a, const struct plain_gang *b); /* of equal priority: who is due first, then who is older */
bool gang_before(const struct plain_gang *a, const struct plain_gang *b);

/* core_order_flavors.c */
bool preempts(const struct tree_node *own); /* may others go for a gang of this queue? */
/* `vain`: others went for it, and it did not start: before it has waited nobody else goes. */
struct answer decide_one(struct model *m, struct plain_gang *g, bool vain);
struct answer place_of_failing(struct model *m, const struct plain_gang *g); /* as if those in the way gave way */

/* core_order_checks.c */
bool is_checked(const struct model *m, const struct plain_gang *g, const struct given *given); /* would it be, with these flavors? */
void settle_checks(struct model *m);
void answer_checks(struct model *m);
void put_back_checked(struct model *m, struct plain_gang *g);

/* core_order_cycle.c */
bool is_waiting(const struct model *m, const struct plain_gang *g); /* and may be tried */
void note(struct model *m, int gang, int victim_of);
void reference(struct model *m);

/* core_order_random.c */
uint32_t pick(struct model *m, uint32_t n);
void begin(struct model *m);
void change_something(struct model *m); /* before a cycle */
void carry_out(struct model *m);        /* what the API says by then of those that were admitted, and of those that were told to leave */

#endif
