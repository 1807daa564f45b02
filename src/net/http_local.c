/* http_local.c - a request becomes a call of the handler in this process; time and faults may lie in between
 *
 * SHAPE  send -(latency)-> arrive: handler -> answer -(latency)-> delivered; a stream repeats pull -(latency)-> chunk.
 *        With faults each step has a timer; without, steps stand in one queue, which the next turn of the loop empties.
 * ORDER  all draws from the seed happen in the order of the loop's callbacks: the same seed gives the same faults.
 * OWNER  a call that ends before its handler has answered stays as an orphan until the handler does.
 * LIMIT  STEPS_PER_TURN, EVENTS_PER_STEP: sockets have their turn between.
 */
#include "net/http_local.h"
#include <stdlib.h>
#include "base/collections/arena_pool.h"
#include "base/memory.h"
#include "base/random.h"
#include "net/http_carrier.h"
#include "net/http_request.h"

enum {
    CHUNK_BYTES = 64 << 10,
    CHUNKS_PER_TURN = 16,
    TIMEOUT_MS = 60 * 1000,
    ANSWER_MAX_BYTES = 64 << 20,
    ANSWER_HEADERS_MAX = 32,
    STEPS_PER_TURN = 1024,
    EVENTS_PER_STEP = 256,
};

/* Arenas of calls. It lives as long as one of them, or the client. */
struct spares {
    struct arena_pool arenas;
    uint32_t refs;
};

enum step { STEP_SENT, STEP_HANDLER, STEP_ANSWERED, STEP_STREAM };

struct local_call {
    struct http_exchange x; /* first: the handler's view */
    struct local *c;        /* NULL = orphan */
    struct spares *spares;
    struct local_call *next, *previous;
    uint64_t id;
    struct http_call call; /* texts in the arena */
    enum step step;
    struct loop_timer *timer, *timeout;
    loop_fn due; /* the step that waits in the queue of due steps; NULL = none does */
    struct local_call *due_next, *due_previous;
    int status;
    struct http_param *headers; /* ANSWER_HEADERS_MAX, in the arena; NULL = none yet */
    uint32_t headers_n;
    struct blob *body;
    struct err error;
    struct buf collected; /* of a stream that the client wants as one body */
    http_pull_fn pull;
    http_pull_event_fn pull_event; /* instead: the client takes events */
    void (*closed)(void *arg);
    void *closed_arg;
    bool busy, cancelled; /* a callback of the client runs; it cancelled this call */
    bool woken;
};

struct local {
    struct http_client base;
    http_handler_fn handler;
    void *ctx;
    const struct http_faults *faults;
    struct spares *spares;
    char *user, *groups, *user_agent;
    struct random random;
    struct local_call *first, *last;
    struct local_call *due_first, *due_last;
    uint32_t due_n;
    bool is_deferred; /* due_run is asked for */
    bool *freed; /* set when a step frees the client; NULL = no step runs */
    uint64_t last_id;
    uint32_t in_flight_n;
};

static const struct http_faults no_faults;

static const struct http_faults *faults_of(const struct local *c)
{
    return c->faults ? c->faults : &no_faults;
}

static bool chance(struct local *c, uint32_t permille)
{
    return permille > 0 && random_permille(&c->random, permille);
}

static int64_t latency_ms(struct local *c)
{
    const struct http_faults *f = faults_of(c);
    int64_t ms = f->latency_ms_max ? (int64_t)random_below(&c->random, (uint64_t)f->latency_ms_max + 1) : 0;
    return chance(c, f->slow_permille) ? 100 * (int64_t)(f->latency_ms_max ? f->latency_ms_max : 1) : ms;
}

/* ---- steps that are due in the next turn ---- */

static void due_remove(struct local_call *k)
{
    struct local *c = k->c;
    if (!k->due)
        return;
    *(k->due_previous ? &k->due_previous->due_next : &c->due_first) = k->due_next;
    *(k->due_next ? &k->due_next->due_previous : &c->due_last) = k->due_previous;
    k->due_next = k->due_previous = NULL;
    k->due = NULL;
    c->due_n--;
}

