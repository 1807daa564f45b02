/* evict.h - pods that are asked to leave through the Eviction API
 *
 *     evict_pod ─▶ wanted ─(one at a time, `every_ms` apart)─▶ asked ─▶ accepted: waited for
 *                                 ▲                              └───▶ refused (a PodDisruptionBudget): again after EVICT_AGAIN_MS
 *                                 └────────────────────────────────────┘
 *
 * SHAPE  a set by namespace and name. Who it is stays fixed at first sight: a successor of the same name (a StatefulSet's) is another pod,
 *        and is not asked; the uid goes with the request.
 * WHY    A pod that the agent does not know (not on this node any more, or ended) has left.
 * LIMIT  without an API server nobody is asked.
 */
#ifndef AGENT_EVICT_H
#define AGENT_EVICT_H
#include <stdint.h>
#include "base/err.h"

#define EVICT_AGAIN_MS 5000

struct agent;
struct evict;
struct evict *evict_new(struct agent *a, int64_t every_ms);
void evict_free(struct evict *v); /* NULL-safe */
/* A new set: what is not named by evict_pod until the next evict_step is forgotten. */
void evict_begin(struct evict *v);
/* why: for the pod's event, "GPU-... is draining after XID 48". The first text counts. */
void evict_pod(struct evict *v, const char *ns, const char *name, const char *why);
/* Asks who is next; again every second or so. Returns how many are still here. */
uint32_t evict_step(struct evict *v);
/* -E_AGAIN and which pod is still here, and why; 0 when none is. */
int evict_left(const struct evict *v, struct err *e);

#endif
