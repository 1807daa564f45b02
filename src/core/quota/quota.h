/* quota.h - the tree of quotas: who may use how much, what they lent and borrowed
 *
 * SHAPE  nodes are queues (leaves) and cohorts; each has one cell per (flavor, resource) that it or something below it names. A queue
 *        without cohort is a root of its own, so the flat cases need no code of their own.
 * UNIT   as in flow.h. Per cell, with S subtree quota, L the part that is not lent, U usage:
 *            S(n) = nominal(n) + sum over children (S(c) - L(c));      L(n) = max(0, S(n) - lending limit), 0 without a limit
 *            U(n) = own usage + sum over children max(0, U(c) - L(c))
 *            available(root) = S - U
 *            available(n) = max(0, L - U) + min(available(parent), (S - L) - max(0, U - L) + borrowing limit)
 *        where a cell is bounded, available is at most bound - U.
 * OWNER  copies names and amounts. Trees are rebuilt lazily after a queue or cohort changed; usage survives the rebuild.
 * LIMIT  LIMIT_COHORT_DEPTH levels; deeper, or a cycle, makes the whole tree broken: nothing in it admits.
 * SOURCE kueue.x-k8s.io hierarchical cohorts.
 */
#ifndef CORE_QUOTA_H
#define CORE_QUOTA_H
#include "core/flow.h"
#include "core/state/id_map.h"

struct quota_cell {
    uint64_t key;              /* flavor << 32 | resource */
    int64_t nominal, borrowing_limit, lending_limit;
    int64_t bound;             /* INT64_MAX: it is not bounded */
    int64_t subtree, kept;     /* S, L */
    int64_t usage;             /* U */
    uint32_t up;               /* cell index in the parent */
};
struct lendable {
    name_id resource;
    int64_t amount;            /* what those below a cohort could have at most, all flavors together */
    int64_t borrowed;          /* scratch */
};
struct share {                 /* share.h */
    int64_t borrowed, lendable; /* of the resource of which that is most; borrowed 0: the share is 0 */
    int64_t weight_nano;
    bool borrows;              /* more than its own of something, though nobody could lend it */
};
struct quota_node {
    name_id name;
    name_id parent_name;       /* 0 = root */
    uint32_t parent, root;     /* node ids; parent 0 = none */
    uint32_t first_child, next_child; /* of a cohort: queues and cohorts below it; 0 = no more */
    uint32_t height;           /* 0 queue, 1 + highest child for cohorts */
    uint32_t depth;            /* steps to the root */
    int64_t weight_nano;       /* of its share (share.h), in 1e-9 */
    uint64_t uses;             /* root: hash of all that is used below it (claim.c); 0 = unknown, an amount has changed since */
    bool is_queue, known, broken;
    bool left;                 /* a cohort whose record has gone, and no record below it has changed since */
    bool is_shared_out;        /* a cohort that stands for a queue with queues below it (deserve.h) */
    bool gained;               /* root: something below was given back or grew since the last look */
    bool helping;              /* root: it had gained when this cycle began */
    bool changed;              /* its record is another one since the tree was built */
    bool is_another;           /* a cohort: the same */
    bool regroups;             /* root: scratch of that */
    bool regrouped;            /* of whose tree, as it was or as it is, that was so; or which is broken since, or no longer */
    bool was_broken;
    bool rose;                 /* root: something below was charged since the last look, which raises somebody's share */
    bool rising;               /* root: it had when this cycle began */
    bool took, taking;         /* root: the same of anything that was let in, where somebody waits for that */
    bool touched;              /* it stands in quota.touched */
    struct side *side;         /* scratch (preempt/fair.c) */
    uint64_t share_of;         /* quota.built when `share` was found, if no usage has changed here since; 0 = unknown */
    struct share share;
    uint64_t lendable_of;      /* cohort: quota.built when `lendable` was found (share.h); 0 = never */
    struct lendable *lendable; /* by resource */
    uint32_t lendable_n;
    struct quota_record *records;
    uint32_t records_n;
    struct quota_cell *cells;  /* sorted by key */
    uint32_t cells_n, cells_cap;
};
struct quota {
    struct quota_node *nodes;  /* id 0 = none */
    uint32_t nodes_n, nodes_cap;
    uint32_t *by_depth;        /* node ids, deepest first */
    struct id_map cohorts, queues;
    bool dirty, gained, rose, regrouped;
    uint64_t built;            /* counts changes of anybody's quota */
    uint64_t rebuilt;          /* counts those that stay: who is below whom may be another, too */
    uint32_t *stirred, *touched; /* roots that gained or rose since the last cycle; queues that use another amount (queue/standing.h) */
    uint32_t stirred_n, stirred_cap, touched_n, touched_cap;
};
#define WEIGHT_ONE 1000000000
void quota_init(struct quota *q);
void quota_fini(struct quota *q);
uint32_t quota_set_queue(struct quota *q, name_id name, name_id cohort, const struct quota_record *records, uint32_t n);
uint32_t quota_set_cohort(struct quota *q, name_id name, name_id parent, const struct quota_record *records, uint32_t n);
void quota_set_weight(struct quota *q, uint32_t node, int64_t weight_nano); /* until its record goes; WEIGHT_ONE unless it is told */
void quota_queue_gone(struct quota *q, name_id name);
void quota_cohort_gone(struct quota *q, name_id name);
void quota_settle(struct quota *q); /* rebuild if something changed; all below need it done */
/* Has a cohort of its tree changed since this was asked last? Where quota.regrouped. */
bool quota_take_regrouped(struct quota *q, uint32_t queue);