static void due_run(void *arg);

static void due_ask(struct local *c)
{
    if (!c->due_n || c->is_deferred || c->freed)
        return;
    c->is_deferred = true;
    loop_defer(c->base.l, due_run, c);
}

/* Those that are due now; what they make due belongs to the next turn. */
static void due_run(void *arg)
{
    struct local *c = arg;
    bool freed = false;
    c->is_deferred = false;
    c->freed = &freed;
    for (uint32_t n = c->due_n < STEPS_PER_TURN ? c->due_n : STEPS_PER_TURN; n > 0 && c->due_first; n--) {
        struct local_call *k = c->due_first;
        loop_fn step = k->due;
        due_remove(k);
        step(k);
        if (freed)
            return;
    }
    c->freed = NULL;
    due_ask(c);
}

static void due_add(struct local_call *k, loop_fn step)
{
    struct local *c = k->c;
    due_remove(k);
    k->due = step;
    k->due_previous = c->due_last;
    *(c->due_last ? &c->due_last->due_next : &c->due_first) = k;
    c->due_last = k;
    c->due_n++;
    due_ask(c);
}

/* ---- calls ---- */

static void call_unlink(struct local_call *k)
{
    struct local *c = k->c;
    due_remove(k);
    *(k->previous ? &k->previous->next : &c->first) = k->next;
    *(k->next ? &k->next->previous : &c->last) = k->previous;
    c->in_flight_n--;
    k->c = NULL;
    loop_timer_free(take_ptr(k->timer));
    loop_timer_free(take_ptr(k->timeout));
}

static void spares_unref(struct spares *s)
{
    if (--s->refs)
        return;
    arena_pool_fini(&s->arenas);
    free(s);
}

static void call_free(struct local_call *k)
{
    blob_unref(k->body);
    buf_free(&k->collected);
    arena_give(&k->spares->arenas, k->x.request.arena);
    spares_unref(k->spares);
    free(k);
}

/* The client is done with k. */
static void call_drop(struct local_call *k)
{
    if (k->c)
        call_unlink(k);
    if (k->busy) {
        k->cancelled = true;
        return;
    }
    if (k->step == STEP_STREAM)
        k->closed(k->closed_arg);
    if (k->step != STEP_HANDLER)
        call_free(k);
}

static void call_finish(struct local_call *k, struct bytes body)
{
    struct http_answer answer = {
        .status = k->status, .body = body, .headers = k->headers, .headers_n = k->headers_n, .error = k->error};
    if (answer.error.code) {
        answer.status = 0;
        answer.headers_n = 0;
        answer.body = (struct bytes){0};
    }
    call_unlink(k);
    k->busy = true;
    if (k->call.on_answer)
        k->call.on_answer(k->call.arg, &answer);
    k->busy = false;
    call_drop(k);
}

static void call_fail(struct local_call *k, int code, const char *what)
{
    (void)err_set(&k->error, code, "%s %s: %s", k->call.method, k->call.path, what);
    call_finish(k, (struct bytes){0});
}

/* Returns false when the client wants no more; k may be cancelled then. */
static bool chunk_give(struct local_call *k, struct bytes chunk)
{
    if (k->timeout && k->call.on_chunk && k->call.timeout_ms > 0)
        loop_timer_start(k->timeout, k->call.timeout_ms, 0);
    k->busy = true;
    bool more = k->call.on_chunk(k->call.arg, k->status, chunk);
    k->busy = false;
    return more && !k->cancelled;
}

static void deliver(void *arg)
{
    struct local_call *k = arg;
    struct bytes body = k->body ? (struct bytes){k->body->data, k->body->n} : (struct bytes){0};
    size_t max = k->call.answer_max_bytes ? k->call.answer_max_bytes : ANSWER_MAX_BYTES;
    if (k->error.code == 0 && k->call.on_chunk && body.n > 0) {
        (void)chunk_give(k, body); /* the answer follows either way */
        if (k->cancelled) {
            call_drop(k);
            return;
        }
        body = (struct bytes){0};
    }
    if (body.n > max)
        (void)err_set(&k->error, E_LIMIT, "%s %s: the answer is larger than %zu bytes", k->call.method, k->call.path,
                      max);
    call_finish(k, body);
}

