/* client_auth.h - inside the kube room: who we are, said with each request
 *
 * SHAPE  one Authorization header value, made from token, token file (read again each minute), exec plugin or name and password.
 */
#ifndef KUBE_CLIENT_AUTH_H
#define KUBE_CLIENT_AUTH_H
#include "kube/client.h"

struct kube_auth;
/* Copies k; runs the exec plugin once (waits for it). */
int kube_auth_new(struct loop *l, const struct kubeconfig *k, struct kube_auth **ret_a, struct err *e);
void kube_auth_free(struct kube_auth *a);                             /* NULL-safe */
const struct kubeconfig *kube_auth_config(const struct kube_auth *a); /* with what the plugin gave */
const char *kube_auth_header(void *auth);                             /* http_client_config.authorization */
/* The server said 401: read the file or run the plugin again. Returns milliseconds after which to try again, -1:
 * nothing can change. */
int64_t kube_auth_refused(struct kube_auth *a);

/* For watches, which send their own requests. */
int64_t kube_client_refused(struct kube_client *c);
/* Seconds of a Retry-After header as milliseconds (at most 30 s), or -1. */
int64_t kube_retry_after_ms(const struct http_answer *answer);
/* The E_* of an answer and its text (Status.message when the body is one). */
int kube_answer_code(const char *method, const char *path, const struct http_answer *answer, struct bytes body,
                     struct err *e);

#endif
