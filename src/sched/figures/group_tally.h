/* group_tally.h - how many Volcano PodGroups of each queue stand in each phase, counted as they change
 *
 * WHY    a queue's status says it, and is written far more often than there are queues: counting anew would read every group.
 */
#ifndef SCHED_GROUP_TALLY_H
#define SCHED_GROUP_TALLY_H
#include <stdbool.h>
#include <stdint.h>

struct group_counts {
    int64_t pending_n, inqueue_n, running_n, unknown_n, completed_n;
};

struct group_tally;
struct group_tally *group_tally_new(void);
void group_tally_free(struct group_tally *t); /* NULL-safe */
/* From now on the PodGroup "ns/name" is of this queue and in this phase. Returns false when it was already. *ret_left: the queue it was in
 * until now, "" = it is new; good until the next call. */
bool group_tally_put(struct group_tally *t, const char *key, const char *queue, const char *phase, const char **ret_left);
/* The queue that it is in; NULL: it is not known. Good until it leaves it. */
const char *group_tally_queue(const struct group_tally *t, const char *key);
/* It is gone. Returns the queue that it was in, "" = it was not known; good until the next call. */
const char *group_tally_remove(struct group_tally *t, const char *key);
struct group_counts group_tally_of(const struct group_tally *t, const char *queue);
/* A number that the caller keeps with the queue as long as it has groups, 0 at first; NULL: it has none. */
uint64_t *group_tally_room(struct group_tally *t, const char *queue);

#endif