static void schedule(struct local_call *k, loop_fn fn)
{
    if (!k->c->faults) {
        due_add(k, fn);
        return;
    }
    int64_t ms = latency_ms(k->c);
    loop_timer_free(k->timer);
    k->timer = loop_timer_new(k->c->base.l, fn, k);
    loop_timer_start(k->timer, ms, 0);
}

static void times_out(void *arg)
{
    struct local_call *k = arg;
    call_fail(k, E_AGAIN, "timed out");
}

static void header_add(struct local_call *k, const char *name, const char *value)
{
    if (k->headers_n == ANSWER_HEADERS_MAX)
        return;
    struct arena *a = k->x.request.arena;
    if (!k->headers)
        k->headers = arena_alloc(a, ANSWER_HEADERS_MAX * sizeof *k->headers);
    k->headers[k->headers_n++] = (struct http_param){arena_text_lower(a, name), http_header_clean(a, value)};
}

static void local_header(struct http_exchange *x, const char *name, const char *value)
{
    header_add((struct local_call *)x, name, value);
}

static void answer_set(struct local_call *k, int status, const char *content_type, struct blob *body)
{
    k->status = status;
    k->body = body;
    if (content_type)
        header_add(k, "content-type", content_type);
    k->step = STEP_ANSWERED;
}

static void local_reply(struct http_exchange *x, int status, const char *content_type, struct blob *body)
{
    struct local_call *k = (struct local_call *)x;
    answer_set(k, status, content_type, body);
    if (!k->c) {
        if (!k->busy)
            call_free(k);
        return;
    }
    if (chance(k->c, faults_of(k->c)->lose_answer_permille))
        (void)err_set(&k->error, E_IO, "%s %s: the answer was lost", k->call.method, k->call.path);
    schedule(k, deliver);
}

static void stream_end(struct local_call *k, const char *failure)
{
    k->step = STEP_ANSWERED;
    k->closed(k->closed_arg);
    if (failure)
        (void)err_set(&k->error, E_IO, "%s %s: %s", k->call.method, k->call.path, failure);
    call_finish(k, buf_view(&k->collected));
}

/* Hand n bytes over. False: the stream is over and k is gone. */
static bool stream_chunk(struct local_call *k, const char *data, size_t n)
{
    if (chance(k->c, faults_of(k->c)->stream_drop_permille)) {
        stream_end(k, "the connection was dropped");
        return false;
    }
    if (k->call.on_chunk) {
        bool more = chunk_give(k, (struct bytes){data, n});
        if (k->cancelled)
            call_drop(k);
        else if (!more)
            stream_end(k, NULL);
        return more;
    }
    buf_add(&k->collected, data, n);
    if (k->collected.n > (k->call.answer_max_bytes ? k->call.answer_max_bytes : ANSWER_MAX_BYTES)) {
        stream_end(k, "the answer is too large");
        return false;
    }
    return true;
}

static void stream_pull(void *arg);

/* The objects of events are handed over as they lie in the store. */
static void stream_events(struct local_call *k)
{
    for (int i = 0; i < EVENTS_PER_STEP; i++) {
        struct http_event event;
        int r = k->pull_event(k->closed_arg, &event);
        if (r < 0) {
            stream_end(k, NULL);
            return;
        }
        if (r == 0)
            return;
        if (i == 0 && k->timeout && k->call.timeout_ms > 0) /* all of a step come at one time */
            loop_timer_start(k->timeout, k->call.timeout_ms, 0);
        k->busy = true;
        bool more = k->call.on_event(k->call.arg, &event);
        k->busy = false;
        if (k->cancelled) {
            call_drop(k);
            return;
        }
        if (!more) {
            stream_end(k, NULL);
            return;
        }
    }
    schedule(k, stream_pull);
}

