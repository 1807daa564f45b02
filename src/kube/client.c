/* client.c - calls with patience: retries that the server asks for, and lanes in which they wait
 *
 *   kube_send -> lane -(its turn)-> sent --answer--> told
 *                  |                 ^  |--429, 503, Retry-After: again after a while, in its place
 *                  `-(full, halted)--|--+--> refused -(next turn)-> told "unsent"
 *
 * SHAPE  one allocation a call (struct, path and body), kept until its answer: it may have to be sent again.
 */
#include "kube/client.h"
#include <stdlib.h>
#include "base/limits.h"
#include "base/memory.h"
#include "kube/client_auth.h"
#include "kube/object_meta.h"
#include "wire/json_reader.h"

enum { TRIES_MAX = 5, RETRY_MAX_MS = 30 * 1000, TIMEOUT_MS = 60 * 1000, REFUSAL_BYTES = 64 << 10, PATH_ROOM = 200 };

struct call {
    struct lane_item in_lane; /* first; in the list of refused ones too */
    struct kube_client *c;
    struct call *next, *previous; /* all calls */
    struct loop_timer *retry;     /* made when needed */
    kube_chunk_fn on_chunk;
    kube_answer_fn on_answer;
    void *arg;
    const char *method, *content_type;
    struct buf refusal; /* of a call with on_chunk: the body of an answer that says no */
    char *path, *body;
    size_t body_n;
    int64_t timeout_ms;
    int tries;
    bool was_refused, tells_done, is_streamed;
};

struct kube_client {
    struct loop *l;
    struct http_client *http;
    struct kube_auth *auth; /* NULL = nobody */
    struct call *calls;
    struct lanes lanes;
    struct lane_item *refused_first, *refused_last;
    enum kube_halt halt;
    bool *is_gone; /* where to say that the client was freed by a callback; NULL = nobody asks */
    struct kube_client_counts counts;
    kube_forbidden_fn on_forbidden;
    void *on_forbidden_arg;
};

void kube_client_on_forbidden(struct kube_client *c, kube_forbidden_fn fn, void *arg)
{
    c->on_forbidden = fn;
    c->on_forbidden_arg = arg;
}

void kube_client_forbidden(const struct kube_client *c, const char *path, const char *why)
{
    if (c->on_forbidden)
        c->on_forbidden(c->on_forbidden_arg, path, why);
}

struct kube_client *kube_client_wrap(struct loop *l, struct http_client *http)
{
    struct kube_client *c = mem_zero(1, sizeof *c);
    c->l = l;
    c->http = http;
    return c;
}

void kube_client_server_is_here(struct kube_client *c)
{
    c->lanes.times = LIMIT_CALLS_HERE_TIMES;
}

int kube_client_new(struct loop *l, const struct kubeconfig *k, const char *user_agent, struct kube_client **ret_c,
                    struct err *e)
{
    struct kube_auth *auth = NULL;
    struct http_client *http = NULL;
    int r = kube_auth_new(l, k, &auth, e);
    if (r < 0)
        return r;
    k = kube_auth_config(auth);
    struct http_client_config config = {
        .base_url = k->server,
        .ca_pem = k->ca_pem,
        .insecure_skip_verify = k->insecure_skip_verify,
        .tls_server_name = k->tls_server_name,
        .client_cert_pem = k->client_cert_pem,
        .client_key_pem = k->client_key_pem,
        .proxy_url = k->proxy_url,
        .user_agent = user_agent,
        .connections_max = lanes_room(),
        .authorization = kube_auth_header,
        .authorization_ctx = auth,
    };
    r = http_client_new(l, &config, &http, e);
    if (r < 0) {
        kube_auth_free(auth);
        return r;
    }
    struct kube_client *c = kube_client_wrap(l, http);
    c->auth = auth;
    *ret_c = c;
    return 0;
}

static void refused_tell(void *arg);

static void call_forget(struct call *k)
{
    k->on_chunk = NULL;
    k->on_answer = NULL;
}

static void call_free(struct call *k)
{
    struct kube_client *c = k->c;
    *(k->previous ? &k->previous->next : &c->calls) = k->next;
    if (k->next)
        k->next->previous = k->previous;
    loop_timer_free(k->retry);
    buf_free(&k->refusal);
    free(k);
}

void kube_client_free(struct kube_client *c)
{
    if (!c)
        return;
    for (struct call *k = c->calls; k; k = k->next)
        call_forget(k); /* who asked may be gone */
    if (c->is_gone)
        *c->is_gone = true;
    for (int lane = 0; lane < KUBE_LANES_N; lane++)
        while (lanes_take(&c->lanes, (enum kube_lane)lane))
            ; /* nothing starts while the last ones end */
    loop_forget(c->l, refused_tell, c);
    http_client_free(c->http);
    while (c->calls)
        call_free(c->calls);
    kube_auth_free(c->auth);
    free(c);
}

