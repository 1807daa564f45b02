/* visibility_port.h - the visibility API on a port of its own, for the API server's aggregation layer
 *
 *   kubectl --> API server: who is it, may he? --(client certificate of the front proxy, X-Remote-User)--> this port
 *
 * The certificates that count are read from ConfigMap kube-system/extension-apiserver-authentication, and followed when they change. Only
 * the front proxy is answered: it has asked whether the user may before it sends his request on, so that is not asked again.
 * LIMIT  few connections, short requests.
 */
#ifndef SCHED_VISIBILITY_PORT_H
#define SCHED_VISIBILITY_PORT_H
#include "kube/client.h"
#include "sched/sched.h"

struct visibility_port;
struct visibility_port_config {
    const char *address;       /* ":8082", "127.0.0.1:0" */
    /* The server's certificate and its key, looked at again and again; one that is no good leaves that before in use. Both NULL: one is
     * made here that nobody has signed, and the APIService skips its verification, as Kueue's does. */
    const char *cert_file, *key_file;
};
/* -E_INVALID, -E_IO, and as key_files_read. `config` stays the caller's, and as it is. */
int visibility_port_new(struct loop *l, struct kube_client *c, const struct scheduler *s, const struct visibility_port_config *config,
                        struct visibility_port **ret_p, struct err *e);
int visibility_port_number(const struct visibility_port *p);
void visibility_port_free(struct visibility_port *p); /* NULL-safe; before its scheduler and client */

#endif
