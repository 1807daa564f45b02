/* charged.h - what quota counts by the Configuration's resources.transformations and exclusions, in queue q6 and beside it
 *
 * Of four seeds one counts what pods ask for; the others count GPUs as credits, too; memory as credits instead; GPUs times CPUs as credits.
 */
#ifndef CHAOS_CHARGED_H
#define CHAOS_CHARGED_H
#include "codec/charge/charge.h"
#include "world.h"

struct charged;
const struct charge_policy *charged_policy(uint64_t seed); /* NULL: none */
/* ClusterQueue "q6", alone, with quota for credits; LocalQueue "team6". */
const char *charged_seed(int at); /* objects, one after the other; NULL: no more */
/* A mirror of the Workloads: at none of their changes q6 holds more credits than its quota has been of late, nor q3, whose quota is always
 * the same, more GPUs. */
struct charged *charged_new(struct world *w);
void charged_free(struct charged *c);
void charged_create(struct world *w, int jobs_n); /* a job in team6 that asks for memory, too */
void charged_change(struct world *w); /* the quota of q6 */
/* What each Workload with quota says that it uses is what its pods ask for, by the rules. */
bool charged_check(struct world *w);
/* Workloads that took credits; how often three quarters of all were taken then. */
struct charged_counts {
    uint64_t admitted_n, full_n;
};
struct charged_counts charged_counts(const struct charged *c);

#endif