static void stream_pull(void *arg)
{
    struct local_call *k = arg;
    if (k->pull_event) {
        stream_events(k);
        return;
    }
    char *chunk = mem_alloc(CHUNK_BYTES);
    for (int i = 0; i < CHUNKS_PER_TURN; i++) {
        k->woken = false;
        ssize_t n = k->pull(k->closed_arg, chunk, CHUNK_BYTES);
        if (n < 0) {
            stream_end(k, NULL);
            break;
        }
        if (n == 0 && !k->woken)
            break;
        if (n > 0 && !stream_chunk(k, chunk, (size_t)n))
            break;
        if (i == CHUNKS_PER_TURN - 1)
            schedule(k, stream_pull);
    }
    free(chunk);
}

static void stream_start(struct local_call *k, int status, const char *content_type, void (*closed)(void *arg), void *arg)
{
    answer_set(k, status, content_type, NULL);
    if (!k->c) {
        if (!k->busy)
            call_free(k);
        closed(arg);
        return;
    }
    k->step = STEP_STREAM;
    k->closed = closed;
    k->closed_arg = arg;
    if (k->call.on_chunk && k->call.timeout_ms <= 0)
        loop_timer_free(take_ptr(k->timeout));
    schedule(k, stream_pull);
}

static void local_stream(struct http_exchange *x, int status, const char *content_type, http_pull_fn pull,
                         void (*closed)(void *arg), void *arg)
{
    struct local_call *k = (struct local_call *)x;
    k->pull = pull;
    stream_start(k, status, content_type, closed, arg);
}

static void local_stream_events(struct http_exchange *x, int status, const char *content_type, http_pull_event_fn pull,
                                void (*closed)(void *arg), void *arg)
{
    struct local_call *k = (struct local_call *)x;
    k->pull_event = pull;
    stream_start(k, status, content_type, closed, arg);
}

static void local_wake(struct http_exchange *x)
{
    struct local_call *k = (struct local_call *)x;
    k->woken = true;
    if (k->c && k->step == STEP_STREAM && !k->due && !(k->timer && loop_timer_running(k->timer)))
        schedule(k, stream_pull);
}

static const struct http_exchange_ops local_ops = {local_header, local_reply, local_stream, local_wake, local_stream_events};

/* A fault that answers instead of the handler. Returns its HTTP status or 0. */
static int fault_status(struct local_call *k)
{
    struct local *c = k->c;
    const struct http_faults *f = faults_of(c);
    bool is_write = strcmp(k->call.method, "GET") != 0 && strcmp(k->call.method, "HEAD") != 0;
    bool is_watch = k->call.on_chunk && strstr(k->call.path, "watch=");
    if (is_write && chance(c, f->status_409_permille))
        return 409;
    if (chance(c, f->status_429_permille))
        return 429;
    if (chance(c, f->status_500_permille))
        return 500;
    return is_watch && chance(c, f->stream_gone_permille) ? 410 : 0;
}

static void fault_answer(struct local_call *k, int status)
{
    const char *reason = status == 409   ? "Conflict"
                         : status == 429 ? "TooManyRequests"
                         : status == 410 ? "Expired"
                                         : "InternalError";
    if (status == 429)
        header_add(k, "retry-after", "1");
    answer_set(k, status, "application/json", http_status_blob(status, reason, "injected fault"));
    schedule(k, deliver);
}

static void arrive(void *arg)
{
    struct local_call *k = arg;
    struct local *c = k->c;
    struct err e = {0};
    if (chance(c, faults_of(c)->refuse_permille)) {
        call_fail(k, E_IO, "connection refused");
        return;
    }
    int status = fault_status(k);
    if (status) {
        fault_answer(k, status);
        return;
    }
    k->step = STEP_HANDLER;
    if (http_request_set_url(&k->x.request, k->call.path, strlen(k->call.path), &e) < 0) {
        local_reply(&k->x, 400, "application/json", http_status_blob(400, "BadRequest", e.text));
        return;
    }
    c->handler(c->ctx, &k->x);
}

