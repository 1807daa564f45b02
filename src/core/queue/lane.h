/* lane.h - the lines of a queue in their order: lanes by what their LocalQueues have used, in each lane lines by their first gang
 *
 * SHAPE  queue->ready and queue->blocked are heaps of lanes, each lane has a heap of lines for both. A queue whose LocalQueues do not share
 *        by what they have used has one lane.
 * COST   a line in or out: O(log lanes + log lines of the lane). A LocalQueue that has used more: O(log lanes), however many lines it has.
 */
#ifndef CORE_LANE_H
#define CORE_LANE_H
#include "core/state/model.h"

void lane_queue_init(struct queue *q);
void lane_queue_fini(struct queue *q); /* its lines, should there be any, are in no lane then: the whole state ends */
/* A new line of the gang's LocalQueue takes its lane; the lane ends with its last line. */
void lane_join(struct state *s, struct line *l, const struct gang *g);
void lane_leave(struct state *s, struct line *l);

/* In the lane's heap of lines to try, or of blocked ones. Out of either; its first gang is another one. */
void lane_add(struct line *l, bool blocked);
void lane_remove(struct line *l);
void lane_moved(struct line *l);
void lane_set_used(struct queue_lane *n, const struct used *used);

struct line *lane_first_ready(const struct queue *q); /* NULL: there is none */
struct line *lane_first_blocked(const struct queue *q);
/* All of them, lane by lane, in no order: begin with two times 0; NULL: no more. */
struct line *lane_next_ready(const struct queue *q, size_t *lane, size_t *at);

int used_compare(const struct used *a, const struct used *b);
struct gang *line_first(const struct line *l);
bool line_before(const void *line_a, const void *line_b); /* by their first gangs */
bool lane_line_before(const struct line *a, const struct line *b); /* of one queue */

#endif
