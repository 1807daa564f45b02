/* store_parts.h - what a store is made of, for store.c and store_watch.c */
#ifndef APISERVER_STORE_PARTS_H
#define APISERVER_STORE_PARTS_H
#include <assert.h>

#include "apiserver/store/ring.h"
#include "base/collections/map.h"

struct entry {
    struct store_object o; /* o.ns, o.name point into key */
    struct ring_key *key;
    int64_t row_id;
    uint32_t change_n, change_batch; /* the last change of it, if that batch is still pending: index + 1 */
};
struct kind_data {
    char *name;
    uint32_t id;
    bool stored; /* its row in the file's kind table exists */
    struct entry **entries;
    size_t n, cap;
    size_t looked_at; /* index that was found last: a write looks for what was just read */
    uint64_t changes; /* counts inserts and removes: cursors look up their place again */
    struct ring ring;
    struct store_watch *watches;
    uint64_t woken_batch; /* commit in which the watches were woken last */
    uint64_t told;        /* the same of those that look ahead: store.tells */
};
struct change {
    struct kind_data *kind;
    struct ring_event e;
    int64_t row_id;
    uint64_t old_rv;
    bool is_superseded; /* a later change of the batch writes the row */
};
struct durable {
    void (*fn)(void *arg, bool ok);
    void *arg;
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
    uint64_t batch; /* commits so far */
    struct change *pending;
    size_t pending_n, pending_cap;
    size_t told_n;    /* of those: who looks ahead was woken for them */
    uint64_t tells;
    uint32_t turns_n; /* ends of turns that went by since the first of them that somebody looks at */
    struct durable *durables;
    size_t durables_n, durables_cap;
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
    /* Of who looks ahead: how far in the pending changes of this batch, and how many of its kind were among them. */
    bool is_ahead, is_lost; /* lost: it saw what was taken back */
    uint64_t batch;
    size_t looked_n, taken_n;
};

static inline struct kind_data *kind_data(const struct store *s, uint32_t kind)
{
    assert(kind >= 1 && kind <= s->kinds_n);
    return s->kinds[kind - 1];
}
/* Wakes those that look ahead, or all others. True: there are any. */
bool store_watches_wake(struct kind_data *k, bool ahead);
/* True: somebody looks at what was written since this was asked last. */
bool store_ahead_tell(struct store *s);
/* The pending changes are taken back: who looked ahead at them saw what was not to be. */
void store_ahead_lose(struct store *s);

#endif