struct loop *kube_client_loop(struct kube_client *c)
{
    return c->l;
}

struct http_client *kube_client_http(struct kube_client *c)
{
    return c->http;
}

struct kube_client_counts kube_client_counts(const struct kube_client *c)
{
    return c->counts;
}

int64_t kube_client_refused(struct kube_client *c)
{
    return kube_auth_refused(c->auth);
}

static const char *answer_header(const struct http_answer *answer, const char *name)
{
    for (uint32_t i = 0; i < answer->headers_n; i++)
        if (strcmp(answer->headers[i].key, name) == 0)
            return answer->headers[i].value;
    return NULL;
}

int64_t kube_retry_after_ms(const struct http_answer *answer)
{
    const char *text = answer_header(answer, "retry-after");
    int64_t seconds;
    if (!text || !bytes_int64(bytes_of(text), &seconds) || seconds < 0)
        return -1;
    return seconds * 1000 < RETRY_MAX_MS ? seconds * 1000 : RETRY_MAX_MS;
}

/* message and reason of a Status object; empty when the body is none. */
static void status_read(struct bytes body, struct buf *message, struct buf *reason)
{
    struct json_reader r;
    struct bytes key, text;
    _cleanup_buf_ struct buf scratch = {0};
    json_reader_init(&r, body);
    if (body.n == 0 || !json_reader_object(&r))
        return;
    while (json_reader_key(&r, &key)) {
        struct buf *into = bytes_is(key, "message") ? message : bytes_is(key, "reason") ? reason : NULL;
        if (!into)
            json_reader_skip(&r);
        else if (json_reader_string(&r, &scratch, &text))
            buf_bytes(into, text);
    }
}

static int code_of_status(int status, const struct buf *reason)
{
    switch (status) {
    case 400:
    case 422:
        return E_INVALID;
    case 401:
    case 403:
        return E_DENIED;
    case 404:
        return E_NOTFOUND;
    case 409:
        return reason->n && strcmp(reason->data, "AlreadyExists") == 0 ? E_EXISTS : E_CONFLICT;
    case 410:
        return E_GONE;
    case 413:
        return E_LIMIT;
    case 429:
    case 503:
    case 504:
        return E_AGAIN;
    default:
        return E_IO;
    }
}

int kube_answer_code(const char *method, const char *path, const struct http_answer *answer, struct bytes body,
                     struct err *e)
{
    _cleanup_buf_ struct buf message = {0}, reason = {0};
    if (answer->status >= 200 && answer->status < 300)
        return 0;
    if (answer->status == 0) {
        *e = answer->error;
        return e->code ? -e->code : -E_IO;
    }
    status_read(body, &message, &reason);
    if (!message.n)
        buf_printf(&message, "HTTP status %d", answer->status);
    return err_set(e, code_of_status(answer->status, &reason), "%s %s: %s", method, path, message.data);
}

static void call_send(struct call *k);

static struct call *call_of(struct lane_item *item)
{
    return (struct call *)item;
}

static bool is_held_back(const struct kube_client *c, enum kube_lane lane, bool tells_done)
{
    return lane >= KUBE_LANE_BIND && (c->halt == KUBE_HALT || (c->halt == KUBE_FAREWELL && !tells_done));
}

static void lanes_start(struct kube_client *c)
{
    for (struct lane_item *item; (item = lanes_next(&c->lanes));)
        call_send(call_of(item));
}

/* ---- unsent ---- */

static void call_refuse(struct call *k)
{
    struct kube_client *c = k->c;
    if (!c->refused_first)
        loop_defer(c->l, refused_tell, c);
    k->in_lane.next = NULL;
    *(c->refused_last ? &c->refused_last->next : &c->refused_first) = &k->in_lane;
    c->refused_last = &k->in_lane;
}

static void call_tell_unsent(struct call *k)
{
    struct kube_answer answer = {.is_unsent = true};
    kube_answer_fn fn = k->on_answer;
    void *fn_arg = k->arg;
    answer.code = err_set(&answer.error, E_AGAIN, "%s %s: not sent, %s", k->method, k->path,
                          kube_client_is_halted(k->c) ? "this process does not lead" : "too many calls wait");
    k->c->counts.unsent_n++;
    call_free(k);
    if (fn)
        fn(fn_arg, &answer); /* may free the client */
}

/* Those that are refused meanwhile are told in the next turn: their askers may ask again. */
static void refused_tell(void *arg)
{
    struct kube_client *c = arg;
    struct lane_item *item = c->refused_first;
    bool is_gone = false;
    c->is_gone = &is_gone;
    c->refused_first = c->refused_last = NULL;
    while (item && !is_gone) {
        struct lane_item *next = item->next;
        call_tell_unsent(call_of(item));
        item = next;
    }
    if (!is_gone)
        c->is_gone = NULL;
}

