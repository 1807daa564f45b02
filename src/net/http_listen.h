/* http_listen.h - inside the net room: a listening socket from "host:port", "[v6]:port", ":port" (all) or "unix:/path" */
#ifndef NET_HTTP_LISTEN_H
#define NET_HTTP_LISTEN_H
#include <stdbool.h>
#include "base/err.h"

/* Returns the descriptor (non-blocking, close-on-exec); ret_port is 0 for unix sockets. -E_INVALID, -E_EXISTS (in use),
 * -E_DENIED, -E_IO. */
int http_listen(const char *address, int *ret_port, struct err *e);

struct sockaddr;
bool http_address_is_loopback(const struct sockaddr *address); /* 127.0.0.0/8, also mapped into IPv6; ::1; a unix socket */

#endif
