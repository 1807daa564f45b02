/* workqueue.c - keys to be looked at again; see workqueue.h */
#include "kube/workqueue.h"
#include <assert.h>
#include "base/amount.h"
#include "base/collections/arena_pool.h"
#include "base/collections/heap.h"
#include "base/collections/map.h"
#include "base/log.h"
#include "kube/cache.h"
#include "kube/object.h"
#include "wire/json_reader.h"

enum {
    KEYS_PER_TURN = 64,
    BACKOFF_FIRST_MS = 25,
    BACKOFF_MAX_MS = 30000,
    AFTER_FAILURE_MS = 1000,
    READ_BACK_MS = 30,
    NO_ROOM_MS = 10,
    HALTED_MS = 200,
    BODY_ROOM = 1000
};

struct workqueue {
    struct kube_client *client;
    enum kube_lane lane;
    struct loop *loop;
    work_fn fn;
    void *arg;
    struct map *works; /* key -> struct work * */
    struct heap due;
    bool asks_versions; /* of answers, for workqueue_add_change */
    struct loop_timer *timer;
    uint64_t order;
    uint32_t in_flight_n;
    struct write *writes; /* in flight */
    struct arena_pool arenas;
};

struct work_then { /* in the pass's arena */
    void (*fn)(void *arg);
    void *arg;
    struct work_then *next;
};
struct write {
    struct work *work;
    int forgiven;     /* this error code means that it is so already */
    const char *path; /* in the pass's arena */
    struct work_then *thens;
    struct write *next, *previous;
};

static bool before(const void *a, const void *b)
{
    const struct work *x = a, *y = b;
    return x->due_ms != y->due_ms ? x->due_ms < y->due_ms : x->order < y->order;
}

static int64_t due_of(const void *work)
{
    return ((const struct work *)work)->due_ms;
}

static void work_forget(struct work *w)
{
    struct workqueue *q = w->queue;
    heap_remove(&q->due, w);
    map_remove(q->works, bytes_of(w->key));
    arena_give(&q->arenas, w->arena);
    free(w->failure);
    free(w);
}

static bool has_room(const struct workqueue *q)
{
    return kube_client_room(q->client, q->lane) > 0;
}

static void queue_arm(struct workqueue *q)
{
    const struct work *first = heap_first(&q->due);
    if (!first) {
        loop_timer_stop(q->timer);
        return;
    }
    int64_t wait_ms = first->due_ms - loop_now_ms(q->loop);
    int64_t least_ms = kube_client_is_halted(q->client) ? HALTED_MS : has_room(q) ? 0 : NO_ROOM_MS;
    loop_timer_start(q->timer, wait_ms > least_ms ? wait_ms : least_ms, 0);
}

/* WHY  What was written comes back by the watch a little after its answer: a pass in between would write it once more. */
static void work_schedule(struct work *w, int64_t delay_ms)
{
    int64_t due_ms = amount_plus(loop_now_ms(w->queue->loop), delay_ms);
    if (due_ms < w->rest_until_ms)
        due_ms = w->rest_until_ms;
    w->is_wanted = true;
    if (w->heap_at) {
        if (due_ms >= w->due_ms)
            return;
        w->due_ms = due_ms;
        heap_moved(&w->queue->due, w);
    } else {
        w->due_ms = due_ms;
        w->order = ++w->queue->order;
        heap_add(&w->queue->due, w);
    }
    queue_arm(w->queue);
}

static int64_t backoff_ms(const struct work *w)
{
    uint32_t doublings = w->failures_n > 0 ? w->failures_n - 1 : 0;
    int64_t delay_ms = (int64_t)BACKOFF_FIRST_MS << (doublings > 11 ? 11 : doublings);
    return delay_ms > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : delay_ms;
}

/* The pass is over: nothing runs and nothing is in flight. */
static void work_finish(struct work *w)
{
    bool failed = w->worst != 0;
    if (w->seen && w->seen != w->written)
        work_again(w, 0);
    w->seen = 0;
    if (w->has_written && !failed)
        w->rest_until_ms = loop_now_ms(w->queue->loop) + READ_BACK_MS;
    w->failures_n = failed ? w->failures_n + 1 : 0;
    w->refusals_n = w->is_refused ? w->refusals_n + 1 : failed ? w->refusals_n : 0;
    w->is_refused = false;
    w->worst = 0;
    arena_give(&w->queue->arenas, take_ptr(w->arena)); /* thousands may wait for their time */
    if (failed) {
        work_schedule(w, backoff_ms(w));
        w->again = false;
    } else if (w->again) {
        w->again = false;
        work_schedule(w, w->again_ms);
    } else if (w->has_written && !w->heap_at) { /* remembered for so long, whether anybody asks for it or not */
        work_schedule(w, READ_BACK_MS);
        w->is_wanted = false;
    } else if (!w->heap_at) {
        work_forget(w);
    }
}

