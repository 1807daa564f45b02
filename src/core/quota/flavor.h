/* flavor.h - which flavor each pod set gets for each resource group, all pod sets together
 *
 * ORDER  flavors in the order of the group. One that fits within own quota ends the search; one that must borrow ends it too when the queue
 *        says so (whenCanBorrow = MayStopSearch), else the lowest borrowing level wins. A flavor that nodes refused (flavor_refuse) is left
 *        out of the next search. With an oracle: what fits is better than what others give back, and that than what the own queue must
 *        end; only then the level counts. With preference = PreemptionOverBorrowing the level counts first. Of several resources of one
 *        flavor the worst counts.
 *        Sets of a group (podset-group-name) take flavors together: as if the first of them asked for what all do.
 *        The set that nodes refused moves first; when it has no flavor left, and without the others it would have had room, all
 *        combinations are gone through in turn.
 *        When a later set finds no quota, the sets before it look on from where they stopped, and all are asked again. It may find some
 *        once others have taken what comes first for a set before it: then `park` waits for that, too.
 * LIMIT  64 flavors a group (a bit each), as Kueue has it.
 * SOURCE Kueue flavor assignment and fungibility.
 */
#ifndef CORE_FLAVOR_H
#define CORE_FLAVOR_H
#include "base/arena.h"
#include "core/state/model.h"

struct flavor_demand {
    name_id name;             /* of the pod set */
    uint32_t shape;           /* with the requests that quota counts */
    int64_t count;
    const struct topology_request *topology; /* NULL: it asks for none */
    uint32_t requests;        /* shape with what its pods ask for; 0: shape */
    bool keeps_places;        /* as its gang does: some queues count that (quota/count.h) */
};
/* How quota allows it: as it stands; when others give back what they borrowed; when some of the own queue go, too; when somebody goes whom
 * nobody knows of yet; not at all. */
enum quota_mode { QUOTA_FITS, QUOTA_RECLAIMS, QUOTA_PREEMPTS, QUOTA_NOBODY, QUOTA_NOT };
struct flavor_oracle {        /* would preemption make room for that much, and at which borrowing level? */
    enum quota_mode (*ask)(void *arg, name_id flavor, name_id resource, int64_t amount, uint32_t *ret_level);
    void *arg;
    const struct promise *promised; /* others leave for so much already; NULL: nobody does */
};
struct flavor_search {
    const struct queue *queue;
    const struct flavor_demand *sets;
    uint32_t sets_n;
    bool topologies_only;     /* all flavors of the queue have one: who asks for none stands in domains, too */
    uint64_t *refused;        /* [set * groups_n + group]: flavors that nodes refused */
    int8_t *chosen;           /* same index: flavor, -1 none */
    int8_t *start, *stopped;  /* same index: first flavor to look at; where the look ended before the last flavor, -1 else */
    uint32_t resumed_n;
    struct flavor_choice *choices; /* out: one per set and resource, by set, then as the shape lists resources */
    uint32_t choices_n;
    struct charge *charges;   /* out: the sum per flavor and resource */
    uint32_t charges_n;
    uint32_t borrow_level;
    uint32_t tries_n;
    bool others_matter;       /* a set that nodes refused would have had room, had the others not stood there */
    bool exhaustive;          /* all combinations in turn, since moving the set that nodes refused was not enough */
    struct parking *park;     /* gets what quota would have to be available (NULL: nobody asks) */
    struct flavor_oracle oracle; /* ask NULL: only what fits */
    bool preempts;            /* out: some of it does not fit as it stands */
    bool others_give_way;     /* ask what would be had if gangs that stand in the way ended: own nominal quota counts as free */
};
/* Others may go for a gang of this queue in one flavor though it fits in another one: an oracle is asked at once. */
bool flavor_preempts_first(const struct queue *q);
void flavor_search_begin(const struct state *s, struct flavor_search *f, const struct queue *q, const struct flavor_demand *sets,
                         uint32_t sets_n, struct arena *a);
/* Next assignment that quota allows. False: none; what was in the way is added to `why`. */
bool flavor_search_next(struct state *s, struct flavor_search *f, struct arena *a, struct reason *why);
uint32_t flavor_chooser(const struct flavor_search *f, uint32_t set); /* the set whose flavors it has: of a group its first */
/* Nodes could not hold this set under the flavors found; `alone`: nor would they if it were the only one. False: nothing is left to try. */
bool flavor_refuse(struct flavor_search *f, uint32_t set, bool alone);

#endif
