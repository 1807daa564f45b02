/* ring.c - see ring.h */
#include "apiserver/store/ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/memory.h"

struct ring_key *ring_key_new(const char *ns, const char *name)
{
    size_t ns_n = strlen(ns) + 1, name_n = strlen(name) + 1;
    struct ring_key *k = mem_alloc(sizeof *k + ns_n + name_n);
    k->refs = 1;
    memcpy(k->text, ns, ns_n);
    memcpy(k->text + ns_n, name, name_n);
    k->ns = k->text;
    k->name = k->text + ns_n;
    return k;
}

struct ring_key *ring_key_ref(struct ring_key *k)
{
    k->refs++;
    return k;
}

void ring_key_unref(struct ring_key *k)
{
    if (k && --k->refs == 0)
        free(k);
}

struct ring_event ring_event_copy(const struct ring_event *e)
{
    struct ring_event copy = *e;
    copy.key = ring_key_ref(e->key);
    copy.event.body = e->event.body ? blob_ref(e->event.body) : NULL;
    copy.event.old = e->event.old ? blob_ref(e->event.old) : NULL;
    return copy;
}

void ring_event_release(struct ring_event *e)
{
    blob_unref(e->event.body);
    blob_unref(e->event.old);
    ring_key_unref(e->key);
    *e = (struct ring_event){0};
}

/* What the ring alone keeps alive for this event: the state before, and the last state of what is deleted. */
static size_t event_bytes(const struct store_event *v)
{
    return (v->old ? v->old->n : 0) + (v->type == STORE_DELETED && v->body ? v->body->n : 0);
}

static void drop_first(struct ring *r, size_t *total_bytes)
{
    struct ring_event *e = &r->events[r->first_seq++ % r->cap];
    size_t bytes = event_bytes(&e->event);
    r->dropped_rv = e->event.rv;
    r->bytes -= bytes;
    *total_bytes -= bytes;
    ring_event_release(e);
}

static void grow(struct ring *r)
{
    size_t cap = r->cap ? r->cap * 2 : 64;
    struct ring_event *events = mem_zero(cap, sizeof *events);
    for (uint64_t seq = r->first_seq; seq < r->next_seq; seq++)
        events[seq % cap] = r->events[seq % r->cap];
    free(r->events);
    r->events = events;
    r->cap = cap;
}

void ring_add(struct ring *r, struct ring_event e, size_t *total_bytes)
{
    size_t bytes = event_bytes(&e.event);
    ring_age(r, e.at_ms, total_bytes);
    if (ring_count(r) == r->cap) {
        if (r->cap < LIMIT_WATCH_RING)
            grow(r);
        else
            drop_first(r, total_bytes);
    }
    r->bytes += bytes;
    *total_bytes += bytes;
    r->events[r->next_seq++ % r->cap] = e;
}

void ring_age(struct ring *r, int64_t now_ms, size_t *total_bytes)
{
    while (ring_count(r) > RING_AGED_MIN && ring_at(r, r->first_seq)->at_ms + RING_AGE_MS < now_ms)
        drop_first(r, total_bytes);
}

void ring_shrink(struct ring *r, size_t *total_bytes)
{
    while (*total_bytes > RING_BYTES_MAX - RING_BYTES_MAX / 64 &&
           ring_count(r) > (*total_bytes > RING_BYTES_HARD ? RING_LARGE_MIN : RING_EVENTS_MIN))
        drop_first(r, total_bytes);
}

void ring_clear(struct ring *r, size_t *total_bytes)
{
    while (ring_count(r))
        drop_first(r, total_bytes);
    free(r->events);
    r->events = NULL;
    r->cap = 0;
}

uint64_t ring_place(const struct ring *r, uint64_t rv)
{
    uint64_t low = r->first_seq, high = r->next_seq;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (ring_at(r, middle)->event.rv > rv)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
