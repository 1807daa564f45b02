/* run.h - a scenario played on a cluster on virtual time
 *
 *     scenario ──steps, each at its time──▶ virtual_cluster ──watches──▶ timeline
 *                                                └──▶ expect: is it so? ──▶ fact met, or unmet
 *
 * ORDER  a step comes after all that is due at its time; what it expects is looked at then. The same scenario gives the same timeline to
 *        the bit.
 */
#ifndef SIM_RUN_RUN_H
#define SIM_RUN_RUN_H
#include "sim/run/scenario.h"
#include "sim/run/timeline.h"
#include "sim/run/virtual_cluster.h"

#define RUN_AFTER_MS (24 * 3600000ll) /* without `until`: so long after the last step it ends, over or not */
struct run_result {
    int64_t end_ms;
    uint32_t met_n, unmet_n; /* expectations */
    bool all_over;           /* no job waits or runs at the end */
};
/* How it is with a job by now. */
enum scenario_state run_job_state(const struct timeline_job *j);
/* t: told and told_arg may be set. -E_INVALID: a step that cannot be done (file, line and column are said). */
int run_scenario(const struct scenario *s, const struct virtual_cluster_config *config, struct timeline *t, struct run_result *ret_result,
                 struct err *e);

#endif
