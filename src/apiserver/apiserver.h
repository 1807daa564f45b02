/* apiserver.h - the embedded Kubernetes API server: one handler behind any carrier (net/http.h)
 *
 *   request -> access -> serve -> { verbs: get list watch create update patch delete, subresources } -> apply, rules -> store
 *                                 { discovery, OpenAPI, reviews, metrics }                  lifecycle: without a request
 *
 * Also inside, because they belong to the server and not to a cluster's controllers: garbage collection by
 * ownerReferences, namespace life cycle (default service account, kube-root-ca.crt), event TTL, CRD registration.
 */
#ifndef APISERVER_APISERVER_H
#define APISERVER_APISERVER_H
#include "loop/loop.h"
#include "net/http.h"
#include "wire/json.h"

struct apiserver_config {
    const char *data_dir; /* NULL = memory only */
    bool strict_kueue;
    unsigned shares;         /* which its queues are served by: ADMISSION_*_SHARES (codec/admission/admission.h) */
    bool runs_queues;        /* so do the controllers beside it: queues and flavors have Kueue's finalizer from their creation on */
    bool check_host;         /* plain loopback mode: Host and Origin checks against DNS rebinding and CSRF */
    const char *listen_host; /* allowed Host besides localhost, 127.0.0.1, [::1] */
    bool authenticate;       /* --tls mode: requests need a user (else 401) */
    const char *ca_pem;      /* for kube-root-ca.crt; may be NULL */
    /* Metrics and logs come from who runs the pods (sim/): may be NULL. */
    const struct apiserver_node_ops *nodes;
    void *nodes_ctx;
};
struct apiserver_node_ops {
    /* Usage for metrics.k8s.io: cpu in milli-cores, memory in bytes; false when unknown. */
    bool (*pod_usage)(void *ctx, const char *ns, const char *name, int64_t *ret_cpu_milli, int64_t *ret_memory_bytes);
    bool (*node_usage)(void *ctx, const char *name, int64_t *ret_cpu_milli, int64_t *ret_memory_bytes);
    /* The log so far of a container, appended to out; each line starts with an RFC 3339 time and a space. False when
     * there is no such container. */
    bool (*pod_log)(void *ctx, const char *ns, const char *name, const char *container, bool previous, struct buf *out);
};
/* Who waits in a ClusterQueue (ns ""), or in a LocalQueue, in which place: a PendingWorkloadsSummary of that version, appended. Returns 0,
 * or -E_* with a sentence. */
typedef int (*apiserver_pending_fn)(void *ctx, const struct http_request *r, const char *version, const char *ns, const char *name,
                                    struct buf *out, struct err *e);
struct apiserver;
int apiserver_new(struct loop *l, const struct apiserver_config *config, struct apiserver **ret_s, struct err *e);
void apiserver_free(struct apiserver *s);
/* http_handler_fn: ctx is the apiserver. */
void apiserver_handle(void *ctx, struct http_exchange *x);
/* For the head of a request whose body has not come yet: false when apiserver_handle will refuse it, whatever the body says. */
bool apiserver_head(void *ctx, const struct http_exchange *x);
/* Extra paths of other rooms ("/ui/", "/metrics" parts): asked before the API routes; return false to pass on. */
void apiserver_add_route(struct apiserver *s, const char *prefix, bool (*fn)(void *ctx, struct http_exchange *x),
                         void *ctx);
void apiserver_set_pending(struct apiserver *s, apiserver_pending_fn fn, void *ctx); /* until then there is none */
void apiserver_set_nodes(struct apiserver *s, const struct apiserver_node_ops *nodes, void *ctx);

/* TLS mode: a bearer token that stands for a user until the server ends ("admin" may do everything, others what RBAC
 * objects give them). */
void apiserver_add_token(struct apiserver *s, const char *token, const char *user);

/* Direct in-process writes for seeding thousands of objects at start (nodes): same path as POST, without HTTP. Returns
 * 0 or -E_*. */
int apiserver_create(struct apiserver *s, struct arena *a, struct json *object, struct err *e);

#endif