void kube_client_halt(struct kube_client *c, enum kube_halt halt)
{
    c->halt = halt;
    for (int lane = KUBE_LANE_BIND; halt && lane < KUBE_LANES_N; lane++)
        for (uint32_t n = c->lanes.lane[lane].waiting_n; n > 0; n--) {
            struct call *k = call_of(lanes_take(&c->lanes, (enum kube_lane)lane));
            if (is_held_back(c, (enum kube_lane)lane, k->tells_done))
                call_refuse(k);
            else
                (void)lanes_add(&c->lanes, &k->in_lane); /* it had room */
        }
}

bool kube_client_is_halted(const struct kube_client *c)
{
    return c->halt != KUBE_GO;
}

uint32_t kube_client_untold_n(const struct kube_client *c)
{
    return c->lanes.lane[KUBE_LANE_EVENT].waiting_n + c->lanes.lane[KUBE_LANE_EVENT].sent_n;
}

uint32_t kube_client_unanswered_n(const struct kube_client *c)
{
    uint32_t n = 0;
    for (int lane = KUBE_LANE_LEASE; lane <= KUBE_LANE_STATUS; lane++)
        n += c->lanes.lane[lane].sent_n;
    return n;
}

uint32_t kube_client_room(const struct kube_client *c, enum kube_lane lane)
{
    uint32_t waiting_n = c->lanes.lane[lane].waiting_n;
    return is_held_back(c, lane, false) || waiting_n >= LIMIT_WAITING_STATUS ? 0 : LIMIT_WAITING_STATUS - waiting_n;
}

/* ---- sent ---- */

static void call_retry(void *arg)
{
    struct call *k = arg;
    struct kube_client *c = k->c;
    if (!is_held_back(c, k->in_lane.lane, k->tells_done)) {
        call_send(k);
        return;
    }
    lanes_ended(&c->lanes, k->in_lane.lane); /* the server has refused it: nothing has happened */
    call_refuse(k);
    lanes_start(c);
}

/* Milliseconds until the call is to be sent again, or -1: the answer stands. */
static int64_t retry_delay_ms(struct call *k, const struct http_answer *answer)
{
    if (answer->status == 401 && !k->was_refused) {
        k->was_refused = true;
        return kube_auth_refused(k->c->auth);
    }
    bool is_asked = answer->status == 429 || answer->status == 503;
    if (!is_asked || k->tries >= TRIES_MAX || k->in_lane.lane == KUBE_LANE_LEASE)
        return -1;
    return kube_retry_after_ms(answer);
}

static void call_answered(void *arg, const struct http_answer *http_answer)
{
    struct call *k = arg;
    struct kube_client *c = k->c;
    int64_t delay_ms = retry_delay_ms(k, http_answer);
    if (delay_ms >= 0) {
        c->counts.retries_n++;
        if (!k->retry)
            k->retry = loop_timer_new(c->l, call_retry, k);
        loop_timer_start(k->retry, delay_ms, 0);
        return; /* it keeps its place: the server asked everybody to slow down */
    }
    _cleanup_buf_ struct buf without_nul = {0};
    struct kube_answer answer = {.status = http_answer->status,
                                 .body = object_text_without_nul(k->refusal.n ? buf_view(&k->refusal) : http_answer->body, &without_nul),
                                 .headers = http_answer->headers,
                                 .headers_n = http_answer->headers_n};
    answer.code = kube_answer_code(k->method, k->path, http_answer, answer.body, &answer.error);
    kube_answer_fn fn = k->on_answer;
    void *fn_arg = k->arg;
    if (answer.code < 0)
        c->counts.failures_n++;
    struct buf refusal = k->refusal; /* the answer's body may be it */
    k->refusal = (struct buf){0};
    lanes_ended(&c->lanes, k->in_lane.lane);
    lanes_start(c);
    call_free(k);
    if (fn)
        fn(fn_arg, &answer); /* may free c */
    buf_free(&refusal);
}

static bool call_chunk(void *arg, int status, struct bytes chunk)
{
    struct call *k = arg;
    if (status >= 200 && status < 300)
        return !k->on_chunk || k->on_chunk(k->arg, chunk);
    if (k->refusal.n < REFUSAL_BYTES)
        buf_bytes(&k->refusal, chunk);
    return true;
}

static void call_send(struct call *k)
{
    k->tries++;
    buf_clear(&k->refusal);
    http_client_send(k->c->http, &(struct http_call){.method = k->method,
                                                     .path = k->path,
                                                     .content_type = k->content_type,
                                                     .body = {k->body, k->body_n},
                                                     .timeout_ms = k->timeout_ms,
                                                     .on_chunk = k->is_streamed ? call_chunk : NULL,
                                                     .on_answer = call_answered,
                                                     .arg = k});
}

