/* lease.h - leader election on a coordination.k8s.io/v1 Lease
 *
 * SOURCE client-go leaderelection: 15 s lease, renew deadline 10 s, retry 2 s with jitter; expiry is judged by local time since the record
 *        last changed, never by the peer's clock; on release holderIdentity "" and duration 1.
 * The deadline runs from when the last renewal that succeeded was sent, so 5 s are left until anybody else may lead.
 * A lost lease is tried for again for ever: on_leading may come many times.
 */
#ifndef KUBE_LEASE_H
#define KUBE_LEASE_H
#include "kube/client.h"

struct kube_lease;
struct kube_lease_config {
    const char *ns, *name, *identity;
    void (*on_leading)(void *arg); /* we hold it */
    void (*on_lost)(void *arg);    /* we held it and must stop acting at once */
    void (*on_trouble)(void *arg, const struct err *why); /* may be NULL; a request failed, the next try comes by itself */
    void *arg;
};
struct kube_lease *kube_lease_new(struct kube_client *c, const struct kube_lease_config *config);
/* By the clock: a process that was stopped for a while learns it here, before on_lost. */
bool kube_lease_held(const struct kube_lease *l);
/* Changes when the lease was not ours in between. Equal at two times when it was held: nobody else has led since. */
uint64_t kube_lease_term(const struct kube_lease *l);
void kube_lease_release(struct kube_lease *l); /* give up in good order */
void kube_lease_free(struct kube_lease *l);

#endif
