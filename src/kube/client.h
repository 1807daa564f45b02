/* client.h - the Kubernetes API as calls: verbs in, decoded status out
 *
 * Same code against the embedded server, a real kube-apiserver, and the simulated one (http_local).
 * 429 and 503 with Retry-After are waited for (bounded; not by the lease, which has its own patience); 401 re-reads the
 * token once. Calls are sent by lanes (kube/lanes.h).
 */
#ifndef KUBE_CLIENT_H
#define KUBE_CLIENT_H
#include "kube/kubeconfig.h"
#include "kube/lanes.h"
#include "net/http_client.h"
#include "wire/json.h"

struct kube_client;
int kube_client_new(struct loop *l, const struct kubeconfig *k, const char *user_agent, struct kube_client **ret_c,
                    struct err *e);
/* Around an existing carrier (simulation, tests); takes the http client over. */
struct kube_client *kube_client_wrap(struct loop *l, struct http_client *http);
/* The server is in this process and commits in groups: LIMIT_CALLS_HERE_TIMES as many writes at once. */
void kube_client_server_is_here(struct kube_client *c);
void kube_client_free(struct kube_client *c);
struct loop *kube_client_loop(struct kube_client *c);
struct http_client *kube_client_http(struct kube_client *c);

/* The answer of one call. code 0 = success; else -E_* mapped from the HTTP status or the transport (E_NOTFOUND 404,
 * E_EXISTS 409 AlreadyExists, E_CONFLICT 409, E_GONE 410, E_AGAIN 429/503/timeouts, E_INVALID 400/422, E_DENIED
 * 401/403, E_IO others). error.text carries Status.message. */
struct kube_answer {
    int code;
    int status;        /* HTTP status, 0 when none arrived */
    bool is_unsent;    /* it never left, so nothing has happened: its lane was full, or the client was halted (-E_AGAIN) */
    struct bytes body; /* good during the callback only, as the headers are */
    const struct http_param *headers; /* lower-case names */
    uint32_t headers_n;
    struct err error;
};
typedef void (*kube_answer_fn)(void *arg, const struct kube_answer *answer);
/* A part of the body of an answer that says success, as it comes; on_answer follows, without a body. False: it wants no more. */
typedef bool (*kube_chunk_fn)(void *arg, struct bytes chunk);

struct kube_call {
    enum kube_lane lane;
    const char *method, *path, *content_type;
    struct bytes body;
    int64_t timeout_ms; /* from being sent; 0 = 60 s; with on_chunk the longest silence */
    bool tells_done;    /* an Event about what was done, not about what is being written */
    kube_chunk_fn on_chunk;   /* NULL = the body comes with the answer, whole */
    kube_answer_fn on_answer; /* may be NULL (fire and forget; failures are counted); never inside the call */
    void *arg;
};
void kube_send(struct kube_client *c, const struct kube_call *call);

/* The same in few words: kube_get in lane read, the others in lane status. */
void kube_get(struct kube_client *c, const char *path, kube_answer_fn on_answer, void *arg);
void kube_create(struct kube_client *c, const char *path, struct bytes body, kube_answer_fn on_answer, void *arg);
void kube_update(struct kube_client *c, const char *path, struct bytes body, kube_answer_fn on_answer, void *arg);
enum kube_patch { KUBE_PATCH_MERGE, KUBE_PATCH_JSON, KUBE_PATCH_STRATEGIC, KUBE_PATCH_APPLY };
void kube_patch(struct kube_client *c, enum kube_patch type, const char *path, struct bytes body,
                kube_answer_fn on_answer, void *arg);
const char *kube_patch_type(enum kube_patch type); /* its content type */
/* options_body may be empty ({"propagationPolicy":"Background"}). */
void kube_delete(struct kube_client *c, const char *path, struct bytes options_body, kube_answer_fn on_answer,
                 void *arg);

/* No answers for (on_answer, arg) any more: arg is going to be freed. What was sent is done all the same. */
void kube_client_forget(struct kube_client *c, kube_answer_fn on_answer, void *arg);

/* While halted nothing leaves but reads and what the lease needs: who may no longer act stops at once. All that waits in
 * the lanes from bind down, and all that is asked of them meanwhile, is answered "unsent"; but for KUBE_FAREWELL: then those calls that
 * tell what was done still leave. */
enum kube_halt { KUBE_GO, KUBE_FAREWELL, KUBE_HALT };
void kube_client_halt(struct kube_client *c, enum kube_halt halt);
bool kube_client_is_halted(const struct kube_client *c);
/* Calls of the lanes lease, bind and status that have left and are not answered: any of them may still happen. */
uint32_t kube_client_unanswered_n(const struct kube_client *c);
/* Of the lane event, also those that wait. */
uint32_t kube_client_untold_n(const struct kube_client *c);
/* Calls that the lane takes before they wait for long; 0 while halted. Who can wait asks this first. */
uint32_t kube_client_room(const struct kube_client *c, enum kube_lane lane);

/* Watches (kube/watch.h) that are refused for want of rights, and have nobody of their own for that, tell it here: once, until they are
 * answered again. why: Status.message. Nobody is told by default. */
typedef void (*kube_forbidden_fn)(void *arg, const char *path, const char *why);
void kube_client_on_forbidden(struct kube_client *c, kube_forbidden_fn fn, void *arg);
void kube_client_forbidden(const struct kube_client *c, const char *path, const char *why);

/* Paths: "/api/v1/namespaces/NS/pods/NAME/sub", "/apis/GROUP/VERSION/..."; group "" = core; ns, name, sub may be NULL.
 */
char *kube_path(struct arena *a, const char *group, const char *version, const char *plural, const char *ns,
                const char *name, const char *sub);

struct kube_client_counts {
    uint64_t calls_n, failures_n, retries_n, unsent_n;
};
struct kube_client_counts kube_client_counts(const struct kube_client *c);

#endif
