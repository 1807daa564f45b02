/* explain.h - reason trees as sentences and as JSON text */
#ifndef CORE_EXPLAIN_H
#define CORE_EXPLAIN_H
#include "base/collections/intern.h"
#include "core/explain/reason.h"

const char *explain_kind_of(int64_t source); /* enum gang_source: "Workload", "Pod", "PodGroup", ... */
/* One sentence for conditions and events, Kueue's and kube-scheduler's wording where they have one:
 * "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a100-40gb, 1 more needed" */
void explain_sentence(struct buf *out, const struct reason *r, const struct intern *names);
/* The whole tree, one line a reason, indented, with what would help at the end. */
void explain_tree(struct buf *out, const struct reason *r, const struct intern *names);
/* {"code":"quota-short","queue":..,"flavor":..,"resource":..,"have":..,"need":..,"message":..,"children":[..]}; at most LIMIT_REASON_BYTES
 * (deepest children are left out first, "more":n says how many). */
void explain_json(struct buf *out, const struct reason *r, const struct intern *names);
/* Kueue's QuotaReserved=False reason for the root cause: WaitingForQuota, ExceedsMaxQuota, NoMatchingFlavor, TopologyPlacementFailed,
 * Misconfigured, OnHold, ... */
const char *explain_kueue_reason(const struct reason *r);
/* The sentence that goes with it, word for word as Kueue's clients compare it; where it says less than ours, the tree says the rest. */
void explain_kueue_sentence(struct buf *out, const struct reason *r, const struct intern *names);

#endif