static void work_run(struct work *w)
{
    w->arena = arena_take(&w->queue->arenas);
    w->running = true;
    w->has_written = false;
    w->thens = NULL;
    w->queue->fn(w->queue->arg, w);
    w->running = false;
    if (w->in_flight_n == 0)
        work_finish(w);
}

static void on_timer(void *arg)
{
    struct workqueue *q = arg;
    int64_t now_ms = loop_now_ms(q->loop);
    for (int i = 0; i < KEYS_PER_TURN && has_room(q); i++) {
        struct work *w = heap_first(&q->due);
        if (!w || w->due_ms > now_ms)
            break;
        heap_pop(&q->due);
        if (!w->is_wanted) {
            work_forget(w);
            continue;
        }
        w->is_wanted = false;
        if (w->in_flight_n > 0) {
            w->again = true;
            w->again_ms = 0;
            continue;
        }
        work_run(w);
    }
    queue_arm(q);
}

struct workqueue *workqueue_new(struct kube_client *c, work_fn fn, void *arg)
{
    return workqueue_new_in(c, KUBE_LANE_STATUS, fn, arg);
}

struct workqueue *workqueue_new_in(struct kube_client *c, enum kube_lane lane, work_fn fn, void *arg)
{
    struct workqueue *q = mem_zero(1, sizeof *q);
    q->client = c;
    q->lane = lane;
    q->loop = kube_client_loop(c);
    q->fn = fn;
    q->arg = arg;
    q->works = map_new(sizeof(struct work *));
    heap_init_ranked(&q->due, offsetof(struct work, heap_at), due_of, before);
    q->timer = loop_timer_new(q->loop, on_timer, q);
    return q;
}

static void write_free(struct workqueue *q, struct write *write)
{
    *(write->previous ? &write->previous->next : &q->writes) = write->next;
    if (write->next)
        write->next->previous = write->previous;
    q->in_flight_n--;
    free(write);
}

static void on_answer(void *arg, const struct kube_answer *answer);

/* Writes that are under way go on; nobody hears of their answers. */
void workqueue_free(struct workqueue *q)
{
    size_t at = 0;
    struct bytes key;
    struct work **slot;
    if (!q)
        return;
    while (q->writes) {
        kube_client_forget(q->client, on_answer, q->writes);
        write_free(q, q->writes);
    }
    loop_timer_free(q->timer);
    while ((slot = map_next(q->works, &at, &key)))
        work_forget(*slot);
    map_free(q->works);
    heap_fini(&q->due);
    arena_pool_fini(&q->arenas);
    free(q);
}

static struct work *work_of(struct workqueue *q, const char *key)
{
    bool is_new;
    struct work **slot = map_put(q->works, bytes_of(key), &is_new);
    if (!is_new)
        return *slot;
    key = map_key(slot).data; /* as long as it stands there */
    const char *slash = strchr(key, '/');
    size_t ns_n = slash ? (size_t)(slash - key) : 0;
    struct work *w = mem_zero(1, sizeof *w + ns_n + 1);
    *slot = w;
    w->key = key;
    w->ns = memcpy(w->ns_text, key, ns_n);
    w->name = slash ? slash + 1 : key;
    w->client = q->client;
    w->queue = q;
    return w;
}

void workqueue_add(struct workqueue *q, const char *key)
{
    workqueue_add_after(q, key, 0);
}

void workqueue_add_all(struct workqueue *q, const struct kube_cache *cache, const char *word)
{
    size_t at = 0, n = word ? strlen(word) : 0;
    struct bytes key, raw;
    while (kube_cache_next(cache, &at, &key, &raw))
        if (!word || memmem(raw.data, raw.n, word, n))
            workqueue_add(q, key.data); /* keys of maps are NUL terminated */
}

void workqueue_add_after(struct workqueue *q, const char *key, int64_t delay_ms)
{
    struct work *w = work_of(q, key);
    if (w->running || w->in_flight_n > 0)
        work_again(w, delay_ms);
    else if (w->failures_n > 0 && delay_ms < AFTER_FAILURE_MS)
        work_schedule(w, AFTER_FAILURE_MS); /* something changed: no need to sit out a long back-off */
    else
        work_schedule(w, delay_ms);
}

static uint64_t version_hash(struct bytes version)
{
    return hash_bytes(version.data, version.n, 0) | 1;
}

void workqueue_add_change(struct workqueue *q, const char *key, struct bytes version)
{
    struct work *w = work_of(q, key);
    uint64_t now = version_hash(version);
    q->asks_versions = true;
    if (w->in_flight_n == 0 && now != w->written)
        workqueue_add(q, key);
    if (w->in_flight_n == 0)
        return;
    if (w->seen && w->seen != now) /* one of the two is another's */
        work_again(w, 0);
    w->seen = now; /* the answer may say that it is ours */
}