/* After quota_settle. Nodes of queues that keep[id] (by node id) does not ask for go, and cohorts that nobody names. keep[id]: the id from
 * now on, 0 = it is gone. */
void quota_drop_unused(struct quota *q, uint32_t *keep);

/* Is there a record for the pair at the queue itself? */
const struct quota_cell *quota_find(const struct quota *q, uint32_t queue, name_id flavor, name_id resource);
bool quota_names(const struct quota *q, uint32_t queue, name_id flavor, name_id resource);
int64_t quota_available(const struct quota *q, uint32_t queue, name_id flavor, name_id resource);
/* What the node could have at most if nothing were used; a cohort also of what nobody below it names: those above it may lend that. */
int64_t quota_potential(const struct quota *q, uint32_t node, name_id flavor, name_id resource);
/* What bounds alone leave, of the queue and of those above it, whatever is free; INT64_MAX: they leave all. */
int64_t quota_left_by_bounds(const struct quota *q, uint32_t queue, name_id flavor, name_id resource);
int64_t quota_least_bound(const struct quota *q, uint32_t queue, name_id flavor, name_id resource);
/* 0: within the queue's own quota; else the height of the smallest subtree that holds the amount on top of what is used. */
uint32_t quota_borrow_level(const struct quota *q, uint32_t queue, name_id flavor, name_id resource, int64_t amount);
/* The smallest subtree that holds the amount on top of what is used is not the whole tree: others may have taken from it. */
bool quota_may_reclaim(const struct quota *q, uint32_t queue, name_id flavor, name_id resource, int64_t amount);
/* Charge (amount > 0) or give back (amount < 0). Exact inverse of each other. */
void quota_add(struct quota *q, uint32_t queue, name_id flavor, name_id resource, int64_t amount);
/* Raise (or, with the amount negated, take back) the nominal quota of one cell of a queue: the tree is as if it had been built so. False:
 * the queue names no such cell, or amounts are so large that it could not be taken back. */
bool quota_raise(struct quota *q, uint32_t queue, name_id flavor, name_id resource, int64_t amount);
/* Something was given back for good: those who wait in this tree may fit now. */
void quota_gain(struct quota *q, uint32_t queue);
/* Somebody was charged: what others may preempt by their share may be more now. */
void quota_rise(struct quota *q, uint32_t queue);
void quota_take(struct quota *q, uint32_t queue); /* somebody was let in */
/* What the queue uses is another amount for good: no search that is taken back. */
void quota_touch(struct quota *q, uint32_t queue);

#endif
