/* evict.h - pods that are asked to leave through the Eviction API
 *
 *     evict_pod ─▶ wanted ─(one at a time, `every_ms` apart)─▶ asked ─▶ accepted: waited for
 *                                 ▲                              └───▶ refused (a PodDisruptionBudget): again after EVICT_AGAIN_MS
 *                                 └────────────────────────────────────┘
 *
 * SHAPE  a set by namespace and name. Who it is stays fixed at first sight: a successor of the same name (a StatefulSet's) is another pod,
 *        and is not asked; the uid goes with the request.
 * WHY    A pod that is not known here (not on this node any more, or ended) has left.
 * LIMIT  without an API server nobody is asked.
 */
#ifndef AGENT_EVICT_H
#define AGENT_EVICT_H
#include "agent/driver/driver.h"
#include "kube/client.h"

#define EVICT_AGAIN_MS 5000
#define EVICT_TIMEOUT_MS 600000
#define EVICT_ANSWER_MS 30000 /* what waits for evict_wait waits longer, so that it hears who did not leave, and why */

struct evict_config {
    struct loop *loop;
    struct kube_client *kube; /* NULL: nobody is asked */
    int64_t every_ms;         /* between two requests */
    const char *(*uid_of)(void *arg, const char *ns, const char *name); /* of the pod that is here and runs; NULL: there is none */
    void (*tell)(void *arg, const char *ns, const char *name, const char *uid, const char *reason, const char *text);
    void *arg;
};
struct evict;
struct evict *evict_new(const struct evict_config *config);
void evict_free(struct evict *v); /* NULL-safe */
/* A new set: what is not named by evict_pod until the next evict_step is forgotten. */
void evict_begin(struct evict *v);
/* why: for the pod's event, "GPU-... is draining after XID 48". The first text counts. */
void evict_pod(struct evict *v, const char *ns, const char *name, const char *why);
/* Asks who is next; again every second or so. Returns how many are still here. */
uint32_t evict_step(struct evict *v);
/* Steps each second until all have left: done with 0, or after EVICT_TIMEOUT_MS with -E_AGAIN, which pod is still here, and why. Then
 * nobody is wanted any more. One at a time. */
void evict_wait(struct evict *v, driver_done_fn done, void *arg);

#endif