static void request_fill(struct local_call *k, const struct http_call *call)
{
    struct http_request *r = &k->x.request;
    struct http_param *headers = arena_alloc(r->arena, (3 + HTTP_CALL_HEADERS_MAX) * sizeof *headers);
    headers[r->headers_n++] =
        (struct http_param){"accept", call->accept ? arena_text(r->arena, call->accept) : "application/json"};
    if (call->content_type)
        headers[r->headers_n++] = (struct http_param){"content-type", arena_text(r->arena, call->content_type)};
    if (k->c->user_agent)
        headers[r->headers_n++] = (struct http_param){"user-agent", k->c->user_agent};
    for (uint32_t i = 0; i < call->headers_n && i < HTTP_CALL_HEADERS_MAX; i++)
        headers[r->headers_n++] = (struct http_param){arena_text_lower(r->arena, call->headers[i].key),
                                                      http_header_clean(r->arena, call->headers[i].value)};
    k->call = *call;
    k->call.method = r->method = arena_text(r->arena, call->method);
    k->call.path = arena_text(r->arena, call->path);
    r->headers = headers;
    r->user = k->c->user ? k->c->user : "";
    r->groups = k->c->groups;
    r->is_inside = true;
    r->takes_events = call->on_event && !k->c->faults;
    r->body = (struct bytes){arena_text_n(r->arena, call->body.n ? call->body.data : "", call->body.n), call->body.n};
}

static uint64_t local_send(struct http_client *base, const struct http_call *call)
{
    struct local *c = (struct local *)base;
    struct local_call *k = mem_zero(1, sizeof *k);
    k->c = c;
    k->id = ++c->last_id;
    k->x.ops = &local_ops;
    k->spares = c->spares;
    k->spares->refs++;
    k->x.request.arena = arena_take(&k->spares->arenas);
    request_fill(k, call);
    k->previous = c->last;
    *(c->last ? &c->last->next : &c->first) = k;
    c->last = k;
    c->in_flight_n++;
    k->timeout = loop_timer_new(base->l, times_out, k);
    if (call->timeout_ms > 0 || !call->on_chunk)
        loop_timer_start(k->timeout, call->timeout_ms > 0 ? call->timeout_ms : TIMEOUT_MS, 0);
    schedule(k, arrive);
    return k->id;
}

static void local_cancel(struct http_client *base, uint64_t id)
{
    struct local *c = (struct local *)base;
    for (struct local_call *k = c->last; k; k = k->previous) {
        if (k->id == id) {
            call_drop(k);
            return;
        }
    }
}

static uint32_t local_in_flight(const struct http_client *base)
{
    return ((const struct local *)base)->in_flight_n;
}

static void local_free(struct http_client *base)
{
    struct local *c = (struct local *)base;
    while (c->first) {
        if (c->first->busy) /* freed by one of its callbacks: the caller knows */
            call_drop(c->first);
        else
            call_fail(c->first, E_IO, "closed");
    }
    if (c->freed)
        *c->freed = true;
    loop_forget(c->base.l, due_run, c);
    spares_unref(c->spares);
    free(c->user);
    free(c->groups);
    free(c->user_agent);
    free(c);
}

static const struct http_carrier_ops carrier_ops = {local_send, local_cancel, local_in_flight, local_free};

struct http_client *http_local_client_as(struct loop *l, const struct http_local_config *config)
{
    struct local *c = mem_zero(1, sizeof *c);
    c->base.ops = &carrier_ops;
    c->base.l = l;
    c->spares = mem_zero(1, sizeof *c->spares);
    c->spares->refs = 1;
    c->handler = config->handler;
    c->ctx = config->ctx;
    c->faults = config->faults;
    c->random.state = config->seed;
    c->user = config->user ? mem_text(config->user) : NULL;
    c->groups = config->groups ? mem_text(config->groups) : NULL;
    c->user_agent = config->user_agent ? mem_text(config->user_agent) : NULL;
    return &c->base;
}

struct http_client *http_local_client_new(struct loop *l, http_handler_fn handler, void *ctx,
                                          const struct http_faults *faults, uint64_t seed)
{
    return http_local_client_as(
        l, &(struct http_local_config){.handler = handler, .ctx = ctx, .faults = faults, .seed = seed});
}
