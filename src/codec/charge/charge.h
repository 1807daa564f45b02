/* charge.h - what quota counts of a pod's requests: resources of Kueue's Configuration
 *
 *   requests -> without what is excluded -> each input of a rule makes outputs: (amount of input [x amount of `times`]) x factor
 *            -> inputs that are not replaced, plus what all outputs of one name come to (never below zero)
 *
 * Nodes still have to hold the requests themselves.
 *
 * OWNER  texts and arrays belong to whoever read the configuration.
 * SOURCE Kueue, pkg/workload: its order of both, and its rounding up.
 */
#ifndef CODEC_CHARGE_H
#define CODEC_CHARGE_H
#include "base/arena.h"
#include "base/collections/intern.h"
#include "base/quantity.h"
#include "core/flow.h"

struct charge_output {
    const char *resource;
    struct quantity factor;    /* of it, for one unit of the input */
};
struct charge_rule {
    const char *input, *times; /* times: another resource of the pod; NULL = none */
    bool replaces;             /* the input itself is not counted */
    const struct charge_output *outputs;
    uint32_t outputs_n;
};
struct charge_policy {
    const char *const *excluded; /* prefixes of names */
    uint32_t excluded_n;
    const struct charge_rule *rules; /* no two of one input */
    uint32_t rules_n;
    bool ignores_undeclared;     /* what a ClusterQueue has no quota for is not counted; else nobody with it is admitted */
    bool counts_reclaimable;     /* pods that are over for good are counted until their Workload is. SOURCE the gate ReclaimablePods, off */
};

/* Amounts sorted by resource, as the requests are, in `a`. False: quota counts the requests as they are. NULL policy: so it does. */
bool charge_apply(const struct charge_policy *p, struct arena *a, struct intern *names, const struct amount *requests, uint32_t requests_n,
                  const struct amount **ret_charged, uint32_t *ret_n);

#endif
