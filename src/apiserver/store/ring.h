/* ring.h - the latest changes of one kind, for watchers and for lists at an older version
 *
 * SHAPE  events first_seq .. next_seq - 1 are kept, at seq % cap; cap doubles up to LIMIT_WATCH_RING.
 * LIMIT  what rings keep alive beyond the objects themselves is counted in one budget for all kinds: the largest ring gives first. Old
 *        events go with time, as after the compaction of a cluster's etcd.
 * OWNER  an event holds one reference to each body and to its key, which entry, pending change and events share.
 */
#ifndef APISERVER_RING_H
#define APISERVER_RING_H
#include "apiserver/store/store.h"

#define RING_BYTES_MAX (12u << 20) /* of all rings: 4,000 changes of pods */
#define RING_EVENTS_MIN 1024       /* kept of a kind even when all are larger than that ... */
#define RING_BYTES_HARD (64u << 20) /* ... up to here: objects may have 3 MiB */
#define RING_LARGE_MIN 32          /* kept of a kind in any case */
#define RING_AGE_MS 300000         /* what is older goes */
#define RING_AGED_MIN 128          /* kept of a kind however old */

struct ring_key {
    uint32_t refs;
    const char *ns, *name;
    char text[];
};
struct ring_event {
    struct store_event event;
    struct ring_key *key;
    int64_t at_ms; /* of the commit */
};
struct ring {
    struct ring_event *events;
    size_t cap, bytes; /* bytes: of bodies that only this ring keeps */
    uint64_t first_seq, next_seq;
    uint64_t dropped_rv; /* events up to here may be missing */
};

struct ring_key *ring_key_new(const char *ns, const char *name);
struct ring_key *ring_key_ref(struct ring_key *k);
void ring_key_unref(struct ring_key *k); /* NULL-safe */

struct ring_event ring_event_copy(const struct ring_event *e); /* with references of its own */
void ring_event_release(struct ring_event *e);

/* Takes over the references. total_bytes: sum of all rings' bytes, kept up to date. */
void ring_add(struct ring *r, struct ring_event e, size_t *total_bytes);
void ring_age(struct ring *r, int64_t now_ms, size_t *total_bytes);
/* Give away the oldest events until the total is well below its limit, or few are left. */
void ring_shrink(struct ring *r, size_t *total_bytes);
void ring_clear(struct ring *r, size_t *total_bytes);
/* First seq whose event is newer than rv. */
uint64_t ring_place(const struct ring *r, uint64_t rv);
static inline uint64_t ring_count(const struct ring *r)
{
    return r->next_seq - r->first_seq;
}
static inline const struct ring_event *ring_at(const struct ring *r, uint64_t seq)
{
    return &r->events[seq % r->cap];
}

#endif