bool workqueue_idle(const struct workqueue *q)
{
    return q->in_flight_n == 0 && !heap_first(&q->due);
}

bool work_failed(const struct work *w)
{
    return w->failures_n > 0;
}

uint32_t work_refusals(const struct work *w)
{
    return w->refusals_n;
}

const char *work_failure(const struct work *w)
{
    return w->failure ? w->failure : "";
}

static void failure_keep(struct work *w, const char *text)
{
    free(w->failure);
    w->failure = text ? mem_text(text) : NULL;
}

void work_again(struct work *w, int64_t delay_ms)
{
    if (!w->again || delay_ms < w->again_ms)
        w->again_ms = delay_ms;
    w->again = true;
}

void work_then(struct work *w, void (*fn)(void *arg), void *arg)
{
    struct work_then *then = arena_alloc(w->arena, sizeof *then), **at = &w->thens;
    *then = (struct work_then){.fn = fn, .arg = arg};
    while (*at)
        at = &(*at)->next;
    *at = then;
}

static void version_read(struct work *w, struct bytes object)
{
    struct json_reader r;
    struct bytes version;
    _cleanup_buf_ struct buf scratch = {0};
    json_reader_init(&r, object);
    if (json_reader_member(&r, "metadata") && json_reader_member(&r, "resourceVersion") && json_reader_string(&r, &scratch, &version))
        w->written = version_hash(version);
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
    struct write *write = arg;
    struct work *w = write->work;
    const struct work_then *then = answer->code == 0 ? write->thens : NULL;
    struct workqueue *q = w->queue;
    int code = answer->code < 0 ? -answer->code : answer->code;
    bool ok = code == 0 || code == write->forgiven;
    if (!ok && code != E_CONFLICT && code != E_AGAIN) {
        log_warning("write failed path=%s status=%d error=\"%s\"", write->path, answer->status, answer->error.text);
        failure_keep(w, answer->error.text);
        w->is_refused = w->is_refused || (answer->status >= 400 && answer->status < 500);
    }
    if (code == 0 && q->asks_versions)
        version_read(w, answer->body);
    write_free(q, write);
    w->in_flight_n--;
    if (!ok)
        w->worst = code;
    for (; then; then = then->next)
        then->fn(then->arg);
    if (w->in_flight_n == 0 && !w->running)
        work_finish(w);
}

/* forgiven: this error code means that it is so already. */
static void work_send(struct work *w, const char *method, const char *content_type, const char *path, const struct json *body,
                      int forgiven)
{
    _cleanup_buf_ struct buf out = {0};
    struct write *write = mem_zero(1, sizeof *write);
    if (!w->has_written)
        failure_keep(w, NULL); /* that of the pass before */
    write->work = w;
    write->path = arena_text(w->arena, path);
    write->forgiven = forgiven;
    write->thens = w->thens;
    w->thens = NULL;
    w->has_written = true;
    w->in_flight_n++;
    w->queue->in_flight_n++;
    write->next = w->queue->writes;
    if (write->next)
        write->next->previous = write;
    w->queue->writes = write;
    (void)buf_reserve(&out, BODY_ROOM); /* most fit, and it does not grow step by step */
    json_write(&out, body);
    kube_send(w->client, &(struct kube_call){.lane = w->queue->lane,
                                             .method = method,
                                             .path = path,
                                             .content_type = content_type,
                                             .body = buf_view(&out),
                                             .on_answer = on_answer,
                                             .arg = write});
}

void work_create(struct work *w, const char *path, const struct json *object)
{
    work_send(w, "POST", "application/json", path, object, E_EXISTS);
}

void work_patch(struct work *w, enum kube_patch type, const char *path, const struct json *patch)
{
    work_send(w, "PATCH", kube_patch_type(type), path, patch, E_NOTFOUND);
}

void work_patch_status(struct work *w, const char *path, const struct json *read, struct json *status)
{
    struct json *patch = object_patch(w->arena, read);
    json_set(w->arena, patch, "status", status);
    work_patch(w, KUBE_PATCH_MERGE, path, patch);
}

void work_delete(struct work *w, const char *path, const char *uid, const char *propagation)
{
    struct json *options = json_new(w->arena, JSON_OBJECT);
    json_set_text(w->arena, options, "kind", "DeleteOptions");
    json_set_text(w->arena, options, "apiVersion", "v1");
    if (uid && *uid)
        json_set_text(w->arena, json_ensure_object(w->arena, options, "preconditions"), "uid", uid);
    if (propagation)
        json_set_text(w->arena, options, "propagationPolicy", propagation);
    work_send(w, "DELETE", "application/json", path, options, E_NOTFOUND);
}
