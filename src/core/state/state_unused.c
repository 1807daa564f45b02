/* state_unused.c - see state_unused.h
 *
 * What has changed since the last cycle stays until somebody has looked at the change.
 */
#include "core/state/state_unused.h"
#include "core/queue/gang.h"
#include "core/queue/lane.h"
#include <assert.h>
#include "base/memory.h"

/* ---- local queues: gangs that count in one name it by its index ---- */

static bool counts_any(const struct counts *c)
{
    return c->pending_n || c->reserving_n || c->admitted_n;
}

static void drop_local_queues(struct state *s)
{
    uint32_t kept_n = 1, *to = mem_zero(s->local_queues_n, sizeof *to);
    for (uint32_t i = 1; i < s->local_queues_n; i++) {
        const struct local_queue *l = &s->local_queues[i];
        if (!l->known && !l->changed && !counts_any(&l->counts)) {
            free(l->consumption.rows); /* nobody is counted in them */
            id_map_remove(&s->local_queue_by_key, l->key);
            continue;
        }
        to[i] = kept_n;
        id_map_put(&s->local_queue_by_key, l->key, kept_n);
        s->local_queues[kept_n++] = *l;
    }
    s->local_queues_n = kept_n;
    for (uint32_t i = 0; i < s->gangs_n; i++) /* who counts as nothing gets another one when that changes */
        if (s->gangs[i]->own->counted_local)
            gang_own(s->gangs[i])->counted_local = to[s->gangs[i]->own->counted_local];
    free(to);
}

/* ---- namespaces, flavors: found by name only ---- */

static void drop_namespaces(struct state *s)
{
    uint32_t kept_n = 1;
    for (uint32_t i = 1; i < s->namespaces_n; i++) {
        struct name_space ns = s->namespaces[i];
        if (!ns.labels.n && !ns.changed) { /* as good as one that is not there */
            free((void *)ns.labels.all);
            id_map_remove(&s->namespace_by_name, ns.name);
            continue;
        }
        id_map_put(&s->namespace_by_name, ns.name, kept_n);
        s->namespaces[kept_n++] = ns;
    }
    s->namespaces_n = kept_n;
}

static void drop_flavors(struct state *s)
{
    uint32_t kept_n = 1;
    for (uint32_t i = 1; i < s->flavors_n; i++) {
        struct flavor f = s->flavors[i];
        if (!f.known && !f.changed) {
            free(f.block);
            id_map_remove(&s->flavor_by_name, f.name);
            continue;
        }
        id_map_put(&s->flavor_by_name, f.name, kept_n);
        s->flavors[kept_n++] = f;
    }
    s->flavors_n = kept_n;
}

/* Slots stay where they are: views name them. */
static void drop_topologies(struct state *s)
{
    for (uint32_t i = 1; i < s->topologies_n; i++) {
        struct topology *t = &s->topologies[i];
        if (!t->name || t->known)
            continue;
        id_map_remove(&s->topology_by_name, t->name);
        topology_free(t);
    }
}

/* ---- queues: lines, local queues and gangs point to them ---- */

static void find_used(struct state *s)
{
    size_t at = 0;
    struct bytes key;
    struct line **slot;
    for (uint32_t i = 0; i < s->queues_n; i++) {
        struct queue *q = s->queues[i];
        q->used = i == 0 || q->known || q->changed || q->charged_n || q->ready.n || q->blocked.n;
    }
    while ((slot = map_next(s->lines, &at, &key)))
        (*slot)->queue->used = true;
    for (uint32_t i = 1; i < s->local_queues_n; i++)
        if (s->local_queues[i].counted)
            s->local_queues[i].counted->used = true;
    for (uint32_t i = 0; i < s->gangs_n; i++)
        if (s->gangs[i]->own->counted_queue)
            s->gangs[i]->own->counted_queue->used = true;
}

void queue_free(struct queue *q)
{
    lane_queue_fini(q);
    free(q->block);
    free(q->dealt);
    free(q->charged);
    free(q->lines);
    free(q);
}

static void drop_queues(struct state *s)
{
    uint32_t kept_n = 0;
    find_used(s);
    for (uint32_t i = 0; i < s->queues_n; i++) {
        struct queue *q = s->queues[i];
        if (!q->used) {
            s->strict_n -= q->strategy == QUEUE_STRICT_FIFO;
            s->backfills_n -= q->backfill != BACKFILL_NONE;
            s->placements_n -= q->placement.own;
            id_map_remove(&s->queue_by_name, q->name);
            queue_free(q);
            continue;
        }
        if (q->name)
            id_map_put(&s->queue_by_name, q->name, kept_n);
        s->queues[kept_n++] = q;
    }
    s->queues_n = kept_n;
}

static void drop_quota(struct state *s)
{
    quota_settle(&s->quota); /* which makes cohorts that were only named so far */
    uint32_t *to = mem_zero(s->quota.nodes_n, sizeof *to);
    for (uint32_t i = 0; i < s->queues_n; i++)
        to[s->queues[i]->quota] = 1;
    quota_drop_unused(&s->quota, to);
    for (uint32_t i = 0; i < s->queues_n; i++)
        s->queues[i]->quota = to[s->queues[i]->quota];
    free(to);
}

void state_drop_unused(struct state *s)
{
    assert(s->undo.n == 0);
    drop_local_queues(s);
    drop_namespaces(s);
    drop_flavors(s);
    drop_topologies(s);
    drop_queues(s);
    drop_quota(s);
}
