/* bid.h - fair sharing: what a head brings to the cohorts above it, where they choose who is next (queue/tournament.h)
 *
 * ORDER  who does not borrow what he asks for; lower share; priority, age.
 * SOURCE Kueue, order of heads with fair sharing.
 */
#ifndef CORE_BID_H
#define CORE_BID_H
#include "core/state/model.h"

struct contender {
    const struct gang *gang;
    uint32_t node;             /* of the queue; 0: of none */
    uint32_t borrow_level;
    const struct charge *charges; /* what it will use */
    uint32_t charges_n;
};
/* Of a queue or cohort, with the gang started that would be next below it. */
struct bid {
    const struct gang *gang;
    struct share share;
    bool borrows;              /* of what the gang asks for */
};
bool bid_before(const struct bid *a, const struct bid *b); /* of two children of a cohort */
void bid_find(struct state *s, uint32_t node, const struct contender *x, struct bid *ret_bid);

#endif