static struct call *call_new(struct kube_client *c, const struct kube_call *call)
{
    size_t path_n = strlen(call->path) + 1;
    struct call *k = mem_alloc(sizeof *k + path_n + call->body.n);
    memset(k, 0, sizeof *k);
    k->c = c;
    k->in_lane.lane = call->lane;
    k->method = call->method;
    k->content_type = call->body.n ? call->content_type : NULL;
    k->is_streamed = call->on_chunk != NULL;
    k->timeout_ms = call->timeout_ms || !k->is_streamed ? call->timeout_ms : TIMEOUT_MS;
    k->tells_done = call->tells_done;
    k->path = (char *)(k + 1);
    memcpy(k->path, call->path, path_n);
    k->body = k->path + path_n;
    k->body_n = call->body.n;
    if (call->body.n)
        memcpy(k->body, call->body.data, call->body.n);
    k->on_chunk = call->on_chunk;
    k->on_answer = call->on_answer;
    k->arg = call->arg;
    k->next = c->calls;
    if (c->calls)
        c->calls->previous = k;
    c->calls = k;
    return k;
}

void kube_send(struct kube_client *c, const struct kube_call *call)
{
    struct call *k = call_new(c, call);
    c->counts.calls_n++;
    if (is_held_back(c, call->lane, call->tells_done) || !lanes_add(&c->lanes, &k->in_lane))
        call_refuse(k);
    else
        lanes_start(c);
}

static void send_plainly(struct kube_client *c, enum kube_lane lane, const char *method, const char *path,
                         const char *content_type, struct bytes body, kube_answer_fn on_answer, void *arg)
{
    kube_send(c, &(struct kube_call){.lane = lane,
                                     .method = method,
                                     .path = path,
                                     .content_type = content_type,
                                     .body = body,
                                     .on_answer = on_answer,
                                     .arg = arg});
}

void kube_get(struct kube_client *c, const char *path, kube_answer_fn on_answer, void *arg)
{
    send_plainly(c, KUBE_LANE_READ, "GET", path, NULL, (struct bytes){0}, on_answer, arg);
}

void kube_create(struct kube_client *c, const char *path, struct bytes body, kube_answer_fn on_answer, void *arg)
{
    send_plainly(c, KUBE_LANE_STATUS, "POST", path, "application/json", body, on_answer, arg);
}

void kube_update(struct kube_client *c, const char *path, struct bytes body, kube_answer_fn on_answer, void *arg)
{
    send_plainly(c, KUBE_LANE_STATUS, "PUT", path, "application/json", body, on_answer, arg);
}

const char *kube_patch_type(enum kube_patch type)
{
    static const char *const types[] = {
        [KUBE_PATCH_MERGE] = "application/merge-patch+json",
        [KUBE_PATCH_JSON] = "application/json-patch+json",
        [KUBE_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
        [KUBE_PATCH_APPLY] = "application/apply-patch+yaml",
    };
    return types[type];
}

void kube_patch(struct kube_client *c, enum kube_patch type, const char *path, struct bytes body,
                kube_answer_fn on_answer, void *arg)
{
    send_plainly(c, KUBE_LANE_STATUS, "PATCH", path, kube_patch_type(type), body, on_answer, arg);
}

void kube_delete(struct kube_client *c, const char *path, struct bytes options_body, kube_answer_fn on_answer,
                 void *arg)
{
    send_plainly(c, KUBE_LANE_STATUS, "DELETE", path, "application/json", options_body, on_answer, arg);
}

void kube_client_forget(struct kube_client *c, kube_answer_fn on_answer, void *arg)
{
    for (struct call *k = c->calls; k; k = k->next)
        if (k->on_answer == on_answer && k->arg == arg)
            call_forget(k);
}

static void path_add(struct buf *out, const char *segment)
{
    if (!segment || !*segment)
        return;
    buf_char(out, '/');
    http_escape(out, segment);
}

char *kube_path(struct arena *a, const char *group, const char *version, const char *plural, const char *ns,
                const char *name, const char *sub)
{
    _cleanup_buf_ struct buf out = {0};
    (void)buf_reserve(&out, PATH_ROOM); /* most fit, and it does not grow step by step */
    buf_text(&out, group && *group ? "/apis" : "/api");
    path_add(&out, group);
    path_add(&out, version);
    if (ns && *ns)
        buf_text(&out, "/namespaces");
    path_add(&out, ns);
    path_add(&out, plural);
    path_add(&out, name);
    path_add(&out, sub);
    return arena_text_n(a, out.data, out.n);
}
