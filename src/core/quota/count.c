#include "core/quota/count.h"

const struct queue_shares count_nothing_else = {0};

/* WHY at least 1: nothing is had for nothing. */
static int64_t in_other_units(const struct counting *c, int64_t value)
{
    const __int128 all = (__int128)value * c->times / (c->per > 0 ? c->per : 1);
    return value <= 0 ? 0 : all < 1 ? 1 : all < NO_END ? (int64_t)all : NO_END;
}

static int64_t asked_for(const struct shape_class *c, name_id resource)
{
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (c->demands[i].resource == resource)
            return c->demands[i].value;
    return 0;
}

/* Those of `by` from x->at on that are counted as one resource, all that the pod asks for. */
static int64_t sum_as_one(struct count *x)
{
    const struct counting *first = &x->by->counts[x->at];
    int64_t sum = 0, part = 0, device = 0;
    for (; x->at < x->by->counts_n && x->by->counts[x->at].as == first->as; x->at++) {
        const struct counting *c = &x->by->counts[x->at];
        int64_t value = in_other_units(c, asked_for(x->shape, c->resource));
        if (c->how == COUNTS_EACH)
            sum = count_plus(sum, value);
        else if (c->how == COUNTS_WITHOUT_PART)
            device = count_plus(device, value);
        else
            part = value > part ? value : part;
    }
    return first->only_kept && !x->keeps_places ? 0 : count_plus(sum, part ? part : device);
}

bool count_replaces(const struct queue_shares *by, name_id resource)
{
    bool any = false;
    for (uint32_t i = 0; i < by->counts_n && !any; i++)
        any = by->counts[i].resource == resource && !by->counts[i].only_kept;
    return any;
}

bool count_next_of_counts(struct count *x, struct amount *ret_counted)
{
    while (x->at < x->by->counts_n) {
        const name_id as = x->by->counts[x->at].as;
        int64_t value = sum_as_one(x);
        *ret_counted = (struct amount){as, value};
        if (value > 0)
            return true;
    }
    while (x->demand < x->shape->demands_n) {
        const struct demand *d = &x->shape->demands[x->demand++];
        *ret_counted = (struct amount){d->resource, d->value};
        if (!count_replaces(x->by, d->resource))
            return true;
    }
    return false;
}

int64_t count_of(const struct state *s, const struct queue *q, bool keeps_places, uint32_t shape, name_id resource)
{
    struct amount one;
    for (struct count x = count_begin(s, q, keeps_places, shape); count_next(&x, &one);)
        if (one.resource == resource)
            return one.value;
    return 0;
}

name_id count_kept_of(const struct queue *q, name_id resource)
{
    for (uint32_t i = 0; i < q->shares.counts_n; i++)
        if (q->shares.counts[i].only_kept && q->shares.counts[i].as == resource)
            return q->shares.counts[i].of;
    return 0;
}

name_id count_as_kept(const struct queue *q, name_id resource)
{
    for (uint32_t i = 0; i < q->shares.counts_n; i++)
        if (q->shares.counts[i].only_kept && q->shares.counts[i].of == resource)
            return q->shares.counts[i].as;
    return 0;
}

bool count_is_same(const struct queue_shares *a, const struct queue_shares *b)
{
    bool same = a->counts_n == b->counts_n;
    for (uint32_t i = 0; i < a->counts_n && same; i++) {
        const struct counting *x = &a->counts[i], *y = &b->counts[i];
        same = x->as == y->as && x->of == y->of && x->resource == y->resource && x->times == y->times && x->per == y->per &&
               x->how == y->how && x->only_kept == y->only_kept;
    }
    return same;
}
