/* state.h - what the core knows: nodes, devices, queues, gangs, pods; changed only by state_apply and by committed decisions */
#ifndef CORE_STATE_H
#define CORE_STATE_H
#include "base/arena.h"
#include "base/intern.h"
#include "core/flow.h"

struct state;
struct state *state_new(void);
void state_free(struct state *s);
struct intern *state_names(struct state *s); /* codecs intern here */

/* Take a change in. Never fails: contradictions (a pod on an unknown node, a cohort cycle) are kept and shown in reasons. Copies the record. */
void state_apply(struct state *s, const struct change *c);

/* Look (sched writes these to the API; cli and tests print them). */
struct queue_usage {
    name_id flavor, resource;
    int64_t nominal, reserved, borrowed, used; /* reserved: admitted gangs; used: the same minus finished members */
};
struct queue_counts {
    int32_t pending_n, reserving_n, admitted_n;
};
bool state_queue_counts(const struct state *s, name_id queue, struct queue_counts *ret_counts);
bool state_local_queue_counts(const struct state *s, name_id local_queue, struct queue_counts *ret_counts);
/* Rows in resource-group order; in the arena. */
uint32_t state_queue_usage(const struct state *s, name_id queue, struct arena *a, struct queue_usage **ret_rows);
uint32_t state_local_queue_usage(const struct state *s, name_id local_queue, struct arena *a, struct queue_usage **ret_rows);
/* Is the queue able to admit? 0, or a reason (QUEUE_INACTIVE / QUEUE_STOPPED ...) in the arena. */
const struct reason *state_queue_problem(const struct state *s, name_id queue, struct arena *a);

enum gang_phase { GANG_UNKNOWN, GANG_PENDING, GANG_ADMITTED, GANG_BOUND, GANG_FINISHED };
enum gang_phase state_gang_phase(const struct state *s, name_id gang);
/* The last reason tree of a pending gang (owned by the state until the gang changes), or NULL. */
const struct reason *state_gang_reason(const struct state *s, name_id gang);
/* Position in its queue, 0 = first; -1 when not pending. */
int32_t state_gang_position(const struct state *s, name_id gang);

/* What an agent last measured of the node's devices, and how old that is; 0: nothing, or older than FEEDBACK_PERIODS. The state's own,
 * until the node changes. No decision reads it yet. */
uint32_t state_node_feedback(const struct state *s, name_id node, int64_t now_ms, const struct device_feedback **ret_feedback,
                             int64_t *ret_age_ms);

/* Everything that must always hold, checked the slow, obvious way: node use = sum of pods and reservations, no device twice, queue usage
 * = sum of admitted gangs, usage within what the tree allows, no gang partly placed. Returns false and a sentence. Tests and soak call it each step. */
bool state_check(const struct state *s, struct err *e);
/* 64-bit digest of all that influences decisions: equal states have equal digests on every machine. */
uint64_t state_digest(const struct state *s);

#endif
