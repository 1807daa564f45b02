/* group_tally.c - a map of groups, each with its place in the sums of its queue
 *
 * OWNER  a queue's sums stand by themselves, so that groups can point to them; they go with the last group.
 */
#include "sched/figures/group_tally.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"

struct sums {
    struct group_counts counts;
    uint64_t groups_n, room;
    char *queue;
};
struct group {
    struct sums *in;
    int64_t *phase; /* which of its counts */
};
struct group_tally {
    struct map *groups; /* "ns/name" -> struct group */
    struct map *queues; /* name -> struct sums * */
    char *left;         /* what was told last */
};

static int64_t *count_of(struct group_counts *c, const char *phase)
{
    if (text_equal(phase, "Inqueue"))
        return &c->inqueue_n;
    if (text_equal(phase, "Running"))
        return &c->running_n;
    if (text_equal(phase, "Unknown"))
        return &c->unknown_n;
    if (text_equal(phase, "Completed"))
        return &c->completed_n;
    return &c->pending_n;
}

static struct sums *sums_of(struct group_tally *t, const char *queue)
{
    struct sums **slot = map_put(t->queues, bytes_of(queue), NULL);
    if (!*slot) {
        *slot = mem_zero(1, sizeof **slot);
        (*slot)->queue = mem_text(queue);
    }
    return *slot;
}

static void sums_free(struct sums *s)
{
    free(s->queue);
    free(s);
}

static void leave(struct group_tally *t, struct group *g)
{
    free(t->left);
    t->left = mem_text(g->in ? g->in->queue : "");
    if (!g->in)
        return;
    --*g->phase;
    if (--g->in->groups_n > 0)
        return;
    (void)map_remove(t->queues, bytes_of(t->left)); /* its last group has left it */
    sums_free(g->in);
    g->in = NULL;
}

struct group_tally *group_tally_new(void)
{
    struct group_tally *t = mem_zero(1, sizeof *t);
    t->groups = map_new(sizeof(struct group));
    t->queues = map_new(sizeof(struct sums *));
    return t;
}

void group_tally_free(struct group_tally *t)
{
    struct bytes key;
    struct sums **s;
    if (!t)
        return;
    for (size_t at = 0; (s = map_next(t->queues, &at, &key));)
        sums_free(*s);
    map_free(t->queues);
    map_free(t->groups);
    free(t->left);
    free(t);
}

bool group_tally_put(struct group_tally *t, const char *key, const char *queue, const char *phase, const char **ret_left)
{
    struct group *g = map_put(t->groups, bytes_of(key), NULL);
    if (g->in && text_equal(g->in->queue, queue) && count_of(&g->in->counts, phase) == g->phase)
        return false;
    leave(t, g);
    g->in = sums_of(t, queue);
    g->phase = count_of(&g->in->counts, phase);
    ++*g->phase;
    g->in->groups_n++;
    *ret_left = t->left;
    return true;
}

const char *group_tally_queue(const struct group_tally *t, const char *key)
{
    const struct group *g = map_find_text(t->groups, key);
    return g && g->in ? g->in->queue : NULL;
}

const char *group_tally_remove(struct group_tally *t, const char *key)
{
    struct group *g = map_find_text(t->groups, key);
    if (!g)
        return "";
    leave(t, g);
    (void)map_remove(t->groups, bytes_of(key)); /* just found */
    return t->left;
}

struct group_counts group_tally_of(const struct group_tally *t, const char *queue)
{
    struct sums **s = map_find_text(t->queues, queue);
    return s ? (*s)->counts : (struct group_counts){0};
}

uint64_t *group_tally_room(struct group_tally *t, const char *queue)
{
    struct sums **s = map_find_text(t->queues, queue);
    return s ? &(*s)->room : NULL;
}
