/* store.h - objects by key and the log of their changes: in memory for reading, in SQLite for keeping
 *
 * SHAPE  key = (kind id, namespace, name); each object is one immutable blob (JSON text in storage version, resourceVersion inside).
 *        Every change has the next resourceVersion of one global counter and enters the ring of its kind, where watchers have cursors.
 *        SQLite (WAL; store_wal.h): table object(kind, ns, name, rv, body), table meta(counter). On start everything is read back.
 * RACE   of the loop's thread alone. Writes of one loop turn share one transaction (group commit): they take effect in memory at once, and
 *        the callbacks given to store_when_durable run after the commit: answer clients only then. Watchers see a change after its commit,
 *        but for those inside (store_watch_ahead): what they write of it in the next turns shares its transaction. A thread writes it where
 *        it is of some size (real time, with a file), and the next transaction gathers meanwhile; one that fails takes the next with it.
 * WHY    a process killed with SIGKILL at any moment loses nothing that was acknowledged.
 */
#ifndef APISERVER_STORE_H
#define APISERVER_STORE_H
#include "base/arena.h"
#include "loop/loop.h"

struct store;
struct store_object {
    const char *ns, *name; /* ns "" for cluster scope */
    uint64_t rv;
    struct blob *body;
};
enum store_event_type { STORE_ADDED, STORE_MODIFIED, STORE_DELETED };
struct store_event {
    enum store_event_type type;
    uint64_t rv;
    const char *ns, *name;
    struct blob *body; /* after the change; DELETED: the last state carrying the deletion's rv */
    struct blob *old;  /* before the change; NULL for ADDED */
};

/* blob.notes of stored bodies: garbage.c and watch.c have looked already, or who wrote it had both trees at hand. */
#define STORE_NOTE_OWNERS 0x1u /* for what binds the object to others ... */
#define STORE_NOTE_PLAIN 0x2u  /* ... and found nothing: no owner, no deletion, no finalizer for one */
#define STORE_NOTE_KEPT 0x4u   /* owners, finalizers and deletion are those of the version before */
#define STORE_NOTE_ANSWERS 3   /* from this bit on, two for each question of watchers: whether it was asked, and the answer */
#define STORE_NOTE_QUESTIONS 14 /* of each kind */
#define STORE_UID_ROOM 64 /* for the uid of an owner and its NUL: a longer one is nobody's */

/* dir NULL: memory only (simulation). -E_AGAIN "data directory is in use by pid N", -E_IO damaged (says which file and
 * what to do). */
int store_open(struct loop *l, const char *dir, struct store **ret_s, struct err *e);
void store_close(struct store *s); /* commits first; NULL-safe */

/* Kinds are named by "group/plural" and get small ids, also of kinds that are gone from the table but still stored. */
uint32_t store_kind(struct store *s, const char *group, const char *plural);
const char *store_kind_name(const struct store *s, uint32_t kind); /* "group/plural" */

/* WHY  each start counts on from so far above what is stored: after a power cut the last commits may be missing, whose resourceVersions
 * clients have seen. None is given again, and who resumes from one is told to list again. */
#define STORE_START_JUMP 1000000
uint64_t store_rv(const struct store *s); /* newest committed or pending */
bool store_dirty(const struct store *s);  /* writes wait for their commit */
const struct store_object *store_get(const struct store *s, uint32_t kind, const char *ns,
                                     const char *name); /* good until the next write */
/* expect_rv: 0 = any; else -E_CONFLICT unless the stored rv is equal. body must already contain the new rv: take it
 * with store_next_rv. */
uint64_t store_next_rv(struct store *s);
int store_create(struct store *s, uint32_t kind, const char *ns, const char *name, uint64_t rv, struct blob *body,
                 struct err *e); /* -E_EXISTS */
int store_update(struct store *s, uint32_t kind, const char *ns, const char *name, uint64_t expect_rv, uint64_t rv,
                 struct blob *body, struct err *e);
int store_delete(struct store *s, uint32_t kind, const char *ns, const char *name, uint64_t expect_rv, uint64_t rv,
                 struct blob *last_body, struct err *e);

/* Call fn(arg) once everything written so far is on disk (end of this turn, or of one of the next). ok = false: the commit failed
 * (disk full), the writes are undone. */
void store_when_durable(struct store *s, void (*fn)(void *arg, bool ok), void *arg);

/* Objects of a kind in (ns, name) order; ns NULL = all namespaces. Starts after `after` ("ns/name" or NULL). */
struct store_cursor;
struct store_cursor *store_list(struct store *s, uint32_t kind, const char *ns, const char *after);
const struct store_object *store_list_next(struct store_cursor *c);
void store_list_free(struct store_cursor *c);
/* The state at an older rv, put together from the ring: items in the arena, each with a reference to its body that the
 * caller drops. -E_GONE when the ring no longer reaches back so far. */
int store_snapshot(struct store *s, uint32_t kind, const char *ns, const char *after, uint64_t rv, struct arena *a,
                   struct store_object **ret_items, size_t *ret_n, struct err *e);
size_t store_count(const struct store *s, uint32_t kind);

/* Watching: `wake` is called (in the loop's turn) when events after the cursor may exist. */
struct store_watch;
/* since_rv: events with rv > since_rv. -E_GONE when the ring has dropped some of them. */
int store_watch_new(struct store *s, uint32_t kind, uint64_t since_rv, void (*wake)(void *arg), void *arg,
                    struct store_watch **ret_w, struct err *e);
/* This one is part of the process, and ends with it: it sees what is written at the end of the turn, before the commit. What it sees may be
 * taken back when the commit fails; then it is too slow, so that it begins anew. */
void store_watch_ahead(struct store_watch *w);
/* Next committed event, or NULL. -E_GONE in *ret_code when the watcher was too slow. The event is good until the next
 * call. */
const struct store_event *store_watch_next(struct store_watch *w, int *ret_code);
uint64_t store_watch_rv(const struct store_watch *w); /* rv up to which the watcher has seen everything (bookmarks) */
void store_watch_free(struct store_watch *w);

/* Every change the moment that it takes effect in memory, before its commit; event NULL: those since the last commit were taken back.
 * One function: for counts that the next request of the same turn must see. */
void store_on_change(struct store *s, void (*fn)(void *arg, uint32_t kind, const struct store_event *event), void *arg);
/* For controllers inside the server (garbage collection, namespaces): every committed change of every kind, in order.
 */
void store_observe(struct store *s, void (*fn)(void *arg, uint32_t kind, const struct store_event *event), void *arg);

#endif
