/* kai_queue_source.h - KAI's Queues come in, the core gets the queues that they make, and their status says what they have
 *
 * SHAPE  whatever changes, a Queue, how much all nodes have or what pods ask for, all of them are dealt out anew
 *        (codec/queues/kai_queues.h); the core is told of those that came out differently.
 * ORDER  followed before other changes go to the core: a group that names a new Queue never starts outside of it; and after them: nodes
 *        that came are dealt out before anything is decided.
 * WRITES of each Queue its childQueues, and what is allocated to it and those below it.
 */
#ifndef SCHED_KAI_QUEUE_SOURCE_H
#define SCHED_KAI_QUEUE_SOURCE_H
#include "codec/queues/kai_queues.h"
#include "core/state/state.h"
#include "kube/client.h"
#include "loop/loop.h"

struct kai_queue_source;
struct kai_queue_config {
    const struct decoder *decoder;
    const struct state *state;
    bool writes;                                                /* false: KAI's own queue controller writes the status */
    const bool *leading;                                        /* nothing is written while it is false */
    const bool *decides;                                        /* while it is false, what pods ask for is added up at each change */
    struct loop *loop;
    /* Calls add for what the pods that are not over ask for, as `by` counts it, by the Queue that their group names; some may be none. */
    void (*sum_asked)(void *arg, const struct queue_shares *by,
                      void (*add)(void *to, const char *queue, name_id resource, int64_t value), void *to);
    void (*apply)(void *arg, const struct change *c);           /* the core takes it in, now */
    void (*on_change)(void *arg);                               /* follow is to be called soon */
    void (*on_names)(void *arg);                                /* from within follow: Queues of other names are there than before */
    void (*on_synced)(void *arg);
    void *arg;
};
struct kai_queue_source *kai_queue_source_new(struct kube_client *c, const struct kai_queue_config *config);
void kai_queue_source_free(struct kai_queue_source *x); /* NULL-safe */
bool kai_queue_source_synced(const struct kai_queue_source *x);
void kai_queue_source_follow(struct kai_queue_source *x);
void kai_queue_source_asked(struct kai_queue_source *x); /* pods, or their groups, are others: follow looks at what they ask for */
bool kai_queue_source_has(const struct kai_queue_source *x, const char *name); /* name NULL: any */
bool kai_queue_source_has_below(const struct kai_queue_source *x, const char *name); /* it is above others */
/* Each Queue there is: key "/name", and the object. at: from 0. False: there are no more. */
bool kai_queue_source_next(const struct kai_queue_source *x, size_t *at, struct bytes *ret_key, struct bytes *ret_object);
/* What is allocated to it may be another amount; no-op where there is no such Queue. */
void kai_queue_source_used(struct kai_queue_source *x, const char *name);
void kai_queue_source_led(struct kai_queue_source *x); /* the scheduler leads now: what the status of all has to say is looked at */

#endif
