/* workqueue.h - keys to be looked at again: level-triggered reconciling with back-off
 *
 *     change -> workqueue_add(q, "ns/name") -> (in the loop's turn) fn(arg, work) -> work_create / work_patch / work_delete
 *                    ^                                                                          |
 *                    `---- conflict or failure: again after a while, doubling ------------------'
 *
 * SHAPE  one `struct work` per known key; a heap by (due time, order of adding). A key is never looked at by two passes at once: while
 *        writes of a pass are in flight, adding only marks it, and it runs again after the last answer.
 * UNIT   delays in milliseconds of the loop's monotonic time.
 * LIMIT  64 keys a turn; back-off 25 ms doubling to 30 s. While the client's lane has no room, or the client is halted, no key is looked
 *        at: what is written late is what is so then.
 * RACE   the cache that fn reads may be older than our own last write: writes carry a resourceVersion or are safe to repeat. A key that has
 *        written is not looked at again for 30 ms: by then the watch has most likely shown it.
 */
#ifndef KUBE_WORKQUEUE_H
#define KUBE_WORKQUEUE_H
#include "kube/client.h"

struct kube_cache;
struct workqueue;
struct work_then;
struct work {
    const char *key;         /* "namespace/name", cluster scope "/name" */
    const char *ns, *name;   /* its parts */
    struct arena *arena;     /* lives until the last write of this pass is answered */
    struct kube_client *client;
    /* the queue's own */
    struct workqueue *queue;
    size_t heap_at;
    int64_t due_ms;
    uint64_t order;
    uint32_t in_flight_n, failures_n, refusals_n;
    int worst;
    char *failure;           /* what the server said, or NULL */
    bool running, again, is_wanted;
    bool has_written, is_refused; /* in this pass */
    int64_t again_ms, rest_until_ms;
    uint64_t written, seen; /* hashes of versions: that its last write made, that was told of since it was sent; 0 = none */
    struct work_then *thens; /* of the next write */
    char ns_text[];
};
typedef void (*work_fn)(void *arg, struct work *w);

struct workqueue *workqueue_new(struct kube_client *c, work_fn fn, void *arg);
/* Writes go into this lane; workqueue_new: KUBE_LANE_STATUS. */
struct workqueue *workqueue_new_in(struct kube_client *c, enum kube_lane lane, work_fn fn, void *arg);
void workqueue_free(struct workqueue *q); /* NULL-safe; answers that are still in flight are ignored */
void workqueue_add(struct workqueue *q, const char *key);
/* Look not before delay_ms from now; an earlier appointment stands. */
void workqueue_add_after(struct workqueue *q, const char *key, int64_t delay_ms);
/* As workqueue_add, of an object that came to be in this version: where the last write of the key made it so, that is no news. WHY  the
 * pass would find nothing to do; for those whose passes read what they have written as they meant it. */
void workqueue_add_change(struct workqueue *q, const char *key, struct bytes version);
/* The keys of a cache: all, or those of objects in whose text the word stands. WHY  the search before the parse: most have it not. */
void workqueue_add_all(struct workqueue *q, const struct kube_cache *cache, const char *word);
/* Nothing due, nothing in flight. */
bool workqueue_idle(const struct workqueue *q);

/* Writes of a pass. Answers that mean "it is so already" (create: exists, delete: not found) are success. */
void work_create(struct work *w, const char *path, const struct json *object);
void work_patch(struct work *w, enum kube_patch type, const char *path, const struct json *patch);
/* A merge patch of `status` alone, on what was read: a conflict when somebody wrote meanwhile. */
void work_patch_status(struct work *w, const char *path, const struct json *read, struct json *status);
void work_delete(struct work *w, const char *path, const char *uid, const char *propagation); /* uid, propagation may be NULL */
/* fn(arg) is called once the next write of this pass is done; not where it fails or is so already, nor once the queue is freed.
 * OWNER  arg lives in w->arena, or longer. fn writes nothing of this queue. */
void work_then(struct work *w, void (*fn)(void *arg), void *arg);
/* Did a write of the pass before this one fail? */
bool work_failed(const struct work *w);
/* What was said to the last of its writes that failed, other than that somebody wrote meanwhile; "": nothing. Good until it writes. */
const char *work_failure(const struct work *w);
/* How many passes in a row the server has said no to: it took a write of theirs and refused it (not: somebody wrote meanwhile, not now). */
uint32_t work_refusals(const struct work *w);
/* Look at this key again after delay_ms. */
void work_again(struct work *w, int64_t delay_ms);

#endif
