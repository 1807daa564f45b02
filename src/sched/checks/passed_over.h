/* passed_over.h - flavors that a Workload leaves out for a while, since no machine of them came (docs/design/0025-machines.md)
 *
 *   condition capstan.dev/PassedOver: {"until":"2026-01-31T12:00:00Z","flavors":{"spot":{"karpenter.sh/nodepool":"spot"}},
 *                                   "domains":{"topology.kubernetes.io/zone":["a"]}}      no machine came there of the flavor that is tried
 *
 * Read again by codec/decode/decode_checks.c. Pure: JSON in, JSON out, times are arguments.
 */
#ifndef SCHED_CHECKS_PASSED_OVER_H
#define SCHED_CHECKS_PASSED_OVER_H
#include "sched/checks/queue_checks.h"

struct passed_over {
    const struct json *workload, *queue; /* its ClusterQueue; NULL: not known */
    const char *check;                   /* of whose flavors no machines came */
    check_finder *flavor;                /* finds ResourceFlavors */
    void *ctx;
    int64_t until_ms;
};
/* What the condition says when the flavors that it was given are passed over, too; NULL: no other is left to be tried, and none is passed
 * over any more. */
struct json *passed_over_more(struct arena *a, const struct passed_over *x);
int64_t passed_over_until_ms(struct arena *a, const struct json *workload); /* 0: it passes over none */
/* Domains whose machines did not come, of the flavors that are tried now: values of the label `key`. NULL: none. */
const struct json *passed_over_domains(struct arena *a, const struct json *workload, const char *key);
/* What the condition says when this one did not, too. */
struct json *passed_over_domain(struct arena *a, const struct json *workload, const char *key, const char *value, int64_t until_ms);
/* SENTENCE, and which flavors are left out until when. */
const char *passed_over_told(struct arena *a, const struct json *workload, const char *sentence);

#endif
