/* shares_model.h - the world of core_shares.c, and what is plainly so in it (shares_reference.c) */
#ifndef SHARES_MODEL_H
#define SHARES_MODEL_H
#include <inttypes.h>
#include "../../unit/core/world.h"
#include "base/random.h"

enum { RES_GPU, RES_CPU, RES_N };
enum { NODES = 3, QUEUES = 8, ROOT = 0, GROUPS = 12, PODS = 6, CYCLES_MAX = 60 };
static const char *const resource_names[RES_N] = {"nvidia.com/gpu", "cpu"};
#define UNSAID INT64_MIN

struct m_queue {               /* 0 is the root; a parent has a smaller number, but in a cycle */
    bool exists, keeps;
    int parent, priority;
    int64_t preempt_after_ms, reclaim_after_ms; /* its groups run for so long before they go whole */
    int64_t weight;
    int64_t deserved[RES_N], guarantee[RES_N], capability[RES_N]; /* UNSAID */
    int64_t kept[RES_N];       /* so much at most goes to groups that keep their places, in a world that counts that; UNSAID */
};
struct m_pod {
    bool exists, deleting;
    int serial, node;          /* -1: waits */
    int64_t started_ms;        /* its kubelet took it in; 0: not yet */
};
struct m_group {
    bool exists, keeps, never; /* never: its pods preempt nobody of their queue */
    bool promised;             /* others were told to go for it, and it has not started since: what its fewest need counts as used */
    int serial, queue, min, count, priority;
    int size, least;           /* every `size` of its pods are a subgroup, all of it or nobody, at least so many; 0: it has none */
    bool pairs;                /* every two of these are below one policy that needs both; `least` of such pairs are needed, 0: all */
    int kept_n;                /* places that the core keeps for pods to come in the stead of those that it lost: they count as asked for */
    int had_n;                 /* pods and such places of it when it was told to go: they count as asked for until it starts again */
    int64_t ask[RES_N], created_ms;
    struct m_pod pods[PODS];
};
struct m_node {
    bool exists, ready;
    int64_t room[RES_N];
};
struct model {
    struct world w;
    struct random random;
    struct m_queue queues[QUEUES];
    struct m_group groups[GROUPS];
    struct m_node nodes[NODES];
    uint64_t seed, step;
    int serial;
    bool waits_long;           /* queues say how long their groups run first */
    bool counts;               /* what groups that keep their places have has a bound of its own */
    bool by_turns;             /* groups of one queue and priority grow above their minimum by turns */
    bool preempts;             /* in each queue who has a higher priority may end who has a lower */
    double deserved[QUEUES][RES_N]; /* when the plan was made; who is evicted asks for nothing until his pods are made anew */
    bool kept_shrunk;          /* a bound of those that keep their places has changed, or a group does it now: they may have more */
    bool shrunk;               /* a capability, or what a queue stands under, has changed: usage may be above it */
    bool busy;                 /* evictions are under way, or one was refused: more may be promised than the model knows */
    uint64_t binds_n, evicts_n, members_n, lower_n, shared_n, waits_n;
};

/* ---- what each deserves ---- */

bool has_children(const struct model *m, int i);
bool in_cycle(const struct model *m, int i);
double said(int64_t value, double otherwise);
bool is_guaranteed(const struct model *m, int r);
double guaranteed(const struct model *m, int i, int r); /* to it, or to those below it through it */
bool is_free(const struct model *m, int i, int r);      /* nothing bounds what it deserves */
double deserved(const struct model *m, int i, int r);

/* ---- who has what ---- */

int64_t used(const struct model *m, int i, int r);      /* by it and those below it */
int64_t used_and_kept(const struct model *m, int i, int r); /* of that by groups that keep their places */
int64_t promised(const struct model *m, int i, int r);  /* to groups of it and of those below it; and kept by them */
int staying_n(const struct m_group *g);                /* its pods that stand, and stay */
/* grown: as many members of each as got a place just now. One that should not have, since another one like it is smaller; -1: none */
int out_of_turn(const struct model *m, const int grown[GROUPS]);
int fewest_n(const struct m_group *g);                 /* so many have to start; more than it has: it never does */
/* Plainly enough: they give back at least as much quota as p's fewest need, and these have room on nodes then. WHY  then usage does not
 * rise anywhere above both; in the queue itself p stays within what it deserves, or takes what its own queue gives back. */
bool members_are_enough(const struct model *m, const struct m_group *p);

#endif
