/* what_if.h - who would start when, if this were there too: a job, a node, another quota
 *
 *   cluster ──read once──▶ a copy of the process: starts as things are ─┐
 *                    └──▶ with the objects: starts then ────────────────┴─▶ rows
 *
 * Nothing is written (look.h). What starts.h does not know of is not known here.
 */
#ifndef SCHED_WHAT_IF_H
#define SCHED_WHAT_IF_H
#include "core/time/forecast.h"
#include "kube/client.h"
#include "wire/json.h"

struct charge_policy;
struct policy;
struct what_if_start {
    int64_t ms;    /* wall time; as of then: at once; 0: not known */
    uint8_t basis; /* bits of enum end_basis */
    bool waits;    /* it holds no place when it is asked */
};
struct what_if_row { /* of a gang that waits, one way or the other */
    const char *key; /* as in gang_record */
    bool is_new;     /* of the objects */
    struct what_if_start before, after;
};
struct what_if {
    struct what_if_row *rows; /* in the order of starts after the change, those not known last */
    uint32_t rows_n;
    int64_t now_ms;
};
/* objects: as look.h takes them, an array. Runs the loop for timeout_ms at most to read. -E_AGAIN: not everything was read until then.
 * -E_INVALID: an object cannot be decoded. -E_IO: no copy could be made. In the arena. */
int what_if_run(struct loop *l, struct kube_client *c, const struct policy *policy, const struct charge_policy *charge,
                const struct json *objects, int64_t timeout_ms, struct arena *a, struct what_if *ret, struct err *e);

#endif
