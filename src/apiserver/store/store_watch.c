/* store_watch.c - cursors of watchers in the rings, and in what is not committed yet
 *
 * SHAPE  who looks ahead reads the ring of its kind to its end, then those of the changes that are not committed that are of it. Commits
 *        put them into the ring in the same order, so that the place of each there is known.
 */
#include "apiserver/store/store_parts.h"

int store_watch_new(struct store *s, uint32_t kind, uint64_t since_rv, void (*wake)(void *arg), void *arg,
                    struct store_watch **ret_w, struct err *e)
{
    struct kind_data *k = kind_data(s, kind);
    if (since_rv < k->ring.dropped_rv)
        return err_set(e, E_GONE, "too old resource version: %llu (%llu)", (unsigned long long)since_rv,
                       (unsigned long long)k->ring.dropped_rv);
    struct store_watch *w = mem_zero(1, sizeof *w);
    *w = (struct store_watch){
        .store = s, .kind = k, .since_rv = since_rv, .seen_rv = since_rv, .wake = wake, .arg = arg};
    w->seq = ring_place(&k->ring, since_rv);
    w->next = k->watches;
    w->link = &k->watches;
    if (w->next)
        w->next->link = &w->next;
    k->watches = w;
    *ret_w = w;
    return 0;
}

void store_watch_ahead(struct store_watch *w)
{
    w->is_ahead = true;
}

/* The next change that is not committed yet. */
static const struct ring_event *ahead_next(struct store_watch *w)
{
    const struct store *s = w->store;
    if (w->looked < s->first)
        w->looked = s->first;
    while (w->is_ahead && w->looked - s->first < store_uncommitted_n(s)) {
        const struct change *c = store_uncommitted(s, (size_t)(w->looked++ - s->first));
        if (c->kind != w->kind || c->seq < w->seq)
            continue;
        w->seq++;
        return &c->e;
    }
    return NULL;
}

static const struct ring_event *ring_next(struct store_watch *w)
{
    return w->seq < w->kind->ring.next_seq ? ring_at(&w->kind->ring, w->seq++) : ahead_next(w);
}

const struct store_event *store_watch_next(struct store_watch *w, int *ret_code)
{
    *ret_code = 0;
    ring_event_release(&w->held);
    if (w->is_lost || w->seq < w->kind->ring.first_seq) {
        *ret_code = -E_GONE;
        return NULL;
    }
    for (const struct ring_event *e; (e = ring_next(w));) {
        if (e->event.rv <= w->since_rv)
            continue;
        w->held = ring_event_copy(e);
        w->seen_rv = e->event.rv;
        return &w->held.event;
    }
    if (w->store->committed_rv > w->seen_rv)
        w->seen_rv = w->store->committed_rv;
    return NULL;
}

uint64_t store_watch_rv(const struct store_watch *w)
{
    return w->seen_rv;
}

void store_watch_free(struct store_watch *w)
{
    if (!w)
        return;
    ring_event_release(&w->held);
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    free(w);
}

/* ---- waking ---- */

bool store_watches_wake(struct kind_data *k, bool ahead)
{
    bool any = false;
    for (struct store_watch *w = k->watches, *next; w; w = next) {
        next = w->next;
        if (w->is_ahead != ahead)
            continue;
        w->wake(w->arg);
        any = true;
    }
    return any;
}

bool store_ahead_tell(struct store *s)
{
    bool any = false;
    s->tells++;
    for (; s->told_n < s->pending.n; s->told_n++) {
        struct kind_data *k = s->pending.changes[s->told_n].kind;
        if (k->told == s->tells)
            continue;
        k->told = s->tells;
        any = store_watches_wake(k, true) || any;
    }
    return any;
}

void store_ahead_lose(struct store *s)
{
    for (size_t i = 0; i < s->kinds_n; i++)
        for (struct store_watch *w = s->kinds[i]->watches; w; w = w->next)
            w->is_lost = w->is_lost || w->seq > w->kind->ring.next_seq;
}
