/* http_carrier.h - inside the net room: a client is one of two carriers (http_client.c: libcurl; http_local.c: calls in this process)
 *
 * OWNER  the carrier's own struct starts with struct http_client.
 */
#ifndef NET_HTTP_CARRIER_H
#define NET_HTTP_CARRIER_H
#include "net/http_client.h"

struct http_carrier_ops {
    uint64_t (*send)(struct http_client *c, const struct http_call *call);
    void (*cancel)(struct http_client *c, uint64_t id);
    uint32_t (*in_flight)(const struct http_client *c);
    void (*free)(struct http_client *c);
};

struct http_client {
    const struct http_carrier_ops *ops;
    struct loop *l;
};

#endif
