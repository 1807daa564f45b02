/* lws_plan.c - see lws_plan.h */
#include "jobs/kubeflow/lws_plan.h"

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t at_least(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_done(const struct lws_group *g)
{
    return g->ready && g->updated;
}

/* Of those that stay, how many are not ready with the new template. */
static int64_t undone_n(const struct lws_rollout *r)
{
    int64_t n = 0;
    for (int64_t i = 0; i < r->replicas; i++)
        n += i >= r->now || !is_done(&r->groups[i]);
    return n;
}

/* More groups than it is to have, as long as more are undone than may be missing. */
static int64_t replicas_for(const struct lws_rollout *r, int64_t surge, int64_t undone)
{
    return undone > surge ? r->replicas + surge : r->replicas + at_least(undone - r->most_unavailable, 0);
}

/* So many at once as may be missing, counted from the last that is not done; those below that are not ready are missing, too, unless they
 * are the next ones. It never rises. */
static int64_t partition_of(const struct lws_rollout *r, int64_t step)
{
    int64_t done = 0, missing = 0;
    while (done < r->now && is_done(&r->groups[r->now - 1 - done]))
        done++;
    int64_t lowest = at_least(r->now - done - step, 0);
    for (int64_t i = 0; i < lowest; i++)
        missing += !r->groups[i].ready;
    int64_t at = lowest + missing;
    for (int64_t i = least_of(at, r->now - 1); i >= lowest && i >= 0 && (!r->groups[i].ready || r->groups[i].updated); i--)
        at = i;
    return least_of(at, r->partition);
}

void lws_plan(const struct lws_rollout *r, int64_t *ret_partition, int64_t *ret_replicas)
{
    int64_t surge = least_of(r->most_surge, r->replicas), partition = r->partition, replicas = r->replicas;
    if (!r->is_there) {
        partition = 0;
    } else if (r->is_new) {
        partition = least_of(r->replicas, r->now);
        replicas = r->now < r->replicas ? r->replicas : replicas_for(r, surge, r->replicas);
    } else if ((partition == 0 && r->now == r->replicas) || r->now < r->replicas) {
        replicas = r->replicas; /* at rest, or it grows first */
    } else if (r->asked != r->replicas) {
        partition = least_of(partition, r->replicas + surge);
        replicas = replicas_for(r, surge, undone_n(r));
    } else {
        partition = partition_of(r, r->most_unavailable + surge - (r->replicas + surge - r->now));
        replicas = replicas_for(r, surge, undone_n(r));
    }
    *ret_partition = at_least(partition, r->least);
    *ret_replicas = replicas;
}
