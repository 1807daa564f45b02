/* store_parts.h - what a store is made of, for store.c and store_watch.c */
#ifndef APISERVER_STORE_PARTS_H
#define APISERVER_STORE_PARTS_H
#include <assert.h>

#include "apiserver/store/entry_table.h"
#include "apiserver/store/ring.h"
#include "apiserver/store/store_writer.h"
#include "base/collections/map.h"

struct entry {
    struct store_object o; /* o.ns, o.name point into key */
    struct ring_key *key;
    int64_t row_id;
    uint32_t hash; /* entry_table.c's */
    uint32_t change_n, change_batch; /* the last change of it, if that batch is still pending: index + 1 */
};
struct kind_data {
    char *name;
    uint32_t id;
    bool stored; /* its row in the file's kind table exists */
    struct entry **entries;
    size_t n, cap;
    struct entry_table by_name; /* the same */
    struct entry *looked_at;    /* that was found last: a write looks for what was just read */
    uint64_t changes; /* counts inserts and removes: cursors look up their place again */
    struct ring ring;
    size_t uncommitted_n; /* of its changes: those in the flight and pending */
    struct store_watch *watches;
    uint64_t woken_batch; /* commit in which the watches were woken last */
    uint64_t told;        /* the same of those that look ahead: store.tells */
};
struct change {
    struct kind_data *kind;
    struct ring_event e;
    uint64_t seq; /* that it will have in the ring */
    int64_t row_id;
    uint64_t old_rv;
    bool is_superseded; /* a later change of the batch writes the row */
};
struct durable {
    void (*fn)(void *arg, bool ok);
    void *arg;
};
/* What one transaction writes, and who waits for it. */
struct batch {
    struct change *changes;
    size_t n, cap;
    struct durable *durables;
    size_t durables_n, durables_cap;
};
struct observer {
    void (*fn)(void *arg, uint32_t kind, const struct store_event *event);
    void *arg;
};
struct store {
    struct loop *loop;
    struct store_file *file;
    struct kind_data **kinds; /* [id - 1] */
    size_t kinds_n, kinds_cap;
    struct map *kind_ids;
    uint64_t rv, committed_rv;
    uint64_t batch;         /* transactions so far, that of the flight included */
    struct batch flight;    /* is being written: nobody changes it */
    struct batch pending;   /* is written next */
    bool is_flying;         /* the writer has the flight */
    uint64_t flight_rv;
    struct err flight_error; /* code 0: it was written */
    struct store_writer *writer; /* NULL: the loop writes itself */
    uint64_t first;         /* how many changes there were before the first that is not committed */
    size_t told_n;          /* of the pending ones: who looks ahead was woken for them */
    uint64_t tells;
    uint32_t turns_n; /* ends of turns that went by since the first of them that somebody looks at */
    size_t rings_bytes; /* sum over all rings */
    struct observer *observers;
    size_t observers_n, observers_cap;
    struct observer on_change; /* fn NULL = nobody */
};
struct store_watch {
    struct store *store;
    struct kind_data *kind;
    uint64_t seq, since_rv, seen_rv;
    void (*wake)(void *arg);
    void *arg;
    struct store_watch *next;
    struct store_watch **link;
    struct ring_event held; /* the event handed out last */
    bool is_ahead, is_lost; /* lost: it saw what was taken back */
    uint64_t looked; /* of who looks ahead: that many changes since the beginning were looked at */
};

static inline struct kind_data *kind_data(const struct store *s, uint32_t kind)
{
    assert(kind >= 1 && kind <= s->kinds_n);
    return s->kinds[kind - 1];
}
/* How many changes are not committed; one of them, oldest first. */
static inline size_t store_uncommitted_n(const struct store *s)
{
    return s->flight.n + s->pending.n;
}
static inline const struct change *store_uncommitted(const struct store *s, size_t i)
{
    return i < s->flight.n ? &s->flight.changes[i] : &s->pending.changes[i - s->flight.n];
}
/* Wakes those that look ahead, or all others. True: there are any. */
bool store_watches_wake(struct kind_data *k, bool ahead);
/* True: somebody looks at what was written since this was asked last. */
bool store_ahead_tell(struct store *s);
/* What was not committed has been taken back: who looked ahead at them saw what was not to be. */
void store_ahead_lose(struct store *s);

#endif
