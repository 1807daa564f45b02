/* preview.h - would this start now? Asked of a copy of the scheduler, before anything is created
 *
 *   everything that the scheduler watches ──read once──▶ its state + what is not there yet ──decide──▶ starts, waits and why
 *
 * Nothing is written: the copy never leads, and the client is halted meanwhile. It decides as the scheduler would that reads the same,
 * with the same queues, and whoever waits before the new one is served first.
 */
#ifndef SCHED_PREVIEW_H
#define SCHED_PREVIEW_H
#include "core/policy.h"
#include "kube/client.h"

struct charge_policy;
enum preview_verdict {
    PREVIEW_STARTS,  /* quota and places are there */
    PREVIEW_CHECKED, /* quota is there; then its queue's admission checks have a word */
    PREVIEW_WAITS,
    PREVIEW_NEVER,   /* and whatever ends, that stays so */
    PREVIEW_UNKNOWN, /* no answer in time, or too many before it */
};
struct preview {
    enum preview_verdict verdict;
    const char *message;       /* why not, one sentence; NULL it starts */
    const struct json *reason; /* the tree, as capstan why prints it; NULL it starts */
    int32_t position;          /* in its queue, 0 the first; -1 in none */
    int64_t start_ms;          /* it waits: about when it starts; 0: not known */
    uint8_t start_basis;       /* bits of enum end_basis (core/time/forecast.h) */
};
/* `objects`: a Workload, or a PodGroup of coscheduling and its pods, or a pod; with name, namespace, uid and creationTimestamp. Runs the
 * loop for timeout_ms at most. -E_AGAIN: not everything was read until then. -E_INVALID: an object cannot be decoded. */
int preview_run(struct loop *l, struct kube_client *c, const struct policy *policy, const struct charge_policy *charge,
                const struct json *objects, int64_t timeout_ms, struct arena *a, struct preview *ret_preview, struct err *e);

#endif
