#include "core/quota/bid.h"
#include "core/queue/gang.h"
#include "core/quota/share.h"

bool bid_before(const struct bid *a, const struct bid *b)
{
    if (a->borrows != b->borrows)
        return b->borrows;
    int r = share_compare(&a->share, &b->share);
    return r ? r < 0 : order_before(a->gang, b->gang);
}

static void charge(struct state *s, const struct contender *x, int sign)
{
    for (uint32_t i = 0; i < x->charges_n && !x->gang->promise; i++) /* a promise counts anyway */
        if (quota_find(&s->quota, x->node, x->charges[i].flavor, x->charges[i].resource))
            quota_add(&s->quota, x->node, x->charges[i].flavor, x->charges[i].resource, sign * x->charges[i].amount);
}

void bid_find(struct state *s, uint32_t node, const struct contender *x, struct bid *ret_bid)
{
    charge(s, x, 1);
    *ret_bid = (struct bid){.gang = x->gang, .share = *share_of(&s->quota, node)};
    for (uint32_t i = 0; i < x->charges_n; i++)
        ret_bid->borrows |= x->charges[i].amount > 0 && share_borrows(&s->quota, node, x->charges[i].flavor, x->charges[i].resource);
    charge(s, x, -1);
}
